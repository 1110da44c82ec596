"""Which ports of the host are opened for a cluster."""

from __future__ import annotations

import socket

import pytest

from minikube.network.hostaccess import is_here, places, ports, ports_here


@pytest.mark.parametrize(
    ("words", "opened"),
    [
        ([], ()),
        (["none"], ()),
        (["8000"], ("8000",)),
        (["9000-9100", "80"], ("80", "9000-9100")),
        (["80-90", "85", "91", "88-100"], ("80-100",)),
        (["80", "all"], ("all",)),
    ],
)
def test_ports_and_ranges_are_merged(words: list[str], opened: tuple[str, ...]) -> None:
    assert ports(words) == opened


@pytest.mark.parametrize("word", ["http", "0", "65536", "90-80", "-80", "80-", "8000 accept", "1;drop", "+5", "８０"])
def test_what_is_no_port_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        ports([word])


def test_a_registry_on_this_host_is_found_by_its_address_and_name() -> None:
    here = ["host.minikube.internal:5000", "http://host.minikube.internal", f"https://{socket.gethostname().lower()}/mirror"]
    assert ports_here(places(here)) == ["5000", "80", "443"]
    assert ports_here(places(["198.51.100.77:5000", "registry.example:5000", "127.0.0.1:5000", "localhost:5000"])) == []


def test_no_password_is_kept_and_nonsense_is_left_out() -> None:
    assert places(["http://me:secret@proxy.example:3128/path"]) == ["proxy.example:3128"]
    assert places(["10.0.0.0/8", "http://proxy.example:abc", "http://[::1", "", "https://"]) == []


def test_an_address_that_nobody_here_has_is_elsewhere() -> None:
    assert not is_here("198.51.100.77")
    assert not is_here("not-an-address.example")
