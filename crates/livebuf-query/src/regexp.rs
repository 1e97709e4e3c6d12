//! I-Regexp (RFC 9485): checked, and translated to the crate `regex-automata`. Its automaton is made
//! as far as a text needs it, and each part of it that is made is paid for.

use crate::steps::Steps;
use livebuf::Result;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, State as Part, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input as Searched};
use std::sync::Arc;

/// Bytes that a compiled expression may take.
pub(crate) const SIZE_LIMIT: usize = 1 << 20;

/// Bytes that its text may have. Each takes some hundred while it is compiled.
const TEXT_LIMIT: usize = 1 << 16;

/// Bytes of an automaton that are kept for the next text. A large expression takes what one state
/// needs.
const CACHE: usize = 256 << 10;

/// Expressions that a search keeps, and bytes that all but the newest take together.
const KEPT: usize = 16;
const KEPT_BYTES: usize = 4 << 20;

/// Nested groups. The crate's own parser keeps to it.
const NESTING_LIMIT: u32 = 50;

/// Steps that a computed expression takes, beside those for its text and for its size.
const COMPILING: u64 = 1_000;

/// Steps for each byte of its text, and for each category of Unicode in it: a list of ranges.
const READ: u64 = 4;
const LISTED: u64 = 500;

/// Bytes of a compiled expression that are made in one step.
const COMPILED: u64 = 4;

/// Bytes of a state in these lists.
const STATE: usize = 56;

/// A compiled I-Regexp.
#[derive(Clone, Debug)]
pub(crate) struct Regexp {
    automaton: Arc<DFA>,
    whole: bool,
    /// Ways from part to part that take no byte.
    edges: u64,
    /// Most ranges of bytes that one part looks through.
    ranges: u64,
}

impl Regexp {
    /// `None` where the text is no I-Regexp, or a too large one. With it, how many bytes were made.
    pub(crate) fn new(pattern: &str, whole: bool) -> (Option<Regexp>, usize) {
        if pattern.len() > TEXT_LIMIT {
            return (None, 0);
        }
        let Some(translated) = translate(pattern) else { return (None, 0) };
        let text = if whole { format!(r"(?:{translated})\z") } else { translated };
        let thompson = thompson::Config::new()
            .nfa_size_limit(Some(SIZE_LIMIT))
            .which_captures(WhichCaptures::None);
        let config = DFA::config().cache_capacity(CACHE).skip_cache_capacity_check(true);
        let built = DFA::builder()
            .syntax(syntax::Config::new().nest_limit(NESTING_LIMIT))
            .thompson(thompson)
            .configure(config)
            .build(&text);
        let Ok(automaton) = built else { return (None, SIZE_LIMIT) };
        let (mut edges, mut ranges) = (0, 1);
        for part in automaton.get_nfa().states() {
            match part {
                Part::Union { alternates } => edges += alternates.len() as u64,
                Part::BinaryUnion { .. } => edges += 2,
                Part::Look { .. } | Part::Capture { .. } => edges += 1,
                Part::Sparse(sparse) => ranges = sparse.transitions.len().max(ranges),
                _ => {}
            }
        }
        let ranges = ranges as u64;
        let regexp = Regexp { automaton: Arc::new(automaton), whole, edges, ranges };
        let size = regexp.size();
        (Some(regexp), size)
    }

    /// Bytes that it takes.
    fn size(&self) -> usize {
        self.automaton.get_nfa().memory_usage()
    }

    /// Whether it is found in a text. A byte that leads where an earlier one of the search led
    /// costs next to nothing. For another one, the parts of the expression that the text may have
    /// reached are followed.
    fn is_match(&self, text: &str, made: &mut Made, steps: &mut Steps) -> Result<bool> {
        let automaton = &*self.automaton;
        let anchored = if self.whole { Anchored::Yes } else { Anchored::No };
        let input = Searched::new(text).anchored(anchored);
        // The automaton has no bytes at which it gives up, and no bound on its work.
        let start =
            made.more(self, steps, |cache| automaton.start_state_forward(cache, &input).ok())?;
        let Some(mut state) = start else { return Ok(false) };
        if state.is_tagged() {
            return Ok(state.is_match());
        }
        for &byte in text.as_bytes() {
            let mut next = automaton.next_state_untagged(&made.cache, state, byte);
            if next.is_tagged() {
                if next.is_unknown() {
                    steps.take(1 + self.edges / 4 + made.parts * (16 + self.ranges) / 64)?;
                    let new = made
                        .more(self, steps, |cache| automaton.next_state(cache, state, byte).ok())?;
                    let Some(new) = new else { return Ok(false) };
                    next = new;
                }
                if next.is_tagged() {
                    return Ok(next.is_match());
                }
            }
            state = next;
        }
        let end = made.more(self, steps, |cache| automaton.next_eoi_state(cache, state).ok())?;
        Ok(end.is_some_and(|end| end.is_match()))
    }
}

/// The part of an automaton that was made so far.
struct Made {
    cache: Cache,
    /// Bytes of the cache while it was empty.
    empty: usize,
    /// At least the most parts that a state has: each takes a byte or more.
    parts: u64,
}

impl Made {
    fn new(regexp: &Regexp) -> Made {
        let cache = regexp.automaton.create_cache();
        Made { empty: cache.memory_usage(), cache, parts: 0 }
    }

    /// Makes more of it, perhaps, and pays for that.
    fn more<T>(
        &mut self,
        regexp: &Regexp,
        steps: &mut Steps,
        make: impl FnOnce(&mut Cache) -> T,
    ) -> Result<T> {
        let before = self.cache.memory_usage();
        let made = make(&mut self.cache);
        let after = self.cache.memory_usage();
        if after != before {
            // If there is no more room, it begins again.
            let new = after - if after > before { before } else { self.empty };
            // A state has a row of the table, and is in two lists.
            let row = size_of::<u32>() << regexp.automaton.byte_classes().stride2();
            self.parts = self.parts.max(new.saturating_sub(row + STATE) as u64);
            steps.take(regexp.edges / 4 + new as u64 / 16)?;
        }
        Ok(made)
    }
}

/// The expressions that a search met last, the newest at the end. So each is compiled and followed
/// once, as far as there is room. They are new for each search: equal searches take equal steps.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "an entry moves each time that it is used, and is large")]
pub(crate) struct Kept(Vec<Box<Entry>>);

struct Entry {
    /// Of a computed one: its text, and whether it matches whole texts.
    pattern: Option<(Box<str>, bool)>,
    /// None where it is no I-Regexp.
    regexp: Option<Regexp>,
    made: Option<Made>,
}

impl Entry {
    fn memory(&self) -> usize {
        let (text, regexp) = match &self.pattern {
            Some((text, _)) => (text.len(), self.regexp.as_ref().map_or(0, Regexp::size)),
            None => (0, 0),
        };
        text + regexp + self.made.as_ref().map_or(0, |made| made.cache.memory_usage())
    }

    fn is_match(&mut self, text: &str, steps: &mut Steps) -> Result<bool> {
        let Some(regexp) = &self.regexp else { return Ok(false) };
        let made = self.made.get_or_insert_with(|| Made::new(regexp));
        regexp.is_match(text, made, steps)
    }
}

/// Whether an expression of the query is found in a text.
pub(crate) fn is_match(
    regexp: &Regexp,
    text: &str,
    expressions: &mut Kept,
    steps: &mut Steps,
) -> Result<bool> {
    let same = |entry: &Entry| {
        let other = entry.regexp.as_ref().filter(|_| entry.pattern.is_none());
        other.is_some_and(|other| Arc::ptr_eq(&other.automaton, &regexp.automaton))
    };
    let new = |_: &mut Steps| Ok(Entry { pattern: None, regexp: Some(regexp.clone()), made: None });
    kept(text, expressions, steps, same, new)
}

/// The same for an expression that was computed.
pub(crate) fn is_computed_match(
    pattern: &str,
    whole: bool,
    text: &str,
    expressions: &mut Kept,
    steps: &mut Steps,
) -> Result<bool> {
    steps.text(pattern.len())?;
    let same = |entry: &Entry| {
        entry.pattern.as_ref().is_some_and(|(text, all)| *all == whole && **text == *pattern)
    };
    let new = |steps: &mut Steps| {
        let categories = pattern.matches(r"\p").count() + pattern.matches(r"\P").count();
        steps.take(COMPILING + READ * pattern.len() as u64 + LISTED * categories as u64)?;
        let (regexp, made) = Regexp::new(pattern, whole);
        steps.take(made as u64 / COMPILED)?;
        Ok(Entry { pattern: Some((pattern.into(), whole)), regexp, made: None })
    };
    kept(text, expressions, steps, same, new)
}

fn kept(
    text: &str,
    Kept(entries): &mut Kept,
    steps: &mut Steps,
    same: impl Fn(&Entry) -> bool,
    new: impl FnOnce(&mut Steps) -> Result<Entry>,
) -> Result<bool> {
    let mut entry = match entries.iter().position(|entry| same(entry)) {
        Some(place) => entries.remove(place),
        None => Box::new(new(steps)?),
    };
    let found = entry.is_match(text, steps);
    let mut memory: usize = entries.iter().map(|entry| entry.memory()).sum();
    while memory > KEPT_BYTES || entries.len() >= KEPT {
        memory -= entries.remove(0).memory();
    }
    entries.push(entry);
    found
}

/// The same expression in the syntax of the crate; `None` where it is not in that of RFC 9485.
///
/// Both know alternatives, groups, quantifiers and classes alike. They differ in the dot, which
/// in RFC 9485 leaves out carriage returns too, and in all that the crate knows beyond it: lazy
/// quantifiers, flags, anchors and operators in classes.
fn translate(pattern: &str) -> Option<String> {
    let mut output = String::with_capacity(pattern.len() + 16);
    let mut input = pattern.chars().peekable();
    // Whether a quantifier may follow.
    let mut atom = false;
    let mut groups = 0u32;
    while let Some(next) = input.next() {
        match next {
            '.' => output.push_str(r"[^\n\r]"),
            '|' => output.push('|'),
            '(' => {
                output.push_str("(?:");
                groups += 1;
            }
            ')' => {
                groups = groups.checked_sub(1)?;
                output.push(')');
            }
            '*' | '+' | '?' => {
                if !atom {
                    return None;
                }
                output.push(next);
            }
            '{' => {
                if !atom {
                    return None;
                }
                let mut counts = String::new();
                loop {
                    match input.next()? {
                        '}' => break,
                        other => counts.push(other),
                    }
                }
                let digits =
                    |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                let (low, high) = counts.split_once(',').unwrap_or((&counts, ""));
                if !digits(low) || !(high.is_empty() || digits(high)) {
                    return None;
                }
                output.push_str(&format!("{{{counts}}}"));
            }
            '[' => class(&mut input, &mut output)?,
            '\\' => escape(&mut input, &mut output)?,
            ']' | '}' => return None,
            // Anchors, as the compliance test suite has them. The grammar of RFC 9485 names none.
            '^' | '$' => output.push(next),
            '#' | '&' | '-' | '~' => {
                output.push('\\');
                output.push(next);
            }
            other => output.push(other),
        }
        atom = !matches!(next, '|' | '(' | '*' | '+' | '?' | '{');
    }
    (groups == 0).then_some(output)
}

type Input<'p> = std::iter::Peekable<std::str::Chars<'p>>;

/// An escape: one character, or a Unicode category.
fn escape(input: &mut Input<'_>, output: &mut String) -> Option<()> {
    let next = input.next()?;
    match next {
        'n' | 'r' | 't' => output.extend(['\\', next]),
        '(' | ')' | '*' | '+' | '-' | '.' | '?' | '[' | '\\' | ']' | '^' | '{' | '|' | '}'
        | '$' => {
            output.extend(['\\', next]);
        }
        'p' | 'P' => {
            if input.next()? != '{' {
                return None;
            }
            let mut name = String::new();
            loop {
                match input.next()? {
                    '}' => break,
                    letter => name.push(letter),
                }
            }
            // The general categories of Unicode, as RFC 9485 has them.
            const SECOND: [(char, &str); 7] = [
                ('C', "cfno"),
                ('L', "lmotu"),
                ('M', "cen"),
                ('N', "dlo"),
                ('P', "cdefios"),
                ('Z', "lps"),
                ('S', "ckmo"),
            ];
            let mut letters = name.chars();
            let (first, second) = (letters.next()?, letters.next());
            let known = SECOND.iter().any(|&(letter, seconds)| {
                letter == first && second.is_none_or(|second| seconds.contains(second))
            });
            let known = known && letters.next().is_none();
            if !known {
                return None;
            }
            output.push_str(&format!(r"\{next}{{{name}}}"));
        }
        _ => return None,
    }
    Some(())
}

/// A class in brackets, after its `[`.
fn class(input: &mut Input<'_>, output: &mut String) -> Option<()> {
    output.push('[');
    if input.next_if_eq(&'^').is_some() {
        output.push('^');
    }
    let mut empty = true;
    // Whether the last was one character that is not yet a range's end.
    let mut begun = false;
    loop {
        let next = input.next()?;
        match next {
            ']' if !empty => break,
            '-' => match input.peek() {
                // First or last it is itself.
                Some(']') => {
                    output.push_str(r"\-");
                    begun = false;
                }
                _ if empty => {
                    output.push_str(r"\-");
                    begun = false;
                }
                _ if begun => {
                    output.push('-');
                    let end = input.next()?;
                    match end {
                        '\\' => {
                            if matches!(input.peek(), Some('p' | 'P')) {
                                return None;
                            }
                            escape(input, output)?;
                        }
                        '[' | ']' | '-' => return None,
                        other => literal(other, output),
                    }
                    begun = false;
                }
                _ => return None,
            },
            '\\' => {
                begun = !matches!(input.peek(), Some('p' | 'P'));
                escape(input, output)?;
            }
            '[' | ']' => return None,
            other => {
                literal(other, output);
                begun = true;
            }
        }
        empty = false;
    }
    output.push(']');
    Some(())
}

/// A character of a class, escaped if the crate would read it as an operator.
fn literal(character: char, output: &mut String) {
    if matches!(character, '&' | '~' | '^' | '#' | '$') {
        output.push('\\');
    }
    output.push(character);
}
