//! Which of the document's number forms stands for a literal (FORMAT 13.1).
//!
//! | literal | becomes |
//! |---|---|
//! | integer in i64 or u64 | that integer |
//! | `-0` | the f64 -0.0: an integer cannot keep the sign |
//! | other integers | the text |
//! | with `.`, `e` or `E`, at most 17 significant digits, finite, not underflowing to zero | the nearest f64 |
//! | every other | the text |
//!
//! Significant digits are those of the mantissa without leading zeros; trailing
//! zeros count. 17 is what a shortest round-trip f64 never exceeds.

/// The number form of one literal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number<'t> {
    /// An integer in i64's range.
    I64(i64),
    /// An integer above it and in u64's range.
    U64(u64),
    /// The f64 nearest to the literal.
    F64(f64),
    /// The literal itself.
    Text(&'t str),
}

/// More significant digits than this and the literal is kept as text.
pub(crate) const MAX_DIGITS: usize = 17;

impl<'t> Number<'t> {
    /// The form for `literal`, which must be a JSON number. O(length).
    pub(crate) fn of(literal: &'t str) -> Number<'t> {
        let bytes = literal.as_bytes();
        let (negative, magnitude) = match bytes {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, bytes),
        };
        // 19 digits always fit u64; 20 may, and are left to the standard library.
        if magnitude.len() <= 19 {
            let mut value = 0u64;
            let mut integer = true;
            for &byte in magnitude {
                let digit = byte.wrapping_sub(b'0');
                if digit > 9 {
                    integer = false;
                    break;
                }
                value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            }
            if integer {
                return match (negative, i64::try_from(value)) {
                    (true, Ok(0)) => Number::F64(-0.0),
                    (true, Ok(value)) => Number::I64(-value),
                    (true, Err(_)) if value == 1 << 63 => Number::I64(i64::MIN),
                    (true, Err(_)) => Number::Text(literal),
                    (false, Ok(value)) => Number::I64(value),
                    (false, Err(_)) => Number::U64(value),
                };
            }
        }
        Number::of_long_or_fraction(literal, magnitude)
    }

    fn of_long_or_fraction(literal: &'t str, magnitude: &[u8]) -> Number<'t> {
        let mut digits = 0usize;
        let mut fraction = false;
        for &byte in magnitude {
            match byte {
                b'0' => digits += usize::from(digits > 0),
                b'1'..=b'9' => digits += 1,
                b'.' => fraction = true,
                _ => {
                    fraction = true;
                    break;
                }
            }
        }
        if !fraction {
            return match literal.parse::<u64>() {
                Ok(value) => Number::U64(value),
                Err(_) => Number::Text(literal),
            };
        }
        if digits > MAX_DIGITS {
            return Number::Text(literal);
        }
        // The standard library rounds correctly.
        match literal.parse::<f64>() {
            Ok(value) if value.is_finite() && (value != 0.0 || digits == 0) => Number::F64(value),
            _ => Number::Text(literal),
        }
    }
}

/// The length of the JSON number that `text` begins with.
///
/// The reader checks literals; this checks number text out of a document before it is printed.
/// O(result).
pub(crate) fn literal_length(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(text.first() == Some(&b'-'));
    at += match digits(at) {
        0 => return None,
        count if count > 1 && text[at] == b'0' => return None,
        count => count,
    };
    if text.get(at) == Some(&b'.') {
        at += match digits(at + 1) {
            0 => return None,
            count => 1 + count,
        };
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        at += match digits(at + 1 + sign) {
            0 => return None,
            count => 1 + sign + count,
        };
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_literal_gets_its_form() {
        use Number::*;
        let cases: &[(&str, Number<'_>)] = &[
            ("0", I64(0)),
            ("-1", I64(-1)),
            ("9223372036854775807", I64(i64::MAX)),
            ("-9223372036854775808", I64(i64::MIN)),
            ("9223372036854775808", U64(1 << 63)),
            ("18446744073709551615", U64(u64::MAX)),
            ("18446744073709551616", Text("18446744073709551616")),
            ("-9223372036854775809", Text("-9223372036854775809")),
            ("1.0", F64(1.0)),
            ("1e2", F64(100.0)),
            ("1E+2", F64(100.0)),
            ("5e-324", F64(5e-324)),
            ("1.7976931348623157e308", F64(f64::MAX)),
            ("1e309", Text("1e309")),
            ("-1e309", Text("-1e309")),
            ("1e-400", Text("1e-400")),
            ("0e-400", F64(0.0)),
            ("0e400", F64(0.0)),
            ("0.0000000000000000000000", F64(0.0)),
            ("0.00000000000000000000001", F64(1e-23)),
            ("1234567890.1234567", F64(1234567890.1234567)),
            ("1234567890.12345678", Text("1234567890.12345678")),
            ("1.00000000000000000", Text("1.00000000000000000")),
            ("1.0000000000000000", F64(1.0)),
            ("123456789012345678e0", Text("123456789012345678e0")),
        ];
        for &(literal, ref form) in cases {
            assert_eq!(Number::of(literal), *form, "{literal}");
            assert_eq!(literal_length(literal.as_bytes()), Some(literal.len()), "{literal}");
        }
        for zero in ["-0", "-0.0", "-0e7", "-0.00E-2"] {
            assert!(matches!(Number::of(zero), F64(v) if v.to_bits() == 1 << 63), "{zero}");
        }
    }

    #[test]
    fn literals_end_where_the_grammar_says() {
        for bad in ["", "-", "+1", "01", "-01", ".5", "1.", "1.e3", "1e", "1e+", "e1", "NaN", "a"] {
            assert_ne!(literal_length(bad.as_bytes()), Some(bad.len()), "{bad:?}");
        }
        assert_eq!(literal_length(b"12,3"), Some(2));
        assert_eq!(literal_length(b"-0.5e-7]"), Some(7));
    }
}
