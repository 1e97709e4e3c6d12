"""`livebuf.spark` on a cluster of two executors, one of which is killed. `make test-engines`
installs Spark; it needs Java 17."""

from __future__ import annotations

import datetime
import decimal
import os
import shutil
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import livebuf
import pytest

for library in ("pyspark", "pyarrow", "pandas"):
    pytest.importorskip(library, reason=f"{library} is not installed: make test-engines")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("SPARK IS NOT TESTED: there is no Java", allow_module_level=True)
import livebuf.spark  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

COUNT = 20_000


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .appName("livebuf tests")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    yield session
    session.stop()


def row(n: int) -> dict[str, Any]:
    return {
        "id": n,
        "half": n / 2 if n % 3 else None,
        "text": f"text number {n % 9}",
        "at": {"x": n},
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """COUNT rows in a document, and COUNT in a log that lacks a column."""
    path = tmp_path / "in"
    path.mkdir()
    livebuf.dump({"rows": [row(n) for n in range(COUNT)]}, path / "a.lbuf")
    with livebuf.Log(path / "b.lblog", "x") as log:
        log.extend({"id": n, "text": "later"} for n in range(COUNT, 2 * COUNT - 5))
        for n in range(2 * COUNT - 5, 2 * COUNT):
            log.append({"id": n, "text": "later"})
    return path


def load(spark: Any, path: Any, **options: str) -> Any:
    return spark.read.format("livebuf").options(table="/rows", **options).load(str(path))


def save(frame: Any, path: Path, mode: str = "append") -> None:
    frame.write.format("livebuf").option("table", "/rows").mode(mode).save(str(path))


def ids(path: Path) -> list[int]:
    """All ids in the documents of a folder."""
    files = [file for file in path.iterdir() if file.suffix == ".lbuf" and file.name[0] != "."]
    return sorted(row["id"] for file in files for row in livebuf.load(file)["rows"])


def names(path: Path) -> list[str]:
    return sorted(file.name for file in path.iterdir())


class TestRead:
    def test_by_row_ranges(self, spark: Any, folder: Path) -> None:
        frame = load(spark, folder, partitionRows="3000")
        assert frame.schema.simpleString() == (
            "struct<id:bigint,half:double,text:string,at:struct<x:bigint>>"
        )
        # Seven parts of each file.
        assert frame.rdd.getNumPartitions() == 14
        assert frame.count() == 2 * COUNT
        found = sorted(row.id for row in frame.select("id").collect())
        assert found == list(range(2 * COUNT))
        grouped = frame.groupBy("text").agg({"half": "sum"}).toDF("text", "sum").collect()
        sums = {row.text: row.sum for row in grouped}
        for n in range(9):
            assert (sums[f"text number {n}"] or 0) == sum(
                m / 2 for m in range(n, COUNT, 9) if m % 3
            )
        assert frame.filter("at.x = 77").select("half").collect()[0].half == 38.5

    def test_columns_and_a_given_schema(self, spark: Any, folder: Path) -> None:
        frame = load(spark, folder, columns="text, id")
        assert frame.columns == ["text", "id"] and frame.count() == 2 * COUNT
        given = (
            spark.read.format("livebuf")
            .schema("id int, at struct<x: double>, more string")
            .option("table", "/rows")
            .load(str(folder / "a.lbuf"))
        )
        assert tuple(given.orderBy("id").first()) == (0, (0.0,), None)

    def test_registered(self, spark: Any, folder: Path) -> None:
        """The documented way, where the module is not found."""
        spark.dataSource.register(livebuf.spark.DefaultSource)
        assert load(spark, folder / "a.lbuf").count() == COUNT

    def test_paths(self, spark: Any, folder: Path) -> None:
        import json

        reader = spark.read.format("livebuf").option("table", "/rows")
        both = json.dumps([str(folder / "*.lbuf"), f"file://{folder}/b.lblog"])
        assert reader.option("paths", both).load().count() == 2 * COUNT

    def test_types(self, spark: Any, tmp_path: Path) -> None:
        value = {
            "unsigned": 2**64 - 1,
            "naive": datetime.datetime(2024, 1, 2, 3, 4, 5, 6),
            "moment": datetime.datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=datetime.UTC),
            "day": datetime.date(2024, 2, 29),
            "clock": datetime.time(1, 2, 3),
            "uuid": uuid.UUID(int=5),
            "price": decimal.Decimal("1.25"),
            "bytes": b"\x00\xff",
            "fixed": [1, 2],
            "none": None,
            "nested": {"unsigned": 2**63, "list": [{"a": True}]},
        }
        livebuf.dump([value] * 20, tmp_path / "x.lbuf")
        found = spark.read.format("livebuf").load(str(tmp_path)).first().asDict(recursive=True)
        assert found.pop("moment").timestamp() == value.pop("moment").timestamp()
        assert found == value | {"clock": "01:02:03.000000", "uuid": uuid.UUID(int=5).bytes}

    def test_kinds_that_differ_between_files(self, spark: Any, tmp_path: Path) -> None:
        """`mixed=` and `numbers=` had no effect on them, and JSON of texts had no quotes."""
        large = 2**53 + 1
        for name, values in {
            "one": [[1, "A1"]],
            "i": [[1], ["A1"]],
            "deep": [[{"a": [1]}], [{"a": ["x"]}]],
            "g": [[1], [2.5], [large]],
            "empty": [[]],
        }.items():
            (tmp_path / name).mkdir()
            for number, part in enumerate(values):
                livebuf.dump([{"v": value} for value in part], tmp_path / name / f"{number}.lbuf")

        def read(name: str, **options: str) -> list[Any]:
            reader = spark.read.format("livebuf").options(**options)
            found = reader.load(str(tmp_path / name)).collect()
            return [each.asDict(recursive=True)["v"] for each in found]

        assert read("i") == ["1", "A1"]
        assert read("i", mixed="json") == read("one", mixed="json") == ["1", '"A1"']
        assert read("deep", mixed="json") == [{"a": ["1"]}, {"a": ['"x"']}]
        assert read("g", numbers="text") == ["1", "2.5", str(large)]
        assert read("g", numbers="decimal") == [1, 2.5, large]
        assert read("empty") == []
        for given, match in ((None, "set numbers= to"), ("v double", 'numbers="float" rounds it')):
            reader = spark.read.format("livebuf")
            reader = reader if given is None else reader.schema(given)
            with pytest.raises(Exception, match=f"does not fit float64; {match}"):
                reader.load(str(tmp_path / "g")).collect()
        assert read("g", numbers="float") == [1.0, 2.5, float(large)]
        with pytest.raises(Exception, match=r"1.lbuf: column 'v' is int64 .* string here"):
            read("i", mixed="raise")


class TestDamage:
    def test_files(self, spark: Any, folder: Path) -> None:
        (folder / "c.lbuf").write_bytes(b"no document at all")
        with pytest.raises(Exception, match=r"c.lbuf: not a LiveBuf document"):
            load(spark, folder).count()
        assert load(spark, folder, onError="skip").count() == 2 * COUNT

    def test_columns(self, spark: Any, folder: Path) -> None:
        data = bytearray((folder / "a.lbuf").read_bytes())
        data[data.index(b"text number")] = 0xFF
        (folder / "a.lbuf").write_bytes(data)
        given = spark.read.format("livebuf").option("table", "/rows").option("partitionRows", 5000)
        assert given.schema("id bigint").load(str(folder)).count() == 2 * COUNT
        with pytest.raises(Exception, match=r"a.lbuf, rows .* not UTF-8 at offset"):
            given.schema("id bigint, text string").load(str(folder)).collect()
        skipping = given.schema("text string").option("onError", "skip").load(str(folder))
        assert skipping.count() == COUNT

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"tabel": "/rows"}, "no option 'tabel'"),
            ({"onError": "ignore"}, "on_error must be 'raise' or 'skip'"),
            ({"partitionRows": "0"}, "partitionRows must be a number from 1 on"),
            ({"missingColumns": "no"}, "missingColumns must be"),
            ({"trusted": "maybe"}, "trusted must be true or false"),
            ({"columns": "id,nope"}, "there is no column 'nope'"),
            ({"columns": "[1]"}, "columns must be a JSON array of texts"),
        ],
    )
    def test_wrong_options(
        self, spark: Any, folder: Path, options: dict[str, str], message: str
    ) -> None:
        with pytest.raises(Exception, match=message):
            load(spark, folder, **options).count()

    def test_nothing_there(self, spark: Any, tmp_path: Path) -> None:
        with pytest.raises(Exception, match=r"FileNotFoundError: .*no document"):
            load(spark, tmp_path).count()


class TestWrite:
    def test_a_document_for_each_partition(self, spark: Any, folder: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        save(load(spark, folder).repartition(3), out)
        assert len(names(out)) == 3 and ids(out) == list(range(2 * COUNT))
        back = load(spark, out)
        assert back.exceptAll(load(spark, folder)).count() == 0 and back.count() == 2 * COUNT
        save(load(spark, folder).limit(10), out)
        assert len(ids(out)) == 2 * COUNT + 10
        save(load(spark, folder).filter("id < 7").coalesce(1), out, "overwrite")
        assert ids(out) == list(range(7)) and len(names(out)) == 1

    def test_a_task_that_fails_once(self, spark: Any, folder: Path, tmp_path: Path) -> None:
        out, marker = tmp_path / "out", str(tmp_path / "failed")

        def fail_once(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                yield batch
                if batch.column("id")[0].as_py() >= COUNT:
                    try:
                        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                    except FileExistsError:
                        continue
                    raise RuntimeError("the first attempt fails")

        frame = load(spark, folder, partitionRows="5000").select("id", "text")
        save(frame.mapInArrow(fail_once, "id bigint, text string"), out)
        assert os.path.exists(marker)
        assert ids(out) == list(range(2 * COUNT)) and len(names(out)) == 8

    def test_a_job_that_fails(self, spark: Any, folder: Path, tmp_path: Path) -> None:
        """Nothing of it is left, and what was there is as before."""
        out = tmp_path / "out"
        save(load(spark, folder).filter("id < 5").coalesce(1), out)
        before = names(out)
        wrong = load(spark, folder, partitionRows="5000").selectExpr(
            "if(id = 33000, raise_error('no'), id) as id"
        )
        for mode in ("append", "overwrite"):
            with pytest.raises(Exception, match="no"):
                save(wrong, out, mode)
            assert names(out) == before and ids(out) == list(range(5))

    def test_attempts_that_nobody_commits(self, tmp_path: Path) -> None:
        """A task that wrote and then was lost, and one that ran twice at once."""
        import pyarrow as pa

        source = livebuf.spark.DefaultSource({"path": str(tmp_path / "out"), "table": "/rows"})
        writer = source.writer(None, False)  # type: ignore[arg-type]
        batch = pa.record_batch({"id": [1, 2, 3]})
        attempts = [writer.write(iter([batch])) for _ in range(3)]
        empty = writer.write(iter([]))
        assert ids(tmp_path / "out") == [] and len(names(tmp_path / "out")) == 3
        writer.commit([attempts[1], empty, None])
        assert ids(tmp_path / "out") == [1, 2, 3] and len(names(tmp_path / "out")) == 1
        other = source.writer(None, True)  # type: ignore[arg-type]
        other.abort([other.write(iter([batch])), None])
        assert ids(tmp_path / "out") == [1, 2, 3] and len(names(tmp_path / "out")) == 1

    def test_urls(self, tmp_path: Path) -> None:
        import fsspec
        import pyarrow as pa

        fs = fsspec.filesystem("memory")
        source = livebuf.spark.DefaultSource({"path": "memory://out", "table": "/rows"})
        batch = pa.record_batch({"id": [1, 2, 3]})
        try:
            for overwrite in (False, True):
                writer = source.writer(None, overwrite)  # type: ignore[arg-type]
                writer.write(iter([batch]))
                writer.commit([writer.write(iter([batch]))])
                [name] = fs.ls("/out", detail=False)
                assert livebuf.load(f"memory://{name.lstrip('/')}") == {
                    "rows": [{"id": n} for n in (1, 2, 3)]
                }
        finally:
            fs.rm("/out", recursive=True)


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for parents in /proc")
class TestAKilledExecutor:
    def kill_one(self, started: Path, job: Callable[[], Any]) -> Any:
        """Kills an executor in the middle of a task, once five tasks have begun."""
        victims: list[int] = []

        def kill() -> None:
            for _ in range(2400):
                markers = sorted(started.iterdir(), key=lambda path: path.stat().st_mtime_ns)
                if len(markers) >= 5:
                    # The executor starts a process that forks workers.
                    victim = parent(int(markers[-1].name.partition("-")[0]))
                    assert b"CoarseGrainedExecutorBackend" in (
                        Path(f"/proc/{victim}/cmdline").read_bytes()
                    )
                    os.kill(victim, signal.SIGKILL)
                    victims.append(victim)
                    return
                time.sleep(0.02)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            done = job()
        finally:
            killer.join()
        assert victims, "no executor was killed"
        # The task was begun again.
        assert len(list(started.iterdir())) > 14
        return done

    def slow(self, frame: Any, started: Path) -> Any:
        where = str(started)

        def work(batches: Iterator[Any]) -> Iterator[Any]:
            open(os.path.join(where, f"{os.getppid()}-{uuid.uuid4().hex}"), "x").close()
            for batch in batches:
                time.sleep(0.7)
                yield batch

        return frame.mapInArrow(work, frame.schema)

    def test_reading(self, spark: Any, folder: Path, tmp_path: Path) -> None:
        started = tmp_path / "started"
        started.mkdir()
        frame = self.slow(load(spark, folder, partitionRows="3000").select("id"), started)
        found = self.kill_one(started, frame.collect)
        assert sorted(row.id for row in found) == list(range(2 * COUNT))

    def test_writing(self, spark: Any, folder: Path, tmp_path: Path) -> None:
        started, out = tmp_path / "started", tmp_path / "out"
        started.mkdir()
        frame = self.slow(load(spark, folder, partitionRows="3000").select("id"), started)
        self.kill_one(started, lambda: save(frame, out))
        assert ids(out) == list(range(2 * COUNT)) and len(names(out)) == 14


class TestColumns:
    def documents(self, spark: Any, values: list[Any]) -> Any:
        documents = [(bytearray(livebuf.dumps({"a": {"b": value}})),) for value in values]
        return spark.createDataFrame([*documents, (None,), (bytearray(b"damaged"),)], "d binary")

    def test_get(self, spark: Any) -> None:
        frame = self.documents(spark, [1, 2**40, "x", 1.5, None, True])
        for dtype, wanted in {
            "int": [1, None, None, None, None, None],
            "bigint": [1, 2**40, None, None, None, None],
            "double": [1.0, 2.0**40, None, 1.5, None, None],
            "string": [None, None, "x", None, None, None],
            "boolean": [None, None, None, None, None, True],
        }.items():
            column = livebuf.spark.get("d", "/a/b", dtype, on_error="null")
            found = [row[0] for row in frame.select(column).collect()]
            assert found == [*wanted, None, None], dtype
        nested = livebuf.spark.get(frame.d, "/a", "struct<b: string>", on_error="null")
        assert frame.select(nested.alias("a")).collect()[2].a.b == "x"

    def test_errors(self, spark: Any) -> None:
        frame = self.documents(spark, [1]).coalesce(1)
        with pytest.raises(Exception, match=r"row 2, at '/a/b': not a LiveBuf document"):
            frame.select(livebuf.spark.get("d", "/a/b", "bigint")).collect()
        with pytest.raises(Exception, match=r"row 2, at '': not a LiveBuf document"):
            frame.select(livebuf.spark.to_variant("d")).collect()
        with pytest.raises(ValueError, match="on_error"):
            livebuf.spark.get("d", "/a", "int", "skip")  # type: ignore[arg-type]

    def test_to_variant(self, spark: Any) -> None:
        value = {"deep": [1, 2.5, {"text": "é", "null": None}], "big": 2**60, "flag": False}
        frame = self.documents(spark, [value])
        variants = frame.select(livebuf.spark.to_variant("d", "null").alias("v"))
        found = variants.selectExpr(
            "to_json(v)", "variant_get(v, '$.a.b.deep[2].text', 'string')"
        ).collect()
        assert livebuf.from_json(found[0][0])["a"]["b"] == value and found[0][1] == "é"
        assert [tuple(row) for row in found[1:]] == [(None, None)] * 2
