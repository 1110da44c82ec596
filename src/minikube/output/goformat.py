"""Values as Go prints them: %v, and the verbs of fmt.Sprintf that templates use."""

from __future__ import annotations


def show(value: object) -> str:
    """A value the way Go's %v shows it."""
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_inner(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list | tuple):
        return "[" + " ".join(_inner(item) for item in value) + "]"
    return str(value)


def _inner(value: object) -> str:
    return "<nil>" if value is None else show(value)


def sprintf(layout: object, *values: object) -> str:
    """fmt.Sprintf for %s %v %d %q %t %x %f %% with flags and width; what does not fit is shown the way Go shows it."""
    text, rest, out = str(layout), list(values), []
    while text:
        before, percent, text = text.partition("%")
        out.append(before)
        if not percent:
            break
        length = next((index for index, character in enumerate(text) if character.isalpha() or character == "%"), -1)
        if length < 0:
            out.append("%!(NOVERB)")
            break
        flags, verb, text = text[:length], text[length], text[length + 1 :]
        if verb == "%":
            out.append("%")
        elif not rest:
            out.append(f"%!{verb}(MISSING)")
        else:
            out.append(_verb(flags, verb, rest.pop(0)))
    if rest:
        out.append("%!(EXTRA " + ", ".join(f"{type(value).__name__}={show(value)}" for value in rest) + ")")
    return "".join(out)


def _verb(flags: str, verb: str, value: object) -> str:
    if verb in "sv":
        return _pad(flags, show(value))
    if verb == "q":
        import json

        return _pad(flags, json.dumps(show(value), ensure_ascii=False))
    if verb == "t" and isinstance(value, bool):
        return _pad(flags, show(value))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = (verb in "dxXob" and isinstance(value, int)) or verb in "feg"
    if number and fits and all(character in "-+ 0#.123456789" for character in flags) and _short(flags):
        return f"%{flags}{verb}" % value if verb != "b" else _pad(flags, f"{value:b}")
    return f"%!{verb}({type(value).__name__}={show(value)})"


def _pad(flags: str, text: str) -> str:
    width = flags.lstrip("+#0 ")
    left = width.startswith("-")
    digits = width.lstrip("-").split(".")[0]
    if not digits.isdigit() or not _short(digits):
        return text
    return text.ljust(int(digits)) if left else text.rjust(int(digits))


def _short(flags: str) -> bool:
    """A width of millions is a slip or an attack, not a format."""
    return all(len(part.lstrip("-+ #")) <= 4 for part in flags.split("."))
