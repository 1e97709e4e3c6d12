"""The maps of the Lite² paper once more: the most memory that a task takes."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path

from .formats import FORMATS, Format
from .maps import Maps, fitting, held, load
from .peak import NotMeasured, Task, peak
from .report import Report
from .timing import Effort

COUNT = 10
TASKS = (f"READ {COUNT}", f"READ-WRITE {COUNT}", "WRITE")


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    entries, length = (20_000, 640) if effort.quick else (100_000, 640)
    workload = f"memory/{entries}×{length}"
    if not wanted(workload):
        return
    formats = fitting(load(report, "memory"), entries)
    maps = Maps(entries, length, formats)
    formats = held(report, maps, formats)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "entries").write_bytes(pickle.dumps(maps.entries))
        pairs = maps.pairs[COUNT][0]
        (folder / "asked").write_bytes(pickle.dumps((pairs, maps.entries[pairs[-1][0]])))
        for each in formats:
            (folder / each.name).write_bytes(maps.data[each.name])
        for task in TASKS:
            found = {}
            for each in formats:
                if task == "WRITE" and each.write is None:
                    continue
                try:
                    taken, right = peak("memory", each.name, task, folder)
                except NotMeasured as error:
                    report.skip(f"{workload}, {task}: {each.name}: {error}")
                    continue
                if report.same(f"{workload}/{task}", each.name, right):
                    found[each.name] = taken
            if found:
                title = f"Peak memory, maps of {maps.title} bytes"
                report.figure(title, task, found, f"{workload}/{task}")


def _named(name: str) -> Format:
    for _, make in FORMATS:
        try:
            made = make()
        except ImportError:
            continue
        if made.name == name:
            return made
    raise NotMeasured(f"no format {name}")


def task_of(name: str, task: str, folder: Path) -> Task:
    """For `peak`."""
    made = _named(name)
    # Each library has once done all that it does, so that its own start does not count.
    warm = {f"key {number}": "value" for number in range(300)}
    small = made.encode(warm)
    made.read(small, list(warm))
    if made.change is not None:
        made.change(small, [(key, "other value") for key in warm])
    pairs, value = pickle.loads((folder / "asked").read_bytes())
    if task == "WRITE":
        entries = pickle.loads((folder / "entries").read_bytes())
        write = made.write or made.encode
        return lambda: write(entries), lambda result: made.decode(result) == entries
    data, keys = (folder / name).read_bytes(), [key for key, _ in pairs]
    if task.startswith("READ-WRITE"):
        change = made.change
        if change is None:
            raise NotMeasured(f"{name} does not change")
        expected = dict(pairs)
        return (
            lambda: change(data, pairs),
            lambda result: all(made.read(result, [key]) == expected[key] for key in expected),
        )
    return lambda: made.read(data, keys), lambda result: result == value
