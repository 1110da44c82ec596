"""What a reader of the documentation would type: the fenced blocks of a page, and the command lines in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from support.minikube import CLONE

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# ([\w.-]+\.yaml)\n")
_WITHOUT_CLUSTER = ("version", "help", "options", "config", "completion")


class Block(NamedTuple):
    """A fenced block. `console` blocks are run by the tests, `text` blocks are not."""

    kind: str
    text: str

    @property
    def commands(self) -> list[str]:
        """Lines after a prompt; the others are output."""
        return [line.removeprefix("$ ") for line in self.text.splitlines() if line.startswith("$ ")]

    @property
    def file(self) -> str:
        """The name of the file the reader is told to save this as, if so."""
        named = _FILE.match(self.text) if self.kind == "yaml" else None
        return named[1] if named else ""

    @property
    def needs_cluster(self) -> bool:
        return any(not _runs_alone(line) for line in self.commands)


def pages() -> list[Path]:
    return [CLONE / "README.md", *sorted((CLONE / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    return [Block(*found) for found in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def minikube_calls(line: str) -> Iterator[list[str]]:
    """The words of each `minikube` in a line of shell, those in `$(…)` included."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] | None = None
    for token in lexer:
        if words is not None and set(token) <= set("();<>|&"):
            yield words
            words = None
        elif words is not None:
            words.append(token)
        elif token in ("minikube", "./minikube"):
            words = []
    if words is not None:
        yield words


def _runs_alone(line: str) -> bool:
    calls = list(minikube_calls(line))
    return bool(calls) and all(words[:1] and (words[0] in _WITHOUT_CLUSTER or "--dry-run" in words) for words in calls)
