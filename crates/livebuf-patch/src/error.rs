//! The one error type: which operation failed, where, why, and what helps.

use livebuf_json::quoted;
use std::fmt;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PatchErrorKind {
    /// The text is not JSON: [`PatchError::json_error`].
    Json,
    /// The value is no patch: no array of operations, or an operation that RFC 6902 does not
    /// know or that lacks a member.
    Malformed,
    /// There is no value at the pointer, or no container for it.
    NotFound,
    /// The pointer leads through a value that is no object or array, or names an element of an
    /// array by no index.
    WrongType,
    /// The index is past the array's end.
    IndexOutOfRange,
    /// A value would be moved into itself.
    IntoItself,
    /// The value is another one than the `test` expects.
    TestFailed,
    /// A merge patch cannot say this: null would remove the member.
    Unsupported,
    /// The document refused an edit, or is damaged: [`PatchError::core_error`].
    Document,
}

/// Why a patch was refused, could not be applied, or could not be made.
///
/// ```
/// use livebuf::json;
/// use livebuf_patch::{Patch, PatchErrorKind};
///
/// let mut doc = json!({"laps": [88.4]});
/// let patch = Patch::from_slice(
///     br#"[{"op": "test", "path": "/laps/0", "value": 88.4}, {"op": "remove", "path": "/lap"}]"#,
/// )?;
/// let error = patch.apply(&mut doc).unwrap_err();
/// assert_eq!(error.kind(), PatchErrorKind::NotFound);
/// assert_eq!((error.operation(), error.pointer()), (Some(1), "/lap"));
/// assert_eq!(
///     error.to_string(),
///     "operation 1, remove \"/lap\": there is no such member; test for it first, or leave the operation out"
/// );
/// # Ok::<(), livebuf_patch::PatchError>(())
/// ```
pub struct PatchError(Box<Inner>);

struct Inner {
    kind: PatchErrorKind,
    message: String,
    operation: Option<(usize, &'static str)>,
    pointer: String,
    cause: Option<Cause>,
}

enum Cause {
    Core(livebuf::Error),
    Json(livebuf_json::Error),
}

/// Shorthand for results of this crate.
pub type Result<T, E = PatchError> = std::result::Result<T, E>;

impl PatchError {
    #[cold]
    pub(crate) fn new(kind: PatchErrorKind, message: impl Into<String>) -> PatchError {
        let (message, pointer) = (message.into(), String::new());
        PatchError(Box::new(Inner { kind, message, operation: None, pointer, cause: None }))
    }

    /// The same at a pointer.
    #[cold]
    pub(crate) fn at(mut self, pointer: &str) -> PatchError {
        pointer.clone_into(&mut self.0.pointer);
        self
    }

    /// The same of an operation: its number and name.
    #[cold]
    pub(crate) fn of(mut self, number: usize, name: &'static str) -> PatchError {
        self.0.operation = Some((number, name));
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> PatchErrorKind {
        self.0.kind
    }

    /// The number of the operation that failed; the first is 0.
    pub fn operation(&self) -> Option<usize> {
        self.0.operation.map(|(number, _)| number)
    }

    /// The place in the document, as a JSON pointer; empty for the root, and where there is none.
    pub fn pointer(&self) -> &str {
        &self.0.pointer
    }

    /// The document's error, where it refused an edit or is damaged.
    pub fn core_error(&self) -> Option<livebuf::Error> {
        match self.0.cause {
            Some(Cause::Core(cause)) => Some(cause),
            _ => None,
        }
    }

    /// The error of reading or printing JSON.
    pub fn json_error(&self) -> Option<&livebuf_json::Error> {
        match &self.0.cause {
            Some(Cause::Json(cause)) => Some(cause),
            _ => None,
        }
    }
}

impl From<livebuf::Error> for PatchError {
    #[cold]
    fn from(cause: livebuf::Error) -> PatchError {
        let mut error = PatchError::new(PatchErrorKind::Document, cause.to_string());
        error.0.cause = Some(Cause::Core(cause));
        error
    }
}

impl From<livebuf_json::Error> for PatchError {
    #[cold]
    fn from(cause: livebuf_json::Error) -> PatchError {
        let mut error = PatchError::new(PatchErrorKind::Json, cause.to_string());
        error.0.cause = Some(Cause::Json(cause));
        error
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { message, operation, pointer, .. } = &*self.0;
        match operation {
            Some((number, "")) => write!(f, "operation {number}: ")?,
            Some((number, name)) => write!(f, "operation {number}, {name} {}: ", quoted(pointer))?,
            None if !pointer.is_empty() => write!(f, "{}: ", quoted(pointer))?,
            None => {}
        }
        f.write_str(message)
    }
}

impl fmt::Debug for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PatchError({:?}: {self})", self.0.kind)
    }
}

impl std::error::Error for PatchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.cause {
            Some(Cause::Core(cause)) => Some(cause),
            Some(Cause::Json(cause)) => Some(cause),
            None => None,
        }
    }
}
