package livebuf_test

import (
	"errors"
	"fmt"
	"os"

	livebuf "github.com/livebuf/livebuf/bindings/go"
)

// open opens a document of the project's test data.
func open(name string) *livebuf.Document {
	data, err := os.ReadFile("../../testdata/vectors/" + name + ".lbuf")
	if err != nil {
		panic(err)
	}
	doc, err := livebuf.Open(data)
	if err != nil {
		panic(err)
	}
	return doc
}

func ExampleOpen() {
	data, err := os.ReadFile("../../testdata/vectors/y_encoded_lap.lbuf")
	if err != nil {
		panic(err)
	}
	doc, err := livebuf.Open(data) // looks at 32 bytes
	if err != nil {
		panic(err)
	}
	lap, err := doc.Root().Get("lap").Int64()
	fmt.Println(lap, err)
	// Output: 55 <nil>
}

func ExampleValue_Get() {
	root := open("y_encoded_lap").Root()
	fmt.Println(root.Get("event"), root.Get("lap"))

	_, err := root.Get("event").Int64()
	fmt.Println(err)
	_, err = root.Get("driver").Get("name").Text()
	fmt.Println(errors.Is(err, livebuf.ErrNotFound), err)
	// Output:
	// lap_complete 55
	// livebuf: the value is of kind text, and not an integer that int64 holds
	// true livebuf: there is no such value
}

func ExampleNewKey() {
	b := livebuf.NewKey("b") // prepared once, for many objects
	for i, row := range open("y_edited_table_extras").Root().Elements() {
		if i < 2 {
			fmt.Println(row.GetKey(b))
		}
	}
	// Output:
	// 1
	// 2
}

func ExampleValue_Members() {
	for key, value := range open("y_encoded_lap").Root().Members() {
		fmt.Println(key, value.Kind(), value)
	}
	// Output:
	// event text lap_complete
	// lap int 55
	// time_sec float 88.427
}

func ExampleValue_Prefix() {
	for key, value := range open("y_edited_map_two_leaves").Root().Prefix("k1") {
		if key < "k13" {
			fmt.Println(key, value.Exists())
		}
	}
	// Output:
	// k10 true
	// k11 true
	// k12 true
}

func ExampleColumn() {
	rows := open("y_edited_table_extras").Root()
	texts, _, err := livebuf.Column[string](rows, "b")
	fmt.Println(texts, err)
	extras, valid, err := livebuf.Column[int64](rows, "c") // only one row has it
	fmt.Println(extras[1], valid.Valid(0), valid.Valid(1), err)
	// Output:
	// [1 2 3 4 5 6 7] <nil>
	// 1 false true <nil>
}

func ExampleAppendJSON() {
	text, err := livebuf.AppendJSON(nil, open("y_encoded_lap").Root(), livebuf.JSONOptions{})
	fmt.Println(string(text), err)
	// Output: {"event":"lap_complete","lap":55,"time_sec":88.427} <nil>
}
