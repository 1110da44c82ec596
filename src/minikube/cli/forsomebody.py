"""Commands with root rights on somebody's behalf: `sudo minikube …`, or the command's own way through sudo."""

from __future__ import annotations

from minikube.host import credentials
from minikube.profiles import ownership

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Callable

# The only ones that need root rights, and the one that looks at what root sees. Whatever calls rootrights.require is here:
# otherwise it would give away what it has just been given, and ask for it again without end.
PRIVILEGED = frozenset({"start", "stop", "delete", "doctor", "bundle create", "bundle import", "cache prune"})


def entitled(work: Callable[[], int]) -> int:
    """Do the work in the home of the person that root works for, with that person's rights; what is root's own work takes root's back."""
    person = ownership.behind_root()
    if person is not None:
        ownership.adopt(person)
    return work()


def let_go(command: str) -> None:
    """Give root rights up for good unless the command needs them."""
    if credentials.person() and command not in PRIVILEGED:
        credentials.drop()
