"""Flags of `start` that the driver in question brings along: `--driver=NAME` decides which there are."""

from __future__ import annotations

from minikube.cli.flags import GLOBAL_FLAGS
from minikube.cli.startflags import DRIVER, START_FLAGS
from minikube.output.reason import Reason
from minikube.profiles.settings import Flag, Settings

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Sequence

_DECISIVE = {"driver": "d", "vm-driver": "", "profile": "p"}


def driver_flags(words: list[str]) -> Sequence[Flag]:
    """What the driver adds. It is asked only if it is not one of the built-in ones, whose flags `start` always has."""
    if ("--help" in words or "-h" in words) and not any(_given(words, name, short) for name, short in _DECISIVE.items()):
        return ()  # help is quick unless it is asked for a driver's sake
    from minikube.drivers import registry

    known = {flag.name: flag for flag in (*GLOBAL_FLAGS, *START_FLAGS)}
    try:
        name = _driver(words, known)
        if name in ("", *registry.BUILT_IN, *registry.ALIASES):
            return ()
        found = registry.definition(name).flags()
    except Reason:
        # Nothing is lost if nobody used such a flag; otherwise this, and not the unknown flag, is what is wrong.
        if any(word.startswith("--") and word[2:].partition("=")[0] not in known for word in words):
            raise
        return ()
    # Names of start's own keep their meaning, but for those that only stand for other drivers.
    taken = known.keys() - {flag.name for flag in DRIVER}
    return [flag for flag in found if flag.name not in taken]


def _driver(words: list[str], known: dict[str, Flag]) -> str:
    """An existing cluster's driver, else the one that the words, the environment or the configuration name."""
    from minikube.profiles.glance import glance

    given = {name: value for name, short in _DECISIVE.items() if (value := _given(words, name, short)) is not None}
    settings = Settings({name: known[name] for name in _DECISIVE}, given)
    existing = glance(settings.profile)
    return existing.driver if existing else str(settings.get("driver") or settings.get("vm-driver"))


def _given(words: list[str], name: str, short: str) -> str | None:
    """The last value a flag is given, before all flags are known."""
    found = None
    for place, word in enumerate(words):
        if word == "--":
            break
        if word in (f"--{name}", f"-{short}" if short else None):
            found = "".join(words[place + 1 : place + 2])
        elif word.startswith(f"--{name}="):
            found = word.partition("=")[2]
        elif short and word.startswith(f"-{short}") and not word.startswith("--"):
            found = word[2:].removeprefix("=")
    return found
