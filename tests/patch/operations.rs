//! RFC 6902 by example: the six operations on every kind of place, what is refused, and with
//! which words.

use livebuf::json;
use livebuf_patch::{Patch, PatchErrorKind};
use serde_json::Value;

/// A document, a patch, and what comes out; or the beginning of the error after `!`.
#[rustfmt::skip]
const CASES: &[(&str, &str, &str)] = &[
    // Empty patches, documents of every kind.
    ("{}", "[]", "{}"),
    (r#"{"foo": 1}"#, "[]", r#"{"foo": 1}"#),
    (r#"{"foo": 1, "bar": 2}"#, "[]", r#"{"bar": 2, "foo": 1}"#),
    (r#"[{"foo": 1, "bar": 2}]"#, "[]", r#"[{"bar": 2, "foo": 1}]"#),
    (r#""foo""#, r#"[{"op": "replace", "path": "", "value": "bar"}]"#, r#""bar""#),
    ("null", r#"[{"op": "add", "path": "", "value": {}}]"#, "{}"),
    // Add: members.
    ("{}", r#"[{"op": "add", "path": "/foo", "value": "1"}]"#, r#"{"foo": "1"}"#),
    ("{}", r#"[{"op": "add", "path": "/foo", "value": 1}]"#, r#"{"foo": 1}"#),
    (r#"{"foo": null}"#, r#"[{"op": "add", "path": "/foo", "value": 1}]"#, r#"{"foo": 1}"#),
    ("{}", r#"[{"op": "add", "path": "/", "value": 1}]"#, r#"{"": 1}"#),
    (r#"{"foo": {}}"#, r#"[{"op": "add", "path": "/foo/", "value": 1}]"#, r#"{"foo": {"": 1}}"#),
    (r#"{"foo": 1}"#, r#"[{"op": "add", "path": "/bar", "value": [1, 2]}]"#, r#"{"foo": 1, "bar": [1, 2]}"#),
    (r#"{"foo": 1}"#, r#"[{"op": "add", "path": "/bar", "value": true}]"#, r#"{"foo": 1, "bar": true}"#),
    (r#"{"foo": 1}"#, r#"[{"op": "add", "path": "/bar", "value": null}]"#, r#"{"foo": 1, "bar": null}"#),
    (r#"{"foo": 1}"#, r#"[{"op": "add", "path": "/0", "value": "bar"}]"#, r#"{"foo": 1, "0": "bar"}"#),
    (r#"{"foo": 1}"#, r#"[{"op": "add", "path": "/-", "value": "bar"}]"#, r#"{"foo": 1, "-": "bar"}"#),
    (r#"{"0": 1, "00": 2}"#, r#"[{"op": "replace", "path": "/00", "value": 3}]"#, r#"{"0": 1, "00": 3}"#),
    (r#"{"foo": "bar"}"#, r#"[{"op": "add", "path": "", "value": {"baz": "qux"}}]"#, r#"{"baz": "qux"}"#),
    (r#"{"foo": "bar"}"#, r#"[{"op": "add", "path": "/FOO", "value": "BAR"}]"#, r#"{"foo": "bar", "FOO": "BAR"}"#),
    ("{}", r#"[{"op": "add", "path": "/a~0b", "value": 1}, {"op": "add", "path": "/c~1d", "value": 2}, {"op": "add", "path": "/~01", "value": 3}]"#, r#"{"a~b": 1, "c/d": 2, "~1": 3}"#),
    (r#"{"é": 1}"#, r#"[{"op": "add", "path": "/😀", "value": 2}]"#, r#"{"é": 1, "😀": 2}"#),
    (r#"{"foo": 1}"#, r#"[{"op": "add", "path": "/bar/baz", "value": 1}]"#, r#"!there is nothing at "/bar"; add that first"#),
    (r#"{"q": {"bar": 2}}"#, r#"[{"op": "add", "path": "/a/b", "value": 1}]"#, r#"!there is nothing at "/a""#),
    (r#"{"foo": 1}"#, r#"[{"op": "add", "path": "/foo/bar", "value": 1}]"#, r#"!the value at "/foo" is no object or array"#),
    (r#""foo""#, r#"[{"op": "add", "path": "/foo", "value": 1}]"#, r#"!the value at "" is no object or array"#),
    // Add: elements.
    (r#"["foo"]"#, r#"[{"op": "add", "path": "/1", "value": "bar"}]"#, r#"["foo", "bar"]"#),
    (r#"["foo", "sil"]"#, r#"[{"op": "add", "path": "/1", "value": "bar"}]"#, r#"["foo", "bar", "sil"]"#),
    (r#"["foo", "sil"]"#, r#"[{"op": "add", "path": "/0", "value": "bar"}]"#, r#"["bar", "foo", "sil"]"#),
    (r#"["foo", "sil"]"#, r#"[{"op": "add", "path": "/2", "value": "bar"}]"#, r#"["foo", "sil", "bar"]"#),
    (r#"["foo", "sil"]"#, r#"[{"op": "add", "path": "/3", "value": "bar"}]"#, "!the array has 2 elements"),
    ("[]", r#"[{"op": "add", "path": "/1", "value": "bar"}]"#, "!the array has 0 elements"),
    ("[]", r#"[{"op": "add", "path": "/0", "value": "foo"}]"#, r#"["foo"]"#),
    ("[]", r#"[{"op": "add", "path": "/-", "value": "foo"}]"#, r#"["foo"]"#),
    ("[1, 2]", r#"[{"op": "add", "path": "/-", "value": {"foo": ["bar", "baz"]}}]"#, r#"[1, 2, {"foo": ["bar", "baz"]}]"#),
    ("[1, 2, [3, [4, 5]]]", r#"[{"op": "add", "path": "/2/1/-", "value": {"foo": ["bar", "baz"]}}]"#, r#"[1, 2, [3, [4, 5, {"foo": ["bar", "baz"]}]]]"#),
    (r#"["foo", "sil"]"#, r#"[{"op": "add", "path": "/bar", "value": 42}]"#, r#"!"bar" is no index of an array"#),
    (r#"["foo", "bar"]"#, r#"[{"op": "add", "path": "/1e0", "value": 42}]"#, r#"!"1e0" is no index"#),
    (r#"["foo", "bar"]"#, r#"[{"op": "add", "path": "/01", "value": 42}]"#, r#"!"01" is no index"#),
    (r#"["foo", "bar"]"#, r#"[{"op": "add", "path": "/-1", "value": 42}]"#, r#"!"-1" is no index"#),
    (r#"["foo", "bar"]"#, r#"[{"op": "add", "path": "/+1", "value": 42}]"#, r#"!"+1" is no index"#),
    (r#"["foo", "bar"]"#, r#"[{"op": "add", "path": "/", "value": 42}]"#, r#"!"" is no index"#),
    (r#"["foo", "bar"]"#, r#"[{"op": "add", "path": "/4294967296", "value": 42}]"#, r#"!"4294967296" is no index"#),
    (r#"["foo", "bar"]"#, r#"[{"op": "add", "path": "/99999999999999999999", "value": 42}]"#, "!"),
    (r#"{"foo": [1, 2]}"#, r#"[{"op": "add", "path": "/foo/-/bar", "value": 42}]"#, r#"!there is nothing at "/foo/-""#),
    ("[]", r#"[{"op": "add", "path": "", "value": {}}]"#, "{}"),
    (r#"["foo"]"#, r#"[{"op": "add", "path": "/0", "value": ["bar", "baz"]}]"#, r#"[["bar", "baz"], "foo"]"#),
    // Remove.
    (r#"{"foo": 1, "bar": [1, 2, 3, 4]}"#, r#"[{"op": "remove", "path": "/bar"}]"#, r#"{"foo": 1}"#),
    (r#"{"foo": 1, "baz": [{"qux": "hello"}]}"#, r#"[{"op": "remove", "path": "/baz/0/qux"}]"#, r#"{"foo": 1, "baz": [{}]}"#),
    (r#"{"foo": null}"#, r#"[{"op": "remove", "path": "/foo"}]"#, "{}"),
    ("[1, 2, 3, 4]", r#"[{"op": "remove", "path": "/0"}]"#, "[2, 3, 4]"),
    ("[1, 2, 3, 4]", r#"[{"op": "remove", "path": "/1"}, {"op": "remove", "path": "/2"}]"#, "[1, 3]"),
    ("[1, 2, 3, 4]", r#"[{"op": "remove", "path": "/1e0"}]"#, r#"!"1e0" is no index"#),
    ("[1, 2]", r#"[{"op": "remove", "path": "/2"}]"#, "!the array has 2 elements"),
    ("[1, 2]", r#"[{"op": "remove", "path": "/-"}]"#, "!- is the place behind the last element"),
    (r#"{"foo": "bar"}"#, r#"[{"op": "remove", "path": "/baz"}]"#, "!there is no such member"),
    (r#"{"foo": "bar"}"#, r#"[{"op": "remove", "path": "/foo/baz"}]"#, r#"!the value at "/foo" is no object"#),
    (r#"{"foo": "bar"}"#, r#"[{"op": "remove", "path": ""}]"#, "!a document always has a value"),
    // Replace.
    (r#"{"foo": 1, "baz": [{"qux": "hello"}]}"#, r#"[{"op": "replace", "path": "/foo", "value": [1, 2, 3, 4]}]"#, r#"{"foo": [1, 2, 3, 4], "baz": [{"qux": "hello"}]}"#),
    (r#"{"foo": [1, 2, 3, 4], "baz": [{"qux": "hello"}]}"#, r#"[{"op": "replace", "path": "/baz/0/qux", "value": "world"}]"#, r#"{"foo": [1, 2, 3, 4], "baz": [{"qux": "world"}]}"#),
    (r#"["foo"]"#, r#"[{"op": "replace", "path": "/0", "value": "bar"}]"#, r#"["bar"]"#),
    (r#"[""]"#, r#"[{"op": "replace", "path": "/0", "value": 0}]"#, "[0]"),
    (r#"[""]"#, r#"[{"op": "replace", "path": "/0", "value": true}]"#, "[true]"),
    (r#"[""]"#, r#"[{"op": "replace", "path": "/0", "value": false}]"#, "[false]"),
    (r#"[""]"#, r#"[{"op": "replace", "path": "/0", "value": null}]"#, "[null]"),
    (r#"["foo", "sil"]"#, r#"[{"op": "replace", "path": "/1", "value": ["foo", "bar"]}]"#, r#"["foo", ["foo", "bar"]]"#),
    (r#"{"foo": "bar"}"#, r#"[{"op": "replace", "path": "", "value": {"baz": "qux"}}]"#, r#"{"baz": "qux"}"#),
    (r#"{"foo": null}"#, r#"[{"op": "replace", "path": "/foo", "value": "truthy"}]"#, r#"{"foo": "truthy"}"#),
    (r#"["foo"]"#, r#"[{"op": "replace", "path": "/1", "value": 1}]"#, "!the array has 1 element;"),
    (r#"["foo"]"#, r#"[{"op": "replace", "path": "/-", "value": 1}]"#, "!- is the place"),
    (r#"[""]"#, r#"[{"op": "replace", "path": "/00", "value": 1}]"#, r#"!"00" is no index"#),
    (r#"{"foo": "bar"}"#, r#"[{"op": "replace", "path": "/foo/bar", "value": 0}]"#, r#"!the value at "/foo""#),
    (r#"{"foo": "bar"}"#, r#"[{"op": "replace", "path": "/bar", "value": 0}]"#, "!there is no such member"),
    // Test: every type.
    (r#"{"foo": 1}"#, r#"[{"op": "test", "path": "/foo", "value": 1}]"#, r#"{"foo": 1}"#),
    (r#"{"foo": 1}"#, r#"[{"op": "test", "path": "/foo", "value": 1.0}]"#, r#"{"foo": 1}"#),
    (r#"{"foo": 1.0}"#, r#"[{"op": "test", "path": "/foo", "value": 1}]"#, r#"{"foo": 1.0}"#),
    (r#"{"foo": 1e2}"#, r#"[{"op": "test", "path": "/foo", "value": 100}]"#, r#"{"foo": 100.0}"#),
    (r#"{"foo": 0}"#, r#"[{"op": "test", "path": "/foo", "value": -0.0}]"#, r#"{"foo": 0}"#),
    (r#"{"foo": 9007199254740993}"#, r#"[{"op": "test", "path": "/foo", "value": 9007199254740992.0}]"#, "!the value is another one"),
    (r#"{"foo": 1}"#, r#"[{"op": "test", "path": "/foo", "value": "1"}]"#, "!the value is another one"),
    (r#"{"foo": 1}"#, r#"[{"op": "test", "path": "/foo", "value": [1, 2]}]"#, "!the value is another one"),
    (r#"{"foo": 1}"#, r#"[{"op": "test", "path": "/foo", "value": true}]"#, "!the value is another one"),
    (r#"{"foo": 0}"#, r#"[{"op": "test", "path": "/foo", "value": false}]"#, "!the value is another one"),
    (r#"{"foo": ""}"#, r#"[{"op": "test", "path": "/foo", "value": null}]"#, "!the value is another one"),
    (r#"{"foo": null}"#, r#"[{"op": "test", "path": "/foo", "value": null}]"#, r#"{"foo": null}"#),
    ("[null]", r#"[{"op": "test", "path": "/0", "value": null}]"#, "[null]"),
    (r#"{"foo": []}"#, r#"[{"op": "test", "path": "/foo", "value": {}}]"#, "!the value is another one"),
    (r#"{"foo": {}}"#, r#"[{"op": "test", "path": "/foo", "value": []}]"#, "!the value is another one"),
    (r#"{"foo": {"foo": 1, "bar": 2}}"#, r#"[{"op": "test", "path": "/foo", "value": {"bar": 2, "foo": 1.0}}]"#, r#"{"foo": {"foo": 1, "bar": 2}}"#),
    (r#"{"foo": [{"foo": 1, "bar": 2}]}"#, r#"[{"op": "test", "path": "/foo", "value": [{"bar": 2, "foo": 1}]}]"#, r#"{"foo": [{"foo": 1, "bar": 2}]}"#),
    (r#"{"foo": {"a": 1}}"#, r#"[{"op": "test", "path": "/foo", "value": {"a": 1, "b": null}}]"#, "!the value is another one"),
    (r#"{"foo": {"a": 1, "b": 2}}"#, r#"[{"op": "test", "path": "/foo", "value": {"a": 1}}]"#, "!the value is another one"),
    (r#"{"foo": [1, 2]}"#, r#"[{"op": "test", "path": "/foo", "value": [2, 1]}]"#, "!the value is another one"),
    (r#"{"foo": "a~b"}"#, r#"[{"op": "test", "path": "/foo", "value": "a~c"}]"#, "!the value is another one"),
    (r#"{"baz": "qux", "foo": ["a", 2, "c"]}"#, r#"[{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}]"#, r#"{"baz": "qux", "foo": ["a", 2, "c"]}"#),
    (r#"{"foo": 1}"#, r#"[{"op": "test", "path": "", "value": {"foo": 1}}]"#, r#"{"foo": 1}"#),
    (r#"{"": 1}"#, r#"[{"op": "test", "path": "/", "value": 1}]"#, r#"{"": 1}"#),
    (r#"{"foo": 1}"#, r#"[{"op": "test", "path": "/bar", "value": 1}]"#, "!there is no such member"),
    (r#"["foo", "bar"]"#, r#"[{"op": "test", "path": "/00", "value": "foo"}]"#, r#"!"00" is no index"#),
    (r#"["foo", "bar"]"#, r#"[{"op": "test", "path": "/01", "value": "bar"}]"#, r#"!"01" is no index"#),
    (r#"["foo", "bar"]"#, r#"[{"op": "test", "path": "/1e0", "value": "bar"}]"#, r#"!"1e0" is no index"#),
    (r#"["foo", "bar"]"#, r#"[{"op": "test", "path": "/-", "value": "bar"}]"#, "!- is the place"),
    (r#"{"": 0, " ": 7, "\"": 6, "a/b": 1, "c%d": 2, "e^f": 3, "foo": ["bar", "baz"], "g|h": 4, "i\\j": 5, "k\"l": 6, "m~n": 8}"#,
     r#"[{"op": "test", "path": "/foo", "value": ["bar", "baz"]}, {"op": "test", "path": "/foo/0", "value": "bar"}, {"op": "test", "path": "/", "value": 0}, {"op": "test", "path": "/a~1b", "value": 1}, {"op": "test", "path": "/c%d", "value": 2}, {"op": "test", "path": "/e^f", "value": 3}, {"op": "test", "path": "/g|h", "value": 4}, {"op": "test", "path": "/i\\j", "value": 5}, {"op": "test", "path": "/k\"l", "value": 6}, {"op": "test", "path": "/ ", "value": 7}, {"op": "test", "path": "/m~0n", "value": 8}, {"op": "remove", "path": "/m~0n"}, {"op": "remove", "path": "/"}]"#,
     r#"{" ": 7, "\"": 6, "a/b": 1, "c%d": 2, "e^f": 3, "foo": ["bar", "baz"], "g|h": 4, "i\\j": 5, "k\"l": 6}"#),
    // Move.
    (r#"{"foo": null}"#, r#"[{"op": "move", "from": "/foo", "path": "/bar"}]"#, r#"{"bar": null}"#),
    (r#"{"foo": 1}"#, r#"[{"op": "move", "from": "/foo", "path": "/foo"}]"#, r#"{"foo": 1}"#),
    (r#"{"foo": {"bar": 1}}"#, r#"[{"op": "move", "from": "/foo", "path": "/foo"}]"#, r#"{"foo": {"bar": 1}}"#),
    (r#"{"foo": 1, "baz": [{"qux": "hello"}]}"#, r#"[{"op": "move", "from": "/foo", "path": "/bar"}]"#, r#"{"baz": [{"qux": "hello"}], "bar": 1}"#),
    (r#"{"baz": [{"qux": "hello"}], "bar": 1}"#, r#"[{"op": "move", "from": "/baz/0/qux", "path": "/baz/1"}]"#, r#"{"baz": [{}, "hello"], "bar": 1}"#),
    (r#"{"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}}"#, r#"[{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}]"#, r#"{"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}"#),
    (r#"{"foo": ["all", "grass", "cows", "eat"]}"#, r#"[{"op": "move", "from": "/foo/1", "path": "/foo/3"}]"#, r#"{"foo": ["all", "cows", "eat", "grass"]}"#),
    (r#"{"foo": ["all", "grass", "cows", "eat"]}"#, r#"[{"op": "move", "from": "/foo/3", "path": "/foo/0"}]"#, r#"{"foo": ["eat", "all", "grass", "cows"]}"#),
    ("[1, 2, 3]", r#"[{"op": "move", "from": "/0", "path": "/-"}]"#, "[2, 3, 1]"),
    ("[1, 2, 3]", r#"[{"op": "move", "from": "/0", "path": "/3"}]"#, "!the array has 2 elements"),
    (r#"{"a": {"b": [1]}}"#, r#"[{"op": "move", "from": "/a/b", "path": ""}]"#, "[1]"),
    (r#"{"a": {"b": 1}, "c": 2}"#, r#"[{"op": "move", "from": "/a", "path": "/c"}]"#, r#"{"c": {"b": 1}}"#),
    (r#"{"a": {"b": 1}}"#, r#"[{"op": "move", "from": "/a", "path": "/a/b"}]"#, r#"!"/a" cannot move into itself"#),
    (r#"{"a": {"b": {}}}"#, r#"[{"op": "move", "from": "/a", "path": "/a/b/c"}]"#, r#"!"/a" cannot move into itself"#),
    (r#"{"a": 1, "ab": {}}"#, r#"[{"op": "move", "from": "/a", "path": "/ab/a"}]"#, r#"{"ab": {"a": 1}}"#),
    (r#"{"a": 1}"#, r#"[{"op": "move", "from": "", "path": "/a"}]"#, r#"!"" cannot move into itself"#),
    (r#"{"a": 1}"#, r#"[{"op": "move", "from": "/b", "path": "/c"}]"#, "!there is no such member"),
    (r#"{"a": 1}"#, r#"[{"op": "move", "from": "/b", "path": "/b"}]"#, "!there is no such member"),
    (r#"{"a": 1}"#, r#"[{"op": "move", "from": "/a", "path": "/b/c"}]"#, r#"!there is nothing at "/b""#),
    ("[[1], [2]]", r#"[{"op": "move", "from": "/0", "path": "/0/0"}]"#, "!"),
    // Copy.
    (r#"{"foo": null}"#, r#"[{"op": "copy", "from": "/foo", "path": "/bar"}]"#, r#"{"foo": null, "bar": null}"#),
    (r#"{"baz": [{"qux": "hello"}], "bar": 1}"#, r#"[{"op": "copy", "from": "/baz/0", "path": "/boo"}]"#, r#"{"baz": [{"qux": "hello"}], "bar": 1, "boo": {"qux": "hello"}}"#),
    (r#"{"a": {"b": 1}}"#, r#"[{"op": "copy", "from": "/a", "path": "/a/b"}]"#, r#"{"a": {"b": {"b": 1}}}"#),
    (r#"{"a": {"b": 1}}"#, r#"[{"op": "copy", "from": "", "path": "/c"}]"#, r#"{"a": {"b": 1}, "c": {"a": {"b": 1}}}"#),
    (r#"{"a": {"b": 1}}"#, r#"[{"op": "copy", "from": "/a", "path": "/a"}]"#, r#"{"a": {"b": 1}}"#),
    (r#"{"a": {"b": 1}}"#, r#"[{"op": "copy", "from": "/a", "path": ""}]"#, r#"{"b": 1}"#),
    ("[[1], 2]", r#"[{"op": "copy", "from": "/0", "path": "/0"}]"#, "[[1], [1], 2]"),
    ("[[1], 2]", r#"[{"op": "copy", "from": "/0", "path": "/-"}, {"op": "add", "path": "/2/-", "value": 5}]"#, "[[1], 2, [1, 5]]"),
    (r#"{"a": 1}"#, r#"[{"op": "copy", "from": "/b", "path": "/c"}]"#, "!there is no such member"),
    // Members of operations that the RFC does not know.
    (r#"{"foo": 1}"#, r#"[{"op": "test", "path": "/foo", "value": 1, "extra": [1], "from": "no pointer"}]"#, r#"{"foo": 1}"#),
    (r#"{"foo": "bar"}"#, r#"[{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}]"#, r#"{"foo": "bar", "baz": "qux"}"#),
    // No patches.
    ("{}", r#"{"op": "add", "path": "/a", "value": 1}"#, "!a patch is an array of operations, but this is object"),
    ("{}", "null", "!a patch is an array of operations, but this is null"),
    ("{}", r#"[["add", "/a", 1]]"#, "!it is no object but array"),
    ("{}", r#"[{"op": "add", "path": "/a"}]"#, r#"!the member "value" is missing"#),
    ("{}", r#"[{"op": "replace", "path": ""}]"#, r#"!the member "value" is missing"#),
    ("{}", r#"[{"op": "test", "path": "/a"}]"#, r#"!the member "value" is missing"#),
    ("{}", r#"[{"op": "add", "value": 1}]"#, r#"!the member "path" is missing"#),
    ("{}", r#"[{"op": "remove"}]"#, r#"!the member "path" is missing"#),
    ("{}", r#"[{"op": "copy", "path": "/a"}]"#, r#"!the member "from" is missing"#),
    ("{}", r#"[{"op": "move", "path": "/a"}]"#, r#"!the member "from" is missing"#),
    ("{}", r#"[{"path": "/a", "value": 1}]"#, r#"!the member "op" is missing"#),
    ("{}", r#"[{"op": "spam", "path": "/a", "value": 1}]"#, r#"!there is no operation "spam""#),
    ("{}", r#"[{"op": "ADD", "path": "/a", "value": 1}]"#, r#"!there is no operation "ADD""#),
    ("{}", r#"[{"op": "", "path": "/a", "value": 1}]"#, r#"!there is no operation """#),
    ("{}", r#"[{"op": null, "path": "/a", "value": 1}]"#, r#"!its "op" is no text but null"#),
    ("{}", r#"[{"op": 0, "path": "/a", "value": 1}]"#, r#"!its "op" is no text but int"#),
    ("{}", r#"[{"op": "add", "path": null, "value": 1}]"#, r#"!its "path" is no text but null"#),
    ("{}", r#"[{"op": "add", "path": 0, "value": 1}]"#, r#"!its "path" is no text but int"#),
    ("{}", r#"[{"op": "copy", "path": "/a", "from": null}]"#, r#"!its "from" is no text but null"#),
    ("{}", r#"[{"op": "add", "path": "foo", "value": 1}]"#, r#"!its "path" does not begin with /"#),
    ("{}", r##"[{"op": "add", "path": "#/foo", "value": 1}]"##, r#"!its "path" does not begin with /"#),
    ("{}", r#"[{"op": "move", "from": "a", "path": "/foo"}]"#, r#"!its "from" does not begin with /"#),
    ("{}", r#"[{"op": "add", "path": "/a~", "value": 1}]"#, r#"!its "path" has a ~ without 0 or 1"#),
    ("{}", r#"[{"op": "add", "path": "/a~2", "value": 1}]"#, r#"!its "path" has a ~ without 0 or 1"#),
    ("{}", r#"[{"op": "add", "path": "/a~é", "value": 1}]"#, r#"!its "path" has a ~ without 0 or 1"#),
    // Several operations: all or none.
    (r#"{"a": 1}"#, r#"[{"op": "add", "path": "/b", "value": 2}, {"op": "test", "path": "/b", "value": 3}]"#, "!the value is another one"),
    (r#"{"a": [1, 2]}"#, r#"[{"op": "move", "from": "/a", "path": "/b"}, {"op": "remove", "path": "/b/0"}, {"op": "remove", "path": "/c"}]"#, "!there is no such member"),
    (r#"[1, 2]"#, r#"[{"op": "replace", "path": "/0", "value": "a much longer text than before"}, {"op": "remove", "path": "/7"}]"#, "!the array has 2 elements"),
    (r#"{"bar": [1, 2, 5, 4]}"#, r#"[{"op": "test", "path": "/bar", "value": [1, 2, 5, 4]}, {"op": "replace", "path": "/bar/0", "value": 9}, {"op": "copy", "from": "/bar", "path": "/foo"}, {"op": "remove", "path": "/bar"}]"#, r#"{"foo": [9, 2, 5, 4]}"#),
];

#[test]
fn operations() {
    for &(doc, patch, expected) in CASES {
        for tables in [true, false] {
            let options = livebuf_json::ReadOptions::new().tables(tables);
            let mut doc = livebuf_json::from_slice_with(doc.as_bytes(), &options).unwrap();
            let before = doc.to_vec();
            let done = patch.parse().and_then(|patch: Patch| patch.apply(&mut doc));
            doc.doc().validate().unwrap();
            match (expected.strip_prefix('!'), done) {
                (None, Ok(())) => {
                    let after: Value = livebuf::from_value(&doc).unwrap();
                    assert_eq!(after, serde_json::from_str::<Value>(expected).unwrap(), "{patch}");
                }
                (Some(message), Err(error)) => {
                    let whole = error.to_string();
                    assert!(whole.contains(message), "{patch}: {whole}");
                    assert_eq!(doc.as_bytes(), before, "{patch}: {whole}");
                }
                (_, done) => panic!("{patch}: {done:?}"),
            }
        }
    }
}

/// Text in which a key occurs twice says so; it is not for us to choose.
#[test]
fn a_key_twice() {
    let text = r#"[{"op": "add", "path": "/baz", "value": "qux", "op": "remove"}]"#;
    let error = text.parse::<Patch>().unwrap_err();
    assert_eq!(error.kind(), PatchErrorKind::Json);
    assert!(
        error
            .json_error()
            .is_some_and(|error| error.kind() == livebuf_json::ErrorKind::DuplicateKey)
    );
}

/// An error says which operation, of which name, where, why, and what helps.
#[test]
fn errors_name_the_operation() {
    let mut doc = json!({"a": [1, 2]});
    let patch: Patch = r#"[{"op": "test", "path": "/a/0", "value": 1}, {"op": "move", "from": "/a/5", "path": "/b"}]"#
        .parse()
        .unwrap();
    let error = patch.apply(&mut doc).unwrap_err();
    assert_eq!(error.kind(), PatchErrorKind::IndexOutOfRange);
    assert_eq!((error.operation(), error.pointer()), (Some(1), "/a/5"));
    assert_eq!(
        error.to_string(),
        r#"operation 1, move "/a/5": the array has 2 elements; - adds one behind the last"#
    );
}

/// Bug: the name of an unknown operation had Rust's escapes, as `\u{1b}`, which are none of JSON.
#[test]
fn an_unknown_operation_is_named_as_json_has_it() {
    let patch = r#"[{"op": "\u001b[31m \u0000\"", "path": "/a"}]"#;
    let message = patch.parse::<Patch>().unwrap_err().to_string();
    assert!(message.contains(r#"no operation "\u001b[31m \u0000\"", only"#), "{message}");
}

/// Each copy doubles the document; its limit bounds them.
#[test]
fn copies_keep_to_the_limit_of_the_document() {
    let copies: Vec<String> = (0..40)
        .map(|number| format!(r#"{{"op": "copy", "from": "", "path": "/{number}"}}"#))
        .collect();
    let patch: Patch = format!("[{}]", copies.join(",")).parse().unwrap();
    let mut doc = json!({"text": "some text"});
    let mut limits = doc.limits();
    limits.document = 100_000;
    doc.set_limits(limits);
    let before = doc.to_vec();
    let error = patch.apply(&mut doc).unwrap_err();
    assert_eq!(error.core_error().unwrap().kind(), livebuf::ErrorKind::DocumentLimit);
    assert!(error.operation().unwrap() < 14, "{error}");
    assert_eq!(doc.as_bytes(), before);
}

/// Keys are longer than any buffer for them, and escaped.
#[test]
fn long_keys() {
    let key = format!("{}/~{}", "k".repeat(3_000), "é".repeat(500));
    let token = key.replace('~', "~0").replace('/', "~1");
    let mut doc = json!({});
    for operation in ["add", "replace", "test"] {
        let patch = format!(r#"[{{"op": "{operation}", "path": "/{token}", "value": {{}}}}]"#);
        patch.parse::<Patch>().unwrap().apply(&mut doc).unwrap();
    }
    let patch = format!(r#"[{{"op": "add", "path": "/{token}/x", "value": 1}}]"#);
    patch.parse::<Patch>().unwrap().apply(&mut doc).unwrap();
    assert_eq!(doc.get(&key).unwrap().unwrap().get("x").unwrap().unwrap(), 1);
}

/// Values that JSON lacks stay what they are, in a patch that is a document.
#[test]
fn values_that_json_lacks() {
    let date = livebuf::Date::from_ymd(2026, 11, 24).unwrap();
    let mut patch = json!([{"op": "add", "path": "/day"}, {"op": "test", "path": "/day"}]);
    for number in [0, 1] {
        patch.set_pointer(&format!("/{number}/value"), date).unwrap();
    }
    let patch = Patch::from_doc(patch).unwrap();
    let mut doc = json!({});
    patch.apply(&mut doc).unwrap();
    assert_eq!(doc.get("day").unwrap().unwrap().as_date().unwrap(), Some(date));
    // As JSON it is text, and no date.
    let test: Patch = r#"[{"op": "test", "path": "/day", "value": "2026-11-24"}]"#.parse().unwrap();
    assert_eq!(test.apply(&mut doc).unwrap_err().kind(), PatchErrorKind::TestFailed);
}

/// `test` compares numbers of all kinds by their values. Bug: decimals equalled only their like,
/// digit by digit, and a number kept as text equalled no decimal.
#[test]
fn decimals_are_numbers() {
    let text = |number: &str| livebuf_json::from_str(&format!("[{number}]")).unwrap();
    let decimal = |number: &str| json!([number.parse::<livebuf::Decimal>().unwrap()]);
    let long = "0.1000000000000000055";
    for (stored, wanted, equal) in [
        (decimal("19.90"), text("19.90"), true),
        (decimal("19.90"), text("19.9"), true),
        (decimal("19.90"), decimal("19.9"), true),
        (text("19.9"), decimal("19.90"), true),
        (decimal("2.00"), text("2"), true),
        (text("2"), decimal("2.0"), true),
        (text(long), decimal(long), true),
        (decimal(long), text(long), true),
        (decimal("0.1"), text(long), false),
        (decimal("9007199254740993"), text("9007199254740992.0"), false),
        (decimal("1"), json!(["1"]), false),
        (decimal("1"), json!([true]), false),
    ] {
        let operation = json!([{"op": "test", "path": ""}]);
        let mut patch = operation.clone();
        patch.set_pointer("/0/value", wanted.doc().root()).unwrap();
        let applied = Patch::from_doc(patch).unwrap().apply(&mut stored.clone());
        assert_eq!(applied.is_ok(), equal, "{stored:?} {wanted:?}");
    }
}

/// In a fixed buffer: without an undo log it is refused, with one it is whole or nothing.
#[test]
fn fixed_buffers() {
    let patch: Patch = r#"[{"op": "add", "path": "/a", "value": [1, 2, 3]}, {"op": "move", "from": "/a", "path": "/b"}]"#
        .parse()
        .unwrap();
    for room in (40..600).step_by(8) {
        let mut buffer = vec![0; room];
        let Ok(mut doc) = livebuf::Editor::create(&mut buffer[..]) else { continue };
        if doc.set_root(livebuf::New::object(2)).is_err() {
            continue;
        }
        let before = doc.as_bytes().to_vec();
        match patch.apply(&mut doc) {
            Ok(()) => assert_eq!(doc.pointer("/b/2").unwrap().unwrap(), 3),
            Err(error) => {
                assert!(error.core_error().is_some(), "{error}");
                assert_eq!(doc.as_bytes(), before);
                assert!(room < 599);
            }
        }
    }
}
