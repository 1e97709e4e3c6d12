"""Nobody waits for a document for ever: no Python code runs under its lock, signals end waiting.

Builds with debug assertions fail at once where a thread waits for the lock that it has itself.
"""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections import UserDict
from collections.abc import Callable, Iterator
from typing import Any

import livebuf
import pytest
from livebuf import Document

TEXT = '{"rows": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": "z"}], "list": [3, 1, 2]}'


class Index:
    """A number that looks at the document when it is asked for its value."""

    def __init__(self, look: Callable[[], Any], value: int = 1) -> None:
        self.look, self.value = look, value

    def __index__(self) -> int:
        self.look()
        return self.value

    def __float__(self) -> float:
        self.look()
        return float(self.value)

    def __eq__(self, other: object) -> bool:
        self.look()
        return self.value == other

    def __hash__(self) -> int:
        self.look()
        return hash(self.value)

    def __bool__(self) -> bool:
        self.look()
        return True

    def __str__(self) -> str:
        self.look()
        return "b"

    __repr__ = __str__


def callers(doc: Document) -> dict[str, Callable[[], Any]]:
    """Calls that run Python code, all of which look at the document."""
    array = livebuf.from_json("[10, 20, 30]")

    def look() -> None:
        len(doc), len(array), doc["list"][0], livebuf.to_json(doc), doc == {}, array[0]
        doc["seen"] = doc.get("seen", 0) + 1
        array[0] = 10

    number = Index(look)

    class Text(str):
        def __hash__(self) -> int:
            look()
            return super().__hash__()

        def __eq__(self, other: object) -> bool:
            look()
            return super().__eq__(other)

        def __str__(self) -> str:
            look()
            return "b"

        def encode(self, *_: Any) -> bytes:
            look()
            return b"b"

    class Mapping(UserDict[str, int]):
        def keys(self) -> Any:
            look()
            return super().keys()

        def __getitem__(self, key: str) -> int:
            look()
            return super().__getitem__(key)

        def items(self) -> Any:
            look()
            return super().items()

    class Numbers(list[int]):
        def __len__(self) -> int:
            look()
            return super().__len__()

        def __iter__(self) -> Iterator[int]:
            look()
            return super().__iter__()

    class Real(float):
        def __float__(self) -> float:
            look()
            return 1.0

    class Bytes(bytearray):
        def __buffer__(self, flags: int) -> memoryview:
            look()
            return super().__buffer__(flags)  # type: ignore[no-any-return,misc]

    class Arrow:
        def __arrow_c_stream__(self, schema: object = None) -> Any:
            look()
            return array.root.table.__arrow_c_stream__()

    class Path:
        def __fspath__(self) -> str:
            look()
            return "path"

    def iterate() -> Iterator[int]:
        for value in range(3):
            look()
            yield value

    def default(_: object) -> int:
        look()
        return 1

    def raises(call: Callable[[], Any]) -> Callable[[], Any]:
        def called() -> None:
            with pytest.raises((TypeError, ValueError, LookupError)):
                call()

        return called

    rows = doc["rows"]
    return {
        "doc[index]": lambda: array[number],
        "view[index]": lambda: array.root[number],
        "index of an object": raises(lambda: doc[number]),
        "slice": lambda: array.root[number : Index(look, 2)],
        "set index": lambda: array.__setitem__(number, number.value),
        "set slice": lambda: array.root.__setitem__(slice(number, number), iterate()),
        "delete index": lambda: livebuf.from_json("[1, 2]").__delitem__(number),
        "insert": lambda: array.root.insert(number, 5),
        "pop": lambda: array.root.pop(number),
        "swap": lambda: array.root.swap(number, number),
        "extend": lambda: array.root.extend(iterate()),
        "append": lambda: array.root.append(Numbers([1])),
        "real": lambda: array.root.append(Real(2.0)),
        "path": lambda: array.root.append(Path()),
        "in": lambda: number in array.root,
        "index": lambda: livebuf.from_json("[1]").root.index(number),
        "count": lambda: array.root.count(number),
        "remove": lambda: livebuf.from_json("[1]").root.remove(number),
        "text as a key": lambda: doc.get(Text("list")),
        "doc[text]": lambda: doc[Text("list")],
        "set text": lambda: doc.__setitem__(Text("new"), Text("value")),
        "update": lambda: doc.root.update(Mapping(x=1)),
        "update by pairs": lambda: doc.root.update((f"p{n}", n) for n in iterate()),
        "merge": lambda: doc.merge(Mapping(x=1)),
        "patch": raises(lambda: doc.patch(iterate())),
        "or": lambda: doc.root | Mapping(x=1),
        "equal to a mapping": lambda: doc == Mapping(x=1),
        "equal to values": lambda: doc["list"] == [number, number, number],
        "equal to a dict": lambda: rows[0] == {"a": number, "b": number},
        "unequal": lambda: doc["list"] != Numbers([3, 1, 2]),
        "root": lambda: setattr(doc, "root", {**doc.to_python(), "m": Mapping(x=1)}),
        "pointer": lambda: doc.set_pointer("/x", Mapping(x=1)),
        "dumps": lambda: livebuf.dumps([Mapping(x=1), doc, number], default=default),
        "to_json": lambda: livebuf.to_json({"a": Mapping(x=1), "d": doc}),
        "indent": lambda: livebuf.to_json(doc, indent=number),  # type: ignore[arg-type]
        "decode": lambda: livebuf.Decoder(dict[str, Any]).decode(doc),
        "hook": lambda: livebuf.Decoder(
            dict[str, complex], dec_hook=lambda *_: complex(default(None))
        ).decode(livebuf.dumps({"a": 1})),
        "from bytes": lambda: livebuf.loads(Bytes(livebuf.dumps([1]))),
        "edit bytes": lambda: Document(Bytes(livebuf.dumps([1]))).root.extend(range(100)),
        "from Arrow": lambda: livebuf.from_arrow(Arrow()),
        "update_all": lambda: Document(bytearray(bytes(doc))).update_all("$.list[*]", default),
        "column": lambda: rows.table.column("a")[number],
        "find": lambda: rows.table.column("a").find(Real(1.0)),
        "filter": lambda: rows.table.column("a").filter(Real(1.0), Real(2.0)),
        "select": lambda: rows.table.select(["a", "b"]).slice(number),
        "split": lambda: rows.table.split(number),
        "iterate": lambda: [look() for _ in rows[0].items()],
        "reversed": lambda: [look() for _ in reversed(array.root)],
    }


@pytest.mark.parametrize("name", callers(livebuf.from_json(TEXT)))
def test_what_python_code_calls_may_look_at_the_document(name: str) -> None:
    """Bug: `doc[key]` called `__index__` under the lock, and waited for itself."""
    doc = livebuf.from_json(TEXT)
    done: list[BaseException | None] = []

    def work() -> None:
        try:
            callers(doc)[name]()
            done.append(None)
        except BaseException as failure:
            done.append(failure)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(30)
    assert done, "it waits for itself"
    if done[0] is not None:
        raise done[0]
    doc.validate()


def test_the_task_that_asks_may_look_at_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a transaction each call asks asyncio for the running task."""
    doc = livebuf.from_json(TEXT)
    ask, depth = asyncio.current_task, [0]

    def current_task() -> Any:
        if depth[0] == 0:
            depth[0] += 1
            len(doc)
            depth[0] -= 1
        return ask()

    async def main() -> None:
        with doc.transaction():
            monkeypatch.setattr(asyncio, "current_task", current_task)
            assert doc["list"][0] == 3
        monkeypatch.undo()

    asyncio.run(main())


def test_a_source_may_look_at_the_log_that_is_read_from_it(tmp_path: Any) -> None:
    """Bug: reading a log elsewhere called the file object under the log's lock."""
    with livebuf.Log(tmp_path / "a.lblog", "x") as log:
        log.extend({"n": n} for n in range(2000))
    logs: list[livebuf.Log] = []

    class Source(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            for log in logs:
                assert not log.closed and len(log) == 2000
            return super().read(size)

    logs.append(livebuf.Log._elsewhere(source_of(Source((tmp_path / "a.lblog").read_bytes())), "a"))
    assert logs[0][1234] == {"n": 1234} and logs[0].refresh() == 0
    assert [row["n"] for row in logs[0]] == list(range(2000))


def source_of(file: io.BytesIO) -> Any:
    from livebuf import _files

    return _files.ranges(file)


WAITS = """
import livebuf, os, signal, sys, threading, time
doc = livebuf.from_json('{"v": 1}')
kept = []

def work():
    kept.append(doc.transaction())
    kept[0].__enter__()

thread = threading.Thread(target=work)
thread.start()
thread.join()

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.3)
timer = threading.Timer(20, lambda: os._exit(3))
timer.daemon = True
timer.start()
begun = time.monotonic()
try:
    CALL
except KeyboardInterrupt:
    assert time.monotonic() - begun < 5
    # The transaction ends, and the document is free.
    kept.clear()
    del thread
    assert doc["v"] == 1
    print("interrupted")
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    "call",
    [
        'doc["v"]',
        'doc["v"] = 2',
        "len(doc)",
        "livebuf.to_json(doc)",
        "doc == livebuf.from_json('{}')",
        "doc.copy()",
        "doc.closed",
        "doc.transaction().__enter__()",
        "livebuf.dumps([doc])",
        "doc.validate()",
    ],
)
def test_waiting_can_be_interrupted(call: str) -> None:
    """Bug: a thread that left a transaction open kept others waiting, and Ctrl-C did not end it."""
    code = WAITS.replace("CALL", call)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "interrupted\n", done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_handlers_may_look_at_the_document_that_is_waited_for() -> None:
    """A thread that waits runs handlers of signals, which may wait for the same document."""
    doc = livebuf.from_json('{"v": 1}')
    seen: list[int] = []
    begun, end = threading.Event(), threading.Event()

    def work() -> None:
        with doc.transaction():
            begun.set()
            end.wait(20)

    def handler(*_: Any) -> None:
        end.set()
        seen.append(doc["v"])

    before = signal.signal(signal.SIGALRM, handler)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    begun.wait(20)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        assert doc["v"] == 1 and seen == [1]
    finally:
        signal.signal(signal.SIGALRM, before)
    thread.join(20)


def test_a_partial_document_that_is_read_can_be_waited_for_and_interrupted() -> None:
    part = livebuf.Partial(io.BytesIO(livebuf.dumps({"a": 1})))
    begun, end = threading.Event(), threading.Event()

    def look(doc: Document) -> Any:
        begun.set()
        end.wait(20)
        return doc["a"]

    thread = threading.Thread(target=lambda: part.read(look), daemon=True)
    thread.start()
    begun.wait(20)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            len(part)
    finally:
        signal.signal(signal.SIGALRM, before)
        end.set()
    thread.join(20)
    assert part.pointer("/a") == 1


def test_many_threads_take_turns() -> None:
    """Those that look for signals meanwhile keep their turn."""
    doc = livebuf.from_json('{"n": 0}')
    counts = [0] * 6
    begin = threading.Barrier(len(counts))

    def work(number: int) -> None:
        begin.wait(30)
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            with doc.transaction():
                doc["n"] += 1
            counts[number] += 1

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(len(counts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert doc["n"] == sum(counts) and min(counts) > 0
