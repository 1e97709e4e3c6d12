"""Documents in file objects and at URLs of fsspec."""

from __future__ import annotations

import gc
import gzip
import io
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import livebuf
import pytest
from livebuf import Document

VALUE = {"title": "laps", "best": 70.5, "all": list(range(100))}


class TestFileObjects:
    def test_read(self) -> None:
        file = io.BytesIO(livebuf.dumps(VALUE))
        with livebuf.open(file) as doc:
            assert doc == VALUE and doc.readonly
            assert (doc.name, doc.mode) == (None, "r")
            with pytest.raises(livebuf.ReadOnlyError):
                doc["best"] = 1
        # It is the caller's.
        assert not file.closed and file.read() == b""

    def test_edit_a_copy(self) -> None:
        payload = livebuf.dumps(VALUE)
        file = io.BytesIO(payload)
        with livebuf.open(file, "c") as doc:
            rows = doc["all"]
            doc["best"] = 69
            rows.append(100)
            assert doc == VALUE | {"best": 69, "all": list(range(101))}
            doc.flush()
        assert file.getvalue() == payload == livebuf.dumps(VALUE)

    def test_from_where_it_stands(self) -> None:
        file = io.BytesIO(b"header" + livebuf.dumps(VALUE))
        file.seek(6)
        assert livebuf.open(file) == VALUE
        file.seek(6)
        assert livebuf.load(file) == VALUE

    @pytest.mark.parametrize("buffering", [0, -1])
    def test_files(self, tmp_path: Path, buffering: int) -> None:
        path = tmp_path / "file.lbuf"
        with open(path, "wb", buffering=buffering) as file:
            livebuf.dump(VALUE, file)
            assert not file.closed
        with open(path, "rb", buffering=buffering) as file:
            doc = livebuf.open(file)
            assert doc == VALUE and doc.name == str(path)

    def test_other_libraries(self, tmp_path: Path) -> None:
        with gzip.open(tmp_path / "file.gz", "wb") as zipped:
            livebuf.dump(VALUE, zipped)
        with gzip.open(tmp_path / "file.gz", "rb") as zipped:
            doc = livebuf.open(zipped)
            assert doc == VALUE and doc.name == str(tmp_path / "file.gz")
        with tempfile.SpooledTemporaryFile() as spooled:
            livebuf.dump(VALUE, spooled)
            spooled.seek(0)
            assert livebuf.load(spooled) == VALUE

    def test_a_raw_file_may_take_a_part(self) -> None:
        """`write` of an unbuffered file says how much it took. The rest was lost."""

        class Slow(io.RawIOBase):
            taken = b""

            def write(self, data: Any, /) -> int:
                self.taken += bytes(data[:7])
                return min(len(data), 7)

        slow = Slow()
        livebuf.dump(VALUE, slow)
        assert livebuf.loads(slow.taken) == VALUE

    def test_nothing_there_yet(self) -> None:
        class Full(io.RawIOBase):
            def write(self, data: Any, /) -> None:
                return None

            def read(self, size: int = -1, /) -> None:
                return None

        with pytest.raises(BlockingIOError, match="make it blocking"):
            livebuf.dump(VALUE, Full())
        with pytest.raises(BlockingIOError, match="make it blocking"):
            livebuf.open(Full())  # type: ignore[arg-type]

    def test_modes_that_need_a_path(self) -> None:
        file = io.BytesIO(livebuf.dumps(VALUE))
        for mode in ("r+", "w+", "x", "x+"):
            with pytest.raises(ValueError, match="give a path.*livebuf.dump"):
                livebuf.open(file, mode)
        with pytest.raises(ValueError, match="shared=True"):
            livebuf.open(file, shared=True)
        assert livebuf.open(file) == VALUE

    def test_text(self, tmp_path: Path) -> None:
        path = tmp_path / "file.lbuf"
        livebuf.dump(VALUE, path)
        with open(path, encoding="latin-1") as text:
            for read in (livebuf.open, livebuf.load):
                with pytest.raises(TypeError, match='open for text; open it with mode "rb"'):
                    read(text)  # type: ignore[arg-type]
        with open(path, "a") as text, pytest.raises(TypeError, match='mode "wb"'):
            livebuf.dump(VALUE, text)  # type: ignore[arg-type]
        assert livebuf.load(path) == VALUE

        class Text:
            def read(self) -> str:
                return "{}"

        with pytest.raises(TypeError, match='mode "rb"'):
            livebuf.open(Text())  # type: ignore[arg-type]

    def test_no_file_at_all(self) -> None:
        for wrong in (5, None, [], object()):
            for work in (livebuf.open, livebuf.load, lambda file: livebuf.dump(1, file)):
                with pytest.raises(TypeError, match="expected a path, a URL or a file object"):
                    work(wrong)  # type: ignore[arg-type, call-overload]
        for data in (livebuf.dumps(1), bytearray(livebuf.dumps(1))):
            for read in (livebuf.open, livebuf.load):
                with pytest.raises(TypeError, match="use livebuf.Document or livebuf.loads"):
                    read(data)  # type: ignore[arg-type, call-overload]

    def test_no_document(self) -> None:
        for content in (b"", b"{}", livebuf.dumps(VALUE)[:-1]):
            for mode in ("r", "c"):
                with pytest.raises(livebuf.Error):
                    livebuf.open(io.BytesIO(content), mode)


@pytest.fixture
def store() -> Iterator[Any]:
    """fsspec's file system in memory, empty."""
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    yield memory
    memory.store.clear()


URL = "memory://bucket/laps.lbuf"


class TestURLs:
    def test_read(self, store: Any) -> None:
        livebuf.dump(VALUE, URL)
        assert livebuf.loads(store.cat(URL)) == livebuf.load(URL) == VALUE
        with livebuf.open(URL) as doc:
            assert doc == VALUE and doc.readonly and (doc.name, doc.mode) == (URL, "r")
            with pytest.raises(livebuf.ReadOnlyError):
                doc["best"] = 1

    def test_edit_a_copy(self, store: Any) -> None:
        livebuf.dump(VALUE, URL)
        with livebuf.open(URL, "c") as doc:
            doc["best"] = 1
            doc.flush()
            assert doc["best"] == 1
        assert livebuf.load(URL) == VALUE

    def test_edit(self, store: Any) -> None:
        livebuf.dump(VALUE, URL)
        with livebuf.open(URL, "r+") as doc:
            rows = doc["all"]
            doc["best"] = 69
            assert livebuf.load(URL) == VALUE
            doc.flush()
            assert livebuf.load(URL) == VALUE | {"best": 69}
            # What was looked at goes on.
            rows.append(100)
            assert rows[-1] == 100 and livebuf.load(URL) == VALUE | {"best": 69}
        assert livebuf.load(URL) == VALUE | {"best": 69, "all": list(range(101))}

    def test_arrays_that_write_through(self, store: Any) -> None:
        pytest.importorskip("numpy")
        livebuf.dump({"values": [1.5] * 9}, URL)
        with livebuf.open(URL, "r+") as doc:
            values = doc["values"].numpy(writable=True, narrow=True)
            values[3] = 2.5
            doc.flush()
            assert livebuf.load(URL)["values"][3] == 2.5
            values[4] = 3.5
            del values
        assert livebuf.load(URL)["values"][3:6] == [2.5, 3.5, 1.5]

    def test_nothing_is_written_if_nothing_changed(
        self, store: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        livebuf.dump(VALUE, URL)
        written: list[str] = []
        put = type(store).pipe_file

        def count(self: Any, path: str, *arguments: Any, **named: Any) -> Any:
            written.append(path)
            return put(self, path, *arguments, **named)

        monkeypatch.setattr(type(store), "pipe_file", count)
        with livebuf.open(URL, "r+") as doc:
            doc.flush()
            assert not written
            doc["best"] = 5
            doc.flush()
            doc.flush()
        assert len(written) == 1

    def test_an_exception_rolls_back(self, store: Any) -> None:
        livebuf.dump(VALUE, URL)
        with pytest.raises(ZeroDivisionError), livebuf.open(URL, "r+") as doc:
            doc["best"] = 69
            doc.flush()
            doc["best"] = 68
            _ = 1 // 0
        assert doc.closed and livebuf.load(URL) == VALUE | {"best": 69}
        doc = livebuf.open(URL, "r+")
        doc["best"] = 1
        doc.close(commit=False)
        doc.close()
        with pytest.raises(livebuf.ClosedError):
            doc.flush()
        assert livebuf.load(URL) == VALUE | {"best": 69}

    def test_rolled_back_for_good(self, store: Any) -> None:
        livebuf.dump(VALUE, URL)
        doc = livebuf.open(URL, "r+")
        doc["best"] = 1
        held = memoryview(doc)
        with pytest.raises(livebuf.ExportedError):
            doc.close(commit=False)
        held.release()
        with pytest.raises(OSError, match="rolled back"):
            doc.flush()
        doc.close()
        assert livebuf.load(URL) == VALUE

    def test_dropped_without_closing(self, store: Any) -> None:
        livebuf.dump(VALUE, URL)
        doc = livebuf.open(URL, "r+")
        assert doc["best"] == 70.5
        del doc
        gc.collect()
        doc = livebuf.open(URL, "r+")
        doc["best"] = 5
        with pytest.warns(ResourceWarning, match="rolled back"):
            del doc
            gc.collect()
        assert livebuf.load(URL) == VALUE

    def test_new_ones(self, store: Any) -> None:
        for mode in ("x", "x+"):
            with livebuf.open(URL, mode) as doc:
                assert doc.to_python() is None and livebuf.load(URL) is None
                doc.root = {"laps": [71]}
                doc["laps"].append(70)
            assert livebuf.load(URL) == {"laps": [71, 70]}
            with pytest.raises(FileExistsError) as caught:
                livebuf.open(URL, mode)
            assert caught.value.filename == URL
            assert livebuf.load(URL) == {"laps": [71, 70]}
            store.rm(URL)
        for value in (1, 2):
            with livebuf.open(URL, "w+") as doc:
                assert doc.to_python() is None and livebuf.load(URL) is None
                doc.root = value
            assert livebuf.load(URL) == value

    def test_missing(self, store: Any) -> None:
        for mode in ("r", "r+", "c"):
            with pytest.raises(FileNotFoundError, match="laps.lbuf"):
                livebuf.open(URL, mode)
        assert not store.exists(URL)

    def test_a_store_that_refuses(self, store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stores have errors of their own, which `with` must roll back after."""
        livebuf.dump(VALUE, URL)
        doc = livebuf.open(URL, "r+")
        doc["best"] = 1

        def refuse(*arguments: Any, **named: Any) -> None:
            raise LookupError("no such bucket")

        with monkeypatch.context() as patched:
            patched.setattr(type(store), "pipe_file", refuse)
            for work in (doc.flush, doc.close):
                with pytest.raises(OSError, match="LookupError: no such bucket") as caught:
                    work()
                assert caught.value.filename == URL
                assert doc["best"] == 1 and not doc.closed
            with pytest.raises(OSError, match="no such bucket"):
                livebuf.dump(1, URL)
        doc.close()
        assert livebuf.load(URL)["best"] == 1
        with monkeypatch.context() as patched:
            patched.setattr(type(store), "pipe_file", refuse)
            with pytest.raises(OSError, match="no such bucket"), livebuf.open(URL, "r+") as doc:
                doc["best"] = 2
        assert doc.closed and livebuf.load(URL)["best"] == 1

    def test_flushes_of_several_threads(self, store: Any) -> None:
        """The last state is written last."""
        livebuf.dump({"n": 0}, URL)
        with livebuf.open(URL, "r+") as doc:

            def work() -> None:
                for n in range(50):
                    doc["n"] = n
                    doc.flush()

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            doc.flush()
            assert livebuf.load(URL)["n"] == doc["n"] == 49

    def test_local_files_are_mapped(self, tmp_path: Path) -> None:
        pytest.importorskip("fsspec")
        path = tmp_path / "laps.lbuf"
        url = path.as_uri()
        livebuf.dump(VALUE, url)
        assert livebuf.load(path) == livebuf.load(url) == VALUE
        with livebuf.open(url, "r+") as doc:
            doc["best"] = 1
            # It has the lock of files.
            with pytest.raises(BlockingIOError):
                livebuf.open(path)
        assert livebuf.load(path)["best"] == 1
        with pytest.raises(FileExistsError):
            livebuf.open(url, "x")

    def test_chains(self, store: Any, tmp_path: Path) -> None:
        livebuf.dump(VALUE, URL)
        assert livebuf.load(f"simplecache::{URL}") == VALUE

    def test_an_open_file_of_fsspec(self, store: Any) -> None:
        fsspec = pytest.importorskip("fsspec")
        unopened = fsspec.open(URL, "wb")
        with pytest.raises(TypeError, match="open the OpenFile first: `with file as opened"):
            livebuf.dump(VALUE, unopened)
        with unopened as file:
            livebuf.dump(VALUE, file)
        with fsspec.open(URL) as file:
            assert livebuf.open(file) == VALUE
        with pytest.raises(TypeError, match="open the OpenFile first"):
            livebuf.open(fsspec.open(URL))

    def test_unknown_protocol(self, store: Any) -> None:
        with pytest.raises(ValueError, match="(?i)protocol not known"):
            livebuf.open("nothing://bucket/key")

    def test_shared(self, store: Any) -> None:
        livebuf.dump(VALUE, URL)
        with pytest.raises(ValueError, match="shared=True is for files"):
            livebuf.open(URL, "r+", shared=True)

    def test_paths_that_look_alike(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        os.makedirs("memory:")
        livebuf.dump(VALUE, "./memory://file")
        assert livebuf.load("./memory://file") == livebuf.load(Path("memory:/file")) == VALUE
        with livebuf.open("./memory://file") as doc:
            assert doc == VALUE

    def test_without_fsspec(self) -> None:
        code = f"""if True:
            import sys
            sys.modules["fsspec"] = None
            import livebuf
            for work in (livebuf.open, livebuf.load, lambda url: livebuf.dump(1, url)):
                try:
                    work({URL!r})
                except ImportError as error:
                    print(error)
        """
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        lines = done.stdout.splitlines()
        assert len(lines) == 3, done.stderr
        for line in lines:
            assert URL in line and "`pip install fsspec`" in line and "s3fs" in line

    def test_fsspec_is_not_imported_for_paths(self, tmp_path: Path) -> None:
        code = f"""if True:
            import sys, livebuf
            livebuf.dump([1], {str(tmp_path / "x.lbuf")!r})
            assert livebuf.open({str(tmp_path / "x.lbuf")!r}) == [1]
            assert "fsspec" not in sys.modules
        """
        subprocess.run([sys.executable, "-c", code], check=True)


def test_documents_made_otherwise_have_no_name() -> None:
    for doc in (Document.from_python(1), livebuf.from_json("1"), Document(livebuf.dumps(1))):
        assert doc.name is None and doc.mode is None
    with livebuf.open(io.BytesIO(livebuf.dumps([1])), "c") as doc:
        assert doc.mode == "c" and doc.copy().mode is None
