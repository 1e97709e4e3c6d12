//! Shapes: the keys of a kind of object, stored once (FORMAT 4).
//!
//! ```text
//! byte 0     1         2      3      4..8   8..
//!      kind  capacity  count  flags  older  fingerprints, key cells
//! ```
//!
//! A record uses the first n keys of its shape. Shapes are linked from the newest to the
//! oldest. The header has the newest one's offset.
//!
//! A table of more than 255 columns has a wide shape, which serves such tables alone. It is full
//! from the beginning. In place of the fingerprints it has the numbers of its keys in the order of
//! their bytes:
//!
//! ```text
//! byte 0     1  2  3      4..8   8..12  12..16  16..
//!      kind  0  0  flags  older  count  0       order, key cells
//! ```

use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, load_u8, load_u16, load_u32, load_u64};
use crate::format::cell::{Needle, span_at_position};
use crate::format::layout::*;
use crate::store::space::{Extent, Space};
use crate::store::storage::Storage;
use crate::store::target::Target;
use core::cmp::Ordering;

/// A shape's first four bytes, checked to be a shape. It is a wide one if the capacity is above
/// [`MAX_FIELDS`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) offset: u64,
    pub(crate) capacity: u32,
    pub(crate) count: u32,
    pub(crate) flags: u8,
}

impl Shape {
    #[inline]
    pub(crate) fn load(bytes: &[u8], offset: u64) -> Result<Shape> {
        let [kind, capacity, count, flags] = load_u32(bytes, offset)?.to_le_bytes();
        if kind != KIND_SHAPE {
            return Err(Error::new(ErrorKind::WrongBlock, offset));
        }
        Ok(Shape::new(offset, capacity as u32, count as u32, flags))
    }

    #[inline]
    pub(crate) fn new(offset: u64, capacity: u32, count: u32, flags: u8) -> Shape {
        Shape { offset, capacity, count, flags }
    }

    /// A shape that may be wide.
    pub(crate) fn any(bytes: &[u8], offset: u64) -> Result<Shape> {
        match load_u8(bytes, offset)? {
            KIND_WIDE_SHAPE => Shape::load_wide(bytes, offset),
            _ => Shape::load(bytes, offset),
        }
    }

    /// The shape of a table of so many columns.
    #[inline]
    pub(crate) fn of_table(bytes: &[u8], offset: u64, columns: u32) -> Result<Shape> {
        match is_wide(columns) {
            true => Shape::load_wide(bytes, offset),
            false => Shape::load(bytes, offset),
        }
    }

    #[cold]
    #[inline(never)]
    fn load_wide(bytes: &[u8], offset: u64) -> Result<Shape> {
        if load_u8(bytes, offset)? != KIND_WIDE_SHAPE {
            return Err(Error::new(ErrorKind::WrongBlock, offset));
        }
        let count = load_u32(bytes, offset + WIDE_SHAPE_COUNT as u64)?;
        if count <= MAX_FIELDS as u32 || count > MAX_COLUMNS as u32 {
            return Err(Error::new(ErrorKind::BadCount, offset));
        }
        let flags = load_u8(bytes, offset + SHAPE_FLAGS as u64)?;
        Ok(Shape::new(offset, count, count, flags))
    }

    #[inline]
    pub(crate) fn is_wide(&self) -> bool {
        is_wide(self.capacity)
    }

    /// A document's first shape, still without keys.
    #[inline]
    pub(crate) fn first(offset: u64, capacity: u32) -> Shape {
        Shape::new(offset, capacity, 0, SHAPE_PRIVATE)
    }

    /// The four bytes, as one word. They are loaded as one next, and a load waits for narrower
    /// stores before it.
    #[inline]
    fn head(&self) -> u32 {
        let flags = (self.flags as u32) << 24;
        match self.is_wide() {
            true => KIND_WIDE_SHAPE as u32 | flags,
            false => KIND_SHAPE as u32 | self.capacity << 8 | self.count << 16 | flags,
        }
    }

    pub(crate) fn is_private(&self) -> bool {
        self.flags & SHAPE_PRIVATE != 0
    }

    pub(crate) fn size(&self) -> u64 {
        shape_size(self.capacity) as u64
    }

    /// Position of key `index`'s cell.
    #[inline]
    pub(crate) fn key_position(&self, index: u32) -> u64 {
        self.offset + shape_keys(self.capacity) as u64 + 8 * index as u64
    }

    /// The bytes of key `index`.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn key<'a>(&self, bytes: &'a [u8], index: u32) -> Result<&'a [u8]> {
        span_at_position(bytes, self.key_at(index)?)
    }

    /// Where the cell of key `index` lies, which the shape must have.
    #[inline]
    pub(crate) fn key_at(&self, index: u32) -> Result<u64> {
        match index < self.count {
            true => Ok(self.key_position(index)),
            false => Err(Error::new(ErrorKind::BadCount, self.offset)),
        }
    }

    /// Index of a key among the first `used` of a shape that may be wide.
    pub(crate) fn find_in_any(
        &self,
        bytes: &[u8],
        used: u32,
        needle: &Needle<'_>,
    ) -> Result<Option<u32>> {
        match self.is_wide() {
            true => self.find_by_order(bytes, used, needle.text),
            false => self.find(bytes, used, needle),
        }
    }

    /// Index of a key among the first `used` of a shape that is not wide.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn find(&self, bytes: &[u8], used: u32, needle: &Needle<'_>) -> Result<Option<u32>> {
        debug_assert!(!self.is_wide());
        let keys = self.offset + narrow_shape_keys(self.capacity) as u64;
        let used = used.min(self.count);
        const ONES: u64 = 0x0101_0101_0101_0101;
        let wanted = needle.fingerprint as u64 * ONES;
        let mut base = 0;
        while base < used {
            // Eight fingerprints at a time; reads past the last stay inside the block.
            let word = load_u64(bytes, self.offset + (SHAPE_FINGERPRINTS + base) as u64)? ^ wanted;
            // A high bit marks a zero byte. Marks above the lowest may be false: comparing keys
            // tells.
            let mut marks = word.wrapping_sub(ONES) & !word & (ONES << 7);
            while marks != 0 {
                let index = base + marks.trailing_zeros() / 8;
                if index >= used {
                    break;
                }
                if needle.is_at(bytes, keys + 8 * index as u64)? {
                    return Ok(Some(index));
                }
                marks &= marks - 1;
            }
            base += 8;
        }
        Ok(None)
    }
}

/// Whether a table of so many columns has a wide shape.
#[inline]
pub(crate) fn is_wide(columns: u32) -> bool {
    columns > MAX_FIELDS as u32
}

/// The column of a key in a table of so many columns.
pub(crate) fn find_column(
    bytes: &[u8],
    shape: u32,
    columns: u32,
    needle: &Needle<'_>,
) -> Result<Option<u32>> {
    match is_wide(columns) {
        true => find_in_wide(bytes, shape, columns, needle.text),
        false => Shape::load(bytes, shape.into())?.find(bytes, columns, needle),
    }
}

#[cold]
#[inline(never)]
fn find_in_wide(bytes: &[u8], shape: u32, columns: u32, key: &[u8]) -> Result<Option<u32>> {
    Shape::load_wide(bytes, shape.into())?.find_by_order(bytes, columns, key)
}

impl Shape {
    /// Of a wide shape: the number of the key at this place in the order of the keys.
    #[inline]
    pub(crate) fn ordered(&self, bytes: &[u8], place: u32) -> Result<u32> {
        let at = self.offset + (WIDE_SHAPE_ORDER + 2 * place) as u64;
        load_u16(bytes, at).map(u32::from)
    }

    /// Finds a key of a wide shape by halving.
    #[inline(never)]
    fn find_by_order(&self, bytes: &[u8], used: u32, key: &[u8]) -> Result<Option<u32>> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let number = self.ordered(bytes, middle)?;
            match self.key(bytes, number)?.cmp(key) {
                Ordering::Less => low = middle + 1,
                // A damaged table may have fewer columns.
                Ordering::Equal => return Ok((number < used).then_some(number)),
                Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    /// Checks the order of a wide shape's keys. Keys that rise strictly are all different. So are
    /// their numbers, and no key is left out.
    pub(crate) fn check_order(&self, bytes: &[u8]) -> Result<()> {
        let mut before = None;
        for place in 0..self.count {
            let number = self.ordered(bytes, place)?;
            let misplaced = || {
                Error::new(ErrorKind::BadIndex, self.offset + (WIDE_SHAPE_ORDER + 2 * place) as u64)
            };
            if number >= self.count {
                return Err(misplaced());
            }
            let key = Some(self.key(bytes, number)?);
            match before.cmp(&key) {
                Ordering::Less => before = key,
                Ordering::Equal => {
                    return Err(Error::new(ErrorKind::DuplicateKey, self.key_position(number)));
                }
                Ordering::Greater => return Err(misplaced()),
            }
        }
        Ok(())
    }

    /// Writes which key of a wide shape is at this place in the order of the keys.
    pub(crate) fn put_in_order(&self, target: &mut impl Target, place: u32, number: u32) {
        let at = self.offset + (WIDE_SHAPE_ORDER + 2 * place) as u64;
        target.write(at, &(number as u16).to_le_bytes());
    }
}

/// How many of the newest shapes are looked at before a new one is made.
const NEWEST: usize = 64;

/// Where the shape comes from when a record gets one more key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ShapeStep {
    /// This shape has the key at the record's end already. It may be another shape than before.
    Follow { shape: u32 },
    /// The record uses all keys of a shape that has room: the key is added to the shape.
    Extend { shape: Shape },
    /// A new shape of this capacity, beginning with the first keys of `from` (0 for none).
    Make { from: u32, capacity: u32 },
}

impl ShapeStep {
    /// Bytes to take for it, the key's text aside.
    #[inline]
    pub(crate) fn fresh(&self) -> u64 {
        match *self {
            ShapeStep::Make { capacity, .. } => shape_size(capacity) as u64,
            _ => 0,
        }
    }

    /// Whether the key's text has to be stored.
    #[inline]
    pub(crate) fn stores_key(&self) -> bool {
        !matches!(self, ShapeStep::Follow { .. })
    }
}

/// Whether the first `count` keys of two shapes are the same.
fn same_keys(bytes: &[u8], a: Shape, b: Shape, count: u32) -> Result<bool> {
    for index in (0..count).rev() {
        if load_u64(bytes, a.key_position(index))? != load_u64(bytes, b.key_position(index))?
            && a.key(bytes, index)? != b.key(bytes, index)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Calls `with` on those of the newest shapes that are wide, or that are not, until it answers.
#[inline]
pub(crate) fn among_newest<R>(
    bytes: &[u8],
    wide: bool,
    with: impl FnMut(Shape) -> Result<Option<R>>,
) -> Result<Option<R>> {
    match load_u32(bytes, HEADER_NEWEST_SHAPE as u64)? {
        0 => Ok(None),
        newest => among_older(bytes, newest, wide, with),
    }
}

#[inline(never)]
fn among_older<R>(
    bytes: &[u8],
    newest: u32,
    wide: bool,
    mut with: impl FnMut(Shape) -> Result<Option<R>>,
) -> Result<Option<R>> {
    let mut offset = newest;
    for _ in 0..NEWEST {
        if offset == 0 {
            break;
        }
        if (load_u8(bytes, offset as u64)? == KIND_WIDE_SHAPE) == wide {
            let shape = match wide {
                true => Shape::load_wide(bytes, offset as u64)?,
                false => Shape::load(bytes, offset as u64)?,
            };
            if let Some(found) = with(shape)? {
                return Ok(Some(found));
            }
        }
        offset = load_u32(bytes, offset as u64 + SHAPE_OLDER as u64)?;
    }
    Ok(None)
}

/// Plans the shape for a record of `used` fields of `shape` (`None`: no field
/// yet) that gets `needle`.
///
/// `hint` is the field capacity that a new shape should have.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(crate) fn plan_step(
    bytes: &[u8],
    shape: Option<Shape>,
    used: u32,
    needle: &Needle<'_>,
    hint: u32,
) -> Result<ShapeStep> {
    if let Some(shape) = shape {
        if used == shape.count && used < shape.capacity {
            check(bytes, shape.offset, shape.size())?;
            return Ok(ShapeStep::Extend { shape });
        }
        if used < shape.count && needle.is_at(bytes, shape.key_position(used))? {
            return Ok(ShapeStep::Follow { shape: shape.offset as u32 });
        }
    }
    plan_other(bytes, shape, used, needle, hint)
}

impl ShapeStep {
    /// The same, but with a shape of the record's own in place of one that others use. For edits
    /// that free values, and shapes with them, before they take the step. `from`: the shape that
    /// the record leaves, 0 for none.
    pub(crate) fn alone(self, from: u32, used: u32, hint: u32) -> ShapeStep {
        match self {
            ShapeStep::Follow { shape } if shape != from => {
                ShapeStep::Make { from, capacity: hint.max(used + 1).min(MAX_FIELDS as u32) }
            }
            step => step,
        }
    }
}

/// Plans to use one of the newest shapes, or a new one.
#[inline(never)]
fn plan_other(
    bytes: &[u8],
    shape: Option<Shape>,
    used: u32,
    needle: &Needle<'_>,
    hint: u32,
) -> Result<ShapeStep> {
    let found = among_newest(bytes, false, |candidate| {
        let fingerprint = candidate.offset + (SHAPE_FINGERPRINTS + used) as u64;
        let fits = candidate.count > used
            && load_u8(bytes, fingerprint)? == needle.fingerprint
            && needle.is_at(bytes, candidate.key_position(used))?
            && match shape {
                Some(shape) => same_keys(bytes, shape, candidate, used)?,
                None => used == 0,
            };
        Ok(fits.then_some(candidate.offset as u32))
    })?;
    if let Some(shape) = found {
        return Ok(ShapeStep::Follow { shape });
    }
    let capacity = hint.max(used + 1).min(MAX_FIELDS as u32);
    Ok(ShapeStep::Make { from: shape.map_or(0, |shape| shape.offset as u32), capacity })
}

/// Carries out a planned step for a record of `used` fields that leaves the shape `old`.
/// Returns the shape that the record uses now.
///
/// `key_cell` is the new key's cell if [`ShapeStep::stores_key`].
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(crate) fn commit_step<S: Storage>(
    space: &mut Space<S>,
    step: ShapeStep,
    old: u32,
    used: u32,
    key_cell: u64,
    fingerprint: u8,
    extent: &mut Extent,
) -> u32 {
    let shape = match step {
        ShapeStep::Extend { shape } => {
            // Loaded again: since the plan, the value may have been built with this shape, too.
            let shape = Shape::load(space.bytes(), shape.offset).unwrap_or(shape);
            put_key(space, shape, used, key_cell, fingerprint);
            return shape.offset as u32;
        }
        ShapeStep::Follow { shape } => {
            if shape != old {
                adopt(space, shape);
            }
            shape
        }
        ShapeStep::Make { from, capacity } => {
            let mut shape = create(space, capacity, 0, extent);
            if used > 0 {
                shape = copy_keys(space, from, shape, used);
            }
            put_key(space, shape, used, key_cell, fingerprint);
            shape.offset as u32
        }
    };
    if shape != old && old != 0 {
        leave(space, old);
    }
    shape
}

impl Shape {
    /// Writes the header; the keys are still to be written. `older` is the next shape in the list.
    #[inline]
    pub(crate) fn write_header(&self, target: &mut impl Target, older: u32) {
        target.write_u64(self.offset, self.head() as u64 | (older as u64) << 32);
        if self.is_wide() {
            target.write_u64(self.offset + WIDE_SHAPE_COUNT as u64, self.count.into());
        }
    }
}

/// Makes a private shape at the head of the list. Its first `count` keys are still to be
/// written.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(crate) fn create(
    space: &mut impl Target,
    capacity: u32,
    count: u32,
    extent: &mut Extent,
) -> Shape {
    let offset = extent.carve(shape_size(capacity) as u64);
    let older = load_u32(space.bytes(), HEADER_NEWEST_SHAPE as u64).unwrap_or(0);
    let shape = Shape::new(offset as u64, capacity, count, SHAPE_PRIVATE);
    shape.write_header(space, older);
    space.write_u32(HEADER_NEWEST_SHAPE as u64, offset);
    shape
}

/// Copies the first `count` keys of `from` to a shape that has none; their text is shared from now
/// on.
pub(crate) fn copy_keys<S: Storage>(
    space: &mut Space<S>,
    from: u32,
    to: Shape,
    count: u32,
) -> Shape {
    let Ok(source) = Shape::load(space.bytes(), from as u64) else { return to };
    let whole = check(space.bytes(), source.offset, source.size()).is_ok();
    if count == 0 || count > source.capacity || count > to.capacity || !whole {
        return to;
    }
    let fingerprints = |shape: Shape| shape.offset + SHAPE_FINGERPRINTS as u64;
    space.copy_within(fingerprints(source), fingerprints(to), count.into());
    space.copy_within(source.key_position(0), to.key_position(0), 8 * u64::from(count));
    let shape = Shape { count, ..to };
    space.write_u32(shape.offset, shape.head());
    shape
}

/// Writes key `index` and counts it. Returns the shape with the key.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(crate) fn put_key(
    space: &mut impl Target,
    shape: Shape,
    index: u32,
    cell: u64,
    fingerprint: u8,
) -> Shape {
    // Writes all eight bytes, as they are loaded: a load waits for a narrower store before it.
    let (word_at, shift) =
        (shape.offset + (SHAPE_FINGERPRINTS + (index & !7)) as u64, 8 * (index & 7));
    let word = load_u64(space.bytes(), word_at).unwrap_or(0);
    space.write_u64(word_at, word & !(0xFF << shift) | (fingerprint as u64) << shift);
    space.write_u64(shape.key_position(index), cell);
    if index < shape.count {
        return shape;
    }
    let shape = Shape { count: index + 1, ..shape };
    space.write_u32(shape.offset, shape.head());
    shape
}

/// Another record or table uses this shape from now on, so it is not private any more.
pub(crate) fn adopt<S: Storage>(space: &mut Space<S>, shape: u32) {
    if let Ok(loaded) = Shape::any(space.bytes(), shape as u64)
        && loaded.is_private()
    {
        space.write_u8(shape as u64 + SHAPE_FLAGS as u64, loaded.flags & !SHAPE_PRIVATE);
    }
}

/// A record stops using this shape (0: none). A private shape is freed if it is found near the
/// head of the list. The keys' text stays, since other shapes may share it.
pub(crate) fn leave<S: Storage>(space: &mut Space<S>, shape: u32) {
    if shape == 0 || !space.trusted {
        return;
    }
    let Ok(loaded) = Shape::any(space.bytes(), shape as u64) else { return };
    if !loaded.is_private() {
        return;
    }
    let bytes = space.bytes();
    let Ok(older) = load_u32(bytes, shape as u64 + SHAPE_OLDER as u64) else { return };
    let mut link = HEADER_NEWEST_SHAPE as u64;
    for _ in 0..NEWEST {
        match load_u32(space.bytes(), link) {
            Ok(0) | Err(_) => return,
            Ok(found) if found == shape => {
                space.write_u32(link, older);
                space.free(shape as u64, loaded.size());
                return;
            }
            Ok(found) => link = found as u64 + SHAPE_OLDER as u64,
        }
    }
}
