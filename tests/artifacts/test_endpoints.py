"""Names of published files, compared with the scripts that projects publish them with: those are in the modules we build from."""

from __future__ import annotations

from pathlib import Path

import pytest

from minikube.artifacts import endpoints
from minikube.artifacts.catalogue import DEFAULT
from minikube.profiles.paths import store

MODULES = {
    "containerd": f"github.com/containerd/containerd/v2@{DEFAULT.containerd}/Makefile",
    "runc": f"github.com/opencontainers/runc@{DEFAULT.runc}/script/release_build.sh",
    "plugins": f"github.com/containernetworking/plugins@{DEFAULT.cni_plugins}/.github/workflows/release.yaml",
    "crictl": f"sigs.k8s.io/cri-tools@{DEFAULT.crictl}/hack/release.sh",
}


def script(module: str) -> str:
    path = store() / "go/mod" / MODULES[module]
    if not path.exists():
        pytest.skip("the sources of the module are not in the store")
    return path.read_text()


def names(released: endpoints.ReleasedFile) -> list[str]:
    return [Path(place).name for place in (released.place, *released.checksums)]


def test_containerd() -> None:
    text = script("containerd")
    assert "STATICRELEASE=containerd-static-$(VERSION:v%=%)-${GOOS}-${GOARCH}" in text
    assert "sha256sum $(STATICRELEASE).tar.gz >$(STATICRELEASE).tar.gz.sha256sum" in text
    archive = f"containerd-static-{DEFAULT.containerd.removeprefix('v')}-linux-arm64.tar.gz"
    assert names(endpoints.containerd(DEFAULT.containerd, "arm64")) == [archive, f"{archive}.sha256sum"]


def test_runc() -> None:
    text = script("runc")
    assert 'hashcmd="${hashcmd:-sha256sum}"' in text
    assert '"$hashcmd" "${arches[@]/#/$project.}" >>"$project.$hashcmd"' in text
    assert names(endpoints.runc(DEFAULT.runc, "amd64")) == ["runc.amd64", "runc.sha256sum"]


def test_cni_plugins() -> None:
    archive = "cni-plugins-linux-${{ matrix.goarch }}-${{ github.ref_name }}.tgz"
    text = script("plugins")
    assert all(f"{archive} | tee {archive}.{suffix}" in text for suffix in ("sha512", "sha256"))
    published = archive.replace("${{ matrix.goarch }}", "amd64").replace("${{ github.ref_name }}", DEFAULT.cni_plugins)
    assert names(endpoints.cni_plugins(DEFAULT.cni_plugins, "amd64")) == [published, f"{published}.sha512", f"{published}.sha256"]


def test_crictl() -> None:
    text = script("crictl")
    assert "crictl-$VERSION-$os-$arch.tar.gz" in text
    assert all(f'tee "$file.{suffix}"' in text for suffix in ("sha512", "sha256"))
    archive = f"crictl-{DEFAULT.crictl}-linux-amd64.tar.gz"
    assert names(endpoints.crictl(DEFAULT.crictl, "amd64")) == [archive, f"{archive}.sha512", f"{archive}.sha256"]
