"""Bytes of one value in all formats, as they are and compressed: the JSON files beside the
repository, and generated values, which are all that is measured where the files are absent. Then
messages, each by itself."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import livebuf

from . import generate
from .formats import lite3_dumps
from .report import OURS, Report
from .timing import Effort

JSON, LITE3 = "JSON, minified", "Lite³ (pylite3)"

Codec = tuple[Callable[[Any], bytes], Callable[[bytes], Any]]
# What peers raise where a value is beyond what they hold.
LIMITS = (ValueError, OverflowError, RuntimeError, TypeError)


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


def _duckdb_variant() -> dict[str, Codec]:
    """What DuckDB's writer of Parquet makes of a Variant that is not shredded."""
    import duckdb

    connection = duckdb.connect()

    def dumps(value: Any) -> bytes:
        query = "SELECT variant_to_parquet_variant(?::JSON::VARIANT)"
        found = connection.execute(query, [minified(value).decode()]).fetchone()[0]
        return found["metadata"] + found["value"]

    def loads(data: bytes) -> Any:
        query = "SELECT variant_bytes_to_variant(?)::JSON::VARCHAR"
        return json.loads(connection.execute(query, [data]).fetchone()[0])

    try:
        dumps(None)
    except duckdb.Error as error:
        raise ImportError(f"DuckDB {duckdb.__version__} makes no Parquet Variant") from error
    return {"Parquet Variant, DuckDB": (dumps, loads)}


def _spark_variant() -> dict[str, Codec]:
    """What Spark's Python makes, which `make bench-engines` has; needs no Java."""
    try:
        from pyspark.sql.variant_utils import VariantUtils
    except ImportError:
        raise ImportError("Parquet Variant by Spark needs pyspark, which is large") from None

    def dumps(value: Any) -> bytes:
        value_bytes, metadata = VariantUtils.parse_json(minified(value).decode())
        parts.clear()
        parts.append((value_bytes, metadata))
        return metadata + value_bytes

    # Where metadata ends is not found without reading it, so the parts are kept.
    parts: list[tuple[bytes, bytes]] = []

    def loads(_: bytes) -> Any:
        return json.loads(VariantUtils.to_json(*parts[0]))

    return {"Parquet Variant, Spark": (dumps, loads)}


def _pylite3() -> dict[str, Codec]:
    import pylite3

    return {LITE3: (lite3_dumps, lambda data: pylite3.loads(data, recursive=True))}


def codecs(report: Report, workload: str) -> dict[str, Codec]:
    found: dict[str, Codec] = {
        OURS: (livebuf.dumps, livebuf.loads),
        JSON: (minified, json.loads),
    }
    for load in (
        *(_messagepack, _cbor, _bson, _flexbuffers, _jsonb, _duckdb_variant, _spark_variant),
        _pylite3,
    ):
        try:
            found |= load()
        except ImportError as error:
            report.skip(f"{workload}: {error}")
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
    for name, (make, full, quick) in generate.VALUES.items():
        count = quick if effort.quick else full
        values[f"generated {name}"] = lambda make=make, count=count: make(count)
    values = {name: make for name, make in values.items() if wanted(f"sizes/{name}")}
    _messages(effort, report, wanted)
    if not values:
        return
    formats, packers = codecs(report, "sizes"), compressors(report)
    for name, make in values.items():
        value = make()
        found: dict[str, dict[str, int]] = {packer: {} for packer in packers}
        for codec, (dumps, loads) in formats.items():
            try:
                encoded = dumps(value)
            except LIMITS as error:
                report.skip(f"sizes/{name}: {codec} cannot hold it: {str(error).splitlines()[0]}")
                continue
            if not _same(report, f"sizes/{name}", codec, loads(encoded) == value):
                continue
            for packer, compress in packers.items():
                found[packer][codec] = len(compress(encoded))
        for packer, cells in found.items():
            report.figure(f"sizes/{name}", packer, cells, f"sizes/{name}")


def _same(report: Report, workload: str, codec: str, right: bool) -> bool:
    """Another value is a limit of the peer, which is told; ours would be a failure."""
    if right or codec == OURS:
        return report.same(workload, codec, right)
    report.skip(f"{workload}: {codec} gives another value back")
    return False


def _messages(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    """Each message by itself, and zstd with a dictionary of earlier ones."""
    try:
        import zstandard
    except ImportError as error:
        report.skip(f"sizes/messages: {error}")
        return
    makers = {"chat": generate.chat, "events": generate.events, "readings": readings}
    count = 1_000 if effort.quick else 10_000
    for kind, make in makers.items():
        workload = f"sizes/messages of {kind}, each by itself"
        if not wanted(workload):
            continue
        values, found = make(count), {"raw": {}, "zstd-3": {}, "zstd-3, dictionary": {}}
        plain = zstandard.ZstdCompressor(level=3).compress
        for codec, (dumps, loads) in codecs(report, workload).items():
            if codec == LITE3:
                report.skip(f"{workload}: {codec} fills its largest buffer for each, 40 ms")
                continue
            encoded, right = [], True
            try:
                for value in values:
                    encoded.append(dumps(value))
                    right &= loads(encoded[-1]) == value
            except LIMITS as error:
                report.skip(f"{workload}: {codec} cannot hold it: {str(error).splitlines()[0]}")
                continue
            if not _same(report, workload, codec, right):
                continue
            early, late = encoded[: count // 2], encoded[count // 2 :]
            trained = zstandard.train_dictionary(16_384, early)
            pack = zstandard.ZstdCompressor(level=3, dict_data=trained).compress
            unpack = zstandard.ZstdDecompressor(dict_data=trained).decompress
            if [unpack(pack(each)) for each in late] != late:
                report.fail(f"{workload}: zstd's dictionary gives other bytes for {codec}")
            found["raw"][codec] = sum(map(len, late))
            found["zstd-3"][codec] = sum(len(plain(each)) for each in late)
            found["zstd-3, dictionary"][codec] = sum(len(pack(each)) for each in late)
        for packer, cells in found.items():
            report.figure(workload, packer, cells, workload)
