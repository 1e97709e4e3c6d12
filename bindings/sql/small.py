"""Small documents, for the benchmarks of the extensions."""

import json

WORDS = ["alpha", "beta", "gamma", "delta"]


def small(n):
    """A document of some 200 bytes."""
    return json.dumps(
        {
            "id": n,
            "name": f"user {n}",
            "kind": WORDS[n % 4],
            "tags": [WORDS[n % 4], WORDS[n % 3]],
            "at": {"x": n / 8, "y": -n},
            "note": "some text of a record, which makes it some two hundred bytes long"
            + "." * (n % 20),
        }
    )
