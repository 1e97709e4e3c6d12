"""Exceptions: what they are, their numbers, where JSON errors say that they are."""

from __future__ import annotations

import copy
import gzip
import io
import json
import pickle
import re
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import livebuf
import pytest
from livebuf import Document

CLASSES = [getattr(livebuf, name) for name in livebuf.__all__ if name.endswith("Error")]

BUILT_IN = {
    "BadValueError": ValueError,
    "ClosedError": ValueError,
    "EncodeError": TypeError,
    "ExportedError": BufferError,
    "IndexRangeError": IndexError,
    "JSONError": json.JSONDecodeError,
    "LimitError": ValueError,
    "MissingKeyError": KeyError,
    "ParquetError": ValueError,
    "DeltaError": ValueError,
    "PatchError": ValueError,
    "PointerError": ValueError,
    "QueryError": ValueError,
    "ReadOnlyError": TypeError,
    "StaleError": RuntimeError,
    "WrongTypeError": TypeError,
}


def caught(action: Any) -> livebuf.Error:
    with pytest.raises(livebuf.Error) as info:
        action()
    return info.value


def test_hierarchy() -> None:
    assert len(CLASSES) == 20
    for error in CLASSES:
        assert issubclass(error, livebuf.Error)
        built_in = BUILT_IN.get(error.__name__)
        if built_in is not None:
            assert issubclass(error, built_in)
    assert livebuf.Error.__bases__ == (Exception,)


def test_each_is_what_a_python_user_catches() -> None:
    doc = livebuf.from_json('{"a": [1, {"b": 2}], "t": "text"}')
    frozen = livebuf.Document(bytes(doc))
    with pytest.raises(KeyError):
        doc["missing"]
    with pytest.raises(KeyError):
        del doc.root["missing"]
    with pytest.raises(KeyError):
        doc.root.pop("missing")
    with pytest.raises(IndexError):
        doc["a"][2]
    with pytest.raises(IndexError):
        doc["a"][-3] = 1
    with pytest.raises(TypeError):
        doc["a"]["b"]
    with pytest.raises(TypeError):
        doc.root[0]
    with pytest.raises(TypeError, match="editable"):
        frozen["a"] = 1
    with pytest.raises(json.JSONDecodeError):
        livebuf.from_json("{")
    with pytest.raises(ValueError):
        livebuf.from_json("{")
    with pytest.raises(TypeError):
        livebuf.dumps(object())


def test_numbers_are_those_of_the_format() -> None:
    """The table in docs/FORMAT.md and the kinds in error.rs, which Rust and C report too."""
    checkout = Path(__file__).resolve().parents[3]
    page = (checkout / "docs/FORMAT.md").read_text(encoding="utf-8")
    table = re.findall(r"^ ?(\d+)  ([A-Z]\w+)  ", page, re.MULTILINE)
    numbers = {name: int(number) for number, name in table}
    assert len(numbers) >= 18
    source = (checkout / "crates/livebuf/src/error.rs").read_text()
    kinds = {name: int(code) for name, code in re.findall(r"^    (\w+) = (\d+), \"", source, re.M)}
    assert kinds.items() >= numbers.items()

    doc = livebuf.from_json('{"a": [1], "b": 2}')
    with doc.transaction() as changes:
        doc["c"] = []
        view = doc["c"]
        changes.rollback()
    frozen = livebuf.Document(bytes(doc))
    cases = {
        "NotADocument": lambda: livebuf.loads(b"[1, 2, 3]" * 10),
        "Truncated": lambda: livebuf.loads(livebuf.dumps({"a": 1})[:20]),
        "UnsupportedVersion": lambda: livebuf.loads(b"\xabLBF\x63" + bytes(doc)[5:]),
        "NotFound": lambda: doc["missing"],
        "IndexOutOfRange": lambda: livebuf.from_json("[]").root[0],
        "WrongType": lambda: livebuf.loads(livebuf.dumps(1), type=str),
        "StaleHandle": lambda: len(view),
        "ReadOnly": lambda: frozen.root.clear(),
        "KeyExists": lambda: doc.root.rename("a", "b"),
        "BadPointer": lambda: doc.pointer("no slash"),
        "BudgetExceeded": lambda: livebuf.loads(livebuf.dumps([1] * 9), max_values=3),
    }
    for kind, action in cases.items():
        error = caught(action)
        assert (error.kind, error.code) == (kind, kinds[kind])


def test_vectors_are_refused_with_their_error() -> None:
    """testdata/vectors: n_<kind>_*.lbuf must fail so, y_*.lbuf must be what y_*.json says."""
    folder = Path(__file__).resolve().parents[3] / "testdata" / "vectors"
    refused = accepted = 0
    for path in sorted(folder.glob("n_*.lbuf")):
        kind = path.name.split("_")[1].removesuffix(".lbuf")

        def check(payload: bytes = path.read_bytes()) -> None:
            livebuf.Document(payload).validate()

        error = caught(check)
        assert error.kind == kind, path.name
        assert isinstance(error, (livebuf.DamagedError, livebuf.LimitError)) or kind == "BadNumber"
        refused += 1
    for path in sorted(folder.glob("y_*.lbuf")):
        expected = path.with_suffix(".json")
        if expected.exists():
            doc = livebuf.Document(path.read_bytes())
            doc.validate()
            # As text: Python's `json` does not read a thousand levels.
            text = expected.read_text(encoding="utf-8").removesuffix("\n")
            assert livebuf.to_json(doc).decode() == text, path.name
            accepted += 1
    assert refused > 20 and accepted > 10


def test_attributes() -> None:
    error = caught(lambda: livebuf.loads(livebuf.dumps({"a": 1})[:-8]))
    assert isinstance(error, livebuf.DamagedError)
    assert error.kind == "Truncated" and (error.offset is None or error.offset > 0)
    missing = caught(lambda: livebuf.from_json("{}")["the key"])
    assert missing.args == ("the key",) and str(missing) == "'the key'"
    assert livebuf.Error("x").code == 0 and livebuf.Error("x").offset is None


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_pickling(error: Any) -> None:
    if error is livebuf.JSONError:
        original = error("message", "[1,", 3, 1, 4, 4)
    else:
        original = error("message", 25, "NotFound", 48)
    for made in (pickle.loads(pickle.dumps(original)), copy.copy(original)):
        assert type(made) is error and str(made) == str(original)
        assert vars(made) == vars(original)


def test_pickling_of_those_that_were_raised() -> None:
    doc = livebuf.from_json("{}")
    for action in (
        lambda: doc["missing"],
        lambda: livebuf.from_json('{"a": }'),
        lambda: livebuf.loads(b"nothing"),
        lambda: livebuf.dumps({"a": {1}}),
    ):
        error = caught(action)
        made = pickle.loads(pickle.dumps(error))
        assert type(made) is type(error) and str(made) == str(error)
        assert vars(made) == vars(error)


# Malformed texts for which Python's module names the same place.
SAME_PLACE = [
    "",
    "{",
    '{"a"',
    '{"a" 1}',
    '{"a": 1 "b": 2}',
    '{"a": tru}',
    "[",
    "[1 2]",
    "[1, x]",
    "nul",
    "x",
    '{"a": 1}\n x',
    "[]\n\n[]",
    '{\n  "a": [1,\n 2 3]\n}',
    "{1: 2}",
    "{'a': 1}",
    "[1, 2\n\n, x]",
    "1 2",
    '"é" x',
    '["𝄞", x]',
]

# The same for texts that json takes, or whose error it puts elsewhere.
OWN_PLACE = [
    ("[1,]", 3),
    ('{"a": 1,}', 8),
    ("NaN", 0),
    ("Infinity", 0),
    ("-Infinity", 1),
    ("01", 1),
    ("1.", 2),
    ("-", 1),
    ("1e", 2),
    ('"a\tb"', 2),
    ('"\\x"', 2),
    ('"abc', 4),
]


class TestJSONErrors:
    @pytest.mark.parametrize("text", SAME_PLACE)
    def test_place_as_json_has_it(self, text: str) -> None:
        with pytest.raises(json.JSONDecodeError) as theirs:
            json.loads(text)
        with pytest.raises(livebuf.JSONError) as ours:
            livebuf.from_json(text)
        expected, found = theirs.value, ours.value
        assert found.doc == text
        # Where json says where the value began, the byte that is wrong is a little further.
        assert expected.pos <= found.pos <= expected.pos + 3
        assert found.lineno == text.count("\n", 0, found.pos) + 1
        assert found.colno == found.pos - text.rfind("\n", 0, found.pos)

    def test_most_places_are_exactly_those_of_json(self) -> None:
        same = 0
        for text in SAME_PLACE:
            with pytest.raises(json.JSONDecodeError) as theirs:
                json.loads(text)
            with pytest.raises(livebuf.JSONError) as ours:
                livebuf.from_json(text)
            expected, found = theirs.value, ours.value
            same += (found.pos, found.lineno, found.colno) == (
                expected.pos,
                expected.lineno,
                expected.colno,
            )
        assert same >= len(SAME_PLACE) - 3

    @pytest.mark.parametrize(("text", "pos"), OWN_PLACE)
    def test_strictness(self, text: str, pos: int) -> None:
        with pytest.raises(livebuf.JSONError) as caught:
            livebuf.from_json(text)
        assert abs(caught.value.pos - pos) <= 1
        assert caught.value.msg in str(caught.value)

    def test_positions_of_str_count_characters_and_of_bytes_bytes(self) -> None:
        text = '["é𝄞", x]'
        with pytest.raises(livebuf.JSONError) as of_text:
            livebuf.from_json(text)
        with pytest.raises(livebuf.JSONError) as of_bytes:
            livebuf.from_json(text.encode())
        assert of_text.value.doc[of_text.value.pos] == "x"
        assert of_bytes.value.doc[of_bytes.value.pos : of_bytes.value.pos + 1] == b"x"
        assert of_bytes.value.pos - of_text.value.pos == 4

    def test_not_utf8(self) -> None:
        for text in (b'"\xff"', b'["ok", "\xc3"]', b"\xff\xfe[\x00]\x00", b"\xef\xbb[]"):
            with pytest.raises(livebuf.JSONError):
                livebuf.from_json(text)

    def test_half_a_surrogate_pair_in_str(self) -> None:
        """Bug: UnicodeEncodeError."""
        with pytest.raises(livebuf.JSONError):
            livebuf.from_json('["\ud800"]')
        with pytest.raises(livebuf.JSONError):
            livebuf.from_json('["\\ud800"]')

    def test_half_a_surrogate_pair_is_replaced_if_asked(self) -> None:
        for text in ('["\ud800x"]', '["\\ud800x"]', b'["\\ud800x"]', '["\\ud83d\ud800"]'):
            replaced = livebuf.from_json(text, surrogates="replace")
            assert replaced[0] in ("\ufffdx", "\ufffd\ufffd")
        assert livebuf.from_json('["\\ud83d\\ude00"]', surrogates="replace") == ["😀"]
        with pytest.raises(livebuf.JSONError):
            livebuf.from_json(b'["\xed\xa0\x80"]', surrogates="replace")
        with pytest.raises(ValueError, match='surrogates must be "error" or "replace"'):
            livebuf.from_json("1", surrogates="ignore")  # type: ignore[arg-type]

    def test_a_byte_order_mark_is_passed_over(self) -> None:
        assert livebuf.from_json("\ufeff[1]") == [1]
        assert livebuf.from_json(b"\xef\xbb\xbf[1]") == [1]
        assert livebuf.from_json("\ufeff1\n2", lines=True) == [1, 2]
        with pytest.raises(livebuf.JSONError) as caught:
            livebuf.from_json("\ufeff[x]")
        assert (caught.value.pos, caught.value.colno) == (2, 3)

    def test_other_formats_are_named(self) -> None:
        for data, words in (
            (gzip.compress(b"{}"), "gzip -dc"),
            (b"PAR1\x15\x04", "livebuf from-parquet"),
            ("[1]".encode("utf-16"), "UTF-16"),
            (livebuf.dumps([1]), "LiveBuf document"),
            (b"\xabLBL\0\0\0\0", "livebuf log cat"),
        ):
            with pytest.raises(livebuf.JSONError, match=words):
                livebuf.from_json(data)

    def test_a_key_that_comes_twice_is_named(self) -> None:
        with pytest.raises(livebuf.JSONError, match='the key "b" occurs twice'):
            livebuf.from_json('{"a": 1, "b": 2, "b": 3}', duplicate_keys="error")

    def test_later_lines(self) -> None:
        with pytest.raises(livebuf.JSONError) as caught:
            livebuf.from_json('{"a": 1}\n{"a": 2}\n{"a": }', lines=True)
        assert caught.value.lineno == 3

    def test_values_one_after_another(self) -> None:
        assert livebuf.from_json('{\n "a": 1\n}\n{\n "a": 2\n}[3]4', lines=True) == [
            {"a": 1},
            {"a": 2},
            [3],
            4,
        ]
        with pytest.raises(livebuf.JSONError):
            livebuf.from_json("2026-11-27", lines=True)

    def test_bad_lines_are_skipped(self) -> None:
        bad: list[livebuf.JSONError] = []
        text = '{"é": 1}\n{"é":\n\n{"é" 3}\n[4]\n"\ud800"\n7'
        assert livebuf.from_json(text, lines=True, skip_bad=bad.append) == [{"é": 1}, [4], 7]
        assert [error.lineno for error in bad] == [2, 4, 6]
        assert [error.pos for error in bad] == [14, 21, 29]
        assert all(error.doc is text for error in bad)
        many = "".join(f'{{"n": {n}}}\n{{"n": \n' for n in range(50_000))
        bad.clear()
        assert len(livebuf.from_json(many, lines=True, skip_bad=bad.append)) == 50_000
        assert [error.lineno for error in bad] == list(range(2, 100_001, 2))
        assert many[bad[-1].pos] == "\n"

    def test_functions_for_bad_lines(self) -> None:
        with pytest.raises(ValueError, match="needs lines=True"):
            livebuf.from_json("1", skip_bad=print)
        with pytest.raises(TypeError, match="a function for skip_bad"):
            livebuf.from_json("1", lines=True, skip_bad=True)  # type: ignore[arg-type]

        def refuse(error: livebuf.JSONError) -> None:
            raise KeyError(error.lineno)

        with pytest.raises(KeyError, match="2"):
            livebuf.from_json("1\nx", lines=True, skip_bad=refuse)


def test_tracebacks_name_them_as_users_do() -> None:
    """Bug: tracebacks showed `livebuf._errors.MissingKeyError`."""
    for error in CLASSES:
        assert (error.__module__, getattr(livebuf, error.__name__)) == ("livebuf", error)
    error = caught(lambda: livebuf.from_json("{}")["missing"])
    assert traceback.format_exception_only(error)[0].startswith("livebuf.MissingKeyError: ")


def test_pointers_say_where_they_end() -> None:
    """Bug: the errors of `set_pointer` named no key, and that of a pointer without its slash
    did not say that it needs one."""
    doc = livebuf.from_json('{"a": {"b": 1, "rows": [1, 2]}, "t": "text"}')
    for action in (
        lambda: doc.pointer("a/b"),
        lambda: doc.set_pointer("a", 1),
        lambda: doc.remove_pointer("a"),
        lambda: doc["a"].pointer("b"),
    ):
        with pytest.raises(livebuf.PointerError, match='must be empty or begin with "/"'):
            action()
    before = doc.to_python()
    cases: list[tuple[str, type[Exception], str]] = [
        ("/x/y", KeyError, 'no place "/x/y": no "/x"'),
        ("/a/x/y", KeyError, 'no place "/a/x/y": no "/a/x"'),
        ("/a/rows/7/y", KeyError, 'no "/a/rows/7"'),
        ("/a/rows/7", IndexError, "2 elements"),
        ("/a/b/c", TypeError, '"/a/b" leads to a value of kind int'),
        ("/t/c/d", TypeError, '"/t" leads to a value of kind string'),
    ]
    for pointer, error, message in cases:
        with pytest.raises(error, match=message) as info:
            doc.set_pointer(pointer, 1)
        assert isinstance(info.value, livebuf.Error), pointer
    assert doc == before


def test_nesting_names_no_option_that_is_not_there() -> None:
    """Bug: "raise the nesting limit", where there is no such option."""
    error = caught(lambda: livebuf.from_json("[" * 3000 + "]" * 3000))
    assert "raise" not in str(error) and "nested deeper than 1000" in str(error)


def test_the_package_shows_what_is_for_users() -> None:
    """Bug: `dir(livebuf)` had `os`, `Callable`, `TypeVar` and others."""
    shown = [name for name in dir(livebuf) if not name.startswith("_")]
    assert sorted(shown) == sorted(name for name in livebuf.__all__ if not name.startswith("_"))


def test_printed_text_is_bounded() -> None:
    doc = livebuf.from_json('{"rows": [1, 2, 3]}')
    text = livebuf.to_json(doc)
    assert livebuf.to_json(doc, max_bytes=len(text)) == text
    for action in (
        lambda: livebuf.to_json(doc, max_bytes=10),
        lambda: livebuf.to_json(doc["rows"], max_bytes=3),
        lambda: livebuf.to_json([1, 2, 3], max_bytes=3),
        lambda: livebuf.to_json(doc, indent=" " * 100_000 * 10),
    ):
        with pytest.raises(livebuf.LimitError, match="max_bytes="):
            action()
    assert len(livebuf.to_json(doc, indent=" " * 1_000_000, max_bytes=1 << 30)) > 5_000_000


def test_messages_name_what_to_call(tmp_path: Path) -> None:
    doc = Document.from_python({"a": {"b": [1]}})
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: doc.query("/a/b"), livebuf.QueryError, r"pointer\(\) takes a JSON pointer"),
        (lambda: livebuf.loads("x.lbuf"), TypeError, r"load\(\) and open\(\) take a path"),  # type: ignore[call-overload]
        (lambda: livebuf.loads(tmp_path), TypeError, r"load\(\) and open\(\) take a path"),  # type: ignore[call-overload]
        (lambda: doc.remove_pointer("/a/q/r"), livebuf.MissingKeyError, 'no "/a/q"'),
        (lambda: doc["a"].remove_pointer("/q/r"), livebuf.MissingKeyError, 'no "/a/q"'),
        (lambda: doc.remove_pointer("/a/b/7"), livebuf.MissingKeyError, 'no place "/a/b/7"'),
    ]
    for call, kind, match in cases:
        with pytest.raises(kind, match=match):
            call()
    polars = pytest.importorskip("polars")
    with pytest.raises(livebuf.EncodeError, match=r"from_arrow .* what its collect\(\) gives"):
        livebuf.dumps(polars.LazyFrame({"a": [1]}))


def test_json_to_files_that_are_open_for_text(tmp_path: Path) -> None:
    value, text = {"é": 1}, '{"é":1}'
    at = io.StringIO()
    livebuf.to_json(value, at)
    assert at.getvalue() == text
    with open(tmp_path / "x.json", "w", encoding="utf-8") as file:
        livebuf.to_json(value, file)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=tmp_path) as named:
        livebuf.to_json(value, named)
        named.flush()
        assert (
            Path(named.name).read_text("utf-8") == (tmp_path / "x.json").read_text("utf-8") == text
        )
    with pytest.raises(TypeError, match="wb"):
        livebuf.dump(value, io.StringIO())  # type: ignore[arg-type]


def test_layout_for_edits(tmp_path: Path) -> None:
    rows = [{"id": n, "name": f"n{n}"} for n in range(50)]
    expected = livebuf.dumps(rows, tables=False)
    livebuf.dump(rows, tmp_path / "x.lbuf", layout="edits")
    doc = Document.from_python(rows)
    doc.compact(layout="edits")
    for data in (
        livebuf.dumps(rows, layout="edits"),
        livebuf.dumps(Document.from_python(rows), layout="edits"),
        livebuf.Encoder(layout="edits").encode(rows),
        bytes(Document.from_python(rows, layout="edits")),
        bytes(livebuf.from_json(livebuf.to_json(rows), layout="edits")),
        (tmp_path / "x.lbuf").read_bytes(),
        bytes(doc),
    ):
        assert data == expected
    assert not Document(expected).root.table.stored
    with pytest.raises(ValueError, match="layout must be"):
        livebuf.dumps(rows, layout="columns")  # type: ignore[arg-type]
