//! Whether two values are equal; digests by which equal values are found. Neither recurses.

use foldhash::fast::RandomState;
use livebuf::{ArrayIter, Fields, Kind, Mode, Number, Object, Result, Valid, Value, View};
use std::hash::BuildHasher;

/// What counts as equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// By RFC 6902: numbers of all kinds by their values, objects in any order.
    Test,
    /// Numbers of one kind and the same bits or text, objects in any order.
    Kinds,
    /// As `Kinds`, objects in the same order.
    Ordered,
}

/// The rest of two containers of one size.
enum Pair<'a, 'b, A, B> {
    Arrays(ArrayIter<'a, A>, ArrayIter<'b, B>),
    /// Members of both in their orders, and the second to look into where these differ.
    Objects(Fields<'a, A>, Fields<'b, B>, Object<'b, B>),
}

/// Whether two values are equal. Visits at most the values of one of them.
///
/// # Errors
/// Damage of a value that is not valid.
pub(crate) fn equal<A: Mode, B: Mode>(
    one: Value<'_, A>,
    two: Value<'_, B>,
    rule: Rule,
) -> Result<bool> {
    let mut open = Vec::new();
    if !enter(one, two, rule, &mut open)? {
        return Ok(false);
    }
    while let Some(pair) = open.last_mut() {
        let next = match pair {
            Pair::Arrays(one, two) => match (one.next(), two.next()) {
                (Some(one), Some(two)) => Some((A::item_result(one)?, B::item_result(two)?)),
                _ => None,
            },
            Pair::Objects(one, two, object) => match (one.next(), two.next()) {
                (Some(one), Some(two)) => {
                    let ((key, one), two) = (A::item_result(one)?, B::item_result(two)?);
                    let found = match two {
                        (same, value) if same == key => Some(value),
                        _ if rule == Rule::Ordered => None,
                        _ => B::result(object.get(key))?,
                    };
                    let Some(two) = found else { return Ok(false) };
                    Some((one, two))
                }
                _ => None,
            },
        };
        match next {
            Some((one, two)) => {
                if !enter(one, two, rule, &mut open)? {
                    return Ok(false);
                }
            }
            None => drop(open.pop()),
        }
    }
    Ok(true)
}

/// Compares two scalars, or opens two containers; false if they differ already.
fn enter<'a, 'b, A: Mode, B: Mode>(
    one: Value<'a, A>,
    two: Value<'b, B>,
    rule: Rule,
    open: &mut Vec<Pair<'a, 'b, A, B>>,
) -> Result<bool> {
    let kind = one.kind();
    if kind != two.kind() {
        return Ok(rule == Rule::Test && numbers_equal(one, two)?);
    }
    Ok(match kind {
        Kind::Null => true,
        Kind::Bool | Kind::Int | Kind::Uint => {
            one.parts().cell == two.parts().cell && one.parts().tag == two.parts().tag
        }
        Kind::Float | Kind::NumberText | Kind::Decimal if rule == Rule::Test => {
            numbers_equal(one, two)?
        }
        Kind::Float => one.parts().cell == two.parts().cell,
        Kind::NumberText => A::result(one.as_number_text())? == B::result(two.as_number_text())?,
        Kind::String => A::result(one.as_str())? == B::result(two.as_str())?,
        Kind::Bytes => A::result(one.as_bytes())? == B::result(two.as_bytes())?,
        Kind::Array => match (A::result(one.as_array())?, B::result(two.as_array())?) {
            (Some(one), Some(two)) if one.len() == two.len() => {
                open.push(Pair::Arrays(one.iter(), two.iter()));
                true
            }
            _ => false,
        },
        Kind::Object => match (A::result(one.as_object())?, B::result(two.as_object())?) {
            (Some(one), Some(two)) if one.len() == two.len() => {
                open.push(Pair::Objects(one.iter(), two.iter(), two));
                true
            }
            _ => false,
        },
        kind if kind.is_extended() => {
            A::result(one.as_extended())? == B::result(two.as_extended())?
        }
        _ => false,
    })
}

/// Whether both are numbers, of one value: exactly, also where one is a decimal or a text.
fn numbers_equal<A: Mode, B: Mode>(one: Value<'_, A>, two: Value<'_, B>) -> Result<bool> {
    Ok(match (Number::of(&one)?, Number::of(&two)?) {
        // A NaN equals itself here, since no other number equals it.
        (Some(Number::Float(one)), Some(Number::Float(two))) => {
            one == two || one.to_bits() == two.to_bits()
        }
        (Some(one), Some(two)) => one == two,
        _ => false,
    })
}

/// Whether two valid values are equal.
pub(crate) fn same(one: Value<'_, Valid>, two: Value<'_, Valid>, rule: Rule) -> bool {
    equal(one, two, rule).unwrap_or(false)
}

/// The rest of a container whose digest is made, and the digest so far.
enum Rest<'a> {
    Array(ArrayIter<'a, Valid>, u64),
    /// With the digest of the key whose value is made.
    Object(Fields<'a, Valid>, u64, u64),
}

/// A digest of a value: equal ones, by their kinds, have equal digests in whatever order their
/// members are. It holds for this process only. Linear in the value.
pub(crate) fn digest(value: Value<'_, Valid>, seed: &RandomState) -> u64 {
    let mut open: Vec<Rest<'_>> = Vec::new();
    let mut done = begin(value, seed, &mut open);
    loop {
        let Some(rest) = open.last_mut() else { return done.unwrap_or(0) };
        let next = match rest {
            Rest::Array(elements, sum) => {
                if let Some(element) = done.take() {
                    *sum = seed.hash_one((*sum, element));
                }
                elements.next()
            }
            Rest::Object(members, sum, key) => {
                if let Some(member) = done.take() {
                    // Their order does not count.
                    *sum = sum.wrapping_add(seed.hash_one((*key, member)));
                }
                members.next().map(|(name, value)| {
                    *key = seed.hash_one(name);
                    value
                })
            }
        };
        match next {
            Some(value) => done = begin(value, seed, &mut open),
            None => {
                done = match open.pop() {
                    Some(Rest::Array(_, sum)) => Some(seed.hash_one((b'[', sum))),
                    Some(Rest::Object(_, sum, _)) => Some(seed.hash_one((b'{', sum))),
                    None => None,
                }
            }
        }
    }
}

/// The digest of a scalar; opens a container.
fn begin<'a>(value: Value<'a, Valid>, seed: &RandomState, open: &mut Vec<Rest<'a>>) -> Option<u64> {
    Some(match value.view() {
        View::Null => seed.hash_one(b'n'),
        View::Bool(value) => seed.hash_one((b'b', value)),
        View::Int(value) => seed.hash_one((b'i', value)),
        View::Uint(value) => seed.hash_one((b'u', value)),
        View::Float(value) => seed.hash_one((b'd', value.to_bits())),
        View::NumberText(text) => seed.hash_one((b'#', text)),
        View::String(text) => seed.hash_one((b's', text)),
        View::Bytes(bytes) => seed.hash_one((b'y', bytes)),
        View::Extended(value) => seed.hash_one((b'x', value.to_string())),
        View::Array(array) => {
            open.push(Rest::Array(array.iter(), array.len() as u64));
            return None;
        }
        View::Object(object) => {
            open.push(Rest::Object(object.iter(), object.len() as u64, 0));
            return None;
        }
        _ => seed.hash_one(b'?'),
    })
}

/// About how many bytes a value takes as JSON text, and no more than a little above `most`: then
/// it stops. So it visits at most `most` values.
pub(crate) fn text_size(value: Value<'_, Valid>, most: u64) -> u64 {
    enum Rest<'a> {
        Array(ArrayIter<'a, Valid>),
        Object(Fields<'a, Valid>),
    }
    let (mut size, mut open, mut next) = (0u64, Vec::new(), Some(value));
    loop {
        if let Some(value) = next.take() {
            size += match value.view() {
                View::Null | View::Bool(_) => 5,
                View::Int(value) => {
                    2 + u64::from(value.unsigned_abs().checked_ilog10().unwrap_or(0))
                }
                View::Uint(_) | View::Float(_) => 18,
                View::NumberText(text) => text.len() as u64,
                View::String(text) => 2 + text.len() as u64,
                View::Bytes(bytes) => 2 + bytes.len() as u64 / 3 * 4,
                View::Array(array) => {
                    open.push(Rest::Array(array.iter()));
                    2 + array.len() as u64
                }
                View::Object(object) => {
                    open.push(Rest::Object(object.iter()));
                    2 + object.len() as u64
                }
                _ => 12,
            };
        }
        if size > most {
            return size;
        }
        next = match open.last_mut() {
            Some(Rest::Array(elements)) => elements.next(),
            Some(Rest::Object(members)) => members.next().map(|(key, value)| {
                size += 3 + key.len() as u64;
                value
            }),
            None => return size,
        };
        if next.is_none() {
            open.pop();
        }
    }
}
