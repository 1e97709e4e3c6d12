//! Output and work are bounded by a document's bytes: crafted documents of every kind of
//! block, sound ones and such whose values alias. Run one with `--nocapture` to see the
//! worst factors.

use livebuf::{Doc, DocBuf, EncodeOptions, Encoder, Value};
use livebuf_fuzz::one_of;
use livebuf_json::{
    ErrorKind, PrintOptions, default_max_bytes, to_string, to_string_pretty, to_writer,
};

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

type Build = fn(&mut Encoder) -> livebuf::Result<()>;

/// A key that prints as six times its bytes.
fn control(length: usize) -> String {
    "\u{1}".repeat(length)
}

fn object(
    encoder: &mut Encoder,
    keys: usize,
    mut value: impl FnMut(&mut Encoder) -> livebuf::Result<()>,
) -> livebuf::Result<()> {
    encoder.begin_object()?;
    for number in 0..keys {
        encoder.key(&format!("{}{number}", control(if keys > 255 { 20 } else { 250 })))?;
        value(encoder)?;
    }
    encoder.end_object()
}

fn array(
    encoder: &mut Encoder,
    count: usize,
    mut value: impl FnMut(&mut Encoder, usize) -> livebuf::Result<()>,
) -> livebuf::Result<()> {
    encoder.begin_array()?;
    for index in 0..count {
        value(encoder, index)?;
    }
    encoder.end_array()
}

fn row(
    encoder: &mut Encoder,
    key: &str,
    value: impl FnOnce(&mut Encoder) -> livebuf::Result<()>,
) -> livebuf::Result<()> {
    encoder.begin_object()?;
    encoder.key(key)?;
    value(encoder)?;
    encoder.end_object()
}

/// One value of each kind of block that stands for as much as it can.
const KINDS: [(&str, Build); 21] = [
    ("record", |e| object(e, 40, |e| e.bool(true))),
    ("record of shared text", |e| object(e, 40, |e| e.str(&control(1024)))),
    ("map", |e| object(e, 300, |e| e.null())),
    ("map of long keys", |e| {
        e.begin_object()?;
        for number in 0..20 {
            e.key(&format!("{}{number}", control(900)))?;
            e.null()?;
        }
        e.end_object()
    }),
    ("cells", |e| array(e, 200, |e, n| if n % 2 == 0 { e.str(&control(1024)) } else { e.i64(1) })),
    ("booleans", |e| array(e, 5000, |e, n| e.bool(n % 3 == 0))),
    ("nulls", |e| array(e, 5000, |e, _| e.null())),
    ("bytes", |e| array(e, 5000, |e, n| e.i64(-100 - n as i64 % 28))),
    ("floats", |e| array(e, 1000, |e, n| e.f64(f64::from_bits(1 << 52 | n as u64)))),
    ("short floats", |e| {
        array(e, 1000, |e, n| e.f64(f64::from(f32::from_bits(1 << 23 | n as u32))))
    }),
    ("text", |e| array(e, 500, |e, _| e.str(&control(1024)))),
    ("dictionary", |e| array(e, 5000, |e, n| e.str(&format!("{}{}", control(1023), n % 2)))),
    ("table of a dictionary and nulls under long keys", |e| {
        array(e, 5000, |e, n| {
            e.begin_object()?;
            for key in 0..7 {
                e.key(&format!("{}{key}", control(254)))?;
                if key == 0 {
                    e.str(&format!("{}{}", control(1023), n % 2))?;
                } else {
                    e.null()?;
                }
            }
            e.end_object()
        })
    }),
    ("objects", |e| {
        array(e, 500, |e, n| {
            if n % 2 == 0 {
                e.begin_object()?;
                e.end_object()
            } else {
                object(e, 3, |e| e.null())
            }
        })
    }),
    ("arrays", |e| {
        array(e, 500, |e, n| {
            // Neither all arrays nor all alike: no list.
            if n == 0 {
                e.begin_object()?;
                e.end_object()
            } else {
                array(e, n % 3, |e, _| e.null())
            }
        })
    }),
    ("table of booleans", |e| array(e, 5000, |e, n| row(e, &control(128), |e| e.bool(n % 2 == 0)))),
    ("table of bytes", |e| {
        array(e, 1000, |e, n| {
            e.begin_object()?;
            for key in 0..8 {
                e.key(&format!("{}{key}", control(254)))?;
                e.i64(n as i64 % 7)?;
            }
            e.end_object()
        })
    }),
    ("table of nulls", |e| array(e, 5000, |e, _| row(e, &control(128), |e| e.null()))),
    ("tables in each other", |e| {
        fn nest(e: &mut Encoder, left: usize, value: bool) -> livebuf::Result<()> {
            match left {
                0 => e.bool(value),
                _ => row(e, &control(8), |e| nest(e, left - 1, value)),
            }
        }
        array(e, 5000, |e, n| nest(e, 16, n % 2 == 0))
    }),
    ("tables in each other under long keys", |e| {
        fn nest(e: &mut Encoder, left: usize, value: bool) -> livebuf::Result<()> {
            match left {
                0 => e.bool(value),
                _ => row(e, &control(255), |e| nest(e, left - 1, value)),
            }
        }
        array(e, 500, |e, n| nest(e, 15, n % 2 == 0))
    }),
    ("lists", |e| array(e, 2000, |e, n| array(e, 1, |e, _| array(e, n % 3, |e, _| e.bool(true))))),
];

fn encode(build: impl FnOnce(&mut Encoder) -> livebuf::Result<()>) -> DocBuf {
    let mut encoder = Encoder::with_options(EncodeOptions::default());
    build(&mut encoder).unwrap();
    encoder.finish().unwrap()
}

/// Further fields of many rows.
fn extras() -> DocBuf {
    let mut doc = encode(|e| array(e, 100, |e, n| row(e, "a", |e| e.i64(n as i64))));
    for index in 0..100 {
        doc.set_pointer(&format!("/{index}/{}", control(255)), 1).unwrap();
    }
    doc
}

/// A map of which little more than half is left.
fn holes() -> DocBuf {
    let mut doc = encode(|e| object(e, 300, |e| e.null()));
    for index in 0..140 {
        assert!(doc.remove_pointer(&format!("/{}{index}", control(20))).unwrap());
    }
    doc
}

fn samples() -> Vec<(&'static str, DocBuf)> {
    let mut all: Vec<_> = KINDS.map(|(name, build)| (name, encode(build))).into();
    all.extend([("further fields", extras()), ("holes", holes())]);
    all
}

/// Bug: 3.4 kB of a valid document printed as 461 MB. Fix: a table's columns pay for its
/// keys (FORMAT 6.3), so that text is at most 16,384 times the document.
#[test]
fn text_of_valid_documents_is_bounded() {
    let mut worst = (0.0, "");
    let every = one_of(3);
    for (name, doc) in samples().into_iter().step_by(every) {
        doc.doc().validate().unwrap();
        let root = doc.valid().unwrap().root();
        let (used, text) = (doc.as_bytes().len(), to_string(root).unwrap());
        let factor = text.len() as f64 / used as f64;
        println!("{name}: {used} bytes, printed {factor:.0} times");
        worst = if factor > worst.0 { (factor, name) } else { worst };
        assert!(text.len() as u64 <= default_max_bytes(used, true), "{name}");
        match to_string_pretty(root) {
            Ok(text) => assert!(text.len() as u64 <= default_max_bytes(used, true), "{name}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::OutputLimit, "{name}"),
        }
        for options in [PrintOptions::new(), PrintOptions::pretty()] {
            let most = default_max_bytes(used, false);
            let mut written = Vec::new();
            match to_writer(&mut written, doc.doc().root(), &options) {
                Ok(()) => {}
                Err(error) => assert_eq!(error.kind(), ErrorKind::OutputLimit, "{name}"),
            }
            assert!(written.len() as u64 <= most + (64 << 10), "{name}");
        }
        // What prints like this, converts and compares like this.
        let budget = 200 * used as u64;
        assert!(root.deep_eq(root, &mut { budget }).unwrap(), "{name}");
        assert_eq!(
            root.digest(&mut { budget }).unwrap(),
            doc.doc().root().digest(&mut { budget }).unwrap()
        );
        let compact = doc.doc().compacted().unwrap();
        assert_eq!(to_string(&compact).unwrap(), text, "{name}: as bounded as a valid view");
        let mut copy = DocBuf::new().unwrap();
        copy.set_root(doc.doc().root()).unwrap();
        copy.validate().unwrap();
        assert_eq!(to_string(copy.valid().unwrap().root()).unwrap(), text, "{name}");
        assert_eq!(serde_json::to_string(&doc).unwrap(), text);
        livebuf::from_doc::<serde_json::Value>(doc.doc()).unwrap();
    }
    println!("worst: {} times, {}", worst.0, worst.1);
    // The bound is not idle.
    assert!(worst.0 > 4000.0 / every as f64, "{worst:?}");
}

/// A document where `outer` places lead to one array, and `inner` places of that to one value.
fn aliased(build: &DocBuf, outer: usize, inner: usize) -> Vec<u8> {
    let value: Value<'_> = build.doc().root();
    let is_object = value.as_object().unwrap().is_some();
    let options = EncodeOptions { tables: false, ..EncodeOptions::default() };
    let mut encoder = Encoder::with_options(options);
    let edit = |e: &mut Encoder| -> livebuf::Result<()> {
        e.begin_array()?;
        e.begin_array()?;
        // Takes the value's place: tables are wanted there.
        e.begin_array()?;
        e.end_array()?;
        for _ in 1..inner {
            e.begin_array()?;
            e.end_array()?;
        }
        e.end_array()?;
        for _ in 1..outer {
            e.begin_array()?;
            e.end_array()?;
        }
        e.end_array()
    };
    edit(&mut encoder).unwrap();
    let mut doc = encoder.finish().unwrap();
    doc.set_pointer("/0/0", value).unwrap();
    let mut bytes = doc.to_vec();
    let data = |bytes: &[u8], home: usize| {
        let at = if bytes[home] == 3 { word(bytes, home + 4) as usize } else { home };
        (bytes[at + 1], word(bytes, at + 12) as usize)
    };
    let (column, homes) = data(&bytes, word(&bytes, 8) as usize);
    assert_eq!(column, 14);
    let first = word(&bytes, homes);
    let (column, cells) = data(&bytes, first as usize);
    let group = |index: usize| 72 * (index / 8);
    for index in 0..inner {
        match column {
            0 => {
                let (tag, home) = (bytes[cells], bytes[cells + 8..cells + 16].to_vec());
                bytes[cells + group(index) + index % 8] = tag;
                let at = cells + group(index) + 8 + 8 * (index % 8);
                bytes[at..at + 8].copy_from_slice(&home);
            }
            _ => {
                let home = bytes[cells..cells + 4].to_vec();
                bytes[cells + 4 * index..cells + 4 * index + 4].copy_from_slice(&home);
            }
        }
    }
    assert!(is_object == (column == 0));
    for index in 0..outer {
        bytes[homes + 4 * index..homes + 4 * index + 4].copy_from_slice(&first.to_le_bytes());
    }
    bytes
}

/// Bug: 1,480 damaged bytes printed 1 GiB, 34 kB printed 1.79 GB of indented text. Fix: text
/// is at most 1,024 times the document where it was not validated; other walks keep to what
/// a valid one can hold.
#[test]
fn values_that_alias_are_bounded() {
    for (name, doc) in samples().into_iter().step_by(one_of(4)) {
        let bytes = aliased(&doc, 100, 100);
        let (root, used) = (Doc::open(&bytes).unwrap().root(), bytes.len());
        assert!(Doc::open(&bytes).unwrap().validate().is_err());
        for options in
            [PrintOptions::new(), PrintOptions::pretty().indent(" ".repeat(500).as_str())]
        {
            let mut written = Vec::new();
            match to_writer(&mut written, root, &options) {
                Ok(()) => {}
                Err(error) => assert!(
                    matches!(error.kind(), ErrorKind::OutputLimit | ErrorKind::Document),
                    "{name}: {error}"
                ),
            }
            assert!(written.len() as u64 <= default_max_bytes(used, false) + (64 << 10), "{name}");
            println!("{name}: {used} bytes, printed {} times", written.len() / used);
        }
        let mut budget = 1_000_000;
        let _ = root.deep_eq(root, &mut budget);
        let _ = root.digest(&mut { 1_000_000 });
        // The encoder and copies would hold all of it.
        let refused = |error: Option<livebuf::Error>| {
            if let Some(error) = error {
                let kinds = [livebuf::ErrorKind::BudgetExceeded, livebuf::ErrorKind::DocumentLimit];
                assert!(kinds.contains(&error.kind()), "{name}: {error}");
            }
        };
        refused(Doc::open(&bytes).unwrap().compacted().err());
        let mut copy = DocBuf::new().unwrap();
        refused(copy.set_root(root).err());
        assert!(copy.as_bytes().len() <= 300 * used, "{name}");
        copy.validate().unwrap();
        let _ = serde_json::to_writer(std::io::sink(), &root);
        let _ = livebuf::from_value::<serde::de::IgnoredAny>(root);
    }
}
