"""Arrays of numpy in documents, and one column of a large table by a query engine."""

from __future__ import annotations

import io
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import livebuf

from .report import OURS, Report
from .timing import Contest, Effort

NUMPY = "numpy.save"


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
    ours = livebuf.loads(livebuf.dumps({"array": array}))["array"]
    theirs = numpy.load(io.BytesIO(_save(numpy, array)))
    report.same(f"{name} stored", OURS, numpy.array_equal(ours, array))
    report.same(f"{name} stored", NUMPY, numpy.array_equal(theirs, array))
    contest = Contest()
    contest.add(OURS, lambda array: livebuf.dumps({"array": array}), [array])
    contest.add(NUMPY, lambda array: _save(numpy, array), [array])
    times = contest.run(effort)
    report.figure("Arrays of numpy to bytes", name.removeprefix("arrays/"), times, f"{name} stored")
    report.against(f"{name} stored", times, [NUMPY], 3.0)


def _read(effort: Effort, report: Report, numpy: Any, name: str, array: Any) -> None:
    stored, saved = livebuf.dumps({"array": array}), _save(numpy, array)

    def ours(stored: bytes) -> Any:
        return livebuf.Document(stored)["array"].numpy()

    found = ours(stored)
    borrowed = numpy.shares_memory(found, numpy.frombuffer(stored, dtype="u1"))
    if not borrowed or found.dtype != array.dtype:
        report.fail(f"{name}: another type, or a copy")
        return
    report.same(name, OURS, numpy.array_equal(found, array))
    loaded = numpy.load(io.BytesIO(saved))
    report.same(name, "numpy.load", numpy.array_equal(loaded, array))
    contest = Contest()
    contest.add(OURS, ours, [stored])
    contest.add("numpy.load", lambda saved: numpy.load(io.BytesIO(saved)), [saved])
    times = contest.run(effort)
    report.figure("Bytes to an array of numpy", name.removeprefix("arrays/"), times, name)
    report.against(f"{name} read", times, ["numpy.load"], 1.0)


def _events(count: int) -> list[dict[str, Any]]:
    generator = random.Random(1)
    return [
        {
            "ts": 1_700_000_000_000 + 13 * row,
            "ms": generator.random() * 100 if row % 3 else row % 100,
            "path": f"/api/v1/{row % 977}",
            "status": generator.choice([200, 200, 200, 404, 500]),
            "trace": f"{generator.getrandbits(160):040x}",
            "user": {"id": generator.randrange(100_000), "plan": generator.choice(["free", "pro"])},
        }
        for row in range(count)
    ]


def _sum(effort: Effort, report: Report) -> None:
    try:
        import duckdb
        import polars
    except ImportError as error:
        report.skip(f"arrays/sum: {error}")
        return
    count = 100_000 if effort.quick else 1_000_000
    events = _events(count)
    expected = sum(event["ms"] for event in events)
    with tempfile.TemporaryDirectory() as directory:
        file, parquet = Path(directory, "events.lbuf"), Path(directory, "events.parquet")
        livebuf.dump(events, file)
        del events
        document = livebuf.open(file)
        polars.DataFrame(document.root.table).write_parquet(parquet)

        def duckdb_sum(document: Any) -> float:
            events = document.root.table.select(["ms"])  # noqa: F841
            return float(duckdb.sql("select sum(ms) from events").fetchall()[0][0])

        def polars_sum(document: Any) -> float:
            return float(polars.DataFrame(document.root.table.select(["ms"]))["ms"].sum())

        def duckdb_parquet(_: Any) -> float:
            return float(duckdb.sql(f"select sum(ms) from '{parquet}'").fetchall()[0][0])

        def polars_parquet(_: Any) -> float:
            return float(polars.scan_parquet(parquet).select("ms").sum().collect().item())

        peers = {"DuckDB": (duckdb_sum, duckdb_parquet), "polars": (polars_sum, polars_parquet)}
        for engine, (query, of_parquet) in peers.items():
            name = f"arrays/sum by {engine}"

            def first(_: Any, query: Callable[[Any], float] = query) -> float:
                return query(livebuf.open(file))

            contest = Contest(wall=True)
            for way, work, sample in (
                (OURS, query, document),
                ("livebuf, first after open", first, None),
                ("from Parquet", of_parquet, None),
            ):
                report.same(name, way, abs(work(sample) - expected) <= 1e-6 * expected)
                contest.add(way, work, [sample])
            times = contest.run(effort)
            report.figure(f"Sum of one of six columns, {count:,} rows", f"by {engine}", times, name)
            size = f"a file of {file.stat().st_size / 1e6:.0f} MB"
            report.time(f"{name}, first after open", times["livebuf, first after open"], 0.1, size)
            report.time(f"{name}, later", times[OURS], 0.03, size)

        contest = Contest()
        contest.add(OURS, lambda document: document.root.table.schema, [document])
        contest.add("livebuf, first after open", lambda _: livebuf.open(file).root.table.schema)
        contest.add("livebuf, opening alone", lambda _: livebuf.open(file))
        times = contest.run(effort)
        report.figure("The schema", f"{count:,} rows", times)
        report.time("arrays/sum: the schema", times[OURS], 20e-6)
        report.time(
            "arrays/sum: the schema, first after open", times["livebuf, first after open"], 100e-6
        )
        document.close()
