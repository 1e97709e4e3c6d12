"""Runs all benchmarks, keeps what they found, and makes docs/benchmarks.md of it.

    make bench [ONLY=twitter] [ARGS=--quick]

The benchmarks of Rust, Python, C, JavaScript and SQLite each compare all answers before they time,
and write one JSON file. These become one file in bench/results, with machine, date, versions and
commit.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
PROGRAMS = ("rust", "python", "c", "js", "sqlite")
CRATES = (
    "apache-avro arrow-json bitcode capnp ciborium flatbuffers flate2 json-patch jsonpath-rust "
    "lz4_flex postcard prost rkyv rmp-serde serde_json simd-json wincode yyjson-sys zstd"
).split()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def output(*command: str, cwd: Path = ROOT) -> str:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def commit(root: Path = ROOT) -> str:
    """The short commit, with `-changed` when the tree differs from it."""
    # The page and the results are made of a run, and are no part of what ran.
    made = (
        ":!docs/benchmarks.md",
        ":!docs/figures.md",
        ":!docs/images",
        ":!bench/results",
        ":!README.md",
    )
    changed = output(
        "git", "status", "--porcelain", "--untracked-files=no", "--", ".", *made, cwd=root
    )
    name = output("git", "rev-parse", "--short", "HEAD", cwd=root) or "unknown"
    return name + ("-changed" if changed else "")


def machine() -> dict[str, Any]:
    processor = "unknown"
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        found = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
        processor = found[1].strip() if found else processor
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        system = platform.system()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "architecture": platform.machine(),
        "system": system,
        "kernel": platform.release(),
        "load before": round(load, 2),
    }


def versions(root: Path = ROOT) -> dict[str, str]:
    """Compilers, and the peers that Cargo.lock pins."""
    found = {
        "rustc": output("rustc", "--version").removeprefix("rustc "),
        "cc": output("cc", "--version").partition("\n")[0],
    }
    lock = tomllib.loads((root / "Cargo.lock").read_text(encoding="utf-8"))
    for package in lock["package"]:
        if package["name"] in CRATES:
            found[package["name"]] = package["version"]
    return {name: version for name, version in found.items() if version}


def lite3(root: Path = ROOT) -> Path | None:
    """Lite³'s C source, out of pylite3's source distribution on PyPI."""
    folder = root / "target" / "lite3"

    def found() -> Path | None:
        return next(folder.glob("pylite3-*/vendor/lite3"), None)

    if found() is None:
        folder.mkdir(parents=True, exist_ok=True)
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary")
        subprocess.run([*pip, ":all:", "pylite3"], cwd=folder, check=False)
        for archive in folder.glob("*.tar.gz"):
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
    return found()


def present(root: Path = ROOT) -> list[str]:
    """The programs that can be run here: JavaScript's needs Node and packages, SQLite's apsw."""
    js = root / "bindings" / "js"
    ready = all((folder / "node_modules").is_dir() for folder in (js, js / "bench"))
    absent = set() if ready and shutil.which("node") else {"js"}
    absent |= set() if importlib.util.find_spec("apsw") else {"sqlite"}
    return [name for name in PROGRAMS if name not in absent]


class Program:
    """One of the benchmarks: how it is built, how it is run, where."""

    def __init__(self, name: str, root: Path = ROOT, features: str = "") -> None:
        self.name, self.root, self.environment = name, root, dict(os.environ)
        self.directory = root
        cargo = os.environ.get("CARGO", "cargo")
        build = [cargo, "build", "--release", "--quiet", "-p"]
        target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "release"
        self.build: list[str] = []
        if name == "rust":
            self.build = [*build, "livebuf-bench", *(["--features", features] if features else [])]
            self.command = [str(target / "livebuf-bench")]
        elif name == "c":
            self.build = [*build, "livebuf-c-bench"]
            self.command = [str(target / "livebuf-c-bench")]
            source = lite3()
            if source is not None:
                self.environment["LITE3"] = str(source)
        elif name == "js":
            package = root / "bindings" / "js"
            self.build = ["npm", "--prefix", str(package), "run", "--silent", "build"]
            self.command = ["node", "--expose-gc", "index.js"]
            self.directory = package / "bench"
        elif name == "sqlite":
            self.build = [*build, "livebuf-sqlite"]
            self.command = [sys.executable, str(root / "bindings" / "sqlite" / "bench.py")]
        else:
            self.command = [sys.executable, "-m", "bench"]
            self.directory = root / "bindings" / "python"

    def make(self) -> None:
        if self.build:
            subprocess.run(self.build, cwd=self.root, env=self.environment, check=True)

    def run(self, arguments: list[str], file: Path) -> dict[str, Any]:
        """What it found. The tables that it prints for developers are dropped."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        began = time.monotonic()
        command = [*self.command, *arguments, "--json", str(file)]
        done = subprocess.run(
            command,
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if not file.is_file():
            raise SystemExit(f"{' '.join(command)} ended with {done.returncode} and wrote nothing")
        found = json.loads(file.read_text(encoding="utf-8"))
        found["seconds"] = round(time.monotonic() - began, 1)
        if done.returncode and not found["failed"]:
            found["failed"] = [f"ended with {done.returncode}"]
        return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench ARGS=", description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="NAME", help="tasks whose name has this")
    parser.add_argument(
        "--again",
        action="store_true",
        help="with --only: put these tasks into the results that the pages show",
    )
    parser.add_argument("--quick", action="store_true", help="a few minutes: a look, no record")
    parser.add_argument(
        "--programs",
        default=",".join(present()),
        help=f"which of {','.join(PROGRAMS)} (default: those that can be run here)",
    )
    parser.add_argument(
        "--no-page", action="store_true", help="leave docs alone; results go to target/bench"
    )
    arguments = parser.parse_args()
    if arguments.again and (arguments.quick or not arguments.only):
        parser.error("--again needs --only, and a full run of these tasks")
    names = arguments.programs.split(",")
    kept = not arguments.only and not arguments.no_page
    for name in (name for name in PROGRAMS if name not in names):
        say(f"without {name}: the results go to target/bench, and no page is made")
        kept = False
    temporary = ROOT / "target" / "bench"
    found: dict[str, Any] = {
        "schema": 1,
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "quick": arguments.quick,
        "machine": machine(),
        "versions": versions(),
        "programs": {},
    }
    flags = ["--quick"] if arguments.quick else []
    # arrow-json builds for long.
    features = "peers" if arguments.quick else "peers,arrow"
    programs = [Program(name, features=features) for name in names]
    for step, program in enumerate(programs, 1):
        say(f"[{step}/{2 * len(programs)}] builds the {program.name} benchmark")
        program.make()
    for step, program in enumerate(programs, 1 + len(programs)):
        say(f"[{step}/{2 * len(programs)}] runs the {program.name} benchmark")
        only = ["--filter", arguments.only] if arguments.only else []
        result = program.run([*flags, *only], temporary / f"{program.name}.json")
        found["versions"] |= result.pop("versions", {})
        found["programs"][program.name] = result
        say(f"    {len(result['results'])} tasks in {result['seconds']:.0f} s")

    suffix = "-quick" if arguments.quick else ""
    name = f"{found['date']}-{found['commit']}{suffix}.json"
    path = (RESULTS if kept else temporary) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = as_text(rounded(found))
    path.write_text(text, encoding="utf-8")
    say(f"results: {path.relative_to(ROOT)}")
    # Only now, since matplotlib takes a second.
    import page

    shown = path
    if arguments.again:
        shown = page.shown()
        merged = again(json.loads(shown.read_text(encoding="utf-8")), json.loads(text))
        shown.write_text(as_text(merged), encoding="utf-8")
    if kept or arguments.again:
        page.write(shown)
        say(f"pages: docs/benchmarks.md, docs/figures.md, of {shown.relative_to(ROOT)}")
    else:
        print(page.plain(json.loads(text)))

    failed = [
        f"{program}: {reason}"
        for program, result in found["programs"].items()
        for reason in result["failed"]
    ]
    for reason in failed:
        say(f"FAILED: {reason}")
    return 1 if failed else 0


def again(shown: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The results that are shown, with the tasks that were run again, which it names."""
    for name, result in new["programs"].items():
        if result["failed"]:
            raise SystemExit(f"nothing is changed, since {name} failed: {result['failed']}")
        found = {task["task"]: task for task in result["results"]}
        program = shown["programs"].setdefault(name, {**result, "results": []})
        tasks = program["results"]
        known = {task["task"] for task in tasks}
        program["results"] = [found.get(task["task"], task) for task in tasks] + [
            task for key, task in found.items() if key not in known
        ]
        shown["versions"] |= new.get("versions", {})
        families = sorted({key.rpartition("/")[0] or key for key in found})
        if families:
            shown.setdefault("again", []).append(
                {"date": new["date"], "commit": new["commit"], "program": name, "tasks": families}
            )
    return shown


def as_text(value: Any, level: int = 0) -> str:
    """JSON with a line for each task, below the program and its list of results."""
    if level == 4 or not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {as_text(each, level + 1)}" for key, each in value.items()]
    else:
        parts = [as_text(each, level + 1) for each in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    margin = "\n" + " " * level
    text = first + ",".join(f"{margin} {part}" for part in parts) + margin + last
    return text if level else text + "\n"


def rounded(value: Any) -> Any:
    """Figures with five digits, so that files stay small and say no more than was measured."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return value


if __name__ == "__main__":
    sys.exit(main())
