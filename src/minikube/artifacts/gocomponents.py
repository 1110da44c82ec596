"""What is compiled from Go modules: which wrapper, which main packages, which flags."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from minikube.artifacts.catalogue import VersionSet, parts
from minikube.profiles import paths

WRAPPERS = Path(__file__).parent / "wrappers"
OWN = "ahead.minikube.local"  # where main programs of ours are; memory.go says why it is called that
MEMORY = WRAPPERS / "memory.go"

GO_AT_LEAST = (1, 26, 6)
"""The newest `go` line among the wrappers' go.mod files: an older Go refuses them."""

# Debugger symbols are stripped when linking anyway: not making them saves a sixth of the time and a fifth of the build cache.
# Inlining is a quarter of the compiler's work and pays where a program spends its time: serving, encoding, caching, the standard
# library. These packages are generated types and clients, and control logic that waits for something else to happen.
WITHOUT_INLINING = (
    *(
        "k8s.io/api/...",
        "k8s.io/kubernetes/...",
        "k8s.io/apiextensions-apiserver/...",
        "k8s.io/kube-aggregator/...",
        "k8s.io/cloud-provider/...",
    ),
    *(f"k8s.io/client-go/{part}/..." for part in ("applyconfigurations", "informers", "kubernetes", "listers")),
    *("k8s.io/cli-runtime/...", "k8s.io/kubectl/...", "sigs.k8s.io/kustomize/...", "github.com/google/cadvisor/..."),
)
COMPILE_FLAGS = (
    *("-mod=readonly", "-trimpath", "-buildvcs=false", "-pgo=off", "-gcflags=all=-dwarf=false"),
    *(f"-gcflags={packages}=-dwarf=false -l" for packages in WITHOUT_INLINING),
)


class Program(NamedTuple):
    """One main package and the name its binary gets."""

    package: str
    binary: str
    tags: tuple[str, ...] = ()

    @property
    def default_binary(self) -> str:
        """What `go build` calls it: the last part of the import path that is not a major version."""
        *before, last = self.package.split("/")
        return before[-1] if before and last[:1] == "v" and last[1:].isdigit() else last


class GoComponent(NamedTuple):
    """Programs built together from one wrapper. `expected_seconds` is for two cores, what it shares with those before it compiled."""

    name: str
    version: str
    programs: tuple[Program, ...]
    link_flags: tuple[str, ...] = ()
    cgo: bool = False
    expected_seconds: float = 10
    """Recipes whose packages this one shares: started together, both would compile the same packages."""
    wrappers: Path = WRAPPERS

    @property
    def wrapper(self) -> Path:
        return self.wrappers / f"{self.name}-{self.version}"

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"

    def sources(self) -> dict[str, bytes]:
        """What is compiled, by name: the wrapper's own files, and what they share with others."""
        own = {name: self.wrapper / name for name in ("go.mod", "go.sum", "main.go")}
        found = {name: path.read_bytes() for name, path in own.items() if path.exists()}
        return found | ({"memory/memory.go": MEMORY.read_bytes()} if b'/memory"\n' in found.get("main.go", b"") else {})

    def identity(self) -> str:
        """Everything that decides the binaries: go.sum pins every byte of source. Which Go compiled it is left out on
        purpose: nobody should rebuild for ten minutes because Go was updated, or need Go at all to start what is already there."""
        digest = hashlib.sha256()
        for name, content in ({"go.mod": b"", "go.sum": b"", "main.go": b""} | self.sources()).items():
            digest.update(f"{name}\0".encode() + content + b"\0")
        flags = (self.programs, self.link_flags, COMPILE_FLAGS, self.cgo, goarch())
        digest.update(repr(flags).encode())
        return digest.hexdigest()


def made_wrappers() -> Path:
    """Where this machine keeps wrappers of Kubernetes versions that the catalogue has none of."""
    return paths.store() / "wrappers"


def is_current(wrapper: Path) -> bool:
    """Whether a wrapper that this machine or a bundle made is one that today's main programs fit."""
    try:
        return (wrapper / "go.mod").read_text().startswith(f"module {OWN}/")
    except OSError:
        return False


def kubernetes_wrappers(version: str) -> Path:
    return WRAPPERS if (WRAPPERS / f"kubernetes-{version}").exists() else made_wrappers()


def goarch() -> str:
    machine = platform.machine()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def go_components(versions: VersionSet) -> tuple[GoComponent, ...]:
    """Everything Go of a version set, the longest first."""
    return (
        _kubernetes(versions.kubernetes),
        _containerd(versions.containerd),
        _runc(versions.runc),
        _cni_plugins(versions.cni_plugins),
        GoComponent("coredns", versions.coredns, (Program(f"{OWN}/coredns", "coredns"),), expected_seconds=25),
        GoComponent(
            "etcd",
            versions.etcd,
            (Program(f"{OWN}/etcd", "etcd"),),
            link_flags=tuple(_set("go.etcd.io/etcd/api/v3/version", GitSHA=versions.etcd)),
            expected_seconds=15,
        ),
        GoComponent(
            "crictl",
            versions.crictl,
            (Program("sigs.k8s.io/cri-tools/cmd/crictl", "crictl"), Program(f"{OWN}/podstarter", "podstarter")),
            link_flags=tuple(_set("sigs.k8s.io/cri-tools/pkg/version", Version=versions.crictl)),
            expected_seconds=10,
        ),
        GoComponent(
            "storage-provisioner",
            versions.storage_provisioner,
            (Program(f"{OWN}/storage-provisioner", "storage-provisioner"),),
            expected_seconds=6,
        ),
    )


def _kubernetes(version: str) -> GoComponent:
    major, minor, _ = parts(version)
    stamps: list[str] = []
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        stamps += _set(package, gitVersion=version, gitMajor=str(major), gitMinor=str(minor), gitTreeState="clean", gitCommit="")
    return GoComponent(
        "kubernetes",
        version,
        (Program(f"{OWN}/kubernetes", "kubernetes"), Program("k8s.io/kubernetes/cmd/kubectl", "kubectl")),
        link_flags=tuple(stamps),
        expected_seconds=420,
        wrappers=kubernetes_wrappers(version),
    )


def _containerd(version: str) -> GoComponent:
    commands = "github.com/containerd/containerd/v2/cmd/"
    # Upstream's tags for a static build, without the snapshotters and the trace exporter that no node of ours can use.
    unused = ("no_btrfs", "no_devmapper", "no_zfs", "no_rdt", "no_tracing")
    static = ("urfave_cli_no_docs", "osusergo", "netgo", "static_build", *unused)
    return GoComponent(
        "containerd",
        version,
        (
            Program(f"{OWN}/containerd", "containerd", static),
            Program(commands + "ctr", "ctr", static),
            # As upstream builds it: the shim runs once per pod, and gRPC would be most of its memory.
            Program(commands + "containerd-shim-runc-v2", "containerd-shim-runc-v2", (*static, "no_grpc")),
        ),
        link_flags=tuple(_set("github.com/containerd/containerd/v2/version", Version=version)),
        expected_seconds=75,
    )


def _runc(version: str) -> GoComponent:
    # C code enters the namespaces, and libseccomp compiles the filters: static, because it runs on any host and in any node.
    return GoComponent(
        "runc",
        version,
        (Program("github.com/opencontainers/runc", "runc", ("seccomp", "urfave_cli_no_docs", "netgo", "osusergo")),),
        link_flags=(*_set("main", version=version.removeprefix("v")), "-extldflags=-static"),
        cgo=True,
        expected_seconds=12,
    )


def _cni_plugins(version: str) -> GoComponent:
    plugins = (
        "main/bridge",
        "main/loopback",
        "main/ptp",
        "ipam/host-local",
        "meta/portmap",
        "meta/firewall",
        "meta/tuning",
        "meta/bandwidth",
    )
    return GoComponent(
        "cni-plugins",
        version,
        tuple(Program(f"github.com/containernetworking/plugins/plugins/{plugin}", plugin.partition("/")[2]) for plugin in plugins),
        link_flags=tuple(_set("github.com/containernetworking/plugins/pkg/utils/buildversion", BuildVersion=version)),
        expected_seconds=8,
    )


def _set(package: str, **variables: str) -> Iterator[str]:
    for name, value in variables.items():
        yield f"-X={package}.{name}={value}"
