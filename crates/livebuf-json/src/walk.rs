//! What walks over documents share: their bounds, scalars, and what is wrong.

use livebuf::{Kind, Mode, Value};

use crate::error::{Error, ErrorKind};
use crate::write::Printer;

/// What bounds a walk beside the length of its output.
pub(crate) struct Bounds {
    pub(crate) nesting: usize,
    /// Places of members that may yet be looked at.
    pub(crate) places: u64,
}

#[cold]
pub(crate) fn too_deep() -> Error {
    Error::new(ErrorKind::NestingLimit, "nested too deeply; raise the nesting limit to print it")
}

#[cold]
pub(crate) fn gone() -> Error {
    Error::new(ErrorKind::Document, "the document is damaged: a value cannot be read")
}

#[cold]
fn unknown() -> Error {
    Error::new(
        ErrorKind::Document,
        "the document holds a value of a kind this version does not know",
    )
}

#[inline]
pub(crate) fn some<X>(answer: livebuf::Result<Option<X>>) -> Result<X, Error> {
    match answer {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(gone()),
        Err(error) => Err(Error::document(error)),
    }
}

/// Prints a scalar; `false` for a container.
///
/// Always inlined: handing a value over by memory costs more than the call.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn scalar<M: Mode>(
    printer: &mut Printer<'_>,
    value: &Value<'_, M>,
) -> Result<bool, Error> {
    match value.kind() {
        Kind::String => printer.string(some(M::result(value.as_str()))?)?,
        Kind::Int => printer.i64(value.as_i64().ok_or_else(gone)?)?,
        Kind::Uint => printer.u64(value.as_u64().ok_or_else(gone)?)?,
        Kind::Float => printer.f64(value.as_f64().ok_or_else(gone)?)?,
        Kind::Null => printer.literal("null")?,
        Kind::Bool => {
            printer.literal(if value.as_bool() == Some(true) { "true" } else { "false" })?;
        }
        Kind::NumberText => printer.number_text(some(M::result(value.as_number_text()))?)?,
        Kind::Bytes => printer.bytes(some(M::result(value.as_bytes()))?)?,
        Kind::Array | Kind::Object => return Ok(false),
        kind if kind.is_extended() => printer.extended(&some(M::result(value.as_extended()))?)?,
        _ => return Err(unknown()),
    }
    Ok(true)
}
