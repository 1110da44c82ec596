"""What a store entry is made of, file by file, as one end tells the other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from minikube.artifacts import sealing


class Item(NamedTuple):
    path: str
    kind: str
    """file, directory, link or special, as in seals."""
    mode: int
    uid: int
    gid: int
    mtime: int
    content: str
    """Digest of a file, target of a link, mode and number of a device."""
    size: int
    group: str
    """Files that are one file here (hard links) are to be one file there, and no others: a node must never share runc with its host."""
    attributes: dict[str, str]


def list_entry(entry: Path) -> list[Item]:
    """Everything in an entry, directories before what is in them."""
    return [_item(entry / sealing.CONTENT / path, path, *record) for path, record in sorted(sealing.records(entry).items())]


def _item(place: Path, path: str, kind: str, content: str) -> Item:
    about = place.lstat()
    if kind == "special":
        content = f"{about.st_mode} {about.st_rdev}"
    attributes = {} if kind == "link" else {name: os.getxattr(place, name).hex() for name in os.listxattr(place)}
    # The store may be an ordinary user's: what is theirs here is root's there.
    uid, gid = (0, 0) if about.st_uid == os.getuid() else (about.st_uid, about.st_gid)
    return Item(
        path=path,
        kind=kind,
        mode=about.st_mode & 0o7777,
        uid=uid,
        gid=gid,
        mtime=about.st_mtime_ns,
        content=content,
        size=about.st_size if kind == "file" else 0,
        group=f"{about.st_dev}:{about.st_ino}" if kind == "file" and about.st_nlink > 1 else "",
        attributes=attributes,
    )
