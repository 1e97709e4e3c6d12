package livebuf

import (
	"cmp"
	"slices"
)

// Keys and key lists: a trie while the document is encoded, shapes at its end (PROFILE 5).

const (
	mostWideLists = 1 << 20 // lists of more than 255 keys that the objects of an outermost array make
	fewChildren   = 8       // longer lists up to which they are searched one by one
	keptKeys      = 4096    // keys that are kept for the next document
	keptLists     = 4096    // and key lists
	keptShapes    = 65_536  // and about so many bytes of shapes
)

// keyText is a key of a document.
type keyText struct {
	text    string
	shape   Key
	isPlain bool   // JSON has it as it is, without escapes
	written uint32 // where its text was written in the document of this turn
	turn    uint32
}

// keyList is a list of keys: those of the list before, and one more. List 0 has no keys, and stands for none elsewhere.
// Lists are kept for the next document, where they count from when it meets them.
type keyList struct {
	parent   int32
	child    int32 // the longer list most lately taken
	newest   int32 // of the longer lists; each has the one that was added before
	sibling  int32
	children int32
	key      int32 // the last key
	depth    int32
	kept     int32  // where its shape is kept, and 1; 0 if it is not, as where keys are written outside of it
	turn     uint32 // of the document that met it last, which the others are about
	order    int32  // lists that were met before, and 1
	needed   int32  // while shapes are written: the first longer list that is needed
	users    uint32
	latest   uint32 // the record or table of this list that was written last; each has the place of the one before
}

func (l *keyList) isWide() bool { return l.depth > maxFields }

type trie struct {
	keys    []keyText
	known   map[string]int32
	ways    []way // by the numbers of structs of Go
	lists   []keyList
	met     int32              // lists that the document of this turn met
	used    []int32            // those of them that records or tables have
	kept    []byte             // shapes for the next documents
	many    map[[2]int32]int32 // longer lists by list and key, of lists that have many
	deepest int32              // the most keys of a list
	wide    int                // lists of more than 255 keys since the outermost array began
	turn    uint32
	anew    uint32 // the turn in which the lists were begun anew
}

// way is the way of a struct of Go through the trie.
type way struct {
	keys  []int32 // the numbers of the fields' keys, and 1; 0 while they are not known
	lists []int32 // the list up to each field, where none is left out; 0 while there is none
	anew  uint32
}

// way is the way of a struct, by its number and the count of its fields.
func (t *trie) way(number, fields int) *way {
	for number >= len(t.ways) {
		t.ways = append(t.ways, way{})
	}
	w := &t.ways[number]
	if w.anew != t.anew {
		w.keys, w.lists, w.anew = make([]int32, fields), make([]int32, fields), t.anew
	}
	return w
}

func (t *trie) begin() {
	if t.turn++; t.turn < 2 || len(t.keys) > keptKeys {
		*t = trie{known: map[string]int32{}, turn: max(t.turn, 1)}
	}
	// Wide lists are counted in each document.
	if len(t.lists) == 0 || len(t.lists) > keptLists || t.deepest > maxFields {
		t.lists, t.kept, t.deepest, t.anew = append(t.lists[:0], keyList{}), t.kept[:0], 0, t.turn
		clear(t.many)
	}
	t.met, t.used, t.wide = 0, t.used[:0], 0
}

// meet notes that the document has a list.
func (t *trie) meet(list int32) {
	if l := &t.lists[list]; l.turn != t.turn {
		t.met++
		l.turn, l.order, l.needed, l.users, l.latest = t.turn, t.met, 0, 0, 0
	}
}

// key is the number of a key's text.
func (t *trie) key(text []byte) int32 {
	if k, ok := t.known[string(text)]; ok {
		return k
	}
	k := keyText{text: string(text), isPlain: true}
	k.shape = shapeKey(k.text)
	for _, c := range text {
		k.isPlain = k.isPlain && c >= ' ' && c != '"' && c != '\\'
	}
	t.known[k.text] = int32(len(t.keys))
	t.keys = append(t.keys, k)
	return int32(len(t.keys) - 1)
}

// find is a list with one key more, if it was met; else 0.
func (t *trie) find(list, key int32) int32 {
	if t.lists[list].children > fewChildren {
		return t.many[[2]int32{list, key}]
	}
	child := t.lists[list].newest
	for child != 0 && t.lists[child].key != key {
		child = t.lists[child].sibling
	}
	return child
}

// step is find for a key's text, and the number of the key.
func (t *trie) step(list int32, text []byte) (next, key int32) {
	if t.lists[list].children <= fewChildren {
		for next = t.lists[list].newest; next != 0; next = t.lists[next].sibling {
			if key = t.lists[next].key; t.keys[key].text == string(text) {
				return next, key
			}
		}
		return 0, t.key(text)
	}
	key = t.key(text)
	return t.find(list, key), key
}

// longer adds a list with one key more; 0 where there is no room for longer lists.
func (t *trie) longer(list, key int32) int32 {
	if t.lists[list].depth >= maxFields {
		if t.wide++; t.wide > mostWideLists {
			return 0
		}
	}
	return t.add(list, key)
}

func (t *trie) add(list, key int32) int32 {
	child := int32(len(t.lists))
	l := &t.lists[list]
	sibling := l.newest
	l.newest = child
	l.children++
	count := l.children
	depth := l.depth + 1
	l = next(&t.lists)
	l.parent, l.key, l.depth, l.sibling = list, key, depth, sibling
	t.deepest = max(t.deepest, depth)
	if count > fewChildren {
		if t.many == nil {
			t.many = map[[2]int32]int32{}
		}
		for each := child; each != 0; each = t.lists[each].sibling {
			t.many[[2]int32{list, t.lists[each].key}] = each
			if count > fewChildren+1 {
				break // the others are there
			}
		}
	}
	return child
}

// has says whether a list has a key.
func (t *trie) has(list, key int32) bool {
	for ; list != 0; list = t.lists[list].parent {
		if t.lists[list].key == key {
			return true
		}
	}
	return false
}

// keysOf is the keys of a list, in their order.
func (t *trie) keysOf(list int32) []int32 {
	keys := make([]int32, t.lists[list].depth)
	for i := len(keys) - 1; i >= 0; i-- {
		keys[i] = t.lists[list].key
		list = t.lists[list].parent
	}
	return keys
}

// listOf is the list of these keys, which may be new.
func (t *trie) listOf(keys []int32) (list int32) {
	for _, key := range keys {
		next := t.find(list, key)
		if next == 0 {
			next = t.add(list, key)
		}
		list = next
		t.meet(list)
	}
	return list
}

// use notes that a record or table of a list is at an offset.
func (t *trie) use(out *output, block uint32, list int32) {
	l := &t.lists[list]
	if l.latest == 0 {
		t.used = append(t.used, list)
	}
	out.put32(block+4, l.latest)
	l.latest = block
	l.users++
}

// writeShapes writes a shape for each leaf that has users, and tells the users. The newest shape.
func (t *trie) writeShapes(out *output) (newest uint32) {
	lists := t.lists
	// Of the longer lists that are needed, the first one that the document met has the shape.
	for _, list := range t.used {
		for !lists[list].isWide() && lists[list].parent != 0 {
			l := &lists[lists[list].parent]
			if l.needed != 0 {
				if lists[list].order < lists[l.needed].order {
					l.needed = list
				}
				break
			}
			l.needed, list = list, lists[list].parent
		}
	}
	slices.SortFunc(t.used, func(a, b int32) int { return cmp.Compare(lists[a].order, lists[b].order) })
	isShared := slices.ContainsFunc(t.used, func(list int32) bool { return lists[list].needed != 0 })
	for _, list := range t.used {
		if lists[list].needed != 0 {
			continue
		}
		newest = t.writeShape(out, list, newest)
		users := uint32(0)
		for {
			l := &lists[list]
			users += l.users
			for user := l.latest; user != 0; {
				before := uint32(mem(out.data).u32(uint64(user) + 4))
				out.put32(user+4, newest)
				user = before
			}
			// A wide shape serves its own list alone.
			if !isShared || l.parent == 0 || lists[l.parent].needed != list {
				break
			}
			list = l.parent
		}
		if users == 1 {
			out.data[newest+3] = 1
		}
	}
	return newest
}

func (t *trie) writeShape(out *output, leaf int32, older uint32) uint32 {
	if l := &t.lists[leaf]; l.kept > 0 {
		out.align()
		shape := out.grow(shapeSize(uint64(l.depth)))
		copy(out.data[shape:], t.kept[l.kept-1:])
		out.put32(shape+4, older)
		return shape
	}
	keys := t.keysOf(leaf)
	isKept := len(t.kept) < keptShapes
	for _, key := range keys {
		k := &t.keys[key]
		isKept = isKept && k.shape.cell != 0
		if k.shape.cell == 0 && k.turn != t.turn {
			k.written, k.turn = out.grow(uint64(len(k.text))), t.turn
			copy(out.data[k.written:], k.text)
		}
	}
	out.align()
	n := uint64(len(keys))
	wide := n > maxFields
	var shape, cells uint32
	if wide {
		shape = out.grow(wideShapeSize(n))
		cells = shape + uint32(word(16+2*n))
		out.data[shape] = kindWideShape
		out.put32(shape+8, uint32(n))
		order := make([]uint16, n)
		for i := range order {
			order[i] = uint16(i)
		}
		slices.SortFunc(order, func(a, b uint16) int { return cmp.Compare(t.keys[keys[a]].text, t.keys[keys[b]].text) })
		for i, place := range order {
			out.put16(shape+16+2*uint32(i), uint32(place))
		}
	} else {
		shape = out.grow(shapeSize(n))
		cells = shape + uint32(word(8+n))
		out.put32(shape, kindShape|uint32(n)<<8|uint32(n)<<16)
	}
	out.put32(shape+4, older)
	for i, key := range keys {
		k := &t.keys[key]
		if !wide {
			out.data[shape+8+uint32(i)] = k.shape.fingerprint
		}
		cell := k.shape.cell
		if cell == 0 {
			cell = uint64(k.written) | uint64(len(k.text))<<32
		}
		out.put64(cells+8*uint32(i), cell)
	}
	if isKept && !wide {
		t.lists[leaf].kept = int32(len(t.kept)) + 1
		t.kept = append(t.kept, out.data[shape:]...)
	}
	return shape
}
