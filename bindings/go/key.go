package livebuf

import "math/bits"

// Key is the key of a member, prepared for looking it up in many objects. It may be used by any number of goroutines.
type Key struct {
	text        string
	cell        uint64 // its span cell, if it is inline; else 0
	place       uint32 // by which its bucket is found
	mark        uint8  // its fingerprint in a bucket; 0 while place and mark are not known
	fingerprint uint8  // its fingerprint in shapes
}

// NewKey prepares a key.
func NewKey(text string) *Key {
	k := shapeKey(text)
	k.place, k.mark = hashKey(text)
	return &k
}

// String is the key's text.
func (k *Key) String() string { return k.text }

// shapeKey prepares a key for the search in shapes only.
func shapeKey(text string) Key {
	n := len(text)
	if n > 7 {
		x := text64(text) ^ bits.RotateLeft64(text64(text[n-8:]), 29) ^ uint64(n)
		return Key{text: text, fingerprint: fingerprint(x)}
	}
	cell := textStart(text) | uint64(0x80+n)<<56
	return Key{text: text, cell: cell, fingerprint: fingerprint(cell)}
}

// text64 is the first eight bytes of a text as a number.
func text64(s string) uint64 { return uint64(text32(s)) | uint64(text32(s[4:]))<<32 }

func text32(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// textStart is the bytes of a text of at most 7 as a number. The parts that it is made of overlap.
func textStart(s string) uint64 {
	switch n := len(s); {
	case n >= 4:
		return uint64(text32(s)) | uint64(text32(s[n-4:]))<<(8*(n-4))
	case n > 0:
		return uint64(s[0]) | uint64(s[n/2])<<(8*(n/2)) | uint64(s[n-1])<<(8*(n-1))
	}
	return 0
}

// fingerprint is the fingerprint of a key in a shape (FORMAT 4.2), by 64 bits of it.
func fingerprint(x uint64) uint8 { return uint8(x * 0x9e3779b97f4a7c15 >> 56) }

// hashKey is the hash of a key in a map: by its place the bucket is found, by its mark the key in it (FORMAT 7.4).
func hashKey(text string) (place uint32, mark uint8) {
	a, b := uint32(len(text)), uint32(0x9e3779b1)
	mix := func(x uint64) {
		v, w := a^uint32(x), b^uint32(x>>32)
		a, b = (v^w>>14)*0x85ebca6b, (w^v>>18)*0xc2b2ae35
	}
	for ; len(text) >= 8; text = text[8:] {
		mix(text64(text))
	}
	if len(text) > 0 {
		mix(textStart(text))
	}
	mix(0)
	place = a ^ b
	mix(0)
	return place, max(uint8(b>>24), 1)
}

// bucketOf is the bucket where a key is at home.
func bucketOf(place uint32, buckets uint64) uint64 { return uint64(place) * buckets >> 32 }

// isKey says whether a span cell is that of a key.
func (m mem) isKey(cell uint64, k *Key) bool {
	bits := m.u64(cell)
	if k.cell != 0 {
		return bits == k.cell
	}
	start, size := bits&0xffffffff, bits>>32
	return size&^(1<<30) == uint64(len(k.text)) && m.reaches(start, uint64(len(k.text))) &&
		string(m[start:start+uint64(len(k.text))]) == k.text
}

// compare is the order of the text in a span cell and another one, by their bytes.
func (m mem) compare(cell uint64, text string) (int, fault) {
	start, size, f := m.span(cell)
	if f.bad() {
		return 0, f
	}
	// The compiler makes no string of these bytes for a comparison, but would for a call.
	switch b := m[start : start+size]; {
	case string(b) == text:
		return 0, f
	case string(b) < text:
		return -1, f
	}
	return 1, f
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// shape is where the keys of a shape begin, and how many it has (FORMAT 4).
func (m mem) shape(at uint64) (keys, count uint64, f fault) {
	if !m.has(at, 16) {
		return 0, 0, m.need(at, 16)
	}
	head := m.u64(at)
	size := uint64(0)
	switch uint8(head) {
	case kindShape:
		capacity := head >> 8 & 0xff
		count = min(head>>16&0xff, capacity)
		keys, size = at+word(8+capacity), shapeSize(capacity)
	case kindWideShape:
		if count = m.u32(at + 8); count > maxColumns {
			return 0, 0, fault{ErrBadCount, uint32(at)}
		}
		keys, size = at+word(16+2*count), wideShapeSize(count)
	default:
		return 0, 0, fault{ErrWrongBlock, uint32(at)}
	}
	return keys, count, m.need(at, size)
}

// findInShape is the place of a key among the first n of a shape, or -1.
func (m mem) findInShape(at, n uint64, k *Key) (int, fault) {
	head := m.u64(at)
	capacity := head >> 8 & 0xff
	if uint8(head) != kindShape || !m.has(at, shapeSize(capacity)) {
		return m.findInWideShape(at, n, k)
	}
	keys := at + word(8+capacity)
	n = min(n, head>>16&0xff, capacity)
	for i := uint64(0); i < n; i += 8 {
		// Bytes that are equal become 0, and of a byte that is 0 the highest bit is set. Others may be, too.
		x := m.u64(at+8+i) ^ uint64(k.fingerprint)*ones
		for t := (x - ones) &^ x & highs; t != 0; t &= t - 1 {
			place := i + uint64(bits.TrailingZeros64(t))>>3
			if place < n && m.isKey(keys+8*place, k) {
				return int(place), fault{}
			}
		}
	}
	return -1, fault{}
}

// findInWideShape is findInShape for a wide shape, or one that is damaged.
func (m mem) findInWideShape(at, n uint64, k *Key) (int, fault) {
	keys, count, f := m.shape(at)
	if f.bad() {
		return -1, f
	}
	for low, high := uint64(0), count; low < high; {
		middle := (low + high) / 2
		place := m.u16(at + 16 + 2*middle)
		if place >= count {
			return -1, fault{ErrBadIndex, uint32(at)}
		}
		order, f := m.compare(keys+8*place, k.text)
		switch {
		case f.bad():
			return -1, f
		case order < 0:
			low = middle + 1
		case order > 0:
			high = middle
		case place < n:
			return int(place), f
		default:
			return -1, f
		}
	}
	return -1, fault{}
}

// objectMap is what the header of a map says (FORMAT 7.1).
type objectMap struct {
	at            uint64
	block, bucket uint64 // the hash block and the count of its buckets
	keys, used    uint64 // where the keys are, and how many entries are in use
	root          uint64 // the tree's root
}

// objectMap reads a map's header. All its keys lie in the document.
func (m mem) objectMap(at uint64) (o objectMap, f fault) {
	if f = m.need(at, mapSize); f.bad() {
		return o, f
	}
	o = objectMap{at, m.u32(at + 8), m.u32(at + 12), m.u32(at + 20), m.u32(at + mapValues + 4), m.u32(at + 24)}
	if o.used > m.u32(at+16) || o.bucket > maxBuckets {
		return o, fault{ErrBadCount, uint32(at)}
	}
	if o.used > 0 {
		f = m.need(o.keys, 8*o.used)
	}
	return o, f
}

// find is the entry of a map that has a key, or -1.
func (m mem) find(o *objectMap, k *Key) (int, fault) {
	if o.used == 0 {
		return -1, fault{}
	}
	if o.block != 0 {
		place, mark := k.place, k.mark
		if mark == 0 {
			place, mark = hashKey(k.text)
		}
		if size := bucketSize*o.bucket + 56; o.bucket == 0 || !m.has(o.block, size) {
			return -1, fault{ErrBadCount, uint32(o.at)}
		}
		buckets := (o.block + 63) &^ 63
		here := bucketOf(place, o.bucket)
		home := m.u8(buckets + bucketSize*here + bucketPlaces)
		for reach := int(home & 15); reach >= 0; reach-- {
			b := buckets + bucketSize*here
			for i := uint64(0); i < bucketPlaces; i += 8 {
				x := m.u64(b+i) ^ uint64(mark)*ones
				for t := (x - ones) &^ x & highs; t != 0; t &= t - 1 {
					j := i + uint64(bits.TrailingZeros64(t))>>3
					if j >= bucketPlaces {
						break
					}
					if entry := m.u32(b + 16 + 4*j); entry >= o.used {
						return -1, fault{ErrBadIndex, uint32(b)}
					} else if m.isKey(o.keys+8*entry, k) {
						return int(entry), fault{}
					}
				}
			}
			if here++; here == o.bucket {
				here = 0
			}
		}
		if home&16 == 0 {
			return -1, fault{}
		}
	}
	if o.root != 0 {
		entry := -1
		f := m.walkTree(o, k.text, func(i uint64) bool {
			if m.isKey(o.keys+8*i, k) {
				entry = int(i)
			}
			return false
		})
		return entry, f
	}
	for i := range min(o.used, maxUnindexed) {
		if m.isKey(o.keys+8*i, k) {
			return int(i), fault{}
		}
	}
	return -1, fault{}
}

// walkTree calls each for the entries of a map's tree in the order of their keys, from the first one that is not before
// a key on, until it returns false (FORMAT 7.2 and 7.3).
func (m mem) walkTree(o *objectMap, from string, each func(entry uint64) bool) fault {
	left := o.used // a valid tree has no more entries
	_, f := m.walkNode(o, o.root, maxTreeLevel, from, &left, each)
	return f
}

func (m mem) walkNode(o *objectMap, node uint64, level int, from string, left *uint64, each func(uint64) bool) (
	bool, fault) {
	if f := m.need(node, treeNodeSize); f.bad() {
		return false, f
	}
	here, count := int(m.u8(node)), uint64(m.u8(node+1))
	if here > level || count == 0 || count > treeNodeItems {
		return false, fault{ErrBadIndex, uint32(node)}
	}
	// The first item whose first key is not before the wanted one.
	low, high := uint64(0), count
	for from != "" && low < high {
		middle := (low + high) / 2
		entry, f := m.firstEntry(o, node, middle)
		if f.bad() {
			return false, f
		}
		order, f := m.compare(o.keys+8*entry, from)
		if f.bad() {
			return false, f
		}
		if order < 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if here > 0 && low > 0 {
		low-- // keys below the item before may still be behind the wanted one
	}
	for i := low; i < count; i++ {
		item := m.u32(node + 4 + 4*i)
		if here > 0 {
			if more, f := m.walkNode(o, item, here-1, from, left, each); !more {
				return false, f
			}
			from = ""
			continue
		}
		if item >= o.used || *left == 0 {
			return false, fault{ErrBadIndex, uint32(node)}
		}
		if *left--; !each(item) {
			return false, fault{}
		}
	}
	return true, fault{}
}

// firstEntry is the first entry below an item of a node.
func (m mem) firstEntry(o *objectMap, node, i uint64) (uint64, fault) {
	for range maxTreeLevel + 2 {
		if f := m.need(node, treeNodeSize); f.bad() {
			return 0, f
		}
		item := m.u32(node + 4 + 4*i)
		if m.u8(node) == 0 {
			if item >= o.used {
				break
			}
			return item, fault{}
		}
		node, i = item, 0
	}
	return 0, fault{ErrBadIndex, uint32(node)}
}
