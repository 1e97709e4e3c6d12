//! Documents over memory: the caller's, or that of an owner which can give more.
//!
//! `livebuf_doc` holds the core's editor in place, so that nothing is allocated, and the
//! three words that C wants to see. Every edit renews these words and the generation, by
//! which values, text and iterators of before are known to be stale.

use core::cell::Cell;
use core::ffi::c_void;
use core::mem::{MaybeUninit, align_of, size_of};
use core::ptr::NonNull;
use core::slice;

use livebuf::{Doc, Editor, Error, ErrorKind, Limits, NodeId, Storage};

use crate::args::{Array, Buffer, In, InOut, Out};
use crate::status::{NULL, OK, Result, livebuf_code, livebuf_error, livebuf_status};

/// A document in memory, to be read or edited: the caller's own variable.
///
/// Made good by livebuf_init, livebuf_open or livebuf_read, or got from the context API.
/// The fields may be read at any time and written never. It must not be copied once values
/// were taken from it, since they refer to it by its address.
#[repr(C)]
pub struct livebuf_doc {
    /// The document: send or store `length` bytes from here.
    pub bytes: *const u8,
    /// Bytes of the document.
    pub length: usize,
    /// Bytes of the memory it lies in.
    pub capacity: usize,
    /// Another one with every edit, and each time that the document is begun or opened.
    pub generation: u32,
    /// Private.
    pub private_state: u32,
    /// What the last call that failed said.
    pub error: livebuf_error,
    /// Private.
    pub private_editor: [MaybeUninit<u64>; 70],
}

/// Words that an editor takes; the header says the number itself.
const EDITOR_WORDS: usize = 70;

const _: () =
    assert!(size_of::<Editor<Memory>>() <= EDITOR_WORDS * 8 && align_of::<Editor<Memory>>() <= 8);

/// States of a `livebuf_doc`. Numbers that a forgotten variable will hardly hold.
const READS: u32 = 0x4C42_0052;
const EDITS: u32 = 0x4C42_0045;
/// Of the context API, and to be read only.
const KEPT: u32 = 0x4C42_004B;

/// The generation that a document begins with, by a number that no other one has.
///
/// A message may have the variable of the one before, and values that were kept from that must not
/// count as its own. The numbers are spread: those of `n` documents one after the other are more
/// than 1.9 billion / `n` apart. So an old value counts as current only after so many messages,
/// times the edits of each.
#[inline]
fn first_generation(number: u32) -> u32 {
    number.wrapping_mul(0x9E37_79B9)
}

/// Asks an owner for memory of at least so many bytes that begins with what there is.
pub(crate) type Grow =
    unsafe fn(owner: *mut Owner, memory: &mut Memory, capacity: u64) -> GrowResult;
pub(crate) type GrowResult = core::result::Result<(), Error>;

/// Who holds the memory of a document, where the caller does not: the first field of
/// whatever the context API keeps.
#[repr(C)]
pub(crate) struct Owner {
    pub(crate) grow: Grow,
}

/// Is told of each change of a document before it takes place: the user's pointer, the
/// document's first byte, offset and length.
pub(crate) type OnChange =
    unsafe extern "C" fn(user: *mut c_void, bytes: *const u8, offset: usize, length: usize);

/// The memory a document lies in.
pub(crate) struct Memory {
    pub(crate) pointer: *mut u8,
    pub(crate) capacity: usize,
    /// NULL for memory that does not grow.
    pub(crate) owner: *mut Owner,
    /// Deltas are made of what is told: the document's state follows from them alone.
    #[cfg(feature = "std")]
    pub(crate) led: Cell<bool>,
    on_change: Cell<Option<OnChange>>,
    user: Cell<*mut c_void>,
}

impl Memory {
    /// C's memory, which C keeps for as long as the document is used.
    #[inline]
    pub(crate) fn fixed(buffer: Buffer<u8>, capacity: usize) -> Result<Memory> {
        if buffer.is_null() {
            return Err(NULL);
        }
        let capacity = capacity.min(isize::MAX as usize);
        // SAFETY: it is not NULL, so C passes memory of this capacity, which the header asks it to
        // keep.
        Ok(unsafe { Memory::of(buffer.into_raw(), capacity, core::ptr::null_mut()) })
    }

    /// # Safety
    /// `pointer` is good for `capacity` bytes, which nobody else uses, for as long as the memory
    /// is used. `owner` is NULL or there for as long.
    pub(crate) unsafe fn of(pointer: *mut u8, capacity: usize, owner: *mut Owner) -> Memory {
        let user = Cell::new(core::ptr::null_mut());
        Memory {
            pointer,
            capacity,
            owner,
            #[cfg(feature = "std")]
            led: Cell::new(false),
            on_change: Cell::new(None),
            user,
        }
    }

    #[cold]
    #[inline(never)]
    fn call(&self, offset: u64, length: u64) {
        if let Some(on_change) = self.on_change.get() {
            // SAFETY: C gave the function to be called so, with this pointer. Nothing here borrows
            // the bytes meanwhile.
            unsafe { on_change(self.user.get(), self.pointer, offset as usize, length as usize) };
        }
    }

    /// Tells this function of changes from here on. The editor must ask anew
    /// ([`tell`](crate::document::tell)).
    fn tell(&self, on_change: Option<OnChange>, user: *mut c_void) {
        self.on_change.set(on_change);
        self.user.set(user);
        #[cfg(feature = "std")]
        self.led.set(false);
    }

    /// The pointer for the function that is told of changes, if there is one.
    pub(crate) fn told(&self) -> Option<*mut c_void> {
        self.on_change.get().map(|_| self.user.get())
    }
}

impl Storage for Memory {
    const ZEROED: bool = false;
    // The editor in a livebuf_doc of the caller's is never dropped: it must hold nothing. That of
    // a context is, with its undo log.
    const FIXED: bool = true;

    fn log_behind(&self) -> bool {
        self.owner.is_null()
    }

    #[inline]
    fn hears(&self) -> bool {
        self.on_change.get().is_some()
    }

    #[inline]
    fn will_change(&mut self, offset: u64, length: u64) {
        if self.on_change.get().is_some() {
            self.call(offset, length);
        }
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        // SAFETY: the caller of `of` promised `capacity` bytes at `pointer`.
        unsafe { slice::from_raw_parts(self.pointer, self.capacity) }
    }

    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; nobody else uses them during an edit.
        unsafe { slice::from_raw_parts_mut(self.pointer, self.capacity) }
    }

    #[cold]
    fn grow(&mut self, capacity: u64) -> GrowResult {
        // SAFETY: the caller of `of` promised that the owner is there.
        match unsafe { self.owner.as_ref() }.map(|owner| owner.grow) {
            Some(grow) => {
                // SAFETY: the function came with this owner, which is there.
                unsafe { grow(self.owner, self, capacity) }
            }
            None => {
                let length = self.capacity as u64;
                let missing = capacity.saturating_sub(length);
                Err(Error::with_detail(ErrorKind::NoSpace, length, missing))
            }
        }
    }
}

/// Tells this function of the document's changes from here on, or none.
pub(crate) fn tell(editor: &mut Editor<Memory>, on_change: Option<OnChange>, user: *mut c_void) {
    editor.storage().tell(on_change, user);
    editor.watch();
}

/// Runs what must not panic; if it does all the same, the caller is told.
pub(crate) fn guard<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    #[cfg(feature = "std")]
    {
        use std::panic::{AssertUnwindSafe, catch_unwind};
        catch_unwind(AssertUnwindSafe(work))
            .unwrap_or(Err(livebuf_error::of(livebuf_code::LIVEBUF_INTERNAL)))
    }
    #[cfg(not(feature = "std"))]
    work()
}

impl livebuf_doc {
    /// A document that can be looked at, in these bytes.
    ///
    /// # Safety
    /// The bytes stay as they are until the document is not used any more.
    pub(crate) unsafe fn reader(bytes: &[u8]) -> Result<livebuf_doc> {
        let bytes = Doc::open(bytes)?.as_bytes();
        Ok(livebuf_doc {
            bytes: bytes.as_ptr(),
            length: bytes.len(),
            capacity: bytes.len(),
            generation: first_generation(NodeId::draw()),
            private_state: READS,
            error: livebuf_error::NONE,
            private_editor: [MaybeUninit::uninit(); EDITOR_WORDS],
        })
    }

    /// One that is not open, for what failed to open.
    fn closed(error: livebuf_error) -> livebuf_doc {
        livebuf_doc {
            bytes: core::ptr::null(),
            length: 0,
            capacity: 0,
            generation: 0,
            private_state: 0,
            error,
            private_editor: [MaybeUninit::uninit(); EDITOR_WORDS],
        }
    }

    #[cfg(feature = "std")]
    pub(crate) fn with_editor(editor: Editor<Memory>) -> livebuf_doc {
        let mut doc = livebuf_doc { private_state: EDITS, ..Self::closed(livebuf_error::NONE) };
        doc.generation = first_generation(editor.number());
        // SAFETY: the words have its size and alignment, and nothing lies in them yet.
        unsafe { doc.private_editor.as_mut_ptr().cast::<Editor<Memory>>().write(editor) };
        doc.renew();
        doc
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.private_state, READS | EDITS | KEPT)
    }

    /// The same document as one of the context API.
    #[cfg(feature = "std")]
    pub(crate) fn kept(self) -> livebuf_doc {
        match self.private_state {
            READS => livebuf_doc { private_state: KEPT, ..self },
            _ => self,
        }
    }

    /// Whether it is one of the context API, and not the caller's own variable.
    #[cfg(feature = "std")]
    pub(crate) fn is_kept(&self) -> bool {
        match self.editor() {
            Ok(editor) => !editor.storage().owner.is_null(),
            Err(_) => self.private_state == KEPT,
        }
    }

    /// The used bytes.
    ///
    /// # Safety
    /// The document is open.
    #[inline]
    unsafe fn used(&self) -> &[u8] {
        // SAFETY: when it was opened, and after each edit, these two were set to bytes that are there
        // until the next edit. C never writes them.
        unsafe { slice::from_raw_parts(self.bytes, self.length) }
    }

    /// The document as the core sees it.
    pub(crate) fn view(&self) -> Result<Doc<'_>> {
        if !self.is_open() {
            return Err(livebuf_error::of(livebuf_code::LIVEBUF_NOT_OPEN));
        }
        // SAFETY: an open document says where its bytes are.
        Ok(Doc::open(unsafe { self.used() })?)
    }

    /// Bytes of memory that [`validate_in`](Self::validate_in) and [`stats_in`](Self::stats_in)
    /// need.
    pub(crate) fn scratch_size(&self) -> usize {
        self.view().map_or(0, |view| view.validate_scratch())
    }

    /// Validates the document, with this memory.
    pub(crate) fn validate_in(&mut self, scratch: Result<&mut [u8]>) -> livebuf_status {
        let result = scratch.and_then(|scratch| {
            match self.editor_mut() {
                Ok(editor) => editor.validate_in(scratch)?,
                Err(_) => self.view()?.validate_in(scratch).map(|_| ())?,
            }
            Ok(())
        });
        self.status(result)
    }

    /// The same, and measures it.
    pub(crate) fn stats_in(
        &mut self,
        scratch: Result<&mut [u8]>,
        stats: Out<livebuf_stats>,
    ) -> livebuf_status {
        let result = scratch.and_then(|scratch| {
            let found = self.view()?.stats_in(scratch)?;
            stats.some()?.put(found.into());
            Ok(())
        });
        self.status(result)
    }

    /// The editor, for looking.
    pub(crate) fn editor(&self) -> Result<&Editor<Memory>> {
        match self.private_state {
            // SAFETY: an editor was written there before this state was.
            EDITS => Ok(unsafe { &*self.private_editor.as_ptr().cast() }),
            state => Err(no_editor(state)),
        }
    }

    /// Whether an editor wrote or validated it.
    pub(crate) fn is_trusted(&self) -> bool {
        self.editor().is_ok_and(|editor| editor.is_trusted())
    }

    #[inline]
    pub(crate) fn editor_mut(&mut self) -> Result<&mut Editor<Memory>> {
        editor_in(self.private_state, &mut self.private_editor)
    }

    /// Ends the editor of a document that lives no longer: open transactions are rolled back,
    /// and their log is freed.
    #[cfg(feature = "std")]
    pub(crate) fn end_editor(&mut self) {
        let Ok(editor) = self.editor_mut() else { return };
        tell(editor, None, core::ptr::null_mut());
        while editor.rollback_transaction().is_ok() {}
        self.renew();
        self.private_state = 0;
        // SAFETY: it lay there until now, and the state says that it does so no more.
        unsafe { self.private_editor.as_mut_ptr().cast::<Editor<Memory>>().drop_in_place() };
    }

    /// After an edit: what C sees, and a new generation.
    #[inline]
    pub(crate) fn renew(&mut self) {
        if let Ok(editor) = self.editor() {
            let (used, capacity) = (editor.as_bytes(), editor.storage().capacity);
            (self.bytes, self.length, self.capacity) = (used.as_ptr(), used.len(), capacity);
            self.generation = self.generation.wrapping_add(1);
        }
    }

    #[cold]
    fn fail(&mut self, error: livebuf_error) -> livebuf_status {
        self.error = error;
        error.status
    }

    /// Keeps the error of a result.
    pub(crate) fn status(&mut self, result: Result<()>) -> livebuf_status {
        match result {
            Ok(()) => OK,
            Err(error) => self.fail(error),
        }
    }
}

impl In<livebuf_doc> {
    /// The document's bytes, if it is open and has this generation.
    #[inline]
    pub(crate) fn current(&self, generation: u32) -> Option<&[u8]> {
        let doc = self.option().filter(|doc| doc.generation == generation && doc.is_open())?;
        // SAFETY: an open document says where its bytes are.
        Some(unsafe { doc.used() })
    }
}

impl InOut<livebuf_doc> {
    /// Keeps the error of a call that only reads the document.
    #[cfg(feature = "std")]
    pub(crate) fn keep(&self, error: livebuf_error) -> livebuf_status {
        if !self.is_null() {
            // SAFETY: C passes a document. That such a call writes its error, the header says; all
            // else of it others may read meanwhile.
            unsafe { (&raw mut (*self.address().cast_mut()).error).write(error) };
        }
        error.status
    }
}

/// The editor in these words of a document, by its state.
#[inline]
fn editor_in(
    state: u32,
    words: &mut [MaybeUninit<u64>; EDITOR_WORDS],
) -> Result<&mut Editor<Memory>> {
    match state {
        // SAFETY: an editor was written there before this state was.
        EDITS => Ok(unsafe { &mut *words.as_mut_ptr().cast() }),
        _ => Err(no_editor(state)),
    }
}

#[cold]
fn no_editor(state: u32) -> livebuf_error {
    livebuf_error::of(match state {
        READS | KEPT => livebuf_code::LIVEBUF_READ_ONLY,
        _ => livebuf_code::LIVEBUF_NOT_OPEN,
    })
}

/// An edit: its status; the document keeps the error. What else it answers, `work` puts where
/// it belongs: answers that are longer than a word go through memory, in pieces that a
/// processor waits for.
#[inline]
pub(crate) fn edit(
    mut doc: InOut<livebuf_doc>,
    work: impl FnOnce(&mut Editor<Memory>) -> Result<()>,
) -> livebuf_status {
    let Some(doc) = doc.option_mut() else { return NULL.status };
    let place = &mut doc.error;
    let status = match editor_in(doc.private_state, &mut doc.private_editor) {
        Ok(editor) => run(move || match work(editor) {
            Ok(()) => OK,
            Err(error) => {
                *place = error;
                error.status
            }
        }),
        Err(error) => return doc.fail(error),
    };
    doc.renew();
    if status == livebuf_code::LIVEBUF_INTERNAL as livebuf_status {
        doc.error = livebuf_error::of(livebuf_code::LIVEBUF_INTERNAL);
    }
    status
}

/// As `guard`, for edits.
#[inline]
fn run(work: impl FnOnce() -> livebuf_status) -> livebuf_status {
    #[cfg(feature = "std")]
    {
        use std::panic::{AssertUnwindSafe, catch_unwind};
        let internal = livebuf_code::LIVEBUF_INTERNAL as livebuf_status;
        catch_unwind(AssertUnwindSafe(work)).unwrap_or(internal)
    }
    #[cfg(not(feature = "std"))]
    work()
}

/// Puts a document, or the news that there is none, into the caller's variable.
pub(crate) fn place(doc: Out<livebuf_doc>, made: Result<livebuf_doc>) -> livebuf_status {
    if doc.is_null() {
        return NULL.status;
    }
    let made = made.unwrap_or_else(livebuf_doc::closed);
    let status = made.error.status;
    doc.put(made);
    status
}

/// The same for what can be edited.
#[inline]
pub(crate) fn place_editor<E: Into<livebuf_error>>(
    doc: Out<livebuf_doc>,
    made: core::result::Result<Editor<Memory>, E>,
) -> livebuf_status {
    match (doc.place(), made) {
        (None, _) => NULL.status,
        (_, Err(error)) => place(doc, Err(error.into())),
        (Some(doc), Ok(editor)) => {
            let (used, capacity) = (editor.as_bytes(), editor.storage().capacity);
            let (bytes, length) = (used.as_ptr(), used.len());
            open_in(doc, (bytes, length, capacity), |place| place.write(editor));
            OK
        }
    }
}

/// Puts a document that can be edited into C's variable, field by field: it is long to copy, and
/// messages are begun often. `make` writes the editor of these bytes.
#[inline]
fn open_in<'d>(
    doc: NonNull<livebuf_doc>,
    (bytes, length, capacity): (*const u8, usize, usize),
    make: impl FnOnce(&'d mut MaybeUninit<Editor<Memory>>) -> &'d mut Editor<Memory>,
) -> &'d mut Editor<Memory> {
    let doc = doc.as_ptr();
    // SAFETY: C passes a variable of this type. Its words have the editor's size and alignment.
    unsafe {
        (&raw mut (*doc).bytes).write(bytes);
        (&raw mut (*doc).length).write(length);
        (&raw mut (*doc).capacity).write(capacity);
        (&raw mut (*doc).private_state).write(EDITS);
        (&raw mut (*doc).error).write(livebuf_error::NONE);
        let editor = make(&mut *(&raw mut (*doc).private_editor).cast());
        (&raw mut (*doc).generation).write(first_generation(editor.number()));
        editor
    }
}

/// Begins an empty document in the caller's memory. At least 32 bytes. Its root is null; it
/// becomes an object when a member of LIVEBUF_ROOT is set, and an array when an element is pushed.
///
/// Memory: keeps `buffer`, `capacity` bytes that nobody else writes, until the document is
/// not used any more; `doc` needs no clean-up. NULL: LIVEBUF_NULL_ARGUMENT. Errors:
/// LIVEBUF_NO_SPACE. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_init(
    doc: Out<livebuf_doc>,
    mut buffer: Buffer<u8>,
    capacity: usize,
) -> livebuf_status {
    let Some(place) = doc.place() else { return NULL.status };
    if !buffer.begin(Editor::<Memory>::EMPTY, capacity) {
        return no_header(doc, buffer, capacity);
    }
    let Ok(memory) = Memory::fixed(buffer, capacity) else { return NULL.status };
    // SAFETY: these bytes are a document that has no features.
    unsafe { adopt(place, memory, HEADER) };
    OK
}

/// Bytes of an empty document.
const HEADER: usize = Editor::<Memory>::EMPTY.len();

/// Says why no document can begin there.
#[cold]
fn no_header(doc: Out<livebuf_doc>, buffer: Buffer<u8>, capacity: usize) -> livebuf_status {
    let room =
        Memory::fixed(buffer, capacity).and_then(|mut memory| Ok(memory.grow(HEADER as u64)?));
    place(doc, Err(room.err().unwrap_or(NULL)))
}

/// Puts a document of `used` bytes in this memory into C's variable.
///
/// # Safety
/// It is valid, and has no features that this version cannot edit.
#[inline]
pub(crate) unsafe fn adopt<'d>(
    doc: NonNull<livebuf_doc>,
    memory: Memory,
    used: usize,
) -> &'d mut Editor<Memory> {
    let place = (memory.pointer.cast_const(), used, memory.capacity);
    // SAFETY: this function's caller knows that it is valid.
    open_in(doc, place, |place| unsafe { Editor::adopt_in(place, memory, used as u32) })
}

/// Opens the document in the first `length` bytes of the caller's memory to be edited, in
/// constant time. Until livebuf_validate_in passes it is untrusted: freed space is not reused and
/// columns are not changed.
///
/// Memory: as livebuf_init. NULL: LIVEBUF_NULL_ARGUMENT. Errors: what is wrong with the
/// header; LIVEBUF_READ_ONLY where this version can read but not edit it.
/// Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_open(
    doc: Out<livebuf_doc>,
    buffer: Buffer<u8>,
    length: usize,
    capacity: usize,
) -> livebuf_status {
    let made = || -> Result<Editor<Memory>> {
        let memory = Memory::fixed(buffer, capacity)?;
        Doc::open(memory.bytes().get(..length).unwrap_or(memory.bytes()))?;
        Ok(Editor::open_unvalidated(memory)?)
    };
    place_editor(doc, made())
}

/// Opens a document to be read only, in constant time. Its bytes are never written.
///
/// Memory: keeps `bytes` until the document is not used any more; `doc` needs no clean-up.
/// NULL: LIVEBUF_NULL_ARGUMENT. Errors: what is wrong with the header.
/// Threads: once open, any number may read at once.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_read(
    doc: Out<livebuf_doc>,
    bytes: Array<u8>,
    length: usize,
) -> livebuf_status {
    place(doc, read_only(bytes, length))
}

/// A document in C's bytes, to be read.
pub(crate) fn read_only(bytes: Array<u8>, length: usize) -> Result<livebuf_doc> {
    let bytes = bytes.some()?;
    // SAFETY: the header asks C to keep them until the document is not used any more.
    unsafe { livebuf_doc::reader(bytes.bytes(length)?) }
}

/// Bytes of scratch memory that livebuf_validate_in and livebuf_get_stats_in need: a quarter of the
/// document's.
///
/// Memory: none. NULL and documents that are not open: 0. Errors: none. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_scratch_size(doc: In<livebuf_doc>) -> usize {
    doc.option().map_or(0, livebuf_doc::scratch_size)
}

/// Checks the whole document in one linear pass. From then on every answer is right and all
/// text is UTF-8, and an editor reuses freed space. Untrusted documents need it; those
/// that this library wrote do not.
///
/// Memory: writes to `scratch` while it runs. NULL: `doc` LIVEBUF_NULL_ARGUMENT; `scratch`
/// if its size is 0. Errors: the first problem, its offset in `doc->error`;
/// LIVEBUF_SCRATCH_TOO_SMALL. Threads: an edit.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_validate_in(
    mut doc: InOut<livebuf_doc>,
    mut scratch: Buffer<u8>,
    scratch_size: usize,
) -> livebuf_status {
    let Some(doc) = doc.option_mut() else { return NULL.status };
    doc.validate_in(scratch.bytes(scratch_size))
}

/// Where a document's bytes are. All in bytes but the last six.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct livebuf_stats {
    /// All used bytes.
    pub used: u64,
    /// Bytes that hold the document's value.
    pub live: u64,
    /// In the free list, to be reused.
    pub free: u64,
    /// Neither reachable nor free: compaction gets it back.
    pub garbage: u64,
    /// Bytes of the header and the aux block.
    pub overhead: u64,
    /// Shapes (without long keys' text).
    pub shapes: u64,
    /// Records and forwards.
    pub records: u64,
    /// Maps' headers and entries.
    pub maps: u64,
    /// Nodes of maps' indexes.
    pub index: u64,
    /// Arrays' headers and elements, values of columns among them.
    pub arrays: u64,
    /// Tables and lists.
    pub tables: u64,
    /// Text longer than a cell, keys included, each byte once.
    pub text: u64,
    /// Count of values, containers included.
    pub values: u64,
    /// Count of objects.
    pub objects: u64,
    /// Count of arrays.
    pub array_count: u64,
    /// Count of tables.
    pub table_count: u64,
    /// Count of columns of tables.
    pub columns: u64,
    /// Deepest nesting of containers.
    pub depth: u64,
}

impl From<livebuf::Stats> for livebuf_stats {
    fn from(stats: livebuf::Stats) -> Self {
        livebuf_stats {
            used: stats.used,
            live: stats.live(),
            free: stats.free,
            garbage: stats.garbage,
            overhead: stats.overhead,
            shapes: stats.shapes,
            records: stats.records,
            maps: stats.maps,
            index: stats.index,
            arrays: stats.arrays,
            tables: stats.tables,
            text: stats.text,
            values: stats.values,
            objects: stats.objects,
            array_count: stats.array_count,
            table_count: stats.table_count,
            columns: stats.columns,
            depth: stats.depth,
        }
    }
}

/// Validates a document and tells where its bytes are. Other than livebuf_validate_in it
/// changes nothing in what an editor may do.
///
/// Memory: writes `*stats`, and to `scratch` while it runs. NULL: LIVEBUF_NULL_ARGUMENT.
/// Errors: as livebuf_validate_in. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_get_stats_in(
    mut doc: InOut<livebuf_doc>,
    mut scratch: Buffer<u8>,
    scratch_size: usize,
    stats: Out<livebuf_stats>,
) -> livebuf_status {
    let Some(doc) = doc.option_mut() else { return NULL.status };
    doc.stats_in(scratch.bytes(scratch_size), stats)
}

/// Writes a compact copy of the document to other memory, without an allocator: holes,
/// garbage and spare room are left behind. `*length` becomes its length.
///
/// Memory: writes at most `capacity` bytes to `buffer`, which is not the document's own.
/// NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NO_SPACE with the missing bytes, or what is
/// damaged. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_compact_into(
    mut doc: InOut<livebuf_doc>,
    buffer: Buffer<u8>,
    capacity: usize,
    length: Out<usize>,
) -> livebuf_status {
    let Some(doc) = doc.option_mut() else { return NULL.status };
    let result = || {
        let view = doc.view()?;
        if buffer.is_null() || length.is_null() {
            return Err(NULL);
        }
        if overlap((doc.bytes, doc.capacity), (buffer.address(), capacity)) {
            return Err(livebuf_error::of(livebuf_code::LIVEBUF_OVERLAP));
        }
        // As the core's `compact_into`, by the one editor that is compiled in anyway.
        let mut target = Editor::create(Memory::fixed(buffer, capacity)?)?;
        target.set_root(view.root())?;
        length.put(target.as_bytes().len());
        Ok(())
    };
    let result = result();
    doc.status(result)
}

/// Whether two stretches of memory share a byte.
#[inline]
pub(crate) fn overlap(one: (*const u8, usize), other: (*const u8, usize)) -> bool {
    let (start, other_start) = (one.0 as usize, other.0 as usize);
    start < other_start.saturating_add(other.1) && other_start < start.saturating_add(one.1)
}

/// Bounds that edits keep to. 0 stands for the format's own bound.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct livebuf_limits {
    /// Most bytes a document may use (format: 2^32 - 8).
    pub document: u64,
    /// Most elements that a walk may visit; 0: 2^33.
    pub budget: u64,
    /// Most bytes of a string, key or byte string (format: 2^30 - 1).
    pub string: u32,
    /// Most elements of an array or members of an object (format: 2^31 - 1).
    pub elements: u32,
    /// Deepest nesting of containers; 0: 1,000, which is the most.
    pub nesting: u32,
    /// Zero.
    pub reserved: u32,
}

impl livebuf_limits {
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        if self.document != 0 {
            limits.document = self.document;
        }
        if self.budget != 0 {
            limits.budget = self.budget;
        }
        if self.string != 0 {
            limits.string = self.string;
        }
        if self.elements != 0 {
            limits.elements = self.elements;
        }
        if self.nesting != 0 {
            limits.nesting = u16::try_from(self.nesting).unwrap_or(u16::MAX);
        }
        limits
    }
}

/// Sets the bounds that edits of this document keep to.
///
/// Memory: copies `*limits`. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_READ_ONLY.
/// Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_set_limits(
    doc: InOut<livebuf_doc>,
    limits: In<livebuf_limits>,
) -> livebuf_status {
    edit(doc, |editor| {
        editor.set_limits(limits.get()?.limits());
        Ok(())
    })
}

/// Whether freed bytes are zeroed. They are by default.
///
/// Text that several values share, or that is in a dictionary, is not freed when the last of them
/// goes. To be rid of a secret, compact the document with `livebuf_compact`.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_READ_ONLY. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_set_wipe(doc: InOut<livebuf_doc>, wipe: bool) -> livebuf_status {
    edit(doc, |editor| {
        editor.set_wipe(wipe);
        Ok(())
    })
}

/// Whether an editor wrote or validated the document, so that freed space is reused.
///
/// Memory: none. NULL and documents that are only read: false. Errors: none.
/// Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_is_trusted(doc: In<livebuf_doc>) -> bool {
    doc.option().is_some_and(livebuf_doc::is_trusted)
}
