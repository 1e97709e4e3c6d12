package livebuf

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// users is a document of users as a table, or as objects by themselves.
func users(b *testing.B, n int, options ...string) *Document {
	b.Helper()
	var text strings.Builder
	text.WriteString(`{"version":1,"users":[`)
	for i := range n {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"id":%d,"name":"user %d","score":%d.5,"address":{"city":"Paris","zip":%d}}`,
			i, i, i, 10000+i)
	}
	text.WriteString(`]}`)
	return mustOpen(b, encoded(b, []byte(text.String()), options...))
}

func BenchmarkGet(b *testing.B) {
	for name, options := range map[string][]string{"objects": {"--no-tables"}, "rows": nil} {
		doc := users(b, 1000, options...)
		user := doc.Root().Get("users").At(500)
		score, text := NewKey("score"), NewKey("name")
		b.Run(name+"/key", func(b *testing.B) {
			for b.Loop() {
				user.GetKey(score).Float64()
			}
		})
		b.Run(name+"/string", func(b *testing.B) {
			for b.Loop() {
				user.Get("score").Float64()
			}
		})
		b.Run(name+"/two levels", func(b *testing.B) {
			for b.Loop() {
				user.Get("address").Get("zip").Int64()
			}
		})
		b.Run(name+"/text", func(b *testing.B) {
			for b.Loop() {
				user.GetKey(text).Text()
			}
		})
		b.Run(name+"/text bytes", func(b *testing.B) {
			for b.Loop() {
				user.GetKey(text).TextBytes()
			}
		})
		b.Run(name+"/all members", func(b *testing.B) {
			for b.Loop() {
				for _, v := range user.MemberBytes() {
					v.Kind()
				}
			}
		})
		b.Run(name+"/from the root", func(b *testing.B) {
			for b.Loop() {
				doc.Pointer("/users/500/name").TextBytes()
			}
		})
		b.Run(name+"/column of 1000", func(b *testing.B) {
			array := doc.Root().Get("users")
			for b.Loop() {
				Column[float64](array, "score")
			}
		})
	}
}

func BenchmarkMap(b *testing.B) {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, `,"key %d":%d`, i, i)
	}
	root := mustOpen(b, encoded(b, []byte("{"+text.String()[1:]+"}"))).Root()
	key := NewKey("key 5000")
	b.Run("key", func(b *testing.B) {
		for b.Loop() {
			root.GetKey(key).Int64()
		}
	})
	b.Run("string", func(b *testing.B) {
		for b.Loop() {
			root.Get("key 5000").Int64()
		}
	})
}

func BenchmarkPrint(b *testing.B) {
	for _, name := range []string{"twitter", "citm_catalog", "canada"} {
		text := shared(b, name+".json")
		root := mustOpen(b, encoded(b, text)).Root()
		var dst []byte
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				dst, _ = AppendJSON(dst[:0], root, JSONOptions{})
			}
		})
		b.Run(name+"/any", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				root.Any()
			}
		})
		b.Run(name+"/encoding_json any", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var x any
				json.Unmarshal(text, &x)
			}
		})
	}
}
