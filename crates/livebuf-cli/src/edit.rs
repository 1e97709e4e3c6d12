//! Edits of a file, all or nothing, and of standard input, as a filter.

use crate::args::{self, EditAll, Editing, Merge, Push, Remove, Set};
use crate::convert::as_json;
use crate::failure::{Failure, Outcome, counted, grouped, name};
use crate::look::bad_pointer;
use crate::progress;
use crate::sink::{Out, refuse_terminal};
use crate::source::{
    Source, converted, given, not_opened, not_read, patiently, read, tally, too_deep,
};
use crate::told::{shown, tell};
use livebuf::mapped::{Changes, FileEdit};
use livebuf::{DocBuf, Editor, ErrorKind, Kind, New, Storage, Value, VecStorage};
use livebuf_json::quoted;
use livebuf_patch::{Patch, PatchError};
use livebuf_query::Query;
use std::path::{Path, PathBuf};

/// What is done to a document.
pub(crate) enum Edit {
    /// With `parents` the missing containers on the way are made.
    Set {
        pointer: String,
        value: Given,
        parents: bool,
    },
    Remove {
        pointer: String,
    },
    Push {
        pointer: String,
        value: Given,
    },
    /// Adds a number to the one there.
    Add {
        pointer: String,
        amount: Box<DocBuf>,
    },
    SetAll {
        query: Query,
        value: Given,
    },
    RemoveAll {
        query: Query,
    },
    /// A JSON patch, and the file that it comes from, if it comes from one.
    Patch(Box<Patch>, Option<PathBuf>),
    /// A merge patch, and the file that it comes from, or its text.
    Merge(Source, PathBuf),
}

/// A value from the command line.
pub(crate) enum Given {
    Text(String),
    Json(Box<DocBuf>),
}

impl Given {
    fn read(argument: &str, is_text: bool) -> Outcome<Given> {
        if is_text {
            return Ok(Given::Text(argument.to_owned()));
        }
        if argument != "-" {
            return Given::json(argument);
        }
        let standard_input = Path::new("-");
        let text = read(standard_input)?;
        livebuf_json::from_slice(&text)
            .map(|doc| Given::Json(Box::new(doc)))
            .map_err(|error| not_read(standard_input, &error))
    }

    fn json(text: &str) -> Outcome<Given> {
        livebuf_json::from_slice(text.as_bytes()).map(|doc| Given::Json(Box::new(doc))).map_err(
            |error| {
                if error.kind() == livebuf_json::ErrorKind::NestingLimit {
                    return Failure::trouble(format!("the value is {}", too_deep(&error)));
                }
                let message = format!("the value {} is not JSON: {error}", quoted(text));
                Failure::trouble(message).with_hint(
                    "for text give --string, or JSON's quotes within the shell's: '\"text\"'",
                )
            },
        )
    }

    fn value(&self) -> New<'_> {
        match self {
            Given::Text(text) => New::Str(text),
            Given::Json(document) => document.doc().root().into(),
        }
    }
}

pub(crate) fn set(args: &Set) -> Outcome {
    let value = Given::read(&args.value, args.string)?;
    let edit = match args.all {
        true => Edit::SetAll { query: query(&args.pointer, args.budget)?, value },
        false => Edit::Set { pointer: args.pointer.clone(), value, parents: args.parents },
    };
    run(&args.file, &args.editing, &[edit], args.value == "-" && !args.string)
}

pub(crate) fn remove(args: &Remove) -> Outcome {
    let edit = match args.all {
        true => Edit::RemoveAll { query: query(&args.pointer, args.budget)? },
        false => Edit::Remove { pointer: args.pointer.clone() },
    };
    run(&args.file, &args.editing, &[edit], false)
}

pub(crate) fn push(args: &Push) -> Outcome {
    let value = Given::read(&args.value, args.string)?;
    let edit = Edit::Push { pointer: args.pointer.clone(), value };
    run(&args.file, &args.editing, &[edit], args.value == "-" && !args.string)
}

pub(crate) fn merge(args: &Merge) -> Outcome {
    let edit = Edit::Merge(given(&args.patch)?, args.patch.clone());
    run(&args.file, &args.editing, &[edit], args.patch == Path::new("-"))
}

pub(crate) fn patch(args: &args::Patch) -> Outcome {
    let edits = args.patches.iter().map(|path| {
        let patch = Patch::from_value(given(path)?.doc(path)?)
            .map_err(|error| Failure::trouble(format!("{}: no JSON patch: {error}", name(path))))?;
        Ok(Edit::Patch(Box::new(patch), Some(path.clone())))
    });
    let edits = edits.collect::<Outcome<Vec<_>>>()?;
    let input_is_taken = args.patches.iter().any(|path| path == Path::new("-"));
    run(&args.file, &args.editing, &edits, input_is_taken)
}

pub(crate) fn edit(args: &EditAll) -> Outcome {
    let edits = operations(&args.operations)?;
    run(&args.file, &args.editing, &edits, args.operations.iter().any(|text| text == "-"))
}

/// Reads the operations of `livebuf edit`.
pub(crate) fn operations(arguments: &[String]) -> Outcome<Vec<Edit>> {
    let mut edits = Vec::new();
    for argument in arguments {
        if argument != "-" {
            edits.push(operation(argument)?);
            continue;
        }
        let text = String::from_utf8(read(Path::new("-"))?)
            .map_err(|error| Failure::trouble(format!("standard input: not UTF-8: {error}")))?;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            edits.push(operation(line)?);
        }
    }
    Ok(edits)
}

/// One operation: a word, a pointer, and a value or a second pointer.
fn operation(text: &str) -> Outcome<Edit> {
    let trouble = |what: &str| {
        Failure::trouble(format!("the operation {} {what}", quoted(text)))
            .with_hint("such as 'set /lap 56', 'push /laps 87.9', 'remove /note', 'move /a /b'")
    };
    let (word, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let (pointer, rest) = split_pointer(rest).map_err(trouble)?;
    let value = || match rest {
        "" => Err(trouble("has no value")),
        // `-` does not mean standard input here.
        _ => Given::json(rest),
    };
    let nothing = || if rest.is_empty() { Ok(()) } else { Err(trouble("goes on behind its end")) };
    match word {
        "set" => Ok(Edit::Set { value: value()?, pointer, parents: false }),
        "push" => Ok(Edit::Push { value: value()?, pointer }),
        "add" => match value()? {
            Given::Json(amount) if number(amount.doc().root()).is_some() => {
                Ok(Edit::Add { pointer, amount })
            }
            _ => Err(trouble("adds no number")),
        },
        "remove" => nothing().map(|()| Edit::Remove { pointer }),
        "test" => {
            let value = value()?;
            patch_of([("op", "test".into()), ("path", (&pointer).into()), ("value", value.value())])
        }
        "move" | "copy" => {
            let (target, rest) = split_pointer(rest).map_err(trouble)?;
            if !rest.is_empty() {
                return Err(trouble("goes on behind its end"));
            }
            patch_of([("op", word.into()), ("from", (&pointer).into()), ("path", (&target).into())])
        }
        _ => Err(trouble("begins with no word that edit knows")),
    }
}

/// A number that is added to another one.
#[derive(Clone, Copy)]
enum Number {
    Integer(i128),
    Float(f64),
}

/// The number that a value is, unless it has too many digits for the two kinds.
fn number(value: Value<'_>) -> Option<Number> {
    match value.kind() {
        Kind::Int => value.as_i64().map(|number| Number::Integer(number.into())),
        Kind::Uint => value.as_u64().map(|number| Number::Integer(number.into())),
        Kind::Float => value.as_f64().map(Number::Float),
        _ => None,
    }
}

impl Number {
    /// The sum of integers is an integer, other sums are floats. `None` if it is too large, or if an
    /// integer has more digits than a float keeps.
    fn plus(self, other: Number) -> Option<New<'static>> {
        if let (Number::Integer(one), Number::Integer(two)) = (self, other) {
            let sum = one + two;
            let unsigned = || u64::try_from(sum).map(New::Uint);
            return i64::try_from(sum).map(New::Int).or_else(|_| unsigned()).ok();
        }
        let float = |number| match number {
            Number::Float(float) => Some(float),
            Number::Integer(integer) => Some(integer as f64).filter(|&f| f as i128 == integer),
        };
        Some(float(self)? + float(other)?).filter(|sum| sum.is_finite()).map(New::Float)
    }
}

/// A pointer, in JSON's quotes if it has spaces, and the rest of an operation.
fn split_pointer(text: &str) -> Result<(String, &str), &'static str> {
    let text = text.trim();
    if !text.starts_with('"') {
        let (pointer, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        return match pointer {
            "" => Err("has a pointer too few; the whole document is \"\""),
            _ => Ok((pointer.to_owned(), rest.trim())),
        };
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    match values.next() {
        Some(Ok(pointer)) => Ok((pointer, text[values.byte_offset()..].trim())),
        _ => Err("has a pointer in quotes that is no JSON text"),
    }
}

/// A patch of one operation.
fn patch_of<const N: usize>(members: [(&str, New<'_>); N]) -> Outcome<Edit> {
    let made = || -> Result<Patch, PatchError> {
        let mut doc = DocBuf::new()?;
        doc.set_root(New::array(1))?;
        doc.set_pointer("/-", New::Fields(&members))?;
        Patch::from_doc(DocBuf::open(doc.as_bytes())?)
    };
    made()
        .map(|patch| Edit::Patch(Box::new(patch), None))
        .map_err(|error| not_patched(None, &error))
}

/// Steps of a query if the user sets no bound. Queries that end within minutes need far fewer in
/// valid documents.
const STEPS: u64 = 10_000_000_000;

/// Compiles a query, which takes so many steps at most.
pub(crate) fn query(text: &str, budget: Option<u64>) -> Outcome<Query> {
    let query = Query::parse(text).map(|query| query.with_budget(budget.unwrap_or(STEPS)));
    query.map_err(|error| {
        let failure = Failure::trouble(format!("{} is no query: {error}", quoted(text)));
        if text.is_empty() || text.starts_with('/') {
            return failure.with_hint("a query begins with $, such as '$.users[0].name'");
        }
        failure
    })
}

fn run(path: &Path, editing: &Editing, edits: &[Edit], input_is_taken: bool) -> Outcome {
    if path == Path::new("-") {
        if input_is_taken {
            return Err(Failure::trouble(
                "standard input cannot be both the document and what is done to it",
            ));
        }
        return filter(editing, edits);
    }
    let mut file = patiently(|| FileEdit::open(path)).map_err(|error| not_opened(path, &error))?;
    let counts = apply(path, editing, file.editor(), edits)?;
    let done = progress::during(&format!("writing {}", path.display()), || file.commit());
    let done = done.map_err(|error| Failure::io(path, &error))?;
    counts.iter().for_each(|count| tell(&shown(count)));
    if editing.verbose {
        told(path, done.bytes, done.places, done.used);
    }
    Ok(())
}

/// Edits a document from standard input, and writes it to standard output. Of JSON it makes a
/// document, and writes that as JSON.
fn filter(editing: &Editing, edits: &[Edit]) -> Outcome {
    let hint = "send it to a file or a pipe";
    let path = Path::new("-");
    let source = Source::open(path)?;
    let made = converted(path, source.bytes(), true)?;
    let bytes = match &made {
        Some((doc, _)) => doc.as_bytes(),
        None => source.doc(path)?.as_bytes(),
    };
    if made.is_none() {
        refuse_terminal(hint)?;
    }
    let failure = |error| Failure::document(path, error);
    let storage = VecStorage::from_slice(bytes).map_err(failure)?;
    let mut editor = Editor::open_unvalidated(storage).map_err(failure)?;
    editor.listen(Changes::default());
    let counts = apply(path, editing, &mut editor, edits)?;
    let mut out = Out::new();
    match made {
        Some((_, lines)) => out.write(&as_json(path, editor.doc(), lines)?)?,
        None => out.write(editor.as_bytes())?,
    }
    out.finish()?;
    counts.iter().for_each(|count| tell(&shown(count)));
    if editing.verbose {
        let (bytes, places) = editor.stop_listening::<Changes>().unwrap_or_default().count();
        told(path, bytes, places, editor.as_bytes().len() as u64);
    }
    Ok(())
}

pub(crate) fn told(path: &Path, bytes: u64, places: u64, used: u64) {
    let (name, bytes, used) = (name(path), counted(bytes, "byte"), grouped(used));
    let places = counted(places, "place");
    tell(&format!("{name}: wrote {bytes} of {used}, in {places}"));
}

/// Makes edits. The caller drops the document if one fails. Returns messages to print once the
/// edits are in the document.
pub(crate) fn apply<S: Storage>(
    path: &Path,
    editing: &Editing,
    editor: &mut Editor<S>,
    edits: &[Edit],
) -> Outcome<Vec<String>> {
    check(path, editing, editor)?;
    let mut counts = Vec::new();
    for (number, edit) in edits.iter().enumerate() {
        let count = make(path, editor, edit).map_err(|failure| match (failure, edits.len()) {
            (Failure::Trouble(message, hints), 2..) => {
                Failure::Trouble(format!("edit {}: {message}", number + 1), hints)
            }
            (Failure::No(message), 2..) => {
                Failure::trouble(format!("edit {}: {message}", number + 1))
            }
            (failure, _) => failure,
        })?;
        counts.extend(count);
    }
    Ok(counts)
}

/// Validates a document before it is edited, if that is wanted.
pub(crate) fn check<S: Storage>(path: &Path, editing: &Editing, editor: &mut Editor<S>) -> Outcome {
    if editing.no_validate {
        return Ok(());
    }
    let total = Some(editor.as_bytes().len() as u64);
    progress::counting(&format!("validating {}", name(path)), total, |done| {
        editor.validate_with(tally(done))
    })
    .map_err(|error| Failure::document(path, error).with_hint("a damaged document is not edited"))
}

/// Makes an edit. If it is one of all matches, answers how many there were.
fn make<S: Storage>(path: &Path, editor: &mut Editor<S>, edit: &Edit) -> Outcome<Option<String>> {
    let failure = |error| ended(path, error);
    let done = match edit {
        Edit::Set { pointer, value, parents: false } => {
            editor.set_pointer(pointer, value.value()).map(drop)
        }
        Edit::Set { pointer, value, parents: true } => {
            editor.set_pointer_with_parents(pointer, value.value())
        }
        Edit::Remove { pointer } => match editor.remove_pointer(pointer) {
            Ok(false) => {
                return Err(Failure::No(format!("{}: {pointer} is not there", name(path))));
            }
            done => done.map(drop),
        },
        Edit::Push { pointer, value } => match kind_at(editor, pointer) {
            Ok(Some(Kind::Array)) => {
                editor.set_pointer(&format!("{pointer}/-"), value.value()).map(drop)
            }
            Ok(Some(kind)) => {
                let hint = match kind {
                    Kind::Object => "livebuf set adds members to objects",
                    _ => "livebuf set replaces it",
                };
                let place = place(pointer);
                let message = format!("{}: {place} is {}, not an array", name(path), named(kind));
                return Err(Failure::trouble(message).with_hint(hint));
            }
            Ok(None) => Err(livebuf::Error::new(ErrorKind::NotFound, 0)),
            Err(error) => Err(error),
        },
        Edit::Add { pointer, amount } => match editor.doc().pointer(pointer) {
            Ok(Some(value)) => {
                let trouble = |what: &str| {
                    Failure::trouble(format!("{}: {} {what}", name(path), place(pointer)))
                };
                let Some(old) = number(value) else {
                    return Err(trouble(&match value.kind() {
                        Kind::NumberText => "has more digits than add keeps".into(),
                        Kind::Decimal => {
                            "is a decimal number; add adds to integers and floats".into()
                        }
                        kind => format!("is {}, not a number", named(kind)),
                    }));
                };
                match number(amount.doc().root()).and_then(|amount| old.plus(amount)) {
                    Some(sum) => editor.set_pointer(pointer, sum).map(drop),
                    None => return Err(trouble("would become a number that add cannot keep")),
                }
            }
            Ok(None) => Err(livebuf::Error::new(ErrorKind::NotFound, 0)),
            Err(error) => Err(error),
        },
        Edit::SetAll { query, value } => {
            let count = livebuf_query::set_all(editor, query, value.value()).map_err(failure)?;
            return all("set", path, query, count);
        }
        Edit::RemoveAll { query } => {
            let count = livebuf_query::remove_all(editor, query).map_err(failure)?;
            return all("removed", path, query, count);
        }
        Edit::Patch(patch, file) => {
            return patch
                .apply(editor)
                .map(|()| None)
                .map_err(|error| not_patched(file.as_deref(), &error));
        }
        Edit::Merge(patch, file) => {
            return livebuf_patch::merge(editor, patch.doc(file)?)
                .map(|()| None)
                .map_err(|error| Failure::trouble(format!("{}: {error}", name(path))));
        }
    };
    done.map(|()| None).map_err(|error| explain(path, editor, edit, error))
}

/// How many matches of a query were changed.
fn all(done: &str, path: &Path, query: &Query, count: usize) -> Outcome<Option<String>> {
    match count {
        0 => Err(nothing_found(path, query)),
        _ => Ok(Some(format!("{}: {done} {}", name(path), counted(count as u64, "value")))),
    }
}

/// An error of a search.
pub(crate) fn ended(path: &Path, error: livebuf::Error) -> Failure {
    match error.kind() {
        ErrorKind::BudgetExceeded => {
            let steps = grouped(error.detail());
            let message = format!("{}: the query takes more than {steps} steps", name(path));
            Failure::trouble(message)
                .with_hint("--budget STEPS allows more; or ask for less at once")
        }
        _ => Failure::document(path, error),
    }
}

pub(crate) fn nothing_found(path: &Path, query: &Query) -> Failure {
    Failure::No(format!("{}: {query} finds nothing", name(path)))
}

/// Why a patch could not be made or applied. If it is one operation of the command line, the
/// operation's number is left out.
fn not_patched(file: Option<&Path>, error: &PatchError) -> Failure {
    let message = error.to_string();
    Failure::trouble(match file {
        Some(file) => format!("{}: {message}", name(file)),
        None => message.split_once(", ").map_or(message.clone(), |(_, rest)| rest.to_owned()),
    })
}

fn kind_at<S: Storage>(editor: &Editor<S>, pointer: &str) -> livebuf::Result<Option<Kind>> {
    Ok(editor.doc().pointer(pointer)?.map(|value| value.kind()))
}

fn named(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Bool => "a boolean",
        Kind::Int | Kind::Uint | Kind::Float | Kind::NumberText => "a number",
        Kind::String => "text",
        Kind::Bytes => "bytes",
        Kind::Object => "an object",
        Kind::Array => "an array",
        Kind::Date => "a date",
        Kind::Time => "a time",
        Kind::DateTime => "a date and time",
        Kind::Timestamp => "a timestamp",
        Kind::Decimal => "a decimal number",
        Kind::Uuid => "a UUID",
        _ => "of an unknown kind",
    }
}

fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the root" } else { pointer }
}

/// Why an edit failed, in the terms of the command line.
fn explain<S: Storage>(
    path: &Path,
    editor: &Editor<S>,
    edit: &Edit,
    error: livebuf::Error,
) -> Failure {
    let (pointer, is_set) = match edit {
        Edit::Set { pointer, .. } => (pointer.as_str(), true),
        Edit::Remove { pointer } | Edit::Push { pointer, .. } | Edit::Add { pointer, .. } => {
            (pointer.as_str(), false)
        }
        _ => return Failure::document(path, error),
    };
    // The longest beginning of the pointer that leads to a value.
    let mut there = pointer;
    while kind_at(editor, there).ok().flatten().is_none() && !there.is_empty() {
        there = there.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    let kind = kind_at(editor, there).ok().flatten().unwrap_or(Kind::Null);
    let next = pointer[there.len()..].split('/').nth(1).unwrap_or("");
    let trouble = |what: String| Failure::trouble(format!("{}: {what}", name(path)));
    match error.kind() {
        ErrorKind::BadPointer => bad_pointer(pointer),
        ErrorKind::NotFound | ErrorKind::WrongType | ErrorKind::IndexOutOfRange => match kind {
            Kind::Object if is_set => trouble(format!("{there}/{next} is not there"))
                .with_hint("-p makes the objects on the way"),
            Kind::Object => trouble(format!("{there}/{next} is not there")),
            Kind::Array => {
                let length = editor
                    .doc()
                    .pointer(there)
                    .ok()
                    .flatten()
                    .and_then(|value| value.len().ok().flatten());
                let what = counted(length.unwrap_or(0) as u64, "element");
                let (place, next) = (place(there), quoted(next));
                let failure = trouble(format!("{place} has {what}, and none is {next}"));
                if is_set { failure.with_hint(format!("{there}/- appends")) } else { failure }
            }
            kind => trouble(format!("{} is {}, and has nothing in it", place(there), named(kind))),
        },
        _ => Failure::document(path, error),
    }
}
