//! The grammar of JSON numbers (RFC 8259, section 6), for number text.

/// Whether the bytes are one JSON number and nothing else.
pub(crate) fn is_json_number(text: &[u8]) -> bool {
    let rest = text.strip_prefix(b"-").unwrap_or(text);
    let (integer, rest) = digits(rest);
    if integer.is_empty() || (integer.len() > 1 && integer[0] == b'0') {
        return false;
    }
    let rest = match rest.strip_prefix(b".") {
        Some(rest) => match digits(rest) {
            ([], _) => return false,
            (_, rest) => rest,
        },
        None => rest,
    };
    match rest {
        [] => true,
        [b'e' | b'E', rest @ ..] => {
            let rest = match rest {
                [b'+' | b'-', rest @ ..] => rest,
                _ => rest,
            };
            matches!(digits(rest), ([_, ..], []))
        }
        _ => false,
    }
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

#[cfg(test)]
mod tests {
    use super::is_json_number;

    #[test]
    fn grammar() {
        for good in ["0", "-0", "10", "1.5", "-0.0e+10", "1E400", "123456789012345678901234567890"]
        {
            assert!(is_json_number(good.as_bytes()), "{good}");
        }
        for bad in ["", "-", "01", "+1", ".5", "1.", "1e", "1e+", "0x1", "1 ", " 1", "NaN", "1.5.5"]
        {
            assert!(!is_json_number(bad.as_bytes()), "{bad}");
        }
    }
}
