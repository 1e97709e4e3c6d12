"""Damaged documents: every function answers a value or an error, and the process lives.

The work is done in processes of their own, whose end would be seen.
"""

import multiprocessing
import os
import random

import apsw
from conftest import Database

CALLS = [
    "SELECT lb_json(?1)",
    "SELECT lb_json(?1, '$.rows')",
    "SELECT lb_extract(?1, '$.rows[7].name')",
    "SELECT lb_extract(?1, '/map/k5', '$.head', '$')",
    "SELECT lb_type(?1, '$.rows[3]')",
    "SELECT lb_array_length(?1, '$.rows')",
    "SELECT lb_valid(?1), lb_error(?1)",
    "SELECT lb_extract(lb_try(?1), '$')",
    "SELECT lb(?1)",
    "SELECT lb_json(lb_set(?1, '$.rows[2].name', 'other', '$.new.a[0]', 5, '$.map.k7', ?1))",
    "SELECT lb_json(lb_set(lb('{}'), '$.copy', ?1))",
    "SELECT lb_json(lb_insert(?1, '$.rows[#]', lb('{\"id\":1}')))",
    "SELECT lb_json(lb_replace(?1, '$.head.a', 'x'))",
    "SELECT lb_json(lb_remove(?1, '$.rows[1]', '$.map.k3', '$.text'))",
    'SELECT lb_json(lb_merge_patch(?1, \'{"head":{"a":null},"map":{"k2":5}}\'))',
    "SELECT lb_json(lb_merge_patch(lb('{}'), ?1))",
    'SELECT lb_apply_patch(?1, \'[{"op":"move","from":"/rows/0","path":"/head/r"}]\')',
    "SELECT lb_apply_patch(lb('{}'), ?1)",
    "SELECT lb_json(lb_compact(?1)), lb_json(lb_reserve(?1, 100))",
    "SELECT *, id, parent FROM lb_each(?1)",
    "SELECT *, id, parent FROM lb_each(?1, '$.rows')",
    "SELECT lb_extract(element, '$.name'), element FROM lb_each(?1, '$.rows')",
    "SELECT * FROM lb_tree(?1)",
    "SELECT * FROM lb_query(?1, '$..[?@.id > 3]')",
    "SELECT * FROM lb_query(?1, '$.rows[?match(@.name, \"n.*\")].name')",
    "SELECT lb_json(lb_group_array(?1)), lb_json(lb_group_object('k', ?1))",
    "SELECT lb_read('main', 't', 'd', 1, '$.rows[7].name')",
    "SELECT lb_read('main', 't', 'd', 1, '$', 'null')",
]

SAMPLE = """SELECT lb_set(lb_reserve(lb(json_object(
    'head', json('{"a":1,"b":[true,null,2.5,18446744073709551615,1e400]}'),
    'text', hex(zeroblob(3000)),
    'rows', (SELECT json_group_array(json_object('id', value, 'name', 'n' || (value % 7),
        'tags', json_array(value, 'x'))) FROM generated),
    'map', (SELECT json_group_object('k' || value, value * 3) FROM generated)
    )), 100), '$.bytes', x'0102')
    FROM (WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99) SELECT 1)"""


def sample(db):
    db.run("CREATE TEMP TABLE generated (value)")
    for n in range(100):
        db.run("INSERT INTO generated VALUES (?)", n)
    return db.one(SAMPLE)


def attack(seed, steps, answers):
    rng = random.Random(seed)
    db = Database()
    good = sample(db)
    db.run("CREATE TABLE t (id INTEGER PRIMARY KEY, d BLOB)")
    values = errors = 0
    for _ in range(steps):
        blob = bytearray(good)
        kind = rng.randrange(5)
        if kind == 0:
            del blob[rng.randrange(len(blob)) :]
        elif kind == 1:
            blob[:] = blob[:8] + rng.randbytes(rng.randrange(400))
        else:
            for _ in range(rng.choice([1, 1, 2, 8])):
                # The blocks' heads lie at the end: most damage goes there.
                low = rng.choice([0, 0, len(blob) - 600])
                blob[rng.randrange(low, len(blob))] = rng.choice([0, 1, 0xFF, rng.randrange(256)])
        blob = bytes(blob)
        db.run("INSERT OR REPLACE INTO t VALUES (1, ?)", blob)
        for call in CALLS:
            try:
                db.run(call, blob) if "?1" in call else db.run(call)
                values += 1
            except (apsw.Error, MemoryError) as error:
                assert "a fault of the extension" not in str(error), (call, blob.hex())
                assert "panic" not in str(error).lower(), (call, blob.hex())
                errors += 1
    answers.put((values, errors))


def test_damaged_documents():
    spawn = multiprocessing.get_context("spawn")
    answers = spawn.Queue()
    steps = int(os.environ.get("LIVEBUF_STEPS", 250))
    workers = [spawn.Process(target=attack, args=(seed, steps, answers)) for seed in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(600)
        assert worker.exitcode == 0
    for _ in workers:
        values, errors = answers.get(timeout=10)
        # Both happen, so the damage is neither trivial nor always the same.
        assert values > steps and errors > steps


def test_every_byte_of_a_small_document(db):
    good = db.one('SELECT lb(\'{"a":[{"b":1},{"b":2},{"b":3}],"c":"text"}\')')
    for at in range(len(good)):
        for change in (0x01, 0x80, 0xFF):
            blob = bytearray(good)
            blob[at] ^= change
            for call in (
                "SELECT lb_json(?)",
                "SELECT * FROM lb_tree(?)",
                "SELECT lb_set(?, '$.a[1].b', 9)",
            ):
                try:
                    db.run(call, bytes(blob))
                except apsw.Error as error:
                    assert "fault of the extension" not in str(error)


def test_documents_that_alias(db):
    """One array within itself: the walk ends by its budget."""
    good = bytearray(db.one("SELECT lb('[[1],[2],[3]]')"))
    ends = 0
    for at in range(32, len(good), 8):
        for other in range(32, len(good), 8):
            blob = bytearray(good)
            blob[at : at + 8] = good[other : other + 8]
            try:
                db.run("SELECT count(*) FROM lb_tree(?)", bytes(blob))
                db.run("SELECT length(lb_json(?))", bytes(blob))
                db.run("SELECT count(*) FROM lb_query(?, '$..*')", bytes(blob))
            except apsw.Error:
                ends += 1
    assert ends > 0
