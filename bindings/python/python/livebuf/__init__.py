"""LiveBuf: JSON-compatible binary documents, read without parsing and edited in place.

>>> import livebuf
>>> doc = livebuf.from_json('{"users": [{"name": "Ada"}, {"name": "Grace"}]}')
>>> doc["users"][1]["name"]
'Grace'
>>> doc["users"][0]["name"] = "Augusta"      # edited in place
>>> payload = bytes(doc)                     # ready to send
>>> livebuf.Document(payload)["users"][0]["name"]
'Augusta'
>>> livebuf.to_json(doc)
b'{"users":[{"name":"Augusta"},{"name":"Grace"}]}'
"""

from __future__ import annotations

import os
from collections.abc import Callable, MutableMapping, MutableSequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, overload

from ._errors import (
    BadValueError,
    ClosedError,
    DamagedError,
    EncodeError,
    Error,
    ExportedError,
    IndexRangeError,
    JSONError,
    LimitError,
    MissingKeyError,
    PointerError,
    ReadOnlyError,
    StaleError,
    TensorError,
    WrongTypeError,
)
from ._livebuf import (
    Array,
    Column,
    Decoder,
    Document,
    Encoder,
    Log,
    Object,
    Table,
    Template,
    __version__,
    _loads,
    _write,
    dumps,
    from_arrow,
    from_json,
    open,
    to_json,
)

__all__ = [
    "Array",
    "BadValueError",
    "ClosedError",
    "Column",
    "DamagedError",
    "Decoder",
    "Document",
    "EncodeError",
    "Encoder",
    "Error",
    "ExportedError",
    "IndexRangeError",
    "JSONError",
    "LimitError",
    "Log",
    "MissingKeyError",
    "Object",
    "PointerError",
    "ReadOnlyError",
    "StaleError",
    "TensorError",
    "Table",
    "Template",
    "WrongTypeError",
    "__version__",
    "default",
    "dump",
    "dumps",
    "from_arrow",
    "from_json",
    "load",
    "loads",
    "open",
    "to_json",
]

if TYPE_CHECKING:
    from typing_extensions import Buffer

    T = TypeVar("T")
    _Type = type[T]
    _Source = str | os.PathLike[str] | BinaryIO


def __dir__() -> list[str]:
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__"]


# `match doc.root: case {"a": value}` and isinstance work by this.
MutableMapping.register(Object)  # pyright: ignore[reportAttributeAccessIssue]
MutableSequence.register(Array)  # pyright: ignore[reportAttributeAccessIssue]


@overload
def loads(data: Buffer, *, type: None = None, max_values: int | None = None) -> Any: ...
@overload
def loads(data: Buffer, *, type: _Type[T], max_values: int | None = None) -> T: ...
@overload
def loads(data: Buffer, *, type: Any, max_values: int | None = None) -> Any: ...
def loads(data: Buffer, *, type: Any = None, max_values: int | None = None) -> Any:
    """A document's bytes as plain Python objects.

    With `type` as an object of that type, by a `Decoder` that is kept: a dataclass, `NamedTuple`,
    `TypedDict`, `msgspec.Struct`, class of attrs, pydantic model, or what they are made of
    (`list[...]`, `X | None`, `Literal`, enums, `datetime`, ...). Fields that the type does not
    have are skipped, unread. Missing fields take their defaults, or raise `WrongTypeError`.

    Makes at most `max_values` values, by default 136 for each byte. A valid document has no
    more. In a damaged one a few bytes can stand for values without end.

    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class User:
    ...     name: str
    ...     tags: list[str] = dataclasses.field(default_factory=list)
    >>> livebuf.loads(livebuf.dumps({"name": "Ada", "born": 1815}), type=User)
    User(name='Ada', tags=[])
    """
    if type is None:
        return _loads(data, max_values)
    from ._types import decoder

    return decoder(type).decode(data, max_values=max_values)


def dump(
    obj: Any,
    file: str | os.PathLike[str] | BinaryIO,
    *,
    default: Callable[[Any], Any] | None = None,
    tables: bool = True,
    sort_keys: bool = False,
) -> None:
    """Writes `dumps(obj)` to a file: a path, or a binary file that is open for writing.

    At a path the file appears whole or not at all: a temporary file beside it is renamed. The
    file is on the disk afterwards. Processes that have the old file open keep reading the old
    one. Raises `BlockingIOError` while somebody edits it (`open(path, "r+")`).
    """
    payload = dumps(obj, default=default, tables=tables, sort_keys=sort_keys)
    if isinstance(file, (str, os.PathLike)):
        _write(file, payload)
    else:
        file.write(payload)


@overload
def load(file: _Source, *, type: None = None, max_values: int | None = None) -> Any: ...
@overload
def load(file: _Source, *, type: _Type[T], max_values: int | None = None) -> T: ...
@overload
def load(file: _Source, *, type: Any, max_values: int | None = None) -> Any: ...
def load(file: _Source, *, type: Any = None, max_values: int | None = None) -> Any:
    """`loads` of what a file holds: a path, or a binary file that is open for reading.

    Raises `BlockingIOError` while somebody edits the file at a path (`open(path, "r+")`).
    """
    if not isinstance(file, (str, os.PathLike)):
        return loads(file.read(), type=type, max_values=max_values)
    if os.path.exists(file) and not (os.path.isfile(file) or os.path.isdir(file)):
        # A pipe or a device, which cannot be mapped.
        import builtins

        with builtins.open(file, "rb") as opened:
            return loads(opened.read(), type=type, max_values=max_values)
    with open(file) as doc:
        return doc.to_python(type=type, max_values=max_values)


def default(obj: object) -> Any:
    """Turns documents and views into plain Python objects, for JSON libraries. Pass it to
    `orjson.dumps(..., default=)` or `json.dumps(..., default=)`. Dates, times and UUIDs, which
    `json` does not know, become the text that `to_json` prints.

    >>> import json
    >>> doc = livebuf.from_json('{"laps": [71, 70]}')
    >>> json.dumps({"times": doc["laps"]}, default=livebuf.default)
    '{"times": [71, 70]}'
    """
    if isinstance(obj, (Document, Object, Array)):
        return obj.to_python()
    from datetime import date, time
    from uuid import UUID

    if isinstance(obj, (date, time, UUID)):
        # A date of pandas may be null.
        return None if (text := to_json(obj)) == b"null" else text[1:-1].decode()
    raise TypeError(f"{type(obj).__name__} is not JSON serializable")
