package livebuf

import (
	"hash/crc32"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Log is a log that is read: a file of rows that only grows (docs/LOG.md). It takes no lock, so that a writer and any
// number of readers use a log side by side. It has the rows that were there when it was opened, or refreshed last.
//
// Any number of goroutines may use it at a time, as long as none of them calls Refresh or Close.
type Log struct {
	logView
	file *os.File // nil if the bytes come from elsewhere
	path string
	kept atomic.Pointer[keptRows] // what was read last
}

// logView is a log as it is at a time.
type logView struct {
	source logSource
	frames logFrames
}

// LogSource is bytes that are read in parts, such as a *bytes.Reader or an *io.SectionReader.
type LogSource interface {
	io.ReaderAt
	Size() int64
}

// keptRows is rows that were read, by the offset of their frame. The rows behind the last group have the one of the
// log's end.
type keptRows struct {
	offset uint64
	group  Group
}

// Group is rows of a log that lie behind each other in one document, which was validated.
type Group struct {
	doc    *Document
	first  uint64
	single bool // the document's root is the only row
}

// OpenLog opens a log to read it. It reads an index and the frames behind it: few, however long the log is. Bytes of a
// write that did not end are passed over; see Torn.
//
// The error is a *LogError whose fault is LogNotALog, LogUnsupported, LogDamaged or LogCutShort, or what the system
// reports.
func OpenLog(path string) (*Log, error) {
	path, err := filepath.Abs(path) // the process may change its directory
	if err != nil {
		return nil, err
	}
	file, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	l := overFile(file, path)
	if l.frames, err = openFrames(l.source); err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

// ReadLog opens a log that is elsewhere: in memory (bytes.NewReader), in an archive, on a server. A group is fetched by
// one read. The error is as that of OpenLog, or the source's.
func ReadLog(source LogSource) (*Log, error) {
	l := &Log{logView: logView{source: logSource{source, func() (int64, error) { return source.Size(), nil }}}}
	var err error
	if l.frames, err = openFrames(l.source); err != nil {
		return nil, err
	}
	return l, nil
}

func overFile(file *os.File, path string) *Log {
	size := func() (int64, error) {
		info, err := file.Stat()
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	return &Log{logView: logView{source: logSource{file, size}}, file: file, path: path}
}

// Close closes the file. Rows that were read are good further on.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// Len is the number of rows.
func (l *Log) Len() int64 { return int64(l.frames.rows()) }

// Torn is bytes behind the last whole frame: a write that did not end, or has not ended yet. Its Bytes are 0 if there
// are none.
func (l *Log) Torn() TornEnd { return l.frames.torn }

// LogStats says where a log's bytes go.
type LogStats struct {
	Rows       int64
	Groups     int
	TailRows   int64 // rows behind the last group
	TailFrames int   // and their frames
	Bytes      int64 // up to the last whole frame
	DeadBytes  int64 // frames that a group took the place of, which compacting takes back
	IndexBytes int64
	TornBytes  int64 // behind the last whole frame
}

// Stats says where the file's bytes go.
func (l *Log) Stats() LogStats {
	f := &l.frames
	used := logHeaderSize + f.indexBytes
	for _, frames := range [][]logFrame{f.groups, f.tail} {
		for i := range frames {
			used += frames[i].size()
		}
	}
	return LogStats{l.Len(), len(f.groups), int64(f.rows() - f.settled()), len(f.tail), int64(f.end),
		int64(f.end) - int64(used), int64(f.indexBytes), f.torn.Bytes}
}

// Row is the row of a number, from 0 on. The document that it is in is read and validated, unless it is the one that
// was read last. The error is of kind ErrIndexOutOfRange behind the last row, a *LogError whose fault is LogDamaged, or
// what the system reports.
func (l *Log) Row(i int64) (Value, error) {
	f := &l.frames
	if i < 0 || uint64(i) >= f.rows() {
		return Value{}, errorf(ErrIndexOutOfRange, "the log has %d rows, and none of the number %d", f.rows(), i)
	}
	row, frames := uint64(i), f.tail
	if row < f.settled() {
		frames = f.groups
	}
	low := 0
	for high := len(frames); low < high; {
		if middle := (low + high) / 2; frames[middle].end() <= row {
			low = middle + 1
		} else {
			high = middle
		}
	}
	x := &frames[low]
	if kept := l.kept.Load(); kept != nil && kept.offset == f.end && row >= kept.group.first {
		return kept.group.row(int(row - kept.group.first)), nil
	}
	group, err := l.group(&l.logView, x.offset, x)
	return group.row(int(row - x.first)), err
}

// Rows ranges over the rows from one number up to another one, which may be beyond the last: Rows(0, math.MaxInt64) are
// all. A row has no error, unless it could not be read: then it is the last, and missing. The error is as that of Row.
func (l *Log) Rows(from, to int64) iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		for group, err := range l.Groups(from, to) {
			if err != nil {
				yield(Value{}, err)
				return
			}
			first := group.First()
			for i := int(max(from-first, 0)); i < group.Len() && first+int64(i) < to; i++ {
				if !yield(group.row(i), nil) {
					return
				}
			}
		}
	}
}

// Groups ranges over the groups that hold the rows from one number up to another one, to read them by columns. Each is
// read when it comes. The rows behind the last group come as one group, which is made in memory. After an error, which
// is as that of Row, there is no other group.
func (l *Log) Groups(from, to int64) iter.Seq2[Group, error] {
	return func(yield func(Group, error) bool) {
		view := l.logView // as it is now, whatever is read meanwhile
		f := &view.frames
		for i := range f.groups {
			x := &f.groups[i]
			if from < to && int64(x.end()) > from && int64(x.first) < to {
				group, err := l.group(&view, x.offset, x)
				if !yield(group, err) || err != nil {
					return
				}
			}
		}
		if len(f.tail) > 0 && from < to && int64(f.rows()) > from && int64(f.settled()) < to {
			yield(l.group(&view, f.end, nil))
		}
	}
}

// group is the group of a frame, or that of the rows behind the last group.
func (l *Log) group(view *logView, offset uint64, x *logFrame) (group Group, err error) {
	// A frame may begin where the rows behind the last group ended before.
	if kept := l.kept.Load(); kept != nil && kept.offset == offset &&
		(x == nil || kept.group.first == x.first && kept.group.Len() == int(x.rows)) {
		return kept.group, nil
	}
	switch tail := view.frames.tail; {
	case x != nil:
		group, err = view.read(x)
	case len(tail) == 1 && tail[0].kind == logRows:
		group, err = view.read(&tail[0])
	default:
		group.first = view.frames.settled()
		var data []byte
		if data, err = view.gather(nil, nil); err == nil {
			if group.doc, err = Open(data); err == nil {
				group.doc.valid = true
			}
		}
	}
	if err == nil {
		l.kept.Store(&keptRows{offset, group})
	}
	return group, err
}

// read reads the rows of a frame.
func (v *logView) read(x *logFrame) (Group, error) {
	body, err := v.source.body(x)
	if err != nil {
		return Group{}, err
	}
	return rowsOf(body, x)
}

// rowsOf checks a frame's body, which must be a document of its rows (LOG 4).
func rowsOf(body []byte, x *logFrame) (Group, error) {
	damaged := logError(LogDamaged, x.offset, "a frame's document is damaged: `livebuf log repair` keeps the rest")
	doc, err := Open(body)
	if err == nil {
		err = doc.Validate()
	}
	if err != nil {
		damaged.Err = err
		return Group{}, damaged
	}
	g := Group{doc, x.first, x.kind == logRow}
	if len(doc.data) != len(body) || !g.single && (doc.Root().Kind() != KindArray || doc.Root().Len() != int(x.rows)) {
		return Group{}, damaged
	}
	return g, nil
}

// gather encodes the rows behind the last group as an array, and then those that more adds.
func (v *logView) gather(options []Option, more func(e *encoder)) ([]byte, error) {
	tail := v.frames.tail
	var all []byte
	start := v.frames.end
	if len(tail) > 0 {
		start = tail[0].offset
		size, err := v.source.size()
		if err != nil {
			return nil, err
		}
		if uint64(size) < v.frames.end || v.frames.end-start > math.MaxInt {
			return nil, logError(LogDamaged, start, "a frame's body is damaged")
		}
		all = make([]byte, v.frames.end-start)
		if _, err := v.source.fill(all, start); err != nil {
			return nil, err
		}
	}
	var groups []Group
	for i := range tail {
		x := &tail[i]
		at := x.offset - start + logFrameSize
		body := all[at : at+uint64(x.length)]
		if crc32.ChecksumIEEE(body) != x.crc {
			return nil, logError(LogDamaged, x.offset, "a frame's body is damaged")
		}
		group, err := rowsOf(body, x)
		if err != nil {
			return nil, err
		}
		groups = append(groups, group)
	}
	return run(options, groups, func(e *encoder, groups []Group) {
		e.beginArray()
		for _, g := range groups {
			for i := range g.Len() {
				e.value(g.row(i))
			}
		}
		if more != nil {
			more(e)
		}
		e.endArray()
	})
}

// Refresh looks at what was written since, and says how many rows came. Ranges over rows or groups that have begun go
// on over those that were there before. If another file has the log's name now, since it was compacted or replaced,
// that one is read from now on, and ranges that have begun end with an error; in a log that was compacted, rows keep
// their numbers. The error is as that of OpenLog, and the log then as before.
func (l *Log) Refresh() (rows int64, err error) {
	before := l.Len()
	if l.path != "" {
		if file, err := openRegular(l.path, os.O_RDONLY); err == nil {
			other := overFile(file, l.path)
			header := make([]byte, logHeaderSize)
			n, err := other.source.fill(header, 0)
			if err == nil && checkLogHeader(header[:n]) == nil && [8]byte(header[8:]) != l.frames.identity {
				if other.frames, err = openFrames(other.source); err != nil {
					file.Close()
					return 0, err
				}
				l.file.Close()
				l.file, l.logView = file, other.logView
				l.kept.Store(nil)
				return max(l.Len()-before, 0), nil
			}
			file.Close()
		}
	}
	frames := l.frames
	if err := frames.advance(l.source); err != nil {
		return 0, err
	}
	l.frames = frames
	return l.Len() - before, nil
}

// Validate reads and validates all rows. The error is as that of Row.
func (l *Log) Validate() error {
	for _, frames := range [][]logFrame{l.frames.groups, l.frames.tail} {
		for i := range frames {
			if _, err := l.read(&frames[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// First is the number of the first row.
func (g Group) First() int64 { return int64(g.first) }

// Len is the number of rows.
func (g Group) Len() int {
	if g.single {
		return 1
	}
	return g.doc.Root().Len()
}

// Rows is the rows as an array, of which Column reads columns.
func (g Group) Rows() Value { return g.doc.Root() }

func (g Group) row(i int) Value {
	switch {
	case g.doc == nil: // it could not be read
		return Value{}
	case g.single:
		return g.doc.Root()
	}
	return g.doc.Root().At(i)
}
