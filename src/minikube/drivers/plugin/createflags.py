"""The flags with which a plugin lets its machines be configured."""

from __future__ import annotations

from typing import Any, NamedTuple

from minikube.drivers.plugin.process import PluginBroken
from minikube.output.debuglog import debug

_KINDS: dict[str, tuple[str, Any]] = {
    "StringFlag": ("string", ""),
    "IntFlag": ("int", 0),
    "BoolFlag": ("bool", False),
    "StringSliceFlag": ("stringArray", []),
}


class PluginFlag(NamedTuple):
    """A create flag as the plugin declares it; `kind` is one of our own flags' kinds."""

    name: str
    kind: str
    usage: str
    variable: str
    """The environment variable that sets it, if any."""
    default: str | int | bool | list[str]


def as_plugin_flags(answer: Any) -> tuple[PluginFlag, ...]:
    """What GetCreateFlags answered."""
    try:
        flags = [_as_flag(name.rpartition(".")[2], fields) for name, fields in answer]
    except (TypeError, ValueError, AttributeError):
        raise PluginBroken("The plugin answered GetCreateFlags with something that are no flags") from None
    return tuple(flag for flag in flags if flag)


def _as_flag(type_name: str, fields: dict[str, Any]) -> PluginFlag | None:
    name = fields.get("Name", "")
    if type_name not in _KINDS or not name:
        debug(f"a create flag of the type {type_name} is left out: {fields}")
        return None
    kind, zero = _KINDS[type_name]
    default = fields.get("Value", zero)
    if type(default) is not type(zero):
        raise TypeError(name)
    return PluginFlag(name, kind, fields.get("Usage", ""), fields.get("EnvVar", ""), default)
