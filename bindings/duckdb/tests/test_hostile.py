"""Damage: in columns and in files. It gives errors or NULL, and the process lives on."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import duckdb
import livebuf
from conftest import Database

ROUNDS = 2000 if os.environ.get("LIVEBUF_LONG") else 150
DOC = {
    "id": 7,
    "x": 1.5,
    "ok": True,
    "name": "a name of some length",
    "list": [1, [2, {"k": None}]],
}
CALLS = [
    "lb_get_bigint(d, '$.id')",
    "lb_get_double(d, '$.x')",
    "lb_get_bool(d, '/ok')",
    "lb_get_string(d, '$.name')",
    "lb_get_json(d, '$.list[1]')",
    "lb_json(d)",
    "lb_type(d, '$.list[#-1]')",
    "lb_error(d)",
    "lb_valid(d)",
    "d::LIVEBUF::VARCHAR",
]
# Of the document itself, by the first of these.
ANSWERS = [7, 1.5, True, "a name of some length", '[2,{"k":null}]']


def damaged(data, seed):
    """The bytes with some of them changed, cut or doubled."""
    chance = random.Random(seed)
    data = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data))
        match chance.randrange(6):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                data[at] ^= 1 << chance.randrange(8)
            case 2:
                del data[at + 1 :]
            case 3:
                data[at : at + 4] = chance.choice([b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f"])
            case 4:
                data += data[:at]
            case 5:
                other = chance.randrange(len(data))
                data[at : at + 8] = data[other : other + 8]
    return bytes(data)


def damaged_column():
    """A table of which one column has text that is no text."""
    data = livebuf.dumps([{"id": n, "text": f"text number {n}"} for n in range(3000)])
    at = data.index(b"text number 1234")
    return data[:at] + b"\xff\xfe" + data[at + 2 :]


def test_errors_name_row_and_offset(db):
    good = db.document(DOC)
    bad = good.replace(b"a name of", b"\xff name of")
    assert bad != good
    db.run("CREATE TABLE t (d BLOB)")
    for n in range(10):
        db.run("INSERT INTO t VALUES (?)", bad if n == 6 else good)
    message = db.error("SELECT lb_get_string(d, '$.name') FROM t")
    assert "lb_get_string: row 6 of a chunk" in message and "offset" in message
    assert "on the way to $.name" in message
    # What is not read does not matter.
    assert db.run("SELECT lb_get_bigint(d, '$.id') FROM t") == [(7,)] * 10
    found = db.run("SELECT lb_get_string(d, '$.name', 'null') FROM t")
    assert [row for row, (name,) in enumerate(found) if name is None] == [6]
    assert db.run("SELECT lb_get_string(lb_try(d), '$.name') FROM t") == found
    assert db.run("SELECT lb_get_string(d, '$.name', 'error') FROM t WHERE lb_valid(d)")
    assert "'null' or 'error'" in db.error("SELECT lb_get_string(d, '$.name', 'x') FROM t")
    (problem,) = db.run("SELECT lb_error(d) FROM t WHERE NOT lb_valid(d)")
    assert "offset" in problem[0]


def test_damaged_columns():
    """Each function over damaged documents, in a process that must live on."""
    database = Database()
    good = database.document(DOC)
    outcomes = {"answer": 0, "error": 0, "null": 0}
    for seed in range(ROUNDS):
        database.run("CREATE OR REPLACE TABLE t (d BLOB)")
        database.run("INSERT INTO t VALUES (?), (NULL), (?)", damaged(good, seed), good)
        for call in CALLS:
            try:
                database.run(f"SELECT {call} FROM t")
                outcomes["answer"] += 1
            except duckdb.Error as error:
                assert "fault of the extension" not in str(error), (seed, call, error)
                outcomes["error"] += 1
        for call, answer in zip(CALLS, ANSWERS, strict=False):
            found = database.run(f"SELECT {call[:-1]}, 'null') FROM t")
            outcomes["null"] += found[0][0] is None
            assert found[1:] == [(None,), (answer,)]
    assert all(outcomes.values()), outcomes


def test_damaged_files(folder):
    """The same for files, also those of logs."""
    database = Database()
    rows = [
        {"id": n, "text": f"t {n}", "s": {"l": [n] * (n % 3)}, "m": n if n % 2 else "x"}
        for n in range(50)
    ]
    table = livebuf.dumps({"rows": rows})
    plain = database.document({"rows": [{"id": 1, "l": [1, "x"]}, {"b": None}, 5]})
    with livebuf.Log("l.lblog", "w") as log:
        log.extend(rows)
    log = Path("l.lblog").read_bytes()
    outcomes = {"answer": 0, "error": 0}
    for seed in range(ROUNDS):
        for name, data in (("t.lbuf", table), ("p.lbuf", plain), ("d.lblog", log)):
            Path(name).write_bytes(damaged(data, seed))
            for sql in ("*", "count(*)", "max(id), max(text)"):
                try:
                    database.run(f"SELECT {sql} FROM read_livebuf('{name}', pointer := '/rows')")
                    outcomes["answer"] += 1
                except duckdb.Error as error:
                    assert "fault of the extension" not in str(error), (seed, name, error)
                    outcomes["error"] += 1
    assert all(outcomes.values()), outcomes


def test_every_byte(folder):
    """Each byte of a small table, in a process of its own: it must end by itself."""
    script = """
import sys
from conftest import Database
import duckdb, json
db = Database()
data = db.document({"rows": [{"i": n, "t": str(n)} for n in range(9)]})
for at in range(len(data)):
    for value in (0, 255, data[at] ^ 1):
        bad = data[:at] + bytes([value]) + data[at + 1 :]
        open("x.lbuf", "wb").write(bad)
        for sql in ("SELECT * FROM read_livebuf('x.lbuf', pointer := '/rows')", None):
            try:
                db.run(sql) if sql else db.run("SELECT lb_get_json(?, '/rows/3/t')", bad)
            except duckdb.Error as error:
                assert "fault of the extension" not in str(error), (at, value, error)
print("lived")
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        timeout=300,
    )
    assert done.stdout.strip() == "lived", done.stderr[-2000:]
    assert json.dumps(done.returncode) == "0"
