//! Numbers of all kinds, compared by their exact values.

use super::{Kind, Mode, Value};
use crate::error::Result;
use crate::format::decimal::Decimal;
use core::cmp::Ordering;
use core::fmt::{self, Write};

/// A number of any kind. JSON knows one kind of number, documents several: these compare by their
/// values, exactly.
///
/// A float that meets a decimal or a number text counts as the shortest decimal that reads back
/// as it, since that is how it prints. NaN is neither equal to anything nor less.
///
/// ```
/// use livebuf::{Number, json};
/// let doc = json!([1, 1.0, 9007199254740993_i64, 9007199254740992.0]);
/// let number = |index| Number::of(&doc.get(index)?.unwrap()).map(Option::unwrap);
/// assert_eq!(number(0)?, number(1)?);
/// assert!(number(2)? > number(3)?);
/// assert_eq!(Number::Float(0.1), Number::Text("1.0e-1"));
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Number<'a> {
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
    /// A decimal.
    Decimal(Decimal),
    /// The text of one JSON number (RFC 8259, section 6).
    Text(&'a str),
}

impl<'a> Number<'a> {
    /// The number that a value is; `None` if it is not a number. Constant time.
    ///
    /// # Errors
    /// Damage of the value.
    pub fn of<M: Mode>(value: &Value<'a, M>) -> Result<Option<Self>> {
        Ok(match value.kind() {
            Kind::Int => value.as_i64().map(|value| Number::Int(value.into())),
            Kind::Uint => value.as_u64().map(|value| Number::Int(value.into())),
            Kind::Float => value.as_f64().map(Number::Float),
            Kind::Decimal => M::result(value.as_decimal())?.map(Number::Decimal),
            Kind::NumberText => M::result(value.as_number_text())?.map(Number::Text),
            _ => None,
        })
    }

    /// Its decimal text: as it is, or put into `buffer`.
    fn text<'t>(&self, buffer: &'t mut Buffer) -> &'t str
    where
        'a: 't,
    {
        // The buffer holds all of these.
        let _ = match *self {
            Number::Int(value) => write!(buffer, "{value}"),
            Number::Float(value) => write!(buffer, "{value:e}"),
            Number::Decimal(value) => write!(buffer, "{value}"),
            Number::Text(text) => return text,
        };
        buffer.as_str()
    }
}

impl PartialEq for Number<'_> {
    fn eq(&self, other: &Number<'_>) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

/// Linear in the digits. `None` where one is NaN, and for two different texts whose exponents
/// both have more than thirty digits.
impl PartialOrd for Number<'_> {
    fn partial_cmp(&self, other: &Number<'_>) -> Option<Ordering> {
        use Number::{Float, Int};
        match (*self, *other) {
            (Int(one), Int(two)) => Some(one.cmp(&two)),
            (Float(one), Float(two)) => one.partial_cmp(&two),
            (Int(one), Float(two)) => int_with_float(one, two),
            (Float(one), Int(two)) => int_with_float(two, one).map(Ordering::reverse),
            // NaN and the infinities, against what is finite.
            (Float(one), _) if !one.is_finite() => one.partial_cmp(&0.0),
            (_, Float(two)) if !two.is_finite() => 0.0.partial_cmp(&two),
            (one, two) => {
                let (mut first, mut second) = (Buffer::new(), Buffer::new());
                Digits::of(one.text(&mut first)).compare(&Digits::of(two.text(&mut second)))
            }
        }
    }
}

fn int_with_float(whole: i128, value: f64) -> Option<Ordering> {
    // The least float above all of `i128`.
    const END: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if value.is_nan() {
        return None;
    }
    if value >= END {
        return Some(Ordering::Less);
    }
    if value < -END {
        return Some(Ordering::Greater);
    }
    // Rounds towards zero, exactly. What is cut off decides between equal ones.
    let cut = value as i128;
    Some(
        whole
            .cmp(&cut)
            .then_with(|| 0.0.partial_cmp(&(value - cut as f64)).unwrap_or(Ordering::Equal)),
    )
}

/// Room for the text of a number that is no text.
struct Buffer {
    bytes: [u8; 48],
    length: usize,
}

impl Buffer {
    fn new() -> Buffer {
        Buffer { bytes: [0; 48], length: 0 }
    }

    fn as_str(&self) -> &str {
        self.bytes.get(..self.length).and_then(|text| str::from_utf8(text).ok()).unwrap_or("")
    }
}

impl fmt::Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// A number's text, taken apart: 0.`digits` times 10 to the power of `exponent`.
struct Digits<'t> {
    text: &'t str,
    negative: bool,
    /// The digits before and behind the point, from the first that is not 0.
    digits: [&'t [u8]; 2],
    /// `None` where it has too many digits.
    exponent: Option<i128>,
}

impl<'t> Digits<'t> {
    fn of(text: &'t str) -> Digits<'t> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, power) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let significant = |digits: &'t str| digits.trim_start_matches('0').as_bytes();
        let places = match significant(whole) {
            [] => significant(fraction).len() as i128 - fraction.len() as i128,
            whole => whole.len() as i128,
        };
        let digits = match significant(whole) {
            [] => [&[], significant(fraction)],
            whole => [whole, fraction.as_bytes()],
        };
        // Below this no sum overflows.
        let exponent = power.parse::<i128>().ok().filter(|power| power.unsigned_abs() < 1 << 100);
        Digits {
            text,
            negative: text.starts_with('-'),
            digits,
            exponent: exponent.map(|power| power + places),
        }
    }

    fn all(&self) -> impl Iterator<Item = u8> + '_ {
        self.digits.iter().flat_map(|part| part.iter().copied())
    }

    /// -1, 0 or 1.
    fn sign(&self) -> i8 {
        match (self.all().all(|digit| digit == b'0'), self.negative) {
            (true, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        }
    }

    fn compare(&self, other: &Digits<'_>) -> Option<Ordering> {
        let by_sign = self.sign().cmp(&other.sign());
        if by_sign.is_ne() || self.sign() == 0 || self.text == other.text {
            return Some(by_sign);
        }
        let size = match (self.exponent, other.exponent) {
            (Some(one), Some(two)) => one.cmp(&two).then_with(|| {
                let longer = usize::max(self.all().count(), other.all().count());
                let zeros = core::iter::repeat(b'0');
                let (one, two) = (self.all().chain(zeros.clone()), other.all().chain(zeros));
                one.take(longer).cmp(two.take(longer))
            }),
            (None, Some(_)) if self.is_tiny() => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) if other.is_tiny() => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (None, None) if self.is_tiny() != other.is_tiny() => {
                other.is_tiny().cmp(&self.is_tiny())
            }
            (None, None) => return None,
        };
        Some(if self.negative { size.reverse() } else { size })
    }

    /// Of an exponent with too many digits: whether it is below zero.
    fn is_tiny(&self) -> bool {
        self.text.contains("e-") || self.text.contains("E-")
    }
}

#[cfg(test)]
mod tests {
    use super::Number::{self, Decimal, Float, Int, Text};
    use core::cmp::Ordering;

    fn decimal(text: &str) -> Number<'_> {
        Decimal(text.parse().unwrap())
    }

    #[test]
    fn numbers_have_one_order() {
        let huge = "1e9999999999999999999999999999999999999999";
        let tiny = "1e-9999999999999999999999999999999999999999";
        let rising: &[&[Number<'_>]] = &[
            &[Float(f64::NEG_INFINITY)],
            &[Text("-1e400"), Text("-10.0E+399")],
            &[Int(i128::MIN), Float(i128::MIN as f64)],
            &[Int(-3)],
            &[Float(-2.5), Text("-2.5"), Text("-25e-1"), decimal("-2.50")],
            &[Int(-2), Float(-2.0), Text("-2"), decimal("-2")],
            &[Text("-1e-400")],
            &[Int(0), Float(-0.0), Float(0.0), Text("-0"), Text("0e999"), decimal("0.00")],
            &[Text(tiny)],
            &[Text("1e-400")],
            &[Float(0.1), Text("0.1"), Text("0.0100e1"), decimal("0.10")],
            &[Text("0.1000000000000000055")],
            &[Int(1), Float(1.0), Text("1.000000000000000000000"), decimal("1.0")],
            &[Float(1.5), Text("15e-1"), decimal("1.50")],
            &[Float(9_007_199_254_740_992.0), Int(1 << 53), Text("9007199254740992")],
            &[Int((1 << 53) + 1), Text("9007199254740993"), decimal("9007199254740993.0")],
            &[Int(u64::MAX.into()), Text("18446744073709551615")],
            &[Float(18_446_744_073_709_551_616.0)],
            &[Float(1e22), Text("10000000000000000000000")],
            &[Text("1e9999999999999999999999"), Text("10e9999999999999999999998")],
            &[Text(huge)],
            &[Float(f64::INFINITY)],
        ];
        for (i, ones) in rising.iter().enumerate() {
            for (j, twos) in rising.iter().enumerate() {
                for one in *ones {
                    for two in *twos {
                        assert_eq!(one.partial_cmp(two), Some(i.cmp(&j)), "{one:?} {two:?}");
                    }
                }
            }
        }
        for other in [Int(0), Float(f64::NAN), Text("1"), decimal("1")] {
            assert_eq!(Float(f64::NAN).partial_cmp(&other), None);
            assert_eq!(other.partial_cmp(&Float(f64::NAN)), None);
        }
        let more = alloc::format!("2{}", &huge[1..]);
        assert_eq!(Text(huge).partial_cmp(&Text(&more)), None, "not worth the digits");
        assert_eq!(Text("damaged").partial_cmp(&Text("1")).map(Ordering::is_eq), Some(false));
    }
}
