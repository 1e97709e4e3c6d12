package livebuf

import (
	"runtime"
	"slices"
	"strings"
)

// Editor changes a document where its bytes lie (FORMAT 12). Set, Remove and the others take a target, which is an
// object or an array: a Pointer, a Handle, or a Value that was looked up since the last edit. Values that can be stored
// are those of Encode. An edit that fails changes nothing.
//
// One goroutine may use an editor at a time. Values, columns and texts that lie over the document's bytes are good
// until the next edit; a Handle follows its value. A Value as target does not know how deep it is: where objects or
// arrays come into it, the whole document may be looked at, which a Pointer or a Handle from one spares.
type Editor struct {
	mem                // the used bytes; their slice may have room behind
	live     *Document // of the values that edits look at
	out      *Document // of the values that were given out since the last edit
	handles  map[uint32]map[uint32]*Handle
	keyTexts map[string]uint64 // where keys of shapes were written
	hints    map[uint64]*hint  // of large dictionaries, by their columns
	height   int               // at most so many containers are within each other; 0 if it is not known
	limit    uint64            // bytes that the document may have
	backup   []byte            // the document before an edit that may become too long
	saved    []savedHandle     // and its handles
	broken   bool
}

// EditOption says how a document is opened for editing.
type EditOption func(*Editor)

// Trusted is for bytes that are known to be a valid document (FORMAT 9), such as those that this package made: they are
// not checked then. An edit of others may spoil them further, may not end, or may end the program by its depth.
func Trusted() EditOption { return func(e *Editor) { e.live.valid = true } }

// Limit is for a document that must not become longer than so many bytes: an edit that would need more is an error of
// kind ErrDocumentLimit, and is taken back. Near the limit each edit copies the document first.
func Limit(bytes int) EditOption {
	return func(e *Editor) { e.limit = min(uint64(max(bytes, 0)), maxUsed) &^ 7 }
}

// Edit opens a document to edit it. It is validated first, which takes O(n). The editor changes its bytes in place,
// uses those behind it in data as room, and moves to other memory when there is no more. Bytes has the document.
//
// The error is the one of Open or Validate, or of kind ErrReadOnly if only a newer version of this package may edit it.
func Edit(data []byte, options ...EditOption) (*Editor, error) {
	used, err := openHeader(data)
	if err != nil {
		return nil, err
	}
	if used.u8(headerReadOnly) != 0 {
		return nil, fault{ErrReadOnly, headerReadOnly}.err()
	}
	e := &Editor{mem: used[:len(used):len(data)], limit: maxUsed}
	e.live = &Document{data: e.mem}
	for _, option := range options {
		option(e)
	}
	if !e.live.valid {
		if err := e.live.Validate(); err != nil {
			return nil, err
		}
	}
	e.live.valid = true
	return e, nil
}

// NewEditor makes a document of a value, to edit it further.
func NewEditor(value any) (*Editor, error) {
	e := &Editor{mem: make(mem, headerSize, 256), limit: maxUsed}
	e.live = &Document{data: e.mem, valid: true}
	e.set32(0, magic)
	e.set8(headerVersion, version)
	e.set8(headerRootTag, tagNull)
	e.set32(headerUsed, headerSize)
	return e, e.Replace(value)
}

// Document is the document as it is now, to read it until the next edit.
func (e *Editor) Document() *Document {
	if e.out == nil {
		e.out = &Document{data: e.mem, valid: true}
	}
	return e.out
}

// Root is the value of the whole document, to read it until the next edit.
func (e *Editor) Root() Value { return e.Document().Root() }

// Pointer is the value at a JSON pointer, to read it until the next edit.
func (e *Editor) Pointer(pointer string) Value { return e.Root().Pointer(pointer) }

// Bytes is the document. They change with the next edit.
func (e *Editor) Bytes() []byte { return e.Document().Bytes() }

// MarshalJSON prints the document as JSON.
func (e *Editor) MarshalJSON() ([]byte, error) { return e.Root().MarshalJSON() }

// Stats says how a document's bytes are used.
type Stats struct {
	Used int // bytes of the document
	Free int // those that are free for edits; the others have values, keys, indexes and spare room
}

// Stats says how many bytes are in use.
func (e *Editor) Stats() Stats {
	s := Stats{Used: len(e.mem)}
	if aux := e.u32(headerAux); aux != 0 {
		s.Free = int(e.u32(aux + 4))
	}
	return s
}

// Target is an object or an array that is to be changed: a Pointer, a *Handle or a Value.
type Target interface {
	// locate finds it, and in how many containers it is, itself counted; 0 if that is not known.
	locate(e *Editor) (Value, int, error)
}

// Pointer is a JSON pointer (RFC 6901) as a target, such as "/users/0"; "" is the root.
type Pointer string

func (p Pointer) locate(e *Editor) (Value, int, error) {
	v := e.live.Root().Pointer(string(p))
	if v.form == formScalar || v.form == formBroken {
		return v, 0, under(v.wrong("an object or an array"), string(p))
	}
	return v, strings.Count(string(p), "/") + 1, nil
}

func (v Value) locate(e *Editor) (Value, int, error) {
	if v.form == formScalar || v.form == formBroken {
		return v, 0, v.wrong("an object or an array")
	}
	if e.out == nil || v.doc != e.out {
		return v, 0, errorf(ErrStaleHandle, "the value was looked up before the last edit, or in another document: "+
			"look it up again, or take a Handle, which follows it")
	}
	v.doc = e.live
	return v, 0, nil
}

// Handle gives an object or an array a handle, which follows it through edits.
func (e *Editor) Handle(target Target) (*Handle, error) {
	v, depth, err := e.container(target)
	if err != nil {
		return nil, err
	}
	return e.handle(v, depth), nil
}

// ready says whether there is a document that can be edited.
func (e *Editor) ready() error {
	switch {
	case e.live == nil:
		return errorf(ErrBadValue, "the editor has no document: make it by Edit or NewEditor")
	case e.broken:
		return fault{kind: ErrBroken}.err()
	}
	return nil
}

// container is an object or an array that is to be changed.
func (e *Editor) container(target Target) (v Value, depth int, err error) {
	if err = e.ready(); err == nil && target == nil {
		err = errorf(ErrBadValue, "the target of an edit is nil: give a Pointer, a Handle or a Value")
	}
	if err != nil {
		return v, 0, err
	}
	return target.locate(e)
}

// array is an array that is to be changed, and not just read.
func (e *Editor) array(target Target) (Value, int, error) {
	v, depth, err := e.container(target)
	if err == nil && v.form != formArray {
		err = v.wrong("an array")
	}
	return v, depth, err
}

func (e *Editor) object(target Target) (Value, int, error) {
	v, depth, err := e.container(target)
	if err == nil && v.form == formArray {
		err = v.wrong("an object")
	}
	return v, depth, err
}

// deep checks that values may come into a container (FORMAT 1).
func (e *Editor) deep(p *planner) error {
	if p.height == 0 {
		return nil
	}
	depth := p.depth
	if depth == 0 {
		// It is at most as deep as any is.
		if e.height == 0 || e.height+p.height > maxNesting {
			e.height = heightOf(e.live.Root())
		}
		depth = e.height
	}
	if depth+p.height > maxNesting {
		return errorf(ErrNestingLimit, "values would be nested in more than %d levels", maxNesting)
	}
	if e.height > 0 {
		e.height = max(e.height, depth+p.height)
	}
	return nil
}

// begin begins to change the document, by at most so many bytes more.
func (e *Editor) begin(size uint64) {
	e.backup, e.saved = nil, nil
	if uint64(len(e.mem))+size+1024 > e.limit {
		e.backup = slices.Clone(e.mem)
		for _, rows := range e.handles {
			for _, h := range rows {
				e.saved = append(e.saved, savedHandle{h, *h})
			}
		}
	}
	if flags := e.u8(headerIgnore); flags != 0 {
		if aux := e.u32(headerAux); flags&^flagState != 0 && aux != 0 {
			e.set64(aux+16, 0)
		}
		e.set8(headerIgnore, 0)
	}
	e.out = nil
}

// end ends an edit, which is taken back if the document would become too long.
func (e *Editor) end(err *error) {
	r := recover()
	if r == nil && e.isMostlyFree() {
		r = caught(e.squeeze)
	}
	switch r := r.(type) {
	case nil:
	case noRoom:
		if e.backup == nil {
			e.broken = true
			*err = errorf(ErrBroken, "the edit took more room than was expected, and ended half way")
			return
		}
		e.mem = append(e.mem[:0], e.backup...)
		e.live.data, e.keyTexts, e.hints, e.handles = e.mem, nil, nil, nil
		for _, s := range e.saved {
			*s.h = s.was
			e.keep(s.h, uint64(s.was.home), s.was.row)
		}
		*err = errorf(ErrDocumentLimit, "a document has at most %d bytes: the edit was taken back", e.limit)
	case fault:
		e.broken = true
		*err = errorf(ErrBroken, "the document is damaged, and the edit ended half way: %v", r.err())
	case runtime.Error:
		e.broken = true
		*err = errorf(ErrBroken, "the document is damaged, and the edit ended half way: %v", r)
	default:
		panic(r)
	}
}

// caught is what a function panics with; nil if it does not.
func caught(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

// Set sets a member of an object. A new one comes behind the others, unless a place is kept for its key: by a column of
// a table, or since a member of that key was removed. O(1), but where a column must become wider, and for texts and
// arrays in tables that lie among others.
func (e *Editor) Set(target Target, key string, value any) error {
	v, depth, err := e.object(target)
	if err != nil {
		return err
	}
	return e.set(v, depth, key, value)
}

func (e *Editor) set(v Value, depth int, key string, value any) (err error) {
	p := planner{depth: depth}
	k, err := p.key(key)
	if err != nil {
		return err
	}
	node, err := p.value(value)
	if err == nil {
		err = e.deep(&p)
	}
	if err != nil {
		return err
	}
	defer e.end(&err)
	e.begin(p.size + e.memberCost(v, &k))
	e.setMember(v, &k, &node)
	return nil
}

// SetAt sets element i of an array. O(1), but where a column must become wider, and for texts and arrays in tables that
// lie among others.
//
// A tensor takes numbers that its type holds, and rounds floats to its width (docs/EDITING.md, section 11). If its
// elements are arrays, it takes arrays of the same length: a slice such as []float32, or another tensor, but not a
// []byte, which is no array. Anything else is an error of kind ErrTensorMismatch.
func (e *Editor) SetAt(target Target, i int, value any) error {
	v, depth, err := e.array(target)
	if err != nil {
		return err
	}
	return e.setAt(v, depth, i, value)
}

func (e *Editor) setAt(v Value, depth, i int, value any) (err error) {
	if err = inside(i, v.Len()-1, v.Len()); err != nil {
		return err
	}
	code, _ := e.numbers(v)
	p := planner{depth: depth, numbers: code}
	node, err := p.value(value)
	if err == nil {
		err = e.deep(&p)
	}
	items := []fresh{node}
	if err == nil {
		err = e.keepsShape(v, items, false)
	}
	if err != nil {
		return err
	}
	defer e.end(&err)
	e.begin(p.size + e.columnCost(uint64(v.at)))
	e.put(uint64(v.at), v.first()+uint64(i), &items[0], false)
	return nil
}

func inside(i, most, n int) error {
	if i < 0 || i > most {
		return errorf(ErrIndexOutOfRange, "the array has %d elements: there is no place %d", n, i)
	}
	return nil
}

// Remove removes a member of an object. It is an error of kind ErrNotFound if there is none.
func (e *Editor) Remove(target Target, key string) error {
	v, _, err := e.object(target)
	if err != nil {
		return err
	}
	if err = e.remove(v, key); err != nil {
		return within(err, key)
	}
	return nil
}

func (e *Editor) remove(v Value, key string) (err error) {
	k := shapeKey(key)
	if err = v.member(&k).Err(); err != nil {
		return err
	}
	defer e.end(&err)
	e.begin(e.memberCost(v, &k))
	e.removeMember(v, &k)
	return nil
}

// RemoveAt removes element i of an array.
func (e *Editor) RemoveAt(target Target, i int) error { return e.Splice(target, i, 1) }

// Push adds elements to the end of an array. A tensor takes those that SetAt can store in it. An array within a tensor,
// or in a list of tensors, keeps its length and its order: there, Push, Insert, Splice, RemoveAt and Reorder are errors
// of kind ErrTensorMismatch.
func (e *Editor) Push(target Target, values ...any) error {
	v, depth, err := e.array(target)
	if err != nil {
		return err
	}
	return e.splice(v, depth, v.Len(), 0, values)
}

// Insert puts elements before element i of an array; i may be the count of elements.
func (e *Editor) Insert(target Target, i int, values ...any) error {
	return e.Splice(target, i, 0, values...)
}

// Splice removes n elements of an array from element i on, and puts others in their place.
func (e *Editor) Splice(target Target, i, n int, values ...any) error {
	v, depth, err := e.array(target)
	if err != nil {
		return err
	}
	return e.splice(v, depth, i, n, values)
}

func (e *Editor) splice(v Value, depth, i, n int, values []any) (err error) {
	if err = inside(i, v.Len()-min(max(n, 0), 1), v.Len()); err == nil && (n < 0 || n > v.Len()-i) {
		err = errorf(ErrIndexOutOfRange, "the array has %d elements: %d from %d on cannot be removed", v.Len(), n, i)
	}
	if err != nil {
		return err
	}
	code, each := e.numbers(v)
	p := planner{depth: depth, numbers: code}
	items := make([]fresh, len(values))
	for j := 0; j < len(values) && err == nil; j++ {
		items[j], err = p.value(values[j])
	}
	if err == nil {
		err = e.deep(&p)
	}
	if err != nil || n == 0 && len(items) == 0 {
		return err
	}
	if uint64(v.Len()-n+len(items))*each > maxElements {
		return errorf(ErrElementLimit, "an array has at most %d elements", maxElements)
	}
	if err = e.keepsShape(v, items, true); err != nil {
		return err
	}
	defer e.end(&err)
	e.begin(p.size + 64*uint64(len(items)) + e.arrayCost(v))
	column := e.detach(v)
	e.closeSlots(column, uint64(i), uint64(n))
	if e.u32(column+4) > 0 || code != 0 {
		e.insertSlots(column, uint64(i), items)
		return nil
	}
	// An array without elements has no column, unless it is a tensor.
	e.freeStorage(column)
	e.set64(column, kindArray)
	e.set64(column+8, 0)
	e.fill(column, items)
	return nil
}

// Reorder puts the elements of an array in another order: element i becomes the one that is now at order[i]. Each index
// is in it once.
func (e *Editor) Reorder(target Target, order []int) (err error) {
	v, _, err := e.array(target)
	if err != nil {
		return err
	}
	places := make([]uint32, len(order))
	seen := make([]bool, v.Len())
	for i, from := range order {
		if len(order) != v.Len() || from < 0 || from >= len(seen) || seen[from] {
			return errorf(ErrBadValue, "an order has the index of each of the %d elements once", v.Len())
		}
		seen[from], places[i] = true, uint32(from)
	}
	if len(order) != v.Len() {
		return errorf(ErrBadValue, "an order has the index of each of the %d elements once", v.Len())
	}
	if err = e.keepsShape(v, nil, true); err != nil || len(order) == 0 {
		return err
	}
	defer e.end(&err)
	e.begin(e.arrayCost(v))
	e.arrange(e.detach(v), places)
	return nil
}

// numbers is the type of a tensor's numbers, and how many each element has; 0 and 1 of any other array.
func (e *Editor) numbers(v Value) (code uint8, each uint64) {
	if e.u8(uint64(v.at)+3) != 1 {
		return 0, 1
	}
	c, _ := e.column(uint64(v.at))
	for each = 1; c.code == codeFixedList; c, _ = e.column(c.data + listElements) {
		each *= e.u32(c.data + 4)
	}
	return c.code, each
}

// keepsShape says whether an array, if it is a tensor, takes elements, and whether those that it has may move.
func (e *Editor) keepsShape(v Value, items []fresh, moves bool) error {
	isTensor := e.u8(uint64(v.at)+3) == 1
	fits := !isTensor || !moves || v.row == notInList
	for i := 0; isTensor && fits && i < len(items); i++ {
		fits = e.fitsTensor(uint64(v.at), &items[i])
	}
	if !fits {
		return errorf(ErrTensorMismatch, "a tensor keeps its type and the lengths of its elements")
	}
	return nil
}

// arrayCost is at most how many bytes it takes to change the elements of an array.
func (e *Editor) arrayCost(v Value) uint64 {
	if v.row == notInList {
		return e.columnCost(uint64(v.at))
	}
	return e.columnCost(e.owner(uint64(v.home)))
}

// detach is the column of an array that stands by itself, so that its length can change: a list that it is in becomes a
// column of arrays.
func (e *Editor) detach(v Value) uint64 {
	if v.row == notInList {
		return uint64(v.at)
	}
	column := e.owner(uint64(v.home))
	e.convert(column, codeArrays, none)
	c := e.col(column)
	return uint64(e.live.slot(&c, uint64(v.row)).at)
}

// Rename gives a member another key. In a record or a map it keeps its place. In a row of a table it is stored with the
// column of the new key, or behind the other members, and handles of it end, since it is copied. The error is of kind
// ErrNotFound or ErrKeyExists.
func (e *Editor) Rename(target Target, from, to string) (err error) {
	v, _, err := e.object(target)
	if err != nil {
		return err
	}
	p := planner{}
	old := shapeKey(from)
	key, err := p.key(to)
	if err != nil {
		return err
	}
	member := v.member(&old)
	if err = member.Err(); err != nil {
		return within(err, from)
	}
	if from == to {
		return nil
	}
	if v.member(&key).Exists() {
		return within(errorf(ErrKeyExists, "the object has this key already: remove it first"), to)
	}
	var node fresh
	if v.form == formRow {
		if node, err = p.value(member); err != nil {
			return err
		}
	}
	defer e.end(&err)
	e.begin(p.size + e.memberCost(v, &old) + e.memberCost(v, &key))
	if v.form != formRow {
		e.renameField(uint64(v.home), &old, &key)
		return nil
	}
	e.removeMember(v, &old)
	e.setMember(v, &key, &node)
	return nil
}

// Replace replaces the value of the whole document.
func (e *Editor) Replace(value any) (err error) {
	if err = e.ready(); err != nil {
		return err
	}
	p := planner{}
	node, err := p.value(value)
	if err != nil {
		return err
	}
	defer e.end(&err)
	e.begin(p.size)
	e.putCell(headerRootTag, headerRoot, &node)
	e.height = p.height
	return nil
}

// SetPointer sets the value at a JSON pointer. Its last step may be a new key, or "-" for a new element behind the
// others of an array; "" is the whole document.
func (e *Editor) SetPointer(pointer string, value any) error {
	if pointer == "" {
		return e.Replace(value)
	}
	v, depth, step, err := e.split(pointer)
	switch {
	case err != nil:
		return err
	case v.form != formArray:
		err = e.set(v, depth, step, value)
	case step == "-":
		err = e.splice(v, depth, v.Len(), 0, []any{value})
	default:
		var i int
		if i, err = element(v, step); err == nil {
			err = e.setAt(v, depth, i, value)
		}
	}
	return under(err, pointer)
}

// RemovePointer removes the value at a JSON pointer.
func (e *Editor) RemovePointer(pointer string) error {
	if pointer == "" {
		return errorf(ErrUnsupported, "a document always has a value: Replace sets another")
	}
	v, depth, step, err := e.split(pointer)
	if err != nil {
		return err
	}
	if v.form != formArray {
		return under(e.remove(v, step), pointer)
	}
	i, err := element(v, step)
	if err == nil {
		err = e.splice(v, depth, i, 1, nil)
	}
	return under(err, pointer)
}

// element is the index of the element that the last step of a pointer names.
func element(v Value, step string) (int, error) {
	i := pointerIndex(step)
	if i < 0 || i >= v.Len() {
		return 0, errorf(ErrIndexOutOfRange, "the array has %d elements, and none is %.60q", v.Len(), step)
	}
	return i, nil
}

// split is the container that a pointer's last step is about, and that step.
func (e *Editor) split(pointer string) (v Value, depth int, step string, err error) {
	end := strings.LastIndexByte(pointer, '/')
	if end < 0 {
		return v, 0, "", fault{kind: ErrBadPointer}.err()
	}
	step, ok := pointerKey(pointer[end+1:])
	if !ok {
		return v, 0, "", fault{kind: ErrBadPointer}.err()
	}
	if err = e.ready(); err == nil {
		v, depth, err = Pointer(pointer[:end]).locate(e)
	}
	return v, depth, step, err
}
