//! Arrow's columns as columns of DuckDB.

use crate::api::{
    BIGINT, BLOB, BOOLEAN, DATE, DOUBLE, FLOAT, TIME, TIMESTAMP, TIMESTAMP_TZ, Type, UBIGINT, UUID,
    VARCHAR, Vector,
};
use crate::error::Fault;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use std::collections::HashSet;
use std::ffi::CString;
use std::sync::Arc;

/// Digits of a decimal.
const DIGITS: u8 = 38;

/// Whether a field holds UUIDs.
fn is_uuid(field: &Field) -> bool {
    field.data_type() == &DataType::FixedSizeBinary(16)
        && field.extension_type_name() == Some("arrow.uuid")
}

/// The column that DuckDB gets of a column of a document. What it has no type for is text of JSON.
pub(crate) fn wanted(field: &Field) -> Field {
    let kind = match field.data_type() {
        DataType::Struct(fields) => {
            let mut seen = HashSet::new();
            // DuckDB does not tell `a` from `A`.
            let mut is_plain = |name: &String| {
                !name.is_empty() && !name.contains('\0') && seen.insert(name.to_lowercase())
            };
            match !fields.is_empty() && fields.iter().all(|field| is_plain(field.name())) {
                true => DataType::Struct(fields.iter().map(|field| wanted(field)).collect()),
                false => DataType::Utf8,
            }
        }
        DataType::List(item) | DataType::FixedSizeList(item, _) => {
            DataType::List(Arc::new(wanted(item)))
        }
        // Tensors keep their width.
        kind if kind.is_signed_integer() => DataType::Int64,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        DataType::Decimal128(_, scale @ 0..=38) => DataType::Decimal128(DIGITS, *scale),
        DataType::FixedSizeBinary(_) if is_uuid(field) => return field.clone(),
        kind => match plain(kind) {
            Some(_) => kind.clone(),
            None => DataType::Utf8,
        },
    };
    Field::new(field.name(), kind, field.is_nullable())
}

/// The type of DuckDB, where it has no parameters.
fn plain(kind: &DataType) -> Option<crate::api::Id> {
    Some(match kind {
        DataType::Boolean => BOOLEAN,
        DataType::Int64 => BIGINT,
        DataType::UInt64 => UBIGINT,
        DataType::Float32 => FLOAT,
        DataType::Float64 => DOUBLE,
        DataType::Utf8 => VARCHAR,
        DataType::Binary => BLOB,
        DataType::Date32 => DATE,
        DataType::Time64(TimeUnit::Microsecond) => TIME,
        DataType::Timestamp(TimeUnit::Microsecond, None) => TIMESTAMP,
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => TIMESTAMP_TZ,
        _ => return None,
    })
}

/// The type of DuckDB for a column that is [`wanted`].
pub(crate) fn kind(field: &Field) -> Type {
    match field.data_type() {
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| {
                (CString::new(field.name().as_str()).unwrap_or_default(), kind(field))
            });
            Type::structure(&fields.collect::<Vec<_>>())
        }
        DataType::List(item) => Type::list(&kind(item)),
        DataType::Decimal128(digits, scale) => Type::decimal(*digits, scale.unsigned_abs()),
        DataType::FixedSizeBinary(_) => Type::of(UUID),
        other => Type::of(plain(other).unwrap_or(VARCHAR)),
    }
}

/// The column that holds what two files have under one name; none if there is no such type.
pub(crate) fn merged(one: &Field, other: &Field) -> Option<Field> {
    use DataType::{Decimal128, Float64, Int64, List, Null, Struct, UInt64};
    let kind = match (one.data_type(), other.data_type()) {
        (same, kind) if same == kind && is_uuid(one) == is_uuid(other) => return Some(one.clone()),
        (Null, _) => return Some(other.clone()),
        (_, Null) => return Some(one.clone()),
        (Int64, UInt64) | (UInt64, Int64) => UInt64,
        (one, other) if one.is_integer() && other.is_integer() => Int64,
        (one, other) if one.is_numeric() && other.is_numeric() && !has_decimal(one, other) => {
            Float64
        }
        (Decimal128(_, one), Decimal128(_, other)) => Decimal128(DIGITS, *one.max(other)),
        (
            List(one) | DataType::FixedSizeList(one, _),
            List(other) | DataType::FixedSizeList(other, _),
        ) => List(Arc::new(merged(one, other)?)),
        (Struct(one), Struct(other)) => {
            let mut all: Vec<Field> = one.iter().map(|field| (**field).clone()).collect();
            add(&mut all, other).ok()?;
            Struct(all.into())
        }
        _ => return None,
    };
    Some(Field::new(one.name(), kind, true))
}

fn has_decimal(one: &DataType, other: &DataType) -> bool {
    [one, other].iter().any(|kind| matches!(kind, DataType::Decimal128(..)))
}

/// Adds the columns of another file. Answers the two that do not fit each other.
pub(crate) fn add(all: &mut Vec<Field>, others: &Fields) -> Result<(), Box<(Field, Field)>> {
    for other in others {
        match all.iter_mut().find(|field| field.name() == other.name()) {
            Some(one) => match merged(one, other) {
                Some(merged) => *one = merged,
                None => return Err(Box::new((one.clone(), (**other).clone()))),
            },
            None => all.push((**other).clone().with_nullable(true)),
        }
    }
    Ok(())
}

/// Copies a column into a vector that has its rows. Rows that `outer` lacks are NULL, too.
pub(crate) fn fill(
    column: &ArrayRef,
    outer: Option<&NullBuffer>,
    out: &mut Vector<'_>,
) -> Result<(), Fault> {
    if column.len() != out.rows() {
        return Err(Fault::Other(format!("{} values for {} rows", column.len(), out.rows())));
    }
    let nulls = NullBuffer::union(column.nulls(), outer);
    let nulls = nulls.as_ref().filter(|nulls| nulls.null_count() > 0);
    match column.data_type() {
        DataType::Boolean => {
            let bits = column.as_boolean().values().iter();
            out.values::<bool>()?.iter_mut().zip(bits).for_each(|(to, from)| *to = from);
        }
        DataType::Int64 => out.copy(column.as_primitive::<Int64Type>().values())?,
        DataType::UInt64 => out.copy(column.as_primitive::<UInt64Type>().values())?,
        DataType::Float32 => out.copy(column.as_primitive::<Float32Type>().values())?,
        DataType::Float64 => out.copy(column.as_primitive::<Float64Type>().values())?,
        DataType::Date32 => out.copy(column.as_primitive::<Date32Type>().values())?,
        DataType::Time64(TimeUnit::Microsecond) => {
            out.copy(column.as_primitive::<Time64MicrosecondType>().values())?;
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            out.copy(column.as_primitive::<TimestampMicrosecondType>().values())?;
        }
        DataType::Decimal128(..) => {
            let values = column.as_primitive::<Decimal128Type>().values();
            let slots = out.values::<[u64; 2]>()?.iter_mut();
            slots.zip(values).for_each(|(slot, &value)| *slot = halves(value as u128));
        }
        DataType::FixedSizeBinary(16) => {
            let values = column.as_fixed_size_binary();
            for (slot, value) in out.values::<[u64; 2]>()?.iter_mut().zip(values.iter()) {
                let bytes = value.and_then(|value| value.try_into().ok()).unwrap_or_default();
                // DuckDB orders UUIDs as signed numbers.
                *slot = halves(u128::from_be_bytes(bytes) ^ 1 << 127);
            }
        }
        DataType::Utf8 => {
            let texts = column.as_string::<i32>().iter();
            texts_of(texts.map(|text| text.map(str::as_bytes)), out)?;
        }
        DataType::Binary => texts_of(column.as_binary::<i32>().iter(), out)?,
        DataType::Struct(_) => {
            for (index, field) in column.as_struct().columns().iter().enumerate() {
                fill(field, nulls, &mut out.field(index))?;
            }
        }
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            let (start, end) = match lists.offsets().as_ref() {
                [first, .., last] => (*first as usize, *last as usize),
                _ => (0, 0),
            };
            let places = lists
                .offsets()
                .windows(2)
                .map(|pair| [(pair[0] as usize - start) as u64, (pair[1] - pair[0]) as u64]);
            out.values::<[u64; 2]>()?.iter_mut().zip(places).for_each(|(to, from)| *to = from);
            let items = lists.values().slice(start, end - start);
            fill(&items, None, &mut out.elements(items.len())?)?;
        }
        other => return Err(Fault::Other(format!("a column has the unexpected type {other}"))),
    }
    if let Some(nulls) = nulls {
        out.set_validity(nulls.inner().bit_chunks().iter_padded());
    }
    Ok(())
}

/// A number of 128 bits, as DuckDB has it.
fn halves(value: u128) -> [u64; 2] {
    [value as u64, (value >> 64) as u64]
}

fn texts_of<'a>(
    texts: impl Iterator<Item = Option<&'a [u8]>>,
    out: &mut Vector<'_>,
) -> Result<(), Fault> {
    for (row, text) in texts.enumerate() {
        out.put(row, text.unwrap_or_default())?;
    }
    Ok(())
}
