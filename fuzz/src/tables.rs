//! The same random edits on a document with tables, on one without, and on a plain tree:
//! equal values after every step, valid documents, and handles that lead to the same
//! container or say that they are stale.

use crate::changes::{self, Edit, apply, check_handle, choose, equal, follow, perform, pick, read};
use crate::input::Input;
use crate::refusals;
use crate::samples;
use crate::tree::Tree;
use livebuf::{Doc, DocBuf, ErrorKind};

/// Edits of one input.
const STEPS: usize = 80;
/// Growing edits stop at this many values, or twice those of the beginning.
const ENOUGH: usize = 3_000;

/// What a run met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    /// The document began with tables.
    pub tables: bool,
    /// Edits made.
    pub steps: usize,
    /// Handles taken before an edit that were good after it.
    pub good: u64,
    /// Handles that were stale after it.
    pub stale: u64,
}

/// Decodes a value and edits of it from any bytes.
///
/// # Panics
/// Where the documents are not what they should be.
pub fn run(data: &[u8]) -> Met {
    let mut input = Input::new(data);
    let tree = samples::tree(u64::from(input.word()));
    run_on(tree, &mut input)
}

/// The same with rows of more than 255 keys.
///
/// # Panics
/// As [`run`].
pub fn run_wide(data: &[u8]) -> Met {
    let mut input = Input::new(data);
    let tree = samples::wide_tree(&mut input);
    run_on(tree, &mut input)
}

fn run_on(mut tree: Tree, input: &mut Input<'_>) -> Met {
    let enough = ENOUGH.max(2 * tree.count());
    let mut docs = [tree.to_document(), tree.to_records()];
    let tables = docs[0].doc().stats().expect("valid").table_count > 0;
    let mut met = Met { tables, ..Met::default() };
    assert!(read(&docs[0]).same(&tree), "encoded");
    while !input.is_empty() && met.steps < STEPS {
        if !tree.is_container() {
            break;
        }
        met.steps += 1;
        step(&mut tree, &mut docs, input, enough, &mut met);
    }
    finish(&docs, &tree);
    met
}

fn step(
    tree: &mut Tree,
    docs: &mut [DocBuf; 2],
    input: &mut Input<'_>,
    enough: usize,
    met: &mut Met,
) {
    let before = tree.clone();
    let held = pick(&before, input);
    let path = pick(&before, input);
    let mut edit = choose(&before, &path, input);
    if before.count() > enough && !matches!(edit, Edit::Remove(_) | Edit::Take(_)) {
        edit = Edit::Clear;
    }
    let after = follow(&held, &path, &before, &edit);
    apply(tree, &path, &edit);
    crate::note(|| format!("step {} at {path:?}: {edit:?}, held {held:?}", met.steps));
    let room = input.below(1 << 10);
    refusals::within(docs[0].as_bytes(), room, true, &path, &edit, tree);
    for (doc, kind) in docs.iter_mut().zip(["with", "without"]) {
        let name = || format!("step {} {kind} tables at {path:?}: {edit:?}", met.steps);
        let handle = doc.find(&changes::pointer(&held)).expect("sound").expect("a container");
        perform(doc, &path, &edit, &mut |_| {})
            .unwrap_or_else(|error| panic!("{}: {error:?}", name()));
        let valid = doc.doc().validate().map(drop);
        valid.unwrap_or_else(|error| panic!("{}: {error:?}", name()));
        let found = read(doc);
        assert!(equal(&found, tree), "{}:\n{found:?}\n{tree:?}", name());
        if check_handle(doc, handle, after.as_deref(), tree) {
            met.good += 1;
        } else {
            let there = after.is_some() && !matches!(edit, Edit::Compact);
            assert!(!there, "{}: the container of {held:?} is there, its handle is stale", name());
            met.stale += 1;
        }
    }
    if met.steps.is_multiple_of(10) {
        finish(docs, tree);
    }
}

/// Compacted and copied, they are the same value.
fn finish(docs: &[DocBuf; 2], tree: &Tree) {
    let compact = docs[0].doc().compacted().expect("compacted");
    assert!(equal(&read(&compact), tree), "compaction changed the value");
    let mut target = vec![0; docs[0].as_bytes().len() * 3 + 4096];
    let mut copied = docs[0].doc().compact_into(&mut target);
    if let Err(error) = copied {
        // Objects of more than 64 kinds in turn get a shape each: what is missing is named.
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        target.resize(target.len() + error.detail() as usize, 0);
        copied = docs[0].doc().compact_into(&mut target);
    }
    let length = copied.expect("as much room as was missing");
    let copy = Doc::open(&target[..length]).expect("a document");
    copy.validate().expect("valid");
    let same = |a: Doc<'_>, b: Doc<'_>| a.root().deep_eq(b.root(), &mut u64::MAX.clone());
    assert_eq!(same(docs[0].doc(), copy), Ok(true), "the copy differs");
    assert_eq!(same(docs[0].doc(), docs[1].doc()), Ok(true), "with and without tables");
    let digest = |doc: Doc<'_>| doc.root().digest(&mut u64::MAX.clone()).expect("sound");
    assert_eq!(digest(docs[0].doc()), digest(docs[1].doc()), "digests");
}
