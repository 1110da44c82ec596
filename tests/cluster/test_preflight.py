"""What a start refuses before it makes anything: all of it at once, less what is forced or only rehearsed."""

from __future__ import annotations

from typing import Any

import pytest

from minikube.cli.flags import GLOBAL_FLAGS
from minikube.cli.startflags import START_FLAGS
from minikube.cluster.preflight import Prepared, prepare
from minikube.drivers import registry
from minikube.drivers.checks import Question, fine, lacking
from minikube.drivers.definition import BUILT_IN, HIGHLY_PREFERRED, Definition
from minikube.drivers.values import DriverStatus, Machine
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles.settings import Settings


class Heard(Report):
    def __init__(self) -> None:
        super().__init__("start")
        self.warnings: list[str] = []

    def step(self, name: str, message: str, *, style: str = "") -> None:
        pass

    def warning(self, message: str) -> None:
        self.warnings.append(message)


class Box:
    """All that is asked of a driver before a start."""

    def machine(self) -> Machine:
        return Machine(cpus=4, memory_mb=8192, cgroup_v2=True, capabilities=frozenset(), resolv_conf="")


ROOT = Question("root", "Kernel", "Root rights", lambda ground: lacking("you are nobody", "Become root."), "DRV_NEEDS_ROOT")
DISK = Question("disk", "Storage", "Disk", lambda ground: lacking("it is full", "Empty it."), "RSRC_INSUFFICIENT_STORAGE")
SLOW = Question("slow", "Network", "Slow", lambda ground: lacking("whatever", "Wait."), quick=False)
LUXURY = Question("luxury", "Kernel", "Luxury", lambda ground: lacking("none", "Buy some."), required=False)
GOOD = Question("good", "Kernel", "Good", lambda ground: fine("as gold"))


@pytest.fixture
def report() -> Heard:
    return Heard()


@pytest.fixture(autouse=True)
def one_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Any:
    """Only this driver, with these questions and this status."""
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))

    def install(*questions: Question, **status: Any) -> None:
        box = Definition(
            "box",
            summary="a box",
            priority=HIGHLY_PREFERRED,
            make=lambda *_: Box(),  # type: ignore[arg-type, return-value]
            status=lambda: DriverStatus(**status),
            questions=lambda: questions,
            origin=BUILT_IN,
        )
        monkeypatch.setattr(registry, "every", lambda: [box])
        monkeypatch.setattr(registry, "definition", lambda name: box)

    return install


def prepared(report: Heard, **given: Any) -> Prepared:
    flags = {flag.name: flag for flag in (*GLOBAL_FLAGS, *START_FLAGS)}
    settings = Settings(flags, {name.replace("_", "-"): value for name, value in given.items()}, use_file=False)
    return prepare(settings, None, "minikube", report)


def refused(report: Heard, **given: Any) -> Reason:
    with pytest.raises(Reason) as caught:
        prepared(report, **given)
    return caught.value


def test_nothing_in_the_way(one_driver: Any, report: Heard) -> None:
    one_driver(GOOD, LUXURY, SLOW)
    ready = prepared(report)
    assert (ready.definition.name, ready.config.Driver, ready.config.CPUs, report.warnings) == ("box", "box", 2, [])


def test_one_thing_is_refused_with_its_own_id(one_driver: Any, report: Heard) -> None:
    one_driver(GOOD, DISK)
    reason = refused(report)
    assert (reason.id, reason.exit_code, reason.message, reason.advice) == (
        "RSRC_INSUFFICIENT_STORAGE",
        26,
        "Disk: it is full",
        "Empty it.",
    )


def test_driver_flags_sizes_and_host_come_in_one_list(one_driver: Any, report: Heard) -> None:
    one_driver(ROOT, DISK, healthy=False, reason="Root rights: you are nobody", fix="Become root.", id="DRV_NEEDS_ROOT")
    reason = refused(report, cpus="0", cni="calico")
    assert (reason.id, reason.exit_code) == ("DRV_NEEDS_ROOT", 57)
    assert "4 things stand in the way" in reason.message, "root is said once"
    for words in ("you are nobody", "--cni=calico", "cpu count 0", "it is full"):
        assert words in reason.message
    assert reason.advice.count("Become root.") == 1


def test_force_only_says_it_but_makes_nobody_root(one_driver: Any, report: Heard) -> None:
    one_driver(DISK)
    prepared(report, force=True)
    assert report.warnings == ["Disk: it is full. Empty it."]
    one_driver(DISK, ROOT)
    assert refused(report, force=True).id == "DRV_NEEDS_ROOT"


def test_a_dry_run_needs_no_root(one_driver: Any, report: Heard) -> None:
    one_driver(ROOT)
    prepared(report, dry_run=True)
    assert report.warnings == ["Root rights: you are nobody. Become root."]
    one_driver(ROOT, DISK)
    assert refused(report, dry_run=True).id == "RSRC_INSUFFICIENT_STORAGE"


def test_components_can_be_fetched_for_a_machine_that_cannot_start_anything(one_driver: Any, report: Heard) -> None:
    one_driver(ROOT, DISK)
    assert prepared(report, download_only=True).config.Driver == "box"
