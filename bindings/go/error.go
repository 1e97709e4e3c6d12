package livebuf

import "fmt"

// ErrorKind says what went wrong. The kinds and their numbers are those of every other language of LiveBuf
// (docs/errors.md). A kind is itself an error, so errors.Is(err, livebuf.ErrNotFound) asks for it.
type ErrorKind uint8

// Kinds 1 to 3: the bytes are no document that this version reads. 4 to 16: they are damaged. 17 to 22: a limit was
// reached. The others: the call does not fit the value.
const (
	ErrNotADocument       ErrorKind = 1
	ErrUnsupportedVersion ErrorKind = 2
	ErrUnsupportedFeature ErrorKind = 3
	ErrTruncated          ErrorKind = 4
	ErrOutOfBounds        ErrorKind = 5
	ErrMisaligned         ErrorKind = 6
	ErrWrongBlock         ErrorKind = 7
	ErrBadCode            ErrorKind = 8
	ErrBadCount           ErrorKind = 9
	ErrBadText            ErrorKind = 10
	ErrBadCell            ErrorKind = 11
	ErrOverlap            ErrorKind = 12
	ErrBadIndex           ErrorKind = 13
	ErrDuplicateKey       ErrorKind = 14
	ErrBadFreeList        ErrorKind = 15
	ErrNotZero            ErrorKind = 16
	ErrBudgetExceeded     ErrorKind = 17
	ErrNestingLimit       ErrorKind = 18
	ErrDocumentLimit      ErrorKind = 19
	ErrStringLimit        ErrorKind = 20
	ErrElementLimit       ErrorKind = 21
	ErrStaleHandle        ErrorKind = 23
	ErrWrongType          ErrorKind = 24
	ErrNotFound           ErrorKind = 25
	ErrIndexOutOfRange    ErrorKind = 26
	ErrKeyExists          ErrorKind = 27
	ErrReadOnly           ErrorKind = 28
	ErrBadPointer         ErrorKind = 29
	ErrBadNumber          ErrorKind = 30
	ErrIO                 ErrorKind = 32
	ErrUnsupported        ErrorKind = 33
	ErrNotValidated       ErrorKind = 36
	ErrBroken             ErrorKind = 37
	ErrBadValue           ErrorKind = 38
	ErrTensorMismatch     ErrorKind = 39
	ErrBadJSON            ErrorKind = 64
	ErrNotADelta          ErrorKind = 72
	ErrBadDelta           ErrorKind = 73
	ErrNoState            ErrorKind = 74
	ErrWrongState         ErrorKind = 75
	ErrWrongBytes         ErrorKind = 76
	ErrNoDigest           ErrorKind = 77
	ErrNoOldBytes         ErrorKind = 78
	ErrBadLog             ErrorKind = 80
)

// kinds has the name of each kind, and what it means where nothing more is known.
var kinds = map[ErrorKind][2]string{
	ErrNotADocument:       {"NotADocument", "these bytes are no LiveBuf document: convert JSON first"},
	ErrUnsupportedVersion: {"UnsupportedVersion", "the document is of a version that this package does not read"},
	ErrUnsupportedFeature: {"UnsupportedFeature", "the document needs a newer version of this package"},
	ErrTruncated:          {"Truncated", "the document is cut short"},
	ErrOutOfBounds:        {"OutOfBounds", "an offset or a length leads beyond the document"},
	ErrMisaligned:         {"Misaligned", "an offset is no multiple of 8"},
	ErrWrongBlock:         {"WrongBlock", "a reference leads to a block of another kind"},
	ErrBadCode:            {"BadCode", "a code or a tag is undefined, or not allowed here"},
	ErrBadCount:           {"BadCount", "counts contradict each other"},
	ErrBadText:            {"BadText", "a text is not UTF-8"},
	ErrBadCell:            {"BadCell", "a cell holds bits that its tag does not allow"},
	ErrOverlap:            {"Overlap", "two blocks overlap, or one is reached twice"},
	ErrBadIndex:           {"BadIndex", "an index does not lead to its entries"},
	ErrDuplicateKey:       {"DuplicateKey", "a key occurs twice in one object"},
	ErrBadFreeList:        {"BadFreeList", "the list of free space is damaged"},
	ErrNotZero:            {"NotZero", "bytes that must be 0 are not"},
	ErrBudgetExceeded:     {"BudgetExceeded", "it stands for more than its bytes justify: validate it, or read parts"},
	ErrNestingLimit:       {"NestingLimit", "values are nested too deeply"},
	ErrDocumentLimit:      {"DocumentLimit", "the document would be too long"},
	ErrStringLimit:        {"StringLimit", "a text is too long"},
	ErrElementLimit:       {"ElementLimit", "an array or an object would have too many elements"},
	ErrStaleHandle:        {"StaleHandle", "the value was removed or replaced: look it up again"},
	ErrWrongType:          {"WrongType", "the value is of another type"},
	ErrNotFound:           {"NotFound", "there is no such value"},
	ErrIndexOutOfRange:    {"IndexOutOfRange", "the array has no such element"},
	ErrKeyExists:          {"KeyExists", "the object has this key already"},
	ErrReadOnly:           {"ReadOnly", "the document cannot be written"},
	ErrBadPointer:         {"BadPointer", "a JSON pointer is empty or begins with /, and has ~0 for ~ and ~1 for /"},
	ErrBadNumber:          {"BadNumber", "this is no number of JSON"},
	ErrIO:                 {"Io", "the operating system refused"},
	ErrUnsupported:        {"Unsupported", "this cannot be expressed"},
	ErrNotValidated:       {"NotValidated", "validate the document first"},
	ErrBroken:             {"Broken", "an edit ended half way: go back to a copy"},
	ErrBadValue:           {"BadValue", "this is no date, time, decimal or UUID"},
	ErrTensorMismatch:     {"TensorMismatch", "a tensor keeps its type and the lengths of its elements"},
	ErrBadJSON:            {"BadJson", "this is no JSON"},
	ErrNotADelta:          {"NotADelta", "these bytes are no delta"},
	ErrBadDelta:           {"BadDelta", "the delta is damaged"},
	ErrNoState:            {"NoState", "the document has no state, from which deltas lead on"},
	ErrWrongState:         {"WrongState", "the delta begins at another state"},
	ErrWrongBytes:         {"WrongBytes", "the document has not the bytes that the delta was made of"},
	ErrNoDigest:           {"NoDigest", "the delta has no digest to compare with"},
	ErrNoOldBytes:         {"NoOldBytes", "the delta was made without old bytes, so it cannot be inverted"},
	ErrBadLog:             {"BadLog", "the log is damaged"},
}

// String is the kind's name, which is the same in every language.
func (k ErrorKind) String() string { return kinds[k][0] }

// Error says what the kind means.
func (k ErrorKind) Error() string { return "livebuf: " + kinds[k][1] }

// Error is the type of all errors of this package.
type Error struct {
	// Kind says what is wrong.
	Kind ErrorKind
	// Offset is the byte of the document, or of the text that was read, where it was found; -1 where there is none.
	Offset int64
	// Path is a JSON pointer to the value that it is about, where one is known.
	Path string
	// Message says what is wrong and what to do, without the offset and the path. It may change.
	Message string
}

// Error is the message, with the place that it is about.
func (e *Error) Error() string {
	text := "livebuf: " + e.Message
	if e.Path != "" {
		text += fmt.Sprintf(" (at %s)", e.Path)
	}
	if e.Offset >= 0 {
		text += fmt.Sprintf(" (%s at byte %d)", e.Kind.String(), e.Offset)
	}
	return text
}

// Is says whether the error is of a kind, for errors.Is.
func (e *Error) Is(target error) bool {
	kind, ok := target.(ErrorKind)
	return ok && kind == e.Kind
}

// errorf makes an error that has no place in the document.
func errorf(kind ErrorKind, format string, args ...any) *Error {
	return &Error{Kind: kind, Offset: -1, Message: fmt.Sprintf(format, args...)}
}

// A fault is what is wrong with the bytes of a document, and where. The zero fault is none. It becomes an error only
// where it is reported, so that reading allocates nothing.
type fault struct {
	kind ErrorKind
	at   uint32
}

func (f fault) bad() bool { return f.kind != 0 }

func (f fault) err() error {
	if f.kind == 0 {
		return nil
	}
	e := &Error{Kind: f.kind, Offset: int64(f.at), Message: kinds[f.kind][1]}
	switch f.kind {
	case ErrBadPointer, ErrStaleHandle, ErrBroken: // are about no byte
		e.Offset = -1
	}
	return e
}
