//! Queries: the values that they find, or where these are, or rows of them.

use crate::args::Query as Arguments;
use crate::convert::print_options;
use crate::edit::{ended, nothing_found, query as compiled};
use crate::failure::{Failure, Outcome, name};
use crate::look::{Form, each_file};
use crate::sink::Out;
use crate::source::Source;
use crate::told::{shown, shown_pointer};
use livebuf::raw::pointer::{split_last, unescaped};
use livebuf::{Checked, Doc};
use livebuf_query::{Match, Query};
use std::path::Path;

pub(crate) fn query(args: &Arguments) -> Outcome {
    let query = compiled(&args.query, args.budget)?;
    let mut any = false;
    if args.csv {
        csv(args, &query, &mut any)?;
    } else {
        each_file(&args.files, |path| {
            any |= one(args, &query, path)?;
            Ok(())
        })?;
    }
    match args.files.as_slice() {
        _ if any => Ok(()),
        [path] => Err(nothing_found(path, &query)),
        _ => Err(Failure::No(format!("{query} finds nothing in these files"))),
    }
}

/// Prints what a query finds in a document. Returns whether it finds anything.
fn one(args: &Arguments, query: &Query, path: &Path) -> Outcome<bool> {
    let source = Source::load(path)?;
    if args.rows {
        return rows(query, path, source.validated(path)?);
    }
    let doc = source.doc(path)?;
    let mut form = Form::new(path, doc, args.raw, args.pretty);
    // All is found and rendered before any is printed, as `livebuf get` does.
    let mut rendered = Vec::new();
    let mut places = Vec::new();
    each(query, path, doc, |found| {
        match (args.paths, args.pointers) {
            // Their texts together may be long: they are made when they are printed.
            (true, _) | (_, true) => places.push(found.into_location()),
            _ => {
                let pointer = found.location().to_pointer();
                rendered.push(form.render(&pointer, found.value())?);
            }
        }
        Ok(())
    })?;
    let any = !places.is_empty() || !rendered.is_empty();
    let mut out = Out::new();
    let prefix = match args.files.len() {
        1 => String::new(),
        _ => format!("{}:", shown(&name(path))),
    };
    for place in places {
        let place = match args.paths {
            true => shown(&place.to_string()).into_owned(),
            false => shown_pointer(&place.to_pointer()).into_owned(),
        };
        out.line(&format!("{prefix}{place}"))?;
    }
    for value in rendered {
        form.print(&mut out, value)?;
    }
    out.finish()?;
    Ok(any)
}

/// Does something with each match.
fn each<'q, 'd: 'q>(
    query: &'q Query,
    path: &Path,
    doc: Doc<'d>,
    mut with: impl FnMut(Match<'q, 'd, Checked>) -> Outcome,
) -> Outcome {
    for found in query.find(doc) {
        with(found.map_err(|error| match error.kind() {
            livebuf::ErrorKind::BudgetExceeded => ended(path, error),
            _ => Failure::document(path, error).with_hint("livebuf validate tells more"),
        })?)?;
    }
    Ok(())
}

/// A row: the matches in one object or array, by their keys or indexes.
#[derive(Default)]
struct Row {
    parent: Option<String>,
    cells: Vec<(String, String)>,
}

/// Finds rows in a validated document. Returns whether there are any.
fn each_row(
    query: &Query,
    path: &Path,
    doc: Doc<'_>,
    mut with: impl FnMut(&[(String, String)]) -> Outcome,
) -> Outcome<bool> {
    let mut row = Row::default();
    let options = print_options(false);
    each(query, path, doc, |found| {
        let pointer = found.location().to_pointer();
        let last = split_last(&pointer).ok().flatten();
        let (parent, token) = last.unwrap_or(("", "value"));
        if row.parent.as_deref() != Some(parent) {
            if row.parent.is_some() {
                with(&row.cells)?;
            }
            row = Row { parent: Some(parent.to_owned()), cells: Vec::new() };
        }
        let key = unescaped(token).unwrap_or_default().into_owned();
        if row.cells.iter().all(|(other, _)| *other != key) {
            let text = livebuf_json::to_string_with(found.value(), &options).map_err(|error| {
                let place = shown_pointer(&pointer);
                Failure::trouble(format!("{}: {place}: {error}", name(path)))
            })?;
            row.cells.push((key, text));
        }
        Ok(())
    })?;
    if row.parent.is_some() {
        with(&row.cells)?;
    }
    Ok(row.parent.is_some())
}

/// Prints the matches of each object or array as an object.
fn rows(query: &Query, path: &Path, doc: Doc<'_>) -> Outcome<bool> {
    let mut text = String::new();
    let any = each_row(query, path, doc, |row| {
        let members = row.iter().map(|(key, value)| format!("{}:{value}", quoted(key)));
        text.push_str(&format!("{{{}}}\n", members.collect::<Vec<_>>().join(",")));
        Ok(())
    })?;
    print(&text)?;
    Ok(any)
}

/// Prints rows of all files as comma-separated values, below one line of keys. The columns are the
/// keys that the query names, or all that occur, in the order in which they do.
fn csv(args: &Arguments, query: &Query, any: &mut bool) -> Outcome {
    let mut columns: Vec<String> = query.names().into_iter().map(str::to_owned).collect();
    let is_known = !columns.is_empty();
    let mut sources = Vec::new();
    let mut print_rows = |columns: &[String], path: &Path, doc: Doc<'_>| {
        let mut text = String::new();
        let found = each_row(query, path, doc, |row| {
            let mut cells = vec![String::new(); columns.len()];
            let mut at = 0;
            for (key, value) in row {
                if let Some(place) = position(columns, at, key) {
                    cells[place] = cell(value);
                    at = place + 1;
                }
            }
            line(&mut text, cells);
            Ok(())
        })?;
        if found && !*any {
            let mut keys = String::new();
            line(&mut keys, columns.iter().map(|column| field(column)));
            text.insert_str(0, &keys);
        }
        *any |= found;
        print(&text)
    };
    let done = each_file(&args.files, |path| {
        let source = Source::load(path)?;
        if is_known {
            return print_rows(&columns, path, source.validated(path)?);
        }
        each_row(query, path, source.validated(path)?, |row| {
            let mut at = 0;
            for (key, _) in row {
                let place = position(&columns, at, key);
                at = place.unwrap_or(columns.len()) + 1;
                if place.is_none() {
                    columns.push(key.clone());
                }
            }
            Ok(())
        })?;
        sources.push((path.to_path_buf(), source));
        Ok(())
    });
    for (path, source) in &sources {
        print_rows(&columns, path, source.doc(path)?)?;
    }
    done
}

/// Where a column is: most often the next one.
fn position(columns: &[String], next: usize, key: &str) -> Option<usize> {
    match columns.get(next) {
        Some(column) if column == key => Some(next),
        _ => columns.iter().position(|column| column == key),
    }
}

/// Text in JSON's quotes.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A line of comma-separated values (RFC 4180). A line of one empty field would be blank.
fn line(text: &mut String, fields: impl IntoIterator<Item = String>) {
    let fields: Vec<String> = fields.into_iter().collect();
    match fields.as_slice() {
        [field] if field.is_empty() => text.push_str("\"\""),
        fields => text.push_str(&fields.join(",")),
    }
    text.push('\n');
}

/// A value of CSV: text as it is, nothing for null, other values as JSON.
fn cell(json: &str) -> String {
    match json {
        "null" => String::new(),
        json if json.starts_with('"') => {
            field(&serde_json::from_str::<String>(json).unwrap_or_default())
        }
        json => field(json),
    }
}

/// A field of CSV, in quotes where it needs them.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

fn print(text: &str) -> Outcome {
    let mut out = Out::new();
    out.write(text.as_bytes())?;
    out.finish()
}
