"""How notebooks and the library rich show documents and views."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import islice
from typing import Any

from ._errors import LimitError
from ._livebuf import Array, Object

# Members, elements and rows that are shown of each container, and how deep it goes.
MOST = 20
DEEPEST = 4
LONGEST = 200


def plain(view: Any) -> Any:
    """Plain Python objects; `None` where there are very many."""
    try:
        return view.to_python(max_values=20_000)
    except LimitError:
        return None


def parts(view: Any) -> Iterator[Any]:
    """Members or elements, as `__rich_repr__` gives them."""
    if isinstance(view, Object):
        yield from islice(view.items(), MOST)
    else:
        yield from islice(view, MOST)
    if len(view) > MOST:
        yield f"… {len(view) - MOST} more"


def html(value: Any, depth: int = 0) -> str:
    """A folded tree; an array of similar objects as a table."""
    if isinstance(value, Object):
        shown = [(f"<b>{escape(key)}</b>", item) for key, item in islice(value.items(), MOST)]
        return _folded(f"object of {len(value)}", shown, len(value), depth)
    if isinstance(value, Array):
        if value.shape is not None:
            return escape(f"tensor {value.shape}")
        if len(value) > 0 and value.table.stored:
            return _table(value)
        shown = [(str(at), item) for at, item in enumerate(islice(value, MOST))]
        return _folded(f"array of {len(value)}", shown, len(value), depth)
    text = repr(value)
    return escape(text if len(text) <= LONGEST else text[:LONGEST] + "…")


def _folded(title: str, shown: list[tuple[str, Any]], count: int, depth: int) -> str:
    if depth == DEEPEST:
        return title
    items = "".join(f"<li>{name}: {html(item, depth + 1)}</li>" for name, item in shown)
    if count > len(shown):
        items += f"<li>… {count - len(shown)} more</li>"
    opened = " open" if depth == 0 else ""
    return f"<details{opened}><summary>{title}</summary><ul>{items}</ul></details>"


def _table(array: Any) -> str:
    names = array.table.column_names[:MOST]
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = []
    for row in islice(array, MOST):
        cells = [row.get(name, "") if isinstance(row, Object) else row for name in names]
        rows.append("<tr>" + "".join(f"<td>{html(cell, DEEPEST)}</td>" for cell in cells) + "</tr>")
    more = f"<p>{len(array)} rows, {len(array.table.column_names)} columns</p>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}"
