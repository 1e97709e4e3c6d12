//! Asking arrays and tables by column, in both modes.
//!
//! [`checked`] asks any bytes: answers may be errors, never panics or endless.
//! [`valid`] asks a validated document: columns must say what rows say.

use crate::tree::Tree;
use livebuf::{
    Checked, Codes, Column, ColumnType, Element, Extended, Key, Offsets, Pointer, Run, Scalar,
    Table, Valid, Value,
};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::RangeInclusive;

/// Structs and lists in each other that are followed: more than a valid document has.
const DEEPEST: usize = 20;

/// Calls `$body` for each type that a column can have, named `$type`.
macro_rules! each_type {
    ($type:ident => $body:expr) => {
        each_type!(@ $type $body; i8 i16 i32 i64 u8 u16 u32 u64 f32 f64)
    };
    (@ $name:ident $body:expr; $($type:ty)+) => {
        $({
            type $name = $type;
            $body
        })+
    };
}

// --- any bytes --------------------------------------------------------------

/// Asks a column of any bytes everything, within a budget of rows.
pub fn checked(column: Column<'_, Checked>, left: &mut usize) {
    checked_column(column, left, 0);
}

fn checked_column(column: Column<'_, Checked>, left: &mut usize, depth: usize) {
    let rows = column.len();
    if depth > DEEPEST || rows > *left {
        return;
    }
    *left -= rows;
    let _ = (column.is_empty(), column.is_complete(), column.validity(), column.fixed_length());
    let _ = format!("{column:?}");
    assert_eq!(column.iter().len(), rows, "an exact size");
    assert!(column.iter().count() <= rows, "the rows of a column do not end");
    assert_eq!(column.i64s().count(), rows);
    assert_eq!(column.f64s().count(), rows);
    assert_eq!(column.strs().count(), rows);
    for row in [0, rows / 2, rows.wrapping_sub(1), rows, usize::MAX] {
        let _ = column.get(row).map(|found| found.map(|value| value.kind()));
        let _ = column.bounds(row);
    }
    each_type!(T => {
        let slice = column.as_slice::<T>().or(column.slots::<T>());
        assert!(slice.is_none_or(|slice| slice.len() == rows), "a slice's length");
    });
    for wanted in [
        Scalar::Null,
        Scalar::Bool(true),
        Scalar::Int(1),
        Scalar::Uint(u64::MAX),
        Scalar::Float(0.5),
        Scalar::Str("a"),
        Scalar::Str("longer text"),
    ] {
        let row = column.find(wanted).ok().flatten();
        assert!(row.is_none_or(|row| row < rows), "a row that is not there");
    }
    assert!(column.filter_i64(-5..100).count() <= rows + 1, "a search does not end");
    assert!(column.filter_f64(-5.0, 1e9).count() <= rows + 1, "a search does not end");
    if let Ok(Some(dictionary)) = column.dictionary() {
        assert_eq!(codes(dictionary.codes()).count(), rows);
        assert!(dictionary.texts().iter().count() <= 1 << 29, "texts do not end");
    }
    if let Ok(Some(run)) = column.run() {
        assert_eq!(offsets(run, rows).len(), rows + 1);
        let _ = (run.bytes().len(), format!("{run:?}"));
    }
    if *left > rows {
        *left -= rows;
        let _ = column.counts().is_ok();
    }
    let part = column.slice(rows / 3..rows - rows / 3);
    assert!(part.len() <= rows && part.iter().count() <= part.len());
    if let Ok(Some(run)) = part.run() {
        assert_eq!(offsets(run, part.len()).len(), part.len() + 1);
    }
    if let Ok(Some(elements)) = column.elements() {
        checked_column(elements, left, depth + 1);
    }
    if let Ok(Some(table)) = column.table() {
        checked_table(table, left, depth + 1);
    }
}

/// The codes of rows.
fn codes(codes: Codes<'_>) -> impl Iterator<Item = usize> + '_ {
    let (narrow, wide) = match codes {
        Codes::U8(codes) => (codes, &[][..]),
        Codes::U16(codes) => (&[][..], codes),
    };
    narrow.iter().map(|&code| code.into()).chain(wide.iter().map(|&code| code.into()))
}

/// Where texts begin, and where the last one ends.
fn offsets(run: Run<'_>, rows: usize) -> Vec<usize> {
    match run.offsets() {
        Offsets::U8(offsets) => offsets.iter().map(|&at| at.into()).collect(),
        Offsets::U16(offsets) => offsets.iter().map(|&at| at.into()).collect(),
        Offsets::U32(offsets) => offsets.iter().map(|&at| at as usize).collect(),
        Offsets::Each(length) => (0..=rows).map(|row| row * length).collect(),
    }
}

fn checked_table(table: Table<'_, Checked>, left: &mut usize, depth: usize) {
    let _ = (table.has_further_fields(), format!("{table:?}"));
    for row in [0, table.rows() / 2, table.rows(), usize::MAX] {
        let _ = table.row(row).map(|object| object.map(|object| object.len()));
    }
    assert!(table.columns().count() <= table.width(), "columns do not end");
    for index in [0, table.width(), usize::MAX] {
        let _ = table.column(index).is_ok();
    }
    let _ = (table.column("a").is_ok(), table.column(&["a", "b"]).is_ok());
    let _ = (table.column(Pointer("/a/b")).is_ok(), table.column(Pointer("a")).is_ok());
    for (key, column) in table.columns().flatten() {
        let key = Key::new(key);
        for _ in 0..2 {
            let _ = table.column(&key).is_ok();
        }
        checked_column(column, left, depth);
    }
}

// --- validated documents ----------------------------------------------------

/// Asks a column of a validated document everything: `rows` are its values, `None` where
/// there is none.
///
/// # Panics
/// Where answers disagree.
pub fn valid(column: Column<'_, Valid>, rows: &[Option<&Tree>]) {
    whole(column, rows);
    // A part answers by its own rows.
    let (start, end) = (rows.len() / 3, rows.len() - rows.len() / 4);
    if start < end {
        let part = column.slice(start..end);
        answers(part, &rows[start..end]);
        if let Some(table) = part.table() {
            valid_table(table, &rows[start..end]);
        }
    }
    assert!(column.slice(rows.len()..).is_empty() && column.slice(usize::MAX..).is_empty());
}

fn whole(column: Column<'_, Valid>, rows: &[Option<&Tree>]) {
    answers(column, rows);
    if let Some(table) = column.table() {
        assert_eq!(column.column_type(), ColumnType::Struct);
        valid_table(table, rows);
    }
    let Some(elements) = column.elements() else {
        assert!(column.bounds(0).is_none() && column.fixed_length().is_none());
        return;
    };
    assert!(column.bounds(rows.len()).is_none());
    let mut values = vec![None; elements.len()];
    let mut covered = 0;
    for (row, tree) in rows.iter().enumerate() {
        let bounds = column.bounds(row).expect("a row");
        match tree {
            Some(Tree::Array(items)) => {
                assert_eq!(bounds.len(), items.len(), "row {row}");
                let length = column.fixed_length();
                assert!(length.is_none_or(|length| length == items.len()));
                covered += items.len();
                values[bounds].iter_mut().zip(items).for_each(|(place, item)| *place = Some(item));
            }
            _ => assert!(bounds.is_empty() || column.fixed_length() == Some(bounds.len())),
        }
    }
    if covered == elements.len() {
        return whole(elements, &values);
    }
    // Elements of other rows, or, of fixed lists, of rows without an array, which are no values.
    let arrays = (0..rows.len()).filter(|&row| matches!(rows[row], Some(Tree::Array(_))));
    for row in arrays.step_by(1 + rows.len() / 16) {
        let bounds = column.bounds(row).expect("a row");
        whole(elements.slice(bounds.clone()), &values[bounds]);
    }
}

fn valid_table(table: Table<'_, Valid>, rows: &[Option<&Tree>]) {
    assert_eq!(table.rows(), rows.len());
    assert_eq!(table.columns().count(), table.width());
    let step = 1 + rows.len() / 16;
    for (row, tree) in rows.iter().enumerate().step_by(step) {
        let object = table.row(row);
        match tree {
            Some(Tree::Object(members, _)) => {
                assert_eq!(object.expect("a row").len(), members.len(), "row {row}");
            }
            _ => assert!(object.is_none(), "row {row}"),
        }
    }
    assert!(table.row(rows.len()).is_none() && table.row(usize::MAX).is_none());
    let mut held = 0;
    for (index, (key, column)) in table.columns().enumerate() {
        let values: Vec<_> = rows.iter().map(|tree| field((*tree)?, key, index)).collect();
        held += values.iter().flatten().count();
        whole(column, &values);
        let remembered = Key::new(key);
        let pointer = crate::fresh::token(key);
        for found in [
            table.column(key),
            table.column(index),
            table.column(&[key]),
            table.column(&remembered),
            table.column(&remembered),
            table.column(Pointer(&pointer)),
        ] {
            assert!(found.is_some_and(|found| same_place(found, column)), "column {key}");
        }
        if let Some(inner) = column.table() {
            for (below, wanted) in inner.columns().take(3) {
                let pointer = format!("{pointer}{}", crate::fresh::token(below));
                for found in [table.column(&[key, below]), table.column(Pointer(&pointer))] {
                    assert!(found.is_some_and(|found| same_place(found, wanted)), "{pointer}");
                }
            }
        }
    }
    let all: usize = rows
        .iter()
        .map(|tree| match tree {
            Some(Tree::Object(members, _)) => members.len(),
            _ => 0,
        })
        .sum();
    assert!(held == all || table.has_further_fields() && held < all, "{held} of {all} fields");
}

/// A member, looked for first where it is if none before it is missing.
fn field<'t>(tree: &'t Tree, key: &str, index: usize) -> Option<&'t Tree> {
    let Tree::Object(members, _) = tree else { return None };
    let here = members.get(index).filter(|member| member.0 == key);
    here.or_else(|| members.iter().find(|member| member.0 == key)).map(|member| &member.1)
}

/// Whether two columns are the same one: the same values at the same places.
fn same_place(a: Column<'_, Valid>, b: Column<'_, Valid>) -> bool {
    let parts = |column: Column<'_, Valid>| {
        let values = column.iter().map(|value| value.map(|value| value.parts()));
        values.take(8).collect::<Vec<_>>()
    };
    (a.len(), a.column_type(), parts(a)) == (b.len(), b.column_type(), parts(b))
}

/// What a column says of its rows, but for what is in structs and lists.
fn answers(column: Column<'_, Valid>, rows: &[Option<&Tree>]) {
    assert_eq!((column.len(), column.is_empty()), (rows.len(), rows.is_empty()));
    assert!(column.get(rows.len()).is_none() && column.get(usize::MAX).is_none());
    let agrees = |value: Option<Value<'_, Valid>>, tree: &Option<&Tree>| match (value, tree) {
        (Some(value), Some(tree)) if tree.is_container() => {
            value.as_array().is_some() == matches!(tree, Tree::Array(_))
                && value.as_object().is_some() == matches!(tree, Tree::Object(..))
        }
        (Some(value), Some(tree)) => Tree::of_valid(value) == **tree,
        (value, tree) => value.is_none() && tree.is_none(),
    };
    assert_eq!(column.iter().len(), rows.len(), "an exact size");
    assert!(column.iter().zip(rows).all(|(value, tree)| agrees(value, tree)), "rows in turn");
    for row in (0..rows.len()).step_by(1 + rows.len() / 16) {
        assert!(agrees(column.get(row), &rows[row]), "row {row}");
    }
    let present = |tree: &Option<&Tree>| tree.is_some_and(|tree| *tree != Tree::Null);
    if column.is_complete() {
        assert!(rows.iter().all(present), "complete columns have all values");
    }
    if let Some((bits, first)) = column.validity() {
        for (row, tree) in rows.iter().enumerate() {
            let at = first + row;
            assert_eq!(bits[at / 8] >> (at % 8) & 1 == 1, present(tree), "the bit of row {row}");
        }
    }
    each_type!(T => {
        let slots = column.slots::<T>();
        if let Some(slots) = slots {
            assert_eq!(slots.len(), rows.len());
            for (&slot, tree) in slots.iter().zip(rows) {
                let (slot, tree) = (slot.number(), tree.and_then(number));
                assert!(tree.is_none_or(|tree| tree.is_held_as(slot)), "a slot");
                assert!(tree.is_some() || slot == T::default().number(), "slots without a value");
            }
        }
        if let Some(slice) = column.as_slice::<T>() {
            assert!(rows.iter().all(present) && slots.is_some_and(|slots| std::ptr::eq(slots, slice)));
        }
    });
    typed(column.i64s(), rows, |tree| match *tree {
        Tree::Int(value) => Some(value),
        _ => None,
    });
    for (float, value) in column.f64s().zip(column.iter()) {
        let same = value.and_then(|value| value.as_f64());
        assert_eq!(float.map(f64::to_bits), same.map(f64::to_bits), "as a float");
    }
    typed(column.strs(), rows, |tree| match tree {
        Tree::String(text) => Some(text.as_str()),
        _ => None,
    });
    let text = |tree: &Option<&Tree>| match tree {
        Some(Tree::String(text)) => Some(text.clone()),
        _ => None,
    };
    let mut counts = BTreeMap::new();
    for text in rows.iter().filter_map(text) {
        *counts.entry(text).or_insert(0) += 1;
    }
    let found = column.counts().into_iter().map(|(text, count)| (text.to_owned(), count));
    assert_eq!(found.collect::<BTreeMap<_, _>>(), counts, "counts of texts");
    if let Some(dictionary) = column.dictionary() {
        let texts: Vec<_> = dictionary.texts().strs().map(|text| text.expect("a text")).collect();
        for (code, tree) in codes(dictionary.codes()).zip(rows) {
            assert!(text(tree).map_or(code == 0, |text| texts[code] == text));
        }
    }
    match column.column_type() {
        // Only where the document's memory is aligned for the offsets.
        ColumnType::TextRun => {}
        _ => assert!(column.run().is_none()),
    }
    extended_slots(column, rows);
    if let Some(run) = column.run() {
        let fixed = matches!(run.offsets(), Offsets::Each(_));
        let offsets = offsets(run, rows.len());
        assert_eq!(offsets.len(), rows.len() + 1);
        for (row, (bounds, tree)) in offsets.windows(2).zip(rows).enumerate() {
            let found = str::from_utf8(&run.bytes()[bounds[0]..bounds[1]]);
            let found = found.expect("offsets lie between characters");
            match text(tree) {
                None if fixed => assert!(found.bytes().all(|byte| byte == 0), "row {row} has none"),
                text => assert_eq!(found, text.unwrap_or_default(), "the text of row {row}"),
            }
        }
    }
    searches(column, rows);
}

/// The slots of columns of dates, times and UUIDs, as they are stored: 0 where there is no value.
fn extended_slots(column: Column<'_, Valid>, rows: &[Option<&Tree>]) {
    let of = |tree: &Option<&Tree>| match tree {
        Some(Tree::Extended(value)) => Some(*value),
        _ => None,
    };
    if let Some(days) = column.days() {
        let expected = rows.iter().map(|tree| match of(tree) {
            Some(Extended::Date(date)) => date.days(),
            _ => 0,
        });
        assert!(days.iter().copied().eq(expected), "days");
    }
    if let Some(microseconds) = column.microseconds() {
        let expected = rows.iter().map(|tree| match of(tree) {
            Some(Extended::Time(time)) => time.microseconds(),
            Some(Extended::DateTime(time)) => time.microseconds(),
            Some(Extended::Timestamp(time)) => time.microseconds(),
            _ => 0,
        });
        assert!(microseconds.iter().copied().eq(expected), "microseconds");
    }
    assert_eq!(column.uuids().is_some(), column.column_type() == ColumnType::Uuid);
    if let Some(ids) = column.uuids() {
        let expected = rows.iter().map(|tree| match of(tree) {
            Some(Extended::Uuid(id)) => *id.as_bytes(),
            _ => [0; 16],
        });
        assert!(ids.iter().copied().eq(expected), "UUIDs");
    }
}

fn typed<'t, T: PartialEq + Debug>(
    values: impl ExactSizeIterator<Item = Option<T>>,
    rows: &[Option<&'t Tree>],
    of: impl Fn(&'t Tree) -> Option<T>,
) {
    assert_eq!(values.len(), rows.len(), "an exact size");
    for (row, (value, tree)) in values.zip(rows).enumerate() {
        assert_eq!(value, tree.and_then(&of), "row {row}");
    }
}

fn searches(column: Column<'_, Valid>, rows: &[Option<&Tree>]) {
    let first =
        |wanted: &dyn Fn(&Tree) -> bool| rows.iter().position(|tree| tree.is_some_and(wanted));
    for row in [0, rows.len() / 2, rows.len().wrapping_sub(1)] {
        let Some(Some(tree)) = rows.get(row) else { continue };
        let float = match tree {
            Tree::Float(bits) => f64::from_bits(*bits),
            _ => 0.0,
        };
        let equals = |other: &Tree| other == *tree;
        let found = match tree {
            Tree::Int(value) => (column.find(*value), first(&equals)),
            Tree::Uint(value) => (column.find(*value), first(&equals)),
            Tree::Bool(value) => (column.find(*value), first(&equals)),
            Tree::Null => (column.find(()), first(&equals)),
            Tree::String(text) => (column.find(text.as_str()), first(&equals)),
            Tree::Extended(value) => (column.find(*value), first(&equals)),
            Tree::Float(_) => {
                let by_value = |other: &Tree| matches!(*other, Tree::Float(bits) if f64::from_bits(bits) == float);
                (column.find(float), first(&by_value))
            }
            _ => continue,
        };
        assert_eq!(found.0, found.1, "the first {tree:?}");
        match **tree {
            Tree::Int(value) => {
                between(column, rows, value..=i64::MAX);
                between(column, rows, value.saturating_sub(20)..=value);
            }
            Tree::Float(_) => {
                let within = |tree: &Tree| match number(tree) {
                    Some(Number::Float(bits)) => (-1.0..=float).contains(&f64::from_bits(bits)),
                    // Exactly, also where no double is the integer.
                    Some(Number::Whole(value)) => value >= -1 && is_at_most(value, float),
                    None => false,
                };
                let found: Vec<_> = column.filter_f64(-1.0, float).collect();
                assert_eq!(found, those(rows, within), "from -1 to {float}");
            }
            _ => {}
        }
    }
    for (absent, wanted) in [(Scalar::Int(-77_777), Tree::Int(-77_777)), (Scalar::Null, Tree::Null)]
    {
        assert_eq!(column.find(absent), first(&|tree| *tree == wanted));
    }
}

/// Whether an integer is at most this float.
fn is_at_most(value: i128, float: f64) -> bool {
    let below = float.floor();
    !below.is_nan() && value <= below.clamp(-1e30, 1e30) as i128
}

fn between(column: Column<'_, Valid>, rows: &[Option<&Tree>], range: RangeInclusive<i64>) {
    let within = |tree: &Tree| matches!(tree, Tree::Int(value) if range.contains(value));
    let found: Vec<_> = column.filter_i64(range.clone()).collect();
    // Integers above the signed range are above every bound of it.
    assert_eq!(found, those(rows, within), "{range:?}");
}

fn those(rows: &[Option<&Tree>], wanted: impl Fn(&Tree) -> bool) -> Vec<usize> {
    (0..rows.len()).filter(|&row| rows[row].is_some_and(&wanted)).collect()
}

/// A number by its kind and bits.
#[derive(Clone, Copy, PartialEq)]
enum Number {
    Whole(i128),
    Float(u64),
}

impl Number {
    /// Whether a slot holds it: in columns of numbers integers are floats.
    fn is_held_as(self, slot: Number) -> bool {
        match (self, slot) {
            (Number::Whole(value), Number::Float(bits)) => (value as f64).to_bits() == bits,
            _ => self == slot,
        }
    }
}

fn number(tree: &Tree) -> Option<Number> {
    match *tree {
        Tree::Int(value) => Some(Number::Whole(value.into())),
        Tree::Uint(value) => Some(Number::Whole(value.into())),
        Tree::Float(bits) => Some(Number::Float(bits)),
        _ => None,
    }
}

trait Slot: Element + Default + PartialEq {
    fn number(self) -> Number;
}

macro_rules! slots {
    ($($type:ty => |$value:ident| $number:expr;)+) => {
        $(impl Slot for $type {
            fn number(self) -> Number {
                let $value = self;
                $number
            }
        })+
    };
}
slots! {
    i8 => |value| Number::Whole(value.into());
    i16 => |value| Number::Whole(value.into());
    i32 => |value| Number::Whole(value.into());
    i64 => |value| Number::Whole(value.into());
    u8 => |value| Number::Whole(value.into());
    u16 => |value| Number::Whole(value.into());
    u32 => |value| Number::Whole(value.into());
    u64 => |value| Number::Whole(value.into());
    f32 => |value| Number::Float(f64::from(value).to_bits());
    f64 => |value| Number::Float(value.to_bits());
}
