//! Whether two numbers are equal as numbers, whatever their kinds.

use livebuf::{Kind, Mode, Result, Value};
use std::cmp::Ordering;

/// A number of any kind.
#[derive(Clone, Copy)]
pub(crate) enum Number<'a> {
    Whole(i128),
    Float(f64),
    Text(&'a str),
}

impl<'a> Number<'a> {
    /// `None` where the value is no number.
    pub(crate) fn of<M: Mode>(value: &Value<'a, M>) -> Result<Option<Self>> {
        Ok(match value.kind() {
            Kind::Int => value.as_i64().map(|value| Number::Whole(value.into())),
            Kind::Uint => value.as_u64().map(|value| Number::Whole(value.into())),
            Kind::Float => value.as_f64().map(Number::Float),
            Kind::NumberText => M::result(value.as_number_text())?.map(Number::Text),
            _ => None,
        })
    }

    /// Whether both are the same number. A float stands for the shortest decimal that names it,
    /// as it prints: so `0.1` is `0.1`, even where one of them is kept as text.
    pub(crate) fn equals(self, other: Number<'_>) -> bool {
        match (self, other) {
            (Number::Whole(one), Number::Whole(two)) => one == two,
            // A NaN is itself.
            (Number::Float(one), Number::Float(two)) => {
                one == two || one.to_bits() == two.to_bits()
            }
            (Number::Whole(whole), Number::Float(float))
            | (Number::Float(float), Number::Whole(whole)) => {
                // Wholes are below 2^65, where the conversion is exact.
                float.partial_cmp(&float.trunc()) == Some(Ordering::Equal)
                    && float.abs() < 4e19
                    && float as i128 == whole
            }
            (Number::Text(one), Number::Text(two)) if one == two => true,
            (one, two) => match (one.decimal(), two.decimal()) {
                (Some(one), Some(two)) => one == two,
                _ => false,
            },
        }
    }

    /// Sign, significant digits, and the exponent of the last one. `None` for what is no number.
    fn decimal(self) -> Option<(bool, String, i64)> {
        match self {
            Number::Whole(whole) => decimal(&whole.to_string()),
            Number::Float(float) if float.is_finite() => decimal(&format!("{float:e}")),
            Number::Float(_) => None,
            Number::Text(text) => decimal(text),
        }
    }
}

/// The parts of a number's text, zeros at both ends left out.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let unsigned = text.strip_prefix('-');
    let (mantissa, exponent) = match unsigned.unwrap_or(text).split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()),
        None => (unsigned.unwrap_or(text), Some(0)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = [whole, fraction].concat();
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let trailing = digits.len() - digits.trim_end_matches('0').len();
    digits.truncate(digits.len() - trailing);
    let leading = digits.len() - digits.trim_start_matches('0').len();
    digits.drain(..leading);
    if digits.is_empty() {
        return Some((false, digits, 0));
    }
    let shift = i64::try_from(trailing).ok()? - i64::try_from(fraction.len()).ok()?;
    Some((unsigned.is_some(), digits, exponent?.checked_add(shift)?))
}

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn equal_whatever_the_kind() {
        use Number::{Float, Text, Whole};
        let equal = [
            (Whole(1), Float(1.0)),
            (Whole(0), Float(-0.0)),
            (Whole(1), Text("1.000000000000000000000")),
            (Whole(-120), Text("-1.2e2")),
            (Float(0.1), Text("0.1")),
            (Float(1e22), Text("10000000000000000000000")),
            (Text("1e400"), Text("10e399")),
            (Text("0e9999999999999999999999"), Whole(0)),
            (Float(f64::NAN), Float(f64::NAN)),
        ];
        for (one, two) in equal {
            assert!(one.equals(two) && two.equals(one), "{:?} {:?}", one.decimal(), two.decimal());
        }
        let different = [
            (Whole((1 << 53) + 1), Float(9_007_199_254_740_992.0)),
            (Whole(u64::MAX.into()), Float(18_446_744_073_709_551_615.0)),
            (Whole(1), Float(1.5)),
            (Float(0.1), Text("0.1000000000000000055")),
            (Text("1e9999999999999999999999"), Text("10e9999999999999999999998")),
            (Float(f64::INFINITY), Whole(1)),
            (Whole(1), Text("-1")),
            (Whole(1), Text("damaged")),
        ];
        for (one, two) in different {
            assert!(!one.equals(two) && !two.equals(one));
        }
    }
}
