//! Numbers: what is printed for a literal, and what kind of value it became.

use livebuf::Kind;
use livebuf_json::{NumberPolicy, ReadOptions, from_slice_with, from_str};

use crate::tree::{print, round_trip};

#[test]
fn literals_print_as_expected() {
    let cases = [
        ("0", "0", Kind::Int),
        ("-1", "-1", Kind::Int),
        ("-0", "-0.0", Kind::Float),
        ("-0.0", "-0.0", Kind::Float),
        ("0.0", "0.0", Kind::Float),
        ("0e5", "0.0", Kind::Float),
        ("9223372036854775807", "9223372036854775807", Kind::Int),
        ("-9223372036854775808", "-9223372036854775808", Kind::Int),
        ("9223372036854775808", "9223372036854775808", Kind::Uint),
        ("18446744073709551615", "18446744073709551615", Kind::Uint),
        ("18446744073709551616", "18446744073709551616", Kind::NumberText),
        ("-9223372036854775809", "-9223372036854775809", Kind::NumberText),
        ("1.0", "1.0", Kind::Float),
        ("1.50", "1.5", Kind::Float),
        ("1E3", "1000.0", Kind::Float),
        ("1e100", "1e+100", Kind::Float),
        ("123456789.123456789", "123456789.123456789", Kind::NumberText),
        ("12345678.123456789", "12345678.12345679", Kind::Float),
        ("0.1", "0.1", Kind::Float),
        ("5e-324", "5e-324", Kind::Float),
        ("2.2250738585072014e-308", "2.2250738585072014e-308", Kind::Float),
        ("1.7976931348623157e308", "1.7976931348623157e+308", Kind::Float),
        ("1e-400", "1e-400", Kind::NumberText),
        ("-1e400", "-1e400", Kind::NumberText),
        ("3.141592653589793238", "3.141592653589793238", Kind::NumberText),
    ];
    for (literal, printed, kind) in cases {
        // Alone, and beside values that make other code look at it.
        for text in
            [literal.to_owned(), format!("[{literal},0.0,-2.5e-7,1e-400,99999999999999999999]")]
        {
            let document = from_str(&text).unwrap();
            assert_eq!(print(&document), text.replacen(literal, printed, 1), "{text}");
            round_trip(text.as_bytes());
        }
        let document = from_str(literal).unwrap();
        assert_eq!(document.valid().unwrap().root().kind(), kind, "{literal}");
    }
}

#[test]
fn all_texts_are_kept_by_option() {
    let options = ReadOptions::new().numbers(NumberPolicy::AllText);
    let text = r#"[1,1.50,1E3,-0,0.10e-0,{"a":007.5}]"#.replace("007.5", "7.50");
    assert_eq!(print(&from_slice_with(text.as_bytes(), &options).unwrap()), text);
}

#[test]
fn a_million_digits() {
    let text = format!("[{}, -{}.{}]", "9".repeat(1_000_000), "8".repeat(5000), "7".repeat(5000));
    round_trip(text.as_bytes());
}

/// 10^6 floats of many kinds, against the standard library's parser.
#[test]
fn floats_by_bits() {
    let mut state = 0x853c_49e6_748f_ea9bu64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..100 {
        let mut literals = Vec::new();
        while literals.len() < 10_000 {
            let value = f64::from_bits(next());
            let literal = match next() % 4 {
                0 => format!("{value:e}"),
                1 => format!("{:.*e}", (next() % 17) as usize, value),
                2 => format!("{}.{}", next() % 1_000_000, next() % 10_000_000_000),
                _ => {
                    format!("{}e{}", next() % 100_000_000_000_000_000, (next() % 640) as i64 - 320)
                }
            };
            if literal.parse::<f64>().is_ok_and(f64::is_finite) {
                literals.push(literal);
            }
        }
        let document = from_str(&format!("[{}]", literals.join(","))).unwrap();
        let array = document.valid().unwrap().root().as_array().unwrap();
        for (literal, value) in literals.iter().zip(array.iter()) {
            let expected: f64 = literal.parse().unwrap();
            match value.kind() {
                Kind::Float => {
                    assert_eq!(value.as_f64().unwrap().to_bits(), expected.to_bits(), "{literal}");
                }
                // Underflow of a number that is not zero.
                _ => assert_eq!(value.as_number_text(), Some(literal.as_str())),
            }
        }
    }
}
