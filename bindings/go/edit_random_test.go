package livebuf

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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

// Random edits of documents of all kinds, beside a plain model of their values.

// A model is a value: *modelObject, *modelArray, or the kind and the JSON of a scalar.
type (
	modelObject struct {
		keys   []string
		values map[string]any
	}
	modelArray struct{ items []any }
)

func modelOf(t testing.TB, v Value) any {
	if v.form == formScalar {
		return v.Kind().String() + " " + mustJSON(t, v)
	}
	if v.form == formArray {
		a := &modelArray{}
		for _, x := range v.Elements() {
			a.items = append(a.items, modelOf(t, x))
		}
		return a
	}
	if v.form == formBroken {
		t.Fatal(v.Err())
	}
	o := &modelObject{values: map[string]any{}}
	for key, x := range v.Members() {
		o.keys = append(o.keys, key)
		o.values[key] = modelOf(t, x)
	}
	return o
}

func cloneModel(m any) any {
	switch m := m.(type) {
	case *modelArray:
		a := &modelArray{}
		for _, x := range m.items {
			a.items = append(a.items, cloneModel(x))
		}
		return a
	case *modelObject:
		o := &modelObject{values: map[string]any{}}
		for _, key := range m.keys {
			o.set(key, cloneModel(m.values[key]))
		}
		return o
	}
	return m
}

// differs says where a value is not that of the model, whatever the order of members.
func differs(t testing.TB, m any, v Value, path string) string {
	switch m := m.(type) {
	case *modelArray:
		if v.form != formArray || v.Len() != len(m.items) {
			return fmt.Sprintf("%s: an array of %d, want %d", path, v.Len(), len(m.items))
		}
		for i, x := range v.Elements() {
			if d := differs(t, m.items[i], x, path+"/"+strconv.Itoa(i)); d != "" {
				return d
			}
		}
	case *modelObject:
		n := 0
		for key, x := range v.Members() {
			want, ok := m.values[key]
			if !ok {
				return fmt.Sprintf("%s: a key %.30q too many", path, key)
			}
			if d := differs(t, want, x, path+"/"+key); d != "" {
				return d
			}
			n++
		}
		if n != len(m.values) || v.Len() != n || v.form == formArray {
			return fmt.Sprintf("%s: %d members (Len %d), want %d", path, n, v.Len(), len(m.values))
		}
		for _, key := range m.keys {
			if !v.Get(key).Exists() {
				return fmt.Sprintf("%s: no %.30q", path, key)
			}
		}
	default:
		var room [64]byte
		got, err := AppendJSON(append(append(room[:0], v.Kind().String()...), ' '), v, JSONOptions{NonFiniteNull: true})
		if err != nil || string(got) != m {
			return fmt.Sprintf("%s: %.100s, want %.100v", path, got, m)
		}
	}
	return ""
}

func (o *modelObject) set(key string, x any) {
	if _, ok := o.values[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.values[key] = x
}

func (o *modelObject) remove(key string) {
	delete(o.values, key)
	o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
}

// sequence is a document that is edited.
type sequence struct {
	t       testing.TB
	r       *rand.Rand
	e       *Editor
	model   any
	keys    []string
	held    []heldHandle
	tensor  bool
	limited bool
	log     []string
}

type heldHandle struct {
	h *Handle
	m any
}

func newSequence(t testing.TB, data []byte, seed uint64) *sequence {
	limit := min(maxUsed, math.MaxInt)
	if seed%4 == 3 {
		limit = len(data) + int(seed)%3000 + 256
	}
	e, err := Edit(slices.Clone(data), Limit(limit))
	if err != nil {
		t.Fatal(err)
	}
	s := &sequence{t: t, r: rand.New(rand.NewPCG(seed, 1)), e: e, model: modelOf(t, e.Root()), limited: seed%4 == 3}
	s.keys = []string{"a", "b", "c", "id", "name", "x", "a longer key", "another longer key", "", "naïve"}
	var collect func(m any)
	collect = func(m any) {
		switch m := m.(type) {
		case *modelArray:
			for _, x := range m.items[:min(len(m.items), 30)] {
				collect(x)
			}
		case *modelObject:
			s.keys = append(s.keys, m.keys[:min(len(m.keys), 20)]...)
			for _, key := range m.keys[:min(len(m.keys), 30)] {
				collect(m.values[key])
			}
		}
	}
	collect(s.model)
	return s
}

func of[T any](s *sequence, all ...T) T { return all[s.r.IntN(len(all))] }

// value is a value and its model.
func (s *sequence) value(depth int) (any, any) {
	r := s.r
	n := 24
	if depth > 2 {
		n = 18
	}
	scalar := func(x any) (any, any) {
		p := planner{}
		node, err := p.value(x)
		if err != nil {
			s.t.Fatal(err)
		}
		d := &Editor{mem: make(mem, headerSize, 256), limit: maxUsed}
		d.live = &Document{data: d.mem, valid: true}
		d.putCell(headerRootTag, headerRoot, &node)
		return x, modelOf(s.t, d.live.Root())
	}
	switch r.IntN(n) {
	case 0:
		return scalar(nil)
	case 1:
		return scalar(r.IntN(2) == 0)
	case 2:
		return scalar(r.IntN(100))
	case 3:
		return scalar(of[int64](s, -1, -129, 256, 70_000, 1<<31, 1<<32, -(1<<31)-1, 1<<53, 1<<24+1, 1<<53+1))
	case 4:
		return scalar(of[uint64](s, 1<<53+1, 1<<63-1, 1<<63, 1<<64-1, 5))
	case 5, 6:
		return scalar(of(s, 0.5, -1.25, 3.5, 1e100, 0.1, -2.5, 2, math.Copysign(0, -1), 3, 16_777_218, 1e15, 0))
	case 7, 8, 9:
		return scalar(of(s, "", "short", "seven b", "eight by", "a text of some length", "naïve",
			strings.Repeat("long ", 1+r.IntN(40))))
	case 10:
		return scalar(strings.Repeat("very long ", 110))
	case 11:
		return scalar([]byte(of(s, "", "bytes", "more than seven bytes")))
	case 12:
		return scalar(UUID{1, 2, 3, byte(r.IntN(4))})
	case 13:
		return scalar(Date(r.IntN(20000)))
	case 14:
		return scalar(of[any](s, TimeOfDay(5_000_000), DateTime(-5), time.UnixMicro(1_700_000_000_000_001)))
	case 15:
		return scalar(of(s, Decimal{0, 150, 2}, Decimal{-1, math.MaxUint64, 0}, Decimal{5, 7, 38}))
	case 16:
		if v, m := s.part(); m != nil {
			return v, m
		}
		return scalar(1)
	case 17:
		return scalar(of(s, "C", "F", "K", "unit"))
	case 18, 19:
		all, a := []any{}, &modelArray{}
		for range r.IntN(5) {
			x, m := s.value(depth + 1)
			all, a.items = append(all, x), append(a.items, m)
		}
		return all, a
	case 20:
		all, a := []any{}, &modelArray{}
		x, m := s.value(3)
		for range r.IntN(20) {
			all, a.items = append(all, x), append(a.items, cloneModel(m))
		}
		return all, a
	case 21:
		if depth == 0 && r.IntN(4) == 0 {
			all, o := map[string]any{}, &modelObject{values: map[string]any{}}
			for i := range r.IntN(400) {
				x, m := s.value(3)
				key := fmt.Sprintf("key %d", i)
				all[key] = x
				o.set(key, m)
			}
			return all, o
		}
	}
	all, o := map[string]any{}, &modelObject{values: map[string]any{}}
	for range r.IntN(6) {
		x, m := s.value(depth + 1)
		key := s.key()
		all[key] = x
		o.set(key, m)
	}
	return all, o
}

// part is a value of the document itself, to be copied.
func (s *sequence) part() (any, any) {
	p, m := s.container()
	if m == nil {
		return nil, nil
	}
	v := s.e.Pointer(p)
	if size := len(v.String()); size > 5000 || heightOf(v) > 20 {
		return nil, nil
	}
	return v, modelOf(s.t, v)
}

func (s *sequence) key() string {
	if s.r.IntN(100) == 0 {
		return strings.Repeat("k", 250+s.r.IntN(10))
	}
	return s.keys[s.r.IntN(len(s.keys))]
}

// container is a container of the document and its model; none where the root is a scalar.
func (s *sequence) container() (string, any) {
	path, m := "", s.model
	if _, ok := m.(string); ok {
		return "", nil
	}
	for range 12 {
		var next []string
		var models []any
		switch m := m.(type) {
		case *modelArray:
			for range min(len(m.items), 12) {
				i := s.r.IntN(len(m.items))
				next, models = append(next, strconv.Itoa(i)), append(models, m.items[i])
			}
		case *modelObject:
			for range min(len(m.keys), 12) {
				key := m.keys[s.r.IntN(len(m.keys))]
				next, models = append(next, key), append(models, m.values[key])
			}
		}
		i := slices.IndexFunc(models, func(m any) bool { _, scalar := m.(string); return !scalar })
		if i < 0 || s.r.IntN(3) == 0 && path != "" {
			break
		}
		path += "/" + strings.ReplaceAll(strings.ReplaceAll(next[i], "~", "~0"), "/", "~1")
		m = models[i]
	}
	return path, m
}

// step makes one edit of the document and of the model.
func (s *sequence) step() {
	t, r, e := s.t, s.r, s.e
	path, m := s.container()
	var target Target = Pointer(path)
	if m != nil {
		switch r.IntN(3) {
		case 0:
			target = e.Pointer(path)
		case 1:
			h, err := e.Handle(target)
			if err != nil {
				t.Fatal(err)
			}
			target = h
			s.held = append(s.held, heldHandle{h, m})
			if len(s.held) > 40 {
				s.held = s.held[1:]
			}
		}
	}
	x, xm := s.value(0)
	before := slices.Clone(e.Bytes())
	what, err, change := "", error(nil), func() {}
	switch m := m.(type) {
	case nil:
		what, err, change = "replace", e.Replace(x), func() { s.model = xm }
	case *modelObject:
		key := s.key()
		old := ""
		if len(m.keys) > 0 {
			old = m.keys[r.IntN(len(m.keys))]
			if r.IntN(2) == 0 {
				key = old
			}
		}
		switch n := r.IntN(10); {
		case n < 6:
			what, change = "set "+key, func() { m.set(key, xm) }
			if r.IntN(3) == 0 {
				err = e.SetPointer(path+"/"+strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1"), x)
			} else {
				err = e.Set(target, key, x)
			}
		case n < 8:
			what, change = "remove "+old, func() { m.remove(old) }
			err = e.Remove(target, old)
			if len(m.keys) == 0 && errors.Is(err, ErrNotFound) {
				err = nil
			}
		case n < 9:
			if e.Pointer(path).form == formRow {
				s.held = nil // the member of a row is copied
			}
			what, err = "rename "+old+" "+key, e.Rename(target, old, key)
			if _, there := m.values[old]; !there || m.values[key] != nil && key != old {
				if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrKeyExists) {
					t.Fatalf("rename: %v", err)
				}
				err = nil
			} else {
				change = func() {
					value := m.values[old]
					m.remove(old)
					m.set(key, value)
				}
			}
		default:
			// Many members, so that records and extras become maps.
			what = "many"
			for i := range r.IntN(300) {
				key := fmt.Sprintf("many %d", i)
				x, xm := s.value(3)
				before = slices.Clone(e.Bytes())
				if err = e.Set(Pointer(path), key, x); err != nil {
					break
				}
				m.set(key, xm)
			}
			change = func() {}
		}
	case *modelArray:
		n := len(m.items)
		switch k := r.IntN(12); {
		case k < 5 && n > 0:
			i := r.IntN(n)
			what, err, change = "setAt "+strconv.Itoa(i), e.SetAt(target, i, x), func() { m.items[i] = xm }
		case k < 6 && n > 0:
			i := r.IntN(n)
			what, change = "removeAt", func() { m.items = slices.Delete(m.items, i, i+1) }
			err = e.RemoveAt(target, i)
		case k < 7:
			what, err, change = "push", e.Push(target, x), func() { m.items = append(m.items, xm) }
		case k < 8:
			what = "order"
			order := r.Perm(n)
			err = e.Reorder(target, order)
			change = func() {
				all := make([]any, n)
				for i, from := range order {
					all[i] = m.items[from]
				}
				m.items = all
			}
		default:
			i := r.IntN(n + 1)
			k := min(n-i, r.IntN(4))
			var all, models []any
			for range r.IntN(8) {
				x, xm := s.value(1)
				all, models = append(all, x), append(models, xm)
			}
			what, err = fmt.Sprintf("splice %d %d %d", i, k, len(all)), e.Splice(target, i, k, all...)
			change = func() { m.items = slices.Replace(m.items, i, i+k, models...) }
		}
	}
	s.log = append(s.log, fmt.Sprintf("%s: %s (%.60v)", path, what, x))
	switch {
	case err == nil:
		change()
	case errors.Is(err, ErrTensorMismatch), s.limited && errors.Is(err, ErrDocumentLimit):
		if string(before) != string(e.Bytes()) {
			t.Fatalf("%s changed something: %v", what, err)
		}
	default:
		s.fail("%v", err)
	}
	if s.tensor {
		s.model = modelOf(t, e.Root())
		s.held = nil
	}
}

func (s *sequence) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf(format+"\n%s", append(args, strings.Join(s.log[max(0, len(s.log)-4):], "\n"))...)
}

func (s *sequence) check() {
	s.t.Helper()
	if d := differs(s.t, s.model, s.e.Root(), ""); d != "" {
		s.fail("%s", d)
	}
	d, err := Open(s.e.Bytes())
	if err == nil {
		err = d.Validate()
	}
	if err != nil {
		s.fail("%v", err)
	}
	there := map[any]bool{}
	var walk func(m any)
	walk = func(m any) {
		there[m] = true
		switch m := m.(type) {
		case *modelArray:
			for _, x := range m.items {
				walk(x)
			}
		case *modelObject:
			for _, x := range m.values {
				walk(x)
			}
		}
	}
	walk(s.model)
	for _, h := range s.held {
		v := h.h.Value()
		if alive := v.form != formBroken; alive != there[h.m] {
			s.fail("a handle is alive: %v, its value: %v", alive, there[h.m])
		} else if !alive || len(s.log)%10 != 0 {
			continue
		}
		if d := differs(s.t, h.m, v, "handle"); d != "" {
			s.fail("%s", d)
		}
	}
}

// hasTensor says whether a document has a tensor, whose numbers are rounded.
func hasTensor(v Value) bool {
	if v.form == formArray {
		c, _ := v.doc.data.column(uint64(v.at))
		if c.tensor {
			return true
		}
		for _, x := range v.Elements() {
			if hasTensor(x) {
				return true
			}
		}
	}
	for _, x := range v.Members() {
		if hasTensor(x) {
			return true
		}
	}
	return false
}

// editable is documents of all kinds to begin with.
func editable(t testing.TB) ([]string, map[string][]byte) {
	all := documents(t, "vectors/y_*.lbuf")
	maps.Copy(all, documents(t, "frozen/*/*.lbuf"))
	for name, data := range all {
		if data[headerReadOnly] != 0 || len(data) > 20_000 || strings.Contains(name, "reserved") ||
			strings.Contains(name, "nesting") {
			delete(all, name)
		}
	}
	for i := range 40 {
		data, err := FromJSON([]byte(tableJSON(uint64(i))))
		if err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprintf("table %d", i)] = data
	}
	return slices.Sorted(maps.Keys(all)), all
}

// tableJSON is JSON of similar objects, with all kinds of columns.
func tableJSON(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 7))
	columns := []func(i int) string{
		func(i int) string { return strconv.Itoa(i) },
		func(int) string { return strconv.Itoa(r.IntN(1 << 20)) },
		func(int) string { return strconv.FormatFloat(float64(r.IntN(1000))/4, 'f', 2, 64) },
		func(int) string { return []string{"1.5", "2", "3.25"}[r.IntN(3)] },
		func(int) string { return []string{"1.5", "2", "2.0"}[r.IntN(3)] },
		func(int) string { return strconv.Quote([]string{"C", "F", "a longer unit"}[r.IntN(3)]) },
		func(i int) string { return fmt.Sprintf(`"name %d%s"`, i, strings.Repeat("x", r.IntN(9))) },
		func(i int) string { return fmt.Sprintf(`"A%03d"`, i) },
		func(int) string { return []string{"true", "false"}[r.IntN(2)] },
		func(int) string { return []string{"null", "1", "5"}[r.IntN(3)] },
		func(int) string { return []string{"[]", "[1]", "[1,2,3]", "[7,8]"}[r.IntN(4)] },
		func(int) string { return fmt.Sprintf("[%d,%d]", r.IntN(9), r.IntN(9)) },
		func(int) string { return fmt.Sprintf(`[{"p":%d,"q":"t"},{"p":2,"q":"u"}]`, r.IntN(9)) },
		func(int) string { return fmt.Sprintf(`{"lat":%d,"lon":%d.5}`, r.IntN(90), r.IntN(90)) },
		func(int) string { return `[[1,2],[3,4]]` },
		func(int) string { return []string{`"2026-11-23"`, `null`}[r.IntN(2)] },
	}
	r.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
	k := 1 + r.IntN(8)
	var b strings.Builder
	b.WriteString("[")
	for i := range 8 + r.IntN(60) {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("{")
		first := true
		for j := range k {
			if r.IntN(12) == 0 {
				continue
			}
			if !first {
				b.WriteString(",")
			}
			first = false
			fmt.Fprintf(&b, `"%c%d":%s`, 'a'+j, j, columns[j](i))
		}
		b.WriteString("}")
	}
	b.WriteString("]")
	return b.String()
}

func TestRandomEdits(t *testing.T) {
	names, all := editable(t)
	n, first := amount(40, 700, 10_000), uint64(0)
	first, _ = strconv.ParseUint(os.Getenv("LIVEBUF_SEED"), 10, 64) // where a run is to begin
	documents := newChecked(t)
	for i := range uint64(n) {
		seed := first + i
		name := names[(int(seed)*7919)%len(names)]
		ok := t.Run(fmt.Sprintf("%d_%s", seed, filepath.Base(name)), func(t *testing.T) {
			s := newSequence(t, all[name], seed)
			s.tensor = hasTensor(s.e.Root())
			for j := range 50 {
				s.step()
				s.check()
				if j%10 == 9 {
					documents.add(s.e.Bytes())
				}
			}
		})
		if !ok {
			break
		}
		if len(documents.files) > 400 {
			documents.validate()
		}
	}
	documents.validate()
}

// checked is documents that the command livebuf validates where it is built.
type checked struct {
	t       *testing.T
	command string
	folder  string
	files   []string
}

func newChecked(t *testing.T) *checked {
	command := cmp.Or(os.Getenv("LIVEBUF_COMMAND"), "../../target/debug/livebuf")
	return &checked{t: t, command: command, folder: t.TempDir()}
}

func (c *checked) add(document []byte) {
	file := filepath.Join(c.folder, fmt.Sprintf("%d.lbuf", len(c.files)))
	os.WriteFile(file, document, 0o666)
	c.files = append(c.files, file)
}

func (c *checked) validate() {
	c.t.Helper()
	if _, err := os.Stat(c.command); err == nil && len(c.files) > 0 {
		if out, err := exec.Command(c.command, append([]string{"validate"}, c.files...)...).CombinedOutput(); err != nil {
			for line := range strings.Lines(string(out)) {
				if !strings.Contains(line, ": valid") {
					c.t.Fatalf("the reference says: %s", line)
				}
			}
		}
	}
	for _, f := range c.files {
		os.Remove(f)
	}
	c.files = c.files[:0]
}

// TestRandomEditsOfChangedDocuments edits documents that no editor makes: vectors with a few bytes changed, as long as
// they are valid.
func TestRandomEditsOfChangedDocuments(t *testing.T) {
	names, all := editable(t)
	random, valid := rand.New(rand.NewPCG(21, 22)), 0
	rounds := amount(500, 20_000, 2_000_000)
	for round := range rounds {
		data := slices.Clone(all[names[random.IntN(len(names))]])
		for range 1 + random.IntN(3) {
			at := headerSize + random.IntN(len(data))
			if at < len(data) {
				data[at] = []byte{0, 1, 0xff, byte(random.IntN(256)), data[at] ^ 1<<random.IntN(8)}[random.IntN(5)]
			}
		}
		doc, err := Open(data)
		if err != nil || doc.Validate() != nil {
			continue
		}
		if _, err := AppendJSON(nil, doc.Root(), JSONOptions{NonFiniteNull: true}); err != nil {
			continue // a value of a later version
		}
		valid++
		s := newSequence(t, data, uint64(round))
		s.tensor = hasTensor(s.e.Root())
		for range 8 {
			s.step()
		}
		if s.check(); t.Failed() {
			t.Fatalf("%x", data)
		}
	}
	if valid < rounds/10 {
		t.Errorf("only %d of %d were valid", valid, rounds)
	}
}
