"""Prepared messages."""

from __future__ import annotations

import datetime
import decimal
import random
import threading
import uuid
from typing import Any

import livebuf
import pytest
from hypothesis import given
from hypothesis import strategies as st

EXAMPLE = {
    "event": "an example",
    "user": {"name": "x", "id": 7},
    "rows": [{"n": 1, "t": "a"}, {"n": 2, "t": "b"}, {"n": 3, "t": None}],
    "list": [1.5, 2.5],
    "same": "in all messages",
}
PLACES = ["/event", "/user/name", "/rows/1/n", "/rows/2/t", "/list/0"]


def expected(values: Any) -> Any:
    made = livebuf.Document.from_python(EXAMPLE)
    for place, value in zip(PLACES, values, strict=True):
        made.set_pointer(place, value)
    return made.to_python()


plain = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
)


@given(st.tuples(*[plain] * len(PLACES)))
def test_stamps_are_what_edits_make(values: Any) -> None:
    data = TEMPLATE.stamp(*values)
    assert type(data) is bytes
    doc = livebuf.Document(data)
    doc.validate()
    assert doc.to_python() == expected(values)


TEMPLATE = livebuf.Template(EXAMPLE, PLACES)


def test_whatever_is_stored_as_a_plain_value() -> None:
    lap = livebuf.Template({"a": 1}, ["/a"])

    class Text(str):
        pass

    values = [
        2**70,
        -(2**63),
        2**64 - 1,
        decimal.Decimal("1.10"),
        datetime.datetime(2026, 11, 22, 21, 30),
        Text("a text of a class of its own"),
        float("inf"),
        "\N{SNOWMAN}" * 10,
        livebuf.loads(livebuf.dumps("text")),
    ]
    for value in [*values, *EXTENDED]:
        assert lap.stamp(value) and livebuf.loads(lap.stamp(value)) == livebuf.loads(
            livebuf.dumps({"a": value})
        )


EXTENDED = [
    datetime.date(2026, 11, 22),
    datetime.time(21, 30),
    datetime.datetime(2026, 11, 22, 21, 30),
    datetime.datetime(2026, 11, 22, 21, 30, tzinfo=datetime.UTC),
    datetime.datetime(2026, 11, 22, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    decimal.Decimal("-1.50"),
    decimal.Decimal("9" * 38),
    uuid.UUID(int=5),
]


def test_dates_times_decimals_and_uuids() -> None:
    """They are in examples, and stamps have them."""
    places = [f"/{index}" for index in range(len(EXTENDED))]
    example = livebuf.Template(EXTENDED, places)
    assert livebuf.loads(example.stamp(*EXTENDED[::-1])) == EXTENDED[::-1]
    doc = livebuf.Document(example.stamp(*EXTENDED))
    doc.validate()
    assert doc == EXTENDED


def test_wrong_values() -> None:
    lap = livebuf.Template({"a": 1, "b": 2}, ("/a", "/b"))
    assert lap.places == ("/a", "/b")
    with pytest.raises(TypeError, match="takes 2 values, one for each place, not 1"):
        lap.stamp(1)
    with pytest.raises(TypeError, match="not 3"):
        lap.stamp(1, 2, 3)
    for wrong in ({}, [], {"a": 1}, [1], (1,), livebuf.Document.from_python([1])):
        with pytest.raises(livebuf.EncodeError, match='value 1, for "/b"'):
            lap.stamp(1, wrong)
    with pytest.raises(livebuf.EncodeError, match="surrogate"):
        lap.stamp(1, "\ud800")
    with pytest.raises(livebuf.EncodeError):
        lap.stamp(object(), 1)
    with pytest.raises(livebuf.BadValueError, match="not finite"):
        lap.stamp(decimal.Decimal("NaN"), 1)
    assert livebuf.loads(lap.stamp(3, 4)) == {"a": 3, "b": 4}


def test_wrong_places() -> None:
    example = {"a": 1, "list": [1], "dict": {}}
    with pytest.raises(livebuf.MissingKeyError, match="/b"):
        livebuf.Template(example, ["/a", "/b"])
    with pytest.raises(livebuf.WrongTypeError, match='dict or list at "/dict"'):
        livebuf.Template(example, ["/a", "/dict"])
    with pytest.raises(livebuf.PointerError):
        livebuf.Template(example, ["a"])
    with pytest.raises(livebuf.Error, match='"/a" is there twice'):
        livebuf.Template(example, ["/a", "/a"])
    with pytest.raises(TypeError, match="a list of JSON pointers"):
        livebuf.Template(example, "/a")
    with pytest.raises(TypeError):
        livebuf.Template(example, [1])  # type: ignore[list-item]
    with pytest.raises(livebuf.EncodeError):
        livebuf.Template(object(), [])


def test_examples() -> None:
    """Of what `dumps` takes, of documents and of views; nothing of their places is kept."""
    doc = livebuf.Document.from_python(EXAMPLE)
    for example in (EXAMPLE, doc, doc.root):
        data = livebuf.Template(example, PLACES).stamp("e", "n", 1, None, 2.5)
        assert livebuf.loads(data) == expected(("e", "n", 1, None, 2.5))
        assert b"an example" not in data
    assert livebuf.loads(livebuf.Template(doc["user"], ["/id"]).stamp(8)) == {"name": "x", "id": 8}
    assert livebuf.loads(livebuf.Template(1, [""]).stamp("root")) == "root"
    assert livebuf.loads(livebuf.Template([1], []).stamp()) == [1]
    assert repr(TEMPLATE) == "<livebuf.Template with 5 places>"


def test_a_value_whose_class_stamps(chance: random.Random) -> None:
    """Python code that runs while values are made ready may use the template, too."""
    lap = livebuf.Template({"a": 1, "b": ""}, ["/a", "/b"])

    class Odd(datetime.date):
        @property
        def year(self) -> int:
            lap.stamp(chance.random(), "inside, and longer than seven")
            return super().year

    data = lap.stamp(1, Odd(2026, 11, 22))
    assert livebuf.loads(data) == {"a": 1, "b": datetime.date(2026, 11, 22)}


def test_threads() -> None:
    """One template stamps in many threads at once."""
    wrong: list[int] = []

    def work(number: int) -> None:
        for turn in range(500):
            values = (f"text {number} of {turn}", number, turn, None, 0.5)
            if livebuf.loads(TEMPLATE.stamp(*values)) != expected(values):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
