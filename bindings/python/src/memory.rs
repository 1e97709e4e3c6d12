//! Where a document's bytes live: in Python objects and in mapped files.
//!
//! Invariant: `start` and `length` describe memory that is initialised. The owner keeps it in
//! place until `grow` or until the [`Memory`] is dropped.
#![allow(unsafe_code)]

use std::os::raw::c_int;
use std::ptr;
use std::sync::atomic::{self, AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use livebuf::mapped::{FileStorage, MappedFile, MappedStorage};
use livebuf::{Error, ErrorKind, Recorder, Result, Storage};
use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};

use crate::error::{self, expected};
use crate::remote::Fetched;

/// Who may change the bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Access {
    /// We may.
    Write,
    /// Others read them, too. The first edit moves to memory of our own.
    CopyOnWrite,
    /// Nobody: edits are refused.
    Never,
}

enum Owner {
    /// No memory yet. Growing allocates memory of our own.
    Nobody,
    /// The caller's `bytes`. Or our own `bytes`, which is longer than `length` where it has
    /// spare room.
    Bytes(Py<PyBytes>),
    /// The caller's `bytearray`, which grows as the document does.
    ByteArray(Py<PyByteArray>, Export),
    /// Any other exporter of a buffer.
    Buffer(#[allow(dead_code, reason = "keeps the memory")] Export),
    /// What was fetched of a document elsewhere.
    Fetched(#[allow(dead_code, reason = "keeps the memory")] Fetched),
    File(#[allow(dead_code, reason = "keeps the memory")] MappedFile),
    /// A file whose edits are private until they are committed.
    Session(FileStorage),
    /// A file that is edited in its own memory, for other processes to see.
    Shared(MappedStorage),
}

/// A recorder that is told of each change, as long as somebody holds it.
pub(crate) struct Watch {
    recorder: Mutex<Recorder>,
    /// A delta is made of it in the end, which gives the document a state.
    leads: bool,
}

impl Watch {
    pub(crate) fn new(recorder: Recorder, leads: bool) -> Arc<Watch> {
        Arc::new(Watch { recorder: Mutex::new(recorder), leads })
    }

    /// Looks at the recorder. The document's lock must be held.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&mut Recorder) -> R) -> R {
        look(&mut self.recorder.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The memory of one document.
pub(crate) struct Memory {
    start: *mut u8,
    length: usize,
    access: Access,
    /// Our own `bytes` was given to the caller: access is [`Access::CopyOnWrite`] from then on.
    shared: AtomicBool,
    /// Somebody is to be told of changes: the file's session, or recorders.
    is_watched: AtomicBool,
    watches: Mutex<Vec<Weak<Watch>>>,
    owner: Owner,
}

// SAFETY: the pointer leads to memory of the owner, which may be used from any thread;
// Python objects are touched only when attached to the interpreter.
unsafe impl Send for Memory {}
// SAFETY: as above; nothing changes through a shared reference.
unsafe impl Sync for Memory {}

/// Spare room in memory of our own. Edits of a copy rarely need more.
fn spare(used: usize) -> usize {
    (used / 8).max(512)
}

impl Memory {
    fn new(start: *mut u8, length: usize, access: Access, owner: Owner) -> Memory {
        let is_watched = AtomicBool::new(matches!(owner, Owner::Session(_)));
        let (shared, watches) = (AtomicBool::new(false), Mutex::default());
        Memory { start, length, access, shared, is_watched, watches, owner }
    }

    /// No memory yet, to be grown.
    pub(crate) fn nothing() -> Memory {
        Memory::new(ptr::NonNull::dangling().as_ptr(), 0, Access::Write, Owner::Nobody)
    }

    /// New zeroed memory for a document of `used` bytes.
    pub(crate) fn own(py: Python<'_>, used: usize) -> PyResult<Memory> {
        Memory::with_capacity(py, used, used + spare(used))
    }

    fn with_capacity(py: Python<'_>, length: usize, capacity: usize) -> PyResult<Memory> {
        let size = ffi::Py_ssize_t::try_from(capacity).map_err(|_| PyMemoryError::new_err(()))?;
        // SAFETY: a new object of this size. Its first `length` bytes are set before anybody
        // can see it. The rest is set when `length` grows over it.
        unsafe {
            let object = ffi::PyBytes_FromStringAndSize(ptr::null(), size);
            let bytes: Bound<'_, PyBytes> =
                Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked();
            let start = ffi::PyBytes_AsString(bytes.as_ptr()).cast::<u8>();
            ptr::write_bytes(start, 0, length);
            let owner = Owner::Bytes(bytes.unbind());
            Ok(Memory::new(start, length, Access::Write, owner))
        }
    }

    /// New memory that holds a copy of `bytes`.
    pub(crate) fn copy(py: Python<'_>, bytes: &[u8]) -> PyResult<Memory> {
        let mut memory = Memory::with_capacity(py, 0, bytes.len() + spare(bytes.len()))?;
        // SAFETY: the capacity is at least this.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory.start, bytes.len()) };
        memory.length = bytes.len();
        Ok(memory)
    }

    /// New memory of this length, which does not grow.
    pub(crate) fn fixed(py: Python<'_>, length: usize) -> PyResult<Memory> {
        let array = PyByteArray::new_with(py, length, |_| Ok(()))?;
        Memory::of(PyMemoryView::from(array.as_any())?.as_any())
    }

    /// The caller's `bytes`, never changed: the first edit moves elsewhere, or is refused.
    pub(crate) fn bytes(bytes: &Bound<'_, PyBytes>, access: Access) -> Memory {
        let content = bytes.as_bytes();
        let start = content.as_ptr().cast_mut();
        let owner = Owner::Bytes(bytes.clone().unbind());
        Memory::new(start, content.len(), access, owner)
    }

    /// What any Python object offers as a buffer, in place.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Memory> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Memory::bytes(bytes, Access::Never));
        }
        let export = Export::new(object)?;
        let (start, length) = (export.start(), export.length());
        let access = if export.is_read_only() { Access::Never } else { Access::Write };
        let owner = match object.cast::<PyByteArray>() {
            Ok(array) => Owner::ByteArray(array.clone().unbind(), export),
            Err(_) => Owner::Buffer(export),
        };
        Ok(Memory::new(start, length, access, owner))
    }

    /// A document elsewhere, in the memory of what was fetched of it. Only to be used within
    /// `livebuf::Partial::read`, which notes what is missing.
    pub(crate) fn fetched(bytes: &[u8], fetched: Fetched) -> Memory {
        let (start, length) = (bytes.as_ptr().cast_mut(), bytes.len());
        Memory::new(start, length, Access::Never, Owner::Fetched(fetched))
    }

    /// A mapped file, to be read, or copied by the first edit.
    pub(crate) fn file(file: MappedFile, access: Access) -> Memory {
        let (start, length) = (file.as_bytes().as_ptr().cast_mut(), file.as_bytes().len());
        Memory::new(start, length, access, Owner::File(file))
    }

    /// A file whose edits are private until they are committed.
    pub(crate) fn session(mut file: FileStorage) -> Memory {
        let bytes = file.bytes_mut();
        let (start, length) = (bytes.as_mut_ptr(), bytes.len());
        Memory::new(start, length, Access::Write, Owner::Session(file))
    }

    /// A mapped file, edited in place for others to see.
    pub(crate) fn shared_file(mut file: MappedStorage) -> Memory {
        let bytes = file.bytes_mut();
        let (start, length) = (bytes.as_mut_ptr(), bytes.len());
        Memory::new(start, length, Access::Write, Owner::Shared(file))
    }

    /// Whether it can become longer.
    pub(crate) fn can_grow(&self) -> bool {
        !matches!(self.owner, Owner::Buffer(_) | Owner::File(_) | Owner::Fetched(_))
    }

    /// Whether the document lies in a `bytes`, which nobody else can write.
    pub(crate) fn is_bytes(&self) -> bool {
        matches!(self.owner, Owner::Bytes(_))
    }

    /// Whether only parts of the document are there.
    pub(crate) fn is_fetched(&self) -> bool {
        matches!(self.owner, Owner::Fetched(_))
    }

    pub(crate) fn is_bytearray(&self) -> bool {
        matches!(self.owner, Owner::ByteArray(..))
    }

    pub(crate) fn access(&self) -> Access {
        match self.shared.load(Ordering::Relaxed) {
            true => Access::CopyOnWrite,
            false => self.access,
        }
    }

    /// The file to be committed to.
    pub(crate) fn to_commit(&self) -> Option<&FileStorage> {
        match &self.owner {
            Owner::Session(file) => Some(file),
            _ => None,
        }
    }

    /// The file that is edited in its own memory.
    pub(crate) fn shared_with_others(&self) -> Option<&MappedStorage> {
        match &self.owner {
            Owner::Shared(file) => Some(file),
            _ => None,
        }
    }

    /// The same, by value.
    pub(crate) fn into_shared(self) -> Option<MappedStorage> {
        match self.owner {
            Owner::Shared(file) => Some(file),
            _ => None,
        }
    }

    /// Notes bytes that others may now write, unseen. They count as changed, and the document's
    /// state ends.
    pub(crate) fn lend(&self, start: *const u8, length: usize) {
        let offset = (start as usize - self.start as usize) as u64;
        if let Owner::Session(file) = &self.owner {
            file.lend(offset, length as u64);
        }
        self.record(offset, length as u64);
        let flags = livebuf::layout::HEADER_IGNORE_FLAGS as usize;
        if self.length > flags && self.bytes()[flags] & livebuf::layout::FLAG_STATE != 0 {
            if let Owner::Session(file) = &self.owner {
                file.lend(flags as u64, 1);
            }
            self.record(flags as u64, 1);
            // SAFETY: within the memory, which may be written: numbers in it are lent to be
            // written. The document's lock is held, and no reference into the memory is kept.
            unsafe { *self.start.add(flags) &= !livebuf::layout::FLAG_STATE };
        }
    }

    /// Tells a recorder of all changes from now on, until it is dropped.
    pub(crate) fn watch(&self, watch: &Arc<Watch>) {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        watches.retain(|watch| watch.strong_count() > 0);
        watches.push(Arc::downgrade(watch));
        self.is_watched.store(true, Ordering::Relaxed);
    }

    /// Tells the recorders of the memory that the document moves from of changes here, too.
    pub(crate) fn watch_as(&self, other: &Memory) {
        for watch in other.watches() {
            self.watch(&watch);
        }
    }

    /// The recorders that are told of changes.
    fn watches(&self) -> Vec<Arc<Watch>> {
        let watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        watches.iter().filter_map(Weak::upgrade).collect()
    }

    /// Whether somebody records changes.
    pub(crate) fn is_recorded(&self) -> bool {
        self.is_watched.load(Ordering::Relaxed) && !self.watches().is_empty()
    }

    /// Whether somebody records changes to make a delta.
    pub(crate) fn is_led(&self) -> bool {
        self.is_watched.load(Ordering::Relaxed) && self.watches().iter().any(|watch| watch.leads)
    }

    /// Tells recorders of a change.
    fn record(&self, offset: u64, length: u64) {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        watches.retain(|watch| {
            let Some(watch) = watch.upgrade() else { return false };
            watch.with(|recorder| recorder.will_change(self.bytes(), offset, length));
            true
        });
        let is_session = matches!(self.owner, Owner::Session(_));
        self.is_watched.store(is_session || !watches.is_empty(), Ordering::Relaxed);
    }

    /// Tells the session and the recorders of a change.
    #[cold]
    #[inline(never)]
    fn tell(&mut self, offset: u64, length: u64) {
        if let Owner::Session(file) = &mut self.owner {
            file.will_change(offset, length);
        }
        self.record(offset, length);
    }

    /// The first `used` bytes as a Python object. Where possible it is the object that they lie
    /// in: the next edit then moves elsewhere.
    pub(crate) fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        used: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if let Owner::Bytes(bytes) = &self.owner {
            let bytes = bytes.bind(py);
            if self.access() == Access::Write {
                self.shared.store(cut(bytes, used), Ordering::Relaxed);
            }
            if self.access() != Access::Write && bytes.as_bytes().len() == used {
                return Ok(bytes.clone());
            }
        }
        error::bytes(py, self.bytes().get(..used).unwrap_or_default())
    }

    /// Makes room in memory of our own, in place if there is spare room.
    fn grow_own(&mut self, py: Python<'_>, wanted: usize, ahead: usize) -> Result<()> {
        if wanted > self.allocated() {
            self.reallocate(py, ahead).map_err(|_| Error::out_of_memory(wanted as u64))?;
        }
        // Goes a little further than wanted, so that small edits need not come here each time.
        let length = ahead.min(self.length + (1 << 16)).max(wanted).min(self.allocated());
        // SAFETY: all bytes up to the allocation's end are ours.
        unsafe { ptr::write_bytes(self.start.add(self.length), 0, length - self.length) };
        self.length = length;
        Ok(())
    }

    /// Moves memory of our own to a `bytes` object of another size.
    fn reallocate(&mut self, py: Python<'_>, capacity: usize) -> PyResult<()> {
        #[cfg(not(feature = "abi3"))]
        if let Owner::Bytes(bytes) = &mut self.owner
            // SAFETY: this owns a reference to the object, so it lives.
            && unsafe { ffi::Py_REFCNT(bytes.as_ptr()) } == 1
        {
            let size = ffi::Py_ssize_t::try_from(capacity)?;
            // SAFETY: does what `_PyBytes_Resize` does, but keeps the object where it cannot be
            // resized. Nobody else knows the object. Its bytes follow its header, and a zero
            // follows them.
            unsafe {
                let object = bytes.as_ptr();
                let header = self.start.offset_from_unsigned(object.cast());
                let moved = ffi::PyObject_Realloc(object.cast(), header + capacity + 1);
                if moved.is_null() {
                    return Err(PyMemoryError::new_err(()));
                }
                (*moved.cast::<ffi::PyVarObject>()).ob_size = size;
                self.start = moved.cast::<u8>().add(header);
                *self.start.add(capacity) = 0;
                let moved = Bound::from_owned_ptr(py, moved.cast()).cast_into_unchecked();
                ptr::write(bytes, moved.unbind());
            }
            return Ok(());
        }
        let mut moved = Memory::with_capacity(py, 0, capacity)?;
        // SAFETY: the new memory is long enough for what is kept.
        unsafe { ptr::copy_nonoverlapping(self.start, moved.start, self.length.min(capacity)) };
        moved.length = self.length.min(capacity);
        moved.watch_as(self);
        *self = moved;
        Ok(())
    }

    /// The first `used` bytes as a Python object of that size.
    pub(crate) fn into_bytes(
        mut self,
        py: Python<'_>,
        used: usize,
    ) -> PyResult<Bound<'_, PyBytes>> {
        if self.access() == Access::Write
            && !matches!(&self.owner, Owner::Bytes(bytes) if cut(bytes.bind(py), used))
        {
            self.length = used;
            self.reallocate(py, used)?;
        }
        self.to_bytes(py, used)
    }

    /// Bytes of the `bytes` object.
    fn allocated(&self) -> usize {
        match &self.owner {
            // SAFETY: the object lives, and its size does not change by itself.
            Owner::Bytes(bytes) => unsafe { ffi::PyBytes_Size(bytes.as_ptr()) as usize },
            _ => 0,
        }
    }

    /// The capacity to grow to; at least `capacity`.
    fn ahead(&self, capacity: usize) -> usize {
        let more = if self.length < 1 << 20 { self.length } else { self.length / 4 };
        capacity.max(self.length + more).max(512)
    }
}

/// Makes our own `bytes` shorter without moving it. Nobody else has seen the object yet. False
/// where it cannot be done.
#[cfg(not(feature = "abi3"))]
fn cut(bytes: &Bound<'_, PyBytes>, used: usize) -> bool {
    let spare = bytes.as_bytes().len().saturating_sub(used);
    // With more spare room than this it is better to copy.
    if spare > 0 && spare <= used / 4 + 512 {
        // SAFETY: the object is ours alone, and longer. Freeing it does not need its size. A
        // zero must follow the last byte.
        unsafe {
            (*bytes.as_ptr().cast::<ffi::PyVarObject>()).ob_size = used as ffi::Py_ssize_t;
            *ffi::PyBytes_AsString(bytes.as_ptr()).add(used) = 0;
        }
    }
    bytes.as_bytes().len() == used
}

#[cfg(feature = "abi3")]
fn cut(bytes: &Bound<'_, PyBytes>, used: usize) -> bool {
    bytes.as_bytes().len() == used
}

impl Default for Memory {
    fn default() -> Self {
        Memory::nothing()
    }
}

impl Storage for Memory {
    const ZEROED: bool = false;

    #[inline]
    fn bytes(&self) -> &[u8] {
        // SAFETY: the type's invariant. Others may be able to write the memory too (a
        // bytearray, shared memory); the documentation tells them not to while we read. If they
        // do, the core gives wrong answers or errors. It keeps no reference into the memory
        // across calls.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }

    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        debug_assert!(self.access() == Access::Write);
        // SAFETY: as above, and only for memory that may be written.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }

    #[inline]
    fn is_writable(&self) -> bool {
        self.access() == Access::Write
    }

    #[inline]
    fn hears(&self) -> bool {
        self.is_watched.load(Ordering::Relaxed)
    }

    #[inline]
    fn will_change(&mut self, offset: u64, length: u64) {
        if self.is_watched.load(Ordering::Relaxed) {
            self.tell(offset, length);
        }
    }

    fn abandon(&mut self) {
        if let Owner::Session(file) = &mut self.owner {
            file.abandon();
        }
    }

    fn expect(&mut self, capacity: u64) {
        let (wanted, allocated) = (usize::try_from(capacity).unwrap_or(0), self.allocated());
        let is_own = matches!(&self.owner, Owner::Nobody | Owner::Bytes(_));
        if wanted > allocated && is_own && self.access() == Access::Write {
            // Where memory is short, `grow` says so.
            let _ = Python::attach(|py| self.reallocate(py, self.ahead(wanted)));
        }
    }

    fn grow(&mut self, capacity: u64) -> Result<()> {
        let refused = || Error::out_of_memory(capacity);
        let wanted = usize::try_from(capacity).map_err(|_| refused())?;
        let ahead = self.ahead(wanted);
        match &mut self.owner {
            Owner::Nobody | Owner::Bytes(_) => {
                Python::attach(|py| self.grow_own(py, wanted, ahead))
            }
            Owner::ByteArray(array, export) => Python::attach(|py| {
                let array = array.bind(py);
                export.release();
                let size = ffi::Py_ssize_t::try_from(wanted).map_err(|_| refused())?;
                // SAFETY: a bytearray. If it refuses (something looks at it, or there is no
                // memory) it is as before.
                let resized = unsafe { ffi::PyByteArray_Resize(array.as_ptr(), size) };
                if resized != 0 {
                    drop(PyErr::take(py));
                }
                match Export::new(array.as_any()) {
                    Ok(renewed) => *export = renewed,
                    // There is nothing left to work on. An empty document is an error
                    // everywhere.
                    Err(_) => {
                        (self.start, self.length) = (ptr::NonNull::dangling().as_ptr(), 0);
                        return Err(refused());
                    }
                }
                let old = self.length;
                (self.start, self.length) = (export.start(), export.length());
                if resized != 0 {
                    let missing = (wanted - old) as u64;
                    return Err(Error::with_detail(ErrorKind::NoSpace, old as u64, missing));
                }
                // SAFETY: these bytes are the bytearray's, and new: they are not set yet.
                unsafe { ptr::write_bytes(self.start.add(old), 0, self.length - old) };
                Ok(())
            }),
            Owner::Buffer(_) | Owner::File(_) | Owner::Fetched(_) => {
                let length = self.length as u64;
                Err(Error::with_detail(ErrorKind::NoSpace, length, capacity - length))
            }
            Owner::Session(file) => {
                let grown = file.grow(capacity);
                let bytes = file.bytes_mut();
                (self.start, self.length) = (bytes.as_mut_ptr(), bytes.len());
                grown
            }
            Owner::Shared(file) => {
                let grown = file.grow(capacity);
                let bytes = file.bytes_mut();
                (self.start, self.length) = (bytes.as_mut_ptr(), bytes.len());
                grown
            }
        }
    }
}

/// Keeps memory accesses before it and after it in that order, as other processes see them.
///
/// For what processes agree on through shared memory, such as the version of a `SharedDocument`
/// (docs/howto/shared-memory.md). Reads and writes before the fence come before those after it. On x86-64
/// almost all do without it; on ARM none do.
///
/// >>> livebuf.fence()
#[pyfunction]
pub(crate) fn fence() {
    atomic::fence(Ordering::SeqCst);
}

/// A `Py_buffer`. As long as it lives, its exporter keeps the bytes in place.
pub(crate) struct Export(Box<ffi::Py_buffer>);

// SAFETY: it may be used and released from any thread that is attached.
unsafe impl Send for Export {}
// SAFETY: as above.
unsafe impl Sync for Export {}

impl Export {
    /// Contiguous bytes, writable if the exporter allows that.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Export> {
        Export::with_flags(object, ffi::PyBUF_SIMPLE)
    }

    pub(crate) fn with_flags(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<Export> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: an attached thread, a live object and a structure to fill.
        if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
            let what = "a buffer (bytes, bytearray, memoryview, mmap, …)";
            let mut failure = expected(what, object);
            if object.is_instance_of::<PyString>() || object.hasattr("__fspath__")? {
                let class = object.get_type().name()?;
                let message =
                    format!("{what} is wanted, not {class}; load() and open() take a path");
                failure = error::wrong_type(object.py(), message);
            }
            return Err(failure);
        }
        // SAFETY: as above.
        match unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &mut *view, flags) } {
            0 => Ok(Export(view)),
            _ => Err(PyErr::fetch(object.py())),
        }
    }

    pub(crate) fn start(&self) -> *mut u8 {
        if self.0.buf.is_null() { ptr::NonNull::dangling().as_ptr() } else { self.0.buf.cast() }
    }

    /// In bytes.
    pub(crate) fn length(&self) -> usize {
        self.0.len as usize
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        // SAFETY: contiguous, and kept in place by the exporter while this lives.
        unsafe { std::slice::from_raw_parts(self.start(), self.length()) }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.0.readonly != 0
    }

    fn release(&mut self) {
        // SAFETY: an attached thread; releasing a released one does nothing.
        unsafe { ffi::PyBuffer_Release(&mut *self.0) }
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        Python::try_attach(|_| self.release());
    }
}
