"""Many `start`s at once, of several profiles in two homes: each ends in a defined state, and one that waits says for whom."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from e2e.conftest import not_ready
from support.minikube import Answer, Minikube, temporary_place
from support.nodeimage import fresh_name

from faults.table import TABLE

SMALL = "--memory=2300mb"


def at_once(clusters: list[Minikube], starts: int) -> list[tuple[Minikube, Answer]]:
    """Begin that many starts, going round the clusters, and wait for all."""
    chosen = [clusters[number % len(clusters)] for number in range(starts)]
    running = [cluster.begin("start", SMALL) for cluster in chosen]
    outputs = [process.communicate(timeout=900) for process in running]
    return [(cluster, Answer(process.returncode, *output)) for cluster, process, output in zip(chosen, running, outputs, strict=True)]


def own_ids(cluster: Minikube) -> range:
    """Users of the host that the node's are."""
    _, first, count = map(int, cluster.ssh("cat /proc/self/uid_map").split())
    return range(first, first + count)


@contextmanager
def odd_shell() -> Iterator[None]:
    """What commands inherit: few open files, and files that only their owner may read."""
    limits, mask = resource.getrlimit(resource.RLIMIT_NOFILE), os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, limits[1]))
    try:
        yield
    finally:
        os.umask(mask)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize(("profiles", "starts"), [(2, 4), pytest.param(4, 10, marks=pytest.mark.long)])
def test_starts_at_once(image: Path, profiles: int, starts: int) -> None:
    with ExitStack() as stack, TABLE.run(f"{starts} starts of {profiles} profiles in two homes at once"):
        places = [stack.enter_context(temporary_place()) for _ in range(2)]
        clusters = [Minikube(places[number % 2], fresh_name()) for number in range(profiles)]
        with odd_shell():
            answers = at_once(clusters, starts)
        assert [answer for _, answer in answers if answer.code != 0] == []
        for cluster in clusters:
            mine = [answer.stdout for started, answer in answers if started is cluster]
            waited = [text for text in mine if re.search(r"is in use by `minikube start` \(process \d+\)", text)]
            assert len(waited) >= len(mine) - 1, mine
            assert cluster.run("status").code == 0
            assert len(cluster.get("nodes")["items"]) == 1
            assert not_ready(cluster.get("pods", "-A")["items"]) == []
            limits = cluster.ssh("grep 'open files' /proc/1/limits; grep Umask /proc/$(pidof kubelet)/status").split()
            assert (limits[3], limits[-1]) == (limits[4], "0022")
            assert int(limits[3]) > 1024
        ids = sorted(map(own_ids, clusters), key=lambda own: own.start)
        assert all(one.stop <= other.start for one, other in pairwise(ids)), ids
        assert len({cluster.ok("ip") for cluster in clusters}) == profiles
