package livebuf

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// Deltas (docs/DELTA.md): the changes that lead from one state of a document to another, as bytes.

// State is 16 bytes that stand for all bytes of a document (FORMAT 8).
type State [stateSize]byte

// String is the state in hexadecimal digits.
func (s State) String() string { return fmt.Sprintf("%x", s[:]) }

// Delta is the changes that lead from one state of a document, its base, to another. Applied to a copy of the base it
// gives the other document, byte by byte. It fits to no other base.
type Delta struct {
	Base, State        State // of the base, and afterwards
	BaseLength, Length int64 // used bytes of the base, and afterwards
	HasOld             bool  // whether changes have the old bytes, so that the delta can be inverted
	Changes            []Change
	Digest             *[sha256.Size]byte // the SHA-256 of the document afterwards; nil if the delta has none
}

// Change is bytes that change together. Changes stand in the order of their offsets.
type Change struct {
	Offset int64
	New    []byte // those of its bytes that lie in the document afterwards
	Old    []byte // those that lie in the base, if the delta has old bytes
}

const (
	deltaMagic  = "\xabLBD"
	deltaHead   = 38 // bytes before the digest
	deltaOld    = 1  // flags
	deltaDigest = 2
)

// deltaReader reads the parts of a delta, up to the first error.
type deltaReader struct {
	data []byte // what is left
	size int    // bytes of the delta
	err  error
}

func (r *deltaReader) fail(message string) {
	if r.err == nil {
		r.err = &Error{ErrBadDelta, int64(r.size - len(r.data)), "", "the delta is damaged: " + message}
	}
}

func (r *deltaReader) take(n int64) (b []byte) {
	if n > int64(len(r.data)) {
		r.fail("it is cut short")
		n = 0
	}
	b, r.data = r.data[:n:n], r.data[n:]
	return b
}

// number reads a number of up to 32 bits, in groups of seven.
func (r *deltaReader) number() int64 {
	x, n := binary.Uvarint(r.data)
	if n < 0 || x > 1<<32-1 || n > 1 && r.data[n-1] == 0 {
		r.fail("a number has more than 32 bits, or bytes that it does not need")
		return 0
	}
	if n == 0 {
		n = len(r.data) + 1 // its last byte is not here
	}
	r.take(int64(n))
	return int64(x)
}

func (r *deltaReader) length() int64 {
	n := 8 * r.number()
	if n < headerSize || n > maxUsed {
		r.fail("no document has this length")
	}
	return n
}

// ReadDelta reads a delta (DELTA 1). Its changes are slices of data, which must not be changed while they are used. The
// error is of kind ErrNotADelta, ErrUnsupportedVersion, ErrUnsupportedFeature or ErrBadDelta.
func ReadDelta(data []byte) (*Delta, error) {
	r := deltaReader{data: data, size: len(data)}
	switch {
	case len(data) == 0 || !bytes.HasPrefix([]byte(deltaMagic), data[:min(len(data), 4)]):
		return nil, plain(ErrNotADelta)
	case len(data) > 4 && data[4] != 1:
		return nil, &Error{ErrUnsupportedVersion, 4, "", "the delta is of a version that this package does not read"}
	case len(data) > 5 && data[5] > deltaOld|deltaDigest:
		return nil, &Error{ErrUnsupportedFeature, 5, "", "the delta has flags that this package does not know"}
	}
	head := r.take(deltaHead)
	if r.err != nil {
		return nil, r.err
	}
	d := &Delta{Base: State(head[6:]), State: State(head[22:]), HasOld: head[5]&deltaOld != 0}
	if head[5]&deltaDigest != 0 {
		d.Digest = new([sha256.Size]byte)
		copy(d.Digest[:], r.take(sha256.Size))
	}
	d.BaseLength, d.Length = r.length(), r.length()
	longer, shorter := d.Length, min(d.Length, d.BaseLength)
	if d.HasOld {
		longer = max(longer, d.BaseLength)
	}
	end := int64(0)
	for left := r.number(); left > 0 && r.err == nil; left-- {
		last, offset := end, end+r.number()
		size := r.number()
		end = offset + size
		switch {
		case size == 0:
			r.fail("a range is empty")
		case end > longer:
			r.fail("a range leads beyond the document")
		case offset < headerRoot, offset < headerShapes && end > headerUsed:
			r.fail("a range lies over what no delta changes")
		case offset > last && offset > shorter:
			r.fail("bytes of the longer document are missing")
		}
		c := Change{Offset: offset, New: r.take(max(min(end, d.Length)-offset, 0))}
		if d.HasOld {
			c.Old = r.take(max(min(end, d.BaseLength)-offset, 0))
		}
		d.Changes = append(d.Changes, c)
	}
	if longer > shorter && end != longer {
		r.fail("bytes of the longer document are missing")
	}
	if len(r.data) > 0 {
		r.fail("bytes are behind it")
	}
	if r.err != nil {
		return nil, r.err
	}
	return d, nil
}

// Bytes is the delta as bytes, for ReadDelta.
func (d *Delta) Bytes() []byte {
	out := append([]byte(deltaMagic), 1, 0)
	out = append(append(out, d.Base[:]...), d.State[:]...)
	if d.HasOld {
		out[5] = deltaOld
	}
	if d.Digest != nil {
		out[5] |= deltaDigest
		out = append(out, d.Digest[:]...)
	}
	return d.appendContent(out, d.HasOld)
}

// appendContent appends the delta from the number of used bytes of the base on.
func (d *Delta) appendContent(out []byte, hasOld bool) []byte {
	for _, n := range []int64{d.BaseLength / 8, d.Length / 8, int64(len(d.Changes))} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	end := int64(0)
	for _, c := range d.Changes {
		size := int64(max(len(c.New), len(c.Old)))
		out = binary.AppendUvarint(out, uint64(c.Offset-end))
		out = append(binary.AppendUvarint(out, uint64(size)), c.New...)
		if hasOld {
			out = append(out, c.Old...)
		}
		end = c.Offset + size
	}
	return out
}

// statePlace is where a document's state lies, 0 for nowhere (FORMAT 8). Its aux block is given, and at gives parts.
func statePlace(aux, length uint64, at func(at, size uint64) mem) uint64 {
	if aux < headerSize || aux+auxSize > length {
		return 0
	}
	head := at(aux, auxSize)
	place := head.u32(auxState)
	if head.u8(0) != kindAux || place < headerSize || place&7 != 0 || place+stateSize > length {
		return 0
	}
	return place
}

func (m mem) statePlace() uint64 {
	return statePlace(m.u32(headerAux), uint64(len(m)), func(at, size uint64) mem { return m[at : at+size] })
}

// State is the document's state, if it has one (FORMAT 8).
func (d *Document) State() (State, bool) {
	place := d.data.statePlace()
	if d.data.u8(headerReadOnly) != 0 || d.data.u8(headerIgnore) != flagState || place == 0 {
		return State{}, false
	}
	return State(d.data[place:]), true
}

// RandomState is a state that no other document has, for SetState.
func RandomState() (s State) {
	rand.Read(s[:])
	return s
}

// SetState gives the document a state, from which deltas can lead on: copy the bytes, edit the copy, and hand both to
// DeltaOf. The next edit ends the state, and keeps its place. The first state takes 16 bytes of the document, and 96
// more if nothing was freed yet.
//
// The error is of kind ErrDocumentLimit if there is no room for it.
func (e *Editor) SetState(state State) (err error) {
	if err = e.ready(); err != nil {
		return err
	}
	defer func() {
		if err == nil { // whatever the end of the edit moved
			copy(e.mem[e.statePlace():], state[:])
			e.set8(headerIgnore, flagState)
		}
	}()
	defer e.end(&err)
	e.begin(fullAux + stateSize)
	if e.statePlace() == 0 {
		if e.u32(headerAux) == 0 {
			e.startAux(e.alloc(fullAux))
		}
		e.set32(e.u32(headerAux)+auxState, e.alloc(stateSize))
	}
	return nil
}

// plain is the error that a kind says enough about.
func plain(kind ErrorKind) error { return errorf(kind, "%s", kinds[kind][1]) }

// base opens a document that a delta begins at.
func base(document []byte) (*Document, State, error) {
	doc, err := Open(document)
	if err != nil {
		return nil, State{}, err
	}
	state, ok := doc.State()
	switch {
	case doc.data.u8(headerReadOnly) != 0:
		err = plain(ErrReadOnly)
	case !ok:
		err = plain(ErrNoState)
	}
	return doc, state, err
}

// put puts what there is afterwards of the bytes from an offset on into target.
func (d *Delta) put(target []byte, at int64) {
	for _, c := range d.Changes {
		from, to := max(c.Offset, at), min(c.Offset+int64(len(c.New)), at+int64(len(target)))
		if from < to {
			copy(target[from-at:], c.New[from-c.Offset:to-c.Offset])
		}
	}
}

// check checks that the delta fits to a document (DELTA 2). It gives the document's used bytes, and the place of the
// state afterwards.
func (d *Delta) check(document []byte) (mem, uint64, error) {
	doc, state, err := base(document)
	switch {
	case err != nil:
		return nil, 0, err
	case state != d.Base:
		return nil, 0, errorf(ErrWrongState, "the delta begins at state %v, and the document has %v", d.Base, state)
	case int64(len(doc.data)) != d.BaseLength:
		return nil, 0, plain(ErrWrongBytes)
	case d.Length < headerSize || d.Length > maxUsed || d.Length&7 != 0:
		return nil, 0, plain(ErrBadDelta)
	}
	after := func(at, size uint64) mem {
		part := make(mem, size)
		copy(part, doc.data[min(at, uint64(len(doc.data))):])
		d.put(part, int64(at))
		return part
	}
	header := after(0, headerSize)
	place := statePlace(header.u32(headerAux), uint64(d.Length), after)
	// The root's tag, and the three bytes behind it, which are 0.
	if tag := header.u32(headerRootTag); place == 0 || tag == 0 || tag >= tagUndefined {
		return nil, 0, errorf(ErrBadDelta, "the delta is damaged: what it leads to is no document with a state")
	}
	return doc.data, place, nil
}

// finish makes target, which has the bytes of the base, the document afterwards.
func (d *Delta) finish(target []byte, place uint64) {
	if d.Length > d.BaseLength {
		clear(target[d.BaseLength:])
	}
	d.put(target, 0)
	binary.LittleEndian.PutUint32(target[headerUsed:], uint32(d.Length))
	target[headerIgnore] = flagState
	copy(target[place:], d.State[:])
}

// Apply makes a document of the base's state the one of the state afterwards (DELTA 2). As append does, it writes to
// the same array where that has room, and returns the document. If there is an error, nothing was changed. It takes
// O(changes). Trust the document no more than the delta: call Validate.
//
// The error is of kind ErrNoState, ErrWrongState, ErrWrongBytes (another length), ErrBadDelta or ErrReadOnly, or what
// Open says.
func (d *Delta) Apply(document []byte) ([]byte, error) {
	used, place, err := d.check(document)
	if err != nil {
		return document, err
	}
	if d.Length > int64(cap(document)) {
		document = append(make([]byte, 0, d.Length), used...)
	}
	document = document[:d.Length]
	d.finish(document, place)
	return document, nil
}

// Check compares the delta's digest with what a document would be after Apply, and changes nothing. It takes O(length).
// The error is of kind ErrNoDigest, ErrWrongBytes, or what Apply says.
func (d *Delta) Check(document []byte) error {
	used, place, err := d.check(document)
	if err != nil {
		return err
	}
	if d.Digest == nil {
		return plain(ErrNoDigest)
	}
	after := append(make([]byte, 0, d.Length), used[:min(len(used), int(d.Length))]...)[:d.Length]
	if d.finish(after, place); sha256.Sum256(after) != *d.Digest {
		return plain(ErrWrongBytes)
	}
	return nil
}

// Invert is the delta that leads back. The error is of kind ErrNoOldBytes.
func (d *Delta) Invert() (*Delta, error) {
	if !d.HasOld {
		return nil, plain(ErrNoOldBytes)
	}
	back := &Delta{Base: d.State, State: d.Base, BaseLength: d.Length, Length: d.BaseLength, HasOld: true}
	for _, c := range d.Changes {
		back.Changes = append(back.Changes, Change{c.Offset, c.Old, c.New})
	}
	return back, nil
}

// DeltaOptions says how DeltaOf makes a delta.
type DeltaOptions struct {
	NoOld  bool // leaves the old bytes out, so that the delta is smaller and cannot be inverted
	Digest bool // adds the SHA-256 of the document afterwards
}

// DeltaOf is the delta from a document to what it became, by comparing their bytes. The second one gets the state that
// the delta leads to (DELTA 3), in place. It must have been edited from a copy of the first, since it needs a place for
// its state. It takes O(length of both).
//
// The error is of kind ErrNoState or ErrReadOnly, or what Open says.
func DeltaOf(before, after []byte, options DeltaOptions) (*Delta, error) {
	from, state, err := base(before)
	if err != nil {
		return nil, err
	}
	to, err := Open(after)
	if err != nil {
		return nil, err
	}
	old, now, was, place := from.data, to.data, from.data.statePlace(), to.data.statePlace()
	if place == 0 {
		return nil, errorf(ErrNoState, "the document afterwards has no place for its state: edit a copy of the first")
	}
	d := &Delta{Base: state, BaseLength: int64(len(old)), Length: int64(len(now)), HasOld: !options.NoOld}
	shorter, longer := uint64(min(len(old), len(now))), uint64(len(now))
	if d.HasOld {
		longer = max(longer, uint64(len(old)))
	}
	// The state itself is no change if it stays in its place. If it does not, both places are.
	in := func(i, place uint64) bool { return i >= place && i < place+stateSize }
	start, last := uint64(0), uint64(0) // of the range at hand: where it begins, and where its last change ends
	part := func(m mem) []byte { return bytes.Clone(m[min(start, uint64(len(m))):min(last, uint64(len(m)))]) }
	flush := func() {
		if start > 0 {
			c := Change{Offset: int64(start), New: part(now)}
			if d.HasOld {
				c.Old = part(old)
			}
			d.Changes = append(d.Changes, c)
		}
		start = 0
	}
	for i := uint64(headerRoot); i < longer; i++ {
		for start == 0 && was == place && i+8 <= shorter && old.u64(i) == now.u64(i) {
			i += 8
		}
		switch {
		case i >= headerUsed && i < headerShapes, was == place && in(i, place):
			flush()
		case i >= longer:
		case i >= shorter || old[i] != now[i] || was != place && (in(i, was) || in(i, place)):
			// Two ranges take more bytes than those between them.
			if start > 0 && i-last > 2 {
				flush()
			}
			if start == 0 {
				start = i
			}
			last = i + 1
		}
	}
	flush()
	sum := sha256.Sum256(d.appendContent(slices.Clone(state[:]), false))
	d.State = State(sum[:])
	copy(now[place:], d.State[:])
	now[headerReadOnly], now[headerIgnore] = 0, flagState
	if options.Digest {
		sum = sha256.Sum256(now)
		d.Digest = &sum
	}
	return d, nil
}
