"""One command at a time per profile: a kernel lock that no crash can leave behind."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minikube.output.reason import Reason
from minikube.profiles.paths import home


def lock_file(name: str) -> Path:
    """Outside the profile's directory: the lock must exist before the profile does, and outlive its deletion."""
    return home() / "locks" / f"{name}.lock"


@contextmanager
def profile_lock(profile: str, *, command: str, timeout: float = 600.0, on_wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the profile's lock. A second command waits up to `timeout` seconds; `on_wait` is told once whom it waits for."""
    with file_lock(lock_file(profile), command=command, timeout=timeout, on_wait=on_wait, what=f'The cluster "{profile}"'):
        yield


@contextmanager
def file_lock(path: Path, *, command: str, timeout: float, what: str, on_wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold an exclusive lock on a file that names its holder, for as long as the block runs or the process lives."""
    import fcntl

    from minikube.host.files import cannot_write

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        _acquire(descriptor, path, timeout=timeout, what=what, on_wait=on_wait)
        os.ftruncate(descriptor, 0)
        with suppress(OSError):  # a full disk: the lock holds without its holder's name
            os.pwrite(descriptor, f"{os.getpid()} minikube {command}\n".encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(descriptor, 0)
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, path: Path, *, timeout: float, what: str, on_wait: Callable[[str], None] | None) -> None:
    import fcntl

    deadline = time.monotonic() + timeout
    told = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            pass
        pid, _, holder = os.pread(descriptor, 400, 0).decode(errors="replace").strip().partition(" ")
        busy = f"{what} is in use by `{holder or 'another command'}`" + (f" (process {pid})" if pid else "")
        if time.monotonic() >= deadline:
            raise Reason(
                "HOST_PROFILE_LOCKED",
                f"{busy}; gave up after {timeout:g} s",
                advice=f"Wait until it is done, or end it with: kill {pid}" if pid else f"Find out who holds it with: fuser {path}",
                exit_code=31,
            )
        if not told and on_wait is not None:
            on_wait(busy)
            told = True
        time.sleep(0.05)
