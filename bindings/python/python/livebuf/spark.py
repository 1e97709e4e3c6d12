"""LiveBuf in Spark: documents and logs as a data source, and columns of documents.

    frame = spark.read.format("livebuf").option("table", "/rows").load("folder")
    frame.write.format("livebuf").option("table", "/rows").mode("append").save("other")
    frame.select(livebuf.spark.get("document", "/user/name", "string"))

Needs `pip install './bindings/python[spark]'`, in a checkout, where the driver and the
executors run. Spark finds the source by the module `pyspark_livebuf`, so nothing need be
registered.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

try:
    import pyarrow as pa
    from pyspark import TaskContext  # pyright: ignore[reportMissingImports]
    from pyspark.sql import functions as F  # pyright: ignore[reportMissingImports]
    from pyspark.sql import types as T  # pyright: ignore[reportMissingImports]
    from pyspark.sql.datasource import (  # pyright: ignore[reportMissingImports]
        DataSource,
        DataSourceArrowWriter,
        DataSourceReader,
        InputPartition,
        WriterCommitMessage,
    )
    from pyspark.sql.pandas.types import (  # pyright: ignore[reportMissingImports]
        from_arrow_schema,
        to_arrow_schema,
        to_arrow_type,
    )
except ModuleNotFoundError as error:
    message = (
        f"livebuf.spark needs {error.name}: in a checkout of livebuf, "
        "pip install './bindings/python[spark]'"
    )
    raise ModuleNotFoundError(message, name=error.name) from error

from . import _files, _sources
from ._arrow import ArrowTypes
from ._errors import MissingKeyError, WrongTypeError
from ._livebuf import Document, Table, _write, to_json
from ._sources import DOCUMENT, PART_ROWS, Batch, Part, Source

if TYPE_CHECKING:
    from pyspark.sql import Column  # pyright: ignore[reportMissingImports]

    from ._sources import OnValueError

__all__ = ["DefaultSource", "get", "to_variant"]

# Rows of a batch of Arrow that goes to Spark. Its own default is 10,000.
BATCH_ROWS = 65_536

# The key in a field's metadata that says where JSON is in it, as text.
JSON = "livebuf.json"

OPTIONS = {
    option.lower(): option
    for option in (
        "path",
        "paths",
        "table",
        "columns",
        "extraColumns",
        "inferFiles",
        "missingColumns",
        "mixed",
        "nonFinite",
        "numbers",
        "onError",
        "partitionRows",
        "trusted",
    )
}


class DefaultSource(DataSource):
    """The data source `"livebuf"`: tables in documents and logs.

    Options for reading: `table`, a JSON pointer to the rows of a document (`""`, the root, if you
    give none); `columns`, their names with commas between them, or a JSON array; `partitionRows`,
    most rows of a partition (1,000,000); `inferFiles`, of how many files the schema is inferred
    (`all`, or a number); `missingColumns` (`insert` nulls, or `raise`); `extraColumns`, for
    fields that a file has and the schema has not (`ignore`; `raise`, the default with a number of
    `inferFiles`); `onError` (`raise`, or `skip` damaged files); `nonFinite`, `numbers`
    and `mixed` as in `Table.with_options`; `trusted` (`true` does not validate). Give several
    paths as the option `paths`, a JSON array.

    For writing: `table`. Modes are `append` and `overwrite`.

    An option of another name, or with a wrong value, is a `ValueError`.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = {OPTIONS.get(name.lower(), name): value for name, value in options.items()}
        unknown = sorted(set(self.options) - set(OPTIONS.values()))
        if unknown:
            known = ", ".join(OPTIONS.values())
            raise ValueError(f"livebuf has no option {unknown[0]!r}; its options are {known}")
        self.is_inferred = False

    @classmethod
    def name(cls) -> str:
        return "livebuf"

    def schema(self) -> T.StructType:
        source = self._source()
        schema = source.infer(self._infer_files(), ArrowTypes())
        self.is_inferred = source.is_inferred
        wanted = self._columns()
        if wanted is not None:
            missing = [name for name in wanted if name not in schema.names]
            if missing:
                known = ", ".join(schema.names)
                raise ValueError(f"there is no column {missing[0]!r}; there are {known}")
            schema = pa.schema([schema.field(name) for name in wanted])
        spark: T.StructType = from_arrow_schema(_spark_schema(schema), prefer_timestamp_ntz=True)
        for field, kind in zip(spark.fields, schema.types, strict=True):
            if paths := list(_json_in(kind)):
                field.metadata = {JSON: json.dumps(paths)}
        return spark

    def reader(self, schema: T.StructType) -> DataSourceReader:
        wanted = self._columns()
        if wanted is not None and set(wanted) != set(schema.names):
            raise ValueError(f"the option columns says {wanted}, the schema {schema.names}")
        missing = self.options.get("missingColumns", "insert")
        _sources.one_of("missingColumns", missing, _sources.MissingColumns)
        rows = _count("partitionRows", self.options.get("partitionRows", str(PART_ROWS)))
        extra: Any = self.options.get("extraColumns")
        raises_extra = _sources.extra_columns(extra, self._infer_files(), None)
        # Columns that are chosen leave others out.
        checks = raises_extra and (wanted is None or extra is not None)
        source = self._source()
        source.is_inferred = self.is_inferred
        return _Reader(source, schema, rows, missing == "raise", checks)

    def writer(self, schema: T.StructType, overwrite: bool) -> DataSourceArrowWriter:
        folder = self.options.get("path")
        if folder is None:
            raise ValueError("where to? Give a folder: save(folder)")
        return _Writer(_sources.absolute(folder), self.options.get("table", ""), overwrite)

    def _source(self) -> Source:
        paths: Any = self.options.get("path")
        if "paths" in self.options:
            paths = _strings("paths", self.options["paths"])
        if paths is None:
            raise ValueError("which files? Give a path: load(path)")
        on_error: Any = self.options.get("onError", "raise")
        trusted = self.options.get("trusted", "false").lower()
        if trusted not in ("true", "false"):
            raise ValueError(f"trusted must be true or false, not {trusted!r}")
        files = [_sources.absolute(path) for path in _sources.find(paths)]
        names = {"nonFinite": "non_finite", "numbers": "numbers", "mixed": "mixed"}
        options: Any = {
            name: self.options[option] for option, name in names.items() if option in self.options
        }
        return Source(files, self.options.get("table", ""), on_error, trusted == "true", options)

    def _columns(self) -> list[str] | None:
        text = self.options.get("columns")
        if text is None:
            return None
        if text.startswith("["):
            return _strings("columns", text)
        return [name.strip() for name in text.split(",")]

    def _infer_files(self) -> int | None:
        text = self.options.get("inferFiles", "all")
        return None if text == "all" else _count("inferFiles", text)


def _strings(option: str, text: str) -> list[str]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"{option} must be a JSON array of texts, not {text!r}")
    return found


def _count(option: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{option} must be a number from 1 on, not {text!r}")
    return int(text)


def _spark_schema(schema: Any) -> Any:
    """A schema of Arrow by types that Spark has."""
    return pa.schema([(field.name, _spark_type(field.type)) for field in schema])


def _json_in(kind: Any) -> Iterator[list[str]]:
    """Where JSON of mixed values is in a type. Spark takes it for text."""
    if kind == ArrowTypes.json:
        yield []
    for name, below in ArrowTypes().below(kind):
        yield from ([name, *path] for path in _json_in(below))


def _with_json(kind: Any, paths: list[list[str]]) -> Any:
    """A type with JSON at these places."""
    if [] in paths:
        return ArrowTypes.json

    def below(name: str, kind: Any) -> Any:
        return _with_json(kind, [path[1:] for path in paths if path[0] == name])

    if pa.types.is_list(kind):
        return pa.list_(below("[]", kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, below(field.name, field.type)) for field in kind])
    return kind


def _spark_type(kind: Any) -> Any:
    """The type of Spark's that holds all values: it has no unsigned integers, and no lists of a
    fixed length. UUIDs are 16 bytes. Times of day are texts, since Spark refuses its `TIME` unless
    told otherwise. A column of nulls is one of texts, as in JSON that Spark reads."""
    is_ = pa.types
    if is_.is_struct(kind):
        return pa.struct([(field.name, _spark_type(field.type)) for field in kind])
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind):
        return pa.list_(_spark_type(kind.value_type))
    wider = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.float16(): pa.float32(),
    }
    if kind in wider:
        return wider[kind]
    if is_.is_timestamp(kind):
        return pa.timestamp("us", tz="UTC" if kind.tz else None)
    if is_.is_null(kind) or is_.is_time(kind):
        return pa.string()
    if isinstance(kind, pa.BaseExtensionType):
        return _spark_type(kind.storage_type)
    if is_.is_fixed_size_binary(kind):
        return pa.binary()
    return kind


def _in_utc(convert: Callable[..., Any], dtype: T.DataType) -> Any:
    """What PySpark makes of a type, with timestamps in UTC."""
    try:
        return convert(dtype, timezone="UTC")
    except TypeError:
        # Versions such as 4.1 take no zone: theirs is UTC.
        return convert(dtype)


def _stored(table: Table | _sources.PartialTable, schema: Any, marked: dict[str, Any]) -> Any:
    """The columns of a schema, as the types that Arrow has for a table's values where
    `_spark_type` makes the schema's of them. `marked` says where JSON is in them."""
    fields = []
    for field in schema:
        if field.name in marked:
            fields.append(field.with_type(_with_json(field.type, marked[field.name])))
            continue
        with contextlib.suppress(MissingKeyError):
            kind = pa.schema(table.select([(field.name,)])).field(0).type
            if _spark_type(kind) == field.type:
                field = field.with_type(_storage(kind))
        fields.append(field)
    return pa.schema(fields)


def _storage(kind: Any) -> Any:
    """What a UUID is without its name, which `cast` does not know."""
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _storage(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_storage(kind.value_type))
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


@dataclass
class _Partition(InputPartition):
    part: Part


class _Reader(DataSourceReader):
    def __init__(
        self,
        source: Source,
        schema: T.StructType,
        partition_rows: int,
        raises: bool,
        raises_extra: bool,
    ) -> None:
        self.raises_extra = raises_extra
        self.source = source
        self.schema = schema
        self.partition_rows = partition_rows
        self.raises = raises

    def partitions(self) -> Sequence[InputPartition]:
        return [_Partition(part) for part in self.source.parts(self.partition_rows)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, _Partition)
        part, names = partition.part, self.schema.names
        schema = _in_utc(to_arrow_schema, self.schema)
        marked = {
            one.name: json.loads(one.metadata[JSON]) for one in self.schema if JSON in one.metadata
        }
        asked = None

        def convert(batch: Batch) -> Any:
            nonlocal asked
            asked = asked or _stored(batch.table, schema, marked)
            try:
                found = pa.table(Batch(batch.table, asked))
            except WrongTypeError:
                # Another group of a log may hold other types.
                asked = _stored(batch.table, schema, marked)
                found = pa.table(Batch(batch.table, asked))
            # Spark wants its own names and nullability in nested types, too.
            return found.cast(schema)

        for first, table in self.source.tables(part, BATCH_ROWS):
            if self.raises and names:
                self.source.need_columns(part, table, names)
            if self.raises_extra:
                self.source.refuse_extra(part, table, schema, ArrowTypes())
            found = self.source.read(part, first, table, schema, convert)
            if found is not None:
                yield from found.to_batches()


@dataclass
class _Written(WriterCommitMessage):
    """What a task wrote: the file's name in the folder until the commit, and afterwards."""

    temporary: str
    name: str
    rows: int


class _Writer(DataSourceArrowWriter):
    """Writes a document for each partition. Nobody sees one before the job commits."""

    def __init__(self, folder: str, table: str, overwrite: bool) -> None:
        self.folder = _Folder(folder)
        self.table = table
        self.overwrite = overwrite
        self.job = uuid.uuid4().hex

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        context = TaskContext.get()
        partition = 0 if context is None else context.partitionId()
        batches = list(iterator)
        rows = sum(batch.num_rows for batch in batches)
        name = f"part-{partition:05}-{self.job}{DOCUMENT}"
        if rows == 0:
            return _Written("", name, 0)
        # Each attempt of a task has a file of its own. Readers pass over it by its name.
        temporary = f".{name}.{uuid.uuid4().hex}"
        data = _sources.document_of(pa.Table.from_batches(batches), self.table)
        self.folder.make()
        self.folder.write(temporary, data)
        return _Written(temporary, name, rows)

    def commit(self, messages: list[Any]) -> None:
        old = self.folder.names() if self.overwrite else []
        for message in messages:
            if message is not None and message.rows:
                self.folder.rename(message.temporary, message.name)
        for name in old:
            if name.endswith((DOCUMENT, _sources.LOG)) and name[0] not in "._":
                self.folder.remove(name)
        self._sweep()

    def abort(self, messages: list[Any]) -> None:
        self._sweep()

    def _sweep(self) -> None:
        """Removes what attempts left that failed, or that were one too many."""
        for name in self.folder.names():
            if name.startswith(".part-") and self.job in name:
                self.folder.remove(name)


class _Folder:
    """A folder of a local file system, or of fsspec's."""

    def __init__(self, path: str) -> None:
        self.path = path

    def _where(self) -> tuple[Any, str]:
        if _files.kind(self.path) == "URL":
            return _files.resolve(self.path)
        return None, self.path

    def make(self) -> None:
        fs, path = self._where()
        if fs is None:
            os.makedirs(path, exist_ok=True)
        else:
            fs.makedirs(path, exist_ok=True)

    def write(self, name: str, data: bytes) -> None:
        fs, path = self._where()
        if fs is None:
            _write(os.path.join(path, name), data)
        else:
            _files.put(fs, f"{path}/{name}", f"{self.path}/{name}", data)

    def rename(self, old: str, new: str) -> None:
        fs, path = self._where()
        if fs is None:
            os.replace(os.path.join(path, old), os.path.join(path, new))
        else:
            fs.mv(f"{path}/{old}", f"{path}/{new}")

    def names(self) -> list[str]:
        fs, path = self._where()
        if fs is None:
            return sorted(os.listdir(path)) if os.path.isdir(path) else []
        if not fs.isdir(path):
            return []
        fs.invalidate_cache()
        return sorted(str(found).rpartition("/")[2] for found in fs.ls(path, detail=False))

    def remove(self, name: str) -> None:
        fs, path = self._where()
        with contextlib.suppress(FileNotFoundError):
            if fs is None:
                os.remove(os.path.join(path, name))
            else:
                fs.rm_file(f"{path}/{name}")


def get(
    column: Column | str, pointer: str, dtype: T.DataType | str, on_error: OnValueError = "raise"
) -> Column:
    """The value at a JSON pointer in each document of a binary column, as a type of Spark:
    `get("document", "/user/id", "bigint")`. By an Arrow UDF.

    Nulls, and documents without that value, give null. Damaged documents, and values of another
    type, raise an error that names the row of its batch and the byte, or are null with
    `on_error="null"`. Integers are taken for floats; nothing else is converted.
    """
    _sources.one_of("on_error", on_error, _sources.OnValueError)
    spark_type = T.DataType.fromDDL(dtype) if isinstance(dtype, str) else dtype
    arrow_type = _in_utc(to_arrow_type, spark_type)
    convert = _converter(spark_type)

    def livebuf_get(documents: pa.Array) -> pa.Array:
        found = _sources.values(documents.to_pylist(), pointer, convert, on_error)
        return pa.array(found, type=arrow_type)

    return _udf(livebuf_get, spark_type)(column)


def to_variant(column: Column | str, on_error: OnValueError = "raise") -> Column:
    """Each document of a binary column as a `VARIANT`, by its JSON.

    Each document is validated. A damaged one raises an error that names its row, or is null
    with `on_error="null"`. So does one with infinities or NaN, which JSON lacks.
    """
    _sources.one_of("on_error", on_error, _sources.OnValueError)

    def livebuf_to_json(documents: pa.Array) -> pa.Array:
        found = _sources.each(documents.to_pylist(), _text, "", on_error)
        return pa.array(found, type=pa.string())

    return F.parse_json(_udf(livebuf_to_json, T.StringType())(column))


def _udf(function: Callable[[Any], Any], dtype: T.DataType) -> Callable[..., Column]:
    # Spark reads the hints, which are text here.
    function.__annotations__ = {"documents": pa.Array, "return": pa.Array}
    made: Callable[..., Column] = F.arrow_udf(function, dtype)
    return made


def _text(doc: Document) -> str:
    doc.validate()
    return to_json(doc).decode()


_BITS = {T.ByteType: 8, T.ShortType: 16, T.IntegerType: 32, T.LongType: 64}
_KINDS: dict[type[T.DataType], type] = {
    T.StringType: str,
    T.BooleanType: bool,
    T.BinaryType: bytes,
    T.DateType: date,
    T.TimestampType: datetime,
    T.TimestampNTZType: datetime,
    T.DecimalType: Decimal,
}


def _converter(dtype: T.DataType) -> Callable[[Any], Any]:
    """Takes the values that a column of this type can hold."""
    bits = _BITS.get(type(dtype))
    if bits is not None:
        return _sources.integer(-(1 << bits - 1), (1 << bits - 1) - 1)
    if isinstance(dtype, (T.FloatType, T.DoubleType)):
        return _sources.number
    kind = _KINDS.get(type(dtype))
    if kind is not None:
        return _sources.exactly(kind)
    arrow_type = _in_utc(to_arrow_type, dtype)

    def convert(value: Any) -> Any:
        found = _sources.plain(value)
        # Refuses what does not fit, with errors that are `TypeError` or `ValueError`.
        pa.scalar(found, type=arrow_type)
        return found

    return convert
