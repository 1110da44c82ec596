"""A native node: a node on this host, on a bridge of this host."""

from __future__ import annotations

from minikube.drivers.localnode import LocalNode

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from minikube.drivers.native.layout import Layout


class NativeNode(LocalNode):
    def __init__(self, layout: Layout, *, address: str, gateway: str) -> None:
        socket = f"{layout.place}/run/control.sock"
        super().__init__(layout.machine, state=f"{layout.place}/state", socket=socket, address=address, gateway=gateway)

    def forward(self, port: int) -> tuple[str, int]:
        """The bridge is an interface of this host: the node's own address will do."""
        return self.address, port
