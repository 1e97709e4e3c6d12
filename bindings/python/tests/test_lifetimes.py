"""How long views are good, what stops edits, and threads."""

from __future__ import annotations

import gc
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import livebuf
import numpy as np
import pytest
from conftest import LONG
from livebuf import Document, StaleError

VALUE: dict[str, Any] = {
    "a": {"x": [1, 2], "y": {"z": 1}},
    "list": [[0], [1], {"two": [2]}, [3], [4]],
    "rows": [{"id": n, "tags": [n, n]} for n in range(20)],
}


def fresh() -> Document:
    return Document.from_python(VALUE)


def stale(view: Any) -> bool:
    """Whether every way to use a view says that it is stale, and none else does."""
    uses: list[Callable[[], Any]] = [
        lambda: len(view),
        lambda: list(view),
        lambda: view.to_python(),
        lambda: repr(view),
        lambda: livebuf.to_json(view),
        lambda: livebuf.dumps({"v": view}),
        lambda: view == ([12345] if isinstance(view, livebuf.Array) else {"not": "equal"}),
        lambda: view.pointer("/nothing", 0),
    ]
    outcomes = []
    for use in uses:
        try:
            use()
            outcomes.append(False)
        except StaleError as error:
            assert error.kind == "StaleHandle"
            outcomes.append(True)
    assert len(set(outcomes)) == 1, outcomes
    return outcomes[0]


class TestKeepingAlive:
    @pytest.mark.parametrize("make", [bytes, bytearray], ids=lambda make: make.__name__)
    def test_views_keep_the_buffer(self, make: Any) -> None:
        view = Document(make(livebuf.dumps(VALUE)))["a"]["y"]
        gc.collect()
        junk = [bytes(10_000) for _ in range(100)]
        assert view == {"z": 1} and view.document == VALUE
        del junk

    def test_views_keep_the_file(self, tmp_path: Path) -> None:
        livebuf.dump(VALUE, tmp_path / "kept.lbuf")
        view = livebuf.open(tmp_path / "kept.lbuf")["rows"][3]
        (tmp_path / "kept.lbuf").unlink()
        gc.collect()
        assert view == VALUE["rows"][3]

    def test_iterators_tables_and_columns_do(self) -> None:
        rows = iter(fresh()["rows"])
        items = iter(fresh()["a"].items())
        ordered = fresh()["a"].range()
        table = fresh()["rows"].table
        column = fresh()["rows"].table.column("id")
        gc.collect()
        assert [row["id"] for row in rows] == list(range(20))
        assert [key for key, _ in items] == ["x", "y"] == [key for key, _ in ordered]
        assert table.num_rows == 20 and column.to_python() == list(range(20))

    def test_exports_do(self) -> None:
        whole = memoryview(fresh())
        numbers = fresh()["a"]["x"].memoryview()
        array = fresh()["rows"].table.column("id").numpy()
        gc.collect()
        junk = [bytes(10_000) for _ in range(100)]
        assert livebuf.loads(bytes(whole)) == VALUE
        assert numbers.tolist() == [1, 2] and array.tolist() == list(range(20))
        del junk

    def test_nothing_leaks(self) -> None:
        """Views and what they keep are freed when the last one goes."""
        memory = bytearray(livebuf.dumps(VALUE))
        before = sys.getrefcount(memory)
        doc = Document(memory)
        views = [doc["a"], doc["a"]["y"], iter(doc["rows"]), doc["rows"].table, doc.root.keys()]
        views += [np.asarray(doc["a"]["x"]), memoryview(doc), doc["rows"].table.column("id")]
        with pytest.raises(BufferError):
            memory.append(0)
        del doc, views
        gc.collect()
        assert sys.getrefcount(memory) == before
        memory.append(0)


def below(*places: str) -> Callable[[str], bool]:
    """Whether a pointer leads to one of these places or below it."""
    return lambda p: any(p == place or p.startswith(place + "/") for place in places)


def nothing(_: str) -> bool:
    return False


class TestStale:
    """(edit, pointers of views whose element is at another place then, pointers of views that have
    a document of their own then); all others must still show their place."""

    POINTERS = [
        "",
        "/a",
        "/a/x",
        "/a/y",
        "/list",
        "/list/0",
        "/list/1",
        "/list/2",
        "/list/2/two",
        "/list/3",
        "/rows",
        "/rows/2",
        "/rows/2/tags",
        "/rows/5",
        "/rows/5/tags",
        "/rows/19/tags",
    ]

    CASES: list[tuple[str, Callable[[Document], Any], Any, Any]] = [
        ("replaced", lambda d: d.__setitem__("a", 5), nothing, below("/a")),
        (
            "replaced by its like",
            lambda d: d.__setitem__("a", {"x": [1], "y": {}}),
            nothing,
            below("/a"),
        ),
        ("replaced by itself", lambda d: d.__setitem__("a", d["a"]), nothing, below("/a")),
        ("updated", lambda d: d.root.update(a=1, list=2), nothing, below("/a", "/list")),
        ("merged", lambda d: d.root.__ior__({"a": d["list"]}), nothing, below("/a")),
        ("removed", lambda d: d.__delitem__("a"), nothing, below("/a")),
        ("popped", lambda d: d.root.pop("a"), nothing, below("/a")),
        ("popped last", lambda d: d.root.popitem(), nothing, below("/rows")),
        ("cleared", lambda d: d.root.clear(), nothing, lambda p: p != ""),
        ("cleared below", lambda d: d["a"].clear(), nothing, below("/a/x", "/a/y")),
        ("root", lambda d: setattr(d, "root", {"a": {"x": []}}), nothing, lambda p: True),
        ("root by pointer", lambda d: d.set_pointer("", [1]), nothing, lambda p: True),
        ("renamed", lambda d: d.root.rename("a", "b"), below("/a"), nothing),
        (
            "inserted first",
            lambda d: d["list"].insert(0, 1),
            lambda p: p.startswith("/list/"),
            nothing,
        ),
        ("inserted later", lambda d: d["list"].insert(2, 1), below("/list/2", "/list/3"), nothing),
        (
            "element removed",
            lambda d: d["list"].__delitem__(1),
            below("/list/2", "/list/3"),
            below("/list/1"),
        ),
        ("element popped", lambda d: d["list"].pop(2), below("/list/3"), below("/list/2")),
        (
            "element removed by value",
            lambda d: d["list"].remove([1]),
            below("/list/2", "/list/3"),
            below("/list/1"),
        ),
        ("element set", lambda d: d["list"].__setitem__(1, 0), nothing, below("/list/1")),
        (
            "swapped by Python",
            lambda d: exec("a[0], a[2] = a[2], a[0]", {"a": d["list"]}),
            nothing,
            below("/list/0", "/list/2"),
        ),
        ("swapped", lambda d: d["list"].swap(1, 3), below("/list/1", "/list/3"), nothing),
        ("swapped with itself", lambda d: d["list"].swap(1, 1), nothing, nothing),
        (
            "reversed",
            lambda d: d["list"].reverse(),
            below("/list/0", "/list/1", "/list/3"),
            nothing,
        ),
        (
            "array cleared",
            lambda d: d["list"].clear(),
            nothing,
            lambda p: p.startswith("/list/"),
        ),
        (
            "slice set",
            lambda d: d["list"].__setitem__(slice(2, 3), [7, 8]),
            below("/list/3"),
            below("/list/2"),
        ),
        (
            "slice of the same size",
            lambda d: d["list"].__setitem__(slice(0, 2), [7, 8]),
            nothing,
            below("/list/0", "/list/1"),
        ),
        (
            "slice with steps",
            lambda d: d["list"].__setitem__(slice(1, None, 2), [7, 8]),
            nothing,
            below("/list/1", "/list/3"),
        ),
        (
            "slice removed",
            lambda d: d["list"].__delitem__(slice(0, 2)),
            below("/list/2", "/list/3"),
            below("/list/0", "/list/1"),
        ),
        (
            "all of a slice",
            lambda d: d["list"].__setitem__(slice(None), sorted(d["list"], key=repr)),
            nothing,
            lambda p: p.startswith("/list/"),
        ),
        ("row set", lambda d: d["rows"].__setitem__(2, {}), nothing, below("/rows/2")),
        (
            "row removed",
            lambda d: d["rows"].__delitem__(2),
            below("/rows/5", "/rows/19"),
            below("/rows/2"),
        ),
        (
            "row inserted",
            lambda d: d["rows"].insert(5, {"id": 1}),
            below("/rows/5", "/rows/19"),
            nothing,
        ),
        (
            "column value set",
            lambda d: d["rows"][2].__setitem__("tags", [9]),
            nothing,
            below("/rows/2/tags"),
        ),
        ("pointer set", lambda d: d.set_pointer("/a/y", 1), nothing, below("/a/y")),
        ("pointer removed", lambda d: d.remove_pointer("/a/y"), nothing, below("/a/y")),
        (
            "pointer into array",
            lambda d: d.remove_pointer("/list/2"),
            below("/list/3"),
            below("/list/2"),
        ),
        # None of these takes a place away.
        ("set a scalar", lambda d: d["a"]["y"].__setitem__("z", 2), nothing, nothing),
        ("add", lambda d: d.root.update(new={"n": 1}), nothing, nothing),
        ("there already", lambda d: d.root.setdefault("a", {}), nothing, nothing),
        ("append", lambda d: d["list"].append([5]), nothing, nothing),
        ("append a row", lambda d: d["rows"].append({"other": [1]}), nothing, nothing),
        ("grow a row", lambda d: d["rows"][2].update(k1=1, k2={}), nothing, nothing),
        ("insert at the end", lambda d: d["list"].insert(5, [5]), nothing, nothing),
        ("pointer to the end", lambda d: d.set_pointer("/list/-", [5]), nothing, nothing),
        ("compact", lambda d: d.compact(), nothing, nothing),
        ("compact without tables", lambda d: d.compact(tables=False), nothing, nothing),
        ("bytes", lambda d: (bytes(d), d["a"].update(q=1)), nothing, nothing),
        (
            "grow much",
            lambda d: [d.root.update({f"k{n}": {"x": n}}) for n in range(400)],
            nothing,
            nothing,
        ),
        (
            "fail",
            lambda d: pytest.raises(livebuf.Error, lambda: d["a"].rename("x", "y")),
            nothing,
            nothing,
        ),
        (
            "fail to set",
            lambda d: pytest.raises(livebuf.Error, lambda: d.root.update(a={"x": {1}})),
            nothing,
            nothing,
        ),
        ("validate", lambda d: d.validate(), nothing, nothing),
    ]

    @pytest.mark.parametrize(
        ("name", "edit", "shifted", "taken"), CASES, ids=[case[0] for case in CASES]
    )
    @pytest.mark.parametrize("memory", ["own", "shared", "bytearray", "records"])
    def test_rules(self, name: str, edit: Any, shifted: Any, taken: Any, memory: str) -> None:
        doc = fresh()
        if memory == "shared":
            # The first edit moves to other memory.
            held = bytes(doc)
            assert held
        elif memory == "bytearray":
            doc = Document(bytearray(livebuf.dumps(VALUE)))
            doc.validate()
        elif memory == "records":
            doc = Document.from_python(VALUE, tables=False)
        views = {pointer: doc.pointer(pointer) for pointer in self.POINTERS}
        before = {pointer: view.to_python() for pointer, view in views.items()}
        edit(doc)
        for pointer, view in views.items():
            assert not stale(view), f"{pointer} should be good"
            if shifted(pointer):
                assert view.document is doc and view == before[pointer], pointer
            elif taken(pointer):
                assert view.document is not doc, f"{pointer} should be by itself"
                assert view == before[pointer], pointer
                # Edits go to the copy, which is shared by the views of it.
                after = doc.to_python()
                if isinstance(view, livebuf.Array):
                    view.append("more")
                else:
                    view["more"] = "more"
                assert doc == after, pointer
                view.document.validate()
                del view[-1 if isinstance(view, livebuf.Array) else "more"]
            else:
                assert view.document is doc and view == doc.pointer(pointer), pointer
        doc.validate()

    def test_swaps(self) -> None:
        """Bug: `d[0], d[2] = d[2], d[0]` raised StaleError after the first half: the row of the
        place that was set first was lost. Now views of what is replaced keep it."""
        doc = livebuf.from_json('[{"id":1},{"id":2},{"id":3}]')
        doc[0], doc[2] = doc[2], doc[0]
        assert doc == [{"id": 3}, {"id": 2}, {"id": 1}]
        doc = livebuf.from_json('{"a": {"x": [1]}, "b": [2]}')
        doc["a"], doc["b"] = doc["b"], doc["a"]
        assert doc == {"a": [2], "b": {"x": [1]}}
        rows = [{"id": n, "tags": ["t"] * (n % 3)} for n in range(50)]
        doc = Document.from_python({"rows": rows})
        random.Random(1).shuffle(doc["rows"])
        random.Random(1).shuffle(rows)
        assert doc["rows"] == rows
        doc["rows"][:] = sorted(doc["rows"], key=lambda row: row["id"])
        assert doc["rows"].to_python() == sorted(rows, key=lambda row: row["id"])
        doc.validate()

    def test_what_is_taken_stays_together(self) -> None:
        doc = fresh()
        a, x, y = doc["a"], doc["a"]["x"], doc.pointer("/a/y")
        again = doc["a"]
        doc["a"] = {"new": 1}
        # All views of the place share one copy, and so do those below it.
        assert a.document is again.document is x.document is y.document is not doc
        assert a.document.root == a
        x.append(3)
        y["z"] = {"deep": True}
        assert a == again == {"x": [1, 2, 3], "y": {"z": {"deep": True}}}
        assert doc["a"] == {"new": 1}
        # What is taken from a copy goes on by itself again.
        deep = y["z"]
        a["y"] = None
        assert y == {"z": {"deep": True}} and deep.document is y.document is not a.document
        a.clear()
        assert x == [1, 2, 3] and a == again == {}
        # Views of places that were shifted before come along.
        doc = fresh()
        outer, shifted = doc["list"], doc["list"][2]
        two = shifted["two"]
        del doc["list"][0]
        doc["list"] = []
        assert shifted.document is two.document is outer.document is not doc
        assert outer == VALUE["list"][1:] and outer[1]["two"] == [2]
        outer.insert(0, 1)
        two.append(3)
        assert shifted == {"two": [2, 3]} == outer[2]

    def test_only_what_is_viewed_is_copied(self) -> None:
        """Edits without views of what they take cost no memory."""
        import tracemalloc

        doc = Document.from_python({"big": ["x" * 1000] * 3000, "small": [1]})
        doc["big"].append(["y" * 100])
        small, root = doc["small"], doc.root
        tracemalloc.start()
        try:
            doc["big"] = None
            assert tracemalloc.get_traced_memory()[1] < 100_000
            texts = ["x" * 10 + str(n) for n in range(100_000)]
            # Once without a view: then the document itself has all the memory that it needs.
            root["big"] = texts
            root["big"] = None
            root["big"] = texts
            big = root["big"]
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            root["big"] = None
            assert tracemalloc.get_traced_memory()[1] - before > 1_000_000
            assert big[99_999] == "x" * 10 + "99999"
            del big
            assert tracemalloc.get_traced_memory()[0] - before < 100_000
        finally:
            tracemalloc.stop()
        assert small == [1]

    def test_taken_from_a_document_that_is_closed(self) -> None:
        doc = fresh()
        view, kept = doc["a"], doc["list"]
        doc["a"] = 1
        doc.close()
        assert view == VALUE["a"]
        with pytest.raises(livebuf.ClosedError):
            len(kept)

    def test_refused_edits_take_nothing(self) -> None:
        doc = Document(memoryview(bytearray(livebuf.dumps({"a": [1], "b": 1}))))
        view = doc["a"]
        with pytest.raises(livebuf.LimitError):
            doc["a"] = "x" * 1000
        assert view.document is doc and doc["a"] == view == [1]
        stored = Document(livebuf.dumps({"a": [1]}))
        view = stored["a"]
        with pytest.raises(livebuf.ReadOnlyError):
            stored["a"] = 1
        assert view.document is stored and view == [1]

    def test_iterators_go_on_over_what_is_taken(self) -> None:
        doc = Document.from_python({"o": {f"k{n}": n for n in range(300)}, "l": list(range(300))})
        del doc["o"]["k7"]
        keys = [key for key in doc["o"]]
        for edit in (lambda d: d.__setitem__("o", {}), lambda d: d.compact()):
            for taken in (0, 1, 7, 8, 9, 100, 298):
                copy = doc.copy()
                items, elements = iter(copy["o"].items()), iter(copy["l"])
                seen = [next(items)[0] for _ in range(taken)]
                numbers = [next(elements) for _ in range(taken)]
                edit(copy)
                copy["l"] = None
                assert seen + [key for key, _ in items] == keys
                assert numbers + list(elements) == list(range(300))

    def test_arrays_by_brute_force(self, chance: random.Random) -> None:
        """Bug: slices of the same size, steps and swaps made views stale that had not moved."""
        for _ in range(1500):
            model: list[Any] = [[n] for n in range(chance.randrange(1, 9))]
            doc = Document.from_python(model)
            array = doc.root
            views = [(index, array[index], model[index]) for index in range(len(model))]
            done = []
            for _ in range(chance.randrange(1, 3)):
                part = slice(
                    chance.choice([None, *range(-9, 10)]),
                    chance.choice([None, *range(-9, 10)]),
                    chance.choice([None, 1, 2, -1, -2]),
                )
                index = chance.randrange(-9, 10)
                kind = chance.choice(["set", "delete", "insert", "swap", "reverse", "one", "less"])
                done.append((kind, part, index))
                if kind == "set":
                    count = len(range(*part.indices(len(model))))
                    if part.step in (None, 1) and chance.random() < 0.5:
                        count = chance.randrange(4)
                    array[part] = [0] * count
                    model[part] = [0] * count
                elif kind == "delete":
                    del array[part], model[part]
                elif kind == "insert":
                    array.insert(index, 0)
                    model.insert(index, 0)
                elif kind == "swap" and -len(model) <= index < len(model):
                    array.swap(index, 0)
                    model[index], model[0] = model[0], model[index]
                elif kind == "reverse":
                    array.reverse()
                    model.reverse()
                elif kind == "one" and -len(model) <= index < len(model):
                    array[index] = 0
                    model[index] = 0
                elif kind == "less" and -len(model) <= index < len(model):
                    del array[index], model[index]
            assert array == model, done
            for place, view, shown in views:
                assert view == shown, (done, place)
                # It follows its element, or was taken.
                assert (view.document is doc) == any(item is shown for item in model)

    def test_stale_views_cannot_edit(self) -> None:
        doc = fresh()
        with doc.transaction() as changes:
            doc["a"] = {"x": [7], "y": {"z": 7}}
            x, y = doc["a"]["x"], doc["a"]["y"]
            changes.rollback()
        for edit in (
            lambda: x.append(1),
            lambda: x.clear(),
            lambda: x.__setitem__(0, 1),
            lambda: x.__delitem__(0),
            lambda: x.insert(0, 1),
            lambda: x.pop(),
            lambda: x.extend([1]),
            lambda: x.reverse(),
            lambda: y.__setitem__("z", 1),
            lambda: y.__delitem__("z"),
            lambda: y.update(z=1),
            lambda: y.pop("z"),
            lambda: y.popitem(),
            lambda: y.clear(),
            lambda: y.rename("z", "w"),
            lambda: y.setdefault("q", 1),
        ):
            with pytest.raises(StaleError):
                edit()
        assert doc == VALUE

    def test_key_that_looks_like_the_end_of_an_array(self) -> None:
        """Bug: views under the key "-" were not told that it was replaced."""
        doc = Document.from_python({"-": {"a": 1}, "list": [{"a": 1}]})
        view, element = doc["-"], doc["list"][0]
        doc.set_pointer("/-", {"b": 2})
        assert view == {"a": 1} and view.document is not doc
        doc.set_pointer("/list/-", {"b": 2})
        assert element == {"a": 1}

    def test_stale_stays_stale(self) -> None:
        doc = fresh()
        history = doc.history()
        doc["a"]["y"]["z"] = 2
        view = doc["a"]["y"]
        history.undo()
        doc.compact()
        assert stale(view) and not stale(doc["a"]["y"])

    def test_places_that_come_back(self) -> None:
        doc = Document.from_python({"list": [[0], [1]]})
        view = doc["list"][1]
        doc["list"].insert(0, [9])
        assert view == [1]
        del doc["list"][0]
        assert view == [1] and view.document is doc

    def test_views_of_views_that_are_gone(self) -> None:
        doc = fresh()
        above = doc["a"]
        below = above["y"]
        del above
        doc["list"].insert(0, 1)
        doc.compact()
        below["z"] = 5
        assert doc["a"]["y"]["z"] == 5
        del doc["a"]["y"]
        below["w"] = 6
        assert below == {"z": 5, "w": 6} and doc["a"] == {"x": [1, 2]}

    def test_iterators_follow(self) -> None:
        doc = fresh()
        rows, items = iter(doc["list"]), iter(doc["a"].items())
        next(rows), next(items)
        doc.root.rename("list", "other")
        doc.root.rename("a", "b")
        assert list(rows) == VALUE["list"][1:] and [key for key, _ in items] == ["y"]

    def test_more_edits_than_are_remembered(self) -> None:
        doc = fresh()
        used, unused, gone = doc["a"]["y"], doc["list"][4], doc["rows"][3]
        del doc["rows"][3]
        for n in range(6000):
            doc["rows"].insert(0, {"id": n})
            del doc["rows"][0]
            if n % 1000 == 0:
                assert used == {"z": 1}
        assert used == {"z": 1}
        assert gone == VALUE["rows"][3]
        assert unused == [4] and unused.document is doc
        assert doc == {**VALUE, "rows": VALUE["rows"][:3] + VALUE["rows"][4:]}

    def test_many_edits_elsewhere(self) -> None:
        """Bug: any 4,096 edits made a view stale that was not used meanwhile."""
        doc = fresh()
        view, idle = doc["a"]["y"], doc["rows"][3]
        for n in range(6000):
            doc["list"][n % 5] = {"n": n}
            view["z"] = n
        assert doc["a"]["y"]["z"] == 5999
        assert idle == VALUE["rows"][3] and idle.document is doc

    def test_many_views(self) -> None:
        doc = Document.from_python({"rows": [{"n": [n]} for n in range(3000)]})
        views = [row["n"] for row in doc["rows"]]
        doc["rows"].append({"n": []})
        del doc["rows"][1500]
        for index, view in enumerate(views):
            assert view == [index] and (view.document is doc) == (index != 1500)


class TestExports:
    """While somebody looks at the bytes, edits raise ExportedError, a BufferError."""

    EDITS: list[Callable[[Document], Any]] = [
        lambda d: d.__setitem__("new", 1),
        lambda d: d["numbers"].__setitem__(0, 5),
        lambda d: d["numbers"].append(5),
        lambda d: d["numbers"].clear(),
        lambda d: d.root.popitem(),
        lambda d: d.compact(),
        lambda d: setattr(d, "root", 5),
        lambda d: d.set_pointer("/numbers/0", 5),
        lambda d: d.remove_pointer("/numbers/0"),
        lambda d: d["rows"][0].__setitem__("id", 5),
    ]

    EXPORTS: dict[str, Callable[[Document], Any]] = {
        "memoryview": lambda d: memoryview(d),
        "memoryview of numbers": lambda d: d["numbers"].memoryview(),
        "numpy": lambda d: d["numbers"].numpy(narrow=True),
        "numpy.asarray": lambda d: np.asarray(d["numbers"], copy=False),
        "writable numpy": lambda d: d["numbers"].numpy(writable=True, narrow=True),
        "column": lambda d: d["rows"].table.column("id").numpy(narrow=True),
        "slice of numpy": lambda d: d["numbers"].numpy(narrow=True)[2:5][::2],
        "stream": lambda d: d["rows"].table.__arrow_c_stream__(),
    }

    def document(self, memory: str) -> Document:
        value = {
            "numbers": list(range(100)),
            "rows": [{"id": n, "half": n / 2} for n in range(100)],
        }
        doc = Document.from_python(value, min_width=8)
        if memory == "bytearray":
            doc = Document(bytearray(bytes(doc)))
            doc.validate()
        return doc

    @pytest.mark.parametrize("memory", ["own", "bytearray"])
    @pytest.mark.parametrize("export", EXPORTS)
    def test_edits_wait(self, export: str, memory: str) -> None:
        doc = self.document(memory)
        before = doc.to_python()
        exported = self.EXPORTS[export](doc)
        for edit in self.EDITS:
            with pytest.raises(livebuf.ExportedError) as caught:
                edit(doc)
            assert isinstance(caught.value, BufferError)
        with pytest.raises(livebuf.ExportedError):
            doc.close()
        assert doc == before and not doc.closed
        doc.validate()
        assert livebuf.loads(bytes(doc)) == before
        assert doc.copy() == doc
        del exported
        gc.collect()
        for edit in self.EDITS:
            fresh = doc.copy()
            edit(fresh)
            fresh.validate()
        self.EDITS[0](doc)
        doc.close()

    def test_each_export_counts(self) -> None:
        doc = self.document("own")
        exports = [memoryview(doc) for _ in range(5)] + [doc["numbers"].memoryview()]
        while exports:
            with pytest.raises(livebuf.ExportedError):
                doc["new"] = 1
            exports.pop().release()
        doc["new"] = 1

    def test_release(self) -> None:
        doc = self.document("own")
        with doc["numbers"].memoryview() as view:
            assert view[3] == 3
            with pytest.raises(BufferError):
                doc["numbers"].append(1)
        doc["numbers"].append(1)

    def test_context_managers_say_so(self) -> None:
        exported = None
        with pytest.raises(livebuf.ExportedError):
            with self.document("own") as doc:
                exported = memoryview(doc)
        assert not doc.closed and exported is not None
        exported.release()
        doc.close()

    def test_copies_are_free(self) -> None:
        doc = self.document("own")
        copies = [
            doc["numbers"].numpy(copy=True),
            doc["numbers"].numpy(copy=True, writable=True),
            doc["rows"].table.column("half").numpy(copy=True),
        ]
        stream = doc["rows"].table.with_options(copy=True).__arrow_c_stream__()
        doc["numbers"][0] = 77
        doc["rows"][0]["half"] = 77.5
        doc["new"] = "x" * 10_000
        assert copies[0][0] == copies[1][0] == 0 and copies[2][0] == 0.0
        copies[1][0] = 5
        assert doc["numbers"][0] == 77
        del stream

    def test_failed_exports_do_not_count(self) -> None:
        doc = Document.from_python({"mixed": [1, "x"], "none": []})
        for action in (
            lambda: doc["mixed"].memoryview(),
            lambda: doc["mixed"].numpy(),
            lambda: np.asarray(doc["mixed"]).tolist() and doc["mixed"].memoryview(),
        ):
            with pytest.raises((BufferError, TypeError)):
                action()
        doc["new"] = 1

    def test_reading_goes_on(self) -> None:
        doc = self.document("own")
        with memoryview(doc):
            assert doc["numbers"][5] == 5 and doc["rows"][5] == {"id": 5, "half": 2.5}
            assert len(doc["rows"].table.column("id").filter(0, 9)) == 10
            assert livebuf.to_json(doc["numbers"]).startswith(b"[0,1")

    def test_writable_needs_editable(self) -> None:
        doc = Document(livebuf.dumps([1, 2, 3], min_width=8))
        with pytest.raises((livebuf.ReadOnlyError, livebuf.WrongTypeError)):
            doc.root.numpy(writable=True, narrow=True)
        assert not doc.root.numpy(narrow=True).flags.writeable
        with pytest.raises(ValueError):
            doc.root.numpy(narrow=True)[0] = 5


def run(workers: list[Callable[[], None]]) -> None:
    """Runs them all at once; raises what the first that failed did."""
    failures: list[BaseException] = []
    start = threading.Barrier(len(workers))

    def guarded(work: Callable[[], None]) -> None:
        try:
            start.wait(30)
            work()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in workers]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive(), "a thread hangs"
    finally:
        sys.setswitchinterval(before)
    if failures:
        raise failures[0]


class TestThreads:
    def test_readers(self) -> None:
        doc = Document.from_python(VALUE)
        shared = doc["rows"]

        def read() -> None:
            for _ in range(30):
                assert [row["id"] for row in shared] == list(range(20))
                assert doc.to_python() == VALUE
                assert doc["a"]["y"]["z"] == 1

        run([read] * 8)

    @pytest.mark.parametrize("kind", ["to_json", "digest", "to_python", "iterate"])
    def test_nobody_starves(self, kind: str) -> None:
        """Bug: who worked detached took the lock again before those that waited for it could
        run: one of 8 readers made thousands of calls, the others one, the editor none."""
        rows = [{"id": n, "name": f"row {n}"} for n in range(2000)]
        doc = Document.from_python({"rows": rows, "n": 0})
        counts = [0] * 9
        wanted, deadline = 10, time.monotonic() + 60

        def work(number: int) -> Callable[[], None]:
            def step() -> None:
                if number == 8:
                    doc["n"] += 1
                    doc["rows"][counts[8] % 2000]["name"] = "x" * (counts[8] % 30)
                elif kind == "to_json":
                    livebuf.to_json(doc)
                elif kind == "digest":
                    doc.digest()
                elif kind == "to_python":
                    doc["rows"].to_python()
                else:
                    assert sum(row["id"] for row in doc["rows"]) == sum(range(2000))

            def loop() -> None:
                # Who is done goes on, in the way of the others.
                while min(counts) < wanted:
                    step()
                    counts[number] += 1
                    assert time.monotonic() < deadline, counts

            return loop

        threads = [threading.Thread(target=work(number), daemon=True) for number in range(9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(90)
        assert min(counts) >= wanted, counts
        doc.validate()

    def test_views_that_others_take(self) -> None:
        """Threads replace, swap and sort what others look at and edit: each view goes on in
        the document or in a copy, or is stale; each document stays whole."""
        doc = Document.from_python([{"id": n, "at": {"x": [n]}} for n in range(30)])
        ended = time.monotonic() + (20 if LONG else 2)

        def swap(seed: int) -> Callable[[], None]:
            def work() -> None:
                chance = random.Random(seed)
                while time.monotonic() < ended:
                    one, other = chance.randrange(30), chance.randrange(30)
                    doc[one], doc[other] = doc[other], doc[one]
                    if chance.random() < 0.05:
                        doc.root[:] = sorted(doc.root, key=lambda row: -row["id"])
                    if chance.random() < 0.05:
                        livebuf.to_json(doc)

            return work

        def look(seed: int) -> Callable[[], None]:
            def work() -> None:
                chance = random.Random(seed)
                while time.monotonic() < ended:
                    row = doc[chance.randrange(30)]
                    at, x = row["at"], row["at"]["x"]
                    x.append(1)
                    x.pop()
                    assert len(x) >= 1 and at.keys() == {"x"}
                    row["at"] = {"x": [row["id"]]}
                    assert at["x"][0] == x[0]
                    row.document.validate()

            return work

        run([swap(1), swap(2), look(3), look(4), look(5)])
        doc.validate()
        assert len(doc) == 30 and all(row["at"].keys() == {"x"} for row in doc)

    def test_each_writes_its_own_key(self) -> None:
        doc = Document.from_python({str(n): [] for n in range(8)})

        def write(name: str) -> Callable[[], None]:
            def work() -> None:
                for n in range(300):
                    doc[name].append(n)
                    doc[name + "x"] = "y" * (n % 50)

            return work

        run([write(str(n)) for n in range(8)])
        doc.validate()
        for n in range(8):
            assert doc[str(n)] == list(range(300)) and doc[f"{n}x"] == "y" * 49

    def test_all_append_to_one(self) -> None:
        for memory in (bytearray(livebuf.dumps([])), None):
            doc = Document(memory) if memory is not None else Document.from_python([])

            def write(doc: Document = doc) -> None:
                for n in range(300):
                    doc.root.append(n)

            run([write] * 6)
            assert sorted(doc.to_python()) == sorted(list(range(300)) * 6)
            doc.validate()

    def test_readers_beside_writers(self) -> None:
        doc = Document.from_python({"pair": [0, 0], "text": "0", "big": {}})
        done = threading.Event()
        seen = [0]

        def write() -> None:
            try:
                for n in range(400):
                    doc.root.update(pair=[n, n], text=str(n) * 20)
                    doc["big"][f"key {n}"] = {"n": n}
            finally:
                done.set()

        def read() -> None:
            while not done.is_set():
                try:
                    first, second = doc["pair"].to_python()
                    assert first == second
                    seen[0] += 1
                    text = doc["text"]
                    assert text == text[: len(text) // 20] * 20 or text == "0"
                    for key, value in doc["big"].items():
                        assert key == f"key {value['n']}"
                except (StaleError, RuntimeError):
                    pass

        run([write, read, read, read])
        assert seen[0] > 0 and doc["pair"] == [399, 399] and len(doc["big"]) == 400
        doc.validate()

    def test_exports_beside_writers(self) -> None:
        doc = Document.from_python({"numbers": [7] * 64, "n": 0}, min_width=8)
        refused = [0]

        def write() -> None:
            for n in range(500):
                try:
                    doc["n"] = n
                    doc["numbers"] = [n] * 64
                except livebuf.ExportedError:
                    refused[0] += 1

        def export() -> None:
            for _ in range(500):
                try:
                    numbers = doc["numbers"].numpy()
                except StaleError:
                    continue
                assert len(set(numbers.tolist())) == 1
                del numbers

        run([write, write, export, export])
        doc["numbers"] = []
        doc.validate()

    def test_closing_beside_readers(self) -> None:
        for _ in range(20):
            doc = fresh()

            def read(doc: Document = doc) -> None:
                try:
                    while True:
                        assert doc["a"]["y"]["z"] == 1
                except livebuf.ClosedError:
                    pass

            run([read, read, doc.close])

    def test_documents_that_take_from_each_other(self) -> None:
        """No order of locks: each assigns views of the other."""
        one, other = fresh(), fresh()

        def take(into: Document, source: Document) -> Callable[[], None]:
            def work() -> None:
                for _ in range(100):
                    into["copy"] = source["a"]
                    assert into["copy"] == source["a"]
                    assert (into == source) in (True, False)

            return work

        run([take(one, other), take(other, one)])
        assert one == other

    def test_waiting_for_long_work(self) -> None:
        """Readers and writers beside work that holds the document, but not the interpreter."""
        rows = [{"id": n, "text": f"text number {n}"} for n in range(10_000)]
        doc = Document.from_python({"n": 0, "rows": rows})

        def work_long() -> None:
            for _ in range(15):
                doc.validate()
                assert livebuf.from_json(livebuf.to_json(doc))["rows"][9_999]["id"] == 9_999
                doc.compact()
                assert len(doc.digest()) == 32

        def write() -> None:
            for n in range(500):
                doc["n"] = n
                doc["rows"][n]["id"] = n

        def read() -> None:
            for n in range(500):
                assert 0 <= doc["n"] < 500
                assert doc["rows"][n]["text"] == f"text number {n}"

        run([work_long, work_long, write, write, read, read])
        doc.validate()
        assert doc["n"] == 499 and doc["rows"] == rows

    def test_long_work_lets_other_threads_run(self) -> None:
        """Another thread counts while a big document is validated and printed. Were the
        interpreter held, with a switch interval of a minute the count would stand still."""
        doc = Document.from_python([{"id": n, "text": f"text number {n}"} for n in range(200_000)])
        payload = livebuf.to_json(doc)
        works: dict[str, Callable[[], Any]] = {
            "validate": doc.validate,
            "to_json": lambda: livebuf.to_json(doc),
            "from_json": lambda: livebuf.from_json(payload),
            "digest": doc.digest,
            "compact": doc.compact,
        }
        for name, work in works.items():
            # To validate takes two milliseconds, in which a busy machine may run no other thread.
            assert any(self.counted(work) > 0 for _ in range(50)), name
        # It would be seen: a power of integers holds the interpreter.
        assert self.counted(lambda: pow(3, 500_000)) == 0

    def counted(self, work: Callable[[], Any]) -> int:
        """How far another thread counts meanwhile."""
        count = [0]
        stop = threading.Event()

        def counter() -> None:
            while not stop.is_set():
                count[0] += 1
                time.sleep(0)  # gives the interpreter to whoever waits for it

        thread = threading.Thread(target=counter, daemon=True)
        before = sys.getswitchinterval()
        sys.setswitchinterval(60)
        try:
            thread.start()
            while count[0] < 3:
                time.sleep(0.001)
            start = count[0]
            work()
            return count[0] - start
        finally:
            stop.set()
            sys.setswitchinterval(before)
            thread.join(60)
