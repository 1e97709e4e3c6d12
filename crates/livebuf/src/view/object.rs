//! Objects as users see them: records, rows of tables and maps answer alike.

use super::key::KeyPlace;
use super::{Bound, Key, Lookup, Mode, Value};
use crate::block::column::{Elements, row_of};
use crate::block::column_type::ColumnType;
use crate::block::map;
use crate::block::record::{Block, Raw, Record, tagged};
use crate::block::shape::{Shape, find_column, is_wide};
use crate::block::table::{Table, slot_at};
use crate::block::walk::Node;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::check;
use crate::format::cell::Needle;
use crate::format::layout::*;
use core::ops::Bound as Limit;
use core::ops::RangeBounds;

/// An object: members in insertion order, found by key.
///
/// ```
/// let doc = livebuf::json!({"driver": "Ada", "lap": 55});
/// let object = doc.valid()?.root().as_object().unwrap();
/// assert_eq!(object.len(), 2);
/// assert_eq!(object.get("lap").unwrap(), 55);
/// for (key, value) in &object {
///     println!("{key}: {value:?}");
/// }
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Object<'a, M> {
    bytes: &'a [u8],
    body: Body,
    mode: M,
}

#[derive(Clone, Copy)]
enum Body {
    Record(Record),
    Map(StoredMap),
    Row(Row),
}

/// A map whose used entries lie in the document.
#[derive(Clone, Copy)]
struct StoredMap {
    offset: u32,
    keys: map::Keys,
    used: u32,
    live: u32,
    cells: Option<map::Cells>,
}

impl StoredMap {
    #[inline]
    fn value(self, bytes: &[u8], number: u32) -> Result<Raw> {
        match self.cells {
            Some(cells) if number < self.used => match self.keys.is_live(bytes, number)? {
                true => cells.value(bytes, number),
                false => Ok(Raw::HOLE),
            },
            _ => self.value_elsewhere(bytes, number),
        }
    }

    #[cold]
    #[inline(never)]
    fn value_elsewhere(self, bytes: &[u8], number: u32) -> Result<Raw> {
        map::Map::load(bytes, self.offset.into())?.value(bytes, number)
    }
}

/// A row of a table.
#[derive(Clone, Copy)]
struct Row {
    table: u32,
    row: u32,
    shape: u32,
    columns: u16,
    /// Some rows of the table have further fields.
    extras: bool,
    /// Some rows of the table have an order of their own.
    ordered: bool,
}

impl Row {
    #[inline]
    fn new(table: Table, row: u32) -> Row {
        let Table { offset, shape, columns, extras, ordered, .. } = table;
        Row { table: offset, row, shape, columns: columns as u16, extras: extras != 0, ordered }
    }

    #[inline]
    fn columns(&self) -> u32 {
        self.columns as u32
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn field(&self, bytes: &[u8], index: u32) -> Result<Raw> {
        Elements::one(bytes, self.table.wrapping_add(table_column(index)), self.row)
    }

    /// The order of the members; empty where it is that of the columns.
    #[inline]
    fn order<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8]> {
        if !self.ordered {
            return Ok(&[]);
        }
        Table::load(bytes, self.table)?.order(bytes, self.row)
    }

    /// The object with the further fields: a record or map, never a row.
    fn extra<'a, M: Mode>(&self, mode: M, bytes: &'a [u8]) -> Result<Option<Object<'a, M>>> {
        if !self.extras {
            return Ok(None);
        }
        match Table::load(bytes, self.table)?.extra(bytes, self.row)? {
            0 => Ok(None),
            home => Object::of(mode, bytes, home as u64).map(Some),
        }
    }
}

impl<'a, M: Mode> Object<'a, M> {
    /// The object that a node's cell leads to.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn of(mode: M, bytes: &'a [u8], cell: u64) -> Result<Self> {
        if row_of(cell).is_some() {
            return Object::row(mode, bytes, cell);
        }
        let block = Block::resolve(bytes, cell as u32)?;
        match block.kind() {
            KIND_RECORD => Object::record(mode, bytes, block),
            KIND_MAP => Object::map(mode, bytes, block.offset),
            _ => Err(block.unexpected()),
        }
    }

    /// The record in a block.
    #[inline]
    pub(super) fn record(mode: M, bytes: &'a [u8], block: Block) -> Result<Self> {
        Ok(Object::new(mode, bytes, Body::Record(block.record()?)))
    }

    pub(super) fn from_node(mode: M, bytes: &'a [u8], node: Node) -> Result<Self> {
        match node {
            Node::Record(record) => Ok(Object::new(mode, bytes, Body::Record(record))),
            Node::Map(offset) => Object::map(mode, bytes, offset),
            Node::Row(table, row) => Ok(Object::new(mode, bytes, Body::Row(Row::new(table, row)))),
            Node::Array(elements) => Err(Error::new(ErrorKind::WrongBlock, elements.offset as u64)),
        }
    }

    #[inline]
    fn new(mode: M, bytes: &'a [u8], body: Body) -> Self {
        Object { bytes, body, mode }
    }

    #[inline]
    fn map(mode: M, bytes: &'a [u8], offset: u32) -> Result<Self> {
        let map = map::Map::load(bytes, offset as u64)?;
        check(bytes, map.keys.0 as u64, map::keys_size(map.used))?;
        let map::Map { keys, used, live, cells, .. } = map;
        Ok(Object::new(mode, bytes, Body::Map(StoredMap { offset, keys, used, live, cells })))
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn row(mode: M, bytes: &'a [u8], cell: u64) -> Result<Self> {
        let table = Table::load(bytes, cell as u32)?;
        let row = row_of(cell).unwrap_or(0);
        if row >= table.rows {
            return Err(Error::new(ErrorKind::BadCount, table.offset as u64));
        }
        Ok(Object::new(mode, bytes, Body::Row(Row::new(table, row))))
    }

    /// Count of members. Of a row of a table: counted, O(columns).
    #[inline]
    pub fn len(&self) -> usize {
        match self.body {
            Body::Record(record) => record.live() as usize,
            Body::Map(map) => map.live as usize,
            Body::Row(row) => self.count_fields(row),
        }
    }

    #[inline(never)]
    fn count_fields(&self, row: Row) -> usize {
        self.fields_of_row(row).count() + self.extras_of_row(row)
    }

    /// How many members a row has beside the columns.
    fn extras_of_row(&self, row: Row) -> usize {
        row.extra(self.mode, self.bytes).ok().flatten().map_or(0, |extra| extra.len())
    }

    /// The columns that have a field of this row.
    fn fields_of_row(&self, row: Row) -> impl Iterator<Item = u32> {
        let present =
            move |&index: &u32| row.field(self.bytes, index).is_ok_and(|raw| raw.tag != TAG_HOLE);
        (0..row.columns()).filter(present)
    }

    /// Places of members that walks look at, holes included: for those that bound their work.
    #[doc(hidden)]
    #[inline]
    pub fn places(&self) -> usize {
        match self.body {
            Body::Row(row) => {
                let extra = row.extra(self.mode, self.bytes).ok().flatten();
                let extra = extra.map_or(0, |extra| extra.slots_in_use());
                let order = row.order(self.bytes).unwrap_or_default();
                order.len() + (row.columns() + extra) as usize
            }
            _ => self.slots_in_use() as usize,
        }
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        match self.body {
            Body::Row(row) => {
                // Most rows have the first field of their table.
                let first = Elements::at(self.bytes, row.table.wrapping_add(TABLE_HEADERS));
                let whole = first.is_ok_and(|column| {
                    column.gaps & GAPS_MISSING == 0 && column.column != ColumnType::Cells
                });
                !whole && self.fields_of_row(row).next().is_none() && self.extras_of_row(row) == 0
            }
            _ => self.len() == 0,
        }
    }

    /// Whether the object is stored as a map (an ordered index over its keys).
    pub fn is_map(&self) -> bool {
        matches!(self.body, Body::Map(..))
    }

    /// The map that the object is stored as.
    pub(super) fn stored_map(&self) -> Result<Option<map::Map>> {
        match self.body {
            Body::Map(map) => map::Map::load(self.bytes, map.offset.into()).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn document(&self) -> (M, &'a [u8]) {
        (self.mode, self.bytes)
    }

    /// The member with this key. Constant time up to 255 members, else O(log n).
    ///
    /// ```
    /// use livebuf::{Key, json};
    /// static NAME: Key = Key::new("name");                // remembers where it was found
    /// let doc = json!({"name": "Ada", "lap": 55});
    /// let object = doc.valid()?.root().as_object().unwrap();
    /// assert_eq!(object.get("lap").unwrap(), 55);
    /// assert_eq!(object.get(&NAME).unwrap(), "Ada");
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn get(&self, lookup: impl Lookup) -> M::Out<Value<'a, M>> {
        M::out(lookup.find_in_object(self))
    }

    /// Whether there is a member with this key.
    ///
    /// ```
    /// let doc = livebuf::json!({"lap": null});
    /// let object = doc.valid()?.root().as_object().unwrap();
    /// assert!(object.contains_key("lap") && !object.contains_key("driver"));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn contains_key(&self, lookup: impl Lookup) -> M::Item<bool> {
        M::whole(lookup.find_in_object(self).map(|found| found.is_some()), false)
    }

    #[inline]
    fn value(&self, raw: Raw) -> Option<Value<'a, M>> {
        (raw.tag != TAG_HOLE).then(|| Value::new(self.mode, self.bytes, raw))
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn find(&self, needle: &Needle<'_>) -> Result<Option<Value<'a, M>>> {
        Ok(self.value(self.find_raw(needle)?))
    }

    /// The member with this key; a hole where there is none.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn find_raw(&self, needle: &Needle<'_>) -> Result<Raw> {
        match self.body {
            Body::Record(record) => {
                if record.used() == 0 {
                    return Ok(Raw::HOLE);
                }
                let shape = Shape::load(self.bytes, record.shape() as u64)?;
                match shape.find(self.bytes, record.used(), needle)? {
                    Some(index) => record.field(self.bytes, index),
                    None => Ok(Raw::HOLE),
                }
            }
            Body::Map(map) => map::find_value(self.bytes, map.offset, needle.text),
            Body::Row(row) => {
                if !is_wide(row.columns()) {
                    let shape = Shape::load(self.bytes, row.shape as u64)?;
                    if let Some(index) = shape.find(self.bytes, row.columns(), needle)? {
                        return row.field(self.bytes, index);
                    }
                }
                self.find_elsewhere(row, needle)
            }
        }
    }

    /// A member of a row that no column holds, or of a row with so many columns that these were not
    /// searched.
    #[inline]
    fn find_elsewhere(&self, row: Row, needle: &Needle<'_>) -> Result<Raw> {
        match row.extras || is_wide(row.columns()) {
            true => self.find_far(row, needle),
            false => Ok(Raw::HOLE),
        }
    }

    #[inline(never)]
    fn find_far(&self, row: Row, needle: &Needle<'_>) -> Result<Raw> {
        if is_wide(row.columns())
            && let Some(index) = find_column(self.bytes, row.shape, row.columns(), needle)?
        {
            return row.field(self.bytes, index);
        }
        self.find_extra(row, needle)
    }

    #[inline]
    fn find_extra(&self, row: Row, needle: &Needle<'_>) -> Result<Raw> {
        if row.extras { self.find_in_extra(row, needle) } else { Ok(Raw::HOLE) }
    }

    /// A row's further field; a hole where there is none.
    #[inline(never)]
    fn find_in_extra(&self, row: Row, needle: &Needle<'_>) -> Result<Raw> {
        match row.extra(self.mode, self.bytes)? {
            Some(extra) => extra.find_raw(needle),
            None => Ok(Raw::HOLE),
        }
    }

    /// Shape and count of the fields that have their keys there.
    #[inline]
    fn shaped(&self) -> Option<(u32, u32)> {
        match self.body {
            Body::Record(record) if record.used() != 0 => Some((record.shape(), record.used())),
            Body::Row(row) => Some((row.shape, row.columns())),
            _ => None,
        }
    }

    /// The shape that [`shaped`](Self::shaped) gives. Only a row's may be wide.
    #[inline]
    fn load_shape(&self, offset: u32) -> Result<Shape> {
        match self.body {
            Body::Row(row) => Shape::of_table(self.bytes, offset.into(), row.columns()),
            _ => Shape::load(self.bytes, offset.into()),
        }
    }

    /// The value of a field that has its key in the shape.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn field(&self, index: u32) -> Result<Option<Value<'a, M>>> {
        Ok(match self.body {
            Body::Record(record) => self.value(record.field(self.bytes, index)?),
            Body::Row(row) => self.value(row.field(self.bytes, index)?),
            Body::Map(..) => None,
        })
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn find_remembered(&self, key: &Key<'_>) -> Result<Option<Value<'a, M>>> {
        if let Some((offset, used)) = self.shaped() {
            if !is_wide(used) {
                let shape = Shape::load(self.bytes, offset as u64)?;
                let guess = key.guessed(offset);
                if guess < used
                    && guess < shape.count
                    && key.needle().is_at(self.bytes, shape.key_position(guess))?
                {
                    return self.field(guess);
                }
            }
            return self.find_and_remember(offset, used, key);
        }
        self.find(&key.needle())
    }

    /// By value: a reference makes each caller store the object to memory.
    #[inline(never)]
    fn find_and_remember(
        self,
        offset: u32,
        used: u32,
        key: &Key<'_>,
    ) -> Result<Option<Value<'a, M>>> {
        let shape = self.load_shape(offset)?;
        let guess = key.guessed(offset);
        if shape.is_wide()
            && guess < shape.count
            && key.needle().is_at(self.bytes, shape.key_position(guess))?
        {
            return self.field(guess);
        }
        match (shape.find_in_any(self.bytes, used, &key.needle())?, self.body) {
            (Some(index), _) => {
                key.remember(offset, index);
                self.field(index)
            }
            (None, Body::Row(row)) => Ok(self.value(self.find_extra(row, &key.needle())?)),
            (None, _) => Ok(None),
        }
    }

    #[inline]
    pub(super) fn find_bound(&self, bound: &Bound<'_, '_>) -> Result<Option<Value<'a, M>>> {
        if self.bytes.as_ptr() == bound.document.as_ptr() {
            match (self.body, &bound.place) {
                (Body::Row(row), KeyPlace::Column { table, column })
                    if row.table == *table && row.row < column.count =>
                {
                    return Ok(self.value(column.element_inlined(self.bytes, row.row)?));
                }
                (Body::Record(record), KeyPlace::Field { shape, index })
                    if record.shape() == *shape && *index < record.used() =>
                {
                    return Ok(self.value(record.field(self.bytes, *index)?));
                }
                _ => {}
            }
        }
        self.find(&bound.needle)
    }

    /// Resolves a key once for a loop over objects of this one's table or shape; others
    /// are searched. `None` where this object has no such key or is a map.
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!([{"x": 1}, {"x": 2}, {"x": 3}]);
    /// let rows = doc.valid().unwrap().root().as_array().unwrap();
    /// let first = rows.get(0).unwrap().as_object().unwrap();
    /// let x = first.bind("x").unwrap();
    /// let sum: i64 = rows.iter().filter_map(|row| row.get(&x)?.as_i64()).sum();
    /// assert_eq!(sum, 6);
    /// ```
    pub fn bind<'k>(&self, key: &'k str) -> M::Out<Bound<'a, 'k>> {
        M::out(self.bind_key(key))
    }

    fn bind_key<'k>(&self, key: &'k str) -> Result<Option<Bound<'a, 'k>>> {
        let needle = Needle::new(key.as_bytes());
        let Some((shape, used)) = self.shaped() else { return Ok(None) };
        let found = self.load_shape(shape)?.find_in_any(self.bytes, used, &needle)?;
        let place = match (self.body, found) {
            (Body::Row(row), None) => match self.find_extra(row, &needle)?.tag {
                TAG_HOLE => return Ok(None),
                _ => KeyPlace::Anywhere,
            },
            (_, None) => return Ok(None),
            (Body::Row(row), Some(index)) => {
                let column = Table::load(self.bytes, row.table)?.column(self.bytes, index)?;
                KeyPlace::Column { table: row.table, column }
            }
            (_, Some(index)) => KeyPlace::Field { shape, index },
        };
        Ok(Some(Bound { place, needle, document: self.bytes }))
    }

    /// All members in insertion order.
    ///
    /// ```
    /// let doc = livebuf::json!({"x": 1, "y": 2});
    /// let object = doc.valid()?.root().as_object().unwrap();
    /// let pairs: Vec<_> = object.iter().map(|(key, value)| (key, value.as_i64())).collect();
    /// assert_eq!(pairs, [("x", Some(1)), ("y", Some(2))]);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub fn iter(&self) -> Fields<'a, M> {
        self.fields(self.len())
    }

    /// All members in insertion order, as [`iter`](Self::iter) gives them. The members of a row are
    /// not counted before, so the iterator's length is only an upper bound.
    #[cfg(feature = "serde")]
    pub(crate) fn iter_uncounted(&self) -> Fields<'a, M> {
        self.fields(match self.body {
            Body::Row(_) => u32::MAX as usize,
            _ => self.len(),
        })
    }

    /// Whether it is a row of a table.
    #[cfg(feature = "serde")]
    pub(crate) fn is_row(&self) -> bool {
        matches!(self.body, Body::Row(_))
    }

    fn fields(&self, remaining: usize) -> Fields<'a, M> {
        let back = match self.body {
            Body::Row(row) => {
                let extra = row.extra(self.mode, self.bytes).ok().flatten();
                row.columns() + extra.map_or(0, |extra| extra.slots_in_use())
            }
            _ => self.slots_in_use(),
        };
        let order = self.order();
        let back = back + order.len() as u32;
        Fields { object: *self, order, front: 0, back, remaining, shape: None }
    }

    /// The members from a [position](Fields::position) of an earlier iteration on.
    ///
    /// For iterators that cannot borrow the document all the time. If the object was edited
    /// since, members may be passed over or met twice; compare its length.
    ///
    /// ```
    /// let doc = livebuf::json!({"a": 1, "b": 2, "c": 3});
    /// let object = doc.valid().unwrap().root().as_object().unwrap();
    /// let mut fields = object.iter();
    /// fields.next();
    /// let position = fields.position();
    /// assert_eq!(object.iter_from(position).next().unwrap().0, "b");
    /// ```
    pub fn iter_from(&self, position: Position) -> Fields<'a, M> {
        let fields = self.iter();
        let Position { slot, remaining } = position;
        Fields { front: slot.min(fields.back), remaining: remaining as usize, ..fields }
    }

    /// Slots of a record or map, holes among them.
    fn slots_in_use(&self) -> u32 {
        match self.body {
            Body::Record(record) => record.used(),
            Body::Map(map) => map.used,
            Body::Row(_) => 0,
        }
    }

    /// All keys in insertion order.
    ///
    /// ```
    /// let doc = livebuf::json!({"x": 1, "y": 2});
    /// let object = doc.valid()?.root().as_object().unwrap();
    /// assert_eq!(object.keys().collect::<Vec<_>>(), ["x", "y"]);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn keys(&self) -> Keys<'a, M> {
        Keys(self.iter())
    }

    /// All values in insertion order.
    ///
    /// ```
    /// let doc = livebuf::json!({"x": 1, "y": 2});
    /// let object = doc.valid()?.root().as_object().unwrap();
    /// assert_eq!(object.values().filter_map(|value| value.as_i64()).sum::<i64>(), 3);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn values(&self) -> Values<'a, M> {
        Values(self.iter())
    }

    /// Members whose keys lie in a range, ordered by the keys' bytes.
    ///
    /// O(log n) to begin and O(1) a step in a map that has an index for it
    /// ([`Editor::order`](crate::Editor::order)). In any other, the first step looks at all keys,
    /// and the second one sorts them. Each step looks at all keys in a record, and in a map of up
    /// to 16 members; in all maps without that index where nothing can be allocated.
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!({"b": 2, "a": 1, "c": 3});
    /// let root = doc.valid().unwrap().root().as_object().unwrap();
    /// let keys: Vec<_> = root.range("a".."c").map(|(key, _)| key).collect();
    /// assert_eq!(keys, ["a", "b"]);
    /// ```
    pub fn range<'k>(&self, range: impl RangeBounds<&'k str>) -> Ordered<'a, 'k, M> {
        let bytes = |limit: Limit<&&'k str>| limit.map(|text| text.as_bytes());
        let (lower, upper) = (bytes(range.start_bound()), bytes(range.end_bound()));
        Ordered::new(Searched::new(self, lower, upper, &[]))
    }

    /// Members whose keys begin with `prefix`, ordered by the keys' bytes.
    ///
    /// ```
    /// let doc = livebuf::json!({"b": 0, "a2": 1, "a1": 2});
    /// let object = doc.valid()?.root().as_object().unwrap();
    /// assert_eq!(object.prefix("a").map(|(key, _)| key).collect::<Vec<_>>(), ["a1", "a2"]);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn prefix<'k>(&self, prefix: &'k str) -> Ordered<'a, 'k, M> {
        let prefix = prefix.as_bytes();
        Ordered::new(Searched::new(self, Limit::Included(prefix), Limit::Unbounded, prefix))
    }

    /// The member with the smallest key.
    ///
    /// ```
    /// let doc = livebuf::json!({"b": 0, "a": 1, "c": 2});
    /// let object = doc.valid()?.root().as_object().unwrap();
    /// assert_eq!((object.first().unwrap().0, object.last().unwrap().0), ("a", "c"));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn first(&self) -> M::Out<(&'a str, Value<'a, M>)> {
        M::out(self.range(..).step(false).transpose())
    }

    /// The member with the largest key.
    pub fn last(&self) -> M::Out<(&'a str, Value<'a, M>)> {
        M::out(self.range(..).step(true).transpose())
    }

    /// The values, by the slots that their keys have in the object's shape. Use it to prepare
    /// data once for many similar objects, such as keys as another language's strings.
    /// `None` for maps, which have no shape, and where there is no field.
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!({"from": {"x": 1, "y": 2}, "to": {"x": 3, "y": 4}});
    /// let root = doc.valid().unwrap().root();
    /// let slots = |key| root.get(key).unwrap().as_object().unwrap().slots().unwrap();
    /// let (first, mut second) = (slots("from"), slots("to"));
    /// assert_eq!(first.shape(), second.shape());
    /// let (slot, value) = second.nth(1).unwrap();
    /// assert_eq!((first.key(slot), value.as_i64()), (Some("y"), Some(4)));
    /// ```
    #[inline]
    pub fn slots(&self) -> Option<Slots<'a, M>> {
        match self.body {
            Body::Record(record) if record.used() > 0 => Some(Slots {
                bytes: self.bytes,
                shape: record.shape() as u64,
                cells: (record.offset + RECORD_CELLS) as u64,
                slot: 0,
                end: record.used() as u64,
                remaining: record.live() as u64,
                mode: self.mode,
            }),
            _ => None,
        }
    }

    /// The values of a row of a table by slots, as [`slots`](Self::slots) gives those of a record.
    /// A slot is the place of a column. `None` for other objects, and for rows with fields that
    /// no column holds.
    #[inline]
    pub fn row_slots(&self) -> Option<RowSlots<'a, M>> {
        match self.body {
            Body::Row(row) if !row.extras => {
                let order = row.order(self.bytes).ok()?;
                Some(RowSlots { bytes: self.bytes, row, order, place: 0, mode: self.mode })
            }
            _ => None,
        }
    }

    /// The order of a row's members; empty where they are in the order of slots.
    #[inline]
    fn order(&self) -> &'a [u8] {
        match self.body {
            Body::Row(row) => row.order(self.bytes).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The slot of a place in this order. `None` where the member came before.
    #[inline]
    fn slot_at(&self, order: &[u8], place: u32) -> Option<u32> {
        match self.body {
            Body::Row(row) => slot_at(order, row.columns(), place),
            _ => Some(place),
        }
    }

    /// The value in a slot; its tag is [`TAG_HOLE`] where there is none.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn raw_at(&self, slot: u32) -> Result<Raw> {
        match self.body {
            Body::Record(record) => record.field(self.bytes, slot),
            Body::Map(map) => map.value(self.bytes, slot),
            Body::Row(row) if slot < row.columns() => row.field(self.bytes, slot),
            Body::Row(row) => self.raw_in_extra(row, slot - row.columns()),
        }
    }

    #[inline(never)]
    fn raw_in_extra(&self, row: Row, slot: u32) -> Result<Raw> {
        match row.extra(self.mode, self.bytes)? {
            Some(extra) => extra.raw_at(slot),
            None => Ok(Raw::HOLE),
        }
    }

    /// The key of a slot that is no hole. The shape is loaded once and kept.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn key_of(&self, slot: u32, kept: &mut Option<Shape>) -> Result<&'a [u8]> {
        let offset = match self.body {
            Body::Record(record) => record.shape(),
            Body::Row(row) if slot < row.columns() => row.shape,
            Body::Row(row) => return self.key_in_extra(row, slot - row.columns()),
            Body::Map(map) => return map.keys.text(self.bytes, slot),
        };
        let shape = match *kept {
            Some(shape) => shape,
            None => *kept.insert(self.load_shape(offset)?),
        };
        shape.key(self.bytes, slot)
    }

    #[inline(never)]
    fn key_in_extra(&self, row: Row, slot: u32) -> Result<&'a [u8]> {
        match row.extra(self.mode, self.bytes)? {
            Some(extra) => extra.key_of(slot, &mut None),
            None => Err(Error::new(ErrorKind::BadCount, row.table as u64)),
        }
    }

    /// Key and value of a slot, or `None` for a hole.
    fn key_and_raw(&self, slot: u32) -> Result<Option<(&'a [u8], Raw)>> {
        let raw = self.raw_at(slot)?;
        if raw.tag == TAG_HOLE {
            return Ok(None);
        }
        Ok(Some((self.key_of(slot, &mut None)?, raw)))
    }

    #[inline]
    fn member(&self, key: &'a [u8], raw: Raw) -> Result<(&'a str, Value<'a, M>)> {
        Ok((M::text(key, 0)?, Value::new(self.mode, self.bytes, raw)))
    }
}

impl<'a, M: Mode> IntoIterator for Object<'a, M> {
    type Item = M::Item<(&'a str, Value<'a, M>)>;
    type IntoIter = Fields<'a, M>;

    fn into_iter(self) -> Fields<'a, M> {
        self.iter()
    }
}

impl<'a, M: Mode> IntoIterator for &Object<'a, M> {
    type Item = M::Item<(&'a str, Value<'a, M>)>;
    type IntoIter = Fields<'a, M>;

    fn into_iter(self) -> Fields<'a, M> {
        self.iter()
    }
}

impl<M: Mode> core::fmt::Debug for Object<'_, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_map().entries(self.iter().map(M::item_result).map_while(|item| item.ok())).finish()
    }
}

impl<M: Mode> core::fmt::Debug for Slots<'_, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Slots({} of shape {})", self.end, self.shape)
    }
}

impl<M: Mode> core::fmt::Debug for RowSlots<'_, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "RowSlots({} of shape {})", self.end(), self.shape())
    }
}

impl<M: Mode> core::fmt::Debug for Fields<'_, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let members = self.clone().map(M::item_result).map_while(|member| member.ok());
        f.debug_map().entries(members).finish()
    }
}

impl<M: Mode> core::fmt::Debug for Ordered<'_, '_, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let members = self.clone().map(M::item_result).map_while(|member| member.ok());
        f.debug_map().entries(members).finish()
    }
}

/// An object's values by slots, rising: [`Object::slots`].
///
/// Its numbers are words of 64 bits, though 32 would do. Loops over small objects make such an
/// iterator for each object. A processor waits long when it loads a word that it just stored in
/// two parts.
#[derive(Clone)]
pub struct Slots<'a, M> {
    bytes: &'a [u8],
    shape: u64,
    /// Offset of the record's cells.
    cells: u64,
    slot: u64,
    end: u64,
    remaining: u64,
    mode: M,
}

impl<'a, M: Mode> Slots<'a, M> {
    /// A number for the shape. Objects of one document with the same number have the same keys
    /// in the slots that both use. After an edit a number may stand for another shape.
    #[inline]
    pub fn shape(&self) -> u32 {
        self.shape as u32
    }

    /// One more than the last slot in use.
    #[inline]
    pub fn end(&self) -> usize {
        self.end as usize
    }

    /// The key of a slot in use, whether a value is in it or not. Constant time.
    pub fn key(&self, slot: usize) -> M::Out<&'a str> {
        M::out(match slot < self.end() {
            true => key_text::<M>(self.bytes, self.shape, slot as u32).map(Some),
            false => Ok(None),
        })
    }
}

/// Key `slot` of a shape.
pub(super) fn key_text<M: Mode>(bytes: &[u8], shape: u64, slot: u32) -> Result<&str> {
    let shape = Shape::any(bytes, shape)?;
    M::text(shape.key(bytes, slot)?, shape.offset)
}

/// A row's values with the numbers of their columns, in the row's order: [`Object::row_slots`].
#[derive(Clone)]
pub struct RowSlots<'a, M> {
    bytes: &'a [u8],
    row: Row,
    order: &'a [u8],
    place: u32,
    mode: M,
}

impl<'a, M: Mode> RowSlots<'a, M> {
    /// A number for the shape, as [`Slots::shape`].
    #[inline]
    pub fn shape(&self) -> u32 {
        self.row.shape
    }

    /// Count of columns.
    #[inline]
    pub fn end(&self) -> usize {
        self.row.columns as usize
    }

    /// The key of a column. Constant time.
    pub fn key(&self, slot: usize) -> M::Out<&'a str> {
        M::out(match slot < self.end() {
            true => key_text::<M>(self.bytes, self.row.shape as u64, slot as u32).map(Some),
            false => Ok(None),
        })
    }
}

impl<'a, M: Mode> Iterator for RowSlots<'a, M> {
    type Item = M::Item<(usize, Value<'a, M>)>;

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn next(&mut self) -> Option<Self::Item> {
        while self.place < self.order.len() as u32 + self.row.columns() {
            let place = self.place;
            self.place += 1;
            let Some(slot) = slot_at(self.order, self.row.columns(), place) else { continue };
            match self.row.field(self.bytes, slot) {
                Ok(raw) if raw.tag == TAG_HOLE => {}
                Ok(raw) => {
                    return M::item(Ok((slot as usize, Value::new(self.mode, self.bytes, raw))));
                }
                Err(error) => {
                    self.place = u32::MAX;
                    return M::item(Err(error));
                }
            }
        }
        None
    }
}

impl<'a, M: Mode> Iterator for Slots<'a, M> {
    type Item = M::Item<(usize, Value<'a, M>)>;

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn next(&mut self) -> Option<Self::Item> {
        while self.slot < self.end && self.remaining > 0 {
            let slot = self.slot;
            self.slot += 1;
            match tagged(self.bytes, self.cells, slot as u32) {
                Ok(raw) if raw.tag == TAG_HOLE => {}
                Ok(raw) => {
                    self.remaining -= 1;
                    return M::item(Ok((slot as usize, Value::new(self.mode, self.bytes, raw))));
                }
                Err(error) => {
                    self.remaining = 0;
                    return M::item(Err(error));
                }
            }
        }
        self.remaining = 0;
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let most = self.remaining.min(self.end - self.slot) as usize;
        (most, Some(most))
    }
}

impl<M: Mode> ExactSizeIterator for Slots<'_, M> {}

/// Members in insertion order: [`Object::iter`].
#[derive(Clone)]
pub struct Fields<'a, M> {
    object: Object<'a, M>,
    /// The order of a row's members, if it is not that of the slots.
    order: &'a [u8],
    front: u32,
    back: u32,
    remaining: usize,
    /// The record's shape, once it was loaded.
    shape: Option<Shape>,
}

/// Where an iteration over members stands: [`Fields::position`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    slot: u32,
    remaining: u32,
}

impl<'a, M: Mode> Fields<'a, M> {
    /// Where this iteration stands, for [`Object::iter_from`].
    pub fn position(&self) -> Position {
        Position { slot: self.front, remaining: self.remaining as u32 }
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn advance(&mut self, backwards: bool) -> Option<M::Item<(&'a str, Value<'a, M>)>> {
        while self.front < self.back && self.remaining > 0 {
            let slot = if backwards {
                self.back -= 1;
                self.back
            } else {
                self.front += 1;
                self.front - 1
            };
            // Not copied: a row's few words were stored one by one just before.
            let object = &self.object;
            let Some(slot) = object.slot_at(self.order, slot) else { continue };
            let member = match object.raw_at(slot) {
                Ok(raw) if raw.tag == TAG_HOLE => continue,
                Ok(raw) => {
                    object.key_of(slot, &mut self.shape).and_then(|key| object.member(key, raw))
                }
                Err(error) => Err(error),
            };
            self.remaining = if member.is_err() { 0 } else { self.remaining - 1 };
            return M::item(member);
        }
        self.remaining = 0;
        None
    }
}

impl<'a, M: Mode> Iterator for Fields<'a, M> {
    type Item = M::Item<(&'a str, Value<'a, M>)>;

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn next(&mut self) -> Option<Self::Item> {
        self.advance(false)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let most = self.remaining.min((self.back - self.front) as usize);
        (most, Some(most))
    }
}

impl<M: Mode> DoubleEndedIterator for Fields<'_, M> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.advance(true)
    }
}

impl<M: Mode> ExactSizeIterator for Fields<'_, M> {}

macro_rules! half {
    ($(#[$doc:meta])* $name:ident, $item:ty, $part:tt) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name<'a, M>(Fields<'a, M>);

        impl<M: Mode> core::fmt::Debug for $name<'_, M> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let parts = self.clone().map(M::item_result).map_while(|part| part.ok());
                f.debug_list().entries(parts).finish()
            }
        }

        impl<'a, M: Mode> Iterator for $name<'a, M> {
            type Item = M::Item<$item>;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                M::item(M::item_result(self.0.next()?).map(|member| member.$part))
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }

        impl<M: Mode> DoubleEndedIterator for $name<'_, M> {
            fn next_back(&mut self) -> Option<Self::Item> {
                M::item(M::item_result(self.0.next_back()?).map(|member| member.$part))
            }
        }

        impl<M: Mode> ExactSizeIterator for $name<'_, M> {}
    };
}

half!(
    /// Keys in insertion order: [`Object::keys`].
    Keys, &'a str, 0
);
half!(
    /// Values in insertion order: [`Object::values`].
    Values, Value<'a, M>, 1
);

/// Members ordered by key bytes: [`Object::range`], [`Object::prefix`].
///
/// In a large object without an index for the order ([`Editor::order`](crate::Editor::order)) the
/// first member is searched among all, and the others are sorted when the second is asked for.
#[derive(Clone)]
pub struct Ordered<'a, 'k, M> {
    searched: Searched<'a, 'k, M>,
    #[cfg(feature = "alloc")]
    sorted: Option<alloc::vec::IntoIter<(u64, u32)>>,
}

impl<'a, 'k, M: Mode> Ordered<'a, 'k, M> {
    fn new(searched: Searched<'a, 'k, M>) -> Self {
        Ordered {
            searched,
            #[cfg(feature = "alloc")]
            sorted: None,
        }
    }

    /// For the C API, whose iterations own no memory.
    #[doc(hidden)]
    pub fn into_searched(self) -> Searched<'a, 'k, M> {
        self.searched
    }

    fn step(&mut self, backwards: bool) -> Option<Result<(&'a str, Value<'a, M>)>> {
        #[cfg(feature = "alloc")]
        {
            if self.sorted.is_none() {
                self.sorted = self.searched.sort().map(IntoIterator::into_iter);
            }
            if let Some(sorted) = &mut self.sorted {
                let next = if backwards { sorted.next_back() } else { sorted.next() };
                return self.searched.step_to(next?.1, backwards);
            }
        }
        self.searched.step(backwards)
    }
}

/// What [`Ordered`] is without memory of its own: it searches for each member.
#[doc(hidden)]
#[derive(Clone)]
pub struct Searched<'a, 'k, M> {
    object: Object<'a, M>,
    /// For maps with a tree: the cursor into it.
    cursor: Option<Result<map::KeyRange>>,
    /// For all others: the bounds of the keys still to come.
    lower: Limit<&'k [u8]>,
    upper: Limit<&'k [u8]>,
    done_front: Option<&'a [u8]>,
    done_back: Option<&'a [u8]>,
    prefix: &'k [u8],
    /// An error ended the walk.
    done: bool,
}

impl<'a, 'k, M: Mode> Searched<'a, 'k, M> {
    fn new(
        object: &Object<'a, M>,
        lower: Limit<&'k [u8]>,
        upper: Limit<&'k [u8]>,
        prefix: &'k [u8],
    ) -> Self {
        let cursor = match object.body {
            Body::Record(_) | Body::Row(_) => None,
            Body::Map(map) => match map::Map::load(object.bytes, map.offset.into()) {
                Ok(map) if map.root == 0 => map.check_keys(object.bytes).err().map(Err),
                Ok(map) if prefix.is_empty() => {
                    Some(map::KeyRange::new(object.bytes, &map, lower, upper))
                }
                Ok(map) => Some(map::KeyRange::prefix(object.bytes, &map, prefix)),
                Err(error) => Some(Err(error)),
            },
        };
        Searched {
            object: *object,
            cursor,
            lower,
            upper,
            done_front: None,
            done_back: None,
            prefix,
            done: false,
        }
    }

    /// The next member at one end.
    pub fn step(&mut self, backwards: bool) -> Option<Result<(&'a str, Value<'a, M>)>> {
        if self.done {
            return None;
        }
        let object = self.object;
        let found = match &mut self.cursor {
            None => self.search(backwards),
            Some(Err(error)) => Err(*error),
            Some(Ok(range)) => {
                let index = if backwards {
                    range.next_back(object.bytes)
                } else {
                    range.next(object.bytes)
                };
                match index {
                    None => Ok(None),
                    Some(index) => index.and_then(|index| object.key_and_raw(index)),
                }
            }
        };
        self.give(found)
    }

    /// The same if [`sort`](Self::sort) told which one it is.
    pub fn step_to(
        &mut self,
        index: u32,
        backwards: bool,
    ) -> Option<Result<(&'a str, Value<'a, M>)>> {
        if self.done {
            return None;
        }
        let found = self.object.key_and_raw(index);
        if let Ok(Some((key, _))) = found {
            self.pass(key, backwards);
        }
        self.give(found)
    }

    fn give(
        &mut self,
        found: Result<Option<(&'a [u8], Raw)>>,
    ) -> Option<Result<(&'a str, Value<'a, M>)>> {
        match found {
            Ok(None) => None,
            Ok(Some((key, raw))) => Some(self.object.member(key, raw)),
            Err(error) => {
                self.done = true;
                Some(Err(error))
            }
        }
    }

    /// The members still to come in their order: the second of each pair is what
    /// [`step_to`](Self::step_to) takes. `None` where searching is better: a tree leads to them,
    /// they are few, or none was asked for yet; and where there is no memory, or damage.
    #[cfg(feature = "alloc")]
    #[inline]
    pub fn sort(&self) -> Option<alloc::vec::Vec<(u64, u32)>> {
        let is_first = self.done_front.is_none() && self.done_back.is_none();
        match self.object.body {
            Body::Map(_) if !is_first && !self.done => self.sort_map(),
            _ => None,
        }
    }

    #[cfg(feature = "alloc")]
    #[inline(never)]
    fn sort_map(&self) -> Option<alloc::vec::Vec<(u64, u32)>> {
        let used = self.object.slots_in_use();
        if used <= FEW_ENTRIES {
            return None;
        }
        let key = |index| match self.object.key_and_raw(index) {
            Ok(Some((key, _))) => Some(key),
            _ => None,
        };
        let mut numbers = alloc::vec::Vec::new();
        for index in 0..used {
            if key(index).is_some_and(|key| self.is_to_come(key)) {
                numbers.try_reserve(1).ok()?;
                numbers.push(index);
            }
        }
        map::ordered(numbers.into_iter(), |index| key(index).unwrap_or_default()).ok()
    }

    fn is_to_come(&self, key: &[u8]) -> bool {
        (self.lower, self.upper).contains(key)
            && key.starts_with(self.prefix)
            && self.done_front.is_none_or(|done| key > done)
            && self.done_back.is_none_or(|done| key < done)
    }

    fn pass(&mut self, key: &'a [u8], backwards: bool) {
        *(if backwards { &mut self.done_back } else { &mut self.done_front }) = Some(key);
    }

    /// The next smallest (largest) key: no memory, one scan a step.
    fn search(&mut self, backwards: bool) -> Result<Option<(&'a [u8], Raw)>> {
        let mut best: Option<(&'a [u8], Raw)> = None;
        let Fields { order, back, .. } = self.object.iter();
        for index in 0..back {
            let Some(slot) = self.object.slot_at(order, index) else { continue };
            let Some((key, raw)) = self.object.key_and_raw(slot)? else { continue };
            if self.is_to_come(key) && best.is_none_or(|(best, _)| (key < best) != backwards) {
                best = Some((key, raw));
            }
        }
        if let Some((key, _)) = best {
            self.pass(key, backwards);
        }
        Ok(best)
    }
}

impl<'a, M: Mode> Iterator for Ordered<'a, '_, M> {
    type Item = M::Item<(&'a str, Value<'a, M>)>;

    fn next(&mut self) -> Option<Self::Item> {
        M::item(self.step(false)?)
    }
}

impl<M: Mode> DoubleEndedIterator for Ordered<'_, '_, M> {
    fn next_back(&mut self) -> Option<Self::Item> {
        M::item(self.step(true)?)
    }
}
