"""Compares the speed of two commits: both are built, run in turns, and listed by what changed.

    make bench-compare OLD=main NEW=HEAD [ONLY=twitter] [ARGS="--rounds 5"]

Only LiveBuf's own times are compared. Instructions are counted by callgrind, where it is there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from run import ROOT, Program, output, say
from tabulate import tabulate

FOLDER = ROOT / "target" / "compare"
Times = dict[tuple[str, str], float]


def own(result: dict[str, Any]) -> Times:
    """The fastest times of LiveBuf's competitors, by task and name."""
    return {
        (task["task"], entry["name"]): entry["minimum"]
        for task in result["results"]
        for entry in task["competitors"]
        if entry["name"].startswith("livebuf") and entry["runs"]
    }


def merged(rounds: list[Times]) -> Times:
    """The fastest of all rounds."""
    found: Times = {}
    for times in rounds:
        for key, value in times.items():
            found[key] = min(value, found.get(key, value))
    return found


def noise(rounds: list[Times]) -> Times:
    """How much the slowest round was above the fastest: 0.1 is a tenth."""
    found: Times = {}
    for key, best in merged(rounds).items():
        values = [times[key] for times in rounds if key in times]
        found[key] = max(values) / best - 1 if best else 0.0
    return found


def changes(
    old: list[Times], new: list[Times]
) -> list[tuple[tuple[str, str], float, float, float, bool]]:
    """What both have: key, old, new, new over old, and whether that is more than noise; the
    slowest first."""
    before, after = merged(old), merged(new)
    noises = noise(old), noise(new)
    rows = []
    for key in before.keys() & after.keys():
        ratio = after[key] / before[key] if before[key] else 1.0
        doubt = max(each.get(key, 0.0) for each in noises)
        told = abs(ratio - 1) > max(0.03, doubt)
        rows.append((key, before[key], after[key], ratio, told))
    return sorted(rows, key=lambda row: (-row[3], row[0]))


def checkout(name: str) -> Path:
    """A worktree of a commit."""
    commit = output("git", "rev-parse", "--verify", f"{name}^{{commit}}")
    if not commit:
        raise SystemExit(f"{name} is no commit; OLD and NEW name commits, branches or tags")
    folder = FOLDER / commit[:12]
    if not folder.is_dir():
        FOLDER.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["git", "worktree", "add", "--quiet", "--force", "--detach", str(folder), commit],
            cwd=ROOT,
            check=True,
        )
    if "--json" not in (folder / "bench" / "src" / "main.rs").read_text(encoding="utf-8"):
        raise SystemExit(f"the benchmark of {name} writes no JSON: it is too old to be compared")
    # The data lies beside the checkout.
    data, link = ROOT.parent / "shared", FOLDER / "shared"
    if data.exists() and not link.exists():
        link.symlink_to(data.resolve())
    return folder


def peers(folder: Path) -> str:
    """The feature of the graph, vectors and lists, which older commits do not have."""
    manifest = tomllib.loads((folder / "bench" / "Cargo.toml").read_text(encoding="utf-8"))
    return "peers" if "peers" in manifest.get("features", {}) else ""


def instructions(program: Program, only: str) -> Times:
    """Instructions of each competitor's work, once, by callgrind."""
    if shutil.which("valgrind") is None:
        say("no valgrind: instructions are not counted")
        return {}
    folder = FOLDER / "callgrind"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    file = folder / "calls.json"
    place = "livebuf_bench::timing::"
    command = [
        *("valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={folder}/out"),
        *(f"--zero-before={place}counted*", f"--dump-after={place}work_once*"),
        *(*program.command, "--count", "--quick", "--json", str(file)),
        *(["--filter", only] if only else []),
    ]
    done = subprocess.run(
        command, cwd=program.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    if done.returncode or not file.is_file() or not any(folder.glob("out.*")):
        say("callgrind failed: instructions are not counted")
        return {}
    counts = {}
    for dump in folder.glob("out.*"):
        total = re.search(r"^(?:totals|summary): (\d+)", dump.read_text(), re.MULTILINE)
        if total:
            counts[int(dump.name.rpartition(".")[2])] = int(total[1])
    found: Times = {}
    for task in json.loads(file.read_text(encoding="utf-8"))["results"]:
        for entry in task["competitors"]:
            count = counts.get(entry.get("call", 0))
            if count is not None and entry["name"].startswith("livebuf"):
                found[task["task"], entry["name"]] = count / entry["operations"]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-compare", description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--only", default="", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--full", action="store_true", help="long rounds, not quick ones")
    parser.add_argument("--fail-over", type=float, metavar="RATIO", help="1.1: fail if slower")
    arguments = parser.parse_args()

    if output("git", "rev-parse", arguments.old) == output("git", "rev-parse", arguments.new):
        raise SystemExit(f"{arguments.old} and {arguments.new} are the same commit")
    # Callgrind knows functions by their names, which users' builds go without.
    os.environ["CARGO_PROFILE_RELEASE_STRIP"] = "none"
    programs = {}
    for name in (arguments.old, arguments.new):
        say(f"builds {name}")
        folder = checkout(name)
        programs[name] = Program("rust", folder, features=peers(folder))
        programs[name].make()
    flags = [] if arguments.full else ["--quick"]
    flags += ["--filter", arguments.only] if arguments.only else []
    rounds: dict[str, list[Times]] = {name: [] for name in programs}
    for turn in range(arguments.rounds):
        # Who is first changes, too.
        for name in list(programs)[:: 1 if turn % 2 else -1]:
            say(f"round {turn + 1} of {arguments.rounds}: {name}")
            result = programs[name].run(flags, FOLDER / "times.json")
            if result["failed"]:
                raise SystemExit(f"{name}: {'; '.join(result['failed'])}")
            rounds[name].append(own(result))
    counted = {name: instructions(program, arguments.only) for name, program in programs.items()}
    counts = [
        (key, before, counted[arguments.new][key], counted[arguments.new][key] / before)
        for key, before in counted[arguments.old].items()
        if key in counted[arguments.new] and before
    ]

    rows = changes(rounds[arguments.old], rounds[arguments.new])
    ratios = {key: ratio for key, _, _, ratio in counts}
    table = [
        [
            f"{task}: {name}",
            f"{before:.4g}",
            f"{after:.4g}",
            f"{ratio:.3f}",
            f"{ratios[task, name]:.3f}" if (task, name) in ratios else "–",
            "" if not told else ("slower" if ratio > 1 else "faster"),
        ]
        for (task, name), before, after, ratio, told in rows
    ]
    headers = ["task", "old", "new", "new / old", "instructions", "beyond noise"]
    print(tabulate(table, headers, "pipe", disable_numparse=True))
    limit = arguments.fail_over
    slower = [key for key, _, _, ratio, told in rows if limit and told and ratio > limit]
    for task, name in slower:
        say(f"SLOWER: {task}: {name}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
