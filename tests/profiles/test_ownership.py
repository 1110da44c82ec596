"""Whose files they are when root works for somebody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from minikube.host.rootrights import passed_on
from minikube.profiles import ownership

SOMEBODY = 4711
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND", "CHANGE_MINIKUBE_NONE_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path / ".minikube"))
    monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path / ".cache/minikube"))
    return tmp_path / ".minikube"


def test_what_goes_with_a_command_that_becomes_roots() -> None:
    environment = {
        "MINIKUBE_HOME": "/a", "KUBECONFIG": "/b", "HTTPS_PROXY": "c", "no_proxy": "d", "GOPROXY": "e",
        "GOAUTH": "x", "GOFLAGS": "x", "GOROOT": "x", "PIP_PYTHON": "x", "PIP_LOG": "x", "PIP_INDEX_URL": "f",
        "LD_PRELOAD": "x", "PYTHONPATH": "x", "AWS_SECRET_ACCESS_KEY": "x", "SUDO_UID": "0",
    }  # fmt: skip
    assert set(passed_on(environment)) == {"MINIKUBE_HOME", "KUBECONFIG", "HTTPS_PROXY", "no_proxy", "GOPROXY", "PIP_INDEX_URL"}


@pytest.mark.parametrize(
    ("command", "wish", "expected"),
    [
        ("/usr/local/bin/minikube start", "", SOMEBODY),
        ("/usr/bin/env PATH=/x minikube start", "true", SOMEBODY),
        ("/usr/local/bin/minikube start", "false", None),
        ("/bin/bash", "", None),
        ("/bin/bash", "true", SOMEBODY),
        ("", "", None),
    ],
)
def test_who_is_behind_root(home: Path, monkeypatch: pytest.MonkeyPatch, command: str, wish: str, expected: int | None) -> None:
    for name, value in (("SUDO_UID", str(SOMEBODY)), ("SUDO_GID", "12"), ("SUDO_COMMAND", command), ("CHANGE_MINIKUBE_NONE_USER", wish)):
        monkeypatch.setenv(name, value)
    found = ownership.behind_root()
    assert (found.uid if found else None) == expected


@pytest.mark.parametrize(("name", "wish", "expected"), [("nobody", "true", "nobody"), ("nobody", "", None), ("no-such-user", "true", None)])
def test_the_users_name_and_the_wish_are_enough(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, wish: str, expected: str | None
) -> None:
    monkeypatch.setenv("SUDO_USER", name)
    monkeypatch.setenv("CHANGE_MINIKUBE_NONE_USER", wish)
    found = ownership.behind_root()
    assert (found.name if found else None) == expected


@needs_root
def test_a_home_that_is_somebodys_stays_so_also_when_root_works_in_it(home: Path) -> None:
    home.mkdir()
    assert ownership.behind_root() is None
    os.chown(home, SOMEBODY, SOMEBODY)
    found = ownership.behind_root()
    assert found is not None
    assert found.uid == SOMEBODY


@needs_root
def test_a_third_persons_home_is_refused(home: Path) -> None:
    home.mkdir()
    os.chown(home, 4712, 4712)
    assert "belongs to 4712, and you are somebody" in adopted(home.parent)


@needs_root
def test_a_link_to_roots_directory_is_no_home(home: Path, tmp_path: Path) -> None:
    (tmp_path / "roots").mkdir()
    home.symlink_to(tmp_path / "roots")
    assert "belongs to root, and you are somebody" in adopted(home.parent)


def adopted(home: Path) -> str:
    """In a process of its own: the person's rights are taken for good."""
    program = (
        "import sys\nfrom minikube.profiles import ownership\nownership.adopt(ownership.Person(*map(int, sys.argv[1:3]), *sys.argv[3:]))"
    )
    argv = [sys.executable, "-c", program, str(SOMEBODY), str(SOMEBODY), "somebody", str(home)]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stderr
