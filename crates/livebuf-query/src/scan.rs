//! Column scans: the rows of a table that a filter may keep, and columns for the names after it.
//!
//! A comparison of one field with a literal reads that field's column, not rows. Where the
//! column holds numbers of one type, 64 rows are compared at once.

use crate::budget::Budget;
use crate::compare::{Side, compare};
use crate::syntax::{Comparison, Logical, Operand, Path, Segment, Selector};
use livebuf::{Array, Column, ColumnType, Error, Mode, Number, Result, Table, Value};
use std::ops::Bound;

/// Rows of a table, rising.
pub(crate) struct Scan<'q, 'd, M: Mode> {
    pub(crate) array: Array<'d, M>,
    rows: Rows<'q, 'd, M>,
    /// Whether the filter must still be asked for each row.
    pub(crate) doubtful: bool,
    /// The column that the names after the selector lead to.
    pub(crate) column: Option<Column<'d, M>>,
    /// How many segments those names are.
    pub(crate) names: usize,
    /// Whether its values are matches: no segment follows the names, and no row is doubtful.
    pub(crate) is_last: bool,
    /// Rows of one batch with their values, and how many of them were given.
    gathered: Vec<(usize, Value<'d, M>)>,
    given: usize,
}

enum Rows<'q, 'd, M: Mode> {
    All { next: usize, end: usize },
    Found(RowBatch<'d>),
    Compared { column: Column<'d, M>, next: usize, comparison: Comparison, literal: &'q Operand },
}

/// Rows that a filter of a column gives, up to 64 by one call: they lie in one mask of bits.
struct RowBatch<'d> {
    more: Box<dyn Batches + 'd>,
    rows: Vec<usize>,
    /// How many of these were taken.
    taken: usize,
    /// An error that comes after them.
    error: Option<Error>,
}

/// How many rows come by one call.
const BATCH: usize = 64;

impl<'d> RowBatch<'d> {
    fn new(more: impl Iterator<Item = Result<usize>> + 'd) -> Self {
        let rows = Vec::with_capacity(BATCH);
        RowBatch { more: Box::new(more), rows, taken: 0, error: None }
    }

    #[inline]
    fn next(&mut self, budget: &mut Budget) -> Result<Option<usize>> {
        if self.taken == self.rows.len() {
            self.fill(budget)?;
        }
        let row = self.rows.get(self.taken).copied();
        self.taken += 1;
        Ok(row)
    }

    #[inline(never)]
    fn fill(&mut self, budget: &mut Budget) -> Result<()> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.rows.clear();
        self.taken = 0;
        self.error = self.more.fill(&mut self.rows).err();
        budget.take(1 + self.rows.len() as u64)?;
        match self.error.take() {
            Some(error) if self.rows.is_empty() => Err(error),
            other => {
                self.error = other;
                Ok(())
            }
        }
    }
}

/// An iterator of rows whose type has no name.
trait Batches {
    /// Adds the next rows, at most [`BATCH`].
    fn fill(&mut self, rows: &mut Vec<usize>) -> Result<()>;
}

impl<I: Iterator<Item = Result<usize>>> Batches for I {
    fn fill(&mut self, rows: &mut Vec<usize>) -> Result<()> {
        for row in self.take(BATCH) {
            rows.push(row?);
        }
        Ok(())
    }
}

impl<'q, 'd, M: Mode> Scan<'q, 'd, M> {
    /// A scan for one selector and the segments after it; `None` if it is not faster than going
    /// through the elements.
    pub(crate) fn new(
        array: Array<'d, M>,
        selector: &'q Selector,
        behind: &'q [Segment],
        budget: &mut Budget,
    ) -> Result<Option<Self>> {
        let Some(table) = M::result(array.table())? else { return Ok(None) };
        let (rows, doubtful) = match selector {
            Selector::Wildcard => (None, false),
            Selector::Filter(filter) => match candidates(&table, filter, budget)? {
                Some(rows) => (Some(rows), !matches!(filter, Logical::Compare(..))),
                None => (None, true),
            },
            _ => return Ok(None),
        };
        let (column, names) = column_behind(&table, behind)?;
        if rows.is_none() && column.is_none() {
            return Ok(None);
        }
        let rows = rows.unwrap_or(Rows::All { next: 0, end: array.len() });
        let is_last = names == behind.len() && !doubtful;
        Ok(Some(Scan {
            array,
            rows,
            doubtful,
            column,
            names,
            is_last,
            gathered: Vec::new(),
            given: 0,
        }))
    }

    /// The next row that has a value, where nothing is doubtful.
    #[inline]
    pub(crate) fn next_value(
        &mut self,
        budget: &mut Budget,
    ) -> Result<Option<(usize, Value<'d, M>)>> {
        if self.given == self.gathered.len() {
            self.gather(budget)?;
        }
        let next = self.gathered.get(self.given).copied();
        self.given += 1;
        Ok(next)
    }

    /// Gathers the values of the next batch, at least one; none at the end. Rows that are not
    /// found by batches come one by one, as each may cost much.
    #[inline(never)]
    fn gather(&mut self, budget: &mut Budget) -> Result<()> {
        self.gathered.clear();
        self.given = 0;
        while self.gathered.is_empty() {
            let Rows::Found(found) = &mut self.rows else {
                let Some(row) = self.next(budget)? else { return Ok(()) };
                if let Some(value) = value_of(self, row)? {
                    self.gathered.push((row, value));
                }
                continue;
            };
            if found.taken >= found.rows.len() {
                found.fill(budget)?;
            }
            let rows = found.rows.get(found.taken..).unwrap_or_default();
            if rows.is_empty() {
                return Ok(());
            }
            self.gathered.reserve(rows.len());
            let mut failed = None;
            for &row in rows {
                let value = match &self.column {
                    Some(column) => M::result(column.get(row)),
                    None => M::result(self.array.get(row)),
                };
                match value {
                    Ok(Some(value)) => self.gathered.push((row, value)),
                    Ok(None) => {}
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            found.taken = found.rows.len();
            // It comes after the values before it.
            found.error = failed.or(found.error.take());
        }
        Ok(())
    }

    /// The next row.
    #[inline]
    pub(crate) fn next(&mut self, budget: &mut Budget) -> Result<Option<usize>> {
        match &mut self.rows {
            Rows::Found(rows) => rows.next(budget),
            Rows::All { next, end } => {
                budget.take(1)?;
                let row = *next;
                *next += 1;
                Ok((row < *end).then_some(row))
            }
            Rows::Compared { column, next, comparison, literal } => {
                while *next < column.len() {
                    budget.take(1)?;
                    let row = *next;
                    *next += 1;
                    let value = match M::result(column.get(row))? {
                        Some(value) => Side::Value(value),
                        None => Side::Nothing,
                    };
                    if compare(&value, *comparison, &Side::Literal(literal), budget)? {
                        return Ok(Some(row));
                    }
                }
                Ok(None)
            }
        }
    }
}

/// The column that a run of names leads to, as far as tables within tables go: the last column
/// and how many names it took.
fn column_behind<'d, M: Mode>(
    table: &Table<'d, M>,
    segments: &[Segment],
) -> Result<(Option<Column<'d, M>>, usize)> {
    let (mut table, mut column, mut names) = (Some(*table), None, 0);
    for segment in segments {
        let Segment { descendant: false, selectors } = segment else { break };
        let [Selector::Name(name)] = &selectors[..] else { break };
        let Some(within) = table else { break };
        let Some(found) = M::result(within.column(name.as_str()))? else { break };
        table = M::result(found.table())?;
        column = Some(found);
        names += 1;
    }
    Ok((column, names))
}

/// Rows among which are all those that a filter keeps.
fn candidates<'q, 'd, M: Mode>(
    table: &Table<'d, M>,
    filter: &'q Logical,
    budget: &mut Budget,
) -> Result<Option<Rows<'q, 'd, M>>> {
    match filter {
        Logical::All(all) => {
            for part in all {
                if let Some(rows) = candidates(table, part, budget)? {
                    return Ok(Some(rows));
                }
            }
            Ok(None)
        }
        Logical::Compare(Operand::Singular(path), comparison, literal) => {
            compared(table, path, *comparison, literal, budget)
        }
        Logical::Compare(literal, comparison, Operand::Singular(path)) => {
            compared(table, path, comparison.mirrored(), literal, budget)
        }
        _ => Ok(None),
    }
}

fn compared<'q, 'd, M: Mode>(
    table: &Table<'d, M>,
    path: &'q Path,
    comparison: Comparison,
    literal: &'q Operand,
    budget: &mut Budget,
) -> Result<Option<Rows<'q, 'd, M>>> {
    let is_literal =
        matches!(literal, Operand::Null | Operand::Bool(_) | Operand::Number(_) | Operand::Text(_));
    if path.absolute || path.segments.is_empty() || !is_literal {
        return Ok(None);
    }
    let (Some(column), names) = column_behind(table, &path.segments)? else { return Ok(None) };
    if names != path.segments.len() {
        return Ok(None);
    }
    if let Operand::Number(number) = literal
        && let Some(number) = number.number()
        && let Some(found) = ranged(&column, comparison, number)
    {
        budget.take(column.len() as u64 / 16)?;
        return Ok(Some(Rows::Found(found)));
    }
    Ok(Some(Rows::Compared { column, next: 0, comparison, literal }))
}

/// Rows of a column of numbers of one type that compare so with a number.
fn ranged<'d, M: Mode>(
    column: &Column<'d, M>,
    comparison: Comparison,
    number: Number<'_>,
) -> Option<RowBatch<'d>> {
    use ColumnType::*;
    /// Below this, a double holds each integer and the ones next to it.
    const EXACT: i64 = 1 << 53;
    let column_type = column.column_type();
    let whole = matches!(column_type, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64);
    if !whole && !matches!(column_type, F32 | F64) {
        return None;
    }
    let value = match number {
        Number::Int(value) if whole => {
            let value = i64::try_from(value).ok()?;
            let range = match comparison {
                Comparison::Equal => (Bound::Included(value), Bound::Included(value)),
                Comparison::Less => (Bound::Unbounded, Bound::Excluded(value)),
                Comparison::LessOrEqual => (Bound::Unbounded, Bound::Included(value)),
                Comparison::Greater => (Bound::Excluded(value), Bound::Unbounded),
                Comparison::GreaterOrEqual => (Bound::Included(value), Bound::Unbounded),
                // A row without a value is unequal to all.
                Comparison::Unequal => return None,
            };
            return Some(RowBatch::new(column.filter_i64(range).map(M::item_result)));
        }
        Number::Int(value) if value.unsigned_abs() < EXACT as u128 => value as f64,
        Number::Float(value) if !whole || value.abs() < EXACT as f64 => value,
        _ => return None,
    };
    let (low, high) = match comparison {
        Comparison::Equal => (value, value),
        Comparison::Less => (f64::NEG_INFINITY, value.next_down()),
        Comparison::LessOrEqual => (f64::NEG_INFINITY, value),
        Comparison::Greater => (value.next_up(), f64::INFINITY),
        Comparison::GreaterOrEqual => (value, f64::INFINITY),
        Comparison::Unequal => return None,
    };
    Some(RowBatch::new(column.filter_f64(low, high).map(M::item_result)))
}

/// The element of a row, or the value of the column in it.
#[inline]
pub(crate) fn value_of<'d, M: Mode>(
    scan: &Scan<'_, 'd, M>,
    row: usize,
) -> Result<Option<Value<'d, M>>> {
    match &scan.column {
        Some(column) => M::result(column.get(row)),
        None => M::result(scan.array.get(row)),
    }
}
