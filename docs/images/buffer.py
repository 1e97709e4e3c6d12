"""Draws a document's bytes: those that one look-up reads, and those that one edit writes.

`python docs/images/buffer.py` writes `buffer.svg` beside itself. The bytes are real ones. A byte
counts as read if the answer changes, or is an error, for some other value of that byte.
"""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import livebuf

ROWS = [
    {"lap": 1, "sec": 88.25, "tyre": "soft"},
    {"lap": 2, "sec": 87.5, "tyre": "soft"},
    {"lap": 3, "sec": 87.75, "tyre": "hard"},
]
READ, WRITTEN = "/2/tyre", "/1/sec"
PARTS = [
    (32, "header: size, root, flags"),
    (16, "an array of 3 rows"),
    (72, "a table: where each column is"),
    (8, "column lap: 1, 2, 3"),
    (16, "column sec: 88.25, 87.5, 87.75"),
    (24, 'column tyre: "soft", "soft", "hard"'),
    (40, "keys, stored once: lap, sec, tyre"),
]
ACROSS, WIDE, HIGH = 16, 25, 20
LEFT, TOP = 12, 112
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


def answer(document: bytes) -> object:
    try:
        return livebuf.Document(document).pointer(READ)
    except livebuf.Error as error:
        return type(error)


def read_bytes(document: bytes) -> set[int]:
    """The bytes on which the answer depends."""
    expected, found = answer(document), set()
    for at in range(len(document)):
        for value in range(256):
            changed = bytearray(document)
            changed[at] = value
            if answer(bytes(changed)) != expected:
                found.add(at)
                break
    return found


def written_bytes() -> tuple[bytes, set[int]]:
    """The document after the edit, and the bytes that the edit wrote."""
    doc = livebuf.Document.from_python(ROWS)
    with doc.recording() as changes:
        doc.set_pointer(WRITTEN, 86.5)
    written = {at + n for at, length in changes.ranges for n in range(length)}
    return bytes(doc), written


def draw() -> str:
    document = livebuf.dumps(ROWS)
    assert len(document) == sum(length for length, _ in PARTS)
    read = read_bytes(document)
    after, written = written_bytes()
    lines = -(-len(document) // ACROSS)
    svg = ElementTree.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 712 {TOP + lines * HIGH + 62}",
        width="712",
    )
    ElementTree.SubElement(svg, "title").text = "The bytes of a document"
    ElementTree.SubElement(svg, "style").text = STYLE

    def write(x: int, y: int, text: str, kind: str = "") -> None:
        ElementTree.SubElement(svg, "text", {"x": str(x), "y": str(y), "class": kind}).text = text

    def box(x: int, y: int, wide: int, kind: str) -> None:
        place = {"x": str(x), "y": str(y), "width": str(wide), "height": str(HIGH)}
        ElementTree.SubElement(svg, "rect", place | {"class": kind})

    write(LEFT, 22, "Three rows of JSON …", "note")
    for index, row in enumerate(ROWS):
        ends = ("[" if index == 0 else "\u00a0"), ("]" if index == len(ROWS) - 1 else ",")
        write(LEFT, 44 + index * 16, ends[0] + json.dumps(row) + ends[1])
    write(LEFT, TOP - 10, f"… are {len(document)} bytes in one buffer, stored by columns:", "note")

    end, line = 0, -1
    for index, (length, name) in enumerate(PARTS):
        start, end = end, end + length
        for at in range(start, end):
            x, y = LEFT + at % ACROSS * WIDE, TOP + at // ACROSS * HIGH
            kind = "written" if at in written else "read" if at in read else ""
            box(x, y, WIDE, kind or ("odd" if index % 2 else ""))
            write(
                x + WIDE // 2, y + 14, f"{(after if at in written else document)[at]:02x}", "byte"
            )
        # Beside its first line of bytes, or the next one that has no name yet.
        line = max(start // ACROSS, line + 1)
        write(LEFT + ACROSS * WIDE + 12, TOP + line * HIGH + 14, name)
    y = TOP + lines * HIGH + 12
    for kind, text in (
        ("read", f"the {len(read)} bytes that doc.pointer({READ!r}) depends on"),
        ("written", f"the {len(written)} bytes that doc.set_pointer({WRITTEN!r}, 86.5) writes"),
    ):
        box(LEFT, y, WIDE, kind)
        write(LEFT + WIDE + 8, y + 15, text, "note")
        y += HIGH + 2
    ElementTree.indent(svg)
    return ElementTree.tostring(svg, encoding="unicode") + "\n"


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
