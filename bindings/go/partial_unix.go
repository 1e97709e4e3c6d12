//go:build darwin || linux

package livebuf

import "syscall"

const canReserve = true

var systemPage = syscall.Getpagesize()

// reserve is room of which nothing may be read yet.
func reserve(size int) ([]byte, error) {
	return syscall.Mmap(-1, 0, size, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

// allow says what may be done with bytes of such room.
func allow(data []byte, read, write bool) error {
	how := syscall.PROT_NONE
	if read {
		how |= syscall.PROT_READ
	}
	if write {
		how |= syscall.PROT_WRITE
	}
	return syscall.Mprotect(data, how)
}
