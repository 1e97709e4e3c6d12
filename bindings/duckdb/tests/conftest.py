"""The extension in a database of its own for each test. `make test-duckdb` builds it."""

import json
import os
import sys
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/duckdb"))

from package import package  # noqa: E402

EXTENSION = os.environ.get("LIVEBUF_DUCKDB") or str(package(ROOT / "target" / "debug"))


def connect(**config):
    db = duckdb.connect(config={"allow_unsigned_extensions": "true", **config})
    db.load_extension(EXTENSION)
    return db


class Database:
    """A connection, and the short ways that tests need."""

    def __init__(self, **config):
        self.connection = connect(**config)

    def run(self, sql, *values):
        """All rows."""
        return self.connection.execute(sql, values).fetchall()

    def one(self, sql, *values):
        """The one value of the one row."""
        ((value,),) = self.run(sql, *values)
        return value

    def error(self, sql, *values):
        """The message of the error."""
        with pytest.raises(duckdb.Error) as caught:
            self.run(sql, *values)
        return str(caught.value)

    def document(self, value, *options):
        """The bytes of a document."""
        marks = ", ?" * len(options)
        return self.one(f"SELECT lb_from_json(?{marks})", json.dumps(value), *options)


@pytest.fixture
def db():
    database = Database()
    yield database
    database.connection.close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
