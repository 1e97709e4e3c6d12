"""Makes a folder of documents, logs and deltas by every way in, which later versions must read.

    python testdata/freeze.py NAME C_PROGRAM COMMAND

It writes `testdata/frozen/NAME`, which must not be there: what is frozen is never made again, and
the folder only grows. Run it when the library can write something new. C_PROGRAM is the program of
`bindings/c/tests/conformance.c`, which `make test-rust` builds beside the library that it finds by
LD_LIBRARY_PATH, in `target/debug/deps/livebuf-c-tests`. COMMAND is the command `livebuf`. It needs
pyarrow and numpy.
"""

import dataclasses
import datetime as dt
import json
import random
import struct
import subprocess
import sys
import uuid
import zlib
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import livebuf
import numpy as np
import pyarrow as pa

FOLDER = Path(__file__).resolve().parent / "frozen"
NAMES = ["Ada", "Bo", "Grace Hopper", "Katherine Johnson", "Žofie", "李", ""]
Json = Any


def texts() -> dict[str, Json]:
    """Values that JSON has, by name: a shape of data each."""
    chance = random.Random(1)

    def person(n: int) -> Json:
        person = {"id": n, "name": NAMES[n % len(NAMES)], "mail": f"user{n}@example.org"}
        if n % 3:
            person["address"] = {"city": ["Graz", "Oslo"][n % 2], "zip": 1000 + n}
        if n % 5 == 0:
            person["tags"] = ["new", "urgent", f"no {n}"][: n % 4]
        if n % 7 == 0:
            person[f"extra {n}"] = None
        return person

    def reading(n: int) -> Json:
        at = [round(chance.uniform(-180, 180), 6), round(chance.uniform(-90, 90), 6)]
        return {"sensor": n % 4, "value": n / 8, "ok": n % 3 > 0, "at": at, "unit": "°C"}

    deep: Json = "the bottom"
    for n in range(60):
        deep = {"level": n, "in": [deep]}
    return {
        "people": [person(n) for n in range(40)],
        "readings": [reading(n) for n in range(60)],
        "settings": {
            "theme": "dark",
            "size": [800, 600],
            "recent": [],
            "limits": {"a": 1, "b": None},
        },
        "numbers": [
            0,
            -1,
            127,
            128,
            2**31,
            2**53 + 1,
            2**64 - 1,
            2**64,
            -(2**63),
            0.1,
            1e300,
            -0.0,
        ],
        "floats": [[n / 2 for n in range(9)], [0.1, 0.2], [1, 2.5, 3], [1, 2.0]],
        "booleans": [True, False, True, None],
        "words": ["", "short", "seven b", "eight by", "x" * 1100, "naïve 日本 🙂", 'a\tb\n"c"\0'],
        "states": [["open", "held", "closed"][n % 3] for n in range(30)],
        "names": [f"{n:x} of many" for n in range(40)],
        "one length": [
            {
                "id": f"{n * 2654435761 % 2**32:08x}",
                "at": f"2026-11-28T{n:02}:30:00.125Z",
                "hash": None if n % 6 == 4 else f"{n * 40503 % 2**16:04x}" * 10,
            }
            for n in range(24)
        ],
        "members": {f"user-{n:04}": {"id": n, "on": n % 2 == 0} for n in range(300)},
        "mixed members": {
            f"key {n}": [n, f"text {n}", None, [n], {"n": n}][n % 5] for n in range(280)
        },
        "long keys": {"k" * 300: 1, "l" * 256: {"m" * 400: [2]}},
        "wide": [{f"column {n}": row * n for n in range(300)} for row in range(4)],
        "polygons": [[[[x, y] for x in range(3)] for y in range(n)] for n in range(4)],
        "orders": [{"a": 1, "b": "x", "c": [n]} if n % 2 else {"c": [], "a": n} for n in range(12)],
        "anything": [1, "two", None, {"three": 3}, [4, [5]], 6.5, True],
        "deep": deep,
        "empty": [{}, [], "", {"": {"": []}}],
        "one": 55,
        "null": None,
    }


@dataclasses.dataclass
class Lap:
    driver: str
    seconds: float
    at: dt.datetime


def objects() -> dict[str, Any]:
    """Values of Python that JSON lacks."""
    moment = dt.datetime(2026, 11, 28, 8, 30, 15, 250, tzinfo=dt.UTC)
    day = dt.timedelta(days=1)
    return {
        "times": [moment, moment.replace(tzinfo=None), moment.date(), moment.time()],
        "columns of times": [
            {"at": moment + n * day, "due": moment.date() + n * day, "local": moment.time()}
            for n in range(9)
        ],
        "decimals": [Decimal("19.90"), Decimal("-0.001"), Decimal("1" * 30), Decimal(10) ** 9],
        "uuids": [uuid.UUID(int=n**20) for n in range(1, 9)],
        "bytes": [b"", b"\0\1\2", bytes(range(256)) * 5],
        "not finite": [float("inf"), float("-inf"), 1.5],
        "tensors": {
            "f32": np.arange(6, dtype=np.float32).reshape(2, 3),
            "f16": np.array([0.5, -2], dtype=np.float16),
            "bool": np.array([True, False]),
            "u8": np.zeros((2, 2, 2), dtype=np.uint8),
        },
        "dataclasses": [Lap("Ada", 88.5 + n, moment + n * day) for n in range(5)],
        "integers": 10**40,
    }


def tables() -> dict[str, pa.Table]:
    """What comes from Arrow."""
    moments = [dt.datetime(2026, 11, n, tzinfo=dt.UTC) for n in range(1, 7)]
    nested = pa.array([{"x": 1, "y": [1.5]}, None, {"x": None, "y": []}] * 2)
    return {
        "types": pa.table(
            {
                "i8": pa.array([1, None, -3, 4, 5, 6], pa.int8()),
                "u32": pa.array([1, 2, 3, 4, 5, 2**32 - 1], pa.uint32()),
                "f16": pa.array([np.float16(n / 2) for n in range(6)], pa.float16()),
                "f32": pa.array([0.5, None, 1.5, 2, 3, 4], pa.float32()),
                "f64": pa.array([0.1, 0.2, 0.3, None, 0.5, 0.6]),
                "bool": pa.array([True, None, False, True, True, False]),
                "text": pa.array(["a", "b", None, "", "a longer text", "a"]),
                "dictionary": pa.array(["C", "F", "C", "C", None, "F"]).dictionary_encode(),
                "moment": pa.array(moments, pa.timestamp("us", tz="UTC")),
                "date": pa.array([m.date() for m in moments], pa.date32()),
                "decimal": pa.array([Decimal(n) / 100 for n in range(6)], pa.decimal128(12, 2)),
                "bytes": pa.array([b"x", b"", None, b"yz", b"0", b"1"], pa.binary()),
                "list": pa.array([[1], [], None, [2, 3], [4], [5, None]], pa.list_(pa.int64())),
                "fixed": pa.array([[1.0, 2.0]] * 6, pa.list_(pa.float32(), 2)),
                "struct": nested,
            }
        ),
        "wide": pa.table({f"c{n}": pa.array([n, None, n + 2]) for n in range(400)}),
        "no rows": pa.table({"a": pa.array([], pa.int64())}),
    }


def pointers(value: Json, at: str = "") -> Iterator[tuple[str, Json]]:
    """All values of a JSON value, with the pointers to them."""
    yield at, value
    if isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            name = str(key).replace("~", "~0").replace("/", "~1")
            yield from pointers(part, f"{at}/{name}")


def edit(doc: livebuf.Document, chance: random.Random, steps: int) -> None:
    """Random edits of all kinds."""
    news: list[Callable[[], Json]] = [
        lambda: chance.randrange(-300, 70_000),
        lambda: chance.random(),
        lambda: None,
        lambda: True,
        lambda: "t" * chance.randrange(40),
        lambda: [chance.randrange(9) for _ in range(chance.randrange(5))],
        lambda: {"a": 1, "b": [chance.random()], "text": "new"},
        lambda: [{"id": n, "name": "row"} for n in range(4)],
    ]
    for _ in range(steps):
        pointer, value = chance.choice(list(pointers(json.loads(livebuf.to_json(doc)))))
        new = chance.choice(news)()
        what = chance.randrange(6)
        if isinstance(value, list) and what < 4:
            array = doc.pointer(pointer)
            if what == 0 or not value:
                array.append(new)
            elif what == 1:
                array.insert(chance.randrange(len(value)), new)
            elif what == 2:
                array.pop(chance.randrange(len(value)))
            else:
                array.swap(0, len(value) - 1)
        elif isinstance(value, dict) and what < 3:
            doc.set_pointer(f"{pointer}/{chance.choice(['a', 'new', 'k' * 260])}", new)
        elif what == 4 and pointer:
            doc.remove_pointer(pointer)
        elif pointer:
            doc.set_pointer(pointer, new)


def journal(doc: bytes, at: int, new: bytes) -> bytes:
    """A file of a document that was not written to its end (FORMAT, "Journals in files")."""
    end = struct.pack("<II", at, len(new)) + new
    end += struct.pack("<QIII", len(end) + 32, len(doc), 1, 0)
    return doc + end + struct.pack("<I", zlib.crc32(end)) + b"\xabLBJ\x01\0\0\0"


def by_program(program: list[str], out: Path, name: str, value: Json) -> None:
    """A document of JSON text by another program, and one that it edited."""
    source, edited = out.with_suffix(".in"), out.with_name(f"{out.stem}_edited.lbuf")
    source.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    with subprocess.Popen(program, stdin=-1, stdout=-1, text=True, bufsize=1) as running:
        assert running.stdin and running.stdout

        def ask(*request: str) -> None:
            running.stdin.write(json.dumps(request) + "\n")
            running.stdin.flush()
            assert running.stdout.readline().strip() == "ok", (name, request)

        ask("encode", str(source), str(out))
        edited.write_bytes(out.read_bytes())
        scalars = [at for at, value in pointers(value) if not isinstance(value, (dict, list))]
        for n, at in enumerate(random.Random(2).sample(scalars, min(6, len(scalars)))):
            new = [f'"text {n}"', str(n), "[1, 2]", "null"][n % 4]
            ask("set", str(edited), at, new, str(edited))
    source.unlink()


def main() -> None:
    name, c_program, command = sys.argv[1:]
    out = FOLDER / name
    out.mkdir(parents=True)

    def write(name: str, data: Any) -> None:
        (out / f"{name.replace(' ', '_')}.lbuf").write_bytes(bytes(data))

    here = str(Path(__file__).with_name("programs.py"))
    programs = {"c": [c_program], "command": [sys.executable, here, "command", command]}
    for name, value in texts().items():
        text = json.dumps(value, ensure_ascii=False)
        write(f"json_{name}", livebuf.from_json(text))
        write(f"python_{name}", livebuf.dumps(value))
        for steps in (15, 150):
            doc = livebuf.from_json(text).copy()
            edit(doc, random.Random(steps), steps)
            write(f"edited_{steps}_{name}", doc)
        if name in ("people", "settings", "members", "mixed members", "words", "anything"):
            for program, words in programs.items():
                by_program(words, out / f"{program}_{name.replace(' ', '_')}.lbuf", name, value)
    for name, value in objects().items():
        write(f"python_{name}", livebuf.dumps(value))
    recognized = json.dumps([{"id": str(uuid.UUID(int=n)), "due": "2026-11-28"} for n in range(9)])
    write("json_recognized", livebuf.from_json(recognized, recognize=True))
    for name, table in tables().items():
        write(f"arrow_{name}", livebuf.from_arrow(table))
    lap = livebuf.dumps({"lap": 55})
    write("journal", journal(lap, lap.index(struct.pack("<q", 55)), struct.pack("<q", 56)))
    known: set[bytes] = set()
    for path in sorted(out.glob("*.lbuf")):
        data = path.read_bytes()
        if data in known:
            path.unlink()
            continue
        known.add(data)
        with livebuf.open(path) as doc:
            doc.validate()
            text = livebuf.to_json(doc, non_finite="null")
        path.with_suffix(".json").write_bytes(text + b"\n")

    for name, old in (("plain", False), ("inverted", True)):
        doc = livebuf.from_json(json.dumps(texts()["people"])).copy()
        doc.set_state()
        (out / f"{name}.base").write_bytes(bytes(doc))
        with doc.recording(delta=True, old=old, digest=True) as changes:
            edit(doc, random.Random(3), 20)
        (out / f"{name}.delta").write_bytes(bytes(changes.delta))
        (out / f"{name}.after").write_bytes(bytes(doc))

    for name, compacted in (("rows", False), ("compacted", True)):
        path = out / f"{name}.lblog"
        with livebuf.Log(path, "x") as log:
            for row in texts()["people"]:
                log.append(row)
            log.extend(texts()["readings"] * 4)
            log.append(moment := {"at": "2026-11-28", "n": [1, 2]})
            if compacted:
                log.compact()
                log.append(moment)
        with livebuf.Log(path) as log:
            rows = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in log]
        lines = "".join(f"{row}\n" for row in rows)
        path.with_suffix(".ndjson").write_text(lines, encoding="utf-8")
    sizes = [path.stat().st_size for path in out.iterdir()]
    print(f"{len(sizes)} files of {sum(sizes):,} bytes in {out}")


if __name__ == "__main__":
    main()
