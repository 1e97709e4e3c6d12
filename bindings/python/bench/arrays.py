"""Arrays of numpy in documents, and one column of a large table by a query engine."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from typing import Any

import livebuf

from .report import OURS, Report
from .timing import Contest, Effort

NUMPY = "numpy.save"


INPUTS = [
    "arrays of numpy: stored as tensors, and by numpy.save to memory; read without a copy, and by "
    "numpy.load",
    "the sum of one column of an open document by DuckDB: `table.select([...])`, each time "
    "validated anew, since others could write to the memory",
]


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    try:
        import numpy
    except ImportError as error:
        report.skip(f"arrays: {error}")
        return
    generator = numpy.random.default_rng(1)
    arrays = {
        "1000x768 float32": generator.random((1000, 768), dtype="f4"),
        "480x640x3 uint8": generator.integers(0, 256, (480, 640, 3), dtype="u1"),
    }
    chosen = {name: array for name, array in arrays.items() if wanted(f"arrays/{name}")}
    for name, array in chosen.items():
        _stored(effort, report, numpy, f"arrays/{name}", array)
    for name, array in chosen.items():
        _read(effort, report, numpy, f"arrays/{name}", array)
    if wanted("arrays/sum"):
        _sum(effort, report)


def _save(numpy: Any, array: Any) -> bytes:
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def _stored(effort: Effort, report: Report, numpy: Any, name: str, array: Any) -> None:
    contest = Contest()
    contest.add(OURS, lambda array: livebuf.dumps({"array": array}), [array])
    contest.add(NUMPY, lambda array: _save(numpy, array), [array])
    times = contest.run(effort)
    report.figure("Arrays of numpy to bytes", name.removeprefix("arrays/"), times)
    report.against(f"{name} stored", times, [NUMPY], 3.0)


def _read(effort: Effort, report: Report, numpy: Any, name: str, array: Any) -> None:
    stored, saved = livebuf.dumps({"array": array}), _save(numpy, array)

    def ours(stored: bytes) -> Any:
        return livebuf.Document(stored)["array"].numpy()

    found = ours(stored)
    borrowed = numpy.shares_memory(found, numpy.frombuffer(stored, dtype="u1"))
    if not borrowed or found.dtype != array.dtype or not numpy.array_equal(found, array):
        report.fail(f"{name}: another array, or a copy")
        return
    contest = Contest()
    contest.add(OURS, ours, [stored])
    contest.add("numpy.load", lambda saved: numpy.load(io.BytesIO(saved)), [saved])
    times = contest.run(effort)
    report.figure("Bytes to an array of numpy", name.removeprefix("arrays/"), times)
    report.against(f"{name} read", times, ["numpy.load"], 1.0)


def _sum(effort: Effort, report: Report) -> None:
    try:
        import duckdb
    except ImportError as error:
        report.skip(f"arrays/sum: {error}")
        return
    count = 100_000 if effort.quick else 1_000_000
    generator = random.Random(1)
    rows = [
        {
            "ts": 1_700_000_000_000 + 13 * row,
            "ms": generator.random() * 100 if row % 3 else row % 100,
            "path": f"/api/v1/{row % 977}",
            "status": generator.choice([200, 200, 200, 404, 500]),
        }
        for row in range(count)
    ]
    expected = sum(row["ms"] for row in rows)
    document = livebuf.Document(bytearray(livebuf.dumps(rows)))
    whole, one = document.root.table, document.root.table.select(["ms"])

    def query(events: Any) -> float:
        return float(duckdb.sql("select sum(ms) from events").fetchall()[0][0])

    for table in (whole, one):
        if abs(query(table) - expected) > 1e-6 * expected:
            report.fail("arrays/sum: another sum")
            return
    contest = Contest(wall=True)
    contest.add(OURS, query, [one])
    contest.add("all columns", query, [whole])
    times = contest.run(effort)
    report.figure("Sum of a column by DuckDB", f"{count:,} rows", times)
    report.time(f"arrays/sum of one column of {count:,} rows", times[OURS], 0.03)
