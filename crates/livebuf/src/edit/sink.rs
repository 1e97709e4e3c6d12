//! An edit is one piece of code that runs twice.
//!
//! First with a [`Sizer`]: it adds up the bytes that the edit takes, and changes nothing. All
//! that can fail fails here. Then with a [`Writer`]: it has the bytes, and writes. So an edit
//! cannot take other bytes than it planned.
//!
//! Between the two runs nothing may change, so the code follows two rules. It reads the document
//! before it writes there, or reads what it wrote within [`Sink::write`]. And an offset that a
//! [`Sizer`] answers, which is 0, is never read from.

use super::editor::Editor;
use super::handles::NodeId;
use crate::error::Result;
use crate::store::space::{Extent, Observer};
use crate::store::storage::Storage;
use crate::view::Value;

/// An editor, and bytes that were taken for it.
pub(super) type ToWrite<'a, S, O> = (&'a mut Editor<S, O>, &'a mut Extent);

/// Gets the bytes of an edit.
pub(super) trait Sink {
    type Storage: Storage;
    type Observer: Observer;

    /// Whether this is the run that writes.
    fn writes(&self) -> bool;

    /// The editor, to read.
    fn editor(&self) -> &Editor<Self::Storage, Self::Observer>;

    /// The document.
    fn bytes(&self) -> &[u8] {
        self.editor().space.bytes()
    }

    /// Where the document ended before the edit.
    fn end(&self) -> u64;

    /// The container that the edit puts a value into, while only counted.
    fn under(&self) -> NodeId;

    /// Takes `size` bytes, a multiple of eight. Returns their offset; 0 while only counted.
    fn carve(&mut self, size: u64) -> u32;

    /// Sets bytes aside, at most as many as a later [`write`](Self::write) carves. It may make
    /// shapes of them.
    fn set_aside(&mut self, size: u64);

    /// Takes bytes in excess, if there are any, so that index nodes lie in one page.
    fn set_aside_spare(&mut self, size: u64);

    /// Bytes counted so far; 0 in the run that writes.
    fn counted(&self) -> u64;

    /// Makes the last block of the document longer.
    fn extend(&mut self, size: u64);

    /// Says that shapes may go that are there now: those of tables that dissolve, and of old values
    /// that are freed before the next one is stored.
    fn lose_shapes(&mut self);

    /// Whether all shapes that are there now stay until the run that writes is here.
    fn shapes_stay(&self) -> bool;

    /// Says that new values nest so deep: `height` containers.
    fn nests(&mut self, height: u16);

    /// Copies a value of another document. `above`: containers around it that are new, too.
    fn copy(&mut self, value: &Value<'_>, above: u16) -> Result<(u8, u64)>;

    /// The editor and the bytes that were taken, where this is the run that writes.
    fn to_write(&mut self) -> Option<ToWrite<'_, Self::Storage, Self::Observer>>;

    /// Writes, where this is the run that writes. The compiler makes a function of what the closure
    /// does: where that costs, ask [`to_write`](Self::to_write).
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn write(
        &mut self,
        write: impl FnOnce(&mut Editor<Self::Storage, Self::Observer>, &mut Extent),
    ) {
        if let Some((editor, extent)) = self.to_write() {
            write(editor, extent);
        }
    }

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
    /// Returns tag and cell of the value that it put in its place, or took out.
    fn run<K: Sink>(&self, sink: &mut K) -> Result<(u8, u64)>;
}

/// The bytes that an edit takes.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    /// To be taken.
    pub(super) fresh: u64,
    /// To be taken in excess, if there are any.
    spare: u64,
    /// By which the document's end moves.
    tail: u64,
}

/// Counts the bytes that an edit takes.
pub(super) struct Sizer<'e, S, O> {
    editor: &'e Editor<S, O>,
    under: NodeId,
    sizes: Sizes,
    height: u16,
    /// Something came before that could make or free a shape.
    moves_shapes: bool,
}

impl<S: Storage, O: Observer> Sizer<'_, S, O> {
    /// Bytes to be taken, and bytes in excess.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.sizes.fresh, self.sizes.spare)
    }

    /// The bytes of the edit. Checks how deep new values nest.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn finish(self) -> Result<Sizes> {
        self.editor.check_nesting(self.height, self.under)?;
        Ok(self.sizes)
    }
}

impl<S: Storage, O: Observer> Sink for Sizer<'_, S, O> {
    type Storage = S;
    type Observer = O;

    #[inline]
    fn writes(&self) -> bool {
        false
    }

    #[inline]
    fn editor(&self) -> &Editor<S, O> {
        self.editor
    }

    #[inline]
    fn end(&self) -> u64 {
        self.editor.space.used() as u64
    }

    #[inline]
    fn under(&self) -> NodeId {
        self.under
    }

    #[inline]
    fn carve(&mut self, size: u64) -> u32 {
        self.sizes.fresh += size;
        0
    }

    #[inline]
    fn set_aside(&mut self, size: u64) {
        self.sizes.fresh += size;
        self.moves_shapes = true;
    }

    #[inline]
    fn set_aside_spare(&mut self, size: u64) {
        self.sizes.spare += size;
    }

    #[inline]
    fn counted(&self) -> u64 {
        self.sizes.fresh
    }

    #[inline]
    fn extend(&mut self, size: u64) {
        self.sizes.tail += size;
    }

    #[inline]
    fn lose_shapes(&mut self) {
        self.moves_shapes = true;
    }

    #[inline]
    fn shapes_stay(&self) -> bool {
        !self.moves_shapes
    }

    #[inline]
    fn nests(&mut self, height: u16) {
        self.height = self.height.max(height);
    }

    fn copy(&mut self, value: &Value<'_>, above: u16) -> Result<(u8, u64)> {
        let count = self.editor.table_edits()?.count_copy;
        let (fresh, spare, height) = count(self.editor, value, self.sizes.fresh)?;
        self.set_aside(fresh);
        self.set_aside_spare(spare);
        if height > 0 {
            self.nests(above.saturating_add(height));
        }
        Ok((value.raw().tag, 0))
    }

    #[inline]
    fn to_write(&mut self) -> Option<ToWrite<'_, S, O>> {
        None
    }
}

/// Writes an edit whose bytes were taken.
pub(super) struct Writer<'e, S, O> {
    editor: &'e mut Editor<S, O>,
    extent: &'e mut Extent,
    end: u64,
}

impl<S: Storage, O: Observer> Sink for Writer<'_, S, O> {
    type Storage = S;
    type Observer = O;

    #[inline]
    fn writes(&self) -> bool {
        true
    }

    #[inline]
    fn editor(&self) -> &Editor<S, O> {
        self.editor
    }

    #[inline]
    fn end(&self) -> u64 {
        self.end
    }

    #[inline]
    fn under(&self) -> NodeId {
        NodeId::NONE
    }

    #[inline]
    fn carve(&mut self, size: u64) -> u32 {
        self.extent.carve(size)
    }

    #[inline]
    fn set_aside(&mut self, _: u64) {}

    #[inline]
    fn set_aside_spare(&mut self, _: u64) {}

    #[inline]
    fn counted(&self) -> u64 {
        0
    }

    #[inline]
    fn extend(&mut self, _: u64) {}

    #[inline]
    fn lose_shapes(&mut self) {}

    #[inline]
    fn shapes_stay(&self) -> bool {
        true
    }

    #[inline]
    fn nests(&mut self, _: u16) {}

    fn copy(&mut self, value: &Value<'_>, _: u16) -> Result<(u8, u64)> {
        let copy = self.editor.table_edits()?.copy;
        copy(self.editor, value, self.extent)
    }

    #[inline]
    fn to_write(&mut self) -> Option<ToWrite<'_, S, O>> {
        Some((self.editor, self.extent))
    }
}

/// The run that counts, and the run that writes, as edits take them: each has code of its own.
#[cfg(not(any(feature = "small", debug_assertions)))]
mod runs {
    pub(in crate::edit) use super::{Sizer as Counting, Writer as Writing};
}

/// In the small build one code serves both runs, and in builds for tests, which take less time so.
#[cfg(any(feature = "small", debug_assertions))]
mod runs {
    use super::*;

    pub(in crate::edit) type Counting<'e, S, O> = Run<'e, S, O>;
    pub(in crate::edit) type Writing<'e, S, O> = Run<'e, S, O>;

    pub(in crate::edit) enum Run<'e, S, O> {
        Counts(Sizer<'e, S, O>),
        Writes(Writer<'e, S, O>),
    }

    impl<'e, S, O> From<Sizer<'e, S, O>> for Run<'e, S, O> {
        fn from(sizer: Sizer<'e, S, O>) -> Self {
            Run::Counts(sizer)
        }
    }

    impl<'e, S, O> From<Writer<'e, S, O>> for Run<'e, S, O> {
        fn from(writer: Writer<'e, S, O>) -> Self {
            Run::Writes(writer)
        }
    }

    /// Forwards to the run that it is.
    macro_rules! of {
        ($run:expr, $sink:ident => $answer:expr) => {
            match $run {
                Run::Counts($sink) => $answer,
                Run::Writes($sink) => $answer,
            }
        };
    }

    impl<S: Storage, O: Observer> Run<'_, S, O> {
        pub(in crate::edit) fn counts(&self) -> (u64, u64) {
            match self {
                Run::Counts(sizer) => sizer.counts(),
                Run::Writes(_) => (0, 0),
            }
        }

        pub(in crate::edit) fn finish(self) -> Result<Sizes> {
            match self {
                Run::Counts(sizer) => sizer.finish(),
                Run::Writes(_) => Ok(Sizes { fresh: 0, spare: 0, tail: 0 }),
            }
        }
    }

    impl<S: Storage, O: Observer> Sink for Run<'_, S, O> {
        type Storage = S;
        type Observer = O;

        fn writes(&self) -> bool {
            of!(self, sink => sink.writes())
        }

        fn editor(&self) -> &Editor<S, O> {
            of!(self, sink => sink.editor())
        }

        fn end(&self) -> u64 {
            of!(self, sink => sink.end())
        }

        fn under(&self) -> NodeId {
            of!(self, sink => sink.under())
        }

        fn carve(&mut self, size: u64) -> u32 {
            of!(self, sink => sink.carve(size))
        }

        fn set_aside(&mut self, size: u64) {
            of!(self, sink => sink.set_aside(size));
        }

        fn set_aside_spare(&mut self, size: u64) {
            of!(self, sink => sink.set_aside_spare(size));
        }

        fn counted(&self) -> u64 {
            of!(self, sink => sink.counted())
        }

        fn extend(&mut self, size: u64) {
            of!(self, sink => sink.extend(size));
        }

        fn lose_shapes(&mut self) {
            of!(self, sink => sink.lose_shapes());
        }

        fn shapes_stay(&self) -> bool {
            of!(self, sink => sink.shapes_stay())
        }

        fn nests(&mut self, height: u16) {
            of!(self, sink => sink.nests(height));
        }

        fn copy(&mut self, value: &Value<'_>, above: u16) -> Result<(u8, u64)> {
            of!(self, sink => sink.copy(value, above))
        }

        fn to_write(&mut self) -> Option<ToWrite<'_, S, O>> {
            of!(self, sink => sink.to_write())
        }
    }
}

pub(super) use runs::{Counting, Writing};

/// The run that writes values: they do not ask for the document's end.
#[inline]
pub(super) fn writer<'e, S: Storage, O: Observer>(
    editor: &'e mut Editor<S, O>,
    extent: &'e mut Extent,
) -> Writing<'e, S, O> {
    #[allow(clippy::useless_conversion)]
    Writer { editor, extent, end: 0 }.into()
}

impl<S: Storage, O: Observer> Editor<S, O> {
    /// A sizer for an edit that puts values into `under`. It counts the bytes, or is given to
    /// code that only looks.
    #[inline]
    pub(super) fn sizer(&self, under: NodeId) -> Counting<'_, S, O> {
        let sizes = Sizes { fresh: 0, spare: 0, tail: 0 };
        #[allow(clippy::useless_conversion)]
        Sizer { editor: self, under, sizes, height: 0, moves_shapes: false }.into()
    }

    /// Counts, makes sure of the bytes, and writes. `under`: the container that new values are
    /// put into, where the edit measures them as a whole.
    ///
    /// # Errors
    /// Whatever the first run finds; nothing has changed then. The second run fails only
    /// where memory changes that nobody else may write, or by a fault of ours. The editor
    /// refuses all further edits then.
    #[inline]
    pub(super) fn carry_out(&mut self, change: &impl Change, under: NodeId) -> Result<(u8, u64)> {
        let mut sizer = self.sizer(under);
        change.run(&mut sizer)?;
        let Sizes { fresh, mut spare, tail } = sizer.finish()?;
        if spare > 0 && (!self.space.trusted || self.space.ensure(fresh + spare, tail).is_err()) {
            spare = 0;
        }
        if spare == 0 {
            self.space.ensure(fresh, tail)?;
        }
        let end = self.space.used() as u64;
        self.space.extend(tail);
        let mut extent = self.space.take(fresh + spare).with_spare(spare);
        let writer = Writer { editor: self, extent: &mut extent, end };
        #[allow(clippy::useless_conversion)]
        let done = change.run(&mut Writing::from(writer));
        self.space.finish(extent);
        match done {
            Ok(value) => Ok(value),
            Err(error) => Err(self.space.set_broken(error)),
        }
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
            match self.fails && sink.writes() {
                true => Err(Error::new(ErrorKind::OutOfBounds, at as u64)),
                false => Ok((TAG_NULL, at as u64)),
            }
        }
    }

    #[test]
    fn the_second_run_has_the_bytes_that_the_first_counted() {
        let mut doc = crate::json!({"a": 1});
        let used = doc.as_bytes().len();
        let (_, at) = doc.carry_out(&Told { bytes: 24, fails: false }, NodeId::NONE).unwrap();
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
        doc.carry_out(&Told { bytes: 8, fails: false }, NodeId::NONE).unwrap();
        // What fails to get its bytes changes nothing.
        doc.carry_out(&Told { bytes: 800, fails: true }, NodeId::NONE).unwrap_err();
        assert!(!doc.storage().1 && doc.set_root(()).is_ok());
        doc.carry_out(&Told { bytes: 8, fails: true }, NodeId::NONE).unwrap_err();
        assert!(doc.storage().1);
    }

    #[test]
    fn an_edit_that_ends_half_way_is_the_last_one() {
        let mut doc = crate::json!({"a": 1});
        let root = doc.root_id().unwrap();
        let done = doc.carry_out(&Told { bytes: 8, fails: true }, NodeId::NONE);
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
