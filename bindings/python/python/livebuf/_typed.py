"""Documents as typed objects: `loads(data, type=...)`.

Tolerant reading, as the data-definition paper calls it: fields that the type does not have are
not looked at, and fields that the document does not have take their defaults.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import threading
import types
import typing
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from ._errors import LimitError, WrongTypeError
from ._livebuf import Array, Object

Convert = Callable[[Any], Any]


class _Mismatch(Exception):
    """A value that is not of its type. Each level on the way out adds to the path."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.path: list[str | int] = []


class _Budget(threading.local):
    """Count of values that the call in this thread may still make."""

    left = 0


_budget = _Budget()


def _spend(count: int) -> None:
    _budget.left -= count
    if _budget.left < 0:
        raise LimitError("more values than max_values allows", 17, "BudgetExceeded")


def convert(value: Any, target: Any, max_values: int) -> Any:
    """The value as a `target`, made of at most so many values."""
    convert = converter(target)
    before, _budget.left = _budget.left, max_values
    try:
        return convert(value)
    except RecursionError:
        message = "nested deeper than Python's recursion limit"
        raise LimitError(message, 18, "NestingLimit") from None
    except _Mismatch as mismatch:
        path = "".join(f"[{step!r}]" for step in reversed(mismatch.path))
        place = f", at data{path}" if path else ""
        raise WrongTypeError(f"{mismatch.message}{place}", 24, "WrongType") from None
    finally:
        _budget.left = before


def _plain(value: Any) -> Any:
    if isinstance(value, (Object, Array)):
        return value.to_python(max_values=max(_budget.left, 0))
    return value


def _name(value: Any) -> str:
    if isinstance(value, Object):
        return "an object"
    if isinstance(value, Array):
        return "an array"
    return "null" if value is None else f"{type(value).__name__} {value!r}"


def _exactly(*classes: type) -> Convert:
    names = " or ".join(found.__name__ for found in classes)

    def check(value: Any) -> Any:
        if type(value) in classes:
            return value
        raise _Mismatch(f"{names} is wanted, not {_name(value)}")

    return check


def _float(value: Any) -> float:
    if type(value) in (float, int, Decimal):
        return _parsed(float)(value)  # type: ignore[no-any-return]
    raise _Mismatch(f"float is wanted, not {_name(value)}")


def _decimal(value: Any) -> Decimal:
    if isinstance(value, Decimal):
        return value
    if type(value) in (int, str):
        return _parsed(Decimal)(value)  # type: ignore[no-any-return]
    if type(value) is float:
        return Decimal(repr(value))
    raise _Mismatch(f"Decimal is wanted, not {_name(value)}")


def _parsed(parse: Callable[[Any], Any], *classes: type) -> Convert:
    def read(value: Any) -> Any:
        if classes and not isinstance(value, classes):
            raise _Mismatch(f"{classes[0].__name__} is wanted, not {_name(value)}")
        try:
            return parse(value)
        except (ValueError, ArithmeticError) as error:
            raise _Mismatch(str(error) or f"unexpected {value!r}") from None

    return read


def _from_text(target: type, parse: Callable[[str], Any]) -> Convert:
    """For values that documents hold, and hold as text where they came from JSON."""
    read = _parsed(parse)

    def convert(value: Any) -> Any:
        if type(value) is target:
            return value
        if type(value) is str:
            return read(value)
        raise _Mismatch(f"{target.__name__} is wanted, not {_name(value)}")

    return convert


def _below(convert: Convert, value: Any, step: str | int) -> Any:
    try:
        return convert(value)
    except _Mismatch as mismatch:
        mismatch.path.append(step)
        raise


def _elements(item: Convert, build: Callable[[list[Any]], Any]) -> Convert:
    def read(value: Any) -> Any:
        if not isinstance(value, (Array, list)):
            raise _Mismatch(f"an array is wanted, not {_name(value)}")
        _spend(len(value))
        items = [_below(item, element, index) for index, element in enumerate(value)]
        try:
            return build(items)
        except TypeError as error:
            # A set of lists.
            raise _Mismatch(str(error)) from None

    return read


def _members(item: Convert) -> Convert:
    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, (Object, dict)):
            raise _Mismatch(f"an object is wanted, not {_name(value)}")
        _spend(len(value))
        return {key: _below(item, element, key) for key, element in value.items()}

    return read


def _tuple(items: list[Convert]) -> Convert:
    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (Array, list)) or len(value) != len(items):
            raise _Mismatch(f"an array of {len(items)} is wanted, not {_name(value)}")
        pairs = zip(items, value, strict=True)
        return tuple(_below(item, element, index) for index, (item, element) in enumerate(pairs))

    return read


def _union(arms: tuple[Any, ...]) -> Convert:
    converters = [converter(arm) for arm in arms]

    def read(value: Any) -> Any:
        # Exact types first: `int | float` keeps an int.
        for arm in arms:
            if type(value) is arm:
                return value
        reasons = []
        for candidate in converters:
            try:
                return candidate(value)
            except _Mismatch as mismatch:
                reasons.append(mismatch.message)
        raise _Mismatch("; ".join(dict.fromkeys(reasons)))

    return read


def _literal(values: tuple[Any, ...]) -> Convert:
    def read(value: Any) -> Any:
        for known in values:
            if type(known) is type(value) and known == value:
                return known
        raise _Mismatch(f"one of {list(values)} is wanted, not {_name(value)}")

    return read


def _fields(target: Any, required: dict[str, bool], build: Callable[..., Any]) -> Convert:
    """An object with known keys. Other keys are not read."""
    hints = typing.get_type_hints(target, include_extras=False)
    # Made at first use, since types may refer to themselves.
    made: list[tuple[str, Convert, bool]] = []

    def read(value: Any) -> Any:
        if not isinstance(value, (Object, dict)):
            raise _Mismatch(f"{target.__name__} wants an object, not {_name(value)}")
        if not made:
            made.extend((name, converter(hints[name]), must) for name, must in required.items())
        _spend(len(made))
        missing = object()
        found = {}
        for name, item, must in made:
            element = value.get(name, missing)
            if element is not missing:
                found[name] = _below(item, element, name)
            elif must:
                raise _Mismatch(f"{target.__name__} wants a field {name!r}")
        return build(**found)

    return read


def _keys(target: Any) -> dict[str, bool]:
    """Keys of a `TypedDict`, and whether they are required. (Its own `__required_keys__` is
    wrong where annotations are strings.)"""
    keys: dict[str, bool] = {}
    for name, hint in typing.get_type_hints(target, include_extras=True).items():
        origin = typing.get_origin(hint)
        required = name in target.__required_keys__
        keys[name] = origin is typing.Required or (required and origin is not typing.NotRequired)
    return keys


@functools.cache
def _of_class(target: Any) -> Convert:
    simple: dict[Any, Convert] = {
        Any: _plain,
        object: _plain,
        None: _exactly(type(None)),
        type(None): _exactly(type(None)),
        bool: _exactly(bool),
        int: _exactly(int),
        float: _float,
        str: _exactly(str),
        bytes: _exactly(bytes),
        bytearray: _parsed(bytearray, bytes),
        Decimal: _decimal,
        datetime: _from_text(datetime, datetime.fromisoformat),
        date: _from_text(date, date.fromisoformat),
        time: _from_text(time, time.fromisoformat),
        UUID: _from_text(UUID, UUID),
        list: _elements(_plain, list),
        tuple: _elements(_plain, tuple),
        set: _elements(_plain, set),
        frozenset: _elements(_plain, frozenset),
        dict: _members(_plain),
    }
    if target in simple:
        return simple[target]
    if dataclasses.is_dataclass(target) and isinstance(target, type):
        required = {
            field.name: field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING
            for field in dataclasses.fields(target)
            if field.init
        }
        return _fields(target, required, target)
    if typing.is_typeddict(target):
        return _fields(target, _keys(target), dict)
    if isinstance(target, type) and issubclass(target, tuple) and hasattr(target, "_fields"):
        named: Any = target
        hints = typing.get_type_hints(named)
        return _namedtuple(named, [hints.get(name, Any) for name in named._fields])
    if isinstance(target, type) and issubclass(target, enum.Enum):
        return _parsed(target)
    raise TypeError(f"loads(type=...) does not know {target!r}")


def _namedtuple(target: Any, hints: list[Any]) -> Convert:
    """From an array, as `dumps` stores it, or from an object with its fields' names."""
    # Made at first use, since types may refer to themselves.
    items: list[Convert] = []
    defaults = target._field_defaults

    def read(value: Any) -> Any:
        if not items:
            items.extend(converter(hint) for hint in hints)
        if isinstance(value, (Object, dict)):
            found = {}
            for name, item in zip(target._fields, items, strict=True):
                if name in value:
                    found[name] = _below(item, value[name], name)
                elif name not in defaults:
                    raise _Mismatch(f"{target.__name__} wants a field {name!r}")
            return target(**found)
        return target(*_tuple(items)(value))

    return read


@functools.cache
def _known(target: Any) -> Convert:
    origin = typing.get_origin(target)
    arguments = typing.get_args(target)
    if origin is None:
        return _of_class(target)
    if origin is typing.Annotated:
        return converter(arguments[0])
    if origin in (typing.Required, typing.NotRequired, typing.ClassVar, typing.Final):
        return converter(arguments[0])
    if origin is typing.Union or origin is types.UnionType:
        return _union(arguments)
    if origin is typing.Literal:
        return _literal(arguments)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return _elements(converter(arguments[0]), tuple)
        return _tuple([converter(argument) for argument in arguments])
    if origin in (list, Sequence, MutableSequence):
        return _elements(converter(arguments[0]), list)
    if origin in (set, frozenset):
        return _elements(converter(arguments[0]), origin)
    if origin in (dict, Mapping, MutableMapping):
        if arguments[0] is not str:
            raise TypeError("keys are str")
        return _members(converter(arguments[1]))
    raise TypeError(f"loads(type=...) does not know {target!r}")


def converter(target: Any) -> Convert:
    """The function that makes a `target` from a value of a document."""
    try:
        return _known(target)
    except TypeError as error:
        if "unhashable" in str(error):
            return _known.__wrapped__(target)
        raise
