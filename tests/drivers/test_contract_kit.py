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
