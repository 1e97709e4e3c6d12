"""A real document, `twitter.json`: whole conversions, and one field deep within it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import livebuf

from .report import COPY, OURS, Report, duration
from .timing import Contest, Effort

STATUS = 50
POINTER = f"/statuses/{STATUS}/user/screen_name"
KEPT_OPEN = "livebuf, a bytearray kept open"


WORKLOADS = ("from_json", "dumps", "loads", "get", "set")

Get = Callable[[Any], str]
Set = Callable[[Any, str], bytes]
Offer = Callable[[str, Callable[[], Any]], None]


class _Library:
    """What a library can do with the document; `data` are the bytes it reads."""

    def __init__(
        self,
        package: str,
        data: Any = None,
        loads: Callable[[Any], Any] | None = None,
        dumps: Callable[[Any], bytes] | None = None,
        get: dict[str, Get] | None = None,
        change: Set | None = None,
    ) -> None:
        self.package, self.data, self.loads, self.dumps = package, data, loads, dumps
        self.get, self.change = get or {}, change


def _through_python(loads: Callable[[Any], Any], dumps: Callable[[Any], bytes]) -> Set:
    def change(data: Any, text: str) -> bytes:
        value = loads(data)
        value["statuses"][STATUS]["user"]["screen_name"] = text
        return dumps(value)

    return change


def _by_item(loads: Callable[[Any], Any]) -> Get:
    return lambda data: loads(data)["statuses"][STATUS]["user"]["screen_name"]


def _livebuf(text: bytes, value: Any) -> _Library:
    Document = livebuf.Document

    def change(data: bytes, text: str) -> bytes:
        document = Document(data).editable()
        document.set_pointer(POINTER, text)
        return bytes(document)

    get = {
        "livebuf": lambda data: Document(data)["statuses"][STATUS]["user"]["screen_name"],
        "livebuf pointer": lambda data: Document(data).pointer(POINTER),
    }
    return _Library(OURS, livebuf.dumps(value), livebuf.loads, livebuf.dumps, get, change)


def _json(text: bytes, value: Any) -> _Library:
    def dumps(value: Any) -> bytes:
        return json.dumps(value).encode()

    get = {"json": _by_item(json.loads)}
    return _Library("json", text, json.loads, dumps, get, _through_python(json.loads, dumps))


def _orjson(text: bytes, value: Any) -> _Library:
    import orjson

    change = _through_python(orjson.loads, orjson.dumps)
    get = {"orjson": _by_item(orjson.loads)}
    return _Library("orjson", text, orjson.loads, orjson.dumps, get, change)


def _msgspec(text: bytes, value: Any) -> _Library:
    import msgspec
    from msgspec.msgpack import Decoder, decode, encode

    # A name for each nesting, of which only the one field is decoded.
    User = msgspec.defstruct("User", [("screen_name", str)])
    Status = msgspec.defstruct("Status", [("user", User)])
    typed = Decoder(msgspec.defstruct("Tweets", [("statuses", list[Status])]))

    def get_typed(data: bytes) -> str:
        return typed.decode(data).statuses[STATUS].user.screen_name

    get = {"msgspec msgpack": _by_item(decode), "msgspec msgpack, typed": get_typed}
    return _Library(
        "msgspec msgpack", encode(value), decode, encode, get, _through_python(decode, encode)
    )


def _msgpack(text: bytes, value: Any) -> _Library:
    import msgpack

    def skip_to(reader: Any, wanted: str) -> None:
        for _ in range(reader.read_map_header()):
            if reader.unpack() == wanted:
                return
            reader.skip()

    def scan(data: bytes) -> str:
        reader = msgpack.Unpacker(max_buffer_size=len(data))
        reader.feed(data)
        skip_to(reader, "statuses")
        reader.read_array_header()
        for _ in range(STATUS):
            reader.skip()
        skip_to(reader, "user")
        skip_to(reader, "screen_name")
        return reader.unpack()

    loads, dumps = msgpack.unpackb, msgpack.packb
    get = {"msgpack": _by_item(loads), "msgpack, skipping": scan}
    return _Library("msgpack", dumps(value), loads, dumps, get, _through_python(loads, dumps))


def _ormsgpack(text: bytes, value: Any) -> _Library:
    from ormsgpack import packb, unpackb

    get = {"ormsgpack": _by_item(unpackb)}
    change = _through_python(unpackb, packb)
    return _Library("ormsgpack", packb(value), unpackb, packb, get, change)


def _cbor2(text: bytes, value: Any) -> _Library:
    from cbor2 import dumps, loads

    change = _through_python(loads, dumps)
    return _Library("cbor2", dumps(value), loads, dumps, {"cbor2": _by_item(loads)}, change)


def _pysimdjson(text: bytes, value: Any) -> _Library:
    import simdjson

    parser = simdjson.Parser()

    def loads(text: bytes) -> Any:
        return parser.parse(text).as_dict()

    get = {"pysimdjson": lambda text: parser.parse(text).at_pointer(POINTER)}
    return _Library("pysimdjson", text, loads, None, get)


def _cysimdjson(text: bytes, value: Any) -> _Library:
    import cysimdjson

    parser = cysimdjson.JSONParser()

    def loads(text: bytes) -> Any:
        return parser.parse(text).export()

    get = {"cysimdjson": lambda text: parser.parse(text).at_pointer(POINTER)}
    return _Library("cysimdjson", text, loads, None, get)


def _pylite3(text: bytes, value: Any) -> _Library:
    import pylite3

    def loads(data: bytes) -> Any:
        return pylite3.loads(data, recursive=True)

    get = {"pylite3": _by_item(pylite3.loads)}
    change = _through_python(loads, pylite3.dumps)
    return _Library("pylite3", pylite3.dumps(value), loads, pylite3.dumps, get, change)


LIBRARIES = (
    _livebuf,
    _json,
    _orjson,
    _pysimdjson,
    _cysimdjson,
    _msgspec,
    _msgpack,
    _ormsgpack,
    _cbor2,
    _pylite3,
)


def _check(report: Report, library: _Library, value: Any, name: str) -> bool:
    loads, package = library.loads, library.package
    right = loads is None or report.same("twitter/loads", package, loads(library.data) == value)
    if library.dumps is not None and loads is not None:
        same = loads(library.dumps(value)) == value
        right &= report.same("twitter/dumps", package, same)
    for way, get in library.get.items():
        right &= report.same("twitter/get", way, get(library.data) == name)
    if library.change is not None:
        changed = library.change(library.data, "Ada")
        same = all(get(changed) == "Ada" for get in library.get.values())
        right &= report.same("twitter/set", package, same)
    return right


def run(effort: Effort, report: Report, wanted: Callable[[str], bool], data: Path) -> None:
    if not any(wanted(f"twitter/{workload}") for workload in WORKLOADS):
        return
    path = data / "twitter.json"
    if not path.exists():
        report.skip(f"twitter: no file {path}")
        return
    text = path.read_bytes()
    value = json.loads(text)
    name = value["statuses"][STATUS]["user"]["screen_name"]
    libraries = []
    for load in LIBRARIES:
        try:
            library = load(text, value)
        except ImportError as error:
            report.skip(f"twitter: {error}")
            continue
        if _check(report, library, value, name):
            libraries.append(library)
    if wanted("twitter/from_json"):
        _json_text(effort, report, libraries, text)
    if wanted("twitter/dumps"):
        _dumps(effort, report, libraries, value)
    for collector in (False, True):
        if wanted("twitter/loads"):
            _loads(effort, report, libraries, collector)
    if wanted("twitter/get"):
        _get(effort, report, libraries)
    if wanted("twitter/set"):
        _set(effort, report, libraries)


TITLE = "twitter.json: whole conversions"


def _json_text(effort: Effort, report: Report, libraries: Sequence[_Library], text: bytes) -> None:
    parsers = [each for each in libraries if each.data is text and each.loads is not None]
    value = json.loads(text)
    report.same("twitter/from_json", OURS, livebuf.from_json(text) == value)
    for library in parsers:
        report.same("twitter/from_json", library.package, library.loads(text) == value)
    for collector in (False, True):
        contest = Contest(collector=collector)
        contest.add(OURS, livebuf.from_json, [text])
        for library in parsers:
            contest.add(library.package, library.loads, [text])
        times = contest.run(effort)
        suffix = ", collector on" if collector else ""
        column = f"JSON to document or objects{suffix}"
        report.figure(TITLE, column, times, "twitter/from_json")
        report.against(f"twitter/from_json{suffix}", times, ["orjson"], 1.0)
    contest = Contest()
    document = livebuf.from_json(text)
    report.same("twitter/to_json", OURS, json.loads(livebuf.to_json(document)) == value)
    contest.add(OURS, livebuf.to_json, [document])
    for library in libraries:
        if library.data is text and library.dumps is not None:
            same = json.loads(library.dumps(value)) == value
            report.same("twitter/to_json", library.package, same)
            contest.add(library.package, library.dumps, [json.loads(text)])
    times = contest.run(effort)
    report.figure(TITLE, "document or objects to JSON", times, "twitter/to_json")
    report.against("twitter/to_json of a document", times, ["orjson"], None)


def _dumps(effort: Effort, report: Report, libraries: Sequence[_Library], value: Any) -> None:
    contest = Contest()
    for library in libraries:
        if library.dumps is not None:
            contest.add(library.package, library.dumps, [value])
    times = contest.run(effort)
    report.figure(TITLE, "dumps", times, "twitter/dumps")
    sizes = {each.package: len(each.dumps(value)) for each in libraries if each.dumps}
    report.figure(TITLE, "bytes", sizes, "twitter/dumps")
    report.against("twitter/dumps", times, ["orjson"], 2.0)


def _loads(effort: Effort, report: Report, libraries: Sequence[_Library], collector: bool) -> None:
    contest = Contest(collector=collector)
    for library in libraries:
        if library.loads is not None:
            contest.add(library.package, library.loads, [library.data])
    times = contest.run(effort)
    suffix = ", collector on" if collector else ""
    report.figure(TITLE, f"loads{suffix}", times, "twitter/loads")
    report.against(f"twitter/loads{suffix}", times, ["msgspec msgpack"], 1.1)


def _get(effort: Effort, report: Report, libraries: Sequence[_Library]) -> None:
    contest = Contest()
    for library in libraries:
        for name, get in library.get.items():
            contest.add(name, get, [library.data])
    times = contest.run(effort)
    title = "twitter.json: one field deep within"
    report.figure(title, "get, from stored bytes", times, "twitter/get")
    report.time("twitter/get by []", times[OURS], 0.9e-6, "opening included")
    report.time("twitter/get by pointer", times["livebuf pointer"], 0.9e-6, "opening included")
    rivals = [name for name in times if not name.startswith(OURS)]
    report.against("twitter/get by [], fastest peer", times, rivals, None)


def _set(effort: Effort, report: Report, libraries: Sequence[_Library]) -> None:
    contest = Contest()
    texts = [chr(ord("a") + length) * length for length in range(1, 21)]
    data = b""
    for library in libraries:
        if library.change is not None:
            contest.add(library.package, partial(library.change, library.data), texts)
        if library.package == OURS:
            data = library.data
    floor = bytearray(len(data))
    contest.add(COPY, lambda _: bytes(floor))
    kept: list[livebuf.Document] = []

    def reopen() -> None:
        kept[:] = [livebuf.Document(bytearray(data))]
        kept[0].validate()
        for text in texts:
            change_kept(text)

    def change_kept(text: str) -> None:
        kept[0]["statuses"][STATUS]["user"]["screen_name"] = text

    reopen()
    found = kept[0].pointer(POINTER)
    report.same("twitter/set", KEPT_OPEN, found == texts[-1])
    contest.add(KEPT_OPEN, change_kept, texts, reopen)
    times = contest.run(effort)
    title = "twitter.json: one field deep within"
    report.figure(title, "set, and have bytes", times, "twitter/set")
    copied = times[COPY]
    detail = f"the copy {duration(copied)}, and 2 µs"
    report.time("twitter/set", times[OURS], copied + 2e-6, detail)
