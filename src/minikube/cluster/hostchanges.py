"""What is changed on this machine for a profile at the moment."""

from __future__ import annotations

from minikube.cluster import existing

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from typing import Any


def host_changes(profile: str) -> list[dict[str, Any]]:
    """The journal of the profile's machine; each change also says itself in words."""
    from minikube.host.journal import in_words

    return [{**change, "words": in_words(change)} for change in existing.driver(existing.facts(profile)).host_changes()]
