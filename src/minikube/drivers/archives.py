"""Files as a tar archive: how they pass through a command's stdin and stdout into a place that has no door of its own."""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Mapping, Sequence

from minikube.drivers.values import File


def put_command(root: str = "/") -> list[str]:
    """Reads what `pack` gives. Files that exist keep their inode: somebody may have them mounted."""
    return ["tar", "-x", "-p", "-f", "-", "--no-same-owner", "--overwrite", "-C", root]


def get_command(paths: Sequence[str], root: str = "/") -> list[str]:
    """Writes what `unpack` takes; complains about paths that are not there and ends with 2 then, which says nothing."""
    return ["tar", "-c", "-f", "-", "--dereference", "--ignore-failed-read", "-C", root, "--", *(path.lstrip("/") or "." for path in paths)]


def pack(files: Mapping[str, File]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, file in files.items():
            entry = tarfile.TarInfo(path.lstrip("/"))
            # Whoever keeps something made from a file, as Python does, knows by its time that it is another.
            entry.size, entry.mode, entry.mtime = len(file.content), file.mode, int(time.time())
            archive.addfile(entry, io.BytesIO(file.content))
    return stream.getvalue()


def unpack(data: bytes) -> dict[str, File]:
    """Path, from the root on, to regular file."""
    found = {}
    if data:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for entry in archive:
                content = archive.extractfile(entry) if entry.isreg() else None
                if content is not None:
                    found["/" + entry.name.removeprefix("./")] = File(content.read(), entry.mode & 0o7777)
    return found
