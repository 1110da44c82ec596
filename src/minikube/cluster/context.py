"""The user's kubeconfig, brought in line with where the cluster is."""

from __future__ import annotations

from minikube import __version__
from minikube.cluster import existing
from minikube.kubernetes import kubeconfig
from minikube.profiles.clusterconfig import ClusterConfig
from minikube.profiles.paths import home, profile_directory


def update(profile: str) -> bool:
    """Point the profile's context at the API server; True if the file had to change."""
    found, node = existing.require_running(profile)
    return write(found.config, node.address)


def write(config: ClusterConfig, address: str) -> bool:
    directory = profile_directory(config.Name)
    return kubeconfig.merge(
        kubeconfig.Entry(
            profile=config.Name,
            server=f"https://{address}:{config.APIServerPort}",
            authority=home() / "ca.crt",
            certificate=directory / "client.crt",
            key=directory / "client.key",
            version=f"v{__version__}",
            namespace=config.KubernetesConfig.Namespace,
            embed=config.EmbedCerts,
            keep_context=config.KeepContext,
        )
    )
