//! Text that is written to C's memory.

use core::ffi::c_char;
use core::fmt::{self, Write};
use core::mem::MaybeUninit;

use crate::args::Buffer;
use crate::status::livebuf_error;

/// Text that is written to C's memory as far as there is room. All of it is counted.
pub(crate) struct Text<'a> {
    room: &'a mut [MaybeUninit<u8>],
    /// The length of all text, also of what has no room.
    pub(crate) length: usize,
}

impl<'a> Text<'a> {
    pub(crate) fn new(buffer: &'a mut Buffer<c_char>, capacity: usize) -> Self {
        Text { room: buffer.byte_room(capacity), length: 0 }
    }

    pub(crate) fn add(&mut self, text: &[u8]) {
        let rest = self.room.get_mut(self.length..).unwrap_or_default();
        for (place, &byte) in rest.iter_mut().zip(text) {
            place.write(byte);
        }
        self.length += text.len();
    }

    /// Whether there is more text than room.
    #[cfg(feature = "json")]
    pub(crate) fn is_cut(&self) -> bool {
        self.length > self.room.len()
    }

    /// Puts a NUL after the text, if there is room.
    #[cfg(feature = "json")]
    pub(crate) fn end_if_room(self) {
        if let Some(place) = self.room.get_mut(self.length) {
            place.write(0);
        }
    }

    /// Puts a NUL after the text, or over the last byte that fits. Returns the length of all text.
    pub(crate) fn end(self) -> usize {
        let last = self.room.len().saturating_sub(1);
        if let Some(place) = self.room.get_mut(self.length.min(last)) {
            place.write(0);
        }
        self.length
    }
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

/// An error as one line of English, with its place and detail: "the buffer is too small: 24
/// bytes are missing". Rust has the same words. Returns the length of the whole line without
/// its NUL, as snprintf does.
///
/// Memory: writes at most `capacity` bytes to `text`, a NUL at the end among them; 160 hold
/// any line. NULL: `text` if `capacity` is 0, to ask for the length. Errors: none; an unknown
/// status is "unknown status". Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_error_text(
    error: livebuf_error,
    mut text: Buffer<c_char>,
    capacity: usize,
) -> usize {
    let mut line = Text::new(&mut text, capacity);
    // Writing here never fails.
    let _ = write!(line, "{error}");
    line.end()
}
