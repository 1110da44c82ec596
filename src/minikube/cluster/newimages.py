"""The images of another Kubernetes version, for a node that has images of its own already.

A new node gets a containerd store with everything in it. One that exists keeps its store, with the images and containers of its user, and
imports what the new version brings: as its containerd starts, before its kubelet does.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from minikube.artifacts import sources
from minikube.artifacts.catalogue import VersionSet
from minikube.artifacts.rootspart import making
from minikube.cluster.mirrors import origin_of
from minikube.drivers.base import Node
from minikube.drivers.values import File
from minikube.output.progress import Progress
from minikube.profiles.clusterconfig import ClusterConfig
from minikube.profiles.paths import profile_directory

# In the node: which versions its images are of; and an archive to be imported, in parts.
PRESENT = "/var/lib/minikube/images"
ARRIVING = "/var/lib/minikube/new-images"
_SCRATCH = ".images-"
_PART = 32 << 20  # bytes: every driver can put a file whole, and none has to hold the archive


def bring(node: Node, versions: VersionSet, *, config: ClusterConfig, new: bool, progress: Progress, roots: Path | None = None) -> None:
    """Put what is missing on the node's disk. `new` is a node that never ran: it has just got the images of these versions.

    `roots`: the machine's directory, where that is root's own (`Driver.roots_directory`).
    """
    wanted = _words(versions, config.KubernetesConfig.ImageRepository)
    present = node.read(PRESENT)
    if present is None and new:
        node.put({PRESENT: File(wanted)})
    elif present != wanted and node.read(f"{ARRIVING}/version") != wanted:
        _put_archive(node, versions, config, progress, roots)
        # Last: without it the parts may not be all of them.
        node.put({f"{ARRIVING}/version": File(wanted)})


def are_arriving(node: Node) -> bool:
    return node.exists(f"{ARRIVING}/version")


def import_script() -> str:
    """Run in the node once containerd answers. What it is cut short in, it does again."""
    client = ["ctr", "--namespace", "k8s.io", "images", "import", "--local", "--discard-unpacked-layers", "--snapshotter", "overlayfs"]
    # The label is the CRI's: without it the image is not one that it looks after.
    load = shlex.join([*client, "--label", "io.cri-containerd.image=managed", "-"])
    return f"cat {ARRIVING}/*.part | {load} && mv {ARRIVING}/version {PRESENT} && rm -r {ARRIVING}"


def _put_archive(node: Node, versions: VersionSet, config: ClusterConfig, progress: Progress, roots: Path | None) -> None:
    with _scratch(roots or profile_directory(config.Name), root=bool(roots)) as scratch:
        archive = Path(scratch, "images.tar")
        with progress.task(f"Images of Kubernetes {versions.kubernetes} for a node that has others", unit="MB") as task:
            sources.write_images(versions, config.ComponentSource, origin_of(config), archive, progress)
            task.phase(archive.stat().st_size >> 20, "MB")
            with archive.open("rb") as stream:
                for number, part in enumerate(iter(lambda: stream.read(_PART), b"")):
                    node.put({f"{ARRIVING}/{number:04}.part": File(part)})
                    task.advance(len(part) >> 20)


@contextlib.contextmanager
def _scratch(directory: Path, *, root: bool) -> Iterator[str]:
    """A directory for the archive; not in /tmp, which may be memory. Only root may read what it is made of."""
    with making() if root else contextlib.nullcontext():
        for stale in directory.glob(f"{_SCRATCH}*"):  # of a command that was killed
            shutil.rmtree(stale, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=directory) as scratch:
            yield scratch


def _words(versions: VersionSet, repository: str) -> bytes:
    """Everything the images of a version set are made of, and the registry they are named after if it is not the public one."""
    parts = versions.kubernetes, versions.etcd, versions.coredns, versions.pause, versions.storage_provisioner, repository
    return (" ".join(part for part in parts if part) + "\n").encode()
