//! Several bytes of text at once: eight as one word, or sixteen.

/// A word of one byte, eight times.
pub(crate) const fn eight(byte: u8) -> u64 {
    u64::MAX / 255 * byte as u64
}

/// The high bits of bytes less than `limit`, which is at most 128. Bits above the first one say
/// nothing. From "Determine if a word has a byte less than n" of Anderson's Bit Twiddling Hacks.
#[inline]
pub(crate) fn bytes_below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(eight(limit)) & !word & eight(0x80)
}

/// The same of bytes that are equal to this one.
#[inline]
pub(crate) fn bytes_equal(word: u64, byte: u8) -> u64 {
    bytes_below(word ^ eight(byte), 1)
}

/// A bit for each byte that does not stand for itself in a JSON string: quotes, backslashes and
/// control characters. Bits above the first one say nothing.
#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code)]
pub(crate) fn not_plain(block: &[u8; 16]) -> u32 {
    use std::arch::x86_64::*;
    // SAFETY: every x86-64 processor has SSE2, and the load is of the 16 bytes of `block`.
    unsafe {
        let bytes = _mm_loadu_si128(block.as_ptr().cast());
        let is = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
        let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes);
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(is(b'"'), is(b'\\')), control)) as u32
    }
}

/// The same elsewhere.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn not_plain(block: &[u8; 16]) -> u32 {
    let (words, _) = block.as_chunks::<8>();
    let [low, high] = [0, 1].map(|at| {
        let word = u64::from_le_bytes(words[at]);
        bytes_equal(word, b'"') | bytes_equal(word, b'\\') | bytes_below(word, b' ')
    });
    match low {
        0 if high == 0 => 0,
        0 => 1 << (8 + high.trailing_zeros() / 8),
        low => 1 << (low.trailing_zeros() / 8),
    }
}

/// A bit for each byte that is no space.
#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code)]
pub(crate) fn not_space(block: &[u8; 16]) -> u32 {
    use std::arch::x86_64::*;
    // SAFETY: as in `not_plain`.
    unsafe {
        let bytes = _mm_loadu_si128(block.as_ptr().cast());
        let spaces = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b' ' as i8));
        _mm_movemask_epi8(spaces) as u32 ^ 0xFFFF
    }
}

/// The same elsewhere.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn not_space(block: &[u8; 16]) -> u32 {
    let others = u128::from_le_bytes(*block) ^ u128::from_le_bytes([b' '; 16]);
    match others {
        0 => 0,
        others => 1 << (others.trailing_zeros() / 8),
    }
}

/// The eight bytes from `at` on, if there are as many.
#[inline]
pub(crate) fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

/// Appends the decimal digits from `at` on to a number: its value, modulo 2^64, and where they end.
#[inline]
pub(crate) fn digits(bytes: &[u8], mut at: usize, mut value: u64) -> (u64, usize) {
    const POWERS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
    while let Some(word) = word_at(bytes, at) {
        let values = word ^ eight(b'0');
        let others = (values.wrapping_add(eight(6)) | values) & eight(0xF0);
        let count = others.trailing_zeros() as usize / 8;
        match count {
            0 => return (value, at),
            1 => return (value.wrapping_mul(10).wrapping_add(values & 0xFF), at + 1),
            2..8 => {
                // Moved behind zeros, so that they are the last of eight digits.
                let few = eight_digits(values << (8 * (8 - count)));
                return (value.wrapping_mul(POWERS[count]).wrapping_add(few), at + count);
            }
            _ => value = value.wrapping_mul(100_000_000).wrapping_add(eight_digits(values)),
        }
        at += 8;
    }
    while let Some(digit @ b'0'..=b'9') = bytes.get(at) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
    (value, at)
}

/// The value of eight decimal digits, the first in the lowest byte. From Lemire, "Quickly parsing eight
/// digits" (2022).
#[inline]
fn eight_digits(values: u64) -> u64 {
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
    let (low, high) = (pairs & 0xFF_0000_00FF, pairs >> 16 & 0xFF_0000_00FF);
    let sum = low
        .wrapping_mul(100 + (1_000_000 << 32))
        .wrapping_add(high.wrapping_mul(1 + (10_000 << 32)));
    sum >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_have_their_value() {
        for (text, end) in [
            ("0", 1),
            ("12345678", 8),
            ("98765432109876543,", 17),
            ("1234567x", 7),
            ("x", 0),
            ("", 0),
        ] {
            let value = text[..end].parse().unwrap_or(0);
            assert_eq!(digits(text.as_bytes(), 0, 0), (value, end), "{text}");
        }
        // Each byte at each place, and as many digits before it.
        for byte in 0..=255 {
            for at in 0..8 {
                let mut bytes = *b"1234567890";
                bytes[at] = byte;
                let end = bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(10);
                let value = std::str::from_utf8(&bytes[..end]).unwrap().parse().unwrap_or(0);
                assert_eq!(digits(&bytes, 0, 0), (value, end), "{byte} at {at}");
            }
        }
    }
}
