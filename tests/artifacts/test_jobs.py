"""Jobs run in an order that respects their needs, the most urgent first, and stop together."""

import threading
import time
from pathlib import Path

import pytest

from minikube.artifacts.followed import Stopped, follow
from minikube.artifacts.jobs import Job, run_jobs


def test_needs_are_done_first_and_the_longest_path_starts() -> None:
    order: list[str] = []

    def job(name: str, *needs: str, seconds: float = 1) -> Job:
        return Job(name, lambda: order.append(name), needs, seconds)

    run_jobs([job("small"), job("last", "long", seconds=1), job("long", "not part of this run", seconds=50)], at_once=1)
    assert order == ["long", "small", "last"]


def test_light_jobs_do_not_take_a_place() -> None:
    both = threading.Barrier(2, timeout=10)
    run_jobs([Job("heavy", both.wait), Job("light", both.wait, light=True)], at_once=1)


def test_a_failure_ends_running_tools_and_starts_nothing_more(tmp_path: Path) -> None:
    started: list[str] = []

    def long_tool() -> None:
        follow(["sleep", "60"], env=None, cwd=tmp_path, log=tmp_path / "log", on_line=lambda _line: None)

    def fail() -> None:
        while not (tmp_path / "log").exists():
            time.sleep(0.01)
        time.sleep(0.1)
        raise KeyError("this one")

    began = time.monotonic()
    with pytest.raises(KeyError, match="this one"):
        run_jobs([Job("tool", long_tool), Job("fail", fail), Job("never", lambda: started.append("never"), needs=("fail",))], at_once=2)
    assert started == []
    assert time.monotonic() - began < 50
    run_jobs([Job("again", lambda: started.append("again"))], at_once=2)
    assert started == ["again"]


def test_a_circle_is_an_error_not_a_hang() -> None:
    with pytest.raises(ValueError, match="wait for each other"):
        run_jobs([Job("a", print, ("b",)), Job("b", print, ("a",))], at_once=2)


def test_tools_started_while_stopping_do_not_run(tmp_path: Path) -> None:
    seen: list[type[BaseException]] = []

    def late() -> None:
        time.sleep(0.3)
        try:
            follow(["true"], env=None, cwd=tmp_path, log=tmp_path / "log", on_line=lambda _line: None)
        except Stopped as error:
            seen.append(type(error))
            raise

    def fail() -> None:
        raise KeyError("first")

    with pytest.raises(KeyError):
        run_jobs([Job("late", late), Job("fail", fail)], at_once=2)
    assert seen == [Stopped]
