"""What parses but does not run yet: the list behind docs/compatibility.md."""

from __future__ import annotations

from collections.abc import Iterator

from minikube.cli.command import Command
from minikube.cli.commands import COMMANDS, load


def every_command() -> Iterator[tuple[str, Command]]:
    """All commands and subcommands with the words that call them."""
    for name in COMMANDS:
        command = load(name)
        if command is not None:
            yield from _with_children(f"minikube {name}", command)


def unbuilt_commands() -> list[tuple[str, str]]:
    """The words of each command that does not run yet, and why."""
    return [(path, command.unbuilt) for path, command in every_command() if command.unbuilt]


def _with_children(path: str, command: Command) -> Iterator[tuple[str, Command]]:
    yield path, command
    for child in command.subcommands:
        yield from _with_children(f"{path} {child.name}", child)
