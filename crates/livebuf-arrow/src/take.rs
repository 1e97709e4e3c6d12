//! Some of the rows of an array that was made here.

use std::ops::Range;

use bytemuck::Pod;

use crate::column::{Bits, Offset, bit, changed, unsupported};
use crate::error::Result;
use crate::ffi::ArrowArray;
use crate::ffi::made::{Buffer, Made, array, coded};
use crate::schema::{Layout, Type};

/// The rows of an array that lie in ranges, which rise. Elements of lists are taken as their lists
/// are; a dictionary's texts and what views lead to stay.
pub(crate) fn take(kind: &Type, made: ArrowArray, rows: &[Range<usize>]) -> Result<ArrowArray> {
    // If others overwrote what the offsets were made of, these rows may not be there.
    taken(kind, made, rows)?.ok_or_else(|| changed(livebuf::ErrorKind::BadIndex))
}

fn taken(kind: &Type, made: ArrowArray, rows: &[Range<usize>]) -> Result<Option<ArrowArray>> {
    let length = rows.iter().map(|range| range.len()).sum();
    let Some(made) = made.into_made() else { return Ok(None) };
    let Made { length: all, buffers, children, dictionary } = made;
    let (mut buffers, mut children) = (buffers.into_iter(), children.into_iter());
    let (bits, nulls) = match buffers.next().flatten() {
        Some(valid) => {
            let valid = taken_bits(valid.bytes(), rows);
            (Some(Buffer::built(valid.bytes)), valid.zeros)
        }
        None => (None, 0),
    };
    let bits = bits.filter(|_| nulls > 0);
    let mut next = || buffers.next().flatten();
    macro_rules! some {
        ($found:expr) => {
            match $found {
                Some(found) => found,
                None => return Ok(None),
            }
        };
    }
    Ok(Some(match kind {
        Type::Null => array(length, length, Vec::new(), Vec::new()),
        Type::Bool => {
            let values = taken_bits(some!(next()).bytes(), rows);
            array(length, nulls, vec![bits, Some(Buffer::built(values.bytes))], Vec::new())
        }
        Type::Text(layout) | Type::Plain(layout) | Type::Json(layout) | Type::Binary(layout) => {
            let (first, second) = (some!(next()), some!(next()));
            let (offsets, below) = match layout {
                Layout::Small => some!(taken_offsets::<i32>(&first, rows)),
                Layout::Large => some!(taken_offsets::<i64>(&first, rows)),
                Layout::View => {
                    let views = some!(taken_values(&first, all, rows));
                    let others = std::iter::once(Some(second)).chain(buffers);
                    let buffers = [bits, Some(views)].into_iter().chain(others).collect();
                    return Ok(Some(array(length, nulls, buffers, Vec::new())));
                }
            };
            let bytes: Option<Vec<_>> =
                below.into_iter().map(|range| second.bytes().get(range)).collect();
            let bytes = Buffer::built(some!(bytes).concat());
            array(length, nulls, vec![bits, Some(offsets), Some(bytes)], Vec::new())
        }
        Type::Struct(fields) => {
            let children = fields.iter().zip(children).map(|(field, child)| {
                take(&field.kind, child, rows).map_err(|error| error.within(&field.name))
            });
            array(length, nulls, vec![bits], children.collect::<Result<_>>()?)
        }
        Type::List(item) | Type::LargeList(item) => {
            let offsets = some!(next());
            let (offsets, below) = match kind {
                Type::List(_) => some!(taken_offsets::<i32>(&offsets, rows)),
                _ => some!(taken_offsets::<i64>(&offsets, rows)),
            };
            let child = take(&item.kind, some!(children.next()), &below)?;
            array(length, nulls, vec![bits, Some(offsets)], vec![child])
        }
        Type::FixedList(..) | Type::Tensor(_) => {
            let (item, each) = match kind {
                Type::FixedList(item, each) => (&item.kind, *each),
                Type::Tensor(lists) => (lists.shape().1, lists.shape().0.iter().product()),
                _ => return Err(unsupported(kind)),
            };
            let below: Vec<_> =
                rows.iter().map(|range| range.start * each..range.end * each).collect();
            let child = take(item, some!(children.next()), &below)?;
            array(length, nulls, vec![bits], vec![child])
        }
        Type::Variant(_) => return Err(unsupported(kind)),
        // A value of a fixed width, or a code, for each row.
        _ => {
            let values = some!(taken_values(&some!(next()), all, rows));
            coded(length, nulls, vec![bits, Some(values)], Vec::new(), dictionary)
        }
    }))
}

/// The values of a fixed width of some rows, of an array of `all`.
fn taken_values(values: &Buffer, all: usize, rows: &[Range<usize>]) -> Option<Buffer> {
    let width = values.bytes().len().checked_div(all).unwrap_or(0);
    let count: usize = rows.iter().map(|range| range.len()).sum();
    // Aligned for the widest values.
    let mut taken = vec![0u128; (count * width).div_ceil(size_of::<u128>())];
    let mut left: &mut [u8] = bytemuck::cast_slice_mut(&mut taken);
    for range in rows {
        let part = values.bytes().get(range.start * width..range.end * width)?;
        let (place, behind) = left.split_at_mut_checked(part.len())?;
        place.copy_from_slice(part);
        left = behind;
    }
    Some(Buffer::built(taken))
}

fn taken_bits(bytes: &[u8], rows: &[Range<usize>]) -> Bits {
    rows.iter().cloned().flatten().map(|row| bit(bytes, row)).collect()
}

/// The offsets of some rows, which begin at 0 again, and the ranges of what these lead to.
fn taken_offsets<T: Offset + Pod>(
    offsets: &Buffer,
    rows: &[Range<usize>],
) -> Option<(Buffer, Vec<Range<usize>>)> {
    let offsets: &[T] = bytemuck::try_cast_slice(offsets.bytes()).ok()?;
    let (mut taken, mut below, mut end) = (vec![T::default()], Vec::new(), 0);
    for range in rows {
        let (first, last) = (offsets.get(range.start)?.place()?, offsets.get(range.end)?.place()?);
        for offset in offsets.get(range.start + 1..=range.end)? {
            taken.push(T::cut(end + offset.place()?.checked_sub(first)?));
        }
        end += last.checked_sub(first)?;
        below.push(first..last);
    }
    Some((Buffer::built(taken), below))
}
