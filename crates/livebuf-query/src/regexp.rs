//! I-Regexp (RFC 9485): checked, and translated to the crate `regex`, which takes linear time.

use regex::{Regex, RegexBuilder};

/// Bytes that a compiled expression, and its automaton's memory, may take.
const SIZE_LIMIT: usize = 1 << 20;

/// Nested groups. The crate's own parser keeps to it.
const NESTING_LIMIT: u32 = 50;

/// A compiled I-Regexp.
#[derive(Clone, Debug)]
pub(crate) struct Regexp(Regex);

impl Regexp {
    /// `None` where the text is no I-Regexp, or a too large one.
    pub(crate) fn new(pattern: &str, whole: bool) -> Option<Regexp> {
        let translated = translate(pattern)?;
        let anchored = if whole { format!(r"\A(?:{translated})\z") } else { translated };
        let built = RegexBuilder::new(&anchored)
            .size_limit(SIZE_LIMIT)
            .dfa_size_limit(SIZE_LIMIT)
            .nest_limit(NESTING_LIMIT)
            .build();
        built.ok().map(Regexp)
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
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

/// A class in brackets, behind its `[`.
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

/// A character of a class, where the crate reads some as operators.
fn literal(character: char, output: &mut String) {
    if matches!(character, '&' | '~' | '^' | '#' | '$') {
        output.push('\\');
    }
    output.push(character);
}
