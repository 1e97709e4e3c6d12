//! Deltas, recorders and histories: what they record, apply, refuse and restore.

use livebuf::{
    Delta, DeltaError, DocBuf, Editor, ErrorKind, History, New, Recorder, State, Storage,
    VecStorage, json,
};

/// A document with a state, under a recorder that keeps old bytes.
fn recorded(doc: &DocBuf) -> DocBuf {
    let mut doc = doc.clone();
    doc.set_state(State::from_bytes([7; 16])).unwrap();
    restart(&mut doc);
    doc
}

fn restart(doc: &mut DocBuf) {
    doc.stop_listening::<Recorder>();
    doc.listen(Recorder::with_old(doc.as_bytes()));
}

fn made(doc: &mut DocBuf) -> Delta {
    let recorder = doc.stop_listening::<Recorder>().unwrap();
    let delta = Delta::make(doc, recorder).unwrap();
    restart(doc);
    delta
}

fn copy(bytes: &[u8]) -> DocBuf {
    DocBuf::open(bytes).unwrap()
}

fn sample() -> DocBuf {
    json!({"lap": 55, "driver": "a name of some length", "laps": [1, 2, 3], "log": []})
}

#[test]
fn deltas_lead_there_and_back() {
    let mut doc = recorded(&sample());
    let base = doc.as_bytes().to_vec();
    doc.set_pointer("/lap", 56).unwrap();
    for lap in 0..100 {
        doc.set_pointer("/laps/-", lap).unwrap();
    }
    let first = made(&mut doc);
    let middle = doc.as_bytes().to_vec();
    doc.remove_pointer("/laps").unwrap();
    doc.compact().unwrap();
    doc.set_pointer("/driver", "another one").unwrap();
    let second = made(&mut doc);
    let end = doc.as_bytes().to_vec();
    assert!(end.len() < middle.len());

    for (from, delta, to) in [
        (&base, first.clone(), &middle),
        (&middle, second.clone(), &end),
        (&base, first.compose(&second).unwrap(), &end),
        (&middle, first.invert().unwrap(), &base),
        (&end, second.invert().unwrap(), &middle),
        (&end, first.compose(&second).unwrap().invert().unwrap(), &base),
        (&base, first.without_old().compose(&second).unwrap(), &end),
    ] {
        let mut copy = copy(from);
        let sent = delta.to_bytes();
        let received = Delta::from_bytes(&sent).unwrap();
        assert_eq!(received, delta);
        received.apply(&mut copy).unwrap();
        assert_eq!(copy.as_bytes(), to);
        assert!(!copy.is_trusted());
        copy.validate().unwrap();
        let small = delta.without_old().to_bytes();
        assert!(small.len() <= sent.len());
        let mut copy = DocBuf::open(from).unwrap();
        Delta::from_bytes(&small).unwrap().apply(&mut copy).unwrap();
        assert_eq!(copy.as_bytes(), to);
        for end in 0..sent.len() {
            assert!(Delta::from_bytes(&sent[..end]).is_err(), "{end} bytes");
        }
    }
}

/// A storage may be as short as the document is now: Python's is, after `bytes(doc)`.
#[test]
fn a_shorter_document_moves_to_a_shorter_storage() {
    let mut doc = recorded(&sample());
    let base = doc.as_bytes().to_vec();
    doc.set_pointer("/driver", ()).unwrap();
    doc.compact().unwrap();
    let recorder = doc.stop_listening::<Recorder>().unwrap();
    let mut moved = DocBuf::open(doc.as_bytes()).unwrap();
    assert!(moved.storage().bytes().len() < base.len());
    moved.validate().unwrap();
    let mut unaware = Recorder::with_old(&base);
    unaware.will_change(moved.storage().bytes(), 0, 16);
    let delta = Delta::make(&mut moved, recorder).unwrap();
    let mut back = copy(moved.as_bytes());
    delta.invert().unwrap().apply(&mut back).unwrap();
    assert_eq!(back.as_bytes(), base);
    // A recorder that was not told of them does not invent them.
    moved.set_state(State::from_bytes([7; 16])).unwrap();
    assert!(matches!(Delta::make(&mut moved, unaware), Err(DeltaError::Document(_))));
}

#[test]
fn an_edit_that_nobody_records_ends_the_state() {
    let mut doc = sample();
    doc.set_state(State::from_bytes([1; 16])).unwrap();
    let bytes = doc.as_bytes().to_vec();
    // However the document is opened, copied or rolled back.
    let copies: [&dyn Fn() -> DocBuf; 3] =
        [&|| doc.clone(), &|| copy(&bytes), &|| doc.copy_to(VecStorage::default()).unwrap()];
    for copy in copies {
        let mut copy = copy();
        assert_eq!(copy.state(), Some(State::from_bytes([1; 16])));
        copy.begin_transaction().unwrap();
        copy.set_pointer("/lap", 1).unwrap();
        assert_eq!(copy.state(), None);
        copy.rollback_transaction().unwrap();
        assert_eq!(copy.as_bytes(), bytes);
        copy.set_pointer("/laps/-", 1).unwrap();
        assert_eq!(copy.state(), None);
        copy.doc().validate().unwrap();
        copy.set_state(State::from_bytes([2; 16])).unwrap();
        copy.compact().unwrap();
        assert_eq!(copy.state(), None);
    }
    // A failed edit is none.
    assert!(doc.set_pointer("/lap/x", 1).is_err());
    assert_eq!(doc.as_bytes(), bytes);
    // The same in a fixed buffer.
    let mut buffer = bytes.clone();
    let mut fixed = Editor::open_unvalidated(&mut buffer[..]).unwrap();
    assert_eq!(fixed.state(), doc.state());
    fixed.set_pointer("/lap", 7).unwrap();
    assert_eq!(fixed.state(), None);
    fixed.set_state(State::from_bytes([3; 16])).unwrap();
    assert_eq!(fixed.state(), Some(State::from_bytes([3; 16])));
}

#[test]
fn other_documents_are_refused_by_name() {
    let mut doc = recorded(&sample());
    let base = copy(doc.as_bytes());
    doc.set_pointer("/lap", 56).unwrap();
    let mut delta = made(&mut doc);
    let mut none = sample();
    let wrong = DeltaError::WrongBase { document: None, delta: delta.base() };
    assert_eq!(delta.apply(&mut none), Err(wrong));
    let mut other = base.clone();
    other.set_state(State::from_bytes([9; 16])).unwrap();
    let before = other.to_vec();
    let error = delta.apply(&mut other).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&"07".repeat(16)) && text.contains(&"09".repeat(16)), "{text}");
    assert_eq!(other.as_bytes(), before);
    // The same state by name, but other bytes: only the digest tells.
    let mut forged = base.clone();
    forged.set_pointer("/laps/0", 9).unwrap();
    forged.set_state(delta.base()).unwrap();
    let before = forged.to_vec();
    assert_eq!(delta.apply_checked(&mut forged), Err(DeltaError::NoDigest));
    delta.set_digest(doc.doc()).unwrap();
    assert_eq!(delta.apply_checked(&mut forged), Err(DeltaError::WrongDigest));
    assert_eq!(forged.as_bytes(), before);
    let mut same = base.clone();
    let delta = Delta::from_bytes(&delta.to_bytes()).unwrap();
    delta.apply_checked(&mut same).unwrap();
    assert_eq!(same.as_bytes(), doc.as_bytes());
    let twice = delta.compose(&delta).unwrap_err();
    assert!(matches!(twice, DeltaError::NotConsecutive { .. }));
    assert_eq!(delta.without_old().invert(), Err(DeltaError::NoOldBytes));
}

#[test]
fn deltas_are_applied_within_transactions_and_in_fixed_buffers() {
    let mut doc = recorded(&sample());
    let base = doc.as_bytes().to_vec();
    doc.set_pointer("/laps", New::from(&json!([1.5, 2.5, "three"]))).unwrap();
    doc.begin_transaction().unwrap();
    let taken = doc.stop_listening::<Recorder>().unwrap();
    let refused = Delta::make(&mut doc, taken.clone()).unwrap_err();
    assert!(
        matches!(refused, DeltaError::Document(error) if error.kind() == ErrorKind::BadSequence)
    );
    doc.listen(taken);
    doc.set_pointer("/driver", "none").unwrap();
    doc.rollback_transaction().unwrap();
    let delta = made(&mut doc);

    let mut same = copy(&base);
    same.begin_transaction().unwrap();
    delta.apply(&mut same).unwrap();
    assert!(!same.is_trusted());
    same.rollback_transaction().unwrap();
    assert_eq!(same.as_bytes(), base);
    assert!(same.is_trusted());
    delta.apply(&mut same).unwrap();
    assert_eq!(same.as_bytes(), doc.as_bytes());

    for room in 0..400 {
        let mut buffer = vec![0; base.len() + room];
        buffer[..base.len()].copy_from_slice(&base);
        let mut fixed = Editor::open_unvalidated(&mut buffer[..]).unwrap();
        match delta.apply(&mut fixed) {
            Ok(()) => assert_eq!(fixed.as_bytes(), doc.as_bytes()),
            Err(DeltaError::Document(error)) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace);
                assert_eq!(fixed.as_bytes(), base);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn step(history: &mut History, doc: &mut DocBuf) -> Option<Delta> {
    let recorder = doc.stop_listening::<Recorder>().unwrap();
    let made = history.step(doc, recorder).unwrap();
    restart(doc);
    made
}

#[test]
fn what_was_changed_back_is_no_step() {
    let mut doc = recorded(&sample());
    let (mut history, state) = (History::new(5_000), doc.state());
    assert!(step(&mut history, &mut doc).is_none());
    doc.set_pointer("/lap", 56).unwrap();
    doc.set_pointer("/lap", 55).unwrap();
    assert!(step(&mut history, &mut doc).is_none());
    assert_eq!((history.undo_count(), doc.state()), (0, state));
    doc.set_pointer("/lap", 56).unwrap();
    let made = step(&mut history, &mut doc).unwrap();
    assert_eq!((Some(made.base()), Some(made.state())), (state, doc.state()));
    // A history whose step cannot be made is empty, and the document has a state to go on from.
    doc.stop_listening::<Recorder>();
    doc.listen(Recorder::with_old(json!({"no": "state"}).as_bytes()));
    let recorder = doc.stop_listening::<Recorder>().unwrap();
    assert!(matches!(history.step(&mut doc, recorder), Err(DeltaError::NoState)));
    assert!(history.undo_count() == 0 && doc.state().is_some());
    // Bug: one whose step has no old bytes kept steps that lead to a state from before.
    restart(&mut doc);
    doc.set_pointer("/lap", 57).unwrap();
    step(&mut history, &mut doc).unwrap();
    doc.stop_listening::<Recorder>();
    doc.listen(Recorder::new(&doc.to_vec()));
    doc.set_pointer("/lap", 58).unwrap();
    let recorder = doc.stop_listening::<Recorder>().unwrap();
    assert!(matches!(history.step(&mut doc, recorder), Err(DeltaError::NoOldBytes)));
    assert_eq!(history.undo_count(), 0);
}

#[test]
fn histories_are_bounded_and_follow_one_line() {
    let mut doc = recorded(&sample());
    let mut history = History::new(5_000);
    let mut snapshots = vec![doc.as_bytes().to_vec()];
    for lap in 0..100 {
        doc.set_pointer("/laps/-", lap).unwrap();
        doc.set_pointer("/driver", &*"x".repeat(lap as usize)).unwrap();
        assert!(step(&mut history, &mut doc).is_some());
        snapshots.push(doc.as_bytes().to_vec());
        assert!(history.bytes() <= 5_000);
    }
    let steps = history.undo_count();
    assert!(steps > 5 && steps < 60, "{steps} steps");
    for step in 0..steps {
        assert!(history.undo(&mut doc).unwrap());
        assert_eq!(doc.as_bytes(), snapshots[99 - step]);
    }
    assert!(!history.undo(&mut doc).unwrap());
    for step in 0..steps {
        assert!(history.redo(&mut doc).unwrap());
        assert_eq!(doc.as_bytes(), snapshots[101 - steps + step]);
    }
    assert!(!history.redo(&mut doc).unwrap());
    history.undo(&mut doc).unwrap();
    doc.validate().unwrap();
    restart(&mut doc);
    doc.set_pointer("/lap", 0).unwrap();
    step(&mut history, &mut doc);
    assert_eq!(history.redo_count(), 0);
    doc.set_pointer("/lap", 1).unwrap();
    let unknown = history.undo(&mut doc).unwrap_err();
    assert!(matches!(unknown, DeltaError::WrongBase { document: None, .. }), "{unknown}");
}

#[test]
fn a_state_needs_a_place() {
    let mut doc = sample();
    doc.set_state(State::from_bytes([1; 16])).unwrap();
    let mut bytes = doc.as_bytes().to_vec();
    let aux = bytes[28] as usize | (bytes[29] as usize) << 8;
    bytes[aux + 20..aux + 24].fill(0);
    let error = livebuf::Doc::open(&bytes).unwrap().validate().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::BadCode);
    assert_eq!(livebuf::Doc::open(&bytes).unwrap().state(), None);
}

/// Where the vectors are.
fn vectors() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/deltas")
}

/// Deltas that must be read: name, base, delta, document afterwards.
fn sound() -> Vec<(&'static str, Vec<u8>, Delta, Vec<u8>)> {
    let step = |edit: &dyn Fn(&mut DocBuf)| {
        let mut doc = recorded(&sample());
        let base = doc.as_bytes().to_vec();
        edit(&mut doc);
        let delta = made(&mut doc);
        (base, delta, doc.as_bytes().to_vec())
    };
    let (base, delta, after) = step(&|doc| assert!(doc.set_pointer("/lap", 56).unwrap().is_none()));
    let one = ("y_one_byte", base.clone(), delta.without_old(), after.clone());
    let mut delta = delta;
    delta.set_digest(livebuf::Doc::open(&after).unwrap()).unwrap();
    let digest = ("y_digest", base, delta, after);
    let (base, delta, after) =
        step(&|doc| assert!(doc.set_pointer("/log/-", "a new line").unwrap().is_none()));
    assert!(after.len() > base.len());
    let shrinks = ("y_shrinks_with_old", after.clone(), delta.invert().unwrap(), base.clone());
    vec![one, digest, ("y_grows", base, delta.without_old(), after), shrinks]
}

/// Damaged deltas, and the beginning of the error that each is refused with.
fn damaged() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let head = |flags: u8| {
        let mut bytes = vec![0xAB, 0x4C, 0x42, 0x44, 1, flags];
        bytes.extend([[1; 16], [2; 16]].concat());
        bytes
    };
    // From 64 bytes to 64 or 72, with these ranges.
    let with = |flags: u8, rest: &[u8]| [&head(flags)[..], rest].concat();
    let good = with(0, &[8, 8, 1, 32, 1, 5]);
    Delta::from_bytes(&good).unwrap();
    let patch = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    vec![
        ("n_empty", Vec::new(), "not a delta"),
        ("n_magic", patch(3, b'F'), "not a delta"),
        ("n_version", patch(4, 9), "the delta's version 9"),
        ("n_flags", patch(5, 4), "the delta is damaged: unknown flags"),
        ("n_cut", good[..good.len() - 1].to_vec(), "the delta is cut short"),
        (
            "n_number_too_long",
            with(0, &[8, 8, 0x81, 0, 32, 1, 5]),
            "the delta is damaged: a number",
        ),
        (
            "n_number_too_large",
            with(0, &[8, 8, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x10, 1, 5]),
            "the delta is damaged: a number",
        ),
        ("n_length_below_header", with(0, &[3, 8, 0]), "the delta is damaged: a length"),
        ("n_range_empty", with(0, &[8, 8, 1, 32, 0]), "the delta is damaged: an empty range"),
        (
            "n_range_beyond",
            with(0, &[8, 8, 1, 63, 2, 5, 5]),
            "the delta is damaged: a range beyond",
        ),
        ("n_range_over_header", with(0, &[8, 8, 1, 7, 1, 5]), "the delta is damaged: a range over"),
        ("n_range_over_used", with(0, &[8, 8, 1, 23, 1, 5]), "the delta is damaged: a range over"),
        (
            "n_growth_missing",
            with(0, &[8, 9, 1, 65, 7, 1, 2, 3, 4, 5, 6, 7]),
            "the delta is damaged: bytes of the longer",
        ),
        ("n_bytes_behind", [&good[..], &[0]].concat(), "the delta is damaged: bytes behind"),
    ]
}

/// Deltas from `y_one_byte`'s base to what is no document with a state, and the beginning of the error that
/// applying each is refused with.
fn refused() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let (_, base, one, _) = sound().remove(0);
    let words = u8::try_from(base.len() / 8).unwrap();
    assert!(words < 0x80, "a number of one byte");
    let with = |range: &[u8]| {
        let states = [one.base().to_bytes(), one.state().to_bytes()].concat();
        [&[0xAB, 0x4C, 0x42, 0x44, 1, 0][..], &states, &[words, words, 1], range].concat()
    };
    let lost = "the delta is damaged: the document would have no place";
    vec![
        ("n_apply_root_tag_0", with(&[16, 1, 0]), "an undefined tag"),
        ("n_apply_root_tag_30", with(&[16, 1, 0x30]), "an undefined tag"),
        ("n_apply_header_byte", with(&[17, 1, 1]), "the delta is damaged: the header"),
        ("n_apply_no_aux", with(&[28, 4, 0, 0, 0, 0]), lost),
        ("n_apply_aux_beyond", with(&[28, 4, 0, 0, 0, 1]), lost),
    ]
}

#[test]
fn vectors_are_read_or_refused() {
    let read = |name: String| std::fs::read(vectors().join(&name)).expect(&name);
    let mut count = 0;
    for (name, base, delta, after) in sound() {
        let bytes = read(format!("{name}.delta"));
        assert_eq!(bytes, delta.to_bytes(), "{name}");
        assert_eq!(read(format!("{name}.base.lbuf")), base, "{name}");
        let mut doc = copy(&base);
        Delta::from_bytes(&bytes).unwrap().apply(&mut doc).unwrap();
        assert_eq!(doc.as_bytes(), after, "{name}");
        assert_eq!(read(format!("{name}.after.lbuf")), after, "{name}");
        count += 3;
    }
    for (name, bytes, problem) in damaged() {
        assert_eq!(read(format!("{name}.delta")), bytes, "{name}");
        let error = Delta::from_bytes(&bytes).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{name}: {error}");
        count += 1;
    }
    let base = sound().remove(0).1;
    for (name, bytes, problem) in refused() {
        assert_eq!(read(format!("{name}.delta")), bytes, "{name}");
        let mut doc = copy(&base);
        let error = Delta::from_bytes(&bytes).unwrap().apply(&mut doc).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{name}: {error}");
        assert_eq!(doc.as_bytes(), base, "{name}");
        count += 1;
    }
    assert_eq!(std::fs::read_dir(vectors()).unwrap().count(), count);
}

#[test]
#[ignore = "adds vectors that are not there yet"]
fn write_missing_deltas() {
    std::fs::create_dir_all(vectors()).unwrap();
    let write = |name: String, bytes: &[u8]| {
        let path = vectors().join(name);
        if !path.exists() {
            std::fs::write(path, bytes).unwrap();
        }
    };
    for (name, base, delta, after) in sound() {
        write(format!("{name}.delta"), &delta.to_bytes());
        write(format!("{name}.base.lbuf"), &base);
        write(format!("{name}.after.lbuf"), &after);
    }
    for (name, bytes, _) in damaged().into_iter().chain(refused()) {
        write(format!("{name}.delta"), &bytes);
    }
}

/// `docs/DELTA.md` names the vectors. A delta is smaller than a document with the same fields.
#[test]
fn the_page_says_what_is_there() {
    let page = vectors().join("../../docs/DELTA.md");
    let page = std::fs::read_to_string(page).unwrap();
    let named: std::collections::BTreeSet<&str> =
        page.split('`').filter(|word| word.starts_with("y_") || word.starts_with("n_")).collect();
    let there: std::collections::BTreeSet<&str> = sound()
        .iter()
        .map(|sound| sound.0)
        .chain(damaged().iter().chain(&refused()).map(|damaged| damaged.0))
        .collect();
    assert_eq!(named, there);

    let (_, _, delta, _) = sound().remove(0);
    let change = delta.changes().next().unwrap();
    let document = json!({
        "base": delta.base().to_bytes().as_slice(),
        "state": delta.state().to_bytes().as_slice(),
        "base_length": delta.base_length(),
        "length": delta.length(),
        "changes": [[change.offset, change.new]],
    });
    let (size, document) = (delta.to_bytes().len(), document.as_bytes().len());
    println!("{size} bytes, as a document {document}");
    assert!(document > 3 * size, "{size} bytes, as a document {document}");
}
