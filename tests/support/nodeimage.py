"""The components of a cluster, which the first test that needs them has made."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest
from support.minikube import Place

from minikube.profiles.paths import store

BUILD_SECONDS = 1800  # a store that is still empty is filled by the first test


def provide_node_image(place: Place) -> Path:
    """The node image in the store: every component is there once this exists."""
    answer = place.run("start", "--download-only", "-p", fresh_name(), timeout=BUILD_SECONDS)
    assert answer.code == 0, answer
    return max(store().glob("entries/node-image-*/*/usr"), key=lambda path: path.stat().st_mtime).parent


def put_openssl(directory: Path) -> None:
    """A node's own openssl, as a program in a directory; skips where no node image is in the store."""
    image = Path(os.environ.get("MINIKUBE_TEST_NODE_IMAGE", "/nowhere"))
    if not (image / "usr/bin/openssl").exists():
        pytest.skip("the node image is not in the store")
    libraries = next(image.glob("usr/lib/*/libc.so.6")).parent
    script = f'exec {next(libraries.glob("ld-linux*.so.*"))} --library-path {libraries} {image}/usr/bin/openssl "$@"'
    (directory / "openssl").write_text(f"#!/bin/sh\n{script}\n")
    (directory / "openssl").chmod(0o755)


def fresh_name() -> str:
    return f"e2e-{secrets.token_hex(3)}"
