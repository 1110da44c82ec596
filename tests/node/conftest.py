from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from supervised_node import SupervisedNode


@pytest.fixture
def node(tmp_path: Path) -> Iterator[SupervisedNode]:
    running = SupervisedNode(tmp_path)
    yield running
    if running.process and running.process.poll() is None:
        running.process.terminate()
        try:
            running.process.wait(20)
        finally:
            running.process.kill()
