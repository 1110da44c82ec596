"""A cluster leaves the machine as it found it: compared from outside, before and after."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from support import host
from support.minikube import Minikube, Place, temporary_place
from support.nodeimage import fresh_name
from support.planted import planted


class Life(NamedTuple):
    """A cluster from nothing to nothing again, and what was seen on the way."""

    minikube: Minikube
    before: host.Snapshot
    running: dict[str, list[str]]
    changed_while_running: list[str]
    listening: list[str]
    theirs: dict[Path, bytes]
    theirs_while_running: dict[Path, bytes]
    theirs_after: dict[Path, bytes]
    after: host.Snapshot
    left: dict[str, list[str]]
    home: list[str]
    kubeconfig: str


@pytest.fixture(scope="module")
def life(node_image: Path) -> Iterator[Life]:
    with temporary_place() as place, planted() as theirs:
        yield _live(place, node_image, theirs)


def _live(place: Place, image: Path, theirs: dict[Path, bytes]) -> Life:
    minikube = Minikube(place, fresh_name())
    before = host.snapshot(image, ignored=place.directory)
    minikube.start()
    running = host.traces(minikube, image)
    changed = host.differences(before, host.snapshot(image, ignored=place.directory), own=minikube.host_id)
    listening = host.listening_on_host(minikube)
    theirs_while_running = _contents(theirs)
    minikube.ok("delete")
    return Life(
        minikube=minikube,
        before=before,
        running=running,
        changed_while_running=changed,
        listening=listening,
        theirs=theirs,
        theirs_while_running=theirs_while_running,
        theirs_after=_contents(theirs),
        after=host.snapshot(image, ignored=place.directory),
        left=host.traces(minikube, image),
        home=sorted(str(path.relative_to(place.home)) for path in place.home.rglob("*")),
        kubeconfig=place.kubeconfig.read_text() if place.kubeconfig.exists() else "",
    )


def _contents(files: dict[Path, bytes]) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in files if path.exists()}


def test_the_comparison_would_see_a_cluster(life: Life) -> None:
    """Otherwise the other tests of this file would say nothing."""
    assert all(life.running[kind] for kind in ("processes", "links", "tables", "cgroups")), life.running
    assert any(line.startswith("routes:") for line in life.changed_while_running)


def test_a_running_cluster_changes_no_file_and_no_mount_of_the_host(life: Life) -> None:
    assert [line for line in life.changed_while_running if line.startswith(("files:", "mounts:"))] == []


def test_files_at_the_places_of_other_tools_stay_byte_for_byte(life: Life) -> None:
    assert life.theirs
    assert life.theirs_while_running == life.theirs
    assert life.theirs_after == life.theirs


def test_a_running_cluster_changes_no_kernel_setting_but_forwarding(life: Life) -> None:
    changed = [line for line in life.changed_while_running if line.startswith("sysctls:") and life.minikube.host_id not in line]
    assert [line for line in changed if "/forwarding" not in line and "ip_forward" not in line] == []


def test_nothing_listens_on_the_hosts_own_addresses(life: Life) -> None:
    assert life.listening == []


def test_nothing_is_left_after_delete(life: Life) -> None:
    assert host.nothing(life.left), life.left
    assert host.differences(life.before, life.after, own=life.minikube.host_id) == []


def test_the_home_has_no_file_of_the_deleted_cluster(life: Life) -> None:
    assert [path for path in life.home if life.minikube.profile in path] == []


def test_the_kubeconfig_has_no_word_of_the_deleted_cluster(life: Life) -> None:
    assert life.minikube.profile not in life.kubeconfig
