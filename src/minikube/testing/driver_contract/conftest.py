"""A home of its own for the tests, and machines that are deleted whatever happens."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator

import pytest

from minikube.drivers.base import Node
from minikube.drivers.health import status_of
from minikube.testing.subject import Box, Subject


@pytest.fixture(scope="session")
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    """The driver under test. Its machines are in a home that only these tests use; components come from the user's own store."""
    name = request.config.getoption("--minikube-driver") or request.config.getoption("--driver", default=None)
    if not name:
        pytest.exit("say which driver: --driver=NAME", returncode=pytest.ExitCode.USAGE_ERROR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINIKUBE_HOME", str(tmp_path_factory.mktemp("home")))
        chosen = Subject(str(name), request.config.getoption("--driver-flag"))
        status = status_of(chosen.definition)
        if not (status.installed and status.healthy):
            pytest.exit(f"the driver {name} cannot work here: {status.reason} {status.fix}", returncode=1)
        yield chosen


@pytest.fixture
def boxes(subject: Subject) -> Iterator[Callable[[], Box]]:
    """Makes machines that are deleted at the end of the test."""
    made: list[Box] = []

    def make() -> Box:
        made.append(Box(subject))
        return made[-1]

    yield make
    for box in made:
        box.driver.delete()


@pytest.fixture
def box(boxes: Callable[[], Box]) -> Box:
    """A machine of this test's own; nothing of it is made yet."""
    return boxes()


@pytest.fixture(scope="module")
def running(subject: Subject) -> Iterator[Box]:
    """A running machine that the tests of one file share."""
    shared = Box(subject)
    try:
        shared.up()
        yield shared
    finally:
        shared.driver.delete()


@pytest.fixture
def node(running: Box) -> Node:
    return running.node


@pytest.fixture(scope="session")
def environment(subject: Subject) -> dict[str, str]:
    """For processes that tests start: this home, and the modules that this process finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
