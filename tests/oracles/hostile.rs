//! Damage of every sort: cut short, one byte changed, crafted. The answer is an
//! error or a value; never a panic, a hang, or a read outside.

use livebuf::{
    Doc, DocBuf, Editor, EncodeOptions, ErrorKind, Kind, Limits, New, Value, VecStorage, layout,
};
use livebuf_fuzz::bytes::{Effort, attack};
use livebuf_fuzz::input::{Input, Random};
use livebuf_fuzz::one_of;
use livebuf_fuzz::samples;
use livebuf_fuzz::walk;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

const EFFORT: Effort = Effort { walk: 1_000, edits: 4 };
/// No case may take longer. `LIVEBUF_SLOW` says how many times slower a sanitizer makes it.
fn most() -> Duration {
    let slow = std::env::var("LIVEBUF_SLOW").map_or(1, |times| times.parse().expect("a number"));
    Duration::from_secs(5 * slow)
}

/// Attacks one document; says what it was where that fails or takes long.
fn attack_one(bytes: &[u8], seed: u64, name: impl Fn() -> String) {
    let decisions = Random(seed).bytes(64);
    let taken = livebuf_fuzz::least(most(), || {
        let attacked =
            catch_unwind(AssertUnwindSafe(|| attack(bytes, &mut Input::new(&decisions), EFFORT)));
        if let Err(panic) = attacked {
            eprintln!("{}", name());
            resume_unwind(panic);
        }
    });
    assert!(taken < most(), "{} took {taken:?}", name());
}

#[test]
fn cut_short_at_every_length() {
    for (name, bytes) in samples::all() {
        for length in 0..bytes.len() {
            let cut = &bytes[..length];
            let error = Doc::open(cut).expect_err("cut short");
            let expected = if length < 4 { ErrorKind::NotADocument } else { ErrorKind::Truncated };
            assert_eq!(error.kind(), expected, "{name} cut to {length}");
            attack_one(cut, length as u64, || format!("{name} cut to {length}"));
            // The same with a header that agrees.
            if length >= 32 {
                let mut cut = cut.to_vec();
                cut.truncate(length & !7);
                let used = cut.len() as u32;
                cut[20..24].copy_from_slice(&used.to_le_bytes());
                attack_one(&cut, length as u64, || format!("{name} cut to {used}, header too"));
            }
        }
    }
}

/// Changes every byte to some other values, and of samples of over a kilobyte every third. With
/// `LIVEBUF_LONG=1` changes every byte of all to more values, and to all where there are few bytes.
fn every_byte(of: impl Fn(usize) -> bool) {
    let is_long = std::env::var_os("LIVEBUF_LONG").is_some();
    let every = if is_long { 1 } else { one_of(3) };
    let samples =
        samples::all().iter().enumerate().filter(|&(number, _)| of(number)).step_by(every);
    for (name, bytes) in samples.map(|(_, sample)| sample) {
        let mut changed = bytes.clone();
        for at in 0..bytes.len() {
            let old = bytes[at];
            let bits = (0..8).map(|bit| old ^ (1 << bit));
            let near = [0, 1, 8, 0xFF, old.wrapping_add(1), old.wrapping_sub(1), old ^ 0x18];
            let few = [old ^ 1, old ^ 0x80, old.wrapping_add(8)];
            let values: Vec<u8> = match (bytes.len(), is_long) {
                (..=128, true) => (0..=255).filter(|&value| value != old).collect(),
                (129..=1024, true) => bits.chain(near).collect(),
                (..=128, false) => few.into_iter().chain([0, 0xFF]).collect(),
                (129..=1024, false) => vec![few[at % few.len()], [0, 0xFF][at % 2]],
                (_, true) => few.to_vec(),
                (_, false) if at % 3 == 0 => vec![few[at / 3 % few.len()]],
                (_, false) => Vec::new(),
            };
            for value in values {
                changed[at] = value;
                let seed = (at * 256) as u64 + u64::from(value);
                attack_one(&changed, seed, || format!("{name}, byte {at}: {old:#x} to {value:#x}"));
            }
            changed[at] = old;
        }
    }
}

#[test]
fn every_byte_changed_in_even_samples() {
    every_byte(|number| number % 2 == 0);
}

#[test]
fn every_byte_changed_in_odd_samples() {
    every_byte(|number| number % 2 == 1);
}

// --- crafted documents ------------------------------------------------------

/// A document written by hand: the header, then words.
struct Crafted {
    bytes: Vec<u8>,
}

impl Crafted {
    fn new(root_tag: u8, root: u32) -> Self {
        let mut bytes = vec![0; 32];
        bytes[..4].copy_from_slice(&layout::MAGIC);
        bytes[4] = layout::VERSION;
        bytes[8..12].copy_from_slice(&root.to_le_bytes());
        bytes[16] = root_tag;
        Crafted { bytes }
    }

    fn here(&self) -> u32 {
        self.bytes.len() as u32
    }

    fn put(&mut self, bytes: &[u8]) -> u32 {
        let at = self.here();
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        at
    }

    fn words(&mut self, words: &[u32]) -> u32 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(&bytes)
    }

    fn set_word(&mut self, at: u32, word: u32) {
        self.bytes[at as usize..at as usize + 4].copy_from_slice(&word.to_le_bytes());
    }

    /// An array's header with its data right behind: the column's code, elements as words.
    fn array(&mut self, column: u8, count: u32, words: &[u32]) -> u32 {
        let data = self.here() + 16;
        let head = u32::from(layout::KIND_ARRAY) | u32::from(column) << 8;
        let at = self.words(&[head, count, count, data]);
        self.words(words);
        at
    }

    fn finish(mut self) -> Vec<u8> {
        self.set_word(layout::HEADER_USED, self.here());
        self.bytes
    }
}

const OBJECTS: u8 = 13;
const ARRAYS: u8 = 14;
const OBJECT: u8 = layout::TAG_OBJECT;
const ARRAY: u8 = layout::TAG_ARRAY;

/// Attacks a crafted document, which validation must refuse with one of these errors.
fn refused(name: &str, bytes: &[u8], kinds: &[ErrorKind]) {
    let error = Doc::open(bytes).expect("opened").validate().map(drop).expect_err(name);
    assert!(kinds.contains(&error.kind()), "{name}: {error:?}");
    for seed in 0..200 {
        attack_one(bytes, seed, || format!("{name}, seed {seed}"));
    }
}

#[test]
fn circles_of_nodes() {
    let mut itself = Crafted::new(ARRAY, 32);
    itself.array(ARRAYS, 1, &[32]);
    refused("an array in itself", &itself.finish(), &[ErrorKind::Overlap]);

    let mut two = Crafted::new(ARRAY, 32);
    two.array(ARRAYS, 2, &[56, 56]);
    two.array(ARRAYS, 2, &[32, 32]);
    refused("two arrays in each other", &two.finish(), &[ErrorKind::Overlap]);

    let mut cells = Crafted::new(ARRAY, 32);
    cells.array(0, 2, &[u32::from_le_bytes([ARRAY, ARRAY, 0, 0]), 0, 32, 0, 32, 0]);
    refused("cells of their own array", &cells.finish(), &[ErrorKind::Overlap]);

    let mut record = Crafted::new(OBJECT, 32);
    record.put(&[layout::KIND_RECORD, 1, 1, 1, 56, 0, 0, 0]);
    record.put(&[OBJECT]);
    record.words(&[32, 0]);
    record.put(&[layout::KIND_SHAPE, 1, 1, 0]);
    record.put(&[0]);
    record.put(b"a\0\0\0\0\0\0\x81");
    record.set_word(layout::HEADER_NEWEST_SHAPE, 56);
    let kinds = [ErrorKind::Overlap, ErrorKind::BadIndex];
    refused("a record in itself", &record.finish(), &kinds);
}

#[test]
fn forwards() {
    let forward = |to: u32| [u32::from(layout::KIND_FORWARD), to];
    for tag in [OBJECT, ARRAY] {
        let mut itself = Crafted::new(tag, 32);
        itself.words(&forward(32));
        refused("a forward to itself", &itself.finish(), &[ErrorKind::WrongBlock]);

        let mut chain = Crafted::new(tag, 32);
        chain.words(&forward(40));
        chain.words(&forward(48));
        chain.put(&[layout::KIND_RECORD]);
        refused("a forward to a forward", &chain.finish(), &[ErrorKind::WrongBlock]);

        let mut header = Crafted::new(tag, 32);
        header.words(&forward(0));
        let kinds = [ErrorKind::WrongBlock, ErrorKind::Overlap];
        refused("a forward to the header", &header.finish(), &kinds);

        let mut outside = Crafted::new(tag, 32);
        outside.words(&forward(u32::MAX - 7));
        refused("a forward to the end", &outside.finish(), &[ErrorKind::OutOfBounds]);
    }
}

#[test]
fn circles_of_shapes() {
    for second in [32, 56] {
        let mut shapes = Crafted::new(OBJECT, 80);
        for older in [56, second] {
            shapes.put(&[layout::KIND_SHAPE, 1, 0, 0, older as u8, 0, 0, 0]);
            shapes.words(&[0, 0, 0, 0]);
        }
        shapes.put(&[layout::KIND_RECORD, 1, 0, 0]);
        shapes.words(&[0, 0, 0, 0]);
        shapes.set_word(layout::HEADER_NEWEST_SHAPE, 32);
        let bytes = shapes.finish();
        refused("shapes in a circle", &bytes, &[ErrorKind::Overlap]);

        // Adding keys looks for a shape among them.
        let mut doc = DocBuf::from_bytes_unvalidated(&bytes).expect("opened");
        let root = doc.root_id().expect("an object");
        for number in 0..300 {
            let _ = doc.set(root, &*format!("k{number}"), 1);
        }
    }
}

#[test]
fn circles_of_free_blocks() {
    for next in [0u32, 8] {
        let mut doc = Crafted::new(layout::TAG_NULL, 0);
        let aux = doc.put(&[layout::KIND_AUX, layout::FEW_CLASSES as u8]);
        doc.bytes.resize((aux + layout::aux_size(layout::FEW_CLASSES)) as usize, 0);
        let first = doc.words(&[0, 8]);
        doc.words(&[first, 8]);
        doc.set_word(first, first + next);
        doc.set_word(aux + layout::AUX_HEADS, first);
        doc.set_word(aux + layout::AUX_FREE_BYTES, 16);
        doc.set_word(aux + layout::AUX_FREE_BLOCKS, 2);
        doc.set_word(layout::HEADER_AUX, aux);
        let kinds =
            [ErrorKind::Overlap, ErrorKind::BadFreeList, ErrorKind::BadCount, ErrorKind::NotZero];
        refused("free blocks in a circle", &doc.finish(), &kinds);
    }
}

#[test]
fn counts_beyond_the_bytes() {
    for count in [2, 100, 0x7FFF_FFFF, u32::MAX] {
        for column in 0..=15 {
            let mut array = Crafted::new(ARRAY, 32);
            array.array(column, count, &[0, 0]);
            let bytes = array.finish();
            let doc = Doc::open(&bytes).expect("opened");
            walk::checked(doc, 5_000);
            attack_one(&bytes, count.into(), || format!("column {column}, count {count}"));
        }
    }
    for [capacity, used, live] in
        [[255, 255, 255], [1, 255, 255], [1, 2, 1], [1, 1, 255], [0, 1, 1], [255, 1, 1]]
    {
        let mut record = Crafted::new(OBJECT, 32);
        record.put(&[layout::KIND_RECORD, capacity, used, live, 56, 0, 0, 0]);
        record.words(&[1, 0, 0, 0]);
        for count in [1, 255] {
            record.put(&[layout::KIND_SHAPE, count, count, 0]);
            record.words(&[0, 0, 0, 0]);
        }
        record.set_word(layout::HEADER_NEWEST_SHAPE, 56);
        let kinds = [
            ErrorKind::OutOfBounds,
            ErrorKind::BadCount,
            ErrorKind::BadCell,
            ErrorKind::BadIndex,
            ErrorKind::NotZero,
            ErrorKind::BadCode,
        ];
        refused("a record's counts", &record.finish(), &kinds);
    }
    for [live, used, capacity] in [[u32::MAX; 3], [1, u32::MAX, u32::MAX], [1 << 20; 3], [2, 2, 1]]
    {
        let mut map = Crafted::new(OBJECT, 32);
        map.words(&[u32::from(layout::KIND_MAP), live, 0, 0, capacity, 80, 96, 0]);
        map.words(&[u32::from(layout::KIND_ARRAY), used, used.min(1), 88]);
        map.words(&[0x61, 0x8100_0000, 1, 0]);
        map.words(&[0x0007_0100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let kinds = [ErrorKind::OutOfBounds, ErrorKind::BadCount];
        refused("a map's counts", &map.finish(), &kinds);
    }
}

#[test]
fn index_nodes_in_each_other() {
    // A root that is its own child, and two that are each other's.
    for children in [[0u32, 0], [0, 512], [512, 512]] {
        for levels in [[1u8, 1], [1, 0], [0, 1], [11, 10], [2, 1]] {
            let mut map = Crafted::new(OBJECT, 32);
            let nodes = 64 + 136;
            map.words(&[u32::from(layout::KIND_MAP), 3, 0, 0, 8, 80, nodes, 0]);
            map.words(&[u32::from(layout::KIND_ARRAY), 3, 3, 144]);
            for key in [b"a", b"b", b"c"] {
                map.put(&[key[0], 0, 0, 0, 0, 0, 0, 0x81]);
            }
            map.bytes.resize(144, 0);
            map.words(&[u32::from_le_bytes([1, 1, 1, 0]), 0]);
            map.bytes.resize(nodes as usize, 0);
            for level in levels {
                let at = map.put(&[level, 2, 63, 0, 0, 0, 0, 0]);
                map.bytes.resize((at + 512) as usize, 0);
                for (slot, child) in (0..2).zip(children) {
                    map.set_word(at + 8 + 4 * slot, 0x6100_0000 + 0x0100_0000 * slot);
                    let child = if level == 0 { slot } else { nodes + child };
                    map.set_word(at + 8 + 252 + 4 * slot, child);
                }
            }
            let bytes = map.finish();
            let doc = Doc::open(&bytes).expect("opened");
            assert!(doc.validate().is_err());
            for seed in 0..100 {
                attack_one(&bytes, seed, || format!("nodes {children:?} {levels:?}, seed {seed}"));
            }
        }
    }
}

#[test]
fn overlapping_text() {
    let text = |offset: u32, length: u32, owned: u32| [offset, length | owned << 30];
    let cases = [
        [text(64, 16, 1), text(64, 16, 1)],
        [text(64, 16, 1), text(72, 8, 1)],
        [text(64, 16, 1), text(64, 16, 0)],
        [text(32, 16, 1), text(64, 8, 1)],
        [text(0, 32, 0), text(64, 8, 1)],
        [text(48, 16, 1), text(64, 8, 1)],
        [text(64, 17, 1), text(64, 8, 1)],
    ];
    for [one, other] in cases {
        let mut doc = Crafted::new(ARRAY, 32);
        doc.array(12, 2, &[one[0], one[1], other[0], other[1]]);
        doc.put(b"abcdefghijklmnop");
        let kinds =
            [ErrorKind::Overlap, ErrorKind::OutOfBounds, ErrorKind::NotZero, ErrorKind::BadText];
        refused("overlapping text", &doc.finish(), &kinds);
    }
}

/// Each of sixty arrays holds the next twice: 2⁶⁰ values in three kilobytes.
fn laughs(objects: bool) -> Vec<u8> {
    let mut doc = Crafted::new(ARRAY, 32);
    for _ in 0..60 {
        let next = doc.here() + 24;
        doc.array(ARRAYS, 2, &[next, next]);
    }
    if objects {
        let next = doc.here() + 24;
        doc.array(OBJECTS, 2, &[next, next]);
        doc.put(&[layout::KIND_RECORD]);
    } else {
        doc.words(&[layout::KIND_ARRAY.into(), 0, 0, 0]);
    }
    doc.finish()
}

/// Every walk of the whole ends by its budget; none would end otherwise.
#[test]
fn aliases_without_end() {
    for bytes in [laughs(false), laughs(true)] {
        refused("aliases", &bytes, &[ErrorKind::Overlap]);
        let doc = Doc::open(&bytes).expect("opened");
        walk::checked(doc, 100_000);
        let spent = doc.root().deep_eq(doc.root(), &mut 100_000).expect_err("too much");
        assert_eq!(spent.kind(), ErrorKind::BudgetExceeded);

        let mut limits = Limits::default();
        limits.budget = 100_000;
        let options = EncodeOptions { limits, ..EncodeOptions::default() };
        let spent = doc.compacted_with(options).expect_err("too much");
        assert_eq!(spent.kind(), ErrorKind::BudgetExceeded);
        let mut target = DocBuf::new().expect("memory");
        target.set_limits(limits);
        let spent = target.set_root(doc.root()).expect_err("too much");
        assert_eq!(spent.kind(), ErrorKind::BudgetExceeded);
        let mut edited = DocBuf::from_bytes_unvalidated(&bytes).expect("opened");
        edited.set_limits(limits);
        assert!(edited.compact().is_err());
    }
}

// --- depth ------------------------------------------------------------------

/// Arrays in arrays, built by hand: 24 bytes each.
fn nested(depth: u32) -> Vec<u8> {
    let mut doc = Crafted::new(ARRAY, 32);
    doc.bytes.reserve(24 * depth as usize);
    for level in 1..=depth {
        let next = doc.here() + 24;
        doc.array(if level < depth { ARRAYS } else { 5 }, 1, &[next, 0]);
    }
    doc.finish()
}

/// Runs on a stack as small as threads have on some systems.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .stack_size(512 << 10)
        .spawn(run)
        .expect("a thread")
        .join()
        .expect("no panic");
}

#[test]
fn nesting_of_a_million() {
    let bytes = nested(1_000_000);
    on_a_small_stack(move || {
        let doc = Doc::open(&bytes).expect("opened");
        let deep = |error: livebuf::Error| assert_eq!(error.kind(), ErrorKind::NestingLimit);
        deep(doc.validate().map(drop).expect_err("deep"));
        deep(doc.stats().map(drop).expect_err("deep"));
        deep(doc.compacted().map(drop).expect_err("deep"));
        deep(doc.root().deep_eq(doc.root(), &mut u64::MAX.clone()).expect_err("deep"));
        deep(doc.compact_into(&mut [0; 4096]).expect_err("deep"));
        let mut target = DocBuf::new().expect("memory");
        deep(target.set_root(doc.root()).expect_err("deep"));
        assert_eq!(format!("{doc:?}"), "Doc(24000032 bytes, Array(1))");
        // Pointers walk; they do not recurse.
        let deepest = "/0".repeat(999_999);
        let found = doc.pointer(&deepest).expect("sound").expect("there");
        assert_eq!(found.kind(), Kind::Array);

        let mut edited = DocBuf::from_bytes_unvalidated(&bytes).expect("opened");
        let node = edited.find(&deepest).expect("sound").expect("there");
        edited.push(node, 1).expect("a scalar nests nothing");
        deep(edited.push(node, New::array(0)).map(drop).expect_err("deep"));
        deep(edited.compact().expect_err("deep"));
        let root = edited.root_id().expect("an array");
        deep(edited.detach(root, 0usize).map(drop).expect_err("deep"));
        edited.push(root, New::array(0)).expect("room");
        edited.clear(root).expect("freed");
        edited.set_root(()).expect("freed");
    });
}

/// As deep as any setting allows, by edits, of all containers in turn: still no
/// stack is exhausted.
#[test]
fn deepest_valid_nesting() {
    on_a_small_stack(|| {
        let mut limits = Limits::default();
        limits.nesting = u16::MAX;
        let options = EncodeOptions { limits, ..EncodeOptions::default() };
        let mut doc = DocBuf::new().expect("memory");
        doc.set_limits(limits);
        let mut node = doc.set_root(New::array(1)).expect("room").expect("a container");
        let mut depth = 1;
        let refused = loop {
            let kind = match depth % 4 {
                0 => New::object(1),
                1 => New::Map { capacity: 1 },
                2 => New::array(0),
                _ => New::array(1),
            };
            let is_array = doc.value(node).expect("sound").kind() == Kind::Array;
            let added = match (is_array, depth % 8) {
                (true, 0..4) => doc.push(node, "a text before").and_then(|_| doc.push(node, kind)),
                (true, _) => doc.push(node, kind),
                (false, _) => doc.set(node, "down", kind),
            };
            match added {
                Ok(child) => node = child.expect("a container"),
                Err(error) => break error,
            }
            depth += 1;
        };
        assert_eq!(refused.kind(), ErrorKind::NestingLimit);
        assert_eq!(depth, usize::from(layout::MAX_NESTING));
        assert_eq!(doc.doc().stats().expect("valid").depth, u64::from(layout::MAX_NESTING));
        let copy = doc.doc().compacted_with(options).expect("compacted");
        let equal = doc.doc().root().deep_eq(copy.doc().root(), &mut 100_000);
        assert_eq!(equal, Ok(true));
        let mut target = DocBuf::new().expect("memory");
        target.set_limits(limits);
        target.set_root(doc.doc().root()).expect("copied");
        assert_eq!(target.doc().root().deep_eq(copy.doc().root(), &mut 100_000), Ok(true));
        doc.doc().regions(|_| {}).expect("valid");

        // Moved, then freed.
        let root = target.root_id().expect("an array");
        let count = target.value(root).expect("sound").len().expect("sound").expect("an array");
        let detached = target.detach(root, count - 1).expect("sound").expect("there");
        let root = target.root_id().expect("an array");
        target.push(root, &detached).expect("as deep as before");
        target.doc().validate().expect("valid");
        target.set_root(()).expect("freed");
        assert_eq!(target.doc().stats().expect("valid").garbage, 0);

        doc.compact().expect("compacted");
        let root = doc.root_id().expect("an array");
        doc.clear(root).expect("freed");
        doc.doc().validate().expect("valid");
    });
}

// --- storage that lies ------------------------------------------------------

/// An editor whose storage is far larger than the document, dirty behind it.
#[test]
fn dirt_behind_the_document() {
    for (name, bytes) in samples::all() {
        let mut dirty = bytes.clone();
        dirty.resize(bytes.len() + 4096, 0xA5);
        let mut doc =
            Editor::open_unvalidated(VecStorage::from_slice(&dirty).expect("memory")).expect(name);
        doc.validate().expect(name);
        let decisions = Random(bytes.len() as u64).bytes(400);
        let mut input = Input::new(&decisions);
        for _ in 0..30 {
            let new = livebuf_fuzz::fresh::Fresh::decode(&mut input);
            let key = livebuf_fuzz::fresh::key(&mut input);
            let Some(root) = doc.root_id() else { break };
            let array = doc.value(root).is_ok_and(|root: Value<'_>| root.kind() == Kind::Array);
            let _ =
                new.with_new(
                    |new| {
                        if array { doc.push(root, new) } else { doc.set(root, &*key, new) }
                    },
                );
            doc.doc().validate().expect(name);
        }
    }
}
