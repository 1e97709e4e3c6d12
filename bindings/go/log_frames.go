package livebuf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// Which frames a log has: walking over their headers, telling a torn end from damage, and reading indexes (LOG 2 to 6).
// Nothing here looks at rows. A frame's body is only compared with its CRC, and only where the file does not say that
// it is on the disk.

const (
	logHeaderSize  = 64
	logMarkAt      = 32
	logFrameSize   = 32
	logMagic       = 0x4c424cab // AB 4C 42 4C
	logFrameMagic  = 0x424cab   // AB 4C 42; the kind is the next byte
	logWindow      = 64 << 10   // bytes that are read at once, to look at headers
	logNotDurable  = math.MaxUint32
	logVersion     = 1
	logGroupsAtOne = 128 // groups that one index lists
)

// Kinds of frames (LOG 3).
const (
	logRow   = 'S'
	logRows  = 'R'
	logGroup = 'G'
	logIndex = 'I'
)

// LogFault says what is wrong with a log (LOG 6). A fault is itself an error, so errors.Is(err, livebuf.LogCutShort)
// asks for it.
type LogFault uint8

const (
	LogNotALog     LogFault = 1 + iota // other bytes than those of a log, or its header is damaged
	LogUnsupported                     // a newer package may read it, or write it
	LogCutShort                        // the file ends before bytes that were on the disk once
	LogDamaged                         // bytes are damaged that were on the disk once
	LogReplaced                        // the log was removed while it was open, or another file has its name
	LogBroken                          // a sync failed, so that nobody knows what is on the disk
)

var logFaults = [...]string{"", "the file is no log", "the log is not supported here", "the log was cut short",
	"the log is damaged", "the log was removed or replaced", "an earlier sync of the log failed"}

// Error says what the fault means.
func (f LogFault) Error() string { return "livebuf: " + logFaults[min(int(f), len(logFaults)-1)] }

// LogError is the type of errors about a log's bytes. Each is of kind ErrBadLog, too. What the system reports about a
// file is returned as it is.
type LogError struct {
	Fault   LogFault
	Offset  int64  // the byte of the file where it was found
	Message string // what is wrong and what to do, without the offset; it may change
	Err     error  // what is wrong with the document there, or nil
}

// Error is the message, with the offset and the error below.
func (e *LogError) Error() string {
	text := fmt.Sprintf("livebuf: %s (at byte %d of the log)", e.Message, e.Offset)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is says whether the error is of a fault or of kind ErrBadLog, for errors.Is.
func (e *LogError) Is(target error) bool { return target == e.Fault || target == ErrBadLog }

// Unwrap is the error below.
func (e *LogError) Unwrap() error { return e.Err }

func logError(fault LogFault, at uint64, message string) *LogError {
	return &LogError{Fault: fault, Offset: int64(at), Message: message}
}

// TornEnd is bytes at a log's end that are no whole frame, of a write that did not end. They are no rows.
type TornEnd struct {
	Offset, Bytes int64
	Frames        int // whole headers among them: after a power cut, later frames may be there without an earlier one
}

// logFrame is where the rows of a frame are.
type logFrame struct {
	offset uint64 // of its header
	first  uint64 // the number of its first row
	rows   uint32
	length uint32 // bytes of the body
	crc    uint32 // of the body
	kind   uint8
}

func (f *logFrame) size() uint64 { return logFrameSize + uint64(f.length) }
func (f *logFrame) end() uint64  { return f.first + uint64(f.rows) }

// logSource is a file, or other bytes that are read in parts.
type logSource struct {
	io.ReaderAt
	size func() (int64, error)
}

// fill reads bytes from an offset on; how many there are.
func (s logSource) fill(b []byte, at uint64) (int, error) {
	if at > math.MaxInt64 {
		return 0, nil
	}
	n, err := s.ReadAt(b, int64(at))
	if n == len(b) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// body reads a frame's body. It takes memory only for what the file has.
func (s logSource) body(f *logFrame) ([]byte, error) {
	size, err := s.size()
	if err != nil {
		return nil, err
	}
	damaged := logError(LogDamaged, f.offset, "a frame's body is damaged: `livebuf log repair` keeps the rest")
	if f.offset > uint64(size) || f.size() > uint64(size)-f.offset {
		return nil, damaged
	}
	b := make([]byte, f.length)
	n, err := s.fill(b, f.offset+logFrameSize)
	if err != nil {
		return nil, err
	}
	if n < len(b) || crc32.ChecksumIEEE(b) != f.crc {
		return nil, damaged
	}
	return b, nil
}

// hasBody says whether a frame's body is as its header says.
func (s logSource) hasBody(f *logFrame) (bool, error) {
	b := make([]byte, min(int(f.length), logWindow))
	crc := uint32(0)
	for at, left := f.offset+logFrameSize, uint64(f.length); left > 0; {
		b = b[:min(left, uint64(len(b)))]
		if n, err := s.fill(b, at); err != nil || n < len(b) {
			return false, err
		}
		crc = crc32.Update(crc, crc32.IEEETable, b)
		at, left = at+uint64(len(b)), left-uint64(len(b))
	}
	return crc == f.crc, nil
}

// frames is what is known of a log's frames.
type logFrames struct {
	identity   [8]byte
	groups     []logFrame
	tail       []logFrame // those of rows behind the last group
	end        uint64     // where the next frame begins
	durable    uint64     // bytes of the file that are known to be on the disk
	index      uint64     // the newest index, 0 for none
	indexed    int        // groups that indexes list
	indexBytes uint64
	torn       TornEnd
}

// rows is the number of rows, and settled of those in groups.
func (f *logFrames) rows() uint64 {
	if n := len(f.tail); n > 0 {
		return f.tail[n-1].end()
	}
	return f.settled()
}

func (f *logFrames) settled() uint64 {
	if n := len(f.groups); n > 0 {
		return f.groups[n-1].end()
	}
	return 0
}

// openFrames looks through a log. It reads an index and the headers behind it, and bodies that may not be on the disk.
func openFrames(s logSource) (f logFrames, err error) {
	header := make([]byte, logHeaderSize)
	n, err := s.fill(header, 0)
	if err != nil {
		return f, err
	}
	if err := checkLogHeader(header[:n]); err != nil {
		return f, err
	}
	f.identity, f.end = [8]byte(header[8:]), logHeaderSize
	if durable, index, ok := f.mark(header); ok {
		// The mark is a hint. Without it the frames tell the same.
		f.durable = durable
		if known, ok := f.byIndexes(s, index); ok {
			f = known
		}
	}
	return f, f.advance(s)
}

// checkLogHeader checks a log's header (LOG 2).
func checkLogHeader(b []byte) error {
	m := mem(b)
	switch {
	case m.u32(0) == magic:
		return logError(LogNotALog, 0, "the file is no log but a document")
	case m.u32(0) != logMagic:
		return logError(LogNotALog, 0, "the file does not begin as a log does")
	case len(b) < logHeaderSize:
		return logError(LogNotALog, 0, "the file is shorter than a log's header")
	case crc32.ChecksumIEEE(b[:28]) != uint32(m.u32(28)):
		return logError(LogNotALog, 0, "the log's header is damaged")
	case m.u8(4) == 0:
		return logError(LogUnsupported, 4, "the log is of a draft of before version 1")
	case m.u8(4) != logVersion:
		return logError(LogUnsupported, 4, "the log is of a version that this package does not know: a newer one may")
	case m.u8(5) != 0 || m.u64(16) != 0 || m.u32(24) != 0:
		return logError(LogUnsupported, 5, "the log has a feature that this package does not know: a newer one may")
	}
	return nil
}

// newLogHeader is the first bytes of a log.
func newLogHeader(identity [8]byte) []byte {
	b := make([]byte, logMarkAt, logHeaderSize)
	binary.LittleEndian.PutUint32(b, logMagic)
	b[4] = logVersion
	copy(b[8:], identity[:])
	binary.LittleEndian.PutUint32(b[28:], crc32.ChecksumIEEE(b[:28]))
	return b
}

// mark is what the mark in a header says; false where it is damaged.
func (f *logFrames) mark(header []byte) (durable, index uint64, ok bool) {
	m := mem(header[logMarkAt:])
	crc := crc32.Update(crc32.ChecksumIEEE(f.identity[:]), crc32.IEEETable, m[:28])
	return m.u64(0), m.u64(8), uint32(m.u32(28)) == crc
}

// newMark is the mark's bytes.
func (f *logFrames) newMark() []byte {
	b := make([]byte, 32)
	binary.LittleEndian.PutUint64(b, f.durable)
	binary.LittleEndian.PutUint64(b[8:], f.index)
	crc := crc32.Update(crc32.ChecksumIEEE(f.identity[:]), crc32.IEEETable, b[:28])
	binary.LittleEndian.PutUint32(b[28:], crc)
	return b
}

// headerCRC is the CRC of a frame's header, which binds it to its file and its place.
func (f *logFrames) headerCRC(b []byte, offset uint64) uint32 {
	var at [16]byte
	copy(at[:], f.identity[:])
	binary.LittleEndian.PutUint64(at[8:], offset)
	return crc32.Update(crc32.ChecksumIEEE(at[:]), crc32.IEEETable, b[:28])
}

// newHeader is the header of a frame.
func (f *logFrames) newHeader(x *logFrame) []byte {
	b := make([]byte, logFrameSize, x.size())
	binary.LittleEndian.PutUint32(b, logFrameMagic|uint32(x.kind)<<24)
	binary.LittleEndian.PutUint32(b[4:], x.length)
	binary.LittleEndian.PutUint64(b[8:], x.first)
	binary.LittleEndian.PutUint32(b[16:], x.rows)
	behind := min((x.offset-f.durable+7)/8, logNotDurable)
	binary.LittleEndian.PutUint32(b[20:], uint32(behind))
	binary.LittleEndian.PutUint32(b[24:], x.crc)
	binary.LittleEndian.PutUint32(b[28:], f.headerCRC(b, x.offset))
	return b
}

// header reads the header of a frame, and how far it says that the disk was. False where there is none that is whole.
func (f *logFrames) header(b []byte, offset uint64) (x logFrame, durable uint64, ok bool, err error) {
	m := mem(b)
	if len(b) < logFrameSize || m.u32(0)&0xffffff != logFrameMagic || uint32(m.u32(28)) != f.headerCRC(b, offset) {
		return x, 0, false, nil
	}
	x = logFrame{offset: offset, first: m.u64(8), rows: uint32(m.u32(16)), length: uint32(m.u32(4)),
		crc: uint32(m.u32(24)), kind: m.u8(3)}
	good := x.rows > 0
	switch x.kind {
	case logRow:
		good = x.rows == 1
	case logIndex:
		good = x.rows == 0
	case logRows, logGroup:
	default:
		return x, 0, false, logError(LogUnsupported, offset, "the log has a kind of frame that only newer packages know")
	}
	if !good || x.length&7 != 0 || x.length < headerSize || x.first > math.MaxInt64 {
		return x, 0, false, logError(LogDamaged, offset, "a frame's header says what no header may say")
	}
	if behind := m.u32(20); behind != logNotDurable && 8*behind <= offset {
		durable = offset - 8*behind
	}
	return x, durable, true, nil
}

// logWindowed reads headers that lie behind each other, many at once where frames are small.
type logWindowed struct {
	logSource
	b     []byte
	start uint64
}

// at is the bytes of a header; fewer where the file ends.
func (w *logWindowed) at(offset uint64) ([]byte, error) {
	if offset < w.start || offset+logFrameSize > w.start+uint64(len(w.b)) {
		size := logFrameSize
		// Where frames are large, the bytes behind a header are of no use.
		if offset-w.start < 2*logWindow {
			size = logWindow
		}
		if cap(w.b) < size {
			w.b = make([]byte, size)
		}
		n, err := w.fill(w.b[:size], offset)
		if err != nil {
			return nil, err
		}
		w.b, w.start = w.b[:n], offset
	}
	b := w.b[offset-w.start:]
	return b[:min(len(b), logFrameSize)], nil
}

// advance takes up what was written behind the frames that are known, and tells a torn end from damage (LOG 6).
func (f *logFrames) advance(s logSource) error {
	for tried, again := uint64(0), false; ; {
		length, err := s.size()
		if err != nil {
			return err
		}
		size := uint64(length)
		if size < f.end {
			return logError(LogCutShort, size, "the log was cut while it was open: open it again")
		}
		before := f.durable
		fault, err := f.walk(s, size)
		if err != nil {
			return err
		}
		f.torn = TornEnd{}
		if f.end < size {
			f.torn = TornEnd{Offset: int64(f.end), Bytes: int64(size - f.end)}
		}
		if size < f.durable {
			return logError(LogCutShort, size, fmt.Sprintf("the log was cut: it has %d bytes, and %d were on the disk; "+
				"`livebuf log repair` keeps what is left", size, f.durable))
		}
		if f.end == size {
			return nil
		}
		if f.end >= f.durable {
			if err := f.lookAhead(s, size); err != nil {
				return err
			}
		}
		if f.end >= f.durable {
			return nil
		}
		// A writer may have ended the frame, and others behind it, while it was looked at. So damage must be seen
		// twice.
		if again && tried == f.end && before == f.durable {
			return logError(LogDamaged, f.end, fault+"; `livebuf log repair` keeps what is left")
		}
		tried, again = f.end, true
	}
}

// walk takes up frames until the file ends or one is not whole. It says why that one is not.
func (f *logFrames) walk(s logSource, size uint64) (fault string, err error) {
	w := logWindowed{logSource: s}
	var found []logFrame
	fault = "a frame's header is damaged"
	for at := f.end; ; {
		b, err := w.at(at)
		if err != nil {
			return "", err
		}
		x, durable, ok, err := f.header(b, at)
		if err != nil {
			return "", err
		}
		if !ok {
			break
		}
		if x.size() > size-at {
			fault = "a frame leads beyond the end"
			break
		}
		f.durable = max(f.durable, durable)
		found = append(found, x)
		at += x.size()
	}
	// Only now it is known how far the file was on the disk.
	for i := range found {
		x := &found[i]
		if x.offset+x.size() > f.durable {
			if ok, err := s.hasBody(x); err != nil || !ok {
				return "a frame's body is damaged", err
			}
		}
		if err := f.take(x); err != nil {
			return "", err
		}
	}
	return fault, nil
}

// take takes up a whole frame (LOG 4 and 5).
func (f *logFrames) take(x *logFrame) error {
	switch x.kind {
	case logGroup:
		if x.first != f.settled() || x.end() < f.rows() {
			return logError(LogDamaged, x.offset, "a group does not follow the one before it")
		}
		f.groups, f.tail = append(f.groups, *x), nil
	case logIndex:
		if x.first != f.settled() || len(f.tail) > 0 {
			return logError(LogDamaged, x.offset, "an index is not behind the groups that it lists")
		}
		f.index, f.indexed, f.indexBytes = x.offset, len(f.groups), f.indexBytes+x.size()
	default:
		if x.first != f.rows() {
			return logError(LogDamaged, x.offset, "rows do not follow those before them")
		}
		f.tail = append(f.tail, *x)
	}
	f.end = x.offset + x.size()
	return nil
}

// lookAhead looks for headers behind a bad one, to learn how far the file was on the disk.
func (f *logFrames) lookAhead(s logSource, size uint64) error {
	b := make([]byte, min(size-f.end, 16*logWindow))
	for start := f.end + 8; start+logFrameSize <= size; {
		n, err := s.fill(b, start)
		if err != nil {
			return err
		}
		i := 0
		for ; i+logFrameSize <= n; i += 8 {
			// What looks like a frame and breaks a rule is none here.
			_, durable, ok, err := f.header(b[i:n], start+uint64(i))
			if !ok || err != nil {
				continue
			}
			f.torn.Frames++
			if f.durable = max(f.durable, durable); f.durable > f.end {
				return nil
			}
		}
		if i == 0 {
			return nil
		}
		start += uint64(i)
	}
	return nil
}

// byIndexes takes groups from indexes, from the newest on; false where one is not as it should be, or none is known to
// be on the disk (LOG 5). After a power cut a newer one may be there without the groups that it lists.
func (f *logFrames) byIndexes(s logSource, newest uint64) (known logFrames, ok bool) {
	known = *f
	var parts [][]logFrame // those of the newest index first
	first := uint64(0)     // of the groups that are known
	for at := newest; at != 0; {
		b := make([]byte, logFrameSize)
		if n, err := s.fill(b, at); err != nil || n < len(b) || at&7 != 0 {
			return known, false
		}
		x, durable, ok, err := f.header(b, at)
		if err != nil || !ok || x.kind != logIndex {
			return known, false
		}
		previous, listed, ok := listedGroups(s, &x)
		// They lead towards the beginning, so this ends.
		if !ok || previous >= at {
			return known, false
		}
		known.durable = max(known.durable, durable)
		if end := at + x.size(); known.index == 0 && end <= known.durable {
			known.index, known.end, first = at, end, x.first
		}
		if at = previous; known.index == 0 {
			continue
		}
		if x.first != first {
			return known, false
		}
		for i := len(listed) - 1; i >= 0; i-- {
			if first < uint64(listed[i].rows) {
				return known, false
			}
			first -= uint64(listed[i].rows)
			listed[i].first = first
		}
		known.indexBytes += x.size()
		parts = append(parts, listed)
	}
	if known.index == 0 || first != 0 {
		return known, false
	}
	for i := len(parts) - 1; i >= 0; i-- {
		known.groups = append(known.groups, parts[i]...)
	}
	known.indexed = len(known.groups)
	return known, true
}

// listedGroups is what an index says: the offset of the one before, and groups without the numbers of their rows.
func listedGroups(s logSource, x *logFrame) (previous uint64, groups []logFrame, ok bool) {
	body, err := s.body(x)
	if err != nil {
		return 0, nil, false
	}
	doc, err := Open(body)
	if err != nil || doc.Validate() != nil {
		return 0, nil, false
	}
	previous, err = doc.Root().Get("previous").Uint64()
	listed := doc.Root().Get("groups")
	if err != nil || listed.Kind() != KindArray {
		return 0, nil, false
	}
	for _, group := range listed.Elements() {
		good := true
		part := func(key string) uint64 {
			n, err := group.Get(key).Uint64()
			good = good && err == nil && (n <= math.MaxUint32 || key == "offset")
			return n
		}
		g := logFrame{kind: logGroup, offset: part("offset"), rows: uint32(part("rows")),
			length: uint32(part("bytes")), crc: uint32(part("crc"))}
		if !good || g.rows == 0 || g.offset < logHeaderSize || g.offset > x.offset || g.size() > x.offset-g.offset {
			return 0, nil, false
		}
		groups = append(groups, g)
	}
	return previous, groups, true
}

// newIndex is the body of an index of groups.
func newIndex(previous uint64, groups []logFrame) ([]byte, error) {
	type group struct {
		Offset uint64 `livebuf:"offset"`
		Rows   uint32 `livebuf:"rows"`
		Bytes  uint32 `livebuf:"bytes"`
		CRC    uint32 `livebuf:"crc"`
	}
	var index struct {
		Previous uint64  `livebuf:"previous"`
		Groups   []group `livebuf:"groups"`
	}
	index.Previous = previous
	for _, g := range groups {
		index.Groups = append(index.Groups, group{g.offset, g.rows, g.length, g.crc})
	}
	return Marshal(index)
}
