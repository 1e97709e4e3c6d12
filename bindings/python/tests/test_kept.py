"""Schemas of Arrow that are kept beside the rows."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import livebuf
import pytest

pa = pytest.importorskip("pyarrow")


def table() -> Any:
    """A column of each type that a document has no type for, with nulls."""
    moments = [0, 1_700_000_000_123_456_789, None]
    columns = {
        "i8": pa.array([1, -2, None], pa.int8()),
        "u16": pa.array([1, 65535, None], pa.uint16()),
        "f32": pa.array([0.1, 2.0, None], pa.float32()),
        "f16": pa.array([0.5, 2.0, None], pa.float16()),
        "ns": pa.array(moments, pa.timestamp("ns")),
        "zone": pa.array(moments, pa.timestamp("ns", "Europe/Rome")),
        "s": pa.array([1, 2, None], pa.timestamp("s", "+02:00")),
        "took": pa.array([timedelta(seconds=1.5), timedelta(0), None], pa.duration("us")),
        "long": pa.array([-1, 2**62, None], pa.duration("ns")),
        "clock": pa.array([1, 86_399_999_999_999, None], pa.time64("ns")),
        "ms": pa.array([time(1), time(2), None], pa.time32("ms")),
        "day": pa.array([date(2024, 1, 1), date(1, 1, 1), None], pa.date64()),
        "far": pa.array([2**31 - 1, -(2**31), None], pa.int32()).cast(pa.date32()),
        "price": pa.array([Decimal("1.25"), Decimal("-3.00"), None], pa.decimal128(12, 2)),
        "small": pa.array([Decimal("1.2"), Decimal("3.0"), None], pa.decimal64(5, 1)),
        "seat": pa.array(["A1", "B2", None]).dictionary_encode(),
        "large": pa.array(["x", "y", None], pa.large_string()),
        "view": pa.array(["x", "y" * 20, None], pa.string_view()),
        "fixed": pa.array([b"ab", b"cd", None], pa.binary(2)),
        "pair": pa.array([[1, 2], [3, 4], None], pa.list_(pa.int16(), 2)),
        "lists": pa.array([[1], [], None], pa.large_list(pa.uint8())),
        "in": pa.array(
            [{"t": timedelta(0)}, {"t": None}, None], pa.struct([("t", pa.duration("s"))])
        ),
        "none": pa.nulls(3),
        "id": pa.array([b"0" * 16, b"1" * 16, None], pa.uuid()),
        "json": pa.array(["[1]", '"x"', None], pa.string()).cast(pa.json_()),
    }
    fields = [
        pa.field(name, column.type, metadata={"note": name} if name == "i8" else None)
        for name, column in columns.items()
    ]
    schema = pa.schema(fields, metadata={"origin": "test", "bytes": b"\xff"})
    return pa.table(list(columns.values()), schema=schema)


def test_types_come_back() -> None:
    """Units, durations, zones, widths and dictionaries were lost."""
    given = table()
    doc = livebuf.from_arrow(given, keep_types=True)
    assert list(doc) == ["arrow_schema", "rows"]
    plain = livebuf.from_arrow(given)
    assert doc["rows"] == plain.to_python()
    for made in (doc, livebuf.Document(bytes(doc)), livebuf.Document(bytearray(bytes(doc)))):
        rows = made["rows"]
        found = pa.table(rows.table)
        assert found.schema.equals(given.schema, check_metadata=True)
        assert found.equals(given)
        part = pa.table(rows.table.select(["took", "in.t", "seat"]).slice(1, 3))
        assert part.schema.names == ["took", "in.t", "seat"]
        assert part.schema.field("in.t").type == pa.duration("s")
        assert part.column("took").equals(given.column("took").slice(1, 2))
    assert livebuf.from_arrow(given.slice(0, 0), keep_types=True)["rows"] == []
    empty = livebuf.from_arrow(given.slice(0, 0), keep_types=True)
    assert pa.table(empty["rows"].table).schema.equals(given.schema)


def test_edits() -> None:
    doc = livebuf.from_arrow(pa.table({"n": pa.array([1, 2], pa.int8())}), keep_types=True)
    doc["rows"].append({"n": 3, "more": "text"})
    found = pa.table(doc["rows"].table.with_options(copy=True))
    assert found.schema.names == ["n", "more"] and found.schema.field("n").type == pa.int8()
    assert found.column("more").to_pylist() == [None, None, "text"]
    doc["rows"][0]["n"] = 300
    with pytest.raises((livebuf.WrongTypeError, pa.ArrowException), match="300 does not fit int8"):
        pa.table(doc["rows"].table)
    # What only looks like a schema is none.
    for beside in (5, {"format": "+s", "children": 7}, {"format": "?"}, [{}]):
        other = livebuf.Document.from_python({"arrow_schema": beside, "rows": [{"n": 1}]})
        assert pa.table(other["rows"].table).schema.field("n").type == pa.int64()


def test_frames(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    import livebuf.polars

    frame = pl.DataFrame(
        {
            "n": pl.Series([1, 2, None], dtype=pl.Int8),
            "took": [timedelta(seconds=1), timedelta(microseconds=-5), None],
            "seat": pl.Series(["b", "a", None], dtype=pl.Categorical),
            "kind": pl.Series(["x", "z", None], dtype=pl.Enum(["z", "y", "x"])),
            "at": pl.Series(
                [datetime(2024, 1, 1), None, None], dtype=pl.Datetime("ns", "Asia/Tokyo")
            ),
        }
    )
    doc = livebuf.from_arrow(frame, keep_types=True)
    found = pl.DataFrame(doc["rows"].table)
    assert found.schema == frame.schema and found.equals(frame)
    livebuf.dump(doc, tmp_path / "a.lbuf")
    scanned = livebuf.polars.scan(tmp_path / "a.lbuf", table="/rows")
    assert scanned.collect_schema() == frame.schema and scanned.collect().equals(frame)


def test_pandas() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "took": pd.to_timedelta([1, 2], unit="s"),
            "at": pd.to_datetime(["2024-01-01", "2024-01-02"]).tz_localize("Europe/Rome"),
            "seat": pd.Categorical(["a", "b"]),
        },
        index=pd.Index([5, 7], name="id"),
    )
    doc = livebuf.from_arrow(pa.Table.from_pandas(frame), keep_types=True)
    pd.testing.assert_frame_equal(pa.table(doc["rows"].table).to_pandas(), frame)


def test_categories_of_numbers() -> None:
    """Bug: the table could be imported, and not exported. Numbers come back as numbers."""
    years = pa.array([2020, 2021, 2020, None]).dictionary_encode()
    doc = livebuf.from_arrow(pa.table({"year": years, "n": [1, 2, 3, 4]}), keep_types=True)
    found = pa.table(doc["rows"].table)
    assert found.column("year").to_pylist() == [2020, 2021, 2020, None]
    assert found.schema.field("year").type == pa.int64()
