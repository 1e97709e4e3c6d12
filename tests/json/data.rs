//! Real files, and an object of many keys, to documents and back.

use crate::tree::{data_files, print, round_trip};

#[test]
fn every_data_file_survives() {
    for (name, text) in data_files() {
        println!("{name}");
        round_trip(&text);
    }
}

#[test]
fn key_order_survives_at_5000_keys() {
    // A permutation by a full-period generator, so that the order is random and fixed.
    let mut key = 1u64;
    let mut text = String::from("{");
    for index in 0..5000 {
        key = (key * 1_664_525 + 1_013_904_223) % (1 << 32);
        let comma = if index == 0 { "" } else { "," };
        text.push_str(&format!("{comma}\"key{key}\":{index}"));
    }
    text.push('}');
    round_trip(text.as_bytes());
    assert_eq!(print(&livebuf_json::from_str(&text).unwrap()), text);
}

/// The printed text of a validated and of a merely opened document are the same.
#[test]
fn both_modes_print_the_same() {
    for (name, text) in data_files() {
        let document = livebuf_json::from_slice(&text).unwrap();
        let opened = livebuf::Doc::open(document.as_bytes()).unwrap();
        let checked = livebuf_json::to_string(opened.root()).unwrap();
        assert!(checked == print(&document), "{name}");
    }
}
