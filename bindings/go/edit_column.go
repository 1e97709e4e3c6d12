package livebuf

import "slices"

// Columns that are edited (FORMAT 6): slots are opened, closed and put in order, in every kind of column.

// col reads the header of a column of a valid document, also while an edit changes it.
func (e *Editor) col(at uint64) column {
	head, tail := e.u64(at), e.u64(at+8)
	c := column{at: at, count: head >> 32, capacity: tail & 0xffffffff, data: tail >> 32,
		code: uint8(head >> 8), gaps: uint8(head >> 16), tensor: uint8(head>>24) == 1}
	if uint8(head) != kindArray || c.code >= codeCount {
		panic(fault{ErrWrongBlock, uint32(at)})
	}
	c.bitmaps, c.values = c.data, c.data
	if c.gaps != 0 && isNested(c.code) {
		c.bitmaps = e.u32(c.data + 8)
	} else {
		c.values += bitmapsSize(c.gaps, c.capacity)
	}
	return c
}

func isMarked(code uint8) bool { return code == codeMarkedF32 || code == codeMarkedF64 }

// isFixed says whether the arrays of a list or the texts of a run are equally long, so that it has no offsets.
func (e *Editor) isFixed(list uint64) bool { return e.u8(list+1) == 1 }

// headers is how many columns a table has, the orders among them.
func (e *Editor) headers(table uint64) uint64 { return e.u16(table+20) + uint64(e.u8(table+1)) }

func header(table, place uint64) uint64 { return table + tableSize + columnSize*place }

// dataSize is the size of a column's data block, of a nested one that of its bitmaps.
func dataSize(code, gaps uint8, capacity uint64) uint64 {
	size := bitmapsSize(gaps, capacity)
	if !isNested(code) && capacity > 0 {
		size += valuesSize(code, capacity)
	}
	return size
}

// plane is a part of a column's data: so many bits for each slot, or cellBits where they are tagged cells.
type plane struct{ bits, start uint64 }

const cellBits = 72

// planes is all parts of a column's data. First come those of the bitmaps.
func planes(c *column) (all [4]plane, n int) {
	if c.capacity == 0 {
		return all, 0
	}
	if c.code == codeCells {
		all[0] = plane{cellBits, c.data}
		return all, 1
	}
	add := func(bits, start uint64) {
		all[n] = plane{bits, start}
		n++
	}
	if c.gaps != 0 {
		add(1, c.bitmaps)
		if c.gaps == 3 {
			add(1, c.bitmaps+bitmapSize(c.capacity))
		}
	}
	if width := uint64(columnTypes[c.code].width); width > 0 {
		add(8*width, c.values)
		if isMarked(c.code) {
			add(1, c.values+word(width*c.capacity))
		}
	} else if c.code == codeBool {
		add(1, c.values)
	}
	return all, n
}

// copyPart copies the parts of n slots from i on to those from j on, within a plane or to another of as many bits.
func (e *Editor) copyPart(bits, from, i, to, j, n uint64) {
	switch {
	case n == 0:
	case bits == 1 && (i|j) == 0:
		e.copy(to, from, n/8)
		for k := n &^ 7; k < n; k++ {
			e.setBit(to, k, e.bit(from, k))
		}
	case bits == 1 || bits == cellBits:
		for k := range n {
			a, b := i+k, j+k
			if j > i {
				a, b = i+n-1-k, j+n-1-k
			}
			if bits == 1 {
				e.setBit(to, b, e.bit(from, a))
			} else {
				e.set8(to+tagAt(b), e.u8(from+tagAt(a)))
				e.set64(to+cellAt(b), e.u64(from+cellAt(a)))
			}
		}
	default:
		e.copy(to+bits/8*j, from+bits/8*i, bits/8*n)
	}
}

func (e *Editor) zeroPart(p plane, i, n uint64) {
	switch p.bits {
	case 1:
		for k := i; k < i+n; k++ {
			e.setBit(p.start, k, false)
		}
	case cellBits:
		for k := i; k < i+n; k++ {
			e.set8(p.start+tagAt(k), 0)
			e.set64(p.start+cellAt(k), 0)
		}
	default:
		e.zero(p.start+p.bits/8*i, p.bits/8*n)
	}
}

// relayout gives a column another capacity, more gaps, or codes of a dictionary two bytes instead of one.
func (e *Editor) relayout(at uint64, code, gaps uint8, capacity uint64) {
	c := e.col(at)
	from, _ := planes(&c)
	block := e.alloc(dataSize(code, gaps, capacity))
	e.set8(at+1, code)
	e.set8(at+2, gaps)
	e.set32(at+8, capacity)
	old := c.data
	if isNested(code) {
		old = e.u32(c.data + 8)
		e.set32(c.data+8, block)
	} else {
		e.set32(at+12, block)
	}
	d := e.col(at)
	to, n := planes(&d)
	bitmaps := func(gaps uint8) int { return int(bitmapsSize(gaps, 1) / 8) }
	if c.capacity > 0 {
		for i, j := bitmaps(c.gaps), bitmaps(gaps); j < n; i, j = i+1, j+1 {
			if code == c.code {
				e.copyPart(to[j].bits, from[i].start, 0, to[j].start, 0, c.count)
				continue
			}
			for k := range c.count {
				e.set8(to[j].start+2*k, e.u8(from[i].start+k))
			}
		}
	}
	if gaps != 0 && n > 0 {
		for i := range c.count {
			tag := e.gap(&c, i)
			e.setBit(to[0].start, i, tag == hasValue)
			if gaps == 3 {
				e.setBit(to[1].start, i, tag == tagNull)
			}
		}
	}
	if isDictionary(code) {
		width := func(code uint8) uint64 { return uint64(columnTypes[code].width) }
		e.copy(d.values+word(width(code)*capacity), c.values+word(width(c.code)*c.capacity), columnSize)
	}
	e.free(old, dataSize(c.code, c.gaps, c.capacity))
}

// makeRoom makes room for n slots.
func (e *Editor) makeRoom(at, n uint64) {
	c := e.col(at)
	if n <= c.capacity || isNested(c.code) && c.gaps == 0 {
		return
	}
	if size := dataSize(c.code, c.gaps, c.capacity); c.gaps == 0 && c.capacity > 0 && !isMarked(c.code) &&
		!isDictionary(c.code) && c.data+size == uint64(len(e.mem)) {
		// The data ends the document, and grows in place.
		more := n + n/16
		e.resize(c.data + dataSize(c.code, 0, more))
		e.set32(at+8, more)
		return
	}
	e.relayout(at, c.code, c.gaps, word(max(n, c.count+c.count/2)))
}

// openSlots opens n slots without a value, and leaves them for put.
func (e *Editor) openSlots(at, i, n uint64) {
	if n == 0 {
		return
	}
	e.makeRoom(at, e.u32(at+4)+n)
	c := e.col(at)
	e.set32(at+4, c.count+n)
	if i < c.count {
		all, k := planes(&c)
		for _, p := range all[:k] {
			e.copyPart(p.bits, p.start, i, p.start, i+n, c.count-i)
			e.zeroPart(p, i, n)
		}
	}
	if !isNested(c.code) {
		return
	}
	if c.gaps == 0 {
		e.set32(at+8, c.count+n)
	}
	if i < c.count {
		e.moveRows(c.data, func(row uint64) int64 {
			if row >= i {
				row += n
			}
			return int64(row)
		})
	}
	switch {
	case c.code == codeStruct:
		for j := range e.headers(c.data) {
			e.openSlots(header(c.data, j), i, n)
		}
		e.shiftExtras(c.data, i, int64(n))
	case e.isFixed(c.data):
		l := e.u32(c.data + 4)
		e.openSlots(c.data+listElements, i*l, n*l)
	default:
		value := e.offset(c.data, i)
		e.openSlots(c.data+listOffsets, i, n)
		for j := range n {
			e.setOffset(c.data, i+j, value)
		}
	}
}

// offset is where the elements of array i of a list begin.
func (e *Editor) offset(list, i uint64) uint64 {
	if e.isFixed(list) {
		return i * e.u32(list+4)
	}
	switch data := e.u32(list + listOffsets + 12); e.u8(list + listOffsets + 1) {
	case codeU8:
		return uint64(e.u8(data + i))
	case codeU16:
		return e.u16(data + 2*i)
	default:
		return e.u32(data + 4*i)
	}
}

func (e *Editor) setOffset(list, i, value uint64) {
	width := uint64(columnTypes[e.u8(list+listOffsets+1)].width)
	e.setWidth(e.u32(list+listOffsets+12)+width*i, width, value)
}

// addOffsets adds to the offsets of a list from number i on.
func (e *Editor) addOffsets(list, i uint64, more int64) {
	n := e.u32(list + listOffsets + 4)
	most := uint64(int64(e.offset(list, n-1)) + more)
	if code := e.u8(list + listOffsets + 1); code == codeU8 && most > 0xff || code == codeU16 && most > 0xffff {
		wider := uint8(codeU16)
		if most > 0xffff {
			wider = codeU32
		}
		e.convert(list+listOffsets, wider, none)
	}
	for ; i < n; i++ {
		e.setOffset(list, i, uint64(int64(e.offset(list, i))+more))
	}
}

// clear frees the values of n slots: they are as if they had just been opened.
func (e *Editor) clear(at, i, n uint64) {
	if n == 0 {
		return
	}
	c := e.col(at)
	switch c.code {
	case codeCells:
		for j := i; j < i+n; j++ {
			e.freeCell(e.u8(c.data+tagAt(j)), e.u64(c.data+cellAt(j)))
		}
	case codeText:
		for j := i; j < i+n; j++ {
			e.freeSpan(e.u64(c.values + 8*j))
		}
	case codeObjects, codeArrays:
		for j := i; j < i+n; j++ {
			if home := e.u32(c.values + 4*j); home != 0 {
				e.freeCell(columnTypes[c.code].tag, home)
			}
		}
	case codeStruct:
		for j := range e.headers(c.data) {
			e.clear(header(c.data, j), i, n)
		}
		e.dropExtras(c.data, i, n, false)
		e.endRows(c.data, i, n)
	case codeList, codeFixedList, codeRun:
		e.endRows(c.data, i, n)
		first, end := e.offset(c.data, i), e.offset(c.data, i+n)
		if e.isFixed(c.data) {
			e.clear(c.data+listElements, first, end-first)
			break
		}
		e.closeSlots(c.data+listElements, first, end-first)
		if end > first {
			for j := i + 1; j < i+n; j++ {
				e.setOffset(c.data, j, first)
			}
			e.addOffsets(c.data, i+n, int64(first)-int64(end))
		}
	}
	all, k := planes(&c)
	for _, p := range all[:k] {
		e.zeroPart(p, i, n)
	}
}

// shut removes n slots that have no values any more.
func (e *Editor) shut(at, i, n uint64) {
	if n == 0 {
		return
	}
	c := e.col(at)
	end, left := i+n, c.count-n
	all, k := planes(&c)
	for _, p := range all[:k] {
		e.copyPart(p.bits, p.start, end, p.start, i, c.count-end)
		e.zeroPart(p, left, n)
	}
	e.set32(at+4, left)
	if isNested(c.code) && c.gaps == 0 {
		e.set32(at+8, left)
	} else if c.capacity >= max(64, 4*left) {
		e.relayout(at, c.code, c.gaps, word(max(8, 2*left))) // most of the room is given back
	}
	switch {
	case !isNested(c.code):
		return
	case c.code == codeStruct:
		for j := range e.headers(c.data) {
			e.shut(header(c.data, j), i, n)
		}
		e.shiftExtras(c.data, end, -int64(n))
	case e.isFixed(c.data):
		l := e.u32(c.data + 4)
		e.shut(c.data+listElements, i*l, n*l)
	default:
		e.shut(c.data+listOffsets, i, n)
	}
	if end < c.count {
		e.moveRows(c.data, func(row uint64) int64 {
			if row >= end {
				row -= n
			}
			return int64(row)
		})
	}
}

// closeSlots removes n slots and their values.
func (e *Editor) closeSlots(at, i, n uint64) {
	e.clear(at, i, n)
	e.shut(at, i, n)
}

// absent makes slots that were cleared null or missing, and all below them missing (FORMAT 6.2).
func (e *Editor) absent(at, i, n uint64, tag uint8) {
	if n == 0 {
		return
	}
	c := e.col(at)
	if c.code == codeCells {
		for j := i; j < i+n; j++ {
			e.set8(c.data+tagAt(j), tag)
		}
		return
	}
	gaps := c.gaps | 2
	if tag == tagNull {
		gaps = c.gaps | 1
	}
	if gaps != c.gaps {
		e.relayout(at, c.code, gaps, max(c.capacity, c.count))
		c = e.col(at)
	}
	for j := i; j < i+n; j++ {
		e.setBit(c.bitmaps, j, false)
		if gaps == 3 {
			e.setBit(c.bitmaps+bitmapSize(c.capacity), j, tag == tagNull)
		}
	}
	if c.code == codeStruct {
		for j := range e.headers(c.data) {
			e.absent(header(c.data, j), i, n, tagNothing)
		}
	} else if c.code == codeFixedList && e.u8(c.data+listElements+3) == 0 {
		l := e.u32(c.data + 4)
		e.absent(c.data+listElements, i*l, n*l, tagNothing)
	}
}

// freeCell frees the value of a cell.
func (e *Editor) freeCell(tag uint8, bits uint64) {
	switch {
	case tag < tagText:
	case tag < tagObject:
		e.freeSpan(bits)
	case tag == tagObject:
		e.freeObject(bits)
	default:
		block, _ := e.resolve(bits)
		e.clear(block, 0, e.u32(block+4))
		e.freeStorage(block)
		e.freeNode(bits, block, columnSize)
	}
}

// freeStorage frees all that a column takes but its header. Its values were freed, or are elsewhere.
func (e *Editor) freeStorage(at uint64) {
	c := e.col(at)
	if !isNested(c.code) {
		if isDictionary(c.code) {
			e.freeStorage(c.values + word(uint64(columnTypes[c.code].width)*c.capacity))
		}
		e.free(c.data, dataSize(c.code, c.gaps, c.capacity))
		delete(e.hints, at)
		return
	}
	e.free(e.u32(c.data+8), bitmapsSize(c.gaps, c.capacity))
	e.endHandles(c.data)
	if c.code != codeStruct {
		e.freeStorage(c.data + listElements)
		size := uint64(listOffsets)
		if !e.isFixed(c.data) {
			e.freeStorage(c.data + listOffsets)
			size += columnSize
		}
		e.free(c.data, size)
		return
	}
	k := e.headers(c.data)
	for j := range k {
		e.freeStorage(header(c.data, j))
	}
	e.dropExtras(c.data, 0, c.count, true)
	if extras := e.u32(c.data + 16); extras != 0 {
		e.freeStorage(extras)
		e.free(extras, columnSize)
	}
	shape := e.u32(c.data + 4)
	e.free(c.data, tableSize+columnSize*k)
	e.freeShape(shape)
}

const none = ^uint64(0)

// convert gives a column another code that can hold all its values. Slot but is left without one.
func (e *Editor) convert(at uint64, code uint8, but uint64) {
	c := e.col(at)
	gaps, capacity := c.gaps, c.capacity
	if code == codeCells {
		gaps = 0
	}
	if isNested(c.code) {
		capacity = c.count
	}
	// The new column is made behind a header of its own, which then takes the old one's place.
	made := e.alloc(columnSize)
	e.set32(made, kindArray|uint64(code)<<8|uint64(gaps)<<16)
	e.set32(made+4, c.count)
	e.set32(made+8, capacity)
	e.set32(made+12, e.alloc(dataSize(code, gaps, capacity)))
	for i := range c.count {
		if i != but {
			node := e.lift(&c, i)
			e.putPlain(made, i, &node)
		}
	}
	e.freeStorage(at)
	e.copy(at, made, columnSize)
	e.free(made, columnSize)
}

// arrange puts the slots of a column in another order: slot i gets the value of slot order[i]. Slots that are left out
// have no value any more.
func (e *Editor) arrange(at uint64, order []uint32) {
	c := e.col(at)
	n := uint64(len(order))
	all, k := planes(&c)
	for _, p := range all[:k] {
		size := word(p.bits / 8 * c.count)
		switch p.bits {
		case 1:
			size = bitmapSize(c.count)
		case cellBits:
			size = cellsSize(c.count)
		}
		// The parts are put in order beside the document, where copyPart can reach them.
		copied := slices.Clone(e.mem[p.start : p.start+size])
		e.zeroPart(p, 0, c.count)
		for i, from := range order {
			e.movePart(p, copied, uint64(from), uint64(i))
		}
	}
	e.set32(at+4, n)
	if !isNested(c.code) {
		return
	}
	if c.gaps == 0 {
		e.set32(at+8, n)
	}
	places := make([]uint32, c.count)
	for i := range places {
		places[i] = notInList
	}
	for i, from := range order {
		places[from] = uint32(i)
	}
	e.moveRows(c.data, func(row uint64) int64 {
		if row >= c.count || places[row] == notInList {
			return -1
		}
		return int64(places[row])
	})
	if c.code == codeStruct {
		for j := range e.headers(c.data) {
			e.arrange(header(c.data, j), order)
		}
		e.arrangeExtras(c.data, places)
		return
	}
	var inner []uint32
	offsets := make([]uint64, 1, n+1)
	for _, from := range order {
		for j, end := e.offset(c.data, uint64(from)), e.offset(c.data, uint64(from)+1); j < end; j++ {
			inner = append(inner, uint32(j))
		}
		offsets = append(offsets, uint64(len(inner)))
	}
	e.arrange(c.data+listElements, inner)
	if !e.isFixed(c.data) {
		e.shut(c.data+listOffsets, n+1, c.count-n)
		for i, x := range offsets {
			e.setOffset(c.data, uint64(i), x)
		}
	}
}

// movePart writes the part of slot i, as slot from has it in a copy of the plane.
func (e *Editor) movePart(p plane, copied mem, from, i uint64) {
	switch p.bits {
	case 1:
		e.setBit(p.start, i, copied.bit(0, from))
	case cellBits:
		e.set8(p.start+tagAt(i), copied.u8(tagAt(from)))
		e.set64(p.start+cellAt(i), copied.u64(cellAt(from)))
	default:
		w := p.bits / 8
		copy(e.mem[p.start+w*i:][:w], copied[w*from:])
	}
}

// owner is the header of the column that a table or a list is the data of.
func (e *Editor) owner(data uint64) uint64 {
	at := e.u32(data + 12)
	switch e.u8(at) {
	case kindTable:
		return header(at, e.u16(data+2))
	case kindList:
		return at + listElements
	}
	return at
}

// columnCost is at most how many bytes it takes to change a column, which may have to move or to be converted.
func (e *Editor) columnCost(at uint64) uint64 { return 4 * e.bytesBelow(at) }

func (e *Editor) bytesBelow(at uint64) uint64 {
	c := e.col(at)
	switch {
	case c.data == 0:
		return 64
	case !isNested(c.code):
		return 64 + uint64(columnTypes[c.code].width+10)*c.capacity
	case c.code != codeStruct:
		size := 64 + 64*c.count + e.bytesBelow(c.data+listElements)
		if !e.isFixed(c.data) {
			size += e.bytesBelow(c.data + listOffsets)
		}
		return size
	}
	size := 64 + 64*c.count
	for j := range e.headers(c.data) {
		size += e.bytesBelow(header(c.data, j))
	}
	if extras := e.u32(c.data + 16); extras != 0 {
		size += e.bytesBelow(extras) + e.extrasBelow(c.data, extras)
	}
	return size
}

// extrasBelow is how many bytes the members of those rows take that have an extra object, but for their values:
// such a row may become a map, which has copies of all keys. For more than 32 rows it is an estimate, so that no
// edit goes through all of them.
func (e *Editor) extrasBelow(table, extras uint64) uint64 {
	const look = 32
	c := e.col(extras)
	own, _, _ := e.shape(e.u32(table + 4))
	each := e.keysBelow(own, e.u16(table+20))
	size, step := uint64(0), max(1, c.count/look)
	for i := uint64(0); i < c.count; i += step {
		block, _ := e.resolve(e.u32(c.data + 8*i))
		switch used := uint64(e.u8(block + 2)); {
		case e.u8(block) == kindMap:
			size += step * (each + e.keysBelow(e.u32(block+20), e.u32(block+36)))
		case used > 0:
			keys, _, _ := e.shape(e.u32(block + 4))
			size += step * (each + e.keysBelow(keys, used))
		}
	}
	return size
}

// keysBelow is at most how many bytes n keys take, and what comes with them in an object.
func (e *Editor) keysBelow(cells, n uint64) uint64 {
	size := 64 + 32*n
	for i := range n {
		_, length, _ := e.span(cells + 8*i)
		size += length
	}
	return size
}
