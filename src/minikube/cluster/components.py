"""Versions of what runs in a cluster's node."""

from __future__ import annotations

from minikube.cluster import existing

# Upstream's names, in its order, and the kubelet.
NAMES = ("buildctl", "containerd", "cri-dockerd", "crictl", "crio", "crun", "ctr", "docker", "dockerd", "kubelet", "podman", "runc")
MISSING = "error"


def versions(profile: str) -> dict[str, str]:
    """Component name to the first line of its own answer; upstream's word for a component that is not in the node."""
    node = existing.running_node(profile)
    script = "".join(f"printf '{name}='; {name} --version 2>/dev/null | head -n 1 | grep . || echo\n" for name in NAMES)
    lines = node.run(["/bin/sh", "-c", script], timeout=30).stdout.decode(errors="replace").splitlines()
    said = {name: answer.strip() for name, _, answer in (line.partition("=") for line in lines)}
    return {name: said.get(name) or MISSING for name in NAMES}
