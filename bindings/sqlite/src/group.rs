//! Aggregates: rows of a query become one document. Arrays of similar objects become tables.

use crate::error::Fault;
use crate::function::PURE;
use crate::value::{Given, Sql, blob, most_bytes};
use livebuf::{EncodeOptions, Encoder, Limits, New};
use rusqlite::functions::{Aggregate, Context};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result as SqlResult};
use std::panic::AssertUnwindSafe;

pub(crate) fn register(db: &Connection) -> SqlResult<()> {
    db.create_aggregate_function("lb_group_array", 1, PURE, Group::Array)?;
    db.create_aggregate_function::<_, _, _, Sql>("lb_group_object", 2, PURE, Group::Object)
}

/// What the rows of a group become.
#[derive(Clone, Copy)]
enum Group {
    Array,
    Object,
}

/// A document that grows by a value for each row. A panic within leaves it unused.
type Growing = AssertUnwindSafe<Encoder>;

impl Group {
    fn name(self) -> &'static str {
        match self {
            Group::Array => "lb_group_array",
            Group::Object => "lb_group_object",
        }
    }

    fn begun(self, most: u64) -> Result<Encoder, Fault> {
        let mut limits = Limits::default();
        limits.document = most;
        let mut encoder =
            Encoder::with_options(EncodeOptions { limits, ..EncodeOptions::default() });
        match self {
            Group::Array => encoder.begin_array()?,
            Group::Object => encoder.begin_object()?,
        }
        Ok(encoder)
    }

    fn add(self, context: &Context<'_>, encoder: &mut Encoder) -> Result<(), Fault> {
        let value = match self {
            Group::Array => 0,
            Group::Object => {
                let key = match context.get_raw(0) {
                    ValueRef::Null => return Ok(()),
                    ValueRef::Text(_) => {
                        crate::value::text(context, 0)?.unwrap_or_default().to_owned()
                    }
                    ValueRef::Integer(key) => key.to_string(),
                    _ => return Err(Fault::Argument(1, "a key: text or an integer")),
                };
                encoder.key(&key)?;
                1
            }
        };
        match Given::argument(context, value)?.as_new() {
            New::Null => encoder.null()?,
            New::Int(value) => encoder.i64(value)?,
            New::Float(value) => encoder.f64(value)?,
            New::Str(text) => encoder.str(text)?,
            New::Bytes(bytes) => encoder.bytes(bytes)?,
            New::Copy(value) => encoder.value(&value)?,
            _ => return Err(livebuf::Error::new(livebuf::ErrorKind::Unsupported, 0).into()),
        }
        Ok(())
    }

    fn ended(self, mut encoder: Encoder) -> Result<Sql, Fault> {
        match self {
            Group::Array => encoder.end_array()?,
            Group::Object => encoder.end_object()?,
        }
        Ok(blob(&encoder.finish()?, 0))
    }
}

impl Aggregate<Growing, Sql> for Group {
    fn init(&self, context: &mut Context<'_>) -> SqlResult<Growing> {
        let begun = most_bytes(context).and_then(|most| self.begun(most));
        begun.map(AssertUnwindSafe).map_err(|fault| fault.of(self.name()))
    }

    fn step(&self, context: &mut Context<'_>, growing: &mut Growing) -> SqlResult<()> {
        self.add(context, growing).map_err(|fault| fault.of(self.name()))
    }

    fn finalize(&self, context: &mut Context<'_>, growing: Option<Growing>) -> SqlResult<Sql> {
        let encoder = match growing {
            Some(AssertUnwindSafe(encoder)) => Ok(encoder),
            None => most_bytes(context).and_then(|most| self.begun(most)),
        };
        encoder.and_then(|encoder| self.ended(encoder)).map_err(|fault| fault.of(self.name()))
    }
}
