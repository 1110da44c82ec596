"""What a node can do to its host over the network, what other users of the host can do to a node: tried for real."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from fcntl import ioctl
from pathlib import Path

import pytest
from support import smallnetwork as small
from support.smallnetwork import CABLE, GATEWAY, NAME, NODE, OTHER_ADDRESS, SmallNetwork, connects, small_network

from minikube.network import bridge, firewall
from minikube.network.firewall import EVERYTHING, OWNER, Access

IMAGE = Path(os.environ.get("MINIKUBE_TEST_NODE_IMAGE", "/nowhere"))
pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not IMAGE.exists(), reason="needs root, and ip and nft of a node image")

OWNERS, STRANGERS = 1000, 1001
ELSEWHERE = "192.168.49.100"  # another address of the cluster: a load balancer's
PORT = 18080
WANTED = b"from the node itself"
FORGED = b"from somebody else"


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallNetwork]:
    with small_network(IMAGE, tmp_path_factory.mktemp("network")) as made:
        yield made


@pytest.fixture(autouse=True)
def as_made(network: SmallNetwork) -> None:
    """Every test begins with the firewall of a new cluster, whose owner is OWNERS."""
    network.protect(Access(owner=OWNERS))


@pytest.fixture(params=["guarded", "exposed"])
def exposed(request: pytest.FixtureRequest, network: SmallNetwork) -> Iterator[bool]:
    """Each attack also where nothing is in its way: otherwise it would prove nothing that it does not work."""
    if request.param == "exposed":
        network.expose()
    yield request.param == "exposed"
    for link in (NAME, CABLE):
        network.on_host((bridge.IPV6_SETTINGS / link / "disable_ipv6").write_text, "1")


# from the node to the host


@pytest.mark.parametrize("frame", ["to all", "past the bridge"])
def test_the_host_takes_no_router_advertisements(network: SmallNetwork, exposed: bool, frame: str) -> None:
    destination = bytes.fromhex("333300000001") if frame == "to all" else small.LINK_LOCAL_MAC
    link = NAME if frame == "to all" else CABLE
    for setting, value in (("accept_ra", "2"), ("accept_dad", "0")):
        network.on_host((bridge.IPV6_SETTINGS / link / setting).write_text, value)
    if exposed:  # a link without an address of its own is not ready for them
        _eventually(lambda: "fe80" in _addresses(network, link))
    for _ in range(3):
        network.in_node(small.send_frame, destination, 0x86DD, _router_advertisement())
    taken = lambda: "20010db8" in _addresses(network, link)  # noqa: E731
    assert _eventually(taken, seconds=2 if exposed else 0.3) == exposed


def _router_advertisement() -> bytes:
    source, target = (socket.inet_pton(socket.AF_INET6, text) for text in ("fe80::bad", "ff02::1"))
    prefix = struct.pack("!BBBBIII", 3, 4, 64, 0xC0, 3600, 3600, 0) + socket.inet_pton(socket.AF_INET6, "2001:db8:bad::")
    body = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0) + prefix
    checked = small.checksum(source + target + struct.pack("!II", len(body), 58) + body)
    return struct.pack("!IHBB", 6 << 28, len(body), 58, 255) + source + target + body[:2] + struct.pack("!H", checked) + body[4:]


def _addresses(network: SmallNetwork, link: str) -> str:
    lines = network.on_host(Path("/proc/net/if_inet6").read_text).splitlines()
    return " ".join(line for line in lines if line.split()[-1] == link)


@pytest.mark.parametrize("frame", ["to the bridge", "to all", "past the bridge"])
@pytest.mark.parametrize("source", ["8.8.8.8", OTHER_ADDRESS, GATEWAY])
def test_nobody_else_speaks_through_a_node(network: SmallNetwork, exposed: bool, frame: str, source: str) -> None:
    """Not even where the node may connect to every port of the host."""
    if not exposed:
        network.protect(Access(host=(EVERYTHING,)))
    hosts_mac = network.on_host(lambda: small.mac(NAME).hex())
    destination = {"to the bridge": bytes.fromhex(hosts_mac), "to all": b"\xff" * 6, "past the bridge": small.LINK_LOCAL_MAC}[frame]
    with network.serve("0.0.0.0", PORT, kind=socket.SOCK_DGRAM) as server:
        network.in_node(small.send_frame, destination, 0x0800, small.udp_packet(source, GATEWAY, PORT, FORGED))
        network.in_node(_say, GATEWAY, PORT)
        heard = {server.recv(64)}
        if exposed and heard == {FORGED}:
            heard.add(server.recv(64))
    assert WANTED in heard
    # The kernel itself refuses its own addresses as a sender.
    assert (FORGED in heard) == (exposed and source == "8.8.8.8")


def _say(address: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(WANTED, (address, port))


@pytest.mark.parametrize("frame", ["to the bridge", "past the bridge"])
def test_the_host_learns_no_foreign_address_from_arp(network: SmallNetwork, exposed: bool, frame: str) -> None:
    """Its table of neighbours has a limit, which all of its networks share."""
    destination = b"\xff" * 6 if frame == "to the bridge" else small.LINK_LOCAL_MAC
    target = GATEWAY if frame == "to the bridge" else OTHER_ADDRESS
    sender = f"198.51.100.{7 + exposed}"
    network.in_node(small.send_frame, destination, 0x0806, _arp_request(sender, target))
    network.in_node(small.send_frame, b"\xff" * 6, 0x0806, _arp_request(ELSEWHERE, GATEWAY))
    known = lambda: network.on_host(Path("/proc/net/arp").read_text)  # noqa: E731
    assert _eventually(lambda: ELSEWHERE in known())
    assert (f"{sender} " in known()) == exposed


def _arp_request(sender: str, target: str) -> bytes:
    ends = small.NODES_MAC + socket.inet_aton(sender) + bytes(6) + socket.inet_aton(target)
    return struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + ends


def test_the_host_takes_no_redirects(network: SmallNetwork, exposed: bool) -> None:
    far = f"10.9.{int(exposed)}.9"
    for place in ("all", NAME):
        network.on_host(Path(f"/proc/sys/net/ipv4/conf/{place}/accept_redirects").write_text, "1")
    network.ip(f"route replace {far}/32 via {NODE}\n")
    network.in_node(small.send_frame, b"\xff" * 6, 0x0806, _arp_request(ELSEWHERE, GATEWAY))
    assert _eventually(lambda: ELSEWHERE in network.on_host(Path("/proc/net/arp").read_text))
    sent = small.udp_packet(GATEWAY, far, 9, b"")
    body = struct.pack("!BBH4s", 5, 1, 0, socket.inet_aton(ELSEWHERE)) + sent
    body = body[:2] + struct.pack("!H", small.checksum(body)) + body[4:]
    hosts_mac = bytes.fromhex(network.on_host(lambda: small.mac(NAME).hex()))
    with network.serve(GATEWAY, 53, kind=socket.SOCK_DGRAM) as asking:
        asking.sendto(b"", (far, 9))
        network.in_node(small.send_frame, hosts_mac, 0x0800, small.ip_packet(NODE, GATEWAY, socket.IPPROTO_ICMP, body))
        network.in_node(_answer)
    (route,) = network.on_host(network.tools.query, "route", "get", far)
    assert route["gateway"] == (ELSEWHERE if exposed else NODE)


def test_invented_senders_take_no_memory_of_the_host(network: SmallNetwork) -> None:
    before = network.on_host(_known_senders)
    network.in_node(_invent_senders)
    assert network.on_host(_known_senders) == before


def _invent_senders() -> None:
    for number in range(100):
        small.send_frame(b"\xff" * 6, 0x0800, small.udp_packet(NODE, GATEWAY, 9, b""), source=struct.pack("!HI", 0x0200, number))


def _known_senders() -> int:
    return len(Path(f"/sys/class/net/{NAME}/brforward").read_bytes()) // 16


@pytest.mark.parametrize("address", [GATEWAY, OTHER_ADDRESS])
def test_services_of_the_host_are_closed_until_they_are_asked_for(network: SmallNetwork, address: str) -> None:
    with network.serve("0.0.0.0", PORT):
        answers = []
        for opened in ((), (str(PORT),), (f"{PORT - 1}-{PORT + 1}",), (str(PORT + 1),), (EVERYTHING,)):
            network.protect(Access(host=opened))
            answers.append(network.in_node(connects, address, PORT))
    assert answers == ["refused", "open", "open", "refused", "open"]


@pytest.mark.parametrize("user", [0, OWNERS, STRANGERS])
def test_services_of_every_user_answer_a_cluster_that_only_its_owner_reaches(network: SmallNetwork, user: int) -> None:
    network.protect(Access(owner=OWNERS, local=OWNER, host=(str(PORT),)))
    with network.serve("0.0.0.0", PORT, user=user):
        assert network.in_node(connects, GATEWAY, PORT) == "open"


def test_ports_that_the_host_passes_on_to_containers_are_its_services_too(network: SmallNetwork) -> None:
    """As docker does for `-p 18080:80`."""
    container = "198.51.100.2"
    network.ip("link add docker9 type bridge\naddr add 198.51.100.1/24 dev docker9\nlink set docker9 up\n")
    with small.network_holder("ip link set lo up && echo ready && exec sleep infinity") as process:
        network.ip(f"link add docker9-1 type veth peer name eth0 netns {process}\nlink set docker9-1 master docker9 up\n")
        script = f"addr add {container}/24 dev eth0\nlink set eth0 up\nroute add default via 198.51.100.1\n"
        small.within(process, network.tools.ip, script)
        rule = f"fib daddr type local tcp dport {PORT} dnat to {container}:80"
        network.on_host(network.tools.nft, f"table ip published {{ chain to {{ type nat hook prerouting priority -100; {rule}; }}; }}")
        with network.serve("0.0.0.0", 80, where=process):
            answers = []
            for opened in ((), (str(PORT),)):
                network.protect(Access(host=opened))
                answers.append(network.in_node(connects, GATEWAY, PORT))
        network.ip("link del docker9\n")
    assert answers == ["refused", "open"]


def test_a_node_may_ask_whether_its_host_is_there(network: SmallNetwork) -> None:
    """`ping host.minikube.internal`."""
    assert network.in_node(_answer)


def _answer() -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        raw.settimeout(small.QUICK)
        request = struct.pack("!BBHHH", 8, 0, 0, 1, 1)
        raw.sendto(request[:2] + struct.pack("!H", small.checksum(request)) + request[4:], (GATEWAY, 0))
        return raw.recv(64)[20] == 0


def test_the_host_connects_to_pods_that_somebody_added_a_route_to(network: SmallNetwork) -> None:
    network.ip(f"route replace 10.244.0.0/16 via {NODE}\n")
    network.in_node(network.tools.ip, "addr replace 10.244.0.5/32 dev lo\n")
    with network.serve("10.244.0.5", 80, where=network.node):
        assert network.on_host(connects, "10.244.0.5", 80) == "open"


# from users of the host to the node


@pytest.mark.parametrize("port", [8443, 2379, 2380, 10250])
def test_other_users_do_not_reach_the_control_plane(network: SmallNetwork, port: int) -> None:
    with network.serve("0.0.0.0", port, where=network.node):
        answers = [network.on_host(connects, NODE, port, user=user) for user in (0, OWNERS, STRANGERS)]
        assert answers == ["open", "open", "refused"]
        network.protect(Access(owner=OWNERS, local=EVERYTHING))
        assert network.on_host(connects, NODE, port, user=STRANGERS) == "open"


def test_an_api_server_at_another_port_is_closed_there(network: SmallNetwork) -> None:
    network.protect(Access(api_port=6443))
    with network.serve("0.0.0.0", 6443, where=network.node), network.serve("0.0.0.0", 8443, where=network.node):
        assert [network.on_host(connects, NODE, port, user=STRANGERS) for port in (6443, 8443)] == ["refused", "open"]


def test_every_node_of_a_cluster_is_closed_to_other_users_and_a_load_balancer_is_not(network: SmallNetwork) -> None:
    network.in_node(network.tools.ip, f"addr replace {ELSEWHERE}/24 dev eth0\n")
    with network.serve("0.0.0.0", 8443, where=network.node):
        answers = []
        for nodes in ([NODE], [NODE, ELSEWHERE]):
            tables = firewall.tables(NAME, small.SUBNET, Access(), nodes=nodes, closes_routes=False)
            network.on_host(network.tools.nft, tables)
            answers.append([network.on_host(connects, address, 8443, user=STRANGERS) for address in (NODE, ELSEWHERE)])
    network.in_node(network.tools.ip, f"addr del {ELSEWHERE}/24 dev eth0\n")
    assert answers == [["refused", "open"], ["refused", "refused"]]


def test_other_users_reach_services_unless_they_are_closed(network: SmallNetwork) -> None:
    with network.serve("0.0.0.0", 30080, where=network.node):
        assert network.on_host(connects, NODE, 30080, user=STRANGERS) == "open"
        network.protect(Access(owner=OWNERS, local=OWNER))
        answers = [network.on_host(connects, NODE, 30080, user=user) for user in (0, OWNERS, STRANGERS)]
    assert answers == ["open", "open", "refused"]


# between other networks of the host


@pytest.mark.parametrize("was_on", [False, True])
def test_a_host_that_was_no_router_does_not_become_one(tmp_path: Path, was_on: bool) -> None:
    """Packets from one network card to another; only a host that forwarded before goes on with it."""
    with small_network(IMAGE, tmp_path, forwarding=was_on) as network:
        assert network.on_host(bridge.FORWARDING.read_text).strip() == "1"
        assert network.on_host(_routed) == was_on


def _routed() -> bool:
    with _card("lan1", "10.1.0.1/24") as sender, _card("lan2", "10.2.0.1/24") as receiver:
        os.write(sender, small.udp_packet("10.1.0.9", "10.2.0.9", 9, WANTED))
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            try:
                if WANTED in os.read(receiver, 2048):
                    return True
            except BlockingIOError:
                time.sleep(0.01)
    return False


class _card:
    """A network interface whose other end is a file: neither a bridge nor a container's."""

    def __init__(self, name: str, address: str) -> None:
        self.name, self.address = name, address

    def __enter__(self) -> int:
        self.file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        ioctl(self.file, 0x400454CA, struct.pack("16sH", self.name.encode(), 0x1001))  # TUNSETIFF: tun, no packet information
        assert os.system(f"ip addr add {self.address} dev {self.name} && ip link set {self.name} up") == 0
        return self.file

    def __exit__(self, *_: object) -> None:
        os.close(self.file)


def _eventually(condition: Callable[[], bool], seconds: float = 3) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
