package livebuf

// isMostlyFree says whether more than three quarters of the document and more than 4 KiB are free.
func (e *Editor) isMostlyFree() bool {
	aux := e.u32(headerAux)
	free := e.u32(aux + 4)
	return aux != 0 && free > 4096 && 4*free > 3*uint64(len(e.mem))
}

// squeeze encodes the document anew. Handles follow their values, and there is a place for a state if there was one.
func (e *Editor) squeeze() {
	root, options := e.live.Root(), []Option(nil)
	if !isTabled(root) {
		options = append(options, NoTables) // edits make no tables
	}
	data, err := Encode(root, options...)
	aux, used := uint64(len(data)), uint64(len(data))
	if e.statePlace() != 0 {
		used += fullAux + stateSize
	}
	if err != nil || used > uint64(len(e.mem)) {
		return
	}
	handles := e.handles
	e.handles, e.keyTexts, e.hints = nil, nil, nil
	if len(handles) > 0 {
		made := Document{data: data, valid: true}
		e.follow(handles, root, made.Root())
	}
	clear(e.mem[copy(e.mem, data):used])
	e.resize(used)
	if used > aux {
		e.startAux(aux)
		e.set32(aux+auxState, aux+fullAux)
	}
}

// follow gives the handles of a value and those in it to another one that is equal.
func (e *Editor) follow(handles map[uint32]map[uint32]*Handle, from, to Value) {
	if from.form == formScalar || to.form == formScalar {
		return
	}
	if h := handles[from.home][rowOf(from)]; h != nil {
		e.keep(h, uint64(to.home), rowOf(to))
	}
	if from.form == formArray {
		if !hasContainers(e.u8(uint64(from.at) + 1)) {
			return
		}
		for i, x := range from.Elements() {
			e.follow(handles, x, to.At(i))
		}
		return
	}
	for a, b := from.members(), to.members(); a.next() && b.next(); {
		e.follow(handles, a.value, b.value)
	}
}

// rowOf is the number of a row or of an array in its table or list; notInList of what has a home.
func rowOf(v Value) uint32 {
	if v.form == formRow || v.form == formArray {
		return v.row
	}
	return notInList
}

// hasContainers says whether a column of a code may have objects and arrays.
func hasContainers(code uint8) bool {
	t := columnTypes[code].tag
	return t == tagNothing || t == tagObject || t == tagArray
}

// isTabled says whether a value has columns of another kind than edits make.
func isTabled(v Value) bool {
	at := uint64(v.at)
	switch v.form {
	case formMap:
		at += mapValues
		fallthrough
	case formArray:
		c, _ := v.doc.data.column(at)
		if isNested(c.code) || isDictionary(c.code) || c.code == codeUUID {
			return !c.tensor
		}
		if !hasContainers(c.code) {
			return false
		}
		for i := range c.count {
			if isTabled(v.doc.slot(&c, i)) {
				return true
			}
		}
	case formRecord:
		for i := range v.fields() {
			if isTabled(v.field(i)) {
				return true
			}
		}
	}
	return false
}
