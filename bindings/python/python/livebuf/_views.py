"""Dict views of objects, and other small parts that are simplest in Python."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Sequence, ValuesView
from itertools import islice
from typing import Any


class Keys(KeysView[str]):
    """Keys of an object, in their order."""

    __slots__ = ()

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._mapping)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"<livebuf keys: {list(self)}>"


class Values(ValuesView[Any]):
    """Values of an object, in the order of their keys."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return self._mapping._values()  # type: ignore[attr-defined, no-any-return]

    def __reversed__(self) -> Iterator[Any]:
        return (value for _, value in self._mapping._reversed_items())  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"<livebuf values: {len(self)}>"


class Items(ItemsView[str, Any]):
    """Keys and values of an object, in their order."""

    __slots__ = ()

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return self._mapping._items()  # type: ignore[attr-defined, no-any-return]

    def __reversed__(self) -> Iterator[tuple[str, Any]]:
        return self._mapping._reversed_items()  # type: ignore[attr-defined, no-any-return]

    def __repr__(self) -> str:
        return f"<livebuf items: {len(self)}>"


def backwards(sequence: Any) -> Iterator[Any]:
    """The elements from the last to the first."""
    for index in range(len(sequence) - 1, -1, -1):
        yield sequence[index]


def index(sequence: Sequence[Any], value: object, start: int, stop: int) -> int:
    """The first index of a value."""
    start, stop, _ = slice(start, stop).indices(len(sequence))
    for at, element in enumerate(islice(sequence, stop)):
        if at >= start and (element is value or element == value):
            return at
    raise ValueError(f"{value!r} is not in the sequence")


def count(sequence: Sequence[Any], value: object) -> int:
    """How often a value occurs."""
    return sum(element is value or element == value for element in sequence)


def match_values(matches: Any) -> Iterator[Any]:
    """The values of matches."""
    return (match.value for match in matches)


def order(array: Any, key: Callable[[Any], Any] | None, reverse: bool) -> list[int]:
    """The indexes of an array's elements in their order."""
    keys = list(array)
    if key is not None:
        keys = list(map(key, keys))
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)
