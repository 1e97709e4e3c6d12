"""dumps and loads, JSON, and the rule for every type."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import io
import ipaddress
import json
import math
import random
import sys
import typing
import uuid
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

import livebuf
import numpy as np
import pytest
from conftest import sample
from livebuf import Document


def through(obj: Any, **options: Any) -> Any:
    return livebuf.loads(livebuf.dumps(obj, **options))


def test_rows_keep_the_order_of_their_keys() -> None:
    rows = [{"id": n, "name": f"n{n % 3}", "x": n / 4} for n in range(40)]
    rows = [dict(reversed(row.items())) if n % 3 else row for n, row in enumerate(rows)]
    doc = livebuf.Document(livebuf.dumps({"rows": rows}))
    assert [list(row.items()) for row in doc.to_python()["rows"]] == [list(r.items()) for r in rows]
    assert [list(row) for row in doc["rows"]] == [list(row) for row in rows]
    assert list(doc["rows"][1].keys()) == ["x", "name", "id"]
    assert json.loads(livebuf.to_json(doc), object_pairs_hook=tuple) == json.loads(
        json.dumps({"rows": rows}), object_pairs_hook=tuple
    )
    # They are a table nevertheless, and rows keep their order as they move.
    assert doc["rows"].table.column_names == ["id", "name", "x"]
    edited = doc.editable()
    edited["rows"][1]["name"] = "another"
    del edited["rows"][0]
    assert list(edited["rows"][0].items()) == [("x", 0.25), ("name", "another"), ("id", 1)]


def identical(one: Any, other: Any) -> bool:
    """Equal, of the same types, in the same order, and -0.0 is not 0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(identical(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(identical, one, other))
    if isinstance(one, float):
        return repr(one) == repr(other)
    return bool(one == other)


def test_keys_that_were_met_before() -> None:
    """Strings of keys are kept from call to call: each of those that share a place is itself."""
    choose = random.Random(5)
    letters = "abcdefgh0123456789 _äß€😀"
    for count in (1, 5, 7, 40, 300):
        for _ in range(60):
            keys = {"".join(choose.choices(letters, k=choose.randrange(80))) for _ in range(count)}
            rows = [dict.fromkeys(choose.sample(sorted(keys), len(keys)), n) for n in range(3)]
            for value in (rows[0], rows, [rows[0], rows[0]]):
                assert livebuf.loads(livebuf.dumps(value)) == value
                assert livebuf.loads(livebuf.dumps(value, tables=False)) == value


class TestJSONTypes:
    @pytest.mark.parametrize(
        "value",
        [
            None,
            True,
            False,
            0,
            1,
            -1,
            2**31,
            2**63 - 1,
            -(2**63),
            0.0,
            -0.0,
            1.5,
            5e-324,
            1.7976931348623157e308,
            math.inf,
            -math.inf,
            "",
            "a",
            "seven b",
            "eight by",
            "é",
            "\x00",
            "𝄞 clef",
            "x" * 100_000,
            b"",
            b"\x00\xff",
            b"x" * 100_000,
            [],
            {},
            [[]],
            [{}],
            {"": ""},
            {"\x00": 1, "b": {"c": [1, "two", None, 4.5]}},
            {"z": 1, "a": 2, "m": 3},
            [1, 2.5],
            [1, None, 3],
            [True, False] * 20,
            [{"a": 1}, {"a": 2, "b": 3}, {"b": 4}] * 5,
            list(range(1000)),
            {str(n): n for n in range(1000)},
        ],
        ids=lambda value: repr(value)[:20],
    )
    @pytest.mark.parametrize("tables", [True, False])
    def test_comes_back(self, value: Any, tables: bool) -> None:
        assert identical(through(value, tables=tables), value)
        assert identical(through({"in": [value]}, tables=tables), {"in": [value]})

    def test_sample(self) -> None:
        assert identical(through(sample()), sample())

    def test_nan_is_kept_in_documents(self) -> None:
        assert math.isnan(through(math.nan))
        assert math.isnan(through([1.5, math.nan])[1])

    def test_same_input_same_bytes(self) -> None:
        assert livebuf.dumps(sample()) == livebuf.dumps(sample())
        assert livebuf.dumps(sample()) == bytes(livebuf.Document.from_python(sample()))

    @pytest.mark.parametrize("width", [1, 2, 4, 8])
    def test_min_width(self, width: int) -> None:
        payload = livebuf.dumps([1, 2, 3], min_width=width)  # type: ignore[arg-type]
        assert livebuf.Document(payload).root.memoryview().itemsize == width
        assert livebuf.loads(payload) == [1, 2, 3]

    @pytest.mark.parametrize("width", [0, 3, 16])
    def test_min_width_of_no_number(self, width: int) -> None:
        with pytest.raises(ValueError, match="min_width"):
            livebuf.dumps([1], min_width=width)  # type: ignore[arg-type]

    def test_tables_are_smaller(self) -> None:
        rows = [{"first": n, "second": n * 2} for n in range(1000)]
        assert len(livebuf.dumps(rows)) < len(livebuf.dumps(rows, tables=False)) / 2

    def test_equal_keys_of_different_types_of_str(self) -> None:
        class Name(str):
            pass

        assert identical(through({Name("a"): Name("b")}), {"a": "b"})


class TestNumbers:
    @pytest.mark.parametrize(
        "value",
        [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**100, -(10**100), 10**4000, 3**1000],
        ids=lambda value: f"{value:.3g}" if abs(value) < 10**300 else "huge",
    )
    def test_big_integers(self, value: int) -> None:
        assert identical(through(value), value)
        assert identical(through([value, 1]), [value, 1])
        assert livebuf.to_json(value) == str(value).encode()
        assert identical(livebuf.from_json(str(value)).root, value)

    def test_longer_integers_than_python_prints(self) -> None:
        most = sys.get_int_max_str_digits()
        with pytest.raises(livebuf.EncodeError, match="too long"):
            livebuf.dumps([10 ** (most + 1)])
        # Read without loss all the same: a Decimal takes it.
        digits = "7" * (most + 1)
        assert livebuf.from_json(digits).root == Decimal(digits)

    @pytest.mark.parametrize(
        "text",
        ["1.5", "0.10", "123456789012345678901234567890.123", "-7", "0.00", "1E-9"],
    )
    def test_decimals(self, text: str) -> None:
        value = Decimal(text)
        found = through(value)
        assert type(found) is Decimal and found.as_tuple() == value.as_tuple()

    def test_whole_decimals_are_decimals(self) -> None:
        values = [Decimal(7), Decimal(10) ** 25]
        assert identical(through(values), values)

    def test_decimals_are_independent_of_the_context(self) -> None:
        with decimal.localcontext(prec=3):
            assert through(Decimal("1.23456789")) == Decimal("1.23456789")

    @pytest.mark.parametrize("text", ["NaN", "sNaN", "Infinity", "-Infinity"])
    def test_decimals_that_are_no_numbers(self, text: str) -> None:
        with pytest.raises(livebuf.EncodeError, match=r'not finite.*obj\["a"\]\[0\]'):
            livebuf.dumps({"a": [Decimal(text)]})

    def test_json_numbers_are_exact(self) -> None:
        doc = livebuf.from_json("[0.1, 1e400, 0.12345678901234567890, 1e-400, -0.0]")
        expected = [0.1, Decimal("1e400"), Decimal("0.12345678901234567890"), Decimal("1e-400")]
        assert identical(doc.to_python(), [*expected, -0.0])
        assert livebuf.from_json("[1.50]", numbers="text").root[0].as_tuple() == (
            Decimal("1.50").as_tuple()
        )
        assert livebuf.to_json(livebuf.from_json("[1.50]", numbers="text")) == b"[1.50]"

    def test_json_number_that_no_decimal_holds(self) -> None:
        """Bug: from_json took it, and every reader of it raised "not a valid number"."""
        doc = livebuf.from_json('{"a": 1, "b": 1e99999999999999999999}')
        assert doc["a"] == 1
        try:
            found = doc["b"]
        except livebuf.Error as error:
            assert "Decimal" in str(error) or "exponent" in str(error)
        else:
            assert found == math.inf or isinstance(found, str)

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_json_has_no_nan(self, value: float) -> None:
        with pytest.raises(livebuf.EncodeError, match="non_finite"):
            livebuf.to_json({"a": [value]})
        assert livebuf.to_json({"a": [value]}, non_finite="null") == b'{"a":[null]}'
        with pytest.raises(ValueError, match="non_finite"):
            livebuf.to_json([value], non_finite="zero")  # type: ignore[arg-type]


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5


@dataclasses.dataclass(slots=True, frozen=True)
class Slotted:
    name: str
    points: list[Point]


class Pair(NamedTuple):
    first: int
    second: str = "default"


class Color(enum.Enum):
    RED = "red"
    BOTH = (1, 2)


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    YES = "yes"


class Bits(enum.IntFlag):
    ONE = 1
    TWO = 2


class TestPythonTypes:
    def test_tuples_are_arrays(self) -> None:
        assert through((1, ("a",), ())) == [1, ["a"], []]

    def test_dataclasses_are_objects(self) -> None:
        assert identical(through(Point(1)), {"x": 1, "y": 0.5})
        nested = through([Slotted("n", [Point(1), Point(2, 3.0)])])
        assert nested == [{"name": "n", "points": [{"x": 1, "y": 0.5}, {"x": 2, "y": 3.0}]}]

    def test_slots_are_read_as_attributes_are(self) -> None:
        @dataclasses.dataclass(slots=True)
        class Base:
            a: Any
            b: Any

        class Renamed(Base):
            @property
            def a(self) -> str:  # type: ignore[override]
                return "property"

        class Loud(Base):
            def __getattribute__(self, name: str) -> Any:
                value = object.__getattribute__(self, name)
                return value if name.startswith("_") else f"{value}!"

        @dataclasses.dataclass(slots=True)
        class Longer(Base):
            c: Any

        renamed = object.__new__(Renamed)
        Base.a.__set__(renamed, "slot")  # type: ignore[attr-defined]
        renamed.b = 2
        for _ in range(2):
            found = through([Base(1, None), Longer(1, [2], "3"), renamed, Loud(1, 2)])
            assert found == [
                {"a": 1, "b": None},
                {"a": 1, "b": [2], "c": "3"},
                {"a": "property", "b": 2},
                {"a": "1!", "b": "2!"},
            ]
        missing = Base(1, 2)
        del missing.b
        with pytest.raises(AttributeError, match="b"):
            livebuf.dumps([missing])

    def test_dataclass_types_are_not(self) -> None:
        with pytest.raises(livebuf.EncodeError, match="type cannot be stored"):
            livebuf.dumps(Point)

    def test_namedtuples_are_arrays(self) -> None:
        assert through(Pair(1)) == [1, "default"]

    def test_enums_are_their_values(self) -> None:
        found = through([Color.RED, Color.BOTH, Level.LOW, Word.YES, Bits.ONE | Bits.TWO])
        assert identical(found, ["red", [1, 2], 1, "yes", 3])
        assert identical(through({Word.YES: 1}), {"yes": 1})

    def test_subclasses(self) -> None:
        class Whole(int):
            pass

        class Real(float):
            pass

        ordered = collections.OrderedDict(b=1, a=2)
        counted = collections.Counter("aab")
        default = collections.defaultdict(list, a=[1])
        assert identical(through([Whole(5), Real(1.5), True]), [5, 1.5, True])
        assert identical(
            through([ordered, counted, default]), [{"b": 1, "a": 2}, {"a": 2, "b": 1}, {"a": [1]}]
        )

        class Items(list[Any]):
            pass

        assert identical(through(Items([1, Items()])), [1, []])

    @pytest.mark.parametrize("make", [bytes, bytearray, memoryview], ids=lambda make: make.__name__)
    def test_bytes(self, make: Callable[[bytes], Any]) -> None:
        for value in (b"", b"seven b", b"\xff" * 5000):
            assert identical(through([make(value)]), [value])

    def test_memoryviews_that_are_not_contiguous(self) -> None:
        assert through(memoryview(b"abcdef")[::2]) == b"ace"
        assert through(memoryview(b"abcdef")[::-1]) == b"fedcba"
        assert through(memoryview(array.array("H", [1, 2]))) == array.array("H", [1, 2]).tobytes()

    def test_documents_and_views(self) -> None:
        doc = livebuf.Document.from_python({"a": [1, {"b": "c"}], "s": 5})
        assert through({"doc": doc, "view": doc["a"], "deep": doc["a"][1]}) == {
            "doc": {"a": [1, {"b": "c"}], "s": 5},
            "view": [1, {"b": "c"}],
            "deep": {"b": "c"},
        }

    @pytest.mark.parametrize("value", [{1, 2}, object(), 1j, Fraction(1, 3), Ellipsis])
    def test_others_are_refused(self, value: Any) -> None:
        with pytest.raises(livebuf.EncodeError, match=r'stored.*default.*obj\["k"\]\[1\]'):
            livebuf.dumps({"k": [0, value]})

    @pytest.mark.parametrize("key", [1, None, 1.5, True, b"a", (1,), Level.LOW])
    def test_keys_must_be_text(self, key: Any) -> None:
        with pytest.raises(livebuf.EncodeError, match=r'keys must be str.*obj\["a"\]\[0\]'):
            livebuf.dumps({"a": [{key: 1}]})

    def test_half_a_surrogate_pair(self) -> None:
        for value in ("\ud800", "a\udfffb", {"k\udc00": 1}, {"a": ["\ud800"]}):
            with pytest.raises(livebuf.EncodeError, match="surrogate"):
                livebuf.dumps(value)


class TestNumpy:
    @pytest.mark.parametrize(
        "dtype",
        ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">i2", ">f8"],
    )
    @pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 2, 3), (0,), (2, 0), (0, 3)])
    def test_arrays(self, dtype: str, shape: tuple[int, ...]) -> None:
        count = int(np.prod(shape))
        values = (np.arange(count) % 2 if dtype == "?" else np.arange(count)).astype(dtype)
        values = values.reshape(shape)
        assert identical(through(values), values.tolist())
        assert identical(through({"in": [values, values]}), {"in": [values.tolist()] * 2})

    def test_extremes(self) -> None:
        for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
            limits = np.iinfo(dtype)
            values = np.array([limits.min, limits.max], dtype=dtype)
            assert identical(through(values), values.tolist())
        floats = np.array([np.nan, np.inf, -0.0, 5e-324])
        assert repr(through(floats)) == repr(floats.tolist())
        assert identical(through(np.array([0.1], "f4")), [float(np.float32(0.1))])

    def test_not_contiguous(self) -> None:
        values = np.arange(24, dtype="i4").reshape(4, 6)
        for view in (values.T, values[::2, ::-1], values[:, 1:3], np.asfortranarray(values)):
            assert identical(through(view), view.tolist())

    def test_without_dimensions(self) -> None:
        assert identical(through([np.array(5), np.array(2.5), np.array(True)]), [5, 2.5, True])

    def test_other_elements(self) -> None:
        assert through(np.array(["a", "longer text"])) == ["a", "longer text"]
        assert through(np.array([b"ab"], "S4")) == [b"ab"]
        assert through(np.array([1, "x", None, [2]], dtype=object)) == [1, "x", None, [2]]
        with pytest.raises(livebuf.EncodeError, match="complex"):
            livebuf.dumps(np.array([1j]))

    def test_times(self) -> None:
        seconds = np.array(["2024-02-29T12:30:59", "1969-01-01"], "M8[s]")
        assert through(seconds) == seconds.tolist()
        nanoseconds = np.array([1], "M8[ns]")
        assert through(nanoseconds) == ["1970-01-01T00:00:00.000000001"]
        assert through(np.datetime64("2024-02-29")) == dt.date(2024, 2, 29)
        assert through(seconds.reshape(2, 1)) == seconds.reshape(2, 1).tolist()

    def test_spans_of_time_have_one_rule(self) -> None:
        """Bug: m8[ns] became bare integers, other units were refused."""

        def outcome(unit: str) -> type:
            try:
                return type(through(np.array([1], f"m8[{unit}]"))[0])
            except livebuf.EncodeError:
                return livebuf.EncodeError

        assert outcome("ns") is outcome("s")

    def test_masked_values_do_not_leak(self) -> None:
        """Bug: what a mask hides was stored."""
        masked = np.ma.array([1, 2, 3], mask=[False, True, False])
        try:
            assert through(masked) == [1, None, 3]
        except livebuf.EncodeError:
            pass

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (np.bool_(True), True),
            (np.int8(-5), -5),
            (np.uint64(2**64 - 1), 2**64 - 1),
            (np.float16(1.5), 1.5),
            (np.float32(0.1), float(np.float32(0.1))),
            (np.float64(0.1), 0.1),
            (np.str_("text"), "text"),
            (np.bytes_(b"bytes"), b"bytes"),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_scalars(self, value: Any, expected: Any) -> None:
        assert identical(through([value]), [expected])

    def test_self_containing(self) -> None:
        circle = np.empty(1, dtype=object)
        circle[0] = circle
        with pytest.raises(livebuf.EncodeError):
            livebuf.dumps(circle)


class TestDefault:
    def test_chain(self) -> None:
        def default(obj: Any) -> Any:
            if isinstance(obj, range):
                return set(obj)
            if isinstance(obj, set):
                return tuple(sorted(obj))
            raise TypeError(f"no {obj!r}")

        assert through({"a": [range(3)]}, default=default) == {"a": [[0, 1, 2]]}
        with pytest.raises(TypeError, match="no Ellipsis"):
            livebuf.dumps([...], default=default)

    def test_only_for_what_is_not_known(self) -> None:
        asked: list[Any] = []
        known = [1, "a", None, 1.5, Point(1), Color.RED, Decimal(1), np.arange(2), dt.date.today()]
        livebuf.dumps(known, default=asked.append)
        assert asked == []

    def test_endless(self) -> None:
        with pytest.raises(livebuf.EncodeError, match="default|itself"):
            livebuf.dumps(object(), default=lambda obj: obj)
        with pytest.raises(livebuf.EncodeError):
            livebuf.dumps(object(), default=lambda obj: object())
        with pytest.raises(livebuf.EncodeError):
            livebuf.dumps(object(), default=lambda obj: [obj])

    def test_exceptions_go_through(self) -> None:
        with pytest.raises(ZeroDivisionError):
            livebuf.dumps({"a": {1, 2}}, default=lambda obj: 1 // 0)

    def test_deep_but_not_endless(self) -> None:
        class Countdown:
            def __init__(self, left: int) -> None:
                self.left = left

        def default(obj: Any) -> Any:
            return Countdown(obj.left - 1) if obj.left else "end"

        assert through(Countdown(200), default=default) == "end"

    def test_none_is_null(self) -> None:
        assert through([{1}], default=lambda obj: None) == [None]

    def test_dict_that_changes(self) -> None:
        growing: dict[str, Any] = {"a": {1}, "b": 2}

        def default(obj: Any) -> Any:
            growing["c"] = 3
            return 0

        with pytest.raises(livebuf.EncodeError, match="changed"):
            livebuf.dumps(growing, default=default)

    def test_dict_that_swaps_members(self) -> None:
        swapping: dict[str, Any] = {"a": {1}, "b": {2}, "c": "x" * 50}

        def default(obj: Any) -> Any:
            swapping.pop("b", None)
            swapping["z"] = "y" * 50
            return 0

        found = through(swapping, default=default)
        assert found["a"] == 0 and set(found) <= {"a", "b", "c", "z"}

    def test_list_that_changes(self) -> None:
        shrinking: list[Any] = [{1}, *["text" * 20] * 50]

        def default(obj: Any) -> Any:
            shrinking.clear()
            return 0

        assert through(shrinking, default=default) == [0]
        growing: list[Any] = [{1}, 2]

        def more(obj: Any) -> Any:
            if len(growing) < 100:
                growing.append({1})
            return len(growing)

        assert through(growing, default=more)[1] == 2

    def test_outer_containers_that_go(self) -> None:
        inner: list[Any] = [{1}, "a" * 100]
        outer: list[Any] = [inner, "b"]

        def default(obj: Any) -> Any:
            nonlocal inner
            outer[0] = inner = []
            return "done"

        assert through(outer, default=default) == [["done", "a" * 100], "b"]

    def test_for_json_libraries(self) -> None:
        doc = livebuf.Document.from_python({"a": [1, {"b": 2}]})
        for value in (doc, doc.root, doc["a"]):
            assert json.loads(json.dumps({"v": value}, default=livebuf.default)) == {
                "v": value.to_python()
            }
        with pytest.raises(TypeError, match="set"):
            livebuf.default({1})


class TestCircles:
    def test_list(self) -> None:
        circle: list[Any] = [1]
        circle.append([circle])
        with pytest.raises(livebuf.EncodeError, match="contains itself|nested"):
            livebuf.dumps(circle)

    def test_dict(self) -> None:
        circle: dict[str, Any] = {}
        circle["x"] = {"y": circle}
        with pytest.raises(livebuf.EncodeError, match="contains itself|nested") as caught:
            livebuf.dumps(circle)
        assert len(str(caught.value)) < 300

    def test_tuple_and_dataclass(self) -> None:
        inner: list[Any] = []
        inner.append((inner,))
        with pytest.raises(livebuf.EncodeError):
            livebuf.dumps(inner)
        point = Point(1)
        point.x = point  # type: ignore[assignment]
        with pytest.raises(livebuf.EncodeError):
            livebuf.dumps(point)

    def test_twice_is_no_circle(self) -> None:
        shared = [1]
        assert through({"a": shared, "b": [shared, shared]}) == {"a": [1], "b": [[1], [1]]}

    def test_depth(self) -> None:
        def nested(depth: int) -> Any:
            value: Any = []
            for _ in range(depth - 1):
                value = [value]
            return value

        assert livebuf.to_json(through(nested(500))) == b"[" * 500 + b"]" * 500
        with pytest.raises(livebuf.EncodeError, match="nested deeper") as caught:
            livebuf.dumps(nested(3000))
        assert caught.value.kind == "NestingLimit"
        with pytest.raises(livebuf.JSONError, match="nested"):
            livebuf.from_json("[" * 100_000)


class TestJSON:
    @pytest.mark.parametrize(
        "wrap", [str, str.encode, lambda s: bytearray(s.encode()), lambda s: memoryview(s.encode())]
    )
    def test_inputs(self, wrap: Callable[[str], Any]) -> None:
        assert livebuf.from_json(wrap('{"ä": [1, "𝄞"]}')).to_python() == {"ä": [1, "𝄞"]}

    def test_inputs_that_are_none(self) -> None:
        for wrong in (None, 5, ["[]"], {"a": 1}):
            with pytest.raises(TypeError):
                livebuf.from_json(wrong)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "name",
        [
            "twitter.json",
            "canada.json",
            "citm_catalog.json",
            "github_events.json",
            "instruments.json",
            "mesh.json",
            "numbers.json",
            "random.json",
            "apache_builds.json",
            "twitter_api_response.json",
        ],
    )
    def test_real_data(self, real: Callable[[str], bytes], name: str) -> None:
        text = real(name)
        expected = json.loads(text)
        doc = livebuf.from_json(text)
        doc.validate()
        assert doc.to_python() == expected
        assert identical(livebuf.loads(bytes(doc)), doc.to_python())
        assert json.loads(livebuf.to_json(doc)) == expected
        assert livebuf.Document.from_python(doc.to_python()).digest() == doc.digest()

    def test_lines(self) -> None:
        doc = livebuf.from_json('{"a": 1}\n{"a": 2}\n\n[3]\n', lines=True)
        assert doc.to_python() == [{"a": 1}, {"a": 2}, [3]]
        assert livebuf.from_json(b"", lines=True).to_python() == []

    def test_equal_keys(self) -> None:
        assert livebuf.from_json('{"a": 1, "b": 2, "a": 3}').to_python()["a"] == 3
        with pytest.raises(livebuf.JSONError, match="twice|duplicate|already"):
            livebuf.from_json('{"a": 1, "b": 2, "a": 3}', duplicate_keys="error")

    @pytest.mark.parametrize("indent", [0, 1, 2, 4, "\t"])
    def test_indent(self, indent: int | str) -> None:
        value = {"a": [1, {"b": None}], "e": "é", "x": [], "y": {}}
        text = livebuf.to_json(value, indent=indent)
        assert json.loads(text) == value
        lines = text.decode().split("\n")
        step = " " * indent if isinstance(indent, int) else indent
        if step:
            assert f'{step}"a": [' in lines

    def test_printing(self) -> None:
        doc = livebuf.from_json(' { "a" : [ 1 , 2.50, "\\u00e9\\n" ] } ')
        assert livebuf.to_json(doc) == '{"a":[1,2.5,"é\\n"]}'.encode()
        assert livebuf.to_json(doc["a"]) == '[1,2.5,"é\\n"]'.encode()
        assert livebuf.to_json([b"bytes", Decimal("1.50"), dt.date(2024, 1, 2)]) == (
            b'["Ynl0ZXM=",1.50,"2024-01-02"]'
        )

    def test_wrong_options(self) -> None:
        for options in ({"numbers": "float"}, {"duplicate_keys": "first"}, {"min_width": 5}):
            with pytest.raises(ValueError):
                livebuf.from_json("[]", **options)  # type: ignore[arg-type]
        for indent in (-1, 1.5, []):
            with pytest.raises((TypeError, ValueError)):
                livebuf.to_json([], indent=indent)  # type: ignore[arg-type]


class TestFiles:
    def test_paths(self, tmp_path: Path) -> None:
        for path in (tmp_path / "a.lbuf", str(tmp_path / "b.lbuf")):
            livebuf.dump(sample(), path)
            assert livebuf.load(path) == sample()
        typed = tmp_path / "point.lbuf"
        livebuf.dump(Point(1, 2.0), typed, tables=False)
        assert livebuf.load(typed, type=Point) == Point(1, 2.0)

    def test_open_files(self) -> None:
        file = io.BytesIO()
        livebuf.dump({"a": {1}}, file, default=sorted)
        assert file.getvalue() == livebuf.dumps({"a": [1]})
        file.seek(0)
        assert livebuf.load(file) == {"a": [1]}

    def test_a_failed_dump_leaves_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "kept.lbuf"
        livebuf.dump([1], path)
        with pytest.raises(livebuf.EncodeError):
            livebuf.dump([object()], path)
        assert livebuf.load(path) == [1]


class TestLoads:
    @pytest.mark.parametrize("make", [bytes, bytearray, memoryview], ids=lambda make: make.__name__)
    def test_inputs(self, make: Callable[[bytes], Any]) -> None:
        assert livebuf.loads(make(livebuf.dumps({"a": 1}))) == {"a": 1}

    @pytest.mark.parametrize("wrong", [None, 5, "text", ["a"], object()])
    def test_inputs_that_are_none(self, wrong: Any) -> None:
        with pytest.raises(TypeError):
            livebuf.loads(wrong)
        with pytest.raises(TypeError):
            livebuf.loads(wrong, type=int)

    def test_budget(self) -> None:
        payload = livebuf.dumps([[1, 2], [3]])
        assert livebuf.loads(payload, max_values=10) == [[1, 2], [3]]
        with pytest.raises(livebuf.LimitError) as caught:
            livebuf.loads(payload, max_values=3)
        assert caught.value.kind == "BudgetExceeded"

    def test_results_are_independent(self) -> None:
        payload = livebuf.dumps({"rows": [{"a": [1]}, {"a": [1]}] * 10})
        found = livebuf.loads(payload)
        found["rows"][0]["a"].append(2)
        assert found["rows"][1] == {"a": [1]}
        assert livebuf.loads(payload)["rows"][0] == {"a": [1]}


# --- typed ---


@dataclasses.dataclass
class Address:
    street: str
    number: int | None = None


@dataclasses.dataclass
class User:
    name: str
    address: Address
    tags: list[str] = dataclasses.field(default_factory=list)
    others: dict[str, Address] = dataclasses.field(default_factory=dict)
    hidden: int = dataclasses.field(default=9, init=False)


@dataclasses.dataclass
class Node:
    value: int
    below: list[Node] = dataclasses.field(default_factory=list)
    next: Node | None = None


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Partial(TypedDict, total=False):
    a: int
    b: str


class Linked(NamedTuple):
    value: int
    next: Linked | None = None


def typed(obj: Any, target: Any) -> Any:
    return livebuf.loads(livebuf.dumps(obj), type=target)


class TestTyped:
    def test_tolerant_reading(self) -> None:
        data = {
            "version": 3,
            "name": "Ada",
            "address": {"street": "S", "zip": "1234"},
            "unknown": {"deep": [1, 2, {"a": object}]},
            "hidden": 5,
        }
        user = livebuf.loads(livebuf.dumps(data, default=str), type=User)
        assert user == User("Ada", Address("S"), [], {})
        assert user.hidden == 9

    def test_what_dumps_made(self) -> None:
        user = User("Ada", Address("S", 5), ["a"], {"home": Address("T")})
        assert typed(user, User) == user

    def test_self_referencing(self) -> None:
        tree = Node(1, [Node(2), Node(3, [Node(4)])], Node(5))
        assert typed(tree, Node) == tree

    def test_self_referencing_namedtuple(self) -> None:
        """Bug: making the converter recursed without end."""
        chain = {"value": 1, "next": {"value": 2, "next": None}}
        assert typed(chain, Linked) == Linked(1, Linked(2))

    @pytest.mark.parametrize(
        ("value", "target", "expected"),
        [
            (5, int, 5),
            (5, float, 5.0),
            (5.5, float, 5.5),
            (True, bool, True),
            ("x", str, "x"),
            (None, None, None),
            (None, type(None), None),
            (b"x", bytes, b"x"),
            (b"x", bytearray, bytearray(b"x")),
            (Decimal("1.5"), float, 1.5),
            (Decimal("1.5"), Decimal, Decimal("1.5")),
            (1.1, Decimal, Decimal("1.1")),
            ("1.10", Decimal, Decimal("1.10")),
            (7, Decimal, Decimal(7)),
            (10**30, int, 10**30),
            (dt.datetime(2024, 1, 2, 3, tzinfo=dt.UTC), dt.datetime, None),
            (dt.date(2024, 1, 2), dt.date, None),
            (dt.time(1, 2, 3), dt.time, None),
            (dt.datetime(2024, 1, 2, 3), dt.datetime, None),
            (uuid.UUID(int=7), uuid.UUID, None),
            # As documents of JSON have them.
            ("2024-01-02T03:00:00+02:00", dt.datetime, dt.datetime(2024, 1, 2, 1, tzinfo=dt.UTC)),
            ("2024-01-02", dt.date, dt.date(2024, 1, 2)),
            ("01:02:03", dt.time, dt.time(1, 2, 3)),
            (str(uuid.UUID(int=7)), uuid.UUID, uuid.UUID(int=7)),
            (dt.date(2024, 1, 2), dt.datetime | dt.date, None),
            (dt.date(2024, 1, 2), Any, None),
            ("red", Color, Color.RED),
            (1, Level, Level.LOW),
            (3, Bits, Bits.ONE | Bits.TWO),
            ([1, "a"], Any, [1, "a"]),
            ({"a": [1]}, object, {"a": [1]}),
            ([1, [2]], list, [1, [2]]),
            ([1, 2], tuple, (1, 2)),
            ([1, 1], set, {1}),
            ({"a": {"b": 1}}, dict, {"a": {"b": 1}}),
            ([1, 2], list[int], [1, 2]),
            ([1, 2], list[float], [1.0, 2.0]),
            ([1, "a"], tuple[int, str], (1, "a")),
            ([1, 2], tuple[int, ...], (1, 2)),
            ([1, 2, 1], set[int], {1, 2}),
            ([1], frozenset[int], frozenset({1})),
            ({"a": 1}, dict[str, int], {"a": 1}),
            ({"a": 1}, typing.Mapping[str, int], {"a": 1}),
            ([1], typing.Sequence[int], [1]),
            (None, int | None, None),
            (5, int | None, 5),
            (5, typing.Optional[int], 5),  # noqa: UP045
            ("x", typing.Union[int, str], "x"),  # noqa: UP007
            (5, int | float, 5),
            (5.0, int | float, 5.0),
            (5, float | int, 5),
            ([1], int | list[int], [1]),
            ("a", Literal["a", "b"], "a"),
            (1, Literal[1, True], 1),
            (True, Literal[1, True], True),
            (5, typing.Annotated[int, "about"], 5),
            ([1, "x"], Pair, Pair(1, "x")),
            ({"first": 1}, Pair, Pair(1)),
            ({"first": 1, "second": "s", "third": 3}, Pair, Pair(1, "s")),
            ({"title": "T", "more": 1}, Movie, {"title": "T"}),
            ({"title": "T", "year": 1}, Movie, {"title": "T", "year": 1}),
            ({"b": "x", "c": 1}, Partial, {"b": "x"}),
            ([{"x": 1}, {"x": 2, "y": 3}], list[Point], [Point(1), Point(2, 3.0)]),
            ({"a": [{"x": 1}]}, dict[str, list[Point]], {"a": [Point(1)]}),
        ],
        ids=lambda value: str(value)[:30],
    )
    def test_targets(self, value: Any, target: Any, expected: Any) -> None:
        found = typed(value, target)
        expected = value if expected is None else expected
        assert found == expected and type(found) is type(expected)
        if isinstance(expected, list):
            assert all(type(one) is type(two) for one, two in zip(found, expected, strict=True))

    def test_rows_of_a_table(self) -> None:
        rows = [{"x": n, "y": n / 2} for n in range(200)]
        assert typed(rows, list[Point]) == [Point(n, n / 2) for n in range(200)]

    @pytest.mark.parametrize(
        ("value", "target", "message"),
        [
            ("x", int, "int is wanted, not str 'x'"),
            (True, int, "int is wanted, not bool True"),
            (1.0, int, "int is wanted, not float 1.0"),
            (1, str, "str is wanted, not int 1"),
            (None, str, "str is wanted, not null"),
            ([1], str, "str is wanted, not an array"),
            ({}, float, "float is wanted, not an object"),
            (10**400, float, "float|large"),
            ("nonsense", Decimal, "Decimal|nonsense|ConversionSyntax"),
            ("nonsense", dt.date, "nonsense"),
            (5, dt.datetime, "datetime is wanted, not int 5"),
            (dt.datetime(2024, 1, 2), dt.date, "date is wanted, not datetime datetime.datetime"),
            (dt.date(2024, 1, 2), dt.datetime, "datetime is wanted, not date datetime.date"),
            (dt.date(2024, 1, 2), str, "str is wanted, not date"),
            ("nonsense", uuid.UUID, "UUID"),
            ("green", Color, "green"),
            ("c", Literal["a", "b"], r"\['a', 'b'\]"),
            (1, Literal[True], "True"),
            ([1, "a"], list[int], r"int is wanted, not str 'a', at \$\[1\]"),
            ({"a": [0, {"b": None}]}, dict[str, list[Any]], None),
            ({"a": [0, "x"]}, dict[str, list[int]], r"at \$\.a\[1\]"),
            ([1], tuple[int, int], "an array of 2"),
            ({"name": "A"}, User, "User wants a field 'address'"),
            ({"name": "A", "address": {}}, User, r"'street', at \$\.address"),
            (5, User, "User wants an object, not int 5"),
            ([], Movie, "Movie wants an object"),
            ({}, Movie, "'title'"),
            ({"second": "x"}, Pair, "'first'"),
            ("x", int | None, "int or None is wanted, not str 'x'"),
            ([[1]], set, "data|hash"),
            ([[1]], set[list[int]], "data|hash"),
        ],
        ids=lambda value: str(value)[:30],
    )
    def test_mismatches(self, value: Any, target: Any, message: str | None) -> None:
        if message is None:
            assert typed(value, target) == value
            return
        with pytest.raises(livebuf.WrongTypeError, match=message) as caught:
            typed(value, target)
        assert (caught.value.code, caught.value.kind) == (24, "WrongType")

    def test_path_through_objects(self) -> None:
        data = {"name": "A", "address": {"street": "S"}, "others": {"x/y": {"street": 5}}}
        with pytest.raises(livebuf.WrongTypeError, match=r'\$\.others\["x/y"\]\.street'):
            typed(data, User)

    @pytest.mark.parametrize("target", [complex, dict[int, int], "User", 5, typing.Iterator[int]])
    def test_targets_that_are_none(self, target: Any) -> None:
        with pytest.raises(TypeError):
            typed({"a": 1}, target)

    def test_deep_data(self) -> None:
        """Bug: a document deeper than Python's recursion allows raised RecursionError."""
        deep: dict[str, Any] = {"value": 0}
        for n in range(900):
            deep = {"value": n, "next": deep}
        try:
            found: Node | None = typed(deep, Node)
        except livebuf.Error:
            return
        for n in range(899, -1, -1):
            assert found is not None and found.value == n
            found = found.next

    def test_budget(self) -> None:
        """Bug: max_values was not heeded where a type was given."""
        with pytest.raises(livebuf.LimitError):
            livebuf.loads(livebuf.dumps(list(range(100))), type=list[int], max_values=50)


class TestOtherTypes:
    def test_durations(self) -> None:
        delta = dt.timedelta
        values = [delta(0), delta(seconds=1.5), -delta(days=1, microseconds=1), delta.max]
        texts = ["PT0.000000S", "PT1.500000S", "-PT86400.000001S", "PT86399999999999.999999S"]
        assert livebuf.loads(livebuf.dumps(values)) == texts
        doc = Document.from_python({"wait": None})
        doc["wait"] = delta(seconds=2)
        assert doc["wait"] == "PT2.000000S"

    def test_durations_are_those_of_arrow(self) -> None:
        pa = pytest.importorskip("pyarrow")
        values = [None, dt.timedelta(seconds=-1.5), dt.timedelta(days=400)]
        table = pa.table({"d": pa.array(values, pa.duration("us"))})
        assert livebuf.from_arrow(table) == [{"d": value} for value in self.plain(values)]

    @staticmethod
    def plain(value: Any) -> Any:
        return livebuf.loads(livebuf.dumps(value))

    def test_durations_of_numpy(self) -> None:
        for unit, text in {
            "h": "PT10800S",
            "s": "PT3S",
            "ms": "PT0.003S",
            "us": "PT0.000003S",
            "ns": "PT0.000000003S",
        }.items():
            array = np.array([3, "NaT", -3], f"m8[{unit}]")
            assert self.plain(array) == [text, None, f"-{text}"]
            assert self.plain({"d": array[0]}) == {"d": text}
            assert self.plain(array.reshape(3, 1)) == [[text], [None], [f"-{text}"]]
        assert self.plain([np.timedelta64("NaT", "s"), np.timedelta64("NaT", "Y")]) == [None, None]
        with pytest.raises(TypeError, match="'Y'"):
            livebuf.dumps(np.array([1], "m8[Y]"))
        pd = pytest.importorskip("pandas")
        assert self.plain(pd.Timedelta(5, "ns")) == "PT0.000000005S"
        assert self.plain([pd.NaT]) == [None]

    def test_structured_arrays(self) -> None:
        inner = [("lat", "f8"), ("lon", "f8")]
        kinds = [("id", "i4"), ("name", "U5"), ("at", inner), ("v", "f4", (2,)), ("t", "M8[s]")]
        array = np.array(
            [(1, "a", (2.5, 3.0), (1, 2), "2026-01-02"), (2, "b", (0.5, 1.0), (3, 4), "NaT")], kinds
        )
        rows = [
            {"id": 1, "name": "a", "at": {"lat": 2.5, "lon": 3.0}, "v": [1, 2], "t": DAY},
            {"id": 2, "name": "b", "at": {"lat": 0.5, "lon": 1.0}, "v": [3, 4], "t": None},
        ]
        assert self.plain(array) == rows
        assert self.plain(array[0]) == rows[0]
        assert self.plain({"rows": array.reshape(2, 1)}) == {"rows": [[rows[0]], [rows[1]]]}
        with pytest.raises(TypeError, match="raw bytes"):
            livebuf.dumps(np.zeros(2, "V8"))

    def test_addresses(self) -> None:
        values = [ipaddress.ip_address("10.0.0.1"), ipaddress.ip_network("::/8")]
        assert self.plain({"at": values}) == {"at": ["10.0.0.1", "::/8"]}

    def test_frames_name_the_way(self) -> None:
        pl = pytest.importorskip("polars")
        with pytest.raises(livebuf.EncodeError, match=r"livebuf\.from_arrow.* at obj\[\"f\"\]"):
            livebuf.dumps({"f": pl.DataFrame({"a": [1]})})


DAY = dt.datetime(2026, 1, 2)
