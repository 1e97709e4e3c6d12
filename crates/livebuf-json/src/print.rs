//! Walking a document and printing what is met.
//!
//! The walk keeps its own stack, so nesting costs heap and not call frames, and is
//! bounded by its limit. Every value and every bracket adds to the output, so the output
//! limit bounds the work, on damaged documents too; members that are missing are counted.

use std::{fmt, io};

use livebuf::layout::MAX_NESTING;
use livebuf::raw::{RowSlots, Slots};
use livebuf::{Array, ArrayIter, AsValue, ColumnType, Element, Fields, Kind, Mode, Valid, Value};

use crate::error::Error;
use crate::rows::{self, Printing};
use crate::walk::{Bounds, gone, scalar, some, too_deep};
use crate::write::{NonFinite, Piece, Printer};

/// How JSON is printed: compact by default.
///
/// ```
/// use livebuf_json::PrintOptions;
///
/// let document = livebuf_json::from_str(r#"{"a":[1,{}]}"#)?;
/// let text = livebuf_json::to_string_with(&document, &PrintOptions::new().indent("\t"))?;
/// assert_eq!(text, "{\n\t\"a\": [\n\t\t1,\n\t\t{}\n\t]\n}");
/// # Ok::<(), livebuf_json::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PrintOptions {
    indent: Option<String>,
    non_finite: NonFinite,
    max_bytes: Option<u64>,
    nesting: u32,
}

/// Bytes printed for each byte of a validated document, unless the caller says otherwise. A byte may be
/// the code of a text of 1,024 bytes, and a byte of text prints as six at most: 6,144. More is
/// possible where bits stand for rows with keys of hundreds of bytes, which no sound document has.
const VALID_FACTOR: u64 = 16_384;

/// The same of a document that was not validated. Sound ones have up to a thousand: of long texts
/// that repeat, and of booleans under long keys.
const CHECKED_FACTOR: u64 = 2048;

/// Places of members, missing ones included, that are looked at for each byte of a document.
/// In a valid one a place has a bit of its own, in at most 16 rows.
const PLACES: u64 = 136;

/// The most bytes that are printed of a document of so many bytes, unless
/// [`PrintOptions::max_bytes`] says otherwise: 16,384 for each byte of a validated one, else
/// 2,048. For those who know that a document is valid, but have no [`livebuf::Valid`] view.
///
/// Sound documents are far from it: most print 10 to 20 times their bytes. A valid one may be beyond it
/// if bits stand for rows with keys of hundreds of bytes, or if most of the text is indentation.
///
/// ```
/// assert_eq!(livebuf_json::default_max_bytes(1000, true), 16_384_000);
/// assert_eq!(livebuf_json::default_max_bytes(1000, false), 2_048_000);
/// ```
pub fn default_max_bytes(document_bytes: usize, validated: bool) -> u64 {
    let factor = if validated { VALID_FACTOR } else { CHECKED_FACTOR };
    factor.saturating_mul(document_bytes as u64)
}

impl Default for PrintOptions {
    fn default() -> Self {
        PrintOptions {
            indent: None,
            non_finite: NonFinite::Error,
            max_bytes: None,
            nesting: MAX_NESTING.into(),
        }
    }
}

impl PrintOptions {
    /// Compact text, at most [`default_max_bytes`], nesting to 1,000, which no document
    /// passes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Text over many lines, indented by two spaces, as serde_json lays it out.
    pub fn pretty() -> Self {
        Self::new().indent("  ")
    }

    /// Text over many lines, each indented by this as often as it is nested.
    /// Anything but white space of JSON makes the text no JSON.
    #[must_use]
    pub fn indent(mut self, indent: &str) -> Self {
        self.indent = Some(indent.to_owned());
        self
    }

    /// What infinities and NaN become. An error by default.
    #[must_use]
    pub fn non_finite(mut self, non_finite: NonFinite) -> Self {
        self.non_finite = non_finite;
        self
    }

    /// The most bytes to print; beyond, printing stops with
    /// [`OutputLimit`](crate::ErrorKind::OutputLimit).
    ///
    /// By default [`default_max_bytes`] of the value's whole document: in damaged ones values
    /// can alias, so that a few bytes print without end, and deep nesting multiplies
    /// indentation.
    #[must_use]
    pub fn max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = Some(max_bytes);
        self
    }

    /// The deepest nesting to print, 1,000 by default. Costs under 100 bytes a level.
    #[must_use]
    pub fn nesting(mut self, nesting: u32) -> Self {
        self.nesting = nesting;
        self
    }
}

/// Prints a value as compact JSON; of a document its root.
///
/// Linear in the text. Bytes become a string of their base64 (standard alphabet, with
/// padding); f64 become their shortest digits that read back the same, always with a
/// point or exponent; number text is printed as it is.
///
/// # Errors
/// [`NotFinite`](crate::ErrorKind::NotFinite), [`NestingLimit`](crate::ErrorKind::NestingLimit)
/// and [`OutputLimit`](crate::ErrorKind::OutputLimit). For a damaged value, or one of a kind that
/// is not known here: [`Document`](crate::ErrorKind::Document).
///
/// ```
/// let document = livebuf_json::from_str(r#"{ "b": 1.50, "a": [1e2, "\u00e9\u0000"] }"#)?;
/// let text = livebuf_json::to_string(&document)?;
/// assert_eq!(text, r#"{"b":1.5,"a":[100.0,"é\u0000"]}"#);
/// let part = livebuf_json::to_string(document.pointer("/a")?.unwrap())?;
/// assert_eq!(part, r#"[100.0,"é\u0000"]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_string<'a>(value: impl AsValue<'a>) -> Result<String, Error> {
    to_string_with(value, &PrintOptions::new())
}

/// Prints a value as JSON over many lines, laid out as serde_json does.
///
/// # Errors
/// As [`to_string`].
///
/// ```
/// let document = livebuf::json!({"lap": 55});
/// assert_eq!(livebuf_json::to_string_pretty(&document)?, "{\n  \"lap\": 55\n}");
/// # Ok::<(), livebuf_json::Error>(())
/// ```
pub fn to_string_pretty<'a>(value: impl AsValue<'a>) -> Result<String, Error> {
    to_string_with(value, &PrintOptions::pretty())
}

/// Prints a value as JSON by the options.
///
/// # Errors
/// As [`to_string`].
///
/// ```
/// use livebuf_json::{NonFinite, PrintOptions, to_string_with};
/// let document = livebuf::json!({"lap": 55, "best": f64::NAN});
/// let options = PrintOptions::new().non_finite(NonFinite::Null);
/// assert_eq!(to_string_with(&document, &options)?, r#"{"lap":55,"best":null}"#);
/// # Ok::<(), livebuf_json::Error>(())
/// ```
pub fn to_string_with<'a>(
    value: impl AsValue<'a>,
    options: &PrintOptions,
) -> Result<String, Error> {
    string(print(value, options, None))
}

fn string(text: Result<Vec<u8>, Error>) -> Result<String, Error> {
    let text = text?;
    // Only UTF-8 went in. It is checked nevertheless: the standard library's check would take a
    // fifth of the time of printing twitter.json, this one a twentieth.
    simdutf8::basic::from_utf8(&text).map_err(|_| gone())?;
    // SAFETY: the line above checked the same bytes.
    #[allow(unsafe_code)]
    Ok(unsafe { String::from_utf8_unchecked(text) })
}

/// Prints a value as compact JSON into bytes; as [`to_string`].
///
/// # Errors
/// As [`to_string`].
///
/// ```
/// assert_eq!(livebuf_json::to_vec(&livebuf::json!([1, null]))?, b"[1,null]");
/// # Ok::<(), livebuf_json::Error>(())
/// ```
pub fn to_vec<'a>(value: impl AsValue<'a>) -> Result<Vec<u8>, Error> {
    to_vec_with(value, &PrintOptions::new())
}

/// Prints a value as JSON by the options into bytes; as [`to_string`].
///
/// # Errors
/// As [`to_string`].
pub fn to_vec_with<'a>(value: impl AsValue<'a>, options: &PrintOptions) -> Result<Vec<u8>, Error> {
    print(value, options, None)
}

/// Prints a value as JSON to a writer, in chunks of about 32 KiB, and flushes it.
///
/// Uses under 256 KiB of memory, however long the text is, beside the stack of open containers
/// and 250 bytes for each column of a table. After an error part of the text may have been
/// written.
///
/// # Errors
/// As [`to_string`], and [`Io`](crate::ErrorKind::Io) with the writer's error.
///
/// ```
/// use livebuf_json::{PrintOptions, to_writer};
/// let mut written = Vec::new(); // or a file, or a socket
/// to_writer(&mut written, &livebuf::json!({"lap": 55}), &PrintOptions::new())?;
/// assert_eq!(written, br#"{"lap":55}"#);
/// # Ok::<(), livebuf_json::Error>(())
/// ```
pub fn to_writer<'a>(
    mut writer: impl io::Write,
    value: impl AsValue<'a>,
    options: &PrintOptions,
) -> Result<(), Error> {
    print(value, options, Some(&mut writer)).map(drop)
}

/// A value to be formatted as JSON: `format!("{}", display(&document))` is compact, `{:#}`
/// over many lines.
///
/// Meant for messages and logs: where printing fails, the error takes the text's place, in
/// angle brackets. [`to_string`] answers it.
///
/// ```
/// let document = livebuf_json::from_str(r#"{ "lap": 55 }"#)?;
/// assert_eq!(format!("{}", livebuf_json::display(&document)), r#"{"lap":55}"#);
/// assert_eq!(format!("{:#}", livebuf_json::display(&document)), "{\n  \"lap\": 55\n}");
/// # Ok::<(), livebuf_json::Error>(())
/// ```
pub fn display<'a>(value: impl AsValue<'a>) -> Display<'a> {
    Display { value: value.as_value().checked(), valid: value.as_valid() }
}

/// A value that is formatted as JSON: [`display`].
#[derive(Clone, Copy, Debug)]
pub struct Display<'a> {
    value: Value<'a>,
    valid: Option<Value<'a, Valid>>,
}

impl fmt::Display for Display<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = if f.alternate() { PrintOptions::pretty() } else { PrintOptions::new() };
        match string(print_either(self.value, self.valid, &options, None)) {
            Ok(text) => f.write_str(&text),
            Err(error) => write!(f, "<{error}>"),
        }
    }
}

fn print<'a, 'w>(
    value: impl AsValue<'a>,
    options: &'w PrintOptions,
    writer: Option<&'w mut dyn io::Write>,
) -> Result<Vec<u8>, Error> {
    print_either(value.as_value().checked(), value.as_valid(), options, writer)
}

/// Has no type parameter, so that it is compiled here, and not in every crate that prints.
fn print_either<'w>(
    value: Value<'_>,
    valid: Option<Value<'_, Valid>>,
    options: &'w PrintOptions,
    writer: Option<&'w mut dyn io::Write>,
) -> Result<Vec<u8>, Error> {
    match valid {
        Some(value) => print_value(value, true, options, writer),
        None => print_value(value, false, options, writer),
    }
}

fn print_value<'w, M: Mode>(
    value: Value<'_, M>,
    validated: bool,
    options: &'w PrintOptions,
    writer: Option<&'w mut dyn io::Write>,
) -> Result<Vec<u8>, Error> {
    let length = value.document_length();
    let default = || default_max_bytes(length, validated);
    let budget = options.max_bytes.unwrap_or_else(default);
    let indent = options.indent.as_deref();
    let mut printer = Printer::new(writer, budget, indent.unwrap_or(""), options.non_finite);
    if scalar(&mut printer, &value)? {
        return printer.finish();
    }
    let bounds = Bounds { nesting: options.nesting as usize, places: PLACES * length as u64 };
    match indent {
        None => walk::<M, false>(&mut printer, value, bounds)?,
        Some(_) => walk::<M, true>(&mut printer, value, bounds)?,
    }
    printer.finish()
}

/// What is left of an open container.
enum OpenContainer<'a, M> {
    Array(ArrayIter<'a, M>),
    Object(Fields<'a, M>),
    /// An object whose keys are [`PrintedKeys`], from this one on.
    Record(Slots<'a, M>, usize),
    /// A row of a table likewise.
    Row(RowSlots<'a, M>, usize),
    Rows(rows::Begun),
}

/// An object whose keys have their places in a shape.
trait Shaped<'a> {
    fn shape(&self) -> u32;
    fn end(&self) -> usize;
    fn key(&self, slot: usize) -> livebuf::Result<Option<&'a str>>;
}

macro_rules! shaped {
    ($($type:ident),+) => {
        $(impl<'a, M: Mode> Shaped<'a> for $type<'a, M> {
            #[inline]
            fn shape(&self) -> u32 {
                $type::shape(self)
            }

            #[inline]
            fn end(&self) -> usize {
                $type::end(self)
            }

            fn key(&self, slot: usize) -> livebuf::Result<Option<&'a str>> {
                M::result($type::key(self, slot))
            }
        })+
    };
}
shaped!(Slots, RowSlots);

/// Keys as they are printed, for shapes that were met before: keys are most of what
/// objects print, and the same in each.
struct PrintedKeys {
    /// By a hash of the shape's number. One that collides takes the place.
    shapes: [PrintedShape; 64],
    /// The keys of one shape are a run.
    keys: Vec<Piece>,
    text: Printer<'static>,
}

#[derive(Clone, Copy, Default)]
struct PrintedShape {
    shape: u32,
    first: u32,
    /// How many keys were printed; [`u32::MAX`] if they are not kept.
    count: u32,
}

impl PrintedKeys {
    /// Bytes of text, and keys, beyond which no more are kept.
    const MOST_TEXT: usize = 1 << 15;
    const MOST_KEYS: usize = 1 << 12;

    fn new() -> Self {
        PrintedKeys {
            shapes: [PrintedShape::default(); 64],
            keys: Vec::new(),
            text: Printer::new(None, u64::MAX, "", NonFinite::Error),
        }
    }

    #[inline]
    fn place(shape: u32) -> usize {
        (shape.wrapping_mul(0x9E37_79B1) >> 26) as usize
    }

    /// Where the keys of these slots begin; `None` if their shape is new or cannot be kept.
    #[inline]
    fn find<'a, const PRETTY: bool>(
        &mut self,
        slots: &impl Shaped<'a>,
    ) -> Result<Option<usize>, Error> {
        let shape = slots.shape();
        let printed = &mut self.shapes[Self::place(shape)];
        if printed.shape != shape {
            // Most shapes of small documents are met once.
            *printed = PrintedShape { shape, ..PrintedShape::default() };
            return Ok(None);
        }
        if printed.count == u32::MAX {
            Ok(None)
        } else if (printed.count as usize) < slots.end() {
            self.print::<PRETTY>(slots)
        } else {
            Ok(Some(printed.first as usize))
        }
    }

    /// Prints a key.
    #[inline]
    fn again<const PRETTY: bool>(
        &self,
        printer: &mut Printer<'_>,
        key: usize,
        first: bool,
        depth: usize,
    ) -> Result<(), Error> {
        let key = self.keys.get(key).ok_or_else(gone)?;
        printer.again::<PRETTY>(&self.text, *key, first, depth)
    }

    /// The keys of a shape are not kept.
    fn give_up(&mut self, shape: u32) -> Option<usize> {
        self.shapes[Self::place(shape)] = PrintedShape { shape, first: 0, count: u32::MAX };
        None
    }

    #[inline(never)]
    fn print<'a, const PRETTY: bool>(
        &mut self,
        slots: &impl Shaped<'a>,
    ) -> Result<Option<usize>, Error> {
        let (shape, count) = (slots.shape(), slots.end());
        if self.text.length() > Self::MOST_TEXT || self.keys.len() > Self::MOST_KEYS {
            return Ok(None);
        }
        let first = self.keys.len();
        for slot in 0..count {
            let start = self.text.length();
            // Long keys are printed each time, and damaged ones are reported when a field has them.
            let key = match slots.key(slot) {
                Ok(Some(key)) if key.len() < Piece::SHORT => key,
                _ => return Ok(self.give_up(shape)),
            };
            self.text.key::<false>(key, false, 0)?;
            if PRETTY {
                self.text.literal(" ")?;
            }
            let Some(piece) = self.text.piece(start, Piece::SHORT) else {
                return Ok(self.give_up(shape));
            };
            self.keys.push(piece);
        }
        let printed = PrintedShape { shape, first: first as u32, count: count as u32 };
        self.shapes[Self::place(shape)] = printed;
        Ok(Some(first))
    }
}

/// Prints a container. Those that are open are on a stack of their own: recursion was
/// tried, and not faster.
fn walk<'a, M: Mode, const PRETTY: bool>(
    printer: &mut Printer<'_>,
    container: Value<'a, M>,
    mut bounds: Bounds,
) -> Result<(), Error> {
    let mut keys = PrintedKeys::new();
    let mut open: Vec<OpenContainer<'a, M>> = Vec::new();
    let mut rows = Printing::new();
    // Containers that are open within rows.
    let mut within = 0;
    let mut begun = begin::<M, PRETTY>(printer, &mut keys, &mut rows, &container, 0, &mut bounds)?;
    // Whether nothing is printed yet after the innermost open bracket.
    let mut first = true;
    loop {
        match begun {
            Begun::Array(array) => open.push(OpenContainer::Array(array.iter())),
            Begun::Record(slots, keys_from) => open.push(OpenContainer::Record(slots, keys_from)),
            Begun::Row(slots, keys_from) => open.push(OpenContainer::Row(slots, keys_from)),
            Begun::Object(fields) => open.push(OpenContainer::Object(fields)),
            Begun::Rows(begun) => open.push(OpenContainer::Rows(begun)),
            Begun::Printed => {}
        }
        let mut depth = open.len() + within;
        let scope = Scope { depth, bounds: &mut bounds };
        let bracket;
        (begun, bracket) = match open.last_mut() {
            None => return Ok(()),
            Some(OpenContainer::Rows(begun_rows)) => {
                depth -= begun_rows.open;
                within -= begun_rows.open;
                match rows.go_on::<PRETTY>(printer, begun_rows, &mut first, depth, &mut bounds)? {
                    Some(value) => {
                        within += begun_rows.open;
                        let depth = depth + begun_rows.open;
                        let bounds = &mut bounds;
                        begun = begin::<M, PRETTY>(
                            printer, &mut keys, &mut rows, &value, depth, bounds,
                        )?;
                        first = !matches!(begun, Begun::Printed);
                    }
                    None => {
                        open.pop();
                        begun = Begun::Printed;
                    }
                }
                continue;
            }
            Some(OpenContainer::Array(elements)) => {
                let begun = scope.values::<M, _, PRETTY>(
                    printer,
                    &mut keys,
                    &mut rows,
                    elements,
                    &mut first,
                    |printer, _, element, first| {
                        printer.separate::<PRETTY>(first, depth)?;
                        M::item_result(element).map_err(Error::document)
                    },
                );
                (begun?, b']')
            }
            Some(OpenContainer::Record(slots, keys_from)) => {
                let keys_from = *keys_from;
                let begun = scope.values::<M, _, PRETTY>(
                    printer,
                    &mut keys,
                    &mut rows,
                    slots,
                    &mut first,
                    |printer, keys, field, first| {
                        let (slot, value) = M::item_result(field).map_err(Error::document)?;
                        keys.again::<PRETTY>(printer, keys_from + slot, first, depth)?;
                        Ok(value)
                    },
                );
                (begun?, b'}')
            }
            Some(OpenContainer::Row(slots, keys_from)) => {
                let keys_from = *keys_from;
                let begun = scope.values::<M, _, PRETTY>(
                    printer,
                    &mut keys,
                    &mut rows,
                    slots,
                    &mut first,
                    |printer, keys, field, first| {
                        let (slot, value) = M::item_result(field).map_err(Error::document)?;
                        keys.again::<PRETTY>(printer, keys_from + slot, first, depth)?;
                        Ok(value)
                    },
                );
                (begun?, b'}')
            }
            Some(OpenContainer::Object(fields)) => {
                let begun = scope.values::<M, _, PRETTY>(
                    printer,
                    &mut keys,
                    &mut rows,
                    fields,
                    &mut first,
                    |printer, _, field, first| {
                        let (key, value) = M::item_result(field).map_err(Error::document)?;
                        printer.key::<PRETTY>(key, first, depth)?;
                        Ok(value)
                    },
                );
                (begun?, b'}')
            }
        };
        first = true;
        if matches!(begun, Begun::Printed) {
            // It is not empty: `begin` has printed empty containers whole.
            printer.close::<PRETTY>(bracket, false, depth - 1)?;
            open.pop();
            first = false;
        }
    }
}

/// A container whose opening bracket was printed, and what is left of it to print.
enum Begun<'a, M> {
    Array(Array<'a, M>),
    /// With the first of its keys in [`PrintedKeys`].
    Record(Slots<'a, M>, usize),
    Row(RowSlots<'a, M>, usize),
    Object(Fields<'a, M>),
    Rows(rows::Begun),
    Printed,
}

/// Prints a container's opening bracket; or all of it, if it is empty or a column of numbers.
#[inline]
fn begin<'a, M: Mode, const PRETTY: bool>(
    printer: &mut Printer<'_>,
    keys: &mut PrintedKeys,
    rows: &mut Printing<'a, M>,
    container: &Value<'a, M>,
    depth: usize,
    bounds: &mut Bounds,
) -> Result<Begun<'a, M>, Error> {
    if depth >= bounds.nesting {
        return Err(too_deep());
    }
    if container.kind() == Kind::Array {
        printer.open(b'[')?;
        let array = some(M::result(container.as_array()))?;
        if array.is_empty() {
            printer.close::<PRETTY>(b']', true, depth)?;
            return Ok(Begun::Printed);
        }
        if matches!(
            array.column_type(),
            ColumnType::Struct | ColumnType::List | ColumnType::FixedList
        ) {
            if let Some(begun) = rows.begin::<PRETTY>(array.as_column())? {
                return Ok(Begun::Rows(begun));
            }
            return Ok(Begun::Array(array));
        }
        if !columns::<M, PRETTY>(printer, &array, depth + 1)? {
            return Ok(Begun::Array(array));
        }
    } else {
        let object = some(M::result(container.as_object()))?;
        bounds.places = bounds.places.checked_sub(object.places() as u64).ok_or_else(gone)?;
        printer.open(b'{')?;
        if object.is_empty() {
            printer.close::<PRETTY>(b'}', true, depth)?;
            return Ok(Begun::Printed);
        }
        if let Some(slots) = object.slots()
            && let Some(first) = keys.find::<PRETTY>(&slots)?
        {
            return Ok(Begun::Record(slots, first));
        }
        if let Some(slots) = object.row_slots()
            && let Some(first) = keys.find::<PRETTY>(&slots)?
        {
            return Ok(Begun::Row(slots, first));
        }
        return Ok(Begun::Object(object.iter()));
    }
    Ok(Begun::Printed)
}

struct Scope<'b> {
    /// Open containers.
    depth: usize,
    bounds: &'b mut Bounds,
}

impl Scope<'_> {
    /// Prints what an iterator yields up to the next container that is more than a few
    /// brackets or numbers. `before` prints what comes before a value.
    #[inline]
    fn values<'a, M: Mode, I: Iterator + Clone, const PRETTY: bool>(
        self,
        printer: &mut Printer<'_>,
        keys: &mut PrintedKeys,
        rows: &mut Printing<'a, M>,
        items: &mut I,
        first: &mut bool,
        mut before: impl FnMut(
            &mut Printer<'_>,
            &PrintedKeys,
            I::Item,
            bool,
        ) -> Result<Value<'a, M>, Error>,
    ) -> Result<Begun<'a, M>, Error> {
        for item in items.by_ref() {
            let value = before(printer, keys, item, *first)?;
            *first = false;
            if scalar(printer, &value)? {
                continue;
            }
            let begun = begin::<M, PRETTY>(printer, keys, rows, &value, self.depth, self.bounds)?;
            if !matches!(begun, Begun::Printed) {
                return Ok(begun);
            }
        }
        Ok(Begun::Printed)
    }
}

/// Prints the elements of an array of numbers of one type, and the closing bracket;
/// `false` for other arrays.
#[inline(never)]
fn columns<M: Mode, const PRETTY: bool>(
    printer: &mut Printer<'_>,
    array: &Array<'_, M>,
    depth: usize,
) -> Result<bool, Error> {
    match array.column_type() {
        ColumnType::I8 => {
            column::<i8, M, PRETTY>(printer, array, depth, |p, value| p.i64(value.into()))
        }
        ColumnType::I16 => {
            column::<i16, M, PRETTY>(printer, array, depth, |p, value| p.i64(value.into()))
        }
        ColumnType::I32 => {
            column::<i32, M, PRETTY>(printer, array, depth, |p, value| p.i64(value.into()))
        }
        ColumnType::I64 => column::<i64, M, PRETTY>(printer, array, depth, |p, value| p.i64(value)),
        ColumnType::U8 => {
            column::<u8, M, PRETTY>(printer, array, depth, |p, value| p.u64(value.into()))
        }
        ColumnType::U16 => {
            column::<u16, M, PRETTY>(printer, array, depth, |p, value| p.u64(value.into()))
        }
        ColumnType::U32 => {
            column::<u32, M, PRETTY>(printer, array, depth, |p, value| p.u64(value.into()))
        }
        ColumnType::U64 => column::<u64, M, PRETTY>(printer, array, depth, |p, value| p.u64(value)),
        ColumnType::F32 => {
            column::<f32, M, PRETTY>(printer, array, depth, |p, value| p.f64(value.into()))
        }
        ColumnType::F64 => column::<f64, M, PRETTY>(printer, array, depth, |p, value| p.f64(value)),
        ColumnType::NumbersF32 => {
            column::<f32, M, PRETTY>(printer, array, depth, |p, value| p.number_f32(value.into()))
        }
        ColumnType::NumbersF64 => {
            column::<f64, M, PRETTY>(printer, array, depth, |p, value| p.number_f64(value))
        }
        _ => Ok(false),
    }
}

/// `false` if the elements cannot be borrowed as a slice (alignment, byte order).
#[inline]
fn column<T: Element + Copy, M: Mode, const PRETTY: bool>(
    printer: &mut Printer<'_>,
    array: &Array<'_, M>,
    depth: usize,
    print: impl Fn(&mut Printer<'_>, T) -> Result<(), Error>,
) -> Result<bool, Error> {
    let Some(values) = array.as_slice::<T>() else { return Ok(false) };
    for (index, &value) in values.iter().enumerate() {
        printer.separate::<PRETTY>(index == 0, depth)?;
        print(printer, value)?;
    }
    printer.close::<PRETTY>(b']', values.is_empty(), depth - 1)?;
    Ok(true)
}
