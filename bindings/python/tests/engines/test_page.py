"""The code in docs/engines.md, run as it stands; its script on a cluster of two executors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

import livebuf
import pytest

for library in ("polars", "duckdb", "dask", "pyspark", "sybil"):
    pytest.importorskip(library, reason=f"{library} is not installed: make test-engines")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("SPARK IS NOT TESTED: there is no Java", allow_module_level=True)
from sybil import Document  # noqa: E402
from sybil.parsers.markdown import PythonCodeBlockParser  # noqa: E402

PAGE = Path(__file__).parents[4] / "docs" / "engines.md"

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore:.*pandas:FutureWarning"
)


def test_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    os.mkdir("laps")
    examples = list(Document.parse(str(PAGE), PythonCodeBlockParser()).examples())
    scripts = 0
    for example in examples:
        try:
            if "__main__" not in str(example.parsed):
                example.evaluate()
                continue
            scripts += 1
            Path("sums.py").write_text(str(example.parsed), encoding="utf-8")
            submit = str(Path(sys.executable).parent / "spark-submit")
            command = [submit, "--master", "local-cluster[2,1,1024]", "sums.py", "laps", "sums"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, done.stderr[-3000:]
            [written] = Path("sums").glob("*.lbuf")
            found = {row["id"]: row["best"] for row in livebuf.load(written)["rows"]}
            assert found == {n: 70 + n / 4 for n in range(20)}
        except Exception:
            # pytest would show the page up to here.
            reason = traceback.format_exc(limit=-1)
            pytest.fail(f"{PAGE.name}, line {example.line}: {reason}", pytrace=False)
    assert scripts == 1
