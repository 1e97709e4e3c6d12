"""LiveBuf in DuckDB beside JSON text, Parquet and JSON lines: answers are compared, then printed.

    cargo build --release -p livebuf-duckdb
    .venv/bin/python bindings/duckdb/bench.py ../shared/data/twitter.json

Times are the best of several runs; ratios are within one run. A file is opened anew by each query.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import livebuf
from package import package
from tabulate import tabulate

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings/sql"))

from small import small  # noqa: E402

# A getter, a path of twitter.json, and what DuckDB's functions of JSON take for it.
VALUES = [
    ("lb_get_string", "$.statuses[50].user.screen_name", "j ->> {}"),
    ("lb_get_bigint", "$.statuses[99].id", "json_extract(j, {})::BIGINT"),
    ("lb_get_bigint", "$.row", "json_extract(j, {})::BIGINT"),
]
SMALL = [
    ("lb_get_bigint", "$.id", "json_extract(j, {})::BIGINT"),
    ("lb_get_double", "$.at.x", "json_extract(j, {})::DOUBLE"),
    ("lb_get_string", "$.note", "j ->> {}"),
]
# Queries over a million rows.
QUERIES = {
    "sum of a column": "SELECT sum(x) FROM {}",
    "sum by 4 texts": "SELECT kind, sum(x) FROM {} GROUP BY kind ORDER BY kind",
    "one row of two columns, by id": "SELECT id, name FROM {} WHERE id = 777777",
    "all columns": "SELECT min(id), max(name), max(kind), sum(x), count(ok), max(pos.p) FROM {}",
    "count": "SELECT count(*) FROM {}",
}


def best(db, sql, runs):
    """The answer, and the least seconds."""
    least = float("inf")
    for _ in range(runs):
        begin = time.perf_counter()
        answer = db.execute(sql).fetchall()
        least = min(least, time.perf_counter() - begin)
    return answer, least


def show(title, rows, headers):
    print(f"\n{title}\n" + tabulate(rows, headers, floatfmt=".3g", tablefmt="github"))


def columns(db, title, text, rows, values, runs):
    """One value of each document in a column."""
    texts = "SELECT unnest($texts::VARCHAR[]) AS j"
    made = f"CREATE OR REPLACE TABLE t AS SELECT j::JSON AS j, lb_from_json(j) AS d FROM ({texts})"
    db.execute(made, {"texts": [text(n) for n in range(rows)]})
    sizes = db.execute("SELECT avg(strlen(j)), avg(octet_length(d)) FROM t").fetchone()
    found = []
    for getter, path, theirs in values:
        ours, theirs = f"{getter}(d, '{path}')", theirs.format(f"'{path}'")
        equal = f"SELECT count(*) FROM t WHERE {ours} IS DISTINCT FROM {theirs}"
        if db.execute(equal).fetchone() != (0,):
            raise SystemExit(f"{ours} differs from {theirs}")
        _, text_time = best(db, f"SELECT count({theirs}) FROM t", runs)
        _, our_time = best(db, f"SELECT count({ours}) FROM t", runs)
        micros = [seconds / rows * 1e6 for seconds in (our_time, text_time)]
        found.append([path, *micros, text_time / our_time])
    show(
        f"{title}: {rows} rows, {sizes[0]:.0f} bytes of text, {sizes[1]:.0f} as LiveBuf",
        found,
        ["path", "LiveBuf µs", "JSON text µs", "times faster"],
    )


def files(db, folder, rows, runs):
    """A table in one file of each format."""
    db.execute(
        f"""CREATE OR REPLACE TABLE m AS SELECT i AS id, 'user ' || i AS name,
        ['alpha', 'beta', 'gamma', 'delta'][i % 4 + 1] AS kind, i / 8 AS x, i % 3 = 0 AS ok,
        CASE WHEN i % 5 THEN {{'p': i % 100, 'q': i / 4}} END AS pos FROM range({rows}) r(i)"""
    )
    names = {kind: str(folder / f"m.{kind}") for kind in ("lbuf", "parquet", "jsonl")}
    db.execute(f"COPY m TO '{names['parquet']}' (FORMAT parquet, COMPRESSION zstd)")
    db.execute(f"COPY m TO '{names['jsonl']}' (FORMAT json)")
    Path(names["lbuf"]).write_bytes(livebuf.dumps(livebuf.from_arrow(db.table("m").arrow())))
    described = db.execute("DESCRIBE m").fetchall()
    types = "{" + ", ".join(f"{name}: '{kind}'" for name, kind, *_ in described) + "}"
    readers = {
        "lbuf": f"read_livebuf('{names['lbuf']}')",
        "parquet": f"read_parquet('{names['parquet']}')",
        "jsonl": f"read_json('{names['jsonl']}', columns = {types})",
    }
    found = []
    for query, sql in QUERIES.items():
        (ours, a), (parquet, b), (lines, c) = (
            best(db, sql.format(reader), runs) for reader in readers.values()
        )
        if not ours == parquet == lines:
            raise SystemExit(f"{query}: {ours} {parquet} {lines}")
        found.append([query, a * 1e3, b * 1e3, c * 1e3, a / b, a / c])
    sizes = ", ".join(
        f"{kind} {os.path.getsize(name) / 1e6:.1f} MB" for kind, name in names.items()
    )
    show(
        f"{rows} rows: {sizes}",
        found,
        ["query", "LiveBuf ms", "Parquet ms", "JSON lines ms", "/ Parquet", "/ JSON lines"],
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", default=ROOT.parent / "shared/data/twitter.json")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--small", type=int, default=100_000)
    parser.add_argument("--table", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    document = json.loads(Path(options.file).read_text(encoding="utf-8"))
    db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    db.load_extension(str(package(ROOT / "target/release")))
    (threads,) = db.execute("SELECT current_setting('threads')").fetchone()
    print(f"DuckDB {duckdb.__version__}, {threads} threads")
    large = lambda n: json.dumps({**document, "row": n}, ensure_ascii=False)  # noqa: E731
    columns(db, Path(options.file).name, large, options.rows, VALUES, options.runs)
    columns(db, "small documents", small, options.small, SMALL, options.runs)
    with tempfile.TemporaryDirectory() as folder:
        files(db, Path(folder), options.table, options.runs)


if __name__ == "__main__":
    main()
