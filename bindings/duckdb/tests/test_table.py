"""`read_livebuf`: types, projection, several files, logs, and its errors."""

import datetime
import decimal
import json
import uuid

import livebuf
import numpy as np
import pytest
from conftest import Database
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ROWS = [
    {
        "id": n,
        "x": n / 8,
        "ok": n % 2 == 0,
        "name": None if n % 3 == 0 else f"a name of more than twelve bytes {n}",
        "pos": {"p": n, "q": list(range(n % 4))} if n % 5 else None,
    }
    for n in range(5000)
]


def write(name, value):
    with open(name, "wb") as file:
        file.write(livebuf.dumps(value))


def dicts(db, sql):
    done = db.connection.execute(sql)
    names = [column[0] for column in done.description]
    return [dict(zip(names, row, strict=True)) for row in done.fetchall()]


def columns(db, sql):
    return {row[0]: row[1] for row in db.run(f"DESCRIBE {sql}")}


def test_rows(db, folder):
    write("a.lbuf", {"rows": ROWS})
    read = "FROM read_livebuf('a.lbuf', pointer := '/rows')"
    assert columns(db, read) == {
        "id": "BIGINT",
        "x": "DOUBLE",
        "ok": "BOOLEAN",
        "name": "VARCHAR",
        "pos": "STRUCT(p BIGINT, q BIGINT[])",
    }
    assert dicts(db, read) == ROWS
    assert dicts(db, "FROM read_livebuf('a.lbuf', \"table\" := '/rows')") == ROWS
    # In another order, fewer, none.
    rows = db.run(f"SELECT name, id {read} WHERE ok")
    assert rows == [(row["name"], row["id"]) for row in ROWS if row["ok"]]
    assert db.one(f"SELECT count(*) {read}") == 5000
    assert db.one(f"SELECT sum(pos.p) {read}") == sum(n for n in range(5000) if n % 5)
    # NULL as an object makes its members NULL.
    assert db.one(f"SELECT count(pos.p) {read}") == 4000
    assert db.one(f"SELECT count(*) {read} LIMIT 3") == 5000
    assert db.run(f"SELECT id {read} LIMIT 3 OFFSET 2500") == [(2500,), (2501,), (2502,)]


def test_types(db, folder):
    utc = datetime.UTC
    row = {
        "date": datetime.date(2026, 11, 25),
        "time": datetime.time(10, 11, 12, 500000),
        "plain": datetime.datetime(2026, 11, 25, 10, 0, 0, 1),
        "moment": datetime.datetime(2026, 11, 25, 10, tzinfo=utc),
        "uuid": uuid.UUID("123e4567-e89b-12d3-a456-426614174000"),
        "price": decimal.Decimal("-12.50"),
        "bytes": b"\0\xff and more than twelve",
        "big": 2**64 - 1,
    }
    empty = dict.fromkeys(row)
    write(
        "t.lbuf", [row, empty, row | {"price": decimal.Decimal("7.125"), "uuid": uuid.UUID(int=0)}]
    )
    assert columns(db, "FROM read_livebuf('t.lbuf')") == {
        "date": "DATE",
        "time": "TIME",
        "plain": "TIMESTAMP",
        "moment": "TIMESTAMP WITH TIME ZONE",
        "uuid": "UUID",
        "price": "DECIMAL(38,3)",
        "bytes": "BLOB",
        "big": "UBIGINT",
    }
    first, second, third = dicts(db, "FROM read_livebuf('t.lbuf')")
    assert first.pop("moment").astimezone(utc) == row.pop("moment")
    assert first == row
    assert second == empty
    assert third["price"] == decimal.Decimal("7.125") and third["uuid"] == uuid.UUID(int=0)


def test_shapes(db, folder):
    """Lists of lists, long lists with nulls, mixed values, names that SQL does not tell apart."""
    long = [None if n % 3 == 0 else n for n in range(5000)]
    rows = [
        {
            "l": long,
            "m": 1,
            "a": 1,
            "A": 2,
            "s": {"k": 1, "K": 2},
            "n": None,
            "t": [["x", None], None],
        },
        {"l": None, "m": "x", "a": 3, "A": 4, "s": None, "n": None, "t": []},
        {"l": [], "m": [1], "a": 5, "A": 6, "s": {"k": 3, "K": 4}, "n": None, "t": [[]]},
    ]
    write("s.lbuf", rows)
    found = dicts(db, "FROM read_livebuf('s.lbuf')")
    assert list(found[0]) == ["l", "m", "a", "A_1", "s", "n", "t"]
    assert [row["l"] for row in found] == [row["l"] for row in rows]
    assert [row["t"] for row in found] == [row["t"] for row in rows]
    assert [json.loads(row["m"]) if row["m"] != "x" else "x" for row in found][2] == [1]
    assert [(row["a"], row["A_1"]) for row in found] == [(1, 2), (3, 4), (5, 6)]
    assert json.loads(found[0]["s"]) == {"k": 1, "K": 2} and found[1]["s"] is None
    assert [row["n"] for row in found] == [None] * 3
    write("x.lbuf", [{"v": [0.5, 1.5]} for _ in range(3)])
    assert columns(db, "FROM read_livebuf('x.lbuf')") == {"v": "DOUBLE[]"}
    write("n.lbuf", [{"v": np.arange(3, dtype=kind)} for kind in ["float32"] * 4])
    assert columns(db, "FROM read_livebuf('n.lbuf')") == {"v": "FLOAT[]"}
    assert db.run("FROM read_livebuf('n.lbuf')") == [([0.0, 1.0, 2.0],)] * 4
    write("i.lbuf", [{"v": np.arange(3, dtype="uint8")} for _ in range(4)])
    assert db.run("FROM read_livebuf('i.lbuf')") == [([0, 1, 2],)] * 4
    write("v.lbuf", [1, 2, None])
    assert db.run("FROM read_livebuf('v.lbuf')") == [(1,), (2,), (None,)]
    write("o.lbuf", {"ada": {"laps": 12}, "bea": {"laps": 9}})
    assert db.run("FROM read_livebuf('o.lbuf')") == [("ada", 12), ("bea", 9)]
    assert db.run("SELECT laps FROM read_livebuf('o.lbuf')") == [(12,), (9,)]
    assert db.run("FROM read_livebuf('o.lbuf', pointer := '/ada')") == [("laps", 12)]


def test_files(db, folder):
    write("a1.lbuf", [{"id": 1, "x": 1}, {"id": 2, "x": 2}])
    write("a2.lbuf", [{"id": 3, "new": "z", "x": None}])
    write("a3.lbuf", [])
    (folder / "sub").mkdir()
    write("sub/b.lbuf", [{"x": 9}])
    write("sub/_hidden.lbuf", [{"x": 10}])
    read = "read_livebuf('a*.lbuf', filename := true, union_by_name := false)"
    assert db.run(f"FROM {read}") == [(1, 1, "a1.lbuf"), (2, 2, "a1.lbuf"), (3, None, "a2.lbuf")]
    assert db.run(f"SELECT DISTINCT filename FROM {read} ORDER BY 1") == [
        ("a1.lbuf",),
        ("a2.lbuf",),
    ]
    # Columns that only later files have were dropped without a word.
    union = "read_livebuf('a*.lbuf')"
    assert db.run(f"SELECT new, id FROM {union}") == [(None, 1), (None, 2), ("z", 3)]
    assert db.one("SELECT sum(x) FROM read_livebuf('**/*.lbuf') WHERE x < 10") == 12
    assert db.one("SELECT sum(x) FROM read_livebuf('sub')") == 9
    assert db.one(f"SELECT sum(x) FROM read_livebuf('{folder}/a?.lbuf')") == 3


def test_conflicts(db, folder):
    write("a.lbuf", [{"id": 1}])
    write("b.lbuf", [{"id": "one"}])
    write("c.lbuf", [{"id": 1.5}])
    message = db.error("FROM read_livebuf('[ab].lbuf', union_by_name := false)")
    assert 'b.lbuf: column "id"' in message and "int64" in message
    message = db.error("FROM read_livebuf('[ab].lbuf')")
    assert 'b.lbuf: column "id" is Utf8 here, but Int64 in files before' in message
    # Integers have one type, whichever file has the large ones.
    write("d.lbuf", [{"id": 1}] * 250_000 + [{"id": 2**63}])
    assert db.one("SELECT sum(id) FROM read_livebuf('[ad].lbuf')") == 250_001 + 2**63
    write("e.lbuf", [{"id": -1}])
    message = db.error("FROM read_livebuf('[de].lbuf')")
    assert 'e.lbuf: column "id", row 0: -1 does not fit' in message
    # Numbers have a type in common.
    assert db.run("FROM read_livebuf('[ac].lbuf')") == [(1.0,), (1.5,)]


def test_errors(db, folder):
    write("a.lbuf", {"rows": [{"id": 1}], "n": 5})
    assert "nothing*.lbuf: no such file" in db.error("FROM read_livebuf('nothing*.lbuf')")
    assert "a path or a pattern" in db.error("FROM read_livebuf(NULL)")
    assert 'a.lbuf: the document has nothing at "/x"' in db.error(
        "FROM read_livebuf('a.lbuf', pointer := '/x')"
    )
    message = db.error("FROM read_livebuf('a.lbuf', pointer := '/n')")
    assert "a.lbuf: the value is no array and no object" in message
    write("empty.lbuf", [])
    assert "no file has rows" in db.error("FROM read_livebuf('empty.lbuf')")
    (folder / "text.lbuf").write_text("[1]")
    assert "not a LiveBuf document" in db.error("FROM read_livebuf('text.lbuf')")


def test_logs(db, folder):
    with livebuf.Log("l.lblog", "w") as log:
        log.extend([{"lap": n, "who": f"driver {n % 3}"} for n in range(3000)])
        log.append({"lap": 3000, "who": None, "late": True})
    assert db.one("SELECT count(*) FROM read_livebuf('l.lblog')") == 3001
    assert db.one("SELECT sum(lap) FROM read_livebuf('l.lblog')") == 3000 * 3001 // 2
    assert db.run("SELECT late FROM read_livebuf('l.lblog') WHERE late IS NOT NULL") == [(True,)]
    write("m.lbuf", [{"lap": 1}])
    assert db.one("SELECT count(lap) FROM read_livebuf('*.lb*')") == 3002


@pytest.mark.parametrize("threads", ["1", "4"])
def test_threads(folder, threads):
    """Parts of large files, by one thread and by several."""
    rows = [{"id": n, "text": f"text {n}"} for n in range(300_000)]
    write("big1.lbuf", rows)
    write("big2.lbuf", rows[:1000])
    database = Database(threads=threads)
    read = "read_livebuf('big*.lbuf')"
    total = sum(range(300_000)) + sum(range(1000))
    for _ in range(3):
        sql = f"SELECT sum(id), count(DISTINCT text), count(*) FROM {read}"
        assert database.run(sql) == [(total, 300_000, 301_000)]
    # Rows come in order.
    found = [row[0] for row in database.run(f"SELECT id FROM {read}")]
    assert found == list(range(300_000)) + list(range(1000))


def test_projection(db, folder):
    """What is not selected is not looked at: damage there does not matter."""
    from test_hostile import damaged_column

    data = damaged_column()
    (folder / "d.lbuf").write_bytes(data)
    assert db.one("SELECT sum(id) FROM read_livebuf('d.lbuf')") == sum(range(3000))
    message = db.error("SELECT max(text) FROM read_livebuf('d.lbuf')")
    assert 'd.lbuf: column "text"' in message and "offset" in message


cells = st.fixed_dictionaries(
    {},
    optional={
        "i": st.none() | st.integers(-(2**63), 2**63 - 1),
        "f": st.none() | st.floats(allow_nan=False),
        "b": st.none() | st.booleans(),
        "t": st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
        "l": st.none() | st.lists(st.none() | st.integers(0, 9), max_size=5),
        "s": st.none() | st.fixed_dictionaries({"x": st.none() | st.booleans()}),
    },
)
DB = Database()


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(cells, min_size=1, max_size=30), st.integers(1, 200))
def test_like_python(folder, rows, times):
    rows = rows * times
    write("r.lbuf", rows)
    names = sorted({name for row in rows for name in row})
    if not names:
        return
    wanted = ", ".join(names)
    found = DB.run(f"SELECT {wanted} FROM read_livebuf('r.lbuf')")
    assert len(found) == len(rows)
    for row, answer in zip(rows, found, strict=True):
        assert tuple(row.get(name) for name in names) == answer
