//! Reading: single values, keys, validation, statistics.

use crate::args::{Get, Keys, Stats, Validate};
use crate::columns::{self, Columns};
use crate::convert::{is_printable, not_printed, print_options};
use crate::failure::{Failure, Outcome, counted, grouped, is_damage, name};
use crate::progress;
use crate::sink::{Out, refuse_terminal};
use crate::source::{Source, not_a_document};
use comfy_table::{CellAlignment, Table};
use livebuf::{Doc, ErrorKind, Kind, Object, Value};
use std::io::{self, Write};
use std::ops::Bound;
use std::path::Path;

/// The value at a pointer; `None` where there is none.
pub(crate) fn find<'d>(path: &Path, doc: Doc<'d>, pointer: &str) -> Outcome<Option<Value<'d>>> {
    doc.pointer(pointer).map_err(|error| match error.kind() {
        ErrorKind::BadPointer => bad_pointer(pointer),
        _ => Failure::document(path, error).with_hint("livebuf validate tells more"),
    })
}

pub(crate) fn bad_pointer(pointer: &str) -> Failure {
    let failure = Failure::trouble(format!("{pointer:?} is not a JSON pointer"));
    if !pointer.is_empty() && !pointer.starts_with('/') {
        failure.with_hint(format!("it begins with a slash: \"/{pointer}\""))
    } else {
        failure.with_hint("in a key, ~1 stands for / and ~0 for ~")
    }
}

fn not_there(path: &Path, pointer: &str) -> Failure {
    Failure::No(format!("{}: {pointer} is not there", name(path)))
}

pub(crate) fn get(args: &Get) -> Outcome {
    let source = Source::open(&args.file)?;
    let doc = source.doc(&args.file)?;
    // All values are rendered before any is printed. So damage, bad pointers and values that
    // JSON cannot hold are found before.
    let mut missing = None;
    let mut rendered = Vec::new();
    let mut room = KEPT;
    let form = Form { file: &args.file, raw: args.raw, pretty: args.pretty };
    for pointer in &args.pointers {
        match find(&args.file, doc, pointer)? {
            Some(value) => rendered.push(form.render(pointer, value, &mut room)?),
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
pub(crate) const KEPT: u64 = 16 << 20;

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
    pub(crate) file: &'a Path,
    /// Text without quotes, and bytes as they are.
    pub(crate) raw: bool,
    pub(crate) pretty: bool,
}

impl Form<'_> {
    /// `room` is how many bytes of memory are left for rendered values.
    pub(crate) fn render<'d>(
        &self,
        pointer: &str,
        value: Value<'d>,
        room: &mut u64,
    ) -> Outcome<Rendered<'d>> {
        let damaged = |error| Failure::document(self.file, error);
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
            livebuf_json::ErrorKind::NotFinite => self.not_finite(pointer, value),
            _ => not_printed(self.file, error),
        };
        let options = print_options(self.pretty);
        match livebuf_json::to_string_with(value, &options.clone().max_bytes(*room)) {
            Ok(text) => {
                *room -= text.len() as u64;
                Ok(Rendered::Json(text))
            }
            Err(error) if error.kind() == livebuf_json::ErrorKind::OutputLimit => {
                // In a damaged document values may alias, so that the text would have no end.
                value.regions(|_| {}).map_err(damaged)?;
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

    fn not_finite(&self, pointer: &str, value: Value<'_>) -> Failure {
        let place = if pointer.is_empty() { "the root" } else { pointer };
        let holds = if value.kind() == Kind::Float { "is" } else { "holds" };
        Failure::trouble(format!(
            "{}: {place} {holds} an infinity or NaN, which JSON does not have",
            name(self.file)
        ))
        .with_hint("livebuf to-json --non-finite null prints the document with null for it")
    }
}

pub(crate) fn keys(args: &Keys) -> Outcome {
    let source = Source::open(&args.file)?;
    let doc = source.doc(&args.file)?;
    let Some(value) = find(&args.file, doc, &args.pointer)? else {
        return Err(not_there(&args.file, &args.pointer));
    };
    let damaged = |error| Failure::document(&args.file, error);
    let Some(object) = value.as_object().map_err(damaged)? else {
        let what = match value.kind() {
            Kind::Array => "an array",
            _ => "no object",
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
        // serde_json escapes as livebuf-json does.
        serde_json::to_writer(out.writer(), key).map_err(|error| Failure::output(&error.into()))?;
        out.line("")
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
    let source = Source::open(&args.file)?;
    let name = name(&args.file);
    let bytes = source.bytes();
    let valid = || {
        let doc = Doc::open(bytes)?;
        crate::source::validate(&args.file, doc)?;
        Ok(doc)
    };
    let doc = match valid() {
        Ok(doc) => doc,
        // "Damaged" is an answer. Other errors mean that there is none.
        Err(error) if is_damage(error) || error.kind() == ErrorKind::NestingLimit => {
            let message = format!("{name}: damaged: {error}");
            return Err(Failure::No(if args.quiet { String::new() } else { message }));
        }
        Err(error) => return Err(not_a_document(&args.file, bytes, error)),
    };
    if !args.quiet {
        let mut out = Out::new();
        out.line(&format!("{name}: valid, {}", counted(doc.as_bytes().len() as u64, "byte")))?;
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
    let source = Source::open(&args.file)?;
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
