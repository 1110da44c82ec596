"""No link of the documentation leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from console_blocks import pages
from support.minikube import CLONE

_LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(CLONE)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name) if name else page
        assert target.exists(), f"{link}: there is no such file"
        assert not anchor or anchor in _anchors(target), f"{link}: there is no such heading"


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
