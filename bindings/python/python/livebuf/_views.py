"""Dict views of objects, and other small parts that are simplest in Python."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
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


def reversed_array(array: Any) -> Iterator[Any]:
    """The elements from the last to the first."""
    for index in range(len(array) - 1, -1, -1):
        yield array[index]
