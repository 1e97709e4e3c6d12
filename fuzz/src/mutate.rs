//! Damage that knows the structure, and what comes after it.
//!
//! A sound document is changed where its structure is: references are swapped, turned to
//! other blocks or to their own, blocks are copied over others or to the end, counts are
//! forged, free blocks go stale, extras and forwards are made up. Some changes leave it
//! valid. Whatever it is then: all of [`crate::bytes`]; its values go by copy into sound
//! documents, which stay sound under later edits; and where it still validates, random
//! edits, copies and compaction keep it equal to a tree after every step.

use crate::bytes::{self, Effort};
use crate::changes::{self, Edit, apply, choose, equal, perform, pick, read};
use crate::input::Input;
use crate::samples;
use crate::tree::{Budget, Tree};
use livebuf::{Checked, Doc, DocBuf, ErrorKind, Kind, Limits, New, RegionKind, Value, layout};
use livebuf_arrow::{ExportOptions, Exporter, ImportOptions};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a case may cost.
const EFFORT: Effort = Effort { walk: 4_000, edits: 8 };
/// Edits that follow, checked one by one.
const LATER: usize = 12;

/// Bytes printed for each byte of a document that was not validated.
const PRINTED: usize = 1_024;

/// What an input met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    /// The damaged document opens.
    pub opens: bool,
    /// It validates.
    pub valid: bool,
    /// It differs from the sound one.
    pub changed: bool,
    /// Edits and copies that were checked against a tree.
    pub later: usize,
}

/// Decodes a document and changes of its structure from any bytes.
///
/// # Panics
/// Where the library does what it must not.
pub fn run(data: &[u8]) -> Met {
    let mut input = Input::new(data);
    let sound = match input.byte() {
        choice @ 0..40 => {
            let all = samples::all();
            all[usize::from(choice) % all.len()].1.clone()
        }
        _ => samples::grown(u64::from(input.word())).1.to_vec(),
    };
    let mut bytes = sound.clone();
    for _ in 0..1 + input.below(3) {
        mutate(&mut bytes, &mut input);
    }
    let mut met = Met { changed: bytes != sound, ..Met::default() };
    bytes::attack(&bytes, &mut input.clone(), EFFORT);
    let Ok(doc) = Doc::open(&bytes) else { return met };
    met.opens = true;
    met.valid = doc.validate().is_ok();
    convert(&bytes, met.valid);
    met.later += grafts(doc, &mut input.clone());
    if met.valid {
        met.later += later(&bytes, &mut input);
    }
    met
}

// --- structure ------------------------------------------------------------------

/// Where a document's parts are.
struct Structure {
    /// Offset, length and kind, by offset.
    blocks: Vec<(usize, usize, RegionKind)>,
    /// Places of words that hold the offset of a block's beginning.
    references: Vec<usize>,
    /// Headers of arrays and of columns.
    columns: Vec<usize>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map_or(0, u32::from_le_bytes)
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// A structured place, whatever it holds.
const fn is_text(kind: RegionKind) -> bool {
    matches!(kind, RegionKind::Text | RegionKind::SharedText)
}

impl Structure {
    /// `None` where the document is damaged already.
    fn of(bytes: &[u8]) -> Option<Structure> {
        let doc = Doc::open(bytes).ok()?;
        let mut blocks = Vec::new();
        doc.regions(|region| {
            blocks.push((region.offset as usize, region.length as usize, region.kind));
        })
        .ok()?;
        blocks.sort_unstable_by_key(|block| block.0);
        let begins: BTreeSet<u32> = blocks
            .iter()
            .filter(|block| block.0 > 0 && !is_text(block.2))
            .map(|block| block.0 as u32)
            .collect();
        let (mut references, mut columns) = (Vec::new(), Vec::new());
        for &(offset, length, kind) in &blocks {
            if is_text(kind) || kind == RegionKind::Bitmap {
                continue;
            }
            references.extend(
                (offset..offset + length)
                    .step_by(4)
                    .filter(|&at| begins.contains(&word(bytes, at))),
            );
            match kind {
                RegionKind::Array => columns.push(offset),
                RegionKind::Table => columns.extend((offset + 24..offset + length).step_by(16)),
                RegionKind::List => columns.extend((offset + 16..offset + length).step_by(16)),
                _ => {}
            }
        }
        Some(Structure { blocks, references, columns })
    }

    fn block(&self, input: &mut Input<'_>) -> (usize, usize, RegionKind) {
        self.blocks[input.below(self.blocks.len())]
    }

    /// A block of this kind, or any.
    fn of_kind(&self, kind: RegionKind, input: &mut Input<'_>) -> (usize, usize, RegionKind) {
        let all: Vec<_> = self.blocks.iter().filter(|block| block.2 == kind).collect();
        if all.is_empty() { self.block(input) } else { *all[input.below(all.len())] }
    }

    /// The block that a place lies in.
    fn around(&self, at: usize) -> (usize, usize, RegionKind) {
        let after = self.blocks.partition_point(|block| block.0 <= at);
        self.blocks[after.saturating_sub(1)]
    }

    fn reference(&self, input: &mut Input<'_>) -> Option<usize> {
        let count = self.references.len();
        (count > 0).then(|| self.references[input.below(count)])
    }

    fn column(&self, input: &mut Input<'_>) -> Option<usize> {
        let count = self.columns.len();
        (count > 0).then(|| self.columns[input.below(count)])
    }
}

/// Adds bytes at the end, and says where; the header counts them.
fn append(bytes: &mut Vec<u8>, more: &[u8]) -> usize {
    let offset = bytes.len();
    bytes.extend_from_slice(more);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let used = bytes.len() as u32;
    put(bytes, layout::HEADER_USED as usize, used);
    offset
}

pub(crate) fn mutate(bytes: &mut Vec<u8>, input: &mut Input<'_>) {
    let Some(structure) = Structure::of(bytes) else {
        // The second change of a document that the first one broke.
        return bytes::damage(bytes, input);
    };
    let choice = input.byte() % 42;
    crate::note(|| format!("mutation {choice}"));
    if change(bytes, &structure, choice, input).is_none() {
        bytes::damage(bytes, input);
    }
}

/// One change; `None` where the document has nothing to do it to.
fn change(
    bytes: &mut Vec<u8>,
    structure: &Structure,
    choice: u8,
    input: &mut Input<'_>,
) -> Option<()> {
    let used = bytes.len() as u32;
    match choice {
        // References exchanged: any two, or two to blocks of the same kind.
        0..=3 => {
            let one = structure.reference(input)?;
            let kind = structure.around(word(bytes, one) as usize).2;
            let alike: Vec<_> = structure
                .references
                .iter()
                .copied()
                .filter(|&at| choice == 0 || structure.around(word(bytes, at) as usize).2 == kind)
                .collect();
            let other = alike[input.below(alike.len())];
            let (a, b) = (word(bytes, one), word(bytes, other));
            put(bytes, one, b);
            put(bytes, other, a);
        }
        // Turned to another block: of the same kind, of any, its own, one around it.
        4..=9 => {
            let at = structure.reference(input)?;
            let target = structure.around(word(bytes, at) as usize);
            let own = structure.around(at);
            let to = match choice {
                4 => structure.of_kind(target.2, input).0,
                5 => structure.block(input).0,
                6 => own.0,
                7 => {
                    let above = |at: &&usize| word(bytes, **at) as usize == own.0;
                    structure.around(*structure.references.iter().find(above)?).0
                }
                8 => structure.around(structure.column(input)?).0,
                _ => input.pick(&[0, 8, target.0 + 8, target.0 - 8, used as usize, own.0 + 16]),
            };
            put(bytes, at, to as u32);
        }
        // Counts: of columns, and any early word of a block.
        10..=13 => {
            let at = match choice {
                10 | 11 => structure.column(input)? + input.pick(&[4, 4, 8, 12]),
                _ => structure.block(input).0 + 4 * input.below(8),
            };
            let old = word(bytes, at);
            let other = structure.column(input).map_or(1, |at| word(bytes, at + 4));
            let new = input.pick(&[
                old.wrapping_add(1),
                old.wrapping_sub(1),
                old.wrapping_mul(2),
                0,
                255,
                other,
                1 << 31,
                u32::MAX,
                8 * used,
            ]);
            put(bytes, at, new);
        }
        // Codes, gaps, forms, kinds, flags, fixed lengths.
        14 => *bytes.get_mut(structure.column(input)? + 1)? = input.byte() % 20,
        15 => *bytes.get_mut(structure.column(input)? + 2)? = input.byte() % 5,
        16 => {
            // To a code of the same width, or to the other kind of list.
            let at = structure.column(input)? + 1;
            bytes[at] = match bytes[at] {
                code @ 2..=5 => code + 4,
                code @ 6..=9 => code - 4,
                10 => 4,
                11 => 12,
                12 => 11,
                13 => 14,
                14 => 13,
                17 => 18,
                18 => 17,
                other => other ^ 1,
            };
        }
        17 | 18 => {
            let at = structure.block(input).0 + input.below(8);
            *bytes.get_mut(at)? = input.byte() % 12;
        }
        19 => {
            let at = structure.of_kind(RegionKind::List, input).0;
            put(bytes, at + 4, u32::from(input.byte() % 6));
        }
        // A block over another, as far as both reach.
        20 | 21 => {
            let from = structure.block(input);
            let to = if choice == 20 {
                structure.of_kind(from.2, input)
            } else {
                structure.block(input)
            };
            let length = from.1.min(to.1);
            bytes.copy_within(from.0..from.0 + length, to.0);
        }
        // A block moved to the end: all that points into it follows, or one reference only.
        22..=25 => {
            let (offset, length, kind) = structure.block(input);
            if offset == 0 || is_text(kind) {
                return None;
            }
            let copy = bytes[offset..offset + length].to_vec();
            let new = append(bytes, &copy);
            let inside = |target: usize| target >= offset && target < offset + length;
            let mut followed = 0;
            for (begin, length, kind) in structure.blocks.iter().copied() {
                if is_text(kind) || kind == RegionKind::Bitmap {
                    continue;
                }
                for at in (begin..begin + length).step_by(4) {
                    let target = word(bytes, at) as usize;
                    let column = structure.columns.contains(&target);
                    if inside(target)
                        && (structure.references.contains(&at) || column)
                        && (choice < 25 || followed == 0)
                    {
                        put(bytes, at, (target - offset + new) as u32);
                        followed += 1;
                    }
                }
            }
            if choice == 22 {
                bytes[offset..offset + length].fill(0);
            }
        }
        // A home turned into a forward to a copy of it.
        26 => {
            let kinds = [RegionKind::Record, RegionKind::Array, RegionKind::Map];
            let kind = input.pick(&kinds);
            let (offset, length, _) = structure.of_kind(kind, input);
            if offset == 0 {
                return None;
            }
            let copy = bytes[offset..offset + length].to_vec();
            let new = append(bytes, &copy);
            bytes[offset..offset + length].fill(0);
            bytes[offset] = 3;
            put(bytes, offset + 4, new as u32);
        }
        // The free list: a live block in it, a wrong size, a circle, a block left out.
        27..=29 => {
            let aux = word(bytes, layout::HEADER_AUX as usize) as usize;
            let class = 4 * input.below(10);
            let live = structure.block(input).0 as u32;
            let free = structure.of_kind(RegionKind::Free, input).0;
            match input.below(6) {
                _ if aux == 0 => {
                    // One made up: a list of a single block, which is live.
                    let mut block = vec![7, 2, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0];
                    block.resize(32, 0);
                    put(&mut block, 24, live);
                    let new = append(bytes, &block);
                    put(bytes, layout::HEADER_AUX as usize, new as u32);
                }
                0 => put(bytes, aux + 24 + class, live),
                1 => put(bytes, free, live),
                2 => put(bytes, free, free as u32),
                3 => {
                    let size = word(bytes, free + 4);
                    let (more, less) = (size.wrapping_add(8), size.wrapping_sub(8));
                    put(bytes, free + 4, input.pick(&[more, less, size.wrapping_mul(2)]));
                }
                4 => put(bytes, aux + 4 * input.below(6), u32::from(input.byte())),
                _ => put(bytes, aux + 24 + class, free as u32),
            }
        }
        // Extras made up: rows that are there, absent or beyond; homes of all sorts.
        30..=33 => {
            let (table, _, kind) = structure.of_kind(RegionKind::Table, input);
            if kind != RegionKind::Table {
                return None;
            }
            let rows = word(bytes, table + 28) as usize;
            let count = 1 + input.below(3);
            let mut entries = Vec::new();
            let mut row = 0;
            for _ in 0..count {
                row += input.below(rows.max(2));
                let other = structure.block(input).0;
                let empty = match choice {
                    // Sound ones: objects without members, each its own.
                    30 | 31 => append(bytes, &[2, 0, 0, 0, 0, 0, 0, 0]),
                    32 => structure.of_kind(RegionKind::Record, input).0,
                    _ => input.pick(&[table, 0, other, table + 24]),
                };
                entries.extend_from_slice(&((row as u64) << 32 | empty as u64).to_le_bytes());
                row += 1;
            }
            let data = append(bytes, &entries);
            let mut header = vec![5, 9, 0, 0, count as u8, 0, 0, 0, count as u8, 0, 0, 0];
            header.extend_from_slice(&(data as u32).to_le_bytes());
            let extras = append(bytes, &header);
            put(bytes, table + 16, extras as u32);
        }
        // Bits of absent rows and gaps, and what lies below them.
        34 | 35 => {
            let kind = input.pick(&[RegionKind::Bitmap, RegionKind::Data, RegionKind::Data]);
            let (offset, length, _) = structure.of_kind(kind, input);
            let at = offset + input.below(length.clamp(1, 16));
            *bytes.get_mut(at)? ^= 1 << (input.byte() % 8);
        }
        36 => {
            let (offset, length, _) = structure.of_kind(RegionKind::Data, input);
            *bytes.get_mut(offset + input.below(length.max(1)))? = input.byte();
        }
        // Gaps given to a column that has none: a bitmap made up.
        37 => {
            let at = structure.column(input)?;
            let (code, count) = (bytes[at + 1], word(bytes, at + 8));
            if !matches!(code, 1..=12) || bytes[at + 2] != 0 || count > 64 || count == 0 {
                return None;
            }
            let (data, length, _) = structure.around(word(bytes, at + 12) as usize);
            let mut block = vec![0; 8];
            for slot in 0..word(bytes, at + 4).min(64) {
                if !input.one_in(3) {
                    block[slot as usize / 8] |= 1 << (slot % 8);
                }
            }
            block.extend_from_slice(&bytes[data..data + length]);
            let new = append(bytes, &block);
            put(bytes, at + 12, new as u32);
            bytes[at + 2] = 1 + input.byte() % 2;
        }
        // Text: owned or shared, elsewhere by a byte, or another's.
        38 => {
            let spans: Vec<usize> = structure
                .blocks
                .iter()
                .filter(|block| {
                    matches!(block.2, RegionKind::Record | RegionKind::Keys | RegionKind::Data)
                })
                .flat_map(|block| (block.0..block.0 + block.1).step_by(8))
                .filter(|&at| {
                    let length = word(bytes, at + 4) & 0x3FFF_FFFF;
                    (8..2000).contains(&length) && word(bytes, at) < used
                })
                .collect();
            let at = *spans.get(input.below(spans.len()))?;
            match input.below(4) {
                0 => bytes[at + 7] ^= 0x40,
                1 => bytes[at] = bytes[at].wrapping_add(1),
                2 => bytes[at + 4] = bytes[at + 4].wrapping_add(1),
                _ => {
                    let other = *spans.get(input.below(spans.len()))?;
                    bytes.copy_within(other..other + 8, at);
                }
            }
        }
        // A long key in a shape, with its fingerprint: narrow columns do not pay for it.
        39 | 40 => {
            let (shape, length, kind) = structure.of_kind(RegionKind::Shape, input);
            if kind != RegionKind::Shape {
                return None;
            }
            let (capacity, count) = (usize::from(bytes[shape + 1]), usize::from(bytes[shape + 2]));
            let key = input.below(count);
            let text = crate::fresh::text(input.byte(), input.pick(&[8, 40, 200, 255]));
            let at = append(bytes, text.as_bytes());
            let cell = shape + length - 8 * capacity + 8 * key;
            put(bytes, cell, at as u32);
            put(bytes, cell + 4, text.len() as u32);
            *bytes.get_mut(shape + 8 + key)? = fingerprint(text.as_bytes());
        }
        // Shapes: another one for a record or table, a list that begins later.
        _ => {
            let shape = structure.of_kind(RegionKind::Shape, input).0 as u32;
            let user = input.pick(&[RegionKind::Record, RegionKind::Table, RegionKind::Header]);
            let (offset, _, kind) = structure.of_kind(user, input);
            let place = if kind == RegionKind::Header { 24 } else { offset + 4 };
            put(bytes, place, shape);
            let one = structure.of_kind(RegionKind::Shape, input).0;
            if input.one_in(2) {
                bytes[one + 3] ^= 1;
            }
        }
    }
    Some(())
}

/// Of a key longer than seven bytes (FORMAT 4.2).
fn fingerprint(key: &[u8]) -> u8 {
    let eight = |at: usize| key[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
    let mix = eight(0) ^ eight(key.len() - 8).rotate_left(29) ^ key.len() as u64;
    (mix.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

// --- conversions ----------------------------------------------------------------

/// Other forms of the whole: bounded, and what is valid is exported.
fn convert(bytes: &[u8], valid: bool) {
    let doc = Doc::open(bytes).expect("opened before");
    let _ = livebuf::from_doc::<serde_json::Value>(doc);
    // By default, as design.md has it.
    let most = PRINTED * bytes.len();
    let printed = [livebuf_json::to_string(doc.root()), livebuf_json::to_string_pretty(doc.root())];
    for text in printed.into_iter().flatten() {
        assert!(text.len() <= most, "{} bytes printed of {most}", text.len());
    }
    let whole = bytes.to_vec();
    // Arrays near the root.
    let mut arrays = vec![String::new()];
    if let Ok(Some(object)) = doc.root().as_object() {
        let keys = object.keys().flatten().take(20).filter(|key| key.len() < 100);
        arrays.extend(keys.map(crate::fresh::token));
    }
    let owner = Arc::new(whole);
    for pointer in arrays {
        for options in [ExportOptions::new(), ExportOptions::new().narrow(true).copy(true)] {
            let Ok(exporter) = Exporter::new(owner.clone()).and_then(|all| all.at(&pointer)) else {
                continue;
            };
            let batch = match exporter.options(options).batch() {
                Ok(batch) => batch,
                Err(error) => {
                    let damaged = error.kind() == livebuf_arrow::ErrorKind::Document;
                    assert!(!valid || !damaged, "a valid document is not exported: {error}");
                    continue;
                }
            };
            if let Ok(copy) = livebuf_arrow::from_batch(&batch, &ImportOptions::new()) {
                copy.doc().validate().expect("imported documents are valid");
            }
        }
        columns(&owner, &pointer, valid);
    }
}

/// Bytes that others may write, an export must think.
struct Shared(Vec<u8>);

impl livebuf_arrow::Document for Shared {
    fn open(&self) -> livebuf::Result<Doc<'_>> {
        Doc::open(&self.0)
    }

    fn is_shared(&self) -> bool {
        true
    }
}

/// Parts of a document that are validated by themselves: a part that passes has no damage, and all
/// parts of a valid document pass. Its columns are exported, from memory that others can write,
/// too.
fn columns(owner: &Arc<Vec<u8>>, pointer: &str, valid: bool) {
    let Ok(Some(value)) = Doc::open(owner).expect("opened before").pointer(pointer) else { return };
    let walks = |value: Value<'_>| match value.digest(&mut 20_000) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::BudgetExceeded => {}
        // A scalar of a later version: valid, and without a digest here.
        Err(error) if error.kind() == ErrorKind::UnsupportedFeature => {}
        Err(error) => panic!("a part that validates is damaged: {error}"),
    };
    match value.validate() {
        Ok(value) => walks(value.checked()),
        Err(error) => assert!(!valid, "a part of a valid document does not validate: {error}"),
    }
    let Ok(Some(array)) = value.as_array() else { return };
    let Ok(Some(table)) = array.table() else { return };
    for key in table.columns().take(8).flatten().map(|(key, _)| key) {
        match value.validate_column(&[key]) {
            Ok(None) => {}
            Ok(Some(_)) => {
                let column = table.column(key).expect("validated").expect("validated");
                for value in column.iter().take(500) {
                    value.expect("validated").into_iter().for_each(walks);
                }
            }
            Err(error) => assert!(!valid, "a column of a valid document: {error}"),
        }
        let select = |exporter: Exporter| {
            let exporter = exporter.at(pointer)?.select([vec![key.to_owned()]]);
            exporter.options(ExportOptions::new().narrow(true)).batch()
        };
        let one = Exporter::new(Arc::clone(owner)).and_then(select);
        let other = Exporter::new(Arc::new(Shared(owner.to_vec()))).and_then(select);
        let copies = [one, other].map(|batch| {
            let copy = livebuf_arrow::from_batch(&batch.ok()?, &ImportOptions::new()).ok()?;
            copy.doc().validate().expect("imported documents are valid");
            Some(copy.to_vec())
        });
        assert_eq!(copies[0], copies[1], "memory that others can write is exported otherwise");
    }
}

// --- what comes after -------------------------------------------------------------

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.document = 1 << 20;
    limits.budget = EFFORT.walk as u64;
    limits
}

/// Some values of any document, the whole one first.
fn values<'d>(doc: Doc<'d>, input: &mut Input<'_>) -> Vec<Value<'d, Checked>> {
    let mut values = vec![doc.root()];
    for _ in 0..3 {
        let mut value = doc.root();
        for _ in 0..1 + input.below(4) {
            let child = match value.kind() {
                Kind::Array => {
                    let array = value.as_array().ok().flatten();
                    let most = array.as_ref().map_or(1, |array| array.len().min(64));
                    array.and_then(|array| array.get(input.below(most)).ok().flatten())
                }
                Kind::Object => {
                    let object = value.as_object().ok().flatten();
                    let nth = input.below(12);
                    object.and_then(|object| object.values().nth(nth)?.ok())
                }
                _ => None,
            };
            match child {
                Some(child) => value = child,
                None => break,
            }
        }
        values.push(value);
    }
    values
}

/// Copies of any document's values in a sound one: it stays valid, and goes on so.
fn grafts(doc: Doc<'_>, input: &mut Input<'_>) -> usize {
    let mut later = 0;
    for value in values(doc, input) {
        let mut target = target(input);
        target.set_limits(limits());
        let mut tree = read(&target);
        let before = target.to_vec();
        let root = target.root_id().expect("a container");
        let is_array = matches!(tree, Tree::Array(_));
        let index = input.below(3);
        let taken = match input.below(3) {
            0 if is_array => target.insert(root, 0, value),
            1 if is_array && matches!(&tree, Tree::Array(rows) if rows.len() > index) => {
                target.set(root, index, value)
            }
            _ if is_array => target.push(root, value),
            _ => target.set(root, "a copy", value),
        };
        let valid = target.doc().validate().map(drop);
        assert_eq!(valid, Ok(()), "a copy of {value:?} damaged a sound document ({taken:?})");
        if taken.is_err() {
            assert!(before == target.as_bytes(), "a failed copy changed the document");
            continue;
        }
        // What it was is known where it can be read and keys are distinct.
        tree = read(&target);
        let mut budget = Budget { values: EFFORT.walk, depth: 1_001 };
        if let Ok(source) = Tree::read(value, &mut budget)
            && !source.has_reserved()
            && !source.repeats_keys()
        {
            let holds = match &tree {
                Tree::Array(elements) => elements.iter().any(|element| equal(element, &source)),
                Tree::Object(members, _) => members.iter().any(|member| equal(&member.1, &source)),
                _ => false,
            };
            assert!(holds, "a copy differs from {source:?}");
        }
        later += edit(&mut target, &mut tree, input, 4);
    }
    later
}

/// Edits of a document that validates, after it was damaged and was accepted.
fn later(bytes: &[u8], input: &mut Input<'_>) -> usize {
    // A flag may say that unaware editors must not edit it.
    let Ok(mut doc) = DocBuf::from_bytes_unvalidated(bytes) else { return 0 };
    doc.validate().expect("valid");
    let mut tree = read(&doc);
    edit(&mut doc, &mut tree, input, LATER)
}

/// Edits of a document and of its tree; equal and valid after each.
fn edit(doc: &mut DocBuf, tree: &mut Tree, input: &mut Input<'_>, steps: usize) -> usize {
    doc.set_limits(limits());
    for step in 0..steps {
        if !tree.is_container() || tree.has_reserved() || tree.height() > 100 {
            return step;
        }
        let path = pick(tree, input);
        let edit = choose(tree, &path, input);
        if tree.count() > 2_000 && matches!(edit.name(), "compact" | "hang") {
            continue;
        }
        let before = doc.to_vec();
        let mut between = None;
        let done = perform(doc, &path, &edit, &mut |bytes| between = Some(bytes.to_vec()));
        let name = || format!("{path:?}: {edit:?} {done:?}");
        crate::note(name);
        let valid = doc.doc().validate().map(drop);
        assert_eq!(valid, Ok(()), "an edit damaged a valid document: {}", name());
        if let Err(error) = done {
            let limit = matches!(
                error.kind(),
                ErrorKind::DocumentLimit | ErrorKind::BudgetExceeded | ErrorKind::NestingLimit
            );
            assert!(limit, "refused: {}", name());
            let same = between.is_some() || before == doc.as_bytes();
            assert!(same, "refused, but changed: {}", name());
            *tree = read(doc);
            continue;
        }
        apply(tree, &path, &edit);
        let found = read(doc);
        assert!(equal(&found, tree), "{}:\n{found:?}\n{tree:?}", name());
        let plain = matches!(edit, Edit::Compact);
        if step + 1 == steps || plain {
            let compact = doc.doc().compacted().expect("compacted");
            assert!(equal(&read(&compact), tree), "compaction changed the value");
        }
    }
    steps
}

/// A sound document to copy into: empty, or with a table.
fn target(input: &mut Input<'_>) -> DocBuf {
    let mut doc = match input.below(3) {
        0 => return Tree::Array((0..5).map(|_| changes::object(input, 1)).collect()).to_document(),
        _ => DocBuf::new().expect("memory"),
    };
    doc.set_root(if input.one_in(2) { New::array(1) } else { New::object(1) }).expect("room");
    doc
}
