"""Freeze a cluster where it stands, and let it go on: containers through the kernel's freezer, the kubelet through the supervisor."""

from __future__ import annotations

from minikube.cluster import existing

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Sequence

    from minikube.drivers.base import Node
    from minikube.output.report import Report
    from minikube.runtimes.containers import Container

TRIES = 5  # a container may end between the question which ones there are and the order to freeze it


def pause(profile: str, namespaces: Sequence[str] | None, report: Report) -> None:
    """Freeze the containers of these namespaces (None: of all). What is frozen already stays so."""
    from pathlib import Path

    from minikube.profiles.locks import profile_lock
    from minikube.profiles.paths import pause_hint

    existing.running_node(profile)
    with profile_lock(profile, command="pause", on_wait=report.info):
        node = existing.running_node(profile)
        report.step("Pausing", f"Pausing node {profile} ... ", style="pause")
        Path(pause_hint(profile)).touch()
        # First: a kubelet would start containers anew that no longer answer its probes.
        node.stop_services("kubelet")
        frozen = _apply(node, "pause", "running", namespaces)
    report.step("Done", _words("Paused", len(frozen), namespaces), style="unpause")


def unpause(profile: str, namespaces: Sequence[str] | None, report: Report, *, all_others: bool = False) -> None:
    """Let the containers of these namespaces (None: of all) go on; with `all_others`, so do those that `pause -A` froze besides."""
    from pathlib import Path

    from minikube.profiles.locks import profile_lock
    from minikube.profiles.paths import pause_hint

    existing.running_node(profile)
    with profile_lock(profile, command="unpause", on_wait=report.info):
        node = existing.running_node(profile)
        report.step("Unpausing", f"Unpausing node {profile} ... ", style="pause")
        thawed = _apply(node, "resume", "paused", None if all_others else namespaces)
        # As long as anything is frozen there is no kubelet: it would try to end what cannot end, and nobody could tell a paused cluster.
        if not any(container.status == "paused" for container in _containers(node)):
            node.start_services("kubelet")
            Path(pause_hint(profile)).unlink(missing_ok=True)
    if namespaces is not None:
        namespaces = [*namespaces, *sorted({container.namespace for container in thawed} - set(namespaces))]
    report.step("Done", _words("Unpaused", len(thawed), namespaces), style="pause")


def wake(node: Node) -> int:
    """Undo whatever a pause, finished or not, did to a running node; how many containers were frozen."""
    if node.services().get("kubelet", {}).get("state") != "stopped":
        return 0
    thawed = _apply(node, "resume", "paused", None)
    node.start_services("kubelet")
    return len(thawed)


def is_paused(node: Node) -> bool:
    """Whether the API server is frozen. Costs next to nothing while the kubelet runs: who pauses stops that first."""
    if node.services().get("kubelet", {}).get("state") != "stopped":
        return False
    return any(container.name == "kube-apiserver" and container.status == "paused" for container in _containers(node))


def _apply(node: Node, verb: str, status: str, namespaces: Sequence[str] | None) -> list[Container]:
    from minikube.output.reason import Reason
    from minikube.runtimes.containers import each

    done: list[Container] = []
    for _ in range(TRIES):
        chosen = [
            container
            for container in _containers(node)
            if container.status == status and (namespaces is None or container.namespace in namespaces)
        ]
        if not chosen:
            return done
        result = node.run(each(verb, [container.id for container in chosen]), timeout=60)
        after = {container.id: container.status for container in _containers(node)}
        done += [container for container in chosen if after.get(container.id, status) != status]
        error = result.stderr.decode(errors="replace").strip()
        if result.code == 0:
            return done
    raise Reason("GUEST_PAUSE" if verb == "pause" else "GUEST_UNPAUSE", f"crun could not {verb} every container: {error[-1000:]}")


def _containers(node: Node) -> list[Container]:
    from minikube.output.reason import Reason
    from minikube.runtimes.containers import LIST, read_list

    result = node.run(LIST, timeout=60)
    if result.code:
        error = result.stderr.decode(errors="replace")[-1000:]
        raise Reason("GUEST_CHECK_PAUSED", f"crun does not say which containers there are: {error}")
    try:
        return read_list(result.stdout)
    except ValueError as error:
        raise Reason("GUEST_CHECK_PAUSED", f"crun does not say which containers there are: {error!s:.300}") from error


def _words(done: str, count: int, namespaces: Sequence[str] | None) -> str:
    return f"{done} {count} containers" + ("" if namespaces is None else f" in: {', '.join(namespaces)}")
