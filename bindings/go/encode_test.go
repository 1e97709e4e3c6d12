package livebuf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// sameBytes fails where two documents begin to differ.
func sameBytes(t testing.TB, name string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	t.Errorf("%s: other bytes from %d on (%d bytes, not %d)", name, i, len(got), len(want))
}

// encodedAnew checks that a document's value is encoded as the same bytes.
func encodedAnew(t testing.TB, name string, data []byte, options ...Option) {
	t.Helper()
	again, err := Encode(mustOpen(t, data).Root(), options...)
	if err != nil {
		t.Errorf("%s, encoded anew: %v", name, err)
	}
	sameBytes(t, name+", encoded anew", again, data)
}

func TestVectorsComeOutByteByByte(t *testing.T) {
	n := 0
	for _, pattern := range []string{"vectors/y_encoded_*.lbuf", "vectors/y_recognized_*.lbuf"} {
		for name, want := range documents(t, pattern) {
			n++
			text, err := os.ReadFile(name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var options []Option
			if strings.Contains(pattern, "recognized") {
				options = append(options, Recognize)
			}
			got, err := FromJSON(text, options...)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			sameBytes(t, name, got, want)
			encodedAnew(t, name, want)
		}
	}
	if n < 60 {
		t.Errorf("only %d vectors", n)
	}
}

func TestRealFilesHaveTheBytesOfTheCommand(t *testing.T) {
	for _, name := range []string{"apache_builds", "canada", "citm_catalog", "github_events", "instruments", "mesh",
		"numbers", "random", "twitter", "twitter_api_response"} {
		text := shared(t, name+".json")
		want := encoded(t, text)
		got, err := FromJSON(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sameBytes(t, name, got, want)
		encodedAnew(t, name, want)
	}
}

// reencoded documents of other encoders and editors keep their value.
func TestOtherDocumentsKeepTheirValue(t *testing.T) {
	for name, data := range documents(t, "vectors/y_*.lbuf") {
		root := mustOpen(t, data).Root()
		got, err := Encode(root)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		encodedAnew(t, name, got)
		if strings.HasPrefix(filepath.Base(name), "y_reserved") {
			continue
		}
		sameText(t, name, mustJSON(t, mustOpen(t, got).Root()), mustJSON(t, root))
		if err := mustOpen(t, got).Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Damaged ones end in an error, or in a document that is valid.
	for name, data := range documents(t, "vectors/n_*.lbuf") {
		if d, err := Open(data); err == nil {
			if got, err := Encode(d.Root()); err == nil && validity(got) != nil {
				t.Errorf("%s: %v", name, validity(got))
			}
		}
	}
}

// each is the documents that the command makes of lines of JSON.
func each(t testing.TB, lines []string, options ...string) [][]byte {
	t.Helper()
	folder := t.TempDir()
	input, out := filepath.Join(folder, "lines"), filepath.Join(folder, "out")
	if err := os.WriteFile(input, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	options = append([]string{"from-json", "--lines", "--each", "-o", out, input}, options...)
	command := exec.Command(reference(t), options...)
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var all [][]byte
	for i := range lines {
		data, err := os.ReadFile(filepath.Join(out, fmt.Sprintf("%06d.lbuf", i+1)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	os.RemoveAll(out)
	return all
}

// randomJSON makes JSON of all kinds of arrays and objects.
type randomJSON struct {
	*rand.Rand
	keys  []string
	texts []string
	out   strings.Builder
	most  int // bits of the size from which on there are only scalars
}

func newRandomJSON(seed uint64) *randomJSON {
	r := &randomJSON{Rand: rand.New(rand.NewPCG(seed, 7))}
	r.most = 8 + r.IntN(8)
	for i := range 3 + r.IntN(12) {
		r.keys = append(r.keys, []string{"k%d", "key number %d", "%d", "a\\n%d", "ä%d"}[r.IntN(5)])
		r.keys[i] = fmt.Sprintf(r.keys[i], i)
	}
	for range 2 + r.IntN(40) {
		r.texts = append(r.texts, r.text())
	}
	return r
}

func (r *randomJSON) text() string {
	switch r.IntN(6) {
	case 0:
		return strings.Repeat("x", r.IntN(8))
	case 1:
		return fmt.Sprintf("text %d", r.IntN(1000))
	case 2:
		return fmt.Sprintf("äö\\u00e9\\ud83d\\ude00%d\\\"", r.IntN(10))
	case 3:
		return strings.Repeat("long ", r.IntN(250))
	case 4:
		return fmt.Sprintf("20%02d-%02d-%02dT%02d:%02d:%02d%s", r.IntN(100), 1+r.IntN(13), 1+r.IntN(29), r.IntN(25),
			r.IntN(61), r.IntN(61), []string{"", "Z", ".5Z", "+01:30", ".1234567Z", ".123456-23:59"}[r.IntN(6)])
	}
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", r.Uint32(), r.Int64N(1<<40))
}

func (r *randomJSON) number() string {
	switch r.IntN(9) {
	case 0:
		return fmt.Sprint(r.IntN(100))
	case 1:
		return fmt.Sprint(-r.IntN(1 << 20))
	case 2:
		return fmt.Sprint(r.Uint64())
	case 3:
		return fmt.Sprint(-r.Int64())
	case 4:
		return fmt.Sprintf("%d.%d", r.IntN(100), 5*r.IntN(20))
	case 5:
		return fmt.Sprint(r.NormFloat64() * 1e9)
	case 6:
		return fmt.Sprintf("%d.0", r.IntN(1<<26))
	case 7:
		return fmt.Sprintf("%d%de%d", r.Uint32(), r.Uint64N(1<<(1+r.IntN(60))), r.IntN(700)-350)
	}
	return []string{"-0", "0", "-0.0", "1e400", "1e-400", "0e1", "9007199254740993", "9007199254740993.0",
		"0.1234567890123456789", "18446744073709551615", "18446744073709551616", "-9223372036854775808",
		"-9223372036854775809", "1E5", "123456789012345678.5"}[r.IntN(15)]
}

func (r *randomJSON) scalar(kind int) {
	if r.IntN(12) == 0 {
		kind = r.IntN(7)
	}
	switch kind {
	case 0:
		r.out.WriteString("null")
	case 1:
		r.out.WriteString([]string{"true", "false"}[r.IntN(2)])
	case 2:
		fmt.Fprint(&r.out, r.IntN(1000)-200)
	case 3:
		r.out.WriteString(r.number())
	case 4:
		fmt.Fprintf(&r.out, "%d.5", r.IntN(1000))
	case 5:
		fmt.Fprintf(&r.out, "%q", r.texts[r.IntN(len(r.texts))][:0]+fmt.Sprint(r.IntN(1<<30)))
	default:
		r.out.WriteString(`"` + r.texts[r.IntN(len(r.texts))] + `"`)
	}
}

func (r *randomJSON) value(depth int) {
	kind := r.IntN(10)
	if depth > 5 || depth > 1 && r.IntN(3) == 0 || r.out.Len() > 1<<r.most {
		kind = 9
	}
	switch kind {
	case 0, 1, 2: // similar objects
		n := r.IntN(25)
		keys := r.keys[:1+r.IntN(len(r.keys))]
		kinds := make([]int, len(keys))
		for i := range kinds {
			kinds[i] = r.IntN(9)
		}
		lacks, moves := r.IntN(2)*r.IntN(6), r.IntN(5) == 0
		asMap := r.IntN(3) == 0
		r.out.WriteByte("[{"[b2i(asMap)])
		for i := range n {
			r.comma(i)
			if asMap {
				fmt.Fprintf(&r.out, "\"id%d\":", i)
			}
			if r.IntN(20) == 0 {
				r.out.WriteString("null")
				continue
			}
			r.out.WriteByte('{')
			first := r.IntN(len(keys))
			if !moves {
				first = 0
			}
			wrote := 0
			for j := range keys {
				k := (j + first) % len(keys)
				if lacks > 0 && r.IntN(10) < lacks {
					continue
				}
				r.comma(wrote)
				wrote++
				r.out.WriteString(`"` + keys[k] + `":`)
				if kinds[k] >= 7 {
					r.value(depth + 1)
				} else {
					r.scalar(kinds[k])
				}
			}
			r.out.WriteByte('}')
		}
		r.out.WriteByte("]}"[b2i(asMap)])
	case 3, 4: // arrays of one length, or not
		n, m, kind, same := r.IntN(12), r.IntN(5), r.IntN(8), r.IntN(2) == 0
		r.out.WriteByte('[')
		for i := range n {
			r.comma(i)
			if r.IntN(10) == 0 {
				r.out.WriteString("null")
				continue
			}
			r.out.WriteByte('[')
			for j := range m {
				r.comma(j)
				if kind == 7 {
					r.value(depth + 1)
				} else {
					r.scalar(kind)
				}
			}
			r.out.WriteByte(']')
			if !same {
				m = r.IntN(5)
			}
		}
		r.out.WriteByte(']')
	case 5: // a column of scalars
		kind := r.IntN(7)
		r.out.WriteByte('[')
		for i := range r.IntN(60) {
			r.comma(i)
			r.scalar(kind)
		}
		r.out.WriteByte(']')
	case 6, 7:
		r.out.WriteByte('{')
		n := r.IntN(len(r.keys))
		if r.IntN(30) == 0 {
			n = 250 + r.IntN(30)
		}
		for i := range n {
			r.comma(i)
			key := fmt.Sprintf("key %d", i)
			if i < len(r.keys) {
				key = r.keys[r.IntN(len(r.keys))]
				if r.IntN(10) > 0 {
					key = r.keys[i]
				}
			}
			if r.IntN(200) == 0 {
				key = strings.Repeat("k", 250+r.IntN(10))
			}
			r.out.WriteString(`"` + key + `":`)
			if i > 20 {
				r.scalar(2)
			} else {
				r.value(depth + 1)
			}
		}
		r.out.WriteByte('}')
	case 8: // anything
		r.out.WriteByte('[')
		for i := range r.IntN(6) {
			r.comma(i)
			r.value(depth + 1)
		}
		r.out.WriteByte(']')
	default:
		r.scalar(r.IntN(7))
	}
}

func (r *randomJSON) comma(i int) {
	if i > 0 {
		r.out.WriteByte(',')
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestRandomDocumentsHaveTheBytesOfTheCommand(t *testing.T) {
	n := amount(100, 4000, 50_000)
	for first := 0; first < n; first += 1000 {
		var lines []string
		for seed := first; seed < min(first+1000, n); seed++ {
			r := newRandomJSON(uint64(seed))
			r.value(0)
			lines = append(lines, r.out.String())
		}
		for _, run := range []struct {
			flags   []string
			options []Option
		}{{nil, nil}, {[]string{"--no-tables"}, []Option{NoTables}}, {[]string{"--recognize"}, []Option{Recognize}}} {
			if n == 100 && run.flags != nil {
				lines = lines[:40]
			}
			for i, want := range each(t, lines, run.flags...) {
				got, err := FromJSON([]byte(lines[i]), run.options...)
				name := fmt.Sprintf("document %d %v", first+i, run.flags)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				sameBytes(t, name, got, want)
				encodedAnew(t, name, want, run.options...)
				if len(want) < 20_000 {
					if err := mustOpen(t, got).Validate(); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		}
	}
}

// An object of more than 255 members behind rows of the same keys was written as a record, which has at most 255: its
// keys were those that were expected to come next, and not counted. It is a map now.
// What an encoder keeps of a document, such as its key lists, changes no byte of the next ones.
func TestEncodersThatAreUsedAgain(t *testing.T) {
	type part struct {
		B        int    `json:"b"`
		A        int    `json:"a,omitempty"`
		LongName string `json:"a name of more than seven bytes"`
		Parts    []part `json:"c"`
	}
	var values []any
	for i := range 200 {
		parts := make([]part, i%9)
		for j := range parts {
			parts[j] = part{B: i, A: j % (i%3 + 1), LongName: "text", Parts: make([]part, j%3)}
		}
		values = append(values, part{A: i % 2, Parts: parts}, &part{B: 1, Parts: parts[:i%9/2]}, parts)
		r := newRandomJSON(uint64(i))
		r.value(0)
		rows := make([]map[string]int, i) // together they have the keys of an object before
		for j := range rows {
			rows[j] = map[string]int{"p": i, "r": i, []string{"q", "s"}[j%2]: j}
		}
		values = append(values, map[string]int{"p": 1, "q": 2, "r": 3, "s": 4}, rows)
		wide := map[string]any{}
		for j := range i * i % 300 {
			wide[fmt.Sprint(j, i%5)] = j
		}
		values = append(values, json.RawMessage(r.out.String()), wide, []any{wide, wide},
			map[string]any{"b": wide, "a": parts, "long enough": i})
	}
	again := new(encoder)
	for i, v := range values {
		encode := func(e *encoder) []byte {
			encoders = sync.Pool{New: func() any { return e }}
			data, err := Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
		sameBytes(t, fmt.Sprint("value ", i), encode(again), encode(new(encoder)))
	}
	encoders = sync.Pool{New: func() any { return new(encoder) }}
}

func TestObjectsWithTheKeysOfWideRowsAreMaps(t *testing.T) {
	var members []string
	for i := range 262 {
		members = append(members, fmt.Sprintf(`"key %03d":%d`, i, i))
	}
	one := "{" + strings.Join(members, ",") + "}"
	text := `{"rows":[` + one + "," + one + `],"z":` + one + "}"
	data, err := FromJSON([]byte(text))
	must(t, err, validity(data))
	var plain map[string]any
	must(t, json.Unmarshal([]byte(text), &plain))
	made, err := Marshal(plain) // whose keys are sorted, as those of the text
	must(t, err, validity(made))
	encodedAnew(t, "as JSON", data)
}

func TestJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "line 1, column 1",
		"[1,]":               "a comma before the closing bracket: remove it (line 1, column 4)",
		"{\"ä\":1\n, 2}":     "expected a key in quotes (line 2, column 3)",
		"[1":                 "the text ends within",
		"01":                 "no leading zero",
		"1.":                 "digits after",
		"-":                  "digits first",
		"1e+":                "digits after",
		"tru":                "expected `true`",
		"\"\\x\"":            "no such escape",
		"\"\\u12g4\"":        "four hexadecimal digits",
		"\"\\ud800\"":        "half of a surrogate pair",
		"\"\\ud800\\u0041\"": "half of a surrogate pair",
		"\"\\udc00\"":        "half of a surrogate pair",
		"\"a\xff\"":          "not UTF-8",
		"\"a\nb\"":           "a control character",
		"\"abc":              "ends inside a string",
		"1 2":                "more text behind the value",
		"{\"a\" 1}":          "expected `:`",
		"{\"a\":1]":          "expected `,` or `}`",
		"\x00":               "expected a value",
	} {
		_, err := FromJSON([]byte(text))
		if !errors.Is(err, ErrBadJSON) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, n := range []int{1000, 1001, 1_000_000} {
		for _, text := range []string{strings.Repeat("[", n) + strings.Repeat("]", n),
			strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)} {
			_, err := FromJSON([]byte(text))
			if (err == nil) != (n == 1000) || err != nil && !errors.Is(err, ErrNestingLimit) {
				t.Errorf("%d containers: %v", n, err)
			}
		}
	}
	if _, err := FromJSON([]byte(`{"a":1,"b":2,"a":3}`), RefuseDuplicates); !errors.Is(err, ErrDuplicateKey) {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"\xef\xbb\xbf[1]":                  "[1]",
		`{"a":1,"b":2,"a":3}`:              `{"a":3,"b":2}`,
		`["\ud800x","\udc00\ud800\udc00"]`: "[\"\ufffdx\",\"\ufffd\U00010000\"]",
		` [ -0 , -0.0 , 1E2, 0.1234567890123456789 , 123456789012345678901 ] `: "[-0.0,-0.0,100.0," +
			"0.1234567890123456789," +
			"123456789012345678901]",
	} {
		data, err := FromJSON([]byte(text), Replace)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		sameText(t, text, mustJSON(t, mustOpen(t, data).Root()), want)
	}
}

func FuzzFromJSON(f *testing.F) {
	for seed := range uint64(200) {
		r := newRandomJSON(seed)
		r.value(2)
		f.Add([]byte(r.out.String()))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		data, err := FromJSON(text)
		if err != nil {
			return
		}
		if err := mustOpen(t, data).Validate(); err != nil {
			t.Fatal(err)
		}
		encodedAnew(t, "fuzzed", data)
	})
}

// A damaged document whose values are all the same long text must not become gigabytes.
func TestRawOfManyValuesOfOneLongText(t *testing.T) {
	items := []any{bytes.Repeat([]byte{1}, 60_000)}
	for i := range 2500 {
		items = append(items, fmt.Appendf(nil, "number %d of many", i))
	}
	data, err := Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	cell := func(item []byte) []byte {
		start := binary.LittleEndian.AppendUint32(nil, uint32(bytes.Index(data, item)))
		for at := 32; at < len(data); at += 8 {
			if bytes.Equal(data[at:at+4], start) {
				return data[at : at+8]
			}
		}
		t.Fatal("no cell")
		return nil
	}
	first := bytes.Clone(cell(items[0].([]byte)))
	for _, item := range items[1:] {
		copy(cell(item.([]byte)), first)
	}
	doc, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := doc.Root().Raw(); !errors.Is(err, ErrBudgetExceeded) {
		t.Error(err)
	}
}
