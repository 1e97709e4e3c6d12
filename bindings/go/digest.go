package livebuf

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
)

// Digest is the SHA-256 that names a value, whatever its layout: equal values have equal digests (DELTA 5). The error
// is of kind ErrUnsupportedFeature for values of reserved tags, of ErrBudgetExceeded as that of Any, or says what is
// damaged or missing.
func (v Value) Digest() (sum [sha256.Size]byte, err error) {
	if v.doc == nil {
		return sum, v.Err()
	}
	h := hasher{Hash: sha256.New()}
	h.left, h.leftText = v.doc.allowance()
	if err := h.value(v, 0); err != nil {
		return sum, err
	}
	h.Sum(sum[:0])
	return sum, nil
}

// hasher hashes values behind each other, and no more than the document can reasonably stand for.
type hasher struct {
	hash.Hash
	left, leftText int64 // values, and bytes of their texts and of long keys
	room           [9]byte
}

// word hashes a letter and a number.
func (h *hasher) word(letter byte, n uint64) {
	h.room[0] = letter
	binary.LittleEndian.PutUint64(h.room[1:], n)
	h.Write(h.room[:])
}

func (h *hasher) text(letter byte, b []byte) {
	// A short key, which a shape may have for many rows, is part of its value.
	if letter != 'k' || len(b) > maxKey {
		h.leftText -= int64(len(b))
	}
	h.word(letter, uint64(len(b)))
	h.Write(b)
}

// letters says with which letter a value begins, by its tag.
var letters = [tagObject]byte{tagNull: 'n', tagFalse: 'f', tagTrue: 't', tagInt: 'i', tagUint: 'u', tagFloat: 'd',
	tagDecimal: 'c', tagTimestamp: 'Z', tagDate: 'D', tagTime: 'T', tagDateTime: 'L', tagText: 's', tagBytes: 'b',
	tagNumberText: '#', tagUUID: 'U', tagLargeDecimal: 'c'}

func (h *hasher) value(v Value, depth int) error {
	if err := v.Err(); err != nil {
		return err
	}
	if h.left--; h.left < 0 || h.leftText < 0 {
		return fault{ErrBudgetExceeded, v.at}.err()
	}
	if depth >= maxNesting && v.form != formScalar {
		return fault{ErrNestingLimit, v.at}.err()
	}
	switch v.form {
	case formScalar:
		return h.scalar(v)
	case formArray:
		h.word('[', uint64(v.Len()))
		for _, element := range v.Elements() {
			if err := h.value(element, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	type member struct {
		key   []byte
		value Value
	}
	var all []member
	for it := v.members(); it.next(); h.left-- {
		all = append(all, member{it.key, it.value})
	}
	slices.SortFunc(all, func(a, b member) int { return bytes.Compare(a.key, b.key) })
	h.word('{', uint64(len(all)))
	for _, x := range all {
		h.text('k', x.key)
		if err := h.value(x.value, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (h *hasher) scalar(v Value) error {
	switch letter := letters[v.tag]; {
	case letter == 0:
		return errorf(ErrUnsupportedFeature, "a value of a reserved tag has no digest: a newer package may know it")
	case v.tag <= tagTrue:
		h.Write(append(h.room[:0], letter))
	case letter == 'c':
		d, _ := v.Decimal()
		h.word(letter, uint64(d.Scale))
		h.Write(binary.LittleEndian.AppendUint64(h.room[:0], d.Lo))
		h.Write(binary.LittleEndian.AppendUint64(h.room[:0], uint64(d.Hi)))
	case v.tag == tagUUID:
		h.Write(append(h.room[:0], letter))
		h.Write(v.spanBytes())
	case v.tag >= tagText:
		h.text(letter, v.spanBytes())
	default:
		h.word(letter, v.bits)
	}
	return nil
}
