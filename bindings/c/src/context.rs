//! The context API: documents that manage their memory, files.
//!
//! A context is a `livebuf_doc` on the heap with what owns its memory behind it, so all
//! calls of the buffer API work on it. When the document grows, the editor asks the owner.

use core::ffi::{c_char, c_void};
use core::mem::{MaybeUninit, size_of};
use core::ptr::{self, NonNull};
use std::alloc::{Layout, alloc, dealloc, realloc};
use std::io;
use std::path::{Path, PathBuf};

use livebuf::mapped::{MappedFile, MappedStorage};
use livebuf::{Doc, Editor, Error, ErrorKind, Storage, layout};

use crate::args::{Array, In, InOut, Out, Terminated};
use crate::document::{
    GrowResult, Memory, Owner, edit, guard, livebuf_doc, livebuf_stats, read_only,
};
use crate::status::{NULL, OK, Result, livebuf_code, livebuf_error, livebuf_status};

/// Memory from the caller. `reallocate` may be NULL: it is done by the other two then.
/// Alignment as of malloc. The functions are called by the thread that calls the library.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct livebuf_allocator {
    /// `size` bytes, or NULL.
    pub allocate: Option<unsafe extern "C" fn(user: *mut c_void, size: usize) -> *mut c_void>,
    /// The same bytes in a block of `new_size`, or NULL and all stays as it is.
    pub reallocate: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            block: *mut c_void,
            old_size: usize,
            new_size: usize,
        ) -> *mut c_void,
    >,
    /// Takes a block back, of the size it was allocated or reallocated with.
    pub release: Option<unsafe extern "C" fn(user: *mut c_void, block: *mut c_void, size: usize)>,
    /// Given to each of the functions.
    pub user: *mut c_void,
}

/// As malloc's on the usual machines.
const ALIGNMENT: usize = 16;

fn layout_of(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.max(1), ALIGNMENT).ok()
}

unsafe extern "C" fn system_allocate(_user: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the layout is not empty.
    layout_of(size).map_or(ptr::null_mut(), |layout| unsafe { alloc(layout) }.cast())
}

unsafe extern "C" fn system_reallocate(
    _user: *mut c_void,
    block: *mut c_void,
    old_size: usize,
    new_size: usize,
) -> *mut c_void {
    match (layout_of(old_size), layout_of(new_size)) {
        // SAFETY: `Keeper` has the block with the size that it was allocated with, and C gives the
        // size back together with the block. That is this layout.
        (Some(old), Some(new)) => unsafe { realloc(block.cast(), old, new.size()) }.cast(),
        _ => ptr::null_mut(),
    }
}

unsafe extern "C" fn system_release(_user: *mut c_void, block: *mut c_void, size: usize) {
    if let Some(layout) = layout_of(size) {
        // SAFETY: as in `system_reallocate`, the block was allocated with this layout.
        unsafe { dealloc(block.cast(), layout) };
    }
}

const SYSTEM: livebuf_allocator = livebuf_allocator {
    allocate: Some(system_allocate),
    reallocate: Some(system_reallocate),
    release: Some(system_release),
    user: ptr::null_mut(),
};

fn refused(size: u64) -> Error {
    Error::out_of_memory(size)
}

impl livebuf_allocator {
    /// C's allocator, or the system's for NULL.
    pub(crate) fn given(allocator: In<livebuf_allocator>) -> Result<Self> {
        match allocator.option() {
            None => Ok(SYSTEM),
            Some(given) if given.allocate.is_none() || given.release.is_none() => Err(NULL),
            Some(given) => Ok(*given),
        }
    }

    fn take(&self, size: usize) -> Block {
        let block = match self.allocate {
            // SAFETY: C gave the function to be called so, with this pointer.
            Some(allocate) => unsafe { allocate(self.user, size) },
            None => ptr::null_mut(),
        };
        if block.is_null() { Err(refused(size as u64)) } else { Ok(block.cast()) }
    }

    /// # Safety
    /// The block came from here with that size.
    unsafe fn give_back(&self, block: *mut u8, size: usize) {
        if let Some(release) = self.release
            && !block.is_null()
        {
            // SAFETY: the block came from `allocate` or `reallocate` with this size, as this
            // function's caller knows.
            unsafe { release(self.user, block.cast(), size) };
        }
    }

    /// # Safety
    /// As [`give_back`](Self::give_back).
    unsafe fn resize(&self, block: *mut u8, old: usize, new: usize) -> Block {
        if let Some(reallocate) = self.reallocate
            && !block.is_null()
        {
            // SAFETY: the block is of this allocator and size, as this function's caller knows.
            let moved = unsafe { reallocate(self.user, block.cast(), old, new) };
            return if moved.is_null() { Err(refused(new as u64)) } else { Ok(moved.cast()) };
        }
        let moved = self.take(new)?;
        if !block.is_null() {
            // SAFETY: the old block has `old` bytes and the new one `new`. They do not overlap, since
            // the allocator gave both, and the old one is not used again.
            unsafe {
                ptr::copy_nonoverlapping(block, moved, old.min(new));
                self.give_back(block, old);
            }
        }
        Ok(moved)
    }

    /// A copy of bytes in a block of their length.
    pub(crate) fn copy(&self, bytes: &[u8]) -> Block {
        let block = self.take(bytes.len())?;
        // SAFETY: the block is new and of that length, so it overlaps nothing.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), block, bytes.len()) };
        Ok(block)
    }
}

/// A block of an allocator, or that there is none.
type Block = core::result::Result<*mut u8, Error>;

/// What a context's bytes lie in.
enum Holds {
    /// A block from the allocator, or the caller's bytes.
    Nothing,
    Mapped(#[allow(dead_code)] MappedFile),
    Edited(MappedStorage),
}

/// A document and what owns its memory. C knows a pointer to the first field.
#[repr(C)]
struct Context {
    doc: livebuf_doc,
    keeper: Keeper,
}

#[repr(C)]
struct Keeper {
    owner: Owner,
    allocator: livebuf_allocator,
    /// The block from the allocator.
    block: *mut u8,
    size: usize,
    holds: Holds,
}

/// From here on a document grows by a quarter instead of doubling.
const LARGE: u64 = 1 << 20;

/// # Safety
/// `owner` is the first field of a `Keeper`.
unsafe fn grow_block(owner: *mut Owner, memory: &mut Memory, capacity: u64) -> GrowResult {
    // SAFETY: `Keeper::memory` gave the owner, which is its first field. During an edit nobody else
    // looks at the keeper.
    let keeper = unsafe { &mut *owner.cast::<Keeper>() };
    let held = keeper.size as u64;
    let more = if held < LARGE { held } else { held / 4 };
    let ahead = (held + more).clamp(256, layout::MAX_DOCUMENT);
    let size = usize::try_from(capacity.max(ahead)).map_err(|_| refused(capacity))?;
    // SAFETY: the keeper has the block and its size from this allocator.
    let block = unsafe { keeper.allocator.resize(keeper.block, keeper.size, size) }?;
    (keeper.block, keeper.size) = (block, size);
    (memory.pointer, memory.capacity) = (block, size);
    Ok(())
}

/// # Safety
/// As [`grow_block`].
unsafe fn grow_file(owner: *mut Owner, memory: &mut Memory, capacity: u64) -> GrowResult {
    // SAFETY: as in `grow_block`.
    let keeper = unsafe { &mut *owner.cast::<Keeper>() };
    let Holds::Edited(storage) = &mut keeper.holds else { return Err(refused(capacity)) };
    let grown = storage.grow(capacity);
    // Also after an error: the map may be another.
    let bytes = storage.bytes_mut();
    (memory.pointer, memory.capacity) = (bytes.as_mut_ptr(), bytes.len());
    grown
}

impl Context {
    /// A context on the heap whose document `open` makes, or nothing.
    fn make(
        allocator: livebuf_allocator,
        holds: Holds,
        open: impl FnOnce(&mut Keeper) -> Result<livebuf_doc>,
    ) -> Result<*mut livebuf_doc> {
        let place = allocator.take(size_of::<Context>())?.cast::<MaybeUninit<Context>>();
        let grow = if matches!(holds, Holds::Edited(_)) { grow_file } else { grow_block };
        let keeper =
            Keeper { owner: Owner { grow }, allocator, block: ptr::null_mut(), size: 0, holds };
        let context = place.cast::<Context>();
        // SAFETY: this is new memory of that size. The keeper is written before it is used.
        let opened = unsafe {
            let kept = &raw mut (*context).keeper;
            kept.write(keeper);
            guard(|| open(&mut *kept))
        };
        match opened {
            Ok(doc) => {
                // SAFETY: as above, the memory is for a context.
                unsafe { (&raw mut (*context).doc).write(doc.kept()) };
                Ok(context.cast())
            }
            Err(error) => {
                // SAFETY: the keeper was written, and nobody else knows of the context.
                unsafe { Context::release(context) };
                Err(error)
            }
        }
    }

    /// Gives back all but the document, which needs nothing.
    ///
    /// # Safety
    /// `make` made it, and it is not used again.
    unsafe fn release(context: *mut Context) {
        // SAFETY: `make` wrote the keeper, and nobody uses the place from here on.
        let keeper = unsafe { (&raw mut (*context).keeper).read() };
        // SAFETY: `make` and `Keeper::allocated` took both blocks from this allocator, of these
        // sizes.
        unsafe {
            keeper.allocator.give_back(keeper.block, keeper.size);
            keeper.allocator.give_back(context.cast(), size_of::<Context>());
        }
    }

    /// The context that this document is part of; none for one of the caller's own, which has
    /// nothing behind it.
    fn of(doc: &InOut<livebuf_doc>) -> Option<NonNull<Context>> {
        // Documents are kept by contexts alone, whose first field they are.
        let is_kept = doc.option().is_some_and(livebuf_doc::is_kept);
        NonNull::new(doc.address().cast_mut().cast()).filter(|_| is_kept)
    }
}

impl Keeper {
    fn memory(&mut self) -> Memory {
        let owner = &raw mut *self as *mut Owner;
        // SAFETY: the keeper and its block are there as long as the document is.
        unsafe { Memory::of(self.block, self.size, owner) }
    }

    /// Memory for a document from the allocator.
    fn allocated(&mut self, size: usize) -> Result<Memory> {
        self.block = self.allocator.take(size)?;
        self.size = size;
        Ok(self.memory())
    }
}

/// What was made, or NULL and the reason in `error`.
pub(crate) fn hand_out<T>(made: Result<*mut T>, error: Out<livebuf_error>) -> *mut T {
    error.put(made.err().unwrap_or(livebuf_error::NONE));
    made.unwrap_or(ptr::null_mut())
}

/// The same with the reason in the error of a document.
pub(crate) fn hand_out_of<T>(made: Result<*mut T>, doc: &InOut<livebuf_doc>) -> *mut T {
    made.unwrap_or_else(|error| {
        doc.keep(error);
        ptr::null_mut()
    })
}

/// A copy of bytes for C, and how many they are.
pub(crate) fn copy_out(
    bytes: &[u8],
    allocator: In<livebuf_allocator>,
    length: Out<usize>,
) -> Result<*mut u8> {
    let allocator = livebuf_allocator::given(allocator)?;
    length.some()?.put(bytes.len());
    Ok(allocator.copy(bytes)?)
}

/// Least memory of a new document.
const FIRST: usize = 256;

/// A document that `open` makes in memory of this allocator.
fn allocated(
    allocator: livebuf_allocator,
    size: usize,
    open: impl FnOnce(Memory) -> Result<Editor<Memory>>,
) -> Result<*mut livebuf_doc> {
    Context::make(allocator, Holds::Nothing, |keeper| {
        let memory = keeper.allocated(size.max(FIRST))?;
        Ok(livebuf_doc::with_editor(open(memory)?))
    })
}

/// A new document that manages its memory; its root is null, as after livebuf_init. It grows as it
/// needs to; livebuf_create_with_capacity is for those who know how far.
///
/// Memory: livebuf_destroy frees what it returns; copies `*allocator`. NULL: `allocator`
/// stands for the system's; `error` if it is not wanted. Errors: NULL, with LIVEBUF_IO where
/// memory was refused. Threads: any; each document by one at a time.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_create(
    allocator: In<livebuf_allocator>,
    error: Out<livebuf_error>,
) -> *mut livebuf_doc {
    livebuf_create_with_capacity(0, allocator, error)
}

/// The same with memory for a document of `capacity` bytes from the start: until it is
/// longer, nothing is allocated any more. (livebuf_reserve gives room within the document, to
/// one array or object.)
///
/// Memory: as livebuf_create. NULL: as livebuf_create. Errors: as livebuf_create, and
/// LIVEBUF_DOCUMENT_LIMIT for more than a document may use. Threads: as livebuf_create.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_create_with_capacity(
    capacity: usize,
    allocator: In<livebuf_allocator>,
    error: Out<livebuf_error>,
) -> *mut livebuf_doc {
    let make = || {
        let allocator = livebuf_allocator::given(allocator)?;
        if capacity as u64 > layout::MAX_DOCUMENT {
            let most = layout::MAX_DOCUMENT;
            return Err(Error::with_detail(ErrorKind::DocumentLimit, 0, most).into());
        }
        allocated(allocator, capacity, |memory| Ok(Editor::create(memory)?))
    };
    hand_out(make(), error)
}

/// A document that manages its memory, with a copy of these bytes. Untrusted: an edit that needs
/// more than that validates first. A copy of a document at hand is livebuf_clone.
///
/// Memory: as livebuf_create; the bytes are not needed afterwards. NULL: as livebuf_create;
/// `bytes` LIVEBUF_NULL_ARGUMENT. Errors: NULL: what is wrong with the header, LIVEBUF_IO.
/// Threads: as livebuf_create.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_from_bytes(
    bytes: Array<u8>,
    length: usize,
    allocator: In<livebuf_allocator>,
    error: Out<livebuf_error>,
) -> *mut livebuf_doc {
    let make = || {
        let bytes = bytes.some()?;
        copied(livebuf_allocator::given(allocator)?, bytes.bytes(length)?)
    };
    hand_out(make(), error)
}

/// A copy, which manages its memory, of any document, also of one in your memory. It is trusted
/// where that one is, and keeps to the same bounds and state. Transactions, recorders and
/// histories stay behind.
///
/// Memory: as livebuf_create; `doc` is not needed afterwards. NULL: as livebuf_create; `doc`
/// LIVEBUF_NULL_ARGUMENT. Errors: NULL: LIVEBUF_NOT_OPEN, LIVEBUF_IO where memory was refused.
/// Threads: a read of `doc`.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_clone(
    doc: In<livebuf_doc>,
    allocator: In<livebuf_allocator>,
    error: Out<livebuf_error>,
) -> *mut livebuf_doc {
    let make = || {
        let (allocator, doc) = (livebuf_allocator::given(allocator)?, doc.get()?);
        match doc.editor() {
            Ok(editor) => {
                let size = editor.as_bytes().len();
                allocated(allocator, size, |memory| Ok(editor.copy_to(memory)?))
            }
            Err(_) => copied(allocator, doc.view()?.as_bytes()),
        }
    };
    hand_out(make(), error)
}

fn copied(allocator: livebuf_allocator, bytes: &[u8]) -> Result<*mut livebuf_doc> {
    let bytes = Doc::open(bytes)?.as_bytes();
    allocated(allocator, bytes.len(), |mut memory| {
        memory.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        Ok(Editor::open_unvalidated(memory)?)
    })
}

/// The same with what a document of this process holds, which stays trusted.
#[cfg(feature = "json")]
pub(crate) fn made(
    document: Result<livebuf::DocBuf>,
    allocator: In<livebuf_allocator>,
    error: Out<livebuf_error>,
) -> *mut livebuf_doc {
    let make = || {
        let (allocator, document) = (livebuf_allocator::given(allocator)?, document?);
        let size = document.as_bytes().len();
        allocated(allocator, size, |memory| Ok(document.copy_to(memory)?))
    };
    hand_out(make(), error)
}

/// A document over the caller's bytes, to be read only.
///
/// Memory: as livebuf_create; keeps `bytes` until livebuf_destroy. NULL: as
/// livebuf_from_bytes. Errors: NULL: what is wrong with the header, LIVEBUF_IO. Threads: any
/// number may read at once.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_borrow(
    bytes: Array<u8>,
    length: usize,
    allocator: In<livebuf_allocator>,
    error: Out<livebuf_error>,
) -> *mut livebuf_doc {
    let make = || {
        let allocator = livebuf_allocator::given(allocator)?;
        Context::make(allocator, Holds::Nothing, |_| read_only(bytes, length))
    };
    hand_out(make(), error)
}

pub(crate) fn path_of(path: Terminated<c_char>) -> Result<PathBuf> {
    let bytes = path.bytes()?;
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Ok(std::ffi::OsStr::from_bytes(bytes).into())
    }
    #[cfg(not(unix))]
    Ok(crate::read::text_in(bytes)?.into())
}

/// The core's error where it is behind the system's.
pub(crate) fn from_io(error: io::Error) -> livebuf_error {
    if let Some(&core) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        return core.into();
    }
    // What the system calls by these numbers: held by another process, gone, and there already.
    let number = error.raw_os_error().unwrap_or(match error.kind() {
        io::ErrorKind::WouldBlock => 11,
        io::ErrorKind::NotFound => 2,
        io::ErrorKind::AlreadyExists => 17,
        _ => 0,
    });
    Error::with_detail(ErrorKind::Io, 0, u64::try_from(number).unwrap_or(0)).into()
}

/// A document that manages its memory, read from a file.
///
/// Memory: as livebuf_create; `path` ends with NUL. NULL: as livebuf_create; `path`
/// LIVEBUF_NULL_ARGUMENT. Errors: NULL: LIVEBUF_IO with the system's number, what is wrong
/// with the header. Threads: as livebuf_create.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_load_file(
    path: Terminated<c_char>,
    allocator: In<livebuf_allocator>,
    error: Out<livebuf_error>,
) -> *mut livebuf_doc {
    let make = || {
        let (allocator, path) = (livebuf_allocator::given(allocator)?, path_of(path)?);
        // Mapped for as long as it is copied, under the lock of `livebuf_map_file`.
        let file = MappedFile::open(path).map_err(from_io)?;
        copied(allocator, file.as_bytes())
    };
    hand_out(make(), error)
}

/// How a file is mapped.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum livebuf_map_mode {
    /// To be read: look-ups bring in the pages they touch and no others.
    LIVEBUF_MAP_READ = 0,
    /// To be edited in the file itself: every edit is in it at once. A process that dies in an
    /// edit, and a crash of the machine, may leave it between two states; validate it then.
    LIVEBUF_MAP_EDIT = 1,
    /// The same, a new file; the root is null.
    LIVEBUF_MAP_CREATE = 2,
}

/// A document in a mapped file. Takes the file's lock, shared to read and exclusive to edit;
/// programs that ignore it, and write or cut the file, put the reader at risk.
///
/// Memory: livebuf_destroy frees what it returns and closes the file; `path` ends with NUL.
/// NULL: `error` if it is not wanted; `path` LIVEBUF_NULL_ARGUMENT. Errors: NULL: LIVEBUF_IO
/// with the system's number (11 for a file that another process holds), what is wrong with
/// the header, LIVEBUF_UNSUPPORTED for other modes. Threads: as livebuf_create.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_map_file(
    path: Terminated<c_char>,
    mode: u32,
    error: Out<livebuf_error>,
) -> *mut livebuf_doc {
    let make = || {
        let path = path_of(path)?;
        let holds = match mode {
            0 => Holds::Mapped(MappedFile::open(path).map_err(from_io)?),
            1 => Holds::Edited(MappedStorage::open(path).map_err(from_io)?),
            2 => Holds::Edited(MappedStorage::create(path, 0).map_err(from_io)?),
            _ => return Err(livebuf_error::of(livebuf_code::LIVEBUF_UNSUPPORTED)),
        };
        Context::make(SYSTEM, holds, |keeper| {
            let owner = &raw mut keeper.owner;
            match &mut keeper.holds {
                Holds::Edited(storage) => {
                    let bytes = storage.bytes_mut();
                    let (pointer, capacity) = (bytes.as_mut_ptr(), bytes.len());
                    // SAFETY: the mapping belongs to the keeper, as the owner does, and is there as
                    // long as the document is. Only the document uses its bytes.
                    let memory = unsafe { Memory::of(pointer, capacity, owner) };
                    let new = mode == livebuf_map_mode::LIVEBUF_MAP_CREATE as u32;
                    let editor =
                        if new { Editor::create(memory) } else { Editor::open_unvalidated(memory) };
                    Ok(livebuf_doc::with_editor(editor?))
                }
                Holds::Mapped(file) => {
                    // SAFETY: the mapping is there as long as the context is.
                    unsafe { livebuf_doc::reader(file.as_bytes()) }
                }
                Holds::Nothing => Err(NULL),
            }
        })
    };
    hand_out(guard(make), error)
}

/// Waits until a mapped file's edits are on the disk; for other documents nothing is done, those
/// in your memory among them.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_IO with
/// the system's number (2 for a file that was removed or renamed, or whose name is another
/// file's: livebuf_save_file saves the document elsewhere). Threads: a read.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_flush(doc: InOut<livebuf_doc>) -> livebuf_status {
    if let Some(context) = Context::of(&doc) {
        // SAFETY: the document is part of it. Nothing edits it meanwhile.
        return match unsafe { &(*context.as_ptr()).keeper.holds } {
            Holds::Edited(storage) => {
                storage.flush().err().map_or(OK, |error| doc.keep(from_io(error)))
            }
            _ => OK,
        };
    }
    match doc.option() {
        Some(doc) if doc.is_open() => OK,
        Some(_) => livebuf_error::of(livebuf_code::LIVEBUF_NOT_OPEN).status,
        None => NULL.status,
    }
}

/// Writes a file beside the one of this name, which takes its name then.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<()> {
    livebuf::mapped::write(path, bytes).map_err(from_io)
}

/// Writes the document to a new file beside the old one, and renames it. So there is always
/// the old file or the new one, whole. Symbolic links, the file's rights and, where the system
/// allows it, its owner and group stay.
///
/// Memory: `path` ends with NUL. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_IO with the
/// system's number (11 for a file that is open to be edited), LIVEBUF_NOT_OPEN. Threads: a
/// read, but for `doc->error`.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_save_file(
    doc: InOut<livebuf_doc>,
    path: Terminated<c_char>,
) -> livebuf_status {
    let save = || replace_file(&path_of(path)?, doc.option().ok_or(NULL)?.view()?.as_bytes());
    guard(save).err().map_or(OK, |error| doc.keep(error))
}

/// A copy of the document's bytes, `*length` of them, to be kept or given away.
///
/// Memory: livebuf_free with the same allocator and `*length` frees it. NULL: `allocator`
/// stands for the system's; `doc`, `length`: NULL. Errors: NULL, in `doc->error`.
/// Threads: a read, but for `doc->error`.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_export(
    doc: InOut<livebuf_doc>,
    allocator: In<livebuf_allocator>,
    length: Out<usize>,
) -> *mut u8 {
    let export = || {
        let bytes = doc.option().ok_or(NULL)?.view()?.as_bytes();
        copy_out(bytes, allocator, length)
    };
    hand_out_of(export(), &doc)
}

/// Frees what livebuf_export, livebuf_to_json_new and the calls that make deltas returned.
///
/// Memory: gives `block` of `size` bytes back to `allocator`. NULL: `allocator` stands for
/// the system's; a NULL `block` is fine. Errors: none. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_free(allocator: In<livebuf_allocator>, block: *mut c_void, size: usize) {
    if let Ok(allocator) = livebuf_allocator::given(allocator) {
        // SAFETY: the header asks C for a block that it got from here, with its size and allocator.
        unsafe { allocator.give_back(block.cast(), size) };
    }
}

/// Encodes the document anew in place: the best layout, nothing left over. All places and
/// values go stale.
///
/// Memory: takes memory from the system while it runs, as much as the document. NULL:
/// LIVEBUF_NULL_ARGUMENT. Errors: what is damaged, LIVEBUF_READ_ONLY, LIVEBUF_NO_SPACE.
/// Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_compact(doc: InOut<livebuf_doc>) -> livebuf_status {
    edit(doc, |editor| Ok(editor.compact()?))
}

/// livebuf_validate_in with scratch memory from the system.
///
/// Memory: a quarter of the document while it runs. NULL: LIVEBUF_NULL_ARGUMENT. Errors: as
/// livebuf_validate_in. Threads: an edit.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_validate(mut doc: InOut<livebuf_doc>) -> livebuf_status {
    let Some(doc) = doc.option_mut() else { return NULL.status };
    let mut scratch = vec![0; doc.scratch_size()];
    doc.validate_in(Ok(&mut scratch))
}

/// livebuf_get_stats_in with scratch memory from the system.
///
/// Memory: a quarter of the document while it runs. NULL: LIVEBUF_NULL_ARGUMENT. Errors: as
/// livebuf_get_stats_in. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_get_stats(
    mut doc: InOut<livebuf_doc>,
    stats: Out<livebuf_stats>,
) -> livebuf_status {
    let Some(doc) = doc.option_mut() else { return NULL.status };
    let mut scratch = vec![0; doc.scratch_size()];
    doc.stats_in(Ok(&mut scratch), stats)
}

/// Ends a document of the context API, and frees its memory. A mapped file is cut to the
/// document, written to the disk and closed. To learn of errors, call livebuf_flush before.
/// Transactions that are still open are rolled back.
///
/// A livebuf_doc of your own is left as it is: it needs no clean-up.
///
/// Memory: `doc`, its values and text are gone. NULL: nothing is done. Errors: none. Threads:
/// nobody else may use it.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_destroy(doc: InOut<livebuf_doc>) {
    let Some(mut place) = Context::of(&doc) else { return };
    // SAFETY: the document is part of it, and nobody else uses it any more.
    let context = unsafe { place.as_mut() };
    context.doc.end_editor();
    let used = context.doc.length as u64;
    if let Holds::Edited(storage) = core::mem::replace(&mut context.keeper.holds, Holds::Nothing) {
        // Spare room that stays in the file harms nothing.
        let _ = guard(|| storage.finish(used).map_err(from_io));
    }
    context.doc.private_state = 0;
    // SAFETY: `make` made it, and C does not use a document again that it destroyed.
    unsafe { Context::release(place.as_ptr()) };
}
