"""Which driver a start uses, what it says about it, and what it refuses."""

from typing import Any

import pytest

from minikube.cli.flags import GLOBAL_FLAGS
from minikube.cli.startflags import START_FLAGS
from minikube.cluster.driverchoice import choose
from minikube.drivers import registry
from minikube.drivers.definition import DISCOURAGED, FALLBACK, Definition
from minikube.drivers.values import DriverStatus
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles.clusterconfig import new_cluster_config
from minikube.profiles.settings import Settings


class Heard(Report):
    """A report that remembers."""

    def __init__(self) -> None:
        super().__init__("start")
        self.steps: list[str] = []
        self.warnings: list[str] = []

    def step(self, name: str, message: str, *, style: str = "") -> None:
        self.steps.append(message)

    def warning(self, message: str) -> None:
        self.warnings.append(message)


def driver(name: str, priority: int = FALLBACK, **status: Any) -> Definition:
    return Definition(name, summary=f"what {name} is", priority=priority, make=lambda *_: None, status=lambda: DriverStatus(**status))  # type: ignore[arg-type, return-value]


@pytest.fixture
def report() -> Heard:
    return Heard()


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make these the drivers there are."""

    def install(*definitions: Definition) -> None:
        by_name = {found.name: found for found in definitions}
        monkeypatch.setattr(registry, "every", lambda: list(definitions))
        monkeypatch.setattr(registry, "definition", by_name.__getitem__)
        monkeypatch.setattr(registry, "of_machine", lambda name, _machine: by_name[name])

    return install


def chosen(report: Report, existing: Any = None, **given: Any) -> str:
    flags = {flag.name: flag for flag in (*GLOBAL_FLAGS, *START_FLAGS)}
    return choose(Settings(flags, {name.replace("_", "-"): value for name, value in given.items()}), existing, report).name


def refused(report: Report, existing: Any = None, **given: Any) -> Reason:
    with pytest.raises(Reason) as caught:
        chosen(report, existing, **given)
    return caught.value


def test_the_best_healthy_one_is_chosen_and_the_others_are_listed(only: Any, report: Heard) -> None:
    only(driver("modest"), driver("great", 9, healthy=False, reason="ill"), driver("good", 8), driver("odd", DISCOURAGED))
    assert chosen(report) == "good"
    assert report.steps == ["Automatically selected the good driver: what good is. Other choices: modest, odd"]


def test_a_discouraged_driver_is_never_chosen_by_itself(only: Any, report: Heard) -> None:
    only(driver("odd", DISCOURAGED), driver("a", installed=False, healthy=False, reason="no a"))
    reason = refused(report)
    assert (reason.id, reason.exit_code) == ("DRV_NOT_DETECTED", 55)
    assert "a: no a" in reason.message


def test_nothing_healthy_says_what_is_wrong_with_each(only: Any, report: Heard) -> None:
    only(driver("a", healthy=False, reason="a is ill", fix="Heal a."), driver("b", healthy=False, reason="b is tired", fix="Wake b."))
    reason = refused(report)
    assert (reason.id, reason.exit_code) == ("DRV_NOT_HEALTHY", 55)
    assert "a: a is ill; b: b is tired" in reason.message
    assert reason.advice == "Heal a. Wake b."


@pytest.mark.parametrize(
    ("status", "id", "code"),
    [
        ({"installed": False, "healthy": False, "reason": "no such program"}, "PROVIDER_A_2_NOT_FOUND", 65),
        ({"healthy": False, "reason": "it is ill"}, "PROVIDER_A_2_ERROR", 69),
        ({"healthy": False, "reason": "not root", "id": "DRV_NEEDS_ROOT"}, "DRV_NEEDS_ROOT", 57),
    ],
)
def test_one_that_cannot_work_says_why_unless_forced(only: Any, report: Heard, status: dict[str, Any], id: str, code: int) -> None:
    only(driver("a-2", fix="Mend it.", **status))
    reason = refused(report, driver="a-2")
    assert (reason.id, reason.exit_code, reason.advice) == (id, code, "Mend it.")
    assert status["reason"] in reason.message
    assert chosen(report, driver="a-2", force=True) == "a-2"
    assert status["reason"] in report.warnings[0]
    assert chosen(report, driver="a-2", download_only=True) == "a-2"


@pytest.mark.parametrize("name", ["native", "none"])
def test_the_native_driver_has_two_names(report: Heard, name: str) -> None:
    assert chosen(report, driver=name, force=True) == "none"
    assert report.steps == ["Using the native driver based on user configuration"]


@pytest.mark.parametrize(
    ("name", "id"),
    [("docker", "DRV_UNSUPPORTED"), ("kvm2", "DRV_UNSUPPORTED"), ("hyperkit", "DRV_UNSUPPORTED_OS"), ("fail", "DRV_UNSUPPORTED"),
     ("../../etc", "DRV_UNSUPPORTED"), ("no\nne", "DRV_UNSUPPORTED")],
)  # fmt: skip
def test_names_that_nobody_provides(report: Heard, name: str, id: str) -> None:
    reason = refused(report, driver=name)
    assert (reason.id, reason.exit_code) == (id, 56)
    assert "--driver=native" in reason.advice


def test_an_existing_cluster_keeps_its_driver(report: Heard) -> None:
    existing = new_cluster_config("dev")
    existing.Driver = "none"
    assert chosen(report, existing) == chosen(report, existing, driver="native") == "none"
    assert report.steps[0] == "Using the native driver based on existing profile"


def test_another_driver_for_an_existing_cluster_is_refused(only: Any, report: Heard) -> None:
    only(driver("a"), driver("b"))
    existing = new_cluster_config("dev")
    existing.Driver = "a"
    reason = refused(report, existing, driver="b")
    assert (reason.id, reason.exit_code) == ("GUEST_DRIVER_MISMATCH", 81)
    assert "minikube delete -p dev" in reason.advice


def test_a_cluster_whose_driver_has_gone_says_so(report: Heard) -> None:
    existing = new_cluster_config("dev")
    existing.Driver = "vanished"
    reason = refused(report, existing)
    assert (reason.id, reason.exit_code) == ("DRV_NOT_FOUND", 55)
    assert "'vanished' of the machine 'dev'" in reason.message
