//! Printing arrays of rows: what is the same in each row is looked up once.
//!
//! Before the rows of a table or list are printed, its columns become a list of steps: the
//! keys as they are printed, with the columns that hold their values. Objects and arrays
//! that are stored within the columns are steps, too. Other containers go back to the caller.
//! The texts of a dictionary are printed once, each with its key, and copied for the rows.

use std::ops::Range;

use livebuf::{Column, ColumnType, Element, Mode, Value};

use crate::error::Error;
use crate::walk::{Bounds, gone, scalar, some, too_deep};
use crate::write::{NonFinite, PIECE, Piece, Printer};

/// More steps than this are not kept: damaged columns could lead to any number.
const MOST_STEPS: usize = 1 << 12;

/// If the keys and values that were printed ahead are longer than this, no more are.
const MOST_TEXT: usize = 1 << 15;
/// Values that are printed ahead, at most.
const MOST_PIECES: usize = 1 << 12;
/// Bytes that the values of a column may take ahead, whatever the count of its rows.
const FREE_TEXT: usize = 1 << 6;
/// More bytes for each row to print, so that printing ahead never takes much longer than the rows
/// themselves.
const TEXT_OF_ROW: usize = 1 << 5;

/// Columns that lie within each other, at most (FORMAT 6.1).
const DEEPEST: usize = 16;

/// One column, at the place where its value is printed.
struct PrintedColumn<'a, M> {
    /// What is printed before the value, a comma first.
    before: Piece,
    does: Does<'a, M>,
}

enum Does<'a, M> {
    Numbers(Numbers<'a>),
    /// One of few values. They were printed before, with what comes before them.
    Coded(Coded<'a>, Column<'a, M>),
    /// Any value.
    Value(Column<'a, M>),
    /// An object, whose members are the steps up to this one.
    Object(Slots<'a, M>, usize),
    EndObject,
    /// An array of a list column, with its elements among all.
    List(Slots<'a, M>, Rows<'a, M>),
}

/// A column of few different values.
struct Coded<'a> {
    codes: Codes<'a>,
    /// If some rows have no value: the bitmap of those that have one, and the first row's bit.
    valid: Option<(&'a [u8], usize)>,
    /// The values by code, among the pieces of [`Printing`].
    pieces: Range<usize>,
}

/// The code of each row.
enum Codes<'a> {
    /// A bitmap, and the bit of the first row.
    Bits((&'a [u8], usize)),
    U8(&'a [u8]),
    U16(&'a [u16]),
}

#[inline]
fn bit((bits, first): (&[u8], usize), row: usize) -> Option<bool> {
    let at = first.checked_add(row)?;
    bits.get(at / 8).map(|byte| byte >> (at % 8) & 1 == 1)
}

impl Coded<'_> {
    /// The piece of a row. `None` if it has no value, or the column is damaged.
    #[inline]
    fn piece(&self, row: usize, pieces: &[Piece]) -> Option<Piece> {
        if self.valid.is_some_and(|valid| bit(valid, row) != Some(true)) {
            return None;
        }
        let code = match &self.codes {
            Codes::Bits(bits) => bit(*bits, row)?.into(),
            Codes::U8(codes) => usize::from(*codes.get(row)?),
            Codes::U16(codes) => usize::from(*codes.get(row)?),
        };
        pieces.get(self.pieces.clone())?.get(code).copied()
    }
}

/// The slots of a column of containers.
enum Slots<'a, M> {
    /// This many, each with a container. The column is not looked at again.
    Full(usize),
    /// Some may have no container.
    Gaps(Column<'a, M>),
}

impl<'a, M: Mode> Slots<'a, M> {
    fn of(column: Column<'a, M>) -> Self {
        if column.is_complete() { Slots::Full(column.len()) } else { Slots::Gaps(column) }
    }
}

/// The elements of the arrays of a list column.
enum Rows<'a, M> {
    Numbers(Spans<'a, M>, Numbers<'a>),
    /// How many elements there are, and the end of the steps that print each of them.
    Steps(Spans<'a, M>, usize, usize),
}

/// Where arrays begin and end among the elements of a list column.
enum Spans<'a, M> {
    /// Where the first begins, and the length of each.
    Fixed(usize, usize),
    /// Offsets that can be borrowed as a slice.
    Numbers(Numbers<'a>),
    Offsets(Column<'a, M>),
}

/// The numbers of a column in which every slot has one.
enum Numbers<'a> {
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    NumbersF32(&'a [f32]),
    NumbersF64(&'a [f64]),
}

/// An array whose elements are being printed.
struct Turn {
    /// The steps for an element.
    steps: (usize, usize),
    next: usize,
    row: usize,
    end: usize,
}

/// All rows that are being printed; those within others come later.
pub(crate) struct Printing<'a, M> {
    steps: Vec<PrintedColumn<'a, M>>,
    turns: Vec<Turn>,
    pieces: Vec<Piece>,
    text: Printer<'static>,
}

/// An array of rows that is being printed: where its parts begin in [`Printing`].
pub(crate) struct Begun {
    steps: usize,
    turns: usize,
    pieces: usize,
    text: usize,
    /// Containers within it that are open.
    pub(crate) open: usize,
}

impl<'a, M: Mode> Printing<'a, M> {
    pub(crate) fn new() -> Self {
        let text = Printer::new(None, u64::MAX, "", NonFinite::Error);
        Printing { steps: Vec::new(), turns: Vec::new(), pieces: Vec::new(), text }
    }

    /// Prepares to print the elements of an array after its bracket; `None` if they are better
    /// printed one by one.
    pub(crate) fn begin<const PRETTY: bool>(
        &mut self,
        elements: Column<'a, M>,
    ) -> Result<Option<Begun>, Error> {
        let (steps, turns) = (self.steps.len(), self.turns.len());
        let (pieces, text) = (self.pieces.len(), self.text.length());
        let begun = Begun { steps, turns, pieces, text, open: 0 };
        let end = elements.len();
        if !self.element::<PRETTY>(elements, end, 0)? {
            self.end(&begun);
            return Ok(None);
        }
        self.turns.push(Turn { steps: (steps, self.steps.len()), next: steps, row: 0, end });
        Ok(Some(begun))
    }

    fn end(&mut self, begun: &Begun) {
        self.steps.truncate(begun.steps);
        self.turns.truncate(begun.turns);
        self.pieces.truncate(begun.pieces);
        self.text.cut(begun.text);
    }

    /// The steps for an element. `rows` of them are to be printed.
    fn element<const PRETTY: bool>(
        &mut self,
        elements: Column<'a, M>,
        rows: usize,
        depth: usize,
    ) -> Result<bool, Error> {
        let start = self.text.length();
        self.text.literal(",")?;
        let Some(comma) = self.text.piece(start, Piece::SHORT) else { return Ok(false) };
        self.step::<PRETTY>(comma, elements, rows, depth)
    }

    /// The steps for a column's values, of which `rows` are to be printed; false where there would
    /// be too many steps, or keys are too long.
    fn step<const PRETTY: bool>(
        &mut self,
        before: Piece,
        column: Column<'a, M>,
        rows: usize,
        depth: usize,
    ) -> Result<bool, Error> {
        if self.steps.len() >= MOST_STEPS || depth > DEEPEST {
            return Ok(false);
        }
        let at = self.steps.len();
        self.steps.push(PrintedColumn { before, does: Does::EndObject });
        let does = match column.column_type() {
            ColumnType::Struct if differs(&column)? => Does::Value(column),
            ColumnType::Struct => {
                let table = some(M::result(column.table()))?;
                for member in table.columns() {
                    let (key, values) = M::item_result(member).map_err(Error::document)?;
                    let start = self.text.length();
                    self.text.literal(",")?;
                    self.text.key::<false>(key, true, 0)?;
                    if PRETTY {
                        self.text.literal(" ")?;
                    }
                    let Some(before) = self.text.piece(start, Piece::SHORT) else {
                        return Ok(false);
                    };
                    if !self.step::<PRETTY>(before, values, rows, depth + 1)? {
                        return Ok(false);
                    }
                }
                self.steps.push(PrintedColumn { before, does: Does::EndObject });
                Does::Object(Slots::of(column), self.steps.len())
            }
            ColumnType::List | ColumnType::FixedList => {
                let elements = some(M::result(column.elements()))?;
                let spans = match column.fixed_length() {
                    Some(length) => {
                        let first = M::result(column.bounds(0)).map_err(Error::document)?;
                        Spans::Fixed(first.map_or(0, |first| first.start), length)
                    }
                    None => {
                        let offsets = some(M::result(column.offsets()))?;
                        Numbers::of(&offsets).map_or(Spans::Offsets(offsets), Spans::Numbers)
                    }
                };
                let rows = match Numbers::of(&elements) {
                    Some(numbers) => Rows::Numbers(spans, numbers),
                    None if self.element::<PRETTY>(elements, spans.within(rows), depth + 1)? => {
                        Rows::Steps(spans, elements.len(), self.steps.len())
                    }
                    None => return Ok(false),
                };
                Does::List(Slots::of(column), rows)
            }
            ColumnType::Bool | ColumnType::DictionaryU8 | ColumnType::DictionaryU16 => {
                match self.coded(before, &column, rows) {
                    Some(coded) => Does::Coded(coded, column),
                    None => Does::Value(column),
                }
            }
            _ => match Numbers::of(&column) {
                Some(numbers) => Does::Numbers(numbers),
                None => Does::Value(column),
            },
        };
        self.steps[at].does = does;
        Ok(true)
    }

    /// Prints each value that a column of few different ones may have, with what comes before it.
    /// `None` for other columns, damaged ones, and where the rows to be printed are too few.
    fn coded(&mut self, before: Piece, column: &Column<'a, M>, rows: usize) -> Option<Coded<'a>> {
        let (length, first) = (self.text.length(), self.pieces.len());
        let coded = self.print_codes(before, column, rows);
        if coded.is_none() {
            self.pieces.truncate(first);
            self.text.cut(length);
        }
        coded
    }

    fn print_codes(
        &mut self,
        before: Piece,
        column: &Column<'a, M>,
        rows: usize,
    ) -> Option<Coded<'a>> {
        let first = self.pieces.len();
        let most = rows.saturating_mul(TEXT_OF_ROW).saturating_add(self.text.length() + FREE_TEXT);
        let most = most.min(MOST_TEXT);
        let pays = |values: usize| values <= rows / 2 && first + values <= MOST_PIECES;
        let valid = match column.is_complete() {
            true => None,
            false => Some(column.validity()?),
        };
        let codes = if let Some(booleans) = column.booleans().filter(|_| pays(2)) {
            for literal in ["false", "true"] {
                self.piece(before, most, literal.len(), |text| text.literal(literal))?;
            }
            Codes::Bits(booleans)
        } else {
            let dictionary = M::result(column.dictionary()).ok()??;
            if !pays(dictionary.texts().len()) {
                return None;
            }
            for text in dictionary.texts().iter() {
                let text = M::item_result(text).ok()??;
                // A damaged dictionary may have a text of any length.
                let length = M::result(text.as_text_bytes()).ok()??.len();
                let print =
                    |printer: &mut Printer<'_>| printer.string(some(M::result(text.as_str()))?);
                self.piece(before, most, length, print)?;
            }
            match dictionary.codes() {
                livebuf::Codes::U8(codes) => Codes::U8(codes),
                livebuf::Codes::U16(codes) => Codes::U16(codes),
            }
        };
        Some(Coded { codes, valid, pieces: first..self.pieces.len() })
    }

    /// Prints a value of `length` bytes at least, and what comes before it. `None` where the text
    /// would be longer than `most`.
    fn piece(
        &mut self,
        before: Piece,
        most: usize,
        length: usize,
        print: impl FnOnce(&mut Printer<'static>) -> Result<(), Error>,
    ) -> Option<()> {
        let start = self.text.length();
        if length > PIECE || start + length > most {
            return None;
        }
        self.text.repeat(before).ok()?;
        print(&mut self.text).ok()?;
        self.pieces.push(self.text.piece(start, PIECE)?);
        (self.text.length() <= most).then_some(())
    }

    /// Prints rows up to the next container that is not part of their columns, and returns it; or
    /// up to their end, with the closing bracket.
    pub(crate) fn go_on<const PRETTY: bool>(
        &mut self,
        printer: &mut Printer<'_>,
        begun: &mut Begun,
        first: &mut bool,
        outside: usize,
        bounds: &mut Bounds,
    ) -> Result<Option<Value<'a, M>>, Error> {
        let Printing { steps, turns, pieces, text } = self;
        while let Some(turn) = turns.last_mut() {
            if turn.next == turn.steps.1 {
                turn.row += 1;
                turn.next = turn.steps.0;
            }
            if turn.row >= turn.end {
                let ended = turns.len() - 1;
                printer.close::<PRETTY>(b']', *first, outside + begun.open - 1)?;
                *first = false;
                turns.pop();
                if ended == begun.turns {
                    self.end(begun);
                    return Ok(None);
                }
                begun.open -= 1;
                continue;
            }
            if turn.next == turn.steps.0 {
                // An object has a step for its end, too, but only one place.
                let places = (turn.steps.1 - turn.steps.0).div_ceil(2) as u64;
                bounds.places = bounds.places.checked_sub(places).ok_or_else(gone)?;
            }
            // Local variables, so that the loop keeps them in registers.
            let (row, mut next, mut is_first) = (turn.row, turn.next, *first);
            let (mut left, mut inner) = (None, None);
            let end_of_steps = turn.steps.1;
            while let Some(step) = steps.get(next).filter(|_| next < end_of_steps) {
                let depth = outside + begun.open;
                next += 1;
                let column = match &step.does {
                    Does::Numbers(numbers) => {
                        printer.again::<PRETTY>(text, step.before, is_first, depth)?;
                        is_first = false;
                        numbers.print(printer, row)?;
                        continue;
                    }
                    Does::EndObject => {
                        begun.open -= 1;
                        printer.close::<PRETTY>(b'}', is_first, depth - 1)?;
                        is_first = false;
                        continue;
                    }
                    Does::Coded(coded, column) => match coded.piece(row, pieces) {
                        Some(piece) => {
                            printer.again::<PRETTY>(text, piece, is_first, depth)?;
                            is_first = false;
                            continue;
                        }
                        None => Some(column),
                    },
                    Does::Value(column) => Some(column),
                    Does::Object(slots, _) | Does::List(slots, _) => match slots {
                        Slots::Gaps(column) => Some(column),
                        Slots::Full(count) if row < *count => None,
                        Slots::Full(_) => return Err(gone()),
                    },
                };
                // If this row has no container, its steps are skipped.
                let behind = |next: usize| match &step.does {
                    Does::Object(_, after) | Does::List(_, Rows::Steps(_, _, after)) => *after,
                    _ => next,
                };
                let value = match column {
                    Some(column) => {
                        let value = M::result(column.get(row)).map_err(Error::document)?;
                        if value.is_none() {
                            next = behind(next);
                            continue;
                        }
                        value
                    }
                    None => None,
                };
                printer.again::<PRETTY>(text, step.before, is_first, depth)?;
                is_first = false;
                if let Some(value) = value {
                    if scalar(printer, &value)? {
                        next = behind(next);
                        continue;
                    }
                    if matches!(step.does, Does::Value(_)) {
                        left = Some(value);
                        break;
                    }
                }
                if depth >= bounds.nesting {
                    return Err(too_deep());
                }
                match &step.does {
                    Does::Object(..) => {
                        printer.open(b'{')?;
                        begun.open += 1;
                        is_first = true;
                    }
                    Does::List(_, Rows::Steps(spans, count, after)) => {
                        let (from, end) = spans.of(row)?;
                        if end > *count {
                            return Err(gone());
                        }
                        printer.open(b'[')?;
                        if from >= end {
                            printer.close::<PRETTY>(b']', true, depth)?;
                            next = *after;
                            continue;
                        }
                        begun.open += 1;
                        is_first = true;
                        inner = Some(Turn { steps: (next, *after), next, row: from, end });
                        next = *after;
                        break;
                    }
                    Does::List(_, Rows::Numbers(spans, numbers)) => {
                        let (from, end) = spans.of(row)?;
                        printer.open(b'[')?;
                        for at in from..end {
                            printer.separate::<PRETTY>(at == from, depth + 1)?;
                            numbers.print(printer, at)?;
                        }
                        printer.close::<PRETTY>(b']', from >= end, depth)?;
                    }
                    _ => {}
                }
            }
            (turn.next, *first) = (next, is_first);
            turns.extend(inner);
            if left.is_some() {
                return Ok(left);
            }
        }
        Ok(None)
    }
}

/// Whether some rows have members beside the columns, or in another order.
fn differs<M: Mode>(column: &Column<'_, M>) -> Result<bool, Error> {
    let table = some(M::result(column.table()))?;
    let orders = M::result(table.orders()).map_err(Error::document)?;
    Ok(table.has_further_fields() || orders.is_some())
}

impl<M: Mode> Spans<'_, M> {
    /// How many elements the first `rows` arrays have; 0 where they are damaged.
    fn within(&self, rows: usize) -> usize {
        let Some(last) = rows.checked_sub(1) else { return 0 };
        match (self.of(0), self.of(last)) {
            (Ok((from, _)), Ok((_, end))) => end.saturating_sub(from),
            _ => 0,
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn of(&self, row: usize) -> Result<(usize, usize), Error> {
        match self {
            Spans::Fixed(first, length) => {
                let from = row.saturating_mul(*length).saturating_add(*first);
                Ok((from, from.saturating_add(*length)))
            }
            Spans::Numbers(offsets) => {
                let at = |row| offsets.offset(row).ok_or_else(gone);
                Ok((at(row)?, at(row + 1)?))
            }
            Spans::Offsets(offsets) => {
                let at = |row| {
                    let offset = some(M::result(offsets.get(row)))?;
                    offset.as_u64().map(|offset| offset as usize).ok_or_else(gone)
                };
                Ok((at(row)?, at(row + 1)?))
            }
        }
    }
}

impl Numbers<'_> {
    /// The offset at this place, where these are offsets.
    #[inline]
    fn offset(&self, at: usize) -> Option<usize> {
        match self {
            Numbers::U8(offsets) => offsets.get(at).map(|&offset| offset.into()),
            Numbers::U16(offsets) => offsets.get(at).map(|&offset| offset.into()),
            Numbers::U32(offsets) => offsets.get(at).map(|&offset| offset as usize),
            _ => None,
        }
    }
}

macro_rules! numbers {
    ($($variant:ident $method:ident),+) => {
        impl<'a> Numbers<'a> {
            fn of<M: Mode>(column: &Column<'a, M>) -> Option<Self> {
                if !column.is_complete() {
                    return None;
                }
                fn slots<'a, T: Element, M: Mode>(column: &Column<'a, M>) -> Option<&'a [T]> {
                    column.slots()
                }
                match column.column_type() {
                    $(ColumnType::$variant => slots(column).map(Numbers::$variant),)+
                    _ => None,
                }
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn print(&self, printer: &mut Printer<'_>, at: usize) -> Result<(), Error> {
                match self {
                    $(Numbers::$variant(values) => {
                        printer.$method((*values.get(at).ok_or_else(gone)?).into())
                    })+
                }
            }
        }
    };
}
numbers!(
    I8 i64, I16 i64, I32 i64, I64 i64, U8 u64, U16 u64, U32 u64, U64 u64, F32 f64, F64 f64,
    NumbersF32 number_f32, NumbersF64 number_f64
);
