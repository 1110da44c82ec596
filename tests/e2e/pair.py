"""Two clusters started at the same moment, one of them small and without a user namespace, and the other deleted again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from support import host
from support.minikube import Answer, Minikube, Place

SMALL_MB = 2300


class Pair(NamedTuple):
    kept: Minikube
    """Still running, with SMALL_MB of memory and --user-namespace=false."""
    doomed: Minikube
    """Started and deleted with `-o json`."""
    answers: list[Answer]
    addresses: list[str]
    pods: list[list[dict[str, Any]]]
    uids: list[str]
    signing_keys: list[str]
    join_tokens: list[str]
    deletion: Answer
    traces_of_deleted: dict[str, list[str]]


def make_pair(place: Place, names: tuple[str, str], node_image: Path) -> Pair:
    kept, doomed = (Minikube(place, name) for name in names)
    small = (f"--memory={SMALL_MB}mb", "--user-namespace=false")
    running = [kept.begin("start", *small), doomed.begin("start", "-o", "json")]
    outputs = [process.communicate(timeout=400) for process in running]
    answers = [Answer(process.returncode, *output) for process, output in zip(running, outputs, strict=True)]
    both = [minikube for minikube, answer in zip((kept, doomed), answers, strict=True) if answer.code == 0]
    return Pair(
        kept=kept,
        doomed=doomed,
        answers=answers,
        addresses=[minikube.ok("ip").strip() for minikube in both],
        pods=[minikube.get("pods", "-A")["items"] for minikube in both],
        uids=[minikube.get("namespace", "kube-system")["metadata"]["uid"] for minikube in both],
        signing_keys=[minikube.ssh("sha256sum < /var/lib/minikube/certs/sa.key") for minikube in both],
        join_tokens=[minikube.ssh("kubeadm token list -o jsonpath='{.token}'") for minikube in both],
        deletion=doomed.run("delete", "-o", "json"),
        traces_of_deleted=host.traces(doomed, node_image),
    )
