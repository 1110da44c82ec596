"""Quick commands stay quick: what each of them loads is checked, because modules, not work, are what makes Python slow to start."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.program import PROGRAM, Program

from minikube.host.system import architecture

HEAVY = {
    "re",
    "enum",
    "typing",
    "pathlib",
    "json",
    "socket",
    "ssl",
    "yaml",
    "msgspec",
    "subprocess",
    "dataclasses",
    "tempfile",
    "collections",
}


@pytest.mark.parametrize(
    "words",
    [
        ["version"],
        ["--help"],
        ["start", "--help"],
        ["status"],
        ["ip"],
        ["config", "get", "memory"],
        ["profile"],
        ["profile", "list", "-l"],
        ["__complete", "--", "sta"],
        ["kubectl", "--", "get"],
    ],
    ids=" ".join,
)
def test_nothing_heavy(minikube: Program, words: list[str]) -> None:
    minikube.add_profile("minikube")
    machine = minikube.home / "machines/minikube/native.json"
    machine.parent.mkdir(parents=True)
    machine.write_text('{"subnet": "192.0.2.0/24", "limits": {}}')
    minikube.write_config('{"memory": "4g"}')
    kubectl = minikube.home / "cache/linux" / architecture() / "v1.37.1/kubectl"
    kubectl.parent.mkdir(parents=True)
    kubectl.write_text("#!/bin/sh\nexit 0\n")
    kubectl.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-s", "-E", "-S", "-X", "importtime", PROGRAM, *words],
        env=minikube.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "minikube.cli.parser" in loaded, done.stderr
    assert not HEAVY & loaded
