"""The clock: competitors run in turns, so that a noisy minute hits all of them, and the fastest
of many repetitions counts, because noise only adds.

The clock is the thread's processor time, which stands still while other processes have the
core; where a library uses more threads than one, it is the wall's.
"""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Effort:
    """How long a contest may take."""

    seconds: float  # of measuring, times the number of competitors
    rounds: int  # run even when they take longer
    batch: float  # seconds of a batch at least, to hide the clock's own time

    quick: bool


FULL = Effort(seconds=0.5, rounds=3, batch=1e-3, quick=False)
QUICK = Effort(seconds=0.04, rounds=2, batch=3e-4, quick=True)

# Work for a batch cannot be doubled for ever: samples are listed before the clock starts.
MOST_REPETITIONS = 1 << 18


class Seconds(float):
    """The fastest time of one operation, with those of all other batches."""

    def __new__(cls, batches: list[float]) -> Seconds:
        made = super().__new__(cls, min(batches))
        made.batches = sorted(batches)
        return made

    batches: list[float]

    def entry(self) -> dict[str, float]:
        """What is kept of it in a file of results."""

        def at(share: float) -> float:
            return self.batches[round((len(self.batches) - 1) * share)]

        spread = (at(0.75) - at(0.25)) / at(0.5) if at(0.5) else 0.0
        return {
            "minimum": float(self),
            "median": at(0.5),
            "spread": spread,
            "runs": len(self.batches),
        }


@dataclass
class Competitor:
    name: str
    work: Callable[[Any], Any]
    samples: Sequence[Any]
    prepare: Callable[[], Any] | None
    repetitions: int = 1
    batches: list[float] = field(default_factory=list)
    used: float = 0.0
    next_samples: Any = field(default=None)

    def __post_init__(self) -> None:
        self.next_samples = itertools.cycle(self.samples)

    def batch(self, clock: Callable[[], int]) -> float:
        """Seconds of as many repetitions. What the work gives is dropped within them."""
        work = self.work
        samples = list(itertools.islice(self.next_samples, self.repetitions))
        if self.prepare is not None:
            self.prepare()
        began = clock()
        for sample in samples:
            work(sample)
        return (clock() - began) * 1e-9

    def choose_repetitions(self, clock: Callable[[], int], effort: Effort) -> None:
        """Doubles them until a batch is long enough, and, where that is quick, takes every
        sample twice; warms up on the way."""
        elapsed = self.batch(clock)
        while (
            elapsed < effort.batch
            or (self.repetitions < 2 * len(self.samples) and elapsed < 40 * effort.batch)
        ) and self.repetitions < MOST_REPETITIONS:
            self.repetitions *= 2
            elapsed = self.batch(clock)
        self.used += elapsed
        self.batches.append(elapsed / self.repetitions)

    def turn(self, clock: Callable[[], int]) -> None:
        """Two batches: the first finds the caches as the competitor before left them, the
        second as this one did."""
        for _ in range(2):
            elapsed = self.batch(clock)
            self.used += elapsed
            self.batches.append(elapsed / self.repetitions)
            # The second tells little where one takes so long.
            if elapsed > 0.2:
                break


class Contest:
    """Competitors that do the same work."""

    def __init__(self, *, collector: bool = False, wall: bool = False) -> None:
        self.competitors: list[Competitor] = []
        self.collector = collector
        self.clock = time.perf_counter_ns if wall else time.thread_time_ns

    def add(
        self,
        name: str,
        work: Callable[[Any], Any],
        samples: Sequence[Any] = (None,),
        prepare: Callable[[], Any] | None = None,
    ) -> None:
        """Adds work on one sample; each repetition takes the next one. `prepare` is called
        before each batch, and does not count."""
        self.competitors.append(Competitor(name, work, samples, prepare))

    def run(self, effort: Effort) -> dict[str, Seconds]:
        """Seconds of each competitor's fastest batch, by name."""
        gc.collect()
        gc.disable()
        if self.collector:
            gc.enable()
        try:
            for competitor in self.competitors:
                competitor.choose_repetitions(self.clock, effort)
            budget = effort.seconds * len(self.competitors)
            for turn in itertools.count():
                if turn >= effort.rounds and sum(c.used for c in self.competitors) > budget:
                    break
                for competitor in self.competitors:
                    # Those who have had their time only take the turns that all must.
                    if turn < effort.rounds or competitor.used < 2 * effort.seconds:
                        competitor.turn(self.clock)
        finally:
            gc.enable()
        return {competitor.name: Seconds(competitor.batches) for competitor in self.competitors}
