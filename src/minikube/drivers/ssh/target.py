"""Which machine: its address and how to log in there. No secret is kept, only where the key is."""

from __future__ import annotations

import os

from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Target:
    __slots__ = ("address", "key", "port", "user")

    def __init__(self, address: str, *, user: str = "root", port: int = 22, key: str = "") -> None:
        self.address, self.user, self.port, self.key = address, user, port, key

    def __str__(self) -> str:
        place = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.user}@{place}" if self.port == 22 else f"{self.user}@{place}:{self.port}"

    @classmethod
    def kept(cls, own: Mapping[str, Any]) -> Target:
        """From the machine's config.json, whose keys are libmachine's."""
        return cls(
            str(own.get("IPAddress") or ""),
            user=str(own.get("SSHUser") or "root"),
            port=int(own.get("SSHPort") or 22),
            key=str(own.get("SSHKeyPath") or ""),
        )

    def to_keep(self) -> dict[str, Any]:
        return {"IPAddress": self.address, "SSHUser": self.user, "SSHPort": self.port, "SSHKeyPath": self.key}

    def require_usable(self) -> None:
        """Refuse what cannot work before anybody is asked over the network."""
        if not self.address:
            raise Reason(
                "MK_USAGE",
                "No IP address provided",
                advice="Say which machine to use: minikube start --driver=ssh --ssh-ip-address=ADDRESS [--ssh-user=USER] [--ssh-key=FILE]",
            )
        if not 0 < self.port < 65536:
            raise Reason("MK_USAGE", f"--ssh-port={self.port} is not a port number")
        if self.key and not os.access(self.key, os.R_OK):
            why = "does not exist" if self.key_is_gone() else "cannot be read"
            raise Reason("MK_USAGE", f"The key {self.key} {why}", advice="Give the private key's file with --ssh-key.")

    def key_is_gone(self) -> bool:
        return bool(self.key) and not os.path.lexists(self.key)
