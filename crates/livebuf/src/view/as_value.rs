//! One way to hand over a value for reading: as a document, as a view of one, or as itself.

use super::{Doc, Mode, Valid, Value};

/// A type that can be read as a value: a [`Value`], a [`Doc`], or an editor such as a
/// [`DocBuf`](crate::DocBuf), by reference.
///
/// ```
/// use livebuf::{AsValue, Error, Result, json};
///
/// fn laps<'a>(race: impl AsValue<'a>) -> Result<i64> {
///     let laps = race.as_value().checked().get("laps")?;
///     Ok(laps.and_then(|laps| laps.as_i64()).unwrap_or(0))
/// }
///
/// let doc = json!({"laps": 55});
/// assert_eq!(laps(&doc)?, 55);
/// assert_eq!(laps(doc.doc())?, 55);
/// assert_eq!(laps(doc.valid()?.root())?, 55);
/// # Ok::<(), Error>(())
/// ```
pub trait AsValue<'a>: Copy {
    /// How the value answers: [`Checked`](crate::Checked) for an editor.
    type Mode: Mode;

    /// The value; of a document its root.
    fn as_value(self) -> Value<'a, Self::Mode>;

    /// The value with plain answers, where its document is known to be valid: in a
    /// [`Valid`] view, and in an editor that is [trusted](crate::Editor::is_trusted).
    fn as_valid(self) -> Option<Value<'a, Valid>>;
}

impl<'a, M: Mode> AsValue<'a> for Value<'a, M> {
    type Mode = M;

    fn as_value(self) -> Value<'a, M> {
        self
    }

    fn as_valid(self) -> Option<Value<'a, Valid>> {
        self.mode.valid().map(|mode| Value::new(mode, self.bytes, self.raw))
    }
}

impl<'a, M: Mode> AsValue<'a> for Doc<'a, M> {
    type Mode = M;

    fn as_value(self) -> Value<'a, M> {
        self.root()
    }

    fn as_valid(self) -> Option<Value<'a, Valid>> {
        self.root().as_valid()
    }
}

/// A reference stands for its target.
impl<'a, T: AsValue<'a>> AsValue<'a> for &T {
    type Mode = T::Mode;

    fn as_value(self) -> Value<'a, T::Mode> {
        (*self).as_value()
    }

    fn as_valid(self) -> Option<Value<'a, Valid>> {
        (*self).as_valid()
    }
}
