"""The key that a cluster's secrets are encrypted with."""

import base64

import pytest
import yaml

from minikube.kubernetes import secretsatrest
from minikube.kubernetes.apiserverfiles import apiserver_files
from minikube.kubernetes.clusterspec import ClusterSpec
from minikube.output.reason import Reason


def files(*, hardened: bool, key: bytes | None) -> dict[str, str]:
    spec = ClusterSpec(version="v1.37.1", node_name="dev", node_ip="10.5.0.2", hardened=hardened, secrets_key=True)
    return apiserver_files(spec, key=key)


def providers(made: dict[str, str]) -> list[str]:
    return [name for provider in yaml.safe_load(made[secretsatrest.FILE])["resources"][0]["providers"] for name in provider]


def test_each_cluster_gets_a_key_of_its_own_and_keeps_it() -> None:
    first, other = files(hardened=True, key=None), files(hardened=True, key=None)
    key = first[secretsatrest.KEY_FILE]
    assert key != other[secretsatrest.KEY_FILE]
    assert len(base64.b64decode(key)) == 32
    assert files(hardened=True, key=key.encode()) == first
    assert key.strip() in first[secretsatrest.FILE]


def test_the_first_provider_writes_and_what_was_written_before_stays_readable() -> None:
    on = files(hardened=True, key=None)
    off = files(hardened=False, key=on[secretsatrest.KEY_FILE].encode())
    assert (providers(on), providers(off)) == (["secretbox", "identity"], ["identity", "secretbox"])
    assert off[secretsatrest.KEY_FILE] == on[secretsatrest.KEY_FILE]


def test_a_key_that_a_crash_left_empty_is_made_again() -> None:
    assert len(files(hardened=True, key=b"")[secretsatrest.KEY_FILE]) == 45


@pytest.mark.parametrize("damaged", [b"\n", b"short", b"A" * 44, b"\xff" * 44, b"A" * 43 + b"=\n- name: another"])
def test_a_damaged_key_is_not_replaced(damaged: bytes) -> None:
    with pytest.raises(Reason) as refused:
        files(hardened=True, key=damaged)
    assert refused.value.id == "GUEST_STATUS"
    assert secretsatrest.KEY_FILE in refused.value.message
