"""Compresses wheels as far as deflate can, which takes ten seconds and makes them 3 % smaller.

    python deflate.py ../../target/wheels/*.whl

Maturin compresses by zlib. The bytes here are zopfli's, which every unpacker of zip files reads.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import zopfli.zlib


class Compressor:
    """What zipfile asks of a compressor."""

    def __init__(self, *_: object) -> None:
        self.content = bytearray()

    def compress(self, part: bytes) -> bytes:
        self.content += part
        return b""

    def flush(self) -> bytes:
        # Without the head and the checksum that zlib has around deflate's bytes.
        return zopfli.zlib.compress(bytes(self.content), numiterations=5)[2:-4]


# The standard library has no public way to use another compressor.
zipfile._get_compressor = Compressor  # type: ignore[attr-defined]
for wheel in map(Path, sys.argv[1:]):
    smaller = wheel.with_suffix(".tmp")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(smaller, "w") as new:
        for member in old.infolist():
            new.writestr(member, old.read(member))
    smaller.replace(wheel)
