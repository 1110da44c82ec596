"""A real podman from Debian's packages, with images, settings and caches below a directory of one's own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from support.debianpackages import unpack

from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import Progress

PACKAGES = ("podman", "conmon", "runc", "libgpgme11", "libassuan0", "libsubid4")

# Run by root it keeps a cache below /var/lib, wherever its images are: in a mount namespace that goes with it.
_PROGRAM = """\
#!/bin/sh
export HOME={directory} CONTAINERS_STORAGE_CONF={directory}/storage.conf LD_LIBRARY_PATH={libraries}
export PATH={packages}/usr/bin:{packages}/usr/sbin:/usr/bin:/bin
exec unshare --mount sh -c 'mount -t tmpfs none /var/lib && exec podman "$@"' podman "$@"
"""
_STORAGE = '[storage]\ndriver = "vfs"\ngraphroot = "{directory}/images"\nrunroot = "{directory}/run"\n'


def make_podman(directory: Path) -> Path:
    """A program `podman`, alone in a directory."""
    packages = Store().provide(Recipe("test-podman", f"{PACKAGES} 2", _build, estimate_seconds=10, what="podman for tests"), Progress(None))
    (directory / ".config/containers").mkdir(parents=True)
    (directory / ".config/containers/policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
    (directory / "storage.conf").write_text(_STORAGE.format(directory=directory))
    program = directory / "bin/podman"
    program.parent.mkdir()
    libraries = next(packages.glob("usr/lib/*-linux-gnu"))
    program.write_text(_PROGRAM.format(directory=directory, packages=packages, libraries=libraries))
    program.chmod(0o755)
    return program


def podman(program: Path, *words: str) -> str:
    return subprocess.run([program, *words], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=True).stdout


def _build(target: Path, _progress: Progress) -> None:
    unpack(PACKAGES, target)
