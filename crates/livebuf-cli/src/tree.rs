//! `livebuf tree`: which keys a document has, with what kinds of values, and how many.

use crate::args::Tree;
use crate::failure::{Failure, Outcome, counted, grouped, name};
use crate::look::{find, not_there};
use crate::progress;
use crate::sink::Out;
use crate::source::Source;
use crate::told::shown_pointer;
use livebuf::{Kind, Value};

/// Objects with more different keys than this are shown as maps: one line for all members.
const MOST_KEYS: usize = 64;
/// Keys that are shown of one object.
const SHOWN: usize = 20;
/// Lines of the whole tree.
const PAGE: usize = 60;

/// What is known of the values at one place: of all rows of an array, of all members of a map.
#[derive(Default)]
struct PlaceSummary {
    /// How many there are of each kind, in the order in which they were met.
    kinds: Vec<(&'static str, u64)>,
    /// How many elements the shortest and the longest array have.
    lengths: Option<(u64, u64)>,
    elements: Option<Box<PlaceSummary>>,
    members: Vec<(String, PlaceSummary)>,
    /// The objects have so many different keys that their members are one place.
    is_map: bool,
}

impl PlaceSummary {
    fn count(&self) -> u64 {
        self.kinds.iter().map(|(_, count)| count).sum()
    }

    fn objects(&self) -> u64 {
        self.kinds.iter().find(|(kind, _)| *kind == "object").map_or(0, |(_, count)| *count)
    }

    fn add(&mut self, value: Value<'_>) -> livebuf::Result<()> {
        let kind = kind_of(value.kind());
        match self.kinds.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, count)) => *count += 1,
            None => self.kinds.push((kind, 1)),
        }
        if let Some(array) = value.as_array()? {
            let length = array.len() as u64;
            let (least, most) = self.lengths.unwrap_or((length, length));
            self.lengths = Some((least.min(length), most.max(length)));
            for element in array {
                self.elements.get_or_insert_default().add(element?)?;
            }
        }
        if let Some(object) = value.as_object()? {
            let mut next = 0;
            for member in &object {
                let (key, value) = member?;
                next = self.member(next, key);
                let Some((_, place)) = self.members.get_mut(next) else { continue };
                place.add(value)?;
                next += 1;
            }
        }
        Ok(())
    }

    /// Where a member's place is: most often it is the next one.
    fn member(&mut self, next: usize, key: &str) -> usize {
        if self.is_map {
            return 0;
        }
        if self.members.get(next).is_some_and(|(other, _)| other == key) {
            return next;
        }
        match self.members.iter().position(|(other, _)| other == key) {
            Some(place) => place,
            None if self.members.len() < MOST_KEYS => {
                self.members.push((key.to_owned(), PlaceSummary::default()));
                self.members.len() - 1
            }
            None => {
                let mut all = PlaceSummary::default();
                for (_, place) in std::mem::take(&mut self.members) {
                    all.merge(place);
                }
                self.members.push(("*".to_owned(), all));
                self.is_map = true;
                0
            }
        }
    }

    fn merge(&mut self, other: PlaceSummary) {
        for (kind, more) in other.kinds {
            match self.kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, count)) => *count += more,
                None => self.kinds.push((kind, more)),
            }
        }
        self.lengths = match (self.lengths, other.lengths) {
            (Some(one), Some(two)) => Some((one.0.min(two.0), one.1.max(two.1))),
            (one, two) => one.or(two),
        };
        if let Some(elements) = other.elements {
            self.elements.get_or_insert_default().merge(*elements);
        }
        for (key, place) in other.members {
            // Members of a map are one place already.
            let key = if other.is_map && self.is_map { "*" } else { &key };
            let at = self.member(usize::MAX, key);
            if let Some((_, known)) = self.members.get_mut(at) {
                known.merge(place);
            }
        }
    }

    /// "3 objects, 1 null", and lengths of arrays.
    fn words(&self) -> String {
        let kinds = self.kinds.iter().map(|(kind, count)| match *kind {
            "null" | "text" | "bytes" => format!("{} {kind}", grouped(*count)),
            kind => counted(*count, kind),
        });
        let mut text = kinds.collect::<Vec<_>>().join(", ");
        if let Some((least, most)) = self.lengths {
            let lengths = if least == most {
                counted(most, "element")
            } else {
                format!("{} to {}", grouped(least), counted(most, "element"))
            };
            text.push_str(&format!(" of {lengths}"));
        }
        text
    }

    fn lines(&self, depth: usize, lines: &mut Vec<String>) {
        let indent = "  ".repeat(depth);
        if let Some(elements) = &self.elements {
            lines.push(format!("{indent}[]: {}", elements.words()));
            elements.lines(depth + 1, lines);
        }
        let objects = self.objects();
        for (key, place) in self.members.iter().take(SHOWN) {
            let some = match place.count() {
                count if count < objects && !self.is_map => ", not in all",
                _ => "",
            };
            let key = if self.is_map { "*".into() } else { shown_pointer(key) };
            lines.push(format!("{indent}{key}: {}{some}", place.words()));
            place.lines(depth + 1, lines);
        }
        if self.members.len() > SHOWN {
            let more = counted((self.members.len() - SHOWN) as u64, "more key");
            lines.push(format!("{indent}... {more}"));
        }
    }
}

fn kind_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Bool => "boolean",
        Kind::Int | Kind::Uint => "integer",
        Kind::Float | Kind::NumberText | Kind::Decimal => "number",
        Kind::String => "text",
        Kind::Bytes => "bytes",
        Kind::Object => "object",
        Kind::Array => "array",
        Kind::Date => "date",
        Kind::Time => "time",
        Kind::DateTime => "date and time",
        Kind::Timestamp => "timestamp",
        Kind::Uuid => "UUID",
        _ => "unknown value",
    }
}

pub(crate) fn tree(args: &Tree) -> Outcome {
    let source = Source::load(&args.file)?;
    // In a damaged document values may alias, so that the walk would have no end.
    let doc = source.validated(&args.file)?;
    let Some(value) = find(&args.file, doc, &args.pointer)? else {
        return Err(not_there(&args.file, &args.pointer));
    };
    let mut root = PlaceSummary::default();
    progress::during(&format!("looking at {}", name(&args.file)), || root.add(value))
        .map_err(|error| Failure::document(&args.file, error))?;
    let mut lines = vec![root.words()];
    root.lines(1, &mut lines);
    let mut out = Out::new();
    lines.iter().take(PAGE).try_for_each(|line| out.line(line))?;
    if lines.len() > PAGE {
        let more = counted((lines.len() - PAGE) as u64, "more line");
        out.line(&format!("... {more}: give a pointer to see a part"))?;
    }
    out.finish()
}
