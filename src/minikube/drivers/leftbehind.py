"""What a driver says when a machine is beyond its reach for good."""

from __future__ import annotations

from minikube.output.reason import Reason


class LeftBehind(Reason):
    """From `delete` alone: whatever is here has been removed; what is elsewhere stays there, and trying again cannot change that."""
