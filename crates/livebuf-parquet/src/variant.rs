//! Values of documents as Parquet's Variant, and back.
//!
//! A Variant object lists its fields by their names. Their values lie in the order of the
//! document's keys, which the encoding allows: so readers that look at it keep the order.

use std::borrow::Cow;

use crate::error::{Error, ErrorKind};
use chrono::{DateTime as Moment, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat, Timelike};
use livebuf::{Date, DateTime, Decimal, Encoder, Extended, Kind, Time, Timestamp, Valid, Value};
use parquet_variant::{
    ObjectFieldBuilder, Variant, VariantBuilderExt, VariantDecimal4, VariantDecimal8,
    VariantDecimal16, VariantObject,
};

/// Levels of arrays and objects within each other, which readers of Variant accept.
pub(crate) const MAX_DEPTH: usize = 127;

/// A value that Variant cannot keep: the pointer to it, and what it is.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) pointer: String,
    pub(crate) message: Cow<'static, str>,
}

impl Refused {
    #[cold]
    fn new(message: impl Into<Cow<'static, str>>) -> Refused {
        Refused { pointer: String::new(), message: message.into() }
    }

    #[cold]
    pub(crate) fn within(self, key: &str) -> Refused {
        let key = key.replace('~', "~0").replace('/', "~1");
        Refused { pointer: format!("/{key}{}", self.pointer), ..self }
    }
}

impl Refused {
    /// The error for a value that is below a pointer.
    #[cold]
    pub(crate) fn at(self, pointer: &str) -> Error {
        let place = format!("{pointer}{}", self.pointer);
        Error::new(ErrorKind::Unsupported, format!("at {place:?}: {}", self.message))
    }
}

/// What Variant cannot keep.
#[derive(Clone, Copy)]
pub(crate) enum Loss {
    /// Is refused.
    Refuse,
    /// Becomes the nearest value that it can.
    Nearest,
}

impl Loss {
    pub(crate) fn of(lossy: bool) -> Loss {
        if lossy { Loss::Nearest } else { Loss::Refuse }
    }
}

/// Appends a value.
pub(crate) fn encode(
    value: &Value<'_, Valid>,
    builder: &mut impl VariantBuilderExt,
    loss: Loss,
    depth: usize,
) -> Result<(), Refused> {
    match value.kind() {
        Kind::Object | Kind::Array if depth >= MAX_DEPTH => {
            return Err(Refused::new(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        Kind::Object => {
            let mut fields = builder.try_new_object().map_err(failed)?;
            for (key, value) in value.as_object().iter().flat_map(|object| object.iter()) {
                let mut field = ObjectFieldBuilder::new(key, &mut fields);
                encode(&value, &mut field, loss, depth + 1).map_err(|error| error.within(key))?;
            }
            fields.finish();
        }
        Kind::Array => {
            let mut elements = builder.try_new_list().map_err(failed)?;
            let values = value.as_array().into_iter().flat_map(|array| array.iter());
            for (index, value) in values.enumerate() {
                encode(&value, &mut elements, loss, depth + 1)
                    .map_err(|error| error.within(&index.to_string()))?;
            }
            elements.finish();
        }
        _ => builder.append_value(scalar(value, loss)?),
    }
    Ok(())
}

fn failed(error: arrow_schema::ArrowError) -> Refused {
    Refused::new(error.to_string())
}

fn scalar<'v>(value: &Value<'v, Valid>, loss: Loss) -> Result<Variant<'static, 'v>, Refused> {
    let extended = value.as_extended();
    let found = match value.kind() {
        Kind::Null => Some(Variant::Null),
        Kind::Bool => value.as_bool().map(Variant::from),
        Kind::Int => value.as_i64().map(integer),
        Kind::Uint => value.as_u64().and_then(|value| decimal(value.into(), 0)),
        Kind::Float => value.as_f64().map(Variant::Double),
        Kind::String => value.as_str().map(Variant::from),
        Kind::Bytes => value.as_bytes().map(Variant::Binary),
        Kind::NumberText => match value.as_number_text() {
            Some(text) => Some(number_text(text, loss)?),
            None => None,
        },
        _ => match extended {
            Some(Extended::Date(date)) => day(date).map(Variant::Date),
            Some(Extended::Time(time)) => time_of_day(time.microseconds()).map(Variant::Time),
            Some(Extended::DateTime(time)) => Moment::from_timestamp_micros(time.microseconds())
                .map(|time| Variant::TimestampNtzMicros(time.naive_utc())),
            Some(Extended::Timestamp(time)) => {
                Moment::from_timestamp_micros(time.microseconds()).map(Variant::TimestampMicros)
            }
            Some(Extended::Uuid(id)) => Some(Variant::Uuid(uuid::Uuid::from_bytes(*id.as_bytes()))),
            Some(Extended::Decimal(value)) => {
                let (coefficient, scale) = (value.coefficient(), value.scale());
                if scale == 0 && i64::try_from(coefficient).is_err() && matches!(loss, Loss::Refuse)
                {
                    return Err(Refused::new(format!(
                        "the decimal {value} would come back as an integer"
                    )));
                }
                decimal(coefficient, scale)
            }
            _ => None,
        },
    };
    found.ok_or_else(|| Refused::new(format!("Variant has no place for {:?}", value.kind())))
}

/// In as few bytes as hold it.
fn integer<'m, 'v>(value: i64) -> Variant<'m, 'v> {
    if let Ok(value) = i8::try_from(value) {
        Variant::Int8(value)
    } else if let Ok(value) = i16::try_from(value) {
        Variant::Int16(value)
    } else if let Ok(value) = i32::try_from(value) {
        Variant::Int32(value)
    } else {
        Variant::Int64(value)
    }
}

fn decimal<'m, 'v>(coefficient: i128, scale: u8) -> Option<Variant<'m, 'v>> {
    let four = i32::try_from(coefficient).ok();
    if let Some(value) = four.and_then(|value| VariantDecimal4::try_new(value, scale).ok()) {
        return Some(Variant::Decimal4(value));
    }
    let eight = i64::try_from(coefficient).ok();
    if let Some(value) = eight.and_then(|value| VariantDecimal8::try_new(value, scale).ok()) {
        return Some(Variant::Decimal8(value));
    }
    VariantDecimal16::try_new(coefficient, scale).ok().map(Variant::Decimal16)
}

/// Integers of up to 38 digits are decimals, and come back as they were.
fn number_text(text: &str, loss: Loss) -> Result<Variant<'static, '_>, Refused> {
    let integer: Option<i128> = text.parse().ok().filter(|value: &i128| value.to_string() == text);
    let beyond = integer.filter(|&value| i64::try_from(value).is_err());
    if let Some(found) = beyond.and_then(|value| decimal(value, 0)) {
        return Ok(found);
    }
    match loss {
        Loss::Refuse => {
            Err(Refused::new(format!("Variant cannot keep the number {text} as it is written")))
        }
        Loss::Nearest => {
            let exact = text.parse::<Decimal>().ok();
            let exact = exact.and_then(|value| decimal(value.coefficient(), value.scale()));
            let nearest = || text.parse::<f64>().ok().filter(|value| value.is_finite());
            Ok(match (integer.and_then(|value| i64::try_from(value).ok()), exact) {
                (Some(value), _) => self::integer(value),
                (None, Some(value)) => value,
                (None, None) => nearest().map_or(Variant::from(text), Variant::Double),
            })
        }
    }
}

fn day(date: Date) -> Option<NaiveDate> {
    NaiveDate::from_epoch_days(date.days())
}

fn time_of_day(microseconds: i64) -> Option<NaiveTime> {
    let (seconds, rest) = (microseconds.div_euclid(1_000_000), microseconds.rem_euclid(1_000_000));
    NaiveTime::from_num_seconds_from_midnight_opt(
        u32::try_from(seconds).ok()?,
        u32::try_from(rest).ok()? * 1000,
    )
}

/// Adds a value to a document. A [`VariantDecoder`](livebuf_arrow::VariantDecoder).
pub(crate) fn decode(
    metadata: &[u8],
    value: &[u8],
    encoder: &mut Encoder,
) -> Result<(), Cow<'static, str>> {
    check(value)?;
    let value = Variant::try_new(metadata, value).map_err(|error| error.to_string())?;
    add(&value, encoder)
}

fn add(value: &Variant<'_, '_>, encoder: &mut Encoder) -> Result<(), Cow<'static, str>> {
    let done = match value {
        Variant::Null => encoder.null(),
        Variant::BooleanTrue => encoder.bool(true),
        Variant::BooleanFalse => encoder.bool(false),
        Variant::Int8(value) => encoder.i64((*value).into()),
        Variant::Int16(value) => encoder.i64((*value).into()),
        Variant::Int32(value) => encoder.i64((*value).into()),
        Variant::Int64(value) => encoder.i64(*value),
        Variant::Float(value) => encoder.f64((*value).into()),
        Variant::Double(value) => encoder.f64(*value),
        Variant::String(text) => encoder.str(text),
        Variant::ShortString(text) => encoder.str(text),
        Variant::Binary(bytes) => encoder.bytes(bytes),
        Variant::Uuid(id) => encoder.extended(livebuf::Uuid::from_bytes(*id.as_bytes())),
        Variant::Decimal4(value) => add_decimal(encoder, value.integer().into(), value.scale()),
        Variant::Decimal8(value) => add_decimal(encoder, value.integer().into(), value.scale()),
        Variant::Decimal16(value) => add_decimal(encoder, value.integer(), value.scale()),
        Variant::Date(date) => match Date::from_days(date.to_epoch_days()) {
            Some(date) => encoder.extended(date),
            None => encoder.str(&date.to_string()),
        },
        Variant::Time(time) => {
            let seconds = i64::from(time.num_seconds_from_midnight());
            let time = seconds * 1_000_000 + i64::from(time.nanosecond() / 1000);
            match Time::from_microseconds(time) {
                Some(time) => encoder.extended(time),
                None => return Err("a time is beyond a day".into()),
            }
        }
        Variant::TimestampMicros(time) | Variant::TimestampNanos(time) => {
            match whole_microseconds(time.naive_utc()).and_then(Timestamp::from_microseconds) {
                Some(time) => encoder.extended(time),
                None => encoder.str(&time.to_rfc3339_opts(SecondsFormat::AutoSi, true)),
            }
        }
        Variant::TimestampNtzMicros(time) | Variant::TimestampNtzNanos(time) => {
            match whole_microseconds(*time).and_then(DateTime::from_microseconds) {
                Some(time) => encoder.extended(time),
                None => encoder.str(&time.format("%Y-%m-%dT%H:%M:%S%.f").to_string()),
            }
        }
        Variant::Object(object) => return add_object(object, encoder),
        Variant::List(list) => {
            encoder.begin_array().map_err(|error| error.to_string())?;
            for value in list.iter() {
                add(&value, encoder)?;
            }
            encoder.end_array()
        }
    };
    done.map_err(|error| error.to_string().into())
}

/// Its members in the order in which their values lie.
fn add_object(
    object: &VariantObject<'_, '_>,
    encoder: &mut Encoder,
) -> Result<(), Cow<'static, str>> {
    encoder.begin_object().map_err(|error| error.to_string())?;
    let layout = Container::read(object.value);
    let mut order: Vec<usize> = (0..object.len()).collect();
    order.sort_by_key(|&index| layout.as_ref().and_then(|layout| layout.start(index)));
    for index in order {
        let (name, value) = match (object.field_name(index), object.field(index)) {
            (Some(name), Some(value)) => (name, value),
            _ => return Err("an object lacks a field".into()),
        };
        encoder.key(name).map_err(|error| error.to_string())?;
        add(&value, encoder)?;
    }
    encoder.end_object().map_err(|error| error.to_string().into())
}

/// Without fraction digits, and beyond `i64`, it is an integer, which Variant has no other type
/// for.
fn add_decimal(encoder: &mut Encoder, coefficient: i128, scale: u8) -> livebuf::Result<()> {
    if scale == 0 && i64::try_from(coefficient).is_err() {
        return match u64::try_from(coefficient) {
            Ok(value) => encoder.u64(value),
            Err(_) => encoder.number_text(&coefficient.to_string()),
        };
    }
    match Decimal::new(coefficient, scale) {
        Some(value) => encoder.extended(value),
        None => encoder.str(&format!("{coefficient}e-{scale}")),
    }
}

fn whole_microseconds(time: NaiveDateTime) -> Option<i64> {
    let time = time.and_utc();
    time.timestamp_subsec_nanos().is_multiple_of(1000).then(|| time.timestamp_micros())
}

/// Refuses values that lie within each other: a few bytes could stand for any number of them.
/// Looks no deeper than readers do, and leaves all else to them.
pub(crate) fn check(value: &[u8]) -> Result<(), Cow<'static, str>> {
    let mut left = value.len();
    let mut waiting = vec![(value, 0)];
    while let Some((bytes, depth)) = waiting.pop() {
        let Some(container) = Container::read(bytes) else { continue };
        if depth > MAX_DEPTH {
            return Err(format!("a Variant is nested deeper than {MAX_DEPTH} levels").into());
        }
        // Each value takes a byte of its own.
        left = left.checked_sub(container.count).ok_or("values of a Variant overlap")?;
        let starts = (0..container.count).filter_map(|index| container.start(index));
        waiting.extend(starts.filter_map(|start| Some((bytes.get(start..)?, depth + 1))));
    }
    Ok(())
}

/// The head of an array or object (Variant Encoding, "Value Data").
struct Container<'v> {
    bytes: &'v [u8],
    count: usize,
    offsets: usize,
    offset_size: usize,
}

impl<'v> Container<'v> {
    fn read(bytes: &'v [u8]) -> Option<Container<'v>> {
        let header = *bytes.first()?;
        let size = |shift: u8| usize::from(header >> shift & 3) + 1;
        let (id_size, is_large) = match header & 3 {
            2 => (size(4), header >> 6 & 1 == 1),
            3 => (0, header >> 4 & 1 == 1),
            _ => return None,
        };
        let count_size = if is_large { 4 } else { 1 };
        let count = number(bytes, 1, count_size)?;
        let offsets = count.checked_mul(id_size)?.checked_add(1 + count_size)?;
        Some(Container { bytes, count, offsets, offset_size: size(2) })
    }

    /// Where a value begins in these bytes.
    fn start(&self, index: usize) -> Option<usize> {
        let values = (self.count + 1).checked_mul(self.offset_size)?.checked_add(self.offsets)?;
        let at = index.checked_mul(self.offset_size)?.checked_add(self.offsets)?;
        number(self.bytes, at, self.offset_size)?.checked_add(values)
    }
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    usize::try_from(bytes.iter().rev().fold(0, |number: u64, &byte| number << 8 | u64::from(byte)))
        .ok()
}
