//! A document behind an HTTP server that answers ranges: a look-up fetches what it needs.
//!
//! `cargo run --release -p livebuf --features partial --example http_ranges`

use livebuf::{Partial, ReadAt, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// A document at a server. A real program asks by its HTTP library, or by `object_store`.
struct Remote(SocketAddr);

impl Remote {
    /// Sends a request. Answers the length that the server tells, and what follows the head.
    fn ask(&self, method: &str, range: &str) -> io::Result<(u64, BufReader<TcpStream>)> {
        let mut server = TcpStream::connect(self.0)?;
        write!(server, "{method} /document.lbuf HTTP/1.1\r\n{range}\r\n")?;
        let mut answer = BufReader::new(server);
        let length = head(&mut answer)?.iter().find_map(|line| {
            line.strip_prefix("Content-Length: ").and_then(|length| length.parse().ok())
        });
        Ok((length.ok_or(io::ErrorKind::InvalidData)?, answer))
    }
}

impl ReadAt for Remote {
    type Error = io::Error;

    fn size(&mut self) -> io::Result<u64> {
        Ok(self.ask("HEAD", "")?.0)
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let last = offset + buffer.len() as u64 - 1;
        self.ask("GET", &format!("Range: bytes={offset}-{last}\r\n"))?.1.read_exact(buffer)
    }
}

/// The lines up to the empty one.
fn head(connection: &mut impl BufRead) -> io::Result<Vec<String>> {
    let lines = connection.lines().take_while(|line| !line.as_ref().is_ok_and(String::is_empty));
    lines.collect()
}

/// Answers one request for the document, or for a range of it.
fn serve(document: &[u8], connection: TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(&connection);
    let lines = head(&mut reader)?;
    let range = lines.iter().find_map(|line| {
        let (first, last) = line.strip_prefix("Range: bytes=")?.split_once('-')?;
        Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
    });
    let (status, part) = match range {
        Some((first, last)) => ("206 Partial Content", &document[first..=last]),
        None => ("200 OK", document),
    };
    write!(&connection, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", part.len())?;
    match lines.first().is_some_and(|line| line.starts_with("HEAD")) {
        true => Ok(()),
        false => (&connection).write_all(part),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut doc = json!({"year": 1963, "laps": []});
    for lap in 0..200_000 {
        let driver = format!("driver {}", lap % 20);
        let row = json!({"driver": driver, "ms": 70_000 + lap});
        doc.set_pointer("/laps/-", row.doc().root())?;
    }
    let bytes = doc.doc().compacted()?.as_bytes().to_vec();
    let server = TcpListener::bind("127.0.0.1:0")?;
    let address = server.local_addr()?;
    thread::spawn(move || {
        for connection in server.incoming().flatten() {
            if let Err(error) = serve(&bytes, connection) {
                eprintln!("{error}");
            }
        }
    });

    let mut partial = Partial::with_block(Remote(address), 64 << 10)?;
    let driver = partial.read(|doc| {
        let Some(driver) = doc.pointer("/laps/123456/driver")? else { return Ok(None) };
        Ok::<_, livebuf::Error>(driver.as_str()?.map(str::to_owned))
    })??;
    assert_eq!(driver.as_deref(), Some("driver 16"));
    println!("one value: {} requests, {} bytes", partial.requests(), partial.fetched());

    let total = partial.read(|doc| {
        let Some(laps) = doc.pointer("/laps")? else { return Ok(0) };
        let Some(table) = laps.as_array()?.map(|laps| laps.table()).transpose()?.flatten() else {
            return Ok(0);
        };
        let Some(column) = table.column("ms")? else { return Ok(0) };
        column.iter().try_fold(0, |total, value| {
            Ok::<i64, livebuf::Error>(total + value?.and_then(|value| value.as_i64()).unwrap_or(0))
        })
    })??;
    assert_eq!(total, (0..200_000).map(|lap| 70_000 + lap).sum());
    let length = partial.document_length();
    println!(
        "and a column: {} requests, {} of {length} bytes",
        partial.requests(),
        partial.fetched()
    );
    Ok(())
}
