"""What the benchmark found: targets with what was measured, and every library's figures."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys
import sysconfig
from pathlib import Path
from typing import Any

from tabulate import tabulate

from .timing import Seconds

OURS = "livebuf"
# Lower bounds, which hold no document: they have no answer of their own.
DICT, COPY = "dict in memory", "bytes(bytearray)"


def duration(seconds: float) -> str:
    """A time in a readable unit."""
    if seconds < 1e-6:
        return f"{seconds * 1e9:.0f} ns"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs" if seconds < 1e-4 else f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds * 1e3:.0f} ms"


class Report:
    """The rows of a run."""

    def __init__(self) -> None:
        self.targets: list[tuple[str, str, str, bool | None, str]] = []
        self.figures: list[tuple[str, list[str], dict[str, dict[str, Any]]]] = []
        self.results: list[dict[str, Any]] = []
        self.skipped: list[str] = []
        self.failed: list[str] = []
        self.agreed: set[tuple[str, str]] = set()
        self.versions: dict[str, str] = {}

    def _target(self, name: str, measured: str, limit: str, met: bool | None, detail: str) -> None:
        verdict = {True: "met", False: "MISSED", None: "–"}[met]
        print(f"  {name}: {measured}, {verdict} ({limit}) {detail}", file=sys.stderr, flush=True)
        self.targets.append((name, measured, limit, met, detail))

    def time(self, name: str, seconds: float, limit: float, detail: str = "") -> None:
        """A time that is to be at most so many seconds."""
        met = seconds <= limit
        self._target(name, duration(seconds), f"≤ {duration(limit)}", met, detail)

    def ratio(self, name: str, ratio: float, limit: float | None, detail: str = "") -> None:
        """Our time or size over the peer's."""
        met = None if limit is None else ratio <= limit
        text = "–" if limit is None else f"≤ {limit:g}"
        self._target(name, f"{ratio:.3f} ×", text, met, detail)

    def against(
        self,
        name: str,
        times: dict[str, float],
        rivals: list[str],
        limit: float | None,
        ours: str = OURS,
    ) -> None:
        """Our time over that of the fastest of some rivals."""
        present = {rival: times[rival] for rival in rivals if rival in times}
        if ours not in times or not present:
            return
        rival = min(present, key=lambda name: present[name])
        detail = f"{duration(times[ours])}, {rival} {duration(times[rival])}"
        self.ratio(name, times[ours] / times[rival], limit, detail)

    def version(self, name: str, version: str) -> None:
        """Notes the version of what is no package."""
        self.versions[name] = version

    def same(self, workload: str, name: str, right: bool) -> bool:
        """Notes, before it is timed, whether a competitor gives the right answer."""
        if right:
            self.agreed.add((workload, name))
        else:
            self.agreed.discard((workload, name))
            self.fail(f"{workload}: {name} gives another answer")
        return right

    def figure(
        self, title: str, column: str, cells: dict[str, Any], answers: str | None = None
    ) -> None:
        """A column of a table of figures: a row for each library. Times are floats. `answers`
        is the workload for which `same` was called."""
        if not self.figures or self.figures[-1][0] != title:
            self.figures.append((title, [], {}))
        _, columns, rows = self.figures[-1]
        columns.append(column)
        self.result(f"{title}/{column}", cells, answers)
        for name, cell in cells.items():
            rows.setdefault(name, {})[column] = (
                duration(cell) if isinstance(cell, float) else f"{cell:,}"
            )

    def result(
        self,
        task: str,
        cells: dict[str, Any],
        answers: str | None = None,
        unit: str | None = None,
    ) -> None:
        """Keeps what all competitors of a task took: times of a contest, bytes, or `unit`; and
        whether the answers of all of them were compared."""
        competitors = []
        for name, cell in cells.items():
            if isinstance(cell, Seconds):
                entry = cell.entry()
            else:
                entry = {"minimum": cell, "median": cell, "spread": 0.0, "runs": 1}
            competitors.append({"name": name, **entry})
        if unit is None:
            unit = "s" if any(isinstance(cell, float) for cell in cells.values()) else "B"
        known = all((answers, name) in self.agreed for name in cells if name not in (DICT, COPY))
        self.results.append(
            {
                "task": task,
                "unit": unit,
                "answers_compared": answers is not None and known,
                "competitors": competitors,
            }
        )

    def json(self, path: Path, packages: list[str]) -> None:
        """Writes the results for `bench/run.py`."""
        free_threaded = sysconfig.get_config_var("Py_GIL_DISABLED")
        python = f"{platform.python_implementation()} {platform.python_version()}"
        versions = {name: _version(name) for name in packages}
        found = {
            "versions": {
                "Python": python + (" free-threaded" if free_threaded else ""),
                "SQLite": sqlite_version(),
                **self.versions,
                **{name: version for name, version in versions.items() if version != "absent"},
            },
            "results": self.results,
            "skipped": self.skipped,
            "failed": self.failed,
        }
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")

    def skip(self, reason: str) -> None:
        """Notes what is absent."""
        print(f"skipped: {reason}", file=sys.stderr, flush=True)
        self.skipped.append(reason)

    def fail(self, reason: str) -> None:
        """Notes a wrong answer."""
        print(f"FAILED: {reason}", file=sys.stderr, flush=True)
        self.failed.append(reason)

    def text(self) -> str:
        """All of it, as Markdown."""
        parts = []
        if self.targets:
            verdicts = {True: "yes", False: "**no**", None: ""}
            table = [
                (name, measured, limit, verdicts[met], detail)
                for name, measured, limit, met, detail in self.targets
            ]
            headers = ("workload", "measured", "target", "met", "detail")
            align = ("left", "right", "right", "left", "left")
            parts += ["## Targets", tabulate(table, headers, "github", colalign=align)]
            met = sum(row[3] is True for row in self.targets)
            missed = sum(row[3] is False for row in self.targets)
            parts.append(f"{met} targets met, {missed} missed.")
        for title, columns, rows in self.figures:
            table = [[name, *(row.get(c, "–") for c in columns)] for name, row in rows.items()]
            align = ("left", *("right" for _ in columns))
            parts += [f"## {title}", tabulate(table, ["", *columns], "github", colalign=align)]
        for what, reasons in (("Skipped", self.skipped), ("Failed", self.failed)):
            if reasons:
                parts.append("\n".join(f"- {what}: {reason}" for reason in reasons))
        return "\n\n".join(parts) + "\n"


def sqlite_version() -> str:
    """The SQLite that apsw brings."""
    try:
        import apsw
    except ImportError:
        return "absent"
    return apsw.sqlite_lib_version()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "absent"
