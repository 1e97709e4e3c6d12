package livebuf

// Handles follow their values through edits. A node has its home; a row of a table and an array in a list have their
// table or list, which stay where they are while they live, and their number in it.

// Handle is an object or an array of a document that is edited, from Editor.Handle. It follows its value when others
// are inserted, removed or put in another order before it. Once the value was removed or replaced, calls with it are
// errors of kind ErrStaleHandle. The editor keeps a handle as long as its value is there, and gives the same one for
// the same value.
type Handle struct {
	e     *Editor // nil once the value is no more
	depth int     // in how many containers it is, itself counted; 0 if that is not known
	home  uint32
	row   uint32 // notInList for what has a home
}

// savedHandle is what a handle was before an edit.
type savedHandle struct {
	h   *Handle
	was Handle
}

// Value is the value as it is now. It is one whose Err is of kind ErrStaleHandle if the value is no more.
func (h *Handle) Value() Value {
	if h == nil || h.e == nil {
		return (&Document{}).broken(fault{kind: ErrStaleHandle})
	}
	v := h.e.valueOf(h)
	v.doc = h.e.Document()
	return v
}

func (h *Handle) locate(e *Editor) (Value, int, error) {
	if h == nil || h.e != e {
		return Value{}, 0, fault{kind: ErrStaleHandle}.err()
	}
	return e.valueOf(h), h.depth, nil
}

func (e *Editor) valueOf(h *Handle) Value {
	home := uint64(h.home)
	if h.row != notInList {
		if e.u8(home) == kindTable {
			return e.live.row(home, uint64(h.row))
		}
		return e.live.slice(home, uint64(h.row))
	}
	if block, _ := e.resolve(home); e.u8(block) == kindArray {
		return e.live.array(home)
	}
	return e.live.object(home)
}

// handle is the handle of a container.
func (e *Editor) handle(v Value, depth int) *Handle {
	row := rowOf(v)
	h := e.handles[v.home][row]
	if h == nil {
		h = &Handle{e: e}
		e.keep(h, uint64(v.home), row)
	}
	if depth > 0 {
		h.depth = depth
	}
	return h
}

// keep gives a handle another value.
func (e *Editor) keep(h *Handle, home uint64, row uint32) {
	h.home, h.row = uint32(home), row
	if e.handles == nil {
		e.handles = map[uint32]map[uint32]*Handle{}
	}
	rows := e.handles[h.home]
	if rows == nil {
		rows = map[uint32]*Handle{}
		e.handles[h.home] = rows
	}
	rows[row] = h
}

// takeHandle is the handle of a row or an array in a list, which is to be kept elsewhere; nil if there is none.
func (e *Editor) takeHandle(data, row uint64) *Handle {
	rows := e.handles[uint32(data)]
	h := rows[uint32(row)]
	if h != nil {
		delete(rows, uint32(row))
	}
	return h
}

// endHandles ends the handles of a node, or of all in a table or a list.
func (e *Editor) endHandles(home uint64) {
	if rows := e.handles[uint32(home)]; rows != nil {
		for _, h := range rows {
			h.e = nil
		}
		delete(e.handles, uint32(home))
	}
}

// endRows ends the handles of n rows.
func (e *Editor) endRows(data, at, n uint64) {
	e.moveRows(data, func(row uint64) int64 {
		if row >= at && row < at+n {
			return -1
		}
		return int64(row)
	})
}

// moveRows gives rows other numbers; handles of those below 0 end.
func (e *Editor) moveRows(data uint64, to func(row uint64) int64) {
	rows := e.handles[uint32(data)]
	if len(rows) == 0 {
		return
	}
	moved := make(map[uint32]*Handle, len(rows))
	for row, h := range rows {
		if next := to(uint64(row)); next >= 0 {
			h.row = uint32(next)
			moved[h.row] = h
		} else {
			h.e = nil
		}
	}
	e.handles[uint32(data)] = moved
}
