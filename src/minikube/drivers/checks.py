"""What a start needs of this machine, asked one by one: the questions a driver declares, and their answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from minikube.output.debuglog import debug
from minikube.output.reason import Reason
from minikube.profiles import paths

OK, WARNING, MISSING = "ok", "warning", "missing"


class Ground(NamedTuple):
    """The machine under the questions' feet. Tests put another one below `root`; nothing here ever changes it."""

    home: Path
    store: Path
    machine: str = "minikube"
    kubernetes_version: str = ""
    root: Path = Path("/")
    environment: Mapping[str, str] = os.environ
    user: int = os.geteuid()
    platform: str = sys.platform
    kernel: str = os.uname().release
    architecture: str = os.uname().machine
    filesystem: Callable[[Path], os.statvfs_result] = os.statvfs

    def path(self, absolute: str) -> Path:
        return self.root / absolute.lstrip("/")

    def read(self, absolute: str) -> str:
        """A small file of the machine; empty if it is not there or not ours to read."""
        try:
            return self.path(absolute).read_text(errors="replace")
        except OSError:
            return ""

    def number(self, absolute: str, default: int) -> int:
        """The number such a file holds."""
        try:
            return int(self.read(absolute).split()[0])
        except (IndexError, ValueError):
            return default


class Finding(NamedTuple):
    """An answer: how it is, in words, and the one command or sentence that mends it."""

    state: str
    detail: str
    fix: str = ""


class Question(NamedTuple):
    """One thing to look at. `reason` is the id a start is refused with; `quick` ones are asked by every start."""

    id: str
    group: str
    title: str
    look: Callable[[Ground], Finding]
    reason: str = "HOST_UNSUPPORTED"
    required: bool = True
    quick: bool = True


class Check(NamedTuple):
    """A question with its answer."""

    id: str
    group: str
    title: str
    state: str
    detail: str
    fix: str
    required: bool
    reason: str

    @property
    def in_the_way(self) -> bool:
        """Whether a start cannot work because of it."""
        return self.required and self.state == MISSING

    def refusal(self) -> Reason:
        return Reason(self.reason, f"{self.title}: {self.detail}", advice=self.fix)


def fine(detail: str) -> Finding:
    return Finding(OK, detail)


def doubtful(detail: str, fix: str) -> Finding:
    return Finding(WARNING, detail, fix)


def lacking(detail: str, fix: str) -> Finding:
    return Finding(MISSING, detail, fix)


def several(*parts: str) -> str:
    """Several things in one answer, those that are not so left out; each is translated by itself."""
    return "; ".join(part for part in parts if part)


def ask(questions: Iterable[Question], ground: Ground) -> list[Check]:
    """Every question with its answer. One that cannot be answered is a warning: only what is known to be missing may stop a start."""
    checks = []
    for question in questions:
        try:
            found = question.look(ground)
        except Exception as error:
            debug(f"check {question.id} failed: {error!r}")
            found = doubtful(f"could not be found out: {error}", "See `minikube doctor --alsologtostderr`.")
        checks.append(Check(question.id, question.group, question.title, *found, required=question.required, reason=question.reason))
    return checks


def ground(*, machine: str = "minikube", kubernetes_version: str = "") -> Ground:
    """This machine, with this user's home and store."""
    return Ground(paths.home(), paths.store(), machine, kubernetes_version)
