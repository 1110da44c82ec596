"""Go's gob encoding, as much of it as docker-machine plugins speak: self-describing values in length-prefixed messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minikube.drivers.plugin.gobtypes import (
    BOOL,
    BOOTSTRAP,
    BYTES,
    DESCRIPTION,
    INT,
    INTERFACE,
    STRING,
    UINT,
    Basic,
    Concrete,
    Learned,
    Map,
    Slice,
    Struct,
    Type,
    learn,
)

_FIRST_ID = 65
_LARGEST_MESSAGE = 1 << 26  # Go allows 1 GiB; a plugin that announces more than this is talking nonsense


class GobError(Exception):
    """Bytes that are no gob, or a value of a type this protocol does not use."""


class Encoder:
    """One direction of one connection: each type is described once, before the first value that needs it."""

    def __init__(self) -> None:
        self._ids: dict[Type, int] = {}

    def encode(self, type: Type, value: Any) -> bytes:
        """The messages of one value. The value is in one message, whatever is inside, so that a receiver who refuses it stays in step."""
        described = b"".join(_message(description) for description in self._describe(type, value))
        return described + _message(self._tagged(type, value))

    def _tagged(self, type: Type, value: Any) -> bytes:
        marker = b"" if isinstance(type, Struct) else b"\0"
        return encode_int(self._id(type)) + marker + self._value(type, value)

    def _id(self, type: Type) -> int:
        return type.id if isinstance(type, Basic) else self._ids[type]

    def _describe(self, type: Type, value: Any) -> list[bytes]:
        """Descriptions of the types in a value that the other side has not seen, outer ones first."""
        if isinstance(type, Basic):
            return self._describe(value.type, value.value) if type == INTERFACE and value is not None else []
        fresh: list[Struct | Slice | Map] = []
        self._number(type, fresh)
        found = [self._description(new) for new in fresh]
        for part, inner in _parts(type, value):
            found += self._describe(part, inner)
        return found

    def _number(self, type: Type, fresh: list[Struct | Slice | Map]) -> None:
        if isinstance(type, Basic) or type in self._ids:
            return
        self._ids[type] = _FIRST_ID + len(self._ids)
        fresh.append(type)
        for part in _part_types(type):
            self._number(part, fresh)

    def _description(self, type: Struct | Slice | Map) -> bytes:
        number = self._ids[type]
        if isinstance(type, Struct):
            fields = b"".join(
                b"\1" + encode_bytes(name.encode()) + b"\1" + encode_int(self._id(field)) + b"\0" for name, field in type.fields
            )
            listed = b"\1" + encode_uint(len(type.fields)) + fields if type.fields else b""
            return encode_int(-number) + b"\3\1" + _common(type.name, number) + listed + b"\0\0"
        kind = b"\2\1" if isinstance(type, Slice) else b"\4\1"
        parts = b"".join(b"\1" + encode_int(self._id(part)) for part in _part_types(type))
        return encode_int(-number) + kind + _common(type.name, number) + parts + b"\0\0"

    def _value(self, type: Type, value: Any) -> bytes:
        if isinstance(type, Struct):
            return self._fields(type, value)
        if isinstance(type, Slice):
            return encode_uint(len(value)) + b"".join(self._value(type.element, item) for item in value)
        if isinstance(type, Map):
            pairs = (self._value(type.key, key) + self._value(type.element, item) for key, item in value.items())
            return encode_uint(len(value)) + b"".join(pairs)
        if type == INTERFACE:
            return self._interface(value)
        if type == BOOL:
            return b"\1" if value else b"\0"
        if type == INT:
            return encode_int(value)
        if type == UINT:
            return encode_uint(value)
        if type in (STRING, BYTES):
            return encode_bytes(value.encode(errors="surrogateescape") if isinstance(value, str) else value)
        raise GobError(f"type {type} is not part of this protocol")

    def _fields(self, type: Struct, value: dict[str, Any]) -> bytes:
        written, last = b"", -1
        for place, (name, field) in enumerate(type.fields):
            if value.get(name):  # Go leaves out what is zero
                written += encode_uint(place - last) + self._value(field, value[name])
                last = place
        return written + b"\0"

    def _interface(self, held: Concrete | None) -> bytes:
        if held is None:
            return b"\0"
        marker = b"" if isinstance(held.type, Struct) else b"\0"
        inside = marker + self._value(held.type, held.value)
        return encode_bytes(held.name.encode()) + encode_int(self._id(held.type)) + encode_uint(len(inside)) + inside


class Decoder:
    """The other direction. Structs become dicts without their zero fields, an interface becomes what it holds as (name, value) or None."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        """Gives exactly that many bytes, or raises EOFError."""
        self._types: dict[int, Learned] = dict(BOOTSTRAP)
        self._buffer = b""
        self._position = 0

    def decode(self) -> Any:
        """The next value of the stream."""
        self._buffer, self._position = b"", 0
        try:
            return self._top_level(self._next_type(in_interface=False))
        except RecursionError:
            raise GobError("values are nested too deeply") from None

    def _next_type(self, *, in_interface: bool) -> int:
        """The type of the value that follows. Descriptions may come first, and Go begins a new message after each, amid a value."""
        while True:
            if self._position == len(self._buffer):
                self._next_message()
            number = self._int()
            if number >= 0:
                return number
            self._learn(-number)
            if self._position < len(self._buffer):
                if not in_interface:
                    raise GobError("extra data after the description of a type")
                self._uint()  # the length of what follows, which says nothing new

    def _next_message(self) -> None:
        first = self._read(1)
        if first[0] >= 128:
            first += self._read(256 - first[0])
        self._buffer, self._position = first, 0
        length = self._uint()
        if length > _LARGEST_MESSAGE:
            raise GobError(f"a message of {length} bytes is announced")
        self._buffer, self._position = self._read(length), 0

    def _learn(self, number: int) -> None:
        if number in self._types or number <= DESCRIPTION:
            raise GobError(f"type {number} is described twice")
        self._types[number] = learn(self._value(DESCRIPTION))

    def _top_level(self, number: int) -> Any:
        learned = self._types.get(number)
        if (learned is None or learned.kind != "struct") and self._uint() != 0:
            raise GobError("a value does not begin where it should")
        return self._value(number)

    def _value(self, number: int) -> Any:
        if learned := self._types.get(number):
            return self._composite(learned)
        if number == BOOL.id:
            return self._uint() != 0
        if number == INT.id:
            return self._int()
        if number == UINT.id:
            return self._uint()
        if number == BYTES.id:
            return self._bytes()
        if number == STRING.id:
            return self._bytes().decode(errors="surrogateescape")
        if number == INTERFACE.id:
            return self._held()
        raise GobError(f"type {number} is unknown or not part of this protocol")

    def _composite(self, learned: Learned) -> Any:
        if learned.kind == "struct":
            return self._struct(learned)
        count = self._uint()
        if learned.kind == "map":
            if learned.parts[0] in self._types or learned.parts[0] == INTERFACE.id:
                raise GobError("a map has keys of a kind that this protocol does not use")
            return {self._value(learned.parts[0]): self._value(learned.parts[1]) for _ in range(count)}
        return [self._value(learned.parts[0]) for _ in range(count)]

    def _struct(self, learned: Learned) -> dict[str, Any]:
        found: dict[str, Any] = {}
        place = -1
        while step := self._uint():
            place += step
            if place >= len(learned.parts):
                raise GobError("a struct has a field that its type does not have")
            found[learned.names[place]] = self._value(learned.parts[place])
        return found

    def _held(self) -> tuple[str, Any] | None:
        name = self._bytes().decode(errors="replace")
        if not name:
            return None
        number = self._next_type(in_interface=True)
        self._uint()  # a length that ends with the message: values go on beyond it
        return name, self._top_level(number)

    def _bytes(self) -> bytes:
        return self._take(self._uint())

    def _int(self) -> int:
        number = self._uint()
        return ~(number >> 1) if number & 1 else number >> 1

    def _uint(self) -> int:
        first = self._take(1)[0]
        if first < 128:
            return first
        if first < 248:
            raise GobError("a number of more than eight bytes")
        return int.from_bytes(self._take(256 - first), "big")

    def _take(self, count: int) -> bytes:
        taken = self._buffer[self._position : self._position + count]
        if len(taken) < count:
            raise GobError("a message ends in the middle of a value")
        self._position += count
        return taken


def encode_uint(number: int) -> bytes:
    if number < 128:
        return bytes((number,))
    digits = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes((256 - len(digits),)) + digits


def encode_int(number: int) -> bytes:
    return encode_uint(~number << 1 | 1 if number < 0 else number << 1)


def encode_bytes(content: bytes) -> bytes:
    return encode_uint(len(content)) + content


def _message(payload: bytes) -> bytes:
    return encode_uint(len(payload)) + payload


def _common(name: str, number: int) -> bytes:
    named = b"\1" + encode_bytes(name.encode()) + b"\1" if name else b"\2"
    return named + encode_int(number) + b"\0"


def _part_types(type: Type) -> tuple[Type, ...]:
    if isinstance(type, Struct):
        return tuple(field for _, field in type.fields)
    if isinstance(type, Map):
        return type.key, type.element
    return (type.element,) if isinstance(type, Slice) else ()


def _parts(type: Type, value: Any) -> list[tuple[Type, Any]]:
    """The parts of a value that may hold further types."""
    if isinstance(type, Struct):
        return [(field, value[name]) for name, field in type.fields if value.get(name)]
    if isinstance(type, Map):
        return [(type.element, item) for item in value.values()]
    return [(type.element, item) for item in value] if isinstance(type, Slice) else []
