// Package livebuf reads and writes LiveBuf documents: JSON-compatible binary documents that are read without parsing
// and edited in place. Their format is that of docs/FORMAT.md, the same in every language.
package livebuf

import "encoding/binary"

// Document is a document that is read where its bytes lie. Any number of goroutines may read one at a time, as long as
// nobody changes the bytes.
type Document struct {
	data  mem  // the used bytes
	valid bool // whether they were validated, or made by this package
	fault any  // of a partial document: the panic over a byte that is missing
}

// Open opens a document that is in memory. It looks at the 32 bytes of its header and copies nothing, so data must not
// change while the document is read, unless by an editor. Bytes behind the document are no part of it.
//
// Nothing else is checked. In bytes that others made, a value may turn out to be damaged when it is read: it is then an
// error, or missing, and nothing worse. The error is of kind ErrNotADocument, ErrUnsupportedVersion,
// ErrUnsupportedFeature, ErrTruncated, ErrBadCount or ErrMisaligned (FORMAT 2).
func Open(data []byte) (*Document, error) {
	m, err := openHeader(data)
	if err != nil {
		return nil, err
	}
	return &Document{data: m}, nil
}

// openHeader checks a document's header; its used bytes.
func openHeader(data []byte) (mem, error) {
	m := mem(data)
	used, err := usedBytes(m)
	if err != nil {
		return nil, err
	}
	if used > uint64(len(m)) {
		return nil, truncated(len(m), used)
	}
	return m[:used], nil
}

// usedBytes checks a header, whether or not the bytes behind it are there; how many bytes the document has.
func usedBytes(m mem) (uint64, error) {
	if len(m) < 4 && len(m) > 0 && m[0] == 0xab || len(m) < headerSize && m.u32(0) == magic {
		return 0, truncated(len(m), headerSize)
	}
	if m.u32(0) != magic {
		return 0, fault{ErrNotADocument, 0}.err()
	}
	switch v := m.u8(headerVersion); {
	case v == 0:
		return 0, &Error{ErrUnsupportedVersion, headerVersion, "",
			"the document is of a draft before version 1: the library that wrote it can print it as JSON"}
	case v != version:
		return 0, &Error{ErrUnsupportedVersion, headerVersion, "",
			"the document is of a version that this package does not know: a newer one may read it"}
	case m.u8(headerRefuse) != 0:
		return 0, fault{ErrUnsupportedFeature, headerRefuse}.err()
	}
	used := m.u32(headerUsed)
	switch {
	case used < headerSize:
		return 0, fault{ErrBadCount, headerUsed}.err()
	case used&7 != 0:
		return 0, fault{ErrMisaligned, headerUsed}.err()
	}
	return used, nil
}

func truncated(have int, need uint64) error {
	e := errorf(ErrTruncated, "the document has %d bytes, and only %d are here: read the rest first", need, have)
	e.Offset = int64(have)
	return e
}

// allowance is how many values may be made of the document, and how many bytes of texts. A valid one stands for no more
// (FORMAT 11), also where each value is counted twice.
func (d *Document) allowance() (values, text int64) {
	n := int64(len(d.data))
	values, text = 8*n+1_000_000, textPerByte*n
	if d.valid {
		values += 2 * 136 * n
	}
	return values, text
}

// Root is the value of the whole document.
func (d *Document) Root() Value {
	tag := d.data.u8(headerRootTag)
	if tag == tagNothing {
		if len(d.data) == 0 {
			return Value{doc: d} // it was closed
		}
		return d.broken(fault{ErrBadCode, headerRootTag})
	}
	return d.cell(tag, headerRoot)
}

// Bytes is the document's bytes, where they lie. They must not be changed.
func (d *Document) Bytes() []byte { return d.data[:len(d.data):len(d.data)] }

// Pointer is the value at a JSON pointer (RFC 6901), such as "/users/0/name"; see Value.Pointer.
func (d *Document) Pointer(pointer string) Value { return d.Root().Pointer(pointer) }

// MarshalJSON prints the document as JSON (FORMAT 13.2).
func (d *Document) MarshalJSON() ([]byte, error) { return d.Root().MarshalJSON() }

// mem is the used bytes of a document, of which numbers are read. Whatever lies beyond the bytes reads as 0, so that
// no offset can lead to a panic: where that would be a wrong answer, has or need is asked first.
type mem []byte

func (m mem) u8(at uint64) uint8 {
	if at < uint64(len(m)) {
		return m[at]
	}
	return 0
}

func (m mem) u16(at uint64) uint64 {
	if at < uint64(len(m)) {
		if b := m[at:]; len(b) >= 2 {
			return uint64(binary.LittleEndian.Uint16(b))
		}
	}
	return 0
}

func (m mem) u32(at uint64) uint64 {
	if at < uint64(len(m)) {
		if b := m[at:]; len(b) >= 4 {
			return uint64(binary.LittleEndian.Uint32(b))
		}
	}
	return 0
}

func (m mem) u64(at uint64) uint64 {
	if at < uint64(len(m)) {
		if b := m[at:]; len(b) >= 8 {
			return binary.LittleEndian.Uint64(b)
		}
	}
	return 0
}

// bit is bit i of a bitmap.
func (m mem) bit(at, i uint64) bool { return m.u8(at+i>>3)>>(i&7)&1 == 1 }

// reaches says whether so many bytes from an offset lie in the document.
func (m mem) reaches(at, size uint64) bool { return at+size <= uint64(len(m)) }

// has says whether a block lies in the document, at a multiple of 8.
func (m mem) has(at, size uint64) bool { return at&7 == 0 && at >= headerSize && m.reaches(at, size) }

// need is what is wrong where has is false.
func (m mem) need(at, size uint64) fault {
	switch {
	case m.has(at, size):
		return fault{}
	case at&7 != 0:
		return fault{ErrMisaligned, uint32(at)}
	}
	return fault{ErrOutOfBounds, uint32(at)}
}

// span is where the bytes of a span cell are, and how many (FORMAT 3.3). They lie in the document.
func (m mem) span(cell uint64) (start, size uint64, f fault) {
	bits := m.u64(cell)
	if bits&spanInline != 0 {
		if size = bits >> 56 & 0x7f; size > 7 {
			return 0, 0, fault{ErrBadCell, uint32(cell)}
		}
		return cell, size, fault{}
	}
	if start, size = bits&0xffffffff, bits>>32&maxSpan; !m.reaches(start, size) {
		return 0, 0, fault{ErrOutOfBounds, uint32(cell)}
	}
	return start, size, fault{}
}
