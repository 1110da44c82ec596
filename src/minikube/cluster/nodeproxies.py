"""The host's proxies for the node's container runtime, with everything of the cluster's own exempt."""

from __future__ import annotations

import os
from collections.abc import Mapping

from minikube.artifacts import proxies
from minikube.drivers.base import Node
from minikube.kubernetes.clusterspec import CONTROL_PLANE_NAME, ClusterSpec
from minikube.output.report import Report

VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_PAGE = "https://minikube.sigs.k8s.io/docs/handbook/vpn_and_proxy/"


def tell_network_options(address: str, report: Report, *, environment: Mapping[str, str] | None = None) -> None:
    """Upstream's words about proxies: scripts and people look for them."""
    variables = os.environ if environment is None else environment
    found = {name: variables[name] for name in (*VARIABLES, *map(str.lower, VARIABLES)) if variables.get(name)}
    if not found:
        return
    report.info("Found network options:", style="internet")
    for name, value in found.items():
        report.info(f"{name.upper()}={value if name.upper() == 'NO_PROXY' else proxies.without_password(value)}", style="option")
    here = proxies.from_environment(variables)
    if here.for_url(f"https://{address}") or here.for_url(f"http://{address}"):
        report.warning(f"You appear to be using a proxy, but your NO_PROXY environment does not include the minikube IP ({address}).")
        report.info(f"Please see {_PAGE} for more details", style="documentation")


def node_proxies(spec: ClusterSpec, node: Node, report: Report, *, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """HTTP_PROXY and HTTPS_PROXY as they are here, NO_PROXY extended; nothing if there is no proxy that the node could reach."""
    from urllib.parse import urlsplit

    here = proxies.from_environment(os.environ if environment is None else environment)
    usable = {}
    for name, proxy in (("HTTP_PROXY", here.http), ("HTTPS_PROXY", here.https)):
        address = proxy if not proxy or "://" in proxy else f"http://{proxy}"
        if address and proxies.is_local(urlsplit(address).hostname or ""):
            report.warning(f"{name} is not passed to the node: {proxies.without_password(address)} means the node itself there")
        elif address:
            usable[name] = address
    if not usable:
        return {}
    own = (spec.node_ip, node.gateway, spec.service_cidr, spec.pod_network, CONTROL_PLANE_NAME, ".svc", f".{spec.dns_domain}")
    exempt = [*here.exempt, *("localhost", "127.0.0.1"), *own]
    usable["NO_PROXY"] = ",".join(dict.fromkeys(exempt))
    shown = ", ".join(f"{name}={proxies.without_password(value)}" for name, value in usable.items() if name != "NO_PROXY")
    report.info(f"The node pulls images through {shown}; exempt are {usable['NO_PROXY']}", style="option")
    return usable
