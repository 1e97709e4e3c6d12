//! Arrow's arrays into documents: rows become objects, event by event.

use std::borrow::Cow;
use std::collections::HashSet;

use half::f16;
use livebuf::{
    ColumnType, Date, DateTime, Decimal, DocBuf, EncodeOptions, Encoder, Extended, Tensor, Time,
    Timestamp, Uuid,
};

use crate::error::{Error, ErrorKind, Result};
use crate::ffi::foreign::{Data, Values, fixed};
use crate::ffi::{ArrowArrayStream, RecordBatch};
use crate::kept;
use crate::schema::{Field, Number, Type, Unit};
use crate::text;

/// Adds a value of Variant to a document: its metadata, its bytes, where it goes.
///
/// # Errors
/// What is wrong with it.
pub type VariantDecoder =
    fn(&[u8], &[u8], &mut Encoder) -> std::result::Result<(), Cow<'static, str>>;

/// How Arrow's arrays become documents.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    skip_nulls: bool,
    keep_types: bool,
    values: bool,
    variant: Option<VariantDecoder>,
    encode: EncodeOptions,
}

impl ImportOptions {
    /// Nulls are kept as null; the encoder's own defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves fields out that are null, instead of storing null. Elements of lists that
    /// are null stay.
    #[must_use]
    pub fn skip_nulls(mut self, skip_nulls: bool) -> Self {
        self.skip_nulls = skip_nulls;
        self
    }

    /// Keeps the schema beside the rows, for what documents have no types for: units of times and
    /// durations, zones, widths, dictionaries, the metadata of fields. The document is an object of
    /// `arrow_schema` and `rows` then. An export of these rows gives the types back.
    ///
    /// Values are stored as they are without. Where dictionaries had an order, it is not kept.
    #[must_use]
    pub fn keep_types(mut self, keep_types: bool) -> Self {
        self.keep_types = keep_types;
        self
    }

    /// Rows of one column become its values, not objects. Rows of several stay objects.
    #[must_use]
    pub fn values(mut self, values: bool) -> Self {
        self.values = values;
        self
    }

    /// Decodes structs of the extension `arrow.parquet.variant`, whose fields are `metadata` and
    /// `value`. Without, they are objects of bytes.
    #[must_use]
    pub fn variant(mut self, decoder: VariantDecoder) -> Self {
        self.variant = Some(decoder);
        self
    }

    /// How the document is laid out, and its limits.
    #[must_use]
    pub fn encode(mut self, encode: EncodeOptions) -> Self {
        self.encode = encode;
        self
    }

    /// What [`encode`](Self::encode) set.
    pub fn encode_options(&self) -> EncodeOptions {
        self.encode
    }
}

/// A document of one record batch: an array with an object for each row.
///
/// An array of anything but structs becomes the array of its values.
///
/// # Errors
/// [`ErrorKind::Unsupported`] with the column and format of a type that is not supported;
/// [`ErrorKind::Mismatch`] for what is damaged or makes no sense, such as two columns of
/// one name; [`ErrorKind::Document`] for limits of documents.
///
/// ```
/// use livebuf_arrow::{Exporter, ImportOptions, from_batch};
/// use std::sync::Arc;
/// let laps = livebuf_json::from_str(r#"[{"lap": 1, "pit": null}, {"lap": 2, "pit": true}]"#)?;
/// let batch = Exporter::new(Arc::new(laps))?.batch()?;
/// let copy = from_batch(&batch, &ImportOptions::new().skip_nulls(true))?;
/// assert_eq!(livebuf_json::to_string(&copy)?, r#"[{"lap":1},{"lap":2,"pit":true}]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_batch(batch: &RecordBatch, options: &ImportOptions) -> Result<DocBuf> {
    let (field, values) = batch.read()?;
    let mut import = Import::begin(&field, options)?;
    import.rows(&values)?;
    import.finish()
}

/// A document of all that a stream gives: one array with an object for each row.
///
/// # Errors
/// As [`from_batch`], and [`ErrorKind::Producer`] with the stream's own message.
pub fn from_stream(stream: ArrowArrayStream, options: &ImportOptions) -> Result<DocBuf> {
    let import = stream
        .read_all(|field| Import::begin(field, options), |import, values| import.rows(&values))?;
    import.finish()
}

struct Import {
    field: Field,
    options: ImportOptions,
    encoder: Encoder,
    count: usize,
    /// Text of the date or number at hand.
    text: String,
}

impl Import {
    fn begin(field: &Field, options: &ImportOptions) -> Result<Import> {
        check_names(&field.kind)?;
        let mut encoder = Encoder::with_options(options.encode);
        if options.keep_types {
            encoder.begin_object()?;
            encoder.key(kept::SCHEMA)?;
            kept::write(&mut encoder, field)?;
            encoder.key(kept::ROWS)?;
        }
        encoder.begin_array()?;
        let (field, options) = (field.clone(), options.clone());
        Ok(Import { field, options, encoder, count: 0, text: String::new() })
    }

    fn rows(&mut self, values: &Values<'_>) -> Result<()> {
        let first = self.count;
        let (kind, rows) = match (&self.field.kind, &values.data) {
            (Type::Struct(fields), Data::Struct(columns)) if self.options.values => {
                match (fields.as_slice(), columns.as_slice()) {
                    ([field], [column]) => (&field.kind, column),
                    _ => (&self.field.kind, values),
                }
            }
            _ => (&self.field.kind, values),
        };
        for row in 0..values.length {
            let mut events =
                Events { encoder: &mut self.encoder, text: &mut self.text, options: &self.options };
            events.value(kind, rows, row).map_err(|error| error.at_row(first + row))?;
        }
        self.count += values.length;
        Ok(())
    }

    fn finish(mut self) -> Result<DocBuf> {
        self.encoder.end_array()?;
        if self.options.keep_types {
            self.encoder.end_object()?;
        }
        Ok(self.encoder.finish()?)
    }
}

/// Refuses structs with two fields of one name: an object holds one of them only.
fn check_names(kind: &Type) -> Result<()> {
    match kind {
        Type::Struct(fields) | Type::Variant(fields) => {
            let mut names = HashSet::new();
            for field in fields {
                if !names.insert(field.name.as_str()) {
                    let error = Error::new(ErrorKind::Mismatch, "two columns have this name");
                    return Err(error.within(&field.name));
                }
                check_names(&field.kind).map_err(|error| error.within(&field.name))?;
            }
            Ok(())
        }
        Type::List(item) | Type::LargeList(item) | Type::FixedList(item, _) => {
            check_names(&item.kind).map_err(Error::within_list)
        }
        Type::Dictionary(_, kind) => check_names(kind),
        _ => Ok(()),
    }
}

struct Events<'e> {
    encoder: &'e mut Encoder,
    text: &'e mut String,
    options: &'e ImportOptions,
}

fn short() -> Error {
    Error::new(ErrorKind::Mismatch, "a buffer is too short")
}

fn number<const N: usize>(bytes: &[u8], index: usize) -> Result<[u8; N]> {
    fixed(bytes, index).ok_or_else(short)
}

/// The index that a dictionary's key is.
fn key(number_type: Number, bytes: &[u8], index: usize) -> Result<Option<usize>> {
    Ok(match number_type {
        Number::I8 => usize::try_from(i8::from_ne_bytes(number(bytes, index)?)).ok(),
        Number::I16 => usize::try_from(i16::from_ne_bytes(number(bytes, index)?)).ok(),
        Number::I32 => usize::try_from(i32::from_ne_bytes(number(bytes, index)?)).ok(),
        Number::I64 => usize::try_from(i64::from_ne_bytes(number(bytes, index)?)).ok(),
        Number::U8 => Some(u8::from_ne_bytes(number(bytes, index)?).into()),
        Number::U16 => Some(u16::from_ne_bytes(number(bytes, index)?).into()),
        Number::U32 => usize::try_from(u32::from_ne_bytes(number(bytes, index)?)).ok(),
        Number::U64 => usize::try_from(u64::from_ne_bytes(number(bytes, index)?)).ok(),
        Number::F16 | Number::F32 | Number::F64 => None,
    })
}

impl Events<'_> {
    /// One value, below the array's length, with all in it.
    fn value(&mut self, kind: &Type, values: &Values<'_>, index: usize) -> Result<()> {
        if !values.is_valid(index) {
            return Ok(self.encoder.null()?);
        }
        match (&values.data, kind) {
            (Data::Null, _) => self.encoder.null()?,
            (Data::Bool(bits, first), _) => {
                let bit = first + index;
                let byte = bits.get(bit / 8).ok_or_else(short)?;
                self.encoder.bool(byte >> (bit % 8) & 1 == 1)?;
            }
            (Data::Fixed(bytes, width), _) => self.fixed(kind, bytes, *width, index)?,
            (Data::Variable(offsets, bytes), _) => {
                self.bytes(kind, bytes.get(offsets.range(index)).ok_or_else(short)?)?;
            }
            (Data::Views(views, buffers), _) => {
                self.bytes(kind, Values::view(views, buffers, index)?)?;
            }
            (Data::Struct(children), Type::Variant(fields)) if self.options.variant.is_some() => {
                self.variant(fields, children, index)?;
            }
            (Data::Struct(children), Type::Struct(fields) | Type::Variant(fields)) => {
                self.encoder.begin_object()?;
                for (child, field) in children.iter().zip(fields) {
                    if self.options.skip_nulls && is_null(child, index) {
                        continue;
                    }
                    self.encoder
                        .key(&field.name)
                        .map_err(Error::from)
                        .and_then(|()| self.value(&field.kind, child, index))
                        .map_err(|error| error.within(&field.name))?;
                }
                self.encoder.end_object()?;
            }
            (Data::List(offsets, child), Type::List(item) | Type::LargeList(item)) => {
                self.elements(item, child, offsets.range(index))?;
            }
            (Data::FixedList(size, child), Type::FixedList(item, _)) => {
                if self.tensor(kind, values, index)? {
                    return Ok(());
                }
                self.elements(item, child, index * size..(index + 1) * size)?;
            }
            (Data::FixedList(size, child), Type::Tensor(lists)) => {
                if self.tensor(kind, values, index)? {
                    return Ok(());
                }
                self.numbers(lists, child, index * size..(index + 1) * size)?;
            }
            (Data::Dictionary(number, keys, values), Type::Dictionary(_, kind)) => {
                match key(*number, keys, index)? {
                    Some(index) if index < values.length => self.value(kind, values, index)?,
                    _ => {
                        let message = "an index leads beyond the dictionary";
                        return Err(Error::new(ErrorKind::Mismatch, message));
                    }
                }
            }
            _ => return Err(Error::new(ErrorKind::Mismatch, "the array is not of its type")),
        }
        Ok(())
    }

    fn variant(&mut self, fields: &[Field], children: &[Values<'_>], index: usize) -> Result<()> {
        let part = |name: &str| {
            let found = fields.iter().zip(children).find(|(field, _)| field.name == name);
            let bytes = match found.map(|(_, child)| (child.is_valid(index), &child.data)) {
                Some((true, Data::Variable(offsets, bytes))) => bytes.get(offsets.range(index)),
                Some((true, Data::Views(views, buffers))) => {
                    Some(Values::view(views, buffers, index)?)
                }
                _ => None,
            };
            bytes.ok_or_else(|| {
                Error::new(ErrorKind::Mismatch, format!("a Variant lacks its {name}"))
            })
        };
        let (metadata, value) = (part("metadata")?, part("value")?);
        match self.options.variant {
            Some(decode) => decode(metadata, value, self.encoder)
                .map_err(|message| Error::new(ErrorKind::Mismatch, message)),
            None => Ok(()),
        }
    }

    fn elements(
        &mut self,
        item: &Field,
        child: &Values<'_>,
        range: std::ops::Range<usize>,
    ) -> Result<()> {
        self.encoder.begin_array()?;
        for index in range {
            self.value(&item.kind, child, index).map_err(Error::within_list)?;
        }
        Ok(self.encoder.end_array()?)
    }

    /// An array of a fixed size as a tensor, where it can be one.
    fn tensor(&mut self, kind: &Type, values: &Values<'_>, index: usize) -> Result<bool> {
        let Some((column, shape, bytes)) = tensor(kind, values, index..index + 1)? else {
            return Ok(false);
        };
        let Ok(tensor) = Tensor::from_bytes(column, &shape, &bytes) else { return Ok(false) };
        self.encoder.tensor(&tensor)?;
        Ok(true)
    }

    /// A tensor with nulls, or without numbers, as lists.
    fn numbers(
        &mut self,
        kind: &Type,
        numbers: &Values<'_>,
        range: std::ops::Range<usize>,
    ) -> Result<()> {
        let Type::FixedList(item, length) = kind else {
            return self.value(kind, numbers, range.start);
        };
        self.encoder.begin_array()?;
        let size = range.len().checked_div(*length).unwrap_or(0);
        for part in 0..*length {
            let start = range.start + part * size;
            self.numbers(&item.kind, numbers, start..start + size).map_err(Error::within_list)?;
        }
        Ok(self.encoder.end_array()?)
    }

    fn bytes(&mut self, kind: &Type, bytes: &[u8]) -> Result<()> {
        match kind {
            Type::Binary(_) => self.encoder.bytes(bytes)?,
            Type::Json(_) => {
                let read = livebuf_json::from_slice(bytes).map_err(|error| {
                    let message = format!("a text is not the JSON that its type says: {error}");
                    Error::new(ErrorKind::Mismatch, message)
                })?;
                self.encoder.value(&read.doc().root())?;
            }
            _ => match std::str::from_utf8(bytes) {
                Ok(text) => self.encoder.str(text)?,
                Err(_) => return Err(Error::new(ErrorKind::Mismatch, "text is not UTF-8")),
            },
        }
        Ok(())
    }

    fn fixed(&mut self, kind: &Type, bytes: &[u8], width: usize, index: usize) -> Result<()> {
        let i32_at = || number(bytes, index).map(i32::from_ne_bytes);
        let i64_at = || number(bytes, index).map(i64::from_ne_bytes);
        self.text.clear();
        match kind {
            Type::Number(kind) => return self.number(*kind, bytes, index),
            Type::FixedBinary(_) => {
                let value = bytes.get(index * width..(index + 1) * width).ok_or_else(short)?;
                return Ok(self.encoder.bytes(value)?);
            }
            Type::Decimal { scale, .. } => {
                let value = match width {
                    4 => i32_at()?.into(),
                    8 => i64_at()?.into(),
                    _ => i128::from_ne_bytes(number(bytes, index)?),
                };
                let decimal =
                    u8::try_from(*scale).ok().and_then(|scale| Decimal::new(value, scale));
                if let Some(decimal) = decimal {
                    return Ok(self.encoder.extended(decimal)?);
                }
                text::decimal(self.text, value, *scale);
                return Ok(self.encoder.number_text(self.text)?);
            }
            Type::Uuid => {
                let id = Uuid::from_bytes(number(bytes, index)?);
                return Ok(self.encoder.extended(id)?);
            }
            Type::Date32 => {
                let days = i32_at()?;
                if let Some(date) = Date::from_days(days) {
                    return Ok(self.encoder.extended(date)?);
                }
                text::date(self.text, days.into());
            }
            Type::Date64 => {
                // Whole days by the specification, but not all producers follow it.
                let value = i64_at()?;
                let days = i32::try_from(value.div_euclid(86_400_000)).ok();
                let date = days.and_then(Date::from_days);
                match (date, value.rem_euclid(86_400_000)) {
                    (Some(date), 0) => return Ok(self.encoder.extended(date)?),
                    (_, 0) => text::date(self.text, value / 86_400_000),
                    _ => return self.timestamp(value, Unit::Milli, ""),
                }
            }
            Type::Time(unit) => {
                let value = if width == 4 { i32_at()?.into() } else { i64_at()? };
                let time = unit.to_microseconds(value).and_then(Time::from_microseconds);
                if let Some(time) = time {
                    return Ok(self.encoder.extended(time)?);
                }
                text::time(self.text, value, *unit).ok_or_else(|| {
                    Error::new(ErrorKind::Mismatch, format!("{value} is no time of a day"))
                })?;
            }
            Type::Timestamp(unit, zone) => return self.timestamp(i64_at()?, *unit, zone),
            Type::Duration(unit) => text::duration(self.text, i64_at()?, *unit),
            _ => return Err(Error::new(ErrorKind::Mismatch, "the array is not of its type")),
        }
        Ok(self.encoder.str(self.text)?)
    }

    /// A moment, or a date and time without a zone; their text where they are beyond the years
    /// 0001 to 9999, or no whole microseconds.
    fn timestamp(&mut self, value: i64, unit: Unit, zone: &str) -> Result<()> {
        let microseconds = unit.to_microseconds(value);
        let extended = microseconds.and_then(|value| {
            Some(match zone {
                "" => DateTime::from_microseconds(value)?.into(),
                _ => Timestamp::from_microseconds(value)?.into(),
            })
        });
        if let Some(extended) = extended {
            let extended: Extended = extended;
            return Ok(self.encoder.extended(extended)?);
        }
        text::timestamp(self.text, value, unit, zone);
        Ok(self.encoder.str(self.text)?)
    }

    fn number(&mut self, kind: Number, bytes: &[u8], index: usize) -> Result<()> {
        let encoder = &mut *self.encoder;
        match kind {
            Number::I8 => encoder.i64(i8::from_ne_bytes(number(bytes, index)?).into())?,
            Number::I16 => encoder.i64(i16::from_ne_bytes(number(bytes, index)?).into())?,
            Number::I32 => encoder.i64(i32::from_ne_bytes(number(bytes, index)?).into())?,
            Number::I64 => encoder.i64(i64::from_ne_bytes(number(bytes, index)?))?,
            Number::U8 => encoder.u64(u8::from_ne_bytes(number(bytes, index)?).into())?,
            Number::U16 => encoder.u64(u16::from_ne_bytes(number(bytes, index)?).into())?,
            Number::U32 => encoder.u64(u32::from_ne_bytes(number(bytes, index)?).into())?,
            Number::U64 => encoder.u64(u64::from_ne_bytes(number(bytes, index)?))?,
            Number::F16 => {
                encoder.f64(f16::from_bits(u16::from_ne_bytes(number(bytes, index)?)).into())?;
            }
            Number::F32 => encoder.f64(f32::from_ne_bytes(number(bytes, index)?).into())?,
            Number::F64 => encoder.f64(f64::from_ne_bytes(number(bytes, index)?))?,
        }
        Ok(())
    }
}

/// The type, the shape and the bytes of a tensor.
type TensorParts<'a> = (ColumnType, Vec<usize>, Cow<'a, [u8]>);

/// The tensor that the arrays of a fixed size in a range are, where they hold nothing but numbers
/// or booleans. Without the first dimension, which is one array.
fn tensor<'a>(
    mut kind: &Type,
    mut values: &Values<'a>,
    mut range: std::ops::Range<usize>,
) -> Result<Option<TensorParts<'a>>> {
    let mut shape = Vec::new();
    while let (Data::FixedList(size, child), Type::FixedList(item, _)) = (&values.data, kind) {
        range = range.start * size..range.end * size;
        shape.push(*size);
        (kind, values) = (&item.kind, child);
        if !values.are_valid(range.clone()) {
            return Ok(None);
        }
    }
    if let (Data::FixedList(size, child), Type::Tensor(lists)) = (&values.data, kind) {
        range = range.start * size..range.end * size;
        let (lengths, number) = lists.shape();
        shape.extend(lengths);
        (kind, values) = (number, child);
        if !values.are_valid(range.clone()) {
            return Ok(None);
        }
    }
    if range.is_empty() || cfg!(target_endian = "big") {
        return Ok(None);
    }
    Ok(match (&values.data, kind) {
        (Data::Fixed(bytes, width), Type::Number(number)) => {
            let bytes = bytes.get(range.start * width..range.end * width).ok_or_else(short)?;
            Some((number.tensor_type(), shape, Cow::Borrowed(bytes)))
        }
        (Data::Bool(bits, first), Type::Bool) => {
            // Arrow has a bit for each, tensors a byte.
            let byte = |bit: usize| bits.get(bit / 8).map(|byte| byte >> (bit % 8) & 1);
            let bytes = (first + range.start..first + range.end).map(byte);
            let bytes = bytes.collect::<Option<Vec<u8>>>().ok_or_else(short)?;
            Some((ColumnType::Bool8, shape, Cow::Owned(bytes)))
        }
        _ => None,
    })
}

/// Whether a value is null, in a dictionary too.
fn is_null(values: &Values<'_>, index: usize) -> bool {
    !values.is_valid(index)
        || match &values.data {
            Data::Null => true,
            Data::Dictionary(number, keys, values) => match key(*number, keys, index) {
                Ok(Some(index)) => index < values.length && is_null(values, index),
                _ => false,
            },
            _ => false,
        }
}
