//! Deep equality of values, in one document or two.

use super::{Kind, Mode, Value};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::MAX_NESTING;

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
        equal(&self.checked(), &other.checked(), budget, MAX_NESTING)
    }
}

fn equal(a: &Value<'_>, b: &Value<'_>, budget: &mut u64, left: u16) -> Result<bool> {
    let spent = || Error::with_detail(ErrorKind::BudgetExceeded, 0, 0);
    *budget = budget.checked_sub(1).ok_or_else(spent)?;
    let (one, two) = (a.raw(), b.raw());
    if one.tag != two.tag {
        return Ok(false);
    }
    let deeper = || {
        let error = Error::with_detail(ErrorKind::NestingLimit, 0, MAX_NESTING as u64);
        left.checked_sub(1).ok_or(error)
    };
    match a.kind() {
        Kind::String => Ok(a.as_str()? == b.as_str()?),
        Kind::Bytes => Ok(a.as_bytes()? == b.as_bytes()?),
        Kind::Number => Ok(a.as_number_text()? == b.as_number_text()?),
        Kind::Object => {
            let (Some(one), Some(two)) = (a.as_object()?, b.as_object()?) else { return Ok(false) };
            if one.len() != two.len() {
                return Ok(false);
            }
            let left = deeper()?;
            for member in one.iter() {
                let (key, value) = member?;
                match two.get(key)? {
                    Some(other) if equal(&value, &other, budget, left)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        Kind::Array => {
            let (Some(one), Some(two)) = (a.as_array()?, b.as_array()?) else { return Ok(false) };
            if one.len() != two.len() {
                return Ok(false);
            }
            let left = deeper()?;
            for (value, other) in one.iter().zip(two.iter()) {
                if !equal(&value?, &other?, budget, left)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(one.cell == two.cell),
    }
}
