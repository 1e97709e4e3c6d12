//! Walking a document and printing what is met.
//!
//! The walk keeps its own stack, so nesting costs heap and not call frames, and is
//! bounded by its limit. Every value and every bracket adds to the output, so the output
//! budget bounds the work, on damaged documents too.

use std::any::TypeId;
use std::io;

use livebuf::layout::MAX_NESTING;
use livebuf::{
    Array, ArrayIter, Checked, ColumnType, Element, Fields, Kind, Mode, Object, Slots, Value,
};

use crate::error::{Error, ErrorKind};
use crate::write::{NonFinite, Piece, Printer};

/// How JSON is printed: compact by default.
///
/// ```
/// use livebuf_json::PrintOptions;
///
/// let document = livebuf_json::from_str(r#"{"a":[1,{}]}"#)?;
/// let text = livebuf_json::to_string_with(document.valid().unwrap().root(), &PrintOptions::new().indent("\t"))?;
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

/// The most that is printed of a document that was not validated, unless told otherwise.
const UNCHECKED_BUDGET: u64 = 1 << 30;

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
    /// Compact text, no limit of bytes for validated documents, nesting to 2,000, which
    /// no document passes.
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

    /// The most bytes to print; beyond, printing stops with [`ErrorKind::OutputLimit`].
    ///
    /// By default what is validated is printed without limit, and of other documents
    /// at most 1 GiB: in damaged ones values can alias, so that a few bytes print
    /// without end.
    #[must_use]
    pub fn max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = Some(max_bytes);
        self
    }

    /// The deepest nesting to print, 2,000 by default. Costs under 100 bytes a level.
    #[must_use]
    pub fn nesting(mut self, nesting: u32) -> Self {
        self.nesting = nesting;
        self
    }
}

/// Prints a value as compact JSON.
///
/// Linear in the text. Bytes become a string of their base64 (standard alphabet, with
/// padding); f64 become their shortest digits that read back the same, always with a
/// point or exponent; number text is printed as it is.
///
/// # Errors
/// [`ErrorKind::NotFinite`], [`ErrorKind::NestingLimit`], [`ErrorKind::OutputLimit`],
/// and [`ErrorKind::Document`] for what is damaged or of a kind unknown here.
///
/// ```
/// let document = livebuf_json::from_str(r#"{ "b": 1.50, "a": [1e2, "\u00e9\u0000"] }"#)?;
/// let text = livebuf_json::to_string(document.valid().unwrap().root())?;
/// assert_eq!(text, r#"{"b":1.5,"a":[100.0,"é\u0000"]}"#);
/// # Ok::<(), livebuf_json::Error>(())
/// ```
pub fn to_string<M: Mode>(value: Value<'_, M>) -> Result<String, Error> {
    to_string_with(value, &PrintOptions::new())
}

/// Prints a value as JSON over many lines, laid out as serde_json does.
///
/// # Errors
/// As [`to_string`].
pub fn to_string_pretty<M: Mode>(value: Value<'_, M>) -> Result<String, Error> {
    to_string_with(value, &PrintOptions::pretty())
}

/// Prints a value as JSON by the options.
///
/// # Errors
/// As [`to_string`].
pub fn to_string_with<M: Mode>(
    value: Value<'_, M>,
    options: &PrintOptions,
) -> Result<String, Error> {
    // Only UTF-8 went in, but this crate may not promise that to the compiler.
    String::from_utf8(to_vec_with(value, options)?).map_err(|_| gone())
}

/// Prints a value as compact JSON into bytes; as [`to_string`].
///
/// # Errors
/// As [`to_string`].
pub fn to_vec<M: Mode>(value: Value<'_, M>) -> Result<Vec<u8>, Error> {
    to_vec_with(value, &PrintOptions::new())
}

/// Prints a value as JSON by the options into bytes; as [`to_string`].
///
/// # Errors
/// As [`to_string`].
pub fn to_vec_with<M: Mode>(value: Value<'_, M>, options: &PrintOptions) -> Result<Vec<u8>, Error> {
    print(value, options, None)
}

/// Prints a value as JSON to a writer, in chunks of about 32 KiB, and flushes it.
///
/// Uses under 256 KiB of memory beside the stack of open containers, however long the
/// text is. After an error part of the text may have been written.
///
/// # Errors
/// As [`to_string`], and [`ErrorKind::Io`] with the writer's error.
pub fn to_writer<M: Mode>(
    mut writer: impl io::Write,
    value: Value<'_, M>,
    options: &PrintOptions,
) -> Result<(), Error> {
    print(value, options, Some(&mut writer)).map(drop)
}

fn print<'w, M: Mode>(
    value: Value<'_, M>,
    options: &'w PrintOptions,
    writer: Option<&'w mut dyn io::Write>,
) -> Result<Vec<u8>, Error> {
    let budget = match options.max_bytes {
        Some(bytes) => bytes,
        None if TypeId::of::<M>() == TypeId::of::<Checked>() => UNCHECKED_BUDGET,
        None => u64::MAX,
    };
    let indent = options.indent.as_deref();
    let mut printer = Printer::new(writer, budget, indent.unwrap_or(""), options.non_finite);
    if scalar(&mut printer, &value)? {
        return printer.finish();
    }
    match indent {
        None => walk::<M, false>(&mut printer, value, options.nesting as usize)?,
        Some(_) => walk::<M, true>(&mut printer, value, options.nesting as usize)?,
    }
    printer.finish()
}

/// What is left of an open container.
enum Open<'a, M> {
    Array(ArrayIter<'a, M>),
    Object(Fields<'a, M>),
    /// An object whose keys are [`PrintedKeys`], from this one on.
    Record(Slots<'a, M>, usize),
}

/// Keys as they are printed, for shapes that were met before: keys are most of what
/// objects print, and the same in each.
struct PrintedKeys {
    /// By a hash of the shape's number. One that collides takes the place.
    shapes: [PrintedShape; 64],
    /// The keys of one shape are a run; an empty one is not kept.
    keys: Vec<Piece>,
    text: Printer<'static>,
}

#[derive(Clone, Copy, Default)]
struct PrintedShape {
    shape: u32,
    first: u32,
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

    #[inline(always)]
    fn place(shape: u32) -> usize {
        (shape.wrapping_mul(0x9E37_79B1) >> 26) as usize
    }

    /// Where the keys of this object begin; `None` where its shape is new or cannot be kept.
    #[inline(always)]
    fn find<M: Mode, const PRETTY: bool>(
        &mut self,
        object: &Object<'_, M>,
        slots: &Slots<'_, M>,
    ) -> Result<Option<usize>, Error> {
        let Some(shape) = object.shape() else { return Ok(None) };
        let printed = &mut self.shapes[Self::place(shape)];
        if printed.shape != shape {
            // Most shapes of small documents are met once.
            *printed = PrintedShape { shape, ..PrintedShape::default() };
            return Ok(None);
        }
        if (printed.count as usize) < slots.end() {
            self.print::<M, PRETTY>(object, shape, slots.end())
        } else {
            Ok(Some(printed.first as usize))
        }
    }

    #[inline(never)]
    fn print<M: Mode, const PRETTY: bool>(
        &mut self,
        object: &Object<'_, M>,
        shape: u32,
        count: usize,
    ) -> Result<Option<usize>, Error> {
        if self.text.length() > Self::MOST_TEXT || self.keys.len() > Self::MOST_KEYS {
            return Ok(None);
        }
        let first = self.keys.len();
        for slot in 0..count {
            let start = self.text.length();
            // What cannot be read or is long is left to the field, if it is one.
            if let Ok(Some(key)) = M::result(object.key_at(slot))
                && key.len() < Piece::LONGEST
            {
                self.text.key::<false>(key, false, 0)?;
                if PRETTY {
                    self.text.literal(" ")?;
                }
            }
            let length = match self.text.length() - start {
                length @ ..=Piece::LONGEST => length as u8,
                _ => 0,
            };
            self.keys.push(Piece { start: start as u32, length });
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
    nesting: usize,
) -> Result<(), Error> {
    let mut open: Vec<Open<'a, M>> = Vec::new();
    let mut keys = PrintedKeys::new();
    let mut enter = Some(container);
    // Whether nothing is printed yet behind the innermost open bracket.
    let mut first = true;
    loop {
        if let Some(container) = enter {
            if open.len() >= nesting {
                return Err(too_deep());
            }
            first = true;
            if container.kind() == Kind::Array {
                let array = some(M::result(container.as_array()))?;
                printer.open(b'[')?;
                if array.is_empty() {
                    printer.close::<PRETTY>(b']', true, open.len())?;
                    first = false;
                } else if columns::<M, PRETTY>(printer, &array, open.len() + 1)? {
                    first = false;
                } else {
                    open.push(Open::Array(array.iter()));
                }
            } else {
                let object = some(M::result(container.as_object()))?;
                printer.open(b'{')?;
                let slots = object.slots();
                open.push(match keys.find::<M, PRETTY>(&object, &slots)? {
                    Some(first) => Open::Record(slots, first),
                    None => Open::Object(object.iter()),
                });
            }
        }
        let depth = open.len();
        let (next, bracket) = match open.last_mut() {
            None => return Ok(()),
            Some(Open::Array(elements)) => {
                let next = scalars(printer, elements, &mut first, |printer, element, first| {
                    printer.separate::<PRETTY>(first, depth)?;
                    M::item_result(element).map_err(Error::document)
                });
                (next?, b']')
            }
            Some(Open::Record(slots, keys_from)) => {
                let (object, keys_from) = (slots.object(), *keys_from);
                let next = scalars(printer, slots, &mut first, |printer, field, first| {
                    let (slot, value) = M::item_result(field).map_err(Error::document)?;
                    match keys.keys.get(keys_from + slot) {
                        Some(&key) if key.length > 0 => {
                            printer.key_again::<PRETTY>(&keys.text, key, first, depth)?;
                        }
                        _ => {
                            let key = some(M::result(object.key_at(slot)))?;
                            printer.key::<PRETTY>(key, first, depth)?;
                        }
                    }
                    Ok(value)
                });
                (next?, b'}')
            }
            Some(Open::Object(fields)) => {
                let next = scalars(printer, fields, &mut first, |printer, field, first| {
                    let (key, value) = M::item_result(field).map_err(Error::document)?;
                    printer.key::<PRETTY>(key, first, depth)?;
                    Ok(value)
                });
                (next?, b'}')
            }
        };
        enter = next;
        if enter.is_none() {
            printer.close::<PRETTY>(bracket, first, depth - 1)?;
            open.pop();
            first = false;
        }
    }
}

/// Prints what an iterator yields up to the next container, which is returned. `before`
/// prints what comes before a value.
#[inline(always)]
fn scalars<'a, M: Mode, I: Iterator + Clone>(
    printer: &mut Printer<'_>,
    items: &mut I,
    first: &mut bool,
    mut before: impl FnMut(&mut Printer<'_>, I::Item, bool) -> Result<Value<'a, M>, Error>,
) -> Result<Option<Value<'a, M>>, Error> {
    // A copy, which the compiler keeps in registers.
    let mut rest = items.clone();
    while let Some(item) = rest.next() {
        let value = before(printer, item, *first)?;
        *first = false;
        if !scalar(printer, &value)? {
            *items = rest;
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// Prints the elements of an array of numbers of one type, and the closing bracket;
/// `false` for other arrays.
#[inline(never)]
fn columns<M: Mode, const PRETTY: bool>(
    printer: &mut Printer<'_>,
    array: &Array<'_, M>,
    depth: usize,
) -> Result<bool, Error> {
    match array.column() {
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
        _ => Ok(false),
    }
}

/// `false` where the elements cannot be borrowed as a slice (alignment, byte order).
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

#[cold]
fn too_deep() -> Error {
    Error::new(ErrorKind::NestingLimit, "nested too deeply; raise the nesting limit to print it")
}

#[cold]
fn gone() -> Error {
    Error::new(ErrorKind::Document, "the document is damaged: a value cannot be read")
}

#[cold]
fn unknown() -> Error {
    Error::new(
        ErrorKind::Document,
        "the document holds a value of a kind this version does not know",
    )
}

#[inline(always)]
fn some<X>(answer: livebuf::Result<Option<X>>) -> Result<X, Error> {
    match answer {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(gone()),
        Err(error) => Err(Error::document(error)),
    }
}

/// Prints a scalar; `false` for a container.
///
/// Always inlined: handing a value over by memory costs more than the call.
#[inline(always)]
fn scalar<M: Mode>(printer: &mut Printer<'_>, value: &Value<'_, M>) -> Result<bool, Error> {
    match value.kind() {
        Kind::String => printer.string(some(M::result(value.as_str()))?)?,
        Kind::Int => printer.i64(value.as_i64().ok_or_else(gone)?)?,
        Kind::Uint => printer.u64(value.as_u64().ok_or_else(gone)?)?,
        Kind::Float => printer.f64(value.as_f64().ok_or_else(gone)?)?,
        Kind::Null => printer.literal("null")?,
        Kind::Bool => {
            printer.literal(if value.as_bool() == Some(true) { "true" } else { "false" })?;
        }
        Kind::Number => printer.number_text(some(M::result(value.as_number_text()))?)?,
        Kind::Bytes => printer.bytes(some(M::result(value.as_bytes()))?)?,
        Kind::Array | Kind::Object => return Ok(false),
        _ => return Err(unknown()),
    }
    Ok(true)
}
