"""Changes of twitter.json: a merge patch, a patch, a recorded delta, and a query."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import livebuf

from .report import Report
from .timing import Contest, Effort

WORKLOAD = "changes/twitter"
MERGE, SET = "merge of three fields", "set_pointer of one"
RECORDED, QUERY = "set_pointer, recorded as a delta", "query of ids in a table"
PATCHES: list[dict[str, Any]] = [
    {"search_metadata": {"count": lap, "completed_in": lap / 7, "query": f"text {lap:02}"}}
    for lap in range(64)
]


def run(effort: Effort, report: Report, wanted: Callable[[str], bool], data: Path) -> None:
    if not wanted(WORKLOAD):
        return
    path = data / "twitter.json"
    if not path.is_file():
        report.skip(f"{WORKLOAD}: {path.name} is not there")
        return
    text = path.read_bytes()
    plain, doc, led = json.loads(text), livebuf.from_json(text), livebuf.from_json(text)
    led.set_state()
    copy = led.copy()
    query = livebuf.Query("$.statuses[?@.retweet_count > 100].id")

    def set_one(lap: int) -> None:
        doc.set_pointer("/search_metadata/count", lap)

    def record(lap: int) -> livebuf.Delta:
        with led.recording(delta=True) as changes:
            led.set_pointer("/search_metadata/count", lap)
        return changes.delta

    for patch in PATCHES:
        doc.merge(patch)
        metadata = plain["search_metadata"] | patch["search_metadata"]
        report.same(WORKLOAD, MERGE, doc["search_metadata"].to_python() == metadata)
        record(patch["search_metadata"]["count"]).apply(copy)
        report.same(WORKLOAD, RECORDED, bytes(copy) == bytes(led))
        set_one(metadata["count"] + 1)
        report.same(WORKLOAD, SET, doc["search_metadata"]["count"] == metadata["count"] + 1)
    ids = [status["id"] for status in plain["statuses"] if status["retweet_count"] > 100]
    report.same(WORKLOAD, QUERY, doc.query(query).to_python() == ids)
    contest, laps = Contest(), range(64)
    contest.add(MERGE, doc.merge, PATCHES)
    contest.add(SET, set_one, laps)
    contest.add(RECORDED, record, laps)
    contest.add(QUERY, lambda _: doc.query(query).to_python())
    times = contest.run(effort)
    report.figure("Changes of twitter.json", "TIME", times, WORKLOAD)
    report.time(f"{WORKLOAD}: {MERGE}", times[MERGE], 6e-6)
