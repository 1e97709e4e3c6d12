"""LiveBuf documents, JSONB and JSON text in SQLite: answers are compared, then ratios printed.

    cargo build --release -p livebuf-sqlite
    .venv/bin/python bindings/sqlite/bench.py ../shared/data/twitter.json

Each row's document differs by a member, since SQLite keeps parsed text of JSON that it has just
seen. Times are the best of several runs; ratios are within one run.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import apsw

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bindings/sql"), str(ROOT / "bindings/python")]

from bench.report import Report  # noqa: E402
from bench.timing import Seconds  # noqa: E402
from small import small  # noqa: E402

SUFFIX = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
EXTENSION = os.environ.get(
    "LIVEBUF_SQLITE", ROOT / "target/release" / f"liblivebuf_sqlite.{SUFFIX}"
)

# What results call them, and what any function takes that gets a blob.
NAMES = {"livebuf": "livebuf", "jsonb": "SQLite JSONB", "text": "JSON text in SQLite"}
LEAST = "substr of the blob, the least of any function"

# Kinds of documents: the table, what makes them of JSON text, and a value of one.
KINDS = {
    "livebuf": ("l", "lb({})"),
    "jsonb": ("b", "jsonb({})"),
    "text": ("j", "json({})"),
}


def connect(path, cache):
    db = apsw.Connection(str(path))
    db.enable_load_extension(True)
    db.load_extension(str(EXTENSION))
    for pragma in ("journal_mode = wal", f"cache_size = {cache}", "wal_autocheckpoint = 0"):
        db.execute(f"PRAGMA {pragma}").fetchall()
    return db


def fill(db, text, rows):
    """Tables of the documents `text(0)`, `text(1)` and so on."""
    with db:
        for table, make in KINDS.values():
            db.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, d)")
            values = ((n, text(n)) for n in range(rows))
            db.executemany(f"INSERT INTO {table} VALUES (?, {make.format('?')})", values)
    db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


# Of each document with a list.
ITEMS = 20
ITEM_WORDS = "alpha beta gamma delta epsilon zeta eta theta".split()


def item(rng):
    return {
        "sku": f"SKU-{rng.randrange(10**6):06}",
        "name": " ".join(rng.choices(ITEM_WORDS, k=4)),
        "count": rng.randrange(10),
        "price": rng.randrange(100, 100_000) / 100,
        "tags": rng.sample(ITEM_WORDS, 2),
    }


def items(number):
    """A document with a list of items."""
    rng = random.Random(number)
    return json.dumps({"id": number, "items": [item(rng) for _ in range(ITEMS)]})


class Bench:
    def __init__(self, db, what, rows, runs, report):
        self.db, self.what, self.rows, self.runs = db, what, rows, runs
        self.report = report
        self.row = -1  # the last one that was updated

    def task(self, task, cells, unit=None):
        """Keeps the figures of one task, whose answers were compared."""
        task = f"SQLite, {task}"
        for name in cells:
            self.report.same(task, name, True)
        self.report.result(task, cells, task, unit)

    def sizes(self):
        """The bytes of a row's document of each kind."""
        sizes = {}
        for kind, (table, _) in KINDS.items():
            query = f"SELECT avg(length(CAST(d AS BLOB))) FROM {table}"
            ((sizes[NAMES[kind]],),) = self.db.execute(query)
            print(f"  {kind:28} {sizes[NAMES[kind]]:10.0f} bytes a row")
        rounded = {name: round(size) for name, size in sizes.items()}
        self.task(f"bytes of a row/{self.what}", rounded)

    def answers(self, value, table):
        """The value of each row."""
        return self.db.execute(f"SELECT {value} FROM {table} ORDER BY id").fetchall()

    def micros(self, name, value, table):
        """Microseconds a row. `count` looks at each value."""
        times = []
        for _ in range(self.runs):
            begin = time.perf_counter()
            self.db.execute(f"SELECT count({value}) FROM {table}").fetchall()
            times.append((time.perf_counter() - begin) / self.rows)
        print(f"  {name:28} {min(times) * 1e6:10.3f} µs")
        return Seconds(times)

    def reads(self, path):
        """All ways to read one value of each row."""
        print(f"{path}, of {self.rows} rows")
        extract = f"lb_extract(d, '{path}')"
        read = f"lb_read('main', 'l', 'd', id, '{path}')"
        arrow = f"d ->> '{path}'"
        expected = self.answers(arrow, "j")
        for value, table in ((extract, "l"), (read, "l"), (arrow, "b")):
            if self.answers(value, table) != expected:
                raise SystemExit(f"{value} differs from {arrow} of JSON text")
        times = {
            LEAST: self.micros("substr(blob, 1, 8)", "substr(d, 1, 8)", "l"),
            NAMES["text"]: self.micros("->> of JSON text", arrow, "j"),
            NAMES["jsonb"]: self.micros("->> of JSONB", arrow, "b"),
            "livebuf": self.micros("lb_extract", extract, "l"),
            "livebuf, lb_read": self.micros("lb_read", read, "l"),
        }
        self.task(f"one value of each row of {self.what}/{path}", times)
        floor, text, jsonb, ours, parts = times.values()
        print(
            f"  lb_extract: {ours / floor:.2f} of substr, {ours / jsonb:.2f} of JSONB, "
            f"{ours / text:.4f} of JSON text\n"
            f"  lb_read: {jsonb / parts:.1f} times faster than JSONB, "
            f"{text / parts:.0f} than JSON text\n"
        )

    def elements(self):
        """A field of each item of each row, where another one of the item says so."""
        each = (
            "SELECT sum({0}(e.{1}, '$.price')) FROM {2}, {3}(d, '$.items') e "
            "WHERE {0}(e.{1}, '$.count') > 3"
        )
        ways = {
            NAMES["text"]: each.format("json_extract", "value", "j", "json_each"),
            NAMES["jsonb"]: each.format("json_extract", "value", "b", "json_each"),
            "SQLite JSONB, jsonb_each": each.format("json_extract", "value", "b", "jsonb_each"),
            "livebuf": each.format("lb_extract", "element", "l", "lb_each"),
            "livebuf, lb_query": "SELECT sum(e.value) FROM l, "
            "lb_query(d, '$.items[?@.count > 3].price') e",
        }
        print(f"two fields of each item, of {self.rows} rows with {ITEMS} items")
        answers, times = set(), {name: [] for name in ways}
        for _ in range(self.runs):
            for name, query in ways.items():
                begin = time.perf_counter()
                answers.update(self.db.execute(query).fetchall())
                times[name].append((time.perf_counter() - begin) / self.rows / ITEMS)
        if len(answers) > 1:
            raise SystemExit(f"answers differ: {answers}")
        times = {name: Seconds(seconds) for name, seconds in times.items()}
        for name, seconds in times.items():
            print(f"  {name:28} {seconds * 1e6:10.3f} µs")
        self.task("two fields of each element of lists", times)
        _, jsonb, binary, ours, query = times.values()
        print(
            f"  lb_each: {ours / jsonb:.2f} of json_each, {ours / binary:.2f} of jsonb_each; "
            f"lb_query: {query / jsonb:.2f} and {query / binary:.2f}\n"
        )

    def updates(self, path, cases):
        """Pages that an update of one value writes to the write-ahead log, of a row.

        What is written depends on the new value. SQLite writes only the pages that differ if the
        row keeps its length, and else all of the row's. JSONB and JSON text keep it if the value
        takes as many bytes as the old one. LiveBuf keeps it too where nothing moves, as in most
        numbers; and where something moves, if the document has room for that. Each update has a
        row of its own.
        """
        ways = (
            ("livebuf", "livebuf", "lb_set", 0),
            ("livebuf, with room", "livebuf", "lb_set", 16_384),
            (NAMES["jsonb"], "jsonb", "jsonb_set", 0),
            (NAMES["text"], "text", "json_set", 0),
        )
        print(f"pages that an update of {path} writes")
        print(f"  {'':40}" + "".join(f"{function:>12}" for _, _, function, _ in ways))
        for name, value in cases:
            pages = []
            for _, kind, function, room in ways:
                self.row += 1
                table = KINDS[kind][0]
                get = "lb_extract(d, ?)" if kind == "livebuf" else "d ->> ?"
                read = f"SELECT {get} FROM {table} WHERE id = ?"
                ((old,),) = self.db.execute(read, (path, self.row))
                if room:
                    reserve = f"UPDATE {table} SET d = lb_reserve(d, ?) WHERE id = ?"
                    self.db.execute(reserve, (room, self.row)).fetchall()
                self.db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                update = f"UPDATE {table} SET d = {function}(d, ?, ?) WHERE id = ?"
                self.db.execute(update, (path, value, self.row)).fetchall()
                pages.append(self.db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)[0])
                ((found,),) = self.db.execute(read, (path, self.row))
                if found != value or found == old:
                    raise SystemExit(f"{function}: {found!r} instead of {value!r}, was {old!r}")
            counts = {way[0]: count for way, count in zip(ways, pages, strict=True)}
            self.task(f"pages that an update writes/{name}", counts, "pages")
            case = f"{name}, {old} to {value}"
            print(f"  {case:40}" + "".join(f"{count:12}" for count in pages))
        print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", default=ROOT.parent / "shared/data/twitter.json")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--small", type=int, default=100_000)
    parser.add_argument("--lists", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cache", type=int, default=-2_000_000, help="PRAGMA cache_size")
    parser.add_argument("--quick", action="store_true", help="few rows: a look, no record")
    parser.add_argument("--filter", default="", help="nothing is run unless SQLite's name has this")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.small, options.lists = 50, 5_000, 500
    report = Report()
    if options.filter in "SQLite":
        run(options, report)
    if options.json:
        report.json(options.json, [])


def run(options, report):
    document = json.loads(Path(options.file).read_text(encoding="utf-8"))
    print(f"SQLite {apsw.sqlite_lib_version()}, cache_size {options.cache}")

    with tempfile.TemporaryDirectory() as folder:
        db = connect(Path(folder) / "large.db", options.cache)
        fill(db, lambda n: json.dumps({**document, "row": n}, ensure_ascii=False), options.rows)
        bench = Bench(db, "twitter.json", options.rows, options.runs, report)
        bench.sizes()
        for path in ("$.statuses[50].user.screen_name", "$.statuses[99].id", "$.row"):
            bench.reads(path)
        bench.updates(
            "$.statuses[50].retweet_count",
            (
                ("a number with as many digits", 9),
                ("a number with more digits", 77),
                ("a number wider than its column", 70_000),
            ),
        )
        bench.updates(
            "$.statuses[50].user.screen_name",
            (("a text as long", "IwiAlohomorA"), ("a text that is longer", "IwiAlohomorA2")),
        )
        db.close()

        db = connect(Path(folder) / "small.db", options.cache)
        fill(db, small, options.small)
        bench = Bench(db, "small documents", options.small, options.runs, report)
        bench.sizes()
        for path in ("$.id", "$.note", "$.at.y", "$.tags[1]"):
            bench.reads(path)
        db.close()

        db = connect(Path(folder) / "lists.db", options.cache)
        fill(db, items, options.lists)
        bench = Bench(db, "lists", options.lists, options.runs, report)
        bench.sizes()
        bench.elements()
        db.close()


if __name__ == "__main__":
    main()
