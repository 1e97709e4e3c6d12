"""Kostya's benchmark of JSON: the means of x, y and z of many objects, out of JSON text and out of
stored bytes; time, and the most memory that it takes."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import livebuf

from .formats import lite3_dumps
from .peak import NotMeasured, Task, peak
from .report import OURS, Report
from .timing import Contest, Effort

Answer = tuple[float, float, float]
Reader = Callable[[bytes], Answer]


def coordinates(count: int, seed: int = 1) -> dict[str, Any]:
    generator = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    rows = [
        {
            "x": generator.random(),
            "y": generator.random(),
            "z": generator.random(),
            "name": f"{''.join(generator.choices(letters, k=6))} {generator.randrange(10_000)}",
            "opts": {"1": [1, True]},
        }
        for _ in range(count)
    ]
    return {"coordinates": rows, "info": "some info"}


def _mean(rows: Any) -> Answer:
    x = y = z = 0.0
    for row in rows:
        x += row["x"]
        y += row["y"]
        z += row["z"]
    return x / len(rows), y / len(rows), z / len(rows)


def _by(loads: Callable[[bytes], Any]) -> Reader:
    return lambda data: _mean(loads(data)["coordinates"])


def _columns(document: Any) -> Answer:
    table = document["coordinates"].table
    x, y, z = (table.column(name).numpy(narrow=True) for name in "xyz")
    return float(x.mean()), float(y.mean()), float(z.mean())


def _typed(decoder: Callable[[Any], Any]) -> Reader:
    import msgspec

    Point = msgspec.defstruct("Point", [("x", float), ("y", float), ("z", float)])
    decode = decoder(msgspec.defstruct("Points", [("coordinates", list[Point])])).decode

    def read(data: bytes) -> Answer:
        x = y = z = 0.0
        rows = decode(data).coordinates
        for row in rows:
            x += row.x
            y += row.y
            z += row.z
        return x / len(rows), y / len(rows), z / len(rows)

    return read


def _ours() -> dict[str, Reader]:
    return {
        OURS: lambda data: _columns(livebuf.from_json(data)),
        "livebuf, by rows": lambda data: _mean(livebuf.from_json(data)["coordinates"]),
    }


def _python() -> dict[str, Reader]:
    return {"json": _by(json.loads)}


def _orjson() -> dict[str, Reader]:
    import orjson

    return {"orjson": _by(orjson.loads)}


def _msgspec() -> dict[str, Reader]:
    import msgspec

    typed = _typed(msgspec.json.Decoder)
    return {"msgspec JSON": _by(msgspec.json.decode), "msgspec JSON, typed": typed}


def _pysimdjson() -> dict[str, Reader]:
    import simdjson

    return {"pysimdjson": _by(simdjson.Parser().parse)}


def _cysimdjson() -> dict[str, Reader]:
    import cysimdjson

    return {"cysimdjson": _by(cysimdjson.JSONParser().parse)}


def _ours_stored() -> dict[str, Reader]:
    return {
        OURS: lambda data: _columns(livebuf.Document(data)),
        "livebuf, by rows": lambda data: _mean(livebuf.Document(data)["coordinates"]),
    }


def _messagepack() -> dict[str, Reader]:
    import msgspec

    typed = _typed(msgspec.msgpack.Decoder)
    return {"msgspec msgpack": _by(msgspec.msgpack.decode), "msgspec msgpack, typed": typed}


def _lite3() -> dict[str, Reader]:
    import pylite3

    return {"pylite3": _by(pylite3.loads)}


def _messagepack_bytes(value: Any) -> bytes:
    import msgspec

    return msgspec.msgpack.encode(value)


def _text(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


# What makes the bytes, and the readers of them.
FROM = {
    "from JSON": [
        (_text, make) for make in (_ours, _python, _orjson, _msgspec, _pysimdjson, _cysimdjson)
    ],
    "from stored bytes": [
        (livebuf.dumps, _ours_stored),
        (_messagepack_bytes, _messagepack),
        (lite3_dumps, _lite3),
    ],
}


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    count = 20_000 if effort.quick else 524_288
    chosen = {source: makers for source, makers in FROM.items() if wanted(f"coordinates/{source}")}
    if not chosen:
        return
    value = coordinates(count)
    expected = _mean(value["coordinates"])
    title = f"Coordinates, {count:,} objects"
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "expected").write_text(json.dumps(expected))
        for source, makers in chosen.items():
            workload, contest, files = f"coordinates/{source}", Contest(), {}
            for dumps, make in makers:
                try:
                    readers = make()
                    data = dumps(value)
                except (ImportError, RuntimeError, ValueError) as error:
                    report.skip(f"{workload}: {make.__name__.strip('_')}: {error}")
                    continue
                for name, read in readers.items():
                    if report.same(workload, name, _close(read(data), expected)):
                        contest.add(name, read, [data])
                        files[name] = data
            report.figure(title, source, contest.run(effort), workload)
            del contest
            taken = {}
            for name, data in files.items():
                (folder / "data").write_bytes(data)
                try:
                    taken[name], right = peak("coordinates", name, source, folder)
                except NotMeasured as error:
                    report.skip(f"{workload}: {name}: {error}")
                    continue
                report.same(f"{workload}, memory", name, right)
            report.figure(title, f"{source}, peak memory", taken, f"{workload}, memory")


def _close(found: Answer, expected: Answer) -> bool:
    """Sums differ in their last digits where they are added in another order."""
    return all(abs(one - other) < 1e-9 for one, other in zip(found, expected, strict=True))


def task_of(name: str, task: str, folder: Path) -> Task:
    """For `peak`."""
    dumps, read = _named(name, task)
    # Once on a small one, so that the library's own start does not count.
    read(dumps(coordinates(100)))
    data = (folder / "data").read_bytes()
    expected = json.loads((folder / "expected").read_text())
    return lambda: read(data), lambda found: _close(found, expected)


def _named(name: str, source: str) -> tuple[Callable[[Any], bytes], Reader]:
    for dumps, make in FROM[source]:
        try:
            readers = make()
        except ImportError:
            continue
        if name in readers:
            return dumps, readers[name]
    raise NotMeasured(f"no reader {name}")
