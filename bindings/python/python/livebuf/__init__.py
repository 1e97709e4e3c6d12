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

from collections.abc import Callable, MutableMapping, MutableSequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from . import _files
from ._errors import (
    BadValueError,
    ClosedError,
    DamagedError,
    DeltaError,
    EncodeError,
    Error,
    ExportedError,
    IndexRangeError,
    JSONError,
    LimitError,
    MissingKeyError,
    ParquetError,
    PatchError,
    PointerError,
    QueryError,
    ReadOnlyError,
    StaleError,
    TensorError,
    TransactionError,
    WrongTypeError,
)
from ._livebuf import (
    Array,
    Column,
    Decoder,
    Delta,
    Document,
    Encoder,
    History,
    Log,
    Match,
    Matches,
    Object,
    Partial,
    Patch,
    Query,
    Recording,
    Step,
    Table,
    Template,
    Transaction,
    __version__,
    _loads,
    diff,
    dumps,
    fence,
    from_arrow,
    from_json,
    merge_diff,
    to_json,
)
from ._parquet import from_parquet, to_parquet
from ._shared import SharedDocument

__all__ = [
    "Array",
    "BadValueError",
    "ClosedError",
    "Column",
    "DamagedError",
    "Decoder",
    "Delta",
    "DeltaError",
    "Document",
    "EncodeError",
    "Encoder",
    "Error",
    "ExportedError",
    "History",
    "IndexRangeError",
    "JSONError",
    "LimitError",
    "Log",
    "Match",
    "Matches",
    "MissingKeyError",
    "Object",
    "ParquetError",
    "Partial",
    "Patch",
    "PatchError",
    "PointerError",
    "Query",
    "QueryError",
    "ReadOnlyError",
    "Recording",
    "SharedDocument",
    "StaleError",
    "Step",
    "TensorError",
    "Transaction",
    "TransactionError",
    "Table",
    "Template",
    "WrongTypeError",
    "__version__",
    "default",
    "diff",
    "dump",
    "dumps",
    "fence",
    "from_arrow",
    "from_json",
    "from_parquet",
    "load",
    "loads",
    "merge_diff",
    "open",
    "to_json",
    "to_parquet",
]

if TYPE_CHECKING:
    import os

    from _typeshed import SupportsRead, SupportsWrite
    from typing_extensions import Buffer

    T = TypeVar("T")
    _Type = type[T]
    _Source = str | os.PathLike[str] | SupportsRead[bytes]
    _Target = str | os.PathLike[str] | SupportsWrite[bytes]
    _Mode = _files.Mode


def __dir__() -> list[str]:
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__"]


# `match doc.root: case {"a": value}` and isinstance work by this.
MutableMapping.register(Object)  # pyright: ignore[reportAttributeAccessIssue]
MutableSequence.register(Array)  # pyright: ignore[reportAttributeAccessIssue]
# Columns and logs have what sequences have, and are not registered: polars and others would read
# them element by element instead of asking for Arrow.


def open(
    file: _Source,
    mode: _Mode = "r",
    *,
    shared: bool = False,
    trusted: bool = False,
    timeout: float | None = 0.0,
) -> Document:
    """Opens the document in a file, mapped into memory. Only pages that you look at are read.

    Modes: `"r"` reads. `"r+"` edits the file. `"c"` edits a copy in memory, which the first edit
    makes; the file stays as it is. `"w+"` makes the file a new document and edits it: null, which
    is read as if it were empty, until its first key or element makes it an object or array. `"x"`
    and `"x+"` do so too, but raise `FileExistsError` if there is a file. `"a+"` edits the file if
    there is one, and makes it if not. The file is locked while it is open: shared for `"r"` and
    `"c"`, exclusive for the others. If another process has the lock, you get a `BlockingIOError`,
    with `timeout` after so many seconds of waiting. `timeout=None` waits as long as it takes.

    Edits are private until `flush()` or `close()` writes them to the file, whole or not at all.
    A killed process or a power cut leaves all of them or none. Use the document as a context
    manager: an exception in the `with` block rolls the edits back. So does dropping the document
    without closing it. Until they are written, edits take memory for the pages that they change.

    `"r+"` with `shared=True` edits in the file's own memory instead. Other processes that map the
    file see each edit at once, also half done. A process that is killed during an edit may leave
    the file damaged. It is for processes that share a file and have a lock of their own.

    `file` can be a file object that is open in binary mode, for `"r"` and `"c"`. It is read to
    its end, and stays open.

    `file` can be a URL such as `"s3://bucket/key"`, if fsspec is installed. It is read whole into
    memory. Edits are written back by `flush()` and `close()`, as one object. There are no locks:
    of two writers the last one wins. A `file://` URL is opened as a path.

    With `trusted=True` exports and edits do not validate the document before, as in
    `Document(buffer, trusted=True)`.

    >>> import io
    >>> with livebuf.open(io.BytesIO(livebuf.dumps({"best": 70.5}))) as doc:
    ...     doc["best"]
    70.5
    """
    if mode not in _files.MODES:
        raise _files.wrong_mode(mode)
    given: Any = file
    kind = _files.kind(file)
    if kind == "path":
        return _files.open_path(given, mode, shared, trusted, timeout)
    if shared:
        raise ValueError("shared=True is for files at a path")
    if kind == "URL":
        return _files.open_url(given, mode, trusted, timeout)
    return _files.open_object(given, mode, trusted)


@overload
def loads(data: Buffer, *, type: None = None, max_values: int | None = None) -> Any: ...
@overload
def loads(data: Buffer, *, type: _Type[T], max_values: int | None = None) -> T: ...
@overload
def loads(data: Buffer, *, type: Any, max_values: int | None = None) -> Any: ...
def loads(data: Buffer, *, type: Any = None, max_values: int | None = None) -> Any:
    """A document's bytes as plain Python objects.

    With `type` you get an object of that type, made by a `Decoder` that is kept. The type is a
    dataclass, `NamedTuple`, `TypedDict`, `msgspec.Struct`, class of attrs or pydantic model. It
    may also be one of their parts: `list[...]`, `X | None`, `Literal`, enums, `datetime`, and so
    on. Fields that the type does not have are skipped, unread. Missing fields take their
    defaults, or raise `WrongTypeError`.

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
    return _loads(data, max_values, type)


def dump(
    obj: Any,
    file: _Target,
    *,
    default: Callable[[Any], Any] | None = None,
    tables: bool = True,
    sort_keys: bool = False,
    layout: Literal["edits"] | None = None,
) -> None:
    """Writes `dumps(obj)` to a file: a path, a URL of fsspec, or a file object that is open for
    writing in binary mode.

    At a path the file appears whole or not at all: a temporary file beside it is renamed. The
    file is on the disk afterwards. Processes that have the old file open keep reading the old
    one. Raises `BlockingIOError` while somebody edits it (`open(path, "r+")`).
    """
    data = dumps(obj, default=default, tables=tables, sort_keys=sort_keys, layout=layout)
    _files.dump(file, data)


@overload
def load(file: _Source, *, type: None = None, max_values: int | None = None) -> Any: ...
@overload
def load(file: _Source, *, type: _Type[T], max_values: int | None = None) -> T: ...
@overload
def load(file: _Source, *, type: Any, max_values: int | None = None) -> Any: ...
def load(file: _Source, *, type: Any = None, max_values: int | None = None) -> Any:
    """`loads` of what a file holds: a path, a URL of fsspec, or a file object that is open for
    reading in binary mode.

    Raises `BlockingIOError` while somebody edits the file at a path (`open(path, "r+")`).
    """
    given: Any = file
    kind = _files.kind(file)
    if kind == "object":
        return loads(_files.read(given), type=type, max_values=max_values)
    if kind == "path" and _files.is_stream(given):
        return loads(_files.read_stream(given), type=type, max_values=max_values)
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
