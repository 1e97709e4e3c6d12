//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package livebuf

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// lock takes a file's lock, the one of every other language.
func lock(file *os.File, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		switch err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB); {
		case err == syscall.EINTR:
		case err == syscall.EWOULDBLOCK:
			return ErrLocked
		case !exclusive && errors.Is(err, errors.ErrUnsupported):
			return nil // the file system has no locks: reading is as safe as other programs make it
		default:
			return err
		}
	}
}

// isRemoved says whether no path names an open file any more.
func isRemoved(file *os.File) (bool, error) {
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0, nil
}

// syncDirectoryOf waits until the name of a file is on the disk.
func syncDirectoryOf(path string) error {
	directory, err := os.Open(filepath.Dir(path))
	if err == nil {
		err = errors.Join(directory.Sync(), directory.Close())
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil // without the right to read a directory one cannot wait for it
	}
	return err
}

// mapFile maps the first bytes of a file. What is written to a private mapping stays in this process.
func mapFile(file *os.File, size int64, private bool) (data []byte, mapped bool, err error) {
	if int64(int(size)) != size {
		return nil, false, syscall.EFBIG
	}
	protection, flags := syscall.PROT_READ, syscall.MAP_SHARED
	if private {
		protection, flags = syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE
	}
	data, err = syscall.Mmap(int(file.Fd()), 0, int(size), protection, flags)
	return data, err == nil, err
}

func unmap(data []byte) error { return syscall.Munmap(data) }
