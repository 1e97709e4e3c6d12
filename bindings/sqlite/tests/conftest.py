"""The extension in a database of its own for each test. `make test-sqlite` builds it."""

import os
import sys
from pathlib import Path

import apsw
import pytest

ROOT = Path(__file__).resolve().parents[3]
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


class Database:
    """A connection, and the short ways that tests need."""

    def __init__(self, path=":memory:"):
        self.connection = connect(path)

    def run(self, sql, *values):
        """All rows."""
        return self.connection.execute(sql, values).fetchall()

    def one(self, sql, *values):
        """The one value of the one row."""
        ((value,),) = self.run(sql, *values)
        return value

    def error(self, sql, *values):
        """The message of the error."""
        with pytest.raises(apsw.Error) as caught:
            self.run(sql, *values)
        return str(caught.value)

    def plan(self, sql, *values):
        return " ".join(row[3] for row in self.run("EXPLAIN QUERY PLAN " + sql, *values))


@pytest.fixture
def db():
    database = Database()
    yield database
    database.connection.close()


@pytest.fixture
def open_database(tmp_path):
    """Makes databases in files, and closes them."""
    opened = []

    def make(name="test.db"):
        opened.append(Database(tmp_path / name))
        return opened[-1]

    yield make
    for database in opened:
        database.connection.close()
