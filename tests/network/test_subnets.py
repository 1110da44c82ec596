"""A subnet that nothing on the host uses."""

from ipaddress import IPv4Network
from typing import Any

import pytest

from minikube.network import subnets
from minikube.network.tools import NetworkTools
from minikube.output.reason import Reason


class Routes(NetworkTools):
    """A host with these routes."""

    def __init__(self, *destinations: str) -> None:
        self._destinations = destinations

    def query(self, *words: str) -> list[dict[str, Any]]:
        return [{"dst": destination} for destination in self._destinations]


def test_the_first_choice_is_upstreams() -> None:
    assert subnets.choose(Routes("default", "10.0.0.0/8")) == IPv4Network("192.168.49.0/24")


@pytest.mark.parametrize("route", ["192.168.49.0/24", "192.168.49.128/25", "192.168.0.0/18", "192.168.49.7"])
def test_a_route_that_overlaps_is_avoided(route: str) -> None:
    assert subnets.choose(Routes("default", route)).overlaps(IPv4Network("192.168.49.0/24")) is False


def test_a_vpn_that_takes_all_of_192_168_leaves_the_other_range() -> None:
    assert str(subnets.choose(Routes("192.168.0.0/16"))).startswith("10.249.")


def test_a_default_route_in_two_halves_takes_nothing_away() -> None:
    assert subnets.choose(Routes("0.0.0.0/1", "128.0.0.0/1")) == IPv4Network("192.168.49.0/24")


def test_subnets_of_stopped_profiles_stay_reserved() -> None:
    assert subnets.choose(Routes(), reserved=["192.168.49.0/24"]) == IPv4Network("192.168.58.0/24")


def test_nothing_left_is_a_reason() -> None:
    with pytest.raises(Reason, match="overlaps"):
        subnets.choose(Routes("192.168.0.0/16", "10.0.0.0/8"))
