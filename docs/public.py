"""Compares the public names of the Rust crates with those that are kept in `public.txt`.

    python docs/public.py target/doc [--write]

Whoever uses a public name relies on it, so that a new one is a decision: it is added to the list in
the commit that makes it, by `--write`, and is seen there. The names are taken from the pages of
rustdoc; `make docs` writes these, and then compares.
"""

import argparse
import difflib
import re
import sys
from pathlib import Path

LIST = Path(__file__).with_name("public.txt")
CRATES = "livebuf livebuf_json livebuf_query livebuf_patch livebuf_log livebuf_arrow".split()
# What a type or trait has of its own stands before these parts of its page.
OTHERS = re.compile(
    r'id="(?:deref-methods-\w+|trait-implementations|synthetic-implementations|foreign-impls'
    r'|implementors)"'
)
MEMBER = re.compile(
    r'id="(?:method|tymethod|variant|structfield|associatedconstant|associatedtype)\.(\w+)"'
)


def names(doc: Path, crate: str) -> list[str]:
    """A line for each public item of a crate: its kind, its path, and its members."""
    lines = []
    for page in re.findall(r'<li><a href="([^"#]+)"', (doc / crate / "all.html").read_text()):
        *modules, file = page.split("/")
        kind, name, _ = file.split(".")
        own = OTHERS.split((doc / crate / page).read_text(encoding="utf-8"), maxsplit=1)[0]
        members = sorted(set(MEMBER.findall(own)))
        line = f"{kind} {'::'.join([crate, *modules, name])}"
        lines.append(" ".join([line + ":", *members]) if members else line)
    return sorted(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("doc", type=Path, help="where rustdoc wrote its pages")
    parser.add_argument("--write", action="store_true", help="write the list")
    arguments = parser.parse_args()
    text = "".join(line + "\n" for crate in CRATES for line in names(arguments.doc, crate))
    if arguments.write:
        LIST.write_text(text, encoding="utf-8")
        return
    kept = LIST.read_text(encoding="utf-8")
    if kept != text:
        changed = difflib.unified_diff(kept.splitlines(), text.splitlines(), n=0, lineterm="")
        sys.exit(
            "\n".join(changed) + "\npublic names of the Rust crates changed. If they should, "
            "run: python docs/public.py target/doc --write"
        )


if __name__ == "__main__":
    main()
