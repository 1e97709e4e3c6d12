//! How a command fails: its exit status and its message.

use crate::told::{shown, tell};
use livebuf::ErrorKind;
use std::fmt::Display;
use std::io;
use std::path::Path;

/// Why a command stops.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The answer is no (status 1), and why.
    No(String),
    /// An error (status 2): what is wrong and where, and hints what to do.
    Trouble(String, Vec<String>),
    /// The reader of our output closed it.
    BrokenPipe,
}

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub(crate) fn trouble(message: impl Into<String>) -> Failure {
        Failure::Trouble(message.into(), Vec::new())
    }

    /// Says on standard error what is wrong, and answers the exit status.
    pub(crate) fn tell(&self) -> u8 {
        let (message, hints, status) = match self {
            Failure::No(message) => (message, &[][..], 1),
            Failure::Trouble(message, hints) => (message, &hints[..], 2),
            Failure::BrokenPipe => return 0,
        };
        if !message.is_empty() {
            let style = anstyle::AnsiColor::Red.on_default() | anstyle::Effects::BOLD;
            // Names of files and keys of documents can have any characters.
            let lines = hints.iter().map(|hint| format!("\n  {}", shown(hint)));
            let hints: String = lines.collect();
            tell(&format!("{style}livebuf:{style:#} {}{hints}", shown(message)));
        }
        status
    }

    /// An error of the system about a file.
    pub(crate) fn io(path: &Path, error: &io::Error) -> Failure {
        Failure::trouble(format!("{}: {}", name(path), reason(error)))
    }

    /// An error while writing to standard output.
    pub(crate) fn output(error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::trouble(format!("standard output: {}", reason(error))),
        }
    }

    /// An error of the document itself.
    pub(crate) fn document(path: &Path, error: livebuf::Error) -> Failure {
        let name = name(path);
        Failure::trouble(match error.kind() {
            ErrorKind::Io if error.refused_memory().is_none() => {
                let system = io::Error::from_raw_os_error(error.detail() as i32);
                format!("{name}: {}", reason(&system))
            }
            _ if is_damage(error) => format!("{name}: the document is damaged: {error}"),
            _ => format!("{name}: {error}"),
        })
    }

    /// An error of a log.
    pub(crate) fn log(path: &Path, error: &livebuf_log::Error) -> Failure {
        match error.io_error() {
            Some(error) => Failure::io(path, error),
            None => Failure::trouble(format!("{}: {error}", name(path))),
        }
    }

    pub(crate) fn with_hint(self, hint: impl Display) -> Failure {
        match self {
            Failure::Trouble(message, mut hints) => {
                hints.push(hint.to_string());
                Failure::Trouble(message, hints)
            }
            other => other,
        }
    }
}

/// Whether an error says that bytes are a document, but a damaged one.
pub(crate) fn is_damage(error: livebuf::Error) -> bool {
    use ErrorKind::*;
    matches!(
        error.kind(),
        Truncated
            | OutOfBounds
            | Misaligned
            | WrongBlock
            | BadCode
            | BadCount
            | BadText
            | BadCell
            | Overlap
            | BadIndex
            | DuplicateKey
            | BadFreeList
            | NotZero
            | BadNumber
    )
}

/// A path as messages name it.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }
}

/// The system's message without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = text.chars();
    match letters.next() {
        // "No such file …" is printed in the middle of a line.
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => text.to_owned(),
    }
}

/// A number with commas between its thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count of things by their name in the singular: "1 table", "2,000 tables".
pub(crate) fn counted(number: u64, thing: &str) -> String {
    let ending = match number {
        1 => "",
        _ if thing.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {thing}{ending}", grouped(number))
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_or_many() {
        for (number, thing, text) in [
            (0, "byte", "0 bytes"),
            (1, "byte", "1 byte"),
            (1, "class", "1 class"),
            (2000, "class", "2,000 classes"),
        ] {
            assert_eq!(super::counted(number, thing), text);
        }
    }

    #[test]
    fn thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")] {
            assert_eq!(super::grouped(number), text);
        }
    }
}
