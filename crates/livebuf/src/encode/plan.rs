//! Deciding which arrays become columns, by their values and by the size of each layout.
//!
//! The values of the outermost array wait on the encoder's stack in the order of their
//! text. A plan is made from the outside in. The elements of an array are one column.
//! Similar objects in it are a struct, with a column for each key. Arrays in it are a list,
//! with one column for all their elements; and so on. Each is taken only where it needs no
//! more bytes than records and plain arrays (`docs/design.md`, "The cost rule").

use super::hash_index::HashIndex;
use super::keys::{KeyList, path};
use super::room::make_room_for;
use super::stack::{
    CellRun, TAG_LOOSE, TAG_LOOSE_UUID, TAG_TENSOR, TAG_WAITING, TAG_WAITING_ARRAY,
    TAG_WAITING_OBJECT, children, run,
};
use super::tensors::Tensors;
use super::texts::Texts;
use crate::block::column_type::{ColumnType, Numbers, is_f32};
use crate::block::map;
use crate::block::offsets::offsets_column;
use crate::block::shape::is_wide;
use crate::block::tensor::Form;
use crate::error::Result;
use crate::format::bytes::round_up;
use crate::format::cell::{inline_span, span_inline, span_length};
use crate::format::layout::*;
use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use hashbrown::HashMap;

/// The place of a member that a row's object does not have, or of one below a row or array that is
/// not there: the slot is missing.
pub(super) const MISSING: u32 = u32::MAX;

/// Objects of more key lists than this are not alike, nor are those whose lists have more keys
/// together.
const MOST_LISTS: usize = 4096;
const MOST_LISTED: usize = 1 << 20;

/// Rows of more columns have no orders of their own: a column's place is a byte of text.
const MAX_ORDERED: usize = 128;

const NULL: u16 = 1;
const BOOL: u16 = 2;
const INT: u16 = 4;
const FLOAT: u16 = 8;
const TEXT: u16 = 16;
const OBJECT: u16 = 32;
const ARRAY: u16 = 64;
const OTHER: u16 = 128;
const DATE: u16 = 256;
const TIME: u16 = 512;
const DATE_TIME: u16 = 1024;
const TIMESTAMP: u16 = 2048;
const DECIMAL: u16 = 4096;
const UUID: u16 = 8192;
const TENSOR: u16 = 16384;

/// Bytes of an object of so many members that is no row: of a record, or else of a map.
pub(super) fn object_size(members: u32) -> u64 {
    match is_wide(members) {
        true => {
            let hash = hash_size(map::encoded_buckets(members));
            map::create_size(members) + hash
        }
        false => record_size(members).into(),
    }
}

/// What a column's values have in common.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Summary {
    /// Slots, with and without a value.
    pub(super) count: u32,
    /// Slots where a row has no such field.
    missing: u32,
    /// Slots that hold a UUID.
    uuids: u32,
    kinds: u16,
    numbers: Numbers,
}

/// A column without structs and lists: its type, its gaps, and what it costs: the bytes of its
/// data, but for those of UUIDs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub(super) column: ColumnType,
    pub(super) gaps: u8,
    pub(super) size: u64,
}

/// The kind of each tag.
const KINDS: [u16; 256] = {
    let mut kinds = [OTHER; 256];
    kinds[TAG_NULL as usize] = NULL;
    kinds[TAG_FALSE as usize] = BOOL;
    kinds[TAG_TRUE as usize] = BOOL;
    kinds[TAG_INT as usize] = INT;
    kinds[TAG_UINT as usize] = INT;
    kinds[TAG_FLOAT as usize] = FLOAT;
    kinds[TAG_STRING as usize] = TEXT;
    kinds[TAG_WAITING as usize] = TEXT;
    kinds[TAG_LOOSE as usize] = TEXT;
    kinds[TAG_DATE as usize] = DATE;
    kinds[TAG_TIME as usize] = TIME;
    kinds[TAG_DATE_TIME as usize] = DATE_TIME;
    kinds[TAG_TIMESTAMP as usize] = TIMESTAMP;
    kinds[TAG_DECIMAL as usize] = DECIMAL;
    // Only a UUID that waits can be in a column of UUIDs. One that is written already is `OTHER`.
    kinds[TAG_LOOSE_UUID as usize] = UUID;
    kinds[TAG_OBJECT as usize] = OBJECT;
    kinds[TAG_WAITING_OBJECT as usize] = OBJECT;
    kinds[TAG_ARRAY as usize] = ARRAY;
    kinds[TAG_WAITING_ARRAY as usize] = ARRAY;
    kinds[TAG_TENSOR as usize] = TENSOR;
    kinds
};

impl Summary {
    #[inline]
    pub(super) fn add(&mut self, tag: u8, cell: u64) {
        self.count += 1;
        let kind = KINDS[tag as usize];
        self.kinds |= kind;
        if kind & (INT | FLOAT) != 0 {
            self.numbers.add(tag, cell);
        } else if kind == UUID {
            self.uuids += 1;
        }
    }

    /// Adds them all.
    pub(super) fn add_all(&mut self, tags: &[u8], cells: &[u64]) {
        let kinds = tags.iter().fold(0, |kinds, &tag| kinds | KINDS[tag as usize]);
        if kinds & (INT | FLOAT | UUID) != 0 {
            return tags.iter().zip(cells).for_each(|(&tag, &cell)| self.add(tag, cell));
        }
        self.count += tags.len() as u32;
        self.kinds |= kinds;
    }

    /// The summary of `count` containers of one kind, which have this tag, and of nothing else.
    pub(super) fn containers(tag: u8, count: u32) -> Self {
        Summary { count, kinds: KINDS[tag as usize], ..Summary::default() }
    }

    fn gaps(&self) -> u8 {
        match (self.kinds & NULL != 0, self.missing > 0) {
            (false, false) => GAPS_NONE,
            (true, false) => GAPS_NULL,
            (false, true) => GAPS_MISSING,
            (true, true) => GAPS_BOTH,
        }
    }

    fn typed(&self, min_width: u8) -> ColumnType {
        use ColumnType::*;
        let Numbers { low, high, large, single, .. } = self.numbers;
        const NUMBERS: u16 = INT | FLOAT;
        const ARRAYS: u16 = ARRAY | TENSOR;
        match self.kinds & !NULL {
            0 if self.gaps() != GAPS_NONE => Null,
            BOOL => Bool,
            INT if large => {
                let negative = low < 0;
                if negative { Cells } else { U64 }
            }
            INT => {
                let magnitude = (low ^ low >> 63) | (high ^ high >> 63);
                let bits = 64 - magnitude.leading_zeros();
                let width =
                    |bits: u32| bits.max(8 * u32::from(min_width).max(1)).next_power_of_two();
                // Without a bit for the sign only where that makes it narrower.
                let (signed, unsigned) = (width(bits + 1), width(bits));
                match (signed, low >= 0 && unsigned < signed) {
                    (8, _) => I8,
                    (16, true) => U8,
                    (16, false) => I16,
                    (32, true) => U16,
                    (32, false) => I32,
                    (64, true) => U32,
                    _ => I64,
                }
            }
            FLOAT if single && min_width <= 4 => F32,
            FLOAT => F64,
            NUMBERS => self.numbers.column(min_width).unwrap_or(Cells),
            TEXT => String,
            OBJECT => Objects,
            ARRAY | TENSOR | ARRAYS => Arrays,
            DATE => Date,
            TIME => Time,
            DATE_TIME => DateTime,
            TIMESTAMP => Timestamp,
            DECIMAL => Decimal,
            UUID => Uuid,
            _ => Cells,
        }
    }

    /// The column of UUIDs, or cells where these are smaller. The bytes of a UUID itself cost
    /// nothing, as text does.
    #[cold]
    fn uuids(&self, gaps: u8) -> Leaf {
        let absent = u64::from(self.count - self.uuids);
        let size = gaps_size(gaps, self.count as u64) + absent * UUID_SIZE as u64;
        let tagged = tagged_size(self.count as u64);
        match size > tagged {
            true => Leaf { column: ColumnType::Cells, gaps: GAPS_NONE, size: tagged },
            false => Leaf { column: ColumnType::Uuid, gaps, size },
        }
    }

    /// Bytes of an array of these values by itself, without structs and lists.
    pub(super) fn array_size(&self, min_width: u8) -> u64 {
        ARRAY_SIZE as u64 + self.leaf(min_width).size
    }

    /// The same of an array of these values. Arrays of few floats or texts are many: their sizes
    /// need no summary.
    #[inline]
    pub(super) fn size_of_array(tags: &[u8], cells: &[u64], min_width: u8) -> u64 {
        let count = tags.len() as u64;
        let are = |kind| tags.iter().all(|&tag| KINDS[tag as usize] == kind);
        match tags.first().map(|&tag| KINDS[tag as usize]) {
            None => ARRAY_SIZE as u64,
            Some(TEXT) if are(TEXT) => ARRAY_SIZE as u64 + 8 * count,
            Some(FLOAT) if are(FLOAT) && !is_f32(cells[0]) => ARRAY_SIZE as u64 + 8 * count,
            _ => {
                let mut summary = Summary::default();
                tags.iter().zip(cells).for_each(|(&tag, &cell)| summary.add(tag, cell));
                summary.array_size(min_width)
            }
        }
    }

    /// Bits that each of these values takes at least, in an array with any of the others.
    pub(super) fn least_bits(&self) -> u64 {
        match self.kinds {
            // The bytes of UUIDs cost nothing.
            kinds if kinds & UUID != 0 => 0,
            TEXT => 64,
            FLOAT => 32,
            INT => 8,
            _ => 1,
        }
    }

    /// The smallest column without structs and lists.
    pub(super) fn leaf(&self, min_width: u8) -> Leaf {
        let (column, gaps) = (self.typed(min_width), self.gaps());
        let width = column.width();
        if column == ColumnType::Uuid {
            return self.uuids(gaps);
        }
        if gaps == GAPS_NONE && width > 0 {
            // No wider than tagged cells.
            return Leaf { column, gaps, size: column.data_size(self.count) };
        }
        let size = gaps_size(gaps, self.count as u64) + column.data_size(self.count);
        let tagged = tagged_size(self.count as u64);
        if column == ColumnType::Cells || size > tagged {
            return Leaf { column: ColumnType::Cells, gaps: GAPS_NONE, size: tagged };
        }
        Leaf { column, gaps, size }
    }
}

/// The places of a column's values.
#[derive(Clone, Copy, Debug)]
pub(super) enum Places {
    /// Places of values that lie one behind the other: the first one, and their count.
    Run(u32, u32),
    /// Places in the planner's list: the index of the first one there, and their count.
    Listed(usize, u32),
    /// All values of a column of rows that were taken apart (`shred`): its number there, and their
    /// count.
    Shredded(u32, u32),
}

impl Places {
    pub(super) fn len(self) -> u32 {
        match self {
            Places::Run(_, count) | Places::Listed(_, count) | Places::Shredded(_, count) => count,
        }
    }

    /// The places themselves, where they are in the planner's list; else none.
    pub(super) fn listed(self, list: &[u32]) -> &[u32] {
        match self {
            Places::Run(..) | Places::Shredded(..) => &[],
            Places::Listed(from, count) => &list[from..from + count as usize],
        }
    }
}

/// A column's values as they are met: rows are gone through once, since they are many.
#[derive(Clone, Copy, Default)]
pub(super) struct Gathered {
    pub(super) summary: Summary,
    /// Bytes of the containers among them as records and plain arrays.
    pub(super) plain: u64,
}

/// How a column is to be laid out.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) column: ColumnType,
    pub(super) gaps: u8,
    /// Bytes behind the column's header, text and shapes of others apart.
    pub(super) size: u64,
    pub(super) places: Places,
    /// Containers wait in it, or below it, that are no part of columns.
    pub(super) waits: bool,
    pub(super) below: Below,
}

/// What a column's header leads to beside its own slots.
#[derive(Debug)]
pub(super) enum Below {
    Nothing,
    /// A table: its keys' numbers, and its columns. One more column has the orders of rows.
    Table(Vec<u32>, Vec<Plan>),
    /// A list: its elements' column, and where lengths differ the column of the offsets
    /// and where each array ends.
    List(Box<Plan>, Option<(ColumnType, Vec<u32>)>),
    /// The different texts of a dictionary, and each slot's code.
    Dictionary(Dictionary),
    /// A run: where lengths differ the column of its offsets, and how many bytes it has.
    Run(Option<ColumnType>, u32),
    /// The lists of tensors of one form, and their numbers.
    Tensors(Form),
}

/// Whether a slot of texts has one.
#[inline]
fn is_there(tag: u8) -> bool {
    tag != TAG_NULL && tag != TAG_HOLE
}

/// Texts and their codes.
#[derive(Debug)]
pub(super) struct Dictionary {
    /// Tag and cell of each text.
    pub(super) texts: Vec<(u8, u64)>,
    /// The code of each slot; 0 where it has no value.
    pub(super) codes: Vec<u16>,
}

/// Slots below which a column gets no dictionary.
const LEAST_CODES: u32 = 8;
const MOST_TEXTS: u64 = 1 << 16;
/// A dictionary of at most so many texts is searched, and there is room for them at once.
const FEW_TEXTS: usize = 16;

impl Dictionary {
    /// The dictionary of these values, and how many slots have each text. `None` where it would
    /// take more than `size` bytes, or cannot be had (PROFILE 6). Texts that seem to be `alone` are
    /// counted, before they get codes for nothing.
    fn of(
        size: u64,
        alone: bool,
        run: CellRun<'_>,
        texts: &Texts,
        codes: &mut HashIndex,
    ) -> Option<(Dictionary, Vec<u32>)> {
        let count = run.tags.len();
        let most = size.checked_sub(ColumnType::DictionaryU8.data_size(count as u32))? / 8;
        let most = most.min(MOST_TEXTS) as usize;
        if alone && run.values().filter(|&value| texts.is_single(value)).nth(most).is_some() {
            return None;
        }
        let room = Vec::with_capacity(most.min(FEW_TEXTS));
        let mut dictionary = Dictionary { texts: room, codes: Vec::new() };
        let (mut slots, mut absent) = (alloc::vec![0; count], 0);
        codes.clear();
        // Some codes, by a few bits of their texts' cells: most texts that repeat are found so.
        let mut near = [0u16; 64];
        // The latest text and its code. No text has this cell.
        let (mut latest, mut code) = (u64::MAX, 0);
        for ((tag, cell), slot) in run.values().zip(&mut slots) {
            if !is_there(tag) {
                absent += 1;
                continue;
            }
            if cell != latest {
                latest = cell;
                let near = &mut near[(cell.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize];
                if !dictionary.has(*near, cell) {
                    let is_single = texts.is_single((tag, cell));
                    *near = dictionary.code(tag, cell, is_single, most, codes)?;
                }
                code = *near;
            }
            *slot = code;
        }
        let mut uses = alloc::vec![0; dictionary.texts.len()];
        for &code in &slots {
            if let Some(uses) = uses.get_mut(usize::from(code)) {
                *uses += 1;
            }
        }
        // Slots without a value have the code 0.
        if let Some(uses) = uses.first_mut() {
            *uses -= absent;
        }
        dictionary.codes = slots;
        Some((dictionary, uses))
    }

    /// Whether this is the code of the text with this cell. A waiting text's cell is its number,
    /// so it differs from all spans.
    #[inline]
    fn has(&self, code: u16, cell: u64) -> bool {
        self.texts.get(usize::from(code)).is_some_and(|text| text.1 == cell)
    }

    /// The code of a text. `None` where it is the first one too many, or too long, or memory is
    /// refused: then there is no dictionary.
    #[inline(never)]
    fn code(
        &mut self,
        tag: u8,
        cell: u64,
        is_single: bool,
        most: usize,
        codes: &mut HashIndex,
    ) -> Option<u16> {
        // Single texts are not searched.
        if is_single {
            return self.add(tag, cell, most);
        }
        if most <= FEW_TEXTS {
            return match self.texts.iter().position(|text| text.1 == cell) {
                Some(code) => Some(code as u16),
                None => self.add(tag, cell, most),
            };
        }
        codes.make_room().ok()?;
        let hash = codes.hash(cell);
        match codes.find(hash, |code| self.has(code as u16, cell)) {
            Ok(code) => Some(code as u16),
            Err(place) => {
                let code = self.add(tag, cell, most)?;
                codes.put(place, hash, code.into());
                Some(code)
            }
        }
    }

    /// The code of a text that is met for the first time. `None` where there are `most` already,
    /// or the text is too long.
    fn add(&mut self, tag: u8, cell: u64, most: usize) -> Option<u16> {
        let next = self.texts.len();
        let long = tag == TAG_LOOSE || tag == TAG_STRING && span_inline(cell).is_none();
        let long = long && span_length(cell) > MAX_SHARED;
        if long || next >= most {
            return None;
        }
        self.texts.push((tag, cell));
        Some(next as u16)
    }

    /// Bytes of the codes, and of the texts' header and cells.
    fn size(&self) -> (ColumnType, u64) {
        let column = match self.texts.len() {
            0..=0x100 => ColumnType::DictionaryU8,
            _ => ColumnType::DictionaryU16,
        };
        (column, column.data_size(self.codes.len() as u32) + 8 * self.texts.len() as u64)
    }
}

/// No struct, list, dictionary or run takes less.
const LEAST_BELOW: u64 = FIXED_LIST_SIZE as u64;

/// A struct or list column, its own bitmaps apart.
pub(super) struct Nested {
    column: ColumnType,
    pub(super) size: u64,
    below: Below,
}

pub(super) struct Planner<'e> {
    pub(super) tags: &'e [u8],
    pub(super) cells: &'e [u64],
    pub(super) lists: &'e [KeyList],
    pub(super) texts: &'e mut Texts,
    /// The codes of a dictionary's texts, by their cells.
    pub(super) codes: &'e mut HashIndex,
    pub(super) tensors: &'e Tensors,
    pub(super) min_width: u8,
    pub(super) tables: bool,
    /// The places of all columns' values.
    pub(super) places: &'e mut Vec<u32>,
}

impl Planner<'_> {
    /// The plan for the values from `start` to `end` as one array's column.
    pub(super) fn array(&mut self, start: usize, end: usize) -> Result<Plan> {
        let mut values = Gathered::default();
        for at in run(self.tags, self.cells, start, end) {
            values.add(self.tags, self.cells, at);
        }
        let count = values.summary.count;
        // Without tables nothing waits.
        let nested = self.tables && values.summary.kinds & (OBJECT | ARRAY | TENSOR) != 0;
        if !nested && count as usize == end - start {
            let plan = self.plain(&values, Places::Run(start as u32, count));
            let run = CellRun { tags: &self.tags[start..end], cells: &self.cells[start..end] };
            return Ok(match self.may_be_text(&values.summary) {
                true => self.text(plan, &values.summary, run),
                false => plan,
            });
        }
        let from = self.places.len();
        make_room_for(self.places, count as usize)?;
        self.places.extend(run(self.tags, self.cells, start, end).map(|at| at as u32));
        Ok(self.column(values, from, 0))
    }

    /// The column without structs and lists; without tables there are no gaps either.
    fn leaf(&self, summary: &Summary) -> Leaf {
        let leaf = summary.leaf(self.min_width);
        if self.tables || leaf.gaps == GAPS_NONE {
            return leaf;
        }
        let size = tagged_size(summary.count as u64);
        Leaf { column: ColumnType::Cells, gaps: GAPS_NONE, size }
    }

    /// A column without structs and lists.
    pub(super) fn plain(&self, values: &Gathered, places: Places) -> Plan {
        let Leaf { column, gaps, size } = self.leaf(&values.summary);
        let waits = self.tables && values.summary.kinds & (OBJECT | ARRAY | TENSOR) != 0;
        let size = size + values.plain;
        Plan { column, gaps, size, places, waits, below: Below::Nothing }
    }

    /// Whether a column of these values may be a dictionary or a run: all of them are texts.
    pub(super) fn may_be_text(&self, summary: &Summary) -> bool {
        summary.kinds & !NULL == TEXT && summary.count >= LEAST_CODES && self.tables
    }

    /// The plan of a dictionary or a run, where it takes fewer bytes than `plan`; else `plan`
    /// itself. `slots`: the texts.
    pub(super) fn text(&mut self, plan: Plan, summary: &Summary, slots: CellRun<'_>) -> Plan {
        let (gaps, count) = (summary.gaps(), summary.count);
        let bits = gaps_size(gaps, count as u64);
        let smaller = |column: ColumnType, size: u64, below: Below, plan: Plan| {
            let size = bits + size;
            match size < plan.size {
                true => Plan { column, gaps, size, below, ..plan },
                false => plan,
            }
        };
        let texts = &*self.texts;
        let each = || Self::run(texts, count, slots.values().map(|value| (value, 1)));
        let mut most = plan.size.saturating_sub(bits);
        // Of texts that do not seem to repeat, a run is smaller as a rule, and quickly measured.
        let mut first = slots.values().filter(|&(tag, _)| is_there(tag)).take(LEAST_CODES as usize);
        let alone = first.all(|value| texts.is_single(value));
        let mut run = if alone { each() } else { None };
        if let Some((_, size, _)) = run {
            most = most.min(size);
        }
        let dictionary = Dictionary::of(most, alone, slots, texts, self.codes);
        let plan = match dictionary {
            Some((dictionary, uses)) => {
                // No text is measured twice.
                let each = || Self::run(texts, count, dictionary.texts.iter().copied().zip(uses));
                run = run.or_else(each);
                let (column, size) = dictionary.size();
                smaller(column, size, Below::Dictionary(dictionary), plan)
            }
            None => {
                run = run.or_else(each);
                plan
            }
        };
        match run {
            Some((offsets, size, bytes)) => {
                smaller(ColumnType::TextRun, size, Below::Run(offsets, bytes), plan)
            }
            None => plan,
        }
    }

    /// Measures a run of so many values: the column of its offsets if lengths differ, its size, and
    /// its bytes. Text that takes bytes of its own in a cell, too, does not count as size. `None`
    /// if a text is too long. `values`: each, and how often it is there.
    fn run(
        texts: &Texts,
        count: u32,
        mut values: impl Iterator<Item = ((u8, u64), u32)>,
    ) -> Option<(Option<ColumnType>, u64, u32)> {
        let (mut bytes, mut more, mut there) = (0, 0, 0);
        let (mut first, mut uniform) = (None, true);
        values.try_for_each(|((tag, cell), times)| {
            if is_there(tag) {
                let (length, apart) = texts.measure(tag, cell)?;
                let all = u64::from(length) * u64::from(times);
                bytes += all;
                more += if apart { 0 } else { all };
                there += times;
                uniform &= *first.get_or_insert(length) == length;
                return (length <= MAX_SHARED).then_some(());
            }
            Some(())
        })?;
        let absent = u64::from(count - there) * u64::from(first.unwrap_or(0));
        let (offsets, size) = if uniform && bytes > 0 && absent <= bytes {
            bytes += absent;
            (None, u64::from(FIXED_LIST_SIZE) + absent)
        } else {
            let offsets = offsets_column(bytes);
            (Some(offsets), u64::from(LIST_SIZE) + offsets.data_size(count + 1))
        };
        let size = size + more + round_up(bytes) - bytes;
        let bytes = u32::try_from(bytes).ok().filter(|&bytes| bytes <= MAX_SPAN)?;
        Some((offsets, size, bytes))
    }

    /// The smallest plan for these values, whose places are listed from `from` on, with
    /// `depth` structs and lists around them.
    fn column(&mut self, mut values: Gathered, from: usize, depth: usize) -> Plan {
        let places = Places::Listed(from, values.summary.count);
        let end = self.places.len();
        if values.summary.kinds & TENSOR != 0 {
            values.plain += self.tensors_in(places).map(Form::array_size).sum::<u64>();
        }
        let plain = self.plain(&values, places);
        let nested = match values.summary.kinds & !NULL {
            _ if !self.may_nest(&values.summary, depth) => None,
            OBJECT => self.table(places, depth, plain.size),
            ARRAY => self.list(places, depth),
            TENSOR => self.tensors(places, depth),
            _ => None,
        };
        let plan = self.smaller(plain, &values.summary, nested);
        if matches!(plan.below, Below::Nothing) {
            self.places.truncate(end);
        }
        if !self.may_be_text(&values.summary) {
            return plan;
        }
        let listed = places.listed(self.places).iter();
        let texts = listed.map(|&at| match at {
            MISSING.. => (TAG_HOLE, 0),
            at => (self.tags[at as usize], self.cells[at as usize]),
        });
        let (tags, cells): (Vec<u8>, Vec<u64>) = texts.unzip();
        self.text(plan, &values.summary, CellRun { tags: &tags, cells: &cells })
    }

    /// Whether these values may become a struct or list with so many around it.
    pub(super) fn may_nest(&self, summary: &Summary, depth: usize) -> bool {
        depth < MAX_COLUMN_DEPTH && self.tables && summary.count >= 2
    }

    /// The struct or list, if it can be had and is no larger than the plain column.
    pub(super) fn smaller(&self, plain: Plan, summary: &Summary, nested: Option<Nested>) -> Plan {
        let (gaps, places) = (summary.gaps(), plain.places);
        let bits = gaps_size(gaps, summary.count as u64);
        let fits = |nested: &Nested| bits + nested.size <= plain.size;
        let Some(Nested { column, size, below }) = nested.filter(fits) else {
            return plain;
        };
        let waits = match &below {
            Below::Nothing | Below::Dictionary(_) | Below::Run(..) | Below::Tensors(_) => false,
            Below::Table(_, columns) => columns.iter().any(|column| column.waits),
            Below::List(child, _) => child.waits,
        };
        Plan { column, gaps, size: bits + size, places, waits, below }
    }

    // --- structs ------------------------------------------------------------

    /// The struct of these objects. `None` if it would take more than `size` bytes.
    fn table(&mut self, rows: Places, depth: usize, size: u64) -> Option<Nested> {
        let (tags, cells) = (self.tags, self.cells);
        // A map among the objects has no key list.
        let (lists, numbers) = self.key_lists(rows)?;
        let count = rows.len() as usize;
        let fields = |row: u32| self.lists[cells[row as usize] as u32 as usize].depth as usize;
        let is_object = |row: u32| row < MISSING && tags[row as usize] == TAG_WAITING_OBJECT;
        let objects = rows.listed(self.places).iter().filter(|&&row| is_object(row));
        let filled: usize = objects.map(|&row| fields(row)).sum();
        // Keys that few rows have make wide tables of nothing.
        let most = (4 * filled / count).min(MAX_COLUMNS);
        let (keys, orders) = match lists.as_slice() {
            [only] => (self.path(*only), Vec::new()),
            _ => self.merge(&lists, most)?,
        };
        let width = keys.len();
        let mut least = table_size(width as u32) as u64;
        if !orders.is_empty() {
            least += shape_size(width as u32) as u64;
        }
        if width == 0 || width > most || least > size {
            return None;
        }
        let from = self.places.len();
        self.places.resize(from + width * count, MISSING);
        let (above, below) = self.places.split_at_mut(from);
        let mut columns = alloc::vec![Gathered::default(); width];
        let mut latest = (u32::MAX, &[][..]);
        for (index, &row) in rows.listed(above).iter().enumerate() {
            if !is_object(row) {
                continue;
            }
            let at = row as usize;
            let list = cells[at] as u32;
            let fields = children(tags, cells, at);
            if orders.is_empty() {
                let places = below[index..].iter_mut().step_by(count);
                for ((column, place), at) in columns.iter_mut().zip(places).zip(fields) {
                    *place = at as u32;
                    column.add(tags, cells, at);
                }
                continue;
            }
            if list != latest.0 {
                latest = (list, orders[*numbers.get(&list)?].as_slice());
            }
            for (&column, at) in latest.1.iter().zip(fields) {
                below[column as usize * count + index] = at as u32;
                columns[column as usize].add(tags, cells, at);
            }
        }
        for values in &mut columns {
            values.summary.missing = count as u32 - values.summary.count;
            values.summary.count = count as u32;
        }
        // What the columns take at least, so that those of no use are not planned.
        least += columns.iter().map(|values| self.least(values)).sum::<u64>();
        let mut plans = Vec::with_capacity(width);
        for (values, column) in columns.into_iter().zip(0..) {
            if least > size {
                return None;
            }
            least -= self.least(&values);
            plans.push(self.column(values, from + column * count, depth + 1));
            least += plans[column].size;
        }
        let agree = orders.iter().all(|order| order.is_sorted());
        let own = if agree { None } else { Some(self.orders(rows, &orders, &numbers)?) };
        Some(Self::struct_of(keys, plans, !orders.is_empty(), own))
    }

    /// Bytes that a column of these values takes at least.
    fn least(&self, values: &Gathered) -> u64 {
        let size = self.leaf(&values.summary).size + values.plain;
        match values.summary.kinds & !NULL {
            TEXT if values.summary.count < LEAST_CODES => size,
            TEXT | OBJECT | ARRAY | TENSOR => size.min(LEAST_BELOW),
            _ => size,
        }
    }

    /// The column with the orders of those rows that have their members in another order than that
    /// of the columns: a dictionary. `orders` has the columns of each list's keys.
    fn orders(
        &mut self,
        rows: Places,
        orders: &[Vec<u16>],
        numbers: &HashMap<u32, usize>,
    ) -> Option<Plan> {
        let Places::Listed(first, count) = rows else { return None };
        let (mut texts, mut text_size) = (Vec::new(), 0);
        let mut codes = Vec::with_capacity(orders.len());
        for order in orders {
            codes.push((!order.is_sorted()).then_some(texts.len() as u16));
            if order.is_sorted() {
                continue;
            }
            // Such tables have few columns.
            let order: Vec<u8> = order.iter().map(|&column| column as u8).collect();
            texts.push(if order.len() <= MAX_INLINE {
                (TAG_STRING, inline_span(&order))
            } else {
                text_size += order.len() as u64;
                (TAG_LOOSE, self.texts.keep(&order, &Limits::default()).ok()?)
            });
        }
        let mut dictionary = Dictionary { texts, codes: Vec::with_capacity(count as usize) };
        let (from, mut missing) = (self.places.len(), false);
        for index in first..first + count as usize {
            let row = self.places[index];
            let is_object = row < MISSING && self.tags[row as usize] == TAG_WAITING_OBJECT;
            let code = match is_object {
                true => codes[*numbers.get(&(self.cells[row as usize] as u32))?],
                false => None,
            };
            missing |= code.is_none();
            self.places.push(if code.is_some() { row } else { MISSING });
            dictionary.codes.push(code.unwrap_or(0));
        }
        let gaps = if missing { GAPS_MISSING } else { GAPS_NONE };
        let (column, size) = dictionary.size();
        let size = gaps_size(gaps, count.into()) + size + text_size;
        let (places, below) = (Places::Listed(from, count), Below::Dictionary(dictionary));
        Some(Plan { column, gaps, size, places, waits: false, below })
    }

    /// A struct of these columns, whose keys are a list of their own where they were merged.
    pub(super) fn struct_of(
        keys: Vec<u32>,
        mut plans: Vec<Plan>,
        merged: bool,
        orders: Option<Plan>,
    ) -> Nested {
        plans.extend(orders);
        let mut size = table_size(plans.len() as u32) as u64;
        if merged {
            size += shape_size(keys.len() as u32) as u64;
        }
        size += plans.iter().map(|plan| plan.size).sum::<u64>();
        Nested { column: ColumnType::Struct, size, below: Below::Table(keys, plans) }
    }

    /// The different key lists of objects in the order in which they are met, and the
    /// number of each where there are several; `None` where there is a map.
    fn key_lists(&self, rows: Places) -> Option<(Vec<u32>, HashMap<u32, usize>)> {
        let (mut lists, mut numbers, mut latest) = (Vec::new(), HashMap::new(), u32::MAX);
        for &row in rows.listed(self.places).iter().filter(|&&row| row < MISSING) {
            let at = row as usize;
            match self.tags[at] {
                TAG_NULL => continue,
                TAG_WAITING_OBJECT => {}
                _ => return None,
            }
            let list = self.cells[at] as u32;
            if list == latest {
                continue;
            }
            latest = list;
            if lists.is_empty() {
                lists.push(list);
                continue;
            }
            if lists.len() == 1 {
                numbers.insert(lists[0], 0);
            }
            if numbers.try_insert(list, lists.len()).is_ok() {
                lists.push(list);
                if lists.len() > MOST_LISTS {
                    return None;
                }
            }
        }
        let depth = |&list: &u32| usize::from(self.lists[list as usize].depth);
        if lists.len() > 1 && lists.iter().map(depth).sum::<usize>() > MOST_LISTED {
            return None;
        }
        Some((lists, numbers))
    }

    /// The keys' numbers of a key list.
    pub(super) fn path(&self, list: u32) -> Vec<u32> {
        let mut keys = Vec::with_capacity(self.lists[list as usize].depth as usize);
        path(self.lists, list, &mut keys);
        keys
    }

    /// Merges several key lists into one list of all their keys (PROFILE 6). Returns the merged
    /// list, and for each list the places of its keys in the merged one.
    ///
    /// A key comes behind all keys that are before it in some list. Of several keys that could
    /// come next, the one that was met first does. If the lists contradict each other, there may
    /// be no such key. Then the one that was met first of all that are left comes next.
    ///
    /// `None` where there are more than `most` keys, or where more than [`MAX_ORDERED`] are in
    /// lists that contradict each other.
    fn merge(&self, lists: &[u32], most: usize) -> Option<(Vec<u32>, Vec<Vec<u16>>)> {
        let (mut keys, mut numbers) = (Vec::new(), HashMap::new());
        let mut orders = Vec::with_capacity(lists.len());
        for &list in lists {
            let mut order = Vec::new();
            for key in self.path(list) {
                let number = *numbers.entry(key).or_insert_with(|| {
                    keys.push(key);
                    keys.len() - 1
                });
                if number >= most {
                    return None;
                }
                order.push(number as u16);
            }
            orders.push(order);
        }
        // Kahn's algorithm; each key is followed by those behind it in some list. One that is there
        // in several lists counts several times.
        let count = keys.len();
        let mut before = alloc::vec![0u32; count];
        let mut ends = alloc::vec![0u32; count];
        let pairs = || orders.iter().flat_map(|order| order.windows(2));
        for pair in pairs() {
            ends[usize::from(pair[0])] += 1;
            before[usize::from(pair[1])] += 1;
        }
        let mut end = 0;
        for here in &mut ends {
            end += core::mem::replace(here, end);
        }
        let mut followers = alloc::vec![0u16; end as usize];
        for pair in pairs() {
            let next = &mut ends[usize::from(pair[0])];
            followers[*next as usize] = pair[1];
            *next += 1;
        }
        let mut free: BinaryHeap<Reverse<usize>> =
            (0..count).filter(|&key| before[key] == 0).map(Reverse).collect();
        const PLACED: u32 = u32::MAX;
        let mut place = alloc::vec![0u16; count];
        let mut merged = Vec::with_capacity(count);
        while merged.len() < count {
            let next = match free.pop() {
                Some(Reverse(key)) => key,
                None if count > MAX_ORDERED => return None,
                None => (0..count).find(|&key| before[key] != PLACED)?,
            };
            before[next] = PLACED;
            place[next] = merged.len() as u16;
            merged.push(keys[next]);
            let begin = next.checked_sub(1).map_or(0, |other| ends[other]);
            for &to in &followers[begin as usize..ends[next] as usize] {
                let to = usize::from(to);
                if before[to] != PLACED {
                    before[to] -= 1;
                    if before[to] == 0 {
                        free.push(Reverse(to));
                    }
                }
            }
        }
        for order in &mut orders {
            order.iter_mut().for_each(|key| *key = place[usize::from(*key)]);
        }
        Some((merged, orders))
    }

    // --- lists --------------------------------------------------------------

    fn list(&mut self, rows: Places, depth: usize) -> Option<Nested> {
        let (tags, cells) = (self.tags, self.cells);
        let is_array = |row: u32| row < MISSING && tags[row as usize] == TAG_WAITING_ARRAY;
        let listed = rows.listed(self.places);
        // An array that was laid out already cannot be part of a list.
        if listed.iter().any(|&row| row < MISSING && tags[row as usize] == TAG_ARRAY) {
            return None;
        }
        let absent = listed.iter().filter(|&&row| !is_array(row)).count() as u32;
        let Places::Listed(first, row_count) = rows else { return None };
        let from = self.places.len();
        let (mut elements, mut ends) =
            (Gathered::default(), Vec::with_capacity(row_count as usize));
        let (mut length, mut uniform) = (None, true);
        for index in first..first + row_count as usize {
            let row = self.places[index];
            if is_array(row) {
                let before = elements.summary.count;
                for at in children(tags, cells, row as usize) {
                    self.places.push(at as u32);
                    elements.add(tags, cells, at);
                }
                let count = elements.summary.count - before;
                uniform = uniform && *length.get_or_insert(count) == count;
            }
            ends.push(elements.summary.count);
        }
        let count = elements.summary.count;
        let fixed = length.filter(|&length| {
            uniform && length > 0 && absent as u64 * length as u64 <= count as u64
        });
        if let Some(length) = fixed.filter(|_| absent > 0) {
            // Spreads them from the last one on, so that missing ones fit between.
            let length = length as usize;
            let mut end = self.places.len();
            self.places.resize(from + row_count as usize * length, MISSING);
            for row in (0..row_count as usize).rev() {
                let to = from + row * length;
                if is_array(self.places[first + row]) {
                    end -= length;
                    self.places.copy_within(end..end + length, to);
                } else {
                    self.places[to..to + length].fill(MISSING);
                }
            }
            elements.summary.missing = row_count * length as u32 - count;
            elements.summary.count = row_count * length as u32;
        }
        if count == 0 && row_count < 4 {
            return None;
        }
        let child = self.column(elements, from, depth + 1);
        Some(Self::list_of(child, fixed.is_some(), ends))
    }

    /// The tensors at these places.
    fn tensors_in(&self, rows: Places) -> impl Iterator<Item = &Form> {
        let listed = rows.listed(self.places).iter().filter(|&&row| row < MISSING);
        let tensors = listed.filter(|&&row| self.tags[row as usize] == TAG_TENSOR);
        tensors.map(|&row| self.tensors.form(self.cells[row as usize]))
    }

    /// Lists for tensors of one type and shape.
    fn tensors(&self, rows: Places, depth: usize) -> Option<Nested> {
        let mut forms = self.tensors_in(rows);
        let form = *forms.next()?;
        let there = forms.try_fold(1, |there, other| (*other == form).then_some(there + 1u64))?;
        let (count, lists) = (rows.len() as u64, form.lengths().len());
        let numbers = count.saturating_mul(form.count());
        let fits = depth + lists <= MAX_COLUMN_DEPTH && numbers <= MAX_ELEMENTS.into();
        if form.count() == 0 || !fits || count - there > there {
            return None;
        }
        let size = lists as u64 * FIXED_LIST_SIZE as u64 + round_up(count * form.size());
        Some(Nested { column: ColumnType::FixedList, size, below: Below::Tensors(form) })
    }

    /// The list column of arrays whose elements are planned as `child`. `ends` says where each one
    /// ends among the elements, unless all have one length, which is fixed.
    pub(super) fn list_of(child: Plan, is_fixed: bool, ends: Vec<u32>) -> Nested {
        if is_fixed {
            let size = FIXED_LIST_SIZE as u64 + child.size;
            let below = Below::List(Box::new(child), None);
            return Nested { column: ColumnType::FixedList, size, below };
        }
        let offsets = offsets_column(child.places.len().into());
        let size = LIST_SIZE as u64 + offsets.data_size(ends.len() as u32 + 1) + child.size;
        let below = Below::List(Box::new(child), Some((offsets, ends)));
        Nested { column: ColumnType::List, size, below }
    }
}

impl Gathered {
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn add(&mut self, tags: &[u8], cells: &[u64], at: usize) {
        let (tag, cell) = (tags[at], cells[at]);
        self.summary.add(tag, cell);
        if tag >= TAG_WAITING_ARRAY {
            self.plain += match tag {
                TAG_WAITING_ARRAY => cell >> 32,
                _ if cell >> 32 == 0 => record_size(0) as u64,
                _ => cells[at + 1],
            };
        }
    }
}
