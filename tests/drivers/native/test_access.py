"""From flags of `start` to who may connect to what."""

from __future__ import annotations

from typing import Any

import pytest

from minikube.cli.flags import GLOBAL_FLAGS
from minikube.cli.startflags import START_FLAGS
from minikube.drivers import registry
from minikube.drivers.native.definition import access
from minikube.drivers.native.driver import NativeDriver
from minikube.network.firewall import Access
from minikube.output.reason import Reason
from minikube.profiles import ownership
from minikube.profiles.clusterconfig import new_cluster_config
from minikube.profiles.settings import Settings


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


def configure(before: dict[str, Any] | None = None, *, registries: list[str] | None = None, **given: Any) -> dict[str, Any]:
    flags = {flag.name: flag for flag in (*GLOBAL_FLAGS, *START_FLAGS)}
    settings = Settings(flags, {name.replace("_", "-"): value for name, value in given.items()}, use_file=False)
    config = new_cluster_config("a")
    config.InsecureRegistry = registries
    return registry.definition("none").configure(config, settings, before or {})


def wanted(kept: dict[str, Any]) -> Access:
    return NativeDriver("a", access=access(kept)).access._replace(owner=0)


def test_a_new_cluster_opens_nothing_of_the_host_and_its_control_plane_to_nobody() -> None:
    assert wanted(configure()) == Access(local="services", api_port=8443, host=(), asked=[])  # type: ignore[arg-type]


def test_what_was_said_once_holds_until_something_else_is_said() -> None:
    before = configure(local_access="owner", host_access=["8000"])
    assert (wanted(configure(before)).local, wanted(configure(before)).host) == ("owner", ("8000",))
    assert wanted(configure(before, local_access="all")).local == "all"
    assert wanted(configure(before, host_access=["none"])).host == ()


def test_a_machine_of_an_older_version_gets_the_defaults() -> None:
    assert wanted(configure({"UserNamespace": True})).local == "services"
    assert wanted({}) == Access()


def test_registries_and_proxies_on_the_host_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://host.minikube.internal:3128")
    kept = configure(registries=["host.minikube.internal:5000", "registry.example:5001", "10.0.0.0/8"], host_access=["5000-5002"])
    assert wanted(kept).host == ("3128", "5000-5002")


@pytest.mark.parametrize(("flag", "value"), [("local_access", "everybody"), ("host_access", ["http"])])
def test_other_words_are_refused(flag: str, value: object) -> None:
    with pytest.raises(Reason) as refusal:
        configure(**{flag: value})
    assert (refusal.value.id, flag.replace("_", "-") in refusal.value.message) == ("MK_USAGE", True)


def test_the_owner_is_whom_root_works_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "behind_root", lambda: ownership.Person(1234, 1234, "dev", "/home/dev"))
    assert NativeDriver("a").access.owner == 1234
