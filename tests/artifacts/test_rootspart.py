"""What root makes and executes in a person's store is root's, whatever the person has put there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.forperson import UID, for_person, open_place, persons

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root works for others")

MAKE = """
from minikube.artifacts.rootspart import making
with making():
    print("made")
"""


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with open_place() as above:
        (above / "roots").mkdir()
        (above / "roots" / "precious").write_text("precious")
        persons(above / "home")
        monkeypatch.setenv("MINIKUBE_STORE", str(above / "home" / "store"))
        yield above / "home" / "store"


def test_the_store_is_the_persons_and_what_root_uses_in_it_is_roots(store: Path) -> None:
    assert for_person(MAKE) == "made"
    assert store.stat().st_uid == UID
    assert {path.stat().st_uid for path in store.iterdir()} == {0}
    assert {"entries", "building", "locks", "logs", "go"} <= {path.name for path in store.iterdir()}


@pytest.mark.parametrize("name", ["entries", "building", "locks", "logs", "go", "downloads"])
def test_a_link_is_replaced_and_what_it_leads_to_stays(store: Path, name: str) -> None:
    persons(store)
    (store / name).symlink_to(store.parents[1] / "roots")
    os.chown(store / name, UID, UID, follow_symlinks=False)
    assert for_person(MAKE) == "made"
    assert (store / name).is_dir()
    assert not (store / name).is_symlink()
    assert [path.name for path in (store.parents[1] / "roots").iterdir()] == ["precious"]


def test_records_of_the_version_before_are_kept_and_links_among_them_are_not(store: Path) -> None:
    persons(store / "versions" / "kubernetes-v1.33.1.json", "{}")
    (store / "versions" / "link").symlink_to(store.parents[1] / "roots" / "precious")
    (store / "versions" / "second-name").hardlink_to(store.parents[1] / "roots" / "precious")
    persons(store / "logs" / "old.log", "")
    assert for_person(MAKE) == "made"
    assert [path.name for path in (store / "versions").iterdir()] == ["kubernetes-v1.33.1.json"]
    assert (store / "versions" / "kubernetes-v1.33.1.json").stat().st_uid == 0
    assert (store.parents[1] / "roots" / "precious").stat().st_nlink == 1
    assert list((store / "logs").iterdir()) == []


def test_an_entry_that_the_person_made_is_not_used_by_root(store: Path) -> None:
    persons(store / "entries" / "runc-0123456789ab" / "content" / "runc", "#!/bin/sh\n")
    (store / "entries" / "etcd-0123456789ab" / "content").mkdir(parents=True)
    said = for_person(
        """
        from minikube.artifacts.rootspart import is_believed, making
        with making():
            print(*(is_believed(entry) for entry in sorted(Path(os.environ["MINIKUBE_STORE"], "entries").iterdir())))
        """
    )
    assert said == "True False"
    assert (store / "entries").stat().st_uid == 0


@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_somebody_elses_store_is_refused(store: Path, mode: int) -> None:
    store.mkdir()
    store.chmod(mode)
    os.chown(store, 4712 if mode == 0o755 else 0, 4712)
    assert "root executes programs from it" in for_person(MAKE)


def test_a_store_that_only_root_can_write_to_is_used_as_it_is(store: Path) -> None:
    (store / "entries").mkdir(parents=True)
    assert for_person(MAKE) == "made"
    assert store.stat().st_uid == 0
