"""`minikube cache prune`: what the store and the caches of this home hold, who needs it, and the removal of the rest."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from minikube.artifacts import catalogue, sources, storeusage, unpinned
from minikube.artifacts.origin import Origin
from minikube.artifacts.rootspart import making
from minikube.artifacts.store import Store, remove_tree
from minikube.artifacts.storeusage import Bulk, Busy
from minikube.cluster import imagecache
from minikube.cluster.mirrors import origin_of
from minikube.host import rootrights
from minikube.host.credentials import as_person
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles import profile as profile_files
from minikube.profiles.paths import home

_FRESH_SECONDS = 600  # what was made a moment ago is for a command that has not got round to saying so


class Item(NamedTuple):
    """One thing that takes space. `needed_for` is empty for what can go."""

    what: str
    bulk: Bulk
    needed_for: tuple[str, ...]
    remove: Callable[[], None]


def survey(report: Report, *, everything: bool) -> list[Item]:
    """With `everything`, only what clusters use counts as needed: the rest can be made or fetched again."""
    store = Store()
    with report.progress.task("looking at the caches"), making():
        return [*_entries(store, everything=everything), *_rest_of_store(store, everything=everything), *_images()]


def would_free(items: Sequence[Item]) -> int:
    return storeusage.freed(item.bulk for item in items if not item.needed_for)


def require_rights(*, adding: tuple[str, ...] = ()) -> None:
    """Components that a start made with root rights are root's, also in somebody's own store."""
    entries = Store().root / "entries"
    if entries.exists() and not os.access(entries, os.W_OK):
        rootrights.require("`minikube cache prune` removes components, which are root's", adding=adding)


def prune(items: Sequence[Item], report: Report) -> int:
    """Remove what nobody needs; bytes that came free."""
    gone = []
    for item in items:
        if item.needed_for:
            continue
        try:
            with making():
                item.remove()
        except (OSError, Busy) as error:
            why = "another command is making it anew" if isinstance(error, Busy) else error.strerror or str(error)
            report.warning(f"{item.what} could not be removed: {why}")
        else:
            gone.append(item.bulk)
    return storeusage.freed(gone)


def _entries(store: Store, *, everything: bool) -> Iterator[Item]:
    users = _users(store)
    running = storeusage.names_in_use(store)
    usual = set() if everything else _next_start(store)
    for entry in sorted((store.root / "entries").glob("*")):
        needed = [f"cluster {profile}" for profile, names in users.items() if entry.name in names]
        if entry.name in running and not needed:
            needed.append("a running cluster of another home")
        if entry.name in usual:
            needed.append(f"the next start ({catalogue.DEFAULT.kubernetes})")
        if not needed and not everything and time.time() - _age_mark(entry) < _FRESH_SECONDS:
            needed.append("made just now")
        yield Item(entry.name, storeusage.bulk(entry), tuple(needed), partial(storeusage.remove_entry, store, entry.name))
    for entry in sorted((store.root / "damaged").glob("*")):
        needed = ["a running cluster"] if entry.name in running else []
        yield Item(f"{entry.name} (damaged)", storeusage.bulk(entry), tuple(needed), partial(remove_tree, entry))


def _users(store: Store) -> dict[str, set[str]]:
    """Profiles of this home, running or stopped, each with the entries its machine stands on or its next start looks for."""
    users: dict[str, set[str]] = {}
    listing = profile_files.list_profiles()
    for profile in (*listing.valid, *listing.invalid):
        found: set[str] = set()
        if profile.config is not None:
            version = profile.config.KubernetesConfig.KubernetesVersion
            with contextlib.suppress(Reason):  # a version that is in the catalogue no more
                versions = unpinned.recorded(version, profile.config.ComponentSource) or catalogue.version_set(version)
                recipes = sources.recipes_of(versions, origin_of(profile.config), profile.config.ComponentSource, store)
                found |= storeusage.names_needed(recipes)
        users[profile.name] = found
    for machine in (home() / "machines").glob("*"):
        found = users.setdefault(machine.name, set())
        for file in (*machine.glob("*.json"), *machine.glob("bundle/*.json")):
            with contextlib.suppress(OSError):
                found |= storeusage.names_in(file.read_text(errors="replace"), store)
    return users


def _next_start(store: Store) -> set[str]:
    """The entries that a start of a new cluster takes: of the source that has everything, else of the one that will be made of them."""
    default, public = catalogue.DEFAULT, Origin()
    complete = [source for source in (sources.MODULES, sources.RELEASE) if not sources.missing(default, public, source, store)]
    return storeusage.names_needed(
        recipe for source in complete or [sources.MODULES] for recipe in sources.recipes_of(default, public, source, store)
    )


def _rest_of_store(store: Store, *, everything: bool) -> Iterator[Item]:
    root = store.root
    missing = _next_start(store) - {p.name for p in root.glob("entries/*")}
    going_on = ("a build that goes on just now",) if storeusage.is_building(store) else ()
    builds = going_on or (("the build of what is missing",) if missing else ())
    places: list[tuple[str, Path, tuple[str, ...]]] = [
        ("packages that Go has compiled", root / "go" / "build", builds),
        ("sources of Go modules", root / "go" / "mod", builds or (() if everything else ("builds of other versions, `minikube license`",))),
        ("unfinished downloads", root / "downloads", going_on),
    ]
    for environment in sorted((*root.glob("venv-*"), *root.glob("dev-*"))):
        own = Path(sys.prefix).resolve() == environment.resolve()
        whose = ("this program",) if own else () if everything else ("a clone of this program",)
        places.append((f"Python packages ({environment.name})", environment, whose))
    for what, path, needed_for in places:
        if path.exists():
            yield Item(what, storeusage.bulk(path), needed_for, partial(remove_tree, path))
    if any((root / "building").glob("*")):
        yield Item("what interrupted builds have left", storeusage.bulk(root / "building"), going_on, store.sweep)


def _images() -> Iterator[Item]:
    kept = {imagecache.place(name) for name in imagecache.names()}
    for path in sorted(imagecache.directory().glob("**/*")):
        if path.is_file():
            needed = ("`minikube cache`",) if path in kept else ()
            name = path.relative_to(imagecache.directory())
            yield Item(f"image {name}", storeusage.bulk(path), needed, partial(_unlink, path))


def _unlink(path: Path) -> None:
    with as_person():  # in whose home it is
        path.unlink(missing_ok=True)


def _age_mark(entry: Path) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0
