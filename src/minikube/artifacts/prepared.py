"""A containerd store with all images of a version set already imported and unpacked, and its quick copy for a new node."""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from minikube.artifacts.oci import image_ids
from minikube.host.process import ProcessFailed, run, spawn, tied
from minikube.output.reason import Reason

SECCOMP = "seccomp.json"
"""In a prepared store: the system calls this containerd lets a container make if nobody says otherwise (RuntimeDefault)."""

_NAMESPACE = "k8s.io"
_SNAPSHOTS = "io.containerd.snapshotter.v1.overlayfs/snapshots"

# Everything else that containerd keeps is about the one daemon that made it (its id, its tasks), or empty.
_KEPT = ("io.containerd.content.v1.content", "io.containerd.metadata.v1.bolt", "io.containerd.snapshotter.v1.overlayfs")

# The CRI plugin would write these itself, image by image and with an fsync each, on the first start of every cluster.
_MANAGED = "io.cri-containerd.image=managed"
_PINNED = "io.cri-containerd.pinned=pinned"

_CONFIG = """\
version = 3
root = "{root}"
state = "{scratch}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.nri.v1.nri"]
[grpc]
address = "{scratch}/containerd.sock"
[ttrpc]
address = "{scratch}/containerd.sock.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
path = "{scratch}/opt"
"""

_START_SECONDS = 60
_SMALL = 1 << 20  # bytes in a file


def build_prepared_store(
    destination: Path,
    *,
    containerd: Path,
    ctr: Path,
    archives: Sequence[Path],
    pinned: Sequence[str] = (),
    share: Mapping[str, Path] | None = None,
) -> None:
    """Fill an empty directory with what becomes a node's /var/lib/containerd.

    The kubelet never collects images named in `pinned`. `share` names files in images (`usr/local/bin/kubernetes`) that are the same as a
    file the node has anyway: they become hard links to it, so that both are one file on disk and in memory.
    """
    with private_containerd(destination, containerd) as address:
        client = [str(ctr), "--address", address, "--namespace", _NAMESPACE]
        for archive in archives:
            run([*client, "images", "import", "--local", "--snapshotter", "overlayfs", "--label", _MANAGED, str(archive)])
            for name, image_id in image_ids(archive).items():
                if name in pinned:
                    run([*client, "images", "label", name, _MANAGED, _PINNED])
                # The CRI keeps every image under its id as well; --force because two names may be one image.
                run([*client, "images", "tag", "--local", "--force", "--skip-reference-check", name, image_id])
        # Unpacked is all a node needs: without the layers' tars the store is half the size. Waits for the garbage collector.
        run([*client, "content", "prune", "references"])
        rules = _default_rules(client)
    for path in destination.iterdir():
        if path.name not in _KEPT:
            shutil.rmtree(path)
    (destination / SECCOMP).write_text(rules)
    for inside, source in (share or {}).items():
        _share(destination, inside, source)


def clone_store(prepared: Path, destination: Path, *, layers: Path, seen_at: str) -> None:
    """Give a node its own store: databases as copies, large image layers as hard links in `layers`, which the node sees at `seen_at`.

    Linked files are one file with those of other clusters, so the node must not be able to write to what it sees at `seen_at`.
    The store is there whole or, after a crash, not at all.
    """
    unfinished = destination.with_name(f"{destination.name}.unfinished")
    for left in (unfinished, layers):
        if left.exists():
            shutil.rmtree(left)
    layers.mkdir(parents=True)
    _clone_directory(str(prepared), str(unfinished), layers=(f"{prepared}/{_SNAPSHOTS}", str(layers), seen_at))
    unfinished.rename(destination)


@contextlib.contextmanager
def private_containerd(root: Path, containerd: Path) -> Iterator[str]:
    """A containerd without CRI on a store, for as long as it is needed; gives the address for `ctr`."""
    # A directory of its own, not one in the store: the path of a unix socket may have 107 bytes only.
    with tempfile.TemporaryDirectory(prefix="minikube-") as scratch:
        config, log, address = Path(scratch, "config.toml"), Path(scratch, "log"), Path(scratch, "containerd.sock")
        config.write_text(_CONFIG.format(root=root.resolve(), scratch=scratch))
        with log.open("wb") as output:
            process = spawn(tied([str(containerd), "--config", str(config), "--log-level", "warn"], own_mounts=True), stderr=output)
        try:
            _wait_for_socket(address, process)
            yield str(address)
        except (ProcessFailed, TimeoutError) as failed:
            raise Reason("RUNTIME_CACHE", f"the images cannot be prepared: {failed}\n{log.read_text()[-2000:]}".rstrip()) from failed
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _default_rules(client: Sequence[str]) -> str:
    """Asked for with a container that is never started: containerd has no other way to tell."""
    run([*client, "containers", "create", "--rootfs", "--seccomp", "/", "rules"])
    specification = json.loads(run([*client, "containers", "info", "--spec", "rules"]).stdout)
    run([*client, "containers", "delete", "rules"])
    return json.dumps(specification["linux"]["seccomp"], indent=1) + "\n"


def _wait_for_socket(address: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not address.exists():
        if process.poll() is not None:
            raise ProcessFailed(["containerd"], process.returncode, "")
        if time.monotonic() > deadline:
            raise TimeoutError(f"containerd did not answer within {_START_SECONDS} s")
        time.sleep(0.02)


def _share(store: Path, inside: str, source: Path) -> None:
    for file in store.glob(f"{_SNAPSHOTS}/*/fs/{inside}"):
        if filecmp.cmp(file, source, shallow=False):
            link = file.with_name(f"{file.name}.shared")
            # Another file system: both copies stay, which costs space and nothing else.
            with contextlib.suppress(OSError):
                link.hardlink_to(source)
                link.replace(file)


def _clone_directory(source: str, destination: str, *, layers: tuple[str, str, str] | None, link: bool = False) -> None:
    os.mkdir(destination)  # noqa: PTH102 (strings all the way: this runs at every creation of a node)
    with os.scandir(source) as entries:
        for entry in entries:
            target = f"{destination}/{entry.name}"
            if layers and entry.name == "fs" and source.startswith(layers[0]) and _is_large(entry.path):
                number = os.path.basename(source)  # noqa: PTH119
                _clone_directory(entry.path, f"{layers[1]}/{number}", layers=None, link=True)
                os.symlink(f"{layers[2]}/{number}", target)  # noqa: PTH211
            elif entry.is_dir(follow_symlinks=False):
                _clone_directory(entry.path, target, layers=layers, link=link)
            elif link:
                _link_or_copy(entry.path, target)
            else:
                _copy(entry.path, target)
    _keep_attributes(source, destination)


def _is_large(layer: str) -> bool:
    """Small ones are copied: a pod in a user namespace needs the pause image on a file system that can map ids, which overlayfs cannot."""
    return any(os.lstat(f"{directory}/{name}").st_size > _SMALL for directory, _, names in os.walk(layer) for name in names)


def _link_or_copy(source: str, target: str) -> None:
    """A hard link where it can be: unlike a reflink it also shares memory with the other clusters."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        _copy(source, target)


def _copy(source: str, target: str) -> None:
    if os.path.islink(source):  # noqa: PTH114
        os.symlink(os.readlink(source), target)  # noqa: PTH115, PTH211
    else:
        with open(source, "rb") as original, open(target, "xb") as copy:  # noqa: PTH123
            if not _reflink(original.fileno(), copy.fileno()):
                shutil.copyfileobj(original, copy, 1 << 20)
    _keep_attributes(source, target)


def _reflink(original: int, copy: int) -> bool:
    import fcntl

    ficlone = 0x40049409
    try:
        fcntl.ioctl(copy, ficlone, original)
    except OSError:
        return False
    return True


def _keep_attributes(source: str, target: str) -> None:
    """Mode, times and extended attributes (overlayfs marks opaque directories with one), and as root the owner."""
    if os.geteuid() == 0:
        status = os.lstat(source)
        os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)
    shutil.copystat(source, target, follow_symlinks=False)
