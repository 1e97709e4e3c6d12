"""Arrays of numpy keep their type and shape: tensors."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import pickle
from pathlib import Path
from typing import Any

import livebuf
import numpy as np
import pytest
from livebuf import Document

DTYPES = "?bhilBHILefd"
SHAPES = [(1,), (7,), (0,), (3, 5), (2, 3, 4), (0, 3), (2, 1, 9, 1), (1,) * 16]


def values(dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    numbers = np.arange(int(np.prod(shape)), dtype="i8").reshape(shape)
    return (numbers % 2 if dtype == "?" else numbers * 3 - (0 if dtype.isupper() else 4)).astype(
        dtype
    )


def same(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    return (
        found.dtype == expected.dtype
        and found.shape == expected.shape
        and found.tobytes() == expected.tobytes()
    )


class TestKept:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_dtype_and_shape(self, dtype: str, shape: tuple[int, ...]) -> None:
        array = values(dtype, shape)
        doc = Document(livebuf.dumps({"a": array, "list": [array, array]}))
        assert same(doc["a"].numpy(), array) and same(np.asarray(doc["a"]), array)
        assert doc["a"].shape == shape and doc["list"].shape is None
        assert same(doc["list"][1].numpy(), array)
        assert doc["a"].to_python() == array.tolist() == livebuf.loads(livebuf.dumps(array))
        # Set, copied, encoded anew.
        copy = Document.from_python({})
        copy["b"] = array
        copy["c"] = doc["a"]
        copy.compact()
        assert same(copy["b"].numpy(), array) and same(copy["c"].numpy(), array)
        assert doc["a"] == copy["b"] and doc["a"] == array.tolist()
        again = pickle.loads(pickle.dumps(copy))
        assert same(again["b"].numpy(), array)

    def test_nothing_is_copied(self) -> None:
        image = np.random.default_rng(7).integers(0, 256, (48, 64, 3), dtype="u1")
        doc = Document(livebuf.dumps({"image": image}))
        found = doc["image"].numpy()
        whole = np.frombuffer(memoryview(doc), dtype="u1")
        assert np.shares_memory(found, whole) and same(found, image)
        assert not found.flags.writeable and found.flags.c_contiguous
        assert same(doc["image"][7].numpy(), image[7])
        assert same(doc["image"][7][3].numpy(), image[7, 3])
        with memoryview(doc["image"]) as view:
            assert view.shape == (48, 64, 3) and view.strides == (192, 3, 1) and view.ndim == 3
            assert view.format == "B" and view.tobytes() == image.tobytes()

    def test_bytes_for_who_asks_for_no_shape(self) -> None:
        image = np.arange(24, dtype="u1").reshape(2, 3, 4)
        doc = Document(livebuf.dumps({"image": image}))
        assert hashlib.sha256(doc["image"]).digest() == hashlib.sha256(image.tobytes()).digest()
        assert not memoryview(doc["image"]).f_contiguous

    def test_rows_of_the_most_dimensions(self) -> None:
        deep = np.ones((1,) * 16, "f4")
        doc = Document.from_python({"list": [deep, deep]})
        assert doc["list"].shape is None
        assert doc["list"].numpy().shape == (2, *deep.shape)
        doc["list"].append(deep)
        assert same(doc["list"][2].numpy(), deep)
        doc.validate()

    def test_a_list_without_rows_takes_plain_arrays(self) -> None:
        doc = Document.from_python({"list": [np.ones((2, 3), "f4")] * 3})
        del doc["list"][:]
        doc["list"].append([[1.0, 2.0, 3.0]] * 2)
        doc["list"][0].append("of any length")
        assert doc.to_python() == {"list": [[[1.0, 2.0, 3.0]] * 2 + ["of any length"]]}
        doc.validate()

    def test_written_in_place(self) -> None:
        doc = Document.from_python({"m": np.zeros((3, 4), "f4"), "mask": np.zeros((2, 2), "?")})
        found = doc["m"].numpy(writable=True)
        found[1] = 0.1
        found[2, 3] = 7
        del found
        assert doc["m"][1][2] == float(np.float32(0.1))
        assert doc["m"][2][3] == 7.0
        mask = doc["mask"].numpy(writable=True)
        mask[0, 1] = True
        del mask
        assert doc["mask"].to_python() == [[False, True], [False, False]]

    def test_other_orders(self) -> None:
        array = np.arange(24, dtype="i4").reshape(4, 6)
        for view in (array.T, array[::2, ::-1], array[:, 1:3], np.asfortranarray(array)):
            assert same(Document.from_python(view).root.numpy(), np.ascontiguousarray(view))
        swapped = array.astype(">i4")
        assert same(Document.from_python(swapped).root.numpy(), array)

    def test_what_is_no_tensor(self) -> None:
        for array in (
            np.array(5),
            np.zeros((2, 0)),
            np.ma.array([1, 2], mask=[True, False]),
            np.array(["a"]),
            np.array([1], dtype=object),
            np.array([1], dtype="M8[D]"),
        ):
            root = Document.from_python([array]).root
            found = root[0]
            assert not isinstance(found, livebuf.Array) or found.shape is None
        # Lists of numbers are as narrow as they may be, and widen.
        doc = Document.from_python([1, 2])
        assert doc.root.shape is None
        doc.root.append(2.5)

    def test_files(self, tmp_path: Path) -> None:
        array = values("e", (4, 3))
        path = tmp_path / "tensor.lbuf"
        path.write_bytes(livebuf.dumps({"t": array}))
        with livebuf.open(path, "r+") as doc:
            assert same(doc["t"].numpy(), array)
            doc["t"][3][1] = 0.5
        with livebuf.open(path) as doc:
            assert doc["t"].numpy()[3, 1] == np.float16(0.5)


class TestEdits:
    def test_numbers_that_fit(self) -> None:
        doc = Document.from_python({"u": np.zeros(2, "u1"), "f": np.zeros(2, "f4")})
        doc["u"][0] = 255
        doc["f"][0] = 0.1
        doc["f"][1] = 3
        assert doc["u"].to_python() == [255, 0]
        assert doc["f"].to_python() == [float(np.float32(0.1)), 3.0]
        for key, value in (
            ("u", 256),
            ("u", -1),
            ("u", 1.0),
            ("u", None),
            ("f", 1e300),
            ("f", "x"),
        ):
            with pytest.raises(
                livebuf.TensorError, match="keeps its type and the lengths"
            ) as caught:
                doc[key][0] = value
            assert caught.value.kind == "TensorMismatch" and isinstance(caught.value, ValueError)
        assert doc["u"].numpy().dtype == np.uint8

    def test_the_lengths_of_rows_stay(self) -> None:
        doc = Document.from_python({"m": np.zeros((2, 3)), "list": [np.zeros(3), np.zeros(3)]})
        for edit in (
            lambda: doc["m"].append([1.0, 2.0]),
            lambda: doc["m"].append(np.zeros((1, 3))),
            lambda: doc["m"].insert(0, 1),
            lambda: doc["m"].__setitem__(0, [1.0, 2.0]),
            lambda: doc["m"].extend([[1.0, 2.0, 3.0], ["x", 1.0, 1.0]]),
            *(
                change
                for row in (doc["m"][0], doc["list"][0])
                for change in (
                    lambda row=row: row.append(1.0),
                    lambda row=row: row.pop(),
                    lambda row=row: row.clear(),
                    lambda row=row: row.__delitem__(0),
                    lambda row=row: row.__setitem__(slice(0, 2), [7.0]),
                    lambda row=row: row.__setitem__(slice(0, 1), [7.0, 8.0]),
                )
            ),
        ):
            before = bytes(doc)
            with pytest.raises(livebuf.TensorError):
                edit()
            assert bytes(doc) == before
        doc["m"][0] = [1.0, 2.0, 3.0]
        doc["m"][1] = np.array([4, 5, 6], "u1")
        assert doc["m"].to_python() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
        doc["m"] = [1]
        doc["m"].append(2)

    def test_views_of_what_is_replaced(self) -> None:
        doc = Document.from_python({"m": np.arange(6, dtype="i2").reshape(2, 3)})
        row = doc["m"][1]
        doc["m"] = None
        assert row.to_python() == [3, 4, 5] and row.numpy().dtype == np.int16


class TestTables:
    def rows(self) -> Document:
        return Document.from_python([{"id": n, "emb": np.full((2, 3), n, "f4")} for n in range(20)])

    def test_a_column_is_one_array(self) -> None:
        doc = self.rows()
        column = doc.root.table.column("emb")
        found = column.numpy()
        assert found.shape == (20, 2, 3) and found.dtype == np.float32
        assert np.shares_memory(found, np.frombuffer(memoryview(doc), dtype="u1"))
        assert found[7].tolist() == [[7.0] * 3] * 2
        del found
        doc.root.append({"id": 20, "emb": np.full((2, 3), 20, "f4")})
        assert doc.root.table.column("emb").numpy().shape == (21, 2, 3)
        doc.root.append({"id": 21})
        with pytest.raises(livebuf.WrongTypeError):
            doc.root.table.column("emb").numpy()

    def test_arrow(self) -> None:
        pa = pytest.importorskip("pyarrow")
        table = pa.table(self.rows().root.table)
        kind = table.schema.field("emb").type
        assert kind.list_size == 2 and kind.value_type.value_type == pa.float32()
        again = livebuf.from_arrow(table)
        assert again.root[3]["emb"].shape == (2, 3)
        assert again.root.table.column("emb").numpy().dtype == np.float32


class TestMoments:
    @pytest.mark.parametrize("unit", ["D", "h", "m", "s", "ms", "us", "M", "W"])
    def test_are_dates_and_times(self, unit: str) -> None:
        array = np.array(["2024-02-29", "1969-01-05", "NaT", "0001-02-01"], f"M8[{unit}]")
        finest = "M8[D]" if unit in "DMW" else "M8[us]"
        expected = array.astype(finest).tolist()
        doc = Document.from_python({"a": array, "one": array[0], "none": array[2]})
        assert doc["a"].to_python() == expected and type(doc["a"][0]) is type(expected[0])
        assert doc["one"] == expected[0] and doc["none"] is None

    def test_others_are_text(self) -> None:
        array = np.array(["2024-02-29T00:00:00.000000001", "2024-02-29", "NaT"], "M8[ns]")
        found = Document.from_python(array).to_python()
        assert found[0] == "2024-02-29T00:00:00.000000001" and found[2] is None
        assert found[1] == array[1].astype("M8[us]").item()
        far = np.array(["12000-01-01", "9999-12-31"], "M8[D]")
        assert Document.from_python(far).to_python() == ["12000-01-01", dt.date(9999, 12, 31)]

    @pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms"])
    @pytest.mark.parametrize("far", [2**60, -(2**60)])
    def test_beyond_all_years(self, unit: str, far: int) -> None:
        array = np.array([far, 5], "i8").view(f"M8[{unit}]")
        first, second = Document.from_python(array).to_python()
        assert first == str(array[0]) and second == array[1].item()

    def test_masked(self) -> None:
        array = np.array(["2020-01-01", "2021-01-01"], "M8[D]")
        masked: Any = np.ma.array(array, mask=[False, True])  # type: ignore[no-untyped-call]
        assert Document.from_python(masked).to_python() == [dt.date(2020, 1, 1), None]


class TestGrowth:
    @pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8"])
    @pytest.mark.parametrize("row", [(), (3,), (2, 2)], ids=str)
    def test_like_a_list(self, dtype: str, row: tuple[int, ...]) -> None:
        random = np.random.default_rng(7)

        def some(count: int) -> Any:
            return random.integers(0, 2 if dtype == "?" else 100, (count, *row)).astype(dtype)

        start = some(2)
        doc, model = Document.from_python({"t": start, "z": "behind"}), list(start)
        tensor = doc["t"]
        for _ in range(60):
            at, new = int(random.integers(0, len(model) + 1)), some(int(random.integers(1, 4)))
            end = at + int(random.integers(0, 3))
            match int(random.integers(0, 8)):
                case 0:
                    tensor.append(new[0])
                    model.append(new[0])
                case 1:
                    tensor.extend(new)
                    model.extend(new)
                case 2:
                    tensor.insert(at, new[0])
                    model.insert(at, new[0])
                case 3 if model:
                    tensor.pop()
                    model.pop()
                case 4:
                    del tensor[at:end]
                    del model[at:end]
                case 5:
                    tensor[at:end] = list(new)
                    model[at:end] = list(new)
                case 6:
                    tensor.reverse()
                    model.reverse()
                case _:
                    tensor += new.tolist()
                    model += list(new)
            wanted = np.array(model, dtype).reshape((len(model), *row))
            found = doc["t"].numpy()
            assert found.dtype == wanted.dtype and found.shape == wanted.shape
            assert (found == wanted).all()
            del found
            doc.validate()
        assert doc["z"] == "behind"

    def test_an_empty_one(self, tmp_path: Path) -> None:
        path = tmp_path / "vectors.lbuf"
        livebuf.dump({"emb": np.zeros((0, 384), "f4"), "ids": []}, path)
        with livebuf.open(path, "r+") as doc:
            for at in range(100):
                doc["emb"].append(np.full(384, at, "f4"))
                doc["ids"].append(at)
        with livebuf.open(path) as doc:
            assert doc["emb"].shape == (100, 384)
            assert (doc["emb"].numpy()[:, 5] == np.arange(100)).all()
            assert path.stat().st_size < 2 * 100 * 384 * 4

    def test_a_refused_row_among_many(self) -> None:
        """Bug: `extend` took the rows back, but the document had grown, its state was lost, and
        there was something to undo."""
        doc = Document.from_python({"t": np.zeros((0, 3), "f4")})
        doc.set_state()
        state, before, history = doc.state, bytes(doc), doc.history()
        with pytest.raises(livebuf.TensorError):
            doc["t"].extend([*np.zeros((500, 3), "f4"), [1, 2]])
        assert bytes(doc) == before and doc.state == state and not history.can_undo

    def test_gaps_that_no_tensor_has(self) -> None:
        """Bug: a division by zero, where a damaged tensor was trusted."""
        for gaps in 1, 2, 3:
            for edit in (
                lambda array: array.append([1, 2, 3]),
                lambda array: array.extend([[1, 2, 3]] * 3),
                lambda array: (array.clear(), array.append([1, 2, 3])),
            ):
                damaged = bytearray(livebuf.dumps({"t": np.zeros((2, 3), "i4"), "z": 1}))
                damaged[34] = gaps
                with contextlib.suppress(livebuf.Error):
                    edit(Document(damaged, trusted=True)["t"])

    def test_a_view_of_a_row_follows(self) -> None:
        doc = Document.from_python(np.arange(6, dtype="i4").reshape(3, 2))
        last, first = doc.root[2], doc.root[0]
        doc.root.insert(0, [9, 9])
        assert last.to_python() == [4, 5] and first.to_python() == [0, 1]
        last[0] = 7
        assert doc.root[3].to_python() == [7, 5]
        del doc.root[1]
        first[0] = 8
        assert doc.root.to_python() == [[9, 9], [2, 3], [7, 5]] and first.to_python() == [8, 1]


class TestAllOrNothing:
    """Bug: a slice of a tensor was assigned element by element. What came before the element that
    does not fit stayed. All are checked before the first one is stored."""

    SLICES = [slice(0, 3), slice(0, 6, 2), slice(5, None, -2), slice(-3, None)]

    @pytest.mark.parametrize("part", SLICES, ids=str)
    @pytest.mark.parametrize("wrong", ["x", 300, -1, 1.5, None, [1]], ids=str)
    def test_elements_that_do_not_fit(self, part: slice, wrong: object) -> None:
        whole = np.arange(6, dtype="u1")
        doc = Document.from_python({"t": whole, "list": [whole, whole]})
        before = bytes(doc)
        for tensor in doc["t"], doc["list"][1]:
            with pytest.raises(livebuf.TensorError):
                tensor[part] = [90, 91, wrong]
            assert bytes(doc) == before
            tensor[part] = [90, 91, 92]
            assert tensor.to_python()[part] == [90, 91, 92]
            before = bytes(doc)

    def test_slices_with_one_that_does_not_fit(self) -> None:
        doc = Document.from_python({"t": np.arange(6, dtype="u1")})
        before = bytes(doc)
        for part, items in [
            (slice(0, 3), [9, -1]),
            (slice(0, 3), [9] * 4 + ["x"]),
            (slice(6, 6), [300]),
        ]:
            with pytest.raises(livebuf.TensorError):
                doc["t"][part] = items
            assert bytes(doc) == before
        with pytest.raises(livebuf.TensorError):
            doc["t"].extend([1, 2, 256])
        assert bytes(doc) == before
        assert doc["t"].to_python() == list(range(6))

    @pytest.mark.parametrize("wrong", [[1, 2], [1, 2, "x"], [1, 2, 1e300], 7, [[1, 2, 3]]], ids=str)
    def test_arrays_of_a_tensor(self, wrong: object) -> None:
        doc = Document.from_python({"m": np.arange(12, dtype="f4").reshape(4, 3)})
        before = bytes(doc)
        for part in slice(0, 2), slice(0, 4, 3), slice(3, None, -1):
            items = [[7, 8, 9], wrong, [1, 1, 1], [2, 2, 2]]
            with pytest.raises(livebuf.TensorError):
                doc["m"][part] = items[: 4 if part.step == -1 else 2]
            assert bytes(doc) == before
        doc["m"][0:2] = [[7, 8, 9], [1, 2, 3]]
        assert doc["m"].to_python()[:2] == [[7, 8, 9], [1, 2, 3]]


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def too_deep() -> Any:
    """Encoded by itself it is as deep as may be, so it is too deep anywhere below the root."""
    return deep(998)


class TestEditsOfMany:
    """Bug: slices with a step and `update` stored what came before the value that was refused."""

    def document(self) -> Document:
        return Document.from_python({"a": [1, 2, 3, 4], "o": {"x": 1}, "rows": [{"n": 1}] * 9})

    def refused(self, doc: Document, error: type[Exception], work: Any) -> None:
        before = bytes(doc)
        with pytest.raises(error):
            work()
        assert bytes(doc) == before

    @pytest.mark.parametrize("part", [slice(0, 2), slice(0, 4, 2), slice(3, 0, -2)], ids=str)
    def test_slices(self, part: slice) -> None:
        doc = self.document()
        work = lambda item: doc["a"].__setitem__(part, [9, item])  # noqa: E731
        self.refused(doc, livebuf.LimitError, lambda: work(too_deep()))
        self.refused(doc, livebuf.EncodeError, lambda: work(object()))
        work(deep(10))
        assert doc["a"][part] == [9, deep(10)]

    @pytest.mark.parametrize("place", ["/o", "/rows/3", ""])
    def test_update(self, place: str) -> None:
        doc = self.document()
        target = doc.pointer(place) if place else doc.root
        for wrong, error in [
            (too_deep() if place else deep(999), livebuf.LimitError),
            (object(), livebuf.EncodeError),
        ]:
            self.refused(doc, error, lambda wrong=wrong: target.update({"x": 2, "y": wrong}))
            self.refused(doc, error, lambda wrong=wrong: target.__ior__({"x": 2, "y": wrong}))
        self.refused(doc, livebuf.WrongTypeError, lambda: target.update({"x": 2, 3: 4}))
        target.update({"x": 2}, y=[3])
        assert target["x"] == 2 and target["y"] == [3]

    def test_a_buffer_that_is_too_small(self) -> None:
        data = livebuf.dumps({"a": [1, 2, 3, 4], "o": {"x": 1}})
        buffer = np.zeros(len(data) + 512, dtype="u1")
        buffer[: len(data)] = np.frombuffer(data, dtype="u1")
        doc = Document(buffer)
        long = "a text that needs more room than there is" * 30
        self.refused(doc, livebuf.LimitError, lambda: doc["o"].update({"x": 2, "y": long}))
        self.refused(
            doc, livebuf.LimitError, lambda: doc["a"].__setitem__(slice(0, 4, 2), [9, long])
        )
        doc["o"].update({"x": 2, "y": "z"})
        assert doc["o"] == {"x": 2, "y": "z"}


class TestArrow:
    """Tensors of one shape are fixed-size lists in each other, which polars and DuckDB take with
    their shape. Asked for by a schema, they are pyarrow's tensors."""

    @pytest.fixture
    def doc(self) -> Document:
        rows = [{"t": np.arange(6, dtype="f4").reshape(2, 3) + n, "n": n} for n in range(9)]
        return Document.from_python(rows)

    def test_pyarrow(self, doc: Document) -> None:
        pa = pytest.importorskip("pyarrow")
        kind = pa.fixed_shape_tensor(pa.float32(), [2, 3])
        table = pa.table(doc.root.table, schema=pa.schema([("t", kind), ("n", pa.int64())]))
        table.validate(full=True)
        tensors = table["t"].chunk(0)
        assert isinstance(tensors, pa.FixedShapeTensorArray)
        numbers = tensors.to_numpy_ndarray()
        assert numbers.shape == (9, 2, 3) and numbers.dtype == "f4"
        assert (numbers[3] == np.arange(3, 9).reshape(2, 3)).all()
        memory = np.frombuffer(doc, dtype="u1")
        assert np.shares_memory(numbers, memory), "borrowed"
        back = livebuf.from_arrow(table)
        assert back == doc and back[3]["t"].shape == (2, 3)

    @pytest.mark.parametrize("dtype", "bhilBHILefd")
    def test_from_pyarrow(self, dtype: str) -> None:
        pa = pytest.importorskip("pyarrow")
        array = values(dtype, (4, 2, 3))
        tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(array)
        doc = livebuf.from_arrow(pa.table({"t": tensors.slice(1, 2)}))
        assert [same(row["t"].numpy(), array[n + 1]) for n, row in enumerate(doc)] == [True] * 2

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_back(self, dtype: str) -> None:
        """All came back as tensors but booleans, which were plain arrays."""
        pa = pytest.importorskip("pyarrow")
        array = values(dtype, (4, 3, 5))
        doc = Document.from_python([{"t": part} for part in array])
        table = pa.table(doc.root.table)
        for first, found in [(0, table), (1, table.slice(1, 2))]:
            again = livebuf.from_arrow(found)
            assert len(again) == len(found)
            assert all(same(row["t"].numpy(), array[first + n]) for n, row in enumerate(again))
            assert same(again.root.table.column("t").numpy(), array[first : first + len(found)])

    def test_exchanged_axes_are_lists_as_stored(self) -> None:
        pa = pytest.importorskip("pyarrow")
        kind = pa.fixed_shape_tensor(pa.int8(), [2, 3], permutation=[1, 0])
        storage = pa.array([[1, 2, 3, 4, 5, 6]], pa.list_(pa.int8(), 6))
        doc = livebuf.from_arrow(pa.table({"t": pa.ExtensionArray.from_storage(kind, storage)}))
        assert doc == [{"t": [1, 2, 3, 4, 5, 6]}]

    def test_polars(self, doc: Document) -> None:
        pl = pytest.importorskip("polars")
        frame = pl.DataFrame(doc.root.table)
        assert frame.schema["t"] == pl.Array(pl.Float32, (2, 3))
        assert frame["t"].to_numpy().shape == (9, 2, 3)
        assert livebuf.from_arrow(frame)[3]["t"].shape == (2, 3)

    def test_duckdb(self, doc: Document) -> None:
        duckdb = pytest.importorskip("duckdb")
        pytest.importorskip("pyarrow")
        with duckdb.connect() as connection:
            connection.register("rows", doc.root.table)
            found = connection.execute("select typeof(t), t[2][3] from rows order by n").fetchall()
        assert found == [("FLOAT[3][2]", 5.0 + n) for n in range(9)]
