"""LiveBuf in polars: documents and logs as lazy frames, and columns of documents.

>>> import polars as pl
>>> import livebuf.polars
>>> laps = pl.DataFrame({"lap": range(100), "sec": [70 + n / 4 for n in range(100)]})
>>> livebuf.polars.write(laps, "laps.lbuf", table="/rows")
>>> frame = livebuf.polars.scan("laps.lbuf", table="/rows")
>>> frame.filter(pl.col("lap") == 8).select("sec").collect().item()
72.0

Needs `pip install './bindings/python[polars]'`, in a checkout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, overload

try:
    import polars as pl
    from polars.io.plugins import register_io_source
except ModuleNotFoundError as error:
    message = (
        "livebuf.polars needs polars: in a checkout of livebuf, "
        "pip install './bindings/python[polars]'"
    )
    raise ModuleNotFoundError(message, name=error.name) from error

from . import _files, _sources
from ._livebuf import Document, Table
from ._sources import Batch, Number, Part, PartialTable, Schema, Source, Types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._sources import (
        ExtraColumns,
        MissingColumns,
        Mixed,
        NonFinite,
        Numbers,
        OnFileError,
        OnValueError,
        Options,
        Path,
        Paths,
    )

__all__ = ["extract", "scan", "write"]

# Rows that are read at once, where polars has no wish.
BATCH_ROWS = 131_072


def scan(
    paths: Paths,
    table: str = "",
    *,
    schema: Mapping[str, Any] | pl.Schema | None = None,
    infer_files: int | None = None,
    missing_columns: MissingColumns = "insert",
    extra_columns: ExtraColumns | None = None,
    on_error: OnFileError = "raise",
    non_finite: NonFinite = "error",
    numbers: Numbers = "raise",
    mixed: Mixed = "text",
    trusted: bool = False,
) -> pl.LazyFrame:
    """The tables in documents and logs as one lazy frame, file by file in the order of `paths`.

    `paths` is a path, a glob, a folder, a URL of fsspec, or a list of these. Of a folder all
    `*.lbuf` and `*.lblog` in it and below are read, by their names' order. `table` is a JSON
    pointer to the array or object whose elements are the rows; `""` is the root. The rows of a
    log are its rows.

    Only the columns that a query needs are read. A filter is done batch by batch: first its own
    columns are read, and the others only where a row passes. `head` stops reading.

    The schema has the columns of all files, by all their rows. That takes little where rows are
    stored as columns. Or you give it, and no file is opened before the query runs; values are
    converted where they fit it. With `infer_files=1` it is that of the first file that has rows.
    `missing_columns` says what becomes of columns that a file lacks: `"insert"` nulls, or
    `"raise"`. `extra_columns` says so for fields that a file has and the schema has not:
    `"raise"`, or `"ignore"`. If you say nothing, they are left out where you gave the schema,
    and else are an error that names file and field.

    `on_error="skip"` passes over damaged files, and over what is damaged in logs, with a
    `RuntimeWarning` that names them. `non_finite`, `numbers` and `mixed` are those of
    `Table.with_options`.
    `trusted=True` does not validate: for files that you wrote.

    Raises `FileNotFoundError` where there is no file, `livebuf.Error` where one is damaged, has no
    such table or has values that do not fit the schema. Errors name the file and the rows.
    polars before 2.0 raises its own `ComputeError` with the same text.
    """
    _sources.one_of("missing_columns", missing_columns, _sources.MissingColumns)
    options: Options = {"non_finite": non_finite, "numbers": numbers, "mixed": mixed}
    source = Source(_sources.find(paths), table, on_error, trusted, options)
    if schema is None:
        columns = source.infer(infer_files, _TYPES)
    else:
        columns = pl.Schema(schema)
    raises = _sources.extra_columns(extra_columns, infer_files, schema)
    scanned = _Scan(source, columns, missing_columns, raises)
    return register_io_source(scanned, schema=columns, is_pure=True)


# Types of one kind, of which the finer one has the values of both.
_SIMILAR = ((pl.Datetime,), (pl.Duration,), (pl.String, pl.Categorical, pl.Enum))


class _Types(Types):
    text, null = pl.String(), pl.Null()

    def __init__(self) -> None:
        both = Document.from_python(["", 0]).root.table.with_options(mixed="json")
        self.json = pl.Schema(both)["value"]

    def schema(self, schema: Schema) -> Any:
        return pl.Schema(schema)

    def frame(self, batch: Batch) -> Any:
        return pl.DataFrame(batch)

    def fields(self, kind: Any) -> list[tuple[str, Any]] | None:
        is_struct = isinstance(kind, (pl.Schema, pl.Struct))
        return list(pl.Schema(kind).items()) if is_struct else None

    def element(self, kind: Any) -> Any:
        return kind.inner if isinstance(kind, (pl.List, pl.Array)) else None

    def columns(self, fields: dict[str, Any]) -> Any:
        return pl.Schema(fields)

    def struct(self, fields: dict[str, Any]) -> Any:
        return pl.Struct(fields)

    def list_of(self, element: Any) -> Any:
        return pl.List(element)

    def number(self, kind: Any) -> Number | None:
        if isinstance(kind, pl.Decimal):
            return "decimal", kind.scale
        name = str(kind).lower()
        for start in ("int", "uint", "float"):
            if kind.is_numeric() and name.startswith(start):
                return start, int(name.removeprefix(start))
        return None

    def of_number(self, number: Number) -> Any:
        kind, size = number
        if kind == "decimal":
            return pl.Decimal(38, size)
        return getattr(pl, {"int": "Int", "uint": "UInt", "float": "Float"}[kind] + str(size))()

    def relaxed(self, one: Any, two: Any) -> Any:
        for kinds in _SIMILAR:
            if isinstance(one, kinds) and isinstance(two, kinds):
                if getattr(one, "time_zone", None) != getattr(two, "time_zone", None):
                    return None
                pair = [pl.Schema({"": kind}).to_frame() for kind in (one, two)]
                return pl.concat(pair, how="vertical_relaxed").schema[""]
        return None


_TYPES = _Types()


class _Scan:
    """Reads the files of a lazy frame, each time that polars asks for them."""

    def __init__(
        self,
        source: Source,
        schema: pl.Schema,
        missing_columns: MissingColumns,
        raises_extra: bool,
    ) -> None:
        self.source = source
        self.schema = schema
        self.missing_columns = missing_columns
        self.raises_extra = raises_extra

    def __call__(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        names = self.schema.names() if with_columns is None else with_columns
        wanted = pl.Schema({name: self.schema[name] for name in names})
        left: float = math.inf if n_rows is None else n_rows
        if left <= 0:
            return
        for part in self.source.parts(None):
            checks = self.missing_columns == "raise" and bool(names)
            batch_rows = batch_size or BATCH_ROWS
            for first, table in self.source.tables(part, int(min(batch_rows, left))):
                if checks:
                    self.source.need_columns(part, table, names)
                if self.raises_extra:
                    self.source.refuse_extra(part, table, self.schema, _TYPES)
                frame = self._read(part, first, table, wanted, predicate)
                if frame is None:
                    continue
                frame = frame.head(int(min(left, len(frame))))
                left -= len(frame)
                yield frame
                if left <= 0:
                    return

    def _read(
        self,
        part: Part,
        first: int,
        table: Table | PartialTable,
        schema: pl.Schema,
        predicate: pl.Expr | None,
    ) -> pl.DataFrame | None:
        """The rows that pass."""
        if predicate is None:
            return self.source.read(part, first, table, schema, _frame)
        needed = [name for name in schema.names() if name in set(predicate.meta.root_names())]
        if len(needed) < len(schema):
            asked = pl.Schema({name: schema[name] for name in needed})
            seen = self.source.read(part, first, table, asked, _frame)
            if seen is None:
                return None
            hits = seen.with_row_index("\0row").filter(predicate)["\0row"]
            if hits.is_empty():
                return None
            # Between the first and the last row that pass.
            low = hits[0]
            table, first = table.slice(low, hits[-1] + 1), first + low
            frame = self.source.read(part, first, table, schema, _frame)
            return None if frame is None else frame[(hits - low)]
        frame = self.source.read(part, first, table, schema, _frame)
        return None if frame is None else frame.filter(predicate)


def _frame(batch: Batch) -> pl.DataFrame:
    return pl.DataFrame(batch)


def write(frame: pl.DataFrame | pl.LazyFrame, path: Path, table: str = "") -> None:
    """Writes a frame as a document: an array of objects, stored as columns, at a JSON pointer.

    The keys of the pointer become nested objects: `"/rows"` makes `{"rows": [...]}`. The file
    appears whole or not at all, in place of an old one; `path` can be a URL of fsspec. Rows go
    into an existing log by `Log.extend(frame)`.

    Raises `livebuf.LimitError` above 4 GiB, `livebuf.Error` or `TypeError` for types that
    documents do not have.
    """
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    for name, dtype in frame.schema.items():
        if dtype == pl.Object:
            # In Arrow it would be an address in this process.
            raise TypeError(f"column {name!r} holds Python objects, which have no type in Arrow")
    _files.dump(path, _sources.document_of(frame, table))


@overload
def extract(
    column: pl.Series, pointer: str, dtype: Any, *, on_error: OnValueError = "raise"
) -> pl.Series: ...
@overload
def extract(
    column: pl.Expr, pointer: str, dtype: Any, *, on_error: OnValueError = "raise"
) -> pl.Expr: ...
def extract(
    column: pl.Series | pl.Expr, pointer: str, dtype: Any, *, on_error: OnValueError = "raise"
) -> pl.Series | pl.Expr:
    """The value at a JSON pointer in each document of a binary column, as a column of `dtype`.

    Takes a series, or an expression, which it then is too. Nulls, and documents without that
    value, give null. Damaged documents, and values of another type, raise an error that names
    the row, or are null with `on_error="null"`. Integers are taken for floats; nothing else is
    converted. `pl.Object` takes everything, and `pl.String` takes texts, and JSON of what else
    there is.

    Each row costs a look-up in Python, about a microsecond.

    >>> docs = pl.Series([livebuf.dumps({"a": {"b": n}}) for n in range(3)])
    >>> livebuf.polars.extract(docs, "/a/b", pl.Int64).to_list()
    [0, 1, 2]
    """
    _sources.one_of("on_error", on_error, _sources.OnValueError)
    if isinstance(column, pl.Expr):
        return column.map_batches(
            lambda series: extract(series, pointer, dtype, on_error=on_error), return_dtype=dtype
        )
    if column.dtype not in (pl.Binary, pl.Null):
        raise TypeError(f"column {column.name!r} must be binary, not {column.dtype}")
    found = _sources.values(column, pointer, _converter(dtype), on_error)
    return pl.Series(column.name, found, dtype=dtype)


def _converter(dtype: Any) -> Callable[[Any], Any]:
    """Takes the values that a column of this type can hold."""
    if dtype.is_integer():
        signed = dtype.is_signed_integer()
        bits = int(str(dtype).removeprefix("U").removeprefix("Int"))
        return _sources.integer(-(1 << bits - 1) if signed else 0, (1 << bits - signed) - 1)
    if dtype.is_float():
        return _sources.number
    for known, kind in _KINDS.items():
        if dtype == known:
            return _sources.exactly(kind)

    def convert(value: Any) -> Any:
        found = _sources.plain(value)
        # polars takes a number for a struct of one field, but not behind a struct.
        if dtype == pl.Struct and not isinstance(found, dict):
            raise _sources.wrong(found, "an object")
        if dtype in (pl.List, pl.Array) and not isinstance(found, list):
            raise _sources.wrong(found, "an array")
        try:
            return pl.Series([found], dtype=dtype).to_list()[0]
        except pl.exceptions.PolarsError as error:
            raise TypeError(str(error)) from error

    return convert


_KINDS: dict[Any, type] = {
    pl.String: str,
    pl.Boolean: bool,
    pl.Binary: bytes,
    pl.Date: date,
    pl.Datetime: datetime,
    pl.Time: time,
    pl.Decimal: Decimal,
}
