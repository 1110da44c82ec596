"""The profiles of this home as a table and as JSON."""

from __future__ import annotations

from minikube.cli.table import boxed
from minikube.output.debuglog import debug
from minikube.output.reason import Reason
from minikube.profiles.glance import Glance, glance, names

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from typing import Any

    from minikube.profiles.profile import Profile


def as_json(active: str, *, light: bool) -> str:
    """Every profile with its whole configuration; with `light` no cluster is asked for its state, and broken profiles are left out."""
    import json

    from minikube.kubernetes.kubeconfigglance import current_context
    from minikube.profiles.profile import list_profiles

    listing = list_profiles()
    context = current_context() if listing.valid else ""

    def row(profile: Profile, status: str) -> dict[str, Any]:
        marks = {"Active": profile.name == active, "ActiveKubeContext": profile.name == context}
        return {"Name": profile.name, "Status": status, "Config": _configuration(profile), **marks}

    valid = [row(profile, "Skipped" if light else _status(profile.name)) for profile in listing.valid]
    invalid = [] if light else [row(profile, "") for profile in listing.invalid]
    return json.dumps({"invalid": invalid, "valid": valid}, separators=(",", ":"))


def find() -> tuple[list[Glance], list[str]]:
    """The usable profiles, and the names of the broken ones."""
    valid: list[Glance] = []
    invalid: list[str] = []
    for name in names():
        try:
            found = glance(name)
        except Reason:
            found = None
        if found is not None and found.is_valid:
            valid.append(found)
        else:
            invalid.append(name)
    return valid, invalid


def as_table(profiles: list[Glance], active: str, *, light: bool, detailed: bool) -> str:
    """Upstream's columns, and the port with --detailed."""
    from minikube.kubernetes.kubeconfigglance import current_context

    context = current_context()
    port = ["PORT"] if detailed else []
    header = ["PROFILE", "DRIVER", "RUNTIME", "IP", *port, "VERSION", "STATUS", "NODES", "ACTIVE PROFILE", "ACTIVE KUBECONTEXT"]
    rows = []
    for profile in profiles:
        status = "Skipped" if light else _status(profile.name)
        cells = [profile.name, profile.driver, profile.runtime, profile.address, *([str(profile.port)] if detailed else [])]
        marks = ["*" if profile.name == active else "", "*" if profile.name == context else ""]
        rows.append([*cells, profile.kubernetes_version, status, str(profile.nodes), *marks])
    return boxed(header, rows)


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


def _configuration(profile: Profile) -> object:
    if profile.config is None:
        return None
    import msgspec

    return msgspec.to_builtins(profile.config)
