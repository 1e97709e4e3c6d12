//! Tensors: numbers of one type, in rows of one shape.

use core::ffi::c_void;

use livebuf::{ColumnType, Tensor, TensorRef};

use crate::args::{Array, In, Out};
use crate::column::{livebuf_column, not_found};
use crate::document::livebuf_doc;
use crate::edit::UnderEdit;
use crate::read::livebuf_value;
use crate::status::{NULL, OK, Result, livebuf_code, livebuf_error, livebuf_status};

/// Most dimensions of a tensor.
pub const LIVEBUF_MAX_DIMENSIONS: usize = 16;

const _: () = assert!(LIVEBUF_MAX_DIMENSIONS == livebuf::layout::MAX_DIMENSIONS);

/// A tensor: numbers of one type, in rows of one shape, behind each other. livebuf_read_tensor
/// lends one of a document, livebuf_tensor_new stores one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct livebuf_tensor {
    /// The type of the numbers: LIVEBUF_COLUMN_I8 to LIVEBUF_COLUMN_F64, LIVEBUF_COLUMN_F16 or
    /// LIVEBUF_COLUMN_BOOL8.
    pub column_type: u32,
    /// Count of dimensions, 1 to LIVEBUF_MAX_DIMENSIONS.
    pub dimensions: u32,
    /// The length of each dimension. Only the first may be 0.
    pub shape: [u32; LIVEBUF_MAX_DIMENSIONS],
    /// The first number. Those of the last dimension are behind each other (row-major order).
    pub data: Array<c_void>,
    /// Count of bytes: the product of the lengths, times the bytes of a number.
    pub length: usize,
}

/// The types of tensors, and bytes of a number.
const TYPES: [(ColumnType, usize); 12] = [
    (ColumnType::I8, 1),
    (ColumnType::I16, 2),
    (ColumnType::I32, 4),
    (ColumnType::I64, 8),
    (ColumnType::U8, 1),
    (ColumnType::U16, 2),
    (ColumnType::U32, 4),
    (ColumnType::U64, 8),
    (ColumnType::F32, 4),
    (ColumnType::F64, 8),
    (ColumnType::F16, 2),
    (ColumnType::Bool8, 1),
];

fn known_type(code: u32) -> Option<(ColumnType, usize)> {
    TYPES.into_iter().find(|&(column, _)| column as u32 == code)
}

/// Numbers are lent and taken as they lie in memory, which is little-endian in documents.
fn check_endian() -> Result<()> {
    match cfg!(target_endian = "big") {
        true => Err(livebuf_error::of(livebuf_code::LIVEBUF_UNSUPPORTED)),
        false => Ok(()),
    }
}

/// The tensor that an array is, in `*tensor`: all its numbers, without a copy. An array in a
/// tensor is one, too. Constant time.
///
/// Where the document's memory begins at a multiple of 8, as that of livebuf_create and of mapped
/// files does, `data` is aligned for its type. A tensor that is in no column and in no other tensor
/// then begins at a multiple of 8. In other memory copy the numbers by memcpy. Single numbers are
/// read like elements of any array, and set by livebuf_set_at and the other edits. In a damaged
/// document that was not validated, booleans may be other bytes than 0 and 1.
///
/// Memory: writes `*tensor` where it returns LIVEBUF_OK; `data` borrows the document's bytes until
/// its next edit, be it of a number of this tensor (livebuf_value_is_current asks). NULL:
/// LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_WRONG_TYPE where the value is no tensor; the value's own
/// status where there is none; what is damaged; LIVEBUF_UNSUPPORTED on big-endian machines.
/// Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_read_tensor(
    value: livebuf_value,
    tensor: Out<livebuf_tensor>,
) -> livebuf_status {
    let find = || {
        let wrong = livebuf_error::of(livebuf_code::LIVEBUF_WRONG_TYPE);
        let array = value.view()?.as_array()?.ok_or(wrong)?;
        lend(&array.tensor()?.ok_or(wrong)?, value.doc)
    };
    write(tensor, find)
}

/// All rows of a column as one tensor, in `*tensor`, where each is a tensor of one type and shape:
/// its first dimension is the rows'. Constant time.
///
/// Memory: as livebuf_read_tensor. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NOT_FOUND where
/// rows are anything else, are stored one by one, or a row has no value; all others as
/// livebuf_read_tensor. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_column_tensor(
    column: In<livebuf_column>,
    tensor: Out<livebuf_tensor>,
) -> livebuf_status {
    let find = || {
        let known = column.get()?;
        lend(&known.view()?.tensor()?.ok_or_else(not_found)?, known.private_doc)
    };
    write(tensor, find)
}

fn write(
    tensor: Out<livebuf_tensor>,
    find: impl FnOnce() -> Result<livebuf_tensor>,
) -> livebuf_status {
    if tensor.is_null() {
        return NULL.status;
    }
    match find() {
        Ok(found) => {
            tensor.put(found);
            OK
        }
        Err(error) => error.status,
    }
}

/// A tensor of this document.
fn lend(found: &Tensor<'_>, doc: In<livebuf_doc>) -> Result<livebuf_tensor> {
    check_endian()?;
    let start = doc.get()?.bytes;
    let (lengths, bytes, column) = (found.shape(), found.as_bytes(), found.column_type() as u32);
    let width = known_type(column).map_or(1, |(_, width)| width);
    let offset = bytes.as_ptr().addr() - start.addr();
    if !offset.is_multiple_of(width) {
        return Err(livebuf_error {
            offset: offset as u64,
            ..livebuf_error::of(livebuf_code::LIVEBUF_MISALIGNED)
        });
    }
    let mut shape = [0; LIVEBUF_MAX_DIMENSIONS];
    shape[..lengths.len()].copy_from_slice(lengths);
    Ok(livebuf_tensor {
        column_type: column,
        dimensions: lengths.len() as u32,
        shape,
        // SAFETY: these bytes stay as they are until the document's next edit.
        data: unsafe { Array::from_raw(bytes.as_ptr().cast()) },
        length: bytes.len(),
    })
}

/// The tensor to be stored that C gives.
pub(crate) fn given_tensor<'a>(
    under_edit: &UnderEdit,
    tensor: &'a In<livebuf_tensor>,
) -> Result<TensorRef<'a>> {
    check_endian()?;
    let tensor = tensor.get()?;
    let length = tensor.length;
    if under_edit.has(tensor.data.address().cast(), length) {
        return Err(livebuf_error::of(livebuf_code::LIVEBUF_OVERLAP));
    }
    let bytes = tensor.data.bytes(length)?;
    let shape = tensor.shape.get(..tensor.dimensions as usize);
    match (known_type(tensor.column_type), shape) {
        (Some((column, _)), Some(shape)) => Ok(TensorRef::from_bytes(column, shape, bytes)?),
        _ => Err(livebuf_error::of(livebuf_code::LIVEBUF_TENSOR_MISMATCH)),
    }
}
