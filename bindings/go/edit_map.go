package livebuf

import "slices"

// Maps that are edited, with their indexes (FORMAT 7).

// toMap makes a map of a record, holes dropped.
func (e *Editor) toMap(home, block uint64) {
	shape := e.u32(block + 4)
	var keys []Key
	var items []fresh
	for i := range uint64(e.u8(block + 2)) {
		if tag := e.u8(block + 8 + tagAt(i)); tag != tagNothing {
			keys = append(keys, e.keyAt(shape, i))
			items = append(items, e.liftCell(tag, block+8+cellAt(i)))
		}
	}
	at := e.alloc(mapSize)
	e.fillMap(at, keys, items)
	e.relocate(home, block, recordSize(uint64(e.u8(block+1))), at)
	e.freeShape(shape)
}

// fillMap makes a map of a block that was just taken.
func (e *Editor) fillMap(at uint64, keys []Key, items []fresh) {
	n := uint64(len(keys))
	values, cells := e.alloc(cellsSize(n)), e.alloc(8*n)
	e.set8(at, kindMap)
	e.set8(at+mapValues, kindArray)
	e.set32(at+4, n)
	e.set32(at+16, n)
	e.set32(at+20, cells)
	e.set32(at+mapValues+4, n)
	e.set32(at+mapValues+8, n)
	e.set32(at+mapValues+12, values)
	for i := range n {
		e.putCell(values+tagAt(i), values+cellAt(i), &items[i])
		e.writeKey(cells+8*i, &keys[i], true)
	}
	e.indexMap(at)
}

func (e *Editor) setEntry(at uint64, k *Key, node *fresh) {
	o, _ := e.objectMap(at)
	found, f := e.find(&o, k)
	if f.bad() {
		panic(f)
	}
	if found >= 0 {
		e.put(at+mapValues, uint64(found), node, false)
		return
	}
	if capacity := e.u32(at + 16); o.used == capacity {
		more := max(8, capacity+capacity/2)
		cells := e.alloc(8 * more)
		e.copy(cells, o.keys, 8*o.used)
		e.free(o.keys, 8*capacity)
		e.set32(at+16, more)
		e.set32(at+20, cells)
	}
	e.insertSlots(at+mapValues, o.used, []fresh{*node})
	e.writeKey(e.u32(at+20)+8*o.used, k, true)
	e.add32(at+4, 1)
	live, buckets := e.u32(at+4), e.u32(at+12)
	if buckets > 0 && live > 8*buckets && buckets < maxBuckets || buckets == 0 && o.used >= maxUnindexed && o.root == 0 {
		e.indexMap(at)
	} else {
		e.enter(at, o.used)
	}
}

func (e *Editor) removeEntry(at uint64, k *Key) {
	o, _ := e.objectMap(at)
	found, f := e.find(&o, k)
	if f.bad() {
		panic(f)
	}
	i := uint64(found)
	e.leave(at, i)
	e.freeSpan(e.u64(o.keys + 8*i))
	e.set64(o.keys+8*i, 0)
	e.add32(at+4, -1)
	live := e.u32(at + 4)
	if i == o.used-1 {
		for i > 0 && e.u64(o.keys+8*(i-1)) == 0 {
			i--
		}
		e.closeSlots(at+mapValues, i, o.used-i)
	} else {
		e.put(at+mapValues, i, &fresh{tag: tagNull}, false)
		if o.used > 2*live {
			order := make([]uint32, 0, live)
			for j := range o.used {
				if key := e.u64(o.keys + 8*j); key != 0 {
					e.set64(o.keys+8*uint64(len(order)), key)
					order = append(order, uint32(j))
				}
			}
			e.zero(o.keys+8*live, 8*(o.used-live))
			e.arrange(at+mapValues, order)
			e.indexMap(at)
		}
	}
	if live == 0 {
		e.indexMap(at)
	}
	if capacity, used := e.u32(at+16), e.u32(at+mapValues+4); capacity >= max(64, 4*used) {
		most := max(8, 2*used) // most of the room for keys is given back
		cells := e.alloc(8 * most)
		e.copy(cells, e.u32(at+20), 8*used)
		e.free(e.u32(at+20), 8*capacity)
		e.set32(at+16, most)
		e.set32(at+20, cells)
	}
}

// enter puts an entry into the indexes that a map has.
func (e *Editor) enter(at, entry uint64) {
	placed := e.place(at, entry)
	if e.u32(at+24) != 0 {
		e.growTree(at, entry)
	} else if !placed {
		e.indexMap(at)
	}
}

// leave takes an entry out of the indexes, while it still has its key.
func (e *Editor) leave(at, entry uint64) {
	e.buckets(at, entry, func(bucket uint64, mark uint8, _ uint64) bool {
		for i := range uint64(bucketPlaces) {
			if e.u8(bucket+i) == mark && e.u32(bucket+16+4*i) == entry {
				e.set8(bucket+i, 0)
				e.set32(bucket+16+4*i, 0)
				return true
			}
		}
		return false
	})
	if e.u32(at+24) != 0 {
		e.shrinkTree(at, entry)
	}
}

func (e *Editor) dropIndexes(at uint64) {
	if block := e.u32(at + 8); block != 0 {
		e.free(block, bucketSize*e.u32(at+12)+56)
	}
	if root := e.u32(at + 24); root != 0 {
		e.freeTree(root)
	}
	e.set64(at+8, 0)
	e.set32(at+24, 0)
}

func (e *Editor) freeTree(node uint64) {
	if e.u8(node) > 0 {
		for i := range uint64(e.u8(node + 1)) {
			e.freeTree(e.u32(node + 4 + 4*i))
		}
	}
	e.free(node, treeNodeSize)
}

// indexMap makes the indexes of a map anew: a hash block, and a tree where there was one or keys collide
// in the hash block.
func (e *Editor) indexMap(at uint64) {
	ordered := e.u32(at+24) != 0
	e.dropIndexes(at)
	live, used, keys := e.u32(at+4), e.u32(at+mapValues+4), e.u32(at+20)
	if used <= maxUnindexed {
		return
	}
	buckets := min(2*((live+7)/8), maxBuckets)
	block := e.alloc(bucketSize*buckets + 56)
	e.set32(at+8, block)
	e.set32(at+12, buckets)
	all := true
	for i := range used {
		if e.u64(keys+8*i) != 0 {
			all = e.place(at, i) && all
		}
	}
	if all && !ordered {
		return
	}
	var items []uint64
	for i := range used {
		if e.u64(keys+8*i) != 0 {
			items = append(items, i)
		}
	}
	slices.SortFunc(items, func(a, b uint64) int { return e.compareKeys(keys+8*a, keys+8*b) })
	for level := uint8(0); level == 0 || len(items) > 1; level++ {
		var nodes []uint64
		for part := range slices.Chunk(items, treeNodeItems) {
			node := e.alloc(treeNodeSize)
			e.set8(node, level)
			for i, item := range part {
				e.insertItem(node, uint64(i), item)
			}
			nodes = append(nodes, node)
		}
		items = nodes
	}
	e.set32(at+24, items[0])
}

func (e *Editor) compareKeys(a, b uint64) int {
	start, size, _ := e.span(a)
	start2, size2, _ := e.span(b)
	return slices.Compare(e.mem[start:start+size], e.mem[start2:start2+size2])
}

// step is an item of a node on the way from the root to a leaf.
type step struct{ node, item uint64 }

// pathTo is the nodes to the leaf where an entry's key is or would be (FORMAT 7.3).
func (e *Editor) pathTo(at, entry uint64) []step {
	o, _ := e.objectMap(at)
	path := make([]step, 0, maxTreeLevel+1)
	for node := o.root; ; {
		leaf := e.u8(node) == 0
		low, high := uint64(0), uint64(e.u8(node+1))
		for low < high {
			middle := (low + high) / 2
			first, f := e.firstEntry(&o, node, middle)
			if f.bad() {
				panic(f)
			}
			order := e.compareKeys(o.keys+8*first, o.keys+8*entry)
			if order < 0 || order == 0 && !leaf {
				low = middle + 1
			} else {
				high = middle
			}
		}
		if !leaf && low > 0 {
			low--
		}
		path = append(path, step{node, low})
		if leaf || len(path) > maxTreeLevel+1 {
			return path
		}
		node = e.u32(node + 4 + 4*low)
	}
}

func (e *Editor) growTree(at, entry uint64) {
	path := e.pathTo(at, entry)
	item := entry
	for depth := len(path) - 1; depth >= 0; depth-- {
		node, i := path[depth].node, path[depth].item
		if depth < len(path)-1 {
			i++
		}
		n := uint64(e.u8(node + 1))
		if n < treeNodeItems {
			e.insertItem(node, i, item)
			return
		}
		// The node splits: at the end where the new item comes behind all others.
		kept := uint64(32)
		if i == n {
			kept = n
		}
		made := e.alloc(treeNodeSize)
		e.set8(made, e.u8(node))
		e.set8(made+1, uint8(n-kept))
		e.copy(made+4, node+4+4*kept, 4*(n-kept))
		e.zero(node+4+4*kept, 4*(n-kept))
		e.set8(node+1, uint8(kept))
		if i > kept || kept == n {
			e.insertItem(made, i-kept, item)
		} else {
			e.insertItem(node, i, item)
		}
		item = made
	}
	root := e.alloc(treeNodeSize)
	e.set8(root, e.u8(path[0].node)+1)
	e.insertItem(root, 0, path[0].node)
	e.insertItem(root, 1, item)
	e.set32(at+24, root)
}

func (e *Editor) insertItem(node, i, item uint64) {
	n := uint64(e.u8(node + 1))
	e.copy(node+8+4*i, node+4+4*i, 4*(n-i))
	e.set32(node+4+4*i, item)
	e.set8(node+1, uint8(n+1))
}

func (e *Editor) shrinkTree(at, entry uint64) {
	path := e.pathTo(at, entry)
	for depth := len(path) - 1; depth >= 0; depth-- {
		node, i := path[depth].node, path[depth].item
		n := uint64(e.u8(node+1)) - 1
		e.set8(node+1, uint8(n))
		e.copy(node+4+4*i, node+8+4*i, 4*(n-i))
		e.set32(node+4+4*n, 0)
		if n > 0 {
			break
		}
		e.free(node, treeNodeSize)
		if depth == 0 {
			e.set32(at+24, 0)
		}
	}
	// A root that is left with one child is replaced by it.
	for root := e.u32(at + 24); root != 0 && e.u8(root) != 0 && e.u8(root+1) == 1; {
		child := e.u32(root + 4)
		e.free(root, treeNodeSize)
		e.set32(at+24, child)
		root = child
	}
}

// buckets calls each for the buckets in which an entry may be, from its home on, until it returns true. It returns the
// home, or 0 if the map has no hash block.
func (e *Editor) buckets(at, entry uint64, each func(bucket uint64, mark uint8, reach uint64) bool) uint64 {
	block, n := e.u32(at+8), e.u32(at+12)
	if block == 0 {
		return 0
	}
	place, mark := hashKey(e.textAt(e.u32(at+20) + 8*entry))
	first, home := (block+63)&^63, bucketOf(place, n)
	for reach := range min(16, n) {
		if each(first+bucketSize*((home+reach)%n), mark, reach) {
			break
		}
	}
	return first + bucketSize*home
}

// place gives an entry a place in the hash block; false if there is none.
func (e *Editor) place(at, entry uint64) bool {
	found := -1
	home := e.buckets(at, entry, func(bucket uint64, mark uint8, reach uint64) bool {
		for i := range uint64(bucketPlaces) {
			if e.u8(bucket+i) == 0 {
				e.set8(bucket+i, mark)
				e.set32(bucket+16+4*i, entry)
				found = int(reach)
				return true
			}
		}
		return false
	})
	switch {
	case home == 0:
		return true
	case found < 0:
		e.mem[home+bucketPlaces] |= 16
	case int(e.u8(home+bucketPlaces)&15) < found:
		e.set8(home+bucketPlaces, e.u8(home+bucketPlaces)&16|uint8(found))
	}
	return found >= 0
}
