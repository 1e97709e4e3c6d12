//! Numbers of all kinds, compared by their exact values.
//!
//! JSON knows one kind of number, documents several. Integers and doubles compare exactly.
//! Numbers that are kept as text, and decimals, compare by their decimal digits; a double
//! that meets one of them counts as the shortest text that reads back as it.

use std::cmp::Ordering;

/// A number: of a document, or of a query's text.
#[derive(Clone, Debug)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
    /// A JSON number's text.
    Text(String),
}

impl Number {
    /// The number of a JSON number's text.
    pub(crate) fn parse(text: &str) -> Number {
        if let Ok(whole) = text.parse() {
            return Number::Int(whole);
        }
        match text.parse::<f64>() {
            // An integer beyond `i128` is not a double.
            Ok(value) if value.is_finite() && text.contains(['.', 'e', 'E']) => {
                Number::Float(value)
            }
            _ => Number::Text(text.to_owned()),
        }
    }

    /// The order of two; `None` where one is not a number (NaN).
    pub(crate) fn compare(&self, other: &Number) -> Option<Ordering> {
        match (self, other) {
            (Number::Int(one), Number::Int(two)) => Some(one.cmp(two)),
            (Number::Float(one), Number::Float(two)) => one.partial_cmp(two),
            (Number::Int(one), Number::Float(two)) => int_with_float(*one, *two),
            (Number::Float(one), Number::Int(two)) => {
                int_with_float(*two, *one).map(Ordering::reverse)
            }
            (Number::Float(value), Number::Text(_)) if !value.is_finite() => {
                value.partial_cmp(&0.0)
            }
            (Number::Text(_), Number::Float(value)) if !value.is_finite() => 0.0.partial_cmp(value),
            _ => Some(Digits::of(&self.text()).compare(&Digits::of(&other.text()))),
        }
    }

    fn text(&self) -> String {
        match self {
            Number::Int(value) => value.to_string(),
            Number::Float(value) => format!("{value:e}"),
            Number::Text(text) => text.clone(),
        }
    }
}

fn int_with_float(whole: i128, value: f64) -> Option<Ordering> {
    if value.is_nan() {
        return None;
    }
    // All integers of documents and most of queries lie within these.
    if value >= 1.7e38 {
        return Some(Ordering::Less);
    }
    if value <= -1.7e38 {
        return Some(Ordering::Greater);
    }
    let floor = value.floor();
    Some(whole.cmp(&(floor as i128)).then(match value > floor {
        true => Ordering::Less,
        false => Ordering::Equal,
    }))
}

/// Decimal digits: 0.`digits` times 10 to the power of `exponent`.
struct Digits {
    negative: bool,
    /// Neither the first nor the last is 0; none for zero.
    digits: Vec<u8>,
    exponent: i128,
}

impl Digits {
    fn of(text: &str) -> Digits {
        let (negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        // Exponents beyond this differ from all others, whatever they are.
        let far = if power.starts_with('-') { -(1i128 << 100) } else { 1i128 << 100 };
        let power = power.parse::<i128>().unwrap_or(far).clamp(-(1 << 100), 1 << 100);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole.as_bytes(), fraction.as_bytes()].concat();
        let zeros = all.iter().take_while(|&&digit| digit == b'0').count();
        let end = all.len() - all.iter().rev().take_while(|&&digit| digit == b'0').count();
        let digits = all.get(zeros..end).unwrap_or_default().to_vec();
        let exponent = power + whole.len() as i128 - zeros as i128;
        Digits { negative: negative && !digits.is_empty(), digits, exponent }
    }

    fn compare(&self, other: &Digits) -> Ordering {
        let sign = |number: &Digits| match (number.digits.is_empty(), number.negative) {
            (true, _) => 0,
            (_, true) => -1,
            _ => 1,
        };
        let by_sign = sign(self).cmp(&sign(other));
        if by_sign.is_ne() || sign(self) == 0 {
            return by_sign;
        }
        let size = self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits));
        if self.negative { size.reverse() } else { size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_by_value() {
        let rising = [
            "-1e400",
            "-1e30",
            "-2.5",
            "-2",
            "-1e-400",
            "0",
            "1e-400",
            "0.1",
            "1",
            "1.5",
            "9007199254740992",
            "9007199254740993",
            "9007199254740994.0",
            "18446744073709551615",
            "1e20",
            "340282366920938463463374607431768211456",
            "1e39",
            "1e400",
            "1e401",
        ];
        for (i, one) in rising.iter().enumerate() {
            for (j, two) in rising.iter().enumerate() {
                let found = Number::parse(one).compare(&Number::parse(two));
                assert_eq!(found, Some(i.cmp(&j)), "{one} {two}");
            }
        }
        for (one, two) in [("1", "1.0"), ("-0", "0.0"), ("100", "1e2"), ("1e400", "10e399")] {
            let found = Number::parse(one).compare(&Number::parse(two));
            assert_eq!(found, Some(Ordering::Equal), "{one} {two}");
        }
        assert_eq!(Number::Float(f64::NAN).compare(&Number::Int(1)), None);
        assert_eq!(
            Number::Float(f64::INFINITY).compare(&Number::parse("1e400")),
            Some(Ordering::Greater)
        );
    }
}
