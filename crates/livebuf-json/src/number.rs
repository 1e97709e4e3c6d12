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

/// The f64 nearest to `digits` / 10^`places`, where `digits` has at most [`MAX_DIGITS`], and
/// `places` is 1 to [`MAX_DIGITS`]. O(1).
///
/// If an f64 holds both exactly, their quotient is rounded right (Clinger, "How to read floating point
/// numbers accurately", 1990). The others are multiplied by 5^-`places` as a number of 128 bits (Lemire,
/// "Number parsing at a gigabyte per second", 2021), of which 64 nearly always suffice.
#[inline]
pub(crate) fn fraction(digits: u64, places: usize) -> f64 {
    const POWERS: [f64; MAX_DIGITS + 1] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17,
    ];
    const INVERSES: [u128; MAX_DIGITS + 1] = {
        let mut inverses = [0; MAX_DIGITS + 1];
        let mut places = 1;
        while places <= MAX_DIGITS {
            inverses[places] = inverse(places as u32);
            places += 1;
        }
        inverses
    };
    if digits < 1 << 53 {
        return digits as f64 / POWERS[places];
    }
    let shift = digits.leading_zeros();
    let (digits, inverse) = (u128::from(digits << shift), INVERSES[places]);
    let mut product = digits * (inverse >> 64);
    // The lower half of the inverse could carry into the bits that are kept.
    if product >> 64 & 0x1FF == 0x1FF {
        product += (digits * (inverse & u128::from(u64::MAX))) >> 64;
    }
    let (high, low) = ((product >> 64) as u64, product as u64);
    let top = (high >> 63) as u32;
    // 53 bits and one by which to round.
    let mut bits = high >> (top + 9);
    // Half way between two floats, which is possible with a few places only.
    if low <= 1 && places <= 4 && bits & 3 == 1 && bits << (top + 9) == high {
        bits -= 1;
    }
    bits = (bits + (bits & 1)) >> 1;
    // If rounding carries into the next power of two, the sum carries into the exponent.
    let exponent = binary_exponent(places) + i64::from(top) - i64::from(shift);
    f64::from_bits((((exponent + 1022) as u64) << 52) + bits)
}

/// 63 more than the exponent of the highest bit of 10^-`places`.
#[inline]
const fn binary_exponent(places: usize) -> i64 {
    ((-(places as i64) * 217_706) >> 16) + 63
}

/// 5^-`places` · 2^n for the n that makes it a number of 128 bits, rounded up.
const fn inverse(places: u32) -> u128 {
    let power = 5u128.pow(places);
    let (mut quotient, mut rest) = (0u128, 1u128);
    while quotient >> 127 == 0 {
        rest *= 2;
        quotient = quotient * 2 + (rest >= power) as u128;
        if rest >= power {
            rest -= power;
        }
    }
    quotient + 1
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
    fn fractions_are_rounded_as_the_standard_library_does() {
        let is_right = |digits: u64, places: usize| {
            let text = format!("{digits}e-{places}");
            let (found, right) = (fraction(digits, places), text.parse::<f64>().unwrap());
            assert_eq!(found.to_bits(), right.to_bits(), "{text}");
        };
        let most = 10u64.pow(MAX_DIGITS as u32) - 1;
        let mut random = 0x9E37_79B9_7F4A_7C15u64;
        for round in 0..200_000 {
            random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            let digits = ((random >> 7) % (most + 1)) >> (round % 4);
            is_right(digits, 1 + round % MAX_DIGITS);
        }
        for places in 1..=MAX_DIGITS {
            for near in [1 << 53, 1 << 54, 1 << 55, 1 << 56, most] {
                (near - 300..near + 300).filter(|&digits| digits <= most).for_each(|digits| {
                    is_right(digits, places);
                });
            }
            // Half way between two, and next to it.
            for half in (1 << 53) + 1..(1 << 53) + 400 {
                let power = 5u64.pow(places as u32);
                if let Some(digits) = u64::checked_mul(half, power).filter(|&all| all < most) {
                    (digits - 1..=digits + 1).for_each(|digits| is_right(digits, places));
                }
            }
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
