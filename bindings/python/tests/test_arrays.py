"""Numbers in place: the buffer protocol, numpy, and columns."""

from __future__ import annotations

import array
import datetime as dt
import math
import random
import sys
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import livebuf
import numpy as np
import pytest
from conftest import LONG
from livebuf import Document

# What is stored, and the format of the narrowest type that holds it.
NUMBERS: list[tuple[str, list[Any]]] = [
    ("b", [-128, 0, 127]),
    ("h", [-129, 0, 127]),
    ("i", [-(2**31), 40_000]),
    ("q", [-(2**63), 2**63 - 1]),
    ("B", [0, 255]),
    ("H", [0, 65_535]),
    ("I", [0, 2**32 - 1]),
    ("Q", [0, 2**64 - 1]),
    ("f", [0.5, -1.25, 0.0]),
    ("d", [0.1, 1e300]),
]


class TestBuffers:
    @pytest.mark.parametrize(("format", "values"), NUMBERS, ids=[case[0] for case in NUMBERS])
    def test_formats(self, format: str, values: list[Any]) -> None:
        values = values * 20
        doc = Document.from_python(values)
        with doc.root.memoryview() as view:
            # A signed type may hold what an unsigned one could.
            assert view.format is not None and view.format in {format, format.lower()}
            assert view.itemsize == np.dtype(view.format).itemsize
            assert view.ndim == 1 and view.shape == (len(values),) and view.c_contiguous
            assert view.strides == (view.itemsize,) and view.readonly
            assert view.nbytes == len(values) * view.itemsize
            assert view.tolist() == values
            found = doc.root.numpy(narrow=True)
            assert found.tolist() == values and found.dtype == np.dtype(view.format)
        found = np.asarray(doc.root)
        wide = {"f": "f8", "d": "f8", "Q": "u8"}.get(format, "i8")
        assert found.tolist() == values and found.dtype == np.dtype(wide)

    def test_min_width(self) -> None:
        doc = Document.from_python({"i": [1, 2], "f": [0.5]}, min_width=8)
        assert doc["i"].numpy().dtype == np.int64 and doc["f"].numpy().dtype == np.float64
        doc = livebuf.from_json("[1, 2, 3]", min_width=4)
        assert doc.root.memoryview().itemsize == 4

    def test_special_floats(self) -> None:
        doc = Document.from_python([math.nan, math.inf, -math.inf, -0.0, 5e-324, 0.1])
        assert repr(np.asarray(doc.root).tolist()) == "[nan, inf, -inf, -0.0, 5e-324, 0.1]"

    def test_integers_among_floats(self) -> None:
        doc = Document.from_python({"v": [1.5, 2, 3.25], "both": [2, 2.0, 0.1]})
        assert repr(doc["v"].to_python()) == "[1.5, 2, 3.25]"
        assert repr(doc["both"].to_python()) == "[2, 2.0, 0.1]"
        assert doc["v"].numpy(narrow=True).dtype == np.float32
        assert doc["both"].numpy().tolist() == [2.0, 2.0, 0.1]
        # Whole floats that are written into the memory of such an array are integers there.
        doc["v"].numpy(writable=True, narrow=True)[0] = 7.0
        doc["v"].append(0.1)
        assert repr(doc["v"].to_python()) == "[7, 2, 3.25, 0.1]"

    @pytest.mark.parametrize(
        "values",
        [
            *(["a"], [1, None], [1, "x"], [1, True], [[1]], [{}], [2**64], [1, 2**64]),
            *([2**60 + 1, 0.5], [2**64 - 1, -1]),
        ],
        ids=str,
    )
    def test_what_is_not_of_one_type(self, values: list[Any]) -> None:
        doc = Document.from_python(values)
        with pytest.raises(BufferError, match="numbers, dates or times of one type"):
            doc.root.memoryview()
        for narrow in (False, True):
            with pytest.raises(livebuf.WrongTypeError):
                doc.root.numpy(narrow=narrow)
        doc.root.append(1)

    def test_objects_have_none(self) -> None:
        with pytest.raises(TypeError):
            memoryview(livebuf.from_json("{}").root)

    def test_writable_must_be_asked_for(self) -> None:
        doc = Document.from_python([1, 2, 3])
        view = doc.root.memoryview()
        with pytest.raises(TypeError):
            view[0] = 5
        with pytest.raises((TypeError, BufferError)):
            (np.ctypeslib.ctypes.c_char * 3).from_buffer(doc.root.memoryview())  # type: ignore[attr-defined]

    def test_consumers(self) -> None:
        doc = Document.from_python([0.5, 1.5, 2.5], min_width=8)
        assert array.array("d", doc.root.memoryview().tolist()) == array.array("d", [0.5, 1.5, 2.5])
        assert bytes(doc.root.memoryview()) == np.array([0.5, 1.5, 2.5]).tobytes()
        assert np.frombuffer(doc.root.memoryview()).sum() == 4.5

    def test_unaligned_documents(self) -> None:
        payload = livebuf.dumps([0.1, 0.2, 0.3], min_width=8)
        doc = Document(memoryview(bytes(3) + payload)[3:])
        with pytest.raises(BufferError):
            doc.root.memoryview()
        assert doc == [0.1, 0.2, 0.3]
        assert doc.copy().root.numpy().tolist() == [0.1, 0.2, 0.3]


class TestNumpy:
    def test_no_copy(self) -> None:
        doc = Document.from_python({"f": [n / 3 for n in range(1000)]})
        whole = np.frombuffer(memoryview(doc), dtype=np.uint8)
        for found in (doc["f"].numpy(narrow=True), np.asarray(doc["f"], copy=False)):
            assert np.shares_memory(found, whole)
            assert not found.flags.writeable and not found.flags.owndata
            assert found.tolist() == doc["f"].to_python()
        copied = doc["f"].numpy(copy=True)
        assert copied.flags.writeable and not np.shares_memory(copied, whole)

    def test_writable(self) -> None:
        memory = bytearray(livebuf.dumps({"f": [0.5, 1.5, 2.5]}, min_width=8))
        for doc in (Document.from_python({"f": [0.5, 1.5, 2.5]}, min_width=8), Document(memory)):
            found = doc["f"].numpy(writable=True, narrow=True)
            found *= 2
            found[0] = -1
            assert doc["f"] == [-1.0, 3.0, 5.0]
            with pytest.raises(livebuf.ExportedError):
                doc["f"].append(1.0)
            del found
            doc["f"].append(1.0)
            doc.validate()
        assert livebuf.loads(memory)["f"] == [-1.0, 3.0, 5.0, 1.0]

    def test_writable_columns(self) -> None:
        doc = Document.from_python([{"a": n, "b": n / 2} for n in range(100)], min_width=8)
        found = doc.root.table.column("a").numpy(writable=True, narrow=True)
        found += 1000
        del found
        assert [row["a"] for row in doc.root] == list(range(1000, 1100))
        doc.validate()

    def test_writable_after_bytes_were_given_out(self) -> None:
        doc = Document.from_python([1, 2, 3], min_width=8)
        given = bytes(doc)
        before = bytes(bytearray(given))
        doc.root.numpy(writable=True, narrow=True)[0] = 9
        assert given == before and doc == [9, 2, 3]

    def test_empty(self) -> None:
        doc = Document.from_python({"f": [1.5]})
        doc["f"].clear()
        assert doc["f"].numpy().tolist() == np.asarray(doc["f"]).tolist() == []

    @pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"])
    def test_through_documents_and_back(self, dtype: str) -> None:
        chance = np.random.default_rng(7)
        if dtype.startswith("f"):
            values = chance.standard_normal(1000).astype(dtype)
        else:
            limits = np.iinfo(dtype)
            values = chance.integers(limits.min, limits.max, 1000, dtype=dtype, endpoint=True)
        doc = Document.from_python({"v": values})
        found = doc["v"].numpy()
        assert found.tolist() == values.tolist()
        assert found.itemsize <= values.itemsize

    def test_dtype_is_of_the_kind(self) -> None:
        """It was that of the stored numbers, the narrowest for their values: `np.asarray(x) * 2` of
        `[100, 101, 102]` was `[-56, -54, -52]`. Now it is that of exports to Arrow."""
        doc = livebuf.from_json('{"v": [100, 101, 102], "rows": [{"n": 100}, {"n": 101}]}')
        column = doc["rows"].table.column("n")
        for found in (np.asarray(doc["v"]), np.array(doc["v"]), doc["v"].numpy()):
            assert found.dtype == np.int64 and (found * 2).tolist() == [200, 202, 204]
        for found in (np.asarray(column), column.numpy(), np.asarray(doc["v"].column)[:2]):
            assert found.dtype == np.int64 and (found + 100).tolist() == [200, 201]
        for values, dtype in (
            ([], "f8"),
            ([1], "i8"),
            ([200, 3], "i8"),
            ([2**63], "u8"),
            ([0.5], "f8"),
            ([1, 0.5], "f8"),
            ([1, 0.5, 2**53], "f8"),
            ([True], "?"),
            ([True, False] * 50, "?"),
            ([dt.date(2024, 1, 1)], "M8[D]"),
            ([dt.datetime(2024, 1, 1, 2)] * 50, "M8[us]"),
            ([dt.time(1)], "m8[us]"),
        ):
            for times in (1, 3, 100):
                found = Document.from_python(values * times).root
                assert np.asarray(found).dtype == found.numpy().dtype == np.dtype(dtype), values
                assert found.numpy(masked=True).dtype == np.dtype(dtype), values
        # Edits change the stored type, and the kind only if they must.
        numbers = Document.from_python([2**64 - 1, 1, 2]).root
        numbers[0] = 7
        assert numbers.numpy().dtype == np.int64
        # As stored, on the document's memory.
        stored = doc["v"].numpy(narrow=True)
        assert stored.dtype == np.int8 and not stored.flags.owndata
        assert doc["v"].memoryview().format == "b"
        with pytest.raises(livebuf.ExportedError):
            doc["v"].append(1)

    @pytest.mark.parametrize(
        "values",
        [
            [1, 2],
            [1.5, 2.5],
            [1 / 3, 2 / 3],
            [1, 2**40],
            [2**64 - 1] * 9,
            [1e300] * 1000,
            [True] * 9,
        ],
        ids=lambda values: str(values[:2]),
    )
    def test_what_numpy_gives_holds_no_document(self, values: list[Any]) -> None:
        """Where numbers happened to be stored by 64 bits, the next edit raised ExportedError."""
        doc = Document.from_python({"v": values, "rows": [{"x": value} for value in values]})
        held = [doc["v"].numpy(), np.asarray(doc["v"]), np.asarray(doc["rows"].table["x"])]
        doc["v"].append(3)
        doc["rows"].append({"x": 3})
        for found in held:
            assert found.flags.writeable and found.tolist() == values

    def test_few_rows(self) -> None:
        rows = Document.from_python([{"id": n, "name": f"u{n}"} for n in range(2)]).root.table
        with pytest.raises(livebuf.WrongTypeError, match="few rows; numpy") as caught:
            rows["id"].numpy(narrow=True, writable=True)
        assert "memory " not in str(caught.value)

    def test_numpy_asks(self) -> None:
        doc = livebuf.from_json('{"n": [1, 2], "w": [1.1, 2.2], "t": ["a"], "m": [1, null]}')
        assert np.array(doc["n"], dtype="f4").dtype == np.float32
        assert np.asarray(doc["n"], dtype="i1").tolist() == [1, 2]
        assert np.asarray(doc["w"], dtype="f8", copy=False).tolist() == [1.1, 2.2]
        assert np.array(doc["w"]).flags.owndata
        assert not np.asarray(doc["w"], copy=False).flags.owndata
        for copied in ({"copy": False}, {"copy": False, "dtype": "f4"}):
            with pytest.raises(ValueError, match="copy"):
                np.asarray(doc["n"], **copied)
        assert np.asarray(doc["t"]).tolist() == ["a"]
        assert np.asarray(doc["m"]).tolist() == [1, None]
        assert np.asarray(doc["m"], dtype=float)[1] != np.asarray(doc["m"], dtype=float)[1]
        big = Document.from_python([2**60 + 1, 0.5]).root
        with pytest.raises(livebuf.WrongTypeError, match="round"):
            np.asarray(big)
        assert np.asarray(big, dtype=float).tolist() == [2.0**60, 0.5]
        assert np.asarray(big, dtype=object).tolist() == [2**60 + 1, 0.5]
        with pytest.raises(ValueError, match="narrow=True"):
            doc["n"].numpy(writable=True)
        with pytest.raises(BufferError, match="numpy"):
            memoryview(doc["n"])

    def test_matrices(self) -> None:
        matrix = np.arange(12.0).reshape(3, 4)
        doc = Document.from_python({"m": matrix})
        assert np.array_equal(np.array(doc["m"].to_python()), matrix)

    def test_edits_widen(self) -> None:
        doc = Document.from_python([1, 2, 3])
        assert doc.root.numpy(narrow=True).itemsize == 1
        doc.root[1] = 70_000
        assert doc.root.numpy().tolist() == [1, 70_000, 3]
        doc.root.append(-(2**40))
        assert doc.root.numpy().dtype == np.int64
        doc.root.append(None)
        with pytest.raises(livebuf.WrongTypeError):
            doc.root.numpy()
        assert doc == [1, 70_000, 3, -(2**40), None]
        doc.validate()


def rows(chance: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {
            "int": chance.randrange(-50, 50),
            "big": chance.randrange(-(2**40), 2**40),
            "float": chance.randrange(-20, 20) / 4,
            "text": chance.choice(["red", "green", "blue", "a longer color's name"]),
            "bool": chance.random() < 0.5,
            "maybe": chance.choice([None, 1, 2, 3]),
            "at": {"x": chance.randrange(10), "y": {"z": chance.randrange(10) / 2}},
        }
        for _ in range(count)
    ]


class TestColumns:
    @pytest.mark.parametrize("count", [1, 7, 64, 65, 1000])
    def test_against_brute_force(self, chance: random.Random, count: int) -> None:
        model = rows(chance, count)
        doc = Document.from_python(model)
        table = doc.root.table
        assert table.stored or count < 8
        assert table.column_names == list(model[0]) and table.num_rows == count
        for name in ("int", "big", "float", "text", "bool"):
            column = table.column(name)
            values = [row[name] for row in model]
            assert column.to_python() == values and len(column) == count
            for wanted in {*chance.sample(values, min(5, count)), 999, "nowhere", None}:
                start = chance.randrange(count)
                expected = next(
                    (n for n, v in enumerate(values) if type(v) is type(wanted) and v == wanted),
                    None,
                )
                assert column.find(wanted) == expected, (name, wanted)
                expected = next(
                    (
                        n
                        for n, v in enumerate(values)
                        if n >= start and type(v) is type(wanted) and v == wanted
                    ),
                    None,
                )
                assert column.find(wanted, start) == expected, (name, wanted, start)
        for name in ("int", "big", "float"):
            column = table.column(name)
            values = [row[name] for row in model]
            for _ in range(5):
                low, high = sorted(chance.choices(values, k=2))
                expected = [n for n, v in enumerate(values) if low <= v <= high]
                assert column.filter(low, high) == expected
            assert column.filter(1, 0) == []
        deep = table.column("at", "y", "z")
        assert deep.to_python() == [row["at"]["y"]["z"] for row in model]
        maybe = table.column("maybe")
        assert maybe.to_python() == [row["maybe"] for row in model]

    def test_float_bounds(self) -> None:
        column = Document.from_python([n / 4 for n in range(100)]).root.column
        assert column.filter(1, 2) == column.filter(1.0, 2.0) == [4, 5, 6, 7, 8]
        assert column.filter(-math.inf, 0) == [0]
        assert column.filter(math.nan, 5) == []

    @pytest.mark.parametrize("gaps", [False, True])
    @pytest.mark.parametrize("count", [1, 2, 3, 50, 1000])
    def test_ranges_of_moments(self, chance: random.Random, count: int, gaps: bool) -> None:
        start = dt.datetime(1969, 12, 31, 23)

        def moment() -> dt.datetime:
            return start + dt.timedelta(microseconds=chance.randrange(10**12))

        makes: dict[str, Callable[[], Any]] = {
            "date": lambda: moment().date(),
            "time": lambda: moment().time(),
            "moment": moment,
            "zoned": lambda: moment().replace(tzinfo=dt.UTC),
        }
        rows = [
            {key: None if gaps and n % 3 == 1 else make() for key, make in makes.items()}
            for n in range(count)
        ]
        table = Document.from_python(rows).root.table
        for key, make in makes.items():
            values = [row[key] for row in rows]
            there = [value for value in values if value is not None]
            for low, high in [sorted(chance.choices([*there, make()], k=2)) for _ in range(20)]:
                expected = [n for n, v in enumerate(values) if v is not None and low <= v <= high]
                assert table[key].filter(low, high) == expected

    def test_bounds_of_another_kind(self) -> None:
        """Bug: bounds without a time zone found nothing among values with one, without a word."""
        zone = dt.UTC
        values: dict[str, list[Any]] = {
            "with": [dt.datetime(2020, 1, day, tzinfo=zone) for day in (1, 2, 3)],
            "without": [dt.datetime(2020, 1, day) for day in (1, 2, 3)],
            "dates": [dt.date(2020, 1, day) for day in (1, 2, 3)],
        }
        doc = Document.from_python(values)
        for kind in values:
            for other, bounds in values.items():
                column = doc[kind].column
                if kind == other:
                    assert column.filter(bounds[1], bounds[2]) == [1, 2]
                else:
                    with pytest.raises(livebuf.WrongTypeError, match="the bounds are"):
                        column.filter(bounds[1], bounds[2])
        assert doc["dates"].column.filter("a", "b") == []

    @pytest.mark.parametrize("count", [1, 2, 3, 100])
    @pytest.mark.parametrize("tables", [True, False])
    def test_memoryview_of_any_rows(self, count: int, tables: bool) -> None:
        """Bug: only columns that were stored as such had one, so those of three rows or more."""
        rows = [{"n": n, "x": n / 2, "at": dt.date(1970, 1, 2), "s": ""} for n in range(count)]
        table = Document.from_python(rows, tables=tables).root.table
        assert table["n"].memoryview().tolist() == list(range(count))
        assert table["x"].memoryview().tolist() == [n / 2 for n in range(count)]
        assert table["at"].memoryview().tolist() == [1] * count
        assert [table[name].memoryview().format for name in ("n", "x", "at")] == ["b", "f", "i"]
        with pytest.raises(BufferError):
            table["s"].memoryview()

    def test_bounds_of_large_integers(self) -> None:
        mixed = [2**60 + 1, "x", 2**60, 0.5, 2**60 + 2]
        for values in (mixed, [2**60 + 1, 0, 2**60, 1, 2**60 + 2]):
            column = Document.from_python(values).root.column
            assert column.filter(2**60 + 1, 2**60 + 1) == [0]
            assert column.filter(2**60 + 1, 2**60 + 2) == [0, 4]

    def test_floats_between_large_integers(self) -> None:
        """Bug: bounds beyond 2^53 found integers only, so that floats were missing without a word.

        Each kind of number is now compared with the bound itself.
        """
        column = Document.from_python([1.5, 2**60, 3]).root.column
        assert column.type == "Cells"
        assert column.filter(0, 2**62) == column.filter(0, float(2**62)) == [0, 1, 2]
        assert column.filter(0, 2**53 + 1) == column.filter(0, 2**53) == [0, 2]
        assert column.filter(-(2**53) - 1, 2) == [0]
        # A float is no neighbour of its: 2^53 + 1 rounds to 2^53.
        floats = Document.from_python([2.0**53, 0.5, 2.0**53 + 2]).root.column
        assert floats.type in ("F32", "F64")
        assert floats.filter(2**53 + 1, 2**60) == [2]
        assert floats.filter(-1, 2**53 + 1) == [0, 1]
        # A decimal bound is exact for integers, too.
        numbers = Document.from_python([2**53, 2**53 + 1, 2**53 + 2]).root.column
        assert numbers.filter(Decimal(2**53 + 1), Decimal(2**60)) == [1, 2]
        assert numbers.filter(Decimal("9007199254740992.5"), Decimal("9007199254740993.5")) == [1]

    def test_bounds_of_any_size(self) -> None:
        """Bug: integers beyond 64 bits were rounded as bounds, or too large to be bounds at all.

        As stored values they were not found.
        """
        values = [0.5, 2**64 - 1, 2**63, -(2**63), 7, 2**64, -(2**70), 10**40, 1e300, 2**63 - 1]
        huge = 10**5000
        bounds = [*values[1:8], 2**64 - 2, 2**63 + 1, 10**39, huge, -huge, 2**1024, math.inf, 2]
        for some in (values, values[1:5:3], values[1:3], values[:5], [*values[3:5], 2**63 - 1]):
            column = Document.from_python(some).root.column
            for low in bounds:
                for high in bounds:
                    expected = [n for n, value in enumerate(some) if low <= value <= high]
                    assert column.filter(low, high) == expected, (column.type, low, high)
            assert column.filter(math.nan, huge) == column.filter(2**53 + 1, math.nan) == []
        infinite = Document.from_python([math.inf, -math.inf, math.nan, 1]).root.column
        assert infinite.filter(-huge, huge) == [3]
        assert infinite.filter(1, math.inf) == [0, 3]
        assert infinite.filter(np.int64(1), np.uint64(2**64 - 1)) == [3]

    def test_number_texts_in_columns(self) -> None:
        """Bug: numbers that are kept as text were never found."""
        exact = "0.1" + "0" * 40 + "1"
        texts = ["1e400", exact, "5", "-1e400", "1.8446744073709551616e19", "1" + "0" * 50]
        column = livebuf.from_json(f"[{','.join(texts)}]").root.column
        assert column.type == "Cells"
        assert column.filter(-math.inf, math.inf) == list(range(6))
        assert column.filter(0, 10**400) == [0, 1, 2, 4, 5]
        assert column.filter(0, 10**400 - 1) == [1, 2, 4, 5]
        assert column.filter(2**64, 2**64) == column.filter(2.0**64, 2.0**64) == [4]
        assert column.filter(2**64 + 1, 10**50) == [5]
        assert column.filter(Decimal("0.1"), Decimal("0.2")) == [1]
        assert column.filter(Decimal("0.11"), 5) == [2]
        assert column.find(10**50) == 5 and column.find(2**64) == 4
        assert column.find(Decimal(exact)) == 1 and column.find(Decimal(exact + "1")) is None

    def test_random_bounds(self, chance: random.Random) -> None:
        near = [0, 2**31, 2**53, 2**60, 2**63, 2**64, 2**65, 10**38]
        kinds: list[Any] = [
            lambda: chance.choice(near) + chance.randint(-3, 3),
            lambda: -chance.choice(near) + chance.randint(-3, 3),
            lambda: float(chance.choice(near) + chance.randint(-3000, 3000)),
            lambda: chance.randint(-(2**63), 2**63 - 1),
            lambda: chance.randrange(2**64),
            lambda: chance.uniform(-3, 3),
        ]
        for some in (kinds, kinds[2:3], kinds[3:4], kinds[4:5], kinds[3:5], kinds[1:3]):
            for _ in range(20):
                values = [chance.choice(some)() for _ in range(chance.choice([3, 70, 200]))]
                column = Document.from_python(values).root.column
                rows = Document.from_python([{"a": value} for value in values]).root.table
                columns = [column, rows.column("a")] if rows.stored else [column]
                for _ in range(10):
                    low, high = sorted((chance.choice(kinds)(), chance.choice([*kinds, *some])()))
                    expected = [n for n, value in enumerate(values) if low <= value <= high]
                    for one in columns:
                        assert one.filter(low, high) == expected, (one.type, low, high)

    def test_find_large_integers(self) -> None:
        """Bug: integers from 2^63 on were a `WrongTypeError` to `find`, though `index` found them.

        So were ints of numpy and of derived classes.
        """
        for values in (
            [2**63, 2**64 - 1] * 5,
            [None, "x", 2**63, 2**64 - 1, 2.0**63, 2**70, -(2**64)],
        ):
            doc = Document.from_python({"v": values, "rows": [{"a": value} for value in values]})
            for column in (doc["v"].column, doc["rows"].table.column("a")):
                for wanted in (2**63, 2**64 - 1):
                    assert column.find(wanted) == values.index(wanted)
                    assert column.find(np.uint64(wanted)) == values.index(wanted)
                for wanted in (2**63 + 1, 2**64, 2**71, -(2**63), -(2**70), 10**4000, -(10**4000)):
                    assert column.find(wanted) is None
                for wanted in (2**70, -(2**64)):
                    if wanted in values:
                        assert column.find(wanted) == values.index(wanted) == doc["v"].index(wanted)
                    assert column.find(wanted, len(values) - 1) in (None, len(values) - 1)
        small = Document.from_python([1, 2, 3]).root.column
        assert small.find(2**63) is None and small.find(2**64) is None
        assert small.find(np.int8(2)) == 1
        assert Document.from_python([0.5, 2.0**64]).root.column.find(2**64) is None
        again = Document.from_python([2**70, 5, 2**70, 5]).root.column
        assert [again.find(2**70, start) for start in range(4)] == [0, 2, 2, None]

    @pytest.mark.parametrize("rows", [3, 40, 700])
    def test_counts_of_texts(self, rows: int) -> None:
        texts = ["open", "closed for good", None, "ähnlich", 5, *(f"text {n}" for n in range(300))]
        for some in (texts[:2], texts[:4], texts[:5], texts):
            values = [some[n * 7 % len(some)] for n in range(rows)]
            doc = Document.from_python({"rows": [{"a": value} for value in values], "v": values})
            expected = Counter(value for value in values if isinstance(value, str))
            for column in (doc["rows"].table.column("a"), doc["v"].column):
                assert column.counts() == expected
                assert column.to_python() == values
        repeated = Document.from_python(["C", "F"] * 50)
        assert repeated.root.column.type == "DictionaryU8"
        repeated.root[3] = "K"
        assert repeated.root.column.counts() == {"C": 50, "F": 49, "K": 1}
        assert repeated.root.column.find("K") == 3

    @pytest.mark.parametrize("count", [20, 700, 9000])
    def test_runs_of_texts(self, count: int) -> None:
        texts: list[str | None] = [f"nº {n} of all" for n in range(count)]
        texts[7], texts[11] = "", None
        rows = Document.from_python([{"t": text} for text in texts])
        doc = Document.from_python(texts)
        for column in (rows.root.table.column("t"), doc.root.column):
            assert column.type == "TextRun" and column.to_python() == texts
            assert column.find("nº 5 of all") == 5 and column.find("nº 5") is None
            assert column.find("") == 7 and column.find(None) == 11
            assert column.counts() == Counter(text for text in texts if text is not None)
            with pytest.raises(BufferError):
                column.memoryview()
        assert doc[7] == "" and doc[12] == "nº 12 of all"
        doc[12] = texts[12] = "a text of another length"
        del doc[3], texts[3]
        assert doc.to_python() == texts
        assert doc.root.column.find("a text of another length") == 11

    def test_start_beyond_the_end(self) -> None:
        column = Document.from_python([1, 2, 3]).root.column
        assert column.find(1, 3) is None and column.find(1, 10**9) is None

    def test_missing_values(self) -> None:
        model = [{"a": n} | ({"b": n} if n % 3 else {}) for n in range(60)]
        column = Document.from_python(model).root.table.column("b")
        assert column.to_python() == [row.get("b") for row in model]
        assert column.find(5) == 5 and column.filter(3, 7) == [4, 5, 7]

    def test_arrays_as_columns(self) -> None:
        doc = Document.from_python({"v": [5, 3, 5, 1], "t": ["x", "long enough text"]})
        assert doc["v"].column.find(5) == 0 and doc["v"].column.find(5, 1) == 2
        assert doc["v"].column.filter(3, 5) == [0, 1, 2]
        assert doc["t"].column.find("long enough text") == 1
        assert len(doc["v"].column) == 4 and isinstance(doc["v"].column.type, str)

    def test_what_is_no_column(self) -> None:
        doc = Document.from_python([{"a": n} for n in range(50)])
        # Bug: this was a WrongTypeError.
        with pytest.raises(livebuf.MissingKeyError, match="no column .*b.*; its columns are a"):
            doc.root.table.column("b")
        with pytest.raises(livebuf.MissingKeyError, match="no column .*a/b"):
            doc.root.table.column("a", "b")
        with pytest.raises(ValueError):
            doc.root.table.column()
        with pytest.raises(TypeError):
            doc.root.table.column(5)

    @pytest.mark.parametrize("tables", [True, False])
    @pytest.mark.parametrize("count", [0, 1, 2, 3, 200])
    def test_columns_of_any_rows(self, count: int, tables: bool) -> None:
        """Columns were there where rows were stored as such, which takes three rows or so, and
        similar ones: code that passed its tests failed with two."""
        model = [
            {"id": n, "at": {"x": n / 2, "a.b": n}, **({"text": f"t {n}"} if n % 3 else {})}
            for n in range(count)
        ]
        table = Document.from_python(model, tables=tables).root.table
        names = ["id", "at", "text"][: 3 if count > 1 else 2 if count else 0]
        assert table.column_names == list(table.schema) == names
        assert repr(table) == f"<livebuf.Table of {count} rows: {', '.join(names)}>"
        ids, halves = table.column("id"), table["at.x"]
        assert list(ids) == ids.to_python() == [*range(count)] and len(ids) == count
        assert list(halves) == [n / 2 for n in range(count)]
        assert table.column("at", "a.b").to_python() == [*range(count)]
        assert ids.find(1) == (1 if count > 1 else None) and ids.find(10**6) is None
        assert ids.filter(1, 2) == [n for n in (1, 2) if n < count]
        assert ids[1:3].to_python() == [n for n in (1, 2) if n < count]
        assert (ids.numpy() * 100).tolist() == [n * 100 for n in range(count)]
        assert ids.numpy(narrow=True).tolist() == [*range(count)]
        assert table.slice(1, 3)["id"].to_python() == [n for n in (1, 2) if n < count]
        if count == 0:
            assert table["nowhere"].to_python() == []
            return
        assert ids[-1] == count - 1 and ids[0] == 0
        with pytest.raises(livebuf.MissingKeyError, match="its columns are id, at"):
            table["nowhere"]
        with pytest.raises(livebuf.MissingKeyError):
            table["at.nowhere"]
        if count > 1:
            texts = [row.get("text") for row in model]
            assert table["text"].to_python() == list(table["text"]) == texts
            assert table["text"].find("t 1") == 1 and table["text"].find(None) == 0
            assert table["text"].counts() == Counter(text for text in texts if text)
            assert table["text"].filter("t 1", "t 1") == [1]

    def test_columns_of_unlike_rows(self) -> None:
        for objects, names in (
            ([{"a": 1}, {"b": "x"}], ["a", "b"]),
            ([{"a": 1}, None, {"a": "x", "c": []}], ["a", "c"]),
            ([{"a": 1}, 5], ["value"]),
            ([5, {"a": 1}], ["value"]),
            ([None], []),
            ([{}], []),
        ):
            for tables in (True, False):
                table = Document.from_python(objects, tables=tables).root.table
                assert table.column_names == list(table.schema) == names
                if any(isinstance(row, dict) and "a" in row for row in objects):
                    found = [row.get("a") if isinstance(row, dict) else None for row in objects]
                    assert table["a"].to_python() == list(table["a"]) == found
        rows = [{"a": n} for n in range(50)]
        doc = Document.from_python(rows)
        doc[7]["more"] = "late"
        assert doc.root.table.column_names == list(doc.root.table.schema) == ["a", "more"]
        assert doc.root.table["more"].find("late") == 7

    def test_tensors_of_few_rows(self) -> None:
        for count in (1, 2, 3, 30):
            rows = [{"id": n, "emb": np.full(4, n, "f2")} for n in range(count)]
            for tables in (True, False):
                found = Document.from_python(rows, tables=tables).root.table["emb"].numpy()
                assert found.shape == (count, 4) and found.dtype == np.float16

    @pytest.mark.parametrize(
        "values", [[1, 2], [1.5, 2.5], ["x", "y"], [True, False], [1, "x", None], [[1], [2, 3]]]
    )
    def test_a_table_of_no_objects(self, values: list[Any]) -> None:
        """Bug: it seemed to have no columns, though Arrow got one, "value"."""
        table = Document.from_python(values).root.table
        assert not table.stored and table.column_names == ["value"]
        assert repr(table) == f"<livebuf.Table of {len(values)} rows: value>"
        assert table.column("value").to_python() == values
        with pytest.raises(livebuf.MissingKeyError, match="its columns are value"):
            table.column("a")

    def test_wrong_arguments_of_columns(self) -> None:
        doc = Document.from_python([{"a": n} for n in range(50)])
        for wrong in ([1], {"a": 1}, object()):
            with pytest.raises((livebuf.Error, TypeError)):
                doc.root.table.column("a").find(wrong)
        with pytest.raises(TypeError):
            doc.root.table.column("a").filter("a", 5)
        assert doc.root.table.column("a").filter("a", "b") == []

    def test_columns_follow_edits(self) -> None:
        doc = Document.from_python([{"a": n} for n in range(50)])
        column = doc.root.table.column("a")
        doc[7]["a"] = 1000
        assert column.find(1000) == 7
        doc.root.append({"a": 2000})
        assert column.find(2000) == 50 and len(column) == 51

    def test_reprs(self) -> None:
        doc = Document.from_python([{"a": n, "b": "x"} for n in range(50)])
        assert repr(doc.root.table) == "<livebuf.Table of 50 rows: a, b>"
        assert repr(doc.root.table.column("a")).startswith('<livebuf.Column "a" of 50')


class TestMasks:
    """Masked arrays of numpy and nullable arrays of pandas, to documents and back."""

    @pytest.mark.parametrize("count", [3, 300])
    @pytest.mark.parametrize(
        ("values", "dtype"),
        [
            ([1, -2, 3], "i1"),
            ([1, 300, 2**40], "i8"),
            ([1, 2**64 - 1, 5], "u8"),
            ([0.5, 1.5, -2.5], "f4"),
            ([0.1, 1e300, 5.0], "f8"),
            ([True, False, True], "?"),
        ],
        ids=["i1", "i8", "u8", "f4", "f8", "bool"],
    )
    def test_masked_arrays(self, values: list[Any], dtype: str, count: int) -> None:
        values = [values[n % 3] for n in range(count)]
        mask = [n % 4 == 1 for n in range(count)]
        given = np.ma.MaskedArray(np.array(values, dtype), mask=mask)
        plain = [None if hidden else value for value, hidden in zip(values, mask, strict=True)]
        for doc in (
            Document.from_python({"a": given}),
            Document(livebuf.dumps({"a": given}, min_width=8)),
            Document(bytearray(livebuf.dumps({"a": given}))),
        ):
            assert doc["a"].to_python() == plain
            found = doc["a"].numpy(masked=True)
            assert isinstance(found, np.ma.MaskedArray)
            assert found.tolist() == plain and found.mask.tolist() == mask
            assert found.dtype.kind == given.dtype.kind or given.dtype.kind == "u"
            with pytest.raises(livebuf.WrongTypeError):
                doc["a"].numpy()
        column = Document.from_python([{"a": value} for value in plain]).root.table["a"]
        assert column.numpy(masked=True).tolist() == plain
        assert column[1:].numpy(masked=True, copy=True).tolist() == plain[1:]

    def test_memory(self) -> None:
        """Numbers of one type are borrowed; edits wait."""
        payload = livebuf.dumps([n if n % 3 else None for n in range(1000)])
        found = Document(payload).root.numpy(masked=True, narrow=True)
        assert np.shares_memory(found.data, np.frombuffer(payload, "u1"))
        assert found.sum() == sum(n for n in range(1000) if n % 3)
        doc = Document.from_python([n if n % 3 else None for n in range(1000)])
        found = doc.root.numpy(masked=True, narrow=True)
        with pytest.raises(livebuf.ExportedError):
            doc[0] = 1
        del found
        doc[0] = 1
        kept = doc.root.numpy(masked=True, copy=True)
        doc[0] = None
        assert kept[0] == 1 and doc.root.numpy(masked=True)[0] is np.ma.masked

    def test_without_nulls(self) -> None:
        doc = Document.from_python({"a": [1, 2, 3] * 40, "t": np.zeros((3, 4), "f2"), "e": []})
        for key in doc:
            found = doc[key].numpy(masked=True)
            assert found.mask is np.ma.nomask and found.tolist() == doc[key].to_python()
        assert doc["t"].numpy(masked=True).shape == (3, 4)

    def test_other_values(self) -> None:
        days = [dt.date(2024, 1, n % 28 + 1) if n % 2 else None for n in range(100)]
        found = Document.from_python(days).root.numpy(masked=True)
        assert found.dtype == np.dtype("datetime64[D]") and found.tolist() == days
        mixed = [1, 0.5, None] * 2
        assert Document.from_python(mixed).root.numpy(masked=True).tolist() == mixed
        assert Document.from_python([None] * 9).root.numpy(masked=True).mask.all()
        for odd in (["a", None], [1, True], [-1, 2**64 - 1], [{}], [[1], None], [10**30]):
            with pytest.raises(livebuf.WrongTypeError, match="numpy"):
                Document.from_python(odd).root.numpy(masked=True)
        with pytest.raises(ValueError, match="cannot be writable"):
            Document.from_python([1, None]).root.numpy(masked=True, writable=True)
        with pytest.raises(livebuf.MissingKeyError):
            Document.from_python([{"a": 1}] * 9).root.table.column("b").numpy(masked=True)
        within = [{"in": {"n": n} if n % 5 else None} for n in range(200)]
        column = Document.from_python(within).root.table["in.n"]
        assert column.numpy(masked=True).tolist() == [n if n % 5 else None for n in range(200)]

    def test_more_dimensions(self) -> None:
        given = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
        assert Document.from_python(given).to_python() == [[1, None], [3, 4]]
        assert Document.from_python([np.ma.masked]).to_python() == [None]

    @pytest.mark.parametrize(
        ("values", "dtype"),
        [
            ([1, None, 300], "Int64"),
            ([1, None, 255], "UInt8"),
            ([True, None, False], "boolean"),
            ([0.5, None, 1.25], "Float32"),
            (["a", None, "b"], "string"),
            (["a", None, "b"], "category"),
            ([dt.datetime(2024, 1, 2), None, dt.datetime(2024, 1, 3)], "datetime64[us]"),
            ([1, None, 3], "int64[pyarrow]"),
            (["a", None, "b"], "string[pyarrow]"),
        ],
    )
    def test_pandas(self, values: list[Any], dtype: str) -> None:
        pandas = pytest.importorskip("pandas")
        given = pandas.array(values * 50, dtype=dtype)
        doc = Document.from_python({"a": given})
        assert doc.to_python() == {"a": values * 50}
        assert doc["a"].column.type != "Cells"
        if dtype in ("Int64", "UInt8", "boolean", "Float32"):
            again = pandas.array(doc["a"].numpy(masked=True), dtype=dtype)
            assert again.tolist() == given.tolist()

    def test_pandas_na(self) -> None:
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"a": pandas.array([1, None], dtype="Int64")})
        assert livebuf.loads(livebuf.dumps(frame.to_dict("records"))) == [{"a": 1}, {"a": None}]
        with pytest.raises(livebuf.EncodeError, match="Period"):
            livebuf.dumps(pandas.array([pandas.Period("2024-01")]))


def test_masks_of_damaged_documents() -> None:
    """Bug: a column of another length than its numbers raised numpy's own `MaskError`."""
    rows = [
        {
            "a": n if n % 3 else None,
            "t": np.arange(4, dtype="f4"),
            "f": n / 3 if n % 5 else None,
            "d": np.ones((2, 2)),
        }
        for n in range(40)
    ]
    arrays = {"x": [1, None, 3] * 10, "t": np.arange(24).reshape(2, 3, 4)}
    payload = livebuf.dumps({"rows": rows, **arrays, "l": [np.arange(3)] * 8})
    chance = random.Random(1)
    for _ in range(8000 if LONG else 2000):
        damaged = bytearray(payload)
        for _ in range(chance.randrange(1, 5)):
            place = chance.randrange(32, len(damaged))
            damaged[place] = chance.choice([0, 1, 2, chance.randrange(256), 255])
        try:
            doc = Document(damaged)
        except livebuf.Error:
            continue
        for name in ("t", "l", "x", "rows a", "rows t", "rows f", "rows d"):
            try:
                array, _, key = name.partition(" ")
                values = doc[array].table.column(key) if key else doc[array]
                values.numpy(masked=True)
            except (livebuf.Error, AttributeError):
                pass


def test_indexes_that_no_machine_word_holds() -> None:
    """Bug: huge indexes raised OverflowError, or had another number in the message."""
    array = livebuf.Document(livebuf.dumps([1, 2, 3])).root
    for index in (10**30, -(10**30)):
        with pytest.raises(IndexError, match=f"index {index} is out of range"):
            array[index]
        assert array.get(index, 7) == 7
    assert array.index(3, -(10**30), 10**30) == array.index(3, 0, sys.maxsize + 1) == 2
    doc = livebuf.Document(livebuf.dumps([1, 2, 3]))
    assert doc.index(3, -(10**30), 10**30) == 2
    with pytest.raises(IndexError):
        array[10**5000]
    with pytest.raises(TypeError):
        array["x"]
    rows = livebuf.Document(livebuf.dumps([{"x": n} for n in range(9)]))
    column = rows.root.table.column("x")
    with pytest.raises(IndexError, match="index 1000000000000000000000000000000 is"):
        column[10**30]
    assert column.index(3, 0, 10**30) == 3
