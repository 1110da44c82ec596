"""The directory of a machine that root opens for a person: root's own, reached by a way that the person cannot change.

The person owns the directories above it, so every name on the way may lead somewhere else a moment later. So the directory is opened
once, looked at, and from then on reached through its descriptor: `/proc/<this process>/fd/<number>`, also by processes of ours.
"""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any

from minikube.drivers.native import records
from minikube.drivers.native.layout import NOWHERE
from minikube.host import credentials
from minikube.host.files import read_bounded, write_durably
from minikube.output.debuglog import debug
from minikube.output.reason import Reason
from minikube.profiles.paths import home_text

if TYPE_CHECKING:
    from minikube.drivers.native.layout import Layout

MODE = 0o750  # root's, readable by the person through the group
# The group of a directory while root takes it over: a system group (daemon), which is no person's own. The owner and the group change in
# one step, so what is root's without having been looked at to the end always has this group.
UNFINISHED = 1
_STEP = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# The node's own, made by root also in versions whose machines belonged to the person.
_NODES_OWN = ("state", "images", "bundle", "runc")
_LOGS = ("node.log", "listener.sock")


class MachineDirectory:
    """Where root reaches one machine of the person that it works for; `above` is the directory that machines are in."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._above = self._descriptor = -1

    @property
    def above(self) -> str:
        return _through(self._above) if self._above >= 0 else os.path.dirname(self._layout.place)  # noqa: PTH120

    def enter(self, *, make: bool = False) -> None:
        """From now on the layout leads to the machine's directory, which is root's, or nowhere; with `make`, a missing one is made."""
        if not credentials.person() or self._descriptor >= 0:
            return
        with credentials.as_root():
            if self._above < 0:
                self._above = self._open_above(make=make)
            if self._above >= 0:
                self._descriptor = self._open(make=make)
        if self._descriptor >= 0:
            self._layout.reached = _through(self._descriptor)
        elif make:
            raise self._refused("was moved away while root opened it")

    def leave(self) -> None:
        """The directory is gone."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor, self._layout.reached = -1, NOWHERE

    def is_at(self, path: str) -> bool:
        """Whether a path leads to the directory that was looked at."""
        return self._descriptor < 0 or os.path.samestat(os.fstat(self._descriptor), os.lstat(path))

    def _open_above(self, *, make: bool) -> int:
        """The person's own directory, with the person's rights: links of one's own are followed."""
        place = f"{home_text()}/machines"
        with credentials.as_person():
            try:
                if make:
                    os.makedirs(place, exist_ok=True)  # noqa: PTH103
                descriptor = os.open(place, _STEP)
            except (FileNotFoundError, NotADirectoryError):
                return -1
            except OSError as error:
                from pathlib import Path

                from minikube.host.files import cannot_write

                raise cannot_write(Path(place), error) from error
        owner = os.fstat(descriptor).st_uid
        if owner != credentials.person():
            os.close(descriptor)
            raise Reason(
                "HOST_HOME_PERMISSION",
                f"{place} belongs to user {owner}, and root works for user {credentials.person()}",
                advice="Set MINIKUBE_HOME to a directory of your own.",
            )
        return descriptor

    def _open(self, *, make: bool) -> int:
        name = self._layout.machine
        try:
            if make:
                self._make(name)
            descriptor = os.open(name, _STEP | os.O_NOFOLLOW, dir_fd=self._above)
        except FileNotFoundError:
            return -1
        except OSError:  # a link, or no directory at all
            raise self._refused("is not a directory") from None
        try:
            about = os.fstat(descriptor)
            if about.st_uid == credentials.person() or (about.st_uid, about.st_gid) == (0, UNFINISHED):
                self._take_over(descriptor, about)
            elif about.st_uid != 0 or about.st_mode & 0o022:
                raise self._refused("is not root's alone")
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _make(self, name: str) -> None:
        try:
            os.mkdir(name, 0o700, dir_fd=self._above)
        except FileExistsError:
            return
        self._allow(name, MODE)

    def _allow(self, name: str, mode: int) -> None:
        """Let the person read a directory of root's; no link in its place is followed."""
        descriptor = os.open(name, _STEP | os.O_NOFOLLOW, dir_fd=self._above)
        try:
            os.fchown(descriptor, 0, credentials.group())
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)

    def _take_over(self, machine: int, before: os.stat_result) -> None:
        """A machine of a version whose machines belonged to the person: nothing that the person can have written is believed.

        It is root's while it is looked at, so that the person can change nothing meanwhile. One that is refused stays as it was.
        """
        debug(f"{self._layout.place} belongs to its user: root takes it over")
        os.fchown(machine, 0, UNFINISHED)
        os.fchmod(machine, 0o700)
        try:
            self._require_roots_node(machine)
        except Reason:
            os.fchown(machine, before.st_uid, before.st_gid)
            os.fchmod(machine, stat.S_IMODE(before.st_mode))
            raise
        checks: dict[str, Any] = {
            "native.json": records.facts,
            "host-changes.json": lambda found: records.changes(found, self._layout),
            "config.json": lambda found: found if isinstance(found, dict) else {},
        }
        for name, check in checks.items():
            self._write_again(machine, name, check)
        for name in _LOGS:
            _remove(machine, name)
        if "config.json" in os.listdir(machine):  # it says what the person wants, and may hold secrets
            os.chown("config.json", credentials.person(), credentials.group(), dir_fd=machine, follow_symlinks=False)
        self._keep_run(machine)
        os.fchmod(machine, MODE)
        os.fchown(machine, 0, credentials.group())  # last: now it is finished

    def _require_roots_node(self, machine: int) -> None:
        for name in os.listdir(machine):
            about = os.stat(name, dir_fd=machine, follow_symlinks=False)
            if name in _NODES_OWN and not (stat.S_ISDIR(about.st_mode) and about.st_uid == 0):
                raise self._refused(f"has a {name} that is not root's")

    def _write_again(self, machine: int, name: str, check: Any) -> None:
        """As a new file: somebody may have the old one open for writing."""
        try:
            content = read_bounded(name, directory=machine)
        except FileNotFoundError:
            return
        except OSError:
            _remove(machine, name)
            return
        _remove(machine, name)
        try:
            content = (json.dumps(check(json.loads(content)), indent=2) + "\n").encode()
        except (ValueError, RecursionError):
            debug(f"{self._layout.place}/{name} is damaged")  # it stays so, for whom it matters
        write_durably(f"{_through(machine)}/{name}", content, mode=0o600 if name == "config.json" else 0o644)

    def _keep_run(self, machine: int) -> None:
        """The directory of the control socket, which a running node holds: the person's, as it was."""
        try:
            about = os.stat("run", dir_fd=machine, follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(about.st_mode) or about.st_uid not in (0, credentials.person()):
            _remove(machine, "run")

    def _refused(self, what: str) -> Reason:
        return Reason(
            "HOST_HOME_PERMISSION",
            f"{self._layout.place} {what}, so root does not use it",
            advice=f"Move it away, and delete what is left of the cluster: minikube delete -p {self._layout.machine}",
        )


def _through(descriptor: int) -> str:
    return f"/proc/{os.getpid()}/fd/{descriptor}"


def _remove(directory: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        pass
    except IsADirectoryError:
        import shutil

        shutil.rmtree(name, dir_fd=directory)
