"""What a native node may do on the host, and what it may not."""

from __future__ import annotations

from pathlib import Path

from minikube.drivers.native import rights
from minikube.host.capabilities import NAMES


def test_every_capability_of_the_kernel_has_a_reason_to_be_there_or_not() -> None:
    assert {f"CAP_{name}" for name in NAMES} == rights.CAPABILITIES.keys() | rights.WITHHELD.keys()
    assert not rights.CAPABILITIES.keys() & rights.WITHHELD.keys()


def test_only_listed_capabilities_are_granted_also_when_a_newer_kernel_has_more() -> None:
    assert rights.capabilities(["CAP_CHOWN", "CAP_SYS_MODULE", "CAP_OF_TOMORROW"]) == ["CAP_CHOWN"]


def test_no_disk_can_be_opened_but_files_for_devices_can_be_made() -> None:
    first, *others = rights.device_rules()
    assert first == {"allow": False, "access": "rwm"}
    blocks = [rule for rule in others if rule["type"] == "b"]
    assert [rule["access"] for rule in blocks] == ["m"]
    assert all("major" in rule for rule in others if rule["access"] != "m")


def test_the_kernel_log_of_the_node_is_not_the_hosts() -> None:
    kmsg = next(device for device in rights.device_files() if device["path"] == "/dev/kmsg")
    assert (kmsg["major"], kmsg["minor"]) == (1, 3)
    assert "1:11" not in rights.DEVICES


def test_calls_are_refused_for_32_bit_programs_too() -> None:
    profile = rights.refused_calls()
    assert profile["architectures"]
    refused = {name for rule in profile["syscalls"] if "args" not in rule for name in rule["names"]}
    assert refused == rights.REFUSED_CALLS.keys()
    assert {rule["names"][0] for rule in profile["syscalls"] if "args" in rule} == {"sched_setscheduler", "ioctl"}


def test_the_documentation_has_the_same_tables() -> None:
    text = (Path(__file__).parents[3] / "docs/security.md").read_text()
    for table in (rights.CAPABILITIES, rights.WITHHELD, rights.DEVICES, rights.REFUSED_CALLS):
        assert [name for name, reason in table.items() if f"| `{name}` | {reason} |" not in text] == []
