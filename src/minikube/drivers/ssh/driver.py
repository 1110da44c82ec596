"""The ssh driver: a machine that somebody already has holds a native node, reached over one SSH connection."""

from __future__ import annotations

from minikube.drivers.base import Driver
from minikube.drivers.leftbehind import LeftBehind
from minikube.drivers.ssh.explain import ID
from minikube.drivers.ssh.node import SshNode
from minikube.drivers.ssh.place import NODES
from minikube.drivers.ssh.session import Session
from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from minikube.artifacts.components import Components
    from minikube.drivers.ssh.target import Target
    from minikube.drivers.values import Limits, Machine
    from minikube.output.progress import Progress

STOP_SECONDS = 180  # an orderly end of every container may take its time over there


class SshDriver(Driver):
    name = "ssh"
    step = "Running Remotely"

    def __init__(self, machine: str, target: Target, *, user_namespace: bool = True) -> None:
        self._user_namespace = user_namespace
        self.where = f"on {target.address}"
        self._session = Session(machine, target)

    def machine(self) -> Machine:
        kept = self._session.facts()
        within = kept.get("user_namespace", False)
        return self._session.found().machine._replace(user_namespace=within, pods_can_have_one=kept.get("pods_can_have_one", not within))

    def create(self, components: Components, limits: Limits, progress: Progress) -> SshNode:
        from minikube.drivers.ssh.transfer import over_there

        self._session.equip(components, progress)
        # Before anything is made there: whatever happens, `delete` knows that there is something to look for.
        self._session.remember(limits=limits._asdict())
        made = self._session.call("create", components=over_there(components), limits=limits._asdict(), user_namespace=self._user_namespace)
        self._session.remember(**made)
        return self.node()

    def fill(self, progress: Progress) -> None:
        self._session.call("fill")

    def setup(self, *, service_address: str, api_port: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._session.call("setup", service_address=service_address, api_port=api_port)["setup"]
        return found

    def start(self, metadata: Mapping[str, Any]) -> None:
        self._session.call("start", metadata=dict(metadata))
        self._session.running = True

    def stop(self) -> None:
        if self._session.facts():
            self._session.call("stop", timeout=STOP_SECONDS)
        self._session.running = False
        self._session.close()

    def delete(self) -> None:
        if self._session.facts():
            try:
                self._session.call("delete", timeout=STOP_SECONDS)
            except Reason as reason:
                if self._session.target.key_is_gone():
                    self._session.forget()
                    raise self._left_behind() from None
                raise self._not_deleted(reason) if reason.id == ID else reason from None
        self._session.forget()

    def warnings(self) -> list[str]:
        return list(self._session.facts().get("warnings", ()))

    def state(self) -> str:
        if "address" not in self._session.facts():
            return "Nonexistent"
        state = str(self._session.call("state")["state"])
        self._session.running = state in ("Running", "Paused")
        if not self._session.running:
            self._session.leave()  # now: this process may be about to become another program
        return state

    def limits(self) -> Limits:
        from minikube.drivers.values import Limits

        return Limits(**self._created()["limits"])

    def node(self) -> SshNode:
        facts = self._created()
        return SshNode(self._session, address=facts["address"], gateway=facts["gateway"])

    def _not_deleted(self, reason: Reason) -> Reason:
        """The node may still be there. Only its owner can know that it is not."""
        advice = f"{reason.advice} If that machine is gone for good: rm -r '{self._session.directory}', then the same command again."
        return Reason(reason.id, reason.message, advice=advice)

    def _left_behind(self) -> LeftBehind:
        """Unlike a machine that does not answer today, nobody here can ever log in there again."""
        session, target = self._session, self._session.target
        return LeftBehind(
            ID,
            f"{target.address} was not reached: the key {target.key} does not exist. What was here of "
            f'"{session.machine}" is removed; its node is still there',
            advice="Log in there another way and remove it: end its processes (a restart of the machine does), "
            f"then sudo rm -r {NODES}/{session.client}",
        )

    def _created(self) -> dict[str, Any]:
        facts = self._session.facts()
        if "address" not in facts:
            raise Reason(
                "GUEST_LOAD_HOST",
                f'The machine "{self._session.machine}" does not exist: it was never made, or its directory was removed',
                advice="Run `minikube start`.",
            )
        return facts
