package livebuf

import (
	"encoding/binary"
	"math"
	"reflect"
	"unsafe"
)

// This is the only file with unsafe code. A column of numbers lies in the document as an array of them does in memory,
// so a slice over its bytes needs no copy, which is most of what columns are for. Go has no other way to make one. Which
// page of a partial document is missing is known by its address. And fields and elements of Go are read where they lie,
// since reflect takes longer to find one than it takes to encode it.

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

// start is where a value lies; nil if it has no address.
func start(v reflect.Value) unsafe.Pointer {
	if v.CanAddr() {
		return unsafe.Pointer(v.UnsafeAddr())
	}
	return nil
}

// plain adds a value of a plain kind, which lies so many bytes behind a start.
func (e *encoder) plain(kind reflect.Kind, start unsafe.Pointer, offset uintptr) {
	switch at := unsafe.Add(start, offset); kind {
	case reflect.Bool:
		e.bool(*(*bool)(at))
	case reflect.Int:
		e.integer(int64(*(*int)(at)))
	case reflect.Int64:
		e.integer(*(*int64)(at))
	case reflect.Float64:
		e.push(tagFloat, math.Float64bits(*(*float64)(at)))
	case reflect.String:
		e.text(*(*string)(at))
	}
}

// bytesOf is a text as bytes that nobody changes or keeps, without a copy: so a document's texts are made of Go's.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }
