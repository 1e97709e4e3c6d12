package livebuf

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// linesOf is the rows of a log as lines of JSON.
func linesOf(l *Log) (lines []string, err error) {
	for row, err := range l.Rows(0, math.MaxInt64) {
		if err != nil {
			return lines, err
		}
		text, err := AppendJSON(nil, row, JSONOptions{NonFiniteNull: true})
		if err != nil {
			return lines, err
		}
		lines = append(lines, string(text))
	}
	return lines, nil
}

func mustLines(t testing.TB, l *Log, err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	lines, err := linesOf(l)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// readLog is the rows of a log in memory.
func readLog(data []byte) ([]string, error) {
	l, err := ReadLog(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return linesOf(l)
}

// logsIn are the logs in a folder of testdata.
func logsIn(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	paths, _ := filepath.Glob(filepath.Join(testdata, folder, "*.lblog"))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[path] = data
	}
	return found
}

func TestVectorsOfLogs(t *testing.T) {
	faults := map[string]LogFault{"NotALog": LogNotALog, "Unsupported": LogUnsupported, "CutShort": LogCutShort,
		"Damaged": LogDamaged}
	n := 0
	for _, folder := range []string{"logs", "frozen/1-candidate", "frozen/1-candidate-2"} {
		for path, data := range logsIn(t, folder) {
			n++
			name := filepath.Base(path)
			lines, err := readLog(data)
			if parts := strings.Split(name, "_"); parts[0] == "n" {
				var e *LogError
				if !errors.As(err, &e) || e.Fault != faults[parts[1]] || !errors.Is(err, ErrBadLog) ||
					!errors.Is(err, e.Fault) {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			text, missing := os.ReadFile(strings.TrimSuffix(path, ".lblog") + ".ndjson")
			if missing != nil {
				t.Fatal(missing)
			}
			if got := strings.Join(append(lines, ""), "\n"); err != nil || got != string(text) {
				t.Errorf("%s: %v, %q, not %q", name, err, got, text)
			}
		}
	}
	if n < 33 {
		t.Errorf("only %d logs", n)
	}
}

func TestRowsByNumber(t *testing.T) {
	for path, data := range logsIn(t, "logs") {
		l, err := ReadLog(bytes.NewReader(data))
		if err != nil || !strings.Contains(path, "y_") {
			continue
		}
		all := mustLines(t, l, nil)
		if int(l.Len()) != len(all) {
			t.Errorf("%s: %d rows, not %d", path, l.Len(), len(all))
		}
		for _, i := range rand.Perm(len(all)) {
			row, err := l.Row(int64(i))
			if err != nil || mustJSON(t, row) != all[i] {
				t.Errorf("%s: row %d is %v, %v", path, i, row, err)
			}
			got := []string{}
			for row, err := range l.Rows(int64(i), int64(i+2)) {
				if err != nil {
					t.Error(err)
				}
				got = append(got, mustJSON(t, row))
			}
			if !slices.Equal(got, all[i:min(i+2, len(all))]) {
				t.Errorf("%s: rows from %d on are %q", path, i, got)
			}
		}
		for _, i := range []int64{-1, l.Len(), math.MaxInt64, math.MinInt64} {
			if row, err := l.Row(i); !errors.Is(err, ErrIndexOutOfRange) || row.Exists() {
				t.Errorf("%s: row %d is %v, %v", path, i, row, err)
			}
		}
	}
}

// rowsOfJSON are lines of JSON of many kinds.
func rowsOfJSON(n int, seed uint64) (lines []string) {
	random := newRandomJSON(seed)
	for i := range n {
		line := fmt.Sprintf(`{"lap":%d,"sec":%d.5,"name":"driver %d"}`, i, i%90, i%20)
		if i%97 == 13 {
			random.out.Reset()
			random.value(3)
			line = random.out.String()
		}
		lines = append(lines, line)
	}
	return lines
}

func raws(lines []string) (rows []json.RawMessage) {
	for _, line := range lines {
		rows = append(rows, json.RawMessage(line))
	}
	return rows
}

// command runs the command of this project.
func command(t testing.TB, input string, args ...string) string {
	t.Helper()
	c := exec.Command(reference(t), args...)
	c.Stdin = strings.NewReader(input)
	var complaint strings.Builder
	c.Stderr = &complaint
	out, err := c.Output()
	if err != nil {
		t.Fatalf("livebuf %s: %v: %s", strings.Join(args, " "), err, complaint.String())
	}
	return string(out)
}

// sameLog compares a log as this package reads it with what the command says.
func sameLog(t testing.TB, path string) []string {
	t.Helper()
	l, err := OpenLog(path)
	lines := mustLines(t, l, err)
	defer l.Close()
	if err := l.Validate(); err != nil {
		t.Error(err)
	}
	sameText(t, path, strings.Join(append(slices.Clone(lines), ""), "\n"), command(t, "", "log", "cat", path))
	var info map[string]any
	text := command(t, "", "log", "info", "--validate", "--json", path)
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		t.Fatal(err)
	}
	s := l.Stats()
	for name, n := range map[string]int64{"rows": s.Rows, "groups": int64(s.Groups), "tail_rows": s.TailRows,
		"tail_frames": int64(s.TailFrames), "bytes": s.Bytes, "dead_bytes": s.DeadBytes, "index_bytes": s.IndexBytes,
		"torn_bytes": s.TornBytes} {
		if info[name] != float64(n) {
			t.Errorf("%s: %s is %d, and %v for the command", path, name, n, info[name])
		}
	}
	return lines
}

func TestLogsOfTheCommandAreReadAndGoOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.lblog")
	lines := rowsOfJSON(1200, 3)
	var all []string
	for i := 0; i < len(lines); {
		// The command and this package add rows in turns, some at once or one by one.
		n := min([]int{1, 7, 100, 250}[i%4], len(lines)-i)
		part := lines[i : i+n]
		i += n
		command(t, strings.Join(part, "\n")+"\n", "log", "append", path)
		all = append(all, part...)
		part = lines[i:min(i+n, len(lines))]
		i += len(part)
		w, err := AppendLog(path, GroupsOf(300, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			if n, err := ExtendLog(w, slices.Values(raws(part))); err != nil || n != int64(len(part)) {
				t.Fatal(n, err)
			}
		} else {
			for _, row := range raws(part) {
				if number, err := w.Append(row); err != nil || number != w.Len()-1 {
					t.Fatal(number, err)
				}
			}
		}
		all = append(all, part...)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if torn, kept := w.Dropped(); torn != (TornEnd{}) || kept != "" {
			t.Error(torn, kept)
		}
	}
	got := sameLog(t, path)
	if len(got) != len(all) {
		t.Fatalf("%d rows, not %d", len(got), len(all))
	}
	for i := range got {
		want, err := FromJSON([]byte(all[i]))
		if err != nil {
			t.Fatal(err)
		}
		sameText(t, fmt.Sprintf("row %d", i), got[i], mustJSON(t, mustOpen(t, want).Root()))
	}
	command(t, "", "log", "compact", path)
	if compacted := sameLog(t, path); !slices.Equal(compacted, got) {
		t.Error("compacting changed rows")
	}
}

// bodies are the frames' kinds and bodies.
func bodies(t testing.TB, path string) (all []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for m := mem(data[logHeaderSize:]); len(m) > 0; {
		end := logFrameSize + m.u32(4)
		all = append(all, string(m[3:4])+string(m[logFrameSize:end]))
		m = m[end:]
	}
	return all
}

func TestGroupsHaveTheBytesOfTheCommand(t *testing.T) {
	for name, lines := range map[string][]string{"few": rowsOfJSON(300, 1), "group": rowsOfJSON(66_000, 2)} {
		folder := t.TempDir()
		ours, theirs := filepath.Join(folder, "ours.lblog"), filepath.Join(folder, "theirs.lblog")
		command(t, strings.Join(lines, "\n")+"\n", "log", "append", theirs)
		command(t, "", "log", "compact", theirs) // so that its groups are full ones
		w, err := CreateLog(ours)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ExtendLog(w, slices.Values(raws(lines))); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		a, b := bodies(t, ours), bodies(t, theirs)
		if len(a) != len(b) {
			t.Errorf("%s: %d frames, not %d", name, len(a), len(b))
			continue
		}
		for i := range a {
			sameBytes(t, fmt.Sprintf("%s: frame %d", name, i), []byte(a[i]), []byte(b[i]))
		}
	}
}

func TestRowsBecomeGroupsAndIndexes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.lblog")
	w, err := CreateLog(path, GroupsOf(3, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	type lap struct {
		Lap int     `livebuf:"lap"`
		Sec float64 `livebuf:"sec"`
	}
	for i := range 400 {
		if _, err := w.Append(lap{i, float64(i) / 2}); err != nil {
			t.Fatal(err)
		}
	}
	more := func(yield func(lap) bool) {
		for i := 400; i < 1000 && yield(lap{i, float64(i) / 2}); i++ {
		}
	}
	if n, err := ExtendLog(w, more); n != 600 || err != nil {
		t.Fatal(n, err)
	}
	if row, err := w.Log().Row(500); err != nil || row.String() != `{"lap":500,"sec":250.0}` {
		t.Error(row, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sameLog(t, path)
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if s := l.Stats(); s.Groups != 334 || s.TailRows != 1 || l.frames.indexed != 256 {
		t.Errorf("%+v, %d listed", s, l.frames.indexed)
	}
	sum, rows := 0, 0
	for group, err := range l.Groups(10, 991) {
		if err != nil {
			t.Fatal(err)
		}
		laps, _, err := Column[int](group.Rows(), "lap")
		if err != nil || len(laps) != group.Len() || int64(laps[0]) != group.First() {
			t.Fatal(laps, err)
		}
		rows += len(laps)
		for _, lap := range laps {
			sum += lap
		}
	}
	if rows != 990-9+3 || sum != (9+992)*rows/2 { // whole groups of three
		t.Error(rows, sum)
	}
	// All the same without the mark, and without the indexes that it leads to.
	data, _ := os.ReadFile(path)
	clear(data[logMarkAt:logHeaderSize])
	if lines, err := readLog(data); len(lines) != 1000 || err != nil {
		t.Error(len(lines), err)
	}
}

func TestErrorsOfRowsNameTheRow(t *testing.T) {
	w, err := CreateLog(filepath.Join(t.TempDir(), "rows.lblog"), GroupsOf(4, 1<<20), EncodeRows(NoTables))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	rows := slices.Repeat([]any{map[string]any{"a": 1}}, 10)
	rows[9] = map[string]any{"a": make(chan int)}
	n, err := ExtendLog(w, slices.Values(rows))
	var e *Error
	if !errors.As(err, &e) || e.Path != "/9/a" || n != 8 || w.Len() != 8 {
		t.Error(n, err)
	}
	if _, err := w.Append("a\xff"); !errors.Is(err, ErrBadText) || w.Len() != 8 {
		t.Error(err)
	}
	if n, err := w.Append("row"); n != 8 || err != nil {
		t.Error(n, err)
	}
}

// Bug: a row that nests 1,000 deep was taken, and no reader could hold it in an array.
func TestRowsNestAtMost999Deep(t *testing.T) {
	w, err := CreateLog(filepath.Join(t.TempDir(), "rows.lblog"), GroupsOf(3, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var row any = 1
	for range 999 {
		row = []any{row}
	}
	for i := range 4 { // the third makes a group
		if n, err := w.Append(row); n != int64(i) || err != nil {
			t.Fatal(n, err)
		}
	}
	deeper := []any{row}
	if _, err := w.Append(deeper); !errors.Is(err, ErrNestingLimit) || !strings.Contains(err.Error(), "999") {
		t.Error(err)
	}
	if _, err := ExtendLog(w, slices.Values([]any{deeper})); !errors.Is(err, ErrNestingLimit) || w.Len() != 4 {
		t.Error(err)
	}
	if err := w.Log().Validate(); err != nil {
		t.Error(err)
	}
	if _, err := Encode(deeper); err != nil {
		t.Error(err)
	}
}

// Bug: groups before an error were in the log, and not on the disk.
func TestGroupsBeforeAnErrorAreSynced(t *testing.T) {
	w, err := CreateLog(filepath.Join(t.TempDir(), "rows.lblog"), GroupsOf(4, 1<<20), SyncEach())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	rows := slices.Repeat([]any{1}, 10)
	rows[9] = make(chan int)
	n, err := ExtendLog(w, slices.Values(rows))
	if f := w.log.frames; n != 8 || !errors.Is(err, ErrBadValue) || f.durable != f.end {
		t.Error(n, err, f.durable, f.end)
	}
}

// Bug: after a change of directory, a log was looked for in the new one.
func TestLogsAreFoundFromAnotherDirectory(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	w, err := CreateLog("rows.lblog")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	l, err := OpenLog("rows.lblog")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Chdir(t.TempDir())
	other, err := CreateLog("rows.lblog")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := w.Append(1); err != nil {
		t.Fatal(err)
	}
	if n, err := l.Refresh(); n != 1 || err != nil || w.Sync() != nil {
		t.Error(n, err)
	}
}

// small is a log of frames of each kind, of which some bytes were on the disk.
func small(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.lblog")
	w, err := CreateLog(path, GroupsOf(3, 1<<20))
	for i := 0; err == nil && i < 8; i++ {
		if i == 5 {
			err = w.Sync()
		}
		if err == nil {
			_, err = w.Append(map[string]any{"i": i})
		}
	}
	if err == nil {
		_, err = ExtendLog(w, slices.Values([]int{8, 9}))
	}
	if err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	return data
}

// TestTornEndsAtEachByte cuts a log at each byte, as a process does that is killed while it writes.
func TestTornEndsAtEachByte(t *testing.T) {
	whole := small(t)
	all, err := readLog(whole)
	if err != nil || len(all) != 10 {
		t.Fatal(all, err)
	}
	l, _ := ReadLog(bytes.NewReader(whole))
	durable := int(l.frames.durable)
	if durable <= logHeaderSize {
		t.Fatal(durable)
	}
	folder := t.TempDir()
	counts, verdicts, step := map[int]int{}, []string{}, amount(17, 1, 1)
	for cut := range len(whole) {
		data := whole[:cut]
		lines, err := readLog(data)
		switch {
		case cut < logHeaderSize:
			if !errors.Is(err, LogNotALog) {
				t.Fatalf("%d bytes: %v", cut, err)
			}
			continue
		case cut < durable:
			// Frames behind the cut said that these bytes were on the disk. If they are gone, too, nobody knows.
			if err != nil && !errors.Is(err, LogCutShort) {
				t.Fatalf("%d bytes: %v", cut, err)
			}
		case err != nil:
			t.Fatalf("%d bytes: %v", cut, err)
		}
		if len(lines) > 0 && !slices.Equal(lines, all[:len(lines)]) {
			t.Fatalf("%d bytes: %q", cut, lines)
		}
		counts[len(lines)]++
		if err != nil || cut%step > 0 {
			continue
		}
		path := filepath.Join(folder, strconv.Itoa(cut)+".lblog")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		// Others go on behind the rows that are left.
		w, err := AppendLog(path, GroupsOf(100, 1<<20))
		if err != nil {
			t.Fatalf("%d bytes: %v", cut, err)
		}
		torn, kept := w.Dropped()
		if torn.Bytes > 0 && int(torn.Offset+torn.Bytes) != cut || kept != "" {
			t.Fatalf("%d bytes: %+v", cut, torn)
		}
		if _, err := w.Append("more"); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readLog(after); err != nil || !slices.Equal(got, append(slices.Clone(lines), `"more"`)) {
			t.Fatalf("%d bytes: %q, %v", cut, got, err)
		}
		if cut%(8*step) == 0 {
			verdicts = append(verdicts, path)
		}
	}
	if len(counts) < 8 {
		t.Error(counts)
	}
	for _, path := range verdicts {
		sameLog(t, path)
	}
}

// TestFramesBehindAHoleAreKept: after a power cut the disk may have later frames without an earlier one. They are no
// rows, and a writer keeps them in a file beside the log before it cuts them off.
func TestFramesBehindAHoleAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.lblog")
	w, err := CreateLog(path)
	if err != nil {
		t.Fatal(err)
	}
	var ends []int64
	for i := range 5 {
		if _, err := w.Append(i); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, int64(w.log.frames.end))
	}
	w.log.file.Close() // as the system does that kills the process
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(make([]byte, 40), ends[1]); err != nil {
		t.Fatal(err)
	}
	file.Close()
	l, err := OpenLog(path)
	if lines := mustLines(t, l, err); len(lines) != 2 || l.Torn().Frames != 2 || l.Torn().Offset != ends[1] {
		t.Error(lines, l.Torn())
	}
	l.Close()
	for _, suffix := range []string{"", "-1"} {
		whole, _ := os.ReadFile(path)
		w, err = AppendLog(path)
		if err != nil {
			t.Fatal(err)
		}
		torn, kept := w.Dropped()
		data, err := os.ReadFile(kept)
		if err != nil || kept != fmt.Sprintf("%s.torn-%d%s", path, ends[1], suffix) ||
			int64(len(data)) != torn.Bytes || !bytes.Equal(data, whole[ends[1]:]) || w.Len() != 2 {
			t.Error(torn, kept, err)
		}
		w.log.file.Close()
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamagedLogsGiveErrorsOrRowsThatWereThere(t *testing.T) {
	rounds, refused := amount(3, 150, 5000), 0
	random := rand.New(rand.NewPCG(11, 12))
	logs := logsIn(t, "logs")
	logs["y_small"] = small(t)
	for path, data := range logs {
		if !strings.Contains(path, "y_") {
			continue
		}
		known := map[string]bool{}
		lines, _ := readLog(data)
		for _, line := range lines {
			known[line] = true
		}
		for range 40 * rounds {
			damaged := bytes.Clone(data)
			if random.IntN(4) == 0 {
				damaged = damaged[:random.IntN(len(data))]
			}
			for range random.IntN(4) {
				if len(damaged) > 0 {
					damaged[random.IntN(len(damaged))] ^= 1 << random.IntN(8)
				}
			}
			lines, err := readLog(damaged)
			if err != nil && !errors.Is(err, ErrBadLog) {
				t.Fatalf("%s: %v", path, err)
			}
			if err != nil {
				refused++
			}
			for _, line := range lines {
				if !known[line] {
					t.Fatalf("%s: a row %s that was not there", path, line)
				}
			}
		}
	}
	if refused < 100 {
		t.Errorf("only %d were refused", refused)
	}
}

// reseal makes the CRCs of all whole headers right, so that what they say is believed.
func reseal(data []byte) {
	if len(data) < logHeaderSize {
		return
	}
	f := logFrames{identity: [8]byte(data[8:])}
	copy(data, newLogHeader(f.identity))
	for at := uint64(logHeaderSize); at+logFrameSize <= uint64(len(data)); {
		m := mem(data[at:])
		if m.u32(0)&0xffffff != logFrameMagic {
			return
		}
		if body := m[logFrameSize:]; m.u32(4) <= uint64(len(body)) {
			copy(m[24:], appendU32(crcOf(body[:m.u32(4)])))
		}
		copy(m[28:], appendU32(f.headerCRC(m, at)))
		at += logFrameSize + m.u32(4)
	}
}

func FuzzLog(f *testing.F) {
	for _, data := range logsIn(f, "logs") {
		f.Add(data, true)
		f.Add(data, false)
	}
	f.Add(small(f), true)
	f.Fuzz(func(t *testing.T, data []byte, sealed bool) {
		if data = bytes.Clone(data); sealed {
			reseal(data)
		}
		l, err := ReadLog(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, ErrBadLog) {
				t.Fatal(err)
			}
			return
		}
		left := 100
		for group, err := range l.Groups(0, math.MaxInt64) {
			if left--; err != nil || left < 0 {
				break
			}
			group.Rows().Len()
		}
		for row, err := range l.Rows(0, l.Len()) {
			if left--; err != nil || left < 0 {
				break
			}
			AppendJSON(nil, row, JSONOptions{MaxBytes: 1 << 16})
		}
		l.Row(l.Len() - 1)
		l.Refresh()
		l.Stats()
	})
}

func TestReadersFollowAWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.lblog")
	w, err := CreateLog(path, GroupsOf(10, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range 105 {
		if _, err := w.Append(i); err != nil {
			t.Fatal(err)
		}
		if l.Len() != int64(i) {
			t.Fatal("a row came by itself")
		}
		if n, err := l.Refresh(); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		for _, j := range []int{i, i / 2} {
			row, err := l.Row(int64(j))
			if x, wrong := row.Int64(); err != nil || wrong != nil || x != int64(j) {
				t.Fatalf("row %d of %d: %v, %v", j, i, row, err)
			}
			row, err = w.Log().Row(int64(j))
			if x, wrong := row.Int64(); err != nil || wrong != nil || x != int64(j) {
				t.Fatalf("the writer's row %d of %d: %v, %v", j, i, row, err)
			}
		}
		if i%7 == 0 {
			mustLines(t, l, nil) // the rows behind the last group are kept as one group
			mustLines(t, w.Log(), nil)
		}
	}
	if n, err := l.Refresh(); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	// A range that has begun goes on over the rows that were there.
	rows, first := 0, l.Len()
	for _, err := range l.Rows(0, math.MaxInt64) {
		if rows++; rows == 101 {
			l.kept.Store(nil)
			w.Append("more")
			l.Refresh()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if rows != int(first) || l.Len() != first+1 {
		t.Error(rows, l.Len())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// Compacting puts another file in its place; rows keep their numbers.
	command(t, "", "log", "compact", path)
	command(t, "106\n107\n", "log", "append", path)
	if n, err := l.Refresh(); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if lines := mustLines(t, l, nil); len(lines) != 108 || lines[106] != "106" || lines[50] != "50" {
		t.Error(lines)
	}
	if err := os.Truncate(path, 70); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Refresh(); !errors.Is(err, LogCutShort) || l.Len() != 108 {
		t.Error(l.Len(), err)
	}
}

func TestOneWriterAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.lblog")
	w, err := AppendLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := AppendLog(path); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	if _, err := CreateLog(path); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	c := exec.Command(reference(t), "log", "append", path)
	c.Stdin = strings.NewReader("1\n")
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "locked") {
		t.Errorf("the command had the log, too: %s", out)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err == nil {
		t.Error("closed twice")
	}
	// The command holds the lock until its input ends.
	c = exec.Command(reference(t), "log", "append", path)
	input, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(input, "1")
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		w, err := AppendLog(path)
		if errors.Is(err, ErrLocked) {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatal("the log is not locked", err)
		}
		w.Close()
	}
	input.Close()
	c.Wait()
	sameLog(t, path)
}

// TestManyMakeOneLog: who makes a log has it only once it is locked. Between, others may lock the empty file, and begin
// the log. Then it is theirs, and must not be removed.
func TestManyMakeOneLog(t *testing.T) {
	rounds := amount(8, 250, 1000)
	for round := range rounds {
		path := filepath.Join(t.TempDir(), "rows.lblog")
		const writers = 6
		failed := make(chan error, writers)
		for i := range writers {
			go func() {
				for {
					w, err := AppendLog(path)
					if errors.Is(err, ErrLocked) {
						continue
					}
					if err == nil {
						_, err = w.Append(i)
						err = errors.Join(err, w.Close())
					}
					failed <- err
					return
				}
			}()
		}
		for range writers {
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
		}
		l, err := OpenLog(path)
		lines := mustLines(t, l, err)
		slices.Sort(lines)
		l.Close()
		if strings.Join(lines, "") != "012345" {
			t.Fatalf("round %d: rows %q", round, lines)
		}
	}
}

func TestFilesThatAreNoLogs(t *testing.T) {
	folder := t.TempDir()
	if _, err := OpenLog(filepath.Join(folder, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := OpenLog(folder); err == nil {
		t.Error("a folder is a log")
	}
	if _, err := AppendLog(folder); err == nil {
		t.Error("a folder is a log")
	}
	for size, good := range map[int]bool{0: true, 40: true, 64: true, 65: false} {
		path := filepath.Join(folder, strconv.Itoa(size))
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenLog(path); !errors.Is(err, LogNotALog) {
			t.Errorf("%d zeros: %v", size, err)
		}
		w, err := AppendLog(path)
		if (err == nil) != good || err != nil && !errors.Is(err, LogNotALog) {
			t.Errorf("%d zeros: %v", size, err)
		}
		if err == nil {
			w.Append(1)
			w.Close()
			sameLog(t, path)
		}
	}
	// A log whose read-only flag is set is read, and not written.
	path := filepath.Join(folder, "later.lblog")
	data := small(t)
	data[6] = 1
	copy(data[28:], appendU32(crcOf(data[:28])))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := OpenLog(path)
	if lines := mustLines(t, l, err); len(lines) != 10 {
		t.Error(lines)
	}
	l.Close()
	if _, err := AppendLog(path); !errors.Is(err, LogUnsupported) {
		t.Error(err)
	}
	after, _ := os.ReadFile(path)
	sameBytes(t, "the log", after, data)
}

func appendU32(x uint32) []byte { return []byte{byte(x), byte(x >> 8), byte(x >> 16), byte(x >> 24)} }

func TestARemovedLogCannotBeSynced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.lblog")
	w, err := CreateLog(path, SyncEach())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(1); err != nil || w.log.frames.durable != w.log.frames.end {
		t.Fatal(err)
	}
	os.Remove(path)
	if _, err := w.Append(2); !errors.Is(err, LogReplaced) {
		t.Error(err)
	}
	if err := w.Close(); !errors.Is(err, LogReplaced) {
		t.Error(err)
	}
}

func TestAFailedSyncEndsTheWriter(t *testing.T) {
	w, err := CreateLog(filepath.Join(t.TempDir(), "rows.lblog"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(1); err != nil {
		t.Fatal(err)
	}
	w.log.file.Close() // so that writing and waiting fail
	if _, err := w.Append(2); err == nil || w.Len() != 1 {
		t.Error(err)
	}
	w.broken = true
	for _, call := range []func() error{w.Sync, w.Close, func() error { _, err := w.Append(2); return err },
		func() error { _, err := ExtendLog(w, slices.Values([]int{1})); return err }} {
		if err := call(); !errors.Is(err, LogBroken) {
			t.Error(err)
		}
	}
}

// TestMain is also the writer that TestKilledWriters kills.
func TestMain(m *testing.M) {
	if path := os.Getenv("LIVEBUF_TEST_WRITER"); path != "" {
		writeUntilKilled(path)
	}
	os.Exit(m.Run())
}

// writeUntilKilled adds rows, and says after each call how many are there.
func writeUntilKilled(path string) {
	w, err := AppendLog(path, GroupsOf(50, 1<<20))
	for err == nil {
		n := w.Len()
		switch n % 5 {
		case 0:
			_, err = ExtendLog(w, slices.Values([]int64{n, n + 1, n + 2}))
		case 4:
			err = w.Sync()
			fallthrough
		default:
			if err == nil {
				_, err = w.Append(n)
			}
		}
		fmt.Println(w.Len())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestKilledWriters(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "rows.lblog")
	rounds := amount(12, 100, 2000)
	random := rand.New(rand.NewPCG(13, 14))
	said := int64(0)
	for round := range rounds {
		if said > 20_000 {
			path, said = filepath.Join(folder, fmt.Sprintf("%d.lblog", round)), 0
		}
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "LIVEBUF_TEST_WRITER="+path)
		byCommand := round%4 == 3
		var input io.WriteCloser
		if byCommand {
			c = exec.Command(reference(t), "log", "append", path)
			input, _ = c.StdinPipe()
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		began, done := make(chan bool, 1), make(chan bool)
		go func() {
			defer close(done)
			if byCommand { // rows that it may have taken or not
				for i := said; ; i++ {
					if _, err := fmt.Fprintln(input, i); err != nil {
						return
					}
				}
			}
			for lines := bufio.NewScanner(out); lines.Scan(); {
				said, _ = strconv.ParseInt(lines.Text(), 10, 64)
				select {
				case began <- true:
				default:
				}
			}
		}()
		if round%4 < 2 { // else it may be killed before it begins
			select {
			case <-began:
			case <-time.After(10 * time.Second):
			}
		}
		time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
		c.Process.Kill()
		<-done
		c.Wait()
		if _, err := os.Stat(path); said == 0 && err != nil {
			continue
		}
		l, err := OpenLog(path)
		if errors.Is(err, LogNotALog) && said == 0 {
			continue
		}
		lines := mustLines(t, l, err)
		if int64(len(lines)) < said {
			t.Fatalf("round %d: %d rows, and %d were said to be there", round, len(lines), said)
		}
		for i, line := range lines {
			if line != strconv.Itoa(i) {
				t.Fatalf("round %d: row %d is %s", round, i, line)
			}
		}
		said = l.Len()
		l.Close()
		if round%4 == 2 {
			w, err := AppendLog(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Append(said); err != nil {
				t.Fatal(err)
			}
			said++
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got := sameLog(t, path); int64(len(got)) != said {
				t.Fatalf("round %d: %d rows, not %d", round, len(got), said)
			}
		}
	}
	if path == filepath.Join(folder, "rows.lblog") && said < 10 {
		t.Errorf("only %d rows", said)
	}
}

func crcOf(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

func BenchmarkLog(b *testing.B) {
	type lap struct {
		Lap  int     `livebuf:"lap"`
		Sec  float64 `livebuf:"sec"`
		Name string  `livebuf:"name"`
	}
	laps := func(n int) func(yield func(lap) bool) {
		return func(yield func(lap) bool) {
			for i := 0; i < n && yield(lap{i, float64(i) / 4, fmt.Sprint("driver ", i%20)}); i++ {
			}
		}
	}
	path := filepath.Join(b.TempDir(), "rows.lblog")
	w, err := CreateLog(path)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			w.Append(lap{1, 2.5, "driver"})
		}
	})
	b.Run("extend by 10000", func(b *testing.B) {
		for b.Loop() {
			ExtendLog(w, laps(10_000))
		}
	})
	b.Run("column of all rows", func(b *testing.B) {
		l, err := OpenLog(path)
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		for b.Loop() {
			sum := 0.0
			for group, err := range l.Groups(0, l.Len()) {
				if err != nil {
					b.Fatal(err)
				}
				secs, _, _ := Column[float64](group.Rows(), "sec")
				for _, x := range secs {
					sum += x
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(l.Len()), "ns/row")
	})
}
