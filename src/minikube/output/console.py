"""The terminal, or what stands in for it: who may see emoji and colour, and where lines go."""

from __future__ import annotations

import os
import sys

from minikube.output.style import prefix

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from typing import TextIO

    from minikube.output.translations import Catalogue

_LANGUAGES = ("de", "es", "fr")  # there is a catalogue for each in locale/
_catalogues: dict[str, Catalogue] = {}
_PLAIN = "\033[0m"
_COLOURS = {"warning": "\033[33m", "failure": "\033[31m", "fatal": "\033[31m", "unmet": "\033[31m"}


def out(message: str, style: str = "") -> None:
    """One message on stdout."""
    print(styled(sys.stdout, message, style), flush=True)


def err(message: str, style: str = "") -> None:
    """One message on stderr."""
    print(styled(sys.stderr, message, style), file=sys.stderr, flush=True)


def styled(stream: TextIO, message: str, style: str) -> str:
    """The message as that stream should show it, in the user's language."""
    message = localized(message)
    fancy = wants_style(stream)
    colour = _COLOURS.get(style, "") if fancy and not os.environ.get("NO_COLOR") else ""
    return f"{prefix(style, fancy=fancy)}{colour}{message}{_PLAIN if colour else ''}"


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


def forgiving() -> None:
    """Names and paths that are not UTF-8 are shown escaped instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
