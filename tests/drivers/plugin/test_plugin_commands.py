"""Plugins at the command line: found, listed, asked for their flags, and refused with a reason when they are of no use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.minikube import Answer, Place

from minikube.drivers import registry
from minikube.drivers.definition import FALLBACK
from minikube.drivers.health import status_of

pytestmark = pytest.mark.build

Run = Callable[..., Answer]
Patch = pytest.MonkeyPatch


@pytest.fixture
def run(misbehaving: Path, tmp_path: Path) -> Run:
    """A command with the plugin in the home's bin directory, misbehaving as `how` says."""
    place = Place(tmp_path)
    (place.home / "bin").mkdir(parents=True)
    (place.home / "bin" / misbehaving.name).symlink_to(misbehaving)

    def run_command(*words: str, how: str = "", **environment: str) -> Answer:
        place.environment |= {"MISBEHAVE": how, **environment}
        return place.run(*words)

    return run_command


def test_help_shows_the_flags_of_the_driver(run: Run) -> None:
    shown = run("start", "--help", "--driver=misbehaving")
    assert shown.code == 0
    section = shown.stdout.partition("Driver misbehaving:\n")[2]
    assert "--misbehaving-text='as it was':\n        A text [$MISBEHAVING_TEXT]" in section
    assert "--misbehaving-list=[one,two, three]:" in section
    assert "misbehaving" not in run("start", "--help").stdout


def test_help_of_a_broken_driver_is_still_help(run: Run) -> None:
    shown = run("start", "--help", "--driver=misbehaving", how="dead")
    assert (shown.code, shown.stderr) == (0, "")
    assert "--kubernetes-version" in shown.stdout


def test_flags_are_taken_and_a_dry_run_makes_nothing(run: Run, tmp_path: Path) -> None:
    answer = run("start", "--driver=misbehaving", "--dry-run", "--misbehaving-number", "4", "--misbehaving-list=a", "--misbehaving-list=b")
    assert answer.code == 0, answer.stderr
    assert "Using the misbehaving driver based on user configuration" in answer.stdout
    assert not (tmp_path / ".minikube/machines").exists()


@pytest.mark.parametrize(
    ("flags", "environment", "code", "words"),
    [
        (["--misbehaving-nonsense=1"], {}, 14, "unknown flag: --misbehaving-nonsense"),
        (["--misbehaving-number=x"], {}, 14, 'invalid argument "x" for "--misbehaving-number" flag'),
        (
            ["--misbehaving-switch"],
            {},
            14,
            "Exiting due to MK_USAGE: The driver 'misbehaving' does not accept its settings: the switch must",
        ),
        ([], {"MISBEHAVING_NUMBER": "x"}, 14, "the environment variable MISBEHAVING_NUMBER is not valid"),
        (
            [],
            {"how": "version"},
            56,
            "DRV_UNSUPPORTED: The misbehaving driver cannot work here: Driver binary uses an incompatible API version (2)",
        ),
        (["--misbehaving-text=x"], {"how": "version"}, 56, "DRV_UNSUPPORTED: The driver 'misbehaving' cannot be used: Driver binary uses"),
        (
            [],
            {"how": "dead"},
            69,
            "PROVIDER_MISBEHAVING_ERROR: The 'misbehaving' driver is not healthy: docker-machine-driver-misbehaving ended",
        ),
        ([], {"how": "banner"}, 69, 'said "Welcome to the misbehaving driver!" where it must say the address'),
        (["--misbehaving-text=x"], {"how": "dead"}, 55, "DRV_NOT_HEALTHY: The driver 'misbehaving' does not tell its flags"),
    ],
)
def test_what_cannot_work_is_refused(
    run: Run, tmp_path: Path, flags: list[str], environment: dict[str, str], code: int, words: str
) -> None:
    answer = run("start", "--driver=misbehaving", *flags, **environment)
    assert words in answer.stderr, answer
    assert answer.code == code
    assert "Traceback" not in answer.stderr
    assert not (tmp_path / ".minikube/machines").exists()


def test_a_name_without_a_program(run: Run) -> None:
    answer = run("start", "--driver=fail")
    assert (answer.code, "DRV_UNSUPPORTED" in answer.stderr) == (56, True)
    assert run("start", "--driver=../misbehaving").code == 56


def test_the_path_is_searched_after_the_homes_own_directory(run: Run, tmp_path: Path, misbehaving: Path, monkeypatch: Patch) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    for name in ("misbehaving", "another"):
        (other / f"docker-machine-driver-{name}").symlink_to(misbehaving)
    (other / "docker-machine-driver-plain-file").write_text("not a program")
    monkeypatch.setenv("PATH", f"{other}::{os.environ['PATH']}")
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    monkeypatch.delenv("MISBEHAVE", raising=False)
    found = {definition.name: definition for definition in registry.every()}
    assert found["misbehaving"].origin == f"program {tmp_path}/.minikube/bin/{misbehaving.name}"
    assert found["another"].origin == f"program {other}/docker-machine-driver-another"
    assert status_of(found["another"])[:2] == (True, True)
    assert found["another"].priority < FALLBACK, "nobody gets a machine because a program is on the PATH"
    assert "plain-file" not in found
