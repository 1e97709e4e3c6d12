"""The statements of the pages, run, and compared with the answers beside them."""

import ast
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[3] / "docs"
GUIDE = DOCS / "sqlite.md"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "```sql\n" in page.read_text("utf-8")]


def statements(page):
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"```sql\n(.*?)```", text, re.DOTALL):
        # A block for DuckDB: bindings/duckdb/tests/test_readme.py runs it.
        if "read_livebuf(" in block:
            continue
        for line in block.splitlines():
            sql, _, answer = line.partition(";  -- ")
            # The extension is loaded.
            if sql.strip() and not sql.startswith(".load"):
                yield sql.rstrip(";"), answer


def rows(answer):
    """`'a', 1; 'b', NULL` as rows of values."""
    return [ast.literal_eval(f"({row.replace('NULL', 'None')},)") for row in answer.split("; ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_statements(db, page):
    checked = 0
    for sql, answer in statements(page):
        found = db.run(sql)
        if answer and not sql.startswith("UPDATE"):
            assert found == rows(answer), sql
            checked += 1
    if page == GUIDE:
        assert checked >= 25
        assert db.one("SELECT lb_extract(doc, '$.note') FROM users") == "new text"
        assert "by_team" in db.plan("SELECT id FROM users WHERE lb_extract(doc, '$.team.id') = 8")


def test_all_pages_are_run():
    found = {str(page.relative_to(DOCS)) for page in PAGES}
    assert {"sqlite.md", "start.md", "howto/sqlite.md"} <= found


def test_all_functions_are_shown(db):
    names = {row[0] for row in db.run("SELECT name FROM pragma_function_list")}
    names |= {row[0] for row in db.run("SELECT name FROM pragma_module_list")}
    ours = {name for name in names if re.fullmatch(r"lb(_.*)?", name)}
    shown = " ".join(sql for sql, _ in statements(GUIDE))
    assert len(ours) == 22
    assert {name for name in ours if f"{name}(" not in shown} == set()
