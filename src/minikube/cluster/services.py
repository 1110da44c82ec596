"""What runs in a node besides containers: the supervisor's metadata."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from minikube.cluster.newimages import import_script
from minikube.kubernetes.clusterspec import (
    CERTIFICATES_DIRECTORY,
    CONTAINERD_SOCKET,
    ETCD_DIRECTORY,
    KUBERNETES_DIRECTORY,
    MANIFESTS_DIRECTORY,
    SEED_DIRECTORY,
    ClusterSpec,
)
from minikube.kubernetes.healthz import WELL
from minikube.kubernetes.hostusers import PROGRAM_DIRECTORY
from minikube.kubernetes.kubeadm import SMALL, write_files_command
from minikube.kubernetes.kubelet import kubelet_command
from minikube.kubernetes.nodeaccounts import ETCD_ID
from minikube.node.forerunners import HELD_BACK

API_DOOR = "/etc/minikube/apidoor.py"
RENEWAL = "/etc/minikube/renewal.py"
FORERUNNERS = "/etc/minikube/forerunners.py"
KEPT = "/var/lib/minikube/forerunners.json"
KUBELET_CERTIFICATES = "/var/lib/kubelet/pki/kubelet-client-*"
PROGRESS = "/run/minikube-api-progress"
PATH = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"}


# Each has dozens of timers for its own housekeeping; not the runtime: containers would inherit what it gets.
UNHURRIED = dict.fromkeys(("kubelet", "kube-apiserver", "kube-proxy", "coredns"), 50)
# They hear of everything through watches; their timers look for volumes to attach, ten times a second, and try again what failed.
UNHURRIED |= dict.fromkeys(HELD_BACK, 200)
# Nobody waits for a timer of these: etcd counts time for leaders that may go missing, the provisioner looks for work it is told of anyway.
UNHURRIED |= dict.fromkeys(("etcd", "storage-provisioner"), 500)
YOUNG_SECONDS = 0.85  # it counts a second from a tenth of one later, but looks at volumes first, for a third
USUAL_CERTIFICATES = f"{KUBERNETES_DIRECTORY}/pki"
WAITING_ROOM = f"{KUBERNETES_DIRECTORY}/held-back"


def metadata(
    spec: ClusterSpec,
    *,
    setup: Sequence[dict[str, Any]],
    write_manifests: bool,
    seed_database: bool,
    import_images: bool = False,
    proxies: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Containerd and the kubelet; kubeadm writes the manifests of a new or changed cluster while containerd starts.

    `proxies` is what containerd pulls images through, as environment variables.
    """
    socket = CONTAINERD_SOCKET.removeprefix("unix://")
    services: list[dict[str, Any]] = [
        {"name": "door", "kind": "oneshot", "argv": _door(spec, new=seed_database), "env": PATH},
        {
            "name": "containerd",
            "argv": ["containerd", "--config", "/etc/containerd/config.toml"],
            "env": {**PATH, **proxies, **(SMALL if spec.released else {})},  # its shims inherit that
            "ready": {"socket": socket},
        },
    ]
    services.append(
        {"name": "manifests", "kind": "oneshot", "argv": ["/bin/sh", "-c", _manifests(spec, write=write_manifests)], "env": PATH}
    )
    before_kubelet = ["containerd", "manifests", f"{KUBERNETES_DIRECTORY}/kubelet.conf"]
    if not write_manifests:
        services.append({"name": "forerunners", "kind": "oneshot", "argv": run_forerunners(), "env": PATH, "after": ["manifests"]})
        before_kubelet = [*before_kubelet, "forerunners"]
    if import_images:
        services.append(
            {"name": "images", "kind": "oneshot", "argv": ["/bin/sh", "-c", import_script()], "env": PATH, "after": ["containerd"]}
        )
        before_kubelet.append("images")
    kubelet_path = {"PATH": f"{PATH['PATH']}:{PROGRAM_DIRECTORY}"}
    services.append({"name": "kubelet", "argv": kubelet_command(spec), "env": kubelet_path, "after": before_kubelet})
    services.append(
        {"name": "controllers", "kind": "oneshot", "argv": ["/bin/bash", "-c", _controllers(spec)], "env": PATH, "after": ["kubelet"]}
    )
    if seed_database:
        services.append({"name": "seed", "kind": "oneshot", "argv": ["/bin/bash", "-c", _seed()], "env": PATH, "after": ["manifests"]})
    services.append(
        {
            "name": "renewal",
            "kind": "oneshot",
            "argv": ["python3", "-I", "-S", RENEWAL, CERTIFICATES_DIRECTORY, KUBERNETES_DIRECTORY, str(spec.certificate_seconds)],
            "env": PATH,
            "after": ["controllers"],  # `start` has just looked at them: a booting node has better use for its CPU
            # Often enough for a machine that was asleep when it was due, and for certificates of minutes.
            "every": min(3600.0, max(5.0, spec.certificate_seconds / 6)),
        }
    )
    return {
        "name": spec.node_name,
        "setup": list(setup),
        "services": services,
        # Containers end before the runtime that holds them; etcd after its clients: it closes cleanly only once nobody asks any more.
        # What forerunners.py has begun to remove is removed meanwhile.
        "drain_before": ["containerd"],
        "drain_last": ["etcd", "crictl"],
        # It would wait for more than a second, for connections to itself. What it knows is in etcd.
        "drain_briefly": ["kube-apiserver"],
        "unhurried": UNHURRIED,
    }


def keep_forerunners() -> list[str]:
    """For the next start: what the cluster's own pods are, and how far its API server had come a moment before it was well."""
    return ["python3", "-I", "-S", FORERUNNERS, "keep", KEPT, MANIFESTS_DIRECTORY, PROGRESS]


def run_forerunners() -> list[str]:
    return [FORERUNNERS, "run", KEPT, MANIFESTS_DIRECTORY, WAITING_ROOM, CONTAINERD_SOCKET.removeprefix("unix://")]


def _door(spec: ClusterSpec, *, new: bool) -> list[str]:
    return [API_DOOR, str(spec.port), WELL, PROGRESS, *([] if new else ["again"])]


def _manifests(spec: ClusterSpec, *, write: bool) -> str:
    """Have kubeadm write the control plane's manifests if need be, and hold the controllers' back."""
    made = [f"mkdir -p {WAITING_ROOM}", _hand_over()]
    if write:
        # What was kept was for others. The kubelet's own certificate may be of another authority: it begins with kubelet.conf's again.
        made += [f"rm -f {KEPT} {KUBELET_CERTIFICATES}", shlex.join(write_files_command(spec))]
        # Where tools look for certificates; and the owner that the CIS benchmark wants. etcd runs as root in its container.
        made += [f"ln -sfn {CERTIFICATES_DIRECTORY} {USUAL_CERTIFICATES}", f"chown {ETCD_ID}:{ETCD_ID} {ETCD_DIRECTORY}"]
    return " && ".join([*made, _move(MANIFESTS_DIRECTORY, WAITING_ROOM, *HELD_BACK)])


def _hand_over() -> str:
    """Everything that was held back."""
    return _move(WAITING_ROOM, MANIFESTS_DIRECTORY, "*")


def _move(source: str, target: str, *names: str) -> str:
    """Those that are there."""
    return f"for file in {' '.join(f'{source}/{name}.yaml' for name in names)}; do [ ! -e $file ] || mv $file {target}/; done"


def _seed() -> str:
    """Give etcd its first content as soon as it answers, before the API server has begun to create it object by object."""
    certificates = f"{CERTIFICATES_DIRECTORY}/etcd"
    identity = f"--cacert {certificates}/ca.crt --cert {certificates}/healthcheck-client.crt --key {certificates}/healthcheck-client.key"
    put = f'curl --silent --fail --max-time 5 {identity} --data @"$file" --output /dev/null https://127.0.0.1:2379/v3/kv/txn'
    attempt = f"for _ in {{1..500}}; do {put} && break; sleep 0.02; done"
    return f"{_wait_for_port(2379)}; for file in {SEED_DIRECTORY}/*.json; do {attempt}; done; rm -r {SEED_DIRECTORY}"


def _controllers(spec: ClusterSpec) -> str:
    """Let the kubelet have what was held back once the API server answers, whatever it says.

    It opens its port long before it serves: the question then simply waits for its answer. A kubelet that has just started lets its
    questions to a pod wait for up to a second, so that is not the moment to show it pods that have good answers already.
    """
    ask = f"curl --silent --insecure --max-time 60 --output /dev/null https://127.0.0.1:{spec.port}/livez/ping"
    return f"sleep {YOUNG_SECONDS} & {_wait_for_port(spec.port)}; {ask}; wait; {_hand_over()}"


def _wait_for_port(port: int) -> str:
    """Wait, for two minutes at most, until somebody listens. Within one process: CPU is what a starting cluster lacks."""
    return f"exec 9<> <(:); for _ in {{1..6000}}; do : 2>/dev/null </dev/tcp/127.0.0.1/{port} && break; read -rt 0.02 -u 9; done"
