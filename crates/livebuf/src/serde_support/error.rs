//! The error of serde, in both directions.

use crate::error::{Error, ErrorKind};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use serde_core::de::{Expected, Unexpected};

/// What serde reports: an [`Error`] of the document, or a message of a type's
/// own, with the JSON pointer to the value at fault.
///
/// [`error`](Self::error) is the [`Error`] alone, where only the kind matters.
///
/// ```
/// let doc = livebuf::json!({"laps": [{"time": 88.4}, {"time": "fast"}]});
/// type Laps = std::collections::BTreeMap<String, Vec<std::collections::BTreeMap<String, f64>>>;
/// let error = livebuf::from_value::<Laps>(&doc).unwrap_err();
/// assert_eq!(error.to_string(), "invalid type: string \"fast\", expected f64 at /laps/1/time");
/// assert_eq!(error.pointer(), "/laps/1/time");
/// assert_eq!(error.kind(), livebuf::ErrorKind::WrongType);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SerdeError(Box<Report>);

#[derive(Clone, PartialEq, Eq)]
struct Report {
    error: Error,
    /// serde's words; empty where the error says it all.
    message: String,
    pointer: String,
}

/// Longest pointer that an error collects, so that damage cannot blow it up.
const MAX_POINTER: usize = 1024;

impl SerdeError {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: String) -> Self {
        SerdeError::with_message(Error::new(kind, 0), message)
    }

    /// `message` is shown in the place of the error's own words.
    #[cold]
    pub(super) fn with_message(error: Error, message: String) -> Self {
        SerdeError(Box::new(Report { error, message, pointer: String::new() }))
    }

    /// The error without words.
    pub fn error(&self) -> Error {
        self.0.error
    }

    /// What went wrong: [`WrongType`](ErrorKind::WrongType),
    /// [`NotFound`](ErrorKind::NotFound) (a missing field),
    /// [`DuplicateKey`](ErrorKind::DuplicateKey), [`BadNumber`](ErrorKind::BadNumber)
    /// (out of range), [`Custom`](ErrorKind::Custom) for anything else a type
    /// says, or what is wrong with the document.
    pub fn kind(&self) -> ErrorKind {
        self.0.error.kind()
    }

    /// JSON pointer to the value at fault, while deserializing; empty for the
    /// root. Only the last 1 KiB is kept, after `…`.
    pub fn pointer(&self) -> &str {
        &self.0.pointer
    }

    #[cold]
    pub(crate) fn below_index(self, index: usize) -> Self {
        self.below_key(&index.to_string())
    }

    #[cold]
    pub(crate) fn below_key(mut self, key: &str) -> Self {
        let pointer = &mut self.0.pointer;
        if pointer.starts_with('…') {
            return self;
        }
        if pointer.len() + key.len() < MAX_POINTER {
            let token = key.replace('~', "~0").replace('/', "~1");
            pointer.insert_str(0, &token);
            pointer.insert(0, '/');
        } else {
            pointer.insert(0, '…');
        }
        self
    }
}

impl From<Error> for SerdeError {
    #[cold]
    fn from(error: Error) -> Self {
        SerdeError::with_message(error, String::new())
    }
}

impl fmt::Display for SerdeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0.message {
            "" => write!(f, "{}", self.0.error)?,
            message => f.write_str(message)?,
        }
        match &*self.0.pointer {
            "" => Ok(()),
            pointer => write!(f, " at {pointer}"),
        }
    }
}

impl fmt::Debug for SerdeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.kind().name())
    }
}

impl core::error::Error for SerdeError {}

impl serde_core::ser::Error for SerdeError {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        SerdeError::new(ErrorKind::Custom, message.to_string())
    }
}

impl serde_core::de::Error for SerdeError {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        SerdeError::new(ErrorKind::Custom, message.to_string())
    }

    #[cold]
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let message = format!("invalid type: {}, expected {expected}", InJson(unexpected));
        SerdeError::new(ErrorKind::WrongType, message)
    }

    #[cold]
    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let message = format!("invalid value: {}, expected {expected}", InJson(unexpected));
        SerdeError::new(ErrorKind::Custom, message)
    }

    #[cold]
    fn missing_field(field: &'static str) -> Self {
        SerdeError::new(ErrorKind::NotFound, format!("missing field `{field}`"))
    }

    #[cold]
    fn duplicate_field(field: &'static str) -> Self {
        SerdeError::new(ErrorKind::DuplicateKey, format!("duplicate field `{field}`"))
    }
}

/// What was found, in JSON's words.
struct InJson<'a>(Unexpected<'a>);

impl fmt::Display for InJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Unexpected::Unit => f.write_str("null"),
            Unexpected::Seq => f.write_str("array"),
            Unexpected::Map => f.write_str("object"),
            ref other => other.fmt(f),
        }
    }
}
