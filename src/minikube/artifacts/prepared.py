"""A containerd store with all images of a version set already imported and unpacked."""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
import shutil
import stat
import struct
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
SNAPSHOTS = "io.containerd.snapshotter.v1.overlayfs/snapshots"

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
_CAPABILITIES = "security.capability"


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
    _disarm(destination)
    (destination / SECCOMP).write_text(rules)
    for inside, source in (share or {}).items():
        _share(destination, inside, source)


@contextlib.contextmanager
def private_containerd(root: Path, containerd: Path) -> Iterator[str]:
    """A containerd without CRI on a store, for as long as it is needed; gives the address for `ctr`."""
    # A directory of its own, not one in the store: the path of a unix socket may have 107 bytes only.
    with tempfile.TemporaryDirectory(prefix="minikube-") as scratch:
        config, log, address = Path(scratch, "config.toml"), Path(scratch, "log"), Path(scratch, "containerd.sock")
        config.write_text(_CONFIG.format(root=root.resolve(), scratch=scratch))
        with log.open("wb") as output:
            process = spawn(
                tied([str(containerd), "--config", str(config), "--log-level", "warn"], own_mounts=True, own_network=True), stderr=output
            )
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


def _disarm(store: Path) -> None:
    """The store is within reach of this machine's users: no file of an image may give one of them rights, or be a device."""
    for directory, names, files in os.walk(store / SNAPSHOTS):
        for name in (*names, *files):
            path = Path(directory, name)
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                if status.st_mode & (stat.S_ISUID | stat.S_ISGID):
                    path.chmod(status.st_mode & 0o777)
                _limit_capabilities(path)
            elif (stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)) and status.st_rdev:  # 0:0 marks what a layer removes
                path.unlink()


def _limit_capabilities(path: Path) -> None:
    """Low ports are all that the programs of Kubernetes' images ask for by themselves."""
    try:
        granted = os.getxattr(path, _CAPABILITIES)
    except OSError:
        return
    low_ports = struct.pack("<I", 1 << 10)
    if len(granted) != 20 or any(granted[place : place + 4] not in (bytes(4), low_ports) for place in (4, 8)) or any(granted[12:]):
        os.removexattr(path, _CAPABILITIES)


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
    for file in store.glob(f"{SNAPSHOTS}/*/fs/{inside}"):
        if filecmp.cmp(file, source, shallow=False):
            link = file.with_name(f"{file.name}.shared")
            # Another file system: both copies stay, which costs space and nothing else.
            with contextlib.suppress(OSError):
                link.hardlink_to(source)
                link.replace(file)
