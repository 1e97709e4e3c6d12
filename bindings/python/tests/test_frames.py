"""Tables through Arrow to polars, pyarrow, pandas and DuckDB, and back.

That no row is touched through Python is shown in two ways: a `Table` has nothing of a
sequence or iterable, so that nobody can ask it for rows; and while a library reads it, all
methods that lead to rows fail.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import livebuf
import pytest
from livebuf import Document

COUNT = 500

ROWS: list[dict[str, Any]] = [
    {
        "id": n,
        "big": n * 2**33,
        "half": n / 2,
        "text": f"text number {n}",
        "flag": n % 3 == 0,
        "maybe": None if n % 5 == 0 else n,
        "at": {"x": n, "name": str(n)},
        "tags": [str(n)] * (n % 3),
    }
    for n in range(COUNT)
]


@pytest.fixture
def table() -> livebuf.Table:
    found = Document.from_python({"rows": ROWS})["rows"].table
    assert isinstance(found, livebuf.Table)
    return found


def equal_texts(kind: type[bytes] | type[bytearray]) -> livebuf.Table:
    """A column `unit` whose dictionary has four texts, two of which are equal."""
    rows = [{"unit": f"a long name {n % 4}", "n": n} for n in range(400)]
    found = Document(kind(livebuf.dumps(rows).replace(b"long name 3", b"long name 1"))).root.table
    assert found is not None and found["unit"].type == "DictionaryU8"
    assert found["unit"][3] == "a long name 1"
    return found.with_options(narrow=True)


class Touched(AssertionError):
    """A row was asked for through Python."""


class Spy:
    """Lets every way to rows through Python fail meanwhile, and counts Arrow streams."""

    WAYS = {
        livebuf.Array: ["__getitem__", "__iter__", "__len__", "__contains__", "to_python"],
        livebuf.Object: ["__getitem__", "__iter__", "__len__", "keys", "items", "to_python"],
        livebuf.Document: ["__getitem__", "__iter__", "__len__", "root", "to_python"],
        livebuf.Column: ["__len__", "to_python", "numpy"],
        livebuf.Table: ["column", "num_rows", "__len__", "__getitem__"],
    }

    def __enter__(self) -> Spy:
        self.streams = 0
        self.touched: list[str] = []
        self.kept: list[tuple[type, str, Any]] = []
        for owner, names in self.WAYS.items():
            for name in names:
                self.replace(owner, name, self.forbidden(f"{owner.__name__}.{name}"))
        original = livebuf.Table.__arrow_c_stream__

        def stream(table: livebuf.Table, requested_schema: object | None = None) -> object:
            self.streams += 1
            return original(table, requested_schema)

        self.replace(livebuf.Table, "__arrow_c_stream__", stream)
        return self

    def replace(self, owner: type, name: str, value: Any) -> None:
        self.kept.append((owner, name, vars(owner)[name]))
        setattr(owner, name, value)

    def forbidden(self, what: str) -> Any:
        def touch(*_: object, **__: object) -> Any:
            self.touched.append(what)
            raise Touched(what)

        return touch

    def __exit__(self, *_: object) -> None:
        for owner, name, value in reversed(self.kept):
            setattr(owner, name, value)

    def assert_only_arrow(self) -> None:
        assert not self.touched, self.touched
        # One for the data; some ask once more for the schema.
        assert 1 <= self.streams <= 3, self.streams


class TestTables:
    def test_nothing_of_a_sequence(self, table: livebuf.Table) -> None:
        for name in (
            "__next__",
            "__contains__",
            "__reversed__",
            "__array__",
            "__array_interface__",
            "__dataframe__",
            "keys",
            "items",
            "to_python",
            "tolist",
        ):
            assert not hasattr(livebuf.Table, name), name
        # By this `pandas.DataFrame(table)` says what to call.
        with pytest.raises(TypeError, match=r"table.to_pandas\(\) is a frame of pandas"):
            iter(table)
        for action in (list, lambda t: t[0], lambda t: next(iter(t)), memoryview, lambda t: 1 in t):
            with pytest.raises(TypeError):
                action(table)

    def test_frames_of_pandas_and_polars(self, tmp_path: Path) -> None:
        """`pandas.DataFrame(table)` said "constructor not properly called!", and nothing else was
        there."""
        pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
        rows = [{"n": 2**53 + 1, "s": "a", "day": date(2024, 2, 29)}, {"n": None, "x": [1]}]
        with livebuf.Log(tmp_path / "x.lblog", "x") as log:
            log.extend(rows)
            table = livebuf.Document.from_python(rows).root.table
            for columns in (table, log, log.select(["n", "s", "day", "x"])):
                frame = columns.to_pandas()
                assert isinstance(frame, pd.DataFrame)
                assert [str(kind) for kind in frame.dtypes[:3]] == [
                    "int64[pyarrow]",
                    "string[pyarrow]",
                    "date32[day][pyarrow]",
                ]
                assert frame["n"][0] == 2**53 + 1 and frame["n"].isna()[1]
                assert columns.to_polars().equals(pl.DataFrame(table))
        assert livebuf.Document.from_python([]).root.table.to_pandas().shape == (0, 0)
        with pytest.raises(TypeError, match=r"to_pandas\(\)"):
            pd.DataFrame(table)

    def test_frames_need_their_package(self) -> None:
        code = (
            "import sys; sys.modules['pandas'] = sys.modules['polars'] = None; import livebuf\n"
            "table = livebuf.Document.from_python([{'n': 1}]).root.table\n"
            "for make in (table.to_pandas, table.to_polars):\n"
            "    try: make()\n"
            "    except ModuleNotFoundError as error: print(error)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines() == [
            "to_pandas() needs pandas: pip install pandas",
            "to_polars() needs polars: pip install polars",
        ]

    def test_the_spy_sees_rows(self, table: livebuf.Table) -> None:
        """The assertion of the tests below can fail: also for what is called from C."""
        rows = Document.from_python(ROWS).root
        for touch in (list, len, lambda r: r[0], enumerate, lambda r: dict(rows=sorted(r))):
            with Spy() as spy, pytest.raises(Touched):
                touch(rows)
            with pytest.raises(AssertionError):
                spy.assert_only_arrow()
        with Spy() as spy:
            pass
        with pytest.raises(AssertionError):
            spy.assert_only_arrow()
        assert list(rows) == ROWS and rows[3] == ROWS[3] and len(rows) == COUNT

    def test_options(self, table: livebuf.Table) -> None:
        with pytest.raises(ValueError, match="text"):
            table.with_options(text="other")  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            livebuf.Table()

    def test_capsules(self, table: livebuf.Table) -> None:
        assert "arrow_array_stream" in repr(table.__arrow_c_stream__())
        assert "arrow_schema" in repr(table.__arrow_c_schema__())

    def test_capsules_that_nobody_takes(self) -> None:
        doc = Document.from_python(ROWS)
        capsule = doc.root.table.__arrow_c_stream__()
        del capsule
        doc.root.append({"id": 1})

    def test_of_other_arrays(self) -> None:
        """An array that is not stored as a table is exported too, or says why not."""
        for value in ([], [{"a": 1}, {"b": "x"}], [{"a": 1}, {"a": "x"}], [1, 2, 3], [{"a": {}}]):
            doc = Document.from_python(value, tables=False)
            try:
                capsule = doc.root.table.__arrow_c_stream__()
            except livebuf.Error as error:
                assert str(error)
            else:
                found = livebuf.from_arrow(Stream(capsule))
                assert len(found) == len(value)
                del capsule

    def test_of_damaged_documents(self) -> None:
        payload = bytearray(livebuf.dumps(ROWS))
        # Where texts lie: no text in UTF-8 has these bytes.
        start = payload.index(b"text number")
        payload[start : start + 60] = b"\xff" * 60
        doc = Document(payload)
        with pytest.raises(livebuf.Error):
            doc.root.table.__arrow_c_stream__()


class Stream:
    """A capsule as something that offers it."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.capsule


class TestPolars:
    @pytest.fixture(autouse=True)
    def library(self) -> None:
        self.pl = pytest.importorskip("polars", reason="polars is not installed")

    def test_frame(self, table: livebuf.Table) -> None:
        with Spy() as spy:
            frame = self.pl.DataFrame(table)
        spy.assert_only_arrow()
        assert frame.shape == (COUNT, 8)
        assert frame.to_dicts() == ROWS
        assert frame.schema["id"] == self.pl.Int64 and frame.schema["half"] == self.pl.Float64
        assert frame.schema["text"] == self.pl.String and frame.schema["flag"] == self.pl.Boolean
        assert frame["big"].sum() == sum(row["big"] for row in ROWS)

    def test_same_schema_as_read_ndjson(self, table: livebuf.Table) -> None:
        text = b"\n".join(livebuf.to_json(row) for row in ROWS)
        theirs = self.pl.read_ndjson(text)
        ours = self.pl.DataFrame(livebuf.from_json(text, lines=True).root.table)
        assert dict(ours.schema) == dict(theirs.schema)
        assert ours.equals(theirs)

    def test_narrow_and_text(self, table: livebuf.Table) -> None:
        frame = self.pl.DataFrame(table.with_options(narrow=True, text="view"))
        assert frame.schema["id"].is_integer() and frame.schema["id"] != self.pl.Int64
        assert frame["text"].to_list() == [row["text"] for row in ROWS]
        large = self.pl.DataFrame(table.with_options(text="large", batch_rows=7))
        assert large.to_dicts() == ROWS

    def test_more_cells_than_a_limit(self) -> None:
        """Objects of unlike keys: nearly all cells would be missing."""
        doc = livebuf.Document.from_python([{f"key {row}": row} for row in range(6_000)])
        table = doc.root.table
        assert table is not None
        with pytest.raises(livebuf.LimitError, match="max_cells"):
            self.pl.DataFrame(table)
        allowed = table.with_options(max_cells=6_000**2)
        assert len(pytest.importorskip("pyarrow").schema(allowed)) == 6_000

    def test_back(self) -> None:
        frame = self.pl.DataFrame(
            {"a": [1, 2, None], "s": ["x", None, "z"], "l": [[1], [], [2, 3]], "f": [0.5, 1.5, 2.5]}
        )
        doc = livebuf.from_arrow(frame)
        assert doc == frame.to_dicts()
        doc.validate()
        sparse = livebuf.from_arrow(frame, skip_nulls=True)
        assert sparse == [
            {key: value for key, value in row.items() if value is not None}
            for row in frame.to_dicts()
        ]
        assert self.pl.DataFrame(doc.root.table).equals(frame)

    def test_frames_outlive_documents(self, table: livebuf.Table) -> None:
        frame = self.pl.DataFrame(table)
        del table
        junk = [bytes(10_000) for _ in range(200)]
        assert frame["id"].to_list() == list(range(COUNT))
        del junk


class TestPyArrow:
    @pytest.fixture(autouse=True)
    def library(self) -> None:
        self.pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

    def test_table(self, table: livebuf.Table) -> None:
        with Spy() as spy:
            found = self.pa.table(table)
        spy.assert_only_arrow()
        found.validate(full=True)
        assert found.to_pylist() == ROWS
        types = {field.name: str(field.type) for field in found.schema}
        assert types["id"] == "int64" and types["half"] == "double" and types["flag"] == "bool"
        assert types["text"] in ("string", "large_string", "string_view")
        assert types["at"].startswith("struct<") and types["tags"].startswith(("list<", "large"))

    def test_reader(self, table: livebuf.Table) -> None:
        small = table.with_options(batch_rows=64)
        with Spy() as spy:
            reader = self.pa.RecordBatchReader.from_stream(small)
            batches = list(reader)
        spy.assert_only_arrow()
        assert sum(batch.num_rows for batch in batches) == COUNT
        assert len(batches) == -(-COUNT // 64)

    def test_requested_schema(self, table: livebuf.Table) -> None:
        wanted = self.pa.schema([("id", self.pa.int64()), ("half", self.pa.float64())])
        reader = self.pa.RecordBatchReader.from_stream(table, schema=wanted)
        assert reader.schema.equals(wanted)
        found = reader.read_all()
        assert found.to_pylist() == [{"id": row["id"], "half": row["half"]} for row in ROWS]

    @pytest.mark.parametrize(
        ("options", "id_type", "text_type"),
        [
            ({}, "int64", "string"),
            ({"narrow": True}, "int16", "string"),
            ({"text": "large"}, "int64", "large_string"),
            ({"text": "view"}, "int64", "string_view"),
        ],
        ids=str,
    )
    def test_options(
        self, table: livebuf.Table, options: dict[str, Any], id_type: str, text_type: str
    ) -> None:
        schema = self.pa.table(table.with_options(**options)).schema
        assert str(schema.field("id").type).lstrip("u") == id_type
        assert str(schema.field("text").type) == text_type

    @pytest.mark.parametrize("kind", [bytes, bytearray])
    def test_equal_texts_are_one_group(self, kind: type[bytes] | type[bytearray]) -> None:
        """A dictionary with equal texts was handed on as it is, and each was a group."""
        found = self.pa.table(equal_texts(kind))
        assert found["unit"].type == self.pa.dictionary(self.pa.uint8(), self.pa.string())
        groups = found.group_by("unit").aggregate([("n", "count")]).to_pylist()
        counts = {group["unit"]: group["n_count"] for group in groups}
        assert len(groups) == 3
        assert counts == {"a long name 0": 100, "a long name 1": 200, "a long name 2": 100}

    def test_zero_copy(self) -> None:
        np = pytest.importorskip("numpy")
        doc = Document.from_python([{"f": n / 3} for n in range(1000)], min_width=8)
        found = self.pa.table(doc.root.table)
        column = found["f"].chunk(0).to_numpy(zero_copy_only=True)
        with pytest.raises(livebuf.ExportedError):
            doc[0]["f"] = 5.0
        whole = np.frombuffer(memoryview(doc), dtype=np.uint8)
        assert np.shares_memory(column, whole)
        del found, column, whole
        doc[0]["f"] = 5.0

    def test_copy_leaves_the_document_free(self) -> None:
        doc = Document.from_python([{"f": n / 3} for n in range(1000)], min_width=8)
        found = self.pa.table(doc.root.table.with_options(copy=True))
        doc[0]["f"] = 5.0
        doc.root.clear()
        assert found["f"].to_pylist() == [n / 3 for n in range(1000)]

    def test_back(self) -> None:
        found = self.pa.table(
            {
                "i": self.pa.array([1, None, 3], self.pa.int16()),
                "u": self.pa.array([2**64 - 1, 0, 1], self.pa.uint64()),
                "f": self.pa.array([0.5, 1.5, None], self.pa.float32()),
                "b": self.pa.array([True, None, False]),
                "s": self.pa.array(["x", "é" * 100, None], self.pa.large_string()),
                "y": self.pa.array([b"x", b"", None]),
                "l": self.pa.array([[1], [], None]),
                "o": self.pa.array([{"a": 1, "b": "x"}, None, {"a": 2, "b": None}]),
            }
        )
        doc = livebuf.from_arrow(found)
        assert doc == found.to_pylist()
        doc.validate()
        assert livebuf.from_arrow(found.to_batches()[0]) == found.to_pylist()
        assert livebuf.from_arrow(found.slice(1, 2)) == found.to_pylist()[1:]
        assert livebuf.from_arrow(found.slice(0, 0)) == []

    def test_types_that_cannot_be_stored(self) -> None:
        for values, kind in (
            ([1], self.pa.duration("s")),
            ([1], self.pa.decimal128(5, 2)),
            ([1], self.pa.timestamp("s")),
            (["a"], self.pa.dictionary(self.pa.int8(), self.pa.string())),
        ):
            found = self.pa.table({"c": self.pa.array(values, kind)})
            try:
                doc = livebuf.from_arrow(found)
            except livebuf.Error as error:
                assert isinstance(error, TypeError) and str(error)
            else:
                assert len(doc) == 1
                doc.validate()

    def test_nothing_arrow(self) -> None:
        for wrong in (None, 5, [{"a": 1}], {"a": [1]}):
            with pytest.raises(TypeError, match="__arrow_c_stream__"):
                livebuf.from_arrow(wrong)  # type: ignore[arg-type]

    def test_capsules_of_others(self) -> None:
        class Wrong:
            def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
                return "no capsule"

        with pytest.raises(TypeError):
            livebuf.from_arrow(Wrong())
        taken = self.pa.table({"a": [1]}).__arrow_c_stream__()
        assert livebuf.from_arrow(Stream(taken)) == [{"a": 1}]
        with pytest.raises((livebuf.Error, TypeError, ValueError)):
            livebuf.from_arrow(Stream(taken))
        schema = self.pa.schema([("a", self.pa.int64())]).__arrow_c_schema__()
        with pytest.raises((TypeError, ValueError)):
            livebuf.from_arrow(Stream(schema))

    def test_streams_that_fail(self) -> None:
        schema = self.pa.schema([("a", self.pa.int64())])

        def batches() -> Iterator[Any]:
            yield self.pa.record_batch({"a": [1]}, schema=schema)
            raise ValueError("the source broke")

        reader = self.pa.RecordBatchReader.from_batches(schema, batches())
        with pytest.raises(livebuf.Error, match="broke"):
            livebuf.from_arrow(reader)


class TestPandas:
    @pytest.fixture(autouse=True)
    def library(self) -> None:
        pytest.importorskip("pyarrow", reason="pyarrow, which pandas needs, is not installed")
        self.pd = pytest.importorskip("pandas", reason="pandas is not installed")
        if not hasattr(self.pd.DataFrame, "from_arrow"):
            pytest.skip("pandas is too old for DataFrame.from_arrow")

    def test_frame(self, table: livebuf.Table) -> None:
        with Spy() as spy:
            frame = self.pd.DataFrame.from_arrow(table)
        spy.assert_only_arrow()
        assert frame.shape == (COUNT, 8) and list(frame.columns) == list(ROWS[0])
        assert frame["id"].tolist() == list(range(COUNT)) and str(frame["id"].dtype) == "int64"
        assert frame["half"].sum() == sum(row["half"] for row in ROWS)
        assert frame["text"].tolist() == [row["text"] for row in ROWS]
        assert frame["at"][3] == {"x": 3, "name": "3"}

    def test_equal_texts_are_one_category(self) -> None:
        """A dictionary with equal texts was refused: categories must be unique."""
        frame = self.pd.DataFrame.from_arrow(equal_texts(bytes))
        categories = list(frame["unit"].cat.categories)
        assert categories == ["a long name 0", "a long name 1", "a long name 2"]
        assert frame["unit"].value_counts()["a long name 1"] == 200

    def test_back(self) -> None:
        frame = self.pd.DataFrame({"a": [1, 2], "s": ["x", "y"]})
        assert livebuf.from_arrow(frame) == [{"a": 1, "s": "x"}, {"a": 2, "s": "y"}]


class TestDuckDB:
    @pytest.fixture(autouse=True)
    def library(self) -> Iterator[None]:
        duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
        pytest.importorskip("pyarrow", reason="pyarrow, which DuckDB's fetching needs, is missing")
        with duckdb.connect() as self.connection:
            yield
        del self.connection

    def query(self, text: str, rows: livebuf.Table) -> list[tuple[Any, ...]]:
        self.connection.register("rows", rows)
        try:
            return self.connection.execute(text).fetchall()  # type: ignore[no-any-return]
        finally:
            self.connection.unregister("rows")

    def test_query(self, table: livebuf.Table) -> None:
        with Spy() as spy:
            found = self.query(
                'select count(*), sum(id), max(half), count(maybe), sum("at".x) from rows', table
            )
        spy.assert_only_arrow()
        assert found == [
            (
                COUNT,
                sum(range(COUNT)),
                (COUNT - 1) / 2,
                sum(row["maybe"] is not None for row in ROWS),
                sum(range(COUNT)),
            )
        ]

    def test_rows(self, table: livebuf.Table) -> None:
        found = self.query("select id, text, tags from rows where flag order by id", table)
        assert found == [(row["id"], row["text"], row["tags"]) for row in ROWS if row["flag"]]

    def test_back(self, table: livebuf.Table) -> None:
        self.connection.register("rows", table)
        relation = self.connection.sql("select id, half from rows where id < 3 order by id")
        doc = livebuf.from_arrow(relation)
        assert doc == [{"id": n, "half": n / 2} for n in range(3)]


def test_infinities_and_nan_in_columns_of_mixed_values() -> None:
    """Bug: the error named an option that there was not."""
    doc = livebuf.Document.from_python(
        [{"a": 1}, {"a": "x"}, {"a": float("nan")}, {"a": [float("inf"), 2]}]
    )
    with pytest.raises(livebuf.WrongTypeError, match="non_finite"):
        livebuf.from_arrow(Stream(doc.root.table.__arrow_c_stream__()))
    for options in ({}, {"copy": True}, {"text": "view"}):
        table = doc.root.table.with_options(non_finite="null", **options)
        found = livebuf.from_arrow(Stream(table.__arrow_c_stream__())).to_python()
        assert [row["a"] for row in found] == ["1", "x", "null", "[null,2]"]
    with pytest.raises(ValueError, match="non_finite must be"):
        doc.root.table.with_options(non_finite="zero")  # type: ignore[arg-type]


class TestKinds:
    """Types of Arrow follow from the kinds of values, not from what the values happen to be."""

    def test_lists(self) -> None:
        """Lists of one length were fixed-size lists."""
        pa = pytest.importorskip("pyarrow")
        np = pytest.importorskip("numpy")
        for lengths in ([2, 2, 2], [2, 1, 0], [1], [0]):
            for tables in (True, False):
                rows = [{"l": [n] * n, "t": np.ones(3, "f4")} for n in lengths * 5]
                doc = livebuf.Document.from_python(rows, tables=tables)
                schema = pa.schema(doc.root.table)
                assert pa.types.is_list(schema.field("l").type)
                assert schema.field("t").type == pa.list_(pa.float32(), 3)
        pair = livebuf.Document.from_python([{"t": [np.ones(2), np.ones(2)]}] * 9)
        assert pa.schema(pair.root.table).field("t").type == pa.list_(pa.list_(pa.float64(), 2))

    def test_numbers_that_floats_round(self) -> None:
        """Floats rounded integers without a word."""
        pl = pytest.importorskip("polars")
        values = [1, 2.5, 2**53 + 1]
        table = livebuf.Document.from_python([{"a": value} for value in values]).root.table
        with pytest.raises(
            livebuf.WrongTypeError, match=r'"a": .*such as 9007199254740993.*decimal'
        ):
            pl.DataFrame(table)
        found = pl.DataFrame(table.with_options(numbers="decimal"))["a"]
        assert found.to_list() == [Decimal(1), Decimal("2.5"), Decimal(2**53 + 1)]
        found = pl.DataFrame(table.with_options(numbers="text"))["a"]
        assert found.to_list() == ["1", "2.5", "9007199254740993"]
        found = pl.DataFrame(table.with_options(numbers="float"))["a"]
        assert found.to_list() == [1.0, 2.5, 2.0**53]
        with pytest.raises(ValueError, match="numbers must be"):
            table.with_options(numbers="round")  # type: ignore[arg-type]
        # Integers that floats hold are no error, whatever their size.
        exact = livebuf.Document.from_python([{"a": 2**60}, {"a": 0.5}]).root.table
        assert pl.DataFrame(exact)["a"].to_list() == [2.0**60, 0.5]
        both = livebuf.Document.from_python([{"a": 5}, {"a": Decimal("0.25")}]).root.table
        assert pl.DataFrame(both)["a"].to_list() == [Decimal("5.00"), Decimal("0.25")]
        # A consumer's schema rounds as little.
        pa = pytest.importorskip("pyarrow")
        integers = livebuf.Document.from_python([{"a": 2**53 + 1}]).root.table
        asked = pa.schema([("a", pa.float64())])
        with pytest.raises((livebuf.Error, pa.ArrowException), match="does not fit float64"):
            pa.table(integers, schema=asked)

    def test_values_of_several_kinds(self) -> None:
        """They were JSON, so that a filter by == "A1" found nothing, and nothing told that they
        were."""
        pl = pytest.importorskip("polars")
        pa = pytest.importorskip("pyarrow")
        day = date(2026, 1, 2)
        values: list[Any] = ["A1", 5, None, "5", [1, "x"], True, day, {"k": None}, 0.5, b"\x00"]
        doc = livebuf.Document.from_python([{"seat": value} for value in values])
        table = doc.root.table
        assert table.schema == {"seat": "text of mixed values"}
        found = pl.DataFrame(table)["seat"]
        texts = ["A1", "5", None, "5", '[1,"x"]', "true", "2026-01-02", '{"k":null}', "0.5", "AA=="]
        assert found.to_list() == texts and (found == "A1").sum() == 1
        assert pa.schema(table).field("seat").metadata is None
        as_json = table.with_options(mixed="json")
        field = pa.schema(as_json).field("seat")
        assert getattr(field.type, "extension_name", None) == "arrow.json" or (
            field.metadata == {b"ARROW:extension:name": b"arrow.json"}
        )
        again = livebuf.from_arrow(pa.table(as_json)).to_python()
        assert [row["seat"] for row in again][:6] == ["A1", 5, None, "5", [1, "x"], True]
        with pytest.raises(
            livebuf.WrongTypeError, match=r'"seat".*several kinds: .*integers.*texts'
        ):
            pl.DataFrame(table.with_options(mixed="raise"))
        with pytest.raises(ValueError, match="mixed must be"):
            table.with_options(mixed="null")  # type: ignore[arg-type]
        # A text of a column that is to be JSON must be JSON.
        if hasattr(pa, "json_"):
            bad = pa.table({"a": pa.array(["{"], pa.string()).cast(pa.json_())})
            with pytest.raises(livebuf.WrongTypeError, match="not the JSON"):
                livebuf.from_arrow(bad)

    def test_logs(self, tmp_path: Path) -> None:
        pl = pytest.importorskip("polars")
        with livebuf.Log(tmp_path / "a.lblog", "w") as log:
            log.extend([{"a": 0.5, "m": 1}])
            log.extend([{"a": 2**53 + 1, "m": "x"}])
            with pytest.raises(livebuf.WrongTypeError, match="such as 9007199254740993"):
                pl.DataFrame(log)
            found = pl.DataFrame(log.with_options(numbers="decimal"))
            assert found["a"].to_list() == [Decimal("0.5"), Decimal(2**53 + 1)]
            assert found["m"].to_list() == ["1", "x"]
            chosen = log.select(["m"]).with_options(mixed="json")
            assert chosen.schema == {"m": "JSON of mixed values"}


class TestWide:
    """Frames of more columns than a record has fields."""

    @pytest.mark.parametrize("count", [255, 256, 1_000])
    def test_polars(self, count: int) -> None:
        pl = pytest.importorskip("polars", reason="polars is not installed")
        columns = {
            f"column {n}": [None if n % 7 == row else row * n for row in range(30)]
            if n % 2
            else [f"text {(row + n) % 4}" for row in range(30)]
            for n in range(count)
        }
        frame = pl.DataFrame(columns)
        doc = livebuf.from_arrow(frame)
        doc.validate()
        assert doc.stats()["columns"] == count
        assert doc == frame.to_dicts()
        assert pl.DataFrame(doc.root.table).equals(frame)
        last = f"column {count - 1}"
        assert doc.root.table[last].to_python() == columns[last]
        assert doc.root.table.select([last, "column 0"]).column_names == [last, "column 0"]

    def test_pyarrow(self) -> None:
        pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        found = pa.table({f"c{n}": pa.array([n / 7, n, None]) for n in range(1_000)})
        doc = livebuf.from_arrow(found)
        assert doc.stats()["table_count"] == 1
        assert pa.table(doc.root.table).equals(found)

    def test_rows_are_edited(self) -> None:
        rows = [{f"k{n}": n * row for n in range(300)} for row in range(10)]
        doc = Document.from_python(rows)
        assert doc.stats()["columns"] == 300
        for row in range(10):
            rows[row]["k299"] = doc[row]["k299"] = f"text {row}"
            del rows[row]["k100"], doc[row]["k100"]
        rows.append({f"k{n}": None for n in range(300)})
        doc.root.append(rows[-1])
        rows[3]["one more"] = doc[3]["one more"] = [1, {"a": 2}]
        del rows[0], doc[0]
        assert doc == rows
        doc.validate()
        assert doc.stats()["columns"] == 300
        assert Document.from_python(doc) == rows


def test_a_refused_export_leaves_the_document_as_it_was() -> None:
    """Bug: a document counted as lent, though numpy did not get its numbers."""
    doc = livebuf.Document(livebuf.dumps({"gaps": [1, None, 3] * 10})).editable()
    with pytest.raises(livebuf.WrongTypeError):
        doc["gaps"].numpy(narrow=True, writable=True)
    assert livebuf._livebuf._passed_on(doc) is not None
