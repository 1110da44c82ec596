"""A program of a node that does all it did, but for one thing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from support.minikube import Minikube


@contextmanager
def without_verb(cluster: Minikube, program: str, verb: str) -> Iterator[str]:
    """As long as the block lasts, `program … verb …` fails in the node; gives what it says then."""
    says = f"no {verb} today"
    with instead_of(cluster, program, verb, f'echo "{says}" >&2; exit 1'):
        yield says


@contextmanager
def instead_of(cluster: Minikube, program: str, verb: str, commands: str) -> Iterator[None]:
    """As long as the block lasts, `program … verb …` does something else in the node."""
    script = f'#!/bin/sh\ncase " $* " in *" {verb} "*) {commands}; exit;; esac\nexec /root/{program}-before "$@"\n'
    cluster.ssh(
        f"set -e; place=$(command -v {program}); cp $place /root/{program}-before; cat > /root/{program}-now;"
        f" chmod +x /root/{program}-now; mount --bind /root/{program}-now $place",
        input=script,
    )
    try:
        yield
    finally:
        cluster.ssh(f"umount $(command -v {program}); rm /root/{program}-*")
