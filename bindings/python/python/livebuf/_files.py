"""Documents in file objects and at URLs: read whole, and written whole."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import re
import threading
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_args

from ._livebuf import _open, _open_bytes, _write, dumps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ._livebuf import Document

T = TypeVar("T")
Mode = Literal["r", "r+", "c", "w+", "x", "x+", "a+"]
MODES = get_args(Mode)


class Repaired(NamedTuple):
    """What `Log.repair` kept."""

    rows: int
    lost_rows: int
    lost_bytes: int
    old: Path


def kind(file: object) -> Literal["path", "URL", "object"]:
    """What stands for a file. URLs are such as `s3://bucket/key`, and of fsspec
    `simplecache::s3://bucket/key`."""
    if not isinstance(file, str):
        return "path" if isinstance(file, os.PathLike) else "object"
    # Most paths are known by their lack of this.
    if "://" in file and re.match(r"\w[\w.+-]+(::\w[\w.+-]+)*://", file):
        return "URL"
    return "path"


def wrong_mode(mode: object) -> ValueError:
    modes = ", ".join(f'"{known}"' for known in MODES)
    hint = f"it is one of {modes}"
    if isinstance(mode, str):
        plain = mode.replace("b", "").replace("t", "")
        if plain != mode and plain in MODES:
            hint = f'documents are always binary: use "{plain}"'
        elif plain == "w":
            hint = 'documents are never only written: use "w+" or livebuf.dump'
        elif plain == "a":
            hint = 'use "a+" to edit a document, and livebuf.Log for a file that only grows'
    return ValueError(f"mode {mode!r} is not one for documents; {hint}")


def wrong_file(file: object) -> TypeError:
    what = type(file).__name__
    if isinstance(file, (bytes, bytearray, memoryview)):
        hint = "for a document's bytes use livebuf.Document or livebuf.loads"
    elif hasattr(file, "open"):
        hint = f"open the {what} first: `with file as opened: ...`"
    else:
        hint = f"not {what}"
    return TypeError(f"expected a path, a URL or a file object that is open in binary mode; {hint}")


def text_mode(file: object, mode: str) -> TypeError:
    return TypeError(f'the {type(file).__name__} is open for text; open it with mode "{mode}"')


def read(file: Any) -> bytes:
    """What a file object holds, from where it stands."""
    if not hasattr(file, "read"):
        raise wrong_file(file)
    if isinstance(file, io.TextIOBase):
        raise text_mode(file, "rb")
    data = file.read()
    if isinstance(data, str):
        raise text_mode(file, "rb")
    if data is None:
        raise BlockingIOError(errno.EAGAIN, "the file object has no data yet; make it blocking")
    return data if type(data) is bytes else bytes(memoryview(data))


def is_stream(path: str | os.PathLike[str]) -> bool:
    """A pipe or a device, which cannot be mapped."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))


def read_stream(path: str | os.PathLike[str]) -> bytes:
    """What a file, a pipe or a device holds, to its end."""
    with open(path, "rb") as opened:
        return opened.read()


def text(file: Any) -> bytes | str:
    """The JSON text at a path or in a file object, which may be open for text, too."""
    if isinstance(file, os.PathLike):
        return read_stream(file)
    return file.read() if isinstance(file, io.TextIOBase) else read(file)


def open_or_create(open_as: Callable[[str], Document]) -> Document:
    """Edits what is there, or a new document, whoever else tries the same meanwhile."""
    while True:
        try:
            return open_as("r+")
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                return open_as("x+")


def open_path(
    path: str | os.PathLike[str], mode: str, shared: bool, trusted: bool, timeout: float | None
) -> Document:
    """Opens a file, and waits for its lock up to `timeout` seconds."""

    def open_as(mode: str) -> Document:
        return _open(path, mode, shared, trusted)

    return waiting(timeout, lambda: open_or_create(open_as) if mode == "a+" else open_as(mode))


def waiting(timeout: float | None, attempt: Callable[[], T]) -> T:
    """Tries again while somebody else has the lock, up to `timeout` seconds."""
    start, pause = time.monotonic(), 0.00005
    while True:
        try:
            return attempt()
        except BlockingIOError:
            if timeout is not None and time.monotonic() - start >= timeout:
                raise
        time.sleep(pause)
        pause = min(pause * 2, 0.005)


def write(file: Any, data: bytes) -> None:
    """All of it to a file object, which may take less at a time."""
    if not hasattr(file, "write"):
        raise wrong_file(file)
    if isinstance(file, io.TextIOBase):
        raise text_mode(file, "wb")
    if not isinstance(file, io.RawIOBase):
        file.write(data)
        return
    rest = memoryview(data)
    while rest:
        count: int | None = file.write(rest)
        if count is None:
            raise BlockingIOError(errno.EAGAIN, "the file object is full; make it blocking")
        rest = rest[count:]


def load(file: Any) -> bytes:
    """All that is at a path, at a URL or in a file object."""
    where = kind(file)
    if where == "object":
        return read(file)
    fs, path = resolve(file) if where == "URL" else (None, file)
    return read_stream(path) if fs is None else bytes(fs.cat_file(path))


def dump(file: Any, data: bytes) -> None:
    """Puts bytes at a path or a URL, or into a file object. A file at a path appears whole or not
    at all."""
    where = kind(file)
    if where == "path":
        _write(file, data)
    elif where == "URL":
        fs, path = resolve(file)
        if fs is None:
            _write(path, data)
        else:
            put(fs, path, file, data)
    else:
        write(file, data)


def dump_text(file: Any, data: bytes) -> None:
    """The same with UTF-8, which file objects that are open for text take, too."""
    if hasattr(file, "encoding"):
        file.write(data.decode())
    else:
        dump(file, data)


def open_object(file: Any, mode: str, trusted: bool) -> Document:
    if hasattr(file, "read") and mode not in ("r", "c"):
        raise ValueError(
            f'a file object cannot be opened with mode "{mode}", since edits could be written '
            'to it only in part; give a path, or use mode "c" and livebuf.dump(doc, file)'
        )
    data = read(file)
    name = getattr(file, "name", None)
    # A descriptor's number is none.
    name = os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else None
    return _open_bytes(data, name, mode, trusted)


def resolve(url: str) -> tuple[Any, str]:
    """The file system of fsspec, and the path in it. `None` stands for the local one."""
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError:
        raise ImportError(
            f"{url!r} is a URL, and these are opened by fsspec, which is not installed: "
            "`pip install fsspec`, and what it needs for the protocol, such as s3fs. Or read "
            "the bytes by other means, and use livebuf.Document(data)"
        ) from None
    fs, path = fsspec.core.url_to_fs(url)
    local = importlib.import_module("fsspec.implementations.local").LocalFileSystem
    return (None if isinstance(fs, local) else fs), path


def put(fs: Any, path: str, url: str, data: bytes, **how: Any) -> None:
    """Writes an object whole; each failure is an `OSError`."""
    try:
        fs.pipe_file(path, data, **how)
    except OSError:
        raise
    except Exception as error:
        # Libraries of stores have errors of their own.
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise OSError(errno.EIO, f"cannot be written ({reason})", url) from error


class Ranges(ABC):
    """Bytes that are read from any offset on: what `Partial` fetches from."""

    size: int

    @abstractmethod
    def read(self, offset: int, length: int) -> bytes:
        """These bytes, which lie within the size."""

    @abstractmethod
    def close(self) -> None:
        """Closes what was opened here."""


class OfObject(Ranges):
    """A binary file object that can seek."""

    def __init__(self, file: Any, owned: bool = False) -> None:
        self.file = file
        self.owned = owned
        self.size = file.seek(0, os.SEEK_END)

    def read(self, offset: int, length: int) -> bytes:
        self.file.seek(offset)
        parts: list[bytes] = []
        # A raw file may give less at a time.
        while length > 0 and (part := self.file.read(length)):
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        if self.owned:
            self.file.close()


class OfUrl(Ranges):
    """What a file system of fsspec has: a request for each range."""

    def __init__(self, fs: Any, path: str, url: str) -> None:
        self.fs = fs
        self.path = path
        size = fs.size(path)
        if size is None:
            raise OSError(errno.EIO, "the server does not tell the document's length", url)
        self.size = size

    def read(self, offset: int, length: int) -> bytes:
        return bytes(self.fs.cat_file(self.path, start=offset, end=offset + length))

    def close(self) -> None:
        """Nothing was opened."""


def ranges(file: object) -> Ranges:
    """What `Partial` reads by: of a path, a URL or a file object."""
    if isinstance(file, Ranges):
        return file
    if kind(file) == "URL":
        fs, path = resolve(str(file))
        if fs is not None:
            return OfUrl(fs, path, str(file))
        file = path
    if isinstance(file, (str, os.PathLike)):
        return OfObject(open(file, "rb", buffering=0), owned=True)
    if isinstance(file, io.TextIOBase):
        raise text_mode(file, "rb")
    if not hasattr(file, "read") or not hasattr(file, "seek"):
        raise wrong_file(file)
    return OfObject(file)


class Target:
    """Where a document goes that was opened for editing at a URL: whole, and if it changed."""

    def __init__(self, fs: Any, path: str, url: str, written: bytes) -> None:
        self.fs = fs
        self.path = path
        self.url = url
        # What the store holds. `None` once edits were rolled back.
        self.written: bytes | None = written
        self.lock = threading.Lock()

    def commit(self, doc: Document) -> None:
        with self.lock:
            data = bytes(doc)
            if self.written is None:
                raise OSError(errno.EIO, "the edits were rolled back", self.url)
            if data != self.written:
                put(self.fs, self.path, self.url, data)
                self.written = data

    def finish(self, doc: Document, commit: bool) -> None:
        if not commit:
            self.written = None
        elif self.written is not None:
            self.commit(doc)


def open_url(url: str, mode: str, trusted: bool, timeout: float | None) -> Document:
    fs, path = resolve(url)
    if fs is not None and mode == "a+":
        return open_or_create(lambda mode: open_url(url, mode, trusted, timeout))
    if fs is None:
        return open_path(path, mode, False, trusted, timeout)
    if mode in ("r", "r+", "c"):
        data = bytes(fs.cat_file(path))
    else:
        data = dumps(None)
        if mode == "w+":
            put(fs, path, url, data)
        else:
            # Not every file system heeds the mode.
            if fs.exists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), url)
            put(fs, path, url, data, mode="create")
    edits = mode not in ("r", "c")
    target = Target(fs, path, url, data) if edits else None
    return _open_bytes(data, url, mode, trusted, target)
