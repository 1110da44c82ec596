"""Versions that the catalogue has no pins for: found at the source, and pinned by this machine when it first uses them.

What belongs together is recorded in the store, with the checksum of every module: from then on the version is as fixed as a pinned one.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

from minikube.artifacts import catalogue, wrappermaking
from minikube.artifacts.catalogue import DEFAULT, VERSION_SETS, VersionSet, is_pinned, parts
from minikube.artifacts.gocomponents import made_wrappers
from minikube.artifacts.store import Store
from minikube.output.progress import Progress
from minikube.output.reason import Reason

_COMPANIONS = "companions.json"
_OLDEST_BUILT = (1, 29)
"""kube-proxy speaks nftables since then, and the images made here have nothing else."""


def resolve_version(text: str, *, progress: Progress, force: bool = False) -> str:
    """As the catalogue does; a minor version without pins becomes its newest patch known here or at the source."""
    wanted = catalogue.resolve_version(text, force=force)
    if wanted.count(".") == 2:
        return wanted
    # One that was used before does not change by itself when a newer patch comes out, and needs nobody to be asked.
    used = [path.name.removeprefix("kubernetes-") for path in made_wrappers().glob(f"kubernetes-{wanted}.*")]
    found = used or [version for version in wrappermaking.versions(Store(), progress) if version.startswith(f"{wanted}.")]
    if not found:
        raise Reason(
            "INET_VERSION_UNAVAILABLE",
            f"The source of Go modules lists no release of Kubernetes {wanted}",
            advice=f"Name the patch ({wanted}.1), set GOPROXY to a source that has it, or use one of: {catalogue.available()}.",
        )
    return max(found, key=parts)


def version_set(version: str, progress: Progress) -> VersionSet:
    """Everything that goes with a version: from the catalogue, from the store, or found out now and recorded there."""
    if is_pinned(version):
        return catalogue.version_set(version)
    return recorded(version) or _record(version, progress)


def recorded(version: str) -> VersionSet | None:
    """What was found out before."""
    try:
        companions = json.loads((made_wrappers() / f"kubernetes-{version}" / _COMPANIONS).read_bytes())
        return VersionSet(kubernetes=version, **companions)
    except (OSError, ValueError, TypeError):
        return None


def _record(version: str, progress: Progress) -> VersionSet:
    if parts(version)[:2] < _OLDEST_BUILT:
        raise Reason(
            "K8S_OLD_UNSUPPORTED",
            f"Kubernetes {version} cannot be built from Go modules here: its kube-proxy needs iptables, which the images made here lack",
            advice="Use v1.29 or newer.",
        )
    made_wrappers().mkdir(parents=True, exist_ok=True)
    target = made_wrappers() / f"kubernetes-{version}"
    scratch = Path(tempfile.mkdtemp(prefix=".making-", dir=made_wrappers()))
    try:
        with progress.task(f"Finding out what Kubernetes {version} is made of", expected_seconds=60):
            asked = wrappermaking.make(version, scratch, Store(), progress)
        versions = companions(version, asked)
        chosen = {"etcd": versions.etcd, "coredns": versions.coredns, "pause": versions.pause}
        (scratch / _COMPANIONS).write_text(json.dumps(chosen, indent=1) + "\n")
        if target.exists():  # without its record, or another process was quicker
            shutil.rmtree(target)
        scratch.chmod(0o755)
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return versions


def companions(version: str, asked: wrappermaking.Asked) -> VersionSet:
    """What kubeadm asks for, or the next newer there are pins of: etcd and CoreDNS serve older Kubernetes as well."""
    return VersionSet(
        kubernetes=version,
        etcd=_next_pinned(asked.etcd, [versions.etcd for versions in VERSION_SETS]),
        coredns=_next_pinned(asked.coredns, [versions.coredns for versions in VERSION_SETS]),
        pause=asked.pause if re.fullmatch(r"\d+(\.\d+)+", asked.pause) else DEFAULT.pause,
    )


def _next_pinned(wanted: str, pinned: list[str]) -> str:
    return min((one for one in pinned if parts(one) >= parts(wanted)), key=parts, default=max(pinned, key=parts))
