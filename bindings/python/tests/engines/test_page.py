"""The code in the pages of engines, run as it stands; the script of one on a cluster of two
executors."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[4] / "docs"
# The pages, and what each needs.
PAGES = {
    "engines.md": ["polars"],
    "polars-duckdb.md": ["polars", "duckdb", "pyarrow"],
    "dask-spark.md": ["dask", "pyspark"],
    "parquet.md": ["duckdb", "pyspark", "livebuf_parquet"],
}


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, tmp_path: Path) -> None:
    """In a process and a folder of its own, so a page needs nothing of another one. Its blocks go
    on from each other. Spark looks for files in the folder in which it was started."""
    for library in ("sybil", *PAGES[page]):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed: make test-engines")
    if "pyspark" in PAGES[page] and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("SPARK IS NOT TESTED: there is no Java")
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, __file__, str(DOCS / page)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, f"{page}: {done.stderr[-5000:]}"


def run(page: Path) -> None:
    """All blocks of a page, in the working directory."""
    from sybil import Document
    from sybil.parsers.markdown import PythonCodeBlockParser

    examples = list(Document.parse(str(page), PythonCodeBlockParser()).examples())
    assert examples
    scripts = 0
    for example in examples:
        try:
            if "__main__" in str(example.parsed):
                run_script(str(example.parsed))
                scripts += 1
            else:
                example.evaluate()
        except Exception:
            sys.exit(f"line {example.line}: {traceback.format_exc(limit=-1)}")
    assert scripts == (page.name == "dask-spark.md")


def run_script(code: str) -> None:
    """The script of the cluster, on two executors."""
    import livebuf

    Path("sums.py").write_text(code, encoding="utf-8")
    submit = str(Path(sys.executable).parent / "spark-submit")
    command = [submit, "--master", "local-cluster[2,1,1024]", "sums.py", "races", "sums"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    [written] = Path("sums").glob("*.lbuf")
    found = {row["id"]: row["best"] for row in livebuf.load(written)["rows"]}
    assert found == {n: 70 + n / 4 for n in range(20)}


if __name__ == "__main__":
    run(Path(sys.argv[1]))
