//! Eight bytes of text, looked at as one word.

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
