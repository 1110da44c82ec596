"""options, update-check and license."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

import pytest
from support.program import Program

from minikube.artifacts import catalogue
from minikube.artifacts.gocomponents import go_components
from minikube.artifacts.licences import required
from minikube.cli.flags import GLOBAL_FLAGS
from minikube.cluster import releases
from minikube.output.reason import Reason


def git(directory: Path, *words: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *words], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of a repository with releases."""
    for name in ("origin", "clone"):
        (tmp_path / name).mkdir()
    git(tmp_path / "origin", "init")
    git(tmp_path / "origin", "commit", "--allow-empty", "-m", "x")
    git(tmp_path / "clone", "init")
    git(tmp_path / "clone", "remote", "add", "origin", str(tmp_path / "origin"))
    return tmp_path / "clone"


def test_options(minikube: Program) -> None:
    text = minikube("options").stdout
    assert text.startswith("The following options can be passed to any command:\n")
    assert all(f"--{flag.name}=" in text for flag in GLOBAL_FLAGS if flag.name != "help")
    assert minikube("options", "x").returncode == 14


def test_the_newest_release(clone: Path) -> None:
    with pytest.raises(Reason) as caught:
        releases.newest(clone)
    assert (caught.value.id, caught.value.exit_code) == ("INET_VERSION_EMPTY", 48)
    for tag in ("v0.9.0", "v0.10.0", "v0.11.0-rc.1", "vnext", "other"):
        git(clone.parent / "origin", "tag", tag)
    assert releases.newest(clone) == "v0.10.0"


def test_nobody_to_ask(clone: Path, tmp_path: Path) -> None:
    git(clone, "remote", "set-url", "origin", "https://127.0.0.1:1/x.git")
    for place in (clone, tmp_path):
        with pytest.raises(Reason) as caught:
            releases.newest(place)
        assert caught.value.exit_code == 49
        assert "Unable to fetch latest version info: " in caught.value.message


def test_nobody_answers(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        git(clone, "remote", "set-url", "origin", f"http://127.0.0.1:{silent.getsockname()[1]}/x.git")
        began = time.monotonic()
        with pytest.raises(Reason) as caught:
            releases.newest(clone)
    assert caught.value.id == "INET_VERSION_UNAVAILABLE"
    assert time.monotonic() - began < 30


def test_update_check_names_the_current_version(minikube: Program) -> None:
    done = minikube("update-check")
    assert done.stdout.startswith("CurrentVersion: v")
    assert done.returncode in (0, 48, 49)


def test_licenses(minikube: Program, tmp_path: Path) -> None:
    store = tmp_path / "store"
    done = minikube("license", MINIKUBE_STORE=str(store))
    assert done.returncode == 40
    assert "INET_LICENSES" in done.stderr
    # Modules whose sources Go did not need are not in its cache.
    name, version = next(iter(required(go_components(catalogue.DEFAULT)[0].wrapper / "go.mod")))
    module = store / "go/mod" / f"{name}@{version}"
    module.mkdir(parents=True)
    (module / "LICENSE").write_text("do what you want")
    (module / "main.go").write_text("package main")
    done = minikube("license", "-d", "here", MINIKUBE_STORE=str(store))
    assert done.returncode == 0, done.stderr
    here = minikube.home.parent / "here/licenses"
    assert (here / f"{name}@{version}/LICENSE").read_text() == "do what you want"
    assert not (here / f"{name}@{version}/main.go").exists()
    assert "Apache License" in (here / "minikube/LICENSE").read_text()
    assert list((here / "python/urllib3").iterdir())


def test_every_component_names_modules() -> None:
    for component in go_components(catalogue.DEFAULT):
        if component.name != "pause":
            assert list(required(component.wrapper / "go.mod")), component.name
