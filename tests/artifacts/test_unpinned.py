"""Versions without pins: resolved by a real Go from a source of modules that the test wrote, and recorded."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.fileserver import FileServer, file_server
from support.tinyprogram import saying

from minikube.artifacts import releasedversions, sources, unpinned, versionrecords, wrappermaking
from minikube.artifacts.catalogue import DEFAULT
from minikube.artifacts.gocomponents import OWN, WRAPPERS, go_components, goarch
from minikube.artifacts.origin import Origin
from minikube.artifacts.sources import AUTO, BUNDLE, RELEASE, Sourcing
from minikube.artifacts.store import Store
from minikube.output.progress import silent
from minikube.output.reason import Reason

MODULES = Sourcing(sources.MODULES)
needs_go = pytest.mark.skipif(not shutil.which("go"), reason="asks the machine's Go")
MAIN = (WRAPPERS / f"kubernetes-{DEFAULT.kubernetes}" / "main.go").read_text()
CONSTANTS = """package constants

const (
	MinExternalEtcdVersion = "3.5.24-0"
	DefaultEtcdVersion     = "3.6.6-0"
	CoreDNSVersion         = "v1.13.1"
	PauseVersion           = "3.10.1"
)
"""
KUBEADM = {
    True: 'import (\n\t"k8s.io/kubernetes/cmd/kubeadm/app"\n\tutilerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"\n)\n'
    "func main() { utilerrors.HandleError(app.Run()) }\n",
    False: 'import (\n\t"k8s.io/kubernetes/cmd/kubeadm/app"\n\tkubeadmutil "k8s.io/kubernetes/cmd/kubeadm/app/util"\n)\n'
    "func main() { kubeadmutil.CheckErr(app.Run()) }\n",
}


def packages(*paths: str) -> dict[str, str]:
    return {f"{path}/x.go": f"package {path.rpartition('/')[2].replace('-', '')}\n" for path in paths}


def kubernetes(*, recent: bool) -> dict[str, str]:
    """What is read of the module, in the words of a recent or of an older version."""
    apps = [
        f"cmd/{name}/app" for name in ("kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet", "kubeadm")
    ]
    staged = "".join(f"replace k8s.io/{name} => ./staging/src/k8s.io/{name}\n" for name in ("client-go", "component-base", "kubectl"))
    return {
        "go.mod": f"module k8s.io/kubernetes\n\ngo 1.25.0\n\n{staged}",
        "cmd/kubeadm/app/constants/constants.go": CONSTANTS,
        "cmd/kubelet/kubelet.go": f"package main\n// app.NewKubeletCommand({'context.Background()' if recent else ''})\n",
        "cmd/kubeadm/kubeadm.go": f"package main\n\n{KUBEADM[recent]}",
        **packages(*apps, "cmd/kubeadm/app/util", "cmd/kubeadm/app/util/errors"),
    }


def publish(source: Path, module: str, version: str, files: dict[str, str]) -> None:
    """Write one module version in the layout of a Go module proxy."""
    place = source / module / "@v"
    place.mkdir(parents=True, exist_ok=True)
    files = {"go.mod": f"module {module}\n\ngo 1.25.0\n"} | files
    (place / f"{version}.info").write_text(json.dumps({"Version": version}))
    (place / f"{version}.mod").write_text(files["go.mod"])
    with (place / "list").open("a") as listing:
        listing.write(f"{version}\n")
    with zipfile.ZipFile(place / f"{version}.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{module}@{version}/{name}", text)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Kubernetes v1.35.2 and v1.35.4 with what their main program needs, and a candidate."""
    modules = tmp_path / "modules"
    for patch in (2, 4):
        publish(modules, "k8s.io/kubernetes", f"v1.35.{patch}", kubernetes(recent=True))
    publish(modules, "k8s.io/kubernetes", "v1.35.5-rc.0", kubernetes(recent=True))
    publish(modules, "k8s.io/client-go", "v0.35.4", packages("plugin/pkg/client/auth"))
    metrics = ("metrics/prometheus/clientgo", "metrics/prometheus/version")
    publish(modules, "k8s.io/component-base", "v0.35.4", packages("cli", "logs", "logs/json/register", *metrics))
    publish(modules, "k8s.io/kubectl", "v0.35.4", packages("pkg/cmd", "pkg/cmd/util"))
    publish(modules, "github.com/spf13/cobra", "v1.10.0", {"cobra.go": "package cobra\n"})
    monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path / "store"))
    for name, value in {"GOPROXY": f"file://{modules}", "GOSUMDB": "off", "GONOSUMDB": "*", "GOFLAGS": ""}.items():
        monkeypatch.setenv(name, value)
    yield modules
    # Go makes its module cache read-only.
    for directory in (tmp_path / "store").rglob("*"):
        if directory.is_dir() and not directory.is_symlink():
            directory.chmod(0o755)


@needs_go
def test_a_minor_version_becomes_its_newest_release_and_is_pinned_with_what_its_kubeadm_asks_for(source: Path, tmp_path: Path) -> None:
    assert unpinned.resolve_version("1.35", MODULES, silent()) == "v1.35.4"
    assert unpinned.resolve_version("v1.34.0-rc.1", MODULES, silent()) == "v1.34.0-rc.1"  # and not the newest of v1.34
    versions = unpinned.version_set("v1.35.4", MODULES, silent())
    # etcd 3.6.6 and CoreDNS 1.13.1 have no pins here: the next newer that have.
    assert (versions.kubernetes, versions.etcd, versions.coredns, versions.pause) == ("v1.35.4", "v3.6.8", "v1.14.2", "3.10.1")
    wrapper = go_components(versions)[0].wrapper
    assert wrapper.is_relative_to(tmp_path / "store")
    assert "k8s.io/client-go => k8s.io/client-go v0.35.4" in (wrapper / "go.mod").read_text()
    assert "k8s.io/kubernetes v1.35.4 h1:" in (wrapper / "go.sum").read_text()
    assert (wrapper / "main.go").read_text() == MAIN
    # From now on nobody is asked: not for what it is, nor for which patch is meant.
    shutil.rmtree(source)
    assert unpinned.version_set("v1.35.4", MODULES, silent()) == versions
    assert unpinned.resolve_version("v1.35", MODULES, silent()) == "v1.35.4"


@needs_go
@pytest.mark.parametrize(
    ("text", "words"), [("v1.33", "lists no release of Kubernetes v1.33"), ("v1.35.9", "Kubernetes v1.35.9 is not to be had")]
)
def test_what_the_source_does_not_have_is_said(source: Path, text: str, words: str) -> None:
    with pytest.raises(Reason) as refused:
        unpinned.version_set(unpinned.resolve_version(text, MODULES, silent()), MODULES, silent())
    assert refused.value.id == "INET_VERSION_UNAVAILABLE"
    assert words in refused.value.message
    assert DEFAULT.kubernetes in refused.value.advice


@needs_go
@pytest.mark.parametrize("text", ["v1.33", "v1.35.9"])
def test_a_source_that_cannot_be_reached_is_named(source: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", "http://127.0.0.1:9")
    with pytest.raises(Reason) as refused:
        unpinned.version_set(unpinned.resolve_version(text, MODULES, silent()), MODULES, silent())
    assert refused.value.id == "INET_CACHE_BINARIES"
    assert "http://127.0.0.1:9" in refused.value.message


ASKED = """registry.k8s.io/kube-apiserver:v1.28.15
registry.k8s.io/coredns/coredns:v1.10.1
registry.k8s.io/pause:3.9
registry.k8s.io/etcd:3.5.15-0
"""


COMPANIONS = '{"etcd": "v3.5.9", "coredns": "v1.10.1", "pause": "3.9"}'


def offer(directory: Path, version: str, kubeadm: bytes) -> None:
    """kubeadm with its checksum, and a checksum of the kubelet, as official releases have them."""
    place = directory / version / "bin/linux" / goarch()
    place.mkdir(parents=True)
    (place / "kubeadm").write_bytes(kubeadm)
    (place / "kubeadm.sha512").write_text(hashlib.sha512(kubeadm).hexdigest())
    (place / "kubelet.sha256").write_text("0" * 64)


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """Official releases with v1.28.15, whose kubeadm knows nothing but what goes with it."""
    monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("GOPROXY", "off")
    offer(tmp_path / "mirror", "v1.28.15", saying(ASKED))
    (tmp_path / "mirror" / "stable-1.28.txt").write_text("v1.28.15")
    with file_server(tmp_path / "mirror") as files:
        yield files


@pytest.mark.parametrize("source", [AUTO, RELEASE])
def test_official_releases_say_which_patch_is_the_newest_and_what_goes_with_it(mirror: FileServer, source: str) -> None:
    """Neither Go nor a source of modules is needed for it, and it reaches back to the oldest version there is."""
    sourcing = Sourcing(source, Origin(binary_mirror=mirror.url))
    assert unpinned.resolve_version("1.28", sourcing, silent()) == "v1.28.15"
    versions = unpinned.version_set("v1.28.15", sourcing, silent())
    assert (versions.etcd, versions.coredns, versions.pause) == ("v3.5.15", "v1.10.1", "3.9")
    assert unpinned.recorded("v1.28.15") == versions
    asked = len(mirror.requests)
    assert unpinned.version_set("v1.28.15", Sourcing(RELEASE, sourcing.origin), silent()) == versions
    assert unpinned.resolve_version("v1.28", Sourcing(RELEASE, sourcing.origin), silent()) == "v1.28.15"
    assert len(mirror.requests) == asked


def test_releases_that_lack_a_version(mirror: FileServer) -> None:
    releases = Sourcing(RELEASE, Origin(binary_mirror=mirror.url))
    with pytest.raises(Reason, match=r"stable-1\.29\.txt does not say") as refused:
        unpinned.resolve_version("v1.29", releases, silent())
    assert refused.value.id == "INET_VERSION_UNAVAILABLE"
    with pytest.raises(Reason, match=r"no checksum of kubeadm"):
        unpinned.version_set("v1.28.14", releases, silent())
    # Where anybody may serve, the next is asked: here there is none. A file that is missing does not make the place a silent one.
    with pytest.raises(Reason, match="GOPROXY"):
        unpinned.resolve_version("v1.29", releases._replace(source=AUTO), silent())
    assert unpinned.resolve_version("v1.28", releases._replace(source=AUTO), silent()) == "v1.28.15"


def test_with_bundles_alone_nobody_is_asked(mirror: FileServer) -> None:
    only_bundles = Sourcing(BUNDLE, Origin(binary_mirror=mirror.url))
    for ask in (unpinned.resolve_version, unpinned.version_set):
        with pytest.raises(Reason, match=r"nothing of Kubernetes v1\.28") as refused:
            ask("v1.28" if ask is unpinned.resolve_version else "v1.28.15", only_bundles, silent())
        assert "bundle import" in refused.value.advice
    assert not mirror.requests


def test_what_was_found_out_goes_with_a_bundle(mirror: FileServer, tmp_path: Path) -> None:
    versions = unpinned.version_set("v1.28.15", Sourcing(RELEASE, Origin(binary_mirror=mirror.url)), silent())
    wrapper = tmp_path / "store" / "wrappers" / "kubernetes-v1.35.4"
    wrapper.mkdir(parents=True)
    for name in ("go.mod", "go.sum", "main.go", "companions.json"):
        (wrapper / name).write_text({"go.mod": f"module {OWN}/kubernetes", "companions.json": COMPANIONS}.get(name, name))
    records = {**versionrecords.collect("v1.28.15", Store()), **versionrecords.collect("v1.35.4", Store())}
    assert len(records) == 5
    assert all(versionrecords.is_record(name, text) for name, text in records.items())
    assert versionrecords.collect(DEFAULT.kubernetes, Store()) == {}
    elsewhere = Store(tmp_path / "elsewhere")
    own = elsewhere.root / "versions" / "kubernetes-v1.28.15.json"
    versionrecords.keep({place: text for place, text in records.items() if place.startswith("wrappers")}, elsewhere)
    assert (elsewhere.root / "wrappers/kubernetes-v1.35.4/go.sum").read_text() == "go.sum"
    own.parent.mkdir()
    own.write_text(COMPANIONS)
    versionrecords.keep(records, elsewhere)
    assert releasedversions.recorded("v1.28.15", elsewhere.root) == versions._replace(etcd="v3.5.9")  # its own stands


def test_a_wrapper_of_an_older_minikube_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its main program is not in the module that today's builds look for."""
    monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path))
    wrapper = tmp_path / "wrappers/kubernetes-v1.35.4"
    wrapper.mkdir(parents=True)
    companions = {name: DEFAULT._asdict()[name] for name in ("etcd", "coredns", "pause")}
    (wrapper / "companions.json").write_text(json.dumps(companions))
    (wrapper / "go.mod").write_text("module minikube.local/kubernetes\n")
    assert unpinned.recorded("v1.35.4", sources.MODULES) is None
    records = {"wrappers/kubernetes-v1.35.4/go.mod": f"module {OWN}/kubernetes\n"}
    records["wrappers/kubernetes-v1.35.4/companions.json"] = json.dumps(companions)
    versionrecords.keep(records, Store())
    assert unpinned.recorded("v1.35.4", sources.MODULES) == DEFAULT._replace(kubernetes="v1.35.4")


@pytest.mark.parametrize("name", ["wrappers/../x", "wrappers/kubernetes-v1.2.3/x.go", "versions/kubernetes-v1.2.3.json/x", "pins.json"])
def test_records_go_nowhere_else(name: str) -> None:
    assert not versionrecords.is_record(name, COMPANIONS)


def test_pinned_versions_ask_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path))
    monkeypatch.setenv("GOPROXY", "off")
    assert unpinned.resolve_version("1.36", Sourcing(), silent()) == "v1.36.4"
    assert unpinned.version_set(DEFAULT.kubernetes, Sourcing(), silent()) == DEFAULT
    assert list(tmp_path.iterdir()) == []


def test_the_main_program_of_an_older_version_speaks_its_words(tmp_path: Path) -> None:
    for recent in (True, False):
        for name, text in kubernetes(recent=recent).items():
            path = tmp_path / str(recent) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    assert wrappermaking.main_program(MAIN, tmp_path / "True") == MAIN
    older = wrappermaking.main_program(MAIN, tmp_path / "False")
    assert "kubelet.NewKubeletCommand() })" in older
    assert 'kubeadmerrors "k8s.io/kubernetes/cmd/kubeadm/app/util"\n' in older
    assert "kubeadmerrors.CheckErr(kubeadm.Run())" in older
    assert "context" not in older


def test_what_the_images_made_here_cannot_do_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path))
    with pytest.raises(Reason) as refused:
        unpinned.version_set("v1.28.15", MODULES, silent())
    assert (refused.value.id, refused.value.exit_code) == ("K8S_OLD_UNSUPPORTED", 106)
    assert "iptables" in refused.value.message
