"""What each function answers, to right and to wrong arguments."""

import json
import threading

import pytest
from conftest import Database
from hypothesis import given, settings
from hypothesis import strategies as st

ADA = {"name": "Ada", "laps": [88.5, 87.9], "car": {"id": 7, "b c": True}, "note": None}
GETTERS = ["bigint", "double", "bool", "string", "json"]


@pytest.mark.parametrize(
    "path, answers",
    [
        ("$.name", (None, None, None, "Ada", '"Ada"')),
        ("/name", (None, None, None, "Ada", '"Ada"')),
        ("$.laps[1]", (None, 87.9, None, None, "87.9")),
        ("/laps/1", (None, 87.9, None, None, "87.9")),
        ("$.laps[#-2]", (None, 88.5, None, None, "88.5")),
        ("$.car.id", (7, 7.0, None, None, "7")),
        ('$.car."b c"', (None, None, True, None, "true")),
        ("/car/b c", (None, None, True, None, "true")),
        ('$.car."b\\u0020c"', (None, None, True, None, "true")),
        ("$.note", (None, None, None, None, "null")),
        ("$.car", (None, None, None, None, '{"id":7,"b c":true}')),
        ("$", (None, None, None, None, json.dumps(ADA, separators=(",", ":")))),
        ("", (None, None, None, None, json.dumps(ADA, separators=(",", ":")))),
        ("$.laps[2]", (None,) * 5),
        ("$.name.x", (None,) * 5),
        ("/nothing/at/all", (None,) * 5),
        (None, (None,) * 5),
    ],
)
def test_getters(db, path, answers):
    doc = db.document(ADA)
    found = tuple(db.one(f"SELECT lb_get_{getter}(?, ?)", doc, path) for getter in GETTERS)
    assert found == answers


def test_types_of_answers(db):
    doc = db.document(ADA)
    wanted = ["BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR", "JSON"]
    for getter, kind in zip(GETTERS, wanted, strict=True):
        assert db.one(f"SELECT typeof(lb_get_{getter}(?, '$'))", doc) == kind
    # DuckDB's own functions take it.
    assert db.one("SELECT lb_get_json(?, '$.car') ->> '$.id'", doc) == "7"


@pytest.mark.parametrize(
    "number, bigint, double",
    [
        ("9223372036854775807", 2**63 - 1, 2.0**63),
        ("-9223372036854775808", -(2**63), -(2.0**63)),
        ("9223372036854775808", None, 2.0**63),
        ("18446744073709551615", None, 2.0**64),
        ("123456789012345678901234567890", None, 123456789012345678901234567890.0),
        ("1.0", None, 1.0),
        ("1e3", None, 1000.0),
        ("1e999", None, float("inf")),
    ],
)
def test_numbers(db, number, bigint, double):
    doc = db.one("SELECT lb_from_json(?)", number)
    assert db.one("SELECT lb_get_bigint(?, '$')", doc) == bigint
    assert db.one("SELECT lb_get_double(?, '$')", doc) == double


def test_other_types(db):
    doc = db.document(["2026-11-25", "2026-11-25T10:00:00Z"], "recognize")
    assert db.one("SELECT lb_get_string(?, '$[0]')::DATE::VARCHAR", doc) == "2026-11-25"
    assert db.one("SELECT lb_get_string(?, '$[1]')", doc) == "2026-11-25T10:00:00Z"
    assert db.one("SELECT lb_type(?, '$[1]')", doc) == "timestamp"
    names = ["null", "true", "false", "integer", "real", "text", "array", "object"]
    values = [None, True, False, 1, 1.5, "t", [], {}]
    for value, name in zip(values, names, strict=True):
        assert db.one("SELECT lb_type(?)", db.document(value)) == name
    assert "argument 2 must be 'recognize'" in db.error("SELECT lb_from_json('1', 'x')")
    half = r'"\ud800"'
    assert "half of a surrogate pair" in db.error("SELECT lb_from_json(?)", half)
    replaced = db.one("SELECT lb_from_json(?, 'surrogates=replace')", "\ufeff" + half)
    assert db.one("SELECT lb_json(?)", replaced) == '"\ufffd"'
    assert "line 1, column 2" in db.error("SELECT lb_from_json('{')")


@pytest.mark.parametrize(
    "path, at", [("name", 0), ("$name", 1), ("$.", 2), ("$.laps[", 6), ("$.laps[x]", 6)]
)
def test_bad_paths(db, path, at):
    doc = db.document(ADA)
    for getter in GETTERS:
        message = db.error(f"SELECT lb_get_{getter}(?, ?)", doc, path)
        assert f"lb_get_{getter}: bad path '{path}' at byte {at}: expected" in message
    assert "malformed JSON pointer" in db.error("SELECT lb_get_json(?, '/a~2')", doc)


def test_null_gives_null(db):
    for name in ("json", "type", "valid", "error", "try"):
        assert db.one(f"SELECT lb_{name}(NULL)") is None
    for getter in GETTERS:
        assert db.one(f"SELECT lb_get_{getter}(NULL, '$')") is None
    assert db.one("SELECT lb_from_json(NULL)") is None


def test_many_chunks(db):
    """Rows, NULLs and paths of each their own, over several chunks of 2,048 rows."""
    db.run(
        """CREATE TABLE t AS SELECT i, CASE WHEN i % 7 THEN
        lb_from_json('{"a": ' || i || ', "b": "a text of more than 12 bytes ' || i || '"}') END d,
        CASE i % 3 WHEN 0 THEN '$.a' WHEN 1 THEN '$.b' END p FROM range(10000) r(i)"""
    )
    rows = db.run(
        "SELECT i, lb_get_bigint(d, '$.a'), lb_get_bigint(d, p), lb_get_string(d, p) FROM t"
    )
    assert len(rows) == 10000
    for i, constant, number, text in rows:
        there = i % 7 != 0
        assert constant == (i if there else None)
        assert number == (i if there and i % 3 == 0 else None)
        expected = f"a text of more than 12 bytes {i}"
        assert text == (expected if there and i % 3 == 1 else None)
    # Filtered rows.
    some = sum(i for i in range(1, 10000, 1000) if i % 7)
    assert db.one("SELECT sum(lb_get_bigint(d, '$.a')) FROM t WHERE i % 1000 = 1") == some


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=12,
)
steps = st.lists(st.sampled_from(["a", "b", "c", 0, 1, 2]), max_size=4)
DB = Database()


def look(value, way):
    """The value at the end of the way; `KeyError` where it leads nowhere."""
    for step in way:
        if isinstance(value, list) != isinstance(step, int) or not isinstance(value, (list, dict)):
            raise KeyError(step)
        if isinstance(step, int) and step >= len(value):
            raise KeyError(step)
        value = value[step]
    return value


@settings(max_examples=300, deadline=None)
@given(values, steps)
def test_like_python_and_like_json(value, way):
    """Python's answers, and those of DuckDB's functions of JSON."""
    doc = DB.document(value)
    dollar = "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in way)
    pointer = "".join(f"/{step}" for step in way)
    try:
        found, there = look(value, way), True
    except KeyError:
        found, there = None, False
    sql = ", ".join(f"lb_get_{getter}($d, $p)" for getter in GETTERS) + ", lb_type($d, $p)"
    answers = {}
    for path in (dollar, pointer):
        if path == pointer and any(
            isinstance(step, int) and isinstance(parent(value, way, at), dict)
            for at, step in enumerate(way)
        ):
            continue
        answers[path] = DB.connection.execute(f"SELECT {sql}", {"d": doc, "p": path}).fetchone()
    for bigint, double, boolean, string, text, kind in answers.values():
        is_int = isinstance(found, int) and not isinstance(found, bool)
        assert bigint == (found if is_int else None)
        assert double == (float(found) if is_int or isinstance(found, float) else None)
        assert boolean is (found if isinstance(found, bool) else None)
        assert string == (found if isinstance(found, str) else None)
        assert (text is not None) == there and (kind is not None) == there
        if there:
            assert json.loads(text) == found
    theirs = DB.one("SELECT json_extract(?::JSON, ?)", json.dumps(value), dollar)
    assert (theirs is not None) == there
    if there:
        assert json.loads(theirs) == json.loads(answers[dollar][4])
        theirs = DB.one("SELECT json_type(?::JSON, ?)", json.dumps(value), dollar)
        if theirs == "BIGINT" or theirs == "UBIGINT":
            assert answers[dollar][5] == "integer"


def parent(value, way, at):
    try:
        return look(value, way[:at])
    except KeyError:
        return None


def test_threads():
    """Several connections of one database at once."""
    database = Database(threads="4")
    database.run(
        "CREATE TABLE t AS SELECT lb_from_json('{\"a\": ' || i || '}') d FROM range(50000) r(i)"
    )
    sums = []

    def work():
        cursor = database.connection.cursor()
        for _ in range(5):
            sums.append(cursor.execute("SELECT sum(lb_get_bigint(d, '$.a')) FROM t").fetchone()[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [49999 * 25000] * 20


def test_alias_type(db):
    db.run("CREATE TABLE t (d LIVEBUF)")
    db.run(
        "INSERT INTO t VALUES ('{\"x\": [1, 2]}'), (NULL), ('{\"x\": 1}'::JSON)",
    )
    db.run("INSERT INTO t VALUES (lb_from_json('5'))")
    rows = db.run("SELECT d::VARCHAR, d::JSON ->> '$.x', lb_get_bigint(d, '$.x'), typeof(d) FROM t")
    assert rows == [
        ('{"x":[1,2]}', "[1,2]", None, "LIVEBUF"),
        (None, None, None, "LIVEBUF"),
        ('{"x":1}', "1", 1, "LIVEBUF"),
        ("5", None, None, "LIVEBUF"),
    ]
    assert db.one("SELECT TRY_CAST('{' AS LIVEBUF)") is None
    assert "line 1, column 2" in db.error("SELECT CAST('{' AS LIVEBUF)")
    assert db.one("SELECT TRY_CAST('\\x00'::BLOB::LIVEBUF AS VARCHAR)") is None
    # Casts of BLOB itself stay DuckDB's.
    assert db.one("SELECT '\\x00ab'::BLOB::VARCHAR") == "\\x00ab"
    assert db.one("SELECT lb_from_json('1')::VARCHAR") != "1"
    assert db.one("SELECT '{}'::BLOB") == b"{}"
