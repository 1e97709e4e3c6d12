"""Random documents and paths beside SQLite's own JSON functions.

Differences that docs/sqlite.md states are left out here: numbers beyond i64, keys that occur
twice, and the ids of rows. Floats are compared as numbers.
"""

import json
import random

import apsw

KEYS = ["a", "b", "c d", "", "é", 'q"t', "x.y", "[0]", "back\\slash", "long key " * 3, "A9", "_u"]


def value(rng, depth):
    kind = rng.randrange(9 if depth else 6)
    if kind < 6:
        return rng.choice(
            [
                None,
                True,
                False,
                0,
                -5,
                rng.randrange(-(2**63), 2**63),
                1.5,
                -2.25e-3,
                "",
                "text",
                "ü",
            ]
        )
    if kind == 6:
        return [value(rng, depth - 1) for _ in range(rng.randrange(5))]
    if kind == 7:
        keys = rng.sample(KEYS, rng.randrange(1, 4))
        return [{key: value(rng, depth - 1) for key in keys} for _ in range(rng.randrange(8))]
    return {key: value(rng, depth - 1) for key in rng.sample(KEYS, rng.randrange(6))}


def key_step(rng, key):
    plain = key and not set(key) & set('."[\\')
    return "." + key if plain and rng.random() < 0.5 else "." + json.dumps(key, ensure_ascii=False)


def path(rng, at):
    """A path that leads somewhere, or nearly."""
    text = "$"
    for _ in range(rng.randrange(5)):
        if isinstance(at, dict) and at and rng.random() < 0.8:
            key = rng.choice(list(at))
            text, at = text + key_step(rng, key), at[key]
        elif isinstance(at, list) and at and rng.random() < 0.8:
            index = rng.randrange(len(at))
            step = f"[{index}]" if rng.random() < 0.7 else f"[#-{len(at) - index}]"
            text, at = text + step, at[index]
        elif rng.random() < 0.5:
            text, at = text + key_step(rng, rng.choice(KEYS)), None
        else:
            text, at = text + rng.choice(["[0]", "[1]", "[7]", "[#]", "[#-1]", "[#-9]"]), None
    return text


def parsed(text):
    return text if text is None else json.loads(text)


def same(ours, theirs):
    """Text of JSON may differ in how it writes floats."""
    if ours == theirs:
        return True
    return isinstance(ours, str) and parsed(ours) == parsed(theirs)


def test_reading(db):
    rng = random.Random(1)
    for _ in range(1500):
        doc = value(rng, 4)
        text = json.dumps(doc, ensure_ascii=False)
        blob = db.one("SELECT lb(?)", text)
        assert db.one("SELECT lb_valid(?)", blob) == 1
        assert parsed(db.one("SELECT lb_json(?)", blob)) == doc
        for _ in range(4):
            where = path(rng, doc)
            for ours, theirs in [
                ("lb_extract(?1, ?3)", "?2 ->> ?3"),
                ("lb_type(?1, ?3)", "json_type(?2, ?3)"),
                ("lb_array_length(?1, ?3)", "json_array_length(?2, ?3)"),
                ("lb_json(?1, ?3)", "?2 -> ?3"),
                ("lb_extract(?1, ?3, '$')", "json_extract(?2, ?3, '$')"),
            ]:
                ((found, expected),) = db.run(f"SELECT {ours}, {theirs}", blob, text, where)
                assert same(found, expected), (ours, text, where, found, expected)
                assert type(found) is type(expected)


def test_editing(db):
    rng = random.Random(2)
    for _ in range(3000):
        doc = value(rng, 3)
        text = json.dumps(doc, ensure_ascii=False)
        room = rng.choice([0, 64, 4096])
        blob = db.one("SELECT lb_reserve(lb(?), ?)", text, room)
        first, second = path(rng, doc), path(rng, doc)
        new = rng.choice([None, 1, 2.5, "new", "text that is longer than a cell"])
        for name in ("set", "insert", "replace"):
            sql = f"SELECT lb_{name}(?1, ?3, ?5, ?4, json('[1,{{\"k\":2}}]'))"
            edited = db.one(sql, blob, text, first, second, new)
            sql = f"SELECT json_{name}(?2, ?3, ?5, ?4, json('[1,{{\"k\":2}}]')), ?1 IS NULL"
            ((expected, _),) = db.run(sql, blob, text, first, second, new)
            found = db.one("SELECT lb_json(?)", edited)
            assert parsed(found) == parsed(expected), (name, text, first, second, found, expected)
            assert db.one("SELECT lb_valid(?)", edited) == 1
            assert len(edited) >= len(blob)
        edited = db.one("SELECT lb_remove(?, ?, ?)", blob, first, second)
        expected = db.one("SELECT json_remove(?, ?, ?)", text, first, second)
        found = db.one("SELECT lb_json(?)", edited)
        assert parsed(found) == parsed(expected), ("remove", text, first, second)
        assert edited is None or len(edited) == len(blob) or room < 4096


def test_long_runs_of_edits(db):
    """One document, edited again and again, stays what SQLite makes of its text."""
    rng = random.Random(3)
    for _ in range(20):
        text = json.dumps({"a": [{"b": n, "c d": str(n)} for n in range(20)], "b": {}})
        blob = db.one("SELECT lb_reserve(lb(?), 2000)", text)
        for _ in range(100):
            where = path(rng, json.loads(text))
            name = rng.choice(["set", "insert", "replace", "remove"])
            if name == "remove":
                if where == "$":
                    continue
                arguments = (where,)
            else:
                arguments = (where, rng.choice([1, "t", None, "x" * rng.randrange(300)]))
                if where == "$":
                    continue
            holes = ", ?" * len(arguments)
            blob = db.one(f"SELECT lb_{name}(?{holes})", blob, *arguments)
            text = db.one(f"SELECT json_{name}(?{holes})", text, *arguments)
            assert parsed(db.one("SELECT lb_json(?)", blob)) == json.loads(text), (name, arguments)
        assert db.one("SELECT lb_valid(?)", blob) == 1


def test_merge_patches(db):
    rng = random.Random(4)
    sql = "SELECT lb_json(lb_merge_patch(lb(?1), ?2)), lb_json(lb_merge_patch(lb(?1), lb(?2)))"
    for _ in range(2000):
        doc, patch = value(rng, 3), value(rng, 3)
        texts = json.dumps(doc), json.dumps(patch)
        ((found, by_document),) = db.run(sql, *texts)
        assert found == by_document
        assert parsed(found) == merged(doc, patch), texts
        assert parsed(db.one("SELECT json_patch(?, ?)", *texts)) == merged(doc, patch), texts


def merged(target, patch):
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for key, new in patch.items():
        if new is None:
            target.pop(key, None)
        else:
            target[key] = merged(target.get(key), new)
    return target


def test_each_and_tree(db):
    rng = random.Random(5)
    for _ in range(1500):
        doc = value(rng, 4)
        text = json.dumps(doc, ensure_ascii=False)
        blob = db.one("SELECT lb(?)", text)
        for name in ("each", "tree"):
            columns = "key, value, type, atom, fullkey, path"
            ours = db.run(f"SELECT {columns} FROM lb_{name}(?)", blob)
            theirs = db.run(f"SELECT {columns} FROM json_{name}(?)", text)
            assert len(ours) == len(theirs)
            for found, expected in zip(ours, theirs, strict=True):
                assert found[0] == expected[0] and found[2:] == expected[2:], (found, expected)
                assert same(found[1], expected[1]), (found, expected)
            # Below a path: the same rows. Places are the resolved ones, and SQLite's as written.
            where = path(rng, doc)
            ours = db.run(f"SELECT value, type, atom FROM lb_{name}(?, ?)", blob, where)
            theirs = db.run(f"SELECT value, type, atom FROM json_{name}(?, ?)", text, where)
            assert len(ours) == len(theirs), (text, where)
            for found, expected in zip(ours, theirs, strict=True):
                assert found[1:] == expected[1:] and same(found[0], expected[0])
        # Ids lead from a row to that of its container; fullkeys lead lb_extract to the value.
        tree = db.run("SELECT id, parent, fullkey, path, value FROM lb_tree(?)", blob)
        places = {row[0]: row[2] for row in tree}
        assert len(places) == len(tree)
        for _, parent, fullkey, container, found in tree:
            assert parent is None or places[parent] == container
            assert db.one("SELECT lb_extract(?, ?)", blob, fullkey) == found


def test_queries_find_what_paths_do(db):
    """`$..*` finds what a tree shows, and places lead back to the values."""
    rng = random.Random(6)
    for _ in range(500):
        blob = db.one("SELECT lb(?)", json.dumps(value(rng, 4)))
        found = db.run("SELECT fullkey, value, type FROM lb_query(?, '$..*')", blob)
        tree = db.run("SELECT fullkey, value, type FROM lb_tree(?) WHERE parent IS NOT NULL", blob)
        assert sorted(map(repr, found)) == sorted(map(repr, tree))


def test_aggregates(db):
    rng = random.Random(7)
    db.run("CREATE TABLE t (k TEXT, v, j TEXT)")
    for _ in range(200):
        db.run("DELETE FROM t")
        keys = rng.sample([f"k{n}" for n in range(30)], rng.randrange(8))
        for key in keys:
            text = json.dumps(value(rng, 2))
            db.run("INSERT INTO t VALUES (?, ?, ?)", key, rng.choice([1, None, 2.5, "t"]), text)
        for ours, theirs in [
            ("lb_group_array(v)", "json_group_array(v)"),
            ("lb_group_object(k, v)", "json_group_object(k, v)"),
            ("lb_group_array(lb(j))", "json_group_array(json(j))"),
            ("lb_group_array(json(j))", "json_group_array(json(j))"),
            ("lb_group_object(k, lb(j))", "json_group_object(k, json(j))"),
        ]:
            ((found, expected),) = db.run(f"SELECT lb_json({ours}), {theirs} FROM t")
            assert parsed(found) == parsed(expected), ours


def test_reading_by_parts(open_database):
    """lb_read answers what lb_extract does, also of documents of many pages."""
    db = open_database()
    rng = random.Random(8)
    db.run("CREATE TABLE t (id INTEGER PRIMARY KEY, d BLOB)")
    for n in range(100):
        doc = [value(rng, 4) for _ in range(rng.choice([1, 30, 300]))]
        db.run("INSERT OR REPLACE INTO t VALUES (?, lb(?))", n, json.dumps(doc))
        for _ in range(20):
            where = path(rng, doc)
            sql = "SELECT lb_read('main', 't', 'd', id, ?2), lb_extract(d, ?2) FROM t WHERE id = ?1"
            ((found, expected),) = db.run(sql, n, where)
            assert found == expected, (n, where)


def test_sqlite_is_the_one_that_was_tried():
    """Older ones take no escapes in quoted keys of paths, and have other small differences."""
    assert tuple(map(int, apsw.sqlite_lib_version().split("."))) >= (3, 45, 0)
