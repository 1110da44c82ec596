"""The first things on a machine, which has only a shell: busybox from the node image, with it the image, and the agent's code.

From then on the agent, run by the image's own Python, takes over: see transfer.py.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import shlex
import subprocess
import tarfile
import threading
from pathlib import Path

from minikube.drivers.ssh import place
from minikube.drivers.ssh.agentcode import MAIN, PACKAGE, START, code
from minikube.drivers.ssh.connection import Connection
from minikube.drivers.ssh.probe import Found
from minikube.host.process import Completed
from minikube.output.progress import Progress, Task
from minikube.output.reason import Reason


def install_image(connection: Connection, found: Found, entry: Path, progress: Progress) -> int:
    """Copy a node image to a machine that has none, as the store has it: its seal is checked there before a node uses it."""
    image = entry / "content"
    incoming = f"{place.STORE}/incoming-{entry.name}-{os.getpid()}"
    busybox = f"{incoming}/busybox"
    _send(
        connection, found, f"mkdir -p {incoming}/entry {place.ENTRIES} && cat > {busybox} && chmod 755 {busybox}", image / "usr/bin/busybox"
    )
    size = sum(path.lstat().st_size for path in image.rglob("*") if not path.is_symlink() and path.is_file())
    script = (
        f"trap 'rm -rf {incoming}' EXIT; {busybox} tar -xz -f - -C {incoming}/entry && mv {incoming}/entry {place.ENTRIES}/{entry.name}"
    )
    with progress.task(f"copying the node image to {connection.target.address}", size / 1e6, "MB") as task:
        _stream(connection, found, script, entry, task)
    return size


def install_agent(connection: Connection, found: Found, digest: str) -> None:
    """Copy the agent's code."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", format=tarfile.GNU_FORMAT, compresslevel=1) as archive:
        for path in code():
            archive.add(path, f"minikube/{path.relative_to(PACKAGE)}", filter=_as_root)
        for name, text in (("start", START), ("agent.py", MAIN)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    incoming = f"{place.AGENTS}/.incoming-{digest}-{os.getpid()}"
    busybox = f'for image in {place.ENTRIES}/node-image-*/content; do :; done; tar="$image/usr/bin/busybox tar"'
    script = (
        f"{busybox}; mkdir -p {incoming} && $tar -xz -f - -C {incoming} && {{ mv {incoming} {place.AGENTS}/{digest} || rm -r {incoming}; }}"
    )
    _check(connection, connection.run(_as_shell(found, script), input=stream.getvalue(), timeout=120))


def _send(connection: Connection, found: Found, script: str, file: Path) -> None:
    _check(connection, connection.run(_as_shell(found, script), input=file.read_bytes(), timeout=120))


def _stream(connection: Connection, found: Found, script: str, entry: Path, task: Task) -> None:
    """A compressed tar of a store entry into a script's stdin."""
    process = connection.spawn(_as_shell(found, script))
    assert process.stdin and process.stderr  # noqa: S101
    words: list[bytes] = []
    reader = threading.Thread(target=lambda: words.append(process.stderr.read() if process.stderr else b""))
    reader.start()
    try:
        with (
            contextlib.suppress(BrokenPipeError),
            process.stdin as pipe,
            gzip.GzipFile(fileobj=pipe, mode="wb", compresslevel=1, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT) as archive,
        ):
            for path in (entry / "seal", entry / "content"):
                archive.add(path, path.name, filter=lambda item: _counted(item, task))
        process.wait(timeout=300)
    except BaseException as error:
        process.kill()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Reason("IF_SSH_CLIENT", f"{connection.target.address} does not take the node image") from None
        raise
    finally:
        reader.join(10)
        if process.stdout:
            process.stdout.close()
    if process.returncode:
        raise _failed(connection, b"".join(words).decode(errors="replace"))


def _counted(item: tarfile.TarInfo, task: Task) -> tarfile.TarInfo:
    task.advance(item.size / 1e6)
    return _as_root(item)


def _as_root(item: tarfile.TarInfo) -> tarfile.TarInfo:
    """The store may be an ordinary user's: what is theirs here is root's there."""
    if item.uid == os.getuid():
        item.uid = item.gid = 0
    item.uname = item.gname = ""
    return item


def _as_shell(found: Found, script: str) -> str:
    return f"{found.sudo}sh -c {shlex.quote(script)}"


def _check(connection: Connection, answer: Completed) -> None:
    if answer.code:
        raise _failed(connection, answer.error_text)


def _failed(connection: Connection, words: str) -> Reason:
    if "no space left" in words.lower():
        return Reason(
            "RSRC_INSUFFICIENT_STORAGE", f"{connection.target.address} has no space left in {place.STORE}", advice="Make 1 GB free there."
        )
    return Reason("GUEST_PROVISION", f"{connection.target.address} cannot be prepared in {place.STORE}: {words.strip()[-1000:]}")
