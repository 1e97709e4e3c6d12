//! How one array becomes another: which elements stay, change, go, come and move.
//!
//! Elements are told apart by numbers, the same for equal ones. If a number is shared, the elements
//! were compared, so digests that collide cannot give a wrong answer.

use crate::equal::{Rule, digest, same, text_size};
use foldhash::fast::RandomState;
use imara_diff::{Algorithm, Diff, Token};
use livebuf::raw::require_memory;
use livebuf::{Valid, Value};
use std::collections::HashMap;

/// What is done with elements, in the order of the new array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SequenceStep {
    /// This many elements stay.
    Keep(usize),
    /// An old element becomes a new one, at its place.
    Change(usize, usize),
    /// An old element goes.
    Remove(usize),
    /// A new element comes.
    Insert(usize),
    /// An old element is passed that moves to a later place.
    Pass(usize),
    /// An old element, passed or still to come, moves here.
    Move(usize),
}

/// An element is compared with at most this many others of the same digest. More would be objects
/// that differ in the order of their members only, or collisions.
const CANDIDATES: usize = 8;

/// Below this size of a value, in bytes of text, moving it does not pay where it could be
/// replaced as well.
const WORTH_MOVING: u64 = 24;

/// About how many bytes of memory the search takes for an element: its digest and number, and the
/// places in imara-diff's lists.
const ELEMENT: usize = 250;

/// Numbers for elements, the same for equal ones.
struct Numbers<'e, 'v> {
    seed: &'e RandomState,
    rule: Rule,
    /// By digest, the numbers of different elements.
    of: HashMap<u64, Vec<u32>, RandomState>,
    /// An element of each number; `None` of numbers that no other element gets.
    first: Vec<Option<Value<'v, Valid>>>,
}

impl<'v> Numbers<'_, 'v> {
    fn of(&mut self, element: Value<'v, Valid>) -> u32 {
        let candidates = self.of.entry(digest(element, self.seed)).or_default();
        for &number in candidates.iter() {
            if let Some(first) = self.first[number as usize]
                && same(first, element, self.rule)
            {
                return number;
            }
        }
        let number = self.first.len() as u32;
        if candidates.len() < CANDIDATES {
            candidates.push(number);
        }
        self.first.push(Some(element));
        number
    }

    fn unique(&mut self) -> u32 {
        self.first.push(None);
        self.first.len() as u32 - 1
    }
}

/// How the elements of `old` become those of `new`. Their ends were cut where they are equal.
///
/// Each element is visited a few times. The search for what stays is imara-diff's, whose
/// heuristics bound the work for arrays that have little in common.
pub(crate) fn steps<'v>(
    old: &[Value<'v, Valid>],
    new: &[Value<'v, Valid>],
    rule: Rule,
    seed: &RandomState,
) -> livebuf::Result<Vec<SequenceStep>> {
    let both = old.len() + new.len();
    require_memory(both * size_of::<SequenceStep>())?;
    if old.is_empty() {
        return Ok((0..new.len()).map(SequenceStep::Insert).collect());
    }
    if new.is_empty() {
        return Ok((0..old.len()).map(SequenceStep::Remove).collect());
    }
    if let ([_], [_]) = (old, new) {
        return Ok(vec![SequenceStep::Change(0, 0)]);
    }
    require_memory(both * ELEMENT)?;
    let mut numbers =
        Numbers { seed, rule, of: HashMap::with_hasher(seed.clone()), first: Vec::new() };
    let (before, after) = number(old, new, &mut numbers);
    let mut diff = Diff::default();
    let total = numbers.first.len() as u32;
    diff.compute_with(Algorithm::Histogram, &before, &after, total);
    let plan = plan(old, new, &before, &after, &diff);
    Ok(plan.steps())
}

/// Numbers for both arrays. Where most elements are equal to those at the same place, only the
/// others are digested.
fn number<'v>(
    old: &[Value<'v, Valid>],
    new: &[Value<'v, Valid>],
    numbers: &mut Numbers<'_, 'v>,
) -> (Vec<Token>, Vec<Token>) {
    let in_place: Vec<bool> = match old.len() == new.len() {
        true => old.iter().zip(new).map(|(&old, &new)| same(old, new, numbers.rule)).collect(),
        false => Vec::new(),
    };
    let equal = in_place.iter().filter(|&&equal| equal).count();
    if 2 * equal < old.len() {
        let mut all = |values: &[Value<'v, Valid>]| -> Vec<Token> {
            values.iter().map(|&value| Token(numbers.of(value))).collect()
        };
        return (all(old), all(new));
    }
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for ((&old, &new), equal) in old.iter().zip(new).zip(in_place) {
        let (one, two) = match equal {
            true => {
                let unique = numbers.unique();
                (unique, unique)
            }
            false => (numbers.of(old), numbers.of(new)),
        };
        before.push(Token(one));
        after.push(Token(two));
    }
    (before, after)
}

/// What becomes of each old and new element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It stays at its place in the order: the other array's element.
    Stays(usize),
    /// It is changed to, or from, the other array's element.
    Changes(usize),
    /// It moves to, or from, the other array's element.
    Moves(usize),
    /// It goes, or comes.
    Alone,
}

struct Plan {
    old: Vec<Fate>,
    new: Vec<Fate>,
}

fn plan(
    old: &[Value<'_, Valid>],
    new: &[Value<'_, Valid>],
    before: &[Token],
    after: &[Token],
    diff: &Diff,
) -> Plan {
    let mut plan = Plan { old: vec![Fate::Alone; old.len()], new: vec![Fate::Alone; new.len()] };
    let (mut i, mut j) = (0, 0);
    let mut hunks = Vec::new();
    let ends = [old.len()..old.len(), new.len()..new.len()];
    let found = diff.hunks().map(|hunk| {
        [hunk.before, hunk.after].map(|range| range.start as usize..range.end as usize)
    });
    for [removed, added] in found.chain([ends]) {
        while i < removed.start {
            plan.old[i] = Fate::Stays(j);
            plan.new[j] = Fate::Stays(i);
            (i, j) = (i + 1, j + 1);
        }
        (i, j) = (removed.end, added.end);
        hunks.push((removed, added));
    }
    // First the large ones that moved, then what changed at its place, then what else moved.
    let worth = |value: Value<'_, Valid>| text_size(value, WORTH_MOVING) >= WORTH_MOVING;
    plan.find_moves(before, after, |at| worth(new[at]));
    for (removed, added) in hunks {
        plan.pair(removed, added, old, new);
    }
    plan.find_moves(before, after, |_| true);
    plan
}

impl Plan {
    /// Finds new elements that equal old ones, of those that are still alone.
    fn find_moves(&mut self, before: &[Token], after: &[Token], is_wanted: impl Fn(usize) -> bool) {
        let alone = |fates: &[Fate]| -> Vec<usize> {
            (0..fates.len()).filter(|&at| fates[at] == Fate::Alone).collect()
        };
        let mut free: HashMap<u32, Vec<usize>> = HashMap::new();
        for at in alone(&self.old).into_iter().rev() {
            free.entry(before[at].0).or_default().push(at);
        }
        for at in alone(&self.new) {
            let Some(places) = free.get_mut(&after[at].0) else { continue };
            if is_wanted(at)
                && let Some(from) = places.pop()
            {
                self.old[from] = Fate::Moves(at);
                self.new[at] = Fate::Moves(from);
            }
        }
    }

    /// Pairs what is left alone of a hunk, in order: these elements changed.
    fn pair(
        &mut self,
        removed: std::ops::Range<usize>,
        added: std::ops::Range<usize>,
        old: &[Value<'_, Valid>],
        new: &[Value<'_, Valid>],
    ) {
        let removed: Vec<usize> = removed.filter(|&at| self.old[at] == Fate::Alone).collect();
        let added: Vec<usize> = added.filter(|&at| self.new[at] == Fate::Alone).collect();
        let count = removed.len().min(added.len());
        if count == 0 {
            return;
        }
        // The longer side may have more at the front or at the end.
        let (last, first) = (removed.len() - count, added.len() - count);
        let score = |i: usize, j: usize| alike(old[removed[i]], new[added[j]]);
        let at_end = removed.len() != added.len() && score(last, first) > score(0, 0);
        let (skip_old, skip_new) = if at_end { (last, first) } else { (0, 0) };
        for (&i, &j) in removed[skip_old..].iter().zip(&added[skip_new..]).take(count) {
            self.old[i] = Fate::Changes(j);
            self.new[j] = Fate::Changes(i);
        }
    }

    /// The steps in the order of the new array. Old elements that go are passed before those after
    /// them.
    fn steps(&self) -> Vec<SequenceStep> {
        let mut steps = Vec::new();
        let mut next = 0;
        let pass = |steps: &mut Vec<SequenceStep>, next: &mut usize, end: usize| {
            for at in *next..end {
                steps.push(match self.old[at] {
                    Fate::Moves(_) => SequenceStep::Pass(at),
                    _ => SequenceStep::Remove(at),
                });
            }
            *next = end;
        };
        for (at, &fate) in self.new.iter().enumerate() {
            match fate {
                Fate::Stays(from) => {
                    pass(&mut steps, &mut next, from);
                    next = from + 1;
                    match steps.last_mut() {
                        Some(SequenceStep::Keep(count)) => *count += 1,
                        _ => steps.push(SequenceStep::Keep(1)),
                    }
                }
                Fate::Changes(from) => {
                    pass(&mut steps, &mut next, from);
                    next = from + 1;
                    steps.push(SequenceStep::Change(from, at));
                }
                Fate::Moves(from) => steps.push(SequenceStep::Move(from)),
                Fate::Alone => steps.push(SequenceStep::Insert(at)),
            }
        }
        pass(&mut steps, &mut next, self.old.len());
        steps
    }
}

/// How much two values have in common at first sight.
fn alike(one: Value<'_, Valid>, two: Value<'_, Valid>) -> usize {
    /// Members or elements that are looked at.
    const MOST: usize = 16;
    if one.kind() != two.kind() {
        return 0;
    }
    if let (Some(one), Some(two)) = (one.as_object(), two.as_object()) {
        let equal = one
            .iter()
            .take(MOST)
            .filter(|&(key, value)| two.get(key).is_some_and(|other| scalar_equal(value, other)));
        return 1 + equal.count();
    }
    if let (Some(one), Some(two)) = (one.as_array(), two.as_array()) {
        let equal = one.iter().zip(two.iter()).take(MOST);
        return 1 + equal.filter(|&(one, two)| scalar_equal(one, two)).count();
    }
    1
}

fn scalar_equal(one: Value<'_, Valid>, two: Value<'_, Valid>) -> bool {
    let is_container = one.is_object() || one.is_array();
    !is_container && same(one, two, Rule::Kinds)
}

/// Where old elements are while the steps are done one after the other.
#[derive(Debug)]
pub(crate) struct Places {
    /// A Fenwick tree that counts the old elements that are still where they were.
    sums: Vec<u32>,
    /// Elements in front that are not listed.
    front: usize,
    /// The next old element.
    next: usize,
    /// Elements that came or moved here.
    placed: usize,
    /// For each passed element, how many of these are in front of it.
    passed: HashMap<usize, usize>,
}

impl Places {
    /// `count` elements, after `front` others.
    pub(crate) fn new(front: usize, count: usize) -> Places {
        let mut sums = vec![1; count + 1];
        sums[0] = 0;
        for at in 1..=count {
            let above = at + (at & at.wrapping_neg());
            if above <= count {
                sums[above] += sums[at];
            }
        }
        Places { sums, front, next: 0, placed: 0, passed: HashMap::new() }
    }

    fn standing_before(&self, index: usize) -> usize {
        let (mut at, mut sum) = (index, 0);
        while at > 0 {
            sum += self.sums[at] as usize;
            at &= at - 1;
        }
        sum
    }

    fn take(&mut self, index: usize) {
        let mut at = index + 1;
        while at < self.sums.len() {
            self.sums[at] -= 1;
            at += at & at.wrapping_neg();
        }
    }

    /// The index where the next step takes place.
    pub(crate) fn here(&self) -> usize {
        self.front + self.standing_before(self.next) + self.placed
    }

    /// Passes this many old elements.
    pub(crate) fn keep(&mut self, count: usize) {
        self.next += count;
    }

    /// Passes an old element that moves later.
    pub(crate) fn pass(&mut self, index: usize) {
        self.passed.insert(index, self.placed);
        self.next = index + 1;
    }

    /// Takes the next old element out.
    pub(crate) fn remove(&mut self, index: usize) {
        self.take(index);
        self.next = index + 1;
    }

    /// Puts a new element here.
    pub(crate) fn insert(&mut self) {
        self.placed += 1;
    }

    /// Moves an old element here: from which index, to which.
    pub(crate) fn move_here(&mut self, index: usize) -> (usize, usize) {
        let placed = self.passed.get(&index).copied().unwrap_or(self.placed);
        let from = self.front + self.standing_before(index) + placed;
        self.take(index);
        let to = self.here();
        self.placed += 1;
        (from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use livebuf::DocBuf;

    fn carry_out(old: &DocBuf, new: &DocBuf) -> Vec<i64> {
        let list = |doc: &DocBuf| -> Vec<i64> {
            let array = doc.valid().unwrap().root().as_array().unwrap();
            array.iter().map(|value| value.as_i64().unwrap()).collect()
        };
        fn values(doc: &DocBuf) -> Vec<livebuf::Value<'_, livebuf::Valid>> {
            doc.valid().unwrap().root().as_array().unwrap().iter().collect()
        }
        let steps =
            steps(&values(old), &values(new), Rule::Kinds, &RandomState::default()).unwrap();
        let (mut now, new) = (list(old), list(new));
        let mut places = Places::new(0, now.len());
        for step in steps {
            match step {
                SequenceStep::Keep(count) => places.keep(count),
                SequenceStep::Pass(at) => places.pass(at),
                SequenceStep::Change(_, to) => {
                    let here = places.here();
                    now[here] = new[to];
                    places.keep(1);
                }
                SequenceStep::Remove(at) => {
                    now.remove(places.here());
                    places.remove(at);
                }
                SequenceStep::Insert(to) => {
                    now.insert(places.here(), new[to]);
                    places.insert();
                }
                SequenceStep::Move(at) => {
                    let (from, to) = places.move_here(at);
                    let value = now.remove(from);
                    now.insert(to, value);
                }
            }
        }
        now
    }

    /// Any two lists of few different numbers, so that many stay, move and repeat.
    #[test]
    fn steps_lead_to_the_new_array() {
        let mut random = fastrand::Rng::with_seed(17);
        for round in 0..4_000 {
            let most = 1 + round % 40;
            let mut list = || -> Vec<i64> {
                let length = random.usize(0..=most);
                (0..length).map(|_| random.i64(0..12)).collect()
            };
            let (old, new) = (list(), list());
            let doc = |list: &[i64]| livebuf::to_doc(list).unwrap();
            assert_eq!(carry_out(&doc(&old), &doc(&new)), new, "{old:?}");
            // The same elements in another order.
            let mut shuffled = old.clone();
            fastrand::Rng::with_seed(round as u64).shuffle(&mut shuffled);
            assert_eq!(carry_out(&doc(&old), &doc(&shuffled)), shuffled, "{old:?}");
        }
    }
}
