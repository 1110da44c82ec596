"""Whether root in a node can be somebody else on the host. `start` finds out by trying; this says why not, and what would help."""

from __future__ import annotations

import re

from minikube.drivers.checks import Finding, Ground, doubtful, fine
from minikube.drivers.native.checks.mounts import mount_of

OLDEST = (5, 19)  # overlays of directories with shifted owners
OLDEST_WITH_TMPFS = (6, 3)
# What the kernel can show with other owners than on disk.
ABLE = ("ext4", "xfs", "btrfs", "f2fs", "bcachefs", "zfs")
MEANING = "root in a node is root on this machine, for whoever may make privileged pods"


def shifted_root(ground: Ground) -> Finding:
    number = re.match(r"(\d+)\.(\d+)", ground.kernel)
    version = tuple(map(int, number.groups())) if number else (0, 0)
    if version < OLDEST:
        return doubtful(f"Linux {ground.kernel} cannot do it: {MEANING}", "Update the system to a kernel of version 5.19 or newer.")
    if not ground.path("/proc/self/ns/user").exists() or ground.number("/proc/sys/user/max_user_namespaces", 1) == 0:
        return doubtful(f"none may be made: {MEANING}", "Run: sudo sysctl -w user.max_user_namespaces=15000")
    able = ABLE + (("tmpfs",) if version >= OLDEST_WITH_TMPFS else ())
    for place, setting in ((ground.home, "MINIKUBE_HOME"), (ground.store, "MINIKUBE_STORE")):
        mount = mount_of(ground, place)
        if mount and mount.kind not in able:
            return doubtful(
                f"{place} is on {mount.kind}, which cannot do it: {MEANING}",
                f"Set {setting} to a directory on a disk of this machine (ext4, xfs, btrfs): export {setting}=/path",
            )
    return fine("root in a node is an ordinary user on this machine")
