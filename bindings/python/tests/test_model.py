"""Documents against dicts and lists: random edits through views that live across edits."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from typing import Any
from uuid import UUID

import livebuf
import pytest
from conftest import LONG
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

KEYS = st.one_of(
    st.sampled_from(["a", "b", "id", "name"]),
    st.sampled_from(["a", "b", "c", "", "a key that is long", "~/", "-", "0", "tags", "at"]),
    st.text(max_size=12),
    st.sampled_from(["k" * 255, "k" * 256, "common prefix 1", "common prefix 2"]),
)

DATES = st.sampled_from([datetime.date.min, datetime.date(1970, 1, 1), datetime.date(2024, 2, 29)])
UUIDS = st.sampled_from([UUID(int=0), UUID(int=1), UUID(int=2**128 - 1)])
EXTENDED = st.one_of(
    DATES,
    UUIDS,
    st.times(),
    st.datetimes(),
    st.datetimes(timezones=st.just(datetime.UTC)),
    st.sampled_from(["0", "0.00", "1.5", "1.50", "-7", "9" * 38, "0." + "9" * 38]).map(Decimal),
)

SCALARS = st.one_of(
    EXTENDED,
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
        optional={
            "at": st.fixed_dictionaries({"x": st.integers(0, 3)}),
            "tags": st.just([1]),
            "day": DATES,
            "key": UUIDS,
            "price": st.sampled_from([Decimal("1.50"), Decimal("-20.00")]),
        },
    ),
    max_size=12,
)

VALUES = st.recursive(
    st.one_of(
        SCALARS,
        ROWS,
        st.lists(st.integers(-200, 70_000), max_size=9),
        st.lists(DATES | st.none(), max_size=9),
        st.lists(UUIDS, max_size=9),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)

INDEXES = st.integers(-6, 6)


def identical(one: Any, other: Any) -> bool:
    """Equal, with equal types and signs of zero. The order of keys is looked at elsewhere: a
    key that comes back takes its old place in records (EDITING 3)."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(identical(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(identical, one, other))
    if isinstance(one, (float, Decimal)):
        return repr(one) == repr(other)
    return bool(one == other)


def copied(value: Any) -> Any:
    """A copy of a plain value: the model's containers must not be shared."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def counted(value: Any) -> Any:
    """A value as buffers have it: dates as days, times as microseconds."""
    if isinstance(value, datetime.time):
        value = datetime.datetime.combine(datetime.date(1970, 1, 1), value)
    if isinstance(value, datetime.datetime):
        utc = value.replace(tzinfo=datetime.UTC)
        since = utc - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        return since // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days
    return value


def at(root: Any, path: tuple[Any, ...]) -> Any:
    """What is at a place of a plain value."""
    for step in path:
        try:
            root = root[step]
        except (KeyError, IndexError, TypeError):
            return None
    return root


class Pair:
    """A view, and the container of the model that it shows.

    The model is plain Python, into which values are copied as they are assigned. So a view of
    what was taken away goes on like any reference in Python, and one of what was moved follows."""

    def __init__(self, view: Any, chain: tuple[Any, ...], path: tuple[Any, ...]) -> None:
        # Containers from that of the whole document, or copy, on.
        self.view, self.chain, self.path = view, chain, path

    @property
    def model(self) -> Any:
        return self.chain[-1]

    def look(self) -> None:
        """Finds out what the last step did to the container."""
        for number, container in enumerate(self.chain[1:]):
            above = self.chain[number]
            if at(above, self.path[number : number + 1]) is container:
                continue
            steps = above.items() if isinstance(above, dict) else enumerate(above)
            found = [step for step, item in steps if item is container]
            if not found:
                self.chain, self.path = self.chain[number + 1 :], self.path[number + 1 :]
                self.look()
                return
            self.path = (*self.path[:number], found[0], *self.path[number + 1 :])


VIEWS = 60
WHICH = st.integers(0, 2**16)


def on(kind: Any, **arguments: Any) -> Any:
    """A rule on a view of such containers."""

    def decorate(method: Any) -> Any:
        def step(self: DocumentMachine, which: int, **given: Any) -> None:
            good = self.good(kind)
            method(self, good[which % len(good)], **given)

        step.__name__ = method.__name__
        step = rule(which=WHICH, **arguments)(step)
        return precondition(lambda self: bool(self.good(kind)))(step)

    return decorate


class DocumentMachine(RuleBasedStateMachine):
    def make(self, value: Any) -> livebuf.Document:
        return livebuf.Document.from_python(value)

    @initialize(
        value=st.dictionaries(KEYS, VALUES, max_size=4),
        rows=ROWS,
        array=st.lists(VALUES, min_size=1, max_size=5),
    )
    def begin(self, value: dict[str, Any], rows: list[Any], array: list[Any]) -> None:
        value = {**value, "rows": rows, "array": array}
        self.doc = self.make(value)
        self.given: list[tuple[bytes, bytes]] = []
        self.pairs: list[Pair] = []
        self.begin_with(copied(value))

    def begin_with(self, model: dict[str, Any]) -> None:
        self.model = model
        self.root = Pair(self.doc.root, (model,), ())
        self.pairs.append(self.root)
        self.look_below(self.root, 3)

    def pair(self, above: Pair, view: Any, step: Any) -> Pair:
        pair = Pair(view, (*above.chain, above.model[step]), (*above.path, step))
        self.pairs.append(pair)
        # The root's view stays; the others go when others come.
        if len(self.pairs) > VIEWS:
            del self.pairs[self.pairs[0] is self.root]
        return pair

    def look_below(self, pair: Pair, depth: int) -> None:
        """Takes views of what is below, by iterating."""
        if isinstance(pair.model, dict):
            steps = list(pair.view.items())
            assert [key for key, _ in steps] == list(pair.view)
        else:
            steps = list(enumerate(pair.view))
        assert len(steps) == len(pair.model)
        for step, view in steps:
            model = pair.model[step]
            if isinstance(model, (dict, list)):
                below = self.pair(pair, view, step)
                if depth > 1:
                    self.look_below(below, depth - 1)
            else:
                assert identical(view, model)

    def good(self, kind: Any) -> list[Pair]:
        return [pair for pair in getattr(self, "pairs", []) if isinstance(pair.model, kind)]

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

    @on((dict, list), number=st.integers(0, 50))
    def descend(self, pair: Pair, number: int) -> None:
        if pair.model:
            steps = list(pair.model) if isinstance(pair.model, dict) else range(len(pair.model))
            step = steps[number % len(steps)]
            view, model = pair.view[step], pair.model[step]
            if isinstance(model, (dict, list)):
                self.pair(pair, view, step)
            else:
                assert identical(view, model)

    @on((dict, list), depth=st.integers(1, 3))
    def iterate(self, pair: Pair, depth: int) -> None:
        self.look_below(pair, depth)

    # Objects.

    @on(dict, key=KEYS, value=VALUES)
    def set_key(self, pair: Pair, key: str, value: Any) -> None:
        pair.view[key] = value
        pair.model[key] = copied(value)

    @on(dict, key=KEYS, number=st.integers(0, 50), known=st.booleans())
    def delete_key(self, pair: Pair, key: str, number: int, known: bool) -> None:
        if known and pair.model:
            key = list(pair.model)[number % len(pair.model)]
        self.same(lambda: pair.view.__delitem__(key), lambda: pair.model.__delitem__(key))

    @on(dict, key=KEYS, default=SCALARS)
    def pop_key(self, pair: Pair, key: str, default: Any) -> None:
        self.same(lambda: pair.view.pop(key, default), lambda: pair.model.pop(key, default))

    @on(dict)
    def pop_item(self, pair: Pair) -> None:
        last = list(pair.view)[-1:]
        if not last:
            with pytest.raises(KeyError):
                pair.view.popitem()
            return
        key, value = pair.view.popitem()
        assert key == last[0] and identical(value, pair.model.pop(key))

    @on(dict, key=KEYS, value=VALUES)
    def set_default(self, pair: Pair, key: str, value: Any) -> None:
        self.same(
            lambda: pair.view.setdefault(key, value),
            lambda: pair.model.setdefault(key, copied(value)),
        )

    @on(dict, values=st.dictionaries(KEYS, VALUES, max_size=4))
    def update(self, pair: Pair, values: dict[str, Any]) -> None:
        pair.view.update(values)
        pair.model.update(copied(values))

    @on(dict, count=st.sampled_from([3, 20, 256]), stride=st.integers(1, 5))
    def become_a_map_and_back(self, pair: Pair, count: int, stride: int) -> None:
        if len(pair.model) < 50:
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

    @on(dict, number=st.integers(0, 50), to=KEYS)
    def rename(self, pair: Pair, number: int, to: str) -> None:
        if pair.model:
            key = list(pair.model)[number % len(pair.model)]
            if to in pair.model:
                return
            pair.view.rename(key, to)
            members = [(to if k == key else k, v) for k, v in pair.model.items()]
            pair.model.clear()
            pair.model.update(members)

    # Arrays.

    @on(list, value=VALUES)
    def append(self, pair: Pair, value: Any) -> None:
        pair.view.append(value)
        pair.model.append(copied(value))

    @on(list, index=INDEXES, value=VALUES)
    def insert(self, pair: Pair, index: int, value: Any) -> None:
        pair.view.insert(index, value)
        pair.model.insert(index, copied(value))

    @on(list, index=INDEXES, value=VALUES)
    def set_index(self, pair: Pair, index: int, value: Any) -> None:
        self.same(
            lambda: pair.view.__setitem__(index, value),
            lambda: pair.model.__setitem__(index, copied(value)),
        )

    @on(list, index=INDEXES)
    def delete_index(self, pair: Pair, index: int) -> None:
        self.same(lambda: pair.view.__delitem__(index), lambda: pair.model.__delitem__(index))

    @on(list, index=INDEXES)
    def pop_index(self, pair: Pair, index: int) -> None:
        self.same(lambda: pair.view.pop(index), lambda: pair.model.pop(index))

    @on(
        list,
        start=st.one_of(st.none(), INDEXES),
        stop=st.one_of(st.none(), INDEXES),
        step=st.sampled_from([None, 1, 2, -1, -3]),
        values=st.one_of(st.none(), st.lists(VALUES, max_size=4)),
    )
    def slices(self, pair: Pair, start: Any, stop: Any, step: Any, values: Any) -> None:
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

    @on(list, values=st.lists(VALUES, max_size=3))
    def extend(self, pair: Pair, values: list[Any]) -> None:
        pair.view.extend(values)
        pair.model.extend(copied(values))

    @on(list)
    def reverse(self, pair: Pair) -> None:
        pair.view.reverse()
        pair.model.reverse()

    @on(list, one=st.integers(0, 8), other=st.integers(0, 8))
    def swap(self, pair: Pair, one: int, other: int) -> None:
        if pair.model:
            one, other = one % len(pair.model), other % len(pair.model)
            pair.view.swap(one, other)
            pair.model[one], pair.model[other] = pair.model[other], pair.model[one]

    @on(list, one=st.integers(0, 8), other=st.integers(0, 8))
    def exchange(self, pair: Pair, one: int, other: int) -> None:
        """Bug: the second half of this raised StaleError, and what the first replaced was lost."""
        if pair.model:
            one, other = one % len(pair.model), other % len(pair.model)
            view, model = pair.view, pair.model
            view[one], view[other] = view[other], view[one]
            model[one], model[other] = copied(model[other]), copied(model[one])

    @on(dict, one=st.integers(0, 50), other=st.integers(0, 50))
    def exchange_members(self, pair: Pair, one: int, other: int) -> None:
        if pair.model:
            keys, view, model = list(pair.model), pair.view, pair.model
            a, b = keys[one % len(keys)], keys[other % len(keys)]
            view[a], view[b] = view[b], view[a]
            model[a], model[b] = copied(model[b]), copied(model[a])

    @on(list, seed=st.integers(0, 99))
    def shuffle(self, pair: Pair, seed: int) -> None:
        class Copying(list[Any]):
            def __setitem__(self, index: Any, value: Any) -> None:
                super().__setitem__(index, copied(value))

        random.Random(seed).shuffle(pair.view)
        model = Copying(pair.model)
        random.Random(seed).shuffle(model)
        pair.model[:] = model

    @on(list, backwards=st.booleans())
    def sort(self, pair: Pair, backwards: bool) -> None:
        def key(item: Any) -> str:
            if isinstance(item, (livebuf.Object, livebuf.Array)):
                item = item.to_python()
            if isinstance(item, dict):
                return repr([(name, key(item[name])) for name in sorted(item)])
            return repr(list(map(key, item)) if isinstance(item, list) else item)

        pair.view[:] = sorted(pair.view, key=key, reverse=backwards)
        pair.model[:] = copied(sorted(pair.model, key=key, reverse=backwards))

    @on(list, backwards=st.booleans())
    def sort_in_place(self, pair: Pair, backwards: bool) -> None:
        """Views follow their elements."""

        def key(item: Any) -> str:
            if isinstance(item, (livebuf.Object, livebuf.Array)):
                item = item.to_python()
            return str(len(item)) if isinstance(item, (dict, list)) else repr(item)

        pair.view.sort(key=key, reverse=backwards)
        pair.model.sort(key=key, reverse=backwards)

    @on(list, value=VALUES, index=st.integers(0, 8), number=st.integers(0, 8))
    def patch_elements(self, pair: Pair, value: Any, index: int, number: int) -> None:
        """A patch of the document: only the core knows what it does."""
        if pair.model:
            index, number = index % len(pair.model), number % len(pair.model)
            operations = [
                {"op": "add", "path": f"/{index}", "value": value},
                {"op": "remove", "path": f"/{number}"},
            ]
            pair.view.patch(operations)
            pair.model.insert(index, copied(value))
            del pair.model[number]

    @on(list, value=VALUES)
    def roll_back(self, pair: Pair, value: Any) -> None:
        document = pair.view.document
        if any(item.view.document is document and item is not pair for item in self.pairs):
            with document.transaction() as changes:
                pair.view.insert(0, value)
                pair.view.reverse()
                pair.view.append(value)
                changes.rollback()

    @on(dict, values=st.dictionaries(KEYS, VALUES, max_size=3))
    def merge(self, pair: Pair, values: dict[str, Any]) -> None:
        view = pair.view
        view |= values
        assert view is pair.view
        pair.model.update(copied(values))

    # Both.

    @on((dict, list))
    def clear(self, pair: Pair) -> None:
        if pair is not self.root:
            pair.view.clear()
            pair.model.clear()

    @on((dict, list), other=WHICH, key=KEYS)
    def copy_a_view(self, pair: Pair, other: int, key: str) -> None:
        sources = self.good((dict, list))
        source = sources[other % len(sources)]
        if len(repr(self.model)) + len(repr(source.model)) < 20_000:
            value = copied(source.model)
            if isinstance(pair.model, dict):
                pair.view[key] = source.view
                pair.model[key] = value
            else:
                pair.view.append(source.view)
                pair.model.append(value)

    @on((dict, list), value=VALUES)
    def by_pointer(self, pair: Pair, value: Any) -> None:
        if pair.path:
            above = pair.chain[-2]
            pointer = "".join(
                "/" + str(step).replace("~", "~0").replace("/", "~1") for step in pair.path
            )
            doc = pair.view.document
            assert identical(doc.pointer(pointer).to_python(), pair.model)
            doc.set_pointer(pointer, value)
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

    @on(list)
    def export(self, pair: Pair) -> None:
        try:
            view = pair.view.memoryview()
        except BufferError:
            return
        with view:
            assert view.tolist() == [counted(item) for item in pair.model]
            with pytest.raises(livebuf.ExportedError):
                pair.view.append(1)

    @rule(value=st.dictionaries(KEYS, VALUES, max_size=5))
    @precondition(lambda self: len(self.model) < 3)
    def set_root(self, value: dict[str, Any]) -> None:
        self.doc.root = value
        self.begin_with(copied(value))

    @invariant()
    def equal(self) -> None:
        if not hasattr(self, "doc"):
            return
        assert identical(self.doc.to_python(), self.model)
        assert self.doc == self.model
        assert sorted(self.doc) == sorted(self.model)
        self.doc.validate()
        payload = bytes(memoryview(self.doc))
        assert identical(livebuf.loads(payload), self.model)
        for given, before in self.given:
            assert given == before

    @invariant()
    def views_know(self) -> None:
        for pair in getattr(self, "pairs", []):
            pair.look()
            assert identical(pair.view.to_python(), pair.model)
            # What is taken has a document of its own, which is it and what is below.
            document = pair.view.document
            assert (document is self.doc) == (pair.chain[0] is self.model)
            assert identical(document.to_python(), pair.chain[0])


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
    max_examples=2000 if LONG else 30,
    stateful_step_count=60 if LONG else 50,
)
SharedByteArray = ByteArrayMachine.TestCase
SharedByteArray.settings = OwnMemory.settings


@pytest.mark.parametrize("in_bytearray", [False, True])
def test_order(in_bytearray: bool, chance: random.Random) -> None:
    """Members stay in the order of dicts, where no key comes back: one that does takes its old
    place again (EDITING 3), so that the machines above look at keys without their order."""
    for _ in range(20_000 if LONG else 400):
        model = {f"i{n}": n for n in range(chance.choice([0, 2, 5, 250, 300]))}
        payload = livebuf.dumps(model)
        doc = livebuf.Document(bytearray(payload) if in_bytearray else payload)
        if not in_bytearray:
            doc = doc.editable()
        doc.validate()
        view = doc.root
        for number in range(chance.randrange(60)):
            kind = chance.randrange(6)
            fresh = f"n{number}" + "x" * chance.choice([0, 0, 10, 300])
            if kind <= 1:
                view[fresh] = model[fresh] = number
            elif kind == 2:
                doc.compact()
            elif model:
                key = chance.choice(list(model))
                if kind == 3:
                    del view[key], model[key]
                elif kind == 4:
                    view.rename(key, fresh)
                    model = {(fresh if k == key else k): v for k, v in model.items()}
                else:
                    assert view.popitem() == model.popitem()
            assert list(view) == list(model)
