//! How many 4 KiB pages of a large document a look-up and an edit touch.

use livebuf::{DocBuf, Encoder, New, json, trace};

fn touched(work: impl FnOnce()) -> usize {
    trace::start();
    work();
    trace::stop().len()
}

/// Sixteen letters and digits, scattered.
fn key(index: u64) -> String {
    let mut bits = (index as u128 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
    let mut digit = || {
        bits = bits.rotate_left(17).wrapping_mul(0xDA94_2042_E4DD_58B5);
        char::from(
            b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                [(bits >> 64) as usize % 62],
        )
    };
    (0..16).map(|_| digit()).collect()
}

/// Look-ups and edits all over a map; the most pages that each touches.
fn most_pages(doc: &mut DocBuf) -> (usize, usize) {
    let root = doc.root_id().unwrap();
    let (mut most_found, mut most_edited) = (0, 0);
    for index in (0..1_000_000).step_by(9_973) {
        let name = key(index);
        let found = touched(|| {
            assert_eq!(doc.doc().root().get(&*name).unwrap().unwrap().as_u64(), Some(index));
        });
        let edited = touched(|| {
            doc.set(root, name.as_str(), 7).unwrap();
        });
        most_found = most_found.max(found);
        most_edited = most_edited.max(edited);
    }
    (most_found, most_edited)
}

#[test]
fn a_map_of_a_million_keys() {
    let mut encoder = Encoder::new();
    encoder.begin_object().unwrap();
    for index in 0..1_000_000 {
        encoder.key(&key(index)).unwrap();
        encoder.u64(index).unwrap();
    }
    encoder.end_object().unwrap();
    let mut doc = encoder.finish().unwrap();
    let (found, edited) = most_pages(&mut doc);
    println!("encoded: a look-up touches at most {found} pages, an edit {edited}");
    assert!(found <= 8 && edited <= 10, "{found}, {edited}");
}

/// The same map grown key by key.
fn grown(hint: usize) -> (usize, usize) {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::object(hint)).unwrap().unwrap();
    for index in 0..1_000_000 {
        doc.set(root, key(index).as_str(), index).unwrap();
    }
    assert!(doc.as_bytes().len() > 40_000_000);
    let (found, edited) = most_pages(&mut doc);
    println!("grown from {hint}: a look-up touches at most {found} pages, an edit {edited}");
    (found, edited)
}

#[test]
fn a_map_grown_from_a_hint_to_a_million_keys() {
    let (found, edited) = grown(1000);
    assert!(found <= 8 && edited <= 10, "{found}, {edited}");
}

/// Its home has no room for the map's header.
#[test]
fn a_map_grown_to_a_million_keys_from_nothing() {
    let (found, edited) = grown(0);
    assert!(found <= 11 && edited <= 11, "{found}, {edited}");
}

#[test]
fn a_large_tree() {
    let mut doc = json!({"rows": []});
    let rows = doc.find("/rows").unwrap().unwrap();
    for index in 0..100_000 {
        let row = doc.push(rows, New::object(3)).unwrap().unwrap();
        doc.set(row, "id", index).unwrap();
        doc.set(row, "name", format!("the name of row {index}").as_str()).unwrap();
        doc.set(row, "done", false).unwrap();
    }
    for index in (0..100_000).step_by(9_973) {
        let pointer = format!("/rows/{index}/name");
        let found = touched(|| {
            doc.doc().pointer(&pointer).unwrap().unwrap().as_str().unwrap().unwrap();
        });
        assert!(found <= 8, "a look-up touches {found} pages");
        let pointer = format!("/rows/{index}/id");
        let edited = touched(|| {
            doc.set_pointer(&pointer, 1).unwrap();
        });
        assert!(edited <= 10, "a scalar edit touches {edited} pages");
    }
}
