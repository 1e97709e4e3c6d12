"""Which share of a document must be read before parsing all of it pays: rows of an array of
objects, and entries of a map, read one after the other from stored bytes, or parsed to Python's
objects first."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import livebuf

from .report import OURS, Report
from .sizes import readings, users_by_id
from .timing import Contest, Effort

SHARES = (0.0005, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
ONE_CALL = "livebuf, to_python of all, then read"


def _rows(rows: Any, places: list[int]) -> float:
    total = 0.0
    for place in places:
        row = rows[place]
        total += row["v"] + row["t"]
    return total


def _whole_rows(rows: Any, places: list[int]) -> float:
    total = 0.0
    for place in places:
        row = rows[place]
        total += row["v"] + row["t"] + row["ok"] + len(row["unit"]) + len(row["sensor"])
    return total


def _users(users: Any, keys: list[str]) -> float:
    total = 0.0
    for key in keys:
        user = users[key]
        total += user["age"] + user["score"]
    return total


def _peers(report: Report) -> dict[str, tuple[Callable[[Any], bytes], Callable[[bytes], Any]]]:
    found = {}
    try:
        import orjson

        found["JSON, orjson"] = (orjson.dumps, orjson.loads)
    except ImportError as error:
        report.skip(f"shares: {error}")
    try:
        import msgspec.msgpack

        found["MessagePack, msgspec"] = (msgspec.msgpack.encode, msgspec.msgpack.decode)
    except ImportError as error:
        report.skip(f"shares: {error}")
    return found


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    count = 4_000 if effort.quick else 20_000
    rows, users = readings(count), users_by_id(count)
    _share("two fields of rows", rows, range(count), _rows, effort, report, wanted)
    _share("all fields of rows", rows, range(count), _whole_rows, effort, report, wanted)
    _share("two fields of a map's users", users, list(users), _users, effort, report, wanted)


def _share(
    name: str,
    value: Any,
    places: Any,
    read: Callable[[Any, Any], float],
    effort: Effort,
    report: Report,
    wanted: Callable[[str], bool],
) -> None:
    if not wanted(f"shares/{name}"):
        return
    peers = _peers(report)
    data = {peer: dumps(value) for peer, (dumps, _) in peers.items()}
    ours, generator = livebuf.dumps(value), random.Random(4)
    for share in SHARES:
        drawn = generator.sample(places, max(1, round(share * len(value))))
        expected = read(value, drawn)
        contest = Contest()
        works: dict[str, Callable[[Any], float]] = {
            OURS: lambda drawn: read(livebuf.Document(ours), drawn),
            ONE_CALL: lambda drawn: read(livebuf.loads(ours), drawn),
        }
        for peer, (_, loads) in peers.items():
            works[peer] = lambda drawn, loads=loads, bytes=data[peer]: read(loads(bytes), drawn)
        for each, work in works.items():
            if report.same(f"shares/{name}", each, work(drawn) == expected):
                contest.add(each, work, [drawn])
        title = f"shares/{name}, {len(value)} in all"
        report.figure(title, f"{share:g}", contest.run(effort), f"shares/{name}")
