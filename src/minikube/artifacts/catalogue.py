"""The pins: which versions belong together, and which Kubernetes a user means by `--kubernetes-version`."""

from __future__ import annotations

import re
from typing import NamedTuple

from minikube.output.reason import Reason


class VersionSet(NamedTuple):
    """One Kubernetes and everything that runs beside it. etcd, CoreDNS and pause are those its kubeadm asks for."""

    kubernetes: str
    etcd: str
    coredns: str
    pause: str
    containerd: str = "v2.4.2"
    runc: str = "v1.5.2"
    cni_plugins: str = "v1.9.1"
    crictl: str = "v1.36.0"
    storage_provisioner: str = "v1"


VERSION_SETS = (
    VersionSet(kubernetes="v1.37.1", etcd="v3.7.0", coredns="v1.14.6", pause="3.10.2"),
    VersionSet(kubernetes="v1.36.4", etcd="v3.6.8", coredns="v1.14.2", pause="3.10.2"),
    VersionSet(kubernetes="v1.34.10", etcd="v3.6.5", coredns="v1.12.1", pause="3.10.1"),
)
"""Newest first."""

DEFAULT = VERSION_SETS[0]
OLDEST = "v1.28.0"
"""Upstream's own limit."""

# Runtimes beside containerd: the CRI they speak is the same for every Kubernetes above.
CRI_DOCKERD = "v0.4.3"
CRI_O = "v1.36.3"

_WORDS_FOR_DEFAULT = ("", "stable", "latest", "newest")


def resolve_version(text: str, *, force: bool = False) -> str:
    """The Kubernetes version for what a user wrote: a word (`stable`), a minor (`v1.37`) or a full version, with or without the `v`.

    A minor version without pins stays one (`v1.35`): artifacts/unpinned.py finds its newest patch. `force`: also what nobody vouches for.
    """
    wanted = text.strip().lower()
    if wanted in _WORDS_FOR_DEFAULT:
        return DEFAULT.kubernetes
    match = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.(\d+))?(-[0-9a-z.-]+)?(\+[0-9a-z.-]+)?", wanted)
    if not match or (match[4] and not match[3]):
        raise Reason(
            "MK_USAGE",
            f'"{text}" is not a Kubernetes version',
            advice=f"Give a version such as {DEFAULT.kubernetes}, or stable. Pinned are: {available()}.",
        )
    major, minor, patch, prerelease = int(match[1]), int(match[2]), match[3], match[4] or ""
    for versions in VERSION_SETS:
        known = parts(versions.kubernetes)
        if not prerelease and (major, minor) == known[:2] and (patch is None or int(patch) == known[2]):
            return versions.kubernetes
    if not force:
        _refuse_unsupported(text, (major, minor))
    return f"v{major}.{minor}" + (f".{int(patch)}{prerelease}" if patch is not None else "")


def is_pinned(kubernetes: str) -> bool:
    return any(versions.kubernetes == kubernetes for versions in VERSION_SETS)


def version_set(kubernetes: str) -> VersionSet:
    """Everything that goes with a pinned Kubernetes version, given as a user would."""
    resolved = resolve_version(kubernetes)
    for versions in VERSION_SETS:
        if versions.kubernetes == resolved:
            return versions
    raise Reason(
        "INET_VERSION_UNAVAILABLE", f"Kubernetes {kubernetes} is not among the pinned versions", advice=f"Use one of: {available()}."
    )


def parts(version: str) -> tuple[int, int, int]:
    """`v1.37.1` as numbers that compare."""
    major, minor, patch = version.removeprefix("v").split("-")[0].split(".")
    return int(major), int(minor), int(patch)


def available() -> str:
    """The pinned versions, for people."""
    return ", ".join(versions.kubernetes for versions in VERSION_SETS)


def _refuse_unsupported(text: str, wanted: tuple[int, int]) -> None:
    advice = f"Use a version from {OLDEST} to {DEFAULT.kubernetes} (pinned: {available()})."
    if wanted > parts(DEFAULT.kubernetes)[:2]:
        message = f"Specified Kubernetes version {text} is greater than the newest supported version: {DEFAULT.kubernetes}"
        raise Reason("K8S_NEW_UNSUPPORTED", message, advice=f"{advice} --force tries it all the same.")
    if wanted < parts(OLDEST)[:2]:
        message = f"Specified Kubernetes version {text} is less than the oldest supported version: {OLDEST}"
        raise Reason("K8S_OLD_UNSUPPORTED", message, advice=advice)
