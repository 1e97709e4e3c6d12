package livebuf

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sample is a vector, by its name.
func sample(t testing.TB, name string) *Document {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testdata, "vectors", name+".lbuf"))
	if err != nil {
		t.Fatal(err)
	}
	return mustOpen(t, data)
}

func TestTypes(t *testing.T) {
	root := sample(t, "y_encoded_lap").Root()
	if x, err := root.Get("lap").Int64(); x != 55 || err != nil {
		t.Errorf("%v, %v", x, err)
	}
	if x, err := root.Get("time_sec").Float64(); x != 88.427 || err != nil {
		t.Errorf("%v, %v", x, err)
	}
	if x, err := root.Get("event").Text(); x != "lap_complete" || err != nil {
		t.Errorf("%v, %v", x, err)
	}
	if x, err := root.Get("lap").Number(); x != "55" || err != nil {
		t.Errorf("%v, %v", x, err)
	}
	_, wrong := root.Get("event").Int64()
	_, missing := root.Get("event").Get("a").At(3).Int64()
	_, pointer := root.Pointer("event").Int64()
	_, tilde := root.Pointer("/event~2").Int64()
	for err, kind := range map[error]ErrorKind{wrong: ErrWrongType, missing: ErrNotFound, pointer: ErrBadPointer,
		tilde: ErrBadPointer} {
		if !errors.Is(err, kind) || errors.Is(err, ErrBadCell) {
			t.Errorf("%v is not of kind %v", err, kind)
		}
	}
	for _, bad := range []string{"x", "/~", "/~2", "/a~", "/~~10"} {
		if err := root.Pointer(bad).Err(); !errors.Is(err, ErrBadPointer) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	var zero Value
	if zero.Get("a").At(1).Pointer("/b").Exists() || zero.Len() != 0 || zero.Err() == nil || zero.String() == "" {
		t.Error("the zero value is not missing")
	}
	for range zero.Members() {
		t.Error("a member of nothing")
	}
	if most, err := sample(t, "y_encoded_uint_most").Root().Uint64(); most != math.MaxUint64 || err != nil {
		t.Errorf("%v, %v", most, err)
	}
	if _, err := sample(t, "y_encoded_uint_most").Root().Int64(); !errors.Is(err, ErrWrongType) {
		t.Error(err)
	}
}

func TestScalarTexts(t *testing.T) {
	for want, got := range map[string]string{
		"2026-11-23":                           Date(20780).String(),
		"0001-01-01":                           Date(minDay).String(),
		"9999-12-31":                           Date(maxDay).String(),
		"08:30:00":                             TimeOfDay(30_600_000_000).String(),
		"08:30:00.250":                         TimeOfDay(30_600_250_000).String(),
		"23:59:59.999999":                      TimeOfDay(dayMicros - 1).String(),
		"1969-12-31T23:59:59.999":              DateTime(-1000).String(),
		"-0.05":                                Decimal{-1, ^uint64(4), 2}.String(),
		"19.90":                                Decimal{0, 1990, 2}.String(),
		"7":                                    Decimal{0, 7, 0}.String(),
		"-1.8446744073709551616":               Decimal{-1, 0, 19}.String(),
		"18446744073709551615":                 Decimal{0, math.MaxUint64, 0}.String(),
		"9223372036854775808":                  Decimal{0, 1 << 63, 0}.String(),
		"00010203-0405-0607-0809-0a0b0c0d0e0f": UUID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}.String(),
	} {
		if got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	parses := func(text string, want any, got any, err error) {
		t.Helper()
		if _, fails := want.(error); fails && errors.Is(err, ErrBadValue) || err == nil && got == want {
			return
		}
		t.Errorf("%.60s is %v, %v, not %v", text, got, err, want)
	}
	for text, want := range map[string]any{"2026-11-23": Date(20780), "0001-01-01": Date(minDay),
		"2024-02-30": ErrBadValue, "2026-11-23T00:00:00": ErrBadValue, "": ErrBadValue, "0000-01-01": ErrBadValue} {
		got, err := ParseDate(text)
		parses(text, want, got, err)
	}
	for text, want := range map[string]any{"08:30:00": TimeOfDay(30_600_000_000), "08:30": ErrBadValue,
		"23:59:59.999999": TimeOfDay(dayMicros - 1), "08:30:00.25": TimeOfDay(30_600_250_000), "8:30:00": ErrBadValue,
		"08:30:60": ErrBadValue, "08:30:00Z": ErrBadValue, "08:30:00+01:00": ErrBadValue, "": ErrBadValue} {
		got, err := ParseTimeOfDay(text)
		parses(text, want, got, err)
	}
	for text, want := range map[string]any{"1969-12-31T23:59:59.999": DateTime(-1000), "1970-01-01": ErrBadValue,
		"1970-01-01T00:00:00Z": ErrBadValue, "1970-01-01 00:00:00": ErrBadValue} {
		got, err := ParseDateTime(text)
		parses(text, want, got, err)
	}
	for text, want := range map[string]any{"00010203-0405-0607-0809-0A0b0c0d0e0f": UUID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
		11, 12, 13, 14, 15}, "000102030405060708090a0b0c0d0e0f": ErrBadValue, "": ErrBadValue} {
		got, err := ParseUUID(text)
		parses(text, want, got, err)
	}
	nines := strings.Repeat("9", 38)
	for text, want := range map[string]any{"-0.05": "-0.05", "19.90": "19.90", "7": "7", "-1.8446744073709551616": "",
		"18446744073709551615": "", "9223372036854775808": "", nines: "", "-0." + nines: "", "-" + nines: "", "-0": "0",
		"5e-3": "0.005", "1.5E3": "1500", "1.25e1": "12.5", "1e37": "1" + strings.Repeat("0", 37), "1e38": ErrBadValue,
		nines + "9": ErrBadValue, "0." + nines + "9": ErrBadValue, "1e-39": ErrBadValue,
		"1e99999999999999999999": ErrBadValue, "1e-99999999999999999999": ErrBadValue, "": ErrBadValue, "+1": ErrBadValue,
		".5": ErrBadValue, "1.": ErrBadValue,
		"0x10": ErrBadValue, "1_0": ErrBadValue, "NaN": ErrBadValue, strings.Repeat("9", 1<<20): ErrBadValue} {
		if want == "" {
			want = text
		}
		got, err := ParseDecimal(text)
		parses(text, want, got.String(), err)
	}
	var price Decimal
	for text, want := range map[string]string{"19.90": "19.90", `"19.90"`: "19.90", "null": "0", `""`: "", `"x"`: ""} {
		price = Decimal{}
		if err := price.UnmarshalJSON([]byte(text)); (err == nil) != (want != "") || err == nil && price.String() != want {
			t.Errorf("%s is %v: %v", text, price, err)
		}
	}
	if got := DateTime(0).In(time.FixedZone("", 3600)); got.UnixMicro() != -3600e6 {
		t.Error(got)
	}
	for want, f := range map[string]float64{"1.0": 1, "-0.0": math.Copysign(0, -1), "0.00001": 1e-5,
		"1000000000000000.0": 1e15, "1e+16": 1e16, "9.99e-6": 9.99e-6, "5e-324": 5e-324, "1.5e+300": 1.5e300,
		"1.7976931348623157e+308": math.MaxFloat64, "1e-10": 1e-10} {
		if got := string(appendFloat(nil, f)); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	for bits, want := range map[uint16]float64{0x3c00: 1, 0xc000: -2, 0x0001: 1.0 / (1 << 24), 0x7bff: 65504,
		0x7c00: math.Inf(1), 0xfc00: math.Inf(-1), 0x3555: 0.333251953125} {
		if got := half(bits); got != want {
			t.Errorf("%v, not %v", got, want)
		}
	}
	if !math.IsNaN(half(0x7e00)) || !math.Signbit(half(0x8000)) {
		t.Error("NaN or -0 of 16 bits")
	}
}

func TestHashesOfKeys(t *testing.T) {
	for text, want := range map[string][2]uint32{"": {0x8d0199fa, 0xad}, "a": {0x60f633f4, 0x5d},
		"a key": {0xeeb29d08, 0xf7}, "12345678": {0x95b753be, 0x70}, "a longer key, of 26 bytes.": {0x89488114, 0xe4}} {
		if place, mark := hashKey(text); place != want[0] || uint32(mark) != want[1] {
			t.Errorf("%q: %x %x", text, place, mark)
		}
	}
}

func TestPrintedBytesAreBounded(t *testing.T) {
	root := sample(t, "y_encoded_text_elsewhere").Root()
	_, err := AppendJSON(nil, root, JSONOptions{MaxBytes: 4})
	if !errors.Is(err, ErrBudgetExceeded) || !strings.Contains(err.Error(), "MaxBytes") {
		t.Error(err)
	}
	if text, err := AppendJSON([]byte("x"), root, JSONOptions{}); err != nil || !strings.HasPrefix(string(text), `x"`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestLookupsDoNotAllocate(t *testing.T) {
	lap, hashed := sample(t, "y_encoded_lap").Root(), sample(t, "y_encoded_map_hashed").Root()
	rows := sample(t, "y_edited_table_extras").Root()
	tree := sample(t, "y_edited_map_two_leaves").Root()
	key, long := NewKey("time_sec"), NewKey("key 0")
	for name, lookup := range map[string]func() Value{
		"record by key":  func() Value { return lap.GetKey(key) },
		"record by text": func() Value { return lap.Get("lap") },
		"map by key":     func() Value { return hashed.GetKey(long) },
		"map by text":    func() Value { return hashed.Get("key 255") },
		"tree":           func() Value { return tree.Get("k05") },
		"row":            func() Value { return rows.At(2).Get("b") },
		"extras":         func() Value { return rows.At(1).Get("c") },
		"pointer":        func() Value { return rows.Pointer("/4/a longer key") },
	} {
		if !lookup().Exists() {
			t.Errorf("%s: %v", name, lookup().Err())
		}
		if n := testing.AllocsPerRun(100, func() { lookup() }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		for range lap.MemberBytes() {
		}
		for range rows.Elements() {
		}
	}); n != 0 {
		t.Errorf("ranging: %v allocations", n)
	}
}

func TestColumnsLieOverTheDocument(t *testing.T) {
	root := sample(t, "y_edited_table_extras").Root()
	if _, _, err := Column[string](root.At(0).Get("b")); !errors.Is(err, ErrWrongType) {
		t.Error(err)
	}
	numbers := sample(t, "y_encoded_columns_f").Root()
	found := false
	for _, v := range numbers.Members() {
		found = found || isNative[float64](v) || isNative[float32](v)
	}
	for _, v := range numbers.Elements() {
		found = found || isNative[float64](v) || isNative[float32](v)
	}
	if !found {
		t.Error("no column of floats was read in place")
	}
}

// isNative says whether a column is read without a copy.
func isNative[T Item](v Value) bool {
	return testing.AllocsPerRun(1, func() { Column[T](v) }) == 0 && v.Len() > 0
}

// A damaged document whose array has one long text very often. What is made of it must stay bounded.
func TestTextsAreBounded(t *testing.T) {
	const count, size = 2200, 17_600
	data := make([]byte, headerSize+columnSize+8*count+size)
	put := func(at int, x uint64) { binary.LittleEndian.PutUint64(data[at:], x) }
	put(0, magic|version<<32)
	put(headerRoot, headerSize)
	put(headerRootTag, tagArray|uint64(len(data))<<32)
	put(headerSize, kindArray|codeText<<8|count<<32)
	put(headerSize+8, count|(headerSize+columnSize)<<32)
	for i := range count {
		put(headerSize+columnSize+8*i, uint64(len(data)-size)|size<<32|spanOwned)
	}
	root := mustOpen(t, data).Root()
	if text, err := root.At(count - 1).TextBytes(); len(text) != size || err != nil {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	if _, _, err := Column[string](root); !errors.Is(err, ErrBudgetExceeded) {
		t.Error(err)
	}
	if _, err := root.Any(); !errors.Is(err, ErrBudgetExceeded) {
		t.Error(err)
	}
}
