"""Files of a node, written from outside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from minikube.drivers import statefiles
from minikube.drivers.values import File

EARLIER = 1_000_000_000 * 10**9


def test_a_file_that_is_as_it_should_be_keeps_its_time(tmp_path: Path) -> None:
    file = tmp_path / "etc/minikube/program.py"
    statefiles.write(str(tmp_path), "/etc/minikube/program.py", File(b"print()"))
    os.utime(file, ns=(EARLIER, EARLIER))
    statefiles.write(str(tmp_path), "/etc/minikube/program.py", File(b"print()"))
    assert file.stat().st_mtime_ns == EARLIER


@pytest.mark.parametrize("other", [File(b"print(1)"), File(b"print)("), File(b"print()", 0o600)])
def test_a_file_of_another_content_or_mode_is_written(tmp_path: Path, other: File) -> None:
    file = tmp_path / "program.py"
    statefiles.write(str(tmp_path), "/program.py", File(b"print()"))
    os.utime(file, ns=(EARLIER, EARLIER))
    statefiles.write(str(tmp_path), "/program.py", other)
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (other.content, other.mode)
    assert file.stat().st_mtime_ns > EARLIER


def test_a_link_of_the_node_is_not_followed_even_if_what_it_leads_to_is_alike(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"print()")
    (tmp_path / "program.py").symlink_to("secret")
    with pytest.raises(statefiles.LeadsElsewhere):
        statefiles.write(str(tmp_path), "/program.py", File(b"print()"))
