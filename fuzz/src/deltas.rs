//! Deltas: recorded edits beside copies and snapshots, and deltas from any bytes.
//!
//! A delta that was recorded makes a copy of the base equal, byte by byte; composed ones do what
//! both do; inverted ones, and histories, restore every used byte. A damaged delta is refused and
//! changes no byte, or leaves a document that can be read, validated and edited without a panic.

use crate::bytes;
use crate::changes::{choose, perform, pick, read};
use crate::input::{Input, Random};
use crate::samples;
use livebuf::{Delta, DocBuf, Editor, History, Recorder, State, Storage, VecStorage};

/// Most steps of one input.
const STEPS: usize = 12;

/// What an input met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    /// Deltas that were recorded, with edits in them.
    pub recorded: usize,
    /// Steps that were undone or redone.
    pub turned: usize,
    /// Damaged deltas that were applied.
    pub applied: usize,
    /// Damaged deltas that were refused.
    pub refused: usize,
}

/// Edits by chance; some are taken back.
fn edit<S: Storage>(doc: &mut Editor<S>, input: &mut Input<'_>) {
    for _ in 0..input.below(4) {
        let tree = read(doc);
        if !tree.is_container() {
            continue;
        }
        let path = pick(&tree, input);
        let edit = choose(&tree, &path, input);
        let taken_back = input.one_in(5);
        if taken_back {
            doc.begin_transaction().expect("a log");
        }
        let _ = perform(doc, &path, &edit, &mut |_| {});
        if taken_back {
            doc.rollback_transaction().expect("open");
        }
    }
}

/// The document in other storage, which may be shorter than it was.
fn moved(mut doc: DocBuf) -> DocBuf {
    let recorder = doc.stop_listening::<Recorder>().expect("recorded");
    let storage = VecStorage::from_slice(doc.as_bytes()).expect("memory");
    let mut moved = Editor::open_unvalidated(storage).expect("valid");
    moved.listen(recorder);
    if doc.is_trusted() {
        moved.validate().expect("valid");
    }
    moved
}

/// Applies a delta to a copy of a base, which it must make equal.
fn check(base: &[u8], delta: &Delta, after: &[u8]) {
    let received = Delta::from_bytes(&delta.to_bytes()).expect("sound");
    assert_eq!(&received, delta, "encoded and decoded");
    for delta in [&received, &received.without_old()] {
        let mut copy = DocBuf::open(base).expect("valid");
        delta.apply(&mut copy).expect("the right base");
        let differing = copy.as_bytes().iter().zip(after).position(|(one, two)| one != two);
        let place = differing.or((copy.as_bytes().len() != after.len()).then_some(usize::MAX));
        assert_eq!(place, None, "the copy differs (old bytes: {})", delta.keeps_old());
        copy.validate().expect("a valid document");
        let again = delta.apply(&mut copy);
        assert!(again.is_err() || delta.base() == delta.state(), "applied twice");
    }
}

/// Decodes a document, edits and damage from any bytes.
///
/// # Panics
/// Where the library does what it must not.
pub fn run(data: &[u8]) -> Met {
    let mut input = Input::new(data);
    let mut met = Met::default();
    let document = samples::grown(u64::from(input.word())).1;
    let storage = VecStorage::from_slice(document.as_bytes()).expect("memory");
    let mut doc = Editor::open_unvalidated(storage).expect("valid");
    if input.one_in(2) {
        doc.validate().expect("valid");
    }
    doc.set_state(State::from_bytes([input.byte(); 16])).expect("room");
    let most = if input.one_in(4) { 3_000 } else { usize::MAX };
    let mut history = History::new(most);
    // The line of snapshots that the history is on, and where on it.
    let mut snapshots = vec![doc.as_bytes().to_vec()];
    let mut steps: Vec<Delta> = Vec::new();
    for _ in 0..STEPS {
        if input.is_empty() {
            break;
        }
        match input.below(4) {
            0 if history.undo_count() > 0 => {
                assert_eq!(history.undo(&mut doc), Ok(true));
                let at = steps.len() - history.redo_count();
                assert!(doc.as_bytes() == snapshots[at], "undone to other bytes");
                met.turned += 1;
            }
            1 if history.redo_count() > 0 => {
                assert_eq!(history.redo(&mut doc), Ok(true));
                let at = steps.len() - history.redo_count();
                assert!(doc.as_bytes() == snapshots[at], "redone to other bytes");
                met.turned += 1;
            }
            _ => {
                if input.one_in(2) {
                    doc.validate().expect("valid");
                }
                let base = doc.as_bytes().to_vec();
                let keeps = input.below(4) > 0;
                doc.listen(if keeps { Recorder::with_old(&base) } else { Recorder::new(&base) });
                edit(&mut doc, &mut input);
                if input.one_in(8) {
                    if input.one_in(2) {
                        doc.compact().expect("memory");
                    }
                    doc = moved(doc);
                    edit(&mut doc, &mut input);
                }
                let recorder = doc.stop_listening().expect("recorded");
                let changed = check_ranges(&base, &recorder, doc.as_bytes());
                let delta = Delta::make(&mut doc, recorder).expect("recorded");
                doc.doc().validate().expect("valid with its state");
                check(&base, &delta, doc.as_bytes());
                met.recorded += usize::from(changed);
                let at = steps.len() - history.redo_count();
                if !keeps {
                    // Steps before cannot be undone any more, and the next ones begin a line.
                    assert!(history.push(delta).is_err(), "a step without old bytes");
                    history.clear();
                    steps.clear();
                    snapshots = vec![doc.as_bytes().to_vec()];
                    continue;
                }
                check(doc.as_bytes(), &delta.invert().expect("old bytes"), &base);
                steps.truncate(at);
                snapshots.truncate(at + 1);
                if let Some(before) = steps.last() {
                    let both = before.compose(&delta).expect("consecutive");
                    check(&snapshots[at - 1], &both, doc.as_bytes());
                    let back = both.invert().expect("old bytes");
                    check(doc.as_bytes(), &back, &snapshots[at - 1]);
                }
                history.push(delta.clone()).expect("old bytes");
                steps.push(delta);
                snapshots.push(doc.as_bytes().to_vec());
            }
        }
    }
    // Most inputs are used up by now. Their damage is then by chance, because that of zeros is
    // always the same and always refused.
    let mut chance = Random(data.iter().fold(0, |sum, &byte| sum * 31 % 65_521 + u64::from(byte)));
    for (step, base) in steps.iter().zip(&snapshots) {
        let mut sent = step.to_bytes();
        if input.is_empty() {
            bytes::damage(&mut sent, &mut Input::new(&chance.bytes(16)));
        } else {
            bytes::damage(&mut sent, &mut input);
        }
        attack(base, &sent, &mut met);
    }
    attack(snapshots.last().expect("one"), input.rest(), &mut met);
    met
}

/// The ranges say all that differs. Whether anything does.
fn check_ranges(base: &[u8], recorder: &Recorder, after: &[u8]) -> bool {
    let mut copy = base.to_vec();
    copy.resize(after.len(), 0);
    let mut end = 0;
    for (offset, length) in recorder.ranges(after.len() as u64) {
        assert!(length > 0 && (offset > end || end == 0), "ranges are sorted and merged");
        end = offset + length;
        let range = offset as usize..end as usize;
        copy[range.clone()].copy_from_slice(&after[range]);
    }
    assert!(copy == after, "a change outside of all ranges");
    base != after
}

/// Applies what may be a delta to a document that it may fit.
fn attack(base: &[u8], sent: &[u8], met: &mut Met) {
    let Ok(delta) = Delta::from_bytes(sent) else {
        met.refused += 1;
        return;
    };
    assert!(delta.to_bytes() == sent, "two encodings of one delta");
    let mut doc = DocBuf::open(base).expect("valid");
    if delta.apply(&mut doc).is_err() {
        assert!(doc.as_bytes() == base, "refused, but changed bytes");
        met.refused += 1;
        return;
    }
    met.applied += 1;
    assert!(!doc.is_trusted(), "an untrusted delta is trusted");
    let bytes = doc.as_bytes().to_vec();
    bytes::attack(
        &bytes,
        &mut Input::new(&sent[..sent.len().min(64)]),
        bytes::Effort { walk: 2_000, edits: 3 },
    );
    let _ = doc.set_pointer("/key 1", 1);
    let _ = doc.validate();
}
