"""Which value counts, and where it came from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minikube.output.reason import Reason
from minikube.profiles import userconfig
from minikube.profiles.settings import Flag, Settings
from minikube.profiles.values import SECOND, BadValue, format_duration, parse, parse_bool, parse_duration, parse_int

FLAGS = {
    flag.name: flag
    for flag in (
        Flag("profile", default="minikube"),
        Flag("cpus", default="2"),
        Flag("nodes", "int", 1),
        Flag("dry-run", "bool"),
        Flag("embed-certs", "bool", config_key="EmbedCerts"),
        Flag("wait-timeout", "duration", 360 * SECOND),
        Flag("addons", "strings"),
    )
}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    return tmp_path / ".minikube"


def test_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(given: dict[str, object]) -> tuple[object, str, bool]:
        settings = Settings(FLAGS, given)
        return settings.get("nodes"), settings.source("nodes"), settings.changed("nodes")

    assert look({}) == (1, "default", False)
    userconfig.set_value("nodes", 2)
    assert look({}) == (2, "config", False)
    monkeypatch.setenv("MINIKUBE_NODES", "3")
    assert look({}) == (3, "environment", False)
    assert look({"nodes": 4}) == (4, "flag", True)
    monkeypatch.setenv("MINIKUBE_NODES", "")
    assert look({}) == (2, "config", False)


def test_names_in_the_environment_and_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_DRY_RUN", "true")
    monkeypatch.setenv("MINIKUBE_WAIT_TIMEOUT", "90s")
    monkeypatch.setenv("MINIKUBE_ADDONS", "a,b")
    userconfig.set_value("EmbedCerts", True)
    settings = Settings(FLAGS, {})
    assert settings.get("dry-run") is True
    assert settings.get("wait-timeout") == 90 * SECOND
    assert settings.get("addons") == ["a", "b"]
    assert settings.get("embed-certs") is True


def test_types_of_the_file(home: Path) -> None:
    for key, value in {"cpus": 4, "nodes": "3", "addons": ["x", "y,z"], "dry-run": "true"}.items():
        userconfig.set_value(key, value)
    settings = Settings(FLAGS, {})
    assert (settings.get("cpus"), settings.get("nodes"), settings.get("addons"), settings.get("dry-run")) == ("4", 3, ["x", "y", "z"], True)
    assert json.loads((home / "config" / "config.json").read_text())["cpus"] == 4


def test_values_that_mean_nothing_are_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_NODES", "many")
    with pytest.raises(Reason, match="MINIKUBE_NODES") as caught:
        Settings(FLAGS, {}).get("nodes")
    assert caught.value.exit_code == 14
    userconfig.set_value("cpus", {"a": 1})
    with pytest.raises(Reason, match=r"config\.json"):
        Settings(FLAGS, {}).get("cpus")


def test_a_command_that_does_not_need_the_file_does_not_read_it(home: Path) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.json").write_text("{")
    assert Settings(FLAGS, {}, use_file=False).get("cpus") == "2"
    with pytest.raises(Reason):
        Settings(FLAGS, {}).get("cpus")


def test_an_empty_profile_is_the_default_one() -> None:
    assert Settings(FLAGS, {"profile": ""}).profile == "minikube"


def test_unset_makes_no_file(home: Path) -> None:
    userconfig.unset("profile")
    assert not home.exists()
    userconfig.set_value("profile", "x")
    userconfig.unset("profile")
    assert userconfig.read() == {}


@pytest.mark.parametrize(
    ("text", "nanoseconds", "shown"),
    [
        ("6m", 360 * SECOND, "6m0s"),
        ("26280h", 94_608_000 * SECOND, "26280h0m0s"),
        ("1h30m", 5400 * SECOND, "1h30m0s"),
        ("1.5s", 1_500_000_000, "1.5s"),
        (".5s", 500_000_000, "500ms"),
        ("1us", 1000, "1µs"),
        ("-2s", -2 * SECOND, "-2s"),
        ("0", 0, "0s"),
    ],
)
def test_durations(text: str, nanoseconds: int, shown: str) -> None:
    assert parse_duration(text) == nanoseconds
    assert format_duration(nanoseconds) == shown


@pytest.mark.parametrize("text", ["", "5", "x", "5 m", "5mm", "1..2s", "--5s", "5m-", ".s", "9" * 50 + "h", "∞"])
def test_no_durations(text: str) -> None:
    with pytest.raises(BadValue):
        parse_duration(text)


def test_numbers_and_bools_as_go_reads_them() -> None:
    assert [parse_int(text) for text in ("10", "-3", "+4", "0x1f", "0b11", "017", "0o17", "1_000")] == [10, -3, 4, 31, 3, 15, 15, 1000]
    for text in ("", "1.5", "ten", "9" * 30, "08", "٣", "--1"):
        with pytest.raises(BadValue):
            parse_int(text)
    assert [parse_bool(text) for text in ("1", "t", "TRUE", "0", "F", "False")] == [True] * 3 + [False] * 3
    for text in ("yes", "", "tRUE"):
        with pytest.raises(BadValue):
            parse_bool(text)


def test_lists() -> None:
    assert parse("strings", 'a,"b,c",d') == ["a", "b,c", "d"]
    assert parse("strings", "") == []
    assert parse("stringArray", "a,b") == ["a,b"]
    with pytest.raises(BadValue):
        parse("strings", '"open')
    with pytest.raises(BadValue):
        parse("extra", "kubelet")
