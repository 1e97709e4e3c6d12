package livebuf

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Space of a document that is edited: taking blocks, freeing them, and growing the bytes (FORMAT 8).

const (
	looked      = 32 // free blocks that a request looks at in each class
	freeClasses = 18
	fullAux     = auxSize + 4*freeClasses
)

// noRoom is the panic of an edit that would make the document longer than one can be. It is caught where edits end.
type noRoom struct{}

func (e *Editor) set8(at uint64, x uint8)   { e.mem[at] = x }
func (e *Editor) set32(at uint64, x uint64) { binary.LittleEndian.PutUint32(e.mem[at:], uint32(x)) }
func (e *Editor) set64(at uint64, x uint64) { binary.LittleEndian.PutUint64(e.mem[at:], x) }

// setWidth writes a number of 1, 2, 4 or 8 bytes.
func (e *Editor) setWidth(at, width, x uint64) {
	switch width {
	case 1:
		e.set8(at, uint8(x))
	case 2:
		binary.LittleEndian.PutUint16(e.mem[at:], uint16(x))
	case 4:
		e.set32(at, x)
	default:
		e.set64(at, x)
	}
}

func (e *Editor) add32(at uint64, x int64) { e.set32(at, uint64(int64(e.u32(at))+x)) }

func (e *Editor) setBit(start, i uint64, bit bool) {
	if bit {
		e.mem[start+i>>3] |= 1 << (i & 7)
	} else {
		e.mem[start+i>>3] &^= 1 << (i & 7)
	}
}

func (e *Editor) zero(at, size uint64) { clear(e.mem[at : at+size]) }

// copy moves bytes within the document.
func (e *Editor) copy(to, from, size uint64) { copy(e.mem[to:to+size], e.mem[from:from+size]) }

// resize gives the document another count of used bytes. New ones are 0.
func (e *Editor) resize(used uint64) {
	have := uint64(len(e.mem))
	switch {
	case used > e.limit && used > have:
		panic(noRoom{})
	case used > uint64(cap(e.mem)):
		bytes := make(mem, used, min(max(2*have, used+used/4, 256), maxUsed))
		copy(bytes, e.mem)
		e.mem = bytes
	default:
		e.mem = e.mem[:used]
		if used > have {
			clear(e.mem[have:])
		}
	}
	e.live.data = e.mem
	e.set32(headerUsed, used)
}

// alloc takes a block of zeros. Its size is rounded up to a multiple of 8; of no bytes it is 0.
func (e *Editor) alloc(size uint64) uint64 {
	if size = word(size); size == 0 {
		return 0
	}
	if aux := e.u32(headerAux); aux != 0 && e.u32(aux+4) >= size {
		free, blocks, since := e.u32(aux+4), e.u32(aux+8), e.u32(aux+12)
		if 8*free > uint64(len(e.mem)) && since >= max(8, blocks/4) {
			e.merge()
		}
		at := e.take(size)
		if at == 0 && e.u32(aux+12) > 0 && (blocks <= 64 || 16*size > free && 16*since > blocks) {
			e.merge()
			at = e.take(size)
		}
		if at != 0 {
			return at
		}
	}
	at := uint64(len(e.mem))
	e.resize(at + size)
	return at
}

// class is the class of a free block.
func (e *Editor) class(size uint64) uint64 {
	return min(uint64(bits.Len64(size/8))-1, uint64(e.u8(e.u32(headerAux)+1))-1)
}

// take is a block of the free list, 0 if none that it looks at is large enough.
func (e *Editor) take(size uint64) uint64 {
	aux := e.u32(headerAux)
	for c, k := e.class(size), uint64(e.u8(aux+1)); c < k; c++ {
		var best, before, bestSize uint64
		previous := aux + auxSize + 4*c
		for range looked {
			block := e.u32(previous)
			if block == 0 {
				break
			}
			if there := e.u32(block + 4); there >= size && (best == 0 || there < bestSize) {
				best, before, bestSize = block, previous, there
				if there == size {
					break
				}
			}
			previous = block
		}
		if best == 0 {
			continue
		}
		e.set32(before, e.u32(best))
		e.zero(best, size) // another editor may have left what was there
		e.add32(aux+4, -int64(bestSize))
		e.add32(aux+8, -1)
		if bestSize > size {
			e.list(best+size, bestSize-size)
		}
		return best
	}
	return 0
}

// list puts bytes into the free list.
func (e *Editor) list(at, size uint64) {
	aux := e.u32(headerAux)
	head := aux + auxSize + 4*e.class(size)
	e.set32(at, e.u32(head))
	e.set32(at+4, size)
	e.set32(head, at)
	e.add32(aux+4, int64(size))
	e.add32(aux+8, 1)
}

// free frees a block. Its size is rounded up to a multiple of 8.
func (e *Editor) free(at, size uint64) {
	if size = word(size); size == 0 {
		return
	}
	e.zero(at, size)
	if at+size == uint64(len(e.mem)) {
		e.resize(at)
		return
	}
	if e.u32(headerAux) == 0 {
		e.startAux(e.alloc(fullAux))
	}
	e.list(at, size)
	e.add32(e.u32(headerAux)+12, 1)
}

// startAux begins the aux block, in bytes that are 0.
func (e *Editor) startAux(at uint64) {
	e.set8(at, kindAux)
	e.set8(at+1, freeClasses)
	e.set32(headerAux, at)
}

// merge joins free blocks that are neighbours, and gives back the end of the document.
func (e *Editor) merge() {
	aux := e.u32(headerAux)
	var blocks []uint32
	for c := range uint64(e.u8(aux + 1)) {
		head := aux + auxSize + 4*c
		for at := e.u32(head); at != 0 && len(blocks) < len(e.mem)/8; at = e.u32(at) {
			blocks = append(blocks, uint32(at))
		}
		e.set32(head, 0)
	}
	slices.Sort(blocks)
	e.set64(aux+4, 0)
	e.set32(aux+12, 0)
	for i := 0; i < len(blocks); {
		at := uint64(blocks[i])
		end := at
		for ; i < len(blocks) && uint64(blocks[i]) == end; i++ {
			size := e.u32(end + 4)
			e.set64(end, 0)
			end += size
		}
		if end == uint64(len(e.mem)) {
			e.resize(at)
		} else {
			e.list(at, end-at)
		}
	}
}

// freeSpan frees what a span cell owns (FORMAT 3.3): whole words only, since the bytes around them may be others'.
func (e *Editor) freeSpan(cell uint64) {
	if cell&spanInline != 0 || cell&spanOwned == 0 {
		return
	}
	at, size := cell&0xffffffff, cell>>32&maxSpan
	if at&7 == 0 {
		e.free(at, size)
	} else if from, to := word(at), (at+size)&^7; to > from {
		e.free(from, to-from)
	}
}
