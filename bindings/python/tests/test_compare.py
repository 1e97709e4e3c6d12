"""`==` of documents, views and Python objects, which makes no Python objects of documents."""

from __future__ import annotations

import json
import random
import threading
import tracemalloc
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import livebuf
import pytest
from conftest import LONG, sample
from livebuf import Document

NAN = float("nan")
NUMBERS: list[Any] = [
    *(0, 1, -1, 2, 127, 255, 2**53, 2**53 + 1, -(2**53) - 1, 2**63, 2**64 - 1, -(2**63), 2**64),
    *(10**30, -(10**30), 2**100, 0.0, -0.0, 1.0, -1.0, 0.1, 0.5, 1e22, 1e30, 2.0**53, 2.0**63),
    *(2.0**64, 2.0**100, -(2.0**63), 5e-324, 1.7976931348623157e308, NAN),
    *(float("inf"), float("-inf"), True, False),
    *(Decimal("0.1"), Decimal("0.5"), Decimal("0.50"), Decimal("1E+2"), Decimal("100.0")),
    *(Decimal("-1"), Decimal("1.00"), Decimal("1E-400"), Decimal("1E+400"), Decimal("-0.0")),
    Decimal("0.1000000000000000055511151231257827021181583404541015625"),
]
OTHERS: list[Any] = [
    *(None, "", "1", "a", "é", "longer than seven", b"", b"1", b"a", [], {}, [0]),
    *(date(2024, 1, 2), date(1970, 1, 1), time(), time(1), datetime(2024, 1, 2)),
    *(datetime(2024, 1, 2, tzinfo=UTC), datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)),
    datetime(2024, 1, 2, 1, tzinfo=timezone(timedelta(hours=1))),
    *("2024-01-02", UUID(int=0), UUID(int=1), str(UUID(int=1)), Decimal(0), Decimal("0.00")),
    *(Decimal("9" * 38), 10**38 - 1, Decimal("0." + "9" * 38), Decimal("2.5"), 2.5),
]


def stored(value: Any) -> Document:
    """A container of one scalar. Numbers that are longer than decimals of documents are there
    all the same, from JSON."""
    try:
        return Document.from_python(value)
    except livebuf.BadValueError:
        [number] = value if isinstance(value, list) else value.values()
        text = json.dumps(value, default=lambda _: "number").replace('"number"', str(number))
        return livebuf.from_json(text)


def views_of(value: Any) -> list[Any]:
    """A container as what it can be compared as."""
    laid_out = Document.from_python(value), Document.from_python(value, tables=False)
    edited = Document.from_python([None, value, None])
    edited[0] = "x" * 100
    return [*laid_out, *(doc.root for doc in laid_out), edited[1]]


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"k": value}])
def test_scalars_as_python_compares_them(wrap: Any) -> None:
    """Each with each: 1, 1.0 and True are equal, text and bytes are not, NaN is not itself."""
    values = NUMBERS + OTHERS
    documents = [stored(wrap(value)) for value in values]
    for one, first in zip(values, documents, strict=True):
        for other, second in zip(values, documents, strict=True):
            expected = one == other
            assert (first == second) is expected, (one, other)
            assert (first.root == second.root) is expected, (one, other)
            assert (first != second) is not expected, (one, other)
            if other is not NAN:
                assert (first.root == wrap(other)) is expected, (one, other)
                assert (wrap(other) == first) is expected, (one, other)


def test_containers() -> None:
    values: list[Any] = [
        {},
        [],
        [1, 2],
        [1.0, 2.0],
        [2, 1],
        [1, 2, 3],
        [1, None],
        {"a": 1, "b": 2},
        {"b": 2, "a": 1},
        {"a": 1, "c": 2},
        {"a": 1},
        [{"a": 1}] * 3,
        [{"a": 1, "b": [n]} for n in range(30)],
        [{"b": [float(n)], "a": True} for n in range(30)],
        [{"a": 1, "b": [n]} for n in range(29)] + [{"a": 1, "b": [29, 0]}],
        {f"k{n}": n for n in range(400)},
        {f"k{n}": n for n in reversed(range(400))},
        {f"k{n}": n for n in range(399)} | {"other": 1},
        sample(),
        sample(41),
    ]
    for one in values:
        for other in values:
            expected = one == other
            for first in views_of(one):
                assert (first == other) is expected
                for second in views_of(other):
                    assert (first == second) is expected, (one, other)


def changed(value: Any, chance: random.Random) -> Any:
    """A value with some of its parts replaced by others, equal or not."""
    if isinstance(value, dict) and value:
        value = {key: changed(item, chance) for key, item in value.items()}
        if chance.random() < 0.1:
            del value[chance.choice(list(value))]
    elif isinstance(value, list):
        value = [changed(item, chance) for item in value]
    elif chance.random() < 0.05:
        return chance.choice([value, float(value) if isinstance(value, int) else None])
    return value


def test_of_random_values(chance: random.Random) -> None:
    equal = 0
    for _ in range(5000 if LONG else 300):
        one = sample(chance.randrange(5))
        del one["deep"], one["map"]
        one = {key: one[key] for key in chance.sample(list(one), 3)}
        other = changed(one, chance)
        expected = one == other
        equal += expected
        tables = chance.random() < 0.5
        first, second = Document.from_python(one, tables=tables), Document.from_python(other)
        assert (first == second) is (second == first) is expected
        assert (first == other) is (first.root == other) is (one == second.root) is expected
    assert equal > 20


def test_large_documents_are_compared_where_they_are() -> None:
    """Bug: `==` made Python objects of both: 1.65 GB for two documents of 74 MB."""
    rows = [{"id": n, "name": f"row {n}", "at": {"x": n / 2}} for n in range(30_000)]
    one, other = Document.from_python(rows), Document.from_python({"rows": rows}, tables=False)
    text = json.dumps(rows)
    plain = json.loads(text)
    tracemalloc.start()
    try:
        assert one == other["rows"] and one.root == one.copy()
        del other["rows"][-1]["name"]
        assert one != other["rows"]
        assert tracemalloc.get_traced_memory()[1] < 2 * one.nbytes
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        assert one == plain and {"rows": one.root} == {"rows": plain}
        plain[-1]["at"]["x"] = None
        assert one != plain
        # All of it takes more than 10 MB.
        assert tracemalloc.get_traced_memory()[1] - before < 3_000_000
    finally:
        tracemalloc.stop()


def test_large_elements_in_plain_lists() -> None:
    big = [[list(range(5000))] * 3, [{"a": list(range(9000))}], 5, [[]]]
    doc = Document.from_python(big)
    assert doc == big and doc.root == big
    for change in (
        lambda v: v[0][2].__setitem__(4999, 0),
        lambda v: v[1][0]["a"].pop(),
        lambda v: v[3].append(1),
    ):
        other = json.loads(json.dumps(big))
        change(other)
        assert doc != other and doc.root != other


def test_comparisons_run_python_code_without_the_lock() -> None:
    doc = Document.from_python({"list": [1, 2, 3], "o": {"a": 1}})

    class Editing:
        def __eq__(self, other: object) -> bool:
            doc["list"].append(other)
            doc["o"]["b"] = 2
            return True

        __hash__ = None  # type: ignore[assignment]

    assert doc["list"] == [1, Editing(), 3]
    assert doc["list"] == [1, 2, 3, 2]
    assert doc["o"] == {"a": Editing(), "b": 2} or len(doc["o"]) == 2


def test_two_threads_that_compare_crosswise() -> None:
    """Both locks are taken in one order, so that nobody waits for ever."""
    one, other = Document.from_python(sample()), Document.from_python(sample())
    done: list[int] = []

    def compare(first: Document, second: Document) -> None:
        for n in range(200):
            assert first == second
            first["edited"] = second["edited"] = 1
            if n % 10 == 0:
                livebuf.to_json(first)
        done.append(1)

    threads = [
        threading.Thread(target=compare, args=pair, daemon=True)
        for pair in ((one, other), (other, one), (one, other))
    ]
    for doc in (one, other):
        doc["edited"] = 1
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(done) == 3


def test_damaged_documents_compare_in_bounds(chance: random.Random) -> None:
    payload = livebuf.dumps(sample(10))
    for _ in range(3000 if LONG else 300):
        damaged = bytearray(payload)
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(32, len(damaged))] = chance.randrange(256)
        for other in (Document(payload), Document(damaged), sample(10)):
            try:
                assert (Document(damaged) == other) in (True, False)
            except livebuf.Error:
                pass
