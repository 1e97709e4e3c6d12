package livebuf

import (
	"reflect"
	"strconv"
	"strings"
)

// Events become a document (PROFILE): values, keys, and the beginnings and ends of containers, in their order in JSON.
//
// It takes one pass, and no memory for each value but an item. Text outside of arrays is written when it comes, a
// container when it ends, behind all that it holds. Shapes come last, when the key lists are known. Containers and
// texts within arrays wait until the outermost array ends. Then the plan decides which of them become columns, and all
// of them are written.

// item is a value that is not part of a container yet: the tag and the cell that it has in the document, or one of the
// tags below. A container's contents are behind it.
type item struct {
	bits   uint64
	inside uint32 // items of a container's contents
	tag    uint8
}

// Tags of items that wait.
const (
	itemText     = 0xf0 + iota // bits is the number of a text that may turn out to be shared
	itemLoose                  // text that is not searched for equal ones: where its bytes wait, and their count
	itemUUID                   // the same of a UUID
	itemTensor                 // bits is the number of a tensor that waits
	itemArray                  // bits is the size as a plain array, and later the home
	itemObject                 // the lower half is the size as a record, and later the home; the upper the key list
	itemAbsorbed               // a container that became part of a column
	itemPart                   // a tensor that did
)

// finalTag is the tag that an item has in the document.
func finalTag(tag uint8) uint8 {
	switch tag {
	case itemText, itemLoose:
		return tagText
	case itemUUID:
		return tagUUID
	case itemArray:
		return tagArray
	case itemObject:
		return tagObject
	}
	return tag
}

// frame is an open container.
type frame struct {
	start    int // its first item
	plain    uint64
	first    int   // of a map, its first key among those of all open maps
	met      int   // of an object of very many keys, the number of the set of them, and 1
	list     int32 // the keys of an object that is no map
	isObject bool
	isMap    bool
}

// encodeError is what the encoder panics with, and what run returns.
type encodeError struct{ err error }

func fail(kind ErrorKind, format string, args ...any) {
	panic(encodeError{errorf(kind, format, args...)})
}

// encoder makes a document of events.
type encoder struct {
	out       output
	texts     texts
	trie      trie
	items     []item
	frames    []frame
	mapKeys   []uint64             // span cells of the keys of open maps
	met       []map[int32]struct{} // the keys of open objects of very many, so that one that comes twice is found
	places    []int32              // of the planner: the items of all columns' slots
	codes     []uint32             // of the planner: codes, and 1, of a dictionary's texts
	found     []item               // of the planner: the texts of dictionaries
	slotCodes []uint16             // of the planner: the codes of all dictionaries' slots
	ends      []uint32             // of the planner: where arrays of lists end
	summaries []summary            // of the planner
	tensors   []tensor             // that wait
	plans     []plan               // room for plans
	scratch   []byte
	options
	lastType  reflect.Type // of the value of Go that any was given last
	lastCodec *codec
	outermost int   // the frame of the outermost open array, or map of similar objects; -1 for none
	isAnew    bool  // garbage is left, or values should have waited: the document is to be encoded anew, from its value
	knows     bool  // it is known which maps are of similar objects
	depth     int   // values of Go within each other
	nesting   int   // the most containers within each other
	left      int64 // values of a document that may still be met
	leftText  int64 // and bytes of their texts
}

// begin begins a document.
func (e *encoder) begin() {
	e.texts.out = &e.out
	clear(e.out.data)
	e.out.data = e.out.data[:0]
	e.out.grow(headerSize)
	e.texts.begin()
	e.trie.begin()
	e.items, e.frames, e.mapKeys, e.places = e.items[:0], e.frames[:0], e.mapKeys[:0], e.places[:0]
	e.tensors, e.met, e.found = nil, nil, e.found[:0]
	e.slotCodes, e.ends, e.summaries = e.slotCodes[:0], e.ends[:0], e.summaries[:0]
	clear(e.plans)
	e.plans = e.plans[:0]
	e.outermost, e.isAnew, e.knows, e.depth, e.nesting = -1, false, false, 0, maxNesting
}

// finish writes the shapes and the header.
func (e *encoder) finish() []byte {
	newest := e.trie.writeShapes(&e.out)
	tag, cell := e.final(0, headerRoot)
	e.out.align()
	e.out.put32(0, magic)
	e.out.data[headerVersion] = version
	e.out.put64(headerRoot, cell)
	e.out.data[headerRootTag] = tag
	e.out.put32(headerUsed, uint32(len(e.out.data)))
	e.out.put32(headerShapes, newest)
	return e.out.data
}

func (e *encoder) push(tag uint8, bits uint64) { e.items = append(e.items, item{bits: bits, tag: tag}) }

// waits says whether values wait for the end of an array.
func (e *encoder) waits() bool { return e.outermost >= 0 }

func (e *encoder) frame() *frame { return &e.frames[len(e.frames)-1] }

// string adds a text. It must be UTF-8.
func (e *encoder) string(text []byte) {
	n := len(text)
	switch {
	case n <= 7:
		e.push(tagText, inlineCell(text))
	case n > maxSpan:
		fail(ErrStringLimit, "a text has more than 2³⁰ - 1 bytes: store it in parts")
	case n <= maxShared && !e.texts.skips():
		e.push(itemText, e.texts.intern(text, e.waits()))
	case e.waits():
		e.push(itemLoose, uint64(e.texts.keep(text))|uint64(n)<<32)
	default:
		e.owned(tagText, text)
	}
}

// utf8 is a string of Go as UTF-8.
func (e *encoder) utf8(text string) string {
	if !isText(bytesOf(text)) {
		if !e.replace {
			fail(ErrBadText, "a string is not UTF-8: use []byte for bytes, or the option Replace to put U+FFFD")
		}
		text = string([]rune(text))
	}
	return text
}

// span adds bytes, number text, or what is stored as bytes.
func (e *encoder) span(tag uint8, bytes []byte) {
	switch {
	case tag == tagUUID && e.waits(): // it may become a slot of a column
		e.push(itemUUID, uint64(e.texts.keep(bytes))|uint64(len(bytes))<<32)
	case len(bytes) <= 7:
		e.push(tag, inlineCell(bytes))
	case len(bytes) > maxSpan:
		fail(ErrStringLimit, "a value has more than 2³⁰ - 1 bytes: store it in parts")
	default:
		e.owned(tag, bytes)
	}
}

func (e *encoder) owned(tag uint8, bytes []byte) {
	e.push(tag, uint64(e.out.store(bytes))|uint64(len(bytes))<<32|spanOwned)
}

func (e *encoder) integer(x int64) { e.push(tagInt, uint64(x)) }

func (e *encoder) unsigned(x uint64) { e.push(tagInt+uint8(x>>63), x) }

// decimal adds a decimal. Its scale and its coefficient must be within their limits.
func (e *encoder) decimal(d Decimal) {
	if x := int64(d.Lo); d.Hi == x>>63 && x<<8>>8 == x {
		e.push(tagDecimal, d.Lo<<8|uint64(d.Scale))
		return
	}
	e.scratch = append(e.scratch[:0], make([]byte, 17)...)
	o := output{e.scratch}
	o.put64(0, d.Lo)
	o.put64(8, uint64(d.Hi))
	o.data[16] = d.Scale
	e.span(tagLargeDecimal, o.data)
}

// tensor adds an array that is a tensor (FORMAT 6.6).
func (e *encoder) tensor(t tensor) {
	levels := len(t.lengths)
	if t.lengths[0] == 0 {
		levels = 1
	}
	if len(e.frames)+levels > e.nesting {
		e.tooDeep()
	}
	if !e.waits() {
		e.push(tagArray, uint64(e.writeTensor(&t)))
		return
	}
	e.push(itemTensor, uint64(len(e.tensors)))
	e.tensors = append(e.tensors, t)
	e.frame().plain += t.arraySize()
}

func (e *encoder) tooDeep() {
	fail(ErrNestingLimit, "containers are nested more than %d deep: if a value holds itself, leave it out there", e.nesting)
}

func (e *encoder) open() *frame {
	if len(e.frames) >= e.nesting {
		e.tooDeep()
	}
	f := next(&e.frames)
	f.start = len(e.items)
	return f
}

func (e *encoder) beginArray() {
	if e.waits() {
		e.push(itemArray, 0)
	} else if !e.noTables {
		e.beginOutermost(len(e.frames))
	}
	e.open()
}

func (e *encoder) beginOutermost(depth int) {
	e.outermost = depth
	e.trie.wide = 0
}

func (e *encoder) beginObject() {
	if e.waits() {
		e.push(itemObject, 0)
	}
	e.open().isObject = true
}

// beginMapOfRows begins an object that is known to become a map of similar objects.
func (e *encoder) beginMapOfRows() {
	e.beginObject()
	e.becomeMap(e.frame())
	e.beginOutermost(len(e.frames) - 1)
}

// expected is the number of the key that is expected to come next, or -1.
func (e *encoder) expected() int32 {
	if f := e.frame(); !f.isMap {
		if child := e.trie.lists[f.list].child; child != 0 {
			return e.trie.lists[child].key
		}
	}
	return -1
}

// take takes the expected key.
func (e *encoder) take() {
	f := e.frame()
	f.list = e.trie.lists[f.list].child
	e.trie.meet(f.list)
	if f.met > 0 {
		e.met[f.met-1][e.trie.lists[f.list].key] = struct{}{}
	}
}

// key is the key of the value that comes next. It must be UTF-8.
func (e *encoder) key(text []byte) {
	f := e.frame()
	if !f.isMap {
		if k := e.expected(); k >= 0 && e.trie.keys[k].text == string(text) {
			e.take()
			return
		}
		if e.otherKey(f, text) {
			return
		}
		e.becomeMap(f)
	}
	e.mapKey(text)
}

// goKey is key for a string of Go.
func (e *encoder) goKey(text string) {
	if k := e.expected(); k >= 0 && e.trie.keys[k].text == text {
		e.take()
		return
	}
	e.key(bytesOf(e.utf8(text)))
}

// otherKey takes a key that does not follow the way most lately taken. False where the object is no record for it.
func (e *encoder) otherKey(f *frame, text []byte) bool {
	t := &e.trie
	most := int32(maxFields)
	if e.waits() {
		most = maxColumns // it may become a row
	}
	if t.lists[f.list].depth >= most || len(text) > maxKey {
		return false
	}
	next, key := t.step(f.list, text)
	return e.follow(f, next, key)
}

// fieldKey is key for field i of a struct, by the struct's number and whether no field before was left out.
func (e *encoder) fieldKey(x *field, number, i int, isWhole bool) {
	f, t := e.frame(), &e.trie
	if f.isMap || t.lists[f.list].depth >= maxFields || len(x.name) > maxKey {
		e.goKey(x.name)
		return
	}
	w := &t.ways[number]
	if w.keys[i] == 0 {
		w.keys[i] = t.key([]byte(x.name)) + 1
	}
	key := w.keys[i] - 1
	next := t.lists[f.list].child
	if next == 0 || t.lists[next].key != key {
		next = t.find(f.list, key)
	}
	if next == 0 {
		next = t.longer(f.list, key) // no struct has two fields of one name
	}
	t.lists[f.list].child = next
	f.list = next
	t.meet(next)
	if isWhole {
		w.lists[i] = next
	}
}

// follow goes on to a longer list, which is new where it is 0. False where the object is no record for it.
func (e *encoder) follow(f *frame, next, key int32) bool {
	t := &e.trie
	if next == 0 {
		// Only a new way can hold a key twice.
		if e.hasKey(f, key) {
			e.twice([]byte(t.keys[key].text))
			return false
		}
		if next = t.longer(f.list, key); next == 0 {
			return false
		}
	}
	// From the last key of a record on none is expected: what waits may become a row, and what stands by itself a map.
	if t.lists[f.list].depth != maxFields {
		t.lists[f.list].child = next
	}
	f.list = next
	t.meet(next)
	if f.met > 0 {
		e.met[f.met-1][key] = struct{}{}
	}
	return true
}

func (e *encoder) hasKey(f *frame, key int32) bool {
	if !e.trie.lists[f.list].isWide() {
		return e.trie.has(f.list, key)
	}
	if f.met == 0 {
		met := map[int32]struct{}{}
		for _, k := range e.trie.keysOf(f.list) {
			met[k] = struct{}{}
		}
		e.met = append(e.met, met)
		f.met = len(e.met)
	}
	_, ok := e.met[f.met-1][key]
	return ok
}

func (e *encoder) twice(key []byte) {
	if e.refuse {
		fail(ErrDuplicateKey, "the key %.60q comes twice in an object", key)
	}
	e.isAnew = true
}

func (e *encoder) mapKey(text []byte) {
	switch {
	case len(text) <= 7:
		e.mapKeys = append(e.mapKeys, inlineCell(text))
	case len(text) > maxSpan:
		fail(ErrStringLimit, "a key has more than 2³⁰ - 1 bytes")
	default:
		e.mapKeys = append(e.mapKeys, uint64(e.out.store(text))|uint64(len(text))<<32|spanOwned)
	}
}

func (e *encoder) becomeMap(f *frame) {
	f.isMap, f.first = true, len(e.mapKeys)
	e.putMapKeys(f.list)
}

func (e *encoder) putMapKeys(list int32) {
	for _, key := range e.trie.keysOf(list) {
		e.mapKey([]byte(e.trie.keys[key].text))
	}
}

// close ends the innermost container, whose item is pushed in place of what it holds.
func (e *encoder) close(start int, tag uint8, home uint32) {
	e.frames = e.frames[:len(e.frames)-1]
	e.items = e.items[:start]
	e.push(tag, uint64(home))
}

func (e *encoder) endObject() {
	f := e.frame()
	start := f.start
	if f.met > 0 {
		e.met = e.met[:f.met-1]
	}
	// The keys of many similar objects are those of a map, not of a row.
	if !f.isMap && e.trie.lists[f.list].isWide() && e.areRows(start) {
		e.becomeMap(f)
	}
	switch {
	case f.isMap:
		home := e.endMap(f)
		if e.outermost == len(e.frames)-1 {
			e.endOutermost()
		} else if e.waits() {
			start-- // the item that waited for a record is the map's
		}
		e.close(start, tagObject, home)
	case e.waits():
		e.endWaiting(objectSize(uint64(e.trie.lists[f.list].depth)), uint64(f.list)<<32)
	default:
		e.close(start, tagObject, e.writeRecord(start, f.list))
	}
}

// endWaiting ends a container that waits: one of so many bytes by itself.
func (e *encoder) endWaiting(size, high uint64) {
	f := e.frame()
	size += f.plain
	x := &e.items[f.start-1]
	x.inside = uint32(len(e.items) - f.start)
	x.bits = high | min(size, 1<<32-1)
	e.frames = e.frames[:len(e.frames)-1]
	e.frame().plain += size
}

func (e *encoder) endArray() {
	f := e.frame()
	if e.waits() && e.outermost < len(e.frames)-1 {
		var s summary
		s.begin()
		for at := f.start; at < len(e.items); {
			at += s.add(e, &e.items[at])
		}
		s.leaf(true)
		e.endWaiting(columnSize+s.size, 0)
		return
	}
	e.outermost = -1
	start := f.start
	home := e.layOutArray(start)
	e.endOutermost()
	e.close(start, tagArray, home)
}

// endOutermost ends the outermost container within which values waited.
func (e *encoder) endOutermost() {
	e.outermost = -1
	e.texts.writeRest()
	// That texts did not repeat here says nothing of those of the next array.
	if !e.noTables {
		e.texts.endPause()
	}
	e.tensors = nil
}

// behind is the item behind one and all that it holds.
func (e *encoder) behind(at int) int { return at + 1 + int(e.items[at].inside) }

// path is the JSON pointer of the value that is being added.
func (e *encoder) path() string {
	var path []byte
	for i, f := range e.frames {
		end := len(e.items)
		if i+1 < len(e.frames) {
			if end = e.frames[i+1].start; e.waits() && i >= e.outermost {
				end--
			}
		}
		switch {
		case !f.isObject:
			n := 0
			for at := f.start; at < end; at = e.behind(at) {
				n++
			}
			path = strconv.AppendInt(append(path, '/'), int64(n), 10)
		case !f.isMap && f.list == 0:
			return string(path)
		case !f.isMap:
			path = appendStep(path, e.trie.keys[e.trie.lists[f.list].key].text)
		default:
			next := len(e.mapKeys)
			for _, inner := range e.frames[i+1:] {
				if inner.isMap {
					next = inner.first
					break
				}
			}
			if next > f.first {
				path = appendStep(path, string(e.keyBytes(next-1)))
			}
		}
		if len(path) > 1000 {
			break
		}
	}
	return string(path)
}

// appendStep appends a key to a JSON pointer.
func appendStep(path []byte, key string) []byte {
	return append(append(path, '/'), strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")...)
}
