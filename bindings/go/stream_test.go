package livebuf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

type lap struct {
	Driver string  `json:"driver"`
	Sec    float64 `json:"sec"`
}

func TestDocumentsInAStream(t *testing.T) {
	laps := []lap{{"ANT", 88.4}, {"BEE", 87.9}, {"", math.Inf(1)}}
	var stream bytes.Buffer
	encoder := NewEncoder(&stream)
	for _, one := range laps {
		if err := encoder.Encode(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := encoder.Encode(func() {}); !errors.Is(err, ErrBadValue) {
		t.Fatal(err)
	}
	stream.WriteString("rest")
	// However the bytes arrive, and nothing behind a document is read.
	for _, slow := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
		all := bytes.NewReader(stream.Bytes())
		decoder := NewDecoder(slow(all))
		for _, one := range laps {
			var found lap
			if err := decoder.Decode(&found); err != nil || found != one {
				t.Fatal(found, err)
			}
		}
		if _, err := decoder.Next(); !errors.Is(err, ErrNotADocument) {
			t.Fatal(err)
		}
	}
}

func TestStreamsThatEnd(t *testing.T) {
	data, err := Marshal(lap{"ANT", 88.4})
	if err != nil {
		t.Fatal(err)
	}
	for cut := range data {
		_, err := NewDecoder(bytes.NewReader(data[:cut])).Next()
		switch {
		case cut == 0 && err == io.EOF:
		case cut > 0 && errors.Is(err, ErrTruncated):
		default:
			t.Fatal(cut, err)
		}
	}
	failing := errors.New("the line is cut")
	for _, after := range []int{0, 10, len(data) - 1} {
		reader := io.MultiReader(bytes.NewReader(data[:after]), iotest.ErrReader(failing))
		if _, err := NewDecoder(reader).Next(); !errors.Is(err, failing) {
			t.Fatal(after, err)
		}
	}
	// Nothing is read out of the middle of a document that was refused.
	inner, _ := Marshal("smuggled")
	decoder := NewDecoder(bytes.NewReader(append(append(data[:headerSize:headerSize], inner...), data...)))
	decoder.Limit(uint64(len(data)) - 1)
	for range 2 {
		if _, err := decoder.Next(); !errors.Is(err, ErrDocumentLimit) {
			t.Fatal(err)
		}
		decoder.Limit(1 << 20)
	}
	// The end of a stream may only be the end of what has arrived.
	arrives := new(bytes.Buffer)
	decoder = NewDecoder(arrives)
	for range 2 {
		if _, err := decoder.Next(); err != io.EOF {
			t.Fatal(err)
		}
		arrives.Write(data)
		if _, err := decoder.Next(); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzStream reads documents out of any bytes. Each is what Open says of the same bytes.
func FuzzStream(f *testing.F) {
	for _, data := range documents(f, "vectors/*.lbuf") {
		if len(data) < 4096 {
			f.Add(data)
			f.Add(append(bytes.Clone(data), data...))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		decoder := NewDecoder(iotest.HalfReader(bytes.NewReader(data)))
		for rest := data; ; {
			doc, err := decoder.Next()
			if len(rest) == 0 {
				if err != io.EOF {
					t.Fatalf("%x: %v at the end", data, err)
				}
				return
			}
			want, wrong := Open(rest)
			if fmt.Sprint(err) != fmt.Sprint(wrong) {
				t.Fatalf("%x: %v, not %v", rest, err, wrong)
			}
			if err != nil {
				return
			}
			if !bytes.Equal(doc.Bytes(), want.Bytes()) {
				t.Fatalf("%x: other bytes", rest)
			}
			doc.Root().Decode(new(any))
			rest = rest[len(doc.Bytes()):]
		}
	})
}

// A header that claims 4 GiB takes memory for the bytes that arrive.
func TestClaimsOfStreamsAreNotBelieved(t *testing.T) {
	data, err := Marshal(strings.Repeat("x", 100))
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint32(data[headerUsed:], math.MaxUint32-7)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = NewDecoder(bytes.NewReader(data)).Next()
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrTruncated) {
		t.Fatal(err)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 100_000 {
		t.Fatalf("%d bytes", allocated)
	}
}
