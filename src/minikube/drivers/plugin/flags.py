"""A plugin's create flags as flags of `start`, and the values they end up with."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from minikube.drivers.plugin.createflags import PluginFlag
from minikube.output.reason import Reason
from minikube.profiles.settings import Flag, Settings
from minikube.profiles.values import BadValue, parse, parse_megabytes

# How plugins call these, which have no names of their own in the protocol. Sizes are megabytes unless the plugin says otherwise.
_SIZES = {"cpus": ("-cpu-count", "-cpus", "-cpu"), "memory": ("-memory", "-memory-size"), "disk-size": ("-disk-size",)}
_IN_GIGABYTES = re.compile(r"\b(GB|GiB|gigabytes?)\b", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def as_flags(name: str, declared: Sequence[PluginFlag]) -> tuple[Flag, ...]:
    """How the flags are read and shown; names that no command line could have are left out."""
    return tuple(
        Flag(flag.name, flag.kind, flag.default, _help(flag), section=f"Driver {name}") for flag in declared if _NAME.fullmatch(flag.name)
    )


def values(declared: Sequence[PluginFlag], settings: Settings) -> dict[str, Any]:
    """Flag, then minikube's own environment variable and configuration, then the plugin's variable, then the plugin's default.

    What the user says with --cpus, --memory and --disk-size also sizes the machine, where the plugin has a flag for it.
    """
    found = {flag.name: _value(flag, settings) for flag in declared}
    for flag in declared:
        if flag.kind == "int" and not _is_set(flag, settings) and (size := _size(flag, settings)):
            found[flag.name] = size
    return found


def _size(flag: PluginFlag, settings: Settings) -> int:
    for ours, endings in _SIZES.items():
        if not flag.name.endswith(endings) or not settings.has(ours) or settings.source(ours) == "default":
            continue
        text = str(settings.get(ours))
        try:
            if ours == "cpus":
                return int(text)
            megabytes = parse_megabytes(text)
        except ValueError:  # max, no-limit, or what the plan of the cluster refuses
            return 0
        return -(-megabytes // 1024) if _IN_GIGABYTES.search(flag.usage) else megabytes
    return 0


def _is_set(flag: PluginFlag, settings: Settings) -> bool:
    return (settings.has(flag.name) and settings.source(flag.name) != "default") or bool(flag.variable and os.environ.get(flag.variable))


def _value(flag: PluginFlag, settings: Settings) -> Any:
    if settings.has(flag.name) and settings.source(flag.name) != "default":
        value = settings.get(flag.name)
        # It may be a flag of start's own, which the plugin wants to know about in its own way.
        return value if _is_of(flag.kind, value) else _parsed(flag, str(value), f"--{flag.name}")
    text = os.environ.get(flag.variable, "") if flag.variable else ""
    if not text:
        return flag.default
    if flag.kind == "stringArray":
        return [part.strip() for part in text.split(",")]
    return _parsed(flag, text, f"the environment variable {flag.variable}")


def _is_of(kind: str, value: Any) -> bool:
    return type(value) is {"string": str, "int": int, "bool": bool, "stringArray": list}[kind]


def _parsed(flag: PluginFlag, text: str, where: str) -> Any:
    try:
        return parse(flag.kind, text)
    except BadValue as error:
        raise Reason("MK_USAGE", f"{where} is not valid: {error}") from None


def _help(flag: PluginFlag) -> str:
    text = flag.usage.strip() or "(the driver says nothing about it)"
    return f"{text} [${flag.variable}]" if flag.variable else text
