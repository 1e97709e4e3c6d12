"""Puts the newest versions that fit each other into pyproject.toml: `python update.py`."""

import json
import re
import subprocess
import sys
from pathlib import Path

PYPROJECT = Path(__file__).with_name("pyproject.toml")
PIN = re.compile(r'"([\w.-]+)(\[[\w,]+\])?==([\w.]+)"')


def plain(name: str) -> str:
    """A package's name as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def resolved(names: list[str]) -> dict[str, str]:
    """The versions that pip would install, by their names."""
    options = "install --quiet --dry-run --ignore-installed --report -".split()
    pip = [sys.executable, "-m", "pip", *options, *names]
    report = json.loads(subprocess.run(pip, check=True, stdout=subprocess.PIPE).stdout)
    found = (package["metadata"] for package in report["install"])
    return {plain(package["name"]): package["version"] for package in found}


def main() -> None:
    # Each group is a line, and its versions fit each other.
    lines = PYPROJECT.read_text().splitlines(keepends=True)
    for i, line in enumerate(lines):
        pins = PIN.findall(line)
        versions = resolved([name + extras for name, extras, _ in pins]) if pins else {}
        for name, extras, old in pins:
            new = versions[plain(name)]
            if new != old:
                print(f"{name} {old} -> {new}")
            line = line.replace(f'"{name}{extras}=={old}"', f'"{name}{extras}=={new}"')
        lines[i] = line
    PYPROJECT.write_text("".join(lines))


if __name__ == "__main__":
    main()
