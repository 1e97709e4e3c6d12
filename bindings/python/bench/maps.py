"""The benchmark of the Lite² paper: flat maps of strings, of which a few entries are read or
changed, and which are written from a dict."""

from __future__ import annotations

import itertools
import random
import string
from collections.abc import Callable
from functools import partial

import livebuf

from .formats import FORMATS, Format, TooLarge
from .report import COPY, DICT, OURS, Report, duration
from .timing import Contest, Effort

# Entries, and bytes of key and value together, on average.
SIZES = ((100, 40), (1_000, 160), (100_000, 640))
KEY = 16
COUNTS = (1, 10, 100)
WORKLOADS = [
    *(f"read {count}" for count in COUNTS),
    *(f"change {count}" for count in COUNTS),
    "write",
]
# Keys that are looked up, in turns: what they touch stays in the caches, or does not.
DRAWN, MANY = 100, 10_000
IN_PLACE = "livebuf, opening a bytearray"
KEPT_OPEN = "livebuf, a bytearray kept open"


def _word(generator: random.Random, length: int) -> str:
    return "".join(generator.choices(string.ascii_letters + string.digits, k=length))


class Maps:
    """A map, as a dict and in every format, and what is asked of it."""

    def __init__(self, entries: int, length: int, formats: list[Format]) -> None:
        generator = random.Random(entries)
        mean = length - KEY

        def value() -> str:
            return _word(generator, generator.randint(mean // 2, mean + mean // 2))

        self.title = f"{entries}×{length}"
        self.entries = {_word(generator, KEY): value() for _ in range(entries)}
        self.data: dict[str, bytes] = {}
        self.cannot: dict[str, str] = {}
        for each in formats:
            try:
                self.data[each.name] = each.encode(self.entries)
            except ValueError as error:
                self.cannot[each.name] = str(error)
        known = list(self.entries)

        # Equal to the dict's keys, but other objects, as from a user's request.
        def key() -> str:
            return "".join(generator.choice(known))

        self.many = [[key()] for _ in range(MANY)]
        self.keys: dict[int, list[list[str]]] = {}
        self.pairs: dict[int, list[list[tuple[str, str]]]] = {}
        values = [value() for _ in range(1_000)]
        for count in COUNTS:
            sets = range(DRAWN // count)
            self.keys[count] = [[key() for _ in range(count)] for _ in sets]
            self.pairs[count] = [
                [(key, generator.choice(values)) for key in keys] for keys in self.keys[count]
            ]


def _check(formats: list[Format], maps: Maps, report: Report) -> list[Format]:
    """The formats that give right answers."""
    good = []
    for each in formats:
        try:
            right = _is_right(each, maps)
        except TooLarge as error:
            report.skip(f"maps of {maps.title} bytes: {each.name}: {error}")
            continue
        if report.same(f"maps/{maps.title}", each.name, right):
            good.append(each)
    return good


def _is_right(each: Format, maps: Maps) -> bool:
    data = maps.data[each.name]
    right = each.decode(data) == maps.entries
    for keys in (*maps.keys[1][:50], *maps.keys[10], maps.keys[100][0]):
        right &= each.read(data, keys) == maps.entries[keys[-1]]
    if each.change is not None:
        pairs = maps.pairs[10][0]
        right &= each.decode(each.change(data, pairs)) == {**maps.entries, **dict(pairs)}
    right &= each.decode(data) == maps.entries
    if each.write is not None:
        right &= each.decode(each.write(maps.entries)) == maps.entries
    return right


def load(report: Report, workload: str) -> list[Format]:
    """The formats that are installed."""
    formats = []
    for package, make in FORMATS:
        try:
            formats.append(make())
        except ImportError as error:
            report.skip(f"{workload}: {package}: {error}")
    return formats


def held(report: Report, maps: Maps, formats: list[Format]) -> list[Format]:
    """The formats that hold the map; names the others."""
    for name, reason in maps.cannot.items():
        report.skip(f"maps of {maps.title} bytes: {name}: {reason}")
    return [each for each in formats if each.name in maps.data]


def fitting(formats: list[Format], entries: int) -> list[Format]:
    return [each for each in formats if each.most is None or entries <= each.most]


def run(effort: Effort, report: Report, wanted: Callable[[str], bool]) -> None:
    formats = load(report, "maps")
    for entries, length in SIZES:
        if effort.quick:
            entries = min(entries, 20_000)
        if any(wanted(f"maps/{entries}×{length}/{workload}") for workload in WORKLOADS):
            chosen = fitting(formats, entries)
            for each in formats:
                if each not in chosen:
                    report.skip(f"maps/{entries}×{length}: {each.name} takes minutes of it")
            _size(effort, report, wanted, Maps(entries, length, chosen), chosen)


def _size(
    effort: Effort,
    report: Report,
    wanted: Callable[[str], bool],
    maps: Maps,
    formats: list[Format],
) -> None:
    formats = _check(held(report, maps, formats), maps, report)
    title, answers = f"Maps of {maps.title} bytes", f"maps/{maps.title}"
    sizes = {each.name: len(maps.data[each.name]) for each in formats}
    report.figure(title, "bytes", sizes, answers)
    for count in COUNTS:
        if wanted(f"maps/{maps.title}/read {count}"):
            _read(effort, report, maps, formats, count, title)
    if len(maps.entries) > MANY and wanted(f"maps/{maps.title}/read 1"):
        _read_cold(effort, report, maps, formats, title)
    for count in COUNTS:
        if wanted(f"maps/{maps.title}/change {count}"):
            _change(effort, report, maps, formats, count, title)
    if wanted(f"maps/{maps.title}/write"):
        _write(effort, report, maps, formats, title)


def _read_dict(entries: dict[str, str], keys: list[str]) -> str:
    value = ""
    for key in keys:
        value = entries[key]
    return value


def _read_cold(
    effort: Effort, report: Report, maps: Maps, formats: list[Format], title: str
) -> None:
    """One of many keys, for those that do not parse."""
    contest = Contest()
    for each in formats:
        if each.name in (OURS, "pylite3", "Cap'n Proto"):
            contest.add(each.name, partial(each.read, maps.data[each.name]), maps.many)
    contest.add(DICT, partial(_read_dict, maps.entries), maps.many)
    times = contest.run(effort)
    report.figure(title, "READ 1, cold", times, f"maps/{maps.title}")
    rivals = [each.name for each in formats if each.name != OURS]
    report.against(f"maps/{maps.title}/read 1, cold, fastest peer", times, rivals, 1.0)


def _read(
    effort: Effort, report: Report, maps: Maps, formats: list[Format], count: int, title: str
) -> None:
    contest = Contest()
    for each in formats:
        contest.add(each.name, partial(each.read, maps.data[each.name]), maps.keys[count])
    contest.add(DICT, partial(_read_dict, maps.entries), maps.keys[count])
    times = contest.run(effort)
    report.figure(title, f"READ {count}", times, f"maps/{maps.title}")
    name = f"maps/{maps.title}/read {count}"
    limit = {1: 0.5e-6, 100: 20e-6}.get(count)
    if limit is not None:
        report.time(name, times[OURS], limit, f"a dict in memory {duration(times[DICT])}")
    rivals = [each.name for each in formats if each.name != OURS]
    report.against(f"{name}, fastest peer", times, rivals, 1.0)


def _change(
    effort: Effort, report: Report, maps: Maps, formats: list[Format], count: int, title: str
) -> None:
    contest = Contest()
    pairs = maps.pairs[count]
    for each in formats:
        if each.change is not None:
            contest.add(each.name, partial(each.change, maps.data[each.name]), pairs)
    data = maps.data[OURS]
    floor = bytearray(len(data))
    contest.add(COPY, lambda _: bytes(floor))
    _add_in_place(contest, report, maps, pairs)
    times = contest.run(effort)
    report.figure(title, f"READ-WRITE {count}", times, f"maps/{maps.title}")
    name = f"maps/{maps.title}/change {count}"
    if count == 1:
        copied = times[COPY]
        detail = f"1.3 copies of {duration(copied)}, and 2 µs"
        report.time(name, times[OURS], 1.3 * copied + 2e-6, detail)
        report.time(f"{name}, in place", times[IN_PLACE], 2e-6, "opening the bytearray each time")
        report.time(f"{name}, kept open", times[KEPT_OPEN], 2e-6, "validated once")
    rivals = [each.name for each in formats if each.name != OURS]
    report.against(f"{name}, fastest peer", times, rivals, None)


def _add_in_place(
    contest: Contest, report: Report, maps: Maps, pairs: list[list[tuple[str, str]]]
) -> None:
    """Changes of a caller's bytearray: made anew for each batch, since it grows."""
    data, array = maps.data[OURS], bytearray()

    def warm(entries: livebuf.Document) -> None:
        # Growing for the first time moves all of it.
        for key, value in itertools.chain.from_iterable(pairs):
            entries[key] = value
        # Copying it has put all else out of the caches.
        for key, _ in itertools.chain.from_iterable(pairs):
            entries[key]

    def renew() -> None:
        # Made shorter, it keeps its room.
        array[:] = data
        warm(livebuf.Document(array))
        array[len(data) :] = b""
        array[:] = data

    def change(pairs: list[tuple[str, str]]) -> None:
        entries = livebuf.Document(array)
        for key, value in pairs:
            entries[key]
            entries[key] = value

    kept: list[livebuf.Document] = []

    def reopen() -> None:
        kept[:] = [livebuf.Document(bytearray(data))]
        kept[0].validate()
        warm(kept[0])

    def change_kept(pairs: list[tuple[str, str]]) -> None:
        entries = kept[0]
        for key, value in pairs:
            entries[key]
            entries[key] = value

    expected = {**maps.entries, **dict(pairs[0])}
    renew()
    change(pairs[0])
    report.same(f"maps/{maps.title}", IN_PLACE, livebuf.loads(array) == expected)
    reopen()
    change_kept(pairs[0])
    # `warm` has set all pairs, too.
    expected = {**maps.entries, **dict(itertools.chain(*pairs, pairs[0]))}
    report.same(f"maps/{maps.title}", KEPT_OPEN, kept[0].to_python() == expected)
    contest.add(IN_PLACE, change, pairs, renew)
    contest.add(KEPT_OPEN, change_kept, pairs, reopen)


def _write(effort: Effort, report: Report, maps: Maps, formats: list[Format], title: str) -> None:
    contest = Contest()
    for each in formats:
        if each.write is not None:
            contest.add(each.name, each.write, [maps.entries])
    floor = bytearray(len(maps.data[OURS]))
    contest.add(COPY, lambda _: bytes(floor))
    times = contest.run(effort)
    report.figure(title, "WRITE", times, f"maps/{maps.title}")
    report.against(f"maps/{maps.title}/write", times, ["orjson", "msgspec msgpack"], 1.2)
