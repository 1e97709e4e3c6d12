"""The statements of README.md, run, and compared with the answers beside them."""

import ast
import re
from pathlib import Path

PAGES = Path(__file__).resolve().parents[3] / "docs"


def statements():
    text = README.read_text(encoding="utf-8")
    for block in re.findall(r"```sql\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            sql, _, answer = line.partition(";  -- ")
            if sql.strip():
                yield sql.rstrip(";"), answer


def rows(answer):
    """`'a', 1; 'b', NULL` as rows of values."""
    return [ast.literal_eval(f"({row.replace('NULL', 'None')},)") for row in answer.split("; ")]


def test_statements(db):
    checked = 0
    for sql, answer in statements():
        found = db.run(sql)
        if answer and not sql.startswith("UPDATE"):
            assert found == rows(answer), sql
            checked += 1
    assert checked >= 25
    assert db.one("SELECT lb_extract(doc, '$.note') FROM users") == "new text"
    assert "by_team" in db.plan("SELECT id FROM users WHERE lb_extract(doc, '$.team.id') = 8")


def test_all_functions_are_shown(db):
    names = {row[0] for row in db.run("SELECT name FROM pragma_function_list")}
    names |= {row[0] for row in db.run("SELECT name FROM pragma_module_list")}
    ours = {name for name in names if re.fullmatch(r"lb(_.*)?", name)}
    shown = " ".join(sql for sql, _ in statements())
    assert len(ours) == 22
    assert {name for name in ours if f"{name}(" not in shown} == set()
