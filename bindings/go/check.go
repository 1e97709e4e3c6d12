package livebuf

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// What the bytes of single values must be.

// isLargeDecimal says whether 17 bytes are a decimal that no smaller form holds (FORMAT 3.6).
func isLargeDecimal(b mem) bool {
	low, high := b.u64(0), b.u64(8)
	if x := int64(low); high == uint64(x>>63) && x<<8>>8 == x {
		return false
	}
	if int64(high) < 0 {
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, borrow)
	}
	// 10³⁸, by its halves.
	_, less := bits.Sub64(low, 0x098a224000000000, 0)
	_, less = bits.Sub64(high, 0x4b3b4ca85a86c47a, less)
	return less == 1 && b.u8(16) <= maxScale
}

// isText says whether bytes are UTF-8.
func isText(b []byte) bool {
	all := b
	for len(b) >= 8 {
		x := binary.LittleEndian.Uint64(b)
		if x&highs == 0 {
			b = b[8:]
			continue
		}
		if x&0xc0c0f0c0c0f0 == 0x8080e08080e0 && isWide(x) && isWide(x>>24) {
			b = b[6:] // two characters of three bytes
			continue
		}
		n := bits.TrailingZeros64(x&highs) >> 3
		b = b[n:]
		switch x >>= 8 * n; {
		case n > 4: // not all of the character is here
		case x&0xc0c0f0 == 0x8080e0 && isWide(x):
			b = b[3:]
		case x&0xc0e0 == 0x80c0 && x&0x1e != 0:
			b = b[2:]
		case x&0xc0c0c0f8 == 0x808080f0 && x&0x3007 != 0 && (x&7 < 4 || x&0x3007 == 4):
			b = b[4:]
		default:
			return false
		}
	}
	n := len(all)
	return n >= 8 && binary.LittleEndian.Uint64(all[n-8:])&highs == 0 || utf8.Valid(b)
}

// isWide says of the bits of a character of three bytes that it is neither one of fewer bytes nor a surrogate.
func isWide(x uint64) bool { return x&0x200f != 0 && x&0x200f != 0x200d }
