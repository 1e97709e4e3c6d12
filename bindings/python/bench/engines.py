"""Queries of engines over files: documents through `livebuf.polars`, `livebuf.dask`,
`livebuf.spark` and Arrow, beside JSON lines and Parquet, which the engines read themselves.

`make bench-engines` runs this where all engines are installed.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import livebuf

from .report import OURS, Report
from .timing import Contest, Effort

TRUSTED, JSON, PARQUET = "livebuf, trusted=True", "JSON lines", "Parquet"
KINDS = ("click", "scroll", "view", "buy")


# A query's name, and what it answers.
Queries = dict[str, Callable[[Any], Any]]
Opened = dict[str, Callable[[], Any]]


def _events(count: int) -> Any:
    import polars as pl

    chance = random.Random(1)
    return pl.DataFrame(
        {
            "ts": [1_700_000_000_000 + 13 * n for n in range(count)],
            "id": range(count),
            "user": [chance.randrange(10_000) for _ in range(count)],
            "kind": [chance.choice(KINDS) for _ in range(count)],
            "value": [chance.randrange(10_000) / 100 for _ in range(count)],
            "page": [f"/articles/{chance.randrange(100_000)}" for _ in range(count)],
            "ok": [chance.random() < 0.9 for _ in range(count)],
            "at": [{"x": chance.random(), "y": chance.random()} for _ in range(count)],
        }
    )


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    engines = {"polars": _polars, "DuckDB": _duckdb, "Dask": _dask, "Spark": _spark}
    chosen = {name: run for name, run in engines.items() if wanted(f"engines/{name}")}
    if not chosen:
        return
    try:
        import livebuf.polars
        import polars as pl
    except ImportError as error:
        report.skip(f"engines: {error}")
        return
    count = 100_000 if effort.quick else 1_000_000
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        frame = _events(count)
        livebuf.polars.write(frame, folder / "events.lbuf", "/rows")
        frame.write_ndjson(folder / "events.ndjson")
        frame.write_parquet(folder / "events.parquet")
        sizes = {
            OURS: os.path.getsize(folder / "events.lbuf"),
            JSON: os.path.getsize(folder / "events.ndjson"),
            PARQUET: os.path.getsize(folder / "events.parquet"),
        }
        wrote = f"{count:,} events"
        rows = pl.read_parquet(folder / "events.parquet")
        for name, read in (
            (OURS, lambda: livebuf.polars.scan(folder / "events.lbuf", "/rows").collect()),
            (JSON, lambda: pl.read_ndjson(folder / "events.ndjson")),
            (PARQUET, lambda: pl.read_parquet(folder / "events.parquet")),
        ):
            report.same("engines/bytes", name, read().equals(frame))
        del frame
        report.figure("Bytes of the engines' files", wrote, sizes, "engines/bytes")
        expected = _expected(rows, count)
        del rows
        for name, measure in chosen.items():
            try:
                measure(_Runs(effort, report, name, expected, count), folder)
            except ImportError as error:
                report.skip(f"engines/{name}: {error}")


def _expected(frame: Any, count: int) -> dict[str, Any]:
    kinds = frame.select("kind", "value").group_by("kind").sum().rows()
    row = frame.row(count // 2, named=True)
    return {
        "sum": round(sum(frame["value"]), 2),
        "groups": sorted((kind, round(value, 2)) for kind, value in kinds),
        "row": [(row["user"], row["page"])],
        "all": count,
    }


class _Runs:
    """The queries of an engine."""

    def __init__(
        self, effort: Effort, report: Report, engine: str, expected: dict[str, Any], count: int
    ) -> None:
        self.effort = effort
        self.report = report
        self.engine = engine
        self.expected = expected
        self.wanted_id = count // 2
        self.count = count

    def compare(self, opened: Opened, queries: Queries) -> None:
        for query, ask in queries.items():
            workload = f"engines/{self.engine}, {query}"
            contest = Contest(wall=True)
            for name, open_ in opened.items():
                found = ask(open_())
                if not self.report.same(workload, name, found == self.expected[query]):
                    return

                def work(_: Any, open_: Any = open_, ask: Any = ask) -> None:
                    ask(open_())

                contest.add(name, work)
            times = contest.run(self.effort)
            self.report.figure(f"{self.engine} over files", TITLES[query], times, workload)
            self.report.against(workload, times, [JSON], None)
            self.report.against(workload, times, [PARQUET], None)


TITLES = {
    "sum": "sum of a column",
    "groups": "sum by 4 texts",
    "row": "one row of two columns, by id",
    "all": "all columns",
}


def _rounded(rows: Any) -> list[tuple[Any, float]]:
    return sorted((kind, round(value, 2)) for kind, value in rows)


def _polars(runs: _Runs, folder: Path) -> None:
    import livebuf.polars
    import polars as pl

    ours = livebuf.polars.scan
    runs.compare(
        {
            OURS: lambda: ours(folder / "events.lbuf", "/rows"),
            TRUSTED: lambda: ours(folder / "events.lbuf", "/rows", trusted=True),
            JSON: lambda: pl.scan_ndjson(folder / "events.ndjson"),
            PARQUET: lambda: pl.scan_parquet(folder / "events.parquet"),
        },
        {
            "sum": lambda f: round(f.select(pl.col("value").sum()).collect().item(), 2),
            "groups": lambda f: _rounded(
                f.group_by("kind").agg(pl.col("value").sum()).collect().rows()
            ),
            "row": lambda f: (
                f.filter(pl.col("id") == runs.wanted_id).select("user", "page").collect().rows()
            ),
            "all": lambda f: f.collect().height,
        },
    )
    _messages(runs)


def _messages(runs: _Runs) -> None:
    """A value out of each message of a column, in memory."""
    import livebuf.polars
    import polars as pl

    messages = [
        {
            "user": {"id": n * 7919 % 10_007, "name": f"user {n}"},
            "page": f"/articles/{n}",
            "values": [float(n), n / 2],
            "sent": {"at": 1_700_000_000_000 + n, "from": "web"},
        }
        for n in range(runs.count // 10)
    ]
    documents = pl.Series([livebuf.dumps(message) for message in messages])
    texts = pl.Series([livebuf.to_json(message).decode() for message in messages])
    structs = pl.Series(messages)
    contest = Contest(wall=True)
    ways: dict[str, Callable[[], Any]] = {
        OURS: lambda: livebuf.polars.extract(documents, "/user/id", pl.Int64),
        JSON: lambda: texts.str.json_path_match("$.user.id").cast(pl.Int64),
        "typed column in memory": lambda: structs.struct.field("user").struct.field("id"),
    }
    expected = [message["user"]["id"] for message in messages]
    for name, way in ways.items():
        if not runs.report.same("engines/polars, messages", name, way().to_list() == expected):
            return
        contest.add(name, lambda _, way=way: way())
    times = contest.run(runs.effort)
    title, workload = "A value out of messages, in polars", "engines/polars, messages"
    runs.report.figure(title, f"{len(messages):,} messages", times, workload)
    runs.report.against(workload, times, [JSON], None)


# Whom an engine tells of no columns is given those that a query needs.
NEEDED: dict[str, list[str] | None] = {
    "sum": ["value"],
    "groups": ["kind", "value"],
    "row": ["id", "user", "page"],
    "all": None,
}


def _duckdb(runs: _Runs, folder: Path) -> None:
    import duckdb

    def ours(columns: list[str] | None, trusted: bool) -> Any:
        table = livebuf.open(folder / "events.lbuf", trusted=trusted)["rows"].table
        return duckdb.connect(), table if columns is None else table.select(columns)

    def ask(opened: Any, sql: str) -> Any:
        connection, source = opened
        if not isinstance(source, str):
            connection.register("events", source)
            source = "events"
        return connection.execute(sql.format(source)).fetchall()

    queries: Queries = {
        "sum": lambda o: round(ask(o, "select sum(value) from {}")[0][0], 2),
        "groups": lambda o: _rounded(ask(o, "select kind, sum(value) from {} group by kind")),
        "row": lambda o: ask(o, f"select user, page from {{}} where id = {runs.wanted_id}"),
        "all": lambda o: ask(o, "create temp table copied as from {}")[0][0],
    }
    for query, ask_it in queries.items():
        columns = NEEDED[query]
        runs.compare(
            {
                OURS: lambda columns=columns: ours(columns, False),
                TRUSTED: lambda columns=columns: ours(columns, True),
                JSON: lambda: (duckdb.connect(), f"read_json('{folder}/events.ndjson')"),
                PARQUET: lambda: (duckdb.connect(), f"read_parquet('{folder}/events.parquet')"),
            },
            {query: ask_it},
        )


def _dask(runs: _Runs, folder: Path) -> None:
    import dask.dataframe as dd
    import livebuf.dask

    ours = livebuf.dask.read
    size = os.path.getsize(folder / "events.ndjson") // 4 + 1
    how: dict[str, Any] = {"partition_rows": 250_000}
    runs.compare(
        {
            OURS: lambda: ours(folder / "events.lbuf", "/rows", **how),
            TRUSTED: lambda: ours(folder / "events.lbuf", "/rows", trusted=True, **how),
            JSON: lambda: dd.read_json(
                str(folder / "events.ndjson"), lines=True, blocksize=size, convert_dates=False
            ),
            PARQUET: lambda: dd.read_parquet(folder / "events.parquet", split_row_groups=1),
        },
        {
            "sum": lambda f: round(f["value"].sum().compute(), 2),
            "groups": lambda f: _rounded(f.groupby("kind")["value"].sum().compute().items()),
            "row": lambda f: [
                tuple(row)
                for row in f[f["id"] == runs.wanted_id][["user", "page"]]
                .compute()
                .itertuples(index=False)
            ],
            "all": lambda f: len(f.compute()),
        },
    )


def _spark(runs: _Runs, folder: Path) -> None:
    import pyspark.sql

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark: Any = (
        pyspark.sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    from pyspark.sql import functions as F

    def ours(columns: list[str] | None, trusted: str) -> Any:
        reader = spark.read.format("livebuf").option("table", "/rows").option("trusted", trusted)
        reader = reader.option("partitionRows", "250000")
        if columns is not None:
            reader = reader.option("columns", ",".join(columns))
        return reader.load(str(folder / "events.lbuf"))

    queries: Queries = {
        "sum": lambda f: round(f.agg(F.sum("value")).collect()[0][0], 2),
        "groups": lambda f: _rounded(f.groupBy("kind").agg(F.sum("value")).collect()),
        "row": lambda f: [
            tuple(row) for row in f.filter(f.id == runs.wanted_id).select("user", "page").collect()
        ],
        "all": lambda f: f.agg(F.count("*"), *(F.max(name) for name in f.columns)).collect()[0][0],
    }
    try:
        for query, ask in queries.items():
            columns = NEEDED[query]
            runs.compare(
                {
                    OURS: lambda columns=columns: ours(columns, "false"),
                    TRUSTED: lambda columns=columns: ours(columns, "true"),
                    JSON: lambda: spark.read.json(str(folder / "events.ndjson")),
                    PARQUET: lambda: spark.read.parquet(str(folder / "events.parquet")),
                },
                {query: ask},
            )
    finally:
        spark.stop()
