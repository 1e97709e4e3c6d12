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
	data, err := Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
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
		`[{"f":0.1}]`:                       "/0/f float32 0.1",
		`[{"d":9007199254740993}]`:          "/0/d float64 9007199254740993",
		`[{"d":0.1234567890123456789}]`:     "/0/d float64",
		`[{"d":18446744073709551615}]`:      "/0/d float64",
		`[{"d":9223372036854775807}]`:       "/0/d float64",
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
