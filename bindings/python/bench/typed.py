"""Documents as objects of types, and back: nested dataclasses and Structs, in lists and by their
keys, and two of eight fields."""

from __future__ import annotations

import dataclasses
import random
import string
from collections.abc import Callable
from typing import Any

import livebuf

from .report import OURS, Report
from .timing import Contest, Effort

WORKLOADS = ("decode", "by key", "two of eight fields", "dumps")
PEER = "msgspec msgpack"


@dataclasses.dataclass
class Place:
    latitude: float
    longitude: float


@dataclasses.dataclass
class Address:
    street: str
    city: str
    code: int
    place: Place


@dataclasses.dataclass
class Item:
    name: str
    count: int


@dataclasses.dataclass
class User:
    id: int
    name: str
    email: str
    active: bool
    score: float
    address: Address
    tags: list[str]
    items: list[Item]


@dataclasses.dataclass
class Two:
    id: int
    name: str


def users(count: int) -> list[dict[str, Any]]:
    """What the users are made of."""
    generator = random.Random(3)

    def text(length: int) -> str:
        return "".join(generator.choices(string.ascii_lowercase, k=length))

    return [
        {
            "id": number,
            "name": text(8),
            "email": f"{text(12)}@example.org",
            "active": generator.random() < 0.5,
            "score": generator.random(),
            "address": {
                "street": text(14),
                "city": text(6),
                "code": generator.randrange(100_000),
                "place": {"latitude": generator.random(), "longitude": generator.random()},
            },
            "tags": [text(5) for _ in range(number % 4)],
            "items": [
                {"name": text(6), "count": generator.randrange(100)} for _ in range(number % 3)
            ],
        }
        for number in range(count)
    ]


def _structs(msgspec: Any) -> dict[Any, Any]:
    """The same classes as Structs."""
    made: dict[Any, Any] = {}
    for cls in (Place, Address, Item, User, Two):
        hints = [(field.name, field.type) for field in dataclasses.fields(cls)]
        space = {known.__name__: struct for known, struct in made.items()}
        resolved = [(name, eval(str(hint), {}, space)) for name, hint in hints]
        made[cls] = msgspec.defstruct(cls.__name__, resolved)
    return made


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    count = 2_000 if effort.quick else 20_000
    if not any(wanted(f"typed/{workload}") for workload in WORKLOADS):
        return
    try:
        import msgspec
    except ImportError as error:
        report.skip(f"typed: {error}")
        return
    title = f"{count:,} nested objects of types"
    plain = users(count)
    in_list = livebuf.dumps(plain), msgspec.msgpack.encode(plain)
    keyed = {f"user {each['id']}": each for each in plain}
    by_key = livebuf.dumps(keyed), msgspec.msgpack.encode(keyed)
    structs = _structs(msgspec)
    # What is decoded, the figure to reach for it and for writing it.
    kinds = {"dataclasses": (lambda cls: cls, 1.2), "Structs": (structs.__getitem__, 2.0)}
    for kind, (class_of, limit) in kinds.items():
        for workload, cls, most in (
            ("decode", User, limit),
            ("by key", User, limit),
            ("two of eight fields", Two, 1.0),
        ):
            name = f"typed/{workload}"
            if not wanted(name):
                continue
            ours, theirs = by_key if workload == "by key" else in_list
            item = class_of(cls)
            target = dict[str, item] if workload == "by key" else list[item]
            decoder, peer = livebuf.Decoder(target), msgspec.msgpack.Decoder(target)
            # Each is compared with what the plain objects become.
            found, theirs_found = decoder.decode(ours), peer.decode(theirs)
            expected = msgspec.convert(keyed if workload == "by key" else plain, target)
            report.same(f"{name}, {kind}", OURS, found == expected)
            report.same(f"{name}, {kind}", PEER, theirs_found == expected)
            del found, theirs_found, expected
            contest = Contest()
            contest.add(OURS, decoder.decode, [ours])
            contest.add(PEER, peer.decode, [theirs])
            times = contest.run(effort)
            report.figure(title, f"{workload}, {kind}", times, f"{name}, {kind}")
            report.against(f"{name}, {kind}", times, [PEER], most)
        if wanted("typed/dumps"):
            target = list[class_of(User)]  # type: ignore[misc]
            values = livebuf.Decoder(target).decode(in_list[0])
            encoder, packer = livebuf.Encoder(), msgspec.msgpack.Encoder()
            name = f"typed/dumps, {kind}"
            report.same(name, OURS, livebuf.loads(encoder.encode(values)) == plain)
            report.same(name, PEER, msgspec.msgpack.decode(packer.encode(values)) == plain)
            contest = Contest()
            contest.add(OURS, encoder.encode, [values])
            contest.add(PEER, packer.encode, [values])
            times = contest.run(effort)
            report.figure(title, f"dumps, {kind}", times, name)
            report.against(name, times, [PEER], 1.3)
