package livebuf

import (
	"encoding/binary"
	"unsafe"
)

// This is the only file with unsafe code. A column of numbers lies in the document as an array of them does in memory,
// so a slice over its bytes needs no copy, which is most of what columns are for. Go has no other way to make one. And
// which page of a partial document is missing is known by its address.

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// native is a slice of values over bytes; false where the host has another order of bytes, or they are not aligned for
// it. T is a type of plain numbers, all of whose bits are values. The slice keeps the bytes in memory.
func native[T any](b []byte) ([]T, bool) {
	var zero T
	p := unsafe.Pointer(unsafe.SliceData(b))
	if !littleEndian && sizeOf[T]() > 1 || uintptr(p)%unsafe.Alignof(zero) != 0 {
		return nil, false
	}
	n := len(b) / sizeOf[T]()
	return unsafe.Slice((*T)(p), n)[:n:n], true
}

// sizeOf is the bytes of a value of a type.
func sizeOf[T any]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}

// address is where bytes are in memory.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// textOf is bytes as a text that nobody keeps, without a copy: so the keys of a document are compared and hashed.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
