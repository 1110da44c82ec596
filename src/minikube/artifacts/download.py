"""Downloads: what has arrived stays over interruptions, and nothing is given out before its checksum is right."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import urllib3

from minikube.artifacts.digests import Digest
from minikube.artifacts.followed import raise_if_stopping
from minikube.artifacts.web import Trouble, Web, announced_length, cut_short
from minikube.host.files import cannot_write, sync_directory
from minikube.output.progress import Progress, Task, silent
from minikube.output.reason import Reason

_MB = 1 << 20
_BLOCK = 1 << 18
_AT_ONCE = 6  # connections; more gain nothing and look like an attack
_ENOUGH_TO_COUNT = 1 << 16  # bytes that make an attempt one that has moved on
_WRONG_TWICE = 2
_LARGEST = 4 << 30  # bytes in a file whose size nobody said


class Wanted(NamedTuple):
    """A file by its content. `urls` are places that may have it, the best first; a place without it leads to the next."""

    urls: Sequence[str]
    digest: Digest
    label: str = ""
    """For people; without one it is not worth showing."""
    size: int | None = None
    """None if nobody said."""
    headers: Mapping[str, str] = {}


class Downloads:
    """Below one directory: files and parts of files, named after the digest of the whole, whichever server they come from.

    Whole ones stay until `forget`, for others that want the same and for a next attempt at what failed after they had arrived.
    """

    def __init__(self, directory: Path, web: Web, progress: Progress) -> None:
        self.directory, self.web, self.progress = directory, web, progress
        self.bytes_moved = 0
        self._places = threading.BoundedSemaphore(_AT_ONCE)
        self._arrived: set[Path] = set()

    def fetch(self, wanted: Wanted, target: Path) -> None:
        """Have the file at `target`: whole and right, or not there."""
        whole = self.directory / wanted.digest.file_name
        with self._part(whole.with_name(f"{whole.name}.part")) as part:
            if not (whole.exists() and wanted.digest.of_file(whole) == wanted.digest):
                _check_space(self.directory, wanted, part.seek(0, os.SEEK_END))
                self._load(wanted, part)
                os.fsync(part.fileno())
                Path(part.name).replace(whole)
            self._arrived.add(whole)
            try:
                target.hardlink_to(whole)
            except OSError:
                shutil.copyfile(whole, target)
            sync_directory(target.parent)

    def forget(self) -> None:
        """Remove what was fetched and given out: it has found its place."""
        for whole in self._arrived:
            whole.unlink(missing_ok=True)
            whole.with_name(f"{whole.name}.part").unlink(missing_ok=True)

    def _load(self, wanted: Wanted, part: BinaryIO) -> None:
        shown = self.progress if wanted.label else silent()
        with self._places, shown.task(wanted.label, unit="MB") as task:
            for url in wanted.urls:
                try:
                    _Transfer(self, wanted, url, part, task).run()
                    break
                except Reason as reason:
                    if reason.id != "INET_NOT_FOUND" or url == wanted.urls[-1]:
                        raise

    @contextlib.contextmanager
    def _part(self, path: Path) -> Iterator[BinaryIO]:
        """The part that is here so far, with its lock: two that write at once would spoil it."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            while True:
                raise_if_stopping()
                with path.open("a+b") as part:
                    if _lock(part, path):
                        yield part
                        return
                time.sleep(0.1)
        except OSError as error:
            raise cannot_write(path, error) from error


class _Transfer:
    """One file from one server, over as many connections as it takes."""

    def __init__(self, downloads: Downloads, wanted: Wanted, url: str, part: BinaryIO, task: Task) -> None:
        self.downloads, self.web, self.wanted, self.url, self.part, self.task = downloads, downloads.web, wanted, url, part, task
        self.validator = ""  # what the server calls the version we have a part of
        self.wrong = 0

    def run(self) -> None:
        tried = 0
        while True:
            before = self._have()
            try:
                self._attempt(before)
                return
            except Trouble as trouble:
                tried = 1 if self._have() - before >= _ENOUGH_TO_COUNT else tried + 1
                if not trouble.passing or tried >= self.web.patience.attempts:
                    raise trouble.reason from trouble
                self.task.note(f"attempt {tried + 1}")
                self.web.pause(tried, trouble)

    def _attempt(self, have: int) -> None:
        response = None if have == self.wanted.size else self._open(have)
        if response:
            try:
                have, total = self._begin(response, have)
                self._receive(response, have, total)
            finally:
                response.close()
        self._check()

    def _open(self, have: int) -> urllib3.BaseHTTPResponse | None:
        """The answer with what is still missing; None if the server has no more than we do."""
        headers = dict(self.wanted.headers)
        if have:
            headers["Range"] = f"bytes={have}-"
            if self.validator:
                headers["If-Range"] = self.validator
        try:
            return self.web.open(self.url, headers=headers)
        except Trouble as trouble:
            if trouble.status != 416:
                raise
            return None

    def _begin(self, response: urllib3.BaseHTTPResponse, have: int) -> tuple[int, int]:
        """Where this answer's bytes belong, and how many there will be in all (0 if it does not say)."""
        length = announced_length(response.headers) or 0
        if response.status == 206:
            first = response.headers.get("Content-Range", "").removeprefix("bytes").strip().partition("-")[0]
            if first != str(have):
                self._start_over()
                raise Trouble(
                    Reason("INET_DOWNLOAD_FAILED", f"{self.url}: the server sends another part than it was asked for"), passing=True
                )
        elif have:
            self._start_over()
            have = 0
        tag = response.headers.get("ETag", "")
        self.validator = tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified", "")
        total = have + length if length else 0
        if total and (total > _LARGEST if self.wanted.size is None else total != self.wanted.size):
            self._start_over()
            should = f"at most {_LARGEST}" if self.wanted.size is None else self.wanted.size
            raise Trouble(Reason("INET_BAD_CHECKSUM", f"{self.url} has {total} bytes, and it should have {should}"), passing=False)
        self.task.set(have / _MB, (total or self.wanted.size or 0) / _MB or None)
        return have, total

    def _receive(self, response: urllib3.BaseHTTPResponse, have: int, total: int) -> None:
        began, at_first = time.monotonic(), have
        expected, most = (total, _LARGEST) if self.wanted.size is None else (self.wanted.size, self.wanted.size)
        while data := self.web.chunk(response, self.url, _BLOCK):
            raise_if_stopping()
            self.part.write(data)
            have += len(data)
            self.downloads.bytes_moved += len(data)
            self.task.set(have / _MB)
            if have > most:
                self._start_over()
                raise Trouble(Reason("INET_BAD_CHECKSUM", f"{self.url} goes on after the {most} bytes it may have"), passing=False)
            seconds = time.monotonic() - began
            if seconds > self.web.patience.idle:
                if (have - at_first) / seconds < self.web.patience.slowest:
                    self.part.flush()
                    message = f"{self.url} comes at {(have - at_first) / seconds:.0f} bytes a second: too slow to ever end"
                    raise Trouble(Reason("INET_DOWNLOAD_TIMEOUT", message), passing=True)
                began, at_first = time.monotonic(), have
        self.part.flush()
        if have < expected:
            raise cut_short(self.url, have, expected)

    def _check(self) -> None:
        found, expected = self.wanted.digest.of_file(Path(self.part.name)), self.wanted.digest
        if found == expected:
            return
        self._start_over()
        self.wrong += 1
        reason = Reason(
            "INET_BAD_CHECKSUM",
            f"{self.url} is not what it should be: it is {found[:23]}…, and {expected[:23]}… was published",
            advice="It was not used. A proxy or mirror on the way may have changed it: try another (--binary-mirror, --image-repository).",
        )
        # Once more from the first byte: a part may have been of another file.
        raise Trouble(reason, passing=self.wrong < _WRONG_TWICE)

    def _have(self) -> int:
        return self.part.seek(0, os.SEEK_END)

    def _start_over(self) -> None:
        self.part.truncate(0)
        self.validator = ""


def _lock(part: BinaryIO, path: Path) -> bool:
    try:
        fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever held it may have finished it: then it has another name by now.
        return path.stat().st_ino == os.fstat(part.fileno()).st_ino
    except (BlockingIOError, FileNotFoundError):
        return False


def _check_space(directory: Path, wanted: Wanted, have: int) -> None:
    free = shutil.disk_usage(directory).free
    if wanted.size and wanted.size - have > free:
        raise Reason(
            "RSRC_INSUFFICIENT_STORAGE",
            f"{wanted.label or wanted.digest[:23]} has {wanted.size / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free in {directory}",
            advice="Free some space there, or set MINIKUBE_STORE to a directory on a larger file system.",
        )
