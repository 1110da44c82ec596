"""Addons of a cluster: what is enabled is there and runs, what is disabled is not there."""

from __future__ import annotations

import time

from minikube.addons import storage
from minikube.cluster import context, existing
from minikube.kubernetes import health, sharedshims
from minikube.kubernetes.api import Api, ApiError, ApiUnreachable, Object, object_path
from minikube.output import notready
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles.clusterconfig import ClusterConfig
from minikube.profiles.locks import profile_lock
from minikube.profiles.profile import load, save

PATIENCE_SECONDS = 120


def enable(profile: str, name: str, report: Report) -> None:
    """Returns once the addon runs; where the cluster is stopped, the next start enables it."""
    _switch(profile, name, report, on=True)


def disable(profile: str, name: str, report: Report) -> None:
    """Returns once what the addon consists of is deleted; where the cluster is stopped, the next start does that."""
    _switch(profile, name, report, on=False)


def _switch(profile: str, name: str, report: Report, *, on: bool) -> None:
    with profile_lock(profile, command=f"addons {'enable' if on else 'disable'}", on_wait=report.info):
        config = load(profile)
        if config is None:
            raise notready.profile_not_found(profile)
        if existing.driver(existing.facts(profile)).state() == "Running":
            _apply(profile, config, name, on=on)
        config.Addons = (config.Addons or {}) | {name: on}
        save(config)


def _apply(profile: str, config: ClusterConfig, name: str, *, on: bool) -> None:
    with context.api(config, existing.serving_node(profile)) as api:
        try:
            (restore if on else remove)(api, name)
        except (ApiError, ApiUnreachable) as error:
            id, what = ("MK_ADDON_ENABLE", "enabled") if on else ("MK_ADDON_DISABLE", "disabled")
            raise Reason(id, f"the addon '{name}' cannot be {what}: {error}", advice="minikube status") from error
        if on:
            deadline = time.monotonic() + PATIENCE_SECONDS
            health.wait_until(api, lambda api: _missing(api, name), what=f"the addon '{name}'", deadline=deadline)


def remove(api: Api, name: str) -> None:
    """Delete what the addon consists of; volumes that it made stay."""
    for obj in reversed(storage.addons()[name]):
        api.delete(object_path(obj))


def restore(api: Api, name: str) -> None:
    """Create what somebody has removed, and scale up what was scaled down to nothing. Everything else stays as it is."""
    for obj in storage.addons()[name]:
        found = api.find(object_path(obj))
        if found is None:
            api.create_all([sharedshims.in_groups(obj)])
        elif found.get("spec", {}).get("replicas") == 0:
            api.patch(object_path(obj), {"spec": {"replicas": 1}})


def _missing(api: Api, name: str) -> str:
    """What of an addon does not run yet."""
    return "; ".join(filter(None, (_why_not_there(api, obj) for obj in storage.addons()[name])))


def _why_not_there(api: Api, obj: Object) -> str:
    found, what = api.find(object_path(obj)), f"{obj['kind']} {obj['metadata']['name']}"
    if found is None:
        return f"{what} is not there"
    runs = obj["kind"] != "Deployment" or found.get("status", {}).get("availableReplicas")
    return "" if runs else f"{what} has no pod that runs"
