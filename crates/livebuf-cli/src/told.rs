//! Messages: lines on standard error, and whether they could be written.

use std::borrow::Cow;
use std::fmt::Write as _;
#[cfg(unix)]
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a message could not be written.
static UNTOLD: AtomicBool = AtomicBool::new(false);

/// Prints a line on standard error. If that fails, the command's exit status tells.
pub(crate) fn tell(line: &str) {
    let written = match was_closed(ERROR) {
        true => false,
        false => match writeln!(anstream::stderr(), "{line}") {
            Ok(()) => true,
            // As with standard output: whoever closes a pipe wants no more.
            Err(error) => error.kind() == io::ErrorKind::BrokenPipe,
        },
    };
    if !written {
        UNTOLD.store(true, Ordering::Relaxed);
    }
}

/// Whether a message could not be written.
pub(crate) fn is_untold() -> bool {
    UNTOLD.load(Ordering::Relaxed)
}

/// Text with control characters escaped as JSON does it, for a line on a terminal.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            letter if letter.is_control() => {
                let _ = write!(escaped, "\\u{:04x}", letter as u32);
            }
            letter => escaped.push(letter),
        }
    }
    Cow::Owned(escaped)
}

/// A pointer on one line: in JSON's quotes if it has control characters.
pub(crate) fn shown_pointer(pointer: &str) -> Cow<'_, str> {
    if !pointer.contains(char::is_control) {
        return Cow::Borrowed(pointer);
    }
    let quoted = pointer.replace('\\', "\\\\").replace('"', "\\\"");
    Cow::Owned(format!("\"{}\"", shown(&quoted)))
}

/// Standard output and standard error, among [`CLOSED`].
pub(crate) const OUTPUT: usize = 0;
const ERROR: usize = 1;

/// Which standard streams were closed when the process began.
///
/// Rust opens /dev/null in their place before `main`, so that what is written there is lost
/// without an error. So they are looked at before that.
static CLOSED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

pub(crate) fn was_closed(stream: usize) -> bool {
    CLOSED[stream].load(Ordering::Relaxed)
}

/// Opens /dev/null in place of standard streams that are closed, so that no file gets the number of
/// one, and then what is printed. Rust does that before `main`: this is for programs whose `main` is
/// another's.
#[cfg(unix)]
pub fn replace_closed_streams() {
    use std::os::fd::{AsRawFd, IntoRawFd};
    const STREAMS: i32 = 3;
    look_at_streams();
    for _ in 0..=STREAMS {
        match File::options().read(true).write(true).open("/dev/null") {
            Ok(file) if file.as_raw_fd() < STREAMS => {
                // It stays open.
                let _ = file.into_raw_fd();
            }
            _ => return,
        }
    }
}

/// Notes which standard streams are closed. The program calls it before `main`. What it uses of the
/// standard library is system calls, two atomics and the handles of the streams: it needs nothing
/// that is prepared for `main`.
#[cfg(unix)]
pub extern "C" fn look_at_streams() {
    use std::os::fd::AsFd;
    // A copy of a closed descriptor cannot be made.
    let is_closed = [
        io::stdout().as_fd().try_clone_to_owned().is_err(),
        io::stderr().as_fd().try_clone_to_owned().is_err(),
    ];
    for (closed, is_closed) in CLOSED.iter().zip(is_closed) {
        closed.store(is_closed, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn pointers_take_one_line() {
        for (pointer, text) in [
            ("/a b/\"c", "/a b/\"c"),
            ("/a\nb\"c\\\u{1b}[31m\u{9b}", r#""/a\nb\"c\\\u001b[31m\u009b""#),
        ] {
            assert_eq!(super::shown_pointer(pointer), text);
            if text.starts_with('"') {
                assert_eq!(serde_json::from_str::<String>(text).unwrap(), pointer);
            }
        }
    }
}
