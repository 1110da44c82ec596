"""A node on this host: commands through its control socket, files straight from the directory that holds what it keeps.

Drivers whose nodes are on this host build on it; they add `forward`, and what else is their own.
"""

from __future__ import annotations

from minikube.drivers.base import Node
from minikube.node.control import Control, ControlUnreachable
from minikube.node.places import METADATA, WRITABLE
from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from minikube.drivers.values import File, Result


class LocalNode(Node):
    """`state` has the directories a node keeps (/etc, /var …); `socket` is where the supervisor's control socket is on this host."""

    def __init__(self, name: str, *, state: str, socket: str, address: str, gateway: str) -> None:
        self.name = name
        self.address = address
        self.gateway = gateway
        self.control = Control(socket)
        self._state = state

    def run(self, argv: Sequence[str], *, input: bytes | None = None, timeout: float | None = None) -> Result:
        from minikube.drivers.values import Result

        return Result(*self.control.run(list(argv), input=input, timeout=timeout))

    def attach(self, argv: Sequence[str], *, tty: bool) -> int:
        return self.control.attach(list(argv), tty=tty)

    def put(self, files: Mapping[str, File]) -> None:
        from minikube.drivers import statefiles

        elsewhere = {}
        for path, file in files.items():
            try:
                if not self._within_reach(path):
                    raise statefiles.LeadsElsewhere(path)
                statefiles.write(self._state, path, file)
            except statefiles.LeadsElsewhere:
                elsewhere[path] = file
        if elsewhere:
            from minikube.drivers import archives

            result = self._inside(archives.put_command(), elsewhere, input=archives.pack(elsewhere))
            if result.code:
                names, why = ", ".join(elsewhere), result.stderr.decode(errors="replace").strip()
                raise Reason(
                    "GUEST_STATUS", f"{names} cannot be written in the node {self.name}: {why[-1000:]}", advice="See `minikube ssh`."
                )

    def get(self, *paths: str) -> dict[str, File]:
        from minikube.drivers import statefiles

        found: dict[str, File] = {}
        elsewhere = []
        for path in paths:
            try:
                if not self._within_reach(path):
                    raise statefiles.LeadsElsewhere(path)
                found |= statefiles.read(self._state, path)
            except statefiles.LeadsElsewhere:
                elsewhere.append(path)
        if elsewhere:
            from minikube.drivers import archives

            found |= archives.unpack(self._inside(archives.get_command(elsewhere), elsewhere).stdout)
        return found

    def exists(self, path: str) -> bool:
        from minikube.drivers import statefiles

        try:
            if not self._within_reach(path):
                raise statefiles.LeadsElsewhere(path)
            return statefiles.exists(self._state, path)
        except statefiles.LeadsElsewhere:
            return self._inside(["test", "-e", path], [path]).code == 0

    def put_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Say who the node is and which services run; the supervisor reads it when it starts."""
        import json

        from minikube.drivers.values import File

        self.put({METADATA: File(json.dumps(metadata, indent=1).encode(), 0o600)})

    def answers(self) -> bool:
        """Whether the supervisor is there, and not on its way out: the node runs."""
        try:
            return not self.control.status()["stopping"]
        except (ControlUnreachable, OSError):
            return False

    def _within_reach(self, path: str) -> bool:
        """Whether this user can have the file straight from the state directory, which may belong to root."""
        import os

        return _kept(path) and (os.geteuid() in (0, _owner(self._state)))

    def _inside(self, argv: Sequence[str], paths: Iterable[str], *, input: bytes | None = None) -> Result:
        """What only the node itself can do: reach files behind its mounts and links."""
        try:
            return self.run(argv, input=input)
        except ControlUnreachable:
            names, kept = ", ".join(paths), ", ".join(f"/{name}" for name in WRITABLE)
            raise Reason(
                "GUEST_STATUS",
                f"{names}: while the node {self.name} is stopped, only files below {kept} can be reached",
                advice="Run `minikube start` first.",
            ) from None


def _owner(directory: str) -> int:
    import os

    try:
        return os.stat(directory).st_uid  # noqa: PTH116
    except OSError:
        return -1


def _kept(path: str) -> bool:
    """Whether a path is in one of the directories that outlive a stop; the rest of the node is memory, or the image."""
    return path.strip("/").partition("/")[0] in WRITABLE and "/" in path.strip("/")
