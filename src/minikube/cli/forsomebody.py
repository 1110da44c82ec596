"""Commands with root rights on somebody's behalf: `sudo minikube …`, or the command's own way through sudo."""

from __future__ import annotations

from minikube.profiles import ownership

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Callable

# The only ones that need root rights, and the one that looks at what root sees. Whatever calls rootrights.require is here:
# otherwise it would give away what it has just been given, and ask for it again without end.
PRIVILEGED = frozenset({"start", "stop", "delete", "doctor", "bundle create", "bundle import", "cache prune"})

_person: ownership.Person | None = None


def entitled(work: Callable[[], int]) -> int:
    """Do the work in the person's own home; whatever way it ends, the files it made belong to that person."""
    global _person
    _person = ownership.behind_root()
    if _person is None:
        return work()
    ownership.adopt(_person)
    new = _kubeconfig_to_be_made()
    try:
        return work()
    finally:
        if _person is not None:
            ownership.give_back(_person, made=new)


def let_go(command: str) -> None:
    """Give root rights up for good unless the command needs them."""
    global _person
    if _person is not None and command not in PRIVILEGED:
        ownership.drop_to(_person)
        _person = None


def _kubeconfig_to_be_made() -> list[str]:
    import os

    # As kubernetes/kubeconfig.py has it: if none of them exists yet, the first is made.
    named = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    candidates = named or [os.path.expanduser("~/.kube/config")]  # noqa: PTH111
    return [] if any(map(os.path.exists, candidates)) else [os.path.abspath(candidates[0])]  # noqa: PTH100
