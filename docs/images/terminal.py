"""Draws the terminal: commands, and what they print, as SVG by rich.

After `make demo`, `python docs/images/terminal.py` writes
`demo.svg` and `inspect.svg` beside itself. The demo measures this machine, so each run differs.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).parent
PROJECT = IMAGES.parents[1]
INSPECT = [
    """echo '{"lap": 55, "driver": "Ada", "sec": [88.25, 87.5]}' > lap.json""",
    "livebuf from-json lap.json -o lap.lbuf",
    "livebuf inspect lap.lbuf",
]


def printed(command: str, folder: str | Path) -> str:
    """What a terminal shows, with colours."""
    path = f"{PROJECT}/target/release:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "CLICOLOR_FORCE": "1", "COLUMNS": "100"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def draw(name: str, commands: list[str], folder: str | Path) -> None:
    lines = []
    for command in commands:
        lines += [f"\x1b[1m$ {command}\x1b[0m\n", printed(command, folder)]
    text = Text.from_ansi("".join(lines))
    width = max(len(line) for line in text.plain.splitlines())
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(text)
    svg = console.export_svg(title="", unique_id=name)
    # No fonts from other servers: the reader's own.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code, monospace", "ui-monospace, monospace")
    (IMAGES / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        draw("inspect", INSPECT, folder)
    draw("demo", ["make demo"], PROJECT)
