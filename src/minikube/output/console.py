"""The terminal, or what stands in for it: who may see emoji and colour, and where lines go."""

from __future__ import annotations

import os
import sys

from minikube.output.style import prefix
from minikube.output.visible import guard_streams, unguarded, visible

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from typing import TextIO

    from minikube.output.translations import Catalogue

_LANGUAGES = ("de", "es", "fr")  # there is a catalogue for each in locale/
_catalogues: dict[str, Catalogue] = {}
_PLAIN = "\033[0m"
_PREFIX = 4  # columns of an emoji and its spaces
_COLOURS = {"warning": "\033[33m", "failure": "\033[31m", "fatal": "\033[31m", "unmet": "\033[31m"}


def out(message: str, style: str = "") -> None:
    """One message on stdout."""
    print(styled(sys.stdout, message, style), file=unguarded(sys.stdout), flush=True)


def err(message: str, style: str = "") -> None:
    """One message on stderr."""
    print(styled(sys.stderr, message, style), file=unguarded(sys.stderr), flush=True)


def styled(stream: TextIO, message: str, style: str) -> str:
    """The message as that stream should show it, in the user's language."""
    message = visible(localized(message))
    fancy = wants_style(stream)
    colour = _COLOURS.get(style, "") if fancy and not os.environ.get("NO_COLOR") else ""
    return f"{prefix(style, fancy=fancy)}{colour}{_wrapped(stream, message)}{_PLAIN if colour else ''}"


def _wrapped(stream: TextIO, message: str) -> str:
    """On a terminal, lines end between words."""
    if not is_terminal(stream):
        return message
    try:
        width = os.get_terminal_size(stream.fileno()).columns - _PREFIX
    except OSError:
        return message
    return "\n".join(_broken(line, width) for line in message.split("\n"))


def _broken(line: str, width: int) -> str:
    if len(line) <= width or width < 20:
        return line
    first, *words = line.lstrip(" ").split(" ")
    lines = [" " * (len(line) - len(line.lstrip(" "))) + first]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > width:
            lines.append(" " * _PREFIX + word)
        else:
            lines[-1] += f" {word}"
    return "\n".join(lines)


def localized(message: str) -> str:
    """The message in the language that LC_ALL, LC_MESSAGES or LANG asks for, the first of them that is set."""
    setting = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    language = setting[:2].lower()
    if language not in _LANGUAGES or setting[2:3] not in ("", "_", ".", "@", "-"):
        return message
    if language not in _catalogues:
        from minikube.output.translations import Catalogue

        _catalogues[language] = Catalogue(language)
    return _catalogues[language].translate(message)


def wants_style(stream: TextIO) -> bool:
    """Emoji and colour: what MINIKUBE_IN_STYLE says, else only on a terminal that knows colours."""
    wish = os.environ.get("MINIKUBE_IN_STYLE", "")
    if wish:
        return wish.lower() in ("1", "t", "true", "y", "yes", "on")
    if "color" not in os.environ.get("TERM", "") and os.environ.get("COLORTERM", "") not in ("truecolor", "24bit", "yes"):
        return False
    return is_terminal(stream)


def is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # closed, or not there at all
        return False


def confirmed(question: str) -> bool:
    """Whether the person at the terminal says yes; nobody there is a no that says how to go on."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        from minikube.output.reason import Reason

        raise Reason("MK_USAGE", f"{question} There is nobody to ask.", advice="Add --yes.")
    print(f"{question} [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def output_error() -> OSError | None:
    """Why stdout cannot be written, if that is so: a full disk, or a file that was closed."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        return error
    return None


def discard_output() -> None:
    """What is left of stdout goes nowhere: Python must not complain about it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def forgiving() -> None:
    """Names and paths that are not UTF-8, and control characters of strangers, are shown escaped: they do not end or fool the command.

    Closed streams lead nowhere.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # Otherwise the next file to be opened would get its number, and messages would be written into that.
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    guard_streams()
