"""Older versions of SQLite. Each is loaded in a process of its own, whose end would be seen."""

import ast
import ctypes.util
import shutil
import subprocess
import sys

import pytest
from conftest import EXTENSION

# A SQLite that has no functions but these two: all others are one that answers 0. Its table ends
# where one of the version ends, and no byte behind it can be read. `argv`: the extension, the
# version, the number of functions in the table, the indices of those that are left out.
FAKE = """
import ctypes, mmap, sys
extension, version, count, *missing = sys.argv[1], *map(int, sys.argv[2:])
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
page = mmap.PAGESIZE
start = libc.mmap(None, 2 * page, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
assert libc.mprotect(start + page, page, 0) == 0
libc.malloc.restype = ctypes.c_void_p
nothing = ctypes.CFUNCTYPE(ctypes.c_long)(lambda: 0)
number = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: version)
malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int)(lambda size: libc.malloc(size))
table = (ctypes.c_void_p * count).from_address(start + page - 8 * count)
for index in range(count):
    function = {67: number, 68: malloc}.get(index, nothing)
    table[index] = None if index in missing else ctypes.cast(function, ctypes.c_void_p).value
message = ctypes.c_char_p()
entry = ctypes.CDLL(extension).sqlite3_extension_init
entry.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_void_p]
database = ctypes.create_string_buffer(4096)
print((entry(database, ctypes.byref(message), ctypes.addressof(table)), message.value))
"""

# How many functions the tables of these versions have, and the indices of some: by sqlite3ext.h.
V3_9, V3_30, V3_31, V3_40, V3_45 = 210, 244, 249, 266, 270
CREATE_MODULE_V2, BLOB_OPEN, MALLOC = 119, 123, 68

# The system's library, loaded by ctypes. `argv`: the extension, the library; then statements of
# one text. Prints their answers.
SYSTEM = """
import ctypes, sys
extension, library, *statements = sys.argv[1:]
sqlite = ctypes.CDLL(library)
pointer, text = ctypes.c_void_p, ctypes.c_char_p
sqlite.sqlite3_errmsg.restype = sqlite.sqlite3_column_text.restype = text
sqlite.sqlite3_errmsg.argtypes = sqlite.sqlite3_step.argtypes = [pointer]
sqlite.sqlite3_column_text.argtypes = [pointer, ctypes.c_int]
sqlite.sqlite3_enable_load_extension.argtypes = [pointer, ctypes.c_int]
sqlite.sqlite3_load_extension.argtypes = [pointer, text, text, ctypes.POINTER(text)]
sqlite.sqlite3_prepare_v2.argtypes = [pointer, text, ctypes.c_int, ctypes.POINTER(pointer), pointer]
db, message = pointer(), text()
assert sqlite.sqlite3_open(b":memory:", ctypes.byref(db)) == 0
sqlite.sqlite3_enable_load_extension(db, 1)
loaded = sqlite.sqlite3_load_extension(db, extension.encode(), None, ctypes.byref(message))
print([loaded, message.value])
for sql in statements:
    statement, rows = pointer(), []
    if sqlite.sqlite3_prepare_v2(db, sql.encode(), -1, ctypes.byref(statement), None):
        rows.append(sqlite.sqlite3_errmsg(db))
    while (step := sqlite.sqlite3_step(statement)) == 100:
        rows.append(sqlite.sqlite3_column_text(statement, 0))
    if step != 101:
        rows.append(sqlite.sqlite3_errmsg(db))
    print(rows)
"""

STATEMENTS = {
    "SELECT lb_json(lb_set(lb('{\"a\": [1]}'), '$.a[#]', 2, '$.b', 'x'))": b'{"a":[1,2],"b":"x"}',
    "SELECT json_array(lb_json(lb('[1]')), json('[2]'))": b"[[1],[2]]",
    "SELECT lb_json(lb_set(lb('{}'), '$.a', json('[1]')))": b'{"a":[1]}',
    "SELECT group_concat(fullkey) FROM lb_tree(lb('{\"a\": [1]}'))": b"$,$.a,$.a[0]",
    "SELECT value FROM lb_query(lb('[{\"n\": 1}, {\"n\": 5}]'), '$[?@.n > 2].n')": b"5",
    "SELECT lb_json(lb_group_array(value)) FROM json_each('[1, 2]')": b"[1,2]",
    "CREATE TABLE t (doc, name AS (lb_extract(doc, '$.name')))": None,
    "CREATE INDEX by_id ON t (lb_extract(doc, '$.id'))": None,
    "CREATE VIEW v AS SELECT lb_type(doc) kind FROM t": None,
    'INSERT INTO t VALUES (lb(\'{"name": "Ada", "id": 7}\'))': None,
    "SELECT name FROM t WHERE lb_extract(doc, '$.id') = 7": b"Ada",
    "SELECT kind FROM v": b"object",
    "CREATE TABLE u AS SELECT doc FROM t": None,
    "SELECT lb_read('main', 'u', 'doc', 1, '$.name')": b"Ada",
    "SELECT lb_extract(x'00', '$')": (
        b"lb_extract: not a LiveBuf document: it does not begin as one does "
        b"(JSON must be converted first)"
    ),
}


def python(program, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "panicked" not in done.stderr
    return done.stdout


def fake(version, count, *missing):
    code, message = ast.literal_eval(python(FAKE, EXTENSION, version, count, *missing))
    return code, (message or b"").decode()


# An error used to be told through a function that was not looked up yet, which ended the process.
def test_an_older_version_is_refused_with_both_versions():
    for version, name, count in [(3_030_001, "3.30.1", V3_30), (3_009_002, "3.9.2", V3_9)]:
        assert fake(version, count) == (
            1,
            f"LiveBuf needs SQLite 3.31.0 or newer, and this is {name}",
        )


# Functions that were added since are not looked for where the table has ended.
@pytest.mark.parametrize(
    ("version", "count"),
    [(3_031_000, V3_31), (3_040_001, V3_40), (3_045_003, V3_45), (3_054_001, 280)],
)
def test_the_table_of_each_version_suffices(version, count):
    assert fake(version, count) == (0, "")


def test_functions_that_a_build_leaves_out_are_named():
    for index, name in [(BLOB_OPEN, "blob_open"), (CREATE_MODULE_V2, "create_module_v2")]:
        assert fake(3_040_001, V3_40, index) == (
            1,
            f"LiveBuf needs sqlite3_{name}, which this SQLite was built without",
        )
    assert fake(3_030_001, V3_30, MALLOC) == (1, "")


def test_no_table_is_an_error():
    program = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).sqlite3_extension_init(0, 0, 0))"
    assert python(program, EXTENSION) == "1\n"


def test_the_systems_library():
    library = ctypes.util.find_library("sqlite3")
    if library is None:
        pytest.skip("no SQLite of the system")
    if not hasattr(ctypes.CDLL(library), "sqlite3_load_extension"):
        pytest.skip("the system's SQLite loads no extensions")
    answers = python(SYSTEM, EXTENSION, library, *STATEMENTS).splitlines()
    loaded, *answers = map(ast.literal_eval, answers)
    assert loaded == [0, None]
    wanted = [[] if answer is None else [answer] for answer in STATEMENTS.values()]
    assert answers == wanted


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="no sqlite3 of the system")
def test_the_systems_shell():
    done = subprocess.run(
        ["sqlite3", ":memory:", f".load {EXTENSION}", "SELECT lb_json(lb('[1]'))"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1]\n", "")


# rusqlite keeps the functions of one SQLite for the process. Another one's connections would be
# given to them.
def test_a_second_sqlite_in_the_process_is_refused():
    library = ctypes.util.find_library("sqlite3")
    if library is None:
        pytest.skip("no SQLite of the system")
    program = (
        "import apsw, sys; first = apsw.Connection(':memory:'); first.enable_load_extension(True);"
        "first.load_extension(sys.argv[1])\n" + SYSTEM
    )
    loaded, answer = python(program, EXTENSION, library, "SELECT lb('1')").splitlines()
    assert ast.literal_eval(loaded) == [
        1,
        b"error during initialization: another SQLite of this process has loaded LiveBuf: "
        b"one at a time can use it",
    ]
    assert ast.literal_eval(answer)[0] == b"no such function: lb"
