"""The most memory that one task takes, in a process of its own.

`python -m bench.peak MODULE NAME TASK FOLDER` is that process. It loads what the task needs, gives
freed memory back to the system, and resets the kernel's high-water mark. After the task, the mark
less what was resident before is what the task took: Python's objects and a library's own memory,
the result included. The kernel counts up to some hundred kilobytes late, so less than a mebibyte
is given as one.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Below it the kernel's delay decides.
RESOLUTION = 1 << 20
STATUS, REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")

# The task, and whether its result is right.
Task = tuple[Callable[[], Any], Callable[[Any], bool]]


class NotMeasured(Exception):
    """Why there is no figure."""


def peak(module: str, name: str, task: str, folder: Path) -> tuple[int, bool]:
    """Bytes that the task took at most, and whether its answer is right. The module's `task_of`
    makes the task of the last three."""
    command = [sys.executable, "-m", "bench.peak", module, name, task, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotMeasured(done.stderr.strip().rpartition("\n")[2])
    found = json.loads(done.stdout)
    return max(found["bytes"], RESOLUTION), found["right"]


def _kilobytes(field: str) -> int:
    found = re.search(rf"^{field}:\s*(\d+) kB$", STATUS.read_text(), re.MULTILINE)
    if found is None:
        raise NotMeasured(f"{STATUS} has no {field}")
    return int(found[1])


def _give_back() -> None:
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def main(module: str, name: str, task: str, folder: str) -> None:
    if not REFERENCES.exists():
        raise NotMeasured("peak memory is measured on Linux only")
    work, right = importlib.import_module(f"bench.{module}").task_of(name, task, Path(folder))
    _give_back()
    REFERENCES.write_text("5")
    before = _kilobytes("VmRSS")
    result = work()
    taken = max(_kilobytes("VmHWM") - before, 0) * 1024
    print(json.dumps({"bytes": taken, "right": right(result)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
