"""Writes the newest versions that fit each other into the groups of pyproject.toml: `python update.py`."""

import json
import re
import subprocess
import sys
from pathlib import Path

PYPROJECT = Path(__file__).with_name("pyproject.toml")
PIN = re.compile(r'"([\w.-]+)(\[[\w,]+\])?==([\w.]+)"')


def resolved(names: list[str]) -> dict[str, str]:
    """The versions that pip would install, by their names."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    report = json.loads(subprocess.run([*pip, *names], check=True, stdout=subprocess.PIPE).stdout)
    found = (package["metadata"] for package in report["install"])
    return {re.sub(r"[-_.]+", "-", package["name"]).lower(): package["version"] for package in found}


def main() -> None:
    text = PYPROJECT.read_text()
    # A group is a line. Its versions fit each other; those of the same name in other groups may differ.
    lines = text.splitlines(keepends=True)
    for i, line in enumerate(lines):
        pins = PIN.findall(line)
        if not pins:
            continue
        versions = resolved([name + extras for name, extras, _ in pins])
        for name, extras, old in pins:
            new = versions[re.sub(r"[-_.]+", "-", name).lower()]
            if new != old:
                print(f"{name} {old} -> {new}")
                line = line.replace(f'"{name}{extras}=={old}"', f'"{name}{extras}=={new}"')
        lines[i] = line
    PYPROJECT.write_text("".join(lines))


if __name__ == "__main__":
    main()
