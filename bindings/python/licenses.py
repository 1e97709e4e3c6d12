"""Writes THIRD-PARTY.txt: the licences of the crates that are compiled into each package.

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

BINDINGS = Path(__file__).resolve().parents[1]
# By the names of the packages, the folders.
PACKAGES = {"livebuf": BINDINGS / "python", "livebuf-parquet": BINDINGS / "parquet"}

# By preference: of several only the first is used.
FILES = ["LICENSE-MIT*", "license-mit*", "LICENSE*MIT*", "LICENSE*", "LICENCE*", "COPYING*"]


def cargo(folder: Path, *arguments: str) -> str:
    command = ["cargo", *arguments, "--manifest-path", str(folder / "Cargo.toml")]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout


def bundled(folder: Path) -> list[str]:
    """Names and versions of what is compiled in, our own crates apart."""
    tree = cargo(folder, "tree", "--edges", "normal,no-proc-macro", "--prefix", "none", "--locked")
    found = {" ".join(line.split()[:2]) for line in tree.splitlines() if line}
    return sorted(crate.replace(" v", " ") for crate in found if not crate.startswith("livebuf"))


def write(name: str, folder: Path) -> None:
    metadata = json.loads(cargo(folder, "metadata", "--format-version", "1", "--locked"))
    packages = {
        f"{package['name']} {package['version']}": package for package in metadata["packages"]
    }
    users = defaultdict(list)
    for crate in bundled(folder):
        package = packages[crate]
        source = Path(package["manifest_path"]).parent
        files = [path for pattern in FILES for path in sorted(source.glob(pattern))]
        if not files and package["license"] == "Apache-2.0":
            # A text without names or years, which others come with.
            every = (Path(other["manifest_path"]).parent for other in packages.values())
            files = [path for other in every for path in sorted(other.glob("LICENSE-APACHE*"))]
        if not files:
            raise SystemExit(f"{crate} comes without its licence's text: find it")
        text = files[0].read_text(encoding="utf-8")
        copyrights = re.findall(r"^ *(?:Copyright|\(c\)).*\d{4}.*$", text, re.MULTILINE)
        rest = re.sub(r"^ *(?:Copyright|\(c\)).*\d{4}.*$", "", text, flags=re.MULTILINE)
        owners = "; ".join(line.strip() for line in copyrights)
        users[" ".join(rest.split())].append((crate, package["license"], owners, rest))
    parts = [
        f"Crates compiled into the Python package {name}, and their licences.\n"
        "The Rust standard library is compiled in, too: MIT or Apache-2.0, "
        "https://github.com/rust-lang/rust.\n"
    ]
    for group in users.values():
        lines = [
            f"{crate} ({name}){': ' if owners else ''}{owners}" for crate, name, owners, _ in group
        ]
        text = re.sub(r"\n{3,}", "\n\n", group[0][3]).strip("\n")
        parts.append("\n".join([*lines, "", text]))
    target = folder / "THIRD-PARTY.txt"
    target.write_text(f"\n\n{'=' * 80}\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name, folder in PACKAGES.items():
        write(name, folder)
