"""Whose files they are when root works for somebody."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from minikube.host.rootrights import passed_on
from minikube.output.reason import Reason
from minikube.profiles import ownership

SOMEBODY = 4711
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SUDO_UID", "SUDO_GID", "SUDO_COMMAND", "CHANGE_MINIKUBE_NONE_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path / ".minikube"))
    monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path / ".cache/minikube"))
    return tmp_path / ".minikube"


def test_what_goes_with_a_command_that_becomes_roots() -> None:
    environment = {
        "MINIKUBE_HOME": "/a", "KUBECONFIG": "/b", "HTTPS_PROXY": "c", "no_proxy": "d", "GOPROXY": "e",
        "LD_PRELOAD": "x", "PYTHONPATH": "x", "AWS_SECRET_ACCESS_KEY": "x", "SUDO_UID": "0",
    }  # fmt: skip
    assert set(passed_on(environment)) == {"MINIKUBE_HOME", "KUBECONFIG", "HTTPS_PROXY", "no_proxy", "GOPROXY"}


@pytest.mark.parametrize(
    ("command", "wish", "expected"),
    [
        ("/usr/local/bin/minikube start", "", SOMEBODY),
        ("/usr/bin/env PATH=/x minikube start", "true", SOMEBODY),
        ("/usr/local/bin/minikube start", "false", None),
        ("/bin/bash", "", None),
        ("", "", None),
    ],
)
def test_who_is_behind_root(home: Path, monkeypatch: pytest.MonkeyPatch, command: str, wish: str, expected: int | None) -> None:
    for name, value in (("SUDO_UID", str(SOMEBODY)), ("SUDO_GID", "12"), ("SUDO_COMMAND", command), ("CHANGE_MINIKUBE_NONE_USER", wish)):
        monkeypatch.setenv(name, value)
    found = ownership.behind_root()
    assert (found.uid if found else None) == expected


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
    with pytest.raises(Reason, match="belongs to 4712, and you are somebody") as refused:
        ownership.adopt(ownership.Person(SOMEBODY, SOMEBODY, "somebody", str(home.parent)))
    assert refused.value.id == "HOST_HOME_PERMISSION"


@needs_root
def test_what_is_given_and_what_is_not(home: Path) -> None:
    given = ["profiles/m/config.json", "profiles/m/client.key", "machines/m/native.json", "machines/m/run/control.sock", "logs/audit.json"]
    kept = [
        "machines/m/state/etc/shadow",
        "machines/m/images/usr/x",
        "machines/m/bundle/rootfs/x",
        "machines/m/runc/x",
        "machines/.m.deleted/x",
    ]
    theirs = home / "profiles/m/theirs"
    store = home.parent / ".cache/minikube"
    for path in (
        *(home / name for name in (*given, *kept)),
        theirs,
        store / "entries/e/content/x",
        store / "logs/x",
        home.parent / "new/config",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    os.chown(theirs, 4712, 4712)
    (home / "profiles/m/link").symlink_to("/etc/hostname")
    person = ownership.Person(SOMEBODY, SOMEBODY, "somebody", str(home.parent))
    ownership.give_back(person, made=[str(home.parent / "new/config")])
    owners = {str(path.relative_to(home.parent)): path.lstat().st_uid for path in home.parent.rglob("*")}
    for name in given:
        assert owners[f".minikube/{name}"] == SOMEBODY
    for name in kept:
        assert owners[f".minikube/{name}"] == 0
    assert owners[".minikube/profiles/m/link"] == SOMEBODY
    assert Path("/etc/hostname").stat().st_uid == 0
    assert owners[".minikube/profiles/m/theirs"] == 4712
    assert owners[".minikube/machines/m/state"] == 0
    assert (owners[".cache"], owners[".cache/minikube/logs/x"], owners[".cache/minikube/entries/e/content/x"]) == (SOMEBODY, SOMEBODY, 0)
    assert (owners["new"], owners["new/config"]) == (SOMEBODY, SOMEBODY)
