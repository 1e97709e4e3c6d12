"""Bytes of one value in all formats, as they are and compressed: the JSON files beside the
repository, and two generated values, which are all that is measured where the files are absent."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import livebuf

from .report import OURS, Report
from .timing import Effort

JSON = "JSON, minified"
INPUTS = [
    "Sizes: all files of the data directory, minified, and two seeded values (readings of "
    "sensors, users by id). Each format's bytes are read again and compared with the value. BSON "
    "takes objects only: an array is a member of one",
]

Codec = tuple[Callable[[Any], bytes], Callable[[bytes], Any]]


def readings(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Rows of a sensor, of five fields."""
    generator = random.Random(seed)
    return [
        {
            "t": 1_760_000_000_000 + 250 * row,
            "v": generator.randrange(30, 60) / 2,
            "unit": generator.choice("CF"),
            "sensor": f"sensor-{generator.randrange(500):03}",
            "ok": generator.random() < 0.9,
        }
        for row in range(count)
    ]


def users_by_id(count: int, seed: int = 1) -> dict[str, dict[str, Any]]:
    """Users of five fields by random keys."""
    generator = random.Random(seed)
    return {
        f"user-{key}": {
            "name": f"name {generator.randrange(1000)}",
            "age": generator.randrange(90),
            "score": generator.randrange(1000) / 10,
            "on": generator.random() < 0.5,
            "tags": generator.choices(["a", "bb", "ccc"], k=generator.randrange(3)),
        }
        for key in generator.sample(range(10_000_000, 100_000_000), count)
    }


def minified(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _cbor() -> dict[str, Codec]:
    import cbor2

    return {
        "CBOR": (cbor2.dumps, cbor2.loads),
        "CBOR, string references": (
            lambda value: cbor2.dumps(value, string_referencing=True),
            cbor2.loads,
        ),
    }


def _messagepack() -> dict[str, Codec]:
    import msgpack

    return {"MessagePack": (msgpack.packb, msgpack.unpackb)}


def _bson() -> dict[str, Codec]:
    import bson

    return {
        "BSON": (
            lambda value: bson.encode(value if isinstance(value, dict) else {"": value}),
            lambda data: (lambda made: made.get("", made))(bson.decode(data)),
        )
    }


def _flexbuffers() -> dict[str, Codec]:
    from flatbuffers import flexbuffers

    return {"FlexBuffers": (lambda value: bytes(flexbuffers.Dumps(value)), flexbuffers.Loads)}


def _jsonb() -> dict[str, Codec]:
    import apsw

    database = apsw.Connection(":memory:")

    def dumps(value: Any) -> bytes:
        text = minified(value).decode()
        return database.execute("SELECT jsonb(?)", (text,)).fetchone()[0]

    def loads(data: bytes) -> Any:
        return json.loads(database.execute("SELECT json(?)", (data,)).fetchone()[0])

    return {"SQLite JSONB": (dumps, loads)}


def _pylite3() -> dict[str, Codec]:
    import pylite3

    return {"Lite³ (pylite3)": (pylite3.dumps, lambda data: pylite3.loads(data, recursive=True))}


def codecs(report: Report) -> dict[str, Codec]:
    found: dict[str, Codec] = {
        OURS: (livebuf.dumps, livebuf.loads),
        JSON: (minified, json.loads),
    }
    for load in (_messagepack, _cbor, _bson, _flexbuffers, _jsonb, _pylite3):
        try:
            found |= load()
        except ImportError as error:
            report.skip(f"sizes: {error}")
    return found


def compressors(report: Report) -> dict[str, Callable[[bytes], bytes]]:
    found: dict[str, Callable[[bytes], bytes]] = {"raw": bytes}
    try:
        import zstandard

        found["zstd-3"] = zstandard.ZstdCompressor(level=3).compress
    except ImportError as error:
        report.skip(f"sizes: {error}")
    found["deflate-6"] = lambda data: zlib.compress(data, 6)
    try:
        import lz4.frame

        found["lz4"] = lz4.frame.compress
    except ImportError as error:
        report.skip(f"sizes: {error}")
    return found


def run(effort: Effort, report: Report, wanted: Callable[[str], bool], data: Path) -> None:
    values: dict[str, Callable[[], Any]] = {
        path.stem: lambda path=path: json.loads(path.read_bytes())
        for path in sorted(data.glob("*.json"))
    }
    if not values:
        report.skip(f"sizes: no files in {data}; generated values only")
    values["generated readings"] = lambda: readings(2_000 if effort.quick else 100_000)
    values["generated users by id"] = lambda: users_by_id(1_000 if effort.quick else 10_000)
    values = {name: make for name, make in values.items() if wanted(f"sizes/{name}")}
    if not values:
        return
    formats, packers = codecs(report), compressors(report)
    for name, make in values.items():
        value = make()
        found: dict[str, dict[str, int]] = {packer: {} for packer in packers}
        for codec, (dumps, loads) in formats.items():
            try:
                encoded = dumps(value)
            except (ValueError, OverflowError, RuntimeError, TypeError) as error:
                report.skip(f"sizes/{name}: {codec} cannot hold it: {str(error).splitlines()[0]}")
                continue
            if loads(encoded) != value:
                # A limit of the peer, which is told; ours would be a failure.
                note = report.fail if codec == OURS else report.skip
                note(f"sizes/{name}: {codec} gives another value back")
                continue
            for packer, compress in packers.items():
                found[packer][codec] = len(compress(encoded))
        for packer, cells in found.items():
            report.figure(f"sizes/{name}", packer, cells)
