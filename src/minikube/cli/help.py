"""Help worth reading: what a command does, how it is written, its flags by subject, examples."""

from __future__ import annotations

from minikube.cli.command import Command
from minikube.cli.commands import COMMANDS
from minikube.cli.flags import GLOBAL_FLAGS
from minikube.profiles.settings import Flag
from minikube.profiles.values import format_duration

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Sequence

_INTRODUCTION = "minikube provisions and manages local Kubernetes clusters optimized for development workflows."


def show_help(path: str, command: Command | None, further: Sequence[Flag] = ()) -> None:
    print(root_help() if command is None else command_help(path, command, further))


def root_help() -> str:
    groups: dict[str, list[str]] = {}
    width = max(len(name) for name in COMMANDS) + 2
    for name, (group, _, summary) in COMMANDS.items():
        if group:
            groups.setdefault(group, []).append(f"  {name:<{width}}{summary}")
    parts = [_INTRODUCTION, ""]
    for group, lines in groups.items():
        parts += [f"{group}:", *lines, ""]
    parts += ["Usage:", "  minikube [flags] [options]", ""]
    parts += ['Use "minikube <command> --help" for more information about a given command.']
    parts += ['Use "minikube options" for a list of global command-line options (applies to all commands).']
    return "\n".join(parts)


def command_help(path: str, command: Command, further: Sequence[Flag] = ()) -> str:
    details = command.details if isinstance(command.details, str) else command.details()
    parts = [details or command.summary, ""]
    if command.unbuilt:
        parts += [f"Not built yet: {command.unbuilt}", ""]
    if command.aliases:
        parts += ["Aliases:", "  " + ", ".join([command.name, *command.aliases]), ""]
    if command.examples:
        parts += ["Examples:", *(f"  {line}" for line in command.examples), ""]
    shown = [child for child in command.subcommands if not child.hidden]
    if shown:
        width = max(len(child.name) for child in shown) + 2
        parts += ["Available Commands:", *(f"  {child.name:<{width}}{child.summary}" for child in shown), ""]
    replaced = {flag.name for flag in further}
    own = [flag for flag in (*command.flags, *command.persistent) if flag.name not in replaced]
    flags = [flag for flag in (*own, *further) if not flag.hidden]
    for section in dict.fromkeys(flag.section for flag in flags):
        parts += [f"{section or 'Options'}:", flags_help([flag for flag in flags if flag.section == section]), ""]
    parts += ["Usage:"]
    if command.run or command.unbuilt:
        parts += [f"  {path} {command.arguments} [flags] [options]".replace("  [", " [")]
    if shown:
        parts += [f"  {path} SUBCOMMAND [flags] [options]"]
    if shown:
        parts += ["", f'Use "{path} <command> --help" for more information about a given command.']
    parts += ["", 'Use "minikube options" for a list of global command-line options (applies to all commands).']
    return "\n".join(parts)


def global_help() -> str:
    return "The following options can be passed to any command:\n\n" + flags_help([flag for flag in GLOBAL_FLAGS if flag.name != "help"])


def flags_help(flags: list[Flag]) -> str:
    """One paragraph per flag, as kubectl and upstream write them: name with its default, then what it is for."""
    lines = []
    for flag in flags:
        short = f"-{flag.short}, " if flag.short else "    "
        lines.append(f"  {short}--{flag.name}={_default(flag)}:")
        lines.append(f"        {flag.help}")
    return "\n".join(lines)


def _default(flag: Flag) -> str:
    if flag.kind == "string":
        return "'" + str(flag.default).replace("\n", "\\n") + "'"
    if flag.kind == "duration":
        return format_duration(flag.default)
    if flag.kind == "bool":
        return "true" if flag.default else "false"
    return "[" + ",".join(flag.default) + "]" if isinstance(flag.default, list) else str(flag.default)
