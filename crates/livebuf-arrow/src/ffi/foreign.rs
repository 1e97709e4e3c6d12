//! Reading structures that others made: they become plain slices, all checked that can be.
//!
//! The interface says where buffers begin and never how long they are: that they are as
//! long as lengths and offsets demand is the producer's word. All else is checked:
//! counts, null pointers, signs and order of offsets, ranges of views.

use std::ffi::{CStr, c_void};
use std::slice;

use super::made::NO_MEMORY;
use super::{
    ArrowArray, ArrowArrayStream, ArrowSchema, EXTENSION, JSON, NULLABLE, PARAMETERS, RecordBatch,
    TENSOR, UUID, VARIANT,
};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{Field, Layout, MAX_DEPTH, Number, Type};

fn mismatch(message: &'static str) -> Error {
    Error::new(ErrorKind::Mismatch, message)
}

fn count(number: i64) -> Result<usize> {
    usize::try_from(number).map_err(|_| mismatch("a count is negative or too large"))
}

// --- schemas ----------------------------------------------------------------

impl ArrowSchema {
    /// The field, with all below it.
    pub(crate) fn field(&self) -> Result<Field> {
        self.field_at(0)
    }

    fn field_at(&self, depth: usize) -> Result<Field> {
        if self.is_released() {
            return Err(Error::new(ErrorKind::Producer, "the schema was released"));
        }
        let name = text(self.name)?.unwrap_or("");
        let kind =
            self.kind(depth).map_err(|error| if depth > 0 { error.within(name) } else { error })?;
        let metadata = self.metadata()?;
        let metadata = metadata.into_iter().map(|(key, value)| (key.to_vec(), value.to_vec()));
        let (nullable, metadata) = (self.flags & NULLABLE != 0, metadata.collect());
        Ok(Field { name: name.to_owned(), nullable, kind, metadata })
    }

    fn kind(&self, depth: usize) -> Result<Type> {
        if depth > MAX_DEPTH + 2 {
            return Err(Error::new(ErrorKind::Unsupported, "types are nested too deeply"));
        }
        let children = pointers(self.children, self.n_children)?
            .iter()
            .map(|&child| {
                // SAFETY: children of a schema are schemas, which live as long as it does.
                let child = unsafe { child.as_ref() };
                child.ok_or_else(|| mismatch("a child is missing"))?.field_at(depth + 1)
            })
            .collect::<Result<Vec<_>>>()?;
        let format = text(self.format)?.ok_or_else(|| mismatch("the format is missing"))?;
        // SAFETY: a dictionary's schema lives as long as that of its indices.
        let dictionary = unsafe { self.dictionary.as_ref() };
        let dictionary = dictionary.map(|dictionary| dictionary.kind(depth + 1)).transpose()?;
        Type::of(format, children, dictionary, &self.metadata()?)
    }
}

impl Type {
    /// The type that a format string names, with what a schema says besides.
    pub(crate) fn of<T: AsRef<[u8]>>(
        format: &str,
        children: Vec<Field>,
        dictionary: Option<Type>,
        metadata: &[(T, T)],
    ) -> Result<Type> {
        let under = |wanted: &[u8]| {
            let found = metadata.iter().find(|(key, _)| key.as_ref() == wanted);
            found.map(|(_, value)| value.as_ref())
        };
        let extension = under(EXTENSION);
        let kind = match Type::parse(format, children)? {
            Type::FixedBinary(16) if extension == Some(UUID) => Type::Uuid,
            Type::Text(layout) if extension == Some(JSON) => Type::Json(layout),
            Type::Struct(fields) if extension == Some(VARIANT) => Type::Variant(fields),
            Type::FixedList(item, length) if extension == Some(TENSOR) => {
                let shape = under(PARAMETERS).and_then(shape).unwrap_or_default();
                let tensor = Type::tensor(&item, length, &shape);
                tensor.unwrap_or(Type::FixedList(item, length))
            }
            kind => kind,
        };
        let Some(dictionary) = dictionary else { return Ok(kind) };
        match kind {
            Type::Number(number) if !matches!(number, Number::F16 | Number::F32 | Number::F64) => {
                Ok(Type::Dictionary(number, Box::new(dictionary)))
            }
            _ => Err(mismatch("a dictionary's indices are no integers")),
        }
    }
}

impl ArrowSchema {
    /// The keys and values of the field's metadata.
    fn metadata(&self) -> Result<Vec<(&[u8], &[u8])>> {
        let mut pairs = Vec::new();
        if self.metadata.is_null() {
            return Ok(pairs);
        }
        let mut at = self.metadata.cast::<u8>();
        let mut take = |length: usize| {
            // SAFETY: metadata is a count of pairs, then for each the length and bytes of its key,
            // and of its value (Arrow C Data Interface, "ArrowSchema.metadata"). It lives as long
            // as the schema, which is borrowed.
            let bytes: &[u8] = unsafe { slice::from_raw_parts(at, length) };
            at = at.wrapping_add(length);
            bytes
        };
        let number = |bytes| count(fixed(bytes, 0).map_or(-1, i32::from_ne_bytes).into());
        for _ in 0..number(take(4))? {
            let length = number(take(4))?;
            let key = take(length);
            let length = number(take(4))?;
            pairs.push((key, take(length)));
        }
        Ok(pairs)
    }
}

/// The shape of tensors that lie in memory as it says; `None` if their axes are exchanged.
fn shape(parameters: &[u8]) -> Option<Vec<usize>> {
    let parameters = livebuf_json::from_slice(parameters).ok()?;
    let parameters = parameters.valid().ok()?.root();
    let numbers = |key: &str| {
        let numbers = parameters.get(key)?.as_array()?;
        let numbers = numbers.iter().map(|number| usize::try_from(number.as_u64()?).ok());
        numbers.collect::<Option<Vec<usize>>>()
    };
    let shape = numbers("shape")?;
    let in_order = match parameters.get("permutation") {
        Some(order) if !order.is_null() => numbers("permutation")?.into_iter().eq(0..shape.len()),
        _ => true,
    };
    in_order.then_some(shape)
}

fn text<'a>(start: *const std::ffi::c_char) -> Result<Option<&'a str>> {
    if start.is_null() {
        return Ok(None);
    }
    // SAFETY: the interface's strings end with a zero byte, and live as long as their
    // structure, which the caller borrows.
    let text = unsafe { CStr::from_ptr(start) };
    text.to_str().map(Some).map_err(|_| mismatch("a name or format is not UTF-8"))
}

fn pointers<'a, T>(start: *mut *mut T, length: i64) -> Result<&'a [*mut T]> {
    let length = count(length)?;
    if length == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(mismatch("the children are missing"));
    }
    // SAFETY: the structure, which the caller borrows, says that this many are there.
    Ok(unsafe { slice::from_raw_parts(start, length) })
}

// --- arrays -----------------------------------------------------------------

/// The values of an array, from its offset on: plain slices, which the array keeps.
pub(crate) struct Values<'a> {
    pub(crate) length: usize,
    /// A bit for each value, and which is the first; all are valid without.
    validity: Option<(&'a [u8], usize)>,
    pub(crate) data: Data<'a>,
}

pub(crate) enum Data<'a> {
    Null,
    /// Bits, and which is the first.
    Bool(&'a [u8], usize),
    /// This many bytes for each.
    Fixed(&'a [u8], usize),
    /// Text or bytes between offsets.
    Variable(Offsets<'a>, &'a [u8]),
    /// Views, and the buffers that they look into.
    Views(&'a [u8], Vec<&'a [u8]>),
    Struct(Vec<Values<'a>>),
    List(Offsets<'a>, Box<Values<'a>>),
    FixedList(usize, Box<Values<'a>>),
    /// Indices of this many bytes each, and what they select from.
    Dictionary(Number, &'a [u8], Box<Values<'a>>),
}

/// Rising offsets, one more than there are values.
#[derive(Clone, Copy)]
pub(crate) struct Offsets<'a> {
    bytes: &'a [u8],
    large: bool,
}

impl Offsets<'_> {
    /// What belongs to a value below the length.
    pub(crate) fn range(&self, index: usize) -> std::ops::Range<usize> {
        self.at(index)..self.at(index + 1)
    }

    fn at(&self, index: usize) -> usize {
        // They were found to be neither negative nor too large.
        self.signed(index).map_or(0, |offset| offset as usize)
    }

    fn signed(&self, index: usize) -> Option<i64> {
        match self.large {
            true => Some(i64::from_ne_bytes(fixed(self.bytes, index)?)),
            false => Some(i32::from_ne_bytes(fixed(self.bytes, index)?).into()),
        }
    }

    /// The last offset, if all rise from 0 or more.
    fn check(&self, length: usize) -> Result<usize> {
        let mut last = 0;
        for index in 0..=length {
            match self.signed(index) {
                Some(offset) if offset >= last => last = offset,
                _ => return Err(mismatch("the offsets are negative or do not rise")),
            }
        }
        count(last)
    }
}

/// The bytes of a fixed-width value.
pub(crate) fn fixed<const N: usize>(bytes: &[u8], index: usize) -> Option<[u8; N]> {
    bytes.get(index * N..)?.first_chunk().copied()
}

fn bit(bytes: &[u8], index: usize) -> bool {
    bytes.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}

impl<'a> Values<'a> {
    /// Whether there is a value.
    pub(crate) fn is_valid(&self, index: usize) -> bool {
        self.validity.is_none_or(|(bits, first)| bit(bits, first + index))
    }

    /// Whether all values of a range are valid.
    pub(crate) fn are_valid(&self, range: std::ops::Range<usize>) -> bool {
        self.validity.is_none() || range.into_iter().all(|index| self.is_valid(index))
    }

    /// The bytes that a view shows.
    pub(crate) fn view(views: &'a [u8], buffers: &[&'a [u8]], index: usize) -> Result<&'a [u8]> {
        let word = |part: usize| fixed(views, 4 * index + part).map_or(0, i32::from_ne_bytes);
        let found = usize::try_from(word(0)).ok().and_then(|length| {
            if length <= 12 {
                let start = 16 * index + 4;
                return views.get(start..start + length);
            }
            let buffer = buffers.get(usize::try_from(word(2)).ok()?)?;
            let start = usize::try_from(word(3)).ok()?;
            buffer.get(start..start.checked_add(length)?)
        });
        found.ok_or_else(|| mismatch("a view looks outside its buffers"))
    }

    /// Reads an array's values; with `part`, a first value and a count, only those.
    ///
    /// # Safety
    /// The array must be one of this type, as the interface demands.
    unsafe fn read(
        kind: &Type,
        array: &'a ArrowArray,
        part: Option<(usize, usize)>,
    ) -> Result<Self> {
        if array.is_released() {
            return Err(Error::new(ErrorKind::Producer, "the array was released"));
        }
        let (offset, whole) = (count(array.offset)?, count(array.length)?);
        let (skip, length) = part.unwrap_or((0, whole));
        let too_long = || mismatch("a child is shorter than its parent");
        if skip.checked_add(length).ok_or_else(too_long)? > whole {
            return Err(too_long());
        }
        // All byte counts below stay far from overflow.
        let limit = isize::MAX as usize / 64;
        let first = offset.checked_add(skip).filter(|first| *first < limit && length < limit);
        let first = first.ok_or_else(|| mismatch("a count is too large"))?;
        let source = Source { array, first, length };
        // SAFETY: the array is of this type, as the caller promises.
        unsafe { source.read(kind) }
    }
}

/// Values of an array from `first` on, counted from the start of its buffers.
struct Source<'a> {
    array: &'a ArrowArray,
    first: usize,
    length: usize,
}

impl<'a> Source<'a> {
    /// # Safety
    /// The array must be one of this type, as the interface demands.
    unsafe fn read(&self, kind: &Type) -> Result<Values<'a>> {
        let (first, length) = (self.first, self.length);
        let buffers = match kind {
            Type::Null => 0,
            Type::Struct(_) | Type::Variant(_) | Type::FixedList(..) | Type::Tensor(_) => 1,
            Type::Text(Layout::View) | Type::Binary(Layout::View) => {
                usize::try_from(self.array.n_buffers).unwrap_or(0).max(3)
            }
            Type::Text(_) | Type::Plain(_) | Type::Json(_) | Type::Binary(_) => 3,
            _ => 2,
        };
        if self.array.n_buffers != buffers as i64 {
            // The null type had a buffer in old versions.
            if !(matches!(kind, Type::Null) && self.array.n_buffers == 1) {
                return Err(mismatch("the count of buffers is not its type's"));
            }
        }
        // SAFETY: the caller's promise: buffers are as long as first and length say.
        unsafe {
            let data = match kind {
                Type::Null => Data::Null,
                Type::Bool => Data::Bool(self.bits(1)?, first % 8),
                Type::Number(number) => self.fixed(number.width())?,
                Type::FixedBinary(width) => self.fixed(*width)?,
                Type::Uuid => self.fixed(16)?,
                Type::Decimal { width, .. } => self.fixed(*width)?,
                Type::Date32 => self.fixed(4)?,
                Type::Time(crate::schema::Unit::Second | crate::schema::Unit::Milli) => {
                    self.fixed(4)?
                }
                Type::Date64 | Type::Time(_) | Type::Timestamp(..) | Type::Duration(_) => {
                    self.fixed(8)?
                }
                Type::Text(Layout::View) | Type::Binary(Layout::View) => {
                    let views = self.bytes(1, first * 16, length * 16)?;
                    Data::Views(views, self.variadic(buffers - 3)?)
                }
                Type::Text(layout)
                | Type::Plain(layout)
                | Type::Json(layout)
                | Type::Binary(layout) => {
                    let (offsets, end) = self.offsets(*layout == Layout::Large)?;
                    Data::Variable(offsets, self.bytes(2, 0, end)?)
                }
                Type::Struct(fields) | Type::Variant(fields) => {
                    let children =
                        self.children(fields.len())?.zip(fields).map(|(child, field)| {
                            Values::read(&field.kind, child?, Some((first, length)))
                                .map_err(|error| error.within(&field.name))
                        });
                    Data::Struct(children.collect::<Result<_>>()?)
                }
                Type::List(item) | Type::LargeList(item) => {
                    let (offsets, end) = self.offsets(matches!(kind, Type::LargeList(_)))?;
                    let child = self.only_child(&item.kind, None)?;
                    if end > child.length {
                        return Err(mismatch("the offsets lead beyond the elements"));
                    }
                    Data::List(offsets, Box::new(child))
                }
                Type::FixedList(item, size) => self.fixed_list(&item.kind, *size)?,
                Type::Tensor(lists) => {
                    let (shape, item) = lists.shape();
                    self.fixed_list(item, shape.iter().product())?
                }
                Type::Dictionary(number, kind) => {
                    let width = number.width();
                    let indices = self.bytes(1, first * width, length * width)?;
                    let values = self.array.dictionary.as_ref();
                    let values = values.ok_or_else(|| mismatch("the dictionary is missing"))?;
                    Data::Dictionary(*number, indices, Box::new(Values::read(kind, values, None)?))
                }
            };
            let validity = match data {
                Data::Null => None,
                _ if self.array.null_count == 0 || self.start(0)?.is_null() => None,
                _ => Some((self.bits(0)?, first % 8)),
            };
            Ok(Values { length, validity, data })
        }
    }

    /// Where a buffer begins.
    ///
    /// # Safety
    /// As [`read`](Self::read).
    unsafe fn start(&self, index: usize) -> Result<*const c_void> {
        if self.array.buffers.is_null() {
            return Err(mismatch("the buffers are missing"));
        }
        // SAFETY: the array has as many buffers as its type, which were counted.
        Ok(unsafe { *self.array.buffers.add(index) })
    }

    /// # Safety
    /// As [`read`](Self::read); the buffer must have these bytes by what it is.
    unsafe fn bytes(&self, index: usize, skip: usize, length: usize) -> Result<&'a [u8]> {
        if length == 0 {
            return Ok(&[]);
        }
        if skip.checked_add(length).is_none_or(|end| end > isize::MAX as usize) {
            return Err(mismatch("a count is too large"));
        }
        // SAFETY: the caller's promise. The array, which is borrowed, keeps the buffer,
        // and nobody writes it meanwhile.
        unsafe {
            let start = self.start(index)?;
            if start.is_null() {
                return Err(mismatch("a buffer is missing"));
            }
            Ok(slice::from_raw_parts(start.cast::<u8>().add(skip), length))
        }
    }

    /// # Safety
    /// As [`read`](Self::read); the buffer must be one of bits.
    unsafe fn bits(&self, index: usize) -> Result<&'a [u8]> {
        let (skip, end) = (self.first / 8, (self.first + self.length).div_ceil(8));
        // SAFETY: it is a buffer of bits, so it has those of `first` and `length`.
        unsafe { self.bytes(index, skip, if self.length == 0 { 0 } else { end - skip }) }
    }

    /// # Safety
    /// As [`read`](Self::read), of a type of this width.
    unsafe fn fixed(&self, width: usize) -> Result<Data<'a>> {
        let parts = self.first.checked_mul(width).zip(self.length.checked_mul(width));
        let (skip, length) = parts.ok_or_else(|| mismatch("a count is too large"))?;
        // SAFETY: a buffer of this width has these values.
        Ok(Data::Fixed(unsafe { self.bytes(1, skip, length)? }, width))
    }

    /// The offsets, and the last of them.
    ///
    /// # Safety
    /// As [`read`](Self::read), of a type with offsets in its second buffer.
    unsafe fn offsets(&self, large: bool) -> Result<(Offsets<'a>, usize)> {
        if self.length == 0 {
            // Then there may be no offset at all.
            return Ok((Offsets { bytes: &[], large }, 0));
        }
        let width = if large { 8 } else { 4 };
        // SAFETY: such a buffer has one offset more than there are values.
        let bytes = unsafe { self.bytes(1, self.first * width, (self.length + 1) * width)? };
        let offsets = Offsets { bytes, large };
        let end = offsets.check(self.length)?;
        Ok((offsets, end))
    }

    /// The buffers that views look into.
    ///
    /// # Safety
    /// As [`read`](Self::read), of a type with views and so many buffers.
    unsafe fn variadic(&self, count: usize) -> Result<Vec<&'a [u8]>> {
        // SAFETY: the caller's promise; the last buffer has the lengths of the others.
        unsafe {
            let lengths = self.bytes(count + 2, 0, count * 8)?;
            let buffer = |index| {
                let length = fixed(lengths, index).map_or(0, i64::from_ne_bytes);
                self.bytes(index + 2, 0, self::count(length)?)
            };
            (0..count).map(buffer).collect()
        }
    }

    /// # Safety
    /// As [`read`](Self::read).
    unsafe fn children(
        &self,
        count: usize,
    ) -> Result<impl Iterator<Item = Result<&'a ArrowArray>> + use<'a>> {
        if self.array.n_children != count as i64 {
            return Err(mismatch("the count of children is not its type's"));
        }
        let children = pointers(self.array.children, self.array.n_children)?;
        Ok(children.iter().map(|&child| {
            // SAFETY: children of an array are arrays, which live as long as it does.
            unsafe { child.as_ref() }.ok_or_else(|| mismatch("a child is missing"))
        }))
    }

    /// Lists of this many elements.
    ///
    /// # Safety
    /// As [`only_child`](Self::only_child).
    unsafe fn fixed_list(&self, kind: &Type, size: usize) -> Result<Data<'a>> {
        let start = self.first.checked_mul(size).zip(self.length.checked_mul(size));
        let part = start.ok_or_else(|| mismatch("a count is too large"))?;
        // SAFETY: the caller promises a type with one child of this kind.
        let child = unsafe { self.only_child(kind, Some(part))? };
        Ok(Data::FixedList(size, Box::new(child)))
    }

    /// # Safety
    /// As [`read`](Self::read), of a type with one child of this type.
    unsafe fn only_child(&self, kind: &Type, part: Option<(usize, usize)>) -> Result<Values<'a>> {
        // SAFETY: the caller's promise.
        unsafe {
            let child = self.children(1)?.next();
            let child = child.unwrap_or_else(|| Err(mismatch("a child is missing")))?;
            Values::read(kind, child, part).map_err(Error::within_list)
        }
    }
}

impl RecordBatch {
    /// The field that the batch is as a whole, and its values.
    pub(crate) fn read(&self) -> Result<(Field, Values<'_>)> {
        let field = self.schema.field()?;
        // SAFETY: array and schema belong together: `RecordBatch::new` demands it.
        let values = unsafe { Values::read(&field.kind, &self.array, None)? };
        Ok((field, values))
    }
}

// --- streams ----------------------------------------------------------------

impl ArrowArrayStream {
    /// Gives the arrays' field to `begin`, and then each array to `each`.
    pub(crate) fn read_all<C>(
        mut self,
        begin: impl FnOnce(&Field) -> Result<C>,
        mut each: impl FnMut(&mut C, Values<'_>) -> Result<()>,
    ) -> Result<C> {
        let (Some(get_schema), Some(get_next), false) =
            (self.get_schema, self.get_next, self.is_released())
        else {
            return Err(Error::new(ErrorKind::Producer, "the stream was released"));
        };
        let mut schema = ArrowSchema::released();
        // SAFETY: the stream is not released, and calls are one at a time.
        let code = unsafe { get_schema(&mut self, &mut schema) };
        self.check(code)?;
        let field = schema.field()?;
        let mut context = begin(&field)?;
        loop {
            let mut array = ArrowArray::released();
            // SAFETY: as above.
            let code = unsafe { get_next(&mut self, &mut array) };
            self.check(code)?;
            if array.is_released() {
                return Ok(context);
            }
            // SAFETY: all arrays of a stream are of its schema.
            each(&mut context, unsafe { Values::read(&field.kind, &array, None)? })?;
        }
    }

    fn check(&mut self, code: i32) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let mut message = format!("the stream reports error {code}");
        if let Some(get_last_error) = self.get_last_error {
            // SAFETY: the stream is not released, and reported an error just now; the text
            // stays until the next call.
            let reason = unsafe {
                let reason = get_last_error(self);
                (!reason.is_null()).then(|| CStr::from_ptr(reason).to_string_lossy())
            };
            if let Some(reason) = reason {
                message = format!("{message}: {reason}");
            }
        }
        let error = Error::new(ErrorKind::Producer, message);
        Err(if code == NO_MEMORY { error.of_memory() } else { error })
    }
}
