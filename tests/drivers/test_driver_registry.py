"""Drivers from everywhere: built in, from installed packages, broken ones, and ones that hang."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from minikube.drivers import machinefile, registry
from minikube.drivers.definition import Definition
from minikube.drivers.health import status_of, statuses
from minikube.drivers.values import DriverStatus
from minikube.output.reason import Reason

SOURCE = Path(registry.__file__).parents[2]
GOOD = """
from minikube.drivers.definition import Definition
from minikube.drivers.values import DriverStatus
DEFINITION = Definition("{name}", aliases=("{name}-too",), summary="good", make=lambda machine, own: (machine, own),
                        status=lambda: DriverStatus(version="7"), configure=lambda config, settings, before: {{"a": 1}})
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Install a package whose entry point is a driver: what pip leaves behind, without pip."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path / "home"))

    def install(name: str, code: str) -> None:
        module = f"driver_of_{name.replace('-', '_')}_{tmp_path.name.replace('-', '_')}"
        (tmp_path / f"{module}.py").write_text(code.format(name=name))
        metadata = tmp_path / f"{module}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[minikube.drivers]\n{name} = {module}:DEFINITION\n")

    return install


def broken(name: str) -> tuple[DriverStatus, Reason]:
    """What a driver that cannot be loaded says, when asked and when used."""
    definition = registry.definition(name)
    assert name in [other.name for other in registry.every()]
    with pytest.raises(Reason) as refused:
        definition.make("m", {})
    return status_of(definition), refused.value


def test_a_driver_of_an_installed_package_registers_as_a_built_in_one(package: Callable[[str, str], None]) -> None:
    package("good", GOOD)
    found = registry.definition("good")
    assert found.name == registry.definition("good-too").name == "good"
    assert (found.built_in, found.origin.startswith("package driver_of_good")) == (False, True)
    assert next(other.name for other in registry.every()) == "none"
    assert "good" in [other.name for other in registry.every()]
    assert status_of(found).version == "7"


def test_a_machine_finds_its_driver_and_the_configuration_that_was_kept(package: Callable[[str, str], None]) -> None:
    package("good", GOOD)
    machinefile.save("m", "good", {"a": 2})
    assert machinefile.driver_name("m") == "good"
    assert registry.driver_for("good", "m") == ("m", {"a": 2})


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import there_is_no_such_module", "ModuleNotFoundError"),
        ("this is not Python at all", "SyntaxError"),
        ("raise RuntimeError('on purpose')", "RuntimeError: on purpose"),
        ("DEFINITION = 'a string'", "is a str, not a"),
        (GOOD.replace('Definition("{name}"', 'Definition("other"'), "calls itself 'other'"),
        ("", "AttributeError"),
    ],
)
def test_a_package_that_cannot_be_loaded_becomes_a_driver_that_says_so(package: Callable[[str, str], None], code: str, why: str) -> None:
    package("bad", code)
    package("good", GOOD)
    status, refusal = broken("bad")
    assert not status.healthy
    assert why in status.reason
    assert why in refusal.message
    assert refusal.id == "DRV_AUX_NOT_HEALTHY"
    assert registry.definition("good").name == "good"


def test_a_package_cannot_take_the_name_of_a_built_in_driver(package: Callable[[str, str], None]) -> None:
    package("native", GOOD)
    package("none", GOOD)
    assert registry.definition("native").built_in
    assert registry.definition("none").built_in
    assert [other.origin for other in registry.every() if other.name in ("none", "native")] == ["built in"]


def definition(status: Callable[[], DriverStatus]) -> Definition:
    return Definition("some", summary="", make=lambda *_: None, status=status)  # type: ignore[arg-type, return-value]


def test_a_status_check_that_hangs_is_an_unhealthy_driver() -> None:
    hanging = definition(lambda: time.sleep(600) or DriverStatus())
    quick = definition(lambda: DriverStatus(version="1"))
    late, well = statuses([hanging, quick], seconds=0.2)
    assert (late.healthy, late.reason) == (False, "its status check gave no answer in 0.2 s")
    assert well == DriverStatus(version="1")


@pytest.mark.parametrize("error", [RuntimeError("boom"), SystemExit(3), Reason("GUEST_STATUS", "told you"), KeyError("k")])
def test_a_status_check_that_fails_is_an_unhealthy_driver(error: BaseException) -> None:
    def fail() -> DriverStatus:
        raise error

    status = status_of(definition(fail))
    assert not status.healthy
    assert str(error) in status.reason


def test_a_status_check_that_answers_nonsense_is_an_unhealthy_driver() -> None:
    assert "NoneType instead of a DriverStatus" in status_of(definition(lambda: None)).reason  # type: ignore[arg-type, return-value]


def test_a_driver_of_another_system_is_not_asked() -> None:
    foreign = Definition("some", summary="", make=lambda *_: None, status=lambda: 1 / 0, systems=("darwin",))  # type: ignore[arg-type, return-value]
    status = status_of(foreign)
    assert (status.installed, status.id) == (False, "DRV_UNSUPPORTED_OS")


def test_a_machine_whose_driver_has_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    with pytest.raises(Reason) as refused:
        registry.driver_for("vanished", "dev")
    assert (refused.value.id, refused.value.exit_code) == ("DRV_NOT_FOUND", 55)
    assert "dev" in refused.value.message
    assert "vanished" in refused.value.message


def test_a_damaged_machine_file_is_a_reason_and_no_obstacle_to_deleting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    machinefile.save("m", "good", {})
    (tmp_path / ".minikube/machines/m/config.json").write_text("[half a fi")
    with pytest.raises(Reason) as refused:
        machinefile.load("m")
    assert refused.value.id == "GUEST_LOAD_HOST"
    assert machinefile.driver_name("m") == ""


def test_the_machine_file_is_upstreams_and_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    machinefile.save("m", "good", {"SSHPort": 22})
    path = tmp_path / ".minikube/machines/m/config.json"
    assert json.loads(path.read_text()) == {
        "ConfigVersion": 3, "Driver": {"SSHPort": 22}, "DriverName": "good", "HostOptions": {}, "Name": "m",
    }  # fmt: skip
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_built_in_driver_is_found_without_looking_at_installed_packages() -> None:
    """`status`, `ip` and `version` come this way."""
    program = (
        "import sys\nfrom minikube.drivers.registry import driver_for\ndriver_for('none', 'm').state()\n"
        "print(sorted({'importlib.metadata', 'email', 'typing', 'dataclasses', 'threading', 'msgspec'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{program}"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout == "[]\n"
