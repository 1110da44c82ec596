"""What `start` says about proxies."""

from __future__ import annotations

import pytest

from minikube.cluster.nodeproxies import tell_network_options
from minikube.output.report import make_report

ADDRESS = "192.168.49.2"
WARNING = f"You appear to be using a proxy, but your NO_PROXY environment does not include the minikube IP ({ADDRESS})."


def told(capsys: pytest.CaptureFixture[str], **environment: str) -> tuple[str, str]:
    tell_network_options(ADDRESS, make_report("start"), environment=environment)
    said = capsys.readouterr()
    return said.out, said.err


def test_options_are_on_stdout_and_the_warning_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = told(capsys, HTTP_PROXY="http://someone:secret@proxy.example:3128")
    assert "Found network options:" in out
    assert "HTTP_PROXY=http://someone:…@proxy.example:3128" in out
    assert "secret" not in out + err
    assert WARNING in err


@pytest.mark.parametrize("exempt", [ADDRESS, "192.168.49.0/24", "*"])
def test_a_node_that_is_exempt_is_no_reason_to_warn(capsys: pytest.CaptureFixture[str], exempt: str) -> None:
    out, err = told(capsys, https_proxy="http://proxy.example:3128", NO_PROXY=exempt)
    assert f"NO_PROXY={exempt}" in out
    assert err == ""


def test_without_a_proxy_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, PATH="/bin") == ("", "")
