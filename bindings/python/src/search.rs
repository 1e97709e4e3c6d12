//! Searching columns: the rows of a value, and of all values between two bounds.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use livebuf::{
    Checked, Codes, ColumnType, Date, DateTime, Decimal, Extended, Number, Time, Timestamp,
};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyString};

use crate::error::{self, Fault, Held};
use crate::extended::{self, Class, Read, Refused};

/// The date, time, decimal or UUID that is searched for, if it is one.
pub(crate) fn wanted(object: &Bound<'_, PyAny>) -> PyResult<Option<Extended>> {
    let read = || -> Result<Option<Extended>, Refused> {
        Ok(match Class::of(object)?.map(|class| class.read(object)).transpose()? {
            Some(Read::Value(value)) => Some(value),
            _ => None,
        })
    };
    read().map_err(|refused| refused.into_error(object.py()))
}

/// Values between two bounds, both included. Texts are ordered by their code points.
pub(crate) enum Between {
    Numbers(Bounding, Bounding),
    Texts(String, String),
    /// Dates, times, UUIDs.
    Others(Extended, Extended),
}

impl Between {
    pub(crate) fn of(low: &Bound<'_, PyAny>, high: &Bound<'_, PyAny>) -> PyResult<Between> {
        if let (Ok(low), Ok(high)) = (low.cast::<PyString>(), high.cast::<PyString>()) {
            return Ok(Between::Texts(low.extract()?, high.extract()?));
        }
        Ok(match (wanted(low)?, wanted(high)?) {
            (
                from @ (None | Some(Extended::Decimal(_))),
                to @ (None | Some(Extended::Decimal(_))),
            ) => Between::Numbers(
                Bounding::of(low, from, End::Low)?,
                Bounding::of(high, to, End::High)?,
            ),
            (Some(from), Some(to)) if extended::order(&from, &to).is_some() => {
                Between::Others(from, to)
            }
            _ => {
                let message = "the bounds must be of one kind: numbers, texts, dates, times, UUIDs, or \
                               datetimes that both have a time zone or both have none";
                return Err(error::wrong_type(low.py(), message.into()));
            }
        })
    }

    /// Whether a column with this least and greatest value may have a value between the bounds.
    pub(crate) fn meets(&self, span: &Span) -> bool {
        match (self, span) {
            // The bounds and the span may be rounded, but by less than the distance to the next float.
            (Between::Numbers(low, high), Span::Numbers(least, most)) => {
                !(*most < low.float.next_down() || *least > high.float.next_up())
            }
            (Between::Others(low, high), Span::Others(least, most)) => {
                !(extended::order(most, low).is_some_and(Ordering::is_lt)
                    || extended::order(least, high).is_some_and(Ordering::is_gt))
            }
            _ => true,
        }
    }

    /// The rows of a column that have such a value.
    pub(crate) fn rows(&self, column: &livebuf::Column<'_, Checked>) -> Held<Vec<usize>> {
        // For a vector that grows, and the one that it is copied to.
        livebuf::raw::require_memory(3 * size_of::<usize>() * column.len())?;
        Ok(match self {
            Between::Numbers(low, high) => rows_of_numbers(column, low, high)?,
            Between::Texts(low, high) => rows_of_texts(column, low, high)?,
            Between::Others(from, to) => {
                let (wanted, found) = (moment_name(from), moments_in(column.column_type()));
                if let (Some(wanted), Some(found)) = (wanted, found)
                    && wanted != found
                {
                    let message = format!("the column has {found}, and the bounds are {wanted}");
                    return Err(Fault::WrongType(message));
                }
                if let Some(rows) = Moments::of(column).and_then(|all| all.rows(from, to)) {
                    return Ok(rows);
                }
                rows_of(column, |value| {
                    extended::order(from, &value).is_some_and(|order| order.is_le())
                        && extended::order(&value, to).is_some_and(|order| order.is_le())
                })?
            }
        })
    }
}

/// The numbers of a column of dates or times that has one in each row.
struct Moments<'a> {
    kind: ColumnType,
    numbers: Stored<'a>,
}

enum Stored<'a> {
    Days(&'a [i32]),
    Microseconds(&'a [i64]),
}

impl<'a> Moments<'a> {
    fn of(column: &livebuf::Column<'a, Checked>) -> Option<Moments<'a>> {
        let days = column.days().map(Stored::Days);
        let numbers = days.or_else(|| column.microseconds().map(Stored::Microseconds))?;
        column.is_complete().then(|| Moments { kind: column.column_type(), numbers })
    }

    /// A number of the column, unless the document is damaged.
    fn value(&self, number: i64) -> Option<Extended> {
        match self.kind {
            ColumnType::Date => Date::from_days(number.try_into().ok()?).map(Extended::from),
            ColumnType::DateTime => DateTime::from_microseconds(number).map(Extended::from),
            ColumnType::Time => Time::from_microseconds(number).map(Extended::from),
            _ => Timestamp::from_microseconds(number).map(Extended::from),
        }
    }

    /// The number that a value has in the column, if it is of its kind.
    fn number(&self, value: &Extended) -> Option<i64> {
        match (self.kind, value) {
            (ColumnType::Date, Extended::Date(date)) => Some(date.days().into()),
            (ColumnType::DateTime, Extended::DateTime(moment)) => Some(moment.microseconds()),
            (ColumnType::Time, Extended::Time(time)) => Some(time.microseconds()),
            (ColumnType::Timestamp, Extended::Timestamp(moment)) => Some(moment.microseconds()),
            _ => None,
        }
    }

    fn span(&self) -> Option<Span> {
        fn wider((least, most): (i64, i64), number: i64) -> (i64, i64) {
            (least.min(number), most.max(number))
        }
        let ends = (i64::MAX, i64::MIN);
        let (least, most) = match self.numbers {
            Stored::Days(days) => days.iter().map(|&day| day.into()).fold(ends, wider),
            Stored::Microseconds(times) => times.iter().copied().fold(ends, wider),
        };
        // Without numbers, `least` is beyond every moment.
        Some(Span::Others(self.value(least)?, self.value(most)?))
    }

    /// The rows with a value from one to another. `None` if these are of another kind.
    fn rows(&self, from: &Extended, to: &Extended) -> Option<Vec<usize>> {
        let wanted = self.number(from)?..=self.number(to)?;
        Some(match self.numbers {
            Stored::Days(days) => within(days.iter().map(|&day| day.into()), &wanted),
            Stored::Microseconds(times) => within(times.iter().copied(), &wanted),
        })
    }
}

fn within(numbers: impl Iterator<Item = i64>, wanted: &RangeInclusive<i64>) -> Vec<usize> {
    numbers.enumerate().filter(|(_, number)| wanted.contains(number)).map(|(row, _)| row).collect()
}

const DATES: &str = "dates";
const DATE_TIMES: &str = "datetimes without a time zone";
const TIMESTAMPS: &str = "datetimes with a time zone";

/// What a bound is called, if it is of a kind that is easily taken for another.
fn moment_name(value: &Extended) -> Option<&'static str> {
    match value {
        Extended::Date(_) => Some(DATES),
        Extended::DateTime(_) => Some(DATE_TIMES),
        Extended::Timestamp(_) => Some(TIMESTAMPS),
        _ => None,
    }
}

/// The same of all values of a column.
fn moments_in(column: ColumnType) -> Option<&'static str> {
    match column {
        ColumnType::Date => Some(DATES),
        ColumnType::DateTime => Some(DATE_TIMES),
        ColumnType::Timestamp => Some(TIMESTAMPS),
        _ => None,
    }
}

/// The least and the greatest value of a column. They tell that a column has no value between two
/// bounds without a look at it.
pub(crate) enum Span {
    /// Integers as the nearest floats.
    Numbers(f64, f64),
    /// Dates, times, UUIDs.
    Others(Extended, Extended),
}

impl Span {
    /// `None` if the column has values of several kinds, or of a kind that is not ordered here.
    pub(crate) fn of(column: &livebuf::Column<'_, Checked>) -> livebuf::Result<Option<Span>> {
        use ColumnType::{F32, F64, I8, I16, I32, I64, U8, U16, U32};
        Ok(match column.column_type() {
            I8 | I16 | I32 | I64 | U8 | U16 | U32 | F32 | F64 => {
                let ends = (f64::INFINITY, f64::NEG_INFINITY);
                let wider =
                    |(least, most): (f64, f64), value: f64| (least.min(value), most.max(value));
                let (least, most) = column.f64s().flatten().fold(ends, wider);
                Some(Span::Numbers(least, most))
            }
            ColumnType::Date
            | ColumnType::DateTime
            | ColumnType::Time
            | ColumnType::Timestamp
            | ColumnType::Uuid => {
                if let Some(span) = Moments::of(column).and_then(|moments| moments.span()) {
                    return Ok(Some(span));
                }
                let mut ends: Option<(Extended, Extended)> = None;
                for value in column.iter() {
                    let Some(value) =
                        value?.map(|value| value.as_extended()).transpose()?.flatten()
                    else {
                        continue;
                    };
                    let (least, most) = ends.get_or_insert((value, value));
                    match (extended::order(&value, least), extended::order(&value, most)) {
                        (Some(Ordering::Less), _) => *least = value,
                        (_, Some(Ordering::Greater)) => *most = value,
                        (Some(_), Some(_)) => {}
                        _ => return Ok(None),
                    }
                }
                ends.map(|(least, most)| Span::Others(least, most))
            }
            _ => None,
        })
    }
}

/// The first row that keeps the same number as text.
pub(crate) fn find_number_text(
    column: &livebuf::Column<'_, Checked>,
    wanted: &str,
) -> livebuf::Result<Option<usize>> {
    // Other columns have no such values.
    if column.column_type() != ColumnType::Cells {
        return Ok(None);
    }
    for (row, value) in column.iter().enumerate() {
        if let Some(text) = value?.map(|value| value.as_number_text()).transpose()?.flatten()
            && Number::Text(text) == Number::Text(wanted)
        {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// A bound of a range of numbers, for each kind of number.
pub(crate) struct Bounding {
    /// The float in the range that is next to the bound.
    float: f64,
    /// The same for integers; beyond `i128`, its least or greatest.
    integer: i128,
    exact: Exact,
}

/// A bound as it was given.
enum Exact {
    Float(f64),
    Integer(i128),
    /// The digits of an integer beyond `i128`, or of a large float.
    Digits(String),
    Decimal(Decimal),
}

/// From here on, and below its negative, all floats are whole.
const WHOLE: f64 = (1u64 << 53) as f64;

/// Which end of a range a bound is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum End {
    Low,
    High,
}

impl End {
    /// The float in the range that is next to an integer; `nearest` is the nearest of all.
    fn within(self, nearest: f64, order: Option<Ordering>) -> f64 {
        match (self, order) {
            (End::Low, Some(Ordering::Less)) => nearest.next_up(),
            (End::High, Some(Ordering::Greater)) => nearest.next_down(),
            _ => nearest,
        }
    }

    fn within_integer(self, integer: i128) -> f64 {
        let nearest = integer as f64;
        self.within(nearest, Number::Float(nearest).partial_cmp(&Number::Int(integer)))
    }
}

impl Bounding {
    pub(crate) fn of(
        object: &Bound<'_, PyAny>,
        decimal: Option<Extended>,
        end: End,
    ) -> PyResult<Bounding> {
        if let Some(Extended::Decimal(decimal)) = decimal {
            return Ok(Bounding::of_decimal(object.extract()?, decimal, end));
        }
        match object.call_method0("__index__") {
            Ok(whole) => Bounding::of_integer(&whole, end),
            Err(_) => Ok(Bounding::of_float(object.extract()?, end)),
        }
    }

    fn of_float(float: f64, end: End) -> Bounding {
        let integer = match end {
            End::Low => float.ceil() as i128,
            End::High => float.floor() as i128,
        };
        let exact = match float.is_finite() && float.abs() >= WHOLE {
            true => Exact::Digits(format!("{float:.0}")),
            false => Exact::Float(float),
        };
        Bounding { float, integer, exact }
    }

    fn of_integer(whole: &Bound<'_, PyAny>, end: End) -> PyResult<Bounding> {
        if let Ok(integer) = whole.extract::<i128>() {
            let (float, exact) = (end.within_integer(integer), Exact::Integer(integer));
            return Ok(Bounding { float, integer, exact });
        }
        let is_negative = whole.lt(0)?;
        let (integer, infinity) = match is_negative {
            true => (i128::MIN, f64::NEG_INFINITY),
            false => (i128::MAX, f64::INFINITY),
        };
        let nearest = whole.extract::<f64>().unwrap_or(infinity);
        // Python compares these exactly.
        let order = PyFloat::new(whole.py(), nearest).compare(whole)?;
        let exact = match whole.str() {
            Ok(digits) => Exact::Digits(digits.to_str()?.to_owned()),
            // Longer than `sys.set_int_max_str_digits` allows.
            Err(_) => Exact::Float(infinity),
        };
        Ok(Bounding { float: end.within(nearest, Some(order)), integer, exact })
    }

    /// Floats are compared with a decimal as a float.
    fn of_decimal(nearest: f64, decimal: Decimal, end: End) -> Bounding {
        let one = 10i128.pow(decimal.scale().into());
        let coefficient = decimal.coefficient();
        let integer = match end {
            End::Low => -(-coefficient).div_euclid(one),
            End::High => coefficient.div_euclid(one),
        };
        let float = match nearest.abs() < WHOLE {
            true => nearest,
            false => end.within_integer(integer),
        };
        Bounding { float, integer, exact: Exact::Decimal(decimal) }
    }

    /// How a decimal compares with it; with a float, as a float.
    fn order(&self, value: Decimal) -> Option<Ordering> {
        let bound = match self.exact {
            Exact::Decimal(bound) => Some(bound),
            Exact::Integer(bound) => Decimal::new(bound, 0),
            Exact::Digits(_) | Exact::Float(_) => None,
        };
        match bound {
            Some(bound) => Some(extended::order_of_decimals(value, bound)),
            None => value.to_string().parse().ok().and_then(|f: f64| f.partial_cmp(&self.float)),
        }
    }

    /// How a number that is kept as text compares with it.
    fn order_of_text(&self, text: &str) -> Option<Ordering> {
        let bound = match &self.exact {
            Exact::Float(float) => Number::Float(*float),
            Exact::Integer(integer) => Number::Int(*integer),
            Exact::Digits(digits) => Number::Text(digits),
            Exact::Decimal(decimal) => Number::Decimal(*decimal),
        };
        Number::Text(text).partial_cmp(&bound)
    }
}

/// Whether a number lies between two bounds.
fn is_between(number: Number<'_>, low: &Bounding, high: &Bounding) -> bool {
    let between = |order: &dyn Fn(&Bounding) -> Option<Ordering>| {
        order(low).is_some_and(Ordering::is_ge) && order(high).is_some_and(Ordering::is_le)
    };
    match number {
        Number::Int(value) => (low.integer..=high.integer).contains(&value),
        Number::Float(value) => (low.float..=high.float).contains(&value),
        Number::Decimal(value) => between(&|bound| bound.order(value)),
        Number::Text(text) => between(&|bound| bound.order_of_text(text)),
    }
}

/// The rows whose number lies between two bounds.
fn rows_of_numbers(
    column: &livebuf::Column<'_, Checked>,
    low: &Bounding,
    high: &Bounding,
) -> livebuf::Result<Vec<usize>> {
    use ColumnType::{Cells, I8, I16, I32, I64, U8, U16, U32, U64};
    if low.float.is_nan() || high.float.is_nan() {
        return Ok(Vec::new());
    }
    match column.column_type() {
        Cells | ColumnType::Decimal => {
            let mut rows = Vec::new();
            for (row, value) in column.iter().enumerate() {
                if let Some(number) = value?.map(|value| Number::of(&value)).transpose()?.flatten()
                    && is_between(number, low, high)
                {
                    rows.push(row);
                }
            }
            Ok(rows)
        }
        kind @ (I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64) => {
            if let Some(range) = range_of_i64(low.integer, high.integer, kind == U64) {
                return column.filter_i64(range).collect();
            }
            // These bounds are rounded, and let more pass.
            let (least, most) = (low.integer as f64, high.integer as f64);
            let mut rows = Vec::new();
            for row in column.filter_f64(least.next_down(), most.next_up()) {
                let row = row?;
                if let Some(value) = column.get(row)?
                    && let Some(number) = Number::of(&value)?
                    && is_between(number, low, high)
                {
                    rows.push(row);
                }
            }
            Ok(rows)
        }
        // Other columns have no integers but those that are floats, too.
        _ => column.filter_f64(low.float, high.float).collect(),
    }
}

/// The range of integers for a search that takes `i64`. `None` where it has no such bounds.
fn range_of_i64(low: i128, high: i128, is_u64: bool) -> Option<(End64, End64)> {
    let greatest = if is_u64 { u64::MAX.into() } else { i128::from(i64::MAX) };
    let low = match i64::try_from(low) {
        Ok(low) => End64::Included(low),
        Err(_) if low < 0 => End64::Unbounded,
        Err(_) => return None,
    };
    let high = match i64::try_from(high) {
        Ok(high) => End64::Included(high),
        Err(_) if high >= greatest => End64::Unbounded,
        Err(_) => return None,
    };
    Some((low, high))
}

type End64 = std::ops::Bound<i64>;

/// The rows whose text lies between two, by code points.
fn rows_of_texts(
    column: &livebuf::Column<'_, Checked>,
    low: &str,
    high: &str,
) -> livebuf::Result<Vec<usize>> {
    let mut rows = Vec::new();
    // Each text of a dictionary is compared once.
    if let Some(dictionary) = column.dictionary()? {
        let texts: Vec<bool> = dictionary
            .texts()
            .strs()
            .map(|text| text.is_some_and(|text| (low..=high).contains(&text)))
            .collect();
        let mut add = |row: usize, code: usize| {
            if texts.get(code).is_some_and(|&is_between| is_between) {
                rows.push(row);
            }
        };
        match dictionary.codes() {
            Codes::U8(codes) => {
                codes.iter().enumerate().for_each(|(row, &code)| add(row, code.into()));
            }
            Codes::U16(codes) => {
                codes.iter().enumerate().for_each(|(row, &code)| add(row, code.into()));
            }
        }
        if column.is_complete() {
            return Ok(rows);
        }
        // A slot without a value has code 0.
        let mut there = Vec::with_capacity(rows.len());
        for row in rows {
            if column.get(row)?.is_some_and(|value| !value.is_null()) {
                there.push(row);
            }
        }
        return Ok(there);
    }
    for (row, text) in column.strs().enumerate() {
        if text.is_some_and(|text| (low..=high).contains(&text)) {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The rows whose value is one of these.
fn rows_of(
    column: &livebuf::Column<'_, Checked>,
    is_wanted: impl Fn(Extended) -> bool,
) -> livebuf::Result<Vec<usize>> {
    let mut rows = Vec::new();
    for (row, value) in column.iter().enumerate() {
        if let Some(value) = value?
            && let Some(value) = value.as_extended()?
            && is_wanted(value)
        {
            rows.push(row);
        }
    }
    Ok(rows)
}
