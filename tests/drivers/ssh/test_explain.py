"""What OpenSSH says, and what people read instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from minikube.drivers.ssh.explain import refused
from minikube.drivers.ssh.target import Target
from minikube.output.knownproblems import explained
from minikube.output.reason import Reason

TARGET = Target("192.0.2.7", user="dev", port=2222, key="/home/me/key")


@pytest.mark.parametrize(
    ("words", "id", "says"),
    [
        ("ssh: connect to host 192.0.2.7 port 2222: Connection refused", "IF_SSH_CLIENT", "port 2222: connection refused"),
        ("ssh: connect to host 192.0.2.7 port 2222: Connection timed out", "IF_SSH_CLIENT", "port 2222: timed out"),
        ("ssh: connect to host 192.0.2.7 port 2222: No route to host", "IF_SSH_CLIENT", "no route to host"),
        ("ssh: Could not resolve hostname nowhere.invalid: Name or service not known", "MK_USAGE", "does not resolve"),
        ("dev@192.0.2.7: Permission denied (publickey).", "IF_SSH_CLIENT", "does not let the user dev in with the key /home/me/key"),
        ("@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.", "IF_SSH_CLIENT", "another host key"),
        ("@  WARNING: UNPROTECTED PRIVATE KEY FILE!  @\nbad permissions", "IF_SSH_CLIENT", "others may read it"),
        ("something new", "IF_SSH_CLIENT", "something new"),
    ],
)
def test_each_cause_has_its_own_words(words: str, id: str, says: str) -> None:
    reason = refused(TARGET, words, Path("/home/me/.minikube/machines/a/known_hosts"))
    assert (reason.id, says in reason.message) == (id, True), reason.message
    assert reason.advice
    assert explained(reason) is reason  # it already knows its cause: no VPN is to blame for a machine that is off


def test_a_changed_host_key_says_which_file_to_forget() -> None:
    reason = refused(TARGET, "Host key verification failed.", Path("/machines/a/known_hosts"))
    assert "rm '/machines/a/known_hosts'" in reason.advice
    assert reason.exit_code == 70


@pytest.mark.parametrize(
    "target",
    [Target(""), Target("192.0.2.7", port=0), Target("192.0.2.7", port=70000), Target("192.0.2.7", key="/nowhere/key")],
)
def test_what_cannot_work_is_refused_without_the_network(target: Target) -> None:
    with pytest.raises(Reason) as refusal:
        target.require_usable()
    assert refusal.value.id == "MK_USAGE"


def test_a_target_is_kept_as_libmachine_keeps_it() -> None:
    kept = TARGET.to_keep()
    assert kept == {"IPAddress": "192.0.2.7", "SSHUser": "dev", "SSHPort": 2222, "SSHKeyPath": "/home/me/key"}
    assert str(Target.kept(kept)) == "dev@192.0.2.7:2222"
