"""Every kind of resolv.conf that a host may have, and a real node that finds a name with it."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from support import nameserver
from support.minikube import Minikube
from support.smallnetwork import network_holder
from support.world import World, world

from e2e.conftest import fresh_name
from minikube.network.resolvers import RELAY
from minikube.network.tools import NetworkTools

NAME, ADDRESS = "only.here.test", "192.0.2.55"
LAN, OWN = "198.51.100.2", "198.51.100.1"  # of another machine, and of the host on the same network
RELAYED = f"nameserver {RELAY}\n"
# An /etc and a /run whose files may be changed and removed.
_PREPARE = """
set -e
mount -t tmpfs none /run
mkdir -p /run/etc /run/work /run/systemd/resolve
umount /etc/resolv.conf
mount -t overlay -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/work etc /etc
"""


class Variant(NamedTuple):
    host: str | None
    node: str
    behind_the_stub: str = ""


VARIANTS = {
    "systemd-resolved": Variant(
        "nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch corp.test\n",
        f"nameserver {LAN}\nsearch corp.test\n",
        f"nameserver {LAN}\nsearch corp.test\n",
    ),
    "a stub that hides its servers": Variant("nameserver 127.0.0.53\n", RELAYED),
    "dnsmasq": Variant("nameserver 127.0.0.1\nsearch corp.test\n", f"{RELAYED}search corp.test\n"),
    "twelve servers": Variant(
        f"nameserver {LAN}\n" + "".join(f"nameserver 192.0.2.{number}\n" for number in range(2, 13)) + "search a.test b.test\n",
        f"nameserver {LAN}\nnameserver 192.0.2.2\nnameserver 192.0.2.3\nsearch a.test b.test\n",
    ),
    "a server on the host's own address": Variant(f"nameserver {OWN}\n", RELAYED),
    "empty": Variant("", RELAYED),
    "none": Variant(None, RELAYED),
}


@pytest.fixture(scope="module")
def host(node_image: Path) -> Iterator[World]:
    """A host whose name servers listen on its own address, on two of its loopback addresses, and on another machine of its network."""
    with tempfile.TemporaryDirectory(prefix="mk-world-") as directory, world(Path(directory), node_image) as made, ExitStack() as stack:
        subprocess.run([*made.enter(), "sh", "-c", _PREPARE], check=True)
        far = stack.enter_context(network_holder("ip link set lo up && echo ready && exec sleep infinity"))
        cable = f"link add lan type veth peer name eth0 netns {far}\naddr add {OWN}/24 dev lan\nlink set lan up\n"
        subprocess.run([*made.enter(), *NetworkTools(node_image).argv("ip", "-batch", "-")], input=cable.encode(), check=True)
        other = ["nsenter", f"--net=/proc/{far}/ns/net"]
        subprocess.run([*other, "sh", "-c", f"ip addr add {LAN}/24 dev eth0 && ip link set eth0 up"], check=True)
        for address in (LAN, OWN, "127.0.0.1", "127.0.0.53"):
            argv = [*(other if address == LAN else made.enter()), sys.executable, nameserver.__file__, address, f"{NAME}={ADDRESS}"]
            server = stack.enter_context(subprocess.Popen(argv, stdout=subprocess.PIPE, text=True))
            stack.callback(server.kill)
            assert server.stdout
            assert server.stdout.readline() == "ready\n"
        try:
            yield made
        finally:
            answer = made.run("delete", "--all", "--purge", timeout=180)
            assert answer.code == 0, answer


@pytest.fixture(scope="module")
def guest(host: World) -> Minikube:
    return Minikube(host, fresh_name())


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_a_node_finds_a_name(host: World, guest: Minikube, variant: Variant) -> None:
    write(host, "/etc/resolv.conf", variant.host)
    write(host, "/run/systemd/resolve/resolv.conf", variant.behind_the_stub or None)
    # The node is all it takes; the cluster in it need not come up.
    host.environment["MINIKUBE_DIE_AT"] = "start the node:after"
    try:
        answer = guest.run("start")
    finally:
        del host.environment["MINIKUBE_DIE_AT"]
    assert answer.code == -signal.SIGKILL, answer
    assert guest.ssh("cat /etc/resolv.conf") == variant.node
    assert ADDRESS in guest.ssh(f"nslookup {NAME}")
    guest.ok("stop")


def write(host: World, path: str, text: str | None) -> None:
    script = 'rm -f "$1"' if text is None else 'cat > "$1"'
    subprocess.run([*host.enter(), "sh", "-c", script, "sh", path], input=text or "", text=True, check=True)
