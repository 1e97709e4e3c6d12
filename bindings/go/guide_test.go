package livebuf_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	livebuf "github.com/livebuf/livebuf/bindings/go"
)

// The code of docs/go.md.

// httpSource reads what a server sends for requests for ranges.
type httpSource string

func (url httpSource) ReadAt(b []byte, at int64) (int, error) {
	request, err := http.NewRequest("GET", string(url), nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", at, at+int64(len(b))-1))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusPartialContent {
		return 0, fmt.Errorf("the server answered %s", response.Status)
	}
	return io.ReadFull(response.Body, b)
}

func Example_guide() {
	data, err := livebuf.FromJSON([]byte(`{"users": [
		{"name": "Ada", "langs": ["en", "fr"], "score": 9.5},
		{"name": "Grace", "langs": ["en"], "score": 9.75},
		{"name": "Alan", "langs": [], "score": 9.25}
	]}`))
	doc, err := livebuf.Open(data) // looks at 32 bytes
	users := doc.Root().Get("users")
	name, err := users.At(1).Get("name").Text()           // reads this text, and no other
	score, err := doc.Pointer("/users/0/score").Float64() // by a JSON pointer
	fmt.Println(name, score, users.Len(), err)            // Grace 9.5 3 <nil>

	email := users.At(1).Get("email").Get("domain")
	fmt.Println(email.Exists()) // false

	_, err = users.At(7).Get("name").Text()
	fmt.Println(errors.Is(err, livebuf.ErrNotFound)) // true
	_, err = users.At(0).Get("name").Int64()
	fmt.Println(errors.Is(err, livebuf.ErrWrongType)) // true

	for i, user := range users.Elements() {
		if user.Get("langs").Len() == 0 {
			fmt.Println(i, user.Get("name")) // 2 Alan
		}
	}
	for key, value := range users.At(0).Members() {
		if value.Kind() == livebuf.KindText {
			fmt.Println(key, value) // name Ada
		}
	}
	key := livebuf.NewKey("score") // prepared once, for many objects
	best, err := users.At(1).GetKey(key).Float64()
	fmt.Println(best, err) // 9.75 <nil>

	scores, valid, err := livebuf.Column[float64](users, "score")
	fmt.Println(scores, valid.All(), err) // [9.5 9.75 9.25] true <nil>
	names, _, err := livebuf.Column[string](users, "name")
	fmt.Println(names, err) // [Ada Grace Alan] <nil>

	type User struct {
		Name  string   `livebuf:"name"`
		Langs []string `livebuf:"langs,omitempty"`
		Score float64  `livebuf:"score"`
	}
	var all struct {
		Users []User `livebuf:"users"`
	}
	err = livebuf.Unmarshal(data, &all)
	fmt.Println(all.Users[1], err) // {Grace [en] 9.75} <nil>
	var one User
	err = users.At(0).Decode(&one)
	fmt.Println(one.Langs, err)                  // [en fr] <nil>
	plain, err := users.At(0).Get("langs").Any() // as package encoding/json has it, with exact integers
	fmt.Println(plain, err)                      // [en fr] <nil>

	edit, err := livebuf.Edit(data)                        // checks the bytes, then edits them where they lie
	grace, err := edit.Handle(livebuf.Pointer("/users/1")) // follows Grace
	err = edit.Set(grace, "name", "Grace Hopper")
	err = edit.SetPointer("/users/0/score", 10.0)
	err = edit.Push(livebuf.Pointer("/users"), User{Name: "Edsger", Langs: []string{"nl"}, Score: 9.5})
	err = edit.Insert(livebuf.Pointer("/users"), 0, User{Name: "Alonzo", Score: 9})
	err = edit.RemoveAt(livebuf.Pointer("/users/1/langs"), 0)
	fmt.Println(grace.Value().Get("name"), err)                    // Grace Hopper <nil>
	fmt.Println(edit.Pointer("/users/1/langs"), edit.Root().Len()) // ["fr"] 1
	payload := edit.Bytes()                                        // the document, ready to store or to send

	made, err := livebuf.Marshal(map[string]any{"id": uint64(1) << 63, "tags": []string{"a"}, "at": time.Unix(0, 0)})
	read, err := livebuf.FromJSON([]byte(`{"id": 9007199254740993, "price": 0.1}`))
	exact, err := livebuf.Open(read)
	text, err := livebuf.AppendJSON(nil, exact.Root(), livebuf.JSONOptions{})
	fmt.Println(string(text), err)    // {"id":9007199254740993,"price":0.1} <nil>
	fmt.Println(len(made), len(read)) // 136 96

	var stream bytes.Buffer                // or a connection, or a file
	encoder := livebuf.NewEncoder(&stream) // writes documents one after the other
	err = encoder.Encode(User{Name: "Ada"})
	err = encoder.Encode(User{Name: "Alan"})
	decoder := livebuf.NewDecoder(&stream)
	var next User
	err = decoder.Decode(&next)
	fmt.Println(next.Name, err)               // Ada <nil>
	last, err := decoder.Next()               // the next document as it is
	fmt.Println(last.Root().Get("name"), err) // Alan <nil>
	_, err = decoder.Next()
	fmt.Println(err == io.EOF) // true

	type Order struct {
		ID    int64           `livebuf:"id"`
		Price livebuf.Decimal `livebuf:"price"`
		Day   livebuf.Date    `livebuf:"day"`
		At    time.Time       `livebuf:"at"`
		Key   livebuf.UUID    `livebuf:"key"`
		Photo []byte          `livebuf:"photo"`
	}
	order, err := livebuf.Marshal(Order{
		ID:    9007199254740993,
		Price: livebuf.Decimal{Lo: 1990, Scale: 2},
		Day:   20_785, // days since 1970
		At:    time.Date(2026, 11, 28, 8, 30, 0, 0, time.UTC),
	})
	parts, err := livebuf.Open(order)
	price, err := parts.Root().Get("price").Decimal()
	day, err := parts.Root().Get("day").Date()
	at, err := parts.Root().Get("at").Time()
	fmt.Println(price, day, at, err) // 19.90 2026-11-28 2026-11-28 08:30:00 +0000 UTC <nil>

	folder, err := os.MkdirTemp("", "livebuf-")
	path := filepath.Join(folder, "users.lbuf")
	err = os.WriteFile(path, payload, 0o644)

	file, err := livebuf.OpenFile(path)             // maps it: loads the pages that you read
	fmt.Println(file.Pointer("/users/1/name"), err) // Ada <nil>
	err = file.Close()

	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	remote, err := livebuf.OpenPartial(httpSource(server.URL+"/users.lbuf"), 0) // pages of 64 KiB
	var third string
	err = remote.Read(func(doc *livebuf.Document) (err error) {
		third, err = doc.Pointer("/users/2/name").Text()
		return err
	})
	requests, _ := remote.Fetched()
	fmt.Println(third, requests, err) // Grace Hopper 1 <nil>
	err = remote.Close()
	server.Close()

	events := filepath.Join(folder, "events.lblog")
	writer, err := livebuf.AppendLog(events) // makes the log, or goes on with it
	number, err := writer.Append(User{Name: "Ada", Score: 1})
	count, err := livebuf.ExtendLog(writer, slices.Values(all.Users))
	err = writer.Close()            // waits until all rows are on the disk
	fmt.Println(number, count, err) // 0 3 <nil>

	log, err := livebuf.OpenLog(events)
	row, err := log.Row(2)
	fmt.Println(log.Len(), row.Get("name"), err) // 4 Grace <nil>
	for row, err := range log.Rows(3, log.Len()) {
		fmt.Println(row.Get("name"), err) // Alan <nil>
	}
	for group, err := range log.Groups(0, log.Len()) { // rows that lie in one document
		scores, _, _ := livebuf.Column[float64](group.Rows(), "score")
		fmt.Println(scores, err) // [1 9.5 9.75 9.25] <nil>
	}
	more, err := log.Refresh() // what a writer has added since
	fmt.Println(more, err)     // 0 <nil>
	err = log.Close()

	source, err := livebuf.Edit(slices.Clone(payload))
	err = source.SetState(livebuf.RandomState())
	before := slices.Clone(source.Bytes()) // this is the document that goes to all copies

	err = source.SetPointer("/users/0/score", 9.25)
	delta, err := livebuf.DeltaOf(before, source.Bytes(), livebuf.DeltaOptions{})
	message := delta.Bytes() // this is what goes to them after each change

	received, err := livebuf.ReadDelta(message)
	replica, err := received.Apply(before)
	fmt.Println(bytes.Equal(replica, source.Bytes()), len(replica) > 4*len(message), err) // true true <nil>

	damaged := slices.Clone(payload)
	damaged[33] ^= 1
	suspect, err := livebuf.Open(damaged)
	fmt.Println(suspect.Validate()) // livebuf: a reference leads to a block of another kind (WrongBlock at byte 48)
	// Output:
	// Grace 9.5 3 <nil>
	// false
	// true
	// true
	// 2 Alan
	// name Ada
	// 9.75 <nil>
	// [9.5 9.75 9.25] true <nil>
	// [Ada Grace Alan] <nil>
	// {Grace [en] 9.75} <nil>
	// [en fr] <nil>
	// [en fr] <nil>
	// Grace Hopper <nil>
	// ["fr"] 1
	// {"id":9007199254740993,"price":0.1} <nil>
	// 136 96
	// Ada <nil>
	// Alan <nil>
	// true
	// 19.90 2026-11-28 2026-11-28 08:30:00 +0000 UTC <nil>
	// Ada <nil>
	// Grace Hopper 1 <nil>
	// 0 3 <nil>
	// 4 Grace <nil>
	// Alan <nil>
	// [1 9.5 9.75 9.25] <nil>
	// 0 <nil>
	// true true <nil>
	// livebuf: a reference leads to a block of another kind (WrongBlock at byte 48)
}

// The code of docs/start.md.
func Example_start() {
	data, err := livebuf.FromJSON([]byte(`{"event": "lap", "lap": 55, "times": [88.5, 87.9]}`))
	doc, err := livebuf.Edit(data)
	first, err := doc.Pointer("/times/0").Float64() // 88.5
	err = doc.SetPointer("/lap", 56)
	err = doc.Push(livebuf.Pointer("/times"), 87.5)
	payload := doc.Bytes()              // send it, or store it
	again, err := livebuf.Open(payload) // nothing is parsed, nothing is copied
	times, _, err := livebuf.Column[float64](again.Pointer("/times"))
	fmt.Println(first, again.Pointer("/lap"), times, err) // 88.5 56 [88.5 87.9 87.5] <nil>
	// Output:
	// 88.5 56 [88.5 87.9 87.5] <nil>
}

// TestPages checks that the blocks of the pages are the code of the examples, and that what their comments say of
// printed values is the output.
func TestPages(t *testing.T) {
	guide, err := os.ReadFile("guide_test.go")
	if err != nil {
		t.Fatal(err)
	}
	// The code of bindings/go/README.md.
	readme, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	source := string(guide) + string(readme)
	printed := regexp.MustCompile(`(?m)^\t*fmt\.Println\(.*\) +// (.*)$`)
	for name, example := range map[string]string{"../../docs/go.md": "_guide", "../../docs/start.md": "_start",
		"README.md": ""} {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, code, _ := strings.Cut(source, "\nfunc Example"+example+"() {\n")
		code, output, _ := strings.Cut(code, "\t// Output:\n")
		claims := ""
		blocks := strings.Split(string(page), "```go\n")[1:]
		for _, block := range blocks {
			block, _, _ = strings.Cut(block, "```")
			for _, claim := range printed.FindAllStringSubmatch(block, -1) {
				claims += "\t// " + claim[1] + "\n"
			}
			inFunction := regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(block, "\t$1")
			before, behind, found := strings.Cut(code, inFunction)
			switch {
			case found && strings.TrimSpace(before) == "": // the blocks follow each other
				code = behind
			case !strings.Contains(source, "\n\n"+block):
				t.Errorf("%s: this code is not tested:\n%s", name, block)
			}
		}
		if strings.TrimSpace(code) != "" {
			t.Errorf("%s: the example has more code:\n%s", name, code)
		}
		if output, _, _ = strings.Cut(output, "}\n"); claims != "" && output != claims || len(blocks) == 0 {
			t.Errorf("%s: %d blocks say:\n%sand the code prints:\n%s", name, len(blocks), claims, output)
		}
	}
}
