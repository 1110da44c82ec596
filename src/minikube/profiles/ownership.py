"""Whose files they are: root works for somebody, with that person's rights, so what it makes for that person is that person's."""

from __future__ import annotations

import os

from minikube.host import credentials
from minikube.host.rootrights import passed_on
from minikube.output.reason import Reason
from minikube.profiles.paths import home_text


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
    """Make this command use the person's own files, with the person's rights. A home that is somebody else's is refused."""
    if os.environ.get("HOME", "") in ("", _person(0).home):
        os.environ["HOME"] = person.home
    # sudo keeps MINIKUBE_HOME and the like to itself; without them this would be another place than the person's next command looks at.
    for name, value in passed_on(_environment_of_sudo()).items():
        os.environ.setdefault(name, value)
    seen_by_root = _owner(home_text())
    credentials.work_for(person.uid, person.gid, os.getgrouplist(person.name, person.gid))
    # Links are followed: a home that is kept elsewhere is the person's there. What the person cannot see is not the person's.
    for owner in (_owner(home_text()), seen_by_root):
        if owner not in (None, person.uid):
            raise somebody_elses(owner, person.name)
    _require_readable_program(person)


def _require_readable_program(person: Person) -> None:
    """Python loads the rest of the program when it is needed, with the person's rights."""
    import sys

    for place in (__file__, os.__file__, sys.prefix):
        try:
            os.close(os.open(place, os.O_RDONLY | os.O_CLOEXEC))
        except PermissionError:
            raise Reason(
                "HOST_HOME_PERMISSION",
                f"{home_text()} belongs to {person.name}, who may not read this program ({place})",
                advice=f"Install minikube where {person.name} can read it, or set MINIKUBE_HOME to a directory of root's.",
            ) from None


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


def _caller() -> Person | None:
    """Whoever asked sudo for this very command. A root shell (`sudo -i`) is root's own session, unless it says that it is not."""
    words, wish = os.environ.get("SUDO_COMMAND", ""), os.environ.get("CHANGE_MINIKUBE_NONE_USER", "").lower()
    if wish in ("false", "0", "no"):
        return None
    if wish and "SUDO_UID" not in os.environ:  # upstream asks for no more than this and SUDO_USER
        return _named(os.environ.get("SUDO_USER", ""))
    if "minikube" not in words and not wish:
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


def _named(name: str) -> Person | None:
    import pwd

    try:
        known = pwd.getpwnam(name)
    except KeyError:
        return None
    return _person(known.pw_uid) if known.pw_uid else None


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
