package livebuf

import (
	"encoding/binary"
	"math/bits"
)

// Whether bytes are a valid document (FORMAT 9): one pass over all that the root leads to. Each block and each owned
// span claims its bytes. So nothing overlaps, there are no circles, and the work is bounded.

// Validate checks that the document is valid (FORMAT 9). In a valid document every answer is right, and it can be
// edited. It takes time by the document's length, and a quarter of its bytes as memory. Nobody may read the document
// meanwhile, since it is marked as valid afterwards.
//
// The error has the kind of the first problem that is met, and its offset.
func (d *Document) Validate() error {
	n := len(d.data)/8 + 8 // a bit for each byte, and room to read eight bytes of them at the end
	claims := make([]byte, 2*n)
	v := validator{m: d.data, doc: Document{data: d.data}, claimed: claims[:n], shared: claims[n:]}
	d.valid = v.document()
	return v.fault.err()
}

// validator checks one document. Its methods say whether all is right. If not, fault has the problem, and nothing more
// is looked at.
type validator struct {
	m       mem
	doc     Document
	claimed []byte     // a bit for each byte: it belongs to a block or an owned span
	shared  []byte     // a bit for each byte: it belongs to a span that may be shared
	texts   [64]uint64 // cells of shared texts that were found to be UTF-8 lately
	fault   fault
}

// is reports a problem at an offset, unless all is right there.
func (v *validator) is(good bool, kind ErrorKind, at uint64) bool {
	if !good {
		v.fault = fault{kind, uint32(at)}
	}
	return good
}

// ok passes on what another one found.
func (v *validator) ok(f fault) bool { return v.is(!f.bad(), f.kind, uint64(f.at)) }

// claim takes the bytes of a block.
func (v *validator) claim(at, size uint64) bool {
	return v.is(at&7 == 0, ErrMisaligned, at) && v.is(v.m.reaches(at, size), ErrOutOfBounds, at) &&
		v.take(at, size, false)
}

// take takes bytes of the document for one owner, or for all spans that share them. It looks at up to 64 at once.
func (v *validator) take(at, size uint64, shared bool) bool {
	for here := at; size > 0; {
		n := min(size, 64-here&7)
		mask := ^uint64(0) >> (64 - n) << (here & 7)
		c, s := v.claimed[here>>3:], v.shared[here>>3:]
		owned, lent := binary.LittleEndian.Uint64(c), binary.LittleEndian.Uint64(s)
		if shared {
			binary.LittleEndian.PutUint64(s, lent|mask)
			lent = 0
		} else {
			binary.LittleEndian.PutUint64(c, owned|mask)
		}
		if (owned|lent)&mask != 0 {
			return v.is(false, ErrOverlap, at)
		}
		here, size = here+n, size-n
	}
	return true
}

// zero checks that bytes up to an end are 0.
func (v *validator) zero(at, end uint64) bool {
	for ; at < end; at++ {
		for at+8 <= end && v.m.u64(at) == 0 {
			at += 8
		}
		if at < end && v.m.u8(at) != 0 {
			return v.is(false, ErrNotZero, at)
		}
	}
	return true
}

// zeroBits checks that the bits of a bitmap are 0 from a number on.
func (v *validator) zeroBits(bitmap, count, end uint64) bool {
	at := bitmap + count>>3
	return (count&7 == 0 || v.is(v.m.u8(at)>>(count&7) == 0, ErrNotZero, at)) && v.zero(bitmap+(count+7)>>3, end)
}

// within checks that a bitmap of so many bytes has no bit that another one lacks.
func (v *validator) within(bitmap, other, size uint64) bool {
	good := true
	for i := uint64(0); good && i < size; i += 8 {
		good = v.is(v.m.u64(bitmap+i)&^v.m.u64(other+i) == 0, ErrNotZero, bitmap+i)
	}
	return good
}

// unused checks the tags and cells behind the first ones of tagged cells.
func (v *validator) unused(base, count, capacity uint64) bool {
	tags, end := base+tagAt(count), base+cellsSize(capacity)
	if count&7 == 0 {
		return v.zero(tags, end)
	}
	return v.zero(tags, tags+8-count&7) && v.zero(base+cellAt(count), end)
}

// --- the document, its free space and its shapes

func (v *validator) document() bool {
	tag := v.m.u8(headerRootTag)
	return v.zero(headerRootTag+1, headerUsed) && v.claim(0, headerSize) && v.aux() && v.shapes() &&
		v.is(tag != tagNothing, ErrBadCode, headerRootTag) && v.value(tag, headerRoot, 0)
}

func (v *validator) aux() bool {
	m := v.m
	aux, flags := m.u32(headerAux), m.u16(headerReadOnly)
	stated := flags == flagState<<8
	if aux == 0 {
		return v.is(!stated, ErrBadCode, headerIgnore)
	}
	classes, place := uint64(m.u8(aux+1)), m.u32(aux+20)
	good := v.ok(m.need(aux, auxSize)) && v.is(m.u8(aux) == kindAux, ErrWrongBlock, aux) &&
		v.is(classes > 0 && classes <= 18 && classes&1 == 0, ErrBadCount, aux+1) &&
		v.claim(aux, auxSize+4*classes) && v.zero(aux+2, aux+4)
	if good && (flags == 0 || stated) { // flags that are not known may give these fields a meaning
		good = v.zero(aux+16, aux+20) && v.is(place != 0 || !stated, ErrBadCode, headerIgnore) &&
			(place == 0 || v.claim(place, stateSize))
	}
	var size, count uint64
	for i := uint64(0); good && i < classes; i++ {
		for block := m.u32(aux + auxSize + 4*i); good && block != 0; block = m.u32(block) {
			z := m.u32(block + 4)
			good = v.ok(m.need(block, 8)) && v.is(z >= 8 && z&7 == 0 && min(uint64(bits.Len64(z>>4)), classes-1) == i,
				ErrBadFreeList, block) && v.claim(block, z)
			size, count = size+z, count+1
		}
	}
	return good && v.is(m.u32(aux+4) == size && m.u32(aux+8) == count, ErrBadFreeList, aux+4)
}

func (v *validator) shapes() bool {
	m, good := v.m, true
	for at := m.u32(headerShapes); good && at != 0; at = m.u32(at + 4) {
		keys, count, f := m.shape(at)
		wide, capacity, known := m.u8(at) == kindWideShape, uint64(m.u8(at+1)), uint64(m.u8(at+2))
		if wide {
			capacity, known = count, count
		}
		good = v.ok(f) && v.is(capacity > 0 && wide == (count > maxFields) && known == count, ErrBadCount, at) &&
			v.claim(at, keys+8*capacity-at) && v.is(m.u8(at+3) <= 1, ErrBadCode, at+3)
		if !good {
			break
		}
		v.shared[at>>3] |= 1 // together with its claim: a shape begins here
		for i := uint64(0); good && i < count; i++ {
			x := m.u64(keys + 8*i)
			good = v.is(x&spanInline != 0 || x>>32 <= maxKey, ErrBadCell, keys+8*i) && v.span(tagText, keys+8*i)
		}
		good = good && v.zero(keys+8*count, keys+8*capacity)
		if wide {
			good = good && v.zero(at+1, at+3) && v.zero(at+12, at+16) && v.zero(at+16+2*count, keys) &&
				v.order(at, count, keys)
		} else {
			good = good && v.zero(at+8+count, keys) && v.fingerprints(at, count, keys)
		}
	}
	return good
}

// key is the text of a span that was checked.
func (v *validator) key(cell uint64) string {
	start, size, _ := v.m.span(cell)
	return textOf(v.m[start : start+size])
}

func (v *validator) fingerprints(at, count, keys uint64) bool {
	good := true
	for i := uint64(0); good && i < count; i++ {
		key := shapeKey(v.key(keys + 8*i))
		found, _ := v.m.findInShape(at, count, &key)
		good = v.is(v.m.u8(at+8+i) == key.fingerprint, ErrBadIndex, at+8+i) &&
			v.is(uint64(found) == i, ErrDuplicateKey, keys+8*i)
	}
	return good
}

// order checks the order of a wide shape's keys.
func (v *validator) order(at, count, keys uint64) bool {
	before, good := "", true
	for i := uint64(0); good && i < count; i++ {
		place := v.m.u16(at + 16 + 2*i)
		if good = v.is(place < count, ErrBadIndex, at+16+2*i); good {
			key := v.key(keys + 8*place)
			good = i == 0 || v.rises(before, key, keys+8*place)
			before = key
		}
	}
	return good
}

// rises checks that a key is behind the one before.
func (v *validator) rises(before, key string, at uint64) bool {
	return v.is(before != key, ErrDuplicateKey, at) && v.is(before < key, ErrBadIndex, at)
}

// useShape checks that the record or table at an offset may use so many keys of a shape.
func (v *validator) useShape(shape, count, at uint64) bool {
	m, wide, private := v.m, count > maxFields, v.m.u8(shape+3)&1 != 0
	good := v.is(shape&7 == 0 && m.reaches(shape, 8) && v.claimed[shape>>3]&v.shared[shape>>3]&1 != 0 &&
		wide == (m.u8(shape) == kindWideShape), ErrWrongBlock, at+4) &&
		v.is(wide && m.u32(shape+8) == count || !wide && uint64(m.u8(shape+2)) >= count, ErrBadCount, at) &&
		// The bit of the shape's second byte says that another one used it.
		v.is(!private || v.shared[shape>>3]&2 == 0, ErrBadCount, shape+3)
	if good {
		v.shared[shape>>3] |= 2
	}
	return good
}

// --- values

// value checks a value by its tag and its cell, which lies in a block, with so many containers around it.
func (v *validator) value(tag uint8, cell uint64, depth int) bool {
	x, good := v.m.u64(cell), true
	switch {
	case tag >= tagText && tag < tagObject:
		return v.span(tag, cell)
	case tag == tagObject, tag == tagArray:
		return v.is(x>>32 == 0, ErrBadCell, cell) && v.node(tag, x, depth)
	case tag >= tagUndefined:
		return v.is(false, ErrBadCode, cell)
	case tag > tagArray:
		return v.is(false, ErrUnsupportedFeature, cell)
	case tag <= tagTrue:
		good = x == 0
	case tag == tagUint:
		good = x>>63 == 1
	case tag > tagFloat:
		good = v.doc.immediate(tag, x, cell).form != formBroken
	}
	return v.is(good, ErrBadCell, cell)
}

// node checks the object or array of a home, with so many containers around it.
func (v *validator) node(tag uint8, home uint64, depth int) (good bool) {
	if !v.is(depth < maxNesting, ErrNestingLimit, home) {
		return false
	}
	if tag == tagObject {
		_, good = v.object(home, depth+1)
		return good
	}
	block, good := v.block(home)
	if good = good && v.is(v.m.u8(block) == kindArray, ErrWrongBlock, block) && v.claim(block, columnSize); good {
		_, good = v.column(block, around{depth: depth + 1, live: v.m.u32(block+4) > 0})
	}
	return good
}

// block is the block of a home. A forward is claimed.
func (v *validator) block(home uint64) (uint64, bool) {
	block, f := v.m.resolve(home)
	return block, v.ok(f) && (block == home || v.claim(home, 8) && v.zero(home+1, home+4))
}

// object checks an object, whose members have so many containers around them. It gives the object's block.
func (v *validator) object(home uint64, depth int) (block uint64, good bool) {
	if block, good = v.block(home); !good {
		return block, false
	}
	head := v.m.u64(block)
	if uint8(head) == kindMap {
		return block, v.objectMap(block, depth)
	}
	capacity, used, live, shape := head>>8&0xff, head>>16&0xff, head>>24&0xff, head>>32
	if good = v.is(uint8(head) == kindRecord, ErrWrongBlock, block) && v.claim(block, recordSize(capacity)) &&
		v.is(used <= capacity && (used == 0) == (shape == 0), ErrBadCount, block) &&
		(used == 0 || v.useShape(shape, used, block)) && v.unused(block+8, used, capacity); good {
		var values uint64
		values, good = v.cells(block+8, used, depth, true)
		good = good && v.is(values == live, ErrBadCount, block+3)
	}
	return block, good
}

// cells checks tagged cells, and counts those that have a value.
func (v *validator) cells(base, count uint64, depth int, mayMiss bool) (values uint64, good bool) {
	for good = true; good && count > 0; base += 72 {
		tags, n := v.m.u64(base), min(count, 8)
		for cell := base + 8; good && cell < base+8+8*n; cell += 8 {
			switch tag := uint8(tags); tag {
			case tagNothing:
				good = v.is(mayMiss, ErrBadCode, cell) && v.is(v.m.u64(cell) == 0, ErrNotZero, cell)
				values--
			case tagInt, tagFloat:
			default:
				good = v.value(tag, cell, depth)
			}
			values, tags = values+1, tags>>8
		}
		count -= n
	}
	return values, good
}

// span checks a span by its tag and its cell, and claims its bytes (FORMAT 3.3).
func (v *validator) span(tag uint8, cell uint64) (good bool) {
	x := v.m.u64(cell)
	start, size, known := x&0xffffffff, x>>32&maxSpan, false
	end := start + size
	switch {
	case x&spanInline != 0:
		start, size, known = cell, x>>56&0x7f, x<<8&highs == 0
		end = start + size
		good = v.is(size <= 7 && x<<8>>8>>(8*size) == 0, ErrBadCell, cell)
	case end > uint64(len(v.m)):
		return v.is(false, ErrOutOfBounds, cell)
	case size <= 7 || size > maxShared && x&spanOwned == 0:
		return v.is(false, ErrBadCell, cell)
	case x&spanOwned == 0:
		good = v.take(start, size, true)
		name := &v.texts[(start>>3^size)&63]
		if known = *name == x; !known && tag == tagText {
			*name = x
		}
	case start&7 == 0:
		good = v.take(start, word(size), false) && v.zero(end, word(end)) // these bytes belong to it, too
	default:
		good = v.take(start, size, false)
	}
	if !good {
		return false
	}
	switch tag {
	case tagText:
		good = v.is(known || isText(v.m[start:end]), ErrBadText, start)
	case tagNumberText:
		good = v.is(known || isText(v.m[start:end]), ErrBadText, start) &&
			v.is(isNumber(v.m[start:end]), ErrBadNumber, start)
	case tagUUID:
		good = v.is(size == 16, ErrBadCell, cell)
	case tagLargeDecimal:
		good = v.is(size == 17 && isLargeDecimal(v.m[start:]), ErrBadCell, cell)
	}
	return good
}

// --- columns

// around is what is around a column.
type around struct {
	parent uint64 // the table or list that it is in; 0 for none
	place  uint64 // which column of the table it is
	above  uint64 // the header of the column above, where what that one lacks is missing in this one; else 0
	level  int    // struct and list columns around it
	depth  int    // containers around its values
	live   bool   // whether it has slots below rows and arrays that are there
}

// column checks a column by its header, which is claimed, and all in it. It counts the column's dimensions if it is a
// tensor.
func (v *validator) column(h uint64, at around) (dimensions int, good bool) {
	m := v.m
	c, f := m.column(h)
	nested, inTable := isNested(c.code), at.parent != 0 && m.u8(at.parent) == kindTable
	without := c.capacity == 0 && !nested
	if c.tensor {
		dimensions = 1
	}
	good = v.ok(f) && v.is(c.gaps == 0 || c.code != codeCells, ErrBadCode, h+1) &&
		v.is(c.gaps <= 1 || inTable || at.above != 0, ErrBadCode, h+2) &&
		v.is(m.u8(h+3) <= 1, ErrNotZero, h+3) &&
		v.is(c.count <= c.capacity && c.count <= maxElements, ErrBadCount, h) &&
		v.is(without == (c.data == 0) && !(without && isDictionary(c.code)), ErrBadCount, h) &&
		v.is(c.gaps > 0 || c.code != codeNull && (!nested || c.capacity == c.count), ErrBadCount, h) &&
		v.is(c.tensor || c.code < codeF16, ErrBadCode, h+3) &&
		v.is(!c.tensor || !inTable && c.gaps == 0 && (c.code >= codeI8 && c.code <= codeF64 || c.code >= codeF16 ||
			c.code == codeFixedList), ErrBadCode, h+3)
	if !good || without {
		return dimensions, good
	}
	if !nested {
		return dimensions, v.leaf(&c, at.depth, inTable || at.above != 0) && v.missing(&c, at.above)
	}
	kind, size, owner := uint8(kindList), uint64(listOffsets), h
	if c.code == codeStruct {
		kind, size = kindTable, tableSize+columnSize*(m.u16(c.data+20)+uint64(m.u8(c.data+1)&1))
	} else if m.u8(c.data+1) == 0 {
		size += columnSize
	}
	if at.parent != 0 {
		owner = at.parent
	}
	c.bitmaps = m.u32(c.data + 8)
	good = v.is(at.level < maxColumnNesting || c.code == codeRun, ErrNestingLimit, h) &&
		v.ok(m.need(c.data, tableSize)) && v.is(m.u8(c.data) == kind, ErrWrongBlock, c.data) && v.claim(c.data, size) &&
		v.is(m.u32(c.data+12) == owner, ErrWrongBlock, c.data+12) &&
		v.is(m.u16(c.data+2) == at.place, ErrWrongBlock, c.data+2) &&
		v.is((c.bitmaps == 0) == (c.gaps == 0 || c.capacity == 0), ErrBadCount, c.data+8) &&
		(c.bitmaps == 0 || v.claim(c.bitmaps, bitmapsSize(c.gaps, c.capacity)) && v.bitmaps(&c))
	if c.gaps > 0 {
		at.live = false
		for i := uint64(0); good && i < c.count && !at.live; i += 8 {
			at.live = m.u8(c.bitmaps+i>>3) != 0
		}
	}
	good = good && v.is(!at.live || c.code == codeRun || at.depth < maxNesting, ErrNestingLimit, h)
	switch {
	case !good:
		return 0, false
	case c.code == codeStruct:
		return 0, v.table(&c, at)
	}
	return v.list(&c, at)
}

// leaf checks the data of a column that is no table and no list, and claims it.
func (v *validator) leaf(c *column, depth int, mayMiss bool) bool {
	m, width, tag := v.m, uint64(columnTypes[c.code].width), columnTypes[c.code].tag
	end := c.values + valuesSize(c.code, c.capacity)
	behind := c.values + word(width*c.capacity) // marks, or the header of a dictionary's texts
	good := v.claim(c.data, end-c.data) && v.bitmaps(c)
	if good && c.code == codeCells {
		_, good = v.cells(c.values, c.count, depth, mayMiss)
		return good && v.unused(c.values, c.count, c.capacity)
	}
	good = good && v.zero(c.values+width*c.count, behind)
	switch c.code {
	case codeNull:
		return good && v.zero(c.data, c.data+bitmapSize(c.capacity)) // no slot has a value
	case codeBool, codeMarkedF32, codeMarkedF64:
		good = good && v.zeroBits(behind, c.count, end) && (c.gaps == 0 || v.within(behind, c.bitmaps, end-behind))
	case codeDictionaryU8, codeDictionaryU16:
		good = good && v.dictionary(c, behind)
	case codeText, codeObjects, codeArrays:
		for i, slot := uint64(0), c.values; good && i < c.count; i, slot = i+1, slot+width {
			if c.gaps > 0 && !m.bit(c.bitmaps, i) {
				good = v.zero(slot, slot+width)
			} else if c.code == codeText {
				good = v.span(tagText, slot)
			} else {
				good = v.node(tag, m.u32(slot), depth)
			}
		}
		return good
	case codeDate, codeTime, codeDateTime, codeTimestamp, codeDecimal, codeBool8:
		for slot := c.values; good && slot < c.values+width*c.count; slot += width {
			x := m.u64(slot)
			if c.code == codeDate {
				x = uint64(int32(m.u32(slot)))
			}
			if good = v.doc.immediate(tag, x, slot).form != formBroken; c.code == codeBool8 {
				good = m.u8(slot) <= 1
			}
			v.is(good, ErrBadCell, slot)
		}
	}
	// Slots without a value are 0. They are looked at by runs of them.
	for i := uint64(0); good && c.gaps > 0 && i < c.count; {
		lacks := ^m.u64(c.bitmaps+i>>6<<3) >> (i & 63)
		if lacks == 0 {
			i = (i | 63) + 1
			continue
		}
		first := i + uint64(bits.TrailingZeros64(lacks))
		i = first + uint64(bits.TrailingZeros64(^(lacks >> (first - i))))
		good = v.zero(c.values+width*first, min(c.values+width*i, behind))
	}
	return good
}

// bitmaps checks the bitmaps of a column's gaps, which are claimed.
func (v *validator) bitmaps(c *column) bool {
	size := bitmapSize(c.capacity)
	nulls := c.bitmaps + size
	good := c.gaps == 0 || v.zeroBits(c.bitmaps, c.count, nulls) &&
		(c.gaps < 3 || v.zeroBits(nulls, c.count, nulls+size))
	for i := uint64(0); good && c.gaps == 3 && i < size; i += 8 {
		good = v.is(v.m.u64(c.bitmaps+i)&v.m.u64(nulls+i) == 0, ErrNotZero, nulls+i)
	}
	return good
}

// missing checks that a column's slots are missing where those of the column above have no value (FORMAT 6.2).
func (v *validator) missing(c *column, header uint64) bool {
	if header == 0 {
		return true
	}
	m, per, good := v.m, uint64(1), true
	above, _ := m.column(header)
	list := above.code == codeFixedList
	if list {
		per = m.u32(above.data + 4)
	} else if c.gaps > 1 {
		// The same by 64 slots: no slot has a value, or is null, where the row above has none.
		size := bitmapSize(c.count)
		good = v.within(c.bitmaps, above.bitmaps, size) &&
			(c.gaps == 2 || v.within(c.bitmaps+bitmapSize(c.capacity), above.bitmaps, size))
		return v.is(good, ErrBadCode, c.at+2)
	}
	for row, i := uint64(0), uint64(0); good && i < c.count; row++ {
		lacks := m.gap(&above, row) != hasValue
		if !lacks && !list {
			i++
			continue
		}
		// Elements of an array that is there are there, too.
		for end := min(i+per, c.count); good && i < end; i++ {
			tag, kind := m.gap(c, i), ErrBadCode
			if c.code == codeCells {
				if tag = m.u8(c.data + tagAt(i)); lacks {
					kind = ErrNotZero
				}
			}
			good = v.is((tag == tagNothing) == lacks, kind, c.at+2)
		}
	}
	return good
}

// dictionary checks the texts of a dictionary by their header, and that each code has a text.
func (v *validator) dictionary(c *column, header uint64) bool {
	m, width := v.m, uint64(columnTypes[c.code].width)
	count, capacity, data := m.u32(header+4), m.u32(header+8), m.u32(header+12)
	good := v.is(m.u8(header) == kindArray, ErrWrongBlock, header) &&
		v.is(m.u8(header+1) == codeText && m.u8(header+2) == 0, ErrBadCode, header) && v.zero(header+3, header+4) &&
		v.is(count > 0 && count <= min(capacity, 1<<(8*width)), ErrBadCount, header) &&
		v.claim(data, 8*capacity) && v.zero(data+8*count, data+8*capacity)
	for cell := data; good && cell < data+8*count; cell += 8 {
		good = v.is(m.u64(cell)>>62 != 1, ErrBadCell, cell) && v.span(tagText, cell)
	}
	most := uint64(0)
	for at, end := c.values, c.values+width*c.count; good && at < end; at += width {
		if width == 1 {
			most = max(most, uint64(m[at]))
		} else {
			most = max(most, m.u16(at))
		}
	}
	return good && v.is(most < count, ErrBadIndex, c.values)
}

// table checks the table of a struct column, which is claimed.
func (v *validator) table(c *column, at around) bool {
	m, table := v.m, c.data
	columns, ordered, extras := m.u16(table+20), uint64(m.u8(table+1)), m.u32(table+16)
	good := v.is(ordered <= 1, ErrBadCode, table+1) && v.zero(table+22, table+24) &&
		v.is(columns > 0, ErrBadCount, table) && v.missing(c, at.above) && v.useShape(m.u32(table+4), columns, table)
	child := around{parent: table, level: at.level + 1, depth: at.depth + 1, live: at.live}
	if c.gaps > 0 {
		child.above = c.at
	}
	for i := uint64(0); good && i < columns+ordered; i++ {
		h, orders := table+tableSize+columnSize*i, i == columns
		if good = v.is(m.u32(h+4) == c.count, ErrBadCount, h) &&
			v.is(!orders || isDictionary(m.u8(h+1)) && m.u8(h+2)&1 == 0, ErrBadCode, h); good {
			child.place = i
			_, good = v.column(h, child)
			good = good && (!orders || v.orders(h, columns))
		}
	}
	return good && (extras == 0 || v.extras(c, extras, child.depth))
}

// orders checks the orders that rows have their members in.
func (v *validator) orders(header, columns uint64) bool {
	c, _ := v.m.column(header)
	texts, good := c.values+word(uint64(columnTypes[c.code].width)*c.capacity), true
	data := v.m.u32(texts + 12)
	for cell := data; good && cell < data+8*v.m.u32(texts+4); cell += 8 {
		var named [4]uint64 // a bit for each place
		for _, place := range []byte(v.key(cell)) {
			bit := uint64(1) << (place & 63)
			good = good && uint64(place) < min(columns, 128) && named[place>>6]&bit == 0
			named[place>>6] |= bit
		}
		v.is(good, ErrBadIndex, cell)
	}
	return good
}

// extras checks the members that single rows of a struct column have beside the columns.
func (v *validator) extras(c *column, header uint64, depth int) bool {
	m, table, next := v.m, c.data, uint64(0)
	good := v.claim(header, columnSize) && v.zero(header+3, header+4) &&
		v.is(m.u8(header+1) == codeU64 && m.u8(header+2) == 0, ErrWrongBlock, header)
	if good {
		_, good = v.column(header, around{})
	}
	shape, columns, data := m.u32(table+4), m.u16(table+20), m.u32(header+12)
	for at := data; good && at < data+8*m.u32(header+4); at += 8 {
		home, row := m.u32(at), m.u32(at+4)
		if !v.is(row >= next && row < c.count && m.gap(c, row) == hasValue, ErrBadIndex, at) {
			return false
		}
		block, sound := v.object(home, depth)
		if !sound || !v.is(m.u8(block) != kindMap || m.u16(block+mapValues+1) == codeCells, ErrBadCode, block) {
			return false
		}
		next = row + 1
		for it := v.doc.object(home).members(); good && it.next(); {
			key := shapeKey(textOf(it.key))
			i, _ := m.findInShape(shape, columns, &key)
			good = v.is(i < 0, ErrDuplicateKey, header)
		}
	}
	return good
}

// list checks the list of a list column or of a run, which is claimed, and counts its dimensions as column does.
func (v *validator) list(c *column, at around) (dimensions int, good bool) {
	m, list, h := v.m, c.data, c.data+listElements
	form, length, tensor := m.u8(list+1), m.u32(list+4), m.u8(h+3)
	run, fixed, count := c.code == codeRun, form == 1, length*c.count
	good = v.is(form <= 1 && (run || fixed == (c.code == codeFixedList)), ErrBadCode, list+1) &&
		v.is(!fixed || length > 0, ErrBadCount, list+4) && v.is(fixed || length == 0, ErrNotZero, list+4)
	if good && !fixed {
		count, good = v.offsets(c)
	}
	good = good && v.is(m.u32(h+4) == count, ErrBadCount, h) && v.missing(c, at.above) &&
		v.is(tensor == 0 && !c.tensor || tensor == 1 && c.code == codeFixedList || tensor > 1, ErrBadCode, c.at+3)
	if !good {
		return 0, false
	}
	child := around{parent: list, level: at.level + 1, depth: at.depth + 1, live: count > 0 && (at.live || !fixed)}
	if fixed && !run && c.gaps > 0 && tensor == 0 {
		child.above = c.at
	}
	dimensions, good = v.column(h, child)
	good = good && (!run || v.run(list, c.count)) && (!fixed || tensor == 0 && !run || v.absent(c))
	if !c.tensor {
		return 0, good
	}
	return dimensions + 1, good && v.is(dimensions < maxDimensions, ErrNestingLimit, c.at)
}

// absent checks that elements of slots without a value are 0, in a run of fixed length or where a list has tensors.
func (v *validator) absent(c *column) bool {
	numbers, _ := v.m.column(c.data + listElements)
	for numbers.code == codeFixedList {
		numbers, _ = v.m.column(numbers.data + listElements)
	}
	good, all := true, numbers.count*uint64(columnTypes[numbers.code].width)
	for i := uint64(0); good && c.gaps > 0 && i < c.count; i++ {
		at := numbers.data + all/c.count*i
		good = v.m.gap(c, i) == hasValue || v.zero(at, at+all/c.count)
	}
	return good
}

// offsets checks the offsets of a list or run, and gives the last of them.
func (v *validator) offsets(c *column) (last uint64, good bool) {
	m, h := v.m, c.data+listOffsets
	code, data := m.u8(h+1), m.u32(h+12)
	if good = v.is(code >= codeU8 && code <= codeU32 && m.u8(h+2) == 0, ErrWrongBlock, h) && v.zero(h+3, h+4); good {
		_, good = v.column(h, around{})
	}
	good = good && v.is(m.u32(h+4) == c.count+1, ErrBadCount, h)
	for i, next := uint64(0), uint64(0); good && i <= c.count; i, last = i+1, next {
		switch code {
		case codeU8:
			next = uint64(m.u8(data + i))
		case codeU16:
			next = m.u16(data + 2*i)
		default:
			next = m.u32(data + 4*i)
		}
		// An array without a value has no elements.
		if next != last {
			good = v.is(i > 0 && next > last, ErrBadIndex, h) &&
				v.is(c.gaps == 0 || m.gap(c, i-1) == hasValue, ErrBadCount, h)
		}
	}
	return last, good
}

// run checks that the bytes of a run are UTF-8, and that each of its texts begins between two characters.
func (v *validator) run(list, rows uint64) bool {
	m, h := v.m, list+listElements
	count, data := m.u32(h+4), m.u32(h+12)
	good := v.is(m.u8(h+1) == codeU8 && m.u8(h+2) == 0, ErrBadCode, h) && v.is(count <= maxSpan, ErrBadCount, h) &&
		v.is(isText(m[data:data+count]), ErrBadText, data)
	for i := uint64(0); good && i < rows; i++ {
		first, _, _ := m.listRange(list, i)
		good = v.is(first >= count || m.u8(data+first)&0xc0 != 0x80, ErrBadText, data+first)
	}
	return good
}

// --- maps

func (v *validator) objectMap(at uint64, depth int) bool {
	m, h, live, found, before := v.m, at+mapValues, v.m.u32(at+4), uint64(0), ""
	if !v.claim(at, mapSize) {
		return false
	}
	o := objectMap{at, m.u32(at + 8), m.u32(at + 12), m.u32(at + 20), m.u32(h + 4), m.u32(at + 24)}
	capacity := m.u32(at + 16)
	good := v.zero(at+1, at+4) && v.zero(at+28, at+32) &&
		v.is(o.used <= capacity && (capacity == 0) == (o.keys == 0), ErrBadCount, at) &&
		v.is((o.block == 0) == (o.bucket == 0) && (live > 0 || o.root == 0), ErrBadCount, at) &&
		v.is(o.block != 0 || o.root != 0 || o.used <= maxUnindexed, ErrBadCount, at) &&
		(capacity == 0 || v.claim(o.keys, 8*capacity)) && v.zero(o.keys+8*o.used, o.keys+8*capacity)
	for i := uint64(0); good && i < o.used; i++ {
		if m.u64(o.keys+8*i) != 0 {
			good, found = v.span(tagText, o.keys+8*i), found+1
		}
	}
	good = good && v.is(found == live && (o.used == 0 || m.u64(o.keys+8*o.used-8) != 0), ErrBadCount, at)
	found = 0
	good = good && (o.root == 0 || v.tree(&o, o.root, -1, &before, &found) && v.is(found == live, ErrBadCount, at)) &&
		(o.block == 0 || v.hash(&o))
	for i := uint64(0); good && o.root == 0 && o.block == 0 && i < o.used; i++ {
		key := shapeKey(v.key(o.keys + 8*i))
		for other := uint64(0); good && other < i; other++ {
			good = v.is(!m.isKey(o.keys+8*other, &key) || m.u64(o.keys+8*i) == 0, ErrDuplicateKey, o.keys+8*i)
		}
	}
	if !good {
		return false
	}
	_, good = v.column(h, around{depth: depth, live: o.used > 0})
	values, _ := m.column(h)
	good = good && v.is(!values.tensor, ErrBadCode, h)
	for i := uint64(0); good && i < o.used; i++ {
		good = m.u64(o.keys+8*i) != 0 || v.is(v.doc.slot(&values, i).tag == tagNull, ErrBadCount, o.keys+8*i)
	}
	return good
}

// tree checks a node of a map's tree and those below it, which lie on the level below another one; above the root that
// is -1. It counts the entries that are found, of which before is the last key.
func (v *validator) tree(o *objectMap, node uint64, above int, before *string, found *uint64) bool {
	m := v.m
	level, count := int(m.u8(node)), uint64(m.u8(node+1))
	good := v.ok(m.need(node, treeNodeSize)) && v.is(count > 0 && count <= treeNodeItems, ErrBadIndex, node) &&
		v.is(level == above-1 || above < 0 && level <= maxTreeLevel && (level == 0 || count > 1), ErrBadIndex, node) &&
		v.zero(node+2, node+4) && v.zero(node+4+4*count, node+treeNodeSize) && v.claim(node, treeNodeSize)
	for i := uint64(0); good && i < count; i++ {
		item := m.u32(node + 4 + 4*i)
		if level > 0 {
			good = v.tree(o, item, level, before, found)
		} else if good = v.is(item < o.used && m.u64(o.keys+8*item) != 0, ErrBadIndex, node); good {
			key := v.key(o.keys + 8*item)
			good = *found == 0 || v.rises(*before, key, node)
			*before = key
			*found++
		}
	}
	return good
}

// hash checks a map's hash block (FORMAT 7.4).
func (v *validator) hash(o *objectMap) bool {
	m, size, places := v.m, bucketSize*o.bucket, 0
	first := (o.block + bucketSize - 1) &^ (bucketSize - 1)
	good := v.is(o.bucket <= maxBuckets, ErrBadCount, o.block) && v.claim(o.block, size+56) && v.zero(o.block, first) &&
		v.zero(first+size, o.block+size+56)
	for b := first; good && b < first+size; b += bucketSize {
		mark := m.u8(b + bucketPlaces)
		good = v.is(mark <= 31, ErrNotZero, b+bucketPlaces) && v.zero(b+bucketPlaces+1, b+16) &&
			v.is(uint64(mark&15) < o.bucket && (mark <= 15 || o.root != 0), ErrBadIndex, b)
		for i := uint64(0); good && i < bucketPlaces; i++ {
			if m.u8(b+i) != 0 {
				places++
			} else {
				good = v.is(m.u32(b+16+4*i) == 0, ErrNotZero, b)
			}
		}
	}
	for entry := uint64(0); good && entry < o.used; entry++ {
		if m.u64(o.keys+8*entry) == 0 {
			continue
		}
		key := shapeKey(v.key(o.keys + 8*entry))
		key.place, key.mark = hashKey(key.text)
		here := bucketOf(key.place, o.bucket)
		home, found := m.u8(first+bucketSize*here+bucketPlaces), false
		for k := uint64(0); good && !found && k < bucketPlaces*uint64(home&15+1); k++ {
			b, i := first+bucketSize*((here+k/bucketPlaces)%o.bucket), k%bucketPlaces
			if m.u8(b+i) == key.mark {
				other := m.u32(b + 16 + 4*i)
				found = other == entry
				// Of two entries with one key, one finds the other here. A tree shows them by itself.
				good = found || o.root != 0 || other >= o.used ||
					v.is(!m.isKey(o.keys+8*other, &key), ErrDuplicateKey, b)
			}
		}
		if found {
			places--
		}
		good = good && v.is(found || home > 15, ErrBadIndex, first+bucketSize*here)
	}
	// A place of no entry, or of one that has another.
	return good && v.is(places == 0, ErrBadIndex, o.block)
}
