"""The list of tests that both data sources for Spark pass: `bindings/spark` runs it in Java."""

from __future__ import annotations

import base64
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import livebuf
import pytest

for library in ("pyspark", "pyarrow", "pandas"):
    pytest.importorskip(library, reason=f"{library} is not installed: make test-engines")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("SPARK IS NOT TESTED: there is no Java", allow_module_level=True)
import livebuf.spark  # noqa: E402

CHECKOUT = Path(os.environ.get("LIVEBUF_CHECKOUT") or Path(__file__).parents[4])
CASES = json.loads((CHECKOUT / "bindings/spark/src/test/resources/cases.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.dataSource.register(livebuf.spark.DefaultSource)
    yield session
    session.stop()


def write(files: dict[str, Any], folder: Path) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if "log" in content:
            with livebuf.Log(path, "x") as log:
                for call in content["log"]:
                    log.extend(call)
        elif "json" in content:
            livebuf.dump(content["json"], path)
        elif "base64" in content:
            path.write_bytes(base64.b64decode(content["base64"]))
        else:
            path.write_text(content["text"])
        if "damage" in content:
            data = bytearray(path.read_bytes())
            data[data.index(content["damage"].encode())] = 0xFF
            path.write_bytes(data)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(spark: Any, tmp_path: Path, case: dict[str, Any]) -> None:
    write(case["files"], tmp_path)

    def load() -> Any:
        reader = spark.read.format("livebuf").options(**case.get("options", {}))
        if "given" in case:
            reader = reader.schema(case["given"])
        return reader.load(str(tmp_path / case.get("path", "")))

    if "error" in case:
        with pytest.raises(Exception) as caught:  # noqa: PT011
            load().collect()
        for part in case["error"]:
            assert part in str(caught.value)
        return
    frame = load()
    assert frame.schema.simpleString() == case["schema"]
    found = sorted(row[0] for row in frame.selectExpr("to_json(struct(*))").collect())
    assert found == case["rows"]
