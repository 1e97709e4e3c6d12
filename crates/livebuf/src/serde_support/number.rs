//! The text of JSON numbers: what it is worth, and the event for it.

use crate::encode::Encoder;
use crate::error::{Error, ErrorKind};
use crate::format::number::is_json_number;
use crate::serde_support::error::SerdeError;
use alloc::string::String;

/// What a JSON number's text is worth, exactly where that can be.
pub(crate) enum Number {
    U64(u64),
    I64(i64),
    U128(u128),
    I128(i128),
    /// The nearest double.
    F64(f64),
    /// Beyond the range of doubles.
    OutOfRange,
}

impl Number {
    /// # Errors
    /// [`ErrorKind::BadNumber`] where the text is no JSON number.
    pub(crate) fn parse(text: &str) -> Result<Number, Error> {
        if !is_json_number(text.as_bytes()) {
            return Err(Error::new(ErrorKind::BadNumber, 0));
        }
        // As in serde_json, `-0` is a float.
        if text != "-0" && !text.contains(['.', 'e', 'E']) {
            let integer = (text.parse().map(Number::U64))
                .or_else(|_| text.parse().map(Number::I64))
                .or_else(|_| text.parse().map(Number::U128))
                .or_else(|_| text.parse().map(Number::I128));
            if let Ok(integer) = integer {
                return Ok(integer);
            }
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Number::F64(value)),
            _ => Ok(Number::OutOfRange),
        }
    }

    #[cold]
    pub(crate) fn out_of_range() -> SerdeError {
        SerdeError::new(ErrorKind::BadNumber, String::from("number out of range"))
    }
}

/// Most significant digits that a double always gives back.
const EXACT_DIGITS: usize = 17;

/// The event for a number's text: an integer or float where nothing is lost
/// (as in `livebuf-json`), else the text.
pub(crate) fn number(encoder: &mut Encoder, text: &str) -> Result<(), SerdeError> {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit);
    let significant = digits.skip_while(|&digit| digit == b'0').count();
    let exact = significant <= EXACT_DIGITS;
    match Number::parse(text)? {
        Number::I64(value) => encoder.i64(value)?,
        Number::U64(value) => encoder.u64(value)?,
        // A number that only rounds to zero is kept as text.
        Number::F64(value) if exact && (value != 0.0 || significant == 0) => encoder.f64(value)?,
        _ => encoder.number_text(text)?,
    }
    Ok(())
}
