package livebuf

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrLocked is the error of a file that another program, or another part of this one, has open in a way that excludes
// this one: a log by its writer, a document by who edits it.
var ErrLocked = errors.New("livebuf: the file is locked: it is open elsewhere for writing, or for reading")

var errNoRegularFile = errors.New("this is no regular file")

// File is a document in a file, mapped into memory: only the pages that are read are loaded. Where the system has no
// mmap that package syscall knows, such as on Windows, the file is read as a whole.
//
// As long as it is open it holds the file's shared lock, so that nobody edits it. Programs that take no lock must not
// write over the file, nor cut it: a read from a page that is gone ends the program. To replace the file, rename a new
// one over it.
type File struct {
	Document // what refers to the document refers to the file, too
	file     *os.File
	mapped   []byte
}

// OpenFile opens a document in a file to read it. Like Open it looks at the header only. If an edit of another program
// was interrupted, and its journal is complete (LOG 9), the document is as after the edit; nothing is written. To edit
// the document, edit a copy of its bytes.
//
// The error is one of Open, ErrLocked, or what the system reports.
func OpenFile(path string) (*File, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	file, err := openLocked(path, false)
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	if err = f.open(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) open() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if size == 0 {
		return fault{ErrNotADocument, 0}.err()
	}
	data, mapped, err := mapFile(f.file, size, false)
	if err != nil {
		return &fs.PathError{Op: "mmap", Path: f.file.Name(), Err: err}
	}
	if mapped {
		f.mapped = data
	}
	if used, ranges, ok := journalOf(data); ok {
		private := data
		if mapped {
			if private, _, err = mapFile(f.file, int64(used), true); err != nil {
				return &fs.PathError{Op: "mmap", Path: f.file.Name(), Err: err}
			}
			f.mapped = private
		}
		for m := mem(ranges); len(m) > 0; {
			start, n := m.u32(0), m.u32(4)
			copy(private[start:], m[8:8+n])
			m = m[8+n:]
		}
		if mapped {
			unmap(data)
		}
		data = private[:used]
	}
	f.data, err = openHeader(data)
	return err
}

// Close closes the file, and ends the mapping. Values of the document are then missing. Byte slices and columns that
// lie over its bytes must not be used any more.
func (f *File) Close() error {
	mapped := f.mapped
	f.data, f.mapped = nil, nil
	err := f.file.Close()
	if mapped != nil {
		err = errors.Join(err, unmap(mapped))
	}
	return err
}

// journalOf is the ranges of a file's journal and the bytes of the document after them, if the file has a complete one
// (LOG 9).
func journalOf(data []byte) (used uint64, ranges mem, ok bool) {
	m := mem(data)
	if len(m) < headerSize+32 || m.u32(0) != magic || m.u8(headerVersion) != version {
		return 0, nil, false
	}
	end := m[len(m)-32:]
	length, used, count := end.u64(0), end.u32(8), end.u32(12)
	if end.u64(24) != 0x1_4a424cab || end.u32(16) != 0 || length < 32 || length > uint64(len(m)-headerSize) ||
		used > uint64(len(m))-length {
		return 0, nil, false
	}
	journal := m[uint64(len(m))-length:]
	if crc32.ChecksumIEEE(journal[:length-12]) != uint32(end.u32(20)) {
		return 0, nil, false
	}
	ranges = journal[:length-32]
	header := append(mem(nil), m[:headerSize]...)
	before := uint64(0)
	rest := ranges
	for ; len(rest) > 0 && count > 0; count-- {
		start, n := rest.u32(0), rest.u32(4)
		if len(rest) < 8 || n > uint64(len(rest)-8) || start < before || start+n > used {
			return 0, nil, false
		}
		if start < headerSize {
			copy(header[start:], rest[8:8+n])
		}
		before, rest = start+n, rest[8+n:]
	}
	after := binary.LittleEndian.Uint32(header[headerUsed:])
	return used, ranges, len(rest) == 0 && count == 0 && uint64(after) == used
}

// --- opening and locking

// openRegular opens a regular file; others could make who opens them wait.
func openRegular(path string, flag int) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errNoRegularFile}
	}
	return os.OpenFile(path, flag, 0)
}

// openLocked opens a file and takes its lock, which is exclusive to write or shared to read: of the file that still has
// the name once it is locked. A lock that was given back may last for a moment, as long as a process that is being
// started shares the files of its parent. So this tries for 100 ms.
func openLocked(path string, exclusive bool) (*os.File, error) {
	flag := os.O_RDONLY
	if exclusive {
		flag = os.O_RDWR
	}
	for tries := 0; ; tries++ {
		file, err := openRegular(path, flag)
		if err != nil {
			return nil, err
		}
		if err = lock(file, exclusive); err == nil {
			var same bool
			if same, err = hasName(file, path); same {
				return file, nil
			}
		}
		file.Close()
		switch {
		case errors.Is(err, ErrLocked) && tries < 100:
			time.Sleep(time.Millisecond)
		case err != nil:
			return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
		}
	}
}

// createLocked makes a new file and takes its exclusive lock. Before it has the lock, another process may open the file
// as an empty one. Then the file is that one's, and stays, and the error is fs.ErrExist.
func createLocked(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	switch err = lock(file, true); {
	case err == nil:
		info, err := file.Stat()
		if err == nil && info.Size() == 0 {
			if same, err := hasName(file, path); same && err == nil {
				return file, nil
			}
		}
	case !errors.Is(err, ErrLocked): // nobody can have locked it
		os.Remove(path)
		file.Close()
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	file.Close()
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrExist}
}

// hasName says whether a path still names an open file.
func hasName(file *os.File, path string) (bool, error) {
	ours, err := file.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(ours, named), err
}
