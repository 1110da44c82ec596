"""Go's types as its gob streams describe them: what an encoder announces and a decoder learns."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias


class Basic(NamedTuple):
    """A type that every stream knows by its number."""

    id: int


class Struct(NamedTuple):
    name: str
    fields: tuple[tuple[str, Type], ...]


class Slice(NamedTuple):
    name: str
    element: Type


class Map(NamedTuple):
    name: str
    key: Type
    element: Type


Type: TypeAlias = Basic | Struct | Slice | Map


class Concrete(NamedTuple):
    """What an interface holds: a value, its type, and the name under which Go programs register that type."""

    name: str
    type: Type
    value: Any


BOOL, INT, UINT, FLOAT, BYTES, STRING, COMPLEX, INTERFACE = (Basic(number) for number in range(1, 9))
EMPTY = Struct("", ())


class Learned(NamedTuple):
    """A type that a stream has described: its parts are numbers, because they may be described later than itself."""

    kind: str
    """array, slice, struct or map."""
    parts: tuple[int, ...]
    """Element; or key and element; or the fields."""
    names: tuple[str, ...] = ()


_WIRE, _ARRAY, _COMMON, _SLICE, _STRUCT, _FIELD, _FIELDS, _MAP = range(16, 24)

# How a description is itself encoded. Go's three kinds of self-encoding types are left out: this protocol has none of them.
DESCRIPTION = _WIRE
BOOTSTRAP: dict[int, Learned] = {
    _WIRE: Learned("struct", (_ARRAY, _SLICE, _STRUCT, _MAP), ("ArrayT", "SliceT", "StructT", "MapT")),
    _ARRAY: Learned("struct", (_COMMON, INT.id, INT.id), ("CommonType", "Elem", "Len")),
    _COMMON: Learned("struct", (STRING.id, INT.id), ("Name", "Id")),
    _SLICE: Learned("struct", (_COMMON, INT.id), ("CommonType", "Elem")),
    _STRUCT: Learned("struct", (_COMMON, _FIELDS), ("CommonType", "Field")),
    _FIELD: Learned("struct", (STRING.id, INT.id), ("Name", "Id")),
    _FIELDS: Learned("slice", (_FIELD,)),
    _MAP: Learned("struct", (_COMMON, INT.id, INT.id), ("CommonType", "Key", "Elem")),
}


def learn(description: dict[str, Any]) -> Learned:
    """The type that a decoded description is about."""
    if array := description.get("ArrayT"):
        return Learned("array", (array.get("Elem", 0),))
    if slice_ := description.get("SliceT"):
        return Learned("slice", (slice_.get("Elem", 0),))
    if map_ := description.get("MapT"):
        return Learned("map", (map_.get("Key", 0), map_.get("Elem", 0)))
    fields = (description.get("StructT") or {}).get("Field", [])
    return Learned("struct", tuple(field.get("Id", 0) for field in fields), tuple(field.get("Name", "") for field in fields))
