package livebuf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// inFile is a document in a file.
func inFile(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "document.lbuf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDocumentsInFiles(t *testing.T) {
	for name, data := range documents(t, "vectors/y_*.lbuf") {
		f, err := OpenFile(name + ".lbuf")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !bytes.Equal(f.Bytes(), mustOpen(t, data).Bytes()) || f.Validate() != nil {
			t.Errorf("%s: other bytes", name)
		}
		if err := f.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, data := range documents(t, "vectors/n_*.lbuf") {
		f, err := OpenFile(name + ".lbuf")
		_, want := Open(data)
		if fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("%s: %v, not %v", name, err, want)
		}
		if err == nil {
			f.Close()
		}
	}
	if _, err := OpenFile(inFile(t, nil)); !errors.Is(err, ErrNotADocument) {
		t.Error(err)
	}
	if _, err := OpenFile(t.TempDir()); err == nil {
		t.Error("a folder is a document")
	}
	if _, err := OpenFile("none.lbuf"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestValuesOfAClosedFileAreMissing(t *testing.T) {
	for name := range documents(t, "vectors/y_*.lbuf") {
		f, err := OpenFile(name + ".lbuf")
		if err != nil {
			t.Fatal(err)
		}
		var values []Value
		var walk func(v Value)
		walk = func(v Value) {
			if values = append(values, v); len(values) > 1000 {
				return
			}
			for _, x := range v.Elements() {
				walk(x)
			}
			for _, x := range v.Members() {
				walk(x)
			}
		}
		walk(f.Root())
		f.Close()
		for _, v := range values {
			v.Text()
			v.UUID()
			v.Decimal()
			v.Any()
			v.Digest()
			v.Range("", "")
			if v.Kind() == KindObject && v.Get("a").Exists() || v.Kind() == KindArray && v.At(0).Exists() {
				t.Errorf("%s: a value is still there", name)
			}
			AppendJSON(nil, v, JSONOptions{})
			Column[int64](v)
			Column[string](v, "a")
			Tensor[float32](v)
		}
		if f.Root().Exists() {
			t.Errorf("%s: the root is still there", name)
		}
	}
}

func TestFilesAreLocked(t *testing.T) {
	path := inFile(t, open(t, "y_encoded_lap"))
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	if _, err := openLocked(path, true); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	f.Close()
	file, err := openLocked(path, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(path); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	file.Close()
}

// open is the bytes of a vector.
func open(t testing.TB, name string) []byte { return sample(t, name).Bytes() }

func TestJournalsAreMadeInMemory(t *testing.T) {
	n := 0
	for name, data := range documents(t, "frozen/*/journal.lbuf") {
		n++
		want, err := os.ReadFile(name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		f, err := OpenFile(name + ".lbuf")
		if err != nil {
			t.Fatal(err)
		}
		sameText(t, name, mustJSON(t, f.Root()), strings.TrimSpace(string(want)))
		if err := f.Validate(); err != nil {
			t.Error(err)
		}
		f.Close()
		after, _ := os.ReadFile(name + ".lbuf")
		sameBytes(t, name, after, data)
		// A journal that is not complete is none: the document is as it was, which is whole or half changed.
		used, _, ok := journalOf(data)
		if !ok {
			t.Fatal(name)
		}
		old := mustJSON(t, mustOpen(t, data).Root())
		for cut := int(used); cut < len(data); cut++ {
			if _, _, ok := journalOf(data[:cut]); ok {
				t.Errorf("%s: a journal in %d bytes", name, cut)
			}
		}
		f, err = OpenFile(inFile(t, data[:len(data)-1]))
		if err != nil {
			t.Fatal(err)
		}
		sameText(t, name, mustJSON(t, f.Root()), old)
		f.Close()
		for i := range 8 * (len(data) - int(used)) {
			damaged := bytes.Clone(data)
			damaged[int(used)+i/8] ^= 1 << (i % 8)
			if _, _, ok := journalOf(damaged); ok {
				t.Errorf("%s: a journal though bit %d is another one", name, i)
			}
		}
	}
	if n == 0 {
		t.Error("no journals")
	}
}

func FuzzJournal(f *testing.F) {
	for _, data := range documents(f, "frozen/*/journal.lbuf") {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= headerSize+32 { // let its CRC be right
			data = bytes.Clone(data)
			if length := mem(data[len(data)-32:]).u64(0); length >= 32 && length <= uint64(len(data)) {
				copy(data[len(data)-12:], appendU32(crcOf(data[len(data)-int(length):len(data)-12])))
			}
		}
		doc, err := OpenFile(inFile(t, data))
		if err != nil {
			return
		}
		exercise(doc.Bytes())
		doc.Close()
	})
}

// --- partial documents

// counted is a source of bytes that counts, and may fail.
type counted struct {
	data   []byte
	reads  int
	failed error
}

func (c *counted) ReadAt(b []byte, at int64) (int, error) {
	c.reads++
	if c.failed != nil {
		return 0, c.failed
	}
	return bytes.NewReader(c.data).ReadAt(b, at)
}

func TestPartialDocumentsAreAsWholeOnes(t *testing.T) {
	n := 0
	for _, pattern := range []string{"vectors/*.lbuf", "frozen/*/*.lbuf"} {
		for name, data := range documents(t, pattern) {
			p, err := OpenPartial(bytes.NewReader(data), 1)
			doc, want := Open(data)
			if fmt.Sprint(err) != fmt.Sprint(want) {
				t.Errorf("%s: %v, not %v", name, err, want)
			}
			if err != nil {
				continue
			}
			if p.Len() != len(doc.Bytes()) {
				t.Errorf("%s: %d bytes", name, p.Len())
			}
			var text []byte
			err = p.Read(func(doc *Document) (err error) {
				text, err = AppendJSON(nil, doc.Root(), JSONOptions{NonFiniteNull: true})
				return err
			})
			whole, want := AppendJSON(nil, doc.Root(), JSONOptions{NonFiniteNull: true})
			if fmt.Sprint(err) != fmt.Sprint(want) {
				t.Errorf("%s: %v, not %v", name, err, want)
			}
			sameText(t, name, string(text), string(whole))
			if valid := p.Read((*Document).Validate); fmt.Sprint(valid) != fmt.Sprint(doc.Validate()) {
				t.Errorf("%s: %v, not %v", name, valid, doc.Validate())
			}
			if requests, _ := p.Fetched(); requests > 1 {
				n++
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d documents of several pages", n)
	}
}

// large is a document of many pages, each of whose users has an id, a name and a text.
func large(t testing.TB) []byte {
	t.Helper()
	type user struct {
		ID   int    `livebuf:"id"`
		Name string `livebuf:"name"`
		Text string `livebuf:"text"`
	}
	var users []user
	for i := range 5000 {
		users = append(users, user{i, fmt.Sprintf("user %d", i), fmt.Sprintf("%d %s", i, strings.Repeat("text ", 300))})
	}
	data, err := Marshal(map[string]any{"users": users})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPartialDocumentsFetchWhatIsRead(t *testing.T) {
	data := large(t)
	source := &counted{data: data}
	p, err := OpenPartial(source, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	name := func(i int) (name string, err error) {
		err = p.Read(func(doc *Document) (err error) {
			name, err = doc.Root().Get("users").At(i).Get("name").Text()
			return err
		})
		return name, err
	}
	for i := range 3 {
		if got, err := name(4000 + i); err != nil || got != fmt.Sprintf("user %d", 4000+i) {
			t.Fatal(got, err)
		}
	}
	requests, fetched := p.Fetched()
	if requests != source.reads || requests > 8 || fetched > int64(len(data)/8) {
		t.Errorf("%d requests, %d of %d bytes", requests, fetched, len(data))
	}
	// What the function keeps is missing afterwards.
	var kept Value
	if err := p.Read(func(doc *Document) error { kept = doc.Root().Get("users"); return nil }); err != nil {
		t.Fatal(err)
	}
	if kept.At(1).Exists() {
		t.Error("a value is there after the function has ended")
	}
	// Package fmt hides panics of String.
	var text string
	err = p.Read(func(doc *Document) error {
		text = fmt.Sprint(doc.Pointer("/users/2500/text"))
		return nil
	})
	if err != nil || !strings.HasPrefix(text, "2500 text") {
		t.Errorf("%.40s, %v", text, err)
	}
	// All of a column, summed within the function.
	sum := 0
	err = p.Read(func(doc *Document) error {
		ids, _, err := Column[int](doc.Root().Get("users"), "id")
		sum = 0
		for _, id := range ids {
			sum += id
		}
		return err
	})
	if err != nil || sum != 4999*5000/2 {
		t.Error(sum, err)
	}
	// Errors of the source, and those of the function.
	source.failed = io.ErrClosedPipe
	if _, err := name(100); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	validate := func() error { return p.Read((*Document).Validate) }
	if err := validate(); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	source.failed, source.data = nil, data[:len(data)/2]
	if err := validate(); !errors.Is(err, ErrTruncated) {
		t.Error(err)
	}
	source.data = data
	if err := p.Read(func(*Document) error { return io.ErrNoProgress }); err != io.ErrNoProgress {
		t.Error(err)
	}
	if err := p.Prefetch(-5, len(data)/3); err != nil {
		t.Error(err)
	}
	before := source.reads
	if err := validate(); err != nil || source.reads-before > 20 {
		t.Error(source.reads-before, err)
	}
	source.failed = io.ErrClosedPipe // all is here
	if err := validate(); err != nil {
		t.Error(err)
	}
	// Other panics go on.
	func() {
		defer func() {
			if r := recover(); r != "mine" {
				t.Error(r)
			}
		}()
		p.Read(func(*Document) error { panic("mine") })
	}()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := name(1); err == nil || p.Close() != nil {
		t.Error("read after it was closed")
	}
}

// strange is a source that does what sources must not do, from its second reading on.
type strange struct {
	counted
	n int // what it says that it read; 0 where it panics
}

func (s *strange) ReadAt(b []byte, at int64) (int, error) {
	n, err := s.counted.ReadAt(b, at)
	switch {
	case s.reads != 2:
		return n, err
	case s.n == 0:
		panic("the source")
	}
	return s.n, nil
}

func TestSourcesThatFailInAStrangeWay(t *testing.T) {
	data := large(t)
	for _, n := range []int{0, -1, 1 << 30} {
		p, err := OpenPartial(&strange{counted{data: data}, n}, 4096)
		if err != nil {
			t.Fatal(err)
		}
		name := func() (name string, err error) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("%v", r)
				}
			}()
			err = p.Read(func(doc *Document) (err error) {
				name, err = doc.Pointer("/users/4000/name").Text()
				return err
			})
			return name, err
		}
		if got, err := name(); err == nil || n != 0 && !errors.Is(err, ErrIO) {
			t.Errorf("%q, %v", got, err)
		}
		// The page is still missing, and is fetched now.
		if got, err := name(); err != nil || got != "user 4000" {
			t.Errorf("%q, %v", got, err)
		}
		if err := p.Close(); err != nil || p.Len() != len(data) {
			t.Error(err, p.Len())
		}
		if _, err := name(); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "closed") {
			t.Error(err)
		}
		first := &strange{counted{data: data, reads: 1}, n - 1}
		if p, err := OpenPartial(first, 4096); n > 0 && !errors.Is(err, ErrIO) {
			t.Error(p, err)
		}
	}
}

func TestGoroutinesTakeTurnsInAPartialDocument(t *testing.T) {
	p, err := OpenPartial(bytes.NewReader(large(t)), 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var all sync.WaitGroup
	for g := range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := g; i < 5000; i += 97 {
				var name string
				err := p.Read(func(doc *Document) (err error) {
					name, err = doc.Root().Get("users").At(i).Get("name").Text()
					return err
				})
				if err != nil || name != fmt.Sprintf("user %d", i) {
					t.Errorf("user %d is %q, %v", i, name, err)
				}
			}
		}()
	}
	all.Wait()
}

// Where int has 32 bits, the count of pages overflowed for a header that claims almost 2 GiB, which was a panic.
func TestHeadersOfPartialDocumentsMayClaimMuch(t *testing.T) {
	made, err := FromJSON([]byte("[1]"))
	must(t, err)
	data := append(made, make([]byte, 1<<20)...)
	binary.LittleEndian.PutUint32(data[headerUsed:], math.MaxInt32-7)
	p, err := OpenPartial(bytes.NewReader(data), 1)
	if err != nil {
		t.Skip(err) // such as no room in the addresses of 32 bits
	}
	defer p.Close()
	must(t, p.Read(func(doc *Document) error { return doc.Root().At(0).Err() }))
	if err := p.Prefetch(math.MaxInt32-100, math.MaxInt); !errors.Is(err, ErrTruncated) {
		t.Error(err)
	}
	must(t, p.Prefetch(-5, -3), p.Prefetch(0, 0))
}

func FuzzPartial(f *testing.F) {
	for _, data := range documents(f, "vectors/*.lbuf") {
		if len(data) < 10_000 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := OpenPartial(bytes.NewReader(data), 1)
		doc, want := Open(data)
		if len(data) >= systemPage && errors.Is(want, ErrTruncated) {
			return // only who reads behind the first page finds that
		}
		if (err == nil) != (want == nil) {
			t.Fatalf("%v, not %v", err, want)
		}
		if err != nil {
			return
		}
		defer p.Close()
		var text []byte
		err = p.Read(func(doc *Document) (err error) {
			text, err = AppendJSON(nil, doc.Root(), JSONOptions{MaxBytes: 1 << 16})
			return err
		})
		whole, want := AppendJSON(nil, doc.Root(), JSONOptions{MaxBytes: 1 << 16})
		if fmt.Sprint(err) != fmt.Sprint(want) || !bytes.Equal(text, whole) {
			t.Fatalf("%.60q, %v, not %.60q, %v", text, err, whole, want)
		}
	})
}
