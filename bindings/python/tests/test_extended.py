"""Dates, times, decimals and UUIDs: values that JSON lacks."""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import json
import pickle
import sys
import threading
import zoneinfo
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal, localcontext
from typing import Any
from uuid import UUID, SafeUUID, uuid4

import livebuf
import pytest
from hypothesis import given
from hypothesis import strategies as st
from livebuf import Document

ODD = timezone(timedelta(hours=-23, minutes=-59, seconds=-59, microseconds=-1))
DAY = date(2026, 11, 23)
NOON = datetime(2026, 11, 23, 12)

# One that a document gives back as it is.
VALUES: list[Any] = [
    *(
        date.min,
        date.max,
        date(1969, 12, 31),
        date(1970, 1, 1),
        date(2024, 2, 29),
        date(1900, 3, 1),
    ),
    *(time.min, time.max, time(12, 30), time(0, 0, 0, 1), time(23, 59, 59)),
    *(datetime.min, datetime.max, datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1)),
    *(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)),
    datetime(2024, 2, 29, 12, 30, 59, 123456, UTC),
    *map(Decimal, ("0", "0.00", "1.5", "1.50", "-7", "100", "1E-38", "-0.05", "19.90")),
    *(
        Decimal("9" * 38),
        Decimal("-" + "9" * 38),
        Decimal("0." + "9" * 38),
        Decimal("-1." + "0" * 37),
    ),
    # The longest in a cell, and the shortest that is not.
    *(Decimal(2**55 - 1), Decimal(2**55), Decimal(-(2**55)), Decimal(-(2**55) - 1)),
    *(UUID(int=0), UUID(int=2**128 - 1), UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")),
]

# Why no document can hold it.
REFUSED: list[tuple[Any, str]] = [
    (time(12, tzinfo=UTC), r"time zone.*its day is not known; store a datetime, or .*replace\("),
    (time(12, tzinfo=zoneinfo.ZoneInfo("UTC")), "time zone"),
    (datetime.min.replace(tzinfo=timezone(timedelta(microseconds=1))), "years 1 to 9999 of UTC"),
    (datetime.max.replace(tzinfo=timezone(timedelta(microseconds=-1))), "years 1 to 9999 of UTC"),
    (Decimal("NaN"), "not finite.*store None"),
    (Decimal("sNaN123"), "not finite"),
    (Decimal("Infinity"), "not finite"),
    (Decimal("-Infinity"), "not finite"),
]

# Too long for a decimal: kept as the text of a number.
LONG = [
    Decimal("1" * 39),
    Decimal("9" * 39),
    Decimal("1E+38"),
    Decimal("-1E+999999"),
    Decimal("1E-39"),
    Decimal("1E-999999"),
]


def same(one: Any, other: Any) -> bool:
    """Equal, of one class, with the same zone and as many digits."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, datetime) and one.tzinfo is not other.tzinfo:
        return False
    return bool(one == other) and repr(one) == repr(other)


def through(value: Any) -> Any:
    return livebuf.loads(livebuf.dumps(value))


def at_all_places(value: Any) -> list[Any]:
    """A value as documents give it back, in whatever way it came there."""
    doc = Document.from_python({"first": value, "list": [None], "o": {}, "t": [{"v": 1}] * 9})
    doc["o"]["set"] = value
    doc["list"][0] = value
    doc["list"].append(value)
    doc["list"].insert(0, value)
    doc["list"].extend([value, {"in": value}])
    doc["list"][1:2] = [value]
    doc["o"].setdefault("default", value)
    doc["o"].update({"update": value}, named=value)
    doc["o"] |= {"or": value}
    doc.set_pointer("/o/pointer", value)
    doc["t"][3]["v"] = value
    doc["t"].append({"v": value})
    doc.validate()
    plain = doc.to_python()
    found = [doc["first"], doc["list"][0], doc["list"][-1]["in"], doc.pointer("/o/pointer")]
    found += [plain["first"], *plain["list"][:4], *plain["o"].values(), *doc["o"].values()]
    found += [plain["list"][4]["in"], doc["t"][3]["v"], doc["t"][-1]["v"], plain["t"][3]["v"]]
    found += [doc["o"].pop("set"), doc["list"].pop(0), *list(doc["list"])[:3], *doc["list"][:3]]
    doc.compact()
    doc.validate()
    found += [doc["first"], doc["t"][3]["v"], Document(bytes(doc)).to_python()["first"]]
    found += [pickle.loads(pickle.dumps(doc))["first"], copy.copy(doc)["first"]]
    doc.root = value
    return [*found, doc.root, doc.to_python()]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_round_trips(value: Any) -> None:
    assert same(through(value), value)
    assert same(through([value, {"a": value}, None]), [value, {"a": value}, None])
    for found in at_all_places(value):
        assert same(found, value)


def unfolded(value: Any) -> Any:
    """Which of two times of one clock it is is not kept where no zone says when these are."""
    return value.replace(fold=0)


@given(
    st.dates()
    | st.times().map(unfolded)
    | st.datetimes().map(unfolded)
    | st.datetimes(timezones=st.just(UTC)).map(unfolded)
    | st.uuids()
    | st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal)
    | st.decimals(-(10**19), 10**19, places=18).filter(lambda value: value != 0)
)
def test_random_values(value: Any) -> None:
    assert same(through([value])[0], value)
    doc = Document.from_python({})
    doc["x"] = value
    assert same(doc["x"], value)


@given(st.lists(st.sampled_from(VALUES) | st.none() | st.integers() | st.text(), max_size=30))
def test_lists_of_all_kinds(values: list[Any]) -> None:
    doc = Document.from_python(values)
    doc.validate()
    assert same(doc.to_python(), values) and same(list(doc), values) and doc == values
    grown = Document.from_python([])
    for value in values:
        grown.root.append(value)
    grown.validate()
    assert same(grown.to_python(), values) and grown == doc


class TestWriting:
    @pytest.mark.parametrize(("value", "message"), REFUSED, ids=repr)
    def test_refused(self, value: Any, message: str) -> None:
        with pytest.raises(
            livebuf.BadValueError, match=message + r'.*, at obj\["a"\]\[1\]'
        ) as info:
            livebuf.dumps({"a": [1, value]}, default=str)
        assert isinstance(info.value, (livebuf.EncodeError, ValueError, TypeError))
        assert (info.value.code, info.value.kind) == (38, "BadValue")

        doc = Document.from_python({"list": [DAY] * 5, "o": {"a": 1}, "t": [{"d": DAY}] * 9})
        before = bytes(doc)
        edits: list[Callable[[], Any]] = [
            lambda: doc.root.__setitem__("x", value),
            lambda: doc["list"].append(value),
            lambda: doc["list"].insert(0, value),
            lambda: doc["list"].__setitem__(0, value),
            lambda: doc["list"].__setitem__(slice(0, 2), [DAY, value]),
            lambda: doc["list"].extend([DAY, value]),
            lambda: doc["list"].append([value]),
            lambda: doc["o"].setdefault("b", value),
            lambda: doc["o"].update(a=value),
            lambda: doc["t"].append({"d": value}),
            lambda: doc["t"][2].__setitem__("d", value),
            lambda: doc.set_pointer("/t/2/d", value),
            lambda: setattr(doc, "root", value),
        ]
        for edit in edits:
            with pytest.raises(livebuf.BadValueError, match=message):
                edit()
            assert bytes(doc) == before

    def test_offsets_are_exact(self) -> None:
        """Moments are kept in UTC; the offset is not kept."""
        berlin = zoneinfo.ZoneInfo("Europe/Berlin")
        for moment in (
            datetime(2024, 2, 29, 12, 30, 59, 123456, ODD),
            datetime(1, 1, 2, 0, 0, 0, 1, timezone(timedelta(seconds=86399, microseconds=999999))),
            datetime(9999, 12, 30, tzinfo=ODD),
            datetime(2024, 7, 1, 12, tzinfo=berlin),
            datetime(2024, 10, 27, 2, 30, tzinfo=berlin),
            datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=berlin),
            # Local mean time: an offset with seconds.
            datetime(1880, 1, 1, tzinfo=berlin),
        ):
            for found in (through([moment])[0], *at_all_places(moment)):
                assert same(found, moment.astimezone(UTC))

    def test_zones_that_say_nothing(self) -> None:
        class Nowhere(tzinfo):
            def utcoffset(self, moment: Any) -> None:
                return None

        class Wrong(tzinfo):
            def utcoffset(self, moment: Any) -> Any:
                raise ZeroDivisionError("a zone of the caller")

        with pytest.raises(livebuf.BadValueError, match="says no offset"):
            livebuf.dumps(datetime(2024, 1, 1, tzinfo=Nowhere()))
        doc = Document.from_python({})
        for store in (livebuf.dumps, lambda value: doc.root.__setitem__("x", value)):
            with pytest.raises(ZeroDivisionError):
                store(datetime(2024, 1, 1, tzinfo=Wrong()))
        assert doc == {}

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("1E+3", "1000"),
            ("-1.1E+5", "-110000"),
            ("1E+37", "1" + "0" * 37),
            ("0E+999999", "0"),
            ("1.50E+1", "15.0"),
            ("0." + "0" * 37 + "7", "7E-38"),
            ("1E-9", "1E-9"),
        ],
    )
    def test_exponents(self, value: str, expected: str) -> None:
        """A scale is never negative: positive exponents are multiplied out."""
        for found in (through(Decimal(value)), *at_all_places(Decimal(value))):
            assert found.as_tuple() == Decimal(expected).as_tuple()

    def test_the_sign_of_zero_is_lost(self) -> None:
        assert through(Decimal("-0.00")).as_tuple() == Decimal("0.00").as_tuple()

    def test_the_context_has_no_say(self) -> None:
        with localcontext(prec=3, capitals=0, Emax=9, Emin=-9):
            for value in (Decimal("1.23456789"), Decimal("1E-20"), Decimal("9" * 38)):
                assert through(value).as_tuple() == value.as_tuple()

    def test_subclasses(self) -> None:
        class Day(date):
            pass

        class Moment(datetime):
            pass

        class Clock(time):
            pass

        class Price(Decimal):
            def __str__(self) -> str:
                return "a price"

        class Id(UUID):
            pass

        class Due(date, enum.Enum):
            NOW = 2026, 11, 23

        values = [
            (Day(2026, 11, 23), DAY),
            (Moment(2026, 11, 23, 12), NOON),
            (Moment(2026, 11, 23, 12, tzinfo=UTC), NOON.replace(tzinfo=UTC)),
            (Clock(12), time(12)),
            (Price("1.50"), Decimal("1.50")),
            (Id(int=7), UUID(int=7)),
        ]
        for value, expected in values:
            for found in (through([value])[0], *at_all_places(value)):
                assert same(found, expected)
        # An enum is its value.
        assert through(Due.NOW) == DAY or through(Due.NOW) == [2026, 11, 23]

    def test_before_default(self) -> None:
        asked: list[Any] = []
        assert through([*VALUES]) == VALUES
        livebuf.dumps(VALUES, default=asked.append)
        assert asked == []
        assert livebuf.loads(livebuf.dumps({1}, default=lambda _: DAY)) == DAY

    def test_inside_of_other_classes(self) -> None:
        @dataclasses.dataclass
        class Order:
            id: UUID
            due: date

        Pair = collections.namedtuple("Pair", "first second")
        order = Order(UUID(int=1), DAY)
        assert through([order, Pair(DAY, NOON)]) == [{"id": order.id, "due": DAY}, [DAY, NOON]]

    def test_uuids_are_whole(self) -> None:
        """Made without their constructor, and like those that it makes."""
        value = uuid4()
        found = through(value)
        assert (found.int, found.bytes, found.is_safe) == (value.int, value.bytes, SafeUUID.unknown)
        assert hash(found) == hash(value) and str(found) == str(value) and found.version == 4
        assert pickle.loads(pickle.dumps(found)) == value and copy.deepcopy(found) == value
        with pytest.raises(TypeError):
            found.int = 5


class TestPandas:
    def test_timestamps(self) -> None:
        pd = pytest.importorskip("pandas")
        moment = pd.Timestamp("2024-01-02 03:04:05.123456")
        assert same(through(moment), datetime(2024, 1, 2, 3, 4, 5, 123456))
        aware = pd.Timestamp("2024-01-02 03:04:05", tz="Europe/Berlin")
        assert same(through(aware), datetime(2024, 1, 2, 2, 4, 5, tzinfo=UTC))
        doc = Document.from_python([DAY, moment.to_pydatetime()])
        assert doc.root.column.find(moment) == 1
        assert through([pd.NaT, None]) == [None, None]
        assert livebuf.default(pd.NaT) is None
        livebuf.dumps(pd.Timestamp(1).floor("us"))

    def test_nanoseconds_have_one_rule(self) -> None:
        """`dumps` of a Timestamp raised, where that of numpy's and `from_arrow` gave text."""
        pd = pytest.importorskip("pandas")
        for zone, text in (
            (None, "2024-01-02T03:04:05.000000001"),
            ("UTC", "2024-01-02T03:04:05.000000001Z"),
            ("Europe/Berlin", "2024-01-02T02:04:05.000000001Z"),
        ):
            moment = pd.Timestamp("2024-01-02 03:04:05.000000001", tz=zone)
            frame = pd.DataFrame({"at": [moment]})
            doc = Document.from_python({"at": None})
            doc["at"] = moment
            assert through(moment) == doc["at"] == text
            assert livebuf.from_arrow(frame)[0]["at"] == through(frame["at"].array)[0] == text
            if zone is None:
                assert through(moment.to_numpy()) == text

    def test_years(self) -> None:
        """Those of pandas go beyond 9999; its fields as a datetime say another year then."""
        pd, np = pytest.importorskip("pandas"), pytest.importorskip("numpy")
        try:
            moment = pd.Timestamp(np.datetime64("20000-01-01", "s"))
        except ValueError:
            pytest.skip("an older pandas")
        with pytest.raises(livebuf.BadValueError, match="9999"):
            livebuf.dumps(moment)


ROWS = [
    {
        "day": DAY + timedelta(n),
        "clock": time(n % 24, n),
        "local": NOON + timedelta(hours=n),
        "moment": NOON.replace(tzinfo=UTC) + timedelta(microseconds=n),
        "price": Decimal(n).scaleb(-2),
        "id": UUID(int=n),
    }
    for n in range(50)
]
TYPES = {
    "day": "Date",
    "clock": "Time",
    "local": "DateTime",
    "moment": "Timestamp",
    "price": "Decimal",
    "id": "Uuid",
}


class TestTables:
    def test_columns(self) -> None:
        doc = Document.from_python(ROWS)
        table = doc.root.table
        assert {name: table.column(name).type for name in table.column_names} == TYPES
        for name in TYPES:
            values = [row[name] for row in ROWS]
            assert same(table.column(name).to_python(), values)
            assert Document.from_python(values).root.column.type == TYPES[name]
        assert same(doc.to_python(), ROWS) and doc == ROWS
        assert same([dict(row) for row in doc], ROWS)
        assert doc == Document.from_python(ROWS, tables=False)

    def test_with_gaps(self) -> None:
        rows = [
            {key: None if n % 5 == 2 else value for key, value in row.items() if n % 7}
            for n, row in enumerate(ROWS)
        ]
        doc = Document.from_python(rows)
        assert same(doc.to_python(), rows) and doc == rows
        for name in TYPES:
            values = [row.get(name) for row in rows]
            if doc.root.table.stored:
                assert same(doc.root.table.column(name).to_python(), values)
            listed = Document.from_python(values)
            assert same(listed.to_python(), values) and listed == values
            assert listed.root.column.find(None) == 0

    @pytest.mark.parametrize("name", list(TYPES))
    def test_edits(self, name: str) -> None:
        """Of a typed column: by values that fit, by null, by other kinds, and back."""
        doc, rows = Document.from_python(ROWS), copy.deepcopy(ROWS)
        others = [None, 5, "text", *(row[name] for row in ROWS[:3]), *VALUES[::4], [1], b"x", 1.5]
        for step, other in enumerate(others):
            place = step * 7 % len(rows)
            doc[place][name] = other
            rows[place][name] = other
            added: dict[str, Any] = {name: other, "more": step}
            doc.root.append(added)
            rows.append(added)
            doc.root.insert(step, ROWS[step])
            rows.insert(step, dict(ROWS[step]))
            del doc.root[-3]
            del rows[-3]
            assert same(doc.to_python(), rows)
        doc.validate()
        doc.compact()
        assert same(doc.to_python(), rows)
        listed, values = Document.from_python([row[name] for row in ROWS]), []
        values = listed.to_python()
        for step, other in enumerate(others):
            listed.root.insert(step, other)
            values.insert(step, other)
            listed.root[-1 - step] = other
            values[-1 - step] = other
            listed.validate()
            assert same(listed.to_python(), values)
        listed.root.reverse()
        assert same(listed.to_python(), values[::-1])

    def test_find(self) -> None:
        doc = Document.from_python(ROWS)
        for name in TYPES:
            column = doc.root.table.column(name)
            assert column.find(ROWS[17][name]) == 17 and column.find(ROWS[17][name], 18) in (
                None,
                41,
            )
            for other in (
                DAY - timedelta(1),
                time.max,
                datetime.min,
                Decimal(100),
                uuid4(),
                5,
                "x",
            ):
                assert column.find(other) is None, (name, other)
        prices = doc.root.table.column("price")
        # By value, as Python compares them.
        assert prices.find(Decimal("0.170")) == 17 and prices.find(Decimal("1.7E-1")) == 17
        mixed = Document.from_python([1, Decimal(1), DAY, NOON, NOON.replace(tzinfo=UTC), None])
        column = mixed.root.column
        found = [column.find(value) for value in mixed]
        assert found == [0, 1, 2, 3, 4, 5]
        assert column.find(NOON.replace(tzinfo=UTC).astimezone(ODD)) == 4
        long = Document.from_python([Decimal("9" * 38), Decimal("1." + "0" * 37)])
        assert long.root.column.find(Decimal(1)) == 1

    def test_filter(self) -> None:
        doc = Document.from_python(ROWS)
        for name in TYPES:
            column = doc.root.table.column(name)
            low, high = ROWS[10][name], ROWS[12][name]
            values = column.to_python()
            expected = [row for row, value in enumerate(values) if low <= value <= high]
            assert column.filter(low, high) == expected and expected[:3] == [10, 11, 12]
            assert column.filter(high, low) == []
        prices = doc.root.table.column("price")
        assert prices.filter(Decimal("0.099"), Decimal("0.1200")) == [10, 11, 12]
        assert prices.filter(0.1, 0.12) == prices.filter(Decimal("0.1"), 0.12) == [10, 11, 12]
        assert prices.filter(0, 1) == list(range(50)) and prices.filter(-1, 0) == [0]
        assert prices.filter(float("nan"), 1.0) == []
        mixed = Document.from_python([None, 5, 5.5, Decimal("5.25"), "5", DAY, Decimal("-5"), True])
        assert mixed.root.column.filter(5, 6) == [1, 2, 3]
        assert mixed.root.column.filter(Decimal("5.1"), Decimal("5.9")) == [2, 3]
        assert mixed.root.column.filter(DAY, DAY) == [5]
        assert Document.from_python([1, 2, 3]).root.column.filter(Decimal(2), Decimal(3)) == [1, 2]
        big = Document.from_python([2**53, 2**53 + 1, Decimal(2**53 + 1)])
        assert big.root.column.filter(2**53 + 1, 2**53 + 1) == [1, 2]
        for low, high in ((DAY, NOON), (NOON, NOON.replace(tzinfo=UTC)), (DAY, 5), (5, DAY)):
            with pytest.raises(livebuf.WrongTypeError, match="of one kind"):
                mixed.root.column.filter(low, high)  # type: ignore[arg-type]

    def test_filter_by_random_decimals(self) -> None:
        values = [value for value in VALUES if isinstance(value, Decimal)]
        column = Document.from_python(values).root.column
        with localcontext(prec=100):
            for low in values:
                for high in values:
                    expected = [row for row, at in enumerate(values) if low <= at <= high]
                    assert column.filter(low, high) == expected, (low, high)

    def test_memory(self) -> None:
        doc = Document.from_python(ROWS)
        table = doc.root.table
        days = table.column("day").memoryview()
        assert (days.format, days.itemsize, days.readonly) == ("i", 4, True)
        assert list(days) == [(row["day"] - date(1970, 1, 1)).days for row in ROWS]
        days.release()
        moments = Document.from_python([row["moment"] for row in ROWS]).root.memoryview()
        assert (moments.format, moments[1] - moments[0]) == ("q", 1)
        for name in ("price", "id"):
            with pytest.raises(BufferError, match="dates or times"):
                table.column(name).memoryview()
        gaps = Document.from_python([DAY, None] * 9)
        with pytest.raises(BufferError, match="without null"):
            gaps.root.memoryview()

    def test_numpy(self) -> None:
        np = pytest.importorskip("numpy")
        doc = Document.from_python(ROWS)
        table = doc.root.table
        units = {"day": "M8[D]", "local": "M8[us]", "moment": "M8[us]", "clock": "m8[us]"}
        for name, unit in units.items():
            column = table.column(name)
            values = [row[name] for row in ROWS]
            if name == "moment":
                values = [value.replace(tzinfo=None) for value in values]
            if name == "clock":
                values = [
                    datetime.combine(DAY, value) - datetime.combine(DAY, time()) for value in values
                ]
            for found in (column.numpy(), column.numpy(copy=True)):
                assert found.dtype == np.dtype(unit) and found.tolist() == values
            with pytest.raises(livebuf.WrongTypeError, match="cannot be written through numpy"):
                column.numpy(writable=True)
            del found
        # Days take four bytes, those of numpy eight: always a copy.
        days = table.column("day").numpy()
        doc[0]["day"] = DAY
        local = table.column("local").numpy()
        assert not local.flags.writeable
        with pytest.raises(livebuf.ExportedError):
            doc[0]["day"] = DAY
        del local, days
        with pytest.raises(livebuf.WrongTypeError, match="dates or times"):
            table.column("id").numpy()
        assert Document.from_python([DAY] * 9).root.numpy().dtype == np.dtype("M8[D]")


class TestFrames:
    """Arrow has types for them; polars has none for UUIDs."""

    def test_polars(self) -> None:
        pl = pytest.importorskip("polars")
        doc = Document.from_python(ROWS)
        frame = pl.DataFrame(doc.root.table)
        assert frame.schema == {
            "day": pl.Date,
            "clock": pl.Time,
            "local": pl.Datetime("us"),
            "moment": pl.Datetime("us", "UTC"),
            "price": pl.Decimal(38, 2),
            "id": pl.Binary,
        }
        plain = [row | {"id": row["id"].bytes} for row in ROWS]
        assert frame.to_dicts() == plain and livebuf.from_arrow(frame) == plain

    def test_pyarrow(self) -> None:
        pa = pytest.importorskip("pyarrow", "18")
        doc = Document.from_python([*ROWS, dict.fromkeys(TYPES)])
        found = pa.table(doc.root.table)
        assert found.to_pylist() == doc
        again = livebuf.from_arrow(found)
        again.validate()
        assert again == doc and same(again[7].to_python(), ROWS[7])
        types = [str(found.schema.field(name).type) for name in ("day", "moment", "price")]
        assert types == ["date32[day]", "timestamp[us, tz=UTC]", "decimal128(38, 2)"]


class TestReading:
    def test_equality(self) -> None:
        doc = Document.from_python({"list": VALUES, "o": {"a": DAY}})
        assert doc["list"] == VALUES and doc["o"] == {"a": DAY} and doc["o"] != {"a": NOON}
        assert doc["o"]["a"] == DAY and doc["o"] != {"a": "2026-11-23"}
        for index, value in enumerate(VALUES):
            assert value in doc["list"] and doc["list"].count(value) == VALUES.count(value)
            assert doc["list"].index(value) == VALUES.index(value) <= index
        assert NOON.replace(tzinfo=UTC, year=1) not in doc["list"]
        doc["list"].remove(date.max)
        assert date.max not in doc["list"]

    def test_matching(self) -> None:
        match Document.from_python({"due": DAY, "price": Decimal("1.50")}).root:
            case {"due": date() as due, "price": Decimal() as price}:
                assert (due, price) == (DAY, Decimal("1.50"))
            case _:
                raise AssertionError

    def test_iteration_and_repr(self) -> None:
        doc = Document.from_python({"a": DAY, "b": UUID(int=7)})
        assert list(doc.values()) == [DAY, UUID(int=7)]
        assert repr(Document.from_python([DAY]).root) == f"<livebuf.Array of 1: {DAY!r}>"

    def test_digests(self) -> None:
        digests = {Document.from_python(value).digest() for value in VALUES}
        digests |= {Document.from_python(str(value)).digest() for value in VALUES}
        assert len(digests) == len(VALUES) + len({str(value) for value in VALUES})

    def test_damage(self) -> None:
        """Bits that are no value of their type are an error, never another date."""
        day = Document.from_python([DAY] * 9)
        payload = bytearray(bytes(day))
        days = day.root.memoryview()
        at = payload.index(bytes(days.cast("B")))
        days.release()
        payload[at : at + 4] = (3_000_000).to_bytes(4, "little")
        doc = Document(payload)
        for read in (lambda: doc[0], doc.to_python, lambda: livebuf.loads(payload), doc.validate):
            with pytest.raises(livebuf.DamagedError):
                read()
        assert doc[1] == DAY

    def test_threads(self) -> None:
        """UUIDs and decimals are made while the document is locked, without Python code."""
        doc = Document.from_python(ROWS * 4)
        wrong: list[Any] = []

        def work() -> None:
            for _ in range(50):
                if doc.to_python()[7] != ROWS[7] or doc[3]["id"] != ROWS[3]["id"]:
                    wrong.append(1)

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(before)
        assert not wrong

    def test_no_python_code_runs(self) -> None:
        """Under the lock it could come back to the document."""
        doc = Document.from_python(ROWS[1])
        doc.to_python()
        called: list[Any] = []
        sys.setprofile(lambda frame, event, arg: called.append(event))
        try:
            for key in TYPES:
                doc[key]
            doc.to_python()
        finally:
            sys.setprofile(None)
        assert "call" not in called


class TestJSON:
    TEXT = (
        '{"due":"2026-11-23","at":"2026-11-23T08:30:00+02:00","local":"2026-11-23T08:30:00.25",'
        '"id":"F81D4FAE-7dec-11d0-a765-00a0c91e6bf6","price":19.90,"clock":"08:30:00",'
        '"not":"2026-02-29","list":["2026-11-23","note"]}'
    )

    def test_recognize(self) -> None:
        doc = livebuf.from_json(self.TEXT, recognize=True)
        expected = {
            "due": DAY,
            "at": datetime(2026, 11, 23, 6, 30, tzinfo=UTC),
            "local": datetime(2026, 11, 23, 8, 30, 0, 250000),
            "id": UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
            "price": 19.9,
            "clock": "08:30:00",
            "not": "2026-02-29",
            "list": [DAY, "note"],
        }
        assert same(doc.to_python(), expected)
        for plain in (livebuf.from_json(self.TEXT), livebuf.from_json(self.TEXT, recognize=False)):
            assert plain == json.loads(self.TEXT)

    def test_lines(self) -> None:
        lines = "\n".join(json.dumps({"day": str(row["day"])}) for row in ROWS)
        doc = livebuf.from_json(lines, lines=True, recognize=True)
        assert doc.root.table.column("day").type == "Date"
        assert doc.to_python() == [{"day": row["day"]} for row in ROWS]

    def test_printing(self) -> None:
        value = {"due": DAY, "at": datetime(2026, 11, 23, 8, tzinfo=ODD), "p": Decimal("1.50")}
        value |= {"local": NOON, "clock": time(8, 30, 0, 5), "id": UUID(int=7)}
        text = (
            b'{"due":"2026-11-23","at":"2026-11-24T07:59:59.000001Z","p":1.50,'
            b'"local":"2026-11-23T12:00:00","clock":"08:30:00.000005",'
            b'"id":"00000000-0000-0000-0000-000000000007"}'
        )
        assert livebuf.to_json(value) == text == livebuf.to_json(Document.from_python(value))
        again = livebuf.from_json(text, recognize=True)
        assert again["at"] == value["at"] and again["due"] == DAY and again["id"] == UUID(int=7)

    def test_default_of_other_libraries(self) -> None:
        value = {"due": DAY, "clock": time(8, 30), "local": NOON, "id": UUID(int=7)}
        doc = Document.from_python({"o": value | {"at": NOON.replace(tzinfo=UTC)}})
        text = json.dumps(doc, default=livebuf.default)
        assert json.loads(text) == json.loads(livebuf.to_json(doc))
        with pytest.raises(TypeError):
            json.dumps({1}, default=livebuf.default)


class TestTyped:
    def test_fields(self) -> None:
        @dataclasses.dataclass
        class Order:
            id: UUID
            due: date
            at: datetime
            price: Decimal
            clock: time | None = None

        globals()["Order"] = Order
        order = Order(UUID(int=1), DAY, NOON.replace(tzinfo=UTC), Decimal("1.50"))
        assert livebuf.loads(livebuf.dumps([order] * 9), type=list[Order]) == [order] * 9
        text = livebuf.to_json(order)
        assert livebuf.loads(bytes(livebuf.from_json(text)), type=Order) == order
        assert livebuf.loads(bytes(livebuf.from_json(text, recognize=True)), type=Order) == order

    def test_enums_of_dates(self) -> None:
        class Due(enum.Enum):
            NOW = DAY

        assert livebuf.loads(livebuf.dumps(Due.NOW), type=Due) is Due.NOW
        assert through(Due.NOW) == DAY


@pytest.mark.parametrize("value", LONG)
def test_longer_decimals_are_kept_as_the_text_of_a_number(value: Decimal) -> None:
    """They come back as they are, by every way in."""
    assert livebuf.loads(livebuf.dumps([value])) == [value]
    doc = livebuf.Document(bytearray(livebuf.dumps({"a": [Decimal("1.5")], "b": None})))
    doc["b"] = value
    doc["a"].append(value)
    assert doc["b"] == value
    assert doc["a"].to_python() == [Decimal("1.5"), value]
    assert livebuf.to_json(doc).decode() == f'{{"a":[1.5,{value}],"b":{value}}}'
    stamp = livebuf.Template({"x": None}, ["/x"]).stamp(value)
    assert livebuf.loads(stamp) == {"x": value}
