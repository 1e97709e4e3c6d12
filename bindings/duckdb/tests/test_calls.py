"""Which functions of DuckDB the source calls: those of the stable API, and no others."""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent


def names(text):
    return set(re.findall(r"\bduckdb_[a-z0-9_]+(?=\()", text))


def test_calls_are_stable():
    lines = (HERE / "stable.txt").read_text(encoding="utf-8").splitlines()
    stable = {line for line in lines if not line.startswith("#")}
    assert len(stable) > 400 and "duckdb_fetch_chunk" in stable
    assert "duckdb_scalar_function_set_bind" not in stable
    sources = sorted((HERE.parent / "src").glob("*.rs"))
    called = set().union(*(names(path.read_text(encoding="utf-8")) for path in sources))
    assert len(called) > 60
    # The one that fills the Rust crate's table: it is no function of DuckDB.
    assert called - stable == {"duckdb_rs_extension_api_init"}


def test_file_says_so(db):
    from conftest import EXTENSION

    end = Path(EXTENSION).read_bytes()[-512:]
    fields = [end[at : at + 32].rstrip(b"\0").decode() for at in range(0, 256, 32)]
    assert fields[3] == "C_STRUCT" and fields[5] == "v1.2.0" and fields[7] == "4"
    assert fields[6] == db.one("SELECT platform FROM pragma_platform()")
    loaded = "SELECT extension_version FROM duckdb_extensions() WHERE extension_name = 'livebuf'"
    assert db.one(loaded) == fields[4]
