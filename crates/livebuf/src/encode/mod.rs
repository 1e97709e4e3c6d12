//! Encoding: a stream of events becomes a document (PROFILE).
//!
//! One pass, and no object for each value. Text outside of arrays is written when it comes. A
//! container is written when it ends, behind all that it holds. Shapes come last, when the key
//! lists are known. The values of open containers wait on a stack of cells.
//!
//! Containers and texts within arrays wait, too, until the outermost array ends. Then the plan
//! decides which arrays become columns, and all of them are written.
//!
//! This file has the events that users give. Below it, each using only those before:
//! `options`, `room`, `output` (the bytes), `stack` (values that wait), `hash_index`, `texts`,
//! `tensors`, `keys`, `plan`, `shred` (rows taken apart), `encoder` (the state), `rows` (rows of
//! the outermost array), `emit` (writing by plan), `maps`, `kept` (memory of the thread).

mod emit;
mod encoder;
mod hash_index;
#[cfg(feature = "std")]
mod kept;
mod keys;
mod maps;
mod options;
mod output;
mod plan;
mod room;
mod rows;
mod shred;
mod stack;
mod tensors;
mod texts;

pub use encoder::Encoder;
#[cfg(feature = "serde")]
pub use encoder::ReadJson;
pub use options::{DuplicateKeys, EncodeOptions};

use crate::block::record::{Raw, check_extended_span, check_immediate};
use crate::block::walk::{Allowance, Cursor, Node};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::text;
use crate::format::cell::{Needle, span_bytes, span_offset};
use crate::format::extended::{Extended, Stored, is_extended_span};
use crate::format::layout::*;
use crate::format::memory::vec_for;
use crate::format::number::is_json_number;
use crate::store::storage::{Storage, VecStorage};
use crate::view::{Doc, Mode, Tensor, TensorRef, Value};
use alloc::vec::Vec;
use encoder::{Anew, Frame, State, sequence};
use keys::Next;
use room::expect_values;
use shred::Came;
use stack::{
    TAG_LOOSE, TAG_LOOSE_UUID, TAG_TENSOR, TAG_WAITING, TAG_WAITING_ARRAY, TAG_WAITING_OBJECT,
    TAG_WAITING_SIZE,
};
use tensors::write_tensor;
use texts::{Repeats, settle};

/// With fewer elements, memory that grows step by step costs nothing to speak of.
const MANY_ELEMENTS: usize = 256;

/// Places of the stack that stay allocated when an outermost array is laid out.
const KEPT_PLACES: usize = 1 << 18;

/// More key lists take more memory than the stack that is kept. It is released before their shapes
/// are written.
const MANY_LISTS: usize = 1 << 14;

impl Encoder {
    /// Calls `encode` with an encoder in memory that the thread keeps from one document to the
    /// next. Most of its vectors then have the size that they need, and the allocator gives and
    /// takes back less. [`to_doc`](crate::to_doc) and the JSON reader encode this way.
    ///
    /// A thread keeps one encoder until it ends, of at most 4 MiB by
    /// [`kept_bytes`](Self::kept_bytes). This memory still has texts of the document that was
    /// encoded last, and keys of those before. A call within `encode` gets another encoder. Without
    /// the feature `std` no memory is kept.
    ///
    /// ```
    /// use livebuf::{EncodeOptions, Encoder, VecStorage};
    /// for lap in 1..=3 {
    ///     let (storage, options) = (VecStorage::default(), EncodeOptions::default());
    ///     let doc = Encoder::with_kept_memory(storage, options, |encoder| {
    ///         encoder.begin_array()?;
    ///         encoder.i64(lap)?;
    ///         encoder.end_array()?;
    ///         encoder.finish_one()
    ///     })?;
    ///     assert_eq!(doc.doc().pointer("/0")?.unwrap().as_i64(), Some(lap));
    /// }
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn with_kept_memory<R>(
        storage: VecStorage,
        options: EncodeOptions,
        encode: impl FnOnce(&mut Encoder) -> R,
    ) -> R {
        #[cfg(feature = "std")]
        return kept::with_kept(storage, options, encode);
        #[cfg(not(feature = "std"))]
        encode(&mut Encoder::in_storage(storage, options))
    }
}

impl<S: Storage> Encoder<S> {
    // --- values -------------------------------------------------------------

    /// A null.
    ///
    /// # Errors
    /// This and all other events: [`ErrorKind::BadSequence`] where JSON would
    /// not allow the event; limits as set in the options.
    pub fn null(&mut self) -> Result<()> {
        self.push(TAG_NULL, 0)
    }

    /// A boolean.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    pub fn bool(&mut self, value: bool) -> Result<()> {
        self.push(TAG_FALSE + value as u8, 0)
    }

    /// A signed integer.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn i64(&mut self, value: i64) -> Result<()> {
        self.push(TAG_INT, value as u64)
    }

    /// An unsigned integer.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn u64(&mut self, value: u64) -> Result<()> {
        self.push(if value > i64::MAX as u64 { TAG_UINT } else { TAG_INT }, value)
    }

    /// A double, kept by its bits.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn f64(&mut self, value: f64) -> Result<()> {
        self.push(TAG_FLOAT, value.to_bits())
    }

    /// Text.
    ///
    /// # Errors
    /// As [`null`](Self::null), and [`ErrorKind::StringLimit`].
    #[inline]
    pub fn str(&mut self, text: &str) -> Result<()> {
        let text = text.as_bytes();
        let (waits, limits) = (self.outermost.is_some(), &self.options.limits);
        let (tag, cell) = if text.len() <= MAX_INLINE {
            (TAG_STRING, Needle::new(text).cell)
        } else if text.len() > MAX_SHARED as usize || self.texts.repeats.skip() {
            match waits {
                true => (TAG_LOOSE, self.texts.keep(text, limits)?),
                false => (TAG_STRING, self.store(text)?),
            }
        } else {
            (TAG_WAITING, self.texts.intern(&mut self.out, text, limits, waits)?.into())
        };
        self.push(tag, cell)
    }

    /// Bytes.
    ///
    /// # Errors
    /// As [`str`](Self::str).
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let cell = self.span(bytes)?;
        self.push(TAG_BYTES, cell)
    }

    /// A number that only its text holds exactly.
    ///
    /// # Errors
    /// As [`str`](Self::str), and [`ErrorKind::BadNumber`] where the text is no JSON number.
    pub fn number_text(&mut self, text: &str) -> Result<()> {
        if !is_json_number(text.as_bytes()) {
            return Err(Error::new(ErrorKind::BadNumber, 0));
        }
        let cell = self.span(text.as_bytes())?;
        self.push(TAG_NUMBER, cell)
    }

    /// A date, time, decimal or UUID.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    ///
    /// ```
    /// use livebuf::{Date, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.extended(Date::from_ymd(2026, 11, 23).unwrap())?;
    /// assert_eq!(format!("{:?}", encoder.finish()?.root()), "2026-11-23");
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn extended(&mut self, value: impl Into<Extended>) -> Result<()> {
        let value = value.into();
        match value.stored() {
            Stored::Cell(cell) => self.push(value.tag(), cell),
            Stored::Span(bytes, length) => self.extended_span(value.tag(), &bytes[..length]),
        }
    }

    fn extended_span(&mut self, tag: u8, bytes: &[u8]) -> Result<()> {
        // It may become a slot of a column.
        let waits = tag == TAG_UUID && self.outermost.is_some();
        let limits = Limits { string: u32::MAX, ..self.options.limits };
        let (tag, cell) = match waits {
            true => (TAG_LOOSE_UUID, self.texts.keep(bytes, &limits)?),
            false => (tag, self.out.store(bytes, u32::MAX)?),
        };
        self.push(tag, cell)
    }

    /// An array that is a tensor. Its numbers are copied as they are. Within arrays they wait until
    /// the outermost array ends: tensors of one type and shape become one column.
    ///
    /// # Errors
    /// As [`begin_array`](Self::begin_array).
    ///
    /// ```
    /// use livebuf::{Encoder, Tensor};
    /// let mut encoder = Encoder::new();
    /// encoder.begin_array()?;
    /// for row in [[0.25f32, 0.5], [0.75, 1.0]] {
    ///     encoder.begin_object()?;
    ///     encoder.key("embedding")?;
    ///     encoder.tensor(&Tensor::new(&[2], &row)?)?;
    ///     encoder.end_object()?;
    /// }
    /// encoder.end_array()?;
    /// let doc = encoder.finish()?;
    /// let second = doc.doc().pointer("/1/embedding")?.unwrap().as_array()?.unwrap();
    /// assert_eq!(second.tensor()?.unwrap().as_slice::<f32>(), Some(&[0.75, 1.0][..]));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn tensor<'t>(&mut self, tensor: impl Into<TensorRef<'t>>) -> Result<()> {
        let tensor = tensor.into();
        let form = tensor.form()?;
        let limit = self.options.limits.nesting as usize;
        if self.frames.len() + form.height() as usize > limit {
            return Err(Error::with_detail(ErrorKind::NestingLimit, 0, limit as u64));
        }
        self.check_elements(form.count() as usize)?;
        if self.outermost.is_none() {
            let home = write_tensor(&mut self.out, &form, tensor.bytes())?;
            return self.push(TAG_ARRAY, home.into());
        }
        let limit = self.options.limits.document;
        let number = self.tensors.keep(&form, tensor.bytes(), limit)?;
        self.push(TAG_TENSOR, number)?;
        self.add_plain(form.array_size());
        Ok(())
    }

    /// A value of another document, with all below it.
    ///
    /// # Errors
    /// As [`null`](Self::null), damage in the other document, and
    /// [`ErrorKind::BudgetExceeded`] where its values alias beyond what a valid
    /// one can hold.
    pub fn value<M: Mode>(&mut self, value: &Value<'_, M>) -> Result<()> {
        // A document says which maps are of similar objects.
        let anew = core::mem::replace(&mut self.anew, Anew::Never);
        let done = self.copy(value);
        self.anew = anew;
        done
    }

    fn copy<M: Mode>(&mut self, value: &Value<'_, M>) -> Result<()> {
        let bytes = value.document();
        let mut allowance = Allowance::new(bytes, self.options.limits.budget);
        let mut stack = Vec::new();
        let mut next = Some(value.raw());
        loop {
            if let Some(raw) = next.take() {
                match raw.tag {
                    ..=TAG_SPAN_LAST => self.scalar(bytes, raw, &mut allowance)?,
                    TAG_OBJECT | TAG_ARRAY => {
                        let cursor = Cursor::new(bytes, raw)?;
                        allowance.container(cursor.places(bytes)?)?;
                        let tensor = match cursor.node {
                            Node::Array(elements) => Tensor::of(bytes, elements)?,
                            _ => None,
                        };
                        match (tensor, cursor.node) {
                            (Some(tensor), _) => {
                                allowance.text(tensor.as_bytes().len())?;
                                self.tensor(&tensor.checked()?)?;
                            }
                            (None, Node::Array(_)) => {
                                self.begin_array()?;
                                stack.push(cursor);
                            }
                            _ => {
                                match self.is_map_of_rows(bytes, &cursor)? {
                                    true => self.begin_map_of_rows()?,
                                    false => self.begin_object()?,
                                }
                                stack.push(cursor);
                            }
                        }
                    }
                    _ => return Err(Error::new(ErrorKind::Unsupported, raw.position.into())),
                }
            }
            let Some(cursor) = stack.last_mut() else { return Ok(()) };
            match cursor.next(bytes)? {
                Some((index, raw)) => {
                    if let Some(key) = cursor.key(bytes, index)? {
                        allowance.key(key.len())?;
                        self.key(text(key, 0)?)?;
                    }
                    next = Some(raw);
                }
                None => {
                    match cursor.node {
                        Node::Array(_) => self.end_array()?,
                        _ => self.end_object()?,
                    }
                    stack.pop();
                }
            }
        }
    }

    fn scalar(&mut self, document: &[u8], raw: Raw, allowance: &mut Allowance) -> Result<()> {
        allowance.value()?;
        if raw.tag <= TAG_IMMEDIATE_LAST {
            check_immediate(raw)?;
            return self.push(raw.tag, raw.cell);
        }
        let bytes = span_bytes(document, raw.cell, raw.position.into())?;
        allowance.text(bytes.len())?;
        match raw.tag {
            TAG_STRING => self.str(text(bytes, span_offset(raw.cell, raw.position))?),
            TAG_NUMBER => self.number_text(text(bytes, span_offset(raw.cell, raw.position))?),
            tag if is_extended_span(tag) => {
                check_extended_span(raw, bytes)?;
                self.extended_span(tag, bytes)
            }
            tag => {
                let cell = self.span(bytes)?;
                self.push(tag, cell)
            }
        }
    }

    /// Puts a value on the stack.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn push(&mut self, tag: u8, cell: u64) -> Result<()> {
        match self.expected_value(tag, cell) {
            Came::Not => {}
            Came::Expected => return Ok(()),
            Came::Full => return self.push_to_full(tag, cell),
        }
        match self.frames.last_mut() {
            Some(frame) => match frame.state {
                State::Array => {}
                State::Rows => return self.push_unexpected(tag, cell),
                State::Value => frame.state = State::Key,
                State::MapValue(keys) => frame.state = State::MapKey(keys),
                State::Replace(place) => {
                    frame.state = State::Key;
                    self.cells[place] = cell;
                    self.tags[place] = tag;
                    return Ok(());
                }
                _ => return Err(sequence()),
            },
            None if self.cells.is_empty() => {}
            None => return Err(sequence()),
        }
        self.put(tag, cell)
    }

    #[cold]
    fn push_unexpected(&mut self, tag: u8, cell: u64) -> Result<()> {
        self.put_together()?;
        self.push(tag, cell)
    }

    #[cold]
    fn push_to_full(&mut self, tag: u8, cell: u64) -> Result<()> {
        self.make_room_expected()?;
        self.push(tag, cell)
    }

    // --- containers ---------------------------------------------------------

    #[inline]
    fn begin(&mut self, state: State) -> Result<()> {
        if self.expected_begin(state) { Ok(()) } else { self.begin_checked(state) }
    }

    #[inline(never)]
    fn begin_checked(&mut self, state: State) -> Result<()> {
        let (limit, waits) = (self.options.limits.nesting as usize, self.outermost.is_some());
        let depth = self.frames.len();
        match self.frames.last_mut() {
            Some(Frame { state: State::Rows, .. }) => {
                self.put_together()?;
                return self.begin_checked(state);
            }
            Some(Frame { state: State::Key | State::MapKey(_), .. }) => return Err(sequence()),
            None if !self.cells.is_empty() => return Err(sequence()),
            _ if depth >= limit => {
                return Err(Error::with_detail(ErrorKind::NestingLimit, 0, limit as u64));
            }
            // What waits has its place at once.
            Some(around) if waits => match around.state {
                State::Value => around.state = State::Key,
                State::MapValue(keys) => around.state = State::MapKey(keys),
                _ => {}
            },
            _ => {}
        }
        if waits && state == State::Array {
            self.put(TAG_WAITING_ARRAY, 0)?;
        } else if waits {
            self.put(TAG_WAITING_OBJECT, 0)?;
            self.put(TAG_WAITING_SIZE, 0)?;
        } else if state == State::Array && self.options.tables {
            self.outermost = Some(depth);
            self.keys.begin_outermost();
            self.shred.restart(self.cells.len());
        }
        self.open(state);
        Ok(())
    }

    /// Begins an object.
    ///
    /// # Errors
    /// As [`null`](Self::null), and [`ErrorKind::NestingLimit`].
    #[inline]
    pub fn begin_object(&mut self) -> Result<()> {
        self.begin(State::Key)
    }

    /// Begins an array.
    ///
    /// # Errors
    /// As [`begin_object`](Self::begin_object).
    #[inline]
    pub fn begin_array(&mut self) -> Result<()> {
        self.begin(State::Array)
    }

    /// Begins an array of so many elements, as [`begin_array`](Self::begin_array) does.
    ///
    /// For an array that is in no other one, memory for all elements is taken at once, by the
    /// size of the first ones. Large arrays take up to half of the time then. A wrong number
    /// costs time or memory, and nothing else. Bound a number that comes from untrusted data.
    ///
    /// # Errors
    /// As [`begin_object`](Self::begin_object).
    ///
    /// ```
    /// let numbers = [1.5, 2.5];
    /// let mut encoder = livebuf::Encoder::new();
    /// encoder.begin_array_of(numbers.len())?;
    /// numbers.iter().try_for_each(|&number| encoder.f64(number))?;
    /// encoder.end_array()?;
    /// assert_eq!(encoder.finish()?.doc().root().len()?, Some(2));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn begin_array_of(&mut self, elements: usize) -> Result<()> {
        self.begin_array()?;
        if elements >= MANY_ELEMENTS && self.outermost == Some(self.frames.len() - 1) {
            self.await_elements(elements);
        }
        Ok(())
    }

    #[cold]
    fn await_elements(&mut self, elements: usize) {
        self.awaited = elements.min(self.options.limits.elements as usize);
        // Each takes one place at least.
        expect_values(&mut self.tags, &mut self.cells, self.awaited);
    }

    /// The key of the value that comes next.
    ///
    /// # Errors
    /// As [`null`](Self::null), [`ErrorKind::StringLimit`], and
    /// [`ErrorKind::DuplicateKey`] where the options refuse duplicates (for
    /// objects stored as maps, when the object ends).
    #[inline]
    pub fn key(&mut self, key: &str) -> Result<()> {
        let text = key.as_bytes();
        let Some(frame) = self.frames.last_mut() else { return Err(sequence()) };
        if frame.state != State::Key {
            return self.key_of_row_or_map(text);
        }
        let child = self.keys.lists[frame.node as usize].child;
        if self.keys.ends_with(child, text) {
            self.take_key(child);
            return Ok(());
        }
        self.other_key(text)
    }

    #[inline(never)]
    fn key_of_row_or_map(&mut self, text: &[u8]) -> Result<()> {
        match self.expected_key() {
            0 => self.other_key(text),
            child if self.keys.ends_with(child, text) => {
                self.key_came();
                Ok(())
            }
            _ => self.other_key(text),
        }
    }

    /// A key comes to the innermost object, which waits for one. It makes this key list.
    #[inline]
    pub(super) fn take_key(&mut self, child: u32) {
        self.keys.use_list(child);
        if let Some(frame) = self.frames.last_mut() {
            (frame.node, frame.state, frame.mark) = (child, State::Value, 0);
        }
    }

    /// Takes the key that is expected next, if `is_it` says so of the key list that it makes.
    #[inline]
    fn take_key_if(&mut self, is_it: impl FnOnce(&Self, u32) -> bool) -> bool {
        let expected = self.expected_key();
        if expected != 0 {
            let taken = is_it(self, expected);
            if taken {
                self.key_came();
            }
            return taken;
        }
        let child = match self.frames.last() {
            Some(frame) if frame.state == State::Key => self.keys.lists[frame.node as usize].child,
            _ => return false,
        };
        let taken = child != 0 && is_it(self, child);
        if taken {
            self.take_key(child);
        }
        taken
    }

    /// [`key`](Self::key), where the text is static: it need not be compared again.
    #[cfg(feature = "serde")]
    #[inline]
    pub(crate) fn key_static(&mut self, key: &'static str) -> Result<()> {
        let is_it = |encoder: &Self, list: u32| {
            encoder.keys.lists.get(list as usize).is_some_and(|list| {
                list.address == key.as_ptr().addr() && usize::from(list.length) == key.len()
            })
        };
        if self.take_key_if(is_it) { Ok(()) } else { self.new_key_static(key) }
    }

    #[cfg(feature = "serde")]
    #[inline(never)]
    fn new_key_static(&mut self, key: &'static str) -> Result<()> {
        self.key(key)?;
        let list = self.key_list();
        if list != 0 {
            self.keys.lists[(list - self.first_list) as usize].address = key.as_ptr().addr();
        }
        Ok(())
    }

    /// The number of the innermost object's key list; 0 where it has no keys, or is a map.
    ///
    /// A number stands for the same keys until the encoder ends, or [`restart`](Self::restart) says
    /// that it does no longer. A caller whose keys are objects can keep the last key object of each
    /// list. When that list is expected, it recognises the object by its address
    /// ([`key_if`](Self::key_if)) and compares no text.
    #[inline]
    pub fn key_list(&self) -> u32 {
        let list = match self.frames.last() {
            Some(Frame { state: State::Rows, .. }) => self.expected_list(),
            frame => frame.map_or(0, |frame| frame.node),
        };
        if list == 0 { 0 } else { self.first_list + list }
    }

    /// Gives the expected key, if `is_same` agrees. The expected key is the one that followed
    /// last time behind the same keys; `is_same` gets the number of the
    /// [list](Self::key_list) that it ends. False where no key is expected or `is_same` does
    /// not agree; the encoder is unchanged then.
    ///
    /// ```
    /// # let mut encoder = livebuf::Encoder::new();
    /// encoder.begin_array()?;
    /// encoder.begin_object()?;
    /// encoder.key("lap")?;
    /// let lap = encoder.key_list();
    /// encoder.i64(1)?;
    /// encoder.end_object()?;
    /// encoder.begin_object()?;
    /// assert!(encoder.key_if(|list| list == lap)); // "lap" again
    /// encoder.i64(2)?;
    /// assert!(!encoder.key_if(|_| true));
    /// encoder.end_object()?;
    /// encoder.end_array()?;
    /// let doc = encoder.finish()?;
    /// assert_eq!(doc.doc().pointer("/1/lap")?.unwrap().as_i64(), Some(2));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn key_if(&mut self, is_same: impl FnOnce(u32) -> bool) -> bool {
        self.take_key_if(|encoder, list| is_same(encoder.first_list + list))
    }

    /// Gives the expected key, if JSON text begins with it and a quotation mark, so that it need
    /// not be looked for. Returns the key's length. `None` where another key comes, or may come:
    /// keys that JSON writes with escapes are not known here. The encoder is unchanged then.
    ///
    /// ```
    /// # let mut encoder = livebuf::Encoder::new();
    /// encoder.begin_array()?;
    /// for _ in 0..2 {
    ///     encoder.begin_object()?;
    ///     if encoder.key_in_json(br#"lap": 55}"#).is_none() {
    ///         encoder.key("lap")?;
    ///     }
    ///     encoder.i64(55)?;
    ///     encoder.end_object()?;
    /// }
    /// encoder.end_array()?;
    /// assert_eq!(encoder.finish()?.doc().pointer("/1/lap")?.unwrap(), 55);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn key_in_json(&mut self, text: &[u8]) -> Option<usize> {
        let mut length = None;
        self.take_key_if(|encoder, list| {
            length = encoder.keys.begins(text, list);
            length.is_some()
        });
        length
    }

    /// A key that does not follow the way most lately taken.
    #[inline(never)]
    fn other_key(&mut self, text: &[u8]) -> Result<()> {
        let Some(frame) = self.frames.last_mut() else { return Err(sequence()) };
        let depth = self.keys.lists[frame.node as usize].depth;
        // What waits may become a row.
        let most = if self.outermost.is_some() { MAX_COLUMNS } else { MAX_FIELDS };
        let fits = text.len() <= MAX_SHAPE_KEY && usize::from(depth) < most;
        if !fits || frame.state != State::Key {
            return self.odd_key(text);
        }
        self.keys.check(self.options.limits.document)?;
        match self.keys.follow(frame.node, &mut frame.mark, text)? {
            Next::List(list) => {
                (frame.node, frame.state) = (list, State::Value);
                Ok(())
            }
            Next::Twice(depth) => {
                let place = frame.start + usize::from(depth) - 1;
                self.duplicate(place, text)
            }
            Next::Full => self.odd_key(text),
        }
    }

    /// A key of no record, or of one that cannot stay a record.
    #[inline(never)]
    fn odd_key(&mut self, text: &[u8]) -> Result<()> {
        let state = self.frames.last().map(|frame| frame.state);
        if state == Some(State::Rows) {
            self.put_together()?;
            return match self.frames.last() {
                Some(Frame { state: State::Key, .. }) => self.other_key(text),
                _ => self.map_key(text),
            };
        }
        if state == Some(State::Key) && !self.begin_anew()? {
            self.become_map()?;
        }
        self.map_key(text)
    }

    #[cold]
    fn duplicate(&mut self, place: usize, text: &[u8]) -> Result<()> {
        if self.options.duplicate_keys == DuplicateKeys::Error {
            return Err(self.came_twice(text.to_vec()));
        }
        self.replaced = true;
        if self.outermost.is_some() {
            // Values that wait have no fixed place: a map sorts out its duplicates.
            self.become_map()?;
            return self.map_key(text);
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.state = State::Replace(place);
        }
        Ok(())
    }

    // --- ends ---------------------------------------------------------------

    /// Ends the object that began last.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn end_object(&mut self) -> Result<()> {
        match self.expected_end_object() {
            Came::Expected => Ok(()),
            _ => self.end_unexpected_object(),
        }
    }

    #[inline(never)]
    fn end_unexpected_object(&mut self) -> Result<()> {
        let Some(frame) = self.frames.last() else { return Err(sequence()) };
        if frame.state == State::Rows {
            self.put_together()?;
            return self.end_unexpected_object();
        }
        let (start, node) = (frame.start, frame.node);
        let waits = self.outermost.is_some();
        let home = match frame.state {
            // The keys of many similar objects are those of a map, not of a row.
            State::Key if self.keys.lists[node as usize].is_wide() && self.are_rows(start) => {
                self.become_map()?;
                return self.end_unexpected_object();
            }
            State::Key if waits => {
                self.end_waiting_object(start, node)?;
                return self.row_ended();
            }
            State::Key => self.end_record(start, node)?,
            State::MapKey(first) => self.end_map(start, first)?,
            _ => return Err(sequence()),
        };
        if self.outermost == Some(self.frames.len() - 1) {
            self.end_outermost()?;
        } else if waits {
            // The place that waited for a record holds the map.
            self.frames.pop();
            self.cells.truncate(start - 1);
            self.tags.truncate(start - 1);
            self.cells[start - 2] = home as u64;
            self.tags[start - 2] = TAG_OBJECT;
            return Ok(());
        }
        self.end(start, TAG_OBJECT, home)
    }

    /// A container ended that may be a row of the outermost array.
    #[inline]
    fn row_ended(&mut self) -> Result<()> {
        let is_row = self.outermost.is_some_and(|outermost| outermost + 1 == self.frames.len());
        if self.cells.len() >= self.shred.due && is_row { self.shred() } else { Ok(()) }
    }

    #[inline]
    fn end(&mut self, start: usize, tag: u8, home: u32) -> Result<()> {
        self.frames.pop();
        self.cells.truncate(start);
        self.tags.truncate(start);
        self.push(tag, home as u64)
    }

    /// Ends the array that began last.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn end_array(&mut self) -> Result<()> {
        match self.expected_end_array() {
            Came::Expected => Ok(()),
            Came::Full => self.end_array_of_full(),
            Came::Not => self.end_unexpected_array(),
        }
    }

    #[cold]
    fn end_array_of_full(&mut self) -> Result<()> {
        self.make_room_expected()?;
        self.end_array()
    }

    #[inline(never)]
    fn end_unexpected_array(&mut self) -> Result<()> {
        let Some(frame) = self.frames.last() else { return Err(sequence()) };
        match frame.state {
            State::Array => {}
            // The array of the rows ends.
            State::Rows if self.shred.next == 0 => {}
            State::Rows => {
                self.put_together()?;
                return self.end_unexpected_array();
            }
            _ => return Err(sequence()),
        }
        let start = frame.start;
        if self.outermost.is_some_and(|outermost| outermost + 1 < self.frames.len()) {
            self.end_waiting_array(start)?;
            return self.row_ended();
        }
        let home = self.lay_out_array(start)?;
        self.end_outermost()?;
        self.end(start, TAG_ARRAY, home)?;
        self.release_stack(KEPT_PLACES);
        Ok(())
    }

    /// Gives back the memory of the stack beyond so many places.
    fn release_stack(&mut self, places: usize) {
        if self.cells.capacity() > places {
            self.cells.shrink_to(places.max(self.cells.len()));
            self.tags.shrink_to(places.max(self.tags.len()));
            self.places.shrink_to(places);
        }
        self.shred.release(places);
    }

    /// The outermost container within which values wait is laid out.
    fn end_outermost(&mut self) -> Result<()> {
        (self.awaited, self.outermost) = (0, None);
        self.texts.write_rest(&mut self.out)?;
        if self.options.tables {
            // That texts did not repeat here says nothing of those of the next array.
            self.texts.repeats = Repeats::NEW;
        }
        self.tensors.clear();
        self.shred.stop();
        Ok(())
    }

    // --- a map that begins anew ---------------------------------------------

    /// Called when the innermost object becomes a map. If its members are similar objects, they
    /// should wait from the first one on, to become rows. So the encoder begins again: it gives
    /// itself all values so far, from the bytes that it wrote. False if the members are not
    /// similar, or if it did that before: each later map would repeat all that is before it.
    #[cold]
    fn begin_anew(&mut self) -> Result<bool> {
        let depth = self.frames.len();
        let Some((object, around)) = self.frames.split_last() else { return Ok(false) };
        // Of each object around, the last member must be the one that is open.
        let in_order = !self.replaced && around.iter().all(|frame| frame.state == State::Value);
        let may = in_order && self.outermost.is_none() && self.anew == Anew::May;
        if !may || !self.may_be_rows(object.start) {
            return Ok(false);
        }
        for _ in 0..depth {
            self.end_object()?;
        }
        let written = self.complete()? as usize;
        let written = &mut self.out.bytes_mut()[..written];
        let mut part = vec_for(written.len())?;
        part.extend_from_slice(written);
        written.fill(0);
        self.first_list += self.keys.lists.len() as u32;
        self.out.used = HEADER_SIZE as usize;
        self.clear_values();
        self.keys.clear();
        self.anew = Anew::Did;
        let mut object = Doc::over(&part).root().as_object()?;
        for level in 1..=depth {
            let Some(members) = object.take() else { return Err(sequence()) };
            match level == depth {
                true => self.begin_map_of_rows()?,
                false => self.begin_object()?,
            }
            let mut left = members.len();
            for member in members {
                let (key, value) = member?;
                self.key(key)?;
                left -= 1;
                if left == 0 && level < depth {
                    object = value.as_object()?;
                } else {
                    self.value(&value)?;
                }
            }
        }
        Ok(true)
    }

    // --- the end ------------------------------------------------------------

    /// Writes the shapes and the header; gives the storage, its used bytes and the limits.
    pub(crate) fn into_storage(mut self) -> Result<(S, u32, Limits)> {
        let used = self.complete()?;
        Ok((self.out.storage, used, self.options.limits))
    }

    /// The same, to [`restart`](Self::restart) afterwards: until then the encoder is in
    /// empty storage.
    pub(crate) fn take_storage(&mut self) -> Result<(S, u32, Limits)>
    where
        S: Default,
    {
        let used = self.complete()?;
        Ok((core::mem::take(&mut self.out.storage), used, self.options.limits))
    }

    /// Finishes the document where it was encoded, and calls `read` with its bytes. Then they are
    /// wiped, and the next document begins in the same storage, with the same options: many small
    /// documents cost no memory. Returns what `read` and [`restart`](Self::restart) do.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    ///
    /// ```
    /// use livebuf::Encoder;
    /// let (mut encoder, mut laps) = (Encoder::new(), Vec::new());
    /// for lap in 1..=3 {
    ///     encoder.u64(lap)?;
    ///     laps.push(encoder.finish_with(<[u8]>::to_vec)?.0);
    /// }
    /// assert_eq!(livebuf::Doc::open(&laps[2])?.root().as_u64(), Some(3));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn finish_with<R>(&mut self, read: impl FnOnce(&[u8]) -> R) -> Result<(R, bool)> {
        let used = self.complete()? as usize;
        let bytes = &mut self.out.bytes_mut()[..used];
        let result = read(bytes);
        bytes.fill(0);
        Ok((result, self.begin_next()))
    }

    /// Writes the shapes and the header. Returns the count of used bytes.
    fn complete(&mut self) -> Result<u32> {
        if !self.frames.is_empty() || self.cells.len() != 1 {
            return Err(sequence());
        }
        if self.keys.lists.len() > MANY_LISTS {
            self.release_stack(0);
        }
        let newest = self.keys.write_shapes(&mut self.out)?;
        let (tag, cell) =
            settle(&mut self.texts.list, self.tags[0], self.cells[0], HEADER_ROOT_CELL);
        self.out.align();
        let used = self.out.used;
        // An empty document still has its header.
        self.out.reserve(used as u64)?;
        let bytes = self.out.bytes_mut();
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[HEADER_VERSION as usize] = VERSION;
        bytes[HEADER_ROOT_CELL as usize..][..8].copy_from_slice(&cell.to_le_bytes());
        bytes[HEADER_ROOT_TAG as usize] = tag;
        bytes[HEADER_USED as usize..][..4].copy_from_slice(&(used as u32).to_le_bytes());
        bytes[HEADER_NEWEST_SHAPE as usize..][..4].copy_from_slice(&newest.to_le_bytes());
        if self.replaced {
            let mut again = Encoder::with_options(self.options);
            again.value(&Doc::over(&bytes[..used]).root())?;
            let again = again.finish()?;
            let again = again.as_bytes();
            // Shorter as a rule. It may be longer, since other texts may be searched.
            self.out.reserve(again.len() as u64)?;
            let bytes = self.out.bytes_mut();
            bytes[..used].fill(0);
            bytes[..again.len()].copy_from_slice(again);
            return Ok(again.len() as u32);
        }
        Ok(used as u32)
    }
}
