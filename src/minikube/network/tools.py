"""`ip` and `nft` from the node image, run on the host: nothing has to be installed there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from minikube.host.process import run


class NetworkTools:
    """The node image's network tools, working in the host's network namespace.

    They are started through the image's own loader with the image's own libraries, so the host's may be of any age or kind.
    """

    def __init__(self, image: Path) -> None:
        self._programs = image / "usr/sbin"
        libraries = next(image.glob("usr/lib/*/libc.so.6")).parent
        self._loader = [str(next(libraries.glob("ld-linux*.so.*"))), "--library-path", str(libraries)]

    def ip(self, script: str, *, force: bool = False) -> None:
        """Run lines of `ip` in one process; with `force`, go on after a line that fails (undoing what may be gone)."""
        run(self.argv("ip", *(["-force"] if force else []), "-batch", "-"), input=script.encode(), timeout=30, check=not force)

    def query(self, *words: str) -> list[dict[str, Any]]:
        answer: list[dict[str, Any]] = json.loads(run(self.argv("ip", "-json", *words), timeout=30).stdout or b"[]")
        return answer

    def nft(self, script: str) -> None:
        run(self.argv("nft", "-f", "-"), input=script.encode(), timeout=30)

    def argv(self, program: str, *words: str) -> list[str]:
        """The command line that runs one of the tools."""
        return [*self._loader, str(self._programs / program), *words]
