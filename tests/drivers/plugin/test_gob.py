"""gob, against bytes that real plugins and libmachine's own client have exchanged."""

from __future__ import annotations

import io
import random
from typing import Any

import pytest

from minikube.drivers.plugin.gob import Decoder, Encoder, GobError, encode_int, encode_uint
from minikube.drivers.plugin.gobtypes import BOOL, BYTES, EMPTY, INT, INTERFACE, STRING, UINT, Concrete, Map, Slice, Struct

REQUEST = Struct("Request", (("ServiceMethod", STRING), ("Seq", UINT)))
STRINGS = Slice("[]string", STRING)
FLAGS = Struct("RPCFlags", (("Values", Map("map[string]interface {}", STRING, INTERFACE)),))


def decoder(*parts: str | bytes) -> Decoder:
    """A stream of hexadecimal digits and plain texts."""
    whole = b"".join(bytes.fromhex(part) if isinstance(part, str) else part for part in parts)
    stream = io.BytesIO(whole)

    def read(count: int) -> bytes:
        found = stream.read(count)
        if len(found) < count:
            raise EOFError
        return found

    return Decoder(read)


@pytest.mark.parametrize(
    ("number", "digits"), [(0, "00"), (7, "07"), (127, "7f"), (128, "ff80"), (256, "fe0100"), (2**64 - 1, "f8" + "ff" * 8)]
)
def test_unsigned_numbers(number: int, digits: str) -> None:
    assert encode_uint(number).hex() == digits


@pytest.mark.parametrize(("number", "digits"), [(0, "00"), (-64, "7f"), (65, "ff82"), (-129, "fe0101"), (1, "02"), (-1, "01")])
def test_signed_numbers(number: int, digits: str) -> None:
    assert encode_int(number).hex() == digits
    assert decoder(bytes((len(digits) // 2 + 2,)), "04 00", digits).decode() == number


def test_first_request_is_what_libmachine_takes() -> None:
    encoder = Encoder()
    header = encoder.encode(REQUEST, {"ServiceMethod": "RPCServerDriver.DriverName", "Seq": 0})
    described = "2fff810301010752657175657374 01ff82000102010d536572766963654d6574686f6401 0c00010353657101 06000000"
    assert header == bytes.fromhex(described + "1fff82011a5250435365727665724472697665722e4472697665724e616d6500")
    assert encoder.encode(EMPTY, {}).hex() == "0aff83030102ff84000000" + "03ff8400"
    again = encoder.encode(REQUEST, {"ServiceMethod": "RPCServerDriver.DriverName", "Seq": 3})
    assert again == bytes.fromhex("21ff82011a5250435365727665724472697665722e4472697665724e616d65010300"), "a type is described once"


def test_bytes_value() -> None:
    assert Encoder().encode(BYTES, b"{}").hex() == "050a00027b7d"


def test_flags_are_sent_as_one_message_after_their_types() -> None:
    encoder = Encoder()
    encoder.encode(REQUEST, {})
    encoder.encode(EMPTY, {})
    values = {
        "url": Concrete("string", STRING, "tcp://h:1"),
        "n": Concrete("int", INT, -129),
        "b": Concrete("bool", BOOL, True),
        "l": Concrete("[]string", STRINGS, ["a"]),
    }
    sent = encoder.encode(INTERFACE, Concrete("*rpcdriver.RPCFlags", FLAGS, {"Values": values}))
    expected = [
        bytes.fromhex("22 ff85 03 01 01 08"), b"RPCFlags",
        bytes.fromhex("01 ff86 00 01 01 01 06"), b"Values", bytes.fromhex("01 ff88 00 00 00"),
        bytes.fromhex("27 ff87 04 01 01 17"), b"map[string]interface {}", bytes.fromhex("01 ff88 00 01 0c 01 10 00 00"),
        bytes.fromhex("16 ff89 02 01 01 08"), b"[]string", bytes.fromhex("01 ff8a 00 01 0c 00 00"),
        bytes.fromhex("5d 10 00 13"), b"*rpcdriver.RPCFlags", bytes.fromhex("ff86 44 01 04"),
        b"\x03url\x06string", bytes.fromhex("0c 0b 00 09"), b"tcp://h:1",
        b"\x01n\x03int", bytes.fromhex("04 04 00 fe0101"),
        b"\x01b\x04bool", bytes.fromhex("02 02 00 01"),
        b"\x01l\x08[]string", bytes.fromhex("ff8a 04 00 01 01"), b"a\x00",
    ]  # fmt: skip
    assert sent == b"".join(expected)


def test_answer_with_its_header() -> None:
    stream = decoder(
        "397f03010108526573706f6e736501ff8000010301 0d536572766963654d6574686f64010c00010353657101 0600 01 05 4572726f72 01 0c 000000",
        "1fff80011a5250435365727665724472697665722e4472697665724e616d6500",
        "070c00046e6f6e65",
        "45ff800114", b"RPCServerDriver.Stop", "010301 28", b"hosts without a driver cannot be stopped", "00",
        "0aff81030102ff82000000", "03ff8200",
        "03040002",
    )  # fmt: skip
    assert stream.decode() == {"ServiceMethod": "RPCServerDriver.DriverName"}
    assert stream.decode() == "none"
    assert stream.decode() == {"ServiceMethod": "RPCServerDriver.Stop", "Seq": 3, "Error": "hosts without a driver cannot be stopped"}
    assert stream.decode() == {}
    assert stream.decode() == 1
    with pytest.raises(EOFError):
        stream.decode()


def test_a_value_that_goes_on_in_the_next_message() -> None:
    """What a real plugin answers to GetCreateFlags: the flag's type is described amid the list."""
    stream = decoder(
        "0c ff83 02 01 02 ff84 00 01 10 00 00",
        "58 ff84 00 01 13", b"*mcnflag.StringFlag", "ff85 03 01 01 0a", b"StringFlag", "01 ff86 00 01 04",
        "01 04", b"Name", "01 0c 00", "01 05", b"Usage", "01 0c 00", "01 06", b"EnvVar", "01 0c 00", "01 05", b"Value", "01 0c 00", "00 00",
        "31 ff86 2e 01 03", b"url", "01 26", b"URL of host when no driver is selected", "00",
        "03 04 00 02",
    )  # fmt: skip
    assert stream.decode() == [("*mcnflag.StringFlag", {"Name": "url", "Usage": "URL of host when no driver is selected"})]
    assert stream.decode() == 1, "the stream is in step afterwards"


NESTED = Struct("Nested", (("Deep", Slice("", Map("", STRING, INTERFACE))), ("Raw", BYTES), ("Yes", BOOL), ("Number", INT)))


@pytest.mark.parametrize(
    ("type", "value", "decoded"),
    [
        (STRING, "ä\udcff", "ä\udcff"),
        (Slice("", Slice("", INT)), [[1, -2], []], [[1, -2], []]),
        (NESTED, {"Number": -5}, {"Number": -5}),
        (
            NESTED,
            {"Deep": [{"a": Concrete("x", NESTED, {"Raw": b"\0"}), "b": None}], "Yes": True},
            {"Deep": [{"a": ("x", {"Raw": b"\0"}), "b": None}], "Yes": True},
        ),
    ],
)
def test_what_is_encoded_is_decoded(type: Any, value: Any, decoded: Any) -> None:
    assert decoder(Encoder().encode(type, value)).decode() == decoded


@pytest.mark.parametrize(
    ("digits", "why"),
    [
        ("03 04 01 02", "begin"),
        ("02 04 00", "middle"),
        ("03 08 00 02", "not part"),
        ("fb 7fffffff00", "announced"),
        ("0a 7f 03 01 02 ff80 00 00 00" * 2, "extra|twice"),
        ("09 7f 03 01 02 ff80 00 00 00 09 7f 03 01 02 ff80 00 00 00", "twice"),
        ("04 0a 00 ff80", "middle"),
    ],
)
def test_nonsense_is_refused(digits: str, why: str) -> None:
    with pytest.raises(GobError, match=why):
        decoder(digits).decode()


def test_no_bytes_make_it_fail_in_another_way() -> None:
    seed = random.Random(20)
    stream = Encoder().encode(NESTED, {"Deep": [{"a": Concrete("x", NESTED, {"Raw": b"\0"})}], "Yes": True, "Number": 77})
    for _ in range(3000):
        broken = bytearray(stream)
        for _ in range(seed.randrange(1, 4)):
            broken[seed.randrange(len(broken))] = seed.randrange(256)
        try:
            decoder(bytes(broken)).decode()
        except (GobError, EOFError):
            continue
