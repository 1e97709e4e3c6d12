package livebuf

import (
	"cmp"
	"slices"
)

// Objects that are edited: records and their shapes (FORMAT 4, 5), and rows (FORMAT 6.3).

// newestShapes is how many shapes are looked at, from the newest on.
const newestShapes = 64

// writeKey writes a key's cell, and its text if that is not in it. In a map the text is owned; in shapes it is shared,
// and never freed.
func (e *Editor) writeKey(cell uint64, k *Key, owned bool) {
	if k.cell != 0 {
		e.set64(cell, k.cell)
		return
	}
	at, size := e.keyTexts[k.text], uint64(len(k.text))
	if owned || at == 0 {
		at = e.alloc(size)
		copy(e.mem[at:], k.text)
	}
	bits := at | size<<32
	if owned {
		bits |= spanOwned
	} else {
		if e.keyTexts == nil {
			e.keyTexts = map[string]uint64{}
		}
		e.keyTexts[k.text] = at
	}
	e.set64(cell, bits)
}

func (e *Editor) share(shape uint64) { e.mem[shape+3] &^= 1 }

// addKey adds a key to a shape that has room.
func (e *Editor) addKey(shape uint64, k *Key) {
	i := uint64(e.u8(shape + 2))
	e.writeKey(shape+word(8+uint64(e.u8(shape+1)))+8*i, k, false)
	e.set8(shape+8+i, k.fingerprint)
	e.set8(shape+2, uint8(i+1))
}

// shapeOf is a shape that begins with these keys: one of the newest, or a new one of a capacity.
func (e *Editor) shapeOf(keys []Key, capacity uint64) uint64 {
	at := e.u32(headerShapes)
search:
	for look := 0; at != 0 && look < newestShapes; look, at = look+1, e.u32(at+4) {
		if e.u8(at) != kindShape || int(e.u8(at+2)) < len(keys) {
			continue
		}
		for i := range keys {
			if e.u8(at+8+uint64(i)) != keys[i].fingerprint {
				continue search
			}
		}
		cells, _, _ := e.shape(at)
		for i := range keys {
			if !e.isKey(cells+8*uint64(i), &keys[i]) {
				continue search
			}
		}
		e.share(at)
		return at
	}
	at = e.alloc(shapeSize(capacity))
	e.set8(at, kindShape)
	e.set8(at+1, uint8(capacity))
	e.set8(at+3, 1)
	for i := range keys {
		e.addKey(at, &keys[i])
	}
	e.set32(at+4, e.u32(headerShapes))
	e.set32(headerShapes, at)
	return at
}

// freeShape frees a private shape whose only record or table is no more.
func (e *Editor) freeShape(shape uint64) {
	if shape == 0 || e.u8(shape+3)&1 == 0 {
		return
	}
	before := uint64(headerShapes)
	for range newestShapes {
		at := e.u32(before)
		if at == 0 {
			return
		}
		if at == shape {
			e.set32(before, e.u32(at+4))
			size := shapeSize(uint64(e.u8(at + 1)))
			if e.u8(at) == kindWideShape {
				size = wideShapeSize(e.u32(at + 8))
			}
			e.free(at, size)
			return
		}
		before = at + 4
	}
}

// storeObject writes a new object; its home.
func (e *Editor) storeObject(p *parts) uint64 {
	n := uint64(len(p.items))
	if n > maxFields || slices.ContainsFunc(p.keys, func(k Key) bool { return len(k.text) > maxKey }) {
		at := e.alloc(mapSize)
		e.fillMap(at, p.keys, p.items)
		return at
	}
	at := e.alloc(recordSize(n))
	e.set8(at, kindRecord)
	e.set8(at+1, uint8(n))
	live := 0
	for i := range p.items {
		if item := &p.items[i]; item.tag != tagNothing {
			e.putCell(at+8+tagAt(uint64(i)), at+8+cellAt(uint64(i)), item)
			live++
		}
	}
	if live > 0 {
		shape := p.shape
		if shape == 0 {
			shape = e.shapeOf(p.keys, n)
		} else {
			e.share(shape)
		}
		e.set32(at+4, shape)
		e.set8(at+2, uint8(n))
		e.set8(at+3, uint8(live))
	}
	return at
}

// freeObject frees an object and all that is in it.
func (e *Editor) freeObject(home uint64) {
	block, _ := e.resolve(home)
	if e.u8(block) == kindMap {
		e.clear(block+mapValues, 0, e.u32(block+mapValues+4))
	} else {
		for i := range uint64(e.u8(block + 2)) {
			e.freeCell(e.u8(block+8+tagAt(i)), e.u64(block+8+cellAt(i)))
		}
	}
	e.freeShell(home)
}

// freeShell frees an object, but not the values in it.
func (e *Editor) freeShell(home uint64) {
	block, _ := e.resolve(home)
	if e.u8(block) == kindMap {
		keys := e.u32(block + 20)
		for i := range e.u32(block + mapValues + 4) {
			e.freeSpan(e.u64(keys + 8*i))
		}
		e.free(keys, 8*e.u32(block+16))
		e.dropIndexes(block)
		e.freeStorage(block + mapValues)
		e.freeNode(home, block, mapSize)
		return
	}
	shape := e.u32(block + 4)
	e.freeNode(home, block, recordSize(uint64(e.u8(block+1))))
	e.freeShape(shape)
}

// freeNode frees the block of a node, and a forward to it.
func (e *Editor) freeNode(home, block, size uint64) {
	e.free(block, size)
	if block != home {
		e.free(home, 8)
	}
	e.endHandles(home)
}

// relocate puts another block in place of a node's: its home becomes a forward (FORMAT 3.5).
func (e *Editor) relocate(home, block, size, to uint64) {
	if block == home {
		if size > 8 {
			e.free(home+8, size-8)
		}
		e.set32(home, kindForward)
	} else {
		e.free(block, size)
	}
	e.set32(home+4, to)
}

// objectCost is at most how many bytes it takes to set or remove a member of a record or a map.
func (e *Editor) objectCost(home uint64) uint64 {
	block, _ := e.resolve(home)
	if e.u8(block) == kindMap {
		return 4096 + 40*e.u32(block+16) + 192*e.u32(block+12) + e.columnCost(block+mapValues)
	}
	used := uint64(e.u8(block + 2))
	return 8192 + 512*used // a map of it has copies of all keys
}

// memberCost is the same for any object.
func (e *Editor) memberCost(v Value, k *Key) uint64 {
	if v.form != formRow {
		return e.objectCost(uint64(v.home))
	}
	table := uint64(v.at)
	if i, _ := e.findInShape(v.shape(), v.fields(), k); i >= 0 {
		return e.columnCost(table + tableSize + columnSize*uint64(i))
	}
	cost := uint64(1024)
	if extras := e.u32(table + 16); extras != 0 {
		cost += e.columnCost(extras)
	}
	if extra := v.extra(); extra.form != formScalar {
		cost += e.objectCost(uint64(extra.home))
	}
	return cost
}

// setMember sets a member of any object.
func (e *Editor) setMember(v Value, k *Key, node *fresh) {
	if v.form != formRow {
		e.setField(uint64(v.home), k, node)
		return
	}
	table := uint64(v.at)
	if i, _ := e.findInShape(v.shape(), v.fields(), k); i >= 0 {
		e.put(table+tableSize+columnSize*uint64(i), uint64(v.row), node, false)
	} else if extra := v.extra(); extra.tag != tagNothing {
		e.setField(uint64(extra.home), k, node)
	} else {
		e.addExtra(table, uint64(v.row), e.storeObject(&parts{keys: []Key{*k}, items: []fresh{*node}}))
	}
}

// removeMember removes a member of any object, which has it.
func (e *Editor) removeMember(v Value, k *Key) {
	if v.form != formRow {
		e.removeField(uint64(v.home), k)
	} else if i, _ := e.findInShape(v.shape(), v.fields(), k); i >= 0 {
		e.put(uint64(v.at)+tableSize+columnSize*uint64(i), uint64(v.row), &fresh{}, false)
	} else {
		e.removeField(uint64(v.extra().home), k)
	}
}

// setField sets a member of a record or a map.
func (e *Editor) setField(home uint64, k *Key, node *fresh) {
	block, _ := e.resolve(home)
	if e.u8(block) == kindMap {
		e.setEntry(block, k, node)
		return
	}
	used, i := uint64(e.u8(block+2)), -1
	if used > 0 {
		i, _ = e.findInShape(e.u32(block+4), used, k)
	}
	if i < 0 {
		if used >= maxFields || len(k.text) > maxKey {
			e.toMap(home, block)
			block, _ = e.resolve(home)
			e.setEntry(block, k, node)
			return
		}
		i = int(used)
		block = e.addField(home, block, k)
	}
	// A value that is written moves no block.
	tag := block + 8 + tagAt(uint64(i))
	if e.u8(tag) == tagNothing {
		e.mem[block+3]++
	}
	e.putCell(tag, block+8+cellAt(uint64(i)), node)
}

// addField makes a field for a key that a record does not have; the block where the record is then.
func (e *Editor) addField(home, block uint64, k *Key) uint64 {
	used, old := uint64(e.u8(block+2)), e.u32(block+4)
	keys, all := uint64(0), uint64(0)
	if old != 0 {
		keys, all, _ = e.shape(old)
	}
	more := min(maxFields, max(4, used+1+used/2))
	shape := old
	switch {
	case all > used && e.isKey(keys+8*used, k):
		// The shape has the key next.
	case old != 0 && all == used && used < uint64(e.u8(old+1)):
		e.addKey(old, k)
	default:
		all := make([]Key, used, used+1)
		for i := range all {
			all[i] = e.keyAt(old, uint64(i))
		}
		shape = e.shapeOf(append(all, *k), more)
	}
	if capacity := uint64(e.u8(block + 1)); used == capacity {
		size, wanted := recordSize(capacity), recordSize(more)
		if block+size == uint64(len(e.mem)) {
			e.resize(block + wanted)
		} else {
			to := e.alloc(wanted)
			e.copy(to, block, size)
			e.relocate(home, block, size, to)
			block = to
		}
		e.set8(block+1, uint8(more))
	}
	e.set32(block+4, shape)
	e.set8(block+2, uint8(used+1))
	if shape != old {
		e.freeShape(old)
	}
	return block
}

// removeField removes a member of a record or a map, which has it.
func (e *Editor) removeField(home uint64, k *Key) {
	block, _ := e.resolve(home)
	if e.u8(block) == kindMap {
		e.removeEntry(block, k)
		return
	}
	shape := e.u32(block + 4)
	found, _ := e.findInShape(shape, uint64(e.u8(block+2)), k)
	i := uint64(found)
	e.putCell(block+8+tagAt(i), block+8+cellAt(i), &fresh{})
	if e.mem[block+3]--; e.mem[block+3] == 0 {
		e.set8(block+2, 0)
		e.set32(block+4, 0)
		e.freeShape(shape)
	}
}

// renameField gives a member of a record or a map another key, which the object does not have.
func (e *Editor) renameField(home uint64, from, to *Key) {
	block, _ := e.resolve(home)
	if e.u8(block) == kindRecord && len(to.text) > maxKey {
		e.toMap(home, block)
		block, _ = e.resolve(home)
	}
	if e.u8(block) == kindMap {
		o, _ := e.objectMap(block)
		found, _ := e.find(&o, from)
		i := uint64(found)
		cell := o.keys + 8*i
		e.leave(block, i)
		e.freeSpan(e.u64(cell))
		e.writeKey(cell, to, true)
		e.enter(block, i)
		return
	}
	// Holes are left out, since one of them may have the key.
	shape := e.u32(block + 4)
	var keys []Key
	for i := range uint64(e.u8(block + 2)) {
		tag, cell := block+8+tagAt(i), block+8+cellAt(i)
		if e.u8(tag) == tagNothing {
			continue
		}
		j := uint64(len(keys))
		k := e.keyAt(shape, i)
		if k.text == from.text {
			k = *to
		}
		keys = append(keys, k)
		if i != j {
			e.set8(block+8+tagAt(j), e.u8(tag))
			e.set64(block+8+cellAt(j), e.u64(cell))
			e.set8(tag, 0)
			e.set64(cell, 0)
		}
	}
	named := e.shapeOf(keys, uint64(len(keys)))
	e.set8(block+2, uint8(len(keys)))
	e.set32(block+4, named)
	e.freeShape(shape)
}

// --- Extras

// findExtra is the first of the extras whose row is not below this one.
func (e *Editor) findExtra(extras, row uint64) uint64 {
	c := e.col(extras)
	low, high := uint64(0), c.count
	for low < high {
		if middle := (low + high) / 2; e.u32(c.data+8*middle+4) < row {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// addExtra gives a row an extra object.
func (e *Editor) addExtra(table, row, home uint64) {
	extras := e.u32(table + 16)
	if extras == 0 {
		extras = e.alloc(columnSize)
		e.set8(extras, kindArray)
		e.set8(extras+1, codeU64)
		e.set32(table+16, extras)
	}
	i := e.findExtra(extras, row)
	e.openSlots(extras, i, 1)
	e.set64(e.u32(extras+12)+8*i, row<<32|home)
}

// dropExtras takes the extra objects of n rows away. With shells, what is in them is elsewhere already.
func (e *Editor) dropExtras(table, row, n uint64, shells bool) {
	extras := e.u32(table + 16)
	if extras == 0 {
		return
	}
	from, to := e.findExtra(extras, row), e.findExtra(extras, row+n)
	for i := from; i < to; i++ {
		if home := e.u32(e.u32(extras+12) + 8*i); shells {
			e.freeShell(home)
		} else {
			e.freeObject(home)
		}
	}
	e.shut(extras, from, to-from)
}

// shiftExtras numbers the extras of rows anew, from a row on.
func (e *Editor) shiftExtras(table, from uint64, by int64) {
	extras := e.u32(table + 16)
	if extras == 0 {
		return
	}
	c := e.col(extras)
	for i := c.count; i > 0 && e.u32(c.data+8*i-4) >= from; i-- {
		e.add32(c.data+8*i-4, by)
	}
}

// arrangeExtras gives the extras of rows their new numbers.
func (e *Editor) arrangeExtras(table uint64, places []uint32) {
	extras := e.u32(table + 16)
	if extras == 0 {
		return
	}
	c := e.col(extras)
	all := make([]uint64, c.count)
	for i := range all {
		x := e.u64(c.data + 8*uint64(i))
		all[i] = uint64(places[x>>32])<<32 | x&0xffffffff
	}
	slices.SortFunc(all, func(a, b uint64) int { return cmp.Compare(a>>32, b>>32) })
	for i, x := range all {
		e.set64(c.data+8*uint64(i), x)
	}
}
