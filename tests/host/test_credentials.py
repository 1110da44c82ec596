"""Root that works for a person has that person's rights for files and processes, but for its own work."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.forperson import UID, for_person, open_place, persons

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root works for others")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory of the person's beside a file of root's, both in a directory that everybody may enter."""
    with open_place() as above:
        (above / "roots").write_text("precious")
        (above / "roots").chmod(0o600)
        yield persons(above / "home")


def test_what_is_made_belongs_to_the_person(place: Path) -> None:
    for_person("Path(sys.argv[1], 'made').write_text('')", place)
    assert ((place / "made").stat().st_uid, (place / "made").stat().st_gid) == (UID, UID)


@pytest.mark.parametrize("act", ["link.read_text()", "link.write_text('x')", "link.unlink() or link.parent.joinpath('../new').touch()"])
def test_a_link_leads_to_nothing_that_the_person_could_not_reach(place: Path, act: str) -> None:
    (place / "link").symlink_to(place.parent / "roots")
    assert "Permission denied" in for_person(f"link = Path(sys.argv[1], 'link')\n{act}", place)
    assert (place.parent / "roots").read_text() == "precious"
    assert not (place.parent / "new").exists()


def test_threads_and_processes_have_the_rights_of_the_one_that_starts_them(place: Path) -> None:
    said = for_person(
        """
        from threading import Thread
        from minikube.host.process import run
        words = []
        def look():
            words.append(run(["id", "-u"]).text.strip())
            try:
                Path(sys.argv[1]).read_text()
                words.append("reads")
            except PermissionError:
                words.append("refused")
        def on_thread():
            thread = Thread(target=look)
            thread.start()
            thread.join()
        on_thread()
        with credentials.as_root():
            on_thread()
            with credentials.as_person():
                on_thread()
            look()
        look()
        print(*words)
        """,
        place.parent / "roots",
    )
    assert said == f"{UID} refused 0 reads {UID} refused 0 reads {UID} refused"


def test_a_block_that_fails_gives_the_rights_back() -> None:
    said = for_person(
        """
        try:
            with credentials.as_root():
                raise ValueError
        except ValueError:
            print(credentials.acts_for_person())
        """
    )
    assert said == "True"


def test_rights_that_are_dropped_do_not_come_back() -> None:
    said = for_person(
        """
        credentials.drop()
        with credentials.as_root():
            print(os.getresuid(), os.getgroups(), credentials.acts_for_person())
        """
    )
    assert said == f"({UID}, {UID}, {UID}) [{UID}] False"


def test_root_that_works_for_nobody_keeps_its_rights(tmp_path: Path) -> None:
    from minikube.host import credentials

    with credentials.as_person():
        (tmp_path / "made").touch()
    assert (tmp_path / "made").stat().st_uid == os.geteuid()
    assert credentials.of_child() == {}
