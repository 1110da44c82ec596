"""JSON for quick commands: the C half of the json module alone. Its Python half loads regular expressions, which take half of a start."""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from typing import Any


class _Rules:
    """What the scanner asks for: the json module's own defaults."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int = float, int
    parse_constant = {"-Infinity": float("-inf"), "Infinity": float("inf"), "NaN": float("nan")}.__getitem__


def loads(data: bytes) -> Any:
    """The value; whatever is not plain, valid JSON is left to the json module, and so are its errors."""
    try:
        from _json import make_scanner

        text = data.decode().strip(" \t\r\n")
        value, end = make_scanner(_Rules())(text, 0)  # type: ignore[arg-type]
        if end == len(text):
            return value
    except Exception:  # noqa: S110 - StopIteration, a Python without this module …: json says what is wrong
        pass
    import json

    return json.loads(data)


def dumps(value: object) -> str:
    """Compact JSON. Only objects of texts are quick; the rest is json's."""
    try:
        from _json import encode_basestring_ascii as quote
    except ImportError:
        return _slowly(value)
    if isinstance(value, str):
        return str(quote(value))
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return "{" + ",".join(f"{quote(key)}:{dumps(inner)}" for key, inner in value.items()) + "}"
    return _slowly(value)


def _slowly(value: object) -> str:
    import json

    return json.dumps(value, separators=(",", ":"))
