"""Damaged data: whatever the bytes are, only `livebuf.Error` is raised, and nothing hangs.

Mutated documents go through everything that reads and edits them. The seed of a run is
printed; `LIVEBUF_SEED` repeats it, `LIVEBUF_MUTATIONS` says how many.
"""

from __future__ import annotations

import dataclasses
import faulthandler
import gc
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import livebuf
import numpy as np
import pytest
from conftest import LONG, data_folder, sample
from livebuf import Document

MUTATIONS = int(os.environ.get("LIVEBUF_MUTATIONS") or (400_000 if LONG else 20_000))

# Anything that a document is made of is refused so, and exceptions of Rust are no `Exception`.
FINE = (livebuf.Error,)


@dataclasses.dataclass
class Anything:
    name: str = ""
    rows: list[Anything] | None = None
    next: Anything | None = None
    map: dict[str, int | str | Anything] | None = None
    numbers: list[float] | None = None
    kind: Literal["a", 1, None] = None


def documents() -> list[bytes]:
    found = [
        livebuf.dumps(sample(12)),
        livebuf.dumps(sample(40), tables=False),
        livebuf.dumps(sample(30)["rows"]),
        livebuf.dumps({"name": "x", "rows": [{"name": "y", "next": {"map": {"a": 1}}}] * 3}),
        livebuf.dumps([[1, 2], [3], []] * 9),
        livebuf.dumps({f"{n:03}": [n] for n in range(300)}),
        livebuf.dumps([10**30, 1.5, "text that is long", b"bytes", None] * 3),
    ]
    # With free space, holes, forwards and demoted columns.
    doc = Document.from_python(sample(25))
    for n in range(25):
        doc["rows"][n % 7]["name"] = "a longer name " * (n % 4)
        doc["ragged"][n]["new"] = {"n": n}
        doc[f"more {n}"] = [n] * n
    for n in range(0, 25, 2):
        del doc[f"more {n}"], doc["map"][f"key {n:05}"]
    del doc["rows"][5]
    doc["rows"].insert(2, {"other": 1})
    found.append(bytes(doc))
    folder = data_folder()
    if folder is not None:
        for name in ("twitter_api_response.json", "github_events.json"):
            if (folder / name).is_file():
                found.append(bytes(livebuf.from_json((folder / name).read_bytes())))
    return found


def mutate(chance: random.Random, original: bytes, others: list[bytes]) -> bytes:
    payload = bytearray(original)
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        at = chance.randrange(len(payload)) if chance.random() < 0.7 else chance.randrange(32)
        at = min(at, len(payload) - 1)
        kind = chance.randrange(10)
        word = at & ~3
        if kind == 0:
            payload[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            payload[at] = chance.choice([0, 1, 2, 0x20, 0x21, 0x7F, 0x80, 0xFE, 0xFF])
        elif kind == 2:
            payload[at] = chance.randrange(256)
        elif kind == 3:
            # An offset or count, often of something that is there.
            value = chance.choice(
                [0, 1, 8, 0xFFFFFFFF, 0x7FFFFFFF, len(payload), max(0, len(payload) - 8)]
                + [chance.randrange(0, len(payload), 8)] * 4
            )
            payload[word : word + 4] = value.to_bytes(4, "little")
        elif kind == 4:
            # Points where something else points to.
            source = chance.randrange(len(payload)) & ~3
            payload[word : word + 4] = payload[source : source + 4].ljust(4, b"\0")
        elif kind == 5:
            count = chance.choice([1, 8, 40, 300])
            source = chance.randrange(len(payload))
            payload[at : at + count] = payload[source : source + count]
        elif kind == 6:
            count = chance.choice([1, 8, 64])
            payload[at : at + count] = bytes([chance.choice([0, 0xFF])]) * count
        elif kind == 7:
            other = chance.choice(others)
            source = chance.randrange(len(other)) & ~7
            payload[at & ~7 : (at & ~7) + 32] = other[source : source + 32]
        elif kind == 8:
            del payload[max(32, at) :]
        else:
            payload += chance.randbytes(chance.randrange(64))
        if not payload:
            return b""
    if chance.random() < 0.3 and len(payload) >= 32:
        # Lengths that fit again, so that more than the header is looked at.
        payload[20:24] = (len(payload) & ~7).to_bytes(4, "little")
    return bytes(payload)


def walk(value: Any, left: list[int]) -> None:
    """Looks at views one by one, at most so many."""
    if left[0] <= 0:
        return
    left[0] -= 1
    if isinstance(value, livebuf.Object):
        repr(value)
        len(value)
        for key, below in value.items():
            if left[0] <= 0:
                return
            walk(below, left)
            _ = key in value
        for _, _ in zip(value.range("a", "n"), range(5), strict=False):
            pass
        for _, _ in zip(value.prefix("k"), range(5), strict=False):
            pass
    elif isinstance(value, livebuf.Array):
        repr(value)
        len(value)
        for below in value:
            if left[0] <= 0:
                return
            walk(below, left)
        _ = value[-1:], value[:2]


def reads(doc: Document, chance: random.Random) -> Iterator[Callable[[], Any]]:
    yield lambda: livebuf.loads(bytes(doc), max_values=50_000)
    yield lambda: walk(doc.root, [300])
    yield lambda: doc.to_python(max_values=20_000)
    yield lambda: livebuf.to_json(doc)
    yield lambda: livebuf.loads(bytes(doc), type=Anything, max_values=20_000)
    yield lambda: livebuf.loads(bytes(doc), type=list[dict[str, Any]], max_values=20_000)
    yield lambda: doc == sample(12)
    yield lambda: doc == doc.copy()
    yield lambda: livebuf.dumps({"again": doc})
    yield lambda: doc.pointer(chance.choice(["/rows/3/at/x", "/map/key 00007", "/0/id", "/next"]))
    yield lambda: doc.digest()
    yield lambda: doc.stats()
    yield lambda: doc["map"]["key 00042"]
    yield lambda: doc["numbers"].memoryview().tolist()
    yield lambda: np.asarray(doc["floats"].column.numpy()).tolist()
    yield lambda: doc["rows"].table.column(chance.choice(["id", "name", "at"])).to_python()
    yield lambda: doc["rows"].table.column("id").find(7)
    yield lambda: doc["rows"].table.column("id").filter(3, 9)
    yield lambda: livebuf.from_arrow(doc["rows"].table)
    yield lambda: livebuf.from_arrow(doc.root.table)
    yield lambda: doc["rows"].index({"id": 3})
    yield lambda: list(reversed(doc["words"]))


def edits(doc: Document, chance: random.Random) -> Iterator[Callable[[], Any]]:
    yield lambda: doc.__setitem__("name", "a longer text than before" * chance.randrange(9))
    yield lambda: doc.__setitem__("new", {"a": [1, 2, {"b": "c" * 50}]})
    yield lambda: doc.__delitem__(chance.choice(["rows", "map", "numbers", "name", "words"]))
    yield lambda: doc["rows"].append({"id": 5, "name": "x"})
    yield lambda: doc["rows"].insert(1, {"other": 5})
    yield lambda: doc["rows"][2].__setitem__("id", "no number")
    yield lambda: doc["rows"][3]["tags"].append("new")
    yield lambda: doc["rows"].pop(0)
    yield lambda: doc["map"].__setitem__("new key", 1)
    yield lambda: doc["map"].__delitem__("key 00007")
    yield lambda: doc["map"].clear()
    yield lambda: doc["numbers"].append(10**6)
    yield lambda: doc["numbers"].__setitem__(slice(1, 4), ["x", None])
    yield lambda: doc["numbers"].reverse()
    yield lambda: doc["words"].swap(0, -1)
    yield lambda: doc["ragged"].__delitem__(slice(None, None, 2))
    yield lambda: doc.root.popitem()
    yield lambda: doc.root.append([1]) if isinstance(doc.root, livebuf.Array) else None
    yield lambda: doc.root.pop() if isinstance(doc.root, livebuf.Array) else None
    yield lambda: doc.set_pointer("/rows/1/at/x", 77)
    yield lambda: doc.remove_pointer("/deep/0")
    yield lambda: doc.root.rename("name", "renamed")
    yield lambda: doc.compact()


def attempt(action: Callable[[], Any]) -> bool:
    """Whether it went well. The document's values may be of any type: then Python's own
    errors for a wrong key, index, type or missing method come."""
    try:
        action()
    except livebuf.Error:
        return False
    except (AttributeError, TypeError, BufferError, ValueError, IndexError) as error:
        allowed = (
            "object has no attribute",
            "index out of range",
            "object is not subscriptable",
            "has no len()",
            "does not support item",
            "an index or slice",
            "indices must be",
            "a bytes-like object is required",
            "is not in the array",
            "numbers, dates or times of one type",
            "not reversible",
            "is wanted, not",
            "to be memory view",
            "object is not iterable",
            # `index` of what has become text or bytes.
            "must be str, not",
            "argument should be integer or bytes-like",
        )
        if not any(part in str(error) for part in allowed):
            raise
        return False
    return True


def test_mutations(chance: random.Random) -> None:
    originals = documents()
    opened = read = edited = done = validated = 0
    faulthandler.dump_traceback_later(60 if not LONG else 300, repeat=True, exit=False)
    try:
        while done < MUTATIONS:
            payload = mutate(chance, chance.choice(originals), originals)
            done += 1
            try:
                doc = Document(payload)
            except livebuf.Error:
                with pytest.raises(livebuf.Error):
                    livebuf.loads(payload)
                continue
            opened += 1
            kept = bytes(bytearray(payload))
            several = list(reads(doc, chance))
            for action in chance.sample(several, 3 if not LONG else 5):
                read += attempt(action)
            assert payload == kept
            if chance.random() < 0.6:
                try:
                    editable = Document(bytearray(payload))
                except livebuf.ReadOnlyError:
                    # Of a feature that may be read, but not edited.
                    continue
                valid = chance.random() < 0.3 and attempt(editable.validate)
                validated += valid
                for action in chance.sample(list(edits(editable, chance)), 4):
                    edited += attempt(action)
                attempt(lambda doc=editable: walk(doc.root, [100]))  # type: ignore[misc]
                if valid:
                    # What was good stays so.
                    editable.validate()
                    # Values of kinds that are not known yet are valid, and cannot be read.
                    attempt(lambda doc=editable: livebuf.loads(bytes(doc)))  # type: ignore[misc]
    finally:
        faulthandler.cancel_dump_traceback_later()
    print(f"{done} mutations: {opened} opened, {read} reads and {edited} edits went well")
    # It must not be that nearly everything is refused at the door.
    assert opened > done * 0.5 and read > opened * 0.2 and edited > opened * 0.2
    assert validated > 0


def test_every_byte_of_a_small_document() -> None:
    """Each byte takes each of some values: reads, and edits of a copy."""
    original = livebuf.dumps(
        {"a": [1, {"b": "text that is long"}], "c": [{"d": n} for n in range(9)]}
    )
    chance = random.Random(1)
    for at in range(len(original)):
        for value in (0, 1, 0xFF, original[at] ^ 1, original[at] ^ 0x80):
            payload = original[:at] + bytes([value]) + original[at + 1 :]
            if payload == original:
                continue
            attempt(lambda: livebuf.loads(payload))  # noqa: B023
            try:
                doc = Document(bytearray(payload))
            except livebuf.Error:
                continue
            attempt(lambda: walk(doc.root, [100]))  # noqa: B023
            for action in chance.sample(list(edits(doc, chance)), 2):
                attempt(action)


def test_every_length() -> None:
    for original in (livebuf.dumps({"a": [1, 2, "some longer text"]}), livebuf.dumps(sample(3))):
        for length in range(0, len(original), 1 if len(original) < 1000 else 7):
            cut = original[:length]
            for action in (
                lambda: livebuf.loads(cut),  # noqa: B023
                lambda: Document(cut).validate(),  # noqa: B023
                lambda: livebuf.loads(cut, type=Anything),  # noqa: B023
            ):
                with pytest.raises(livebuf.Error):
                    action()
        for more in range(1, 40):
            assert livebuf.loads(original + b"\xff" * more) == livebuf.loads(original)


def test_random_bytes(chance: random.Random) -> None:
    header = livebuf.dumps([1])[:12]
    for _ in range(3000):
        payload = header + chance.randbytes(chance.randrange(200))
        attempt(lambda payload=payload: livebuf.loads(payload))  # type: ignore[misc]
        attempt(lambda payload=payload: walk(Document(payload).root, [50]))  # type: ignore[misc]


def test_values_without_end() -> None:
    """A few bytes that say that they are many values: refused by the budget, soon."""
    original = bytearray(livebuf.dumps([[None] * 40] * 40, tables=False))
    refused = 0
    for word in range(32, len(original) - 4, 4):
        payload = bytearray(original)
        payload[word : word + 4] = (0x0FFFFFFF).to_bytes(4, "little")
        for action in (
            lambda: livebuf.loads(payload),  # noqa: B023
            lambda: Document(payload).to_python(),  # noqa: B023
            lambda: livebuf.to_json(Document(payload)),  # noqa: B023
            lambda: Document(payload).copy().compact(),  # noqa: B023
        ):
            try:
                action()
            except livebuf.Error:
                refused += 1
    assert refused > 0


def test_features_that_may_only_be_read() -> None:
    """Bug: the message spoke of bytes and files, and told to call editable()."""
    payload = bytearray(livebuf.dumps({"a": 1}))
    payload[6] = 1
    assert livebuf.loads(payload) == {"a": 1}
    doc = Document(bytes(payload))
    assert doc["a"] == 1 and doc.readonly
    for action in (doc.copy, doc.editable, lambda: Document(payload)):
        with pytest.raises(livebuf.ReadOnlyError, match="feature"):
            action()
    with pytest.raises(livebuf.ReadOnlyError):
        doc["a"] = 2


def circular() -> list[bytes]:
    """Documents in which a container holds itself."""
    found = []
    for value in ({"next": {"next": {"next": None}}}, [[[[]]]], {"rows": [{"rows": []}]}):
        original = livebuf.dumps(value, tables=False)
        for at in range(32, len(original), 4):
            for target in range(32, len(original), 8):
                payload = bytearray(original)
                payload[at : at + 4] = target.to_bytes(4, "little")
                try:
                    livebuf.to_json(Document(bytes(payload)))
                except livebuf.Error as error:
                    if error.kind in ("NestingLimit", "BudgetExceeded"):
                        found.append(bytes(payload))
    return found


def test_circles() -> None:
    documents = circular()
    assert documents
    for payload in documents:
        for action in (
            lambda: livebuf.loads(payload),  # noqa: B023
            lambda: livebuf.loads(payload, type=Anything),  # noqa: B023
            lambda: Document(payload).validate(),  # noqa: B023
            lambda: Document(payload) == {"next": None},  # noqa: B023
            lambda: Document(payload).digest(),  # noqa: B023
            lambda: Document(payload).copy().compact(),  # noqa: B023
            lambda: livebuf.dumps([Document(payload)]),  # noqa: B023
        ):
            attempt(action)
        attempt(lambda: walk(Document(payload).root, [500]))  # noqa: B023


class TestWrongArguments:
    WRONG: list[Any] = [None, 5, -1, 1.5, "text", b"bytes", [], {}, object(), int, (1, 2), 2**70]

    def test_of_everything(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every method takes any argument: an exception of Python or of livebuf, no crash."""
        # `save` takes text as a path.
        monkeypatch.chdir(tmp_path)
        allowed = (livebuf.Error, TypeError, ValueError, OverflowError, IndexError, KeyError)
        # `__buffer__` is a method from CPython 3.12 on: of a document that is not writable.
        allowed += (BufferError,)
        value = {"a": [1, 2], "o": {"x": 1}, "rows": [{"n": n} for n in range(9)]}
        makers: list[Callable[[], Any]] = [
            lambda: Document.from_python(value),
            lambda: Document.from_python(value).root,
            lambda: Document.from_python(value)["a"],
            lambda: Document.from_python(value)["rows"].table,
            lambda: Document.from_python(value)["rows"].table.column("n"),
        ]
        called = 0
        for make in makers:
            for name in dir(type(make())):
                if name in ("__class__", "__init_subclass__", "__subclasshook__", "__new__"):
                    continue
                for arguments in [(), *((w,) for w in self.WRONG), (None, None), ("a", 5), (0, [])]:
                    method = getattr(make(), name)
                    if not callable(method):
                        continue
                    called += 1
                    try:
                        method(*arguments)
                    except (*allowed, AttributeError):
                        pass
                    except ModuleNotFoundError:
                        # That says which package is to be installed.
                        assert name in ("to_pandas", "to_polars"), name
        for function in (
            livebuf.dumps,
            livebuf.loads,
            livebuf.from_json,
            livebuf.to_json,
            livebuf.from_arrow,
            livebuf.Document,
            livebuf.default,
        ):
            for wrong in self.WRONG:
                called += 1
                try:
                    function(wrong)
                except allowed:
                    pass
        assert called > 1000
        gc.collect()

    def test_objects_that_lie(self) -> None:
        class Liar:
            def __len__(self) -> int:
                return 10**9

            def __iter__(self) -> Iterator[int]:
                return iter([1])

            def __getitem__(self, key: Any) -> Any:
                raise ZeroDivisionError

            def keys(self) -> Any:
                return ["a"]

            def __index__(self) -> int:
                raise ZeroDivisionError

            def __eq__(self, other: object) -> bool:
                raise ZeroDivisionError

            __hash__ = None  # type: ignore[assignment]

        doc = Document.from_python({"a": [1, 2, 3], "o": {}})
        liar: Any = Liar()
        assert doc["a"].extend(liar) is None
        for action in (
            lambda: doc["o"].update(liar),
            lambda: doc["a"][liar],
            lambda: liar in doc["a"],
            lambda: doc["a"].count(liar),
            lambda: doc["a"].index(liar),
            lambda: doc["a"].remove(liar),
            lambda: livebuf.dumps(liar),
        ):
            with pytest.raises((ZeroDivisionError, livebuf.EncodeError, TypeError)):
                action()
        assert doc == {"a": [1, 2, 3, 1], "o": {}}

    def test_code_that_edits_meanwhile(self) -> None:
        """What is compared, iterated or stored may edit the document that asks."""
        doc = Document.from_python({"a": [1, 2, 3] * 20, "o": {"x": 1}})

        class Editing:
            def __eq__(self, other: object) -> bool:
                doc["a"].clear()
                doc["o"] = 5
                return False

            __hash__ = None  # type: ignore[assignment]

        assert Editing() not in doc["a"]

        def items() -> Iterator[Any]:
            for n in range(5):
                doc["a"] = [n]
                yield n

        array = doc["a"]
        array.extend(items())
        assert doc["a"] == [4] and array == [0, 1, 2, 3, 4]
        array = doc["a"]
        array[0:1] = items()
        assert doc["a"] == [4] and array == [0, 1, 2, 3, 4]

        class Storing:
            pass

        def default(obj: Any) -> Any:
            doc["new"] = [1]
            return len(doc)

        assert livebuf.loads(livebuf.dumps([doc, Storing(), doc], default=default))[2]["new"] == [1]
        doc.close()

        def closing() -> Iterator[int]:
            other.close()
            yield 1

        other = Document.from_python([1])
        root = other.root
        with pytest.raises(livebuf.ClosedError):
            root.extend(closing())


DEEP = """
import threading, livebuf

value = 0
for level in range(999):
    value = [value] if level % 2 else {"key": value}


def run():
    payload = livebuf.dumps(value)
    assert livebuf.dumps(livebuf.loads(payload)) == payload
    json = livebuf.to_json(livebuf.loads(payload))
    doc = livebuf.from_json(json)
    assert doc == livebuf.Document(payload)
    assert livebuf.to_json(doc, indent=1)
    doc.validate()
    edited = livebuf.Document.from_python({"a": 0})
    edited["a"] = doc["key"]
    edited["a"] = 1
    edited.compact()
    try:
        livebuf.loads(payload, type=list[int])
    except livebuf.WrongTypeError:
        done.append(True)


done = []
threading.stack_size(256 * 1024)
thread = threading.Thread(target=run)
thread.start()
thread.join()
assert done
"""


def test_the_deepest_documents_on_a_small_stack() -> None:
    """Bug: reading 500 levels ended the process in a thread of 256 KiB."""
    subprocess.run([sys.executable, "-c", DEEP], check=True)


def colliding(count: int) -> list[str]:
    """Keys of 16 bytes that all have one hash (docs/FORMAT.md 7.4)."""

    keys, number = set[str](), 0
    while len(keys) < count:
        number += 1
        digits = number * 0x9E3779B97F4A7C15 & 0x0F0F0F0F0F0F0F0F | 0x3030303030303030
        x, y = 16 ^ digits & 0xFFFFFFFF, 0x9E3779B1 ^ digits >> 32
        a, b = (x ^ y >> 14) * 0x85EBCA6B, (y ^ x >> 18) * 0xC2B2AE35
        second = (a & 0xFFFFFFFF | (b & 0xFFFFFFFF) << 32) ^ 0x123456789ABCDEF0
        if not second & 0x8080808080808080:
            keys.add((digits.to_bytes(8, "little") + second.to_bytes(8, "little")).decode())
    return sorted(keys)


def test_keys_that_collide() -> None:
    """Keys of one hash get a tree, by whatever way they come, and all are found."""
    keys = colliding(230)
    others = [str(n) for n in range(100)]
    there = dict.fromkeys([*keys[:200], *others], 1)
    edited = Document.from_python({"map": {}})
    for key in there:
        edited["map"][key] = 1
    updated = Document.from_python({"map": dict.fromkeys(keys[:3], 1)})
    updated["map"].update(there)
    copied = Document.from_python({})
    copied["map"] = edited["map"]
    text = livebuf.from_json(livebuf.to_json({"map": there}))
    for doc in [Document.from_python({"map": there}), edited, updated, copied, text]:
        doc.validate()
        found = doc["map"]
        assert dict(found) == there
        assert all(key not in found for key in keys[200:])
        assert [key for key, _ in found.range()] == sorted(there)
        del found[keys[3]]
        found.rename(keys[4], "renamed")
        doc.validate()
        assert keys[4] not in found and len(found) == len(there) - 1


def test_order() -> None:
    """The index for the order of keys changes no value, and follows edits."""
    doc = Document.from_python({"users": {f"user {n}": n for n in range(1000)}, "rest": [1]})
    users, length = doc["users"], len(bytes(doc))
    first = list(users.prefix("user 12"))
    users.order()
    assert len(bytes(doc)) > length
    users["user 120000"] = 1
    del users["user 12"]
    doc.validate()
    assert list(users.prefix("user 12")) == [*first[1:2], ("user 120000", 1), *first[2:]]
    assert list(users)[:3] == ["user 0", "user 1", "user 2"]


def test_many_values_of_one_long_text() -> None:
    """Bug: 30 kB of which each value was the same 20 kB became gigabytes of objects."""
    items = [b"\x01" * 60_000, *(b"number %d of many" % n for n in range(2500))]
    data = bytearray(livebuf.dumps(items))

    def cell(item: bytes) -> int:
        start = data.index(item).to_bytes(4, "little")
        return next(at for at in range(32, len(data), 8) if data[at : at + 4] == start)

    first = cell(items[0])
    for item in items[1:]:
        at = cell(item)
        data[at : at + 8] = data[first : first + 8]
    doc = Document(data)
    assert doc[2500] == doc[0] == items[0]
    for make in (
        lambda: livebuf.loads(data),
        lambda: doc.to_python(),
        lambda: livebuf.loads(data, type=list[bytes]),
    ):
        with pytest.raises(livebuf.LimitError, match="budget"):
            make()
