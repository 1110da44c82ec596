"""What a driver says of itself before anything is made with it."""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from minikube.drivers.base import Driver
    from minikube.drivers.checks import Question
    from minikube.drivers.values import DriverStatus
    from minikube.profiles.clusterconfig import ClusterConfig
    from minikube.profiles.settings import Flag, Settings

# Upstream's scale. A driver is chosen by itself only from FALLBACK upwards.
EXPERIMENTAL, DISCOURAGED, DEPRECATED, FALLBACK, DEFAULT, PREFERRED, HIGHLY_PREFERRED = range(3, 10)

BUILT_IN = "built in"
EVERYWHERE = ("linux", "darwin", "win32")


def nothing_to_keep(_config: ClusterConfig, _settings: Settings, _before: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def no_flags() -> Sequence[Flag]:
    return ()


def no_questions() -> Sequence[Question]:
    return ()


class Definition:
    """One driver.

    `name` is what profiles store, `title` what people read. `configure` makes the driver's own configuration, which `start` keeps in
    machines/<machine>/config.json, from the profile's, the settings of this start and what was kept before; `make` gives the driver
    object for a machine's name and that configuration. `status` runs in a thread and under a time limit. `flags` are further flags of
    `start --driver=NAME`. `questions` are what a start needs to be true of this host: `doctor` asks them all, `start` the quick ones.
    `origin` says where it comes from: built in, a package, a program. With `only_start_configures`, a machine that exists can be looked
    after without its configuration, which is then not even read.
    """

    __slots__ = (
        "aliases",
        "configure",
        "flags",
        "make",
        "name",
        "only_start_configures",
        "origin",
        "priority",
        "questions",
        "status",
        "summary",
        "systems",
        "title",
    )

    def __init__(
        self,
        name: str,
        *,
        summary: str,
        make: Callable[[str, Mapping[str, Any]], Driver],
        status: Callable[[], DriverStatus],
        title: str = "",
        aliases: tuple[str, ...] = (),
        systems: tuple[str, ...] = ("linux",),
        priority: int = DEFAULT,
        configure: Callable[[ClusterConfig, Settings, Mapping[str, Any]], dict[str, Any]] = nothing_to_keep,
        flags: Callable[[], Sequence[Flag]] = no_flags,
        questions: Callable[[], Sequence[Question]] = no_questions,
        origin: str = "",
        only_start_configures: bool = False,
    ) -> None:
        self.name, self.title, self.aliases, self.summary = name, title or name, aliases, summary
        self.make, self.status, self.configure, self.flags, self.questions = make, status, configure, flags, questions
        self.systems, self.priority, self.origin, self.only_start_configures = systems, priority, origin, only_start_configures

    @property
    def built_in(self) -> bool:
        return self.origin == BUILT_IN

    @property
    def keeps_configuration(self) -> bool:
        return self.configure is not nothing_to_keep
