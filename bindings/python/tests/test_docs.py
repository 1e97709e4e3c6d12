"""The code in docs/python.md and in the README, run as it stands."""

from __future__ import annotations

import json
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from sybil import Document
from sybil.parsers.markdown import PythonCodeBlockParser

for library in ("fakeredis", "numpy", "orjson", "polars"):
    pytest.importorskip(library)

PACKAGE = Path(__file__).parents[1]
PAGES = [PACKAGE.parents[1] / "docs" / "python.md", PACKAGE / "README.md"]

# What the README calls twitter.json.
TWEETS = {
    "statuses": [
        {"id": n, "text": f"tweet {n}", "user": {"id": n % 7, "name": "X", "screen_name": f"x{n}"}}
        for n in range(100)
    ]
}


def run_script(code: str) -> None:
    """A whole program: processes that it starts import it."""
    Path("script.py").write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("twitter.json").write_text(json.dumps(TWEETS), encoding="utf-8")
    examples = list(Document.parse(str(page), PythonCodeBlockParser()).examples())
    assert examples
    for example in examples:
        try:
            if "__main__" in str(example.parsed):
                run_script(example.parsed)
            else:
                example.evaluate()
        except Exception:
            # pytest would show the page up to here.
            reason = traceback.format_exc(limit=-1)
            pytest.fail(f"{page.name}, line {example.line}: {reason}", pytrace=False)
