"""Files as a tar archive: how they pass through a command's stdin and stdout into a place that has no door of its own."""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Mapping, Sequence

from minikube.drivers.values import File
from minikube.output.reason import Reason

MOST_BYTES = 64 << 20
MOST_MEMBERS = 20_000
MOST_HEADERS = 1 << 16
_REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE)


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
            entry.size, entry.mode, entry.mtime = len(file.content), file.mode & 0o777, int(time.time())
            archive.addfile(entry, io.BytesIO(file.content))
    return stream.getvalue()


def unpack(data: bytes, asked: Sequence[str] | None) -> dict[str, File]:
    """Path, from the root on, to regular file. What is not the answer to what was asked for is refused: others wrote it.

    `asked` are the paths that may come, and directories that they may be below; None if the archive is one of our own.
    """
    wanted = None if asked is None else [_normal(path) for path in asked]
    found: dict[str, File] = {}
    left = MOST_BYTES
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:", tarinfo=_Member) as archive:
            for number, entry in enumerate(archive):
                path = _normal(entry.name)
                if number >= MOST_MEMBERS:
                    raise _refused(f"more than {MOST_MEMBERS} files")
                if wanted is not None and not any(path == one or path.startswith(f"{one.rstrip('/')}/") for one in wanted):
                    raise _refused(f"{path!r:.200}, which was not asked for")
                content = archive.extractfile(entry) if entry.type in _REGULAR else None
                if content is not None and not entry.issparse():
                    left -= entry.size
                    if left < 0:
                        raise _refused(f"more than {MOST_BYTES >> 20} MB")
                    found[path] = File(content.read(entry.size), entry.mode & 0o777)
    except (tarfile.TarError, ValueError, OverflowError, EOFError, OSError, LookupError, RecursionError) as error:
        if data:
            raise _refused(f"what is no archive ({error!s:.200})") from error
    return found


class _Member(tarfile.TarInfo):
    """Pythons up to 3.13.5 do not get out of an archive with a negative size (CVE-2025-8194), or with long headers (CVE-2024-6232)."""

    def _block(self, count: int) -> int:
        if count < 0:
            raise tarfile.ReadError("a size below zero")
        return super()._block(count)  # type: ignore[misc, no-any-return]

    def _proc_pax(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.size > MOST_HEADERS:
            raise tarfile.ReadError("too long a header")
        return super()._proc_pax(archive)  # type: ignore[misc, no-any-return]


def _normal(name: str) -> str:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in name:
        raise _refused(f"{name!r:.200}, which is no plain path")
    return "/" + "/".join(parts)


def _refused(what: str) -> Reason:
    return Reason(
        "GUEST_STATUS", f"The node answers a request for files with {what}", advice="See `minikube ssh`: its tar is not to be trusted."
    )
