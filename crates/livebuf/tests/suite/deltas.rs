//! Deltas, recorders and histories: what they record, apply, refuse and restore.

use livebuf::{
    Delta, DeltaError, DocBuf, Editor, ErrorKind, History, New, Recorder, State, Undoable,
    VecStorage, json,
};

type Recorded = Editor<VecStorage, Recorder>;

/// A document with a state, under a recorder that keeps old bytes.
fn recorded(doc: &DocBuf) -> Recorded {
    let storage = VecStorage::from_slice(doc.as_bytes()).unwrap();
    let mut doc = Editor::open_unvalidated_with(storage, Recorder::default()).unwrap();
    doc.validate().unwrap();
    doc.set_state(State::from_bytes([7; 16])).unwrap();
    restart(&mut doc);
    doc
}

fn restart(doc: &mut Recorded) {
    let recorder = Recorder::with_old(doc.as_bytes());
    *doc.observer_mut() = recorder;
}

fn made(doc: &mut Recorded) -> Delta {
    let recorder = std::mem::take(doc.observer_mut());
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
    // Storage that cannot watch has no state.
    let mut buffer = bytes.clone();
    let mut fixed = Editor::open_unvalidated(&mut buffer[..]).unwrap();
    assert_eq!(fixed.state(), None);
    let refused = fixed.set_state(State::from_bytes([3; 16])).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
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
    forged.set_pointer("/laps/0", 1_000).unwrap();
    forged.set_state(delta.base()).unwrap();
    let before = forged.to_vec();
    assert_eq!(delta.apply_verified(&mut forged), Err(DeltaError::NoDigest));
    delta.set_digest(doc.doc()).unwrap();
    assert_eq!(delta.apply_verified(&mut forged), Err(DeltaError::WrongDigest));
    assert_eq!(forged.as_bytes(), before);
    let mut same = base.clone();
    let delta = Delta::from_bytes(&delta.to_bytes()).unwrap();
    delta.apply_verified(&mut same).unwrap();
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
    let taken = std::mem::take(doc.observer_mut());
    let refused = Delta::make(&mut doc, taken.clone()).unwrap_err();
    assert!(
        matches!(refused, DeltaError::Document(error) if error.kind() == ErrorKind::BadSequence)
    );
    *doc.observer_mut() = taken;
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
        let mut fixed = Editor::open_unvalidated(Undoable(&mut buffer)).unwrap();
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

#[test]
fn histories_are_bounded_and_follow_one_line() {
    let mut doc = recorded(&sample());
    let mut history = History::new(5_000);
    let mut snapshots = vec![doc.as_bytes().to_vec()];
    for lap in 0..100 {
        doc.set_pointer("/laps/-", lap).unwrap();
        doc.set_pointer("/driver", &*"x".repeat(lap as usize)).unwrap();
        history.push(made(&mut doc)).unwrap();
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
    history.push(made(&mut doc)).unwrap();
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
