"""The quick reader and writer must agree with Python's own, on good and on bad input."""

from __future__ import annotations

import json

import pytest

from minikube.host.quickjson import dumps, loads


@pytest.mark.parametrize(
    "text",
    ['{"a": [1, -2.5e3, true, null, "é\\u00e9\\n"], "b": {}}', " [] \n", '"x"', "0", "NaN", "[-Infinity]", '{"a":1,"a":2}', "\ufeff1"],
)
def test_reading(text: str) -> None:
    try:
        expected = repr(json.loads(text.encode()))
    except ValueError as error:
        expected = str(error)
    try:
        found = repr(loads(text.encode()))
    except ValueError as error:
        found = str(error)
    assert found == expected


@pytest.mark.parametrize("data", [b"", b"{", b'{"a"}', b"[1] 2", b"\xff", b"[1,]", b"nul", b'"\n"', b"1 2"])
def test_what_is_not_json(data: bytes) -> None:
    with pytest.raises(ValueError) as expected:
        json.loads(data)
    with pytest.raises(ValueError) as found:
        loads(data)
    assert str(found.value) == str(expected.value)


def test_too_deep() -> None:
    with pytest.raises(RecursionError):
        loads(b"[" * 100_000)


@pytest.mark.parametrize("value", [{"a": "b", 'q"': {"é": "\n\x00"}}, {}, "x", {"n": [1, None, {"t": True}]}, {"names": ("a", "b")}])
def test_writing(value: object) -> None:
    assert dumps(value) == json.dumps(value, separators=(",", ":"))
