"""The few facts of a profile that quick commands need, read without the typed structs (whose library takes as long to load as Python)."""

from __future__ import annotations

from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from typing import Any


class Glance:
    """One profile: where its cluster is and what it runs."""

    __slots__ = ("address", "driver", "kubernetes_version", "name", "port")

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        node = (config.get("Nodes") or [{}])[0]
        self.name = name
        self.driver = str(config.get("Driver") or "")
        self.address = str(node.get("IP") or "")
        self.port = int(config.get("APIServerPort") or node.get("Port") or 8443)
        self.kubernetes_version = str((config.get("KubernetesConfig") or {}).get("KubernetesVersion") or "")


def glance(name: str) -> Glance | None:
    """The profile, None if there is no such, HOST_CONFIG_LOAD if its file is damaged."""
    import json

    from minikube.profiles.paths import profile_directory

    path = f"{profile_directory(name)}/config.json"
    try:
        with open(path, "rb") as stream:  # noqa: PTH123
            config = json.load(stream)
        return Glance(name, config)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Reason("HOST_CONFIG_LOAD", f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise Reason(
            "HOST_CONFIG_LOAD",
            f"{path} is damaged: {error}",
            advice=f"Repair the file (it has not been touched), or remove the cluster with: minikube delete -p {name}",
        ) from error
