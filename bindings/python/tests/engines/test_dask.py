"""`livebuf.dask` on a cluster of two processes. `make test-engines` installs Dask."""

from __future__ import annotations

import doctest
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import livebuf
import pytest

for library in ("dask", "distributed", "pandas", "pyarrow"):
    pytest.importorskip(library, reason=f"{library} is not installed: make test-engines")
import livebuf.dask  # noqa: E402
import pandas as pd  # noqa: E402

# What Dask itself does.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning",
    "ignore::DeprecationWarning",
    "ignore:Running on a single-machine scheduler:UserWarning",
)

COUNT = 10_000


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """COUNT rows in a document, and COUNT in a log that lacks a column."""
    livebuf.dump({"rows": [row(n) for n in range(COUNT)]}, tmp_path / "a.lbuf")
    with livebuf.Log(tmp_path / "b.lblog", "x") as log:
        log.extend({"id": n, "text": "later"} for n in range(COUNT, 2 * COUNT))
    return tmp_path


def row(n: int) -> dict[str, Any]:
    return {
        "id": n,
        "half": n / 2 if n % 3 else None,
        "text": f"text number {n % 9}",
        "at": {"x": n},
    }


def read(paths: Any, **how: Any) -> Any:
    return livebuf.dask.read(paths, "/rows", **how)


def pid(frame: Any) -> Any:
    return pd.Series([os.getpid()] * max(1, len(frame)))


def test_two_processes_read(client: Any, folder: Path) -> None:
    frame = read(folder, partition_rows=1000)
    assert frame.npartitions == 20 and list(frame.columns) == ["id", "half", "text", "at"]
    pids = set(frame.map_partitions(pid, meta=(None, "int64")).compute())
    assert os.getpid() not in pids and len(pids) == 2
    assert len(frame) == 2 * COUNT
    assert frame["id"].compute().to_list() == list(range(2 * COUNT))
    sums = frame.groupby("text")["half"].sum().compute()
    for n in range(9):
        assert sums[f"text number {n}"] == sum(m / 2 for m in range(n, COUNT, 9) if m % 3)
    assert frame["half"].isna().sum().compute() == COUNT + len(range(0, COUNT, 3))


def test_columns_are_pushed_down(client: Any, folder: Path) -> None:
    """A damaged column does not matter to who does not read it."""
    path = folder / "a.lbuf"
    data = bytearray(path.read_bytes())
    at = data.index(b"text number")
    data[at] = 0xFF
    path.write_bytes(data)
    import pyarrow as pa

    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    frame = read(path, schema=schema, partition_rows=4000)
    big = frame[frame["id"] >= 10]
    assert big["id"].sum().compute() == sum(range(10, COUNT))
    with pytest.raises(livebuf.DamagedError, match=r"a.lbuf, rows .*: .* at offset"):
        frame["text"].count().compute()
    with pytest.warns(RuntimeWarning, match="a.lbuf"):
        skipping = read(path, schema=schema, on_error="skip")
        assert len(skipping["text"].compute(scheduler="synchronous")) == 0


def test_types_and_schemas(client: Any, tmp_path: Path) -> None:
    livebuf.dump([{"n": 2**60 + 1, "v": None}, {"n": None, "v": None}], tmp_path / "a.lbuf")
    livebuf.dump([{"n": 5, "v": "x", "l": [1]}], tmp_path / "b.lbuf")
    frame = livebuf.dask.read(tmp_path).compute()
    assert frame["n"].dtype == "int64[pyarrow]"
    assert [None if pd.isna(n) else n for n in frame["n"]] == [2**60 + 1, None, 5]
    with pytest.raises(livebuf.WrongTypeError, match=r"b.lbuf.*\"v\""):
        livebuf.dask.read(tmp_path, infer_files=1, extra_columns="ignore")["v"].compute()
    with pytest.raises(livebuf.WrongTypeError, match=r"b.lbuf: column 'l' is not in the schema"):
        livebuf.dask.read(tmp_path, infer_files=1)["n"].compute()
    with pytest.raises(livebuf.MissingKeyError, match=r"a.lbuf: no row has the column \"l\""):
        wide = livebuf.dask.read(tmp_path, missing_columns="raise")
        wide["l"].compute()


def test_urls(client: Any, folder: Path) -> None:
    """One partition each. `file://` is a path, and is cut into row ranges."""
    assert read(f"file://{folder}", partition_rows=1000).npartitions == 20
    import fsspec

    fs = fsspec.filesystem("memory")
    fs.pipe_file("/set/a.lbuf", (folder / "a.lbuf").read_bytes())
    fs.pipe_file("/set/b.lblog", (folder / "b.lblog").read_bytes())
    try:
        frame = read("memory://set", partition_rows=1000)
        assert frame.npartitions == 2
        # Workers of other processes do not have this process's memory.
        assert len(frame["id"].compute(scheduler="synchronous")) == 2 * COUNT
    finally:
        fs.rm("/set", recursive=True)


def test_no_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no document"):
        read(tmp_path)
    livebuf.dump({"rows": []}, tmp_path / "a.lbuf")
    assert read(tmp_path).compute().shape == (0, 0)


def test_files_that_changed_are_read_again(client: Any, tmp_path: Path) -> None:
    """Dask keeps results by a name that is made of what a task is."""
    livebuf.dump({"rows": [{"n": 1}]}, tmp_path / "a.lbuf")
    name = read(tmp_path)._name
    assert read(tmp_path)._name == name
    livebuf.dump({"rows": [{"n": 2}, {"n": 3}]}, tmp_path / "a.lbuf")
    assert read(tmp_path)._name != name
    assert read(tmp_path)["n"].compute().to_list() == [2, 3]


def test_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(livebuf.dask, extraglobs={"livebuf": livebuf})
    assert result.attempted > 3 and result.failed == 0


def test_kinds_that_differ_between_files(tmp_path: Path) -> None:
    """`mixed=` and `numbers=` had no effect on them."""
    for name, values in {"i": [1, "A1"], "g": [1, 2.5, 2**53 + 1]}.items():
        (tmp_path / name).mkdir()
        for number, value in enumerate(values):
            livebuf.dump([{"v": value}], tmp_path / name / f"{number}.lbuf")
    for name, how, dtype, expected in (
        ("i", {}, "string[pyarrow]", ["1", "A1"]),
        ("i", {"mixed": "json"}, "extension<arrow.json>[pyarrow]", ["1", '"A1"']),
        ("g", {"numbers": "text"}, "string[pyarrow]", ["1", "2.5", str(2**53 + 1)]),
        ("g", {"numbers": "decimal"}, "decimal128(38, 1)[pyarrow]", [1, 2.5, 2**53 + 1]),
    ):
        column = livebuf.dask.read(tmp_path / name, **how).compute(scheduler="synchronous")["v"]
        assert (str(column.dtype), column.to_list()) == (dtype, expected)
    with pytest.raises(livebuf.WrongTypeError, match=r"1.lbuf: column 'v' is int64 .* string here"):
        livebuf.dask.read(tmp_path / "i", mixed="raise")
    livebuf.dump([{"v": 2**63}], tmp_path / "g" / "0.lbuf")
    livebuf.dump([{"v": -1}], tmp_path / "g" / "1.lbuf")
    (tmp_path / "g" / "2.lbuf").unlink()
    with pytest.raises(livebuf.WrongTypeError, match="-1 does not fit uint64; set numbers= to"):
        livebuf.dask.read(tmp_path / "g").compute(scheduler="synchronous")
