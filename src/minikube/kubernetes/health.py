"""Waiting until a cluster is what `--wait` asks for, and saying what is missing if it does not come."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from minikube.kubernetes.api import Api, ApiError, ApiUnreachable
from minikube.kubernetes.crashes import Watchdog, why_unsteady
from minikube.kubernetes.probes import unasked
from minikube.output.reason import Reason

COMPONENTS = ("apiserver", "system_pods", "default_sa", "apps_running", "node_ready", "kubelet", "extra")
DEFAULT_COMPONENTS = ("apiserver", "system_pods")

# Upstream's list of what makes a cluster: label of the pods, name in messages.
SYSTEM_APPS = {
    "kube-dns": ("k8s-app", "kube-dns"),
    "etcd": ("component", "etcd"),
    "kube-apiserver": ("component", "kube-apiserver"),
    "kube-controller-manager": ("component", "kube-controller-manager"),
    "kube-proxy": ("k8s-app", "kube-proxy"),
    "kube-scheduler": ("component", "kube-scheduler"),
}

_INTERVAL = 0.05
_LOOK_AGAIN_SECONDS = 2.0  # at pods that nothing has been told of
_LATELY_SECONDS = 60.0
_SYSTEM_PODS = "/api/v1/namespaces/kube-system/pods"

Pod = dict[str, Any]
# A check gives an empty string once it is satisfied, else what is still missing.
Check = Callable[[Api], str]


def parse_wait(value: str | Iterable[str]) -> dict[str, bool]:
    """`--wait` as upstream reads it: component names, or `all`/`true`, or `none`/`false`."""
    names = [part.strip() for text in ([value] if isinstance(value, str) else value) for part in text.split(",") if part.strip()]
    if names in (["all"], ["true"]):
        return dict.fromkeys(COMPONENTS, True)
    if names in (["none"], ["false"]):
        return dict.fromkeys(COMPONENTS, False)
    unknown = [name for name in names if name not in COMPONENTS]
    if unknown:
        raise Reason(
            "MK_USAGE",
            f'--wait: "{unknown[0]}" is not something to wait for',
            advice=f"Use a list of {', '.join(COMPONENTS)}; or all, or none.",
        )
    return dict.fromkeys(names or DEFAULT_COMPONENTS, True)


def wait_for(
    api: Api,
    components: dict[str, bool],
    *,
    node_name: str,
    version: str,
    deadline: float,
    health: str = "/healthz",
    kubelet_runs: Callable[[], bool] | None = None,
) -> None:
    """Wait for every component asked for, in upstream's order; GUEST_START with the cause once `deadline` (monotonic) has passed.

    `health` is what the API server is asked for.
    """
    checks: dict[str, Check] = {
        "apiserver": lambda api: _api_server(api, version, health),
        "system_pods": _system_pods,
        "default_sa": _default_service_account,
        "apps_running": lambda api: _apps(api, ready=False),
        "node_ready": lambda api: _node_ready(api, node_name),
        "kubelet": lambda api: "" if kubelet_runs is None or kubelet_runs() else "the kubelet is not running",
        "extra": lambda api: _apps(api, ready=True),
    }
    for component, check in checks.items():
        if components.get(component):
            wait_until(api, check, what=component, deadline=deadline)


def wait_until(api: Api, check: Check, *, what: str, deadline: float) -> None:
    """Ask until a check is satisfied."""
    missing = ""
    while True:
        try:
            missing = check(api)
            if not missing:
                return
        except ApiUnreachable as error:
            missing = f"the API server does not answer ({error})"
        except ApiError as error:
            missing = f"the API server says: {error}"
        if time.monotonic() >= deadline:
            raise Reason(
                "GUEST_START",
                f"Timed out waiting for {what}: {missing}",
                advice="See what the components say with: minikube logs. More time: --wait-timeout=10m",
            )
        time.sleep(_INTERVAL)


def wait_pods_ready(
    api: Api,
    *,
    deadline: float,
    node_name: str,
    started_after: float = 0,
    apps: Mapping[str, tuple[str, str]] = SYSTEM_APPS,
    told: Callable[[list[Pod]], object] | None = None,
    look: Callable[[], object] = lambda: None,
) -> None:
    """Wait until every pod of kube-system is Ready, and each of the apps (by a label of its pods) has one.

    After a restart the API still tells of the time before: only containers that started after that moment (unix time) count, and a
    kubelet that finds a container running calls it ready until it has asked it. So it is asked whether it has, and for its node.
    `told` hears which pods are not Ready, once all are there, whenever that may have changed; `look` is called every few seconds. Both, and
    a pod that waiting does not help, may end it.
    """
    watchdog = Watchdog(api, started_after)
    since = started_after or time.time() - _LATELY_SECONDS

    def missing(known: Collection[Pod]) -> str:
        pods = [pod for pod in known if not pod["metadata"].get("deletionTimestamp")]  # one that goes has its place taken by another
        absent = [f"{app}: no pod" for app, selector in apps.items() if not any(_has_label(pod, selector) for pod in pods)]
        reasons = {
            pod["metadata"]["name"]: why_not_ready(pod) or _why_stale(pod, started_after) or why_unsteady(pod, since) for pod in pods
        }
        watchdog.look(pods)
        if told and not absent:
            told([pod for pod in pods if reasons[pod["metadata"]["name"]]])
        return "; ".join([*absent, *filter(None, reasons.values())])

    def check(api: Api) -> str:
        """Told of changes: asking again and again takes CPU from those that are waited for."""
        look()
        everything = api.get(_SYSTEM_PODS)
        until = min(deadline, time.monotonic() + _LOOK_AGAIN_SECONDS)
        pods = {pod["metadata"]["name"]: pod for pod in everything["items"]}
        if missing(pods.values()):
            for kind, pod in api.watch(_SYSTEM_PODS, deadline=until, resourceVersion=everything["metadata"]["resourceVersion"]):
                pods[pod["metadata"]["name"]] = pod
                if kind == "DELETED":
                    del pods[pod["metadata"]["name"]]
                if not missing(pods.values()):
                    break
        return missing(pods.values()) or (_restarted(api, node_name, pods.values()) if started_after else "")

    wait_until(api, check, what="the pods of kube-system", deadline=deadline)


def unready(api: Api) -> str:
    """Which pods of kube-system are not Ready at this moment."""
    return "; ".join(filter(None, (why_not_ready(pod) for pod in api.list(_SYSTEM_PODS) if not pod["metadata"].get("deletionTimestamp"))))


def _restarted(api: Api, node_name: str, pods: Iterable[Pod]) -> str:
    """A node that is called not ready takes its pods with it, a moment later."""
    return _node_ready(api, node_name) or unasked(api, node_name, pods)


def wait_rolled_out(api: Api, *, deadline: float) -> None:
    """Wait until kube-proxy, CoreDNS and the provisioner run as their objects, which have changed, say now."""

    def check(api: Api) -> str:
        proxy = api.get("/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy")
        deployments = [api.get(f"/apis/apps/v1/namespaces/kube-system/deployments/{name}") for name in ("coredns", "storage-provisioner")]
        done = {"kube-proxy": _count(proxy, "updatedNumberScheduled") >= _count(proxy, "desiredNumberScheduled")}
        for obj in deployments:
            updated = _count(obj, "updatedReplicas") == _count(obj, "replicas") >= int(obj["spec"].get("replicas", 1))
            done[obj["metadata"]["name"]] = updated
        seen = {
            obj["metadata"]["name"]: _count(obj, "observedGeneration") >= obj["metadata"]["generation"] for obj in (proxy, *deployments)
        }
        return ", ".join(f"{name} is being replaced" for name in done if not (done[name] and seen[name]))

    wait_until(api, check, what="the new system pods", deadline=deadline)


def _count(obj: dict[str, Any], field: str) -> int:
    return int(obj.get("status", {}).get(field) or 0)


def why_not_ready(pod: dict[str, Any]) -> str:
    """Why a pod is not Ready in one line, empty if it is (or has done its work)."""
    status = pod.get("status", {})
    if status.get("phase") == "Succeeded" or _condition(status, "Ready").get("status") == "True":
        return ""
    name = pod["metadata"]["name"]
    for container in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        state = container.get("state", {})
        stopped = state.get("waiting") or state.get("terminated")
        if stopped:
            detail = stopped.get("message", "")
            return f"pod {name}: {container['name']} is {stopped.get('reason', 'not running')}" + (f" ({detail})" if detail else "")
    for kind in ("PodScheduled", "Ready"):
        condition = _condition(status, kind)
        if condition.get("status") == "False":
            why = condition.get("message") or condition.get("reason") or f"not {kind}"
            return f"pod {name}: {why}"
    return f"pod {name}: {status.get('phase', 'Pending')}"


def _api_server(api: Api, version: str, path: str) -> str:
    if not api.is_ready(path):
        return "the API server is not healthy"
    found = api.get("/version").get("gitVersion", "")
    return "" if found == version else f"the API server is {found}, not {version}"


def _system_pods(api: Api) -> str:
    pods = api.list(_SYSTEM_PODS)
    return "" if len(pods) >= 2 else f"{len(pods)} pods in kube-system"


def _default_service_account(api: Api) -> str:
    return "" if api.find("/api/v1/namespaces/default/serviceaccounts/default") else "the service account default/default is not there"


def _node_ready(api: Api, name: str) -> str:
    node = api.find(f"/api/v1/nodes/{name}")
    if node is None:
        return f"the node {name} has not registered"
    ready = _condition(node.get("status", {}), "Ready")
    return "" if ready.get("status") == "True" else f"the node {name}: {ready.get('message') or 'not Ready'}"


def _apps(api: Api, *, ready: bool) -> str:
    pods = api.list(_SYSTEM_PODS)
    missing = []
    for app, selector in SYSTEM_APPS.items():
        own = [pod for pod in pods if _has_label(pod, selector)]
        if not own:
            missing.append(f"{app}: no pod")
        elif ready:
            missing += filter(None, map(why_not_ready, own))
        elif not any(pod.get("status", {}).get("phase") == "Running" for pod in own):
            missing.append(why_not_ready(own[0]) or f"{app}: not running")
    return "; ".join(missing)


def _has_label(pod: dict[str, Any], selector: tuple[str, str]) -> bool:
    label, value = selector
    return bool(pod["metadata"].get("labels", {}).get(label) == value)


def _why_stale(pod: Pod, started_after: float) -> str:
    """Whether the API tells of containers from before; times there are whole seconds."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started_after))
    running = (container.get("state", {}).get("running") for container in pod.get("status", {}).get("containerStatuses", ()))
    stale = any(state["startedAt"] < moment for state in running if state)
    return f"pod {pod['metadata']['name']} has not been started again" if stale else ""


def _condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    return next((one for one in status.get("conditions", ()) if one.get("type") == kind), {})
