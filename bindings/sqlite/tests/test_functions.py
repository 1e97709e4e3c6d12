"""What each function answers, to right and to wrong arguments."""

import json
import math
import threading

import apsw
import pytest

ADA = '{"name":"Ada","laps":[88.5,87.9],"car":{"id":7,"b c":true},"note":null}'


@pytest.mark.parametrize(
    "path, value",
    [
        ("$.name", "Ada"),
        ("/name", "Ada"),
        ("$.laps[1]", 87.9),
        ("/laps/1", 87.9),
        ("$.laps[#-2]", 88.5),
        ("$.car.id", 7),
        ('$.car."b c"', 1),
        ('$.car."b\\u0020c"', 1),
        ("/car/b c", 1),
        ("$.note", None),
        ("$.laps", "[88.5,87.9]"),
        ("$.car", '{"id":7,"b c":true}'),
        ("$", ADA),
        ("", ADA),
        ("$.laps[2]", None),
        ("$.laps[#]", None),
        ("$.laps[#-3]", None),
        ("$.laps[99999999999999999999999]", None),
        ("/laps/-", None),
        ("/laps/01", None),
        ("$.name.x", None),
        ("$.name[0]", None),
        ("$.nothing", None),
        ("/nothing/at/all", None),
        (None, None),
    ],
)
def test_extract(db, path, value):
    assert db.one("SELECT lb_extract(lb(?), ?)", ADA, path) == value


def test_extract_of_more_paths(db):
    found = db.one("SELECT lb_extract(lb(?), '$.name', '/laps/0', '$.x', '$.car')", ADA)
    assert json.loads(found) == ["Ada", 88.5, None, {"id": 7, "b c": True}]


@pytest.mark.parametrize(
    "path, at",
    [("name", 0), ("$name", 1), ("$.", 2), ("$.a.", 4), ("$.laps[", 6), ("$.laps[x]", 6)]
    + [("$.laps[-1]", 6), ("$.laps[#1]", 6), ('$."a', 2), ('$."a\\x"', 2), ("$.nothing[", 9)],
)
def test_bad_paths(db, path, at):
    for function in ("lb_extract", "lb_type", "lb_json", "lb_array_length", "lb_remove"):
        message = db.error(f"SELECT {function}(lb(?), ?)", ADA, path)
        assert message.startswith(f"{function}: bad path '{path}' at byte {at}: expected"), message
    assert "bad path" in db.error("SELECT lb_set(lb(?), ?, 1)", ADA, path)
    assert "bad path" in db.error("SELECT * FROM lb_each(lb(?), ?)", ADA, path)


def test_bad_pointers(db):
    assert "malformed JSON pointer" in db.error("SELECT lb_extract(lb(?), '/a~2')", ADA)


def test_wrong_arguments(db):
    assert "argument 1 must be a LiveBuf document" in db.error("SELECT lb_extract('{}', '$')")
    assert "argument 2 must be text" in db.error("SELECT lb_extract(lb('{}'), 1)")
    assert "not a LiveBuf document" in db.error("SELECT lb_extract(x'7b7d', '$')")
    assert "a document and a path" in db.error("SELECT lb_extract(lb('{}'))")
    assert "paths each with a value" in db.error("SELECT lb_set(lb('{}'), '$.a')")
    assert "argument 2 must be 'recognize'" in db.error("SELECT lb('{}', 'x')")
    assert "half of a surrogate pair" in db.error("SELECT lb(?)", r'"\ud800"')
    assert "argument 2 must be" in db.error("SELECT lb('{}', 'recognize  surrogates=replace')")
    assert "line 1, column 7" in db.error("SELECT lb('{\"a\": }')")
    assert "line 1" in db.error("SELECT lb('{a:1}')")
    assert "argument 2 must be a count" in db.error("SELECT lb_reserve(lb('{}'), -1)")
    assert "argument 2 must be a query" in db.error("SELECT * FROM lb_query(lb('{}'))")
    assert "column" in db.error("SELECT * FROM lb_query(lb('{}'), '$[')")
    # Not UTF-8.
    assert "UTF-8" in db.error("SELECT lb_extract(lb('{}'), CAST(x'24ff' AS TEXT))")


def test_null_gives_null(db):
    calls = (
        ["lb(NULL)", "lb_json(NULL)", "lb_extract(NULL, '$')", "lb_type(NULL)", "lb_valid(NULL)"]
        + ["lb_array_length(NULL)", "lb_set(NULL, '$.a', 1)", "lb_remove(NULL, '$.a')"]
        + ["lb_try(NULL)", "lb_error(NULL)", "lb_merge_patch(NULL, '{}')", "lb_reserve(NULL, 1)"]
        + ["lb_merge_patch(lb('{}'), NULL)", "lb_apply_patch(lb('{}'), NULL)", "lb_compact(NULL)"]
        + ["lb_read('main', 't', 'd', NULL, '$')"]
    )
    for call in calls:
        assert db.one(f"SELECT {call}") is None, call
    for table in ("lb_each(NULL)", "lb_tree(NULL)", "lb_query(NULL, '$')", "lb_each"):
        assert db.run(f"SELECT * FROM {table}") == []


def test_types(db):
    values = ["null", "true", "false", "1", "18446744073709551615", "1.5", '"t"', "[]", "{}"]
    names = ["null", "true", "false", "integer", "integer", "real", "text", "array", "object"]
    for value, name in zip(values, names, strict=True):
        assert db.one("SELECT lb_type(lb(?))", value) == name
    big = "123456789012345678901234567890"
    assert db.one("SELECT lb_type(lb(?))", big) == "integer"
    assert db.one("SELECT lb_type(lb(?))", big + ".5") == "real"
    extended = '["2026-11-25","2026-11-25T10:00:00","2026-11-25T10:00:00Z"]'
    found = db.run("SELECT type, value FROM lb_each(lb(?, 'recognize'))", extended)
    assert found == [
        ("date", "2026-11-25"),
        ("datetime", "2026-11-25T10:00:00"),
        ("timestamp", "2026-11-25T10:00:00Z"),
    ]
    words = "recognize surrogates=replace"
    found = db.run("SELECT type, value FROM lb_each(lb(?, ?))", r'["\ud800","2026-11-25"]', words)
    assert found == [("text", "\ufffd"), ("date", "2026-11-25")]
    assert db.one("SELECT lb_json(lb(?))", "\ufeff[1]") == "[1]"
    # SQLite's date functions take them.
    sql = "SELECT unixepoch(lb_extract(lb(?, 'recognize'), '$[2]'))"
    assert db.one(sql, extended) == 1795600800


def test_lengths(db):
    assert db.one("SELECT lb_array_length(lb('[1,2,3]'))") == 3
    assert db.one("SELECT lb_array_length(lb(?), '$.laps')", ADA) == 2
    assert db.one("SELECT lb_array_length(lb(?))", ADA) == 0
    assert db.one("SELECT lb_array_length(lb(?), '$.x')", ADA) is None


def test_numbers_that_sqlite_lacks(db):
    """Above i64 they are REAL, the nearest; JSON text keeps them."""
    for text in ("9223372036854775808", "18446744073709551615", "123456789012345678901234567890"):
        assert db.one("SELECT lb_extract(lb(?), '$')", text) == float(text)
        assert db.one("SELECT typeof(lb_extract(lb(?), '$'))", text) == "real"
        assert db.one("SELECT lb_json(lb(?))", text) == text
    assert db.one("SELECT lb_extract(lb('-9223372036854775808'), '$')") == -(2**63)
    assert db.one("SELECT lb_extract(lb('1e999'), '$')") == math.inf


def test_infinity_and_nan(db):
    doc = db.one("SELECT lb_set(lb('{}'), '$.a', 9e999, '$.b', -9e999)")
    assert db.one("SELECT lb_extract(?, '$.a')", doc) == math.inf
    assert db.one("SELECT lb_json(?)", doc) == '{"a":null,"b":null}'
    # NaN is no value of SQL. Only other programs store it.
    nan = doc.replace(bytes.fromhex("000000000000f07f"), bytes.fromhex("000000000000f87f"))
    assert nan != doc and db.one("SELECT lb_valid(?)", nan) == 1
    assert db.one("SELECT lb_extract(?, '$.a')", nan) is None
    assert db.one("SELECT lb_type(?, '$.a')", nan) == "real"
    assert db.one("SELECT lb_json(?)", nan) == '{"a":null,"b":null}'


def test_blobs_in_documents(db):
    doc = db.one("SELECT lb_set(lb('{}'), '$.a', x'00ff')")
    assert db.one("SELECT lb_extract(?, '$.a')", doc) == b"\x00\xff"
    assert db.one("SELECT lb_type(?, '$.a')", doc) == "blob"
    assert db.one("SELECT lb_json(?)", doc) == '{"a":"AP8="}'


def test_values_that_are_stored(db):
    values = "'$.a', ?, '$.b', lb('[1]'), '$.c', json('[2]'), '$.d', '[3]'"
    sql = f"SELECT lb_json(lb_set(lb('{{}}'), {values}))"
    assert db.one(sql, 5) == '{"a":5,"b":[1],"c":[2],"d":"[3]"}'
    # What lb_json makes is JSON to SQLite's own functions, too.
    assert db.one("SELECT json_array(lb_json(lb('[1]')))") == "[[1]]"
    assert db.run("SELECT lb_json(lb(5)), lb_json(lb(1.5)), lb_json(lb(lb('[1]')))") == [
        ("5", "1.5", "[1]")
    ]


def test_patches(db):
    doc = db.one("SELECT lb(?)", ADA)
    patch = '[{"op":"test","path":"/name","value":"Ada"},{"op":"add","path":"/laps/-","value":1}]'
    assert db.one("SELECT lb_extract(lb_apply_patch(?, ?), '$.laps[2]')", doc, patch) == 1
    as_document = "SELECT lb_extract(lb_apply_patch(?, lb(?)), '$.laps[2]')"
    assert db.one(as_document, doc, patch) == 1
    wrong = '[{"op":"remove","path":"/name"},{"op":"remove","path":"/x"}]'
    message = db.error("SELECT lb_apply_patch(?, ?)", doc, wrong)
    assert message.startswith('lb_apply_patch: operation 1, remove "/x"')
    merged = "SELECT lb_json(lb_merge_patch(?, {}))"
    result = '{"name":"Ada","laps":1,"note":null}'
    assert db.one(merged.format("?"), doc, '{"laps":1,"car":null}') == result
    assert db.one(merged.format("lb(?)"), doc, '{"laps":1,"car":null}') == result
    assert "lb_merge_patch" in db.error("SELECT lb_merge_patch(?, '{')", doc)


def test_each_and_tree(db):
    columns = "key, value, type, atom, id, parent, fullkey, path"
    assert db.run(f'SELECT {columns} FROM lb_tree(lb(\'{{"a":[1,{{"b c":2}}]}}\'))') == [
        (None, '{"a":[1,{"b c":2}]}', "object", None, 0, None, "$", "$"),
        ("a", '[1,{"b c":2}]', "array", None, 1, 0, "$.a", "$"),
        (0, 1, "integer", 1, 2, 1, "$.a[0]", "$.a"),
        (1, '{"b c":2}', "object", None, 3, 1, "$.a[1]", "$.a"),
        ("b c", 2, "integer", 2, 4, 3, '$.a[1]."b c"', "$.a[1]"),
    ]
    assert db.run("SELECT key, value, fullkey FROM lb_each(lb(?), '/car')", ADA) == [
        ("id", 7, "$.car.id"),
        ("b c", 1, '$.car."b c"'),
    ]
    assert db.run("SELECT * FROM lb_each(lb(?), '$.x')", ADA) == []
    assert db.run("SELECT json, root FROM lb_each(lb('[1]'), '$')") == [
        (db.one("SELECT lb('[1]')"), "$")
    ]


def test_elements_are_documents(db):
    """Bug: elements were JSON text alone, so that reading them took parsing them again."""
    db.run("CREATE TABLE t (id INTEGER PRIMARY KEY, d BLOB)")
    for n in range(5):
        orders = [{"sum": at * 10, "tags": [at, {"x": "ä"}]} for at in range(n)]
        db.run("INSERT INTO t VALUES (?, lb(?))", n, json.dumps({"orders": orders}))
    query = "SELECT t.id, lb_extract(e.element, '$.sum') FROM t, lb_each(t.d, '$.orders') e "
    rows = db.run(query + "WHERE lb_extract(e.element, '$.tags[0]') >= 2")
    assert rows == [(3, 20), (4, 20), (4, 30)]
    values = [None, True, 1, 2.5, "x", [], {}, [1, "x"], {"a": {"b": [None]}}]
    for table in ("lb_each(lb(?))", "lb_tree(lb(?))", "lb_query(lb(?), '$..*')"):
        found = db.run(f"SELECT lb_json(element), type, value FROM {table}", json.dumps(values))
        for text, type, value in found:
            assert type in ("true", "false") or json.loads(text) == (
                json.loads(value) if type in ("object", "array") else value
            )
    dates = "lb('[\"2026-11-25\"]', 'recognize')"
    assert db.run(f"SELECT lb_type(element) FROM lb_each({dates})") == [("date",)]
    assert db.run("SELECT count(*) FROM lb_each(lb('[1]')) WHERE element = lb('1')") == [(1,)]
    assert "argument 3" in db.error("SELECT * FROM lb_each(lb('[1]'), '$', 3)")


def test_elements_are_the_same_whatever_came_before(db):
    rows = [
        {"n": 1, "a key of some length": "a text of some length", "in": {"x": 1}, "tags": ["a"]},
        {"n": 2, "in": {"y": [1.5, 2, None]}},
        {"in": {}, "n": 3, "tags": [], "deep": {"a": {"b": {"c": {"d": {"e": 1}}}}}},
        {"n": 4, "a key of some length": "ä", "in": {"x": 2}, "long": "x" * 5000},
        {"n": 5, **{f"key {at}": at for at in range(40)}, "list": list(range(2000))},
        {"n": 6, "a key of some length": None, "in": {"x": 1}, "list": [[1], {"a": 1}] * 40},
    ]
    db.run("CREATE TABLE t (d BLOB)")
    for order in (rows, rows[::-1], rows * 3):
        db.run("INSERT INTO t VALUES (lb(?))", json.dumps({"rows": order, "one": order[0]}))
    query = "SELECT lb_extract(element, '$.n'), lb_json(element), typeof(element), element, "
    query += "lb_error(element), value, element FROM t, lb_each(d, '$.rows')"
    found = db.run(query)
    assert len(found) == 5 * len(rows)
    for number, text, type, element, error, value, again in found:
        assert (type, error, text, again) == ("blob", None, value, element)
        assert json.loads(text) == rows[number - 1]
    # Kept in a table, after its cursor has gone on.
    db.run("CREATE TABLE kept AS SELECT element FROM t, lb_each(d, '$.rows') ORDER BY id DESC")
    kept = db.run("SELECT lb_json(element) FROM kept")
    assert sorted(kept) == sorted((text,) for _, text, *_ in found)
    # Two cursors of one document, and the bytes of the same row of another call.
    twins = "lb_each(d, '$.rows') a, lb_each(d, '$.rows') b ON a.id = b.id"
    assert db.one(f"SELECT count(*) FROM t, {twins} WHERE a.element <> b.element") == 0
    for path in ("lb_tree(d)", "lb_query(d, '$..*')"):
        assert db.run(f"SELECT 1 FROM t, {path} WHERE NOT lb_valid(element)") == []
    one = "SELECT lb_json(lb_set(element, '$.n', 7), '$.n') FROM t, lb_query(d, '$.one')"
    assert db.run(one) == [("7",)] * 3


def test_each_joins_a_table(db):
    db.run("CREATE TABLE t (id INTEGER PRIMARY KEY, d BLOB)")
    for n in range(5):
        db.run("INSERT INTO t VALUES (?, lb(?))", n, json.dumps({"tags": list(range(n))}))
    rows = db.run("SELECT t.id, e.value FROM t, lb_each(t.d, '$.tags') e WHERE e.value > 1")
    assert rows == [(3, 2), (4, 2), (4, 3)]
    rows = db.run("SELECT t.id FROM t JOIN lb_query(t.d, '$.tags[?@ == 3]') q")
    assert rows == [(4,)]


def test_query(db):
    sql = "SELECT fullkey, key, value, path FROM lb_query(lb(?), ?)"
    text = '{"a":[{"n":1},{"n":5},{"n":9}],"b c":{"n":7}}'
    assert db.run(sql, text, "$.a[?@.n > 4].n") == [
        ("$.a[1].n", "n", 5, "$.a[1]"),
        ("$.a[2].n", "n", 9, "$.a[2]"),
    ]
    assert db.run(sql, text, "$['b c'].n") == [('$."b c".n', "n", 7, '$."b c"')]
    assert db.run(sql, text, "$") == [("$", None, text, "$")]
    # A path that a query found leads lb_set there.
    where = "SELECT fullkey FROM lb_query(d, '$.a[?@.n == 5]')"
    sql = f"SELECT lb_json(lb_set(d, ({where}), NULL)) FROM (SELECT lb(?) AS d)"
    assert db.one(sql, text) == '{"a":[{"n":1},null,{"n":9}],"b c":{"n":7}}'


def test_a_search_for_one_row_is_interrupted(db):
    """Nothing ended it before its budget did."""
    text = json.dumps([[n] for n in range(20_000)])
    doc = db.one("SELECT lb(?)", text)
    timer = threading.Timer(0.1, db.connection.interrupt)
    timer.start()
    never = "$[?count($[*][*]) < @[0]]"
    with pytest.raises(apsw.InterruptError):
        db.run(f"SELECT count(*) FROM lb_query(?, '{never}', {1 << 60})", doc)
    timer.join()
    assert db.one("SELECT count(*) FROM lb_query(?, '$[*]')", doc) == 20_000


def test_budgets(db):
    text = json.dumps([[1, 2], [3, 4]])
    assert db.one("SELECT count(*) FROM lb_query(lb(?), '$..*')", text) == 6
    message = db.error("SELECT count(*) FROM lb_query(lb(?), '$..*', 3)", text)
    assert message == "lb_query: the walk went over its budget of 3"
    # Output is bounded by the connection's own limit.
    doc = db.one("SELECT lb(?)", json.dumps(["x" * 1000] * 20))
    db.connection.limit(apsw.SQLITE_LIMIT_LENGTH, 10_000)
    assert "lb_json" in db.error("SELECT lb_json(?)", doc)
    assert "lb_extract" in db.error("SELECT lb_extract(?, '$')", doc)
    assert "too big" in db.error("SELECT lb_reserve(?, 100000)", doc)
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)"
    sql = f"{rows} SELECT lb_group_array(hex(randomblob(100))) FROM n"
    assert db.error(sql).startswith("lb_group_array: the document would grow past its size limit")


def test_aggregates_make_tables(db):
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
    doc = db.one(f"{rows} SELECT lb_group_array(lb(json_object('id', i, 'sq', i * i))) FROM n")
    assert db.one("SELECT lb_extract(?, '$[999].sq')", doc) == 1_000_000
    # A table: about six bytes a row, not the 40 of objects.
    assert len(doc) < 10_000
    doc = db.one(f"{rows} SELECT lb_group_object(i, i * 2) FROM n WHERE i < 4")
    assert db.one("SELECT lb_json(?)", doc) == '{"1":2,"2":4,"3":6}'
    assert db.run(
        "SELECT lb_json(lb_group_array(1)), lb_json(lb_group_object('a', 1)) WHERE 0"
    ) == [("[]", "{}")]
    assert "a key" in db.error("SELECT lb_group_object(x'00', 1)")
    # The last of equal keys wins; NULL as a key is left out.
    values = "(SELECT 'a' AS k, 1 AS v UNION ALL SELECT NULL, 2 UNION ALL SELECT 'a', 3)"
    assert db.one(f"SELECT lb_json(lb_group_object(k, v)) FROM {values}") == '{"a":3}'
    sql = (
        "SELECT lb_json(lb_group_array(column1 ORDER BY column1 DESC)) FROM (VALUES (1), (3), (2))"
    )
    assert db.one(sql) == "[3,2,1]"


def test_expression_indexes(db):
    db.run("CREATE TABLE t (id INTEGER PRIMARY KEY, d BLOB)")
    for n in range(100):
        db.run("INSERT INTO t VALUES (?, lb(?))", n, json.dumps({"n": n * 3}))
    db.run("CREATE INDEX by_n ON t (lb_extract(d, '$.n'))")
    sql = "SELECT id FROM t WHERE lb_extract(d, '$.n') = 150"
    assert "INDEX by_n" in db.plan(sql) and db.run(sql) == [(50,)]
    db.run("ALTER TABLE t ADD COLUMN n AS (lb_extract(d, '$.n')) VIRTUAL")
    assert db.one("SELECT id FROM t WHERE n = 297") == 99


def test_innocuous(db):
    """Views of databases that are not trusted may use them; lb_read only statements."""
    db.run("PRAGMA trusted_schema = OFF")
    db.run("CREATE TABLE t (d BLOB)")
    db.run("INSERT INTO t VALUES (lb('{\"a\":1}'))")
    db.run("CREATE VIEW v AS SELECT lb_extract(d, '$.a') AS a, e.value FROM t, lb_each(d) e")
    assert db.run("SELECT * FROM v") == [(1, 1)]
    db.run("CREATE VIEW w AS SELECT lb_read('main', 't', 'd', 1, '$.a') FROM t")
    assert "unsafe use" in db.error("SELECT * FROM w")


def test_read(open_database):
    db = open_database()
    db.run("CREATE TABLE t (id INTEGER PRIMARY KEY, d BLOB)")
    for n in range(20):
        text = json.dumps(
            {"n": n, "text": "x" * 50_000, "list": [{"k": i, "n": n} for i in range(500)]}
        )
        db.run("INSERT INTO t VALUES (?, lb(?))", n, text)
    for path in ("$.n", "$.list[499].n", "/list/3", "$.text", "$.none", "$"):
        same = "SELECT lb_read('main', 't', 'd', id, ?1) IS lb_extract(d, ?1) FROM t"
        assert db.run(same, path) == [(1,)] * 20
    db.run("INSERT INTO t VALUES (50, NULL), (51, x'00'), (52, 'text'), (53, 7)")
    assert db.one("SELECT lb_read('main', 't', 'd', 50, '$')") is None
    message = db.error("SELECT lb_read('main', 't', 'd', 51, '$.a')")
    assert message.startswith("lb_read: row 51: not a LiveBuf document")
    assert db.one("SELECT lb_read('main', 't', 'd', 51, '$.a', 'null')") is None
    assert "row 53" in db.error("SELECT lb_read('main', 't', 'd', 53, '$.a')")
    assert "no such rowid: 99" in db.error("SELECT lb_read('main', 't', 'd', 99, '$')")
    assert "no such table" in db.error("SELECT lb_read('main', 'u', 'd', 1, '$')")
    assert "no such column" in db.error("SELECT lb_read('main', 't', 'x', 1, '$')")
    assert "bad path" in db.error("SELECT lb_read('main', 't', 'd', 1, 'a')")
    assert "'null' or 'error'" in db.error("SELECT lb_read('main', 't', 'd', 1, '$', 'x')")
    # Damage far behind: the row and the offset.
    blob = bytearray(db.one("SELECT d FROM t WHERE id = 3"))
    for at in range(200, len(blob)):
        blob[at] ^= 0xFF
    db.run("UPDATE t SET d = ? WHERE id = 3", bytes(blob))
    message = db.error("SELECT lb_read('main', 't', 'd', 3, '$.list[7].n')")
    assert message.startswith("lb_read: row 3: ") and "at offset" in message
    assert "on the way to $.list[7].n" in message
    assert db.one("SELECT lb_read('main', 't', 'd', 3, '$.list[7].n', 'null')") is None


def test_read_of_tables_that_sqlite_opens_no_blobs_of(db):
    db.run("CREATE TABLE made (id INTEGER PRIMARY KEY, d BLOB, n AS (lb_extract(d, '$.n')))")
    db.run("CREATE TABLE keyed (k TEXT PRIMARY KEY, d BLOB) WITHOUT ROWID")
    db.run("CREATE VIEW seen AS SELECT id AS rowid, d FROM made")
    db.run("INSERT INTO made VALUES (1, lb('{\"n\": 5}'))")
    for table, why in [
        ("made", "table with generated columns"),
        ("keyed", "table without rowid"),
        ("seen", "view"),
    ]:
        assert db.error(f"SELECT lb_read('main', '{table}', 'd', 1, '$.n')") == (
            f"lb_read: row 1: cannot open {why}: {table}; SQLite reads no parts of its blobs, "
            "so use lb_extract(d, path)"
        )
    assert db.one("SELECT lb_extract(d, '$.n') FROM made WHERE id = 1") == 5


def test_damage_is_named(db):
    blob = bytearray(db.one("SELECT lb(?)", ADA))
    at = bytes(blob).index(b"Ada")
    blob[at] = 0xFF
    blob = bytes(blob)
    message = db.error("SELECT lb_extract(?, '$.name')", blob)
    assert message == f"lb_extract: text is not UTF-8 at offset {at}, on the way to $.name"
    assert db.one("SELECT lb_extract(?, '$.car.id')", blob) == 7
    assert db.one("SELECT lb_valid(?)", blob) == 0
    assert db.one("SELECT lb_error(?)", blob) == f"text is not UTF-8 at offset {at}"
    assert db.one("SELECT lb_extract(lb_try(?), '$.name')", blob) is None
    assert db.run("SELECT * FROM lb_each(lb_try(?))", blob) == []
    assert "on the way to $.name" in db.error("SELECT value FROM lb_each(?)", blob)
    assert "text is not UTF-8" in db.error("SELECT lb(?)", blob)


def test_room(db):
    doc = db.one("SELECT lb('{\"a\":1}')")
    roomy = db.one("SELECT lb_reserve(?, 1000)", doc)
    assert len(roomy) == len(doc) + 1000 and roomy.startswith(doc)
    assert db.one("SELECT lb_reserve(?, 500)", roomy) == roomy
    assert db.one("SELECT lb_valid(?)", roomy) == 1
    # Edits stay within.
    edited = db.one("SELECT lb_set(?, '$.b', ?, '$.c[0]', 5)", roomy, "text " * 20)
    assert len(edited) == len(roomy)
    assert json.loads(db.one("SELECT lb_json(?)", edited)) == {"a": 1, "b": "text " * 20, "c": [5]}
    for sql in ("lb_remove(?, '$.a')", "lb_merge_patch(?, '{\"x\":[1,2,3]}')"):
        assert len(db.one(f"SELECT {sql}", roomy)) == len(roomy)
    # Until they do not fit.
    grown = db.one("SELECT lb_set(?, '$.b', ?)", roomy, "y" * 5000)
    assert len(grown) > 5000 and db.one("SELECT lb_extract(?, '$.b')", grown) == "y" * 5000
    assert len(db.one("SELECT lb_compact(?)", edited)) < 300


def wal_pages(db):
    """Pages that the write-ahead log holds, all of them since it was emptied."""
    return db.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)[0]


def test_an_update_writes_few_pages(open_database):
    db = open_database()
    db.run("PRAGMA journal_mode = wal")
    db.run("PRAGMA wal_autocheckpoint = 0")
    db.run("CREATE TABLE t (id INTEGER PRIMARY KEY, d BLOB, n INTEGER)")
    rows = [{"id": n, "name": f"name {n}", "text": "x" * (n % 200)} for n in range(3000)]
    text = json.dumps({"rows": rows, "count": 5})
    for n in range(5):
        db.run("INSERT INTO t VALUES (?, lb_reserve(lb(?), 4096), 0)", n, text)
    assert db.one("SELECT length(d) FROM t WHERE id = 1") > 50_000
    for path, value in (("$.count", 6), ("$.rows[1500].id", 7), ("$.new", 8)):
        db.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        db.run("UPDATE t SET d = lb_set(d, ?, ?) WHERE id = 3", path, value)
        assert 1 <= wal_pages(db) <= 4, path
        assert db.one("SELECT lb_extract(d, ?) FROM t WHERE id = 3", path) == value
    assert db.one("SELECT lb_valid(d) FROM t WHERE id = 3") == 1


def test_utf16_databases(db):
    db.run("PRAGMA encoding = 'UTF-16le'")
    db.run("CREATE TABLE t (d BLOB, p TEXT)")
    db.run("INSERT INTO t VALUES (lb('{\"ä\":\"ö\"}'), '$.ä')")
    assert db.one("SELECT lb_extract(d, p) FROM t") == "ö"
    assert db.run("SELECT key, value FROM t, lb_each(d)") == [("ä", "ö")]
