"""Which words may come next on a command line that is still being written."""

from __future__ import annotations

from minikube.cli.command import Command
from minikube.cli.commands import ALIASES, COMMANDS, load
from minikube.cli.flags import GLOBAL_FLAGS
from minikube.profiles.settings import Flag


def candidates(words: list[str]) -> list[str]:
    """Completions of the last word; the ones before it are given in full."""
    *before, current = words or [""]
    if "--" in before:
        return []
    command, flags = _where(before)
    if current.startswith("--") and "=" in current:
        name, _, typed = current.partition("=")
        return [f"{name}={value}" for value in _values(flags.get(name[2:]), typed, before)]
    if before and before[-1].startswith("-"):
        flag = _flag(before[-1], flags)
        if flag is not None and not flag.implied:
            return _values(flag, current, before)
    if current.startswith("-"):
        return sorted(f"--{flag.name}" for flag in flags.values() if not flag.hidden and f"--{flag.name}".startswith(current))
    return sorted(word for word in _words(command, before) if word.startswith(current))


def _where(before: list[str]) -> tuple[Command | None, dict[str, Flag]]:
    """The command the words have reached, and the flags it takes there."""
    flags = {flag.name: flag for flag in GLOBAL_FLAGS}
    command: Command | None = None
    skip = False
    for word in before:
        if skip:
            skip = False
        elif word.startswith("-"):
            flag = _flag(word, flags)
            skip = "=" not in word and flag is not None and not flag.implied
        else:
            step = load(word) if command is None else command.subcommand(word)
            if step is None:
                continue
            command = step
            flags |= {flag.name: flag for flag in (*step.persistent, *step.flags)}
    return command, flags


def _flag(word: str, flags: dict[str, Flag]) -> Flag | None:
    if "=" in word:
        return None
    if word.startswith("--"):
        return flags.get(word[2:])
    return next((flag for flag in flags.values() if flag.short and flag.short == word[1:]), None)


def _words(command: Command | None, before: list[str]) -> list[str]:
    if command is None:
        return [name for name, (group, _, _) in COMMANDS.items() if group] + list(ALIASES)
    words = [child.name for child in command.subcommands if not child.hidden]
    parent = next((word for word in before if word in COMMANDS), "")
    if command.name == "profile":
        words += _profiles()
    elif command.name == "completion":
        words += ["bash", "zsh", "fish", "powershell"]
    elif command.name == "help":
        words += [name for name, (group, _, _) in COMMANDS.items() if group]
    elif parent == "addons" and not command.subcommands:
        from minikube.addons.catalogue import ADDONS

        words += ADDONS if command.arguments else ()
    elif parent == "node" and command.name in ("delete", "start", "stop"):
        words += _nodes(before)
    elif parent == "config" and command.name in ("set", "get", "unset", "defaults"):
        from minikube.cli.configkeys import KEYS, WITH_DEFAULTS

        words += WITH_DEFAULTS if command.name == "defaults" else KEYS
    return words


def _values(flag: Flag | None, typed: str, before: list[str]) -> list[str]:
    if flag is None:
        return []
    values = list(flag.choices)
    if flag.name == "profile":
        values = _profiles()
    elif flag.name == "node":
        values = _nodes(before)
    elif flag.name == "addons":
        from minikube.addons.catalogue import ADDONS

        values = list(ADDONS)
    elif flag.name == "kubernetes-version":
        from minikube.artifacts.catalogue import VERSION_SETS

        values = ["stable", *(versions.kubernetes for versions in VERSION_SETS)]
    if flag.kind == "bool":
        values = ["true", "false"]
    done, comma, last = typed.rpartition(",") if flag.kind == "strings" else ("", "", typed)
    return sorted(f"{done}{comma}{value}" for value in values if value.startswith(last))


def _profiles() -> list[str]:
    from minikube.profiles.glance import names

    try:
        return names()
    except OSError:
        return []


def _nodes(before: list[str]) -> list[str]:
    """The machines of the profile that the words so far mean."""
    from minikube.cli.parser import UsageError, understand
    from minikube.host.quickjson import loads
    from minikube.output.reason import Reason
    from minikube.profiles.glance import config_text
    from minikube.profiles.settings import Settings

    try:
        invocation = understand(before[:-1] if before[-1:] and before[-1].startswith("-") else before)
        profile = Settings(invocation.flags, invocation.given).profile
        with open(config_text(profile), "rb") as stream:  # noqa: PTH123
            nodes = loads(stream.read())["Nodes"]
        return [f"{profile}-{node['Name']}" if node.get("Name") else profile for node in nodes]
    except (UsageError, Reason, OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
