"""What wheels hold beside the code."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]


def test_licences_are_in_the_wheel() -> None:
    """Bug: neither the licence of LiveBuf nor those of the crates in it were there."""
    files = importlib.metadata.files("livebuf") or []
    found = {path.name: path.read_text() for path in files if "licenses" in path.parts}
    assert found.keys() == {"LICENSE", "THIRD-PARTY.txt"}
    assert found["LICENSE"] == (PACKAGE.parents[1] / "LICENSE").read_text()
    assert "MIT License" in found["LICENSE"]
    assert found["THIRD-PARTY.txt"] == (PACKAGE / "THIRD-PARTY.txt").read_text()


def test_licences_are_those_of_the_crates() -> None:
    """Each crate that is compiled in, by its version; `python licenses.py` writes them anew."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not there")
    code = "import licenses; print(*licenses.bundled(), sep=chr(10))"
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    crates = done.stdout.splitlines()
    assert len(crates) > 20
    text = (PACKAGE / "THIRD-PARTY.txt").read_text()
    assert not [crate for crate in crates if f"\n{crate} (" not in text]
