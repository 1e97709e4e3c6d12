"""Schemas of pyarrow, for Dask and Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ._sources import Batch, Number, Schema, Types

_IS = pa.types
# Types of one kind, of which the finer or larger one has the values of both.
_KINDS = (
    lambda kind: _IS.is_string(kind) or _IS.is_large_string(kind) or _IS.is_dictionary(kind),
    lambda kind: _IS.is_binary(kind) or _IS.is_large_binary(kind),
    _IS.is_date,
    _IS.is_time,
    _IS.is_duration,
    lambda kind: _IS.is_timestamp(kind) and kind.tz is None,
    lambda kind: _IS.is_timestamp(kind) and kind.tz is not None,
)


class ArrowTypes(Types):
    text, null, json = pa.string(), pa.null(), pa.json_(pa.string())

    def schema(self, schema: Schema) -> Any:
        return pa.schema(schema)

    def frame(self, batch: Batch) -> Any:
        return pa.table(batch)

    def fields(self, kind: Any) -> list[tuple[str, Any]] | None:
        if isinstance(kind, pa.Schema) or _IS.is_struct(kind):
            return [(field.name, field.type) for field in kind]
        return None

    def element(self, kind: Any) -> Any:
        is_list = isinstance(kind, pa.DataType) and (
            _IS.is_list(kind) or _IS.is_large_list(kind) or _IS.is_fixed_size_list(kind)
        )
        return kind.value_type if is_list else None

    def columns(self, fields: dict[str, Any]) -> Any:
        return pa.schema(list(fields.items()))

    def struct(self, fields: dict[str, Any]) -> Any:
        return pa.struct(list(fields.items()))

    def list_of(self, element: Any) -> Any:
        return pa.list_(element)

    def number(self, kind: Any) -> Number | None:
        if _IS.is_integer(kind):
            return "int" if _IS.is_signed_integer(kind) else "uint", kind.bit_width
        if _IS.is_floating(kind):
            return "float", kind.bit_width
        return ("decimal", kind.scale) if _IS.is_decimal(kind) else None

    def of_number(self, number: Number) -> Any:
        kind, size = number
        if kind == "decimal":
            return pa.decimal128(38, size)
        return pa.type_for_alias(f"{kind}{size}")

    def relaxed(self, one: Any, two: Any) -> Any:
        for is_kind in _KINDS:
            if is_kind(one) and is_kind(two):
                if _IS.is_dictionary(one) or _IS.is_dictionary(two):
                    return self.text
                pair = [pa.schema([pa.field("", kind)]) for kind in (one, two)]
                return pa.unify_schemas(pair, promote_options="permissive").field(0).type
        return None
