"""Texts that set something, read by the rules of the flags people know: Go's bools, ints, durations and comma lists."""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from typing import Any

_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_FALSE = ("0", "f", "F", "false", "FALSE", "False")
SECOND = 10**9  # durations are nanoseconds, as in Go and in the profile files
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND}
_BYTES = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

# What each kind of setting is when nobody sets it.
ZERO: dict[str, Any] = {"bool": False, "int": 0, "duration": 0, "string": "", "strings": [], "stringArray": [], "extra": []}


class BadValue(ValueError):
    """A text that is no value of its kind, in the words Go's own parsers use."""


def parse(kind: str, text: str) -> Any:
    """The value of a text: bool, int, nanoseconds, str, or for the list kinds the list of items it adds."""
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


def parse_duration(text: str) -> int:
    """Nanoseconds of a Go duration: `6m`, `1h30m`, `1.5s`, `0`."""
    rest = text.lstrip("+-")
    if rest == "0":
        return 0
    if not rest or len(text) - len(rest) > 1:
        raise BadValue(f'time: invalid duration "{text[:100]}"')
    total = 0
    while rest:
        number = _leading(rest, "0123456789.")
        unit = _leading(rest[len(number) :], "nuµμmsh")
        rest = rest[len(number) + len(unit) :]
        if number.strip(".") == "" or number.count(".") > 1 or len(number) > 40 or (rest and rest[0] not in "0123456789."):
            raise BadValue(f'time: invalid duration "{text[:100]}"')
        if unit not in _UNITS:
            problem = f'unknown unit "{unit}" in' if unit else "missing unit in"
            raise BadValue(f'time: {problem} duration "{text[:100]}"')
        whole, _, part = number.partition(".")
        total += int(whole or "0") * _UNITS[unit] + (int(part) * _UNITS[unit] // 10 ** len(part) if part else 0)
    if total >= 2**63:
        raise BadValue(f'time: invalid duration "{text[:100]}"')
    return -total if text[0] == "-" else total


def parse_megabytes(text: str) -> int:
    """`4g`, `4096mb`, `4096`: a number without a unit is megabytes."""
    import re

    written = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?\s*", text.lower())
    if not written:
        raise BadValue(f"'{text}' is not a size")
    number, unit, bytes_suffix = written.groups()
    return int(float(number) * _BYTES[unit or ("b" if bytes_suffix else "m")]) >> 20


def format_duration(nanoseconds: int) -> str:
    """A duration as Go prints it: `6m0s`, `26280h0m0s`, `1.5s`."""
    sign, amount = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    if amount == 0:
        return "0s"
    for unit in ("ns", "µs", "ms"):
        if amount < SECOND and amount < _UNITS[unit] * 1000:
            return f"{sign}{amount / _UNITS[unit]:.9g}{unit}"
    minutes, rest = divmod(amount, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest // SECOND}.{rest % SECOND:09d}".rstrip("0").rstrip(".") + "s"
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
