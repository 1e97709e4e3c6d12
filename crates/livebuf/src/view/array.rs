//! Arrays as users see them: elements one by one, or a typed column as a slice.

use super::element::Element;
use super::{Mode, Tensor, Value};
use crate::block::column::{Elements, row_cell};
use crate::block::column_type::ColumnType;
use crate::error::Result;
use crate::format::layout::{GAPS_NONE, MAX_ELEMENTS};

/// An array.
///
/// ```
/// let doc = livebuf::json!([88.5, 87.25, 88.0]);
/// let laps = doc.valid()?.root().as_array().unwrap();
/// assert_eq!((laps.len(), laps.get(1).unwrap().as_f64()), (3, Some(87.25)));
/// assert_eq!(laps.as_slice::<f32>(), Some(&[88.5, 87.25, 88.0][..]));
/// for lap in &laps {
///     assert!(lap.is_number());
/// }
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Array<'a, M> {
    bytes: &'a [u8],
    elements: Elements,
    mode: M,
}

impl<'a, M: Mode> Array<'a, M> {
    #[inline]
    pub(crate) fn new(mode: M, bytes: &'a [u8], elements: Elements) -> Self {
        Array { bytes, elements, mode }
    }

    #[inline]
    pub(crate) fn parts(&self) -> (M, &'a [u8], Elements) {
        (self.mode, self.bytes, self.elements)
    }

    /// Count of elements.
    ///
    /// ```
    /// let doc = livebuf::json!([1, "two", null]);
    /// assert_eq!(doc.valid()?.root().as_array().unwrap().len(), 3);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.elements.count as usize
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements.count == 0
    }

    /// How the elements are stored.
    ///
    /// ```
    /// use livebuf::{ColumnType, json};
    /// let doc = json!([1, 2, 300]);
    /// assert_eq!(doc.valid()?.root().as_array().unwrap().column_type(), ColumnType::I16);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn column_type(&self) -> ColumnType {
        self.elements.column
    }

    /// The [cell](super::ValueParts::cell) of the first element and the count of elements, where
    /// all are rows of a table. The cell of each next row is greater by 2³². For bindings that
    /// step through rows without a call.
    #[doc(hidden)]
    #[inline]
    pub fn row_cells(&self) -> Option<(u64, u32)> {
        let Elements { column, gaps, data, first, count, .. } = self.elements;
        let last = first as u64 + count as u64;
        let rows = column == ColumnType::Struct && gaps == GAPS_NONE && last <= MAX_ELEMENTS.into();
        rows.then(|| (row_cell(data, first), count))
    }

    /// The element at this index. Constant time.
    ///
    /// ```
    /// let doc = livebuf::json!([1, "two"]);
    /// let array = doc.valid()?.root().as_array().unwrap();
    /// assert_eq!(array.get(1).unwrap(), "two");
    /// assert!(array.get(2).is_none());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn get(&self, index: usize) -> M::Out<Value<'a, M>> {
        M::out(self.element(index))
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn element(&self, index: usize) -> Result<Option<Value<'a, M>>> {
        if index >= self.len() {
            return Ok(None);
        }
        let raw = self.elements.element_inlined(self.bytes, index as u32)?;
        Ok(Some(Value::new(self.mode, self.bytes, raw)))
    }

    /// The first element; `None` where there is none.
    ///
    /// ```
    /// let doc = livebuf::json!([1, 2, 3]);
    /// let array = doc.valid()?.root().as_array().unwrap();
    /// assert_eq!((array.first().unwrap().as_i64(), array.last().unwrap().as_i64()), (Some(1), Some(3)));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn first(&self) -> M::Out<Value<'a, M>> {
        self.get(0)
    }

    /// The last element; `None` where there is none.
    pub fn last(&self) -> M::Out<Value<'a, M>> {
        self.get(self.len().wrapping_sub(1))
    }

    /// All elements in order.
    ///
    /// ```
    /// let doc = livebuf::json!([1, 2, 3]);
    /// let array = doc.valid()?.root().as_array().unwrap();
    /// assert_eq!(array.iter().filter_map(|value| value.as_i64()).sum::<i64>(), 6);
    /// for value in array.iter().rev().take(1) {
    ///     assert_eq!(value, 3);
    /// }
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn iter(&self) -> ArrayIter<'a, M> {
        ArrayIter { array: *self, front: 0, back: self.elements.count }
    }

    /// The tensor that the array is, with its shape and all its numbers; `None` if it is not one.
    ///
    /// ```
    /// use livebuf::{DocBuf, Tensor, json};
    /// let mut doc = json!({"list": [1, 2]});
    /// doc.set_pointer("/image", &Tensor::new(&[1, 2, 3], &[255u8, 0, 0, 0, 255, 0])?)?;
    /// let doc = doc.valid()?;
    /// let array = |pointer| doc.pointer(pointer).unwrap().as_array().unwrap();
    /// assert_eq!(array("/image").tensor().unwrap().shape(), [1, 2, 3]);
    /// assert_eq!(array("/image/0/1").tensor().unwrap().as_bytes(), [0, 255, 0]);
    /// assert!(array("/list").tensor().is_none());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn tensor(&self) -> M::Out<Tensor<'a>> {
        M::out(Tensor::of(self.bytes, self.elements))
    }

    /// The column as a borrowed slice, where it holds exactly this type, the
    /// buffer's alignment permits and the host is little-endian. In columns of numbers
    /// (`[1.5, 2, 3.25]`) integers are floats there.
    ///
    /// ```
    /// let doc = livebuf::json!([1, 2, 300]);
    /// let array = doc.valid().unwrap().root().as_array().unwrap();
    /// assert_eq!(array.as_slice::<i16>(), Some(&[1, 2, 300][..]));
    /// ```
    pub fn as_slice<T: Element>(&self) -> Option<&'a [T]> {
        self.as_column().as_slice()
    }
}

impl<'a, M: Mode> IntoIterator for Array<'a, M> {
    type Item = M::Item<Value<'a, M>>;
    type IntoIter = ArrayIter<'a, M>;

    fn into_iter(self) -> ArrayIter<'a, M> {
        self.iter()
    }
}

impl<'a, M: Mode> IntoIterator for &Array<'a, M> {
    type Item = M::Item<Value<'a, M>>;
    type IntoIter = ArrayIter<'a, M>;

    fn into_iter(self) -> ArrayIter<'a, M> {
        self.iter()
    }
}

impl<M: Mode> core::fmt::Debug for Array<'_, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter().map(M::item_result).map_while(|item| item.ok())).finish()
    }
}

impl<M: Mode> core::fmt::Debug for ArrayIter<'_, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let elements = self.clone().map(M::item_result).map_while(|element| element.ok());
        f.debug_list().entries(elements).finish()
    }
}

/// Elements in order: [`Array::iter`].
#[derive(Clone)]
pub struct ArrayIter<'a, M> {
    array: Array<'a, M>,
    front: u32,
    back: u32,
}

impl<'a, M: Mode> Iterator for ArrayIter<'a, M> {
    type Item = M::Item<Value<'a, M>>;

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn next(&mut self) -> Option<Self::Item> {
        if self.front >= self.back {
            return None;
        }
        let index = self.front;
        self.front += 1;
        let raw = self.array.elements.element_inlined(self.array.bytes, index);
        M::item(raw.map(|raw| Value::new(self.array.mode, self.array.bytes, raw)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let length = (self.back - self.front) as usize;
        (length, Some(length))
    }

    fn nth(&mut self, skip: usize) -> Option<Self::Item> {
        self.front = self.back.min(self.front.saturating_add(skip.min(u32::MAX as usize) as u32));
        self.next()
    }
}

impl<M: Mode> DoubleEndedIterator for ArrayIter<'_, M> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.front >= self.back {
            return None;
        }
        self.back -= 1;
        let raw = self.array.elements.element_inlined(self.array.bytes, self.back);
        M::item(raw.map(|raw| Value::new(self.array.mode, self.array.bytes, raw)))
    }
}

impl<M: Mode> ExactSizeIterator for ArrayIter<'_, M> {}
