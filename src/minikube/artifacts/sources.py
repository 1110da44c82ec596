"""Which source components come from: what the store has already, else official releases where they can be had, else Go modules."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from minikube.artifacts.assembly import component_recipes, node_image_recipe, present_components, provide_components, write_image_archive
from minikube.artifacts.catalogue import VersionSet
from minikube.artifacts.components import Components
from minikube.artifacts.endpoints import kubernetes_binary
from minikube.artifacts.gocomponents import go_components, goarch
from minikube.artifacts.origin import Origin
from minikube.artifacts.provide import missing_recipes, provide_all
from minikube.artifacts.seed import SEED
from minikube.artifacts.store import Recipe, Store
from minikube.host.files import read_record, write_durably
from minikube.output.debuglog import debug
from minikube.output.progress import Progress
from minikube.output.reason import Reason

if TYPE_CHECKING:
    from minikube.artifacts.release import Releases

AUTO, RELEASE, MODULES, BUNDLE = "auto", "release", "modules", "bundle"
SOURCES = (AUTO, RELEASE, MODULES, BUNDLE)

_PROBE_SECONDS = 1.5
_ABSENT_FOR = 600.0  # seconds for which a place that did not answer is not asked again


class Sourcing(NamedTuple):
    """What the user says about it."""

    source: str = AUTO
    origin: Origin = Origin()
    preferred: str = ""
    """The source an existing cluster came from: other builds of the same version would restart it."""


def provide(versions: VersionSet, sourcing: Sourcing, progress: Progress) -> tuple[Components, str]:
    """Have everything of a version set; and the source it comes from."""
    store = Store()
    ready = complete(versions, sourcing, store)
    source, asked = _choice(versions, sourcing, store, ready)
    if asked and source == RELEASE:
        progress.say(f"Components come from official releases ({asked}); --source=modules would build them here")
    elif asked:
        progress.say(f"{asked} does not answer, so components are built here from Go modules (--source=modules)")
    repository = sourcing.origin.image_repository
    if source == RELEASE:
        releases = _releases(versions, store, sourcing.origin)
        return (_released(releases) if source == ready else _provide_releases(releases, progress)), source
    if source == ready:
        return present_components(versions, repository=repository), source
    return provide_components(versions, progress, repository=repository), source


def complete(versions: VersionSet, sourcing: Sourcing, store: Store) -> str:
    """The source of which the store has everything, if any."""
    known = [source for source in in_order(sourcing) if source != MODULES or _has_wrappers(versions)]
    return next((source for source in known if not missing(versions, sourcing.origin, source, store)), "")


def in_order(sourcing: Sourcing) -> list[str]:
    """Where components can be made from, the one an existing cluster came from first."""
    return sorted((MODULES, RELEASE), key=lambda source: source != sourcing.preferred)


def _has_wrappers(versions: VersionSet) -> bool:
    """Whether Go could make all of it: what was found out from official releases needs no wrappers."""
    return all((component.wrapper / "go.mod").exists() for component in go_components(versions))


def choose(versions: VersionSet, sourcing: Sourcing, store: Store) -> tuple[str, str]:
    """The source, and the place that was asked whether it serves. Whatever is complete in the store is taken without asking anybody."""
    return _choice(versions, sourcing, store, complete(versions, sourcing, store))


def _choice(versions: VersionSet, sourcing: Sourcing, store: Store, ready: str) -> tuple[str, str]:
    if sourcing.source == BUNDLE:
        if not ready:
            raise Reason(
                "INET_VERSION_UNAVAILABLE",
                f"not everything of Kubernetes {versions.kubernetes} is in {store.root}, and --source={BUNDLE} allows nothing else",
                advice="Import a bundle that has it (minikube bundle import FILE), or leave out --source.",
            )
        return ready, ""
    if sourcing.source != AUTO:
        return sourcing.source, ""
    if ready:
        return ready, ""
    url = release_url(versions.kubernetes, sourcing.origin)
    return (RELEASE if answers(url, store) else MODULES), url.rpartition(f"/{versions.kubernetes}/")[0]


def release_url(version: str, origin: Origin) -> str:
    """A small file that the place of official builds has if it has those of this version."""
    place = f"{version}/bin/linux/{goarch()}/kubelet.sha256"
    return kubernetes_binary("kubelet", version, goarch()).urls(place, origin.binary_mirror)[0]


def write_images(versions: VersionSet, source: str, origin: Origin, path: Path, progress: Progress) -> None:
    """The images of a version set whose components have been provided, as an OCI archive."""
    if source == RELEASE:
        _releases(versions, Store(), origin).write_image_archive(path, progress)
    else:
        write_image_archive(versions, path, repository=origin.image_repository)


def missing(versions: VersionSet, origin: Origin, source: str, store: Store) -> list[Recipe]:
    """What a source would have to make first."""
    return missing_recipes(recipes_of(versions, origin, source, store), store)


def recipes_of(versions: VersionSet, origin: Origin, source: str, store: Store) -> list[Recipe]:
    """What a start with components from a source looks for in the store."""
    if source == RELEASE:
        releases = _releases(versions, store, origin)
        return [releases.node_image, *releases.recipes]
    return component_recipes(versions, store, repository=origin.image_repository)


def answers(url: str, store: Store, *, seconds: float = _PROBE_SECONDS) -> bool:
    """Whether a server has a file, found out quickly; one that was silent lately is not asked again."""
    record = _Silence(store.root)
    if record.holds(url):
        return False
    from minikube.artifacts.web import Patience, Trouble, Web

    found: list[bool] = []

    def ask() -> None:
        try:
            Web(patience=Patience(connect=seconds, idle=seconds, attempts=1)).open(url).close()
            found.append(True)
        except (Trouble, Reason) as trouble:
            debug(f"{url} does not serve: {trouble}")
            reason = trouble.reason if isinstance(trouble, Trouble) else trouble
            if reason.id == "INET_NOT_FOUND":
                found.append(False)  # it lacks this file, and may have others

    # On a thread that may be left behind: looking up a name has no time limit of its own.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(seconds)
    if not found:
        record.note(url)
    return found == [True]


class _Silence:
    """Places that did not answer, and when; under other proxies they might."""

    def __init__(self, store: Path) -> None:
        self.file = store / "silent.json"

    def holds(self, url: str) -> bool:
        return 0 <= time.time() - self._read().get(self._key(url), 0.0) < _ABSENT_FOR

    def note(self, url: str) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_durably(self.file, json.dumps({**self._read(), self._key(url): time.time()}) + "\n")

    def _key(self, url: str) -> str:
        from minikube.artifacts.proxies import from_environment

        server = "/".join(url.split("/")[:3])
        return hashlib.sha256(f"{server} {from_environment().for_url(url)}".encode()).hexdigest()[:16]

    def _read(self) -> dict[str, float]:
        return read_record(self.file)


def _releases(versions: VersionSet, store: Store, origin: Origin) -> Releases:
    from minikube.artifacts.release import Releases  # most starts find everything built: they need not wait for its imports

    return Releases(versions, store, origin, node_image_recipe())


def _provide_releases(releases: Releases, progress: Progress) -> Components:
    began = time.monotonic()
    provide_all((releases.node_image, *releases.recipes), releases.store, progress)
    releases.forget_downloads()
    if releases.bytes_moved:
        progress.say(f"Downloaded {releases.bytes_moved / (1 << 20):.0f} MB in {time.monotonic() - began:.0f} s")
    return _released(releases)


def _released(releases: Releases) -> Components:
    store, recipes = releases.store, releases.recipes
    return Components(
        kubernetes_version=releases.versions.kubernetes,
        node_image=store.path(releases.node_image),
        node_binaries=store.path(recipes.node_binaries),
        prepared_store=store.path(recipes.prepared_store),
        seed=store.path(recipes.seed) / SEED,
        runc=store.path(recipes.runc) / "runc",
        kubectl=store.path(recipes.kubectl) / "kubectl",
    )
