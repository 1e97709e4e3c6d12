"""Parquet files, by the package `livebuf-parquet`."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any, Literal

from . import _files
from ._errors import DamagedError, EncodeError, MissingKeyError, ParquetError
from ._livebuf import Document, _restore, dumps

if TYPE_CHECKING:
    from _typeshed import SupportsRead, SupportsWrite


def library() -> Any:
    """The package that has the Parquet library."""
    try:
        return importlib.import_module("livebuf_parquet")
    except ModuleNotFoundError as error:
        message = (
            "Parquet needs livebuf-parquet: in a checkout of livebuf, "
            "pip install ./bindings/parquet"
        )
        raise ModuleNotFoundError(message, name=error.name) from error


def to_parquet(
    obj: Any,
    file: str | os.PathLike[str] | SupportsWrite[bytes],
    *,
    table: str | None = None,
    variant: bool = False,
    shred: bool = True,
    lossy: bool = False,
    compression: Literal["none", "snappy", "zstd"] = "snappy",
) -> None:
    """Writes a document, a view or plain Python objects to a Parquet file: a path, a URL of
    fsspec, or a file object that is open for writing in binary mode.

    An array of objects becomes columns of Parquet's types, and its columns of mixed values
    Variants. An array of other values becomes one column, `value`. What is no array becomes one
    Variant, in one row. With `table`, what is at this JSON pointer is written; the members of an
    object there are rows, with their keys in a column `key`. With `variant=True` each row is one
    Variant.

    What most Variants of a column have in common is stored as columns of its own, unless
    `shred=False`. Then the order of keys in Variants is kept. Values that Variant has no place
    for raise `EncodeError`, such as numbers of 40 digits. `lossy=True` writes the nearest value.

    Needs `pip install ./bindings/parquet`, in a checkout.
    """
    parquet = library()
    data = bytes(obj) if isinstance(obj, Document) else dumps(obj)
    try:
        payload = parquet.to_parquet(data, table, variant, shred, lossy, compression)
    except KeyError as error:
        raise MissingKeyError(error.args[0], 25, "NotFound") from None
    except TypeError as error:
        raise EncodeError(error.args[0], 33, "Unsupported") from None
    except parquet.DamagedError as error:
        raise DamagedError(*error.args) from None
    _files.dump(file, payload)


def from_parquet(
    file: str | os.PathLike[str] | SupportsRead[bytes], *, skip_nulls: bool = False
) -> Document:
    """The document of a Parquet file: an array with an object for each row. The file is a path, a
    URL of fsspec, or a file object that is open for reading in binary mode.

    What `to_parquet` made of one value, or of an array of other values than objects, becomes that
    again. Fields that are null stay, unless `skip_nulls=True`. Raises `ParquetError` for a file
    that is damaged, or has types that no document has.

    Needs `pip install ./bindings/parquet`, in a checkout.
    """
    parquet = library()
    data = _files.load(file)
    try:
        return _restore(parquet.from_parquet(data, skip_nulls))
    except (ValueError, TypeError) as error:
        raise ParquetError(*error.args) from None
