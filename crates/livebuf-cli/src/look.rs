//! Reading: single values, keys, validation, statistics.

use crate::args::{Get, Keys, Stats, Validate};
use crate::columns::{self, Columns};
use crate::convert::{is_printable, not_printed, print_options};
use crate::failure::{Failure, Outcome, counted, grouped, is_damage, name};
use crate::log::validated;
use crate::progress;
use crate::sink::{Out, refuse_terminal};
use crate::source::{Source, is_log, log, not_a_document, told_torn};
use crate::told::shown;
use comfy_table::{CellAlignment, Table};
use livebuf::{Doc, ErrorKind, Kind, Object, Value};
use livebuf_json::quoted;
use std::io::{self, Write};
use std::ops::Bound;
use std::path::{Path, PathBuf};

/// The value at a pointer; `None` where there is none.
pub(crate) fn find<'d>(path: &Path, doc: Doc<'d>, pointer: &str) -> Outcome<Option<Value<'d>>> {
    doc.pointer(pointer).map_err(|error| match error.kind() {
        ErrorKind::BadPointer => bad_pointer(pointer),
        _ => Failure::document(path, error).with_hint("livebuf validate tells more"),
    })
}

pub(crate) fn bad_pointer(pointer: &str) -> Failure {
    let failure = Failure::trouble(format!("{} is not a JSON pointer", quoted(pointer)));
    if !pointer.is_empty() && !pointer.starts_with('/') {
        failure.with_hint(format!("it begins with a slash: \"/{pointer}\""))
    } else {
        failure.with_hint("in a key, ~1 stands for / and ~0 for ~")
    }
}

pub(crate) fn not_there(path: &Path, pointer: &str) -> Failure {
    Failure::No(format!("{}: {pointer} is not there", name(path)))
}

pub(crate) fn get(args: &Get) -> Outcome {
    let source = Source::load(&args.file)?;
    let doc = source.doc(&args.file)?;
    // All values are rendered before any is printed. So damage, bad pointers and values that
    // JSON cannot hold are found before.
    let mut missing = None;
    let mut rendered = Vec::new();
    let mut form = Form::new(&args.file, doc, args.raw, args.pretty);
    for pointer in &args.pointers {
        match find(&args.file, doc, pointer)? {
            Some(value) => rendered.push(form.render(pointer, value)?),
            None => missing = missing.or(Some(pointer)),
        }
    }
    let mut out = Out::new();
    for value in rendered {
        form.print(&mut out, value)?;
    }
    out.finish()?;
    match missing {
        Some(pointer) => Err(not_there(&args.file, pointer)),
        None => Ok(()),
    }
}

/// Most bytes of JSON that are kept in memory before they are printed.
const KEPT: u64 = 16 << 20;

/// A value that is certain to be printed without an error.
pub(crate) enum Rendered<'d> {
    Json(String),
    Text(&'d str),
    Bytes(&'d [u8]),
    /// Too long to be kept. It was checked, and is rendered when it is printed.
    Long(Value<'d>),
}

/// How values are printed.
pub(crate) struct Form<'a> {
    file: &'a Path,
    doc: Doc<'a>,
    /// Text without quotes, and bytes as they are.
    raw: bool,
    pretty: bool,
    /// How many bytes of memory are left for rendered values.
    room: u64,
    /// How many bytes were validated, each counted as often as that was done.
    validated: u64,
}

impl<'a> Form<'a> {
    pub(crate) fn new(file: &'a Path, doc: Doc<'a>, raw: bool, pretty: bool) -> Form<'a> {
        Form { file, doc, raw, pretty, room: KEPT, validated: 0 }
    }

    /// Validates a value; or once the whole document, when values took as much work as that. A
    /// validation begins with a map of the document's bytes, a 64th of its size.
    fn validate(&mut self, value: Value<'_>) -> livebuf::Result<()> {
        let whole = self.doc.as_bytes().len() as u64;
        if self.validated < whole {
            self.validated += whole / 64 + 1;
            value.regions(|region| self.validated += region.length)?;
            if self.validated >= whole {
                return crate::source::validate(self.file, self.doc);
            }
        }
        Ok(())
    }

    pub(crate) fn render<'d>(&mut self, pointer: &str, value: Value<'d>) -> Outcome<Rendered<'d>> {
        let file = self.file;
        let damaged = |error| Failure::document(file, error);
        if self.raw {
            if let Some(text) = value.as_str().map_err(damaged)? {
                return Ok(Rendered::Text(text));
            }
            if let Some(bytes) = value.as_bytes().map_err(damaged)? {
                refuse_terminal("send it to a file or a pipe")?;
                return Ok(Rendered::Bytes(bytes));
            }
        }
        let failure = |error: &livebuf_json::Error| match error.kind() {
            livebuf_json::ErrorKind::NotFinite => not_finite(file, pointer, value),
            _ => not_printed(file, error),
        };
        let options = print_options(self.pretty);
        match livebuf_json::to_string_with(value, &options.clone().max_bytes(self.room)) {
            Ok(text) => {
                self.room -= text.len() as u64;
                Ok(Rendered::Json(text))
            }
            Err(error) if error.kind() == livebuf_json::ErrorKind::OutputLimit => {
                // Later values will not be kept either.
                self.room = 0;
                // In a damaged document values may alias, so that the text would have no end.
                self.validate(value).map_err(damaged)?;
                if !is_printable(value, false).map_err(damaged)? {
                    livebuf_json::to_writer(io::sink(), value, &options)
                        .map_err(|error| failure(&error))?;
                }
                Ok(Rendered::Long(value))
            }
            Err(error) => Err(failure(&error)),
        }
    }

    pub(crate) fn print(&self, out: &mut Out, value: Rendered<'_>) -> Outcome {
        match value {
            Rendered::Json(text) => out.line(&text),
            Rendered::Text(text) => out.line(text),
            Rendered::Bytes(bytes) => out.write(bytes),
            Rendered::Long(value) => {
                livebuf_json::to_writer(out.writer(), value, &print_options(self.pretty))
                    .map_err(|error| not_printed(self.file, &error))?;
                out.line("")
            }
        }
    }
}

fn not_finite(file: &Path, pointer: &str, value: Value<'_>) -> Failure {
    let place = if pointer.is_empty() { "the root" } else { pointer };
    let holds = if value.kind() == Kind::Float { "is" } else { "holds" };
    Failure::trouble(format!(
        "{}: {place} {holds} an infinity or NaN, which JSON does not have",
        name(file)
    ))
    .with_hint("livebuf to-json --non-finite null prints the document with null for it")
}

pub(crate) fn keys(args: &Keys) -> Outcome {
    let source = Source::load(&args.file)?;
    let doc = source.doc(&args.file)?;
    let Some(value) = find(&args.file, doc, &args.pointer)? else {
        return Err(not_there(&args.file, &args.pointer));
    };
    let damaged = |error| Failure::document(&args.file, error);
    let Some(object) = value.as_object().map_err(damaged)? else {
        let what = match value.len().map_err(damaged)? {
            Some(length) if value.kind() == Kind::Array => {
                format!("an array of {}", counted(length as u64, "element"))
            }
            _ => "no object".to_owned(),
        };
        let place = if args.pointer.is_empty() { "the root" } else { &args.pointer };
        return Err(Failure::trouble(format!("{}: {place} is {what}", name(&args.file)))
            .with_hint("only objects have keys"));
    };
    let mut out = Out::new();
    each_key(args, object, |key| {
        let key = key.map_err(damaged)?;
        if args.raw {
            return out.line(key);
        }
        // serde_json escapes as livebuf-json does, and leaves the controls from U+007F on.
        out.line(&shown(&serde_json::Value::from(key).to_string()))
    })?;
    out.finish()
}

fn each_key<'d>(
    args: &Keys,
    object: Object<'d, livebuf::Checked>,
    mut with: impl FnMut(livebuf::Result<&'d str>) -> Outcome,
) -> Outcome {
    match (&args.prefix, &args.from, &args.to) {
        (Some(prefix), ..) => {
            object.prefix(prefix).try_for_each(|member| with(member.map(|(key, _)| key)))
        }
        (None, None, None) => object.keys().try_for_each(with),
        (None, from, to) => {
            let from = from.as_deref().map_or(Bound::Unbounded, Bound::Included);
            let to = to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            object.range((from, to)).try_for_each(|member| with(member.map(|(key, _)| key)))
        }
    }
}

pub(crate) fn validate(args: &Validate) -> Outcome {
    each_file(&args.files, |path| validate_one(path, args.quiet))
}

/// Does something with each of several files. What fails is told, and the rest goes on.
pub(crate) fn each_file(files: &[PathBuf], mut with: impl FnMut(&Path) -> Outcome) -> Outcome {
    if let [file] = files {
        return with(file);
    }
    let mut worst = 0;
    for file in files {
        match with(file) {
            Err(Failure::BrokenPipe) => return Err(Failure::BrokenPipe),
            Err(failure) => worst = worst.max(failure.tell()),
            Ok(()) => {}
        }
    }
    // The failures were told already.
    match worst {
        0 => Ok(()),
        1 => Err(Failure::No(String::new())),
        _ => Err(Failure::trouble("")),
    }
}

/// Validates a log, and says that it is one.
fn validate_log(path: &Path, source: &Source, quiet: bool) -> Outcome {
    let log = log(path, source)?;
    validated(path, &log)?;
    if !quiet {
        let mut out = Out::new();
        let (name, rows) = (name(path), counted(log.len(), "row"));
        out.line(&format!("{}: valid, a log of {rows}", shown(&name)))?;
        out.finish()?;
    }
    told_torn(path, log.torn());
    Ok(())
}

fn validate_one(path: &Path, quiet: bool) -> Outcome {
    let source = Source::open(path)?;
    let name = name(path);
    let bytes = source.bytes();
    if is_log(bytes) {
        return validate_log(path, &source, quiet);
    }
    let valid = || {
        let doc = Doc::open(bytes)?;
        crate::source::validate(path, doc)?;
        Ok(doc)
    };
    let doc = match valid() {
        Ok(doc) => doc,
        // "Damaged" is an answer. Other errors mean that there is none.
        Err(error) if is_damage(error) || error.kind() == ErrorKind::NestingLimit => {
            let message = format!("{name}: damaged: {error}");
            return Err(Failure::No(if quiet { String::new() } else { message }));
        }
        Err(error) => return Err(not_a_document(path, bytes, error)),
    };
    if !quiet {
        let mut out = Out::new();
        let bytes = counted(doc.as_bytes().len() as u64, "byte");
        out.line(&format!("{}: valid, {bytes}", shown(&name)))?;
        out.finish()?;
    }
    Ok(())
}

/// Counts what is written to it.
#[derive(Default)]
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn stats(args: &Stats) -> Outcome {
    let source = Source::load(&args.file)?;
    let doc = source.doc(&args.file)?;
    let (stats, json) = progress::during(&format!("looking at {}", name(&args.file)), || {
        let stats = doc.stats().map_err(|error| Failure::document(&args.file, error))?;
        let options = print_options(false).non_finite(livebuf_json::NonFinite::Null);
        let mut counter = Counter::default();
        let json = match livebuf_json::to_writer(&mut counter, doc.root(), &options) {
            Ok(()) => Ok(counter.0),
            // The statistics come from a validation, so this is no damage but a reserved tag.
            Err(error) if error.kind() == livebuf_json::ErrorKind::Document => Err(error),
            Err(error) => return Err(not_printed(&args.file, &error)),
        };
        Ok((stats, json))
    })?;

    let sizes = [
        ("text", stats.text),
        ("records", stats.records),
        ("shapes", stats.shapes),
        ("arrays", stats.arrays),
        ("tables", stats.tables),
        ("maps", stats.maps),
        ("index nodes", stats.index),
        ("header and aux", stats.overhead),
        ("live", stats.live()),
        ("free", stats.free),
        // Nothing refers to either of them, so the statistics cannot tell them apart.
        ("garbage and padding", stats.garbage),
        ("used", stats.used),
    ];
    let has_columns = stats.table_count > 0 || stats.array_count > 0;
    let columns = if has_columns { columns::of(doc.root()) } else { Columns::default() };
    let mut out = Out::new();
    if args.json {
        let sizes: serde_json::Map<_, _> =
            sizes.map(|(what, bytes)| (what.to_owned(), bytes.into())).into_iter().collect();
        let mut all = serde_json::json!({
            "bytes": sizes,
            "values": stats.values, "objects": stats.objects, "arrays": stats.array_count,
            "depth": stats.depth, "tables": stats.table_count,
            "json_bytes": json.ok(),
        });
        for (name, value) in columns::to_json(&columns) {
            all[name] = value;
        }
        out.line(&format!("{all:#}"))?;
        return out.finish();
    }
    let percent = |bytes: u64| format!("{:.1} %", 100.0 * bytes as f64 / stats.used as f64);
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(vec!["", "bytes", "of used"]);
    for (what, bytes) in sizes {
        table.add_row(vec![what.to_owned(), grouped(bytes), percent(bytes)]);
    }
    for column in 1..3 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    out.line(&table.trim_fmt())?;
    out.line("")?;
    out.line(&format!(
        "{}: {}, {}, nested {} deep",
        counted(stats.values, "value"),
        counted(stats.objects, "object"),
        counted(stats.array_count, "array"),
        stats.depth
    ))?;
    out.line(&match json {
        Ok(json) => format!(
            "as JSON, compact: {}; the document is {:.2} of it",
            counted(json, "byte"),
            stats.used as f64 / json as f64
        ),
        Err(error) => format!("not as JSON, to compare: {error}"),
    })?;
    columns::list(&mut out, &columns, &stats)?;
    out.finish()
}
