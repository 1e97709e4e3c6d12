"""The extension in a database of its own for each test. `make test-duckdb` builds it."""

import json
import os
import sys
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "bindings/duckdb"), str(ROOT / "bindings/sql")]

import database  # noqa: E402
from package import package  # noqa: E402

EXTENSION = os.environ.get("LIVEBUF_DUCKDB") or str(package(ROOT / "target" / "debug"))


def connect(**config):
    db = duckdb.connect(config={"allow_unsigned_extensions": "true", **config})
    db.load_extension(EXTENSION)
    return db


class Database(database.Database):
    def __init__(self, **config):
        super().__init__(connect(**config), duckdb.Error)

    def document(self, value, *options):
        """The bytes of a document."""
        marks = ", ?" * len(options)
        return self.one(f"SELECT lb_from_json(?{marks})", json.dumps(value), *options)


@pytest.fixture
def db():
    opened = Database()
    yield opened
    opened.connection.close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
