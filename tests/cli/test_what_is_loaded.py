"""Quick commands stay quick: what each of them loads is checked, because modules, not work, are what makes Python slow to start."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.program import PROGRAM, Program
from support.waiting import eventually

from minikube.host.system import architecture
from minikube.node import supervisor

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
    Path(minikube.environment["KUBECONFIG"]).write_text(KUBECONFIG)
    kubectl = minikube.home / "cache/linux" / architecture() / "v1.37.1/kubectl"
    kubectl.parent.mkdir(parents=True)
    kubectl.write_text("#!/bin/sh\nexit 0\n")
    kubectl.chmod(0o755)
    with supervised(machine.parent):
        done = subprocess.run(
            [sys.executable, "-s", "-E", "-S", "-X", "importtime", PROGRAM, *words],
            env=minikube.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "minikube.cli.parser" in loaded, done.stderr
    assert not HEAVY & loaded


KUBECONFIG = """\
apiVersion: v1
clusters:
- cluster:
    server: https://192.0.2.2:8443
  name: minikube
contexts:
- context:
    cluster: minikube
    user: minikube
  name: minikube
current-context: minikube
"""


@contextmanager
def supervised(machine: Path) -> Iterator[None]:
    """The machine's node runs, as far as a quick command can see: its supervisor answers."""
    (machine / "run").mkdir()
    metadata = {"name": "minikube", "control_socket": "run/control.sock", "log_directory": "log", "services": []}
    (machine / "node.json").write_text(json.dumps(metadata))
    with subprocess.Popen([sys.executable, "-I", "-S", supervisor.__file__, "node.json"], cwd=machine) as process:
        eventually((machine / "run/control.sock").exists, every=0.01)
        yield
        process.kill()
