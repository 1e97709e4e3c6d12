"""Documents in files: modes and locks, commits and roll-backs, processes that are killed."""

from __future__ import annotations

import errno
import gc
import io
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import livebuf
import pytest
from conftest import LONG
from livebuf import Document
from test_document import VALUE, edit_everything, payload


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file.lbuf"
    path.write_bytes(payload())
    return path


def on_disk(path: Path) -> Any:
    """What the file holds, whoever has it open."""
    doc = Document(path.read_bytes())
    doc.validate()
    return doc.to_python()


class TestModes:
    def test_read(self, path: Path) -> None:
        before = path.read_bytes()
        with livebuf.open(path) as doc:
            assert doc.readonly and doc == VALUE
            with pytest.raises(livebuf.ReadOnlyError, match="editable"):
                doc["n"] = 5
            copied = doc.editable()
        copied["n"] = 5
        assert path.read_bytes() == before

    def test_edit(self, path: Path) -> None:
        with livebuf.open(path, "r+") as doc:
            assert not doc.readonly
            expected = edit_everything(doc)
            expected["n"] = doc["n"] = 9
            used = doc.nbytes
        assert livebuf.load(path) == expected
        assert path.stat().st_size == used
        assert path.read_bytes()[:4] == b"\xabLBF"

    def test_growing_and_shrinking(self, path: Path) -> None:
        with livebuf.open(path, "r+") as doc:
            for n in range(2000):
                doc[f"key {n}"] = "x" * 50
        assert path.stat().st_size > 100_000
        with livebuf.open(path, "r+") as doc:
            for n in range(2000):
                del doc[f"key {n}"]
            doc.compact()
        assert livebuf.load(path) == VALUE and path.stat().st_size < 10_000

    def test_copy_on_write(self, path: Path) -> None:
        before = path.read_bytes()
        with livebuf.open(path, "c") as doc:
            view = doc["list"]
            expected = edit_everything(doc)
            assert doc == expected and len(view) == 4
            doc.flush()
        assert path.read_bytes() == before

    def test_paths_of_all_kinds(self, path: Path) -> None:
        for given in (path, str(path)):
            with livebuf.open(given) as doc:
                assert doc == VALUE

    def test_missing(self, tmp_path: Path) -> None:
        for mode in ("r", "r+", "c"):
            with pytest.raises(FileNotFoundError) as caught:
                livebuf.open(tmp_path / "missing.lbuf", mode)  # type: ignore[arg-type]
            assert "missing.lbuf" in str(caught.value)

    def test_folder(self, tmp_path: Path) -> None:
        for mode in ("r", "r+"):
            with pytest.raises(IsADirectoryError) as caught:
                livebuf.open(tmp_path, mode)  # type: ignore[arg-type]
            assert caught.value.errno == errno.EISDIR and caught.value.filename == str(tmp_path)
        for work in (lambda: livebuf.load(tmp_path), lambda: livebuf.dump(1, tmp_path)):
            with pytest.raises(IsADirectoryError) as caught:
                work()
            assert caught.value.filename == str(tmp_path)

    @pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
    )
    def test_forbidden(self, path: Path) -> None:
        path.chmod(0)
        with pytest.raises(PermissionError):
            livebuf.open(path)

    @pytest.mark.parametrize("content", [b"", b"x", b"[1, 2, 3]" * 10, payload()[:40]])
    def test_no_document(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        for mode in ("r", "r+", "c"):
            with pytest.raises(livebuf.Error):
                livebuf.open(path, mode)  # type: ignore[arg-type]
        assert path.read_bytes() == content

    @pytest.mark.parametrize("mode", ["r", "c", "r+", "a+"])
    def test_logs(self, tmp_path: Path, mode: Any) -> None:
        """Bug: modes that edit took a log for JSON."""
        with livebuf.Log(tmp_path / "one.lblog", "x") as log:
            log.append({"n": 1})
        with pytest.raises(livebuf.DamagedError, match="this is a log"):
            livebuf.open(tmp_path / "one.lblog", mode)

    def test_wrong_mode(self, path: Path) -> None:
        for mode, remedy in {
            "w": 'use "w\\+" or livebuf.dump',
            "wb": 'use "w\\+" or livebuf.dump',
            "rb": 'always binary: use "r"',
            "r+b": 'always binary: use "r\\+"',
            "rt": 'always binary: use "r"',
            "a": 'use "a\\+".*livebuf.Log',
            "ab+": 'always binary: use "a\\+"',
            "": 'one of "r", "r\\+", "c"',
            "R": 'one of "r", "r\\+", "c"',
            None: 'one of "r", "r\\+", "c"',
        }.items():
            with pytest.raises(ValueError, match=f"mode {re.escape(repr(mode))} .*{remedy}"):
                livebuf.open(path, mode)  # type: ignore[arg-type]
        assert livebuf.load(path) == VALUE

    def test_open_or_create(self, tmp_path: Path) -> None:
        path = tmp_path / "new.lbuf"
        for turn in range(3):
            with livebuf.open(path, "a+") as doc:
                assert doc.mode == ("r+" if turn else "x+")
                if not turn:
                    doc.root = {"turns": []}
                doc["turns"].append(turn)
            assert livebuf.load(path) == {"turns": list(range(turn + 1))}
        path.write_bytes(b"[1, 2, 3]" * 10)
        with pytest.raises(livebuf.Error):
            livebuf.open(path, "a+")
        with pytest.raises(FileNotFoundError):
            livebuf.open(tmp_path / "missing" / "new.lbuf", "a+")

    def test_a_new_document_is_read_as_empty(self, tmp_path: Path) -> None:
        """Bug: it is null, so `get`, `len`, `in` and others raised, until a key was set."""
        for turn in range(2):
            with livebuf.open(tmp_path / "counts.lbuf", "a+") as doc:
                assert (len(doc), "x" in doc, list(doc), dict(doc)) == (
                    (turn, bool(turn), ["x"] * turn, {"x": 1} if turn else {})
                )
                doc["x"] = doc.get("x", 0) + 1
                assert doc.setdefault("y", []) == doc.get("y") == []
                doc.root = {"x": doc["x"]}
        assert livebuf.load(tmp_path / "counts.lbuf") == {"x": 2}

    @pytest.mark.parametrize("mode", ["a+", "x", "w+"])
    def test_all_that_a_new_document_can_do(self, tmp_path: Path, mode: Any) -> None:
        doc = livebuf.open(tmp_path / "new.lbuf", mode)
        assert not doc and doc.root is None and doc.pop("x", 5) == 5
        assert doc.get("x") is doc.get(0) is doc.pointer("/x", None) is None
        assert [*doc.keys(), *doc.values(), *doc.items(), *doc, *reversed(doc)] == []  # type: ignore[call-overload]
        assert doc | {"a": 1} == {"a": 1} and doc + [1] == [1] and doc[1:] == []
        assert doc.count(1) == 0 and 1 not in doc
        for key, error in (("x", livebuf.MissingKeyError), (0, livebuf.IndexRangeError)):
            with pytest.raises(error):
                doc[key]
            with pytest.raises(error):
                del doc[key]
        for failing in (lambda: doc.popitem(), lambda: doc.pop("x"), lambda: doc.remove(1)):
            with pytest.raises((KeyError, ValueError)):
                failing()
        with pytest.raises(livebuf.WrongTypeError, match='no place "/x"'):
            doc.set_pointer("/x", 1)
        doc.clear(), doc.sort(), doc.reverse()
        assert doc.root is None
        # What comes first makes it an object or an array.
        doc.insert(0, "a")
        doc.append("b")
        assert doc.root == ["a", "b"]
        with pytest.raises(livebuf.WrongTypeError, match="no object"):
            doc.setdefault("x", 1)
        doc.root = None
        doc.update(x=1)
        assert doc.root == {"x": 1}
        with pytest.raises(livebuf.WrongTypeError, match="no array"):
            doc.append(1)
        doc.close()

    def test_writers_that_start_together_make_one_document(self, tmp_path: Path) -> None:
        start = threading.Barrier(4)

        def add(path: Path) -> None:
            start.wait()
            with livebuf.open(path, "a+", timeout=60) as doc:
                if doc.root is None:
                    doc.root = []
                doc.root.append(1)

        for turn in range(50):
            path = tmp_path / f"{turn}.lbuf"
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(add, [path] * 4))
            assert livebuf.load(path) == [1] * 4
        assert len(list(tmp_path.iterdir())) == 50

    def test_waiting_for_a_lock(self, path: Path) -> None:
        first = livebuf.open(path, "r+")
        for timeout in (0.0, 0.02):
            start = time.monotonic()
            with pytest.raises(BlockingIOError):
                livebuf.open(path, timeout=timeout)
            assert time.monotonic() - start >= timeout
        thread = threading.Thread(target=lambda: (time.sleep(0.05), first.close()))
        thread.start()
        with livebuf.open(path, "a+", timeout=None) as doc:
            assert doc == VALUE
        thread.join()

    def test_json_of_files(self, tmp_path: Path) -> None:
        path = tmp_path / "data.json"
        livebuf.to_json({"a": [1, 2.5, "é"]}, path)
        assert path.read_bytes() == '{"a":[1,2.5,"é"]}'.encode()
        for opened in (path.open("rb"), path.open(encoding="utf-8"), path.open("rb", buffering=0)):
            with opened:
                assert livebuf.from_json(opened) == {"a": [1, 2.5, "é"]}
        assert livebuf.from_json(path) == {"a": [1, 2.5, "é"]}
        assert livebuf.from_json(io.BytesIO(b"[1]")) == livebuf.from_json(io.StringIO("[1]")) == [1]
        with path.open("rb") as opened:
            mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
            assert livebuf.from_json(mapped) == {"a": [1, 2.5, "é"]}
            mapped.close()
        buffer = io.BytesIO()
        livebuf.to_json(livebuf.from_json("[1, 2]"), buffer, indent=0)
        assert livebuf.from_json(buffer.getvalue()) == [1, 2]
        path.write_bytes(b'{"a": 1}\n{"a": 2}\n')
        assert livebuf.from_json(path, lines=True) == [{"a": 1}, {"a": 2}]
        with pytest.raises(livebuf.JSONError, match="lines=True") as caught:
            livebuf.from_json(path)
        assert caught.value.lineno == 2
        # A string is JSON text, whatever it looks like.
        with pytest.raises(livebuf.JSONError, match="pathlib.Path"):
            livebuf.from_json(str(path))
        with pytest.raises(FileNotFoundError):
            livebuf.from_json(tmp_path / "missing.json")
        with pytest.raises(IsADirectoryError):
            livebuf.from_json(tmp_path)
        with pytest.raises(TypeError, match=r"a pathlib.Path or an open file"):
            livebuf.from_json(5)  # type: ignore[call-overload,arg-type]

    def test_name_and_mode(self, path: Path) -> None:
        for mode in ("r", "r+", "c", "w+"):
            doc = livebuf.open(path, mode)  # type: ignore[arg-type]
            assert (doc.name, doc.mode) == (str(path), mode)
            doc.close()
            # As those of a closed file in Python.
            assert (doc.name, doc.mode) == (str(path), mode)

    def test_locks(self, path: Path) -> None:
        with livebuf.open(path, "r"), livebuf.open(path, "r"), livebuf.open(path, "c"):
            with pytest.raises(OSError):
                livebuf.open(path, "r+")
        with livebuf.open(path, "r+"):
            for mode in ("r", "r+", "c"):
                with pytest.raises(BlockingIOError, match="in this process or another") as caught:
                    livebuf.open(path, mode)  # type: ignore[arg-type]
                assert caught.value.errno == errno.EAGAIN and caught.value.filename == str(path)
            for work in (lambda: livebuf.load(path), lambda: livebuf.dump(1, path)):
                with pytest.raises(BlockingIOError):
                    work()
        with livebuf.open(path, "r+"):
            pass


class TestSessions:
    """Edits with "r+" went to the file one by one, so that a process that died left it between
    two states. They are private until they are committed, all at once."""

    def test_flush_commits(self, path: Path) -> None:
        before = path.read_bytes()
        with livebuf.open(path, "r+") as doc:
            view = doc["list"]
            expected = edit_everything(doc)
            assert on_disk(path) == VALUE
            doc.flush()
            assert on_disk(path) == expected
            doc["n"] = 77
            doc.flush()
            assert on_disk(path) == expected | {"n": 77}
            # What was looked at goes on.
            view.append("more")
            expected["list"].append("more")
            assert on_disk(path)["list"] == expected["list"][:-1]
        assert path.read_bytes() != before
        assert livebuf.load(path) == expected | {"n": 77}

    def test_an_exception_rolls_back(self, path: Path) -> None:
        before = path.read_bytes()
        with pytest.raises(ZeroDivisionError), livebuf.open(path, "r+") as doc:
            doc["n"] = 6
            doc["text"] = "long " * 100_000
            _ = 1 // 0
        assert doc.closed and path.read_bytes() == before
        with pytest.raises(ZeroDivisionError), livebuf.open(path, "r+") as doc:
            doc["n"] = 6
            doc.flush()
            doc["n"] = 7
            _ = 1 // 0
        assert livebuf.load(path) == VALUE | {"n": 6}

    def test_close_without_commit(self, path: Path) -> None:
        before = path.read_bytes()
        doc = livebuf.open(path, "r+")
        doc["text"] = "long " * 100_000
        doc.close(commit=False)
        assert path.read_bytes() == before

    def test_dropped_without_closing(self, path: Path) -> None:
        before = path.read_bytes()
        doc = livebuf.open(path, "r+")
        doc["n"] = 5
        with pytest.warns(ResourceWarning, match="rolled back"):
            del doc
            gc.collect()
        assert path.read_bytes() == before
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            doc = livebuf.open(path, "r+")
            doc["n"] = 5
            doc.flush()
            del doc
            gc.collect()
        assert livebuf.load(path)["n"] == 5

    def test_nothing_is_written_where_nothing_changed(self, path: Path) -> None:
        os.utime(path, (1, 1))
        with livebuf.open(path, "r+") as doc:
            assert doc["n"] == 1
        assert path.stat().st_mtime == 1

    def test_many_commits_against_a_model(self, path: Path, chance: random.Random) -> None:
        model: list[Any] = []
        path.write_bytes(livebuf.dumps(model))
        committed: list[Any] = []
        for _ in range(20):
            doc = livebuf.open(path, "r+")
            for _ in range(chance.randrange(60)):
                value: Any = chance.choice(
                    [chance.randrange(1 << 40), "x" * chance.randrange(5000), [1.5] * 30]
                )
                if model and chance.random() < 0.3:
                    index = chance.randrange(len(model))
                    model[index] = doc.root[index] = value
                elif model and chance.random() < 0.2:
                    index = chance.randrange(len(model))
                    del model[index], doc.root[index]
                else:
                    model.append(value)
                    doc.root.append(value)
                if chance.random() < 0.1:
                    doc.flush()
                    committed = list(model)
                    assert on_disk(path) == committed
                if chance.random() < 0.02:
                    doc.compact()
            assert doc == model
            keep = chance.random() < 0.7
            doc.close(commit=keep)
            if keep:
                committed = list(model)
            model = list(committed)
            assert livebuf.load(path) == model
            assert path.stat().st_size == Document(path.read_bytes()).nbytes

    def test_arrays_that_write_through(self, path: Path) -> None:
        numpy = pytest.importorskip("numpy")
        path.write_bytes(livebuf.dumps({"values": [1.5] * 1000, "n": 1}, min_width=8))
        with livebuf.open(path, "r+") as doc:
            array = doc["values"].numpy(writable=True, narrow=True)
            array[3] = 2.5
            doc.flush()
            assert on_disk(path)["values"][3] == 2.5
            # It lives on, and so does what it writes.
            array[4] = 3.5
            doc.flush()
            assert on_disk(path)["values"][4] == 3.5
            array[5] = 4.5
            del array
            # Growing maps the file anew.
            doc["text"] = "long " * 20_000
        values = numpy.array(livebuf.load(path)["values"])
        assert values[3:7].tolist() == [2.5, 3.5, 4.5, 1.5]

    def test_an_array_that_lives_does_not_lose_the_edits(self, path: Path) -> None:
        doc = livebuf.open(path, "r+")
        with pytest.raises(livebuf.ExportedError), doc:
            doc["n"] = 8
            held = memoryview(doc)
        assert on_disk(path)["n"] == 8
        held.release()
        doc.close()
        # Rolled back for good, though the memory could not go at once.
        doc = livebuf.open(path, "r+")
        with pytest.raises(livebuf.ExportedError), doc:
            doc["n"] = 9
            held = memoryview(doc)
            raise RuntimeError
        held.release()
        with pytest.raises(OSError, match="rolled back"):
            doc.flush()
        doc.close()
        assert livebuf.load(path)["n"] == 8

    @pytest.mark.parametrize("mode", ["r", "c"])
    def test_exports_outlive_what_is_read(self, path: Path, mode: Any) -> None:
        """The end of the block raised `ExportedError` for columns that need no copy, and not for
        others: by their values."""
        numpy = pytest.importorskip("numpy")
        polars = pytest.importorskip("polars")
        rows = [{"i": n, "x": n / 3, "t": f"text {n}"} for n in range(1000)]
        livebuf.dump(rows, path)
        with livebuf.open(path, mode) as doc:
            frame = polars.DataFrame(doc.root.table)
            array, whole = doc.root.table["x"].numpy(), memoryview(doc)
        assert doc.closed
        with pytest.raises(livebuf.ClosedError):
            doc[0]
        doc.close()
        assert frame.to_dicts() == rows and array[1] == 1 / 3
        assert bytes(whole) == path.read_bytes()
        # The file is locked as long as it is looked at.
        with pytest.raises(BlockingIOError):
            livebuf.open(path, "r+")
        del array
        gc.collect()
        whole.release()
        # polars may keep the columns that it took over without a copy.
        assert frame["x"].max() == 333.0
        del frame
        gc.collect()
        with livebuf.open(path, "r+") as doc:
            doc.root.append({"i": 1})
        # A document that nobody holds any more.
        frame = polars.DataFrame(livebuf.open(path, mode).root.table)
        gc.collect()
        assert frame["x"][1] == 1 / 3 and numpy.asarray(frame["x"])[3] == 1

    @pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
    def test_memory_is_given_back(self, tmp_path: Path) -> None:
        path = tmp_path / "large.lbuf"
        livebuf.dump({"values": [i + 0.5 for i in range(2_000_000)]}, path)

        def private() -> int:
            text = Path("/proc/self/smaps_rollup").read_text()
            line = next(line for line in text.splitlines() if line.startswith("Private_Dirty"))
            return int(line.split()[1])

        with livebuf.open(path, "r+") as doc:
            values = doc["values"]
            before = private()
            for index in range(0, 2_000_000, 512):
                values[index] = 0.25
            assert private() > before + 5_000
            doc.flush()
            assert private() < before + 2_500
            assert values[512] == 0.25 and values[513] == 513.5
        assert livebuf.load(path)["values"][1024] == 0.25

    def test_a_commit_that_fails_can_be_tried_again(self, path: Path) -> None:
        pytest.importorskip("resource")
        size = path.stat().st_size
        script = f"""if True:
            import livebuf, resource, signal
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            doc = livebuf.open({str(path)!r}, "r+")
            doc["n"] = 5
            _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, hard))
            for work in (doc.flush, doc.close):
                try:
                    work()
                except OSError as error:
                    print(error.errno, doc["n"], doc.closed)
            try:
                with doc:
                    pass
            except OSError:
                print("closed", doc.closed, livebuf.load({str(path)!r})["n"])
            doc = livebuf.open({str(path)!r}, "r+")
            doc["n"] = 5
            try:
                doc.flush()
            except OSError:
                pass
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            doc.close()
        """
        output = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        assert output.stdout == f"{errno.EFBIG} 5 False\n" * 2 + "closed True 1\n"
        assert livebuf.load(path)["n"] == 5

    def test_an_edit_for_which_the_disk_has_no_room(self, path: Path) -> None:
        pytest.importorskip("resource")
        script = f"""if True:
            import livebuf, resource, signal
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            doc = livebuf.open({str(path)!r}, "r+")
            _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
            try:
                doc["n"] = "y" * (4 << 20)
            except OSError as error:
                print(error.errno, doc["n"])
            doc["n"] = 2
            doc.close()
        """
        output = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        assert output.stdout == f"{errno.EFBIG} 1\n"
        assert livebuf.load(path)["n"] == 2

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_a_forked_process_leaves_the_file_alone(self, path: Path) -> None:
        """Its copy of the document cut the file under the one that goes on."""
        script = f"""if True:
            import livebuf, os
            doc = livebuf.open({str(path)!r}, "r+")
            doc["text"] = "long " * 100_000
            child = os.fork()
            if child == 0:
                try:
                    doc.close()
                except OSError as error:
                    assert "forked" in str(error), error
                    doc.close(commit=False)
                    os._exit(7)
                os._exit(1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            doc["text"] += "more"
            doc.close()
        """
        subprocess.run([sys.executable, "-c", script], check=True)
        assert on_disk(path)["text"] == "long " * 100_000 + "more"

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_a_forked_process_does_not_edit_shared_memory(self, path: Path) -> None:
        """The editor of the one overwrote what that of the other had made."""
        script = f"""if True:
            import livebuf, os
            doc = livebuf.open({str(path)!r}, "r+", shared=True)
            child = os.fork()
            if child == 0:
                refused = 0
                for work in (lambda: doc.set_pointer("/n", 1), doc.flush, doc.close):
                    try:
                        work()
                    except (livebuf.Error, OSError):
                        refused += 1
                os._exit(refused)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
            doc["text"] = "long " * 1000
            doc.close()
        """
        subprocess.run([sys.executable, "-c", script], check=True)
        assert on_disk(path) == {**VALUE, "text": "long " * 1000}

    def test_states_differ_in_forked_processes(self, tmp_path: Path) -> None:
        """A worker's delta was applied to another worker's document: both had made the same
        states."""
        script = f"""if True:
            import livebuf, os, pathlib
            livebuf.from_json("{{}}").set_state()     # something that ran before
            for n in range(4):
                path = pathlib.Path({str(tmp_path)!r}) / str(n)
                if os.fork() == 0:
                    doc = livebuf.Document.from_python({{"owner": n}})
                    doc.set_state()
                    livebuf.Log(path, "x").close()
                    print(doc.state.hex(), path.read_bytes()[:16].hex(), flush=True)
                    os._exit(0)
                os.wait()
        """
        output = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        states, logs = zip(*(line.split() for line in output.stdout.splitlines()), strict=True)
        assert len(set(states)) == len(set(logs)) == 4

    @pytest.mark.parametrize("shared", [False, True])
    def test_a_name_that_is_gone(self, path: Path, shared: bool) -> None:
        """`flush` and `close` succeeded, and the edits were lost."""
        other = path.with_name("other.lbuf")
        for gone in ("replaced", "removed"):
            path.write_bytes(payload())
            livebuf.dump({"n": "other"}, other)
            doc = livebuf.open(path, "r+", shared=shared)
            doc["n"] = 77
            if gone == "replaced":
                other.replace(path)
            else:
                path.unlink()
            for write in (doc.flush, doc.close):
                with pytest.raises(FileNotFoundError, match="save the document under another name"):
                    write()
            # It is still there to be saved.
            assert doc["n"] == 77
            livebuf.dump(doc, path.with_name("saved.lbuf"))
            assert livebuf.load(path.with_name("saved.lbuf"))["n"] == 77
            if shared:
                del doc
            else:
                doc.close(commit=False)
            assert not path.exists() or livebuf.load(path) == {"n": "other"}
        # Renamed back, it is committed.
        path.write_bytes(payload())
        with livebuf.open(path, "r+", shared=shared) as doc:
            doc["n"] = 78
            path.rename(other)
            with pytest.raises(FileNotFoundError):
                doc.flush()
            other.rename(path)
        assert livebuf.load(path)["n"] == 78

    def test_through_another_name(self, path: Path) -> None:
        other = path.with_name("other.lbuf")
        other.hardlink_to(path)
        with livebuf.open(path, "r+") as doc:
            doc["n"] = 5
            with pytest.raises(BlockingIOError):
                livebuf.open(other)
        assert livebuf.load(other)["n"] == 5


class TestShared:
    def test_others_see_each_edit(self, path: Path) -> None:
        with livebuf.open(path, "r+", shared=True) as doc:
            doc["n"] = 5
            assert on_disk(path)["n"] == 5
            doc["text"] = "long " * 10_000
            doc.flush()
            used = doc.nbytes
        assert path.stat().st_size == used and livebuf.load(path)["n"] == 5

    def test_for_editing_only(self, path: Path) -> None:
        for mode in ("r", "c"):
            with pytest.raises(ValueError, match="shared"):
                livebuf.open(path, mode, shared=True)  # type: ignore[arg-type]


class TestDump:
    """`dump` cut the file of its readers to nothing before it filled it: their next look-up
    ended the process by SIGBUS. It writes beside, and renames."""

    def test_readers_keep_the_old_file(self, path: Path) -> None:
        path.write_bytes(livebuf.dumps(list(range(100_000))))
        with livebuf.open(path) as doc:
            livebuf.dump([1], path)
            # Far behind the end of the new file.
            assert doc.root[99_999] == 99_999
            assert livebuf.load(path) == [1]
        assert os.listdir(path.parent) == [path.name]

    def test_rights_and_links_stay(self, path: Path) -> None:
        path.chmod(0o600)
        link = path.with_name("link.lbuf")
        link.symlink_to(path)
        livebuf.dump([2], link)
        assert link.is_symlink() and livebuf.load(path) == [2]
        assert path.stat().st_mode & 0o777 == 0o600

    def test_pipes(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        reader = subprocess.Popen(
            [sys.executable, "-c", f"import livebuf; print(livebuf.load({str(pipe)!r}))"],
            stdout=subprocess.PIPE,
            text=True,
        )
        livebuf.dump([1, "two"], pipe)
        assert reader.communicate()[0] == "[1, 'two']\n"

    def test_missing_folder(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError) as caught:
            livebuf.dump(1, tmp_path / "no" / "where.lbuf")
        assert caught.value.filename == str(tmp_path / "no" / "where.lbuf")


WORK = """if True:
    import livebuf, sys
    path, session = sys.argv[1], int(sys.argv[2])
    count = livebuf.load(path)["count"]
    print("ready", flush=True)
    while True:
        with livebuf.open(path, "r+") as doc:
            for _ in range(session):
                count += 1
                doc["count"] = count
                doc["rows"][count % 50]["lap"] = count
                doc["rows"].append({"lap": count, "text": "x" * (count % 97)})
                del doc["rows"][0]
                doc["text"] = "x" * (count * 7919 % 20_000)
                doc["last"] = count
                doc.flush()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("session", [1, 1000])
def test_a_killed_process_leaves_a_whole_document(tmp_path: Path, session: int) -> None:
    """70 of 120 files were damaged by this. `LIVEBUF_LONG=1` kills for longer."""
    path = tmp_path / "killed.lbuf"
    rows = [{"lap": lap, "text": "x"} for lap in range(50)]
    livebuf.dump({"count": 0, "rows": rows, "text": "", "last": 0}, path)
    last = 0
    for round_ in range(500 if LONG else 20):
        child = subprocess.Popen(
            [sys.executable, "-c", WORK, str(path), str(session)], stdout=subprocess.PIPE
        )
        assert child.stdout and child.stdout.readline() == b"ready\n"
        time.sleep(round_ % 20 * 0.001)
        child.kill()
        child.communicate()
        with livebuf.open(path) as doc:
            doc.validate()
            count = doc["count"]
            assert count >= last
            assert doc["last"] == count and len(doc["rows"]) == 50
            assert doc["text"] == "x" * (count * 7919 % 20_000)
            if count:
                assert doc["rows"][49].to_python() == {"lap": count, "text": "x" * (count % 97)}
            last = count
    assert last > 5


def journal(used: int, *changes: tuple[int, bytes]) -> bytes:
    """A journal, as `docs/FORMAT.md` describes it."""
    end = b"".join(struct.pack("<II", at, len(new)) + new for at, new in changes)
    end += struct.pack("<QIII", len(end) + 32, used, len(changes), 0)
    return end + struct.pack("<I", zlib.crc32(end)) + b"\xabLBJ\x01\0\0\0"


class TestReadingWritesNothing:
    """32 bytes at the end of any file made `open` and `load` cut it, or write into it."""

    @staticmethod
    def reads(path: Path) -> list[Callable[[], object]]:
        def closed(file: Any) -> object:
            with file:
                return file.to_python() if isinstance(file, Document) else len(file)

        reads: list[Callable[[], object]] = [
            lambda: livebuf.load(path),
            lambda: closed(livebuf.open(path)),
            lambda: closed(livebuf.open(path, "c")),
            lambda: closed(livebuf.open(f"file://{path}")),
            lambda: closed(livebuf.Partial(path)),
            lambda: closed(livebuf.Log(path)),
        ]
        try:
            from livebuf import polars
        except ImportError:
            return reads
        return [*reads, lambda: polars.scan(path.parent).collect()]

    def test_whatever_the_file_ends_with(self, tmp_path: Path) -> None:
        pytest.importorskip("fsspec")
        old = payload()
        whole = journal(len(old), (len(old) - 8, bytes(8)))
        wrong = bytearray(whole)
        wrong[-13] ^= 1
        ends = [journal(0), journal(40, (0, b"OVERWRITTEN")), whole, whole[1:], bytes(wrong)]
        with livebuf.Log(tmp_path / "x.lblog", "x") as log:
            log.append({"a": 1})
        beginnings = [b"Dear diary, this is no document. " * 3, b"", old]
        beginnings.append((tmp_path / "x.lblog").read_bytes())
        (tmp_path / "x.lblog").unlink()
        path = tmp_path / "any.lbuf"
        for beginning in beginnings:
            for end in ends:
                path.write_bytes(beginning + end)
                os.utime(path, (1e9, 1e9))
                for read in self.reads(path):
                    try:
                        read()
                    except (livebuf.Error, OSError):
                        pass
                    assert path.read_bytes() == beginning + end
                    assert path.stat().st_mtime == 1e9
                if beginning != old:
                    for shared in (False, True):
                        with pytest.raises(livebuf.Error):
                            livebuf.open(path, "r+", shared=shared)
                    assert path.read_bytes() == beginning + end
                    assert path.stat().st_mtime == 1e9

    def test_the_last_commit_is_read(self, path: Path) -> None:
        old = path.read_bytes()
        with livebuf.open(path, "r+") as doc:
            doc["n"] = 6
        new = path.read_bytes()
        at = next(at for at in range(len(old)) if old[at] != new[at])
        path.write_bytes(old + bytes(4000) + journal(len(new), (at, new[at : at + 8])))
        interrupted = path.read_bytes()
        path.chmod(0o444)
        assert livebuf.load(path)["n"] == 6
        with livebuf.open(path, "c") as doc:
            assert doc["n"] == 6
            doc["n"] = 7
        assert path.read_bytes() == interrupted
        path.chmod(0o644)
        with livebuf.open(path, "r+") as doc:
            assert doc["n"] == 6
        assert path.read_bytes() == new


class TestNewFiles:
    def test_a_link_to_nothing_is_followed(self, tmp_path: Path) -> None:
        """`dump` and `"w+"` put a file in the link's place."""
        link, file = tmp_path / "link.lbuf", tmp_path / "file.lbuf"
        link.symlink_to("file.lbuf")
        livebuf.dump([1], link)
        assert link.is_symlink() and livebuf.load(file) == [1]
        file.unlink()
        with livebuf.open(link, "w+") as doc:
            doc.root = [2]
        assert link.is_symlink() and livebuf.load(file) == [2]
        file.unlink()
        with pytest.raises(FileExistsError):
            livebuf.open(link, "x")
        link.unlink()
        link.symlink_to("link.lbuf")
        with pytest.raises(OSError):
            livebuf.dump([1], link)

    def test_one_that_must_not_be_there(self, tmp_path: Path) -> None:
        path = tmp_path / "new.lbuf"
        with livebuf.open(path, "x") as doc:
            assert doc.to_python() is None and (doc.name, doc.mode) == (str(path), "x")
            doc.set_pointer("", {"laps": [71]})
            doc["laps"].append(70.5)
        assert livebuf.load(path) == {"laps": [71, 70.5]}
        with pytest.raises(FileExistsError):
            livebuf.open(path, "x")
        assert livebuf.load(path) == {"laps": [71, 70.5]}

    def test_x_plus_is_x(self, tmp_path: Path) -> None:
        path = tmp_path / "new.lbuf"
        with livebuf.open(path, "x+") as doc:
            doc.root = [1]
        with pytest.raises(FileExistsError):
            livebuf.open(path, "x+")
        assert livebuf.load(path) == [1]

    def test_one_in_the_place_of_another(self, tmp_path: Path) -> None:
        path = tmp_path / "old.lbuf"
        for _ in range(2):
            with livebuf.open(path, "w+") as doc:
                assert doc.to_python() is None
                doc.set_pointer("", [1, 2])
            assert livebuf.load(path) == [1, 2]
        # What readers have open stays.
        with livebuf.open(path) as reader:
            with pytest.raises(BlockingIOError):
                livebuf.open(path, "r+")
            assert reader.mode == "r" and reader == [1, 2]
        with pytest.raises(FileNotFoundError):
            livebuf.open(tmp_path / "no" / "such.lbuf", "w+")
        with pytest.raises(FileNotFoundError):
            livebuf.open(tmp_path / "no" / "such.lbuf", "x")

    def test_an_exception_leaves_it_empty(self, tmp_path: Path) -> None:
        path = tmp_path / "new.lbuf"
        with pytest.raises(KeyError), livebuf.open(path, "x") as doc:
            doc.set_pointer("", {"a": 1})
            raise KeyError
        assert livebuf.load(path) is None

    def test_documents_in_memory_have_no_name(self) -> None:
        doc = Document.from_python([1])
        assert doc.name is None and doc.mode is None


def test_a_document_that_a_hook_closes_is_released(tmp_path: Path) -> None:
    """Bug: a file whose document a `dec_hook` closed stayed locked until the document was gone."""
    path = tmp_path / "x.lbuf"
    with livebuf.open(path, "w+") as new:
        new["at"] = {"x": 1}
    doc = livebuf.open(path, "r")

    class Point:
        pass

    def hook(kind, value):
        doc.close()
        return Point()

    assert isinstance(livebuf.Decoder(dict[str, Point], dec_hook=hook).decode(doc)["at"], Point)
    livebuf.open(path, "r+").close()
