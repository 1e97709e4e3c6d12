"""mdBook's preprocessor: links to files outside of docs/ lead to the repository.

`book.toml` calls it. On GitHub, and in a checkout, the links work as they stand.
"""

from __future__ import annotations

import json
import posixpath
import re
import sys
from typing import Any


def outward(text: str, page: str, repository: str) -> str:
    """The page's text, with links that leave docs/ made links of the repository."""

    def replaced(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link[2]))
        return link[0] if path.startswith("docs/") else f"{link[1]}{repository}/blob/main/{path}"

    return re.sub(r"(\]\(|^\[[^\]]+\]: )(\.\./[^)#\s]*)", replaced, text, flags=re.MULTILINE)


def walk(items: list[Any], repository: str) -> None:
    for item in items:
        if isinstance(item, dict) and (chapter := item.get("Chapter")):
            if chapter["path"]:
                chapter["content"] = outward(chapter["content"], chapter["path"], repository)
            walk(chapter["sub_items"], repository)


if __name__ == "__main__":
    if sys.argv[1:2] == ["supports"]:
        sys.exit(0)
    context, book = json.load(sys.stdin)
    walk(book["items"], context["config"]["output"]["html"]["git-repository-url"])
    json.dump(book, sys.stdout)
