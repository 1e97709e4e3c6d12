//! Deep equality of values, in one document or two.

use super::{AsValue, Checked, Doc, Mode, Object, Value};
use crate::block::record::Raw;
use crate::block::walk::{Allowance, CHUNK, Cursor};
use crate::error::{Error, ErrorKind, Result};
use crate::format::cell::{Needle, span_bytes};
use crate::format::layout::*;

impl<M: Mode> Value<'_, M> {
    /// Whether two values are equal, whatever their layouts.
    ///
    /// Objects are equal when they have equal members, in any order. Numbers
    /// are equal when they are of one kind and the same bits or text: `1` is
    /// not `1.0`, and a NaN is itself. Each value visited takes one from `budget`, and one
    /// more for each 64 bytes of keys and text: damaged documents cannot make the work
    /// unbounded. Needs no allocator, and 256 KiB of stack for the deepest nesting.
    ///
    /// # Errors
    /// [`ErrorKind::BudgetExceeded`], [`ErrorKind::NestingLimit`], or the damage.
    ///
    /// ```
    /// use livebuf::json;
    /// let (a, b) = (json!({"x": [1, 2], "y": null}), json!({"y": null, "x": [1, 2]}));
    /// assert!(a.doc().root().deep_eq(&b, &mut 100)?);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn deep_eq<'b>(&self, other: impl AsValue<'b>, budget: &mut u64) -> Result<bool> {
        let other = other.as_value();
        let mut walk = Equal { one: self.document(), two: other.document(), budget, spent: 0 };
        walk.equal(self.raw(), other.raw(), 0)
    }
}

/// As [`deep_eq`](Value::deep_eq), but for errors: a value that is damaged is equal to none, and
/// costs no more work than a valid one.
///
/// ```
/// use livebuf::json;
/// let (a, b) = (json!({"x": [1, 2], "y": null}), json!({"y": null, "x": [1, 2]}));
/// assert!(a == b && a.doc().root() == b.valid()?.root());
/// assert_ne!(a.pointer("/x/0")?, b.pointer("/x/1")?);
/// # Ok::<(), livebuf::Error>(())
/// ```
impl<M: Mode, N: Mode> PartialEq<Value<'_, N>> for Value<'_, M> {
    fn eq(&self, other: &Value<'_, N>) -> bool {
        let most = |bytes| Allowance::of_comparing(bytes);
        let mut budget = most(self.document()).max(most(other.document()));
        self.deep_eq(other.checked(), &mut budget).unwrap_or(false)
    }
}

/// Whether their values are equal.
impl<M: Mode, N: Mode> PartialEq<Doc<'_, N>> for Doc<'_, M> {
    fn eq(&self, other: &Doc<'_, N>) -> bool {
        self.root() == other.root()
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
        match self.enter(one, two, above)? {
            Entered::Container(pair) => stack[0] = pair,
            Entered::Equal(equal) => return Ok(equal),
        }
        let mut depth = 1usize;
        while let Some((one, two)) = depth.checked_sub(1).and_then(|top| stack.get_mut(top)) {
            let (one, two) = match self.next(one, two)? {
                Next::Pair(one, two) => (one, two),
                Next::End => {
                    depth -= 1;
                    continue;
                }
                Next::Missing => return Ok(false),
            };
            if depth == CHUNK {
                if !self.equal(one, two, above + depth)? {
                    return Ok(false);
                }
                continue;
            }
            match self.enter(one, two, above + depth)? {
                Entered::Container(pair) => {
                    stack[depth] = pair;
                    depth += 1;
                }
                Entered::Equal(true) => {}
                Entered::Equal(false) => return Ok(false),
            }
        }
        Ok(true)
    }

    /// The next child, and the value in its place in the other container. Not inlined, as
    /// `enter`: frames of recursive functions stay small in unoptimised builds.
    #[inline(never)]
    fn next(&mut self, one: &mut Cursor, two: &mut Cursor) -> Result<Next> {
        let Some((index, child)) = one.next(self.one)? else { return Ok(Next::End) };
        let other = match one.key(self.one, index)? {
            None => two.next(self.two)?.map(|(_, other)| other),
            Some(key) => {
                self.spend(key.len() as u64 / 64)?;
                Object::from_node(Checked, self.two, two.node)?
                    .find(&Needle::new(key))?
                    .map(|value| value.raw())
            }
        };
        Ok(other.map_or(Next::Missing, |other| Next::Pair(child, other)))
    }

    fn spend(&mut self, work: u64) -> Result<()> {
        let all = self.spent + *self.budget;
        let exceeded = Error::with_detail(ErrorKind::BudgetExceeded, 0, all);
        *self.budget = self.budget.checked_sub(work).ok_or(exceeded)?;
        self.spent += work;
        Ok(())
    }

    fn scalar(&mut self, one: Raw, two: Raw) -> Result<bool> {
        if one.tag != two.tag || one.tag <= TAG_IMMEDIATE_LAST {
            return Ok(one.tag == two.tag && one.cell == two.cell);
        }
        let (text, other) = (
            span_bytes(self.one, one.cell, one.position as u64)?,
            span_bytes(self.two, two.cell, two.position as u64)?,
        );
        self.spend(text.len() as u64 / 64)?;
        Ok(text == other)
    }

    /// Two scalars, or two containers of one type and size, their children to come.
    #[inline(never)]
    fn enter(&mut self, one: Raw, two: Raw, above: usize) -> Result<Entered> {
        self.spend(1)?;
        if one.tag <= TAG_SPAN_LAST || two.tag <= TAG_SPAN_LAST {
            return self.scalar(one, two).map(Entered::Equal);
        }
        if above >= MAX_NESTING as usize {
            return Err(Error::with_detail(ErrorKind::NestingLimit, 0, MAX_NESTING as u64));
        }
        let length = |bytes, raw| Value::new(Checked, bytes, raw).len();
        if one.tag != two.tag || length(self.one, one)? != length(self.two, two)? {
            return Ok(Entered::Equal(false));
        }
        let (one, two) = (Cursor::new(self.one, one)?, Cursor::new(self.two, two)?);
        let holes = one.places(self.one)?.max(two.places(self.two)?);
        self.spend(holes as u64 / 64)?;
        Ok(Entered::Container((one, two)))
    }
}

/// Two values that were compared, or two containers whose children are to be.
enum Entered {
    Equal(bool),
    Container((Cursor, Cursor)),
}

enum Next {
    /// A child, and the other's.
    Pair(Raw, Raw),
    /// There are no more.
    End,
    /// The other has no such member.
    Missing,
}
