package livebuf

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// jsonReader makes events of JSON: one pass over its bytes, without recursion (FORMAT 13.1).
type jsonReader struct {
	e    *encoder
	text []byte
	at   int
	room []byte // of the string that was read last, if it has escapes
}

// json adds the one value of a JSON text.
func (e *encoder) json(text []byte) {
	r := jsonReader{e: e, text: text}
	defer func() {
		// What the encoder refuses is refused here.
		switch x := recover().(type) {
		case nil:
		case encodeError:
			if err, ok := x.err.(*Error); ok && err.Offset < 0 {
				x.err = r.located(err.Kind, err.Message)
			}
			panic(x)
		default:
			panic(x)
		}
	}()
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		r.at = 3
	}
	r.value()
	if r.at < len(text) {
		r.wrong("there is more text behind the value")
	}
}

// located is an error at the byte that is read.
func (r *jsonReader) located(kind ErrorKind, message string) *Error {
	before := r.text[:min(r.at, len(r.text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	line, column := bytes.Count(before, []byte{'\n'})+1, utf8.RuneCount(before[start:])+1
	return &Error{kind, int64(r.at), "", fmt.Sprintf("%s (line %d, column %d)", message, line, column)}
}

func (r *jsonReader) wrong(message string) { panic(encodeError{r.located(ErrBadJSON, message)}) }

// next is the next byte that is no white space; 0 at the end, which is nowhere allowed.
func (r *jsonReader) next() byte {
	for ; r.at < len(r.text); r.at++ {
		if c := r.text[r.at]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
	}
	return 0
}

// byte is the byte that is read; 0 at the end.
func (r *jsonReader) byte() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *jsonReader) value() {
	e := r.e
	base := len(e.frames)
	c := r.next()
	for {
		switch {
		case c == '"':
			r.at++
			r.string()
		case c == '{':
			e.beginObject()
			r.at++
			if c = r.next(); c != '}' {
				c = r.key(c)
				continue
			}
			r.at++
			e.endObject()
		case c == '[':
			e.beginArray()
			r.at++
			if c = r.next(); c != ']' {
				continue
			}
			r.at++
			e.endArray()
		case c == 't':
			r.word("true")
			e.push(tagTrue, 0)
		case c == 'f':
			r.word("false")
			e.push(tagFalse, 0)
		case c == 'n':
			r.word("null")
			e.push(tagNull, 0)
		case c == '-' || c >= '0' && c <= '9':
			r.number()
		case r.at >= len(r.text):
			r.wrong("the text ends where a value should be")
		default:
			r.wrong("expected a value: an object, an array, a string, a number, true, false or null")
		}
		// Behind a value: the next element or key, or containers that end.
		for {
			c = r.next()
			if len(e.frames) == base {
				return
			}
			isObject := e.frame().isObject
			if c == ',' {
				r.at++
				if c = r.next(); c == ']' || c == '}' {
					r.wrong("a comma before the closing bracket: remove it")
				}
				if isObject {
					c = r.key(c)
				}
				break
			}
			switch {
			case isObject && c == '}':
				r.at++
				e.endObject()
			case !isObject && c == ']':
				r.at++
				e.endArray()
			case r.at >= len(r.text):
				r.wrong("the text ends within an object or an array")
			case isObject:
				r.wrong("expected `,` or `}` after a value")
			default:
				r.wrong("expected `,` or `]` after an element")
			}
		}
	}
}

func (r *jsonReader) word(word string) {
	for i := range len(word) {
		if r.byte() != word[i] {
			r.wrong("expected `true`, `false` or `null`")
		}
		r.at++
	}
}

// key reads a key, whose quote is here, and its colon; the byte that begins its value.
func (r *jsonReader) key(c byte) byte {
	if c != '"' {
		r.wrong("expected a key in quotes")
	}
	r.at++
	rest := r.text[r.at:]
	if k := r.e.expected(); k >= 0 && r.e.trie.keys[k].isPlain {
		key := r.e.trie.keys[k].text
		if n := len(key); n < len(rest) && rest[n] == '"' && string(rest[:n]) == key {
			r.e.take()
			r.at += n + 1
			return r.colon()
		}
	}
	r.e.key(r.quoted())
	return r.colon()
}

func (r *jsonReader) colon() byte {
	if r.next() != ':' {
		r.wrong("expected `:` after a key")
	}
	r.at++
	return r.next()
}

func (r *jsonReader) string() {
	text := r.quoted()
	if r.e.recognize && r.e.recognized(text) {
		return
	}
	r.e.string(text)
}

// plain passes over the characters that stand for themselves, up to a quote, a backslash or a control character.
func (r *jsonReader) plain() []byte {
	start, or := r.at, byte(0)
	for ; r.at < len(r.text); r.at++ {
		c := r.text[r.at]
		if c < ' ' || c == '"' || c == '\\' {
			break
		}
		or |= c
	}
	plain := r.text[start:r.at]
	if or >= utf8.RuneSelf && !utf8.Valid(plain) {
		for r.at = start; ; {
			c, n := utf8.DecodeRune(r.text[r.at:])
			if c == utf8.RuneError && n <= 1 {
				r.wrong("the text is not UTF-8: convert it first")
			}
			r.at += n
		}
	}
	return plain
}

// quoted reads the string whose first character is here, and its quote.
func (r *jsonReader) quoted() []byte {
	plain := r.plain()
	if r.byte() == '"' {
		r.at++
		return plain
	}
	r.room = append(r.room[:0], plain...)
	for {
		switch {
		case r.byte() == '"':
			r.at++
			return r.room
		case r.byte() == '\\':
		case r.at >= len(r.text):
			r.wrong("the text ends inside a string")
		default:
			r.wrong("a control character in a string: write it as an escape, such as `\\n`")
		}
		r.at++
		r.room = utf8.AppendRune(r.room, r.escape())
		r.room = append(r.room, r.plain()...)
	}
}

// escape reads an escape, whose backslash is before.
func (r *jsonReader) escape() rune {
	c := r.byte()
	if i := bytes.IndexByte([]byte(`"\/bfnrt`), c); i >= 0 {
		r.at++
		return rune("\"\\/\b\f\n\r\t"[i])
	}
	if c != 'u' {
		r.wrong("no such escape in strings: write `\\\\` for a backslash")
	}
	r.at++
	first := r.unit()
	if first < 0xd800 || first > 0xdfff {
		return first
	}
	half := r.at
	if first < 0xdc00 && bytes.HasPrefix(r.text[half:], []byte(`\u`)) {
		r.at += 2
		if second := r.unit(); second >= 0xdc00 && second <= 0xdfff {
			return 0x10000 + (first-0xd800)<<10 + second - 0xdc00
		}
		r.at = half
	}
	if !r.e.replace {
		r.wrong("an escape of half of a surrogate pair: the option Replace puts U+FFFD for it")
	}
	return utf8.RuneError
}

func (r *jsonReader) unit() (unit rune) {
	for range 4 {
		c := r.byte()
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|32 >= 'a' && c|32 <= 'f':
			c = c | 32 - 'a' + 10
		default:
			r.wrong("no such escape in strings: `\\u` has four hexadecimal digits")
		}
		unit = unit<<4 | rune(c)
		r.at++
	}
	return unit
}

// digits passes over digits; the number that they are behind others of a number, and how many of these digits count:
// all but leading zeros. The number is right where there are at most 19.
func (r *jsonReader) digits(x uint64, count int) (uint64, int) {
	for ; r.at < len(r.text); r.at++ {
		c := r.text[r.at] - '0'
		if c > 9 {
			break
		}
		if x = 10*x + uint64(c); c != 0 || count > 0 {
			count++
		}
	}
	return x, count
}

// powers are those of ten that a float holds.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

func (r *jsonReader) number() {
	start := r.at
	negative := r.byte() == '-'
	if negative {
		r.at++
	}
	first := r.at
	x, count := r.digits(0, 0)
	if r.at == first || r.at > first+1 && r.text[first] == '0' {
		r.at = min(r.at, first+1)
		r.notNumber()
	}
	if c := r.byte(); c != '.' && c|32 != 'e' {
		r.integer(r.text[start:r.at], x, count, negative)
		return
	}
	places := -1
	if r.byte() == '.' {
		r.at++
		point := r.at
		if x, count = r.digits(x, count); r.at == point {
			r.notNumber()
		}
		places = r.at - point
	}
	if r.byte()|32 == 'e' {
		places = -1
		if r.at++; r.byte() == '+' || r.byte() == '-' {
			r.at++
		}
		exponent := r.at
		if r.digits(0, 0); r.at == exponent {
			r.notNumber()
		}
	}
	text := r.text[start:r.at]
	if count <= 17 {
		var f float64
		if places >= 0 && places < len(powers) && x <= 1<<53 {
			// Both are exact, so their quotient is rounded once.
			if f = float64(x) / powers[places]; negative {
				f = -f
			}
		} else {
			f, _ = strconv.ParseFloat(string(text), 64)
		}
		if !math.IsInf(f, 0) && (f != 0 || count == 0) {
			r.e.push(tagFloat, math.Float64bits(f))
			return
		}
	}
	r.e.span(tagNumberText, text)
}

func (r *jsonReader) notNumber() {
	r.wrong("this is no number of JSON: it has digits first, no leading zero, and digits after `.` and `e`")
}

// integer adds a number without fraction and exponent, of so many digits that count.
func (r *jsonReader) integer(text []byte, x uint64, count int, negative bool) {
	if count > 19 {
		var err error
		if x, err = strconv.ParseUint(string(text), 10, 64); err != nil {
			r.e.span(tagNumberText, text) // also what is negative
			return
		}
	}
	switch {
	case !negative:
		r.e.unsigned(x)
	case x == 0:
		r.e.push(tagFloat, 1<<63)
	case x <= 1<<63:
		r.e.integer(-int64(x))
	default:
		r.e.span(tagNumberText, text)
	}
}

// recognized adds a text as a date, a date and time, a timestamp or a UUID, if the whole of it is one (PROFILE 8).
func (e *encoder) recognized(text []byte) bool {
	tag, bits, u := recognize(text)
	switch tag {
	case tagNothing:
		return false
	case tagUUID:
		e.span(tag, u[:])
	default:
		e.push(tag, uint64(bits))
	}
	return true
}

// recognize is the tag of what the whole of a text is, or tagNothing, and days or microseconds since 1970, or a UUID.
func recognize(text []byte) (tag uint8, bits int64, u UUID) {
	if len(text) == 36 && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-' {
		var digits [32]byte
		for i, j := range []int{0, 9, 14, 19, 24} {
			copy(digits[[]int{0, 8, 12, 16, 20}[i]:], text[j:])
		}
		if _, err := hex.Decode(u[:], digits[:]); err != nil {
			return tagNothing, 0, u
		}
		return tagUUID, 0, u
	}
	if len(text) < 10 || len(text) > 32 || text[4] != '-' || text[7] != '-' {
		return tagNothing, 0, u
	}
	day, err := time.Parse("2006-01-02", string(text[:10]))
	if err != nil || day.Year() < 1 {
		return tagNothing, 0, u
	}
	micros := day.UnixMicro()
	if len(text) == 10 {
		return tagDate, micros / dayMicros, u
	}
	// The parts of a time have two digits each: package time would take others, too.
	rest := text[10:]
	part := func(before byte, limit int64) (x int64) {
		if len(rest) < 3 || rest[0] != before || rest[1]-'0' > 9 || rest[2]-'0' > 9 {
			rest = nil
			return -1
		}
		x = int64(rest[1]-'0')*10 + int64(rest[2]-'0')
		if rest = rest[3:]; x >= limit {
			rest, x = nil, -1
		}
		return x
	}
	hour, minute, second := part('T', 24), part(':', 60), part(':', 60)
	if hour < 0 || minute < 0 || second < 0 {
		return tagNothing, 0, u
	}
	micros += (hour*3600 + minute*60 + second) * 1_000_000
	if len(rest) > 0 && rest[0] == '.' {
		n := 1
		for unit := int64(100_000); n < len(rest) && rest[n]-'0' <= 9; n, unit = n+1, unit/10 {
			micros += unit * int64(rest[n]-'0')
		}
		if n < 2 || n > 7 {
			return tagNothing, 0, u
		}
		rest = rest[n:]
	}
	tag = tagTimestamp
	switch {
	case len(rest) == 0:
		tag = tagDateTime
	case string(rest) == "Z":
	default:
		sign := int64(1)
		if rest[0] == '-' {
			sign = -1
		}
		hour, minute := part("+-"[(1-sign)/2], 24), part(':', 60)
		if hour < 0 || minute < 0 || len(rest) > 0 {
			return tagNothing, 0, u
		}
		if micros -= sign * (hour*3600 + minute*60) * 1_000_000; !isMoment(micros) {
			return tagNothing, 0, u
		}
	}
	return tag, micros, u
}

// isMoment says whether microseconds since 1970 are in the years from 1 to 9999.
func isMoment(micros int64) bool { return micros >= minDay*dayMicros && micros < (maxDay+1)*dayMicros }
