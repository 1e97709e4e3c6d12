//! The one error type: a kind with a stable number, and where it happened.
//!
//! The numbers are part of the product: Rust, C and Python report the same.

use core::fmt;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal, $message:literal;)+) => {
        /// What went wrong. The discriminants are stable across languages and versions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[doc = $doc])+ $name = $code,)+
        }

        impl ErrorKind {
            /// Every kind, in the order of their numbers.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$name),+];

            /// A stable identifier, the same in every language (`"NoSpace"`).
            pub const fn name(self) -> &'static str {
                match self { $(ErrorKind::$name => stringify!($name),)+ }
            }

            const fn message(self) -> &'static str {
                match self { $(ErrorKind::$name => $message,)+ }
            }
        }

        /// What went wrong in words, without place and numbers.
        impl fmt::Display for ErrorKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.message())
            }
        }
    };
}

kinds! {
    /// The bytes do not begin with a LiveBuf header.
    NotADocument = 1, "not a LiveBuf document";
    /// The document is of a version that this library does not read: a draft of before version 1,
    /// or a newer one. `detail` is the version.
    UnsupportedVersion = 2, "the document is of another version";
    /// A flag of the "refuse" class is set that this library does not know.
    UnsupportedFeature = 3, "the document uses a feature this library does not know";
    /// Fewer bytes than the header says are used; `detail` bytes are needed.
    Truncated = 4, "the document is cut short";
    /// An offset or length points outside the used bytes.
    OutOfBounds = 5, "an offset or length points outside the document";
    /// An offset that must be a multiple of eight is not.
    Misaligned = 6, "an offset is not a multiple of eight";
    /// A block is not of the kind its reference says.
    WrongBlock = 7, "a block is not of the kind its reference says";
    /// A tag, column type or other code is not one this version defines.
    BadCode = 8, "an undefined tag, kind or column code";
    /// Counts disagree with each other or with the room there is.
    BadCount = 9, "a count disagrees with its block";
    /// Text is not UTF-8.
    BadText = 10, "text is not UTF-8";
    /// A cell holds bits its tag does not allow.
    BadCell = 11, "a cell holds bits its tag does not allow";
    /// Two blocks overlap, or a block is reached twice.
    Overlap = 12, "blocks overlap or are reached twice";
    /// A key's fingerprint is another one's, or a map's index does not order its keys or
    /// does not cover its entries.
    BadIndex = 13, "a fingerprint or index disagrees with the keys";
    /// A key occurs twice in one object.
    DuplicateKey = 14, "a key occurs twice in one object";
    /// The free list is damaged.
    BadFreeList = 15, "the free list is damaged";
    /// Bytes that must be zero are not.
    NotZero = 16, "reserved or unused bytes are not zero";
    /// The work budget of a walk ran out; `detail` is the budget.
    BudgetExceeded = 17, "the walk went over its budget";
    /// Containers are nested deeper than the limit in `detail`.
    NestingLimit = 18, "containers are nested deeper than the limit";
    /// The document would grow past the limit of bytes in `detail`.
    DocumentLimit = 19, "the document would grow past its size limit";
    /// A string is longer than the limit of bytes in `detail`.
    StringLimit = 20, "a string is longer than the limit";
    /// An array or object would hold more elements than the limit in `detail`.
    ElementLimit = 21, "a container would hold more elements than the limit";
    /// A fixed buffer is full: `detail` bytes are missing.
    NoSpace = 22, "the buffer is too small";
    /// The handle's place was freed or shifted since the handle was taken.
    StaleHandle = 23, "the handle is stale";
    /// The value is not of the type the call needs; where a JSON pointer leads to it,
    /// `detail` is the length of that part of the pointer.
    WrongType = 24, "the value is of another type";
    /// No such key, index or path; where a JSON pointer names it, `detail` is the length of
    /// that part of the pointer.
    NotFound = 25, "no such key, index or path";
    /// The index is past the end; `detail` is the length.
    IndexOutOfRange = 26, "the index is past the end";
    /// The key is already there.
    KeyExists = 27, "the key is already there";
    /// The document or its storage cannot be written.
    ReadOnly = 28, "the document is read-only";
    /// A JSON pointer (RFC 6901) is malformed.
    BadPointer = 29, "malformed JSON pointer";
    /// A number's text is not a JSON number, or a float is not finite where it must be.
    BadNumber = 30, "not a valid number";
    /// Calls came in an impossible order: events of an encoder, or the end of a transaction that
    /// nobody began.
    BadSequence = 31, "the calls came in an impossible order";
    /// The operating system refused memory or a file operation; `detail` is its error number, or how many
    /// bytes of memory it refused.
    Io = 32, "the operating system refused";
    /// Values differ in a way the requested operation cannot express. `detail` is 1 where the
    /// root would be removed: a document always has a value.
    Unsupported = 33, "the operation does not support this value";
    /// The scratch memory given is too small: `detail` bytes are needed.
    ScratchTooSmall = 34, "the scratch memory is too small";
    /// A serde implementation reported an error of its own.
    Custom = 35, "the value's serde implementation reported an error";
    /// The document was not validated: an edit would change columns, or plain answers are
    /// asked for.
    NotValidated = 36, "the document was not validated: validate it first";
    /// An edit ended half way, because memory changed that nobody else may write. The editor
    /// refuses all further edits: go back to a copy, or open and validate the document anew.
    Broken = 37, "an edit ended half way: go back to a copy of the document";
    /// A text is no date, time, decimal or UUID: not of the type that is asked for.
    BadValue = 38, "not a valid date, time, decimal or UUID";
    /// A tensor keeps its type and the lengths of its elements. A value does not fit these, or an
    /// edit would change the length of an array in it, or there is no tensor of this type and shape.
    TensorMismatch = 39, "a tensor keeps its type and the lengths of its elements, and this does not fit them";
}

impl ErrorKind {
    /// Whether a document's bytes are at fault, so that no other call can help: they were
    /// cut, changed or made wrongly. [`NotADocument`](Self::NotADocument) is not among
    /// these, nor what this version is too old for, nor what a new value may have, too:
    /// see [`Error::is_damage`].
    ///
    /// ```
    /// use livebuf::{Doc, json};
    /// let bytes = json!({"lap": 55}).to_vec();
    /// let error = Doc::open(&bytes[..40]).unwrap_err();
    /// assert!(error.kind().is_damage());
    /// assert_eq!(error.kind().to_string(), "the document is cut short");
    /// ```
    pub const fn is_damage(self) -> bool {
        matches!(
            self,
            ErrorKind::Truncated
                | ErrorKind::OutOfBounds
                | ErrorKind::Misaligned
                | ErrorKind::WrongBlock
                | ErrorKind::BadCode
                | ErrorKind::BadCount
                | ErrorKind::BadText
                | ErrorKind::BadCell
                | ErrorKind::Overlap
                | ErrorKind::BadIndex
                | ErrorKind::BadFreeList
                | ErrorKind::NotZero
        )
    }
}

/// What went wrong and where. 24 bytes (20 where `u64` is aligned to four), `Copy`, built on cold paths only.
///
/// ```
/// use livebuf::{Doc, ErrorKind};
/// let document = livebuf::json!({"lap": 55, "driver": "Ada Lovelace"});
/// let bytes = document.as_bytes();
/// let error = Doc::open(&bytes[..bytes.len() - 8]).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Truncated);
/// assert!(error.is_damage());
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    offset: u64,
    detail: u64,
}

const _: () = assert!(core::mem::size_of::<Error>() <= 24);

/// Systems number their errors below this.
const LEAST_MEMORY: u64 = 4096;

impl Error {
    /// Text that is no value of the type that is asked for.
    #[cold]
    pub(crate) const fn bad_value() -> Error {
        Error::new(ErrorKind::BadValue, 0)
    }

    /// An error of a kind at a byte offset of the document.
    #[cold]
    pub const fn new(kind: ErrorKind, offset: u64) -> Self {
        Error { kind, offset, detail: 0 }
    }

    /// The same with a number that the kind's documentation explains.
    #[inline]
    pub const fn with_detail(kind: ErrorKind, offset: u64, detail: u64) -> Self {
        Error { kind, offset, detail }
    }

    /// The system refused so many bytes of memory: [`ErrorKind::Io`]. Less than a page counts as a page,
    /// because the system numbers its own errors below that.
    #[cold]
    pub const fn out_of_memory(bytes: u64) -> Self {
        let detail = if bytes < LEAST_MEMORY { LEAST_MEMORY } else { bytes };
        Error { kind: ErrorKind::Io, offset: 0, detail }
    }

    /// How many bytes of memory the system refused, if that is the error.
    pub const fn refused_memory(&self) -> Option<u64> {
        match self.kind {
            ErrorKind::Io if self.detail >= LEAST_MEMORY => Some(self.detail),
            _ => None,
        }
    }

    /// What went wrong.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The stable number of the kind.
    pub const fn code(&self) -> u8 {
        self.kind as u8
    }

    /// Whether the document is damaged, as [`ErrorKind::is_damage`] says; and where a key
    /// occurs twice in it, or the text of a number is none.
    pub const fn is_damage(&self) -> bool {
        let in_document = matches!(self.kind, ErrorKind::DuplicateKey | ErrorKind::BadNumber);
        self.kind.is_damage() || (in_document && self.offset != 0)
    }

    /// Byte offset in the document (0 where no place applies).
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// A number explained by the kind: missing bytes, a limit, a length.
    pub const fn detail(&self) -> u64 {
        self.detail
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.message())?;
        match self.kind {
            ErrorKind::NotADocument => {
                f.write_str(": it does not begin as one does (JSON must be converted first)")
            }
            // `docs/migrate.md` says how to convert them.
            ErrorKind::UnsupportedVersion if self.detail == 0 => {
                f.write_str(": a draft of before version 1, to be converted by what wrote it")
            }
            ErrorKind::UnsupportedVersion => {
                write!(f, ": {}, which a newer library reads", self.detail)
            }
            ErrorKind::NoSpace if self.detail == 1 => f.write_str(": 1 byte is missing"),
            ErrorKind::NoSpace => write!(f, ": {} bytes are missing", self.detail),
            ErrorKind::Truncated => {
                write!(f, ": {} bytes are needed from offset {}", self.detail, self.offset)
            }
            ErrorKind::NestingLimit if self.offset != 0 => {
                write!(f, " of {} at offset {}", self.detail, self.offset)
            }
            ErrorKind::BadNumber if self.offset != 0 => write!(f, " at offset {}", self.offset),
            ErrorKind::NestingLimit
            | ErrorKind::DocumentLimit
            | ErrorKind::StringLimit
            | ErrorKind::ElementLimit
            | ErrorKind::BudgetExceeded => write!(f, " of {}", self.detail),
            ErrorKind::WrongType if self.detail != 0 => {
                write!(f, ": that at the pointer's first {} bytes", self.detail)
            }
            ErrorKind::NotFound if self.detail != 0 => {
                write!(f, ": the pointer's first {} bytes lead nowhere", self.detail)
            }
            ErrorKind::Unsupported if self.detail == 1 => {
                f.write_str(": a document always has a value; replace it by null")
            }
            ErrorKind::IndexOutOfRange => write!(f, ": the length is {}", self.detail),
            ErrorKind::ScratchTooSmall => write!(f, ": {} bytes are needed", self.detail),
            ErrorKind::Io => match self.refused_memory() {
                Some(bytes) => write!(f, " {bytes} bytes of memory"),
                None => write!(f, " (error {})", self.detail),
            },
            ErrorKind::StaleHandle
            | ErrorKind::WrongType
            | ErrorKind::NotFound
            | ErrorKind::KeyExists
            | ErrorKind::ReadOnly
            | ErrorKind::BadPointer
            | ErrorKind::BadNumber
            | ErrorKind::BadSequence
            | ErrorKind::Custom
            | ErrorKind::NotValidated
            | ErrorKind::Broken
            | ErrorKind::TensorMismatch => Ok(()),
            _ => write!(f, " at offset {}", self.offset),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.kind.name())
    }
}

impl core::error::Error for Error {}
