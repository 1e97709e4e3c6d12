//! Deciding which arrays become columns, by what they hold and what that takes.
//!
//! The values of the outermost array wait on the encoder's stack in the order of their
//! text. A plan is made from the outside in: the elements of an array are one column; like
//! objects in it are a struct with a column for each key, arrays in it a list with one
//! column for all their elements, and so on. Each is taken only where it needs no more
//! bytes than records and plain arrays would (`docs/design.md`, "The cost rule").

use super::{
    KeyList, TAG_ABSORBED_ARRAY, TAG_ABSORBED_OBJECT, TAG_WAITING, TAG_WAITING_ARRAY,
    TAG_WAITING_OBJECT,
};
use crate::array::ColumnType;
use crate::layout::*;
use alloc::boxed::Box;
use alloc::vec::Vec;
use hashbrown::HashMap;

/// A place that a row has not: the field is missing.
pub(super) const MISSING: u32 = u32::MAX;
/// A place that a row cannot have, since the value that would hold it is not there.
pub(super) const BLANK: u32 = u32::MAX - 1;

/// Objects of more key lists than this are not alike.
const MOST_LISTS: usize = 4096;

/// How many places the value at `at` takes with all it holds.
#[inline(always)]
pub(super) fn places(tags: &[u8], cells: &[u64], at: usize) -> usize {
    match tags[at] {
        TAG_WAITING_ARRAY | TAG_ABSORBED_ARRAY => 1 + cells[at] as u32 as usize,
        TAG_WAITING_OBJECT | TAG_ABSORBED_OBJECT => match cells[at] >> 32 {
            0 => 1,
            places => 2 + places as usize,
        },
        _ => 1,
    }
}

/// The places of what the container at `at` holds directly.
pub(super) fn children<'t>(
    tags: &'t [u8],
    cells: &'t [u64],
    at: usize,
) -> impl Iterator<Item = usize> + 't {
    let end = at + places(tags, cells, at);
    let head = match tags[at] {
        TAG_WAITING_ARRAY | TAG_ABSORBED_ARRAY => 1,
        _ => 2,
    };
    run(tags, cells, at + head, end)
}

/// The places of the values from `at` to `end`, without what they hold.
#[inline(always)]
pub(super) fn run<'t>(
    tags: &'t [u8],
    cells: &'t [u64],
    mut at: usize,
    end: usize,
) -> impl Iterator<Item = usize> + 't {
    core::iter::from_fn(move || {
        (at < end).then(|| {
            let here = at;
            at += places(tags, cells, at);
            here
        })
    })
}

const NULL: u8 = 1;
const BOOL: u8 = 2;
const INT: u8 = 4;
const FLOAT: u8 = 8;
const TEXT: u8 = 16;
const OBJECT: u8 = 32;
const ARRAY: u8 = 64;
const OTHER: u8 = 128;

/// What a column's values have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summary {
    /// Slots, with and without a value.
    pub(super) count: u32,
    /// Slots where a row has no such field.
    missing: u32,
    kinds: u8,
    low: i64,
    high: i64,
    /// There are integers above `i64`.
    large: bool,
    /// Four bytes hold all floats.
    single: bool,
}

impl Default for Summary {
    fn default() -> Self {
        let (low, high) = (i64::MAX, i64::MIN);
        Summary { count: 0, missing: 0, kinds: 0, low, high, large: false, single: true }
    }
}

/// A column without structs and lists: what it is, which gaps it has, bytes of its data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub(super) column: ColumnType,
    pub(super) gaps: u8,
    pub(super) size: u64,
}

impl Summary {
    #[inline(always)]
    pub(super) fn add(&mut self, tag: u8, cell: u64) {
        self.count += 1;
        self.kinds |= match tag {
            TAG_NULL => NULL,
            TAG_FALSE | TAG_TRUE => BOOL,
            TAG_INT => {
                self.low = self.low.min(cell as i64);
                self.high = self.high.max(cell as i64);
                INT
            }
            TAG_UINT => {
                self.large = true;
                INT
            }
            TAG_FLOAT => {
                self.single = self.single && ColumnType::F32.fit(TAG_FLOAT, cell).is_some();
                FLOAT
            }
            TAG_STRING | TAG_WAITING => TEXT,
            TAG_OBJECT | TAG_WAITING_OBJECT => OBJECT,
            TAG_ARRAY | TAG_WAITING_ARRAY => ARRAY,
            _ => OTHER,
        };
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
        match self.kinds & !NULL {
            0 if self.gaps() != GAPS_NONE => Null,
            BOOL => Bool,
            INT if self.large => {
                let negative = self.low < 0;
                if negative { Cells } else { U64 }
            }
            INT => {
                let holds = |column: &ColumnType| {
                    column.integers().is_some_and(|(least, most)| {
                        least <= self.low as i128
                            && self.high as i128 <= most
                            && column.width() >= min_width as u64
                    })
                };
                [I8, U8, I16, U16, I32, U32].into_iter().find(holds).unwrap_or(I64)
            }
            FLOAT if self.single && min_width <= 4 => F32,
            FLOAT => F64,
            TEXT => String,
            OBJECT => Objects,
            ARRAY => Arrays,
            _ => Cells,
        }
    }

    /// The smallest column without structs and lists.
    pub(super) fn leaf(&self, min_width: u8) -> Leaf {
        let (column, gaps) = (self.typed(min_width), self.gaps());
        let size = gaps_size(gaps, self.count as u64) + column.data_size(self.count);
        let tagged = tagged_size(self.count as u64);
        if column == ColumnType::Cells || size > tagged {
            return Leaf { column: ColumnType::Cells, gaps: GAPS_NONE, size: tagged };
        }
        Leaf { column, gaps, size }
    }
}

/// The places of a column's values.
#[derive(Debug)]
pub(super) enum Places {
    /// One behind the other from here.
    Run(u32, u32),
    Each(Vec<u32>),
}

impl Places {
    pub(super) fn len(&self) -> usize {
        match self {
            Places::Run(_, count) => *count as usize,
            Places::Each(places) => places.len(),
        }
    }

    #[inline(always)]
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let (run, each) = match self {
            Places::Run(start, count) => (*start..*start + *count, &[][..]),
            Places::Each(places) => (0..0, places.as_slice()),
        };
        run.chain(each.iter().copied())
    }
}

/// How a column is to be laid out.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) column: ColumnType,
    pub(super) gaps: u8,
    /// Bytes behind the column's header, text and shapes of others apart.
    pub(super) size: u64,
    pub(super) places: Places,
    pub(super) below: Below,
}

/// What a column's header leads to beside its own slots.
#[derive(Debug)]
pub(super) enum Below {
    Nothing,
    /// A table: its keys' numbers, and its columns.
    Table(Vec<u32>, Vec<Plan>),
    /// A list: its elements' column, and the column of the offsets where lengths differ.
    List(Box<Plan>, Option<ColumnType>),
}

pub(super) struct Planner<'e> {
    pub(super) tags: &'e [u8],
    pub(super) cells: &'e [u64],
    pub(super) lists: &'e [KeyList],
    pub(super) min_width: u8,
    pub(super) tables: bool,
}

impl Planner<'_> {
    /// The plan for the values from `start` to `end` as one array's column.
    pub(super) fn array(&self, start: usize, end: usize) -> Plan {
        let mut summary = Summary::default();
        for at in run(self.tags, self.cells, start, end) {
            summary.add(self.tags[at], self.cells[at]);
        }
        let count = summary.count;
        let nested = summary.kinds & (OBJECT | ARRAY) != 0;
        if !nested && count as usize == end - start {
            return self.plain(self.leaf(&summary), Places::Run(start as u32, count));
        }
        let mut places = Vec::with_capacity(count as usize);
        places.extend(run(self.tags, self.cells, start, end).map(|at| at as u32));
        self.column(places, 0)
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

    fn plain(&self, leaf: Leaf, places: Places) -> Plan {
        let Leaf { column, gaps, size } = leaf;
        Plan { column, gaps, size, places, below: Below::Nothing }
    }

    /// The smallest plan for these values, `depth` structs and lists around them.
    fn column(&self, places: Vec<u32>, depth: usize) -> Plan {
        let (mut summary, mut plain) = (Summary::default(), 0);
        for &place in &places {
            if place < BLANK {
                let at = place as usize;
                let (tag, cell) = (self.tags[at], self.cells[at]);
                summary.add(tag, cell);
                match tag {
                    TAG_WAITING_ARRAY => plain += cell >> 32,
                    TAG_WAITING_OBJECT if cell >> 32 == 0 => plain += record_size(0) as u64,
                    TAG_WAITING_OBJECT => plain += self.cells[at + 1],
                    _ => {}
                }
            } else {
                summary.count += 1;
                summary.missing += (place == MISSING) as u32;
            }
        }
        let leaf = self.leaf(&summary);
        let nested = match summary.kinds & !NULL {
            _ if depth == MAX_COLUMN_DEPTH || !self.tables || places.len() < 2 => None,
            OBJECT => self.table(&places, depth),
            ARRAY => self.list(&places, depth),
            _ => None,
        };
        let gaps = summary.gaps();
        let bits = gaps_size(gaps, places.len() as u64);
        match nested {
            Some((column, size, below)) if bits + size <= leaf.size + plain => {
                let places = Places::Each(places);
                Plan { column, gaps, size: bits + size, places, below }
            }
            _ => {
                let leaf = Leaf { size: leaf.size + plain, ..leaf };
                self.plain(leaf, Places::Each(places))
            }
        }
    }

    // --- structs ------------------------------------------------------------

    fn table(&self, rows: &[u32], depth: usize) -> Option<(ColumnType, u64, Below)> {
        // A map among the objects has no key list.
        let lists = self.key_lists(rows)?;
        let (keys, orders) = match lists.as_slice() {
            [only] => (self.path(*only), Vec::new()),
            _ => self.merge(&lists)?,
        };
        let (count, width) = (rows.len(), keys.len());
        let fields = |row: u32| self.lists[self.cells[row as usize] as u32 as usize].depth as usize;
        let filled: usize =
            rows.iter().filter(|&&row| self.is_object(row)).map(|&row| fields(row)).sum();
        // Keys that few rows have make wide tables of nothing.
        if width == 0 || width > MAX_FIELDS || 4 * filled < count * width {
            return None;
        }
        let mut columns: Vec<Vec<u32>> = Vec::with_capacity(width);
        columns.resize_with(width, || alloc::vec![MISSING; count]);
        let number: HashMap<u32, usize> =
            lists.iter().enumerate().map(|(number, &list)| (list, number)).collect();
        let mut latest = (u32::MAX, &[][..]);
        for (index, &row) in rows.iter().enumerate() {
            if !self.is_object(row) {
                columns.iter_mut().for_each(|column| column[index] = BLANK);
                continue;
            }
            let at = row as usize;
            let list = self.cells[at] as u32;
            if orders.is_empty() {
                if list != 0 {
                    let fields = children(self.tags, self.cells, at);
                    columns
                        .iter_mut()
                        .zip(fields)
                        .for_each(|(column, at)| column[index] = at as u32);
                }
                continue;
            }
            if list != latest.0 {
                latest = (list, orders[*number.get(&list)?].as_slice());
            }
            if !latest.1.is_empty() {
                let fields = children(self.tags, self.cells, at);
                for (&column, at) in latest.1.iter().zip(fields) {
                    columns[column as usize][index] = at as u32;
                }
            }
        }
        let shape = if orders.is_empty() { 0 } else { shape_size(width as u32) as u64 };
        let mut size = table_size(width as u32) as u64 + shape;
        let mut plans = Vec::with_capacity(width);
        for places in columns {
            let plan = self.column(places, depth + 1);
            size += plan.size;
            plans.push(plan);
        }
        Some((ColumnType::Struct, size, Below::Table(keys, plans)))
    }

    fn is_object(&self, place: u32) -> bool {
        place < BLANK && self.tags[place as usize] == TAG_WAITING_OBJECT
    }

    /// The different key lists of objects, in the order in which they are met; `None`
    /// where there is a map.
    fn key_lists(&self, rows: &[u32]) -> Option<Vec<u32>> {
        let (mut lists, mut latest) = (Vec::new(), u32::MAX);
        let mut met = hashbrown::HashSet::new();
        for &row in rows.iter().filter(|&&row| row < BLANK) {
            let at = row as usize;
            match self.tags[at] {
                TAG_NULL => continue,
                TAG_WAITING_OBJECT => {}
                _ => return None,
            }
            let list = self.cells[at] as u32;
            if list != latest {
                latest = list;
                if met.insert(list) {
                    lists.push(list);
                }
                if lists.len() > MOST_LISTS {
                    return None;
                }
            }
        }
        Some(lists)
    }

    /// The keys' numbers of a key list.
    fn path(&self, list: u32) -> Vec<u32> {
        let mut node = self.lists[list as usize];
        let mut keys = Vec::with_capacity(node.depth as usize);
        while node.depth > 0 {
            keys.push(node.key);
            node = self.lists[node.parent as usize];
        }
        keys.reverse();
        keys
    }

    /// Key lists as one that has the order of each, and the place of each one's keys in it.
    /// Of keys whose order is free, the one met first comes first. `None` where orders
    /// contradict each other or keys are too many.
    fn merge(&self, lists: &[u32]) -> Option<(Vec<u32>, Vec<Vec<u8>>)> {
        let (mut keys, mut numbers) = (Vec::new(), HashMap::new());
        let mut orders = Vec::with_capacity(lists.len());
        for &list in lists {
            let mut order = Vec::new();
            for key in self.path(list) {
                let number = *numbers.entry(key).or_insert_with(|| {
                    keys.push(key);
                    keys.len() - 1
                });
                if number >= MAX_FIELDS {
                    return None;
                }
                order.push(number as u8);
            }
            orders.push(order);
        }
        // Kahn's algorithm; each key is followed by those behind it in some list.
        let count = keys.len();
        let mut followers = alloc::vec![[0u64; 4]; count];
        let mut before = alloc::vec![0u32; count];
        for order in &orders {
            for pair in order.windows(2) {
                let (from, to) = (pair[0] as usize, pair[1] as usize);
                let (word, bit) = (to / 64, 1 << (to % 64));
                if followers[from][word] & bit == 0 {
                    followers[from][word] |= bit;
                    before[to] += 1;
                }
            }
        }
        let mut place = alloc::vec![u8::MAX; count];
        let mut merged = Vec::with_capacity(count);
        while merged.len() < count {
            let next = (0..count).find(|&key| before[key] == 0)?;
            before[next] = u32::MAX;
            place[next] = merged.len() as u8;
            merged.push(keys[next]);
            for (to, before) in before.iter_mut().enumerate() {
                if followers[next][to / 64] >> (to % 64) & 1 == 1 {
                    *before -= 1;
                }
            }
        }
        for order in &mut orders {
            order.iter_mut().for_each(|key| *key = place[*key as usize]);
        }
        Some((merged, orders))
    }

    // --- lists --------------------------------------------------------------

    fn list(&self, rows: &[u32], depth: usize) -> Option<(ColumnType, u64, Below)> {
        let is_array = |row: u32| row < BLANK && self.tags[row as usize] == TAG_WAITING_ARRAY;
        // An array that was laid out already cannot be part of a list.
        if rows.iter().any(|&row| row < BLANK && self.tags[row as usize] == TAG_ARRAY) {
            return None;
        }
        let mut elements = Vec::new();
        let (mut length, mut uniform) = (None, true);
        for &row in rows.iter().filter(|&&row| is_array(row)) {
            let before = elements.len();
            elements.extend(children(self.tags, self.cells, row as usize).map(|at| at as u32));
            let count = elements.len() - before;
            uniform = uniform && *length.get_or_insert(count) == count;
        }
        let length = length.filter(|&length| uniform && length > 0);
        let absent = rows.iter().filter(|&&row| !is_array(row)).count();
        let Some(length) = length.filter(|&length| absent * length <= elements.len()) else {
            if elements.is_empty() && rows.len() < 4 {
                return None;
            }
            let offsets = match elements.len() {
                0..=0xFF => ColumnType::U8,
                0x100..=0xFFFF => ColumnType::U16,
                _ => ColumnType::U32,
            };
            let child = self.column(elements, depth + 1);
            let size = LIST_SIZE as u64 + offsets.data_size(rows.len() as u32 + 1) + child.size;
            return Some((ColumnType::List, size, Below::List(Box::new(child), Some(offsets))));
        };
        if absent > 0 {
            let mut with_blanks = Vec::with_capacity(rows.len() * length);
            let mut taken = elements.chunks_exact(length);
            for &row in rows {
                match is_array(row).then(|| taken.next()).flatten() {
                    Some(chunk) => with_blanks.extend_from_slice(chunk),
                    None => with_blanks.resize(with_blanks.len() + length, BLANK),
                }
            }
            elements = with_blanks;
        }
        let child = self.column(elements, depth + 1);
        let size = FIXED_LIST_SIZE as u64 + child.size;
        Some((ColumnType::FixedList, size, Below::List(Box::new(child), None)))
    }
}
