"""The pages: their Python code runs, links resolve, figures are those of the records, what is made
from the code is up to date, and the book can be built."""

from __future__ import annotations

import http.client
import json
import re
import runpy
import shutil
import struct
import subprocess
import sys
import traceback
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

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
DOCS = PROJECT / "docs"
READMES = [PROJECT / "README.md", *sorted(PROJECT.glob("bindings/*/README.md"))]
READMES += [PROJECT / "testdata/README.md", PROJECT / "testdata/vectors/README.md"]
ALL = [*READMES, PROJECT / "CHANGELOG.md", PROJECT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
# tests/engines runs the first four, bindings/duckdb/tests the other.
ELSEWHERE = [DOCS / f"{page}.md" for page in ("engines", "polars-duckdb", "dask-spark", "parquet")]
ELSEWHERE += [PROJECT / "bindings/duckdb/README.md"]
PAGES = [
    page
    for page in ALL
    if "```python\n" in page.read_text(encoding="utf-8") and page not in ELSEWHERE
]
REPOSITORY = "https://github.com/livebuf/livebuf"

TUTORIAL, ORDERS = DOCS / "tutorial.md", DOCS / "tutorial/orders.json"

# What pages call twitter.json.
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


def name(page: Path) -> str:
    return str(page.relative_to(PROJECT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block runs alone, in a folder and with names of its own. The tutorial is one story."""
    parsed = Document.parse(str(page), PythonCodeBlockParser())
    examples = list(parsed.examples())
    assert examples
    blocks, end = 0, 0
    for example in examples:
        if "```" in parsed.text[end : example.region.start + len("```python")]:
            blocks += 1
            if blocks == 1 or page != TUTORIAL:
                parsed.namespace.clear()
                folder = tmp_path / str(blocks)
                folder.mkdir()
                monkeypatch.chdir(folder)
                Path("twitter.json").write_text(json.dumps(TWEETS), encoding="utf-8")
                shutil.copy(ORDERS, "orders.json")
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
    assert blocks == len(re.findall(r"^ *```python$", parsed.text, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_says_which_packages_it_needs(page: Path) -> None:
    """Bug: pages that "run as they stand" needed packages that nobody had named."""
    text = page.read_text(encoding="utf-8")
    needed: set[str] = set()
    for block in re.findall(r"^ *```python\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL):
        for names in re.findall(
            r"^ *(?:>>> |\.\.\. )? *(?:import|from) ([\w.]+(?: as \w+)?(?:, [\w.]+)*)", block, re.M
        ):
            needed |= {part.split(" as ")[0].partition(".")[0] for part in names.split(", ")}
        if re.search(r"\b(?:memory|s3)://", block):
            needed.add("fsspec")
        if re.search(r"\.numpy\(", block):
            needed.add("numpy")
        if "fastapi.testclient" in block:
            needed.add("httpx2")
    needed -= sys.stdlib_module_names | {"livebuf"}
    lines = re.findall(r"pip install ([^`\n]*)", text)
    named = {package for line in lines for package in re.findall(r"\w+", line)}
    assert needed <= named


def test_commands_of_all_pages_can_be_typed_in_one_folder() -> None:
    """Bug: the README and three pages made `lap.lbuf`, so the second one stopped: it exists."""
    made: dict[str, str] = {}
    for page in ALL:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            for file in re.findall(r"^\$ .* -o (\S+)|log append (\S+)", block, re.MULTILINE):
                [file] = filter(None, file)
                assert file not in made, f"{name(page)} and {made[file]}: {file}"
                made[file] = name(page)
    assert len(made) >= 7


def test_rust_programs_can_be_pasted_into_main_rs() -> None:
    """Bug: blocks had no `main`, and lines that only rustdoc hides, such as `# Ok::<…>`."""
    count = 0
    for page in ALL:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```rust\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            assert re.search(r"^fn main\(\)", block, re.MULTILINE), f"{name(page)}: {block}"
            assert not re.search(r"^# ", block, re.MULTILINE), f"{name(page)}: {block}"
            count += 1
    assert count >= 10


def test_the_http_recipe_and_untrusted_clients() -> None:
    """Bug: the recipe multiplied what it was sent, so that clients could allocate any amount
    and raise errors that it did not catch."""
    parsed = Document.parse(str(DOCS / "howto/http.md"), PythonCodeBlockParser()).examples()
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


def test_the_drawings_show_the_bytes_that_there_are() -> None:
    """`python docs/images/buffer.py` draws them anew."""
    drawings = runpy.run_path(str(DOCS / "images" / "buffer.py"))["DRAWINGS"]
    assert len(drawings) == 2
    for drawing, draw in drawings.items():
        assert draw() == (DOCS / "images" / drawing).read_text(encoding="utf-8"), drawing


def with_journal() -> bytes:
    """A file whose journal makes 55 of its document 56."""
    doc = livebuf.dumps({"lap": 55})
    at = doc.index((55).to_bytes(8, "little"))
    journal = struct.pack("<IIQ", at, 8, 56) + struct.pack("<QIII", 48, len(doc), 1, 0)
    journal += struct.pack("<I", zlib.crc32(journal)) + bytes.fromhex("AB 4C 42 4A 01 00 00 00")
    return doc + journal


def test_bytes_in_the_specifications(tmp_path: Path) -> None:
    """Lines of an offset and bytes, below a comment that says of what: a file, or JSON."""
    count = 0
    pages = [DOCS / f"{page}.md" for page in ("FORMAT", "PROFILE", "DELTA", "LOG")]
    for page in [*pages, PROJECT / "testdata/vectors/README.md"]:
        blocks = re.findall(
            r"^<!-- bytes: ([^\n]*) -->\n```text\n(.*?)^```$",
            page.read_text(encoding="utf-8"),
            re.MULTILINE | re.DOTALL,
        )
        assert blocks
        for source, block in blocks:
            if source == "journal":
                there = with_journal()
            elif source.startswith("["):
                there = bytes(livebuf.from_json(source))
            else:
                there = (PROJECT / "testdata" / source).read_bytes()
            lines = re.findall(r"^ *(\d+)  ((?:[0-9a-f]{2} ){3,7}[0-9a-f]{2})(?:  |$)", block, re.M)
            assert lines, block
            for offset, shown in lines:
                expected = bytes.fromhex(shown)
                assert there[int(offset) :][: len(expected)] == expected, f"{source}, {offset}"
                count += 1
    assert count > 90
    # The library reads the journal as the page has it.
    (tmp_path / "lap.lbuf").write_bytes(with_journal())
    assert livebuf.load(tmp_path / "lap.lbuf") == {"lap": 56}


def test_columns_in_the_profile() -> None:
    """PROFILE 6 says which column an array gets, by the names of FORMAT 6.1."""
    page = (DOCS / "FORMAT.md").read_text(encoding="utf-8")
    [table] = re.findall(r"^```text\ncode .*?^```$", page, re.MULTILINE | re.DOTALL)
    firsts = [re.split("  +", line.strip())[0] for line in table.splitlines()[2:-1]]
    named = [first.partition(" ") for line in firsts for first in line.split(", ")]
    codes = {name: int(code) for code, _, name in named}
    assert len(codes) == len(set(codes.values())) > 30
    codes["dictionary"] = codes["dictionary u8"]
    count = 0
    for line in (DOCS / "PROFILE.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| `["):
            arrays, *_, columns = line.strip("| ").split(" | ")
            arrays = re.findall(r"`([^`]*)`", arrays)
            expected = columns.removesuffix(", gaps 1").split(", ")
            for array, name in zip(arrays, expected * (len(arrays) // len(expected)), strict=True):
                payload = bytes(livebuf.from_json(array))
                home = int.from_bytes(payload[8:12], "little")
                assert payload[home + 1] == codes[name], line
                assert payload[home + 2] == columns.endswith("gaps 1"), line
                count += 1
    assert count >= 14


def test_pages_that_are_made_from_the_code() -> None:
    """`python docs/reference.py` writes them."""
    for page, written in runpy.run_path(str(DOCS / "reference.py"))["PAGES"].items():
        assert written() == (DOCS / page).read_text(encoding="utf-8"), page


def test_the_file_of_the_tutorial() -> None:
    """`python docs/tutorial/orders.py` writes it."""
    assert runpy.run_path(str(DOCS / "tutorial/orders.py"))["text"]() == ORDERS.read_text("utf-8")


def prose(page: Path) -> str:
    """A page without its code."""
    text = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def anchors(page: Path) -> set[str]:
    """What GitHub and mdBook call the headings."""
    text = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower().strip()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number, unique = 0, slug
        while unique in found:
            number += 1
            unique = f"{slug}-{number}"
        found.add(unique)
    return found


def test_links() -> None:
    """Each link leads to a file of the checkout and a heading in it, on GitHub too."""
    broken, count = [], 0
    for page in ALL:
        text = prose(page)
        defined = re.findall(r"^\[[^\]]+\]: (\S+)$", text, re.MULTILINE)
        for link in re.findall(r"\]\(([^)\s]+)\)", text) + defined:
            target, _, anchor = link.partition("#")
            if target.startswith(f"{REPOSITORY}/blob/main/"):
                path = PROJECT / target.removeprefix(f"{REPOSITORY}/blob/main/")
            elif ":" in target:
                continue
            else:
                path = (page.parent / target).resolve() if target else page
            count += 1
            if not path.exists() or (anchor and anchor not in anchors(path)):
                broken.append(f"{name(page)}: {link}")
    assert not broken
    assert count > 200


NUMBER = r"\d+(?:\.\d+)?"


def test_cited_sections_are_there() -> None:
    """Code and pages say "FORMAT 4.2", and the specifications "(4.2)" of themselves."""
    sections = {
        page: set(
            re.findall(
                rf"^##+ ({NUMBER})\.? ", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.M
            )
        )
        for page in ("FORMAT", "PROFILE", "EDITING", "DELTA", "LOG")
    }
    cited = rf"\b({'|'.join(sections)}) ({NUMBER}(?:(?:, | and | or | to ){NUMBER})*)\b"
    folders = ("bench/src", "bindings", "crates", "docs", "fuzz/src", "testdata", "tests")
    files = [path for folder in folders for path in (PROJECT / folder).rglob("*")]
    files += [PROJECT / page for page in ("CONTRIBUTING.md", "README.md", "SECURITY.md")]
    wrong, count = [], 0
    for file in files:
        if file.suffix not in (".c", ".h", ".hpp", ".in", ".md", ".py", ".pyi", ".rs"):
            continue
        if "target" in file.parts or "build" in file.parts:
            continue
        text = re.sub(r"\n *(?://[/!]?|#|\*)? *", " ", file.read_text(encoding="utf-8"))
        found = re.findall(cited, text)
        if file.parent == DOCS and file.stem in sections:
            own = rf"\(({NUMBER}(?:, {NUMBER})*)[);]"
            found += [(file.stem, numbers) for numbers in re.findall(own, prose(file))]
        for page, numbers in found:
            for number in re.findall(NUMBER, numbers):
                count += 1
                if number not in sections[page]:
                    wrong.append(f"{name(file)}: {page} {number}")
    assert not wrong
    assert count > 300


def test_every_page_is_in_the_book() -> None:
    listed = re.findall(r"\]\((.*?)\)", (DOCS / "SUMMARY.md").read_text(encoding="utf-8"))
    pages = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    assert sorted(listed) == sorted(page for page in pages if page != "SUMMARY.md")


def test_code_of_every_language_is_run() -> None:
    """Which test runs which language: a page that is new must be known to it."""
    runs = {
        # This test, and tests/engines, which names its pages.
        "python": None,
        # crates/livebuf-cli/tests/cli/readme.rs takes all pages.
        "console": None,
        # bindings/sqlite/tests/test_pages.py takes all pages.
        "sql": None,
        # Includes the pages as documentation.
        "rust": PROJECT / "crates/livebuf-query/src/pages.rs",
        # Compiles the programs, and the parts of programs.
        "c": PROJECT / "bindings/c/tests/run.sh",
        "cpp": PROJECT / "bindings/c/tests/run.sh",
        # Runs the pages that it names.
        "js": PROJECT / "bindings/js/test/guide.test.ts",
        "go": PROJECT / "bindings/go/guide_test.go",
        "java": PROJECT / "bindings/java/src/test/java/io/github/livebuf/GuideTest.java",
        # Signatures, installation, bytes.
        "py": None,
        "sh": None,
        "toml": None,
        "xml": None,
        "text": None,
    }
    for page in ALL:
        text = page.read_text(encoding="utf-8")
        for language in set(re.findall(r"^ *```(.+)$", text, re.MULTILINE)):
            assert language in runs, f"{name(page)}: {language}"
            runner = runs[language]
            if runner and page.name != "c-reference.md":
                assert name(page) in runner.read_text(encoding="utf-8"), f"{name(page)}: {language}"


def test_links_to_the_rust_reference(tmp_path: Path) -> None:
    """`make docs` puts it beside the pages. Elsewhere the links lead to docs.rs."""
    inward = runpy.run_path(str(DOCS / "book.py"))["inward"]
    (tmp_path / "livebuf").mkdir()
    (tmp_path / "livebuf" / "struct.Doc.html").write_text("", encoding="utf-8")
    link = "[`Doc`](https://docs.rs/livebuf/latest/livebuf/struct.Doc.html#method.open)"
    assert inward(link, "rust.md", tmp_path) == "[`Doc`](rust/livebuf/struct.Doc.html#method.open)"
    assert (
        inward(link, "howto/undo.md", tmp_path)
        == "[`Doc`](../rust/livebuf/struct.Doc.html#method.open)"
    )
    with pytest.raises(SystemExit, match="struct.Gone.html"):
        inward(link.replace("Doc.html", "Gone.html"), "rust.md", tmp_path)


class Links(HTMLParser):
    """The places and links of a page in HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for key, value in attributes:
            if key == "id" and value:
                self.ids.add(value)
            if value and (key == "href" and tag in ("a", "link") or key == "src"):
                self.links.append(value)


def test_book(tmp_path: Path) -> None:
    """`make docs` builds it. Every link in it resolves, and its search knows what people ask."""
    mdbook = shutil.which("mdbook", path=str(Path(sys.executable).parent)) or shutil.which("mdbook")
    if mdbook is None:
        pytest.skip("THE BOOK IS NOT TESTED: there is no mdbook")
    done = subprocess.run(
        [mdbook, "build", "--dest-dir", str(tmp_path), str(PROJECT)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "WARN" not in done.stderr and "ERROR" not in done.stderr, done.stderr
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in tmp_path.rglob("*.html")}
    assert len(pages) > 30
    broken = []
    for page, found in pages.items():
        if page.name in ("print.html", "toc.html", "404.html"):
            continue
        for link in found.links:
            target, _, anchor = unquote(link).partition("#")
            if ":" in target:
                assert not target.startswith("file:")
                continue
            path = (page.parent / target).resolve() if target else page
            if not path.is_file() or (anchor and path in pages and anchor not in pages[path].ids):
                broken.append(f"{page.relative_to(tmp_path)}: {link}")
    assert not broken
    [index] = tmp_path.glob("searchindex*.js")
    words = index.read_text(encoding="utf-8").lower()
    for wanted in ("untrusted", "schemaless", "zero-copy", "thread-safe", "in-place"):
        assert wanted in words, wanted
    assert "partial update" in words
    expected = {
        "redis change one field": "howto/redis.html",
        "postgres": "compare.html#postgresql-jsonb",
        "javascript": "javascript.html",
        "vectors": "howto/vectors.html",
    }
    for query, urls in searched(tmp_path, *expected).items():
        assert any(url.startswith(expected[query]) for url in urls), (query, urls)
        assert not [url for url in urls if url.startswith(("figures", "FORMAT"))]


# The library, the index and the options are those of the page, so the answers are, too.
SEARCH = """
const fs = require("fs"), path = require("path"), [folder, ...queries] = process.argv.slice(1);
const names = fs.readdirSync(folder);
const file = (start) => path.join(folder, names.find((name) => name.startsWith(start)));
const elasticlunr = require(file("elasticlunr"));
global.window = { search: {} };
eval(fs.readFileSync(file("searchindex"), "utf8"));
const { index, search_options, doc_urls } = window.search, loaded = elasticlunr.Index.load(index);
const found = (query) => loaded.search(query, search_options).slice(0, 5);
const urls = queries.map((query) => [query, found(query).map((each) => doc_urls[each.ref])]);
console.log(JSON.stringify(Object.fromEntries(urls)));
"""


def searched(book: Path, *queries: str) -> dict[str, list[str]]:
    """What the book's search finds first, by query; nothing where there is no Node."""
    node = shutil.which("node")
    if node is None:
        print("THE SEARCH OF THE BOOK IS NOT TESTED: there is no Node")
        return {}
    done = subprocess.run(
        [node, "-e", SEARCH, str(book), *queries], capture_output=True, text=True, check=True
    )
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found
