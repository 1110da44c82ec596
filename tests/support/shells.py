"""zsh and fish where the tests have them: Debian's packages in the store, laid over /usr for one process only."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from minikube.artifacts.store import Recipe, Store
from minikube.host.process import run
from minikube.output.progress import Progress

PACKAGES = ("zsh", "zsh-common", "fish", "fish-common", "libpcre2-32-0")


def shell_argv(*words: str) -> list[str]:
    """The command with both shells at their places, for which there is no other way: zsh looks for its modules nowhere else."""
    usr = Store().provide(Recipe("test-shells", f"{PACKAGES} 1", _build, estimate_seconds=5, what="shells"), Progress(None)) / "usr"
    return ["unshare", "--mount", "sh", "-ec", f'mount -t overlay -o lowerdir={usr}:/usr none /usr; exec "$@"', "sh", *words]


def _build(target: Path, _progress: Progress) -> None:
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        run(["apt-get", "download", *PACKAGES], cwd=scratch)
        for package in scratch.glob("*.deb"):
            run(["dpkg", "-x", str(package), str(scratch / "root")])
        shutil.copytree(scratch / "root/usr", target / "usr", symlinks=True)
        shutil.copytree(scratch / "root/bin", target / "usr/bin", symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(target / "usr/share/doc")
