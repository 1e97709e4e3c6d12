"""The maps of the Lite² paper by one worker and by two at once, which are threads or processes:
seconds per operation of all workers together."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from .formats import Format
from .maps import Maps, fitting, load
from .report import Report
from .timing import Effort, Seconds

COUNT = 10
SIZES = ((100, 40), (1_000, 160))
TASKS = (f"READ {COUNT}", f"READ-WRITE {COUNT}", "WRITE")

Span = tuple[int, int]
Batch = Callable[[int], Span]


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    for entries, length in SIZES[1:] if effort.quick else SIZES:
        workload = f"concurrency/{entries}×{length}"
        if wanted(workload):
            _size(effort, report, workload, entries, length)


def _size(effort: Effort, report: Report, workload: str, entries: int, length: int) -> None:
    formats = fitting(load(report, "concurrency"), entries)
    # Some keep a parser, which two threads cannot share.
    others = fitting(load(Report(), "concurrency"), entries)
    maps = Maps(entries, length, formats)
    workers = _Workers(entries, length)
    try:
        for task in TASKS:
            found: dict[str, dict[str, Seconds]] = {}
            for each, other in zip(formats, others, strict=True):
                works = [batch_of(one, maps, task) for one in (each, other)]
                if None in works or not report.same(
                    f"{workload}/{task}", each.name, _right(each, maps, task)
                ):
                    continue
                for kind, times in _times(effort, workers, works, each.name, task).items():
                    found.setdefault(kind, {})[each.name] = Seconds(times)
            for kind, times in found.items():
                title = f"Concurrency, {task} of maps of {maps.title} bytes"
                report.figure(title, kind, times, f"{workload}/{task}")
    finally:
        workers.stop()


def batch_of(each: Format, maps: Maps, task: str) -> Batch | None:
    """So many repetitions of the task: when they began and ended."""
    data = maps.data[each.name]
    samples: list[Any]
    work: Callable[[Any], Any]
    if task == "WRITE":
        if each.write is None:
            return None
        work, samples = each.write, [maps.entries]
    elif task.startswith("READ-WRITE"):
        change = each.change
        if change is None:
            return None
        work, samples = (lambda pairs: change(data, pairs)), maps.pairs[COUNT]
    else:
        work, samples = (lambda keys: each.read(data, keys)), maps.keys[COUNT]

    def batch(repetitions: int) -> Span:
        # The same clock in all processes.
        began = time.monotonic_ns()
        for at in range(repetitions):
            work(samples[at % len(samples)])
        return began, time.monotonic_ns()

    return batch


def _right(each: Format, maps: Maps, task: str) -> bool:
    data, keys, pairs = maps.data[each.name], maps.keys[COUNT][0], maps.pairs[COUNT][0]
    if task == "WRITE" and each.write is not None:
        return each.decode(each.write(maps.entries)) == maps.entries
    if task.startswith("READ-WRITE") and each.change is not None:
        return each.decode(each.change(data, pairs)) == {**maps.entries, **dict(pairs)}
    return each.read(data, keys) == maps.entries[keys[-1]]


def _times(
    effort: Effort, workers: _Workers, works: list[Any], name: str, task: str
) -> dict[str, list[float]]:
    length, rounds = (2_000_000, 3) if effort.quick else (20_000_000, 5)
    repetitions, work = 1, works[0]
    began, ended = work(repetitions)
    while ended - began < length:
        repetitions *= 2
        began, ended = work(repetitions)
    kinds: dict[str, Callable[[], list[Span]]] = {
        "1 thread": lambda: _threads(works[:1], repetitions),
        "2 threads": lambda: _threads(works, repetitions),
        "1 process": lambda: workers.batch(name, task, repetitions, 1),
        "2 processes": lambda: workers.batch(name, task, repetitions, 2),
    }
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind, start in kinds.items():
            spans = start()
            took = max(end for _, end in spans) - min(began for began, _ in spans)
            found[kind].append(took * 1e-9 / (repetitions * len(spans)))
    return found


def _threads(works: list[Batch], repetitions: int) -> list[Span]:
    barrier = threading.Barrier(len(works))

    def worker(work: Batch) -> Span:
        barrier.wait()
        return work(repetitions)

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(worker, works))


class _Workers:
    """Two processes that hold the maps."""

    def __init__(self, entries: int, length: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.barriers = {count: context.Barrier(count) for count in (1, 2)}
        self.pipes: list[Connection] = []
        self.processes = []
        for _ in range(2):
            ours, theirs = context.Pipe()
            arguments = (theirs, self.barriers, entries, length)
            process = context.Process(target=_serve, args=arguments, daemon=True)
            process.start()
            self.pipes.append(ours)
            self.processes.append(process)
        for pipe in self.pipes:
            pipe.recv()

    def batch(self, name: str, task: str, repetitions: int, count: int) -> list[Span]:
        for pipe in self.pipes[:count]:
            pipe.send((name, task, repetitions, count))
        return [pipe.recv() for pipe in self.pipes[:count]]

    def stop(self) -> None:
        for pipe in self.pipes:
            pipe.send(None)
        for process in self.processes:
            process.join()


def _serve(pipe: Connection, barriers: Any, entries: int, length: int) -> None:
    formats = fitting(load(Report(), "concurrency"), entries)
    maps = Maps(entries, length, formats)
    works: dict[tuple[str, str], Batch] = {}
    pipe.send("ready")
    while (asked := pipe.recv()) is not None:
        name, task, repetitions, count = asked
        if (name, task) not in works:
            each = next(each for each in formats if each.name == name)
            work = batch_of(each, maps, task)
            if work is None:
                raise ValueError(f"{name} has no {task}")
            work(1)
            works[name, task] = work
        barriers[count].wait()
        pipe.send(works[name, task](repetitions))
