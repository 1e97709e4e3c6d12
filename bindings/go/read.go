package livebuf

import (
	"bytes"
	"cmp"
	"iter"
	"math"
	"slices"
)

// Reading values where they lie (FORMAT 3 to 7).

// nothing is a value that is missing for the same reason as this one, if it is.
func (v Value) nothing() Value {
	if v.form == formBroken {
		return v
	}
	return Value{doc: v.doc}
}

func (d *Document) broken(f fault) Value {
	return Value{doc: d, place: place{at: f.at}, what: what{row: uint32(f.kind), form: formBroken}}
}

func (v Value) first() uint64 { return v.bits & 0xffffffff }
func (v Value) count() uint64 { return v.bits >> 32 }

// spanBytes is the bytes of a span, which were found to lie in the document.
func (v Value) spanBytes() []byte {
	m, start, end := v.doc.data, uint64(v.at), uint64(v.at)+v.bits
	if end > uint64(len(m)) || start > end {
		return nil // the document has been cut since
	}
	return m[start:end:end]
}

// uuid is the bytes of a UUID; zeros if the document has been cut since.
func (v Value) uuid() (u UUID) {
	copy(u[:], v.spanBytes())
	return u
}

// span is the value of a span of so many bytes.
func (d *Document) span(tag uint8, start, size uint64) Value {
	if tag == tagUUID && size != 16 || tag == tagLargeDecimal && (size != 17 || d.data.u8(start+16) > maxScale) {
		return d.broken(fault{ErrBadCell, uint32(start)})
	}
	return Value{d, place{at: uint32(start)}, size, what{tag: tag}}
}

// immediate is the value of an immediate tag.
func (d *Document) immediate(tag uint8, bits, at uint64) Value {
	x, good := int64(bits), true
	switch tag {
	case tagDate:
		good = x >= minDay && x <= maxDay
	case tagTime:
		good = x >= 0 && x < dayMicros
	case tagDateTime, tagTimestamp:
		good = x >= minDay*dayMicros && x < (maxDay+1)*dayMicros
	case tagDecimal:
		good = uint8(bits) <= maxScale
	}
	if !good {
		return d.broken(fault{ErrBadCell, uint32(at)})
	}
	return Value{d, place{}, bits, what{tag: tag}}
}

// cell is the value that a tag and the cell at an offset stand for.
func (d *Document) cell(tag uint8, at uint64) Value {
	m := d.data
	if !m.reaches(at, 8) {
		return d.broken(fault{ErrOutOfBounds, uint32(at)})
	}
	switch {
	case tag <= tagFloat:
		return Value{d, place{}, m.u64(at), what{tag: tag}}
	case tag < tagText:
		return d.immediate(tag, m.u64(at), at)
	case tag < tagObject:
		start, size, f := m.span(at)
		if f.bad() {
			return d.broken(f)
		}
		return d.span(tag, start, size)
	case tag == tagObject:
		return d.object(m.u32(at))
	case tag == tagArray:
		return d.array(m.u32(at))
	case tag < tagUndefined:
		return d.broken(fault{ErrUnsupportedFeature, uint32(at)})
	}
	return d.broken(fault{ErrBadCode, uint32(at)})
}

// resolve is the block of a node: its home, or where the forward there leads (FORMAT 3.5). It has at least 8 bytes.
func (m mem) resolve(home uint64) (block uint64, f fault) {
	if !m.has(home, 8) {
		return 0, m.need(home, 8)
	}
	if m.u8(home) != kindForward {
		return home, f
	}
	if block = m.u32(home + 4); !m.has(block, 8) {
		return 0, m.need(block, 8)
	}
	if m.u8(block) == kindForward {
		return 0, fault{ErrWrongBlock, uint32(home)}
	}
	return block, f
}

// object is the record or the map of a home.
func (d *Document) object(home uint64) Value {
	m := d.data
	block, f := m.resolve(home)
	if f.bad() {
		return d.broken(f)
	}
	head := m.u64(block)
	v := Value{d, place{uint32(block), uint32(home)}, head, what{tag: tagObject, form: formRecord}}
	switch uint8(head) {
	case kindRecord:
		capacity := head >> 8 & 0xff
		if head>>16&0xff > capacity {
			f = fault{ErrBadCount, uint32(block)}
		} else if size := recordSize(capacity); !m.has(block, size) {
			f = m.need(block, size)
		}
	case kindMap:
		v.form = formMap
		f = m.need(block, mapSize)
	default:
		f = fault{ErrWrongBlock, uint32(block)}
	}
	if f.bad() {
		return d.broken(f)
	}
	return v
}

// array is the array of a home.
func (d *Document) array(home uint64) Value {
	block, f := d.data.resolve(home)
	if f.bad() {
		return d.broken(f)
	}
	c, f := d.data.column(block)
	if f.bad() {
		return d.broken(f)
	}
	return Value{d, place{uint32(block), uint32(home)}, c.count << 32, what{notInList, tagArray, formArray}}
}

// row is a row of a table.
func (d *Document) row(table, row uint64) Value {
	t, f := d.data.table(table)
	if f.bad() {
		return d.broken(f)
	}
	return Value{d, place{uint32(table), uint32(table)}, t, what{uint32(row), tagObject, formRow}}
}

// table checks a table (FORMAT 6.3). The answer has the offset of its shape in the upper half; below it are the count of
// columns and, at bit 31, whether there are orders.
func (m mem) table(at uint64) (uint64, fault) {
	if !m.has(at, tableSize) {
		return 0, m.need(at, tableSize)
	}
	head, k := m.u64(at), m.u16(at+20)
	if uint8(head) != kindTable {
		return 0, fault{ErrWrongBlock, uint32(at)}
	}
	ordered := head >> 8 & 1
	if size := tableSize + columnSize*(k+ordered); !m.has(at, size) {
		return 0, m.need(at, size)
	}
	return head>>32<<32 | ordered<<31 | k, fault{}
}

// shape is the offset of the shape of a record or a row.
func (v Value) shape() uint64 { return v.bits >> 32 }

// fields is how many keys of its shape a record or a row uses.
func (v Value) fields() uint64 {
	if v.form == formRecord {
		return v.bits >> 16 & 0xff
	}
	return v.bits & 0xffff
}

// listRange is which elements the array `row` of a list has, or which bytes a text of a run (FORMAT 6.4).
func (m mem) listRange(list, row uint64) (first, end uint64, f fault) {
	if !m.has(list, 32) {
		return 0, 0, m.need(list, 32)
	}
	head := m.u64(list)
	if uint8(head) != kindList {
		return 0, 0, fault{ErrWrongBlock, uint32(list)}
	}
	if head>>8&1 == 1 {
		length := head >> 32
		first, end = row*length, row*length+length
	} else {
		if !m.has(list, 48) {
			return 0, 0, m.need(list, 48)
		}
		count, data, code := m.u32(list+36), m.u32(list+44), m.u8(list+33)
		if row+1 >= count {
			return 0, 0, fault{ErrBadCount, uint32(list)}
		}
		if code < codeU8 || code > codeU32 {
			return 0, 0, fault{ErrWrongBlock, uint32(list)}
		}
		width := uint64(columnTypes[code].width)
		if !m.reaches(data+width*row, 2*width) {
			return 0, 0, fault{ErrOutOfBounds, uint32(list)}
		}
		switch at := data + width*row; code {
		case codeU8:
			first, end = uint64(m.u8(at)), uint64(m.u8(at+1))
		case codeU16:
			first, end = m.u16(at), m.u16(at+2)
		default:
			first, end = m.u32(at), m.u32(at+4)
		}
		if first > end {
			return 0, 0, fault{ErrBadIndex, uint32(list)}
		}
	}
	if end > m.u32(list+listElements+4) {
		return 0, 0, fault{ErrBadCount, uint32(list)}
	}
	return first, end, f
}

// slice is an array in a list.
func (d *Document) slice(list, row uint64) Value {
	first, end, f := d.data.listRange(list, row)
	if !f.bad() {
		_, f = d.data.column(list + listElements)
	}
	if f.bad() {
		return d.broken(f)
	}
	return Value{d, place{uint32(list) + listElements, uint32(list)}, (end-first)<<32 | first,
		what{uint32(row), tagArray, formArray}}
}

// column is what the header of a column says (FORMAT 6.1).
type column struct {
	at       uint64
	count    uint64
	capacity uint64
	data     uint64
	bitmaps  uint64 // where they are, if there are gaps
	values   uint64 // where the values are, behind the bitmaps
	code     uint8
	gaps     uint8
	tensor   bool
}

// column reads and checks a header. Loops over the column's slots are bounded (FORMAT 11).
func (m mem) column(at uint64) (c column, f fault) {
	if !m.has(at, columnSize) {
		return c, m.need(at, columnSize)
	}
	head, tail := m.u64(at), m.u64(at+8)
	c = column{at: at, count: head >> 32, capacity: tail & 0xffffffff, data: tail >> 32,
		code: uint8(head >> 8), gaps: uint8(head >> 16), tensor: uint8(head>>24) == 1}
	c.bitmaps, c.values = c.data, c.data
	switch {
	case uint8(head) != kindArray:
		f = fault{ErrWrongBlock, uint32(at)}
	case c.code >= codeCount || c.gaps > 3:
		f = fault{ErrBadCode, uint32(at)}
	case c.count > 8*uint64(len(m)):
		f = fault{ErrBadCount, uint32(at)}
	case c.data&7 != 0:
		f = fault{ErrMisaligned, uint32(at)}
	case c.gaps != 0:
		if isNested(c.code) {
			c.bitmaps = m.u32(c.data + 8)
		} else {
			c.values += bitmapsSize(c.gaps, c.capacity)
		}
	}
	return c, f
}

const hasValue = 0xff

// gap is the tag of a slot without a value: null, or nothing where it is missing (FORMAT 6.2); else hasValue.
func (m mem) gap(c *column, slot uint64) uint8 {
	switch {
	case c.gaps == 0 || m.bit(c.bitmaps, slot):
		return hasValue
	case c.gaps == 1, c.gaps == 3 && m.bit(c.bitmaps+bitmapSize(c.capacity), slot):
		return tagNull
	}
	return tagNothing
}

// slot is the value of a slot of a column.
func (d *Document) slot(c *column, slot uint64) Value {
	m := d.data
	if slot >= c.count {
		return d.broken(fault{ErrBadCount, uint32(c.at)})
	}
	if c.code == codeCells {
		if !m.reaches(c.data, cellAt(slot)+8) {
			return d.broken(fault{ErrOutOfBounds, uint32(c.at)})
		}
		return d.cell(m.u8(c.data+tagAt(slot)), c.data+cellAt(slot))
	}
	if tag := m.gap(c, slot); tag != hasValue {
		return Value{doc: d, what: what{tag: tag}}
	}
	width := uint64(columnTypes[c.code].width)
	at := c.values + width*slot
	if !m.reaches(at, width) {
		return d.broken(fault{ErrOutOfBounds, uint32(c.at)})
	}
	tag, bits := columnTypes[c.code].tag, uint64(0)
	switch c.code {
	case codeI8:
		bits = uint64(int8(m.u8(at)))
	case codeI16:
		bits = uint64(int16(m.u16(at)))
	case codeI32:
		bits = uint64(int32(m.u32(at)))
	case codeU8:
		bits = uint64(m.u8(at))
	case codeU16:
		bits = m.u16(at)
	case codeU32:
		bits = m.u32(at)
	case codeI64, codeF64:
		bits = m.u64(at)
	case codeU64:
		if bits = m.u64(at); int64(bits) >= 0 {
			tag = tagInt
		}
	case codeF32:
		bits = math.Float64bits(float64(math.Float32frombits(uint32(m.u32(at)))))
	case codeNumbersF32, codeMarkedF32, codeNumbersF64, codeMarkedF64:
		tag, bits = m.number(c, slot, at)
	case codeF16:
		bits = math.Float64bits(half(uint16(m.u16(at))))
	case codeBool:
		if !m.bit(c.values, slot) {
			tag = tagFalse
		}
	case codeBool8:
		if m.u8(at) == 0 {
			tag = tagFalse
		}
	case codeText:
		return d.cell(tagText, at)
	case codeDictionaryU8, codeDictionaryU16:
		cell, f := m.dictionaryCell(c, slot)
		if f.bad() {
			return d.broken(f)
		}
		return d.cell(tagText, cell)
	case codeRun:
		start, end, f := m.listRange(c.data, slot)
		if first := m.u32(c.data + listElements + 12); !f.bad() && m.reaches(first, end) {
			return d.span(tagText, first+start, end-start)
		}
		return d.broken(fault{cmp.Or(f.kind, ErrOutOfBounds), uint32(c.data)})
	case codeObjects:
		return d.object(m.u32(at))
	case codeArrays:
		return d.array(m.u32(at))
	case codeStruct:
		return d.row(c.data, slot)
	case codeList, codeFixedList:
		return d.slice(c.data, slot)
	case codeDate:
		return d.immediate(tag, uint64(int32(m.u32(at))), at)
	case codeTime, codeDateTime, codeTimestamp, codeDecimal:
		return d.immediate(tag, m.u64(at), at)
	case codeUUID:
		return d.span(tag, at, 16)
	default:
		return d.broken(fault{ErrBadCode, uint32(c.at)})
	}
	return Value{d, place{}, bits, what{tag: tag}}
}

// number is the value of a slot of codes 19 to 22: an integer or a float (FORMAT 6.1).
func (m mem) number(c *column, slot, at uint64) (tag uint8, bits uint64) {
	var x, bound float64
	marks := c.values
	if c.code == codeNumbersF32 || c.code == codeMarkedF32 {
		x, bound = float64(math.Float32frombits(uint32(m.u32(at)))), 1<<24
		marks += word(4 * c.capacity)
	} else {
		x, bound = math.Float64frombits(m.u64(at)), 1<<53
		marks += 8 * c.capacity
	}
	whole := math.Abs(x) <= bound && x == math.Trunc(x) && (x != 0 || !math.Signbit(x))
	if !whole || c.code >= codeMarkedF32 && m.bit(marks, slot) {
		return tagFloat, math.Float64bits(x)
	}
	return tagInt, uint64(int64(x))
}

// half is a float of 16 bits.
func half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	x := math.Inf(1)
	switch {
	case exponent == 31 && fraction != 0:
		// The bits of a NaN are kept.
		return math.Float64frombits(uint64(bits>>15)<<63 | 0x7ff<<52 | uint64(bits&1023)<<42)
	case exponent == 0:
		x = math.Ldexp(fraction, -24)
	case exponent < 31:
		x = math.Ldexp(1024+fraction, exponent-25)
	}
	if bits>>15 == 1 {
		return -x
	}
	return x
}

// dictionary is the column of a dictionary's texts, behind the codes of all slots.
func (m mem) dictionary(c *column) (column, fault) {
	return m.column(c.values + word(uint64(columnTypes[c.code].width)*c.capacity))
}

// dictionaryCell is the cell of a slot's text.
func (m mem) dictionaryCell(c *column, slot uint64) (uint64, fault) {
	texts, f := m.dictionary(c)
	code := uint64(m.u8(c.values + slot))
	if c.code == codeDictionaryU16 {
		code = m.u16(c.values + 2*slot)
	}
	if !f.bad() && code >= texts.count {
		f = fault{ErrBadIndex, uint32(c.at)}
	}
	return texts.data + 8*code, f
}

// order is the places of the columns with which a row's members begin (FORMAT 6.3).
func (v Value) order() ([]byte, fault) {
	m, k := v.doc.data, v.fields()
	if v.bits>>31&1 == 0 {
		return nil, fault{}
	}
	c, f := m.column(uint64(v.at) + tableSize + columnSize*k)
	if !f.bad() && (!isDictionary(c.code) || uint64(v.row) >= c.count) {
		f = fault{ErrBadCode, uint32(c.at)}
	}
	if f.bad() || m.gap(&c, uint64(v.row)) != hasValue {
		return nil, f
	}
	cell, f := m.dictionaryCell(&c, uint64(v.row))
	if f.bad() {
		return nil, f
	}
	start, size, f := m.span(cell)
	if size > 128 {
		f = fault{ErrBadIndex, uint32(cell)}
	}
	if f.bad() {
		return nil, f
	}
	order := m[start : start+size]
	for _, place := range order {
		if uint64(place) >= k {
			return nil, fault{ErrBadIndex, uint32(cell)}
		}
	}
	return order, f
}

// extra is the object with a row's members beside the columns, missing where there is none (FORMAT 6.3).
func (v Value) extra() Value {
	m := v.doc.data
	header := m.u32(uint64(v.at) + 16)
	if header == 0 {
		return Value{doc: v.doc}
	}
	c, f := m.column(header)
	if !f.bad() && c.count > 0 {
		f = m.need(c.data, 8*c.count)
	}
	if f.bad() {
		return v.doc.broken(f)
	}
	for low, high := uint64(0), c.count; low < high; {
		middle := (low + high) / 2
		switch x := m.u64(c.data + 8*middle); {
		case x>>32 == uint64(v.row):
			return v.doc.object(x & 0xffffffff)
		case x>>32 < uint64(v.row):
			low = middle + 1
		default:
			high = middle
		}
	}
	return Value{doc: v.doc}
}

// member is the member of a key.
func (v Value) member(k *Key) Value {
	switch d := v.doc; v.form {
	case formRecord:
		if v.fields() == 0 {
			return Value{doc: d}
		}
		i, f := d.data.findInShape(v.shape(), v.fields(), k)
		if f.bad() {
			return d.broken(f)
		}
		if i < 0 {
			return Value{doc: d}
		}
		return v.field(uint64(i))
	case formRow:
		i, f := d.data.findInShape(v.shape(), v.fields(), k)
		if f.bad() {
			return d.broken(f)
		}
		if i >= 0 {
			return v.inColumn(uint64(i))
		}
		return v.extra().member(k)
	case formMap:
		o, f := d.data.objectMap(uint64(v.at))
		if f.bad() {
			return d.broken(f)
		}
		i, f := d.data.find(&o, k)
		if f.bad() {
			return d.broken(f)
		}
		if i >= 0 {
			return v.entry(uint64(i))
		}
		return Value{doc: d}
	}
	return v.nothing()
}

// field is field i of a record, missing where it is a hole.
func (v Value) field(i uint64) Value {
	at := uint64(v.at) + 8
	return v.doc.cell(v.doc.data.u8(at+tagAt(i)), at+cellAt(i))
}

// inColumn is the value of a row in column i.
func (v Value) inColumn(i uint64) Value {
	return v.inHeader(uint64(v.at)+tableSize+columnSize*i, uint64(v.row))
}

// entry is the value of entry i of a map.
func (v Value) entry(i uint64) Value { return v.inHeader(uint64(v.at)+mapValues, i) }

func (v Value) inHeader(header, slot uint64) Value {
	c, f := v.doc.data.column(header)
	if f.bad() {
		return v.doc.broken(f)
	}
	return v.doc.slot(&c, slot)
}

// members goes through the members of an object, in its order.
type members struct {
	object  Value
	key     []byte // of the member that next came to
	value   Value
	i       int // the next place; below 0 those of the order
	n       int
	keys    uint64
	order   []byte
	skipped int // places without a member
}

func (v Value) members() members {
	it := members{object: v}
	it.start()
	return it
}

func (it *members) start() {
	v := it.object
	var f fault
	it.i, it.n, it.order = 0, 0, nil
	switch v.form {
	case formRecord, formRow:
		if it.n = int(v.fields()); it.n == 0 {
			break
		}
		var count uint64
		if it.keys, count, f = v.doc.data.shape(v.shape()); !f.bad() && uint64(it.n) > count {
			f = fault{ErrBadCount, v.at}
		}
		if !f.bad() && v.form == formRow {
			it.order, f = v.order()
			it.i = -len(it.order)
		}
	case formMap:
		var o objectMap
		o, f = v.doc.data.objectMap(uint64(v.at))
		it.keys, it.n = o.keys, int(o.used)
		if f.bad() {
			it.n = 0
		}
	}
	if f.bad() {
		it.object = v.doc.broken(f)
	}
}

// next goes on to the next member; false behind the last.
func (it *members) next() bool {
	v := it.object
	for v.form != formBroken && it.i < it.n {
		i := it.i
		it.i++
		it.skipped++
		switch v.form {
		case formRecord:
			it.value = v.field(uint64(i))
		case formRow:
			if i < 0 {
				i = int(it.order[i+len(it.order)])
			} else if len(it.order) > 0 && i < 128 && bytes.IndexByte(it.order, byte(i)) >= 0 {
				continue
			}
			it.value = v.inColumn(uint64(i))
		default:
			if v.doc.data.u64(it.keys+8*uint64(i)) == 0 {
				continue // a hole
			}
			it.value = v.entry(uint64(i))
			if it.value.tag == tagNothing && it.value.form != formBroken {
				it.value = v.doc.broken(fault{ErrBadCode, v.at})
			}
		}
		if it.value.tag == tagNothing && it.value.form != formBroken {
			continue
		}
		it.skipped--
		start, size, f := v.doc.data.span(it.keys + 8*uint64(i))
		if f.bad() {
			it.object = v.doc.broken(f)
			break
		}
		it.key = v.doc.data[start : start+size]
		return true
	}
	switch v = it.object; v.form {
	case formBroken: // is the last member
		it.value, it.key, it.object, it.i, it.n = v, nil, Value{}, 0, 0
		return true
	case formRow:
		it.object = v.extra()
		it.start()
		return it.next()
	}
	return false
}

// ordered ranges over members in the order of their keys, from a key on while a condition holds.
func (v Value) ordered(from string, within func(key []byte) bool) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.form == formMap {
			m := v.doc.data
			o, f := m.objectMap(uint64(v.at))
			if !f.bad() && o.root != 0 {
				f = m.walkTree(&o, from, func(entry uint64) bool {
					start, size, f := m.span(o.keys + 8*entry)
					if f.bad() {
						yield("", v.doc.broken(f))
						return false
					}
					key := m[start : start+size]
					return within(key) && yield(string(key), v.entry(entry))
				})
				if f.bad() {
					yield("", v.doc.broken(f))
				}
				return
			}
		}
		type member struct {
			key   []byte
			value Value
		}
		var found []member
		for it := v.members(); it.next(); {
			if it.value.form == formBroken && it.key == nil || string(it.key) >= from && within(it.key) {
				found = append(found, member{it.key, it.value})
			}
		}
		slices.SortStableFunc(found, func(a, b member) int { return bytes.Compare(a.key, b.key) })
		for _, x := range found {
			if !yield(string(x.key), x.value) {
				return
			}
		}
	}
}
