"""The user's kubeconfig, brought in line with where the cluster is."""

from __future__ import annotations

from minikube import __version__
from minikube.cluster import existing
from minikube.drivers.base import Node
from minikube.kubernetes import kubeconfig
from minikube.kubernetes.api import Api
from minikube.output import notready
from minikube.profiles.clusterconfig import ClusterConfig
from minikube.profiles.paths import authority_file, profile_directory
from minikube.profiles.profile import load


def update(profile: str) -> bool:
    """Point the profile's context at the API server; True if the file had to change."""
    node = existing.running_node(profile)
    config = load(profile)
    if config is None:
        raise notready.profile_not_found(profile)
    return write(config, node)


def server(config: ClusterConfig, node: Node) -> str:
    """The URL under which this host reaches the API server."""
    address, port = node.forward(config.APIServerPort)
    return f"https://{address}:{port}"


def api(config: ClusterConfig, node: Node) -> Api:
    """A connection to the API server with the administrator's certificate."""
    directory = profile_directory(config.Name)
    return Api(
        server(config, node), authority=authority_file(config.Name), certificate=directory / "client.crt", key=directory / "client.key"
    )


def write(config: ClusterConfig, node: Node) -> bool:
    directory = profile_directory(config.Name)
    return kubeconfig.merge(
        kubeconfig.Entry(
            profile=config.Name,
            server=server(config, node),
            authority=authority_file(config.Name),
            certificate=directory / "client.crt",
            key=directory / "client.key",
            version=f"v{__version__}",
            namespace=config.KubernetesConfig.Namespace,
            embed=config.EmbedCerts,
            keep_context=config.KeepContext,
        )
    )
