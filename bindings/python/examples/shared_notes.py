"""People who edit one document at once, each with undo: the sync of an editor, without a browser.

`python shared_notes.py` plays two people and a server.

Each person edits a copy at once and sends a JSON patch. The server puts patches into an order by
applying them to its document; it sends the deltas, which fit to what everybody had before. A
person whose patch is not the next one takes the own edits back, applies what came, and does them
again. A patch that has become impossible, since somebody removed what it changes, is dropped.

Undo is the patch that leads back, which `livebuf.diff` makes. So you can undo your edit after
others edited elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import livebuf


class Server:
    """Has the document, and the deltas since the beginning."""

    def __init__(self, value: Any) -> None:
        self.doc = livebuf.Document.from_python(value)
        self.doc.set_state()
        self.deltas: list[bytes] = []
        self.beginning = bytes(self.doc)

    def submit(self, patch: bytes) -> bool:
        """Applies a patch (RFC 6902), whole or not at all; whether it was possible."""
        with self.doc.recording(delta=True) as changes:
            try:
                self.doc.patch(patch)
                possible = True
            except livebuf.PatchError:
                possible = False
        # Of a patch that was impossible, too: it leads to the next state.
        self.deltas.append(bytes(changes.delta))
        return possible


class Person:
    """A copy of the document, edited at once."""

    def __init__(self, server: Server) -> None:
        self.server = server
        # What the server sent, and the same with the own edits that it does not have yet.
        self.known = livebuf.Document(server.beginning).editable()
        self.seen = 0
        self.doc = self.known.copy()
        self.waiting: list[livebuf.Patch] = []
        self.undos: list[livebuf.Patch] = []

    def edit(self, change: Callable[[livebuf.Document], None]) -> None:
        """Edits the copy; `sync` sends it."""
        before = self.doc.copy()
        with self.doc.transaction():
            change(self.doc)
        self.waiting.append(livebuf.diff(before, self.doc))
        self.undos.append(livebuf.diff(self.doc, before))

    def undo(self) -> bool:
        """Takes the own last edit back, also if others edited since; whether that was possible."""
        if not self.undos:
            return False
        back = self.undos.pop()
        try:
            self.doc.patch(back)
        except livebuf.PatchError:
            return False  # What it changed is gone.
        self.waiting.append(back)
        return True

    def sync(self) -> None:
        """Sends the own edits, and takes those of all."""
        for patch in self.waiting:
            self.server.submit(patch.to_json())
        self.waiting.clear()
        for delta in self.server.deltas[self.seen :]:
            livebuf.Delta.from_bytes(delta).apply(self.known)
        self.seen = len(self.server.deltas)
        self.doc = self.known.copy()


def main() -> None:
    server = Server({"title": "Notes", "lines": [{"text": "milk"}, {"text": "bread"}]})
    ada, grace = Person(server), Person(server)

    def rename(doc: livebuf.Document) -> None:
        doc["title"] = "Shopping"

    def add(doc: livebuf.Document) -> None:
        doc["lines"].append({"text": "tea", "by": "Grace"})

    ada.edit(rename)
    grace.edit(add)  # Neither has seen the other's.
    for person in (ada, grace, ada):
        person.sync()
    assert bytes(ada.known) == bytes(grace.known) == bytes(server.doc)
    print("both edits:", ada.doc.to_python())

    ada.undo()  # Her own edit, not the last one of all.
    for person in (ada, grace):
        person.sync()
    assert bytes(ada.known) == bytes(grace.known) == bytes(server.doc)
    print("one undone:", grace.doc.to_python())
    sent = sum(len(delta) for delta in server.deltas)
    print(f"{len(server.deltas)} deltas, {sent} bytes")


if __name__ == "__main__":
    main()
