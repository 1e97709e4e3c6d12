//! A little of everything that reads text unchecked or shares memory, small enough for
//! Miri to interpret (`make test-miri`): it sees what no other test can.

use livebuf::{Doc, DocBuf};
use livebuf_fuzz::input::Random;
use livebuf_fuzz::{edits, samples, tables, walk};

/// Inputs of each oracle; Miri takes seconds for each.
const SEEDS: u64 = if cfg!(miri) { 3 } else { 300 };

#[test]
fn every_kind_of_block_is_read() {
    for (name, bytes) in samples::all() {
        // Miri needs minutes for each of those with many keys or columns.
        if cfg!(miri) && bytes.len() > 700 {
            println!("skipped: {name}, {} bytes", bytes.len());
            continue;
        }
        // Bytes of any alignment, and a copy that the library aligns.
        let mut shifted = vec![0];
        shifted.extend_from_slice(bytes);
        let doc = Doc::open(&shifted[1..]).expect("sound");
        let tree = walk::valid(doc.validate().expect("valid"));
        let mut copy = DocBuf::from_bytes_unvalidated(bytes).expect("sound");
        copy.validate().expect("valid");
        assert_eq!(walk::valid(copy.valid().expect("validated")), tree, "{name}");
    }
}

#[test]
fn edits_in_little() {
    for seed in 0..SEEDS {
        edits::run(&Random(seed).bytes(60));
    }
}

#[test]
fn edits_of_tables_in_little() {
    let mut steps = 0;
    // Each step is also tried in a buffer, compacted and hashed: minutes under Miri.
    let (seeds, length) = if cfg!(miri) { (1, 5) } else { (40, 24) };
    for seed in 0..seeds {
        let mut data = Random(seed).bytes(length);
        // Few rows.
        data[..2].copy_from_slice(&[3, 0]);
        steps += tables::run(&data).steps;
    }
    assert!(steps > 0, "{steps} edits");
}
