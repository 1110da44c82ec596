"""`minikube sync`: what `start` does with ~/.minikube/files and ~/.minikube/certs, for a node that runs and goes on running."""

from __future__ import annotations

from minikube.cluster import existing, usersfiles
from minikube.drivers.base import Node
from minikube.output.report import Report
from minikube.profiles.locks import profile_lock


def sync(profile: str, report: Report) -> None:
    existing.running_node(profile)
    with profile_lock(profile, command="sync", on_wait=report.info):
        node = existing.running_node(profile)
        count, trusts_others = bring(node, report)
    report.info(f'Synced {count} file{"" if count == 1 else "s"} to node "{profile}"', style="check")
    if trusts_others:
        report.info("Restarted containerd to apply the new trusted certificates", style="permissions")


def bring(node: Node, report: Report) -> tuple[int, bool]:
    """Everything into a running node: how many files, and whether it trusts other certificates now."""
    count = usersfiles.put_late(node, usersfiles.collect(node, report.warning), report.warning)
    changed = usersfiles.trust(node, report.warning)
    usersfiles.link_certificates(node, report.warning)
    if changed:
        # It read the old ones when it started, once and for all; containers do not notice.
        node.restart_services("containerd")
        node.wait_for_services("containerd")
    return count, changed
