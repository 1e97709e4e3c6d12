"""The exceptions. Each is an `Error`, and the built-in exception that fits."""

from __future__ import annotations

import json
from typing import Any


class Error(Exception):
    """What LiveBuf raises.

    `code` is the number of the kind of error, the same in Rust, C and Python, and `kind` its
    name (`"StaleHandle"`). `offset` is the byte of the document that the error is about, where
    there is one.
    """

    code: int
    kind: str
    offset: int | None

    def __init__(
        self, message: str = "", code: int = 0, kind: str = "", offset: int | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.kind = kind
        self.offset = offset

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0] if self.args else "", self.code, self.kind, self.offset)


class DamagedError(Error):
    """The bytes are no document, a damaged one, or one of a newer version."""


class JSONError(Error, json.JSONDecodeError):
    """The text is not JSON. `pos`, `lineno` and `colno` say where.

    `pos` counts characters of a `str` and bytes of anything else, as `doc` is indexed.
    """

    def __init__(
        self, msg: str, doc: Any = "", pos: int = 0, lineno: int = 1, colno: int = 1, code: int = 0
    ) -> None:
        ValueError.__init__(self, f"{msg}: line {lineno} column {colno} (char {pos})")
        self.msg = msg
        self.doc = doc
        self.pos = pos
        self.lineno = lineno
        self.colno = colno
        self.code = code
        self.kind = "JSON"
        self.offset = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.doc, self.pos, self.lineno, self.colno, self.code)


class EncodeError(Error, TypeError):
    """A Python value that a document cannot hold; the message says where it is."""


class BadValueError(EncodeError, ValueError):
    """A date, time or `Decimal` that no document can hold; the message says what to do."""


class ParquetError(Error, ValueError):
    """The bytes are no Parquet file, a damaged one, or one with types that no document has."""


class TensorError(Error, ValueError):
    """A tensor keeps its type and the lengths of its rows, and a value does not fit these."""


class MissingKeyError(Error, KeyError):
    """The object has no such key."""


class IndexRangeError(Error, IndexError):
    """The array has no such index."""


class WrongTypeError(Error, TypeError):
    """The value is of another type than the call needs."""


class ReadOnlyError(Error, TypeError):
    """The document cannot be edited. `editable()` gives a copy that can."""


class StaleError(Error, RuntimeError):
    """An edit shifted the view's place: its key or index now belongs to another value. Look it
    up again.

    For a document it means that somebody else edited it in its memory. Call `refresh()`.
    """


class LimitError(Error, ValueError):
    """Something exceeds a limit: a string, key, document or array, the nesting, a buffer."""


class PointerError(Error, ValueError):
    """The JSON pointer (RFC 6901) is malformed."""


class ClosedError(Error, ValueError):
    """The document was closed."""


class ExportedError(Error, BufferError):
    """The bytes cannot be changed while a memoryview, numpy array or Arrow export looks at them."""


class TransactionError(Error, RuntimeError):
    """What a transaction forbids: writing or exporting the document while one is open, ending one
    that is not open, or using the document from another asyncio task meanwhile."""


class DeltaError(Error, ValueError):
    """A delta that cannot be made, read, applied or composed, or a recording that cannot begin.

    Where the document has another state than the delta begins at, the message names both.
    """


class PatchError(Error, ValueError):
    """A patch that is malformed, cannot be applied, or cannot be made. Nothing was changed.

    `operation` is the number of the operation, from 0 on, and `pointer` its place. Both are
    `None` where the error is not about one.
    """

    operation: int | None
    pointer: str | None

    def __init__(
        self,
        message: str = "",
        code: int = 0,
        kind: str = "",
        offset: int | None = None,
        operation: int | None = None,
        pointer: str | None = None,
    ) -> None:
        super().__init__(message, code, kind, offset)
        self.operation = operation
        self.pointer = pointer

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*super().__reduce__()[1], self.operation, self.pointer)


class QueryError(Error, ValueError):
    """The text is no JSONPath query (RFC 9535). `column` says where, counted from 1."""

    column: int

    def __init__(
        self,
        message: str = "",
        code: int = 0,
        kind: str = "",
        offset: int | None = None,
        column: int = 0,
    ) -> None:
        super().__init__(message, code, kind, offset)
        self.column = column

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*super().__reduce__()[1], self.column)


# Tracebacks and pickles name them as users do.
for _class in list(vars().values()):
    if isinstance(_class, type) and issubclass(_class, Error):
        _class.__module__ = "livebuf"
