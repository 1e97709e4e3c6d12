"""Tables as frames of pandas and polars."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _needed(name: str, call: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        message = f"{call}() needs {name}: pip install {name}"
        raise ModuleNotFoundError(message, name=name) from error


def to_pandas(table: Any) -> Any:
    """A `pandas.DataFrame` with Arrow's types."""
    pandas = _needed("pandas", "to_pandas")
    found = _needed("pyarrow", "to_pandas").table(table)
    return found.to_pandas(types_mapper=pandas.ArrowDtype, ignore_metadata=True)


def to_polars(table: Any) -> Any:
    """A `polars.DataFrame`."""
    return _needed("polars", "to_polars").DataFrame(table)
