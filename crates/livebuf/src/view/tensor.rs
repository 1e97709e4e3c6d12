//! Tensors as users see them: a type, a shape, and the numbers as one slice.

use super::element::Element;
use crate::block::column::Elements;
use crate::block::column_type::ColumnType;
use crate::block::record::Raw;
use crate::block::tensor::{Form, mismatch};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::slice;

/// Numbers of one type, in rows of one shape and row-major order: an array whose bytes stay as they
/// are given. Borrowed from a document, or from what is to be stored in one.
///
/// Elements are read as those of any array are. They can be set to numbers that the type holds:
/// floats become the nearest of their width. Elements are also added and taken out, so a tensor of
/// 1,000 vectors grows by a vector at a time, and one of the shape `[0, 384]` is where such a table
/// begins. The type stays, and so do the lengths of the elements.
///
/// ```
/// use livebuf::{DocBuf, ErrorKind, Tensor};
/// let weights = [0.5f32, 1.5, 2.5, 3.5, 4.5, 5.5];
/// let mut doc = DocBuf::new()?;
/// doc.set_root(&Tensor::new(&[2, 3], &weights)?)?;
/// doc.set_pointer("/1/0", 9)?;
///
/// let tensor = doc.doc().root().as_array()?.unwrap().tensor()?.unwrap();
/// assert_eq!(tensor.shape(), [2, 3]);
/// assert_eq!(tensor.as_slice::<f32>(), Some(&[0.5, 1.5, 2.5, 9.0, 4.5, 5.5][..]));
///
/// let rows = doc.root_id().unwrap();
/// doc.push(rows, &Tensor::new(&[3], &[6.5f32, 7.5, 8.5])?)?;
/// doc.remove(rows, 0)?;
/// let tensor = doc.doc().root().as_array()?.unwrap().tensor()?.unwrap();
/// assert_eq!(tensor.as_slice::<f32>(), Some(&[9.0, 4.5, 5.5, 6.5, 7.5, 8.5][..]));
///
/// let error = doc.set_pointer("/1/0", "text").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::TensorMismatch);
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    form: Form,
    bytes: &'a [u8],
}

impl<'a> Tensor<'a> {
    /// A tensor of these numbers, whose count is the product of the lengths in `shape`.
    ///
    /// # Errors
    /// - [`ErrorKind::TensorMismatch`]: the product is another one, or the shape is none. A shape
    ///   has 1 to 16 dimensions, and only the first length may be 0.
    /// - [`ErrorKind::Unsupported`]: the host is not little-endian.
    pub fn new<T: Element>(shape: &[usize], values: &'a [T]) -> Result<Tensor<'a>> {
        if cfg!(target_endian = "big") {
            return Err(Error::new(ErrorKind::Unsupported, 0));
        }
        Tensor::from_bytes(T::COLUMNS[0], shape, bytemuck::cast_slice(values))
    }

    /// A tensor of any type: integers, floats of 16 to 64 bits ([`ColumnType::F16`]), or booleans
    /// of a byte each ([`ColumnType::Bool8`]). `bytes` are its numbers, little-endian.
    ///
    /// # Errors
    /// [`ErrorKind::TensorMismatch`], as for [`new`](Self::new), and where the column holds other
    /// values, or booleans are neither 0 nor 1.
    ///
    /// ```
    /// use livebuf::{ColumnType, Encoder, Tensor};
    /// let mask = Tensor::from_bytes(ColumnType::Bool8, &[2, 2], &[1, 0, 0, 1])?;
    /// let mut encoder = Encoder::new();
    /// encoder.tensor(&mask)?;
    /// let doc = encoder.finish()?;
    /// assert_eq!(doc.doc().pointer("/1/1")?.unwrap(), true);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn from_bytes(column: ColumnType, shape: &[usize], bytes: &'a [u8]) -> Result<Tensor<'a>> {
        let shape = shape.iter().map(|&length| length as u64);
        let form = Form::new(column, shape).ok_or(mismatch(0))?;
        match form.size() == bytes.len() as u64 && holds(column, bytes) {
            true => Ok(Tensor { form, bytes }),
            false => Err(mismatch(0)),
        }
    }

    /// The tensor that an array is; `None` if it is not one.
    pub(crate) fn of(document: &'a [u8], array: Elements) -> Result<Option<Tensor<'a>>> {
        let Some((form, start)) = Form::of(document, array)? else { return Ok(None) };
        Ok(Some(Tensor { form, bytes: slice(document, start, form.size())? }))
    }

    /// The same, its booleans checked: those of a document that was not validated may be anything.
    pub(crate) fn checked(self) -> Result<Tensor<'a>> {
        match holds(self.form.column, self.bytes) {
            true => Ok(self),
            false => Err(Error::new(ErrorKind::BadCell, 0)),
        }
    }

    /// The bytes, if the numbers are of this type, and have so many dimensions.
    pub(crate) fn numbers(&self, column: ColumnType, dimensions: usize) -> Option<&'a [u8]> {
        let same = self.form.column == column && self.form.lengths().len() == dimensions;
        same.then_some(self.bytes)
    }

    /// The type of the numbers.
    pub fn column_type(&self) -> ColumnType {
        self.form.column
    }

    /// The length of each dimension.
    pub fn shape(&self) -> &[u32] {
        self.form.lengths()
    }

    /// The numbers, little-endian, in row-major order.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The numbers as a slice, where they are of this type, the buffer's alignment permits and the
    /// host is little-endian.
    pub fn as_slice<T: Element>(&self) -> Option<&'a [T]> {
        if T::COLUMNS[0] != self.form.column || cfg!(target_endian = "big") {
            return None;
        }
        bytemuck::try_cast_slice(self.bytes).ok()
    }
}

/// Whether booleans are 0 or 1. In other types any bytes are numbers.
fn holds(column: ColumnType, bytes: &[u8]) -> bool {
    column != ColumnType::Bool8 || bytes.iter().all(|&byte| byte <= 1)
}

/// A tensor that is to be stored. It borrows its shape, so a [`New`](crate::New) stays small. Made
/// of a `&Tensor` by `into`.
#[derive(Clone, Copy)]
pub struct TensorRef<'v> {
    shape: &'v [u32],
    bytes: &'v [u8],
    column: ColumnType,
}

impl<'v> TensorRef<'v> {
    /// A tensor of any type, as [`Tensor::from_bytes`] makes it.
    ///
    /// # Errors
    /// As [`Tensor::from_bytes`].
    pub fn from_bytes(
        column: ColumnType,
        shape: &'v [u32],
        bytes: &'v [u8],
    ) -> Result<TensorRef<'v>> {
        let form = Form::new(column, shape.iter().map(|&length| length.into()));
        match form.is_some_and(|form| form.size() == bytes.len() as u64) && holds(column, bytes) {
            true => Ok(TensorRef { shape, bytes, column }),
            false => Err(mismatch(0)),
        }
    }

    pub(crate) fn form(&self) -> Result<Form> {
        let shape = self.shape.iter().map(|&length| length.into());
        Form::new(self.column, shape).ok_or(mismatch(0))
    }

    pub(crate) fn bytes(&self) -> &'v [u8] {
        self.bytes
    }

    pub(crate) fn tensor(&self) -> Result<Tensor<'v>> {
        Ok(Tensor { form: self.form()?, bytes: self.bytes })
    }

    /// The length of the first dimension.
    pub(crate) fn length(&self) -> u32 {
        self.shape.first().copied().unwrap_or(0)
    }

    /// Element `index` of the first dimension: a tensor, or a number.
    pub(crate) fn element(&self, index: u32) -> Result<Part<'v>> {
        let shape = self.shape.get(1..).unwrap_or_default();
        let size = self.bytes.len() as u64 / self.length().max(1) as u64;
        let bytes = slice(self.bytes, index as u64 * size, size)
            .map_err(|_| Error::with_detail(ErrorKind::IndexOutOfRange, 0, self.length().into()))?;
        match shape {
            [] => Elements::new(0, self.column, 1, 1, 0).element(bytes, 0).map(Part::Number),
            shape => Ok(Part::Tensor(TensorRef { shape, bytes, ..*self })),
        }
    }
}

impl<'v> From<&'v Tensor<'v>> for TensorRef<'v> {
    fn from(tensor: &'v Tensor<'v>) -> TensorRef<'v> {
        let column = tensor.form.column;
        TensorRef { shape: tensor.form.lengths(), bytes: tensor.bytes, column }
    }
}

/// An element of a tensor.
pub(crate) enum Part<'v> {
    Tensor(TensorRef<'v>),
    Number(Raw),
}

impl core::fmt::Debug for TensorRef<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Tensor({:?}, {:?})", self.column, self.shape)
    }
}

impl core::fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Tensor({:?}, {:?})", self.column_type(), self.shape())
    }
}
