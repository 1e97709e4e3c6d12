"""What Python's types look like to the compiled part: for `Decoder`, and for `dumps`.

`describe` turns a type into a list of nodes, which `Decoder` compiles once. Each node is a tuple:
its kind, and what that kind needs. Nodes name each other by their places in the list, so that
types may refer to themselves. `fields_of` says how `dumps` stores objects of a class.

Classes of msgspec, attrs and pydantic are known by their attributes. None of these packages is
imported unless a class of it is there.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import operator
import os
import pathlib
import re
import types
import typing
import uuid
from collections.abc import Callable
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

from ._livebuf import Decoder, _Fields

# A field: its key, the constructor's name for it, its node, whether it must be there, its
# default, what makes its default, and whether it is given by position.
Field = tuple[str, str, int, bool, Any, Any, bool]

# Kinds of values in documents, by the names that `union` uses.
KINDS = "null bool int float str bytes object array date time datetime decimal uuid".split()

_LISTS = {
    list: "list",
    collections.abc.Sequence: "list",
    collections.abc.MutableSequence: "list",
    collections.abc.Collection: "list",
    collections.abc.Iterable: "list",
    tuple: "tuple",
    set: "set",
    collections.abc.MutableSet: "set",
    collections.abc.Set: "set",
    frozenset: "frozenset",
}
# Types that `type X = ...` makes, from Python 3.12 on.
_ALIAS: Any = getattr(typing, "TypeAliasType", ())
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def _seconds(number: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(number, datetime.UTC)


_PLAIN: dict[Any, tuple[Any, ...]] = {
    Any: ("any",),
    object: ("any",),
    None: ("none",),
    type(None): ("none",),
    bool: ("bool",),
    int: ("int",),
    float: ("float",),
    str: ("str",),
    bytes: ("bytes",),
    datetime.datetime: ("datetime", datetime.datetime.fromisoformat, _seconds),
    datetime.date: ("date", datetime.date.fromisoformat, None),
    datetime.time: ("time", datetime.time.fromisoformat, None),
    uuid.UUID: ("uuid", uuid.UUID, None),
    decimal.Decimal: ("decimal", decimal.Decimal, None),
    list: ("list", 0),
    tuple: ("tuple", 0),
    set: ("set", 0),
    frozenset: ("frozenset", 0),
    dict: ("dict", 0),
}


def name_of(target: Any) -> str:
    """A type as messages name it."""
    if target is type(None):
        return "None"
    return target.__name__ if isinstance(target, type) else str(target).removeprefix("typing.")


def describe(
    target: Any, strict: bool, dec_hook: Callable[[Any, Any], Any] | None
) -> tuple[list[tuple[Any, ...]], int]:
    """The nodes of a type, and the place of its own."""
    plan = _Plan(strict, dec_hook)
    first = plan.add(target)
    plan.finish()
    return [node for node in plan.nodes if node is not None], first


def describe_exactly(target: Any) -> tuple[list[tuple[Any, ...]], int] | None:
    """The same for values that have exactly their types, if it is made of models of pydantic that
    have nothing but fields: no validators, bounds, or ways of their own to be made. Then each model
    can be made without pydantic. `None` for other types."""
    plan = _Exact()
    try:
        first = plan.add(target)
    except _Elsewise:
        return None
    return (plan.nodes, first) if plan.models else None


@functools.lru_cache(maxsize=256)
def _kept(target: Any) -> Decoder[Any]:
    return Decoder(target)


def decoder(target: Any) -> Decoder[Any]:
    """The decoder of `loads(data, type=...)`: one for each type, the last 256 are kept."""
    try:
        hash(target)
    except TypeError:
        return Decoder(target)
    return _kept(target)


class _Plan:
    """Nodes as they are made."""

    def __init__(self, strict: bool, dec_hook: Callable[[Any, Any], Any] | None) -> None:
        self.strict = strict
        self.dec_hook = dec_hook
        # The first is `Any`, which plain `list` and `dict` use.
        self.nodes: list[tuple[Any, ...] | None] = [("any",)]
        self.places: dict[Any, int] = {}
        # Unions look at the nodes of their arms, so they are made at the end.
        self.unions: list[tuple[int, Any, list[tuple[Any, int]]]] = []

    def finish(self) -> None:
        for at, target, arms in self.unions:
            self.nodes[at] = self._union(target, arms)

    def add(self, target: Any) -> int:
        """The place of a type's node."""
        try:
            found = self.places.get(target)
        except TypeError:
            return self._put(len(self.nodes), target)
        if found is not None:
            return found
        # Known before it is made, since it may refer to itself.
        at = self.places[target] = len(self.nodes)
        return self._put(at, target)

    def _put(self, at: int, target: Any) -> int:
        self.nodes.append(None)
        node = self._node(at, target)
        if self.nodes[at] is None:
            self.nodes[at] = node
        return at

    def _new(self, *node: Any) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _node(self, at: int, target: Any) -> tuple[Any, ...]:
        origin, arguments = typing.get_origin(target), typing.get_args(target)
        if origin is None:
            return self._class(at, target, target)
        if origin is typing.Annotated:
            return self._annotated(target)
        if origin in (typing.Required, typing.NotRequired, typing.ClassVar, typing.Final):
            return self._same(arguments[0])
        if origin is typing.Union or origin is types.UnionType:
            self.unions.append((at, target, [(arm, self.add(arm)) for arm in arguments]))
            return ("any",)
        if origin is typing.Literal:
            return ("literal", _literals(arguments), name_of(target))
        if origin is tuple:
            if len(arguments) == 2 and arguments[1] is Ellipsis:
                return ("tuple", self.add(arguments[0]))
            return ("items", [self.add(argument) for argument in arguments])
        if origin in _LISTS:
            return (_LISTS[origin], self.add(arguments[0]))
        if origin in _DICTS:
            if arguments[0] not in (str, Any):
                raise TypeError(
                    f"{target}: keys of objects are str, so dict[{name_of(arguments[0])}, ...] "
                    "cannot be decoded; take dict[str, ...]"
                )
            return ("dict", self.add(arguments[1]))
        if isinstance(origin, type):
            return self._class(at, origin, target)
        if isinstance(origin, _ALIAS):
            return self._same(
                _replaced(
                    origin.__value__, dict(zip(origin.__type_params__, arguments, strict=True))
                )
            )
        return self._other(target)

    def _same(self, target: Any) -> tuple[Any, ...]:
        """As another type, which has a node of its own."""
        return ("same", self.add(target))

    def _class(self, at: int, cls: Any, target: Any) -> tuple[Any, ...]:
        """A class; `target` has its type arguments."""
        try:
            if (plain := _PLAIN.get(cls)) is not None:
                return plain
        except TypeError:
            pass
        if cls is bytearray:
            return ("call", self.add(bytes), bytearray, "bytearray")
        if isinstance(cls, typing.TypeVar):
            return self._same(_bound(cls))
        if isinstance(cls, typing.NewType):
            return self._same(cls.__supertype__)
        if isinstance(cls, dataclasses.InitVar):
            return self._same(cls.type)
        if isinstance(cls, _ALIAS):
            return self._same(cls.__value__)
        if cls in _LISTS:
            return (_LISTS[cls], 0)
        if cls in _DICTS:
            return ("dict", 0)
        if not isinstance(cls, type):
            return self._other(target)
        if (of_text := _of_text(cls)) is not None:
            return ("call", self.add(str), of_text, cls.__name__)
        if issubclass(cls, enum.Enum):
            values = {member.value: member for member in cls} if _hashable(cls) else {}
            return ("enum", values, cls, cls.__name__)
        if typing.is_typeddict(cls):
            return self._typed_dict(cls, target)
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return self._named_tuple(cls, target)
        if hasattr(cls, "__struct_fields__"):
            return self._struct(cls, target)
        if hasattr(cls, "__pydantic_core_schema__") and hasattr(cls, "model_validate"):
            model: Any = cls
            kinds = KINDS if getattr(cls, "__pydantic_root_model__", False) else ("object",)
            return ("call", 0, model.model_validate, cls.__name__, *kinds)
        if _is_pydantic(cls):
            return ("call", 0, _validating(cls, target), cls.__name__, "object")
        if dataclasses.is_dataclass(cls):
            return self._dataclass(cls, target)
        if hasattr(cls, "__attrs_attrs__"):
            return self._attrs(cls, target)
        return self._other(target)

    def _other(self, target: Any) -> tuple[Any, ...]:
        """A type that only the caller knows."""
        hook = self.dec_hook
        if hook is None:
            raise TypeError(
                f"Decoder does not know the type {name_of(target)}; give dec_hook= a function "
                "that makes it of plain Python objects"
            )
        if isinstance(target, (str, int)) or target is Ellipsis:
            raise TypeError(f"{target!r} is no type")

        def make(value: Any) -> Any:
            made = hook(target, value)
            if isinstance(target, type) and not isinstance(made, target):
                raise TypeError(f"dec_hook gave {type(made).__name__} for {target.__name__}")
            return made

        return ("call", 0, make, name_of(target), "any")

    def _annotated(self, target: Any) -> tuple[Any, ...]:
        inner = self.add(target.__origin__)
        checks = [
            check
            for data in target.__metadata__
            if type(data).__module__ == "msgspec" and hasattr(data, "multiple_of")
            for check in _checks(data)
        ]
        if not checks:
            return ("same", inner)

        def check(value: Any) -> Any:
            for passes, reason in checks:
                if value is not None and not passes(value):
                    raise ValueError(f"{reason} is wanted, not {value!r:.40}")
            return value

        return ("call", inner, check, name_of(target.__origin__))

    def _union(self, target: Any, arms: list[tuple[Any, int]]) -> tuple[Any, ...]:
        found: dict[str, int] = {}
        owners: dict[str, Any] = {}
        tagged: dict[Any, tuple[int, str, Any]] = {}
        for arm, place in arms:
            kinds = self._kinds(place)
            if "any" in kinds:
                if self._final(place)[0] == "call" and len(arms) > 1:
                    kinds = set(KINDS) - {"null"}
                else:
                    return ("same", place)
            node = self._final(place)
            if node[0] in ("object", "named") and node[6] is not None:
                field, tag = node[6]
                kind = "array" if node[0] == "named" else "object"
                if tag in tagged and tagged[tag][0] != place:
                    raise TypeError(f"{target}: two Structs have the tag {tag!r}")
                tagged[tag] = (place, field, kind)
                if owners.setdefault(kind, "tagged") == "tagged":
                    found[kind] = place
                    continue
            for kind in sorted(kinds):
                if kind in owners:
                    other = "a tagged Struct" if owners[kind] == "tagged" else name_of(owners[kind])
                    raise TypeError(
                        f"{name_of(target)} is ambiguous: {name_of(arm)} and {other} are both "
                        f"stored as {_article(kind)}; "
                        + (
                            "give msgspec.Structs tags, or make it one class"
                            if kind in ("object", "array")
                            else "keep one of them"
                        )
                    )
                owners[kind] = arm
                found[kind] = place
        for kind in ("object", "array"):
            tags = {tag: place for tag, (place, _, of) in tagged.items() if of == kind}
            fields = {field for _, field, of in tagged.values() if of == kind}
            if len(fields) > 1:
                raise TypeError(f"{target}: all Structs of a union must have the same tag_field")
            if len(tags) > 1:
                found[kind] = self._new("tagged", kind, fields.pop(), tags)
        return self._filled(found, " or ".join(name_of(arm) for arm, _ in arms))

    def _filled(self, found: dict[str, int], names: str) -> tuple[Any, ...]:
        """The arms of a union by kinds; kinds that no arm is of go to one that converts them."""
        order = "datetime date time uuid decimal".split()
        if not self.strict:
            order = ["null", "int", "float", "bool", *order]
        tried = [found[kind] for kind in order if kind in found] if "str" not in found else []
        for kind, others in (
            ("int", ("float", "decimal", *(() if self.strict else ("bool", "datetime")))),
            ("float", ("decimal", *(() if self.strict else ("int", "datetime")))),
            ("decimal", ("float",)),
        ):
            for other in others:
                if kind not in found and other in found:
                    found[kind] = found[other]
        # A NamedTuple takes an object, too.
        if "array" in found and "object" not in found:
            node = self._final(found["array"])
            if node[0] == "named" and issubclass(node[1], tuple):
                found["object"] = found["array"]
        return ("union", [found.get(kind, -1) for kind in KINDS], tried, names)

    def _final(self, place: int) -> tuple[Any, ...]:
        """The node that one stands for."""
        node = self.nodes[place]
        while node is not None and node[0] == "same":
            node = self.nodes[node[1]]
        return ("any",) if node is None else node

    def _kinds(self, place: int) -> set[str]:
        """The kinds of values that a node takes first of all."""
        node = self._final(place)
        kind = node[0]
        if kind == "call":
            return set(node[4:]) or self._kinds(node[1])
        if kind == "none":
            return {"null"}
        if kind in ("list", "tuple", "set", "frozenset", "items"):
            return {"array"}
        if kind in ("dict", "object", "tagged"):
            return {"object"}
        if kind == "named":
            return {"array"}
        if kind == "union":
            return {name for name, at in zip(KINDS, node[1], strict=True) if at >= 0}
        if kind in ("literal", "enum"):
            enums = [member.value for member in node[2]] if kind == "enum" else []
            values = enums if kind == "enum" else [value for _, value in node[1]]
            return {_kind_of(value) for value in values} or {"str"}
        return {kind}

    # --- classes with fields ---

    def _fields(self, cls: Any, target: Any, of: list[Any]) -> list[Field]:
        hints = _hints(cls, target)
        return [
            (key, name, self.add(hints.get(hint, Any)), required, default, factory, by_position)
            for key, name, hint, required, default, factory, by_position in of
        ]

    def _dataclass(self, cls: Any, target: Any) -> tuple[Any, ...]:
        real = {field.name for field in dataclasses.fields(cls)}
        hints = _hints(cls, target)
        plain = _has_plain_init(cls)
        found = []
        for name, field in cls.__dataclass_fields__.items():
            if name not in real and not isinstance(hints.get(name), dataclasses.InitVar):
                continue
            if name not in real or not field.init:
                plain = False
            if not field.init:
                continue
            default, factory = field.default, field.default_factory
            required = default is dataclasses.MISSING and factory is dataclasses.MISSING
            found.append(
                (
                    name,
                    name,
                    name,
                    required,
                    None if default is dataclasses.MISSING else default,
                    None if factory is dataclasses.MISSING else factory,
                    not field.kw_only,
                )
            )
        build = "direct" if plain else "call"
        fields = self._fields(cls, target, found)
        return ("object", cls, cls.__name__, fields, build, False, None)

    def _attrs(self, cls: Any, target: Any) -> tuple[Any, ...]:
        nothing = import_module("attr").NOTHING
        found = []
        for one in cls.__attrs_attrs__:
            if not one.init:
                continue
            alias = getattr(one, "alias", None) or one.name.lstrip("_")
            required = one.default is nothing
            found.append((one.name, alias, one.name, required, None, None, not one.kw_only))
        fields = self._fields(cls, target, found)
        return ("object", cls, cls.__name__, fields, "call", False, None)

    def _struct(self, cls: Any, target: Any) -> tuple[Any, ...]:
        config = cls.__struct_config__
        parameters = inspect.signature(cls).parameters
        fields: list[Field] = []
        for field in import_module("msgspec.structs").fields(target):
            kind = parameters[field.name].kind
            by_position = kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            place = self.add(_without_unset(field.type))
            fields.append(
                (field.encode_name, field.name, place, field.required, None, None, by_position)
            )
        tag = None if config.tag is None else (config.tag_field, config.tag)
        if config.array_like:
            forbid = config.forbid_unknown_fields
            return ("named", cls, cls.__name__, fields, "call", forbid, tag)
        return ("object", cls, cls.__name__, fields, "call", config.forbid_unknown_fields, tag)

    def _named_tuple(self, cls: Any, target: Any) -> tuple[Any, ...]:
        defaults = cls._field_defaults
        found = [
            (name, name, name, name not in defaults, defaults.get(name), None, True)
            for name in cls._fields
        ]
        made = getattr(cls.__new__, "__globals__", {}).get("__name__", "")
        plain = (
            made.startswith("namedtuple_")
            and cls.__init__ is object.__init__
            and type(cls).__call__ is type.__call__
        )
        fields = self._fields(cls, target, found)
        build = "tuple" if plain else "call"
        return ("named", cls, cls.__name__, fields, build, False, None)

    def _typed_dict(self, cls: Any, target: Any) -> tuple[Any, ...]:
        found = []
        # Its own `__required_keys__` is wrong where annotations are strings.
        for name, hint in _hints(cls, target).items():
            origin = typing.get_origin(hint)
            required = name in cls.__required_keys__
            required = origin is typing.Required or (required and origin is not typing.NotRequired)
            found.append((name, name, name, required, None, None, False))
        fields = self._fields(cls, target, found)
        return ("object", cls, cls.__name__, fields, "dict", False, None)


class _Elsewise(Exception):
    """A type that more is to be done for than to take what is stored."""


# What core schemas may say that does not change which values are taken.
_ASIDE = frozenset(("type", "ref", "metadata", "serialization"))
_IMMUTABLE = (type(None), bool, int, float, str, bytes)


def _no_text(text: str) -> Any:
    """Of text, pydantic makes dates and times by rules of its own."""
    raise ValueError(text)


class _Exact:
    """Nodes for values that have exactly their types."""

    def __init__(self) -> None:
        self.nodes: list[Any] = [("any",)]
        self.models: dict[Any, int] = {}
        self.refs: dict[str, Any] = {}

    def _new(self, *node: Any) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def add(self, target: Any) -> int:
        """The place of a type's node."""
        origin, arguments = typing.get_origin(target), typing.get_args(target)
        if origin is list:
            return self._new("list", self.add(arguments[0]))
        if origin is dict and arguments[0] is str:
            return self._new("dict", self.add(arguments[1]))
        if not isinstance(target, type) or not hasattr(target, "__pydantic_core_schema__"):
            raise _Elsewise
        return self.of_schema(target.__pydantic_core_schema__)

    def of_schema(self, schema: Any) -> int:
        """The place of the node for a core schema of pydantic."""
        schema = _resolved(schema, self.refs)
        if not isinstance(schema, dict):
            raise _Elsewise
        kind, said = schema["type"], schema.keys() - _ASIDE
        if kind == "model":
            return self._model(schema, said)
        if kind == "nullable" and said == {"schema"}:
            inner = self.of_schema(schema["schema"])
            arms = [self._new("none") if name == "null" else inner for name in KINDS]
            return self._new("union", arms, [], "")
        if kind == "list" and said <= {"items_schema"}:
            return self._new("list", self.of_schema(schema.get("items_schema", {"type": "any"})))
        if kind == "dict" and said <= {"keys_schema", "values_schema"}:
            keys = schema.get("keys_schema", {"type": "any"})
            if keys["type"] in ("any", "str") and keys.keys() <= _ASIDE:
                return self._new(
                    "dict", self.of_schema(schema.get("values_schema", {"type": "any"}))
                )
        if kind in ("any", "none", "bool", "int", "float", "str") and not said:
            return self._new(kind)
        if kind in ("date", "time", "datetime", "uuid") and said <= {"microseconds_precision"}:
            return self._new(kind, _no_text, None)
        if kind == "literal" and said == {"expected"}:
            values = schema["expected"]
            if all(type(value) in _IMMUTABLE for value in values):
                return self._new("literal", [(value, value) for value in values], "")
        raise _Elsewise

    def _model(self, schema: Any, said: Any) -> int:
        cls = schema["cls"]
        if (found := self.models.get(cls)) is not None:
            return found
        config = schema.get("config") or {}
        base = import_module("pydantic").BaseModel
        plain = (
            said <= {"cls", "schema", "config", "custom_init", "root_model", "frozen"}
            and not (schema.get("custom_init") or schema.get("root_model"))
            and config.keys() <= {"title", "extra_fields_behavior"}
            and config.get("extra_fields_behavior", "ignore") == "ignore"
            and issubclass(cls, base)
            and cls.__new__ is object.__new__
            and getattr(cls.model_validate, "__func__", None) is base.model_validate.__func__
            and cls.__pydantic_complete__
            and type(cls.__pydantic_validator__).__name__ == "SchemaValidator"
        )
        inner = _resolved(schema["schema"], self.refs)
        if not plain or inner["type"] != "model-fields":
            raise _Elsewise
        if not inner.keys() - _ASIDE <= {"fields", "model_name", "computed_fields"}:
            raise _Elsewise
        # Known before it is made, since it may refer to itself.
        at = self.models[cls] = self._new("any")
        fields = [self._field(name, field) for name, field in inner["fields"].items()]
        self.nodes[at] = ("object", cls, cls.__name__, fields, "model", False, None)
        return at

    def _field(self, name: str, field: Any) -> Field:
        said = field.keys() - _ASIDE - {"schema", "frozen"}
        said -= {"serialization_alias", "serialization_exclude", "serialization_exclude_if"}
        key = field.get("validation_alias", name)
        if said - {"validation_alias"} or not isinstance(key, str):
            raise _Elsewise
        schema = _resolved(field["schema"], self.refs)
        default, factory, required = None, None, schema["type"] != "default"
        if not required:
            default, factory = schema.get("default"), schema.get("default_factory")
            said = schema.keys() - _ASIDE - {"schema", "default", "default_factory"}
            takes_data = schema.get("default_factory_takes_data")
            if said - {"default_factory_takes_data", "copy_default"} or takes_data:
                raise _Elsewise
            if factory is None and type(default) not in _IMMUTABLE:
                raise _Elsewise
            schema = schema["schema"]
        return (key, name, self.of_schema(schema), required, default, factory, True)


def _validating(cls: Any, target: Any) -> Callable[[Any], Any]:
    """Makes objects of a dataclass of pydantic, which knows its aliases and its validators."""
    if target is not cls:
        validate: Callable[[Any], Any] = (
            import_module("pydantic").TypeAdapter(target).validate_python
        )
        return validate

    def make(value: Any) -> Any:
        if isinstance(value, dict):
            return cls(**value)
        raise TypeError(f"an object is wanted, not {type(value).__name__}")

    return make


def _article(kind: str) -> str:
    return f"an {kind}" if kind in ("object", "array", "int") else f"a {kind}"


def _bound(variable: typing.TypeVar) -> Any:
    if variable.__constraints__:
        return typing.Union[variable.__constraints__]  # noqa: UP007
    return Any if variable.__bound__ is None else variable.__bound__


def _hashable(cls: type[enum.Enum]) -> bool:
    try:
        for member in cls:
            hash(member.value)
    except TypeError:
        return False
    return True


def _literals(arguments: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """Values as they are given, and as they are stored."""
    found: list[tuple[Any, Any]] = []
    for value in arguments:
        if typing.get_origin(value) is typing.Literal:
            found.extend(_literals(typing.get_args(value)))
        else:
            found.append((value, value.value if isinstance(value, enum.Enum) else value))
    return found


def _kind_of(value: Any) -> str:
    for cls, kind in (
        (bool, "bool"),
        (int, "int"),
        (float, "float"),
        (str, "str"),
        (bytes, "bytes"),
        (datetime.datetime, "datetime"),
        (datetime.date, "date"),
        (datetime.time, "time"),
        (decimal.Decimal, "decimal"),
        (uuid.UUID, "uuid"),
        (collections.abc.Mapping, "object"),
        (collections.abc.Sequence, "array"),
    ):
        if isinstance(value, cls):
            return kind
    return "null" if value is None else "object"


def _checks(meta: Any) -> list[tuple[Callable[[Any], bool], str]]:
    """The bounds of a `msgspec.Meta`, and how messages name them."""
    checks: list[tuple[Callable[[Any], bool], str]] = []

    def compare(name: str, sign: str, holds: Callable[[Any, Any], bool]) -> None:
        if (bound := getattr(meta, name)) is not None:
            checks.append((lambda value: holds(value, bound), f"a value {sign} {bound}"))

    compare("gt", ">", operator.gt)
    compare("ge", ">=", operator.ge)
    compare("lt", "<", operator.lt)
    compare("le", "<=", operator.le)
    compare("multiple_of", "that is a multiple of", lambda value, of: value % of == 0)
    compare("min_length", "of a length >=", lambda value, least: len(value) >= least)
    compare("max_length", "of a length <=", lambda value, most: len(value) <= most)
    if meta.pattern is not None:
        search = re.compile(meta.pattern).search
        checks.append((lambda value: search(value) is not None, f"text like {meta.pattern!r}"))
    return checks


def _without_unset(hint: Any) -> Any:
    """A field's type without `msgspec.UnsetType`, which stands for a missing field."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint
    unset = import_module("msgspec").UnsetType
    kept = tuple(arm for arm in typing.get_args(hint) if arm is not unset)
    return typing.Union[kept]  # noqa: UP007


def _hints(cls: Any, target: Any) -> dict[str, Any]:
    """The types of a class's fields, with type arguments in the place of type variables."""
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except NameError as error:
        try:
            hints = typing.get_type_hints(cls, localns={cls.__name__: cls}, include_extras=True)
        except NameError:
            raise TypeError(
                f"a type in {cls.__name__} is not known where the class was defined: {error}"
            ) from error
    mappings = _type_arguments(cls, target)
    if not mappings:
        return hints
    for name, hint in hints.items():
        for owner in cls.__mro__:
            if name in inspect.get_annotations(owner):
                hints[name] = _replaced(hint, mappings.get(owner, {}))
                break
    return hints


def _type_arguments(cls: Any, target: Any) -> dict[Any, dict[Any, Any]]:
    """What the type variables of a class and of its bases stand for, by class."""
    found: dict[Any, dict[Any, Any]] = {}

    def visit(cls: Any, arguments: dict[Any, Any]) -> None:
        found[cls] = arguments
        for base in getattr(cls, "__orig_bases__", ()):
            origin = typing.get_origin(base)
            if isinstance(origin, type) and (parameters := getattr(origin, "__parameters__", ())):
                given = (_replaced(argument, arguments) for argument in typing.get_args(base))
                visit(origin, dict(zip(parameters, given, strict=False)))

    parameters = getattr(cls, "__parameters__", ())
    visit(cls, dict(zip(parameters, typing.get_args(target), strict=False)))
    return {cls: arguments for cls, arguments in found.items() if arguments}


def _replaced(hint: Any, arguments: dict[Any, Any]) -> Any:
    """A type with other types in the place of its type variables."""
    if isinstance(hint, typing.TypeVar):
        return arguments.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    if not parameters or (isinstance(hint, type) and not typing.get_origin(hint)):
        return hint
    generic: Any = hint
    return generic[tuple(arguments.get(parameter, parameter) for parameter in parameters)]


def _has_plain_init(cls: Any) -> bool:
    """Whether a dataclass's `__init__` sets its fields and does nothing else."""
    init = cls.__init__
    code = getattr(init, "__code__", None)
    owner = next((base for base in cls.__mro__ if "__init__" in vars(base)), None)
    # What `dataclass` makes is compiled of text, within a function of this name.
    is_made = (
        code is not None
        and code.co_filename == "<string>"
        and code.co_qualname.startswith("__create_fn__.")
        and owner is not None
        and "__dataclass_fields__" in vars(owner)
        and cls.__dataclass_fields__ is owner.__dataclass_fields__
    )
    return (
        is_made
        and type(cls).__call__ is type.__call__
        and cls.__new__ is object.__new__
        and (cls.__dataclass_params__.frozen or cls.__setattr__ is object.__setattr__)
        and not hasattr(cls, "__post_init__")
        and not inspect.isabstract(cls)
    )


# --- storing objects ---

_known: WeakKeyDictionary[type, _Fields | None] = WeakKeyDictionary()


def fields_of(cls: Any) -> _Fields | None:
    """How objects of a class are stored; `None` where it has no fields that are known here."""
    try:
        return _known[cls]
    except KeyError:
        found = _known[cls] = _stored(cls)
        return found


def _stored(cls: Any) -> _Fields | None:
    if hasattr(cls, "__struct_fields__"):
        config = cls.__struct_config__
        tag = None if config.tag is None else (config.tag_field, config.tag)
        names = list(zip(cls.__struct_encode_fields__, cls.__struct_fields__, strict=True))
        return _Fields(names, tag, config.array_like, import_module("msgspec").UNSET)
    if _is_pydantic(cls):
        return _model(cls)
    if dataclasses.is_dataclass(cls):
        names = [(field.name, field.name) for field in dataclasses.fields(cls)]
        return _Fields(names)
    if hasattr(cls, "__attrs_attrs__"):
        return _Fields([(one.name, one.name) for one in cls.__attrs_attrs__])
    return None


def _is_pydantic(cls: Any) -> bool:
    """Whether a class is a model or dataclass of pydantic, and no plain dataclass that derives from
    one."""
    if hasattr(cls, "model_dump"):
        return hasattr(cls, "__pydantic_core_schema__")
    return "__pydantic_serializer__" in vars(cls) and dataclasses.is_dataclass(cls)


def _model(cls: Any) -> _Fields:
    """How a model or dataclass of pydantic is stored: as `model_dump(mode="json")` has it, by its
    aliases where it says so, but fields of kinds that documents have stay what they are."""
    for base in cls.__mro__:
        if "model_dump" in vars(base) and base.__module__.split(".")[0] != "pydantic":
            return _Fields([], method=operator.methodcaller("model_dump"))
    dump = functools.partial(cls.__pydantic_serializer__.to_python, mode="json")
    refs: dict[str, Any] = {}
    schema = _resolved(cls.__pydantic_core_schema__, refs)
    if not isinstance(schema, dict) or schema.get("serialization") or "schema" not in schema:
        return _Fields([], method=dump)
    config: Any = getattr(cls, "model_config", getattr(cls, "__pydantic_config__", None)) or {}
    refs["config"] = config
    if schema.get("root_model"):
        part = _part(schema["schema"], refs)
        if part is None:
            return _Fields([], method=dump)
        return _Fields([("root", "root")], model=([part], None, True))
    # Validators of the whole model stand around its fields.
    inner = _resolved(schema["schema"], refs)
    while str(inner["type"]).startswith("function-") and not inner.get("serialization"):
        inner = _resolved(inner["schema"], refs)
    fields = inner.get("fields")
    if inner.get("serialization") or fields is None:
        return _Fields([], method=dump)
    names: list[tuple[str, str]] = []
    parts: list[Any] = []
    by_alias = config.get("serialize_by_alias")

    def add(name: str, field: Any, alias: str, kind: str) -> None:
        if field.get("serialization_exclude") or field.get("init_only"):
            return
        part = None if field.get("serialization_exclude_if") else _part(field[kind], refs)
        names.append(((by_alias and field.get(alias)) or name, name))
        parts.append("dumped" if part is None else part)

    named = fields.items() if isinstance(fields, dict) else [(one["name"], one) for one in fields]
    for name, field in named:
        add(name, field, "serialization_alias", "schema")
    if config.get("extra") == "allow" and hasattr(cls, "model_dump"):
        extras = inner.get("extras_schema")
        if extras is not None and _part(extras, refs) != ():
            return _Fields([], method=dump)
        names.append(("", "__pydantic_extra__"))
        parts.append("extra")
    for field in inner.get("computed_fields") or ():
        add(field["property_name"], field, "alias", "return_schema")
    dumped = {name for (_, name), part in zip(names, parts, strict=True) if part == "dumped"}
    how = functools.partial(dump, include=dumped) if dumped else None
    return _Fields(names, model=(parts, how, False))


def _resolved(schema: Any, refs: dict[str, Any]) -> Any:
    """A core schema of pydantic behind its definitions and references."""
    while isinstance(schema, dict):
        if schema["type"] == "definitions":
            refs.update((one["ref"], one) for one in schema["definitions"])
            schema = schema["schema"]
        elif schema["type"] == "definition-ref" and "serialization" not in schema:
            schema = refs[schema["schema_ref"]]
        else:
            break
    return schema


# Core schemas whose values are stored as they are, and the parts of those that hold others.
_AS_THEY_ARE = frozenset(
    "any none bool int float str bytes date time datetime uuid decimal literal enum "
    "is-instance function-plain".split()
)
_HOLDERS = {
    "nullable": "schema",
    "default": "schema",
    "function-before": "schema",
    "function-after": "schema",
    "function-wrap": "schema",
    "custom-error": "schema",
    "json": "schema",
    "lax-or-strict": "strict_schema",
    "json-or-python": "json_schema",
    "list": "items_schema",
    "set": "items_schema",
    "frozenset": "items_schema",
    "tuple": "items_schema",
    "union": "choices",
    "tagged-union": "choices",
}


def _part(schema: Any, refs: dict[str, Any]) -> tuple[type, ...] | None:
    """The classes of pydantic that a field declares for what is in it; none where it takes any.
    `None` where only pydantic knows how the field is written."""
    found: dict[type, None] = {}
    takes_any = False

    def look(schema: Any) -> bool:
        nonlocal takes_any
        if (schema.get("metadata") or {}).get("livebuf"):
            return True
        schema = _resolved(schema, refs)
        kind, own = schema["type"], schema.get("serialization")
        if kind in ("model", "dataclass"):
            cls = schema["cls"]
            if own != _own_serialization(cls):
                return False
            takes_any |= bool((schema.get("config") or {}).get("polymorphic_serialization"))
            found[cls] = None
            return _is_pydantic(cls) or _is_plain_dataclass(schema)
        if own is not None:
            if own.get("type") == "any":
                takes_any = True
                return True
            of_sequence = (
                getattr(own.get("function"), "__name__", "") == "serialize_sequence_via_list"
            )
            return of_sequence and look(own["schema"])
        if kind == "timedelta":
            return not {"ser_json_timedelta", "ser_json_temporal"} & set(refs["config"])
        takes_any |= kind in ("any", "is-instance", "function-plain")
        if kind in _AS_THEY_ARE:
            return True
        if kind == "dict":
            any_schema = {"type": "any"}
            return all(
                look(schema.get(f"{part}_schema", any_schema)) for part in ("keys", "values")
            )
        if kind == "chain":
            return look(schema["steps"][-1])
        if kind == "typed-dict":
            fields = schema["fields"].values()
            return all(
                len(field.keys() & _WRITTEN_OTHERWISE) == 0 and look(field["schema"])
                for field in fields
            ) and not schema.get("computed_fields")
        if kind not in _HOLDERS:
            return False
        inner = schema.get(_HOLDERS[kind], {"type": "any"})
        if isinstance(inner, dict):
            inner = inner.values() if kind == "tagged-union" else [inner]
        return all([look(one[0] if isinstance(one, tuple) else one) for one in inner])

    known = look(schema)
    if not known:
        return None
    return () if takes_any else tuple(found)


_WRITTEN_OTHERWISE = frozenset(
    ("serialization_alias", "serialization_exclude", "serialization_exclude_if")
)


def _own_serialization(cls: Any) -> Any:
    """What a class of pydantic itself says of how it is written."""
    schema = _resolved(getattr(cls, "__pydantic_core_schema__", None), {})
    return schema.get("serialization") if isinstance(schema, dict) else None


def _is_plain_dataclass(schema: Any) -> bool:
    """Whether pydantic writes a dataclass of Python's as it is."""
    inner = schema["schema"]
    return inner["type"] == "dataclass-args" and not any(
        field.keys() & _WRITTEN_OTHERWISE or field["schema"].get("serialization")
        for field in inner["fields"]
    )


def duration(value: datetime.timedelta) -> str:
    """A duration as `from_arrow` stores it, too: `PT1.500000S`, in ISO 8601."""
    whole = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
    # That of pandas may have nanoseconds.
    if nanoseconds := getattr(value, "nanoseconds", 0):
        return _duration(whole * 1000 + nanoseconds, 9)
    return _duration(whole, 6)


def _duration(value: int, digits: int) -> str:
    seconds, fraction = divmod(abs(value), 10**digits)
    point = f".{fraction:0{digits}d}" if digits else ""
    return f"{'-' if value < 0 else ''}PT{seconds}{point}S"


_DURATION = re.compile(
    r"([+-])?P(?=.)(?:(\d+)W)?(?:(\d+)D)?"
    r"(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,6})0*)?S)?)?",
    re.ASCII,
)


def timedelta(text: str) -> datetime.timedelta:
    """A duration of weeks to seconds in ISO 8601, to the microsecond."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"a duration as ISO 8601 writes it is wanted, not {text!r:.40}")
    sign, fraction = found[1], found[7] or ""
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:6])
    micros = int(fraction.ljust(6, "0"))
    try:
        whole = datetime.timedelta(days, seconds, micros, 0, minutes, hours, weeks)
    except OverflowError:
        raise ValueError(f"{text:.40} is longer than a timedelta can be") from None
    return -whole if sign == "-" else whole


def _of_text(cls: type) -> Callable[[str], Any] | None:
    """What makes an object of its text, if `dumps` stores it as text."""
    if cls is datetime.timedelta:
        return timedelta
    if issubclass(cls, pathlib.PurePath) or cls.__module__ == "ipaddress":
        return cls
    if cls is os.PathLike:
        return pathlib.Path
    return None


def durations(array: Any) -> Any:
    """numpy's `timedelta64` as text, null for NaT."""
    import numpy as np

    unit = np.datetime_data(array.dtype)[0]
    if np.isnat(array).all():
        unit = "s"  # NaT has no unit if it is given none.
    digits = {"W": 0, "D": 0, "h": 0, "m": 0, "s": 0, "ms": 3, "us": 6, "ns": 9}.get(unit)
    if digits is None:
        raise TypeError(f"timedelta64 of unit {unit!r} cannot be stored; give it as numbers")
    array = array.astype(("m8[s]", "m8[ms]", "m8[us]", "m8[ns]")[digits // 3])
    missing = np.ma.getmaskarray(array) | np.isnat(array)

    def texts(numbers: Any, missing: Any) -> Any:
        if isinstance(numbers, list):
            return [texts(*pair) for pair in zip(numbers, missing, strict=True)]
        return None if missing else _duration(numbers, digits)

    return texts(np.ma.getdata(array).astype("i8").tolist(), missing.tolist())


def records(array: Any) -> Any:
    """A structured array of numpy as objects of its fields."""
    names = array.dtype.names
    if names is None:
        raise TypeError("a numpy array of raw bytes cannot be stored; give it as bytes")
    if array.ndim != 0:
        if array.ndim != 1:
            return [records(part) for part in array]
        fields = [_elements(array[name]) for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*fields, strict=True)]
    return dict(zip(names, (_elements(array[name]) for name in names), strict=True))


def _elements(field: Any) -> Any:
    """The values of a field of a structured array."""
    kind = field.dtype.kind
    if kind == "V":
        return records(field)
    if kind == "m":
        return durations(field)
    return field.tolist() if kind in "biufcUSO" else field if field.ndim == 0 else list(field)
