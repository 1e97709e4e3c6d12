//! An edit of columns is one piece of code that runs twice.
//!
//! First with a [`Sizer`]: it adds up the bytes that the edit takes, and changes nothing. All
//! that can fail fails here. Then with a [`Writer`]: it has the bytes, and writes. So an edit
//! cannot take other bytes than it planned.
//!
//! Between the two runs nothing may change, so the code follows two rules. It reads the
//! document before it writes there, or reads what it wrote within [`Sink::write`]. And
//! what a [`Sizer`] answers in place of an offset is never read.

use super::{Editor, New};
use crate::error::Result;
use crate::store::space::{Extent, Observer};
use crate::store::storage::Storage;

/// What an edit hands its bytes to.
pub(super) trait Sink {
    type Storage: Storage;
    type Observer: Observer;

    /// Whether this is the run that writes.
    const WRITES: bool;

    /// The editor, to read.
    fn editor(&self) -> &Editor<Self::Storage, Self::Observer>;

    /// The document.
    fn bytes(&self) -> &[u8] {
        self.editor().space.bytes()
    }

    /// Where the document ended before the edit.
    fn end(&self) -> u64;

    /// Takes `size` bytes, a multiple of eight. Where they are; 0 while only counted.
    fn carve(&mut self, size: u64) -> u32;

    /// Sets bytes aside, at most as many as a later [`write`](Self::write) carves.
    fn set_aside(&mut self, size: u64);

    /// Makes the last block of the document longer.
    fn extend(&mut self, size: u64);

    /// Says that shapes may go that are there now: those of tables that dissolve, and of
    /// values that are freed before others are stored.
    fn lose_shapes(&mut self);

    /// Stores a value's parts: its tag and cell. While only counted, tag and cell are as far
    /// as columns care.
    fn store(&mut self, new: &New<'_>) -> Result<(u8, u64)>;

    /// Writes, where this is the run that writes.
    fn write(
        &mut self,
        write: impl FnOnce(&mut Editor<Self::Storage, Self::Observer>, &mut Extent),
    );

    /// [`write`](Self::write) that reads as well.
    fn try_write(
        &mut self,
        write: impl FnOnce(&mut Editor<Self::Storage, Self::Observer>, &mut Extent) -> Result<()>,
    ) -> Result<()> {
        let mut done = Ok(());
        self.write(|editor, extent| done = write(editor, extent));
        done
    }
}

/// An edit as code that runs twice.
pub(super) trait Change {
    /// Tag and cell of what it put in its place, or took out.
    fn run<K: Sink>(&self, sink: &mut K) -> Result<(u8, u64)>;
}

/// Counts the bytes that an edit takes.
pub(super) struct Sizer<'e, S, O> {
    editor: &'e Editor<S, O>,
    fresh: u64,
    tail: u64,
    /// Nothing came before that could make or free a shape.
    first: bool,
}

impl<S: Storage, O: Observer> Sink for Sizer<'_, S, O> {
    type Storage = S;
    type Observer = O;
    const WRITES: bool = false;

    fn editor(&self) -> &Editor<S, O> {
        self.editor
    }

    fn end(&self) -> u64 {
        self.editor.space.used() as u64
    }

    fn carve(&mut self, size: u64) -> u32 {
        self.fresh += size;
        0
    }

    fn set_aside(&mut self, size: u64) {
        self.fresh += size;
        self.first = false;
    }

    fn extend(&mut self, size: u64) {
        self.tail += size;
    }

    fn lose_shapes(&mut self) {
        self.first = false;
    }

    fn store(&mut self, new: &New<'_>) -> Result<(u8, u64)> {
        let (size, _) = self.editor.measure_part(new, self.first)?;
        self.fresh += size;
        self.first = false;
        Ok(new.probe())
    }

    fn write(&mut self, _: impl FnOnce(&mut Editor<S, O>, &mut Extent)) {}
}

/// Writes an edit whose bytes were taken.
struct Writer<'e, S, O> {
    editor: &'e mut Editor<S, O>,
    extent: Extent,
    end: u64,
}

impl<S: Storage, O: Observer> Sink for Writer<'_, S, O> {
    type Storage = S;
    type Observer = O;
    const WRITES: bool = true;

    fn editor(&self) -> &Editor<S, O> {
        self.editor
    }

    fn end(&self) -> u64 {
        self.end
    }

    fn carve(&mut self, size: u64) -> u32 {
        self.extent.carve(size)
    }

    fn set_aside(&mut self, _: u64) {}

    fn extend(&mut self, _: u64) {}

    fn lose_shapes(&mut self) {}

    fn store(&mut self, new: &New<'_>) -> Result<(u8, u64)> {
        Ok(self.editor.build(new, &mut self.extent))
    }

    fn write(&mut self, write: impl FnOnce(&mut Editor<S, O>, &mut Extent)) {
        write(self.editor, &mut self.extent);
    }
}

impl<S: Storage, O: Observer> Editor<S, O> {
    /// A sizer: it counts the bytes of an edit, or is given to code that only looks.
    pub(super) fn sizer(&self) -> Sizer<'_, S, O> {
        Sizer { editor: self, fresh: 0, tail: 0, first: true }
    }

    /// Counts, makes sure of the bytes, and writes.
    ///
    /// # Errors
    /// Whatever the first run finds; nothing has changed then. The second run fails only
    /// where memory changes that nobody else may write, or by a fault of ours. The editor
    /// refuses all further edits then.
    pub(super) fn carry_out(&mut self, change: &impl Change) -> Result<(u8, u64)> {
        let mut sizer = self.sizer();
        change.run(&mut sizer)?;
        let Sizer { fresh, tail, .. } = sizer;
        self.space.ensure(fresh, tail)?;
        let end = self.space.used() as u64;
        self.space.extend(tail);
        let extent = self.space.take(fresh);
        let mut writer = Writer { editor: self, extent, end };
        let done = change.run(&mut writer);
        let extent = writer.extent;
        self.space.finish(extent);
        if done.is_err() {
            self.space.set_broken();
        }
        done
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};
    use crate::format::layout::TAG_NULL;

    /// Counts and writes as it is told, and fails in the second run where it is told.
    struct Told {
        bytes: u64,
        fails: bool,
    }

    impl Change for Told {
        fn run<K: Sink>(&self, sink: &mut K) -> Result<(u8, u64)> {
            let at = sink.carve(self.bytes);
            sink.write(|editor, _| editor.space.write_u64(at as u64, 7));
            match self.fails && K::WRITES {
                true => Err(Error::new(ErrorKind::OutOfBounds, at as u64)),
                false => Ok((TAG_NULL, at as u64)),
            }
        }
    }

    #[test]
    fn the_second_run_has_the_bytes_that_the_first_counted() {
        let mut doc = crate::json!({"a": 1});
        let used = doc.as_bytes().len();
        let (_, at) = doc.carry_out(&Told { bytes: 24, fails: false }).unwrap();
        assert_eq!((at, doc.as_bytes().len()), (used as u64, used + 24));
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
        doc.carry_out(&Told { bytes: 8, fails: false }).unwrap();
        // What fails to get its bytes changes nothing.
        doc.carry_out(&Told { bytes: 800, fails: true }).unwrap_err();
        assert!(!doc.storage().1 && doc.set_root(()).is_ok());
        doc.carry_out(&Told { bytes: 8, fails: true }).unwrap_err();
        assert!(doc.storage().1);
    }

    #[test]
    fn an_edit_that_ends_half_way_is_the_last_one() {
        let mut doc = crate::json!({"a": 1});
        let root = doc.root_id().unwrap();
        let done = doc.carry_out(&Told { bytes: 8, fails: true });
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
