//! UUIDs (RFC 9562): sixteen bytes, and their text.

use crate::error::{Error, Result};
use core::fmt;
use core::str::FromStr;

/// A UUID: sixteen bytes in the order of their text.
///
/// ```
/// use livebuf::{Uuid, json};
/// let id: Uuid = "F81D4FAE-7dec-11d0-a765-00a0c91e6bf6".parse()?;
/// assert_eq!(id.to_string(), "f81d4fae-7dec-11d0-a765-00a0c91e6bf6");
/// assert_eq!(json!([id]).doc().pointer("/0")?.unwrap().as_uuid()?, Some(id));
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// The UUID of these bytes. All are allowed, whatever version they state.
    pub const fn from_bytes(bytes: [u8; 16]) -> Uuid {
        Uuid(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// Where the text has hyphens.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// In lower case, with hyphens.
impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let hyphen = if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

/// Thirty-two digits in lower or upper case, with the four hyphens.
///
/// # Errors
/// [`BadValue`](crate::ErrorKind::BadValue).
impl FromStr for Uuid {
    type Err = Error;

    fn from_str(text: &str) -> Result<Uuid> {
        let text = text.as_bytes();
        if text.len() != 36 || HYPHENS.iter().any(|&at| text[at] != b'-') {
            return Err(Error::bad_value());
        }
        let mut digits = (0..36).filter(|at| !HYPHENS.contains(at)).map(|at| {
            (text[at] as char)
                .to_digit(16)
                .filter(|_| text[at].is_ascii())
                .ok_or(Error::bad_value())
        });
        let mut bytes = [0; 16];
        for byte in &mut bytes {
            let mut digit = || digits.next().unwrap_or(Err(Error::bad_value()));
            *byte = (16 * digit()? + digit()?) as u8;
        }
        Ok(Uuid(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::Uuid;

    #[test]
    fn other_text_is_refused() {
        for bad in [
            "",
            "f81d4fae7dec11d0a76500a0c91e6bf6",
            "{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}",
            "f81d4fae-7dec-11d0-a765-00a0c91e6bfg",
            "f81d4fae-7dec-11d0-a765-00a0c91e6b-6",
            "f81d4fae-7dec-11d0-a76500a0c91e6bf6-",
        ] {
            assert!(bad.parse::<Uuid>().is_err(), "{bad}");
        }
    }
}
