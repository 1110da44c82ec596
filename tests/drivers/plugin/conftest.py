"""Plugins to talk to: made in a directory of the test's own, MISBEHAVE in the environment chooses a fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.driverplugins import provide_plugin


@pytest.fixture(scope="session")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return provide_plugin("misbehaving", tmp_path_factory.mktemp("plugins"), "misbehaving")


@pytest.fixture(scope="session")
def libmachine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with libmachine's own `none` and `generic`."""
    return provide_plugin("libmachine", tmp_path_factory.mktemp("libmachine"), "real-none", "real-generic").parent
