"""A stored document of which k of n fields change: bytes in, changed bytes out. Parsers parse all
and write all; SQLite's JSONB and documents change what is named."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import livebuf

from .report import OURS, Report
from .sizes import minified
from .timing import Contest, Effort

COUNTS = (1, 3, 10, 30, 100, 300, 1000)
IN_PLACE = "livebuf, in a bytearray"
WORKLOAD = "fields/change"
Change = Callable[[list[tuple[str, Any]]], Any]


def record(count: int, seed: int = 5) -> dict[str, Any]:
    generator = random.Random(seed)
    return {f"field_{number:04}": new_value(number, generator) for number in range(count)}


def new_value(number: int, generator: random.Random) -> Any:
    if number % 2:
        return generator.randrange(1_000_000, 2_000_000)
    return "".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=20))


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    if not wanted(WORKLOAD):
        return
    plain, generator = record(1_000), random.Random(6)
    peers = _peers(plain, report)
    for count in COUNTS:
        sets = []
        for _ in range(8):
            numbers = generator.sample(range(len(plain)), count)
            sets.append(
                [(f"field_{number:04}", new_value(number, generator)) for number in numbers]
            )
        contest = Contest()
        for name, (change, loads) in peers.items():
            right = loads(change(sets[0])) == plain | dict(sets[0])
            if report.same(WORKLOAD, name, right):
                contest.add(name, change, sets)
        _add_in_place(contest, plain, sets, report)
        report.figure("fields/change of 1000 fields", str(count), contest.run(effort), WORKLOAD)


def _add_in_place(
    contest: Contest, plain: dict[str, Any], sets: list[list[tuple[str, Any]]], report: Report
) -> None:
    array = bytearray(livebuf.dumps(plain))

    def change(pairs: list[tuple[str, Any]]) -> None:
        document = livebuf.Document(array)
        for key, value in pairs:
            document[key] = value

    change(sets[0])
    if report.same(WORKLOAD, IN_PLACE, livebuf.loads(array) == plain | dict(sets[0])):
        contest.add(IN_PLACE, change, sets)


def _peers(plain: dict[str, Any], report: Report) -> dict[str, tuple[Change, Callable[[Any], Any]]]:
    ours = livebuf.dumps(plain)

    def change(pairs: list[tuple[str, Any]]) -> bytes:
        document = livebuf.Document(ours).editable()
        for key, value in pairs:
            document[key] = value
        return bytes(document)

    found: dict[str, tuple[Change, Callable[[Any], Any]]] = {OURS: (change, livebuf.loads)}
    for load in (_orjson, _msgspec, _jsonb):
        try:
            found |= load(plain)
        except ImportError as error:
            report.skip(f"fields: {error}")
    return found


def _whole(data: bytes, loads: Callable[[Any], Any], dumps: Callable[[Any], bytes]) -> Change:
    def change(pairs: list[tuple[str, Any]]) -> bytes:
        value = loads(data)
        for key, new in pairs:
            value[key] = new
        return dumps(value)

    return change


def _orjson(plain: Any) -> dict[str, tuple[Change, Callable[[Any], Any]]]:
    import orjson

    change = _whole(orjson.dumps(plain), orjson.loads, orjson.dumps)
    return {"JSON, orjson": (change, orjson.loads)}


def _msgspec(plain: Any) -> dict[str, tuple[Change, Callable[[Any], Any]]]:
    from msgspec.msgpack import decode, encode

    return {"MessagePack, msgspec": (_whole(encode(plain), decode, encode), decode)}


def _jsonb(plain: Any) -> dict[str, tuple[Change, Callable[[Any], Any]]]:
    """One call of `jsonb_set` with all paths, prepared by apsw's cache of statements."""
    import apsw

    database = apsw.Connection(":memory:")
    text = minified(plain).decode()
    data = database.execute("SELECT jsonb(?)", (text,)).fetchone()[0]
    # SQLite takes at most so many arguments of a function.
    most = database.limit(apsw.SQLITE_LIMIT_FUNCTION_ARG) // 2 - 1

    def change(pairs: list[tuple[str, Any]]) -> bytes:
        made = data
        for first in range(0, len(pairs), most):
            part = pairs[first : first + most]
            arguments = [made]
            for key, value in part:
                arguments += [f"$.{key}", value]
            places = ",?" * (2 * len(part))
            made = database.execute(f"SELECT jsonb_set(?{places})", arguments).fetchone()[0]
        return made

    def loads(data: bytes) -> Any:
        return json.loads(database.execute("SELECT json(?)", (data,)).fetchone()[0])

    return {"JSONB, SQLite's jsonb_set": (change, loads)}
