"""The statements of README.md, run, and compared with the answers beside them."""

import ast
import re
from pathlib import Path

import livebuf
import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
PAGE = README.parents[2] / "docs" / "polars-duckdb.md"


def statements(page):
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"```sql\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            sql, _, answer = line.partition(";  -- ")
            if sql.strip():
                yield sql.rstrip(";"), answer


def rows(answer):
    """`'a', 1; 'b', NULL` as rows of values."""
    return [ast.literal_eval(f"({row.replace('NULL', 'None')},)") for row in answer.split("; ")]


@pytest.fixture
def laps(folder):
    (folder / "laps").mkdir()
    ada = [{"lap": n, "sec": 88.5 - n * 0.3, "driver": "Ada"} for n in (1, 2)]
    bea = [{"lap": n, "sec": 91 - n, "driver": "Bea", "wet": n == 1} for n in (1, 2)]
    (folder / "laps/a.lbuf").write_bytes(livebuf.dumps({"rows": ada}))
    (folder / "laps/b.lbuf").write_bytes(livebuf.dumps({"rows": bea}))


def test_statements(db, laps):
    checked = 0
    for sql, answer in statements(README):
        found = db.run(sql)
        if answer:
            assert found == rows(answer), sql
            checked += 1
    assert checked >= 20


def test_the_page_of_duckdb(db, folder):
    """The part of docs/polars-duckdb.md about this extension, on the file that the page makes."""
    (folder / "laps").mkdir()
    (folder / "laps/a.lbuf").write_bytes(livebuf.dumps({"rows": [{"lap": n} for n in range(4000)]}))
    found = list(statements(PAGE))
    assert len(found) == 3
    for sql, answer in found:
        assert db.run(sql) == rows(answer), sql


def test_all_functions_are_shown(db):
    names = {row[0] for row in db.run("SELECT function_name FROM duckdb_functions()")}
    ours = {name for name in names if re.match(r"lb_|read_livebuf", name)}
    shown = " ".join(sql for sql, _ in statements(README))
    assert len(ours) == 12
    assert {name for name in ours if f"{name}(" not in shown} == set()
