"""Small messages: of one kind by a template, and a session that each request changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import livebuf

from .report import OURS, Report
from .timing import Contest, Effort

WORKLOAD = "messages/three fields"
SESSION = "messages/session"
PREPARED = "livebuf.Template"

# Made anew by each turn, as messages are: a dict, or what the template takes.
VALUES = [("lap_complete", lap, 88.427 + lap / 8) for lap in range(64)]


def _dict(dumps: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    return lambda values: dumps({"event": values[0], "lap": values[1], "time_sec": values[2]})


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    if wanted(WORKLOAD):
        _message(effort, report)
    if wanted(SESSION):
        _session(effort, report)


def _message(effort: Effort, report: Report) -> None:
    example = {"event": "", "lap": 0, "time_sec": 0.0}
    stamp = livebuf.Template(example, ["/event", "/lap", "/time_sec"]).stamp
    contest = Contest()
    ours: dict[str, Callable[[Any], bytes]] = {
        PREPARED: lambda values: stamp(*values),
        OURS: _dict(livebuf.dumps),
    }
    for name, work in ours.items():
        _check(report, name, work, livebuf.loads)
        contest.add(name, work, VALUES)
    rivals = []
    for name, dumps, loads in _peers(report):
        _check(report, name, _dict(dumps), loads)
        contest.add(name, _dict(dumps), VALUES)
        rivals.append(name)
    times = contest.run(effort)
    report.figure("A message of three fields", "WRITE", times, WORKLOAD)
    report.ratio(f"{WORKLOAD}, of livebuf.dumps", times[PREPARED] / times[OURS], 0.5)
    report.against(f"{WORKLOAD}, fastest peer", times, rivals, 1.0, ours=PREPARED)


def _check(
    report: Report, name: str, work: Callable[[Any], bytes], loads: Callable[..., Any]
) -> None:
    keys = ("event", "lap", "time_sec")
    right = all(loads(work(values)) == dict(zip(keys, values, strict=True)) for values in VALUES)
    report.same(WORKLOAD, name, right)


def _peers(report: Report) -> list[tuple[str, Callable[[Any], bytes], Callable[..., Any]]]:
    found: list[tuple[str, Callable[[Any], bytes], Callable[..., Any]]] = []
    try:
        import orjson

        found.append(("orjson", orjson.dumps, orjson.loads))
    except ImportError as error:
        report.skip(f"messages: orjson: {error}")
    try:
        import msgspec

        encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder().decode
        found.append(("msgspec, msgpack", encode, decode))
    except ImportError as error:
        report.skip(f"messages: msgspec: {error}")
    return found


def _session(effort: Effort, report: Report) -> None:
    try:
        import orjson
    except ImportError as error:
        report.skip(f"messages: {error}")
        return
    session = {
        "user": {"id": 7, "name": "Ada", "roles": ["admin"]},
        "cart": [{"sku": f"A-{n}", "count": 1, "price": 9.5} for n in range(12)],
        "seen": 17,
        "visits": [
            {"at": 1700000000 + n * 77, "page": f"/item/{n * 7919 % 1000}", "ms": n * 37 % 400}
            for n in range(14)
        ],
    }

    def count(session: Any) -> None:
        session["seen"] += 1

    def buy(session: Any) -> None:
        session["seen"] += 1
        session["cart"].append({"sku": "B-1", "count": 2, "price": 3.25})
        session["cart"].pop(0)

    def request(change: Callable[[Any], None], trusted: bool) -> Callable[[bytes], bytes]:
        def work(stored: bytes) -> bytes:
            document = livebuf.Document(bytearray(stored), trusted=trusted)
            change(document)
            return bytes(document)

        return work

    def parsed(change: Callable[[Any], None]) -> Callable[[bytes], bytes]:
        def work(stored: bytes) -> bytes:
            plain = orjson.loads(stored)
            change(plain)
            return orjson.dumps(plain)

        return work

    for change in (count, buy):
        workload = f"{SESSION}: {change.__name__}"
        contest = Contest()
        stored = orjson.dumps(session)
        right = orjson.loads(parsed(change)(stored))
        contest.add("orjson", parsed(change), [stored])
        for name, tables, trusted in (
            (OURS, True, False),
            ("livebuf, trusted", True, True),
            ("livebuf, tables=False", False, False),
            ("livebuf, both", False, True),
        ):
            stored = livebuf.dumps(session, tables=tables)
            work = request(change, trusted)
            report.same(workload, name, livebuf.loads(work(stored)) == right)
            contest.add(name, work, [stored])
        times = contest.run(effort)
        report.figure("A request changes a session", change.__name__, times, workload)
        report.against(f"{workload}, both", times, ["orjson"], 1.0, ours="livebuf, both")
