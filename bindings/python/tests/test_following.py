"""Views follow their elements, as references to a list's dicts do."""

from __future__ import annotations

import copy
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import livebuf
import pytest
from conftest import LONG


def rows(count: int, tables: bool = True) -> tuple[livebuf.Document, list[dict[str, Any]]]:
    model = [{"n": n, "in": {"t": [n]}} for n in range(count)]
    return livebuf.Document.from_python(model, tables=tables), model


@pytest.mark.parametrize("tables", [False, True])
def test_removing_while_looping(tables: bool) -> None:
    """Bug: the second removal raised StaleError, with half of the work done."""
    doc, model = rows(40, tables)
    for row in list(doc.root):
        if row["n"] % 3:
            doc.root.remove(row)
    assert doc == [row for row in model if row["n"] % 3 == 0]
    held = list(doc.root)
    while len(doc.root) > 1:
        first = doc.root.pop(0)
        assert first["n"] == held[0]["n"] and held.pop(0).document is not doc
        assert [row["n"] for row in held] == [row["n"] for row in doc.root]


@pytest.mark.parametrize("tables", [False, True])
def test_sorting_and_shuffling(tables: bool) -> None:
    doc, model = rows(60, tables)
    held = list(doc.root)
    random.Random(1).shuffle(doc.root)
    assert sorted(row["n"] for row in doc.root) == list(range(60))
    assert [row["n"] for row in held] == list(range(60))
    held = list(doc.root)
    numbers = [row["n"] for row in held]
    doc.root.sort(key=lambda row: (row["n"] % 7, row["n"]))
    assert [row["n"] for row in held] == numbers and all(row.document is doc for row in held)
    doc.sort(key=lambda row: -row["n"])
    doc.reverse()
    assert doc == model and [row["n"] for row in held] == numbers
    for row in held:
        row["seen"] = True
    assert all(row["seen"] for row in doc)
    with pytest.raises(TypeError):
        doc.sort()
    doc.validate()


def test_a_member_that_is_renamed() -> None:
    doc = livebuf.from_json('{"a": {"b": {"c": 1}}, "z": {}}')
    b = doc["a"]["b"]
    doc.root.rename("a", "new")
    b["d"] = 2
    doc.compact()
    b["e"] = 3
    assert doc == {"new": {"b": {"c": 1, "d": 2, "e": 3}}, "z": {}}


def play(chance: random.Random) -> None:
    doc, model = rows(chance.randrange(1, 40), chance.random() < 0.5)
    if chance.random() < 0.3:
        doc = livebuf.Document(bytearray(bytes(doc)))
    array = doc.root
    held: list[tuple[Any, Any]] = []
    sources: dict[int, Any] = {}
    number = 1000

    def new() -> dict[str, Any]:
        nonlocal number
        number += 1
        return {"n": number, "in": {"t": [number]}}

    def hold() -> None:
        for _ in range(3):
            if model:
                at = chance.randrange(len(model))
                held.append((array[at], model[at]))
                held.append((array[at]["in"]["t"], model[at]["in"]["t"]))

    def hold_below() -> None:
        """A view of what may be in the document or away."""
        objects = [pair for pair in held if isinstance(pair[1], dict) and "in" in pair[1]]
        if objects:
            view, plain = chance.choice(objects)
            made = view["in"]
            held.append((made, plain["in"]))
            sources[id(made)] = view

    def insert() -> None:
        at, row = chance.randrange(-3, len(model) + 3), new()
        array.insert(at, row)
        model.insert(at, copy.deepcopy(row))

    def delete() -> None:
        part = slice(*sorted(chance.randrange(len(model) + 1) for _ in range(2)))
        part = slice(part.start, part.stop, chance.choice([None, None, 2, 3]))
        del array[part], model[part]

    def pop() -> None:
        if model:
            at = chance.randrange(len(model))
            assert array.pop(at) == model.pop(at)

    def splice() -> None:
        start = chance.randrange(len(model) + 1)
        part = slice(start, start + chance.randrange(4))
        items = [new() for _ in range(chance.randrange(4))]
        array[part] = items
        model[part] = copy.deepcopy(items)

    def swap() -> None:
        if model:
            one, other = chance.randrange(len(model)), chance.randrange(len(model))
            array.swap(one, other)
            model[one], model[other] = model[other], model[one]

    def sort() -> None:
        by = chance.randrange(1, 20)
        reverse = chance.random() < 0.5
        array.sort(key=lambda row: row["n"] % by, reverse=reverse)
        model.sort(key=lambda row: row["n"] % by, reverse=reverse)

    def reverse() -> None:
        array.reverse()
        model.reverse()

    def edit() -> None:
        if held:
            view, plain = chance.choice(held)
            if isinstance(plain, list):
                view.append(number)
                plain.append(number)
            else:
                view["more"] = plain["more"] = number
                if chance.random() < 0.3 and "in" in plain:
                    view["in"] = {"t": []}
                    plain["in"] = {"t": []}

    def patch() -> None:
        at, row = chance.randrange(len(model) + 1), new()
        doc.patch([{"op": "add", "path": f"/{at}", "value": row}])
        model.insert(at, copy.deepcopy(row))

    def remove_all() -> None:
        least = chance.randrange(1, 60)
        doc.remove_all("$[?@.n > $least && @.n < 900]", least=least)
        model[:] = [row for row in model if not least < row["n"] < 900]

    def change_root() -> None:
        doc.root = [new()]
        if held:
            edit()

    def transact(depth: int = 1) -> None:
        """All steps, within a transaction that is rolled back more often than not. Edits of what
        was away before are none of its own, so they stay."""
        before, known = [(plain, copy.copy(plain)) for plain in below(model)], list(held)
        there = {id(view): view.document is doc for view, _ in held}
        with doc.transaction() as changes:
            for _ in range(chance.randrange(1, 6)):
                if depth < 3 and chance.random() < 0.2:
                    transact(depth + 1)
                else:
                    step(chance.choice(steps))
            if chance.random() < 0.4:
                return
            if chance.random() < 0.3:
                change_root()
            changes.rollback()
        for plain, was in before:
            plain.clear()
            plain.extend(was) if isinstance(plain, list) else plain.update(was)
        for view, plain in held[len(known) :]:
            source = view
            while source is not None and id(source) not in there:
                source = sources.get(id(source))
            if source is not None and not there[id(source)]:
                known.append((view, plain))
                continue
            with pytest.raises(livebuf.StaleError, match="rolled back"):
                len(view)
        # What was made and is let go of leaves its number to others.
        kept = {id(view) for view, _ in known}
        for number in [number for number in sources if number not in kept]:
            del sources[number]
        held[:] = known

    done: list[str] = []

    def step(make: Callable[[], None]) -> None:
        done.append(make.__name__)
        make()
        assert array == model, done
        for view, plain in held:
            assert view == plain, done
            if isinstance(plain, dict):
                is_there = any(item is plain for item in below(model))
                assert (view.document is doc) == is_there, done

    steps: list[Callable[[], None]] = [hold, insert, delete, pop, splice, swap, sort, reverse]
    steps += [edit, edit, patch, remove_all, hold, hold_below, hold_below, insert]
    for _ in range(40):
        step(chance.choice([*steps, doc.compact, transact, transact]))
    doc.validate()


def below(plain: Any) -> Iterator[Any]:
    """Lists and dicts, with all that are in them."""
    if isinstance(plain, (dict, list)):
        yield plain
        for inner in plain.values() if isinstance(plain, dict) else plain:
            yield from below(inner)


def test_by_chance(chance: random.Random) -> None:
    """Beside a list of dicts, of which many are held while it is edited in any way."""
    for _ in range(400 if LONG else 40):
        play(chance)


def test_many_views_that_live() -> None:
    doc, _ = rows(3000)
    held = list(doc.root)
    for _ in range(200):
        del doc[0]
    doc.root.insert(0, {"n": -1})
    assert [row["n"] for row in held] == list(range(3000))
    assert held[199].document is not doc and held[200].document is doc
    assert doc.root.index(held[2999]) == 2800
    del held
    assert doc[2800]["n"] == 2999


def test_other_processes_edits() -> None:
    """After `refresh` a view shows what its path leads to, as its own edits have moved it."""
    shared = bytearray(livebuf.dumps([{"n": n} for n in range(9)]) + bytes(10_000))
    ours, theirs = livebuf.Document(memoryview(shared)), livebuf.Document(memoryview(shared))
    view = ours[5]
    del ours[0]
    theirs.refresh()
    theirs[4]["n"] = 55
    ours.refresh()
    assert view["n"] == 55
    view["n"] = 56
    theirs.refresh()
    assert theirs[4]["n"] == 56


def test_copies_behave_like_the_view() -> None:
    """Bug: copies of a view were documents, without `update`, `append` and the rest."""
    doc = livebuf.from_json('{"a": {"x": [1]}, "l": [{"y": 2}]}')
    for make in (
        lambda view: view.copy(),
        copy.copy,
        copy.deepcopy,
        lambda view: pickle.loads(pickle.dumps(view)),
        lambda view: pickle.loads(pickle.dumps(view, protocol=2)),
    ):
        one, two = make(doc["a"]), make(doc["l"])
        assert isinstance(one, livebuf.Object) and isinstance(two, livebuf.Array)
        one.update(z=1)
        one["x"].append(2)
        two.append(3)
        assert one == {"x": [1, 2], "z": 1} and two == [{"y": 2}, 3]
        assert one.document is not doc and one.document.root == one
        match one:
            case {"z": z}:
                assert z == 1
    assert doc == {"a": {"x": [1]}, "l": [{"y": 2}]}


LET_GO = """
import threading, time, livebuf
model = [{"n": n, "in": {"t": [n]}} for n in range(30_000)]
doc = livebuf.Document.from_python(model, tables=False)
for turn in range(6):
    held = [row["in"] for row in list(doc.root)[:3000]]
    kept = held[::100]
    last = doc.root[-1 - turn]

    def let_go():
        while held:
            del held[-50:]
            time.sleep(0)

    thread = threading.Thread(target=let_go)
    thread.start()
    assert doc.remove_all("$..t[?@ == $n]", n=29_999 - turn) == 1
    thread.join()
    assert last["in"]["t"] == []
    assert [view["t"][0] for view in kept] == list(range(0, 3000, 100))
"""


def test_views_that_other_threads_let_go_of_meanwhile() -> None:
    """Bug: a long search lets other threads run, which let go of views that the edit looked at
    afterwards. Memory that was given back is overwritten here, so that this crashed."""
    command = [sys.executable, "-c", LET_GO]
    subprocess.run(command, env=os.environ | {"PYTHONMALLOC": "debug"}, check=True)
