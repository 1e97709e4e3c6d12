"""Views behave as dicts and lists do: each test does the same to both."""

from __future__ import annotations

import collections
import itertools
import random
import re
from collections.abc import (
    Hashable,
    ItemsView,
    KeysView,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
    ValuesView,
)
from typing import Any

import livebuf
import pytest
from conftest import LONG


def list_of(items: list[Any]) -> livebuf.Array:
    view = livebuf.Document.from_python(items).root
    assert isinstance(view, livebuf.Array)
    return view


def dict_of(items: dict[str, Any]) -> livebuf.Object:
    view = livebuf.Document.from_python(items).root
    assert isinstance(view, livebuf.Object)
    return view


def outcome(action: Any, *arguments: Any) -> Any:
    """What an action gives, or the built-in class of what it raises."""
    try:
        result = action(*arguments)
    except (IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
        known = (IndexError, KeyError, TypeError, ValueError, RuntimeError)
        return next(found for found in known if isinstance(error, found))
    return result.to_python() if isinstance(result, (livebuf.Array, livebuf.Object)) else result


def same_edit(view: Any, model: Any, action: Any) -> None:
    """Does it to both: the same outcome, and the same value afterwards."""
    assert outcome(action, view) == outcome(action, model)
    assert view == model and view.to_python() == model
    if isinstance(model, dict):
        assert list(view) == list(model)
    view.document.validate()


# Numbers, texts, a mix, and rows: arrays that are stored in different ways.
ARRAYS: list[list[Any]] = [
    [],
    [7],
    list(range(7)),
    [n / 2 for n in range(7)],
    [f"text number {n}" for n in range(7)],
    [1, "two", None, True, 5.5, [6], {"seven": 7}],
    [{"a": n, "b": str(n)} for n in range(7)],
    [[n] * n for n in range(7)],
]
array_kinds = pytest.mark.parametrize("items", ARRAYS, ids=lambda items: repr(items)[:16])

BOUNDS = [None, 0, 1, 3, 6, 7, 8, 100, -1, -3, -7, -8, -100]
STEPS = [None, 1, 2, 3, 100, -1, -2, -3, -100]


class TestArrays:
    @array_kinds
    def test_get_index(self, items: list[Any]) -> None:
        view = list_of(items)
        for index in range(-10, 10):
            assert outcome(lambda a, i=index: a[i], view) == outcome(lambda a, i=index: a[i], items)
        for index in (2**31, 2**62, -(2**62)):
            assert outcome(lambda a, i=index: a[i], view) is IndexError
        for wrong in ("1", 1.0, None, (1,), b"1"):
            assert outcome(lambda a, i=wrong: a[i], view) is TypeError

    def test_index_beyond_any_size(self) -> None:
        """Bug: TypeError "an index or slice is wanted, not int"."""
        for index in (2**63, 2**70, -(2**70)):
            with pytest.raises(IndexError):
                list_of([1])[index]

    def test_index_objects(self) -> None:
        class Index:
            def __index__(self) -> int:
                return -1

        assert list_of([1, 2])[Index()] == 2
        assert list_of([1, 2])[True] == 2

    @array_kinds
    def test_get_slice(self, items: list[Any]) -> None:
        view = list_of(items)
        for start, stop, step in itertools.product(BOUNDS, BOUNDS, STEPS):
            part = slice(start, stop, step)
            found = view[part]
            assert type(found) is list and found == items[part]
        with pytest.raises(ValueError):
            view[::0]

    @array_kinds
    def test_delete_slice(self, items: list[Any]) -> None:
        for start, stop, step in itertools.product(BOUNDS[::2], BOUNDS[1::2], STEPS):
            view, model = list_of(items), list(items)
            part = slice(start, stop, step)
            same_edit(view, model, lambda a, part=part: a.__delitem__(part))

    @array_kinds
    def test_set_slice(self, items: list[Any]) -> None:
        chance = random.Random(7)
        shapes = list(itertools.product(BOUNDS, BOUNDS, STEPS))
        for start, stop, step in shapes if LONG else chance.sample(shapes, 150):
            view, model = list_of(items), list(items)
            part = slice(start, stop, step)
            count = chance.choice([0, 1, 2, 5, len(range(*part.indices(len(items))))])
            new = [chance.choice([1, "x" * 20, None, [1], {"a": 1}]) for _ in range(count)]
            same_edit(view, model, lambda a, part=part, new=new: a.__setitem__(part, new))

    def test_set_slice_from_iterables(self) -> None:
        view, model = list_of([1, 2, 3]), [1, 2, 3]
        same_edit(view, model, lambda a: a.__setitem__(slice(1, 1), (n for n in "ab")))
        same_edit(view, model, lambda a: a.__setitem__(slice(None), range(5)))
        same_edit(view, model, lambda a: a.__setitem__(slice(0, 2), a))
        same_edit(view, model, lambda a: a.__setitem__(slice(None, None, -1), a))
        assert outcome(lambda a: a.__setitem__(slice(0, 1), 5), view) is TypeError

    def test_failed_slices_change_nothing(self) -> None:
        view = list_of([1, "two", 3])
        with pytest.raises(livebuf.EncodeError):
            view[0:2] = ["new", object()]
        with pytest.raises(livebuf.EncodeError):
            view.extend([4, {1}])
        with pytest.raises(ValueError):
            view[::2] = [1]
        assert view == [1, "two", 3]

    def test_slices_without_room_change_nothing(self) -> None:
        """Bug: elements were replaced until the room ran out."""
        fixed = memoryview(bytearray(livebuf.dumps([1, "x"])))
        view = livebuf.Document(fixed).root
        with pytest.raises(livebuf.Error):
            view[0:1] = ["yyyyy", "long" * 50, "z"]
        assert view == [1, "x"]
        with pytest.raises(livebuf.Error):
            view.extend([5, 6, "long" * 100])
        assert view == [1, "x"]

    @array_kinds
    def test_edits(self, items: list[Any]) -> None:
        view, model = list_of(items), list(items)
        edits: list[Any] = [
            lambda a: a.append("end"),
            lambda a: a.append({"a": {"b": [1]}}),
            lambda a: a.insert(0, None),
            lambda a: a.insert(-1, 2.5),
            lambda a: a.insert(100, [1, 2]),
            lambda a: a.insert(-100, "first"),
            lambda a: a.extend([1, 2]),
            lambda a: a.extend(a),
            lambda a: a.extend(()),
            lambda a: a.__iadd__((3, 4)) and None,
            lambda a: a.__imul__(3) and None,
            lambda a: a.__imul__(1) and None,
            lambda a: a.__imul__(-1) and None,
            lambda a: a.pop(),
            lambda a: a.pop(0),
            lambda a: a.pop(-2),
            lambda a: a.pop(100),
            lambda a: a.__setitem__(0, {"x": 1}),
            lambda a: a.__setitem__(-1, "last"),
            lambda a: a.__setitem__(100, 0),
            lambda a: a.__delitem__(1),
            lambda a: a.__delitem__(-1),
            lambda a: a.__delitem__(100),
            lambda a: a.reverse(),
            lambda a: a.remove("first"),
            lambda a: a.remove("not there"),
            lambda a: a.clear(),
            lambda a: a.pop(),
            lambda a: a.append(1),
        ]
        for edit in edits:
            same_edit(view, model, edit)

    @array_kinds
    def test_searching(self, items: list[Any]) -> None:
        view = list_of(items)
        for wanted in [*items, "not there", 2.5, None, 1 == 1]:
            assert (wanted in view) == (wanted in items)
            assert view.count(wanted) == items.count(wanted)
            assert outcome(view.index, wanted) == outcome(items.index, wanted)
            for start, stop in itertools.product([0, 2, -3, 100], [1, 5, -1, 100]):
                assert outcome(view.index, wanted, start, stop) == outcome(
                    items.index, wanted, start, stop
                )

    @array_kinds
    def test_iteration(self, items: list[Any]) -> None:
        view = list_of(items)
        assert list(view) == items
        assert list(reversed(view)) == list(reversed(view.document)) == items[::-1]
        assert [found == item for found, item in zip(view, items, strict=True)] == [True] * len(
            items
        )
        iterator = iter(view)
        assert iter(iterator) is iterator
        assert len(view) == len(items) and bool(view) == bool(items)

    def test_long_iteration(self) -> None:
        for items in (list(range(1000)), [str(n) for n in range(1000)], [[n] for n in range(300)]):
            assert list(list_of(items)) == items
        mixed = [n if n % 3 else [n] for n in range(500)]
        assert list(list_of(mixed)) == mixed

    def test_iteration_of_a_growing_array(self) -> None:
        view, model = list_of([1, 2]), [1, 2]
        for both in (view, model):
            for item in both:
                if len(both) < 200:
                    both.append(item + 1)
        assert view == model

    def test_iteration_of_an_array_that_was_cleared(self) -> None:
        view = list_of([[n] for n in range(20)])
        seen = 0
        for _ in view:
            seen += 1
            if seen == 3:
                view.clear()
        assert seen <= 4

    def test_swap(self) -> None:
        view = list_of([{"a": 1}, 2, "three", [4]])
        view.swap(0, -1)
        assert view == [[4], 2, "three", {"a": 1}]
        with pytest.raises(IndexError):
            view.swap(0, 4)

    def test_match(self) -> None:
        match list_of([1, [2, 3], {"k": "v"}]):
            case [1, [2, third], {"k": value}]:
                assert (third, value) == (3, "v")
            case _:
                pytest.fail("no match")


OBJECTS: list[dict[str, Any]] = [
    {},
    {"a": 1},
    {"b": 1, "a": [1, 2], "c": {"d": None}, "": "empty key", "é": 2.5},
    {f"key {n}": n for n in range(100)},
    {f"key {n:04}": {"n": n} for n in range(400)},
]
object_kinds = pytest.mark.parametrize("items", OBJECTS, ids=lambda items: f"{len(items)} members")


class TestObjects:
    @object_kinds
    def test_reading(self, items: dict[str, Any]) -> None:
        view = dict_of(items)
        for key in [*items, "not there", "key"]:
            assert outcome(lambda o, k=key: o[k], view) == outcome(lambda o, k=key: o[k], items)
            assert (key in view) == (key in items)
            assert outcome(view.get, key) == outcome(items.get, key)
            assert outcome(view.get, key, "default") == outcome(items.get, key, "default")
        assert len(view) == len(items) and bool(view) == bool(items)
        assert list(view) == list(items)
        assert list(reversed(view)) == list(reversed(items))
        assert list(view.keys()) == list(items)
        assert list(view.values()) == list(items.values())
        assert list(view.items()) == list(items.items())
        for name in "keys", "values", "items":
            found, wanted = getattr(view, name)(), getattr(items, name)()
            assert list(reversed(found)) == list(reversed(wanted))
            assert list(reversed(getattr(view.document, name)())) == list(reversed(wanted))
        assert list(reversed(view.document)) == list(reversed(items))
        assert dict(view) == items and {**view} == items

    def test_members_that_go_while_they_are_reversed(self) -> None:
        view = dict_of({"a": 1, "b": {"n": 2}, "c": 3, "d": 4})
        members = reversed(view.items())
        assert next(members) == ("d", 4)
        del view["c"]
        view["b"]["n"] = 5
        assert list(members) == [("b", {"n": 5}), ("a", 1)]

    def test_keys_of_other_types(self) -> None:
        view = dict_of({"1": 1})
        for wrong in (1, None, b"1", 1.0, ("1",)):
            assert wrong not in view
            with pytest.raises((KeyError, TypeError)):
                view[wrong]  # type: ignore[index]
            with pytest.raises(TypeError):
                view[wrong] = 1  # type: ignore[index]

    def test_keys_with_half_a_surrogate_pair(self) -> None:
        """Bug: UnicodeEncodeError, also from `in`."""
        view = dict_of({"a": 1})
        assert "\ud800" not in view
        assert view.get("\ud800", 5) == 5
        with pytest.raises(KeyError):
            view["\ud800"]
        with pytest.raises(livebuf.Error):
            view["\ud800"] = 1
        assert view == {"a": 1}

    @object_kinds
    def test_edits(self, items: dict[str, Any]) -> None:
        view, model = dict_of(items), dict(items)
        edits: list[Any] = [
            lambda o: o.__setitem__("new", 1),
            lambda o: o.__setitem__("a", {"deep": [1, {"er": 2}]}),
            lambda o: o.__setitem__("new", "a text that is longer"),
            lambda o: o.__delitem__("not there"),
            lambda o: o.setdefault("new", 5),
            lambda o: o.setdefault("default", [1]),
            lambda o: o.setdefault("nothing"),
            lambda o: o.pop("a"),
            lambda o: o.pop("a", "default"),
            lambda o: o.pop("a"),
            lambda o: o.update({"u": 1, "new": 2}, named=3),
            lambda o: o.update([("u", 5), ("v", 6)]),
            lambda o: o.update(),
            lambda o: o.update(w={"x": 1}),
            lambda o: o.update(o),
            lambda o: o.popitem(),
            lambda o: o.__delitem__("new"),
            lambda o: o.__setitem__("x" * 300, 1),
            lambda o: o.popitem(),
            lambda o: o.clear(),
            lambda o: o.popitem(),
            lambda o: o.__setitem__("again", 1),
        ]
        for edit in edits:
            same_edit(view, model, edit)

    def test_views_of_members_follow_edits(self) -> None:
        view = dict_of({"a": 1, "b": 2})
        keys, values, items = view.keys(), view.values(), view.items()
        assert isinstance(keys, KeysView) and isinstance(values, ValuesView)
        assert isinstance(items, ItemsView)
        view["c"] = 3
        assert (list(keys), list(values), list(items)) == (
            ["a", "b", "c"],
            [1, 2, 3],
            [("a", 1), ("b", 2), ("c", 3)],
        )
        assert len(keys) == len(values) == len(items) == 3
        assert "c" in keys and 3 in values and ("c", 3) in items and ("c", 4) not in items
        assert keys & {"a", "z"} == {"a"} and keys | {"z"} == {"a", "b", "c", "z"}
        assert keys - {"a"} == {"b", "c"} and keys == {"a", "b", "c"}

    @pytest.mark.parametrize("size", [1, 5, 8, 9, 70, 500])
    @pytest.mark.parametrize("part", ["keys", "values", "items"])
    def test_size_that_changes_during_iteration(self, size: int, part: str) -> None:
        """Bug: it went unnoticed for members that were read ahead."""
        for change in (lambda o: o.popitem(), lambda o: o.__setitem__("new", 1)):
            view = dict_of({str(n): n for n in range(size)})
            steps = 0
            with pytest.raises(RuntimeError, match="changed size"):
                for _ in getattr(view, part)():
                    steps += 1
                    change(view)
            assert steps == 1

    def test_replacing_during_iteration(self) -> None:
        view = dict_of({str(n): n for n in range(200)})
        for key in view:
            view[key] = "x" * 50
        assert set(view.values()) == {"x" * 50}

    def test_a_key_that_comes_back(self) -> None:
        """EDITING 3: a record keeps its place for it, where a dict puts it last."""
        view = dict_of({"a": 1, "b": 2, "c": 3})
        del view["a"]
        assert list(view) == ["b", "c"]
        view["a"] = 4
        assert list(view.items()) == [("a", 4), ("b", 2), ("c", 3)]
        # Objects of more than 255 keys, and empty ones, have no such place.
        big = dict_of({str(n): n for n in range(300)})
        big["0"] = big.pop("0")
        assert list(big)[-1] == "0"
        view.clear()
        view.update(c=1, a=2)
        assert list(view) == ["c", "a"]

    def test_rename(self) -> None:
        view = dict_of({"a": {"x": 1}, "b": 2, "c": 3})
        view.rename("a", "z")
        assert list(view.items()) == [("z", {"x": 1}), ("b", 2), ("c", 3)]
        view.rename("b", "b")
        with pytest.raises(livebuf.Error) as caught:
            view.rename("z", "c")
        assert caught.value.kind == "KeyExists"
        with pytest.raises(KeyError):
            view.rename("not there", "d")
        assert view == {"z": {"x": 1}, "b": 2, "c": 3}

    @pytest.mark.parametrize("size", [0, 1, 20, 1000])
    def test_range_and_prefix(self, size: int) -> None:
        chance = random.Random(size)
        letters = ["a", "b", "é", "𝄞", "\x00", "ab", "z"]
        keys = {"".join(chance.choices(letters, k=chance.randrange(1, 6))) for _ in range(size)}
        shuffled = chance.sample(sorted(keys), len(keys))
        items = {key: n for n, key in enumerate(shuffled)}
        view = dict_of(items)
        ordered = sorted(items.items(), key=lambda item: item[0].encode())
        assert list(view.range()) == ordered
        bounds = [None, "", "a", "ab", "b", "é", "zz", *chance.sample(shuffled, min(9, len(keys)))]
        for start, stop in itertools.product(bounds, bounds):
            expected = [
                (key, value)
                for key, value in ordered
                if (start is None or key.encode() >= start.encode())
                and (stop is None or key.encode() < stop.encode())
            ]
            assert list(view.range(start, stop)) == expected
        for prefix in bounds[1:]:
            assert prefix is not None
            expected = [(key, value) for key, value in ordered if key.startswith(prefix)]
            assert list(view.prefix(prefix)) == expected

    def test_range_while_members_go(self) -> None:
        view = dict_of({key: 1 for key in "abcdef"})
        seen = []
        for key, _ in view.range("b"):
            seen.append(key)
            view.pop("d", None)
        assert seen == ["b", "c", "e", "f"]

    def test_match(self) -> None:
        match dict_of({"kind": "point", "at": {"x": 1, "y": [2, 3]}, "more": 1}):
            case {"kind": "point", "at": {"x": x, "y": [_, y]}}:
                assert (x, y) == (1, 3)
            case _:
                pytest.fail("no match")
        match dict_of({"a": 1}):
            case {"b": _}:
                pytest.fail("matched a key that is not there")
            case {"a": 1, **rest}:
                assert rest == {}


class TestBoth:
    def test_abstract_classes(self) -> None:
        array, object = list_of([]), dict_of({})
        assert isinstance(array, MutableSequence) and isinstance(array, Sequence)
        assert isinstance(object, MutableMapping) and isinstance(object, Mapping)
        assert not isinstance(array, Mapping) and not isinstance(object, Sequence)

    def test_unhashable(self) -> None:
        """Views change. Bug: they said that they were Hashable, and raised."""
        for view in (list_of([1]), dict_of({"a": 1}), livebuf.from_json("[]")):
            with pytest.raises(TypeError, match="unhashable"):
                hash(view)
            assert not isinstance(view, Hashable)

    def test_no_missing_methods(self) -> None:
        # And what CPython 3.13 and 3.14 give to classes written in Python.
        own = re.compile(
            "_[a-zA-Z]|__(abstractmethods|annotat|class_getitem|conditional_annotations|orig|slots"
            "|firstlineno|static_attributes)"
        )
        for name in dir(MutableMapping):
            assert own.match(name) or hasattr(livebuf.Object, name), name
        for name in dir(MutableSequence):
            assert own.match(name) or hasattr(livebuf.Array, name), name

    def test_equality(self) -> None:
        value = {"a": [1, 2.0, "x", None, True], "b": {"c": []}}
        doc = livebuf.Document.from_python(value)
        other = livebuf.from_json(livebuf.to_json(value))
        assert doc == value and value == doc and doc == other and doc.root == other.root
        assert doc["a"] == value["a"] and value["a"] == doc["a"]
        assert doc.root == collections.OrderedDict(value)
        assert doc.root == collections.ChainMap(value)
        assert dict_of({"a": 1, "b": 2}) == dict_of({"b": 2, "a": 1})
        assert list_of([1, 2]) == list_of([1.0, 2.0]) and list_of([1]) == [True]
        for unequal in (None, 1, "x", {}, [], {"a": 1}, (1, 2.0, "x", None, True), value["a"]):
            assert doc.root != unequal and not doc.root == unequal
            if unequal != value["a"]:
                assert doc["a"] != unequal
        assert list_of([]) != {} and dict_of({}) != [] and list_of([]) != dict_of({})
        assert list_of([1, 2]) != [2, 1] and list_of([1]) != [1, 1]
        assert not (list_of([1]) != [1])
        for operator in ("__lt__", "__le__", "__gt__", "__ge__"):
            assert getattr(doc.root, operator)(doc.root) is NotImplemented

    def test_equality_of_scalars(self) -> None:
        assert livebuf.from_json("5") == 5 and livebuf.from_json('"x"') == "x"
        assert livebuf.from_json("null") == livebuf.from_json("null")
        assert livebuf.from_json("5") != 6

    def test_short_reprs(self) -> None:
        doc = livebuf.Document.from_python(
            {"list": ["x" * 10_000, [1], {"a": 1}, 4, 5], **{f"k{n}": n for n in range(1000)}}
        )
        for view in (doc, doc.root, doc["list"], doc.root.values(), doc.root.items()):
            assert repr(view).startswith("<livebuf") and len(repr(view)) < 300
        assert repr(list_of([1, "a", [2], {"b": 3}, 5])) == (
            "<livebuf.Array of 5: 1, 'a', […], {…}, …>"
        )
        assert repr(dict_of({"a": 1})) == "<livebuf.Object of 1: 'a'>"
        assert repr(list_of([])).startswith("<livebuf.Array of 0")

    def test_nested_edits_reach_the_document(self) -> None:
        doc = livebuf.Document.from_python({"a": [{"b": {"c": [1]}}]})
        doc["a"][0]["b"]["c"].append(2)
        doc["a"][0]["b"]["d"] = doc["a"][0]["b"]["c"]
        doc["a"][0]["b"]["c"][0] = 5
        assert doc == {"a": [{"b": {"c": [5, 2], "d": [1, 2]}}]}

    def test_assigning_a_view_copies(self) -> None:
        doc = livebuf.Document.from_python({"a": {"x": [1]}, "b": None})
        doc["b"] = doc["a"]
        doc["b"]["x"].append(2)
        doc["a"]["self"] = doc.root
        assert doc["a"] == {"x": [1], "self": {"a": {"x": [1]}, "b": {"x": [1, 2]}}}
        doc.validate()

    def test_pop_gives_plain_objects(self) -> None:
        doc = livebuf.Document.from_python({"a": [1, {"b": 2}], "o": {"x": [1]}})
        popped = doc["a"].pop()
        assert type(popped) is dict and popped == {"b": 2}
        popped = doc.root.pop("o")
        assert type(popped) is dict and type(popped["x"]) is list

    def test_the_document_of_a_view(self) -> None:
        doc = livebuf.Document.from_python({"a": [1]})
        assert doc["a"].document is doc and doc.root.document is doc

    def test_documents_as_containers(self) -> None:
        doc = livebuf.Document.from_python({"a": 1, "b": [2]})
        assert len(doc) == 2 and list(doc) == ["a", "b"] and "a" in doc and "z" not in doc
        assert doc.get("a") == 1 and doc.get("z") is None and doc.get("z", 5) == 5
        del doc["a"]
        assert doc == {"b": [2]}
        numbers = livebuf.Document.from_python([1, 2, 3])
        assert numbers[-1] == 3 and numbers[:2] == [1, 2] and 2 in numbers
        del numbers[0]
        numbers[0] = 9
        assert numbers == [9, 3]
        scalar = livebuf.from_json("5")
        for action in (len, iter, lambda d: d["a"], lambda d: d.__setitem__(0, 1)):
            with pytest.raises(TypeError):
                action(scalar)
