package livebuf

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// JSONOptions says how a value is printed as JSON.
type JSONOptions struct {
	// NonFiniteNull prints infinities and NaN as null. They are errors otherwise, since JSON has none.
	NonFiniteNull bool
	// MaxBytes is the most bytes that are printed. A small document may stand for very much text. 0 means 16,384 for
	// each byte of a document that was validated, and 2,048 for each byte of any other.
	MaxBytes int
}

// AppendJSON appends a value as JSON: minified, members in their order, and exact (FORMAT 13.2). On an error dst is
// returned with what it had.
func AppendJSON(dst []byte, v Value, options JSONOptions) ([]byte, error) {
	if err := v.Err(); err != nil {
		return dst, err
	}
	// A walk over a valid document meets no more places than this (FORMAT 11).
	n := int64(len(v.doc.data))
	p := printer{dst: dst, left: 136 * n, most: int64(options.MaxBytes), null: options.NonFiniteNull}
	if p.most <= 0 {
		p.most = 2048 * n
		if v.doc.valid {
			p.most = 16384 * n
		}
	}
	p.most += int64(len(dst))
	if err := p.value(v, 0); err != nil {
		return dst, err
	}
	return p.dst, nil
}

// MarshalJSON prints the value as JSON; see AppendJSON. A value that is missing is an error.
func (v Value) MarshalJSON() ([]byte, error) { return AppendJSON(nil, v, JSONOptions{}) }

// printer prints values behind each other.
type printer struct {
	dst  []byte
	left int64 // places that may still be met
	most int64 // bytes that dst may have
	null bool
}

func (p *printer) value(v Value, depth int) error {
	if p.left--; p.left < 0 {
		return fault{ErrBudgetExceeded, v.at}.err()
	}
	if int64(len(p.dst)) > p.most {
		return p.tooLong()
	}
	switch v.form {
	case formScalar:
		return p.scalar(v)
	case formBroken:
		return v.Err()
	}
	if depth >= maxNesting {
		return fault{ErrNestingLimit, v.at}.err()
	}
	if v.form == formArray {
		c, f := v.doc.data.column(uint64(v.at))
		if f.bad() {
			return f.err()
		}
		p.dst = append(p.dst, '[')
		for i, first := uint64(0), v.first(); i < v.count(); i++ {
			if i > 0 {
				p.dst = append(p.dst, ',')
			}
			if err := p.value(v.doc.slot(&c, first+i), depth+1); err != nil {
				return err
			}
		}
		p.dst = append(p.dst, ']')
		return nil
	}
	p.dst = append(p.dst, '{')
	first := true
	it := v.members()
	for it.next() {
		if !first {
			p.dst = append(p.dst, ',')
		}
		first = false
		if it.value.form == formBroken {
			return it.value.Err()
		}
		if err := p.text(it.key, v.at); err != nil {
			return err
		}
		p.dst = append(p.dst, ':')
		if err := p.value(it.value, depth+1); err != nil {
			return err
		}
	}
	p.left -= int64(it.skipped)
	p.dst = append(p.dst, '}')
	return nil
}

func (p *printer) scalar(v Value) error {
	switch v.tag {
	case tagNothing:
		return fault{ErrBadCode, v.at}.err()
	case tagNull:
		p.dst = append(p.dst, "null"...)
	case tagFalse:
		p.dst = append(p.dst, "false"...)
	case tagTrue:
		p.dst = append(p.dst, "true"...)
	case tagInt:
		p.dst = strconv.AppendInt(p.dst, int64(v.bits), 10)
	case tagUint:
		p.dst = strconv.AppendUint(p.dst, v.bits, 10)
	case tagFloat:
		f := math.Float64frombits(v.bits)
		switch {
		case !math.IsInf(f, 0) && !math.IsNaN(f):
			p.dst = appendFloat(p.dst, f)
		case p.null:
			p.dst = append(p.dst, "null"...)
		default:
			return errorf(ErrBadNumber, "JSON has no %v: print it as null by JSONOptions.NonFiniteNull", f)
		}
	case tagText:
		return p.text(v.spanBytes(), v.at)
	case tagBytes:
		p.dst = append(base64.StdEncoding.AppendEncode(append(p.dst, '"'), v.spanBytes()), '"')
	case tagNumberText:
		if !isNumber(v.spanBytes()) {
			return fault{ErrBadNumber, v.at}.err()
		}
		p.dst = append(p.dst, v.spanBytes()...)
	case tagDecimal, tagLargeDecimal:
		d, _ := v.Decimal()
		p.dst = d.append(p.dst)
	case tagDate:
		p.dst = append(Date(v.bits).append(append(p.dst, '"')), '"')
	case tagTime:
		p.dst = append(TimeOfDay(v.bits).append(append(p.dst, '"')), '"')
	case tagDateTime:
		p.dst = append(DateTime(v.bits).append(append(p.dst, '"')), '"')
	case tagTimestamp:
		p.dst = append(DateTime(v.bits).append(append(p.dst, '"')), `Z"`...)
	case tagUUID:
		p.dst = append(append(append(p.dst, '"'), v.uuid().String()...), '"')
	default:
		return errorf(ErrUnsupported, "a value of tag %#x has no JSON: a newer package may know it", v.tag)
	}
	return nil
}

func (p *printer) tooLong() error {
	return errorf(ErrBudgetExceeded, "the document stands for more JSON than is allowed: set JSONOptions.MaxBytes")
}

// text prints a text that is at an offset.
func (p *printer) text(text []byte, at uint32) error {
	if int64(len(p.dst)+len(text)) > p.most {
		return p.tooLong()
	}
	p.dst = append(p.dst, '"')
	done, ascii := 0, true
	for i, c := range text {
		ascii = ascii && c < utf8.RuneSelf
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		p.dst = append(p.dst, text[done:i]...)
		done = i + 1
		switch c {
		case '"', '\\':
			p.dst = append(p.dst, '\\', c)
		case '\b':
			p.dst = append(p.dst, `\b`...)
		case '\t':
			p.dst = append(p.dst, `\t`...)
		case '\n':
			p.dst = append(p.dst, `\n`...)
		case '\f':
			p.dst = append(p.dst, `\f`...)
		case '\r':
			p.dst = append(p.dst, `\r`...)
		default:
			p.dst = append(p.dst, `\u00`...)
			p.dst = append(p.dst, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
	}
	p.dst = append(append(p.dst, text[done:]...), '"')
	if !ascii && !utf8.Valid(text) {
		return fault{ErrBadText, at}.err()
	}
	return nil
}

// appendFloat appends a finite float: never as an integer, and so that it is read as the same float again.
func appendFloat(dst []byte, f float64) []byte {
	size := math.Abs(f)
	start := len(dst)
	if size == 0 || size >= 1e-5 && size < 1e16 {
		dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
		for _, c := range dst[start:] {
			if c == '.' {
				return dst
			}
		}
		return append(dst, ".0"...)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// An exponent has no zero before its first digit.
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}

// isNumber says whether a text is a number of JSON (RFC 8259, section 6).
func isNumber(text []byte) bool {
	i := 0
	digits := func() bool {
		start := i
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		return i > start
	}
	is := func(a, b byte) bool {
		if i < len(text) && (text[i] == a || text[i] == b) {
			i++
			return true
		}
		return false
	}
	is('-', '-')
	if !is('0', '0') && !digits() {
		return false
	}
	if is('.', '.') && !digits() {
		return false
	}
	if is('e', 'E') {
		is('+', '-')
		if !digits() {
			return false
		}
	}
	return i == len(text)
}

// Any is the value as plain ones: nil, bool, int64, uint64 (beyond 2⁶³ - 1), float64, json.Number (of a number's text),
// string, []byte, Decimal, Date, TimeOfDay, DateTime, time.Time, UUID, []any and map[string]any. All are copies.
//
// A small document may stand for very many values. Beyond eight for each byte and a million, the error is of kind
// ErrBudgetExceeded, unless the document was validated.
func (v Value) Any() (any, error) {
	if err := v.Err(); err != nil {
		return nil, err
	}
	b := builder{keys: map[string]string{}}
	b.values, b.bytes = v.doc.allowance()
	return b.value(v, 0)
}

// builder makes plain values, and no more than the document can reasonably stand for.
type builder struct {
	values, bytes int64
	keys          map[string]string // keys are made once
}

func (b *builder) pay(values, bytes int, at uint32) error {
	if b.values, b.bytes = b.values-int64(values), b.bytes-int64(bytes); b.values < 0 || b.bytes < 0 {
		return fault{ErrBudgetExceeded, at}.err()
	}
	return nil
}

func (b *builder) value(v Value, depth int) (any, error) {
	if v.form == formBroken || v.tag == tagNothing {
		return nil, v.Err()
	}
	if depth >= maxNesting && v.form != formScalar {
		return nil, fault{ErrNestingLimit, v.at}.err()
	}
	switch v.form {
	case formScalar:
		size := 0
		if v.tag >= tagText {
			size = int(v.bits)
		}
		if err := b.pay(1, size, v.at); err != nil {
			return nil, err
		}
		return v.scalar()
	case formArray:
		if err := b.pay(v.Len()+1, 0, v.at); err != nil {
			return nil, err
		}
		all := make([]any, 0, v.Len())
		for _, element := range v.Elements() {
			x, err := b.value(element, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, x)
		}
		return all, nil
	}
	object := map[string]any{}
	it := v.members()
	for it.next() {
		x, err := b.value(it.value, depth+1)
		if err != nil {
			return nil, err
		}
		key, ok := b.keys[string(it.key)]
		if !ok {
			key = string(it.key)
			b.keys[key] = key
		}
		object[key] = x
	}
	return object, b.pay(it.skipped+1, 0, v.at)
}

// scalar is a value that is no container, as Any has it.
func (v Value) scalar() (any, error) {
	switch v.Kind() {
	case KindNull:
		return nil, nil
	case KindBool:
		return v.tag == tagTrue, nil
	case KindInt:
		return int64(v.bits), nil
	case KindUint:
		return v.bits, nil
	case KindFloat:
		return math.Float64frombits(v.bits), nil
	case KindNumberText:
		return json.Number(v.spanBytes()), nil
	case KindText:
		return string(v.spanBytes()), nil
	case KindBytes:
		return append([]byte{}, v.spanBytes()...), nil
	case KindDecimal:
		return v.Decimal()
	case KindDate:
		return Date(v.bits), nil
	case KindTimeOfDay:
		return TimeOfDay(v.bits), nil
	case KindDateTime:
		return DateTime(v.bits), nil
	case KindTimestamp:
		return time.UnixMicro(int64(v.bits)).UTC(), nil
	case KindUUID:
		return v.uuid(), nil
	}
	return nil, v.wrong("of a kind that this version of the package knows")
}
