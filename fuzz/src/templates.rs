//! Templates against trees: any document, any places, any values.
//!
//! What is stamped validates, is the value that the same sets give in a tree, and is edited
//! afterwards like any document; in buffers full of other bytes, nothing behind it is
//! written. Refused are wrong places, wrong values and buffers that are too small, and then
//! there is no document, or the one of before. A damaged example is refused, or its messages
//! are sound.

use crate::bytes;
use crate::changes::{at_mut, pointer};
use crate::fresh::{self, scalar_new, tree};
use crate::input::Input;
use crate::mutate;
use crate::samples;
use crate::tree::Tree;
use livebuf::{Doc, DocBuf, ErrorKind, New, Template};

/// Most places of a template.
const PLACES: usize = 24;
/// What buffers hold before.
const DIRT: u8 = 0xA5;

/// What an input met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    /// Places that were bound.
    pub places: usize,
    /// Those in rows and arrays.
    pub elements: usize,
    /// Texts that went behind a document.
    pub texts: usize,
}

/// A value that a place can take.
fn scalar(input: &mut Input<'_>) -> Tree {
    match fresh::scalar(input) {
        Tree::Tensor(_) => Tree::Null,
        other => other,
    }
}

/// All ways to values that are no containers.
fn scalars(tree: &Tree, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match tree {
        Tree::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                path.push(index.to_string());
                scalars(element, path, found);
                path.pop();
            }
        }
        Tree::Object(members, _) => {
            for (key, value) in members {
                path.push(key.clone());
                scalars(value, path, found);
                path.pop();
            }
        }
        // A place in a tensor is refused.
        Tree::Tensor(_) => {}
        _ => found.push(path.clone()),
    }
}

/// Decodes a document, places and values from any bytes.
///
/// # Panics
/// Where the library does what it must not.
pub fn run(data: &[u8]) -> Met {
    let mut input = Input::new(data);
    let document = match input.byte() {
        0..100 => {
            let tree = tree(&mut input, 3);
            if input.one_in(2) { tree.to_document() } else { tree.to_records() }
        }
        _ => samples::grown(u64::from(input.word())).1,
    };
    let mut example = Tree::of_valid(document.valid().expect("trusted").root());
    let (mut all, mut paths) = (Vec::new(), Vec::new());
    scalars(&example, &mut Vec::new(), &mut all);
    for _ in 0..input.below(PLACES) {
        if !all.is_empty() {
            paths.push(all.swap_remove(input.below(all.len())));
        }
    }
    let places: Vec<String> = paths.iter().map(|path| pointer(path)).collect();
    refused(&document, &places, &mut input);
    damaged(document.to_vec(), &places, &mut input);

    let template = Template::new(&document, &places).expect("places that are there");
    let mut memory = vec![DIRT; 4 * document.as_bytes().len() + 64 * PLACES + 9 * all.len()];
    let fixed = loop {
        // The least memory is found by what is said to be missing.
        match Template::new_in(&document, &places, &mut memory).map(|_| ()) {
            Ok(()) => break Template::new_in(&document, &places, &mut memory).expect("again"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{error:?}");
                assert!(error.detail() > 0);
                let more = memory.len() + error.detail() as usize;
                memory = vec![DIRT; more];
            }
        }
    };
    assert_eq!((template.places(), fixed.places()), (places.len(), places.len()));

    let mut met = Met { places: places.len(), ..Met::default() };
    met.elements = document.valid().map_or(0, |doc| {
        let of_rows = |place: &&String| {
            let parent = place.rsplit_once('/').map_or("", |(parent, _)| parent);
            doc.pointer(parent).is_some_and(|it| it.as_array().is_some())
                || parent.split('/').any(|token| token.parse::<u32>().is_ok())
        };
        places.iter().filter(of_rows).count()
    });

    // Not yet set, places are null.
    for path in &paths {
        *at_mut(&mut example, path) = Tree::Null;
    }
    let stamp = template.begin(livebuf::VecStorage::default()).expect("memory");
    check(stamp.valid().checked(), &example);

    for _ in 0..1 + input.below(3) {
        let values: Vec<Tree> = paths.iter().map(|_| scalar(&mut input)).collect();
        let news: Vec<New<'_>> = values.iter().map(scalar_new).collect();
        for (path, value) in paths.iter().zip(&values) {
            *at_mut(&mut example, path) = value.clone();
        }
        // By an editor on the original: the same.
        let mut edited = document.clone();
        for (place, value) in places.iter().zip(&news) {
            edited.set_pointer(place, *value).expect("there");
        }
        check(edited.doc(), &example);

        let length = template.stamped_length(&news);
        let mut buffer = vec![DIRT; length + 16];
        let doc = template.stamp_into(&mut buffer, &news).expect("room");
        assert_eq!(doc.as_bytes().len(), length, "the length is known before");
        check(doc.checked(), &example);
        let stamped = doc.as_bytes().to_vec();
        assert_eq!(buffer[length..], [DIRT; 16], "bytes behind the document");
        let mut vector = vec![DIRT; input.below(2 * length)];
        assert_eq!(template.stamp_vec(&mut vector, &news).expect("memory").as_bytes(), stamped);
        assert_eq!(template.stamp(&news).expect("memory").as_bytes(), stamped);
        check(template.stamp(&news).expect("memory").doc(), &example);
        met.texts += usize::from(length > template.stamped_length(&[]));

        // Every size that is too small.
        let room = input.below(length);
        buffer.fill(DIRT);
        let error = template.stamp_into(&mut buffer[..room], &news).expect_err("too small");
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        assert!(Doc::open(&buffer).is_err(), "no half document");
        assert!(error.detail() > 0 && buffer[room..].iter().all(|&byte| byte == DIRT));

        let mut other = vec![DIRT; fixed.stamped_length(&news)];
        let doc = fixed.stamp_into(&mut other, &news).expect("room");
        check(doc.checked(), &example);
    }
    one_by_one(&template, example, &paths, &mut input);
    met
}

/// Sets places in any order, some again, and edits the document afterwards.
fn one_by_one(template: &Template, mut model: Tree, paths: &[Vec<String>], input: &mut Input<'_>) {
    for path in paths {
        *at_mut(&mut model, path) = Tree::Null;
    }
    let mut buffer = vec![DIRT; template.stamped_length(&[]) + input.below(400)];
    let mut stamp = template.begin(&mut buffer[..]).expect("room for the image");
    for _ in 0..input.below(2 * PLACES) {
        if paths.is_empty() {
            break;
        }
        let index = input.below(paths.len());
        let value = scalar(input);
        match stamp.set(index, scalar_new(&value)) {
            Ok(()) => *at_mut(&mut model, &paths[index]) = value,
            Err(error) => assert_eq!(error.kind(), ErrorKind::NoSpace, "{error:?}"),
        }
        check(stamp.valid().checked(), &model);
    }
    let mut wrong = |index, value: New<'_>, kind| {
        let before = stamp.as_bytes().to_vec();
        assert_eq!(stamp.set(index, value).expect_err("refused").kind(), kind);
        assert_eq!(stamp.as_bytes(), before);
    };
    wrong(paths.len(), New::Null, ErrorKind::IndexOutOfRange);
    if !paths.is_empty() {
        wrong(0, New::object(1), ErrorKind::Unsupported);
        wrong(0, New::array(1), ErrorKind::Unsupported);
        wrong(0, New::NumberText("1 "), ErrorKind::BadNumber);
    }
    let many = vec![New::Null; paths.len() + 1];
    let error = template.stamp(&many).map(drop).expect_err("too many");
    assert_eq!((error.kind(), error.detail()), (ErrorKind::IndexOutOfRange, paths.len() as u64));

    let mut doc = stamp.into_editor();
    assert!(doc.is_trusted());
    for path in paths {
        let value = scalar(input);
        match doc.set_pointer(&pointer(path), scalar_new(&value)) {
            Ok(_) => *at_mut(&mut model, path) = value,
            Err(error) => assert_eq!(error.kind(), ErrorKind::NoSpace, "{error:?}"),
        }
    }
    check(doc.doc(), &model);
}

/// Wrong places are refused, by number.
fn refused(document: &DocBuf, places: &[String], input: &mut Input<'_>) {
    let mut wrong: Vec<&str> = places.iter().map(String::as_str).collect();
    let at = input.below(wrong.len() + 1);
    let (place, kind) = match input.byte() % 4 {
        0 => ("/no such key of any/object", ErrorKind::NotFound),
        1 => ("no slash", ErrorKind::BadPointer),
        2 if document.root_id().is_some() => ("", ErrorKind::WrongType),
        3 if at > 0 => (wrong[input.below(at)], ErrorKind::KeyExists),
        _ => return,
    };
    wrong.insert(at, place);
    let error = Template::new(document, &wrong).map(drop).expect_err("refused");
    assert_eq!(error.kind(), kind, "{error:?} of {place:?}");
    let first = wrong.iter().position(|other| *other == place);
    assert_eq!(error.detail() as usize, first.expect("there"), "which place");
}

/// A damaged example is refused, or what is stamped is sound.
fn damaged(mut bytes: Vec<u8>, places: &[String], input: &mut Input<'_>) {
    match input.one_in(2) {
        true => bytes::damage(&mut bytes, input),
        false => mutate::mutate(&mut bytes, input),
    }
    let Ok(doc) = Doc::open(&bytes) else { return };
    let values = vec![New::Str("a text of some length"); places.len()];
    if let Ok(template) = Template::new(doc, places) {
        let stamped = template.stamp(&values).expect("memory");
        stamped.doc().validate().expect("valid, whatever the example was");
    }
    let mut memory = vec![DIRT; 4 * bytes.len() + 1_024];
    if let Ok(template) = Template::new_in(doc, places, &mut memory) {
        let mut buffer = vec![DIRT; template.stamped_length(&values)];
        let doc = template.stamp_into(&mut buffer, &values).expect("room");
        doc.checked().validate().expect("valid, whatever the example was");
    }
}

fn check(doc: Doc<'_>, model: &Tree) {
    let valid = doc.validate().expect("valid as it was stamped");
    let tree = Tree::of_valid(valid.root());
    assert!(tree.same(model), "{tree:?}\n{model:?}");
}
