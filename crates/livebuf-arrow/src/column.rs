//! Columns of a document as arrays: borrowed where they lie as Arrow wants them, else built.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::NoUninit;
use half::f16;
use livebuf::raw::require_memory;
use livebuf::{
    Codes, Column, ColumnType, Decimal, Element, Key, Kind, Offsets, Table, Valid, Value,
};
use livebuf_json::{NonFinite, PrintOptions};

use crate::document::{Pinned, can_have};
use crate::error::{Error, ErrorKind, Result};
use crate::ffi::ArrowArray;
use crate::ffi::made::{Buffer, array, coded};
use crate::infer::decimal_of;
use crate::schema::{Field, Layout, Number, Type, Unit};
use crate::take::take;
use crate::text;

pub(crate) type Slot = Option<Value<'static, Valid>>;

/// Where arrays come from.
///
/// Others may write the document's memory after it was validated. Reading it is safe even then,
/// because every place is looked up within its bounds. What is read may be wrong. So arrays are
/// made of copies, and Arrow's rules are checked on the copies: that offsets never fall and stay
/// within what they lead into, that codes have a text, and that text is UTF-8. Only values of a
/// fixed width are borrowed.
pub(crate) struct Source {
    pinned: Arc<Pinned>,
    /// Borrow nothing.
    copy: bool,
    /// What JSON text has for NaN and infinities.
    non_finite: NonFinite,
    /// Floats round integers that they do not hold.
    rounds: bool,
    /// What was found of each dictionary, by the place of its first text's cell in the document.
    distinct: Mutex<HashMap<u32, Option<Arc<Distinct>>>>,
}

/// The different texts of a dictionary that has equal ones.
struct Distinct {
    texts: Vec<Slot>,
    /// For each code of the dictionary, the place of its text there. Never more than the code.
    places: Vec<u16>,
}

impl Distinct {
    /// `None` where all texts differ.
    fn of(all: Column<'static, Valid>) -> Result<Option<Distinct>> {
        let (mut known, mut different, mut places) = (HashMap::new(), Vec::new(), Vec::new());
        // No code leads to further texts.
        for slot in all.iter().take(1 << 16) {
            // If others write it, it may not be text any more.
            let text = match slot {
                Some(value) => value.checked().as_str()?,
                None => None,
            };
            let text = text.ok_or_else(|| changed(livebuf::ErrorKind::BadCell))?;
            places.push(*known.entry(text).or_insert_with(|| {
                different.push(slot);
                (different.len() - 1) as u16
            }));
        }
        let equal = different.len() < places.len();
        Ok(equal.then_some(Distinct { texts: different, places }))
    }
}

/// The memory says something else than when it was validated.
#[cold]
pub(crate) fn changed(kind: livebuf::ErrorKind) -> Error {
    livebuf::Error::new(kind, 0).into()
}

/// An offset of lists or texts.
pub(crate) trait Offset: Copy + Default + Ord + Send + Sync + 'static {
    /// Cut to the width, which only what others changed can need.
    fn cut(offset: usize) -> Self;
    fn place(self) -> Option<usize>;
}

macro_rules! offset {
    ($($type:ty),+) => {
        $(impl Offset for $type {
            #[inline]
            fn cut(offset: usize) -> Self {
                offset as $type
            }
            fn place(self) -> Option<usize> {
                self.try_into().ok()
            }
        })+
    };
}
offset!(i32, i64);

/// Whether offsets begin at 0, never fall, and end at `end`.
fn are_sound<T: Offset>(offsets: &[T], end: usize) -> bool {
    offsets.first() == Some(&T::default())
        && offsets.is_sorted()
        && offsets.last().and_then(|last| last.place()) == Some(end)
}

/// A number that columns and arrays hold alike.
trait Native: Element + NoUninit + Copy + Default + Send + Sync + 'static {
    /// `None` where it does not fit; floats hold it exactly, unless it may be `rounded`.
    fn from_integer(value: i128, rounded: bool) -> Option<Self>;
    fn from_f64(value: f64) -> Option<Self>;
}

macro_rules! native {
    ($from_f64:expr; $($type:ty),+) => {
        $(impl Native for $type {
            #[inline]
            fn from_integer(value: i128, _: bool) -> Option<Self> {
                value.try_into().ok()
            }
            #[inline]
            fn from_f64(_: f64) -> Option<Self> {
                None
            }
        })+
    };
    ($($type:ty),+) => {
        $(impl Native for $type {
            #[inline]
            fn from_integer(value: i128, rounded: bool) -> Option<Self> {
                let float = value as $type;
                (rounded || float as i128 == value).then_some(float)
            }
            #[inline]
            fn from_f64(value: f64) -> Option<Self> {
                Some(value as $type)
            }
        })+
    };
}
native!(None; i8, i16, i32, i64, u8, u16, u32, u64);
native!(f32, f64);

/// Does something for the Rust type of a number.
macro_rules! with_native {
    ($number:expr, $type:ident => $body:expr) => {
        match $number {
            Number::I8 => {
                type $type = i8;
                $body
            }
            Number::I16 => {
                type $type = i16;
                $body
            }
            Number::I32 => {
                type $type = i32;
                $body
            }
            Number::I64 => {
                type $type = i64;
                $body
            }
            Number::U8 => {
                type $type = u8;
                $body
            }
            Number::U16 => {
                type $type = u16;
                $body
            }
            Number::U32 => {
                type $type = u32;
                $body
            }
            Number::U64 => {
                type $type = u64;
                $body
            }
            Number::F32 => {
                type $type = f32;
                $body
            }
            Number::F64 => {
                type $type = f64;
                $body
            }
            Number::F16 => Err(unsupported(&Type::Number(Number::F16))),
        }
    };
}

pub(crate) fn unsupported(kind: &Type) -> Error {
    let message = format!("{kind} (format {:?}) cannot be exported", kind.format());
    Error::new(ErrorKind::Unsupported, message)
}

#[cold]
fn refused(value: &Value<'_, Valid>, kind: &Type) -> Error {
    let mut shown = format!("{:?}", value.checked());
    if let Some((end, _)) = shown.char_indices().nth(40) {
        shown.truncate(end);
        shown.push('…');
    }
    // A decimal may look like a float.
    let is_decimal = value.kind() == Kind::Decimal && matches!(kind, Type::Number(_));
    let what = if is_decimal { "the decimal " } else { "" };
    Error::new(ErrorKind::Cast, format!("{what}{shown} does not fit {kind}"))
}

fn too_much(what: &str) -> Error {
    let message = format!("more than 2^31 - 1 {what} in a batch: ask for smaller batches");
    Error::new(ErrorKind::Limit, message)
}

/// A number as 16 bits, where these hold it exactly.
fn half(value: &Value<'_, Valid>) -> Option<u16> {
    let number = value.as_f64().filter(|_| value.is_number())?;
    let half = f16::from_f64(number);
    (half.to_f64() == number || number.is_nan()).then(|| half.to_bits())
}

/// A bit of a bitmap, lowest first; not set after its end.
#[inline]
pub(crate) fn bit(bytes: &[u8], at: usize) -> bool {
    bytes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1)
}

/// Bits, lowest first.
#[derive(Default)]
pub(crate) struct Bits {
    pub(crate) bytes: Vec<u8>,
    length: usize,
    pub(crate) zeros: usize,
}

impl Bits {
    #[inline]
    fn push(&mut self, bit: bool) {
        if self.length.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(byte) = self.bytes.last_mut() {
            *byte |= (bit as u8) << (self.length % 8);
        }
        self.length += 1;
        self.zeros += !bit as usize;
    }
}

impl FromIterator<bool> for Bits {
    fn from_iter<I: IntoIterator<Item = bool>>(bits: I) -> Bits {
        let mut all = Bits::default();
        bits.into_iter().for_each(|bit| all.push(bit));
        all
    }
}

/// Which values are there: a bitmap if some are null, and how many are null.
pub(crate) struct Validity {
    bits: Option<Buffer>,
    nulls: usize,
}

impl Validity {
    const WHOLE: Validity = Validity { bits: None, nulls: 0 };

    fn of_bits(bits: Bits) -> Validity {
        let nulls = bits.zeros;
        Validity { bits: (nulls > 0).then(|| Buffer::built(bits.bytes)), nulls }
    }

    fn of(slots: impl Iterator<Item = Slot>) -> Validity {
        Validity::of_bits(slots.map(|slot| present(slot).is_some()).collect())
    }
}

/// More than this many bytes were wanted.
#[cold]
fn out_of_memory(bytes: usize) -> Error {
    livebuf::Error::out_of_memory(bytes as u64).into()
}

fn present(slot: Slot) -> Slot {
    slot.filter(|value| !value.is_null())
}

impl Source {
    pub(crate) fn new(
        pinned: Arc<Pinned>,
        copy: bool,
        non_finite: NonFinite,
        rounds: bool,
    ) -> Source {
        Source { pinned, copy, non_finite, rounds, distinct: Mutex::default() }
    }

    /// Whether others can write the document.
    fn is_shared(&self) -> bool {
        self.pinned.is_shared
    }

    /// Offsets into what has `end` elements.
    fn offsets<T: Offset + NoUninit>(&self, offsets: Vec<T>, end: usize) -> Result<Buffer> {
        if self.is_shared() && !are_sound(&offsets, end) {
            return Err(changed(livebuf::ErrorKind::BadIndex));
        }
        Ok(Buffer::built(offsets))
    }

    /// Refuses copied texts that are not UTF-8, each by itself.
    fn check_texts<T: Offset>(&self, offsets: &[T], texts: &[u8]) -> Result<()> {
        if !self.is_shared() {
            return Ok(());
        }
        let bad = || changed(livebuf::ErrorKind::BadText);
        let all = std::str::from_utf8(texts).map_err(|_| bad())?;
        let is_between = |offset: &T| offset.place().is_some_and(|at| all.is_char_boundary(at));
        if offsets.iter().all(is_between) { Ok(()) } else { Err(bad()) }
    }

    /// The arrays of the fields of rows that are objects; rows that are null are null in
    /// all of them.
    pub(crate) fn rows(
        &self,
        fields: &[Field],
        rows: Column<'static, Valid>,
    ) -> Result<Vec<ArrowArray>> {
        let made = match rows.table() {
            Some(table) => self.table(fields, table)?,
            None => self.objects(fields, &rows.iter().map(present).collect::<Vec<_>>())?,
        };
        refuse_nulls(fields, &made, || 0)?;
        Ok(made)
    }

    /// The array of a column.
    fn column(&self, kind: &Type, column: Column<'static, Valid>) -> Result<ArrowArray> {
        let made = match kind {
            Type::Number(number) => self.numbers(*number, column)?,
            Type::Struct(fields) => match column.table() {
                Some(table) => {
                    let children = self.table(fields, table)?;
                    let Validity { bits, nulls } = self.validity(column);
                    Some(array(column.len(), nulls, vec![bits], children))
                }
                None => None,
            },
            Type::List(_) | Type::LargeList(_) | Type::FixedList(..) => self.list(kind, column)?,
            Type::Tensor(lists) => Some(flat(lists, self.column(lists, column)?)?),
            Type::Dictionary(number, texts) => self.dictionary(*number, texts, column)?,
            Type::Text(layout) => self.run(*layout, column)?,
            kind => self.stored(kind, column),
        };
        match made {
            Some(made) => Ok(made),
            None => self.built(kind, column),
        }
    }

    fn table(&self, fields: &[Field], table: Table<'static, Valid>) -> Result<Vec<ArrowArray>> {
        let made = fields.iter().map(|field| {
            let made = match table.column(field.name.as_str()) {
                Some(column) => self.column(&field.kind, column),
                // Fields that no column holds are read row by row.
                None => {
                    let key = Key::new(&field.name);
                    let further = table.has_further_fields();
                    let row = |row| further.then(|| table.row(row)?.get(&key)).flatten();
                    require_memory(table.rows() * size_of::<Slot>())?;
                    let slots: Vec<Slot> = (0..table.rows()).map(row).collect();
                    self.values_of(&field.kind, &slots)
                }
            };
            made.map_err(|error| error.within(&field.name))
        });
        let made = made.collect::<Result<Vec<_>>>()?;
        let rows = || (0..table.rows()).filter(|&row| table.row(row).is_none()).count();
        refuse_nulls(fields, &made, rows)?;
        Ok(made)
    }

    pub(crate) fn objects(&self, fields: &[Field], rows: &[Slot]) -> Result<Vec<ArrowArray>> {
        let made = fields.iter().map(|field| {
            let key = Key::new(&field.name);
            let slots: Vec<Slot> =
                rows.iter().map(|row| row.and_then(|row| row.get(&key))).collect();
            self.values_of(&field.kind, &slots).map_err(|error| error.within(&field.name))
        });
        let made = made.collect::<Result<Vec<_>>>()?;
        let missing = || rows.iter().filter(|row| row.is_none()).count();
        refuse_nulls(fields, &made, missing)?;
        Ok(made)
    }

    /// The array of keys.
    pub(crate) fn keys(&self, field: &Field, keys: &[&'static str]) -> Result<ArrowArray> {
        let (layout, is_text) = match &field.kind {
            Type::Text(layout) => (*layout, true),
            Type::Binary(layout) => (*layout, false),
            kind => return Err(unsupported(kind)),
        };
        let texts = keys.iter().map(|key| Ok(Some(Cow::Borrowed(key.as_bytes()))));
        self.bytes(layout, is_text, keys.len(), Validity::WHOLE, texts)
    }

    /// The array of a column that is exported by itself.
    pub(crate) fn whole(
        &self,
        field: &Field,
        column: Column<'static, Valid>,
    ) -> Result<ArrowArray> {
        refuse_null_items(field, self.column(&field.kind, column)?)
    }

    /// The same of some rows. Other rows may cause an error, whose row number counts them, too.
    pub(crate) fn some(
        &self,
        field: &Field,
        column: Column<'static, Valid>,
        rows: &[Range<usize>],
    ) -> Result<ArrowArray> {
        let made = self.column(&field.kind, column)?;
        refuse_null_items(field, take(&field.kind, made, rows)?)
    }

    /// The same of values row by row.
    pub(crate) fn slots(&self, field: &Field, slots: &[Slot]) -> Result<ArrowArray> {
        refuse_null_items(field, self.values_of(&field.kind, slots)?)
    }

    // --- from columns -------------------------------------------------------

    /// Which rows of a column have a value.
    pub(crate) fn validity(&self, column: Column<'static, Valid>) -> Validity {
        if column.is_complete() {
            return Validity::WHOLE;
        }
        let bytes = match column.validity() {
            Some((bytes, 0)) => bytes,
            Some((bytes, first)) => {
                let bits = (first..first + column.len()).map(|row| bit(bytes, row));
                return Validity::of_bits(bits.collect());
            }
            None => {
                // If others overwrote it, the iterator may end early.
                let missing = std::iter::repeat(None);
                return Validity::of(column.iter().chain(missing).take(column.len()));
            }
        };
        // Nulls are counted in the bytes that Arrow gets, since others may write the document's.
        let copy = (self.copy || self.is_shared()).then(|| bytes.to_vec());
        let counted = copy.as_deref().unwrap_or(bytes);
        let length = column.len();
        let mut ones: usize = counted.iter().map(|byte| byte.count_ones() as usize).sum();
        if let (Some(last), 1..) = (counted.last(), length % 8) {
            ones -= (last >> (length % 8)).count_ones() as usize;
        }
        let nulls = length.saturating_sub(ones);
        let bits = match (nulls, copy) {
            (0, _) => None,
            (_, Some(copy)) => Some(Buffer::built(copy)),
            (_, None) => Some(Buffer::borrowed(bytes, &self.pinned)),
        };
        Validity { bits, nulls }
    }

    /// Numbers from a column of numbers; `None` where one does not fit, or for other columns.
    fn numbers(
        &self,
        number: Number,
        column: Column<'static, Valid>,
    ) -> Result<Option<ArrowArray>> {
        if number == Number::F16 {
            let halves = column.tensor().filter(|_| column.column_type() == ColumnType::F16);
            let values = halves.and_then(|tensor| bytemuck::try_cast_slice(tensor.as_bytes()).ok());
            let buffers = |values: &'static [u16]| vec![None, Some(self.buffer(values))];
            return Ok(values.map(|values| array(column.len(), 0, buffers(values), Vec::new())));
        }
        let Some(values) = with_native!(number, T => self.native::<T>(column))? else {
            return Ok(None);
        };
        let Validity { bits, nulls } = self.validity(column);
        Ok(Some(array(column.len(), nulls, vec![bits, Some(values)], Vec::new())))
    }

    /// Numbers or bytes that lie in the document as Arrow wants them.
    fn buffer<T: NoUninit + Send + Sync>(&self, values: &'static [T]) -> Buffer {
        match self.copy {
            true => Buffer::built(values.to_vec()),
            false => Buffer::borrowed(values, &self.pinned),
        }
    }

    fn native<T: Native>(&self, column: Column<'static, Valid>) -> Result<Option<Buffer>> {
        fn each<S: Element + Copy, T>(
            column: Column<'static, Valid>,
            convert: impl Fn(S) -> Option<T>,
        ) -> Option<Vec<T>> {
            column.slots::<S>()?.iter().map(|&slot| convert(slot)).collect()
        }
        let rounds = self.rounds;
        let stored = column.slots::<T>();
        if self.copy || stored.is_none() {
            require_memory(column.len() * size_of::<T>())?;
        }
        if let Some(slots) = stored {
            return Ok(Some(self.buffer(slots)));
        }
        let values = match column.column_type() {
            ColumnType::I8 => each::<i8, T>(column, |value| T::from_integer(value.into(), rounds)),
            ColumnType::I16 => {
                each::<i16, T>(column, |value| T::from_integer(value.into(), rounds))
            }
            ColumnType::I32 => {
                each::<i32, T>(column, |value| T::from_integer(value.into(), rounds))
            }
            ColumnType::I64 => {
                each::<i64, T>(column, |value| T::from_integer(value.into(), rounds))
            }
            ColumnType::U8 => each::<u8, T>(column, |value| T::from_integer(value.into(), rounds)),
            ColumnType::U16 => {
                each::<u16, T>(column, |value| T::from_integer(value.into(), rounds))
            }
            ColumnType::U32 => {
                each::<u32, T>(column, |value| T::from_integer(value.into(), rounds))
            }
            ColumnType::U64 => {
                each::<u64, T>(column, |value| T::from_integer(value.into(), rounds))
            }
            ColumnType::F32 | ColumnType::NumbersF32 | ColumnType::MarkedF32 => {
                each::<f32, T>(column, |value| T::from_f64(value.into()))
            }
            ColumnType::F64 | ColumnType::NumbersF64 | ColumnType::MarkedF64 => {
                each::<f64, T>(column, T::from_f64)
            }
            _ => None,
        };
        Ok(values.map(Buffer::built))
    }

    /// Dates, times and UUIDs that lie in the document as Arrow wants them; `None` for others.
    fn stored(&self, kind: &Type, column: Column<'static, Valid>) -> Option<ArrowArray> {
        let values = match (kind, column.column_type()) {
            (Type::Date32, _) => self.buffer(column.days()?),
            (Type::Time(Unit::Micro), ColumnType::Time) => self.buffer(column.microseconds()?),
            (Type::Timestamp(Unit::Micro, zone), stored) if stored == moment(zone).0 => {
                self.buffer(column.microseconds()?)
            }
            (Type::Uuid | Type::FixedBinary(16), _) => self.buffer(column.uuids()?),
            _ => return None,
        };
        let Validity { bits, nulls } = self.validity(column);
        Some(array(column.len(), nulls, vec![bits, Some(values)], Vec::new()))
    }

    /// The array of a column, value by value.
    fn built(&self, kind: &Type, column: Column<'static, Valid>) -> Result<ArrowArray> {
        if !self.is_shared() {
            return self.values(kind, column.iter(), || self.validity(column));
        }
        // Values and validity of one look. The iterator ends at damage.
        let slots: Vec<Slot> = column.iter().collect();
        match slots.len() == column.len() {
            true => self.values_of(kind, &slots),
            false => Err(changed(livebuf::ErrorKind::BadIndex)),
        }
    }

    /// The codes of a dictionary column, and its texts; `None` for other columns, and where codes
    /// are to be of another type.
    fn dictionary(
        &self,
        number: Number,
        kind: &Type,
        column: Column<'static, Valid>,
    ) -> Result<Option<ArrowArray>> {
        let Some(dictionary) = column.dictionary() else { return Ok(None) };
        let texts = dictionary.texts();
        if !can_have(column.document_length(), texts.len()) {
            return Err(changed(livebuf::ErrorKind::BadCount));
        }
        let distinct = self.distinct(texts)?;
        let codes = match (dictionary.codes(), number) {
            (Codes::U8(codes), Number::U8) => {
                self.codes(codes, texts.len(), distinct.as_deref())?
            }
            (Codes::U16(codes), Number::U16) => {
                self.codes(codes, texts.len(), distinct.as_deref())?
            }
            _ => return Ok(None),
        };
        let texts = match &distinct {
            Some(distinct) => self.values_of(kind, &distinct.texts)?,
            None => self.built(kind, texts)?,
        };
        let Validity { bits, nulls } = self.validity(column);
        Ok(Some(coded(column.len(), nulls, vec![bits, Some(codes)], Vec::new(), Some(texts))))
    }

    /// The different texts of a dictionary. `None` where all differ. They are looked at once.
    fn distinct(&self, texts: Column<'static, Valid>) -> Result<Option<Arc<Distinct>>> {
        let Some(first) = texts.get(0) else { return Ok(None) };
        let mut known = self.distinct.lock().unwrap_or_else(PoisonError::into_inner);
        let place = first.parts().position;
        if let Some(found) = known.get(&place) {
            return Ok(found.clone());
        }
        let found = Distinct::of(texts)?.map(Arc::new);
        known.insert(place, found.clone());
        Ok(found)
    }

    /// Codes of a dictionary of `texts` texts; if some are equal, those of its different texts.
    fn codes<T>(
        &self,
        codes: &'static [T],
        texts: usize,
        distinct: Option<&Distinct>,
    ) -> Result<Buffer>
    where
        T: NoUninit + Into<usize> + TryFrom<u16> + Send + Sync,
    {
        let bad = || changed(livebuf::ErrorKind::BadIndex);
        if let Some(Distinct { places, .. }) = distinct {
            let place = |&code: &T| T::try_from(*places.get(code.into())?).ok();
            let codes = codes.iter().map(place).collect::<Option<Vec<T>>>();
            return codes.map(Buffer::built).ok_or_else(bad);
        }
        if !self.is_shared() {
            return Ok(self.buffer(codes));
        }
        let codes = codes.to_vec();
        match codes.iter().all(|&code| code.into() < texts) {
            true => Ok(Buffer::built(codes)),
            false => Err(bad()),
        }
    }

    /// Texts that follow each other, and where each begins: as they are, or offsets in Arrow's
    /// width. `None` for other columns, and for views.
    fn run(&self, layout: Layout, column: Column<'static, Valid>) -> Result<Option<ArrowArray>> {
        fn from_start<T: Offset>(offsets: Offsets<'_>, start: usize, rows: usize) -> Vec<T> {
            let from_start = |offset: usize| T::cut(offset.wrapping_sub(start));
            match offsets {
                Offsets::U8(offsets) => offsets.iter().map(|&at| from_start(at.into())).collect(),
                Offsets::U16(offsets) => offsets.iter().map(|&at| from_start(at.into())).collect(),
                Offsets::U32(offsets) => {
                    offsets.iter().map(|&at| from_start(at as usize)).collect()
                }
                Offsets::Each(length) => (0..=rows).map(|row| from_start(row * length)).collect(),
            }
        }
        fn ends<T: Copy + Into<u64>>(offsets: &[T]) -> Option<(usize, usize)> {
            let (first, last) = (offsets.first()?, offsets.last()?);
            Some(((*first).into() as usize, (*last).into() as usize))
        }
        let Some(run) = column.run().filter(|_| layout != Layout::View) else { return Ok(None) };
        let ends = match run.offsets() {
            Offsets::U8(offsets) => ends(offsets),
            Offsets::U16(offsets) => ends(offsets),
            Offsets::U32(offsets) => ends(offsets),
            Offsets::Each(_) => Some((0, run.bytes().len())),
        };
        let bytes = ends.and_then(|(start, end)| Some((start, run.bytes().get(start..end)?)));
        let (start, bytes) = bytes.ok_or_else(|| changed(livebuf::ErrorKind::BadIndex))?;
        let copy = self.is_shared().then(|| bytes.to_vec());
        let texts = copy.as_deref().unwrap_or(bytes);
        let offsets = match (layout, run.offsets()) {
            (Layout::Large, offsets) => {
                let offsets = from_start::<i64>(offsets, start, column.len());
                self.check_texts(&offsets, texts)?;
                self.offsets(offsets, bytes.len())?
            }
            _ if i32::try_from(bytes.len()).is_err() => return Err(too_much("bytes of text")),
            (_, Offsets::U32(offsets)) if start == 0 && !self.is_shared() => self.buffer(offsets),
            (_, offsets) => {
                let offsets = from_start::<i32>(offsets, start, column.len());
                self.check_texts(&offsets, texts)?;
                self.offsets(offsets, bytes.len())?
            }
        };
        let Validity { bits, nulls } = self.validity(column);
        let texts = copy.map_or_else(|| self.buffer(bytes), Buffer::built);
        let buffers = vec![bits, Some(offsets), Some(texts)];
        Ok(Some(array(column.len(), nulls, buffers, Vec::new())))
    }

    /// Lists from a column of lists; `None` where lengths are to be fixed and are not.
    fn list(&self, kind: &Type, column: Column<'static, Valid>) -> Result<Option<ArrowArray>> {
        let (Some(elements), length) = (column.elements(), column.len()) else { return Ok(None) };
        let bounds = |row| column.bounds(row).unwrap_or(0..0);
        let (start, end) = match length {
            0 => (0, 0),
            _ => (bounds(0).start, bounds(length - 1).end),
        };
        let item = match kind {
            Type::FixedList(item, fixed) if column.fixed_length() == Some(*fixed) => item,
            Type::List(item) | Type::LargeList(item) => item,
            _ => return Ok(None),
        };
        let elements = elements.slice(start..end);
        let validity = self.validity(column);
        // The elements of a list that is not there are missing.
        let misses = validity.nulls > 0 && !elements.is_complete();
        if matches!(kind, Type::FixedList(..)) && misses && !item.nullable {
            return Ok(None);
        }
        if !can_have(column.document_length(), elements.len()) {
            return Err(changed(livebuf::ErrorKind::BadCount));
        }
        if let Type::FixedList(_, fixed) = kind
            && length.checked_mul(*fixed) != Some(elements.len())
        {
            return Err(changed(livebuf::ErrorKind::BadCount));
        }
        let child = || {
            let child = self.column(&item.kind, elements).map_err(Error::within_list);
            child.and_then(|child| refuse_null_items(item, child).map_err(Error::within_list))
        };
        let offsets = match kind {
            Type::FixedList(..) => None,
            // In an empty array there is one offset, too.
            _ => {
                let end = |row| bounds(row).end.wrapping_sub(start);
                Some(std::iter::once(0).chain((0..length).map(end)))
            }
        };
        let offsets = match (offsets, kind) {
            (None, _) => None,
            (Some(offsets), Type::LargeList(_)) => {
                Some(self.offsets(offsets.map(i64::cut).collect(), elements.len())?)
            }
            (Some(offsets), _) => {
                if i32::try_from(elements.len()).is_err() {
                    return Err(too_much("elements of lists"));
                }
                Some(self.offsets(offsets.map(i32::cut).collect(), elements.len())?)
            }
        };
        let Validity { bits, nulls } = validity;
        let buffers = match offsets {
            Some(offsets) => vec![bits, Some(offsets)],
            None => vec![bits],
        };
        Ok(Some(array(length, nulls, buffers, vec![child()?])))
    }

    // --- from values --------------------------------------------------------

    /// The array of values row by row.
    fn values_of(&self, kind: &Type, slots: &[Slot]) -> Result<ArrowArray> {
        if let Type::Tensor(lists) = kind {
            return flat(lists, self.values_of(lists, slots)?);
        }
        let validity = || Validity::of(slots.iter().copied());
        self.values(kind, slots.iter().copied(), validity)
    }

    /// The array of any values, where the type fits them.
    fn values<I>(
        &self,
        kind: &Type,
        slots: I,
        validity: impl Fn() -> Validity,
    ) -> Result<ArrowArray>
    where
        I: ExactSizeIterator<Item = Slot> + Clone,
    {
        let length = slots.len();
        // Values of 16 bytes and what is made of them; places in 64 bits and in 32.
        require_memory(length.saturating_mul(2 * size_of::<i128>()))?;
        let rows = slots.map(present).enumerate();
        /// Applies a conversion to each value, and refuses values that it does not convert.
        macro_rules! each {
            ($absent:expr, $value:ident => $convert:expr) => {
                rows.map(|(row, slot)| match slot {
                    None => Ok($absent),
                    Some($value) => $convert.ok_or_else(|| refused(&$value, kind).at_row(row)),
                })
                .collect::<Result<_>>()?
            };
        }
        match kind {
            Type::Null => match rows.clone().find_map(|(row, slot)| Some((row, slot?))) {
                Some((row, value)) => Err(refused(&value, kind).at_row(row)),
                None => Ok(array(length, length, Vec::new(), Vec::new())),
            },
            Type::Bool => {
                let bits: Bits = each!(false, value => value.as_bool());
                let Validity { bits: valid, nulls } = validity();
                Ok(array(length, nulls, vec![valid, Some(Buffer::built(bits.bytes))], Vec::new()))
            }
            Type::Number(Number::F16) => {
                let values: Vec<u16> = each!(0, value => half(&value));
                let Validity { bits, nulls } = validity();
                Ok(array(length, nulls, vec![bits, Some(Buffer::built(values))], Vec::new()))
            }
            Type::Number(number) => {
                let values = with_native!(*number, T => {
                    let values: Vec<T> = each!(T::default(), value => native::<T>(&value, self.rounds));
                    Ok(Buffer::built(values))
                })?;
                let Validity { bits, nulls } = validity();
                Ok(array(length, nulls, vec![bits, Some(values)], Vec::new()))
            }
            Type::Date32 => {
                let days: Vec<i32> = each!(0, value => day(&value));
                let Validity { bits, nulls } = validity();
                Ok(array(length, nulls, vec![bits, Some(Buffer::built(days))], Vec::new()))
            }
            Type::Date64 | Type::Time(_) | Type::Timestamp(..) | Type::Duration(_) => {
                let values: Vec<i64> = each!(0, value => ticks(kind, &value));
                let values = match kind {
                    // A day has fewer of them than four bytes hold.
                    Type::Time(Unit::Second | Unit::Milli) => {
                        Buffer::built(values.into_iter().map(|value| value as i32).collect())
                    }
                    _ => Buffer::built(values),
                };
                let Validity { bits, nulls } = validity();
                Ok(array(length, nulls, vec![bits, Some(values)], Vec::new()))
            }
            Type::Decimal { width, precision, scale } => {
                let values: Vec<i128> = each!(0, value => decimal_of(&value).and_then(|value| scaled(value, *precision, *scale)));
                // Values of this few digits fit.
                let values = match width {
                    4 => Buffer::built(values.into_iter().map(|value| value as i32).collect()),
                    8 => Buffer::built(values.into_iter().map(|value| value as i64).collect()),
                    _ => Buffer::built(values),
                };
                let Validity { bits, nulls } = validity();
                Ok(array(length, nulls, vec![bits, Some(values)], Vec::new()))
            }
            Type::Uuid => {
                let ids: Vec<[u8; 16]> =
                    each!([0; 16], value => value.as_uuid().map(|id| *id.as_bytes()));
                let Validity { bits, nulls } = validity();
                Ok(array(length, nulls, vec![bits, Some(Buffer::built(ids))], Vec::new()))
            }
            Type::FixedBinary(width) => {
                let mut bytes = Vec::with_capacity(length.saturating_mul(*width).min(1 << 20));
                for (row, slot) in rows {
                    match slot {
                        None => bytes.resize(bytes.len() + width, 0),
                        Some(value) => match (octets(&value), value.as_uuid()) {
                            (Some(octets), _) if octets.len() == *width => bytes.extend(octets),
                            (_, Some(id)) if *width == 16 => bytes.extend(id.as_bytes()),
                            _ => return Err(refused(&value, kind).at_row(row)),
                        },
                    }
                }
                let Validity { bits, nulls } = validity();
                Ok(array(length, nulls, vec![bits, Some(Buffer::built(bytes))], Vec::new()))
            }
            Type::Text(layout)
            | Type::Plain(layout)
            | Type::Json(layout)
            | Type::Binary(layout) => {
                let texts = rows.map(|(row, slot)| match slot {
                    None => Ok(None),
                    Some(value) => {
                        match bytes_of(kind, &value, self.is_shared(), self.non_finite) {
                            Ok(Some(bytes)) => Ok(Some(bytes)),
                            Ok(None) => Err(refused(&value, kind).at_row(row)),
                            Err(error) => Err(error.at_row(row)),
                        }
                    }
                });
                let is_text = !matches!(kind, Type::Binary(_));
                self.bytes(*layout, is_text, length, validity(), texts)
            }
            Type::Struct(fields) => {
                let objects =
                    each!(None, value => (value.kind() == Kind::Object).then_some(Some(value)));
                let objects: Vec<Slot> = objects;
                let children = self.objects(fields, &objects)?;
                let Validity { bits, nulls } = validity();
                Ok(array(length, nulls, vec![bits], children))
            }
            Type::List(item) | Type::LargeList(item) => {
                let (mut elements, mut offsets) = (Vec::new(), Vec::with_capacity(length + 1));
                offsets.push(0);
                for (row, slot) in rows {
                    if let Some(value) = slot {
                        let array = value.as_array();
                        let array = array.ok_or_else(|| refused(&value, kind).at_row(row))?;
                        if !can_have(value.document_length(), array.len()) {
                            return Err(changed(livebuf::ErrorKind::BadCount));
                        }
                        elements
                            .try_reserve(array.len())
                            .map_err(|_| out_of_memory(elements.len() * size_of::<Slot>()))?;
                        elements.extend(array.iter().map(Some));
                    }
                    offsets.push(elements.len() as i64);
                }
                let offsets = match (kind, i32::try_from(elements.len())) {
                    (Type::LargeList(_), _) => Buffer::built(offsets),
                    (_, Ok(_)) => {
                        let offsets = offsets.into_iter().map(|offset| offset as i32);
                        Buffer::built(offsets.collect::<Vec<_>>())
                    }
                    _ => return Err(too_much("elements of lists")),
                };
                let Validity { bits, nulls } = validity();
                let child = self.items(item, &elements)?;
                Ok(array(length, nulls, vec![bits, Some(offsets)], vec![child]))
            }
            Type::FixedList(item, fixed) => {
                let mut elements = Vec::new();
                for (row, slot) in rows {
                    match slot {
                        None => elements.resize(elements.len() + fixed, None),
                        Some(value) => match value.as_array() {
                            Some(array) if array.len() == *fixed => {
                                elements.extend(array.iter().map(Some));
                            }
                            _ => return Err(refused(&value, kind).at_row(row)),
                        },
                    }
                }
                let Validity { bits, nulls } = validity();
                Ok(array(length, nulls, vec![bits], vec![self.items(item, &elements)?]))
            }
            Type::Dictionary(number, texts) => {
                let (mut numbers, mut met) = (HashMap::new(), Vec::new());
                let mut code = |value: Value<'static, Valid>| {
                    // If others write it, it may not be text any more.
                    let text = value.checked().as_str().ok()??;
                    Some(*numbers.entry(text).or_insert_with(|| {
                        met.push(Some(value));
                        met.len() as u64 - 1
                    }))
                };
                let codes = with_native!(*number, T => {
                    let codes: Vec<T> =
                        each!(T::default(), value => code(value).and_then(|code| T::from_integer(code.into(), false)));
                    Ok(Buffer::built(codes))
                })?;
                let texts = self.values_of(texts, &met)?;
                let Validity { bits, nulls } = validity();
                Ok(coded(length, nulls, vec![bits, Some(codes)], Vec::new(), Some(texts)))
            }
            _ => Err(unsupported(kind)),
        }
    }

    fn items(&self, item: &Field, elements: &[Slot]) -> Result<ArrowArray> {
        let child = self.values_of(&item.kind, elements);
        let whole = child.and_then(|child| refuse_null_items(item, child));
        whole.map_err(Error::within_list)
    }

    // --- text and bytes -----------------------------------------------------

    fn bytes(
        &self,
        layout: Layout,
        is_text: bool,
        length: usize,
        validity: Validity,
        texts: impl Iterator<Item = Result<Option<Cow<'static, [u8]>>>>,
    ) -> Result<ArrowArray> {
        if layout == Layout::View {
            return self.views(is_text, length, validity, texts);
        }
        let Validity { bits, nulls } = validity;
        let (mut data, mut offsets) = (Vec::new(), Vec::with_capacity(length + 1));
        offsets.push(0);
        for text in texts {
            if let Some(text) = text? {
                data.try_reserve(text.len()).map_err(|_| out_of_memory(data.len()))?;
                data.extend_from_slice(&text);
            }
            offsets.push(data.len() as i64);
        }
        if is_text {
            self.check_texts(&offsets, &data)?;
        }
        let offsets = match (layout, i32::try_from(data.len())) {
            (Layout::Large, _) => Buffer::built(offsets),
            (_, Ok(_)) => {
                let offsets = offsets.into_iter().map(|offset| offset as i32);
                Buffer::built(offsets.collect::<Vec<_>>())
            }
            _ => return Err(too_much("bytes of text")),
        };
        let buffers = vec![bits, Some(offsets), Some(Buffer::built(data))];
        Ok(array(length, nulls, buffers, Vec::new()))
    }

    /// Views: what is longer than 12 bytes stays in the document, unless it is not there
    /// or is to be copied.
    fn views(
        &self,
        is_text: bool,
        length: usize,
        validity: Validity,
        texts: impl Iterator<Item = Result<Option<Cow<'static, [u8]>>>>,
    ) -> Result<ArrowArray> {
        let Validity { bits, nulls } = validity;
        let document = self.pinned.doc.as_bytes();
        let mut views = Vec::with_capacity(length);
        let mut pool = Pool::default();
        for text in texts {
            let mut view = [0; 16];
            if let Some(mut text) = text? {
                if self.is_shared() {
                    text = Cow::Owned(text.into_owned());
                    if is_text {
                        self.check_texts::<i64>(&[], &text)?;
                    }
                }
                let count = i32::try_from(text.len()).map_err(|_| too_much("bytes of text"))?;
                view[..4].copy_from_slice(&count.to_ne_bytes());
                if text.len() <= 12 {
                    view[4..4 + text.len()].copy_from_slice(&text);
                } else {
                    let (buffer, offset) = match &text {
                        Cow::Borrowed(text) if !self.copy => pool.borrow(document, text),
                        text => pool.copy(text),
                    };
                    view[4..8].copy_from_slice(&text[..4]);
                    view[8..12].copy_from_slice(&buffer.to_ne_bytes());
                    view[12..].copy_from_slice(&offset.to_ne_bytes());
                }
            }
            views.push(u128::from_ne_bytes(view));
        }
        let mut buffers = vec![bits, Some(Buffer::built(views))];
        let mut lengths = Vec::new();
        for buffer in pool.buffers {
            let (length, buffer) = match buffer {
                Pooled::Borrowed(bytes) => (bytes.len(), Buffer::borrowed(bytes, &self.pinned)),
                Pooled::Copied(bytes) => (bytes.len(), Buffer::built(bytes)),
            };
            lengths.push(length as i64);
            buffers.push(Some(buffer));
        }
        buffers.push(Some(Buffer::built(lengths)));
        Ok(array(length, nulls, buffers, Vec::new()))
    }
}

/// The buffers that views look into. Offsets have 31 bits, a document may have more:
/// each part of 1 GiB of it is a buffer that goes on behind the part.
#[derive(Default)]
struct Pool {
    buffers: Vec<Pooled>,
    /// Buffer of each part of the document.
    parts: [Option<i32>; 4],
    /// The buffer that texts are copied to.
    open: Option<usize>,
}

enum Pooled {
    Borrowed(&'static [u8]),
    Copied(Vec<u8>),
}

/// Bytes of a part of the document, and the most in a buffer of copied texts.
const PART: usize = 1 << 30;

impl Pool {
    fn borrow(&mut self, document: &'static [u8], text: &'static [u8]) -> (i32, i32) {
        let at = (text.as_ptr() as usize).wrapping_sub(document.as_ptr() as usize);
        let Some(part) =
            self.parts.get_mut(at / PART).filter(|_| at + text.len() <= document.len())
        else {
            return self.copy(text);
        };
        let buffer = *part.get_or_insert_with(|| {
            let start = at / PART * PART;
            let end = document.len().min(start + i32::MAX as usize);
            self.buffers.push(Pooled::Borrowed(&document[start..end]));
            self.buffers.len() as i32 - 1
        });
        (buffer, (at % PART) as i32)
    }

    fn copy(&mut self, text: &[u8]) -> (i32, i32) {
        if let Some(open) = self.open
            && let Some(Pooled::Copied(bytes)) = self.buffers.get_mut(open)
            && bytes.len() < PART
        {
            bytes.extend_from_slice(text);
            return (open as i32, (bytes.len() - text.len()) as i32);
        }
        self.open = Some(self.buffers.len());
        self.buffers.push(Pooled::Copied(text.to_vec()));
        (self.buffers.len() as i32 - 1, 0)
    }
}

fn native<T: Native>(value: &Value<'_, Valid>, rounds: bool) -> Option<T> {
    match value.kind() {
        Kind::Int => T::from_integer(value.as_i64()?.into(), rounds),
        Kind::Uint => T::from_integer(value.as_u64()?.into(), rounds),
        Kind::Float => T::from_f64(value.as_f64()?),
        Kind::NumberText if rounds => T::from_f64(value.as_f64()?),
        Kind::Decimal if rounds => T::from_f64(value.as_decimal()?.to_string().parse().ok()?),
        _ => None,
    }
}

/// The column and the kind of timestamps with this zone, or without one.
fn moment(zone: &str) -> (ColumnType, Kind) {
    match zone {
        "" => (ColumnType::DateTime, Kind::DateTime),
        _ => (ColumnType::Timestamp, Kind::Timestamp),
    }
}

fn day(value: &Value<'_, Valid>) -> Option<i32> {
    match value.kind() {
        Kind::String => text::parse_date(value.checked().as_str().ok()??)?.try_into().ok(),
        _ => Some(value.as_date()?.days()),
    }
}

/// A date, a time or a duration in the type's unit; `None` where it is of another kind, or no whole
/// number.
fn ticks(kind: &Type, value: &Value<'_, Valid>) -> Option<i64> {
    const DAY: i64 = 86_400_000;
    if value.kind() == Kind::String {
        let text = value.checked().as_str().ok()??;
        let (unit, nanoseconds) = match kind {
            Type::Date64 => match text::parse_date(text) {
                Some(days) => return days.checked_mul(DAY),
                None => (Unit::Milli, text::parse_timestamp(text, false)?),
            },
            Type::Time(unit) => (*unit, text::parse_time(text)?),
            Type::Timestamp(unit, zone) => (*unit, text::parse_timestamp(text, !zone.is_empty())?),
            Type::Duration(unit) => (*unit, text::parse_duration(text)?),
            _ => return None,
        };
        let each = i128::from(1_000_000_000 / unit.per_second());
        return (nanoseconds % each == 0).then(|| i64::try_from(nanoseconds / each).ok())?;
    }
    match kind {
        Type::Date64 => match value.as_date() {
            Some(date) => Some(i64::from(date.days()) * DAY),
            None => Unit::Milli.of_microseconds(value.as_date_time()?.microseconds()),
        },
        Type::Time(unit) => unit.of_microseconds(value.as_time()?.microseconds()),
        Type::Timestamp(unit, zone) if value.kind() == moment(zone).1 => {
            let local = value.as_date_time().map(|value| value.microseconds());
            let value = local.or_else(|| value.as_timestamp().map(|value| value.microseconds()))?;
            unit.of_microseconds(value)
        }
        _ => None,
    }
}

/// A decimal as a whole number of this scale; `None` where that loses digits, or has too many.
fn scaled(value: Decimal, precision: u8, scale: i32) -> Option<i128> {
    if value.coefficient() == 0 {
        return Some(0);
    }
    let power = |exponent: i32| 10i128.checked_pow(exponent.try_into().ok()?);
    let more = scale - i32::from(value.scale());
    let scaled = if more >= 0 {
        value.coefficient().checked_mul(power(more)?)?
    } else {
        let each = power(-more)?;
        (value.coefficient() % each == 0).then_some(value.coefficient() / each)?
    };
    let most = power(precision.into())?;
    (-most < scaled && scaled < most).then_some(scaled)
}

fn octets(value: &Value<'static, Valid>) -> Option<&'static [u8]> {
    value.as_bytes().or_else(|| Some(value.checked().as_str().ok()??.as_bytes()))
}

/// The bytes that a value is in a column of text, JSON text, or bytes.
///
/// Printing looks closely at text. Where others can write it, it is checked.
fn bytes_of(
    kind: &Type,
    value: &Value<'static, Valid>,
    is_shared: bool,
    non_finite: NonFinite,
) -> Result<Option<Cow<'static, [u8]>>> {
    let printed = || {
        let options = PrintOptions::new().non_finite(non_finite);
        match is_shared {
            true => livebuf_json::to_vec_with(value.checked(), &options),
            false => livebuf_json::to_vec_with(*value, &options),
        }
    };
    if is_shared && matches!(kind, Type::Text(_) | Type::Binary(_)) {
        let text = value.checked().as_str()?.map(str::as_bytes);
        let octets = if matches!(kind, Type::Binary(_)) { value.as_bytes() } else { None };
        return Ok(text.or(octets).map(Cow::Borrowed));
    }
    if matches!(kind, Type::Plain(_)) && value.kind() == Kind::String {
        return Ok(value.checked().as_str()?.map(|text| Cow::Borrowed(text.as_bytes())));
    }
    Ok(match kind {
        Type::Text(_) => value.as_str().map(|text| Cow::Borrowed(text.as_bytes())),
        Type::Binary(_) => octets(value).map(Cow::Borrowed),
        _ => match printed() {
            // A date, say, which has no quotes within.
            Ok(mut text) if matches!(kind, Type::Plain(_)) && text.first() == Some(&b'"') => {
                text.pop();
                text.remove(0);
                Some(Cow::Owned(text))
            }
            Ok(text) => Some(Cow::Owned(text)),
            Err(error) => {
                if let Some(core) = error.core_error() {
                    return Err(core.into());
                }
                let message = match error.kind() {
                    livebuf_json::ErrorKind::NotFinite => {
                        "NaN or an infinity in a column of mixed values, which has JSON: JSON has \
                         neither; the export's option `non_finite` prints null for them"
                            .to_owned()
                    }
                    _ => format!("a value cannot be printed as JSON text: {error}"),
                };
                return Err(Error::new(ErrorKind::Json, message));
            }
        },
    })
}

// --- nulls where the consumer wants none ------------------------------------

/// Refuses nulls in fields that are to have none, but for those in structs that are null.
fn refuse_nulls(fields: &[Field], made: &[ArrowArray], missing: impl Fn() -> usize) -> Result<()> {
    for (field, column) in fields.iter().zip(made) {
        if !field.nullable && column.nulls() > 0 && column.nulls() > missing() {
            return Err(null(field).within(&field.name));
        }
    }
    Ok(())
}

/// The array of lists in each other as one of tensors. None of the lists within may be null, but in
/// rows that are.
fn flat(lists: &Type, mut array: ArrowArray) -> Result<ArrowArray> {
    let (rows, nulls) = (array.len(), array.nulls());
    for _ in 1..lists.shape().0.len() {
        let Some(below) = array.lift() else { return Err(unsupported(lists)) };
        if below.nulls() > 0 && below.nulls() * rows != nulls * below.len() {
            return Err(null(&Field::new("item", lists.clone())));
        }
    }
    Ok(array)
}

fn refuse_null_items(item: &Field, child: ArrowArray) -> Result<ArrowArray> {
    if !item.nullable && child.nulls() > 0 {
        return Err(null(item));
    }
    Ok(child)
}

fn null(field: &Field) -> Error {
    let message = format!("a value is null or missing, and {} is to be not null", field.kind);
    Error::new(ErrorKind::Cast, message)
}
