"""The cluster's services, and the addresses at which this host reaches them."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote

from minikube.cluster import existing
from minikube.drivers.base import Node
from minikube.kubernetes.api import Api, ApiError, ApiUnreachable
from minikube.kubernetes.healthz import is_healthy
from minikube.output import notready
from minikube.output.gotemplate import TemplateError, render
from minikube.output.reason import Reason
from minikube.profiles.paths import authority_file, profile_directory


class ServiceURLs(NamedTuple):
    """Upstream's fields, under upstream's names: they are its JSON keys."""

    Namespace: str
    Name: str
    URLs: list[str]
    PortNames: list[str]


def list_services(profile: str, *, namespace: str, template: str) -> list[ServiceURLs]:
    """Every service of the namespace, of all of them if none is named."""
    node = existing.serving_node(profile)
    host, port = node.forward(existing.facts(profile).port)
    if not is_healthy(profile, host, port):
        raise notready.apiserver_not_running(profile)
    directory = profile_directory(profile)
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/services" if namespace else "/api/v1/services"
    try:
        with Api(
            f"https://{host}:{port}", authority=authority_file(profile), certificate=directory / "client.crt", key=directory / "client.key"
        ) as api:
            services = api.list(path)
    except (ApiError, ApiUnreachable) as error:
        raise Reason(
            "SVC_LIST",
            f"Failed to get service URL - check that minikube is running and that the correct namespace is specified: {error}",
            advice="minikube status",
        ) from error
    found = [_urls(service, node, template) for service in services]
    return sorted(found, key=lambda service: (service.Namespace, service.Name))


def _urls(service: dict[str, Any], node: Node, template: str) -> ServiceURLs:
    urls, names = [], []
    for port in service["spec"].get("ports") or []:
        if not port.get("nodePort"):
            continue
        name = f"{port['name']}/{port['port']}" if port.get("name") else str(port["port"])
        host, reached = node.forward(port["nodePort"])
        try:
            urls.append(render(template, {"IP": host, "Port": reached, "Name": name}, name="service"))
        except TemplateError as error:
            raise Reason("MK_FORMAT_USAGE", f"The value passed to --format is invalid: {error}") from None
        names.append(name)
    metadata = service["metadata"]
    return ServiceURLs(metadata["namespace"], metadata["name"], urls, names or ["No node port"])
