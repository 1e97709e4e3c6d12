//! A second writer, by `docs/LOG.md` alone: makes files that the library would not.

use livebuf::DocBuf;

/// The identity of all forged files.
pub(crate) const IDENTITY: [u8; 8] = *b"\x01\x02\x03\x04\x05\x06\x07\x08";

fn crc(parts: &[&[u8]]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().to_le_bytes()
}

/// A log that is being made, byte by byte.
pub(crate) struct Forge {
    pub(crate) bytes: Vec<u8>,
    /// Said to be on the disk by the frames that follow.
    pub(crate) durable: u64,
}

impl Forge {
    /// A header, and a mark that says nothing.
    pub(crate) fn new() -> Forge {
        let mut bytes = vec![0xAB, b'L', b'B', b'L', 1, 0, 0, 0];
        bytes.extend(IDENTITY);
        bytes.extend([0; 12]);
        bytes.extend(crc(&[&bytes]));
        bytes.extend([0; 32]);
        let mut forge = Forge { bytes, durable: 0 };
        forge.mark(0, 0);
        forge
    }

    pub(crate) fn mark(&mut self, durable: u64, index: u64) {
        self.bytes[32..40].copy_from_slice(&durable.to_le_bytes());
        self.bytes[40..48].copy_from_slice(&index.to_le_bytes());
        let crc = crc(&[&IDENTITY, &self.bytes[32..60]]);
        self.bytes[60..64].copy_from_slice(&crc);
    }

    /// Makes the header right again after a change in it.
    pub(crate) fn seal_header(&mut self) {
        let crc = crc(&[&self.bytes[..28]]);
        self.bytes[28..32].copy_from_slice(&crc);
    }

    pub(crate) fn end(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Appends a frame with any body. Answers its offset.
    pub(crate) fn frame(&mut self, kind: u8, first: u64, rows: u32, body: &[u8]) -> u64 {
        let offset = self.end();
        let mut header = vec![0xAB, b'L', b'B', kind];
        header.extend((body.len() as u32).to_le_bytes());
        header.extend(first.to_le_bytes());
        header.extend(rows.to_le_bytes());
        header.extend(((offset - self.durable) as u32 / 8).to_le_bytes());
        header.extend(crc(&[body]));
        header.extend(crc(&[&IDENTITY, &offset.to_le_bytes(), &header]));
        self.bytes.extend(header);
        self.bytes.extend(body);
        offset
    }

    /// Appends a frame of rows.
    pub(crate) fn rows(&mut self, kind: u8, first: u64, rows: &str) -> u64 {
        let document = document(rows);
        let count = document.doc().root().as_array().unwrap().unwrap().len();
        self.frame(kind, first, count as u32, document.as_bytes())
    }

    /// Appends an index of groups: offset, rows.
    pub(crate) fn index(&mut self, end: u64, previous: u64, groups: &[(u64, u64)]) -> u64 {
        let word = |at: usize| u32::from_le_bytes(self.bytes[at..at + 4].try_into().unwrap());
        let listed: Vec<String> = groups
            .iter()
            .map(|&(offset, rows)| {
                let (bytes, crc) = (word(offset as usize + 4), word(offset as usize + 24));
                format!(r#"{{"offset":{offset},"rows":{rows},"bytes":{bytes},"crc":{crc}}}"#)
            })
            .collect();
        let text = format!(r#"{{"previous":{previous},"groups":[{}]}}"#, listed.join(","));
        self.frame(b'I', end, 0, document(&text).as_bytes())
    }
}

pub(crate) fn document(json: &str) -> DocBuf {
    livebuf_json::from_str(json).unwrap()
}
