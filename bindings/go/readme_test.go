package livebuf_test

import (
	"errors"
	"fmt"

	livebuf "github.com/livebuf/livebuf/bindings/go"
)

// The code of bindings/go/README.md.
func Example() {
	data, err := livebuf.FromJSON([]byte(`{"users": [{"name": "Ada", "age": 36}, {"name": "Grace", "age": 45}]}`))
	doc, err := livebuf.Open(data) // looks at 32 bytes
	users := doc.Root().Get("users")
	name, err := users.At(1).Get("name").Text()     // reads this text, and no other
	age, err := doc.Pointer("/users/0/age").Int64() // no step needs a check of its own
	_, err = doc.Pointer("/users/7/age").Int64()    // missing is not of a wrong type
	fmt.Println(name, age, errors.Is(err, livebuf.ErrNotFound))

	ages, _, err := livebuf.Column[int64](users, "age") // a column, over the document's own bytes if it can be
	fmt.Println(ages, err)

	edit, err := livebuf.Edit(data)                      // in place
	ada, err := edit.Handle(livebuf.Pointer("/users/0")) // follows Ada wherever others push her
	err = edit.Insert(livebuf.Pointer("/users"), 0, map[string]any{"name": "Joan", "age": 28})
	err = edit.Set(ada, "age", 37)
	text, err := livebuf.AppendJSON(nil, edit.Root(), livebuf.JSONOptions{})
	fmt.Println(string(text), err)

	type User struct {
		Name string `livebuf:"name"`
		Age  int    `livebuf:"age"`
	}
	var all struct {
		Users []User `livebuf:"users"`
	}
	err = livebuf.Unmarshal(edit.Bytes(), &all) // and Marshal, as encoding/json has them
	fmt.Println(all.Users[1], err)
	// Output:
	// Grace 36 true
	// [36 45] <nil>
	// {"users":[{"age":28,"name":"Joan"},{"name":"Ada","age":37},{"name":"Grace","age":45}]} <nil>
	// {Ada 37} <nil>
}
