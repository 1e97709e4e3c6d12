"""`livebuf.to_parquet` and `livebuf.from_parquet` beside DuckDB, Spark and pyarrow: theirs read by
us, ours by them. `make test-engines` builds the package `livebuf-parquet` and installs Spark."""

from __future__ import annotations

import datetime
import decimal
import io
import json
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import livebuf
import pytest

for library in ("livebuf_parquet", "pyarrow", "duckdb"):
    pytest.importorskip(library, reason=f"{library} is not installed: make test-engines")
import duckdb  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

UTC = datetime.UTC

MIXED: list[Any] = [
    1,
    -(2**40),
    2**63,
    "text",
    "a longer text " * 20,
    None,
    True,
    1.5,
    [1, "x", None, [2]],
    {"a": 1, "b": {"c": [1, 2]}},
    {"a": 2, "b": {"c": ["z"]}, "more": None},
]


def rows(count: int = 3000) -> list[dict[str, Any]]:
    return [
        {
            "id": n,
            "half": n / 2,
            "name": None if n % 7 == 0 else f"name {n % 9}",
            "day": datetime.date(2026, 1, 1) + datetime.timedelta(n % 400),
            "at": datetime.datetime(2026, 1, 1, 12, 0, 0, n, tzinfo=UTC),
            "price": decimal.Decimal(n).scaleb(-2),
            "tags": ["a"] * (n % 3),
            "user": {"id": n, "name": f"user {n}"},
            "any": MIXED[n % len(MIXED)],
        }
        for n in range(count)
    ]


def plain(value: Any) -> Any:
    """A Variant as JSON of other programs has it, in which 2.0 may be 2."""
    return json.loads(json.dumps(value, sort_keys=True))


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="pyspark is not installed: make test-engines")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("SPARK IS NOT TESTED: there is no Java")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .appName("livebuf parquet tests")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    yield session
    session.stop()


WAYS: list[dict[str, Any]] = [
    {},
    {"shred": False, "compression": "zstd"},
    {"variant": True},
    {"variant": True, "shred": False, "compression": "none"},
]


@pytest.mark.parametrize("way", WAYS)
def test_round_trip(tmp_path: Path, way: dict[str, Any]) -> None:
    path = tmp_path / "rows.parquet"
    livebuf.to_parquet(rows(), path, **way)
    assert livebuf.from_parquet(path).to_python() == rows()


@pytest.mark.parametrize("way", WAYS)
def test_duckdb_reads_ours(tmp_path: Path, way: dict[str, Any]) -> None:
    path = tmp_path / "rows.parquet"
    livebuf.to_parquet(rows(), path, **way)
    table = f"read_parquet('{path}')"
    if way.get("variant"):
        found = duckdb.sql(f'select value.id::int, value."any"::json::varchar from {table}')
    else:
        described = duckdb.sql(f"describe select * from {table}").fetchall()
        types = {name: kind for name, kind, *_ in described}
        assert types["any"] == "VARIANT" and types["at"] == "TIMESTAMP WITH TIME ZONE"
        assert types["user"] == 'STRUCT(id BIGINT, "name" VARCHAR)'
        assert types["tags"] == "VARCHAR[]" and types["price"] == "DECIMAL(38,2)"
        found = duckdb.sql(f'select id, "any"::json::varchar from {table}')
    for n, any_ in found.fetchall():
        expected = MIXED[n % len(MIXED)]
        # DuckDB's null of SQL and of Variant are one.
        assert (None if any_ is None else json.loads(any_)) == expected


@pytest.mark.parametrize("way", WAYS)
def test_spark_reads_ours(tmp_path: Path, spark: Any, way: dict[str, Any]) -> None:
    path = tmp_path / "rows.parquet"
    livebuf.to_parquet(rows(), path, **way)
    frame = spark.read.parquet(str(path))
    if way.get("variant"):
        assert frame.schema.simpleString() == "struct<value:variant>"
        found = frame.selectExpr(
            "variant_get(value, '$.id', 'bigint')", "to_json(variant_get(value, '$.any'))"
        )
    else:
        types = {field.name: field.dataType.simpleString() for field in frame.schema}
        assert types["any"] == "variant" and types["at"] == "timestamp"
        assert types["user"] == "struct<id:bigint,name:string>"
        found = frame.selectExpr("id", "to_json(any)")
        assert [row.price for row in frame.select("price").collect()] == [
            row["price"] for row in rows()
        ]
    for n, any_ in found.collect():
        assert (None if any_ is None else json.loads(any_)) == MIXED[n % len(MIXED)]


def test_pyarrow_reads_ours(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    livebuf.to_parquet(rows(), path)
    table = pq.read_table(path)
    assert table.schema.field("price").type == pa.decimal128(38, 2)
    assert table.schema.field("at").type == pa.timestamp("us", tz="UTC")
    typed = [name for name in table.column_names if name != "any"]
    wanted = [{name: row[name] for name in typed} for row in rows()]
    assert table.select(typed).to_pylist() == wanted


def test_we_read_duckdb(tmp_path: Path) -> None:
    path = tmp_path / "duck.parquet"
    # DuckDB 2.0 cannot write 2**63 in a Variant that it shreds.
    mixed = [value for value in MIXED if value != 2**63]
    cases = ", ".join(f"('{json.dumps(value)}')" for value in mixed)
    duckdb.sql(
        f"copy (select row_number() over () - 1 as id, v::json::variant as v "
        f"from (values {cases}) t(v)) to '{path}' (format parquet)"
    )
    found = livebuf.from_parquet(path).to_python()
    assert [plain(row["v"]) for row in found] == mixed
    # Objects of one shape, which DuckDB shreds.
    duckdb.sql(
        f"copy (select {{'a': i, 'b': 'text ' || i, 'c': [i, i + 1]}}::variant as v "
        f"from range(5000) t(i)) to '{path}' (format parquet)"
    )
    assert "typed_value" in str(pq.ParquetFile(path).schema)
    found = livebuf.from_parquet(path).to_python()
    assert found == [{"v": {"a": n, "b": f"text {n}", "c": [n, n + 1]}} for n in range(5000)]


def test_we_read_spark(tmp_path: Path, spark: Any) -> None:
    from pyspark.sql import Row

    mixed = [Row(id=n, text=json.dumps(MIXED[n % len(MIXED)])) for n in range(100)]
    frame = spark.createDataFrame(mixed).selectExpr(
        "id", "parse_json(text) as v", "array(parse_json(text)) as inside"
    )
    frame.coalesce(1).write.parquet(str(tmp_path / "mixed"))
    [path] = (tmp_path / "mixed").glob("*.parquet")
    found = livebuf.from_parquet(path).to_python()
    for row in found:
        expected = MIXED[row["id"] % len(MIXED)]
        number = row["v"]
        if isinstance(number, decimal.Decimal):
            # Spark reads 1.5 as a decimal.
            assert float(number) == expected
            continue
        assert plain(row["v"]) == expected
        assert plain(row["inside"]) == [expected]
    # Spark shreds what rows have in common.
    frame = spark.range(1000).selectExpr(
        "id",
        'parse_json(\'{"a": \' || id || \', "b": {"c": "x"}, "d": [1, 2]}\') as v',
    )
    frame.coalesce(1).write.parquet(str(tmp_path / "alike"))
    [path] = (tmp_path / "alike").glob("*.parquet")
    assert "typed_value" in str(pq.ParquetFile(path).schema)
    found = livebuf.from_parquet(path).to_python()
    assert found == [{"id": n, "v": {"a": n, "b": {"c": "x"}, "d": [1, 2]}} for n in range(1000)]


def test_we_read_pyarrow(tmp_path: Path) -> None:
    path = tmp_path / "arrow.parquet"
    data = [{"id": n, "l": [{"x": n}], "t": "x"} for n in range(10)]
    for compression in ("none", "snappy", "gzip", "lz4", "zstd"):
        pq.write_table(pa.Table.from_pylist(data), path, compression=compression)
        assert livebuf.from_parquet(path).to_python() == data
    pq.write_table(pa.table({"m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))}), path)
    with pytest.raises(livebuf.ParquetError, match='"m"'):
        livebuf.from_parquet(path)


def test_documents_views_and_files(tmp_path: Path) -> None:
    value = {"rows": [{"a": 1, "u": uuid.UUID(int=1)}, {"a": 2}], "note": [1, "x"]}
    doc = livebuf.Document(livebuf.dumps(value))
    for given in (doc, doc.root, value):
        file = io.BytesIO()
        livebuf.to_parquet(given, file)
        file.seek(0)
        assert livebuf.from_parquet(file) == value
    livebuf.to_parquet(doc["rows"], tmp_path / "rows.parquet")
    copy = livebuf.from_parquet(str(tmp_path / "rows.parquet"))
    assert copy == [{"a": 1, "u": uuid.UUID(int=1)}, {"a": 2, "u": None}]
    copy[1]["u"] = "edited"
    assert copy[1]["u"] == "edited"
    assert livebuf.from_parquet(tmp_path / "rows.parquet", skip_nulls=True) == value["rows"]
    livebuf.to_parquet(doc, "memory://rows.parquet", table="/rows")
    assert livebuf.from_parquet("memory://rows.parquet", skip_nulls=True) == value["rows"]


def test_wrong_input(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with pytest.raises(livebuf.EncodeError, match='at "/n/0": .* cannot keep'):
        livebuf.to_parquet({"n": [10**40]}, path)
    assert not path.exists()
    livebuf.to_parquet({"n": [10**40]}, path, lossy=True)
    assert livebuf.from_parquet(path) == {"n": [1e40]}
    with pytest.raises(livebuf.MissingKeyError, match="/nothing"):
        livebuf.to_parquet({"n": 1}, path, table="/nothing")
    with pytest.raises(ValueError, match="compression must be"):
        livebuf.to_parquet({"n": 1}, path, compression="best")  # type: ignore[arg-type]
    bad: Any
    for bad in (b"", b"PAR1", livebuf.dumps([1])):
        path.write_bytes(bad)
        with pytest.raises(livebuf.ParquetError):
            livebuf.from_parquet(path)
    with pytest.raises(FileNotFoundError):
        livebuf.from_parquet(tmp_path / "missing.parquet")
    with pytest.raises(TypeError):
        livebuf.from_parquet(b"PAR1")  # type: ignore[arg-type]
    damaged = bytearray(livebuf.dumps([{"a": n, "b": "x" * n} for n in range(20)]))
    damaged[len(damaged) // 2 :] = b"\xff" * (len(damaged) - len(damaged) // 2)
    with pytest.raises(livebuf.DamagedError):
        livebuf.to_parquet(livebuf.Document(damaged), path)
