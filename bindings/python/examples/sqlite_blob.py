"""A document of 600 kB in SQLite, of which a request changes three fields.

`python sqlite_blob.py` compares ways to do it on the same rows and prints a table for each of
three cases: new values that are as long as the old ones, longer ones, and one that is too wide
for the column that it is in.

The document stays in memory between requests. A request writes the bytes that changed into the
blob (`sqlite3.Blob`), and nothing else. A revision tells whether somebody else was there
meanwhile. It has a table of its own: an update of the blob's row would hand all of it to SQLite.

SQLite compares a row of the same length with the old one, and writes only the pages that differ.
So an update with the whole blob writes few pages, too, but copies and compares all of it. The same
holds for JSON, as text and as JSONB, if no value changes its length.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import livebuf

SCHEMA = """
pragma journal_mode = wal;
pragma synchronous = normal;
create table if not exists documents (id integer primary key, body blob);
create table if not exists revisions (id integer primary key, revision integer);
"""

# Bytes after a document that it may grow by, as a blob that is opened in place keeps its length. A
# column of 9,000 numbers that becomes wider takes 72,000 of them.
ROOM = 100_000


class StoredDocument:
    """A document in a row of `documents`."""

    def __init__(self, db: sqlite3.Connection, id: int) -> None:
        self.db, self.id = db, id
        self.revision: int | None = None
        self.doc = livebuf.Document.from_python(None)
        self.length = 0
        self.written = 0

    def store(self, doc: livebuf.Document) -> None:
        """Writes all of a document, with room to grow."""
        body = bytes(doc) + bytes(ROOM)
        self.db.execute("insert or replace into documents values (?, ?)", (self.id, body))
        self.length, self.written = len(body), self.written + len(body)

    def refresh(self) -> None:
        """Reads the document, if it is not the one that is known."""
        query = "select revision from revisions where id = ?"
        [revision] = self.db.execute(query, (self.id,)).fetchone()
        if revision != self.revision:
            query = "select body from documents where id = ?"
            [body] = self.db.execute(query, (self.id,)).fetchone()
            self.doc = livebuf.Document(body).editable()
            self.length, self.revision = len(body), revision

    @contextmanager
    def edit(self) -> Iterator[livebuf.Document]:
        """Edits the document in one transaction of SQLite's: whole or not at all."""
        self.db.execute("begin immediate")
        try:
            self.refresh()
            with self.doc.recording() as changes:
                yield self.doc
            if changes.length > self.length:
                self.store(self.doc)
            else:
                self.write(changes)
            update = "update revisions set revision = revision + 1 where id = ?"
            self.db.execute(update, (self.id,))
            self.db.execute("commit")
            self.revision = (self.revision or 0) + 1
        except BaseException:
            self.db.execute("rollback")
            self.revision = None  # What is in memory was never stored.
            raise

    def write(self, changes: livebuf.Recording) -> None:
        """Writes the bytes that changed."""
        with self.db.blobopen("documents", "body", self.id) as blob, memoryview(self.doc) as now:
            for offset, length in changes.ranges:
                blob.seek(offset)
                blob.write(now[offset : offset + length])
                self.written += length


def create(db: sqlite3.Connection, id: int, value: Any) -> StoredDocument:
    """A new row with a document."""
    db.executescript(SCHEMA)
    stored = StoredDocument(db, id)
    stored.store(livebuf.Document.from_python(value))
    db.execute("insert or replace into revisions values (?, 0)", (id,))
    stored.written = 0
    return stored


def players() -> Any:
    """A document of some 600 kB."""
    return {
        "round": 100,
        "players": [
            {
                "name": f"player {n}",
                "score": n,
                "team": {"id": n % 9, "wins": n % 5},
                "about": f"The player with the number {n} likes the letter {chr(97 + n % 26)}.",
            }
            for n in range(9000)
        ],
    }


# What is added to a score of four digits, and how often that is measured.
CASES = {
    "as many digits": (1, 30),
    "more digits": (10_000, 30),
    # Scores are stored with 16 bits, until one needs more. That happens once.
    "wider than its column": (100_000, 2),
}


def compare(folder: Path, value: Any, more: int, times: int) -> list[tuple[str, float, int, Any]]:
    """Changes three fields by each way, one of them by `more`: name, milliseconds, bytes written
    to the log of SQLite and the document afterwards. The first time only makes everything warm:
    it keeps all lengths."""
    import apsw  # Its SQLite is new enough for jsonb_set.

    path = folder / "documents.db"
    db = sqlite3.connect(path, isolation_level=None)
    stored = create(db, 1, value)
    db.execute("insert into documents values (2, ?)", (bytes(stored.doc) + bytes(ROOM),))
    stored.refresh()
    whole = stored.doc.copy()
    other = apsw.Connection(str(path))
    for connection in (db, other):  # Some builds write freed pages, too: as zeros.
        connection.execute("pragma secure_delete = off")
    text = json.dumps(value, separators=(",", ":"))
    other.execute("insert into documents values (3, jsonb(?)), (4, ?)", (text, text))

    def change(doc: Any, n: int) -> None:
        doc["round"] = 100 + n
        doc["players"][1000 + n * 7]["score"] += more if n else 1
        doc["players"][n * 11]["team"]["wins"] += 1

    def ranges(n: int) -> None:
        with stored.edit() as doc:
            change(doc, n)

    def rewritten(n: int) -> None:
        change(whole, n)
        # A row that keeps its length is one of which few pages differ.
        body = bytes(whole).ljust(stored.length, b"\0")
        db.execute("update documents set body = ? where id = 2", (body,))

    def jsonb(n: int) -> None:
        score, wins = f"$.players[{1000 + n * 7}].score", f"$.players[{n * 11}].team.wins"
        other.execute(
            "update documents set body = jsonb_set(body, '$.round', ?, ?, "
            "json_extract(body, ?) + ?, ?, json_extract(body, ?) + 1) where id = 3",
            (100 + n, score, score, more if n else 1, wins, wins),
        )

    def parsed(n: int) -> None:
        [body] = db.execute("select body from documents where id = 4").fetchone()
        plain = json.loads(body)
        change(plain, n)
        body = json.dumps(plain, separators=(",", ":"))
        db.execute("update documents set body = ? where id = 4", (body,))

    def in_row(id: int) -> Any:
        [body] = db.execute("select body from documents where id = ?", (id,)).fetchone()
        return livebuf.loads(body)

    def in_text(id: int) -> Any:
        row: Any = other.execute("select json(body) from documents where id = ?", (id,)).fetchone()
        return json.loads(row[0])

    ways: list[tuple[str, Callable[[int], None], Callable[[], Any]]] = [
        ("LiveBuf, the changed ranges", ranges, lambda: in_row(1)),
        ("LiveBuf, the whole blob", rewritten, lambda: in_row(2)),
        ("SQLite's jsonb_set", jsonb, lambda: in_text(3)),
        ("JSON text, parsed and printed", parsed, lambda: in_text(4)),
    ]
    log = Path(f"{path}-wal")
    results = []
    for name, way, read in ways:
        took, before = [], 0
        for n in range(times):
            if n == 1:  # The first one reads.
                db.execute("pragma wal_checkpoint(truncate)")
                before = log.stat().st_size
                db.execute("pragma wal_autocheckpoint = 0")
                other.execute("pragma wal_autocheckpoint = 0")
            start = time.perf_counter()
            way(n)
            took.append(time.perf_counter() - start)
        written = (log.stat().st_size - before) // (times - 1)
        results.append((name, min(took[1:]) * 1000, written, read()))
    other.close()
    db.close()
    return results


def main() -> None:
    value = players()
    if len(sys.argv) > 1:
        value["other"] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    size = len(json.dumps(value, separators=(",", ":")))
    nbytes = len(livebuf.dumps(value))
    print(f"three fields of a document of {nbytes:,} bytes ({size:,} of JSON)")
    for case, (more, times) in CASES.items():
        print(f"\n{case}, each time:")
        with tempfile.TemporaryDirectory() as folder:
            results = compare(Path(folder), value, more, times)
        for name, milliseconds, written, _ in results:
            print(f"{name:32} {milliseconds:8.2f} ms {written:12,} bytes to the log")


if __name__ == "__main__":
    main()
