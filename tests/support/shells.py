"""zsh and fish where the tests have them: Debian's packages in the store, laid over /usr for one process only."""

from __future__ import annotations

from pathlib import Path

from support.debianpackages import unpack

from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import Progress

PACKAGES = ("zsh", "zsh-common", "fish", "fish-common", "libpcre2-32-0")


def shell_argv(*words: str) -> list[str]:
    """The command with both shells at their places, for which there is no other way: zsh looks for its modules nowhere else."""
    usr = Store().provide(Recipe("test-shells", f"{PACKAGES} 1", _build, estimate_seconds=5, what="shells"), Progress(None)) / "usr"
    return ["unshare", "--mount", "sh", "-ec", f'mount -t overlay -o lowerdir={usr}:/usr none /usr; exec "$@"', "sh", *words]


def _build(target: Path, _progress: Progress) -> None:
    unpack(PACKAGES, target)
