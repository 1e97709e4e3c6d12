package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/bytedance/sonic"
	"github.com/fxamacker/cbor/v2"
	goccy "github.com/goccy/go-json"
	livebuf "github.com/livebuf/livebuf/bindings/go"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
	"github.com/vmihailenco/msgpack/v5"
)

// peer is a library's way to do a task, which it does once on each call.
type peer struct {
	name string
	do   func() error
}

// compare measures peers by one task. Each of them has to give the right answer first, if check is not nil.
func compare(b *testing.B, size int, check func() error, peers ...peer) {
	b.Helper()
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			if err := p.do(); err != nil {
				b.Fatal(err)
			}
			if check != nil {
				if err := check(); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				p.do()
			}
		})
	}
}

// twitter is twitter.json, minified, and the same as a document, MessagePack and CBOR.
type forms struct {
	text, document, msgpack, cbor []byte
	plain                         any
}

func twitter(b *testing.B) (f forms) {
	b.Helper()
	data, err := os.ReadFile("../../../../shared/data/twitter.json")
	if err != nil {
		b.Skipf("no real JSON beside the project: %v", err)
	}
	var small bytes.Buffer
	if err := json.Compact(&small, data); err != nil {
		b.Fatal(err)
	}
	f.text = small.Bytes()
	f.document = must(livebuf.FromJSON(f.text))
	if err := json.Unmarshal(f.text, &f.plain); err != nil {
		b.Fatal(err)
	}
	f.msgpack, f.cbor = must(msgpack.Marshal(f.plain)), must(cbor.Marshal(f.plain))
	return f
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// BenchmarkOneField reads the name of the user of tweet 50 out of stored bytes.
func BenchmarkOneField(b *testing.B) {
	f := twitter(b)
	const want = "IwiAlohomora"
	got := ""
	ofTree := func(unmarshal func(data []byte, v any) error, data []byte) func() error {
		return func() error {
			var tree map[string]any
			err := unmarshal(data, &tree)
			user := tree["statuses"].([]any)[50].(map[string]any)["user"].(map[string]any)
			got = user["screen_name"].(string)
			return err
		}
	}
	statuses, user, name := livebuf.NewKey("statuses"), livebuf.NewKey("user"), livebuf.NewKey("screen_name")
	compare(b, 0, func() error {
		if got != want {
			return fmt.Errorf("the name is %q", got)
		}
		return nil
	},
		peer{"livebuf", func() error {
			doc, err := livebuf.Open(f.document)
			if err == nil {
				got, err = doc.Pointer("/statuses/50/user/screen_name").Text()
			}
			return err
		}},
		peer{"livebuf_keys", func() error {
			doc, err := livebuf.Open(f.document)
			if err == nil {
				got, err = doc.Root().GetKey(statuses).At(50).GetKey(user).GetKey(name).Text()
			}
			return err
		}},
		peer{"encoding_json", ofTree(json.Unmarshal, f.text)},
		peer{"goccy", ofTree(goccy.Unmarshal, f.text)},
		peer{"sonic", ofTree(sonic.Unmarshal, f.text)},
		peer{"sonic_get", func() (err error) {
			node, err := sonic.Get(f.text, "statuses", 50, "user", "screen_name")
			if err == nil {
				got, err = node.String()
			}
			return err
		}},
		peer{"gjson", func() error {
			got = gjson.GetBytes(f.text, "statuses.50.user.screen_name").String()
			return nil
		}},
		peer{"msgpack", ofTree(msgpack.Unmarshal, f.msgpack)},
		peer{"msgpack_query", func() error {
			found, err := msgpack.NewDecoder(bytes.NewReader(f.msgpack)).Query("statuses.50.user.screen_name")
			if err == nil {
				got = found[0].(string)
			}
			return err
		}},
		peer{"cbor", ofTree(decodeCBOR.Unmarshal, f.cbor)},
	)
}

// decodeCBOR makes maps as the others do.
var decodeCBOR = func() cbor.DecMode {
	options := cbor.DecOptions{DefaultMapType: reflect.TypeFor[map[string]any](), MaxMapPairs: 1 << 24,
		MaxArrayElements: 1 << 24}
	mode, err := options.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// BenchmarkSetField changes a number of tweet 50, and has the bytes afterwards.
func BenchmarkSetField(b *testing.B) {
	f := twitter(b)
	var n int64
	var after []byte
	inTree := func(unmarshal func([]byte, any) error, marshal func(any) ([]byte, error), data []byte) func() error {
		return func() error {
			var tree map[string]any
			err := unmarshal(data, &tree)
			n++
			tree["statuses"].([]any)[50].(map[string]any)["retweet_count"] = n % 100
			if err == nil {
				after, err = marshal(tree)
			}
			return err
		}
	}
	kept, err := livebuf.Edit(bytes.Clone(f.document))
	if err != nil {
		b.Fatal(err)
	}
	stored, again := bytes.Clone(f.document), []byte(nil)
	set := func(edit *livebuf.Editor, err error) error {
		if err == nil {
			n++
			err = edit.SetPointer("/statuses/50/retweet_count", n%100)
			after = edit.Bytes()
		}
		return err
	}
	check := func() error {
		// Each refuses the bytes of those behind it.
		for _, unmarshal := range []func([]byte, any) error{livebuf.Unmarshal, json.Unmarshal, msgpack.Unmarshal,
			decodeCBOR.Unmarshal} {
			var tree map[string]any
			if unmarshal(after, &tree) != nil {
				continue
			}
			got := tree["statuses"].([]any)[50].(map[string]any)["retweet_count"]
			if fmt.Sprint(got) != fmt.Sprint(n%100) {
				return fmt.Errorf("the number is %v, and not %d", got, n%100)
			}
			return nil
		}
		return errors.New("nothing reads the bytes")
	}
	// Like those of other libraries, the first two leave the stored bytes as they are: the second one copies them to
	// the memory of its last copy. The others change them: of an editor that is kept, or by a new one, for bytes that are
	// known to be valid or are validated.
	compare(b, 0, check,
		peer{"livebuf_copy", func() error { return set(livebuf.Edit(bytes.Clone(f.document), livebuf.Trusted())) }},
		peer{"livebuf_again", func() error {
			again = append(again[:0], f.document...)
			err := set(livebuf.Edit(again, livebuf.Trusted()))
			again = after
			return err
		}},
		peer{"livebuf_kept", func() error { return set(kept, nil) }},
		peer{"livebuf_trusted", func() error { return set(livebuf.Edit(stored, livebuf.Trusted())) }},
		peer{"livebuf_validate", func() error { return set(livebuf.Edit(stored)) }},
		peer{"encoding_json", inTree(json.Unmarshal, json.Marshal, f.text)},
		peer{"goccy", inTree(goccy.Unmarshal, goccy.Marshal, f.text)},
		peer{"sonic", inTree(sonic.Unmarshal, sonic.Marshal, f.text)},
		peer{"sjson", func() (err error) {
			n++
			after, err = sjson.SetBytes(f.text, "statuses.50.retweet_count", n%100)
			return err
		}},
		peer{"msgpack", inTree(msgpack.Unmarshal, msgpack.Marshal, f.msgpack)},
		peer{"cbor", inTree(decodeCBOR.Unmarshal, cbor.Marshal, f.cbor)},
	)
}

// User is a struct as services have them.
type User struct {
	ID      int64    `json:"id" msgpack:"id"`
	Name    string   `json:"name" msgpack:"name"`
	Email   string   `json:"email" msgpack:"email"`
	Active  bool     `json:"active" msgpack:"active"`
	Score   float64  `json:"score" msgpack:"score"`
	Tags    []string `json:"tags" msgpack:"tags"`
	Address Address  `json:"address" msgpack:"address"`
}

// Address is within it.
type Address struct {
	City string `json:"city" msgpack:"city"`
	Zip  int    `json:"zip" msgpack:"zip"`
}

func users(n int) (all []User) {
	for i := range n {
		all = append(all, User{int64(i), fmt.Sprintf("user %d", i), fmt.Sprintf("user%d@example.org", i), i%3 == 0,
			float64(i) / 8, []string{"a", "tag"}, Address{[]string{"Paris", "Rome", "Berlin"}[i%3], 10_000 + i%500}})
	}
	return all
}

// BenchmarkMarshal encodes structs: one, as a message, and many, as an answer.
func BenchmarkMarshal(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		var v any = users(n)
		if n == 1 {
			v = &users(1)[0]
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var made []byte
			by := func(marshal func(any) ([]byte, error)) func() error {
				return func() (err error) {
					made, err = marshal(v)
					return err
				}
			}
			compare(b, 0, nil, peer{"livebuf", by(livebuf.Marshal)}, peer{"encoding_json", by(json.Marshal)},
				peer{"goccy", by(goccy.Marshal)}, peer{"sonic", by(sonic.Marshal)},
				peer{"msgpack", by(msgpack.Marshal)}, peer{"cbor", by(cbor.Marshal)})
			_ = made
		})
	}
}

// BenchmarkUnmarshal decodes structs.
func BenchmarkUnmarshal(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		all := users(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			by := func(marshal func(any) ([]byte, error), unmarshal func([]byte, any) error) func() error {
				if n == 1 {
					data := must(marshal(all[0]))
					return func() error {
						var one User
						return unmarshal(data, &one)
					}
				}
				data := must(marshal(all))
				return func() error {
					var many []User
					return unmarshal(data, &many)
				}
			}
			compare(b, 0, nil, peer{"livebuf", by(livebuf.Marshal, livebuf.Unmarshal)},
				peer{"encoding_json", by(json.Marshal, json.Unmarshal)},
				peer{"goccy", by(goccy.Marshal, goccy.Unmarshal)}, peer{"sonic", by(sonic.Marshal, sonic.Unmarshal)},
				peer{"msgpack", by(msgpack.Marshal, msgpack.Unmarshal)},
				peer{"cbor", by(cbor.Marshal, decodeCBOR.Unmarshal)})
		})
	}
}

// BenchmarkValidate says whether bytes are what they should be. MB/s are of the bytes that are looked at.
func BenchmarkValidate(b *testing.B) {
	f := twitter(b)
	doc, err := livebuf.Open(f.document)
	if err != nil {
		b.Fatal(err)
	}
	says := func(good bool) error {
		if !good {
			return fmt.Errorf("this is said to be damaged")
		}
		return nil
	}
	compare(b, len(f.document), nil, peer{"livebuf", doc.Validate})
	compare(b, len(f.text), nil, peer{"encoding_json", func() error { return says(json.Valid(f.text)) }},
		peer{"goccy", func() error { return says(goccy.Valid(f.text)) }},
		peer{"sonic", func() error { return says(sonic.Valid(f.text)) }},
		peer{"gjson", func() error { return says(gjson.ValidBytes(f.text)) }})
	compare(b, len(f.cbor), nil, peer{"cbor", func() error { return cbor.Wellformed(f.cbor) }})
}

// BenchmarkReadJSON reads JSON text, to a document or to a tree. MB/s are of the text.
func BenchmarkReadJSON(b *testing.B) {
	f := twitter(b)
	toTree := func(unmarshal func([]byte, any) error) func() error {
		return func() error {
			var tree any
			return unmarshal(f.text, &tree)
		}
	}
	compare(b, len(f.text), nil, peer{"livebuf", func() error {
		_, err := livebuf.FromJSON(f.text)
		return err
	}}, peer{"encoding_json", toTree(json.Unmarshal)}, peer{"goccy", toTree(goccy.Unmarshal)},
		peer{"sonic", toTree(sonic.Unmarshal)})
}

// BenchmarkPrintJSON prints a document or a tree as JSON. MB/s are of the text.
func BenchmarkPrintJSON(b *testing.B) {
	f := twitter(b)
	doc, err := livebuf.Open(f.document)
	if err != nil {
		b.Fatal(err)
	}
	ofTree := func(marshal func(any) ([]byte, error)) func() error {
		return func() error {
			_, err := marshal(f.plain)
			return err
		}
	}
	compare(b, len(f.text), nil, peer{"livebuf", func() error {
		_, err := doc.MarshalJSON()
		return err
	}}, peer{"encoding_json", ofTree(json.Marshal)}, peer{"goccy", ofTree(goccy.Marshal)},
		peer{"sonic", ofTree(sonic.Marshal)})
}
