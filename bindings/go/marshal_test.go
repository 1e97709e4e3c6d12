package livebuf

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

type testColor uint8

func (c testColor) MarshalText() ([]byte, error) { return []byte(fmt.Sprintf("color-%d", c)), nil }

func (c *testColor) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "color-%d", c)
	return err
}

type TestInner struct {
	A int    `json:"a"`
	B string `json:"b,omitempty"`
}

type testBase struct {
	ID   int `json:"id"`
	Name string
}

type testAll struct {
	testBase
	*TestInner
	Bool   bool              `json:"bool"`
	I8     int8              `livebuf:"i8" json:"other"`
	U64    uint64            `json:"u64"`
	F32    float32           `json:"f32"`
	F64    float64           `json:"f64"`
	Text   string            `json:"text"`
	Bytes  []byte            `json:"bytes"`
	Time   time.Time         `json:"time"`
	Date   Date              `json:"date"`
	Dec    Decimal           `json:"dec"`
	UUID   UUID              `json:"uuid"`
	Number json.Number       `json:"number"`
	Big    *big.Int          `json:"big"`
	IP     netip.Addr        `json:"ip"`
	Color  testColor         `json:"color"`
	Any    any               `json:"any"`
	Map    map[string]int    `json:"map"`
	ByInt  map[int]string    `json:"by_int"`
	Colors map[testColor]int `json:"colors"`
	Rows   []TestInner       `json:"rows"`
	Ptrs   []*TestInner      `json:"ptrs"`
	Array  [3]int            `json:"array"`
	Nil    *int              `json:"nil"`
	Empty  string            `json:"empty,omitempty"`
	Zero   time.Time         `json:"zero,omitzero"`
	Raw    RawValue          `json:"raw"`
	Skip   func()            `json:"-"`
	hidden int
}

func testValue(t testing.TB) testAll {
	raw, err := Encode([]any{int64(1), "two"})
	if err != nil {
		t.Fatal(err)
	}
	return testAll{testBase: testBase{7, "base"}, TestInner: &TestInner{1, "b"}, Bool: true, I8: -128,
		U64: math.MaxUint64,
		F32: 0.1, F64: 1e300, Text: "grüße", Bytes: []byte{0, 255}, Time: time.UnixMicro(1_700_000_000_123_456).UTC(),
		Date: 20_000, Dec: Decimal{Lo: 1990, Scale: 2}, UUID: UUID{1, 2, 15: 9},
		Number: "123456789012345678901234567890",
		Big:    new(big.Int).Lsh(big.NewInt(-1), 100), IP: netip.MustParseAddr("::1"), Color: 3,
		Any: []any{int64(1), nil, "x"},
		Map: map[string]int{"b": 2, "a": 1}, ByInt: map[int]string{-1: "m", 10: "x"}, Colors: map[testColor]int{1: 2},
		Rows: []TestInner{{1, "x"}, {2, ""}, {3, "z"}}, Ptrs: []*TestInner{nil, {4, "p"}},
		Array: [3]int{1, 2, 3}, Raw: raw}
}

func TestMarshalAndUnmarshal(t *testing.T) {
	value := testValue(t)
	value.hidden = 9
	data, err := Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	value.hidden = 0
	doc := mustOpen(t, data)
	if err := doc.Validate(); err != nil {
		t.Fatal(err)
	}
	var back testAll
	if err := Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, value) {
		t.Errorf("%+v\nnot %+v", back, value)
	}
	want := `{"id":7,"Name":"base","a":1,"b":"b","bool":true,"i8":-128,"u64":18446744073709551615,` +
		`"f32":0.10000000149011612,"f64":1e+300,"text":"grüße","bytes":"AP8=","time":"2023-11-14T22:13:20.123456Z",` +
		`"date":"2024-10-04","dec":19.90,"uuid":"01020000-0000-0000-0000-000000000009",` +
		`"number":123456789012345678901234567890,"big":-1267650600228229401496703205376,"ip":"::1","color":"color-3",` +
		`"any":[1,null,"x"],"map":{"a":1,"b":2},"by_int":{"-1":"m","10":"x"},"colors":{"color-1":2},` +
		`"rows":[{"a":1,"b":"x"},{"a":2},{"a":3,"b":"z"}],"ptrs":[null,{"a":4,"b":"p"}],"array":[1,2,3],"nil":null,` +
		`"raw":[1,"two"]}`
	sameText(t, "as JSON", mustJSON(t, doc.Root()), want)
}

// testHour and testMinute are zero where their methods say so.
type (
	testHour   int
	testMinute int
)

func (h testHour) IsZero() bool    { return h == 12 }
func (m *testMinute) IsZero() bool { return *m == 30 }

// A type's method IsZero was not called, so that a time of the year 1 in another zone was not left out.
func TestOmitZeroAsJSONHasIt(t *testing.T) {
	type all struct {
		Hour      testHour    `json:"hour,omitzero"`
		HourTo    *testHour   `json:"hour_to,omitzero"`
		Minute    testMinute  `json:"minute,omitzero"`
		MinuteTo  *testMinute `json:"minute_to,omitzero"`
		Zeroer    zeroer      `json:"zeroer,omitzero"`
		Any       any         `json:"any,omitzero"`
		Time      time.Time   `json:"time,omitzero"`
		Int       int         `json:"int,omitzero"`
		NotZeroer testHour    `json:"not_zeroer"`
	}
	noon, half, one := testHour(12), testMinute(30), testHour(1)
	values := []all{
		{},
		{Hour: noon, HourTo: &noon, Minute: half, MinuteTo: &half, Zeroer: noon, Any: noon, NotZeroer: noon},
		{Hour: one, HourTo: &one, Minute: 1, MinuteTo: new(testMinute), Zeroer: &half, Any: &noon, Int: 1},
		{Zeroer: (*testHour)(nil), Any: (*int)(nil), Time: time.Time{}.In(time.FixedZone("", 3600))},
	}
	for i := range values {
		for _, value := range []any{values[i], &values[i]} { // of which one has no address
			want, err := json.Marshal(value)
			must(t, err)
			got, err := Marshal(value)
			must(t, err)
			sameText(t, fmt.Sprintf("%T %d", value, i), mustJSON(t, mustOpen(t, got).Root()), string(want))
		}
	}
}

// Documents of structs are those of their JSON.
func TestMarshalHasTheBytesOfJSON(t *testing.T) {
	type row struct {
		ID    int      `json:"id"`
		Name  string   `json:"name"`
		Score float64  `json:"score"`
		Tags  []string `json:"tags"`
		Sub   struct {
			X, Y int32
			Note string `json:",omitempty"`
		}
	}
	var rows []row
	byName := map[string]row{}
	for i := range 400 {
		r := row{ID: i, Name: fmt.Sprintf("the name %d", i%50), Score: float64(i) + 0.5,
			Tags: []string{"a", "b"}[:i%3%2]}
		r.Sub.X = int32(i)
		if i%5 == 0 {
			r.Sub.Note = "a note"
		}
		rows = append(rows, r)
		byName[fmt.Sprint("key ", i)] = r
	}
	var plain any
	text, _ := json.Marshal(rows)
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&plain); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]any{"rows": rows, "first": rows[:1], "map": byName, "all": map[string]any{
		"rows": rows, "map": byName, "none": []row(nil), "ints": []int16{1, 2}}, "plain": plain} {
		for _, options := range [][]Option{nil, {NoTables}} {
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			want, err := FromJSON(text, options...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Encode(value, options...)
			if err != nil {
				t.Fatal(err)
			}
			sameBytes(t, name, got, want)
		}
	}
	var back []row
	data, _ := Marshal(rows)
	if err := Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if len(rows[i].Tags) == 0 {
			rows[i].Tags = []string{}
		}
	}
	if !reflect.DeepEqual(back, rows) {
		t.Error("rows are others")
	}
}

type testLoop struct{ Next *testLoop }

type testPointer *testPointer

func TestEncodeErrors(t *testing.T) {
	loop := &testLoop{}
	loop.Next = loop
	var pointer testPointer
	pointer = &pointer
	self := map[string]any{}
	self["a"] = self
	for _, c := range []struct {
		value any
		kind  ErrorKind
		path  string
	}{
		{make(chan int), ErrBadValue, ""},
		{map[string]any{"a/b": []any{1, map[string]any{"c": complex(1, 1)}}}, ErrBadValue, "/a~1b/1/c"},
		{[]testAll{{}, {Any: func() {}}}, ErrBadValue, "/1/any"},
		{struct{ A []any }{[]any{[]any{}, []any{1, []int{}, "\xff"}}}, ErrBadText, "/A/1/2"},
		{[]any{json.Number("1.")}, ErrBadNumber, "/0"},
		{loop, ErrNestingLimit, "*"},
		{pointer, ErrNestingLimit, "*"},
		{self, ErrNestingLimit, "*"},
		{[]Decimal{{Scale: 39}}, ErrBadValue, "/0"},
		{Date(-719163), ErrBadValue, ""},
		{Value{}, ErrNotFound, ""},
		{RawValue("{}"), ErrNotADocument, "*"},
	} {
		for _, options := range [][]Option{nil, {NoTables}} {
			_, err := Encode(c.value, options...)
			var e *Error
			if !errors.As(err, &e) || e.Kind != c.kind || c.path != "*" && e.Path != c.path {
				t.Errorf("%T: %v", c.value, err)
			}
		}
	}
	data, err := Encode([]string{"a\xff\xfe", "b"}, Replace)
	if err != nil {
		t.Fatal(err)
	}
	sameText(t, "replaced", mustJSON(t, mustOpen(t, data).Root()), "[\"a\ufffd\ufffd\",\"b\"]")
}

// What has MarshalJSON for other packages keeps the kinds of its values here, also behind pointers.
func TestDocumentsAndScalarsKeepTheirKinds(t *testing.T) {
	at := time.UnixMicro(5).UTC()
	values := map[string]any{"a": []byte("abc"), "b": Date(5), "c": UUID{7}, "d": at, "e": Decimal{Lo: 150, Scale: 2}}
	data, err := Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	date, id, decimal := Date(5), UUID{7}, Decimal{Lo: 150, Scale: 2}
	doc, e := mustOpen(t, data), mustEdit(t, values)
	file, err := OpenFile(inFile(t, data))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, same := range []any{doc, *doc, doc.Root(), file, &file.Document, e, struct{ *Document }{doc}.Document,
		map[string]any{"a": []byte("abc"), "b": &date, "c": &id, "d": &at, "e": &decimal},
		struct {
			A []byte     `json:"a"`
			B *Date      `json:"b"`
			C **UUID     `json:"c"`
			D *time.Time `json:"d"`
			E *Decimal   `json:"e"`
		}{[]byte("abc"), &date, func() **UUID { x := &id; return &x }(), &at, &decimal}} {
		got, err := Marshal(same)
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, fmt.Sprintf("%T", same), got, data)
	}
	for _, opaque := range []any{&Partial{}, NewKey("a"), Validity{}, NewDecoder(nil), []any{&Log{}}} {
		if _, err := Marshal(opaque); !errors.Is(err, ErrBadValue) {
			t.Errorf("%T: %v", opaque, err)
		}
	}
	none, err := Marshal([]any{(*Document)(nil), (*Editor)(nil), (*File)(nil), (*Handle)(nil), (*time.Time)(nil)})
	if err != nil {
		t.Fatal(err)
	}
	sameText(t, "nil", mustJSON(t, mustOpen(t, none).Root()), "[null,null,null,null,null]")
}

func TestDecodeErrors(t *testing.T) {
	type inner struct {
		N int8            `json:"n"`
		F float32         `json:"f"`
		D float64         `json:"d"`
		U uint64          `json:"u"`
		S string          `json:"s"`
		M map[int8]string `json:"m"`
		A [2]int          `json:"a"`
	}
	for text, want := range map[string]string{
		`[{"n":1},{"n":128}]`:               "/1/n int8 128",
		`[{"n":1.0}]`:                       "/0/n int8",
		`[{"n":"1"}]`:                       "/0/n int8",
		`[{"f":1e39}]`:                      "/0/f float32 1e+39",
		`[{"f":-3.5e38}]`:                   "/0/f float32",
		`[{"d":1e400}]`:                     "/0/d float64 1e400",
		`[{"d":"1"}]`:                       "/0/d float64",
		`[{"u":-1}]`:                        "/0/u uint64 -1",
		`[{"s":5}]`:                         "/0/s string",
		`[{"m":{"200":"x"}}]`:               "/0/m/200 int8",
		`[{"a":[1,2,3]}]`:                   "/0/a [2]int",
		`{"n":1}`:                           "[]livebuf.inner",
		`[[]]`:                              "/0 livebuf.inner",
		`[{"u":1,"n":3,"unknown":{"a":1}}]`: "",
		`[{"n":null,"s":null,"a":[1]}]`:     "",
	} {
		data, err := FromJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		err = Unmarshal(data, new([]inner))
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if !errors.Is(err, ErrWrongType) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, part := range strings.Fields(want) {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: no %s in %v", text, part, err)
			}
		}
	}
	data, _ := Encode(nil)
	for _, to := range []any{nil, 5, (*int)(nil)} {
		if err := Unmarshal(data, to); !errors.Is(err, ErrBadValue) {
			t.Error(err)
		}
	}
}

// Floats are rounded as package encoding/json does it.
func TestFloatsAreRounded(t *testing.T) {
	type floats struct {
		F []float32
		D []float64
	}
	const numbers = `[0.1,-0.1,1,16777217,9007199254740993,100000000000000000000,1234567890123456789012345,0.` +
		`1234567890123456789,18446744073709551615,-9223372036854775807,3.4028235e38,1e-60]`
	text := []byte(`{"F":` + numbers + `,"D":` + numbers + `}`)
	var want, got floats
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	data, err := FromJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, not %v: %v", got, want, err)
	}
	data, _ = Marshal(map[string]any{"F": []float64{math.Inf(-1)}, "D": []float64{math.Inf(1)}})
	if err := Unmarshal(data, &got); err != nil || !math.IsInf(float64(got.F[0]), -1) || !math.IsInf(got.D[0], 1) {
		t.Errorf("%v: %v", got, err)
	}
}

// testKey and testOption have methods that encoding/json calls.
type (
	testKey    string
	testOption struct{ has, null bool }
	testFlag   uint8
)

func (k *testKey) UnmarshalText(text []byte) error { *k = testKey("key " + string(text)); return nil }

func (o *testOption) UnmarshalJSON(text []byte) error {
	*o = testOption{true, string(text) == "null"}
	return nil
}

func (f *testFlag) MarshalJSON() ([]byte, error) { return []byte(fmt.Sprintf(`"flag %d"`, *f)), nil }

func TestMethodsAreCalledAsJSONCallsThem(t *testing.T) {
	type all struct {
		Colors  []testColor
		Array   [2]testColor
		Flags   []testFlag
		Keys    map[testKey]int
		Null    testOption
		Five    testOption
		None    testOption
		Pointer *testOption
		Raw     json.RawMessage
		RawTo   *json.RawMessage
		Number  json.Number
		Color   testColor
	}
	text := []byte(`{"Colors":["color-1","color-2"],"Array":["color-3","color-4"],"Flags":null,"Keys":{"a":1},` +
		`"Null":null,"Five":5,"Pointer":null,"Raw":null,"RawTo":null,"Number":"1.5","Color":null}`)
	raw := json.RawMessage("1")
	want, got := all{RawTo: &raw, Color: 7}, all{RawTo: &raw, Color: 7}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	data, err := FromJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, not %+v: %v", got, want, err)
	}
	in := struct {
		Colors []testColor
		Flags  []testFlag
	}{[]testColor{1, 2}, []testFlag{3}}
	if data, err = Marshal(in); err != nil {
		t.Fatal(err)
	}
	sameText(t, "slices", mustJSON(t, mustOpen(t, data).Root()), `{"Colors":["color-1","color-2"],"Flags":["flag 3"]}`)
	data, _ = FromJSON([]byte(`"1.5.1"`))
	if err := Unmarshal(data, new(json.Number)); !errors.Is(err, ErrWrongType) {
		t.Error(err)
	}
}

func TestScalarsAreReadFromTextsAndNumbers(t *testing.T) {
	type all struct {
		Date    Date
		Time    TimeOfDay
		At      DateTime
		UUID    UUID
		Price   Decimal
		Dates   map[Date]int
		Times   map[TimeOfDay]int
		Moments map[DateTime]int
		UUIDs   map[UUID]int
	}
	value := all{20_780, 30_600_250_000, -1000, UUID{1, 15: 9}, Decimal{Lo: 1990, Scale: 2}, map[Date]int{5: 1},
		map[TimeOfDay]int{5: 1}, map[DateTime]int{-5: 1}, map[UUID]int{{9}: 1}}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	made, err := Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	read, err := FromJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"made here": made, "JSON": read} {
		var got all
		if err := Unmarshal(data, &got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got.Price.Scale == 1 { // JSON's 19.90 is the float 19.9
			got.Price = Decimal{Lo: 10 * got.Price.Lo, Scale: 2}
		}
		if !reflect.DeepEqual(got, value) {
			t.Errorf("%s: %+v, not %+v", name, got, value)
		}
	}
	var back all
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, value) {
		t.Errorf("by encoding/json: %+v, not %+v: %v", back, value, err)
	}
	// What has a text goes to one, and dates go to times.
	at := time.UnixMicro(1_700_000_000_123_456).UTC()
	data, err := Marshal([]any{UUID{1}, Date(5), TimeOfDay(5), DateTime(5_000_000), at, "text"})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	want := []string{"01000000-0000-0000-0000-000000000000", "1970-01-06", "00:00:00.000005", "1970-01-01T00:00:05",
		"2023-11-14T22:13:20.123456Z", "text"}
	if err := Unmarshal(data, &texts); err != nil || !reflect.DeepEqual(texts, want) {
		t.Errorf("%q: %v", texts, err)
	}
	var own []testKey
	if err := Unmarshal(data, &own); err != nil || own[0] != testKey("key "+want[0]) {
		t.Errorf("%q: %v", own, err)
	}
	data, _ = Marshal([]any{Date(5), DateTime(5_000_000), at, "2023-11-14T22:13:20.123456Z"})
	var times []time.Time
	if err := Unmarshal(data, &times); err != nil || !reflect.DeepEqual(times, []time.Time{Date(5).Time(),
		time.Unix(5, 0).UTC(), at, at}) {
		t.Errorf("%v: %v", times, err)
	}
	for text, to := range map[string]any{`5`: new(Date), `"2026-13-01"`: new(Date), `"24:00:00"`: new(TimeOfDay),
		`"1.5.1"`: new(Decimal), `1e400`: new(Decimal), `"0-0"`: new(UUID), `{"x":1}`: new(map[UUID]int),
		`true`: new(string)} {
		data, _ := FromJSON([]byte(text))
		if err := Unmarshal(data, to); !errors.Is(err, ErrWrongType) {
			t.Errorf("%s as %T: %v", text, to, err)
		}
	}
	data, _ = Marshal(math.NaN())
	if err := Unmarshal(data, new(Decimal)); !errors.Is(err, ErrWrongType) {
		t.Error(err)
	}
	data, _ = Marshal([]byte("bytes"))
	if err := Unmarshal(data, new(string)); !errors.Is(err, ErrWrongType) {
		t.Error(err)
	}
}

func TestWhatManyValuesTakeIsBounded(t *testing.T) {
	type row struct {
		Ok bool `json:"ok"`
		N  *int `json:"n"`
	}
	data, err := Marshal(make([]row, 600_000))
	if err != nil {
		t.Fatal(err)
	}
	doc := mustOpen(t, data)
	advice := "validate it"
	if _, err := doc.Root().Any(); !errors.Is(err, ErrBudgetExceeded) || !strings.Contains(err.Error(), advice) {
		t.Errorf("before it was validated: %v", err)
	}
	if err := doc.Validate(); err != nil {
		t.Fatal(err)
	}
	if _, err := doc.Root().Any(); err != nil {
		t.Error(err)
	}
	if _, err := doc.Root().Digest(); err != nil {
		t.Error(err)
	}
	if err := doc.Root().Decode(new(any)); err != nil {
		t.Error(err)
	}
	if err := doc.Root().Decode(new([]row)); err != nil {
		t.Error(err)
	}
	// What pointers lead to is counted, too, also where it is embedded.
	type Large struct {
		X  [4096]byte
		Ok bool `json:"ok"`
	}
	for _, to := range []any{new([]*struct {
		X [4096]byte
		N any `json:"n"`
	}), new([]struct{ *Large })} {
		if err := doc.Root().Decode(to); !errors.Is(err, ErrBudgetExceeded) {
			t.Errorf("%T: %v", to, err)
		}
	}
}

func TestDecodeKeepsPartsInPlace(t *testing.T) {
	data, err := FromJSON([]byte(`{"a":[1,2],"b":{"c":"d"},"e":[{"x":1},{"x":2}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var parts struct {
		A Value            `json:"a"`
		B map[string]any   `json:"b"`
		E []RawValue       `json:"e"`
		F *int             `json:"f"`
		G map[string]Value `json:"g"`
	}
	if err := Unmarshal(data, &parts); err != nil {
		t.Fatal(err)
	}
	again, err := Encode(parts)
	if err != nil {
		t.Fatal(err)
	}
	sameText(t, "parts", mustJSON(t, mustOpen(t, again).Root()),
		`{"a":[1,2],"b":{"c":"d"},"e":[{"x":1},{"x":2}],"f":null,"g":null}`)
}

// Damaged documents end in an error, or in some value.
func TestDecodeOfDamage(t *testing.T) {
	type node struct {
		A    *node            `json:"a"`
		B    []node           `json:"b"`
		C    map[string]*node `json:"c"`
		Key0 any              `json:"key 0"`
		List []int            `json:"laps"`
	}
	for _, data := range documents(t, "vectors/*.lbuf") {
		Unmarshal(data, new(node))
		Unmarshal(data, new([]node))
		Unmarshal(data, new(map[string]*node))
		Unmarshal(data, new(any))
	}
}

func TestManyAtOnce(t *testing.T) {
	value := testValue(t)
	want, err := Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 20 {
				got, err := Marshal(&value)
				if err != nil || string(got) != string(want) {
					t.Error("other bytes", err)
				}
			}
		}()
	}
	group.Wait()
}

type benchUser struct {
	ID       int64     `json:"id"`
	Name     string    `json:"name"`
	Email    string    `json:"email"`
	Active   bool      `json:"active"`
	Score    float64   `json:"score"`
	Created  time.Time `json:"created"`
	Tags     []string  `json:"tags"`
	Address  benchAddr `json:"address"`
	Note     *string   `json:"note"`
	Children []int32   `json:"children"`
}

type benchAddr struct {
	Street string `json:"street"`
	City   string `json:"city"`
	Zip    int    `json:"zip"`
}

func benchUsers(n int) []benchUser {
	users := make([]benchUser, n)
	for i := range users {
		users[i] = benchUser{ID: int64(i), Name: fmt.Sprintf("User Number %d", i),
			Email:  fmt.Sprintf("user%d@example.com", i),
			Active: i%3 == 0, Score: float64(i) * 1.37, Created: time.UnixMicro(1_700_000_000_000_000 + int64(i)).UTC(),
			Tags: []string{"alpha", "beta", "gamma"}[:i%4%3], Address: benchAddr{fmt.Sprintf("%d Long Street", i%100),
				[]string{"Berlin", "San Francisco", "Tokyo"}[i%3], 10000 + i}, Children: []int32{1, 2, 3}}
	}
	return users
}

func BenchmarkMarshal(b *testing.B) {
	for _, c := range []struct {
		name  string
		value any
	}{{"one", benchUsers(1)[0]}, {"100", benchUsers(100)}, {"10000", benchUsers(10_000)}, {"twitter", nil}} {
		if c.name == "twitter" {
			text, err := os.ReadFile("../../../shared/data/twitter.json")
			if err != nil {
				continue
			}
			json.Unmarshal(text, &c.value)
		}
		for name, marshal := range map[string]func(any) ([]byte, error){"livebuf": Marshal, "json": json.Marshal} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := marshal(c.value); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	users := benchUsers(100)
	text, _ := json.Marshal(users)
	data, _ := Marshal(users)
	b.Run("livebuf", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := Unmarshal(data, new([]benchUser)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := json.Unmarshal(text, new([]benchUser)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkFromJSON(b *testing.B) {
	text, err := os.ReadFile("../../../shared/data/twitter.json")
	if err != nil {
		b.Skip("no real JSON beside the project")
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := FromJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}

// Structs of very many fields are maps, or rows of wide tables.
func TestWideStructs(t *testing.T) {
	var fields []reflect.StructField
	for i := range 300 {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[int](),
			Tag: reflect.StructTag(fmt.Sprintf(`json:"field %d"`, i))})
	}
	wide := reflect.StructOf(fields)
	rows := reflect.MakeSlice(reflect.SliceOf(wide), 5, 5)
	for i := range 5 {
		for k := range 300 {
			rows.Index(i).Field(k).SetInt(int64(i * k))
		}
	}
	long := reflect.Zero(reflect.StructOf([]reflect.StructField{fields[0], {Name: "Long", Type: reflect.TypeFor[int](),
		Tag: reflect.StructTag(`json:"` + strings.Repeat("l", 300) + `"`)}})).Interface()
	// Fields behind one whose name is too long for a shape were lost, and the document was not valid.
	middle := reflect.New(reflect.StructOf([]reflect.StructField{fields[0], {Name: "Long", Type: reflect.TypeFor[int](),
		Tag: reflect.StructTag(`json:"` + strings.Repeat("l", 300) + `"`)}, fields[1], fields[2]})).Elem().Interface()
	for _, value := range []any{rows.Index(1).Interface(), rows.Interface(), []any{rows.Interface(), nil}, middle,
		[]any{middle, middle, middle}} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		want, err := FromJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Encode(value)
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, "wide", got, want)
	}
	back := reflect.New(rows.Type())
	data, _ := Encode(rows.Interface())
	err := Unmarshal(data, back.Interface())
	if err != nil || !reflect.DeepEqual(back.Elem().Interface(), rows.Interface()) {
		t.Errorf("rows are others: %v", err)
	}
	data, err = Encode([]any{long, long, long, long})
	if err != nil {
		t.Fatal(err)
	}
	if mustOpen(t, data).Root().At(3).Len() != 2 {
		t.Error("a long key")
	}
	many := map[string]any{}
	for i := range 300 {
		many[fmt.Sprintf("key %03d", i)] = i
	}
	many["key 299"] = []any{nil, func() {}}
	var e *Error
	if _, err := Encode(many); !errors.As(err, &e) || e.Path != "/key 299/1" {
		t.Errorf("in a map: %v", err)
	}
	// A map of similar objects is encoded once where it is guessed, and anew where the guess was wrong.
	type row struct {
		A *int `json:"a,omitempty"`
	}
	one := 1
	byKey := map[string]row{}
	for i := range 300 {
		byKey[fmt.Sprintf("key %d", i)] = row{}
	}
	for range 2 {
		text, _ := json.Marshal(byKey)
		want, _ := FromJSON(text)
		got, err := Encode(byKey)
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, "guessed", got, want)
		byKey["key 7"] = row{&one}
	}
}
