package livebuf

import (
	"math"
	"math/bits"
	"slices"
)

// Deciding which arrays become columns, by their values and by the size of each layout (PROFILE 6).
//
// A plan is made from the outside in. The elements of an array are one column. Similar objects in it are a struct, with
// a column for each key; arrays in it are a list, with one column for all their elements; and so on.

const (
	missing      = -1      // the place of a member that a row lacks, or of one below a row or array that is not there
	mostLists    = 4096    // different key lists of similar objects
	mostListed   = 1 << 20 // keys that these have together
	mostOrdered  = 128     // columns of rows with orders of their own
	leastTexts   = 8       // slots of a column with a dictionary or a run
	mostTexts    = 65_536  // texts of a dictionary
	infinite     = 1 << 62
	narrowWhole  = 1 << 24 // integers that binary32 holds
	widestWhole  = 1 << 53 // and binary64
	leastMembers = 8       // of a map whose values are rows
)

// Kinds of values, a bit for each.
const (
	ofNull = 1 << iota
	ofBool
	ofInt
	ofFloat
	ofText
	ofObject
	ofArray
	ofOther
	ofUUID
	ofTensor
	ofDate
	ofTime
	ofDateTime
	ofTimestamp
	ofDecimal
)

var itemKinds = func() (kinds [256]uint16) {
	for i := range kinds {
		kinds[i] = ofOther
	}
	for tag, kind := range map[uint8]uint16{tagNothing: 0, tagNull: ofNull, tagFalse: ofBool, tagTrue: ofBool,
		tagInt: ofInt, tagUint: ofInt, tagFloat: ofFloat, tagText: ofText, itemText: ofText, itemLoose: ofText,
		tagDate: ofDate, tagTime: ofTime, tagDateTime: ofDateTime, tagTimestamp: ofTimestamp, tagDecimal: ofDecimal,
		itemUUID: ofUUID, tagObject: ofObject, itemObject: ofObject, tagArray: ofArray, itemArray: ofArray,
		itemTensor: ofTensor} {
		kinds[tag] = kind
	}
	return kinds
}()

// codesOfKinds is the columns of values that are all of one kind, by the kind's bit. Those of others are cells.
var codesOfKinds = [16]uint8{1: codeBool, 4: codeText, 5: codeObjects, 6: codeArrays, 8: codeUUID, 9: codeArrays,
	10: codeDate, 11: codeTime, 12: codeDateTime, 13: codeTimestamp, 14: codeDecimal}

// objectSize is the size of an object of so many members that is no row: of a record, or else of a map.
func objectSize(members uint64) uint64 {
	if members <= maxFields {
		return recordSize(members)
	}
	return mapSize + 8*members + cellsSize(members) + bucketSize*bucketsOf(members) + 56
}

// bucketsOf is the count of buckets of a map of so many entries (PROFILE 7).
func bucketsOf(entries uint64) uint64 {
	if entries <= maxUnindexed {
		return 0
	}
	return min((entries+7)/8, maxBuckets)
}

// offsetsCode is the narrowest column for offsets that reach a number.
func offsetsCode(last uint64) uint8 {
	switch {
	case last <= math.MaxUint8:
		return codeU8
	case last <= math.MaxUint16:
		return codeU16
	}
	return codeU32
}

// isSingle says whether binary32 holds a float exactly, by its bits. A signalling NaN may become quiet on the way.
func isSingle(bits uint64) bool {
	f := math.Float64frombits(bits)
	if f != f {
		return bits&(1<<29-1) == 0 && bits>>51&1 == 1
	}
	return float64(float32(f)) == f
}

// isWhole says whether a float would be an integer in a column of numbers of this bound (FORMAT 6.1).
func isWhole(f, bound float64) bool {
	return math.Abs(f) <= bound && f == math.Trunc(f) && (f != 0 || !math.Signbit(f))
}

// summary is what a column's values have in common.
type summary struct {
	count   uint64 // slots, with and without a value
	missing uint64 // those where a row has no such member
	uuids   uint64
	plain   uint64 // bytes of the containers among them as records and plain arrays
	low     int64
	high    int64
	whole   float64 // the least magnitude of a float that would be an integer in a column of numbers
	size    uint64  // bytes of the smallest column without structs and lists, which leaf finds
	kinds   uint16
	code    uint8 // the code of that column
	large   bool  // there are integers above 2⁶³ - 1
	double  bool  // four bytes do not hold all floats
}

func (s *summary) begin() { s.low, s.high, s.whole = math.MaxInt64, math.MinInt64, math.Inf(1) }

// add adds an item; how many items it is, with all that it holds.
func (s *summary) add(e *encoder, x *item) int {
	s.count++
	s.kinds |= itemKinds[x.tag]
	switch x.tag {
	case tagInt:
		s.low, s.high = min(s.low, int64(x.bits)), max(s.high, int64(x.bits))
	case tagUint:
		s.large = true
	case tagFloat:
		s.double = s.double || !isSingle(x.bits)
		if f := math.Float64frombits(x.bits); math.Abs(f) < s.whole && isWhole(f, widestWhole) {
			s.whole = math.Abs(f)
		}
	case itemUUID:
		s.uuids++
	case itemArray, itemObject:
		s.plain += x.bits & 0xffffffff
	case itemTensor:
		s.plain += e.tensors[x.bits].arraySize()
	}
	return 1 + int(x.inside)
}

func (s *summary) gaps() uint8 {
	gaps := uint8(s.kinds & ofNull)
	if s.missing > 0 {
		gaps |= 2
	}
	return gaps
}

// typed is the narrowest column that holds all values but null.
func (s *summary) typed() uint8 {
	in := func(low, high int64) bool { return s.low >= low && s.high <= high }
	switch kinds := s.kinds &^ ofNull; kinds {
	case 0:
		if s.gaps() != 0 {
			return codeNull
		}
		return codeCells
	case ofInt:
		switch {
		case s.large && s.low < 0:
			return codeCells
		case s.large:
			return codeU64
		case in(math.MinInt8, math.MaxInt8):
			return codeI8
		case in(0, math.MaxUint8):
			return codeU8
		case in(math.MinInt16, math.MaxInt16):
			return codeI16
		case in(0, math.MaxUint16):
			return codeU16
		case in(math.MinInt32, math.MaxInt32):
			return codeI32
		case in(0, math.MaxUint32):
			return codeU32
		}
		return codeI64
	case ofFloat:
		if s.double {
			return codeF64
		}
		return codeF32
	case ofInt | ofFloat:
		switch {
		case s.large || !in(-widestWhole, widestWhole):
			return codeCells
		case !s.double && in(-narrowWhole, narrowWhole) && s.whole <= narrowWhole:
			return codeMarkedF32
		case !s.double && in(-narrowWhole, narrowWhole):
			return codeNumbersF32
		case s.whole <= widestWhole:
			return codeMarkedF64
		}
		return codeNumbersF64
	default:
		if kinds&(kinds-1) != 0 && kinds != ofArray|ofTensor {
			return codeCells
		}
		return codesOfKinds[bits.TrailingZeros16(kinds)]
	}
}

// leaf finds the smallest column without structs and lists: its code, and the bytes of its data.
func (s *summary) leaf(tables bool) {
	tagged, gaps := cellsSize(s.count), s.gaps()
	s.code = s.typed()
	s.size = bitmapsSize(gaps, s.count)
	if s.code == codeUUID {
		s.size += 16 * (s.count - s.uuids) // the bytes of a UUID itself cost nothing, as text does
	} else {
		s.size += valuesSize(s.code, s.count)
	}
	if s.size > tagged || !tables && (gaps != 0 || s.code == codeUUID) {
		s.code = codeCells
	}
	if s.code == codeCells {
		s.size = tagged
	}
}

// tensor is an array of numbers of one type and shape.
type tensor struct {
	code    uint8
	lengths []uint64
	data    []byte
}

// arraySize is the size of the array by itself.
func (t *tensor) arraySize() uint64 {
	return columnSize + 32*uint64(len(t.lengths)-1) + word(uint64(len(t.data)))
}

// plan is how a column is to be laid out.
type plan struct {
	code    uint8
	gaps    uint8
	offsets uint8 // of a list or run, the code of the offsets; 0 where a run has none, since its texts have one length
	waits   bool  // containers wait in it, or below it, that are no part of columns
	from    int   // the places of the values: the first one in the encoder's list, and their count
	count   int
	size    uint64   // bytes behind the column's header, text and shapes of others apart
	keys    []int32  // of a table
	columns []*plan  // of a table; one more has the orders of rows
	child   *plan    // of a list, the column of the elements
	ends    []uint32 // of a list, where each array ends; none where all have one length
	texts   []item   // of a dictionary
	codes   []uint16 // of a dictionary, of each slot
	bytes   uint64   // of a run's texts
	tensor  *tensor  // the type and shape of a column of tensors
}

func (e *encoder) newPlan(s *summary, from int) *plan {
	n := len(e.plans)
	if n == cap(e.plans) {
		e.plans, n = make([]plan, 0, 32), 0 // the others are still in use
	}
	e.plans = e.plans[:n+1]
	p := &e.plans[n]
	p.code, p.from, p.count, p.size = s.code, from, int(s.count), s.size+s.plain
	if s.code != codeCells {
		p.gaps = s.gaps()
	}
	p.waits = s.kinds&(ofObject|ofArray|ofTensor) != 0
	return p
}

// take takes so many zeros of a list that is kept for the next document.
func take[T any](list *[]T, count int) []T {
	from := len(*list)
	*list = slices.Grow(*list, count)[:from+count]
	taken := slices.Clip((*list)[from:])
	clear(taken)
	return taken
}

// room takes so many places; the first one.
func (e *encoder) room(count int) int {
	from := len(e.places)
	e.places = slices.Grow(e.places, count)[:from+count]
	return from
}

// planArray is the plan for the items from start to end as one array's column.
func (e *encoder) planArray(start, end int) *plan {
	if end > maxElements {
		fail(ErrElementLimit, "there are more than 2³¹ values: make several documents of them")
	}
	var s summary
	s.begin()
	from := len(e.places)
	for at := start; at < end; {
		e.places = append(e.places, int32(at))
		at += s.add(e, &e.items[at])
	}
	return e.planColumn(&s, from, 0)
}

// planColumn is the smallest plan for these values, with so many structs and lists around them.
func (e *encoder) planColumn(s *summary, from, depth int) *plan {
	kinds, end := s.kinds&^ofNull, len(e.places)
	s.leaf(!e.noTables)
	p := e.newPlan(s, from)
	if e.noTables {
		p.waits = false
		return p
	}
	if isNested := kinds == ofObject || kinds == ofArray || kinds == ofTensor; isNested && p.count >= 2 &&
		depth < maxColumnNesting {
		bits := bitmapsSize(s.gaps(), s.count)
		size := p.size - min(bits, p.size)
		s.code = codeStruct
		other := e.newPlan(s, from)
		found := false
		switch kinds {
		case ofObject:
			found = e.planStruct(other, depth, size)
		case ofArray:
			found = e.planList(other, depth)
		default:
			found = e.planTensors(other, depth)
		}
		if found && other.size <= size {
			other.size += bits
			return other
		}
		e.places = e.places[:end]
	}
	if kinds == ofText && p.count >= leastTexts {
		e.planTexts(p, s.gaps())
	}
	return p
}

// planTexts makes a column of texts a dictionary or a run, where that is smaller.
func (e *encoder) planTexts(p *plan, gaps uint8) {
	var bytes, more, singles, there, same uint64
	uniform := true
	for _, at := range e.places[p.from : p.from+p.count] {
		if at < 0 || e.items[at].tag == tagNull {
			continue
		}
		length := e.items[at].bits >> 32
		switch e.items[at].tag {
		case itemText:
			number := e.items[at].bits
			length = uint64(e.texts.list[number].length)
			if e.texts.isSingle(number) {
				singles++
			} else {
				more += length
			}
		case itemLoose:
			if length > maxShared {
				return
			}
			singles++
		default:
			length = length >> 24 & 0x7f
			more += length
		}
		bytes += length
		if there == 0 {
			same = length
		}
		there++
		uniform = uniform && same == length
	}
	bits, count := bitmapsSize(gaps, uint64(p.count)), uint64(p.count)
	// Texts of one length need no offsets. Then slots without a value have bytes, too.
	all, head, offsets := bytes, uint64(32), uint8(0)
	if spare := (count - there) * same; uniform && same > 0 && spare <= bytes {
		all += spare
	} else {
		offsets = offsetsCode(bytes)
		head = 48 + valuesSize(offsets, count+1)
	}
	run := uint64(infinite)
	if all <= maxSpan {
		run = bits + head + more + word(all) - bytes
	}
	// A dictionary comes first where both are equal.
	most := (int64(min(run, p.size-1)) - int64(bits+word(count)+columnSize)) / 8
	size := uint64(infinite)
	var found []item
	var codes []uint16
	code := uint8(codeDictionaryU8)
	if int64(singles) <= most && most >= 1 {
		if found, codes = e.dictionary(p, int(min(most, mostTexts))); codes != nil {
			if len(found) > 256 {
				code = codeDictionaryU16
			}
			size = bits + valuesSize(code, count) + 8*uint64(len(found))
		}
	}
	switch {
	case size <= run && size < p.size:
		p.code, p.size, p.texts, p.codes = code, size, found, codes
	case run < p.size:
		p.code, p.size, p.offsets, p.bytes = codeRun, run, offsets, all
	default:
		return
	}
	p.gaps = gaps
}

// dictionary is the different texts of a column, and their codes; none if there are more than so many.
func (e *encoder) dictionary(p *plan, most int) (texts []item, codes []uint16) {
	width := bits.Len(uint(max(2*min(most, p.count)-1, 63)))
	size := 1 << width
	if len(e.codes) < size {
		e.codes = make([]uint32, size)
	}
	table := e.codes[:size]
	clear(table)
	codes = take(&e.slotCodes, p.count)
	from := len(e.found)
	e.found = slices.Grow(e.found, min(most, p.count))
	texts, items, latest := e.found[from:], e.items, -1
	for i, at := range e.places[p.from : p.from+p.count] {
		if at < 0 || items[at].tag == tagNull {
			continue
		}
		x := &items[at]
		if latest >= 0 && texts[latest].bits == x.bits {
			codes[i] = uint16(latest)
			continue
		}
		code := -1
		// What was met once equals no other.
		if x.tag == tagText || x.tag == itemText && !e.texts.isSingle(x.bits) {
			at := int(x.bits * 0x9e3779b97f4a7c15 >> (64 - width&63)) // only the highest bits depend on all letters
			for ; table[at] != 0 && code < 0; at = (at + 1) & (size - 1) {
				if texts[table[at]-1].bits == x.bits {
					code = int(table[at] - 1)
				}
			}
			if code < 0 {
				table[at] = uint32(len(texts)) + 1
			}
		}
		if code < 0 {
			if len(texts) >= most {
				return nil, nil
			}
			code = len(texts)
			texts = append(texts, *x)
		}
		codes[i] = uint16(code)
		latest = code
	}
	if latest < 0 {
		return nil, nil
	}
	e.found = e.found[:from+len(texts)]
	return slices.Clip(texts), codes
}

// planStruct makes a struct of objects; false if it would take more than so many bytes, or cannot be had.
func (e *encoder) planStruct(p *plan, depth int, size uint64) bool {
	lists := e.trie.lists
	// The different key lists as they are met, and the number of each.
	var met []int32
	var numbers map[int32]int
	var filled, listed uint64
	latest := int32(-1)
	for _, at := range e.places[p.from : p.from+p.count] {
		if at < 0 || e.items[at].tag == tagNull {
			continue
		}
		if e.items[at].tag != itemObject {
			return false // a map among the objects has no key list
		}
		list := int32(e.items[at].bits >> 32)
		filled += uint64(lists[list].depth)
		if list == latest {
			continue
		}
		latest = list
		if len(met) == 1 && numbers == nil {
			numbers = map[int32]int{met[0]: 0}
		}
		if _, ok := numbers[list]; !ok {
			if numbers != nil {
				numbers[list] = len(met)
			}
			met = append(met, list)
			listed += uint64(lists[list].depth)
		}
	}
	if len(met) > mostLists || len(met) > 1 && listed > mostListed {
		return false
	}
	// Keys that few rows have make wide tables of nothing.
	most := int(min(4*filled/uint64(p.count), maxColumns))
	keys, orders := e.trie.keysOf(met[0]), [][]int32(nil)
	if len(met) > 1 {
		keys, orders = e.trie.merge(met, most)
	}
	width, count := len(keys), p.count
	if width == 0 || width > most {
		return false
	}
	below := e.room(width * count)
	places, items := e.places, e.items
	columns := take(&e.summaries, width)
	for i := range columns {
		columns[i].begin()
	}
	if len(met) > 1 || filled < uint64(width*count) {
		for i := below; i < below+width*count; i++ {
			places[i] = missing
		}
	}
	latest = -1
	var order []int32
	for i := range count {
		row := places[p.from+i]
		if row < 0 || e.items[row].tag != itemObject {
			continue
		}
		if list := int32(e.items[row].bits >> 32); len(met) > 1 && list != latest {
			order, latest = orders[numbers[list]], list
		}
		end := e.behind(int(row))
		for at, k := int(row)+1, 0; at < end; k++ {
			column := k
			if order != nil {
				column = int(order[k])
			}
			places[below+column*count+i] = int32(at)
			at += columns[column].add(e, &items[at])
		}
	}
	// What the columns take at least, so that those of no use are not planned.
	p.size = tableSize + columnSize*uint64(width)
	if len(met) > 1 {
		if width > maxFields {
			p.size += wideShapeSize(uint64(width))
		} else {
			p.size += shapeSize(uint64(width))
		}
	}
	least := p.size
	for i := range columns {
		columns[i].missing = uint64(count) - columns[i].count
		columns[i].count = uint64(count)
		least += columns[i].least()
	}
	p.keys, p.waits = keys, false
	p.columns = make([]*plan, width, width+1)
	for i := range columns {
		if least > size {
			return false
		}
		least -= columns[i].least()
		c := e.planColumn(&columns[i], below+i*count, depth+1)
		p.columns[i] = c
		p.size += c.size
		least += c.size
		p.waits = p.waits || c.waits
	}
	if slices.ContainsFunc(orders, func(o []int32) bool { return !slices.IsSorted(o) }) {
		own := e.planOrders(p, orders, numbers)
		p.columns = append(p.columns, own)
		p.size += columnSize + own.size
	}
	return true
}

// least is the bytes that a column of these values takes at least.
func (s *summary) least() uint64 {
	switch s.kinds &^ ofNull {
	case ofText, ofObject, ofArray, ofTensor:
		return 0
	}
	s.leaf(true)
	return s.size
}

// planOrders is the column with the orders of rows whose members are not in that of the columns.
func (e *encoder) planOrders(table *plan, orders [][]int32, numbers map[int32]int) *plan {
	p := &plan{count: table.count, codes: take(&e.slotCodes, table.count), code: codeDictionaryU8}
	listCodes := make([]int, len(orders))
	for i, order := range orders {
		listCodes[i] = -1
		if slices.IsSorted(order) {
			continue
		}
		listCodes[i] = len(p.texts)
		e.scratch = e.scratch[:0]
		for _, column := range order {
			e.scratch = append(e.scratch, byte(column))
		}
		if n := uint64(len(order)); n <= 7 {
			p.texts = append(p.texts, item{tag: tagText, bits: inlineCell(e.scratch)})
		} else {
			p.size += n
			p.texts = append(p.texts, item{tag: itemLoose, bits: uint64(e.texts.keep(e.scratch)) | n<<32})
		}
	}
	p.from = e.room(p.count)
	for i := range p.count {
		row, code := e.places[table.from+i], -1
		if row >= 0 && e.items[row].tag == itemObject {
			code = listCodes[numbers[int32(e.items[row].bits>>32)]]
		}
		if code < 0 {
			row, p.gaps = missing, 2
		} else {
			p.codes[i] = uint16(code)
		}
		e.places[p.from+i] = row
	}
	if len(p.texts) > 256 {
		p.code = codeDictionaryU16
	}
	p.size += bitmapsSize(p.gaps, uint64(p.count)) + valuesSize(p.code, uint64(p.count)) + 8*uint64(len(p.texts))
	return p
}

// merge merges key lists into one of all their keys. The orders are the places of each list's keys in it. None where
// there are more than so many keys, or more than 128 in lists that contradict each other.
func (t *trie) merge(lists []int32, most int) (merged []int32, orders [][]int32) {
	var keys, before []int32
	var followers [][]int32
	numbers := map[int32]int32{}
	for _, list := range lists {
		order := t.keysOf(list)
		for i, key := range order {
			number, ok := numbers[key]
			if !ok {
				if number = int32(len(keys)); int(number) >= most {
					return nil, nil
				}
				numbers[key] = number
				keys, before, followers = append(keys, key), append(before, 0), append(followers, nil)
			}
			if i > 0 {
				followers[order[i-1]] = append(followers[order[i-1]], number)
				before[number]++
			}
			order[i] = number
		}
		orders = append(orders, order)
	}
	// A set of the numbers of keys that follow no key that is left, from which the least one is taken, over and over.
	free := make([]uint64, len(keys)/64+1)
	for number, count := range before {
		if count == 0 {
			free[number>>6] |= 1 << (number & 63)
		}
	}
	place := make([]int32, len(keys))
	for len(merged) < len(keys) {
		next, low := int32(-1), slices.IndexFunc(free, func(word uint64) bool { return word != 0 })
		if low >= 0 {
			next = int32(low<<6 + bits.TrailingZeros64(free[low]))
			free[low] &= free[low] - 1
		} else {
			if len(keys) > mostOrdered {
				return nil, nil
			}
			next = int32(slices.IndexFunc(before, func(count int32) bool { return count >= 0 }))
		}
		before[next] = -1 // it is placed
		place[next] = int32(len(merged))
		merged = append(merged, keys[next])
		for _, to := range followers[next] {
			if before[to] > 0 {
				if before[to]--; before[to] == 0 {
					free[to>>6] |= 1 << (to & 63)
				}
			}
		}
	}
	for _, order := range orders {
		for i, number := range order {
			order[i] = place[number]
		}
	}
	return merged, orders
}

// planList makes a list of arrays; false if it cannot be had.
func (e *encoder) planList(p *plan, depth int) bool {
	var elements summary
	elements.begin()
	ends := take(&e.ends, p.count)
	begin := len(e.places)
	length, absent, uniform := -1, 0, true
	for i := range p.count {
		row := e.places[p.from+i]
		switch {
		case row >= 0 && e.items[row].tag == itemArray:
			first := len(e.places)
			for at, end := int(row)+1, e.behind(int(row)); at < end; {
				e.places = append(e.places, int32(at))
				at += elements.add(e, &e.items[at])
			}
			here := len(e.places) - first
			uniform = uniform && (length < 0 || length == here)
			length = here
		case row >= 0 && e.items[row].tag != tagNull:
			return false // an array that was laid out already cannot be part of a list
		default:
			absent++
		}
		ends[i] = uint32(elements.count)
	}
	total := elements.count
	if total == 0 && p.count < 4 {
		return false
	}
	fixed := uniform && length > 0 && uint64(absent*length) <= total
	if fixed && absent > 0 {
		// Spread from the last, each behind those that are missing before it.
		end := len(e.places)
		e.room(absent * length)
		for i := p.count - 1; i >= 0; i-- {
			to := e.places[begin+i*length:][:length]
			if row := e.places[p.from+i]; row >= 0 && e.items[row].tag == itemArray {
				end -= length
				copy(to, e.places[end:end+length])
				continue
			}
			for j := range to {
				to[j] = missing
			}
		}
		elements.missing = uint64(absent * length)
		elements.count = uint64(p.count * length)
	}
	p.child = e.planColumn(&elements, begin, depth+1)
	p.waits = p.child.waits
	p.code, p.size = codeFixedList, 32+p.child.size
	if !fixed {
		p.code, p.ends, p.offsets = codeList, ends, offsetsCode(total)
		p.size += 16 + valuesSize(p.offsets, uint64(p.count)+1)
	}
	return true
}

// planTensors makes a list of tensors of one type and shape; false if it cannot be had.
func (e *encoder) planTensors(p *plan, depth int) bool {
	var first *tensor
	there := 0
	for _, at := range e.places[p.from : p.from+p.count] {
		if at < 0 || e.items[at].tag != itemTensor {
			continue
		}
		t := &e.tensors[e.items[at].bits]
		if first == nil {
			first = t
		}
		if t.code != first.code || !slices.Equal(t.lengths, first.lengths) {
			return false
		}
		there++
	}
	numbers := uint64(p.count)
	for _, length := range first.lengths {
		numbers *= length
	}
	if numbers == 0 || depth+len(first.lengths) > maxColumnNesting || numbers > maxElements || p.count > 2*there {
		return false
	}
	p.code, p.tensor, p.waits = codeFixedList, first, false
	p.size = 32*uint64(len(first.lengths)) + word(uint64(p.count)*uint64(len(first.data)))
	return true
}
