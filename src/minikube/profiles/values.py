"""Texts that set something, read by the rules of the flags people know: Go's bools, ints, durations and comma lists."""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from typing import Any

_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_FALSE = ("0", "f", "F", "false", "FALSE", "False")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}

# What each kind of setting is when nobody sets it.
ZERO: dict[str, Any] = {"bool": False, "int": 0, "duration": 0.0, "string": "", "strings": [], "stringArray": [], "extra": []}


class BadValue(ValueError):
    """A text that is no value of its kind, in the words Go's own parsers use."""


def parse(kind: str, text: str) -> Any:
    """The value of a text: bool, int, seconds as float, str, or for the list kinds the list of items it adds."""
    if kind == "string":
        return text
    if kind == "bool":
        return parse_bool(text)
    if kind == "int":
        return parse_int(text)
    if kind == "duration":
        return parse_duration(text)
    if kind == "strings":
        return split_list(text)
    if kind == "extra" and ("." not in text or "=" not in text.partition(".")[2]):
        missing = "period" if "." not in text else "equals sign"
        raise BadValue(f'invalid value: must contain at least one {missing}: "{text}"')
    return [text]


def parse_bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise BadValue(f'strconv.ParseBool: parsing "{text}": invalid syntax')


def parse_int(text: str) -> int:
    """Decimal, 0x…, 0o…, 0b…, and 0… for octal, as Go reads integers."""
    digits = text.lstrip("+-")
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    try:
        if not digits.isascii() or len(digits) > 70 or len(text) - len(digits) > 1:
            raise ValueError
        value = int(text, 8 if octal else 0)
    except ValueError:
        raise BadValue(f'strconv.ParseInt: parsing "{text[:100]}": invalid syntax') from None
    if not -(2**63) <= value < 2**63:
        raise BadValue(f'strconv.ParseInt: parsing "{text}": value out of range')
    return value


def parse_duration(text: str) -> float:
    """Seconds of a Go duration: `6m`, `1h30m`, `1.5s`, `0`."""
    rest = text.lstrip("+-")
    if rest == "0":
        return 0.0
    if not rest or len(text) - len(rest) > 1:
        raise BadValue(f'time: invalid duration "{text[:100]}"')
    total = 0.0
    while rest:
        number = _leading(rest, "0123456789.")
        unit = _leading(rest[len(number) :], "nuµμmsh")
        rest = rest[len(number) + len(unit) :]
        if number.strip(".") == "" or number.count(".") > 1 or (rest and rest[0] not in "0123456789."):
            raise BadValue(f'time: invalid duration "{text[:100]}"')
        if unit not in _SECONDS:
            problem = f'unknown unit "{unit}" in' if unit else "missing unit in"
            raise BadValue(f'time: {problem} duration "{text[:100]}"')
        total += float(number) * _SECONDS[unit]
    if total > 2**63 / 1e9:
        raise BadValue(f'time: invalid duration "{text[:100]}"')
    return -total if text[0] == "-" else total


def format_duration(seconds: float) -> str:
    """A duration as Go prints it: `6m0s`, `26280h0m0s`, `1.5s`."""
    sign, whole = ("-" if seconds < 0 else ""), abs(seconds)
    if whole == 0:
        return "0s"
    if whole < 1:
        return f"{sign}{whole * 1000:g}ms" if whole >= 1e-3 else f"{sign}{whole * 1e6:g}µs"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(int(minutes), 60)
    text = f"{round(rest, 9):.9f}".rstrip("0").rstrip(".") + "s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return sign + (f"{hours}h{text}" if hours else text)


def split_list(text: str) -> list[str]:
    """Items of a comma list; quotes keep a comma inside an item, as in CSV."""
    if text == "":
        return []
    if '"' not in text:
        return text.split(",")
    import csv

    try:
        rows = list(csv.reader([text], strict=True))
    except csv.Error as error:
        raise BadValue(f'parse error in "{text[:100]}": {error}') from None
    return rows[0] if rows else []


def _leading(text: str, alphabet: str) -> str:
    for index, character in enumerate(text):
        if character not in alphabet:
            return text[:index]
    return text
