"""The command line, read by the rules of pflag and cobra, so that what people and scripts type keeps its meaning."""

from __future__ import annotations

from minikube.cli.commands import ALIASES, COMMANDS, load
from minikube.cli.flags import GLOBAL_FLAGS
from minikube.profiles.values import BadValue, parse

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from minikube.cli.command import Command
    from minikube.profiles.settings import Flag


class UsageError(Exception):
    """A command line that means nothing: exit code 14, with the words cobra uses."""

    def __init__(self, message: str, *, path: str = "minikube", suggestions: list[str] | None = None, hint: str = "See") -> None:
        super().__init__(message)
        self.message, self.path, self.suggestions, self.hint = message, path, suggestions or [], hint


class Invocation:
    """A command line that was understood."""

    __slots__ = ("arguments", "command", "flags", "further", "given", "path")

    def __init__(
        self,
        path: str,
        command: Command | None,
        flags: dict[str, Flag],
        given: dict[str, Any],
        arguments: list[str],
        *,
        further: Sequence[Flag] = (),
    ) -> None:
        self.path, self.command, self.flags, self.given, self.arguments = path, command, flags, given, arguments
        self.further = further


def understand(words: list[str]) -> Invocation:
    """Find the command among the words, then read all flags by what that command takes."""
    flags = {flag.name: flag for flag in GLOBAL_FLAGS}
    shorts = {flag.short: flag for flag in GLOBAL_FLAGS if flag.short}
    place = _first_positional(words, flags, shorts, is_command=lambda word: word in COMMANDS or word in ALIASES)
    if place is None:
        given, _ = _read(words, flags, shorts, path="minikube")
        return Invocation("minikube", None, flags, given, [])
    command = load(words[place])
    if command is None:
        raise unknown_command(words[place], "minikube", [*COMMANDS, *ALIASES])
    words = words[:place] + words[place + 1 :]
    path = f"minikube {command.name}"
    while True:
        for flag in (*command.persistent, *command.flags):
            flags[flag.name] = flag
            if flag.short:
                shorts[flag.short] = flag
        names = [child.name for child in command.subcommands] + [alias for child in command.subcommands for alias in child.aliases]
        place = _first_positional(words, flags, shorts, is_command=names.__contains__) if names else None
        child = command.subcommand(words[place]) if place is not None else None
        if child is None or place is None:
            break
        for flag in command.flags:  # only the persistent ones go on to the child
            del flags[flag.name]
            shorts.pop(flag.short, None)
        command, words = child, words[:place] + words[place + 1 :]
        path += f" {command.name}"
    further = command.further(words) if command.further else ()
    flags |= {flag.name: flag for flag in further}
    given, arguments = _read(words, flags, shorts, path=path, keeps_empty=command.keeps_empty)
    if command.subcommands and not command.run and not command.unbuilt and arguments and not given.get("help"):
        raise unknown_command(arguments[0], path, names)
    return Invocation(path, command, flags, given, arguments, further=further)


def unknown_command(word: str, path: str, names: list[str]) -> UsageError:
    from minikube.cli.nearest import nearest

    visible = [name for name in names if not name.startswith("__")]
    return UsageError(f'unknown command "{word}" for "{path}"', path=path, suggestions=nearest(word, visible), hint="Run")


def _first_positional(words: list[str], flags: dict[str, Flag], shorts: dict[str, Flag], *, is_command: Any) -> int | None:
    """Where the first word stands that is neither a flag nor a flag's value; None if there is none before `--`."""
    position = 0
    while position < len(words):
        word = words[position]
        if word == "--":
            return None
        if word == "-" or not word.startswith("-"):
            if word:
                return position
        elif "=" not in word and _takes_next(word, flags, shorts):
            # A flag of the command that comes later may stand before it; whether it takes a value is not known yet.
            known = word[2:] in flags if word.startswith("--") else word[1:2] in shorts
            following = words[position + 1] if position + 1 < len(words) else ""
            if known or not is_command(following):
                position += 1
        position += 1
    return None


def _takes_next(word: str, flags: dict[str, Flag], shorts: dict[str, Flag]) -> bool:
    if word.startswith("--"):
        flag = flags.get(word[2:])
        return flag is None or not flag.implied
    flag = shorts.get(word[1])
    return len(word) == 2 and (flag is None or not flag.implied)


def _read(
    words: list[str], flags: dict[str, Flag], shorts: dict[str, Flag], *, path: str, keeps_empty: bool = False
) -> tuple[dict[str, Any], list[str]]:
    given: dict[str, Any] = {}
    arguments: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return given, arguments + rest
        if not word.startswith("-") or word == "-":
            # Scripts pass "$EXTRA" that may be empty: such a word means nothing.
            if word or keeps_empty:
                arguments.append(word)
        elif word.startswith("--"):
            _read_long(word, rest, flags, given, path)
        else:
            _read_short(word, rest, shorts, given, path)
    return given, arguments


def _read_long(word: str, rest: list[str], flags: dict[str, Flag], given: dict[str, Any], path: str) -> None:
    name, equals, value = word[2:].partition("=")
    if not name or name[0] == "-":
        raise UsageError(f"bad flag syntax: {word}", path=path)
    flag = flags.get(name)
    if flag is None:
        from minikube.cli.nearest import nearest

        near = [f"--{found}" for found in nearest(name, [known.name for known in flags.values() if not known.hidden])]
        # Many programs say their version so; here it is a command.
        commands = [f"minikube {name}"] if path == "minikube" and name in COMMANDS else []
        raise UsageError(f"unknown flag: --{name}", path=path, suggestions=[*commands, *near])
    if not equals:
        if flag.implied:
            value = flag.implied
        elif rest:
            value = rest.pop(0)
        else:
            raise UsageError(f"flag needs an argument: --{name}", path=path)
    _store(flag, value, given, path)


def _read_short(word: str, rest: list[str], shorts: dict[str, Flag], given: dict[str, Any], path: str) -> None:
    letters = word[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        flag = shorts.get(letter)
        if flag is None:
            raise UsageError(f"unknown shorthand flag: '{letter}' in {word}", path=path)
        if letters.startswith("="):
            value, letters = letters[1:], ""
        elif flag.implied:
            value = flag.implied
        elif letters:
            value, letters = letters, ""
        elif rest:
            value = rest.pop(0)
        else:
            raise UsageError(f"flag needs an argument: '{letter}' in {word}", path=path)
        _store(flag, value, given, path)


def _store(flag: Flag, text: str, given: dict[str, Any], path: str) -> None:
    try:
        value = parse(flag.kind, text)
    except BadValue as error:
        raise UsageError(f'invalid argument "{text}" for "{flag.label}" flag: {error}', path=path) from None
    given[flag.name] = given.get(flag.name, []) + value if isinstance(value, list) else value
