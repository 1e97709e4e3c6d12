"""The Python code in docs/python.md and the two READMEs, run as it stands, each block alone."""

from __future__ import annotations

import http.client
import json
import runpy
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import livebuf
import pytest
from sybil import Document
from sybil.parsers.markdown import PythonCodeBlockParser

for library in (
    "fakeredis",
    "fastapi",
    "fsspec",
    "httpx2",
    "numpy",
    "orjson",
    "pandas",
    "polars",
    "pydantic",
):
    pytest.importorskip(library)

PACKAGE = Path(__file__).parents[1]
PROJECT = PACKAGE.parents[1]
PAGES = [PROJECT / "docs" / "python.md", PACKAGE / "README.md", PROJECT / "README.md"]

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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block runs alone: in a folder and with names of its own."""
    parsed = Document.parse(str(page), PythonCodeBlockParser())
    examples = list(parsed.examples())
    assert examples
    blocks, end = 0, 0
    for example in examples:
        if "```" in parsed.text[end : example.region.start + len("```python")]:
            blocks += 1
            parsed.namespace.clear()
            folder = tmp_path / str(blocks)
            folder.mkdir()
            monkeypatch.chdir(folder)
            Path("twitter.json").write_text(json.dumps(TWEETS), encoding="utf-8")
        end = example.region.end
        try:
            if "__main__" in str(example.parsed):
                run_script(example.parsed)
            else:
                example.evaluate()
        except Exception:
            # pytest would show the page up to here.
            reason = traceback.format_exc(limit=-1)
            pytest.fail(f"{page.name}, line {example.line}: {reason}", pytrace=False)
    assert blocks == parsed.text.count("\n```python\n")


def test_the_http_recipe_and_untrusted_clients() -> None:
    """Bug: the recipe multiplied what it was sent, so that clients could allocate any amount
    and raise errors that it did not catch."""
    parsed = Document.parse(str(PAGES[0]), PythonCodeBlockParser()).examples()
    [recipe] = [str(found.parsed) for found in parsed if "class Handler" in str(found.parsed)]
    names: dict[str, Any] = {}
    exec(recipe.split("\nrequest = ")[0], names)
    server = names["server"]
    uncaught: list[Any] = []
    server.handle_error = lambda *arguments: uncaught.append(sys.exc_info())

    def post(body: bytes, length: str | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("localhost", server.server_port, timeout=30)
        connection.putrequest("POST", "/")
        if length != "none":
            connection.putheader("Content-Length", length or str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        answer = response.status, response.read()
        connection.close()
        return answer

    good = {"price": 2.5, "count": 4}
    try:
        for wrong in (
            {"price": "ab", "count": "c"},
            {"price": "ab", "count": 10**9},
            {"price": [1], "count": 10**9},
            {"price": b"ab", "count": 3},
            {"price": 10**4000, "count": 3},
            {"price": 1, "count": 10**4000},
            {"price": float("nan"), "count": 1},
            {"price": float("inf"), "count": 0},
            {"price": -1, "count": 1},
            {"price": 1, "count": True},
            {"price": 1, "count": 1.5},
            {"price": {}, "count": None},
            {"price": 1},
            {},
            [1, 2],
            "text",
            5,
            None,
        ):
            assert post(livebuf.dumps(wrong))[0] == 400, wrong
        payload = livebuf.dumps(good)
        for damaged in (b"", b"{}", payload[:20], payload[:-1], payload.replace(b"p", b"\xff")):
            assert post(damaged)[0] == 400, damaged
        for length in (
            "-1",
            "x",
            "9" * 30,
            str(1 << 30),
            "",
            "none",
            "\u00b2".encode().decode("latin-1"),
        ):
            assert post(b"", length or " ")[0] in (400, 413), length
        status, body = post(payload)
        assert status == 200 and livebuf.loads(body) == good | {"total": 10.0}
        assert not uncaught
    finally:
        server.shutdown()
        server.server_close()


def test_the_drawing_shows_the_bytes_that_there_are() -> None:
    """`python docs/images/buffer.py` draws it anew."""
    script = PROJECT / "docs" / "images" / "buffer.py"
    drawn = runpy.run_path(str(script))["draw"]()
    assert drawn == script.with_suffix(".svg").read_text(encoding="utf-8")
