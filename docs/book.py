"""mdBook's preprocessor: links to files outside of docs/ lead to the repository, and those to
README.md to the first page.

Links to docs.rs lead to the Rust reference inside of the book, where `make docs` builds it:
`LIVEBUF_RUST` names its folder. `book.toml` calls this. On GitHub, and in a checkout, the links
work as they stand.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Any


def outward(text: str, page: str, repository: str) -> str:
    """The page's text, with links that leave docs/ made links of the repository."""

    def replaced(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link[2]))
        return link[0] if path.startswith("docs/") else f"{link[1]}{repository}/blob/main/{path}"

    return re.sub(r"(\]\(|^\[[^\]]+\]: )(\.\./[^)#\s]*)", replaced, text, flags=re.MULTILINE)


def home(text: str) -> str:
    """The page's text, with links to the first page as the book names it."""
    return re.sub(r"(\]\((?:\.\./)*)README\.md(?=[)#])", r"\1index.html", text)


def inward(text: str, page: str, reference: Path) -> str:
    """The page's text, with links to docs.rs made links to the reference beside the pages."""

    def replaced(link: re.Match[str]) -> str:
        if not (reference / link[1]).is_file():
            sys.exit(f"{page}: the Rust reference has no {link[1]}")
        return "](" + posixpath.relpath(f"rust/{link[1]}", posixpath.dirname(page) or ".")

    return re.sub(r"\]\(https://docs\.rs/livebuf[^/]*/latest/([^)#]+)", replaced, text)


def walk(items: list[Any], repository: str) -> None:
    for item in items:
        if isinstance(item, dict) and (chapter := item.get("Chapter")):
            if chapter["path"]:
                text = home(outward(chapter["content"], chapter["path"], repository))
                if reference := os.environ.get("LIVEBUF_RUST"):
                    text = inward(text, chapter["path"], Path(reference))
                chapter["content"] = text
            walk(chapter["sub_items"], repository)


if __name__ == "__main__":
    if sys.argv[1:2] == ["supports"]:
        sys.exit(0)
    context, book = json.load(sys.stdin)
    walk(book["items"], context["config"]["output"]["html"]["git-repository-url"])
    json.dump(book, sys.stdout)
