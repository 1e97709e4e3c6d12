//! The encoder by events; the JSON tests and `fuzz/` feed it far more.

use livebuf::{ColumnType, DuplicateKeys, EncodeOptions, Encoder, ErrorKind, Value, VecStorage};

/// What events mean: an object's keys with their last values, at their first places.
#[derive(Debug, PartialEq)]
enum Model {
    Number(i64),
    Object(Vec<(String, Model)>),
}

impl Model {
    fn of(value: &Value<'_>) -> Model {
        match value.as_object().unwrap() {
            None => Model::Number(value.as_i64().unwrap()),
            Some(object) => Model::Object(
                object
                    .iter()
                    .map(|member| {
                        let (key, value) = member.unwrap();
                        (key.to_owned(), Model::of(&value))
                    })
                    .collect(),
            ),
        }
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % end
    }
}

/// An object of a few keys, many of them twice, objects in it.
fn object(random: &mut Random, encoder: &mut Encoder, depth: u32) -> (Model, bool) {
    let mut members: Vec<(String, Model)> = Vec::new();
    let mut doubled = false;
    encoder.begin_object().unwrap();
    for _ in 0..random.below(8) {
        let key = format!("key {}", random.below(6));
        encoder.key(&key).unwrap();
        let value = if depth < 3 && random.below(2) == 0 {
            let (value, below) = object(random, encoder, depth + 1);
            doubled |= below;
            value
        } else {
            let number = random.below(100) as i64;
            encoder.i64(number).unwrap();
            Model::Number(number)
        };
        match members.iter_mut().find(|member| member.0 == key) {
            Some(member) => {
                member.1 = value;
                doubled = true;
            }
            None => members.push((key, value)),
        }
    }
    encoder.end_object().unwrap();
    (Model::Object(members), doubled)
}

#[test]
fn the_last_of_equal_keys_counts_wherever_objects_nest() {
    let mut encoder = Encoder::new();
    let mut doubled = 0;
    for seed in 0..4000 {
        let (model, twice) = object(&mut Random(seed), &mut encoder, 0);
        doubled += u32::from(twice);
        let doc = encoder.finish_one().unwrap();
        encoder.restart(VecStorage::default(), EncodeOptions::default());
        doc.doc().validate().unwrap();
        assert_eq!(Model::of(&doc.doc().root()), model, "seed {seed}");

        // An encoder that was used before gives what a new one does.
        let mut fresh = Encoder::new();
        object(&mut Random(seed), &mut fresh, 0);
        assert_eq!(fresh.finish().unwrap().as_bytes(), doc.as_bytes(), "seed {seed}");
    }
    assert!((1000..4000).contains(&doubled), "{doubled} of 4000 have equal keys");
}

/// Gives an encoder a value of objects and arrays whose keys come from a few families.
fn any_value(random: &mut Random, encoder: &mut Encoder, depth: u32) -> livebuf::Result<()> {
    match random.below(if depth < 4 { 8 } else { 3 }) {
        0 => encoder.i64(random.below(1000) as i64),
        1 => {
            encoder.str(["short", "a text that is shared", "another one"][random.below(3) as usize])
        }
        2 => encoder.null(),
        3 | 4 => {
            encoder.begin_array()?;
            for _ in 0..random.below(5) {
                any_value(random, encoder, depth + 1)?;
            }
            encoder.end_array()
        }
        _ => {
            encoder.begin_object()?;
            let most = if random.below(60) == 0 { 400 } else { 7 };
            let (first, count) = (random.below(3), random.below(most));
            for number in first..first + count {
                match random.below(4) {
                    0 => encoder.key(&format!("a key that is not short, {number}"))?,
                    1 if number > 0 => encoder.key(&format!("k{}", random.below(number)))?,
                    _ => encoder.key(&format!("k{number}"))?,
                }
                any_value(random, encoder, if most > 7 { 4 } else { depth + 1 })?;
            }
            encoder.end_object()
        }
    }
}

#[test]
fn documents_do_not_depend_on_those_before() {
    let mut encoder = Encoder::new();
    let (mut kept, mut forgotten) = (0, 0);
    for seed in 0..6000 {
        let mut fresh = Encoder::new();
        any_value(&mut Random(seed), &mut fresh, 0).unwrap();
        let fresh = fresh.finish().unwrap();
        any_value(&mut Random(seed), &mut encoder, 0).unwrap();
        if seed % 2 == 1 {
            // In the same storage.
            let is_same = |bytes: &[u8]| bytes == fresh.as_bytes();
            let (is_same, has_lists) = encoder.finish_with(is_same).unwrap();
            assert!(is_same, "seed {seed}");
            kept += i32::from(has_lists);
            continue;
        }
        let doc = encoder.finish_one().unwrap();
        assert_eq!(fresh.as_bytes(), doc.as_bytes(), "seed {seed}");
        if seed % 10 == 0 {
            // One that does not end.
            encoder.restart(VecStorage::default(), EncodeOptions::default());
            encoder.begin_object().unwrap();
            encoder.key("k0").unwrap();
            any_value(&mut Random(seed + 1), &mut encoder, 2).unwrap();
        }
        match encoder.restart(VecStorage::default(), EncodeOptions::default()) {
            true => kept += 1,
            false => forgotten += 1,
        }
    }
    assert!(kept > 5000 && forgotten > 10, "keys were kept {kept} times, forgotten {forgotten}");
}

#[test]
fn keys_of_documents_before_take_nothing_of_a_limit() {
    let mut encoder = Encoder::new();
    let mut options = EncodeOptions::default();
    for first in 0..40 {
        encoder.begin_object().unwrap();
        for number in 0..10 {
            encoder.key(&format!("a long key, {}", 10 * first + number)).unwrap();
            encoder.null().unwrap();
        }
        encoder.end_object().unwrap();
        encoder.finish_one().unwrap();
        options.limits.document = 600;
        encoder.restart(VecStorage::default(), options);
    }
}

/// From 1,024 different texts on, texts are searched for sharing 64 at a time (PROFILE 3):
/// without what was replaced,
/// other texts are searched.
#[test]
fn a_document_may_grow_where_values_were_replaced() {
    let shared = "shared text, ".repeat(20);
    let mut encoder = Encoder::new();
    let texts = |encoder: &mut Encoder, text: &dyn Fn(u32) -> String, count: u32| {
        encoder.begin_array().unwrap();
        for index in 0..count {
            encoder.str(&text(index)).unwrap();
        }
        encoder.end_array().unwrap();
    };
    encoder.begin_object().unwrap();
    encoder.key("a").unwrap();
    texts(&mut encoder, &|_| "replaced, but repeated".into(), 32);
    encoder.key("b").unwrap();
    texts(&mut encoder, &|index| format!("a text like no other: {index}"), 1088);
    encoder.key("c").unwrap();
    texts(&mut encoder, &|_| shared.clone(), 32);
    encoder.key("a").unwrap();
    encoder.null().unwrap();
    encoder.end_object().unwrap();
    let doc = encoder.finish().unwrap();
    assert!(doc.as_bytes().len() > 32 * shared.len(), "nothing was shared");
    doc.doc().validate().unwrap();
    assert!(!doc.as_bytes().windows(8).any(|bytes| bytes == b"replaced"));

    let mut plain = Encoder::new();
    plain.value(&doc.doc().root()).unwrap();
    assert_eq!(plain.finish().unwrap().as_bytes(), doc.as_bytes());
}

#[test]
fn equal_keys_are_refused_by_option() {
    let duplicate_keys = DuplicateKeys::Error;
    let options = EncodeOptions { duplicate_keys, ..EncodeOptions::default() };
    let mut encoder = Encoder::with_options(options);
    let mut refused = 0;
    for (name, others) in [("a", 0), ("b", 1), ("c", 40), ("d", 253)] {
        encoder.begin_object().unwrap();
        encoder.key(name).unwrap();
        encoder.null().unwrap();
        for other in 0..others {
            encoder.key(&format!("{other}")).unwrap();
            encoder.begin_object().unwrap();
            encoder.key(name).unwrap();
            encoder.null().unwrap();
            encoder.end_object().unwrap();
        }
        let failure = encoder.key(name).unwrap_err();
        refused += u32::from(failure.kind() == ErrorKind::DuplicateKey);
        encoder.restart(VecStorage::default(), options);
    }
    assert_eq!(refused, 4);
}

/// Encodes a list of texts in the thread's memory. `within` is called while the list is open.
fn kept(texts: &[&str], within: impl FnOnce()) -> livebuf::Result<livebuf::DocBuf> {
    let (storage, options) = (VecStorage::default(), EncodeOptions::default());
    Encoder::with_kept_memory(storage, options, |encoder| {
        encoder.begin_array()?;
        texts.iter().try_for_each(|text| encoder.str(text))?;
        within();
        encoder.end_array()?;
        encoder.finish_one()
    })
}

#[test]
fn memory_that_is_kept_changes_no_document() {
    let texts = ["the first text", "another text", "the first text"];
    let fresh = {
        let mut encoder = Encoder::new();
        encoder.begin_array().unwrap();
        texts.iter().try_for_each(|text| encoder.str(text)).unwrap();
        encoder.end_array().unwrap();
        encoder.finish().unwrap()
    };
    let check = || assert_eq!(kept(&texts, || {}).unwrap().as_bytes(), fresh.as_bytes());
    check();
    let other = kept(&["of another document"], check).unwrap();
    assert_eq!(other.doc().pointer("/0").unwrap().unwrap(), "of another document");
    check();

    let (storage, options) = (VecStorage::default(), EncodeOptions::default());
    let failed = Encoder::with_kept_memory(storage, options, |encoder| {
        encoder.begin_array()?;
        encoder.str("the first text")?;
        encoder.finish_one()
    });
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::BadSequence);
    check();
    let panicked = std::panic::catch_unwind(|| kept(&texts, || panic!("while the list is open")));
    assert!(panicked.is_err());
    check();
    std::thread::scope(|scope| scope.spawn(check).join().unwrap());
}

/// A caller that knows keys by the numbers of key lists, as `Encoder::key_if` allows.
#[derive(Default)]
struct Numbered {
    encoder: Encoder,
    keys: std::collections::HashMap<u32, String>,
}

impl Numbered {
    fn key(&mut self, key: &str) {
        if !self.encoder.key_if(|list| self.keys.get(&list).is_some_and(|known| known == key)) {
            self.encoder.key(key).unwrap();
            self.keys.entry(self.encoder.key_list()).or_insert_with(|| key.to_owned());
        }
    }
}

#[test]
fn numbers_of_key_lists_keep_their_keys_where_a_map_begins_anew() {
    let mut numbered = Numbered::default();
    let key_of = |number: i64| ["x", "y"][number as usize % 2];
    numbered.encoder.begin_object().unwrap();
    for number in 0..600 {
        numbered.key(&format!("id {number}"));
        numbered.encoder.begin_object().unwrap();
        numbered.key(key_of(number));
        numbered.encoder.i64(number).unwrap();
        numbered.encoder.end_object().unwrap();
    }
    numbered.encoder.end_object().unwrap();
    let doc = numbered.encoder.finish().unwrap();
    let map = doc.valid().unwrap().root().as_object().unwrap();
    assert!(map.table().is_some());
    for number in 0..600 {
        let row = map.get(&format!("id {number}")).unwrap().as_object().unwrap();
        assert_eq!(row.iter().count(), 1);
        assert_eq!(row.get(key_of(number)).unwrap().as_i64(), Some(number));
    }
}

#[test]
fn a_wrong_count_of_elements_changes_no_byte() {
    let encode = |announced| {
        let mut encoder = Encoder::new();
        encoder.begin_array_of(announced).unwrap();
        for number in 0..2000 {
            encoder.begin_object().unwrap();
            for key in ["number", "text", "list", "more", "last"] {
                encoder.key(key).unwrap();
                match key {
                    "text" => encoder.str(&format!("text {}", number % 700)).unwrap(),
                    "list" => {
                        encoder.begin_array_of(usize::MAX).unwrap();
                        encoder.end_array().unwrap();
                    }
                    _ => encoder.i64(number).unwrap(),
                }
            }
            encoder.end_object().unwrap();
        }
        encoder.end_array().unwrap();
        encoder.finish().unwrap().to_vec()
    };
    let expected = encode(2000);
    for announced in [0, 256, 1999, 100_000, usize::MAX] {
        assert!(encode(announced) == expected, "{announced}");
    }
}

/// The first texts of a column say nothing of those that follow: the bytes decide.
#[test]
fn texts_that_begin_to_repeat_late_get_codes_all_the_same() {
    let column = |texts: &[String]| {
        let doc = livebuf::to_doc(&texts).unwrap();
        let array = doc.root().as_array().unwrap().unwrap();
        let found: Vec<_> =
            array.iter().map(|text| text.unwrap().as_str().unwrap().unwrap().to_owned()).collect();
        assert_eq!(found, texts);
        array.column_type()
    };
    let text = |number: usize| format!("a text of this number: {number}");
    let late = |singles: usize, rest: usize| -> Vec<String> {
        (0..singles).chain((0..rest).map(|at| 1000 + at % 2)).map(text).collect()
    };
    for singles in [0, 7, 8, 9, 60] {
        assert_eq!(column(&late(singles, 200)), ColumnType::DictionaryU8, "{singles}");
    }
    assert_eq!(column(&late(300, 0)), ColumnType::TextRun);
    assert_eq!(column(&late(300, 3)), ColumnType::TextRun);
}

/// An array that was refused stays open: whoever goes on all the same does not lose its elements.
#[test]
fn an_array_that_is_too_long_stays_open() {
    let mut options = EncodeOptions::default();
    options.limits.elements = 3;
    let mut encoder = Encoder::with_options(options);
    encoder.begin_array().unwrap();
    encoder.begin_object().unwrap();
    encoder.key("laps").unwrap();
    encoder.begin_array().unwrap();
    (0..4).try_for_each(|lap| encoder.i64(lap)).unwrap();
    for _ in 0..2 {
        assert_eq!(encoder.end_array().unwrap_err().kind(), ErrorKind::ElementLimit);
        assert_eq!(encoder.end_object().unwrap_err().kind(), ErrorKind::BadSequence);
    }
    assert_eq!(encoder.finish().unwrap_err().kind(), ErrorKind::BadSequence);
}

/// The shapes of such a document are copied from the one before, with offsets of other places.
#[test]
fn documents_with_the_same_keys_do_not_depend_on_those_before() {
    let encode = |encoder: &mut Encoder, text: &str| {
        encoder.begin_object().unwrap();
        for key in ["a key of many letters", "id", "another key of many letters"] {
            encoder.key(key).unwrap();
            encoder.begin_object().unwrap();
            encoder.key("the text of the value").unwrap();
            encoder.str(text).unwrap();
            encoder.key(key).unwrap();
            encoder.i64(1).unwrap();
            encoder.end_object().unwrap();
        }
        encoder.end_object().unwrap();
    };
    let finished = |encoder: &mut Encoder| encoder.finish_one().unwrap().to_vec();
    let (mut used, mut stays) = (Encoder::new(), Encoder::new());
    for letters in [3, 8, 30, 7, 200, 64] {
        let text = "x".repeat(letters);
        let mut new = Encoder::new();
        for encoder in [&mut new, &mut used, &mut stays] {
            encode(encoder, &text);
        }
        let expected = finished(&mut new);
        assert_eq!(finished(&mut used), expected, "{letters} letters");
        livebuf::Doc::open(&expected).unwrap().validate().unwrap();
        let (same, has_lists) = stays.finish_with(|bytes| bytes == expected).unwrap();
        assert!(same && has_lists, "{letters} letters, in the same storage");
        used.restart(livebuf::VecStorage::default(), livebuf::EncodeOptions::default());
    }
}
