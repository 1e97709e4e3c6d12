"""Draws a document's bytes: those that one look-up reads, and those that one edit writes.

`python docs/images/buffer.py` writes `buffer.svg` and `document.svg`. The bytes are real ones. A
byte counts as read if the answer changes, or is an error, for some other value of that byte.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import livebuf


class Shown(NamedTuple):
    """A drawing: lines of JSON, a pointer that is read, one that is set, the parts of the bytes."""

    value: Any
    layout: str
    read: str
    written: str
    new: Any
    parts: list[tuple[int, str]]


ROWS = Shown(
    [
        {"lap": 1, "sec": 88.25, "tyre": "soft"},
        {"lap": 2, "sec": 87.5, "tyre": "soft"},
        {"lap": 3, "sec": 87.75, "tyre": "hard"},
    ],
    "stored by columns",
    "/2/tyre",
    "/1/sec",
    86.5,
    [
        (32, "header: size, root, flags"),
        (16, "an array of 3 rows"),
        (72, "a table: where each column is"),
        (8, "column lap: 1, 2, 3"),
        (16, "column sec: 88.25, 87.5, 87.75"),
        (24, 'column tyre: "soft", "soft", "hard"'),
        (40, "keys, stored once: lap, sec, tyre"),
    ],
)
OBJECT = Shown(
    {"lap": 55, "driver": "Ada", "sec": [88.25, 87.5]},
    "each block refers to others by offsets",
    "/sec/1",
    "/lap",
    56,
    [
        (32, "header: size, root, flags"),
        (16, "array sec: 2 numbers, where they are"),
        (8, "its numbers: 88.25, 87.5"),
        (40, "the object: lap, driver, sec"),
        (40, "its keys, for all objects like it"),
    ],
)
ACROSS, WIDE, HIGH = 16, 25, 20
LEFT, TOP = 12, 64
STYLE = """
text { font: 12px ui-monospace, monospace; fill: #1f2328 }
.byte { text-anchor: middle; font-size: 11px }
.note { font: 13px system-ui, sans-serif }
rect { fill: #eef1f4; stroke: #ffffff }
.odd { fill: #dde3e9 }
.read { fill: #9ecbff }
.written { fill: #ff9d96 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  rect { fill: #21262d; stroke: #0d1117 }
  .odd { fill: #2f363e }
  .read { fill: #1f5fb0 }
  .written { fill: #b3322b }
}
"""


def answer(shown: Shown, document: bytes) -> object:
    try:
        return livebuf.Document(document).pointer(shown.read)
    except livebuf.Error as error:
        return type(error)


def read_bytes(shown: Shown, document: bytes) -> set[int]:
    """The bytes on which the answer depends."""
    expected, found = answer(shown, document), set()
    for at in range(len(document)):
        for value in range(256):
            changed = bytearray(document)
            changed[at] = value
            if answer(shown, bytes(changed)) != expected:
                found.add(at)
                break
    return found


def written_bytes(shown: Shown) -> tuple[bytes, set[int]]:
    """The document after the edit, and the bytes that the edit wrote."""
    doc = livebuf.Document.from_python(shown.value)
    with doc.recording() as changes:
        doc.set_pointer(shown.written, shown.new)
    written = {at + n for at, length in changes.ranges for n in range(length)}
    return bytes(doc), written


def draw(shown: Shown) -> str:
    document = livebuf.dumps(shown.value)
    assert len(document) == sum(length for length, _ in shown.parts)
    read = read_bytes(shown, document)
    after, written = written_bytes(shown)
    rows = shown.value if isinstance(shown.value, list) else [shown.value]
    texts = [json.dumps(row) for row in rows]
    if isinstance(shown.value, list):
        texts = [("[" if n == 0 else "\u00a0") + text + "," for n, text in enumerate(texts)]
        texts[-1] = texts[-1][:-1] + "]"
    top = TOP + len(texts) * 16
    lines = -(-len(document) // ACROSS)
    svg = ElementTree.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 712 {top + lines * HIGH + 62}",
        width="712",
    )
    ElementTree.SubElement(svg, "title").text = "The bytes of a document"
    ElementTree.SubElement(svg, "style").text = STYLE

    def write(x: int, y: int, text: str, kind: str = "") -> None:
        ElementTree.SubElement(svg, "text", {"x": str(x), "y": str(y), "class": kind}).text = text

    def box(x: int, y: int, wide: int, kind: str) -> None:
        place = {"x": str(x), "y": str(y), "width": str(wide), "height": str(HIGH)}
        ElementTree.SubElement(svg, "rect", place | {"class": kind})

    write(LEFT, 22, "This JSON …", "note")
    for index, text in enumerate(texts):
        write(LEFT, 44 + index * 16, text)
    told = f"… as a document of {len(document)} bytes in one buffer; {shown.layout}:"
    write(LEFT, top - 10, told, "note")

    end, line = 0, -1
    for index, (length, name) in enumerate(shown.parts):
        start, end = end, end + length
        for at in range(start, end):
            x, y = LEFT + at % ACROSS * WIDE, top + at // ACROSS * HIGH
            kind = "written" if at in written else "read" if at in read else ""
            box(x, y, WIDE, kind or ("odd" if index % 2 else ""))
            write(
                x + WIDE // 2, y + 14, f"{(after if at in written else document)[at]:02x}", "byte"
            )
        # Beside its first line of bytes, or the next one that has no name yet.
        line = max(start // ACROSS, line + 1)
        write(LEFT + ACROSS * WIDE + 12, top + line * HIGH + 14, name)
    y = top + lines * HIGH + 12
    for kind, text in (
        ("read", f"the {len(read)} bytes that doc.pointer({shown.read!r}) depends on"),
        (
            "written",
            f"the {len(written)} bytes that doc.set_pointer{shown.written, shown.new} writes",
        ),
    ):
        box(LEFT, y, WIDE, kind)
        write(LEFT + WIDE + 8, y + 15, text, "note")
        y += HIGH + 2
    ElementTree.indent(svg)
    return ElementTree.tostring(svg, encoding="unicode") + "\n"


DRAWINGS = {"buffer.svg": partial(draw, ROWS), "document.svg": partial(draw, OBJECT)}

if __name__ == "__main__":
    for name, drawn in DRAWINGS.items():
        (Path(__file__).parent / name).write_text(drawn(), encoding="utf-8")
