"""What benchmarks say must come from what was measured: the page is the committed results, and
each cell of the table of features has a test or a source. Nothing is measured here."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(
    not (ROOT / "bench" / "page.py").is_file(), reason="not in a checkout"
)


@pytest.fixture(scope="module")
def modules() -> dict[str, ModuleType]:
    """The runner's scripts, and the generators of the Python benchmark."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    places = [str(ROOT / "bench"), str(ROOT / "bindings" / "python")]
    sys.path[:0] = places
    try:
        parts = ("sizes", "fields", "generate", "coordinates", "peak", "report")
        names = ("page", "compare", "run", *(f"bench.{part}" for part in parts))
        return {name: importlib.import_module(name) for name in names}
    finally:
        del sys.path[: len(places)]


def _words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_the_page_is_what_its_results_become(modules: dict[str, ModuleType]) -> None:
    page = modules["page"]
    path = page.shown()
    assert path.is_file(), f"the page names {path}"
    version = page.matplotlib.__version__
    for file, text in page.made(path).items():
        found = (ROOT / file).read_text(encoding="utf-8")
        hint = f"{file} differs: `make bench-page` makes it again"
        if file.suffix == ".svg" and f"Matplotlib v{version}," not in found:
            # Other versions draw other lines, with the same words.
            assert _words(found) == _words(text), hint
        else:
            assert found == text, hint


def test_the_page_says_where_we_lose_and_that_a_quick_run_is_one(
    modules: dict[str, ModuleType],
) -> None:
    def entry(name: str, seconds: float, spread: float = 0.0) -> dict[str, Any]:
        times = {"minimum": seconds, "median": seconds, "spread": spread, "runs": 3}
        return {"name": name, **times}

    def task(name: str, *competitors: dict[str, Any]) -> dict[str, Any]:
        return {"task": name, "unit": "s", "competitors": list(competitors)}

    results = [
        task("a/1", entry("livebuf", 2e-6), entry("peer", 1e-6), entry("other", 3e-6)),
        task("a/2", entry("livebuf", 8e-6, 0.5), entry("peer", 2e-6), entry("BTreeMap", 1e-9)),
        task("b/1", entry("livebuf", 1e-6), entry("peer", 2e-6)),
        task("edit/alone", entry("livebuf", 2e-6), entry("peer", 1e-6)),
        task("c/1", entry("livebuf, C", 2e-6), entry("livebuf, Rust", 1e-6)),
    ]
    program = {"seconds": 1.0, "results": results, "skipped": ["a reason"], "failed": []}
    found = {
        "quick": True,
        "date": "2026-01-01",
        "commit": "abc",
        "machine": {
            **{"processor": "P", "cores": 2, "system": "S", "kernel": "K", "load before": 0.0}
        },
        "versions": {"peer": "1.0"},
        "programs": {"rust": program},
    }
    page = modules["page"]
    # The worst of the group, against the fastest that stores bytes; level is no loss.
    row = ["a: 2", "rust", "8 µs ~", "2 µs, peer", "4.00", "2 of 2"]
    assert page.losses(found) == [row]
    assert page.score(found) == (1, 3)
    text = page.page(found, "bench/results/x.json")
    assert "**A quick run: provisional figures**" in text and "{{" not in text
    assert "in 1 of 3 tasks" in text
    text = page.page(found, "bench/results/x.json", "figures.md")
    assert "A quick run: provisional figures" in text and "{{" not in text
    assert "a reason" in text and "3 tasks have a peer" in text


def test_tasks_that_were_run_again_replace_the_others_and_are_named(
    modules: dict[str, ModuleType],
) -> None:
    def results(commit: str, *tasks: str) -> dict[str, Any]:
        found = [{"task": task, "commit": commit} for task in tasks]
        program = {"results": found, "failed": []}
        versions = {"peer": commit}
        programs = {"rust": program}
        return {"date": "", "commit": commit, "versions": versions, "programs": programs}

    merged = modules["run"].again(results("old", "a/1", "a/2", "b"), results("new", "a/2", "c/1"))
    assert merged["versions"] == {"peer": "new"}
    found = merged["programs"]["rust"]["results"]
    assert [(task["task"], task["commit"]) for task in found] == [
        ("a/1", "old"),
        ("a/2", "new"),
        ("b", "old"),
        ("c/1", "new"),
    ]
    assert [(one["commit"], one["tasks"]) for one in merged["again"]] == [("new", ["a", "c"])]


def test_where_parsing_pays(modules: dict[str, ModuleType]) -> None:
    crossing = modules["page"].crossing
    flat = [(1, 4.0), (2, 4.0), (4, 4.0)]
    assert crossing([(1, 1.0), (2, 2.0), (4, 6.0)], flat) == 3
    assert crossing([(1, 1.0), (2, 2.0), (4, 4.0)], flat) is None
    assert crossing([(1, 5.0), (2, 2.0), (4, 3.0)], flat) == 1


def test_two_commits_are_compared_beyond_noise(modules: dict[str, ModuleType]) -> None:
    compare = modules["compare"]
    slow, same, noisy, gone = (("task", f"livebuf {at}") for at in range(4))
    old = [{slow: 1.0, same: 1.0, noisy: 1.0, gone: 1.0}, {slow: 1.02, same: 1.0, noisy: 1.5}]
    new = [{slow: 1.3, same: 1.01, noisy: 1.2}, {slow: 1.25, same: 1.02, noisy: 1.3}]
    rows = {
        key: (before, after, round(ratio, 3), told)
        for key, before, after, ratio, told in compare.changes(old, new)
    }
    assert rows == {
        slow: (1.0, 1.25, 1.25, True),
        noisy: (1.0, 1.2, 1.2, False),
        same: (1.0, 1.01, 1.01, False),
    }
    assert [row[0] for row in compare.changes(old, new)] == [slow, noisy, same]
    result = {
        "results": [
            {
                "task": "t",
                "competitors": [
                    {"name": "livebuf", "minimum": 1.0, "runs": 2},
                    {"name": "peer", "minimum": 2.0, "runs": 2},
                ],
            }
        ]
    }
    assert compare.own(result) == {("t", "livebuf"): 1.0}


def test_generated_values_are_the_same_everywhere(modules: dict[str, ModuleType]) -> None:
    sizes, fields = modules["bench.sizes"], modules["bench.fields"]
    made = (sizes.readings(50), sizes.users_by_id(20), fields.record(30))
    digest = hashlib.sha256(b"".join(sizes.minified(value) for value in made)).hexdigest()
    assert digest[:16] == "add307cbdbbe0f5b"
    assert sizes.readings(50, seed=2) != made[0]
    makers = [make for make, _, _ in modules["bench.generate"].VALUES.values()]
    made = [make(30) for make in (*makers, modules["bench.coordinates"].coordinates)]
    digest = hashlib.sha256(b"".join(sizes.minified(value) for value in made)).hexdigest()
    assert digest[:16] == "2ebbf7904a4026a7"
    assert all(make(30, seed=2) != value for make, value in zip(makers, made, strict=False))


def test_tasks_say_whether_all_answers_were_compared(modules: dict[str, ModuleType]) -> None:
    report = modules["bench.report"].Report()
    assert report.same("work", "livebuf", True) and report.same("work", "peer", True)
    report.figure("title", "compared", {"livebuf": 1, "peer": 2, "dict in memory": 1}, "work")
    report.figure("title", "one is not", {"livebuf": 1, "other": 2}, "work")
    report.figure("title", "other work", {"livebuf": 1, "peer": 2}, "more work")
    report.figure("title", "none", {"livebuf": 1})
    assert not report.same("work", "peer", False)
    report.figure("title", "wrong", {"livebuf": 1, "peer": 2}, "work")
    flags = [result["answers_compared"] for result in report.results]
    assert flags == [True, False, False, False, False]
    assert report.failed == ["work: peer gives another answer"]
    found = {"programs": {"python": {"results": report.results[:2]}, "rust": {"results": [{}]}}}
    said = modules["page"].answers_compared(found)
    assert said == "1 of 2 of python (not title/one is not), rust keeps no such mark"


def test_peak_memory_is_that_of_the_task(
    modules: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.platform != "linux":
        pytest.skip("peak memory is measured on Linux only")
    coordinates, peak = modules["bench.coordinates"], modules["bench.peak"]
    monkeypatch.chdir(ROOT / "bindings" / "python")
    value = coordinates.coordinates(20_000)
    text = json.dumps(value)
    (tmp_path / "data").write_text(text)
    (tmp_path / "expected").write_text(json.dumps(coordinates._mean(value["coordinates"])))
    taken, right = peak.peak("coordinates", "json", "from JSON", tmp_path)
    # Objects of Python take more than their text, and less than ten times as much.
    assert right and len(text) < taken < 10 * len(text)
    (tmp_path / "expected").write_text("[0, 0, 0]")
    assert not peak.peak("coordinates", "json", "from JSON", tmp_path)[1]
    with pytest.raises(peak.NotMeasured):
        peak.peak("coordinates", "nobody", "from JSON", tmp_path)


def test_each_cell_of_the_features_has_a_test_or_a_source() -> None:
    data = tomllib.loads((ROOT / "bench" / "features.toml").read_text(encoding="utf-8"))
    used = set()
    for feature in data["feature"]:
        file, _, name = feature["test"].partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not name or re.search(rf"\b(fn|def) {name}\b", text), feature["test"]
        for key in feature.keys() - {"name", "livebuf", "test"}:
            assert key in data["formats"], key
            value, _, source = feature[key].partition("@")
            assert value and source in data["sources"], f"{feature['name']}: {key}"
            used.add(source)
    assert used == set(data["sources"])
