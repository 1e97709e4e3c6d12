//! Transactions: groups of edits of which all happen or none.

use super::editor::Editor;
use crate::error::{Error, ErrorKind, Result};
use crate::store::storage::Storage;

impl<S: Storage> Editor<S> {
    /// Makes several edits whole or not at all.
    ///
    /// If `edits` fails or panics, the document's bytes are as before. Then all handles are stale
    /// that were taken until now, and so are detached values. Transactions nest: an inner one can
    /// fail alone.
    ///
    /// The edits take place at once, and can be read within. Beside them the bytes that they
    /// overwrite are kept, never a copy of the document: time and memory are linear in these
    /// bytes. Others that read the memory meanwhile may see a part of the edits.
    ///
    /// A fixed buffer allocates nothing. There the log of overwritten bytes takes half of the
    /// room behind the document until the transaction ends.
    ///
    /// # Errors
    /// What `edits` answers. If the log is full: [`ErrorKind::NoSpace`], or [`ErrorKind::Io`]
    /// where it is allocated. As [`begin_transaction`](Self::begin_transaction).
    ///
    /// ```
    /// use livebuf::{Error, json};
    ///
    /// let mut doc = json!({"from": 10, "to": 0});
    /// let before = doc.to_vec();
    /// let moved = doc.transaction(|doc| {
    ///     doc.set_pointer("/to", 10)?;
    ///     doc.set_pointer("/from/balance", 0)?;            // no object
    ///     Ok::<(), Error>(())
    /// });
    /// assert!(moved.is_err());
    /// assert_eq!(doc.as_bytes(), before);
    ///
    /// doc.transaction(|doc| {
    ///     doc.set_pointer("/to", 10)?;
    ///     doc.set_pointer("/from", 0)
    /// })?;
    /// assert_eq!(doc.pointer("/to")?.unwrap(), 10);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn transaction<R, E: From<Error>>(
        &mut self,
        edits: impl FnOnce(&mut Self) -> Result<R, E>,
    ) -> Result<R, E> {
        self.begin_transaction()?;
        let outer = self.space.transactions() - 1;
        // Rolls back where `edits` panics, too.
        let open = OpenTransaction { editor: self, outer };
        let done = edits(open.editor)?;
        while open.editor.space.transactions() > outer + 1 {
            open.editor.rollback_transaction()?;
        }
        open.editor.commit_transaction()?;
        Ok(done)
    }

    /// Begins a transaction, within the one that is open if there is one. For edits that do not
    /// fit into a closure of [`transaction`](Self::transaction), as those of bindings.
    ///
    /// If you drop the editor before you commit, the edits stay in the memory that you lent to
    /// it. [`into_storage`](Self::into_storage) rolls back.
    ///
    /// # Errors
    /// [`ErrorKind::ReadOnly`]; [`ErrorKind::Broken`]. Within another transaction:
    /// [`ErrorKind::NoSpace`] where the log in a fixed buffer is full, or [`ErrorKind::Io`] where
    /// none can be allocated.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"laps": [88.4]});
    /// doc.begin_transaction()?;
    /// doc.set_pointer("/laps/-", 87.9)?;
    /// doc.begin_transaction()?;                            // a savepoint
    /// doc.remove_pointer("/laps")?;
    /// doc.rollback_transaction()?;                         // the laps are back
    /// doc.commit_transaction()?;
    /// assert_eq!(doc.pointer("/laps/1")?.unwrap(), 87.9);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn begin_transaction(&mut self) -> Result<()> {
        self.space.begin()
    }

    /// Ends the last transaction that was begun. Its edits stay, if those stay that it was begun
    /// within. Constant time.
    ///
    /// # Errors
    /// [`ErrorKind::BadSequence`] where none is open. The error of an edit that did not fit into
    /// the log: then the transaction is still open, and can only be rolled back.
    pub fn commit_transaction(&mut self) -> Result<()> {
        self.space.editable()?;
        if !self.space.commit() {
            return Err(Error::new(ErrorKind::BadSequence, 0));
        }
        match self.space.transactions() {
            0 => self.end_edit(),
            _ => Ok(()),
        }
    }

    /// Takes back the edits since the last transaction was begun, and ends it. The document's
    /// bytes are as they were then. All handles and detached values are stale.
    ///
    /// Linear in the bytes that the edits overwrote and added.
    ///
    /// # Errors
    /// [`ErrorKind::BadSequence`] where none is open.
    pub fn rollback_transaction(&mut self) -> Result<()> {
        if !self.space.roll_back() {
            return Err(Error::new(ErrorKind::BadSequence, 0));
        }
        self.handles.reset();
        Ok(())
    }

    /// How many transactions are open, each within the one before.
    pub fn transactions(&self) -> u32 {
        self.space.transactions()
    }
}

/// A transaction that is rolled back unless it was committed.
struct OpenTransaction<'e, S: Storage> {
    editor: &'e mut Editor<S>,
    /// How many were open before.
    outer: u32,
}

impl<S: Storage> Drop for OpenTransaction<'_, S> {
    fn drop(&mut self) {
        while self.editor.space.transactions() > self.outer {
            if self.editor.rollback_transaction().is_err() {
                return;
            }
        }
    }
}
