"""A command that is killed in the middle of its work leaves nothing that the next one cannot handle."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from minikube.testing.subject import Box

MOMENTS = (0.0, 0.03, 0.1, 0.3)  # seconds into create


@pytest.fixture
def crashed(boxes: Callable[[], Box], environment: dict[str, str], request: pytest.FixtureRequest) -> Callable[[float], Box]:
    """A machine whose create was killed after so many seconds."""

    def make(seconds: float) -> Box:
        box = boxes()
        flags = request.config.getoption("--driver-flag")
        argv = [sys.executable, "-m", "minikube.testing.create", box.subject.definition.name, box.machine, *flags]
        process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"creating\n"
        time.sleep(seconds)
        process.kill()
        process.communicate(timeout=60)
        return box

    return make


@pytest.mark.parametrize("seconds", MOMENTS)
def test_create_after_a_crash_in_create(crashed: Callable[[float], Box], seconds: float) -> None:
    box = crashed(seconds)
    assert box.driver.state() in ("Nonexistent", "Stopped")
    box.create()
    assert box.driver.state() == "Stopped"
    assert box.up().run(["echo", "well"]).stdout == b"well\n"


@pytest.mark.parametrize("seconds", MOMENTS)
def test_delete_after_a_crash_in_create(crashed: Callable[[float], Box], seconds: float) -> None:
    box = crashed(seconds)
    box.driver.delete()
    assert box.driver.state() == "Nonexistent"
