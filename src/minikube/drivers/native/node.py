"""A native node: a node on this host, on a bridge of this host."""

from __future__ import annotations

from minikube.drivers.localnode import LocalNode
from minikube.host.credentials import roots_work

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from minikube.drivers.native.layout import Layout
    from minikube.drivers.values import File


class NativeNode(LocalNode):
    def __init__(self, layout: Layout, facts: Mapping[str, Any]) -> None:
        network = facts["subnet"].partition("/")[0].rpartition(".")[0]
        super().__init__(
            layout.machine,
            state=f"{layout.reached}/state",
            socket=f"{layout.reached}/run/control.sock",
            address=f"{network}.2",
            gateway=f"{network}.1",
            peer=node_root(facts),
        )

    # The node's files are root's on this host.

    @roots_work
    def put(self, files: Mapping[str, File]) -> None:
        super().put(files)

    @roots_work
    def get(self, *paths: str) -> dict[str, File]:
        return super().get(*paths)

    @roots_work
    def put_own(self, files: Mapping[str, File]) -> None:
        super().put_own(files)

    @roots_work
    def get_own(self, *paths: str) -> dict[str, File]:
        return super().get_own(*paths)

    @roots_work
    def exists(self, path: str) -> bool:
        return super().exists(path)

    def forward(self, port: int) -> tuple[str, int]:
        """The bridge is an interface of this host: the node's own address will do."""
        return self.address, port


def node_root(facts: Mapping[str, Any]) -> int:
    """Who the root of a machine's node is on this host: nobody else answers for it."""
    enclosure = facts.get("enclosure") or {}
    return int(enclosure.get("first", 0))
