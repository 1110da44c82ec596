"""Which name servers a node gets from which resolv.conf."""

from pathlib import Path

import pytest

from minikube.network.resolvers import RELAY, Resolvers, host_resolvers, node_resolv_conf

RELAYED = f"nameserver {RELAY}\n"


@pytest.mark.parametrize(
    ("host", "node"),
    [
        ("nameserver 198.51.100.1\nsearch example.org\n", "nameserver 198.51.100.1\nsearch example.org\n"),
        ("nameserver 127.0.0.53\noptions edns0\n", f"{RELAYED}options edns0\n"),
        ("nameserver 127.0.0.1\nnameserver 198.51.100.7\nsearch a.test b.test\n", f"{RELAYED}search a.test b.test\n"),
        ("nameserver 198.51.100.7\nnameserver 127.0.0.1\n", RELAYED),
        ("".join(f"nameserver 198.51.100.{n}\n" for n in range(1, 13)), "".join(f"nameserver 198.51.100.{n}\n" for n in range(1, 4))),
        ("nameserver 2001:db8::1\n", RELAYED),
        ("nameserver fe80::1%eth0\n", RELAYED),
        ("nameserver\nnameserver nonsense\nnameserver 0.0.0.0\n# comment\n", RELAYED),
        ("", RELAYED),
    ],
    ids=["plain", "stub", "dnsmasq first", "dnsmasq last", "twelve servers", "IPv6", "link-local IPv6", "nonsense", "empty"],
)
def test_a_node_gets_only_servers_that_it_can_reach(tmp_path: Path, host: str, node: str) -> None:
    file = tmp_path / "resolv.conf"
    file.write_text(host)
    assert node_resolv_conf(host_resolvers(file, tmp_path / "none")) == node


def test_the_relay_asks_in_the_hosts_order_and_no_more_than_three(tmp_path: Path) -> None:
    file = tmp_path / "resolv.conf"
    file.write_text("nameserver 127.0.0.1\n" + "".join(f"nameserver 198.51.100.{n}\n" for n in range(1, 13)))
    assert host_resolvers(file, tmp_path / "none").servers == ("127.0.0.1", "198.51.100.1", "198.51.100.2")


def test_the_real_servers_behind_the_stub_are_preferred(tmp_path: Path) -> None:
    real, stub = tmp_path / "real", tmp_path / "stub"
    real.write_text("nameserver 198.51.100.1\n")
    stub.write_text("nameserver 127.0.0.53\n")
    assert node_resolv_conf(host_resolvers(stub, real)) == "nameserver 198.51.100.1\n"


def test_a_list_that_nobody_uses_is_not_used(tmp_path: Path) -> None:
    """systemd-resolved runs, but the user's own resolv.conf leads elsewhere."""
    real, own = tmp_path / "real", tmp_path / "own"
    real.write_text("nameserver 198.51.100.1\n")
    own.write_text("nameserver 198.51.100.2\n")
    assert host_resolvers(own, real).servers == ("198.51.100.2",)


def test_without_a_file_the_host_asks_itself(tmp_path: Path) -> None:
    assert host_resolvers(tmp_path / "none", tmp_path / "none") == Resolvers(("127.0.0.1",), named=False)
