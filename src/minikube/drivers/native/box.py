"""Making a native box, starting it, ending it, and undoing everything it changed on the host."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
from collections.abc import Mapping
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minikube.artifacts.components import Components
from minikube.artifacts.storeclone import clone_store
from minikube.drivers.native import bundle, fence, podusers, setup, sysctlguard, usernamespace
from minikube.drivers.native.layout import LAYERS
from minikube.drivers.native.node import node_root
from minikube.drivers.native.records import is_ours, is_roots_entry
from minikube.drivers.native.runc import Runc
from minikube.drivers.native.usernamespace import Enclosure, NoUserNamespace, Trial
from minikube.drivers.values import File, Limits
from minikube.host import attendants, cgroups, credentials, reservations, scopes, systemd
from minikube.host.files import give, make_directory, read_bounded, write_durably
from minikube.host.journal import Change, Journal
from minikube.host.moments import moment
from minikube.host.nofollow import LeadsElsewhere
from minikube.host.untrustedtree import Tree
from minikube.network import bridge, firewall, relay, subnets
from minikube.network.resolvers import host_resolvers
from minikube.network.tools import NetworkTools
from minikube.node.control import Control
from minikube.node.places import SUPERVISOR
from minikube.output.reason import Reason
from minikube.profiles.paths import doomed_directory, store

if TYPE_CHECKING:
    from minikube.drivers.native.driver import NativeDriver

IMAGES = "var/lib/containerd"
GRACE = 15.0  # seconds for an orderly shutdown; the supervisor's own deadline is shorter


class Box:
    def __init__(self, driver: NativeDriver) -> None:
        self.driver = driver
        self.layout = driver.layout
        self._process = 0  # the node's first, once it has been built
        self._listener = -1  # of its filter

    @property
    def journal(self) -> Journal:
        return Journal(self.layout.journal, ours=partial(is_ours, layout=self.layout))

    @property
    def _machine(self) -> Path:
        """By its name, which is that of the machine for everybody; files are reached through `layout.directory`."""
        return Path(self.layout.place)

    def create(self, components: Components, limits: Limits) -> None:
        _require_root("start")
        facts = self._facts()
        self._miss_data(facts)
        tools = NetworkTools(components.node_image)
        if not self.driver.enter(make=True):
            make_directory(self.layout.directory, mode=0o700)
        # A node whose `stop` was cut short is still ending: let it, in order.
        with contextlib.suppress(Reason, OSError):
            self._control(facts).shutdown(GRACE)
        # A crash, or somebody who removed our directory, may have left parts of the last run: start from a clean host.
        self._undo(facts | {"node_image": str(components.node_image)})
        bundle.write_root(self.layout)
        self._furnish(components)
        trial = usernamespace.Trial(self.layout, components) if self.driver.user_namespace else None
        usernamespace.forget_ranges(self.layout.files, "var/lib/kubelet/pods")
        with bridge.choosing():
            # A stopped cluster's addresses may have become those of a VPN or of another cluster: it gets others, and keeps its data.
            if "subnet" not in facts or subnets.is_taken(tools, facts["subnet"]):
                facts["subnet"] = str(subnets.choose(tools, reserved=self._reserved()))
            facts |= {
                "node_image": str(components.node_image),
                "prepared_store": str(components.prepared_store),
                "runc": str(components.runc),
                "kubernetes_version": components.kubernetes_version,
                "limits": limits._asdict(),
                "cgroup": self.layout.cgroup,
                "furnished": True,
                "access": self._kept_access(),
            }
            self._remember(facts)
            bridge.create(tools, self.journal, self.layout.bridge, IPv4Network(facts["subnet"]), self.driver.access)
            ids = reservations.reserve(self.layout.bridge, ids=trial is not None)
        enclosure = self._enclose(facts, trial, ids)
        self._remember(facts)
        specification = bundle.configuration(self.layout, components, limits, enclosure)
        (self.layout.bundle / "config.json").write_text(json.dumps(specification))

    def _miss_data(self, facts: Mapping[str, Any]) -> None:
        """Who removed the cluster's data, or has its disk somewhere else, does not want a new cluster in its place without a word."""
        if facts.get("furnished") and not self.layout.files.kind("var/lib"):
            raise Reason(
                "GUEST_LOAD_HOST",
                f'the data of "{self.layout.machine}" is gone: there is nothing of it in {self._said(self.layout.state("var"))}',
                advice="Bring it back from a copy, or mount the disk that it is on, and start again. To begin anew without it: "
                f"minikube delete -p {self.layout.machine}, then minikube start -p {self.layout.machine}",
            )

    def _enclose(self, facts: dict[str, Any], trial: Trial | None, ids: range) -> Enclosure | None:
        """Decide whether the node gets a user namespace, and note it among the facts."""
        before = bool(facts.get("enclosure"))
        facts |= {"enclosure": None, "not_enclosed": ""}
        if trial:
            try:
                facts["enclosure"] = trial.result(ids)._replace(machine="")._asdict()
            except NoUserNamespace as why:
                facts["not_enclosed"] = str(why)
        facts["guarded"] = not facts["enclosure"] and sysctlguard.is_possible()
        if before != bool(facts["enclosure"]):
            with contextlib.suppress(LeadsElsewhere):
                usernamespace.keep_opaque(self.layout.files, IMAGES)
        return self._enclosure(facts)

    def _enclosure(self, facts: Mapping[str, Any]) -> Enclosure | None:
        """The user namespace that the node was decided to get."""
        return Enclosure(**facts["enclosure"])._replace(machine=str(self.layout.directory)) if facts.get("enclosure") else None

    def _remember(self, facts: Mapping[str, Any]) -> None:
        write_durably(self.layout.facts, json.dumps(facts, indent=2) + "\n")

    def fill(self) -> None:
        prepared, files = Path(self._facts()["prepared_store"]), self.layout.files
        layers = self.layout.images / LAYERS.lstrip("/")
        try:
            if not files.kind(IMAGES):
                clone_store(prepared, files, IMAGES, layers=layers, seen_at=LAYERS)
            elif not layers.exists():
                # Somebody removed them. The store stays: images that the user brought are in it.
                spare, fresh = f"{IMAGES}.spare", layers.with_name("layers.unfinished")
                files.remove(spare)
                clone_store(prepared, files, spare, layers=fresh, seen_at=LAYERS)
                fresh.rename(layers)
                files.remove(spare)
        except LeadsElsewhere as error:
            raise self._led_astray(f"/{IMAGES}") from error

    def build(self) -> None:
        """Make the box with its first process waiting, and connect it."""
        facts = self._facts()
        runc = Runc(Path(facts["runc"]), self.layout.runc_state)
        enclosure = self._enclosure(facts)
        attended = enclosure is not None and enclosure.pods
        attendant: list[Change] = [{"kind": "podmounts"}] if attended else []
        self.journal.record(*self._groups(), *attendant, {"kind": "container", "id": self.layout.container})
        self._make_socket_directories()
        calls = podusers.Listener(self.layout.directory) if attended else None
        with self._group(), contextlib.closing(calls) if calls else contextlib.nullcontext():
            fence.build(self.layout.fence, Limits(**facts["limits"]))
            if facts.get("guarded"):
                sysctlguard.attach(self.layout.group)
            group = self.layout.attendants
            process = runc.create(self.layout.container, self.layout.bundle, log=self._log, group=group, enclosure=enclosure)
            self._listener = calls.take() if calls else -1
        self._require_own_files(process)
        if enclosure:
            usernamespace.hand_over(self.layout.cgroup, enclosure.first)
        bridge.plug(NetworkTools(Path(facts["node_image"])), bridge=self.layout.bridge, cable=self.layout.cable, process=process)
        self._relay_names(process)
        self._process = process

    def _require_own_files(self, process: int) -> None:
        """What the node has been given is what this machine's directory holds. Nothing of it runs yet.

        runc goes by paths, and where they lead is up to the person whose home they are in.
        """
        for name, where in bundle.OWN_MOUNTS.items() if credentials.person() else ():
            with self.layout.files.directory(name) as own:
                if not os.path.samestat(Path(f"/proc/{process}/root{where}").stat(), os.fstat(own)):
                    raise Reason(
                        "GUEST_PROVISION",
                        f"{self.layout.place} led elsewhere while the node was made, so it was not started",
                        advice="Find out what moves that directory, then run the command again.",
                    )

    def start(self, metadata: Mapping[str, Any]) -> None:
        if not self._process:
            self.build()
        facts = self._facts()
        self.driver.node().put_metadata(metadata)
        Runc(Path(facts["runc"]), self.layout.runc_state).start(self.layout.container)
        if self._listener >= 0 and (enclosure := self._enclosure(facts)):
            group = self.layout.attendants
            podusers.attend(self._listener, self._machine, process=self._process, place=enclosure.place, group=group)
        process, self._process, self._listener = self._process, 0, -1
        deadline = time.monotonic() + 10
        while not (self._publish_socket() and self.driver.node().answers()):
            if not _alive(process) or time.monotonic() > deadline:
                words = self._log.read_text(errors="replace")[-2000:]
                raise Reason("GUEST_PROVISION", f"the node did not come up: {words}", advice=f"See {self.layout.place}/{self._log.name}.")
            time.sleep(0.005)

    def _make_socket_directories(self) -> None:
        """Empty ones: nodes of earlier versions could put anything into the one that users of the host can enter."""
        outside = self.layout.control_socket.parent
        Tree(f"{self.layout.reached}/.").remove(outside.name)
        outside.mkdir(mode=0o700)
        self.layout.files.remove(bundle.SOCKETS)
        self.layout.files.make_directory(bundle.SOCKETS, 0o700)

    def _publish_socket(self) -> bool:
        """Put the supervisor's socket where the owner of the machine may talk to it, once: the node never sees that directory.

        It is the socket itself that gets another name, not a link to a name which the node could give to something else.
        """
        target = self.layout.control_socket
        if target.exists():
            return True
        try:
            self.layout.files.link_socket(f"{bundle.SOCKETS}/{target.name}", str(target.parent), target.name)
        except FileNotFoundError:
            return False
        for path in (target, target.parent):  # the directory last: until then it is root's
            if credentials.person():
                os.chown(path, credentials.person(), credentials.group(), follow_symlinks=False)
            else:
                give(path, like=self.layout.directory)
        return True

    def _control(self, facts: Mapping[str, Any]) -> Control:
        return Control(self.layout.control_socket, peer=node_root(facts))

    @property
    def _log(self) -> Path:
        """What the node's first process says before it has a log of its own."""
        return self.layout.directory / "node.log"

    def look_after(self) -> None:
        """Bring back what a running node needs on the host and somebody ended; apply what may change while it runs."""
        bundle.close_to_users(self.layout)
        self._change_access()
        runc = self._runc(self._facts())
        process = runc.process(self.layout.container) if runc else 0
        if process and not attendants.processes(relay.PROGRAM, self._machine):
            self._relay_names(process)

    def _kept_access(self) -> dict[str, Any]:
        """Without addresses of proxies, which may hold passwords: their ports are in it."""
        return self.driver.access._replace(asked=())._asdict()

    def _change_access(self) -> None:
        """Who may connect to the node, and what of this host it may connect to."""
        facts = self._facts()
        wanted = self._kept_access()
        if facts.get("access") == json.loads(json.dumps(wanted)):
            return
        _require_root("start")
        self.journal.record({"kind": "firewall", "family": firewall.FAMILIES, "name": self.layout.bridge})
        bridge.protect(self._tools(facts), self.layout.bridge, IPv4Network(facts["subnet"]), self.driver.access)
        self._remember(facts | {"access": wanted})

    def _relay_names(self, process: int) -> None:
        resolvers = host_resolvers()
        if resolvers.need_relay:
            self.journal.record({"kind": "relay", "servers": ", ".join(resolvers.servers)})
            relay.start(self._machine, process=process, servers=resolvers.servers, group=self.layout.attendants)

    def _groups(self) -> list[Change]:
        unit: list[Change] = [{"kind": "unit", "name": self.layout.unit}] if systemd.is_running() else []
        return [{"kind": "cgroup", "path": self.layout.group}, *unit]

    def _group(self) -> contextlib.AbstractContextManager[None]:
        """The control group that everything of the machine is in: systemd's, handed over to us, or without systemd any."""
        if not systemd.is_running():
            return contextlib.nullcontext()
        return scopes.scope(self.layout.unit, what=f"minikube node {self.layout.machine}", group=self.layout.attendants)

    def change_limits(self, limits: Limits) -> bool:
        """While the node runs. The kernel refuses less memory than what is in use: then only a restart helps."""
        _require_root("start")
        # A group may not have more CPU than the one around it: inwards first when there is less, outwards first when there is more.
        for order in ((self.layout.cgroup, self.layout.fence), (self.layout.fence, self.layout.cgroup)):
            with contextlib.suppress(OSError):
                for group in order:
                    fence.build(group, limits)
                self._remember(self._facts() | {"limits": limits._asdict()})
                return True
        return False

    def stop(self) -> None:
        self._stop(self._facts(), orderly=True)

    def delete(self) -> None:
        """Whatever is left: lost or damaged records and half a directory must not stand in the way."""
        try:
            facts = self._facts()
        except Reason:
            facts = {}
        # Nothing of it is kept, so nothing has to end in order: the kernel ends the whole node with its first process.
        self._stop(facts, orderly=False)
        with moment("remove files"):
            self._remove_files()

    def _remove_files(self) -> None:
        """In one step as far as others can see: half a machine must never be taken for a whole one by the next start."""
        entered = self.driver.enter()
        above = Path(entered.above) if entered else self._machine.parent
        machine, doomed, machines = above / self._machine.name, doomed_directory(self.layout.machine).name, Tree(f"{above}/.")
        machines.remove(doomed)
        if machine.exists() and (not entered or entered.is_at(str(machine))):
            bundle.close_to_users(self.layout)
            machine.rename(above / doomed)
            machines.remove(doomed)
        if entered:
            entered.leave()

    def missing(self) -> list[str]:
        """Parts that a machine has and this one does not, in words."""
        parts = {"its record": self.layout.facts, "its bundle": self.layout.bundle / "config.json"}
        found = [f"{what} ({self._said(path)})" for what, path in parts.items() if not path.exists()]
        with contextlib.suppress(PermissionError):  # only root can tell
            if not self.layout.files.kind("etc"):
                found.append(f"its state ({self._said(self.layout.state('etc'))})")
        if self._leftovers():
            found.append(f"the list of its changes to this host ({self._said(self.layout.journal)})")
        return found

    def _said(self, path: Path) -> str:
        """A path of the machine for people."""
        return str(self._machine / path.relative_to(self.layout.directory))

    def host_changes(self) -> list[Change]:
        """What the host has been changed in for this machine, and what it is to put back for others that have gone."""
        changes = self.journal.changes() or self._leftovers()
        return [*(duty for duty in bridge.duties(self.layout.bridge) if duty not in changes), *changes]

    def _stop(self, facts: Mapping[str, Any], *, orderly: bool) -> None:
        if not self.journal.changes() and not self._leftovers():
            return
        _require_root("stop")
        bundle.close_to_users(self.layout)
        runc = self._runc(facts)
        # Frozen processes hear no signal, on cgroup v1 not even SIGKILL.
        cgroups.thaw(self.layout.cgroup)
        process = runc.process(self.layout.container) if runc else 0
        with moment("end the node"):
            if orderly:
                # What a node answers must not keep it from being ended.
                with contextlib.suppress(Reason, OSError):
                    self._control(facts).shutdown(GRACE)
            if process:
                _end(process, patience=1 if orderly else 0)
        self._undo(facts)

    def _facts(self) -> dict[str, Any]:
        return self.driver.facts()

    def _reserved(self) -> list[str]:
        """Subnets of the other machines of this home, running or not."""
        found = []
        for facts in self._machine.parent.glob("*/native.json"):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError), credentials.as_person():
                found.append(str(IPv4Network(json.loads(read_bounded(str(facts)))["subnet"])))
        return found

    def _furnish(self, components: Components) -> None:
        """The node's own /etc and /var, from the image's skeleton; what a user changed there stays."""
        for name in ("etc", "var"):
            marker = f"{name}/.furnished"
            if not self.layout.files.kind(marker):
                self.layout.files.copy_in(str(components.node_image / name), name)
                self._write(marker, File(b""))
        from minikube.node import supervisor

        files = {name: text.encode() for name, text in setup.files().items()} | {SUPERVISOR: Path(supervisor.__file__).read_bytes()}
        for name, content in files.items():
            self._write(name, File(content))

    def _write(self, name: str, file: File) -> None:
        """In the node's own place. What leads out of there was put there by the node, and is not what it should be."""
        try:
            self.layout.files.write(name, file.content, file.mode)
        except LeadsElsewhere as error:
            raise self._led_astray(name) from error

    def _led_astray(self, name: str) -> Reason:
        return Reason(
            "GUEST_PROVISION",
            f"{name} of the node is not a file but leads elsewhere ({self._said(self.layout.state(name))})",
            advice="It was put there from inside the node. Remove it, and start again.",
        )

    def _runc(self, facts: Mapping[str, Any]) -> Runc | None:
        """The runc that made the box, if that is still known and there."""
        binary = Path(facts.get("runc", "/"))
        return Runc(binary, self.layout.runc_state) if binary.is_file() and self.layout.runc_state.exists() else None

    def _tools(self, facts: Mapping[str, Any]) -> NetworkTools:
        """The network tools of the image the box was made from, or of any other in the store."""
        known = [Path(facts["node_image"])] if "node_image" in facts else []
        for image in (*known, *sorted(store().glob("entries/node-image-*/content"))):
            if (image / "usr/sbin/ip").is_file() and (not credentials.person() or is_roots_entry(str(image / "usr/sbin"))):
                return NetworkTools(image)
        raise Reason(
            "HOST_PATH_MISSING",
            f"the bridge {self.layout.bridge} cannot be removed: the tools for it are no longer in the store ({store()})",
            advice="Run: minikube start --download-only, then the same command again.",
        )

    def _leftovers(self) -> list[Change]:
        """What is on the host under our names without being in the journal: somebody removed that file."""
        found: list[Change] = []
        if self.journal.changes():
            return found
        if Path(f"/sys/class/net/{self.layout.bridge}").exists():
            found += [
                {"kind": "bridge", "name": self.layout.bridge, "address": "?"},
                {"kind": "firewall", "family": firewall.FAMILIES, "name": self.layout.bridge},
            ]
        if any(directory.exists() for directory in cgroups.directories(self.layout.group)):
            found += self._groups()
        if (self.layout.runc_state / self.layout.container).exists():
            found.append({"kind": "container", "id": self.layout.container})
        return found

    def _undo(self, facts: Mapping[str, Any]) -> None:
        # Settings that other clusters left to this one, also those of other homes, are known only as long as the bridge is there.
        leftovers, duties = self._leftovers(), bridge.duties(self.layout.bridge)
        if leftovers or duties:
            self.driver.enter(make=True)  # somebody may have removed the directory that the journal is in
        if leftovers:
            self.journal.record(*leftovers)
        for duty in duties:
            self.journal.inherit(duty)
        if not self.journal.changes():
            return
        tools = self._tools(facts)
        self.journal.undo(
            {
                "container": lambda change: self._remove_container(facts, change["id"]),
                "relay": lambda _change: attendants.end(relay.PROGRAM, self._machine),
                "podmounts": lambda _change: attendants.end(podusers.PROGRAM, self._machine),
                "unit": lambda change: scopes.end(change["name"]),
                "cgroup": lambda change: _empty(change["path"]),
                "bridge": lambda change: bridge.undo_bridge(tools, change),
                "firewall": lambda change: bridge.undo_firewall(tools, change),
                "sysctl": lambda change: bridge.leave_setting(change, own=self.layout.bridge),
            }
        )

    def _remove_container(self, facts: Mapping[str, Any], container: str) -> None:
        runc = self._runc(facts)
        if runc:
            runc.remove(container)
        _empty(self.layout.cgroup)
        shutil.rmtree(self.layout.runc_state, ignore_errors=True)


def _require_root(command: str) -> None:
    if os.geteuid() != 0:
        raise Reason("DRV_NEEDS_ROOT", f"the native driver makes namespaces and a network bridge, so {command} needs root rights")


def _alive(process: int) -> bool:
    try:
        # A zombie whose parent has not looked yet is as good as gone.
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def _end(process: int, *, patience: float) -> None:
    """Wait for the node's first process to end; after that many seconds the kernel ends it, and with it the whole node."""
    deadline = time.monotonic() + patience
    while _alive(process):
        if time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.005)


def _empty(path: str) -> None:
    """End whatever is left in the node's control group (there should be nothing), then remove it."""
    deadline = time.monotonic() + 5
    while left := cgroups.processes(path):
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    cgroups.remove(path)
