"""Columns and rows of a table that are chosen, and columns as sequences."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any, ClassVar

import livebuf
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from livebuf import Document

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

ROWS = [
    {
        "id": n,
        "user": {"id": n * 7, "name": f"user {n}"} if n % 5 else None,
        "state": ("open", "shut", "held")[n % 3],
        "a.b": n / 2,
    }
    for n in range(100)
]


@pytest.fixture(params=["table", "objects"])
def table(request: pytest.FixtureRequest) -> livebuf.Table:
    data = livebuf.dumps({"rows": ROWS}, tables=request.param == "table")
    return Document(data)["rows"].table


def frame(table: livebuf.Table) -> Any:
    return pytest.importorskip("pyarrow").table(table)


class TestSelect:
    def test_columns(self, table: livebuf.Table) -> None:
        chosen = table.select(["state", "user.id", ("a.b",), "id"])
        assert chosen.column_names == ["state", "user.id", "a.b", "id"]
        assert len(chosen) == len(table) == 100
        found = frame(chosen)
        assert found.column_names == chosen.column_names
        assert found.column("user.id").to_pylist() == [
            row["user"] and row["user"]["id"] for row in ROWS
        ]
        assert found.column("a.b").to_pylist() == [row["a.b"] for row in ROWS]
        assert frame(chosen.select(["id"])).column_names == ["id"]
        assert list(chosen.schema) == chosen.column_names
        assert chosen.schema["user.id"] == "int64" and chosen.schema["state"] == "utf8"

    def test_options_and_rows_stay(self, table: livebuf.Table) -> None:
        pa = pytest.importorskip("pyarrow")
        chosen = table.with_options(narrow=True).select(["id"]).slice(10, 20)
        found = frame(chosen)
        assert found.schema.field("id").type == pa.int8()
        assert found.column("id").to_pylist() == list(range(10, 20))
        assert frame(table.slice(10, 20).with_options(narrow=True).select(["id"])) == found

    def test_what_is_not_there(self, table: livebuf.Table) -> None:
        with pytest.raises((livebuf.MissingKeyError, livebuf.WrongTypeError)):
            frame(table.select(["none"]))
        for wrong in ("id", [1], [()], 5):
            with pytest.raises((TypeError, ValueError)):
                table.select(wrong)  # type: ignore[arg-type]

    def test_keys_that_only_other_rows_have(self) -> None:
        doc = Document.from_python([{"a": n} for n in range(50)] + [{"a": 1, "z": [1]}] * 2)
        chosen = doc.root.table.select(["a", "z"])
        assert frame(chosen).column("z").null_count == 50
        assert frame(chosen.slice(0, 3)).column("z").to_pylist() == [None] * 3
        with pytest.raises(livebuf.MissingKeyError):
            frame(doc.root.table.select(["y"]).slice(0, 3))

    def test_engines(self, table: livebuf.Table) -> None:
        duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
        chosen = table.select(["id", "user.name"]).slice(3)
        assert duckdb.sql('select sum(id), count("user.name") from chosen').fetchall() == [
            (sum(range(3, 100)), 78)
        ]
        assert polars.DataFrame(chosen).shape == (97, 2)


class TestSlice:
    @pytest.mark.parametrize(
        "part", [(0, None), (10, 20), (-5, None), (3, -3), (90, 500), (50, 10), (100, None)]
    )
    def test_is_that_of_a_list(self, table: livebuf.Table, part: tuple[int, int | None]) -> None:
        chosen = table.slice(*part)
        expected = ROWS[slice(*part)]
        assert len(chosen) == chosen.num_rows == len(expected)
        assert frame(chosen.select(["id"])).column("id").to_pylist() == [
            row["id"] for row in expected
        ]
        again = chosen.slice(1, 4)
        assert len(again) == len(expected[1:4])


class TestColumns:
    def stored(self) -> livebuf.Table:
        return Document.from_python(ROWS).root.table

    def test_are_sequences(self) -> None:
        table = self.stored()
        column = table["id"]
        assert len(column) == 100 and column[7] == 7 and column[-1] == 99
        assert list(column) == column.to_python() == list(range(100))
        assert list(table["user.name"])[:2] == [None, "user 1"]
        assert list(table["user", "id"]) == [row["user"] and row["user"]["id"] for row in ROWS]
        assert list(table["a.b"]) == [row["a.b"] for row in ROWS]
        for index in (100, -101):
            with pytest.raises(IndexError):
                column[index]
        with pytest.raises(KeyError):
            table["none"]
        with pytest.raises(TypeError):
            table[0]  # type: ignore[index]

    def test_slices(self) -> None:
        table = self.stored()
        part = table["id"][10:20]
        assert list(part) == list(range(10, 20)) and part[3:][0] == 13
        assert part.find(15) == 5 and part.find(5) is None and part.filter(12, 13) == [2, 3]
        assert part.memoryview().tolist() == list(range(10, 20))
        assert part.numpy().sum() == sum(range(10, 20))
        assert table.slice(10, 20)["state"].counts() == {"shut": 4, "held": 3, "open": 3}
        assert table.slice(10, 20)["id"].to_python() == list(range(10, 20))
        assert table["id"][::2] == list(range(len(table)))[::2]
        assert part[::-1] == list(part)[::-1] and part[1:8:3] == [11, 14, 17]
        with pytest.raises(ValueError, match="step"):
            part[::0]

    def test_parts(self) -> None:
        table = self.stored()
        for rows in (table, table.slice(10, 37), table.slice(5, 5)):
            for parts in (0, 1, 2, 3, 7, len(rows), len(rows) + 1):
                split = rows.select(["id"]).split(parts)
                lengths = [len(part) for part in split]
                assert len(split) == min(parts, len(rows))
                assert not parts or sum(lengths) == len(rows)
                assert not lengths or max(lengths) - min(lengths) <= 1
                if parts:
                    expected = list(rows["id"])
                    assert [id for part in split for id in part["id"]] == expected
        with pytest.raises(OverflowError):
            table.split(-1)

    def test_ranges_of_text(self) -> None:
        table = self.stored()
        states = [row["state"] for row in ROWS]
        for low, high in (("held", "open"), ("p", "z"), ("", "\U0010ffff"), ("z", "a")):
            expected = [at for at, state in enumerate(states) if low <= state <= high]
            assert table["state"].filter(low, high) == expected
        names = [row["user"] and row["user"]["name"] for row in ROWS]
        expected = [at for at, name in enumerate(names) if name and "user 2" <= name <= "user 5"]
        assert table["user.name"].filter("user 2", "user 5") == expected
        some = [None if n % 3 else f"the state {n % 4}" for n in range(60)]
        column = Document.from_python(some).root.column
        assert column.type.startswith("Dictionary")
        assert column.filter("the state 0", "the state 1") == [
            n for n in range(60) if not n % 3 and n % 4 < 2
        ]
        with pytest.raises(TypeError):
            table["state"].filter("a", 5)  # type: ignore[call-overload]

    def test_arrow(self) -> None:
        pa = pytest.importorskip("pyarrow")
        table = self.stored()
        assert pa.array(table["id"]).to_pylist() == list(range(100))
        assert pa.array(table["user.name"][:2]).to_pylist() == [None, "user 1"]
        assert pa.array(Document.from_python([1.5, 2.5]).root.column).to_pylist() == [1.5, 2.5]

    def test_edits_meanwhile(self) -> None:
        doc = Document.from_python(ROWS)
        values = iter(doc.root.table["id"])
        assert next(values) == 0
        doc.root.append({"id": 100})
        assert list(values)[:3] == [1, 2, 3] and 100 in doc.root.table["id"]


class TestObjects:
    """The members of an object as rows."""

    IDS: ClassVar = {f"user {n}": {"age": n % 90, "name": f"name {n % 7}"} for n in range(300)}

    def expected(self, members: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"key": key, **row} for key, row in members.items()]

    @pytest.mark.parametrize("tables", [True, False])
    def test_rows(self, tables: bool) -> None:
        root = Document(livebuf.dumps(self.IDS, tables=tables)).root
        assert isinstance(root, livebuf.Object)
        table = root.table
        assert len(table) == 300
        assert table.stored == tables
        assert list(table.schema) == ["key", "age", "name"]
        assert frame(table).to_pylist() == self.expected(self.IDS)
        assert frame(table.slice(10, 12)).to_pylist() == self.expected(self.IDS)[10:12]
        chosen = frame(table.select(["name", "key"]))
        assert chosen.column_names == ["name", "key"]
        assert chosen.column("key").to_pylist() == list(self.IDS)
        with pytest.raises(livebuf.MissingKeyError):
            frame(table.select(["none"]))

    def test_columns_in_place(self) -> None:
        doc = Document.from_python({"users": self.IDS})
        table = doc["users"].table
        assert table.column_names == ["key", "age", "name"]
        assert table["age"][17] == 17
        assert table["age"].find(89) == 89
        assert list(table["name"])[:8] == [f"name {n % 7}" for n in range(8)]
        assert table["name"].counts()["name 3"] == 43
        assert table.column("age").numpy().sum() == sum(n % 90 for n in range(300))

    def test_keys_in_place(self) -> None:
        doc = Document.from_python({"users": self.IDS})
        users = doc["users"]
        keys = users.table["key"]
        assert list(keys) == list(self.IDS) and keys.type == "String"
        assert keys.find("user 123") == 123 and users.table["age"][123] == 33
        assert keys.filter("user 29", "user 291") == [29, 290, 291]
        users["new"] = {"age": 3, "name": "one more"}
        assert users.table["key"][300] == "new"
        with pytest.raises(livebuf.MissingKeyError):
            users.table["_key"]
        with pytest.raises(livebuf.MissingKeyError):
            Document.from_python([{"a": n} for n in range(9)]).root.table["key"]
        del users["user 5"]
        assert users.table["key"].to_python() == [*users]
        few = Document.from_python({"ada": {"n": 1}, "bea": {"n": 2, "key": 5}}).root.table
        assert few.column_names == list(few.schema) == ["_key", "n", "key"]
        assert few["_key"].to_python() == ["ada", "bea"] and list(few["key"]) == [None, 5]
        plain = Document.from_python({"ada": 1, "bea": 2}).root.table
        assert plain.column_names == ["key", "value"] and plain["value"].to_python() == [1, 2]

    def test_names_of_keys_in_place(self) -> None:
        rows = {f"id {n}": {"key": n, "_key": n} for n in range(300)}
        table = Document.from_python(rows).root.table
        assert list(table["__key"]) == list(rows)
        assert (table["key"][7], table["_key"][7]) == (7, 7)
        with pytest.raises(livebuf.MissingKeyError):
            table["___key"]

    def test_edits(self) -> None:
        doc = Document.from_python({"users": self.IDS})
        users, members = doc["users"], {**self.IDS}
        users["new"] = members["new"] = {"age": 3, "name": "one more"}
        assert users.table.stored
        assert users.table["age"][300] == 3
        del users["user 5"], members["user 5"]
        # Its row is still there.
        assert not users.table.stored
        assert users.table["age"].to_python() == [row["age"] for row in members.values()]
        assert frame(users.table).to_pylist() == self.expected(members)
        doc.compact()
        assert doc["users"].table.stored
        assert frame(doc["users"].table).to_pylist() == self.expected(members)

    def test_removed_members_leave_types_as_they_are(self) -> None:
        """Rows were exported one by one then, and texts were no dictionary any more."""
        doc = Document.from_python(self.IDS)
        whole = frame(doc.root.table.with_options(narrow=True, copy=True))
        removed = ["user 5", "user 6", "user 200"]
        for key in removed:
            del doc[key]
        found = frame(doc.root.table.with_options(narrow=True))
        assert found.schema == whole.schema and "dictionary" in str(found.schema.field("name").type)
        rest = {key: value for key, value in self.IDS.items() if key not in removed}
        assert found.to_pylist() == self.expected(rest)
        part = doc.root.table.select(["name", "key"]).slice(4, 198)
        expected = [{"name": row["name"], "key": row["key"]} for row in self.expected(rest)]
        assert frame(part).to_pylist() == expected[4:198]

    def test_names(self) -> None:
        small = Document.from_python({"a": {"key": 1, "_key": 2}, "b": {"key": None}})
        assert frame(small.root.table).to_pylist() == [
            {"__key": "a", "key": 1, "_key": 2},
            {"__key": "b", "key": None, "_key": None},
        ]
        values = Document.from_python({"a": 1, "b": 2})
        assert frame(values.root.table).to_pylist() == [
            {"key": "a", "value": 1},
            {"key": "b", "value": 2},
        ]
        assert frame(Document.from_python({}).root.table).column_names == ["key"]

    def test_a_requested_schema(self) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        table = Document.from_python(self.IDS).root.table
        schema = pyarrow.schema([("age", "int16"), ("key", "large_string"), ("none", "float64")])
        reader = pyarrow.RecordBatchReader.from_stream(table, schema)
        found = reader.read_all()
        assert found.schema == schema
        assert found.column("key").to_pylist() == list(self.IDS)
        assert found.column("none").null_count == 300

    def test_engines(self) -> None:
        polars = pytest.importorskip("polars")
        doc = Document.from_python(self.IDS)
        oldest = polars.DataFrame(doc.root.table).sort("age", "key").tail(1)
        assert oldest.to_dicts() == [{"key": "user 89", "age": 89, "name": "name 5"}]


class TestTrust:
    """An export validates the chosen columns, and nothing else."""

    ROWS: ClassVar[list[Any]] = [
        {"n": n << 20, "name": f"name of {n:05}", "note": f"a longer note {n * n}"}
        for n in range(500)
    ]

    @pytest.fixture
    def damaged(self) -> bytes:
        data = bytearray(livebuf.dumps(self.ROWS))
        at = data.index(b"name of 00017")
        data[at] = 0xFF
        return bytes(data)

    @pytest.fixture(params=["bytes", "bytearray", "file"])
    def document(self, request: pytest.FixtureRequest, damaged: bytes, tmp_path: Any) -> Document:
        if request.param == "file":
            path = tmp_path / "rows.lbuf"
            path.write_bytes(damaged)
            return livebuf.open(path)
        return Document(damaged if request.param == "bytes" else bytearray(damaged))

    def test_damage_elsewhere(self, document: Document) -> None:
        table = document.root.table
        for _ in range(2):
            assert frame(table.select(["n"])).to_pylist() == [{"n": row["n"]} for row in self.ROWS]
            assert frame(table.select(["note"])).num_rows == 500
            with pytest.raises(livebuf.DamagedError):
                frame(table.select(["n", "name"]))
            with pytest.raises(livebuf.DamagedError):
                frame(table)
        assert not document.trusted

    def test_copies(self, document: Document) -> None:
        table = document.root.table.select(["n"])
        assert frame(table.with_options(copy=True)).num_rows == 500
        with pytest.raises(livebuf.DamagedError):
            frame(document.root.table.with_options(copy=True))

    def test_edits_forget(self) -> None:
        data = bytearray(livebuf.dumps({"rows": self.ROWS, "x": 1}))
        document = Document(data)
        table = document["rows"].table.select(["name"])
        frame(table)
        data[data.index(b"name of 00017")] = 0xFF
        document["x"] = 2
        with pytest.raises(livebuf.DamagedError):
            frame(table)

    def test_trusted(self, tmp_path: Any) -> None:
        data = bytearray(livebuf.dumps(self.ROWS))
        path = tmp_path / "rows.lbuf"
        path.write_bytes(data)
        with livebuf.open(path, trusted=True) as document:
            assert document.trusted
            assert frame(document.root.table).num_rows == 500
        assert not livebuf.open(path).trusted
        assert Document(bytes(data), trusted=True).trusted
        # Others can write this memory: texts are checked although nothing is validated.
        document = Document(data, trusted=True)
        data[data.index(b"name of 00017")] = 0xFF
        with pytest.raises(Exception, match="UTF-8"):
            frame(document.root.table.select(["name"]))
        assert frame(document.root.table.select(["n"])).num_rows == 500


SCALARS = [
    None, True, 1, -200, 70_000, 2**40, -(2**63), 2**63, 2**64 - 1, 10**30, 0.5, 0.1, "a", "", b"b",
    dt.date(2024, 2, 29), dt.time(1, 2), dt.datetime(2024, 1, 2), Decimal("1.50"),
    dt.datetime(2024, 1, 2, tzinfo=dt.UTC), uuid.UUID(int=7),
]  # fmt: skip
values = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abk"), inner, max_size=3)
    ),
    max_leaves=6,
)
# Like rows, which are stored as columns, and now and then others.
like = st.sampled_from(
    [
        [1, 2], [2**63, 1], [None, None], [1, None], ["x", None], ["x", "y"], [0.5, 2], [0.1, None],
        [[1], [2, 3]], [[1, 2], [3, 2**63]], [[], []], [None, []], [{"a": 1}, {"a": None}],
        [{"a": 1}, None], [{}, {}], [[{"a": 1}], [{"a": 2}]], [True, None], [[None], [None]],
        [dt.date(2024, 1, 1), None], [Decimal("1.5"), Decimal("2.25")], [[1, [2]], [3, [4]]],
        [np.zeros(3, "f2"), np.ones(3, "f2")], [{"key": 1}, {"key": 2}],
    ]
)  # fmt: skip


class TestSchema:
    """It is told by headers where they tell it, and equals that of an export."""

    @staticmethod
    def check(table: livebuf.Table) -> None:
        for narrow in (False, True):
            table = table.with_options(narrow=narrow)
            try:
                expected = pa.table(table).schema
            except livebuf.Error as error:
                with pytest.raises(type(error)):
                    pa.schema(table)
            else:
                assert pa.schema(table).equals(expected)
                assert list(table.schema) == expected.names

    @given(st.dictionaries(st.sampled_from(["a", "b", "key", "c.d"]), like), st.data())
    def test_of_columns(self, columns: dict[str, list[Any]], data: st.DataObject) -> None:
        pairs = [{name: column[row % 2] for name, column in columns.items()} for row in range(300)]
        odd = data.draw(st.none() | st.dictionaries(st.sampled_from(["a", "z"]), values))
        rows = pairs if odd is None else [*pairs, odd]
        for stored in (rows, {f"row {n}": row for n, row in enumerate(rows)}):
            payload = livebuf.dumps(stored)
            shared = Document(bytearray(payload))
            for doc in (Document(payload), shared, Document.from_python(stored)):
                table = doc.root.table
                self.check(table)
                start = data.draw(st.integers(0, 301))
                self.check(table.slice(start, start + data.draw(st.integers(0, 3))))
                self.check(table.select(list(columns)[:2]))

    @given(st.lists(values, max_size=4) | like.map(lambda column: column * 20))
    @example([None, [[]], [[]]])
    @example([None, [[1], ["x"]], [[2, 3], [4]]])
    def test_of_any_array(self, rows: list[Any]) -> None:
        self.check(Document(livebuf.dumps(rows)).root.table)

    def test_damage_elsewhere(self) -> None:
        """What is no header is not looked at."""
        rows = [{"id": n, "text": f"some text {n}"} for n in range(300)]
        payload = bytearray(livebuf.dumps(rows))
        at = payload.index(b"some text 7")
        payload[at] = 0xFF
        table = Document(bytes(payload)).root.table
        assert table.schema == {"id": "int64", "text": "utf8"}
        with pytest.raises(livebuf.DamagedError):
            pa.table(table)
        # Cut, changed and lengthened anywhere, it is a schema or an error.
        for at in range(0, len(payload), 3):
            for byte in (0, 0x7F, 0xFF):
                damaged = bytearray(payload)
                damaged[at] = byte
                try:
                    assert isinstance(Document(bytes(damaged)).root.table.schema, dict)
                except (livebuf.Error, AttributeError):
                    pass
