//! Deltas: made of edits, applied to copies of the document, shown.

use crate::args::{Delta as Command, DeltaApply, DeltaBegin, DeltaMake, DeltaShow, Editing};
use crate::edit::{apply as edit, check, operations, told};
use crate::failure::{Failure, Outcome, counted, grouped, name};
use crate::progress;
use crate::sink::{NewFile, Out, check_new_file};
use crate::source::{not_opened, patiently, read};
use livebuf::mapped::FileEdit;
use livebuf::{Delta, DeltaError, Editor, Recorder, State, Storage, VecStorage};
use std::path::Path;

pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Begin(args) => begin(args),
        Command::Make(args) => make(args),
        Command::Apply(args) => apply(args),
        Command::Show(args) => show(args),
    }
}

fn begin(args: &DeltaBegin) -> Outcome {
    let path = &args.file;
    let mut file = open(path)?;
    let editor = file.editor();
    let state = match editor.state() {
        Some(state) => state,
        None => {
            let state = State::random();
            editor.set_state(state).map_err(|error| Failure::document(path, error))?;
            state
        }
    };
    commit(path, &mut file, None)?;
    let mut out = Out::new();
    out.line(&state.to_string())?;
    out.finish()
}

fn make(args: &DeltaMake) -> Outcome {
    let path = &args.file;
    check_new_file(&args.output, args.force)?;
    let edits = operations(&args.operations)?;
    let failure = |error| Failure::document(path, error);
    let mut file = open(path)?;
    // The edits are recorded on a copy. Then the delta is applied to the file, as elsewhere.
    let storage = VecStorage::from_slice(file.editor().as_bytes()).map_err(failure)?;
    let recorder = match args.old {
        true => Recorder::with_old(storage.bytes()),
        false => Recorder::new(storage.bytes()),
    };
    let mut copy = Editor::open_unvalidated(storage).map_err(failure)?;
    copy.listen(recorder);
    edit(path, &args.editing, &mut copy, &edits)?;
    let recorder = copy.stop_listening::<Recorder>().unwrap_or_default();
    let mut delta = Delta::make(&mut copy, recorder).map_err(|error| wrong(path, error))?;
    if args.digest {
        delta.set_digest(copy.doc()).map_err(|error| wrong(path, error))?;
    }
    let mut out = NewFile::create(&args.output, args.force)?;
    out.write(&delta.to_bytes())?;
    delta.apply(file.editor()).map_err(|error| wrong(path, error))?;
    commit(path, &mut file, Some(&args.editing))?;
    out.finish()
}

fn apply(args: &DeltaApply) -> Outcome {
    let path = &args.file;
    let mut deltas = Vec::new();
    for source in &args.deltas {
        let delta = load(source)?;
        deltas.push(match args.revert {
            true => delta.invert().map_err(|error| {
                wrong(source, error).with_hint("livebuf delta make --old keeps the bytes of before")
            })?,
            false => delta,
        });
    }
    if args.revert {
        deltas.reverse();
    }
    let mut file = open(path)?;
    check(path, &args.editing, file.editor())?;
    for delta in &deltas {
        let applied = match delta.digest() {
            Some(_) => delta.apply_checked(file.editor()),
            None => delta.apply(file.editor()),
        };
        applied.map_err(|error| wrong(path, error))?;
    }
    // A delta may have written anything.
    check(path, &args.editing, file.editor())?;
    commit(path, &mut file, Some(&args.editing))
}

fn show(args: &DeltaShow) -> Outcome {
    let delta = load(&args.delta)?;
    let changes: Vec<_> = delta.changes().collect();
    let mut out = Out::new();
    if args.json {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let all = serde_json::json!({
            "base": delta.base().to_string(),
            "base_length": delta.base_length(),
            "state": delta.state().to_string(),
            "length": delta.length(),
            "digest": delta.digest().map(|digest| hex(&digest[..])),
            "changes": changes.iter().map(|change| serde_json::json!({
                "offset": change.offset,
                "old": change.old.map(hex),
                "new": hex(change.new),
            })).collect::<Vec<_>>(),
        });
        out.line(&format!("{all:#}"))?;
        return out.finish();
    }
    let written: usize = changes.iter().map(|change| change.new.len()).sum();
    out.line(&format!("from  {}, {}", delta.base(), counted(delta.base_length(), "byte")))?;
    out.line(&format!("to    {}, {}", delta.state(), counted(delta.length(), "byte")))?;
    out.line(&format!(
        "{} in {}; bytes of before: {}; digest: {}",
        counted(written as u64, "byte"),
        counted(changes.len() as u64, "range"),
        if delta.keeps_old() { "yes" } else { "no" },
        if delta.digest().is_some() { "yes" } else { "no" },
    ))?;
    for change in changes {
        let old = change.old.map(|old| format!("{} -> ", shortened(old))).unwrap_or_default();
        let offset = grouped(change.offset);
        out.line(&format!("{offset:>13}  {old}{}", shortened(change.new)))?;
    }
    out.finish()
}

/// Bytes as hexadecimal digits, the first of them.
fn shortened(bytes: &[u8]) -> String {
    const SHOWN: usize = 16;
    let shown = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>();
    match bytes.len() {
        0 => "nothing".to_owned(),
        length if length > SHOWN => format!("{} ... ({length} bytes)", shown.join(" ")),
        _ => shown.join(" "),
    }
}

fn load(path: &Path) -> Outcome<Delta> {
    Delta::from_bytes(&read(path)?).map_err(|error| wrong(path, error))
}

fn open(path: &Path) -> Outcome<FileEdit> {
    if path == Path::new("-") {
        return Err(Failure::trouble("deltas are of documents in files, not of standard input"));
    }
    patiently(|| FileEdit::open(path)).map_err(|error| not_opened(path, &error))
}

fn commit(path: &Path, file: &mut FileEdit, editing: Option<&Editing>) -> Outcome {
    let done = progress::during(&format!("writing {}", path.display()), || file.commit());
    let done = done.map_err(|error| Failure::io(path, &error))?;
    if editing.is_some_and(|editing| editing.verbose) {
        told(path, done.bytes, done.places, done.used);
    }
    Ok(())
}

fn wrong(path: &Path, error: DeltaError) -> Failure {
    match error {
        DeltaError::Document(error) => Failure::document(path, error),
        DeltaError::NoState => {
            Failure::trouble(format!("{}: the document has no state", name(path))).with_hint(
                format!("livebuf delta begin {} gives it one; copy it then", path.display()),
            )
        }
        error => Failure::trouble(format!("{}: {error}", name(path))),
    }
}
