package livebuf

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

// Fuzzing of the entries that no other file of tests fuzzes; `go test -fuzz FuzzDecode`.

// FuzzDecode reads documents that may be damaged into values of Go, and encodes them anew.
func FuzzDecode(f *testing.F) {
	for _, data := range documents(f, "vectors/*.lbuf") {
		if len(data) < 4096 {
			f.Add(data)
		}
	}
	type node struct {
		A    *node            `json:"a"`
		B    []node           `json:"b"`
		C    map[string]*node `json:"c"`
		Key0 any              `json:"key 0"`
		List []int            `json:"laps"`
		Raw  RawValue         `json:"d"`
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := Open(data)
		if err != nil {
			return
		}
		Unmarshal(data, new(node))
		Unmarshal(data, new([]node))
		Unmarshal(data, new(map[string]any))
		Unmarshal(data, new(testAll))
		doc.Root().Any()
		sum, unnamed := doc.Root().Digest()
		made, err := Encode(doc.Root())
		if err != nil {
			return
		}
		again := mustOpen(t, made)
		if err := again.Validate(); err != nil {
			t.Fatal(err)
		}
		// What is damaged may be another value each time it is looked at by another way.
		if doc.Validate() != nil {
			return
		}
		if same, err := again.Root().Digest(); (err == nil) != (unnamed == nil) || same != sum {
			t.Fatalf("%x is encoded as %x, which is another value: %v, %v", data, made, err, unnamed)
		}
	})
}

// FuzzEdit edits documents by random steps, which are compared with plain values.
func FuzzEdit(f *testing.F) {
	names, all := editable(f)
	for i := range 8 {
		f.Add(uint16(i*7), uint64(i), uint8(30))
	}
	f.Fuzz(func(t *testing.T, which uint16, seed uint64, steps uint8) {
		s := newSequence(t, all[names[int(which)%len(names)]], seed)
		s.tensor = hasTensor(s.e.Root())
		for range steps {
			s.step()
		}
		s.check()
	})
}

// FuzzEditDamaged edits documents that were changed, if Edit takes them. What comes out must be valid.
func FuzzEditDamaged(f *testing.F) {
	for _, data := range documents(f, "vectors/y_*.lbuf") {
		if len(data) < 4096 {
			f.Add(data, "/a/0", `{"a":[1,2.5,"x"]}`)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, pointer, text string) {
		e, err := Edit(bytes.Clone(data))
		if err != nil {
			return
		}
		value, err := FromJSON([]byte(text))
		if err != nil {
			return
		}
		e.SetPointer(pointer, RawValue(value))
		e.Push(Pointer(pointer), RawValue(value))
		e.Insert(Pointer(""), 0, RawValue(value))
		e.Set(Pointer(""), text, 1)
		e.RemovePointer(pointer)
		if err := mustOpen(t, e.Bytes()).Validate(); err != nil {
			t.Fatalf("%x, edited at %q: %v", data, pointer, err)
		}
	})
}

// FuzzPointer looks values up by any texts.
func FuzzPointer(f *testing.F) {
	f.Add("/a/0/b~1c")
	f.Add("/key 5000")
	var docs []*Document
	for _, name := range []string{"y_encoded_lap", "y_edited_table_extras", "y_edited_map_two_leaves"} {
		docs = append(docs, sample(f, name))
	}
	f.Fuzz(func(t *testing.T, pointer string) {
		for _, doc := range docs {
			v := doc.Pointer(pointer)
			if v.Exists() != (v.Err() == nil) {
				t.Fatalf("%q: %v", pointer, v.Err())
			}
			if w := doc.Root().GetKey(NewKey(pointer)); w.Exists() != doc.Root().Get(pointer).Exists() {
				t.Fatalf("%q is found by a key, or not", pointer)
			}
			for range doc.Root().Range(pointer, pointer+"x") {
			}
			for key := range doc.Root().Prefix(pointer) {
				if !doc.Root().Get(key).Exists() {
					t.Fatalf("%q is a key, and not found", key)
				}
			}
		}
	})
}

// FuzzMarshal encodes texts, bytes and numbers, and has them back.
func FuzzMarshal(f *testing.F) {
	f.Add("text", []byte{1}, "1e400")
	f.Fuzz(func(t *testing.T, text string, data []byte, number string) {
		type all struct {
			Text   string
			Data   []byte
			Number json.Number
			Map    map[string]string
			Rows   []map[string]any
		}
		in := all{text, data, json.Number(number), map[string]string{text: number},
			[]map[string]any{{text: text}, {text: number}, {number: data}}}
		made, err := Marshal(in)
		if err != nil {
			if !errors.Is(err, ErrBadText) && !errors.Is(err, ErrBadNumber) {
				t.Fatal(err)
			}
			return
		}
		if err := mustOpen(t, made).Validate(); err != nil {
			t.Fatal(err)
		}
		var out all
		if err := Unmarshal(made, &out); err != nil {
			t.Fatal(err)
		}
		if out.Text != text || !bytes.Equal(out.Data, data) || out.Map[text] != number {
			t.Fatalf("%+v, not %+v", out, in)
		}
	})
}
