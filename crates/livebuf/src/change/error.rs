//! What can be wrong with a delta.

use crate::error::Error;
use crate::format::state::State;
use core::fmt;

/// Why a delta cannot be made, read, applied or composed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeltaError {
    /// The bytes do not begin as a delta does.
    NotADelta,
    /// The delta is of a version that this library does not read.
    UnsupportedVersion(u8),
    /// The delta is cut short: it has this many bytes.
    Truncated(usize),
    /// The delta says something impossible at this byte, or about this byte of the document.
    Damaged {
        /// Where.
        offset: u64,
        /// What is wrong there.
        problem: &'static str,
    },
    /// The document has no state: a delta leads from one state to another. Give it one by
    /// [`Editor::set_state`](crate::Editor::set_state), before the recording begins.
    NoState,
    /// The delta is for another document, or for another state of it.
    WrongBase {
        /// The document's state, if it has one.
        document: Option<State>,
        /// The state that the delta begins at.
        delta: State,
    },
    /// The document has the right state, but not the right length: it was changed by something
    /// that does not keep to the format.
    WrongLength {
        /// Used bytes of the document.
        document: u64,
        /// Used bytes that the delta begins at.
        delta: u64,
    },
    /// The bytes of the document after the change are not those that the delta was made of.
    WrongDigest,
    /// The delta has no digest to compare with.
    NoDigest,
    /// The second delta does not begin where the first one ends.
    NotConsecutive {
        /// Where the first one ends.
        first: State,
        /// Where the second one begins.
        second: State,
    },
    /// The delta cannot be inverted: it was recorded without old bytes.
    NoOldBytes,
    /// The document refuses the change.
    Document(Error),
}

impl DeltaError {
    pub(super) fn damaged(offset: usize, problem: &'static str) -> DeltaError {
        DeltaError::Damaged { offset: offset as u64, problem }
    }

    pub(super) fn memory(bytes: usize) -> DeltaError {
        DeltaError::Document(Error::out_of_memory(bytes as u64))
    }
}

impl From<Error> for DeltaError {
    fn from(error: Error) -> DeltaError {
        DeltaError::Document(error)
    }
}

impl fmt::Display for DeltaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeltaError::NotADelta => f.write_str("not a delta of LiveBuf documents"),
            DeltaError::UnsupportedVersion(version) => {
                let age = if *version == 0 { "a draft of before version 1" } else { "newer" };
                write!(f, "the delta's version {version} is not read by this library: it is {age}")
            }
            DeltaError::Truncated(length) => write!(f, "the delta is cut short at byte {length}"),
            DeltaError::Damaged { offset, problem } => {
                write!(f, "the delta is damaged: {problem} (at byte {offset})")
            }
            DeltaError::NoState => f.write_str("the document has no state: set one first"),
            DeltaError::WrongBase { document: Some(document), delta } => {
                write!(f, "the delta is for state {delta}, but the document has state {document}")
            }
            DeltaError::WrongBase { document: None, delta } => {
                write!(f, "the delta is for state {delta}, but the document has no state")
            }
            DeltaError::WrongLength { document, delta } => {
                write!(f, "the delta is for {delta} bytes, but the document has {document}")
            }
            DeltaError::WrongDigest => {
                f.write_str("the document would not have the bytes that the delta was made of")
            }
            DeltaError::NoDigest => f.write_str("the delta has no digest to compare with"),
            DeltaError::NotConsecutive { first, second } => {
                write!(f, "the first delta ends at state {first}, the second begins at {second}")
            }
            DeltaError::NoOldBytes => f.write_str("the delta was recorded without old bytes"),
            DeltaError::Document(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for DeltaError {}
