//! Arrow's types as far as this crate knows them, and their format strings.

use std::fmt;

use livebuf::ColumnType;

use crate::error::{Error, ErrorKind, Result};

/// Numbers of a fixed width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

impl Number {
    pub(crate) fn width(self) -> usize {
        match self {
            Number::I8 | Number::U8 => 1,
            Number::I16 | Number::U16 | Number::F16 => 2,
            Number::I32 | Number::U32 | Number::F32 => 4,
            Number::I64 | Number::U64 | Number::F64 => 8,
        }
    }
}

/// Each number, and the type of tensors of it.
const TENSORS: [(Number, ColumnType); 11] = [
    (Number::I8, ColumnType::I8),
    (Number::I16, ColumnType::I16),
    (Number::I32, ColumnType::I32),
    (Number::I64, ColumnType::I64),
    (Number::U8, ColumnType::U8),
    (Number::U16, ColumnType::U16),
    (Number::U32, ColumnType::U32),
    (Number::U64, ColumnType::U64),
    (Number::F16, ColumnType::F16),
    (Number::F32, ColumnType::F32),
    (Number::F64, ColumnType::F64),
];

impl Number {
    /// The type of tensors of these numbers.
    pub(crate) fn tensor_type(self) -> ColumnType {
        let found = TENSORS.iter().find(|(number, _)| *number == self);
        found.map_or(ColumnType::F64, |&(_, column)| column)
    }

    /// The numbers of tensors of this type.
    pub(crate) fn of_tensor(column: ColumnType) -> Option<Number> {
        TENSORS.iter().find(|(_, other)| *other == column).map(|&(number, _)| number)
    }
}

/// How text and bytes of any length lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Four-byte offsets.
    #[default]
    Small,
    /// Eight-byte offsets.
    Large,
    /// Views of 16 bytes into any number of buffers.
    View,
}

/// Units of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Second,
    Milli,
    Micro,
    Nano,
}

impl Unit {
    /// How many are a second.
    pub(crate) fn per_second(self) -> i64 {
        match self {
            Unit::Second => 1,
            Unit::Milli => 1_000,
            Unit::Micro => 1_000_000,
            Unit::Nano => 1_000_000_000,
        }
    }

    /// `value` of these in microseconds; `None` if that is no whole number, or too large.
    pub(crate) fn to_microseconds(self, value: i64) -> Option<i64> {
        match self {
            Unit::Nano => (value % 1_000 == 0).then_some(value / 1_000),
            unit => value.checked_mul(1_000_000 / unit.per_second()),
        }
    }

    /// The reverse.
    pub(crate) fn of_microseconds(self, value: i64) -> Option<i64> {
        match self {
            Unit::Nano => value.checked_mul(1_000),
            unit => {
                let each = 1_000_000 / unit.per_second();
                (value % each == 0).then_some(value / each)
            }
        }
    }

    fn code(self) -> char {
        match self {
            Unit::Second => 's',
            Unit::Milli => 'm',
            Unit::Micro => 'u',
            Unit::Nano => 'n',
        }
    }

    fn of(code: &str) -> Option<Unit> {
        Some(match code {
            "s" => Unit::Second,
            "m" => Unit::Milli,
            "u" => Unit::Micro,
            "n" => Unit::Nano,
            _ => return None,
        })
    }
}

/// A type of Arrow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    Null,
    Bool,
    Number(Number),
    Text(Layout),
    /// Text of whatever the values are: texts as they are, the JSON of others. To be exported only.
    Plain(Layout),
    /// JSON of whatever the values are, texts too: the extension `arrow.json`.
    Json(Layout),
    Binary(Layout),
    FixedBinary(usize),
    /// Bytes of the extension `arrow.uuid`.
    Uuid,
    Decimal {
        width: usize,
        precision: u8,
        scale: i32,
    },
    /// Days in four bytes.
    Date32,
    /// Milliseconds in eight bytes.
    Date64,
    Time(Unit),
    Timestamp(Unit, String),
    Duration(Unit),
    Struct(Vec<Field>),
    /// A struct of the extension `arrow.parquet.variant`: to be imported only.
    Variant(Vec<Field>),
    List(Box<Field>),
    LargeList(Box<Field>),
    FixedList(Box<Field>, usize),
    /// Fixed lists in each other, of numbers at last. They lie as one list: the extension
    /// `arrow.fixed_shape_tensor`.
    Tensor(Box<Type>),
    Dictionary(Number, Box<Type>),
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) nullable: bool,
    pub(crate) kind: Type,
    /// Keys and values.
    pub(crate) metadata: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Field {
    pub(crate) fn new(name: impl Into<String>, kind: Type) -> Field {
        Field { name: name.into(), nullable: true, kind, metadata: Vec::new() }
    }
}

/// Types nest no deeper: what would is JSON text when exported, an error when imported.
pub(crate) const MAX_DEPTH: usize = 64;

impl Type {
    /// The format string (Arrow C Data Interface, "Data type description"); of a
    /// dictionary, that of its indices.
    pub(crate) fn format(&self) -> String {
        let fixed = match self {
            Type::Null => "n",
            Type::Bool => "b",
            Type::Number(number) | Type::Dictionary(number, _) => match number {
                Number::I8 => "c",
                Number::U8 => "C",
                Number::I16 => "s",
                Number::U16 => "S",
                Number::I32 => "i",
                Number::U32 => "I",
                Number::I64 => "l",
                Number::U64 => "L",
                Number::F16 => "e",
                Number::F32 => "f",
                Number::F64 => "g",
            },
            Type::Text(layout) | Type::Plain(layout) | Type::Json(layout) => match layout {
                Layout::Small => "u",
                Layout::Large => "U",
                Layout::View => "vu",
            },
            Type::Binary(layout) => match layout {
                Layout::Small => "z",
                Layout::Large => "Z",
                Layout::View => "vz",
            },
            Type::FixedBinary(width) => return format!("w:{width}"),
            Type::Uuid => "w:16",
            Type::Decimal { width, precision, scale } => {
                return format!("d:{precision},{scale},{}", width * 8);
            }
            Type::Date32 => "tdD",
            Type::Date64 => "tdm",
            Type::Time(unit) => return format!("tt{}", unit.code()),
            Type::Timestamp(unit, zone) => return format!("ts{}:{zone}", unit.code()),
            Type::Duration(unit) => return format!("tD{}", unit.code()),
            Type::Struct(_) | Type::Variant(_) => "+s",
            Type::List(_) => "+l",
            Type::LargeList(_) => "+L",
            Type::FixedList(_, length) => return format!("+w:{length}"),
            Type::Tensor(lists) => {
                return format!("+w:{}", lists.shape().0.iter().product::<usize>());
            }
        };
        fixed.to_owned()
    }

    /// The lengths of fixed lists in each other.
    pub(crate) fn shape(&self) -> (Vec<usize>, &Type) {
        let (mut shape, mut kind) = (Vec::new(), self);
        while let Type::FixedList(item, length) = kind {
            shape.push(*length);
            kind = &item.kind;
        }
        (shape, kind)
    }

    /// A list of numbers or booleans as a tensor of a shape. `None` if it has another count.
    pub(crate) fn tensor(item: &Field, length: usize, shape: &[usize]) -> Option<Type> {
        let count = shape.iter().try_fold(1usize, |count, &length| count.checked_mul(length));
        let is_tensor = matches!(item.kind, Type::Number(_) | Type::Bool) && count == Some(length);
        // One without numbers may claim any other lengths.
        if !is_tensor || length == 0 || !(1..=MAX_DEPTH).contains(&shape.len()) {
            return None;
        }
        let lists = shape.iter().rev().fold(item.kind.clone(), |kind, &length| {
            Type::FixedList(Box::new(Field { kind, ..item.clone() }), length)
        });
        Some(Type::Tensor(Box::new(lists)))
    }

    /// The field of a list's elements, as it lies in memory.
    pub(crate) fn item(&self) -> Option<&Field> {
        match self {
            Type::List(item) | Type::LargeList(item) | Type::FixedList(item, _) => Some(item),
            Type::Tensor(lists) => {
                let mut item = lists.item()?;
                while let Type::FixedList(below, _) = &item.kind {
                    item = below;
                }
                Some(item)
            }
            _ => None,
        }
    }

    /// Whether it is text or JSON of mixed values, or has such in it.
    pub(crate) fn is_mixed(&self) -> bool {
        match self {
            Type::Plain(_) | Type::Json(_) => true,
            Type::Struct(fields) => fields.iter().any(|field| field.kind.is_mixed()),
            kind => kind.item().is_some_and(|item| item.kind.is_mixed()),
        }
    }

    /// The type that a format string names, with these fields below it.
    pub(crate) fn parse(format: &str, mut children: Vec<Field>) -> Result<Type> {
        let number = |number| Ok(Type::Number(number));
        let mut only = || match children.len() {
            1 => Ok(Box::new(children.remove(0))),
            _ => Err(Error::new(ErrorKind::Mismatch, "a list must have one child")),
        };
        match format {
            "n" => return Ok(Type::Null),
            "b" => return Ok(Type::Bool),
            "c" => return number(Number::I8),
            "C" => return number(Number::U8),
            "s" => return number(Number::I16),
            "S" => return number(Number::U16),
            "i" => return number(Number::I32),
            "I" => return number(Number::U32),
            "l" => return number(Number::I64),
            "L" => return number(Number::U64),
            "e" => return number(Number::F16),
            "f" => return number(Number::F32),
            "g" => return number(Number::F64),
            "u" => return Ok(Type::Text(Layout::Small)),
            "U" => return Ok(Type::Text(Layout::Large)),
            "vu" => return Ok(Type::Text(Layout::View)),
            "z" => return Ok(Type::Binary(Layout::Small)),
            "Z" => return Ok(Type::Binary(Layout::Large)),
            "vz" => return Ok(Type::Binary(Layout::View)),
            "tdD" => return Ok(Type::Date32),
            "tdm" => return Ok(Type::Date64),
            "+l" => return Ok(Type::List(only()?)),
            "+L" => return Ok(Type::LargeList(only()?)),
            "+s" => return Ok(Type::Struct(children)),
            _ => {}
        }
        let parsed = if let Some(length) = format.strip_prefix("+w:") {
            match length.parse::<u32>() {
                Ok(length) => Some(Type::FixedList(only()?, length as usize)),
                Err(_) => None,
            }
        } else if let Some(width) = format.strip_prefix("w:") {
            width.parse::<u32>().ok().map(|width| Type::FixedBinary(width as usize))
        } else if let Some(decimal) = format.strip_prefix("d:") {
            parse_decimal(decimal)
        } else if let Some(unit) = format.strip_prefix("tt") {
            Unit::of(unit).map(Type::Time)
        } else if let Some(unit) = format.strip_prefix("tD") {
            Unit::of(unit).map(Type::Duration)
        } else if let Some((unit, zone)) =
            format.strip_prefix("ts").and_then(|rest| rest.split_once(':'))
        {
            Unit::of(unit).map(|unit| Type::Timestamp(unit, zone.to_owned()))
        } else {
            None
        };
        parsed.ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                format!("Arrow's type with the format {format:?} is not supported"),
            )
        })
    }
}

/// `precision,scale` or `precision,scale,bits`.
fn parse_decimal(text: &str) -> Option<Type> {
    let mut parts = text.split(',');
    let precision = parts.next()?.parse().ok()?;
    // Arrow allows a signed byte.
    let scale = parts.next()?.parse::<i8>().ok()?.into();
    // Most digits that the width holds.
    let (width, most) = match parts.next() {
        None | Some("128") => (16, 38),
        Some("64") => (8, 18),
        Some("32") => (4, 9),
        Some(_) => return None,
    };
    (precision <= most && parts.next().is_none()).then_some(Type::Decimal {
        width,
        precision,
        scale,
    })
}

/// As Arrow's libraries name it.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Type::Null => "null",
            Type::Bool => "bool",
            Type::Number(number) => match number {
                Number::I8 => "int8",
                Number::I16 => "int16",
                Number::I32 => "int32",
                Number::I64 => "int64",
                Number::U8 => "uint8",
                Number::U16 => "uint16",
                Number::U32 => "uint32",
                Number::U64 => "uint64",
                Number::F16 => "float16",
                Number::F32 => "float32",
                Number::F64 => "float64",
            },
            Type::Text(Layout::Small) => "utf8",
            Type::Text(Layout::Large) => "large_utf8",
            Type::Text(Layout::View) => "utf8_view",
            Type::Plain(_) => "text of mixed values",
            Type::Json(_) => "JSON of mixed values",
            Type::Binary(Layout::Small) => "binary",
            Type::Binary(Layout::Large) => "large_binary",
            Type::Binary(Layout::View) => "binary_view",
            Type::FixedBinary(width) => return write!(f, "fixed_size_binary({width})"),
            Type::Uuid => "uuid",
            Type::Decimal { width, precision, scale } => {
                return write!(f, "decimal{}({precision}, {scale})", width * 8);
            }
            Type::Date32 => "date32",
            Type::Date64 => "date64",
            Type::Time(_) => "time",
            Type::Timestamp(..) => "timestamp",
            Type::Duration(_) => "duration",
            Type::Struct(_) => "struct",
            Type::Variant(_) => "variant",
            Type::List(_) => "list",
            Type::LargeList(_) => "large_list",
            Type::FixedList(_, length) => return write!(f, "fixed_size_list({length})"),
            Type::Tensor(_) => "fixed_shape_tensor",
            Type::Dictionary(..) => "dictionary",
        };
        f.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_read_back() {
        for format in [
            "n",
            "b",
            "c",
            "C",
            "s",
            "S",
            "i",
            "I",
            "l",
            "L",
            "e",
            "f",
            "g",
            "u",
            "U",
            "vu",
            "z",
            "Z",
            "vz",
            "w:16",
            "tdD",
            "tdm",
            "tts",
            "ttm",
            "ttu",
            "ttn",
            "tss:",
            "tsn:Europe/Rome",
            "tDu",
            "d:10,2,128",
            "d:18,-3,64",
            "+s",
        ] {
            assert_eq!(Type::parse(format, Vec::new()).unwrap().format(), format);
        }
        let item = || vec![Field::new("item", Type::Null)];
        for format in ["+l", "+L", "+w:3"] {
            assert_eq!(Type::parse(format, item()).unwrap().format(), format);
            assert_eq!(Type::parse(format, Vec::new()).unwrap_err().kind(), ErrorKind::Mismatch);
        }
        for format in [
            "",
            "q",
            "w:",
            "w:-1",
            "+w:x",
            "d:1",
            "d:1,2,256",
            "d:1,300",
            "d:39,0",
            "d:19,0,64",
            "d:10,0,32",
            "tt",
            "ttx",
            "ts",
            "tss",
            "tDD",
            "+m",
            "+r",
            "+vl",
            "+ud:0,1",
            "tiM",
            "é",
        ] {
            assert_eq!(Type::parse(format, item()).unwrap_err().kind(), ErrorKind::Unsupported);
        }
    }
}
