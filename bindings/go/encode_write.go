package livebuf

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// Writing what was planned: records, arrays with their columns, and maps (PROFILE 1, 4, 6 and 7).

// final is the tag and the cell of an item that is laid out. The cell comes to lie at a position.
func (e *encoder) final(at int, position uint32) (tag uint8, cell uint64) {
	switch x := e.items[at]; x.tag {
	case itemText:
		return tagText, e.texts.cell(x.bits, position)
	case itemObject:
		return tagObject, x.bits & 0xffffffff
	default:
		return finalTag(x.tag), x.bits
	}
}

// putTagged writes the last items as tagged cells (FORMAT 3.4).
func (e *encoder) putTagged(place uint32, start int) {
	for i := range len(e.items) - start {
		e.putCell(place, uint64(i), start+i)
	}
}

func (e *encoder) putCell(place uint32, i uint64, at int) {
	position := place + uint32(cellAt(i))
	tag, cell := e.items[at].tag, e.items[at].bits
	if tag >= itemText {
		tag, cell = e.final(at, position)
	}
	e.out.data[place+uint32(tagAt(i))] = tag
	e.out.put64(position, cell)
}

func (e *encoder) writeRecord(start int, list int32) uint32 {
	count := uint64(len(e.items) - start)
	e.out.align()
	home := e.out.grow(recordSize(count))
	e.out.put32(home, kindRecord|uint32(count)*0x01010100)
	if count > 0 {
		e.trie.use(&e.out, home, list)
		e.putTagged(home+8, start)
	}
	return home
}

// layOutArray writes the array whose elements are the items from start on, with all that waits in it.
func (e *encoder) layOutArray(start int) uint32 {
	listed := len(e.places)
	p := e.planArray(start, len(e.items))
	return e.writePlanned(p, start, len(e.items), listed, 0)
}

// writePlanned writes an array, and before it what waits among its items. So many bytes are left before its header.
func (e *encoder) writePlanned(p *plan, start, end, listed int, before uint32) uint32 {
	if p.waits {
		e.absorb(p)
		e.layOut(start, end)
	}
	e.out.align()
	home := e.out.grow(uint64(before)+columnSize) + before
	e.writeColumn(p, home, home, 0)
	e.places = e.places[:listed]
	return home
}

// absorb marks the containers that a plan makes part of columns.
func (e *encoder) absorb(p *plan) {
	mark := uint8(itemAbsorbed)
	if p.tensor != nil {
		mark = itemPart
	} else if p.columns == nil && p.child == nil {
		return
	}
	for _, at := range e.places[p.from : p.from+p.count] {
		if at >= 0 && e.items[at].tag != tagNull {
			e.items[at].tag = mark
		}
	}
	if p.child != nil {
		e.absorb(p.child)
	}
	for _, column := range p.columns {
		e.absorb(column)
	}
}

// layOut writes all containers among the items that are no part of columns, each after its contents.
func (e *encoder) layOut(at, end int) {
	for at < end {
		next := at + 1
		switch x := e.items[at]; x.tag {
		case itemArray:
			next = e.behind(at)
			listed := len(e.places)
			p := e.planArray(at+1, next)
			home := e.writePlanned(p, at+1, next, listed, 0) // which may move the items
			e.items[at].bits = uint64(home)
		case itemObject:
			next = e.behind(at)
			e.layOut(at+1, next)
			home := e.writeObject(at)
			e.items[at].bits = x.bits>>32<<32 | uint64(home)
		case itemTensor:
			e.items[at] = item{tag: tagArray, bits: uint64(e.writeTensor(&e.tensors[x.bits]))}
		}
		at = next
	}
}

// gather puts the items from one on up to the end, laid out, behind all others, one item each.
func (e *encoder) gather(at, end int) {
	for ; at < end; at = e.behind(at) {
		x := e.items[at]
		e.texts.writeFor(&x)
		if x.tag == itemObject {
			x.bits &= 0xffffffff
		}
		if x.tag != itemText {
			x.tag = finalTag(x.tag)
		}
		x.inside = 0
		e.items = append(e.items, x)
	}
}

// writeObject writes a waiting object whose contents are laid out already.
func (e *encoder) writeObject(at int) (home uint32) {
	list, start := int32(e.items[at].bits>>32), len(e.items)
	e.gather(at+1, e.behind(at))
	if e.trie.lists[list].isWide() {
		first := len(e.mapKeys)
		e.putMapKeys(list)
		x := e.indexMap(first)
		e.out.align()
		home = e.writeMap(e.writeMapCells(start), first, x)
	} else {
		home = e.writeRecord(start, list)
	}
	e.items = e.items[:start]
	return home
}

// writeColumn writes a column's data, and its header at a place that is there already.
func (e *encoder) writeColumn(p *plan, header, owner uint32, place int) {
	var data uint32
	switch {
	case p.columns != nil:
		data = e.writeTable(p, owner, place)
	case p.child != nil:
		data = e.writeList(p, owner, place)
	case p.tensor != nil:
		data = e.writeTensors(p, owner, place)
	case p.code == codeRun:
		data = e.writeRun(p, owner, place)
	default:
		data = e.writeLeaf(p)
	}
	if p.count == 0 {
		data = 0
	}
	e.out.header(header, p.code, p.gaps, 0, uint64(p.count), data)
}

func (e *encoder) writeTable(p *plan, owner uint32, place int) uint32 {
	o := &e.out
	list := e.trie.listOf(p.keys)
	table := o.grow(tableSize + columnSize*uint64(len(p.columns)))
	bits := e.writeBits(p)
	form := len(p.columns) - len(p.keys) // 1 with orders
	o.put32(table, kindTable|uint32(form)<<8|uint32(place)<<16)
	e.trie.use(o, table, list)
	o.put32(table+8, bits)
	o.put32(table+12, owner)
	o.put32(table+20, uint32(len(p.keys)))
	for i, column := range p.columns {
		e.writeColumn(column, table+tableSize+columnSize*uint32(i), table, i)
	}
	return table
}

func (e *encoder) listHeader(list uint32, place, form int, length uint64, bits, owner uint32) {
	e.out.put32(list, kindList|uint32(form)<<8|uint32(place)<<16)
	e.out.put32(list+4, uint32(length))
	e.out.put32(list+8, bits)
	e.out.put32(list+12, owner)
}

func (e *encoder) writeList(p *plan, owner uint32, place int) uint32 {
	o := &e.out
	if p.ends == nil {
		list := o.grow(32)
		e.listHeader(list, place, 1, uint64(p.child.count/p.count), e.writeBits(p), owner)
		e.writeColumn(p.child, list+listElements, list, 0)
		return list
	}
	list := o.grow(48)
	e.listHeader(list, place, 0, 0, e.writeBits(p), owner)
	count := uint64(p.count) + 1
	data := o.grow(valuesSize(p.offsets, count))
	for i, end := range p.ends { // the first offset is 0
		e.putCode(p.offsets, data, i+1, end)
	}
	o.header(list+listOffsets, p.offsets, 0, 0, count, data)
	e.writeColumn(p.child, list+listElements, list, 0)
	return list
}

// putCode writes an offset or the code of a text.
func (e *encoder) putCode(code uint8, data uint32, i int, x uint32) {
	switch code {
	case codeU8, codeDictionaryU8:
		e.out.data[data+uint32(i)] = byte(x)
	case codeU32:
		e.out.put32(data+4*uint32(i), x)
	default:
		e.out.put16(data+2*uint32(i), x)
	}
}

// writeRun writes the list of a run's texts: bitmaps, offsets, and the texts.
func (e *encoder) writeRun(p *plan, owner uint32, place int) uint32 {
	o := &e.out
	count, length := uint64(p.count)+1, p.bytes/uint64(p.count)
	var list, data uint32
	if p.offsets == 0 {
		list = o.grow(32)
		e.listHeader(list, place, 1, length, e.writeBits(p), owner)
	} else {
		list = o.grow(48)
		e.listHeader(list, place, 0, 0, e.writeBits(p), owner)
		data = o.grow(valuesSize(p.offsets, count))
		o.header(list+listOffsets, p.offsets, 0, 0, count, data)
	}
	run := o.grow(word(p.bytes))
	if p.bytes == 0 {
		o.header(list+listElements, codeU8, 0, 0, 0, 0)
	} else {
		o.header(list+listElements, codeU8, 0, 0, p.bytes, run)
	}
	end := uint32(0)
	for i, at := range e.places[p.from : p.from+p.count] {
		if at >= 0 && e.items[at].tag != tagNull {
			end += e.texts.copyTo(e.items[at], run+end)
		}
		if p.offsets == 0 {
			end = uint32(length) * uint32(i+1)
		} else {
			e.putCode(p.offsets, data, i+1, end)
		}
	}
	return list
}

// writeBits writes the bitmaps of a struct's, a list's or a run's gaps; 0 where there are none.
func (e *encoder) writeBits(p *plan) uint32 {
	if p.gaps == 0 {
		return 0
	}
	at := e.out.grow(bitmapsSize(p.gaps, uint64(p.count)))
	e.putBits(p, at)
	return at
}

func (e *encoder) putBits(p *plan, place uint32) {
	values := e.out.data[place:]
	nulls := values[bitmapSize(uint64(p.count)):]
	for i, at := range e.places[p.from : p.from+p.count] {
		if at < 0 {
			continue
		}
		if e.items[at].tag != tagNull {
			values[i>>3] |= 1 << (i & 7)
		} else if p.gaps == 3 {
			nulls[i>>3] |= 1 << (i & 7)
		}
	}
}

// writeLeaf writes the slots of a column without structs and lists, behind the texts that its cells refer to.
func (e *encoder) writeLeaf(p *plan) uint32 {
	o, items, places, count := &e.out, e.items, e.places[p.from:p.from+p.count], uint64(p.count)
	if p.code == codeText || p.code == codeCells {
		for _, at := range places {
			if at >= 0 {
				e.texts.writeFor(&items[at])
			}
		}
		o.align()
	}
	bits := uint32(bitmapsSize(p.gaps, count))
	data := o.grow(uint64(bits) + valuesSize(p.code, count))
	if bits > 0 {
		e.putBits(p, data)
	}
	base := data + bits
	values := o.data[base:]
	width := int(columnTypes[p.code].width)
	switch p.code {
	case codeNull:
		return data
	case codeDictionaryU8, codeDictionaryU16:
		e.writeDictionary(p, base)
		return data
	}
	for i, at := range places {
		if at < 0 {
			continue
		}
		x := items[at]
		switch p.code {
		case codeCells:
			e.putCell(base, uint64(i), int(at))
		case codeText:
			if x.tag != tagNull {
				_, cell := e.final(int(at), base+8*uint32(i))
				binary.LittleEndian.PutUint64(values[8*i:], cell)
			}
		case codeBool:
			if x.tag == tagTrue {
				values[i>>3] |= 1 << (i & 7)
			}
		case codeUUID:
			if x.tag == itemUUID {
				copy(values[16*i:], e.texts.waiting[x.bits&0xffffffff:][:16])
			}
		case codeF32, codeNumbersF32, codeMarkedF32, codeF64, codeNumbersF64, codeMarkedF64:
			e.putFloat(values, x, p.code, i, count)
		default:
			switch width {
			case 1:
				values[i] = byte(x.bits)
			case 2:
				binary.LittleEndian.PutUint16(values[2*i:], uint16(x.bits))
			case 4:
				binary.LittleEndian.PutUint32(values[4*i:], uint32(x.bits))
			default:
				binary.LittleEndian.PutUint64(values[8*i:], x.bits)
			}
		}
	}
	return data
}

// putFloat writes a number into a column of floats, or of numbers.
func (e *encoder) putFloat(values []byte, x item, code uint8, i int, count uint64) {
	bits := x.bits
	if x.tag == tagInt {
		bits = math.Float64bits(float64(int64(bits)))
	}
	f, bound, marks := math.Float64frombits(bits), float64(widestWhole), 8*count
	if columnTypes[code].width == 4 {
		narrow := math.Float32bits(float32(f))
		if f != f {
			narrow = uint32(bits>>32&0x80000000) | 0x7f800000 | uint32(bits>>29)&0x7fffff
		}
		binary.LittleEndian.PutUint32(values[4*i:], narrow)
		bound, marks = narrowWhole, word(4*count)
	} else {
		binary.LittleEndian.PutUint64(values[8*i:], bits)
	}
	if code >= codeMarkedF32 && x.tag == tagFloat && isWhole(f, bound) {
		values[marks+uint64(i)>>3] |= 1 << (i & 7)
	}
}

// writeDictionary writes the codes of a dictionary, and its texts' header and cells.
func (e *encoder) writeDictionary(p *plan, base uint32) {
	for i, code := range p.codes {
		e.putCode(p.code, base, i, uint32(code))
	}
	header := base + uint32(valuesSize(p.code, uint64(p.count))) - columnSize
	for i := range p.texts {
		e.texts.writeFor(&p.texts[i])
	}
	e.out.align()
	cells := e.out.grow(8 * uint64(len(p.texts)))
	for i, x := range p.texts {
		if x.tag == itemText {
			e.texts.list[x.bits].cell = cellMany
			x.bits = e.texts.cell(x.bits, 0)
		}
		e.out.put64(cells+8*uint32(i), x.bits&^spanOwned)
	}
	e.out.header(header, codeText, 0, 0, uint64(len(p.texts)), cells)
}

// --- tensors

// writeTensor writes a tensor as an array by itself.
func (e *encoder) writeTensor(t *tensor) uint32 {
	e.out.align()
	home := e.out.grow(t.arraySize())
	data := home + columnSize
	if len(t.lengths) > 1 {
		e.out.header(home, codeFixedList, 0, 1, t.lengths[0], data)
		data = e.tensorLists(t, 1, t.lengths[0], data, home, 0, 0)
	} else if t.lengths[0] > 0 {
		e.out.header(home, t.code, 0, 1, t.lengths[0], data)
	} else {
		e.out.header(home, t.code, 0, 1, 0, 0)
	}
	copy(e.out.data[data:], t.data)
	return home
}

// tensorLists writes the lists of so many arrays of a tensor, of its dimensions from number i on. Behind the first list
// are bitmaps of so many bytes. Where the numbers are to lie.
func (e *encoder) tensorLists(t *tensor, i int, rows uint64, list, owner uint32, place int, bits uint32) uint32 {
	for ; i < len(t.lengths); i++ {
		bitmaps := uint32(0)
		if bits > 0 {
			bitmaps = list + 32
		}
		e.listHeader(list, place, 1, t.lengths[i], bitmaps, owner)
		rows *= t.lengths[i]
		data := list + 32 + bits
		switch {
		case i+1 < len(t.lengths):
			e.out.header(list+listElements, codeFixedList, 0, 1, rows, data)
		case rows > 0:
			e.out.header(list+listElements, t.code, 0, 1, rows, data)
		default:
			e.out.header(list+listElements, t.code, 0, 1, 0, 0)
		}
		owner, list, place, bits = list, data, 0, 0
	}
	return list
}

// writeTensors writes a column of tensors of one type and shape.
func (e *encoder) writeTensors(p *plan, owner uint32, place int) uint32 {
	t, count, size := p.tensor, uint64(p.count), uint64(len(p.tensor.data))
	bits := bitmapsSize(p.gaps, count)
	list := e.out.grow(bits + 32*uint64(len(t.lengths)) + word(count*size))
	data := uint64(e.tensorLists(t, 0, count, list, owner, place, uint32(bits)))
	for i, at := range e.places[p.from : p.from+p.count] {
		if at >= 0 && (e.items[at].tag == itemTensor || e.items[at].tag == itemPart) {
			copy(e.out.data[data+uint64(i)*size:], e.tensors[e.items[at].bits].data)
		}
	}
	if bits > 0 {
		e.putBits(p, list+32)
	}
	return list
}

// --- maps

// keyBytes is the bytes of a key of an open map.
func (e *encoder) keyBytes(i int) []byte {
	cell := e.mapKeys[i]
	if cell&spanInline == 0 {
		at, length := cell&0xffffffff, cell>>32&maxSpan
		return e.out.data[at : at+length]
	}
	return binary.LittleEndian.AppendUint64(make([]byte, 0, 8), cell)[:cell>>56&7]
}

// mapIndex has the indexes of a map.
type mapIndex struct {
	block  []byte  // the buckets
	sorted []int32 // the entries by their keys, where a tree is needed
	twice  map[int]int
}

// indexMap makes the indexes of a map by its keys. Where a key came before, twice has the entry, and the first that has
// the key.
func (e *encoder) indexMap(first int) (x mapIndex) {
	count := len(e.mapKeys) - first
	same := func(a, b int) bool {
		p, q := e.mapKeys[first+a], e.mapKeys[first+b]
		return p == q || (p|q)&spanInline == 0 && bytes.Equal(e.keyBytes(first+a), e.keyBytes(first+b))
	}
	double := func(entry, before int) {
		if x.twice == nil {
			x.twice = map[int]int{}
		}
		x.twice[entry] = before
	}
	total := bucketsOf(uint64(count))
	if total == 0 {
		for i := range count {
			for k := range i {
				if same(k, i) {
					double(i, k)
					break
				}
			}
		}
	}
	x.block = make([]byte, bucketSize*total)
	all := true
	for i := 0; total > 0 && i < count; i++ {
		place, fingerprint := hashKey(string(e.keyBytes(first + i)))
		at := bucketOf(place, total)
		mark := &x.block[bucketSize*at+bucketPlaces]
		done := false
		for distance := uint8(0); !done && distance <= uint8(min(15, total-1)); distance++ {
			bucket := x.block[bucketSize*at:][:bucketSize]
			for k, there := range bucket[:bucketPlaces] {
				entry := bucket[16+4*k:][:4]
				if there == 0 {
					bucket[k] = fingerprint
					binary.LittleEndian.PutUint32(entry, uint32(i))
					*mark = *mark&16 | max(*mark&15, distance)
					done = true
					break
				}
				if other := int(binary.LittleEndian.Uint32(entry)); there == fingerprint && same(other, i) {
					double(i, other)
					done = true
					break
				}
			}
			if at++; at == total {
				at = 0
			}
		}
		if !done {
			*mark |= 16
			all = false
		}
	}
	if !all {
		x.sorted, x.twice = make([]int32, count), nil
		for i := range x.sorted {
			x.sorted[i] = int32(i)
		}
		slices.SortStableFunc(x.sorted, func(a, b int32) int {
			return bytes.Compare(e.keyBytes(first+int(a)), e.keyBytes(first+int(b)))
		})
		kept := x.sorted[0]
		for _, entry := range x.sorted[1:] {
			if same(int(kept), int(entry)) {
				double(int(entry), int(kept))
			} else {
				kept = entry
			}
		}
	}
	if x.twice != nil {
		least := count
		for entry := range x.twice {
			least = min(least, entry)
		}
		e.twice(e.keyBytes(first + least))
	}
	return x
}

func (e *encoder) endMap(f *frame) (home uint32) {
	first, start := f.first, f.start
	x := e.indexMap(first)
	if e.waits() {
		if e.outermost == len(e.frames)-1 && !e.knows && !e.areRows(start) {
			e.isAnew = true
		}
		if x.twice == nil && len(e.mapKeys)-first >= leastMembers {
			listed := len(e.places)
			p := e.planArray(start, len(e.items))
			if p.code == codeStruct {
				home = e.writePlanned(p, start, len(e.items), listed, mapValues) - mapValues
			}
			e.places = e.places[:listed]
		}
		if home == 0 {
			// All that waits in it is laid out, and takes one item each.
			end := len(e.items)
			e.layOut(start, end)
			e.gather(start, end)
			e.items = append(e.items[:start], e.items[end:]...)
		}
	} else if e.mayBeRows(start) {
		e.isAnew = true
	}
	if x.twice != nil {
		e.takeDoubles(first, start, x.twice)
		x = e.indexMap(first)
	}
	e.out.align()
	if home == 0 {
		home = e.writeMapCells(start)
	}
	return e.writeMap(home, first, x)
}

// takeDoubles takes doubles out of a map: a key's last value moves to its first place.
func (e *encoder) takeDoubles(first, start int, twice map[int]int) {
	keys, items := e.mapKeys[first:], e.items[start:]
	places := make([]int, len(keys))
	next := 0
	for i := range keys {
		to := next
		if kept, ok := twice[i]; ok {
			to = places[kept]
		} else {
			next++
		}
		places[i] = to
		keys[to], items[to] = keys[i], items[i]
	}
	e.mapKeys, e.items = e.mapKeys[:first+next], e.items[:start+next]
}

// writeMapCells writes a map's values as cells, behind the room for its header.
func (e *encoder) writeMapCells(start int) uint32 {
	count := uint64(len(e.items) - start)
	home := e.out.grow(mapSize)
	data := e.out.grow(cellsSize(count))
	e.putTagged(data, start)
	if count == 0 {
		data = 0
	}
	e.out.header(home+mapValues, codeCells, 0, 0, count, data)
	return home
}

// writeMap writes the keys, the indexes and the header of a map whose values are written.
func (e *encoder) writeMap(home uint32, first int, x mapIndex) uint32 {
	o, count := &e.out, len(e.mapKeys)-first
	keys := o.grow(8 * uint64(count))
	for i, cell := range e.mapKeys[first:] {
		o.put64(keys+8*uint32(i), cell)
	}
	e.mapKeys = e.mapKeys[:first]
	root := e.writeTree(x.sorted)
	o.put32(home, kindMap)
	o.put32(home+4, uint32(count))
	o.put32(home+16, uint32(count))
	o.put32(home+20, keys)
	o.put32(home+24, root)
	if len(x.block) > 0 {
		hash := o.grow(uint64(len(x.block)) + 56)
		copy(o.data[(hash+63)&^63:], x.block)
		o.put32(home+8, hash)
		o.put32(home+12, uint32(len(x.block)/bucketSize))
	}
	return home
}

// writeTree writes a tree of full nodes, the leaves first; its root, or 0 without entries.
func (e *encoder) writeTree(items []int32) uint32 {
	for level := byte(0); len(items) > 0; level++ {
		var nodes []int32
		for here := range slices.Chunk(items, treeNodeItems) {
			node := e.out.grow(treeNodeSize)
			e.out.data[node], e.out.data[node+1] = level, byte(len(here))
			for i, x := range here {
				e.out.put32(node+4+4*uint32(i), uint32(x))
			}
			nodes = append(nodes, int32(node))
		}
		if len(nodes) == 1 {
			return uint32(nodes[0])
		}
		items = nodes
	}
	return 0
}

// areSimilar says whether so many values, which are null or objects of so many members, may be rows (PROFILE 4).
func areSimilar(count, members, most int) bool {
	return count >= leastMembers && most > 0 && 4*members >= count*most
}

// areRows says whether a map's values, which wait, may be rows.
func (e *encoder) areRows(start int) bool {
	count, members, most := 0, 0, 0
	for at := start; at < len(e.items); at = e.behind(at) {
		count++
		switch x := e.items[at]; x.tag {
		case tagNull:
		case itemObject:
			n := int(e.trie.lists[x.bits>>32].depth)
			if n > maxFields {
				return false
			}
			members, most = members+n, max(most, n)
		default:
			return false
		}
	}
	return areSimilar(count, members, most)
}

// mayBeRows says whether a map's values, which are written, may be rows when they wait.
func (e *encoder) mayBeRows(start int) bool {
	if e.noTables {
		return false
	}
	members, most := 0, 0
	for _, x := range e.items[start:] {
		if x.tag == tagNull {
			continue
		}
		if x.tag != tagObject || e.out.data[x.bits] != kindRecord {
			return false
		}
		n := int(e.out.data[x.bits+2])
		members, most = members+n, max(most, n)
	}
	return areSimilar(len(e.items)-start, members, most)
}
