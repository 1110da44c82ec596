"""The logs of a cluster, section by section."""

from __future__ import annotations

from collections.abc import Iterator

from minikube.cluster import existing
from minikube.drivers.base import Node

CONTROL_PLANE = ("kube-apiserver", "etcd", "coredns", "kube-scheduler", "kube-proxy", "kube-controller-manager", "storage-provisioner")
SERVICES = ("containerd", "kubelet")
# Words that mark a line as worth a look for `--problems`.
PROBLEMS = ("panic", "fatal", "error", "failed", "unable to", "denied", "refused", "oom")


def collect(profile: str, *, length: int = 60, node: str = "", problems: bool = False) -> Iterator[str]:
    """Lines for the terminal: container logs, services, the node's own events."""
    target = existing.running_node(profile, node)
    for title, argv in _sections(length):
        yield f"==> {title} <=="
        for line in _output(target, argv):
            if not problems or any(word in line.lower() for word in PROBLEMS):
                yield line
        yield ""


def follow(profile: str, *, length: int = 60) -> int:
    """Show the kubelet's log as it grows, until interrupted."""
    node = existing.running_node(profile)
    return node.attach(["/usr/bin/tail", "-n", str(length), "-F", *(f"/var/log/minikube/{name}.log" for name in SERVICES)], tty=False)


def _sections(length: int) -> Iterator[tuple[str, list[str]]]:
    yield "container status", ["crictl", "ps", "-a"]
    for name in CONTROL_PLANE:
        # Container logs are files below /var/log/pods; asking the runtime for ids first would cost a process each.
        script = f"tail -q -n {length} $(ls -t /var/log/pods/kube-system_{name}*/*/*.log 2>/dev/null | head -n 2) /dev/null"
        yield name, ["/bin/sh", "-c", script]
    for service in SERVICES:
        yield service, ["/usr/bin/tail", "-n", str(length), f"/var/log/minikube/{service}.log"]
    kubectl = "KUBECONFIG=/etc/kubernetes/super-admin.conf kubectl describe nodes"
    yield "describe nodes", ["/bin/sh", "-c", f"{kubectl} 2>&1"]


def _output(node: Node, argv: list[str]) -> list[str]:
    result = node.run(argv, timeout=30)
    return (result.stdout + result.stderr).decode(errors="replace").splitlines()
