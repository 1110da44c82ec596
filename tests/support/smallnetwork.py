"""A host with one cluster's network and nothing else: namespaces with a real bridge, cable and firewall, and no Kubernetes.

What tests do on the host or in the node runs in forked processes: `network.on_host(function, *words)`, `network.in_node(…)`.
"""

from __future__ import annotations

import ctypes
import encodings.idna  # noqa: F401 - names are looked up where its file cannot be read
import json
import os
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, NamedTuple

from minikube.host.journal import Journal
from minikube.network import bridge, firewall
from minikube.network.firewall import Access
from minikube.network.tools import NetworkTools

NAME = "mk-0a0b0c0d"
CABLE = f"{NAME}-1"
SUBNET = IPv4Network("192.168.49.0/24")
GATEWAY, NODE = str(SUBNET[1]), str(SUBNET[2])
OTHER_ADDRESS = "203.0.113.1"  # the host's on another network
NODES_MAC = bytes.fromhex("0242ac110002")
LINK_LOCAL_MAC = bytes.fromhex("0180c200000e")
QUICK = 3.0  # seconds; what is refused is refused at once, what is dropped is not

_NEW_NETWORK, _NEW_MOUNTS = 0x40000000, 0x20000
_HOST = "mount --make-rprivate / && mount -t sysfs sysfs /sys && ip link set lo up && echo ready && exec sleep infinity"


class SmallNetwork(NamedTuple):
    tools: NetworkTools
    host: int
    node: int
    """Processes that hold the two network namespaces."""
    directory: Path

    def on_host(self, function: Callable[..., Any], *words: Any, user: int = 0) -> Any:
        return within(self.host, function, *words, user=user)

    def in_node(self, function: Callable[..., Any], *words: Any) -> Any:
        return within(self.node, function, *words)

    def ip(self, script: str) -> None:
        self.on_host(self.tools.ip, script)

    def protect(self, access: Access) -> None:
        """Other firewall tables from now on."""
        self.on_host(bridge.protect, self.tools, NAME, SUBNET, access)

    def expose(self) -> None:
        """No firewall at all, and IPv6 on the bridge: to see that an attack works there."""
        self.on_host(self.tools.nft, firewall.removal(firewall.FAMILIES, NAME))
        for link in (NAME, CABLE):
            self.on_host((bridge.IPV6_SETTINGS / link / "disable_ipv6").write_text, "0")

    @contextmanager
    def serve(self, address: str, port: int, *, where: int = 0, kind: int = socket.SOCK_STREAM, user: int = 0) -> Iterator[socket.socket]:
        """A socket in one of the namespaces, for the caller to use here."""
        with socket.socket(fileno=_made_within(where or self.host, address, port, kind, user)) as made:
            made.settimeout(QUICK)
            yield made


@contextmanager
def small_network(image: Path, directory: Path, access: Access | None = None, *, forwarding: bool = False) -> Iterator[SmallNetwork]:
    with ExitStack() as stack:
        host = stack.enter_context(network_holder(_HOST, "--mount"))
        node = stack.enter_context(network_holder("ip link set lo up && echo ready && exec sleep infinity"))
        network = SmallNetwork(NetworkTools(image), host, node, directory)
        network.ip(f"addr add {OTHER_ADDRESS}/32 dev lo\n")
        network.on_host(bridge.FORWARDING.write_text, str(int(forwarding)))
        journal = Journal(directory / "host-changes.json")
        network.on_host(bridge.create, network.tools, journal, NAME, SUBNET, access or Access())
        plug(network)
        yield network


def plug(network: SmallNetwork) -> None:
    def lead() -> None:
        bridge.plug(network.tools, bridge=NAME, cable=CABLE, process=network.node)

    network.on_host(lead)
    script = f"link set eth0 address {NODES_MAC.hex(':')}\naddr add {NODE}/24 dev eth0\nlink set eth0 up\nroute add default via {GATEWAY}\n"
    network.in_node(network.tools.ip, script)


def within(process: int, function: Callable[..., Any], *words: Any, user: int = 0) -> Any:
    """What a function says in the namespaces of a process, as JSON can say it; its OSError is raised here."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _enter(process, user)
            outcome = {"answer": function(*words)}
        except OSError as error:
            outcome = {"error": [error.errno, str(error)]}
        except BaseException as error:
            outcome = {"failure": repr(error)}
        finally:
            os.write(writer, json.dumps(outcome).encode())
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        outcome = json.loads(stream.read())
    os.waitpid(child, 0)
    if "error" in outcome:
        raise OSError(*outcome["error"])
    assert "failure" not in outcome, outcome
    return outcome.get("answer")


def connects(address: str, port: int) -> str:
    """`open`, `refused` if somebody says no at once, `silent` if nobody says anything."""
    try:
        with socket.create_connection((address, port), timeout=QUICK):
            return "open"
    except TimeoutError:
        return "silent"
    except OSError:
        return "refused"


def connects_as(user: int, address: str, port: int) -> str:
    """The same, by a user of the real host."""
    return str(within(os.getpid(), connects, address, port, user=user))


def send_frame(destination: bytes, kind: int, payload: bytes, source: bytes = NODES_MAC) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind(("eth0", 0))
        raw.send(destination + source + struct.pack("!H", kind) + payload)


def mac(link: str) -> bytes:
    return bytes.fromhex(Path(f"/sys/class/net/{link}/address").read_text().strip().replace(":", ""))


def udp_packet(source: str, destination: str, port: int, data: bytes) -> bytes:
    return ip_packet(source, destination, socket.IPPROTO_UDP, struct.pack("!HHHH", 53, port, 8 + len(data), 0) + data)


def ip_packet(source: str, destination: str, protocol: int, payload: bytes) -> bytes:
    def header(checked: int) -> bytes:
        ends = socket.inet_aton(source) + socket.inet_aton(destination)
        return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, checked) + ends

    return header(checksum(header(0))) + payload


def checksum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@contextmanager
def network_holder(script: str, *flags: str) -> Iterator[int]:
    """A process with a network namespace of its own; its script says `ready`, and goes on."""
    argv = ["unshare", "--net", *flags, "sh", "-c", script]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            yield process.pid
        finally:
            process.kill()


def _enter(process: int, user: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for kind, flag in (("net", _NEW_NETWORK), ("mnt", _NEW_MOUNTS)):
        with open(f"/proc/{process}/ns/{kind}") as namespace:  # noqa: PTH123
            if libc.setns(namespace.fileno(), flag):
                raise OSError(ctypes.get_errno(), f"no way into the {kind} namespace")
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def _made_within(process: int, address: str, port: int, kind: int, user: int) -> int:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = os.fork()
        if child == 0:
            try:
                _enter(process, user)
                made = socket.socket(socket.AF_INET, kind)
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                made.bind((address, port))
                if kind == socket.SOCK_STREAM:
                    made.listen()
                socket.send_fds(theirs, [b"."], [made.fileno()])
            finally:
                os._exit(0)
        theirs.close()
        _, (made_here,), _, _ = socket.recv_fds(ours, 1, 1)
        os.waitpid(child, 0)
    return made_here
