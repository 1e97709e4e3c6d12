package io.github.livebuf;

import static io.github.livebuf.Layout.*;

/** How a column is to be laid out. */
final class Plan {
    int code;
    int gaps;
    int offsets; // of a list or run, the code of the offsets; 0 where a run has none, since its texts have one length
    boolean waits; // containers wait in it, or below it, that are no part of columns
    int from; // the places of the values: the first one in the planner's list, and their count
    int count;
    long size; // bytes behind the column's header, text and shapes of others apart
    int[] keys; // of a table
    Plan[] columns; // of a table; one more has the orders of rows
    Plan child; // of a list, the column of the elements
    int[] ends; // of a list, where each array ends; null where all have one length
    long[] texts; // of a dictionary: the bits of their items, and which of these are texts that are searched
    byte[] textTags;
    int textCount;
    char[] codes; // of a dictionary, of each slot
    long bytes; // of a run's texts
    Tensor tensor; // the type and shape of a column of tensors

    /** An array of numbers of one type and shape. The numbers are a part of an array of bytes. */
    static final class Tensor {
        final int code;
        final long[] lengths;
        final byte[] data;

        Tensor(int code, long[] lengths, byte[] data) {
            this.code = code;
            this.lengths = lengths;
            this.data = data;
        }

        /** The size of the array by itself. */
        long arraySize() {
            return COLUMN_SIZE + 32 * (lengths.length - 1) + word(data.length);
        }
    }

    /** What a column's values have in common. */
    static final class Summary {
        long count; // slots, with and without a value
        long missing; // those where a row has no such member
        long uuids;
        long plain; // bytes of the containers among them as records and plain arrays
        long low = Long.MAX_VALUE;
        long high = Long.MIN_VALUE;
        double whole = Double.POSITIVE_INFINITY; // the least float that would be an integer in a column of numbers
        long size; // bytes of the smallest column without structs and lists, which leaf finds
        int kinds;
        int code; // the code of that column
        boolean isLarge; // there are integers above 2⁶³ - 1
        boolean isDouble; // four bytes do not hold all floats

        int gaps() {
            return kinds & Planner.OF_NULL | (missing > 0 ? 2 : 0);
        }

        private boolean isWithin(long least, long most) {
            return low >= least && high <= most;
        }

        /** The narrowest column that holds all values but null. */
        private int typed() {
            return switch (kinds & ~Planner.OF_NULL) {
                case 0 -> gaps() != 0 ? CODE_NULL : CODE_CELLS;
                case Planner.OF_INT -> isLarge ? low < 0 ? CODE_CELLS : CODE_U64
                    : isWithin(Byte.MIN_VALUE, Byte.MAX_VALUE) ? CODE_I8
                    : isWithin(0, 0xff) ? CODE_U8
                    : isWithin(Short.MIN_VALUE, Short.MAX_VALUE) ? CODE_I16
                    : isWithin(0, 0xffff) ? CODE_U16
                    : isWithin(Integer.MIN_VALUE, Integer.MAX_VALUE) ? CODE_I32
                    : isWithin(0, U32) ? CODE_U32 : CODE_I64;
                case Planner.OF_FLOAT -> isDouble ? CODE_F64 : CODE_F32;
                case Planner.OF_INT | Planner.OF_FLOAT -> numbers();
                case Planner.OF_BOOL -> CODE_BOOL;
                case Planner.OF_TEXT -> CODE_TEXT;
                case Planner.OF_OBJECT -> CODE_OBJECTS;
                case Planner.OF_ARRAY, Planner.OF_TENSOR, Planner.OF_ARRAY | Planner.OF_TENSOR -> CODE_ARRAYS;
                case Planner.OF_DATE -> CODE_DATE;
                case Planner.OF_TIME -> CODE_TIME;
                case Planner.OF_DATE_TIME -> CODE_DATE_TIME;
                case Planner.OF_TIMESTAMP -> CODE_TIMESTAMP;
                case Planner.OF_DECIMAL -> CODE_DECIMAL;
                case Planner.OF_UUID -> CODE_UUID;
                default -> CODE_CELLS;
            };
        }

        /** The narrowest column that holds these integers and floats. */
        private int numbers() {
            if (isLarge || !isWithin(-Planner.WIDEST_WHOLE, Planner.WIDEST_WHOLE)) {
                return CODE_CELLS;
            }
            boolean isNarrow = !isDouble && isWithin(-Planner.NARROW_WHOLE, Planner.NARROW_WHOLE);
            if (whole <= (isNarrow ? Planner.NARROW_WHOLE : Planner.WIDEST_WHOLE)) {
                return isNarrow ? CODE_MARKED_F32 : CODE_MARKED_F64;
            }
            return isNarrow ? CODE_NUMBERS_F32 : CODE_NUMBERS_F64;
        }

        /** Finds the smallest column without structs and lists: its code, and the bytes of its data. */
        void leaf(boolean areTables) {
            int gaps = gaps();
            code = typed();
            // The bytes of a UUID itself cost nothing, as text does.
            size = bitmapsSize(gaps, count) + (code == CODE_UUID ? 16 * (count - uuids) : valuesSize(code, count));
            if (size > cellsSize(count) || !areTables && (gaps != 0 || code == CODE_UUID)) {
                code = CODE_CELLS;
            }
            if (code == CODE_CELLS) {
                size = cellsSize(count);
            }
        }

        /** The bytes that a column of these values takes at least. */
        long least() {
            int kind = kinds & ~Planner.OF_NULL;
            if (kind == Planner.OF_TEXT || kind == Planner.OF_OBJECT || kind == Planner.OF_ARRAY
                || kind == Planner.OF_TENSOR) {
                return 0;
            }
            leaf(true);
            return size;
        }
    }
}
