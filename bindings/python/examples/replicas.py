"""A document and its replicas over a socket, kept equal byte by byte by deltas.

`python replicas.py` starts a primary and two replicas, which come and go.

A replica says which state it has. The primary sends the deltas that lead from there to its own
state, if it still has them, else the whole document. From then on it sends each delta as it
comes.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import livebuf

# What a message holds.
STATE, DOCUMENT, DELTA = b"S", b"D", b"d"


def send(connection: socket.socket, kind: bytes, payload: bytes) -> None:
    connection.sendall(kind + struct.pack("<I", len(payload)) + payload)


def receive(connection: socket.socket) -> tuple[bytes, bytes]:
    """A message; `ConnectionError` at the end."""
    kind, length = struct.unpack("<cI", exactly(connection, 5))
    return kind, exactly(connection, length)


def exactly(connection: socket.socket, length: int) -> bytes:
    received = bytearray()
    while len(received) < length:
        part = connection.recv(length - len(received))
        if not part:
            raise ConnectionError("the other side is gone")
        received += part
    return bytes(received)


class Primary:
    """The document that is edited. It keeps the last deltas for replicas that come back."""

    def __init__(self, value: Any, keep: int = 1000) -> None:
        self.doc = livebuf.Document.from_python(value)
        self.doc.set_state()
        self.deltas: deque[livebuf.Delta] = deque(maxlen=keep)
        self.replicas: list[socket.socket] = []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("localhost", 0))
        self.address: tuple[str, int] = self.listener.getsockname()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return  # Closed.
            with self.lock:
                try:
                    self.welcome(connection)
                except OSError:
                    connection.close()

    def welcome(self, connection: socket.socket) -> None:
        """Brings a replica to the state of now."""
        _, state = receive(connection)
        known = list(self.deltas)
        begins = [number for number, delta in enumerate(known) if delta.base == state]
        if begins:
            for delta in known[begins[0] :]:
                send(connection, DELTA, bytes(delta))
        elif state != self.doc.state:
            send(connection, DOCUMENT, bytes(self.doc))
        self.replicas.append(connection)

    @contextlib.contextmanager
    def edit(self) -> Iterator[livebuf.Document]:
        """Edits the document, and sends what changed. An exception takes the edits back."""
        with self.lock:
            changes = self.doc.recording(delta=True)
            try:
                with changes, self.doc.transaction():
                    yield self.doc
            finally:
                # Of edits that were taken back, too: it leads to the next state.
                self.publish(changes.delta)

    def publish(self, delta: livebuf.Delta) -> None:
        self.deltas.append(delta)
        for replica in list(self.replicas):
            try:
                send(replica, DELTA, bytes(delta))
            except OSError:
                replica.close()  # It comes back when it can.
                self.replicas.remove(replica)

    def close(self) -> None:
        self.listener.close()
        with self.lock:
            for replica in self.replicas:
                replica.close()


class Replica:
    """A copy that follows."""

    def __init__(self) -> None:
        self.doc: livebuf.Document | None = None
        self.received: list[bytes] = []

    def connect(self, address: tuple[str, int]) -> None:
        self.connection = socket.create_connection(address)
        state = self.doc.state if self.doc else None
        send(self.connection, STATE, state or bytes(16))

    def follow(self, state: bytes | None) -> None:
        """Applies what comes, until the copy has this state."""
        while self.doc is None or self.doc.state != state:
            kind, payload = receive(self.connection)
            self.received.append(kind)
            if kind == DOCUMENT:
                self.doc = livebuf.Document(payload).editable()
            elif self.doc is not None:
                livebuf.Delta.from_bytes(payload).apply(self.doc)

    def leave(self) -> None:
        self.connection.close()


def main() -> None:
    primary = Primary({"lap": 0, "laps": []})
    one, two = Replica(), Replica()
    one.connect(primary.address)
    for lap in range(1, 4):
        with primary.edit() as doc:
            doc["lap"] = lap
            doc["laps"].append({"lap": lap, "sec": 88.5 - lap})
    one.follow(primary.doc.state)
    one.leave()
    two.connect(primary.address)  # It comes later, and gets the whole document.
    with primary.edit() as doc:
        doc["laps"][0]["sec"] = 90.0
    one.connect(primary.address)  # It was away, and gets the delta that it lacks.
    for replica in (one, two):
        replica.follow(primary.doc.state)
        assert replica.doc is not None and bytes(replica.doc) == bytes(primary.doc)
        replica.leave()
    primary.close()
    print("both replicas are equal:", one.doc and one.doc.to_python())
    sizes = [len(bytes(delta)) for delta in primary.deltas]
    print(f"deltas of {sizes} bytes, a document of {primary.doc.nbytes}")


if __name__ == "__main__":
    main()
