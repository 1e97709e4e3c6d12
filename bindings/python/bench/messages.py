"""Small messages of one kind: prepared by a template, and encoded each by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import livebuf

from .report import OURS, Report
from .timing import Contest, Effort

INPUTS = ["Messages: three fields, a text of 12 characters, a small integer, a double"]
WORKLOAD = "messages/three fields"
PREPARED = "livebuf.Template"

# Made anew by each turn, as messages are: a dict, or what the template takes.
VALUES = [("lap_complete", lap, 88.427 + lap / 8) for lap in range(64)]


def _dict(dumps: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    return lambda values: dumps({"event": values[0], "lap": values[1], "time_sec": values[2]})


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    if not wanted(WORKLOAD):
        return
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
