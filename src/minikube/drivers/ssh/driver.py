"""The ssh driver: a machine that somebody already has holds a native node, reached over one SSH connection."""

from __future__ import annotations

from minikube.drivers.base import Driver
from minikube.drivers.leftbehind import LeftBehind
from minikube.drivers.ssh.channel import expect
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

STATES = ("Running", "Paused", "Stopped", "Nonexistent")
STOP_SECONDS = 180  # an orderly end of every container may take its time over there


class SshDriver(Driver):
    name = "ssh"
    step = "Running Remotely"

    def __init__(self, machine: str, target: Target, *, user_namespace: bool = True, access: Mapping[str, Any] | None = None) -> None:
        self._user_namespace = user_namespace
        self._access = dict(access or {})
        self.where = f"on {target.address}"
        self._session = Session(machine, target)

    def machine(self) -> Machine:
        kept = self._session.facts()
        within = kept.get("user_namespace", False)
        return self._session.found().machine._replace(
            user_namespace=within, pods_can_have_one=kept.get("pods_can_have_one", not within), user_ids=kept.get("user_ids", 1 << 24)
        )

    def create(self, components: Components, limits: Limits, progress: Progress) -> SshNode:
        from minikube.drivers.ssh.transfer import over_there

        self._session.equip(components, progress)
        # Before anything is made there: whatever happens, `delete` knows that there is something to look for.
        self._session.remember(limits=limits._asdict())
        wanted: dict[str, Any] = {"limits": limits._asdict(), "user_namespace": self._user_namespace, "access": self._access}
        made = self._session.call("create", components=over_there(components), **wanted)
        self._session.remember(**_checked(made))
        return self.node()

    def fill(self, progress: Progress) -> None:
        self._session.call("fill")

    def setup(self, *, service_address: str, api_port: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = expect(self._session.call("setup", service_address=service_address, api_port=api_port), "setup", list)
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
        state = expect(self._session.call("state"), "state", str)
        if state not in STATES:
            raise Reason("GUEST_STATUS", f"The agent on {self._session.target.address} gives a state that is none: {state!r:.40}")
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


def _checked(made: dict[str, Any]) -> dict[str, Any]:
    """What the machine says of its new node: it becomes part of certificates, the kubeconfig and forwarded ports here."""
    from ipaddress import IPv4Address

    addresses = {name: expect(made, name, str) for name in ("address", "gateway")}
    try:
        addresses = {name: str(IPv4Address(address)) for name, address in addresses.items()}
    except ValueError as error:
        raise Reason("GUEST_PROVISION", f"The agent on the machine gives an address that is none: {error!s:.200}") from error
    rest: dict[str, Any] = {name: expect(made, name, bool) for name in ("user_namespace", "pods_can_have_one")}
    rest["user_ids"] = min(max(expect(made, "user_ids", int), 0), 1 << 24)
    return addresses | rest | {"warnings": [str(words)[:1000] for words in expect(made, "warnings", list)[:20]]}
