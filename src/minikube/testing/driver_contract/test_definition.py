"""What a driver says of itself, before anything is made."""

from __future__ import annotations

import json

from minikube.drivers import registry
from minikube.drivers.health import status_of
from minikube.profiles.paths import machine_directory
from minikube.testing.subject import Subject


def test_it_is_found_by_its_name_and_its_aliases(subject: Subject) -> None:
    for name in (subject.definition.name, *subject.definition.aliases):
        assert registry.definition(name) is subject.definition or registry.definition(name).name == subject.definition.name


def test_it_is_listed_once(subject: Subject) -> None:
    assert [found.name for found in registry.every()].count(subject.definition.name) == 1


def test_it_says_what_it_is(subject: Subject) -> None:
    assert subject.definition.summary
    assert subject.definition.systems
    assert subject.definition.origin


def test_its_status_check_answers_in_time_and_says_healthy(subject: Subject) -> None:
    status = status_of(subject.definition)
    assert status.installed and status.healthy, status.reason


def test_its_own_configuration_can_be_kept_as_json(subject: Subject) -> None:
    own = subject.configuration("kit-configuration")
    assert json.loads(json.dumps(own)) == own


def test_the_same_settings_give_the_same_configuration(subject: Subject) -> None:
    assert subject.configuration("kit-configuration") == subject.configuration("kit-configuration")


def test_making_the_driver_object_makes_nothing_else(subject: Subject) -> None:
    driver = subject.definition.make("kit-untouched", subject.configuration("kit-untouched"))
    assert driver.name == subject.definition.name
    assert driver.where
    assert not machine_directory("kit-untouched").exists()


def test_the_machine_it_would_use_is_known_before_anything_is_made(subject: Subject) -> None:
    machine = subject.definition.make("kit-untouched", subject.configuration("kit-untouched")).machine()
    assert machine.cpus > 0
    assert machine.memory_mb > 0
    assert all(name.startswith("CAP_") for name in machine.capabilities)
