//! Several documents as one table: the same as one document with all their rows.

use livebuf::DocBuf;
use livebuf_arrow::{
    Document, Documents, ErrorKind, ExportOptions, Exporter, Joined, Numbers, Refused, from_stream,
};
use std::sync::Arc;

fn documents(texts: &[&str]) -> Vec<Arc<DocBuf>> {
    texts.iter().map(|text| Arc::new(livebuf_json::from_str(text).unwrap())).collect()
}

fn json(document: &DocBuf) -> String {
    livebuf_json::to_string(document).unwrap()
}

#[test]
fn joined_documents_are_as_one_with_all_rows() {
    let parts = [
        r#"[{"a":1,"b":"x"},{"a":2,"b":"y"}]"#,
        r#"[{"a":1.5,"c":{"d":[1,2]}}]"#,
        r#"[{"a":18446744073709551615,"c":{"d":[2.5],"e":true}},{"b":null}]"#,
        r#"[{"f":"text"},{"f":"texts"},{"f":"text"}]"#,
        r#"[{"f":7}]"#,
        r#"[{"u":18446744073709551615},{"u":1}]"#,
        r#"[{"u":1},{"u":2}]"#,
        r#"[{"g":[[1,2],[3,4]]},{"g":[[5,6],[7,8]]}]"#,
        r#"[{"g":[[1]]}]"#,
        "[]",
        r#"[1,"two",{"three":3}]"#,
    ];
    let mut state = 1u64;
    for _ in 0..300 {
        let mut chosen = Vec::new();
        for part in parts {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            if state >> 62 == 0 {
                chosen.push(part);
            }
        }
        let rows: Vec<&str> = chosen
            .iter()
            .map(|part| &part[1..part.len() - 1])
            .filter(|rows| !rows.is_empty())
            .collect();
        let one = livebuf_json::from_str(&format!("[{}]", rows.join(","))).unwrap();
        // A float would round the greatest integer.
        let options = ExportOptions::new().numbers(Numbers::Text);
        let one = Exporter::new(Arc::new(one)).unwrap().options(options.clone());
        let joined = Joined::new(documents(&chosen)).options(options);
        let columns = joined.columns().unwrap();
        assert_eq!(columns, one.columns().unwrap(), "{chosen:?}");
        let all = from_stream(joined.stream().unwrap(), &Default::default()).unwrap();
        let same = from_stream(one.stream().unwrap(), &Default::default()).unwrap();
        assert_eq!(json(&all), json(&same), "{chosen:?}");
    }
}

#[test]
fn columns_are_selected_and_requested_in_all_documents() {
    let parts = documents(&[r#"[{"a":1,"b":{"c":1}}]"#, r#"[{"b":{"c":2.5}},{"z":0}]"#]);
    let path = |path: &[&str]| path.iter().map(|key| key.to_string()).collect::<Vec<_>>();
    let joined = Joined::new(parts.clone()).select([path(&["b", "c"]), path(&["a"])]);
    let all = from_stream(joined.stream().unwrap(), &Default::default()).unwrap();
    let rows = r#"[{"b.c":1.0,"a":1},{"b.c":2.5,"a":null},{"b.c":null,"a":null}]"#;
    assert_eq!(json(&all), rows);
    let error = Joined::new(parts.clone()).select([path(&["none"])]).columns().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.to_string(), "no row has the column \"none\"");
    // What a consumer requests need not be looked for.
    let schema = Joined::new(documents(&[r#"[{"a":1.5,"z":"text"}]"#])).schema().unwrap();
    let joined = Joined::new(parts).requested_schema(&schema).unwrap();
    let all = from_stream(joined.stream().unwrap(), &Default::default()).unwrap();
    assert_eq!(json(&all), r#"[{"a":1.0,"z":null},{"a":null,"z":null},{"a":null,"z":"0"}]"#);
}

#[test]
fn a_document_that_cannot_be_had_is_an_error_of_the_stream() {
    struct Failing(std::sync::atomic::AtomicUsize);
    impl Documents for Failing {
        fn count(&self) -> usize {
            1
        }

        fn document(&self, _: usize) -> Result<Arc<dyn Document>, Refused> {
            match self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                0 => Ok(Arc::new(livebuf::json!([{"a": 1}]))),
                _ => Err("the disk is gone".into()),
            }
        }
    }
    let joined = Joined::new(Failing(0.into()));
    let error = from_stream(joined.stream().unwrap(), &Default::default()).unwrap_err();
    assert!(error.to_string().contains("the disk is gone"), "{error}");
    let joined = Joined::new(vec![Arc::new(livebuf::json!({"no": "array"}))]);
    assert_eq!(joined.columns().unwrap_err().kind(), ErrorKind::NotAnArray);
    let none = Joined::new(Vec::<Arc<DocBuf>>::new());
    assert!(none.columns().unwrap().is_empty());
}
