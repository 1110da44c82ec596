"""The few facts of a profile that quick commands need, read without the typed structs (whose library takes as long to load as Python)."""

from __future__ import annotations

from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from typing import Any


class Glance:
    """One profile: where its cluster is and what it runs."""

    __slots__ = ("address", "driver", "is_valid", "kubernetes_version", "name", "nodes", "port", "runtime", "stops_at")

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        nodes = config.get("Nodes") or []
        node = nodes[0] if nodes else {}
        self.name = name
        self.nodes = len(nodes)
        self.driver = str(config.get("Driver") or "")
        self.address = str(node.get("IP") or "")
        self.port = int(config.get("APIServerPort") or node.get("Port") or 8443)
        kubernetes = config.get("KubernetesConfig") or {}
        self.kubernetes_version = str(kubernetes.get("KubernetesVersion") or "")
        self.runtime = str(kubernetes.get("ContainerRuntime") or "")
        self.is_valid = bool(self.driver) and all(each.get("KubernetesVersion") for each in nodes)
        scheduled = config.get("ScheduledStop") or {}
        # When a scheduled stop is due, in nanoseconds; 0 if none is.
        self.stops_at = int(scheduled["InitiationTime"]) * 10**9 + int(scheduled["Duration"]) if "Duration" in scheduled else 0


def config_text(name: str) -> str:
    """Where the profile's configuration is."""
    from minikube.profiles.paths import profile_text

    return f"{profile_text(name)}/config.json"


def exists(name: str) -> bool:
    """Whether the profile has a configuration, readable or not."""
    import os

    return os.path.exists(config_text(name))  # noqa: PTH110


def glance(name: str) -> Glance | None:
    """The profile, None if there is no such, HOST_CONFIG_LOAD if its file is damaged."""
    from minikube.host.quickjson import loads

    path = config_text(name)
    try:
        with open(path, "rb") as stream:  # noqa: PTH123
            return Glance(name, loads(stream.read()))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Reason("HOST_CONFIG_LOAD", f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise Reason(
            "HOST_CONFIG_LOAD",
            f"{path} is damaged: {error}",
            advice=f"Repair the file (it has not been touched), or remove the cluster with: minikube delete -p {name}",
        ) from error


def names() -> list[str]:
    """Every profile of this home, usable or not."""
    import os

    from minikube.profiles.paths import home_text

    try:
        return sorted(entry.name for entry in os.scandir(f"{home_text()}/profiles") if entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
