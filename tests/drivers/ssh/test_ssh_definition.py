"""From flags of `start` to what the machine's config.json keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minikube.cli.flags import GLOBAL_FLAGS
from minikube.cli.startflags import START_FLAGS
from minikube.drivers import registry
from minikube.output.reason import Reason
from minikube.profiles.clusterconfig import new_cluster_config
from minikube.profiles.settings import Settings


def configure(before: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    flags = {flag.name: flag for flag in (*GLOBAL_FLAGS, *START_FLAGS)}
    settings = Settings(flags, {name.replace("_", "-"): value for name, value in given.items()}, use_file=False)
    return registry.definition("generic").configure(new_cluster_config("a"), settings, before or {})


def test_the_flags_are_kept(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.touch()
    kept = configure(ssh_ip_address="192.0.2.7", ssh_user="dev", ssh_key=str(key), user_namespace=False, local_access="owner")
    login = {"IPAddress": "192.0.2.7", "SSHUser": "dev", "SSHPort": 22, "SSHKeyPath": str(key)}
    access = {"LocalAccess": "owner", "HostAccess": [], "AskedFor": [], "APIServerPort": 8443}
    assert kept == login | {"UserNamespace": False} | access


def test_a_later_start_may_change_how_to_log_in_and_nothing_else() -> None:
    before = configure(ssh_ip_address="192.0.2.7", ssh_user="dev")
    assert configure(before) == before
    assert configure(before, ssh_user="root")["SSHUser"] == "root"
    with pytest.raises(Reason) as refusal:
        configure(before, ssh_ip_address="192.0.2.8")
    assert refusal.value.id == "GUEST_DRIVER_MISMATCH"


def test_without_an_address_there_is_no_machine() -> None:
    with pytest.raises(Reason) as refusal:
        configure()
    assert (refusal.value.id, refusal.value.exit_code) == ("MK_USAGE", 14)
    assert "--ssh-ip-address" in refusal.value.advice
