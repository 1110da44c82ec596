"""Downloads: what has arrived stays over interruptions, and nothing is given out before its checksum is right."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import urllib3

from minikube.artifacts.followed import raise_if_stopping
from minikube.artifacts.web import Trouble, Web, cut_short
from minikube.host.files import cannot_write, sync_directory
from minikube.output.progress import Progress, Task
from minikube.output.reason import Reason

_MB = 1 << 20
_BLOCK = 1 << 18
_AT_ONCE = 6  # connections; more gain nothing and look like an attack
_ENOUGH_TO_COUNT = 1 << 16  # bytes that make an attempt one that has moved on
_WRONG_TWICE = 2


class Wanted(NamedTuple):
    """A file by its content. `urls` are places that may have it, the best first; a place without it leads to the next."""

    urls: Sequence[str]
    digest: str
    """`sha256:…` or `sha512:…`."""
    label: str
    size: int = 0
    """0 if nobody said."""
    headers: Mapping[str, str] = {}


class Downloads:
    """Below one directory: parts of files, each named after the digest of the whole, whichever server they come from."""

    def __init__(self, directory: Path, web: Web, progress: Progress) -> None:
        self.directory, self.web, self.progress = directory, web, progress
        self.bytes_moved = 0
        self._places = threading.BoundedSemaphore(_AT_ONCE)

    def fetch(self, wanted: Wanted, target: Path) -> None:
        """Have the file at `target`, which must be on the same file system; it is whole and right, or not there."""
        with self._places, self._part(wanted) as part, self.progress.task(wanted.label, unit="MB") as task:
            for number, url in enumerate(wanted.urls):
                try:
                    _Transfer(self, wanted, url, part, task).run()
                except Reason as reason:
                    if reason.id != "INET_NOT_FOUND" or number + 1 == len(wanted.urls):
                        raise
                else:
                    break
            os.fsync(part.fileno())
            Path(part.name).replace(target)
            sync_directory(target.parent)

    @contextlib.contextmanager
    def _part(self, wanted: Wanted) -> Iterator[BinaryIO]:
        """The part that is here so far, with its lock: two processes would write into each other's bytes."""
        path = self.directory / f"{wanted.digest.replace(':', '-')}.part"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with path.open("a+b") as part:
                while True:
                    raise_if_stopping()
                    with contextlib.suppress(BlockingIOError):
                        fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    time.sleep(0.1)
                if os.fstat(part.fileno()).st_nlink:
                    yield part
                    return
            # Somebody else has just finished it and taken it away.
            with self._part(wanted) as fresh:
                yield fresh
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
        complete = self.wanted.size and have == self.wanted.size
        response = None if complete else self._open(have)
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
        announced = response.headers.get("Content-Length", "")
        length = int(announced) if announced.isdigit() else 0
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
        if self.wanted.size and total and total != self.wanted.size:
            self._start_over()
            raise Trouble(
                Reason("INET_BAD_CHECKSUM", f"{self.url} has {total} bytes, and it should have {self.wanted.size}"), passing=False
            )
        self.task.set(have / _MB, (total or self.wanted.size) / _MB or None)
        return have, total

    def _receive(self, response: urllib3.BaseHTTPResponse, have: int, total: int) -> None:
        began, at_first = time.monotonic(), have
        limit = total or self.wanted.size
        while data := self.web.chunk(response, self.url, _BLOCK):
            raise_if_stopping()
            self.part.write(data)
            have += len(data)
            self.downloads.bytes_moved += len(data)
            self.task.set(have / _MB)
            if limit and have > limit:
                break
            seconds = time.monotonic() - began
            if seconds > self.web.patience.idle:
                if (have - at_first) / seconds < self.web.patience.slowest:
                    self.part.flush()
                    message = f"{self.url} comes at {(have - at_first) / seconds:.0f} bytes a second: too slow to ever end"
                    raise Trouble(Reason("INET_DOWNLOAD_TIMEOUT", message), passing=True)
                began, at_first = time.monotonic(), have
        self.part.flush()
        if limit and have < limit:
            raise cut_short(self.url, have, limit)

    def _check(self) -> None:
        algorithm, _, expected = self.wanted.digest.partition(":")
        with Path(self.part.name).open("rb") as stream:
            found = hashlib.file_digest(stream, algorithm).hexdigest()
        if found == expected:
            return
        self._start_over()
        self.wrong += 1
        reason = Reason(
            "INET_BAD_CHECKSUM",
            f"{self.url} is not what it should be: its {algorithm} is {found[:16]}…, and {expected[:16]}… was published",
            advice="It was not used. A proxy or mirror on the way may have changed it: try another (--binary-mirror, --image-repository).",
        )
        # Once more from the first byte: a part may have been of another file.
        raise Trouble(reason, passing=self.wrong < _WRONG_TWICE)

    def _have(self) -> int:
        return self.part.seek(0, os.SEEK_END)

    def _start_over(self) -> None:
        self.part.truncate(0)
        self.validator = ""
