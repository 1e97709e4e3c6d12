package livebuf

import (
	"math"
	"slices"
	"unicode/utf8"
)

// Values on their way into a document: what a program gives, or what is taken out of its place.

// fresh is a value by its tag and its cell. A span that is still to be written is in bytes, and a container in parts.
type fresh struct {
	tag   uint8
	bits  uint64
	bytes []byte
	*parts
}

// parts is a container that is still to be written.
type parts struct {
	keys   []Key
	items  []fresh    // elements; of an object the values of its keys
	shape  uint64     // the table's shape, where a row becomes a record of all its columns
	tensor *tensor    // the array is one
	handle *Handle    // that of a row or an array in a list, which it takes along
	inner  []inTensor // those of arrays in a tensor
}

// inTensor is the handle of an array in a tensor.
type inTensor struct {
	dimension int
	row       uint64
	handle    *Handle
}

func floatNode(x float64) fresh { return fresh{tag: tagFloat, bits: math.Float64bits(x)} }

// float is a number as a float.
func (f *fresh) float() float64 {
	if f.tag == tagFloat {
		return math.Float64frombits(f.bits)
	}
	return float64(int64(f.bits))
}

// spanNode is a span of bytes that nobody else changes.
func spanNode(tag uint8, b []byte) fresh {
	if len(b) > 7 {
		return fresh{tag: tag, bytes: b}
	}
	return fresh{tag: tag, bits: inlineCell(b)}
}

// planner makes values of what a program gives. It writes nothing, and fails where a value cannot be stored.
type planner struct {
	depth  int    // of the container that the values come into; 0 if that is not known
	height int    // of the values
	size   uint64 // at most so many bytes they take

	numbers uint8 // the type of the tensor that they come into; 0 of any other place
}

func (p *planner) key(text string) (Key, error) {
	if !utf8.ValidString(text) {
		return Key{}, errorf(ErrBadText, "a key is not UTF-8: a byte string can be a value, but no key")
	}
	if len(text) > maxSpan {
		return Key{}, errorf(ErrStringLimit, "a key has at most %d bytes", maxSpan)
	}
	p.size += 64 + 2*uint64(len(text))
	return shapeKey(text), nil
}

// value is what a value of Go becomes. The most usual ones need no encoder.
func (p *planner) value(value any) (fresh, error) {
	switch x := value.(type) {
	case nil:
		return fresh{tag: tagNull}, nil
	case bool:
		if x {
			return fresh{tag: tagTrue}, nil
		}
		return fresh{tag: tagFalse}, nil
	case int:
		return fresh{tag: tagInt, bits: uint64(x)}, nil
	case int64:
		return fresh{tag: tagInt, bits: uint64(x)}, nil
	case float64:
		return floatNode(x), nil
	case string:
		if len(x) <= maxSpan && utf8.ValidString(x) {
			p.size += 8 + uint64(len(x))
			if len(x) <= 7 {
				return fresh{tag: tagText, bits: textStart(x) | uint64(0x80+len(x))<<56}, nil
			}
			return fresh{tag: tagText, bytes: []byte(x)}, nil
		}
	}
	data, err := Encode(value, NoTables)
	if err != nil {
		return fresh{}, err
	}
	d := &Document{data: data, valid: true}
	return p.copy(d.Root(), 1), nil
}

// copy is a copy of a value of a valid document, which nobody changes.
func (p *planner) copy(v Value, level int) fresh {
	if v.form == formScalar {
		if v.tag < tagText {
			return fresh{tag: v.tag, bits: v.bits}
		}
		p.size += 8 + v.bits
		return spanNode(v.tag, v.spanBytes())
	}
	made := &parts{}
	p.height = max(p.height, level)
	p.size += 96
	if v.form != formArray {
		for it := v.members(); it.next(); {
			made.keys = append(made.keys, shapeKey(string(it.key)))
			made.items = append(made.items, p.copy(it.value, level+1))
			p.size += 64 + 2*uint64(len(it.key))
		}
		return fresh{tag: tagObject, parts: made}
	}
	if t, ok := (*encoder)(nil).tensorOf(v); ok && p.numbers == 0 {
		p.height = max(p.height, level+len(t.lengths)-1)
		p.size += t.arraySize()
		made.tensor = &t
		return fresh{tag: tagArray, parts: made}
	}
	p.size += 16 * v.count()
	c, _ := v.doc.data.column(uint64(v.at))
	if p.numbers != 0 && c.code == p.numbers && c.gaps == 0 {
		// A tensor takes them as they lie.
		width := uint64(columnTypes[c.code].width)
		data := v.doc.data[c.values+width*v.first():][:width*v.count()]
		made.tensor = &tensor{code: c.code, lengths: []uint64{v.count()}, data: data}
		return fresh{tag: tagArray, parts: made}
	}
	made.items = make([]fresh, v.Len())
	for i, x := range v.Elements() {
		made.items[i] = p.copy(x, level+1)
	}
	return fresh{tag: tagArray, parts: made}
}

// lift takes the value of a slot out: what has a home keeps it, and texts stay where they are. Rows, arrays in lists
// and the texts of runs have to be written anew. The slot is to be thrown away.
func (e *Editor) lift(c *column, slot uint64) fresh {
	if c.code == codeCells {
		return e.liftCell(e.u8(c.data+tagAt(slot)), c.data+cellAt(slot))
	}
	if tag := e.gap(c, slot); tag != hasValue {
		return fresh{tag: tag}
	}
	switch c.code {
	case codeText:
		return e.liftCell(tagText, c.values+8*slot)
	case codeDictionaryU8, codeDictionaryU16:
		cell, _ := e.dictionaryCell(c, slot)
		return e.liftCell(tagText, cell)
	case codeObjects, codeArrays:
		home := e.u32(c.values + 4*slot)
		if home == 0 {
			return fresh{tag: tagNull} // the slot was opened, and its value comes next
		}
		return fresh{tag: columnTypes[c.code].tag, bits: home}
	case codeStruct:
		return e.liftRow(c.data, slot)
	case codeList, codeFixedList:
		return e.liftSlice(c.data, slot)
	}
	v := e.live.slot(c, slot)
	if v.tag >= tagText {
		return spanNode(v.tag, slices.Clone(v.spanBytes()))
	}
	return fresh{tag: v.tag, bits: v.bits}
}

func (e *Editor) liftCell(tag uint8, cell uint64) fresh { return fresh{tag: tag, bits: e.u64(cell)} }

func (e *Editor) liftRow(table, row uint64) fresh {
	v := e.live.row(table, row)
	k := v.fields()
	made := &parts{handle: e.takeHandle(table, row)}
	order, _ := v.order()
	extra := v.extra()
	plain := k <= maxFields && order == nil && extra.tag == tagNothing
	if plain {
		made.shape = v.shape()
	}
	add := func(shape, i uint64, node fresh) {
		if plain || node.tag != tagNothing {
			made.items = append(made.items, node)
		}
		if !plain && node.tag != tagNothing {
			made.keys = append(made.keys, e.keyAt(shape, i))
		}
	}
	column := func(i uint64) {
		c := e.col(table + tableSize + columnSize*i)
		add(v.shape(), i, e.lift(&c, row))
	}
	for _, place := range order {
		column(uint64(place))
	}
	for i := range k {
		if i > 127 || !slices.Contains(order, byte(i)) {
			column(i)
		}
	}
	switch at := uint64(extra.at); extra.form {
	case formRecord:
		for i := range extra.fields() {
			add(extra.shape(), i, e.liftCell(e.u8(at+8+tagAt(i)), at+8+cellAt(i)))
		}
	case formMap:
		c, keys := e.col(at+mapValues), e.u32(at+20)
		for i := range c.count {
			if e.u64(keys+8*i) != 0 {
				made.keys = append(made.keys, shapeKey(e.textAt(keys+8*i)))
				made.items = append(made.items, e.lift(&c, i))
			}
		}
	}
	return fresh{tag: tagObject, parts: made}
}

func (e *Editor) liftSlice(list, row uint64) fresh {
	first, end, _ := e.listRange(list, row)
	c := e.col(list + listElements)
	made := &parts{handle: e.takeHandle(list, row)}
	if !c.tensor {
		made.items = make([]fresh, end-first)
		for i := range made.items {
			made.items[i] = e.lift(&c, first+uint64(i))
		}
		return fresh{tag: tagArray, parts: made}
	}
	t, _ := (*encoder)(nil).tensorOf(e.live.slice(list, row))
	t.data = slices.Clone(t.data)
	made.tensor = &t
	for d := 1; c.code == codeFixedList; d++ {
		length := e.u32(c.data + 4)
		for row, h := range e.handles[uint32(c.data)] {
			if r := uint64(row); r >= first && r < end {
				made.inner = append(made.inner, inTensor{d, r - first, h})
				delete(e.handles[uint32(c.data)], row)
			}
		}
		first, end, c = first*length, end*length, e.col(c.data+listElements)
	}
	return fresh{tag: tagArray, parts: made}
}

// textAt is a copy of the text of a span cell.
func (e *Editor) textAt(cell uint64) string {
	start, size, f := e.span(cell)
	if f.bad() {
		panic(f)
	}
	return string(e.mem[start : start+size])
}

// keyAt is key i of a shape.
func (e *Editor) keyAt(shape, i uint64) Key {
	keys, _, f := e.shape(shape)
	if f.bad() {
		panic(f)
	}
	return shapeKey(e.textAt(keys + 8*i))
}

// heightOf is how many containers are within each other in a value.
func heightOf(v Value) int {
	most := 0
	switch v.form {
	case formScalar, formBroken:
		return 0
	case formArray:
		c, _ := v.doc.data.column(uint64(v.at))
		if !hasContainers(c.code) {
			return 1
		}
		for i := range v.count() {
			most = max(most, heightOf(v.doc.slot(&c, v.first()+i)))
		}
	default:
		for it := v.members(); it.next(); {
			most = max(most, heightOf(it.value))
		}
	}
	return most + 1
}
