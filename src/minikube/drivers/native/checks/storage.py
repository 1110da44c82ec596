"""Where clusters and components live: may it be written, is it the right kind, is there room."""

from __future__ import annotations

import os
from pathlib import Path

from minikube.drivers.checks import Finding, Ground, doubtful, fine, lacking
from minikube.drivers.native.checks.mounts import mount_of

# The upper layer of a container's root: the kernel refuses these, or they lose owners and modes.
UNSUITABLE = ("overlay", "aufs", "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "vfat", "exfat", "ntfs", "ntfs3", "ecryptfs", "fuse")
LEAST_SPACE, COMFORTABLE_SPACE = 500 << 20, 2 << 30  # a new cluster's own files; room for a few images besides
LEAST_INODES, COMFORTABLE_INODES = 20_000, 100_000
_ELSEWHERE = "Set MINIKUBE_HOME to a directory on a disk of this machine (ext4, xfs, btrfs): export MINIKUBE_HOME=/path"


def home_writable(ground: Ground) -> Finding:
    place = _existing(ground.home)
    if not place.is_dir():
        return lacking(f"{place} is not a directory", "Move it away, or set MINIKUBE_HOME to another directory.")
    # access() knows about root, read-only file systems and access lists; the mode bits alone do not.
    if not os.access(place, os.W_OK | os.X_OK):
        return lacking(f"{place} is not writable for you", f"Run: sudo chown -R $USER {place}; or set MINIKUBE_HOME to another directory.")
    return fine(str(ground.home))


def home_filesystem(ground: Ground) -> Finding:
    mount = mount_of(ground, _existing(ground.home))
    if mount is None:
        return doubtful("what kind of file system the home is on cannot be told", "Mount /proc.")
    if mount.kind.split(".")[0] in UNSUITABLE:
        return lacking(f"{ground.home} is on {mount.kind}, which cannot hold the roots of containers", _ELSEWHERE)
    return fine(mount.kind)


def executable(ground: Ground) -> Finding:
    for place, setting in ((ground.home, "MINIKUBE_HOME"), (ground.store, "MINIKUBE_STORE")):
        mount = mount_of(ground, _existing(place))
        if mount and "noexec" in mount.options:
            return lacking(
                f"no program may run from {place}: {mount.point} is mounted noexec",
                f"Run: sudo mount -o remount,exec {mount.point}; or set {setting} to another directory.",
            )
    return fine("from the home and from the store")


def space(ground: Ground) -> Finding:
    figures = ground.filesystem(_existing(ground.home))
    free = figures.f_bavail * figures.f_frsize
    detail = f"{_size(free)} for clusters, in {ground.home}"
    if free < LEAST_SPACE:
        return lacking(f"only {detail}", "Free some space there, or set MINIKUBE_HOME to a directory on a larger file system.")
    if free < COMFORTABLE_SPACE:
        return doubtful(f"only {detail}: room for little more than the cluster itself", "Free some space there.")
    return fine(detail)


def inodes(ground: Ground) -> Finding:
    figures = ground.filesystem(_existing(ground.home))
    if figures.f_files == 0:
        return fine("this file system has as many as it has space for")
    detail = f"{figures.f_favail} more files and directories can be made in {ground.home}"
    fix = "Remove directories with very many small files from that file system, or set MINIKUBE_HOME to another one."
    if figures.f_favail < LEAST_INODES:
        return lacking(f"only {detail}", fix)
    return doubtful(f"only {detail}", fix) if figures.f_favail < COMFORTABLE_INODES else fine(detail)


def together(ground: Ground) -> Finding:
    if _existing(ground.home).stat().st_dev == _existing(ground.store).stat().st_dev:
        return fine("on one file system: nodes share images by hard links")
    return doubtful(
        f"{ground.home} and {ground.store} are on different file systems: each new cluster copies its images",
        "Set MINIKUBE_STORE to a directory on the file system of the home.",
    )


def _existing(path: Path) -> Path:
    """The path, or the directory it will be made in."""
    return next(place for place in (path, *path.parents) if place.exists())


def _size(count: int) -> str:
    return f"{count / (1 << 30):.1f} GB" if count >= 1 << 30 else f"{count >> 20} MB"
