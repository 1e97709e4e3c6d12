//! Deltas: the changes from one state of a document to the next as bytes to send, and undo.
//!
//! A delta is encoded wherever C has it (`docs/DELTA.md`), so there is no type for it. The
//! recorders hear of changes as `livebuf_record` does.

use core::ffi::c_void;
use core::{ptr, slice};

use livebuf::{Delta, DeltaError, Editor, History, Recorder, State};

use crate::args::{Array, In, InOut, Out, Owned};
use crate::context::{copy_out, hand_out, hand_out_of, livebuf_allocator};
use crate::document::{Memory, edit, guard, livebuf_doc, tell};
use crate::status::{NULL, OK, Result, livebuf_code, livebuf_error, livebuf_status};

/// The recorder keeps overwritten bytes: the delta can be inverted.
pub const LIVEBUF_DELTA_OLD: u32 = 1;
/// The delta has the SHA-256 of all bytes afterwards; applying compares it.
pub const LIVEBUF_DELTA_DIGEST: u32 = 2;

/// The state of a document: 16 bytes that stand for all of its bytes.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct livebuf_state {
    /// As documents and deltas hold them.
    pub bytes: [u8; 16],
}

impl From<State> for livebuf_state {
    fn from(state: State) -> Self {
        livebuf_state { bytes: state.to_bytes() }
    }
}

impl From<DeltaError> for livebuf_error {
    #[cold]
    fn from(error: DeltaError) -> livebuf_error {
        use livebuf_code::*;
        // The first half of a state, whose digits are those that a state begins with.
        let half = |state: State| {
            let bytes = state.to_bytes();
            bytes.first_chunk().map_or(0, |half| u64::from_be_bytes(*half))
        };
        let at = |code, offset, detail| livebuf_error { offset, detail, ..livebuf_error::of(code) };
        match error {
            DeltaError::NotADelta => livebuf_error::of(LIVEBUF_NOT_A_DELTA),
            DeltaError::UnsupportedVersion(version) => {
                at(LIVEBUF_UNSUPPORTED_VERSION, 0, version.into())
            }
            DeltaError::Truncated(length) => at(LIVEBUF_BAD_DELTA, length as u64, 0),
            DeltaError::Damaged { offset, .. } => at(LIVEBUF_BAD_DELTA, offset, 0),
            DeltaError::NoState => livebuf_error::of(LIVEBUF_NO_STATE),
            DeltaError::WrongBase { document: Some(document), delta } => {
                at(LIVEBUF_WRONG_STATE, half(document), half(delta))
            }
            DeltaError::WrongBase { document: None, delta } => at(LIVEBUF_NO_STATE, 0, half(delta)),
            DeltaError::WrongLength { .. } | DeltaError::WrongDigest => {
                livebuf_error::of(LIVEBUF_WRONG_BYTES)
            }
            DeltaError::NoDigest => livebuf_error::of(LIVEBUF_NO_DIGEST),
            DeltaError::NotConsecutive { first, second } => {
                at(LIVEBUF_WRONG_STATE, half(first), half(second))
            }
            DeltaError::NoOldBytes => livebuf_error::of(LIVEBUF_NO_OLD_BYTES),
            DeltaError::Document(error) => error.into(),
            _ => livebuf_error::of(LIVEBUF_INTERNAL),
        }
    }
}

/// The document's state. Constant time.
///
/// Memory: writes `*state`. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NO_STATE where it has
/// none, or where an edit ended it; `*state` is zero then. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_get_state(
    doc: In<livebuf_doc>,
    state: Out<livebuf_state>,
) -> livebuf_status {
    let (Some(doc), false) = (doc.option(), state.is_null()) else { return NULL.status };
    let (found, status) = match doc.view().map(|view| view.state()) {
        Ok(Some(found)) => (found.into(), OK),
        Ok(None) => (livebuf_state::default(), livebuf_code::LIVEBUF_NO_STATE as livebuf_status),
        Err(error) => (livebuf_state::default(), error.status),
    };
    state.put(found);
    status
}

/// Gives the document a state, from which deltas can lead on: this one, or a random one. Copies
/// of its bytes have the same state. The next edit ends it, unless a delta is made of the edit.
///
/// Memory: the first state takes 16 to 48 bytes of the document. NULL: `state` for a random one;
/// `doc` LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NO_SPACE, LIVEBUF_READ_ONLY. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_set_state(
    doc: InOut<livebuf_doc>,
    state: In<livebuf_state>,
) -> livebuf_status {
    let state = state.option().map_or_else(State::random, |state| State::from_bytes(state.bytes));
    edit(doc, |editor| Ok(editor.set_state(state)?))
}

/// A recorder on the heap that a document's memory tells of changes. It has a place of its own:
/// it is told while those that own it are at work.
struct Watch(*mut Recorder);

impl Watch {
    /// Notes the changes of a document that tells nobody else of them.
    fn begin(editor: &mut Editor<Memory>, recorder: Recorder) -> Result<Watch> {
        if editor.storage().told().is_some() || editor.transactions() > 0 {
            return Err(livebuf_error::of(livebuf_code::LIVEBUF_BAD_SEQUENCE));
        }
        let watch = Watch(Box::into_raw(Box::new(recorder)));
        tell(editor, Some(note), watch.0.cast());
        editor.storage().led.set(true);
        Ok(watch)
    }

    /// Checks that it notes this document's changes, and that no transaction is open.
    fn check(&self, editor: &Editor<Memory>) -> Result<()> {
        let is_told = editor.storage().told() == Some(self.0.cast());
        match is_told && editor.transactions() == 0 {
            true => Ok(()),
            false => Err(livebuf_error::of(livebuf_code::LIVEBUF_BAD_SEQUENCE)),
        }
    }

    /// Puts another recorder in its place.
    fn replace(&self, recorder: Recorder) -> Recorder {
        // SAFETY: `begin` put it on the heap. Beside this type `note` alone uses it, which runs
        // during edits only.
        core::mem::replace(unsafe { &mut *self.0 }, recorder)
    }

    /// Whether the document, of this length now, was changed.
    fn is_pending(&self, length: u64) -> bool {
        // SAFETY: as in `replace`.
        let recorder = unsafe { &*self.0 };
        recorder.has_changes(length)
    }

    /// Ends it; the document may be another one, or closed.
    fn end(self, editor: Option<&mut Editor<Memory>>) {
        if let Some(editor) = editor
            && editor.storage().told() == Some(self.0.cast())
        {
            tell(editor, None, ptr::null_mut());
        }
        // SAFETY: `begin` put it on the heap. No document tells it of changes any more, since the
        // header asks C for the one that did, unless that is gone.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Notes a change in a recorder.
///
/// # Safety
/// `user` is the recorder of a `Watch`; `bytes` are good up to the end of the change.
unsafe extern "C" fn note(user: *mut c_void, bytes: *const u8, offset: usize, length: usize) {
    // SAFETY: `Watch::begin` gave the recorder together with this function.
    let Some(recorder) = (unsafe { user.cast::<Recorder>().as_mut() }) else { return };
    // More is not looked at: it was no part of the document.
    let end = offset.saturating_add(length).min(recorder.base_length() as usize);
    if offset < end {
        // SAFETY: the change lies in the document's memory, which begins at `bytes`, and ends at
        // `end` or behind it.
        let bytes = unsafe { slice::from_raw_parts(bytes, end) };
        recorder.will_change(bytes, offset as u64, (end - offset) as u64);
    }
}

/// Notes the changes of a document to make a delta of them: got from livebuf_delta_begin.
pub struct livebuf_delta_recorder {
    watch: Watch,
    digest: bool,
}

/// Notes from here on what edits change, until livebuf_delta_end makes a delta of it. Meanwhile
/// the document has no other recorder, callback or history. `flags`: LIVEBUF_DELTA_OLD,
/// LIVEBUF_DELTA_DIGEST or 0.
///
/// Memory: livebuf_delta_end or livebuf_delta_cancel frees what it returns; memory from the system,
/// linear in what changes. NULL: `doc`: NULL. Errors: NULL, and in `doc->error` LIVEBUF_NO_STATE
/// (livebuf_set_state first), LIVEBUF_BAD_SEQUENCE where the document tells another one of its
/// changes, or within a transaction, LIVEBUF_READ_ONLY. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_delta_begin(
    mut doc: InOut<livebuf_doc>,
    flags: u32,
) -> *mut livebuf_delta_recorder {
    let begin = || {
        let editor = doc.get_mut()?.editor_mut()?;
        if editor.state().is_none() {
            return Err(livebuf_error::of(livebuf_code::LIVEBUF_NO_STATE));
        }
        let recorder = match flags & LIVEBUF_DELTA_OLD {
            0 => Recorder::new(editor.as_bytes()),
            _ => Recorder::with_old(editor.as_bytes()),
        };
        let watch = Watch::begin(editor, recorder)?;
        let digest = flags & LIVEBUF_DELTA_DIGEST != 0;
        Ok(Box::into_raw(Box::new(livebuf_delta_recorder { watch, digest })))
    };
    let begun = guard(begin);
    hand_out_of(begun, &doc)
}

/// Makes a delta of what changed since livebuf_delta_begin, gives the document the state that it
/// leads to, and frees the recorder. Returns the delta's `*length` bytes, encoded as
/// docs/DELTA.md says: to be sent as they are. Linear in the bytes that changed; with
/// LIVEBUF_DELTA_DIGEST in the document.
///
/// Memory: livebuf_free with the same allocator and `*length` frees it. NULL: `allocator` for the
/// system's; others: NULL. Errors: NULL, and in `doc->error` LIVEBUF_BAD_SEQUENCE within a
/// transaction and where the recorder does not note this document's changes: it is not freed
/// then, nor where an argument is NULL; LIVEBUF_NO_SPACE, LIVEBUF_IO. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_delta_end(
    doc: InOut<livebuf_doc>,
    recorder: Owned<livebuf_delta_recorder>,
    allocator: In<livebuf_allocator>,
    length: Out<usize>,
) -> *mut u8 {
    let mut made = ptr::null_mut();
    edit(doc, |editor| {
        let known = recorder.option().ok_or(NULL)?;
        length.some()?;
        known.watch.check(editor)?;
        let livebuf_delta_recorder { watch, digest } = *recorder.take().ok_or(NULL)?;
        let noted = watch.replace(Recorder::default());
        watch.end(Some(editor));
        let mut delta = Delta::make(editor, noted)?;
        if digest {
            delta.set_digest(editor.doc())?;
        }
        made = copy_out(&delta.to_bytes(), allocator, length)?;
        Ok(())
    });
    made
}

/// Frees a recorder without making a delta. The document keeps its edits, and its state ended
/// with the first of them.
///
/// Memory: `recorder` is gone. NULL: `doc` where the document is gone; `recorder`: nothing is
/// done. Errors: none. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_delta_cancel(
    mut doc: InOut<livebuf_doc>,
    recorder: Owned<livebuf_delta_recorder>,
) {
    if let Some(recorder) = recorder.take() {
        recorder.watch.end(doc.option_mut().and_then(|doc| doc.editor_mut().ok()));
    }
}

/// Changes a document from the state that a delta begins at to the one that it leads to, whole or
/// not at all: its bytes are then those of the document that the delta was made of. `flags`:
/// LIVEBUF_DELTA_DIGEST compares the SHA-256 of all bytes first, or 0.
///
/// Linear in the delta's bytes; with the digest in the document. The delta may be untrusted.
/// So the document is not trusted until livebuf_validate passes. Values and places are stale.
///
/// Memory: `delta` is not needed afterwards. NULL: LIVEBUF_NULL_ARGUMENT. Errors:
/// LIVEBUF_WRONG_STATE or LIVEBUF_NO_STATE where the document has another state;
/// LIVEBUF_NOT_A_DELTA, LIVEBUF_BAD_DELTA; LIVEBUF_NO_DIGEST, LIVEBUF_WRONG_BYTES;
/// LIVEBUF_NO_SPACE; LIVEBUF_BAD_SEQUENCE while the document has a history or makes a delta. The
/// document is unchanged then. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_delta_apply(
    doc: InOut<livebuf_doc>,
    delta: Array<u8>,
    length: usize,
    flags: u32,
) -> livebuf_status {
    edit(doc, |editor| {
        // The document would get another state than that of the delta.
        if editor.storage().led.get() {
            return Err(livebuf_error::of(livebuf_code::LIVEBUF_BAD_SEQUENCE));
        }
        let delta = read(delta, length)?;
        Ok(match flags & LIVEBUF_DELTA_DIGEST {
            0 => delta.apply(editor),
            _ => delta.apply_checked(editor),
        }?)
    })
}

fn read(delta: Array<u8>, length: usize) -> Result<Delta> {
    Ok(Delta::from_bytes(delta.some()?.bytes(length)?)?)
}

/// What a delta says.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct livebuf_delta_info {
    /// The state that it begins at.
    pub base: livebuf_state,
    /// The state that it leads to.
    pub state: livebuf_state,
    /// Bytes of the document before.
    pub base_length: usize,
    /// Bytes of the document afterwards.
    pub length: usize,
    /// Count of ranges that change.
    pub ranges: usize,
    /// LIVEBUF_DELTA_OLD and LIVEBUF_DELTA_DIGEST, if it has these.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
}

/// Says what a delta of `length` bytes changes.
///
/// Memory: writes `*info`. NULL: `error` if it is not wanted; others LIVEBUF_NULL_ARGUMENT.
/// Errors: LIVEBUF_NOT_A_DELTA, LIVEBUF_BAD_DELTA with the offset in the delta,
/// LIVEBUF_UNSUPPORTED_VERSION; `*info` is zero then. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_delta_read(
    delta: Array<u8>,
    length: usize,
    info: Out<livebuf_delta_info>,
    error: Out<livebuf_error>,
) -> livebuf_status {
    let look = || {
        info.some()?.put(livebuf_delta_info::default());
        let delta = read(delta, length)?;
        let old = if delta.keeps_old() { LIVEBUF_DELTA_OLD } else { 0 };
        let digest = if delta.digest().is_some() { LIVEBUF_DELTA_DIGEST } else { 0 };
        info.put(livebuf_delta_info {
            base: delta.base().into(),
            state: delta.state().into(),
            base_length: delta.base_length() as usize,
            length: delta.length() as usize,
            ranges: delta.changes().count(),
            flags: old | digest,
            reserved: 0,
        });
        Ok(())
    };
    let what = guard(look).err().unwrap_or(livebuf_error::NONE);
    error.put(what);
    what.status
}

/// One delta that does what `first` and then `second` do. It has old bytes if both have them.
///
/// Memory: livebuf_free with the same allocator and `*length` frees it. NULL: `allocator` for the
/// system's, `error` if it is not wanted; others: NULL. Errors: NULL: as livebuf_delta_read;
/// LIVEBUF_WRONG_STATE where the second does not begin where the first ends; LIVEBUF_IO.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_delta_compose(
    first: Array<u8>,
    first_length: usize,
    second: Array<u8>,
    second_length: usize,
    allocator: In<livebuf_allocator>,
    length: Out<usize>,
    error: Out<livebuf_error>,
) -> *mut u8 {
    let make = || {
        let (first, second) = (read(first, first_length)?, read(second, second_length)?);
        copy_out(&first.compose(&second)?.to_bytes(), allocator, length)
    };
    hand_out(guard(make), error)
}

/// The delta that leads back: it takes the changes of this one back.
///
/// Memory, NULL, Threads: as livebuf_delta_compose. Errors: NULL: as livebuf_delta_read;
/// LIVEBUF_NO_OLD_BYTES: record with LIVEBUF_DELTA_OLD; LIVEBUF_IO.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_delta_invert(
    delta: Array<u8>,
    delta_length: usize,
    allocator: In<livebuf_allocator>,
    length: Out<usize>,
    error: Out<livebuf_error>,
) -> *mut u8 {
    let make = || {
        let delta = read(delta, delta_length)?;
        copy_out(&delta.invert()?.to_bytes(), allocator, length)
    };
    hand_out(guard(make), error)
}

/// Steps of a document that can be undone and redone: got from livebuf_history_begin.
pub struct livebuf_history {
    steps: History,
    watch: Watch,
    /// The step, undo or redo that was last.
    last: Option<Delta>,
    /// The document was trusted when the recorder began.
    began_trusted: bool,
    /// It was trusted before and after all steps that are kept.
    is_sound: bool,
}

impl livebuf_history {
    /// Records anew.
    fn restart(&mut self, editor: &Editor<Memory>) {
        self.watch.replace(Recorder::with_old(editor.as_bytes()));
        self.began_trusted = editor.is_trusted();
    }

    /// Makes a step of what was recorded, if anything changed.
    fn settle(&mut self, editor: &mut Editor<Memory>) -> Result<()> {
        self.watch.check(editor)?;
        self.is_sound |= self.steps.undo_count() + self.steps.redo_count() == 0;
        let recorder = self.watch.replace(Recorder::default());
        let made = self.steps.step(editor, recorder);
        let was_trusted = self.began_trusted;
        self.restart(editor);
        if let Some(step) = made? {
            self.is_sound &= was_trusted && self.began_trusted;
            self.last = Some(step);
        }
        Ok(())
    }

    fn go(&mut self, editor: &mut Editor<Memory>, back: bool) -> Result<()> {
        self.settle(editor)?;
        let delta = match back {
            true => self.steps.next_undo().map(Delta::invert).transpose()?,
            false => self.steps.next_redo().cloned(),
        };
        let delta = delta.ok_or(livebuf_error::of(livebuf_code::LIVEBUF_NOT_FOUND))?;
        match (self.is_sound, back) {
            // SAFETY: this file made all steps by `Delta::make`, of the recorder that this
            // document's memory told of every change. `is_sound` says that the document was
            // trusted before and after each step.
            (true, true) => unsafe { self.steps.undo_trusted(editor) },
            // SAFETY: as for `undo_trusted`.
            (true, false) => unsafe { self.steps.redo_trusted(editor) },
            (false, true) => self.steps.undo(editor),
            (false, false) => self.steps.redo(editor),
        }?;
        self.last = Some(delta);
        self.restart(editor);
        Ok(())
    }
}

/// Begins a history of the document's changes, of at most `max_bytes` bytes: the oldest steps are
/// dropped where all take more. A document without a state gets a random one. Meanwhile the
/// document has no other recorder or callback.
///
/// Memory: livebuf_history_end frees what it returns; memory from the system. NULL: `doc`: NULL.
/// Errors: NULL, and in `doc->error` LIVEBUF_BAD_SEQUENCE where the document tells another one of
/// its changes, or within a transaction; LIVEBUF_READ_ONLY, LIVEBUF_NO_SPACE. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_history_begin(
    doc: InOut<livebuf_doc>,
    max_bytes: usize,
) -> *mut livebuf_history {
    let mut begun = ptr::null_mut();
    edit(doc, |editor| {
        if editor.storage().told().is_some() || editor.transactions() > 0 {
            return Err(livebuf_error::of(livebuf_code::LIVEBUF_BAD_SEQUENCE));
        }
        if editor.state().is_none() {
            editor.set_state(State::random())?;
        }
        let watch = Watch::begin(editor, Recorder::with_old(editor.as_bytes()))?;
        let (steps, began_trusted) = (History::new(max_bytes), editor.is_trusted());
        let history = livebuf_history { steps, watch, last: None, began_trusted, is_sound: true };
        begun = Box::into_raw(Box::new(history));
        Ok(())
    });
    begun
}

/// An edit of a document together with its history.
fn change(
    doc: InOut<livebuf_doc>,
    mut history: InOut<livebuf_history>,
    work: impl FnOnce(&mut livebuf_history, &mut Editor<Memory>) -> Result<()>,
) -> livebuf_status {
    edit(doc, |editor| {
        let history = history.get_mut()?;
        history.watch.check(editor)?;
        work(history, editor)
    })
}

/// Makes one step of all edits since the last one. Where nothing changed, there is no step.
/// What was undone cannot be redone any more.
///
/// Memory: linear in the bytes that changed. NULL: LIVEBUF_NULL_ARGUMENT. Errors:
/// LIVEBUF_BAD_SEQUENCE within a transaction, and where the history is not this document's.
/// Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_history_step(
    doc: InOut<livebuf_doc>,
    history: InOut<livebuf_history>,
) -> livebuf_status {
    change(doc, history, livebuf_history::settle)
}

/// Takes the last step back: the document's bytes are as they were before it. Edits since the last
/// step become a step first. Linear in the bytes that the step changed.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NOT_FOUND where there is no step;
/// as livebuf_history_step. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_undo(
    doc: InOut<livebuf_doc>,
    history: InOut<livebuf_history>,
) -> livebuf_status {
    change(doc, history, |history, editor| history.go(editor, true))
}

/// Does the step again that was undone last. An edit since then ends that.
///
/// Memory, NULL, Errors, Threads: as livebuf_undo.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_redo(
    doc: InOut<livebuf_doc>,
    history: InOut<livebuf_history>,
) -> livebuf_status {
    change(doc, history, |history, editor| history.go(editor, false))
}

/// How many steps a history can undo (`redo`: redo) now; edits since the last step count as one.
///
/// Memory: none. NULL: 0. Errors: none. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_history_count(
    doc: In<livebuf_doc>,
    history: In<livebuf_history>,
    redo: bool,
) -> usize {
    let (Some(doc), Some(history)) = (doc.option(), history.option()) else { return 0 };
    match (redo, history.watch.is_pending(doc.length as u64)) {
        (false, is_pending) => history.steps.undo_count() + usize::from(is_pending),
        (true, false) => history.steps.redo_count(),
        (true, true) => 0,
    }
}

/// The delta of what livebuf_history_step, livebuf_undo or livebuf_redo did last: copies of the
/// document that apply it follow. Returns its `*length` bytes.
///
/// Memory: livebuf_free with the same allocator and `*length` frees it. NULL: `allocator` for the
/// system's, `error` if it is not wanted; others: NULL. Errors: NULL: LIVEBUF_NOT_FOUND where
/// there was no step yet; LIVEBUF_IO. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_history_delta(
    history: In<livebuf_history>,
    allocator: In<livebuf_allocator>,
    length: Out<usize>,
    error: Out<livebuf_error>,
) -> *mut u8 {
    let make = || {
        let last = history.get()?.last.as_ref();
        let last = last.ok_or(livebuf_error::of(livebuf_code::LIVEBUF_NOT_FOUND))?;
        // Old bytes serve the history alone.
        copy_out(&last.without_old().to_bytes(), allocator, length)
    };
    hand_out(guard(make), error)
}

/// Ends a history: its steps are forgotten. The document stays as it is.
///
/// Memory: `history` is gone. NULL: `doc` where the document is gone; `history`: nothing is done.
/// Errors: none. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_history_end(
    mut doc: InOut<livebuf_doc>,
    history: Owned<livebuf_history>,
) {
    if let Some(history) = history.take() {
        history.watch.end(doc.option_mut().and_then(|doc| doc.editor_mut().ok()));
    }
}
