"""The component store: every artifact is made once per machine, sealed, and checked whenever it is used.

entries/<name>-<digest>/   seal (what every file must be) and content/
building/                  unfinished work; swept as soon as nobody holds its lock
damaged/                   entries that failed their check: a running node may still stand on their files
locks/  logs/  go/         one lock per entry; build logs; Go's module and build caches, from which interrupted builds resume
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from minikube.artifacts import sealing
from minikube.artifacts.followed import raise_if_stopping
from minikube.artifacts.rootspart import is_believed
from minikube.host.files import cannot_write, sync_directory
from minikube.host.process import ProcessFailed, run
from minikube.output.debuglog import debug
from minikube.output.progress import Progress
from minikube.output.reason import Reason
from minikube.profiles import paths


class Recipe(NamedTuple):
    """How to make one artifact. `build` fills an empty directory; `identity` names everything that decides the outcome."""

    name: str
    identity: str
    build: Callable[[Path, Progress], None]
    needs: tuple[Recipe, ...] = ()
    """Made before this one; their identities are part of this one's."""
    after: tuple[str, ...] = ()
    """Names of recipes better started first if they are to be made too; no more than an order."""
    host_packages: tuple[str, ...] = ()
    """Debian packages the build (never the result) needs on this machine."""
    estimate_seconds: float = 1.0
    what: str = ""
    """For people: what is being made (`Kubernetes v1.37.1`)."""
    given_digest: str = ""
    """Of an entry that comes whole from elsewhere: what it was made from is not here."""
    light: bool = False
    """Waits for the network more than it computes."""

    @property
    def digest(self) -> str:
        if self.given_digest:
            return self.given_digest
        whole = hashlib.sha256(self.identity.encode())
        for need in self.needs:
            whole.update(f"\0{need.name}\0{need.digest}".encode())
        return whole.hexdigest()

    @property
    def entry_name(self) -> str:
        return f"{self.name}-{self.digest[:12]}"

    @property
    def label(self) -> str:
        return self.what or self.name


class Store:
    """The store below one directory. Any number of processes and threads may use it at once."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or paths.store()

    def entry(self, name: str, digest: str) -> Path | None:
        """The content of a sealed entry that passes its check, else None."""
        entry = self.root / "entries" / f"{name}-{digest[:12]}"
        return entry / sealing.CONTENT if entry.is_dir() and is_believed(entry) and sealing.check(entry) is None else None

    def has(self, recipe: Recipe) -> bool:
        return self.entry(recipe.name, recipe.digest) is not None

    def path(self, recipe: Recipe) -> Path:
        """Where the recipe's content is or will be."""
        return self.root / "entries" / recipe.entry_name / sealing.CONTENT

    def log(self, name: str) -> Path:
        """Where a builder keeps everything its tools say."""
        with self._writing():
            (self.root / "logs").mkdir(parents=True, exist_ok=True)
        return self.root / "logs" / f"{name}.log"

    def provide(self, recipe: Recipe, progress: Progress) -> Path:
        """The recipe's content, made now (with what it needs) if it is not there or damaged."""
        if ready := self.entry(recipe.name, recipe.digest):
            return ready
        for need in recipe.needs:
            self.provide(need, progress)
        with self._locked(recipe, progress):
            return self._ready_entry(recipe, progress) or self._make(recipe, progress)

    def verify(self, *, full: bool = True) -> dict[str, str]:
        """What is wrong, by entry name: reads every byte with `full`."""
        found = {entry.name: sealing.check(entry, full=full) for entry in sorted((self.root / "entries").glob("*"))}
        return {name: str(damage) for name, damage in found.items() if damage}

    def sweep(self) -> None:
        """Remove what builds that were killed have left behind."""
        for leftover in (self.root / "building").glob("*"):
            with contextlib.suppress(OSError), (self.root / "locks" / f"{leftover.name.rpartition('.')[0]}.lock").open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(leftover)

    def _ready_entry(self, recipe: Recipe, progress: Progress) -> Path | None:
        """With the lock held: another process may have made it meanwhile. A damaged entry is said and put away."""
        entry = self.root / "entries" / recipe.entry_name
        if not entry.exists():
            return None
        damage = sealing.check(entry) if is_believed(entry) else sealing.Damage(entry.name, "is not root's")
        if damage is None:
            return entry / sealing.CONTENT
        progress.say(f"{recipe.label} in the store is damaged ({damage}): making it again")
        with self._writing():
            away = self.root / "damaged" / entry.name
            away.parent.mkdir(exist_ok=True)
            remove_tree(away)
            entry.rename(away)
        return None

    def _make(self, recipe: Recipe, progress: Progress) -> Path:
        building = self.root / "building"
        entry = self.root / "entries" / recipe.entry_name
        with self._writing():
            for leftover in building.glob(f"{recipe.entry_name}.*"):
                remove_tree(leftover)
            building.mkdir(parents=True, exist_ok=True)
            entry.parent.mkdir(exist_ok=True)
            # A new name each time: what a killed build's orphans may still write ends up in a directory that is gone.
            workplace = Path(tempfile.mkdtemp(prefix=f"{recipe.entry_name}.", dir=building))
        try:
            with self._writing():
                workplace.chmod(0o755)
                (workplace / sealing.CONTENT).mkdir()
                recipe.build(workplace / sealing.CONTENT, progress)
                _sync(workplace)
                sealing.seal(workplace, name=recipe.name, identity=recipe.identity)
                workplace.rename(entry)
                sync_directory(entry.parent)
        except BaseException:
            with contextlib.suppress(OSError):
                remove_tree(workplace)
            raise
        return entry / sealing.CONTENT

    @contextlib.contextmanager
    def _locked(self, recipe: Recipe, progress: Progress) -> Iterator[None]:
        with self._writing():
            (self.root / "locks").mkdir(parents=True, exist_ok=True)
            lock = (self.root / "locks" / f"{recipe.entry_name}.lock").open("a+b")
        with lock:
            if not _try_lock(lock.fileno()):
                lock.seek(0)
                holder = lock.read(100).decode(errors="replace").strip()
                who = f"process {holder}" if holder else "another process"
                with progress.task(f"waiting for {who}, which is making {recipe.label}"):
                    while not _try_lock(lock.fileno()):
                        raise_if_stopping()
                        time.sleep(0.1)
            with self._writing():
                lock.truncate(0)
                lock.write(str(os.getpid()).encode())
                lock.flush()
            yield

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Says what a failed write means here."""
        try:
            yield
        except OSError as error:
            reason = cannot_write(Path(error.filename or self.root), error)
            if reason.id == "HOST_HOME_PERMISSION":
                reason = Reason(
                    reason.id, reason.message, advice=f"Make {self.root} writable for you, or set MINIKUBE_STORE to another directory."
                )
            raise reason from error


def remove_tree(directory: Path) -> None:
    """Also where directories are read-only, as Go's module cache and some packages make them."""

    def retry(_function: object, path: str, _error: object) -> None:
        Path(path).parent.chmod(0o700)
        if Path(path).is_dir() and not Path(path).is_symlink():
            Path(path).chmod(0o700)
            shutil.rmtree(path)
        else:
            Path(path).unlink(missing_ok=True)

    if directory.exists():
        shutil.rmtree(directory, onerror=retry)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sync(directory: Path) -> None:
    # One call for the whole file system: fsync of some thousand small files would take longer than making them.
    try:
        run(["sync", "-f", os.fspath(directory)])
    except ProcessFailed as error:
        debug(f"not synced: {error}")
