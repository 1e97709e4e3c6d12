//! Where a document's bytes live: a fixed slice, a growable vector, or (in `mapped`) a file.
//! Nothing here looks into the bytes.

use crate::error::{Error, ErrorKind, Result};

/// Memory that an editor works on.
///
/// All of [`bytes`](Storage::bytes) is capacity. The document's header says how much of it is
/// used. An implementation whose answers contradict each other can damage its document, but
/// never memory.
///
/// ```
/// use livebuf::{Editor, New, Result, Storage, VecStorage};
///
/// /// Counts how often the document moves to more memory.
/// #[derive(Default)]
/// struct Counting(VecStorage, u32);
///
/// impl Storage for Counting {
///     const ZEROED: bool = VecStorage::ZEROED;
///     fn bytes(&self) -> &[u8] {
///         self.0.bytes()
///     }
///     fn bytes_mut(&mut self) -> &mut [u8] {
///         self.0.bytes_mut()
///     }
///     fn hears(&self) -> bool {
///         false
///     }
///     fn grow(&mut self, capacity: u64) -> Result<()> {
///         self.1 += 1;
///         self.0.grow(capacity)
///     }
/// }
///
/// let mut doc = Editor::create(Counting::default())?;
/// let list = doc.set_root(New::array(0))?.unwrap();
/// for number in 0..10_000 {
///     doc.push(list, number)?;
/// }
/// assert!(doc.storage().1 < 20);
/// # Ok::<(), livebuf::Error>(())
/// ```
pub trait Storage {
    /// True where every byte that was never written is zero.
    const ZEROED: bool;

    /// Says that the storage is [`Exclusive`], where one is not asked for by its type. Only this
    /// crate can name the answer.
    #[doc(hidden)]
    const EXCLUSIVE: sealed::Claim = sealed::Claim::NO;

    /// True where the storage never grows. An editor then allocates nothing, and so it
    /// remembers fewer edits for its handles (see [`NodeId`](crate::NodeId)).
    const FIXED: bool = false;

    /// Whether the undo log of a transaction lies in these bytes, after the document, and so does
    /// scratch memory for an edit that has to validate. Else both are allocated. Only
    /// [fixed](Self::FIXED) storages are asked. If such a storage gets more memory from its owner,
    /// it answers false, so that the document can grow in transactions.
    #[inline]
    fn log_behind(&self) -> bool {
        true
    }

    /// All bytes, used or not.
    fn bytes(&self) -> &[u8];

    /// All bytes, to be written by the editor alone.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// Whether the bytes may be changed. Where they may not, every edit is refused with
    /// [`ErrorKind::ReadOnly`] and [`bytes_mut`](Self::bytes_mut) is never called.
    #[inline]
    fn is_writable(&self) -> bool {
        true
    }

    /// Whether [`will_change`](Self::will_change) is to be called. An editor asks when it begins.
    /// Storages that do nothing there answer false, and are written faster.
    #[inline]
    fn hears(&self) -> bool {
        true
    }

    /// Called before each change: these bytes of [`bytes_mut`](Self::bytes_mut) are written
    /// next. It is for storages that carry changes elsewhere, to a file for instance. Others do
    /// nothing here.
    #[inline]
    fn will_change(&mut self, _offset: u64, _length: u64) {}

    /// Called when an edit ended half way ([`ErrorKind::Broken`]): a storage that carries
    /// changes elsewhere keeps none of those that are still to be carried. Others do nothing
    /// here.
    fn abandon(&mut self) {}

    /// Says that `capacity` bytes are wanted soon, so that memory can be taken for them at once.
    /// Storages that allocate nothing, or little by little, do nothing here.
    #[inline]
    fn expect(&mut self, _capacity: u64) {}

    /// Makes room for at least `capacity` bytes, keeping the contents.
    ///
    /// # Errors
    /// [`ErrorKind::NoSpace`] with the missing bytes where it cannot grow,
    /// [`ErrorKind::Io`] where the system refuses. The contents are unchanged then.
    fn grow(&mut self, capacity: u64) -> Result<()>;
}

/// Storage that nobody else can write while the editor holds it, so that text
/// checked once stays checked. Implemented by this crate's own types only.
pub trait Exclusive: Storage + sealed::Sealed {}

mod sealed {
    /// Keeps foreign storage from claiming what unchecked text relies on.
    pub trait Sealed {}

    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Claim(bool);

    impl Claim {
        pub(crate) const NO: Claim = Claim(false);
        pub(in crate::store) const YES: Claim = Claim(true);

        pub(crate) const fn holds(self) -> bool {
            self.0
        }
    }

    impl Sealed for &mut [u8] {}
    #[cfg(feature = "alloc")]
    impl Sealed for super::VecStorage {}
    #[cfg(feature = "alloc")]
    impl Sealed for alloc::vec::Vec<u8> {}
}

/// A fixed buffer of the caller's: it never allocates, and says what is missing.
impl Storage for &mut [u8] {
    const ZEROED: bool = false;
    const EXCLUSIVE: sealed::Claim = sealed::Claim::YES;
    const FIXED: bool = true;

    #[inline]
    fn bytes(&self) -> &[u8] {
        self
    }

    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        self
    }

    #[inline]
    fn hears(&self) -> bool {
        false
    }

    fn grow(&mut self, capacity: u64) -> Result<()> {
        let length = self.len() as u64;
        Err(Error::with_detail(ErrorKind::NoSpace, length, capacity.saturating_sub(length)))
    }
}

impl Exclusive for &mut [u8] {}

#[cfg(feature = "alloc")]
pub use vec::VecStorage;

#[cfg(feature = "alloc")]
mod vec {
    use super::{Error, Exclusive, Result, Storage};
    use alloc::vec::Vec;

    /// The unit of allocation. It aligns the document to 16 bytes, or to 8 bytes where `u128`
    /// is aligned so.
    type Line = u128;

    /// From this size on the buffer grows by a quarter.
    const LARGE: u64 = 1 << 20;
    /// Most bytes zeroed ahead: they are still in the cache when they are written.
    const AHEAD: u64 = 1 << 16;

    /// A growable, 16-byte aligned, zero-initialised buffer.
    #[derive(Clone, Default)]
    pub struct VecStorage {
        lines: Vec<Line>,
    }

    impl VecStorage {
        /// A zeroed buffer of at least `capacity` bytes.
        ///
        /// # Errors
        /// [`ErrorKind::Io`](crate::ErrorKind::Io) where the allocator refuses.
        ///
        /// ```
        /// use livebuf::{Editor, VecStorage};
        /// let mut doc = Editor::create(VecStorage::with_capacity(1 << 16)?)?;
        /// doc.set_root("no more memory is needed for a while")?;
        /// # Ok::<(), livebuf::Error>(())
        /// ```
        pub fn with_capacity(capacity: u64) -> Result<Self> {
            let mut storage = VecStorage::default();
            storage.resize(capacity)?;
            Ok(storage)
        }

        /// A copy of `bytes`.
        ///
        /// # Errors
        /// [`ErrorKind::Io`](crate::ErrorKind::Io) where the allocator refuses.
        pub fn from_slice(bytes: &[u8]) -> Result<Self> {
            let mut storage = VecStorage::with_capacity(bytes.len() as u64)?;
            storage.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
            Ok(storage)
        }

        fn resize(&mut self, capacity: u64) -> Result<()> {
            self.reserve(capacity)?;
            // The reservation succeeded, so the length fits a `usize`.
            self.lines.resize(capacity.div_ceil(16) as usize, 0);
            Ok(())
        }

        /// Allocates `capacity` bytes. Those that nobody asked for yet are not touched.
        fn reserve(&mut self, capacity: u64) -> Result<()> {
            let refused = || Error::out_of_memory(capacity);
            let lines = usize::try_from(capacity.div_ceil(16)).map_err(|_| refused())?;
            let more = lines.saturating_sub(self.lines.len());
            self.lines.try_reserve_exact(more).map_err(|_| refused())
        }

        /// Allocates at least `capacity` bytes.
        ///
        /// It grows in proportion, so that n pushes copy O(n) elements. Large blocks grow by a
        /// smaller share, since the allocator moves them without copying. It never grows past
        /// what a document can use.
        fn reserve_ahead(&mut self, capacity: u64) -> Result<()> {
            let reserved = self.lines.capacity() as u64 * 16;
            if capacity <= reserved {
                return Ok(());
            }
            let more = if reserved < LARGE { reserved } else { reserved / 4 };
            let ahead = (reserved + more).clamp(256, crate::format::layout::MAX_DOCUMENT);
            self.reserve(capacity.max(ahead))
        }
    }

    impl Storage for VecStorage {
        const ZEROED: bool = true;
        const EXCLUSIVE: super::sealed::Claim = super::sealed::Claim::YES;

        fn expect(&mut self, capacity: u64) {
            // Where memory is short, `grow` says so.
            let _ = self.reserve_ahead(capacity);
        }

        #[inline]
        fn bytes(&self) -> &[u8] {
            bytemuck::cast_slice(&self.lines)
        }

        #[inline]
        fn bytes_mut(&mut self) -> &mut [u8] {
            bytemuck::cast_slice_mut(&mut self.lines)
        }

        #[inline]
        fn hears(&self) -> bool {
            false
        }

        fn grow(&mut self, capacity: u64) -> Result<()> {
            let length = self.lines.len() as u64 * 16;
            if capacity <= length {
                return Ok(());
            }
            self.reserve_ahead(capacity)?;
            let ahead = (length + length.min(AHEAD)).max(256);
            self.resize(capacity.max(ahead.min(self.lines.capacity() as u64 * 16)))
        }
    }

    impl Exclusive for VecStorage {}

    impl core::fmt::Debug for VecStorage {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            write!(f, "VecStorage({} bytes)", self.bytes().len())
        }
    }

    /// Bytes that a program has as such, edited where they are; all of them are room for the
    /// document. [`Editor::into_vec`](crate::Editor::into_vec) gives them back, cut to the
    /// document.
    ///
    /// [`VecStorage`] is aligned to 16 bytes, so that more columns can be read as slices.
    ///
    /// ```
    /// use livebuf::Editor;
    /// let bytes = livebuf::json!({"lap": 55}).to_vec();
    /// let mut doc = Editor::open_unvalidated(bytes)?;
    /// doc.set_pointer("/driver", "a name that needs more room than there is")?;
    /// let bytes = doc.into_vec();
    /// assert_eq!(livebuf::Doc::open(&bytes)?.pointer("/lap")?.unwrap(), 55);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    impl Storage for Vec<u8> {
        /// What lies after a document in given bytes may be anything.
        const ZEROED: bool = false;
        const EXCLUSIVE: super::sealed::Claim = super::sealed::Claim::YES;

        #[inline]
        fn bytes(&self) -> &[u8] {
            self
        }

        #[inline]
        fn bytes_mut(&mut self) -> &mut [u8] {
            self
        }

        #[inline]
        fn hears(&self) -> bool {
            false
        }

        fn grow(&mut self, capacity: u64) -> Result<()> {
            let refused = || Error::out_of_memory(capacity);
            let capacity = usize::try_from(capacity).map_err(|_| refused())?;
            let more = capacity.saturating_sub(self.len());
            self.try_reserve(more).map_err(|_| refused())?;
            // Takes all that was allocated, so that the next growth finds it there.
            let length = self.capacity().min(crate::format::layout::MAX_DOCUMENT as usize);
            self.resize(length.max(capacity), 0);
            Ok(())
        }
    }

    impl Exclusive for Vec<u8> {}
}
