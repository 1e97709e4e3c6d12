package livebuf

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// deltaPair is a delta, and the documents that it leads from and to.
type deltaPair struct {
	name               string
	delta, base, after []byte
}

func deltaPairs(t testing.TB) (pairs []deltaPair) {
	t.Helper()
	read := func(path string) []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			data, err = os.ReadFile(path + ".lbuf")
		}
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, pattern := range []string{"deltas/y_*.delta", "frozen/*/*.delta"} {
		paths, _ := filepath.Glob(filepath.Join(testdata, pattern))
		for _, path := range paths {
			stem := strings.TrimSuffix(path, ".delta")
			pairs = append(pairs, deltaPair{stem, read(path), read(stem + ".base"), read(stem + ".after")})
		}
	}
	if len(pairs) < 5 {
		t.Fatalf("only %d deltas", len(pairs))
	}
	return pairs
}

func mustReadDelta(t testing.TB, data []byte) *Delta {
	t.Helper()
	d, err := ReadDelta(data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// applied is a document after a delta, or nil. The document itself is left as it was.
func applied(d *Delta, document []byte) ([]byte, error) {
	return d.Apply(bytes.Clone(document))
}

func TestDeltasLeadToTheDocumentAfterwards(t *testing.T) {
	back := 0
	for _, p := range deltaPairs(t) {
		d := mustReadDelta(t, p.delta)
		if !bytes.Equal(d.Bytes(), p.delta) {
			t.Errorf("%s: written as other bytes", p.name)
		}
		for n := range p.delta {
			if _, err := ReadDelta(p.delta[:n]); err == nil {
				t.Fatalf("%s: %d bytes of it are taken for a delta", p.name, n)
			}
		}
		for _, number := range []string{"\x80", "\xff\xff\xff\xff", "\x80\x00", "\xff\xff\xff\xff\x1f"} {
			if _, err := ReadDelta(append(p.delta[:deltaHead:deltaHead], number...)); err == nil {
				t.Errorf("%s: the number %x is taken", p.name, number)
			}
		}
		room := append(make([]byte, 0, max(len(p.base), len(p.after))+64), p.base...)
		made, err := d.Apply(room)
		if err != nil || !bytes.Equal(made, p.after) || &made[0] != &room[0] {
			t.Errorf("%s: in place: %v", p.name, err)
		}
		if made, err = d.Apply(slices.Clip(bytes.Clone(p.base))); err != nil || !bytes.Equal(made, p.after) {
			t.Errorf("%s: %v", p.name, err)
		}
		if state, ok := mustOpen(t, p.after).State(); !ok || state != d.State {
			t.Errorf("%s: state %v, not %v", p.name, state, d.State)
		}
		inverse, err := d.Invert()
		if !d.HasOld {
			if !errors.Is(err, ErrNoOldBytes) {
				t.Errorf("%s: inverted: %v", p.name, err)
			}
			continue
		}
		back++
		if made, err = applied(mustReadDelta(t, inverse.Bytes()), p.after); err != nil || !bytes.Equal(made, p.base) {
			t.Errorf("%s: back: %v", p.name, err)
		}
	}
	if back == 0 {
		t.Error("no delta with old bytes")
	}
}

func TestDamagedDeltasAreRefused(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(testdata, "deltas/n_*.delta"))
	base, err := os.ReadFile(filepath.Join(testdata, "deltas/y_one_byte.base.lbuf"))
	if err != nil {
		t.Fatal(err)
	}
	applied := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var e *Error
		delta, err := ReadDelta(data)
		if strings.Contains(path, "n_apply_") {
			// It would lead to no document.
			before := bytes.Clone(base)
			if err == nil {
				_, err = delta.Apply(base)
			}
			if !bytes.Equal(base, before) {
				t.Errorf("%s changed the document", path)
			}
			applied++
		}
		if !errors.As(err, &e) || strings.Contains(path, "n_apply_") && e.Kind != ErrBadDelta {
			t.Errorf("%s: %v", path, err)
		}
	}
	if len(paths) < 19 || applied < 5 {
		t.Errorf("only %d deltas, %d applied", len(paths), applied)
	}
}

func TestStatesOfUnknownFeaturesDoNotCount(t *testing.T) {
	base, err := os.ReadFile(filepath.Join(testdata, "deltas/y_one_byte.base.lbuf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{headerReadOnly, headerIgnore} {
		other := bytes.Clone(base)
		other[at] |= 1
		doc, err := Open(other)
		if err != nil {
			t.Fatal(err)
		}
		if state, ok := doc.State(); ok {
			t.Errorf("byte %d: %v", at, state)
		}
	}
}

func TestDeltasThatDoNotFitChangeNothing(t *testing.T) {
	pairs := map[string]deltaPair{}
	for _, p := range deltaPairs(t) {
		pairs[filepath.Base(p.name)] = p
	}
	p := pairs["y_digest"]
	d := mustReadDelta(t, p.delta)
	if err := d.Check(p.base); err != nil {
		t.Error(err)
	}
	if _, err := applied(d, p.after); !errors.Is(err, ErrWrongState) {
		t.Errorf("at another state: %v", err)
	}
	other := bytes.Clone(p.base)
	for i := len(other) - 1; ; i-- {
		// A byte of a text, which the delta leaves.
		if other[i] >= 'a' && other[i] <= 'z' && i < len(p.after) && other[i] == p.after[i] {
			other[i] ^= 1
			break
		}
	}
	if err := d.Check(other); !errors.Is(err, ErrWrongBytes) {
		t.Errorf("with other bytes: %v", err)
	}
	one := pairs["y_one_byte"]
	if err := mustReadDelta(t, one.delta).Check(one.base); !errors.Is(err, ErrNoDigest) {
		t.Errorf("without a digest: %v", err)
	}
	if _, err := mustReadDelta(t, one.delta).Apply(documents(t, "vectors/y_encoded_null.lbuf")[testdata+
		"/vectors/y_encoded_null"]); !errors.Is(err, ErrNoState) {
		t.Errorf("without a state: %v", err)
	}
	locked := bytes.Clone(p.base)
	locked[headerReadOnly] = 1
	if _, err := d.Apply(locked); !errors.Is(err, ErrReadOnly) {
		t.Errorf("with an unknown flag: %v", err)
	}
}

func TestDeltasOfTwoDocuments(t *testing.T) {
	for _, p := range deltaPairs(t) {
		now := bytes.Clone(p.after)
		d, err := DeltaOf(p.base, now, DeltaOptions{Digest: true})
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		if err := validity(now); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
		read := mustReadDelta(t, d.Bytes())
		if err := read.Check(p.base); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
		if made, err := applied(read, p.base); err != nil || !bytes.Equal(made, now) {
			t.Errorf("%s: %v", p.name, err)
		}
		inverse, _ := read.Invert()
		if made, err := applied(inverse, now); err != nil || !bytes.Equal(made, p.base) {
			t.Errorf("%s: back: %v", p.name, err)
		}
		// Bytes that were written and stayed the same are in a recorded delta, so its state may be another one.
		name := filepath.Base(p.name)
		if want := mustReadDelta(t, p.delta).State; (name == "y_one_byte" || name == "y_digest") && d.State != want {
			t.Errorf("%s: state %v, not %v", p.name, d.State, want)
		}
		// Where the document gets shorter, ranges with old bytes cover more, and the state is another one.
		now = bytes.Clone(p.after)
		small, err := DeltaOf(p.base, now, DeltaOptions{NoOld: true})
		if err != nil || small.HasOld || (small.State != d.State) != (len(p.after) < len(p.base)) {
			t.Errorf("%s: without old bytes: %v", p.name, err)
		} else if made, err := applied(mustReadDelta(t, small.Bytes()), p.base); err != nil || !bytes.Equal(made, now) {
			t.Errorf("%s: without old bytes: %v", p.name, err)
		}
		if _, err := DeltaOf(documents(t, "vectors/y_encoded_null.lbuf")[testdata+"/vectors/y_encoded_null"], now,
			DeltaOptions{}); !errors.Is(err, ErrNoState) {
			t.Errorf("from a document without a state: %v", err)
		}
	}
}

func TestDamageOfDeltas(t *testing.T) {
	pairs, rounds, refused := deltaPairs(t), amount(3000, 100_000, 1_000_000), 0
	random := rand.New(rand.NewPCG(3, 4))
	for range rounds {
		p := pairs[random.IntN(len(pairs))]
		data := bytes.Clone(p.delta)
		if random.IntN(4) == 0 {
			data = data[:random.IntN(len(data))]
		}
		for range 1 + random.IntN(3) {
			if len(data) > 0 {
				data[random.IntN(len(data))] ^= 1 << random.IntN(8)
			}
		}
		document := bytes.Clone(p.base)
		d, err := ReadDelta(data)
		if err == nil {
			if !bytes.Equal(d.Bytes(), data) {
				t.Fatalf("%x is written as %x", data, d.Bytes())
			}
			d.Check(document)
			_, err = d.Apply(document)
		}
		if err != nil {
			refused++
			if !bytes.Equal(document, p.base) {
				t.Fatalf("%x: %v, but the document was changed", data, err)
			}
		}
	}
	if refused < rounds/6 {
		t.Errorf("only %d of %d were refused", refused, rounds)
	}
}

func FuzzDelta(f *testing.F) {
	pairs := deltaPairs(f)
	for _, p := range pairs {
		f.Add(p.delta)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ReadDelta(data)
		if err != nil {
			return
		}
		for _, p := range pairs {
			if made, err := applied(d, p.base); err == nil {
				exercise(made)
			}
		}
	})
}

// A document that shrinks is encoded anew, and needs a place for its state afterwards, too.
func TestDeltasOfDocumentsThatShrink(t *testing.T) {
	base := mustEdit(t, map[string]any{"text": strings.Repeat("x", 20_000), "n": 1})
	must(t, base.SetState(RandomState()))
	for _, limit := range []int{1 << 30, 300} {
		e, err := Edit(bytes.Clone(base.Bytes()), Limit(limit))
		must(t, err, e.Set(Pointer(""), "text", "short"))
		sound(t, e, `{"n":1,"text":"short"}`)
		if len(e.Bytes()) > 1000 {
			t.Errorf("%d bytes", len(e.Bytes()))
		}
		d, err := DeltaOf(base.Bytes(), e.Bytes(), DeltaOptions{Digest: true})
		must(t, err, validity(e.Bytes()))
		if made, err := applied(d, base.Bytes()); err != nil || !bytes.Equal(made, e.Bytes()) {
			t.Errorf("applied: %v", err)
		}
		inverse, err := d.Invert()
		must(t, err)
		if made, err := applied(inverse, e.Bytes()); err != nil || !bytes.Equal(made, base.Bytes()) {
			t.Errorf("back: %v", err)
		}
	}
}

func TestStatesThatBeginHere(t *testing.T) {
	e := mustEdit(t, map[string]any{"list": []any{1, 2, 3}, "text": "a text that goes"})
	first, second := RandomState(), RandomState()
	if _, ok := e.Document().State(); ok || first == second {
		t.Error("a state before it was set")
	}
	is := func(want State) {
		t.Helper()
		sound(t, e, "")
		if got, ok := e.Document().State(); !ok || got != want {
			t.Errorf("state %v, not %v", got, want)
		}
	}
	must(t, e.SetState(first))
	is(first)
	used := len(e.Bytes())
	must(t, e.SetState(second))
	is(second)
	must(t, e.Remove(Pointer(""), "text"))
	if _, ok := e.Document().State(); ok {
		t.Error("an edit left the state")
	}
	must(t, e.SetState(first))
	is(first)
	if len(e.Bytes()) != used {
		t.Errorf("%d bytes, not %d", len(e.Bytes()), used)
	}
	// The command goes on from there, and Go from what it makes.
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	base := bytes.Clone(e.Bytes())
	must(t, os.WriteFile(path("theirs"), base, 0o600), os.WriteFile(path("ours"), base, 0o600))
	command(t, "", "delta", "make", "--old", path("theirs"), path("1.delta"), "push /list 4")
	one, err := os.ReadFile(path("1.delta"))
	must(t, err)
	after, err := mustReadDelta(t, one).Apply(base)
	must(t, err)
	theirs, err := os.ReadFile(path("theirs"))
	if must(t, err); !bytes.Equal(after, theirs) {
		t.Error("other bytes than the command has")
	}
	e, err = Edit(bytes.Clone(after))
	must(t, err, e.Set(Pointer(""), "n", 5), e.RemoveAt(Pointer("/list"), 0))
	two, err := DeltaOf(after, e.Bytes(), DeltaOptions{Digest: true})
	must(t, err, os.WriteFile(path("2.delta"), two.Bytes(), 0o600))
	command(t, "", "delta", "apply", path("ours"), path("1.delta"), path("2.delta"))
	ours, err := os.ReadFile(path("ours"))
	if must(t, err); !bytes.Equal(ours, e.Bytes()) {
		t.Error("the command comes to other bytes")
	}
	// A state that finds no room changes nothing, and a broken document gets none.
	small := mustEdit(t, map[string]any{"a": 1})
	e, err = Edit(bytes.Clone(small.Bytes()), Limit(len(small.Bytes())+64))
	must(t, err)
	if err := e.SetState(first); !errors.Is(err, ErrDocumentLimit) || !bytes.Equal(e.Bytes(), small.Bytes()) {
		t.Errorf("without room: %v", err)
	}
	e.broken = true
	if err := e.SetState(first); !errors.Is(err, ErrBroken) {
		t.Errorf("of a broken document: %v", err)
	}
	// It is the state of what a document that is mostly free becomes.
	large := mustEdit(t, map[string]any{"text": strings.Repeat("x", 20_000), "n": 1, "m": []any{1}})
	free, _ := Edit(large.Bytes())
	free.free(free.alloc(1<<20), 1<<20-64)
	e = free
	must(t, e.SetState(first))
	is(first)
}

func TestDigestsOfValues(t *testing.T) {
	digest := func(v Value) string {
		sum, err := v.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return hex.EncodeToString(sum[:])
	}
	// {"a":[1,null]}: DELTA 5.
	page, _ := base64.StdEncoding.DecodeString("q0xCRgEAAABAAAAAAAAAACAAAABwAAAAWAAAAAAAAAAFAgEAAgAAAAIAAAAwAAAAAQ" +
		"AAAAAAAAABAAAAAAAAAAIBAQFYAAAAIQAAAAAAAAAgAAAAAAAAAAEBAQEAAAAAiAAAAAAAAABhAAAAAAAAgQ==")
	want := "250dc2bc89b19d2c37e5cbf2b13aa71441345312020aa896e836f6b2f656c5a4"
	if got := digest(mustOpen(t, page).Root()); got != want {
		t.Errorf("the digest of the page's example is %s", got)
	}
	// Other values have other digests, and equal ones the same.
	seen := map[string]string{}
	for name, data := range documents(t, "vectors/y_encoded_*.lbuf") {
		text, err := os.ReadFile(name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		sum := digest(mustOpen(t, data).Root())
		if other, ok := seen[sum]; ok && other != string(text) {
			t.Errorf("%s has the digest of another value", name)
		}
		seen[sum] = string(text)
	}
	if len(seen) < 50 {
		t.Errorf("only %d digests", len(seen))
	}
	for name, data := range documents(t, "vectors/y_reserved_tags.lbuf") {
		if _, err := mustOpen(t, data).Root().Digest(); !errors.Is(err, ErrUnsupportedFeature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (Value{}).Digest(); !errors.Is(err, ErrNotFound) {
		t.Errorf("of a missing value: %v", err)
	}
}

func TestDigestsOfLongKeysOfManyRows(t *testing.T) {
	key := strings.Repeat("k", 255)
	data, err := FromJSON([]byte("[" + strings.Repeat(`{"`+key+`":true},`, 100_000) + `{"` + key + `":false}]`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mustOpen(t, data).Root().Digest(); err != nil || len(data) > 20_000 {
		t.Fatal(err, len(data))
	}
}
