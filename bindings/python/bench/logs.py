"""Events into a file: a log beside a file of JSON lines that orjson writes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import livebuf

from .report import OURS, Report
from .timing import Contest, Effort

LINES = "orjson, a line each"
KINDS = ("click", "scroll", "view", "buy")

INPUTS = [
    "logs: events `{ts, user, kind, value}`, a million (50,000 with --quick); into a new "
    "`livebuf.Log` by `extend`, and as lines of `orjson.dumps` into a buffered file; both closed, "
    "the log without waiting for the disk (`extend` alone) and with it",
]


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    if not wanted("logs/events"):
        return
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
