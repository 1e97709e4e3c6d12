//! Deep documents, deep queries and costly ones: bounded stack, bounded work.

use livebuf::layout::MAX_NESTING;
use livebuf::{DocBuf, EncodeOptions, Encoder, ErrorKind, Limits, json};
use livebuf_query::{Query, remove_all, set_all};

const STACK: usize = 256 << 10;

/// Runs on a thread of a small stack. An overflow ends the process.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join().unwrap();
}

/// Arrays, or objects of the key `a`, within each other.
fn nested(depth: usize, objects: bool) -> DocBuf {
    let mut limits = Limits::default();
    limits.nesting = MAX_NESTING;
    let mut encoder = Encoder::with_options(EncodeOptions { limits, ..Default::default() });
    for _ in 0..depth {
        match objects {
            true => {
                encoder.begin_object().unwrap();
                encoder.key("a").unwrap();
            }
            false => encoder.begin_array().unwrap(),
        }
    }
    encoder.i64(7).unwrap();
    for _ in 0..depth {
        if objects { encoder.end_object().unwrap() } else { encoder.end_array().unwrap() }
    }
    encoder.finish().unwrap()
}

#[test]
fn deep_documents_need_no_deep_stack() {
    for depth in [500, usize::from(MAX_NESTING)] {
        for objects in [false, true] {
            on_a_small_stack(move || {
                let mut doc = nested(depth, objects);
                let count = |text: &str| {
                    // Each level compared with the root is a square of the depth.
                    let query = Query::parse(text).unwrap().with_budget(100_000_000);
                    query.count(&doc).unwrap()
                };
                assert_eq!(count("$..*"), depth);
                assert_eq!(count("$..[?@ == 7]"), 1);
                assert_eq!(count("$..[?@ == $]"), 0);
                assert_eq!(count("$[?@ == $.a || @ == $[0]]"), 1);
                assert_eq!(count(&format!("$[?count(@..*) > {}]", depth - 2)), 1);
                let step = if objects { ".a" } else { "[0]" };
                let long = format!("${}", step.repeat(depth));
                let query = Query::parse(&long).unwrap();
                assert!(query.is_singular());
                let found = query.first(&doc).unwrap().map(|found| {
                    assert_eq!(found.value(), 7);
                    found.location().steps().len()
                });
                assert_eq!(found, Some(depth));
                assert_eq!(set_all(&mut doc, &query, 8), Ok(1));
                assert_eq!(remove_all(&mut doc, &query), Ok(1));
                let every = Query::parse("$..*").unwrap();
                assert_eq!(remove_all(&mut doc, &every), Ok(1));
                doc.doc().validate().unwrap();
            });
        }
    }
}

#[test]
fn no_text_overflows_the_stack() {
    on_a_small_stack(|| {
        for (begin, middle, end) in [
            ("$[?", "(", ""),
            ("$[?", "!(", ""),
            ("$[?", "@[?", ""),
            ("$[?", "length(", ""),
            ("$[?", "match(@,", ""),
            ("$", "[?@", ""),
            ("$[?", "(@.a&&", ""),
        ] {
            let text = format!("{begin}{}{end}", middle.repeat(100_000));
            let error = Query::parse(&text).unwrap_err();
            assert!(error.offset() < 1_000, "{middle}: {error}");
        }
        for (begin, middle) in
            [("$", "[0]"), ("$", "..a"), ("$[?@.a", "||@.a"), ("$[?@.a", "&&@.a")]
        {
            let text = begin.to_owned() + &middle.repeat(100_000);
            let text = if begin == "$" { text } else { text + "]" };
            let query = Query::parse(&text).unwrap();
            assert!(query.first(&json!({"b": 1})).unwrap().is_none());
        }
    });
}

#[test]
fn thirty_two_filters_lie_within_each_other() {
    for (begin, end) in [("(", ")"), ("@[?", "]"), ("!(", ")")] {
        // The outermost filter counts, too.
        let text = |depth| format!("$[?{}@.a{}]", begin.repeat(depth), end.repeat(depth));
        assert!(Query::parse(&text(31)).is_ok());
        assert!(Query::parse(&text(32)).is_err());
    }
}

#[test]
fn the_budget_ends_costly_queries() {
    let doc = json!({"a": [[1, 2, 3], [4, 5, 6], [7, 8, 9]], "t": "a text that is longer than sixty-four bytes, since text counts by these"});
    for text in [
        "$..*..*..*..*",
        "$..[?count($..*) > 0]",
        "$.a[*][*]",
        "$.a[::1][::1]",
        "$..[?@ == $]",
        "$.a[?@ != $.a[0]]",
        "$..[?match(@, $.t)]",
        "$..[?length(@) > 1]",
        "$..a..a",
    ] {
        let query = Query::parse(text).unwrap();
        let steps = (0..).find(|&steps| query.clone().with_budget(steps).count(&doc).is_ok());
        let steps = steps.unwrap();
        assert!(steps > 3, "{text} took {steps} steps");
        let query = query.with_budget(steps - 1);
        let mut found = query.find(&doc).skip_while(|found| found.is_ok());
        assert_eq!(found.next().unwrap().unwrap_err().kind(), ErrorKind::BudgetExceeded);
        assert!(found.next().is_none(), "the error is the last");
        assert_eq!(query.count(&doc).unwrap_err().kind(), ErrorKind::BudgetExceeded);
    }
}

#[test]
fn regular_expressions_take_linear_time() {
    let doc = json!(["a".repeat(100_000) + "b"]);
    for pattern in ["(a*)*c", "(a|a)*c", "(a?){30}a{30}c", "(.*.*.*)*c"] {
        assert_eq!(
            Query::parse(&format!("$[?search(@, '{pattern}')]")).unwrap().count(&doc),
            Ok(0)
        );
    }
    // Too large: it matches nothing.
    let query = Query::parse("$[?search(@, '((a{1000}){1000}){1000}')]").unwrap();
    assert_eq!(query.count(&doc), Ok(0));
}

/// A step counted 64 bytes of text, whatever the expression did for each of them: 45 characters of a
/// query took minutes on 80 kB, within the budget. What a text makes of the automaton is paid for.
#[test]
fn regular_expressions_take_steps_for_their_work() {
    let mut word = 1u64;
    let mut letter = || {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        if word.is_multiple_of(2) { 'a' } else { 'b' }
    };
    let text: String = (0..4_000).map(|_| letter()).collect();
    let doc = json!([text, 1]);
    let steps = |pattern: &str| {
        let query = Query::parse(&format!("$[?search(@, '{pattern}')]")).unwrap();
        let enough = |&budget: &u64| query.clone().with_budget(budget).count(&doc).is_ok();
        (10..40).map(|power| 1 << power).find(enough).unwrap()
    };
    // What it remembers of the text so far is of one state, and of more than can be kept.
    assert!(steps("[ab]*a[ab]{0}[^abc]") < 1 << 12);
    assert!(steps("[ab]*a[ab]{4}[^abc]") < 1 << 14);
    assert!(steps("[ab]*a[ab]{400}[^abc]") > 1 << 17);
    // Names of characters make large automata, of which a text needs little.
    assert!(steps(r"\\p{L}+[^\\p{L}]{3}") < 1 << 14);
    // A search of another text goes on with what there is, but another search begins anew.
    let many = json!(vec![text.as_str(); 1_000]);
    let query = Query::parse("$[?search(@, 'a[ab]{6}c')]").unwrap();
    let (one, all) = (query.clone().with_budget(20_000), query.with_budget(500_000));
    assert_eq!((one.count(&doc), one.count(&doc)), (Ok(0), Ok(0)));
    assert_eq!((all.count(&many), all.count(&many)), (Ok(0), Ok(0)));
}

/// Each was compiled again for 2,000 steps, also the same one: 2 kB took 8 seconds.
#[test]
fn computed_expressions_are_compiled_once_and_take_what_they_are_large() {
    let query = Query::parse("$[?search(@.a, @.b)]").unwrap();
    let rows = |count: usize, pattern: &dyn Fn(usize) -> String| {
        let rows = (0..count)
            .map(|row| format!(r#"{{"a":"x","b":"{}"}}"#, pattern(row).replace('\\', r"\\")));
        let text = format!("[{}]", rows.collect::<Vec<_>>().join(","));
        livebuf_json::from_str(&text).unwrap()
    };
    let large = |row: usize| format!(r"(\p{{L}}{{1,9}}\p{{N}}){{1,5}}{row}");
    // Two by turns: compiled twice, not a thousand times.
    let doc = rows(300, &|row| large(row % 2));
    assert_eq!(query.clone().with_budget(400_000).count(&doc), Ok(0));
    // Each another one.
    let doc = rows(20, &large);
    let tight = query.clone().with_budget(400_000);
    assert_eq!(tight.count(&doc).unwrap_err().kind(), ErrorKind::BudgetExceeded);
    let doc = rows(100, &|row| format!("{row}"));
    assert_eq!(query.count(&doc), Ok(0));
    // Those that are too large, too; and a text of expressions that no automaton could hold.
    let doc = rows(100, &|row| format!("((a{{1000}}){{1000}}){{1000}}{row}"));
    assert_eq!(query.count(&doc).unwrap_err().kind(), ErrorKind::BudgetExceeded);
    let doc = rows(1, &|_| "a".repeat(70_000));
    assert_eq!(query.count(&doc), Ok(0));
}

/// Expressions of a query's text are compiled with it: their memory is bounded together.
#[test]
fn a_query_has_bounded_regular_expressions() {
    let large = r"||match(@,'\\p{L}{900}')";
    let text = |count: usize| format!("$[?@{}]", large.repeat(count));
    assert!(Query::parse(&text(6)).is_ok());
    let error = Query::parse(&text(600)).unwrap_err();
    assert!(error.offset() < 60 * large.len(), "{error}");
    assert_eq!(error.expected(), "regular expressions that take less than 8 MiB together");
}

#[test]
fn a_search_asks_whether_it_shall_end() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let doc = json!(vec![1; 2_000]);
    let query = Query::parse("$[?count($[*]) == @]").unwrap();
    let ask = || ASKED.fetch_add(1, Ordering::Relaxed) == 10;
    let query = query.with_budget(u64::MAX).with_interrupt(ask);
    assert_eq!(query.count(&doc).unwrap_err().kind(), ErrorKind::BudgetExceeded);
    assert_eq!(ASKED.load(Ordering::Relaxed), 11);
    assert_eq!(query.count(&doc), Ok(0));
    // About four million steps, and the question after each 65,536.
    assert!((60..80).contains(&ASKED.load(Ordering::Relaxed)), "{ASKED:?}");
}
