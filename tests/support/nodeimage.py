"""The components of a cluster, which the first test that needs them has made."""

from __future__ import annotations

import secrets
from pathlib import Path

from support.minikube import Place

from minikube.profiles.paths import store

BUILD_SECONDS = 1800  # a store that is still empty is filled by the first test


def provide_node_image(place: Place) -> Path:
    """The node image in the store: every component is there once this exists."""
    answer = place.run("start", "--download-only", "-p", fresh_name(), timeout=BUILD_SECONDS)
    assert answer.code == 0, answer
    return max(store().glob("entries/node-image-*/*/usr"), key=lambda path: path.stat().st_mtime).parent


def fresh_name() -> str:
    return f"e2e-{secrets.token_hex(3)}"
