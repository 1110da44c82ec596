"""Debian packages that a test needs: unpacked somewhere, never installed on this machine."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from minikube.host.process import run

# Debian's /bin, /lib and /sbin are links into /usr.
PLACES = {"usr": "usr", "etc": "etc", "lib": "usr/lib", "bin": "usr/bin", "sbin": "usr/sbin"}


def unpack(packages: Sequence[str], target: Path) -> None:
    """The packages' files, without what they say to people."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        run(["apt-get", "download", *packages], cwd=scratch)
        for package in scratch.glob("*.deb"):
            run(["dpkg", "-x", str(package), str(scratch / "root")])
        for source, place in PLACES.items():
            if (scratch / "root" / source).is_dir():
                shutil.copytree(scratch / "root" / source, target / place, symlinks=True, dirs_exist_ok=True)
    shutil.rmtree(target / "usr/share/doc", ignore_errors=True)
