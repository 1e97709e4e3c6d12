package livebuf

// The numbers of docs/FORMAT.md.

const (
	magic      = 0x46424cab // AB 4C 42 46, as a little-endian number
	version    = 1
	headerSize = 32
	maxUsed    = 1<<32 - 8
)

// Fields of the header (FORMAT 2).
const (
	headerVersion  = 4
	headerRefuse   = 5
	headerReadOnly = 6
	headerIgnore   = 7
	headerRoot     = 8
	headerRootTag  = 16
	headerUsed     = 20
	headerShapes   = 24
	headerAux      = 28

	flagState = 2 // bit 1 of headerIgnore
)

// Kinds of blocks (FORMAT 3.5).
const (
	kindShape     = 1
	kindRecord    = 2
	kindForward   = 3
	kindMap       = 4
	kindArray     = 5
	kindWideShape = 6
	kindAux       = 7
	kindTable     = 8
	kindList      = 9
)

// Tags of values (FORMAT 3.2 and 3.6).
const (
	tagNothing      = 0x00
	tagNull         = 0x01
	tagFalse        = 0x02
	tagTrue         = 0x03
	tagInt          = 0x04
	tagUint         = 0x05
	tagFloat        = 0x06
	tagDecimal      = 0x07
	tagTimestamp    = 0x08
	tagDate         = 0x09
	tagTime         = 0x0a
	tagDateTime     = 0x0b
	tagText         = 0x10 // the first tag of a span
	tagBytes        = 0x11
	tagNumberText   = 0x12
	tagUUID         = 0x13
	tagLargeDecimal = 0x14
	tagObject       = 0x20 // the first tag of a node
	tagArray        = 0x21
	tagUndefined    = 0x30 // the first tag that is an error
)

// Codes of columns (FORMAT 6.1).
const (
	codeCells         = 0
	codeBool          = 1
	codeI8            = 2
	codeI16           = 3
	codeI32           = 4
	codeI64           = 5
	codeU8            = 6
	codeU16           = 7
	codeU32           = 8
	codeU64           = 9
	codeF32           = 10
	codeF64           = 11
	codeText          = 12
	codeObjects       = 13
	codeArrays        = 14
	codeNull          = 15
	codeStruct        = 16
	codeList          = 17
	codeFixedList     = 18
	codeNumbersF32    = 19
	codeNumbersF64    = 20
	codeMarkedF32     = 21
	codeMarkedF64     = 22
	codeDictionaryU8  = 23
	codeDictionaryU16 = 24
	codeRun           = 25
	codeDate          = 26
	codeTime          = 27
	codeDateTime      = 28
	codeTimestamp     = 29
	codeDecimal       = 30
	codeUUID          = 31
	codeF16           = 32 // tensors only
	codeBool8         = 33 // tensors only
	codeCount         = 34
)

// columnType says how columns of one code store their values.
type columnType struct {
	width uint8 // bytes of a slot; 0 where slots are tagged cells, take bits or nothing
	tag   uint8 // tag of the values; those of a slot differ where it is tagNothing
	gaps  bool  // whether slots may be without a value
}

var columnTypes = [codeCount]columnType{
	codeCells:         {0, tagNothing, false},
	codeBool:          {0, tagTrue, true},
	codeI8:            {1, tagInt, true},
	codeI16:           {2, tagInt, true},
	codeI32:           {4, tagInt, true},
	codeI64:           {8, tagInt, true},
	codeU8:            {1, tagInt, true},
	codeU16:           {2, tagInt, true},
	codeU32:           {4, tagInt, true},
	codeU64:           {8, tagUint, true},
	codeF32:           {4, tagFloat, true},
	codeF64:           {8, tagFloat, true},
	codeText:          {8, tagText, true},
	codeObjects:       {4, tagObject, true},
	codeArrays:        {4, tagArray, true},
	codeNull:          {0, tagNull, true},
	codeStruct:        {0, tagObject, true},
	codeList:          {0, tagArray, true},
	codeFixedList:     {0, tagArray, true},
	codeNumbersF32:    {4, tagFloat, true},
	codeNumbersF64:    {8, tagFloat, true},
	codeMarkedF32:     {4, tagFloat, true},
	codeMarkedF64:     {8, tagFloat, true},
	codeDictionaryU8:  {1, tagText, true},
	codeDictionaryU16: {2, tagText, true},
	codeRun:           {0, tagText, true},
	codeDate:          {4, tagDate, true},
	codeTime:          {8, tagTime, true},
	codeDateTime:      {8, tagDateTime, true},
	codeTimestamp:     {8, tagTimestamp, true},
	codeDecimal:       {8, tagDecimal, true},
	codeUUID:          {16, tagUUID, true},
	codeF16:           {2, tagFloat, false},
	codeBool8:         {1, tagTrue, false},
}

// Limits (FORMAT 1 and 3.3).
const (
	maxShared        = 1024 // bytes of a span that is not owned
	maxSpan          = 1<<30 - 1
	maxKey           = 255
	maxFields        = 255
	maxColumns       = 65535
	maxElements      = 1<<31 - 1
	maxNesting       = 1000
	textPerByte      = 1025 // bytes of text that the values of a valid document have at most, for each of its bytes (FORMAT 11)
	maxColumnNesting = 16
	maxDimensions    = 16
	maxTreeLevel     = 11
	maxBuckets       = 1 << 26
	maxUnindexed     = 16 // entries in use of a map without an index
)

// Sizes and places of parts of blocks.
const (
	columnSize    = 16 // the header of a column
	mapSize       = 48
	mapValues     = 32 // in a map, the header of its values
	tableSize     = 24 // a table before the headers of its columns
	listElements  = 16 // in a list, the header of its elements
	listOffsets   = 32 // in a list with offsets, their header
	treeNodeSize  = 256
	treeNodeItems = 63
	bucketSize    = 64
	bucketPlaces  = 12
	auxSize       = 24 // the aux block before the heads of its classes
	auxState      = 20 // in the aux block, the place of the state
	stateSize     = 16

	spanInline = 1 << 63 // of a span cell: its bytes are in the cell
	spanOwned  = 1 << 62 // of any other: no other cell refers to its bytes
)

// word is n, rounded up to a multiple of 8.
func word(n uint64) uint64 { return (n + 7) &^ 7 }

// tagAt is where tag i of tagged cells is, from their beginning (FORMAT 3.4).
func tagAt(i uint64) uint64 { return i>>3*72 + i&7 }

// cellAt is where cell i of tagged cells is.
func cellAt(i uint64) uint64 { return 8 + 8*(i+i>>3) }

// cellsSize is the size of n tagged cells.
func cellsSize(n uint64) uint64 { return 8 * (n + (n+7)>>3) }

// recordSize is the size of a record by its capacity (FORMAT 5).
func recordSize(capacity uint64) uint64 { return 8 + cellsSize(capacity) }

// shapeSize is the size of a shape by its capacity (FORMAT 4.1).
func shapeSize(capacity uint64) uint64 { return word(8+capacity) + 8*capacity }

// wideShapeSize is the size of a wide shape by its count of keys (FORMAT 4.3).
func wideShapeSize(count uint64) uint64 { return word(16+2*count) + 8*count }

// bitmapSize is the size of one bitmap of so many slots (FORMAT 6.2).
func bitmapSize(slots uint64) uint64 { return (slots + 63) >> 6 << 3 }

// bitmapsSize is the size of all bitmaps of a column.
func bitmapsSize(gaps uint8, slots uint64) uint64 {
	switch gaps {
	case 0:
		return 0
	case 3:
		return 2 * bitmapSize(slots)
	}
	return bitmapSize(slots)
}

// isNested says whether a column's data is a table or a list, which names its bitmaps.
func isNested(code uint8) bool { return code >= codeStruct && code <= codeFixedList || code == codeRun }

// isDictionary says whether a column's slots are numbers of texts.
func isDictionary(code uint8) bool { return code == codeDictionaryU8 || code == codeDictionaryU16 }

// valuesSize is the size of a column's values, without bitmaps, by its code and its capacity (FORMAT 6.1). It is 0 for
// columns whose data is a table or a list.
func valuesSize(code uint8, capacity uint64) uint64 {
	size := word(uint64(columnTypes[code].width) * capacity)
	switch code {
	case codeCells:
		return cellsSize(capacity)
	case codeBool:
		return bitmapSize(capacity)
	case codeMarkedF32, codeMarkedF64:
		return size + bitmapSize(capacity)
	case codeDictionaryU8, codeDictionaryU16:
		return size + columnSize
	}
	return size
}
