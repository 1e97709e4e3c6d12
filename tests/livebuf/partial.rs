//! Documents of which only what is read is fetched: the same answers as of whole ones, few bytes,
//! and errors of the source.

use livebuf::{Doc, DocBuf, Error, ErrorKind, Partial, PartialError, ReadAt, View, json};

/// A source that counts its reads, and fails from one of them on.
struct Counted<'a> {
    bytes: &'a [u8],
    reads: usize,
    fails_at: usize,
}

impl<'a> Counted<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Counted { bytes, reads: 0, fails_at: usize::MAX }
    }
}

impl ReadAt for Counted<'_> {
    type Error = &'static str;

    fn size(&mut self) -> Result<u64, &'static str> {
        Ok(self.bytes.len() as u64)
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> Result<(), &'static str> {
        if self.reads == self.fails_at {
            return Err("the disk is gone");
        }
        self.reads += 1;
        let offset = offset as usize;
        buffer.copy_from_slice(&self.bytes[offset..offset + buffer.len()]);
        Ok(())
    }
}

/// Objects of all layouts: records, a map, a table with texts and lists, and a long text.
fn sample() -> DocBuf {
    let mut doc = json!({"head": {"a": 1, "b": [true, null, 2.5]}});
    doc.set_pointer("/text", "x".repeat(20_000).as_str()).unwrap();
    let mut map = json!({});
    for index in 0..3_000 {
        map.set_pointer(&format!("/key {index}"), index * 7).unwrap();
    }
    doc.set_pointer("/map", map.doc().root()).unwrap();
    let mut rows = json!([]);
    for index in 0..2_000 {
        let name = format!("name {}", index % 50);
        let row = json!({"id": index, "name": name, "tags": [index, index + 1]});
        rows.set_pointer("/-", row.doc().root()).unwrap();
    }
    doc.set_pointer("/rows", rows.doc().root()).unwrap();
    doc.compacted().unwrap()
}

trait Compacted {
    fn compacted(&self) -> livebuf::Result<DocBuf>;
}
impl Compacted for DocBuf {
    fn compacted(&self) -> livebuf::Result<DocBuf> {
        self.doc().compacted()
    }
}

/// The value at a pointer as text, with all that is below it.
fn shown(doc: Doc<'_>, pointer: &str) -> Result<Option<String>, Error> {
    let mut text = String::new();
    let mut open = match doc.pointer(pointer)? {
        Some(value) => vec![value],
        None => return Ok(None),
    };
    while let Some(value) = open.pop() {
        match value.view()? {
            View::Object(object) => {
                for member in object.iter() {
                    let (key, value) = member?;
                    text += key;
                    open.push(value);
                }
            }
            View::Array(array) => {
                for value in array.iter() {
                    open.push(value?);
                }
            }
            _ => text += &format!("{value:?},"),
        }
    }
    Ok(Some(text))
}

const POINTERS: [&str; 9] = [
    "/head/a",
    "/head/b/2",
    "/map/key 1234",
    "/map/none",
    "/rows/1999/name",
    "/rows/1000/tags/1",
    "/rows/7",
    "/none",
    "",
];

#[test]
fn the_answers_of_whole_documents() {
    let doc = sample();
    let bytes = doc.as_bytes();
    for pointer in POINTERS {
        // What was not fetched is no zeros: a read that passes the check is seen.
        let memory = vec![0xA5; bytes.len() + 100];
        let mut partial = Partial::open_in(Counted::new(bytes), memory).unwrap();
        let found = partial.read(|doc| shown(doc, pointer)).unwrap();
        assert_eq!(found, shown(doc.doc(), pointer), "{pointer}");
        // All again, from what is there.
        let fetched = partial.fetched();
        let again = partial.read(|doc| shown(doc, pointer)).unwrap();
        assert_eq!((again, partial.fetched()), (found, fetched), "{pointer}");
        if !pointer.is_empty() {
            assert!(fetched < 24 << 10, "{pointer}: {fetched} of {} bytes", bytes.len());
        }
    }
}

#[test]
fn long_reads_take_few_runs() {
    let doc = sample();
    let mut partial = Partial::open(Counted::new(doc.as_bytes())).unwrap();
    let mut runs = 0;
    let found = partial
        .read(|doc| {
            runs += 1;
            shown(doc, "")
        })
        .unwrap();
    assert_eq!(found, shown(doc.doc(), ""));
    assert!(runs < 32, "{runs} runs");
}

#[test]
fn prefetched_parts_are_not_fetched_again() {
    let doc = sample();
    let mut partial = Partial::open(Counted::new(doc.as_bytes())).unwrap();
    partial.prefetch(0..u64::MAX).unwrap();
    assert_eq!(partial.fetched() as usize, doc.as_bytes().len());
    let mut runs = 0;
    let read = partial.read(|doc| {
        runs += 1;
        shown(doc, "")
    });
    assert_eq!((read.unwrap(), runs), (shown(doc.doc(), ""), 1));
    assert_eq!(partial.document_length(), doc.as_bytes().len());
}

/// Whole blocks are fetched, from multiples of their size on, and none twice.
#[test]
fn blocks_are_fetched_whole() {
    struct Blocks<'a>(&'a [u8], Vec<bool>);
    impl ReadAt for Blocks<'_> {
        type Error = Error;
        fn size(&mut self) -> Result<u64, Error> {
            Ok(self.0.len() as u64)
        }
        fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> Result<(), Error> {
            let (from, to) = (offset as usize, offset as usize + buffer.len());
            assert!(from % 4096 == 0 && (to % 4096 == 0 || to == self.0.len()), "{from}..{to}");
            for block in from / 4096..to.div_ceil(4096) {
                assert!(!std::mem::replace(&mut self.1[block], true), "block {block} again");
            }
            self.0.read_at(buffer, offset)
        }
    }
    let doc = sample();
    let bytes = doc.as_bytes();
    // Blocks are multiples of a chunk.
    for block in [4096, 4000] {
        let source = Blocks(bytes, vec![false; bytes.len() / 4096 + 1]);
        let mut partial = Partial::with_block(source, block).unwrap();
        assert_eq!((partial.requests(), partial.fetched()), (1, 4096));
        for pointer in POINTERS {
            let found = partial.read(|doc| shown(doc, pointer)).unwrap();
            assert_eq!(found, shown(doc.doc(), pointer), "{pointer}");
        }
        assert!(partial.requests() <= bytes.len() as u64 / 4096 + 1);
    }
    // The first block holds all of it.
    let mut partial = Partial::with_block(bytes, usize::MAX).unwrap();
    assert_eq!(partial.read(|doc| shown(doc, "")).unwrap(), shown(doc.doc(), ""));
    assert_eq!((partial.requests(), partial.fetched()), (1, bytes.len() as u64));
}

#[test]
fn documents_in_files() {
    let doc = sample();
    let path = std::env::temp_dir().join(format!("livebuf-partial-{}", std::process::id()));
    std::fs::write(&path, doc.as_bytes()).unwrap();
    let mut partial = Partial::open(std::fs::File::open(&path).unwrap()).unwrap();
    let found = partial.read(|doc| shown(doc, "/map/key 1234")).unwrap();
    assert_eq!(found, shown(doc.doc(), "/map/key 1234"));
    assert!(partial.fetched() < doc.as_bytes().len() as u64 / 8);

    // It became shorter meanwhile.
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1024).unwrap();
    let failed = partial.read(|doc| shown(doc, "/rows/1999/name"));
    assert_eq!(failed.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn errors_of_the_source_and_of_the_bytes() {
    let doc = sample();
    let mut source = Counted::new(doc.as_bytes());
    source.fails_at = 0;
    assert!(matches!(Partial::open(source), Err(PartialError::Source("the disk is gone"))));
    let mut source = Counted::new(doc.as_bytes());
    source.fails_at = 2;
    let mut partial = Partial::open(source).unwrap();
    assert_eq!(partial.read(|doc| shown(doc, "")), Err("the disk is gone"));

    let short = &doc.as_bytes()[..doc.as_bytes().len() - 8];
    let Err(PartialError::Document(error)) = Partial::open(short) else { panic!("opened") };
    assert_eq!(error.kind(), ErrorKind::Truncated);
    let Err(PartialError::Document(error)) = Partial::open(&b"{}"[..]) else { panic!("opened") };
    assert_eq!(error.kind(), ErrorKind::NotADocument);
    assert!(Partial::open(&b""[..]).is_err());
}

/// Two documents at once, one within the other; and one that ends by a panic.
#[test]
fn documents_within_each_other() {
    let (outer, inner) = (sample(), sample());
    let mut outer_parts = Partial::open(outer.as_bytes()).unwrap();
    let found = outer_parts.read(|doc| {
        let mut inner_parts = Partial::open(inner.as_bytes()).unwrap();
        let within = inner_parts.read(|doc| shown(doc, "/rows/1999/name")).unwrap();
        (shown(doc, "/rows/1000/name"), within)
    });
    let expected = (shown(outer.doc(), "/rows/1000/name"), shown(inner.doc(), "/rows/1999/name"));
    assert_eq!(found.unwrap(), expected);

    let ended = std::panic::catch_unwind(|| {
        let mut partial = Partial::open(outer.as_bytes()).unwrap();
        let _ = partial.read(|_| panic!("by the reader"));
    });
    assert!(ended.is_err());
    assert_eq!(shown(outer.doc(), "/head/a").unwrap().unwrap(), "1,");
}

/// Damaged documents answer as whole ones do: the same values, or an error.
#[test]
fn damaged_documents() {
    let doc = sample();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..300 {
        let mut bytes = doc.as_bytes().to_vec();
        for _ in 0..4 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let at = random as usize % bytes.len();
            bytes[at] ^= (random >> 32) as u8;
        }
        let Ok(whole) = Doc::open(&bytes) else { continue };
        let mut partial = Partial::open(&bytes[..]).unwrap();
        for pointer in &POINTERS[..8] {
            let found = partial.read(|doc| shown(doc, pointer)).unwrap();
            assert_eq!(found, shown(whole, pointer), "{pointer}");
        }
    }
}
