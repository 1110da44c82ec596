"""What is kept about a machine of a plugin: the plugin's own configuration, and one key of ours in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minikube.drivers.plugin import flags
from minikube.drivers.plugin.client import running_plugin
from minikube.drivers.plugin.explain import explained
from minikube.profiles.paths import home
from minikube.profiles.settings import Settings

# Go's drivers ignore keys they do not know. Below it: how the machine is reached, from when it is made; or, while it is being made,
# the configuration that can take away what a creation that was cut short has left behind.
OURS = "Minikube"
UNFINISHED = "Unfinished"


def configure(name: str, binary: Path, machine: str, settings: Settings, before: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a machine to make, from the plugin's flags; one that is made keeps its own."""
    ours = before.get(OURS) or {}
    if ours and UNFINISHED not in ours:
        return dict(before)
    start = {"MachineName": machine, "StorePath": str(home())}
    advice = f"`minikube start --help --driver={name}` shows the driver's flags."
    with (
        explained(name, "DRV_NOT_HEALTHY", "cannot be configured"),
        running_plugin(name, binary, config=start) as plugin,
    ):
        chosen = flags.values(plugin.create_flags(), settings)
        with explained(name, "MK_USAGE", "does not accept its settings", advice=advice):
            plugin.set_flags(chosen)
        own = plugin.config()
    return own | ({OURS: ours} if ours else {})


def plain(kept: Mapping[str, Any]) -> dict[str, Any]:
    """The part that is the plugin's."""
    return {key: value for key, value in kept.items() if key != OURS}
