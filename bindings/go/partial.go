package livebuf

import (
	"errors"
	"io"
	"math"
	"runtime/debug"
	"sync"
)

// Partial is a document that is elsewhere, such as on a server that answers requests for ranges. Pages of it are
// fetched when they are read, and kept. Any number of goroutines may use it; they take turns.
type Partial struct {
	source   io.ReaderAt
	data     []byte // room for all of the document; reading a page that is not here is a fault
	here     []bool // whether a page was fetched
	size     int
	page     int
	requests int
	fetched  int64
	mutex    sync.Mutex
}

// OpenPartial opens a document by its first page. A page is how many bytes are fetched at once at least: 0 means
// 65,536, and other numbers are rounded up to pages of the system. As much room is reserved as the document has bytes,
// and memory taken for what is fetched. That is so on Linux and macOS; elsewhere the whole document is fetched now.
//
// The error is the source's, or one of Open. A source that ends early is an error of kind ErrTruncated.
func OpenPartial(source io.ReaderAt, page int) (*Partial, error) {
	if page <= 0 {
		page = 1 << 16
	}
	page = (min(page, 1<<30) + systemPage - 1) / systemPage * systemPage
	p := &Partial{source: source, page: page}
	header := make(mem, headerSize, page)
	n, err := p.readAt(header[:page], 0)
	if err != nil {
		return nil, err
	}
	used := header.u32(headerUsed)
	if _, err := openHeader(header[:n:n]); err != nil && !(errors.Is(err, ErrTruncated) && n == page) {
		return nil, err
	}
	if used > math.MaxInt {
		return nil, errorf(ErrDocumentLimit, "the document has more bytes than this system can have in memory")
	}
	p.size = int(used)
	p.here = make([]bool, p.pages(p.size))
	if !canReserve {
		p.data, err = io.ReadAll(io.NewSectionReader(source, 0, int64(used)))
		if err == nil && len(p.data) < int(used) {
			err = truncated(len(p.data), used)
		}
		for i := range p.here {
			p.here[i] = true
		}
		return p, err
	}
	if p.data, err = reserve(int(used)); err != nil {
		return nil, err
	}
	if err = p.fill(0, min(page, int(used)), func(b []byte) error {
		copy(b, header[:n])
		return nil
	}); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close gives the memory back. Nothing that lies over the document's bytes may be used any more.
func (p *Partial) Close() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	data := p.data
	p.data, p.here = nil, nil
	if !canReserve || data == nil {
		return nil
	}
	return unmap(data)
}

// Len is how many bytes the whole document has.
func (p *Partial) Len() int { return p.size }

// Fetched says how often the source was read, and how many bytes it gave.
func (p *Partial) Fetched() (requests int, bytes int64) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.requests, p.fetched
}

// Read calls a function that reads the document. Where it reads a page that is not here, it is left, the page is
// fetched, and the function is called again, until it ends. So it should read and do nothing else, in its goroutine,
// and not recover from panics. From the eighth time on each fetch takes twice as much as the one before.
//
// What it keeps must be copies, as those of Text, Any and Raw: values are missing when it has ended, and byte slices
// and columns over the document's bytes, as those of TextBytes, must not be used any more.
//
// The error is that of the function, or the source's, or of kind ErrNotFound after Close.
func (p *Partial) Read(read func(doc *Document) error) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.here == nil {
		return errorf(ErrNotFound, "the document was closed: open it again")
	}
	for ahead := p.page >> 7; ; ahead = min(2*ahead, 1<<29) {
		at, err := p.try(read)
		if at < 0 {
			return err
		}
		i := at / p.page
		if p.here[i] {
			i++ // the bytes that were read begin in a page that is here
		}
		if i == len(p.here) || p.here[i] {
			return errorf(ErrIO, "the system does not say which page of the document is missing")
		}
		at = i * p.page
		if err := p.fetch(at, at+min(p.page+ahead, len(p.data)-at)); err != nil {
			return err
		}
	}
}

// try calls the function. It returns where a byte is missing, or -1.
func (p *Partial) try(read func(doc *Document) error) (at int, err error) {
	doc := &Document{data: p.data}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		doc.data = nil
		r := recover()
		if r == nil {
			r = doc.fault // which somebody recovered from
		}
		if x, ok := r.(interface{ Addr() uintptr }); ok {
			if i := x.Addr() - address(p.data); i < uintptr(len(p.data)) {
				at, err = int(i), nil
				return
			}
		}
		if r != nil {
			panic(r)
		}
	}()
	return -1, read(doc)
}

// Prefetch fetches the bytes from one offset up to another one, unless they are here, so that reading them needs no
// further request.
func (p *Partial) Prefetch(from, to int) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.fetch(max(from, 0), max(min(to, len(p.data)), 0))
}

// pages is how many pages so many bytes take. They may be almost as many as int counts, which has 32 bits on some systems.
func (p *Partial) pages(bytes int) int {
	return int((uint64(bytes) + uint64(p.page) - 1) / uint64(p.page))
}

// fetch fetches the pages of a range that are missing, neighbours by one request.
func (p *Partial) fetch(from, to int) error {
	for i := from / p.page; i < p.pages(to); i++ {
		if p.here[i] {
			continue
		}
		first := i
		for i++; i < p.pages(to) && !p.here[i]; i++ {
		}
		start, end := first*p.page, len(p.data)
		if i < len(p.here) {
			end = i * p.page
		}
		err := p.fill(start, end, func(b []byte) error {
			n, err := p.readAt(b, start)
			if err == nil && n < len(b) {
				err = truncated(start+n, uint64(len(p.data)))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fill puts the bytes of pages to their place.
func (p *Partial) fill(start, end int, fill func(b []byte) error) (err error) {
	b, filled := p.data[start:end], false
	if err := allow(b, true, true); err != nil {
		return err
	}
	defer func() { // also where the source panics
		err = errors.Join(err, allow(b, filled, false))
		for i := start / p.page; filled && err == nil && i < p.pages(end); i++ {
			p.here[i] = true
		}
	}()
	err = fill(b)
	filled = err == nil
	return err
}

// readAt reads bytes of the source. Fewer are there where it ends.
func (p *Partial) readAt(b []byte, at int) (n int, err error) {
	n, err = p.source.ReadAt(b, int64(at))
	if n < 0 || n > len(b) {
		return 0, errorf(ErrIO, "the source says that it read %d bytes of %d: mend its ReadAt", n, len(b))
	}
	p.requests, p.fetched = p.requests+1, p.fetched+int64(n)
	if n == len(b) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}
