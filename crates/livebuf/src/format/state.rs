//! The state of a document: which bytes it has, by name.

use core::fmt;

/// The state of a document: sixteen bytes that stand for all of its bytes.
///
/// A document gets its first state by [`Editor::set_state`](crate::Editor::set_state). Each
/// [`Delta`](crate::Delta) leads from one state to another. Documents with the same state have the
/// same bytes, if they came to it by the same deltas.
///
/// ```
/// use livebuf::State;
/// let state = State::from_bytes([0xAB; 16]);
/// assert_eq!(state.to_string(), "ab".repeat(16));
/// assert_ne!(State::random(), State::random());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct State([u8; 16]);

impl State {
    /// A state that no other document has: 128 random bits of the system, new ones each time. So
    /// processes that are forked make states of their own.
    ///
    /// # Panics
    /// If the system has no random bits, as [`RandomState`](std::hash::RandomState) does.
    #[cfg(feature = "std")]
    pub fn random() -> State {
        let mut bytes = [0; 16];
        if let Err(error) = getrandom::fill(&mut bytes) {
            panic!("the system has no random bits: {error}");
        }
        State(bytes)
    }

    /// A state of bytes that you made, such as those of a random UUID.
    pub const fn from_bytes(bytes: [u8; 16]) -> State {
        State(bytes)
    }

    /// The bytes as documents and deltas hold them.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

/// 32 hexadecimal digits.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State({self})")
    }
}
