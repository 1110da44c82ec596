import shutil
from pathlib import Path

import pytest

from minikube.profiles import paths

_STORE = paths.store()  # before a test moves the home


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of its own, and a kubeconfig that is not the user's."""
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    return tmp_path / ".minikube"


@pytest.fixture(scope="session")
def kubernetes_binary(tmp_path_factory):
    """Gives the path of kubectl, or of kubeadm …, a name of the store's common Kubernetes binary; else from the PATH; skips without."""

    def find(name: str, version: str = "v1.37.1") -> Path:
        combined = sorted(_STORE.glob(f"entries/kubernetes-{version}-*/content/{'kubectl' if name == 'kubectl' else 'kubernetes'}"))
        if combined:
            link = tmp_path_factory.mktemp("bin") / name
            link.symlink_to(combined[-1])
            return link
        found = shutil.which(name)
        if found is None or version != "v1.37.1":
            pytest.skip(f"no {name} of {version} in the store")
        return Path(found)

    return find
