"""The runner beside the vectors (testdata/conformance.py): this module passes, wrong ones fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTDATA = Path(__file__).resolve().parents[3] / "testdata"


def run(*program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TESTDATA / "conformance.py"), *program]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def answers(text: str) -> list[str]:
    """A program that answers every request with the same line."""
    return [sys.executable, "-c", f"import sys\nfor _ in sys.stdin: print({text!r}, flush=True)"]


def test_the_module_passes() -> None:
    done = run(sys.executable, str(TESTDATA / "programs.py"), "python")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if " passed " in line]
    assert [row[0] for row in rows] == ["reader", "validator", "encoder", "editor"]
    assert all(int(row[1]) > 50 and (row[3], row[5]) == ("0", "0") for row in rows), rows
    assert "Refused with another error" not in done.stdout


def test_wrong_programs_fail() -> None:
    yes = run(*answers("ok"))
    assert yes.returncode == 1
    assert "validator: n_BadCell_bool8: is damaged (BadCell), and was taken" in yes.stdout
    assert "reader: y_encoded_lap: from character 0 on" in yes.stdout
    no = run(*answers("no Truncated"))
    assert no.returncode == 1 and "Truncated, not BadCell" in no.stdout
    gone = run(sys.executable, "-c", "raise SystemExit(3)")
    assert gone.returncode == 1 and "the program ended with status 3" in gone.stderr


def test_what_a_program_cannot_do_is_skipped() -> None:
    done = run(*answers("skip"))
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines() if " passed " in line]
    assert all((row[1], row[3]) == ("0", "0") and int(row[5]) > 50 for row in rows), rows
