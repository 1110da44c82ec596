"""A profile whose machine somebody removed: `start` says that it makes a new cluster, and says nothing where there was none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.program import Program

GONE = "a new cluster takes its place"


@pytest.fixture
def minikube(tmp_path: Path) -> Program:
    return Program(tmp_path)


def test_a_machine_that_was_removed_is_missed(minikube: Program) -> None:
    minikube.add_profile("minikube")
    done = minikube.inside("start", "--dry-run", "--force")
    assert GONE in done.stdout + done.stderr
    assert str(minikube.home / "machines/minikube") in done.stdout + done.stderr


def test_one_that_is_there_is_not(minikube: Program) -> None:
    minikube.add_profile("minikube")
    (minikube.home / "machines/minikube").mkdir(parents=True)
    done = minikube.inside("start", "--dry-run", "--force")
    assert GONE not in done.stdout + done.stderr


def test_one_that_never_came_to_be_is_not(minikube: Program) -> None:
    """A first start that was ended before it made anything."""
    file = minikube.add_profile("minikube")
    config = json.loads(file.read_text())
    config["Nodes"][0]["IP"] = ""
    file.write_text(json.dumps(config))
    done = minikube.inside("start", "--dry-run", "--force")
    assert GONE not in done.stdout + done.stderr
