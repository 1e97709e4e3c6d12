"""Writes THIRD-PARTY.txt: the licences of the crates that are compiled into the package.

    python licenses.py            # after a change of Cargo.lock

Of crates that let one choose, the MIT licence is taken. Texts that several have in common
are printed once, below all of their copyright lines.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE / "THIRD-PARTY.txt"

# By preference: of several only the first is used.
FILES = ["LICENSE-MIT*", "license-mit*", "LICENSE*MIT*", "LICENSE*", "LICENCE*", "COPYING*"]


def cargo(*arguments: str) -> str:
    command = ["cargo", *arguments, "--manifest-path", str(HERE / "Cargo.toml")]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE).stdout


def bundled() -> list[str]:
    """Names and versions of what is compiled in, our own crates apart."""
    tree = cargo("tree", "--edges", "normal,no-proc-macro", "--prefix", "none", "--locked")
    found = {" ".join(line.split()[:2]) for line in tree.splitlines() if line}
    return sorted(crate.replace(" v", " ") for crate in found if not crate.startswith("livebuf"))


def main() -> None:
    packages = {
        f"{package['name']} {package['version']}": package
        for package in json.loads(cargo("metadata", "--format-version", "1", "--locked"))[
            "packages"
        ]
    }
    users = defaultdict(list)
    for crate in bundled():
        package = packages[crate]
        folder = Path(package["manifest_path"]).parent
        files = [path for pattern in FILES for path in sorted(folder.glob(pattern))]
        if not files:
            raise SystemExit(f"{crate} comes without its licence's text: find it")
        text = files[0].read_text(encoding="utf-8")
        copyrights = re.findall(r"^ *(?:Copyright|\(c\)).*\d{4}.*$", text, re.MULTILINE)
        rest = re.sub(r"^ *(?:Copyright|\(c\)).*\d{4}.*$", "", text, flags=re.MULTILINE)
        owners = "; ".join(line.strip() for line in copyrights)
        users[" ".join(rest.split())].append((crate, package["license"], owners, rest))
    parts = [
        "Crates compiled into the Python package livebuf, and their licences.\n"
        "The Rust standard library is compiled in, too: MIT or Apache-2.0, "
        "https://github.com/rust-lang/rust.\n"
    ]
    for group in users.values():
        lines = [
            f"{crate} ({name}){': ' if owners else ''}{owners}" for crate, name, owners, _ in group
        ]
        text = re.sub(r"\n{3,}", "\n\n", group[0][3]).strip("\n")
        parts.append("\n".join([*lines, "", text]))
    TARGET.write_text(f"\n\n{'=' * 80}\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
