"""Root working for a person, in a process of its own: what it becomes cannot be taken back."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UID = 4711
_PRELUDE = f"""
import builtins, os, sys
from pathlib import Path
from minikube.host import credentials
# The clone may be where only root can read it.
load, _ = builtins.__import__, credentials._kernel()
def as_root(*words, **named):
    with credentials.as_root():
        return load(*words, **named)
builtins.__import__, sys.dont_write_bytecode = as_root, True
credentials.work_for({UID}, {UID}, [{UID}])
"""


def for_person(program: str, *words: object, environment: dict[str, str] | None = None) -> str:
    """What the program prints, run as root that works for user 4711; its last line is the reason if it is refused."""
    source = _PRELUDE + textwrap.dedent(program)
    argv = [sys.executable, "-c", source, *map(str, words)]
    done = subprocess.run(argv, env={**os.environ, **(environment or {})}, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout.strip() or (done.stderr.strip().splitlines() or [""])[-1]


def persons(path: Path, text: str | None = None) -> Path:
    """A file of the person's with this text, or a directory; what is above it and missing is the person's, too."""
    missing = [place for place in (path, *path.parents) if not place.exists()]
    if text is None:
        path.mkdir(parents=True, exist_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for place in missing:
        os.chown(place, UID, UID)
    return path


@contextmanager
def open_place() -> Iterator[Path]:
    """A temporary directory that everybody may enter. Those of pytest are closed to others whenever another pytest begins."""
    with tempfile.TemporaryDirectory(prefix="mk-person-", dir="/var/tmp") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)
