"""The package's interface, used widely: mypy, pyright and Python all run this file."""

from __future__ import annotations

import tempfile
from collections.abc import MutableMapping, MutableSequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import livebuf
from livebuf import Array, Column, Document, Object, Table


@dataclass
class Lap:
    number: int
    seconds: float
    tags: list[str] = field(default_factory=list)


def slowest(laps: MutableSequence[Any]) -> float:
    """Anything that is a list will do; an `Array` is one."""
    return max(float(lap["seconds"]) for lap in laps)


def rename_driver(race: MutableMapping[str, Any], name: str) -> None:
    """Anything that is a dict will do; an `Object` is one."""
    race["driver"] = name


def codec() -> None:
    payload: bytes = livebuf.dumps({"laps": [Lap(1, 71.5), Lap(2, 70.25, ["fastest"])]})
    plain: Any = livebuf.loads(payload)
    assert plain["laps"][1] == {"number": 2, "seconds": 70.25, "tags": ["fastest"]}

    lap: Lap = livebuf.loads(livebuf.dumps(Lap(3, 72.0)), type=Lap)
    assert lap == Lap(3, 72.0)
    stored = livebuf.loads(livebuf.dumps({1, 2}, default=sorted), type=list[int])
    assert stored == [1, 2]

    laps: livebuf.Decoder[Lap] = livebuf.Decoder(Lap)
    again: Lap = laps.decode(livebuf.Encoder(enc_hook=sorted).encode(lap))
    assert again == lap == livebuf.Document.from_python(lap).to_python(type=Lap)

    text: bytes = livebuf.to_json(livebuf.from_json('{"a": [1, 2.50]}'), indent=2)
    assert text.startswith(b"{\n  ")


def documents() -> None:
    doc: Document = livebuf.from_json(b'{"driver": "Ada", "laps": [{"seconds": 71}]}')
    race: Object = doc.root
    rename_driver(race, "Grace")
    laps = race["laps"]
    assert isinstance(laps, Array)
    laps.append({"seconds": 72.5})
    laps[0:1] = [{"seconds": 70}, {"seconds": 71}]
    assert slowest(laps) == 72.5
    first: list[Any] = laps[:1]
    assert first[0]["seconds"] == 70

    assert doc.pointer("/laps/0/seconds") == 70
    nothing: int = doc.pointer("/laps/9", 0)
    assert nothing == 0
    doc.set_pointer("/laps/0/pits", 1)
    doc.remove_pointer("/laps/0/pits")
    for key, value in race.items():
        assert key in race and value is not None
    assert [key for key, _ in race.range("d", "e")] == ["driver"]
    assert dict(race.prefix("dr")) == {"driver": "Grace"}
    assert race.setdefault("pits", 0) == 0
    race.update({"flag": "green"}, weather="dry")
    missing: str = race.pop("missing", "none")
    assert missing == "none"

    match race:
        case {"driver": str(name)}:
            assert name == "Grace"
        case _:
            raise AssertionError("the race has a driver")

    doc.compact(min_width=8)
    doc.validate()
    counts: dict[str, int] = doc.stats()
    assert counts["used"] == doc.nbytes
    assert doc.copy().digest() == doc.digest()
    try:
        Document(bytes(doc))["driver"] = "Eve"
    except livebuf.ReadOnlyError as error:
        assert (error.code, error.kind) == (28, "ReadOnly")


def columns() -> None:
    doc = Document.from_python([{"lap": n, "seconds": 70 + n / 2} for n in range(100)])
    laps: Array = doc.root
    table: Table = laps.table
    assert table.num_rows == 100 and table.column_names == ["lap", "seconds"]
    seconds: Column = table.column("seconds")
    found: int | None = seconds.find(75.0)
    rows: list[int] = seconds.filter(70, 71)
    assert (found, rows) == (10, [0, 1, 2])
    same = livebuf.from_arrow(table.with_options(text="view", copy=True))
    assert same == doc


def files(folder: Path) -> None:
    path = folder / "race.lbuf"
    livebuf.dump({"laps": 3}, path)
    with livebuf.open(path, "r+") as doc:
        doc["laps"] += 1
        doc.flush()
    assert livebuf.load(path) == {"laps": 4}


def main() -> None:
    codec()
    documents()
    columns()
    with tempfile.TemporaryDirectory() as folder:
        files(Path(folder))


if __name__ == "__main__":
    main()
