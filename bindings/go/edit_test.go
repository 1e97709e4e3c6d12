package livebuf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustEdit(t testing.TB, value any) *Editor {
	t.Helper()
	e, err := NewEditor(value)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// must fails the test on the errors of edits that are right.
func must(t testing.TB, all ...error) {
	t.Helper()
	for _, err := range all {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func sound(t testing.TB, e *Editor, want string) {
	t.Helper()
	if err := validity(e.Bytes()); err != nil {
		t.Fatal(err)
	}
	if want != "" {
		sameText(t, "document", mustJSON(t, e.Root()), want)
	}
}

func TestTextsOfChangingLengthDoNotGrowTheDocument(t *testing.T) {
	e := mustEdit(t, map[string]any{})
	r := rand.New(rand.NewPCG(1, 2))
	const n = 200
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key %d", i)
	}
	steps := 100_000
	if testing.Short() {
		steps = 10_000
	}
	text, live := strings.Repeat("text", 100), 0
	sizes := map[string]int{}
	h, _ := e.Handle(Pointer(""))
	for range steps {
		key, size := keys[r.IntN(n)], r.IntN(400)
		live += size - sizes[key]
		sizes[key] = size
		must(t, e.Set(h, key, text[:size]))
	}
	sound(t, e, "")
	s := e.Stats()
	t.Logf("%d bytes of text, %+v", live, s)
	if s.Used > 2*(live+40*n) {
		t.Errorf("%d bytes are used for %d of text", s.Used, live)
	}
}

func TestADocumentThatIsMostlyFreeIsEncodedAnew(t *testing.T) {
	e := mustEdit(t, []any{})
	for i := range 300 {
		must(t, e.Push(Pointer(""), map[string]any{"id": i, "list": []any{i}, "text": strings.Repeat("long", i)}))
	}
	var held []*Handle
	for i := range 300 {
		for _, path := range []string{fmt.Sprintf("/%d", i), fmt.Sprintf("/%d/list", i)} {
			h, err := e.Handle(Pointer(path))
			must(t, err)
			held = append(held, h)
		}
	}
	for i := range 300 {
		must(t, e.Set(held[2*i], "text", "short"))
	}
	for i := range 290 {
		must(t, e.RemoveAt(Pointer(""), 5))
		if want := 5 + i + 1; want < 295 {
			sameText(t, "list", mustJSON(t, held[2*want+1].Value()), fmt.Sprintf("[%d]", want))
		}
	}
	sound(t, e, "")
	if s := e.Stats(); s.Used > 4096+4*(s.Used-s.Free) {
		t.Errorf("much is free: %+v", s)
	}
	must(t, e.Push(held[1], "more"))
	sameText(t, "list", mustJSON(t, held[1].Value()), `[0,"more"]`)
}

// Editors may leave the bytes of free blocks as they were (FORMAT 8). They came into new blocks, which were not valid.
func TestFreeBlocksMayHaveAnyBytes(t *testing.T) {
	e := mustEdit(t, map[string]any{"a": strings.Repeat("a", 2000), "b": []any{1, "two", nil}, "c": map[string]any{}})
	must(t, e.Set(Pointer(""), "a", 1))
	data := []byte(string(e.Bytes()))
	m := mem(data)
	aux, dirty := m.u32(headerAux), 0
	for c := range uint64(m.u8(aux + 1)) {
		for at := m.u32(aux + auxSize + 4*c); at != 0; at = m.u32(at) {
			for i := at + 8; i < at+m.u32(at+4); i++ {
				data[i] = 0xee
				dirty++
			}
		}
	}
	if dirty < 1000 {
		t.Fatalf("only %d bytes are free", dirty)
	}
	e, err := Edit(data)
	must(t, err)
	for i := range 60 {
		must(t, e.Set(Pointer(""), fmt.Sprint("key ", i), []any{i, strings.Repeat("x", i), map[string]any{"y": i}}))
		must(t, e.Push(Pointer("/b"), i, strings.Repeat("long ", i)))
		sound(t, e, "")
	}
}

func TestHandlesFollowTheirValues(t *testing.T) {
	data, err := FromJSON([]byte(`{"rows":[{"a":1,"l":[1,2]},{"a":2,"l":[3,4]},{"a":3,"l":[5,6]},{"a":4,"l":[7,8]},
		{"a":5,"l":[1,2]},{"a":6,"l":[1,2]},{"a":7,"l":[1,2]},{"a":8,"l":[1,2]},{"a":9,"l":[1,2]}],"o":{"x":{}}}`))
	must(t, err)
	e, err := Edit(data)
	must(t, err)
	if c, _ := e.column(uint64(e.Pointer("/rows").at)); c.code != codeStruct {
		t.Fatal("this is no table")
	}
	row, err := e.Handle(Pointer("/rows/2"))
	must(t, err)
	list, err := e.Handle(Pointer("/rows/2/l"))
	must(t, err)
	same, err := e.Handle(e.Pointer("/rows/2"))
	if must(t, err); same != row {
		t.Error("a value has two handles")
	}
	must(t, e.Insert(Pointer("/rows"), 0, map[string]any{"a": 0}), e.RemoveAt(Pointer("/rows"), 1))
	must(t, e.Set(row, "a", 33), e.Push(list, 9), e.Set(row, "extra", true), e.Reorder(Pointer("/rows"),
		[]int{8, 7, 6, 5, 4, 3, 2, 1, 0}), e.Set(row, "b", 1))
	sameText(t, "row", mustJSON(t, row.Value()), `{"a":33,"l":[5,6,9],"extra":true,"b":1}`)
	sameText(t, "list", mustJSON(t, list.Value()), `[5,6,9]`)
	// A column of objects takes the rows out of the table.
	must(t, e.SetAt(Pointer("/rows"), 0, 5))
	must(t, e.Set(row, "a", "text"))
	sameText(t, "row", mustJSON(t, row.Value()), `{"a":"text","l":[5,6,9],"extra":true,"b":1}`)
	must(t, e.RemoveAt(Pointer("/rows"), 6))
	if err := e.Set(row, "a", 1); !errors.Is(err, ErrStaleHandle) || !errors.Is(row.Value().Err(), ErrStaleHandle) {
		t.Errorf("the row is no more: %v", err)
	}
	if err := e.Push(list, 1); !errors.Is(err, ErrStaleHandle) {
		t.Errorf("the list is no more: %v", err)
	}
	v := e.Root()
	must(t, e.Set(v, "new", 1))
	if err := e.Set(v, "new", 2); !errors.Is(err, ErrStaleHandle) {
		t.Errorf("the value is of before the last edit: %v", err)
	}
	other, err := NewEditor([]any{})
	must(t, err)
	if err := e.Push(other.Root(), 1); !errors.Is(err, ErrStaleHandle) {
		t.Errorf("the value is of another document: %v", err)
	}
	sound(t, e, "")
}

func TestDamageThatIsFoundWhenADocumentIsEncodedAnew(t *testing.T) {
	e := mustEdit(t, map[string]any{"map": map[string]any{strings.Repeat("k", 300): 1},
		"text": strings.Repeat("x", 20_000)})
	e.mem[e.Pointer("/map").at+mapValues+1] = 0xff
	if err := e.Set(Pointer(""), "text", "short"); !errors.Is(err, ErrBroken) {
		t.Error(err)
	}
}

func TestErrorsOfEditsNameTheirPlace(t *testing.T) {
	e := mustEdit(t, map[string]any{"arr": []any{1, 2, 3}, "o": map[string]any{}, "s": "x"})
	set := func(pointer string) error { return e.SetPointer(pointer, 1) }
	for _, c := range []struct {
		err   error
		kind  ErrorKind
		parts string
	}{
		{set("/arr/foo"), ErrIndexOutOfRange, `3 "foo" /arr/foo)`},
		{set("/arr/01"), ErrIndexOutOfRange, `"01" /arr/01)`},
		{set("/arr/3"), ErrIndexOutOfRange, `"3" /arr/3)`},
		{e.RemovePointer("/arr/-"), ErrIndexOutOfRange, `"-" /arr/-)`},
		{e.RemovePointer("/arr/3"), ErrIndexOutOfRange, `"3" /arr/3)`},
		{e.RemovePointer("/o/x"), ErrNotFound, "/o/x)"},
		{e.RemovePointer("/none/x"), ErrNotFound, "(at /none)"},
		{set("/s/x"), ErrWrongType, "text (at /s)"},
		{e.Push(Pointer("/s"), 1), ErrWrongType, "text (at /s)"},
		{e.SetPointer("/o/x", []any{1, func() {}}), ErrBadValue, "(at /o/x/1)"},
		{e.SetPointer("/arr/-", []any{1, func() {}}), ErrBadValue, "(at /arr/-/1)"},
		{e.RemoveAt(Pointer("/arr"), 3), ErrIndexOutOfRange, "3 elements: there is no place 3"},
		{e.RemoveAt(Pointer("/arr"), -1), ErrIndexOutOfRange, "no place -1"},
		{e.Splice(Pointer("/arr"), 1, 3), ErrIndexOutOfRange, "3 elements: 3 from 1 on cannot be removed"},
		{e.Splice(Pointer("/arr"), 1, -1), ErrIndexOutOfRange, "-1 from 1 on"},
	} {
		if !errors.Is(c.err, c.kind) {
			t.Errorf("%v, not %v", c.err, c.kind)
			continue
		}
		for _, part := range strings.Fields(c.parts) {
			if !strings.Contains(c.err.Error(), part) {
				t.Errorf("no %s in %v", part, c.err)
			}
		}
	}
	sound(t, e, `{"arr":[1,2,3],"o":{},"s":"x"}`)
}

func TestNilIsAnErrorOfEdits(t *testing.T) {
	e, none, zero := mustEdit(t, map[string]any{"a": 1}), (*Handle)(nil), new(Editor)
	_, err := zero.Handle(Pointer(""))
	for _, err := range []error{e.Set(nil, "b", 1), e.Push(nil, 1), zero.Set(Pointer(""), "b", 1), zero.Replace(1),
		zero.SetPointer("", 1), zero.SetPointer("/b", 1), zero.RemovePointer("/b"), zero.SetState(State{}), err} {
		if !errors.Is(err, ErrBadValue) {
			t.Error(err)
		}
	}
	for _, err := range []error{e.Set(none, "b", 1), e.Set(new(Handle), "b", 1), none.Value().Err(),
		new(Handle).Value().Err()} {
		if !errors.Is(err, ErrStaleHandle) || strings.Contains(err.Error(), "at byte") {
			t.Error(err)
		}
	}
	if v := e.Root().GetKey(nil); v.Exists() || zero.Root().Exists() || len(zero.Bytes()) != 0 {
		t.Error(v)
	}
	if err := zero.Root().Err(); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	sound(t, e, `{"a":1}`)
}

func TestHandlesWithinValues(t *testing.T) {
	e := mustEdit(t, map[string]any{"a": map[string]any{"x": Date(5)}, "l": []any{1}})
	h, err := e.Handle(Pointer("/a"))
	must(t, err, e.Set(Pointer(""), "copy", []any{h}), e.Set(h, "me", map[string]any{"in": h}),
		e.Push(Pointer("/l"), *h, (*Handle)(nil)))
	sound(t, e, `{"a":{"x":"1970-01-06","me":{"in":{"x":"1970-01-06"}}},"l":[1,{"x":"1970-01-06","me":{"in":`+
		`{"x":"1970-01-06"}}},null],"copy":[{"x":"1970-01-06"}]}`)
	if kind := e.Pointer("/copy/0/x").Kind(); kind != KindDate {
		t.Error(kind)
	}
	must(t, e.Remove(Pointer(""), "a"))
	if err := e.Set(Pointer(""), "b", []any{h}); !errors.Is(err, ErrStaleHandle) {
		t.Errorf("of a value that is no more: %v", err)
	}
}

func TestEditsThatFailChangeNothing(t *testing.T) {
	e := mustEdit(t, map[string]any{"a": []any{1, 2}, "o": map[string]any{"x": 1, "y": 2}, "s": "text"})
	deep := any(1)
	for range 999 {
		deep = []any{deep}
	}
	circle := []any{nil}
	circle[0] = circle
	for i, x := range []struct {
		err  error
		want ErrorKind
	}{
		{e.Set(Pointer("/a"), "x", 1), ErrWrongType},
		{e.Set(Pointer("/s"), "x", 1), ErrWrongType},
		{e.Set(Pointer("/none"), "x", 1), ErrNotFound},
		{e.Set(Pointer("none"), "x", 1), ErrBadPointer},
		{e.SetAt(Pointer("/o"), 0, 1), ErrWrongType},
		{e.SetAt(Pointer("/a"), 2, 1), ErrIndexOutOfRange},
		{e.SetAt(Pointer("/a"), -1, 1), ErrIndexOutOfRange},
		{e.Splice(Pointer("/a"), 1, 2), ErrIndexOutOfRange},
		{e.Insert(Pointer("/a"), 3, 1), ErrIndexOutOfRange},
		{e.Reorder(Pointer("/a"), []int{0, 0}), ErrBadValue},
		{e.Reorder(Pointer("/a"), []int{0}), ErrBadValue},
		{e.Remove(Pointer("/o"), "z"), ErrNotFound},
		{e.Rename(Pointer("/o"), "z", "w"), ErrNotFound},
		{e.Rename(Pointer("/o"), "x", "y"), ErrKeyExists},
		{e.Set(Pointer(""), "x", "\xff"), ErrBadText},
		{e.Set(Pointer(""), "\xff", 1), ErrBadText},
		{e.Set(Pointer(""), "x", func() {}), ErrBadValue},
		{e.Set(Pointer(""), "x", []any{1, Date(1 << 30)}), ErrBadValue},
		{e.Set(Pointer(""), "x", deep), 0},
		{e.Push(Pointer("/a"), deep), ErrNestingLimit},
		{e.Push(e.Pointer("/a"), deep), ErrNestingLimit},
		{e.Push(Pointer("/a"), circle), ErrNestingLimit},
		{e.SetPointer("/o/~2", 1), ErrBadPointer},
		{e.RemovePointer(""), ErrUnsupported},
		{e.RemovePointer("/a/5"), ErrIndexOutOfRange},
		{e.Set(Pointer(""), "x", Value{}), ErrNotFound},
	} {
		if x.want == 0 {
			must(t, x.err, e.Remove(Pointer(""), "x"))
		} else if !errors.Is(x.err, x.want) {
			t.Errorf("call %d: %v, want %v", i, x.err, x.want)
		}
	}
	sound(t, e, `{"a":[1,2],"o":{"x":1,"y":2},"s":"text"}`)
	before := string(e.Bytes())
	for i, err := range []error{
		e.Splice(Pointer("/a"), 0, 1, 1, "text", []any{circle}),
		e.Set(Pointer("/o"), "new", map[string]any{"a long key, to be written": []any{"a long text", circle}}),
		e.Replace(circle),
		e.Rename(Pointer("/o"), "x", "y"),
	} {
		if err == nil || string(e.Bytes()) != before {
			t.Errorf("call %d: %v", i, err)
		}
	}
	root := e.Root()
	sameText(t, "value", mustJSON(t, root.Get("a")), `[1,2]`)
}

// An edit that took more than was expected, and had no copy of the document, left an empty one, and said that the edit
// was taken back. Now the editor says that it is broken.
func TestAnEditThatTakesMoreThanExpectedIsReported(t *testing.T) {
	e := mustEdit(t, []any{1, 2})
	before := len(e.Bytes())
	edit := func() (err error) {
		defer e.end(&err)
		e.begin(0)
		e.limit = uint64(len(e.mem)) // as if it was far away when the edit began
		e.resize(e.limit + 8)
		return nil
	}
	if err := edit(); !errors.Is(err, ErrBroken) || len(e.Bytes()) != before {
		t.Fatalf("%v, %d bytes, not %d", err, len(e.Bytes()), before)
	}
	if err := e.Push(Pointer(""), 3); !errors.Is(err, ErrBroken) {
		t.Error(err)
	}
}

func TestTheLimitIsKept(t *testing.T) {
	data, err := FromJSON([]byte(tableJSON(3)))
	must(t, err)
	e, err := Edit(data, Limit(len(data)+250))
	must(t, err)
	h, err := e.Handle(Pointer("/3"))
	must(t, err)
	before := mustJSON(t, h.Value())
	if err := e.Set(h, "extra", strings.Repeat("long", 200)); !errors.Is(err, ErrDocumentLimit) {
		t.Errorf("the document may not have so many bytes: %v", err)
	}
	if err := e.SetAt(Pointer(""), 0, "a row that is none"); !errors.Is(err, ErrDocumentLimit) {
		t.Errorf("the table cannot be converted: %v", err)
	}
	if string(e.Bytes()) != string(data) {
		t.Error("an edit that failed changed something")
	}
	sameText(t, "row", mustJSON(t, h.Value()), before)
	must(t, e.Set(h, "extra", 1))
	sound(t, e, "")
}

func TestHalfFloats(t *testing.T) {
	for bits := range 1 << 16 {
		if x := half(uint16(bits)); x == x && toHalf(x) != uint16(bits) {
			t.Fatalf("%#x: %v becomes %#x", bits, x, toHalf(x))
		}
	}
	for _, x := range []struct {
		from float64
		want uint16
	}{{65519.999, 0x7bff}, {65520, 0x7c00}, {1 + 1.0/2048, 0x3c00}, {1 + 3.0/2048, 0x3c02}, {math.Ldexp(1, -25), 0}} {
		if got := toHalf(x.from); got != x.want {
			t.Errorf("%v: %#x, want %#x", x.from, got, x.want)
		}
	}
}

func ExampleEdit() {
	data, _ := FromJSON([]byte(`{"users":[{"name":"Ada","age":36},{"name":"Bo","age":41,"note":"new"}]}`))
	e, err := Edit(data)
	if err != nil {
		panic(err)
	}
	user, _ := e.Handle(Pointer("/users/1"))
	e.Insert(Pointer("/users"), 0, map[string]any{"name": "Cy", "age": 7})
	e.Set(user, "age", 37)
	e.Remove(user, "note")
	text, _ := e.MarshalJSON()
	fmt.Println(string(text))
	// Output: {"users":[{"age":7,"name":"Cy"},{"name":"Ada","age":36},{"name":"Bo","age":37}]}
}

func BenchmarkSet(b *testing.B) {
	for _, n := range []int{10, 1_000_000} {
		rows := make([]any, n)
		for i := range rows {
			rows[i] = map[string]any{"id": i, "name": fmt.Sprint("name ", i%100000)}
		}
		e := mustEdit(b, map[string]any{"rows": rows, "count": 1, "text": "a text"})
		row, _ := e.Handle(Pointer(fmt.Sprintf("/rows/%d", n/2)))
		root, _ := e.Handle(Pointer(""))
		b.Run(fmt.Sprintf("member of record, of %d", n), func(b *testing.B) {
			for i := range b.N {
				e.Set(root, "count", i)
			}
		})
		b.Run(fmt.Sprintf("pointer, of %d", n), func(b *testing.B) {
			for i := range b.N {
				e.SetPointer("/rows/5/id", i)
			}
		})
		b.Run(fmt.Sprintf("row, of %d", n), func(b *testing.B) {
			for i := range b.N {
				e.Set(row, "id", i)
			}
		})
		texts := []string{strings.Repeat("a", 20), strings.Repeat("b", 45), strings.Repeat("c", 100)}
		b.Run(fmt.Sprintf("text, of %d", n), func(b *testing.B) {
			for i := range b.N {
				e.Set(row, "name", texts[i%3])
			}
		})
		data, _ := FromJSON([]byte(mustJSON(b, e.Root())))
		t, err := Edit(data, Trusted())
		if err != nil {
			b.Fatal(err)
		}
		row, _ = t.Handle(Pointer(fmt.Sprintf("/rows/%d", n/2)))
		b.Run(fmt.Sprintf("row of table, of %d", n), func(b *testing.B) {
			for i := range b.N {
				t.Set(row, "id", i%10)
			}
		})
	}
}

func TestEditsOfVectors(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testdata, "edits.json"))
	must(t, err)
	var edits []struct {
		Document, Pointer, Gives string
		Value                    json.RawMessage
	}
	must(t, json.Unmarshal(text, &edits))
	for _, x := range edits {
		data, err := os.ReadFile(filepath.Join(testdata, "vectors", x.Document+".lbuf"))
		must(t, err)
		e, err := Edit(data)
		must(t, err)
		value, err := FromJSON(x.Value)
		must(t, err)
		if err := e.SetPointer(x.Pointer, RawValue(value)); err != nil {
			t.Errorf("%s %s: %v", x.Document, x.Pointer, err)
			continue
		}
		sound(t, e, x.Gives)
	}
	t.Logf("%d edits", len(edits))
}

func TestMapsOfCollidingKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var keys []string
	for i := 0; len(keys) < 400; i++ {
		if key := fmt.Sprintf("%d colliding", i); i%8 == 0 {
			keys = append(keys, key)
		} else if place, _ := hashKey(key); place>>24 == 7 {
			keys = append(keys, key)
		}
	}
	e := mustEdit(t, map[string]any{})
	model := map[string]int{}
	for step := range 8000 {
		key := keys[r.IntN(len(keys))]
		grows := step/2000%2 == 0
		switch _, there := model[key]; {
		case r.IntN(4) == 0:
			other := keys[r.IntN(len(keys))]
			err := e.Rename(Pointer(""), key, other)
			if _, taken := model[other]; there && !taken {
				must(t, err)
				model[other] = model[key]
				delete(model, key)
			} else if err == nil && key != other {
				t.Fatal("a key was renamed to one that is there")
			}
		case grows || r.IntN(4) == 0:
			must(t, e.Set(Pointer(""), key, step))
			model[key] = step
		case there:
			must(t, e.Remove(Pointer(""), key))
			delete(model, key)
		}
		if step%100 == 0 {
			sound(t, e, "")
			for _, key := range keys {
				want, there := model[key]
				got, err := e.Root().Get(key).Int64()
				if there != (err == nil) || there && got != int64(want) {
					t.Fatalf("%s: %d, want %d", key, got, want)
				}
			}
		}
	}
	if block := uint64(e.Root().at); e.Root().form != formMap || e.u32(block+8) == 0 {
		t.Error("this is no map with an index")
	}
}

// An array of two containers gives way to one of two numbers. The column of its elements becomes one of cells at the
// first of them, and took the second one, which had no value any more, for an array.
func TestContainersGiveWayToNumbers(t *testing.T) {
	mixed := []any{map[string]any{"a": 1}, "short", []any{1, []any{}}}
	for _, c := range []struct{ inner, pointer string }{
		{`[1,2]`, "/5/c/0"},
		{`{"x":[1,2]}`, "/5/c/0/x"},
		{`{"x":[[1],[2]],"y":{"z":[3,4]}}`, "/5/c/0/y/z"},
	} {
		row := `{"b":1,"c":[` + c.inner + `,` + c.inner + `]}`
		data, err := FromJSON([]byte("[" + strings.Repeat(row+",", 12) + row + "]"))
		if err != nil {
			t.Fatal(err)
		}
		e, err := Edit(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.SetPointer(c.pointer, mixed); err != nil {
			t.Fatal(err)
		}
		for _, value := range []any{[]any{0, 4}, []any{[]any{7}, 4}, []any{"a", []any{}}} {
			if err := e.Set(Pointer("/7"), "c", value); err != nil {
				t.Fatal(c, err)
			}
			if err := e.Push(Pointer(""), map[string]any{"b": 1, "c": value}); err != nil {
				t.Fatal(c, err)
			}
			if err := e.Document().Validate(); err != nil {
				t.Fatal(c, err)
			}
		}
	}
}

// A text that is too long for a dictionary makes its column one of texts. A slot that was opened for null beside it had
// the dictionary's first text since, and kept it.
func TestNullsBesideATextThatIsTooLongForItsDictionary(t *testing.T) {
	long := strings.Repeat("very long ", 120)
	for _, c := range []struct {
		row    string
		values []any
	}{
		{`"same"`, []any{long, nil, nil}},
		{`["a","b"]`, []any{[]any{long, nil}}},
		{`{"k":["a","b"]}`, []any{map[string]any{"k": []any{long, nil}}, nil}},
	} {
		data, err := FromJSON([]byte("[" + strings.Repeat(c.row+",", 12) + c.row + "]"))
		if err != nil {
			t.Fatal(err)
		}
		e, err := Edit(data)
		if err == nil {
			err = e.Splice(Pointer(""), 2, 1, c.values...)
		}
		if err == nil {
			err = e.Document().Validate()
		}
		if err != nil || e.Root().Len() != 12+len(c.values) {
			t.Error(c.row, err)
		}
	}
}

// Near the limit, a row that becomes a map is made whole, or taken back: a map has copies of all keys.
func TestRowsThatBecomeMapsNearTheLimit(t *testing.T) {
	rows := make([]any, 10)
	for i := range rows {
		row := map[string]any{}
		for k := range 255 {
			row[fmt.Sprintf("key %d %s", k, strings.Repeat("x", 180))] = k
		}
		rows[i] = row
	}
	encoded, err := Encode(map[string]any{"rows": rows})
	if err != nil {
		t.Fatal(err)
	}
	made, err := Edit(encoded)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := made.Set(Pointer(fmt.Sprintf("/rows/%d", i)), "one more", i); err != nil {
			t.Fatal(err)
		}
	}
	data := made.Bytes()
	refused := 0
	for room := 0; ; room += 20_000 {
		e, err := Edit(bytes.Clone(data), Limit(len(data)+room))
		if err != nil {
			t.Fatal(err)
		}
		if err = e.SetAt(Pointer("/rows"), 1, "no row"); err == nil {
			break
		}
		if !errors.Is(err, ErrDocumentLimit) {
			t.Fatalf("%d bytes of room: %v", room, err)
		}
		refused++
	}
	if refused == 0 {
		t.Error("it was never refused")
	}
}
