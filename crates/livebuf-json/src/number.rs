//! Which of the document's number forms stands for a literal (FORMAT 15.1).
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

use crate::words::{bytes_below, bytes_equal, eight};

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
const MAX_DIGITS: usize = 17;

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
/// The parsers check literals; this checks number text out of a document before
/// it is printed, and integers of more digits than jiter reads. O(result).
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

/// A place in JSON text that is known to be valid, from which literals of numbers are found.
///
/// A parser that gives values and not literals moves it along: to the end of a string
/// whose place is known, or past one more string or number. Both are cheap; only
/// [`literal`](Cursor::literal) looks at the text, and at every byte at most once.
pub(crate) struct Cursor<'t> {
    text: &'t str,
    /// Everything before is behind the cursor.
    offset: usize,
    /// Strings and numbers after `offset` that are behind the cursor, too.
    passed: usize,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Cursor { text, offset: 0, passed: 0 }
    }

    /// Bytes of the text that are surely behind the cursor.
    #[inline]
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// Past a string or number whose place is not known.
    #[inline]
    pub(crate) fn pass(&mut self) {
        self.passed += 1;
    }

    /// Past a string whose characters are part of the text itself.
    #[inline]
    pub(crate) fn pass_string(&mut self, string: &str) {
        let start = string.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        // Behind the closing quote.
        self.offset = start.wrapping_add(string.len() + 1);
        self.passed = 0;
    }

    /// The literal of the next number, which is a string or number further; past it.
    /// `None` where the text is not what it was said to be.
    pub(crate) fn literal(&mut self) -> Option<&'t [u8]> {
        let bytes = self.text.as_bytes();
        let begins = |&byte: &u8| matches!(byte, b'"' | b'-' | b'0'..=b'9');
        loop {
            let start = self.offset + bytes.get(self.offset..)?.iter().position(begins)?;
            let is_string = bytes[start] == b'"';
            let length = match is_string {
                true => string_length(&bytes[start..])?,
                false => number_length(&bytes[start..]),
            };
            self.offset = start + length;
            if self.passed == 0 {
                return if is_string { None } else { bytes.get(start..self.offset) };
            }
            self.passed -= 1;
        }
    }
}

/// Whether the f64 of a literal stands for it, unless that is zero or infinite. For literals that
/// no i64 or u64 holds; may say no where [`Number::of`] says yes.
#[inline]
pub(crate) fn is_short_float(literal: &[u8]) -> bool {
    // Integers beyond those have 20 characters at least. So here is a point or an exponent.
    let most = MAX_DIGITS + 1 + usize::from(literal.first() == Some(&b'-'));
    literal.len() <= most
}

/// The length of the number that `text` begins with, in valid JSON: up to white space, a comma or
/// a bracket.
fn number_length(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<8>();
    for (word, at) in words.iter().zip((0..).step_by(8)) {
        let ends = ends(u64::from_le_bytes(*word));
        if ends != 0 {
            return at + ends.trailing_zeros() as usize / 8;
        }
    }
    let end = |&byte: &u8| byte <= b' ' || matches!(byte, b',' | b']' | b'}');
    8 * words.len() + rest.iter().position(end).unwrap_or(rest.len())
}

/// The high bit of the first byte of a word that ends a number, and bits above it. 0 if none does.
#[inline]
fn ends(word: u64) -> u64 {
    // Both brackets are the same but for one bit.
    let brackets = bytes_equal(word | eight(0x20), b'}');
    bytes_below(word, b' ' + 1) | bytes_equal(word, b',') | brackets
}

/// The length of the string literal that `text` begins with, quotes included.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
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

    #[test]
    fn numbers_end_at_space_commas_and_brackets() {
        for length in 1..40 {
            let number = &"-1234567890.1234567890e+12345678901234567"[..length];
            assert_eq!(number_length(number.as_bytes()), length);
            for end in [" ", "\t", "\n", "\r", ",", "]", "}"] {
                for behind in ["", "1", "}, \"é\": 12, [", "\u{10FFFF}\u{10FFFF}\u{10FFFF}"] {
                    let text = [number, end, behind].concat();
                    assert_eq!(number_length(text.as_bytes()), length, "{text}");
                }
            }
        }
    }

    #[test]
    fn floats_of_17_digits_are_short() {
        for literal in ["-65.613616999999977", "1e-300", "-1.2345678901234567", "0.5"] {
            assert!(
                is_short_float(literal.as_bytes()) && matches!(Number::of(literal), Number::F64(_))
            );
        }
        for literal in ["-65.6136169999999777", "18446744073709551616", "-9223372036854775809"] {
            assert!(!is_short_float(literal.as_bytes()), "{literal}");
        }
    }

    #[test]
    fn the_cursor_finds_literals() {
        let text = r#"{"a\"1": [1, "two\\", -2.5e-7], "b" : 3.0, "5": [[], 6e1]}"#;
        fn next<'t>(cursor: &mut Cursor<'t>) -> Option<&'t str> {
            cursor.literal().map(|literal| std::str::from_utf8(literal).unwrap())
        }
        let mut cursor = Cursor::new(text);
        for _ in ["a\"1", "1", "two"] {
            cursor.pass();
        }
        assert_eq!(next(&mut cursor), Some("-2.5e-7"));
        let b = text.find('b').unwrap();
        cursor.pass_string(&text[b..b + 1]);
        assert_eq!(next(&mut cursor), Some("3.0"));
        cursor.pass();
        assert_eq!(next(&mut cursor), Some("6e1"));
        assert_eq!(next(&mut cursor), None);
        // Strings that are not of the text lead nowhere, but not astray either.
        cursor.pass_string("elsewhere");
        assert_eq!(next(&mut cursor), None);
    }
}
