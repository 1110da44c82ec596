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

_WORDS_FOR_DEFAULT = ("", "stable", "latest", "newest")


def resolve_version(text: str) -> str:
    """The Kubernetes version for what a user wrote: a word (`stable`), a minor (`v1.37`) or a full version, with or without the `v`."""
    wanted = text.strip().lower()
    if wanted in _WORDS_FOR_DEFAULT:
        return DEFAULT.kubernetes
    match = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.(\d+))?(-[0-9a-z.-]+)?(\+[0-9a-z.-]+)?", wanted)
    if not match:
        raise Reason(
            "MK_USAGE",
            f'"{text}" is not a Kubernetes version',
            advice=f"Give a version such as {DEFAULT.kubernetes}, or stable. There are: {_available()}.",
        )
    major, minor, patch, prerelease = int(match[1]), int(match[2]), match[3], match[4]
    for versions in VERSION_SETS:
        known = parts(versions.kubernetes)
        if not prerelease and (major, minor) == known[:2] and (patch is None or int(patch) == known[2]):
            return versions.kubernetes
    raise _not_available(text, (major, minor, int(patch or 0)))


def version_set(kubernetes: str) -> VersionSet:
    """Everything that goes with a Kubernetes version, given as a user would."""
    resolved = resolve_version(kubernetes)
    return next(versions for versions in VERSION_SETS if versions.kubernetes == resolved)


def parts(version: str) -> tuple[int, int, int]:
    """`v1.37.1` as numbers that compare."""
    major, minor, patch = version.removeprefix("v").split("-")[0].split(".")
    return int(major), int(minor), int(patch)


def _not_available(text: str, wanted: tuple[int, int, int]) -> Reason:
    newest, oldest = parts(VERSION_SETS[0].kubernetes), parts(VERSION_SETS[-1].kubernetes)
    advice = f"Use one of: {_available()}."
    if wanted[:2] > newest[:2]:
        return Reason(
            "K8S_NEW_UNSUPPORTED", f"Kubernetes {text} is newer than the newest known version, {VERSION_SETS[0].kubernetes}", advice=advice
        )
    if wanted[:2] < oldest[:2]:
        return Reason(
            "K8S_OLD_UNSUPPORTED",
            f"Kubernetes {text} is older than the oldest version there is, {VERSION_SETS[-1].kubernetes}",
            advice=advice,
        )
    return Reason("INET_VERSION_UNAVAILABLE", f"Kubernetes {text} is not among the pinned versions", advice=advice)


def _available() -> str:
    return ", ".join(versions.kubernetes for versions in VERSION_SETS)
