"""Secrets are not written down."""

from __future__ import annotations

import pytest

from minikube.output import debuglog
from minikube.output.secrets import hide, without_secrets


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--docker-env=HTTP_PROXY=http://me:s3cret@proxy:3128"], ["--docker-env=HTTP_PROXY=xxxxx"]),
        (["--docker-env", "API=s3cret"], ["--docker-env", "API=xxxxx"]),
        (["--build-env", "TOKEN=s3cret"], ["--build-env", "TOKEN=xxxxx"]),
        (["--registry-mirror=https://me:s3cret@mirror.test/v2"], ["--registry-mirror=https://xxxxx@mirror.test/v2"]),
        (["--registry-mirror=https://s3cret@mirror.test"], ["--registry-mirror=https://xxxxx@mirror.test"]),
        (["--extra-config=apiserver.admin-password=s3cret"], ["--extra-config=apiserver.admin-password=xxxxx"]),
        (["--digitalocean-access-token", "s3cret"], ["--digitalocean-access-token", "xxxxx"]),
        (["--amazonec2-secret-key=s3cret"], ["--amazonec2-secret-key=xxxxx"]),
        (["https://h.test/f?x=1&X-Amz-Signature=s3cret"], ["https://h.test/f?x=1&X-Amz-Signature=xxxxx"]),
    ],
)
def test_values_of_secret_flags_are_hidden(words: list[str], shown: list[str]) -> None:
    assert hide(words) == shown


def test_the_rest_of_a_command_line_stays() -> None:
    words = [
        "-p",
        "demo",
        "--memory=4g",
        "--extra-config=apiserver.token-auth-file=/etc/tokens",
        "https://host.test/a@b",
        "--ssh-key=~/.ssh/id",
    ]
    assert hide(words) == words


@pytest.mark.parametrize(
    "line",
    [
        "ran in 0.1s: curl -H 'Authorization: Bearer s3cret' https://x.test",
        'answer {"token": "s3cret", "expires": 1}',
        "password: s3cret",
        "GET http://me:s3cret@proxy.test/ failed",
        "env TOKEN=s3cret program",
        "--vsphere-password s3cret --cpus 2",
    ],
)
def test_no_secret_in_a_debug_line(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    monkeypatch.setattr(debuglog, "_sinks", [kept.append])
    debuglog.debug(line)
    assert "s3cret" not in kept[0]
    assert "s3cret" not in without_secrets(line)


def test_a_debug_line_has_no_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    monkeypatch.setattr(debuglog, "_sinks", [kept.append])
    debuglog.debug("the node said \x1b[2J")
    assert kept[0].endswith("the node said \\u001b[2J")
