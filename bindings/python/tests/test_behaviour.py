"""Views behave as lists and dicts do, and show themselves in notebooks."""

from __future__ import annotations

import collections
import copy
import pathlib
import pickle
import types
from typing import Any

import livebuf
import pytest
from livebuf import Document


@pytest.fixture
def doc() -> Document:
    return Document.from_python(
        {"a": [3, 1, 2], "o": {"x": 1, "y": {"z": 2}}, "rows": [{"id": 9 - n} for n in range(10)]}
    )


class TestLists:
    def test_sort(self, doc: Document) -> None:
        doc["a"].sort()
        assert doc["a"] == [1, 2, 3]
        doc["a"].sort(reverse=True)
        assert doc["a"] == [3, 2, 1]
        doc["rows"].sort(key=lambda row: row["id"])
        assert [row["id"] for row in doc["rows"]] == list(range(10))
        with pytest.raises(TypeError):
            doc["rows"].sort()
        mixed = Document.from_python(["b", 1])
        with pytest.raises(TypeError):
            mixed.root.sort()
        assert mixed == ["b", 1]

    def test_sort_by_a_key_that_edits(self) -> None:
        doc = Document.from_python([3, 1, 2])

        def key(value: int) -> int:
            doc.root.append(value)
            return value

        with pytest.raises(ValueError, match="edited while it was sorted"):
            doc.root.sort(key=key)
        assert doc.to_python() == [3, 1, 2, 3, 1, 2]

    def test_plus_and_times(self, doc: Document) -> None:
        for found, expected in (
            (doc["a"] + [4], [3, 1, 2, 4]),
            ([4] + doc["a"], [4, 3, 1, 2]),
            (doc["a"] + doc["a"], [3, 1, 2, 3, 1, 2]),
            (doc["a"] * 2, [3, 1, 2, 3, 1, 2]),
            (2 * doc["a"], [3, 1, 2, 3, 1, 2]),
        ):
            assert type(found) is list and found == expected
        for wrong in ((4,), "text", 1, {}):
            with pytest.raises(TypeError):
                doc["a"] + wrong


class TestDicts:
    def test_either(self, doc: Document) -> None:
        for found, expected in (
            (doc["o"] | {"x": 5, "q": 6}, {"x": 5, "y": {"z": 2}, "q": 6}),
            ({"x": 5, "q": 6} | doc["o"], {"x": 1, "q": 6, "y": {"z": 2}}),
            (doc["o"] | doc["o"]["y"], {"x": 1, "y": {"z": 2}, "z": 2}),
        ):
            assert type(found) is dict and found == expected
            assert list(found) == list(expected)
        for wrong in ([], 1, "text", None):
            with pytest.raises(TypeError):
                doc["o"] | wrong

    def test_match(self, doc: Document) -> None:
        match doc.root:
            case {"a": [first, *rest], "o": {"x": x}}:
                assert (first, rest, x) == (3, [1, 2], 1)
            case _:
                pytest.fail("no match")


class TestCopies:
    @pytest.mark.parametrize("key", ["a", "o", "rows"])
    def test_a_view_becomes_a_view_of_a_copy(self, doc: Document, key: str) -> None:
        view = doc[key]
        made = [copy.copy(view), copy.deepcopy(view), view.copy()]
        made += [pickle.loads(pickle.dumps(view, protocol)) for protocol in range(6)]
        for found in made:
            assert type(found) is type(view) and found == view.to_python()
            assert found.document is not doc and found.document.root == found
        made[0].clear()
        assert view == made[1]

    def test_buffers_out_of_band(self, doc: Document) -> None:
        for value in (doc, doc["rows"]):
            buffers: list[pickle.PickleBuffer] = []
            data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
            assert len(buffers) == 1 and len(data) < 200
            assert pickle.loads(data, buffers=buffers) == value.to_python()


class TestEncoding:
    def test_what_python_has(self) -> None:
        for value, expected in (
            (range(3), [0, 1, 2]),
            (collections.deque([1, "a"]), [1, "a"]),
            (types.MappingProxyType({"a": 1}), {"a": 1}),
            (collections.ChainMap({"a": 1}, {"b": [2]}), {"a": 1, "b": [2]}),
            (pathlib.PurePosixPath("/tmp/x"), "/tmp/x"),
        ):
            assert livebuf.loads(livebuf.dumps(value)) == expected
            assert livebuf.loads(livebuf.dumps([value], default=pytest.fail)) == [expected]
        with pytest.raises(livebuf.EncodeError, match="str"):
            livebuf.dumps(types.MappingProxyType({1: 2}))
        for value in ({1}, iter([]), object()):
            with pytest.raises(livebuf.EncodeError):
                livebuf.dumps(value)

    def test_sorted_keys(self) -> None:
        value = {"b": [{"z": 1, "a": {"é": 1, "e": 2}}], "a": None, "": 2, "B": (1, 2)}
        ordered = b'{"":2,"B":[1,2],"a":null,"b":[{"a":{"e":2,"\xc3\xa9":1},"z":1}]}'
        assert livebuf.to_json(value, sort_keys=True) == ordered
        doc = Document.from_python(value)
        assert livebuf.to_json(doc, sort_keys=True) == ordered
        assert livebuf.to_json(doc["b"], sort_keys=True, indent=1).startswith(b'[\n {\n  "a"')
        one, two = ({"a": 1, "b": 2}, {"b": 2, "a": 1})
        assert livebuf.dumps(one) != livebuf.dumps(two)
        assert livebuf.dumps(one, sort_keys=True) == livebuf.dumps(two, sort_keys=True)
        rows = [{"b": n, "a": n} for n in range(50)]
        assert list(livebuf.loads(livebuf.dumps(rows, sort_keys=True))[7]) == ["a", "b"]
        big = {f"k{n % 997}": n for n in range(5000)}
        assert list(livebuf.loads(livebuf.dumps(big, sort_keys=True))) == sorted(big)


class TestNotebooks:
    def test_html(self, doc: Document) -> None:
        doc["<b>"] = "<script>"
        doc["many"] = list(range(1000))
        for value in (doc, doc.root):
            shown = value._repr_html_()
            assert "<script>" not in shown and "&lt;script&gt;" in shown
            assert "980 more" in shown and "<table>" in shown and "<th>id</th>" in shown
        assert len(doc._repr_html_()) < 20_000
        deep: Any = "end"
        for _ in range(50):
            deep = {"in": deep}
        assert len(Document.from_python(deep)._repr_html_()) < 2_000
        assert Document.from_python(7)._repr_html_() == "7"
        assert Document.from_python([])._repr_html_().startswith("<details")

    def test_json(self, doc: Document) -> None:
        assert doc["o"]._repr_json_() == doc["o"].to_python()
        assert doc._repr_json_() == doc.to_python()
        doc["many"] = list(range(50_000))
        assert doc._repr_json_() is None

    def test_rich(self, doc: Document) -> None:
        assert list(doc["a"].__rich_repr__()) == [3, 1, 2]
        assert [key for key, _ in doc["o"].__rich_repr__()] == ["x", "y"]
        assert list(Document.from_python([0] * 50).root.__rich_repr__())[-1] == "… 30 more"

    def test_keys_are_completed(self, doc: Document) -> None:
        assert doc["o"]._ipython_key_completions_() == ["x", "y"]
