package livebuf

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const testdata = "../../testdata"

// amount is how much a test does: in short, with all tests of the project (LIVEBUF_ALL), or as long as it takes to be
// sure (LIVEBUF_LONG).
func amount(short, all, long int) int {
	switch {
	case os.Getenv("LIVEBUF_LONG") != "":
		return long
	case os.Getenv("LIVEBUF_ALL") != "":
		return all
	}
	return short
}

// documents are all files with a document in a folder of testdata, by name.
func documents(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(testdata, pattern))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimSuffix(path, ".lbuf")] = data
	}
	return found
}

func mustOpen(t testing.TB, data []byte) *Document {
	t.Helper()
	doc, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func mustJSON(t testing.TB, v Value) string {
	t.Helper()
	text, err := AppendJSON(nil, v, JSONOptions{NonFiniteNull: true})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sameText fails where two texts begin to differ.
func sameText(t testing.TB, name, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	t.Errorf("%s: from byte %d on: %.60q, not %.60q", name, i, got[i:], want[i:])
}

func TestValidDocumentsPrintAsTheirJSON(t *testing.T) {
	for pattern, least := range map[string]int{"vectors/y_*.lbuf": 130, "frozen/*/*.lbuf": 100} {
		n := 0
		for name, data := range documents(t, pattern) {
			text, err := os.ReadFile(name + ".json")
			if err != nil || filepath.Base(name) == "journal" {
				continue // a reserved tag, or a file whose document has a journal (LOG 9)
			}
			n++
			doc, err := Open(data)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			printed, err := AppendJSON(nil, doc.Root(), JSONOptions{NonFiniteNull: true})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			sameText(t, name, string(printed), strings.TrimSuffix(string(text), "\n"))
			if len(data) < 100_000 {
				w := &walker{t: t, name: name, left: 20_000}
				w.check(doc.Root())
			}
		}
		if n < least {
			t.Errorf("%s: only %d documents", pattern, n)
		}
	}
}

func TestReservedTagsHaveNoJSON(t *testing.T) {
	for name, data := range documents(t, "vectors/y_reserved_*.lbuf") {
		root := mustOpen(t, data).Root()
		if _, err := AppendJSON(nil, root, JSONOptions{}); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
		found := false
		for _, v := range root.Elements() {
			found = found || v.Kind() == KindReserved
		}
		for _, v := range root.Members() {
			found = found || v.Kind() == KindReserved
		}
		if !found {
			t.Errorf("%s: no reserved value", name)
		}
	}
}

// walker looks each value of a valid document up in every way, and compares.
type walker struct {
	t    *testing.T
	name string
	left int
}

func (w *walker) same(how string, got, want Value) {
	w.t.Helper()
	if got.what.tag != want.what.tag || got.form != want.form || got.bits != want.bits || got.place != want.place {
		w.t.Errorf("%s: by %s: %+v, not %+v", w.name, how, got, want)
	}
}

func (w *walker) check(v Value) {
	if w.left--; w.left < 0 || w.t.Failed() {
		return
	}
	switch v.Kind() {
	case KindObject:
		w.object(v)
	case KindArray:
		n := 0
		for i, x := range v.Elements() {
			if w.left < 0 {
				break
			}
			w.same("At", v.At(i), x)
			w.same("Pointer", v.Pointer("/"+strconv.Itoa(i)), x)
			w.check(x)
			n++
		}
		if w.left >= 0 && n != v.Len() {
			w.t.Errorf("%s: %d elements, not %d", w.name, n, v.Len())
		}
		if v.At(v.Len()).Exists() || v.At(-1).Exists() || v.Get("a").Exists() {
			w.t.Errorf("%s: an element behind the last", w.name)
		}
		w.columns(v)
	case KindMissing:
		w.t.Errorf("%s: %v", w.name, v.Err())
	}
}

func (w *walker) object(v Value) {
	var keys []string
	for key, x := range v.Members() {
		if w.left < 0 {
			return
		}
		keys = append(keys, key)
		w.same("Get", v.Get(key), x)
		w.same("GetKey", v.GetKey(NewKey(key)), x)
		w.same("Pointer", v.Pointer("/"+strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")), x)
		if v.Get(key+"?").Exists() && v.Get(key+"?").Err() == nil && !contains(v, key+"?") {
			w.t.Errorf("%s: a member %q?", w.name, key)
		}
		w.check(x)
	}
	if len(keys) != v.Len() {
		w.t.Errorf("%s: %d members, not %d", w.name, len(keys), v.Len())
	}
	sort.Strings(keys)
	var ordered []string
	for key, x := range v.Range("", "") {
		ordered = append(ordered, key)
		w.same("Range", x, v.Get(key))
	}
	if strings.Join(keys, "\x00") != strings.Join(ordered, "\x00") {
		w.t.Errorf("%s: Range has %q, not %q", w.name, ordered, keys)
	}
	for _, i := range []int{0, len(keys) / 3, len(keys) - 1} {
		if i < 0 || i >= len(keys) {
			continue
		}
		got, want := 0, 0
		for range v.Range(keys[i], keys[len(keys)-1]) {
			got++
		}
		if want = len(keys) - 1 - i; got != want && keys[len(keys)-1] != "" {
			w.t.Errorf("%s: a range of %d members, not %d", w.name, got, want)
		}
		prefix := keys[i][:(len(keys[i])+1)/2]
		got, want = 0, 0
		for range v.Prefix(prefix) {
			got++
		}
		for _, key := range keys {
			if strings.HasPrefix(key, prefix) {
				want++
			}
		}
		if got != want {
			w.t.Errorf("%s: %d members with prefix %q, not %d", w.name, got, prefix, want)
		}
	}
}

func contains(v Value, key string) bool {
	for k := range v.Keys() {
		if k == key {
			return true
		}
	}
	return false
}

// columns compares the columns of an array with its elements.
func (w *walker) columns(v Value) {
	paths := [][]string{nil}
	for key, x := range v.At(0).Members() {
		paths = append(paths, []string{key})
		for inner := range x.Members() {
			paths = append(paths, []string{key, inner})
		}
	}
	for _, path := range paths {
		sameColumn[int8](w, v, path)
		sameColumn[int32](w, v, path)
		sameColumn[int64](w, v, path)
		sameColumn[uint16](w, v, path)
		sameColumn[uint64](w, v, path)
		sameColumn[float32](w, v, path)
		sameColumn[float64](w, v, path)
		sameColumn[bool](w, v, path)
		sameColumn[string](w, v, path)
		sameColumn[Date](w, v, path)
		sameColumn[DateTime](w, v, path)
		sameColumn[TimeOfDay](w, v, path)
		sameColumn[time.Time](w, v, path)
		sameColumn[Decimal](w, v, path)
		sameColumn[UUID](w, v, path)
	}
}

func sameColumn[T Item](w *walker, v Value, path []string) {
	all, valid, err := Column[T](v, path...)
	fits := true
	for i := range v.Len() {
		if w.left--; w.left < 0 {
			return
		}
		x := v.At(i)
		for _, key := range path {
			x = x.Get(key)
		}
		var want T
		if there := x.Exists() && !x.IsNull(); there {
			fits = fits && set(&want, x) == nil
		} else if err == nil && valid.Valid(i) {
			w.t.Errorf("%s: %T at %v: value %d is said to be there", w.name, want, path, i)
		}
		if err == nil && fits && fmt.Sprint(all[i]) != fmt.Sprint(want) {
			w.t.Errorf("%s: %T at %v: value %d is %v, not %v", w.name, want, path, i, all[i], want)
		}
	}
	if (err == nil) != fits {
		w.t.Errorf("%s: %T at %v: error %v, and the values fit: %v", w.name, all, path, err, fits)
	}
}

func TestTensors(t *testing.T) {
	n := 0
	for name, data := range documents(t, "vectors/y_tensor_*.lbuf") {
		var walk func(v Value)
		walk = func(v Value) {
			if all, shape, err := Tensor[float64](v); err == nil {
				n++
				size := 1
				for _, length := range shape {
					size *= length
				}
				if size != len(all) {
					t.Errorf("%s: shape %v of %d numbers", name, shape, len(all))
				}
				var flat []float64
				var numbers func(v Value)
				numbers = func(v Value) {
					for _, x := range v.Elements() {
						numbers(x)
					}
					if f, err := v.Float64(); err == nil {
						flat = append(flat, f)
					}
				}
				numbers(v)
				if fmt.Sprint(flat) != fmt.Sprint(all) {
					t.Errorf("%s: %v, not %v", name, all, flat)
				}
			}
			for _, x := range v.Elements() {
				walk(x)
			}
			for _, x := range v.Members() {
				walk(x)
			}
		}
		walk(mustOpen(t, data).Root())
	}
	if n < 10 {
		t.Errorf("only %d tensors", n)
	}
}

// exercise calls everything on a document that may be damaged. It must end, and must not panic.
func exercise(data []byte) {
	doc, err := Open(data)
	if err != nil {
		return
	}
	text, err := AppendJSON(nil, doc.Root(), JSONOptions{MaxBytes: 1 << 16})
	if err == nil && !(json.Valid(text) && utf8.Valid(text)) {
		panic(fmt.Sprintf("this is no JSON: %q", text))
	}
	if len(data) < 1<<12 {
		doc.Root().Any()
		doc.Root().Raw()
		doc.Root().Digest()
		doc.Root().Decode(new([]map[string]RawValue))
		if made, err := Encode(RawValue(data)); err == nil && validity(made) != nil {
			panic(fmt.Sprintf("%x is encoded as %x: %v", data, made, validity(made)))
		}
		e, _ := NewEditor(map[string]any{})
		if e.Set(Pointer(""), "a", doc.Root()) == nil && validity(e.Bytes()) != nil {
			panic(fmt.Sprintf("%x becomes a part of %x: %v", data, e.Bytes(), validity(e.Bytes())))
		}
	}
	left := 500
	var walk func(v Value, depth int)
	walk = func(v Value, depth int) {
		if left--; left < 0 || depth > 1100 {
			return
		}
		v.Kind()
		v.Err()
		v.Float64()
		v.Decimal()
		v.UUID()
		v.Text()
		v.Len()
		v.Get("a")
		v.Get("a longer key")
		v.GetKey(NewKey("key 0"))
		v.At(1)
		v.Pointer("/0/a")
		for _, x := range v.Elements() {
			if walk(x, depth+1); left < 0 {
				return
			}
		}
		n := 0
		for key, x := range v.Members() {
			v.Get(key)
			if walk(x, depth+1); left < 0 {
				return
			}
		}
		for range v.Range("b", "") {
			if n++; n > 20 {
				break
			}
		}
		if v.Len() < 1<<16 {
			Column[int64](v)
			Column[float64](v, "a")
			Column[string](v, "b")
			Tensor[float32](v)
		}
	}
	walk(doc.Root(), 0)
}

func TestDamagedDocuments(t *testing.T) {
	n := 0
	for name, data := range documents(t, "vectors/n_*.lbuf") {
		n++
		exercise(data)
		for _, kind := range []ErrorKind{ErrNotADocument, ErrUnsupportedVersion, ErrTruncated, ErrMisaligned} {
			prefix := "n_" + kind.String()
			_, err := Open(data)
			header := strings.HasPrefix(filepath.Base(name), prefix) && (kind != ErrMisaligned ||
				strings.Contains(name, "_used"))
			if header && !errors.Is(err, kind) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n < 300 {
		t.Errorf("only %d documents", n)
	}
	// A tensor of lists whose numbers have a code that no column has.
	data, _ := base64.StdEncoding.DecodeString("q0xCRgEAAAAgAAAAAAAAACEAAABQAAAAAAAAAAAAAAAFEgABAQAAAAAAAAAwAAAACQ" +
		"EAAAMAAAAAAAAAIAAAAAX/AAEAAAAAAAAAAAAAAAA=")
	exercise(data)
	// Vectors with a few bytes changed.
	rounds := amount(4, 40, 1000)
	random := rand.New(rand.NewPCG(1, 2))
	for _, data := range documents(t, "vectors/y_*.lbuf") {
		if len(data) > 20_000 {
			continue
		}
		for range rounds {
			damaged := bytes.Clone(data)
			for range 1 + random.IntN(3) {
				i := headerSize + random.IntN(max(len(damaged)-headerSize, 1))
				if i < len(damaged) {
					changes := []byte{0, 1, 255, byte(random.IntN(256)), damaged[i] ^ 1<<random.IntN(8)}
					damaged[i] = changes[random.IntN(len(changes))]
				}
			}
			exercise(damaged)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, data := range documents(f, "vectors/*.lbuf") {
		if len(data) < 4096 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { exercise(data) })
}

// reference is the path of the command `livebuf` of this project.
func reference(t testing.TB) string {
	t.Helper()
	for _, kind := range []string{"debug", "release"} {
		path, _ := filepath.Abs("../../target/" + kind + "/livebuf")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Skip("the command livebuf is not built: cargo build -p livebuf-cli")
	return ""
}

// encoded is the document that the command makes of JSON.
func encoded(t testing.TB, input []byte, options ...string) []byte {
	t.Helper()
	command := exec.Command(reference(t), append([]string{"from-json", "-"}, options...)...)
	command.Stdin = bytes.NewReader(input)
	data, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// shared is a file of real JSON.
func shared(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../shared/data", name))
	if err != nil {
		t.Skipf("no real JSON beside the project: %v", err)
	}
	return text
}

func TestRealJSON(t *testing.T) {
	for _, name := range []string{"apache_builds", "canada", "citm_catalog", "github_events", "instruments", "mesh",
		"numbers", "random", "twitter", "twitter_api_response"} {
		text := shared(t, name+".json")
		for _, options := range [][]string{nil, {"--no-tables"}} {
			if len(text) > 300_000 && options != nil && amount(0, 1, 1) == 0 {
				continue
			}
			data := encoded(t, text, options...)
			doc := mustOpen(t, data)
			command := exec.Command(reference(t), "to-json", "-")
			command.Stdin = bytes.NewReader(data)
			want, err := command.Output()
			if err != nil {
				t.Fatal(err)
			}
			sameText(t, name, mustJSON(t, doc.Root()), strings.TrimSpace(string(want)))
			// The values are those of encoding/json.
			plain, err := doc.Root().Any()
			if err != nil {
				t.Fatal(err)
			}
			ours, _ := json.Marshal(plain)
			var theirs any
			if err := json.Unmarshal(text, &theirs); err != nil {
				t.Fatal(err)
			}
			var again any
			if err := json.Unmarshal(ours, &again); err != nil {
				t.Fatal(err)
			}
			a, _ := json.Marshal(again)
			b, _ := json.Marshal(theirs)
			sameText(t, name, string(a), string(b))
			w := &walker{t: t, name: name, left: 30_000}
			w.check(doc.Root())
		}
	}
}
