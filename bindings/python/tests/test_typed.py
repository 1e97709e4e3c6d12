"""`Decoder` and `Encoder`: documents as objects of types, and back."""

from __future__ import annotations

import abc
import collections.abc
import dataclasses
import datetime as dt
import enum
import gc
import ipaddress
import pathlib
import sys
import threading
import typing
import uuid
import weakref
from decimal import Decimal
from random import Random
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Required,
    TypedDict,
    TypeVar,
)

import attr
import attrs
import livebuf
import msgspec
import pydantic
import pydantic_core
import pytest
from hypothesis import given
from hypothesis import strategies as st
from livebuf import Decoder, Document, Encoder, WrongTypeError

T = TypeVar("T")


def through(value: Any, target: Any, **options: Any) -> Any:
    return Decoder(target, **options).decode(livebuf.dumps(value))


def refused(value: Any, target: Any, **options: Any) -> str:
    with pytest.raises(WrongTypeError) as caught:
        through(value, target, **options)
    assert (caught.value.code, caught.value.kind) == (24, "WrongType")
    return str(caught.value)


# --- dataclasses ---


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5


@dataclasses.dataclass
class Named(Point):
    name: str = "origin"
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int
    inner: Point | None = None


@dataclasses.dataclass(slots=True)
class Slots:
    x: int
    y: list[int] = dataclasses.field(default_factory=lambda: [1])


@dataclasses.dataclass(slots=True, frozen=True)
class FrozenSlots:
    x: int
    y: int = 7


@dataclasses.dataclass(kw_only=True)
class KeywordOnly:
    x: int
    y: int = 2


@dataclasses.dataclass
class SomeKeywords:
    early: int = dataclasses.field(kw_only=True)
    x: int
    late: int = dataclasses.field(default=3, kw_only=True)
    y: int = 4

    def __post_init__(self) -> None:
        self.sum = self.early + self.x + self.late + self.y


@dataclasses.dataclass
class Initial:
    x: int
    scale: dataclasses.InitVar[int]
    offset: dataclasses.InitVar[int] = 1
    scaled: int = dataclasses.field(init=False)
    made: list[int] = dataclasses.field(init=False, default_factory=list)
    kind: ClassVar[str] = "initial"

    def __post_init__(self, scale: int, offset: int) -> None:
        self.scaled = self.x * scale + offset


@dataclasses.dataclass
class OwnInit:
    x: int

    def __init__(self, x: int) -> None:
        self.x = x + 1


class InheritsInit(OwnInit):
    pass


@dataclasses.dataclass
class OwnSetattr:
    x: int

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value * 2)


@dataclasses.dataclass
class OwnNew:
    x: int
    made: ClassVar[int] = 0

    def __new__(cls, *arguments: Any, **named: Any) -> OwnNew:
        cls.made += 1
        return super().__new__(cls)


class Counting(type):
    calls = 0

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        Counting.calls += 1
        return super().__call__(*arguments, **named)


@dataclasses.dataclass
class OwnCall(metaclass=Counting):
    x: int


@dataclasses.dataclass
class Abstract(abc.ABC):
    x: int

    @abc.abstractmethod
    def area(self) -> int: ...


class Undecorated(Point):
    """Inherits all of a dataclass."""


@dataclasses.dataclass
class Tree:
    value: int
    children: list[Tree] = dataclasses.field(default_factory=list)
    next: Tree | None = None
    named: dict[str, Tree] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Box(Generic[T]):
    value: T
    more: list[T] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class IntBox(Box[int]):
    label: str = ""


@dataclasses.dataclass
class Pairs(Generic[T]):
    boxes: dict[str, Box[T]]
    maybe: T | None = None


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        ({"x": 1}, Point, Point(1)),
        ({"x": 1, "y": 2, "z": 3}, Point, Point(1, 2.0)),
        ({"y": 2, "x": 1}, Point, Point(1, 2.0)),
        ({"x": 1, "name": "n", "tags": ["t"]}, Named, Named(1, 0.5, "n", ["t"])),
        ({"x": 1, "inner": {"x": 2}}, Frozen, Frozen(1, Point(2))),
        ({"x": 1, "inner": None}, Frozen, Frozen(1)),
        ({"x": 1}, Slots, Slots(1, [1])),
        ({"x": 1}, FrozenSlots, FrozenSlots(1)),
        ({"x": 1, "y": 3}, KeywordOnly, KeywordOnly(x=1, y=3)),
        ({"x": 1}, KeywordOnly, KeywordOnly(x=1)),
        ({"x": 1, "early": 2}, SomeKeywords, SomeKeywords(1, early=2)),
        ({"x": 1, "early": 2, "y": 9}, SomeKeywords, SomeKeywords(1, 9, early=2)),
        ({"x": 1, "early": 2, "late": 9}, SomeKeywords, SomeKeywords(1, early=2, late=9)),
        (
            {"x": 1, "early": 2, "late": 9, "y": 5},
            SomeKeywords,
            SomeKeywords(1, 5, early=2, late=9),
        ),
        ({"x": 2, "scale": 3}, Initial, Initial(2, 3)),
        ({"x": 2, "scale": 3, "offset": 9, "scaled": 1, "made": [5]}, Initial, Initial(2, 3, 9)),
        ({"x": 1}, OwnInit, OwnInit(1)),
        ({"x": 1}, InheritsInit, InheritsInit(1)),
        ({"x": 1}, OwnSetattr, OwnSetattr(1)),
        ({"x": 1}, Undecorated, Undecorated(1)),
        (
            {"value": 1, "children": [{"value": 2}], "next": {"value": 3}},
            Tree,
            Tree(1, [Tree(2)], Tree(3)),
        ),
        ({"value": 1, "named": {"a": {"value": 2}}}, Tree, Tree(1, named={"a": Tree(2)})),
        ({"value": 1, "more": [2]}, Box[int], Box(1, [2])),
        ({"value": {"x": 1}}, Box[Point], Box(Point(1))),
        ({"value": ["x"]}, Box, Box(["x"])),
        ({"value": 1, "more": [3], "label": "l"}, IntBox, IntBox(1, [3], "l")),
        (
            {"boxes": {"a": {"value": {"x": 1}}}, "maybe": {"x": 2}},
            Pairs[Point],
            Pairs({"a": Box(Point(1))}, Point(2)),
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_dataclasses(value: Any, target: Any, expected: Any) -> None:
    found = through(value, target)
    assert found == expected and type(found) is type(expected)
    if hasattr(expected, "__dict__"):
        assert vars(found) == vars(expected)
    # As rows of a table, as elements of an array without one, and as members of a map.
    assert through([value] * 9, list[target]) == [expected] * 9
    for tables in (True, False):
        payload = livebuf.dumps({"a": [value] * 3, "b": [[value]] * 9}, tables=tables)
        found = Decoder(dict[str, Any]).decode(payload)
        assert found == livebuf.loads(payload)
        assert Decoder(Both[target]).decode(payload) == Both([expected] * 3, [[expected]] * 9)
    many = {f"key {n}": value for n in range(300)}
    assert through(many, dict[str, target]) == dict.fromkeys(many, expected)


@dataclasses.dataclass
class Both(Generic[T]):
    a: list[T]
    b: list[list[T]]


def test_generic_fields_are_checked() -> None:
    assert refused({"value": "x"}, Box[int]) == "int is wanted, not str 'x', at $.value"
    assert refused({"value": "x"}, IntBox) == "int is wanted, not str 'x', at $.value"
    assert refused({"boxes": {"a": {"value": "x"}}}, Pairs[int]).endswith("at $.boxes.a.value")


def test_objects_by_their_keys() -> None:
    """Those of a large object are read by its columns."""
    plain = {f"p{n}": {"x": n, "y": float(n), "more": [n]} for n in range(600)}
    expected = {key: Point(value["x"], value["y"]) for key, value in plain.items()}
    data = livebuf.dumps(plain)
    assert Document(data).root.table.stored
    found = Decoder(dict[str, Point]).decode(data)
    assert found == expected and list(found) == list(plain)
    assert through({"deep": [plain]}, dict[str, list[dict[str, Point]]]) == {"deep": [expected]}
    # With nulls, and after edits: removed, added and odd ones.
    doc = Document(data).editable()
    del doc["p7"], doc["p599"]
    doc["new"], doc["p8"], doc["p9"] = {"x": 1}, None, {"x": 9, "far": True}
    expected |= {"new": Point(1), "p8": None, "p9": Point(9)}
    del expected["p7"], expected["p599"]
    for edited in (doc, Document(livebuf.dumps(doc.to_python()))):
        found = Decoder(dict[str, Point | None]).decode(edited)
        assert found == expected and list(found) == list(edited.keys())
    with pytest.raises(WrongTypeError, match=r"at \$\.p8"):
        Decoder(dict[str, Point]).decode(doc)
    plain["p300"]["x"] = "three"
    assert refused(plain, dict[str, Point]) == "int is wanted, not str 'three', at $.p300.x"
    with pytest.raises(livebuf.LimitError):
        Decoder(dict[str, Point]).decode(data, max_values=1799)
    assert Decoder(dict[str, Point]).decode(data, max_values=1800)


def test_what_classes_do_when_they_are_called() -> None:
    before = OwnNew.made
    assert through([{"x": 1}] * 5, list[OwnNew]) == [OwnNew(1)] * 5 and OwnNew.made == before + 6
    Counting.calls = 0
    through([{"x": 1}] * 5, list[OwnCall])
    assert Counting.calls == 5
    assert through({"x": 1, "early": 1}, SomeKeywords).sum == 9
    assert "abstract" in refused({"x": 1}, Abstract)


def test_mutable_defaults_are_not_shared() -> None:
    found = through([{"x": 1}] * 20, list[Named])
    found[0].tags.append("mine")
    assert found[1].tags == [] and through({"x": 1}, Named).tags == []
    trees = through([{"value": 1}] * 2, list[Tree])
    assert trees[0].children is not trees[1].children


def test_a_factory_that_fails() -> None:
    def fail() -> int:
        raise ValueError("no number today")

    made = dataclasses.make_dataclass("made", [("x", int, dataclasses.field(default_factory=fail))])
    assert refused([{}], list[made]) == "no number today, at $[0]"


@dataclasses.dataclass
class Checked:
    age: int

    def __post_init__(self) -> None:
        if self.age < 0:
            raise ValueError("age must not be negative")
        if self.age > 999:
            raise OSError("not a wrong value")


def test_errors_of_constructors() -> None:
    with pytest.raises(WrongTypeError, match=r"age must not be negative, at \$\[1\]") as caught:
        through([{"age": 1}, {"age": -1}], list[Checked])
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(OSError, match="not a wrong value"):
        through([{"age": 1000}], list[Checked])


def test_local_classes() -> None:
    @dataclasses.dataclass
    class Local:
        value: int
        next: Local | None = None

    assert through({"value": 1, "next": {"value": 2}}, Local) == Local(1, Local(2))

    @dataclasses.dataclass
    class Unknown:
        value: Nowhere  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(TypeError, match="a type in Unknown is not known.*Nowhere"):
        Decoder(Unknown)


# --- NamedTuple and TypedDict ---


class Pair(NamedTuple):
    first: int
    second: str = "s"


class OwnTuple(Pair):
    def __new__(cls, first: int, second: str = "t") -> OwnTuple:
        return super().__new__(cls, first + 1, second)


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Partial(TypedDict, total=False):
    a: Required[int]
    b: str


class Longer(Partial):
    c: list[Pair]


class GenericTuple(NamedTuple, Generic[T]):
    value: T


class GenericDict(TypedDict, Generic[T]):
    value: T


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        ([1, "x"], Pair, Pair(1, "x")),
        ([1], Pair, Pair(1)),
        ({"first": 1}, Pair, Pair(1)),
        ({"second": "x", "first": 1, "third": 2}, Pair, Pair(1, "x")),
        ([1, "x"], OwnTuple, OwnTuple(1, "x")),
        ([[1, "x"], [2, "y"]], list[Pair], [Pair(1, "x"), Pair(2, "y")]),
        ([5], GenericTuple[int], GenericTuple(5)),
        ({"title": "T", "x": 1}, Movie, {"title": "T"}),
        ({"title": "T", "year": 1}, Movie, {"title": "T", "year": 1}),
        ({"a": 1}, Partial, {"a": 1}),
        ({"a": 1, "b": "x", "c": [[1]]}, Longer, {"a": 1, "b": "x", "c": [Pair(1)]}),
        ({"value": {"x": 1}}, GenericDict[Point], {"value": Point(1)}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_tuples_and_dicts(value: Any, target: Any, expected: Any) -> None:
    found = through(value, target)
    assert found == expected and type(found) is type(expected)
    assert through([value] * 9, list[target]) == [expected] * 9


def test_tuples_and_dicts_that_do_not_fit() -> None:
    assert refused({}, Movie) == "Movie wants a field 'title'"
    assert refused({"b": "x"}, Partial) == "Partial wants a field 'a'"
    assert refused([], Pair) == "an array of 2 is wanted, not one of 0"
    assert refused([1, "x", 2], Pair) == "an array of 2 is wanted, not one of 3"
    assert refused([1, 2], Pair) == "str is wanted, not int 2, at $[1]"
    assert refused({"first": "x"}, Pair) == "int is wanted, not str 'x', at $.first"
    assert refused(5, Pair) == "an array is wanted, not int 5"


# --- msgspec ---


class Plain(msgspec.Struct):
    x: int
    tags: list[str] = []
    at: dict[str, int] = msgspec.field(default_factory=dict)


class Renamed(msgspec.Struct, rename="camel"):
    first_name: str
    last_name: str = msgspec.field(name="family", default="L")


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    x: int


class Keywords(msgspec.Struct, kw_only=True):
    x: int = 1
    y: int


class Ordered(Plain, kw_only=True):
    z: int


class Changing(msgspec.Struct, frozen=True, gc=False):
    x: int
    y: int = 5


class Row(msgspec.Struct, array_like=True):
    x: int
    y: str = "y"


class StrictRow(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    x: int


class Cat(msgspec.Struct, tag=True):
    name: str


class Dog(msgspec.Struct, tag=True):
    name: str
    age: int = 1


class Get(msgspec.Struct, tag_field="op", tag=1):
    key: str


class Put(msgspec.Struct, tag_field="op", tag=2):
    key: str
    value: int


class Left(msgspec.Struct, tag="l", array_like=True):
    x: int


class Right(msgspec.Struct, tag="r", array_like=True):
    x: str


class After(msgspec.Struct):
    x: int

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("negative")


class Maybe(msgspec.Struct):
    x: int | msgspec.UnsetType = msgspec.UNSET
    y: int = 2


class GenericStruct(msgspec.Struct, Generic[T]):
    value: T


class Chain(msgspec.Struct):
    value: int
    next: Chain | None = None


STRUCTS: list[tuple[Any, Any]] = [
    (Plain, Plain(1, ["a"], {"b": 2})),
    (Renamed, Renamed("F")),
    (Strict, Strict(1)),
    (Keywords, Keywords(x=5, y=6)),
    (Ordered, Ordered(1, z=3)),
    (Changing, Changing(1)),
    (Row, Row(1)),
    (StrictRow, StrictRow(1)),
    (Cat, Cat("Tom")),
    (Cat | Dog, Dog("Rex", 3)),
    (Cat | Dog | None, Cat("Tom")),
    (Get | Put, Put("k", 1)),
    (Left | Right, Right("x")),
    (Left | Right | Cat | Dog | int, Left(1)),
    (After, After(1)),
    (Maybe, Maybe()),
    (Maybe, Maybe(1)),
    (GenericStruct[Plain], GenericStruct(Plain(1))),
    (Chain, Chain(1, Chain(2, Chain(3)))),
]


@pytest.mark.parametrize(("target", "value"), STRUCTS, ids=lambda value: str(value)[:40])
def test_structs(target: Any, value: Any) -> None:
    """As msgspec has them, and stored with the same keys."""
    plain = msgspec.to_builtins(value)
    assert livebuf.loads(livebuf.dumps(value)) == plain
    for stored in (value, plain):
        assert through(stored, target) == value
        assert through([stored] * 9, list[target]) == [value] * 9
        assert through({"a": stored}, dict[str, target]) == {"a": value}


@dataclasses.dataclass
class Visit:
    took: dt.timedelta
    file: pathlib.Path
    host: ipaddress.IPv4Address
    net: ipaddress.IPv6Network | None = None


def test_types_that_are_stored_as_text() -> None:
    visit = Visit(
        dt.timedelta(days=-3, microseconds=7),
        pathlib.Path("a/b"),
        ipaddress.IPv4Address("10.0.0.1"),
        ipaddress.IPv6Network("fe80::/10"),
    )
    assert Decoder(Visit).decode(livebuf.dumps(visit)) == visit
    take = Decoder(dt.timedelta)
    for text, seconds in (
        ("PT0S", 0),
        ("-PT1.500000000S", -1.5),
        ("P1W2DT3H4M5.25S", 9 * 86_400 + 3 * 3600 + 4 * 60 + 5.25),
        ("+P1D", 86_400),
    ):
        assert take.decode(livebuf.dumps(text)) == dt.timedelta(seconds=seconds)
    for text in ("", "P", "PT", "P1Y", "PT1", "1S", "PT1.0000001S", f"P{10**12}D", "PT١S"):
        with pytest.raises(WrongTypeError, match="timedelta|duration"):
            take.decode(livebuf.dumps(text))
    with pytest.raises(WrongTypeError, match="10.0.0"):
        Decoder(ipaddress.IPv4Address).decode(livebuf.dumps("10.0.0"))
    with pytest.raises(WrongTypeError, match="str is wanted"):
        Decoder(list[pathlib.PurePosixPath]).decode(livebuf.dumps([5]))


@given(st.timedeltas())
def test_any_duration(value: dt.timedelta) -> None:
    assert Decoder(dt.timedelta).decode(livebuf.dumps(value)) == value


def test_structs_from_less() -> None:
    assert through({"x": 1, "unknown": 2}, Plain) == Plain(1)
    assert through({"y": 1}, Keywords) == Keywords(y=1)
    assert through([{"x": 1, "at": {"a": 1}}] * 5, list[Plain]) == [Plain(1, at={"a": 1})] * 5
    assert through([1], Row) == Row(1) and through([1, "x", 3], Row) == Row(1, "x")
    assert through({"name": "Tom"}, Cat) == Cat("Tom")
    found = through([{"x": 1}] * 2, list[Plain])
    assert found[0].tags is not found[1].tags


def test_structs_that_do_not_fit() -> None:
    assert refused({}, Plain) == "Plain wants a field 'x'"
    assert refused({"last": 1}, Renamed) == "Renamed wants a field 'firstName'"
    assert refused([{"x": 1}, {"x": 1, "y": 2}], list[Strict]) == (
        'Strict has no field "y", and forbids others, at $[1]'
    )
    assert refused([1, 2], StrictRow) == "an array of 1 is wanted, not one of 2"
    assert refused({"type": "Dog", "name": "x"}, Cat) == (
        "the tag 'Cat' of Cat is wanted, not str 'Dog', at $.type"
    )
    assert refused({"a": [{"type": "Cow"}]}, dict[str, list[Cat | Dog]]) == (
        "one of the tags ['Cat', 'Dog'] is wanted, not str 'Cow', at $.a[0].type"
    )
    assert refused({"name": "x"}, Cat | Dog) == "a tag 'type' is wanted"
    assert refused({"op": [1]}, Get | Put).startswith("a tag is wanted, not an array")
    assert refused(["l", "x"], Left | Right) == "int is wanted, not str 'x', at $[1]"
    assert refused(["q"], Left | Right).endswith("not str 'q', at $[0]")
    assert refused([{"x": -1}], list[After]) == "negative, at $[0]"
    assert refused([1], Plain) == "Plain wants an object, not an array"
    assert refused({"x": 1}, Row) == "an array is wanted, not an object"


# --- attrs ---


@attrs.define
class Defined:
    x: int
    _private: str = "p"
    tags: list[str] = attrs.Factory(list)
    late: int = attrs.field(kw_only=True, default=2)
    made: int = attrs.field(init=False, default=9)


@attr.s(auto_attribs=True, frozen=True)
class OldStyle:
    x: int
    y: int = attr.ib(alias="why", default=3)


@attrs.define
class Validated:
    x: int = attrs.field(validator=attrs.validators.gt(0))


def test_attrs() -> None:
    for value, target in (
        (Defined(1), Defined),
        (Defined(1, "q", ["t"], late=5), Defined),
        (OldStyle(1, 2), OldStyle),
    ):
        assert livebuf.loads(livebuf.dumps(value)) == attrs.asdict(value)
        assert through(value, target) == value
        assert through([value] * 9, list[target]) == [value] * 9
    assert through({"x": 1}, Defined) == Defined(1)
    assert refused({}, Defined) == "Defined wants a field 'x'"
    assert "must be > 0" in refused([{"x": 0}], list[Validated])


# --- pydantic ---


class Model(pydantic.BaseModel):
    name: str
    age: int = pydantic.Field(default=1, ge=0)
    inner: Model | None = None


class Serialized(pydantic.BaseModel):
    secret: int

    @pydantic.field_serializer("secret")
    def hide(self, value: int) -> str:
        return "*" * value


class Computed(pydantic.BaseModel):
    x: int

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        return 2 * self.x


class Open(pydantic.BaseModel, extra="allow"):
    x: int


class Hidden(pydantic.BaseModel):
    x: int
    y: int = pydantic.Field(default=1, exclude=True)


class OwnDump(pydantic.BaseModel):
    x: int

    def model_dump(self, **options: Any) -> dict[str, Any]:
        return {"own": self.x}


@pydantic.dataclasses.dataclass
class PydanticData:
    x: int = pydantic.Field(ge=0)


class Holding(pydantic.BaseModel):
    at: livebuf.Object
    items: livebuf.Array
    doc: livebuf.Document | None = None


def test_pydantic() -> None:
    model = Model(name="a", inner=Model(name="b", age=3))
    assert livebuf.loads(livebuf.dumps(model)) == model.model_dump()
    assert through(model, Model) == model
    assert through([model] * 9, list[Model]) == [model] * 9
    assert through([None, model], list[Model | None]) == [None, model]
    with pytest.raises(WrongTypeError, match=r"greater than or equal to 0") as caught:
        through([{"name": "x", "age": -1}], list[Model])
    assert isinstance(caught.value.__cause__, pydantic.ValidationError)
    assert str(caught.value).endswith("at $[0]")
    assert through({"x": 1}, PydanticData) == PydanticData(x=1)
    assert "greater than or equal" in refused({"x": -1}, PydanticData)


@pytest.mark.parametrize(
    "model",
    [Serialized(secret=3), Computed(x=1), Open(x=1, more=2), Hidden(x=1), OwnDump(x=1)],  # type: ignore[call-arg]
    ids=lambda model: type(model).__name__,
)
def test_what_models_say_of_their_serializing(model: Any) -> None:
    assert livebuf.loads(livebuf.dumps(model)) == model.model_dump()
    assert livebuf.loads(livebuf.dumps([model] * 3)) == [model.model_dump()] * 3


class Point3(pydantic.BaseModel):
    x: int = pydantic.Field(1, serialization_alias="X")
    seen: dt.date = dt.date(2024, 2, 29)


class Secret(Point3):
    """pydantic writes the fields of the class that a field is declared as."""

    password: str = "hunter2"


class ByAlias(pydantic.BaseModel, serialize_by_alias=True, alias_generator=str.upper):
    ab: int = 1


class Hiding(pydantic.BaseModel):
    only_json: int = 3

    @pydantic.field_serializer("only_json", when_used="json")
    def hide(self, value: int) -> str:
        return "*" * value


class Wrapped(pydantic.BaseModel):
    x: set[int] = {1}

    @pydantic.model_serializer(mode="wrap")
    def wrap(self, handler: Any) -> Any:
        return {"wrapped": handler(self)}


class Points(pydantic.RootModel[list[Point3]]):
    pass


class Kind1(pydantic.BaseModel):
    kind: Literal["one"] = "one"


class Kind2(pydantic.BaseModel):
    kind: Literal["two"] = "two"
    points: Points = Points([Secret()])


@pydantic.dataclasses.dataclass(config={"serialize_by_alias": True})
class Aliased:
    user_id: int = pydantic.Field(1, alias="userId")
    hidden: int = pydantic.Field(2, exclude=True)

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        return 2 * self.user_id


# Types of fields, and values of them.
FIELDS: list[tuple[Any, list[Any]]] = [
    (int, [5]),
    (str | None, ["a", None]),
    (dt.date, [dt.date(2024, 2, 29)]),
    (dict[str, dt.date], [{"a": dt.date(2024, 2, 29)}]),
    (dict[int, set[int]], [{1: {2}}]),
    (dict[dt.date, Point3], [{dt.date(2024, 2, 29): Secret()}]),
    (dict, [{1: {2}, None: 3, 2.5: b"x"}]),
    (set[str], [{"a"}]),
    (frozenset[uuid.UUID], [frozenset([uuid.UUID(int=1)])]),
    (collections.deque[int], [collections.deque([1])]),
    (collections.abc.Sequence[dt.date], [(dt.date(2024, 2, 29),)]),
    (tuple[int, set[int]], [(1, {2})]),
    (pydantic.HttpUrl, [pydantic.HttpUrl("https://livebuf.example")]),
    (list[pydantic.HttpUrl | int], [[pydantic.HttpUrl("https://livebuf.example"), 1]]),
    (pydantic.SecretStr, [pydantic.SecretStr("hunter2")]),
    (pydantic.ByteSize, [5]),
    (bytes, [b"x"]),
    (Decimal, [Decimal("1.50")]),
    (Any, [{"a": {1}}, Secret(), Wrapped(), {2: pydantic.HttpUrl("https://livebuf.example")}]),
    (Point3, [Point3(), Secret()]),
    (list[Point3], [[Point3(), Secret()]]),
    (pydantic.SerializeAsAny[Point3], [Secret()]),
    (Secret | Point3, [Secret(), Point3()]),
    (Annotated[Point3, pydantic.PlainSerializer(lambda point: point.x)], [Point3()]),
    (Annotated[Kind1 | Kind2, pydantic.Field(discriminator="kind")], [Kind1(), Kind2()]),
    (Points, [Points([Secret()])]),
    (pydantic.RootModel[pydantic.HttpUrl], [pydantic.HttpUrl("https://livebuf.example")]),
    (ByAlias, [ByAlias()]),
    (Hiding, [Hiding()]),
    (Wrapped, [Wrapped()]),
    (list[Wrapped], [[Wrapped()]]),
    (Aliased, [Aliased()]),
    (Point, [Point(1)]),
    (uuid.UUID, [uuid.UUID(int=2)]),
]


@st.composite
def shapes(draw: st.DrawFn) -> pydantic.BaseModel:
    """A model of a random class."""
    fields: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for number in range(draw(st.integers(0, 5))):
        kind, known = draw(st.sampled_from(FIELDS))
        options: dict[str, Any] = {"exclude": draw(st.sampled_from([None, None, None, True]))}
        if draw(st.booleans()):
            options["serialization_alias"] = f"alias{number}"
        if draw(st.integers(0, 9)) == 0:
            options["exclude_if"] = lambda _: True
        fields[f"f{number}"] = (kind, pydantic.Field(**options))
        values[f"f{number}"] = draw(st.sampled_from(known))
    namespace: dict[str, Any] = {}
    if draw(st.booleans()):

        def computed(self: Any) -> set[int]:
            return {1}

        computed.__annotations__ = {"return": draw(st.sampled_from([set[int], Any]))}
        namespace["computed"] = pydantic.computed_field(alias="COMPUTED")(property(computed))
    config = {"serialize_by_alias": draw(st.booleans()), "arbitrary_types_allowed": True}
    if draw(st.booleans()):
        config["extra"] = "allow"
        values["more"] = {1}
    namespace |= {"__module__": __name__, "model_config": config}
    base = type(pydantic.BaseModel)("Base", (pydantic.BaseModel,), namespace)
    made: Any = pydantic.create_model("Shape", __base__=base, **fields)
    model: pydantic.BaseModel = made(**values)
    return model


@given(shapes())
def test_models_are_stored_as_pydantic_writes_them(model: pydantic.BaseModel) -> None:
    """Aliases were not heeded, `RootModel` became an object of "root", and sets and URLs raised."""
    expected = model.model_dump(mode="json")
    stored = livebuf.loads(livebuf.dumps(model))
    # Dates and their like stay.
    assert pydantic_core.to_jsonable_python(stored) == expected
    assert list(stored) == list(expected)
    assert livebuf.loads(livebuf.dumps([model] * 3)) == [stored] * 3
    assert livebuf.loads(livebuf.dumps(pydantic.RootModel[type(model)](model))) == stored


def test_models_keep_what_documents_have() -> None:
    assert livebuf.loads(livebuf.dumps(Secret())) == {
        "x": 1,
        "seen": dt.date(2024, 2, 29),
        "password": "hunter2",
    }
    held = pydantic.create_model("Held", at=(Point3, ...), days=(set[dt.date], ...))
    day = dt.date(2024, 2, 29)
    assert livebuf.loads(livebuf.dumps(held(at=Secret(), days={day}))) == {
        "at": {"x": 1, "seen": day},
        "days": [day],
    }


def test_classes_of_pydantic_are_read_by_their_aliases() -> None:
    """The aliases of a pydantic dataclass were passed over, so that its fields took defaults."""
    assert through({"userId": 7}, Aliased) == Aliased(userId=7)
    assert through([{"userId": 7}], list[Aliased | None]) == [Aliased(userId=7)]
    assert through(Aliased(userId=7), Aliased) == Aliased(userId=7)
    assert through(Points([Point3()]).model_dump(by_alias=False), Points) == Points([Point3()])
    assert through({"AB": 2}, ByAlias).ab == 2
    assert "object is wanted" in refused(5, Aliased)


def test_views_in_models() -> None:
    doc = livebuf.from_json('{"at": {"x": 1}, "items": [1, 2]}')
    held = Holding(at=doc["at"], items=doc["items"], doc=doc)
    assert held.at is not None and held.at["x"] == 1 and held.doc is doc
    doc["at"]["x"] = 2
    assert held.at["x"] == 2
    assert held.model_dump(exclude={"doc"}) == {"at": {"x": 2}, "items": [1, 2]}
    assert held.model_dump_json(exclude={"doc"}) == '{"at":{"x":2},"items":[1,2]}'
    read = Holding.model_validate_json('{"at": {"x": 5}, "items": [1]}')
    assert isinstance(read.at, livebuf.Object) and read.at["x"] == 5
    assert isinstance(read.items, livebuf.Array) and list(read.items) == [1]
    for wrong in ({"at": [1], "items": []}, {"at": {}, "items": {}}, {"at": 5, "items": []}):
        with pytest.raises(pydantic.ValidationError):
            Holding.model_validate(wrong)
    schema = Holding.model_json_schema()["properties"]
    assert schema["at"]["type"] == "object" and schema["items"]["type"] == "array"
    # Models read views where they want dicts and lists.
    assert Model.model_validate(livebuf.from_json('{"name": "n"}').root).name == "n"


# --- plain types ---


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Name(enum.StrEnum):
    ADA = "ada"


class Bits(enum.Flag):
    ONE = 1
    TWO = 2


class Listed(enum.Enum):
    PAIR = [1, 2]


class Lenient(enum.Enum):
    KNOWN = "known"
    OTHER = "other"

    @classmethod
    def _missing_(cls, value: object) -> Lenient:
        return cls.OTHER


UserId = NewType("UserId", int)
NOON = dt.datetime(2024, 1, 2, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        (5, UserId, 5),
        ("red", Color, Color.RED),
        (2, Level, Level.HIGH),
        ("ada", Name, Name.ADA),
        (3, Bits, Bits.ONE | Bits.TWO),
        ("new", Lenient, Lenient.OTHER),
        ([1, 2], Listed, Listed.PAIR),
        ([[1, 2], None], list[Listed | None], [Listed.PAIR, None]),
        ("a", Literal["a", 1, None], "a"),
        (1, Literal["a", 1, None], 1),
        (None, Literal["a", 1, None], None),
        ("red", Literal[Color.RED], Color.RED),
        ("b", Literal[Literal["a"], "b"], "b"),
        ([1, "x", None], tuple[int, str, None], (1, "x", None)),
        ([], tuple[()], ()),
        ([1, 2], tuple[int, ...], (1, 2)),
        ([1, 2], collections.abc.Sequence[int], [1, 2]),
        ([1, 2], typing.Iterable[int], [1, 2]),
        ([1, 2], collections.abc.Set[int], {1, 2}),
        ([1, 2], frozenset[int], frozenset((1, 2))),
        ({"a": 1}, collections.abc.Mapping[str, float], {"a": 1.0}),
        ({"a": 1}, dict[Any, int], {"a": 1}),
        (2**64 - 1, int, 2**64 - 1),
        (-(2**70), int, -(2**70)),
        (2**64 - 1, float, float(2**64 - 1)),
        (2**70, float | None, float(2**70)),
        (2**70, int | str, 2**70),
        (Decimal("1." + "1" * 60), Decimal | int, Decimal("1." + "1" * 60)),
        (Decimal("0.5"), float, 0.5),
        (b"\x00\xff", bytes, b"\x00\xff"),
        (b"\x00", bytearray, bytearray(b"\x00")),
        ("2024-01-02T12:00:00Z", dt.datetime, NOON),
        (NOON, dt.datetime, NOON),
        (NOON, dt.datetime | dt.date | None, NOON),
        ("2024-01-02", dt.datetime | dt.date, dt.datetime(2024, 1, 2)),
        (NOON.date(), dt.datetime | dt.date | None, NOON.date()),
        ("12:30:00", dt.time, dt.time(12, 30)),
        ("{00000000-0000-0000-0000-000000000007}", uuid.UUID, uuid.UUID(int=7)),
        ("00000000-0000-0000-0000-000000000007", uuid.UUID, uuid.UUID(int=7)),
        ("00000000-0000-0000-0000-000000000007", uuid.UUID | int, uuid.UUID(int=7)),
        ("00000000-0000-0000-0000-000000000007", uuid.UUID | str, str(uuid.UUID(int=7))),
        (1.1, Decimal, Decimal("1.1")),
        (7, Decimal | None, Decimal(7)),
        (1, float | None, 1.0),
        ("x", int | str | None, "x"),
        (None, int | str | None, None),
        ([{"x": 1}, None], list[Point | None], [Point(1), None]),
        ([{"x": 1}, 5], list[Point | int], [Point(1), 5]),
        ([[1], {"x": 1}], list[list[int] | Point], [[1], Point(1)]),
        ([{"x": 1}, None] * 9, list[Point | None], [Point(1), None] * 9),
        (["red", 5], list[Color | int], [Color.RED, 5]),
        ([1, "a"], list[Literal["a"] | int], [1, "a"]),
        (5, Any | None, 5),
    ],
    ids=lambda value: str(value)[:40],
)
def test_plain_types(value: Any, target: Any, expected: Any) -> None:
    found = through(value, target)
    assert found == expected and type(found) is type(expected)
    if isinstance(expected, (list, tuple)):
        assert [type(one) for one in found] == [type(one) for one in expected]


def unhashable(name: str) -> str:
    """What Python says where such an object is put into a set."""
    if sys.version_info < (3, 14):
        return f"unhashable type: '{name}'"
    return f"cannot use '{name}' as a set element (unhashable type: '{name}')"


@pytest.mark.parametrize(
    ("value", "target", "message"),
    [
        ({"users": [0, {"x": 1}]}, dict[str, list[Point]],
         "Point wants an object, not int 0, at $.users[0]"),
        ({"a b": {"x": "1"}}, dict[str, Point], "int is wanted, not str '1', at $[\"a b\"].x"),
        ([{"x": 1}, {"y": 1}], list[Point], "Point wants a field 'x', at $[1]"),
        ([{"x": 1}] * 9 + [{"x": None}], list[Point], "int is wanted, not null, at $[9].x"),
        ({"x": 1, "inner": {"x": "q"}}, Frozen, "int is wanted, not str 'q', at $.inner.x"),
        ([{"value": 1, "children": [{"value": 1}, {"value": "x"}]}] * 4, list[Tree],
         "int is wanted, not str 'x', at $[0].children[1].value"),
        (1.0, int, "int is wanted, not float 1.0"),
        (True, int, "int is wanted, not bool True"),
        (1, bool, "bool is wanted, not int 1"),
        ("1", float, "float is wanted, not str '1'"),
        ("", None, "None is wanted, not str ''"),
        (Decimal("1.5"), int, "int is wanted, not Decimal Decimal('1.5')"),
        ("x", bytes, "bytes is wanted, not str 'x'"),
        (b"x", str, "str is wanted, not bytes b'x'"),
        ("x", int | None, "int or None is wanted, not str 'x'"),
        ([1], dict[str, int], "an object is wanted, not an array"),
        ({}, list[int], "an array is wanted, not an object"),
        ([1], tuple[int, int], "an array of 2 is wanted, not one of 1"),
        ("nonsense", dt.date, "date is wanted, not str 'nonsense'"),
        ("nonsense", uuid.UUID | int, "UUID or int is wanted, not str 'nonsense'"),
        ("c", Literal["a", "b"], "one of Literal['a', 'b'] is wanted, not str 'c'"),
        ("green", Color, "'green' is not a valid Color"),
        ([1, {}], list[Color], "1 is not a valid Color, at $[0]"),
        ([[1]], set[list[int]], unhashable("list")),
        ([{}], set, unhashable("dict")),
        ("x" * 500, int, "int is wanted, not str '" + "x" * 59),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_mismatches(value: Any, target: Any, message: str) -> None:
    assert refused(value, target) == message
    assert refused({"k": [value]}, dict[str, list[target]]).startswith(message.split(", at")[0])


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        ("1", int, 1),
        (" -15 ", int, -15),
        ("9" * 30, int, int("9" * 30)),
        (1.0, int, 1),
        ("1.5", float, 1.5),
        ("true", bool, True),
        ("False", bool, False),
        (0, bool, False),
        ("null", None, None),
        ("NULL", int | None, None),
        ("3", int | None, 3),
        ("x", int | str, "x"),
        ("3", int | str, "3"),
        ("2.5", int | float, 2.5),
        ("1", Level, Level.LOW),
        (0, dt.datetime, dt.datetime(1970, 1, 1, tzinfo=dt.UTC)),
        (1.5, dt.datetime | None, dt.datetime(1970, 1, 1, 0, 0, 1, 500000, dt.UTC)),
        ({"x": "1", "y": "2"}, Point, Point(1, 2.0)),
        ([{"x": "1", "y": "2"}] * 9, list[Point], [Point(1, 2.0)] * 9),
    ],
    ids=lambda value: str(value)[:30],
)
def test_lax(value: Any, target: Any, expected: Any) -> None:
    found = through(value, target, strict=False)
    assert found == expected and type(found) is type(expected)
    if not isinstance(value, (dict, list)) and (value, target) not in [
        ("3", int | str),
        ("x", int | str),
    ]:
        refused(value, target)


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ("1_000", int),
        ("1.0", int),
        ("x", int),
        ("", int),
        (1.5, int),
        (float("nan"), int),
        (float("inf"), int),
        ("yes", bool),
        (2, bool),
        (1, str),
        ("x", float),
        (1e300, dt.datetime),
        (None, int),
    ],
)
def test_lax_has_limits(value: Any, target: Any) -> None:
    refused(value, target, strict=False)


def test_meta() -> None:
    Small = Annotated[int, msgspec.Meta(ge=0, lt=10), "about"]
    Short = Annotated[str, msgspec.Meta(min_length=1, max_length=3, pattern="^a")]
    Even = Annotated[int, msgspec.Meta(multiple_of=2)]
    assert through([0, 9], list[Small]) == [0, 9]
    assert refused([0, 10], list[Small]) == "a value < 10 is wanted, not 10, at $[1]"
    assert refused(-1, Small) == "a value >= 0 is wanted, not -1"
    assert refused("x", Small) == "int is wanted, not str 'x'"
    assert through("abc", Short) == "abc"
    assert "of a length <= 3" in refused("abcd", Short)
    assert "text like" in refused("b", Short)
    assert "multiple" in refused(3, Even)
    assert through(None, Small | None) is None
    assert through(5, Annotated[int, {"unhashable": 1}]) == 5


# --- types that no decoder takes ---


@dataclasses.dataclass
class Other:
    x: int


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Point | Other, "Other.*Point|Point.*Other"),
        (Point | dict[str, int], "stored as an object"),
        (list[int] | tuple[int, ...], "stored as an array"),
        (str | Color, "stored as a str"),
        (int | Level, "stored as an int"),
        (Literal["a"] | str, "stored as a str"),
        (Cat | Plain, "stored as an object"),
        (Cat | Get, "the same tag_field"),
        (dict[int, str], "keys of objects are str"),
        (complex, "does not know the type complex; give dec_hook="),
        (list[complex], "complex"),
        (5, "does not know"),
        ("Point", "does not know"),
        (collections.abc.Callable[[], int], "does not know"),
    ],
    ids=str,
)
def test_types_that_are_refused(target: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message) as caught:
        Decoder(target)
    assert not isinstance(caught.value, livebuf.Error)
    with pytest.raises(TypeError):
        livebuf.loads(livebuf.dumps(1), type=target)


# --- hooks ---


def test_dec_hook() -> None:
    calls: list[Any] = []

    def hook(target: type, value: Any) -> Any:
        calls.append((target, value))
        if target is complex:
            return complex(*value)
        raise LookupError(target)

    decoder = Decoder(dict[str, complex | None], dec_hook=hook)
    payload = livebuf.dumps({"a": [1, 2.5], "b": None})
    assert decoder.decode(payload) == {"a": 1 + 2.5j, "b": None}
    assert calls == [(complex, [1, 2.5])]
    assert "malformed string" in refused([["x"]], list[complex], dec_hook=hook)
    assert refused([1], list[complex], dec_hook=lambda target, value: value) == (
        "dec_hook gave int for complex, at $[0]"
    )
    with pytest.raises(LookupError):
        through(1, range, dec_hook=hook)


def test_enc_hook() -> None:
    encoder = Encoder(enc_hook=lambda value: [value.real, value.imag])
    assert livebuf.loads(encoder.encode([1 + 2j])) == [[1.0, 2.0]]
    with pytest.raises(livebuf.EncodeError, match="complex cannot be stored"):
        Encoder().encode(1j)
    sorted_keys = Encoder(sort_keys=True)
    assert list(livebuf.loads(sorted_keys.encode({"b": 1, "a": 2}))) == ["a", "b"]
    assert Encoder(tables=False, min_width=8).encode([1, 2]) == livebuf.dumps(
        [1, 2], tables=False, min_width=8
    )
    with pytest.raises(ValueError, match="min_width"):
        Encoder(min_width=3)  # type: ignore[arg-type]


def test_a_document_cannot_change_while_it_is_decoded() -> None:
    doc = Document.from_python({"a": [[1, 2]]})

    def hook(target: type, value: Any) -> complex:
        with pytest.raises(livebuf.ExportedError):
            doc["b"] = "x" * 10_000
        with pytest.raises(livebuf.ExportedError):
            doc.close()
        assert doc["a"][0][1] == 2
        return complex(*value)

    assert Decoder(dict[str, list[complex]], dec_hook=hook).decode(doc) == {"a": [1 + 2j]}
    doc["b"] = 1
    assert doc.to_python() == {"a": [[1, 2]], "b": 1}


def test_a_decoder_within_itself() -> None:
    payload = livebuf.dumps([{"x": 1}] * 3)
    inner = Decoder(list[Point])

    def hook(target: type, value: Any) -> complex:
        return complex(len(inner.decode(payload)), len(outer.decode(livebuf.dumps([]))))

    outer = Decoder(list[complex], dec_hook=hook)
    assert outer.decode(livebuf.dumps([0, 0])) == [3 + 0j, 3 + 0j]


# --- where documents come from ---


def test_sources() -> None:
    value = {"list": [{"x": 1}] * 5, "one": {"x": 2}}
    payload = livebuf.dumps(value)
    doc = Document(bytearray(payload))
    decoder = Decoder(dict[str, Any])
    for source in (
        payload,
        bytearray(payload),
        memoryview(payload),
        Document(payload),
        doc,
        doc.root,
    ):
        assert decoder.decode(source) == value
    assert Decoder(list[Point]).decode(doc["list"]) == [Point(1)] * 5
    assert Decoder(Point).decode(doc["one"]) == Point(2)
    assert Decoder(Point).decode(doc["list"][3]) == Point(1)
    for wrong in (None, 5, "text", {"a": 1}):
        with pytest.raises(TypeError):
            decoder.decode(wrong)
    doc.close()
    with pytest.raises(livebuf.ClosedError):
        decoder.decode(doc)
    doc = Document.from_python([{"x": 1}])
    view = doc[0]
    del doc[0]
    assert Decoder(Point).decode(view) == Point(1)


def test_to_python() -> None:
    doc = livebuf.from_json('{"list": [{"x": 1}, {"x": 2}], "one": {"x": 3}}')
    assert doc.to_python() == {"list": [{"x": 1}, {"x": 2}], "one": {"x": 3}}
    assert doc.to_python(type=dict[str, Any]) == doc.to_python()
    assert doc["list"].to_python(type=list[Point]) == [Point(1), Point(2)]
    assert doc["one"].to_python(type=Point) == Point(3)
    assert doc["one"].to_python(type=None) == {"x": 3}
    with pytest.raises(WrongTypeError, match=r"int is wanted, not an object, at \$\[0\]"):
        doc["list"].to_python(type=list[int])
    with pytest.raises(livebuf.LimitError):
        doc["list"].to_python(type=list[Point], max_values=2)


def test_a_decoder_itself() -> None:
    decoder = Decoder(list[Point], strict=False)
    assert decoder.type == list[Point] and decoder.strict is False
    assert repr(decoder).startswith("<livebuf.Decoder of list[")
    assert Decoder[int] is not None
    with pytest.raises(livebuf.LimitError):
        decoder.decode(livebuf.dumps([{"x": 1}] * 10), max_values=5)


# --- objects of many values ---


def test_every_layout() -> None:
    """Rows, rows with gaps, rows with further fields, rows in lists, maps, records."""
    rows = [{"x": n, "y": n / 2} for n in range(100)]
    doc = Document.from_python(
        {
            "rows": rows,
            "nested": [{"value": n, "children": [{"value": n}] * (n % 4)} for n in range(50)],
        }
    )
    points = [Point(n, n / 2) for n in range(100)]
    trees = [Tree(n, [Tree(n)] * (n % 4)) for n in range(50)]

    def check() -> None:
        assert doc["rows"].to_python(type=list[Point]) == points
        assert doc["nested"].to_python(type=list[Tree]) == trees

    check()
    doc["rows"][3]["more"] = [1]
    doc["nested"][4]["more"] = "text"
    check()
    del doc["rows"][5]["y"]
    points[5].y = 0.5
    doc["nested"][0]["next"] = {"value": 1}
    trees[0].next = Tree(1)
    check()
    doc["rows"][7]["y"] = 2**40
    points[7].y = float(2**40)
    doc["nested"][7]["children"] = []
    trees[7].children = []
    check()
    doc["rows"][8] = None
    assert doc["rows"].to_python(type=list[Point | None])[8] is None
    with pytest.raises(WrongTypeError, match=r"Point wants an object, not null, at \$\[8\]"):
        check()


def test_optional_objects_in_rows() -> None:
    rows = [{"x": n, "inner": {"x": n} if n % 3 else None} for n in range(60)]
    expected = [Frozen(n, Point(n) if n % 3 else None) for n in range(60)]
    assert through(rows, list[Frozen]) == expected
    rows = [{"x": n} | ({"inner": {"x": n}} if n % 3 else {}) for n in range(60)]
    assert through(rows, list[Frozen]) == expected


def test_many_fields() -> None:
    names = [f"field_{n}" for n in range(300)]
    wide = dataclasses.make_dataclass("wide", [(name, int) for name in names])
    struct = msgspec.defstruct("struct", [(name, int) for name in names])
    values = dict(zip(names, range(300), strict=True))
    for target in (wide, struct):
        made = target(**values)
        assert through(made, target) == made
        assert through([made] * 4, list[target]) == [made] * 4
        assert refused(dict(list(values.items())[:-1]), target).endswith("a field 'field_299'")


def test_deep_documents() -> None:
    value: dict[str, Any] = {"value": 0}
    for n in range(150):
        value = {"value": n, "next": value}
    found: Any = through(value, Tree)
    for n in range(149, -1, -1):
        assert found.value == n
        found = found.next
    for _ in range(100):
        value = {"value": 0, "next": value}
    with pytest.raises(livebuf.LimitError) as caught:
        through(value, Tree)
    assert caught.value.kind == "NestingLimit"


def test_deep_documents_on_a_small_stack() -> None:
    value: dict[str, Any] = {"value": 0}
    for n in range(400):
        value = {"value": 0, "next": value} if n % 2 else {"value": 0, "children": [value]}
    payload = livebuf.dumps(value)
    decoder = Decoder(Tree)
    found: list[Any] = []

    def run() -> None:
        with pytest.raises(livebuf.LimitError) as caught:
            decoder.decode(payload)
        found.append(caught.value)

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert found


# --- leaks ---


def references(work: Any, times: int = 400) -> int:
    for _ in range(50):
        work()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(times):
        work()
    gc.collect()
    return sys.getallocatedblocks() - before


@pytest.mark.parametrize(
    ("target", "value"),
    [
        (list[Point], [{"x": 1}] * 9),
        (list[Point], [{"x": "x"}] * 9),
        (list[Plain], [{"x": 1}] * 9),
        (list[Plain], [{"x": 1, "tags": ["a"]}, {"y": 1}]),
        (list[Tree], [{"value": 1, "children": [{"value": 2}]}] * 9),
        (list[Pair], [[1, "x"]] * 9),
        (list[Color], ["red"] * 9),
        (Cat | Dog, {"type": "Dog", "name": "x"}),
        (list[Defined], [{"x": 1, "late": 2}] * 5),
        (list[Checked], [{"age": 1}, {"age": -1}]),
        (dict[str, uuid.UUID | int], {"a": "x"}),
        (set[int], [1, 2]),
    ],
    ids=str,
)
def test_nothing_leaks(target: Any, value: Any) -> None:
    decoder, payload = Decoder(target), livebuf.dumps(value)

    def work() -> None:
        try:
            livebuf.dumps(decoder.decode(payload), default=list)
        except livebuf.Error:
            pass

    assert references(work) < 200


def test_decoders_do_not_leak() -> None:
    assert references(lambda: Decoder(list[Tree]), 400) < 200

    class Kept:
        decoder: Any

    made: Any = dataclasses.make_dataclass("made", [("x", int)])
    made.decoder = Decoder(list[made])
    payload = livebuf.dumps(made.decoder.decode(livebuf.dumps([{"x": 1}])))
    assert livebuf.loads(payload) == [{"x": 1}]
    alive = weakref.ref(made)
    del made
    gc.collect()
    assert alive() is None


# --- other implementations ---

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


@dataclasses.dataclass
class Inner:
    a: int
    b: str | None = None


@dataclasses.dataclass
class Outer:
    scalar: None | bool | int | float | str
    inner: Inner
    inners: list[Inner]
    maybe: Inner | None = None
    numbers: list[float] = dataclasses.field(default_factory=list)
    named: dict[str, Inner] = dataclasses.field(default_factory=dict)
    pair: tuple[int, str] = (0, "")
    level: Level = Level.LOW
    choice: Literal["a", "b"] = "a"


INNER = st.builds(Inner, st.integers(-(2**63), 2**63 - 1), st.none() | st.text())
OUTER = st.builds(
    Outer,
    SCALARS.filter(lambda value: type(value) is not int or -(2**63) <= value < 2**64),
    INNER,
    st.lists(INNER, max_size=4),
    st.none() | INNER,
    st.lists(st.floats(allow_nan=False), max_size=4),
    st.dictionaries(st.text(), INNER, max_size=4),
    st.tuples(st.integers(-5, 5), st.text()),
    st.sampled_from(Level),
    st.sampled_from(["a", "b"]),
)


@given(st.lists(OUTER, max_size=6), st.booleans())
def test_against_asdict_and_msgspec(values: list[Outer], tables: bool) -> None:
    payload = livebuf.dumps(values, tables=tables)
    plain = [dataclasses.asdict(value) for value in values]
    assert livebuf.loads(payload) == [one | {"pair": list(one["pair"])} for one in plain]
    found = Decoder(list[Outer]).decode(payload)
    assert found == values
    packed = msgspec.msgpack.encode(values)
    assert found == msgspec.msgpack.decode(packed, type=list[Outer])


KEYS = st.sampled_from(["a", "b", "x", "y", "value", "children", "next", "first"])
ANYTHING = st.recursive(
    SCALARS | st.binary(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "b", "x", "y", "value", "children", "next", "first"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
TARGETS: list[Any] = [
    int, str, float, list[int], Inner, list[Inner], Tree, Point | None, list[Point | None], Plain,
    dict[str, Tree], Pair, tuple[int, str], int | list[str] | None, Movie, Keywords,
]  # fmt: skip


@given(ANYTHING, st.sampled_from(TARGETS))
def test_any_value_against_any_type(value: Any, target: Any) -> None:
    """It fits, or says where it does not; what fits is what msgspec makes of it."""
    payload = livebuf.dumps(value)
    try:
        found = Decoder(target).decode(payload)
    except livebuf.Error as error:
        assert isinstance(error, WrongTypeError)
        return
    if target in (Pair,) or not _small(value):
        return
    assert found == msgspec.convert(value, target)


def _small(value: Any) -> bool:
    return not (isinstance(value, int) and not -(2**63) <= value < 2**63)


def test_long_keys_of_many_rows_are_no_damage() -> None:
    # A bit of the document for each value, and 255 bytes of key for each.
    rows = [{"k" * 255: n % 3 == 0} for n in range(100_000)]
    data = livebuf.dumps(rows)
    assert len(data) < 20_000
    assert livebuf.loads(data) == rows
    assert livebuf.loads(data, type=list[dict[str, bool]]) == rows
    assert livebuf.Document(data)[0].to_python() == rows[0]


@given(st.data())
def test_hostile_bytes(data: st.DataObject) -> None:
    """Damage raises errors of ours, whatever the type."""
    value = [
        {"value": n, "children": [{"value": 1, "named": {"k": {"value": 2}}}], "next": {"value": 3}}
        for n in range(5)
    ]
    payload = bytearray(livebuf.dumps(value, tables=data.draw(st.booleans())))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(payload) - 1))
        payload[at] = data.draw(st.integers(0, 255))
    payload = payload[: data.draw(st.integers(0, len(payload)) | st.just(len(payload)))]
    for target in (list[Tree], list[Point], list[Plain | None], list[dict[str, Any]]):
        try:
            Decoder(target).decode(payload, max_values=20_000)
        except livebuf.Error:
            pass


class TestModelsWithoutPydantic:
    """Models that have nothing but fields are made without pydantic, unless a value is not exactly
    of its field's type. Nobody can tell the difference."""

    def models(self) -> dict[str, Any]:
        base, field = pydantic.BaseModel, pydantic.Field

        class Geo(base):
            lat: float
            lon: float = 0.5

        class Plain(base):
            i: int
            f: float = 1.5
            s: str | None = None
            b: bool = False
            many: list[int] = field(default_factory=list)
            geo: Geo | None = None
            all: dict[str, Geo] = field(default_factory=dict)
            free: Any = None
            when: dt.datetime | None = None
            day: dt.date | None = None
            at: dt.time | None = None
            id: uuid.UUID | None = None
            kind: Literal["a", 1, True] | None = None

        class Below(Plain):
            more: str = "x"
            const: ClassVar[int] = 3

        class Frozen(base):
            model_config = pydantic.ConfigDict(frozen=True)
            i: int
            s: str = "t"

        class Alias(base):
            i: int = field(alias="I")
            s: str = field("d", validation_alias="S")

        class Own(base):
            i: int
            _seen: list[int] = pydantic.PrivateAttr(default_factory=list)

        class After(base):
            i: int
            s: str = "t"

            def model_post_init(self, context: Any) -> None:
                self.s = f"{self.i}"

        class Made(base):
            i: int

            def __init__(self, **data: Any) -> None:
                super().__init__(i=data.get("i"))

        class Bound(base):
            i: int = field(ge=3)

        class Checked(base):
            i: int

            @pydantic.field_validator("i")
            @classmethod
            def twice(cls, value: int) -> int:
                return 2 * value

        class Open(base):
            model_config = pydantic.ConfigDict(extra="allow")
            i: int

        class Closed(base):
            model_config = pydantic.ConfigDict(extra="forbid")
            i: int

        class Strict(base):
            model_config = pydantic.ConfigDict(strict=True)
            i: int
            f: float = 0.5

        class Stripped(base):
            model_config = pydantic.ConfigDict(str_strip_whitespace=True)
            s: str = ""

        class Shared(base):
            i: int = 0
            many: list[int] = [1]

        class Computed(base):
            i: int

            @pydantic.computed_field  # type: ignore[prop-decorator]
            @property
            def j(self) -> int:
                return self.i + 1

        found = [
            *(Geo, Plain, Below, Frozen, Alias, Own, After, Made, Bound, Checked, Open, Closed),
            *(Strict, Stripped, Shared, Computed),
        ]
        return {model.__name__: model for model in found}

    def same(self, one: Any, two: Any) -> bool:
        if type(one) is not type(two):
            return False
        if hasattr(one, "model_fields_set"):
            return (
                list(one.__dict__) == list(two.__dict__)
                and self.same(one.__dict__, two.__dict__)
                and one.model_fields_set == two.model_fields_set
                and type(one.model_fields_set) is set
                and one.__pydantic_extra__ == two.__pydantic_extra__
                and one.__pydantic_private__ == two.__pydantic_private__
            )
        if isinstance(one, dict):
            pairs = zip(one.items(), two.items(), strict=False)
            return len(one) == len(two) and all(
                k == m and self.same(v, w) for (k, v), (m, w) in pairs
            )
        if isinstance(one, list):
            pairs = zip(one, two, strict=False)
            return len(one) == len(two) and all(self.same(v, w) for v, w in pairs)
        return bool(one == two) and repr(one) == repr(two)

    def test_as_pydantic_makes_them(self) -> None:
        models = self.models()
        random = Random(5)
        scalars = [0, 7, -1, 2**70, True, 1.0, 1.5, float("inf"), "x", " y ", "12", None, [], {}]

        day, utc = dt.date(2026, 11, 30), dt.UTC
        moments = [
            *(day, None, "2026-11-30", "2026-11-30T10:00Z", "1e3", dt.datetime(2026, 11, 30)),
            *(dt.datetime(2026, 11, 30, 1, 2, 3, 45), dt.datetime(2026, 11, 30, 1, tzinfo=utc)),
        ]

        def geo() -> Any:
            return {"lat": random.choice([1.5, 2, 2, "3"]), "lon": random.choice(scalars[:8])}

        def value() -> Any:
            members = {
                "i": random.choice(scalars) if random.random() < 0.3 else random.randrange(9),
                "f": random.choice([0.5, 3, *scalars]),
                "s": random.choice(["a", "b", None, *scalars]),
                "b": random.choice([True, False, 1, "yes"]),
                "many": [random.choice([1, 2, "3"]) for _ in range(random.randrange(3))],
                "geo": random.choice([None, geo()]),
                "all": {key: geo() for key in "ab"[: random.randrange(3)]},
                "free": random.choice([geo(), *scalars]),
                "when": random.choice([*moments, *scalars[:6]]),
                "day": random.choice(moments),
                "at": random.choice([dt.time(1, 2, 3, 4), "10:20", "1", None, 3]),
                "id": random.choice([uuid.UUID(int=5), str(uuid.UUID(int=6)), "x", None]),
                "kind": random.choice(["a", 1, True, "b", 1.0, None]),
                "I": random.randrange(9),
                "S": "t",
                "lat": random.choice([1.5, 2]),
                "more": "y",
                "unknown": 1,
            }
            kept = [key for key in members if random.random() < 0.4]
            random.shuffle(kept)
            return {key: members[key] for key in kept}

        made = refused = 0
        for name, model in models.items():
            for _ in range(250):
                # New ones, since they pause after a value that is not exact.
                one, many = livebuf.Decoder(model), livebuf.Decoder(list[model])  # type: ignore[valid-type]
                rows = [value() for _ in range(random.choice([1, 1, 3, 12]))]
                for decoder, members in (one, rows[0]), (many, rows):
                    data = livebuf.dumps(members)
                    plain = livebuf.loads(data)
                    try:
                        parts = plain if isinstance(plain, list) else [plain]
                        wanted = [model.model_validate(part) for part in parts]
                    except ValueError:
                        refused += 1
                        with pytest.raises(livebuf.WrongTypeError):
                            decoder.decode(data)
                        continue
                    found = decoder.decode(data)
                    found = found if isinstance(found, list) else [found]
                    assert all(map(self.same, found, wanted)), (name, plain, found, wanted)
                    made += len(wanted)
        assert made > 2000 and refused > 500

    def test_values_that_are_not_exact(self) -> None:
        """A decoder tries again after some of them."""
        decoder = livebuf.Decoder(self.models()["Plain"])
        for at in range(200):
            given = {"i": "7" if at % 50 < 3 else 7, "f": 1.0}
            assert decoder.decode(livebuf.dumps(given)).i == 7

    def test_which_ones_go_without(self) -> None:
        from livebuf._types import describe_exactly

        models = self.models()
        exact = {name for name, model in models.items() if describe_exactly(model) is not None}
        assert exact == {"Geo", "Plain", "Below", "Frozen", "Alias", "Computed"}

    def test_they_are_models(self) -> None:
        models = self.models()
        plain = livebuf.loads(livebuf.dumps({"i": 3, "geo": {"lat": 1}}), type=models["Plain"])
        assert plain.model_dump(exclude_unset=True) == {"i": 3, "geo": {"lat": 1.0}}
        other = plain.model_copy(update={"i": 4})
        assert other.i == 4 and other != plain
        plain.many.append(1)
        again = livebuf.loads(livebuf.dumps({"i": 3}), type=models["Plain"])
        assert again.many == [] and again.all is not plain.all
        with pytest.raises(ValueError):
            livebuf.loads(livebuf.dumps({"i": 3}), type=models["Frozen"]).i = 4

    def test_one_that_refers_to_itself(self) -> None:
        class Tree(pydantic.BaseModel):  # type: ignore[misc]
            name: str
            below: list[Tree] = pydantic.Field(default_factory=list)

        Tree.model_rebuild(_types_namespace={"Tree": Tree})
        value = {"name": "a", "below": [{"name": "b", "below": [{"name": "c"}]}, {"name": "d"}]}
        found = livebuf.loads(livebuf.dumps(value), type=Tree)
        assert found == Tree.model_validate(value)
        assert found.below[1].model_fields_set == {"name"}


def test_a_key_that_changes_its_dict_is_noticed() -> None:
    """Bug: a key of a model that runs code could free the value that was stored next."""
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):
        of: dict = {}

    class Key(int):
        armed = False

        def __hash__(self):
            if Key.armed:
                of.clear()
            return int.__hash__(self)

    of = {Key(n): "value " * 100 + str(n) for n in range(4)}
    model = Model.model_construct(of=of)
    Key.armed = True
    with pytest.raises(livebuf.EncodeError, match="changed while"):
        livebuf.dumps(model)

    class Other(int):
        def __hash__(self) -> int:
            if Key.armed:
                Key.armed = False
                others.update(dict.fromkeys(others))
                spare.extend("x" * length for length in range(500, 700))
            return int.__hash__(self)

    # The values are freed, and their memory is taken again; the dict has as many members as before.
    Key.armed, spare = False, []
    others: dict[Any, Any] = {0: 1, Other(1): "value " * 100 + str(7)}
    model = Model.model_construct(of=others)
    Key.armed = True
    assert livebuf.loads(livebuf.dumps(model)) == {"of": {"0": 1, "1": "value " * 100 + "7"}}
