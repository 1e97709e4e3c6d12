//! Regions taken apart into fields of up to eight bytes, each with its meaning.
//!
//! Reads only regions that the validator has checked, and still checks every access.

use crate::failure::{counted, grouped};
use livebuf::layout::*;
use livebuf::{
    ColumnType, Date, DateTime, Decimal, Extended, Region, RegionKind, Time, Timestamp, Uuid,
};
use std::collections::HashMap;

/// Bytes that belong together.
pub(super) struct Field {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) meaning: String,
    /// The member or element of the region's container that it is part of.
    pub(super) member: Option<Member>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Member {
    Key(String),
    Index(u64),
}

/// Remembers what headers say about data that lies elsewhere.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    /// What an array's header says, by its data's offset.
    columns: HashMap<u64, Column>,
    /// How many bytes of text a run has, by the offset of the first.
    runs: HashMap<u64, u64>,
    /// That first byte, by the offset of where its texts begin.
    run_offsets: HashMap<u64, u64>,
    /// Of how many entries of a map there are keys, by the keys' offset.
    keys: HashMap<u64, u64>,
}

/// What the header of an array or column says.
#[derive(Clone, Copy)]
struct Column {
    code: u8,
    gaps: u8,
    count: u64,
    capacity: u64,
}

/// The fields of a region, as they are collected.
struct Row {
    at: u64,
    fields: Vec<Field>,
}

impl Row {
    fn add(&mut self, length: u64, meaning: impl Into<String>) -> &mut Field {
        self.member(length, meaning, None)
    }

    /// Adds the bytes before `end`, where there are any.
    fn unused_until(&mut self, end: u64) {
        if self.at < end {
            self.add(end - self.at, "unused");
        }
    }

    fn member(
        &mut self,
        length: u64,
        meaning: impl Into<String>,
        member: Option<Member>,
    ) -> &mut Field {
        let at = self.fields.len();
        self.fields.push(Field { offset: self.at, length, meaning: meaning.into(), member });
        self.at += length;
        &mut self.fields[at]
    }
}

fn at(offset: u64) -> String {
    if offset == 0 { "none".to_owned() } else { format!("at {offset}") }
}

/// Text in quotes, shortened.
fn quoted(bytes: &[u8]) -> String {
    const LONGEST: usize = 40;
    // A character has at most four bytes. Damage may make many texts of the same long bytes.
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * LONGEST + 4)]);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", livebuf_json::quoted(&text[..end])),
        None => livebuf_json::quoted(&text),
    }
}

/// A column's name, as FORMAT 6.1 has it.
pub(crate) fn column_name(code: u8) -> &'static str {
    const NAMES: [&str; 34] = [
        "cells",
        "bool",
        "i8",
        "i16",
        "i32",
        "i64",
        "u8",
        "u16",
        "u32",
        "u64",
        "f32",
        "f64",
        "text",
        "objects",
        "arrays",
        "null",
        "struct",
        "list",
        "list of fixed length",
        "numbers f32",
        "numbers f64",
        "marked f32",
        "marked f64",
        "dictionary u8",
        "dictionary u16",
        "text run",
        "date",
        "time",
        "date and time",
        "timestamp",
        "decimal",
        "uuid",
        "f16",
        "bool8",
    ];
    NAMES.get(code as usize).unwrap_or(&"reserved")
}

/// Bytes of a slot of a column of whole bytes, by its code.
fn slot_width(code: u8) -> Option<u64> {
    Some(match code {
        2 | 6 | 23 | 33 => 1,
        3 | 7 | 24 | 32 => 2,
        4 | 8 | 10 | 13 | 14 | 19 | 21 | 26 => 4,
        31 => UUID_SIZE as u64,
        0 | 1 | 15..=18 | 25 => return None,
        _ => 8,
    })
}

/// What a gaps code says about a column's slots.
fn gaps_name(code: u8) -> &'static str {
    match code {
        GAPS_NULL => ", some null",
        GAPS_MISSING => ", some missing",
        GAPS_BOTH => ", some null or missing",
        _ => "",
    }
}

fn tag_name(tag: u8) -> &'static str {
    match tag {
        TAG_HOLE => "–",
        TAG_NULL => "null",
        TAG_FALSE => "false",
        TAG_TRUE => "true",
        TAG_INT | TAG_UINT => "integer",
        TAG_FLOAT => "float",
        TAG_STRING => "text",
        TAG_BYTES => "bytes",
        TAG_NUMBER => "number text",
        TAG_DATE => "date",
        TAG_TIME => "time",
        TAG_DATE_TIME => "date and time",
        TAG_TIMESTAMP => "timestamp",
        TAG_DECIMAL | TAG_LARGE_DECIMAL => "decimal",
        TAG_UUID => "uuid",
        TAG_OBJECT => "object",
        TAG_ARRAY => "array",
        _ => "reserved",
    }
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let (columns, runs, run_offsets) = (HashMap::new(), HashMap::new(), HashMap::new());
        Fields { bytes, columns, runs, run_offsets, keys: HashMap::new() }
    }

    fn slice(&self, offset: u64, length: u64) -> &'a [u8] {
        let end = usize::try_from(offset.saturating_add(length)).unwrap_or(usize::MAX);
        self.bytes.get(offset as usize..end).unwrap_or(&[])
    }

    fn number(&self, offset: u64, length: u64) -> u64 {
        self.slice(offset, length)
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    fn byte(&self, offset: u64) -> u8 {
        self.number(offset, 1) as u8
    }

    fn word(&self, offset: u64) -> u64 {
        self.number(offset, 4)
    }

    /// Remembers what a header says about data elsewhere.
    pub(super) fn learn(&mut self, region: &Region) {
        let offset = region.offset;
        let word = |at: u32| self.word(offset + u64::from(at));
        match region.kind {
            RegionKind::Array if region.length == u64::from(ARRAY_SIZE) => {
                self.learn_column(offset);
            }
            RegionKind::Table => {
                let form = self.byte(offset + u64::from(NESTED_FORM));
                let columns = word(TABLE_COLUMNS) as u16;
                for index in 0..u32::from(columns) + u32::from(form) {
                    self.learn_column(offset + u64::from(table_column(index)));
                }
            }
            RegionKind::List => {
                self.learn_column(offset + u64::from(LIST_CHILD));
                if region.length == u64::from(LIST_SIZE) {
                    self.learn_column(offset + u64::from(LIST_OFFSETS));
                }
            }
            RegionKind::Map => {
                self.keys.insert(word(MAP_KEYS), word(MAP_VALUES + ARRAY_COUNT));
            }
            _ => {}
        }
    }

    fn learn_column(&mut self, header: u64) {
        let column = self.column(header);
        self.columns.insert(self.data_of(header), column);
        // Only one header lies behind slots. In a damaged document it may seem to lead to others,
        // and back to itself.
        if let Some(behind) = self.behind(header) {
            self.columns.insert(self.data_of(behind), self.column(behind));
        }
        if column.code == 25 {
            let list = self.data_of(header);
            let (bytes, offsets) = (list + u64::from(LIST_CHILD), list + u64::from(LIST_OFFSETS));
            let texts = self.data_of(bytes);
            self.runs.insert(texts, self.column(bytes).count);
            if self.byte(list + u64::from(NESTED_FORM)) == 0 {
                self.run_offsets.insert(self.data_of(offsets), texts);
            }
        }
    }

    /// The header behind the slots of a dictionary, by the header of the column.
    fn behind(&self, header: u64) -> Option<u64> {
        let Column { code, gaps, capacity, .. } = self.column(header);
        let slots = (capacity * slot_width(code).unwrap_or(0)).next_multiple_of(8);
        let data = self.data_of(header);
        matches!(code, 23 | 24).then_some(data + gaps_size(gaps, capacity) + slots)
    }

    /// The data that a header leads to.
    fn data_of(&self, header: u64) -> u64 {
        self.word(header + u64::from(ARRAY_DATA))
    }

    /// How many bytes of a region, from its first on, are text.
    pub(super) fn text_of(&self, region: &Region) -> Option<u64> {
        let run = self.runs.get(&region.offset).map(|&count| count.min(region.length));
        match region.kind {
            RegionKind::Text | RegionKind::SharedText => run.or(Some(region.length)),
            RegionKind::Data => run,
            _ => None,
        }
    }

    fn column(&self, header: u64) -> Column {
        Column {
            code: self.byte(header + u64::from(ARRAY_COLUMN)),
            gaps: self.byte(header + u64::from(ARRAY_GAPS)),
            count: self.word(header + u64::from(ARRAY_COUNT)),
            capacity: self.word(header + u64::from(ARRAY_CAPACITY)),
        }
    }

    /// The fields of a region, from its first byte on. Text has none: it is printed as it is.
    pub(super) fn of(&self, region: &Region) -> Vec<Field> {
        let mut row = Row { at: region.offset, fields: Vec::new() };
        let offset = region.offset;
        match region.kind {
            RegionKind::Header => self.header(&mut row),
            RegionKind::Aux => self.aux(&mut row, offset),
            RegionKind::Free => {
                let next = match self.word(offset) {
                    0 => "the last of its class".to_owned(),
                    next => format!("next of its class at {next}"),
                };
                let size = grouped(self.word(offset + u64::from(FREE_SIZE)));
                row.add(8, format!("{next}; size {size}"));
            }
            RegionKind::Shape => self.shape(&mut row, offset),
            RegionKind::Record => self.record(&mut row, offset),
            RegionKind::Forward => {
                row.add(8, format!("forward: the block is at {}", self.word(offset + 4)));
            }
            RegionKind::Map => self.map(&mut row, offset),
            RegionKind::Keys => self.keys(&mut row, region),
            RegionKind::Node => self.node(&mut row, offset),
            RegionKind::Hash => self.hash(&mut row, region),
            RegionKind::Array => self.column_header(&mut row, ""),
            RegionKind::Data => self.data(&mut row, region),
            RegionKind::Table => self.table(&mut row, offset),
            RegionKind::List => self.list(&mut row, region),
            RegionKind::Bitmap => bits(&mut row, region.length, "has a value, or is null"),
            _ => {}
        }
        row.fields
    }

    fn header(&self, row: &mut Row) {
        let flag = |at: u32| self.byte(u64::from(at));
        let word = |at: u32| self.word(u64::from(at));
        let flags = [HEADER_REFUSE_FLAGS, HEADER_READ_ONLY_FLAGS, HEADER_IGNORE_FLAGS].map(flag);
        let flags = match flags {
            [0, 0, 0] => "no flags".to_owned(),
            [refuse, read_only, ignore] => {
                format!(
                    "flags: refuse {refuse:02x}, read-only {read_only:02x}, ignore {ignore:02x}"
                )
            }
        };
        let tag = flag(HEADER_ROOT_TAG);
        row.add(8, format!("magic, version {}, {flags}", flag(HEADER_VERSION)));
        row.add(8, format!("root cell: {}", self.value(tag, u64::from(HEADER_ROOT_CELL))));
        let used = grouped(word(HEADER_USED));
        row.add(8, format!("root tag: {}; used {used}", tag_name(tag)));
        let (shape, aux) = (word(HEADER_NEWEST_SHAPE), word(HEADER_AUX));
        row.add(8, format!("newest shape {}; aux {}", at(shape), at(aux)));
    }

    fn aux(&self, row: &mut Row, offset: u64) {
        let word = |at: u32| self.word(offset + u64::from(at));
        let classes = self.byte(offset + u64::from(AUX_CLASSES));
        let free = counted(word(AUX_FREE_BYTES), "byte");
        let known = counted(classes.into(), "class");
        row.add(8, format!("{known}; {free} in the free list"));
        let (blocks, freed) = (counted(word(AUX_FREE_BLOCKS), "block"), word(AUX_FREED));
        row.add(8, format!("{blocks} in the free list; {freed} freed since merged"));
        row.add(8, "revision, extension directory: reserved");
        for class in 0..u32::from(classes) {
            let head = at(word(AUX_HEADS + 4 * class));
            row.add(4, format!("class {class}, from {}: {head}", counted(8 << class, "byte")));
        }
    }

    /// A span cell: where its bytes are, and the bytes.
    fn span(&self, position: u64) -> (String, &'a [u8]) {
        let length = self.word(position + 4) as u32;
        if length & SPAN_INLINE != 0 {
            let length = u64::from(length >> 24 & 0x7F);
            return ("inline".to_owned(), self.slice(position, length));
        }
        let owned = if length & SPAN_OWNED != 0 { ", owned" } else { "" };
        let (offset, length) = (self.word(position), u64::from(length & MAX_SPAN));
        let place = format!("at {offset}, {}{owned}", counted(length, "byte"));
        (place, self.slice(offset, length))
    }

    /// The value of a cell, as text.
    fn value(&self, tag: u8, cell: u64) -> String {
        let number = self.number(cell, 8);
        match tag {
            TAG_HOLE if number == 0 => "unused".to_owned(),
            TAG_NULL | TAG_FALSE | TAG_TRUE => tag_name(tag).to_owned(),
            TAG_INT => format!("integer {}", number as i64),
            TAG_UINT => format!("integer {number}"),
            TAG_FLOAT => format!("float {:?}", f64::from_bits(number)),
            TAG_STRING | TAG_NUMBER => {
                let (place, text) = self.span(cell);
                format!("{} {}, {place}", tag_name(tag), quoted(text))
            }
            TAG_BYTES => format!("bytes, {}", self.span(cell).0),
            TAG_DECIMAL..=TAG_DATE_TIME => shown(tag, immediate(tag, number)),
            TAG_UUID | TAG_LARGE_DECIMAL => {
                let (place, bytes) = self.span(cell);
                format!("{}, {place}", shown(tag, spanned(bytes)))
            }
            TAG_OBJECT | TAG_ARRAY => format!("{} at {}", tag_name(tag), self.word(cell)),
            _ => format!("tag {tag:02x}"),
        }
    }

    fn shape(&self, row: &mut Row, offset: u64) {
        let flags = self.byte(offset + u64::from(SHAPE_FLAGS));
        let private = if flags & SHAPE_PRIVATE != 0 { ", private" } else { "" };
        let older = at(self.word(offset + u64::from(SHAPE_OLDER)));
        let capacity = self.shape_capacity(offset);
        let count = if self.byte(offset) == KIND_WIDE_SHAPE {
            row.add(8, format!("wide{private}; older shape {older}"));
            row.add(8, counted(capacity.into(), "key"));
            for group in 0..capacity.div_ceil(4) {
                let places = 4 * group..capacity.min(4 * group + 4);
                let numbers = places.map(|place| {
                    let place = u64::from(WIDE_SHAPE_ORDER + 2 * place);
                    self.number(offset + place, 2).to_string()
                });
                row.add(8, format!("in order: {}", numbers.collect::<Vec<_>>().join(", ")));
            }
            capacity
        } else {
            let count = u32::from(self.byte(offset + 2));
            row.add(8, format!("capacity {capacity}, count {count}{private}; older shape {older}"));
            for _ in 0..capacity.div_ceil(8) {
                row.add(8, "fingerprints");
            }
            count
        };
        for index in 0..capacity {
            let meaning = if index < count {
                let (place, key) = self.span(row.at);
                format!("key {index}: {}, {place}", quoted(key))
            } else {
                "unused".to_owned()
            };
            row.add(8, meaning);
        }
    }

    /// How many keys a shape has room for.
    fn shape_capacity(&self, shape: u64) -> u32 {
        match self.byte(shape) {
            KIND_WIDE_SHAPE => self.word(shape + u64::from(WIDE_SHAPE_COUNT)) as u32,
            _ => self.byte(shape + 1).into(),
        }
    }

    /// Key `index` of the shape at `shape`.
    fn key(&self, shape: u64, index: u32) -> &'a [u8] {
        let keys = u64::from(shape_keys(self.shape_capacity(shape)));
        self.span(shape + keys + 8 * u64::from(index)).1
    }

    fn record(&self, row: &mut Row, offset: u64) {
        let [capacity, used, live] = [1, 2, 3].map(|at| self.byte(offset + at));
        let shape = self.word(offset + 4);
        row.add(8, format!("capacity {capacity}, used {used}, live {live}; shape {}", at(shape)));
        self.tagged(row, u64::from(capacity), u64::from(used), |index| {
            let key = self.key(shape, index as u32);
            (quoted(key), Member::Key(String::from_utf8_lossy(key).into_owned()))
        });
    }

    /// Tagged cells (FORMAT 3.4), each with its name.
    fn tagged(
        &self,
        row: &mut Row,
        capacity: u64,
        used: u64,
        name: impl Fn(u64) -> (String, Member),
    ) {
        for first in (0..capacity).step_by(8) {
            let tags = row.at;
            let group = used.saturating_sub(first).min(8);
            self.tags(row, group);
            for index in first..capacity.min(first + 8) {
                if index >= used {
                    row.add(8, "unused");
                    continue;
                }
                let tag = self.byte(tags + index % 8);
                let (name, member) = name(index);
                let value = match tag {
                    TAG_HOLE => "hole".to_owned(),
                    _ => self.value(tag, row.at),
                };
                row.member(8, format!("{name}: {value}"), Some(member));
            }
        }
    }

    fn tags(&self, row: &mut Row, used: u64) {
        let names: Vec<_> = self.slice(row.at, used).iter().map(|&tag| tag_name(tag)).collect();
        let names = if names.is_empty() { "unused".to_owned() } else { names.join(", ") };
        row.add(8, format!("tags: {names}"));
    }

    fn map(&self, row: &mut Row, offset: u64) {
        let word = |at: u32| self.word(offset + u64::from(at));
        row.add(8, format!("live {}", grouped(word(MAP_LIVE))));
        let (hash, buckets) = (at(word(MAP_HASH)), grouped(word(MAP_BUCKETS)));
        row.add(8, format!("hash block {hash}, buckets {buckets}"));
        row.add(
            8,
            format!("keys {}, capacity {}", at(word(MAP_KEYS)), grouped(word(MAP_CAPACITY))),
        );
        row.add(8, format!("tree {}", at(word(MAP_ROOT))));
    }

    fn hash(&self, row: &mut Row, region: &Region) {
        let first = region.offset.next_multiple_of(BUCKET_SIZE.into());
        row.add(first - region.offset, "unused".to_owned());
        let buckets = (region.offset + region.length - first) / u64::from(BUCKET_SIZE);
        for bucket in 0..buckets {
            let at = row.at;
            let used = self.slice(at, BUCKET_MARK.into()).iter().filter(|&&byte| byte != 0).count();
            row.add(
                12,
                format!("bucket {bucket}: fingerprints of {}", counted(used as u64, "key")),
            );
            row.add(
                4,
                match self.byte(at + u64::from(BUCKET_MARK)) {
                    0 => "all at home".to_owned(),
                    1 => "some in the next bucket".to_owned(),
                    reach @ ..=MARK_REACH => format!("some in the next {reach} buckets"),
                    _ => "some in the tree only".to_owned(),
                },
            );
            let numbers = (0..BUCKET_PLACES).filter(|&slot| self.byte(at + u64::from(slot)) != 0);
            let number = |slot| self.word(at + u64::from(BUCKET_NUMBERS + 4 * slot)).to_string();
            let numbers: Vec<_> = numbers.map(number).collect();
            row.add(48, format!("entries {}", numbers.join(", ")));
        }
        row.add(region.offset + region.length - row.at, "unused".to_owned());
    }

    fn keys(&self, row: &mut Row, region: &Region) {
        let used = self.keys.get(&region.offset).copied().unwrap_or_default();
        for index in 0..region.length / 8 {
            let at = row.at;
            if index >= used || self.slice(at, 8).iter().all(|&byte| byte == 0) {
                let meaning = if index < used { "hole" } else { "unused" };
                row.add(8, format!("entry {index}: {meaning}"));
                continue;
            }
            let (place, key) = self.span(at);
            let member = Some(Member::Key(String::from_utf8_lossy(key).into_owned()));
            row.member(8, format!("entry {index}: key {}, {place}", quoted(key)), member);
        }
    }

    fn node(&self, row: &mut Row, offset: u64) {
        let level = self.byte(offset);
        let count = u64::from(self.byte(offset + u64::from(NODE_COUNT)));
        let what = if level == 0 { "leaf".to_owned() } else { format!("level {level}") };
        row.add(4, format!("{what}, count {count}"));
        for item in 0..u64::from(NODE_ITEMS) {
            let child = self.word(row.at);
            let what = if level == 0 { "entry" } else { "node at" };
            row.add(
                4,
                match item < count {
                    true => format!("item {item}: {what} {child}"),
                    false => "unused".to_owned(),
                },
            );
        }
    }

    /// A column's header, at the next place.
    fn column_header(&self, row: &mut Row, name: &str) {
        let header = row.at;
        let Column { code, gaps, count, capacity } = self.column(header);
        let (kind, gaps, count) = (column_name(code), gaps_name(gaps), grouped(count));
        let tensor = match self.byte(header + u64::from(ARRAY_TENSOR)) {
            1 => ", tensor",
            _ => "",
        };
        row.add(8, format!("{name}column {kind}{tensor}, count {count}{gaps}"));
        let data = at(self.data_of(header));
        row.add(8, format!("capacity {}; data {data}", grouped(capacity)));
    }

    fn table(&self, row: &mut Row, offset: u64) {
        let word = |at: u32| self.word(offset + u64::from(at));
        let columns = word(TABLE_COLUMNS) as u16;
        let shape = word(TABLE_SHAPE);
        let ordered = self.byte(offset + u64::from(NESTED_FORM)) == 1;
        let orders = if ordered { ", with orders" } else { "" };
        row.add(8, format!("table{orders}; shape {}", at(shape)));
        row.add(8, format!("bitmaps {}; {}", at(word(NESTED_BITS)), self.owner(offset)));
        let (extras, width) = (at(word(TABLE_EXTRAS)), counted(columns.into(), "column"));
        row.add(8, format!("further fields {extras}; {width}"));
        for index in 0..u32::from(columns) {
            let name = format!("{}: ", quoted(self.key(shape, index)));
            self.column_header(row, &name);
        }
        if ordered {
            self.column_header(row, "orders of members: ");
        }
    }

    /// The column that a table or list belongs to.
    fn owner(&self, nested: u64) -> String {
        let owner = self.word(nested + u64::from(NESTED_OWNER));
        match self.byte(owner) {
            KIND_TABLE => {
                let column = self.word(nested + u64::from(NESTED_COLUMN)) as u16;
                format!("column {column} of the table at {owner}")
            }
            KIND_LIST => format!("elements of the list at {owner}"),
            _ => format!("of the array at {owner}"),
        }
    }

    fn list(&self, row: &mut Row, region: &Region) {
        let word = |at: u32| self.word(region.offset + u64::from(at));
        let length = match word(LIST_LENGTH) {
            0 => "of any length".to_owned(),
            length => format!("of {length} each"),
        };
        let bytes = self.data_of(region.offset + u64::from(LIST_CHILD));
        let what = if self.runs.contains_key(&bytes) { "texts" } else { "arrays" };
        row.add(8, format!("list of {what} {length}"));
        row.add(8, format!("bitmaps {}; {}", at(word(NESTED_BITS)), self.owner(region.offset)));
        self.column_header(row, "elements: ");
        if region.length == u64::from(LIST_SIZE) {
            self.column_header(row, "offsets: ");
        }
    }

    fn data(&self, row: &mut Row, region: &Region) {
        let Some(&header) = self.columns.get(&region.offset) else { return };
        let Column { code: column, gaps, count, capacity } = header;
        bits(row, gaps_size(gaps, capacity), "has a value, or is null");
        let index = |index: u64| (format!("[{index}]"), Member::Index(index));
        let width = match column {
            0 => {
                return self.tagged(row, capacity, count, index);
            }
            1 => {
                for first in (0..count).step_by(64) {
                    let bits = counted((count - first).min(64), "bit");
                    row.add(8, format!("[{first}] and on: {bits}"));
                }
                return;
            }
            _ => match slot_width(column) {
                Some(width) => width,
                None => return,
            },
        };
        let behind = region.offset + region.length - u64::from(ARRAY_SIZE);
        let texts = self.run_offsets.get(&region.offset);
        for number in 0..count {
            let place = row.at;
            let bits = self.number(place, width.min(8));
            let shift = 64 - 8 * width.min(8);
            let value = match column {
                6..=8 if let Some(texts) = texts => {
                    if number + 1 == count {
                        row.add(width, format!("texts end at {bits}"));
                        continue;
                    }
                    let end = self.number(place + width, width);
                    let text = self.slice(texts + bits, end.saturating_sub(bits));
                    format!("text {}, from {bits}", quoted(text))
                }
                2..=5 => ((bits << shift) as i64 >> shift).to_string(),
                6..=9 => bits.to_string(),
                10 => format!("{:?}", f32::from_bits(bits as u32)),
                11 => format!("{:?}", f64::from_bits(bits)),
                19 | 21 => numeral(ColumnType::NumbersF32, f32::from_bits(bits as u32).into()),
                20 | 22 => numeral(ColumnType::NumbersF64, f64::from_bits(bits)),
                12 => self.value(TAG_STRING, place),
                23 | 24 => format!("text {bits}"),
                13 => format!("object at {bits}"),
                26 => shown(TAG_DATE, immediate(TAG_DATE, bits as i32 as u64)),
                27 => shown(TAG_TIME, immediate(TAG_TIME, bits)),
                28 => shown(TAG_DATE_TIME, immediate(TAG_DATE_TIME, bits)),
                29 => shown(TAG_TIMESTAMP, immediate(TAG_TIMESTAMP, bits)),
                30 => shown(TAG_DECIMAL, immediate(TAG_DECIMAL, bits)),
                31 => shown(TAG_UUID, spanned(self.slice(place, width))),
                _ => format!("array at {bits}"),
            };
            row.member(width, format!("[{number}]: {value}"), Some(Member::Index(number)));
        }
        if let 23 | 24 = column {
            row.unused_until(behind);
            self.column_header(row, "texts: ");
        }
        if let 21 | 22 = column {
            let marks = region.offset + region.length - bitmap_size(capacity);
            row.unused_until(marks);
            bits(row, bitmap_size(capacity), "is a float, though whole");
        }
    }
}

/// A value that JSON lacks, after the name of its kind.
fn shown(tag: u8, value: Option<Extended>) -> String {
    match value {
        Some(value) => format!("{} {value}", tag_name(tag)),
        None => format!("{}, damaged", tag_name(tag)),
    }
}

/// The value of an immediate cell.
fn immediate(tag: u8, bits: u64) -> Option<Extended> {
    let number = bits as i64;
    Some(match tag {
        TAG_DATE => Date::from_days(i32::try_from(number).ok()?)?.into(),
        TAG_TIME => Time::from_microseconds(number)?.into(),
        TAG_DATE_TIME => DateTime::from_microseconds(number)?.into(),
        TAG_TIMESTAMP => Timestamp::from_microseconds(number)?.into(),
        _ => Decimal::new((number >> 8).into(), bits as u8)?.into(),
    })
}

/// The value of a span: a UUID, or a large decimal.
fn spanned(bytes: &[u8]) -> Option<Extended> {
    if let Ok(bytes) = bytes.try_into() {
        return Some(Uuid::from_bytes(bytes).into());
    }
    let (coefficient, scale) = bytes.split_first_chunk()?;
    Some(Decimal::new(i128::from_le_bytes(*coefficient), *scale.first()?)?.into())
}

/// A number of a column of numbers, by its bits alone: a mark may say that it is a float.
fn numeral(column: ColumnType, value: f64) -> String {
    match column.integer(value) {
        Some(value) => value.to_string(),
        None => format!("{value:?}"),
    }
}

/// Words of a bitmap.
fn bits(row: &mut Row, length: u64, meaning: &str) {
    for first in (0..length * 8).step_by(64) {
        row.add(8, format!("bits {first} and on: {meaning}"));
    }
}

/// Joins narrow fields to lines of at most `width` bytes, and neighbouring unused fields to
/// one.
pub(super) fn joined(fields: Vec<Field>, width: u64) -> Vec<Field> {
    let mut lines: Vec<Field> = Vec::new();
    for field in fields {
        if let Some(line) = lines.last_mut() {
            let unused = line.meaning == "unused" && field.meaning == "unused";
            let same_line =
                field.offset / width == line.offset / width && line.length + field.length <= width;
            if unused || same_line {
                line.length += field.length;
                if !unused {
                    line.meaning = format!("{}, {}", line.meaning, field.meaning);
                }
                continue;
            }
        }
        lines.push(field);
    }
    lines
}
