//! Values that JSON lacks, and numbers of all kinds, in filters.

use livebuf::{DocBuf, Encoder, Extended};
use livebuf_query::Query;

/// An array of values of all kinds; some of them twice, so that runs of one type come about.
fn document() -> DocBuf {
    let mut encoder = Encoder::new();
    encoder.begin_array().unwrap();
    for text in ["2026-11-24", "2026-11-25"] {
        encoder.extended(Extended::Date(text.parse().unwrap())).unwrap();
    }
    for text in ["1.50", "-0.25"] {
        encoder.extended(Extended::Decimal(text.parse().unwrap())).unwrap();
    }
    let uuid = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    encoder.extended(Extended::Uuid(uuid.parse().unwrap())).unwrap();
    encoder.bytes(b"bytes").unwrap();
    encoder.f64(f64::NAN).unwrap();
    encoder.f64(1.5).unwrap();
    encoder.u64(u64::MAX).unwrap();
    encoder.i64((1 << 53) + 1).unwrap();
    encoder.number_text("1e400").unwrap();
    encoder.number_text("1.5000000000000000000000").unwrap();
    encoder.extended(Extended::Time("12:30:00".parse().unwrap())).unwrap();
    encoder.extended(Extended::Decimal("0.12345678901234567890123".parse().unwrap())).unwrap();
    encoder.f64("0.12345678901234567890123".parse().unwrap()).unwrap();
    encoder.end_array().unwrap();
    encoder.finish().unwrap()
}

#[test]
fn values_that_json_lacks_are_what_they_print_as() {
    let doc = document();
    for (filter, indexes) in [
        ("@ == '2026-11-24'", vec![0]),
        ("@ > '2026-11-24' && @ < '2026-12'", vec![1]),
        ("match(@, '2026-11-2[0-9]')", vec![0, 1]),
        ("length(@) == 10", vec![0, 1]),
        ("@ == '67e55044-10b1-426f-9247-bb680e5fe0c8'", vec![4]),
        ("length(@) == 36", vec![4]),
        ("@ == 'Ynl0ZXM='", vec![5]),
        ("search(@, '^12:30')", vec![12]),
        // A NaN equals nothing, itself included.
        ("@ == $[6]", vec![]),
        ("@ != $[6]", (0..15).collect()),
        ("@ < 0", vec![3]),
        ("@ == 1.5", vec![2, 7, 11]),
        ("@ == $[2]", vec![2, 7, 11]),
        ("@ == 15e-1", vec![2, 7, 11]),
        ("@ > 1.5", vec![8, 9, 10]),
        ("@ == 18446744073709551615", vec![8]),
        ("@ == 18446744073709551616", vec![]),
        ("@ == 9007199254740993", vec![9]),
        ("@ == 9007199254740992", vec![]),
        ("@ > 9007199254740992 && @ < 9007199254740994", vec![9]),
        ("@ == 1e400", vec![10]),
        ("@ == 0.12345678901234567890123", vec![13, 14]),
        ("0.12345678901234567890124 > @ && @ > 0", vec![13]),
        ("@ == $[14]", vec![14]),
        ("@ == 0 || 0.12345678901234567890123 < 0.12345678901234567890124", (0..15).collect()),
        ("@ == 10e399", vec![10]),
        ("@ > 1e399", vec![10]),
        ("@ > 340282366920938463463374607431768211456", vec![10]),
    ] {
        let query = Query::parse(&format!("$[?{filter}]")).unwrap();
        let wanted: Vec<_> = indexes.iter().map(|index| format!("/{index}")).collect();
        let found: Vec<_> =
            query.find(&doc).map(|found| found.unwrap().location().to_pointer()).collect();
        assert_eq!(found, wanted, "{filter}");
        let found: Vec<_> = query
            .find(doc.valid().unwrap())
            .map(|found| found.unwrap().location().to_pointer())
            .collect();
        assert_eq!(found, wanted, "{filter}");
    }
}

#[test]
fn the_kind_of_a_number_does_not_count_within_containers() {
    let doc =
        livebuf::json!([{"a": [1, {"b": 2}]}, {"a": [1.0, {"b": 2.0}]}, {"a": [1, {"b": 3}]}]);
    let query = Query::parse("$[?@.a == $[0].a]").unwrap();
    assert_eq!(query.count(&doc), Ok(2));
}
