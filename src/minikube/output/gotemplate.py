"""The part of Go's text/template that people write into --format: fields, if, range, with, pipes and the common functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minikube.output.goformat import show, sprintf


class TemplateError(Exception):
    """The template cannot be read, or asks for something the data does not have."""


def render(template: str, data: object, *, name: str = "template") -> str:
    """Fill a template. Backslashes outside of quoted strings stay as they are, as in Go: the shell decides about `\\n`."""
    try:
        nodes = _Parser(name, _split(name, template)).parse()
        out: list[str] = []
        _run(nodes, data, {"$": data}, out)
    except RecursionError:
        raise TemplateError(f"template: {name}: too deeply nested") from None
    return "".join(out)


# --- text and actions ------------------------------------------------------------------------------------------------


def _split(name: str, template: str) -> list[tuple[str, str]]:
    """Cut into ("text", …) and ("action", …), with `{{-` and `-}}` already applied."""
    pieces: list[tuple[str, str]] = []
    rest, trim_next = template, False
    while rest:
        before, opened, rest = rest.partition("{{")
        if trim_next:
            before = before.lstrip(" \t\r\n")
        if not opened:
            pieces.append(("text", before))
            break
        if rest.startswith("-") and rest[1:2] in (" ", "\t", "\n", "\r"):
            before, rest = before.rstrip(" \t\r\n"), rest[1:]
        pieces.append(("text", before))
        action, rest = _action(name, rest)
        trim_next = action.endswith("-") and action[-2:-1] in (" ", "\t", "\n", "\r")
        action = action[:-1] if trim_next else action
        if not action.strip().startswith("/*"):
            pieces.append(("action", action.strip()))
    return [piece for piece in pieces if piece != ("text", "")]


def _action(name: str, rest: str) -> tuple[str, str]:
    """The text up to the closing braces, minding quotes."""
    quote, position = "", 0
    while position < len(rest):
        character = rest[position]
        if quote:
            if character == "\\" and quote == '"':
                position += 1
            elif character == quote:
                quote = ""
        elif character in "\"`'":
            quote = character
        elif rest.startswith("}}", position):
            return rest[:position], rest[position + 2 :]
        position += 1
    raise TemplateError(f"template: {name}:1: unclosed action")


# --- parsing ---------------------------------------------------------------------------------------------------------

_Node = tuple[str, Any, Any, Any]  # (kind, pipeline or text, body, else body)


class _Parser:
    def __init__(self, name: str, pieces: list[tuple[str, str]]) -> None:
        self.name, self.pieces, self.position = name, pieces, 0

    def parse(self) -> list[_Node]:
        nodes, end = self._block()
        if end:
            raise TemplateError(f"template: {self.name}:1: unexpected {{{{{end}}}}}")
        return nodes

    def _block(self) -> tuple[list[_Node], str]:
        """Nodes up to (not including) `end` or `else`, and which of them it was."""
        nodes: list[_Node] = []
        while self.position < len(self.pieces):
            kind, text = self.pieces[self.position]
            self.position += 1
            if kind == "text":
                nodes.append(("text", text, None, None))
                continue
            word, _, tail = text.partition(" ")
            if word in ("end", "else"):
                return nodes, text
            if word in ("if", "range", "with"):
                nodes.append(self._control(word, tail))
            elif word in ("template", "define", "block", "break", "continue"):
                raise TemplateError(f"template: {self.name}:1: {{{{{word}}}}} is not supported")
            else:
                nodes.append(("print", self._pipeline(text), None, None))
        return nodes, ""

    def _control(self, word: str, condition: str) -> _Node:
        pipeline = self._pipeline(condition)
        body, end = self._block()
        otherwise: list[_Node] = []
        if end.startswith("else if "):
            otherwise = [self._control("if", end.removeprefix("else if "))]
            return (word, pipeline, body, otherwise)
        if end == "else":
            otherwise, end = self._block()
        if end != "end":
            raise TemplateError(f"template: {self.name}:1: unexpected EOF" if not end else f"template: {self.name}:1: unexpected {end}")
        return (word, pipeline, body, otherwise)

    def _pipeline(self, text: str) -> tuple[str, list[list[Any]]]:
        """A variable that is assigned ("" for none) and the commands of the pipe."""
        tokens = _tokens(self.name, text)
        variable = ""
        if len(tokens) > 1 and tokens[1] in (":=", "=") and str(tokens[0]).startswith("$"):
            variable, tokens = str(tokens[0]), tokens[2:]
        commands, rest = self._commands(tokens, closing="")
        if rest or not all(commands):
            raise TemplateError(
                f"template: {self.name}:1: missing value for command" if not rest else f"template: {self.name}:1: unexpected )"
            )
        return variable, commands

    def _commands(self, tokens: list[Any], *, closing: str) -> tuple[list[list[Any]], list[Any]]:
        commands: list[list[Any]] = [[]]
        while tokens:
            word, tokens = tokens[0], tokens[1:]
            if word == "(":
                inner, tokens = self._commands(tokens, closing=")")
                commands[-1].append(("pipe", ("", inner)))
            elif word == ")" and closing:
                return commands, tokens
            elif word == ")":
                return commands, [")"]
            elif word == "|":
                commands.append([])
            else:
                commands[-1].append(word)
        if closing:
            raise TemplateError(f"template: {self.name}:1: unclosed left paren")
        return commands, []


def _tokens(name: str, text: str) -> list[Any]:
    """Words, operators, and literals as ("value", v)."""
    tokens: list[Any] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character in " \t\r\n":
            position += 1
        elif character in "()|":
            tokens.append(character)
            position += 1
        elif text.startswith(":=", position):
            tokens.append(":=")
            position += 2
        elif character in '"`':
            value, position = _string(name, text, position)
            tokens.append(("value", value))
        else:
            start = position
            while position < len(text) and text[position] not in ' \t\r\n()|"`':
                position += 1
            tokens.append(_word(name, text[start:position]))
    return tokens


def _string(name: str, text: str, start: int) -> tuple[str, int]:
    quote, position, value = text[start], start + 1, ""
    while position < len(text) and text[position] != quote:
        if text[position] == "\\" and quote == '"':
            position += 1
            escaped = text[position : position + 1]
            value += {"n": "\n", "t": "\t", "r": "\r"}.get(escaped, escaped)
        else:
            value += text[position]
        position += 1
    if position >= len(text):
        raise TemplateError(f"template: {name}:1: unterminated quoted string")
    return value, position + 1


def _word(name: str, word: str) -> Any:
    if word in ("true", "false", "nil"):
        return ("value", {"true": True, "false": False, "nil": None}[word])
    if word[0].isdigit() or (word[0] in "+-" and len(word) > 1):
        try:
            return ("value", float(word) if "." in word else int(word, 0))
        except ValueError:
            raise TemplateError(f'template: {name}:1: bad number syntax: "{word}"') from None
    if word[0] in ".$=" or word in _FUNCTIONS or word in ("and", "or"):
        return word
    raise TemplateError(f'template: {name}:1: function "{word}" not defined')


# --- running ---------------------------------------------------------------------------------------------------------


def _run(nodes: Sequence[_Node], dot: object, variables: dict[str, object], out: list[str]) -> None:
    for kind, what, body, otherwise in nodes:
        if kind == "text":
            out.append(what)
            continue
        variable, commands = what
        value = _pipe(commands, dot, variables)
        if variable:
            variables[variable] = value
        if kind == "print":
            if not variable:
                out.append(show(value))
        elif kind == "if":
            _run(body if _truth(value) else otherwise, dot, dict(variables), out)
        elif kind == "with":
            _run(body if _truth(value) else otherwise, value if _truth(value) else dot, dict(variables), out)
        else:
            items = _items(value)
            for item in items:
                _run(body, item, variables | ({variable: item} if variable else {}), out)
            if not items:
                _run(otherwise, dot, dict(variables), out)


def _pipe(commands: list[list[Any]], dot: object, variables: dict[str, object]) -> object:
    piped: list[object] = []
    value: object = None
    for command in commands:
        value = _command(command, piped, dot, variables)
        piped = [value]
    return value


def _command(command: list[Any], piped: list[object], dot: object, variables: dict[str, object]) -> object:
    head = command[0]
    if head in ("and", "or"):
        # Go stops at the first operand that decides.
        value: object = None
        for operand in [*command[1:], *[("value", item) for item in piped]]:
            value = _operand(operand, dot, variables)
            if _truth(value) == (head == "or"):
                break
        return value
    if isinstance(head, str) and head in _FUNCTIONS:
        arguments = [_operand(word, dot, variables) for word in command[1:]] + piped
        try:
            return _FUNCTIONS[head](*arguments)
        except (TypeError, IndexError, KeyError, ValueError) as error:
            raise TemplateError(f"template: error calling {head}: {error}") from None
    if len(command) > 1 or piped:
        raise TemplateError(f"template: can't give argument to non-function {head}")
    return _operand(head, dot, variables)


def _operand(word: Any, dot: object, variables: dict[str, object]) -> object:
    if isinstance(word, tuple):
        return word[1] if word[0] == "value" else _pipe(word[1][1], dot, variables)
    if word == ".":
        return dot
    if word in _FUNCTIONS:
        return _command([word], [], dot, variables)
    start, *path = str(word).split(".")
    value = dot
    if start:
        if start not in variables:
            raise TemplateError(f'template: undefined variable "{start}"')
        value = variables[start]
    for field in path:
        value = _field(value, field)
    return value


def _field(value: object, field: str) -> object:
    if isinstance(value, dict):
        return value.get(field, None)
    # Only data, never methods or what Python keeps behind underscores.
    if not field or field.startswith("_") or not hasattr(value, field) or callable(getattr(value, field)):
        raise TemplateError(f"template: can't evaluate field {field or '<empty>'} in type {type(value).__name__}")
    return getattr(value, field)


def _truth(value: object) -> bool:
    return bool(value)


def _items(value: object) -> list[object]:
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    if isinstance(value, list | tuple):
        return list(value)
    if value is None:
        return []
    raise TemplateError(f"template: range can't iterate over {show(value)}")


def _equal(first: object, *others: object) -> bool:
    if not others:
        raise TypeError("missing argument for comparison")
    return any(first == other for other in others)


def _index(value: Any, *keys: Any) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else value[key]
    return value


_FUNCTIONS: dict[str, Callable[..., object]] = {
    "printf": sprintf,
    "print": lambda *values: "".join(show(value) for value in values),
    "println": lambda *values: " ".join(show(value) for value in values) + "\n",
    "eq": _equal,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "not": lambda value: not _truth(value),
    "len": len,
    "index": _index,
}
