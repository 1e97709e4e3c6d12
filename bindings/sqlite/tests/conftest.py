"""The extension in a database of its own for each test. `make test-sqlite` builds it."""

import os
import sys
from pathlib import Path

import apsw
import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/sql"))

import database  # noqa: E402

SUFFIX = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
PREFIX = "" if sys.platform == "win32" else "lib"
EXTENSION = os.environ.get(
    "LIVEBUF_SQLITE", str(ROOT / "target" / "debug" / f"{PREFIX}livebuf_sqlite.{SUFFIX}")
)


def connect(path=":memory:"):
    db = apsw.Connection(str(path))
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    db.enable_load_extension(False)
    return db


class Database(database.Database):
    def __init__(self, path=":memory:"):
        super().__init__(connect(path), apsw.Error)

    def plan(self, sql, *values):
        return " ".join(row[3] for row in self.run("EXPLAIN QUERY PLAN " + sql, *values))


@pytest.fixture
def db():
    opened = Database()
    yield opened
    opened.connection.close()


@pytest.fixture
def open_database(tmp_path):
    """Makes databases in files, and closes them."""
    opened = []

    def make(name="test.db"):
        opened.append(Database(tmp_path / name))
        return opened[-1]

    yield make
    for made in opened:
        made.connection.close()
