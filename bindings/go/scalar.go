package livebuf

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Values that JSON lacks (FORMAT 3.6). Their texts are those that they have in JSON (FORMAT 13.2).

const (
	minDay    = -719162 // 0001-01-01
	maxDay    = 2932896 // 9999-12-31
	dayMicros = 86_400_000_000
	maxScale  = 38
)

// Date is a day of the calendar: days since 1970-01-01, from the year 1 to 9999.
type Date int32

// ParseDate reads a date such as 2026-11-23. The error is of kind ErrBadValue.
func ParseDate(text string) (Date, error) {
	return parsed[Date]("", text, tagDate, "a date, such as 2026-11-23")
}

// UnmarshalText is ParseDate, for encoding/json and others.
func (d *Date) UnmarshalText(text []byte) error { return parseTo(d, text, ParseDate) }

// parsed is a text, with another one before it, as the value of a tag that recognize knows.
func parsed[T ~int32 | ~int64](before, text string, tag uint8, wanted string) (T, error) {
	found, bits, _ := recognize([]byte(before + text))
	if found != tag {
		return 0, errorf(ErrBadValue, "%.60q is not %s", text, wanted)
	}
	return T(bits), nil
}

func parseTo[T any](to *T, text []byte, parse func(text string) (T, error)) error {
	x, err := parse(string(text))
	if err == nil {
		*to = x
	}
	return err
}

// Time is the date's midnight in UTC.
func (d Date) Time() time.Time { return time.Unix(int64(d)*86400, 0).UTC() }

// String is the date as 2026-11-23.
func (d Date) String() string { return string(d.append(nil)) }

// MarshalText is String, for encoding/json and others.
func (d Date) MarshalText() ([]byte, error) { return d.append(nil), nil }

func (d Date) append(dst []byte) []byte { return d.Time().AppendFormat(dst, "2006-01-02") }

// TimeOfDay is a time of day: microseconds since midnight, fewer than a day has.
type TimeOfDay int64

// ParseTimeOfDay reads a time such as 08:30:00, with up to six digits of a fraction. The error is of kind ErrBadValue.
func ParseTimeOfDay(text string) (TimeOfDay, error) {
	return parsed[TimeOfDay]("1970-01-01T", text, tagDateTime, "a time of day, such as 08:30:00")
}

// UnmarshalText is ParseTimeOfDay, for encoding/json and others.
func (t *TimeOfDay) UnmarshalText(text []byte) error { return parseTo(t, text, ParseTimeOfDay) }

// Duration is the time since midnight.
func (t TimeOfDay) Duration() time.Duration { return time.Duration(t) * time.Microsecond }

// String is the time as 08:30:00, with three or six digits of a fraction if it has one.
func (t TimeOfDay) String() string { return string(t.append(nil)) }

// MarshalText is String, for encoding/json and others.
func (t TimeOfDay) MarshalText() ([]byte, error) { return t.append(nil), nil }

func (t TimeOfDay) append(dst []byte) []byte {
	layout := "15:04:05"
	if t%1000 != 0 {
		layout = "15:04:05.000000"
	} else if t%1000000 != 0 {
		layout = "15:04:05.000"
	}
	return time.UnixMicro(int64(t)).UTC().AppendFormat(dst, layout)
}

// DateTime is a date and time of a time zone that is not known: microseconds since 1970-01-01T00:00:00 there.
type DateTime int64

// ParseDateTime reads a date and time such as 2026-11-23T08:30:00, with up to six digits of a fraction. The error is of
// kind ErrBadValue.
func ParseDateTime(text string) (DateTime, error) {
	return parsed[DateTime]("", text, tagDateTime, "a date and time, such as 2026-11-23T08:30:00")
}

// UnmarshalText is ParseDateTime, for encoding/json and others.
func (t *DateTime) UnmarshalText(text []byte) error { return parseTo(t, text, ParseDateTime) }

// In is the moment that it is in a time zone.
func (t DateTime) In(zone *time.Location) time.Time {
	u := time.UnixMicro(int64(t)).UTC()
	return time.Date(u.Year(), u.Month(), u.Day(), u.Hour(), u.Minute(), u.Second(), u.Nanosecond(), zone)
}

// String is the date and time as 2026-11-23T08:30:00.
func (t DateTime) String() string { return string(t.append(nil)) }

// MarshalText is String, for encoding/json and others.
func (t DateTime) MarshalText() ([]byte, error) { return t.append(nil), nil }

func (t DateTime) append(dst []byte) []byte {
	days, micros := int64(t)/dayMicros, int64(t)%dayMicros
	if micros < 0 {
		days, micros = days-1, micros+dayMicros
	}
	return TimeOfDay(micros).append(append(Date(days).append(dst), 'T'))
}

// Decimal is a number of up to 38 digits with so many of them behind the point: a coefficient of 128 bits, in two's
// complement, times 10 to the power of -Scale. 1.5 and 1.50 are two values.
type Decimal struct {
	Hi    int64  // the upper half of the coefficient
	Lo    uint64 // the lower half
	Scale uint8  // at most 38
}

// ParseDecimal reads a number of JSON, such as 19.90 or 5e-3. Digits behind the point are its scale. The error
// is of kind ErrBadValue.
func ParseDecimal(text string) (Decimal, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	by, _ := strconv.Atoi(exponent)
	scale := len(fraction) - by
	if isNumber([]byte(text)) && len(text) <= 128 && scale >= -maxScale && scale <= maxScale {
		x, _ := new(big.Int).SetString(whole+fraction, 10)
		x.Mul(x, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(-scale, 0))), nil))
		if x.CmpAbs(decimalBound) < 0 {
			low := new(big.Int).And(x, new(big.Int).SetUint64(math.MaxUint64))
			return Decimal{x.Rsh(x, 64).Int64(), low.Uint64(), uint8(max(scale, 0))}, nil
		}
	}
	return Decimal{}, errorf(ErrBadValue, "%.60q is not a number of at most 38 digits, such as 19.90", text)
}

// UnmarshalText is ParseDecimal.
func (d *Decimal) UnmarshalText(text []byte) error { return parseTo(d, text, ParseDecimal) }

// UnmarshalJSON reads a number, or one in quotes. Null leaves the decimal as it is.
func (d *Decimal) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	if len(text) > 2 && text[0] == '"' {
		text = text[1 : len(text)-1]
	}
	return d.UnmarshalText(text)
}

// Coefficient is the number without its point.
func (d Decimal) Coefficient() *big.Int {
	x := new(big.Int).Lsh(big.NewInt(d.Hi), 64)
	return x.Add(x, new(big.Int).SetUint64(d.Lo))
}

// Rat is the number as a fraction, exactly.
func (d Decimal) Rat() *big.Rat {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.Scale)), nil)
	return new(big.Rat).SetFrac(d.Coefficient(), power)
}

// String is the number with all its digits, as 19.90.
func (d Decimal) String() string { return string(d.append(nil)) }

// MarshalJSON is the number as String has it.
func (d Decimal) MarshalJSON() ([]byte, error) { return d.append(nil), nil }

func (d Decimal) append(dst []byte) []byte {
	var room [48]byte
	digits := room[:0]
	if d.Hi == int64(d.Lo)>>63 {
		digits = strconv.AppendInt(digits, int64(d.Lo), 10)
	} else {
		digits = d.Coefficient().Append(digits, 10)
	}
	if digits[0] == '-' {
		dst, digits = append(dst, '-'), digits[1:]
	}
	scale := int(d.Scale)
	if scale == 0 {
		return append(dst, digits...)
	}
	if len(digits) <= scale {
		dst = append(dst, "0."...)
		for range scale - len(digits) {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	point := len(digits) - scale
	return append(append(append(dst, digits[:point]...), '.'), digits[point:]...)
}

// UUID is 128 bits, in the order of their text (RFC 9562).
type UUID [16]byte

// ParseUUID reads a UUID of 36 characters. The error is of kind ErrBadValue.
func ParseUUID(text string) (UUID, error) {
	tag, _, u := recognize([]byte(text))
	if tag != tagUUID {
		return UUID{}, errorf(ErrBadValue, "%.60q is not a UUID, which has 32 hexadecimal digits in five groups", text)
	}
	return u, nil
}

// UnmarshalText is ParseUUID, for encoding/json and others.
func (u *UUID) UnmarshalText(text []byte) error { return parseTo(u, text, ParseUUID) }

// String is the UUID as 36 characters in lower case.
func (u UUID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// MarshalText is String, for encoding/json and others.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }
