//! Queries: the values that they find, or where these are.

use crate::args::Query;
use crate::edit::{ended, nothing_found, query as compiled};
use crate::failure::{Failure, Outcome};
use crate::look::{Form, KEPT};
use crate::sink::Out;
use crate::source::Source;

pub(crate) fn query(args: &Query) -> Outcome {
    let query = compiled(&args.query, args.budget)?;
    let source = Source::open(&args.file)?;
    let doc = source.doc(&args.file)?;
    let form = Form { file: &args.file, raw: args.raw, pretty: args.pretty };
    // All is found and rendered before any is printed, as `livebuf get` does.
    let (mut rendered, mut room) = (Vec::new(), KEPT);
    let mut places = Vec::new();
    for found in query.find(doc) {
        let found = found.map_err(|error| match error.kind() {
            livebuf::ErrorKind::BudgetExceeded => ended(&args.file, error),
            _ => Failure::document(&args.file, error).with_hint("livebuf validate tells more"),
        })?;
        match (args.paths, args.pointers) {
            // Their texts together may be long: they are made when they are printed.
            (true, _) | (_, true) => places.push(found.into_location()),
            _ => {
                let pointer = found.location().to_pointer();
                rendered.push(form.render(&pointer, found.value(), &mut room)?);
            }
        }
    }
    if places.is_empty() && rendered.is_empty() {
        return Err(nothing_found(&args.file, &query));
    }
    let mut out = Out::new();
    for place in places {
        let place = if args.paths { place.to_string() } else { place.to_pointer() };
        out.line(&place)?;
    }
    for value in rendered {
        form.print(&mut out, value)?;
    }
    out.finish()
}
