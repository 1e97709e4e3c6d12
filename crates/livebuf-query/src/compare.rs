//! Comparisons of RFC 9535 (2.3.5.2.2), on values of documents and literals.
//!
//! Values that JSON lacks compare as the JSON text that they print as: dates, times, UUIDs and
//! bytes as text, decimals as numbers.

use crate::budget::Budget;
use crate::syntax::{Comparison, Literal, Operand};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use livebuf::{Mode, Number, Result, Value, View};
use std::borrow::Cow;
use std::cmp::Ordering;

/// One side of a comparison, computed.
pub(crate) enum Side<'q, 'd, M> {
    Nothing,
    /// No query and no function.
    Literal(&'q Operand),
    Count(u64),
    Value(Value<'d, M>),
}

/// A value without its kind of storage.
enum Plain<'x, 'd, M: Mode> {
    Nothing,
    Null,
    Bool(bool),
    Number(Number<'x>),
    Literal(&'x Literal),
    Text(Cow<'x, str>),
    Container(View<'d, M>),
}

pub(crate) fn compare<'d, M: Mode>(
    left: &Side<'_, 'd, M>,
    comparison: Comparison,
    right: &Side<'_, 'd, M>,
    budget: &mut Budget,
) -> Result<bool> {
    use Comparison::*;
    let (left, right) = (plain(left)?, plain(right)?);
    Ok(match comparison {
        Equal => equal(&left, &right, budget)?,
        Unequal => !equal(&left, &right, budget)?,
        Less => order(&left, &right, budget)? == Some(Ordering::Less),
        Greater => order(&left, &right, budget)? == Some(Ordering::Greater),
        LessOrEqual => {
            order(&left, &right, budget)? == Some(Ordering::Less) || equal(&left, &right, budget)?
        }
        GreaterOrEqual => {
            order(&left, &right, budget)? == Some(Ordering::Greater)
                || equal(&left, &right, budget)?
        }
    })
}

/// The text of a value that is text in JSON: borrowed where it is text in the document.
pub(crate) fn text_of<'x, 'd: 'x, M: Mode>(side: &Side<'x, 'd, M>) -> Result<Option<Cow<'x, str>>> {
    Ok(match plain(side)? {
        Plain::Text(text) => Some(text),
        _ => None,
    })
}

/// The function `length`: characters, elements or members.
pub(crate) fn length<M: Mode>(side: &Side<'_, '_, M>, budget: &mut Budget) -> Result<Option<u64>> {
    Ok(match plain(side)? {
        Plain::Text(text) => {
            budget.text(text.len())?;
            Some(text.chars().count() as u64)
        }
        Plain::Container(View::Array(array)) => Some(array.len() as u64),
        Plain::Container(View::Object(object)) => Some(object.len() as u64),
        _ => None,
    })
}

fn plain<'x, 'd: 'x, M: Mode>(side: &Side<'x, 'd, M>) -> Result<Plain<'x, 'd, M>> {
    Ok(match side {
        Side::Nothing => Plain::Nothing,
        Side::Count(count) => Plain::Number(Number::Int((*count).into())),
        Side::Literal(Operand::Null) => Plain::Null,
        Side::Literal(Operand::Bool(value)) => Plain::Bool(*value),
        Side::Literal(Operand::Number(number)) => Plain::Literal(number),
        Side::Literal(Operand::Text(text)) => Plain::Text(Cow::Borrowed(text)),
        Side::Literal(_) => Plain::Nothing,
        Side::Value(value) => plain_value(value)?,
    })
}

fn plain_value<'x, 'd: 'x, M: Mode>(value: &Value<'d, M>) -> Result<Plain<'x, 'd, M>> {
    if let Some(number) = Number::of(value)? {
        return Ok(Plain::Number(number));
    }
    Ok(match M::item_result(value.view())? {
        View::Null => Plain::Null,
        View::Bool(value) => Plain::Bool(value),
        View::String(text) => Plain::Text(Cow::Borrowed(text)),
        View::Bytes(bytes) => Plain::Text(Cow::Owned(STANDARD.encode(bytes))),
        View::Extended(other) => Plain::Text(Cow::Owned(other.to_string())),
        container @ (View::Object(_) | View::Array(_)) => Plain::Container(container),
        // Of a kind that later versions may add.
        _ => Plain::Nothing,
    })
}

fn order<M: Mode>(
    left: &Plain<'_, '_, M>,
    right: &Plain<'_, '_, M>,
    budget: &mut Budget,
) -> Result<Option<Ordering>> {
    Ok(match (left, right) {
        (Plain::Number(left), Plain::Number(right)) => left.partial_cmp(right),
        (Plain::Literal(left), Plain::Number(right)) => left.meets(*right).partial_cmp(right),
        (Plain::Number(left), Plain::Literal(right)) => left.partial_cmp(&right.meets(*left)),
        (Plain::Literal(left), Plain::Literal(right)) => left.compare(right),
        (Plain::Text(left), Plain::Text(right)) => {
            budget.text(left.len().min(right.len()))?;
            // By Unicode's code points, as UTF-8 is.
            Some(left.cmp(right))
        }
        _ => None,
    })
}

/// Whether two are equal. Containers are compared without recursion: they may be nested deep.
fn equal<'d, M: Mode>(
    left: &Plain<'_, 'd, M>,
    right: &Plain<'_, 'd, M>,
    budget: &mut Budget,
) -> Result<bool> {
    let mut left_over = Vec::new();
    if !equal_outside(left, right, &mut left_over, budget)? {
        return Ok(false);
    }
    while let Some((left, right)) = left_over.pop() {
        let (left, right) = (plain_value(&left)?, plain_value(&right)?);
        if !equal_outside(&left, &right, &mut left_over, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two are equal if their children are, which go to `left_over`.
fn equal_outside<'d, M: Mode>(
    left: &Plain<'_, 'd, M>,
    right: &Plain<'_, 'd, M>,
    left_over: &mut Vec<(Value<'d, M>, Value<'d, M>)>,
    budget: &mut Budget,
) -> Result<bool> {
    budget.take(1)?;
    Ok(match (left, right) {
        (Plain::Nothing, Plain::Nothing) | (Plain::Null, Plain::Null) => true,
        (Plain::Bool(left), Plain::Bool(right)) => left == right,
        (Plain::Number(_) | Plain::Literal(_), Plain::Number(_) | Plain::Literal(_)) => {
            order(left, right, budget)? == Some(Ordering::Equal)
        }
        (Plain::Text(left), Plain::Text(right)) => {
            left.len() == right.len() && {
                budget.text(left.len())?;
                left == right
            }
        }
        (Plain::Container(View::Array(left)), Plain::Container(View::Array(right))) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            budget.take(left.len() as u64)?;
            // The first are compared first: a difference is often found there.
            let begin = left_over.len();
            for (left, right) in left.iter().zip(right.iter()) {
                left_over.push((M::item_result(left)?, M::item_result(right)?));
            }
            if let Some(children) = left_over.get_mut(begin..) {
                children.reverse();
            }
            true
        }
        (Plain::Container(View::Object(left)), Plain::Container(View::Object(right))) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for member in left.iter() {
                let (key, value) = M::item_result(member)?;
                budget.take(1)?;
                budget.text(key.len())?;
                match M::result(right.get(key))? {
                    Some(other) => left_over.push((value, other)),
                    None => return Ok(false),
                }
            }
            true
        }
        _ => false,
    })
}
