"""Which name servers a node gets from which resolv.conf."""

from pathlib import Path

import pytest

from minikube.network.resolvers import node_resolv_conf


@pytest.mark.parametrize(
    ("host", "node"),
    [
        ("nameserver 192.0.2.1\nsearch example.org\n", "nameserver 192.0.2.1\nsearch example.org\n"),
        ("nameserver 127.0.0.53\noptions edns0\n", "options edns0\n"),
        ("nameserver 127.0.0.1\nnameserver 192.0.2.7\n", "nameserver 192.0.2.7\n"),
        ("".join(f"nameserver 192.0.2.{n}\n" for n in range(1, 13)), "".join(f"nameserver 192.0.2.{n}\n" for n in range(1, 4))),
        ("nameserver ::1\nnameserver 2001:db8::1\n", "nameserver 2001:db8::1\n"),
        ("nameserver\nnameserver nonsense\n# comment\n", ""),
        ("", ""),
    ],
    ids=["plain", "systemd-resolved stub", "dnsmasq", "twelve servers", "IPv6", "nonsense", "empty"],
)
def test_loopback_servers_never_reach_the_node(tmp_path: Path, host: str, node: str) -> None:
    file = tmp_path / "resolv.conf"
    file.write_text(host)
    assert node_resolv_conf((file,)) == node


def test_the_real_servers_behind_the_stub_are_preferred(tmp_path: Path) -> None:
    real, stub = tmp_path / "real", tmp_path / "stub"
    real.write_text("nameserver 192.0.2.1\n")
    stub.write_text("nameserver 127.0.0.53\n")
    assert node_resolv_conf((real, stub)) == "nameserver 192.0.2.1\n"


def test_no_file_at_all(tmp_path: Path) -> None:
    assert node_resolv_conf((tmp_path / "none",)) == ""
