"""Which proxy is asked for what."""

from __future__ import annotations

import pytest

from minikube.artifacts.proxies import from_environment, without_password

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("url", "exempt", "asked"),
    [
        ("https://dl.k8s.io/x", "", True),
        ("https://dl.k8s.io/x", "k8s.io", False),
        ("https://dl.k8s.io/x", ".k8s.io", False),
        ("https://dl.k8s.io/x", "*.k8s.io", False),
        ("https://notk8s.io/x", "k8s.io", True),
        ("https://dl.k8s.io/x", "dl.k8s.io:443", False),
        ("https://dl.k8s.io:8443/x", "dl.k8s.io:443", True),
        ("http://10.1.2.3/x", "10.0.0.0/8", False),
        ("http://10.1.2.3/x", "192.168.0.0/16, 10.1.2.3", False),
        ("http://11.1.2.3/x", "10.0.0.0/8", True),
        ("http://named/x", "10.0.0.0/8", True),
        ("http://anything/x", "*", False),
        ("http://localhost:5000/v2/", "", False),
        ("http://127.0.0.9:5000/v2/", "", False),
        ("http://[::1]:5000/v2/", "", False),
    ],
)
def test_no_proxy(url: str, exempt: str, asked: bool) -> None:
    found = from_environment({"HTTP_PROXY": PROXY, "HTTPS_PROXY": PROXY, "NO_PROXY": exempt}).for_url(url)
    assert found == (PROXY if asked else "")


def test_small_letters_win_and_all_proxy_is_the_last_resort() -> None:
    found = from_environment({"http_proxy": "small:1", "HTTP_PROXY": "large:1", "ALL_PROXY": "http://all:1"})
    assert (found.for_url("http://a"), found.for_url("https://a")) == ("http://small:1", "http://all:1")


def test_passwords_are_not_shown() -> None:
    assert without_password("http://me:secret@proxy:3128") == "http://me:…@proxy:3128"
    assert without_password(PROXY) == PROXY
