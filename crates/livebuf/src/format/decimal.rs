//! Decimals: whole numbers of up to 38 digits, and where their point is.

use crate::error::{Error, Result};
use core::fmt;
use core::str::FromStr;

/// A decimal number: coefficient · 10^−scale, with at most 38 digits, as databases have them.
/// `1.5` and `1.50` are two decimals: the scale is a part of the value.
///
/// ```
/// use livebuf::{Decimal, json};
/// let price: Decimal = "19.90".parse()?;
/// assert_eq!((price.coefficient(), price.scale()), (1990, 2));
/// let doc = json!({"price": price});
/// assert_eq!(doc.get("price")?.unwrap().as_decimal()?.unwrap().to_string(), "19.90");
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    coefficient: i128,
    scale: u8,
}

impl Decimal {
    /// Most digits, and the greatest scale.
    pub const DIGITS: u8 = 38;
    /// The greatest magnitude of a coefficient.
    const MOST: u128 = 10u128.pow(Self::DIGITS as u32) - 1;

    /// The decimal coefficient · 10^−scale. `None` where the coefficient has more than 38 digits,
    /// or the scale is above 38.
    pub const fn new(coefficient: i128, scale: u8) -> Option<Decimal> {
        let fits = coefficient.unsigned_abs() <= Self::MOST && scale <= Self::DIGITS;
        if fits { Some(Decimal { coefficient, scale }) } else { None }
    }

    /// The number without its point.
    pub const fn coefficient(self) -> i128 {
        self.coefficient
    }

    /// How many of the digits are after the point.
    pub const fn scale(self) -> u8 {
        self.scale
    }
}

/// All digits of its scale, never an exponent: `19.90`.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.coefficient < 0 { "-" } else { "" };
        let (magnitude, scale) = (self.coefficient.unsigned_abs(), self.scale as usize);
        if scale == 0 {
            return write!(f, "{sign}{magnitude}");
        }
        let one = 10u128.pow(scale as u32);
        write!(f, "{sign}{}.{:0scale$}", magnitude / one, magnitude % one)
    }
}

/// Digits, with a sign and a point where wanted. Digits behind the point are the scale.
///
/// # Errors
/// [`BadValue`](crate::ErrorKind::BadValue): other text, or too many digits.
impl FromStr for Decimal {
    type Err = Error;

    fn from_str(text: &str) -> Result<Decimal> {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let mut magnitude = 0u128;
        for digit in whole.bytes().chain(fraction.bytes()) {
            if !digit.is_ascii_digit() || magnitude > Self::MOST / 10 {
                return Err(Error::bad_value());
            }
            magnitude = 10 * magnitude + u128::from(digit - b'0');
        }
        let coefficient = magnitude as i128;
        let pointless = digits.contains('.') && fraction.is_empty();
        let scale = u8::try_from(fraction.len()).unwrap_or(u8::MAX);
        if whole.is_empty() || pointless {
            return Err(Error::bad_value());
        }
        let sign = if text.starts_with('-') { -1 } else { 1 };
        Decimal::new(sign * coefficient, scale).ok_or(Error::bad_value())
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;
    use alloc::string::ToString;

    #[test]
    fn text_is_kept() {
        let nines = "9".repeat(38);
        let small = alloc::format!("-0.{}1", "0".repeat(37));
        for text in ["0", "0.00", "-1", "1.50", "-0.05", "10", &nines, &small] {
            assert_eq!(text.parse::<Decimal>().unwrap().to_string(), text);
        }
        assert_eq!("+1.0".parse::<Decimal>().unwrap().to_string(), "1.0");
        assert_eq!("-0".parse::<Decimal>().unwrap().to_string(), "0");
        for bad in ["", "-", ".5", "5.", "1e2", "1,5", "--1", "١", &"1".repeat(39), &"9".repeat(39)]
        {
            assert!(bad.parse::<Decimal>().is_err(), "{bad}");
        }
        assert!(alloc::format!("0.{}", "0".repeat(39)).parse::<Decimal>().is_err());
        assert_eq!(Decimal::new(10i128.pow(38), 0), None);
        assert_eq!(Decimal::new(i128::MIN, 0), None);
        assert_eq!(Decimal::new(0, 39), None);
    }
}
