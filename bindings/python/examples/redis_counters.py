"""Workers that change documents in Redis, and send only the bytes that changed.

`python redis_counters.py` starts a `redis-server` and two workers, which add to the same counters.

A worker keeps the document in memory. It watches the document's revision. Where that is the one
that it knows, it sends the changed ranges by `SETRANGE`, and the next revision, in one `MULTI`.
Where another worker was faster, it reads the document and does its edit again: no update is lost.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import livebuf
import redis


class StoredDocument:
    """A document under a key; its revision is under another one."""

    def __init__(self, store: redis.Redis, key: str) -> None:
        self.store, self.key = store, key
        self.revision = -1
        self.doc = livebuf.Document.from_python(None)
        self.repeated = 0

    def create(self, value: Any) -> None:
        pipe = self.store.pipeline(transaction=True)
        pipe.set(self.key, livebuf.dumps(value))
        pipe.incr(f"{self.key}:revision")
        pipe.execute()

    def edit(self, change: Callable[[livebuf.Document], None]) -> None:
        """Changes the document. `change` may be called again, with a newer document."""
        pipe: Any
        with self.store.pipeline(transaction=True) as pipe:
            while True:
                pipe.watch(f"{self.key}:revision")
                revision = int(pipe.get(f"{self.key}:revision") or 0)
                if revision != self.revision:
                    self.doc = livebuf.Document(pipe.get(self.key)).editable()
                    self.doc.validate()  # Else edits of text append, and the value grows.
                self.revision = -1  # Of no document, until all of it is stored.
                with self.doc.recording() as changes:
                    change(self.doc)
                pipe.multi()
                with memoryview(self.doc) as now:
                    for offset, length in changes.ranges:
                        pipe.setrange(self.key, offset, bytes(now[offset : offset + length]))
                pipe.incr(f"{self.key}:revision")
                try:
                    pipe.execute()
                except redis.WatchError:
                    self.repeated += 1
                    continue
                self.revision = revision + 1
                return


@contextlib.contextmanager
def server() -> Iterator[str]:
    """A `redis-server` that keeps nothing; the path of its socket."""
    program = shutil.which("redis-server")
    if program is None:
        raise FileNotFoundError("redis-server is not installed")
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
            yield path
        finally:
            process.terminate()
            process.wait()


def work(path: str, times: int) -> None:
    """One worker: adds to some counters."""
    stored = StoredDocument(redis.Redis(unix_socket_path=path), "game")

    def score(doc: livebuf.Document) -> None:
        turn = doc["rounds"] = doc["rounds"] + 1
        doc["players"][turn % 10]["score"] += 1
        doc["players"][turn * 7 % 6000]["seen"] += 1

    for _ in range(times):
        stored.edit(score)
    print(stored.repeated)


def run(path: str, times: int = 300, workers: int = 2) -> tuple[Any, int, int]:
    """The document after all workers have ended, edits that were done again, bytes sent."""
    store = redis.Redis(unix_socket_path=path)
    stored = StoredDocument(store, "game")
    players = [{"name": f"player {n}", "score": 0, "seen": 0} for n in range(6000)]
    stored.create({"rounds": 0, "players": players})
    before = received(store)
    started = [
        subprocess.Popen(
            [sys.executable, __file__, path, str(times)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(workers)
    ]
    repeated = [int(process.communicate()[0]) for process in started]
    sent = received(store) - before
    body: Any = store.get("game")
    return livebuf.loads(body), sum(repeated), sent


def received(store: redis.Redis) -> int:
    """Bytes that the server received of all clients."""
    stats: Any = store.info("stats")
    return int(stats["total_net_input_bytes"])


def main() -> None:
    if len(sys.argv) > 1:
        return work(sys.argv[1], int(sys.argv[2]))
    with server() as path:
        value, repeated, sent = run(path)
    rounds = value["rounds"]
    print(f"{rounds} edits by two workers, none lost; {repeated} of them were done again")
    print(f"{sent // rounds} bytes sent for each, of a document of {len(livebuf.dumps(value)):,}")


if __name__ == "__main__":
    main()
