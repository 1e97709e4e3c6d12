"""`livebuf.polars`, and what it shares with the other engines: files, row ranges, errors."""

from __future__ import annotations

import datetime
import doctest
import random
import subprocess
import sys
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import livebuf
import pytest

pl = pytest.importorskip("polars")
pytest.importorskip("fsspec")
import livebuf.polars  # noqa: E402
from livebuf import _sources  # noqa: E402
from polars.testing import assert_frame_equal  # noqa: E402

LOGS = Path(__file__).resolve().parents[3] / "testdata" / "logs"


def rows(start: int, stop: int) -> list[dict[str, Any]]:
    return [
        {
            "id": n,
            "half": n / 2 if n % 3 else None,
            "text": f"row {n % 50}",
            "at": {"x": n, "name": str(n)},
            "tags": [str(n)] * (n % 3),
        }
        for n in range(start, stop)
    ]


def frame_of(found: list[dict[str, Any]]) -> Any:
    return pl.DataFrame(found, infer_schema_length=None)


def put(path: Path, found: list[dict[str, Any]]) -> None:
    """A document with `/rows`, or a log of which some rows are in no group yet."""
    if path.suffix == ".lblog":
        with livebuf.Log(path, "x") as log:
            log.extend(found[:-5])
            for row in found[-5:]:
                log.append(row)
    else:
        livebuf.dump({"rows": found}, path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """700 rows in two documents and a log."""
    put(tmp_path / "a.lbuf", rows(0, 300))
    put(tmp_path / "b.lblog", rows(300, 600))
    (tmp_path / "c").mkdir()
    put(tmp_path / "c" / "c.lbuf", rows(600, 700))
    return tmp_path


JSON = livebuf.polars._TYPES.json


def scan(paths: Any, **how: Any) -> Any:
    return livebuf.polars.scan(paths, "/rows", **how)


class Reads:
    """The columns and rows that are read, and the files that are opened, by each query."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.columns: list[tuple[list[str], int]] = []
        self.opened: list[str] = []
        read, opened = _sources.Source.read, _sources.open_rows

        def spied(source: Any, part: Any, first: Any, table: Any, schema: Any, convert: Any) -> Any:
            self.columns.append((list(schema), len(table)))
            return read(source, part, first, table, schema, convert)

        def spied_open(path: str, *arguments: Any) -> Any:
            self.opened.append(Path(path).name)
            return opened(path, *arguments)

        monkeypatch.setattr(_sources.Source, "read", spied)
        monkeypatch.setattr(_sources, "open_rows", spied_open)

    def clear(self) -> None:
        self.columns.clear()
        self.opened.clear()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


class TestScan:
    @pytest.mark.parametrize("engine", ["in-memory", "streaming"])
    def test_all_rows_in_order(self, folder: Path, engine: Any) -> None:
        assert_frame_equal(scan(folder).collect(engine=engine), frame_of(rows(0, 700)))

    @pytest.mark.parametrize("batch", [1, 7, 299, 10_000])
    def test_queries_are_as_on_a_frame(
        self, folder: Path, batch: int, chance: random.Random, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Model: the same queries on a frame in memory."""
        monkeypatch.setattr(livebuf.polars, "BATCH_ROWS", batch)
        model = frame_of(rows(0, 700)).lazy()
        filters = [
            pl.col("id") == chance.randrange(700),
            pl.col("id").is_between(290, 610),
            pl.col("half").is_null() & (pl.col("text") == "row 7"),
            pl.col("at").struct["x"] % 100 == chance.randrange(100),
            pl.col("id") < 0,
            pl.col("tags").list.len() > 1,
        ]
        names = ["id", "half", "text", "at", "tags"]
        for _ in range(30):
            steps = []
            if chance.random() < 0.7:
                some = chance.choice(filters)
                steps.append(lambda lazy, some=some: lazy.filter(some))
            if chance.random() < 0.5:
                start, count = chance.randrange(750), chance.randrange(400)
                steps.append(lambda lazy, at=start, count=count: lazy.slice(at, count))
            if chance.random() < 0.7:
                some = chance.sample(names, chance.randrange(1, 5))
                steps.append(lambda lazy, some=some: lazy.select(some))
            ours, theirs = scan(folder), model
            for step in steps:
                ours, theirs = step(ours), step(theirs)
            engine = chance.choice(["in-memory", "streaming"])
            assert_frame_equal(ours.collect(engine=engine), theirs.collect())
        assert scan(folder).select(pl.len()).collect().item() == 700

    def test_only_needed_columns_are_read(self, folder: Path, reads: Reads) -> None:
        assert scan(folder).select(pl.col("id").sum()).collect().item() == sum(range(700))
        assert {tuple(names) for names, _ in reads.columns} == {("id",)}
        reads.clear()
        assert scan(folder).select(pl.len()).collect().item() == 700
        assert all(len(names) <= 1 for names, _ in reads.columns), reads.columns

    def test_a_filter_reads_its_columns_first(self, folder: Path, reads: Reads) -> None:
        found = scan(folder).filter(pl.col("id") == 610).select("text", "half").collect()
        assert found.rows() == [("row 10", 305.0)]
        # The other columns were read of one row.
        others = [count for names, count in reads.columns if names != ["id"]]
        assert others == [1], reads.columns

    def test_head_stops(self, folder: Path, reads: Reads) -> None:
        lazy = scan(folder)
        reads.clear()
        assert lazy.head(3).collect()["id"].to_list() == [0, 1, 2]
        assert set(reads.opened) == {"a.lbuf"}
        assert sum(count for _, count in reads.columns) == 3

    def test_rows_of_objects_and_plain_values(self, tmp_path: Path) -> None:
        path = tmp_path / "x.lbuf"
        livebuf.dump({"users": {f"u{n}": {"n": n} for n in range(50)}, "laps": [71, 70]}, path)
        users = livebuf.polars.scan(path, "/users").collect()
        assert users.rows() == [(f"u{n}", n) for n in range(50)]
        assert livebuf.polars.scan(path, "/laps").collect()["value"].to_list() == [71, 70]
        with pytest.raises(livebuf.WrongTypeError, match=r"x.lbuf: .*'/laps/0' is no array"):
            livebuf.polars.scan(path, "/laps/0")
        with pytest.raises(livebuf.MissingKeyError, match=r'x.lbuf: no place "/nope"'):
            livebuf.polars.scan(path, "/nope")
        with pytest.raises(livebuf.PointerError, match=r"x.lbuf: malformed"):
            livebuf.polars.scan(path, "nope")

    def test_the_root_and_rows_of_unlike_objects(self, tmp_path: Path) -> None:
        livebuf.dump([{"a": 1}, {"b": "x"}, {"a": 2.5}], tmp_path / "x.lbuf")
        found = livebuf.polars.scan(tmp_path).collect()
        assert found.rows() == [(1.0, None), (None, "x"), (2.5, None)]

    def test_a_frame_outlives_the_file(self, folder: Path) -> None:
        """It may borrow the file's memory: a new file then takes the old one's place."""
        path = folder / "a.lbuf"
        found = scan(path).collect()
        livebuf.polars.write(found.head(1), path, "/rows")
        assert_frame_equal(found, frame_of(rows(0, 300)))
        assert scan(path).collect().height == 1


class TestSchemas:
    def files(self, folder: Path) -> Any:
        put(folder / "a.lbuf", [{"id": 1, "v": None}])
        put(folder / "b.lbuf", [{"id": 2, "v": "x", "new": {"p": 1}}])
        put(folder / "c.lbuf", [{"new": {"q": 2}}])
        return folder

    def test_of_the_first_file(self, tmp_path: Path) -> None:
        put(tmp_path / "0.lbuf", [])
        lazy = scan(self.files(tmp_path), infer_files=1, extra_columns="ignore")
        assert lazy.collect_schema() == {"id": pl.Int64, "v": pl.Null}
        assert lazy.select("id").collect()["id"].to_list() == [1, 2, None]
        with pytest.raises(livebuf.WrongTypeError, match=r'b.lbuf, rows 0 to 1: column "v": utf8'):
            lazy.collect()

    def test_fields_of_later_files(self, tmp_path: Path) -> None:
        """They were dropped without a word: the schema was that of the first file."""
        put(tmp_path / "a.lbuf", [{"id": 1, "at": {"x": 1}, "l": [{"p": 1}]}])
        put(tmp_path / "b.lbuf", [{"id": 2, "at": {"x": 2, "y": 3}, "l": [{"q": 2}], "new": "n"}])
        with livebuf.Log(tmp_path / "c.lblog", "x") as log:
            log.extend([{"id": 3}, {"log": True}])
        assert scan(tmp_path).collect().to_dicts() == [
            {"id": 1, "at": {"x": 1, "y": None}, "l": [{"p": 1, "q": None}], "new": None}
            | {"log": None},
            {"id": 2, "at": {"x": 2, "y": 3}, "l": [{"p": None, "q": 2}], "new": "n", "log": None},
            {"id": 3, "at": None, "l": None, "new": None, "log": None},
            {"id": None, "at": None, "l": None, "new": None, "log": True},
        ]
        lazy = scan(tmp_path, infer_files=1)
        for query in (lazy, lazy.select("id")):
            with pytest.raises(livebuf.WrongTypeError, match=r"b.lbuf: column 'at.y' is not in"):
                query.collect()
        ignored = scan(tmp_path, infer_files=1, extra_columns="ignore").collect()
        assert ignored.columns == ["id", "at", "l"] and ignored.height == 4
        (tmp_path / "b.lbuf").unlink()
        with pytest.raises(livebuf.WrongTypeError, match=r"c.lblog: column 'log' is not in"):
            lazy = scan(tmp_path, infer_files=1)
            lazy.collect()
        given = {"id": pl.Int8}
        assert scan(tmp_path, schema=given).collect().schema == given
        with pytest.raises(livebuf.WrongTypeError, match=r"a.lbuf: column 'at' is not in"):
            scan(tmp_path, schema=given, extra_columns="raise").collect()

    def test_types_of_later_files(self, tmp_path: Path) -> None:
        """Bug: lists of one length in the first file were arrays of it, and others an error."""
        put(tmp_path / "a.lbuf", [{"n": 1, "tags": ["a"], "e": []}] * 10)
        put(tmp_path / "b.lbuf", [{"n": 0.5, "tags": ["a"] * (n % 3), "e": [1]} for n in range(10)])
        found = scan(tmp_path).collect()
        lists = {"tags": pl.List(pl.String), "e": pl.List(pl.Int64)}
        assert found.schema == {"n": pl.Float64, **lists}
        assert found["tags"].to_list()[9:13] == [["a"], [], ["a"], ["a", "a"]]
        put(tmp_path / "c.lbuf", [{"n": {"x": 1}}])
        with pytest.raises(livebuf.WrongTypeError, match=r"c.lbuf: column 'n' is numbers in files"):
            scan(tmp_path, mixed="raise")

    @pytest.mark.parametrize("apart", [False, True])
    def test_kinds_in_one_file_and_in_several(self, tmp_path: Path, apart: bool) -> None:
        """`mixed=` and `numbers=` had no effect on kinds that differ between files."""
        large = 2**53 + 1
        cases: list[tuple[list[Any], dict[str, Any], Any, list[Any]]] = [
            ([1, "A1"], {}, pl.String(), ["1", "A1"]),
            ([1, "A1"], {"mixed": "json"}, JSON, ["1", '"A1"']),
            ([1, {"q": 1}], {}, pl.String(), ["1", '{"q":1}']),
            ([{"q": 1}, [1]], {"mixed": "json"}, JSON, ['{"q":1}', "[1]"]),
            ([True, 1], {"mixed": "json"}, JSON, ["true", "1"]),
            ([datetime.date(2024, 2, 29), 1.5], {}, pl.String(), ["2024-02-29", "1.5"]),
            ([1, 2.5], {"numbers": "decimal"}, pl.Float64(), [1.0, 2.5]),
            ([1, 2.5], {"numbers": "text"}, pl.Float64(), [1.0, 2.5]),
            ([2.25, large], {"numbers": "decimal"}, pl.Decimal(38, 2), [Decimal("2.25"), large]),
            ([2.5, large], {"numbers": "text"}, pl.String(), ["2.5", str(large)]),
            ([2.5, large], {"numbers": "float"}, pl.Float64(), [2.5, float(large)]),
            ([1, 2**64 - 1], {}, pl.UInt64(), [1, 2**64 - 1]),
            ([-1, 2**64 - 1], {"numbers": "decimal"}, pl.Decimal(38, 0), [-1, 2**64 - 1]),
            ([-1, 2**64 - 1], {"numbers": "text"}, pl.String(), ["-1", str(2**64 - 1)]),
            ([1, Decimal("1.50")], {}, pl.Decimal(38, 2), [1, Decimal("1.5")]),
            ([0.5, Decimal("1.50")], {"numbers": "decimal"}, pl.Decimal(38, 2), [0.5, 1.5]),
            ([0.5, Decimal("1.50")], {"numbers": "text"}, pl.String(), ["0.5", "1.50"]),
            ([0.5, Decimal("1.10")], {"numbers": "float"}, pl.Float64(), [0.5, 1.1]),
            ([10**18, Decimal("1e-30")], {"numbers": "float"}, pl.Float64(), [1e18, 1e-30]),
        ]
        for number, (values, how, dtype, expected) in enumerate(cases):
            rows = [{"v": value, "w": {"deep": value}} for value in values]
            for file, part in enumerate([[row] for row in rows] if apart else [rows]):
                (tmp_path / f"{number}").mkdir(exist_ok=True)
                put(tmp_path / f"{number}" / f"{file}.lbuf", part)
            found = scan(tmp_path / f"{number}", **how).collect()
            assert found.schema["v"] == dtype, (values, how)
            assert found["v"].to_list() == expected, (values, how)
            assert found.schema["w"] == pl.Struct({"deep": dtype}), (values, how)

    def test_kinds_of_several_files_that_are_refused(self, tmp_path: Path) -> None:
        for number, (values, how, match) in enumerate(
            (
                (
                    [1, "A1"],
                    {"mixed": "raise"},
                    r"1.lbuf: column 'v.x' is Int64 .* String here: set",
                ),
                ([0.5, Decimal(1)], {}, r"1.lbuf: column 'v.x' is Float64 .*set numbers="),
                ([0.5, 2**53 + 1], {}, r"1.lbuf, rows 0 to 1: .* fit float64; set numbers= to"),
                (
                    [-1, 2**64 - 1],
                    {},
                    r"0.lbuf, rows 0 to 1: .*-1 .* uint64; set numbers=",
                ),
                ([1e300, 2**53 + 1], {"numbers": "decimal"}, r"column 'v.x': .*more digits"),
                ([10**18, Decimal("1e-30")], {}, r"0.lbuf, rows 0 .*decimal.*; set numbers="),
            )
        ):
            (tmp_path / f"{number}").mkdir()
            for file, value in enumerate(values):
                put(tmp_path / f"{number}" / f"{file}.lbuf", [{"v": {"x": value}}])
            with pytest.raises(livebuf.WrongTypeError, match=match):
                scan(tmp_path / f"{number}", **how).collect()  # type: ignore[arg-type]

    def test_of_all_files(self, tmp_path: Path) -> None:
        found = scan(self.files(tmp_path)).collect()
        assert found.schema == {
            "id": pl.Int64,
            "v": pl.String,
            "new": pl.Struct({"p": pl.Int64, "q": pl.Int64}),
        }
        assert found.rows() == [
            (1, None, None),
            (2, "x", {"p": 1, "q": None}),
            (None, None, {"p": None, "q": 2}),
        ]

    def test_given(self, tmp_path: Path, reads: Reads) -> None:
        lazy = scan(self.files(tmp_path), schema={"v": pl.String, "id": pl.Float32})
        assert not reads.opened
        assert lazy.collect().rows() == [(None, 1.0), ("x", 2.0), (None, None)]

    def test_values_that_do_not_fit(self, tmp_path: Path) -> None:
        put(tmp_path / "a.lbuf", [{"n": 1}, {"n": 1.5}])
        with pytest.raises(livebuf.WrongTypeError, match=r'a.lbuf, .*"n", row 1: 1.5 does not fit'):
            scan(tmp_path, schema={"n": pl.Int64}).collect()

    def test_missing_columns(self, tmp_path: Path) -> None:
        lazy = scan(self.files(tmp_path), schema={"id": pl.Float64}, missing_columns="raise")
        with pytest.raises(livebuf.MissingKeyError, match=r'c.lbuf: no row has the column "id"'):
            lazy.collect()
        assert lazy.head(2).collect().height == 2

    def test_wrong_options(self, folder: Path) -> None:
        for how in (
            {"on_error": "null"},
            {"missing_columns": "skip"},
            {"extra_columns": "insert"},
            {"infer_files": 0},
        ):
            with pytest.raises(ValueError, match=r"must be"):
                scan(folder, **how)
        put(folder / "empty.lbuf", [])
        # As `polars.DataFrame` of the table.
        assert scan(folder / "empty.lbuf").collect().shape == (0, 0)
        assert scan(folder / "empty.lbuf").select(pl.len()).collect().item() == 0
        assert scan(folder / "empty.lbuf", schema={"n": pl.Int8}).collect().is_empty()


class TestPaths:
    def names(self, paths: Any) -> list[str]:
        return [Path(path).name for path in _sources.find(paths)]

    def test_of_folders_globs_and_lists(self, folder: Path) -> None:
        for hidden in ("_temporary/x.lbuf", ".x.lbuf", "c/.y.lbuf", "notes.txt"):
            (folder / hidden).parent.mkdir(exist_ok=True)
            (folder / hidden).write_bytes(b"no document")
        assert self.names(folder) == ["a.lbuf", "b.lblog", "c.lbuf"]
        assert self.names(str(folder / "*.lbuf")) == ["a.lbuf"]
        assert self.names(str(folder / "**" / "[ac].lbuf")) == ["a.lbuf", "c.lbuf"]
        assert self.names(folder / "?") == ["c.lbuf"], "of folders only"
        assert self.names([folder / "c", folder / "a.lbuf"]) == ["c.lbuf", "a.lbuf"]
        assert self.names(f"file://{folder}") == ["a.lbuf", "b.lblog", "c.lbuf"]

    def test_of_any_name(self, folder: Path) -> None:
        """What a file is, its first bytes say."""
        (folder / "a.lbuf").rename(folder / "table[1]")
        (folder / "b.lblog").rename(folder / "events")
        assert scan([folder / "table[1]", folder / "events"]).collect().height == 600

    def test_none(self, folder: Path) -> None:
        (folder / "empty").mkdir()
        for path in ("nope.lbuf", "*.nope", "empty"):
            with pytest.raises(FileNotFoundError, match=r"no document .* or log"):
                scan(folder / path)
        with pytest.raises(ValueError, match="no paths"):
            scan([])

    def test_urls(self, folder: Path) -> None:
        """Documents and logs at URLs, globs of them, and none."""
        import fsspec

        fs = fsspec.filesystem("memory")
        for path in ("a.lbuf", "b.lblog", "c/c.lbuf"):
            fs.pipe_file(f"/set/{path}", (folder / path).read_bytes())
        try:
            for paths in (
                "memory://set",
                ["memory://set/a.lbuf", "memory://set/*.lblog", "memory://set/c"],
                ["memory://set/a.lbuf", "memory://set/*.lblog", "memory://set/?"],
            ):
                assert_frame_equal(scan(paths).collect(), frame_of(rows(0, 700)))
            with pytest.raises(FileNotFoundError, match=r"memory://nope"):
                scan("memory://nope")
            livebuf.polars.write(frame_of(rows(0, 9)), "memory://set/new.lbuf", "/rows")
            assert scan("memory://set/new.lbuf").collect().height == 9
        finally:
            fs.rm("/set", recursive=True)


class TestLogs:
    def test_row_ranges(self, tmp_path: Path, chance: random.Random) -> None:
        """Model: a list. Three full groups, and rows behind the last one."""
        path = tmp_path / "x.lblog"
        count = 3 * 65_536 + 1000
        with livebuf.Log(path, "x") as log:
            log.extend({"n": n} for n in range(count - 10))
            for n in range(count - 10, count):
                log.append({"n": n})
        opened = _sources.open_rows(str(path), "", False, {})
        assert isinstance(opened, _sources.OfLog) and len(opened.log._groups()) >= 3
        edges = [0, 1, 65_535, 65_536, 65_537, 3 * 65_536, count - 11, count - 10, count]
        pairs = [tuple(sorted(chance.sample(edges, 2))) for _ in range(15)]
        pairs += [tuple(sorted(chance.choices(range(count + 1), k=2))) for _ in range(15)]
        for start, stop in pairs:
            found: list[int] = []
            for first, read in opened.tables(start, stop):
                table = read()
                assert first == start + len(found)
                found += pl.DataFrame(table)["n"].to_list() if len(table) else []
            assert found == list(range(start, stop))

    @pytest.mark.parametrize("path", sorted(LOGS.glob("*.lblog")), ids=lambda path: path.stem)
    def test_vectors(self, path: Path) -> None:
        """What `Log` reads is read, row by row; what it refuses is refused."""
        if path.stem == "n_NotALog_document":
            pytest.skip("a document is one source of rows, too")
        try:
            expected = list(livebuf.Log(path))
        except livebuf.Error:
            with pytest.raises(livebuf.Error, match=path.name):
                opened = _sources.open_rows(str(path), "", False, {})
                with _sources.named(str(path)):
                    [read() for _, read in opened.tables(0, opened.num_rows)]
            return
        opened = _sources.open_rows(str(path), "", False, {})
        assert opened.num_rows == len(expected)
        tables = [read() for _, read in opened.tables(0, opened.num_rows)]
        assert sum(map(len, tables)) == len(expected)

    def test_beside_a_writer(self, tmp_path: Path) -> None:
        path = tmp_path / "x.lblog"
        with livebuf.Log(path, "x") as log:
            log.append({"n": 0})
            lazy = livebuf.polars.scan(path)
            for n in range(1, 5):
                log.append({"n": n})
            assert lazy.collect()["n"].to_list() == [0, 1, 2, 3, 4]

    def test_compacted_meanwhile(self, tmp_path: Path) -> None:
        """Bug: groups were read from the new file, at the places of the old one's."""
        path = tmp_path / "x.lblog"
        with livebuf.Log(path, "x") as log:
            for n in range(100):
                log.append({"n": n})
            log.extend({"n": n} for n in range(100, 70_000))
            opened = _sources.open_rows(str(path), "", False, {})
            log.compact()
            found = [read() for _, read in opened.tables(0, opened.num_rows)]
        assert [n for table in found for n in pl.DataFrame(table)["n"]] == list(range(70_000))

    def test_a_frame_that_is_half_written(self, tmp_path: Path) -> None:
        """It is behind the rows that there were: no damage."""
        path = tmp_path / "x.lblog"
        with livebuf.Log(path, "x") as log:
            log.extend({"n": n} for n in range(10))
        opened = livebuf.Log(path)
        with path.open("ab") as file:
            file.write(b"\xab\x4cBR" + bytes(20))
        assert opened.torn is None
        rows_there = _sources.OfLog(str(path), opened, False, {})
        assert rows_there.num_rows == 10 and len(livebuf.polars.scan(path).collect()) == 10


class TestDamage:
    def test_a_damaged_log(self, tmp_path: Path) -> None:
        """It was a WrongTypeError wherever columns were looked for."""
        path = tmp_path / "x.lblog"
        with livebuf.Log(path, "x") as log:
            log.extend({"n": n} for n in range(70_000))
        data = bytearray(path.read_bytes())
        data[data.index(b"\xab\x4cBG") + 60] ^= 0xFF
        path.unlink()
        path.write_bytes(data)
        for read in (
            lambda: scan(path).collect(),
            lambda: scan(path, schema={"n": pl.Int64}).collect(),
            lambda: pl.DataFrame(livebuf.Log(path)),
            lambda: pl.Schema(livebuf.Log(path)),
            lambda: pl.DataFrame(livebuf.Log(path).select(["n"])),
            lambda: pl.DataFrame(livebuf.Log(path).between("n", 1, 5)),
            lambda: livebuf.Log(path).schema,
            lambda: list(livebuf.Log(path)),
            lambda: livebuf.Log(path)[0],
        ):
            with pytest.raises(livebuf.DamagedError, match=r"x.lblog: the log is") as caught:
                read()
            assert caught.value.offset == 64 and str(caught.value).count("x.lblog") == 1

    def test_a_damaged_file_in_a_folder(self, folder: Path) -> None:
        (folder / "b0.lbuf").write_bytes(b"no document at all")
        with pytest.raises(livebuf.DamagedError, match=r"b0.lbuf: not a LiveBuf document"):
            scan(folder).collect()
        with pytest.warns(RuntimeWarning, match=r"skipped: .*b0.lbuf: not a LiveBuf document"):
            assert scan(folder, on_error="skip").collect().height == 700
        # The first file may be it, too.
        (folder / "b0.lbuf").unlink()
        (folder / "a.lbuf").write_bytes(b"")
        with pytest.warns(RuntimeWarning, match=r"skipped: .*a.lbuf"):
            assert scan(folder, on_error="skip").collect().height == 400

    def test_a_damaged_column(self, folder: Path) -> None:
        """Columns that are not read do not matter."""
        path = folder / "a.lbuf"
        data = bytearray(path.read_bytes())
        data[data.index(b"row 49") + 2] = 0xFF
        path.write_bytes(data)
        lazy = scan(path, schema={"id": pl.Int64, "text": pl.String})
        assert lazy.select("id").collect().height == 300
        with pytest.raises(livebuf.DamagedError, match=r"a.lbuf, rows 0 to 300: .* at offset"):
            lazy.collect()
        with pytest.warns(RuntimeWarning, match=r"a.lbuf, rows 0 to 300"):
            skipping = scan(folder, schema=lazy.collect_schema(), on_error="skip")
            assert skipping.collect().height == 400

    def test_a_damaged_group(self, tmp_path: Path) -> None:
        """The other groups of the log are read."""
        path = tmp_path / "x.lblog"
        with livebuf.Log(path, "x") as log:
            log.extend({"n": n} for n in range(3 * 65_536 + 10))
        data = bytearray(path.read_bytes())
        second = data.index(b"\xab\x4cBG", data.index(b"\xab\x4cBG") + 1)
        data[second + 5000] ^= 0xFF
        path.write_bytes(data)
        lazy = livebuf.polars.scan(path, schema={"n": pl.Int64})
        with pytest.raises(livebuf.DamagedError, match=rf"offset {second}"):
            lazy.collect()
        with pytest.warns(RuntimeWarning, match="x.lblog"):
            found = livebuf.polars.scan(path, schema={"n": pl.Int64}, on_error="skip").collect()
        assert found.height == 2 * 65_536 + 10

    def test_a_damaged_frame(self, tmp_path: Path) -> None:
        """Rows that are in no full group yet were one group, of which nothing was read; and no
        schema was inferred of a log that has any damage."""
        path = tmp_path / "flip.lblog"
        with livebuf.Log(path, "x") as log:
            for part in range(20):
                log.extend({"n": part * 1000 + n, "s": f"text {n}"} for n in range(1000))
            for n in range(20_000, 20_010):
                log.append({"n": n, "late": 1})
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)
        with pytest.raises(livebuf.Error, match=r"flip.lblog: .*damaged"):
            livebuf.polars.scan(path).collect()
        schemas: Any = ({}, {"schema": {"n": pl.Int64, "s": pl.String, "late": pl.Int64}})
        for how in schemas:
            with pytest.warns(RuntimeWarning, match=r"skipped: .*flip.lblog"):
                found = livebuf.polars.scan(path, on_error="skip", **how).collect()
            assert found.columns == ["n", "s", "late"] and found.height == 19_010
            gap = found["n"].diff().max()
            assert gap == 1001 and found["n"].to_list()[-11:] == [*range(19_999, 20_010)]
            assert found["late"].drop_nulls().len() == 10
        # The same within the first rows, and where all is lost.
        data[len(data) // 2] ^= 0xFF
        data[200] ^= 0xFF
        path.write_bytes(data)
        with pytest.warns(RuntimeWarning, match=r"flip.lblog"):
            found = livebuf.polars.scan(path, on_error="skip").select("n").collect()
        assert found["n"].min() == 1000

    @pytest.mark.parametrize("name", ["a.lbuf", "b.lblog"])
    def test_any_damage(self, folder: Path, name: str, chance: random.Random) -> None:
        """Rows, or an error that names the file: whatever the bytes are."""
        path = folder / name
        good = path.read_bytes()
        raised = 0
        for _ in range(150):
            data = bytearray(good)
            for _ in range(chance.choice([1, 1, 4])):
                data[chance.randrange(len(data))] = chance.randrange(256)
            if chance.random() < 0.2:
                del data[chance.randrange(len(data)) :]
            path.write_bytes(data)
            try:
                scan(path).filter(pl.col("id") > 5).collect()
            except livebuf.Error as error:
                raised += 1
                assert name in str(error), error
            except (ValueError, pl.exceptions.PolarsError):
                # No rows, or other columns, are left.
                pass
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                scan(path, schema={"id": pl.Int64}, on_error="skip").collect()
        assert raised

    def test_a_file_that_is_edited(self, folder: Path) -> None:
        """A lock is no damage, and is never skipped."""
        with (
            livebuf.open(folder / "a.lbuf", "r+"),
            pytest.raises(BlockingIOError, match=r"a.lbuf"),
        ):
            scan(folder, on_error="skip").collect()


class TestWrite:
    def test_types_come_back(self, tmp_path: Path) -> None:
        zone = datetime.UTC
        frame = pl.DataFrame(
            {
                "int": [1, None, -(2**62)],
                "uint": pl.Series([2**64 - 1, 0, None], dtype=pl.UInt64),
                "float": [1.5, float("inf"), None],
                "text": ["a", None, "é"],
                "flag": [True, None, False],
                "bytes": [b"\x00\xff", None, b""],
                "day": [datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1)],
                "naive": [datetime.datetime(2024, 1, 2, 3, 4, 5, 6), None, None],
                "moment": [datetime.datetime(2024, 1, 2, tzinfo=zone), None, None],
                "clock": [datetime.time(1, 2, 3, 4), None, None],
                "price": [Decimal("1.25"), None, Decimal("-3.50")],
                "list": [[1, None], [], None],
                "at": [{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}],
            }
        )
        path = tmp_path / "x.lbuf"
        livebuf.polars.write(frame, path, "/deep/ta~1ble")
        assert list(livebuf.load(path)["deep"]) == ["ta/ble"]
        found = livebuf.polars.scan(path, "/deep/ta~1ble", schema=frame.schema).collect()
        assert_frame_equal(found, frame)
        inferred = livebuf.polars.scan(path, "/deep/ta~1ble").collect()
        assert_frame_equal(inferred.drop("uint", "price"), frame.drop("uint", "price"))
        assert inferred["uint"].to_list() == frame["uint"].to_list()
        assert inferred["price"].to_list() == frame["price"].to_list()

    def test_lazy_frames_and_the_root(self, folder: Path) -> None:
        livebuf.polars.write(scan(folder).filter(pl.col("id") < 3), folder / "new.lbuf")
        assert livebuf.load(folder / "new.lbuf") == rows(0, 3)

    def test_whole_or_not_at_all(self, folder: Path) -> None:
        path = folder / "a.lbuf"
        before = path.read_bytes()
        with pytest.raises(TypeError, match="column 'a' holds Python objects"):
            livebuf.polars.write(pl.DataFrame({"a": pl.Series([object()])}), path)
        with pytest.raises(ValueError, match="JSON pointer"):
            livebuf.polars.write(pl.DataFrame({"a": [1]}), path, "rows")
        assert path.read_bytes() == before
        assert sorted(p.name for p in folder.iterdir()) == ["a.lbuf", "b.lblog", "c"]


class TestExtract:
    VALUES: tuple[Any, ...] = (0, -1, 2**63, 1.5, "x", True, None, [1, 2], {"c": 1}, b"\x00")

    def documents(self) -> Any:
        docs = [livebuf.dumps({"a": {"b": value}}) for value in self.VALUES]
        return pl.Series("doc", [*docs, None, livebuf.dumps({}), b"damaged"])

    @pytest.mark.parametrize(
        ("dtype", "taken"),
        [
            (pl.Int8, lambda v: type(v) is int and -128 <= v <= 127),
            (pl.Int64(), lambda v: type(v) is int and v < 2**63),
            (pl.UInt64, lambda v: type(v) is int and v >= 0),
            (pl.Float64, lambda v: type(v) in (int, float)),
            (pl.String, lambda v: type(v) is str),
            (pl.Boolean, lambda v: type(v) is bool),
            (pl.Binary, lambda v: type(v) is bytes),
        ],
    )
    def test_types(self, dtype: Any, taken: Any) -> None:
        found = livebuf.polars.extract(self.documents(), "/a/b", dtype, on_error="null")
        assert found.name == "doc" and found.dtype == dtype
        wanted = [value if taken(value) else None for value in self.VALUES]
        assert found.to_list() == [*wanted, None, None, None]

    def test_containers(self) -> None:
        docs = pl.Series([livebuf.dumps({"a": [{"c": n}]}) for n in range(3)])
        found = livebuf.polars.extract(docs, "/a", pl.List(pl.Struct({"c": pl.Int64})))
        assert found.to_list() == [[{"c": n}] for n in range(3)]

    def test_errors_name_row_and_byte(self) -> None:
        good = livebuf.dumps({"a": 1})
        docs = pl.Series([good, good, good[:-8]])
        with pytest.raises(livebuf.DamagedError, match=r"row 2, at '/a': .*") as caught:
            livebuf.polars.extract(docs, "/a", pl.Int64)
        assert caught.value.offset is not None
        with pytest.raises(livebuf.WrongTypeError, match=r"row 0, at '/a': str was expected"):
            livebuf.polars.extract(docs, "/a", pl.String)
        with pytest.raises(livebuf.PointerError):
            livebuf.polars.extract(docs, "a", pl.Int64, on_error="null")
        with pytest.raises(TypeError, match="must be binary, not String"):
            livebuf.polars.extract(pl.Series("x", ["text"]), "/a", pl.Int64)
        with pytest.raises(ValueError, match="on_error"):
            livebuf.polars.extract(docs, "/a", pl.Int64, on_error="skip")  # type: ignore[call-overload]

    def test_expressions(self) -> None:
        frame = pl.DataFrame({"doc": [livebuf.dumps({"n": n}) for n in range(5)]})
        column = livebuf.polars.extract(pl.col("doc"), "/n", pl.Int32).alias("n")
        found = frame.lazy().select(column).filter(pl.col("n") > 2).collect()
        assert found.schema == {"n": pl.Int32} and found["n"].to_list() == [3, 4]

    def test_structs_and_lists_are_of_objects_and_arrays(self) -> None:
        """Bug: a number behind an object was an error of polars, also with `on_error="null"`."""
        values: list[Any] = [{"x": 1}, Decimal(1), 5, [1], "x", {"x": "a"}, {"y": 2}, None]
        docs = pl.Series([livebuf.dumps({"a": value}) for value in values])
        struct, numbers = pl.Struct({"x": pl.Int64}), pl.List(pl.Int64)
        found = livebuf.polars.extract(docs, "/a", struct, on_error="null").to_list()
        assert found == [{"x": 1}, None, None, None, None, None, {"x": None}, None]
        found = livebuf.polars.extract(docs, "/a", numbers, on_error="null").to_list()
        assert found == [None, None, None, [1], None, None, None, None]
        with pytest.raises(livebuf.WrongTypeError, match="row 1, at '/a': an object was expected"):
            livebuf.polars.extract(docs, "/a", struct)

    def test_any_damage(self, chance: random.Random) -> None:
        good = livebuf.dumps({"a": rows(0, 50)})
        damaged = []
        for _ in range(300):
            data = bytearray(good)
            data[chance.randrange(len(data))] = chance.randrange(256)
            damaged.append(bytes(data))
        docs = pl.Series(damaged)
        for pointer, dtype in (("/a/7/id", pl.Int64), ("/a/49/at", pl.Struct({"x": pl.Int64}))):
            assert len(livebuf.polars.extract(docs, pointer, dtype, on_error="null")) == 300


def test_nothing_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, livebuf; print([name for name in ('polars', 'dask', 'pyspark', 'pyarrow', "
        "'pandas', 'fsspec', 'livebuf._sources') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(livebuf.polars, extraglobs={"livebuf": livebuf, "pl": pl})
    assert result.attempted > 5 and result.failed == 0


def test_what_is_not_installed_is_said() -> None:
    code = "import sys; sys.modules['polars'] = None; import livebuf.polars"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ModuleNotFoundError: livebuf.polars needs polars: in a checkout" in done.stderr
