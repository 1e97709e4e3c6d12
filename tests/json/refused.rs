//! Small documents, each with one fault that only one check of a validator sees. `testdata/weaken.py`
//! shows which checks these are.

use crate::vectors::{encoded, few_rows_in_orders, tensors};
use ColumnType::*;
use livebuf::layout::*;
use livebuf::{ColumnType, DocBuf, New};

/// A document's bytes, to be changed.
#[derive(Clone)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn json(text: &str) -> Bytes {
        Bytes(livebuf_json::from_slice(text.as_bytes()).unwrap().to_vec())
    }

    /// Without tables, dictionaries and runs.
    fn plain(text: &str) -> Bytes {
        let options = livebuf_json::ReadOptions::new().tables(false);
        Bytes(livebuf_json::from_slice_with(text.as_bytes(), &options).unwrap().to_vec())
    }

    /// The document of a vector.
    fn of(name: &str) -> Bytes {
        Bytes::json(&encoded().into_iter().find(|(other, _)| *other == name).unwrap().1)
    }

    fn edited(text: &str, edit: impl Fn(&mut DocBuf)) -> Bytes {
        let mut doc = livebuf_json::from_slice(text.as_bytes()).unwrap();
        edit(&mut doc);
        Bytes(doc.to_vec())
    }

    /// A header and a root.
    fn root(tag: u8, cell: u64) -> Bytes {
        Bytes::json("null").set(16, &[tag]).set(8, &cell.to_le_bytes())
    }

    /// An array whose header is at 32, its data at 48.
    fn array(column: ColumnType, gaps: u8, count: u32, capacity: u32, data: &[u8]) -> Bytes {
        let mut doc = Bytes::root(TAG_ARRAY, 32);
        doc.push(&header(column, gaps, count, capacity, if capacity > 0 { 48 } else { 0 }));
        doc.push(data);
        doc
    }

    /// An array of up to eight cells, the first of which is at 56.
    fn cells(values: &[(u8, u64)]) -> Bytes {
        let mut data = [0; 72];
        for (at, (tag, cell)) in values.iter().enumerate() {
            data[at] = *tag;
            data[8 + 8 * at..16 + 8 * at].copy_from_slice(&cell.to_le_bytes());
        }
        let count = values.len() as u32;
        Bytes::array(Cells, 0, count, count, &data[..8 + 8 * values.len()])
    }

    /// So many arrays of one array around the root.
    fn within(mut self, levels: usize) -> Bytes {
        for _ in 0..levels {
            let home = self.word(8) as u32;
            let at = self.used() as u32;
            self.push(&header(Arrays, 0, 1, 1, at + 16));
            self.push(&home.to_le_bytes());
            self = self.put(8, at).set(16, &[TAG_ARRAY]);
        }
        self
    }

    fn used(&self) -> usize {
        self.0.len()
    }

    fn word(&self, at: usize) -> usize {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap()) as usize
    }

    /// Where the data of the root array is, or the block of its table or list.
    fn data(&self) -> usize {
        self.word(self.word(8) + 12)
    }

    /// Where the header of a column of the root array's table is.
    fn column(&self, index: usize) -> usize {
        self.data() + 24 + 16 * index
    }

    fn set(mut self, at: usize, bytes: &[u8]) -> Bytes {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    fn put(self, at: usize, word: u32) -> Bytes {
        self.set(at, &word.to_le_bytes())
    }

    /// Copies bytes of the document.
    fn part(&self, at: usize, length: usize) -> Vec<u8> {
        self.0[at..at + length].to_vec()
    }

    /// Adds a block, and tells where it is.
    fn push(&mut self, block: &[u8]) -> u32 {
        let at = self.used() as u32;
        self.0.extend(block);
        self.0.resize(self.used().next_multiple_of(8), 0);
        let used = self.used() as u32;
        self.0[20..24].copy_from_slice(&used.to_le_bytes());
        at
    }

    /// Adds a copy of a block four bytes behind a multiple of 8, and leads the reference at `from`
    /// there.
    fn misplace(mut self, from: usize, length: usize) -> Bytes {
        let mut block = vec![0; 4];
        block.extend(self.part(self.word(from), length));
        let at = self.push(&block) + 4;
        self.put(from, at)
    }

    fn aux(mut self, classes: u8, heads: &[u32], bytes: u32, blocks: u32) -> Bytes {
        let mut aux = vec![KIND_AUX, classes, 0, 0];
        aux.extend([bytes, blocks, 0, 0, 0].map(u32::to_le_bytes).concat());
        aux.extend(heads.iter().flat_map(|head| head.to_le_bytes()));
        aux.resize(24 + 4 * usize::from(classes), 0);
        let at = self.push(&aux);
        self.put(28, at)
    }

    /// Moves the block that the four bytes at `cell` lead to behind the others.
    fn forward(mut self, cell: usize, size: usize) -> Bytes {
        let home = self.word(cell);
        let block = self.part(home, size);
        let at = self.push(&block);
        let forward = [[KIND_FORWARD, 0, 0, 0], at.to_le_bytes()].concat();
        self.set(home, &[&forward[..], &vec![0; size - 8]].concat())
    }

    /// Adds a shape to the list.
    fn shape(mut self, shape: &[u8]) -> Bytes {
        let newest = self.word(24) as u32;
        let at = self.push(shape);
        self.put(at as usize + 4, newest).put(24, at)
    }
}

fn header(column: ColumnType, gaps: u8, count: u32, capacity: u32, data: u32) -> Vec<u8> {
    let head = [KIND_ARRAY, column as u8, gaps, 0];
    [head, count.to_le_bytes(), capacity.to_le_bytes(), data.to_le_bytes()].concat()
}

fn record(capacity: u8, shape: u32, fields: &[(u8, u64)]) -> Vec<u8> {
    let used = fields.len() as u8;
    let live = fields.iter().filter(|field| field.0 != TAG_HOLE).count() as u8;
    let mut block = vec![KIND_RECORD, capacity, used, live];
    block.extend(shape.to_le_bytes());
    block.resize(record_size(capacity.into()) as usize, 0);
    for (at, (tag, cell)) in (0..).zip(fields) {
        block[8 + tag_at(at) as usize] = *tag;
        let place = 8 + cell_at(at) as usize;
        block[place..place + 8].copy_from_slice(&cell.to_le_bytes());
    }
    block
}

fn inline(text: &[u8]) -> u64 {
    let bytes = text.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes | (0x80 | text.len() as u64) << 56
}

const OWNED: u32 = SPAN_OWNED;

fn span(at: u32, length: u32) -> u64 {
    u64::from(at) | u64::from(length) << 32
}

/// FORMAT 4.2.
fn fingerprint(key: &[u8]) -> u8 {
    let word = |at: usize| u64::from_le_bytes(key[at..at + 8].try_into().unwrap());
    let mix = match key.len() {
        0..=7 => inline(key),
        length => word(0) ^ word(length - 8).rotate_left(29) ^ length as u64,
    };
    (mix.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

/// A shape with these keys, as long as they are inline.
fn shape(capacity: u8, keys: &[&[u8]]) -> Vec<u8> {
    let mut block = vec![KIND_SHAPE, capacity, keys.len() as u8, SHAPE_PRIVATE, 0, 0, 0, 0];
    block.extend(keys.iter().map(|key| fingerprint(key)));
    block.resize(shape_keys(capacity.into()) as usize, 0);
    block.extend(keys.iter().flat_map(|key| inline(key).to_le_bytes()));
    block.resize(shape_size(capacity.into()) as usize, 0);
    block
}

/// A wide shape of so many keys, which are in their order.
fn wide_shape(count: u32) -> Vec<u8> {
    let mut block = vec![KIND_WIDE_SHAPE, 0, 0, SHAPE_PRIVATE, 0, 0, 0, 0];
    block.extend(u64::from(count).to_le_bytes());
    block.extend((0..count as u16).flat_map(u16::to_le_bytes));
    block.resize(block.len().next_multiple_of(8), 0);
    block.extend((0..count).flat_map(|n| inline(format!("k{n:05}").as_bytes()).to_le_bytes()));
    block
}

/// Documents that are refused: (error and what is wrong, bytes).
pub(crate) fn refused() -> Vec<(&'static str, Vec<u8>)> {
    let mut all: Vec<(&str, Bytes)> = Vec::new();
    headers(&mut all);
    values(&mut all);
    free_space(&mut all);
    shapes(&mut all);
    records(&mut all);
    arrays(&mut all);
    gaps(&mut all);
    tables(&mut all);
    lists(&mut all);
    nesting(&mut all);
    maps(&mut all);
    all.into_iter().map(|(name, bytes)| (name, bytes.0)).collect()
}

/// An array of two arrays that are null: a list column in which no slot has a value.
fn lists_of_nothing() -> Bytes {
    let mut doc = Bytes::array(List, GAPS_NULL, 2, 2, &[]);
    let head = [[KIND_LIST, 0, 0, 0], [0; 4], 96u32.to_le_bytes(), 32u32.to_le_bytes()].concat();
    doc.push(&[head, header(I8, 0, 0, 0, 0), header(U8, 0, 3, 3, 104)].concat());
    doc.push(&[0; 16]);
    doc
}

/// Twelve rows of 200 keys, the first of which has another order.
fn ordered(places: &[u8]) -> Bytes {
    let members: Vec<_> = (0..200).map(|key| format!("\"k{key}\":1")).collect();
    let row = format!("{{{}}}", members.join(","));
    let mut doc = Bytes::json(&format!("[{}]", vec![row; 12].join(",")));
    let mut table = doc.part(doc.data(), 24 + 16 * 200);
    table[1] = 1;
    let at = (doc.used() + table.len() + 16) as u32;
    table.extend(header(DictionaryU8, GAPS_MISSING, 12, 12, at));
    let (to, table) = (doc.word(8) + 12, doc.push(&table));
    let texts = [header(String, 0, 1, 1, at + 40), inline(places).to_le_bytes().to_vec()];
    doc.push(&[&[1; 1][..], &[0; 23], &texts.concat()].concat());
    doc.put(to, table)
}

/// A row's extra member has a key that the table's shape has, too, behind those of the columns.
fn key_behind_columns(extra: &Bytes) -> Bytes {
    let mut doc = extra.clone();
    let list = doc.word(doc.data() + 16);
    let object = doc.word(doc.word(list + 12));
    let mut both = shape(2, &[b"a", b"b"]);
    both[3] = 0;
    // The rows and the object, which stays `{"b": 1}`, get shapes of their own. The old ones become
    // garbage.
    let mut own = shape(1, &[b"b"]);
    own[3] = 0;
    let (both, own) = (doc.push(&both), doc.push(&own));
    let table = doc.data();
    doc.put(table + 4, both).put(object + 4, own).put(24, both).put(both as usize + 4, own)
}

/// Documents at the bounds of what is valid: (name, bytes).
pub(crate) fn accepted() -> Vec<(&'static str, Vec<u8>)> {
    let rows: Vec<_> = (0..9).map(|n| format!("{{\"a\":{n}}}")).collect();
    let rows = format!("[{}]", rows.join(","));
    let extras = Bytes::edited(&rows, |doc| {
        for row in [0, 1, 8] {
            doc.set_pointer(&format!("/{row}/b"), row).unwrap();
        }
    });
    let mut none = Bytes::json(&rows);
    let at = none.push(&header(U64, 0, 0, 0, 0));
    let table = none.data();
    let extra = Bytes::edited(&rows, |doc| {
        doc.set_pointer("/2/b", 1).unwrap();
    });
    let all = vec![
        ("nesting_of_extras", extra.clone().within(998)),
        ("nesting_of_no_arrays", lists_of_nothing().within(999)),
        ("order_of_column_127", ordered(&[0x7F])),
        ("nesting", Bytes::plain("[]").within(999)),
        ("nesting_of_rows", Bytes::json(r#"[{"a":{"b":1}},{"a":{"b":2}}]"#).within(997)),
        ("nesting_of_lists", Bytes::json("[[[1],[2,3]],[[4]],[[5]],[[6]]]").within(997)),
        ("extras_of_rows_in_turn", extras),
        (
            "extras_of_a_map",
            Bytes::edited(&rows, |doc| {
                doc.set_pointer(&format!("/2/{}", "k".repeat(256)), true).unwrap();
            }),
        ),
        ("extras_of_no_rows", none.put(table + 16, at)),
        ("extras_key_behind_columns", key_behind_columns(&extra)),
        ("extras_behind_forward", {
            let list = extra.word(extra.data() + 16);
            let cell = extra.word(list + 12);
            let capacity = extra.0[extra.word(cell) + 1];
            extra.clone().forward(cell, record_size(capacity.into()) as usize)
        }),
        ("rows_behind_forward", {
            let (doc, table) = (Bytes::json(&rows).forward(8, 16), table);
            let at = doc.word(doc.word(8) + 4);
            doc.put(table + 12, at as u32)
        }),
        ("flag_unknown_and_state_without_place", {
            Bytes::json("1").set(6, &[0x10]).set(7, &[FLAG_STATE])
        }),
        ("shapes_unused", Bytes::json("1").shape(&shape(2, &[b"a"])).shape(&wide_shape(256))),
        ("free_list_empty", Bytes::json("1").aux(18, &[], 0, 0)),
        ("map_empty", map(&[] as &[&str])),
        ("map_of_16", map(&keys(16))),
        ("map_tree_of_one", with_tree(&keys(1))),
        ("map_tree_of_12_levels", tree_of(12)),
        ("map_hole_and_empty_key", {
            let mut doc = DocBuf::from_bytes_unvalidated(&map(&["a", "", "b"]).0).unwrap();
            doc.remove_pointer("/a").unwrap();
            Bytes(doc.to_vec())
        }),
    ];
    all.into_iter().map(|(name, bytes)| (name, bytes.0)).collect()
}

type All<'a> = &'a mut Vec<(&'static str, Bytes)>;

fn headers(all: All<'_>) {
    let null = Bytes::json("null");
    all.push(("NotADocument_magic", null.clone().set(3, b"G")));
    let mut longer = null.clone();
    longer.push(&[0]);
    longer.0.truncate(36);
    all.push(("Misaligned_used_of_null", longer.put(20, 36)));
    all.push(("BadCode_root_hole", null.clone().set(16, &[TAG_HOLE])));
    all.push(("BadCode_state_without_aux", null.set(7, &[FLAG_STATE])));
    all.push(("Overlap_header", Bytes::root(TAG_BYTES, span(8, 8 | OWNED))));
}

fn values(all: All<'_>) {
    let scalar = Bytes::root;
    let number = |text: &str| scalar(TAG_NUMBER, inline(text.as_bytes()));
    for (name, text) in [
        ("BadNumber_empty", ""),
        ("BadNumber_sign", "-"),
        ("BadNumber_plus", "+1"),
        ("BadNumber_leading_zero", "01"),
        ("BadNumber_leading_zero_of_minus", "-01"),
        ("BadNumber_no_integer", ".5"),
        ("BadNumber_no_fraction", "1."),
        ("BadNumber_no_exponent", "1e"),
        ("BadNumber_sign_of_exponent", "1e+"),
        ("BadNumber_fraction_of_exponent", "1e1.5"),
        ("BadNumber_behind", "1 "),
        ("BadNumber_before", " 1"),
        ("BadNumber_hexadecimal", "0x1"),
        ("BadNumber_infinity", "-inf"),
        ("BadNumber_other_digits", "\u{661}"),
    ] {
        all.push((name, number(text)));
    }
    for (name, text) in [
        ("BadText_overlong", &b"\xC0\xAF"[..]),
        ("BadText_surrogates", b"\xED\xA0\x80"),
        ("BadText_above_last", b"\xF4\x90\x80\x80"),
        ("BadText_cut", b"\xE2\x82"),
        ("BadText_behind_cut", b"\x82\xAC"),
    ] {
        all.push((name, scalar(TAG_STRING, inline(text))));
    }
    let day = 86_400_000_000i64;
    let (first, last) = (-719_162i64, 2_932_896i64);
    for (name, tag, cell) in [
        ("BadCell_date_too_early", TAG_DATE, first - 1),
        ("BadCell_date_too_late", TAG_DATE, last + 1),
        ("BadCell_date_of_more_bits", TAG_DATE, 1 << 32),
        ("BadCell_time_negative", TAG_TIME, -1),
        ("BadCell_time_of_a_day", TAG_TIME, day),
        ("BadCell_date_time_too_early", TAG_DATE_TIME, first * day - 1),
        ("BadCell_date_time_too_late", TAG_DATE_TIME, (last + 1) * day),
        ("BadCell_timestamp_too_early", TAG_TIMESTAMP, first * day - 1),
        ("BadCell_timestamp_too_late", TAG_TIMESTAMP, (last + 1) * day),
        ("BadCell_uint_one_too_small", TAG_UINT, i64::MAX),
        ("BadCell_false_with_bits", TAG_FALSE, 1),
        ("BadCell_true_with_bits", TAG_TRUE, 1 << 40),
        ("BadCell_text_behind_inline", TAG_STRING, inline(b"a") as i64 | 1 << 16),
        ("BadCell_reserved_behind_inline", 0x1F, inline(b"") as i64 | 1),
    ] {
        all.push((name, scalar(tag, cell as u64)));
    }
    // A column of each, whose first slot is right.
    for (name, column, slot) in [
        ("BadCell_time_column", Time, -1i64),
        ("BadCell_date_time_column", DateTime, (last + 1) * day),
        ("BadCell_timestamp_column", Timestamp, first * day - 1),
        ("BadCell_decimal_column_scale", Decimal, 39),
    ] {
        let data = [0, slot].map(i64::to_le_bytes).concat();
        all.push((name, Bytes::array(column, 0, 2, 2, &data)));
    }
    let at_32 = |tag: u8, bytes: &[u8], owned: u32| {
        let mut doc = Bytes::root(tag, span(32, bytes.len() as u32 | owned));
        doc.push(bytes);
        doc
    };
    let decimal = |coefficient: i128| [&coefficient.to_le_bytes()[..], &[0]].concat();
    let (most, long) = (10i128.pow(38), [decimal(1 << 60), vec![0]].concat());
    all.push(("BadCell_decimal_large_too_large", at_32(TAG_LARGE_DECIMAL, &decimal(most), OWNED)));
    let least = decimal(-most);
    all.push(("BadCell_decimal_large_too_negative", at_32(TAG_LARGE_DECIMAL, &least, OWNED)));
    all.push(("BadCell_decimal_large_length", at_32(TAG_LARGE_DECIMAL, &long, OWNED)));
    // It fits the 56 bits of the other tag.
    let fits = at_32(TAG_LARGE_DECIMAL, &decimal(-(1 << 55)), OWNED);
    all.push(("BadCell_decimal_large_of_least_small", fits));
    all.push(("BadCell_reserved_of_1025_not_owned", at_32(0x1F, &[b'a'; 1025], 0)));
    all.push(("BadCell_uuid_inline", scalar(TAG_UUID, inline(b"seven b"))));
    all.push(("BadCell_seven_bytes_elsewhere", at_32(TAG_STRING, b"seven b", 0)));
    all.push(("BadCell_text_of_1025_not_owned", at_32(TAG_STRING, &[b'a'; 1025], 0)));
    all.push(("BadText_shared", at_32(TAG_STRING, b"not \xFF UTF-8", 0)));
    all.push(("OutOfBounds_reserved_span", scalar(0x1F, span(32, 8 | OWNED))));
    all.push(("OutOfBounds_text_not_owned", scalar(TAG_STRING, span(24, 16))));
    // The text ends where the document does, but for its padding.
    let mut cut = at_32(TAG_STRING, b"eight by", OWNED);
    cut = cut.put(12, 9 | OWNED);
    all.push(("OutOfBounds_text_by_one", cut));
    // Two values of the same bytes.
    let twice = |first: u32, second: u32| {
        let mut doc = Bytes::cells(&[(TAG_STRING, 0), (TAG_STRING, 0)]);
        let at = doc.push(b"a longer text");
        doc = doc.set(56, &span(at, 13 | first).to_le_bytes());
        doc.set(64, &span(at, 13 | second).to_le_bytes())
    };
    all.push(("Overlap_texts_owned", twice(OWNED, OWNED)));
    all.push(("Overlap_text_owned_first", twice(OWNED, 0)));
    all.push(("Overlap_text_owned_second", twice(0, OWNED)));
    // A text's padding is another's first byte.
    let mut padded = Bytes::cells(&[(TAG_STRING, 0), (TAG_BYTES, 0)]);
    let at = padded.push(b"ten bytes!\0\0\0\0\0\0behind it");
    padded = padded.set(56, &span(at, 10 | OWNED).to_le_bytes());
    all.push(("Overlap_text_padding", padded.set(64, &span(at + 15, 8).to_le_bytes())));
    let node = |home: u64| Bytes::cells(&[(TAG_ARRAY, home)]);
    let mut empty = node(0);
    let at = empty.push(&header(Cells, 0, 0, 0, 0));
    all.push(("BadCell_array_high_bits", empty.set(56, &span(at, 1 << 31).to_le_bytes())));
    let mut undefined = Bytes::cells(&[(TAG_ARRAY, 72), (0x30, 88)]);
    undefined.push(&header(Cells, 0, 0, 0, 0));
    undefined.push(&header(Cells, 0, 0, 0, 0));
    all.push(("BadCode_element_tag_undefined", undefined.clone()));
    all.push(("UnsupportedFeature_element_node", undefined.set(49, &[0x2F])));
}

fn free_space(all: All<'_>) {
    // A block of 16 bytes at 32, and one of 8 at 48.
    let free = |first: [u32; 2], second: [u32; 2]| {
        let mut doc = Bytes::json("null");
        doc.push(&[first[0].to_le_bytes(), first[1].to_le_bytes(), [0; 4], [0; 4]].concat());
        doc.push(&second.map(u32::to_le_bytes).concat());
        doc
    };
    let sound = free([0, 16], [0, 8]);
    let right = || sound.clone().aux(2, &[48, 32], 24, 2);
    let at = sound.used();
    all.push(("WrongBlock_aux", right().set(at, &[KIND_ARRAY])));
    all.push(("NotZero_aux_header", right().set(at + 2, &[1])));
    all.push(("NotZero_aux_header_end", right().set(at + 3, &[1])));
    all.push(("Misaligned_aux", right().misplace(28, 32)));
    all.push(("BadFreeList_bytes", right().put(at + 4, 16)));
    all.push(("BadFreeList_blocks", right().put(at + 8, 1)));
    all.push(("BadFreeList_class", sound.clone().aux(2, &[32, 48], 24, 2)));
    all.push(("BadFreeList_class_of_next", sound.clone().put(48, 32).aux(2, &[48, 0], 24, 2)));
    all.push(("BadFreeList_size_0", free([0, 16], [0, 0]).aux(2, &[48, 32], 16, 2)));
    let mut longer = Bytes::json("null");
    longer.push(&[0, 12, 0, 0].map(u32::to_le_bytes).concat());
    all.push(("BadFreeList_size_12", longer.aux(2, &[32, 0], 12, 1)));
    all.push((
        "OutOfBounds_free_block",
        free([0, 16], [0, 8]).put(36, 1 << 20).aux(2, &[0, 32], 1 << 20, 1),
    ));
    all.push(("Overlap_free_block_twice", free([32, 16], [0, 8]).aux(2, &[48, 32], 24, 2)));
    all.push(("Overlap_free_blocks", free([0, 24], [0, 8]).aux(2, &[48, 32], 32, 2)));
    let value = right().set(16, &[TAG_BYTES]).set(8, &span(32, 16 | OWNED).to_le_bytes());
    all.push(("Overlap_free_block_and_value", value));
    let shared = right().set(16, &[TAG_BYTES]).set(8, &span(40, 8).to_le_bytes());
    all.push(("Overlap_free_block_and_shared", shared));
    let mut unaligned = Bytes::json("null");
    unaligned.push(&[0, 0, 8, 0].map(u32::to_le_bytes).concat());
    all.push(("Misaligned_free_block", unaligned.aux(2, &[36, 0], 8, 1)));
    let null = Bytes::json("null");
    all.push(("BadCount_aux_no_classes", null.clone().aux(0, &[], 0, 0)));
    all.push(("BadCount_aux_odd_classes", null.clone().aux(3, &[], 0, 0)));
    all.push(("BadCount_aux_20_classes", null.clone().aux(20, &[], 0, 0)));
    all.push(("OutOfBounds_aux", null.clone().aux(2, &[], 0, 0).set(33, &[4])));
    let mut stated = null.aux(2, &[], 0, 0);
    stated.push(&[0; 4]);
    stated.push(&[1; 16]);
    stated.push(&[1; 8]);
    all.push(("Misaligned_state", stated.clone().put(32 + 20, 76)));
    all.push(("OutOfBounds_state", stated.put(32 + 20, 88)));
}

fn shapes(all: All<'_>) {
    let null = Bytes::json("null");
    let with = |block: &[u8]| null.clone().shape(block);
    let one = shape(1, &[b"a"]);
    all.push(("WrongBlock_shape_kind", with(&[&[KIND_RECORD], &one[1..]].concat())));
    all.push(("Misaligned_shape", with(&one).misplace(24, 24)));
    all.push(("Overlap_shapes_circle", with(&one).put(36, 32)));
    // Where the second key would be, a right one is.
    let key = inline(b"b").to_le_bytes();
    let mut more = one.clone();
    (more[2], more[9]) = (2, fingerprint(b"b"));
    all.push(("BadCount_shape_above_capacity", with(&[&more[..], &key].concat())));
    all.push(("BadCount_shape_of_no_keys", with(&[KIND_SHAPE, 0, 0, 0, 0, 0, 0, 0])));
    let mut fingerprints = one.clone();
    fingerprints[9] = 1;
    all.push(("NotZero_shape_fingerprint_padding", with(&fingerprints)));
    let mut unused = shape(2, &[b"a"]);
    unused[9] = 1;
    all.push(("NotZero_shape_fingerprint_unused", with(&unused)));
    let mut unused = shape(2, &[b"a"]);
    unused[24..].copy_from_slice(&key);
    all.push(("NotZero_shape_key_unused", with(&unused)));
    let mut cut = null.clone().shape(&shape(2, &[b"a", b"b"]));
    cut.0.truncate(32 + 24);
    all.push(("OutOfBounds_shape", cut.put(20, 56)));
    // A key of 256 bytes at 32.
    let mut long = null.clone();
    long.push(&[b'k'; 256]);
    let mut block = one.clone();
    block[8] = fingerprint(&[b'k'; 256]);
    block[16..24].copy_from_slice(&span(32, 256).to_le_bytes());
    all.push(("BadCell_shape_key_of_256", long.shape(&block)));
    let mut block = one.clone();
    block[16..24].copy_from_slice(&inline(b"\xFF").to_le_bytes());
    block[8] = fingerprint(b"\xFF");
    all.push(("BadText_shape_key", with(&block)));
    all.push(("BadCount_wide_shape_of_255", with(&wide_shape(255))));
    let wide = wide_shape(256);
    let changed = |at: usize, byte: u8| {
        let mut block = wide.clone();
        block[at] = byte;
        with(&block)
    };
    all.push(("NotZero_wide_shape_start", changed(2, 1)));
    all.push(("NotZero_wide_shape_count", changed(12, 1)));
    all.push(("NotZero_wide_shape_count_end", changed(15, 1)));
    all.push(("BadText_wide_shape_key", changed(16 + 512 + 8 * 255, 0xFF)));
    all.push(("BadIndex_wide_shape_order_of_256", changed(16 + 511, 1)));
}

fn records(all: All<'_>) {
    // A shape of two keys at 32.
    let keys: [&[u8]; 2] = [b"a", b"b"];
    let shaped = Bytes::json("null").shape(&shape(2, &keys));
    let object = |doc: &Bytes, block: &[u8]| {
        let mut doc = doc.clone().set(16, &[TAG_OBJECT]);
        let at = doc.push(block);
        doc.put(8, at)
    };
    let int = (TAG_INT, 7);
    let two = record(2, 32, &[int, int]);
    let changed = |at: usize, byte: u8| {
        let mut block = record(3, 32, &[int, (TAG_HOLE, 0)]);
        block[at] = byte;
        object(&shaped, &block)
    };
    all.push(("NotZero_hole", changed(24, 1)));
    all.push(("NotZero_unused_field", changed(32, 1)));
    all.push(("NotZero_unused_field_tag", changed(10, TAG_NULL)));
    all.push(("NotZero_unused_tag_of_group", changed(15, 1)));
    all.push(("BadCount_record_hole_as_live", changed(3, 2)));
    all.push(("Misaligned_record", object(&shaped, &two).misplace(8, two.len())));
    let more = record(3, 32, &[int; 3]);
    all.push(("BadCount_record_of_more_keys", object(&shaped, &more)));
    let mut empty = record(0, 32, &[]);
    all.push(("BadCount_record_empty_with_shape", object(&shaped, &empty)));
    empty = record(1, 0, &[int]);
    all.push(("BadCount_record_without_shape", object(&shaped, &empty)));
    let mut wide = record(9, 0, &[]);
    wide[8 + 72] = TAG_NULL;
    all.push(("NotZero_unused_group_tag", object(&shaped, &wide)));
    let mut wide = record(9, 0, &[]);
    wide[8 + 72 + 8] = 1;
    all.push(("NotZero_unused_group_cell", object(&shaped, &wide)));
    let mut cut = object(&shaped, &record(3, 32, &[int, int]));
    cut.0.truncate(cut.used() - 8);
    let used = cut.used() as u32;
    all.push(("OutOfBounds_record", cut.put(20, used)));
    // A shape of one key at 32: its second byte looks like another shape.
    let mut twice = Bytes::cells(&[(TAG_OBJECT, 0), (TAG_OBJECT, 0)]).shape(&shape(1, &[b"a"]));
    let at = twice.word(24) as u32;
    let first = twice.push(&record(1, at, &[int]));
    let second = twice.push(&record(1, at + 1, &[int]));
    twice = twice.put(56, first).put(64, second);
    all.push(("WrongBlock_record_shape_inside", twice));
    // Bytes that look like a shape, owned, shared, and of nothing.
    let fake = |flag: Option<u32>| {
        let tag = if flag.is_some() { TAG_BYTES } else { TAG_INT };
        let mut doc = Bytes::cells(&[(tag, 0), (TAG_OBJECT, 0)]);
        let at = doc.push(&shape(1, &[b"a"]));
        let object = doc.push(&record(1, at, &[int]));
        doc = doc.put(64, object).set(at as usize + 3, &[0]);
        let cell = flag.map_or(0, |flag| span(at, 24 | flag));
        doc.set(56, &cell.to_le_bytes())
    };
    all.push(("WrongBlock_record_shape_is_bytes", fake(Some(OWNED))));
    all.push(("WrongBlock_record_shape_is_shared", fake(Some(0))));
    all.push(("WrongBlock_record_shape_not_listed", fake(None)));
    let mut other = Bytes::cells(&[(TAG_OBJECT, 0), (TAG_OBJECT, 0)]);
    let first = other.push(&record(0, 0, &[]));
    other = other.put(56, first).put(64, first);
    all.push(("Overlap_empty_object_twice", other));
    // Forwards.
    let forward = |to: u32| [[KIND_FORWARD, 0, 0, 0], to.to_le_bytes()].concat();
    let mut forwarded = Bytes::cells(&[(TAG_OBJECT, 0), (TAG_BYTES, 0)]);
    let block = forwarded.push(&record(0, 0, &[]));
    let home = forwarded.push(&forward(block));
    forwarded.push(&[1; 8]);
    forwarded = forwarded.put(56, home).set(64, &span(home + 8, 8 | OWNED).to_le_bytes());
    for (name, at) in
        [("NotZero_forward", 1), ("NotZero_forward_middle", 2), ("NotZero_forward_end", 3)]
    {
        all.push((name, forwarded.clone().set(home as usize + at, &[1])));
    }
    all.push(("Overlap_forward", forwarded.clone().put(64, home)));
    all.push(("Misaligned_forward", forwarded.clone().misplace(56, 8)));
    all.push(("OutOfBounds_forward", forwarded.clone().put(home as usize + 4, 1 << 16)));
    all.push(("WrongBlock_forward_to_aux", forwarded.set(block as usize, &[KIND_AUX])));
}

fn arrays(all: All<'_>) {
    let of = Bytes::array;
    all.push(("BadCount_array_data_of_nothing", of(Cells, 0, 0, 0, &[]).put(44, 48)));
    all.push(("BadCount_array_without_data", of(I8, 0, 0, 8, &[0; 8]).put(44, 0)));
    all.push(("BadCode_cells_with_gaps", of(Cells, GAPS_NULL, 0, 0, &[])));
    all.push(("BadCode_column_of_no_code", of(Cells, 0, 0, 0, &[]).set(33, &[Bool8 as u8 + 1])));
    let numbers = of(I64, 0, 2, 2, &[0; 16]);
    all.push(("Overlap_array_header", numbers.clone().put(44, 32)));
    all.push(("Overlap_array_and_header", numbers.clone().put(44, 16)));
    all.push(("Misaligned_array", numbers.clone().misplace(8, 16)));
    all.push(("Misaligned_array_data", numbers.clone().misplace(44, 16)));
    all.push(("OutOfBounds_array_data", numbers.put(44, 56)));
    // The first slot is used, the second is not, and not 0.
    for (name, column, width) in [
        ("NotZero_i64_behind_count", I64, 8),
        ("NotZero_f32_behind_count", F32, 4),
        ("NotZero_numbers_behind_count", NumbersF64, 8),
        ("NotZero_marked_behind_count", MarkedF64, 8),
        ("NotZero_text_behind_count", String, 8),
        ("NotZero_home_behind_count", Objects, 4),
        ("NotZero_date_behind_count", Date, 4),
        ("NotZero_uuid_behind_count", Uuid, 16),
    ] {
        let mut data = vec![0; 2 * width];
        data[2 * width - 1] = 1;
        if column == MarkedF64 {
            data.extend([0; 8]);
        }
        let mut doc = of(column, 0, 1, 2, &data);
        match column {
            String => doc = doc.set(48, &inline(b"a").to_le_bytes()),
            Objects => {
                let at = doc.push(&record(0, 0, &[]));
                doc = doc.put(48, at);
            }
            _ => {}
        }
        all.push((name, doc));
    }
    let flags = of(Bool8, 0, 1, 2, &[1, 1]).set(35, &[1]);
    all.push(("NotZero_bool8_behind_count", flags));
    all.push(("NotZero_bit_behind_count", of(Bool, 0, 1, 8, &[0b11])));
    all.push(("NotZero_bits_behind_count", of(Bool, 0, 8, 8, &[0xFF, 1])));
    all.push(("BadIndex_order_beyond_127", ordered(&[0xC2, 0x80])));
    all.push(("BadCode_order_of_no_row", {
        let doc = Bytes::json(&format!("[{}]", few_rows_in_orders()));
        // Row 9 is null.
        let bits = doc.word(doc.column(3) + 12) + 1;
        let known = doc.0[bits];
        doc.set(bits, &[known | 1 << 1])
    }));
    all.push(("BadCode_missing_elements_of_all", {
        let mut doc = Bytes::array(FixedList, 0, 1, 1, &[]);
        let head = [[KIND_LIST, 1, 0, 0], 2u32.to_le_bytes(), [0; 4], 32u32.to_le_bytes()];
        doc.push(&[head.concat(), header(I8, GAPS_MISSING, 2, 2, 80)].concat());
        doc.push(&[0b11, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        doc
    }));
    all.push(("NotZero_unused_cell", {
        let mut data = [0; 24];
        (data[0], data[16]) = (TAG_NULL, 1);
        of(Cells, 0, 1, 2, &data)
    }));
    all.push(("NotZero_unused_cells", {
        let mut data = [0; 88];
        (data[71], data[87]) = (0, 1);
        of(Cells, 0, 8, 9, &[&[TAG_NULL; 8][..], &[0; 64], &data[72..]].concat())
    }));
    all.push(("BadCode_element_is_a_hole", Bytes::cells(&[(TAG_HOLE, 0), (TAG_NULL, 0)])));
    all.push(("BadText_in_column", of(String, 0, 1, 1, &inline(b"\xFF").to_le_bytes())));
    all.push(("WrongBlock_objects_column", {
        let mut doc = of(Objects, 0, 1, 1, &[0; 4]);
        let at = doc.push(&header(Cells, 0, 0, 0, 0));
        doc.put(48, at)
    }));
    all.push(("WrongBlock_arrays_column", {
        let mut doc = of(Arrays, 0, 1, 1, &[0; 4]);
        let at = doc.push(&record(0, 0, &[]));
        doc.put(48, at)
    }));
    dictionaries(all);
}

fn dictionaries(all: All<'_>) {
    // Codes of eight slots at 48, the header of the texts at 56, their cells at 72.
    let dictionary = |codes: [u8; 8], texts: &[u64], capacity: u32| {
        let count = texts.len() as u32;
        let header = header(String, 0, count, capacity, if capacity > 0 { 72 } else { 0 });
        let mut data = [&codes[..], &header].concat();
        data.extend(texts.iter().flat_map(|cell| cell.to_le_bytes()));
        data.resize(data.len().max(24 + 8 * capacity as usize), 0);
        Bytes::array(DictionaryU8, 0, 8, 8, &data)
    };
    let (a, b) = (inline(b"a"), inline(b"b"));
    let two = dictionary([0, 1, 0, 1, 0, 1, 0, 1], &[a, b], 2);
    let slack = dictionary([0, 1, 0, 1, 0, 1, 0, 1], &[a, b], 3);
    all.push(("BadCode_dictionary_texts_i64", two.clone().set(57, &[I64 as u8])));
    all.push(("NotZero_dictionary_texts_tensor", two.clone().set(59, &[1])));
    all.push(("BadCount_dictionary_texts_capacity", two.clone().put(64, 1)));
    all.push(("NotZero_dictionary_texts_slack", slack.set(88, &[1])));
    all.push(("BadText_dictionary", two.clone().set(80, &[0xFF])));
    all.push(("Misaligned_dictionary_texts", two.clone().misplace(68, 16)));
    all.push(("OutOfBounds_dictionary_texts", two.clone().put(68, 80)));
    all.push(("Overlap_dictionary_texts", two.put(68, 16)));
    let none = dictionary([0; 8], &[], 0).put(36, 0);
    all.push(("BadCount_dictionary_empty", none));
    all.push(("BadCount_dictionary_257_texts", dictionary([0; 8], &[a; 257], 257)));
    // Codes of two bytes.
    let mut wide = vec![0; 16];
    wide[14] = 2;
    wide.extend(header(String, 0, 2, 2, 80));
    wide.extend([a, b].map(u64::to_le_bytes).concat());
    let wide = Bytes::array(DictionaryU16, 0, 8, 8, &wide);
    all.push(("BadIndex_dictionary_u16_code", wide));
}

fn gaps(all: All<'_>) {
    let of = Bytes::array;
    // A slot with a value, then one without, which is not 0.
    let bits = [1, 0, 0, 0, 0, 0, 0, 0];
    let gap = |column: ColumnType, values: &[u8]| {
        of(column, GAPS_NULL, 2, 2, &[&bits[..], values].concat())
    };
    let ints = |values: [u64; 2]| values.map(u64::to_le_bytes).concat();
    all.push(("NotZero_gap_bit", gap(Bool, &[0b10])));
    all.push(("NotZero_gap_i64", gap(I64, &ints([0, 1 << 63]))));
    all.push(("NotZero_gap_f64", gap(F64, &ints([0, 1 << 63]))));
    all.push(("NotZero_gap_numbers", gap(NumbersF64, &ints([0, 1 << 63]))));
    all.push(("NotZero_gap_marked", gap(MarkedF64, &[ints([0, 1 << 63]), vec![0; 8]].concat())));
    all.push(("NotZero_gap_text", gap(String, &ints([inline(b"a"), inline(b"")]))));
    all.push(("NotZero_gap_timestamp", gap(Timestamp, &ints([0, 1]))));
    let mut homes = gap(Objects, &[0; 8]);
    let at = homes.push(&record(0, 0, &[]));
    all.push(("NotZero_gap_home", homes.put(56, at).put(60, at)));
    let texts = [&[0, 1, 0, 0, 0, 0, 0, 0], &header(String, 0, 2, 2, 80)[..]].concat();
    let cells = ints([inline(b"a"), inline(b"b")]);
    all.push(("NotZero_gap_code", gap(DictionaryU8, &[texts, cells].concat())));
    all.push(("BadCode_gaps_missing", of(I8, GAPS_MISSING, 2, 2, &[&bits[..], &[0]].concat())));
    all.push(("BadCode_gaps_both", of(I8, GAPS_BOTH, 2, 2, &[&bits[..], &bits, &[0]].concat())));
    let behind = |bitmap: [u8; 8]| of(I8, GAPS_NULL, 2, 2, &[&bitmap[..], &[0]].concat());
    all.push(("NotZero_gap_bit_behind_count", behind([0b101, 0, 0, 0, 0, 0, 0, 0])));
    all.push(("NotZero_gap_bits_behind_count", behind([1, 0, 0, 0, 0, 0, 0, 1])));
    all.push(("NotZero_null_array_bit", of(Null, GAPS_NULL, 2, 2, &bits)));
    all.push(("BadCount_null_array_without_gaps", of(Null, 0, 0, 2, &[])));
    // Rows of a column with both bitmaps.
    let rows = |valid: u8, null: u8| {
        let rows = Bytes::json(
            r#"[{"a":1,"b":1},{"a":null},{"b":2},{"a":2,"b":3},{"a":3},{"a":4},{"a":5},{"a":6}]"#,
        );
        let (header, data) = (rows.column(0), rows.word(rows.column(0) + 12));
        assert_eq!(rows.part(header + 1, 2), [I8 as u8, GAPS_BOTH]);
        assert_eq!((rows.0[data], rows.0[data + 8]), (0b1111_1001, 0b10));
        rows.set(data, &[valid]).set(data + 8, &[null])
    };
    all.push(("NotZero_value_and_null", rows(0b1111_1001, 0b11)));
    let behind = |gaps: usize| {
        let rows = Bytes::json(r#"[{"a":1},{"a":null},{},{"a":2},{"a":3},{"a":4}]"#);
        let data = rows.word(rows.column(0) + 12);
        rows.set(data + 8 * gaps + 7, &[0x80])
    };
    all.push(("NotZero_value_bit_behind_count", behind(0)));
    all.push(("NotZero_null_bit_behind_count", behind(1)));
}

fn tables(all: All<'_>) {
    let plain = Bytes::json(r#"[{"a":1,"b":1.5},{"a":2,"b":2.5},{"a":3,"b":3.5}]"#);
    let (array, table) = (plain.word(8), plain.data());
    let size = 24 + 16 * 2;
    all.push(("WrongBlock_table_kind", plain.clone().set(table, &[0])));
    all.push(("NotZero_table_header", plain.clone().set(table + 22, &[1])));
    all.push(("NotZero_table_header_end", plain.clone().set(table + 23, &[1])));
    all.push(("BadCount_table_no_columns", plain.clone().put(table + 20, 0)));
    all.push(("BadCount_table_more_columns", {
        // A third column, whose key the shape does not have.
        let mut doc = plain.clone();
        let data = doc.push(&[1, 2, 3]);
        let block = [doc.part(table, size), header(I8, 0, 3, 3, data)].concat();
        let at = doc.push(&block);
        doc.set(at as usize + 20, &[3]).put(array + 12, at)
    }));
    all.push(("Misaligned_table", plain.clone().misplace(array + 12, size)));
    all.push(("WrongBlock_column_header", plain.clone().set(plain.column(1), &[KIND_RECORD])));
    all.push(("BadCount_array_of_rows", plain.clone().put(array + 4, 2).put(array + 8, 2)));
    let fewer = plain.clone().put(plain.column(1) + 4, 2);
    let third = plain.word(plain.column(1) + 12) + 8;
    all.push(("BadCount_column_of_rows", fewer.put(third, 0)));
    let numbers = plain.clone().set(plain.column(0) + 1, &[I64 as u8]);
    all.push(("Overlap_table", numbers.put(plain.column(0) + 12, table as u32)));
    let (a, b) = (plain.column(0), plain.column(1));
    let same = plain.clone().set(a + 1, &[F32 as u8]);
    all.push(("Overlap_columns", same.put(a + 12, plain.word(b + 12) as u32)));
    all.push(("Misaligned_column_data", plain.clone().misplace(b + 12, 16)));
    all.push(("WrongBlock_table_owner_is_table", plain.clone().put(table + 12, table as u32)));
    all.push(("BadCode_tensor_of_rows", plain.clone().set(array + 3, &[1])));
    all.push(("BadIndex_orders_text_unused", {
        let mut doc = ordered(&[0, 1]);
        let orders = doc.column(200);
        let data = doc.word(orders + 12);
        let texts = [inline(&[0, 1]), inline(&[1, 1])].map(u64::to_le_bytes).concat();
        let at = doc.push(&texts);
        doc.set(data + 24, &header(String, 0, 2, 2, at))
    }));
    // With orders.
    let ordered = Bytes::json(&format!("[{}]", crate::vectors::few_rows_in_orders()));
    let at = ordered.data();
    all.push(("BadCode_table_form_of_orders", ordered.clone().set(at + 1, &[2])));
    let rows = r#"{"x":1,"y":2},{"y":3,"x":4}"#;
    let rows = Bytes::json(&format!("[{}]", [rows; 8].join(",")));
    let orders = rows.column(2);
    assert_eq!(rows.0[orders + 2], GAPS_MISSING);
    all.push(("BadCode_orders_null", rows.clone().set(orders + 2, &[GAPS_NULL])));
    all.push(("Overlap_orders", {
        let orders = at + 24 + 16 * 3;
        let bits = ordered.word(ordered.column(0) + 12) as u32;
        ordered.clone().put(orders + 12, bits)
    }));
    // Two objects of rows that may be null: the bitmaps of "a" and "b" are blocks of their own.
    let row = |n| match n % 3 {
        0 => r#"{"a":null,"b":{"x":1}}"#.to_owned(),
        1 => format!(r#"{{"a":{{"y":{n}}},"b":null}}"#),
        _ => format!(r#"{{"a":{{"y":{n}}},"b":{{"x":{n}}}}}"#),
    };
    let rows: Vec<_> = (0..9).map(row).collect();
    let structs = Bytes::json(&format!("[{}]", rows.join(",")));
    let (a, b) = (structs.word(structs.column(0) + 12), structs.word(structs.column(1) + 12));
    let (bits, other) = (structs.word(a + 8), structs.word(b + 8));
    assert!(bits != 0 && other != 0);
    all.push(("Misaligned_bitmap", structs.clone().misplace(a + 8, 8)));
    all.push(("NotZero_row_bit_behind_count", structs.clone().set(bits + 1, &[0b11])));
    let column = structs.word(b + 24 + 12);
    // The rows of "b" are those of "a".
    let mut shared = structs.clone().put(b + 8, bits as u32);
    let (from, to) = (structs.word(a + 24 + 12), column);
    let bitmap = structs.part(from, 8);
    shared = shared.set(to, &bitmap).set(to + 8, &[0, 1, 1, 0, 1, 1, 0, 1, 1]);
    all.push(("Overlap_bitmaps", shared));
    // Where the bitmaps would be, the document's first byte says that rows 0 and 1 are there.
    let gaps = Bytes::json(r#"[{"a":1},{"a":2}]"#);
    let header = gaps.word(8);
    all.push(("BadCount_table_without_bitmap", gaps.clone().set(header + 2, &[GAPS_NULL])));
    // Row 1 is null, and its "p" is not missing, but has "q" missing.
    let nested = Bytes::json(
        r#"[{"o":{"p":{"q":1}}},{"o":null},{"o":{"p":{"q":2}}},{"o":{"p":{"q":3}}},{"o":{"p":{"q":4}}}]"#,
    );
    let o = nested.word(nested.column(0) + 12);
    let p = nested.word(o + 24 + 12);
    let bits = nested.word(p + 8);
    assert_eq!(nested.0[bits], 0b11101);
    all.push(("BadCode_missing_row", nested.clone().set(bits, &[0b11111])));
    // Two tables.
    let two = r#"{"s":[{"a":1},{"a":2}],"t":[{"a":3},{"a":4}]}"#;
    let mut both = Bytes::json(two);
    let arrays = [0, 1].map(|field| both.word(both.word(8) + 16 + 8 * field));
    let tables = arrays.map(|array| both.word(array + 12));
    let columns = tables.map(|table| both.word(table + 24 + 12) as u32);
    all.push(("Overlap_columns_of_tables", both.clone().put(tables[1] + 24 + 12, columns[0])));
    let extras = both.push(&self::header(U64, 0, 0, 0, 0));
    let none = both.put(tables[0] + 16, extras);
    all.push(("Overlap_extras", none.clone().put(tables[1] + 16, extras)));
    all.push(("Misaligned_extras", none.clone().misplace(tables[0] + 16, 16)));
    // Extras of rows 2 and 5 of nine; row 4 is null.
    let rows: Vec<_> = (0..9).map(|n| format!("{{\"a\":{n}}}")).collect();
    let rows = format!("[{}]", rows.join(",")).replace(r#"{"a":4}"#, "null");
    let extra = Bytes::edited(&rows, |doc| {
        doc.set_pointer("/2/c", 1).unwrap();
        doc.set_pointer("/5/c", true).unwrap();
    });
    let list = extra.word(extra.data() + 16);
    let entries = extra.word(list + 12);
    assert_eq!((extra.word(entries + 4), extra.word(entries + 12)), (2, 5));
    let whole: Vec<_> = (0..9).map(|n| format!("{{\"a\":{n}}}")).collect();
    let whole = Bytes::edited(&format!("[{}]", whole.join(",")), |doc| {
        doc.set_pointer("/8/c", 1).unwrap();
    });
    let first = whole.word(whole.word(whole.data() + 16) + 12);
    assert_eq!(whole.word(first + 4), 8);
    all.push(("BadIndex_extras_one_beyond", whole.put(first + 4, 9)));
    let row = |number: usize, row| extra.clone().put(entries + 8 * number + 4, row);
    all.push(("BadIndex_extras_twice", row(1, 2)));
    all.push(("BadIndex_extras_fall", row(1, 1)));
    all.push(("BadIndex_extras_beyond", row(1, 9)));
    all.push(("BadIndex_extras_of_null", row(1, 4)));
    all.push(("WrongBlock_extras_kind", extra.clone().set(list, &[KIND_RECORD])));
    all.push(("WrongBlock_extras_column", extra.clone().set(list + 1, &[I64 as u8])));
    all.push(("NotZero_extras_tensor", extra.clone().set(list + 3, &[1])));
    let capacity = extra.word(list + 8);
    all.push(("NotZero_extras_slack", extra.clone().set(entries + 8 * capacity - 1, &[1])));
    let mut gaps = extra.clone();
    let old = gaps.part(entries, 8 * capacity);
    let data = gaps.push(&[&[3, 0, 0, 0, 0, 0, 0, 0], &old[..]].concat());
    all.push(("WrongBlock_extras_gaps", gaps.set(list + 2, &[GAPS_NULL]).put(list + 12, data)));
    // The objects of both rows are one.
    let home = extra.word(entries) as u32;
    all.push(("Overlap_extras_object", extra.put(entries + 8, home)));
    // Text of a row's object, with more containers around it than one call walks through.
    let deep = Bytes::edited(&rows, |doc| {
        doc.set_pointer("/2/c", "a text, further").unwrap();
    });
    let at = deep.0.windows(15).position(|text| text == b"a text, further").unwrap();
    all.push(("BadText_in_extras", deep.clone().set(at, &[0xFF])));
    for (name, levels) in [("BadText_in_extras_deep", 63), ("BadText_in_extras_deeper", 64)] {
        all.push((name, deep.clone().within(levels).set(at, &[0xFF])));
    }
}

fn lists(all: All<'_>) {
    let list = Bytes::of("list");
    let (array, at) = (list.word(8), list.data());
    let (data, offsets) = (list.word(at + 16 + 12), list.word(at + 32 + 12));
    all.push(("WrongBlock_list_kind", list.clone().set(at, &[0])));
    all.push(("WrongBlock_list_owner", list.clone().put(at + 12, 8)));
    all.push(("WrongBlock_list_owner_column", list.clone().set(at + 2, &[1])));
    all.push(("NotZero_list_length", list.clone().put(at + 4, 1)));
    all.push(("Misaligned_list", list.clone().misplace(array + 12, 48)));
    all.push(("Misaligned_list_elements", list.clone().misplace(at + 16 + 12, 16)));
    all.push(("Misaligned_list_offsets", list.clone().misplace(at + 32 + 12, 16)));
    all.push(("Overlap_list_offsets", list.clone().put(at + 16 + 12, offsets as u32)));
    all.push(("WrongBlock_list_elements", list.clone().set(at + 16, &[KIND_RECORD])));
    all.push(("WrongBlock_list_offsets_kind", list.clone().set(at + 32, &[KIND_RECORD])));
    all.push(("BadCode_list_of_tensors", list.clone().set(at + 16 + 3, &[1])));
    all.push(("BadCode_list_element_gaps", list.clone().set(at + 16 + 2, &[4])));
    all.push(("BadIndex_list_first_offset", list.clone().set(offsets, &[1])));
    // Nine arrays, ten offsets, ten elements.
    assert_eq!((list.word(array + 4), list.word(at + 32 + 4), list.word(at + 16 + 4)), (9, 10, 10));
    let last = list.0[offsets + 9];
    let more = list.clone().put(at + 32 + 4, 11).put(at + 32 + 8, 11);
    all.push(("BadCount_list_offsets_more", more.set(offsets + 10, &[last])));
    let fewer = list.clone().put(at + 32 + 4, 9).put(at + 32 + 8, 9).set(offsets + 9, &[0]);
    let before = list.0[offsets + 8];
    let fewer = fewer.put(at + 16 + 4, before.into()).put(at + 16 + 8, before.into());
    all.push(("BadCount_list_offsets_fewer", fewer.set(data + usize::from(before), &[0; 1])));
    let elements = list.clone().put(at + 16 + 4, 9).put(at + 16 + 8, 9).set(data + 9, &[0]);
    all.push(("BadCount_list_elements_fewer", elements));
    // Two empty arrays.
    let empty = |column: ColumnType, gaps: u8, numbers: &[u8]| {
        let mut doc = Bytes::root(TAG_ARRAY, 32);
        doc.push(&header(List, 0, 2, 2, 48));
        doc.push(&[[KIND_LIST, 0, 0, 0], [0; 4], [0; 4], 32u32.to_le_bytes()].concat());
        doc.push(&header(Cells, 0, 0, 0, 0));
        doc.push(&header(column, gaps, 3, 3, 96));
        doc.push(numbers);
        doc
    };
    all.push(("WrongBlock_list_offsets_u64", empty(U64, 0, &[0; 24])));
    all.push(("WrongBlock_list_offsets_i8", empty(I8, 0, &[0; 8])));
    all.push(("WrongBlock_list_offsets_gaps", empty(U8, GAPS_NULL, &[0; 16])));
    all.push(("NotZero_list_offsets_slack", empty(U8, 0, &[0, 0, 0, 1, 0, 0, 0, 0])));
    // A member that is missing, whose cell is not 0.
    let missing = Bytes::json(r#"[{"a":1,"b":1},{"b":2},{"a":"x","b":3},{"a":true,"b":4}]"#);
    let at = missing.word(missing.column(0) + 12);
    assert_eq!(missing.part(at, 4), [TAG_INT, TAG_HOLE, TAG_STRING, TAG_TRUE]);
    all.push(("NotZero_missing_cell", missing.set(at + 16, &[1])));
    // A hole among the elements, where none may be missing.
    let cells = Bytes::json(r#"[[1,"a"],[true],[],[null],["b"],[2],[3],[4],[]]"#);
    let child = cells.word(cells.data() + 16 + 12);
    assert_eq!(cells.0[cells.data() + 16 + 1], Cells as u8);
    let place = (0..8).find(|&place| cells.0[child + place] == TAG_NULL).unwrap();
    all.push(("BadCode_list_element_hole", cells.clone().set(child + place, &[TAG_HOLE])));
    all.push((
        "BadCell_list_element",
        cells.set(child + place, &[TAG_FALSE]).set(child + 8 + 8 * place, &[1]),
    ));
    // Of fixed length: eight numbers of four arrays.
    let fixed = Bytes::of("list_fixed");
    let (array, at) = (fixed.word(8), fixed.data());
    assert_eq!((fixed.word(array + 4), fixed.word(at + 4)), (4, 2));
    all.push(("BadCode_list_of_fixed_form", fixed.clone().set(array + 1, &[List as u8])));
    all.push((
        "BadCode_list_form_2",
        fixed.clone().set(array + 1, &[List as u8]).set(at + 1, &[2]),
    ));
    all.push(("BadCode_list_fixed_form_2", fixed.clone().set(at + 1, &[2])));
    let offsets_form = list.clone().set(list.word(8) + 1, &[FixedList as u8]);
    all.push(("BadCode_list_fixed_of_offsets", offsets_form));
    all.push(("BadCount_list_fixed_elements", fixed.clone().put(array + 4, 3).put(array + 8, 3)));
    all.push(("Misaligned_list_fixed", fixed.clone().misplace(array + 12, 32)));
    // Arrays may have gaps, and both are there: no element may be missing.
    all.push(("BadCode_missing_element_of_array", {
        let mut doc = Bytes::array(FixedList, GAPS_NULL, 2, 2, &[]);
        let list = [[KIND_LIST, 1, 0, 0], 2u32.to_le_bytes(), 80u32.to_le_bytes()].concat();
        let elements = header(I8, GAPS_MISSING, 4, 4, 88);
        doc.push(&[list, 32u32.to_le_bytes().to_vec(), elements].concat());
        doc.push(&[0b11]);
        doc.push(&[0b1101, 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 4]);
        doc
    }));
    // Its elements' data are the list itself.
    all.push(("Overlap_list", fixed.put(at + 16 + 12, at as u32)));
    let none = tensors().into_iter().find(|(name, _)| *name == "empty").unwrap().1.to_vec();
    let none = Bytes(none);
    all.push(("BadCount_list_length_0", none.clone().put(none.data() + 4, 0)));
    // Runs.
    let names = r#"["Ada","Bé","Cy","Dora","Eve","Fay","Gus","Hal","Ian","Jo","Kim","Liz","Mo","Ned","Oz","Pam"]"#;
    let run = Bytes::json(names);
    let at = run.data();
    assert_eq!(run.0[run.word(8) + 1], TextRun as u8);
    all.push(("BadCode_run_tensor", run.clone().set(at + 16 + 3, &[1])));
    all.push(("BadCode_run_bytes_gaps_null", {
        let mut doc = run.clone();
        let (count, data) = (run.word(at + 16 + 4), run.word(at + 16 + 12));
        let mut bits = vec![0; 8];
        (0..count).for_each(|at| bits[at / 8] |= 1 << (at % 8));
        bits.extend(run.part(data, count));
        let data = doc.push(&bits);
        doc.set(at + 16 + 2, &[GAPS_NULL]).put(at + 16 + 8, count as u32).put(at + 16 + 12, data)
    }));
    all.push(("WrongBlock_run_owner", run.clone().put(at + 12, 8)));
    all.push(("Misaligned_run_bytes", {
        let length = run.word(at + 16 + 8).next_multiple_of(8);
        run.clone().misplace(at + 16 + 12, length)
    }));
    let text = run.word(at + 16 + 12);
    all.push(("Overlap_run_and_text", {
        // A second array: of the run's first bytes.
        let mut doc = run.clone();
        let cells = doc.push(&header(String, 0, 1, 1, doc.used() as u32 + 16));
        doc.push(&span(text as u32, 8).to_le_bytes());
        let first = doc.word(8) as u32;
        let outer = doc.push(&header(Arrays, 0, 2, 2, doc.used() as u32 + 16));
        doc.push(&[first, cells].map(u32::to_le_bytes).concat());
        doc.put(8, outer)
    }));
    // Of one length: nine texts of nine bytes.
    let ids = (0..9).map(|at| format!("\"é text {at}\"")).collect::<Vec<_>>().join(",");
    let fixed = Bytes::json(&format!("[{ids}]"));
    let at = fixed.data();
    let text = fixed.word(at + 16 + 12);
    assert_eq!((fixed.0[fixed.word(8) + 1], fixed.0[at + 1]), (TextRun as u8, 1));
    assert_eq!((fixed.word(at + 4), fixed.word(at + 16 + 4)), (9, 81));
    all.push(("BadCount_run_length_0", fixed.clone().put(at + 4, 0)));
    all.push(("BadCount_run_length", fixed.clone().put(at + 4, 8)));
    all.push(("BadCount_run_texts", fixed.clone().put(36, 8).put(40, 8)));
    all.push(("BadText_run_of_one_length", fixed.clone().set(text + 2, &[0xFF])));
    let within = fixed.clone().set(text + 8, "é ".as_bytes());
    all.push(("BadText_run_length_in_character", within));
    all.push(("NotZero_run_of_one_length_slack", fixed.set(text + 81, &[1])));
    let gap = Bytes::json(&format!("[null,{ids}]"));
    let text = gap.word(gap.data() + 16 + 12);
    assert_eq!(gap.part(text, 10), [&[0; 9][..], &[0xC3]].concat());
    all.push(("NotZero_run_gap", gap.set(text + 8, &[1])));
    // A tensor's numbers of an array without a value.
    let (_, doc) = tensors().into_iter().find(|(name, _)| *name == "rows_nullable").unwrap();
    let rows = Bytes(doc.to_vec());
    let at = rows.word(rows.column(0) + 12);
    let numbers = rows.word(at + 16 + 12);
    assert_eq!(rows.part(numbers + 16, 8), [0; 8]);
    all.push(("NotZero_gap_tensor", rows.set(numbers + 23, &[0x80])));
}

fn nesting(all: All<'_>) {
    let of = |text: &str, levels: usize| Bytes::json(text).within(levels);
    let empty = Bytes::plain("[]");
    all.push(("NestingLimit_arrays", empty.within(1000)));
    all.push(("NestingLimit_object", Bytes::plain("{}").within(1000)));
    all.push(("NestingLimit_column_of_objects", {
        let mut doc = Bytes::array(Objects, 0, 1, 1, &[56, 0, 0, 0, 0, 0, 0, 0]);
        doc.push(&record(0, 0, &[]));
        doc.within(999)
    }));
    let rows = r#"[{"a":1},{"a":2}]"#;
    all.push(("NestingLimit_rows", of(rows, 999)));
    let rows = r#"[{"a":{"b":1}},{"a":{"b":2}}]"#;
    all.push(("NestingLimit_rows_of_rows", of(rows, 998)));
    let list = "[[1,2],[3,4],[5,6],[7,8]]";
    all.push(("NestingLimit_list", of(list, 999)));
    let list = "[[[1],[2,3]],[[4],[5,6]],[[7]],[[8,9,10]]]";
    all.push(("NestingLimit_list_of_lists", of(list, 998)));
    all.push(("NestingLimit_in_rows", of(r#"[{"a":[]},{"a":1}]"#, 998)));
}

/// A map with these keys, as the root.
fn map(keys: &[impl AsRef<str>]) -> Bytes {
    let mut doc = DocBuf::new().unwrap();
    let node = doc.set_root(New::Map { capacity: 0 }).unwrap().unwrap();
    for (value, key) in (0..).zip(keys) {
        doc.set(node, key.as_ref(), value).unwrap();
    }
    Bytes(doc.to_vec())
}

fn keys(count: usize) -> Vec<std::string::String> {
    (0..count).map(|n| format!("k{n:02}")).collect()
}

fn with_tree(keys: &[impl AsRef<str>]) -> Bytes {
    let mut doc = DocBuf::from_bytes_unvalidated(&map(keys).0).unwrap();
    doc.order(doc.root_id().unwrap()).unwrap();
    Bytes(doc.to_vec())
}

fn node(level: u8, items: &[u32]) -> Vec<u8> {
    let mut node = vec![level, items.len() as u8, 0, 0];
    node.extend(items.iter().flat_map(|item| item.to_le_bytes()));
    node.resize(NODE_SIZE as usize, 0);
    node
}

/// A map of two entries with a tree of so many levels.
fn tree_of(levels: u8) -> Bytes {
    let mut doc = with_tree(&keys(2));
    let mut nodes = [0, 1].map(|entry| doc.push(&node(0, &[entry])));
    for level in 1..levels - 1 {
        nodes = nodes.map(|below| doc.push(&node(level, &[below])));
    }
    let root = doc.push(&node(levels - 1, &nodes));
    let map = doc.word(8);
    doc.put(map + MAP_ROOT as usize, root)
}

fn maps(all: All<'_>) {
    let field = |doc: &Bytes, field: u32| doc.word(8) + field as usize;
    let put = |doc: Bytes, at: u32, value: u32| {
        let at = field(&doc, at);
        doc.put(at, value)
    };
    let few = map(&["a", "b", "c"]);
    let at = few.word(8);
    let keys_at = at + MAP_KEYS as usize;
    let key = |number: usize| few.word(keys_at) + 8 * number;
    let (capacity, size) = (few.word(at + MAP_CAPACITY as usize), MAP_SIZE as usize);
    for (name, byte) in [
        ("NotZero_map_header_start", 1),
        ("NotZero_map_header_middle", 3),
        ("NotZero_map_unused_field", MAP_UNUSED as usize),
        ("NotZero_map_unused_field_end", MAP_UNUSED as usize + 3),
    ] {
        all.push((name, few.clone().set(at + byte, &[1])));
    }
    all.push(("BadCount_map_live_less", put(few.clone(), MAP_LIVE, 2)));
    all.push(("BadCount_map_live_more", put(few.clone(), MAP_LIVE, 4)));
    all.push(("BadCount_map_keys_capacity", put(few.clone(), MAP_CAPACITY, 2)));
    all.push(("BadCount_map_buckets_without_block", put(few.clone(), MAP_BUCKETS, 1)));
    all.push(("Misaligned_map", few.clone().misplace(8, size)));
    all.push(("Misaligned_map_keys", few.clone().misplace(keys_at, 8 * capacity)));
    all.push(("OutOfBounds_map_keys", few.clone().put(keys_at, few.used() as u32)));
    all.push(("Overlap_map_keys_at_0", put(few.clone(), MAP_KEYS, 0)));
    // One entry more: a hole, whose value is null.
    let values = at + MAP_VALUES as usize;
    let mut more = few.clone();
    let cells =
        more.push(&[&[TAG_INT, TAG_INT, TAG_INT, TAG_NULL, 0, 0, 0, 0], &[0; 32][..]].concat());
    let four = more.push(&[few.part(key(0), 24), vec![0; 8]].concat());
    more = more.set(values, &header(Cells, 0, 4, 4, cells));
    more = put(put(more, MAP_CAPACITY, 4), MAP_KEYS, four);
    all.push(("BadCount_map_last_is_a_hole", more.clone()));
    // Its key is there, and the one before is not, but has a value.
    let hole = [[0; 8], inline(b"d").to_le_bytes()].concat();
    all.push(("BadCount_map_hole_of_a_value", more.set(four as usize + 16, &hole)));
    all.push(("WrongBlock_map_values_kind", few.clone().set(values, &[KIND_RECORD])));
    all.push(("Overlap_map_header", {
        let mut doc = few.clone();
        let mut cells = vec![TAG_OBJECT, TAG_BYTES, 0, 0, 0, 0, 0, 0];
        cells.extend([at as u64, span(at as u32, 8 | OWNED)].map(u64::to_le_bytes).concat());
        let array = doc.push(&header(Cells, 0, 2, 2, doc.used() as u32 + 16));
        doc.push(&cells);
        doc.put(8, array).set(16, &[TAG_ARRAY])
    }));
    all.push(("Overlap_map_values_and_keys", {
        // Numbers that are the keys.
        let numbers = header(I64, 0, 3, 3, key(0) as u32);
        few.clone().set(values, &numbers)
    }));
    all.push(("WrongBlock_map_values_forward", {
        let mut doc = few.clone();
        let array = doc.part(values, 16);
        let array = doc.push(&array);
        doc.set(values, &[KIND_FORWARD, 0, 0, 0]).put(values + 4, array)
    }));
    assert!(capacity > 3);
    all.push(("NotZero_map_unused_key", few.clone().set(key(3), &[1])));
    all.push(("NotZero_map_last_unused_key", few.clone().set(key(capacity) - 1, &[1])));
    let text = |bytes: &[u8]| few.clone().set(key(1), &inline(bytes).to_le_bytes());
    all.push(("BadText_map_key", text(b"\xFF")));
    all.push(("DuplicateKey_map_of_three", text(b"a")));
    all.push(("BadCell_map_key_behind_inline", text(b"b").set(key(1) + 3, &[1])));
    let mut long = few.clone();
    let shared = long.push(&[b'k'; 1025]);
    let long = long.set(key(1), &span(shared, 1025).to_le_bytes());
    all.push(("BadCell_map_key_of_1025_not_owned", long));
    let empty = map(&[] as &[&str]);
    all.push(("BadCount_map_keys_of_no_room", put(empty.clone(), MAP_KEYS, 32)));
    let mut doc = empty.clone();
    let leaf = doc.push(&node(0, &[0]));
    all.push(("BadCount_map_tree_of_nothing", put(doc, MAP_ROOT, leaf)));
    let mut doc = empty;
    let block = doc.push(&[0; 56]);
    all.push(("BadCount_map_block_of_no_buckets", put(doc, MAP_HASH, block)));
    all.push(("UnsupportedFeature_reserved_node_of_map", few.set(16, &[0x22])));
    trees(all);
    // 17 keys without the block that finds them.
    let hashed = map(&keys(17));
    let bare = put(put(hashed.clone(), MAP_HASH, 0), MAP_BUCKETS, 0);
    all.push(("BadCount_map_of_17_without_index", bare));
    let block = hashed.word(field(&hashed, MAP_HASH));
    let buckets = hashed.word(field(&hashed, MAP_BUCKETS));
    let first = block.next_multiple_of(64);
    // Bytes before and behind the buckets: the block anew, 16 bytes behind a multiple of 64.
    let again = |distance: usize| {
        let mut doc = hashed.clone();
        let size = doc.used().next_multiple_of(64) + distance - doc.used();
        let mut bytes = vec![0; size + 64 * (buckets + 2)];
        let at = doc.used() + size;
        let to = at.next_multiple_of(64) - doc.used();
        bytes[to..to + 64 * buckets].copy_from_slice(&hashed.part(first, 64 * buckets));
        doc.push(&bytes);
        put(doc, MAP_HASH, at as u32)
    };
    all.push(("Misaligned_hash_block", again(20)));
    let moved = again(16);
    let at = moved.word(field(&moved, MAP_HASH));
    all.push(("NotZero_hash_block_before", moved.clone().set(at, &[1])));
    all.push(("NotZero_hash_block_behind", moved.set(at + 64 * buckets + 55, &[1])));
    let bucket = (first..).step_by(64).find(|&at| hashed.0[at + 11] == 0).unwrap();
    let mark = hashed.0[bucket + 12];
    all.push(("NotZero_hash_mark_bit", hashed.clone().set(bucket + 12, &[mark | 0x20])));
    let place = hashed.clone().set(bucket + 11, &[1]);
    all.push(("BadIndex_hash_entry_twice", place.clone()));
    all.push(("BadIndex_hash_entry_in_two_places", {
        let (mark, entry) = (hashed.part(bucket, 1), hashed.word(bucket + 16) as u32);
        hashed.clone().set(bucket + 11, &mark).put(bucket + 60, entry)
    }));
    let beyond = place.put(bucket + 60, 17);
    all.push(("BadIndex_hash_entry_beyond", beyond));
    let beyond = hashed.clone().set(bucket + 12, &[mark | MARK_BEYOND]);
    all.push(("BadIndex_hash_beyond_of_no_tree", beyond));
    // Two maps of the same keys.
    let mut doc = livebuf_json::from_slice(br#"{"a":null,"b":null}"#).unwrap();
    let root = doc.root_id().unwrap();
    for key in ["a", "b"] {
        let node = doc.set(root, key, New::Map { capacity: 0 }).unwrap().unwrap();
        for key in keys(17) {
            doc.set(node, key.as_str(), 1).unwrap();
        }
    }
    let two = Bytes(doc.to_vec());
    let maps = [0, 1].map(|field| two.word(two.word(8) + 16 + 8 * field));
    let same = |field: u32| {
        let [one, other] = maps.map(|map| map + field as usize);
        two.clone().put(other, two.word(one) as u32)
    };
    all.push(("Overlap_hash_blocks", same(MAP_HASH)));
    all.push(("Overlap_map_keys", same(MAP_KEYS)));
    all.push(("Overlap_maps", two.clone().put(two.word(8) + 24, maps[0] as u32)));
}

fn trees(all: All<'_>) {
    let put = |doc: Bytes, root: u32| {
        let map = doc.word(8);
        doc.put(map + MAP_ROOT as usize, root)
    };
    all.push(("BadIndex_tree_of_13_levels", tree_of(13)));
    let two = tree_of(2);
    let root = two.word(two.word(8) + MAP_ROOT as usize);
    let leaves = [two.word(root + 4) as u32, two.word(root + 8) as u32];
    all.push(("Misaligned_tree_root", two.clone().misplace(two.word(8) + MAP_ROOT as usize, 256)));
    all.push(("Misaligned_tree_leaf", two.clone().misplace(root + 8, 256)));
    all.push(("Overlap_tree_nodes", two.clone().put(root + 8, leaves[0])));
    all.push(("OutOfBounds_tree_root", put(two.clone(), two.used() as u32 - 248)));
    all.push(("BadIndex_tree_root_level", two.clone().set(root, &[2])));
    all.push(("BadIndex_tree_leaf_order", {
        two.clone().put(root + 4, leaves[1]).put(root + 8, leaves[0])
    }));
    all.push(("NotZero_tree_unused_item", two.clone().set(root + 12, &[1])));
    let mut doc = two.clone();
    let empty = doc.push(&node(0, &[]));
    let root = doc.push(&node(1, &[leaves[0], leaves[1], empty]));
    all.push(("BadIndex_tree_node_empty", put(doc, root)));
    // One entry in no leaf, another in two.
    let mut doc = with_tree(&keys(3));
    let leaf = doc.push(&node(0, &[0, 2]));
    all.push(("BadCount_tree_lacks_an_entry", put(doc, leaf)));
}
