package livebuf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// validity is what Validate says of bytes.
func validity(data []byte) error {
	doc, err := Open(data)
	if err == nil {
		err = doc.Validate()
	}
	return err
}

func TestVectorsAreValidOrNot(t *testing.T) {
	damaged, named := 0, 0
	for path, data := range documents(t, "vectors/*.lbuf") {
		name, err := filepath.Base(path), validity(data)
		if strings.HasPrefix(name, "y_") {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		damaged++
		var e *Error
		switch {
		case !errors.As(err, &e):
			t.Errorf("%s: %v", name, err)
		case e.Kind.String() == strings.Split(name, "_")[1]:
			named++
		default:
			t.Logf("%s: %v", name, err)
		}
	}
	// Names are advice: where a fault breaks several rules, another may be met first.
	if damaged < 400 || named < damaged*98/100 {
		t.Errorf("%d of %d damaged documents have the error of their name", named, damaged)
	}
}

func TestFrozenDocumentsAreValid(t *testing.T) {
	n := 0
	for name, data := range documents(t, "frozen/*/*.lbuf") {
		n++
		doc := mustOpen(t, data)
		if err := doc.Validate(); err != nil || !doc.valid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n < 100 {
		t.Errorf("only %d documents", n)
	}
}

func TestBytesAroundADocumentDoNotMatter(t *testing.T) {
	for name, data := range documents(t, "vectors/y_encoded_table.lbuf") {
		for start := range 9 {
			room := bytes.Repeat([]byte{0xee}, len(data)+64)
			copy(room[start:], data)
			if err := validity(room[start:]); err != nil {
				t.Errorf("%s from %d on: %v", name, start, err)
			}
		}
		if err := validity(data[:len(data)-8]); !errors.Is(err, ErrTruncated) {
			t.Errorf("%s, cut: %v", name, err)
		}
	}
}

// TestChangedBytesHaveTheVerdictOfTheReference compares with the command `livebuf`, by batches.
func TestChangedBytesHaveTheVerdictOfTheReference(t *testing.T) {
	command, folder, step := reference(t), t.TempDir(), amount(9, 400, 400)
	type change struct {
		what string
		err  error
	}
	var batch []change
	compared, valid := 0, 0
	compare := func() {
		run := exec.Command(command, "validate")
		for i := range batch {
			run.Args = append(run.Args, fmt.Sprintf("%d.lbuf", i))
		}
		run.Dir = folder
		out, _ := run.Output() // it fails where one is not valid
		said := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			if name, rest, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(rest, "valid") {
				said[name] = true
			}
		}
		for i, c := range batch {
			if said[fmt.Sprintf("%d.lbuf", i)] != (c.err == nil) {
				t.Errorf("%s: %v; the command says the opposite", c.what, c.err)
			}
		}
		compared, valid, batch = compared+len(batch), valid+len(said), batch[:0]
	}
	random := rand.New(rand.NewPCG(5, 6))
	for name, data := range documents(t, "vectors/y_*.lbuf") {
		// Each byte of most vectors, and some of long ones.
		size := (len(data) + step - 1) / step
		for at := random.IntN(size); at < len(data); at += size {
			changed := bytes.Clone(data)
			changed[at] = []byte{data[at] ^ 1<<random.IntN(8), 0, data[at] + 1, byte(random.IntN(256))}[random.IntN(4)]
			path := filepath.Join(folder, fmt.Sprintf("%d.lbuf", len(batch)))
			if err := os.WriteFile(path, changed, 0o644); err != nil {
				t.Fatal(err)
			}
			batch = append(batch, change{fmt.Sprintf("%s, byte %d is %#x", name, at, changed[at]), validity(changed)})
			if len(batch) == 1000 {
				compare()
			}
		}
	}
	compare()
	if compared < 1000 || valid < 100 || valid == compared {
		t.Errorf("%d compared, %d valid", compared, valid)
	}
}

// printed checks that a document that is valid can be printed.
func printed(t testing.TB, data []byte) bool {
	doc, err := Open(data)
	if err != nil || doc.Validate() != nil {
		return false
	}
	_, err = AppendJSON(nil, doc.Root(), JSONOptions{NonFiniteNull: true, MaxBytes: 1 << 20})
	// It may be longer than this limit, or hold a value of a later version.
	if err != nil && !errors.Is(err, ErrBudgetExceeded) && !errors.Is(err, ErrUnsupported) {
		t.Errorf("a valid document is not printed: %v", err)
	}
	return true
}

func TestDamageIsFoundAndTheRestIsPrinted(t *testing.T) {
	rounds, valid := amount(20_000, 500_000, 10_000_000), 0
	var all [][]byte
	for _, data := range documents(t, "vectors/y_*.lbuf") {
		if len(data) < 20_000 {
			all = append(all, data)
		}
	}
	random := rand.New(rand.NewPCG(7, 8))
	slowest := time.Duration(0)
	for range rounds {
		data := bytes.Clone(all[random.IntN(len(all))])
		for range 1 + random.IntN(2) {
			at := 4 * random.IntN(len(data)/4)
			switch random.IntN(5) {
			case 0:
				copy(data[at:at+4], data[4*random.IntN(len(data)/4):])
			case 1:
				binary.LittleEndian.PutUint32(data[at:], uint32(8*random.IntN(len(data)/8+4)))
			case 2:
				words := []uint32{0, 1<<31 - 1, 1<<32 - 1, 1 << 31, 1 << 16}
				binary.LittleEndian.PutUint32(data[at:], words[random.IntN(len(words))])
			default:
				data[at+random.IntN(4)] ^= 1 << random.IntN(8)
			}
		}
		start := time.Now()
		if printed(t, data) {
			valid++
		}
		slowest = max(slowest, time.Since(start))
	}
	if valid < rounds/20 || valid > rounds/2 || slowest > 5*time.Second {
		t.Errorf("%d of %d were valid; the slowest took %v", valid, rounds, slowest)
	}
}

func FuzzValidate(f *testing.F) {
	for _, data := range documents(f, "vectors/*.lbuf") {
		if len(data) < 4096 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { printed(t, data) })
}

func TestValidateAllocatesOnlyItsBits(t *testing.T) {
	for _, name := range []string{"y_edited_map_inner_nodes", "y_encoded_map_hashed", "y_recognized_values"} {
		for path, data := range documents(t, "vectors/"+name+".lbuf") {
			doc := mustOpen(t, data)
			if n := testing.AllocsPerRun(20, func() { doc.Validate() }); n > 2 {
				t.Errorf("%s: %v allocations", path, n)
			}
		}
	}
}

func TestTextsAreUTF8(t *testing.T) {
	parts := []string{"a", "ab", "plain text", "é", "ß", "日", "本語", "\u0800", "\uffff", "😀", "\U0010ffff", "\u07ff"}
	broken := []string{"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xff",
		"\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3", "\xe3\x81", "\xf0\x9f\x98", "\xe3\x41\x81"}
	random := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		text := ""
		for range random.IntN(12) {
			text += parts[random.IntN(len(parts))]
		}
		if !isText([]byte(text)) {
			t.Fatalf("%q is said to be no UTF-8", text)
		}
		at := random.IntN(len(text) + 1)
		for at > 0 && at < len(text) && text[at]&0xc0 == 0x80 {
			at--
		}
		if text = text[:at] + broken[random.IntN(len(broken))] + text[at:]; isText([]byte(text)) {
			t.Fatalf("%q is said to be UTF-8", text)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	for _, name := range []string{"twitter", "citm_catalog", "canada", "github_events"} {
		b.Run(name, func(b *testing.B) {
			doc := mustOpen(b, encoded(b, shared(b, name+".json")))
			b.SetBytes(int64(len(doc.Bytes())))
			b.ReportAllocs()
			for b.Loop() {
				if err := doc.Validate(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
