"""Versions of what runs in a cluster's node."""

from __future__ import annotations

from minikube.cluster import existing

QUESTIONS = {
    "containerd": ["containerd", "--version"],
    "crictl": ["crictl", "--version"],
    "crun": ["crun", "--version"],
    "kubelet": ["kubelet", "--version"],
    "runc": ["runc", "--version"],
}


def versions(profile: str) -> dict[str, str]:
    """Component name to the first line of its own answer."""
    node = existing.running_node(profile)
    answers = {}
    for name, argv in QUESTIONS.items():
        lines = node.run(argv, timeout=10).stdout.decode(errors="replace").splitlines()
        answers[name] = lines[0].strip() if lines else "unknown"
    return answers
