"""Documents against dicts and lists: random edits through views that live across edits."""

from __future__ import annotations

from typing import Any

import livebuf
import pytest
from conftest import LONG
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

KEYS = st.one_of(
    st.sampled_from(["a", "b", "c", "id", "name", "", "a key that is long", "~/", "-", "0"]),
    st.text(max_size=12),
    st.sampled_from(["k" * 255, "k" * 256, "common prefix 1", "common prefix 2"]),
)

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-200, 200),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    st.sampled_from(["x" * 300, "seven b", "eight by"]),
    st.binary(max_size=12),
)

# Rows that are alike become tables, which edits then turn into something else.
ROWS = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(0, 9), "name": st.sampled_from(["x", "yy", "a longer name"])},
        optional={"at": st.fixed_dictionaries({"x": st.integers(0, 3)}), "tags": st.just([1])},
    ),
    max_size=12,
)

VALUES = st.recursive(
    st.one_of(SCALARS, ROWS, st.lists(st.integers(-200, 70_000), max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)

INDEXES = st.integers(-8, 8)


def identical(one: Any, other: Any) -> bool:
    """Equal, with equal types, order of keys and signs of zero."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(identical(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(identical, one, other))
    if isinstance(one, float):
        return repr(one) == repr(other)
    return bool(one == other)


def copied(value: Any) -> Any:
    """A copy of a plain value: the model's containers must not be shared."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


class Pair:
    """A view, and the container of the model that it shows.

    Whether the view must still be good is the model's answer: its container must still be
    at the place where it was."""

    def __init__(self, view: Any, model: Any, path: tuple[Any, ...]) -> None:
        self.view, self.model, self.path = view, model, path


class DocumentMachine(RuleBasedStateMachine):
    views: Bundle[Pair] = Bundle("views")

    def make(self, value: Any) -> livebuf.Document:
        return livebuf.Document.from_python(value)

    @initialize(value=st.dictionaries(KEYS, VALUES, max_size=4), target=views)
    def begin(self, value: dict[str, Any]) -> Pair:
        self.model = copied(value)
        self.doc = self.make(value)
        self.given: list[tuple[bytes, bytes]] = []
        return Pair(self.doc.root, self.model, ())

    # What a view shows; None where it must be stale.

    def at(self, path: tuple[Any, ...]) -> Any:
        place: Any = self.model
        for step in path:
            try:
                place = place[step]
            except (KeyError, IndexError, TypeError):
                return None
        return place

    def good(self, pair: Pair) -> bool:
        """Whether the view is good; a view that is good shows its model."""
        moved = self.at(pair.path) is not pair.model
        try:
            shown = pair.view.to_python()
        except livebuf.StaleError:
            # Its container may be where it was after a swap and back, or an insertion and a
            # removal; a view is told of each.
            return False
        assert not moved, f"{pair.path} moved, and its view did not notice"
        assert identical(shown, pair.model)
        return True

    def same(self, on_view: Any, on_model: Any) -> Any:
        """Does something to both; the same exceptions must come."""
        expected = failure = None
        try:
            expected = on_model()
        except (KeyError, IndexError, ValueError, TypeError) as error:
            failure = error
        try:
            found = on_view()
        except livebuf.Error as error:
            assert failure is not None and isinstance(
                error, (KeyError, IndexError, ValueError, TypeError)
            ), (error, failure)
            return None
        except ValueError as error:
            assert isinstance(failure, ValueError), error
            return None
        assert failure is None, failure
        if isinstance(found, (livebuf.Object, livebuf.Array)):
            found = found.to_python()
        assert identical(found, expected)
        return found

    # Views below views.

    @rule(pair=views, number=st.integers(0, 50), target=views)
    def descend(self, pair: Pair, number: int) -> Any:
        if not self.good(pair) or not pair.model:
            return multiple()
        if isinstance(pair.model, dict):
            step: Any = list(pair.model)[number % len(pair.model)]
        else:
            step = number % len(pair.model)
        model = pair.model[step]
        view = pair.view[step]
        if not isinstance(model, (dict, list)):
            assert identical(view, model)
            return multiple()
        return Pair(view, model, (*pair.path, step))

    @rule(pair=views, target=views)
    def iterate(self, pair: Pair) -> Any:
        if not self.good(pair):
            return multiple()
        if isinstance(pair.model, dict):
            members = list(pair.view.items())
            assert [key for key, _ in members] == list(pair.model)
            steps = members
        else:
            steps = list(enumerate(pair.view))
            assert len(steps) == len(pair.model)
        found = [
            Pair(view, pair.model[step], (*pair.path, step))
            for step, view in steps
            if isinstance(view, (livebuf.Object, livebuf.Array))
        ]
        return multiple(*found[:3])

    # Objects.

    @rule(pair=views, key=KEYS, value=VALUES)
    def set_key(self, pair: Pair, key: str, value: Any) -> None:
        if self.good(pair) and isinstance(pair.model, dict):
            pair.view[key] = value
            pair.model[key] = copied(value)

    @rule(pair=views, key=KEYS, number=st.integers(0, 50), known=st.booleans())
    def delete_key(self, pair: Pair, key: str, number: int, known: bool) -> None:
        if self.good(pair) and isinstance(pair.model, dict):
            if known and pair.model:
                key = list(pair.model)[number % len(pair.model)]
            self.same(lambda: pair.view.__delitem__(key), lambda: pair.model.__delitem__(key))

    @rule(pair=views, key=KEYS, default=SCALARS)
    def pop_key(self, pair: Pair, key: str, default: Any) -> None:
        if self.good(pair) and isinstance(pair.model, dict):
            self.same(lambda: pair.view.pop(key, default), lambda: pair.model.pop(key, default))

    @rule(pair=views)
    def pop_item(self, pair: Pair) -> None:
        if self.good(pair) and isinstance(pair.model, dict):
            found: list[Any] = []
            self.same(
                lambda: list(found.append(pair.view.popitem()) or found[-1]),  # type: ignore[func-returns-value]
                lambda: list(pair.model.popitem()),
            )

    @rule(pair=views, key=KEYS, value=VALUES)
    def set_default(self, pair: Pair, key: str, value: Any) -> None:
        if self.good(pair) and isinstance(pair.model, dict):
            self.same(
                lambda: pair.view.setdefault(key, value),
                lambda: pair.model.setdefault(key, copied(value)),
            )

    @rule(pair=views, values=st.dictionaries(KEYS, VALUES, max_size=4))
    def update(self, pair: Pair, values: dict[str, Any]) -> None:
        if self.good(pair) and isinstance(pair.model, dict):
            pair.view.update(values)
            pair.model.update(copied(values))

    @rule(pair=views, count=st.integers(200, 300), stride=st.integers(1, 5))
    def become_a_map_and_back(self, pair: Pair, count: int, stride: int) -> None:
        if self.good(pair) and isinstance(pair.model, dict) and len(pair.model) < 50:
            for n in range(count):
                pair.view[f"many {n}"] = n
                pair.model[f"many {n}"] = n
            assert [key for key, _ in pair.view.prefix("many 1")] == sorted(
                key for key in pair.model if key.startswith("many 1")
            )
            for n in range(count):
                if n % stride == 0:
                    del pair.view[f"many {n}"], pair.model[f"many {n}"]
            for n in range(count):
                if n % stride:
                    del pair.view[f"many {n}"], pair.model[f"many {n}"]

    @rule(pair=views, number=st.integers(0, 50), to=KEYS)
    def rename(self, pair: Pair, number: int, to: str) -> None:
        if self.good(pair) and isinstance(pair.model, dict) and pair.model:
            key = list(pair.model)[number % len(pair.model)]
            if to in pair.model:
                return
            pair.view.rename(key, to)
            members = [(to if k == key else k, v) for k, v in pair.model.items()]
            pair.model.clear()
            pair.model.update(members)

    # Arrays.

    @rule(pair=views, value=VALUES)
    def append(self, pair: Pair, value: Any) -> None:
        if self.good(pair) and isinstance(pair.model, list):
            pair.view.append(value)
            pair.model.append(copied(value))

    @rule(pair=views, index=INDEXES, value=VALUES)
    def insert(self, pair: Pair, index: int, value: Any) -> None:
        if self.good(pair) and isinstance(pair.model, list):
            pair.view.insert(index, value)
            pair.model.insert(index, copied(value))

    @rule(pair=views, index=INDEXES, value=VALUES)
    def set_index(self, pair: Pair, index: int, value: Any) -> None:
        if self.good(pair) and isinstance(pair.model, list):
            self.same(
                lambda: pair.view.__setitem__(index, value),
                lambda: pair.model.__setitem__(index, copied(value)),
            )

    @rule(pair=views, index=INDEXES)
    def delete_index(self, pair: Pair, index: int) -> None:
        if self.good(pair) and isinstance(pair.model, list):
            self.same(lambda: pair.view.__delitem__(index), lambda: pair.model.__delitem__(index))

    @rule(pair=views, index=INDEXES)
    def pop_index(self, pair: Pair, index: int) -> None:
        if self.good(pair) and isinstance(pair.model, list):
            self.same(lambda: pair.view.pop(index), lambda: pair.model.pop(index))

    @rule(
        pair=views,
        start=st.one_of(st.none(), INDEXES),
        stop=st.one_of(st.none(), INDEXES),
        step=st.sampled_from([None, 1, 2, -1, -3]),
        values=st.one_of(st.none(), st.lists(VALUES, max_size=4)),
    )
    def slices(self, pair: Pair, start: Any, stop: Any, step: Any, values: Any) -> None:
        if self.good(pair) and isinstance(pair.model, list):
            part = slice(start, stop, step)
            self.same(
                lambda: [
                    item.to_python() if isinstance(item, (livebuf.Object, livebuf.Array)) else item
                    for item in pair.view[part]
                ],
                lambda: pair.model[part],
            )
            if values is None:
                self.same(lambda: pair.view.__delitem__(part), lambda: pair.model.__delitem__(part))
            else:
                self.same(
                    lambda: pair.view.__setitem__(part, values),
                    lambda: pair.model.__setitem__(part, copied(values)),
                )

    @rule(pair=views, values=st.lists(VALUES, max_size=3))
    def extend(self, pair: Pair, values: list[Any]) -> None:
        if self.good(pair) and isinstance(pair.model, list):
            pair.view.extend(values)
            pair.model.extend(copied(values))

    @rule(pair=views)
    def reverse(self, pair: Pair) -> None:
        if self.good(pair) and isinstance(pair.model, list):
            pair.view.reverse()
            pair.model.reverse()

    @rule(pair=views, one=st.integers(0, 8), other=st.integers(0, 8))
    def swap(self, pair: Pair, one: int, other: int) -> None:
        if self.good(pair) and isinstance(pair.model, list) and pair.model:
            one, other = one % len(pair.model), other % len(pair.model)
            pair.view.swap(one, other)
            pair.model[one], pair.model[other] = pair.model[other], pair.model[one]

    # Both.

    @rule(pair=views)
    def clear(self, pair: Pair) -> None:
        if self.good(pair):
            pair.view.clear()
            pair.model.clear()

    @rule(pair=views, source=views, key=KEYS)
    def copy_a_view(self, pair: Pair, source: Pair, key: str) -> None:
        if self.good(pair) and self.good(source) and len(repr(self.model)) < 20_000:
            value = copied(source.model)
            if isinstance(pair.model, dict):
                pair.view[key] = source.view
                pair.model[key] = value
            else:
                pair.view.append(source.view)
                pair.model.append(value)

    @rule(pair=views, value=VALUES)
    def by_pointer(self, pair: Pair, value: Any) -> None:
        if self.good(pair) and pair.path:
            above = self.at(pair.path[:-1])
            pointer = "".join(
                "/" + str(step).replace("~", "~0").replace("/", "~1") for step in pair.path
            )
            assert identical(self.doc.pointer(pointer).to_python(), pair.model)
            self.doc.set_pointer(pointer, value)
            above[pair.path[-1]] = copied(value)

    @rule()
    def compact(self) -> None:
        self.doc.compact()

    @rule()
    def compact_to_records(self) -> None:
        self.doc.compact(tables=False)

    @rule()
    def give_out_bytes(self) -> None:
        if len(self.given) < 5:
            given = bytes(self.doc)
            self.given.append((given, bytes(bytearray(given))))

    @rule(pair=views)
    def export(self, pair: Pair) -> None:
        if self.good(pair) and isinstance(pair.model, list):
            try:
                view = memoryview(pair.view)
            except BufferError:
                return
            with view:
                assert view.tolist() == pair.model
                with pytest.raises(livebuf.ExportedError):
                    pair.view.append(1)

    @rule(value=st.one_of(st.dictionaries(KEYS, VALUES, max_size=3)), target=views)
    @precondition(lambda self: len(self.given) == 5)
    def set_root(self, value: dict[str, Any]) -> Pair:
        self.doc.root = value
        self.model = copied(value)
        return Pair(self.doc.root, self.model, ())

    @invariant()
    def equal(self) -> None:
        if not hasattr(self, "doc"):
            return
        assert identical(self.doc.to_python(), self.model)
        assert self.doc == self.model
        self.doc.validate()
        payload = bytes(memoryview(self.doc))
        assert identical(livebuf.loads(payload), self.model)
        for given, before in self.given:
            assert given == before


class ByteArrayMachine(DocumentMachine):
    """The same in a bytearray, which the document shares with us."""

    def make(self, value: Any) -> livebuf.Document:
        self.memory = bytearray(livebuf.dumps(value))
        return livebuf.Document(self.memory)

    @invariant()
    def in_the_bytearray(self) -> None:
        if hasattr(self, "doc"):
            assert identical(livebuf.loads(self.memory), self.model)


OwnMemory = DocumentMachine.TestCase
OwnMemory.settings = settings(
    max_examples=1500 if LONG else 60, stateful_step_count=60 if LONG else 40
)
SharedByteArray = ByteArrayMachine.TestCase
SharedByteArray.settings = OwnMemory.settings
