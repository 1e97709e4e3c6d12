//! What differs between two documents: for people, as a JSON patch, or as a merge patch.

use crate::args::Diff;
use crate::convert::print_options;
use crate::failure::{Failure, Outcome};
use crate::sink::{Out, colours};
use crate::source::Source;
use crate::told::{shown, shown_pointer};
use anstyle::{AnsiColor, Style};
use livebuf::{Valid, Value};
use livebuf_json::NonFinite;
use livebuf_patch::{Change, DiffOptions, PatchError};
use std::path::Path;

pub(crate) fn diff(args: &Diff) -> Outcome {
    if args.one == Path::new("-") && args.two == Path::new("-") {
        return Err(Failure::trouble("standard input cannot be both documents"));
    }
    let (one, two) = (Source::load(&args.one)?, Source::load(&args.two)?);
    let (one, two) = (one.validated(&args.one)?, two.validated(&args.two)?);
    let options = DiffOptions::new().ordered(args.ordered);
    let failure = |error: PatchError| Failure::trouble(error.to_string());
    let mut out = Out::new();
    let equal = if args.patch {
        let patch = livebuf_patch::diff(one, two, &options).map_err(failure)?;
        out.line(&patch.to_json().map_err(failure)?)?;
        patch.is_empty()
    } else if args.merge {
        let patch = livebuf_patch::merge_diff(one, two)
            .map_err(|error| failure(error).with_hint("livebuf diff --patch can say everything"))?;
        let text = livebuf_json::to_string_with(&patch, &print_options(false));
        out.line(&text.map_err(|error| Failure::trouble(error.to_string()))?)?;
        patch.doc().root().as_object().is_ok_and(|object| object.is_some_and(|all| all.is_empty()))
    } else {
        let changes = livebuf_patch::changes(one, two, &options).map_err(failure)?;
        let mut listing = Listing { out: &mut out, colours: colours() };
        if !args.quiet {
            changes.iter().try_for_each(|change| listing.change(change))?;
        }
        changes.is_empty()
    };
    out.finish()?;
    // The output says what differs: no message beside it.
    if equal { Ok(()) } else { Err(Failure::No(String::new())) }
}

/// Prints changes as lines that begin with `-` and `+`.
struct Listing<'o> {
    out: &'o mut Out,
    colours: bool,
}

impl Listing<'_> {
    fn change(&mut self, change: &Change<'_>) -> Outcome {
        let pointer = shown_pointer(&change.pointer);
        let pointer = if pointer.is_empty() { "(root)" } else { &*pointer };
        if let Some(from) = &change.from {
            let from = shown_pointer(from);
            return self.line(AnsiColor::Cyan, &format!("> {from} -> {pointer}"));
        }
        if let Some(old) = change.old {
            self.line(AnsiColor::Red, &format!("- {pointer}: {}", shown(&text(old)?)))?;
        }
        if let Some(new) = change.new {
            self.line(AnsiColor::Green, &format!("+ {pointer}: {}", shown(&text(new)?)))?;
        }
        Ok(())
    }

    fn line(&mut self, colour: AnsiColor, text: &str) -> Outcome {
        let style = if self.colours { colour.on_default() } else { Style::new() };
        self.out.line(&format!("{style}{text}{style:#}"))
    }
}

fn text(value: Value<'_, Valid>) -> Outcome<String> {
    let options = print_options(false).non_finite(NonFinite::Null);
    livebuf_json::to_string_with(value, &options)
        .map_err(|error| Failure::trouble(error.to_string()))
}
