"""What every test may use: the components of the store, where it has them already."""

import os

from minikube.profiles.paths import store


def pytest_configure() -> None:
    """Tests that need single components take the newest in the store, unless they are told which."""
    for variable, entries in (("MINIKUBE_TEST_BINARIES", "containerd-*"), ("MINIKUBE_TEST_NODE_IMAGE", "node-image-*")):
        found = sorted(store().glob(f"entries/{entries}/content"), key=lambda path: path.stat().st_mtime)
        if found:
            os.environ.setdefault(variable, str(found[-1]))
