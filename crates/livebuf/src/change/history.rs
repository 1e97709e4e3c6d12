//! History: undo and redo of deltas.

use super::delta::Delta;
use super::error::DeltaError;
#[cfg(feature = "std")]
use super::recorder::Recorder;
use crate::edit::Editor;
#[cfg(feature = "std")]
use crate::format::state::State;
use crate::store::storage::Storage;
use alloc::collections::VecDeque;

/// Steps of a document that can be undone and redone.
///
/// It is a value beside the editor. Each step is a [`Delta`] with old bytes. What is kept is
/// bounded by bytes: the oldest steps are dropped.
///
/// ```
/// use livebuf::{History, Recorder, State, json};
///
/// let mut doc = json!({"lap": 55});
/// doc.set_state(State::random())?;
/// let mut history = History::new(1 << 20);
///
/// for lap in [56, 57] {
///     doc.listen(Recorder::with_old(doc.as_bytes()));
///     doc.set_pointer("/lap", lap)?;
///     let recorder = doc.stop_listening().unwrap();
///     history.step(&mut doc, recorder)?;
/// }
/// assert!(history.undo(&mut doc)?);
/// assert_eq!(doc.pointer("/lap")?.unwrap(), 56);
/// assert!(history.redo(&mut doc)?);
/// assert_eq!(doc.pointer("/lap")?.unwrap(), 57);
/// assert!(!history.redo(&mut doc)?);                   // there is nothing more
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct History {
    /// What can be undone, the oldest first.
    undo: VecDeque<Delta>,
    /// What can be redone, the next last.
    redo: VecDeque<Delta>,
    bytes: usize,
    most: usize,
}

impl History {
    /// An empty history that keeps steps of at most this many bytes together.
    pub fn new(most: usize) -> History {
        History { undo: VecDeque::new(), redo: VecDeque::new(), bytes: 0, most }
    }

    /// Adds the step that was just made. What could be redone is dropped. If the step does not
    /// begin where the last one ended, all steps before are dropped, too: they cannot be undone any
    /// more. A step that alone has more bytes than the history keeps is dropped, and so are all
    /// before it.
    ///
    /// # Errors
    /// [`DeltaError::NoOldBytes`].
    pub fn push(&mut self, step: Delta) -> Result<(), DeltaError> {
        if !step.keeps_old() {
            return Err(DeltaError::NoOldBytes);
        }
        self.drop_redo();
        if self.undo.back().is_some_and(|last| last.state() != step.base()) {
            self.clear();
        }
        self.bytes += step.memory();
        self.undo.push_back(step);
        while self.bytes > self.most
            && let Some(oldest) = self.undo.pop_front()
        {
            self.bytes -= oldest.memory();
        }
        Ok(())
    }

    /// Makes a step of what a recorder saw since it was made: [`Delta::make`], then
    /// [`push`](Self::push). Returns the step. `None` where nothing changed: then there is no step,
    /// and the document has the state from before.
    ///
    /// The next recording begins by a new recorder. O(n) for n bytes that changed.
    ///
    /// # Errors
    /// As [`Delta::make`] and [`push`](Self::push). The steps before lead to a state that cannot be
    /// reached any more, so the history is empty then, and the document has some state.
    #[cfg(feature = "std")]
    pub fn step<S: Storage>(
        &mut self,
        editor: &mut Editor<S>,
        recorder: Recorder,
    ) -> Result<Option<Delta>, DeltaError> {
        if !recorder.has_changes(editor.as_bytes().len() as u64) {
            return Ok(None);
        }
        match Delta::make(editor, recorder) {
            // What was changed was changed back. The bytes are those of the state before.
            Ok(step) if step.is_empty() => {
                editor.set_state(step.base())?;
                Ok(None)
            }
            Ok(step) => {
                if let Err(failure) = self.push(step.clone()) {
                    self.clear();
                    return Err(failure);
                }
                Ok(Some(step))
            }
            Err(failure) => {
                self.clear();
                if editor.state().is_none() {
                    editor.set_state(State::random())?;
                }
                Err(failure)
            }
        }
    }

    /// Takes the last step back. False where there is none.
    ///
    /// The bytes of the document are as they were before the step. It is not
    /// [trusted](Editor::is_trusted) until it is validated: the steps may come from elsewhere.
    /// [`undo_trusted`](Self::undo_trusted) keeps trust. Handles and detached values are stale.
    ///
    /// Linear in the bytes that the step changed.
    ///
    /// # Errors
    /// [`DeltaError::WrongBase`] where the document was edited since; as [`Delta::apply`]. Nothing
    /// is changed then.
    pub fn undo<S: Storage>(&mut self, editor: &mut Editor<S>) -> Result<bool, DeltaError> {
        let Some(step) = self.undo.back_mut() else { return Ok(false) };
        step.turn()?;
        let applied = step.apply(editor);
        step.turn()?;
        applied?;
        self.redo.extend(self.undo.pop_back());
        Ok(true)
    }

    /// Does the step again that was undone last. False where there is none.
    ///
    /// # Errors
    /// As [`undo`](Self::undo).
    pub fn redo<S: Storage>(&mut self, editor: &mut Editor<S>) -> Result<bool, DeltaError> {
        let Some(step) = self.redo.back() else { return Ok(false) };
        step.apply(editor)?;
        self.undo.extend(self.redo.pop_back());
        Ok(true)
    }

    /// [`undo`](Self::undo) that keeps the document trusted if it is.
    ///
    /// # Safety
    /// - All steps of this history were made of this document by [`Delta::make`].
    /// - Their recorders were fed by this document's editor alone, and saw every change.
    /// - The document was [trusted](Editor::is_trusted) before and after each step.
    ///
    /// Then undoing restores bytes that were trusted before. The document's state says that it
    /// has the bytes at which the step ended, and the recorder kept all that the step overwrote.
    #[allow(unsafe_code)]
    pub unsafe fn undo_trusted<S: Storage>(
        &mut self,
        editor: &mut Editor<S>,
    ) -> Result<bool, DeltaError> {
        let trusted = editor.is_trusted();
        let undone = self.undo(editor)?;
        editor.space.trusted = trusted;
        Ok(undone)
    }

    /// [`redo`](Self::redo) that keeps the document trusted if it is.
    ///
    /// # Safety
    /// As [`undo_trusted`](Self::undo_trusted).
    #[allow(unsafe_code)]
    pub unsafe fn redo_trusted<S: Storage>(
        &mut self,
        editor: &mut Editor<S>,
    ) -> Result<bool, DeltaError> {
        let trusted = editor.is_trusted();
        let redone = self.redo(editor)?;
        editor.space.trusted = trusted;
        Ok(redone)
    }

    /// How many steps can be undone.
    pub fn undo_count(&self) -> usize {
        self.undo.len()
    }

    /// How many steps can be redone.
    pub fn redo_count(&self) -> usize {
        self.redo.len()
    }

    /// The step that [`undo`](Self::undo) takes back. [Inverted](Delta::invert), it says to copies
    /// of the document how to follow.
    pub fn next_undo(&self) -> Option<&Delta> {
        self.undo.back()
    }

    /// The step that [`redo`](Self::redo) does again.
    pub fn next_redo(&self) -> Option<&Delta> {
        self.redo.back()
    }

    /// Bytes of all steps, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets all steps.
    pub fn clear(&mut self) {
        *self = History::new(self.most);
    }

    fn drop_redo(&mut self) {
        for step in self.redo.drain(..) {
            self.bytes -= step.memory();
        }
    }
}
