"""What all tests share: real data where it is, seeds that are printed, longer runs on demand."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

LONG = os.environ.get("LIVEBUF_LONG", "") not in ("", "0")

# No deadlines: the machines that run this are shared.
settings.register_profile(
    "livebuf", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("livebuf")


def data_folder() -> Path | None:
    """Real JSON, beside the checkout; not part of it."""
    for above in Path(__file__).resolve().parents:
        for folder in (above / "shared" / "data", above.parent / "shared" / "data"):
            if folder.is_dir():
                return folder
    return None


@pytest.fixture
def real() -> Callable[[str], bytes]:
    """The text of a real JSON file; skips where there is none."""
    folder = data_folder()

    def read(name: str) -> bytes:
        if folder is None or not (folder / name).is_file():
            pytest.skip(f"../shared/data/{name} is not there")
        return (folder / name).read_bytes()

    return read


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers; the seed is printed where a test fails, LIVEBUF_SEED sets it."""
    seed = int(os.environ.get("LIVEBUF_SEED") or random.SystemRandom().getrandbits(32))
    print(f"LIVEBUF_SEED={seed} {request.node.nodeid}")
    return random.Random(seed)


# Names as in real data: shared by most rows, missing in some, of changing types.
def sample(rows: int = 40) -> Any:
    """A document with everything in it: records, a map, tables, lists, texts, numbers."""
    return {
        "name": "sample",
        "empty": {},
        "none": [],
        "scalars": [None, True, False, 0, -1, 2**63, 1.5, -0.0, "", "é", "longer than seven"],
        "numbers": list(range(rows)),
        "floats": [n / 4 for n in range(rows)],
        "words": [f"word number {n}" for n in range(rows)],
        "rows": [
            {"id": n, "name": f"row {n}", "at": {"x": n, "y": n / 2}, "tags": ["t"] * (n % 3)}
            for n in range(rows)
        ],
        "ragged": [{"id": n} | ({"extra": [n]} if n % 7 == 0 else {}) for n in range(rows)],
        "map": {f"key {n:05}": n for n in range(300)},
        "deep": json.loads("[" * 50 + "]" * 50),
    }
