"""Whose files they are: root works for somebody, and what it makes for that person belongs to that person."""

from __future__ import annotations

import os

from minikube.host.rootrights import passed_on
from minikube.output.reason import Reason
from minikube.profiles.paths import home_text, store_text

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What of a machine's directory belongs to the node, whose root is the kernel's root: owners in there are part of the data.
_NODES_OWN = frozenset({"state", "images", "bundle", "runc"})
# Components become the roots of nodes as they are.
_STORES_OWN = frozenset({"entries", "building", "damaged", "go"})


class Person:
    """Somebody for whom a command works with root rights."""

    __slots__ = ("gid", "home", "name", "uid")

    def __init__(self, uid: int, gid: int, name: str, home: str) -> None:
        self.uid, self.gid, self.name, self.home = uid, gid, name, home


def behind_root() -> Person | None:
    """The person who called `sudo minikube`, else the owner of the home directory; None where root works for itself."""
    person = _caller()
    owner = _owner(home_text())
    if person is None:
        return None if owner in (None, 0) else _person(owner)
    return person


def adopt(person: Person) -> None:
    """Make this command use the person's own files. A home that is a third person's is refused."""
    if os.environ.get("HOME", "") in ("", _person(0).home):
        os.environ["HOME"] = person.home
    # sudo keeps MINIKUBE_HOME and the like to itself; without them this would be another place than the person's next command looks at.
    for name, value in passed_on(_environment_of_sudo()).items():
        os.environ.setdefault(name, value)
    owner = _owner(home_text())
    if owner not in (None, 0, person.uid):
        raise somebody_elses(owner or 0, person.name)


def check_access() -> None:
    """Refuse a home directory that this user may not work in because it is somebody else's."""
    place, wanted = home_text(), os.R_OK | os.W_OK | os.X_OK
    while place != "/" and not os.path.exists(place):  # noqa: PTH110 - also what lies behind a closed door is not there
        place, wanted = os.path.dirname(place), os.X_OK  # noqa: PTH120
    owner = _owner(place)
    if owner is not None and owner != os.geteuid() and not os.access(place, wanted):
        raise somebody_elses(owner, _person(os.geteuid()).name, place)


def somebody_elses(owner: int, name: str, place: str = "") -> Reason:
    place, other = place or home_text(), _person(owner).name
    advice = "Set MINIKUBE_HOME to a directory of your own: clusters of different users get along on one machine."
    if owner == 0:
        advice = f"Make it yours: sudo chown -R {name} {place}. Or set MINIKUBE_HOME to a directory of your own."
    return Reason("HOST_HOME_PERMISSION", f"{place} belongs to {other}, and you are {name}", advice=advice)


def drop_to(person: Person) -> None:
    """Go on as the person, with no way back: what needs no root rights does not run with them."""
    os.setgroups(os.getgrouplist(person.name, person.gid))
    os.setresgid(person.gid, person.gid, person.gid)
    os.setresuid(person.uid, person.uid, person.uid)


def give_back(person: Person, *, made: Iterable[str] = ()) -> None:
    """Hand over what root made in the person's places, and `made`: files elsewhere that are known to be new. Never a node's own files."""
    home, store = home_text(), store_text()
    for place in (home, store, *made):
        for path in _up_to(person.home, place):
            _give(path, person)
    for path in (*_below(home), *_shallow(store), *made):
        _give(path, person)


def _below(home: str) -> Iterator[str]:
    for directory, names, files in os.walk(home):
        if os.path.dirname(directory) == f"{home}/machines":  # noqa: PTH120
            names[:] = [name for name in names if name not in _NODES_OWN]
        elif directory == f"{home}/machines":
            names[:] = [name for name in names if not name.startswith(".")]  # on their way out
        yield directory
        yield from (f"{directory}/{name}" for name in (*files, *names))


def _shallow(store: str) -> Iterator[str]:
    for directory, names, files in os.walk(store):
        if directory == store:
            names[:] = [name for name in names if name not in _STORES_OWN and (_owner(f"{store}/{name}") == 0 or "-" not in name)]
        yield directory
        yield from (f"{directory}/{name}" for name in (*files, *names))


def _up_to(top: str, place: str) -> Iterator[str]:
    """The directories between a person's own and a place in it, which had to be made on the way."""
    directory = os.path.dirname(place)  # noqa: PTH120
    while directory.startswith(f"{top}/"):
        yield directory
        directory = os.path.dirname(directory)  # noqa: PTH120


def _give(path: str, person: Person) -> None:
    """Only what is root's: a third person's file is that person's. Links are not followed."""
    try:
        if os.lstat(path).st_uid == 0:
            os.chown(path, person.uid, person.gid, follow_symlinks=False)
    except OSError:  # gone meanwhile, or on a read-only file system
        pass


def _caller() -> Person | None:
    """Whoever asked sudo for this very command. A root shell (`sudo -i`) is root's own session."""
    words = os.environ.get("SUDO_COMMAND", "")
    if os.environ.get("CHANGE_MINIKUBE_NONE_USER", "").lower() in ("false", "0", "no") or "minikube" not in words:
        return None
    try:
        uid, gid = int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"])
    except (KeyError, ValueError):
        return None
    return _person(uid, gid) if uid else None


def _environment_of_sudo() -> dict[str, str]:
    """What sudo itself was called with; empty where this was not called by sudo, or /proc does not say."""
    process = os.getppid()
    try:
        for _ in range(4):  # shells and scripts in between
            with open(f"/proc/{process}/stat") as stream:  # noqa: PTH123
                name, _, fields = stream.read().rpartition(")")
            if name.endswith("(sudo"):
                with open(f"/proc/{process}/environ", "rb") as stream:  # noqa: PTH123
                    pairs = (entry.partition("=") for entry in os.fsdecode(stream.read()).split("\0"))
                    return {key: value for key, _, value in pairs if key}
            process = int(fields.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return {}


def _person(uid: int, gid: int | None = None) -> Person:
    import pwd

    try:
        known = pwd.getpwuid(uid)
    except KeyError:
        return Person(uid, uid if gid is None else gid, str(uid), os.environ.get("HOME", "/"))
    return Person(uid, known.pw_gid if gid is None else gid, known.pw_name, known.pw_dir)


def _owner(place: str) -> int | None:
    try:
        return os.stat(place).st_uid  # noqa: PTH116
    except OSError:
        return None
