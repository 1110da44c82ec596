"""The contract kit, run as driver authors run it, on the drivers of this clone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.minikube import CLONE


def kit(*words: str, path: tuple[Path, ...] = (), directory: Path) -> subprocess.CompletedProcess[str]:
    """Away from this clone's own pytest configuration. `-p` stands for the entry point that an installed minikube has."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (CLONE / "src", *path))), "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "minikube.testing.plugin", "-p", "no:cacheprovider"]
    argv += ["--pyargs", "minikube.testing.driver_contract", *words]
    return subprocess.run(argv, env=environment, cwd=directory, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.cluster
@pytest.mark.skipif(os.geteuid() != 0, reason="native nodes need root")
def test_the_native_driver_keeps_the_contract(tmp_path: Path) -> None:
    done = kit("--driver=native", directory=tmp_path)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


# A native driver with one thing wrong, and the tests that must see it.
MUTANTS = {
    "every command succeeds": ("run = lambda node, *a, **k: LocalNode.run(node, *a, **k)._replace(code=0)", "test_the_exit_code"),
    "input is lost": (
        "run = lambda node, argv, *, input=None, timeout=None: LocalNode.run(node, argv, timeout=timeout)",
        "test_input_arrives",
    ),
    "modes are lost": ("put = lambda node, files: LocalNode.put(node, {p: File(f.content) for p, f in files.items()})", "test_a_file_has"),
}
MUTANT = """
from minikube.drivers.definition import Definition
from minikube.drivers.localnode import LocalNode
from minikube.drivers.native.driver import NativeDriver
from minikube.drivers.native.node import NativeNode
from minikube.drivers.values import DriverStatus, File

class Node(NativeNode):
    {wrong}

class Driver(NativeDriver):
    name = "mutant"
    def node(self):
        found = super().node()
        found.__class__ = Node
        return found

DEFINITION = Definition("mutant", summary="wrong", make=lambda machine, own: Driver(machine), status=DriverStatus)
"""


@pytest.mark.cluster
@pytest.mark.skipif(os.geteuid() != 0, reason="native nodes need root")
@pytest.mark.parametrize("what", MUTANTS)
def test_the_kit_sees_what_is_wrong(tmp_path: Path, what: str) -> None:
    wrong, tests = MUTANTS[what]
    (tmp_path / "mutant.py").write_text(MUTANT.format(wrong=wrong))
    metadata = tmp_path / "mutant-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mutant\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[minikube.drivers]\nmutant = mutant:DEFINITION\n")
    done = kit("--driver=mutant", "-k", tests, "-x", path=(tmp_path,), directory=tmp_path)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout[-4000:]
    assert f"::{tests}" in done.stdout


def test_without_a_driver_it_says_how_to_name_one(tmp_path: Path) -> None:
    done = kit(directory=tmp_path)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--driver=NAME" in done.stdout + done.stderr


def test_nothing_of_the_product_imports_the_kit() -> None:
    users = [
        path
        for path in (CLONE / "src/minikube").rglob("*.py")
        if "minikube.testing" in path.read_text() and not path.is_relative_to(CLONE / "src/minikube/testing")
    ]
    assert [path.name for path in users] == ["base.py"]  # its docstring names the kit
