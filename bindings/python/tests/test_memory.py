"""Out of memory is `MemoryError`, never the end of the interpreter.

Each call runs in a child of a process that has made what it needs. The child's address space is
limited: less and less, until the call succeeds no more, and some way below that.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space")

# What is prepared, and the call. All calls need some megabytes.
CALLS = {
    "dumps": ("o = [n * 1.5 for n in range(300_000)]", "livebuf.dumps(o)"),
    "dumps of rows": ("o = rows(40_000)", "livebuf.dumps(o)"),
    "dumps of objects": (
        "o = [{f'k{n % 97}': n, 'a': 'é' * (n % 60)} for n in range(30_000)]",
        "livebuf.dumps(o, tables=False)",
    ),
    "dumps sorted": ("o = rows(20_000)", "livebuf.dumps(o, sort_keys=True)"),
    "dumps of texts": ("o = [str(n) * 200 for n in range(5_000)]", "livebuf.dumps(o)"),
    "dumps of keys": ("o = {f'key {n}': n for n in range(100_000)}", "livebuf.dumps(o)"),
    "loads": ("o = livebuf.dumps(rows(20_000))", "livebuf.loads(o)"),
    "from_json": ("o = json.dumps(rows(20_000))", "livebuf.from_json(o)"),
    "from_json of numbers": ("o = json.dumps(list(range(400_000)))", "livebuf.from_json(o)"),
    "from_json of lines": (
        "o = '\\n'.join(json.dumps(row) for row in rows(20_000))",
        "livebuf.from_json(o, lines=True)",
    ),
    "to_json": ("d = document(rows(40_000))", "livebuf.to_json(d)"),
    "to_json of keys": ("d = document([{'k' * 200: True}] * 20_000)", "livebuf.to_json(d)"),
    "to_json indented": ("d = document(rows(20_000))", "livebuf.to_json(d, indent=8)"),
    "to_json sorted": ("d = document(rows(20_000))", "livebuf.to_json(d, sort_keys=True)"),
    "to_json of plain": ("o = rows(20_000)", "livebuf.to_json(o)"),
    "to_python": ("d = document(rows(20_000))", "d.to_python()"),
    "arrow": ("d = document(rows(40_000))", "livebuf.from_arrow(d.root.table)"),
    "arrow, narrow": (
        "d = document(rows(40_000))",
        "livebuf.from_arrow(d.root.table.with_options(narrow=True, text='view'))",
    ),
    "arrow, copied": (
        "d = document(rows(40_000))",
        "livebuf.from_arrow(d.root.table.with_options(copy=True, text='large'))",
    ),
    "arrow of cells": (
        "d = document([{'a': n if n % 3 else str(n), 'b': [n]} for n in range(40_000)])",
        "livebuf.from_arrow(d.root.table)",
    ),
    "diff": (
        "a, b = (document([{'a': n * k} for n in range(20_000)]) for k in (1, 2))",
        "livebuf.diff(a, b)",
    ),
    "diff of arrays": (
        "a, b = (document([n * n % k for n in range(20_000)]) for k in (997, 1009))",
        "livebuf.diff(a, b)",
    ),
    "diff of objects": (
        "a, b = ({f'{n} {k}' if n % 9 == 0 else str(n): [n * k]"
        " for n in range(40_000)} for k in (1, 2))",
        "livebuf.diff(a, b)",
    ),
    "merge_diff": (
        "a, b = ({f'k{n}': n * k for n in range(60_000)} for k in (1, 2))",
        "livebuf.merge_diff(a, b)",
    ),
    "patch": (
        "d = document({'a': []}); p = livebuf.Patch("
        "[{'op': 'add', 'path': '/a/-', 'value': {'n': n}} for n in range(20_000)])",
        "d.patch(p)",
    ),
    "patch of text": (
        "d = document({'a': []}); p = json.dumps("
        "[{'op': 'add', 'path': '/a/-', 'value': n} for n in range(20_000)])",
        "d.patch(p)",
    ),
    "merge": ("d = document({}); o = {f'k{n}': [n] for n in range(40_000)}", "d.merge(o)"),
    "validate": ("o = livebuf.dumps(rows(60_000))", "livebuf.Document(o).validate()"),
    "copy": ("d = document(rows(60_000))", "d.copy()"),
    "copy of a view": ("d = document({'rows': rows(60_000)})", "d['rows'].copy()"),
    "compact": ("d = document(rows(30_000))", "d.compact()"),
    "digest": ("d = document({f'k{n}': n for n in range(90_000)})", "d.digest()"),
    "stats": ("d = document(rows(30_000))", "d.stats()"),
    "extend": ("d = document([0]); o = rows(20_000)", "d.root.extend(o)"),
    "append": ("d = document([])", "[d.root.append('x' * 100) for _ in range(60_000)]"),
    "update": ("d = document({})", "d.root.update({f'k{n}': n for n in range(40_000)})"),
    "transaction": (
        "d = document(list(range(300_000)))",
        "with d.transaction() as t:\n  d.root.reverse()\n  t.rollback()",
    ),
    "recording": (
        "d = document(list(range(300_000))); d.set_state()",
        "with d.recording(delta=True, old=True) as r:\n"
        "  for n in range(0, 300_000, 9): d.root[n] = 7\nbytes(r.delta)",
    ),
    "history": (
        "d = document(list(range(300_000))); h = d.history()",
        "with h.step():\n  for n in range(0, 300_000, 9): d.root[n] = 7\nh.undo()",
    ),
    "column": ("d = document(rows(60_000))", "d.root.table.column('name').to_python()"),
    "column by value": ("d = document(rows(90_000))", "d.root.table.column('id').filter(0, 1e9)"),
    "query": ("d = document(rows(40_000))", "d.query('$[*].name').to_python()"),
    "matches": ("d = document(rows(40_000))", "list(d.query('$..*'))"),
    "matches counted": ("d = document(rows(40_000))", "len(d.query('$..*'))"),
    "matches in lists": (
        "d = document([[[[[[n]]]]] for n in range(20_000)])",
        "len(d.query('$..*'))",
    ),
    "set_all": ("d = document(rows(40_000))", "d.set_all('$[*].x', 'text of a field')"),
    "remove_all": ("d = document(rows(40_000))", "d.remove_all('$[*].x')"),
    "update_all": ("d = document(rows(40_000))", "d.update_all('$[*].id', lambda n: n + 1)"),
    "decode": (
        "d = document(rows(20_000)); t = livebuf.Decoder(list[dict[str, object]])",
        "t.decode(d)",
    ),
    "log": (
        "import tempfile; o = rows(20_000)\npath = tempfile.mkdtemp() + '/a.lblog'",
        "with livebuf.Log(path, 'w') as log: log.extend(o)",
    ),
    "partial": (
        "import io; o = io.BytesIO(livebuf.dumps(['x' * 1000] * 5_000))",
        "livebuf.Partial(o).read(lambda d: d.to_python())",
    ),
    # A header that claims 4 GiB, and a source that has them.
    "partial of little": (
        "import io, struct, tempfile\n"
        "b = bytearray(livebuf.dumps({'a': 1})); b[20:24] = struct.pack('<I', 0xFFFFFFF8)\n"
        "path = tempfile.mktemp(); open(path, 'wb').write(b); os.truncate(path, 0xFFFFFFF8)\n"
        "atexit.register(os.unlink, path)",
        "livebuf.Partial(path).pointer('/a')",
    ),
}

PREPARED = """
import atexit, json, os, resource, sys
import livebuf

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

def rows(count):
    return [{"id": n, "name": f"name of {n}", "x": n / 4, "ok": n % 3 == 0} for n in range(count)]

def document(value):
    return livebuf.Document.from_python(value)

def taken():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()

def attempt(work, limit):
    # What the call did: 0 it succeeded, 1 it raised MemoryError, 2 something else.
    child = os.fork()
    if child == 0:
        end = 2
        try:
            resource.setrlimit(resource.RLIMIT_AS, (taken() + limit,) * 2)
            exec(work, globals())
            end = 0
        except MemoryError:
            end = 1
        except BaseException as error:
            end = 2
            os.write(2, f"{type(error).__name__}: {error}\\n".encode()[:500])
        finally:
            os._exit(end)
    status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status)

def main(prepare, work):
    exec(prepare, globals())
    work = compile(work, "work", "exec")
    limit, failures, ends = 1 << 26, 0, []
    while limit > 20_000 and failures < 6:
        end = attempt(work, limit)
        ends.append((limit, end))
        if end not in (0, 1):
            sys.exit(f"{end} with {limit} bytes; before: {ends[-4:]}")
        failures += end
        limit = int(limit * 0.75)
    print(ends)
    if not failures:
        sys.exit("it never ran out of memory")

main(*sys.argv[1:])
"""


@pytest.mark.parametrize("name", CALLS)
def test_out_of_memory_is_an_exception(name: str) -> None:
    """Bug: `dumps`, `to_json`, Arrow, `diff` and `Partial` ended the interpreter."""
    # No warm memory that a call could use without asking the system for it.
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", PREPARED, *CALLS[name]],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
