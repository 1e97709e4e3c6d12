"""LiveBuf in Dask: documents and logs as one data frame, a partition for each row range.

>>> import livebuf.dask
>>> livebuf.dump({"rows": [{"lap": n, "sec": 70 + n / 4} for n in range(100)]}, "laps.lbuf")
>>> frame = livebuf.dask.read("laps.lbuf", table="/rows", partition_rows=50)
>>> frame.npartitions, int(frame["lap"].sum().compute())
(2, 4950)

Needs `pip install './bindings/python[dask]'`, in a checkout. Each worker needs it, too, and
the files at the same paths.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

try:
    import dask.dataframe as dd  # pyright: ignore[reportMissingImports]
    import pandas as pd
    import pyarrow as pa
except ModuleNotFoundError as error:
    message = (
        f"livebuf.dask needs {error.name}: in a checkout of livebuf, "
        "pip install './bindings/python[dask]'"
    )
    raise ModuleNotFoundError(message, name=error.name) from error

from . import _sources
from ._arrow import ArrowTypes
from ._sources import PART_ROWS, Batch, Part, Source

if TYPE_CHECKING:
    from ._sources import (
        ExtraColumns,
        MissingColumns,
        Mixed,
        NonFinite,
        Numbers,
        OnFileError,
        Options,
        Paths,
    )

__all__ = ["read"]

# Rows that become a batch of Arrow at once.
BATCH_ROWS = 1 << 17


def read(
    paths: Paths,
    table: str = "",
    *,
    schema: Any = None,
    infer_files: int | None = None,
    missing_columns: MissingColumns = "insert",
    extra_columns: ExtraColumns | None = None,
    on_error: OnFileError = "raise",
    non_finite: NonFinite = "error",
    numbers: Numbers = "raise",
    mixed: Mixed = "text",
    partition_rows: int = PART_ROWS,
    trusted: bool = False,
) -> Any:
    """The tables in documents and logs as a `dask.dataframe.DataFrame`, by `from_map`.

    `paths`, `table`, `infer_files`, `missing_columns`, `extra_columns`, `on_error`,
    `non_finite`, `numbers`, `mixed` and `trusted` are as in `livebuf.polars.scan`. `schema` is a
    `pyarrow.Schema`.

    Each file becomes partitions of at most `partition_rows` rows. A file at a URL of fsspec is
    one partition; of a document there only what is needed is fetched. Workers open files
    themselves, and read only the columns that the graph needs; no rows go through the client.
    Columns are of pandas' `ArrowDtype`, so that integers with nulls stay integers.

    Raises `FileNotFoundError` where there is no file, `livebuf.Error` where one is damaged or has
    no such table.
    """
    _sources.one_of("missing_columns", missing_columns, _sources.MissingColumns)
    files = [_sources.absolute(path) for path in _sources.find(paths)]
    options: Options = {"non_finite": non_finite, "numbers": numbers, "mixed": mixed}
    source = Source(files, table, on_error, trusted, options)
    if schema is None:
        inferred = source.infer(infer_files, ArrowTypes())
    else:
        inferred = schema
    raises = _sources.extra_columns(extra_columns, infer_files, schema)
    schema = inferred
    read_part = _Read(source, schema, missing_columns, raises)
    parts = source.parts(partition_rows)
    return dd.from_map(read_part, parts, meta=_frame(schema.empty_table()), label="livebuf")


def _frame(table: Any) -> Any:
    return table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)


class _Read:
    """Reads a partition, in a worker."""

    def __init__(
        self, source: Source, schema: Any, missing_columns: MissingColumns, raises_extra: bool
    ) -> None:
        self.source = source
        self.schema = schema
        self.missing_columns = missing_columns
        self.raises_extra = raises_extra
        # Dask names what it keeps by what this holds: files that changed are other ones.
        self.versions = [_version(path) for path in source.files]

    # Dask asks for the columns that a graph needs by this name.
    def __call__(self, part: Part, columns: list[str] | None = None) -> Any:
        schema = self.schema
        if columns is not None:
            schema = pa.schema([schema.field(name) for name in columns])
        batches: list[Any] = []
        for first, table in self.source.tables(part, BATCH_ROWS):
            if self.missing_columns == "raise" and schema.names:
                self.source.need_columns(part, table, schema.names)
            if self.raises_extra:
                self.source.refuse_extra(part, table, self.schema, ArrowTypes())
            batch = self.source.read(part, first, table, schema, _table)
            if batch is not None:
                batches.append(batch)
        found = pa.concat_tables(batches) if batches else schema.empty_table()
        if schema.names:
            return _frame(found)
        return pd.DataFrame(index=pd.RangeIndex(found.num_rows))


def _version(path: str) -> tuple[int, int] | None:
    if not os.path.isfile(path):
        return None
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size


def _table(batch: Batch) -> Any:
    return pa.table(batch)
