//! Asking a document everything, in both modes.
//!
//! [`checked`] asks any bytes: answers may be errors, never panics or endless.
//! [`valid`] asks a validated document: all ways to a value must agree.

use crate::columns;
use crate::fresh::token;
use crate::tree::{Budget, Tree};
use livebuf::{Array, Checked, Doc, Element, Key, Kind, Object, RegionKind, Valid, Value};
use std::ops::Bound;

/// Checks that no two regions of a valid document overlap, that they lie in it,
/// and, where every freed byte was `wiped`, that free blocks are zero.
///
/// # Panics
/// Where they do not.
pub fn regions(doc: Doc<'_>, wiped: bool) {
    let bytes = doc.as_bytes();
    let mut owner = vec![0u8; bytes.len()];
    let mut free = 0u64;
    doc.regions(|region| {
        let range = region.offset as usize..(region.offset + region.length) as usize;
        let shared = region.kind == RegionKind::SharedText;
        let place = owner.get_mut(range.clone()).expect("inside the document");
        let taken = place.iter().any(|&other| other != 0 && !(shared && other == 2));
        assert!(!taken, "{region:?} overlaps");
        place.fill(if shared { 2 } else { 1 });
        if region.kind == RegionKind::Free {
            free += region.length;
            let dirty = bytes[range].iter().skip(8).any(|&byte| byte != 0);
            assert!(!(wiped && dirty), "{region:?} is not wiped");
        }
    })
    .expect("valid");
    assert_eq!(doc.stats().expect("valid").free, free);
}

// --- any bytes --------------------------------------------------------------

/// Work that a walk of damaged bytes may do. Counts elements asked for.
struct Work {
    left: usize,
}

impl Work {
    fn spend(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }
}

/// Asks any bytes everything, within a budget of elements.
pub fn checked(doc: Doc<'_>, budget: usize) {
    let mut work = Work { left: budget };
    value(doc.root(), &mut work, 64);
    let _ = format!("{doc:?}");
    for pointer in ["", "/", "/a", "/0", "/a/0/b", "/~0~1", "no", "/0/0/0/0", "/~2"] {
        let _ = doc.pointer(pointer).map(|found| found.map(|value| value.kind()));
    }
}

fn value(value: Value<'_, Checked>, work: &mut Work, depth: usize) {
    if !work.spend() {
        return;
    }
    let _ = (value.is_null(), value.as_bool(), value.as_i64(), value.as_u64(), value.as_f64());
    let _ = (value.as_str(), value.as_bytes(), value.as_number_text(), value.len());
    let _ = value.as_extended().map(|value| value.map(|value| value.to_string()));
    let _ = (value.get("a").is_ok(), value.get(0usize).is_ok(), value.get(usize::MAX).is_ok());
    let _ = value.pointer("/a/0").is_ok();
    let _ = format!("{value:?}");
    if depth == 0 {
        return;
    }
    if let Ok(Some(object)) = value.as_object() {
        checked_object(object, work, depth - 1);
    }
    if let Ok(Some(array)) = value.as_array() {
        let _ = array.tensor().map(|tensor| tensor.map(|tensor| tensor.shape().len()));
        checked_array(array, work, depth - 1);
    }
}

fn checked_object(object: Object<'_, Checked>, work: &mut Work, depth: usize) {
    let _ = (object.len(), object.is_empty(), object.is_map());
    let mut keys = Vec::new();
    for member in object.iter() {
        if !work.spend() {
            return;
        }
        match member {
            Ok((key, member)) => {
                keys.push(key);
                value(member, work, depth);
            }
            Err(_) => break,
        }
    }
    // Every iterator ends, from both ends and from alternating ones.
    let bound = 2 * object.len() + 2;
    assert!(object.iter().rev().take(bound).count() < bound, "members backwards do not end");
    assert!(object.keys().take(bound).count() < bound, "keys do not end");
    assert!(object.values().rev().take(bound).count() < bound, "values do not end");
    let ordered = |count: usize| assert!(count < 600 + bound, "an ordered walk does not end");
    let most = 600 + bound;
    // A step in a record looks at all its keys: 255 squared at most.
    let cost = if object.is_map() { 2 } else { object.len() };
    work.left = work.left.saturating_sub(4 * cost.min(object.len() * 256));
    ordered(object.range(..).take(most).count());
    ordered(object.range(..).rev().take(most).count());
    ordered(object.range("a".."k").take(most).count());
    ordered(object.range("k"..="a").take(most).count());
    ordered(object.range((Bound::Excluded("a"), Bound::Unbounded)).rev().take(most).count());
    ordered(object.prefix("a").take(most).count());
    ordered(object.prefix("").rev().take(most).count());
    let mut both = object.range(..);
    for step in 0..most {
        let next = if step % 2 == 0 { both.next() } else { both.next_back() };
        if next.is_none() {
            break;
        }
        assert!(step + 1 < most, "an ordered walk does not end");
    }
    let _ = (object.first().is_ok(), object.last().is_ok());
    let _ = format!("{object:?}").len();
    for key in keys.iter().take(40) {
        let _ = object.get(*key).map(|found| found.map(|value| value.kind()));
        let remembered = Key::new(key);
        for _ in 0..2 {
            let _ = object.get(&remembered).map(|found| found.map(|value| value.kind()));
        }
        if let Ok(Some(bound)) = object.bind(key) {
            let _ = object.get(&bound).map(|found| found.map(|value| value.kind()));
        }
        let _ = object.contains_key(*key);
    }
    let _ = (object.get("absent").is_ok(), object.contains_key("another absent key").is_ok());
}

fn checked_array(array: Array<'_, Checked>, work: &mut Work, depth: usize) {
    let length = array.len();
    let _ = (array.is_empty(), array.column_type());
    for element in array.iter() {
        if !work.spend() {
            break;
        }
        if let Ok(element) = element {
            value(element, work, depth);
        }
    }
    for element in array.iter().rev().take(40) {
        let _ = element.map(|element| element.kind());
    }
    assert!(array.iter().nth(length).is_none(), "past the end");
    for index in [0, length / 2, length.wrapping_sub(1), length, usize::MAX] {
        let _ = array.get(index).map(|found| found.map(|value| value.kind()));
    }
    fn slice<T: Element>(array: &Array<'_, Checked>) -> usize {
        array.as_slice::<T>().map_or(0, <[T]>::len)
    }
    let slices = [
        slice::<i8>(&array),
        slice::<i16>(&array),
        slice::<i32>(&array),
        slice::<i64>(&array),
        slice::<u8>(&array),
        slice::<u16>(&array),
        slice::<u32>(&array),
        slice::<u64>(&array),
        slice::<f32>(&array),
        slice::<f64>(&array),
    ];
    assert!(slices.iter().all(|&count| count == 0 || count == length), "a slice's length");
    if length <= 64 {
        let _ = format!("{array:?}").len();
    }
    // Tables in tables are asked with each that they are in.
    let mut rows = work.left.min(2_000);
    columns::checked(array.as_column(), &mut rows);
    work.left = work.left.saturating_sub(work.left.min(2_000) - rows);
}

// --- validated documents ----------------------------------------------------

/// Asks a validated document everything; every way to a value gives the same.
///
/// # Panics
/// Where answers disagree.
pub fn valid(doc: Doc<'_, Valid>) -> Tree {
    let tree = Tree::of_valid(doc.root());
    let again = Tree::read(doc.checked().root(), &mut Budget::AMPLE.clone()).expect("valid");
    assert!(tree == again, "the two modes differ");
    valid_value(doc, doc.root(), &tree.without_tensors(), &mut String::new());
    tree
}

fn valid_value(doc: Doc<'_, Valid>, value: Value<'_, Valid>, tree: &Tree, pointer: &mut String) {
    let by_pointer = |pointer: &str| doc.checked().pointer(pointer).ok();
    match tree {
        Tree::Object(members, _) => {
            let object = value.as_object().expect("an object");
            valid_object(object, members);
            for (at, ((_, value), (key, tree))) in object.iter().zip(members).enumerate() {
                let length = pointer.len();
                pointer.push_str(&token(key));
                if at < 20 && key.len() < 500 && pointer.len() < 2000 {
                    let found = by_pointer(pointer).expect("well-formed").expect("there");
                    assert_eq!(found.kind(), value.kind(), "by pointer {pointer}");
                }
                valid_value(doc, value, tree, pointer);
                pointer.truncate(length);
            }
        }
        Tree::Array(elements) => {
            let array = value.as_array().expect("an array");
            valid_array(array, elements);
            for (index, (value, tree)) in array.iter().zip(elements).enumerate() {
                let length = pointer.len();
                pointer.push_str(&format!("/{index}"));
                if index < 20 && pointer.len() < 2000 {
                    let found = by_pointer(pointer).expect("well-formed").expect("there");
                    assert_eq!(found.kind(), value.kind(), "by pointer {pointer}");
                }
                valid_value(doc, value, tree, pointer);
                pointer.truncate(length);
            }
        }
        _ => {
            assert!(value.as_object().is_none() && value.as_array().is_none());
            assert!(value.get("a").is_none() && value.get(0usize).is_none());
            assert_eq!(value.is_null(), *tree == Tree::Null);
            let kinds = [
                value.as_bool().is_some(),
                value.as_str().is_some(),
                value.as_bytes().is_some(),
                value.as_number_text().is_some(),
                value.as_i64().is_some() || value.as_u64().is_some(),
                value.kind() == Kind::Float,
                value.as_extended().is_some(),
            ];
            let none = matches!(tree, Tree::Null | Tree::Reserved);
            assert_eq!(kinds.iter().filter(|&&kind| kind).count(), usize::from(!none));
        }
    }
}

fn valid_object(object: Object<'_, Valid>, members: &[(String, Tree)]) {
    let forward: Vec<&str> = object.keys().collect();
    let mut backward: Vec<&str> = object.keys().rev().collect();
    backward.reverse();
    assert_eq!(forward, backward, "keys from both ends");
    assert_eq!(object.iter().len(), members.len(), "an exact size");
    let mut sorted = forward.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), forward.len(), "a key occurs twice");
    // Steps in records look at all keys.
    if !object.is_map() && sorted.len() > 64 {
        return;
    }

    let keys = |range: livebuf::Ordered<'_, '_, Valid>| -> Vec<String> {
        range.map(|(key, _)| key.to_owned()).collect()
    };
    assert_eq!(keys(object.range(..)), sorted, "all keys in order");
    let mut backward: Vec<_> = object.range(..).rev().map(|(key, _)| key).collect();
    backward.reverse();
    assert_eq!(backward, sorted, "all keys in order from behind");
    assert_eq!(object.first().map(|member| member.0), sorted.first().copied());
    assert_eq!(object.last().map(|member| member.0), sorted.last().copied());
    let (mut range, mut alternating) = (object.range(..), (Vec::new(), Vec::new()));
    while let Some((key, _)) = range.next() {
        alternating.0.push(key);
        if let Some((key, _)) = range.next_back() {
            alternating.1.push(key);
        }
    }
    alternating.1.reverse();
    assert_eq!([alternating.0, alternating.1].concat(), sorted, "from alternating ends");

    for probe in [1, sorted.len() / 2, sorted.len().saturating_sub(1)] {
        let Some(&key) = sorted.get(probe) else { continue };
        let those = |wanted: &dyn Fn(&str) -> bool| -> Vec<&str> {
            sorted.iter().copied().filter(|key| wanted(key)).collect()
        };
        assert_eq!(keys(object.range(key..)), those(&|other| other >= key), "from {key}");
        assert_eq!(keys(object.range(..key)), those(&|other| other < key), "below {key}");
        let prefix = key.char_indices().nth(2).map_or(key, |(at, _)| &key[..at]);
        let begin = those(&|other| other.starts_with(prefix));
        assert_eq!(keys(object.prefix(prefix)), begin, "beginning with {prefix}");
        let excluded = (Bound::Excluded(key), Bound::Included("k"));
        let between = those(&|other| other > key && other <= "k");
        assert_eq!(keys(object.range(excluded)), between, "between {key} and k");
        // A key that is not there, next to one that is.
        let near = format!("{key}\0");
        assert_eq!(keys(object.range(&*near..)), those(&|other| other >= &*near), "from {near:?}");
    }
    for (at, (key, tree)) in members.iter().enumerate().filter(|(at, _)| at % 8 == 0) {
        let expected = object.values().nth(at).expect("there");
        let remembered = Key::new(key);
        let first = object.get(&remembered).expect("there");
        for found in
            [first, object.get(&remembered).expect("there"), object.get(&**key).expect("there")]
        {
            assert_eq!(found.kind(), expected.kind(), "by key {key}");
            if !tree.is_container() {
                assert!(Tree::of_valid(found) == *tree, "by key {key}");
            }
        }
        let bound = object.bind(key);
        assert_eq!(bound.is_none(), object.is_map(), "records bind their keys");
        if let Some(bound) = bound {
            assert_eq!(object.get(&bound).expect("there").kind(), expected.kind());
        }
    }
}

fn valid_array(array: Array<'_, Valid>, elements: &[Tree]) {
    assert_eq!(array.iter().len(), elements.len(), "an exact size");
    for (element, tree) in array.iter().rev().zip(elements.iter().rev()).take(64) {
        if !tree.is_container() {
            assert!(Tree::of_valid(element) == *tree, "an element from behind");
        }
    }
    for index in (0..elements.len()).step_by(1 + elements.len() / 16) {
        for found in [array.get(index), array.iter().nth(index)] {
            let found = found.expect("there");
            if !elements[index].is_container() {
                assert!(Tree::of_valid(found) == elements[index], "element {index}");
            }
        }
    }
    assert!(array.get(elements.len()).is_none() && array.get(usize::MAX).is_none());
    columns::valid(array.as_column(), &elements.iter().map(Some).collect::<Vec<_>>());
    if let Some(slice) = array.as_slice::<i64>() {
        let same = slice.iter().zip(elements).all(|(&a, b)| *b == Tree::Int(a));
        assert!(same && slice.len() == elements.len(), "a slice of i64");
    }
    if let Some(slice) = array.as_slice::<u8>() {
        let same = slice.iter().zip(elements).all(|(&a, b)| *b == Tree::Int(a.into()));
        assert!(same && slice.len() == elements.len(), "a slice of u8");
    }
}
