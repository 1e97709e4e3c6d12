//! Deep equality of values, in one document or two.

use super::{Checked, Mode, Object, Value};
use crate::cell::{Needle, span_bytes};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::*;
use crate::record::Raw;
use crate::walk::{CHUNK, Cursor};

impl<M: Mode> Value<'_, M> {
    /// Whether two values are equal, whatever their layouts.
    ///
    /// Objects are equal when they have equal members, in any order. Numbers
    /// are equal when they are of one kind and the same bits or text: `1` is
    /// not `1.0`, and a NaN is itself. Each value visited takes one from
    /// `budget`, so that damaged documents cannot make the work unbounded.
    ///
    /// # Errors
    /// [`ErrorKind::BudgetExceeded`], [`ErrorKind::NestingLimit`], or what is damaged.
    ///
    /// ```
    /// use livebuf::json;
    /// let (a, b) = (json!({"x": [1, 2], "y": null}), json!({"y": null, "x": [1, 2]}));
    /// assert!(a.doc().root().deep_eq(&b.doc().root(), &mut 100)?);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn deep_eq<N: Mode>(&self, other: &Value<'_, N>, budget: &mut u64) -> Result<bool> {
        let mut walk = Equal { one: self.document(), two: other.document(), budget, spent: 0 };
        walk.equal(self.raw(), other.raw(), 0)
    }
}

struct Equal<'b> {
    one: &'b [u8],
    two: &'b [u8],
    budget: &'b mut u64,
    spent: u64,
}

impl Equal<'_> {
    fn equal(&mut self, one: Raw, two: Raw, above: usize) -> Result<bool> {
        let mut stack = [(Cursor::NONE, Cursor::NONE); CHUNK];
        let mut depth = 0;
        let mut next = Some((one, two));
        loop {
            if let Some((one, two)) = next.take() {
                if one.tag <= TAG_SPAN_LAST || two.tag <= TAG_SPAN_LAST {
                    if !self.scalar(one, two)? {
                        return Ok(false);
                    }
                } else if depth == CHUNK {
                    if !self.equal(one, two, above + depth)? {
                        return Ok(false);
                    }
                } else {
                    match self.enter(one, two, above + depth)? {
                        Some(pair) => stack[depth] = pair,
                        None => return Ok(false),
                    }
                    depth += 1;
                }
            }
            let Some((one, two)) = depth.checked_sub(1).and_then(|top| stack.get_mut(top)) else {
                return Ok(true);
            };
            let Some((index, child)) = one.next(self.one)? else {
                depth -= 1;
                continue;
            };
            let other = match one.key(self.one, index)? {
                None => two.next(self.two)?.map(|(_, other)| other),
                Some(key) => Object::<Checked>::from_node(self.two, two.node)?
                    .find(&Needle::new(key))?
                    .map(|value| value.raw()),
            };
            match other {
                Some(other) => next = Some((child, other)),
                None => return Ok(false),
            }
        }
    }

    fn spend(&mut self) -> Result<()> {
        self.spent += 1;
        let exceeded = Error::with_detail(ErrorKind::BudgetExceeded, 0, self.spent - 1);
        *self.budget = self.budget.checked_sub(1).ok_or(exceeded)?;
        Ok(())
    }

    fn scalar(&mut self, one: Raw, two: Raw) -> Result<bool> {
        self.spend()?;
        if one.tag != two.tag || one.tag <= TAG_IMMEDIATE_LAST {
            return Ok(one.tag == two.tag && one.cell == two.cell);
        }
        Ok(span_bytes(self.one, one.cell, one.position as u64)?
            == span_bytes(self.two, two.cell, two.position as u64)?)
    }

    /// Two containers of one type and size, their children to come; else `None`.
    fn enter(&mut self, one: Raw, two: Raw, above: usize) -> Result<Option<(Cursor, Cursor)>> {
        self.spend()?;
        if above >= MAX_NESTING as usize {
            return Err(Error::with_detail(ErrorKind::NestingLimit, 0, MAX_NESTING as u64));
        }
        let length = |bytes, raw| Value::<Checked>::new(bytes, raw).len();
        if one.tag != two.tag || length(self.one, one)? != length(self.two, two)? {
            return Ok(None);
        }
        Ok(Some((Cursor::new(self.one, one)?, Cursor::new(self.two, two)?)))
    }
}
