package livebuf

import (
	"bytes"
	"errors"
	"io"
)

// An Encoder writes documents to a stream, one after the other. Nothing stands between them, because each says in its
// header how many bytes it has.
type Encoder struct {
	w       io.Writer
	options []Option
}

// NewEncoder makes an encoder of documents to w.
func NewEncoder(w io.Writer, options ...Option) *Encoder {
	return &Encoder{w, options}
}

// Encode writes a value of Go as one document, by one call of Write. The error is that of the function Encode, or of
// the writer. If the value cannot be encoded, nothing is written.
func (e *Encoder) Encode(v any) error {
	data, err := Encode(v, e.options...)
	if err != nil {
		return err
	}
	_, err = e.w.Write(data)
	return err
}

// A Decoder reads documents from a stream, one after the other, as an Encoder writes them. It reads no byte behind the
// document that it was asked for.
type Decoder struct {
	r     io.Reader
	limit uint64
	err   error // of a document that was left in the middle
}

// NewDecoder makes a decoder of the documents in r.
func NewDecoder(r io.Reader) *Decoder {
	return &Decoder{r: r, limit: 1 << 32}
}

// Limit refuses documents of more bytes with an error of kind ErrDocumentLimit. A document has up to 4 GiB; memory is
// only taken for bytes that arrive.
func (d *Decoder) Limit(bytes uint64) { d.limit = bytes }

// Decode reads the next document into what v points to; see Value.Decode. At the end of the stream it returns io.EOF.
func (d *Decoder) Decode(v any) error {
	document, err := d.Next()
	if err != nil {
		return err
	}
	return document.Root().Decode(v)
}

// Next reads the next document as it is, for programs that need a part of it. At the end of the stream it returns
// io.EOF. A stream that ends within a document is an error of kind ErrTruncated. The kinds are otherwise those of Open,
// and the errors of the reader are returned as they are. After an error within a document nobody knows where the next
// one begins, so it is the error of all further calls.
func (d *Decoder) Next() (doc *Document, err error) {
	if d.err != nil {
		return nil, d.err
	}
	header := make([]byte, headerSize)
	n, err := io.ReadFull(d.r, header)
	if n == 0 {
		return nil, err
	}
	defer func() { d.err = err }()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return Open(header[:n])
	}
	if err != nil {
		return nil, err
	}
	used, err := usedBytes(mem(header))
	if err != nil {
		return nil, err
	}
	if used > d.limit {
		return nil, errorf(ErrDocumentLimit, "the next document has %d bytes, and Limit allows %d", used, d.limit)
	}
	// It grows as bytes arrive, so a header that claims much takes nothing.
	data := bytes.NewBuffer(header)
	if n, err := io.CopyN(data, d.r, int64(used-headerSize)); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, truncated(headerSize+int(n), used)
		}
		return nil, err
	}
	return Open(data.Bytes())
}
