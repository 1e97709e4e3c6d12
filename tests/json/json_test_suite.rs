//! JSONTestSuite (Nicolas Seriot): `y_` read and round-tripped, `n_` refused, `i_` decided.

use crate::tree::{round_trip, shared};

/// What the suite leaves open, and we decide.
const DECIDED: &[(&str, bool, &str)] = &[
    ("i_number_double_huge_neg_exp.json", true, "underflow: kept as text"),
    ("i_number_huge_exp.json", true, "overflow: kept as text"),
    ("i_number_neg_int_huge_exp.json", true, "overflow: kept as text"),
    ("i_number_pos_double_huge_exp.json", true, "overflow: kept as text"),
    ("i_number_real_neg_overflow.json", true, "overflow: kept as text"),
    ("i_number_real_pos_overflow.json", true, "overflow: kept as text"),
    ("i_number_real_underflow.json", true, "underflow: kept as text"),
    ("i_number_too_big_neg_int.json", true, "outside i64: kept as text"),
    ("i_number_too_big_pos_int.json", true, "outside u64: kept as text"),
    ("i_number_very_big_negative_int.json", true, "outside i64: kept as text"),
    ("i_object_key_lone_2nd_surrogate.json", false, "no UTF-8 for half a pair"),
    ("i_string_1st_surrogate_but_2nd_missing.json", false, "no UTF-8 for half a pair"),
    ("i_string_1st_valid_surrogate_2nd_invalid.json", false, "no UTF-8 for half a pair"),
    ("i_string_UTF-16LE_with_BOM.json", false, "UTF-8 only"),
    ("i_string_UTF-8_invalid_sequence.json", false, "not UTF-8"),
    ("i_string_UTF8_surrogate_U+D800.json", false, "not UTF-8"),
    ("i_string_incomplete_surrogate_and_escape_valid.json", false, "no UTF-8 for half a pair"),
    ("i_string_incomplete_surrogate_pair.json", false, "no UTF-8 for half a pair"),
    ("i_string_incomplete_surrogates_escape_valid.json", false, "no UTF-8 for half a pair"),
    ("i_string_invalid_lonely_surrogate.json", false, "no UTF-8 for half a pair"),
    ("i_string_invalid_surrogate.json", false, "no UTF-8 for half a pair"),
    ("i_string_invalid_utf-8.json", false, "not UTF-8"),
    ("i_string_inverted_surrogates_U+1D11E.json", false, "no UTF-8 for half a pair"),
    ("i_string_iso_latin_1.json", false, "not UTF-8"),
    ("i_string_lone_second_surrogate.json", false, "no UTF-8 for half a pair"),
    ("i_string_lone_utf8_continuation_byte.json", false, "not UTF-8"),
    ("i_string_not_in_unicode_range.json", false, "not UTF-8"),
    ("i_string_overlong_sequence_2_bytes.json", false, "not UTF-8"),
    ("i_string_overlong_sequence_6_bytes.json", false, "not UTF-8"),
    ("i_string_overlong_sequence_6_bytes_null.json", false, "not UTF-8"),
    ("i_string_truncated-utf-8.json", false, "not UTF-8"),
    ("i_string_utf16BE_no_BOM.json", false, "UTF-8 only"),
    ("i_string_utf16LE_no_BOM.json", false, "UTF-8 only"),
    ("i_structure_500_nested_arrays.json", true, "within the nesting limit of 1,000"),
    ("i_structure_UTF-8_BOM_empty_object.json", true, "the mark is passed over"),
];

#[test]
fn the_suite_is_decided() {
    let Some(directory) = shared("suites/JSONTestSuite/test_parsing") else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read(&path).unwrap();
        let accept = match &name[..2] {
            "y_" => true,
            "n_" => false,
            _ => {
                DECIDED
                    .iter()
                    .find(|decided| decided.0 == name)
                    .unwrap_or_else(|| panic!("{name} is not decided"))
                    .1
            }
        };
        match livebuf_json::from_slice(&text) {
            Ok(_) => {
                assert!(accept, "{name} was accepted");
                // serde_json, the oracle, does not read what is nested deeper than 128, nor the mark.
                if !name.contains("nested_arrays") && !name.contains("BOM") {
                    round_trip(&text);
                }
            }
            Err(error) => {
                assert!(!accept, "{name}: {error}");
                let position = error.position().unwrap();
                assert!(position.offset <= text.len() as u64, "{name}: {error}");
            }
        }
        count += 1;
    }
    assert!(count > 300, "only {count} files");
}
