//! JSON pointers (RFC 6901), token by token, without an allocator.

use crate::error::{Error, ErrorKind, Result};

/// Longest token that is unescaped without an allocator.
const MAX_ESCAPED: usize = 1024;

#[cold]
fn bad() -> Error {
    Error::new(ErrorKind::BadPointer, 0)
}

/// Splits the first token off a pointer: (raw token, rest). `None` at the end.
///
/// # Errors
/// [`ErrorKind::BadPointer`] where a non-empty pointer does not begin with `/`.
#[inline]
pub fn split(pointer: &str) -> Result<Option<(&str, &str)>> {
    match pointer.strip_prefix('/') {
        Some(rest) => Ok(Some(rest.split_at(rest.find('/').unwrap_or(rest.len())))),
        None if pointer.is_empty() => Ok(None),
        None => Err(bad()),
    }
}

/// Splits a pointer before its last token: (parent, raw last token). `None` for the root.
///
/// # Errors
/// [`ErrorKind::BadPointer`] where a non-empty pointer does not begin with `/`.
pub fn split_last(pointer: &str) -> Result<Option<(&str, &str)>> {
    match pointer.rsplit_once('/') {
        Some(pair) if pointer.starts_with('/') => Ok(Some(pair)),
        None if pointer.is_empty() => Ok(None),
        _ => Err(bad()),
    }
}

/// Calls `with` on the token's text, `~1` and `~0` resolved.
///
/// # Errors
/// [`ErrorKind::BadPointer`] where `~` is not followed by `0` or `1`. Without an allocator,
/// also where an escaped token exceeds 1 KiB.
#[inline]
pub(crate) fn with_text<R>(raw: &str, with: impl FnOnce(&str) -> Result<R>) -> Result<R> {
    #[cfg(feature = "alloc")]
    if raw.len() > MAX_ESCAPED {
        return with(&unescaped(raw)?);
    }
    if raw.contains('~') {
        let mut buffer = [0; MAX_ESCAPED];
        with(unescape(raw, &mut buffer)?)
    } else {
        with(raw)
    }
}

#[cold]
fn unescape<'b>(raw: &str, buffer: &'b mut [u8; MAX_ESCAPED]) -> Result<&'b str> {
    let mut bytes = raw.bytes();
    let mut length = 0;
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b'~' => match bytes.next() {
                Some(b'0') => b'~',
                Some(b'1') => b'/',
                _ => return Err(bad()),
            },
            other => other,
        };
        *buffer.get_mut(length).ok_or_else(bad)? = byte;
        length += 1;
    }
    // ASCII was replaced by ASCII, so this is still UTF-8.
    core::str::from_utf8(&buffer[..length]).map_err(|_| bad())
}

/// The token's text, `~1` and `~0` resolved.
///
/// # Errors
/// [`ErrorKind::BadPointer`] where `~` is not followed by `0` or `1`.
#[cfg(feature = "alloc")]
pub fn unescaped(raw: &str) -> Result<alloc::borrow::Cow<'_, str>> {
    let mut parts = raw.split('~');
    let first = parts.next().unwrap_or_default();
    if first.len() == raw.len() {
        return Ok(raw.into());
    }
    let mut text = alloc::string::String::from(first);
    for part in parts {
        match part.split_at_checked(1) {
            Some(("0", rest)) => text.extend(["~", rest]),
            Some(("1", rest)) => text.extend(["/", rest]),
            _ => return Err(bad()),
        }
    }
    Ok(text.into())
}

/// The array index that a token states: digits without leading zeros.
pub fn index(raw: &str) -> Option<u32> {
    let digits = raw.as_bytes();
    let plain = digits.iter().all(u8::is_ascii_digit);
    if plain && (digits.len() == 1 || digits.first() != Some(&b'0')) {
        raw.parse().ok()
    } else {
        None
    }
}

/// The token for the place after an array's last element.
pub const END: &str = "-";
