//! Prepared messages: documents of which only some values differ.
//!
//! A template is the *image* of a document, and the places in it that differ from message to
//! message. Every place is a tag and a cell of its own. While the image is made, a byte string
//! stands in each place, and byte strings lie in no narrower column. So any value that needs no
//! block fits any place. A stamp is a copy of the image, a tag and a cell for each place, and the
//! longer texts behind it.
//!
//! ```text
//! memory of a template   [ image ][ tag's offset, cell's offset ] × places
//! a stamped document     [ image ][ text ][ text ] …
//! ```

use super::editor::{Container, Editor, ValueSlot};
use super::new::{At, New};
use crate::block::column_type::ColumnType;
use crate::block::record::check_immediate;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{copy, load_u8, load_u64, round_up};
use crate::format::cell::{Needle, inline_span, owned_span, span_at};
use crate::format::extended::Stored;
use crate::format::layout::*;
use crate::format::number::is_json_number;
use crate::format::pointer;
use crate::store::space::Space;
#[cfg(feature = "alloc")]
use crate::store::storage::VecStorage;
use crate::store::storage::{Exclusive, Storage};
use crate::view::{Checked, Doc, Valid, Value};
use core::fmt;

/// Bytes that a place takes in a template's memory: two offsets.
const PLACE: usize = 8;

/// A prepared message: made once from an example, then *stamped* into buffers with other
/// values in its places. A stamp costs a copy of the example and a few stores; nothing is
/// searched, parsed or allocated.
///
/// A place is named by a JSON pointer into the example. Where it is does not matter: a field
/// of a record, a row, an element, an entry of a map, the root. It takes null, booleans,
/// numbers, text and bytes, whatever the example has there. In the example it must hold such a
/// value, too; the template does not keep it. A place that was not set yet is null.
///
/// The stamped document is valid, without validation, and like any other. It has the value that the
/// same edits of the example would give. Its bytes may differ.
///
/// ```
/// use livebuf::{Template, json};
/// let example = json!({"event": "", "driver": {"name": "", "number": 0}, "lap": 0, "v": 1});
/// let lap = Template::new(&example, &["/event", "/driver/name", "/driver/number", "/lap"])?;
///
/// // All values at once, in the order of the places.
/// let mut buffer = [0; 512];
/// let values = ["lap_complete".into(), "Max Verstappen".into(), 1.into(), 55.into()];
/// let doc = lap.stamp_into(&mut buffer, &values)?;
/// assert_eq!(doc.pointer("/driver/name").and_then(|it| it.as_str()), Some("Max Verstappen"));
/// assert_eq!(doc.pointer("/v").and_then(|it| it.as_i64()), Some(1));
///
/// // Or one by one, and edited afterwards.
/// let mut stamp = lap.begin(&mut buffer[..])?;
/// stamp.set(0, "pit_stop")?;
/// stamp.set(3, 56)?;
/// let mut doc = stamp.into_editor();
/// doc.set_pointer("/seconds", 2.3)?;
/// assert!(doc.valid().unwrap().pointer("/driver/name").unwrap().is_null());
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone)]
pub struct Template<
    #[cfg(feature = "alloc")] S: Exclusive = VecStorage,
    #[cfg(not(feature = "alloc"))] S: Exclusive,
> {
    /// The image, then the places.
    memory: S,
    /// Bytes of the image.
    image: u32,
    /// Count of places.
    count: u32,
}

/// An example with marks in its places, from which the image is made.
fn mark<S: Storage>(
    editor: &mut Editor<S>,
    example: New<'_>,
    places: &[impl AsRef<str>],
) -> Result<()> {
    editor.set_root(example)?;
    for (index, place) in (0..).zip(places) {
        let place = place.as_ref();
        let marked = match editor.doc().root().follow(place) {
            Ok(Some(value)) if value.raw().tag > TAG_SPAN_LAST => {
                Err(Error::new(ErrorKind::WrongType, 0))
            }
            Ok(Some(_)) => editor.set_pointer(place, New::Bytes(&mark_of(index))).map(|_| ()),
            Ok(None) => Err(Error::new(ErrorKind::NotFound, 0)),
            Err(error) => Err(error),
        };
        marked.map_err(|error| of_place(error, index))?;
    }
    Ok(())
}

/// The bytes that stand in place `index` while the image is made.
fn mark_of(index: u32) -> [u8; 4] {
    index.to_le_bytes()
}

/// The same error, with the place in its detail where it is about the place.
#[cold]
fn of_place(error: Error, index: u32) -> Error {
    match error.kind() {
        ErrorKind::NotFound
        | ErrorKind::WrongType
        | ErrorKind::BadPointer
        | ErrorKind::TensorMismatch
        | ErrorKind::KeyExists => Error::with_detail(error.kind(), error.offset(), index as u64),
        _ => error,
    }
}

/// Offsets of the tag and the cell at a pointer.
fn place_of<S: Storage>(editor: &Editor<S>, pointer: &str) -> Result<(u64, u64)> {
    let Some((parent, last)) = pointer::split_last(pointer)? else {
        return Ok((HEADER_ROOT_TAG as u64, HEADER_ROOT_CELL as u64));
    };
    let missing = Error::new(ErrorKind::NotFound, 0);
    let container = editor.container(editor.find(parent)?.ok_or(missing)?)?;
    let slot = match container {
        Container::Array(_) | Container::Listed(..) => {
            let index = pointer::index(last).ok_or(missing)? as usize;
            editor.slot(container, At::Index(index))?
        }
        _ => pointer::with_text(last, |key| editor.slot(container, At::Key(key)))?,
    };
    match slot.ok_or(missing)? {
        ValueSlot::Tagged { tag, cell } => Ok((tag, cell)),
        ValueSlot::Element { elements, index } if elements.column == ColumnType::Cells => {
            let (values, slot) = (elements.values_at(), elements.first + index);
            Ok((values + tag_at(slot), values + cell_at(slot)))
        }
        // Bytes lie in cells.
        ValueSlot::Element { elements, .. } => {
            Err(Error::new(ErrorKind::BadCode, elements.offset as u64))
        }
    }
}

/// Takes the marks out of the image, and writes after it where they were. Returns its length.
fn take_marks_out<S: Storage>(image: &mut Editor<S>, places: &[impl AsRef<str>]) -> Result<u32> {
    let length = image.space.used();
    image.space.ensure(0, places.len() as u64 * PLACE as u64)?;
    for (index, place) in (0..).zip(places) {
        let (tag, cell) = place_of(image, place.as_ref())?;
        let bytes = image.space.bytes();
        let marked = load_u64(bytes, cell)? == inline_span(&mark_of(index));
        if !marked || load_u8(bytes, tag)? != TAG_BYTES {
            return Err(of_place(Error::new(ErrorKind::KeyExists, 0), index));
        }
        image.space.write_u8(tag, TAG_NULL);
        image.space.write_u64(cell, 0);
        let behind = length as u64 + index as u64 * PLACE as u64;
        image.space.write_u64(behind, tag | cell << 32);
    }
    Ok(length)
}

fn count_of(places: &[impl AsRef<str>]) -> Result<u32> {
    match u32::try_from(places.len()) {
        Ok(count) if count <= MAX_ELEMENTS => Ok(count),
        _ => Err(Error::with_detail(ErrorKind::ElementLimit, 0, MAX_ELEMENTS as u64)),
    }
}

#[cfg(feature = "alloc")]
impl Template {
    /// Prepares messages like the example: a document, a value of one, or a [`New`]. Linear in
    /// its bytes and in the places. It is read with every check, so it may be a document that
    /// was not validated.
    ///
    /// # Errors
    /// With the number of the place in `detail`:
    ///
    /// - [`ErrorKind::NotFound`]: the example has no such place.
    /// - [`ErrorKind::WrongType`]: it has an object or array there.
    /// - [`ErrorKind::TensorMismatch`]: it has a tensor's number there.
    /// - [`ErrorKind::KeyExists`]: a later place is the same.
    /// - [`ErrorKind::BadPointer`].
    ///
    /// Also damage in the example, limits, and memory.
    pub fn new<'e>(example: impl Into<New<'e>>, places: &[impl AsRef<str>]) -> Result<Self> {
        let count = count_of(places)?;
        let mut marked = super::editor::DocBuf::new()?;
        mark(&mut marked, example.into(), places)?;
        let mut image = marked.doc().compacted()?;
        let length = take_marks_out(&mut image, places)?;
        Ok(Template { memory: image.into_storage(), image: length, count })
    }
}

impl<'m> Template<&'m mut [u8]> {
    /// The same in memory of the caller's, without an allocator. One half of it holds the image,
    /// the other is used to make it. It takes at least twice the example's bytes, and eight for
    /// each place. It takes more where places lie in columns of narrow numbers.
    ///
    /// # Errors
    /// As [`new`](Template::new), and [`ErrorKind::NoSpace`]: at least `detail` bytes more
    /// are needed.
    ///
    /// ```
    /// use livebuf::{Doc, New, Template};
    /// let fields = [("lap", New::Int(0)), ("driver", New::Str(""))];
    /// let mut memory = [0; 1024];
    /// let lap = Template::new_in(New::Fields(&fields), &["/lap", "/driver"], &mut memory)?;
    /// let mut buffer = [0; 256];
    /// lap.stamp_into(&mut buffer, &[55.into(), "Max Verstappen".into()])?;
    /// assert_eq!(Doc::open(&buffer)?.root().get("lap")?.unwrap(), 55);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn new_in<'e>(
        example: impl Into<New<'e>>,
        places: &[impl AsRef<str>],
        memory: &'m mut [u8],
    ) -> Result<Self> {
        let (front, back) = memory.split_at_mut(memory.len() / 2);
        let (image, count) = make_in(example.into(), places, front, back)?;
        let size = image as usize + count as usize * PLACE;
        match memory.split_at_mut_checked(size) {
            Some((memory, _)) => Ok(Template { memory, image, count }),
            None => Err(Error::new(ErrorKind::NoSpace, 0)),
        }
    }
}

/// Makes the image and the places behind it in `front`, by work in `back`.
fn make_in<S: Storage>(
    example: New<'_>,
    places: &[impl AsRef<str>],
    front: S,
    back: S,
) -> Result<(u32, u32)> {
    let count = count_of(places)?;
    let make = || {
        let mut marked = Editor::create(back)?;
        mark(&mut marked, example, places)?;
        let mut image = Editor::create(front)?;
        image.set_root(marked.doc().root())?;
        take_marks_out(&mut image, places)
    };
    match make() {
        Ok(image) => Ok((image, count)),
        // Each half lacks as many.
        Err(error) if error.kind() == ErrorKind::NoSpace => {
            Err(Error::with_detail(ErrorKind::NoSpace, error.offset(), 2 * error.detail()))
        }
        Err(error) => Err(error),
    }
}

impl<S: Exclusive> Template<S> {
    /// [`new_in`](Template::new_in) with the type of storage that a binding edits in. So no second
    /// editor is compiled in, which would be a third of the small C library. `memory` gives what
    /// `front` lies in, once it is written.
    ///
    /// # Safety
    /// What `memory` gives begins with the bytes that `front` then holds, and nobody else
    /// writes them.
    ///
    /// # Errors
    /// As [`new_in`](Template::new_in).
    #[doc(hidden)]
    #[allow(unsafe_code)]
    pub unsafe fn new_between<T: Storage>(
        example: New<'_>,
        places: &[impl AsRef<str>],
        front: T,
        back: T,
        memory: impl FnOnce(usize) -> S,
    ) -> Result<Self> {
        let (image, count) = make_in(example, places, front, back)?;
        let memory = memory(image as usize + count as usize * PLACE);
        Ok(Template { memory, image, count })
    }

    /// Count of places.
    pub fn places(&self) -> usize {
        self.count as usize
    }

    /// Bytes at the beginning of the memory that the template keeps its image and places in.
    pub fn size(&self) -> usize {
        self.image as usize + self.count as usize * PLACE
    }

    /// Where its image and places lie, for bindings.
    #[doc(hidden)]
    pub fn memory(&self) -> (*const u8, usize) {
        let memory = self.memory.bytes();
        (memory.as_ptr(), self.size().min(memory.len()))
    }

    /// Image and places.
    #[inline]
    fn parts(&self) -> (&[u8], &[[u8; PLACE]]) {
        let memory = self.memory.bytes();
        // The memory is as long as it was made; if not, there are no bytes at all.
        let (image, places) = memory.split_at_checked(self.image as usize).unwrap_or_default();
        let places = places.get(..self.count as usize * PLACE).unwrap_or_default();
        (image, places.as_chunks().0)
    }

    /// Begins a document in this storage, in which all places are null: a copy.
    ///
    /// # Errors
    /// What the storage says when it cannot hold the document;
    /// [`ErrorKind::ReadOnly`].
    #[inline]
    pub fn begin<T: Storage>(&self, mut storage: T) -> Result<Stamp<'_, T>> {
        let (image, places) = self.parts();
        if !storage.is_writable() {
            return Err(Error::new(ErrorKind::ReadOnly, 0));
        }
        if storage.bytes().len() < image.len() {
            storage.grow(image.len() as u64)?;
        }
        let mut space = Space::new(storage, self.image, true, Limits::default());
        space.write(0, image);
        Ok(Stamp { space, places })
    }

    /// Stamps a document into a buffer, with a value for each place in their order.
    ///
    /// # Errors
    /// [`ErrorKind::NoSpace`] with the missing bytes; [`ErrorKind::IndexOutOfRange`] with the
    /// count of places in `detail`, where there are not as many values; as [`Stamp::set`]. The
    /// buffer begins with no document then.
    #[inline]
    pub fn stamp_into<'b>(
        &self,
        buffer: &'b mut [u8],
        values: &[New<'_>],
    ) -> Result<Doc<'b, Valid>> {
        match self.fill(buffer, values) {
            Ok(length) => {
                let bytes: &'b [u8] = buffer;
                Ok(valid(bytes.get(..length).unwrap_or(bytes)))
            }
            Err(error) => {
                spoil(buffer);
                Err(error)
            }
        }
    }

    #[inline]
    fn fill(&self, buffer: &mut [u8], values: &[New<'_>]) -> Result<usize> {
        self.fill_with(buffer, values.len(), |index| match values.get(index) {
            Some(value) => Stamped::of(value),
            None => Err(no_place(self.places())),
        })
    }

    /// Stamps `count` values, which it gets one by one. Returns the document's length. If it fails,
    /// half a document may be in the buffer. For bindings, whose values are others.
    ///
    /// # Errors
    /// As [`stamp_into`](Self::stamp_into), and what `value` says.
    #[doc(hidden)]
    #[inline]
    pub fn fill_with<'v, E: From<Error>>(
        &self,
        buffer: &mut [u8],
        count: usize,
        mut value: impl FnMut(usize) -> Result<Stamped<'v>, E>,
    ) -> Result<usize, E> {
        let (image, places) = self.parts();
        if count != places.len() {
            return Err(no_place(places.len()).into());
        }
        let Some(begin) = buffer.get_mut(..image.len()) else {
            return Err(no_space(buffer, image.len()).into());
        };
        begin.copy_from_slice(image);
        let mut used = image.len();
        for (index, place) in places.iter().enumerate() {
            let (tag_at, cell_at) = offsets(place);
            let (tag, cell) = match value(index)? {
                Stamped::Cell(tag, cell) => (tag, cell),
                Stamped::Span(tag, bytes) => (tag, append(buffer, &mut used, bytes)?),
                short => {
                    let (tag, bytes) = short.span();
                    (tag, append(buffer, &mut used, bytes)?)
                }
            };
            put(buffer, cell_at, cell.to_le_bytes());
            put(buffer, tag_at, [tag]);
        }
        put(buffer, HEADER_USED as u64, (used as u32).to_le_bytes());
        Ok(used)
    }

    /// Bytes of the document that these values make.
    pub fn stamped_length(&self, values: &[New<'_>]) -> usize {
        let behind = |new| Stamped::of(new).map_or(0, |value| value.length_behind());
        values.iter().map(behind).fold(self.image as usize, usize::saturating_add)
    }
}

impl<S: Exclusive> fmt::Debug for Template<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Template({} bytes, {} places)", self.image, self.count)
    }
}

/// Makes sure that what begins here is no document.
#[cold]
fn spoil(buffer: &mut [u8]) {
    if let Some(magic) = buffer.get_mut(..MAGIC.len()) {
        magic.fill(0);
    }
}

/// The document that a stamp made.
#[allow(unsafe_code)]
#[inline]
fn valid(bytes: &[u8]) -> Doc<'_, Valid> {
    // SAFETY: these bytes are a template's image, which an editor or encoder wrote, in memory
    // that nobody else could write (`Exclusive`). In its places are cells of what
    // `Stamped::of` gives for a `New`, whose text is UTF-8.
    unsafe { Doc::over(bytes).assume_valid() }
}

#[cfg(feature = "alloc")]
impl<S: Exclusive> Template<S> {
    /// Stamps a document of its own, with a value for each place in their order.
    ///
    /// # Errors
    /// As [`stamp_into`](Self::stamp_into); memory.
    ///
    /// ```
    /// use livebuf::{Template, json};
    /// let point = Template::new(&json!({"x": 0.0, "y": 0.0}), &["/x", "/y"])?;
    /// let mut doc = point.stamp(&[1.5.into(), 2.5.into()])?;
    /// doc.set_pointer("/z", 3.5)?;
    /// assert_eq!(format!("{:#?}", doc.doc().root()).matches(".5").count(), 3);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn stamp(&self, values: &[New<'_>]) -> Result<super::editor::DocBuf> {
        let mut storage = VecStorage::with_capacity(self.stamped_length(values) as u64)?;
        let length = self.fill(storage.bytes_mut(), values)?;
        Ok(Editor::over(Space::clean(storage, length as u32, Limits::default())))
    }

    /// Stamps a document into a vector, in place of what it held. Its memory is used again.
    ///
    /// # Errors
    /// As [`stamp_into`](Self::stamp_into); the vector is empty then.
    ///
    /// ```
    /// use livebuf::{Template, json};
    /// let lap = Template::new(&json!({"lap": 0}), &["/lap"])?;
    /// let mut message = Vec::new();
    /// for number in 1..=3 {
    ///     lap.stamp_vec(&mut message, &[number.into()])?;
    ///     assert_eq!(livebuf::Doc::open(&message)?.root().get("lap")?.unwrap(), number);
    /// }
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn stamp_vec<'b>(
        &self,
        buffer: &'b mut alloc::vec::Vec<u8>,
        values: &[New<'_>],
    ) -> Result<Doc<'b, Valid>> {
        let length = self.stamped_length(values);
        let more = length.saturating_sub(buffer.len());
        if buffer.try_reserve(more).is_err() {
            buffer.clear();
            return Err(Error::out_of_memory(length as u64));
        }
        buffer.resize(length, 0);
        match self.fill(buffer, values) {
            Ok(_) => Ok(valid(buffer)),
            Err(error) => {
                buffer.clear();
                Err(error)
            }
        }
    }
}

/// A document that is being stamped: whole and valid at any time. A place that was not set is
/// null.
pub struct Stamp<'t, S> {
    space: Space<S>,
    places: &'t [[u8; PLACE]],
}

impl<S: Storage> Stamp<'_, S> {
    /// Sets the value in place `index`. Text and bytes above seven bytes go behind the
    /// document. Setting it again frees what it held.
    ///
    /// # Errors
    /// [`ErrorKind::IndexOutOfRange`]; [`ErrorKind::Unsupported`] for objects and arrays;
    /// [`ErrorKind::BadNumber`] for number text; limits and space. The document is as it was
    /// before then.
    #[inline]
    pub fn set<'v>(&mut self, index: usize, value: impl Into<New<'v>>) -> Result<()> {
        let Some(place) = self.places.get(index) else {
            return Err(no_place(self.places.len()));
        };
        let (tag_at, cell_at) = offsets(place);
        let old = load_u8(self.space.bytes(), tag_at).unwrap_or(TAG_NULL);
        if old > TAG_IMMEDIATE_LAST {
            return self.set_again(tag_at, cell_at, value.into());
        }
        self.store(tag_at, cell_at, value.into(), |space, bytes| {
            space.ensure(0, round_up(bytes.len() as u64))?;
            Ok(space.append(bytes))
        })
    }

    /// Stores a value, its bytes by `append`. All steps that can fail come first.
    #[inline]
    fn store(
        &mut self,
        tag_at: u64,
        cell_at: u64,
        new: New<'_>,
        append: impl FnOnce(&mut Space<S>, &[u8]) -> Result<u32>,
    ) -> Result<()> {
        let (tag, cell) = match Stamped::of(&new)? {
            Stamped::Cell(tag, cell) => (tag, cell),
            Stamped::Span(tag, bytes) if bytes.len() <= MAX_INLINE => {
                (tag, Needle::new(bytes).cell)
            }
            ref span => {
                let (tag, bytes) = span.span();
                check_length(bytes)?;
                let offset = append(&mut self.space, bytes)?;
                (tag, span_at(offset, bytes.len() as u32, true))
            }
        };
        self.space.write_u64(cell_at, cell);
        self.space.write_u8(tag_at, tag);
        Ok(())
    }

    /// Sets a place that holds text: as any edit, in space that others left, and frees the old.
    #[cold]
    #[inline(never)]
    fn set_again(&mut self, tag_at: u64, cell_at: u64, new: New<'_>) -> Result<()> {
        let old = load_u64(self.space.bytes(), cell_at)?;
        self.store(tag_at, cell_at, new, |space, bytes| {
            let size = round_up(bytes.len() as u64);
            space.ensure(size, 0)?;
            let mut extent = space.take(size);
            let offset = extent.carve(size);
            space.write(offset as u64, bytes);
            Ok(offset)
        })?;
        if let Some((offset, length)) = owned_span(old) {
            self.space.free(offset as u64, round_up(length as u64));
        }
        // The document is not edited yet, and the first edit should not pay for this.
        self.space.must_squeeze = false;
        Ok(())
    }

    /// The used bytes: the document as it is sent or stored.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.space.bytes()
    }

    /// The document, to be edited like any other. It is trusted.
    pub fn into_editor(self) -> Editor<S> {
        Editor::over(self.space)
    }
}

impl<S: Exclusive> Stamp<'_, S> {
    /// The document with plain answers.
    #[inline]
    pub fn valid(&self) -> Doc<'_, Valid> {
        valid(self.space.bytes())
    }
}

impl<S: Storage> fmt::Debug for Stamp<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stamp({:?})", Doc::over(self.as_bytes()))
    }
}

/// Where a place's tag and cell are.
#[inline]
fn offsets(place: &[u8; PLACE]) -> (u64, u64) {
    let word = u64::from_le_bytes(*place);
    (word & u32::MAX as u64, word >> 32)
}

/// A value as it is stamped. For bindings.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Stamped<'v> {
    /// Tag and cell of an immediate value.
    Cell(u8, u64),
    /// Tag and bytes of a span.
    Span(u8, &'v [u8]),
    /// Tag, length and bytes of a UUID or a large decimal.
    Short(u8, u8, [u8; DECIMAL_SIZE]),
}

impl<'v> Stamped<'v> {
    /// The form in which a new value is stamped.
    ///
    /// # Errors
    /// [`ErrorKind::BadNumber`], [`ErrorKind::Unsupported`].
    #[inline]
    pub fn of(new: &New<'v>) -> Result<Self> {
        if let Some((tag, cell)) = new.immediate() {
            return Ok(Stamped::Cell(tag, cell));
        }
        match *new {
            New::Str(text) => Ok(Stamped::Span(TAG_STRING, text.as_bytes())),
            New::Bytes(bytes) => Ok(Stamped::Span(TAG_BYTES, bytes)),
            _ => Stamped::rest(new),
        }
    }

    #[inline(never)]
    fn rest(new: &New<'v>) -> Result<Self> {
        match *new {
            New::NumberText(text) if is_json_number(text.as_bytes()) => {
                Ok(Stamped::Span(TAG_NUMBER, text.as_bytes()))
            }
            New::NumberText(_) => Err(Error::new(ErrorKind::BadNumber, 0)),
            New::Copy(ref value) => Stamped::copy(value),
            New::Extended(ref value) => match value.stored() {
                Stored::Cell(cell) => Ok(Stamped::Cell(value.tag(), cell)),
                Stored::Span(bytes, length) => Ok(Stamped::Short(value.tag(), length as u8, bytes)),
            },
            _ => Err(Error::new(ErrorKind::Unsupported, 0)),
        }
    }

    /// A value of another document, checked as one that is copied.
    fn copy(value: &Value<'v, Checked>) -> Result<Self> {
        let raw = value.raw();
        if let Some(text) = value.as_str()? {
            return Ok(Stamped::Span(TAG_STRING, text.as_bytes()));
        }
        if let Some(bytes) = value.as_bytes()? {
            return Ok(Stamped::Span(TAG_BYTES, bytes));
        }
        if let Some(text) = value.as_number_text()? {
            return Stamped::rest(&New::NumberText(text));
        }
        if let Some(value) = value.as_extended()? {
            return Stamped::rest(&New::Extended(value));
        }
        match raw.tag {
            TAG_NULL..=TAG_FLOAT => check_immediate(raw).map(|()| Stamped::Cell(raw.tag, raw.cell)),
            _ => Err(Error::new(ErrorKind::Unsupported, 0)),
        }
    }

    /// Tag and bytes of a span; no bytes for another value.
    fn span(&self) -> (u8, &[u8]) {
        match *self {
            Stamped::Cell(tag, _) => (tag, &[]),
            Stamped::Span(tag, bytes) => (tag, bytes),
            Stamped::Short(tag, length, ref bytes) => (tag, &bytes[..length as usize]),
        }
    }

    /// Bytes that go behind the document.
    #[inline]
    pub fn length_behind(&self) -> usize {
        match *self {
            Stamped::Span(_, bytes) if bytes.len() > MAX_INLINE => bytes.len().next_multiple_of(8),
            Stamped::Short(_, length, _) => (length as usize).next_multiple_of(8),
            _ => 0,
        }
    }
}

#[inline]
fn check_length(bytes: &[u8]) -> Result<()> {
    match bytes.len() > MAX_SPAN as usize {
        true => Err(Error::with_detail(ErrorKind::StringLimit, 0, MAX_SPAN as u64)),
        false => Ok(()),
    }
}

/// Writes bytes to a place that lies in the image.
#[inline]
fn put<const N: usize>(buffer: &mut [u8], at: u64, new: [u8; N]) {
    match buffer.get_mut(at as usize..at as usize + N) {
        Some(place) => place.copy_from_slice(&new),
        None => debug_assert!(false, "a place outside the document at {at}"),
    }
}

/// Puts text that does not fit a cell behind the used bytes, and zeros up to the next multiple of
/// eight. Returns the text's cell.
#[inline]
fn append(buffer: &mut [u8], used: &mut usize, text: &[u8]) -> Result<u64> {
    if text.len() <= MAX_INLINE {
        return Ok(Needle::new(text).cell);
    }
    check_length(text)?;
    let (start, end) = (*used, *used + text.len().next_multiple_of(8));
    if end as u64 > MAX_DOCUMENT {
        return Err(Error::with_detail(ErrorKind::DocumentLimit, 0, MAX_DOCUMENT));
    }
    let Some(room) = buffer.get_mut(start..end) else { return Err(no_space(buffer, end)) };
    if let Some(last) = room.last_chunk_mut() {
        *last = [0; 8];
    }
    if let Some(place) = room.get_mut(..text.len()) {
        copy(place, text);
    }
    *used = end;
    Ok(span_at(start as u32, text.len() as u32, true))
}

#[cold]
fn no_place(count: usize) -> Error {
    Error::with_detail(ErrorKind::IndexOutOfRange, 0, count as u64)
}

#[cold]
fn no_space(buffer: &[u8], needed: usize) -> Error {
    let length = buffer.len();
    Error::with_detail(ErrorKind::NoSpace, length as u64, needed.saturating_sub(length) as u64)
}
