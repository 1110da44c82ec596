"""Pieces of work with an order between them, run on threads: the one the others wait for longest goes first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

from minikube.artifacts import followed


class Job(NamedTuple):
    """`needs` names jobs that must have ended; names that are not part of the run count as done."""

    name: str
    run: Callable[[], object]
    needs: tuple[str, ...] = ()
    seconds: float = 1.0
    light: bool = False
    """Waits for the network more than it computes: does not take one of the places."""


def run_jobs(jobs: Iterable[Job], *, at_once: int) -> None:
    """Run them all. The first failure (or Ctrl-C) ends the others and is raised."""
    waiting = {job.name: job for job in jobs}
    urgency = _urgency(waiting)
    running: dict[str, threading.Thread] = {}
    failures: list[BaseException] = []
    changed = threading.Condition()
    followed.start_afresh()

    def work(job: Job) -> None:
        try:
            job.run()
        except BaseException as error:
            with changed:
                failures.append(error)
        finally:
            with changed:
                del running[job.name]
                changed.notify_all()

    def next_job() -> Job | None:
        heavy = sum(not started[name].light for name in running)
        ready = [job for job in waiting.values() if not any(need in waiting or need in running for need in job.needs)]
        ready = [job for job in ready if job.light or heavy < at_once]
        return max(ready, key=lambda job: (job.light, urgency[job.name]), default=None)

    started: dict[str, Job] = {}
    with changed:
        try:
            while (waiting and not failures) or running:
                job = None if failures else next_job()
                if job:
                    del waiting[job.name]
                    started[job.name] = job
                    running[job.name] = threading.Thread(target=work, args=(job,), name=job.name, daemon=True)
                    running[job.name].start()
                    continue
                if failures:
                    followed.stop_all()
                elif not running:
                    raise ValueError(f"these wait for each other: {', '.join(waiting)}")
                # With a time limit Python sees Ctrl-C while it waits.
                changed.wait(timeout=0.5)
        except BaseException:
            followed.stop_all()
            # A moment for the others to end, so that their last words do not come after the error.
            changed.wait_for(lambda: not running, timeout=3)
            raise
    if failures:
        raise next((error for error in failures if not isinstance(error, followed.Stopped)), failures[0])


def _urgency(jobs: dict[str, Job]) -> dict[str, float]:
    """Seconds from a job's start to the end of everything that waits for it."""
    followers: dict[str, list[str]] = {name: [] for name in jobs}
    for job in jobs.values():
        for need in job.needs:
            if need in followers:
                followers[need].append(job.name)
    known: dict[str, float] = {}

    def of(name: str, path: tuple[str, ...]) -> float:
        if name in path:
            raise ValueError(f"these wait for each other: {', '.join(path)}")
        if name not in known:
            known[name] = jobs[name].seconds + max((of(follower, (*path, name)) for follower in followers[name]), default=0.0)
        return known[name]

    for name in jobs:
        of(name, ())
    return known
