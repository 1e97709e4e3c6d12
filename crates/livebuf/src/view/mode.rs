//! The two modes of views: whether what they read may be damaged.

use crate::error::Result;
use crate::format::bytes::{text, text_unchecked};

mod sealed {
    /// There are two modes, no more: reading text unchecked relies on their promises.
    pub trait Sealed {}
    impl Sealed for super::Checked {}
    impl Sealed for super::Valid {}
}

/// How a view treats the possibility of damage: [`Checked`] or [`Valid`].
///
/// Code that is generic over the mode turns answers into results:
///
/// ```
/// use livebuf::{Mode, Result, Value, json};
///
/// fn total<M: Mode>(laps: Value<'_, M>) -> Result<i64> {
///     let Some(laps) = M::result(laps.as_array())? else { return Ok(0) };
///     laps.iter().map(|lap| Ok(M::item_result(lap)?.as_i64().unwrap_or(0))).sum()
/// }
///
/// let doc = json!([88, 87]);
/// assert_eq!(total(doc.doc().root())?, 175);
/// assert_eq!(total(doc.valid()?.root())?, 175);
/// # Ok::<(), livebuf::Error>(())
/// ```
///
/// Or it takes [`Value::checked`](crate::Value::checked), which answers alike in both.
pub trait Mode: sealed::Sealed + Copy + core::fmt::Debug + 'static {
    /// The answer of a look-up: `Result<Option<X>>`, or `Option<X>` where all is valid.
    type Out<X>;
    /// The item of an iterator: `Result<X>`, or `X` where all is valid.
    type Item<X>;

    /// A look-up's answer as a result.
    ///
    /// # Errors
    /// Damage.
    fn result<X>(out: Self::Out<X>) -> Result<Option<X>>;

    /// The item of an iterator as a result.
    ///
    /// # Errors
    /// Damage.
    fn item_result<X>(item: Self::Item<X>) -> Result<X>;

    #[doc(hidden)]
    fn out<X>(result: Result<Option<X>>) -> Self::Out<X>;
    #[doc(hidden)]
    fn item<X>(result: Result<X>) -> Option<Self::Item<X>>;
    #[doc(hidden)]
    fn text(bytes: &[u8], offset: u64) -> Result<&str>;
    /// `otherwise` is the answer for damage, which a valid document does not have.
    #[doc(hidden)]
    fn whole<X>(result: Result<X>, otherwise: X) -> Self::Item<X>;
    #[doc(hidden)]
    fn valid(self) -> Option<Valid>;
}

/// The mode of an opened document: look-ups answer `Result<Option<_>>`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checked;

/// The mode of a validated document: look-ups answer `Option<_>`.
///
/// # Validation
/// A view in this mode stands for a promise: its bytes are a valid document (FORMAT 9), or a
/// trusted editor wrote them, and nobody can change them while the view lives. Text is read without
/// being checked. A value of this type proves that promise. Only the unsafe
/// [`Doc::assume_valid`](crate::Doc::assume_valid), and the same methods of values and columns,
/// make one. A view passes its own on to the values below it, and to no others.
#[derive(Clone, Copy, Debug)]
pub struct Valid(());

impl Valid {
    /// The only way to one.
    ///
    /// # Safety
    /// The promise above holds for what is read in this mode.
    #[inline]
    #[allow(unsafe_code)]
    pub(super) const unsafe fn promised() -> Self {
        Valid(())
    }
}

impl Mode for Checked {
    type Out<X> = Result<Option<X>>;
    type Item<X> = Result<X>;

    #[inline]
    fn out<X>(result: Result<Option<X>>) -> Self::Out<X> {
        result
    }

    #[inline]
    fn item<X>(result: Result<X>) -> Option<Result<X>> {
        Some(result)
    }

    #[inline]
    fn text(bytes: &[u8], offset: u64) -> Result<&str> {
        text(bytes, offset)
    }

    #[inline]
    fn result<X>(out: Result<Option<X>>) -> Result<Option<X>> {
        out
    }

    #[inline]
    fn item_result<X>(item: Result<X>) -> Result<X> {
        item
    }

    #[inline]
    fn whole<X>(result: Result<X>, _otherwise: X) -> Result<X> {
        result
    }

    fn valid(self) -> Option<Valid> {
        None
    }
}

impl Mode for Valid {
    type Out<X> = Option<X>;
    type Item<X> = X;

    #[inline]
    fn out<X>(result: Result<Option<X>>) -> Self::Out<X> {
        result.unwrap_or(None)
    }

    #[inline]
    fn item<X>(result: Result<X>) -> Option<X> {
        result.ok()
    }

    #[inline]
    #[allow(unsafe_code)]
    fn text(bytes: &[u8], _offset: u64) -> Result<&str> {
        // SAFETY: `Valid` is only made by a promise that the document's text is UTF-8 and stays so.
        Ok(unsafe { text_unchecked(bytes) })
    }

    #[inline]
    fn result<X>(out: Option<X>) -> Result<Option<X>> {
        Ok(out)
    }

    #[inline]
    fn item_result<X>(item: X) -> Result<X> {
        Ok(item)
    }

    #[inline]
    fn whole<X>(result: Result<X>, otherwise: X) -> X {
        result.unwrap_or(otherwise)
    }

    fn valid(self) -> Option<Valid> {
        Some(self)
    }
}
