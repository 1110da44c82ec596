"""Whole machines, emulated: another kernel, control groups of version 2, systemd or nothing of the kind. `make test-machine` runs them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.minikube import CLONE, temporary_place
from support.nodeimage import provide_node_image
from support.testimages import build_test_images
from support.virtualmachine import VirtualMachine

SUITES = tuple(os.environ.get("TEST_MACHINES", "bookworm").split())


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "machine: boots whole machines in an emulator; only `make test-machine` runs it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.machine)
            if config.option.markexpr != "machine":
                item.add_marker(pytest.mark.skip(reason="part of `make test-machine`"))


@pytest.fixture(scope="session")
def luggage() -> Iterator[list[Path]]:
    """What somebody would carry to a machine without a network: a bundle, and images for pods."""
    with tempfile.TemporaryDirectory(prefix="mk-machines-", dir="/var/tmp") as name, temporary_place() as place:
        directory = Path(name)
        images = build_test_images(directory, node_image=provide_node_image(place))
        subprocess.run([str(CLONE / "minikube"), "bundle", "create", f"--output={directory / 'bundle.tar'}"], check=True)
        yield [directory / "bundle.tar", images]


@pytest.fixture(scope="module", params=SUITES)
def machine(request: pytest.FixtureRequest, luggage: list[Path]) -> Iterator[VirtualMachine]:
    with tempfile.TemporaryDirectory(prefix="mk-machine-", dir="/var/tmp") as name:
        made = VirtualMachine(Path(name), request.param)
        made.install(*luggage)
        try:
            yield made
        finally:
            made.pull_the_plug()
