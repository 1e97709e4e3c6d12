//! The walk: a query over a value, one match after the other.
//!
//! It goes down depth first, which gives RFC 9535's order of matches. Where it stands is a
//! stack of frames on the heap: neither deep documents nor long queries need a deep stack.
//! Filters evaluate recursively, as deep as the parser lets them nest.

use crate::budget::Budget;
use crate::compare::{Side, compare, length, text_of};
use crate::location::{Step, Trail};
use crate::scan::{Scan, value_of};
use crate::syntax::{Logical, Operand, Path, Pattern, Segment, Selector};
use livebuf::layout::MAX_NESTING;
use livebuf::{Array, ArrayIter, Error, ErrorKind, Fields, Mode, Result, Value};

/// A query that is under way.
pub(crate) struct QueryWalk<'q, 'd, M: Mode> {
    root: Value<'d, M>,
    segments: &'q [Segment],
    /// The value that it begins with, until it has begun.
    start: Option<Value<'d, M>>,
    frames: Vec<Frame<'q, 'd, M>>,
    /// The steps to where it stands: those to the last match.
    pub(crate) path: Trail<'q>,
}

enum Frame<'q, 'd, M: Mode> {
    Select(Select<'q, 'd, M>),
    Descend(Descend<'d, M>),
}

/// The selectors of a segment on one value.
struct Select<'q, 'd, M: Mode> {
    value: Value<'d, M>,
    /// Which segment, and which of its selectors is next.
    segment: usize,
    selector: usize,
    /// How many steps lead to the value.
    depth: usize,
    children: Children<'d, M>,
    scan: Option<Box<Scan<'q, 'd, M>>>,
}

/// A value and all below it, parents first.
struct Descend<'d, M: Mode> {
    segment: usize,
    depth: usize,
    levels: Vec<Children<'d, M>>,
}

/// Children that are still to come.
enum Children<'d, M: Mode> {
    None,
    Elements(ArrayIter<'d, M>, usize),
    Members(Fields<'d, M>),
    Slice { array: Array<'d, M>, next: i64, step: i64, left: u64 },
}

impl<'d, M: Mode> Children<'d, M> {
    fn of(value: Value<'d, M>) -> Result<Self> {
        if let Some(array) = M::result(value.as_array())? {
            return Ok(Children::Elements(array.iter(), 0));
        }
        Ok(match M::result(value.as_object())? {
            Some(object) => Children::Members(object.iter()),
            None => Children::None,
        })
    }

    /// RFC 9535, 2.3.4.2.2.
    fn slice(array: Array<'d, M>, start: Option<i64>, end: Option<i64>, step: i64) -> Self {
        let length = array.len() as i64;
        let normal = |index: i64| if index >= 0 { index } else { length + index };
        let (next, left) = if step > 0 {
            let lower = start.map_or(0, normal).clamp(0, length);
            let upper = end.map_or(length, normal).clamp(0, length);
            (lower, upper - lower)
        } else {
            let upper = start.map_or(length - 1, normal).clamp(-1, length - 1);
            let lower = end.map_or(-1, normal).clamp(-1, length - 1);
            (upper, upper - lower)
        };
        if step == 0 || left <= 0 {
            return Children::None;
        }
        let left = (left as u64).div_ceil(step.unsigned_abs());
        Children::Slice { array, next, step, left }
    }

    #[inline]
    fn next<'q>(&mut self) -> Result<Option<(Step<'q>, Value<'d, M>)>>
    where
        'd: 'q,
    {
        Ok(match self {
            Children::None => None,
            Children::Elements(elements, next) => match elements.next() {
                Some(element) => {
                    let index = *next;
                    *next += 1;
                    Some((Step::Index(index), M::item_result(element)?))
                }
                None => None,
            },
            Children::Members(members) => match members.next() {
                Some(member) => {
                    let (key, value) = M::item_result(member)?;
                    Some((Step::Key(key), value))
                }
                None => None,
            },
            Children::Slice { array, next, step, left } => {
                if *left == 0 {
                    return Ok(None);
                }
                *left -= 1;
                let index = *next as usize;
                *next = next.saturating_add(*step);
                M::result(array.get(index))?.map(|value| (Step::Index(index), value))
            }
        })
    }
}

impl<'q, 'd: 'q, M: Mode> QueryWalk<'q, 'd, M> {
    pub(crate) fn new(path: &'q Path, root: Value<'d, M>, current: Value<'d, M>) -> Self {
        let start = if path.absolute { root } else { current };
        let segments = &path.segments;
        QueryWalk { root, segments, start: Some(start), frames: Vec::new(), path: Trail::default() }
    }

    /// The next match.
    #[inline]
    pub(crate) fn next(&mut self, budget: &mut Budget) -> Result<Option<Value<'d, M>>> {
        // Most matches of a large table come from here.
        if let Some(Frame::Select(Select { scan: Some(scan), depth, .. })) = self.frames.last_mut()
            && scan.is_last
            && *depth < self.path.len()
            && let Some((row, value)) = scan.next_value(budget)?
        {
            // The names after it are those of the match before.
            self.path.set(*depth, Step::Index(row));
            return Ok(Some(value));
        }
        self.next_otherwise(budget)
    }

    #[inline(never)]
    fn next_otherwise(&mut self, budget: &mut Budget) -> Result<Option<Value<'d, M>>> {
        if let Some(start) = self.start.take()
            && let Some(found) = self.enter(start, 0, budget)?
        {
            return Ok(Some(found));
        }
        loop {
            let (child, segment) = match self.frames.last_mut() {
                None => return Ok(None),
                Some(Frame::Select(select)) => {
                    self.path.truncate(select.depth);
                    let root = self.root;
                    let next = select.next(self.segments, root, &mut self.path, budget)?;
                    let Some((child, segment)) = next else {
                        self.frames.pop();
                        continue;
                    };
                    (child, segment)
                }
                Some(Frame::Descend(descend)) => {
                    let segment = descend.segment;
                    let next = descend.next(&mut self.path, budget)?;
                    match next {
                        Some(value) => self.select(value, segment),
                        None => {
                            self.frames.pop();
                        }
                    }
                    continue;
                }
            };
            if let Some(found) = self.enter(child, segment, budget)? {
                return Ok(Some(found));
            }
        }
    }

    fn select(&mut self, value: Value<'d, M>, segment: usize) {
        let depth = self.path.len();
        let children = Children::None;
        self.frames.push(Frame::Select(Select {
            value,
            segment,
            selector: 0,
            depth,
            children,
            scan: None,
        }));
    }

    /// Goes on from a value with a segment: the match, where that was the last one. Names and
    /// indexes are followed at once.
    #[inline]
    fn enter(
        &mut self,
        mut value: Value<'d, M>,
        mut segment: usize,
        budget: &mut Budget,
    ) -> Result<Option<Value<'d, M>>> {
        loop {
            let Some(next) = self.segments.get(segment) else { return Ok(Some(value)) };
            if next.descendant {
                if !(value.is_object() || value.is_array()) {
                    return Ok(None);
                }
                let depth = self.path.len();
                let levels = vec![Children::of(value)?];
                self.frames.push(Frame::Descend(Descend { segment, depth, levels }));
                self.select(value, segment);
                return Ok(None);
            }
            let step = match &next.selectors[..] {
                [Selector::Name(name)] => Step::Key(name),
                [Selector::Index(index)] => match index_in(value, *index)? {
                    Some(index) => Step::Index(index),
                    None => return Ok(None),
                },
                _ => {
                    self.select(value, segment);
                    return Ok(None);
                }
            };
            budget.take(1)?;
            let Some(child) = child(value, step)? else { return Ok(None) };
            self.path.push(step);
            value = child;
            segment += 1;
        }
    }
}

impl<'q, 'd: 'q, M: Mode> Select<'q, 'd, M> {
    /// The next child that is selected, and the segment to go on with. Its steps are pushed.
    #[inline]
    fn next(
        &mut self,
        segments: &'q [Segment],
        root: Value<'d, M>,
        path: &mut Trail<'q>,
        budget: &mut Budget,
    ) -> Result<Option<(Value<'d, M>, usize)>> {
        let Some(segment) = segments.get(self.segment) else { return Ok(None) };
        loop {
            let begun = self.selector.checked_sub(1).and_then(|last| segment.selectors.get(last));
            if let Some(scan) = &mut self.scan {
                while let Some(row) = scan.next(budget)? {
                    if scan.doubtful
                        && let Some(Selector::Filter(filter)) = begun
                        && let Some(element) = M::result(scan.array.get(row))?
                        && !keeps(filter, root, element, budget)?
                    {
                        continue;
                    }
                    let Some(value) = value_of(scan, row)? else { continue };
                    path.push(Step::Index(row));
                    let behind = self.segment + 1 + scan.names;
                    for name in segments.get(self.segment + 1..behind).unwrap_or_default() {
                        if let [Selector::Name(name)] = &name.selectors[..] {
                            path.push(Step::Key(name));
                        }
                    }
                    return Ok(Some((value, behind)));
                }
                self.scan = None;
            }
            while let Some((step, value)) = self.children.next()? {
                budget.take(1)?;
                if let Some(Selector::Filter(filter)) = begun
                    && !keeps(filter, root, value, budget)?
                {
                    continue;
                }
                path.push(step);
                return Ok(Some((value, self.segment + 1)));
            }
            self.children = Children::None;
            let Some(selector) = segment.selectors.get(self.selector) else { return Ok(None) };
            self.selector += 1;
            budget.take(1)?;
            match selector {
                Selector::Name(name) => {
                    if let Some(value) = child(self.value, Step::Key(name))? {
                        path.push(Step::Key(name));
                        return Ok(Some((value, self.segment + 1)));
                    }
                }
                Selector::Index(index) => {
                    if let Some(index) = index_in(self.value, *index)?
                        && let Some(value) = child(self.value, Step::Index(index))?
                    {
                        path.push(Step::Index(index));
                        return Ok(Some((value, self.segment + 1)));
                    }
                }
                Selector::Slice { start, end, step } => {
                    if let Some(array) = M::result(self.value.as_array())? {
                        self.children = Children::slice(array, *start, *end, *step);
                    }
                }
                Selector::Wildcard | Selector::Filter(_) => {
                    if let Some(array) = M::result(self.value.as_array())? {
                        let behind = segments.get(self.segment + 1..).unwrap_or_default();
                        self.scan = Scan::new(array, selector, behind, budget)?.map(Box::new);
                        if self.scan.is_none() {
                            self.children = Children::Elements(array.iter(), 0);
                        }
                    } else {
                        self.children = Children::of(self.value)?;
                    }
                }
            }
        }
    }
}

impl<'d, M: Mode> Descend<'d, M> {
    /// The next container below, with its steps pushed. Values without children have nothing
    /// to select.
    fn next<'q>(
        &mut self,
        path: &mut Trail<'q>,
        budget: &mut Budget,
    ) -> Result<Option<Value<'d, M>>>
    where
        'd: 'q,
    {
        while let Some(children) = self.levels.last_mut() {
            match children.next()? {
                Some((step, value)) => {
                    budget.take(1)?;
                    if !(value.is_object() || value.is_array()) {
                        continue;
                    }
                    // Only damaged documents are deeper, or lead back to themselves.
                    if self.levels.len() > MAX_NESTING as usize {
                        let limit = MAX_NESTING as u64;
                        return Err(Error::with_detail(ErrorKind::NestingLimit, 0, limit));
                    }
                    path.truncate(self.depth + self.levels.len() - 1);
                    path.push(step);
                    self.levels.push(Children::of(value)?);
                    return Ok(Some(value));
                }
                None => {
                    self.levels.pop();
                }
            }
        }
        Ok(None)
    }
}

fn child<'d, M: Mode>(value: Value<'d, M>, step: Step<'_>) -> Result<Option<Value<'d, M>>> {
    M::result(match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}

/// An index of the query, which counts from the end where it is negative.
fn index_in<M: Mode>(value: Value<'_, M>, index: i64) -> Result<Option<usize>> {
    let Some(array) = M::result(value.as_array())? else { return Ok(None) };
    let length = array.len() as i64;
    let index = if index < 0 { length + index } else { index };
    Ok((0..length).contains(&index).then_some(index as usize))
}

// --- filters ----------------------------------------------------------------

/// Whether a filter keeps a value.
fn keeps<'q, 'd: 'q, M: Mode>(
    filter: &'q Logical,
    root: Value<'d, M>,
    current: Value<'d, M>,
    budget: &mut Budget,
) -> Result<bool> {
    budget.take(1)?;
    Ok(match filter {
        Logical::Any(any) => {
            for part in any {
                if keeps(part, root, current, budget)? {
                    return Ok(true);
                }
            }
            false
        }
        Logical::All(all) => {
            for part in all {
                if !keeps(part, root, current, budget)? {
                    return Ok(false);
                }
            }
            true
        }
        Logical::Not(inner) => !keeps(inner, root, current, budget)?,
        Logical::Exists(path) if path.singular => single(path, root, current, budget)?.is_some(),
        Logical::Exists(path) => QueryWalk::new(path, root, current).next(budget)?.is_some(),
        Logical::Compare(left, comparison, right) => {
            let left = side(left, root, current, budget)?;
            let right = side(right, root, current, budget)?;
            compare(&left, *comparison, &right, budget)?
        }
        Logical::Matches { text, pattern, whole } => {
            let text = side(text, root, current, budget)?;
            let Some(text) = text_of(&text)? else { return Ok(false) };
            budget.text(text.len())?;
            match pattern {
                Pattern::Fixed(None) => false,
                Pattern::Fixed(Some(regexp)) => budget.is_match(regexp, &text)?,
                Pattern::Computed(operand) => {
                    let pattern = side(operand, root, current, budget)?;
                    let Some(pattern) = text_of(&pattern)? else { return Ok(false) };
                    budget.is_computed_match(&pattern, *whole, &text)?
                }
            }
        }
    })
}

fn side<'q, 'd: 'q, M: Mode>(
    operand: &'q Operand,
    root: Value<'d, M>,
    current: Value<'d, M>,
    budget: &mut Budget,
) -> Result<Side<'q, 'd, M>> {
    let of = |value: Option<Value<'d, M>>| value.map_or(Side::Nothing, Side::Value);
    Ok(match operand {
        Operand::Singular(path) => of(single(path, root, current, budget)?),
        Operand::Length(inner) => {
            let inner = side(inner, root, current, budget)?;
            length(&inner, budget)?.map_or(Side::Nothing, Side::Count)
        }
        Operand::Count(path) => {
            let mut walk = QueryWalk::new(path, root, current);
            let mut count = 0;
            while walk.next(budget)?.is_some() {
                count += 1;
            }
            Side::Count(count)
        }
        Operand::Value(path) => {
            let mut walk = QueryWalk::new(path, root, current);
            let first = walk.next(budget)?;
            let more = first.is_some() && walk.next(budget)?.is_some();
            of(first.filter(|_| !more))
        }
        literal => Side::Literal(literal),
    })
}

/// The one value that a singular query leads to.
fn single<'d, M: Mode>(
    path: &Path,
    root: Value<'d, M>,
    current: Value<'d, M>,
    budget: &mut Budget,
) -> Result<Option<Value<'d, M>>> {
    let mut value = if path.absolute { root } else { current };
    for segment in &path.segments {
        budget.take(1)?;
        let step = match &segment.selectors[..] {
            [Selector::Name(name)] => Step::Key(name),
            [Selector::Index(index)] => match index_in(value, *index)? {
                Some(index) => Step::Index(index),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        match child(value, step)? {
            Some(child) => value = child,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}
