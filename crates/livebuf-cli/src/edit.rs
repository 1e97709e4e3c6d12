//! Edits of a file, all or nothing, and of standard input, as a filter.

use crate::args::{Editing, Push, Remove, Set};
use crate::convert::{not_read, too_deep};
use crate::failure::{Failure, Outcome, counted, grouped, name};
use crate::look::bad_pointer;
use crate::progress;
use crate::sink::{Out, refuse_terminal};
use crate::source::{Source, not_opened, patiently, read, tally};
use livebuf::layout::MAX_NESTING;
use livebuf::mapped::{Changes, FileEdit};
use livebuf::{DocBuf, Editor, ErrorKind, Kind, New, Observer, Storage, VecStorage};
use std::path::Path;

/// What is done to a document.
enum Edit<'a> {
    /// With `parents` the missing containers on the way are made.
    Set {
        pointer: &'a str,
        value: &'a Given,
        parents: bool,
    },
    Remove {
        pointer: &'a str,
    },
    Push {
        pointer: &'a str,
        value: &'a Given,
    },
}

/// A value from the command line.
enum Given {
    Text(String),
    Json(Box<DocBuf>),
}

impl Given {
    fn read(argument: &str, is_text: bool) -> Outcome<Given> {
        if is_text {
            return Ok(Given::Text(argument.to_owned()));
        }
        let standard_input = Path::new("-");
        let text = match argument {
            "-" => read(standard_input)?,
            _ => argument.as_bytes().to_vec(),
        };
        livebuf_json::from_slice(&text).map(|doc| Given::Json(Box::new(doc))).map_err(|error| {
            if argument == "-" {
                return not_read(standard_input, &text, true, &error);
            }
            if error.kind() == livebuf_json::ErrorKind::NestingLimit {
                return Failure::trouble(format!("the value is {}", too_deep(&error)));
            }
            Failure::trouble(format!("the value {argument:?} is not JSON: {error}")).with_hint(
                "for text give --string, or JSON's quotes within the shell's: '\"text\"'",
            )
        })
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
    let edit = Edit::Set { pointer: &args.pointer, value: &value, parents: args.parents };
    run(&args.file, &args.editing, &edit, args.value == "-" && !args.string)
}

pub(crate) fn remove(args: &Remove) -> Outcome {
    run(&args.file, &args.editing, &Edit::Remove { pointer: &args.pointer }, false)
}

pub(crate) fn push(args: &Push) -> Outcome {
    let value = Given::read(&args.value, args.string)?;
    let edit = Edit::Push { pointer: &args.pointer, value: &value };
    run(&args.file, &args.editing, &edit, args.value == "-" && !args.string)
}

fn run(path: &Path, editing: &Editing, edit: &Edit<'_>, input_is_taken: bool) -> Outcome {
    if path == Path::new("-") {
        if input_is_taken {
            return Err(Failure::trouble(
                "standard input cannot be both the document and the value",
            ));
        }
        return filter(editing, edit);
    }
    let mut file = patiently(|| FileEdit::open(path)).map_err(|error| not_opened(path, &error))?;
    apply(path, editing, file.editor(), edit)?;
    let done = progress::during(&format!("writing {}", path.display()), || file.commit());
    let done = done.map_err(|error| Failure::io(path, &error))?;
    if editing.verbose {
        told(path, done.bytes, done.places, done.used);
    }
    Ok(())
}

/// Edits a document from standard input, and writes it to standard output.
fn filter(editing: &Editing, edit: &Edit<'_>) -> Outcome {
    let hint = "send it to a file or a pipe";
    refuse_terminal(hint)?;
    let path = Path::new("-");
    let source = Source::open(path)?;
    let bytes = source.doc(path)?.as_bytes();
    let failure = |error| Failure::document(path, error);
    let storage = VecStorage::from_slice(bytes).map_err(failure)?;
    let mut editor = Editor::open_unvalidated_with(storage, Changes::default()).map_err(failure)?;
    apply(path, editing, &mut editor, edit)?;
    let mut out = Out::binary(hint)?;
    out.write(editor.as_bytes())?;
    out.finish()?;
    if editing.verbose {
        let (bytes, places) = editor.observer().count();
        told(path, bytes, places, editor.as_bytes().len() as u64);
    }
    Ok(())
}

fn told(path: &Path, bytes: u64, places: u64, used: u64) {
    let (name, bytes, used) = (name(path), counted(bytes, "byte"), grouped(used));
    let places = counted(places, "place");
    anstream::eprintln!("{name}: wrote {bytes} of {used}, in {places}");
}

fn apply<S: Storage, O: Observer>(
    path: &Path,
    editing: &Editing,
    editor: &mut Editor<S, O>,
    edit: &Edit<'_>,
) -> Outcome {
    // Documents may be as deep as the format allows, and are edited there, too.
    let mut limits = editor.limits();
    limits.nesting = MAX_NESTING;
    editor.set_limits(limits);
    if !editing.no_validate {
        let total = Some(editor.as_bytes().len() as u64);
        progress::counting(&format!("validating {}", name(path)), total, |done| {
            editor.validate_with(tally(done))
        })
        .map_err(|error| {
            Failure::document(path, error).with_hint("a damaged document is not edited")
        })?;
    }
    match *edit {
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
    }
    .map_err(|error| explain(path, editor, edit, error))
}

fn kind_at<S: Storage, O: Observer>(
    editor: &Editor<S, O>,
    pointer: &str,
) -> livebuf::Result<Option<Kind>> {
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
fn explain<S: Storage, O: Observer>(
    path: &Path,
    editor: &Editor<S, O>,
    edit: &Edit<'_>,
    error: livebuf::Error,
) -> Failure {
    let (pointer, is_set) = match edit {
        Edit::Set { pointer, .. } => (*pointer, true),
        Edit::Remove { pointer } | Edit::Push { pointer, .. } => (*pointer, false),
    };
    // The longest beginning of the pointer that leads to a value.
    let mut there = pointer;
    while kind_at(editor, there).ok().flatten().is_none() && !there.is_empty() {
        there = there.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    let kind = kind_at(editor, there).ok().flatten().unwrap_or(Kind::Null);
    let next = pointer[there.len()..].split('/').nth(1).unwrap_or("");
    let trouble = |what: String| Failure::Trouble(format!("{}: {what}", name(path)));
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
                let failure = trouble(format!("{} has {what}, and none is {next:?}", place(there)));
                if is_set { failure.with_hint(format!("{there}/- appends")) } else { failure }
            }
            kind => trouble(format!("{} is {}, and has nothing in it", place(there), named(kind))),
        },
        _ => Failure::document(path, error),
    }
}
