"""A large document behind an HTTP server: what is read of it is fetched, and nothing else.

    python http_ranges.py [MEGABYTES]

Needs `pip install livebuf "fsspec[http]" numpy pyarrow`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import livebuf
import numpy
import pyarrow


class Ranges(BaseHTTPRequestHandler):
    """Answers the ranges of one file, as stores of objects and most web servers do."""

    protocol_version = "HTTP/1.1"
    path_of_file = ""

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(os.path.getsize(self.path_of_file)))
        self.end_headers()

    def do_GET(self) -> None:
        size = os.path.getsize(self.path_of_file)
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        start, stop = int(first), min(int(last) + 1, size)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{size}")
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        with open(self.path_of_file, "rb") as file:
            file.seek(start)
            self.wfile.write(file.read(stop - start))


def sample(megabytes: int) -> bytes:
    """A table of trades, users by their names, and settings."""
    rows = megabytes * 1_000_000 * 9 // 10 // 20
    trades = pyarrow.table(
        {
            "time": numpy.arange(rows) + 1_700_000_000_000,
            "price": numpy.arange(rows) % 1000 / 8,
            "count": (numpy.arange(rows) % 100_000).astype(numpy.int32),
        }
    )
    users = {
        f"user {number}": {"name": f"N. {number}", "address": {"city": f"City {number % 997}"}}
        for number in range(megabytes * 600)
    }
    settings = {"limits": {"daily": [100, 250, 1000]}}
    trades = livebuf.from_arrow(trades)
    return livebuf.dumps({"settings": settings, "trades": trades, "users": users})


def main(megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Ranges.path_of_file = os.path.join(folder, "large.lbuf")
        with open(Ranges.path_of_file, "wb") as file:
            file.write(sample(megabytes))
        server = ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/large.lbuf"
        print(f"{os.path.getsize(Ranges.path_of_file):,} bytes at {url}")

        def show(name: str, read: Callable[[livebuf.Partial], Any]) -> None:
            with livebuf.Partial(url) as part:
                answer = read(part)
                print(f"{name}: {answer}; {part.requests} requests, {part.fetched:,} bytes")

        def total(doc: livebuf.Document) -> float:
            prices = numpy.asarray(doc["trades"].table["price"])
            return float(prices.sum(dtype=float))

        def count(part: livebuf.Partial) -> int:
            return len(part.read(lambda doc: pyarrow.table(doc["trades"].table.select(["count"]))))

        user = f"user {megabytes * 321}"
        show("a limit", lambda part: part.pointer("/settings/limits/daily/1"))
        show("a user's city", lambda part: part.pointer(f"/users/{user}/address/city"))
        show("a price", lambda part: part.pointer(f"/trades/{megabytes * 12345}/price"))
        show("all prices, added by numpy", lambda part: part.read(total))
        show("rows of one column by Arrow", count)
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 20)
