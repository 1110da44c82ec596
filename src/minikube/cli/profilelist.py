"""The profiles of this home as a table and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from minikube.output.debuglog import debug
from minikube.output.reason import Reason
from minikube.profiles.profile import Profile, list_profiles

if TYPE_CHECKING:
    from minikube.profiles.clusterconfig import ClusterConfig


class Row(NamedTuple):
    """A profile, and what can be said about it at the moment."""

    name: str
    status: str
    config: ClusterConfig | None
    active: bool
    active_context: bool


def describe(active: str, *, light: bool) -> tuple[list[Row], list[Row]]:
    """The valid and the invalid profiles; with `light` no cluster is asked for its state."""
    from minikube.kubernetes.kubeconfig import current_context

    listing = list_profiles()
    context = current_context() if listing.valid else ""

    def row(profile: Profile, status: str) -> Row:
        return Row(profile.name, status, profile.config, profile.name == active, profile.name == context)

    valid = [row(profile, "Skipped" if light else _status(profile.name)) for profile in listing.valid]
    return valid, [row(profile, "") for profile in listing.invalid]


def as_json(valid: list[Row], invalid: list[Row]) -> str:
    return json.dumps({"invalid": [_object(row) for row in invalid], "valid": [_object(row) for row in valid]}, separators=(",", ":"))


def as_table(rows: list[Row], *, detailed: bool) -> str:
    """Upstream's columns: one status by default, the parts of it with --detailed."""
    header = ["PROFILE", "DRIVER", "RUNTIME", "IP", "VERSION", "STATUS", "NODES", "ACTIVE PROFILE", "ACTIVE KUBECONTEXT"]
    if detailed:
        header = ["PROFILE", "DRIVER", "RUNTIME", "IP", "PORT", "VERSION", "STATUS", "NODES", "ACTIVE PROFILE", "ACTIVE KUBECONTEXT"]
    return _box(header, [_cells(row, detailed=detailed) for row in rows])


def _cells(row: Row, *, detailed: bool) -> list[str]:
    config = row.config
    assert config is not None  # noqa: S101 - a valid profile has a configuration
    nodes = config.Nodes or []
    first = next((node for node in nodes if node.ControlPlane), None)
    kubernetes = config.KubernetesConfig
    cells = [row.name, config.Driver, kubernetes.ContainerRuntime, first.IP if first else ""]
    if detailed:
        cells.append(str(first.Port) if first else "")
    marks = ["*" if row.active else "", "*" if row.active_context else ""]
    return [*cells, kubernetes.KubernetesVersion, row.status, str(len(nodes)), *marks]


def _status(name: str) -> str:
    from minikube.cluster.status import status

    try:
        nodes = status(name)
    except Reason as reason:
        debug(f"status of {name}: {reason.message}")
        return "Unknown"
    if not nodes:
        return "Unknown"
    if nodes[0].Host != "Running":
        return nodes[0].Host
    return "OK" if nodes[0].APIServer == "Running" else nodes[0].APIServer


def _object(row: Row) -> dict[str, Any]:
    config = None
    if row.config is not None:
        import msgspec

        config = msgspec.to_builtins(row.config)
    return {"Name": row.name, "Status": row.status, "Config": config, "Active": row.active, "ActiveKubeContext": row.active_context}


def _box(header: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]

    def line(left: str, middle: str, right: str) -> str:
        return left + middle.join("─" * (width + 2) for width in widths) + right + "\n"

    def cells(row: list[str], *, centred: bool = False) -> str:
        texts = [text.center(width) if centred else text.ljust(width) for text, width in zip(row, widths, strict=True)]
        return "│ " + " │ ".join(texts) + " │\n"

    body = "".join(cells(row) for row in rows)
    return line("┌", "┬", "┐") + cells(header, centred=True) + line("├", "┼", "┤") + body + line("└", "┴", "┘")
