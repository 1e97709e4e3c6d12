"""Documents elsewhere: answers as of whole ones, few requests, no view that outlives a read."""

from __future__ import annotations

import copy
import importlib.util
import io
import operator
import pickle
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import livebuf
import numpy
import pytest
from conftest import sample
from hypothesis import given
from hypothesis import strategies as st

polars = pytest.importorskip("polars", reason="polars is not installed")
pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
import livebuf.polars  # noqa: E402

SAMPLE = sample(3000)
BYTES = livebuf.dumps(SAMPLE)
EXAMPLE = Path(__file__).parent.parent / "examples" / "http_ranges.py"


def partial(data: bytes = BYTES, block: int = 512) -> livebuf.Partial:
    return livebuf.Partial(io.BytesIO(data), block=block)


def pointers(value: Any, prefix: str = "") -> list[str]:
    """The pointers of all that is in a value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    return [prefix] + [at for key, below in items for at in pointers(below, f"{prefix}/{key}")]


POINTERS = pointers(SAMPLE)


class TestRead:
    @given(st.lists(st.sampled_from(POINTERS), min_size=1, max_size=4), st.sampled_from([1, 4096]))
    def test_answers_of_whole_documents(self, chosen: list[str], block: int) -> None:
        whole = livebuf.Document(BYTES)
        part = partial(block=block)
        for pointer in chosen:
            expected = whole.pointer(pointer)
            if hasattr(expected, "to_python"):
                expected = expected.to_python()
            assert part.pointer(pointer) == expected
            assert part.read(operator.methodcaller("pointer", pointer)) == expected

    def test_few_bytes(self) -> None:
        part = partial()
        assert part.pointer("/rows/2345/name") == "row 2345"
        assert part.fetched < len(BYTES) // 16 and part.requests < 10
        fetched, requests = part.fetched, part.requests
        assert part.pointer("/rows/2345/name") == "row 2345"
        assert (part.fetched, part.requests) == (fetched, requests)
        part.prefetch(0, 2**63)
        assert part.fetched == len(part) == len(BYTES)
        requests = part.requests
        assert part.read(lambda doc: doc) == SAMPLE
        assert part.requests == requests

    @pytest.mark.parametrize(
        "look",
        [
            lambda doc: doc.to_python(),
            livebuf.to_json,
            bytes,
            lambda doc: bytes(memoryview(doc)),
            lambda doc: bytes(doc.copy()),
            lambda doc: doc == SAMPLE,
            lambda doc: doc.digest(),
            lambda doc: list(doc["rows"].table["at.x"]),
            lambda doc: doc["rows"].table.schema,
            lambda doc: doc["words"].index("word number 2999"),
            lambda doc: doc["rows"].table["name"].find("row 2999"),
            lambda doc: [match.value for match in doc.query("$.rows[?@.id > 2990].at.x")],
            lambda doc: livebuf.dumps(doc["map"]),
            lambda doc: doc.validate(),
            lambda doc: livebuf.diff(doc, {}).to_json(),
            lambda doc: livebuf.Document.from_python(doc["ragged"]).root.to_python(),
            repr,
            lambda doc: "none such" in doc["map"],
            lambda doc: pickle.loads(pickle.dumps(doc)).root.to_python(),
            lambda doc: copy.deepcopy(doc["rows"]).to_python(),
            lambda doc: pyarrow.table(doc["rows"].table.with_options(copy=True)),
        ],
    )
    def test_whole_documents(self, look: Callable[[Any], Any]) -> None:
        """Whatever reads bytes past the checks of single loads must ask for them."""
        assert partial().read(look) == look(livebuf.Document(BYTES))

    def test_exports_outlive_the_read(self) -> None:
        part = partial()
        table = livebuf.Document(BYTES)["rows"].table
        ids = part.read(lambda doc: numpy.asarray(doc["numbers"]))
        frame = part.read(lambda doc: polars.DataFrame(doc["rows"].table.select(["name", "at"])))
        # Nobody has read the stream when the read ends.
        stream = part.read(
            lambda doc: Stream(doc["rows"].table.with_options(batch_rows=100).__arrow_c_stream__())
        )
        part.prefetch(0, len(part))
        part.close()
        del part
        assert ids.tolist() == SAMPLE["numbers"]
        assert frame.equals(polars.DataFrame(table.select(["name", "at"])))
        assert pyarrow.table(stream) == pyarrow.table(table)

    def test_views_end(self) -> None:
        part = partial()
        assert part.read(lambda doc: doc["rows"][7]) == SAMPLE["rows"][7]
        for kept in part.read(lambda doc: [doc, doc["rows"], doc["map"], iter(doc["map"])]):
            with pytest.raises(livebuf.ClosedError):
                list(kept)
        lazy = part.read(lambda doc: [doc["rows"].table, doc["rows"].table["id"]])
        for table in lazy:
            with pytest.raises(livebuf.ClosedError):
                len(table)

    def test_no_edits(self) -> None:
        with pytest.raises(livebuf.ReadOnlyError):
            partial().read(lambda doc: doc["map"].update(a=1))


class Stream:
    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.capsule


class TestErrors:
    def test_of_look(self) -> None:
        part = partial()
        with pytest.raises(livebuf.MissingKeyError, match="nothing"):
            part.pointer("/map/nothing")
        assert part.pointer("/map/nothing", 5) == 5
        with pytest.raises(livebuf.PointerError):
            part.pointer("map")
        with pytest.raises(ZeroDivisionError):
            part.read(lambda doc: doc["numbers"][0] // 0)

    def test_interrupts_are_not_asked_again(self) -> None:
        """An exception while something is missing is about that; but not one of the user's."""
        calls = []

        def look(doc: livebuf.Document) -> Any:
            calls.append(1)
            try:
                return doc["rows"][2000]["name"]
            finally:
                if len(calls) == 1:
                    raise KeyboardInterrupt

        part = partial()
        with pytest.raises(KeyboardInterrupt):
            part.read(look)
        assert len(calls) == 1
        assert part.read(look) == "row 2000"

    def test_of_the_source(self) -> None:
        class Failing(io.BytesIO):
            left = 3

            def read(self, size: int | None = -1, /) -> bytes:
                self.left -= 1
                if self.left < 0:
                    raise ConnectionError("gone")
                return super().read(size)

        file = Failing(BYTES)
        part = livebuf.Partial(file, block=512)
        with pytest.raises(ConnectionError, match="gone"):
            part.read(lambda doc: doc)
        file.left = 10**9
        assert part.read(lambda doc: doc) == SAMPLE

    def test_of_sources_that_give_too_little_or_too_much(self) -> None:
        class Odd(io.BytesIO):
            change = 0

            def read(self, size: int | None = -1, /) -> bytes:
                return super().read((size or 0) + self.change)

        file = Odd(BYTES)
        part = livebuf.Partial(file, block=512)
        for change in (-1, 1):
            file.change = change
            with pytest.raises(OSError, match="instead of the"):
                part.pointer("/rows/2000/name")
        file.change = 0
        assert part.pointer("/rows/2000/name") == "row 2000"

    def test_of_the_document(self, tmp_path: Path) -> None:
        for data in (b"", b"{}", BYTES[:-8], b"\0" * 4096):
            with pytest.raises(livebuf.DamagedError):
                partial(data)
        path = tmp_path / "short.lbuf"
        path.write_bytes(BYTES)
        with livebuf.Partial(path, block=512) as part:
            path.write_bytes(BYTES[:1000])
            with pytest.raises(OSError, match="instead of the"):
                part.read(lambda doc: doc)

    def test_damage(self, chance: random.Random) -> None:
        """Damaged documents answer as whole ones do: the same value, or an error."""

        def answer(read: Callable[[], Any]) -> Any:
            try:
                return repr(read())
            except (livebuf.Error, UnicodeDecodeError) as error:
                return type(error)

        for _ in range(200):
            data = bytearray(BYTES)
            for _ in range(chance.randrange(1, 20)):
                data[chance.randrange(32, len(data))] = chance.randrange(256)
            pointer = chance.choice(POINTERS)
            whole = livebuf.Document(bytes(data))
            part = partial(bytes(data), chance.choice([512, 8192]))

            def look(doc: Any, pointer: str = pointer) -> Any:
                found = doc.pointer(pointer)
                return found.to_python() if hasattr(found, "to_python") else found

            assert answer(lambda part=part: part.read(look)) == answer(
                lambda whole=whole: look(whole)
            )

    def test_of_use(self) -> None:
        part = partial()
        for again in (lambda doc: part.read(len), lambda doc: part.fetched, lambda doc: len(part)):
            with pytest.raises(RuntimeError, match="is being read"):
                part.read(again)
        with pytest.raises(ValueError, match="block"):
            partial(block=0)
        wrongs: list[Any] = [5, BYTES, io.StringIO("text"), None]
        for wrong in wrongs:
            with pytest.raises(TypeError):
                livebuf.Partial(wrong)
        with pytest.raises(FileNotFoundError):
            livebuf.Partial("nowhere.lbuf")
        part.close()
        part.close()
        assert part.closed and "closed" in repr(part)
        for use in (len, lambda part: part.fetched, lambda part: part.pointer("")):
            with pytest.raises(livebuf.ClosedError):
                use(part)


def test_threads_take_turns() -> None:
    part = partial()
    found: list[Any] = []

    def work(number: int) -> None:
        for row in range(number, 3000, 250):
            found.append(part.pointer(f"/rows/{row}/id") == row)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found) and len(found) == 96


def test_sources(tmp_path: Path) -> None:
    path = tmp_path / "sample.lbuf"
    path.write_bytes(BYTES)
    urls = [f"file://{path}", "memory://partial/sample.lbuf"]
    livebuf.dump(SAMPLE, urls[1])
    for source in (path, str(path), *urls):
        with livebuf.Partial(source) as part:
            assert part.pointer("/rows/1234/name") == "row 1234"
            assert part.fetched <= len(BYTES)
    with open(path, "rb") as file:
        part = livebuf.Partial(file)
        assert part.pointer("/rows/1234/name") == "row 1234"
        part.close()
        assert not file.closed


def test_over_http(capsys: pytest.CaptureFixture[str]) -> None:
    """The example: values, a column by numpy and by Arrow, of a local server with ranges."""
    pytest.importorskip("aiohttp")
    spec = importlib.util.spec_from_file_location("http_ranges", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(5)
    lines = capsys.readouterr().out.splitlines()
    answers = [line.split(": ")[1].split(";")[0] for line in lines[1:]]
    prices = numpy.sum(numpy.arange(225_000) % 1000 / 8)
    assert answers == ["250", f"City {5 * 321 % 997}", f"{61725 % 1000 / 8}", f"{prices}", "225000"]
    requests = [int(line.split("; ")[1].split()[0]) for line in lines[1:]]
    assert max(requests) <= 8, lines


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each request asked the file system in memory for."""
    from fsspec.implementations.memory import MemoryFileSystem

    read = MemoryFileSystem.cat_file
    counts: list[int] = []

    def counted(self: Any, path: str, start: Any = None, end: Any = None, **how: Any) -> bytes:
        data = read(self, path, start, end, **how)
        counts.append(len(data))
        return bytes(data)

    monkeypatch.setattr(MemoryFileSystem, "cat_file", counted)
    return counts


ROWS = [{"id": n, "text": f"text number {n}" * 4} for n in range(200_000)]


def test_scan_of_documents_at_urls_fetches_columns(asked: list[int]) -> None:
    """polars' scan of a document at a URL fetches the columns of the query alone."""
    url = "memory://scanned/rows.lbuf"
    livebuf.dump({"rows": ROWS[:20_000]}, url)
    size = len(livebuf.Partial(url))
    asked.clear()
    frame = livebuf.polars.scan(url, table="/rows")
    assert frame.select(polars.col("id").sum()).collect().item() == sum(range(20_000))
    assert 0 < sum(asked) < size / 3
    both = frame.filter(polars.col("id") > 19_990).collect()
    assert both.rows() == [(row["id"], row["text"]) for row in ROWS[19_991:20_000]]


def test_scan_of_logs_at_urls_fetches_groups(tmp_path: Path, asked: list[int]) -> None:
    path = tmp_path / "rows.lblog"
    with livebuf.Log(path, "x") as log:
        log.extend(ROWS)
    import fsspec

    url = "memory://scanned/rows.lblog"
    fsspec.filesystem("memory").pipe_file("/scanned/rows.lblog", path.read_bytes())
    schema = polars.Schema({"id": polars.Int64})
    frame = livebuf.polars.scan(url, schema=schema)
    assert frame.head(5).collect()["id"].to_list() == [0, 1, 2, 3, 4]
    assert 0 < sum(asked) < path.stat().st_size / 2
    assert frame.select(polars.col("id").sum()).collect().item() == sum(range(200_000))
    fsspec.filesystem("memory").pipe_file("/scanned/rows.lblog", path.read_bytes()[:-100])
    with pytest.raises(livebuf.Error, match="rows.lblog"):
        frame.collect()
