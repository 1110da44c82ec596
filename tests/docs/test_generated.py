"""The pages that say what the code says, say it still."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from support.minikube import CLONE

PAGES: dict[Path, str] = runpy.run_path(str(CLONE / "tools/generate_docs.py"))["pages"]()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CLONE)))
def test_generated_page_is_up_to_date(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == PAGES[page], "run: PYTHONPATH=src python tools/generate_docs.py"
