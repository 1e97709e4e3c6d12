//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package livebuf

import (
	"errors"
	"io"
	"os"
)

// lock takes no lock to read, and cannot lock to write.
func lock(file *os.File, exclusive bool) error {
	if exclusive {
		return errors.ErrUnsupported
	}
	return nil
}

func isRemoved(*os.File) (bool, error) { return false, nil }

func syncDirectoryOf(string) error { return nil }

// mapFile reads the first bytes of a file.
func mapFile(file *os.File, size int64, _ bool) (data []byte, mapped bool, err error) {
	data, err = io.ReadAll(io.NewSectionReader(file, 0, size))
	return data, false, err
}

func unmap([]byte) error { return nil }
