"""Logs: rows in, rows and columns out, readers beside a writer, torn and damaged files."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import errno
import gc
import json
import os
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import livebuf
import pytest
from livebuf import Log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.lblog"


def event(n: int) -> dict[str, Any]:
    return {"ts": 1_700_000_000_000 + n, "user": n % 97, "kind": ("click", "buy")[n % 2]}


def test_rows_come_back(path: Path) -> None:
    rows = [event(n) for n in range(1000)]
    with livebuf.Log(path, "x") as log:
        for row in rows[:10]:
            log.append(row)
        assert log.extend(rows[10:500]) == 490
        assert log.extend(iter(rows[500:])) == 500
        log.append([1, None, "x", decimal.Decimal("1.5")])
        assert len(log) == 1001
        assert log[3] == rows[3]
        assert list(log)[:1000] == rows
        assert repr(log) == f"<livebuf.Log {path} of 1001 rows>"
    assert log.closed
    with pytest.raises(livebuf.ClosedError):
        log.append(1)
    log = livebuf.Log(path)
    assert (log.name, log.mode, log.torn) == (path, "r", None)
    assert log[-1] == [1, None, "x", decimal.Decimal("1.5")]
    assert log[995:] == [*rows[995:], log[1000]]
    assert log[::-500] == [log[1000], log[500], log[0]]
    assert log[5:2] == []
    for index in (1001, -1002):
        with pytest.raises(livebuf.IndexRangeError):
            log[index]
    with pytest.raises(livebuf.WrongTypeError):
        log["ts"]  # type: ignore[call-overload]
    with pytest.raises(livebuf.ReadOnlyError):
        log.append(1)
    assert log.stats()["rows"] == 1001


def test_modes(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        livebuf.Log(path)
    with livebuf.Log(path, "a") as log:
        log.append(1)
        for mode in ("a", "w"):
            with pytest.raises(BlockingIOError):
                livebuf.Log(path, mode)  # type: ignore[arg-type]
    with pytest.raises(FileExistsError) as caught:
        livebuf.Log(path, "x")
    assert caught.value.errno == errno.EEXIST
    with livebuf.Log(path, "a") as log:
        log.append(2)
    assert list(livebuf.Log(path)) == [1, 2]
    with livebuf.Log(path, "w", sync=True) as log:
        log.append(3)
    assert list(livebuf.Log(str(path))) == [3]
    with pytest.raises(ValueError, match="mode must be"):
        livebuf.Log(path, "rb")  # type: ignore[arg-type]


def test_rows_that_cannot_be_stored(path: Path) -> None:
    log = livebuf.Log(path, "w")
    with pytest.raises(livebuf.EncodeError):
        log.append({"a": object()})
    with pytest.raises(livebuf.EncodeError, match=r"at obj\[2\]"):
        log.extend([1, 2, object()])
    with pytest.raises(ZeroDivisionError):
        log.extend(1 // n for n in (2, 1, 0))
    with pytest.raises(TypeError):
        log.extend(5)  # type: ignore[arg-type]
    assert len(log) == 0
    log.close()
    with livebuf.Log(path, "a", default=str) as log:
        log.append({"a": object})
        log.extend([object])
    assert list(livebuf.Log(path)) == [{"a": "<class 'object'>"}, "<class 'object'>"]


def test_a_row_may_look_at_the_log(path: Path) -> None:
    """Python code that runs while rows are encoded uses the log: it must not wait for itself."""
    log = livebuf.Log(path, "w", default=lambda _: len(log))
    log.append(object())
    log.extend([object(), object()])
    assert list(log) == [0, 1, 1]

    def adding() -> Any:
        for n in range(3):
            log.append("inner")
            yield n

    assert log.extend(adding()) == 3
    assert sorted(map(str, list(log)[3:])) == ["0", "1", "2", "inner", "inner", "inner"]


def test_readers_beside_a_writer(path: Path) -> None:
    writer = livebuf.Log(path, "w")
    reader = livebuf.Log(path)
    assert reader.refresh() == 0
    writer.extend(range(10))
    assert len(reader) == 0
    assert reader.refresh() == 10
    for n in range(10, 1000):
        writer.append(n)
    before, after = writer.compact()
    assert after < before
    assert list(reader) == list(range(10))
    assert reader.refresh() == 990
    assert list(reader) == list(range(1000))
    code = f"import livebuf; log = livebuf.Log({str(path)!r}); print(len(log), log[999])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "1000 999\n", done.stderr


def test_threads_share_a_log(path: Path) -> None:
    log = livebuf.Log(path, "w")

    def work(name: int) -> None:
        for n in range(200):
            log.append([name, n])
            log[-1]

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = list(log)
    for name in range(4):
        assert [n for other, n in rows if other == name] == list(range(200))


def test_torn_and_damaged_files(path: Path) -> None:
    with livebuf.Log(path, "w", sync=True) as log:
        log.append("first")
        log.append("second")
    whole = path.read_bytes()
    path.write_bytes(whole + b"torn")
    reader = livebuf.Log(path)
    assert reader.torn == (len(whole), 4)
    assert list(reader) == ["first", "second"]
    with pytest.warns(RuntimeWarning, match=f"dropped 4 bytes from offset {len(whole)} on"):
        log = livebuf.Log(path, "a")
    assert log.torn == (len(whole), 4)
    log.close()
    assert path.read_bytes()[64:] == whole[64:]
    damaged = bytearray(whole)
    damaged[70] ^= 1
    path.write_bytes(damaged)
    for mode in ("r", "a"):
        with pytest.raises(livebuf.DamagedError) as caught:
            livebuf.Log(path, mode)  # type: ignore[arg-type]
        assert caught.value.offset == 64
    assert path.read_bytes() == damaged
    path.write_bytes(whole[:-1])
    with pytest.raises(livebuf.DamagedError, match="the log was cut"):
        livebuf.Log(path)
    path.write_text("{}")
    with pytest.raises(livebuf.DamagedError, match="not a log"):
        livebuf.Log(path)


def test_columns(path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    with livebuf.Log(path, "w") as log:
        log.extend(event(n) for n in range(70_000))
        for n in range(5):
            log.append({"user": 0.5, "extra": {"n": n}})
        log.append({"ts": None})
    log = livebuf.Log(path)
    assert log.schema == {
        "ts": "int64", "user": "float64", "kind": "utf8", "extra": "struct",
    }  # fmt: skip
    table = pyarrow.table(log)
    assert table.num_rows == 70_006
    assert table.column("user").to_pylist()[:3] == [0.0, 1.0, 2.0]
    assert table.column("extra").to_pylist()[-3:] == [{"n": 3}, {"n": 4}, None]
    frame = polars.DataFrame(log.select(["user", ("extra", "n"), "extra.n"][:2]))
    assert frame.columns == ["user", "extra.n"]
    assert frame["extra.n"].sum() == 10
    assert log.select(["ts"]).schema == {"ts": "int64"}
    with pytest.raises(livebuf.MissingKeyError):
        polars.DataFrame(log.select(["none"]))
    with pytest.raises(livebuf.WrongTypeError):
        log.select("ts")
    found = duckdb.sql("select count(*), max(ts) from log").fetchall()
    assert found == [(70_006, 1_700_000_069_999)]
    # And back: what Arrow has becomes rows.
    with livebuf.Log(path, "w") as copy:
        assert copy.extend(table) == 70_006
        assert copy[-1] == {"ts": None, "user": None, "kind": None, "extra": None}
        assert copy.extend(livebuf.Document.from_python([{"a": 1}]).root.table) == 1
        assert copy[-1] == {"a": 1}


def test_types_are_remembered(path: Path) -> None:
    """And what comes later is seen; after compaction, too, which makes other groups."""
    writer, expected = livebuf.Log(path, "w"), {"n": "int64"}
    writer.extend({"n": n} for n in range(1000))
    reader = livebuf.Log(path)

    def check() -> None:
        reader.refresh()
        for log in (writer, reader):
            for _ in range(2):
                assert log.schema == expected
                assert log.select(["n"]).schema == {"n": expected["n"]}
        rows = pytest.importorskip("pyarrow").table(reader)
        assert rows.column_names == list(expected) and rows.num_rows == len(reader)

    check()
    writer.append({"n": 0.5})
    expected["n"] = "float64"
    check()
    for n in range(3000):
        writer.append({"n": n, "late": f"text {n}"})
    expected["late"] = "utf8"
    check()
    writer.compact()
    check()
    writer.extend({"n": n, "more": True} for n in range(70_000))
    expected["more"] = "bool"
    check()
    writer.close()
    # Another log in the place of this one.
    with livebuf.Log(path, "w") as other:
        other.extend({"n": str(n)} for n in range(5000))
    reader.refresh()
    assert reader.schema == {"n": "utf8"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("rows", [["p"], ["p" * 300, "q"]])
def test_a_forked_process_adds_no_rows(path: Path, rows: list[str]) -> None:
    """Both wrote at the same end. Synced rows were lost, or all behind them was damaged."""
    script = f"""if True:
        import livebuf, os
        log = livebuf.Log({str(path)!r}, "x")
        log.append("start")
        log.sync()
        child = os.fork()
        if child == 0:
            refused = 0
            for work in (lambda: log.append("c"), lambda: log.extend(["c"]), log.compact):
                try:
                    work()
                except OSError as error:
                    assert "forked" in str(error), error
                    refused += 1
            assert list(log) == ["start"]       # it can still be read
            log.close()
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        for row in {rows!r}:
            log.append(row)
        log.sync()
        child = os.fork()
        if child == 0:
            del log                             # writes nothing either
            os._exit(0)
        os.waitpid(child, 0)
        log.append("end")
        log.close()
    """
    subprocess.run([sys.executable, "-c", script], check=True)
    log = livebuf.Log(path)
    assert list(log) == ["start", *rows, "end"] and log.torn is None


def test_types(path: Path) -> None:
    @dataclasses.dataclass
    class Event:
        kind: str
        n: int = 0

    with Log(path, "x", type=Event) as log:
        log.extend({"kind": "click", "n": n, "more": None} for n in range(5))
        assert log[1] == Event("click", 1) and log[3:] == [Event("click", 3), Event("click", 4)]
    assert list(Log(path, type=Event).rows(3)) == [Event("click", 3), Event("click", 4)]
    assert [row["n"] for row in Log(path).rows(1, 3)] == [1, 2]
    assert list(Log(path).rows(9)) == [] == list(Log(path).rows(2, 2))
    with pytest.raises(livebuf.WrongTypeError):
        list(Log(path, type=list[int]))
    with pytest.raises(TypeError):
        Log(path, type=5)


def test_waiting_for_the_lock(path: Path) -> None:
    first = Log(path, "x")
    for timeout in (0, 0.02):
        start = time.monotonic()
        with pytest.raises(BlockingIOError):
            Log(path, "a", timeout=timeout)
        assert time.monotonic() - start >= timeout

    def later() -> None:
        time.sleep(0.05)
        first.close()

    thread = threading.Thread(target=later)
    thread.start()
    with Log(path, "a", timeout=None) as second:
        second.append(1)
    thread.join()
    assert list(Log(path)) == [1]


def test_writers_take_turns(path: Path) -> None:
    code = """
import sys, livebuf
for turn in range(30):
    with livebuf.Log(sys.argv[1], "a", timeout=60) as log:
        log.extend([int(sys.argv[2])] * 3)
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(n)]) for n in range(3)
    ]
    assert [process.wait(120) for process in processes] == [0, 0, 0]
    rows = list(Log(path))
    assert len(rows) == 270
    assert all(rows[at] == rows[at + 1] == rows[at + 2] for at in range(0, 270, 3))


def test_numbers_without_json_in_mixed_columns(tmp_path: Path) -> None:
    """They are null where that is asked for, from a log and from a scan of its file."""
    polars = pytest.importorskip("polars")
    from livebuf.polars import scan

    path = tmp_path / "mixed.lblog"
    with Log(path, "w") as log:
        log.extend([{"v": float("nan")}, {"v": "x"}, {"v": float("inf")}])
        with pytest.raises(polars.exceptions.ComputeError, match="non_finite"):
            log.to_polars()
        frame = log.with_options(non_finite="null").to_polars()
        assert frame["v"].to_list() == ["null", "x", "null"]
    assert scan(path, non_finite="null").collect().equals(frame)
    with pytest.raises(ValueError, match="non_finite"):
        scan(path, non_finite="zero")  # type: ignore[arg-type]


def test_damage(path: Path) -> None:
    with Log(path, "x", sync=True) as log:
        for n in range(20):
            log.append({"n": n, "text": "x" * 50})
    whole = path.read_bytes()
    data = bytearray(whole)
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    log = Log(path)
    read: list[int] = []
    with pytest.raises(livebuf.DamagedError):
        for row in log:
            read.append(row["n"])
    assert read == list(range(len(read))) and len(read) > 5
    bad: list[livebuf.Error] = []
    rows = [row["n"] for row in log.rows(skip_bad=bad.append)]
    assert len(bad) == 1 and isinstance(bad[0], livebuf.DamagedError)
    assert rows == [n for n in range(20) if n != len(read)]
    assert [row["n"] for row in log.rows(15, skip_bad=bad.append)] == list(range(15, 20))
    with pytest.raises(TypeError, match="skip_bad"):
        log.rows(skip_bad=3)  # type: ignore[arg-type]

    repaired = Log.repair(path)
    assert (repaired.rows, repaired.lost_rows) == (19, 1) and repaired.lost_bytes > 0
    assert repaired.old.read_bytes() == (data_of_rows := bytes(data))
    assert [row["n"] for row in Log(path)] == rows

    # Rows that were written together are damaged together.
    together = path.with_name("together")
    with Log(together, "w") as log:
        log.extend({"n": n} for n in range(3000))
        log.extend({"n": n} for n in range(3000, 5000))
    data = bytearray(together.read_bytes())
    data[len(data) // 2] ^= 1
    together.write_bytes(data)
    bad.clear()
    read = [row["n"] for row in Log(together).rows(skip_bad=bad.append)]
    assert len(bad) == 1 and read == list(range(3000, 5000))
    counts = Log.repair(together)
    assert (counts.rows, counts.lost_rows) == (2000, 3000)

    # Cut short: it cannot be opened until it is repaired. Bug: a second repair was a
    # FileExistsError, since the first one's old file had the name. It takes another one.
    path.write_bytes(whole[:-37])
    with pytest.raises(livebuf.DamagedError, match="repair"):
        Log(path)
    again = Log.repair(path)
    assert again.rows == 19 == len(Log(path))
    assert (repaired.old.read_bytes(), again.old.read_bytes()) == (data_of_rows, whole[:-37])
    assert [old.name for old in (repaired.old, again.old, Log.repair(path).old)] == [
        f"{path.name}.damaged{number}" for number in ("", "-2", "-3")
    ]
    path.write_bytes(b"no log" * 20)
    with pytest.raises(livebuf.DamagedError):
        Log.repair(path)
    with pytest.raises(FileNotFoundError):
        Log.repair(path.with_name("missing"))


def test_damage_of_groups(path: Path) -> None:
    with Log(path, "x", sync=True) as log:
        for start in range(0, 300, 100):
            log.extend({"n": n} for n in range(start, start + 100))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    bad: list[livebuf.Error] = []
    rows = [row["n"] for row in Log(path).rows(skip_bad=bad.append)]
    assert bad and 0 < len(rows) < 300 and rows == sorted(rows) and 0 in rows and 299 in rows


class TestCompactsItself:
    """A log to which rows come one by one."""

    def test_it_stays_small(self, path: Path) -> None:
        rows = [{"user": n % 9, "kind": "click", "at": 1_700_000_000 + n} for n in range(20_000)]
        lines = 0
        for start in range(0, len(rows), 100):
            with Log(path, "a") as log:
                for row in rows[start : start + 100]:
                    log.append(row)
                    lines += len(json.dumps(row, separators=(",", ":"))) + 1
            assert start < 5000 or path.stat().st_size < 1.2 * lines
        assert list(Log(path)) == rows
        with Log(path, "a", compact_at=None) as log:
            for row in rows:
                log.append(row)
        assert path.stat().st_size > 2 * lines

    def test_rows_that_are_no_group_yet_are_those_of_the_file(self, path: Path) -> None:
        """They are remembered from one export to the next, and not longer than they are all."""
        polars = pytest.importorskip("polars")
        with Log(path, "x") as log, Log(path) as reader:
            assert not list(reader)
            for count in range(1, 40):
                log.extend({"n": n} for n in range(10 * count - 10, 10 * count))
                for one in (log, Log(path)):
                    for _ in range(2):
                        assert polars.DataFrame(one)["n"].to_list() == list(range(10 * count))
                        last = polars.DataFrame(one.between("n", 10 * count - 3, 10**9))
                        assert last["n"].to_list() == list(range(10 * count - 3, 10 * count))
            before = log.between("n", 385, 10**9)
            log.compact()
            log.append({"n": 390})
            assert polars.DataFrame(log)["n"].to_list() == list(range(391))
            assert polars.DataFrame(before)["n"].to_list() == list(range(385, 390))

    def test_what_was_remembered_of_its_groups_is_not_of_the_new_ones(self, path: Path) -> None:
        polars = pytest.importorskip("polars")
        with Log(path, "x") as log:
            log.extend({"n": n} for n in range(70_000))
            assert log.schema == {"n": "int64"}
            assert polars.DataFrame(log.between("n", 10, 11)).rows() == [(10,), (11,)]
            before = log.stats()["groups"]
            # Half of the rows so far are wasted, then all are written anew.
            for n in range(200_000):
                log.append({"n": n / 2, "more": "x"})
                if log.stats()["groups"] != before and not log.stats()["dead_bytes"]:
                    break
            else:
                pytest.fail("it did not compact itself")
            assert log.schema == {"n": "float64", "more": "utf8"}
            found = polars.DataFrame(log.between("n", 10, 10.5))
            assert found.rows() == [(10.0, None), (10.0, "x"), (10.5, "x")]


class TestBetween:
    """Rows by the values of a column, for Arrow."""

    def test_groups_that_have_none_are_not_read_again(self, path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        start = datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)
        second = datetime.timedelta(seconds=1)
        with Log(path, "x") as log:
            log.extend({"n": n, "at": start + n * second} for n in range(140_000))
        log = Log(path)
        last = start + 139_999 * second

        def found(low: int, high: int) -> list[int]:
            rows = pyarrow.table(log.between("n", low, high))["n"].to_pylist()
            dates = log.between("at", start + low * second, start + high * second)
            assert pyarrow.table(dates)["n"].to_pylist() == rows
            return rows

        assert found(139_990, 200_000) == [*range(139_990, 140_000)]
        # The first group is damaged now, and nobody looks at it.
        data = bytearray(path.read_bytes())
        data[500] ^= 1
        path.write_bytes(data)
        assert found(139_990, 139_995) == [*range(139_990, 139_996)]
        assert found(65_536, 65_537) == [65_536, 65_537]
        assert pyarrow.table(log.between("n", 65_535.5, 65_536)).num_rows == 1
        assert pyarrow.table(log.between("at", last, last)).num_rows == 1
        with pytest.raises((livebuf.Error, pyarrow.ArrowInvalid), match="damaged"):
            found(65_535, 65_536)

    def rows(self) -> list[dict[str, Any]]:
        start = datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)
        return [
            {
                "ts": n * 7919 % 5000,
                "at": start + datetime.timedelta(seconds=n),
                "kind": "abc"[n % 3],
                "user": {"id": n},
                "x": [n, str(n)][n % 2],
            }
            | ({"late": n / 4} if n > 4000 else {})
            for n in range(5000)
        ]

    def test_what_is_found(self, path: Path) -> None:
        polars = pytest.importorskip("polars")
        rows = self.rows()
        with Log(path, "x") as log:
            for start in range(0, 4200, 700):
                log.extend(rows[start : start + 700])
            for row in rows[4200:]:
                log.append(row)
            frame = polars.DataFrame(log)
            ids = frame["user"].struct.field("id")
            for name, low, high in (
                ("ts", 100, 130),
                ("ts", 0, 10**30),
                ("ts", -1.5, 0.5),
                ("ts", 6000, 7000),
                ("at", rows[1000]["at"], rows[1010]["at"]),
                ("kind", "b", "b"),
                ("kind", "aa", "bzz"),
                ("user.id", 690, 720),
                (("user", "id"), 4190, 4210),
                ("late", 1010.0, 1020.25),
            ):
                found = polars.DataFrame(log.between(name, low, high))
                keys = name if isinstance(name, tuple) else tuple(name.split("."))

                def value(row: dict[str, Any], keys: tuple[str, ...] = keys) -> Any:
                    for key in keys:
                        row = row.get(key)  # type: ignore[assignment]
                    return row

                wanted = [
                    n
                    for n, row in enumerate(rows)
                    if value(row) is not None and low <= value(row) <= high  # type: ignore[operator]
                ]
                assert found.schema == frame.schema
                assert found["user"].struct.field("id").to_list() == [ids[n] for n in wanted]
                assert found.rows() == [frame.row(n) for n in wanted]
                some = log.between(name, low, high).select(["kind", "user.id"])
                assert polars.DataFrame(some)["user.id"].to_list() == wanted
                assert some.schema == log.select(["kind", "user.id"]).schema

    def test_errors(self, path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        with Log(path, "x") as log:
            assert pyarrow.table(log.between("ts", 1, 2)).num_rows == 0
            log.extend(self.rows()[:10])
            with pytest.raises(livebuf.MissingKeyError, match='no column "nothing"'):
                pyarrow.table(log.between("nothing", 1, 2))
            with pytest.raises(livebuf.WrongTypeError, match="one kind"):
                log.between("ts", 1, datetime.date(2026, 1, 1))
            with pytest.raises(TypeError):
                log.between("ts", 1, None)
            with pytest.raises(TypeError):
                log.between(1, 1, 2)  # type: ignore[arg-type]
            # Of another kind than the column's values: none.
            assert pyarrow.table(log.between("ts", "a", "b")).num_rows == 0
            assert pyarrow.table(log.select(["kind"]).between("ts", 0, 0)).to_pydict() == {
                "kind": ["a"]
            }


class TestNamesWithDots:
    """Bug: `"a.b"` was the key `b` in an object `a`, also where rows have a key `a.b`, which a
    table gives by this name. `select` and `between` of such a log raised `MissingKeyError`."""

    def test_keys_come_first(self, path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        rows: list[dict[str, Any]] = [{"a.b": n, "a": {"b": -n, "c": n}} for n in range(10)]
        with Log(path, "x") as log:
            log.extend(rows)
            table = livebuf.Document.from_python(rows).root.table
            for names in (["a.b"], [("a", "b")], ["a.c", "a.b"]):
                found = pyarrow.table(log.select(names))
                assert found.equals(pyarrow.table(table.select(names)))
            for name, low, high in (("a.b", 3, 4), (("a", "b"), -4, -3), ("a.c", 3, 4)):
                assert pyarrow.table(log.between(name, low, high))["a.b"].to_pylist() == [3, 4]
                chosen = log.select([name]).between(name, low, high)
                assert sorted(map(abs, pyarrow.table(chosen)[0].to_pylist())) == [3, 4]

    def test_in_any_row(self, path: Path) -> None:
        """One row with the key decides for all, as in a table, in whichever group it is."""
        pyarrow = pytest.importorskip("pyarrow")
        with Log(path, "x", compact_at=None) as log:
            log.extend({"a": {"b": n}} for n in range(70_000))
            for _ in range(2):
                assert pyarrow.table(log.between("a.b", 69_999, 10**6)).num_rows == 1
                assert pyarrow.table(log.select(["a.b"]))["a.b"][-1].as_py() == 69_999
            log.append({"a.b": 5})
            assert pyarrow.table(log.between("a.b", 0, 10**6)).num_rows == 1
            assert pyarrow.table(log.select(["a.b"]))["a.b"].to_pylist()[-2:] == [None, 5]
            log.extend({"a": {"b": 7}} for n in range(70_000))
            assert pyarrow.table(log.between("a.b", 0, 10**6)).num_rows == 1
            assert pyarrow.table(log.between(("a", "b"), 7, 7)).num_rows == 70_001
        with Log(path) as log:
            assert pyarrow.table(log.between("a.b", 0, 10**6)).num_rows == 1


def test_logs_in_circles_are_collected(tmp_path: Path) -> None:
    """Bug: a log whose `default` leads to it was never collected, nor its file unlocked."""
    path = tmp_path / "x.lblog"

    class Holder:
        def __init__(self):
            self.log = livebuf.Log(path, "x", default=self.text)
            self.rows = livebuf.Log(path).rows(skip_bad=self.text)

        def text(self, value):
            return str(value)

    holder = weakref.ref(Holder())
    gc.collect()
    assert holder() is None
    livebuf.Log(path, "a").close()


def test_rows_of_logs_that_no_machine_word_holds(tmp_path: Path) -> None:
    """Bug: the number of a row was said to be of a wrong type."""
    with livebuf.Log(tmp_path / "x.lblog", "x") as log:
        log.append({"x": 1})
        for row in (10**30, -(10**30)):
            with pytest.raises(IndexError, match=f"row {row} is out of range"):
                log[row]
        assert log.index({"x": 1}, 0, 10**30) == 0
