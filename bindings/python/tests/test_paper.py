"""What the paper on Lite² says that its authors tested: oversized keys and values, bytes that
are never changed, memory safety, insertion, query and deletion, distributions of keys and
collisions, and the space that is used."""

from __future__ import annotations

import gc
import itertools
import random
import subprocess
import sys

import livebuf
import pytest
from conftest import LONG
from livebuf import Document

COUNT = 100_000 if LONG else 5_000


class TestOversized:
    @pytest.mark.parametrize("length", [0, 1, 7, 8, 254, 255, 256, 1023, 1024, 1025, 65_536, 10**6])
    def test_keys(self, length: int) -> None:
        key = "k" * length
        payload = livebuf.dumps({key: 1, "other": 2})
        assert livebuf.loads(payload) == {key: 1, "other": 2}
        doc = Document(bytearray(payload))
        assert doc[key] == 1 and key + "x" not in doc
        doc[key + "x"] = 3
        doc[key] = "replaced"
        assert doc == {key: "replaced", "other": 2, key + "x": 3}
        assert dict(doc.root.prefix(key[:-1])).keys() >= {key, key + "x"}
        del doc[key]
        assert doc == {"other": 2, key + "x": 3}
        doc.validate()

    @pytest.mark.parametrize("length", [0, 7, 8, 255, 1024, 1025, 65_536, 10**7])
    def test_values(self, length: int) -> None:
        for value in ("v" * length, b"v" * length):
            doc = Document(bytearray(livebuf.dumps({"a": value, "b": 1})))
            assert doc["a"] == value
            doc["c"] = value
            doc["a"] = value[: length // 2]
            doc["b"] = value + value[:1]
            assert doc == {"a": value[: length // 2], "b": value + value[:1], "c": value}
            doc.validate()

    def test_beyond_the_limit_of_strings(self) -> None:
        """1 GiB. Refused, and the document is as it was."""
        if not LONG:
            pytest.skip("needs 4 GB of memory; LIVEBUF_LONG=1 runs it")
        doc = Document.from_python({"a": 1})
        before = bytes(doc)
        long = b"x" * ((1 << 30) + 1)
        with pytest.raises(livebuf.LimitError) as caught:
            doc["b"] = long
        assert caught.value.kind == "StringLimit"
        with pytest.raises(livebuf.EncodeError):
            livebuf.dumps(long)
        assert bytes(doc) == before

    def test_more_keys_than_a_record_holds(self) -> None:
        for count in (254, 255, 256, 257, 1000):
            doc = Document.from_python({})
            for n in range(count):
                doc[f"{n}"] = n
            assert list(doc) == [str(n) for n in range(count)]
            assert bytes(doc.copy()) and livebuf.loads(bytes(doc)) == doc.to_python()
            doc.validate()

    def test_no_room(self) -> None:
        memory = bytearray(livebuf.dumps({"a": "x"}))
        doc = Document(memoryview(memory))
        before = bytes(memory)
        for value in ("y" * 100, list(range(100)), {str(n): n for n in range(10)}):
            with pytest.raises(livebuf.LimitError) as caught:
                doc["b"] = value
            assert caught.value.kind == "NoSpace"
            assert bytes(memory) == before


class TestMemorySafety:
    def test_bytes_are_never_changed(self) -> None:
        """Not by anything that takes them, nor what was given out before an edit."""
        value = {f"key {n}": "v" * 20 for n in range(100)}
        payload = livebuf.dumps(value)
        kept = bytes(bytearray(payload))
        frozen = Document(payload)
        for action in (
            lambda: frozen.__setitem__("key 1", "w" * 20),
            lambda: frozen.__delitem__("key 1"),
            lambda: frozen.root.update(a=1),
            lambda: frozen.root.clear(),
        ):
            with pytest.raises(livebuf.ReadOnlyError):
                action()
        livebuf.loads(payload)
        frozen.validate()
        frozen.stats()
        doc = frozen.editable()
        for n in range(100):
            doc[f"key {n}"] = "w" * 20
        given = bytes(doc)
        same = bytes(bytearray(given))
        for n in range(100):
            doc[f"key {n}"] = "z" * 20
        assert payload == kept and given == same
        assert Document(given)["key 5"] == "w" * 20 and doc["key 5"] == "z" * 20

    def test_interned_and_shared_bytes(self) -> None:
        """Python shares equal constants; a change would be seen everywhere."""
        payload = livebuf.dumps({"a": 1})
        shared = {payload: "as a key"}
        doc = Document(payload).editable()
        doc["a"] = 2
        assert shared[livebuf.dumps({"a": 1})] == "as a key"

    def test_under_a_checking_allocator(self) -> None:
        """Python's debug allocator finds writes beyond memory and uses after it was freed."""
        script = (
            "import gc, livebuf\n"
            "for turn in range(3):\n"
            "    doc = livebuf.Document.from_python({'rows': [{'a': n, 'b': str(n)}\n"
            "        for n in range(200)], 'n': list(range(50))}, min_width=8)\n"
            "    given, views = [], []\n"
            "    for n in range(400):\n"
            "        doc[f'k{n}'] = 'x' * (n % 60)\n"
            "        doc['rows'][n % 50]['b'] = 'y' * n\n"
            "        given.append(bytes(doc)) if n % 7 == 0 else None\n"
            "        views.append(doc['rows'][n % 60])\n"
            "        if n % 11 == 0:\n"
            "            del doc[f'k{n}']\n"
            "            doc['rows'].append({'a': n}); del doc['rows'][3]\n"
            "        if n % 50 == 0: doc.compact()\n"
            "    array = livebuf.Document(bytearray(given[-1]))\n"
            "    for n in range(300): array[f'z{n}'] = 'q' * 90\n"
            "    view = doc['n'].memoryview(); del doc; gc.collect()\n"
            "    assert view[49] == 49\n"
            "    given.clear(); views.clear(); del view, array; gc.collect()\n"
        )
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", script],
            env={"PYTHONMALLOC": "debug", "PATH": "", "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr

    def test_no_leaks(self) -> None:
        tracemalloc = pytest.importorskip("tracemalloc")
        rows = [{"a": n, "b": str(n), "c": [n]} for n in range(50)]

        def work() -> None:
            payload = livebuf.dumps(rows)
            doc = Document(payload).editable()
            for row in doc.root:
                row["a"] += 1
                row["d"] = list(row["c"])
            livebuf.loads(bytes(doc))
            livebuf.from_json(livebuf.to_json(doc)).root.table.__arrow_c_stream__()
            with pytest.raises(livebuf.Error):
                doc[0]["missing"]
            with pytest.raises(livebuf.Error):
                livebuf.dumps([rows, object()])
            memoryview(doc).release()

        work()
        tracemalloc.start()
        try:
            for _ in range(3):
                work()
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(50):
                work()
            gc.collect()
            after = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        assert after - before < 50_000


class TestCorrectness:
    @pytest.mark.parametrize("memory", ["own", "bytearray"])
    def test_insert_query_delete(self, chance: random.Random, memory: str) -> None:
        model: dict[str, str] = {}
        doc = Document.from_python({})
        if memory == "bytearray":
            doc = Document(bytearray(bytes(doc)))
            doc.validate()
        for step in range(COUNT * 4):
            key = f"key {chance.randrange(COUNT // 2)}"
            action = chance.random()
            if action < 0.5:
                model[key] = doc[key] = "v" * chance.randrange(40)
            elif action < 0.8:
                assert doc.get(key) == model.get(key)
            else:
                assert doc.root.pop(key, None) == model.pop(key, None)
            if step % (COUNT // 2) == 0:
                assert doc == model and sorted(doc) == sorted(model)
                doc.validate()
        assert doc == model
        assert list(doc.root.range()) == sorted(model.items())
        assert livebuf.loads(bytes(doc)) == model
        doc.validate()

    def test_order_of_insertion(self) -> None:
        keys = [f"{n * 7919 % COUNT}" for n in range(COUNT)]
        doc = Document.from_python({})
        for key in keys:
            doc[key] = 1
        assert list(doc) == list(dict.fromkeys(keys))
        assert list(livebuf.loads(bytes(doc))) == list(dict.fromkeys(keys))

    def test_delete_all_in_every_order(self, chance: random.Random) -> None:
        keys = [f"k{n}" for n in range(1000)]
        for order in (keys, keys[::-1], chance.sample(keys, len(keys))):
            doc = Document.from_python({key: key for key in keys})
            for left, key in enumerate(order):
                assert doc.root.pop(key) == key and key not in doc
                assert len(doc) == len(keys) - left - 1
            assert doc == {}
            doc.validate()
            doc["again"] = 1
            assert doc == {"again": 1}


def adversarial(chance: random.Random) -> dict[str, list[str]]:
    """Sets of keys that are unkind to hash tables, tries or trees."""
    count = COUNT
    letters = "ab"
    return {
        "ascending": [f"{n:08}" for n in range(count)],
        "descending": [f"{n:08}" for n in range(count, 0, -1)],
        "random": list({chance.randbytes(6).hex() for _ in range(count)}),
        "common prefix": [f"{'p' * 200}{n}" for n in range(count // 5)],
        "common prefix and suffix": [f"{'p' * 50}{n:06}{'s' * 50}" for n in range(count // 5)],
        "prefixes of each other": ["a" * n for n in range(1, 700)],
        "differ in the last byte only": [
            "x" * 60 + first + last
            for first, last in itertools.product(map(chr, range(32, 127)), repeat=2)
        ],
        "two letters": ["".join(chance.choices(letters, k=14)) for _ in range(count)],
        "zero bytes": ["\x00" * n + "a" * m for n in range(30) for m in range(30)],
        "unicode": [chr(n) + chr(0x10FFFF - n) for n in range(0x100, 0x100 + count // 5)],
        "zipf": [f"word {int(chance.paretovariate(0.7)) % count}" for _ in range(count)],
        # Equal under FNV-1a, djb2 and the like as far as a few bytes go.
        "anagrams": ["".join(p) for p in itertools.permutations("abcdefg")],
    }


class TestKeys:
    @pytest.mark.parametrize("kind", sorted(adversarial(random.Random(0))))
    def test_distributions(self, chance: random.Random, kind: str) -> None:
        keys = list(dict.fromkeys(adversarial(chance)[kind]))
        model = {key: n for n, key in enumerate(keys)}
        doc = Document.from_python({})
        for key, value in model.items():
            doc[key] = value
        assert doc == model and list(doc) == keys
        for key in chance.sample(keys, min(300, len(keys))):
            assert doc[key] == model[key]
            assert key + "\x00" not in doc or key + "\x00" in model
            assert (key[:-1] in doc) == (key[:-1] in model)
        encoded = sorted(keys, key=str.encode)
        assert [key for key, _ in doc.root.range()] == encoded
        prefix = encoded[len(encoded) // 2][:3]
        assert [key for key, _ in doc.root.prefix(prefix)] == [
            key for key in encoded if key.startswith(prefix)
        ]
        for key in keys[::2]:
            del doc[key], model[key]
        assert doc == model
        doc.validate()
        assert livebuf.loads(livebuf.dumps(model)) == model

    def test_keys_that_look_alike(self) -> None:
        keys = ["é", "e\u0301", "E", "e", "ｅ", "e\u200b", " e", "e ", "", " ", "\x00", "null", "0"]
        doc = Document.from_python({key: n for n, key in enumerate(keys)})
        assert len(doc) == len(keys)
        for n, key in enumerate(keys):
            assert doc[key] == n

    def test_fingerprints_that_collide(self) -> None:
        """Records tell keys by one byte first: with 255 keys many share it."""
        for length in (1, 7, 8, 9, 30):
            keys = list(dict.fromkeys(f"{n:x}".rjust(length, "k") for n in range(255)))
            doc = Document.from_python([{key: n for n, key in enumerate(keys)}] * 2, tables=False)
            for n, key in enumerate(keys):
                assert doc[1][key] == n
            assert "missing".ljust(length) not in doc[0]


class TestSpace:
    """The space used stays bounded however long one edits."""

    def live(self, doc: Document) -> int:
        return len(livebuf.dumps(doc.to_python(), tables=False))

    def test_replacing(self, chance: random.Random) -> None:
        doc = Document.from_python({f"k{n}": "x" * 50 for n in range(200)})
        for step in range(COUNT * 4):
            doc[f"k{chance.randrange(200)}"] = "y" * chance.randrange(100)
            if step % COUNT == 0:
                assert doc.nbytes < 4 * self.live(doc) + 4096
        doc.validate()
        doc.compact()
        assert doc.nbytes <= self.live(doc) + 64

    def test_adding_and_removing(self, chance: random.Random) -> None:
        memory = bytearray(livebuf.dumps({}))
        doc = Document(memory)
        doc.validate()
        most = 0
        for step in range(COUNT * 4):
            doc[f"k{step}"] = {"v": "x" * chance.randrange(60), "n": [step]}
            if step >= 100:
                del doc[f"k{step - 100}"]
            if step == COUNT:
                most = doc.nbytes
        assert len(doc) == 100
        assert doc.nbytes < most * 1.5 + 4096
        doc.validate()

    def test_queue(self) -> None:
        doc = Document.from_python([])
        sizes = []
        for step in range(COUNT):
            doc.root.append({"job": step, "text": f"job number {step}"})
            if step >= 50:
                assert doc.root.pop(0)["job"] == step - 50
            if step % (COUNT // 5) == COUNT // 10:
                sizes.append(doc.nbytes)
        assert max(sizes) < 2 * min(sizes) + 4096, sizes
        doc.validate()

    def test_all_removed(self) -> None:
        doc = Document.from_python({})
        for turn in range(5):
            for n in range(1000):
                doc[f"{turn} {n}"] = "x" * 100
            if turn == 0:
                full = doc.nbytes
            doc.root.clear()
        assert doc.nbytes < 1.5 * full
        doc.compact()
        assert doc.nbytes < 100

    def test_freed_text_does_not_stay(self) -> None:
        """Secrets that were removed are wiped from the bytes."""
        doc = Document.from_python({"secret": "very-secret-password" * 20, "other": [1]})
        assert b"very-secret-password" in bytes(doc)
        doc["secret"] = "gone"
        assert b"very-secret-password" not in bytes(doc)
        doc["list"] = ["another-secret-text" * 3]
        del doc["list"][0]
        assert b"another-secret-text" not in bytes(doc)

    def test_overhead(self) -> None:
        """Flat maps of text, as in the paper's benchmark."""
        for entries, length in ((100, 40), (1000, 160)):
            model = {f"key{n:05}": "v" * (length - 8) for n in range(entries)}
            text = sum(len(key) + len(value) for key, value in model.items())
            assert len(livebuf.dumps(model)) < text + 45 * entries + 200
