//! Bugs that these attacks found: what, effect, fix.
use livebuf::*;

fn valid<S: Storage, O: Observer>(doc: &Editor<S, O>) {
    doc.doc().validate().map(|_| ()).unwrap();
}

#[test]
fn storage_with_old_bytes_behind_the_document() {
    // VecStorage claims bytes never written are zero, but it may be given dirty ones.
    let storage = VecStorage::from_slice(&[0xA5; 512]).unwrap();
    let mut doc = Editor::create(storage).unwrap();
    let root = doc.set_root(New::array(0)).unwrap().unwrap();
    doc.push(root, "a").unwrap();
    valid(&doc);
}

#[test]
fn wipe_off_then_on() {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::array(0)).unwrap().unwrap();
    doc.push(root, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz").unwrap();
    doc.push(root, "keep this at the end of the document").unwrap();
    doc.set_wipe(false);
    doc.set(root, 0usize, 1).unwrap();
    doc.set_wipe(true);
    doc.push(root, "a text of 17 byte").unwrap();
    doc.push(root, New::object(3)).unwrap();
    valid(&doc);
}

#[test]
fn dirty_free_blocks_of_a_foreign_document() {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::array(0)).unwrap().unwrap();
    doc.push(root, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz").unwrap();
    doc.push(root, "keep this at the end of the document").unwrap();
    doc.set_wipe(false);
    doc.set(root, 0usize, 1).unwrap();
    let mut doc = DocBuf::from_bytes(doc.as_bytes()).unwrap();
    doc.validate().unwrap();
    let root = doc.root().unwrap();
    doc.push(root, "a text of 17 byte").unwrap();
    doc.push(root, New::object(3)).unwrap();
    valid(&doc);
}

#[test]
fn limit_reached_with_free_neighbours() {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::array(8)).unwrap().unwrap();
    for _ in 0..6 {
        doc.push(root, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz").unwrap();
    }
    doc.push(root, "keep this at the end of the document").unwrap();
    let mut limits = Limits::default();
    limits.document = doc.as_bytes().len() as u64 + 96;
    doc.set_limits(limits);
    for i in 0..3usize {
        doc.set(root, i, 1).unwrap();
    }
    let long = "x".repeat(120);
    let r = doc.push(root, &*long);
    eprintln!("{r:?} used {} limit {}", doc.as_bytes().len(), limits.document);
    assert!(doc.as_bytes().len() as u64 <= limits.document);
    valid(&doc);
}

#[test]
fn detached_into_itself() {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::object(2)).unwrap().unwrap();
    let a = doc.set(root, "a", New::object(2)).unwrap().unwrap();
    let b = doc.set(a, "b", New::object(2)).unwrap().unwrap();
    let d = doc.detach(root, "a").unwrap().unwrap();
    let r = doc.set(b, "c", &d);
    eprintln!("{r:?}");
    assert!(r.is_err());
}

#[test]
fn cursor_after_child_frees() {
    let mut doc = DocBuf::new().unwrap();
    doc.set_root(New::object(2)).unwrap().unwrap();
    let mut root = doc.root_mut().unwrap();
    root.set("a", New::object(1)).unwrap().unwrap().set("b", New::object(1)).unwrap();
    root.get_mut("a").unwrap().unwrap().remove("b").unwrap();
    root.set("c", 1).unwrap();
}

#[test]
fn graft_of_damaged_immediates() {
    let mut doc = DocBuf::new().unwrap();
    doc.set_root(u64::MAX).unwrap();
    let mut bytes = doc.to_vec();
    bytes[8..16].fill(0);
    let mut target = DocBuf::new().unwrap();
    let r = target.set_root(Doc::open(&bytes).unwrap().root());
    eprintln!("{r:?}");
    valid(&target);
    doc.set_root(()).unwrap();
    let mut bytes = doc.to_vec();
    bytes[8..16].fill(1);
    let r = target.set_root(Doc::open(&bytes).unwrap().root());
    eprintln!("{r:?}");
    valid(&target);
}

#[test]
fn graft_of_damaged_bools() {
    let mut e = Encoder::new();
    e.begin_array().unwrap();
    e.bool(true).unwrap();
    e.end_array().unwrap();
    let mut bytes = e.finish().unwrap().to_vec();
    let n = bytes.len();
    bytes[n - 8] = 0xFF;
    let mut target = DocBuf::new().unwrap();
    let r = target.set_root(Doc::open(&bytes).unwrap().root());
    eprintln!("{r:?}");
    valid(&target);
}

#[test]
fn graft_of_duplicate_keys() {
    let mut e = Encoder::new();
    e.begin_object().unwrap();
    for key in ["a", "b"] {
        e.key(key).unwrap();
        e.bool(true).unwrap();
    }
    e.end_object().unwrap();
    let mut bytes = e.finish().unwrap().to_vec();
    let at = bytes.windows(8).position(|w| w == b"b\0\0\0\0\0\0\x81").unwrap();
    bytes[at] = b'a';
    let mut target = DocBuf::new().unwrap();
    let r = target.set_root(Doc::open(&bytes).unwrap().root());
    eprintln!("{r:?}");
    valid(&target);
}

#[test]
fn ordered_walk_of_a_damaged_record_ends() {
    let mut e = Encoder::new();
    e.begin_object().unwrap();
    for key in ["a", "b"] {
        e.key(key).unwrap();
        e.bool(true).unwrap();
    }
    e.end_object().unwrap();
    let mut bytes = e.finish().unwrap().to_vec();
    let at = bytes.windows(8).position(|w| w == b"b\0\0\0\0\0\0\x81").unwrap();
    bytes[at + 7] = 0xFF;
    let doc = Doc::open(&bytes).unwrap();
    let object = doc.root().as_object().unwrap().unwrap();
    assert!(object.range(..).take(10).count() < 4);
}

#[test]
fn foreign_push_with_a_false_capacity() {
    let mut e = Encoder::new();
    e.begin_array().unwrap();
    e.i64(i64::MAX).unwrap();
    e.end_array().unwrap();
    let mut bytes = e.finish().unwrap().to_vec();
    bytes[32 + 8] = 200;
    let mut doc = DocBuf::from_bytes(&bytes).unwrap();
    let root = doc.root().unwrap();
    for _ in 0..10 {
        let r = doc.push(root, 5);
        eprintln!("{r:?}");
    }
    let mut doc = DocBuf::from_bytes(&bytes).unwrap();
    doc.clear(root).ok();
}

#[test]
fn foreign_record_with_a_false_capacity() {
    let mut e = Encoder::new();
    e.begin_object().unwrap();
    e.key("a").unwrap();
    e.bool(true).unwrap();
    e.end_object().unwrap();
    let bytes = e.finish().unwrap().to_vec();
    for (at, v) in [(33, 200), (57, 200)] {
        let mut bytes = bytes.clone();
        bytes[at] = v;
        let mut doc = DocBuf::from_bytes(&bytes).unwrap();
        let root = doc.root().unwrap();
        for i in 0..20 {
            let r = doc.set(root, &*format!("k{i}"), 5);
            eprintln!("{r:?}");
        }
        let mut doc = DocBuf::from_bytes(&bytes).unwrap();
        let root = doc.root().unwrap();
        doc.clear(root).ok();
    }
}

#[test]
fn bound_of_another_document() {
    let make = |a: &str, b: &str| {
        let mut e = Encoder::new();
        e.begin_object().unwrap();
        e.key(a).unwrap();
        e.i64(1).unwrap();
        e.key(b).unwrap();
        e.i64(2).unwrap();
        e.end_object().unwrap();
        e.finish().unwrap()
    };
    let (one, two) = (make("x", "y"), make("y", "x"));
    let x = one.valid().unwrap().root().as_object().unwrap().bind("x").unwrap();
    assert_eq!(two.valid().unwrap().root().get(&x).unwrap().as_i64(), Some(2));
}

#[test]
fn element_limit_of_records() {
    let mut doc = DocBuf::new().unwrap();
    let mut limits = Limits::default();
    limits.elements = 3;
    doc.set_limits(limits);
    let root = doc.set_root(New::object(2)).unwrap().unwrap();
    let r: Vec<_> = (0..6).map(|i| doc.set(root, &*format!("k{i}"), 1)).collect();
    assert!(r.iter().any(|r| r.is_err()));
}

#[test]
fn clear_a_map() {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::Map { capacity: 2 }).unwrap().unwrap();
    doc.set(root, "a", 1).unwrap();
    doc.clear(root).unwrap();
    valid(&doc);
}

#[test]
fn literal_whose_shape_is_forgotten_while_it_is_built() {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::array(0)).unwrap().unwrap();
    doc.push(root, New::Fields(&[("an old shape's key", New::Null)])).unwrap();
    doc.push(root, "last in the document").unwrap();
    let keys: Vec<String> = (0..70).map(|number| format!("k{number}")).collect();
    let fields: Vec<_> = keys.iter().map(|key| [(&**key, New::Null)]).collect();
    let mut items: Vec<_> = fields.iter().map(|fields| New::Fields(fields)).collect();
    let old = [("an old shape's key", New::Null)];
    items.push(New::Fields(&old));
    doc.push(root, New::Items(&items)).unwrap();
    valid(&doc);
}

/// A full buffer whose free list holds a block that fits, but in a class with many that do not.
#[test]
fn a_promised_block_is_found_after_merging() {
    let mut buffer = vec![0; 1 << 15];
    let mut doc = Editor::create(&mut buffer[..]).unwrap();
    let root = doc.set_root(New::array(400)).unwrap().unwrap();
    for _ in 0..100 {
        doc.push(root, &*"x".repeat(64)).unwrap();
        doc.push(root, "between these").unwrap();
    }
    doc.push(root, &*"y".repeat(120)).unwrap();
    // To the last byte.
    let room = (1 << 15) - doc.as_bytes().len();
    doc.push(root, &*"z".repeat(room)).unwrap();
    for index in (0..200usize).step_by(2) {
        doc.set(root, index, "").unwrap();
    }
    doc.set(root, 200usize, "").unwrap();
    valid(&doc);
    // The block of 120 bytes is promised.
    let _ = doc.set(root, 0usize, &*"w".repeat(120));
    valid(&doc);
}
