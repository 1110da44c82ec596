"""Install a package of this clone where a test wants it: what pip leaves behind, without pip and without a network."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path


def install(project: Path, target: Path) -> None:
    """Its modules, and its metadata with the entry points of its pyproject.toml, into a directory for the PYTHONPATH."""
    shutil.copytree(project / "src", target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    described = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    metadata = target / f"{described['name'].replace('-', '_')}-{described['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {described['name']}\nVersion: {described['version']}\n")
    groups = described["entry-points"].items()
    lines = [line for group, entries in groups for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
