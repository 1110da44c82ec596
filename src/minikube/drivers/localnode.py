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
    from minikube.host.untrustedtree import Tree


PATIENCE = 120.0  # seconds for files that go through a command in the node


class LocalNode(Node):
    """`state` has the directories a node keeps (/etc, /var …); `socket` is where the supervisor's control socket is on this host."""

    def __init__(self, name: str, *, state: str, socket: str, address: str, gateway: str, peer: int | None = None) -> None:
        """`peer` is who the node's root is on this host."""
        self.name = name.lower()
        self.address = address
        self.gateway = gateway
        self.control = Control(socket, peer=peer)
        self._state = state

    def run(self, argv: Sequence[str], *, input: bytes | None = None, timeout: float | None = None) -> Result:
        from minikube.drivers.values import Result

        return Result(*self.control.run(list(argv), input=input, timeout=timeout))

    def attach(self, argv: Sequence[str], *, tty: bool) -> int:
        return self.control.attach(list(argv), tty=tty)

    def put(self, files: Mapping[str, File]) -> None:
        from minikube.host.nofollow import LeadsElsewhere

        elsewhere = {}
        for path, file in files.items():
            try:
                self._tree(path).write(path, file.content, file.mode)
            except LeadsElsewhere:
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
        from minikube.drivers.values import File
        from minikube.host.nofollow import LeadsElsewhere

        found: dict[str, File] = {}
        elsewhere = []
        for path in paths:
            try:
                found |= {name: File(*file) for name, file in self._tree(path).read(path).items()}
            except LeadsElsewhere:
                elsewhere.append(path)
        if elsewhere:
            from minikube.drivers import archives

            found |= archives.unpack(self._inside(archives.get_command(elsewhere), elsewhere).stdout, elsewhere)
        return found

    def get_own(self, *paths: str) -> dict[str, File]:
        if not self._is_ours():
            return self.get(*paths)
        from minikube.drivers.values import File
        from minikube.host.nofollow import LeadsElsewhere

        found: dict[str, File] = {}
        for path in paths:
            try:
                found |= {name: File(*file) for name, file in self._tree(path).read(path).items()}
            except LeadsElsewhere:
                continue
        return found

    def put_own(self, files: Mapping[str, File]) -> None:
        if self._is_ours():
            for path in filter(_kept, files):
                self._tree(path).clear_way(path)
        self.put(files)

    def exists(self, path: str) -> bool:
        from minikube.host.nofollow import LeadsElsewhere

        try:
            if (kind := self._tree(path).kind(path)) != "link":
                return bool(kind)
        except LeadsElsewhere:
            pass
        return self._inside(["test", "-e", path], [path]).code == 0

    def put_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Say who the node is and which services run; the supervisor reads it when it starts."""
        import json

        from minikube.drivers.values import File

        self.put_own({METADATA: File(json.dumps(metadata, indent=1).encode(), 0o600)})

    def answers(self) -> bool:
        """Whether the supervisor is there, and not on its way out: the node runs."""
        try:
            return not self.control.status().get("stopping")
        except (ControlUnreachable, OSError):
            return False

    def _tree(self, path: str) -> Tree:
        """Where the file is on this host, if it is, and if this user may look: the directory belongs to root."""
        from minikube.host.nofollow import LeadsElsewhere
        from minikube.host.untrustedtree import Tree

        if not (_kept(path) and self._is_ours()):
            raise LeadsElsewhere(path)
        return Tree(self._state)

    def _is_ours(self) -> bool:
        import os

        return os.geteuid() in (0, _owner(self._state))

    def _inside(self, argv: Sequence[str], paths: Iterable[str], *, input: bytes | None = None) -> Result:
        """What only the node itself can do: reach files behind its mounts and links."""
        try:
            return self.run(argv, input=input, timeout=PATIENCE)
        except TimeoutError:
            names = ", ".join(paths)
            raise Reason("GUEST_STATUS", f"{names}: the node {self.name} gives no answer", advice="See `minikube ssh`.") from None
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
