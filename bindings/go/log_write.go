package livebuf

import (
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// LogWriter adds rows to a log (LOG 7). It holds the file's lock, so there is one at a time, in all processes and
// languages; readers go on beside it. One goroutine may use it at a time.
//
// Rows are in the file when a call returns, and outlive the process. Sync and Close put them on the disk, where they
// outlive a power cut. Rows that come one by one are gathered: when there are enough of them, they are written once
// more, as a group of columns.
type LogWriter struct {
	log        Log // without its path: what has the name does not matter to it
	path       string
	encode     []Option
	groupRows  int
	groupBytes int
	syncs      bool
	tailBytes  uint64
	torn       TornEnd
	kept       string
	marked     string // what the mark says
	broken     bool
}

// LogOption says how a log is written.
type LogOption func(*LogWriter)

// SyncEach makes each call that adds rows return only when they are on the disk: one sync each.
func SyncEach() LogOption { return func(w *LogWriter) { w.syncs = true } }

// GroupsOf sets the most rows of a group, and about how many bytes of memory they take at most before they are laid out
// as columns. Readers read a group as a whole. Without it, groups have up to 65,536 rows or about 8 MiB.
func GroupsOf(rows, bytes int) LogOption {
	return func(w *LogWriter) { w.groupRows, w.groupBytes = min(max(rows, 1), 1<<30), min(max(bytes, 1), 1<<30) }
}

// EncodeRows says how rows become documents, as the options of Encode do.
func EncodeRows(options ...Option) LogOption { return func(w *LogWriter) { w.encode = options } }

// CreateLog makes a new log. A file that exists is an error that is fs.ErrExist. It takes two syncs, of the file and of
// its directory. Where the system has no flock, such as on Windows, nothing is written, and the error is
// errors.ErrUnsupported.
func CreateLog(path string, options ...LogOption) (*LogWriter, error) {
	path, err := filepath.Abs(path) // the process may change its directory
	if err != nil {
		return nil, err
	}
	file, err := createLocked(path)
	if err != nil {
		return nil, err
	}
	w := newLogWriter(file, path, options)
	if err = w.begin(); err == nil {
		err = syncDirectoryOf(path)
	}
	if err != nil {
		os.Remove(path) // while it is locked
		file.Close()
		return nil, err
	}
	return w, nil
}

// AppendLog opens a log to add rows, and makes a new one where there is none, or only an empty file.
//
// Bytes of a write that did not end are cut off: Dropped says which. Rows that no writer synced are written once more,
// and synced: of a log that was never synced, all.
//
// The error is ErrLocked while another writer has the log, a *LogError as OpenLog gives it, or what the system reports.
// No row is changed then.
func AppendLog(path string, options ...LogOption) (*LogWriter, error) {
	w, err := CreateLog(path, options...)
	if !errors.Is(err, fs.ErrExist) {
		return w, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	file, err := openLocked(path, true)
	if err != nil {
		return nil, err
	}
	w = newLogWriter(file, path, options)
	if err := w.open(); err != nil {
		file.Close()
		return nil, err
	}
	return w, nil
}

func newLogWriter(file *os.File, path string, options []LogOption) *LogWriter {
	w := &LogWriter{path: path, groupRows: 1 << 16, groupBytes: 8 << 20}
	w.log.file, w.log.source = file, overFile(file, path).source
	for _, option := range options {
		option(w)
	}
	return w
}

// begin makes an empty log of a file that has none.
func (w *LogWriter) begin() error {
	f := &w.log.frames
	*f = logFrames{end: logHeaderSize}
	rand.Read(f.identity[:])
	w.marked = string(f.newMark())
	if _, err := w.log.file.WriteAt(append(newLogHeader(f.identity), w.marked...), 0); err != nil {
		return err
	}
	return w.wait()
}

// open looks through the file's log.
func (w *LogWriter) open() error {
	// Whoever made or compacted the log may have died before its name was on the disk.
	if err := syncDirectoryOf(w.path); err != nil {
		return err
	}
	header := make([]byte, logHeaderSize+1)
	n, err := w.log.source.fill(header, 0)
	if err != nil {
		return err
	}
	if n <= logHeaderSize && strings.Trim(string(header[:n]), "\x00") == "" {
		return w.begin()
	}
	if w.log.frames, err = openFrames(w.log.source); err != nil {
		return err
	}
	if header[6] != 0 {
		return logError(LogUnsupported, 6, "the log has a feature that this package can read but not write")
	}
	for _, x := range w.log.frames.tail {
		w.tailBytes += x.size()
	}
	w.marked = string(header[logMarkAt:logHeaderSize])
	return w.dropTorn()
}

// dropTorn cuts an unfinished write off, and waits for the disk: what it held must never come back behind new rows.
func (w *LogWriter) dropTorn() (err error) {
	f := &w.log.frames
	w.torn, f.torn = f.torn, TornEnd{}
	if w.torn.Bytes > 0 {
		if w.torn.Frames > 0 {
			if w.kept, err = w.keep(); err != nil {
				return err
			}
		}
		if err := w.log.file.Truncate(w.torn.Offset); err != nil {
			return err
		}
	}
	if f.durable < f.end {
		// Where an earlier writer's sync failed, the system counts bytes as written that it did not write.
		b := make([]byte, min(f.end-f.durable, 1<<20))
		for at := f.durable; at < f.end; {
			n, err := w.log.source.fill(b[:min(f.end-at, uint64(len(b)))], at)
			if err == nil && n == 0 {
				err = io.ErrUnexpectedEOF
			}
			if err == nil {
				_, err = w.log.file.WriteAt(b[:n], int64(at))
			}
			if err != nil {
				return err
			}
			at += uint64(n)
		}
	} else if w.torn.Bytes == 0 {
		return nil
	}
	if err = w.wait(); err != nil && w.torn.Bytes > 0 {
		// The disk may have forgotten the cut. The next to open the log must cut it again.
		w.log.file.Truncate(w.torn.Offset + w.torn.Bytes)
	}
	return err
}

// keep copies the log's end to a new file beside it, and waits until it is on the disk. After an error there is none.
func (w *LogWriter) keep() (string, error) {
	for number := 0; ; number++ {
		name := fmt.Sprintf("%s.torn-%d", w.path, w.torn.Offset)
		if number > 0 {
			name += fmt.Sprintf("-%d", number)
		}
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = io.Copy(file, io.NewSectionReader(w.log.file, w.torn.Offset, w.torn.Bytes))
		if err == nil {
			err = file.Sync()
		}
		if err = errors.Join(err, file.Close()); err == nil {
			err = syncDirectoryOf(name)
		}
		if err != nil {
			os.Remove(name)
		}
		return name, err
	}
}

// Log is what reads the log: all rows that were added are there. It is closed with the writer.
func (w *LogWriter) Log() *Log { return &w.log }

// Len is the number of rows.
func (w *LogWriter) Len() int64 { return w.log.Len() }

// Dropped is the bytes that were cut off when the log was opened: an unfinished write, whose rows were never promised
// to be on the disk. If there are whole frames among them, they are kept in a file beside the log, which is named.
func (w *LogWriter) Dropped() (torn TornEnd, kept string) { return w.torn, w.kept }

// Append adds a row, which is encoded as Encode does it, and returns its number. A row may nest 999 deep, since it is
// read as an element of an array. After an error, the log is as before. It is one of Encode, of kind ErrBadLog
// (LogBroken), or what the system reports, such as a full disk.
func (w *LogWriter) Append(row any) (int64, error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	number := w.Len()
	data, err := run(w.encode, row, func(e *encoder, row any) {
		e.nesting = maxNesting - 1
		e.any(row)
	})
	if err != nil {
		return 0, err
	}
	if !w.fills(len(data), 1) {
		err = w.write(logRow, data, 1)
	} else {
		if len(data) >= w.groupBytes/2 {
			err = w.settle()
		}
		if err == nil {
			doc := Document{data: data, valid: true}
			err = w.group(1, func(e *encoder) { e.value(doc.Root()) })
		}
	}
	if err == nil && w.syncs {
		err = w.Sync()
	}
	return number, err
}

// ExtendLog adds rows, which are encoded as Encode does it, and returns how many there were. Many rows are written as
// groups at once, in memory for one group:
//
//	n, err := livebuf.ExtendLog(w, slices.Values(events))
//
// After an error the rows of earlier groups are in the log, and Len says how many; with SyncEach they are on the disk.
// The path of an error of Encode begins with the place of the row among those that were given.
func ExtendLog[T any](w *LogWriter, rows iter.Seq[T]) (int64, error) {
	next, stop := iter.Pull(rows)
	defer stop()
	var row T
	v := reflect.ValueOf(&row).Elem()
	encode := codecOf(v.Type()).encode
	return w.extend(func(e *encoder) (more bool) {
		if row, more = next(); more {
			encode(e, v)
		}
		return more
	})
}

func (w *LogWriter) extend(next func(e *encoder) bool) (int64, error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	start := w.Len()
	for more := true; more; {
		room, count, large := w.room(), 0, false
		data, err := run(w.encode, next, func(e *encoder, next func(e *encoder) bool) {
			e.beginArray()
			for count == 0 || count < room && !large {
				if more = next(e); !more {
					break
				}
				count++
				large = len(e.out.data)+len(e.texts.waiting)+9*len(e.items) >= w.groupBytes
			}
			e.endArray()
		})
		switch {
		case err != nil:
			err = ofRow(err, w.Len()-start)
		case count == 0:
		case large:
			if err = w.settle(); err == nil {
				err = w.write(logGroup, data, count)
			}
		default:
			err = w.add(data, count)
		}
		if err != nil {
			if w.syncs && w.Len() > start {
				err = errors.Join(w.Sync(), err)
			}
			return w.Len() - start, err
		}
	}
	if w.syncs {
		return w.Len() - start, w.Sync()
	}
	return w.Len() - start, nil
}

// ofRow is an error about a group's row as one about a call's row, which has so many before the group.
func ofRow(err error, before int64) error {
	var e *Error
	if errors.As(err, &e) && strings.HasPrefix(e.Path, "/") {
		step, rest, _ := strings.Cut(e.Path[1:]+"/", "/")
		if i, bad := strconv.ParseInt(step, 10, 64); bad == nil {
			e.Path = strings.TrimSuffix("/"+strconv.FormatInt(before+i, 10)+"/"+rest, "/")
		}
	}
	return err
}

// room is how many rows fit the group that is being gathered.
func (w *LogWriter) room() int {
	f := &w.log.frames
	if room := w.groupRows - int(min(f.rows()-f.settled(), 1<<30)); room > 0 {
		return room
	}
	return w.groupRows // those behind the last group are of a writer with larger groups
}

// fills says whether rows, with those behind the last group, are enough for a group.
func (w *LogWriter) fills(bytes, rows int) bool {
	f := &w.log.frames
	return f.rows()-f.settled()+uint64(rows) >= uint64(w.groupRows) ||
		w.tailBytes+uint64(bytes) >= uint64(w.groupBytes)
}

// add writes rows as a frame by themselves, or with those before them as a group.
func (w *LogWriter) add(data []byte, rows int) error {
	if !w.fills(len(data), rows) {
		return w.write(logRows, data, rows)
	}
	if rows >= w.groupRows/2 || len(data) >= w.groupBytes/2 {
		if err := w.settle(); err != nil {
			return err
		}
	}
	if len(w.log.frames.tail) == 0 {
		return w.write(logGroup, data, rows)
	}
	doc := Document{data: data, valid: true}
	return w.group(rows, func(e *encoder) {
		for _, row := range doc.Root().Elements() {
			e.value(row)
		}
	})
}

// settle writes the rows behind the last group as a group.
func (w *LogWriter) settle() error {
	if len(w.log.frames.tail) == 0 {
		return nil
	}
	return w.group(0, nil)
}

// group writes the rows behind the last group and others as a group.
func (w *LogWriter) group(others int, more func(e *encoder)) error {
	f := &w.log.frames
	data, err := w.log.gather(w.encode, more)
	if err != nil {
		return err
	}
	return w.write(logGroup, data, int(f.rows()-f.settled())+others)
}

// write writes a frame of rows behind the others.
func (w *LogWriter) write(kind uint8, body []byte, rows int) error {
	f := &w.log.frames
	x := logFrame{kind: kind, first: f.rows(), rows: uint32(rows)}
	if kind == logGroup {
		x.first = f.settled()
	}
	if err := w.put(x, body); err != nil {
		return err
	}
	if kind != logGroup {
		w.tailBytes += logFrameSize + uint64(len(body))
		return nil
	}
	w.tailBytes = 0
	if listed := f.groups[f.indexed:]; len(listed) >= logGroupsAtOne {
		// An index is a help only. The rows are in the log without it.
		if body, err := newIndex(f.index, listed); err == nil &&
			w.put(logFrame{kind: logIndex, first: f.settled()}, body) == nil {
			w.mark()
		}
	}
	return nil
}

// put writes a frame's bytes, or none of them.
func (w *LogWriter) put(x logFrame, body []byte) error {
	f := &w.log.frames
	x.offset, x.length, x.crc = f.end, uint32(len(body)), crc32.ChecksumIEEE(body)
	if _, err := w.log.file.WriteAt(append(f.newHeader(&x), body...), int64(f.end)); err != nil {
		w.log.file.Truncate(int64(f.end)) // where this fails, too, the bytes are a torn end
		return err
	}
	return f.take(&x)
}

// mark writes the mark, which is a help to the next one to open the log.
func (w *LogWriter) mark() {
	mark := w.log.frames.newMark()
	if string(mark) == w.marked {
		return
	}
	if _, err := w.log.file.WriteAt(mark, logMarkAt); err == nil {
		w.marked = string(mark)
	}
}

func (w *LogWriter) check() error {
	if w.broken {
		return logError(LogBroken, w.log.frames.end,
			"an earlier sync failed, so that nobody knows what is on the disk: open the log again")
	}
	return nil
}

// Sync waits until all rows are on the disk. If the log was removed, so that the rows end with this process, the error
// is a *LogError whose fault is LogReplaced. After an error of the system nobody knows what is on the disk, and the log
// takes no more rows.
func (w *LogWriter) Sync() error {
	if err := w.check(); err != nil {
		return err
	}
	if w.log.frames.durable == w.log.frames.end {
		return nil
	}
	if removed, err := isRemoved(w.log.file); err != nil || removed {
		if err == nil {
			err = logError(LogReplaced, w.log.frames.end, "the log was removed while it was open")
		}
		return err
	}
	return w.wait()
}

func (w *LogWriter) wait() error {
	if err := w.log.file.Sync(); err != nil {
		w.broken = true
		return err
	}
	w.log.frames.durable = w.log.frames.end
	return nil
}

// Close waits until all rows are on the disk, and closes the log. The error is as that of Sync.
func (w *LogWriter) Close() error {
	err := w.Sync()
	if !w.broken {
		w.mark()
	}
	return errors.Join(err, w.log.file.Close())
}
