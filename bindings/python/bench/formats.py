"""The peers, each as a writer, reader and changer of a flat map of strings: what a user of the
library would write who knows it well.

`read` gives the last of the values it reads. `change` reads each entry's value before it sets
another one, and gives bytes again.
"""

from __future__ import annotations

import bisect
import functools
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import livebuf

Keys = Iterable[str]
Pairs = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Format:
    """A library's way to keep a map as bytes."""

    name: str
    write: Callable[[dict[str, str]], bytes] | None
    read: Callable[[bytes, Keys], str]
    change: Callable[[bytes, Pairs], bytes] | None
    encode: Callable[[dict[str, str]], bytes]
    decode: Callable[[bytes], dict[str, str]]
    # Maps of more entries are left out: they would take minutes.
    most: int | None = None


def _whole(name: str, dumps: Callable[[Any], bytes], loads: Callable[[Any], Any]) -> Format:
    """A library that reads and writes whole messages."""

    def read(data: bytes, keys: Keys) -> str:
        value = ""
        entries = loads(data)
        for key in keys:
            value = entries[key]
        return value

    def change(data: bytes, pairs: Pairs) -> bytes:
        entries = loads(data)
        for key, value in pairs:
            entries[key]
            entries[key] = value
        return dumps(entries)

    return Format(name, dumps, read, change, dumps, loads)


def _livebuf() -> Format:
    Document = livebuf.Document

    def read(data: bytes, keys: Keys) -> str:
        value = ""
        entries = Document(data)
        for key in keys:
            value = entries[key]
        return value

    def change(data: bytes, pairs: Pairs) -> bytes:
        entries = Document(data).editable()
        for key, value in pairs:
            entries[key]
            entries[key] = value
        return bytes(entries)

    return Format("livebuf", livebuf.dumps, read, change, livebuf.dumps, livebuf.loads)


def _json() -> Format:
    import json

    def dumps(entries: Any) -> bytes:
        return json.dumps(entries).encode()

    return _whole("json", dumps, json.loads)


def _orjson() -> Format:
    import orjson

    return _whole("orjson", orjson.dumps, orjson.loads)


def _msgspec_json() -> Format:
    import msgspec.json

    return _whole("msgspec JSON", msgspec.json.encode, msgspec.json.decode)


def _msgspec_msgpack() -> Format:
    import msgspec.msgpack

    return _whole("msgspec msgpack", msgspec.msgpack.encode, msgspec.msgpack.decode)


def _msgpack() -> Format:
    import msgpack

    return _whole("msgpack", msgpack.packb, msgpack.unpackb)


def _ormsgpack() -> Format:
    import ormsgpack

    return _whole("ormsgpack", ormsgpack.packb, ormsgpack.unpackb)


def _cbor2() -> Format:
    import cbor2

    return _whole("cbor2", cbor2.dumps, cbor2.loads)


def _pysimdjson() -> Format:
    import orjson
    import simdjson

    parser = simdjson.Parser()

    def read(data: bytes, keys: Keys) -> str:
        value = ""
        entries = parser.parse(data)
        for key in keys:
            value = entries[key]
        return value

    def decode(data: bytes) -> Any:
        return parser.parse(data).as_dict()

    changed = _whole("", orjson.dumps, decode)
    return Format("pysimdjson", None, read, changed.change, orjson.dumps, decode)


def _cysimdjson() -> Format:
    import cysimdjson
    import orjson

    parser = cysimdjson.JSONParser()

    def read(data: bytes, keys: Keys) -> str:
        value = ""
        entries = parser.parse(data)
        for key in keys:
            value = entries[key]
        return value

    def decode(data: bytes) -> Any:
        return parser.parse(data).export()

    changed = _whole("", orjson.dumps, decode)
    return Format("cysimdjson", None, read, changed.change, orjson.dumps, decode)


def _bson() -> Format:
    import bson

    return _whole("BSON", bson.encode, bson.decode)


def _flexbuffers() -> Format:
    """Google's Python code: reads in place, and has no edits."""
    from flatbuffers import flexbuffers

    def dumps(entries: dict[str, str]) -> bytes:
        return bytes(flexbuffers.Dumps(entries))

    def read(data: bytes, keys: Keys) -> str:
        value = ""
        entries = flexbuffers.GetRoot(data).AsMap
        for key in keys:
            value = entries[key].AsString
        return value

    changed = _whole("", dumps, flexbuffers.Loads)
    return Format("FlexBuffers", dumps, read, changed.change, dumps, flexbuffers.Loads, 1_000)


def _protobuf() -> Format:
    """A message with one field, `map<string, string> entries = 1`."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="bench.proto", package="bench", syntax="proto3")
    message = file.message_type.add(name="Map")
    kind = descriptor_pb2.FieldDescriptorProto
    entry = message.nested_type.add(name="EntriesEntry")
    entry.options.map_entry = True
    for number, name in enumerate(("key", "value"), 1):
        entry.field.add(name=name, number=number, type=kind.TYPE_STRING, label=kind.LABEL_OPTIONAL)
    message.field.add(
        name="entries",
        number=1,
        type=kind.TYPE_MESSAGE,
        label=kind.LABEL_REPEATED,
        type_name=".bench.Map.EntriesEntry",
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    Map = message_factory.GetMessageClass(pool.FindMessageTypeByName("bench.Map"))

    def write(entries: dict[str, str]) -> bytes:
        return Map(entries=entries).SerializeToString()

    def read(data: bytes, keys: Keys) -> str:
        value = ""
        entries = Map.FromString(data).entries
        for key in keys:
            value = entries[key]
        return value

    def change(data: bytes, pairs: Pairs) -> bytes:
        message = Map.FromString(data)
        entries = message.entries
        for key, value in pairs:
            entries[key]
            entries[key] = value
        return message.SerializeToString()

    def decode(data: bytes) -> dict[str, str]:
        return dict(Map.FromString(data).entries)

    return Format("protobuf map", write, read, change, write, decode)


@functools.cache
def _capnp() -> Format:
    """A list of keys and values, ordered by key and searched by bisection."""
    import capnp

    schema = """@0xb2bb6c2d5f1e7a01;
    struct Entry { key @0 :Text; value @1 :Text; }
    struct Map { entries @0 :List(Entry); }"""
    # The parser reads files only, and each schema once.
    directory = tempfile.TemporaryDirectory()
    path = Path(directory.name) / "map.capnp"
    path.write_text(schema)
    Map = capnp.load(str(path)).Map
    directory.cleanup()
    words = 1 << 62

    def key_of(entry: Any) -> str:
        return entry.key

    def find(entries: Any, key: str) -> Any:
        entry = entries[bisect.bisect_left(entries, key, key=key_of)]
        if entry.key != key:
            raise KeyError(key)
        return entry

    def write(entries: dict[str, str]) -> bytes:
        message = Map.new_message()
        places = message.init("entries", len(entries))
        for place, (key, value) in zip(places, sorted(entries.items()), strict=True):
            place.key = key
            place.value = value
        return message.to_bytes()

    def read(data: bytes, keys: Keys) -> str:
        value = ""
        with Map.from_bytes(data, traversal_limit_in_words=words) as message:
            entries = message.entries
            for key in keys:
                value = find(entries, key).value
        return value

    def change(data: bytes, pairs: Pairs) -> bytes:
        with Map.from_bytes(data, traversal_limit_in_words=words) as message:
            changed = message.as_builder()
        entries = changed.entries
        for key, value in pairs:
            entry = find(entries, key)
            entry.value  # noqa: B018
            entry.value = value
        return changed.to_bytes()

    def decode(data: bytes) -> dict[str, str]:
        with Map.from_bytes(data, traversal_limit_in_words=words) as message:
            return {entry.key: entry.value for entry in message.entries}

    return Format("Cap'n Proto", write, read, change, write, decode)


class TooLarge(ValueError):
    """A format cannot hold a value."""


def lite3_dumps(value: Any) -> bytes:
    """Where a value is too large for its buffer, pylite3 gives JSON text, which does not count."""
    import pylite3

    made = pylite3.dumps(value)
    if not isinstance(made, bytes):
        raise TooLarge("pylite3 gives JSON text, since its buffer is too small")
    return made


def _pylite3() -> Format:
    """Without edits of its own: changing makes a dict and writes it again."""
    import pylite3

    dumps = lite3_dumps

    def read(data: bytes, keys: Keys) -> str:
        value = ""
        entries = pylite3.loads(data)
        for key in keys:
            value = entries[key]
        return value

    def decode(data: bytes) -> Any:
        return pylite3.loads(data, recursive=True)

    changed = _whole("", dumps, decode)
    return Format("pylite3", dumps, read, changed.change, dumps, decode)


# Packages on PyPI, and what makes formats of them.
FORMATS: list[tuple[str, Callable[[], Format]]] = [
    ("livebuf", _livebuf),
    ("python", _json),
    ("orjson", _orjson),
    ("pysimdjson", _pysimdjson),
    ("cysimdjson", _cysimdjson),
    ("msgspec", _msgspec_json),
    ("msgspec", _msgspec_msgpack),
    ("msgpack", _msgpack),
    ("ormsgpack", _ormsgpack),
    ("cbor2", _cbor2),
    ("pymongo", _bson),
    ("flatbuffers", _flexbuffers),
    ("protobuf", _protobuf),
    ("pycapnp", _capnp),
    ("pylite3", _pylite3),
]
