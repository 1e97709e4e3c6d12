//! Whole documents: owned ones, what encoding ends in, and compaction.

use super::editor::Editor;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::slice;
use crate::store::storage::{Exclusive, Storage};
use crate::view::{AsValue, Checked, Doc, Mode, Valid, Value};

impl<M: Mode> Doc<'_, M> {
    /// Writes a compact copy of the document to another buffer, without an allocator. The copy has
    /// no holes, no garbage and no spare room. Returns its length.
    ///
    /// # Errors
    /// [`ErrorKind::NoSpace`](crate::ErrorKind::NoSpace) with the missing bytes, or what is
    /// damaged.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"note": "a note that goes"});
    /// doc.remove_pointer("/note")?;
    /// let mut target = [0; 64];
    /// let length = doc.doc().compact_into(&mut target)?;
    /// assert!(length < doc.as_bytes().len());
    /// assert!(livebuf::Doc::open(&target[..length])?.root().is_object());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn compact_into(self, target: &mut [u8]) -> Result<usize> {
        let mut editor = Editor::create(target)?;
        editor.set_root(self.root())?;
        Ok(editor.as_bytes().len())
    }
}

/// The document's value. An editor on storage that others can write is read by
/// [`Editor::doc`].
impl<'a, S: Exclusive> AsValue<'a> for &'a Editor<S> {
    type Mode = Checked;

    fn as_value(self) -> Value<'a, Checked> {
        self.doc().root()
    }

    fn as_valid(self) -> Option<Value<'a, Valid>> {
        self.valid().ok().map(Doc::root)
    }
}

/// Whether the documents have equal values, whatever their layouts.
impl<S: Storage, T: Storage> PartialEq<Editor<T>> for Editor<S> {
    fn eq(&self, other: &Editor<T>) -> bool {
        self.doc() == other.doc()
    }
}

impl<S: Storage> core::fmt::Debug for Editor<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.doc().fmt(f)
    }
}

impl<S: Storage> Editor<S> {
    /// A copy of the document in other storage, byte for byte: as trusted as this one,
    /// with this one's limits. Its handles are its own.
    ///
    /// # Errors
    /// What the storage says when it cannot hold the document;
    /// [`ErrorKind::ReadOnly`] as [`open_unvalidated`](Self::open_unvalidated).
    ///
    /// ```
    /// let doc = livebuf::json!({"lap": 55});
    /// let mut buffer = [0u8; 256];
    /// let mut copy = doc.copy_to(&mut buffer[..])?;
    /// copy.set_pointer("/lap", 56)?;
    /// assert!(copy.is_trusted());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn copy_to<T: Storage>(&self, mut storage: T) -> Result<Editor<T>> {
        // Loaded, so that all bytes of a partial document are fetched.
        let bytes = slice(self.space.bytes(), 0, self.space.bytes().len() as u64)?;
        if storage.bytes().len() < bytes.len() {
            storage.grow(bytes.len() as u64)?;
        }
        storage.will_change(0, bytes.len() as u64);
        match storage.bytes_mut().get_mut(..bytes.len()) {
            Some(place) => place.copy_from_slice(bytes),
            None => return Err(Error::new(ErrorKind::NoSpace, storage.bytes().len() as u64)),
        }
        let mut copy = Editor::open_unvalidated(storage)?;
        copy.set_limits(*self.space.limits());
        if S::EXCLUSIVE.holds() || !T::EXCLUSIVE.holds() {
            copy.space.trusted = self.space.trusted;
            copy.space.clean_list = self.space.clean_list;
        } else if self.space.trusted {
            // Others may have written the source since it was validated. So the copy is validated,
            // and not trusted where it is damaged. Without an allocator you validate it.
            #[cfg(feature = "alloc")]
            let _ = copy.validate();
        }
        Ok(copy)
    }
}

#[cfg(feature = "alloc")]
mod owned {
    use super::{Editor, Result};
    use crate::block::column::row_of;
    use crate::block::list::elements_of;
    use crate::block::record::Raw;
    use crate::block::walk::{self, Allowance, Cursor};
    use crate::edit::editor::DocBuf;
    use crate::edit::handles::MovedRun;
    use crate::encode::{EncodeOptions, Encoder};
    use crate::format::layout::{Limits, TAG_ARRAY, TAG_SPAN_LAST};
    use crate::format::memory::zeros;
    use crate::store::space::Space;
    use crate::store::storage::{Storage, VecStorage};
    use crate::view::validate::{Kinds, Region};
    use crate::view::{AsValue, Doc, Mode};
    use alloc::vec::Vec;
    use hashbrown::HashMap;

    impl DocBuf {
        /// An empty document; its root is null.
        ///
        /// # Errors
        /// [`ErrorKind::Io`](crate::ErrorKind::Io) where the allocator refuses.
        ///
        /// ```
        /// use livebuf::{DocBuf, New};
        /// let mut doc = DocBuf::new()?;
        /// assert!(doc.root().is_null());
        /// let root = doc.set_root(New::object(1))?.unwrap();
        /// doc.set(root, "lap", 55)?;
        /// # Ok::<(), livebuf::Error>(())
        /// ```
        pub fn new() -> Result<Self> {
            Editor::create(VecStorage::default())
        }

        /// A copy of a document's bytes, validated: one linear pass.
        ///
        /// # Errors
        /// What is damaged, with its offset; as [`Doc::open`].
        ///
        /// ```
        /// use livebuf::DocBuf;
        /// let received = livebuf::json!({"lap": 55}).to_vec();
        /// let mut doc = DocBuf::open(&received)?;
        /// doc.set_pointer("/lap", 56)?;
        /// assert_eq!(doc.valid()?.pointer("/lap").unwrap(), 56);
        /// assert!(DocBuf::open(&received[..40]).is_err());
        /// # Ok::<(), livebuf::Error>(())
        /// ```
        pub fn open(bytes: &[u8]) -> Result<Self> {
            let mut doc = DocBuf::from_bytes_unvalidated(bytes)?;
            // There are no handles yet that it could end.
            doc.doc().stats()?;
            doc.space.trusted = true;
            Ok(doc)
        }

        /// A copy of a document's bytes, not trusted until it is [validated](Self::validate):
        /// see [`open_unvalidated`](Self::open_unvalidated).
        ///
        /// # Errors
        /// As [`Doc::open`].
        pub fn from_bytes_unvalidated(bytes: &[u8]) -> Result<Self> {
            let bytes = Doc::open(bytes)?.as_bytes();
            Editor::open_unvalidated(VecStorage::from_slice(bytes)?)
        }

        /// The document's bytes.
        ///
        /// ```
        /// let doc = livebuf::json!({"lap": 55});
        /// let sent = doc.to_vec();
        /// assert_eq!(livebuf::DocBuf::open(&sent)?.get("lap")?.unwrap(), 55);
        /// # Ok::<(), livebuf::Error>(())
        /// ```
        pub fn to_vec(&self) -> Vec<u8> {
            self.as_bytes().to_vec()
        }
    }

    impl<S: Storage> Editor<S> {
        fn encoded((storage, used, limits): (S, u32, Limits)) -> Self {
            let space = Space::clean(storage, used, limits);
            Editor::over(space)
        }
    }

    impl<S: Storage> Encoder<S> {
        /// Writes the shapes and the header: the finished document.
        ///
        /// # Errors
        /// [`ErrorKind::BadSequence`](crate::ErrorKind::BadSequence) where not exactly one whole
        /// value was given; [`ErrorKind::DocumentLimit`](crate::ErrorKind::DocumentLimit).
        pub fn finish(self) -> Result<Editor<S>> {
            Ok(Editor::encoded(self.into_storage()?))
        }

        /// The same, to [`restart`](Self::restart) afterwards: until then the encoder is in
        /// empty storage.
        ///
        /// # Errors
        /// As [`finish`](Self::finish).
        ///
        /// ```
        /// use livebuf::{EncodeOptions, Encoder, VecStorage};
        /// let mut encoder = Encoder::new();
        /// for lap in 1..=3 {
        ///     encoder.begin_array()?;
        ///     encoder.i64(lap)?;
        ///     encoder.end_array()?;
        ///     let doc = encoder.finish_one()?;
        ///     assert_eq!(doc.doc().pointer("/0")?.unwrap().as_i64(), Some(lap));
        ///     encoder.restart(VecStorage::default(), EncodeOptions::default());
        /// }
        /// # Ok::<(), livebuf::Error>(())
        /// ```
        pub fn finish_one(&mut self) -> Result<Editor<S>>
        where
            S: Default,
        {
            Ok(Editor::encoded(self.take_storage()?))
        }
    }

    impl Clone for DocBuf {
        /// A copy; its handles are its own.
        fn clone(&self) -> Self {
            let mut space = Space::new(
                self.space.storage().clone(),
                self.space.used(),
                self.space.trusted,
                *self.space.limits(),
            );
            space.clean_list = self.space.clean_list;
            space.watch_state();
            Editor::over(space)
        }
    }

    /// An empty document; its root is null.
    impl Default for DocBuf {
        fn default() -> Self {
            // The storage starts with more than a header, so only memory can be missing. Then it
            // ends as other collections do.
            DocBuf::new().unwrap_or_else(|_| {
                alloc::alloc::handle_alloc_error(core::alloc::Layout::new::<[u128; 2]>())
            })
        }
    }

    impl Editor<Vec<u8>> {
        /// The document's bytes, without the room behind them. Open transactions are rolled back.
        pub fn into_vec(mut self) -> Vec<u8> {
            while self.space.roll_back() {}
            let used = self.as_bytes().len();
            let mut bytes = self.into_storage();
            bytes.truncate(used);
            bytes
        }
    }

    impl<S: Storage> core::fmt::Debug for Encoder<S> {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            f.debug_struct("Encoder").finish_non_exhaustive()
        }
    }

    impl<M: Mode> Doc<'_, M> {
        /// A copy of the document, byte for byte, to be edited. It is
        /// [trusted](Editor::is_trusted) where this one was validated.
        ///
        /// # Errors
        /// [`ErrorKind::Io`](crate::ErrorKind::Io) where the allocator refuses;
        /// [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly) as
        /// [`open_unvalidated`](Editor::open_unvalidated).
        ///
        /// ```
        /// let sent = livebuf::json!({"lap": 55}).to_vec();
        /// let mut copy = livebuf::Doc::open(&sent)?.validate()?.to_buf()?;
        /// copy.set_pointer("/lap", 56)?;
        /// assert!(copy.is_trusted());
        /// # Ok::<(), livebuf::Error>(())
        /// ```
        pub fn to_buf(self) -> Result<DocBuf> {
            let mut copy = DocBuf::from_bytes_unvalidated(self.as_bytes())?;
            // The mode is a promise that nobody else can write the bytes.
            copy.space.trusted = self.as_valid().is_some();
            Ok(copy)
        }

        /// The document encoded again: the best layout, the same value.
        ///
        /// # Errors
        /// What is damaged.
        ///
        /// ```
        /// let mut doc = livebuf::json!({"note": "a note that goes"});
        /// doc.remove_pointer("/note")?;
        /// let compact = doc.doc().compacted()?;
        /// assert_eq!(compact.as_bytes(), livebuf::json!({}).as_bytes());
        /// # Ok::<(), livebuf::Error>(())
        /// ```
        pub fn compacted(self) -> Result<DocBuf> {
            self.compacted_with(EncodeOptions::default())
        }

        /// The same within these limits.
        ///
        /// # Errors
        /// What is damaged, and limits.
        pub fn compacted_with(self, options: EncodeOptions) -> Result<DocBuf> {
            Encoder::with_kept_memory(VecStorage::default(), options, |encoder| {
                encoder.value(&self.root())?;
                encoder.finish_one()
            })
        }
    }

    /// Whether a value has rows, arrays of a list, or arrays with a dictionary, a run or UUIDs.
    fn has_tables(bytes: &[u8], root: Raw) -> Result<bool> {
        let mut allowance = Allowance::new(bytes, u64::MAX);
        walk::each_container(bytes, root, 0, &mut allowance, &mut |raw, _| {
            row_of(raw.cell).is_some()
                || raw.tag == TAG_ARRAY
                    && elements_of(bytes, raw.cell)
                        .is_ok_and(|array| array.column.is_dictionary() || array.column.lends())
        })
    }

    /// Where the containers of a document are in another one of the same value.
    fn runs_between(from: &[u8], to: &[u8]) -> Result<Vec<MovedRun>> {
        let root = |bytes| Doc::over(bytes).root().raw();
        let mut runs = Vec::new();
        // For each table and list, the run that its last row is in.
        let mut last: HashMap<u32, usize> = HashMap::new();
        let mut open = Vec::new();
        let mut next = Some((root(from), root(to)));
        loop {
            if let Some((old, new)) = next.take().filter(|(old, _)| old.tag > TAG_SPAN_LAST) {
                let place = |raw: Raw| (raw.cell as u32, row_of(raw.cell).unwrap_or(0));
                let run = MovedRun { from: place(old), to: place(new), count: 1 };
                let before = last.get(&run.from.0).and_then(|&at: &usize| runs.get_mut(at));
                match before {
                    Some(MovedRun { from, to, count })
                        if (from.0, from.1 + *count) == run.from
                            && (to.0, to.1 + *count) == run.to
                            && row_of(old.cell).is_some()
                            && row_of(new.cell).is_some() =>
                    {
                        *count += 1;
                    }
                    _ => {
                        last.insert(run.from.0, runs.len());
                        runs.push(run);
                    }
                }
                open.push((Cursor::references(from, old)?, Cursor::references(to, new)?));
            }
            let Some((old, new)) = open.last_mut() else { return Ok(runs) };
            match (old.next(from)?, new.next(to)?) {
                (Some((_, old)), Some((_, new))) => next = Some((old, new)),
                _ => {
                    open.pop();
                }
            }
        }
    }

    impl<S: Storage> Editor<S> {
        /// Encodes the document again, in place. All handles go stale; the document is trusted
        /// afterwards.
        ///
        /// # Errors
        /// What is damaged; memory; space where the storage cannot grow.
        ///
        /// ```
        /// let mut doc = livebuf::json!({"log": []});
        /// for _ in 0..100 {
        ///     doc.set_pointer("/log/-", "a line of a hundred")?;
        /// }
        /// doc.remove_pointer("/log")?;
        /// doc.compact()?;
        /// assert_eq!(doc.as_bytes().len(), livebuf::json!({}).as_bytes().len());
        /// # Ok::<(), livebuf::Error>(())
        /// ```
        pub fn compact(&mut self) -> Result<()> {
            self.compact_with(EncodeOptions::default())
        }

        /// The same by these options, but within the editor's own limits.
        ///
        /// # Errors
        /// As [`compact`](Self::compact).
        pub fn compact_with(&mut self, options: EncodeOptions) -> Result<()> {
            self.space.editable()?;
            let options = EncodeOptions { limits: *self.space.limits(), ..options };
            let compact = self.doc().compacted_with(options)?;
            let (new, old) = (compact.as_bytes(), self.space.used() as u64);
            let missing = (new.len() as u64).saturating_sub(old);
            self.space.ensure(0, missing)?;
            self.space.overwrite(new);
            self.space.editable()?;
            self.space.trusted = true;
            self.handles.reset();
            Ok(())
        }

        /// Encodes the document again if more than three quarters of it are free, so that a
        /// document that shrinks gives its space back. Handles follow. Amortized constant time: as
        /// many bytes must be freed again before it is due again.
        #[cold]
        #[inline(never)]
        pub(in crate::edit) fn squeeze(&mut self) {
            self.space.must_squeeze = false;
            // Detached values would be lost.
            if S::FIXED || !self.space.trusted || self.handles.detached > 0 || !self.try_squeeze() {
                self.space.defer_squeezing();
            }
        }

        fn try_squeeze(&mut self) -> bool {
            let used = self.space.used() as usize;
            let doc = self.doc();
            let Ok(tables) = has_tables(doc.as_bytes(), doc.root().raw()) else { return false };
            let limits = Limits { budget: u64::MAX, ..*self.space.limits() };
            let options = EncodeOptions { limits, tables, ..EncodeOptions::default() };
            let Ok(compact) = doc.compacted_with(options) else { return false };
            let new = compact.as_bytes();
            if new.len() > used / 2 {
                return false;
            }
            let Ok(runs) = runs_between(doc.as_bytes(), new) else { return false };
            self.space.overwrite(new);
            self.handles.squeezed::<S>(runs);
            true
        }

        /// [`validate_in`](Self::validate_in) with scratch memory of its own.
        ///
        /// # Errors
        /// The first problem with its offset; memory.
        ///
        /// ```
        /// use livebuf::{DocBuf, json};
        /// let mut doc = DocBuf::from_bytes_unvalidated(json!({"lap": 55}).as_bytes())?;
        /// assert!(doc.valid().is_err());
        /// doc.validate()?;
        /// assert_eq!(doc.valid()?.pointer("/lap").unwrap(), 55);
        /// # Ok::<(), livebuf::Error>(())
        /// ```
        pub fn validate(&mut self) -> Result<()> {
            self.validate_by(|doc, kinds, meet| {
                let mut scratch = zeros(doc.validate_scratch())?;
                doc.stats_in_with(&mut scratch, kinds, meet)
            })
        }

        /// The same, and calls `visit` on every region, as [`Doc::regions`] does. A program can
        /// show its progress so.
        ///
        /// # Errors
        /// As [`validate`](Self::validate).
        ///
        /// ```
        /// use livebuf::{Editor, VecStorage};
        ///
        /// let document = livebuf::json!({"laps": [71.5, 70.25]});
        /// let mut editor = Editor::open_unvalidated(VecStorage::from_slice(document.as_bytes())?)?;
        /// let mut bytes = 0;
        /// editor.validate_with(|region| bytes += region.length)?;
        /// assert!(editor.is_trusted() && bytes <= editor.as_bytes().len() as u64);
        /// # Ok::<(), livebuf::Error>(())
        /// ```
        pub fn validate_with(&mut self, mut visit: impl FnMut(Region)) -> Result<()> {
            self.validate_by(|doc, _, meet| {
                let mut scratch = zeros(doc.validate_scratch())?;
                doc.stats_in_with(&mut scratch, Kinds::ALL, &mut |region| {
                    meet(region);
                    visit(region);
                })
            })
        }
    }
}
