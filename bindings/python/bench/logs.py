"""Events into a file, and the last hour of them: a log beside JSON lines, and beside Parquet."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import livebuf

from .report import OURS, Report
from .timing import Contest, Effort

LINES = "orjson, a line each"
PARQUET = "polars, Parquet"
KINDS = ("click", "scroll", "view", "buy")


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    if wanted("logs/events"):
        _write(effort, report)
    if wanted("logs/last hour"):
        _last_hour(effort, report)


def _write(effort: Effort, report: Report) -> None:
    try:
        import orjson
    except ImportError as error:
        report.skip(f"logs: {error}")
        return
    count = 50_000 if effort.quick else 1_000_000
    events = [
        {
            "ts": 1_700_000_000_000 + 13 * n,
            "user": n * 7919 % 10_007,
            "kind": KINDS[n * 31 % 7 % 4],
            "value": (n * 37 % 10_000) / 100,
        }
        for n in range(count)
    ]
    with tempfile.TemporaryDirectory() as directory:
        log, lines = Path(directory, "events.lblog"), Path(directory, "events.ndjson")

        def extend(events: list[Any]) -> livebuf.Log:
            opened = livebuf.Log(log, "w")
            opened.extend(events)
            return opened

        def write(events: list[Any]) -> None:
            dumps = orjson.dumps
            with open(lines, "wb") as file:
                for event in events:
                    file.write(dumps(event, option=orjson.OPT_APPEND_NEWLINE))

        extend(events).close()
        write(events)
        kept = list(livebuf.Log(log)) == events
        for name in (OURS, "livebuf, and close (sync)"):
            report.same("logs/events", name, kept)
        written = [orjson.loads(line) for line in lines.read_bytes().splitlines()]
        report.same("logs/events", LINES, written == events)
        del written
        contest = Contest()
        contest.add(OURS, extend, [events])
        contest.add("livebuf, and close (sync)", lambda events: extend(events).close(), [events])
        contest.add(LINES, write, [events])
        times = contest.run(effort)
        report.figure("Events to a file", f"{count:,} events", times, "logs/events")
        report.against("logs/events", times, [LINES], 2.0)

        with livebuf.Log(log, "w") as opened:
            opened.extend(events[: count // 2])
            for event in events[count // 2 : count // 2 + 30_000]:
                opened.append(event)
            opened.extend(events[count // 2 + 30_000 :])
            opened.compact()
        size, best = os.path.getsize(log), len(livebuf.dumps(events))
        detail = f"{size:,} bytes; {os.path.getsize(lines):,} as lines"
        report.ratio(
            "logs/events bytes, compacted, against one document", size / best, 1.15, detail
        )


def _last_hour(effort: Effort, report: Report) -> None:
    try:
        import polars as pl
    except ImportError as error:
        report.skip(f"logs: {error}")
        return
    count, random = 50_000 if effort.quick else 1_000_000, Random(7)
    events = [
        {
            "ts": 1_700_000_000_000 + 17 * n,
            "user": random.randrange(10_000),
            "kind": random.choice(KINDS),
            "value": random.random(),
            "page": f"/item/{random.randrange(5000)}",
            "ms": random.randrange(900),
            "ok": n % 7 != 0,
            "ref": random.randrange(1 << 40),
        }
        for n in range(count)
    ]
    first, last = events[count * 4 // 5]["ts"], events[-1]["ts"]
    columns = ["user", "value"]
    with tempfile.TemporaryDirectory() as directory:
        path, parquet = Path(directory, "events.lblog"), Path(directory, "events.parquet")
        with livebuf.Log(path, "w") as opened:
            opened.extend(events)
        pl.DataFrame(events).write_parquet(parquet)
        del events
        log = livebuf.Log(path)
        work: dict[str, Callable[[Any], pl.DataFrame]] = {
            OURS: lambda _: pl.DataFrame(log.select(columns).between("ts", first, last)),
            "livebuf, just opened": lambda _: pl.DataFrame(
                livebuf.Log(path).select(columns).between("ts", first, last)
            ),
            PARQUET: lambda _: (
                pl.scan_parquet(parquet)
                .filter(pl.col("ts").is_between(first, last))
                .select(columns)
                .collect()
            ),
        }
        right = work[PARQUET](None)
        contest = Contest(wall=True)
        for name, read in work.items():
            report.same("logs/last hour", name, read(None).equals(right))
            contest.add(name, read, [None])
        times = contest.run(effort)
        log.close()
    report.figure("The last fifth of a log", f"{count:,} events", times, "logs/last hour")
    report.against("logs/last hour", times, [PARQUET], 3.0)
