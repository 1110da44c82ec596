"""Packages for building: recognised when there, and a command to run when they cannot be installed."""

import os
from pathlib import Path

import pytest

from minikube.artifacts.buildtools import check_installable, missing_packages
from minikube.output.reason import Reason


def program(directory: Path, name: str, script: str = "exit 0") -> None:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_what_is_there_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path, "gcc")
    assert missing_packages(["gcc", "mmdebstrap", "mmdebstrap"]) == ["mmdebstrap"]


def test_nothing_missing_needs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    check_installable([])


def test_a_system_without_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Reason, match="no apt-get") as caught:
        check_installable(["mmdebstrap"])
    assert caught.value.exit_code == 15
    assert "mmdebstrap" in caught.value.message


@pytest.mark.parametrize("sudo", [None, "exit 1"])
def test_without_root_the_exact_command_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sudo: str | None) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    program(tmp_path, "apt-get")
    if sudo:
        program(tmp_path, "sudo", sudo)
    with pytest.raises(Reason) as caught:
        check_installable(["gcc", "libseccomp-dev"])
    assert caught.value.advice == "Run: sudo apt-get install --no-install-recommends gcc libseccomp-dev"
