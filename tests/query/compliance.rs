//! The public JSONPath Compliance Test Suite, and examples of RFC 9535 that always run.

use livebuf::{DocBuf, Mode, Value};
use livebuf_query::Query;
use serde_json::{Value as Json, json};
use std::path::Path;

const SUITE: &str = "../../shared/suites/jsonpath/cts.json";

fn document(json: &Json) -> DocBuf {
    livebuf_json::from_str(&json.to_string()).unwrap()
}

fn values<'d, M: Mode>(query: &Query, root: Value<'d, M>) -> (Vec<Json>, Vec<String>) {
    let found: Vec<_> = query.find(root).map(|found| found.unwrap()).collect();
    let json = |value: Value<'d, M>| {
        serde_json::from_str(&livebuf_json::to_string(value).unwrap()).unwrap()
    };
    let plain: Vec<Json> = query.values(root).map(|value| json(value.unwrap())).collect();
    let placed: Vec<Json> = found.iter().map(|found| json(found.value())).collect();
    assert_eq!(plain, placed, "{query}");
    assert_eq!(query.count(root).unwrap(), placed.len(), "{query}");
    for found in &found {
        let there = M::result(root.pointer(&found.location().to_pointer())).unwrap().unwrap();
        assert_eq!(json(there), json(found.value()), "{query} {}", found.location());
    }
    (placed, found.iter().map(|found| found.location().to_string()).collect())
}

fn check(case: &Json) {
    let name = &case["name"];
    let selector = case["selector"].as_str().unwrap();
    let query = match Query::parse(selector) {
        Ok(_) if case["invalid_selector"] == true => panic!("{name}: {selector:?} was accepted"),
        Ok(query) => query,
        Err(_) if case["invalid_selector"] == true => return,
        Err(error) => panic!("{name}: {selector:?}: {error}"),
    };
    let doc = document(&case["document"]);
    let checked = values(&query, doc.doc().root());
    let valid = values(&query, doc.valid().unwrap().root());
    assert_eq!(checked, valid, "{name}: {selector:?}");
    let (found, paths) = checked;
    let holds = |found: &[Json], one: &str, several: &str| match case.get(one) {
        Some(wanted) => wanted.as_array().unwrap() == found,
        None => {
            case[several].as_array().unwrap().iter().any(|any| any.as_array().unwrap() == found)
        }
    };
    assert!(holds(&found, "result", "results"), "{name}: {selector:?} gave {found:?}");
    let paths: Vec<_> = paths.into_iter().map(Json::String).collect();
    assert!(holds(&paths, "result_paths", "results_paths"), "{name}: {selector:?} gave {paths:?}");
}

#[test]
fn the_compliance_test_suite_passes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(SUITE);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("SKIPPED: no {SUITE} here: the JSONPath Compliance Test Suite was not run");
        return;
    };
    let suite: Json = serde_json::from_str(&text).unwrap();
    let cases = suite["tests"].as_array().unwrap();
    assert!(cases.len() >= 703, "{} cases", cases.len());
    let mut failed = Vec::new();
    for case in cases {
        if std::panic::catch_unwind(|| check(case)).is_err() {
            failed.push(case["name"].to_string());
        }
    }
    assert!(failed.is_empty(), "{} of {} failed: {failed:#?}", failed.len(), cases.len());
}

/// The bookstore of RFC 9535, 1.5, with its queries. Its keys are in order, as serde_json sorts them
/// unless another crate asks it not to.
#[test]
fn the_examples_of_the_rfc_hold() {
    let store = json!({ "store": {
        "bicycle": { "color": "red", "price": 399 },
        "book": [
            { "category": "reference", "author": "Nigel Rees", "title": "Sayings of the Century", "price": 8.95 },
            { "category": "fiction", "author": "Evelyn Waugh", "title": "Sword of Honour", "price": 12.99 },
            { "category": "fiction", "author": "Herman Melville", "title": "Moby Dick", "isbn": "0-553-21311-3", "price": 8.99 },
            { "category": "fiction", "author": "J. R. R. Tolkien", "title": "The Lord of the Rings", "isbn": "0-395-19395-8", "price": 22.99 }
        ]
    }});
    let doc = document(&store);
    let books = |indexes: &[usize]| {
        indexes.iter().map(|index| store["store"]["book"][*index].clone()).collect::<Vec<_>>()
    };
    let authors = ["Nigel Rees", "Evelyn Waugh", "Herman Melville", "J. R. R. Tolkien"];
    let authors: Vec<Json> = authors.iter().map(|name| json!(name)).collect();
    for (query, wanted) in [
        ("$.store.book[*].author", authors.clone()),
        ("$..author", authors),
        ("$.store.*", vec![store["store"]["bicycle"].clone(), store["store"]["book"].clone()]),
        ("$..book[2]", books(&[2])),
        ("$..book[2].author", vec![json!("Herman Melville")]),
        ("$..book[2].publisher", vec![]),
        ("$..book[-1]", books(&[3])),
        ("$..book[0,1]", books(&[0, 1])),
        ("$..book[:2]", books(&[0, 1])),
        ("$..book[?@.isbn]", books(&[2, 3])),
        ("$..book[?@.price<10]", books(&[0, 2])),
        ("$..book[?search(@.author, '[JR]ee?')].price", vec![json!(8.95)]),
        (
            "$..book[?length(@.title) == 9 || count(@.*) == 4].price",
            vec![json!(8.95), json!(12.99), json!(8.99)],
        ),
        ("$..[?value(@..color) == 'red'].bicycle.price", vec![json!(399)]),
        ("$.store.book[::-2].price", vec![json!(22.99), json!(12.99)]),
    ] {
        assert_eq!(values(&Query::parse(query).unwrap(), doc.doc().root()).0, wanted, "{query}");
        assert_eq!(values(&Query::parse(query).unwrap(), doc.valid().unwrap().root()).0, wanted);
    }
    let prices = values(&Query::parse("$.store..price").unwrap(), doc.doc().root()).0;
    assert_eq!(prices.len(), 5);
    assert_eq!(values(&Query::parse("$..*").unwrap(), doc.doc().root()).0.len(), 27);
}

#[test]
fn texts_that_are_no_query_are_refused_where_they_err() {
    for (text, column) in [
        ("", 1),
        (" $", 1),
        ("$ ", 2),
        ("$.", 3),
        ("$..", 4),
        ("$.é.", 5),
        ("$[", 3),
        ("$[01]", 4),
        ("$[-0]", 3),
        ("$[9007199254740992]", 3),
        // Bug: the least integer of 64 bits, which has no absolute value, was an index.
        ("$[-9223372036854775808]", 3),
        ("$[::-9223372036854775808]", 5),
        ("$['a", 5),
        ("$['\\x']", 5),
        ("$['\\ud800']", 10),
        ("$[?@.a==]", 9),
        ("$[?@.*==1]", 4),
        ("$[?1]", 5),
        ("$[?length(@.a)]", 15),
        ("$[?match(@.a, 'b')==true]", 4),
        ("$[?nothing(@)]", 4),
        ("$[?count(1)>0]", 10),
        ("$[?!@.a==1]", 8),
        ("$[?(@.a]", 8),
    ] {
        let error = Query::parse(text).expect_err(text);
        assert_eq!(error.column(), column, "{text:?}: {error}");
    }
}
