"""A document that processes share: in memory, by a name, with one writer at a time and any readers.

The memory is a file that all of them map. It begins with a head of 64-bit words:

    0  MAGIC
    1  version: how often the document was changed
    2  the version that a writer is making, or made last
    4  place, length and room of the document of each even version
    8  place, length and room of the document of each odd version

So a change is written beside the last document and counts when the version does. Readers never
wait: what they copy is whole if the writer of the next but one version has not begun by then. A
writer that is killed leaves the last document as it was, and the system takes its lock away.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import stat
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from . import _files
from ._errors import Error
from ._livebuf import Document, _passed_on, dumps, fence

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

if sys.platform != "win32":
    import fcntl

MAGIC = int.from_bytes(b"LBSHARED", "little")
PAGE = 4096
VERSION, BEGUN, PLACES = 1, 2, 4

EMPTY: dict[str, Any] = {}

# How long a wait sleeps between two looks: at first, and at most.
SHORT, LONG = 0.00005, 0.001


def _path(name: str | os.PathLike[str]) -> tuple[str, bool]:
    """The file of a name, and whether it lies in a folder that all users write to."""
    if isinstance(name, os.PathLike) or os.sep in name:
        return os.fspath(name), False
    if not name or "\0" in name:
        raise ValueError(f"{name!r} is no name for a shared document")
    folder = "/dev/shm"
    if not os.path.isdir(folder):  # pragma: no cover - macOS
        import tempfile

        folder = tempfile.gettempdir()
    return os.path.join(folder, f"livebuf-{name}"), True


def _begins(descriptor: int) -> int:
    """The first word of a file, 0 if there is none."""
    return int.from_bytes(os.pread(descriptor, 8, 0), "little")


def _pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


class SharedDocument:
    """A document that processes share by a name. The first one makes it of `value`, by default
    an empty object. The others attach to it, and do not look at `value`. With `create=True` it
    must not be there yet (`FileExistsError`), with `create=False` it must (`FileNotFoundError`).

    `read()` gives the document as it is, and never waits. `edit()` changes it, one process and
    thread at a time. A change appears whole or not at all: an exception, or a process that is
    killed, changes nothing. `wait()` and `changes()` tell of changes by others.

    Both copy the document once, which takes about 0.1 ms for a megabyte. The memory grows with
    the document, and is about four times as large.

    A `name` with no slash is one in the memory of this machine, and ends with it. It belongs to
    your user. Another `name` is a path, for example of a file that outlives the machine's memory.
    The memory stays when all processes have ended; `unlink()` frees it.

    >>> with livebuf.SharedDocument("example of the docstring", {"jobs": 0}) as shared:
    ...     with shared.edit() as doc:
    ...         doc["jobs"] += 1
    ...     again = livebuf.SharedDocument("example of the docstring")   # as in another process
    ...     print(again.read()["jobs"])
    ...     again.close()
    ...     shared.unlink()
    1
    """

    def __init__(
        self, name: str | os.PathLike[str], value: Any = EMPTY, *, create: bool | None = None
    ) -> None:
        if sys.platform == "win32":  # pragma: no cover
            raise OSError(errno.ENOTSUP, "shared documents need locks of files as Unix has them")
        self._descriptor = -1
        self._name = name
        self._file, self._own = _path(name)
        # One edit at a time in this process; the lock of the file is between processes.
        self._turn = threading.Lock()
        self._owner: int | None = None
        self._attach(value, create)

    # The file.

    def _attach(self, value: Any, create: bool | None) -> None:
        """Opens the file, and makes the document of `value` in it if nobody has."""
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_NOFOLLOW if self._own else 0)
        while True:
            made = 0 if create is False else os.O_CREAT | (os.O_EXCL if create else 0)
            descriptor = os.open(self._file, flags | made, 0o600)
            try:
                found = os.fstat(descriptor)
                if not stat.S_ISREG(found.st_mode):
                    raise ValueError(f"{self._file!r} is no file that can be mapped")
                if self._own and found.st_uid != os.geteuid():
                    raise PermissionError(
                        f"the shared document {self._name!r} belongs to another user: {self._file}"
                    )
                # A file of zeros is one that somebody makes now, or ended while making.
                if _begins(descriptor) == 0:
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                    try:
                        there = self._is_there(descriptor)
                        if there and _begins(descriptor) == 0:
                            if create is False:
                                raise FileNotFoundError(f"{self._file!r} was not made to its end")
                            self._make(descriptor, dumps(value))
                    finally:
                        fcntl.flock(descriptor, fcntl.LOCK_UN)
                    if not there:
                        os.close(descriptor)
                        continue
                if _begins(descriptor) != MAGIC:
                    raise ValueError(f"{self._file!r} is no shared document")
                self._head = memoryview(mmap.mmap(descriptor, PAGE)).cast("Q")
                self._body = mmap.mmap(descriptor, 0)
                self._seen: tuple[int, Document] | None = None
                self._draft: tuple[int, Document | None] | None = None
                self._descriptor, self._pid = descriptor, os.getpid()
                return
            except BaseException:
                os.close(descriptor)
                raise

    def _is_there(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self._file))
        except FileNotFoundError:
            return False

    @staticmethod
    def _make(descriptor: int, payload: bytes) -> None:
        """Lays out two places, and the document in the first."""
        room = _pages(max(2 * len(payload), 1))
        _reserve(descriptor, PAGE + 2 * room)
        os.pwrite(descriptor, payload, PAGE)
        words = [MAGIC, 0, 0, 0, PAGE, len(payload), room, 0, PAGE + room, 0, room]
        head = b"".join(word.to_bytes(8, "little") for word in words)
        # The magic comes last: a file without it is one that nobody finished.
        os.pwrite(descriptor, head[8:], 8)
        os.pwrite(descriptor, head[:8], 0)

    def _ready(self) -> None:
        """Raises if it is closed. In a forked process it attaches again, since locks and positions
        are shared with the parent."""
        if self._descriptor < 0:
            raise ValueError("the shared document is closed")
        if self._pid != os.getpid():
            os.close(self._descriptor)
            self._descriptor = -1
            self._turn, self._owner = threading.Lock(), None
            self._attach(EMPTY, False)

    # Reading.

    @property
    def name(self) -> str | os.PathLike[str]:
        """What it was made or found by."""
        return self._name

    @property
    def version(self) -> int:
        """How often the document was changed since it was made."""
        self._ready()
        return self._head[VERSION]

    def read(self) -> Document:
        """The document as it is after the last change: a copy that never changes, and cannot be
        edited. As long as nobody changes the document, you get the same copy again.
        """
        return self._read()[1]

    def _read(self) -> tuple[int, Document]:
        self._ready()
        seen = self._seen
        if seen is None or seen[0] != self._head[VERSION]:
            version, payload = self._copy()
            self._seen = seen = version, Document(payload)
        return seen

    def _copy(self) -> tuple[int, bytes]:
        """The version, and the document's bytes."""
        head = self._head
        while True:
            version = head[VERSION]
            fence()
            at = PLACES + version % 2 * 4
            place, length = head[at], head[at + 1]
            self._reach(place + length)
            payload = self._body[place : place + length]
            fence()
            # This place is written again by the writer of the next but one version.
            if head[BEGUN] <= version + 1:
                return version, payload

    def _reach(self, end: int) -> None:
        """Maps the file anew if its end was beyond the memory that is mapped: somebody has made it
        larger."""
        if end > len(self._body):
            self._body = mmap.mmap(self._descriptor, 0)

    def wait(self, version: int | None = None, timeout: float | None = None) -> bool:
        """Waits until the document is of another version than `version`, by default the one
        that `read()` or `edit()` gave you last. False if that takes longer than `timeout` seconds.

        It looks every 0.05 ms at first, and every ms later on, so it takes about 3 % of a core.
        """
        self._ready()
        if version is None:
            known = [each[0] for each in (self._seen, self._draft) if each]
            version = max(known) if known else self._head[VERSION]
        end = None if timeout is None else time.monotonic() + timeout
        pause = SHORT
        while self._head[VERSION] == version:
            if end is not None and time.monotonic() >= end:
                return False
            time.sleep(pause)
            pause = min(pause * 1.05, LONG)
        return True

    def changes(self, timeout: float | None = None) -> Iterator[Document]:
        """The document as it is, and again after each change. Changes that follow faster than
        you look come as one. Ends if nothing changes for `timeout` seconds.

        >>> with livebuf.SharedDocument("example of changes", {"n": 1}) as shared:
        ...     for doc in shared.changes(timeout=0.01):
        ...         print(doc["n"])
        ...         if doc["n"] < 3:
        ...             with shared.edit() as edited:
        ...                 edited["n"] += 1
        ...     shared.unlink()
        1
        2
        3
        """
        while True:
            version, document = self._read()
            yield document
            if not self.wait(version, timeout):
                return

    # Writing.

    @contextlib.contextmanager
    def edit(self, timeout: float | None = None) -> Iterator[Document]:
        """Edits the document: `with shared.edit() as doc: ...`. What you changed appears to all at
        the end of the block, at once. An exception in the block changes nothing. Other threads and
        processes that edit wait for the end; after `timeout` seconds they get a `TimeoutError`.

        The document ends with the block: it and its views raise `ClosedError` then.
        """
        self._ready()
        end = None if timeout is None else time.monotonic() + timeout
        if self._owner == threading.get_ident():
            raise RuntimeError("this thread is editing the shared document already")
        if not self._turn.acquire(timeout=-1 if timeout is None else max(timeout, 0)):
            raise TimeoutError("another thread edits the shared document")
        self._owner = threading.get_ident()
        try:
            self._lock(end)
            try:
                version, document = self._drafted()
                self._draft = None
                try:
                    yield document
                    version = self._publish(version, document)
                except BaseException:
                    # The caller's error is the one to see.
                    with contextlib.suppress(Error):
                        _passed_on(document)
                    raise
                # What is kept of the document must not change what the next edit begins with.
                self._draft = version, _passed_on(document)
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        finally:
            self._owner = None
            self._turn.release()

    def _lock(self, end: float | None) -> None:
        if end is None:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        else:
            how = fcntl.LOCK_EX | fcntl.LOCK_NB
            try:
                left = end - time.monotonic()
                _files.waiting(left, lambda: fcntl.flock(self._descriptor, how))
            except BlockingIOError:
                raise TimeoutError("another process edits the shared document") from None
        if not self._is_there(self._descriptor):
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            raise FileNotFoundError(
                f"the shared document {self._name!r} was unlinked; make a SharedDocument again"
            )

    def _drafted(self) -> tuple[int, Document]:
        """This process's own copy of the last document."""
        version, document = self._draft or (-1, None)
        if document is None or version != self._head[VERSION]:
            version, payload = self._copy()
            document = Document(payload).editable()
            # Edits then use the space again that they free.
            document.validate()
        return version, document

    def _publish(self, version: int, document: Document) -> int:
        """Makes the document the one of the next version, and gives its number."""
        head, length = self._head, document.nbytes
        version += 1
        at = PLACES + version % 2 * 4
        if length > head[at + 2]:
            # Its place goes to the file's end. The other one has the document that is read now.
            place, room = _pages(os.fstat(self._descriptor).st_size), _pages(2 * length)
            _reserve(self._descriptor, place + room)
            head[BEGUN] = version
            fence()
            head[at], head[at + 2] = place, room
        else:
            head[BEGUN] = version
            fence()
            place = head[at]
        self._reach(place + length)
        with memoryview(document) as payload:
            self._body[place : place + length] = payload
        head[at + 1] = length
        fence()
        head[VERSION] = version
        return version

    # The end.

    def unlink(self) -> None:
        """Frees the memory when all processes have closed it. Those that have it open can go on
        reading, and get a `FileNotFoundError` if they edit. A new document can take the name.
        """
        os.unlink(self._file)

    def close(self) -> None:
        """Lets go of the memory. What `read()` gave stays good."""
        if getattr(self, "_descriptor", -1) >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._seen = self._draft = None
            del self._head, self._body

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process attaches by the name.
        return _attached, (self._name,)

    def __repr__(self) -> str:
        state = "closed" if self._descriptor < 0 else f"version {self._head[VERSION]}"
        return f"<livebuf.SharedDocument {os.fspath(self._name)!r}, {state}>"


def _attached(name: str | os.PathLike[str]) -> SharedDocument:
    return SharedDocument(name, create=False)


def _reserve(descriptor: int, size: int) -> None:
    """Makes the file so long that no write to its memory fails for want of space."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:  # pragma: no cover - macOS
        os.ftruncate(descriptor, size)
