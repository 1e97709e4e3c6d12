//! The text of a query to its parts: RFC 9535's grammar, and its rules on types.
//!
//! By recursive descent. Filters, parentheses and functions within each other are bounded, so
//! that no text overflows the stack.

use crate::error::QueryError;
use crate::parameter::Parameter;
use crate::regexp::{self, Regexp};
use crate::syntax::{Comparison, Literal, Logical, Operand, Path, Pattern, Segment, Selector};

/// How deep filters, parentheses and functions may lie within each other.
pub(crate) const NESTING_LIMIT: u32 = 32;

/// Bytes that a query's compiled regular expressions may take before another one is refused.
const EXPRESSIONS: usize = 8 * regexp::SIZE_LIMIT;

/// Integers beyond these are no indexes (RFC 9535, 2.1).
const INDEX_LIMIT: i64 = (1 << 53) - 1;

type Parsed<T> = Result<T, QueryError>;

/// A query's text, and what gives the values of its parameters.
///
/// # Errors
/// The text is no query.
pub(crate) fn parse(
    text: &str,
    parameters: &mut dyn FnMut(&str) -> Option<Parameter>,
) -> Parsed<Path> {
    let mut parser = Parser { text, at: 0, depth: 0, room: EXPRESSIONS, parameters };
    if !parser.take("$") {
        return parser.expected("`$`");
    }
    let (path, _) = parser.path(true)?;
    match parser.peek() {
        None => Ok(path),
        Some(_) => parser.expected("`.`, `..`, `[` or the end"),
    }
}

struct Parser<'t> {
    text: &'t str,
    /// How many bytes were read.
    at: usize,
    depth: u32,
    /// Bytes that further regular expressions may take.
    room: usize,
    parameters: &'t mut dyn FnMut(&str) -> Option<Parameter>,
}

/// What stands on one side of a comparison, or alone as a test.
enum Term {
    Literal(Operand),
    Query(Path),
    Function(Function),
}

enum Function {
    Value(Operand),
    Logical(Logical),
}

const SIDE: &str = "a literal, a query of one value or a function";

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.at += 1;
        }
    }

    #[cold]
    fn expected<T>(&self, expected: &'static str) -> Parsed<T> {
        self.expected_at(self.at, expected)
    }

    #[cold]
    fn expected_at<T>(&self, offset: usize, expected: &'static str) -> Parsed<T> {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let found = self.text.get(offset..).and_then(|rest| rest.chars().next());
        Err(QueryError { column: before.chars().count() + 1, offset, expected, found })
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= NESTING_LIMIT {
            return self
                .expected("at most 32 filters, parentheses and functions within each other");
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// The segments after `$` or `@`, and whether they are written as a singular query.
    fn path(&mut self, absolute: bool) -> Parsed<(Path, bool)> {
        let mut segments = Vec::new();
        let mut written_singular = true;
        loop {
            let before = self.at;
            self.space();
            if self.take("..") {
                segments.push(Segment { descendant: true, selectors: self.after_dots(true)? });
                written_singular = false;
            } else if self.take(".") {
                segments.push(Segment { descendant: false, selectors: self.after_dots(false)? });
            } else if self.take("[") {
                let start = self.at;
                let selectors = self.selectors()?;
                // The grammar of singular queries has no space within brackets.
                let inner = self.text.get(start..self.at - 1).unwrap_or_default();
                written_singular &= inner == inner.trim();
                segments.push(Segment { descendant: false, selectors });
            } else {
                self.at = before;
                break;
            }
        }
        let singular = segments.iter().all(|segment| {
            !segment.descendant
                && matches!(&segment.selectors[..], [Selector::Name(_) | Selector::Index(_)])
        });
        Ok((Path { absolute, segments, singular }, singular && written_singular))
    }

    fn after_dots(&mut self, descendant: bool) -> Parsed<Vec<Selector>> {
        match self.peek() {
            Some('*') => {
                self.at += 1;
                Ok(vec![Selector::Wildcard])
            }
            Some('[') if descendant => {
                self.at += 1;
                self.selectors()
            }
            Some(first) if is_name_first(first) => Ok(vec![Selector::Name(self.name().to_owned())]),
            _ if descendant => self.expected("a name, `*` or `[`"),
            _ => self.expected("a name or `*`"),
        }
    }

    /// The name that begins here; empty if none does.
    fn name(&mut self) -> &'t str {
        let rest = self.rest();
        let is_name = |next: char| is_name_first(next) || next.is_ascii_digit();
        let length = match rest.starts_with(is_name_first) {
            true => rest.find(|next| !is_name(next)).unwrap_or(rest.len()),
            false => 0,
        };
        self.at += length;
        &rest[..length]
    }

    /// The value of the parameter that stands here, if one does: `$` and a name.
    fn parameter(&mut self) -> Parsed<Option<Parameter>> {
        let start = self.at;
        if self.take("$") {
            let name = self.name();
            if !name.is_empty() {
                return match (self.parameters)(name) {
                    Some(value) => Ok(Some(value)),
                    None => self.expected_at(start, "a parameter that was given a value"),
                };
            }
        }
        self.at = start;
        Ok(None)
    }

    /// Reads selectors after a `[`.
    fn selectors(&mut self) -> Parsed<Vec<Selector>> {
        let mut selectors = Vec::new();
        loop {
            self.space();
            selectors.push(self.selector()?);
            self.space();
            if self.take("]") {
                return Ok(selectors);
            }
            if !self.take(",") {
                return self.expected("`,` or `]`");
            }
        }
    }

    fn selector(&mut self) -> Parsed<Selector> {
        let start = self.at;
        match self.parameter()? {
            Some(Parameter::Text(name)) => return Ok(Selector::Name(name)),
            Some(Parameter::Number(number)) => {
                return match number.parse() {
                    Ok(index) => Ok(Selector::Index(index)),
                    Err(_) => self.expected_at(start, "a parameter that is an index or a name"),
                };
            }
            Some(_) => return self.expected_at(start, "a parameter that is an index or a name"),
            None => {}
        }
        match self.peek() {
            Some('\'' | '"') => self.string().map(Selector::Name),
            Some('*') => {
                self.at += 1;
                Ok(Selector::Wildcard)
            }
            Some('?') => {
                self.at += 1;
                self.space();
                self.deeper(Self::logical).map(Selector::Filter)
            }
            Some('-' | '0'..='9' | ':') => {
                let start = self.index()?;
                let before = self.at;
                self.space();
                if !self.take(":") {
                    self.at = before;
                    return match start {
                        Some(index) => Ok(Selector::Index(index)),
                        None => self.expected("an index"),
                    };
                }
                self.space();
                let end = self.index()?;
                let before = self.at;
                self.space();
                let step = if self.take(":") {
                    self.space();
                    let before = self.at;
                    let step = self.index()?;
                    if step.is_none() {
                        self.at = before;
                    }
                    step.unwrap_or(1)
                } else {
                    self.at = before;
                    1
                };
                Ok(Selector::Slice { start, end, step })
            }
            _ => self.expected("a quoted name, `*`, an index, a slice or `?`"),
        }
    }

    /// An integer as indexes are written, if one stands here.
    fn index(&mut self) -> Parsed<Option<i64>> {
        let start = self.at;
        if !matches!(self.peek(), Some('-' | '0'..='9')) {
            return Ok(None);
        }
        self.integer()?;
        let text = &self.text[start..self.at];
        match text.parse::<i64>() {
            _ if text == "-0" => self.expected_at(start, "an index, which `-0` is not"),
            Ok(index) if (-INDEX_LIMIT..=INDEX_LIMIT).contains(&index) => Ok(Some(index)),
            _ => self.expected_at(start, "an index between -9007199254740991 and 9007199254740991"),
        }
    }

    /// Digits with a sign, no zero before others.
    fn integer(&mut self) -> Parsed<()> {
        self.take("-");
        match self.peek() {
            Some('0') => {
                self.at += 1;
                match self.peek() {
                    Some('0'..='9') => self.expected("no digit behind a leading zero"),
                    _ => Ok(()),
                }
            }
            _ => self.digits(),
        }
    }

    fn digits(&mut self) -> Parsed<()> {
        let start = self.at;
        while matches!(self.peek(), Some('0'..='9')) {
            self.at += 1;
        }
        if self.at == start { self.expected("a digit") } else { Ok(()) }
    }

    fn string(&mut self) -> Parsed<String> {
        let quote = self.bump();
        let mut text = String::new();
        loop {
            let start = self.at;
            match self.bump() {
                None => return self.expected("the closing quote"),
                next if next == quote => return Ok(text),
                Some('\\') => match self.bump() {
                    Some('b') => text.push('\u{8}'),
                    Some('f') => text.push('\u{c}'),
                    Some('n') => text.push('\n'),
                    Some('r') => text.push('\r'),
                    Some('t') => text.push('\t'),
                    Some(same @ ('/' | '\\')) => text.push(same),
                    Some('u') => text.push(self.unicode(start)?),
                    Some(same) if Some(same) == quote => text.push(same),
                    _ => {
                        return self
                            .expected_at(start + 1, "an escape: the quote, / \\ b f n r t or u");
                    }
                },
                Some('\0'..='\x1f') => {
                    return self.expected_at(start, "no control character (escape it)");
                }
                Some(next) => text.push(next),
            }
        }
    }

    /// Reads the digits after `\u`. A surrogate pair is one character.
    fn unicode(&mut self, start: usize) -> Parsed<char> {
        let high = self.hexadecimal()?;
        let code = match high {
            0xD800..=0xDBFF => {
                if !self.take("\\u") {
                    return self.expected("the second half of a surrogate pair");
                }
                let at = self.at;
                match self.hexadecimal()? {
                    low @ 0xDC00..=0xDFFF => 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00),
                    _ => return self.expected_at(at, "the second half of a surrogate pair"),
                }
            }
            other => other,
        };
        match char::from_u32(code) {
            Some(found) => Ok(found),
            None => self.expected_at(start, "no second half of a surrogate pair alone"),
        }
    }

    fn hexadecimal(&mut self) -> Parsed<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|next| next.to_digit(16)) else {
                return self.expected("a hexadecimal digit");
            };
            self.at += 1;
            code = code * 16 + digit;
        }
        Ok(code)
    }

    // --- filters ------------------------------------------------------------

    fn logical(&mut self) -> Parsed<Logical> {
        let mut any = vec![self.conjunction()?];
        while self.operator("||") {
            any.push(self.conjunction()?);
        }
        Ok(if any.len() == 1 { any.remove(0) } else { Logical::Any(any) })
    }

    fn conjunction(&mut self) -> Parsed<Logical> {
        let mut all = vec![self.basic()?];
        while self.operator("&&") {
            all.push(self.basic()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Logical::All(all) })
    }

    /// Takes an operator with the space around it.
    fn operator(&mut self, operator: &str) -> bool {
        let before = self.at;
        self.space();
        if self.take(operator) {
            self.space();
            return true;
        }
        self.at = before;
        false
    }

    fn basic(&mut self) -> Parsed<Logical> {
        let negated = self.take("!");
        if negated {
            self.space();
        }
        let found = if self.take("(") {
            self.deeper(|parser| {
                parser.space();
                let inner = parser.logical()?;
                parser.space();
                match parser.take(")") {
                    true => Ok(inner),
                    false => parser.expected("`)`, `&&`, `||` or a comparison"),
                }
            })?
        } else {
            self.test_or_comparison(negated)?
        };
        Ok(if negated { Logical::Not(Box::new(found)) } else { found })
    }

    fn test_or_comparison(&mut self, negated: bool) -> Parsed<Logical> {
        let start = self.at;
        let (term, singular) = self.term()?;
        let before = self.at;
        self.space();
        let at = self.at;
        let Some(comparison) = self.comparison() else {
            self.at = before;
            return match term {
                Term::Query(path) => Ok(Logical::Exists(path)),
                Term::Function(Function::Logical(logical)) => Ok(logical),
                // Neither is a test by itself.
                Term::Literal(_) | Term::Function(Function::Value(_)) => {
                    self.expected_at(at, "a comparison: == != < <= > or >=")
                }
            };
        };
        if negated {
            return self.expected_at(at, "no comparison behind `!` (put it in parentheses)");
        }
        let left = self.side(term, singular, start)?;
        self.space();
        let start = self.at;
        let (term, singular) = self.term()?;
        let right = self.side(term, singular, start)?;
        Ok(Logical::Compare(left, comparison, right))
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let known = [
            ("==", Comparison::Equal),
            ("!=", Comparison::Unequal),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        known.into_iter().find(|(token, _)| self.take(token)).map(|(_, comparison)| comparison)
    }

    /// A term as something to compare, or to give to a function that takes a value.
    fn side(&self, term: Term, singular: bool, start: usize) -> Parsed<Operand> {
        match term {
            Term::Literal(literal) => Ok(literal),
            Term::Function(Function::Value(operand)) => Ok(operand),
            Term::Query(path) if singular => Ok(Operand::Singular(path)),
            Term::Query(_) => {
                self.expected_at(start, "a query of one value: names and indexes only")
            }
            Term::Function(Function::Logical(_)) => {
                self.expected_at(start, "a value, which `match` and `search` do not give")
            }
        }
    }

    /// A term, and whether it is a query that is written as a singular one.
    fn term(&mut self) -> Parsed<(Term, bool)> {
        let literal = |operand| Ok((Term::Literal(operand), false));
        if let Some(value) = self.parameter()? {
            return literal(match value {
                Parameter::Null => Operand::Null,
                Parameter::Bool(value) => Operand::Bool(value),
                Parameter::Number(text) => Operand::Number(Literal::parse(&text)),
                Parameter::Text(text) => Operand::Text(text),
            });
        }
        match self.peek() {
            Some(start @ ('@' | '$')) => {
                self.at += 1;
                let (path, singular) = self.path(start == '$')?;
                Ok((Term::Query(path), singular))
            }
            Some('\'' | '"') => literal(Operand::Text(self.string()?)),
            Some('-' | '0'..='9') => literal(Operand::Number(self.number()?)),
            Some('a'..='z') => {
                let start = self.at;
                let rest = self.rest();
                let is_name = |next: char| matches!(next, 'a'..='z' | '0'..='9' | '_');
                let length = rest.find(|next| !is_name(next)).unwrap_or(rest.len());
                self.at += length;
                let name = &rest[..length];
                if self.take("(") {
                    let function = self.deeper(|parser| parser.function(name, start))?;
                    return Ok((Term::Function(function), false));
                }
                match name {
                    "true" => literal(Operand::Bool(true)),
                    "false" => literal(Operand::Bool(false)),
                    "null" => literal(Operand::Null),
                    _ if FUNCTIONS.contains(&name) => self.expected("`(`"),
                    _ => self.expected_at(start, "true, false, null, a function, `@` or `$`"),
                }
            }
            _ => self.expected(SIDE),
        }
    }

    fn number(&mut self) -> Parsed<Literal> {
        let start = self.at;
        self.integer()?;
        if self.take(".") {
            self.digits()?;
        }
        if self.take("e") || self.take("E") {
            let _ = self.take("-") || self.take("+");
            self.digits()?;
        }
        Ok(Literal::parse(&self.text[start..self.at]))
    }

    /// Compiles a regular expression, and counts what it takes.
    fn regexp(&mut self, pattern: &str, whole: bool) -> Parsed<Option<Regexp>> {
        if self.room == 0 {
            return self.expected("regular expressions that take less than 8 MiB together");
        }
        let (regexp, made) = Regexp::new(pattern, whole);
        self.room = self.room.saturating_sub(made);
        Ok(regexp)
    }

    fn function(&mut self, name: &str, start: usize) -> Parsed<Function> {
        let function = match name {
            "length" => Function::Value(Operand::Length(Box::new(self.value_argument()?))),
            "count" => Function::Value(Operand::Count(self.query_argument()?)),
            "value" => Function::Value(Operand::Value(self.query_argument()?)),
            "match" | "search" => {
                let text = self.value_argument()?;
                if !self.operator(",") {
                    return self.expected("`,` and an expression to match");
                }
                let whole = name == "match";
                let pattern = match self.value_argument()? {
                    Operand::Text(pattern) => Pattern::Fixed(self.regexp(&pattern, whole)?),
                    Operand::Null | Operand::Bool(_) | Operand::Number(_) => Pattern::Fixed(None),
                    computed => Pattern::Computed(computed),
                };
                Function::Logical(Logical::Matches { text, pattern, whole })
            }
            _ => return self.expected_at(start, "length, count, match, search or value"),
        };
        self.space();
        match self.take(")") {
            true => Ok(function),
            false => self.expected("`)`"),
        }
    }

    fn value_argument(&mut self) -> Parsed<Operand> {
        self.space();
        let start = self.at;
        let (term, singular) = self.term()?;
        self.side(term, singular, start)
    }

    fn query_argument(&mut self) -> Parsed<Path> {
        self.space();
        match self.peek() {
            Some(start @ ('@' | '$')) => {
                self.at += 1;
                Ok(self.path(start == '$')?.0)
            }
            _ => self.expected("a query: `@` or `$`"),
        }
    }
}

const FUNCTIONS: [&str; 5] = ["length", "count", "match", "search", "value"];

fn is_name_first(next: char) -> bool {
    next.is_ascii_alphabetic() || next == '_' || next >= '\u{80}'
}
