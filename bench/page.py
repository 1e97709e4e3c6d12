"""Makes docs/benchmarks.md, docs/figures.md and the plots from a file of results. Nothing is
measured here.

python bench/page.py [bench/results/FILE.json]
"""

from __future__ import annotations

import io
import json
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib
from tabulate import tabulate

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
PAGE = Path("docs/benchmarks.md")
FIGURES = Path("docs/figures.md")
IMAGES = Path("docs/images")

# Okabe and Ito's palette, which colour-blind readers can tell apart. Grey reads on light and dark.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999933", "#882255")
MARKERS = "osD^vP*X"
GREY = "#808890"
OURS_COLOUR = "#D55E00"
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "livebuf",
    "font.family": "sans-serif",
    "font.size": 11,
    "text.color": GREY,
    "axes.labelcolor": GREY,
    "axes.edgecolor": GREY,
    "axes.titlecolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "grid.color": GREY,
    "grid.alpha": 0.25,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "savefig.transparent": True,
}

Task = dict[str, Any]
# Competitors that hold no bytes to store or send: what memory alone takes.
MEMORY = (
    "the least of any function",
    "dict in memory",
    "bytes(bytearray)",
    "BTreeMap",
    "Vec",
    "in memory",
    "tree",
    "vectors",
)
# Contests of LiveBuf with itself, or of other work.
NOT_COMPARED = (
    "c-and-rust/",
    "twitter/parse or validate",
    "delta/",
    "edit/",
    "table/sum",
    "changes/",
    "Changes of",
    "memory/",
)


def is_ours(name: str) -> bool:
    return name.startswith("livebuf")


def is_memory(name: str) -> bool:
    return any(part in name for part in MEMORY)


def tasks(found: dict[str, Any]) -> list[tuple[str, Task]]:
    return [
        (program, task)
        for program, result in found["programs"].items()
        for task in result["results"]
    ]


def quantity(value: float, unit: str) -> str:
    if unit in ("B", "pages"):
        unit = "page" if (unit, value) == ("pages", 1) else unit
        return f"{value:,.0f} {unit}" if value >= 10 else f"{value:.3g} {unit}"
    for factor, name in ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")):
        if value < 1000 * factor or name == "s":
            return f"{value / factor:.3g} {name}"
    raise AssertionError


def cell(entry: dict[str, Any] | None, unit: str) -> str:
    if entry is None:
        return "–"
    return quantity(entry["minimum"], unit) + (" ~" if entry["spread"] > 0.25 else "")


def compared(task: Task) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Our entry, and that of the fastest or smallest peer."""
    if task["task"].startswith(NOT_COMPARED):
        return None
    ours = [each for each in task["competitors"] if is_ours(each["name"])]
    peers = [each for each in task["competitors"] if not is_ours(each["name"])]
    stored = [each for each in peers if not is_memory(each["name"])]
    peers = stored or peers
    if not ours or not peers:
        return None
    plain = next((each for each in ours if each["name"] == "livebuf"), ours[0])
    return plain, min(peers, key=lambda each: each["minimum"])


def family(task: Task) -> str:
    return task["task"].rpartition("/")[0] or task["task"]


def group(task: Task) -> tuple[str, str]:
    """What is lost or won together, and the rest of the name."""
    parts = task["task"].split("/")
    if parts[0] == "sizes":
        return f"bytes, {parts[2]}", parts[1]
    if parts[0] == "lists":
        return f"lists, {parts[2]}", f"{parts[1]}, {parts[3]}"
    if parts[0] == "map":
        return f"map, {parts[3]}", f"{parts[2]} {parts[1]}"
    if parts[0] == "array":
        return f"array, {parts[1]}", parts[2]
    return family(task), parts[-1]


# --- Plots


def _save(figure: Figure, name: str) -> tuple[Path, str]:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    plt.close(figure)
    lines = (line.rstrip() for line in buffer.getvalue().splitlines())
    return IMAGES / f"bench-{name}.svg", "\n".join(lines) + "\n"


def _styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """A colour and a marker for each; ours stands out, memory is grey."""
    others = [name for name in names if not is_ours(name) and not is_memory(name)]
    ours = [name for name in names if is_ours(name)]
    found: dict[str, dict[str, Any]] = {}
    palette = [colour for colour in COLOURS if colour != OURS_COLOUR]
    for at, name in enumerate(others):
        style = "-" if at < len(palette) else "--"
        found[name] = {"color": palette[at % len(palette)], "marker": MARKERS[at % 8], "ls": style}
    for at, name in enumerate(ours):
        found[name] = {
            "color": OURS_COLOUR,
            "marker": MARKERS[at % 8],
            "ls": ("-", "--", ":")[at % 3],
            "lw": 2.5,
            "zorder": 5,
        }
    for name in names:
        found.setdefault(name, {"color": GREY, "marker": ".", "ls": ":"})
    return found


def _lines(
    axes: Axes, points: dict[str, list[tuple[float, float]]], styles: dict[str, dict[str, Any]]
) -> None:
    for name, line in points.items():
        axes.plot(*zip(*line, strict=True), label=name, markersize=4, **styles[name])
    axes.set_xscale("log")
    axes.set_yscale("log")


def _series(selected: list[tuple[float, Task]]) -> dict[str, list[tuple[float, float]]]:
    points: dict[str, list[tuple[float, float]]] = {}
    for x, task in sorted(selected, key=lambda pair: pair[0]):
        for entry in task["competitors"]:
            points.setdefault(entry["name"], []).append((x, entry["minimum"]))
    return points


def _legend(figure: Figure, axes: Iterable[Axes], columns: int = 4) -> None:
    handles: dict[str, Any] = {}
    for each in axes:
        for handle, label in zip(*each.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=columns, fontsize=10
    )


def _panels(
    title: str,
    panels: list[tuple[str, dict[str, list[tuple[float, float]]]]],
    x: str,
    y: str,
    columns: int,
) -> Figure:
    rows = -(-len(panels) // columns)
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(max(6.0, 3.4 * columns), 2.9 * rows + 1.2),
        layout="constrained",
        sharey=True,
        squeeze=False,
    )
    # Some are not in all panels.
    names = list(dict.fromkeys(name for _, points in panels for name in points))
    styles = _styles(names)
    flat = list(grid.flat)
    for axes, (name, points) in zip(flat, panels, strict=False):
        _lines(axes, points, styles)
        axes.set_title(name, fontsize=11)
        axes.set_xlabel(x)
    for axes in grid[:, 0]:
        axes.set_ylabel(y)
    for axes in flat[len(panels) :]:
        axes.set_axis_off()
    figure.suptitle(title)
    _legend(figure, flat, 4 if columns > 2 else 2)
    return figure


def _split(found: list[tuple[str, Task]], start: str) -> list[tuple[str, str, Task]]:
    """Tasks of this beginning, with their family and last part."""
    return [
        (family(task), task["task"].rpartition("/")[2], task)
        for _, task in found
        if task["task"].startswith(start)
    ]


def plots(found: dict[str, Any]) -> dict[Path, str]:
    all_tasks = tasks(found)
    with matplotlib.rc_context(STYLE):
        made = [plot(all_tasks) for plot in (_paper, _sizes, _growth, _written, _shares, _fields)]
    return dict(each for each in made if each is not None)


# Those that a reader tells apart at a look; all others are among the figures.
PAPER = ("livebuf", "orjson", "msgspec msgpack", "BSON", "protobuf map", "pylite3")


def _paper(found: list[tuple[str, Task]]) -> tuple[Path, str] | None:
    panels = []
    for word, label in (("READ", "read"), ("READ-WRITE", "read and change")):
        families: dict[str, list[tuple[float, Task]]] = {}
        for name, last, task in _split(found, "Maps of "):
            action, _, count = last.partition(" ")
            if action == word and count.isdigit():
                families.setdefault(name, []).append((float(count), task))
        for name, selected in families.items():
            count, _, size = name.removeprefix("Maps of ").removesuffix(" bytes").partition("×")
            points = {
                name: [(x, 1e6 * seconds) for x, seconds in line]
                for name, line in _series(selected).items()
                if name in PAPER
            }
            panels.append((f"{label}: {int(count):,} of {size} bytes", points))
    if not panels:
        return None
    title = "Reading and changing some entries of a stored map (Python)"
    return _save(_panels(title, panels, "entries that are read or changed", "µs", 3), "paper")


def _sizes(found: list[tuple[str, Task]]) -> tuple[Path, str] | None:
    by: dict[str, dict[str, dict[str, float]]] = {"raw": {}, "zstd-3": {}}
    for name, last, task in _split(found, "sizes/"):
        if last in by:
            by[last][name.removeprefix("sizes/")] = {
                entry["name"]: entry["minimum"] for entry in task["competitors"]
            }
    if not by["raw"]:
        return None
    files = list(by["raw"])
    figure, grid = plt.subplots(
        1, 2, figsize=(10.2, 0.42 * len(files) + 2.4), layout="constrained", sharey=True
    )
    base = "JSON, minified"
    names = list(dict.fromkeys(name for each in by["raw"].values() for name in each))
    styles = _styles([name for name in names if name != base])
    for axes, (packer, sizes) in zip(grid, by.items(), strict=True):
        for name, style in styles.items():
            rows = [at for at, file in enumerate(files) if name in sizes.get(file, {})]
            ratios = [sizes[files[at]][name] / sizes[files[at]][base] for at in rows]
            axes.plot(
                ratios,
                rows,
                ls="",
                label=name,
                color=style["color"],
                marker=style["marker"],
                markersize=8 if is_ours(name) else 6,
                zorder=style.get("zorder", 2),
            )
        axes.axvline(1, color=GREY, lw=1.5)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_title("as it is" if packer == "raw" else "both after zstd-3", fontsize=11)
        axes.set_yticks(range(len(files)), files)
    grid[0].invert_yaxis()
    figure.suptitle("Bytes, compared with minified JSON (line: equal; left is smaller)")
    _legend(figure, grid)
    return _save(figure, "sizes")


def _growth(found: list[tuple[str, Task]]) -> tuple[Path, str] | None:
    return _grown(
        found,
        lambda name: "bytes written" not in name,
        "One operation on stored bytes, as the document grows (Rust)",
        "seconds",
        "growth",
    )


def _written(found: list[tuple[str, Task]]) -> tuple[Path, str] | None:
    return _grown(
        found,
        lambda name: "bytes written" in name,
        "Bytes that one edit writes, mean of 32 edits (Rust)",
        "bytes",
        "written",
    )


def _grown(
    found: list[tuple[str, Task]], wanted: Callable[[str], bool], title: str, y: str, name: str
) -> tuple[Path, str] | None:
    families: dict[str, list[tuple[float, Task]]] = {}
    for kind, size, task in _split(found, "growth/"):
        if wanted(kind):
            label = kind.removeprefix("growth/").removesuffix(", bytes written")
            families.setdefault(label, []).append((float(size), task))
    if not families:
        return None
    panels = [(label, _series(selected)) for label, selected in families.items()]
    figure = _panels(title, panels, "entries or elements", y, 3)
    return _save(figure, name)


def crossing(ours: list[tuple[float, float]], theirs: list[tuple[float, float]]) -> float | None:
    """Where our line first rises over theirs, by straight lines between the points."""
    pairs = [(x, a, b) for (x, a), (_, b) in zip(ours, theirs, strict=True)]
    if pairs and pairs[0][1] > pairs[0][2]:
        return pairs[0][0]
    for (x0, a0, b0), (x1, a1, b1) in zip(pairs, pairs[1:], strict=False):
        if a0 <= b0 and a1 > b1:
            part = (b0 - a0) / ((b0 - a0) + (a1 - b1))
            return x0 + part * (x1 - x0)
    return None


def _shares(found: list[tuple[str, Task]]) -> tuple[Path, str] | None:
    families: dict[str, list[tuple[float, Task]]] = {}
    for name, share, task in _split(found, "shares/"):
        families.setdefault(name.removeprefix("shares/"), []).append((100 * float(share), task))
    if not families:
        return None
    panels = [(name, _series(selected)) for name, selected in families.items()]
    title = "Reading a share of a stored document (Python)"
    figure = _panels(title, panels, "share that is read, %", "seconds", 3)
    for axes in figure.axes:
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return _save(figure, "shares")


def _fields(found: list[tuple[str, Task]]) -> tuple[Path, str] | None:
    selected = [(float(count), task) for _, count, task in _split(found, "fields/")]
    if not selected:
        return None
    title = "Changing k of 1,000 fields of a stored document (Python)"
    return _save(_panels(title, [("", _series(selected))], "k, fields", "seconds", 1), "fields")


# --- The page


def _table(rows: list[list[str]], headers: list[str], right: bool = True) -> str:
    align = ("left", *(("right" if right else "left") for _ in headers[1:]))
    return tabulate(rows, headers, "pipe", colalign=align, disable_numparse=True)


def losses(found: dict[str, Any]) -> list[list[str]]:
    """Families of tasks in which a peer is ahead, the worst task of each."""
    families: dict[tuple[str, str], list[tuple[float, str, Task, Any, Any]]] = {}
    for program, task in tasks(found):
        pair = compared(task)
        if pair is not None:
            ours, peer = pair
            ratio = ours["minimum"] / peer["minimum"] if peer["minimum"] else 0.0
            name, item = group(task)
            families.setdefault((program, name), []).append((ratio, item, task, ours, peer))
    rows = []
    for (program, name), each in families.items():
        lost = [one for one in each if one[0] > 1.0]
        if not lost:
            continue
        ratio, item, task, ours, peer = max(lost, key=lambda one: one[0])
        unit = task["unit"]
        rows.append(
            (
                ratio,
                [
                    f"{name}: {item}",
                    program,
                    cell(ours, unit),
                    f"{cell(peer, unit)}, {peer['name']}",
                    f"{ratio:.2f}",
                    f"{len(lost)} of {len(each)}",
                ],
            )
        )
    rows.sort(key=lambda row: -row[0])
    return [row for _, row in rows]


# Those whose other figures are listed at the end; JavaScript has a section.
PROGRAMS = ("rust", "python", "c", "sqlite")

# The losses that may matter to a reader: what is done, the task, the peer, and why LiveBuf loses.
MATTER = (
    (
        "many small messages, bytes",
        "sizes/messages of readings, each by itself/raw",
        "MessagePack",
        "every document brings a header, its keys and places for them",
    ),
    (
        "small JSON text to a document",
        "json/parse/github_events",
        "yyjson",
        "layout and columns are decided for few values",
    ),
    (
        "Python objects to bytes",
        "twitter.json: whole conversions/dumps",
        "orjson",
        "keys, equal texts and columns are found, which JSON writes out again",
    ),
    (
        "a map of 1,000 texts to bytes",
        "Maps of 1000×160 bytes/WRITE",
        "orjson",
        "the index that makes look-ups fast is made here",
    ),
    (
        "structs that all differ to bytes",
        "lists/10000 random/serialize/raw",
        "wincode",
        "the peer has a schema and writes neither names nor types",
    ),
    (
        "a hundred of 1,000 fields of a document in Redis",
        "stored/Redis, change of 1000 fields/100",
        "JSON, orjson, kept",
        "each range that changed is a command of its own",
    ),
    (
        "one row of a million by its number, in polars",
        "polars over files/one row of two columns, by id",
        "Parquet",
        "a document has no statistics by which an engine passes over groups",
    ),
    (
        "a map of 10,000 texts after a million edits, bytes",
        "bytes after so many edits of a map/1000000",
        "MessagePack, by rmp-serde",
        "free space is kept for later edits, until `compact()`",
    ),
)


def matter(found: dict[str, Any]) -> str:
    """A table of these, where they were measured and still are losses."""
    by_name = {task["task"]: task for _, task in tasks(found)}
    rows = []
    for what, name, peer, why in MATTER:
        task = by_name.get(name)
        if task is None:
            continue
        entries = {each["name"]: each["minimum"] for each in task["competitors"]}
        ratio = entries["livebuf"] / entries[peer]
        if ratio > 1:
            ours, theirs = (rounded(entries[each], task["unit"]) for each in ("livebuf", peer))
            rows.append([what, ours, f"{theirs}, {peer.partition(', by')[0]}", f"{ratio:.2g}", why])
    return _table(rows, ["", "LiveBuf", "peer", "ratio", "because"], right=False)


def rounded(value: float, unit: str) -> str:
    """A quantity to two digits: more would be noise."""
    return quantity(float(f"{value:.2g}"), unit)


def pays(found: dict[str, Any], start: str, peer: str) -> str:
    """From where parsing with this peer pays, of the first family that begins so."""
    selected = [(float(last), task) for _, last, task in _split(tasks(found), start)]
    points = _series(selected)
    if peer not in points:
        return "an unknown part"
    at = crossing(points["livebuf"], points[peer])
    if at is None:
        return "none"
    return f"{100 * at:.0f} %" if at < 1 else f"{float(f'{at:.2g}'):,.0f}"


def score(found: dict[str, Any]) -> tuple[int, int]:
    """Tasks with a peer in which we are ahead or level, and all of them."""
    pairs = [pair for _, task in tasks(found) if (pair := compared(task)) is not None]
    won = sum(ours["minimum"] <= peer["minimum"] for ours, peer in pairs)
    return won, len(pairs)


# Families of tasks that have a section of their own: its name in page.md, the program, and how
# the tasks' names begin.
SECTIONS = {
    "python_concurrency": ("python", "Concurrency, "),
    "python_memory": ("python", "Peak memory, "),
    "python_coordinates": ("python", "Coordinates, "),
    "python_stored": ("python", "stored/Redis"),
    "rust_graph": ("rust", "graph of "),
    "rust_vectors": ("rust", "vectors of "),
    "rust_lists": ("rust", "lists/10000 "),
    "rust_bytes": ("rust", "bytes after "),
}


def _families(found: dict[str, Any], program: str, wanted: Callable[[Task], bool]) -> list[str]:
    """Figures of a program's tasks, a table for each family."""
    grouped: dict[str, list[Task]] = {}
    for task in filter(wanted, found["programs"].get(program, {}).get("results", [])):
        grouped.setdefault(family(task), []).append(task)
    parts = []
    for name, members in grouped.items():
        columns = [task["task"].rpartition("/")[2] for task in members]
        names = dict.fromkeys(each["name"] for task in members for each in task["competitors"])
        rows = []
        for competitor in names:
            cells = []
            for task in members:
                entries = {each["name"]: each for each in task["competitors"]}
                cells.append(cell(entries.get(competitor), task["unit"]))
            rows.append([competitor, *cells])
        parts.append(f"**{_escape(name)}**\n\n{_table(rows, ['', *map(_escape, columns)])}")
    return parts


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("$", "\\$")


def features() -> str:
    """The table of features, whose cells name a test or a source."""
    data = tomllib.loads((ROOT / "bench" / "features.toml").read_text(encoding="utf-8"))
    formats, sources = data["formats"], data["sources"]
    numbers = {key: at for at, key in enumerate(sources, 1)}
    rows = []
    for feature in data["feature"]:
        row = [feature["name"]]
        test = feature["test"].partition("::")[0]
        # The page is in docs/.
        test = test.removeprefix("docs/") if test.startswith("docs/") else f"../{test}"
        row.append(f"[{feature['livebuf']}]({test})")
        for name in formats:
            value, _, source = feature.get(name, "").partition("@")
            row.append(f"{value} [{numbers[source]}]({sources[source]})" if value else "")
        rows.append(row)
    headers = ["", "LiveBuf", *formats.values()]
    return _table(rows, headers, right=False)


def plain(found: dict[str, Any]) -> str:
    """All figures, for the terminal."""
    parts = []
    for program in found["programs"]:
        parts += _families(found, program, lambda task: True)
    return "\n\n".join(parts)


def _crossings(found: dict[str, Any]) -> list[list[str]]:
    rows = []
    kinds = (("shares/", 100.0, " %"), ("fields/", 1.0, " fields"), ("stored/", 1.0, " fields"))
    for start, factor, unit in kinds:
        families: dict[str, list[tuple[float, Task]]] = {}
        for name, last, task in _split(tasks(found), start):
            families.setdefault(name, []).append((factor * float(last), task))
        for name, selected in families.items():
            points = _series(selected)
            for peer, line in points.items():
                if is_ours(peer) or peer.startswith("hash of"):
                    continue
                at = crossing(points["livebuf"], line)
                text = "never in this range" if at is None else f"{at:.3g}{unit}"
                rows.append([f"{name}", peer, text])
    return rows


def _section(found: dict[str, Any], program: str, start: str) -> str:
    tables = _families(found, program, lambda task: task["task"].startswith(start))
    return "\n\n".join(tables) or "Not in this run."


def _others(found: dict[str, Any], program: str) -> str:
    """Figures of a program that no section has."""
    starts = tuple(start for its, start in SECTIONS.values() if its == program)
    tables = _families(found, program, lambda task: not task["task"].startswith(starts))
    return "\n\n".join(tables)


def javascript(found: dict[str, Any]) -> str:
    """The section on JavaScript, where it was measured."""
    if "js" not in found["programs"]:
        return ""
    text = (
        "The package in Node, beside packages of npm. The clock is the processor time of the "
        'process, so collecting garbage counts. "rows" are 10,000 generated objects. "JSON, bytes" '
        "also makes a string of the bytes, or bytes of the string. Members are read by getters in "
        "code that has seen objects of many other keys; so are those of the plain objects."
    )
    return f"## JavaScript\n\n{text}\n\n{_others(found, 'js')}\n\n"


def answers_compared(found: dict[str, Any]) -> str:
    """In how many tasks of each program, and what the others are."""
    parts = []
    for program, result in found["programs"].items():
        results = result["results"]
        flags = [task.get("answers_compared") for task in results]
        if None in flags:
            parts.append(f"{program} keeps no such mark")
            continue
        others = [task["task"] for task, flag in zip(results, flags, strict=True) if not flag]
        text = f"{sum(flags)} of {len(flags)} of {program}"
        parts.append(text + (f" (not {_escape('; '.join(others))})" if others else ""))
    return ", ".join(parts)


def example() -> str:
    """The source of a format of the maps."""
    text = (ROOT / "bindings" / "python" / "bench" / "formats.py").read_text(encoding="utf-8")
    return "def _bson" + text.partition("def _bson")[2].partition("\n\n\n")[0]


def page(found: dict[str, Any], source: str, template: str = "page.md") -> str:
    """A page from its template: `page.md` is Benchmarks, `figures.md` has all figures."""
    text = (ROOT / "bench" / template).read_text(encoding="utf-8")
    machine, versions = found["machine"], found["versions"]
    won, compared_tasks = score(found)
    skipped = [
        f"- {program}: {_escape(reason)}"
        for program, result in found["programs"].items()
        for reason in result["skipped"]
    ]
    failed = [reason for result in found["programs"].values() for reason in result["failed"]]
    seconds = sum(result["seconds"] for result in found["programs"].values())
    before = machine["load before"]
    load = "" if before is None else f"; load {before} before the run"
    headers = ["the worst task of a group", "from", "LiveBuf", "peer", "ratio", "lost"]
    fill = {
        "kind": "A quick run: provisional figures" if found["quick"] else "A full run",
        "date": found["date"],
        "commit": found["commit"],
        "source": source,
        "machine": f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, kernel "
        f"{machine['kernel']}{load}",
        "note": f"{found['note']} " if "note" in found else "",
        "some_again": "Some tasks were run again, and [All figures](figures.md) names them. "
        if "again" in found
        else "",
        "again": "".join(
            f"- Run again on {one['date']} at commit {one['commit']}, of {one['program']}: "
            f"{_escape('; '.join(one['tasks']))}\n"
            for one in found.get("again", [])
        ),
        "versions": "\n".join(f"| {name} | {version} |" for name, version in versions.items()),
        "minutes": f"{seconds / 60:.0f}",
        "answers": "no wrong answer" if not failed else f"WRONG: {'; '.join(failed)}",
        "won": str(won),
        "compared": str(compared_tasks),
        "matter": matter(found),
        "rows_pay": pays(found, "shares/all fields of rows", "MessagePack, msgspec"),
        "fields_pay": pays(found, "fields/", "JSON, orjson"),
        "losses": _table(losses(found), headers),
        "crossings": _table(
            _crossings(found), ["document", "peer that parses", "parsing pays from"]
        ),
        "features": features(),
        "answers_compared": answers_compared(found),
        "example": example(),
        **{name: _section(found, *which) for name, which in SECTIONS.items()},
        "javascript": javascript(found),
        "javascript_link": "- [JavaScript](#javascript)\n" if "js" in found["programs"] else "",
        "skipped": "\n".join(skipped) or "- nothing",
        **{
            f"figures_{program}": _others(found, program)
            for program in ("rust", "python", "c", "sqlite")
        },
    }
    for name, filled in fill.items():
        text = text.replace("{{" + name + "}}", filled)
    return text


def made(path: Path) -> dict[Path, str]:
    """All files that the results become."""
    found = json.loads(path.read_text(encoding="utf-8"))
    source = path.resolve().relative_to(ROOT).as_posix()
    pages = {PAGE: page(found, source), FIGURES: page(found, source, "figures.md")}
    return {**pages, **plots(found)}


def write(path: Path) -> None:
    for file, text in made(path).items():
        (ROOT / file).write_text(text, encoding="utf-8")


def shown() -> Path:
    """The file of results that the page is made of."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    return ROOT / text.partition("<!-- results: ")[2].partition(" -->")[0]


if __name__ == "__main__":
    write(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else shown())
