//! `livebuf demo`: what a document costs and saves, shown on the reader's own JSON.
//!
//! Everything is measured here and now, and checked at the end: the edited document must print
//! what serde_json prints after the same edits.

mod pick;
mod time;

use crate::args::Demo;
use crate::failure::{Failure, Outcome, counted, grouped, name};
use crate::progress;
use crate::sink::{NewFile, Out, check_new_file, colours};
use crate::source::{not_read, read};
use anstyle::{AnsiColor, Style};
use livebuf::mapped::Changes;
use livebuf::mapped::FileEdit;
use livebuf::{Doc, DocBuf, Editor, Kind, New, Storage, Valid, Value, VecStorage};
use pick::Picked;
use serde_json::Value as Json;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use time::{in_two_steps, on_fresh, repeated, shown};

/// One edit, to be made on a document and on serde_json's tree.
struct Edit {
    verb: &'static str,
    pointer: String,
    /// The new value; `None` to remove.
    value: Option<Json>,
}

pub(crate) fn demo(args: &Demo) -> Outcome {
    // Refused before the demo begins, if it cannot be written.
    if let Some(path) = &args.output {
        check_new_file(path, args.force)?;
    }
    let (title, path, text) = match &args.file {
        Some(path) => (name(path), path.clone(), read(path)?),
        None => {
            let title = "cargo metadata --format-version 1".to_owned();
            (title, Path::new("the output of cargo metadata").into(), cargo_metadata()?)
        }
    };
    let mut show = Show { out: Out::new(), colours: colours() };
    let document = livebuf_json::from_slice(&text).map_err(|error| not_read(&path, &error))?;
    let valid = document.valid().map_err(|_| Failure::trouble("the document is not trusted"))?;
    let tree: Json = serde_json::from_slice(&text)
        .map_err(|error| Failure::trouble(format!("{title}: serde_json says: {error}")))?;
    let picked = pick::pick(valid.root());

    let edits = edits(valid, &picked);

    show.convert(&title, &text, valid)?;
    let json = AsJson::measure(&text, &picked, edits.first());
    show.look(&json, valid, &picked)?;
    show.edit(&json, &document, &edits)?;
    if let Some(path) = &args.output {
        show.file(path, args.force, &document, &edits)?;
    }
    show.prove(document, tree, &edits)?;
    show.out.finish()
}

/// What cargo prints for the workspace here, or, offline, for as much of it as is there.
fn cargo_metadata() -> Outcome<Vec<u8>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut said = String::new();
    for more in [&[][..], &["--offline"], &["--offline", "--no-deps"]] {
        let output = progress::during("cargo metadata", || {
            Command::new(&cargo).args(["metadata", "--format-version", "1"]).args(more).output()
        });
        match output {
            Ok(output) if output.status.success() => return Ok(output.stdout),
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr);
                said = text.lines().next().unwrap_or_default().to_owned();
            }
            Err(error) => said = error.to_string(),
        }
    }
    Err(Failure::trouble(format!("cargo metadata: {said}"))
        .with_hint("give a JSON file: livebuf demo FILE"))
}

// --- counting what reads touch ------------------------------------------------------

/// Does the work. Returns how many bytes of documents it read, if this build can count them.
fn bytes_read(work: impl FnOnce()) -> Option<u64> {
    #[cfg(feature = "trace")]
    {
        livebuf::trace::start();
        work();
        let bytes = livebuf::trace::bytes();
        livebuf::trace::stop();
        Some(bytes)
    }
    #[cfg(not(feature = "trace"))]
    {
        work();
        None
    }
}

// --- the edits ------------------------------------------------------------------------

fn edits(doc: Doc<'_, Valid>, picked: &Picked) -> Vec<Edit> {
    let at = |pointer: &str| doc.pointer(pointer);
    let mut edits = Vec::new();
    if let Some(pointer) = &picked.number {
        let value = match at(pointer) {
            Some(value) if value.as_i64().is_some_and(|number| number < i64::MAX) => {
                Json::from(value.as_i64().unwrap_or(0) + 1)
            }
            Some(value) if value.kind() == Kind::Float => {
                Json::from(value.as_f64().unwrap_or(0.0) / 2.0)
            }
            _ => Json::from(1),
        };
        edits.push(Edit { verb: "set", pointer: pointer.clone(), value: Some(value) });
    }
    if let Some(pointer) = &picked.text {
        let text = at(pointer).and_then(|value| value.as_str()).unwrap_or_default();
        let value = Json::from(format!("{text}, and longer than it was before"));
        edits.push(Edit { verb: "set", pointer: pointer.clone(), value: Some(value) });
    }
    if let Some(pointer) = &picked.member {
        edits.push(Edit { verb: "remove", pointer: pointer.clone(), value: None });
    }
    if let Some(array) = &picked.array {
        let last = at(array).and_then(|value| value.as_array()?.iter().next_back());
        let value = match last.map(|value| value.kind()) {
            Some(Kind::Int | Kind::Uint | Kind::Float) => {
                last.and_then(|value| Some(Json::from(value.as_f64()?))).unwrap_or_default()
            }
            Some(Kind::Bool) => Json::from(true),
            Some(Kind::Array) => Json::Array(Vec::new()),
            Some(Kind::Object) => serde_json::json!({"name": "pushed", "by": "livebuf demo"}),
            _ => Json::from("pushed by livebuf demo"),
        };
        // Done twice: the first push may have to move the array to where it has room.
        for _ in 0..2 {
            edits.push(Edit { verb: "push", pointer: array.clone(), value: Some(value.clone()) });
        }
    }
    edits
}

impl Edit {
    /// The new value as a document of its own, made before the clock runs.
    fn new_value(&self) -> Outcome<DocBuf> {
        livebuf_json::from_str(&self.value.as_ref().unwrap_or(&Json::Null).to_string())
            .map_err(|error| Failure::trouble(format!("a value of the demo: {error}")))
    }

    fn apply<S: Storage>(&self, editor: &mut Editor<S>, value: &DocBuf) -> livebuf::Result<()> {
        let root = value.doc().root();
        let new = match (root.as_i64(), root.as_f64(), root.as_str()?) {
            (Some(number), ..) => New::Int(number),
            (_, Some(number), _) => New::Float(number),
            (.., Some(text)) => New::Str(text),
            _ => root.into(),
        };
        match self.verb {
            "remove" => editor.remove_pointer(&self.pointer).map(drop),
            "push" => {
                let array = editor.find(&self.pointer)?;
                let missing = livebuf::Error::new(livebuf::ErrorKind::NotFound, 0);
                editor.push(array.ok_or(missing)?, new).map(drop)
            }
            _ => editor.set_pointer(&self.pointer, new).map(drop),
        }
    }

    fn apply_to_tree(&self, tree: &mut Json) {
        if self.verb == "remove" {
            let Some((parent, key)) = self.pointer.rsplit_once('/') else { return };
            if let Some(Json::Object(members)) = tree.pointer_mut(parent) {
                // As removing from a document does it: the others keep their order.
                members.shift_remove(&key.replace("~1", "/").replace("~0", "~"));
            }
            return;
        }
        let (Some(place), Some(value)) = (tree.pointer_mut(&self.pointer), &self.value) else {
            return;
        };
        match place {
            Json::Array(elements) if self.verb == "push" => elements.push(value.clone()),
            place => *place = value.clone(),
        }
    }
}

/// A trusted document in a buffer with some room, as edited documents have.
fn with_room(document: &DocBuf) -> livebuf::Result<DocBuf> {
    let bytes = document.as_bytes();
    let mut storage = VecStorage::with_capacity((bytes.len() + bytes.len() / 8 + 65_536) as u64)?;
    storage.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
    let mut editor = Editor::open_unvalidated(storage)?;
    editor.validate()?;
    Ok(editor)
}

// --- the same without documents -------------------------------------------------------

/// What serde_json needs for a look-up and for an edit, in nanoseconds.
struct AsJson {
    /// Of the text, in letters that [`grouped`] made.
    bytes: String,
    look: f64,
    edit: f64,
}

impl AsJson {
    fn measure(text: &[u8], picked: &Picked, edit: Option<&Edit>) -> AsJson {
        let pointer = picked.pointers().next().unwrap_or_default();
        let parse = || {
            let tree: Json = serde_json::from_slice(text).unwrap_or_default();
            black_box(tree.pointer(black_box(pointer)).is_some());
            tree
        };
        let [look, edit] = in_two_steps(parse, |tree| {
            if let Some(edit) = edit {
                edit.apply_to_tree(tree);
            }
            serde_json::to_vec(tree)
        });
        AsJson { bytes: grouped(text.len() as u64), look, edit }
    }
}

// --- the show -------------------------------------------------------------------------

struct Show {
    out: Out,
    colours: bool,
}

/// A table's row: what, and up to three right-aligned columns.
const FIRST: usize = 47;

impl Show {
    fn title(&mut self, text: &str) -> Outcome {
        // Flushed, so that known figures are shown while the next part is measured.
        self.out.flush()?;
        let style = match self.colours {
            true => Style::new().bold().fg_color(Some(AnsiColor::Cyan.into())),
            false => Style::new(),
        };
        self.out.line(&format!("{style}{text}{style:#}"))
    }

    fn row(&mut self, what: &str, cells: [&str; 3]) -> Outcome {
        let [a, b, c] = cells;
        let text = format!("  {} {a:>9} {b:>9} {c:>9}", fitted(what, FIRST));
        self.out.line(text.trim_end())
    }

    /// A row for the same work without documents.
    fn dim(&mut self, what: &str, cells: [&str; 3]) -> Outcome {
        let style = if self.colours { AnsiColor::Yellow.on_default() } else { Style::new() };
        let [a, b, c] = cells;
        let text = format!("  {} {a:>9} {b:>9} {c:>9}", fitted(what, FIRST));
        self.out.line(&format!("{style}{}{style:#}", text.trim_end()))
    }

    fn convert(&mut self, title: &str, text: &[u8], doc: Doc<'_, Valid>) -> Outcome {
        let bytes = doc.as_bytes();
        let made = repeated(|| livebuf_json::from_slice(text));
        let opened = repeated(|| Doc::open(black_box(bytes)).map(|doc| doc.root().kind()));
        let validated = repeated(|| doc.checked().validate().is_ok());
        let ratio = bytes.len() as f64 / text.len() as f64;
        self.title(&format!("JSON becomes a document: {title}"))?;
        self.row("", ["time", "bytes", ""])?;
        self.row("JSON text", ["", &grouped(text.len() as u64), ""])?;
        let size = grouped(bytes.len() as u64);
        self.row(
            &format!("document made of it ({ratio:.2} of its size)"),
            [&shown(made), &size, ""],
        )?;
        self.row("opened: its header is looked at", [&shown(opened), "32", ""])?;
        self.row("validated: once, if it is untrusted", [&shown(validated), &size, ""])?;
        self.out.line("")
    }

    fn look(&mut self, json: &AsJson, doc: Doc<'_, Valid>, picked: &Picked) -> Outcome {
        if picked.pointers().next().is_none() {
            return Ok(());
        }
        self.title("Single fields, read where they lie")?;
        self.row("", ["time", "touched", ""])?;
        for pointer in picked.pointers() {
            let read = || -> Option<usize> {
                let value = doc.pointer(black_box(pointer))?;
                Some(value.as_str().map_or(0, str::len))
            };
            let time = repeated(read);
            let touched = bytes_read(|| {
                read();
            });
            let touched = touched.map_or("–".to_owned(), grouped);
            let value = doc.pointer(pointer).map(brief).unwrap_or_default();
            self.row(&format!("{} {value}", shortened(pointer, 30)), [&shown(time), &touched, ""])?;
        }
        let cells = [&*shown(json.look), &json.bytes, ""];
        self.dim("from JSON: serde_json parses all of it", cells)?;
        self.out.line("")
    }

    fn edit(&mut self, json: &AsJson, document: &DocBuf, edits: &[Edit]) -> Outcome {
        if edits.is_empty() {
            return Ok(());
        }
        let failure = |error| Failure::document(Path::new("the demo's document"), error);
        self.title("Edits, made in the stored bytes")?;
        self.row("", ["time", "read", "written"])?;
        let values: Vec<DocBuf> = edits.iter().map(Edit::new_value).collect::<Outcome<_>>()?;
        for (at, (edit, value)) in edits.iter().zip(&values).enumerate() {
            // Each run gets a fresh copy with the edits before it, so that all runs find the
            // same.
            let before = |editor: &mut DocBuf| {
                edits[..at]
                    .iter()
                    .zip(&values)
                    .try_for_each(|(edit, value)| edit.apply(editor, value))
            };
            let mut start = with_room(document).map_err(failure)?;
            before(&mut start).map_err(failure)?;
            let start = DocBuf::from_bytes_unvalidated(start.as_bytes()).map_err(failure)?;
            let time = on_fresh(
                || with_room(&start),
                |editor| editor.as_mut().map(|editor| edit.apply(editor, value)).is_ok(),
            );
            let mut editor = with_room(&start).map_err(failure)?;
            editor.listen(Changes::default());
            let mut done = Ok(());
            let read = bytes_read(|| done = edit.apply(&mut editor, value));
            done.map_err(failure)?;
            let (written, _) = editor.stop_listening::<Changes>().unwrap_or_default().count();
            let new = edit.value.as_ref().map_or(String::new(), |value| {
                let value = value.to_string();
                format!(" {}", shortened_end(&value, 20))
            });
            let what = format!("{} {}{new}", edit.verb, shortened(&edit.pointer, 26));
            let read = read.map_or("–".to_owned(), grouped);
            self.row(&what, [&shown(time), &read, &grouped(written)])?;
        }
        let cells = [&*shown(json.edit), &json.bytes, &json.bytes];
        self.dim("in JSON: parse, edit, print", cells)?;
        self.out.line("")
    }

    fn file(&mut self, path: &Path, force: bool, document: &DocBuf, edits: &[Edit]) -> Outcome {
        let mut file = NewFile::create(path, force)?;
        file.write(document.as_bytes())?;
        file.finish()?;
        let failure = |error: std::io::Error| Failure::io(path, &error);
        let (mut written, start) = (0, std::time::Instant::now());
        for edit in edits {
            let value = edit.new_value()?;
            let mut file = FileEdit::open(path).map_err(failure)?;
            file.editor()
                .validate()
                .and_then(|()| edit.apply(file.editor(), &value))
                .map_err(|error| Failure::document(path, error))?;
            written += file.commit().map_err(failure)?.bytes;
        }
        let time = shown(start.elapsed().as_nanos() as f64 / edits.len().max(1) as f64);
        self.out.line(&format!(
            "In the file {} the same edits wrote {}, {time} each",
            path.display(),
            counted(written, "byte"),
        ))?;
        self.out.line(
            "with validation, a journal, and waiting for the disk: old or new, never torn.",
        )?;
        self.out.line("")
    }

    fn prove(&mut self, document: DocBuf, mut tree: Json, edits: &[Edit]) -> Outcome {
        let failure = |error| Failure::document(Path::new("the demo's document"), error);
        let mut document = with_room(&document).map_err(failure)?;
        for edit in edits {
            let value = edit.new_value()?;
            edit.apply(&mut document, &value).map_err(failure)?;
            edit.apply_to_tree(&mut tree);
        }
        let doc = document.doc().validate().map_err(failure)?;
        let print = || livebuf_json::to_string(doc.root());
        let text = print().map_err(|error| Failure::trouble(error.to_string()))?;
        let time = repeated(print);
        let expected = tree.to_string();
        let printed_anew =
            || serde_json::from_str::<Json>(&text).map(|tree| tree.to_string()).unwrap_or_default();
        let verdict = if text == expected {
            "byte for byte what serde_json prints after the same edits"
        } else if printed_anew() == expected {
            "the value that serde_json has after the same edits, in the same order"
        } else {
            return Err(Failure::trouble(
                "the edited document differs from serde_json's tree: please report this",
            ));
        };
        self.title("The edited document, printed as JSON")?;
        self.row("", ["time", "bytes", ""])?;
        let size = grouped(text.len() as u64);
        self.row(&shortened_end(&text, FIRST), [&shown(time), &size, ""])?;
        self.out.line(&format!("  It validates: {verdict}."))?;
        self.out.line("")?;
        self.out.line("Times are the fastest of many runs in warm memory, on one thread;")?;
        self.out.line("both times of JSON are of the same runs.")?;
        self.out.line(match cfg!(feature = "trace") {
            true => {
                "Counting what is read is compiled in; without it look-ups are some 4 % faster."
            }
            false => {
                "–: built without --features trace, which counts what is read (make demo does)."
            }
        })
    }
}

/// A value in a few letters.
fn brief(value: Value<'_, Valid>) -> String {
    match value.kind() {
        Kind::Object => format!("{{{}}}", counted(value.len().unwrap_or(0) as u64, "member")),
        Kind::Array => format!("[{}]", counted(value.len().unwrap_or(0) as u64, "element")),
        _ => {
            let text = livebuf_json::to_string(value).unwrap_or_default();
            shortened_end(&text, 24)
        }
    }
}

/// Text cut or filled to this many letters.
fn fitted(text: &str, width: usize) -> String {
    format!("{:<width$}", shortened_end(text, width))
}

fn shortened_end(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some(_) => {
            let mut text: String = text.chars().take(width - 1).collect();
            text.push('…');
            text
        }
        None => text.to_owned(),
    }
}

/// A pointer without its middle, where it is long.
fn shortened(text: &str, width: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= width {
        return text.to_owned();
    }
    let (head, tail) = (width / 3, width - width / 3 - 1);
    let head: String = letters[..head].iter().collect();
    let tail: String = letters[letters.len() - tail..].iter().collect();
    format!("{head}…{tail}")
}
