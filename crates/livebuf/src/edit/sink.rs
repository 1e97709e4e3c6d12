//! An edit is one piece of code that runs twice.
//!
//! First with a sink that [counts](Editor::sizer): it adds up the bytes that the edit takes, and
//! changes nothing. All that can fail fails here. Then with one that [writes](writer): it has the
//! bytes. So an edit cannot take other bytes than it planned.
//!
//! Between the two runs nothing may change, so the code follows two rules. It reads the document
//! before it writes there, or reads what it wrote within [`Sink::write`]. And an offset that a
//! counting sink answers, which is 0, is never read from.

use super::editor::Editor;
use super::handles::NodeId;
use crate::error::Result;
use crate::store::space::Extent;
use crate::store::storage::Storage;
use crate::view::Value;

/// Gets the bytes of an edit: counts them, or writes them.
pub(super) struct Sink<'e, S> {
    access: Access<'e, S>,
    end: u64,
    under: NodeId,
    sizes: Sizes,
    height: u16,
    /// Something came before that could make or free a shape.
    moves_shapes: bool,
}

/// What a sink can do with the document. One that counts has no way to write.
enum Access<'e, S> {
    Count(&'e Editor<S>),
    /// With the bytes that were taken. They stand first, so that the editor's address lies in one
    /// place in both, and is loaded without a test.
    Write(&'e mut Extent, &'e mut Editor<S>),
}

/// The bytes that an edit takes.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    /// To be taken.
    pub(super) fresh: u64,
    /// By which the document's end moves.
    tail: u64,
}

impl<'e, S: Storage> Sink<'e, S> {
    #[inline]
    fn new(access: Access<'e, S>, end: u64, under: NodeId) -> Self {
        let sizes = Sizes { fresh: 0, tail: 0 };
        Sink { access, end, under, sizes, height: 0, moves_shapes: false }
    }

    /// Whether this is the run that writes.
    #[inline]
    pub(super) fn writes(&self) -> bool {
        matches!(self.access, Access::Write(..))
    }

    /// The editor, to read.
    #[inline]
    pub(super) fn editor(&self) -> &Editor<S> {
        match &self.access {
            Access::Count(editor) => editor,
            Access::Write(_, editor) => editor,
        }
    }

    /// The document.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.editor().space.bytes()
    }

    /// Where the document ended before the edit.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The container that the edit puts a value into, while only counted.
    #[inline]
    pub(super) fn under(&self) -> NodeId {
        self.under
    }

    /// Takes `size` bytes, a multiple of eight. Returns their offset; 0 while only counted.
    #[inline]
    pub(super) fn carve(&mut self, size: u64) -> u32 {
        match &mut self.access {
            Access::Count(_) => {
                self.sizes.fresh += size;
                0
            }
            Access::Write(extent, _) => extent.carve(size),
        }
    }

    /// Sets bytes aside, at most as many as a later [`write`](Self::write) carves. It may make
    /// shapes of them.
    #[inline]
    pub(super) fn set_aside(&mut self, size: u64) {
        self.sizes.fresh += size;
        self.moves_shapes = true;
    }

    /// Bytes counted so far; 0 in the run that writes.
    #[inline]
    pub(super) fn counted(&self) -> u64 {
        if self.writes() { 0 } else { self.sizes.fresh }
    }

    /// Makes the last block of the document longer.
    #[inline]
    pub(super) fn extend(&mut self, size: u64) {
        self.sizes.tail += size;
    }

    /// Says that shapes may go that are there now: those of tables that dissolve, and of old values
    /// that are freed before the next one is stored.
    #[inline]
    pub(super) fn lose_shapes(&mut self) {
        self.moves_shapes = true;
    }

    /// Whether all shapes that are there now are still there in the run that writes.
    #[inline]
    pub(super) fn shapes_stay(&self) -> bool {
        self.writes() || !self.moves_shapes
    }

    /// Says that new values nest so deep: `height` containers.
    #[inline]
    pub(super) fn nests(&mut self, height: u16) {
        self.height = self.height.max(height);
    }

    /// Copies a value of another document. `above`: containers around it that are new, too.
    pub(super) fn copy(&mut self, value: &Value<'_>, above: u16) -> Result<(u8, u64)> {
        let edits = self.editor().table_edits()?;
        match &mut self.access {
            Access::Write(extent, editor) => (edits.copy)(editor, value, extent),
            Access::Count(editor) => {
                let (fresh, height) = (edits.count_copy)(editor, value)?;
                self.set_aside(fresh);
                if height > 0 {
                    self.nests(above.saturating_add(height));
                }
                Ok((value.raw().tag, 0))
            }
        }
    }

    /// The editor and the bytes that were taken, where this is the run that writes.
    #[inline]
    pub(super) fn writing(&mut self) -> Option<(&mut Editor<S>, &mut Extent)> {
        match &mut self.access {
            Access::Count(_) => None,
            Access::Write(extent, editor) => Some((editor, extent)),
        }
    }

    /// Writes, where this is the run that writes. The compiler makes a function of what the closure
    /// does: where that costs, ask [`writing`](Self::writing).
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn write(&mut self, write: impl FnOnce(&mut Editor<S>, &mut Extent)) {
        if let Some((editor, extent)) = self.writing() {
            write(editor, extent);
        }
    }

    /// [`write`](Self::write) that reads as well.
    #[inline]
    pub(super) fn try_write(
        &mut self,
        write: impl FnOnce(&mut Editor<S>, &mut Extent) -> Result<()>,
    ) -> Result<()> {
        match self.writing() {
            Some((editor, extent)) => write(editor, extent),
            None => Ok(()),
        }
    }

    /// The bytes of the edit. Checks how deep new values nest.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn sizes(self) -> Result<Sizes> {
        self.editor().check_nesting(self.height, self.under)?;
        Ok(self.sizes)
    }
}

/// The run that writes values: they do not ask for the document's end.
#[inline]
pub(super) fn writer<'e, S: Storage>(
    editor: &'e mut Editor<S>,
    extent: &'e mut Extent,
) -> Sink<'e, S> {
    Sink::new(Access::Write(extent, editor), 0, NodeId::NONE)
}

impl<S: Storage> Editor<S> {
    /// The run that counts, for an edit that puts values into `under`; also for code that only
    /// looks.
    #[inline]
    pub(super) fn sizer(&self, under: NodeId) -> Sink<'_, S> {
        Sink::new(Access::Count(self), self.space.used() as u64, under)
    }

    /// Counts, makes sure of the bytes, and writes: calls `change` twice. `under`: the container
    /// that new values are put into, where the edit measures them as a whole.
    ///
    /// # Errors
    /// Whatever the first run finds; nothing has changed then. The second run fails only
    /// where memory changes that nobody else may write, or by a fault of ours. The editor
    /// refuses all further edits then.
    #[inline]
    pub(super) fn carry_out<R>(
        &mut self,
        change: impl Fn(&mut Sink<'_, S>) -> Result<R>,
        under: NodeId,
    ) -> Result<R> {
        let mut sizer = self.sizer(under);
        change(&mut sizer)?;
        let Sizes { fresh, tail } = sizer.sizes()?;
        self.space.ensure(fresh, tail)?;
        let end = self.space.used() as u64;
        self.space.extend(tail);
        let mut extent = self.space.take(fresh);
        let done = change(&mut Sink::new(Access::Write(&mut extent, self), end, NodeId::NONE));
        self.space.free_rest(extent);
        done.map_err(|error| self.space.set_broken(error))
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};

    /// An edit that takes bytes, and writes a number there. It fails in the second run where it is
    /// told. Returns where the bytes are.
    fn take<S: Storage>(doc: &mut Editor<S>, bytes: u64, fails: bool) -> Result<u32> {
        let take = |sink: &mut Sink<'_, S>| {
            let at = sink.carve(bytes);
            sink.write(|editor, _| editor.space.write_u64(at as u64, 7));
            match fails && sink.writes() {
                true => Err(Error::new(ErrorKind::OutOfBounds, at as u64)),
                false => Ok(at),
            }
        };
        doc.carry_out(take, NodeId::NONE)
    }

    #[test]
    fn the_second_run_has_the_bytes_that_the_first_counted() {
        let mut doc = crate::json!({"a": 1});
        let used = doc.as_bytes().len();
        let at = take(&mut doc, 24, false).unwrap();
        assert_eq!((at as usize, doc.as_bytes().len()), (used, used + 24));
        assert_eq!(doc.as_bytes()[used], 7);
    }

    /// Memory that knows whether it was abandoned.
    struct Kept([u8; 64], bool);

    impl Storage for Kept {
        const ZEROED: bool = false;

        fn bytes(&self) -> &[u8] {
            &self.0
        }

        fn bytes_mut(&mut self) -> &mut [u8] {
            &mut self.0
        }

        fn abandon(&mut self) {
            self.1 = true;
        }

        fn grow(&mut self, capacity: u64) -> Result<()> {
            Err(Error::with_detail(ErrorKind::NoSpace, 0, capacity))
        }
    }

    #[test]
    fn a_storage_hears_of_an_edit_that_ended_half_way() {
        let mut doc = Editor::create(Kept([0; 64], false)).unwrap();
        take(&mut doc, 8, false).unwrap();
        // What fails to get its bytes changes nothing.
        take(&mut doc, 800, true).unwrap_err();
        assert!(!doc.storage().1 && doc.set_root(()).is_ok());
        take(&mut doc, 8, true).unwrap_err();
        assert!(doc.storage().1);
    }

    #[test]
    fn an_edit_that_ends_half_way_is_the_last_one() {
        let mut doc = crate::json!({"a": 1});
        let root = doc.root_id().unwrap();
        let done = take(&mut doc, 8, true);
        assert_eq!(done.unwrap_err().kind(), ErrorKind::OutOfBounds);
        let refused = [
            doc.set(root, "a", 2).map(|_| ()),
            doc.set_root(()).map(|_| ()),
            doc.remove(root, "a").map(|_| ()),
        ];
        assert!(
            refused.iter().all(|edit| {
                edit.as_ref().is_err_and(|error| error.kind() == ErrorKind::Broken)
            })
        );
        // What is there can be read, and validated as a copy.
        assert_eq!(doc.doc().pointer("/a").unwrap().unwrap().as_i64(), Some(1));
        assert!(!doc.is_trusted());
    }
}
