"""The data-definition paper's list of similar objects: bytes, writing and reading."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable
from typing import Any

import livebuf

from .report import OURS, Report
from .timing import Contest, Effort

SIZES = (10_000, 100_000, 500_000)
WORKLOADS = ("dumps", "loads", "loads, collector on")


ALIKE = {
    "ArrayLong": [-9223372036854775808, 9223372036854775807],
    "OnlyInt": 23,
    "ArrayInt": [-2147483648, 2147483647],
    "Title": "BSWS Test",
    "ArrayString": ["string1", "string2", "string3"],
    "OnlyDate": "2017-11-21T01:28:59.1308284-06:00",
    "ArrayDate": ["2017-12-21T01:28:59.1368455-06:00", "2017-12-21T01:28:59.1368455-06:00"],
    "OnlyText": "This is a test object to be serialized/deserialized.",
    "OnlyByte": 1,
    "ImageType": "AQIDBA==",
    "ArrayBool": [True, False, True],
    "OnlyBool": True,
    "Tags": [],
}


def _random(generator: random.Random) -> dict[str, Any]:
    def text(length: int) -> str:
        return "".join(generator.choices(string.ascii_letters + string.digits, k=length))

    def integer(bits: int) -> int:
        return generator.getrandbits(bits) - (1 << bits - 1)

    def boolean() -> bool:
        return generator.random() < 0.5

    def date() -> str:
        number = generator.randrange
        return (
            f"20{number(99):02}-{number(1, 13):02}-{number(1, 29):02}T{number(24):02}:"
            f"{number(60):02}:{number(60):02}.{number(10_000_000):07}-06:00"
        )

    return {
        "ArrayLong": [integer(64), integer(64)],
        "OnlyInt": integer(32),
        "ArrayInt": [integer(32), integer(32)],
        "Title": text(9),
        "ArrayString": [text(7), text(7), text(7)],
        "OnlyDate": date(),
        "ArrayDate": [date(), date()],
        "OnlyText": text(52),
        "OnlyByte": generator.randrange(256),
        "ImageType": text(8),
        "ArrayBool": [boolean(), boolean(), boolean()],
        "OnlyBool": boolean(),
        "Tags": [],
    }


def objects(count: int, kind: str) -> list[dict[str, Any]]:
    """A list of objects that share nothing, as one that was received."""
    if kind == "alike":
        made = [ALIKE] * count
    else:
        generator = random.Random(2)
        made = [_random(generator) for _ in range(count)]
    return json.loads(json.dumps(made))


def _codecs(report: Report) -> dict[str, tuple[Callable[[Any], bytes], Callable[[Any], Any]]]:
    codecs: dict[str, tuple[Callable[[Any], bytes], Callable[[Any], Any]]] = {
        OURS: (livebuf.dumps, livebuf.loads)
    }
    try:
        import msgpack

        codecs["msgpack"] = (msgpack.packb, msgpack.unpackb)
    except ImportError as error:
        report.skip(f"objects: {error}")
    try:
        import msgspec.msgpack

        codecs["msgspec msgpack"] = (msgspec.msgpack.encode, msgspec.msgpack.decode)
    except ImportError as error:
        report.skip(f"objects: {error}")
    try:
        import ormsgpack

        codecs["ormsgpack"] = (ormsgpack.packb, ormsgpack.unpackb)
    except ImportError as error:
        report.skip(f"objects: {error}")
    try:
        import orjson

        codecs["orjson"] = (orjson.dumps, orjson.loads)
    except ImportError as error:
        report.skip(f"objects: {error}")
    return codecs


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    codecs = _codecs(report)
    for count in SIZES[:1] if effort.quick else SIZES:
        for kind in ("alike", "random"):
            if any(wanted(f"objects/{count} {kind}/{workload}") for workload in WORKLOADS):
                _size(effort, report, wanted, count, kind, codecs)


def _size(
    effort: Effort,
    report: Report,
    wanted: Callable[[str], bool],
    count: int,
    kind: str,
    codecs: dict[str, tuple[Callable[[Any], bytes], Callable[[Any], Any]]],
) -> None:
    workload = f"objects/{count} {kind}"
    title = f"{count:,} similar objects, {kind}"
    value = objects(count, kind)
    data = {}
    for name, (dumps, loads) in codecs.items():
        data[name] = dumps(value)
        report.same(workload, name, loads(data[name]) == value)
    report.figure(title, "bytes", {name: len(each) for name, each in data.items()}, workload)
    if "msgpack" in data:
        ours, theirs = len(data[OURS]), len(data["msgpack"])
        limit = {"alike": 0.35, "random": 0.82}[kind]
        report.ratio(f"{workload}/bytes", ours / theirs, limit, f"{ours:,} B, msgpack {theirs:,} B")
    if wanted(f"{workload}/dumps"):
        contest = Contest()
        for name, (dumps, _) in codecs.items():
            contest.add(name, dumps, [value])
        times = contest.run(effort)
        report.figure(title, "dumps", times, workload)
        report.against(f"{workload}/dumps", times, ["msgpack"], 0.5)
        report.against(f"{workload}/dumps against msgspec", times, ["msgspec msgpack"], None)
    del value
    for collector in (False, True):
        suffix = ", collector on" if collector else ""
        if wanted(f"{workload}/loads{suffix}"):
            contest = Contest(collector=collector)
            for name, (_, loads) in codecs.items():
                contest.add(name, loads, [data[name]])
            times = contest.run(effort)
            report.figure(title, f"loads{suffix}", times, workload)
            report.against(f"{workload}/loads{suffix}", times, ["msgspec msgpack"], None)
