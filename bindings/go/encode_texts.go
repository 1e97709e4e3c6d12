package livebuf

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// output is the document that is being written: blocks are appended, and words filled in later. The room behind it is 0.
type output struct{ data []byte }

// grow appends bytes that are 0; where they begin.
func (o *output) grow(size uint64) uint32 {
	at := uint64(len(o.data))
	if at+size > maxUsed {
		fail(ErrDocumentLimit, "the document would have more than 4 GiB: make several of it")
	}
	if at+size > uint64(cap(o.data)) {
		o.data = slices.Grow(o.data, int(size))
	}
	o.data = o.data[:at+size]
	return uint32(at)
}

func (o *output) align() {
	if len(o.data)&7 != 0 {
		o.grow(-uint64(len(o.data)) & 7)
	}
}

// store appends a span that one cell owns; where it begins. Such a span at a multiple of 8 would own the padding behind
// it (FORMAT 3.3), so it does not begin there (PROFILE 3).
func (o *output) store(span []byte) uint32 {
	if len(o.data)&7 == 0 && len(span)&7 != 0 {
		o.data = append(o.data, 0)
	}
	at := uint64(len(o.data))
	if at+uint64(len(span)) > maxUsed {
		fail(ErrDocumentLimit, "the document would have more than 4 GiB: make several of it")
	}
	o.data = append(o.data, span...)
	return uint32(at)
}

func (o *output) put16(at, x uint32) { binary.LittleEndian.PutUint16(o.data[at:], uint16(x)) }
func (o *output) put32(at, x uint32) { binary.LittleEndian.PutUint32(o.data[at:], x) }
func (o *output) put64(at uint32, x uint64) {
	binary.LittleEndian.PutUint64(o.data[at:], x)
}

// header writes the header of a column (FORMAT 6.1).
func (o *output) header(at uint32, code, gaps, tensor uint8, count uint64, data uint32) {
	o.put32(at, kindArray|uint32(code)<<8|uint32(gaps)<<16|uint32(tensor)<<24)
	o.put32(at+4, uint32(count))
	o.put32(at+8, uint32(count))
	o.put32(at+12, data)
}

// next appends a zero value. One that is appended as a literal is made elsewhere first and then copied, which takes the
// processor several times longer.
func next[T any](list *[]T) *T {
	n := len(*list)
	if n == cap(*list) {
		*list = slices.Grow(*list, 1)
	}
	*list = (*list)[:n+1]
	x := &(*list)[n]
	*x = *new(T)
	return x
}

// inlineCell is the span cell of at most seven bytes.
func inlineCell(span []byte) uint64 {
	return textStart(textOf(span)) | uint64(0x80+len(span))<<56
}

// What is known of the cells that refer to a text: none does so far, or several do. Else it is where the only one is.
const (
	cellNone = 0
	cellMany = 1<<32 - 1
)

// Where the bytes of a text are.
const (
	textWaits   = iota // beside the values of the outermost array
	textWritten        // in the document
	textInRun          // in the document, but within a run
)

// Texts that are searched before it is judged whether that is worth it; different texts up to which all are searched;
// and how long pauses are (PROFILE 3).
const (
	textsJudged   = 64
	textsFew      = 1024
	shortestPause = 64
	longestPause  = 16_384
)

// sharedText is a text that is written once, though several cells may refer to it.
type sharedText struct {
	at, length uint32
	cell       uint32
	hash       uint32
	place      uint8
}

// texts has the texts that may be shared (PROFILE 3). Those of the outermost open array wait beside its values, since
// they may become part of a run.
type texts struct {
	out       *output
	waiting   []byte
	list      []sharedText
	index     []uint32 // numbers of texts, and 1, by their hashes
	unwritten int      // from which text on some may wait
	pause     int      // texts that are not searched in this pause
	next      int      // the length of the next one
	searched  int      // texts since the last verdict
	found     bool     // whether one of them was found
}

var textSeed = maphash.MakeSeed() // so that nobody can choose texts that collide

func (t *texts) begin() {
	if len(t.index) > 1<<16+16*len(t.list) {
		t.index = nil // it would take longer to clear than the last document took
	} else if len(t.list) > 0 {
		clear(t.index)
	}
	t.list, t.waiting, t.unwritten = t.list[:0], t.waiting[:0], 0
	t.endPause()
}

// endPause ends a pause and a group.
func (t *texts) endPause() { t.pause, t.next, t.searched, t.found = 0, shortestPause, 0, false }

// skips says whether the next text is in a pause.
func (t *texts) skips() bool {
	if t.pause == 0 {
		return false
	}
	t.pause--
	return true
}

func (t *texts) judge(found bool) {
	t.searched++
	t.found = t.found || found
	if t.searched < textsJudged {
		return
	}
	if t.found || len(t.list) < textsFew {
		t.next = shortestPause
	} else {
		t.pause = t.next
		t.next = min(2*t.next, longestPause)
	}
	t.searched, t.found = 0, false
}

// keep keeps bytes beside the values of the outermost array; where they are.
func (t *texts) keep(text []byte) uint32 {
	at := len(t.waiting)
	if uint64(at)+uint64(len(text)) > maxUsed {
		fail(ErrDocumentLimit, "the document would have more than 4 GiB: make several of it")
	}
	t.waiting = append(t.waiting, text...)
	return uint32(at)
}

// bytes is the bytes of a text.
func (t *texts) bytes(number uint64) []byte {
	x := t.list[number]
	if x.place == textWaits {
		return t.waiting[x.at : x.at+x.length]
	}
	return t.out.data[x.at : x.at+x.length]
}

// intern is the number of a text that is searched. If it is new, it is kept where it waits, or else written.
func (t *texts) intern(text []byte, waits bool) uint64 {
	if 2*len(t.list) >= len(t.index) {
		t.index = make([]uint32, max(4*len(t.index), 64))
		for number, x := range t.list {
			t.index[t.free(x.hash)] = uint32(number) + 1
		}
	}
	hash := uint32(maphash.Bytes(textSeed, text))
	mask := uint32(len(t.index) - 1)
	at := hash & mask
	for ; t.index[at] != 0; at = (at + 1) & mask {
		number := uint64(t.index[at] - 1)
		if t.list[number].hash == hash && bytes.Equal(t.bytes(number), text) {
			t.judge(true)
			t.share(number)
			if !waits {
				t.write(number)
			}
			return number
		}
	}
	number := len(t.list)
	t.index[at] = uint32(number) + 1
	x := next(&t.list)
	x.length, x.hash = uint32(len(text)), hash
	t.judge(false)
	if waits {
		x.at = t.keep(text)
	} else {
		x.at, x.place = t.out.store(text), textWritten
	}
	return uint64(number)
}

func (t *texts) free(hash uint32) uint32 {
	mask := uint32(len(t.index) - 1)
	for hash &= mask; t.index[hash] != 0; hash = (hash + 1) & mask {
	}
	return hash
}

// share notes that a further cell refers to a text. The cell that thought itself the owner shares from now on.
func (t *texts) share(number uint64) {
	x := &t.list[number]
	if x.cell != cellNone && x.cell != cellMany {
		t.out.put32(x.cell+4, x.length)
	}
	x.cell = cellMany
}

// write writes a text that a cell is to refer to, where it is not written yet.
func (t *texts) write(number uint64) {
	if t.list[number].place != textWritten {
		t.list[number].at = t.out.store(t.bytes(number))
		t.list[number].place = textWritten
	}
}

// writeRest writes all texts that still wait, and forgets their bytes: the array ends.
func (t *texts) writeRest() {
	for ; t.unwritten < len(t.list); t.unwritten++ {
		if t.list[t.unwritten].place == textWaits {
			t.write(uint64(t.unwritten))
		}
	}
	t.waiting = t.waiting[:0]
}

// isSingle says whether nothing else refers to a text, as far as is known.
func (t *texts) isSingle(number uint64) bool { return t.list[number].cell == cellNone }

// cell is the cell at a position that refers to a text, which it may own.
func (t *texts) cell(number uint64, position uint32) uint64 {
	x := &t.list[number]
	bits := uint64(x.at) | uint64(x.length)<<32
	if x.cell != cellNone {
		return bits
	}
	x.cell = position
	return bits | spanOwned
}

// writeFor writes the bytes that an item's cell is to refer to. An item of its own bytes then is a cell that owns them.
func (t *texts) writeFor(x *item) {
	switch x.tag {
	case itemText:
		t.write(x.bits)
	case itemLoose, itemUUID:
		at, length := x.bits&0xffffffff, x.bits>>32
		x.bits = uint64(t.out.store(t.waiting[at:at+length])) | length<<32 | spanOwned
		x.tag = finalTag(x.tag)
	}
}

// copyTo copies the bytes of a text into a run, which is in the document; how many they are.
func (t *texts) copyTo(x item, to uint32) uint32 {
	switch x.tag {
	case tagText:
		var cell [8]byte
		binary.LittleEndian.PutUint64(cell[:], x.bits)
		return uint32(copy(t.out.data[to:], cell[:cell[7]&7]))
	case itemLoose:
		at, length := x.bits&0xffffffff, x.bits>>32
		return uint32(copy(t.out.data[to:], t.waiting[at:at+length]))
	}
	n := copy(t.out.data[to:], t.bytes(x.bits))
	if t.list[x.bits].place == textWaits {
		t.list[x.bits].at, t.list[x.bits].place = to, textInRun
	}
	return uint32(n)
}
