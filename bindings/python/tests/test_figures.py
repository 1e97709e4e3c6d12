"""Figures on the pages that people read first are those of the results that docs/benchmarks.md
shows, rounded to two digits, so that no two pages contradict each other. With UPDATE=1 they are
written into the pages. Then read the sentences around them: what was faster may be slower now."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]
BENCHMARKS = PROJECT / "docs" / "benchmarks.md"
pytestmark = pytest.mark.skipif(not BENCHMARKS.is_file(), reason="not in a checkout")

UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "B": 1.0, "MB": 1e6, "×": 1.0}
UNITS |= {"page": 1.0, "pages": 1.0}
EXACT = ("B", "page", "pages")
NUMBER = r"\d[\d,]*(?:\.\d+)?"
FIGURE = re.compile(rf"(?<![\w.,])({NUMBER})(?: to ({NUMBER}))? (ns|µs|ms|s|B|MB|×|pages?)(?!\w)")
FILES = (
    "apache_builds canada citm_catalog github_events instruments mesh numbers random twitter "
    "twitter_api_response"
).split()

Results = dict[str, dict[str, float]]
Expected = Callable[[Results], float]


def of(task: str, name: str = "livebuf") -> Expected:
    return lambda results: results[task][name]


def ratio(task: str, peer: str, name: str = "livebuf") -> Expected:
    return lambda results: results[task][name] / results[task][peer]


def times(task: str, peer: str, name: str = "livebuf") -> Expected:
    """How often LiveBuf's figure goes into a peer's."""
    return lambda results: results[task][peer] / results[task][name]


def sizes(file: str, *peers: str) -> list[Expected]:
    """The bytes of a file in each format, LiveBuf first."""
    return [of(f"sizes/{file}/raw", name) for name in ("livebuf", *peers)]


def mean(task: str, peer: str) -> Expected:
    """The geometric mean of ratios over the files."""
    each = [ratio(task.format(file), peer) for file in FILES]
    return lambda found: math.exp(sum(math.log(one(found)) for one in each) / len(each))


GET = "twitter.json: one field deep within/get, from stored bytes"
SET = "twitter.json: one field deep within/set, and have bytes"
KEPT = "livebuf, a bytearray kept open"
POINTER = "livebuf pointer"
SIZES = "sizes/twitter/raw"
PARSE = "twitter/parse or validate"
DUMPS = "twitter.json: whole conversions/dumps"
LOADS = "twitter.json: whole conversions/loads"
CONVERT = "twitter.json: whole conversions/JSON to document or objects"
MAP = "Maps of 1000×160 bytes/"
ROWS = "10,000 similar objects, random/"
LINES = "JSON lines to a polars frame/"
LISTS = "lists/10000 random/serialize/raw"
RMP = "rmp-serde, with names"
ZSTD = mean("sizes/{}/zstd-3", "JSON, minified")
BUILDING = [
    ratio(f"map/{keys}/1000/building", "BTreeMap") for keys in ("common prefix", "random keys")
]
SUM = "Sum of one of six columns, 1,000,000 rows/by polars"
CHANGES = "Changes of twitter.json/TIME"
REDIS = "stored/Redis, change of 10000 fields/1"
MOVED = "stored/Redis, change of 10000 fields, bytes moved/1"
ORJSON_KEPT, HASH = "JSON, orjson, kept", "hash of Redis, HSET"

ENGINES = ("polars", "DuckDB", "Dask", "Spark")
QUERIES = ("sum of a column", "sum by 4 texts", "one row of two columns, by id", "all columns")
ASKED = [f"{engine} over files/{query}" for engine in ENGINES for query in QUERIES]
FILE = "Bytes of the engines' files/1,000,000 events"
BY_ID = "polars over files/one row of two columns, by id"
VALUE = "A value out of messages, in polars/100,000 messages"
TRUSTED = "livebuf, trusted=True"


HOUR = "The last fifth of a log/1,000,000 events"
COUNT = "A request changes a session/count"
BUY = "A request changes a session/buy"
WORDS = ("livebuf", "livebuf, trusted", "livebuf, tables=False", "livebuf, both")


SQLITE_PATHS = ("$.statuses[50].user.screen_name", "$.statuses[99].id", "$.row")
SMALL_PATHS = ("$.id", "$.note", "$.at.y", "$.tags[1]")
SQLITE_ONE = [f"SQLite, one value of each row of twitter.json/{path}" for path in SQLITE_PATHS]
SQLITE_SMALL = [f"SQLite, one value of each row of small documents/{path}" for path in SMALL_PATHS]
SQLITE_SIZE = "SQLite, bytes of a row/twitter.json"
SMALL_SIZE = "SQLite, bytes of a row/small documents"
JSONB, TEXT, READ = "SQLite JSONB", "JSON text in SQLite", "livebuf, lb_read"
LEAST = "substr of the blob, the least of any function"


def pages(case: str, *names: str) -> list[Expected]:
    """What an update of SQLite writes, by the way of writing."""
    return [of(f"SQLite, pages that an update writes/{case}", name) for name in names]


def span(tasks: Iterable[str], peer: str, ours: str = "livebuf") -> list[Expected]:
    """The least and the greatest ratio to a peer."""
    each = [ratio(task, peer, ours) for task in tasks]
    return [
        lambda found: min(one(found) for one in each),
        lambda found: max(one(found) for one in each),
    ]


def extreme(tasks: list[str], name: str, choice: Callable[[Iterable[float]], float]) -> Expected:
    return lambda found: choice(found[task][name] for task in tasks)


# For each page the lines with figures, by what they contain, and the figures in their order.
PAGES: dict[str, list[tuple[str, list[Expected]]]] = {
    "README.md": [
        (
            "bytes it takes",
            [of(SIZES, "JSON, minified"), of(SIZES), times(SIZES, "JSON, minified")],
        ),
        (
            "read one field deep",
            [of(GET, "orjson"), of(GET, POINTER), times(GET, "orjson", POINTER)],
        ),
        (
            "change that field",
            [of(SET, "orjson"), of(SET, KEPT), of(SET)]
            + [times(SET, "orjson", KEPT), times(SET, "orjson")],
        ),
        ("convert the JSON text", [of(CONVERT, "orjson"), of(CONVERT)]),
        (
            "The price",
            [of(DUMPS), of(DUMPS, "orjson"), of(PARSE, "yyjson"), of(PARSE), ZSTD],
        ),
    ],
    "docs/README.md": [
        (
            "fewer bytes",
            [times(SIZES, "JSON, minified"), times(GET, "orjson", POINTER)]
            + [times(SET, "orjson", KEPT)],
        ),
    ],
    "docs/engines.md": [
        (
            "Against JSON lines",
            [*span(ASKED, "JSON lines"), of(FILE), of(FILE, "JSON lines")],
        ),
        (
            "Against Parquet, if a query",
            [
                ratio(f"{engine} over files/sum of a column", "Parquet")
                for engine in ("polars", "Dask", "DuckDB")
            ],
        ),
        ("To Parquet, in most", [ratio(FILE, "Parquet")]),
        ("Validation counts", [of(BY_ID), of(BY_ID, TRUSTED)]),
        ("The data is a million", [of(FILE), of(FILE, "JSON lines"), of(FILE, "Parquet")]),
        *(
            (
                f"| {task.replace(' over files/', ', ')} |",
                [
                    *(of(task, name) for name in ("livebuf", TRUSTED, "JSON lines", "Parquet")),
                    *(ratio(task, peer) for peer in ("JSON lines", "Parquet")),
                ],
            )
            for task in ASKED
        ),
        (
            "`extract` takes",
            [of(VALUE), of(VALUE, "JSON lines"), of(VALUE, "typed column in memory")],
        ),
    ],
    "docs/sqlite.md": [
        ("The table has 500 rows", [of(SQLITE_SIZE, name) for name in ("livebuf", JSONB, TEXT)]),
        *(
            (start, [of(task, name) for task in SQLITE_ONE])
            for start, name in (
                ("the least that any", LEAST),
                ("| `->>` of JSON text |", TEXT),
                ("| `->>` of JSONB |", JSONB),
                ("| `lb_extract` |", "livebuf"),
                ("| `lb_read` |", READ),
            )
        ),
        ("So `lb_read` takes", span(SQLITE_ONE, JSONB, READ) + span(SQLITE_ONE, JSONB)),
        *(
            (start, pages(case, "livebuf", "livebuf, with room", JSONB, TEXT))
            for start, case in (
                ("| integer with as many", "a number with as many digits"),
                ("| integer with more", "a number with more digits"),
                ("| integer wider", "a number wider than its column"),
                ("| text of the same", "a text as long"),
                ("| text with one letter", "a text that is longer"),
            )
        ),
        (
            "100,000 documents of",
            [of(SMALL_SIZE, name) for name in (TEXT, "livebuf", JSONB)]
            + [*span(SQLITE_SMALL, JSONB), *span(SQLITE_SMALL, TEXT)]
            + [extreme(SQLITE_SMALL, LEAST, min), extreme(SQLITE_SMALL, JSONB, min)]
            + [extreme(SQLITE_SMALL, JSONB, max)],
        ),
    ],
    "docs/compare.md": [
        ("You compress everything", [ZSTD]),
        (
            "You build large maps",
            [
                lambda found: max(one(found) for one in BUILDING),
                ratio("c/map of 1,000: build", "Lite³"),
                ratio(LISTS, RMP),
            ],
        ),
        ("Use JSON if people read it", [of(PARSE), of(PARSE, "yyjson")]),
        ("| LiveBuf, by pointer |", [of(GET, "livebuf pointer"), of(SET)]),
        ("| orjson |", [of(GET, "orjson"), of(SET, "orjson")]),
        ("| pysimdjson |", [of(GET, "pysimdjson")]),
        ("that stays open", [of(SET, KEPT)]),
        ("All three hold what JSON", [of(LISTS), of(LISTS, RMP)]),
        ("| twitter.json |", sizes("twitter", "MessagePack", "CBOR", "BSON")),
        ("| canada.json", sizes("canada", "MessagePack", "CBOR", "BSON")),
        (
            "| twitter_api_response.json",
            sizes("twitter_api_response", "MessagePack", "CBOR", "BSON"),
        ),
        ("| LiveBuf, by pointer |", [of(GET, "livebuf pointer"), of(SET)]),
        ("| msgpack, skipping to it |", [of(GET, "msgpack, skipping")]),
        ("| msgspec, typed |", [of(GET, "msgspec msgpack, typed")]),
        ("| ormsgpack |", [of(GET, "ormsgpack"), of(SET, "ormsgpack")]),
        ("is the nearest in spirit", [of(GET, "pylite3")]),
        ("Similar objects are columns", sizes("twitter", "Lite³ (pylite3)")),
        ("JSONB is inside SQLite", [of(SMALL_SIZE, TEXT), *span(SQLITE_SMALL, JSONB)]),
        ("| one value of each row |", [of(SQLITE_ONE[0]), of(SQLITE_ONE[0], JSONB)]),
        ("| bytes of a row |", [of(SQLITE_SIZE), of(SQLITE_SIZE, JSONB)]),
        (
            "| pages that an update writes: an",
            pages("a number with as many digits", "livebuf", JSONB),
        ),
        ("| an integer with more", pages("a number with more digits", "livebuf", JSONB)),
        (
            "| an integer wider",
            pages("a number wider than its column", "livebuf", "livebuf, with room", JSONB),
        ),
        (
            "| a text with one letter",
            pages("a text that is longer", "livebuf", "livebuf, with room", JSONB),
        ),
        ("| LiveBuf | ", [of(MAP + task) for task in ("READ 1", "READ-WRITE 1", "WRITE")]),
        (
            "| Protobuf, a map |",
            [of(MAP + task, "protobuf map") for task in ("READ 1", "READ-WRITE 1", "WRITE")],
        ),
        (
            "| Cap'n Proto |",
            [of(MAP + task, "Cap'n Proto") for task in ("READ 1", "READ-WRITE 1", "WRITE")],
        ),
    ],
    "bindings/python/README.md": [
        (
            "one deep field of",
            [of(GET, "livebuf pointer"), of(GET), of(GET, "pylite3"), of(GET, "orjson")],
        ),
        ("set its text", [of(SET), of(SET, "orjson")]),
        ("that stays open", [of(SET, KEPT)]),
        (
            "read 1 of 1,000",
            [of(MAP + "READ 1", name) for name in ("livebuf", "pylite3", "orjson")],
        ),
        (
            "read 100 of them",
            [of(MAP + "READ 100", name) for name in ("livebuf", "pylite3", "orjson")],
        ),
        (
            "change 1 of them, and",
            [
                of(MAP + "READ-WRITE 1", name)
                for name in ("livebuf", "bytes(bytearray)", "Cap'n Proto", "orjson")
            ],
        ),
        ("change 1 of them in", [of(MAP + "READ-WRITE 1", "livebuf, opening a bytearray")]),
        (
            "change 100 of them",
            [of(MAP + "READ-WRITE 100", name) for name in ("livebuf", "orjson")],
        ),
        ("write all 1,000", [of(MAP + "WRITE"), of(MAP + "WRITE", "orjson")]),
        ("to a document; to objects", [of(CONVERT), of(CONVERT, "orjson")]),
        ("its objects to bytes", [of(DUMPS), of(DUMPS, "orjson")]),
        ("its bytes to objects", [of(LOADS), of(LOADS, "ormsgpack"), of(LOADS, "orjson")]),
        (
            "all values random, to bytes",
            [of(ROWS + "dumps", name) for name in ("livebuf", "msgspec msgpack", "orjson")],
        ),
        (
            "their bytes to objects",
            [of(ROWS + "loads", name) for name in ("livebuf", "ormsgpack", "orjson")],
        ),
        (
            "size of these bytes",
            [of(ROWS + "bytes", name) for name in ("livebuf", "msgpack", "orjson")],
        ),
        (
            "JSON lines to a polars frame",
            [
                of(LINES + "10,000 similar objects, random", name)
                for name in ("livebuf", "polars.read_ndjson")
            ],
        ),
        (
            "the same, 100,000 rows",
            [
                of(LINES + "100,000 rows of coordinates", name)
                for name in ("livebuf", "polars.read_ndjson")
            ],
        ),
    ],
    # What each how-to wins, in its first lines. The other ones have figures of their own runs.
    "docs/howto/change-a-field.md": [("a *partial update*", [of(SET, KEPT), of(SET, "orjson")])],
    "docs/howto/read-a-few-fields.md": [
        ("One field deep within", [of(GET, POINTER), of(GET, "orjson")])
    ],
    "docs/howto/json.md": [("becomes a document in", [of(CONVERT), of(CONVERT, "orjson")])],
    "docs/howto/untrusted.md": [
        ("validate once", [of(PARSE, "livebuf, validate"), of(PARSE, "yyjson")])
    ],
    "docs/howto/http.md": [("The body is the document", [of(SET), of(SET, "orjson")])],
    "docs/howto/undo.md": [
        (
            "A history keeps",
            [of(CHANGES, "set_pointer of one"), of(CHANGES, "set_pointer, recorded as a delta")],
        )
    ],
    "docs/howto/dataframes.md": [
        ("one of six columns", [of(SUM, "livebuf, first after open"), of(SUM, "from Parquet")])
    ],
    "docs/howto/sessions.md": [
        ("to count a number up", [ratio(COUNT, "orjson")]),
        ("| counts a number up |", [ratio(COUNT, "orjson", name) for name in WORDS]),
        ("| counts, appends", [ratio(BUY, "orjson", name) for name in WORDS]),
    ],
    "docs/howto/log.md": [
        (
            "Of a million rows the last hour",
            [of(HOUR), of(HOUR, "livebuf, just opened"), of(HOUR, "polars, Parquet")],
        )
    ],
    "docs/howto/redis.md": [
        (
            "You change one field",
            [of(MOVED), of(MOVED, ORJSON_KEPT), of(REDIS), of(REDIS, ORJSON_KEPT)],
        ),
        ("use a hash of Redis", [of(MOVED, HASH), of(REDIS, HASH)]),
    ],
}


@pytest.fixture(scope="module")
def results() -> Results:
    """Of the file that docs/benchmarks.md was made from, and links to."""
    [path] = re.findall(r"<!-- results: (\S+) -->", BENCHMARKS.read_text(encoding="utf-8"))
    found = json.loads((PROJECT / path).read_text(encoding="utf-8"))
    return {
        task["task"]: {each["name"]: each["minimum"] for each in task["competitors"]}
        for program in found["programs"].values()
        for task in program["results"]
    }


def figures(line: str) -> list[tuple[float, int]]:
    """Each figure of a line, and how many digits it has."""
    found = []
    for first, last, unit in FIGURE.findall(line):
        for number in filter(None, (first, last)):
            plain = number.replace(",", "")
            digits = len(plain.replace(".", "").lstrip("0"))
            if "." not in plain and unit not in EXACT:
                digits = len(plain.rstrip("0")) or 1
            found.append((float(plain) * UNITS[unit], digits))
    return found


def written(value: float, shown: str, unit: str) -> str:
    """A figure as a page has it, in the unit that it had there."""
    exact = value >= 1 and value == int(value) and len(shown.replace(",", "")) > 2
    if unit in EXACT and exact:
        return f"{int(value):,}"
    number = float(f"{value / UNITS[unit]:.2g}")
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def update(line: str, expected: list[float]) -> str:
    left = iter(expected)

    def put(found: re.Match[str]) -> str:
        first, last, unit = found.groups()
        parts = [written(next(left), part, unit) for part in (first, last) if part]
        return f"{' to '.join(parts)} {unit}"

    return FIGURE.sub(put, line)


@pytest.mark.skipif("UPDATE" not in os.environ, reason="only to write the figures")
@pytest.mark.parametrize("page", PAGES)
def test_figures_are_written(page: str, results: Results) -> None:
    unused = list(PAGES[page])
    lines = (PROJECT / page).read_text(encoding="utf-8").splitlines()
    for at, line in enumerate(lines):
        if not figures(line):
            continue
        row = next(row for row in unused if row[0] in line)
        unused.remove(row)
        lines[at] = update(line, [one(results) for one in row[1]])
    (PROJECT / page).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_figures_are_those_of_the_newest_results(page: str, results: Results) -> None:
    """Bug: README, comparison and Python's README had figures of three runs, with up to five
    digits: 0.48 and 0.65 µs for the same look-up."""
    unused = list(PAGES[page])
    for line in (PROJECT / page).read_text(encoding="utf-8").splitlines():
        if not (shown := figures(line)):
            continue
        rows = [row for row in unused if row[0] in line]
        assert rows, f"{page} has figures that no result is known for: {line}"
        unused.remove(rows[0])
        expected = [one(results) for one in rows[0][1]]
        assert len(shown) == len(expected), line
        for (value, digits), there in zip(shown, expected, strict=True):
            exact = there >= 1 and there == int(there) and digits > 2
            assert exact or digits <= 2, f"more digits than the noise allows: {line}"
            rounded = there if exact else float(f"{there:.2g}")
            assert math.isclose(value, rounded, rel_tol=1e-9), f"{there} in {page}: {line}"
    assert not unused, f"{page} has no such line any more"


def test_the_recipe_for_sqlite_has_the_figures_of_its_guide() -> None:
    """Its other figures are those of its own program, which measures something else."""
    guide = (PROJECT / "docs/sqlite.md").read_text(encoding="utf-8")
    count = 0
    for line in (PROJECT / "docs/howto/sqlite.md").read_text(encoding="utf-8").splitlines():
        if line.startswith(("You change one field", "If your documents are small")):
            for figure in FIGURE.finditer(line):
                assert figure[0] in guide, f"{figure[0]}: {line}"
                count += 1
    assert count == 6
