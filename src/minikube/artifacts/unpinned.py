"""Versions that the catalogue has no pins for: found at the source, and pinned by this machine when it first uses them.

What belongs together is recorded in the store, of Go modules with the checksum of each: from then on the version is as fixed as any.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

from minikube.artifacts import catalogue, releasedversions, sources, wrappermaking
from minikube.artifacts.catalogue import DEFAULT, VERSION_SETS, VersionSet, is_pinned, parts
from minikube.artifacts.endpoints import newest_patch_url
from minikube.artifacts.gocomponents import is_current, made_wrappers
from minikube.artifacts.sources import BUNDLE, MODULES, RELEASE, Sourcing
from minikube.artifacts.store import Store
from minikube.artifacts.versionrecords import companions_in
from minikube.output.progress import Progress
from minikube.output.reason import Reason

_COMPANIONS = "companions.json"
_OLDEST_BUILT = (1, 29)
"""kube-proxy speaks nftables since then, and the images made here have nothing else."""


def resolve_version(text: str, sourcing: Sourcing, progress: Progress, *, force: bool = False) -> str:
    """As the catalogue does; a minor version without pins becomes its newest patch known here or at the source."""
    wanted = catalogue.resolve_version(text, force=force)
    if not re.fullmatch(r"v\d+\.\d+", wanted):
        return wanted
    # One that was used before does not change by itself when a newer patch comes out, and needs nobody to be asked.
    if used := _used_patches(wanted, sourcing):
        return max(used, key=parts)
    if sourcing.source == BUNDLE:
        raise _not_in_store(wanted)
    if _from_releases(newest_patch_url(wanted, sourcing.origin.binary_mirror), sourcing):
        return releasedversions.newest_patch(wanted, sourcing.origin)
    found = [version for version in wrappermaking.versions(Store(), progress) if version.startswith(f"{wanted}.")]
    if not found:
        raise Reason(
            "INET_VERSION_UNAVAILABLE",
            f"The source of Go modules lists no release of Kubernetes {wanted}",
            advice=f"Name the patch ({wanted}.1), set GOPROXY to a source that has it, or use one of: {catalogue.available()}.",
        )
    return max(found, key=parts)


def version_set(version: str, sourcing: Sourcing, progress: Progress) -> VersionSet:
    """Everything that goes with a version: from the catalogue, from the store, or found out now and recorded there."""
    if is_pinned(version):
        return catalogue.version_set(version)
    if sourcing.source not in (MODULES, RELEASE):
        if ready := _complete(version, sourcing):
            return ready
        if sourcing.source == BUNDLE:
            raise _not_in_store(version)
    if _from_releases(sources.release_url(version, sourcing.origin), sourcing):
        return recorded(version, RELEASE) or releasedversions.find_out(version, sourcing.origin, Store(), progress)
    return recorded(version, MODULES) or _record(version, progress)


def recorded(version: str, source: str = "") -> VersionSet | None:
    """What was found out before, at this source or any."""
    if source != RELEASE:
        wrapper = made_wrappers() / f"kubernetes-{version}"
        try:
            found = companions_in((wrapper / _COMPANIONS).read_bytes()) if is_current(wrapper) else None
        except OSError:
            found = None
        if found:
            return VersionSet(kubernetes=version, **found)
    return None if source == MODULES else releasedversions.recorded(version, Store().root)


def known(version: str, source: str) -> VersionSet | None:
    """What goes with a version without asking anybody: from the catalogue, or found out before at this source."""
    return catalogue.version_set(version) if is_pinned(version) else recorded(version, source)


def _complete(version: str, sourcing: Sourcing) -> VersionSet | None:
    """A version of which the store has everything."""
    for source in sources.in_order(sourcing):
        found = recorded(version, source)
        if found and not sources.missing(found, sourcing.origin, source, Store()):
            return found
    return None


def _used_patches(minor: str, sourcing: Sourcing) -> list[str]:
    built = [path.name.removeprefix("kubernetes-") for path in made_wrappers().glob(f"kubernetes-{minor}.*")]
    downloaded = releasedversions.recorded_patches(minor, Store().root)
    return [*([] if sourcing.source == RELEASE else built), *([] if sourcing.source == MODULES else downloaded)]


def _from_releases(url: str, sourcing: Sourcing) -> bool:
    return sourcing.source == RELEASE or (sourcing.source != MODULES and sources.answers(url, Store()))


def _not_in_store(version: str) -> Reason:
    return Reason(
        "INET_VERSION_UNAVAILABLE",
        f"nothing of Kubernetes {version} is in {Store().root}, and --source={BUNDLE} allows nothing else",
        advice="Import a bundle that has it (minikube bundle import FILE), or leave out --source.",
    )


def _record(version: str, progress: Progress) -> VersionSet:
    if parts(version)[:2] < _OLDEST_BUILT:
        raise Reason(
            "K8S_OLD_UNSUPPORTED",
            f"Kubernetes {version} cannot be built from Go modules here: its kube-proxy needs iptables, which the images made here lack",
            advice="Use v1.29 or newer, or --source=release.",
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
    progress.say(f"Kubernetes {version} is trusted on first use: its modules are kept in {target} by checksum")
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
