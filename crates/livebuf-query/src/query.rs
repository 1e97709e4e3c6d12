//! `Query`: compiled once, asked of any documents.

use crate::budget::Budget;
use crate::error::QueryError;
use crate::location::{Location, Step};
use crate::parameter::Parameter;
use crate::parse::parse;
use crate::steps::Interrupt;
use crate::syntax::{Path, Selector};
use crate::walk::QueryWalk;
use livebuf::raw::{push, require_memory, vec_for};
use livebuf::{AsValue, Error, Mode, Result, Value};
use std::fmt;
use std::str::FromStr;

/// A JSONPath query (RFC 9535), compiled.
///
/// One query serves any documents, from any threads. `Display` gives its text.
///
/// ```
/// use livebuf::json;
/// use livebuf_query::Query;
///
/// let doc = json!({"laps": [{"sec": 88.4, "by": "Ada"}, {"sec": 87.9, "by": "Alan"}]});
/// let query = Query::parse("$.laps[?@.sec < 88].by")?;
/// for found in query.find(doc.valid()?) {
///     let found = found?;
///     assert_eq!(found.value().as_str(), Some("Alan"));
///     assert_eq!(found.location().to_string(), "$['laps'][1]['by']");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Query {
    text: Box<str>,
    path: Path,
    budget: Option<u64>,
    interrupt: Option<Interrupt>,
}

impl Query {
    /// Compiles a query's text.
    ///
    /// Linear in the text, beside the compiling of its regular expressions.
    ///
    /// # Errors
    /// Where the text is no query of RFC 9535, and what was expected there. Filters, parentheses
    /// and functions may lie within each other 32 deep.
    ///
    /// ```
    /// use livebuf_query::Query;
    /// assert!(Query::parse("$..laps[?length(@.name) > 3]").is_ok());
    /// assert_eq!(Query::parse("$.laps[").unwrap_err().column(), 8);
    /// ```
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        Query::parse_with(text, |_| None)
    }

    /// Compiles a query with parameters: `$` and a name stand for a value where the query compares
    /// or selects, as in `$[?@.id == $id]` and `$.users[$name]`. So no value becomes part of the
    /// text, which would have to be quoted.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and where a parameter has no value.
    ///
    /// ```
    /// use livebuf_query::{Parameter, Query};
    ///
    /// let doc = livebuf::json!({"Ada": 1, "it's": 2});
    /// let text = |_: &str| Some(Parameter::Text("it's".to_owned()));
    /// assert_eq!(Query::parse_with("$[$name]", text)?.first(&doc)?.unwrap().value(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse_with(
        text: &str,
        mut parameters: impl FnMut(&str) -> Option<Parameter>,
    ) -> Result<Query, QueryError> {
        let path = parse(text, &mut parameters)?;
        Ok(Query { path, text: text.into(), budget: None, interrupt: None })
    }

    /// The same query with a bound on the work: about a step for each value that is looked at,
    /// and for each 64 bytes of text that are compared.
    ///
    /// Without it, the bound is a million and 16 for each byte of the document: some hundred
    /// times its values.
    ///
    /// ```
    /// use livebuf::{ErrorKind, json};
    /// use livebuf_query::Query;
    ///
    /// let doc = json!([[1, 2], [3, 4]]);
    /// let query = Query::parse("$..*..*..*")?.with_budget(10);
    /// let error = query.find(&doc).find_map(|found| found.err()).unwrap();
    /// assert_eq!(error.kind(), ErrorKind::BudgetExceeded);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_budget(mut self, budget: u64) -> Query {
        self.budget = Some(budget);
        self
    }

    /// The same query, which asks now and then whether it shall end: after 65,536 steps, which take
    /// some milliseconds. If the answer is true, the search ends as if its budget ran out.
    ///
    /// ```
    /// use livebuf::{ErrorKind, json};
    /// use livebuf_query::Query;
    ///
    /// let doc = json!((0..300).collect::<Vec<_>>());
    /// let query = Query::parse("$[?count($[*]) == count($..*)]")?.with_interrupt(|| false);
    /// assert_eq!(query.count(&doc)?, 300);
    /// let query = query.with_interrupt(|| true);
    /// assert_eq!(query.count(&doc).unwrap_err().kind(), ErrorKind::BudgetExceeded);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_interrupt(mut self, interrupt: fn() -> bool) -> Query {
        self.interrupt = Some(interrupt);
        self
    }

    /// The text that was compiled.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it finds one value at most, by its form: names and indexes only.
    pub fn is_singular(&self) -> bool {
        self.path.singular
    }

    fn walk<'q, 'd: 'q, M: Mode>(&'q self, root: Value<'d, M>) -> (QueryWalk<'q, 'd, M>, Budget) {
        let default = (root.document_length() as u64).saturating_mul(16).saturating_add(1_000_000);
        let budget = Budget::new(self.budget.unwrap_or(default), self.interrupt);
        (QueryWalk::new(&self.path, root, root), budget)
    }

    /// The matches in a document or a value, in the order of RFC 9535, found as you ask for them.
    ///
    /// An item is an error where the budget ran out, or the document is damaged. It is the last
    /// then. A value that the query selects twice comes twice.
    ///
    /// ```
    /// use livebuf::json;
    /// use livebuf_query::Query;
    ///
    /// let doc = json!({"a": [1, 2, 3]});
    /// let query = Query::parse("$.a[::-1]")?;
    /// let places = query.find(&doc).map(|found| Ok(found?.location().to_pointer()));
    /// assert_eq!(places.collect::<livebuf::Result<Vec<_>>>()?, ["/a/2", "/a/1", "/a/0"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find<'q, 'd: 'q, V: AsValue<'d>>(&'q self, value: V) -> Matches<'q, 'd, V::Mode> {
        let (walk, budget) = self.walk(value.as_value());
        Matches { walk, budget, ended: false, shared: 0 }
    }

    /// The values of the matches without their places, which is faster.
    ///
    /// Items are as those of [`find`](Self::find).
    ///
    /// ```
    /// use livebuf::json;
    /// use livebuf_query::Query;
    ///
    /// let doc = json!({"a": [1, 2, 3]});
    /// let query = Query::parse("$.a[?@ > 1]")?;
    /// let sum = query.values(&doc).map(|value| Ok(value?.as_i64().unwrap_or(0)));
    /// assert_eq!(sum.sum::<livebuf::Result<i64>>()?, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn values<'q, 'd: 'q, V: AsValue<'d>>(&'q self, value: V) -> Values<'q, 'd, V::Mode> {
        let (walk, budget) = self.walk(value.as_value());
        Values { walk, budget, ended: false }
    }

    /// The first match. The rest is not looked for.
    ///
    /// # Errors
    /// As an item of [`find`](Self::find).
    pub fn first<'q, 'd: 'q, V: AsValue<'d>>(
        &'q self,
        value: V,
    ) -> Result<Option<Match<'q, 'd, V::Mode>>> {
        self.find(value).next().transpose()
    }

    /// The places of the matches as JSON pointers, each once, the deepest and last first. Edit them
    /// in this order: then no edit shifts a place that is still to come.
    ///
    /// # Errors
    /// As an item of [`find`](Self::find).
    ///
    /// ```
    /// let doc = livebuf::json!([[1, 2], [3]]);
    /// let query = livebuf_query::Query::parse("$[0, 0, 1][*]")?;
    /// assert_eq!(query.places(&doc)?.collect::<Vec<_>>(), ["/1/0", "/0/1", "/0/0"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn places<'d, V: AsValue<'d>>(&self, value: V) -> Result<Places> {
        Places::of(&self.locations(value)?)
    }

    /// The places of the matches, each once: one before those within it, and these before others. For
    /// bindings.
    ///
    /// # Errors
    /// As an item of [`find`](Self::find).
    #[doc(hidden)]
    pub fn locations<'q, 'd: 'q, V: AsValue<'d>>(&'q self, value: V) -> Result<Vec<Location<'q>>> {
        let mut found = Vec::new();
        for place in self.find(value) {
            push(&mut found, place?.into_location(), LOCATION)?;
        }
        if found.len() > FEW {
            // For the steps that are compared.
            require_memory(1 << 16)?;
        }
        if !found.is_sorted() {
            found.sort_unstable();
        }
        found.dedup();
        Ok(found)
    }

    /// The names that the query ends with, such as `["a", "b"]`, each once; none if it ends otherwise.
    ///
    /// ```
    /// let query = livebuf_query::Query::parse("$.users[*]['name', 'id']")?;
    /// assert_eq!(query.names(), ["name", "id"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for selector in self.path.segments.last().map_or(&[][..], |last| &last.selectors) {
            match selector {
                Selector::Name(name) if names.contains(&&**name) => {}
                Selector::Name(name) => names.push(&**name),
                _ => return Vec::new(),
            }
        }
        names
    }

    /// The count of the matches.
    ///
    /// # Errors
    /// As an item of [`find`](Self::find).
    ///
    /// ```
    /// let doc = livebuf::json!([[1, 2], [3]]);
    /// assert_eq!(livebuf_query::Query::parse("$..*")?.count(&doc)?, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count<'d, V: AsValue<'d>>(&self, value: V) -> Result<usize> {
        self.values(value).try_fold(0, |count, value| value.map(|_| count + 1))
    }
}

impl FromStr for Query {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Query, QueryError> {
        Query::parse(text)
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Query({:?})", self.text)
    }
}

/// Up to this many places are sorted without asking for memory.
const FEW: usize = 64;
/// Bytes that a place takes in memory of its own, about: what it shares with others is made once.
const LOCATION: usize = 64;

/// A value that a query found, and its place.
#[derive(Clone)]
pub struct Match<'q, 'd, M> {
    value: Value<'d, M>,
    location: Location<'q>,
}

impl<'q, 'd, M: Mode> Match<'q, 'd, M> {
    /// The value.
    pub fn value(&self) -> Value<'d, M> {
        self.value
    }

    /// Its place.
    pub fn location(&self) -> &Location<'q> {
        &self.location
    }

    /// Its place, to keep.
    pub fn into_location(self) -> Location<'q> {
        self.location
    }
}

impl<M: Mode> fmt::Debug for Match<'_, '_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.location, self.value)
    }
}

/// Matches with their places: [`Query::find`].
pub struct Matches<'q, 'd, M: Mode> {
    walk: QueryWalk<'q, 'd, M>,
    budget: Budget,
    ended: bool,
    shared: usize,
}

impl<'q, 'd: 'q, M: Mode> Iterator for Matches<'q, 'd, M> {
    type Item = Result<Match<'q, 'd, M>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let value = self.next_value()?;
        Some(value.map(|value| Match { value, location: self.walk.path.location() }))
    }
}

impl<'q, 'd: 'q, M: Mode> Matches<'q, 'd, M> {
    /// The next match as `next` gives it, but without a place of its own: [`steps`](Self::steps)
    /// has that until the match after it.
    ///
    /// ```
    /// use livebuf_query::{Query, Step};
    ///
    /// let doc = livebuf::json!([[1, 2], [3]]);
    /// let query = Query::parse("$[*][*]")?;
    /// let mut found = query.find(&doc);
    /// let mut seen = Vec::new();
    /// while let Some(value) = found.next_value() {
    ///     seen.push((value?.as_i64(), found.shared(), found.steps().len()));
    /// }
    /// assert_eq!(seen, [(Some(1), 0, 2), (Some(2), 1, 2), (Some(3), 0, 2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn next_value(&mut self) -> Option<Result<Value<'d, M>>> {
        if self.ended {
            return None;
        }
        let found = self.walk.next(&mut self.budget);
        self.ended = !matches!(found, Ok(Some(_)));
        self.shared = self.walk.path.found();
        found.transpose()
    }

    /// The steps to the last match.
    pub fn steps(&self) -> &[Step<'q>] {
        self.walk.path.steps()
    }

    /// How many of these, from the first on, are those of the match before.
    pub fn shared(&self) -> usize {
        self.shared
    }
}

/// Places as JSON pointers: [`Query::places`]. Each text is made when it is asked for.
///
/// What a place has in common with the one before it is kept once.
#[derive(Clone, Debug)]
pub struct Places {
    /// What each place has after the bytes that it shares with the one before.
    text: String,
    /// How many bytes it shares, and where its own end.
    parts: std::vec::IntoIter<(usize, usize)>,
    at: usize,
    /// Length of the pointer that stands before each.
    base: usize,
    last: String,
}

impl Places {
    /// The last first.
    pub(crate) fn of(locations: &[Location<'_>]) -> Result<Places> {
        let (mut text, mut last) = (String::new(), String::new());
        let mut parts = vec_for(locations.len())?;
        for place in locations.iter().rev() {
            let pointer = place.to_pointer();
            let same = last.bytes().zip(pointer.bytes()).take_while(|(one, two)| one == two);
            let mut same = same.count();
            while !pointer.is_char_boundary(same) {
                same -= 1;
            }
            let own = pointer.get(same..).unwrap_or_default();
            let refused = |_| Error::out_of_memory(own.len() as u64);
            text.try_reserve(own.len()).map_err(refused)?;
            text.push_str(own);
            parts.push((same, text.len()));
            last = pointer;
        }
        Ok(Places { text, parts: parts.into_iter(), at: 0, base: 0, last: String::new() })
    }

    /// The same as places of a larger value, which has this one at a pointer. None was asked for yet.
    pub(crate) fn below(self, pointer: &str) -> Places {
        Places { base: pointer.len(), last: pointer.to_owned(), ..self }
    }

    /// The next one, in memory that is used again.
    pub(crate) fn next_place(&mut self) -> Option<&str> {
        let (same, end) = self.parts.next()?;
        self.last.truncate(self.base + same);
        self.last.push_str(self.text.get(self.at..end).unwrap_or_default());
        self.at = end;
        Some(&self.last)
    }
}

impl Iterator for Places {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.next_place().map(str::to_owned)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.parts.size_hint()
    }
}

impl ExactSizeIterator for Places {}

impl<M: Mode> fmt::Debug for Matches<'_, '_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Matches")
    }
}

/// Values that a query finds: [`Query::values`].
pub struct Values<'q, 'd, M: Mode> {
    walk: QueryWalk<'q, 'd, M>,
    budget: Budget,
    ended: bool,
}

impl<'q, 'd: 'q, M: Mode> Iterator for Values<'q, 'd, M> {
    type Item = Result<Value<'d, M>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let found = self.walk.next(&mut self.budget);
        self.ended = !matches!(found, Ok(Some(_)));
        found.transpose()
    }
}

impl<M: Mode> fmt::Debug for Values<'_, '_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Values")
    }
}
