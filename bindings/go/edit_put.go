package livebuf

import "math"

// Values come into cells and into the slots of columns, which are converted where they have to be (EDITING 6 and 9).

const mostMoved = 65_536 // bytes of a run that are moved; where it would be more, it becomes a column of text

// settle writes what a value's cell does not hold yet; then its cell is ready.
func (e *Editor) settle(node *fresh) {
	switch {
	case node.parts != nil:
		handle := node.handle
		if node.tag == tagArray {
			node.bits = e.storeArray(node)
		} else {
			node.bits = e.storeObject(node.parts)
		}
		if handle != nil {
			e.keep(handle, node.bits, notInList)
		}
	case node.bytes != nil:
		at := e.alloc(uint64(len(node.bytes)))
		copy(e.mem[at:], node.bytes)
		node.bits = at | uint64(len(node.bytes))<<32 | spanOwned
	}
	node.parts, node.bytes = nil, nil
}

// putCell puts a value in place of another that has a tag and a cell.
func (e *Editor) putCell(tag, cell uint64, node *fresh) {
	e.replace(e.u8(tag), cell, node)
	e.set8(tag, node.tag)
}

func (e *Editor) replace(old uint8, cell uint64, node *fresh) {
	bits := e.u64(cell)
	if old >= tagText {
		if node.bytes != nil && node.parts == nil && old < tagObject && bits>>62 == 1 && bits&7 == 0 {
			at, room, size := bits&0xffffffff, word(bits>>32&maxSpan), word(uint64(len(node.bytes)))
			if size <= room && 2*size >= room {
				// A text goes over the old one.
				n := uint64(copy(e.mem[at:], node.bytes))
				e.zero(at+n, size-n)
				e.set64(cell, at|n<<32|spanOwned)
				e.free(at+size, room-size)
				return
			}
		}
		e.freeCell(old, bits)
	}
	e.settle(node)
	e.set64(cell, node.bits)
}

// storeArray writes a new array; its home.
func (e *Editor) storeArray(node *fresh) uint64 {
	home := e.alloc(columnSize)
	e.set8(home, kindArray)
	if node.tensor != nil {
		e.storeTensor(home, home, node.parts, 0, 1)
	} else {
		e.fill(home, node.items)
	}
	return home
}

// storeTensor writes a dimension of a tensor and those below it. There are so many arrays of it.
func (e *Editor) storeTensor(at, owner uint64, p *parts, dimension int, arrays uint64) {
	t := p.tensor
	n := arrays * t.lengths[dimension]
	last := dimension == len(t.lengths)-1
	code := t.code
	if !last {
		code = codeFixedList
	}
	e.set32(at, kindArray|uint64(code)<<8|1<<24)
	e.set32(at+4, n)
	e.set32(at+8, n)
	if last {
		data := e.alloc(uint64(len(t.data)))
		copy(e.mem[data:], t.data)
		e.set32(at+12, data)
		return
	}
	list := e.alloc(listOffsets)
	e.set32(list, kindList|1<<8)
	e.set32(list+4, t.lengths[dimension+1])
	e.set32(list+12, owner)
	e.set32(at+12, list)
	for _, x := range p.inner {
		if x.dimension == dimension+1 {
			e.keep(x.handle, list, uint32(x.row))
		}
	}
	e.storeTensor(list+listElements, list, p, dimension+1, n)
}

// fill gives an array without elements a column of these values.
func (e *Editor) fill(at uint64, items []fresh) {
	n := uint64(len(items))
	if n == 0 {
		return
	}
	code, gaps, found := uint8(codeNull), uint8(0), false
	for i := range items {
		if items[i].tag == tagNull {
			gaps = 1
			continue
		}
		next := codeOf(items[i].tag)
		if found && code != next {
			next = joined(code, next, items)
		}
		code, found = next, true
	}
	if code == codeCells {
		gaps = 0
	}
	data := e.alloc(dataSize(code, gaps, n))
	e.set32(at, kindArray|uint64(code)<<8|uint64(gaps)<<16)
	e.set32(at+4, n)
	e.set32(at+8, n)
	e.set32(at+12, data)
	for i := range items {
		e.putPlain(at, uint64(i), &items[i])
	}
}

// firstCodes is the columns of first elements, by their tags. Other values are in cells.
var firstCodes = [tagUndefined]uint8{
	tagNull: codeNull, tagFalse: codeBool, tagTrue: codeBool, tagInt: codeI64, tagUint: codeU64, tagFloat: codeF64,
	tagDecimal: codeDecimal, tagTimestamp: codeTimestamp, tagDate: codeDate, tagTime: codeTime,
	tagDateTime: codeDateTime, tagText: codeText, tagUUID: codeUUID, tagObject: codeObjects, tagArray: codeArrays,
}

func codeOf(tag uint8) uint8 { return firstCodes[tag] }

func joined(a, b uint8, items []fresh) uint8 {
	numbers := func(code uint8) bool { return code == codeI64 || code == codeF64 || code == codeMarkedF64 }
	if !numbers(a) || !numbers(b) {
		return codeCells
	}
	for i := range items {
		if items[i].tag == tagInt && !isSafe(&items[i]) {
			return codeCells
		}
	}
	return codeMarkedF64
}

// isSafe says whether an integer has at most the magnitude up to which floats hold all of them.
func isSafe(node *fresh) bool { return int64(node.bits) <= 1<<53 && int64(node.bits) >= -1<<53 }

// codeFor is the code that a column must have to hold a value: the one that it has, if it does.
func (e *Editor) codeFor(c *column, node *fresh) uint8 {
	code := c.code
	isInteger := code >= codeI8 && code <= codeU64
	switch {
	case code == codeCells:
		return code
	case code == codeNull:
		return codeOf(node.tag)
	case node.tag == tagText && (code == codeRun || isDictionary(code)), node.tag == tagObject && code == codeStruct:
		return code
	case node.tag == tagArray && (code == codeList || code == codeFixedList):
		// What has a home is not taken apart, and a tensor stays one.
		if node.parts == nil || node.tensor != nil || e.u8(c.data+listElements+3) == 1 {
			return codeArrays
		}
		n := uint64(len(node.items))
		if code == codeFixedList && n != e.u32(c.data+4) || n+e.u32(c.data+listElements+4) > maxElements {
			return codeArrays
		}
		return code
	case node.tag == tagUint && code >= codeU8 && code <= codeU64:
		return codeU64
	case node.tag == tagInt && isInteger:
		x, width := int64(node.bits), 8*uint(columnTypes[code].width)
		switch {
		case code == codeI64:
			return code
		case code == codeU64:
			if x < 0 {
				return codeCells
			}
			return code
		case code >= codeU8 && uint64(x)>>width != 0, code < codeU8 && x>>(width-1) != x>>63:
			return codeI64
		}
		return code
	case node.tag == tagInt:
		switch {
		case !isSafe(node):
			return codeCells
		case code == codeNumbersF64 || code == codeMarkedF64:
			return code
		case (code == codeNumbersF32 || code == codeMarkedF32) && math.Abs(node.float()) <= 1<<24:
			return code
		case columnTypes[code].tag == tagFloat:
			return codeMarkedF64
		}
		return codeCells
	case node.tag == tagFloat && isInteger:
		for i := uint64(0); i < c.count && columnTypes[code].width == 8; i++ {
			x := e.u64(c.values + 8*i)
			if code == codeI64 && !isSafe(&fresh{bits: x}) || code == codeU64 && x > 1<<53 {
				return codeCells
			}
		}
		return codeMarkedF64
	case node.tag == tagFloat:
		x, narrow := node.float(), isSingle(node.bits)
		switch {
		case code == codeF64 || code == codeMarkedF64,
			narrow && (code == codeF32 || code == codeMarkedF32 || code == codeNumbersF32 && !isWhole(x, 1<<24)),
			code == codeNumbersF64 && !isWhole(x, 1<<53):
			return code
		case code == codeF32:
			return codeF64
		case columnTypes[code].tag == tagFloat:
			return codeMarkedF64
		}
		return codeCells
	}
	if codeOf(node.tag) == code {
		return code
	}
	return codeCells
}

// fitsTensor says whether a tensor's slot takes a value (EDITING 11), and makes numbers what it stores.
func (e *Editor) fitsTensor(at uint64, node *fresh) bool {
	c := e.col(at)
	switch c.code {
	case codeFixedList:
		n, fits := e.u32(c.data+4), node.tag == tagArray && node.parts != nil
		if fits && node.tensor != nil {
			return node.tensor.lengths[0] == n && node.tensor.code == e.u8(c.data+listElements+1)
		}
		fits = fits && uint64(len(node.items)) == n
		for i := 0; fits && i < len(node.items); i++ {
			fits = e.fitsTensor(c.data+listElements, &node.items[i])
		}
		return fits
	case codeBool8:
		return node.tag == tagTrue || node.tag == tagFalse
	case codeF16, codeF32, codeF64:
		bound, narrow := int64(1<<53), func(x float64) float64 { return x }
		switch c.code {
		case codeF16:
			bound, narrow = 1<<11, func(x float64) float64 { return half(toHalf(x)) }
		case codeF32:
			bound, narrow = 1<<24, func(x float64) float64 { return float64(float32(x)) }
		}
		if i := int64(node.bits); node.tag == tagInt && i <= bound && i >= -bound {
			*node = floatNode(node.float())
		}
		x := node.float()
		return node.tag == tagFloat && (!math.IsInf(narrow(x), 0) || math.IsInf(x, 0))
	}
	return (node.tag == tagInt || node.tag == tagUint) && e.codeFor(&c, node) == c.code
}

// toHalf is the bits of the float of 16 bits that is nearest, of two the even one.
func toHalf(x float64) uint16 {
	size, sign := math.Abs(x), uint16(math.Float64bits(x)>>48&0x8000)
	switch {
	case x != x:
		return sign | 0x7e00
	case size >= 65520:
		return sign | 0x7c00
	case size == 0:
		return sign
	}
	_, exponent := math.Frexp(size)
	exponent = max(exponent-1, -14)
	// Where it is rounded up to the next power, the carry goes into the exponent.
	return sign | (uint16(math.RoundToEven(math.Ldexp(size, 10-exponent))) + uint16(exponent+14)*1024)
}

// put sets a slot of a column to a value, or null, or makes it missing. One that is empty has nothing to free.
func (e *Editor) put(at, slot uint64, node *fresh, empty bool) {
	if node.tag <= tagNull {
		// An empty slot, too: it has a value if the column was converted since it was opened.
		e.clear(at, slot, 1)
		e.absent(at, slot, 1, node.tag)
		return
	}
	c := e.col(at)
	if c.tensor && c.code == codeFixedList {
		e.endRows(c.data, slot, 1)
		if node.tensor != nil {
			numbers, data := e.col(c.data+listElements), node.tensor.data
			copy(e.mem[numbers.values+slot*uint64(len(data)):], data)
			return
		}
		for i := range node.items {
			e.put(c.data+listElements, slot*uint64(len(node.items))+uint64(i), &node.items[i], false)
		}
		return
	}
	if !c.tensor {
		if code := e.codeFor(&c, node); code != c.code {
			e.clear(at, slot, 1)
			e.convert(at, code, slot)
			c = e.col(at)
		}
	}
	switch c.code {
	case codeStruct:
		e.putRow(at, slot, node, empty)
	case codeList, codeFixedList:
		e.putList(at, slot, node, empty)
	case codeRun:
		e.putRun(at, slot, node)
	case codeDictionaryU8, codeDictionaryU16:
		e.putText(at, slot, node)
	default:
		e.putPlain(at, slot, node)
	}
}

// putPlain writes a value that a column without parts holds as it is; what was there is freed. Null is for slots that
// are empty.
func (e *Editor) putPlain(at, slot uint64, node *fresh) {
	c := e.col(at)
	switch {
	case c.code == codeCells:
		e.putCell(c.data+tagAt(slot), c.data+cellAt(slot), node)
		return
	case node.tag <= tagNull:
		e.absent(at, slot, 1, node.tag)
		return
	case c.code == codeText:
		e.replace(tagText, c.values+8*slot, node)
	case c.code == codeObjects || c.code == codeArrays:
		if old := e.u32(c.values + 4*slot); old != 0 {
			e.freeCell(columnTypes[c.code].tag, old)
		}
		e.settle(node)
		e.set32(c.values+4*slot, node.bits)
	default:
		e.putNumber(&c, slot, node)
	}
	e.setValue(&c, slot)
}

// setValue says that a slot has a value.
func (e *Editor) setValue(c *column, slot uint64) {
	if c.gaps != 0 {
		e.setBit(c.bitmaps, slot, true)
		if c.gaps == 3 {
			e.setBit(c.bitmaps+bitmapSize(c.capacity), slot, false)
		}
	}
}

// putNumber writes a value of a fixed width.
func (e *Editor) putNumber(c *column, slot uint64, node *fresh) {
	width := uint64(columnTypes[c.code].width)
	at, bits := c.values+width*slot, node.bits
	switch c.code {
	case codeBool:
		e.setBit(c.values, slot, node.tag == tagTrue)
		return
	case codeBool8:
		bits = 0
		if node.tag == tagTrue {
			bits = 1
		}
	case codeUUID:
		if node.bytes != nil {
			copy(e.mem[at:], node.bytes)
		} else {
			e.copy(at, bits&0xffffffff, 16)
			e.freeSpan(bits)
		}
		return
	case codeF16:
		bits = uint64(toHalf(node.float()))
	case codeF32, codeNumbersF32, codeMarkedF32:
		bits = uint64(math.Float32bits(float32(node.float())))
	case codeF64, codeNumbersF64, codeMarkedF64:
		bits = math.Float64bits(node.float())
	}
	if isMarked(c.code) {
		x := node.float()
		e.setBit(c.values+word(width*c.capacity), slot, node.tag == tagFloat && x == math.Trunc(x))
	}
	e.setWidth(at, width, bits)
}

// putRow gives a row of a table the members of an object, and no others.
func (e *Editor) putRow(at, row uint64, node *fresh, empty bool) {
	c := e.col(at)
	if !empty {
		e.clear(at, row, 1)
	}
	e.setValue(&c, row)
	k, shape := e.u16(c.data+20), e.u32(c.data+4)
	fields := make([]fresh, k)
	rest := &parts{}
	for i := range node.keys {
		place, f := e.findInShape(shape, k, &node.keys[i])
		if f.bad() {
			panic(f)
		}
		if place >= 0 {
			fields[place] = node.items[i]
		} else {
			rest.keys, rest.items = append(rest.keys, node.keys[i]), append(rest.items, node.items[i])
		}
	}
	for j := range fields {
		e.put(header(c.data, uint64(j)), row, &fields[j], true)
	}
	if e.u8(c.data+1) == 1 {
		e.absent(header(c.data, k), row, 1, tagNothing)
	}
	if len(rest.keys) > 0 {
		e.addExtra(c.data, row, e.storeObject(rest))
	}
}

// putList puts an array's elements among those of the others in a list.
func (e *Editor) putList(at, slot uint64, node *fresh, empty bool) {
	c := e.col(at)
	if !empty {
		e.clear(at, slot, 1)
	}
	e.setValue(&c, slot)
	n, elements := uint64(len(node.items)), c.data+listElements
	if c.code == codeFixedList {
		for i := range node.items {
			e.put(elements, slot*n+uint64(i), &node.items[i], true)
		}
		return
	}
	e.insertSlots(elements, e.offset(c.data, slot), node.items)
	e.addOffsets(c.data, slot+1, int64(n))
}

// insertSlots puts new slots with values among those of a column.
func (e *Editor) insertSlots(at, i uint64, items []fresh) {
	c := e.col(at)
	n := uint64(len(items))
	if isNested(c.code) && !c.tensor {
		// One by one, since columns below may be converted while a slot has no value. Many come to the end first.
		behind := i < c.count && n > 4
		slot := i
		if behind {
			slot = c.count
		}
		for j := range items {
			e.openSlots(at, slot+uint64(j), 1)
			e.put(at, slot+uint64(j), &items[j], true)
		}
		if behind {
			order := make([]uint32, 0, c.count+n)
			add := func(from, to uint64) {
				for ; from < to; from++ {
					order = append(order, uint32(from))
				}
			}
			add(0, i)
			add(c.count, c.count+n)
			add(i, c.count)
			e.arrange(at, order)
		}
		return
	}
	// The column is converted while all its slots have their values.
	for stable := c.tensor; !stable; {
		stable = true
		for j := range items {
			if c := e.col(at); items[j].tag > tagNull {
				if code := e.codeFor(&c, &items[j]); code != c.code {
					e.convert(at, code, none)
					stable = false
				}
			}
		}
	}
	e.openSlots(at, i, n)
	for j := range items {
		e.put(at, i+uint64(j), &items[j], true)
	}
}

// textBytes is the bytes of a text that is not written yet.
func textBytes(node *fresh) []byte {
	if node.bytes != nil {
		return node.bytes
	}
	b := make([]byte, node.bits>>56&7)
	for i := range b {
		b[i] = byte(node.bits >> (8 * i))
	}
	return b
}

// putRun puts a text into a run.
func (e *Editor) putRun(at, slot uint64, node *fresh) {
	c := e.col(at)
	elements := c.data + listElements
	text := textBytes(node)
	n := uint64(len(text))
	start, end, all := e.offset(c.data, slot), e.offset(c.data, slot+1), e.u32(elements+4)
	if n != end-start {
		if e.isFixed(c.data) || all-end+4*(c.count-slot) > mostMoved || all+n > maxSpan {
			e.clear(at, slot, 1)
			e.convert(at, codeText, slot)
			e.putPlain(at, slot, node)
			return
		}
		if end > start {
			e.clear(at, slot, 1)
		}
		e.openSlots(elements, start, n)
		e.addOffsets(c.data, slot+1, int64(n))
	}
	copy(e.mem[e.u32(elements+12)+start:], text)
	e.setValue(&c, slot)
}

// putText puts a text into a dictionary.
func (e *Editor) putText(at, slot uint64, node *fresh) {
	c := e.col(at)
	texts, _ := e.dictionary(&c)
	text := textBytes(node)
	code, n := -1, texts.count
	if len(text) <= maxShared {
		code = e.findText(&texts, at, text)
	}
	if code < 0 {
		if len(text) > maxShared || n >= 1<<16 || n >= c.count && n >= 8 {
			e.convert(at, codeText, slot)
			e.putPlain(at, slot, node)
			return
		}
		e.openSlots(texts.at, n, 1)
		e.settle(node)
		if node.bits&spanInline == 0 {
			node.bits &^= spanOwned
		}
		e.set64(e.u32(texts.at+12)+8*n, node.bits)
		code = int(n)
		if n == 256 && c.code == codeDictionaryU8 {
			e.relayout(at, codeDictionaryU16, c.gaps, c.capacity)
			c = e.col(at)
		}
	}
	e.putNumber(&c, slot, &fresh{bits: uint64(code)})
	e.setValue(&c, slot)
}

// hint says where the texts of a large dictionary are, by their hashes. A text that it misses comes into the dictionary
// once more, which is allowed (FORMAT 6.1).
type hint struct {
	known uint64 // texts that are in it
	codes map[uint32]uint32
}

// findText is the code of a text in a dictionary, or -1.
func (e *Editor) findText(texts *column, at uint64, text []byte) int {
	k := shapeKey(string(text))
	if texts.count <= 64 {
		for i := range texts.count {
			if e.isKey(texts.data+8*i, &k) {
				return int(i)
			}
		}
		return -1
	}
	known := e.hints[at]
	if known == nil || known.known > texts.count {
		known = &hint{codes: map[uint32]uint32{}}
		if e.hints == nil {
			e.hints = map[uint64]*hint{}
		}
		e.hints[at] = known
	}
	for ; known.known < texts.count; known.known++ {
		place, _ := hashKey(e.textAt(texts.data + 8*known.known))
		known.codes[place] = uint32(known.known)
	}
	place, _ := hashKey(k.text)
	if code, ok := known.codes[place]; ok && uint64(code) < texts.count && e.isKey(texts.data+8*uint64(code), &k) {
		return int(code)
	}
	return -1
}
