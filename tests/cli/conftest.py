"""The real program in a home of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.program import Program


@pytest.fixture
def minikube(tmp_path: Path) -> Program:
    return Program(tmp_path)
