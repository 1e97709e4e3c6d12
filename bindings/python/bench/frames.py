"""JSON lines to a frame of polars: through a document, and by polars itself."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import livebuf

from .objects import objects
from .report import OURS, Report
from .sizes import readings
from .timing import Contest, Effort

READ_NDJSON = "polars.read_ndjson"
THREADS = 524_288
READINGS = 200_000


def _lines(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


def _coordinates() -> bytes:
    generator = random.Random(1)
    return _lines(
        [
            {"x": generator.random(), "y": generator.random(), "z": generator.random(), "lap": lap}
            for lap in range(100_000)
        ]
    )


def run(effort: Effort, report: Report, wanted: Callable[[str], bool], data: Path) -> None:
    try:
        import polars
    except ImportError as error:
        report.skip(f"frames: {error}")
        return
    inputs: dict[str, Callable[[], bytes]] = {
        "100,000 rows of coordinates": _coordinates,
        "10,000 similar objects, random": lambda: _lines(objects(10_000, "random")),
        "4,000 tweets' users": lambda: _lines(_users(data)),
    }
    for name, make in inputs.items():
        if wanted(f"frames/{name}"):
            try:
                lines = make()
            except FileNotFoundError as error:
                report.skip(f"frames/{name}: {error}")
                continue
            _frame(effort, report, polars, f"frames/{name}", lines)
    if wanted("frames/counts"):
        _counts(effort, report, polars)
    if wanted("frames/threads"):
        _threads(effort, report)


def _counts(effort: Effort, report: Report, polars: Any) -> None:
    """How many readings each sensor has: by the column, and by polars on the same Arrow data."""
    table = livebuf.Document(livebuf.dumps(readings(READINGS))).root.table
    column, frame = table["sensor"], polars.DataFrame(table.select(["sensor"]))

    def group_by(frame: Any) -> Any:
        return frame.group_by("sensor").len()

    expected = dict(group_by(frame).iter_rows())
    if not report.same("frames/counts", OURS, column.counts() == expected):
        return
    contest = Contest(wall=True)
    contest.add(OURS, lambda column: column.counts(), [column])
    contest.add("polars", group_by, [frame])
    times = contest.run(effort)
    name = f"counts of {READINGS:,} readings by sensor"
    report.figure("Counts by a column of text", name, times, "frames/counts")
    report.against(f"frames/{name}", times, ["polars"], 2.0)


def _threads(effort: Effort, report: Report) -> None:
    """A table to Arrow by one thread, and in two parts by two, which the interpreter lets run."""
    try:
        import pyarrow
    except ImportError as error:
        report.skip(f"frames/threads: {error}")
        return
    rows = [{"id": n, "text": f"text {n}", "ok": n % 3 == 0, "sec": n / 4} for n in range(THREADS)]
    doc = livebuf.Document(livebuf.dumps(rows))
    tables = {1: [doc.root.table], 2: doc.root.table.split(2)}
    with ThreadPoolExecutor(2) as pool:

        def export(count: int) -> Any:
            return list(pool.map(pyarrow.table, tables[count]))

        one, two = export(1), export(2)
        right = one[0].to_pylist() == rows
        report.same("frames/threads", "one thread", right)
        report.same("frames/threads", OURS, one[0].equals(pyarrow.concat_tables(two)))
        del rows
        contest = Contest(wall=True)
        contest.add("one thread", export, [1])
        contest.add(OURS, export, [2])
        times = contest.run(effort)
    name = f"{THREADS:,} rows to Arrow, by two threads"
    report.figure("Tables to Arrow by threads", name, times, "frames/threads")
    # 1.8 times as fast.
    report.against(f"frames/{name}", times, ["one thread"], 1 / 1.8)


def _users(data: Path) -> list[Any]:
    """Flat objects from real life: the users of twitter.json, over and over."""
    tweets = json.loads((data / "twitter.json").read_bytes())["statuses"]
    users = [
        {key: value for key, value in tweet["user"].items() if not isinstance(value, (dict, list))}
        for tweet in tweets
    ]
    return (users * 40)[:4000]


def _frame(effort: Effort, report: Report, polars: Any, name: str, lines: bytes) -> None:
    theirs = polars.read_ndjson(lines)
    schema = theirs.schema

    # polars orders columns by itself, and knows no lists of a fixed length in JSON.
    def through_document(lines: bytes) -> Any:
        frame = polars.DataFrame(livebuf.from_json(lines, lines=True).root.table)
        return frame if frame.schema == schema else frame.select(schema.names()).cast(schema)

    ours = through_document(lines)
    rows = [json.loads(line) for line in lines.splitlines()]
    if not report.same(name, OURS, ours.schema == schema and ours.equals(theirs)):
        return
    # A frame has null where an object has no such key.
    filled = [dict.fromkeys(theirs.columns) | row for row in rows]
    report.same(name, READ_NDJSON, theirs.to_dicts() == filled)
    parsed = livebuf.from_json(lines, lines=True).to_python()
    report.same(name, "livebuf, from_json alone", parsed == rows)
    del rows, filled, parsed
    contest = Contest(wall=True)
    contest.add(OURS, through_document, [lines])
    contest.add(READ_NDJSON, polars.read_ndjson, [lines])
    contest.add(
        "livebuf, from_json alone", lambda lines: livebuf.from_json(lines, lines=True), [lines]
    )
    times = contest.run(effort)
    report.figure("JSON lines to a polars frame", name.removeprefix("frames/"), times, name)
    report.against(name, times, [READ_NDJSON], None)
