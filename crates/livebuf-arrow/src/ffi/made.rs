//! Structures that this crate makes: schemas, arrays, streams.

use std::ffi::{CString, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

use bytemuck::NoUninit;

use super::{
    ArrowArray, ArrowArrayStream, ArrowSchema, EXTENSION, JSON, NULLABLE, PARAMETERS, RecordBatch,
    TENSOR, UUID,
};
use crate::document::Pinned;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{Field, Type};

// --- schemas ----------------------------------------------------------------

struct SchemaParts {
    format: CString,
    name: CString,
    /// From `Box::into_raw`. A consumer may have moved what they held.
    children: Vec<*mut ArrowSchema>,
    /// The same; null if there is none.
    dictionary: *mut ArrowSchema,
    metadata: Vec<u8>,
}

/// Metadata: pairs of key and value, each with its length.
fn metadata(pairs: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut metadata = (pairs.len() as i32).to_ne_bytes().to_vec();
    for part in pairs.iter().flat_map(|&(key, value)| [key, value]) {
        metadata.extend((part.len() as i32).to_ne_bytes());
        metadata.extend(part);
    }
    metadata
}

/// The schema of a field.
///
/// # Errors
/// [`ErrorKind::Unsupported`] where a name holds a zero byte, which C's names end with.
pub(crate) fn schema(field: &Field) -> Result<ArrowSchema> {
    let text = |text: &str| {
        CString::new(text).map_err(|_| {
            Error::new(ErrorKind::Unsupported, "names in Arrow cannot hold a zero character")
        })
    };
    let below: &[Field] = match &field.kind {
        Type::Struct(fields) | Type::Variant(fields) => fields,
        kind => kind.item().map_or(&[], std::slice::from_ref),
    };
    // Made before any becomes a pointer, so that an error leaks none.
    let (format, name) = (text(&field.kind.format())?, text(&field.name)?);
    let children = below
        .iter()
        .map(|child| {
            schema(child).map_err(|error| match field.kind {
                Type::Struct(_) => error.within(&child.name),
                _ => error.within_list(),
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let dictionary = match &field.kind {
        Type::Dictionary(_, texts) => {
            Box::into_raw(Box::new(schema(&Field::new("", (**texts).clone()))?))
        }
        _ => ptr::null_mut(),
    };
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let metadata = match &field.kind {
        _ if !field.metadata.is_empty() => {
            let pairs = field.metadata.iter().map(|(key, value)| (&**key, &**value));
            metadata(&pairs.collect::<Vec<_>>())
        }
        Type::Uuid => metadata(&[(EXTENSION, UUID)]),
        Type::Json(_) => metadata(&[(EXTENSION, JSON)]),
        Type::Tensor(lists) => {
            let shape = format!("{{\"shape\":{:?}}}", lists.shape().0);
            metadata(&[(EXTENSION, TENSOR), (PARAMETERS, shape.as_bytes())])
        }
        _ => Vec::new(),
    };
    let parts = Box::leak(Box::new(SchemaParts { format, name, children, dictionary, metadata }));
    Ok(ArrowSchema {
        format: parts.format.as_ptr(),
        name: parts.name.as_ptr(),
        metadata: match parts.metadata.as_slice() {
            [] => ptr::null(),
            metadata => metadata.as_ptr().cast(),
        },
        flags: if field.nullable { NULLABLE } else { 0 },
        n_children: parts.children.len() as i64,
        children: parts.children.as_mut_ptr(),
        dictionary: parts.dictionary,
        release: Some(release_schema),
        private_data: ptr::from_mut(parts).cast(),
    })
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the interface has consumers call this once, with a schema made above, which
    // they may have moved but not changed.
    unsafe {
        let parts = Box::from_raw((*schema).private_data.cast::<SchemaParts>());
        (*schema).release = None;
        (*schema).private_data = ptr::null_mut();
        for &child in &parts.children {
            // Dropping releases it, unless it was moved away.
            drop(Box::from_raw(child));
        }
        if !parts.dictionary.is_null() {
            drop(Box::from_raw(parts.dictionary));
        }
    }
}

// --- arrays -----------------------------------------------------------------

/// Memory of an array, and what keeps it.
pub(crate) struct Buffer {
    start: *const c_void,
    /// In bytes.
    length: usize,
    _keep: Box<dyn Send + Sync>,
}

impl Buffer {
    /// Values made for the array.
    pub(crate) fn built<T: NoUninit + Send + Sync>(values: Vec<T>) -> Buffer {
        // The heap memory stays where it is when the vector moves.
        let (start, length) = (values.as_ptr().cast(), size_of_val(values.as_slice()));
        Buffer { start, length, _keep: Box::new(values) }
    }

    /// Values that lie in the document.
    pub(crate) fn borrowed<T: NoUninit>(values: &'static [T], document: &Arc<Pinned>) -> Buffer {
        let (start, length) = (values.as_ptr().cast(), size_of_val(values));
        Buffer { start, length, _keep: Box::new(Arc::clone(document)) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: it was made of a slice of this many bytes, none of which is padding. What is kept
        // here keeps them in place.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.length) }
    }
}

/// What an array is made of.
pub(crate) struct Made {
    pub(crate) length: usize,
    pub(crate) buffers: Vec<Option<Buffer>>,
    pub(crate) children: Vec<ArrowArray>,
    pub(crate) dictionary: Option<ArrowArray>,
}

struct ArrayParts {
    /// What holds the memory that `starts` leads to.
    buffers: Vec<Option<Buffer>>,
    starts: Vec<*const c_void>,
    /// From `Box::into_raw`. A consumer may have moved what they held.
    children: Vec<*mut ArrowArray>,
    /// The same; null if there is none.
    dictionary: *mut ArrowArray,
}

/// An array of these buffers and children, which must be what its type demands.
pub(crate) fn array(
    length: usize,
    nulls: usize,
    buffers: Vec<Option<Buffer>>,
    children: Vec<ArrowArray>,
) -> ArrowArray {
    coded(length, nulls, buffers, children, None)
}

/// The same with the values that the elements, which are codes, stand for.
pub(crate) fn coded(
    length: usize,
    nulls: usize,
    buffers: Vec<Option<Buffer>>,
    children: Vec<ArrowArray>,
    dictionary: Option<ArrowArray>,
) -> ArrowArray {
    let starts =
        buffers.iter().map(|buffer| buffer.as_ref().map_or(ptr::null(), |buffer| buffer.start));
    let parts = ArrayParts {
        starts: starts.collect(),
        children: children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect(),
        buffers,
        dictionary: dictionary.map_or(ptr::null_mut(), |values| Box::into_raw(Box::new(values))),
    };
    let parts = Box::leak(Box::new(parts));
    ArrowArray {
        length: length as i64,
        null_count: nulls as i64,
        offset: 0,
        n_buffers: parts.starts.len() as i64,
        n_children: parts.children.len() as i64,
        buffers: parts.starts.as_mut_ptr(),
        children: parts.children.as_mut_ptr(),
        dictionary: parts.dictionary,
        release: Some(release_array),
        private_data: ptr::from_mut(parts).cast(),
    }
}

impl ArrowArray {
    /// Count of nulls of an array made here.
    pub(crate) fn nulls(&self) -> usize {
        self.null_count as usize
    }

    /// What an array made here was made of; `None` of another's.
    pub(crate) fn into_made(self) -> Option<Made> {
        type Release = unsafe extern "C" fn(*mut ArrowArray);
        if !ptr::fn_addr_eq(self.release?, release_array as Release) {
            return None;
        }
        let array = ManuallyDrop::new(self);
        // SAFETY: its release function says that it was made here, so these are its parts, and its
        // children and dictionary were made here, too. Nobody sees it again, so nothing else
        // releases them.
        unsafe {
            let parts = *Box::from_raw(array.private_data.cast::<ArrayParts>());
            let children = parts.children.into_iter().map(|child| *Box::from_raw(child));
            let dictionary = match parts.dictionary.is_null() {
                true => None,
                false => Some(*Box::from_raw(parts.dictionary)),
            };
            let (length, children) = (array.length as usize, children.collect());
            Some(Made { length, buffers: parts.buffers, children, dictionary })
        }
    }

    /// Count of elements of an array made here.
    pub(crate) fn len(&self) -> usize {
        self.length as usize
    }

    /// Takes the elements out of the inner lists of a fixed list, made here, and makes them its
    /// own. Returns the array of the inner lists, without elements.
    pub(crate) fn lift(&mut self) -> Option<ArrowArray> {
        let parts = self.private_data.cast::<ArrayParts>();
        // SAFETY: the caller has an array made here, so these are its parts, and its children were
        // made here, too. A child is moved out as any consumer may do it.
        unsafe {
            let &[child] = (*parts).children.as_slice() else { return None };
            let below = (*child).private_data.cast::<ArrayParts>();
            let &[element] = (*below).children.as_slice() else { return None };
            let element = ArrowArray::take(element);
            Some(ptr::replace(child, element))
        }
    }
}

/// A record batch of a schema and an array that one plan made.
pub(crate) fn batch(schema: ArrowSchema, array: ArrowArray) -> RecordBatch {
    RecordBatch { schema, array }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the interface has consumers call this once, with an array made above, which
    // they may have moved but not changed.
    unsafe {
        let parts = Box::from_raw((*array).private_data.cast::<ArrayParts>());
        (*array).release = None;
        (*array).private_data = ptr::null_mut();
        for &child in &parts.children {
            // Dropping releases it, unless it was moved away.
            drop(Box::from_raw(child));
        }
        if !parts.dictionary.is_null() {
            drop(Box::from_raw(parts.dictionary));
        }
    }
}

// --- streams ----------------------------------------------------------------

/// What a stream gives out.
pub(crate) trait Batches: Send {
    fn schema(&mut self) -> Result<ArrowSchema>;
    /// The next array; `None` behind the last.
    fn next(&mut self) -> Result<Option<ArrowArray>>;
}

struct StreamParts {
    batches: Box<dyn Batches>,
    error: Option<CString>,
}

/// `EINVAL` of C.
const INVALID: c_int = 22;

/// `ENOMEM` of C, which consumers know.
pub(super) const NO_MEMORY: c_int = 12;

impl StreamParts {
    fn fail(&mut self, error: &Error) -> c_int {
        let message = error.to_string().replace('\0', " ");
        self.error = CString::new(message).ok();
        match error.core_error() {
            Some(core) if core.kind() == livebuf::ErrorKind::Io => NO_MEMORY,
            _ => INVALID,
        }
    }
}

/// A stream of these batches.
pub(crate) fn stream(batches: Box<dyn Batches>) -> ArrowArrayStream {
    let parts = Box::new(StreamParts { batches, error: None });
    ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(parts).cast(),
    }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the interface has consumers call this with a stream made above, one call at
    // a time, and with a place for the schema.
    unsafe {
        let parts = &mut *(*stream).private_data.cast::<StreamParts>();
        match parts.batches.schema() {
            Ok(schema) => {
                schema.give(out);
                0
            }
            Err(error) => parts.fail(&error),
        }
    }
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as in `get_schema`.
    unsafe {
        let parts = &mut *(*stream).private_data.cast::<StreamParts>();
        match parts.batches.next() {
            Ok(array) => {
                array.unwrap_or(ArrowArray::released()).give(out);
                0
            }
            Err(error) => parts.fail(&error),
        }
    }
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    // SAFETY: as in `get_schema`.
    let parts = unsafe { &*(*stream).private_data.cast::<StreamParts>() };
    parts.error.as_ref().map_or(ptr::null(), |error| error.as_ptr())
}

unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: as in `get_schema`, and once.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<StreamParts>()));
        (*stream).release = None;
        (*stream).private_data = ptr::null_mut();
    }
}
