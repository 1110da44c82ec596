"""One command at a time per profile: a kernel lock that no crash can leave behind."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minikube.output.reason import Reason
from minikube.profiles.paths import home

_CONTENT = re.compile(rb"(\d+ minikube [^\n]*\n)?")
_LONGEST = 4096
_LOOKS_FOR_NAME = 10


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
    """Hold an exclusive lock on a file that names its holder, for as long as the block runs or the process lives.

    The holder may remove the file: who waits for it notices, and takes the next one.
    """
    deadline = time.monotonic() + timeout
    while True:
        descriptor = _open(path)
        try:
            on_wait = _acquire(descriptor, path, deadline=deadline, timeout=timeout, what=what, on_wait=on_wait)
            if _is_at(descriptor, path):
                break
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    try:
        os.ftruncate(descriptor, 0)
        with suppress(OSError):  # a full disk: the lock holds without its holder's name
            os.pwrite(descriptor, f"{os.getpid()} minikube {command}\n".encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    """The lock file. What is something else is never written to: not a link's target, and not a file with another content."""
    import stat

    from minikube.host.files import cannot_write

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _not_a_lock(path, "a symbolic link") from None
        raise cannot_write(path, error) from error
    about = os.fstat(descriptor)
    alone = stat.S_ISREG(about.st_mode) and about.st_nlink <= 1
    if not alone or not _CONTENT.fullmatch(os.pread(descriptor, _LONGEST, 0)):
        os.close(descriptor)
        raise _not_a_lock(path, "a file with another content" if alone else "something else")
    return descriptor


def _not_a_lock(path: Path, found: str) -> Reason:
    return Reason("HOST_HOME_PERMISSION", f"{path} is no lock of minikube but {found}", advice=f"Look at it, then remove it: rm {path}")


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the file is still the one that others find: a command that deletes a cluster removes its lock."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def _acquire(
    descriptor: int, path: Path, *, deadline: float, timeout: float, what: str, on_wait: Callable[[str], None] | None
) -> Callable[[str], None] | None:
    """Wait for the lock; gives `on_wait` back as long as it has not been told."""
    import fcntl

    looks = 0
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return on_wait
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
        # A holder writes its name a moment after it has the lock.
        looks += 1
        if on_wait is not None and (pid or looks > _LOOKS_FOR_NAME):
            on_wait(busy)
            on_wait = None
        time.sleep(0.05)
