"""Changes as values: recordings, deltas, undo, patches and diffs."""

from __future__ import annotations

import asyncio
import gc
import json
import pickle
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import livebuf
import pytest

TEXT = '{"rows": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], "n": 1, "list": [1, 2, 3]}'


@pytest.fixture
def doc() -> livebuf.Document:
    return livebuf.from_json(TEXT)


def follow(copy: bytes, changes: livebuf.Recording, now: bytes) -> bytes:
    """What somebody has who copies the changed ranges only."""
    copied = bytearray(copy[: changes.length].ljust(changes.length, b"\0"))
    for offset, length in changes.ranges:
        copied[offset : offset + length] = now[offset : offset + length]
    return bytes(copied)


def any_edit(doc: livebuf.Document, chance: random.Random) -> None:
    which = chance.randrange(8)
    if which == 0:
        doc["n"] = chance.choice([1, 2.5, "text" * chance.randrange(100), None])
    elif which == 1:
        doc["rows"].append({"a": chance.randrange(1 << 40), "b": "z" * chance.randrange(9)})
    elif which == 2 and len(doc["rows"]) > 0:
        del doc["rows"][chance.randrange(len(doc["rows"]))]
    elif which == 3:
        doc[f"k{chance.randrange(5)}"] = {"deep": [chance.random()] * chance.randrange(40)}
    elif which == 4:
        doc["list"] = list(range(chance.randrange(200)))
    elif which == 5 and chance.random() < 0.3:
        doc.compact()
    elif which == 6:
        try:
            with doc.transaction():
                doc["n"] = "taken back" * 9
                doc["rows"].append({"a": 0, "b": "taken back"})
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
    else:
        bytes(doc)  # the next edit moves to other memory
        doc["n"] = chance.randrange(1000)


def test_ranges_make_a_copy_equal(chance: random.Random) -> None:
    for buffer in (bytes, bytearray):
        doc = livebuf.from_json(TEXT)
        if buffer is bytearray:
            doc = livebuf.Document(bytearray(bytes(doc)))
            doc.validate()
        for _ in range(40):
            before = memoryview(bytes(doc)).tobytes()
            with doc.recording() as outer, doc.recording() as changes:
                for _ in range(chance.randrange(6)):
                    any_edit(doc, chance)
            now = bytes(doc)
            assert changes.length == len(now) and changes.base_length == len(before)
            assert changes.ranges == outer.ranges
            assert follow(before, changes, now) == now
            touching = zip(changes.ranges, changes.ranges[1:], strict=False)
            assert all(offset + length < start for (offset, length), (start, _) in touching)


def test_one_number_is_one_range(doc: livebuf.Document) -> None:
    with doc.recording() as changes:
        assert changes.ranges == []
        doc["n"] = 2
        assert len(changes.ranges) == 1
    doc["n"] = "after the end"
    assert len(changes.ranges) == 1 and changes.length == changes.base_length


def test_a_rolled_back_transaction_is_recorded(doc: livebuf.Document) -> None:
    with doc.transaction() as transaction:
        doc["n"] = "changed before the recording began"
        before = bytes(doc)
        with doc.recording() as changes:
            transaction.rollback()
            assert follow(before, changes, bytes(doc)) == bytes(doc)
    assert doc["n"] == 1


def test_lent_numbers_count_as_changed() -> None:
    numpy = pytest.importorskip("numpy")
    doc = livebuf.Document.from_python({"x": numpy.arange(10.0)})
    doc.set_state()
    with doc.recording() as changes:
        before = bytes(bytearray(bytes(doc)))
        array = doc["x"].numpy(writable=True, narrow=True)
        array[3] = 7
        del array
        gc.collect()
    assert follow(before, changes, bytes(doc)) == bytes(doc)
    assert doc.state is None
    array = doc["x"].numpy(writable=True, narrow=True)
    with pytest.raises(livebuf.ExportedError), doc.recording():
        pass
    del array


def test_misused_recordings(doc: livebuf.Document) -> None:
    changes = doc.recording()
    with pytest.raises(livebuf.DeltaError, match="not begun"):
        _ = changes.ranges
    with changes, pytest.raises(livebuf.DeltaError, match="already"):
        changes.__enter__()
    with pytest.raises(livebuf.DeltaError, match="delta=True"):
        _ = changes.delta
    with pytest.raises(ValueError):
        doc.recording(old=True)
    with pytest.raises(livebuf.DeltaError, match="no state"), doc.recording(delta=True):
        pass
    doc.set_state()
    with doc.recording(delta=True):
        for other in (doc.recording(delta=True).__enter__, doc.history, doc.set_state):
            with pytest.raises(livebuf.DeltaError, match="at a time"):
                other()
    with doc.transaction(), pytest.raises(livebuf.TransactionError), doc.recording(delta=True):
        pass
    shared = bytearray(bytes(doc))
    mine = livebuf.Document(shared)
    with mine.recording(), pytest.raises(livebuf.DeltaError, match="others wrote"):
        mine.refresh()
    mine.refresh()


def test_a_dropped_recording_ends(doc: livebuf.Document) -> None:
    doc.set_state()
    recording = doc.recording(delta=True)
    recording.__enter__()
    del recording
    gc.collect()
    with doc.recording(delta=True) as changes:
        doc["n"] = 5
    assert changes.delta.changes


def test_deltas_keep_copies_equal(chance: random.Random) -> None:
    doc = livebuf.from_json(TEXT)
    doc.set_state()
    copy, first = doc.copy(), bytes(doc)
    all_deltas: list[livebuf.Delta] = []
    for _ in range(60):
        before = bytes(bytearray(bytes(doc)))
        with doc.recording(delta=True, old=True, digest=True) as changes:
            for _ in range(chance.randrange(4)):
                any_edit(doc, chance)
        delta = pickle.loads(pickle.dumps(changes.delta))
        assert delta == changes.delta and delta.keeps_old
        assert doc.state == delta.state and (delta.base_length, delta.length) == (
            changes.base_length,
            changes.length,
        )
        delta.apply(copy, checked=True)
        assert not copy.trusted
        copy.validate()
        assert bytes(copy) == bytes(doc)
        back = doc.copy()
        delta.invert().apply(back)
        assert bytes(back) == before
        all_deltas.append(delta)
    composed = all_deltas[0]
    for delta in all_deltas[1:]:
        composed = composed.compose(delta)
    late = livebuf.Document(bytearray(first))
    composed.apply(late)
    assert bytes(late) == bytes(doc)


def test_old_bytes_are_kept_where_a_shorter_document_moves(doc: livebuf.Document) -> None:
    doc["list"] = list(range(2000))
    doc.set_state()
    history = doc.history()
    before = bytes(bytearray(bytes(doc)))
    with history.step():
        doc["list"] = []
        doc.compact()
        bytes(doc)  # the next edit moves to other memory, which is as long as the document now
        doc["n"] = 2
    history.undo()
    assert bytes(doc) == before
    history.redo()
    assert doc["list"] == [] and doc["n"] == 2
    doc.validate()


def test_a_delta_fits_its_base_only(doc: livebuf.Document) -> None:
    doc.set_state(b"0123456789abcdef")
    assert doc.state == b"0123456789abcdef"
    other = doc.copy()
    other.set_state()
    with doc.recording(delta=True) as changes:
        doc["n"] = 2
    delta, before = changes.delta, bytes(other)
    with pytest.raises(livebuf.DeltaError) as refused:
        delta.apply(other)
    assert delta.base.hex() in str(refused.value) and other.state is not None
    assert other.state.hex() in str(refused.value)
    assert bytes(other) == before
    for wrong in (delta.invert, lambda: delta.compose(delta), lambda: delta.apply(doc)):
        with pytest.raises(livebuf.DeltaError):
            wrong()
    fresh = livebuf.from_json(TEXT)
    with pytest.raises(livebuf.DeltaError, match="no state"):
        delta.apply(fresh)
    doc["n"] = 3
    assert doc.state is None
    with pytest.raises(ValueError):
        doc.set_state(b"short")


def test_documents_that_cannot_change_refuse_deltas(doc: livebuf.Document) -> None:
    doc.set_state()
    base = bytes(doc)
    with doc.recording(delta=True) as changes:
        doc["n"] = 2
    with pytest.raises(livebuf.ReadOnlyError):
        changes.delta.apply(livebuf.Document(base))
    copy = livebuf.Document(bytearray(base))
    with memoryview(copy), pytest.raises(livebuf.ExportedError):
        changes.delta.apply(copy)
    changes.delta.apply(copy)
    assert copy["n"] == 2
    copy.close()
    with pytest.raises(livebuf.ClosedError):
        changes.delta.apply(copy)
    with pytest.raises(TypeError):
        changes.delta.apply({})  # type: ignore[arg-type]


def test_hostile_deltas(chance: random.Random) -> None:
    doc = livebuf.from_json(TEXT)
    doc.set_state()
    base = bytes(bytearray(bytes(doc)))
    with doc.recording(delta=True, old=True) as changes:
        doc["rows"].append({"a": 5, "b": "new"})
    sound = bytes(changes.delta)
    for cut in range(len(sound)):
        with pytest.raises(livebuf.DeltaError):
            livebuf.Delta.from_bytes(sound[:cut])
    applied = 0
    for _ in range(2000):
        damaged = bytearray(sound)
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(6, len(damaged))] = chance.randrange(256)
        copy = livebuf.Document(bytearray(base))
        try:
            livebuf.Delta.from_bytes(damaged).apply(copy)
        except livebuf.Error:
            assert bytes(copy) == base
            continue
        applied += 1
        assert not copy.trusted
        try:
            copy.validate()
            copy.to_python()
        except livebuf.Error:
            pass
    assert applied > 0


def test_views_are_stale_after_deltas_and_undo(doc: livebuf.Document) -> None:
    doc.set_state()
    copy = doc.copy()
    with doc.recording(delta=True) as changes:
        doc["n"] = 2
    history = doc.history()
    doc["n"] = 3
    for document, change in ((copy, lambda: changes.delta.apply(copy)), (doc, history.undo)):
        root, row = document.root, document["rows"][0]
        change()
        assert root["rows"][0]["a"] == 1
        with pytest.raises(livebuf.StaleError, match="as a whole"):
            row["a"]


def test_views_follow_through_patches_and_queries(doc: livebuf.Document) -> None:
    """Bug: all views but those of the root were stale after a patch, a merge, or an edit of all
    matches. Those of what is still there follow it; others keep what they showed."""
    doc.root = {"rows": [{"a": n, "in": {"b": [n]}} for n in range(5)], "o": {"p": {}}, "n": 1}
    rows, three, one = doc["rows"], doc["rows"][3], doc["rows"][1]
    inner, deep, p = one["in"], three["in"]["b"], doc["o"]["p"]
    doc.patch([{"op": "remove", "path": "/rows/1"}, {"op": "add", "path": "/rows/0", "value": {}}])
    assert three == {"a": 3, "in": {"b": [3]}} and three.document is doc and deep == [3]
    assert one == {"a": 1, "in": {"b": [1]}} and one.document is inner.document is not doc
    inner["b"].append(2)
    assert one["in"]["b"] == [1, 2]
    doc.patch([{"op": "remove", "path": "/rows/0"}])
    three["a"] = 33
    assert rows[2] == {"a": 33, "in": {"b": [3]}} and doc.pointer("/rows/2/in/b") == deep
    doc.merge({"n": 2, "o": {"q": 1}})
    p["x"] = 1
    assert doc["o"] == {"p": {"x": 1}, "q": 1}
    assert doc.remove_all("$.rows[?@.a < 3]") == 2
    assert three.document is doc and rows.to_python() == [three.to_python(), rows[1].to_python()]
    assert doc.set_all("$.rows[*].in.b", None) == 2
    assert deep == [3] and deep.document is not doc and three["in"]["b"] is None
    doc.merge({"rows": None, "o": None})
    assert three == {"a": 33, "in": {"b": None}} and p == {"x": 1} and len(rows) == 2
    assert rows.document is three.document is not p.document
    doc.validate()


def test_a_patch_in_more_places_than_are_remembered() -> None:
    doc = livebuf.Document.from_python({"rows": [{"n": n, "in": [n]} for n in range(9000)]})
    view, gone = doc["rows"][8999], doc["rows"][1]
    removed = [{"op": "remove", "path": "/rows/0"} for _ in range(8000)]
    doc.patch(removed)
    for old in (view, gone):
        with pytest.raises(livebuf.StaleError, match="too many places"):
            len(old)
    assert doc["rows"][999]["n"] == 8999


def test_undo_and_redo(chance: random.Random) -> None:
    doc = livebuf.from_json(TEXT)
    history = doc.history()
    replica = doc.copy()
    states = [bytes(bytearray(bytes(doc)))]
    for _ in range(30):
        with history.step() as step:
            any_edit(doc, chance)
            doc["n"] = chance.random()
        assert step.delta is not None
        step.delta.apply(replica)
        states.append(bytes(bytearray(bytes(doc))))
        assert bytes(replica) == states[-1]
    at = 30
    for _ in range(200):
        back = chance.random() < 0.5
        delta = history.undo() if back else history.redo()
        assert (delta is None) == (at == 0 if back else at == 30)
        if delta is not None:
            at += -1 if back else 1
            delta.apply(replica)
        assert bytes(doc) == states[at] == bytes(replica)
        assert doc.trusted
        assert history.can_undo == (at > 0) and history.can_redo == (at < 30)
    doc.validate()


def test_edits_outside_of_steps_are_steps(doc: livebuf.Document) -> None:
    history = doc.history()
    doc["n"] = 2
    doc["n"] = 3
    with history.step():
        doc["n"] = 4
        with history.step() as inner:
            doc["n"] = 5
    assert inner.delta is None
    with history.step() as nothing:
        pass
    assert nothing.delta is None
    with pytest.raises(ZeroDivisionError), history.step(), doc.transaction():
        doc["n"] = 6
        raise ZeroDivisionError
    assert doc["n"] == 5
    history.undo()
    assert doc["n"] == 3
    history.undo()
    assert doc["n"] == 1 and not history.can_undo
    history.redo()
    doc["n"] = 7
    assert not history.can_redo and history.redo() is None
    with history.step(), pytest.raises(livebuf.DeltaError, match="within a step"):
        history.undo()
    with doc.transaction(), pytest.raises(livebuf.TransactionError):
        history.undo()
    history.clear()
    assert not history.can_undo and history.undo() is None and doc["n"] == 7


def test_a_history_is_bounded_and_closed(doc: livebuf.Document) -> None:
    history = doc.history(max_bytes=2000)
    for number in range(100):
        with history.step():
            doc["n"] = f"text {number} " * 5
    assert 0 < history.nbytes <= 2000
    count = 0
    while history.undo():
        count += 1
    assert 0 < count < 100
    history.close()
    with pytest.raises(livebuf.DeltaError, match="closed"):
        history.undo()
    doc.set_state()


def test_undo_of_an_untrusted_document_leaves_it_untrusted(doc: livebuf.Document) -> None:
    doc = livebuf.Document(bytearray(bytes(doc)))
    history = doc.history()
    with history.step():
        doc["n"] = 2
    history.undo()
    assert not doc.trusted and doc["n"] == 1


def test_a_history_of_a_file(doc: livebuf.Document, tmp_path: Path) -> None:
    path = tmp_path / "document.lbuf"
    livebuf.dump(doc, path)
    with livebuf.open(path, "r+") as file:
        history = file.history()
        with history.step():
            file["n"] = "longer than it was" * 1000
        file.flush()
        history.undo()
    assert livebuf.open(path).to_python() == json.loads(TEXT)


def test_threads_edit_while_one_records(doc: livebuf.Document) -> None:
    before = bytes(bytearray(bytes(doc)))

    def edit() -> None:
        for number in range(200):
            doc["n"] = "x" * number

    threads = [threading.Thread(target=edit) for _ in range(4)]
    with doc.recording() as changes:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert changes.length > 0
        for thread in threads:
            thread.join()
    assert follow(before, changes, bytes(doc)) == bytes(doc)


def test_another_task_cannot_record_within_a_transaction(doc: livebuf.Document) -> None:
    async def other() -> None:
        with pytest.raises(livebuf.TransactionError, match="another task"), doc.recording():
            pass
        with pytest.raises(livebuf.TransactionError, match="another task"):
            doc.merge({"n": 2})

    async def main() -> None:
        with doc.transaction():
            await asyncio.create_task(other())

    asyncio.run(main())
    assert doc["n"] == 1


# --- patches ----------------------------------------------------------------

PATCH = [
    {"op": "test", "path": "/n", "value": 1.0},
    {"op": "add", "path": "/list/-", "value": 4},
    {"op": "replace", "path": "/rows/0/a", "value": {"b": [1]}},
    {"op": "move", "from": "/rows/1", "path": "/rows/0"},
    {"op": "copy", "from": "/list", "path": "/again"},
    {"op": "remove", "path": "/n"},
]
PATCHED = {
    "rows": [{"a": 2, "b": "y"}, {"a": {"b": [1]}, "b": "x"}],
    "list": [1, 2, 3, 4],
    "again": [1, 2, 3, 4],
}


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        json.dumps,
        lambda patch: json.dumps(patch).encode(),
        livebuf.Document.from_python,
        lambda patch: livebuf.Document.from_python({"patch": patch})["patch"],
        livebuf.Patch,
    ],
)
def test_patches_of_every_form(doc: livebuf.Document, form: Callable[[Any], Any]) -> None:
    doc.patch(form(PATCH))
    assert doc.to_python() == PATCHED
    doc.validate()


def test_a_patch_is_a_list(doc: livebuf.Document) -> None:
    patch = livebuf.Patch(PATCH)
    assert len(patch) == 6 and list(patch) == patch.to_python() == PATCH and patch[0] == PATCH[0]
    assert json.loads(patch.to_json()) == PATCH
    assert patch == livebuf.Patch(patch) == pickle.loads(pickle.dumps(patch)) and patch != PATCH
    patch.apply(doc)
    assert doc.to_python() == PATCHED
    assert "replace" in repr(patch)


@pytest.mark.parametrize(
    ("bad", "pointer", "error"),
    [
        ({"op": "remove", "path": "/missing"}, "/missing", "no such member"),
        ({"op": "test", "path": "/n", "value": 2}, "/n", ""),
        ({"op": "add", "path": "/list/9", "value": 2}, "/list/9", ""),
        ({"op": "add", "path": "/n/x", "value": 2}, "/n/x", ""),
        ({"op": "move", "from": "/rows", "path": "/rows/0"}, None, ""),
    ],
)
def test_an_impossible_operation_changes_nothing(
    doc: livebuf.Document, bad: dict[str, Any], pointer: str | None, error: str
) -> None:
    before = bytes(doc)
    with pytest.raises(livebuf.PatchError) as refused:
        doc.patch([{"op": "add", "path": "/new", "value": "x" * 5000}, bad])
    assert refused.value.operation == 1 and error in str(refused.value)
    assert pointer is None or refused.value.pointer == pointer
    assert pickle.loads(pickle.dumps(refused.value)).pointer == refused.value.pointer
    assert bytes(doc) == before


def test_malformed_patches(doc: livebuf.Document) -> None:
    for wrong in ({}, [1], [{"op": "add", "path": "/x"}], [{"op": "mix", "path": ""}]):
        with pytest.raises(livebuf.PatchError):
            livebuf.Patch(wrong)
    with pytest.raises(livebuf.JSONError):
        livebuf.Patch('[{"op": ')
    for wrong in ([object()], object()):
        with pytest.raises(livebuf.EncodeError):
            doc.patch(wrong)


def test_merge(doc: livebuf.Document) -> None:
    doc.merge({"n": None, "rows": [1], "new": {"a": None, "b": 2}})
    assert doc.to_python() == {"rows": [1], "list": [1, 2, 3], "new": {"b": 2}}
    doc.merge(livebuf.from_json('{"list": {"x": 1}}'))
    doc.merge(livebuf.from_json('[{"list": {"y": 2}}]').root[0])
    assert doc["list"].to_python() == {"x": 1, "y": 2}
    doc.merge(doc)
    assert doc["list"].to_python() == {"x": 1, "y": 2}
    for text in ('{"a": 1}', b'{"a": 1}'):
        with pytest.raises(livebuf.WrongTypeError, match="from_json"):
            doc.merge(text)
    with pytest.raises(livebuf.ReadOnlyError):
        livebuf.Document(bytes(doc)).merge({"a": 1})
    with memoryview(doc), pytest.raises(livebuf.ExportedError):
        doc.merge({"a": 1})
    with pytest.raises(ZeroDivisionError), doc.transaction():
        doc.merge({"list": None})
        raise ZeroDivisionError
    assert "list" in doc


def test_an_untrusted_document_is_patched(doc: livebuf.Document) -> None:
    other = livebuf.Document(bytearray(bytes(doc)))
    other.merge({"rows": {"x": 1}})
    assert other["rows"].to_python() == {"x": 1}


def any_value(chance: random.Random, depth: int = 3) -> Any:
    which = chance.randrange(7 if depth else 5)
    if which == 5:
        return [any_value(chance, depth - 1) for _ in range(chance.randrange(5))]
    if which == 6:
        return {chance.choice("abcd/~"): any_value(chance, depth - 1) for _ in range(4)}
    return [1, "text", True, 2.5, 7][which]


def test_a_diff_makes_the_first_equal_to_the_second(chance: random.Random) -> None:
    for _ in range(300):
        one, two = any_value(chance), any_value(chance)
        patched = livebuf.Document.from_python(one)
        livebuf.diff(one, livebuf.Document.from_python(two)).apply(patched)
        assert patched == livebuf.Document.from_python(two)
        merged = livebuf.Document.from_python(one)
        merged.merge(livebuf.merge_diff(merged, two))
        assert merged == livebuf.Document.from_python(two)


def test_diffs(doc: livebuf.Document) -> None:
    assert len(livebuf.diff(doc, doc.copy())) == 0
    assert len(livebuf.diff({"a": 1, "b": 2}, {"b": 2, "a": 1})) == 0
    assert len(livebuf.diff({"a": 1, "b": 2}, {"b": 2, "a": 1}, ordered=True)) > 0
    assert livebuf.diff(doc["rows"], [{"a": 2, "b": "y"}]).to_python() == [
        {"op": "remove", "path": "/0"}
    ]
    with pytest.raises(livebuf.PatchError) as refused:
        livebuf.merge_diff({"a": 1}, {"a": None})
    assert refused.value.pointer == "/a" and refused.value.operation is None


def test_the_public_suite() -> None:
    folder = next(
        (
            above / "shared" / "suites" / "json-patch"
            for parent in Path(__file__).resolve().parents
            for above in (parent, parent.parent)
            if (above / "shared" / "suites" / "json-patch").is_dir()
        ),
        None,
    )
    if folder is None:
        pytest.skip("../shared/suites/json-patch is not there")
    paths = sorted(folder.glob("**/*.json"))
    cases = [case for path in paths for case in json.loads(path.read_text())]
    run = 0
    for case in cases:
        if not isinstance(case, dict) or "patch" not in case or case.get("disabled"):
            continue
        doc = livebuf.Document.from_python(case["doc"])
        run += 1
        if "error" in case:
            with pytest.raises(livebuf.PatchError):
                doc.patch(json.dumps(case["patch"]))
            continue
        doc.patch(case["patch"])
        if "expected" in case:
            assert doc == livebuf.Document.from_python(case["expected"]), case
    assert run > 10
