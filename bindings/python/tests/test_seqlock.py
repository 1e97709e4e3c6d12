"""The guide's recipe for one writer and many readers in shared memory.

Four processes for 4 seconds, or as many as LIVEBUF_SECONDS says: `make test-long` takes 60.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sybil")

from sybil import Document
from sybil.parsers.markdown import PythonCodeBlockParser

GUIDE = Path(__file__).parents[3] / "docs" / "howto" / "shared-memory.md"
SECONDS = float(os.environ.get("LIVEBUF_SECONDS") or 4)

TIMEOUT = "the writer edits all the time, or ended during an edit"

# Texts of other lengths move those behind them, and lists that grow and shrink move whole.
DRIVER = """
import contextlib, json, multiprocessing, os, signal, sys, time
from multiprocessing import shared_memory
import livebuf
from recipe import START, Reader, Writer


def text(n):
    return "x" * (n * 7919 % 900)


def write(doc, n, pause=0.0):
    doc["first"] = n
    doc["text"] = text(n)
    doc["rows"][n % 20]["name"] = text(n + 1)
    doc["rows"].append({"name": "new", "n": n})
    time.sleep(pause)
    del doc["rows"][0]
    doc["list"][:] = range(n % 50)
    doc["last"] = n


def torn(doc):
    # The document is sound, and of one edit.
    try:
        doc.validate()
        n = doc["first"]
        assert doc["last"] == n and doc["text"] == text(n) and len(doc["rows"]) == 20
        assert doc["rows"][-1].to_python() == {"name": "new", "n": n}
        assert doc["list"].to_python() == list(range(n % 50))
    except (AssertionError, livebuf.Error) as error:
        return repr(error)


def edit(name, seconds, pause):
    memory = shared_memory.SharedMemory(name)
    end, n = time.monotonic() + seconds, 1
    with contextlib.closing(Writer(memory)) as writer:
        while time.monotonic() < end:
            n += 1
            with writer.edit() as doc:
                write(doc, n, pause)
            # Readers get their turn.
            time.sleep(0.0002)
        assert writer.doc.nbytes < 60_000
    memory.close()


def waits(reader, seconds=0.05):
    try:
        reader.read(seconds)
    except TimeoutError as error:
        return str(error)


def look(name, seconds, queue):
    memory = shared_memory.SharedMemory(name)
    reads, states, last = 0, 0, 0
    end = time.monotonic() + seconds
    with contextlib.closing(Reader(memory)) as reader:
        while time.monotonic() < end:
            doc = reader.read()
            reads += 1
            wrong = torn(doc)
            if wrong or doc["first"] < last:
                queue.put({"wrong": wrong or "an older state came later"})
                return
            states += doc["first"] > last
            last = doc["first"]
    queue.put({"reads": reads, "states": states})
    memory.close()


def look_without_counter(name, seconds, queue):
    memory = shared_memory.SharedMemory(name)
    end = time.monotonic() + seconds
    with contextlib.closing(Reader(memory)) as reader:
        found = None
        while found is None and time.monotonic() < end:
            try:
                doc = livebuf.Document(bytes(reader.body[: reader.head[1]]))
            except livebuf.Error as error:
                found = repr(error)
            else:
                found = torn(doc)
    queue.put({"wrong": found})
    memory.close()


def end_in_edit(name):
    memory = shared_memory.SharedMemory(name)
    with Writer(memory).edit() as doc:
        doc["first"] = 99
        os.kill(os.getpid(), signal.SIGKILL)


def main():
    what, seconds = sys.argv[1], float(sys.argv[2])
    memory = shared_memory.SharedMemory(create=True, size=1 << 17)
    rows = [{"name": "row", "n": 0} for _ in range(20)]
    payload = livebuf.dumps({"first": 0, "text": "", "rows": rows, "list": [], "last": 0})
    memory.buf[START : START + len(payload)] = payload
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    with contextlib.closing(Writer(memory)) as writer, contextlib.closing(Reader(memory)) as reader:
        if what == "first":
            print("before the first edit:", waits(reader))
        with writer.edit() as doc:
            write(doc, 1)
        assert torn(reader.read()) is None
        if what == "first":
            # An exception is as bad as a death.
            try:
                with writer.edit() as doc:
                    doc["first"] = 5
                    raise KeyError
            except KeyError:
                pass
            print("after an exception:", waits(reader))
            with writer.edit() as doc:
                write(doc, 6)
            assert torn(reader.read()) is None
    if what == "kill":
        child = spawn.Process(target=end_in_edit, args=(memory.name,))
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
        with contextlib.closing(Reader(memory)) as reader:
            print("after a death:", waits(reader, 0.2))
            with contextlib.closing(Writer(memory)) as writer, writer.edit() as doc:
                write(doc, 100)
            assert torn(reader.read()) is None and reader.read()["first"] == 100
    elif what in ("long", "control"):
        pause = 0.002 if what == "control" else 0.0
        children = [spawn.Process(target=edit, args=(memory.name, seconds + 1, pause))]
        target, count = (look_without_counter, 1) if what == "control" else (look, 3)
        for _ in range(count):
            children.append(spawn.Process(target=target, args=(memory.name, seconds, queue)))
        for child in children:
            child.start()
        answers = [queue.get(timeout=seconds + 60) for _ in range(count)]
        for child in children:
            child.join()
        print(json.dumps([child.exitcode for child in children]))
        print(json.dumps(answers))
    memory.close()
    memory.unlink()


if __name__ == "__main__":
    main()
"""


def run(folder: Path, what: str, seconds: float = 1.0) -> list[str]:
    parsed = Document.parse(str(GUIDE), PythonCodeBlockParser()).examples()
    [recipe] = [str(found.parsed) for found in parsed if "class Reader" in str(found.parsed)]
    (folder / "recipe.py").write_text(recipe, encoding="utf-8")
    (folder / "driver.py").write_text(DRIVER, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "driver.py", what, str(seconds)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=seconds + 120,
    )
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_readers_see_whole_states(tmp_path: Path) -> None:
    exits, answers = (json.loads(line) for line in run(tmp_path, "long", SECONDS))
    print(answers)
    assert exits == [0, 0, 0, 0]
    wrong = [answer["wrong"] for answer in answers if "wrong" in answer]
    assert not wrong and len(answers) == 3
    # They did read while the writer wrote.
    assert all(answer["states"] > 20 * SECONDS for answer in answers), answers


def test_without_the_counter_they_see_torn_states(tmp_path: Path) -> None:
    """So that the test above can fail."""
    answers: list[dict[str, Any]]
    _, answers = (json.loads(line) for line in run(tmp_path, "control", 5))
    assert answers[0]["wrong"]


def test_readers_wait(tmp_path: Path) -> None:
    assert run(tmp_path, "first") == [
        f"before the first edit: {TIMEOUT}",
        f"after an exception: {TIMEOUT}",
    ]


def test_a_killed_writer(tmp_path: Path) -> None:
    assert run(tmp_path, "kill") == [f"after a death: {TIMEOUT}"]
