"""Faults are tried on real clusters. The short form runs with the suite; `make faults` tries every moment, several times."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.minikube import Place, temporary_place
from support.nodeimage import fresh_name, provide_node_image

from faults.patient import Patient
from faults.table import RUNS, TABLE


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: runs only under `make faults`")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.cluster)
            if os.geteuid() != 0:
                item.add_marker(pytest.mark.skip(reason="real clusters on the native driver need root"))
            if item.get_closest_marker("long") and not RUNS:
                item.add_marker(pytest.mark.skip(reason="part of `make faults`"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if TABLE:
        terminalreporter.write_line(TABLE.text())


@pytest.fixture(scope="package")
def place() -> Iterator[Place]:
    with temporary_place() as chosen:
        yield chosen


@pytest.fixture(scope="package")
def image(place: Place) -> Path:
    """The node image in the store: every component is there once this exists."""
    return provide_node_image(place)


@pytest.fixture(scope="package")
def patient(place: Place, image: Path) -> Patient:
    """One cluster for all faults that it must survive; the place deletes it."""
    cluster = Patient(place, fresh_name(), image)
    cluster.begin_life()
    return cluster
