package livebuf

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// tensorDocument is a document that is a tensor, from its numbers as they lie.
func tensorDocument(t testing.TB, code uint8, lengths []uint64, data []byte) Value {
	t.Helper()
	made, err := run(nil, tensor{code: code, lengths: lengths, data: data}, (*encoder).tensor)
	if err != nil {
		t.Fatal(err)
	}
	return mustOpen(t, made).Root()
}

// Tensors refuse what does not fit. Arrays within one, and those in a list of tensors, keep their length and their order.
func TestTensorsKeepTheirShape(t *testing.T) {
	tensors, within := 0, 0
	for name, data := range documents(t, "vectors/y_*tensor*.lbuf") {
		e, err := Edit(data)
		must(t, err)
		refused := func(err error) {
			t.Helper()
			if !errors.Is(err, ErrTensorMismatch) {
				t.Errorf("%s: %v", name, err)
			}
		}
		var walk func(v Value, path string)
		walk = func(v Value, path string) {
			for key, x := range v.Members() {
				walk(x, path+"/"+key)
			}
			for i, x := range v.Elements() {
				walk(x, path+"/"+strconv.Itoa(i))
			}
			if v.form != formArray || e.u8(uint64(v.at)+3) == 0 {
				return
			}
			tensors++
			target, n := Pointer(path), v.Len()
			for _, x := range []any{"text", nil, []any{1, 2, 3, 4, 5, 6, 7}, map[string]any{}, []byte{1}} {
				refused(e.Push(target, x))
				refused(e.Splice(target, 0, n, x))
				if n > 0 {
					refused(e.SetAt(target, 0, x))
				}
			}
			if v.row != notInList {
				within++
				order := make([]int, n)
				for i := range order {
					order[i] = n - 1 - i
				}
				refused(e.Push(target, v.At(0)))
				refused(e.Insert(target, 0, v.At(0)))
				refused(e.Splice(target, 0, 1, v.At(0)))
				refused(e.RemoveAt(target, 0))
				refused(e.Splice(target, 0, n))
				refused(e.Reorder(target, order))
			}
		}
		before := mustJSON(t, e.Root())
		walk(e.Root(), "")
		sound(t, e, before)
	}
	if tensors < 20 || within < 10 {
		t.Errorf("only %d tensors, %d of them in others or in lists", tensors, within)
	}
}

// What fits a tensor is its numbers, however they are given.
func TestRowsOfTensors(t *testing.T) {
	number := func(x any) Value { return mustEdit(t, x).Root() }
	for _, x := range []struct {
		code uint8
		row  any
		want string // of the row; "" if it is refused
	}{
		{codeF32, []float32{0.5, 0.1, 3}, "[0.5,0.10000000149011612,3.0]"},
		{codeF32, []float64{0.5, 0.1, 3}, "[0.5,0.10000000149011612,3.0]"},
		{codeF32, [3]float32{1, 2, 3}, "[1.0,2.0,3.0]"},
		{codeF32, []int{1, 2, 1 << 24}, "[1.0,2.0,16777216.0]"},
		{codeF32, []any{1, 2.5, float32(3)}, "[1.0,2.5,3.0]"},
		{codeF32, number([]float32{1, 2, 3}), "[1.0,2.0,3.0]"},
		{codeF32, []float32{float32(math.Inf(1)), 2, -0.5}, "[null,2.0,-0.5]"},
		{codeF32, []int{1, 2, 1<<24 + 1}, ""},
		{codeF32, []float64{1, 2, 1e40}, ""},
		{codeF32, []float32{1, 2}, ""},
		{codeF32, []float32{1, 2, 3, 4}, ""},
		{codeF32, [][]float32{{1}, {2}, {3}}, ""},
		{codeF32, []bool{true, false, true}, ""},
		{codeF32, []any{1, 2, nil}, ""},
		{codeF16, []float32{0.5, 0.1, 3}, "[0.5,0.0999755859375,3.0]"},
		{codeF16, []float32{0.5, 0.1, 65520}, ""},
		{codeF64, []float32{0.5, 1, 2}, "[0.5,1.0,2.0]"},
		{codeF64, []uint64{1, 2, 1<<53 + 2}, ""},
		{codeI16, []int16{-1, 2, 1 << 14}, "[-1,2,16384]"},
		{codeI16, []uint32{1, 2, 1 << 14}, "[1,2,16384]"},
		{codeI16, []int64{1, 2, 1 << 15}, ""},
		{codeI16, []float64{1, 2, 3}, ""},
		{codeU8, []uint16{1, 2, 255}, "[1,2,255]"},
		{codeU8, [3]uint8{1, 2, 255}, "[1,2,255]"},
		{codeU8, []int{1, 2, -1}, ""},
		{codeU64, []uint64{1, 2, 1<<64 - 1}, "[1,2,18446744073709551615]"},
		{codeI64, []uint64{1, 2, 1<<64 - 1}, ""},
		{codeBool8, []bool{true, false, true}, "[true,false,true]"},
		{codeBool8, []int{1, 0, 1}, ""},
	} {
		size := 3 * int(columnTypes[x.code].width)
		e := mustEdit(t, map[string]any{})
		must(t, e.Set(Pointer(""), "t", tensorDocument(t, x.code, []uint64{1, 3}, make([]byte, size))))
		must(t, e.Set(Pointer(""), "others", []any{x.row, x.row}))
		before := mustJSON(t, e.Root())
		for _, row := range []func() any{
			func() any { return x.row },
			func() any { return e.Pointer("/others/0") },
			func() any { return mustEdit(t, x.row).Root() },
		} {
			errs := []error{e.Push(Pointer("/t"), row()), e.SetAt(Pointer("/t"), 0, row())}
			if x.want != "" {
				must(t, errs...)
				last := e.Pointer("/t").Len() - 1
				sameText(t, "first row", mustJSON(t, e.Pointer("/t/0")), x.want)
				sameText(t, "last row", mustJSON(t, e.Pointer(fmt.Sprintf("/t/%d", last))), x.want)
				sound(t, e, "")
				continue
			}
			for _, err := range errs {
				if !errors.Is(err, ErrTensorMismatch) {
					t.Errorf("%T%v into code %d: %v", x.row, x.row, x.code, err)
				}
			}
			sound(t, e, before)
		}
	}
}

// An integer just above the bound was rounded to it before it was compared, and so 2⁵³ was stored instead of 2⁵³ + 1. Now
// integers are compared as such.
func TestIntegersThatDoublesDoNotHold(t *testing.T) {
	e := mustEdit(t, tensorDocument(t, codeF64, []uint64{1}, make([]byte, 8)))
	for _, x := range []int64{1<<53 + 1, -1<<53 - 1, math.MinInt64, math.MaxInt64} {
		if err := e.SetAt(Pointer(""), 0, x); !errors.Is(err, ErrTensorMismatch) {
			t.Errorf("%d: %v", x, err)
		}
	}
	must(t, e.SetAt(Pointer(""), 0, int64(1)<<53), e.Push(Pointer(""), int64(-1)<<53))
	sound(t, e, "[9007199254740992.0,-9007199254740992.0]")
}

// tensorRow is an element of a tensor in the model: its numbers as they lie, and handles of it and of an array in it.
type tensorRow struct {
	data   []byte
	h      *Handle
	inner  *Handle
	column int
}

// Elements of tensors come, go, and change places as those of any array, beside plain bytes.
func TestRandomEditsOfTensors(t *testing.T) {
	codes := []uint8{codeI8, codeI16, codeI32, codeI64, codeU8, codeU16, codeU32, codeU64, codeF16, codeF32, codeF64,
		codeBool8}
	wider := map[uint8]uint8{codeI8: codeI32, codeU8: codeI64, codeI16: codeI64, codeU32: codeU64, codeF16: codeF32,
		codeF32: codeF64, codeI32: codeI64, codeU16: codeI32}
	documents := newChecked(t)
	for seed := range uint64(amount(240, 2_400, 100_000)) {
		r := rand.New(rand.NewPCG(seed, 5))
		code := codes[seed%uint64(len(codes))]
		inner := [][]uint64{{}, {3}, {2, 2}, {1}, {2, 1, 3}}[r.IntN(5)]
		width, each := int(columnTypes[code].width), 1
		for _, n := range inner {
			each *= int(n)
		}
		size := width * each
		// Numbers that a wider type and a float of Go hold, too.
		numbers := func() []byte {
			b := make(mem, size)
			for i := range each {
				e := Editor{mem: b}
				switch code {
				case codeF64, codeF32, codeF16:
					x := float64(r.IntN(4001)-2000) / float64(int(1)<<r.IntN(10))
					if code == codeF16 {
						x = half(toHalf(x))
					}
					e.putNumber(&column{code: code}, uint64(i), &fresh{tag: tagFloat, bits: math.Float64bits(x)})
				case codeBool8:
					b[i] = byte(r.IntN(2))
				default:
					e.setWidth(uint64(width*i), uint64(width), r.Uint64()>>r.IntN(64))
				}
			}
			return b
		}
		var rows []*tensorRow
		for range r.IntN(4) {
			rows = append(rows, &tensorRow{data: numbers()})
		}
		lengths := func() []uint64 { return append([]uint64{uint64(len(rows))}, inner...) }
		all := func() (b []byte) {
			for _, row := range rows {
				b = append(b, row.data...)
			}
			return b
		}
		e := mustEdit(t, map[string]any{"other": []any{"before"}})
		must(t, e.Set(Pointer(""), "t", tensorDocument(t, code, lengths(), all())))
		end := r.IntN(2) == 0
		if !end {
			must(t, e.Set(Pointer(""), "after", "a text that lies behind the tensor"))
		}
		limited := seed%5 == 4
		if limited {
			e.limit = uint64(len(e.mem)+size*r.IntN(20)+r.IntN(400)) &^ 7
		}
		h, err := e.Handle(Pointer("/t"))
		must(t, err)
		if len(inner) > 1 { // as many numbers as a row has rows
			n := inner[0]
			err := e.Push(h, tensorDocument(t, code, []uint64{n}, make([]byte, n*uint64(width))))
			if !errors.Is(err, ErrTensorMismatch) {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		var gone []*Handle
		// given is a row as a program may give it.
		given := func(data []byte) any {
			if len(inner) == 0 {
				return tensorDocument(t, code, []uint64{1}, data).At(0)
			}
			v := tensorDocument(t, code, inner, data)
			switch r.IntN(5) {
			case 0:
				x, err := v.Any()
				must(t, err)
				return x
			case 1:
				if code := wider[code]; code != 0 && len(inner) == 1 {
					wide := Editor{mem: make(mem, int(columnTypes[code].width)*each)}
					for i := range each {
						x := v.At(i)
						wide.putNumber(&column{code: code}, uint64(i), &fresh{tag: x.tag, bits: x.bits})
					}
					return tensorDocument(t, code, inner, wide.mem)
				}
			case 2:
				if len(inner) == 1 && columnTypes[code].tag == tagFloat {
					x, _, err := Column[float32](v)
					must(t, err)
					return x
				}
				if len(inner) == 1 && columnTypes[code].tag == tagInt {
					x, _, err := Column[int64](v)
					must(t, err)
					return x
				}
			}
			return v
		}
		forget := func(row *tensorRow) {
			for _, h := range []*Handle{row.h, row.inner} {
				if h != nil {
					gone = append(gone, h)
				}
			}
		}
		for step := range 30 {
			before := slices.Clone(e.Bytes())
			n, i := len(rows), r.IntN(len(rows)+1)
			var target Target = h
			if r.IntN(2) == 0 {
				target = Pointer("/t")
			}
			var err error
			change := func() {}
			switch k := r.IntN(10); {
			case k < 5:
				var values []any
				var added []*tensorRow
				for range 1 + r.IntN(1+r.IntN(8)) {
					row := &tensorRow{data: numbers()}
					x := given(row.data)
					if n > 0 && r.IntN(4) == 0 { // a copy of one that is there
						from := r.IntN(n)
						row.data, x = rows[from].data, e.Pointer(fmt.Sprintf("/t/%d", from))
						if rows[from].h != nil {
							x = rows[from].h
						}
					}
					values, added = append(values, x), append(added, row)
				}
				count := 0
				switch {
				case k < 2:
					i, err = n, e.Push(target, values...)
				case k < 3:
					err = e.Insert(target, i, values...)
				default:
					count = r.IntN(n - i + 1)
					err = e.Splice(target, i, count, values...)
				}
				change = func() {
					for _, row := range rows[i : i+count] {
						forget(row)
					}
					rows = slices.Replace(rows, i, i+count, added...)
				}
			case k < 6 && i < n:
				err, change = e.RemoveAt(target, i), func() {
					forget(rows[i])
					rows = slices.Delete(rows, i, i+1)
				}
			case k < 7 && i < n:
				data := numbers()
				err, change = e.SetAt(target, i, given(data)), func() {
					forget(rows[i])
					rows[i] = &tensorRow{data: data}
				}
			case k < 8:
				order := r.Perm(n)
				err = e.Reorder(target, order)
				change = func() {
					was := slices.Clone(rows)
					for i, from := range order {
						rows[i] = was[from]
					}
				}
			case k < 9 && r.IntN(4) == 0:
				err, change = e.Splice(target, i, n-i), func() {
					for _, row := range rows[i:] {
						forget(row)
					}
					rows = rows[:i]
				}
			case i < n && len(inner) > 0:
				path := fmt.Sprintf("/t/%d", i)
				rows[i].h, err = e.Handle(Pointer(path))
				must(t, err)
				if len(inner) > 1 && rows[i].inner == nil {
					rows[i].column = r.IntN(int(inner[0]))
					rows[i].inner, err = e.Handle(Pointer(fmt.Sprintf("%s/%d", path, rows[i].column)))
				}
			default:
				err = e.Set(Pointer(""), "other", r.IntN(1000))
			}
			switch {
			case err == nil:
				change()
			case limited && errors.Is(err, ErrDocumentLimit):
				if string(before) != string(e.Bytes()) {
					t.Fatalf("seed %d, step %d: changed by %v", seed, step, err)
				}
			default:
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
			if err := validity(e.Bytes()); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
			check := func(v Value, lengths []uint64, data []byte) {
				t.Helper()
				found, ok := (*encoder)(nil).tensorOf(v)
				if !ok || found.code != code || !slices.Equal(found.lengths, lengths) || string(found.data) != string(data) {
					t.Fatalf("seed %d, step %d: %v, want %v of %v", seed, step, found, data, lengths)
				}
			}
			check(e.Pointer("/t"), lengths(), all())
			check(h.Value(), lengths(), all())
			for _, row := range rows {
				if row.h != nil {
					check(row.h.Value(), inner, row.data)
				}
				if row.inner != nil {
					part := size / int(inner[0])
					check(row.inner.Value(), inner[1:], row.data[part*row.column:][:part])
				}
			}
			for _, h := range gone {
				if !errors.Is(h.Value().Err(), ErrStaleHandle) {
					t.Fatalf("seed %d, step %d: a handle is alive", seed, step)
				}
			}
		}
		if !end {
			sameText(t, "text behind the tensor", e.Pointer("/after").String(), "a text that lies behind the tensor")
		}
		if documents.add(e.Bytes()); len(documents.files) > 400 {
			documents.validate()
		}
	}
	documents.validate()
}

// A table of vectors begins without any. Rows grow in place, and little of the room that is made is left.
func TestTensorsGrowByRows(t *testing.T) {
	e := mustEdit(t, tensorDocument(t, codeF32, []uint64{0, 384}, nil))
	row := make([]float32, 384)
	want, n := []float32{}, amount(1_000, 5_000, 10_000)
	for i := range n {
		row[i%384]++
		want = append(want, row...)
		if i%2 == 0 {
			must(t, e.Push(Pointer(""), row))
		} else {
			must(t, e.Push(Pointer(""), tensorDocument(t, codeF32, []uint64{384}, bytesOfFloats(row))))
		}
	}
	found, shape, err := Tensor[float32](e.Root())
	must(t, err)
	if !slices.Equal(shape, []int{n, 384}) || !slices.Equal(found, want) {
		t.Fatalf("another tensor, of %v", shape)
	}
	sound(t, e, "")
	if size := len(e.Bytes()); size > n*384*4*17/16+4096 {
		t.Errorf("%d bytes", size)
	}
	must(t, e.Splice(Pointer(""), 0, n))
	sound(t, e, "[]")
	must(t, e.Push(Pointer(""), row))
	if _, shape, err := Tensor[float32](e.Root()); err != nil || !slices.Equal(shape, []int{1, 384}) {
		t.Errorf("%v, %v", shape, err)
	}
	sound(t, e, "")
}

// Near the limit, an edit of a large row is made or taken back, and never ends half way.
func TestTensorsKeepTheLimit(t *testing.T) {
	row := make([]int8, 10_000)
	for _, rows := range []int{0, 1, 3} {
		made, refused := 0, 0
		for limit := 0; limit < 400_000; limit += 5_000 {
			numbers := make([]byte, 80_000*rows)
			e := mustEdit(t, tensorDocument(t, codeF64, []uint64{uint64(rows), 10_000}, numbers))
			e.limit = uint64(len(e.mem) + limit)
			before := string(e.Bytes())
			switch err := e.Push(Pointer(""), row, tensorDocument(t, codeF64, []uint64{10_000}, make([]byte, 80_000))); {
			case err == nil:
				made++
			case errors.Is(err, ErrDocumentLimit) && before == string(e.Bytes()):
				refused++
			default:
				t.Fatalf("%d bytes more: %v", limit, err)
			}
			sound(t, e, "")
		}
		if made < 10 || refused < 10 {
			t.Errorf("%d were made, %d refused", made, refused)
		}
	}
}

func bytesOfFloats(row []float32) []byte {
	b := make(mem, 4*len(row))
	e := Editor{mem: b}
	for i, x := range row {
		e.set32(uint64(4*i), uint64(math.Float32bits(x)))
	}
	return b
}
