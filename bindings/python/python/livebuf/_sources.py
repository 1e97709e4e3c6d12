"""Tables in many files, for engines: which files there are, their rows in parts, columns by Arrow.

`livebuf.polars`, `livebuf.dask` and `livebuf.spark` are thin layers over this.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, TypeVar, get_args

from . import _files
from ._errors import DamagedError, Error, MissingKeyError, WrongTypeError
from ._livebuf import Document, Log, LogColumns, Partial, Table, dumps, from_arrow

if TYPE_CHECKING:
    Path = str | os.PathLike[str]
    Paths = Path | Sequence[Path]

T = TypeVar("T")

OnFileError = Literal["raise", "skip"]
OnValueError = Literal["raise", "null"]
MissingColumns = Literal["insert", "raise"]
ExtraColumns = Literal["raise", "ignore"]
Numbers = Literal["raise", "decimal", "text", "float"]
Mixed = Literal["text", "json", "raise"]
NonFinite = Literal["error", "null"]


class Options(TypedDict, total=False):
    """Options of exports to Arrow: see `Table.with_options`."""

    non_finite: NonFinite
    numbers: Numbers
    mixed: Mixed


_VALUES = {"non_finite": NonFinite, "numbers": Numbers, "mixed": Mixed}


DOCUMENT, LOG = ".lbuf", ".lblog"

# Rows of a part, where a caller says nothing. A part is a task of Dask or Spark.
PART_ROWS = 1_000_000


def one_of(name: str, value: object, known: object) -> None:
    """Refuses an option that is none of a `Literal`'s."""
    if value not in get_args(known):
        choices = " or ".join(repr(choice) for choice in get_args(known))
        raise ValueError(f"{name} must be {choices}, not {value!r}")


def positive(name: str, value: int | None) -> None:
    """Refuses a count below 1."""
    if value is not None and value < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")


# ---- Which files ------------------------------------------------------------------------------


def find(paths: Paths) -> list[str]:
    """The files that paths, folders, globs and URLs of fsspec stand for, in order.

    Of a folder: all documents and logs in it and in folders below, by their extensions, sorted.
    Names that begin with "." or "_" are passed over, as Spark does. A glob stands for the files
    that it matches, or, if it matches folders only, for what is in these. Raises
    `FileNotFoundError` where a path, a folder or a glob has none.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise ValueError("no paths were given")
    return [found for path in given for found in _found(os.fspath(path))]


def _found(path: str) -> list[str]:
    if _files.kind(path) == "URL":
        fs, inner = _files.resolve(path)
        if fs is not None:
            return _found_remote(fs, inner, path)
        path = inner
    if os.path.isdir(path):
        found = _below(path)
    elif glob.has_magic(path) and not os.path.exists(path):
        matches = glob.glob(path, recursive=True)
        found = [name for name in matches if os.path.isfile(name)]
        if not found:
            found = list({name for folder in matches for name in _below(folder)})
    else:
        found = [path] if os.path.exists(path) else []
    return _some(sorted(found), path)


def _below(folder: str) -> list[str]:
    below = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
    return [name for name in below if _is_wanted(os.path.relpath(name, folder))]


def _found_remote(fs: Any, inner: str, url: str) -> list[str]:
    protocol = url[: url.index("://") + 3]
    if glob.has_magic(inner):
        matches = fs.glob(inner)
        found = [name for name in matches if not fs.isdir(name)]
        if not found:
            found = list({name for folder in matches for name in _below_remote(fs, folder)})
    elif fs.isdir(inner):
        found = _below_remote(fs, inner)
    else:
        return _some([url] if fs.exists(inner) else [], url)
    return _some([protocol + str(name).lstrip("/") for name in sorted(found)], url)


def _below_remote(fs: Any, folder: str) -> list[str]:
    below = [(name, str(name)[len(folder) :].lstrip("/")) for name in fs.find(folder)]
    return [name for name, relative in below if _is_wanted(relative)]


def _some(found: list[str], path: str) -> list[str]:
    if not found:
        raise FileNotFoundError(f"{path}: no document (*{DOCUMENT}) or log (*{LOG}) is there")
    return found


def _is_wanted(relative: str) -> bool:
    parts = relative.replace(os.sep, "/").split("/")
    return relative.endswith((DOCUMENT, LOG)) and not any(part[0] in "._" for part in parts if part)


def absolute(path: str) -> str:
    """The path as other processes know it, which have other working directories."""
    return path if _files.kind(path) == "URL" else os.path.abspath(path)


# ---- The rows of a file -----------------------------------------------------------------------


class Schema:
    """What a producer of Arrow says of its columns."""

    def __init__(self, producer: Any) -> None:
        self.producer = producer

    def __arrow_c_schema__(self) -> object:
        return self.producer.__arrow_c_schema__()


class Batch:
    """Rows of a table for a consumer of Arrow: the columns of `schema`, as its types, and no
    others. Columns that the table lacks are null."""

    def __init__(self, table: Table | PartialTable, schema: Any) -> None:
        self.table = table
        self.schema = schema

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        # A method in polars, an attribute in pyarrow.
        names: Any = self.schema.names
        names = names() if callable(names) else names
        selected = self.table.select([(name,) for name in names])
        try:
            return selected.__arrow_c_stream__(self.schema.__arrow_c_schema__())
        except MissingKeyError:
            # The whole table knows what to put there; it validates its other columns, too.
            return self.table.__arrow_c_stream__(self.schema.__arrow_c_schema__())


class PartialTable:
    """A table of a document elsewhere. Each export fetches what it needs of it."""

    def __init__(self, part: Partial, find: Callable[[Document], Table]) -> None:
        self.part = part
        self.find = find

    def _read(self, look: Callable[[Table], T]) -> T:
        found: T = self.part.read(lambda doc: look(self.find(doc)))
        return found

    def __len__(self) -> int:
        return self._read(len)

    def slice(self, start: int, stop: int) -> PartialTable:
        return PartialTable(self.part, lambda doc: self.find(doc).slice(start, stop))

    def select(self, columns: Any) -> PartialTable:
        return PartialTable(self.part, lambda doc: self.find(doc).select(columns))

    def with_options(self, **options: Any) -> PartialTable:
        return PartialTable(self.part, lambda doc: self.find(doc).with_options(**options))

    def __arrow_c_schema__(self) -> object:
        return self._read(lambda table: table.__arrow_c_schema__())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._read(lambda table: table.__arrow_c_stream__(requested_schema))


# A table that was not read yet, and the number of its first row.
Unread = tuple[int, Callable[[], Table | PartialTable]]


class Rows(ABC):
    """The rows of a document's table, or of a log. Holds the file open."""

    def __init__(
        self, path: str, num_rows: int, producer: Table | PartialTable | LogColumns
    ) -> None:
        self.path = path
        self.num_rows = num_rows
        self.schema = Schema(producer)

    @abstractmethod
    def tables(self, start: int, stop: int, *, skips: bool = False) -> Iterator[Unread]:
        """These rows: tables, not read yet, each with the number of its first row. With `skips`
        what is damaged comes apart from the rest, where that is possible."""

    def schemas(self, skips: bool) -> Iterator[Callable[[], Schema]]:
        """What to infer the columns from. With `skips` parts are by themselves, as in `tables`."""
        yield lambda: self.schema


def table_at(doc: Document, pointer: str) -> Table:
    """The table of the array or object at a pointer."""
    found = doc.pointer(pointer)
    if not hasattr(found, "table"):
        kind = type(found).__name__
        raise WrongTypeError(f"the value at {pointer!r} is no array or object but {kind}")
    table: Table = found.table
    return table


class OfDocument(Rows):
    """An array or object of a document. Opening takes constant time."""

    def __init__(self, path: str, table: Table | PartialTable) -> None:
        self.table = table
        super().__init__(path, len(table), table)

    def tables(self, start: int, stop: int, *, skips: bool = False) -> Iterator[Unread]:
        if start < stop:
            yield start, lambda: self.table.slice(start, stop)


class OfLog(Rows):
    """The rows of a log. A read takes the groups that it needs into memory."""

    def __init__(self, path: str, log: Log, trusted: bool, options: Options) -> None:
        self.log = log
        self.trusted = trusted
        self.options = options
        super().__init__(path, len(log), log.with_options(**options))

    def tables(self, start: int, stop: int, *, skips: bool = False) -> Iterator[Unread]:
        for index, (first, end) in enumerate(self.log._groups()):
            low, high = max(start, first), min(stop, end)
            if low >= high:
                continue
            read = functools.partial(self._part, index, low - first, high - first)
            if not skips:
                yield low, read
                continue
            try:
                yield low, functools.partial(_same, read())
            except DamagedError as error:
                yield from self._sound(index, start, stop, error)

    def _part(self, index: int, start: int, stop: int) -> Table:
        return self._table(self.log._group(index, self.trusted), start, stop)

    def _table(self, found: Document | Exception, start: int, stop: int) -> Table:
        if isinstance(found, Exception):
            raise found
        table: Table = found.root.table
        return table.slice(start, stop).with_options(**self.options)

    def _sound(self, index: int, start: int, stop: int, error: DamagedError) -> Iterator[Unread]:
        """What can be read of a damaged group, and errors for the rest. Rows that are in no full
        group yet lie in frames of their own."""
        parts = self.log._sound(index) or [(start, stop, error)]
        for first, end, found in parts:
            low, high = max(start, first), min(stop, end)
            if low < high:
                yield low, functools.partial(self._table, found, low - first, high - first)

    def schemas(self, skips: bool) -> Iterator[Callable[[], Schema]]:
        if not skips:
            yield from super().schemas(skips)
            return
        for _, read in self.tables(0, self.num_rows, skips=True):
            yield functools.partial(_schema_of, read)


def _same(table: Table) -> Table:
    return table


def _schema_of(read: Callable[[], Table | PartialTable]) -> Schema:
    return Schema(read())


def open_rows(path: str, table: str, trusted: bool, options: Options) -> Rows:
    """Opens a file for reading: mapped where it is local; at a URL what is needed is fetched."""
    with named(path):
        file = path
        if _files.kind(path) == "URL":
            fs, file = _files.resolve(path)
            if fs is not None:
                source: Any = _files.OfUrl(fs, file, path)
                try:
                    part = Partial(source)
                except DamagedError:
                    if _is_log(source.read(0, min(4, source.size))):
                        return OfLog(path, Log._elsewhere(source, path), trusted, options)
                    raise
                found = PartialTable(part, lambda doc: table_at(doc, table))
                return OfDocument(path, found.with_options(**options))
        with open(file, "rb") as opened:
            is_log = _is_log(opened.read(4))
        if is_log:
            return OfLog(path, Log(file), trusted, options)
        from . import open as open_document

        local = table_at(open_document(file, trusted=trusted), table)
        return OfDocument(path, local.with_options(**options))


def _is_log(magic: bytes) -> bool:
    return magic == b"\xab\x4cBL"


# ---- Errors that name the file ----------------------------------------------------------------


@contextlib.contextmanager
def named(
    path: str, rows: tuple[int, int] | None = None, is_inferred: bool = False
) -> Iterator[None]:
    """Errors in the block say which file, and which of its rows, they are about. Whether the
    schema was inferred from all files decides what helps where numbers do not fit it."""
    where = path if rows is None else f"{path}, rows {rows[0]} to {rows[1]}"
    try:
        yield
    except Error as error:
        message = str(error.args[0]) if error.args else ""
        # What a log says of its damage has the path.
        message = message.removeprefix(f"{path}: ")
        error.args = (f"{where}: {message}", *error.args[1:])
        raise
    except OSError:
        # These name it.
        raise
    except Exception as error:
        # What a consumer of Arrow makes of an error in the stream.
        message = f"{where}: {error}{_hint(str(error), is_inferred)}"
        raise WrongTypeError(message, 24, "WrongType") from error


# Values of `numbers`: for integers; for what no decimal holds; for floats, which may not be finite.
_ANY = '"decimal", "text", or "float", which rounds'
_NO_DECIMAL = '"text", or "float", which rounds'
_IF_NOT_FINITE = ', with non_finite="null" if NaN or infinities are among them'
_FLOATS = f'"float", which rounds, or to "text"{_IF_NOT_FINITE}'
_ANY_FLOATS = f'{_FLOATS}, or to "decimal" if none are and 38 digits are enough'


def _hint(message: str, is_inferred: bool) -> str:
    """What to set where a number does not fit the type of its column."""
    number = r"(the decimal )?-?[\d.]\S*"
    kind = r"(?P<kind>float|uint|decimal)[^ ]*( \d+\))?"
    found = re.search(f": {number} does not fit {kind}$", message)
    if found is None:
        return ""
    if is_inferred:
        values = {"float": _ANY_FLOATS, "uint": _ANY, "decimal": _NO_DECIMAL}[found["kind"]]
        return f"; set numbers= to {values}"
    return '; numbers="float" rounds it' if found["kind"] == "float" else ""


def guarded(work: Callable[[], T], on_error: OnFileError) -> T | None:
    """What the work gives. With "skip", `None` and a warning where a file is damaged or has no
    such table. A file that is missing or locked is always an error."""
    try:
        return work()
    except Error as error:
        if on_error == "raise":
            raise
        warnings.warn(f"skipped: {error.args[0]}", RuntimeWarning, stacklevel=2)
        return None


# ---- All files --------------------------------------------------------------------------------


class Part(NamedTuple):
    """Some rows of a file: what one task reads. `stop` is `None` for all rows there are."""

    path: str
    start: int
    stop: int | None


class Source:
    """The table in each of some files. It can be pickled, and opens files only to read."""

    def __init__(
        self,
        files: list[str],
        table: str,
        on_error: OnFileError,
        trusted: bool,
        options: Options | None = None,
    ) -> None:
        one_of("on_error", on_error, OnFileError)
        self.options = options or Options()
        for name, value in self.options.items():
            one_of(name, value, _VALUES[name])
        self.files = files
        self.table = table
        self.on_error: OnFileError = on_error
        self.trusted = trusted
        self.is_inferred = False

    def rows(self, path: str) -> Rows | None:
        return guarded(
            lambda: open_rows(path, self.table, self.trusted, self.options), self.on_error
        )

    def infer(self, infer_files: int | None, types: Types) -> Any:
        """The columns of all files, or of the first ones that have rows, as the engine has them;
        none where no file has rows. They are inferred from all rows of each file. Raises
        `WrongTypeError` where two of one name have no type in common."""
        positive("infer_files", infer_files)
        joined = Joined(self, types)
        self.is_inferred = infer_files is None
        seen = 0
        for path in self.files:
            if seen == infer_files:
                break
            rows = self.rows(path)
            if rows is None or rows.num_rows == 0:
                continue
            there = False
            for look in rows.schemas(self.on_error == "skip"):

                def work(path: str = path, look: Callable[[], Schema] = look) -> Any:
                    with named(path):
                        return types.schema(look())

                schema = guarded(work, self.on_error)
                if schema is not None:
                    there = True
                    with named(path):
                        joined.add(schema)
            seen += there
        return joined.schema()

    def parts(self, part_rows: int | None = PART_ROWS) -> list[Part]:
        """All rows: those of large local files in parts of at most so many rows. A file at a URL
        is one part: each part would fetch whole columns."""
        positive("rows of a part", part_rows)
        parts: list[Part] = []
        for path in self.files:
            if part_rows is None or (_files.kind(path) == "URL" and _files.resolve(path)[0]):
                parts.append(Part(path, 0, None))
                continue
            rows = self.rows(path)
            if rows is not None:
                bounds = range(0, rows.num_rows, part_rows)
                parts += [
                    Part(path, start, min(start + part_rows, rows.num_rows)) for start in bounds
                ]
        # Engines want one, if it has no rows.
        return parts or [Part(self.files[0], 0, 0)]

    def tables(self, part: Part, batch_rows: int) -> Iterator[tuple[int, Table | PartialTable]]:
        """The rows of a part, in tables of at most so many rows, with each one's first row."""
        rows = self.rows(part.path)
        if rows is None:
            return
        stop = rows.num_rows if part.stop is None else min(part.stop, rows.num_rows)
        for first, read in rows.tables(part.start, stop, skips=self.on_error == "skip"):

            def work(read: Callable[[], Table | PartialTable] = read) -> Table | PartialTable:
                with named(part.path):
                    return read()

            table = guarded(work, self.on_error)
            if table is not None:
                for start in range(0, len(table), batch_rows):
                    yield first + start, table.slice(start, start + batch_rows)

    def read(
        self,
        part: Part,
        first: int,
        table: Table | PartialTable,
        schema: Any,
        convert: Callable[[Batch], T],
    ) -> T | None:
        """The columns of a schema, as the engine has them; `None` where they are skipped."""

        def work() -> T:
            with named(part.path, (first, first + len(table)), self.is_inferred):
                return convert(Batch(table, schema))

        return guarded(work, self.on_error)

    def need_columns(self, part: Part, table: Table | PartialTable, names: Iterable[str]) -> None:
        """Raises `MissingKeyError` where no row of the table has one of the columns."""
        with named(part.path):
            table.select([(name,) for name in names]).__arrow_c_schema__()

    def refuse_extra(
        self,
        part: Part,
        table: Table | PartialTable,
        schema: Any,
        types: Types,
    ) -> None:
        """Raises `WrongTypeError` where a table has a field that the schema has not, within
        objects, too."""
        with named(part.path):
            found = types.schema(Schema(table))
        extra = _extra(found, schema, types.below)
        if extra is not None:
            with named(part.path):
                raise WrongTypeError(
                    f"column {extra!r} is not in the schema: infer it from all files, or leave the "
                    'column out by extra_columns="ignore"',
                    24,
                    "WrongType",
                )


def extra_columns(given: ExtraColumns | None, infer_files: int | None, schema: object) -> bool:
    """Whether fields beyond the schema are refused. Who gave a schema has said which to read."""
    if given is not None:
        one_of("extra_columns", given, ExtraColumns)
        return given == "raise"
    return schema is None and infer_files is not None


def _extra(
    found: Any, known: Any, fields: Callable[[Any], Iterable[tuple[str, Any]]]
) -> str | None:
    below = dict(fields(known))
    for name, kind in fields(found):
        if name not in below:
            return name
        deeper = _extra(kind, below[name], fields)
        if deeper is not None:
            return f"{name}.{deeper}"
    return None


# ---- Schemas of several files -------------------------------------------------------------------


# What a type of numbers is: "int", "uint" or "float" with its bits, or "decimal" with its scale.
Number = tuple[str, int]


class Types(ABC):
    """Schemas and types of an engine."""

    text: Any
    null: Any
    json: Any

    @abstractmethod
    def schema(self, schema: Schema) -> Any:
        """The engine's schema."""

    @abstractmethod
    def frame(self, batch: Batch) -> Any:
        """The engine's rows."""

    @abstractmethod
    def fields(self, kind: Any) -> list[tuple[str, Any]] | None:
        """The fields of a schema or a struct; `None` for other types."""

    @abstractmethod
    def element(self, kind: Any) -> Any:
        """The type of a list's elements; `None` for other types."""

    @abstractmethod
    def columns(self, fields: dict[str, Any]) -> Any:
        """A schema."""

    @abstractmethod
    def struct(self, fields: dict[str, Any]) -> Any: ...

    @abstractmethod
    def list_of(self, element: Any) -> Any: ...

    @abstractmethod
    def number(self, kind: Any) -> Number | None:
        """What a type of numbers is; `None` for other types."""

    @abstractmethod
    def of_number(self, number: Number) -> Any: ...

    @abstractmethod
    def relaxed(self, one: Any, two: Any) -> Any:
        """The type that holds texts, times or durations of both types; `None` where they are of
        several kinds."""

    def below(self, kind: Any) -> list[tuple[str, Any]]:
        """The fields of a schema or a struct; of a list its elements."""
        element = self.element(kind)
        return [("[]", element)] if element is not None else self.fields(kind) or []


class Struct(NamedTuple):
    """Objects of several files."""

    fields: dict[str, Any]


class Elements(NamedTuple):
    """Lists of several files."""

    element: Any


class Several(NamedTuple):
    """Numbers of several types."""

    numbers: frozenset[Number]


class Joined:
    """The columns of several files: the types that one file with all of the rows had."""

    def __init__(self, source: Source, types: Types) -> None:
        self.source = source
        self.types = types
        self.numbers = source.options.get("numbers", "raise")
        self.mixed = source.options.get("mixed", "text")
        self.found = Struct({})

    def add(self, schema: Any) -> None:
        self.found = self._joined("", self.found, dict(self.types.fields(schema) or ()))

    def _joined(self, above: str, one: Struct, two: dict[str, Any]) -> Struct:
        fields = dict(one.fields)
        for name, kind in two.items():
            known = fields.get(name)
            wider = kind if known is None else self._wider(above + name, known, kind)
            fields[name] = wider
        return Struct(fields)

    def _wider(self, name: str, one: Any, two: Any) -> Any:
        """What has the values of both."""
        types, found, before = self.types, (Struct, Elements, Several), one
        if not isinstance(one, found):
            if one == two or two == types.null:
                return one
            if one == types.null:
                return two
            if (fields := types.fields(one)) is not None and two != types.json:
                one = Struct(dict(fields))
            elif (element := types.element(one)) is not None:
                one = Elements(element)
            elif (number := types.number(one)) is not None:
                one = Several(frozenset([number]))
        elif two == types.null:
            return one
        fields, element, number = types.fields(two), types.element(two), types.number(two)
        if isinstance(one, Struct) and fields is not None:
            return self._joined(f"{name}.", one, dict(fields))
        if isinstance(one, Elements) and element is not None:
            return Elements(self._wider(f"{name}[]", one.element, element))
        if isinstance(one, Several) and number is not None:
            several = Several(one.numbers | {number})
            if self.numbers == "raise" and {"decimal", "float"} <= _kinds(several):
                raise self._differ(name, before, two, "numbers", _ANY_FLOATS)
            return several
        if types.json in (one, two) and (fields is not None or isinstance(one, Struct)):
            return types.json
        if not isinstance(one, found) and (relaxed := types.relaxed(one, two)) is not None:
            return relaxed
        if self.mixed == "raise":
            raise self._differ(name, before, two, "mixed", f'"text" or "json"{_IF_NOT_FINITE}')
        return types.json if self.mixed == "json" else types.text

    def _differ(self, name: str, one: Any, two: Any, option: str, values: str) -> WrongTypeError:
        before = "numbers" if isinstance(one, Several) else self._kind(one, {}, name)
        message = (
            f"column {name!r} is {before} in files before, and {two} here: set {option}= to "
            f"{values}, or give a schema"
        )
        return WrongTypeError(message, 24, "WrongType")

    def schema(self) -> Any:
        """The engine's schema of all."""
        chosen: dict[str, Any] = {}
        open_: list[tuple[str, str, Several]] = []

        def look(column: str, name: str, kind: Any) -> None:
            if isinstance(kind, Several):
                open_.append((column, name, kind))
            elif isinstance(kind, Struct):
                for key, below in kind.fields.items():
                    look(column, f"{name}.{key}", below)
            elif isinstance(kind, Elements):
                look(column, f"{name}[]", kind.element)

        for column, kind in self.found.fields.items():
            look(column, column, kind)
        for column, name, several in open_:
            for kind, is_looked_at in self._candidates(several):
                chosen[name] = kind
                if not is_looked_at or self._fits(column, chosen):
                    break
            else:
                what, values = "numbers have", _NO_DECIMAL
                if "float" in _kinds(several):
                    what, values = "numbers are NaN or infinite, or have", _FLOATS
                raise WrongTypeError(
                    f"column {name!r}: {what} more digits together than the 38 of a decimal; "
                    f"set numbers= to {values}",
                    24,
                    "WrongType",
                )
        kinds = self.found.fields.items()
        return self.types.columns({name: self._kind(kind, chosen, name) for name, kind in kinds})

    def _candidates(self, several: Several) -> Iterator[tuple[Any, bool]]:
        """Types to take for numbers, the first that holds them; whether that is to be looked at."""
        option, kinds, of = self.numbers, _kinds(several), self.types.of_number

        def most(kind: str) -> int:
            return max((bits for known, bits in several.numbers if known == kind), default=0)

        integer = ("int", max(most("int"), 2 * most("uint")))
        if "int" not in kinds:
            integer = ("uint", most("uint"))
        scale = most("decimal")
        if kinds == {"float"}:
            yield of(("float", most("float"))), False
        elif "float" in kinds and ("decimal" not in kinds or option == "float"):
            may_round = integer[1] > 32 and option in ("decimal", "text")
            yield of(("float", 64)), may_round
        elif "float" not in kinds and "decimal" in kinds:
            yield of(("decimal", scale)), option in ("text", "float")
            if option == "float":
                yield of(("float", 64)), False
        elif "float" not in kinds and integer[1] <= 64:
            yield of(integer), False
        elif "float" not in kinds:
            yield of(("uint", 64)), option != "raise"
            if option == "float":
                yield of(("float", 64)), False
        if option == "text":
            yield self.types.text, False
        for digits in range(scale, 39):
            yield of(("decimal", digits)), True

    def _fits(self, column: str, chosen: dict[str, Any]) -> bool:
        """Whether the column of all files has these types. What was not chosen yet is text."""
        kind = self._kind(self.found.fields[column], chosen, column)
        schema = self.types.columns({column: kind})
        source = self.source
        for path in source.files:
            for _, table in source.tables(Part(path, 0, None), 1 << 17):
                try:
                    self.types.frame(Batch(table, schema))
                except Exception:
                    return False
        return True

    def _kind(self, kind: Any, chosen: dict[str, Any], name: str) -> Any:
        """The engine's type."""
        if isinstance(kind, Struct):
            fields = kind.fields.items()
            below = {key: self._kind(one, chosen, f"{name}.{key}") for key, one in fields}
            return self.types.struct(below)
        if isinstance(kind, Elements):
            return self.types.list_of(self._kind(kind.element, chosen, f"{name}[]"))
        return chosen.get(name, self.types.text) if isinstance(kind, Several) else kind


def _kinds(several: Several) -> set[str]:
    return {kind for kind, _ in several.numbers}


# ---- Columns of documents ---------------------------------------------------------------------


NULL = dumps(None)


def each(
    documents: Iterable[Any],
    look: Callable[[Document], Any],
    pointer: str,
    on_error: OnValueError,
) -> list[Any]:
    """What `look` finds in each of the documents; `None` for no document.

    Its `Error`, `TypeError`, `ValueError` and `OverflowError` are about the row.
    """
    found: list[Any] = []
    for row, data in enumerate(documents):
        value = None
        if data is not None:
            try:
                value = look(Document(data))
            except (Error, TypeError, ValueError, OverflowError) as error:
                if on_error == "raise":
                    raise in_row(row, pointer, error) from error
        found.append(value)
    return found


def values(
    documents: Iterable[Any],
    pointer: str,
    convert: Callable[[Any], Any],
    on_error: OnValueError,
) -> list[Any]:
    """The value at a pointer in each of the documents; `None` for no document or no value.

    `convert` refuses values of another type by `TypeError`, `ValueError` or `OverflowError`.
    """
    # A malformed pointer is the caller's mistake, whatever the rows hold.
    Document(NULL).pointer(pointer, None)

    def look(doc: Document) -> Any:
        value = doc.pointer(pointer, None)
        return None if value is None else convert(value)

    return each(documents, look, pointer, on_error)


def in_row(row: int, pointer: str, error: Exception) -> Error:
    """The error, saying in which row of a column it came up."""
    where = f"row {row}, at {pointer!r}"
    if isinstance(error, Error):
        kind = type(error) if type(error).__init__ is Error.__init__ else Error
        return kind(f"{where}: {error.args[0]}", error.code, error.kind, error.offset)
    return WrongTypeError(f"{where}: {error}", 24, "WrongType")


def integer(low: int, high: int) -> Callable[[Any], int]:
    """Takes integers between bounds."""

    def convert(value: Any) -> int:
        if type(value) is not int:
            raise wrong(value, "an integer")
        if not low <= value <= high:
            raise OverflowError(f"{value} is not between {low} and {high}")
        return value

    return convert


def number(value: Any) -> float:
    """Takes numbers as floats."""
    if type(value) not in (int, float):
        raise wrong(value, "a number")
    return float(value)


def exactly(wanted: type) -> Callable[[Any], Any]:
    """Takes values of one class of Python."""

    def convert(value: Any) -> Any:
        # A `datetime` is a `date` to Python.
        if type(value) is not wanted:
            raise wrong(value, wanted.__name__)
        return value

    return convert


def wrong(value: object, wanted: str) -> TypeError:
    return TypeError(f"{wanted} was expected, not {type(value).__name__}")


def plain(value: Any) -> Any:
    """A value as plain Python objects."""
    return value.to_python() if hasattr(value, "to_python") else value


# ---- Writing ----------------------------------------------------------------------------------


def document_of(rows: Any, table: str) -> bytes:
    """A document with rows from Arrow at a JSON pointer, whose keys become nested objects."""
    if table and not table.startswith("/"):
        raise ValueError(f'table is a JSON pointer, such as "/rows", or "", not {table!r}')
    content: Any = from_arrow(rows)
    for token in reversed(table.split("/")[1:]):
        content = {token.replace("~1", "/").replace("~0", "~"): content}
    return dumps(content)
