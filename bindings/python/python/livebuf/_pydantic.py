"""Documents and views as fields of pydantic models."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ._livebuf import Array, Document, Object

_JSON_TYPES = {Object: "object", Array: "array"}


def core_schema(cls: type[Any]) -> Any:
    """The core schema of a field: takes a view as it is, and makes one of a dict or list."""
    schemas = import_module("pydantic_core.core_schema")

    def view(value: Any) -> Any:
        if isinstance(value, cls):
            return value
        if cls is Object and isinstance(value, Mapping):
            return Document.from_python(value).root
        if cls is Array and isinstance(value, (list, tuple)):
            return Document.from_python(value).root
        raise ValueError(f"livebuf.{cls.__name__} is wanted, not {type(value).__name__}")

    plain = schemas.plain_serializer_function_ser_schema(lambda value: value.to_python())
    # By this `dumps` knows that it stores the field itself.
    mark = {"livebuf": True}
    return schemas.no_info_plain_validator_function(view, serialization=plain, metadata=mark)


def json_schema(cls: type[Any]) -> dict[str, Any]:
    """The JSON schema of a field."""
    return {"type": _JSON_TYPES[cls]} if cls in _JSON_TYPES else {}
