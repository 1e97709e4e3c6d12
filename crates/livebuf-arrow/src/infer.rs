//! Which types the columns of an array have: one pass over what storage does not tell.
//!
//! What a column is follows from its values, not from how they happen to be stored; a
//! few things excepted, which are free to know: widths, when asked for, and lists that
//! are stored as lists of one length.

use std::borrow::Cow;
use std::collections::HashMap;

use livebuf::{Array, Checked, Column, ColumnType, Decimal, Kind, Object, Table, Valid, Value};

use crate::document::can_have;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{Field, Layout, MAX_DEPTH, Number, Type, Unit};

/// An object within a row that has more keys becomes JSON text.
pub(crate) const MAX_NESTED_FIELDS: usize = 1_024;
/// More columns, those within structs counted too, are refused.
pub(crate) const MAX_FIELDS: usize = 65_535;

const BOOL: u16 = 1;
const INTEGER: u16 = 2;
const FLOAT: u16 = 4;
const TEXT: u16 = 8;
const BYTES: u16 = 16;
const OBJECT: u16 = 32;
const ARRAY: u16 = 64;
/// What is too deep for Arrow.
const OTHER: u16 = 128;
const DATE: u16 = 256;
const TIME: u16 = 512;
const DATE_TIME: u16 = 1024;
const TIMESTAMP: u16 = 2048;
const DECIMAL: u16 = 4096;
const UUID: u16 = 8192;
const NUMBER_TEXT: u16 = 16384;
/// Kinds in words.
const WORDS: [(u16, &str); 15] = [
    (BOOL, "booleans"),
    (INTEGER, "integers"),
    (FLOAT, "floats"),
    (DECIMAL, "decimals"),
    (NUMBER_TEXT, "long numbers"),
    (TEXT, "texts"),
    (BYTES, "bytes"),
    (DATE, "dates"),
    (TIME, "times"),
    (DATE_TIME, "dates with times"),
    (TIMESTAMP, "timestamps"),
    (UUID, "UUIDs"),
    (OBJECT, "objects"),
    (ARRAY, "arrays"),
    (OTHER, "values within too many others"),
];

/// What was seen in a column.
#[derive(Default)]
pub(crate) struct Seen<'a> {
    look: Look,
    kinds: u16,
    /// Bounds of the integers.
    values: Range,
    /// The same; but of a typed column, the bounds of its type.
    storage: Range,
    /// Whether a float may need more than four bytes.
    double: bool,
    exact: Exact,
    texts: Texts,
    members: Members<'a>,
    element: Option<Box<Seen<'a>>>,
    lengths: Lengths,
    /// Elements of lists.
    elements: u64,
    decimals: Digits,
    /// An integer that a float does not hold.
    rounded: Option<i128>,
}

/// How closely values are looked at.
#[derive(Clone, Copy, Default)]
struct Look {
    /// Narrow integers, too, for their bounds.
    bounds: bool,
    /// The digits of floats.
    digits: bool,
}

/// Most digits of decimals before and behind their points.
#[derive(Clone, Copy, Default)]
struct Digits {
    whole: u32,
    scale: u8,
    /// A number that no decimal holds.
    exceeded: bool,
    /// NaN or an infinity.
    not_finite: bool,
}

#[derive(Clone, Copy, Default)]
struct Range {
    low: i128,
    high: i128,
}

impl Range {
    fn add(&mut self, low: impl Into<i128>, high: impl Into<i128>) {
        self.low = self.low.min(low.into());
        self.high = self.high.max(high.into());
    }

    /// Digits of the longest one.
    fn digits(self) -> u32 {
        let longest = self.low.unsigned_abs().max(self.high.unsigned_abs());
        longest.checked_ilog10().map_or(0, |log| log + 1)
    }
}

/// Whether a double holds an integer.
pub(crate) fn is_float(integer: i128) -> bool {
    integer as f64 as i128 == integer
}

impl Digits {
    fn fit(self) -> bool {
        !self.exceeded && self.whole + u32::from(self.scale) <= Decimal::DIGITS.into()
    }

    fn add(&mut self, value: Decimal) {
        let magnitude = value.coefficient().unsigned_abs();
        let digits = magnitude.checked_ilog10().map_or(0, |log| log + 1);
        self.whole = self.whole.max(digits.saturating_sub(value.scale().into()));
        self.scale = self.scale.max(value.scale());
    }

    /// A decimal that holds these, and integers.
    fn decimal(mut self, integers: Range) -> Option<Type> {
        self.whole = self.whole.max(integers.digits());
        let (precision, scale) = (Decimal::DIGITS, self.scale.into());
        self.fit().then_some(Type::Decimal { width: 16, precision, scale })
    }
}

/// How texts are stored.
#[derive(Clone, Copy, Default, PartialEq)]
enum Texts {
    #[default]
    None,
    /// All in one dictionary, by codes of this type.
    Codes(Number),
    Any,
}

/// Which numbers of tensors there are.
#[derive(Clone, Copy, Default, PartialEq)]
enum Exact {
    #[default]
    None,
    /// None but those of tensors of this type.
    Of(Number),
    Any,
}

/// Lengths of the arrays in a list column.
#[derive(Clone, Copy, Default, PartialEq)]
enum Lengths {
    #[default]
    None,
    /// All are tensors of this length.
    Fixed(usize),
    Any,
}

impl Lengths {
    fn add(&mut self, length: Option<usize>) {
        *self = match (*self, length) {
            (Lengths::None, Some(length)) => Lengths::Fixed(length),
            (Lengths::Fixed(known), Some(length)) if known == length => *self,
            _ => Lengths::Any,
        };
    }
}

/// Keys in the order in which they were met.
#[derive(Default)]
struct Members<'a> {
    list: Vec<(Cow<'a, str>, Seen<'a>)>,
    places: HashMap<Cow<'a, str>, usize>,
    /// Where the next key is expected.
    next: usize,
}

impl<'a> Members<'a> {
    fn get(&mut self, key: &'a str, look: Look) -> &mut Seen<'a> {
        let place = match self.list.get(self.next) {
            Some((expected, _)) if *expected == key => self.next,
            _ => self.place(Cow::Borrowed(key)),
        };
        self.next = place + 1;
        let seen = &mut self.list[place].1;
        seen.look = look;
        seen
    }

    fn place(&mut self, key: Cow<'a, str>) -> usize {
        let Some(&place) = self.places.get(&key) else {
            self.list.push((key.clone(), Seen::default()));
            self.places.insert(key, self.list.len() - 1);
            return self.list.len() - 1;
        };
        place
    }
}

impl Seen<'static> {
    /// For some of the rows: whether any is negative matters if others are greater.
    pub(crate) fn of_some(choice: Choice) -> Self {
        let mut seen = Seen::of(choice);
        seen.look.bounds = true;
        seen
    }

    /// Adds what was seen of other rows, whose document need not stay.
    pub(crate) fn absorb(&mut self, other: &Seen<'_>) {
        self.kinds |= other.kinds;
        self.values.add(other.values.low, other.values.high);
        self.storage.add(other.storage.low, other.storage.high);
        self.double |= other.double;
        self.exact = match (self.exact, other.exact) {
            (Exact::None, exact) | (exact, Exact::None) => exact,
            (one, two) if one == two => one,
            _ => Exact::Any,
        };
        self.texts = match (self.texts, other.texts) {
            (Texts::None, texts) | (texts, Texts::None) => texts,
            (one, two) if one == two => one,
            _ => Texts::Any,
        };
        self.lengths = match (self.lengths, other.lengths) {
            (Lengths::None, lengths) | (lengths, Lengths::None) => lengths,
            (one, two) if one == two => one,
            _ => Lengths::Any,
        };
        self.elements = self.elements.saturating_add(other.elements);
        self.decimals.whole = self.decimals.whole.max(other.decimals.whole);
        self.decimals.scale = self.decimals.scale.max(other.decimals.scale);
        self.decimals.exceeded |= other.decimals.exceeded;
        self.decimals.not_finite |= other.decimals.not_finite;
        self.rounded = self.rounded.or(other.rounded);
        for (key, member) in &other.members.list {
            let place = self.members.place(Cow::Owned(key.as_ref().to_owned()));
            self.members.list[place].1.absorb(member);
        }
        if let Some(element) = &other.element {
            self.element.get_or_insert_default().absorb(element);
        }
    }
}

/// What may still be looked at in documents that are not known to be valid: in damaged ones,
/// columns lie within each other without end.
pub(crate) struct Left {
    columns: usize,
    rows: usize,
}

impl Left {
    /// For a document of this many bytes. A row of a column that lacks values takes a bit at least.
    pub(crate) fn of(document: usize) -> Left {
        Left { columns: MAX_FIELDS, rows: document.saturating_mul(8) }
    }

    fn take_column(&mut self) -> bool {
        self.columns = self.columns.saturating_sub(1);
        self.columns > 0
    }

    /// Whether a value is found that is not null.
    fn has_value(&mut self, column: &Column<'_, Checked>) -> livebuf::Result<bool> {
        for value in column.iter().take(self.rows) {
            self.rows -= 1;
            if value?.is_some_and(|value| !value.is_null()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn is_value(value: &Option<Value<'_, Valid>>) -> bool {
    value.is_some_and(|value| !value.is_null())
}

impl<'a> Seen<'a> {
    /// To choose types by.
    pub(crate) fn of(choice: Choice) -> Self {
        let digits = choice.numbers == Numbers::Decimal;
        Seen { look: Look { bounds: false, digits }, ..Seen::default() }
    }

    /// Looks at a column, `depth` lists and structs within the rows.
    pub(crate) fn column(&mut self, column: Column<'a, Valid>, depth: usize) {
        let stored = column.column_type();
        if matches!(stored, ColumnType::Null) || column.is_empty() {
            return;
        }
        if matches!(stored, ColumnType::Cells | ColumnType::Objects | ColumnType::Arrays) {
            return column.iter().flatten().for_each(|value| self.value(value, depth));
        }
        if !column.is_complete() && !column.iter().any(|value| is_value(&value)) {
            return;
        }
        self.numbers_of(Number::of_tensor(stored).filter(|_| column.tensor().is_some()));
        macro_rules! integers {
            ($type:ty) => {{
                self.kinds |= INTEGER;
                self.storage.add(<$type>::MIN, <$type>::MAX);
                match column.slots::<$type>() {
                    // Slots without a value hold 0, which is no bound.
                    Some(slots) => {
                        let bounds = (slots.iter().min(), slots.iter().max());
                        if let (Some(&low), Some(&high)) = bounds {
                            self.values.add(low, high);
                        }
                        let mut integers = slots.iter().map(|&slot| i128::from(slot));
                        if size_of::<$type>() > 4 && self.rounded.is_none() {
                            self.rounded = integers.find(|&integer| !is_float(integer));
                        }
                    }
                    None => column.iter().flatten().for_each(|value| self.integer(&value)),
                }
            }};
        }
        if self.of_type(stored) {
            if self.look.digits && self.double {
                column.iter().flatten().for_each(|value| self.digits(&value));
            }
            return;
        }
        match stored {
            ColumnType::I8 => integers!(i8),
            ColumnType::I16 => integers!(i16),
            ColumnType::I32 => integers!(i32),
            ColumnType::I64 => integers!(i64),
            ColumnType::U64 => integers!(u64),
            ColumnType::Struct if depth < MAX_DEPTH => {
                self.kinds |= OBJECT;
                if let Some(table) = column.table() {
                    self.table(table, depth);
                }
            }
            ColumnType::List | ColumnType::FixedList if depth < MAX_DEPTH => {
                self.kinds |= ARRAY;
                self.list(column, depth);
            }
            _ => column.iter().flatten().for_each(|value| self.value(value, depth)),
        }
    }

    /// Adds numbers of tensors of a type, or others.
    fn numbers_of(&mut self, number: Option<Number>) {
        self.exact = match (self.exact, number) {
            (Exact::None, Some(number)) => Exact::Of(number),
            (Exact::Of(known), Some(number)) if known == number => self.exact,
            _ => Exact::Any,
        };
    }

    /// Adds values that are stored by a type which says all about them. False for other types.
    fn of_type(&mut self, stored: ColumnType) -> bool {
        macro_rules! integers {
            ($type:ty) => {{
                self.kinds |= INTEGER;
                self.values.add(<$type>::MIN, <$type>::MAX);
                self.storage.add(<$type>::MIN, <$type>::MAX);
            }};
        }
        match stored {
            ColumnType::Bool | ColumnType::Bool8 => self.kinds |= BOOL,
            ColumnType::I8 if !self.look.bounds => integers!(i8),
            ColumnType::I16 if !self.look.bounds => integers!(i16),
            ColumnType::I32 if !self.look.bounds => integers!(i32),
            ColumnType::U8 => integers!(u8),
            ColumnType::U16 => integers!(u16),
            ColumnType::U32 => integers!(u32),
            ColumnType::F16 | ColumnType::F32 | ColumnType::NumbersF32 | ColumnType::MarkedF32 => {
                self.kinds |= FLOAT;
            }
            ColumnType::F64 | ColumnType::NumbersF64 | ColumnType::MarkedF64 => {
                self.kinds |= FLOAT;
                self.double = true;
            }
            ColumnType::String | ColumnType::TextRun => self.text(Texts::Any),
            ColumnType::DictionaryU8 => self.text(Texts::Codes(Number::U8)),
            ColumnType::DictionaryU16 => self.text(Texts::Codes(Number::U16)),
            ColumnType::Date => self.kinds |= DATE,
            ColumnType::Time => self.kinds |= TIME,
            ColumnType::DateTime => self.kinds |= DATE_TIME,
            ColumnType::Timestamp => self.kinds |= TIMESTAMP,
            ColumnType::Uuid => self.kinds |= UUID,
            _ => return false,
        }
        true
    }

    /// Adds what a column's header says. The column need not be valid: nothing is believed but
    /// types and keys. False where its values decide; what was added is then of no use.
    ///
    /// For a column that is all that is seen: its integers meet no others.
    pub(crate) fn header(
        &mut self,
        column: Column<'a, Checked>,
        depth: usize,
        left: &mut Left,
    ) -> livebuf::Result<bool> {
        let stored = column.column_type();
        if matches!(stored, ColumnType::Null) || column.is_empty() {
            return Ok(true);
        }
        if !left.take_column() || !column.is_complete() && !left.has_value(&column)? {
            return Ok(false);
        }
        let number = match Number::of_tensor(stored) {
            Some(number) => column.tensor()?.map(|_| number),
            None => None,
        };
        self.numbers_of(number);
        if self.of_type(stored) {
            return Ok(true);
        }
        match stored {
            ColumnType::I64 => {
                self.kinds |= INTEGER;
                self.values.add(i64::MIN, i64::MAX);
                self.storage.add(i64::MIN, i64::MAX);
                Ok(true)
            }
            ColumnType::U64 => {
                let Some(slots) = column.slots::<u64>() else { return Ok(false) };
                self.kinds |= INTEGER;
                let exceeds = slots.iter().any(|&slot| slot > i64::MAX as u64);
                self.values.add(0, if exceeds { u64::MAX } else { 0 });
                self.storage.add(u64::MIN, u64::MAX);
                Ok(true)
            }
            ColumnType::Struct if depth < MAX_DEPTH => {
                self.kinds |= OBJECT;
                let Some(table) = column.table()? else { return Ok(false) };
                if table.has_further_fields() {
                    return Ok(false);
                }
                for member in table.columns() {
                    let (key, column) = member?;
                    if !self.members.get(key, Look::default()).header(column, depth + 1, left)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            ColumnType::List | ColumnType::FixedList if depth < MAX_DEPTH => {
                self.kinds |= ARRAY;
                let first = column.iter().flatten().flatten().next();
                let array = first.map(|value| value.as_array()).transpose()?.flatten();
                let tensor = array.map(|array| array.tensor()).transpose()?.flatten();
                self.lengths.add(column.fixed_length().filter(|_| tensor.is_some()));
                let (first, last) = (column.bounds(0)?, column.bounds(column.len() - 1)?);
                let (Some(first), Some(last), Some(elements)) = (first, last, column.elements()?)
                else {
                    return Ok(false);
                };
                self.elements = last.end.saturating_sub(first.start) as u64;
                let elements = elements.slice(first.start..last.end.max(first.start));
                self.element.get_or_insert_default().header(elements, depth + 1, left)
            }
            _ => Ok(false),
        }
    }

    fn table(&mut self, table: Table<'a, Valid>, depth: usize) {
        self.members.next = 0;
        for (key, column) in table.columns() {
            self.members.get(key, self.look).column(column, depth + 1);
        }
        if !table.has_further_fields() {
            return;
        }
        for row in (0..table.rows()).filter_map(|row| table.row(row)) {
            for (key, value) in row.iter().filter(|(key, _)| table.column(*key).is_none()) {
                self.members.get(key, self.look).value(value, depth + 1);
            }
        }
    }

    fn list(&mut self, column: Column<'a, Valid>, depth: usize) {
        let first = column.iter().flatten().next();
        let tensor = first.and_then(|value| value.as_array()?.tensor());
        self.lengths.add(column.fixed_length().filter(|_| tensor.is_some()));
        if let (Some(first), Some(last), Some(elements)) =
            (column.bounds(0), column.bounds(column.len() - 1), column.elements())
        {
            let element = self.element.get_or_insert_default();
            element.look = self.look;
            self.elements += last.end.saturating_sub(first.start) as u64;
            let elements = elements.slice(first.start..last.end);
            if can_have(elements.document_length(), elements.len()) {
                element.column(elements, depth + 1);
            }
        }
    }

    pub(crate) fn value(&mut self, value: Value<'a, Valid>, depth: usize) {
        self.kinds |= match value.kind() {
            Kind::Null => 0,
            Kind::Bool => BOOL,
            Kind::Int | Kind::Uint => {
                self.exact = Exact::Any;
                return self.integer(&value);
            }
            Kind::Float => {
                self.exact = Exact::Any;
                self.double = true;
                self.digits(&value);
                FLOAT
            }
            Kind::NumberText => {
                self.digits(&value);
                NUMBER_TEXT
            }
            Kind::String => return self.text(Texts::Any),
            Kind::Bytes => BYTES,
            Kind::Date => DATE,
            Kind::Time => TIME,
            Kind::DateTime => DATE_TIME,
            Kind::Timestamp => TIMESTAMP,
            Kind::Decimal => match value.as_decimal() {
                Some(decimal) => return self.decimal(decimal),
                None => 0,
            },
            Kind::Uuid => UUID,
            Kind::Object if depth < MAX_DEPTH => match value.as_object() {
                Some(object) => return self.object(object, depth),
                None => 0,
            },
            Kind::Array if depth < MAX_DEPTH => match value.as_array() {
                Some(array) => return self.array(array, depth),
                None => 0,
            },
            _ => OTHER,
        };
    }

    fn decimal(&mut self, value: Decimal) {
        self.kinds |= DECIMAL;
        self.decimals.add(value);
    }

    /// Adds the digits of a number that is no decimal; of a float, if that is wanted.
    fn digits(&mut self, value: &Value<'a, Valid>) {
        let float = value.as_f64().filter(|_| value.kind() == Kind::Float);
        if self.look.digits || float.is_none() {
            match decimal_of(value) {
                Some(decimal) => self.decimals.add(decimal),
                None => self.decimals.exceeded = true,
            }
            self.decimals.not_finite |= float.is_some_and(|float| !float.is_finite());
        }
    }

    fn text(&mut self, stored: Texts) {
        self.kinds |= TEXT;
        self.texts = match self.texts {
            Texts::None => stored,
            _ => Texts::Any,
        };
    }

    fn integer(&mut self, value: &Value<'a, Valid>) {
        let integer = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
        let Some(integer) = integer else { return };
        self.kinds |= INTEGER;
        self.values.add(integer, integer);
        self.storage.add(integer, integer);
        if self.rounded.is_none() && !is_float(integer) {
            self.rounded = Some(integer);
        }
    }

    fn object(&mut self, object: Object<'a, Valid>, depth: usize) {
        self.kinds |= OBJECT;
        // With more keys it will not become a struct.
        if self.members.list.len() > MAX_FIELDS {
            return;
        }
        self.members.next = 0;
        for (key, value) in object.iter() {
            self.members.get(key, self.look).value(value, depth + 1);
        }
    }

    fn array(&mut self, array: Array<'a, Valid>, depth: usize) {
        self.kinds |= ARRAY;
        self.lengths.add(array.tensor().map(|_| array.len()));
        self.elements += array.len() as u64;
        let element = self.element.get_or_insert_default();
        element.look = self.look;
        let elements = array.as_column();
        if can_have(elements.document_length(), elements.len()) {
            element.column(elements, depth + 1);
        }
    }

    /// Values that Arrow has a place for, where there are `rows` of these: missing ones, too.
    pub(crate) fn cells(&self, rows: u64) -> u64 {
        match (self.kinds, &self.element) {
            (OBJECT, _) if self.members.list.len() <= MAX_FIELDS => {
                let members = self.members.list.iter().map(|(_, member)| member.cells(rows));
                members.fold(0, u64::saturating_add)
            }
            // An offset, and the elements.
            (ARRAY, Some(element)) => element.cells(self.elements).saturating_add(rows),
            (0, _) => 0,
            _ => rows,
        }
    }

    /// The column of these values.
    pub(crate) fn into_field(self, name: String, choice: Choice) -> Result<Field> {
        match choice.kind(self) {
            Ok(kind) => Ok(Field::new(name, kind)),
            Err(error) => Err(error.within(&name)),
        }
    }

    /// The columns of rows that are objects, or the one column of other values.
    pub(crate) fn into_rows(self, choice: Choice) -> Result<Rows> {
        let rows = match self.kinds {
            0 | OBJECT => Rows::Objects(choice.fields(self.members)?),
            _ => Rows::Values(self.into_field("value".to_owned(), choice)?),
        };
        let fields = match &rows {
            Rows::Objects(fields) => fields,
            Rows::Values(field) => std::slice::from_ref(field),
            Rows::Selected(_) => &[],
        };
        if count(fields) > MAX_FIELDS {
            let message = format!("more than {MAX_FIELDS} columns");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Ok(rows)
    }
}

fn count(fields: &[Field]) -> usize {
    let below = fields.iter().map(|field| match &field.kind {
        Type::Struct(fields) => count(fields),
        kind => kind.item().map_or(0, |item| count(std::slice::from_ref(item))),
    });
    fields.len() + below.sum::<usize>()
}

/// What the elements of an array, or the members of an object, are to Arrow.
#[derive(Clone)]
pub(crate) enum Rows {
    /// Rows of these columns.
    Objects(Vec<Field>),
    /// Rows of these columns, and where they come from.
    Selected(Vec<(Path, Field)>),
    /// Rows of one column.
    Values(Field),
}

/// Where in a row a column's value is.
#[derive(Clone)]
pub(crate) enum Path {
    /// It is the key of the row, which is an object's member.
    Key,
    /// These keys lead to it.
    Below(Vec<String>),
}

impl Rows {
    pub(crate) fn fields(&self) -> Vec<Field> {
        match self {
            Rows::Objects(fields) => fields.clone(),
            Rows::Selected(columns) => columns.iter().map(|(_, field)| field.clone()).collect(),
            Rows::Values(field) => vec![field.clone()],
        }
    }
}

/// What a column of numbers is that no type of numbers holds exactly: floats and an integer that
/// they would round, integers of more than 64 bits, floats and decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Numbers {
    /// An error that names the column. Nothing is rounded unless you say so.
    #[default]
    Error,
    /// `Decimal128(38, …)`, of floats their shortest decimals. An error beyond 38 digits.
    Decimal,
    /// Text: the numbers as JSON has them.
    Text,
    /// `Float64`, rounded.
    Float,
    /// A column of [mixed](Mixed) values.
    Mixed,
}

/// What a column of values of several kinds is, such as texts and numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mixed {
    /// Text: texts as they are, so that a filter by `== "A1"` finds them, and the JSON of others.
    #[default]
    Text,
    /// JSON of each value, of texts too, by the extension `arrow.json`: it tells `"5"` from `5`, and
    /// is imported as what it was.
    Json,
    /// An error that names the column and the kinds.
    Error,
}

/// What text and JSON need, which have no NaN and no infinity.
const IF_NOT_FINITE: &str = ", with `non_finite` if NaN or infinities are among them";

fn words(kinds: u16) -> String {
    let words = WORDS.iter().filter(|(kind, _)| kinds & kind != 0).map(|(_, word)| *word);
    words.collect::<Vec<_>>().join(", ")
}

/// A number as a decimal, if one has its digits; of a float the shortest one.
pub(crate) fn decimal_of(value: &Value<'_, Valid>) -> Option<Decimal> {
    match value.kind() {
        Kind::Decimal => value.as_decimal(),
        Kind::Int | Kind::Uint => {
            let integer = value.as_i64().map(i128::from);
            Decimal::new(integer.or_else(|| value.as_u64().map(i128::from))?, 0)
        }
        Kind::Float => decimal_of_text(&value.as_f64()?.to_string()),
        Kind::NumberText => decimal_of_text(value.as_number_text()?),
        _ => None,
    }
}

/// A number of JSON's as a decimal.
fn decimal_of_text(text: &str) -> Option<Decimal> {
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut coefficient = format!("{whole}{fraction}").parse::<i128>().ok()?;
    let mut scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    if scale < 0 {
        let factor = 10i128.checked_pow(scale.unsigned_abs())?;
        (coefficient, scale) = (coefficient.checked_mul(factor)?, 0);
    }
    Decimal::new(coefficient, u8::try_from(scale).ok()?)
}

/// How types are chosen where there is a choice.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Choice {
    pub(crate) narrow: bool,
    pub(crate) text: Layout,
    pub(crate) numbers: Numbers,
    pub(crate) mixed: Mixed,
}

impl Choice {
    /// Where a consumer says which types it wants, these decide.
    pub(crate) fn of_requested(self) -> Choice {
        Choice { numbers: Numbers::Mixed, mixed: Mixed::Json, ..self }
    }

    fn fields(&self, members: Members<'_>) -> Result<Vec<Field>> {
        let members = members.list.into_iter();
        members.map(|(key, seen)| seen.into_field(key.into_owned(), *self)).collect()
    }

    fn kind(&self, seen: Seen<'_>) -> Result<Type> {
        if let (INTEGER | FLOAT, Exact::Of(number)) = (seen.kinds, seen.exact) {
            return Ok(Type::Number(number));
        }
        Ok(match seen.kinds {
            0 => Type::Null,
            BOOL => Type::Bool,
            INTEGER => match self.integer(&seen) {
                Some(number) => Type::Number(number),
                None => self.numbers(&seen)?,
            },
            FLOAT if self.narrow && !seen.double => Type::Number(Number::F32),
            FLOAT => Type::Number(Number::F64),
            kinds if kinds == INTEGER | FLOAT && seen.rounded.is_none() => {
                Type::Number(Number::F64)
            }
            DECIMAL if seen.decimals.fit() => {
                let scale = seen.decimals.scale.into();
                Type::Decimal { width: 16, precision: Decimal::DIGITS, scale }
            }
            kinds if kinds & !(INTEGER | FLOAT | DECIMAL | NUMBER_TEXT) == 0 => {
                self.numbers(&seen)?
            }
            TEXT => match seen.texts {
                Texts::Codes(codes) if self.narrow => {
                    Type::Dictionary(codes, Box::new(Type::Text(self.text)))
                }
                _ => Type::Text(self.text),
            },
            BYTES => Type::Binary(Layout::Small),
            DATE => Type::Date32,
            TIME => Type::Time(Unit::Micro),
            DATE_TIME => Type::Timestamp(Unit::Micro, String::new()),
            TIMESTAMP => Type::Timestamp(Unit::Micro, "UTC".to_owned()),
            UUID => Type::Uuid,
            OBJECT if seen.members.list.len() <= MAX_NESTED_FIELDS => {
                Type::Struct(self.fields(seen.members)?)
            }
            ARRAY => {
                let element = match seen.element {
                    Some(element) => self.kind(*element).map_err(Error::within_list)?,
                    None => Type::Null,
                };
                let item = Box::new(Field::new("item", element));
                match seen.lengths {
                    Lengths::Fixed(length) => Type::FixedList(item, length),
                    _ => Type::List(item),
                }
            }
            // Too many keys, or too deep.
            OBJECT | OTHER => Type::Json(self.text),
            kinds => self.mixed(kinds)?,
        })
    }

    /// The type of numbers that no type of numbers holds exactly.
    fn numbers(&self, seen: &Seen<'_>) -> Result<Type> {
        let decimal = || seen.decimals.decimal(seen.values);
        let are_decimals = seen.kinds == INTEGER | DECIMAL;
        match (self.numbers, decimal()) {
            (Numbers::Mixed, _) => self.mixed(seen.kinds),
            (Numbers::Decimal, Some(decimal)) => Ok(decimal),
            (_, Some(decimal)) if are_decimals => Ok(decimal),
            (Numbers::Text, _) => Ok(Type::Plain(self.text)),
            (Numbers::Float, _) => Ok(Type::Number(Number::F64)),
            (Numbers::Decimal, None) => {
                let message = match seen.decimals.not_finite {
                    true => {
                        "NaN and infinities are no decimals; set the option `numbers` to \"float\", \
                         which rounds, or to \"text\" with `non_finite`, which prints null for them"
                    }
                    false => {
                        "numbers have more digits together than the 38 of a decimal; set the \
                         option `numbers` to \"text\", or \"float\", which rounds"
                    }
                };
                Err(Error::new(ErrorKind::Cast, message))
            }
            (Numbers::Error, fits) => {
                let such = seen.rounded.map(|integer| format!(", such as {integer}"));
                // The digits of floats were not looked at, and whether they are finite.
                let options = match (seen.kinds & FLOAT != 0, fits.is_some()) {
                    (false, true) => "\"decimal\", \"text\", or \"float\", which rounds".to_owned(),
                    (false, false) => "\"text\", or \"float\", which rounds".to_owned(),
                    (true, fits) => format!(
                        "\"float\", which rounds, or to \"text\"{IF_NOT_FINITE}{}",
                        if fits {
                            ", or to \"decimal\" if none are and 38 digits are enough"
                        } else {
                            ""
                        }
                    ),
                };
                let message = format!(
                    "no type of numbers holds all of these exactly ({}{}); set the option `numbers` \
                     to {options}",
                    words(seen.kinds),
                    such.unwrap_or_default()
                );
                Err(Error::new(ErrorKind::Cast, message))
            }
        }
    }

    /// The type of values of several kinds.
    fn mixed(&self, kinds: u16) -> Result<Type> {
        match self.mixed {
            Mixed::Text => Ok(Type::Plain(self.text)),
            Mixed::Json => Ok(Type::Json(self.text)),
            Mixed::Error => {
                let may_not_be_finite = kinds & (FLOAT | OBJECT | ARRAY) != 0;
                let message = format!(
                    "values are of several kinds: {}; set the option `mixed` to \"text\" or \"json\"{}",
                    words(kinds),
                    if may_not_be_finite { IF_NOT_FINITE } else { "" }
                );
                Err(Error::new(ErrorKind::Cast, message))
            }
        }
    }

    /// `None` where no type holds them all.
    fn integer(&self, seen: &Seen<'_>) -> Option<Number> {
        let holds = |range: &Range, (_, low, high): &(Number, i128, i128)| {
            *low <= range.low && range.high <= *high
        };
        macro_rules! types {
            ($($number:ident $type:ty),+) => {
                [$((Number::$number, <$type>::MIN as i128, <$type>::MAX as i128)),+]
            };
        }
        let narrow = types!(I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32);
        let wide = types!(I64 i64, U64 u64);
        let mut found = None;
        if self.narrow {
            let mut all = narrow.iter().chain(&wide);
            found = all.find(|number| holds(&seen.storage, number));
        }
        found
            .or_else(|| wide.iter().find(|number| holds(&seen.values, number)))
            .map(|found| found.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(document: &livebuf::DocBuf, narrow: bool) -> Type {
        let choice = Choice { narrow, ..Choice::default() };
        let mut seen = Seen::of(choice);
        let array = document.valid().unwrap().root().as_array().unwrap();
        seen.column(array.as_column(), 0);
        choice.kind(seen).unwrap()
    }

    /// Floats rounded integers without a word.
    #[test]
    fn numbers_are_not_rounded() {
        for (text, decimal) in [
            ("[1, 2.5, 9007199254740993]", Some(1)),
            ("[18446744073709551615, -1]", Some(0)),
            ("[100000000000000000000]", Some(0)),
            ("[0.5, 100000000000000000000]", Some(1)),
            ("[1.25, 1.23456789012345678901]", Some(20)),
            ("[1e300, 9007199254740993]", None),
            ("[1e30, 0.00000000000001, 9007199254740993]", None),
        ] {
            let document = livebuf_json::from_str(text).unwrap();
            let kind = |numbers| {
                let choice = Choice { numbers, ..Choice::default() };
                let mut seen = Seen::of(choice);
                let array = document.valid().unwrap().root().as_array().unwrap();
                seen.column(array.as_column(), 0);
                choice.kind(seen)
            };
            assert!(kind(Numbers::Error).is_err(), "{text}");
            assert_eq!(kind(Numbers::Text).unwrap().to_string(), "text of mixed values");
            assert_eq!(kind(Numbers::Float).unwrap().to_string(), "float64");
            let expected = decimal.map(|scale| format!("decimal128(38, {scale})"));
            assert_eq!(
                kind(Numbers::Decimal).ok().map(|kind| kind.to_string()),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn values_make_types() {
        let json = |text| livebuf_json::from_str(text).unwrap();
        for (text, wide, narrow) in [
            ("[]", "null", "null"),
            ("[null, null]", "null", "null"),
            ("[true]", "bool", "bool"),
            ("[1, 127]", "int64", "int8"),
            ("[200]", "int64", "uint8"),
            ("[-1, 40000, null]", "int64", "int32"),
            ("[18446744073709551615, 1]", "uint64", "uint64"),
            ("[1.5]", "float64", "float32"),
            ("[0.1]", "float64", "float64"),
            ("[1, 0.5]", "float64", "float32"),
            ("[1, 0.1]", "float64", "float64"),
            (r#"["a"]"#, "utf8", "utf8"),
            (r#"["a", 1]"#, "text of mixed values", "text of mixed values"),
            ("[1.5, 9007199254740992]", "float64", "float64"),
            ("[{}]", "struct", "struct"),
            ("[[1], [2, 3]]", "list", "list"),
            ("[[1], [2]]", "list", "list"),
            ("[[1], {}]", "text of mixed values", "text of mixed values"),
        ] {
            assert_eq!(kind(&json(text), false).to_string(), wide, "{text}");
            assert_eq!(kind(&json(text), true).to_string(), narrow, "{text}");
        }
    }
}
