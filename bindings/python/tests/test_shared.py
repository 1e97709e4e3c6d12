"""Documents that processes share: SharedDocument.

Four processes for 4 seconds, or as many as LIVEBUF_SECONDS says: `make test-long` takes 60.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import livebuf
import pytest
from livebuf import SharedDocument

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("fcntl")

SECONDS = float(os.environ.get("LIVEBUF_SECONDS") or 4)


@pytest.fixture
def name() -> Iterator[str]:
    made = f"test-{os.getpid()}-{time.monotonic_ns()}"
    yield made
    try:
        SharedDocument(made, create=False).unlink()
    except FileNotFoundError:
        pass


def test_create_or_attach(name: str) -> None:
    with pytest.raises(FileNotFoundError):
        SharedDocument(name, create=False)
    with SharedDocument(name, {"n": 1}) as one, SharedDocument(name, {"n": 2}) as two:
        assert one.read() == two.read() == {"n": 1}
        with pytest.raises(FileExistsError):
            SharedDocument(name, create=True)
        with one.edit() as doc:
            doc["n"] = 3
        with two.edit() as doc:
            doc["n"] += 1
        assert one.read() == two.read() == {"n": 4}
        assert one.version == 2 and one.name == name and "version 2" in repr(one)
    assert "closed" in repr(one)
    with pytest.raises(ValueError, match="closed"):
        one.read()
    with SharedDocument(name) as again:
        assert again.read() == {"n": 4}


def test_paths(tmp_path: Path) -> None:
    for path in (tmp_path / "state", str(tmp_path / "other")):
        with SharedDocument(path) as shared:
            assert shared.read() == {}
            with shared.edit() as doc:
                doc["a"] = [1, 2]
        with SharedDocument(path) as shared:
            assert shared.read() == {"a": [1, 2]}
    (tmp_path / "text").write_text("x" * 5000)
    with pytest.raises(ValueError, match="no shared document"):
        SharedDocument(tmp_path / "text")
    with pytest.raises((ValueError, IsADirectoryError)):
        SharedDocument(tmp_path)
    for wrong in ("", "a\0b"):
        with pytest.raises(ValueError, match="no name"):
            SharedDocument(wrong)


def test_what_was_read_stays(name: str) -> None:
    with SharedDocument(name, {"text": "one"}) as shared:
        before = shared.read()
        assert shared.read() is before
        with shared.edit() as doc:
            doc["text"] = "two"
        assert before["text"] == "one" and shared.read()["text"] == "two"
        with pytest.raises(livebuf.ReadOnlyError):
            shared.read()["text"] = "three"
    assert before["text"] == "one"


def test_an_exception_changes_nothing(name: str) -> None:
    with SharedDocument(name, {"n": 1}) as shared:
        with pytest.raises(KeyError), shared.edit() as doc:
            doc["n"] = 2
            raise KeyError
        assert shared.read()["n"] == 1 and shared.version == 0
        with shared.edit() as doc:
            assert doc["n"] == 1
            doc["m"] = 3
        assert shared.read() == {"n": 1, "m": 3}


class TestKeptAfterTheBlock:
    """Bug: the document of a block, and views of it, could be read and edited after it, without the
    lock. Such edits were lost, or appeared with the next edit of this process."""

    def kept(self, doc: livebuf.Document) -> list[Any]:
        return [doc, doc.root, doc["rows"], doc["rows"][0], doc["rows"].table]

    def check_ended(self, doc: Any, root: Any, rows: Any, row: Any, table: Any) -> None:
        for look in (
            lambda: doc["n"],
            lambda: doc.root,
            lambda: root["n"],
            lambda: len(rows),
            lambda: row.to_python(),
            lambda: table.column("a"),
            lambda: doc.__setitem__("n", 100),
            lambda: root.update(n=100),
            lambda: rows.append({"a": 100}),
            lambda: row.__setitem__("a", 100),
            lambda: doc.transaction().__enter__(),
            lambda: bytes(doc),
        ):
            with pytest.raises(livebuf.ClosedError):
                look()
        assert doc.closed

    @pytest.mark.parametrize("elsewhere", [False, True])
    def test_views(self, name: str, elsewhere: bool) -> None:
        value = {"n": 0, "rows": [{"a": 1}, {"a": 2}]}
        with SharedDocument(name, value) as one, SharedDocument(name) as two:
            with one.edit() as doc:
                kept = self.kept(doc)
                doc["n"] += 1
            self.check_ended(*kept)
            with (two if elsewhere else one).edit() as doc:
                self.check_ended(*kept)
                assert doc == {**value, "n": 1}
                doc["n"] += 1
            self.check_ended(*kept)
            assert one.read() == two.read() == {**value, "n": 2}

    def test_after_an_exception(self, name: str) -> None:
        value = {"n": 0, "rows": [{"a": 1}]}
        with SharedDocument(name, value) as shared:
            with pytest.raises(KeyError), shared.edit() as doc:
                kept = self.kept(doc)
                doc["n"] = 5
                raise KeyError
            self.check_ended(*kept)
            with pytest.raises(livebuf.TransactionError), shared.edit() as doc:
                assert doc == value
                left = doc.transaction()
                left.__enter__()
                doc["n"] = 5
            left.rollback()
            with shared.edit() as doc:
                assert doc == shared.read() == value

    def test_of_another_process(self, name: str) -> None:
        """What a process keeps does not change what the other one edits."""
        spawn = multiprocessing.get_context("spawn")
        with SharedDocument(name, {"n": 0, "rows": [{"a": 1}]}) as shared:
            ours, theirs = spawn.Pipe()
            worker = spawn.Process(target=_keeps, args=(shared, theirs))
            worker.start()
            assert ours.recv() == "edited"
            with shared.edit() as doc:
                ours.send("go on")
                assert ours.recv() == ["ClosedError", "ClosedError"]
                doc["n"] += 1
            worker.join()
            assert worker.exitcode == 0 and shared.read()["n"] == 2

    def test_exports(self, name: str) -> None:
        """They stay good, show the state that they were made of, and hinder no later edit."""
        with SharedDocument(name, {"list": list(range(100))}) as shared:
            with shared.edit() as doc:
                numbers = doc["list"].memoryview()
            before = numbers.tolist()
            for turn in range(2):
                with shared.edit() as doc:
                    doc["list"][0] = -turn - 1
                assert not shared.wait(timeout=0)
                assert numbers.tolist() == before
            assert shared.read()["list"][0] == -2

    def test_recordings(self, name: str) -> None:
        with SharedDocument(name, {"n": 0}) as shared:
            with shared.edit() as doc:
                history = doc.history()
                with history.step():
                    doc["n"] = 1
            with shared.edit() as doc:
                doc["n"] += 1
            with pytest.raises(livebuf.ClosedError):
                history.undo()
            assert shared.read()["n"] == 2


def _keeps(shared: SharedDocument, pipe: Any) -> None:
    with shared.edit() as doc:
        doc["n"] += 1
        rows = doc["rows"]
    pipe.send("edited")
    pipe.recv()
    failures = []
    for act in (lambda: rows[0], lambda: rows.append({"a": 2})):
        try:
            act()
        except livebuf.Error as error:
            failures.append(type(error).__name__)
    pipe.send(failures)


def test_growth(name: str) -> None:
    with SharedDocument(name, {"rows": []}) as one, SharedDocument(name) as two:
        rows: list[Any] = []
        for turn in range(60):
            writer, reader = (one, two) if turn % 2 else (two, one)
            row = {"turn": turn, "text": "x" * (turn * 997 % 20_000)}
            rows.append(row)
            with writer.edit() as doc:
                doc["rows"].append(row)
            assert reader.read() == {"rows": rows}
            reader.read().validate()
        with one.edit() as doc:
            doc.root = {"n": 1}
        assert two.read() == {"n": 1}


def test_a_writer_uses_room_that_another_made(name: str) -> None:
    with SharedDocument(name, {"a": ""}) as one, SharedDocument(name) as two:
        # The second place is at the file's end, where the other one has not mapped it, and the
        # last document in the first.
        for writer, text in ((one, "x" * 100_000), (one, "short"), (two, "shorter")):
            with writer.edit() as doc:
                doc["a"] = text
        assert one.read()["a"] == two.read()["a"] == "shorter"


def test_edits_of_one_writer_reuse_space(name: str) -> None:
    with SharedDocument(name, {"text": ""}) as shared:
        for turn in range(500):
            with shared.edit() as doc:
                doc["text"] = "x" * (turn * 7919 % 900)
        assert shared.read().nbytes < 2500


def test_waiting(name: str) -> None:
    with SharedDocument(name, {"n": 0}) as shared, SharedDocument(name) as other:
        assert not shared.wait(timeout=0.01)
        shared.read()

        def later() -> None:
            time.sleep(0.05)
            with other.edit() as doc:
                doc["n"] = 1

        thread = threading.Thread(target=later)
        thread.start()
        assert shared.wait(timeout=10)
        assert shared.read()["n"] == 1
        thread.join()
        # Already another version.
        assert shared.wait(0, timeout=0)
        assert [doc["n"] for doc in other.changes(timeout=0.01)] == [1]


def test_one_edit_at_a_time(name: str) -> None:
    with SharedDocument(name, {"n": 0}) as one, SharedDocument(name) as two:
        with one.edit() as doc:
            doc["n"] = 1
            with pytest.raises(RuntimeError, match="already"), one.edit():
                pass
            with pytest.raises(TimeoutError), two.edit(timeout=0.02):
                pass
            assert two.read()["n"] == 0
            failed: list[BaseException] = []

            def elsewhere() -> None:
                try:
                    with one.edit(timeout=0.02):
                        pass
                except TimeoutError as error:
                    failed.append(error)

            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            assert len(failed) == 1
        with two.edit(timeout=0) as doc:
            doc["n"] += 1
        assert one.read()["n"] == 2


def test_threads(name: str) -> None:
    with SharedDocument(name, {"n": 0}) as one, SharedDocument(name) as two:

        def count(shared: SharedDocument) -> None:
            for _ in range(100):
                with shared.edit() as doc:
                    doc["n"] += 1

        threads = [threading.Thread(target=count, args=(each,)) for each in (one, one, two, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert one.read()["n"] == two.read()["n"] == 400 == one.version


def test_unlinked(name: str) -> None:
    with SharedDocument(name, {"n": 1}) as old:
        old.unlink()
        assert old.read()["n"] == 1
        with pytest.raises(FileNotFoundError, match="again"), old.edit():
            pass
        with SharedDocument(name, {"n": 2}) as new:
            assert (old.read()["n"], new.read()["n"]) == (1, 2)
            with pytest.raises(FileNotFoundError, match="again"), old.edit():
                pass


def test_a_file_that_nobody_finished(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(FileNotFoundError, match="end"):
        SharedDocument(tmp_path / "state", create=False)
    with SharedDocument(tmp_path / "state", [1]) as shared:
        assert shared.read() == [1]


def test_links_and_other_users(name: str, tmp_path: Path) -> None:
    with SharedDocument(name) as shared:
        file = Path(shared._file)
        file.chmod(0o600)
        assert file.stat().st_mode & 0o777 == 0o600
        shared.unlink()
        file.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(OSError):
            SharedDocument(name)
        file.unlink()
    if os.geteuid() == 0:
        file.touch()
        os.chown(file, 12345, 12345)
        with pytest.raises(PermissionError, match="another user"):
            SharedDocument(name)
        file.unlink()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fork(name: str) -> None:
    with SharedDocument(name, {"n": 0}) as shared:
        with shared.edit() as doc:
            doc["n"] = 1
            child = os.fork()
            if child == 0:
                # The parent is editing: its lock is not the child's.
                wrong = 1
                try:
                    with shared.edit(timeout=0.05):
                        wrong = 2
                except TimeoutError:
                    wrong = int(shared.read()["n"] != 0)
                finally:
                    os._exit(wrong)
            assert os.waitpid(child, 0)[1] == 0
        assert shared.read()["n"] == 1


def test_other_processes(name: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    with SharedDocument(name, {"n": 0}) as shared:
        assert pickle.loads(pickle.dumps(shared)).read() == {"n": 0}
        workers = [spawn.Process(target=_count, args=(shared, 50)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
            assert worker.exitcode == 0
        assert shared.read()["n"] == 100


def _count(shared: SharedDocument, turns: int) -> None:
    for _ in range(turns):
        with shared.edit() as doc:
            doc["n"] += 1


# Texts of other lengths move those after them, and lists that grow and shrink move whole.
DRIVER = """
import json, os, signal, sys, time
from livebuf import Error, SharedDocument

what, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])


def text(n):
    return "x" * (n * 7919 % 900)


def write(doc, n):
    doc["first"] = n
    doc["text"] = text(n) * (1 + n // 100 % 7)
    doc["rows"][n % 20]["name"] = text(n + 1)
    doc["rows"].append({"name": "new", "n": n})
    del doc["rows"][0]
    doc["list"][:] = range(n % 50)
    doc["last"] = n


def torn(doc):
    # The document is sound, and of one edit.
    try:
        doc.validate()
        n = doc["first"]
        assert doc["last"] == n and doc["text"] == text(n) * (1 + n // 100 % 7)
        assert len(doc["rows"]) == 20 and doc["list"].to_python() == list(range(n % 50))
        assert doc["rows"][-1].to_python() == {"name": "new", "n": n}
    except (AssertionError, Error) as error:
        return repr(error)


shared = SharedDocument(name, create=False)
end = time.monotonic() + seconds
if what == "write":
    while time.monotonic() < end:
        with shared.edit() as doc:
            write(doc, doc["first"] + 1)
    print(json.dumps({"edits": shared.version}))
elif what == "read":
    reads, states, last = 0, 0, 0
    while time.monotonic() < end:
        doc = shared.read()
        # A document that did not change is the same one, and was looked at.
        if shared.version % 4:
            shared._seen = None
        wrong = torn(doc)
        assert wrong is None, wrong
        assert doc["first"] >= last, "an older state came later"
        reads += 1
        states += doc["first"] > last
        last = doc["first"]
    print(json.dumps({"reads": reads, "states": states}))
else:
    # Killed by chance, in the middle of edits and of copies.
    while True:
        with shared.edit() as doc:
            write(doc, doc["first"] + 1)
"""


def _start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, *words], stdout=subprocess.PIPE, text=True
    )


def _first() -> dict[str, Any]:
    rows = [{"name": "row", "n": 0} for _ in range(19)] + [{"name": "new", "n": 0}]
    return {"first": 0, "text": "", "rows": rows, "list": [], "last": 0}


def test_readers_see_whole_states(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with SharedDocument(name, _first()):
        processes = [
            _start(what, name, str(SECONDS)) for what in ("write", "read", "read", "write")
        ]
        found = []
        for process in processes:
            out, _ = process.communicate(timeout=SECONDS + 60)
            assert process.returncode == 0
            found.append(json.loads(out))
    with capsys.disabled():
        print("\n", *found)
    assert found[1]["states"] > 10 and found[2]["states"] > 10


def test_killed_writers(name: str) -> None:
    with SharedDocument(name, _first()) as shared:
        for turn in range(int(SECONDS) + 4):
            process = _start("kill", name, "0")
            before = shared.version
            assert shared.wait(before, timeout=60)
            time.sleep(0.01 + turn * 0.0137 % 0.1)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            # The last whole state is there, and the next writer goes on from it.
            check = _start("read", name, "0.05")
            check.communicate(timeout=60)
            assert check.returncode == 0
            with shared.edit(timeout=5) as doc:
                assert doc["first"] == doc["last"]
        assert shared.version > 10
