//! Space comes back, secrets do not, and what fails changes nothing.

use livebuf::{DocBuf, Editor, Error, ErrorKind, Limits, New, NodeId, Result, Storage, VecStorage};
use livebuf_fuzz::fresh::text;
use livebuf_fuzz::input::Random;
use livebuf_fuzz::shadow::{Shadow, shadow};
use livebuf_fuzz::walk;

// --- churn ------------------------------------------------------------------

/// Used bytes are at most twice the live ones (and what a few small objects take,
/// which may have been live a moment before).
fn at_most_twice(doc: &DocBuf, what: &str) {
    let stats = doc.doc().stats().expect("valid");
    let (used, live) = (stats.used, stats.live());
    assert!(used <= 2 * live + 512, "{what}: {used} bytes used for {live} live ones: {stats:?}");
}

/// A million updates of a thousand keys, lengths drawn by `length`.
fn updates(name: &str, seed: u64, length: impl Fn(&mut Random) -> usize) {
    let mut random = Random(seed);
    let source = "0123456789abcdef".repeat(256);
    let mut doc = DocBuf::new().expect("memory");
    let root = doc.set_root(New::object(0)).expect("room").expect("an object");
    let keys: Vec<String> = (0..1000).map(|key| format!("key {key}")).collect();
    for round in 0..1_000_000u32 {
        let key = &*keys[random.below(1000)];
        let length = length(&mut random);
        doc.set(root, key, &source[..length]).expect("room");
        if round % 100_000 == 99_999 {
            at_most_twice(&doc, &format!("{name}, seed {seed}, after {} updates", round + 1));
        }
    }
}

#[test]
fn churn_of_uniform_lengths() {
    updates("uniform 8 to 1000", 1, |random| 8 + random.below(993));
}

#[test]
fn churn_of_log_uniform_lengths() {
    updates("log-uniform 8 to 4096", 2, |random| {
        let exponent = 3.0 + 9.0 * (random.below(1 << 20) as f64 / f64::from(1 << 20));
        exponent.exp2() as usize
    });
}

#[test]
fn churn_of_growing_text() {
    let mut doc = DocBuf::new().expect("memory");
    let root = doc.set_root(New::object(0)).expect("room").expect("an object");
    let mut random = Random(3);
    let mut lengths: Vec<usize> = (0..1000).map(|_| 8 + random.below(200)).collect();
    for round in 0..100 {
        for (key, length) in lengths.iter_mut().enumerate() {
            *length += 1;
            let value = "x".repeat(*length);
            doc.set(root, &*format!("key {key}"), &*value).expect("room");
        }
        if round % 10 == 9 {
            at_most_twice(&doc, &format!("growing, round {round}"));
        }
    }
}

/// A queue of objects with five keys, pushed behind and removed in front.
#[test]
fn churn_of_a_queue() {
    for length in [1usize, 10, 300] {
        let mut doc = DocBuf::new().expect("memory");
        let root = doc.set_root(New::array(0)).expect("room").expect("an array");
        let mut random = Random(4);
        let long = "z".repeat(200);
        for round in 0..100_000usize {
            let mut root = doc.node_mut(root_of(&doc, root)).expect("there");
            let mut job = root.push(New::object(5)).expect("room").expect("an object");
            job.set("id", round as i64).expect("room");
            job.set("state", "waiting").expect("room");
            job.set("payload", &long[..8 + random.below(190)]).expect("room");
            job.set("priority", random.below(10) as i64).expect("room");
            job.set("time", round as f64 / 8.0).expect("room");
            let root = doc.root_id().expect("an array");
            if round >= length {
                assert!(doc.remove(root, 0usize).expect("sound"), "there");
            }
            if round % 25_000 == 24_999 {
                at_most_twice(&doc, &format!("queue of {length}, round {round}"));
            }
        }
    }
}

fn root_of(doc: &DocBuf, root: NodeId) -> NodeId {
    if doc.is_current(root) { root } else { doc.root_id().expect("a container") }
}

/// Objects come and go in an object, records and maps grow and shrink.
#[test]
fn churn_of_objects() {
    let mut doc = DocBuf::new().expect("memory");
    doc.set_root(New::object(0)).expect("room");
    let (mut random, mut most) = (Random(5), 0);
    for round in 0..200_000usize {
        let mut root = doc.root_mut().expect("an object");
        let slot = format!("slot {}", random.below(40));
        if random.below(3) == 0 {
            root.remove(&*slot).expect("sound");
        } else {
            let fields = random.below(12);
            let mut object = root.set(&*slot, New::object(0)).expect("room").expect("an object");
            for field in 0..fields {
                let value = text(field as u8, random.below(60));
                object.set(&*format!("field {field}"), &*value).expect("room");
            }
            for field in 0..random.below(3) {
                object.remove(&*format!("field {field}")).expect("sound");
            }
        }
        if round % 100 == 99 {
            // How much is live swings by chance.
            let stats = doc.doc().stats().expect("valid");
            most = most.max(stats.live());
            assert!(stats.used <= 2 * most, "round {round}: {most} bytes were live, {stats:?}");
        }
    }
}

// --- secrets ----------------------------------------------------------------

const LONG: &str = "the secret that must not stay anywhere";
const SHORT: &str = "s3cr3t!";
const NUMBER: &str = "31415926535897932384626433832795028841971";
const INTEGER: i64 = 0x5EC2_E75E_C2E7_1234;

/// How often a secret lies in the storage, used or not.
fn secrets<S: Storage>(doc: &Editor<S>) -> usize {
    let bytes = doc.storage().bytes();
    let count = |secret: &[u8]| bytes.windows(secret.len()).filter(|&at| at == secret).count();
    count(LONG.as_bytes())
        + count(SHORT.as_bytes())
        + count(NUMBER.as_bytes())
        + count(&INTEGER.to_le_bytes())
}

type Place = fn(&mut DocBuf) -> Result<()>;

/// Every way a value can leave its place; each begins with its secrets in place.
#[test]
fn no_secret_stays() {
    fn root(doc: &DocBuf) -> NodeId {
        doc.root_id().expect("a container")
    }
    let remains = ["", "short", "a text that is a bit longer"];
    // A record, a map, an array of cells, and behind each something that stays.
    let containers: [(&str, New<'_>, bool); 4] = [
        ("a record", New::Object { capacity: 1 }, false),
        ("a map", New::Map { capacity: 1 }, false),
        ("an array", New::Array { capacity: 0 }, true),
        ("an array at the end", New::Array { capacity: 4 }, true),
    ];
    for (name, new, array) in containers {
        let mut first = DocBuf::new().expect("memory");
        first.set_root(new).expect("room");
        let add = |doc: &mut DocBuf, key: &str, new: New<'_>| {
            let root = root(doc);
            if array { doc.push(root, new) } else { doc.set(root, key, new) }.expect("room")
        };
        add(&mut first, "first", New::Str("something before"));
        let secrets_in =
            [New::Str(LONG), New::Str(SHORT), New::NumberText(NUMBER), New::Int(INTEGER)];
        for (key, secret) in ["a", "b", "c", "d"].into_iter().zip(secrets_in) {
            add(&mut first, key, secret);
        }
        add(&mut first, "e", New::Bytes(LONG.as_bytes()));
        let inner = add(&mut first, "f", New::Object { capacity: 0 }).expect("an object");
        first.set(inner, "inner", LONG).expect("room");
        first.set(inner, "inner too", SHORT).expect("room");
        let inner = add(&mut first, "g", New::Array { capacity: 0 }).expect("an array");
        first.push(inner, LONG).expect("room");
        first.push(inner, INTEGER).expect("room");
        let inner = add(&mut first, "h", New::Map { capacity: 0 }).expect("a map");
        first.set(inner, LONG, LONG).expect("room");
        first.set(inner, "d", INTEGER).expect("room");
        add(&mut first, "last", New::Str("something behind"));
        let all = secrets(&first);
        assert_eq!(all, 12, "{name}: the secrets are there once each");

        let places = 1..9;
        let key = |at: usize| ["a", "b", "c", "d", "e", "f", "g", "h"][at - 1];
        let at = |doc: &mut DocBuf, place: usize, new: New<'_>| {
            let root = root(doc);
            if array { doc.set(root, place, new) } else { doc.set(root, key(place), new) }
                .expect("room");
        };
        let remove = |doc: &mut DocBuf, place: usize| {
            let root = root(doc);
            let done = if array { doc.remove(root, place) } else { doc.remove(root, key(place)) };
            assert!(done.expect("sound"), "{name}: removed");
        };
        let none = |doc: &DocBuf, how: &str| {
            assert_eq!(secrets(doc), 0, "{name}: a secret stays after it was {how}");
            doc.doc().validate().expect("valid");
        };

        let mut doc = first.clone();
        for place in places.clone().rev() {
            remove(&mut doc, place);
        }
        none(&doc, "deleted");
        for remain in remains {
            let mut doc = first.clone();
            for place in places.clone() {
                at(&mut doc, place, New::Str(remain));
            }
            none(&doc, "overwritten");
        }
        let mut doc = first.clone();
        for place in places.clone() {
            at(&mut doc, place, New::Null);
        }
        none(&doc, "overwritten by null");
        let mut doc = first.clone();
        let node = root(&doc);
        doc.clear(node).expect("sound");
        none(&doc, "cleared");
        let mut doc = first.clone();
        doc.set_root(1).expect("room");
        none(&doc, "of the old root");
        let mut doc = first.clone();
        for place in places.clone().rev() {
            let node = root(&doc);
            let detached =
                if array { doc.detach(node, place) } else { doc.detach(node, key(place)) };
            doc.discard(detached.expect("sound").expect("there")).expect("fresh");
        }
        none(&doc, "detached and discarded");
        if array {
            let mut doc = first.clone();
            let node = root(&doc);
            doc.truncate(node, 1).expect("an array");
            none(&doc, "truncated");
            let mut doc = first.clone();
            let mut cursor = doc.root_mut().expect("an array");
            while cursor.pop().expect("an array") {}
            none(&doc, "popped");
        }

        // What moves leaves nothing behind.
        let mut doc = first.clone();
        for more in 0..300 {
            add(&mut doc, &format!("more {more}"), New::Int(more));
        }
        assert_eq!(secrets(&doc), all, "{name}: growth left a secret behind");
        for place in places.clone() {
            at(&mut doc, place, New::Bool(true));
        }
        none(&doc, "moved and overwritten");
        let mut doc = first.clone();
        let node = root(&doc);
        doc.reserve(node, 200).expect("room");
        assert_eq!(secrets(&doc), all, "{name}: reserving left a secret behind");
        let mut doc = first.clone();
        doc.compact().expect("room");
        // Equal text is stored once, if it is no key.
        assert!(secrets(&doc) < all, "{name}: compaction left a secret behind");
        for place in places.clone().rev() {
            remove(&mut doc, place);
        }
        let mut again = doc.clone();
        again.compact().expect("room");
        none(&again, "removed and compacted");
    }
}

/// Columns of one type hold secrets too, and are copied when they widen.
#[test]
fn no_secret_stays_in_columns() {
    let cases: [(&str, Place); 6] = [
        ("integers", |doc| {
            let root = doc.root_id().expect("an array");
            doc.push(root, INTEGER)?;
            doc.push(root, INTEGER)?;
            doc.push(root, 1).map(drop)
        }),
        ("doubles", |doc| {
            let root = doc.root_id().expect("an array");
            doc.push(root, f64::from_bits(INTEGER as u64))?;
            doc.push(root, 1.5).map(drop)
        }),
        ("texts", |doc| {
            let root = doc.root_id().expect("an array");
            doc.push(root, LONG)?;
            doc.push(root, SHORT)?;
            doc.push(root, "other").map(drop)
        }),
        ("objects", |doc| {
            let root = doc.root_id().expect("an array");
            let object = doc.push(root, New::object(1))?.expect("an object");
            doc.set(object, "key", LONG)?;
            doc.set(object, "other key", SHORT)?;
            doc.push(root, New::object(0)).map(drop)
        }),
        ("arrays", |doc| {
            let root = doc.root_id().expect("an array");
            let array = doc.push(root, New::array(0))?.expect("an array");
            doc.push(array, SHORT)?;
            doc.push(array, INTEGER)?;
            doc.push(root, New::array(0)).map(drop)
        }),
        ("large integers", |doc| {
            let root = doc.root_id().expect("an array");
            doc.push(root, u64::MAX)?;
            doc.push(root, INTEGER).map(drop)
        }),
    ];
    for (name, fill) in cases {
        for widened in [false, true] {
            let mut doc = DocBuf::new().expect("memory");
            doc.set_root(New::array(0)).expect("room");
            fill(&mut doc).expect("room");
            let all = secrets(&doc);
            assert!(all > 0);
            let root = doc.root_id().expect("an array");
            if widened {
                doc.insert(root, 0, "a value of another type").expect("room");
                doc.push(root, ()).expect("room");
                assert_eq!(secrets(&doc), all, "{name}: widening left a secret behind");
            }
            let mut cursor = doc.root_mut().expect("an array");
            while cursor.remove(0usize).expect("an array") {}
            assert_eq!(secrets(&doc), 0, "{name}: a secret stays after it was removed");
            doc.doc().validate().expect("valid");
        }
    }
}

// --- full buffers -----------------------------------------------------------

type Step<S> = fn(&mut Editor<S>) -> Result<()>;

fn node<S: Storage>(doc: &Editor<S>, pointer: &str) -> Result<NodeId> {
    doc.find(pointer)?.ok_or(Error::new(ErrorKind::NotFound, 0))
}

/// Edits that reach every place where space is asked for. None holds a handle,
/// so each can be made again in a copy of the document.
fn script<S: Storage>() -> Vec<Step<S>> {
    vec![
        |doc| doc.set_root(New::object(1)).map(drop),
        |doc| doc.set_pointer("/a", 1).map(drop),
        |doc| doc.set_pointer("/b", "a text of some length").map(drop),
        |doc| doc.set_pointer("/a key longer than a cell", ()).map(drop),
        |doc| doc.set_pointer("/b", "a text of some more length, at the end").map(drop),
        |doc| doc.set_pointer("/list", New::array(0)).map(drop),
        |doc| doc.set_pointer("/list/-", 1).map(drop),
        |doc| doc.set_pointer("/list/-", 2).map(drop),
        |doc| doc.set_pointer("/list/-", "widened").map(drop),
        |doc| doc.set_pointer("/list/0", "a longer text in a list").map(drop),
        |doc| doc.set_pointer("/list/-", New::object(2)).map(drop),
        |doc| doc.set_pointer("/list/3/x", 1).map(drop),
        |doc| doc.set_pointer("/list/3/y", New::Bytes(b"bytes, more than seven")).map(drop),
        |doc| doc.insert(node(doc, "/list")?, 1, 0.5).map(drop),
        |doc| doc.set_pointer("/b", "moved: a text that is longer than it was before").map(drop),
        |doc| doc.rename(node(doc, "")?, "a", "a renamed key of length"),
        |doc| doc.rename(node(doc, "/list/4")?, "x", "z"),
        |doc| doc.reserve(node(doc, "")?, 20),
        |doc| doc.reserve(node(doc, "/list")?, 20),
        |doc| doc.remove_pointer("/b").map(drop),
        |doc| doc.set_pointer("/map", New::Map { capacity: 0 }).map(drop),
        |doc| {
            let map = node(doc, "/map")?;
            for number in 0..70 {
                let key = format!("{number} {}", "key ".repeat(number % 4));
                doc.set(map, &*key, number as i64)?;
            }
            Ok(())
        },
        |doc| doc.rename(node(doc, "/map")?, "0 ", "a new name for the first of them"),
        |doc| doc.reserve(node(doc, "/map")?, 9),
        |doc| {
            for number in 0..40 {
                let key = format!("{number} {}", "key ".repeat(number % 4));
                doc.remove(node(doc, "/map")?, &*key)?;
            }
            Ok(())
        },
        |doc| doc.set_pointer("/flags", New::Items(&[New::Bool(true), New::Bool(false)])).map(drop),
        |doc| {
            let fields = [("x", New::Str("text of a literal")), ("yy", New::Null)];
            doc.set_pointer("/literal", New::Fields(&fields)).map(drop)
        },
        |doc| {
            let root = node(doc, "")?;
            for number in 0..250 {
                doc.set(root, &*format!("k{number}"), number)?;
            }
            Ok(())
        },
        |doc| {
            let copy = DocBuf::from_bytes_unvalidated(doc.as_bytes())?;
            doc.set_pointer("/copy", copy.doc().root()).map(drop)
        },
        |doc| doc.set(node(doc, "")?, &*"long".repeat(70), 1).map(drop),
        |doc| {
            let root = node(doc, "")?;
            match doc.detach(root, "map")? {
                Some(map) => doc.set_pointer("/hung elsewhere", &map).map(drop),
                None => Ok(()),
            }
        },
        |doc| doc.clear(node(doc, "/copy")?),
        |doc| doc.set_pointer("/after", &*"x".repeat(400)).map(drop),
        |doc| doc.compact(),
        |doc| doc.set_pointer("/after", &*"y".repeat(401)).map(drop),
    ]
}

/// Some steps are many edits; one that lacks space has made those before it.
const MANY: [usize; 4] = [21, 24, 27, 30];

#[test]
fn full_buffers_say_what_is_missing() {
    let mut room = 32;
    loop {
        let mut buffer = vec![0xA5; room];
        let mut doc = Editor::create(&mut buffer[..]).expect("room for a header");
        Shadow::listen(&mut doc);
        let mut missing = 0;
        for (number, step) in script().into_iter().enumerate() {
            let before = doc.as_bytes().to_vec();
            let Err(error) = step(&mut doc) else { continue };
            match error.kind() {
                ErrorKind::NoSpace => missing += 1,
                // Earlier steps failed, and what they were to make is not there.
                ErrorKind::NotFound | ErrorKind::WrongType | ErrorKind::IndexOutOfRange
                    if missing > 0 =>
                {
                    continue;
                }
                kind => panic!("room {room}, step {number}: {kind:?}"),
            }
            let many = MANY.contains(&number);
            assert!(
                many || before == doc.as_bytes(),
                "room {room}, step {number}: a failed edit changed used bytes"
            );
            doc.doc()
                .validate()
                .unwrap_or_else(|error| panic!("room {room}, step {number}: {error:?}"));
            let detail = error.detail();
            assert!(detail > 0, "room {room}, step {number}: nothing is missing");
            if many || room % 32 != 0 {
                continue;
            }
            // As much more is enough.
            let mut larger = before.clone();
            larger.resize(room + detail as usize, 0x5A);
            let mut copy = Editor::open_unvalidated(&mut larger[..]).expect("sound");
            Shadow::listen(&mut copy);
            copy.validate().expect("valid");
            let again = script()[number](&mut copy);
            assert!(
                again.is_ok(),
                "room {room}, step {number}: {detail} bytes were said to be missing, then {again:?}"
            );
        }
        walk::regions(doc.doc(), true);
        if missing == 0 {
            break;
        }
        room += 8;
        assert!(room < 1 << 17, "the script never fits");
    }
}

#[test]
fn limits_on_the_document_are_kept() {
    let mut limit = 32;
    loop {
        let mut doc = DocBuf::new().expect("memory");
        Shadow::listen(&mut doc);
        let mut limits = Limits::default();
        limits.document = limit;
        doc.set_limits(limits);
        let mut missing = 0;
        for (number, step) in script().into_iter().enumerate() {
            let before = doc.as_bytes().to_vec();
            let Err(error) = step(&mut doc) else { continue };
            match error.kind() {
                ErrorKind::DocumentLimit => missing += 1,
                ErrorKind::NotFound | ErrorKind::WrongType | ErrorKind::IndexOutOfRange
                    if missing > 0 =>
                {
                    continue;
                }
                kind => panic!("limit {limit}, step {number}: {kind:?}"),
            }
            assert_eq!(error.detail(), limit, "the limit is named");
            let same = before == doc.as_bytes();
            assert!(MANY.contains(&number) || same, "limit {limit}, step {number}: changed bytes");
            assert!(doc.as_bytes().len() as u64 <= limit);
        }
        walk::regions(doc.doc(), true);
        if missing == 0 {
            break;
        }
        limit += 56;
        assert!(limit < 1 << 17, "the script never fits");
    }
}

/// Storage that refuses to grow a certain time, as disks and allocators do.
struct Refusing {
    storage: VecStorage,
    grows: usize,
}

impl Storage for Refusing {
    const ZEROED: bool = true;

    fn bytes(&self) -> &[u8] {
        self.storage.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.storage.bytes_mut()
    }

    fn grow(&mut self, capacity: u64) -> Result<()> {
        // Exactly what was asked, so that it is asked often.
        if self.grows == 0 {
            self.grows = usize::MAX;
            return Err(Error::with_detail(ErrorKind::Io, 0, 28));
        }
        self.grows -= 1;
        let mut larger = VecStorage::with_capacity(capacity)?;
        larger.bytes_mut()[..self.bytes().len()].copy_from_slice(self.bytes());
        self.storage = larger;
        Ok(())
    }
}

#[test]
fn storage_that_refuses_once() {
    for grows in 0.. {
        let storage = Refusing { storage: VecStorage::with_capacity(32).expect("memory"), grows };
        let mut doc = Editor::create(storage).expect("room for a header");
        Shadow::listen(&mut doc);
        let mut refused = None;
        for (number, step) in script().into_iter().enumerate() {
            let before = doc.as_bytes().to_vec();
            match step(&mut doc) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Io => {
                    assert_eq!(error.detail(), 28, "the system's error is passed on");
                    let same = before == doc.as_bytes();
                    assert!(MANY.contains(&number) || same, "{grows} grows, step {number}");
                    refused = Some(number);
                    // The disk has room again.
                    if !MANY.contains(&number) {
                        step(&mut doc).expect("done the second time");
                    }
                }
                Err(error) => assert!(refused.is_some(), "{grows} grows, step {number}: {error:?}"),
            }
        }
        walk::regions(doc.doc(), true);
        if refused.is_none() && doc.storage().grows != usize::MAX {
            break;
        }
    }
}

// --- the hook ---------------------------------------------------------------

/// Setting a scalar over a scalar writes a few bytes, wherever it lies.
#[test]
fn a_scalar_set_reports_under_32_bytes() {
    let mut doc = DocBuf::new().expect("memory");
    Shadow::listen(&mut doc);
    let root = doc.set_root(New::object(0)).expect("room").expect("an object");
    let map = doc.set(root, "map", New::Map { capacity: 0 }).expect("room").expect("a map");
    let list = doc.set(root, "list", New::array(0)).expect("room").expect("an array");
    let cells = doc.set(root, "cells", New::array(0)).expect("room").expect("an array");
    for number in 0..100 {
        let key = format!("key {number}");
        doc.set(root, &*key, number).expect("room");
        doc.set(map, &*key, number).expect("room");
        doc.push(list, number).expect("room");
        doc.push(cells, ()).expect("room");
        doc.push(cells, number).expect("room");
    }
    let news: [fn() -> New<'static>; 5] = [
        || New::Int(i64::MIN),
        || New::Float(0.1),
        || New::Bool(true),
        || New::Null,
        || New::Str("inline"),
    ];
    for new in news {
        for number in [0usize, 50, 99] {
            let key = format!("key {number}");
            let reported = |doc: &mut DocBuf, what: &str| {
                let bytes = std::mem::take(&mut shadow(doc).reported);
                assert!(bytes < 32, "{:?} in {what}: {bytes} bytes", new());
            };
            shadow(&mut doc).reported = 0;
            doc.set(root, &*key, new()).expect("room");
            reported(&mut doc, "a record");
            doc.set(map, &*key, new()).expect("room");
            reported(&mut doc, "a map");
            doc.set(cells, 2 * number, new()).expect("room");
            reported(&mut doc, "cells");
            if let New::Int(value) = new() {
                doc.set(list, number, value).expect("room");
                reported(&mut doc, "a column");
            }
        }
    }
    let mut doc = DocBuf::new().expect("memory");
    Shadow::listen(&mut doc);
    shadow(&mut doc).reported = 0;
    doc.set_root(7).expect("room");
    assert!(shadow(&mut doc).reported < 32, "the root");
}
