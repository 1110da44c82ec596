"""Every public address that components come from, and how files are called there. Nothing else knows any."""

from __future__ import annotations

from typing import NamedTuple

from minikube.artifacts.catalogue import VersionSet

KUBERNETES_RELEASES = "https://dl.k8s.io/release"
PROJECT_RELEASES = "https://github.com"
PROJECT_DESCRIPTIONS = "https://api.github.com/repos"
BUCKETS = "https://storage.googleapis.com"
IMAGES = "registry.k8s.io"

# Registries where Kubernetes' images are copied to, for countries from which the above is slow or not to be had.
IMAGES_BY_COUNTRY = {"cn": "registry.cn-hangzhou.aliyuncs.com/google_containers"}
# These have no directories below the project.
FLAT_REPOSITORIES = frozenset(IMAGES_BY_COUNTRY.values())

_CRI_O = ("bin/crio", "bin/pinns", "bin/conmon", "bin/conmonrs", "bin/crun")
_CNI_PLUGINS = ("bandwidth", "bridge", "firewall", "host-local", "loopback", "portmap", "ptp", "tuning")

DOCKER_HUB = "docker.io"
DOCKER_HUB_SERVER = "registry-1.docker.io"


class Signer(NamedTuple):
    """Who must have signed: an account, and who vouches for its log-in."""

    account: str
    issuer: str


KUBERNETES_SIGNER = Signer("krel-staging@k8s-releng-prod.iam.gserviceaccount.com", "https://accounts.google.com")


class ReleasedFile(NamedTuple):
    """A file that a project publishes, by its place below the project's releases."""

    place: str
    checksums: tuple[str, ...]
    """Places of files with its checksum, the strongest first; the first that exists counts."""
    base: str = PROJECT_RELEASES
    members: tuple[str, ...] = ()
    """What to take out of an archive, by base name, or by more of its path where that is not enough; of no archive: nothing."""
    description: str = ""
    """Where GitHub describes the release, with the digest of each file, for a project that publishes no checksums of its own."""
    signer: Signer | None = None
    """Whose signature and certificate are beside it, with `.sig` and `.cert` after its name."""

    @property
    def name(self) -> str:
        return self.place.rpartition("/")[2]

    def urls(self, place: str, mirror: str) -> tuple[str, ...]:
        """Where to ask, in order. A mirror of Kubernetes' binaries may lack other projects' files."""
        official = f"{self.base}/{place}"
        if not mirror:
            return (official,)
        return (f"{mirror}/{place}",) if self.base == KUBERNETES_RELEASES else (f"{mirror}/{place}", official)

    def checksum_urls(self, mirror: str) -> list[str]:
        """Where a file with its checksum may be, in order: all there may be on the mirror come first."""
        offered = [self.urls(place, mirror) for place in self.checksums]
        places = len(offered[0]) - (1 if self.description else 0)
        return [urls[number] for number in range(places) for urls in offered]

    @property
    def described_at(self) -> str:
        return f"{PROJECT_DESCRIPTIONS}/{self.description}"


def kubernetes_binary(name: str, version: str, architecture: str) -> ReleasedFile:
    place = f"{version}/bin/linux/{architecture}/{name}"
    return ReleasedFile(place, (f"{place}.sha512", f"{place}.sha256"), KUBERNETES_RELEASES, signer=KUBERNETES_SIGNER)


def newest_patch_url(minor: str, mirror: str) -> str:
    """Where the project says which patch of a minor version (`v1.36`) is the newest."""
    return f"{mirror or KUBERNETES_RELEASES}/stable-{minor.removeprefix('v')}.txt"


def containerd(version: str, architecture: str) -> ReleasedFile:
    """The static build: it also runs on this machine, whatever its libraries."""
    place = f"containerd/containerd/releases/download/{version}/containerd-static-{version.lstrip('v')}-linux-{architecture}.tar.gz"
    return ReleasedFile(place, (f"{place}.sha256sum",), members=("containerd", "containerd-shim-runc-v2", "ctr"))


def runc(version: str, architecture: str) -> ReleasedFile:
    directory = f"opencontainers/runc/releases/download/{version}"
    return ReleasedFile(f"{directory}/runc.{architecture}", (f"{directory}/runc.sha256sum",))


def cni_plugins(version: str, architecture: str) -> ReleasedFile:
    place = f"containernetworking/plugins/releases/download/{version}/cni-plugins-linux-{architecture}-{version}.tgz"
    return ReleasedFile(place, (f"{place}.sha512", f"{place}.sha256"), members=_CNI_PLUGINS)


def crictl(version: str, architecture: str) -> ReleasedFile:
    place = f"kubernetes-sigs/cri-tools/releases/download/{version}/crictl-{version}-linux-{architecture}.tar.gz"
    return ReleasedFile(place, (f"{place}.sha512", f"{place}.sha256"), members=("crictl",))


def cri_dockerd(version: str, architecture: str) -> ReleasedFile:
    """Its project publishes the archive alone; a mirror may have a checksum beside it."""
    project = "Mirantis/cri-dockerd"
    place = f"{project}/releases/download/{version}/cri-dockerd-{version.lstrip('v')}.{architecture}.tgz"
    return ReleasedFile(place, (f"{place}.sha256",), members=("cri-dockerd",), description=f"{project}/releases/tags/{version}")


def cri_o(version: str, architecture: str) -> ReleasedFile:
    """The static bundle, with what it starts containers with. Its completions and settings have files called `crio`, too."""
    place = f"cri-o/artifacts/cri-o.{architecture}.{version}.tar.gz"
    return ReleasedFile(place, (f"{place}.sha256sum",), BUCKETS, members=_CRI_O)


def image_names(versions: VersionSet, repository: str) -> dict[str, str]:
    """What the images of a version set are called in a registry, by component."""
    coredns = "coredns" if repository in FLAT_REPOSITORIES else "coredns/coredns"
    kubernetes = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
    return {
        **{name: f"{repository}/{name}:{versions.kubernetes}" for name in kubernetes},
        "etcd": f"{repository}/etcd:{versions.etcd.lstrip('v')}-0",
        "coredns": f"{repository}/{coredns}:{versions.coredns}",
        "pause": f"{repository}/pause:{versions.pause}",
    }
