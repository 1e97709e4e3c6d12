//! What differs between two documents: as changes with their values, as a patch, and as a merge
//! patch. Nothing recurses: open containers are in a list.

use crate::equal::{Rule, digest, same, text_size};
use crate::error::{PatchError, PatchErrorKind, Result};
use crate::merge::{has_null, push_token};
use crate::patch::{Operation, Patch, valid};
use crate::sequence::{Places, SequenceStep, steps};
use foldhash::fast::RandomState;
use livebuf::raw::require_memory;
use livebuf::{Array, AsValue, DocBuf, Encoder, Fields, Object, Valid, Value};
use std::collections::HashMap;

/// Settings of [`diff`] and [`changes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Whether the order of an object's members counts. Where an order cannot be had by adding
    /// members at the end, the object is replaced.
    pub ordered: bool,
}

impl DiffOptions {
    /// The order of members does not count.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the order of members counts.
    pub fn ordered(mut self, ordered: bool) -> Self {
        self.ordered = ordered;
        self
    }
}

/// One difference of two documents, as [`changes`] finds it.
///
/// Changes follow each other: an index in a pointer counts the elements as they are when the
/// changes before were made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Change<'v> {
    /// The place.
    pub pointer: String,
    /// Where the value was, if it moved.
    pub from: Option<String>,
    /// The value that is replaced or removed, or that moves.
    pub old: Option<Value<'v, Valid>>,
    /// The value that is added, put in the old one's place, or that moves.
    pub new: Option<Value<'v, Valid>>,
}

impl<'v> Change<'v> {
    /// The operation that makes the change.
    pub fn operation(&self) -> Operation<'_> {
        let path = self.pointer.as_str();
        match (&self.from, self.old, self.new) {
            (Some(from), _, _) => Operation::Move { from, path },
            (None, None, Some(value)) => Operation::Add { path, value },
            (None, Some(_), Some(value)) => Operation::Replace { path, value },
            (None, _, None) => Operation::Remove { path },
        }
    }
}

/// The patch that makes one document the other.
///
/// Applied to a document that equals `one`, it gives the value of `two` exactly: kinds of numbers
/// count, so that 1 becomes 1.0 where it must, and floats by their bits. The order of members
/// does not count unless [`DiffOptions::ordered`] asks for it.
///
/// Arrays are compared as sequences. An element that changed is changed in place. Where replacing
/// a value takes less than half the bytes of its changes, it is replaced; the root, where that
/// takes less than a quarter. Values that moved within their array or object are moved.
///
/// Linear in both documents, beside the search in arrays that differ. That search is bounded by
/// heuristics, so that large arrays with little in common take no quadratic time.
///
/// # Errors
/// Damage. [`PatchErrorKind::Document`] where the patch passes the limits of documents: a
/// value nested 999 deep or more cannot be a value of a patch.
///
/// ```
/// use livebuf::json;
/// use livebuf_patch::{DiffOptions, diff};
///
/// let one = json!({"driver": "Ada", "laps": [88.4, 87.9], "lap": 2});
/// let two = json!({"driver": "Ada", "laps": [88.4, 87.9, 87.5], "lap": 3});
/// let patch = diff(&one, &two, &DiffOptions::new())?;
/// assert_eq!(
///     patch.to_json()?,
///     r#"[{"op":"add","path":"/laps/2","value":87.5},{"op":"replace","path":"/lap","value":3}]"#
/// );
/// let mut other = one.clone();
/// patch.apply(&mut other)?;
/// assert_eq!(other.get("lap")?.unwrap(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn diff<'a, 'b>(
    one: impl AsValue<'a>,
    two: impl AsValue<'b>,
    options: &DiffOptions,
) -> Result<Patch> {
    let (one, two) = (valid(one)?, valid(two)?);
    let found = find(one, two, options, true)?;
    let patch = Patch::write(found.iter().map(Change::operation))?;
    if options.ordered && !keeps_order(one, two, &patch)? {
        let all = Operation::Replace { path: "", value: two };
        return Patch::write([all].into_iter());
    }
    Ok(patch)
}

/// Whether a patch gives the other value with its order. Rows of tables take the order of their
/// table, whatever order a new row has. So only trying tells: as edits lay documents out, and as
/// encoders do.
fn keeps_order(one: Value<'_, Valid>, two: Value<'_, Valid>, patch: &Patch) -> Result<bool> {
    for encoded in [false, true] {
        let mut copy = DocBuf::new()?;
        copy.set_root(one)?;
        if encoded {
            copy.compact()?;
        }
        patch.apply(&mut copy)?;
        if !same(copy.valid()?.root(), two, Rule::Ordered) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The differences of two documents, each with its old and new value, for people to read. As
/// [`diff`] finds them, but each by itself: nothing is replaced to make them fewer.
///
/// # Errors
/// Damage.
///
/// ```
/// use livebuf::json;
/// use livebuf_patch::{DiffOptions, changes};
///
/// let (one, two) = (json!({"lap": 55, "note": "pit"}), json!({"lap": 56}));
/// let lines: Vec<String> = changes(&one, &two, &DiffOptions::new())?
///     .iter()
///     .map(|change| match (change.old, change.new) {
///         (Some(old), Some(new)) => format!("{} {old:?} -> {new:?}", change.pointer),
///         (Some(old), None) => format!("- {} {old:?}", change.pointer),
///         (_, new) => format!("+ {} {new:?}", change.pointer),
///     })
///     .collect();
/// assert_eq!(lines, ["/lap 55 -> 56", r#"- /note "pit""#]);
/// # Ok::<(), livebuf_patch::PatchError>(())
/// ```
pub fn changes<'v>(
    one: impl AsValue<'v>,
    two: impl AsValue<'v>,
    options: &DiffOptions,
) -> Result<Vec<Change<'v>>> {
    find(valid(one)?, valid(two)?, options, false)
}

/// Bytes of an operation in JSON text, without its pointers and its value.
const OPERATION: u64 = 30;

/// Two containers that are compared, and how far that is.
struct OpenPair<'v> {
    one: Value<'v, Valid>,
    two: Value<'v, Valid>,
    /// Bytes of the pointer that leads to them.
    pointer: usize,
    /// How many changes there were before, and their bytes.
    before: (usize, u64),
    /// Bytes that `two` has at least as text.
    least: u64,
    rest: Rest<'v>,
}

enum Rest<'v> {
    Object(Members<'v>),
    Array(Elements<'v>),
}

struct Members<'v> {
    one: Object<'v, Valid>,
    two: Object<'v, Valid>,
    rest: Fields<'v, Valid>,
    /// Where a member of `one` is expected in `two`: most objects have the same order.
    expected: Fields<'v, Valid>,
    /// Members of `one` that `two` lacks.
    removed: Vec<(&'v str, Value<'v, Valid>)>,
    common: usize,
}

struct Elements<'v> {
    one: Vec<Value<'v, Valid>>,
    two: Vec<Value<'v, Valid>>,
    places: Places,
    steps: std::vec::IntoIter<SequenceStep>,
}

/// What comes next in a pair of containers.
enum Next<'v> {
    /// A pair of children, at the pointer as it is now.
    Pair(Value<'v, Valid>, Value<'v, Valid>),
    Change(Change<'v>),
    Nothing,
    End,
}

struct DiffWalk<'v> {
    rule: Rule,
    seed: RandomState,
    pointer: String,
    changes: Vec<Change<'v>>,
    /// Bytes of the changes, as operations in JSON text.
    bytes: u64,
    /// The objects that just ended must be replaced, because their order differs.
    replaces: bool,
    /// A small patch is wanted, not all differences.
    is_patch: bool,
    /// Memory that was refused ends the walk.
    refused: livebuf::Result<()>,
}

fn find<'v>(
    one: Value<'v, Valid>,
    two: Value<'v, Valid>,
    options: &DiffOptions,
    is_patch: bool,
) -> Result<Vec<Change<'v>>> {
    let rule = if options.ordered { Rule::Ordered } else { Rule::Kinds };
    let mut walk = DiffWalk {
        rule,
        seed: RandomState::default(),
        pointer: String::new(),
        changes: Vec::new(),
        bytes: 0,
        replaces: false,
        is_patch,
        refused: Ok(()),
    };
    let mut open = Vec::new();
    open.extend(walk.pair(one, two));
    while let (Some(top), Ok(())) = (open.last_mut(), walk.refused) {
        walk.pointer.truncate(top.pointer);
        let next = match &mut top.rest {
            Rest::Object(members) => walk.next_member(members),
            Rest::Array(elements) => walk.next_element(elements),
        };
        match next {
            Next::Pair(one, two) => open.extend(walk.pair(one, two)),
            Next::Change(change) => walk.add(change),
            Next::Nothing => {}
            Next::End => {
                let Some(done) = open.pop() else { break };
                let least = walk.end(done);
                if let Some(around) = open.last_mut() {
                    around.least += least;
                }
            }
        }
    }
    walk.refused?;
    Ok(walk.changes)
}

/// Makes room for about as many more changes, and for their pointers.
fn room_for_more(changes: &mut Vec<Change<'_>>) -> livebuf::Result<()> {
    let more = changes.len().max(64);
    require_memory(more * (size_of::<Change<'_>>() + 64))?;
    changes.reserve_exact(more);
    Ok(())
}

impl<'v> DiffWalk<'v> {
    fn add(&mut self, change: Change<'v>) {
        self.bytes += OPERATION + change.pointer.len() as u64;
        self.bytes += match (&change.from, change.new) {
            (Some(from), _) => 10 + from.len() as u64,
            (None, Some(new)) => 9 + text_size(new, u64::MAX),
            (None, None) => 0,
        };
        // Its own pointer is short.
        if self.changes.len() == self.changes.capacity() {
            self.refused = self.refused.and(room_for_more(&mut self.changes));
        }
        if self.refused.is_ok() {
            self.changes.push(change);
        }
    }

    fn replace(&mut self, old: Value<'v, Valid>, new: Value<'v, Valid>) {
        let pointer = self.pointer.clone();
        self.add(Change { pointer, from: None, old: Some(old), new: Some(new) });
    }

    /// Compares the values at the pointer: two containers of one kind are opened.
    fn pair(&mut self, one: Value<'v, Valid>, two: Value<'v, Valid>) -> Option<OpenPair<'v>> {
        let rest = match (one.as_object(), two.as_object(), one.as_array(), two.as_array()) {
            (Some(one), Some(two), ..) => Rest::Object(Members {
                one,
                two,
                rest: one.iter(),
                expected: two.iter(),
                removed: Vec::new(),
                common: 0,
            }),
            (_, _, Some(old), Some(new)) if !fits(old, new) => {
                if !same(one, two, self.rule) {
                    self.replace(one, two);
                }
                return None;
            }
            (_, _, Some(one), Some(two)) => {
                let shorter = one.len().min(two.len());
                let equal =
                    |&(one, two): &(Value<'v, Valid>, Value<'v, Valid>)| same(one, two, self.rule);
                // One element each: compared below.
                let front = match (one.len(), two.len()) {
                    (1, 1) => 0,
                    _ => one.iter().zip(two.iter()).take_while(equal).count(),
                };
                if front == one.len() && front == two.len() {
                    return None;
                }
                let ends = one.iter().rev().zip(two.iter().rev()).take(shorter - front);
                let end = if shorter == 1 && front == 0 && one.len() == two.len() {
                    0
                } else {
                    ends.take_while(equal).count()
                };
                if let Err(refused) =
                    require_memory(2 * (one.len() + two.len()) * size_of::<Value<'_, Valid>>())
                {
                    self.refused = Err(refused);
                    return None;
                }
                let middle = |array: Array<'v, Valid>| -> Vec<Value<'v, Valid>> {
                    let count = array.len() - end;
                    (front..count).filter_map(|index| array.get(index)).collect()
                };
                let is_tensor = one.tensor().is_some();
                let (one, two) = (middle(one), middle(two));
                let steps = match is_tensor {
                    true => (0..one.len()).map(|at| SequenceStep::Change(at, at)).collect(),
                    false => match steps(&one, &two, self.rule, &self.seed) {
                        Ok(steps) => steps,
                        Err(refused) => {
                            self.refused = Err(refused);
                            return None;
                        }
                    },
                };
                let places = Places::new(front, one.len());
                Rest::Array(Elements { one, two, places, steps: steps.into_iter() })
            }
            _ => {
                if !same(one, two, self.rule) {
                    self.replace(one, two);
                }
                return None;
            }
        };
        let before = (self.changes.len(), self.bytes);
        Some(OpenPair { one, two, pointer: self.pointer.len(), before, least: 0, rest })
    }

    /// The end of two containers: if replacing the whole is a smaller patch, that is done
    /// instead. Returns how many bytes of text the new one has at least.
    fn end(&mut self, open: OpenPair<'v>) -> u64 {
        let OpenPair { one, two, pointer, before: (count, bytes), least, .. } = open;
        let spent = self.bytes - bytes;
        let whole = OPERATION + 9 + pointer as u64;
        if std::mem::take(&mut self.replaces) {
            self.changes.truncate(count);
            self.bytes = bytes;
            self.replace(one, two);
            return least;
        }
        if !self.is_patch || spent <= whole || least >= spent {
            return least;
        }
        // Counted into the containers around it, so that few of them need to look again.
        let size = text_size(two, spent.saturating_mul(4));
        // Small changes can be applied to other documents as well. That is worth some bytes, and
        // most where all of a document would be replaced.
        let worth = if pointer == 0 { 4 } else { 2 };
        if worth * (size + whole) < spent {
            self.changes.truncate(count);
            self.bytes = bytes;
            self.replace(one, two);
        }
        least.max(size)
    }

    fn next_member(&mut self, members: &mut Members<'v>) -> Next<'v> {
        if let Some((key, one)) = members.rest.next() {
            let two = match members.expected.next() {
                Some((same, value)) if same == key => Some(value),
                _ => members.two.get(key),
            };
            let Some(two) = two else {
                members.removed.push((key, one));
                return Next::Nothing;
            };
            members.common += 1;
            push_token(&mut self.pointer, key);
            return Next::Pair(one, two);
        }
        // The pointer is that of the objects again.
        self.end_members(members);
        Next::End
    }

    /// Members that only one of the objects has.
    fn end_members(&mut self, members: &mut Members<'v>) {
        let Members { one, two, ref removed, common, .. } = *members;
        let added: Vec<(&str, Value<'v, Valid>)> = match two.len() - common {
            0 => Vec::new(),
            _ => two.iter().filter(|&(key, _)| one.get(key).is_none()).collect(),
        };
        if self.rule == Rule::Ordered && !order_can_be_had(one, two, &added) {
            self.replaces = true;
            return;
        }
        let mut sources = self.sources(removed, &added);
        let mut stays = vec![false; removed.len()];
        for (&(key, new), source) in added.iter().zip(&mut sources) {
            let (mut from, mut old) = (None, None);
            if let Some(source) = source.take() {
                let (key, value) = removed[source];
                (from, old) = (Some(self.below(key)), Some(value));
                stays[source] = true;
            }
            self.add(Change { pointer: self.below(key), from, old, new: Some(new) });
        }
        for (&(key, old), _) in removed.iter().zip(stays).filter(|(_, stays)| !stays) {
            self.add(Change { pointer: self.below(key), from: None, old: Some(old), new: None });
        }
    }

    fn below(&self, key: &str) -> String {
        let mut pointer = self.pointer.clone();
        push_token(&mut pointer, key);
        pointer
    }

    /// For each added member, the removed one that has the same value and got another key.
    fn sources(
        &self,
        removed: &[(&str, Value<'v, Valid>)],
        added: &[(&str, Value<'v, Valid>)],
    ) -> Vec<Option<usize>> {
        let mut sources = vec![None; added.len()];
        if removed.is_empty() || added.is_empty() {
            return sources;
        }
        let mut by_digest: HashMap<u64, Vec<usize>> = HashMap::new();
        for (at, &(_, value)) in removed.iter().enumerate().rev() {
            if text_size(value, WORTH_RENAMING) >= WORTH_RENAMING {
                by_digest.entry(digest(value, &self.seed)).or_default().push(at);
            }
        }
        for (source, &(_, value)) in sources.iter_mut().zip(added) {
            let Some(places) = by_digest.get_mut(&digest(value, &self.seed)) else { continue };
            if let Some(&at) = places.last()
                && same(removed[at].1, value, self.rule)
            {
                *source = places.pop();
            }
        }
        sources
    }

    fn next_element(&mut self, elements: &mut Elements<'v>) -> Next<'v> {
        let Elements { ref one, ref two, ref mut places, ref mut steps } = *elements;
        let Some(step) = steps.next() else { return Next::End };
        let index = |pointer: &str, index: usize| format!("{pointer}/{index}");
        let mut change = Change { pointer: String::new(), from: None, old: None, new: None };
        match step {
            SequenceStep::Keep(count) => {
                places.keep(count);
                return Next::Nothing;
            }
            SequenceStep::Pass(at) => {
                places.pass(at);
                return Next::Nothing;
            }
            SequenceStep::Change(from, to) => {
                self.pointer = index(&self.pointer, places.here());
                places.keep(1);
                return Next::Pair(one[from], two[to]);
            }
            SequenceStep::Remove(at) => {
                change.pointer = index(&self.pointer, places.here());
                change.old = Some(one[at]);
                places.remove(at);
            }
            SequenceStep::Insert(at) => {
                change.pointer = index(&self.pointer, places.here());
                change.new = Some(two[at]);
                places.insert();
            }
            SequenceStep::Move(at) => {
                let (from, to) = places.move_here(at);
                if from == to {
                    return Next::Nothing;
                }
                change.pointer = index(&self.pointer, to);
                change.from = Some(index(&self.pointer, from));
                (change.old, change.new) = (Some(one[at]), Some(one[at]));
            }
        }
        Next::Change(change)
    }
}

/// Below this size of a value, as text, a member that got another key is removed and added.
const WORTH_RENAMING: u64 = 8;

/// Whether an object gets the order of another one when what is only there is added at the end.
fn order_can_be_had(
    one: Object<'_, Valid>,
    two: Object<'_, Valid>,
    added: &[(&str, Value<'_, Valid>)],
) -> bool {
    let stay = one.keys().filter(|&key| two.get(key).is_some());
    let then = stay.chain(added.iter().map(|&(key, _)| key));
    // A key that was there before comes back at its old place.
    let has_holes = one.places() != one.len();
    then.eq(two.keys()) && (added.is_empty() || !has_holes)
}

/// Whether an array becomes another one element by element: of tensors, if they have one type and
/// shape.
fn fits(one: Array<'_, Valid>, two: Array<'_, Valid>) -> bool {
    match (one.tensor(), two.tensor()) {
        (None, _) => true,
        (Some(one), Some(two)) => {
            one.shape() == two.shape() && one.column_type() == two.column_type()
        }
        (Some(_), None) => false,
    }
}

/// The merge patch (RFC 7396) that makes one document the other: a document for
/// [`merge`](crate::merge). Arrays that differ are replaced whole. Linear in both documents.
///
/// # Errors
/// [`PatchErrorKind::Unsupported`] with the place where a member is to be null: in a merge patch
/// null removes it. A [`diff`] can say it. Damage, and limits of documents.
///
/// ```
/// use livebuf::json;
/// use livebuf_patch::{PatchErrorKind, merge_diff};
///
/// let one = json!({"driver": {"name": "Ada", "car": 7}, "lap": 55});
/// let two = json!({"driver": {"name": "Ada"}, "lap": 56});
/// let patch = merge_diff(&one, &two)?;
/// assert_eq!(livebuf_json::to_string(&patch)?, r#"{"driver":{"car":null},"lap":56}"#);
///
/// let error = merge_diff(&one, &json!({"driver": null, "lap": 55})).unwrap_err();
/// assert_eq!((error.kind(), error.pointer()), (PatchErrorKind::Unsupported, "/driver"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn merge_diff<'a, 'b>(one: impl AsValue<'a>, two: impl AsValue<'b>) -> Result<DocBuf> {
    let (one, two) = (valid(one)?, valid(two)?);
    let (Some(one), Some(object)) = (one.as_object(), two.as_object()) else {
        if two.is_object() && has_null(two) {
            return Err(null_wanted(""));
        }
        let mut doc = DocBuf::new()?;
        doc.set_root(two)?;
        return Ok(doc);
    };
    let mut encoder = Encoder::new();
    encoder.begin_object()?;
    for event in merge_events(one, object)? {
        match event {
            Event::Begin(key) => {
                encoder.key(key)?;
                encoder.begin_object()?;
            }
            Event::End => encoder.end_object()?,
            Event::Remove(key) => {
                encoder.key(key)?;
                encoder.null()?;
            }
            Event::Set(key, value) => {
                encoder.key(key)?;
                encoder.value(&value)?;
            }
        }
    }
    encoder.end_object()?;
    Ok(encoder.finish()?)
}

/// A part of a merge patch.
enum Event<'v> {
    /// The object at this key has changes.
    Begin(&'v str),
    End,
    Remove(&'v str),
    Set(&'v str, Value<'v, Valid>),
}

/// Two objects of which the members are compared.
struct Pair<'v> {
    key: &'v str,
    one: Object<'v, Valid>,
    two: Object<'v, Valid>,
    rest: Fields<'v, Valid>,
    /// How many members of `one` are in `two`.
    common: usize,
    /// How many events there were before its own.
    before: usize,
}

impl<'v> Pair<'v> {
    fn new(key: &'v str, one: Object<'v, Valid>, two: Object<'v, Valid>, before: usize) -> Self {
        Pair { key, one, two, rest: one.iter(), common: 0, before }
    }
}

fn merge_events<'v>(one: Object<'v, Valid>, two: Object<'v, Valid>) -> Result<Vec<Event<'v>>> {
    let mut events = Vec::new();
    let mut open = vec![Pair::new("", one, two, 0)];
    room_for(&mut events, one, two)?;
    while let Some(pair) = open.last_mut() {
        let Some((key, one)) = pair.rest.next() else {
            let Pair { one, two, common, before, .. } = *pair;
            if common < two.len() {
                for (key, value) in two.iter().filter(|&(key, _)| one.get(key).is_none()) {
                    set(&mut events, &open, key, value)?;
                }
            }
            open.pop();
            if !open.is_empty() {
                // The first of its own is its beginning.
                match events.len() == before + 1 {
                    true => drop(events.pop()),
                    false => events.push(Event::End),
                }
            }
            continue;
        };
        let Some(two) = pair.two.get(key) else {
            events.push(Event::Remove(key));
            continue;
        };
        pair.common += 1;
        match (one.as_object(), two.as_object()) {
            (Some(one), Some(two)) => {
                room_for(&mut events, one, two)?;
                open.push(Pair::new(key, one, two, events.len()));
                events.push(Event::Begin(key));
            }
            _ if same(one, two, Rule::Kinds) => {}
            _ => set(&mut events, &open, key, two)?,
        }
    }
    Ok(events)
}

/// Makes room for what may be said of two objects, but for the objects in them.
fn room_for(
    events: &mut Vec<Event<'_>>,
    one: Object<'_, Valid>,
    two: Object<'_, Valid>,
) -> Result<()> {
    let more = one.len() + two.len() + 2;
    let bytes = more * size_of::<Event<'_>>();
    let refused = |_| livebuf::Error::out_of_memory(bytes as u64);
    Ok(events.try_reserve(more).map_err(refused)?)
}

/// Adds a value to a merge patch, if that can be said.
fn set<'v>(
    events: &mut Vec<Event<'v>>,
    open: &[Pair<'v>],
    key: &'v str,
    value: Value<'v, Valid>,
) -> Result<()> {
    if value.is_null() || has_null(value) {
        let mut pointer = String::new();
        for key in open.iter().skip(1).map(|pair| pair.key).chain([key]) {
            push_token(&mut pointer, key);
        }
        return Err(null_wanted(&pointer));
    }
    events.push(Event::Set(key, value));
    Ok(())
}

#[cold]
fn null_wanted(pointer: &str) -> PatchError {
    let message =
        "a member here is to be null, which removes it in a merge patch; make a patch by `diff`";
    PatchError::new(PatchErrorKind::Unsupported, message).at(pointer)
}
