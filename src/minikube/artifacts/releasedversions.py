"""Versions without pins, as the official releases have them: which patch is the newest, and what goes with it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from minikube.artifacts.catalogue import VersionSet
from minikube.artifacts.endpoints import newest_patch_url
from minikube.artifacts.origin import Origin
from minikube.artifacts.store import Store
from minikube.artifacts.versionrecords import companions_in
from minikube.host.files import write_durably
from minikube.host.process import ProcessFailed
from minikube.output.progress import Progress
from minikube.output.reason import Reason

_TAG = r"[0-9][0-9A-Za-z.]{0,40}"
_PATIENCE_SECONDS = 60


def newest_patch(minor: str, origin: Origin) -> str:
    """`v1.36` as the project itself has it just now."""
    from minikube.artifacts.web import Web

    url = newest_patch_url(minor, origin.binary_mirror)
    try:
        text = Web(unchecked=origin.insecure_registries).read(url, limit=1 << 10)[0].decode(errors="replace").strip()
    except Reason as reason:
        if reason.id != "INET_NOT_FOUND":
            raise
        text = ""
    if not re.fullmatch(rf"{re.escape(minor)}\.[0-9]{{1,4}}", text):
        raise Reason(
            "INET_VERSION_UNAVAILABLE",
            f"{url} does not say which release of Kubernetes {minor} is the newest",
            advice=f"Name the patch: --kubernetes-version={minor}.1",
        )
    return text


def recorded(version: str, root: Path) -> VersionSet | None:
    """What was found out before."""
    try:
        found = companions_in(_record(version, root).read_bytes())
    except OSError:
        return None
    return VersionSet(kubernetes=version, **found) if found else None


def recorded_patches(minor: str, root: Path) -> list[str]:
    return [path.stem.removeprefix("kubernetes-") for path in _record(minor, root).parent.glob(f"kubernetes-{minor}.*.json")]


def find_out(version: str, origin: Origin, store: Store, progress: Progress) -> VersionSet:
    """Ask the version's own kubeadm, and keep its answer."""
    from minikube.artifacts.release import kubeadm_recipe  # most starts know already: they need not wait for its imports

    kubeadm = store.provide(kubeadm_recipe(version, store, origin), progress) / "kubeadm"
    from minikube.host.sandbox import run_in_sandbox

    try:
        said = run_in_sandbox(kubeadm, ["config", "images", "list", f"--kubernetes-version={version}"], seconds=_PATIENCE_SECONDS)
    except ProcessFailed as error:
        raise Reason("INET_VERSION_UNAVAILABLE", f"kubeadm {version} does not say which images go with it: {error}") from error
    asked = {name: re.search(rf"^\S*/{name}:v?({_TAG})(?:-\d+)?$", said, re.MULTILINE) for name in ("etcd", "coredns", "pause")}
    if not all(asked.values()):
        raise Reason("INET_VERSION_UNAVAILABLE", f"kubeadm {version} does not say which images go with it, but: {said[:300]}")
    found = {name: tag[1] if name == "pause" else f"v{tag[1]}" for name, tag in asked.items() if tag}
    file = _record(version, store.root)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_durably(file, json.dumps(found, indent=1) + "\n")
    return VersionSet(kubernetes=version, **found)


def _record(version: str, root: Path) -> Path:
    return root / "versions" / f"kubernetes-{version}.json"
