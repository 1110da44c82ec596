"""What was found out about versions without pins, as it goes into a bundle: the machine that uses it has nobody to ask."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from minikube.artifacts.catalogue import is_pinned
from minikube.artifacts.gocomponents import is_current
from minikube.artifacts.store import Store
from minikube.host.files import cannot_write, write_durably

_VERSION = r"v\d{1,4}\.\d{1,4}\.\d{1,4}(-[0-9a-z.-]{1,40})?"
_COMPANION = re.compile(r"v?[0-9]{1,6}(\.[0-9A-Za-z]{1,20}){1,4}(-[0-9A-Za-z.]{1,20})?", re.ASCII)
_LONGEST = 4 << 20  # characters of a go.sum
_NAMES = re.compile(
    rf"wrappers/kubernetes-{_VERSION}/(go\.mod|go\.sum|main\.go|companions\.json)|versions/kubernetes-{_VERSION}\.json", re.ASCII
)


def is_record(name: str, text: str) -> bool:
    """Whether a record may be called that, as it names a file in the store, and holds what such a file may."""
    if not _is_name(name) or len(text) > _LONGEST:
        return False
    return not name.endswith(".json") or companions_in(text) is not None


def companions_in(text: str | bytes) -> dict[str, str] | None:
    """The versions that go with a Kubernetes version; None unless that is what a record says. They become names of files and addresses."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or set(found) != {"etcd", "coredns", "pause"}:
        return None
    return found if all(isinstance(version, str) and _COMPANION.fullmatch(version) for version in found.values()) else None


def _is_name(name: str) -> bool:
    return _NAMES.fullmatch(name) is not None


def collect(version: str, store: Store) -> dict[str, str]:
    """The records of a version, by their place in the store; none for one that has pins."""
    if is_pinned(version):
        return {}
    files = [*store.root.glob(f"wrappers/kubernetes-{version}/*"), store.root / f"versions/kubernetes-{version}.json"]
    places = {str(file.relative_to(store.root)): file for file in files if file.is_file()}
    return {place: file.read_text() for place, file in sorted(places.items()) if _is_name(place)}


def keep(records: Mapping[str, str], store: Store) -> None:
    """Put them into the store. What this machine has found out itself stays as it is."""
    places = {place: (store.root / place).parent for place in records}
    for stale in {directory for directory in places.values() if directory.name != "versions" and not is_current(directory)}:
        shutil.rmtree(stale, ignore_errors=True)
    known = {place for place, directory in places.items() if directory.name != "versions" and directory.exists()}
    # The file that says what was found comes last: with it a version counts as known.
    for place in sorted(set(records) - known, key=lambda place: place.endswith(".json")):
        _write(store.root / place, records[place])


def _write(file: Path, text: str) -> None:
    if file.exists():
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(file, error) from error
    write_durably(file, text)
