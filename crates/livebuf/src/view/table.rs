//! Tables and columns: arrays of similar objects read by column instead of by row.

use super::object::key_text;
use super::{Array, Element, Key, Mode, Object, Scalar, Tensor, Valid, Value};
use crate::block::column::{Elements, row_cell};
use crate::block::column_type::ColumnType;
use crate::block::list::List;
use crate::block::map::Map;
use crate::block::record::Raw;
use crate::block::shape::{Shape, find_column};
use crate::block::table::Table as Block;
use crate::block::tensor::Form;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, slice};
use crate::format::cell::{Needle, span_bytes};
use crate::format::extended::{Extended, Stored};
use crate::format::layout::*;
use crate::format::pointer;
use core::ops::{Bound, Range, RangeBounds};

/// An array of similar objects, stored as a column for each key: [`Array::table`].
///
/// It borrows the document; copying it copies a few words. Rows and columns can be read
/// from several threads at once.
///
/// ```
/// let doc = livebuf_doc();
/// let table = doc.valid().unwrap().root().as_array().unwrap().table().unwrap();
/// assert_eq!((table.rows(), table.width()), (100, 2));
/// let x = table.column("x").unwrap();
/// assert_eq!(x.as_slice::<i8>().unwrap()[7], 7);
/// assert_eq!(x.find(42), Some(42));
/// let name = table.column(&["place", "name"]).unwrap();
/// assert_eq!(name.get(99).unwrap().as_str(), Some("here"));
/// # fn livebuf_doc() -> livebuf::DocBuf {
/// #     let mut encoder = livebuf::Encoder::new();
/// #     encoder.begin_array().unwrap();
/// #     for x in 0..100 {
/// #         encoder.begin_object().unwrap();
/// #         encoder.key("x").unwrap();
/// #         encoder.i64(x).unwrap();
/// #         encoder.key("place").unwrap();
/// #         encoder.begin_object().unwrap();
/// #         encoder.key("name").unwrap();
/// #         encoder.str("here").unwrap();
/// #         encoder.end_object().unwrap();
/// #         encoder.end_object().unwrap();
/// #     }
/// #     encoder.end_array().unwrap();
/// #     encoder.finish().unwrap()
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Table<'a, M> {
    bytes: &'a [u8],
    block: Block,
    /// The first of the rows that this view shows, and their count.
    first: u32,
    count: u32,
    /// Header of the struct column whose rows these are; 0 if none of them is absent.
    above: u32,
    mode: M,
}

/// Names a column of a table: a key (text or [`Key`]), an index, keys down through struct
/// columns, or a [`Pointer`].
pub trait ColumnPath: Copy {
    #[doc(hidden)]
    fn find<'a, M: Mode>(self, table: &Table<'a, M>) -> Result<Option<Column<'a, M>>>;
}

impl ColumnPath for &str {
    fn find<'a, M: Mode>(self, table: &Table<'a, M>) -> Result<Option<Column<'a, M>>> {
        table.find(self)
    }
}

/// A remembered key finds its column with one comparison.
impl ColumnPath for &Key<'_> {
    // Forced, as `Table::at` is: a column that is returned through memory is stored in pieces and
    // loaded as a whole, which processors do slowly. A tweet is found by two columns in 39 ns
    // instead of 63.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn find<'a, M: Mode>(self, table: &Table<'a, M>) -> Result<Option<Column<'a, M>>> {
        match table.place_of(self)? {
            Some(index) => table.at(index).map(Some),
            None => Ok(None),
        }
    }
}

impl ColumnPath for usize {
    fn find<'a, M: Mode>(self, table: &Table<'a, M>) -> Result<Option<Column<'a, M>>> {
        match u32::try_from(self) {
            Ok(index) if index < table.block.columns => table.at(index).map(Some),
            _ => Ok(None),
        }
    }
}

impl ColumnPath for &[&str] {
    fn find<'a, M: Mode>(self, table: &Table<'a, M>) -> Result<Option<Column<'a, M>>> {
        let Some((first, rest)) = self.split_first() else { return Ok(None) };
        let mut column = table.find(first)?;
        for key in rest {
            let Some(found) = column else { return Ok(None) };
            column = match found.inner()? {
                Some(table) => table.find(key)?,
                None => return Ok(None),
            };
        }
        Ok(column)
    }
}

impl<const N: usize> ColumnPath for &[&str; N] {
    fn find<'a, M: Mode>(self, table: &Table<'a, M>) -> Result<Option<Column<'a, M>>> {
        self.as_slice().find(table)
    }
}

/// A JSON pointer (RFC 6901) through struct columns: `Pointer("/user/id")`.
#[derive(Clone, Copy, Debug)]
pub struct Pointer<'p>(pub &'p str);

impl ColumnPath for Pointer<'_> {
    fn find<'a, M: Mode>(self, table: &Table<'a, M>) -> Result<Option<Column<'a, M>>> {
        let (mut table, mut column, mut rest) = (Some(*table), None, self.0);
        while let Some((token, left)) = pointer::split(rest)? {
            let Some(inner) = table else { return Ok(None) };
            column = pointer::with_text(token, |key| inner.find(key))?;
            table = match &column {
                Some(found) => found.inner()?,
                None => return Ok(None),
            };
            rest = left;
        }
        Ok(column)
    }
}

impl<'a, M: Mode> Array<'a, M> {
    /// The columns, where the elements are similar objects that are stored as such.
    ///
    /// ```
    /// use livebuf::json;
    /// let like = json!([{"lap": 1}, {"lap": 2}, {"lap": 3}, {"lap": 4}]);
    /// let table = like.valid()?.root().as_array().unwrap().table().unwrap();
    /// assert_eq!((table.rows(), table.width()), (4, 1));
    /// let mixed = json!([{"lap": 1}, 2]);
    /// assert!(mixed.valid()?.root().as_array().unwrap().table().is_none());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn table(&self) -> M::Out<Table<'a, M>> {
        M::out(self.as_column().inner())
    }

    /// The array as a column.
    ///
    /// ```
    /// let doc = livebuf::json!([88.25, 87.5, 88.0]);
    /// let laps = doc.valid()?.root().as_array().unwrap().as_column();
    /// assert_eq!(laps.find(87.5), Some(1));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn as_column(&self) -> Column<'a, M> {
        let (mode, bytes, elements) = self.parts();
        Column::over(mode, bytes, elements)
    }
}

impl<'a, M: Mode> Object<'a, M> {
    /// The columns of a map whose values are similar objects: they are stored as the rows of a
    /// table. Row i has the key [`key_of_row`](Self::key_of_row)`(i)`. A row whose member was
    /// removed has no key, and is null. `None` for other objects. Constant time.
    ///
    /// ```
    /// #[derive(serde::Serialize)]
    /// struct User { age: u32, on: bool }
    /// let users = (0..300).map(|n| (format!("user {n}"), User { age: n % 90, on: true }));
    /// let doc = livebuf::to_doc(&users.collect::<std::collections::BTreeMap<_, _>>())?;
    /// let users = doc.valid()?.root().as_object().unwrap();
    /// let table = users.table().unwrap();
    /// let ages = table.column("age").unwrap();
    /// let oldest = (0..table.rows()).max_by_key(|&row| ages.get(row).unwrap().as_i64());
    /// assert_eq!(users.key_of_row(oldest.unwrap()), Some("user 89"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn table(&self) -> M::Out<Table<'a, M>> {
        M::out(self.rows())
    }

    /// The values of a map as a column, if they are not in cells of any type: those of
    /// [`table`](Self::table), or any others after edits. Its slots are the table's rows. Constant
    /// time.
    pub fn as_column(&self) -> M::Out<Column<'a, M>> {
        M::out(self.column())
    }

    fn column(&self) -> Result<Option<Column<'a, M>>> {
        let (mode, bytes) = self.document();
        let Some(map) = self.stored_map()?.filter(|map| map.cells.is_none()) else {
            return Ok(None);
        };
        Ok(Some(Column::over(mode, bytes, map.values(bytes)?)))
    }

    /// The keys of a map that has [`as_column`](Self::as_column), as a column of text: row i has
    /// the key of row i. `None` for other objects, and where a removed member left a row: it has no
    /// key, and [`compact`](crate::DocBuf::compact) takes it away. Constant time.
    ///
    /// ```
    /// # #[derive(serde::Serialize)]
    /// # struct User { age: u32, on: bool }
    /// # let users = (100..400).map(|n| (format!("user {n}"), User { age: n % 90, on: true }));
    /// # let doc = livebuf::to_doc(&users.collect::<std::collections::BTreeMap<_, _>>())?;
    /// let users = doc.valid()?.root().as_object().unwrap();
    /// let (table, keys) = (users.table().unwrap(), users.keys_as_column().unwrap());
    /// let row = keys.find("user 123").unwrap();
    /// assert_eq!(table.column("age").unwrap().get(row).unwrap(), 33);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keys_as_column(&self) -> M::Out<Column<'a, M>> {
        M::out(self.key_column())
    }

    fn key_column(&self) -> Result<Option<Column<'a, M>>> {
        let whole = |map: &Map| map.cells.is_none() && map.live == map.used;
        let Some(map) = self.stored_map()?.filter(whole) else { return Ok(None) };
        let (mode, bytes) = self.document();
        // Their cells are those of texts.
        let (text, data) = (ColumnType::String, map.keys.0);
        check(bytes, data.into(), text.data_size(map.used))?;
        let keys = Elements::new(map.at as u32, text, map.used, map.used, data);
        Ok(Some(Column::over(mode, bytes, keys)))
    }

    fn rows(&self) -> Result<Option<Table<'a, M>>> {
        self.column()?.map_or(Ok(None), |column| column.inner())
    }

    /// The key of a row of [`table`](Self::table); `None` where there is no such row, or its member
    /// was removed. Constant time.
    pub fn key_of_row(&self, row: usize) -> M::Out<&'a str> {
        M::out(self.row_key(row))
    }

    fn row_key(&self, row: usize) -> Result<Option<&'a str>> {
        let Some(map) = self.stored_map()? else { return Ok(None) };
        let ((_, bytes), number) = (self.document(), u32::try_from(row).unwrap_or(u32::MAX));
        if number >= map.used || !map.keys.is_live(bytes, number)? {
            return Ok(None);
        }
        M::text(map.keys.text(bytes, number)?, map.keys.at(number)).map(Some)
    }
}

impl<'a, M: Mode> Table<'a, M> {
    /// Count of rows.
    pub fn rows(&self) -> usize {
        self.count as usize
    }

    /// Count of columns.
    pub fn width(&self) -> usize {
        self.block.columns as usize
    }

    /// Whether any row has fields that no column holds, as edits may add. They are read
    /// by row only.
    pub fn has_further_fields(&self) -> bool {
        self.block.extras != 0
    }

    /// The column that says in which order rows have their members. `None` where all rows have
    /// their members in the order of the columns.
    ///
    /// A row has a text in this column. Each byte of the text is the place of a column, the first
    /// being 0. The row's members are those of these columns, in this order; members of other
    /// columns come behind. A row that is missing in this column has the order of the columns.
    /// You need not read it: iterating over a row's members gives them in the row's order.
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!([
    ///     {"x": 1, "y": 10}, {"x": 2, "y": 20}, {"y": 30, "x": 3}, {"x": 4, "y": 40},
    ///     {"x": 5, "y": 50}, {"y": 60, "x": 6}, {"x": 7, "y": 70}, {"y": 80, "x": 8},
    /// ]);
    /// let table = doc.valid()?.root().as_array().unwrap().table().unwrap();
    /// assert_eq!(table.orders().unwrap().get(2).unwrap().as_str(), Some("\u{1}\0"));
    /// assert_eq!(table.row(2).unwrap().keys().collect::<Vec<_>>(), ["y", "x"]);
    /// assert_eq!(table.columns().map(|(key, _)| key).collect::<Vec<_>>(), ["x", "y"]);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn orders(&self) -> M::Out<Column<'a, M>> {
        M::out(self.block.ordered.then(|| self.at(self.block.columns)).transpose())
    }

    /// A row as an object; `None` beyond the last, and where there is null.
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!([
    ///     {"lap": 1, "sec": 88.25, "car": {"id": 7}, "tyres": [3, 4]},
    ///     {"lap": 2, "sec": null, "car": {"id": 7}, "tyres": []},
    ///     {"lap": 3, "sec": 87.5, "car": {"id": 9}, "tyres": [3]},
    ///     {"lap": 4, "sec": 88.0, "car": {"id": 9}, "tyres": [5]},
    /// ]);
    /// let table = doc.valid()?.root().as_array().unwrap().table().unwrap();
    /// assert_eq!(table.row(2).unwrap().get("lap").unwrap(), 3);
    /// assert!(table.row(4).is_none());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn row(&self, index: usize) -> M::Out<Object<'a, M>> {
        M::out(self.object(index))
    }

    fn object(&self, index: usize) -> Result<Option<Object<'a, M>>> {
        if index >= self.rows() {
            return Ok(None);
        }
        let row = self.first + index as u32;
        if self.above != 0 {
            let column = Elements::header_at(self.bytes, self.above)?;
            if row >= column.count || column.gap(self.bytes, row)?.is_some() {
                return Ok(None);
            }
        }
        Object::of(self.mode, self.bytes, row_cell(self.block.offset, row)).map(Some)
    }

    /// A column by key, index, keys through struct columns, or [`Pointer`].
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!([
    ///     {"lap": 1, "sec": 88.25, "car": {"id": 7}, "tyres": [3, 4]},
    ///     {"lap": 2, "sec": null, "car": {"id": 7}, "tyres": []},
    ///     {"lap": 3, "sec": 87.5, "car": {"id": 9}, "tyres": [3]},
    ///     {"lap": 4, "sec": 88.0, "car": {"id": 9}, "tyres": [5]},
    /// ]);
    /// let table = doc.valid()?.root().as_array().unwrap().table().unwrap();
    /// assert_eq!(table.column("lap").unwrap().get(1).unwrap(), 2);
    /// assert_eq!(table.column(&["car", "id"]).unwrap().find(9), Some(2));
    /// assert!(table.column("driver").is_none());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn column(&self, path: impl ColumnPath) -> M::Out<Column<'a, M>> {
        M::out(path.find(self))
    }

    /// Keys and columns in their order.
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!([
    ///     {"lap": 1, "sec": 88.25, "car": {"id": 7}, "tyres": [3, 4]},
    ///     {"lap": 2, "sec": null, "car": {"id": 7}, "tyres": []},
    ///     {"lap": 3, "sec": 87.5, "car": {"id": 9}, "tyres": [3]},
    ///     {"lap": 4, "sec": 88.0, "car": {"id": 9}, "tyres": [5]},
    /// ]);
    /// let table = doc.valid()?.root().as_array().unwrap().table().unwrap();
    /// let keys: Vec<_> = table.columns().map(|(key, _)| key).collect();
    /// assert_eq!(keys, ["lap", "sec", "car", "tyres"]);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn columns(&self) -> impl Iterator<Item = M::Item<(&'a str, Column<'a, M>)>> + use<'a, M> {
        let table = *self;
        (0..table.block.columns).filter_map(move |index| {
            M::item(table.at(index).and_then(|column| Ok((table.key(index)?, column))))
        })
    }

    fn key(&self, index: u32) -> Result<&'a str> {
        key_text::<M>(self.bytes, self.block.shape as u64, index)
    }

    fn find(&self, key: &str) -> Result<Option<Column<'a, M>>> {
        match self.index_of(key)? {
            Some(index) => self.at(index).map(Some),
            None => Ok(None),
        }
    }

    /// The place of the column with this key.
    #[inline]
    fn index_of(&self, key: &str) -> Result<Option<u32>> {
        let needle = Needle::new(key.as_bytes());
        find_column(self.bytes, self.block.shape, self.block.columns, &needle)
    }

    /// The number of a key's column.
    fn place_of(&self, key: &Key<'_>) -> Result<Option<u32>> {
        let block = &self.block;
        let shape = Shape::of_table(self.bytes, block.shape as u64, block.columns)?;
        let guess = key.guessed(block.shape);
        if guess < block.columns
            && guess < shape.count
            && key.needle().is_at(self.bytes, shape.key_position(guess))?
        {
            return Ok(Some(guess));
        }
        let found = shape.find_in_any(self.bytes, block.columns, &key.needle())?;
        if let Some(index) = found {
            key.remember(block.shape, index);
        }
        Ok(found)
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn at(&self, index: u32) -> Result<Column<'a, M>> {
        let column = Elements::at_inlined(self.bytes, self.block.header(index))?;
        let (first, count) = (self.first, self.count);
        if first as u64 + count as u64 > column.count as u64 {
            return Err(Error::new(ErrorKind::BadCount, column.offset as u64));
        }
        let elements = Elements { first, count, ..column };
        Ok(Column { bytes: self.bytes, elements, mode: self.mode })
    }

    /// The rows of a range, cut to those there are: for readers that share the work.
    ///
    /// ```
    /// # use livebuf::json;
    /// let doc = json!([{"x": 1}, {"x": 2}, {"x": 3}, {"x": 4}, {"x": 5}, {"x": 6}, {"x": 7}, {"x": 8}]);
    /// let table = doc.valid().unwrap().root().as_array().unwrap().table().unwrap();
    /// let (left, right) = (table.slice(..5), table.slice(5..));
    /// let sum = |table: livebuf::Table<'_, livebuf::Valid>| -> i64 {
    ///     table.column("x").unwrap().i64s().flatten().sum()
    /// };
    /// assert_eq!(sum(left) + sum(right), 36);
    /// ```
    pub fn slice(&self, rows: impl RangeBounds<usize>) -> Self {
        let Range { start, end } = cut(rows, self.rows());
        Table { first: self.first + start as u32, count: (end - start) as u32, ..*self }
    }

    /// The rows in parts, in order, for threads that share the work: `parts` of them, or one for
    /// each row where there are fewer rows. Their lengths differ by one row at most. Constant time.
    ///
    /// ```
    /// # use livebuf::json;
    /// let doc = json!([{"x": 1}, {"x": 2}, {"x": 3}, {"x": 4}, {"x": 5}, {"x": 6}, {"x": 7}]);
    /// let table = doc.valid().unwrap().root().as_array().unwrap().table().unwrap();
    /// let sum: i64 = std::thread::scope(|scope| {
    ///     let sum = |part: livebuf::Table<'_, livebuf::Valid>| -> i64 {
    ///         part.column("x").unwrap().i64s().flatten().sum()
    ///     };
    ///     let threads: Vec<_> = table.split(2).map(|part| scope.spawn(move || sum(part))).collect();
    ///     threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    /// });
    /// assert_eq!(sum, 28);
    /// ```
    pub fn split(&self, parts: usize) -> impl ExactSizeIterator<Item = Self> + Clone + use<'a, M> {
        let (table, rows) = (*self, self.rows());
        let parts = parts.min(rows);
        // Rows and parts are below 2³².
        let start = move |part: usize| (rows as u64 * part as u64 / parts as u64) as usize;
        (0..parts).map(move |part| table.slice(start(part)..start(part + 1)))
    }
}

fn cut(range: impl RangeBounds<usize>, length: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => end.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => length,
    };
    let start = start.min(length);
    start..end.clamp(start, length)
}

impl<M: Mode> core::fmt::Debug for Table<'_, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Table({} rows of {} columns)", self.rows(), self.width())
    }
}

/// The values that the rows of a table have under one key, or the elements of an array.
///
/// ```
/// let doc = livebuf::json!([{"lap": 1, "sec": 88.5}, {"lap": 2, "sec": null}, {"lap": 3, "sec": 87.25}]);
/// let table = doc.valid()?.root().as_array().unwrap().table().unwrap();
/// let seconds = table.column("sec").unwrap();
/// assert_eq!(seconds.f64s().flatten().sum::<f64>(), 175.75);
/// assert_eq!(seconds.filter_f64(87.0, 88.0).collect::<Vec<_>>(), [2]);
/// assert_eq!(table.column("lap").unwrap().as_slice::<i8>(), Some(&[1, 2, 3][..]));
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Column<'a, M> {
    pub(super) bytes: &'a [u8],
    pub(super) elements: Elements,
    pub(super) mode: M,
}

impl<'a, M: Mode> Column<'a, M> {
    /// Count of rows.
    pub fn len(&self) -> usize {
        self.elements.count as usize
    }

    /// This column, with methods that answer values instead of results. It is for columns that
    /// [`validate_column`](Value::validate_column) found valid.
    ///
    /// # Safety
    /// What [`Doc::assume_valid`](crate::Doc::assume_valid) asks of the document must hold for this
    /// column and all below it, for the structs around it, and for the document's shapes.
    #[allow(unsafe_code)]
    pub unsafe fn assume_valid(&self) -> Column<'a, Valid> {
        // SAFETY: the caller promises that the column is valid, and that nobody writes it.
        let mode = unsafe { Valid::promised() };
        Column { bytes: self.bytes, elements: self.elements, mode }
    }

    /// The column that keys lead to, from the table of a struct column on, and the place of each
    /// column on the way in its table.
    #[cfg(feature = "alloc")]
    pub(super) fn below<'p>(
        &self,
        path: &[&str],
        places: &'p mut [u32],
    ) -> Result<Option<(Self, &'p [u32])>> {
        let mut column = *self;
        // Tables nest no deeper than there are places.
        let Some(places) = places.get_mut(..path.len()).filter(|places| !places.is_empty()) else {
            return Ok(None);
        };
        for (key, place) in path.iter().zip(&mut *places) {
            let Some(table) = column.inner()? else { return Ok(None) };
            let Some(found) = table.index_of(key)? else { return Ok(None) };
            (*place, column) = (found, table.at(found)?);
        }
        Ok(Some((column, places)))
    }

    /// Bytes of the document that the column is in.
    pub fn document_length(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.elements.count == 0
    }

    /// How the values are stored.
    pub fn column_type(&self) -> ColumnType {
        self.elements.column
    }

    /// Whether every row surely has a value in this column's own type, so that there is
    /// neither null nor a missing field.
    pub fn is_complete(&self) -> bool {
        self.elements.gaps == GAPS_NONE && self.elements.column != ColumnType::Cells
    }

    /// Bytes of the whole column's slots, bitmaps and room for more included; of a dictionary also
    /// those of its texts' cells, and of a run those of its offsets. Without the column's header,
    /// and what lies elsewhere: text, objects, arrays, and the columns below. 0 for slots that are
    /// damaged. Constant time.
    ///
    /// ```
    /// let doc = livebuf::json!([1, 2, 300]);
    /// assert_eq!(doc.valid()?.root().as_array().unwrap().as_column().slot_bytes(), 8);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn slot_bytes(&self) -> u64 {
        let elements = &self.elements;
        let texts = match elements.column.is_run() {
            true => {
                let list = List::load(self.bytes, elements.data).ok();
                let list = list.filter(|list| list.length.is_none());
                list.and_then(|list| list.offsets(self.bytes).ok())
            }
            false => elements.entries(self.bytes).ok().flatten(),
        };
        let slots = elements.column.slots_size(elements.gaps, elements.capacity);
        match slots <= self.bytes.len() as u64 {
            true => slots + texts.map_or(0, |texts| texts.data_size()),
            false => 0,
        }
    }

    /// The value of a row; `None` where the field is missing.
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!([
    ///     {"lap": 1, "sec": 88.25, "car": {"id": 7}, "tyres": [3, 4]},
    ///     {"lap": 2, "sec": null, "car": {"id": 7}, "tyres": []},
    ///     {"lap": 3, "sec": 87.5, "car": {"id": 9}, "tyres": [3]},
    ///     {"lap": 4, "sec": 88.0, "car": {"id": 9}, "tyres": [5]},
    /// ]);
    /// let table = doc.valid()?.root().as_array().unwrap().table().unwrap();
    /// let seconds = table.column("sec").unwrap();
    /// assert_eq!(seconds.get(0).unwrap(), 88.25);
    /// assert!(seconds.get(1).unwrap().is_null());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn get(&self, row: usize) -> M::Out<Value<'a, M>> {
        M::out(self.value(row))
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn raw(&self, index: u32) -> Result<Raw> {
        self.elements.element_inlined(self.bytes, index)
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn value(&self, row: usize) -> Result<Option<Value<'a, M>>> {
        if row >= self.len() {
            return Ok(None);
        }
        let raw = self.raw(row as u32)?;
        Ok((raw.tag != TAG_HOLE).then(|| Value::new(self.mode, self.bytes, raw)))
    }

    /// All rows' values in order, `None` where the field is missing.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = M::Item<Option<Value<'a, M>>>> + Clone + use<'a, M> {
        let column = *self;
        Rows { column, next: 0 }
    }

    /// The values as a borrowed slice. `None` unless they are exactly of this type, none is null
    /// or missing, the buffer is aligned for them, and the host is little-endian.
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!([
    ///     {"lap": 1, "sec": 88.25, "car": {"id": 7}, "tyres": [3, 4]},
    ///     {"lap": 2, "sec": null, "car": {"id": 7}, "tyres": []},
    ///     {"lap": 3, "sec": 87.5, "car": {"id": 9}, "tyres": [3]},
    ///     {"lap": 4, "sec": 88.0, "car": {"id": 9}, "tyres": [5]},
    /// ]);
    /// let table = doc.valid()?.root().as_array().unwrap().table().unwrap();
    /// let laps = table.column("lap").unwrap();
    /// assert_eq!(laps.as_slice::<i8>(), Some(&[1, 2, 3, 4][..]));
    /// assert!(laps.as_slice::<i64>().is_none());          // narrower
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn as_slice<T: Element>(&self) -> Option<&'a [T]> {
        if self.elements.gaps != GAPS_NONE {
            return None;
        }
        self.slots()
    }

    /// All slots as a slice, as [`as_slice`](Self::as_slice) gives them, also where some rows are
    /// without a value: their slots hold 0.
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!([
    ///     {"lap": 1, "sec": 88.25, "car": {"id": 7}, "tyres": [3, 4]},
    ///     {"lap": 2, "sec": null, "car": {"id": 7}, "tyres": []},
    ///     {"lap": 3, "sec": 87.5, "car": {"id": 9}, "tyres": [3]},
    ///     {"lap": 4, "sec": 88.0, "car": {"id": 9}, "tyres": [5]},
    /// ]);
    /// let table = doc.valid()?.root().as_array().unwrap().table().unwrap();
    /// let seconds = table.column("sec").unwrap();
    /// assert!(seconds.as_slice::<f32>().is_none());
    /// assert_eq!(seconds.slots::<f32>(), Some(&[88.25, 0.0, 87.5, 88.0][..]));
    /// let (bits, first) = seconds.validity().unwrap();
    /// assert_eq!((bits[0] & 0b1111, first), (0b1101, 0));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn slots<T: Element>(&self) -> Option<&'a [T]> {
        T::COLUMNS.contains(&self.elements.column).then(|| self.stored())?
    }

    /// The slots as they are stored, in elements of this type.
    pub(super) fn stored<T: bytemuck::AnyBitPattern>(&self) -> Option<&'a [T]> {
        if size_of::<T>() > 1 && cfg!(target_endian = "big") {
            return None;
        }
        let size = size_of::<T>() as u64;
        let start = self.elements.values_at() + self.elements.first as u64 * size;
        let bytes = slice(self.bytes, start, self.elements.count as u64 * size).ok()?;
        bytemuck::try_cast_slice(bytes).ok()
    }

    /// The bitmap that has a 1 for each row with a value, lowest bit first, and the bit of
    /// the first row. `None` where all rows have one.
    pub fn validity(&self) -> Option<(&'a [u8], usize)> {
        if self.elements.gaps == GAPS_NONE {
            return None;
        }
        self.bitmap(self.elements.bits_at(self.bytes).ok()?)
    }

    /// The bitmap of a column of booleans, lowest bit first, and the bit of the first row. A row
    /// without a value has 0. `None` for other columns.
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!([true, false, true, true]);
    /// let column = doc.valid()?.root().as_array().unwrap().as_column();
    /// assert_eq!(column.slice(1..).booleans(), Some((&[0b1101][..], 1)));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn booleans(&self) -> Option<(&'a [u8], usize)> {
        (self.elements.column == ColumnType::Bool)
            .then(|| self.bitmap(self.elements.values_at()))?
    }

    /// The bits of the rows in a bitmap at `offset`, and which bit is the first.
    fn bitmap(&self, offset: u64) -> Option<(&'a [u8], usize)> {
        let first = self.elements.first;
        let end = (u64::from(first) + u64::from(self.elements.count)).div_ceil(8);
        let start = u64::from(first / 8);
        let bytes = slice(self.bytes, offset + start, end - start).ok()?;
        Some((bytes, (first % 8) as usize))
    }

    /// The table of a struct column.
    pub fn table(&self) -> M::Out<Table<'a, M>> {
        M::out(self.inner())
    }

    /// An array's elements.
    #[inline]
    pub(super) fn over(mode: M, bytes: &'a [u8], elements: Elements) -> Self {
        Column { bytes, elements, mode }
    }

    #[inline]
    pub(super) fn inner(&self) -> Result<Option<Table<'a, M>>> {
        if self.elements.column != ColumnType::Struct {
            return Ok(None);
        }
        let block = Block::load(self.bytes, self.elements.data)?;
        let Elements { first, count, .. } = self.elements;
        let above = if self.elements.gaps == GAPS_NONE { 0 } else { self.elements.offset };
        Ok(Some(Table { bytes: self.bytes, block, first, count, above, mode: self.mode }))
    }

    /// The elements of all arrays of a list column, one after the other. Those of row r are at
    /// [`bounds`](Self::bounds)`(r)`.
    ///
    /// Where all arrays have one length, an array that is absent has slots there, too. They hold 0,
    /// and are not to be read as values.
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!([
    ///     {"lap": 1, "sec": 88.25, "car": {"id": 7}, "tyres": [3, 4]},
    ///     {"lap": 2, "sec": null, "car": {"id": 7}, "tyres": []},
    ///     {"lap": 3, "sec": 87.5, "car": {"id": 9}, "tyres": [3]},
    ///     {"lap": 4, "sec": 88.0, "car": {"id": 9}, "tyres": [5]},
    /// ]);
    /// let table = doc.valid()?.root().as_array().unwrap().table().unwrap();
    /// let tyres = table.column("tyres").unwrap();
    /// let elements = tyres.elements().unwrap();
    /// assert_eq!(elements.len(), 4);
    /// assert_eq!(tyres.bounds(2), Some(2..3));
    /// assert_eq!(elements.get(2).unwrap(), 3);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn elements(&self) -> M::Out<Column<'a, M>> {
        M::out(self.list().and_then(|list| {
            let elements = list.map(|list| list.child(self.bytes)).transpose()?;
            Ok(elements.map(|elements| Column { elements, ..*self }))
        }))
    }

    fn list(&self) -> Result<Option<List>> {
        match self.elements.column {
            ColumnType::List | ColumnType::FixedList => {
                List::load(self.bytes, self.elements.data).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The offsets of a list, which is this column's.
    pub(super) fn offsets_of(&self, list: List) -> Result<Self> {
        let mut elements = list.offsets(self.bytes)?;
        elements.first = self.elements.first;
        let rest = elements.count.saturating_sub(elements.first);
        elements.count = rest.min(self.elements.count.saturating_add(1));
        Ok(Column { bytes: self.bytes, elements, mode: self.mode })
    }

    /// Where the arrays of a list column begin among its [`elements`](Self::elements), and
    /// where the last one ends: one number more than rows. `None` where all have
    /// [one length](Self::fixed_length).
    pub fn offsets(&self) -> M::Out<Column<'a, M>> {
        M::out(self.list().and_then(|list| {
            list.filter(|list| list.length.is_none()).map(|list| self.offsets_of(list)).transpose()
        }))
    }

    /// Where a row's array lies among the [`elements`](Self::elements) of a list column.
    pub fn bounds(&self, row: usize) -> M::Out<Range<usize>> {
        M::out(self.list().and_then(|list| match list {
            Some(list) if row < self.len() => {
                let (start, count) = list.bounds(self.bytes, self.elements.first + row as u32)?;
                Ok(Some(start as usize..(start + count) as usize))
            }
            _ => Ok(None),
        }))
    }

    /// The length that all arrays of a list column have, where it is stored as such.
    pub fn fixed_length(&self) -> Option<usize> {
        self.list().ok().flatten()?.length.map(|length| length as usize)
    }

    /// The rows of a range, cut to those there are.
    pub fn slice(&self, rows: impl RangeBounds<usize>) -> Self {
        let Range { start, end } = cut(rows, self.len());
        let (first, count) = (self.elements.first + start as u32, (end - start) as u32);
        Column { elements: Elements { first, count, ..self.elements }, ..*self }
    }

    /// Integers of all rows, `None` where there is none that fits `i64`.
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!([
    ///     {"lap": 1, "sec": 88.25, "car": {"id": 7}, "tyres": [3, 4]},
    ///     {"lap": 2, "sec": null, "car": {"id": 7}, "tyres": []},
    ///     {"lap": 3, "sec": 87.5, "car": {"id": 9}, "tyres": [3]},
    ///     {"lap": 4, "sec": 88.0, "car": {"id": 9}, "tyres": [5]},
    /// ]);
    /// let table = doc.valid()?.root().as_array().unwrap().table().unwrap();
    /// assert_eq!(table.column("lap").unwrap().i64s().flatten().sum::<i64>(), 10);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn i64s(&self) -> impl ExactSizeIterator<Item = Option<i64>> + Clone + use<'a, M> {
        self.typed(|raw| (raw.tag == TAG_INT).then_some(raw.cell as i64))
    }

    /// What `of` makes of each row.
    fn typed<T>(
        self,
        of: impl Fn(Raw) -> Option<T> + Clone,
    ) -> impl ExactSizeIterator<Item = Option<T>> + Clone {
        // A damaged cell is no value.
        (0..self.elements.count).map(move |row| self.raw(row).ok().and_then(&of))
    }

    /// Numbers of all rows as doubles, by the rules of [`Value::as_f64`].
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!([
    ///     {"lap": 1, "sec": 88.25, "car": {"id": 7}, "tyres": [3, 4]},
    ///     {"lap": 2, "sec": null, "car": {"id": 7}, "tyres": []},
    ///     {"lap": 3, "sec": 87.5, "car": {"id": 9}, "tyres": [3]},
    ///     {"lap": 4, "sec": 88.0, "car": {"id": 9}, "tyres": [5]},
    /// ]);
    /// let table = doc.valid()?.root().as_array().unwrap().table().unwrap();
    /// let seconds: Vec<_> = table.column("sec").unwrap().f64s().collect();
    /// assert_eq!(seconds, [Some(88.25), None, Some(87.5), Some(88.0)]);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn f64s(&self) -> impl ExactSizeIterator<Item = Option<f64>> + Clone + use<'a, M> {
        let (mode, bytes) = (self.mode, self.bytes);
        self.typed(move |raw| match raw.tag {
            TAG_FLOAT => Some(f64::from_bits(raw.cell)),
            TAG_INT => Some(raw.cell as i64 as f64),
            _ => Value::new(mode, bytes, raw).as_f64(),
        })
    }

    /// Texts of all rows, `None` where there is none.
    ///
    /// ```
    /// let doc = livebuf::json!(["Ada", "Grace"]);
    /// let names = doc.valid()?.root().as_array().unwrap().as_column();
    /// assert_eq!(names.strs().flatten().collect::<Vec<_>>(), ["Ada", "Grace"]);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn strs(&self) -> impl ExactSizeIterator<Item = Option<&'a str>> + Clone + use<'a, M> {
        let (mode, bytes) = (self.mode, self.bytes);
        self.typed(move |raw| M::result(Value::new(mode, bytes, raw).as_str()).ok().flatten())
    }

    // --- searching ----------------------------------------------------------

    /// The first row that holds this number, text, boolean, date, time, decimal or UUID; a scan at
    /// memory speed where the column is typed.
    ///
    /// An integer finds integers, a float floats by their value (`-0.0` finds `0.0`, NaN nothing).
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!([
    ///     {"lap": 1, "sec": 88.25, "car": {"id": 7}, "tyres": [3, 4]},
    ///     {"lap": 2, "sec": null, "car": {"id": 7}, "tyres": []},
    ///     {"lap": 3, "sec": 87.5, "car": {"id": 9}, "tyres": [3]},
    ///     {"lap": 4, "sec": 88.0, "car": {"id": 9}, "tyres": [5]},
    /// ]);
    /// let table = doc.valid()?.root().as_array().unwrap().table().unwrap();
    /// assert_eq!(table.column("lap").unwrap().find(3), Some(2));
    /// assert_eq!(table.column("sec").unwrap().find(()), Some(1));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn find<'v>(&self, value: impl Into<Scalar<'v>>) -> M::Out<usize> {
        M::out(self.find_scalar(&value.into()))
    }

    fn find_scalar(&self, value: &Scalar<'_>) -> Result<Option<usize>> {
        self.scan(&match *value {
            Scalar::Int(value) => Wanted::Integers(value.into(), value.into()),
            Scalar::Uint(value) => Wanted::Integers(value.into(), value.into()),
            Scalar::Float(value) => Wanted::Float(value),
            Scalar::Str(text) => return self.find_text(text),
            Scalar::Bool(value) => Wanted::Tag(TAG_FALSE + value as u8),
            Scalar::Extended(value) => return self.find_extended(&value),
            Scalar::Null => Wanted::Tag(TAG_NULL),
        })
    }

    /// Rows whose integer lies in a range, rising.
    ///
    /// ```
    /// let doc = livebuf::json!([5, 1, 9, 7]);
    /// let column = doc.valid().unwrap().root().as_array().unwrap().as_column();
    /// assert_eq!(column.filter_i64(5..=8).collect::<Vec<_>>(), [0, 3]);
    /// ```
    pub fn filter_i64<R: RangeBounds<i64>>(
        &self,
        range: R,
    ) -> impl Iterator<Item = M::Item<usize>> + use<'a, M, R> {
        let low = match range.start_bound() {
            Bound::Included(&low) => low as i128,
            Bound::Excluded(&low) => low as i128 + 1,
            Bound::Unbounded => i128::MIN,
        };
        let high = match range.end_bound() {
            Bound::Included(&high) => high as i128,
            Bound::Excluded(&high) => high as i128 - 1,
            Bound::Unbounded => i128::MAX,
        };
        Matches { column: *self, next: 0, mask: 0, base: 0, wanted: Wanted::Integers(low, high) }
    }

    /// Rows whose number lies between two, both included, rising. Integers are found, too;
    /// number text is not.
    ///
    /// ```
    /// use livebuf::json;
    /// let doc = json!([
    ///     {"lap": 1, "sec": 88.25, "car": {"id": 7}, "tyres": [3, 4]},
    ///     {"lap": 2, "sec": null, "car": {"id": 7}, "tyres": []},
    ///     {"lap": 3, "sec": 87.5, "car": {"id": 9}, "tyres": [3]},
    ///     {"lap": 4, "sec": 88.0, "car": {"id": 9}, "tyres": [5]},
    /// ]);
    /// let table = doc.valid()?.root().as_array().unwrap().table().unwrap();
    /// let fast: Vec<_> = table.column("sec").unwrap().filter_f64(87.0, 88.0).collect();
    /// assert_eq!(fast, [2, 3]);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn filter_f64(
        &self,
        low: f64,
        high: f64,
    ) -> impl Iterator<Item = M::Item<usize>> + use<'a, M> {
        Matches { column: *self, next: 0, mask: 0, base: 0, wanted: Wanted::Numbers(low, high) }
    }

    fn scan(&self, wanted: &Wanted) -> Result<Option<usize>> {
        if let Wanted::Integers(low, high) = *wanted
            && low == high
            && let Some(slots) = self.slots::<i64>()
        {
            let Ok(wanted) = i64::try_from(low) else { return Ok(None) };
            return self.first_present(|start| {
                let at = slots[start..].iter().position(|&slot| slot == wanted)?;
                Some(start + at)
            });
        }
        for base in (0..self.len()).step_by(64) {
            let mask = self.matches(base, wanted)?;
            if mask != 0 {
                return Ok(Some(base + mask.trailing_zeros() as usize));
            }
        }
        Ok(None)
    }

    /// The first of the rows that `next` finds, each from a row on, that has a value at all.
    #[inline]
    pub(super) fn first_present(
        &self,
        next: impl Fn(usize) -> Option<usize>,
    ) -> Result<Option<usize>> {
        let mut start = 0;
        while let Some(row) = next(start) {
            if self.present(row, 1)? == 1 {
                return Ok(Some(row));
            }
            start = row + 1;
        }
        Ok(None)
    }

    fn find_extended(&self, value: &Extended) -> Result<Option<usize>> {
        let tag = value.tag();
        let (bytes, length) = match value.stored() {
            Stored::Cell(cell) => return self.scan(&Wanted::Cell(tag, cell)),
            Stored::Span(bytes, length) => (bytes, length),
        };
        for row in 0..self.elements.count {
            let raw = self.raw(row)?;
            if raw.tag == tag
                && span_bytes(self.bytes, raw.cell, raw.position.into())? == &bytes[..length]
            {
                return Ok(Some(row as usize));
            }
        }
        Ok(None)
    }

    /// The stored numbers of a column of dates: days since 1970-01-01. 0 where a row has no value.
    ///
    /// ```
    /// use livebuf::{Date, json};
    /// let doc = json!([Date::from_ymd(1970, 1, 2).unwrap(), Date::from_ymd(2000, 1, 1).unwrap()]);
    /// let column = doc.valid()?.root().as_array().unwrap().as_column();
    /// assert_eq!(column.days(), Some(&[1, 10_957][..]));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn days(&self) -> Option<&'a [i32]> {
        (self.elements.column == ColumnType::Date).then(|| self.stored())?
    }

    /// The stored numbers of a column of times, of dates and times, or of timestamps:
    /// microseconds. 0 where a row has no value.
    ///
    /// ```
    /// use livebuf::{Timestamp, json};
    /// let moment: Timestamp = "1970-01-01T00:00:01Z".parse()?;
    /// let doc = json!([moment, moment]);
    /// let column = doc.valid()?.root().as_array().unwrap().as_column();
    /// assert_eq!(column.microseconds(), Some(&[1_000_000, 1_000_000][..]));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn microseconds(&self) -> Option<&'a [i64]> {
        use ColumnType::*;
        matches!(self.elements.column, Time | DateTime | Timestamp).then(|| self.stored())?
    }

    /// The bytes of a column of UUIDs. Zeros where a row has no value.
    ///
    /// ```
    /// use livebuf::{Uuid, json};
    /// let id = Uuid::from_bytes(*b"sixteen bytes...");
    /// let doc = json!([id, id]);
    /// let column = doc.valid()?.root().as_array().unwrap().as_column();
    /// assert_eq!(column.uuids().unwrap()[1], *id.as_bytes());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn uuids(&self) -> Option<&'a [[u8; UUID_SIZE]]> {
        if self.elements.column != ColumnType::Uuid {
            return None;
        }
        let start = self.elements.values_at() + (self.elements.first as usize * UUID_SIZE) as u64;
        let bytes = slice(self.bytes, start, (self.len() * UUID_SIZE) as u64).ok()?;
        Some(bytes.as_chunks().0)
    }

    /// All rows as one tensor, whose first dimension is the rows. `None` unless each row is a
    /// tensor, all are of one type and shape, and none is without a value. The same works for a
    /// tensor's elements.
    ///
    /// ```
    /// use livebuf::{ColumnType, Encoder, Tensor};
    /// let mut encoder = Encoder::new();
    /// encoder.begin_array()?;
    /// for row in [[1i32, 2], [3, 4], [5, 6]] {
    ///     encoder.begin_object()?;
    ///     encoder.key("at")?;
    ///     encoder.tensor(&Tensor::new(&[2], &row)?)?;
    ///     encoder.end_object()?;
    /// }
    /// encoder.end_array()?;
    /// let doc = encoder.finish()?;
    /// let table = doc.valid()?.root().as_array().unwrap().table().unwrap();
    /// let all = table.column("at").unwrap().tensor().unwrap();
    /// assert_eq!(all.shape(), [3, 2]);
    /// assert_eq!(all.as_slice::<i32>(), Some(&[1, 2, 3, 4, 5, 6][..]));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn tensor(&self) -> M::Out<Tensor<'a>> {
        M::out(self.as_tensor())
    }

    fn as_tensor(&self) -> Result<Option<Tensor<'a>>> {
        let elements = self.elements;
        let is_tensor = match self.list()? {
            _ if elements.tensor => true,
            // With the rows as one more, there are at most so many dimensions.
            Some(list) => {
                let rows = Form::in_list(self.bytes, list)?;
                self.is_complete() && rows.is_some_and(|form| form.height() < MAX_DIMENSIONS as u16)
            }
            None => false,
        };
        match is_tensor {
            true => Tensor::of(self.bytes, Elements { tensor: true, ..elements }),
            false => Ok(None),
        }
    }

    /// A bit for each of the 64 rows from `base` on: whether it is wanted.
    #[inline]
    fn matches(&self, base: usize, wanted: &Wanted) -> Result<u64> {
        let end = (base + 64).min(self.len());
        match *wanted {
            Wanted::Integers(low, high) => {
                if let Some(mask) = self.integers(base, end, low, high) {
                    return self.present(base, mask);
                }
                // Rounded bounds may let too many pass, so those that pass are looked at again.
                if let Some(mask) = self.between(base, end, low as f64, high as f64) {
                    return self.retain(base, mask, |raw| wanted.is(raw));
                }
            }
            Wanted::Float(value) => {
                if let Some(mask) = self.between(base, end, value, value) {
                    return self.retain(base, mask, |raw| wanted.is(raw));
                }
            }
            Wanted::Numbers(low, high) => {
                if let Some(mask) = self.between(base, end, low, high) {
                    return self.present(base, mask);
                }
                if let Some((low, high)) = integers_between(low, high)
                    && let Some(mask) = self.integers(base, end, low, high)
                {
                    return self.present(base, mask);
                }
            }
            Wanted::Cell(tag, cell) if self.elements.column.extended_tag() == Some(tag) => {
                let mask = match self.days() {
                    Some(days) => Some(mask(&days[base..end], |day| day == cell as i32)),
                    None => self
                        .stored()
                        .map(|slots: &[i64]| mask(&slots[base..end], |slot| slot == cell as i64)),
                };
                if let Some(mask) = mask {
                    return self.present(base, mask);
                }
            }
            Wanted::Cell(..) | Wanted::Tag(_) => {}
        }
        let mut mask = 0u64;
        for (bit, row) in (base..end).enumerate() {
            let raw = self.raw(row as u32)?;
            mask |= (wanted.is(raw) as u64) << bit;
        }
        Ok(mask)
    }

    /// A bit for each row of a column of integers whose slot lies between two.
    #[inline]
    fn integers(&self, base: usize, end: usize, low: i128, high: i128) -> Option<u64> {
        macro_rules! of_types {
            ($($type:ident)+) => {
                match self.elements.column {
                    $(column if <$type as Element>::COLUMNS[0] == column => {
                        let slots = &self.slots::<$type>()?[base..end];
                        let (low, high) = (low.max($type::MIN.into()), high.min($type::MAX.into()));
                        if low > high {
                            return Some(0);
                        }
                        let (low, high) = (low as $type, high as $type);
                        Some(mask(slots, |slot| low <= slot && slot <= high))
                    })+
                    _ => None,
                }
            };
        }
        of_types!(i8 i16 i32 i64 u8 u16 u32 u64)
    }

    /// A bit for each row of a column of floats or numbers whose slot lies between two.
    fn between(&self, base: usize, end: usize, low: f64, high: f64) -> Option<u64> {
        if let Some(slots) = self.slots::<f64>() {
            return Some(mask(&slots[base..end], |slot| low <= slot && slot <= high));
        }
        let is_between = |slot: f32| low <= slot.into() && f64::from(slot) <= high;
        Some(mask(&self.slots::<f32>()?[base..end], is_between))
    }

    /// Of the marked rows, those whose value `is` takes.
    #[inline]
    fn retain(&self, base: usize, mask: u64, is: impl Fn(Raw) -> bool) -> Result<u64> {
        let (mut left, mut found) = (mask, 0);
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            found |= (is(self.raw(base as u32 + bit)?) as u64) << bit;
        }
        Ok(found)
    }

    /// Of the marked rows, those that hold a value.
    #[inline]
    pub(super) fn present(&self, base: usize, mask: u64) -> Result<u64> {
        match self.elements.gaps {
            GAPS_NONE => Ok(mask),
            _ => self.retain(base, mask, |raw| raw.tag != TAG_HOLE && raw.tag != TAG_NULL),
        }
    }
}

/// A bit for each of at most 64 slots.
#[inline]
fn mask<T: Copy>(slots: &[T], is: impl Fn(T) -> bool) -> u64 {
    let mut mask = 0;
    for (bit, &slot) in slots.iter().enumerate() {
        mask |= (is(slot) as u64) << bit;
    }
    mask
}

impl<M: Mode> core::fmt::Debug for Column<'_, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Column({:?}, {} rows)", self.column_type(), self.len())
    }
}

/// The value that a scan looks for.
#[derive(Clone, Copy)]
enum Wanted {
    Integers(i128, i128),
    /// This float, and no integer.
    Float(f64),
    /// Integers and floats.
    Numbers(f64, f64),
    /// An immediate value that JSON lacks: its tag and cell.
    Cell(u8, u64),
    Tag(u8),
}

impl Wanted {
    fn is(&self, raw: Raw) -> bool {
        match *self {
            Wanted::Integers(low, high) => {
                integer(raw).is_some_and(|value| low <= value && value <= high)
            }
            Wanted::Float(value) => raw.tag == TAG_FLOAT && f64::from_bits(raw.cell) == value,
            Wanted::Numbers(low, high) => match integer(raw) {
                Some(value) => integers_between(low, high)
                    .is_some_and(|(low, high)| low <= value && value <= high),
                None => {
                    let value = f64::from_bits(raw.cell);
                    raw.tag == TAG_FLOAT && low <= value && value <= high
                }
            },
            Wanted::Cell(tag, cell) => raw.tag == tag && raw.cell == cell,
            Wanted::Tag(tag) => raw.tag == tag,
        }
    }
}

fn integer(raw: Raw) -> Option<i128> {
    match raw.tag {
        TAG_INT => Some(raw.cell as i64 as i128),
        TAG_UINT => Some(raw.cell as i128),
        _ => None,
    }
}

/// The least and the greatest integer between two floats; `None` where one of them is NaN.
fn integers_between(low: f64, high: f64) -> Option<(i128, i128)> {
    let up = |value: f64, whole: i128| whole + ((whole as f64) < value) as i128;
    let down = |value: f64, whole: i128| whole - ((whole as f64) > value) as i128;
    let whole = |value: f64| value.clamp(-1e30, 1e30) as i128;
    (!low.is_nan() && !high.is_nan()).then(|| (up(low, whole(low)), down(high, whole(high))))
}

/// Rows that a scan finds, by masks of 64.
struct Matches<'a, M> {
    column: Column<'a, M>,
    next: usize,
    base: usize,
    mask: u64,
    wanted: Wanted,
}

impl<M: Mode> Iterator for Matches<'_, M> {
    type Item = M::Item<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.mask == 0 {
            if self.next >= self.column.len() {
                return None;
            }
            self.base = self.next;
            self.next += 64;
            match self.column.matches(self.base, &self.wanted) {
                Ok(mask) => self.mask = mask,
                Err(error) => {
                    self.next = usize::MAX;
                    return M::item(Err(error));
                }
            }
        }
        let row = self.base + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        M::item(Ok(row))
    }
}

#[derive(Clone)]
struct Rows<'a, M> {
    column: Column<'a, M>,
    next: u32,
}

impl<'a, M: Mode> Iterator for Rows<'a, M> {
    type Item = M::Item<Option<Value<'a, M>>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.column.elements.count {
            return None;
        }
        self.next += 1;
        M::item(self.column.value(self.next as usize - 1))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.column.elements.count - self.next) as usize;
        (left, Some(left))
    }
}

impl<M: Mode> ExactSizeIterator for Rows<'_, M> {}
