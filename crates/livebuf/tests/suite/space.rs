//! Sizes, the write hook, the free list, compaction.

use livebuf::{Doc, DocBuf, Editor, ErrorKind, New, Observer, VecStorage, json};

#[test]
fn the_sizes_promised() {
    assert!(json!({}).as_bytes().len() <= 48);
    let encoded = json!({"event": "lap_complete", "lap": 55, "time_sec": 88.427});
    assert!(encoded.as_bytes().len() <= 144, "{}", encoded.as_bytes().len());
    for (hint, most) in [(New::object(3), 148), (New::object(4), 168)] {
        let mut buffer = [0xA5; 512];
        let mut doc = Editor::create(&mut buffer[..]).unwrap();
        let root = doc.set_root(hint).unwrap().unwrap();
        doc.set(root, "event", "lap_complete").unwrap();
        doc.set(root, "lap", 55).unwrap();
        doc.set(root, "time_sec", 88.427).unwrap();
        assert!(doc.as_bytes().len() <= most, "{}", doc.as_bytes().len());
        doc.doc().validate().unwrap();
    }
}

/// Keeps a copy of a document up to date from what the hook reports.
#[derive(Default)]
struct Replay {
    copy: Vec<u8>,
    changed: usize,
}

impl Observer for Replay {
    fn write(&mut self, offset: u64, old: &[u8], new: &[u8]) {
        let (start, end) = (offset as usize, offset as usize + new.len());
        if self.copy.len() < end {
            self.copy.resize(end, 0);
        }
        assert_eq!(&self.copy[start..end], old, "the old bytes are what was there");
        self.copy[start..end].copy_from_slice(new);
        self.changed += new.len();
    }
}

#[test]
fn the_hook_sees_every_change() {
    let mut doc = Editor::create_with(VecStorage::default(), Replay::default()).unwrap();
    let root = doc.set_root(New::object(0)).unwrap().unwrap();
    let list = doc.set(root, "list", New::array(0)).unwrap().unwrap();
    for index in 0..600 {
        doc.set(root, format!("key {index}").as_str(), index).unwrap();
        doc.push(list, format!("text {index}").as_str()).unwrap();
    }
    for index in (0..600).step_by(3) {
        doc.remove(root, format!("key {index}").as_str()).unwrap();
    }
    doc.remove(list, 5).unwrap();
    doc.insert(list, 7, 1.5).unwrap();
    doc.compact().unwrap();
    let used = doc.as_bytes().len();
    assert_eq!(&doc.observer().copy[..used], doc.as_bytes());
    Doc::open(&doc.observer().copy).unwrap().validate().unwrap();

    // A scalar set is small.
    let root = doc.root().unwrap();
    for value in [1i64, -1, i64::MAX] {
        doc.observer_mut().changed = 0;
        doc.set(root, "key 1", value).unwrap();
        assert!(doc.observer().changed < 32, "{} bytes", doc.observer().changed);
    }
    doc.observer_mut().changed = 0;
    doc.set(root, "key 1", true).unwrap();
    assert!(doc.observer().changed < 32);
}

#[test]
fn arrays_stay_within_their_bytes() {
    for count in [1_000u64, 10_000, 100_000] {
        let mut doc = DocBuf::new().unwrap();
        let root = doc.set_root(New::array(0)).unwrap().unwrap();
        for index in 0..count {
            doc.push(root, index).unwrap();
        }
        let bytes = doc.as_bytes().len() as f64 / count as f64;
        assert!(bytes <= 8.1, "{count} elements, last in the buffer: {bytes} bytes each");

        // Two that grow in turn: neither stays last.
        let mut doc = DocBuf::new().unwrap();
        let root = doc.set_root(New::array(0)).unwrap().unwrap();
        let lists = [0, 1].map(|_| doc.push(root, New::array(0)).unwrap().unwrap());
        for index in 0..count {
            for list in lists {
                doc.push(list, index).unwrap();
            }
        }
        let ratio = doc.as_bytes().len() as f64 / (16 * count) as f64;
        assert!(ratio <= 2.5, "{count} elements, two in turn: {ratio} times the data");
    }
}

#[test]
fn a_full_buffer_says_what_is_missing() {
    let mut buffer = [0xA5; 128];
    let mut doc = Editor::create(&mut buffer[..]).unwrap();
    let root = doc.set_root(New::object(2)).unwrap().unwrap();
    doc.set(root, "a", 1).unwrap();
    let before = doc.as_bytes().to_vec();
    let error = doc.set(root, "b", "x".repeat(100).as_str()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    assert_eq!(doc.as_bytes(), before);
    let missing = error.detail() as usize;
    let mut larger = vec![0xA5; 128 + missing];
    larger[..before.len()].copy_from_slice(&before);
    let mut doc = Editor::open(&mut larger[..]).unwrap();
    let root = doc.root().unwrap();
    doc.set(root, "b", "x".repeat(100).as_str()).unwrap();
    doc.doc().validate().unwrap();
}

#[test]
fn compaction_gives_the_encoders_bytes() {
    let expected = json!({"kept": [1, 2, 3], "name": "a name of some length", "n": {"x": 1}});
    let mut doc = json!({"gone": "something long enough to lie elsewhere", "kept": [1, 2, 3]});
    let root = doc.root().unwrap();
    doc.set(root, "name", "a name of some length").unwrap();
    doc.set(root, "n", json!({"x": 1}).doc().root()).unwrap();
    doc.remove(root, "gone").unwrap();
    assert_ne!(doc.as_bytes(), expected.as_bytes());
    let mut target = [0xA5; 1024];
    let length = doc.doc().compact_into(&mut target).unwrap();
    let copy = Doc::open(&target[..length]).unwrap().validate().unwrap();
    assert!(copy.root().deep_eq(&expected.doc().root(), &mut 100).unwrap());
    doc.compact().unwrap();
    assert_eq!(doc.as_bytes(), expected.as_bytes());
    assert_eq!(doc.doc().compact_into(&mut [0; 40]).unwrap_err().kind(), ErrorKind::NoSpace);
}

/// FORMAT 11.3: texts that do not repeat are searched for less and less often.
#[test]
fn texts_that_do_not_repeat_pause_the_search() {
    let copies = |different: usize| {
        let mut encoder = livebuf::Encoder::new();
        encoder.begin_array().unwrap();
        for number in 0..different {
            encoder.str(&format!("text number {number}")).unwrap();
        }
        for _ in 0..20_000 {
            encoder.str("the same again").unwrap();
        }
        encoder.end_array().unwrap();
        let doc = encoder.finish().unwrap();
        doc.doc().validate().unwrap();
        let same = b"the same again";
        doc.as_bytes().windows(same.len()).filter(|text| text == same).count()
    };
    // The first is found again by the 64th search.
    assert_eq!(copies(62), 1);
    // 64 searched, 64 not.
    assert_eq!(copies(64), 64 + 1);
    // 128 not after the second verdict, of which 48 are different ones.
    assert_eq!(copies(64 + 64 + 64 + 48), 128 - 48 + 1);
    // The same repeat from the first search on: no pause follows.
    assert_eq!(copies(64 + 64 + 60), 1);
}
