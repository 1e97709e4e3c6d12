package livebuf

import (
	"slices"
	"sync"
	"unicode/utf8"
)

// Option says how values become a document.
type Option uint8

const (
	// NoTables makes no columns of arrays of similar objects, and of arrays of arrays. Such documents are larger, and
	// no column of them is read at once.
	NoTables Option = 1 << iota
	// Recognize stores texts that are dates, dates and times (RFC 3339) or UUIDs as such values (PROFILE 8).
	Recognize
	// Replace puts U+FFFD for half of a surrogate pair in JSON, and for bytes of a Go string that are not UTF-8. They
	// are errors otherwise.
	Replace
	// RefuseDuplicates makes an error of a key that comes twice in an object. Its last value counts otherwise, at the
	// place of the first.
	RefuseDuplicates
)

type options struct{ noTables, recognize, replace, refuse bool }

// mostKept is the bytes of memory of one encoder that are kept for the next document.
const mostKept = 32 << 20

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// run makes a document of what fill adds to an encoder.
func run[T any](given []Option, source T, fill func(e *encoder, source T)) (data []byte, err error) {
	e := encoders.Get().(*encoder)
	all := Option(0)
	for _, o := range given {
		all |= o
	}
	e.options = options{all&NoTables != 0, all&Recognize != 0, all&Replace != 0, all&RefuseDuplicates != 0}
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(encodeError)
			if !ok {
				panic(r)
			}
			data, err = nil, failed.err
			if x, ok := err.(*Error); ok && x.Path == "" && x.Offset < 0 {
				x.Path = e.path()
			}
		}
		kept := cap(e.out.data) + cap(e.texts.waiting) + 20*cap(e.texts.list) + 4*len(e.texts.index) +
			16*(cap(e.items)+cap(e.found)) + 4*(cap(e.places)+cap(e.ends)) + 2*cap(e.slotCodes)
		if kept+80*cap(e.summaries)+48*cap(e.trie.lists)+8*cap(e.mapKeys) <= mostKept {
			encoders.Put(e)
		}
	}()
	e.begin()
	fill(e, source)
	data = slices.Clone(e.finish())
	if e.isAnew {
		d := Document{data: data, valid: true}
		e.begin()
		e.knows = true
		e.value(d.Root())
		data = slices.Clone(e.finish())
	}
	return data, nil
}

// FromJSON encodes JSON (RFC 8259) as a document, exactly: integers of 64 bits, and numbers that no float64 holds, keep
// their digits (FORMAT 13.1). A byte order mark is passed over. It takes O(length).
//
// The error has the byte in the text, and its message the line and the column. It is of kind ErrBadJSON,
// ErrNestingLimit (more than 1,000 containers within each other), ErrDuplicateKey (where the options refuse them),
// ErrDocumentLimit or ErrStringLimit.
func FromJSON(text []byte, options ...Option) ([]byte, error) {
	return run(options, text, (*encoder).json)
}

// Raw is a copy of a value as a document by itself, which Marshal puts into another one as it is. Of a document's root
// it may have other bytes than the document, since it is encoded anew.
func (v Value) Raw() (RawValue, error) {
	return run(nil, v, (*encoder).value)
}

// RawValue is the bytes of a document that is a part of another value, or is to become one. Marshal takes it as the
// value of its root, and Unmarshal makes one of whatever value is there.
type RawValue []byte

// value adds a value of a document, exactly.
func (e *encoder) value(v Value) {
	if v.doc == nil {
		fail(ErrNotFound, "there is no such value to encode")
	}
	e.left, e.leftText = v.doc.allowance()
	e.copy(v)
}

func (e *encoder) copy(v Value) {
	if e.left--; e.left < 0 {
		panic(encodeError{fault{ErrBudgetExceeded, v.at}.err()})
	}
	switch v.form {
	case formScalar:
		e.copyScalar(v)
		return
	case formBroken:
		panic(encodeError{v.Err()})
	case formArray:
		if t, ok := e.tensorOf(v); ok {
			e.tensor(t)
			return
		}
		e.beginArray()
		for _, x := range v.Elements() {
			e.copy(x)
		}
		e.endArray()
		return
	}
	if e.isMapOfRows(v) {
		e.beginMapOfRows()
	} else {
		e.beginObject()
	}
	it := v.members()
	for it.next() {
		if it.value.form == formBroken {
			panic(encodeError{it.value.Err()})
		}
		e.key(e.checked(it.key, v.at))
		e.copy(it.value)
	}
	e.left -= int64(it.skipped)
	e.endObject()
}

// checked is bytes that must be UTF-8.
func (e *encoder) checked(text []byte, at uint32) []byte {
	if !utf8.Valid(text) {
		panic(encodeError{fault{ErrBadText, at}.err()})
	}
	return text
}

func (e *encoder) copyScalar(v Value) {
	if v.tag >= tagText {
		// Many values of a damaged document may be one long text.
		if e.leftText -= int64(v.bits); e.leftText < 0 {
			panic(encodeError{fault{ErrBudgetExceeded, v.at}.err()})
		}
	}
	switch v.tag {
	case tagNothing:
		panic(encodeError{v.Err()})
	case tagNull, tagFalse, tagTrue:
		e.push(v.tag, 0)
	case tagUint:
		e.unsigned(v.bits)
	case tagText:
		e.string(e.checked(v.spanBytes(), v.at))
	case tagLargeDecimal:
		if !isLargeDecimal(v.spanBytes()) {
			panic(encodeError{fault{ErrBadCell, v.at}.err()})
		}
		d, _ := v.Decimal()
		e.decimal(d)
	case tagNumberText:
		if !isNumber(v.spanBytes()) {
			panic(encodeError{fault{ErrBadNumber, v.at}.err()})
		}
		e.span(v.tag, v.spanBytes())
	default:
		if v.tag >= tagText {
			e.span(v.tag, v.spanBytes())
		} else {
			e.push(v.tag, v.bits)
		}
	}
}

// tensorOf is a tensor as it lies in a document, if the array is one.
func (e *encoder) tensorOf(v Value) (t tensor, ok bool) {
	m, at, first, count := v.doc.data, uint64(v.at), v.first(), v.count()
	c, f := m.column(at)
	if f.bad() || !c.tensor {
		return t, false
	}
	t.lengths = []uint64{count}
	for c.code == codeFixedList && !f.bad() {
		length := m.u32(c.data + 4)
		if t.lengths = append(t.lengths, length); len(t.lengths) > maxDimensions || length == 0 {
			panic(encodeError{fault{ErrBadCount, uint32(c.data)}.err()})
		}
		// No number that is in the document is beyond these.
		first, count = min(first*length, maxUsed), min(count*length, maxUsed)
		c, f = m.column(c.data + listElements)
	}
	if !f.bad() && (c.code < codeI8 || c.code > codeF64) && c.code < codeF16 {
		f = fault{ErrBadCode, uint32(c.at)}
	}
	if f.bad() {
		panic(encodeError{f.err()})
	}
	width := uint64(columnTypes[c.code].width)
	if count > 0 && !m.reaches(c.values+width*first, width*count) {
		panic(encodeError{fault{ErrOutOfBounds, uint32(c.at)}.err()})
	}
	t.code = c.code
	if count > 0 {
		t.data = m[c.values+width*first:][:width*count]
	}
	if c.code == codeBool8 && slices.ContainsFunc(t.data, func(b byte) bool { return b > 1 }) {
		panic(encodeError{fault{ErrBadCell, uint32(c.at)}.err()})
	}
	return t, true
}

// isMapOfRows says whether an object becomes a map whose values may be rows (PROFILE 4).
func (e *encoder) isMapOfRows(v Value) bool {
	if v.form != formMap || e.noTables || e.waits() || recordMembers(v) >= 0 {
		return false
	}
	count, all, most := 0, 0, 0
	for it := v.members(); it.next(); count++ {
		if it.value.tag == tagNull {
			continue
		}
		n := recordMembers(it.value)
		if n < 0 {
			return false
		}
		all, most = all+n, max(most, n)
	}
	return areSimilar(count, all, most)
}

// recordMembers is the members of an object that becomes a record; -1 where it becomes a map, or is no object.
func recordMembers(v Value) int {
	switch v.form {
	case formRecord:
		return v.Len()
	case formMap, formRow:
		count := 0
		for it := v.members(); it.next(); {
			if count++; count > maxFields || len(it.key) > maxKey {
				return -1
			}
		}
		return count
	}
	return -1
}
