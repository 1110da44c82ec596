"""Root acts on records only as far as they name what this machine makes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from minikube.drivers.native import records
from minikube.drivers.native.layout import Layout
from minikube.host.journal import Journal
from minikube.network.firewall import FAMILIES

ENTRY = "runc-v1.5.2-0123456789ab"


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path / "store"))
    content = tmp_path / "store" / "entries" / ENTRY / "content"
    content.mkdir(parents=True)
    (content / "runc").touch()
    return Layout("box")


def ours(layout: Layout) -> list[dict[str, Any]]:
    return [
        {"kind": "sysctl", "name": "fs.inotify.max_user_instances", "before": "128", "after": "1024"},
        {"kind": "sysctl", "name": "net.ipv4.ip_forward", "before": "0", "after": "1"},
        {"kind": "bridge", "name": layout.bridge, "address": "192.168.49.1/24"},
        {"kind": "firewall", "family": "inet", "name": layout.bridge},
        {"kind": "firewall", "family": FAMILIES, "name": layout.bridge},
        {"kind": "cgroup", "path": layout.group},
        {"kind": "unit", "name": layout.unit},
        {"kind": "relay", "servers": "192.0.2.1, 192.0.2.2"},
        {"kind": "podmounts"},
        {"kind": "container", "id": layout.container},
    ]


FOREIGN: list[Any] = [
    {"kind": "bridge", "name": "eth0", "address": "?"},
    {"kind": "bridge", "name": "", "address": "?"},
    {"kind": "bridge", "name": "*", "address": "?"},
    {"kind": "firewall", "family": "inet", "name": "filter"},
    {"kind": "firewall", "family": "ip", "name": "nat"},
    {"kind": "firewall", "family": "inet, bridge", "name": "nat"},
    {"kind": "sysctl", "name": "kernel.core_pattern", "before": "|/tmp/x", "after": "core"},
    {"kind": "sysctl", "name": "net.ipv4.ip_forward", "before": "1\n", "after": "0"},
    {"kind": "sysctl", "name": "net.ipv4.ip_forward/../../../kernel.core_pattern", "before": "1", "after": "0"},
    {"kind": "container", "id": "../../x"},
    {"kind": "cgroup", "path": "/"},
    {"kind": "cgroup", "path": ""},
    {"kind": "cgroup", "path": "/system.slice"},
    {"kind": "unit", "name": "ssh.service"},
    {"kind": "unit", "name": "--help"},
    {"kind": "relay", "servers": ["x"]},
    {"kind": "unknown"},
    {"kind": []},
    {"name": "x"},
    None, 7, "x", [], {},
]  # fmt: skip


def test_what_this_machine_makes_is_ours(layout: Layout) -> None:
    assert [change for change in ours(layout) if not records.is_ours(change, layout)] == []


@pytest.mark.parametrize("change", FOREIGN, ids=str)
def test_what_it_does_not_make_is_not(layout: Layout, change: object) -> None:
    assert not records.is_ours(change, layout)
    other = Layout("other")
    assert [change for change in ours(other) if change["kind"] in ("bridge", "container", "unit") and records.is_ours(change, layout)] == []


def test_a_foreign_entry_is_never_undone_and_hides_no_other(layout: Layout, tmp_path: Path) -> None:
    path = tmp_path / "host-changes.json"
    path.write_text(json.dumps([*FOREIGN, *ours(layout), *FOREIGN]))
    journal = Journal(path, ours=lambda change: records.is_ours(change, layout))
    undone: list[object] = []
    journal.undo(dict.fromkeys((change["kind"] for change in ours(layout)), undone.append))
    assert undone == ours(layout)[::-1]


def facts(layout: Layout, **changed: object) -> dict[str, Any]:
    content = layout.directory.parents[1].parent / "store" / "entries" / ENTRY / "content"
    whole: dict[str, Any] = {"subnet": "192.168.49.0/24", "runc": f"{content}/runc", "node_image": str(content)}
    return whole | {"prepared_store": str(content), "limits": {"cpus": 2.0, "memory_mb": 2048, "pids": 0}, "furnished": True} | changed


def test_facts_that_root_can_act_on_stay(layout: Layout) -> None:
    import os

    expected = facts(layout) if os.geteuid() == 0 else {}
    assert {name: value for name, value in records.checked(facts(layout)).items() if name in expected} == expected


@pytest.mark.parametrize(
    "path",
    [
        "/tmp/runc",
        "runc",
        "",
        7,
        None,
        f"entries/{ENTRY}/content/runc",
        f"STORE/entries/{ENTRY}/content/../../../../runc",
        f"STORE/entries/../entries/{ENTRY}/content/runc",
        f"STORE/entries/{ENTRY}/seal",
        f"STORE/entries/{ENTRY}",
        "STORE/entries/mine/content/runc",
        f"STORE/entries/{ENTRY}/content/link",
        f"STORE/entries/{ENTRY}/content/open",
        f"STORE/entries/{ENTRY}/content/persons",
        f"STORE/entries/{ENTRY}/content/\0",
    ],
)
def test_a_program_that_is_not_roots_in_the_store_is_not_executed(layout: Layout, tmp_path: Path, path: object) -> None:
    import os

    content = tmp_path / "store" / "entries" / ENTRY / "content"
    (content / "link").symlink_to(content / "runc")
    (content / "open").touch()
    (content / "open").chmod(0o777)
    (content / "persons").touch()
    if os.geteuid() == 0:
        os.chown(content / "persons", 4711, 4711)
    said = path.replace("STORE", str(tmp_path / "store")) if isinstance(path, str) else path
    assert "runc" not in records.checked(facts(layout, runc=said))


def test_entries_that_are_a_link_are_not_roots(layout: Layout, tmp_path: Path) -> None:
    entries = tmp_path / "store" / "entries"
    entries.rename(tmp_path / "mine")
    entries.symlink_to(tmp_path / "mine")
    assert "runc" not in records.checked(facts(layout))


@pytest.mark.parametrize("subnet", ["8.8.8.0/24", "0.0.0.0/0", "10.0.0.0/8", "::1/128", "192.168.49.0/24; x", 7, None, ["192.168.49.0/24"]])
def test_only_a_private_network_is_a_subnet(layout: Layout, subnet: object) -> None:
    assert "subnet" not in records.checked(facts(layout, subnet=subnet))


@pytest.mark.parametrize("limits", [{"cpus": -1}, {"cpus": 1, "memory_mb": "2", "pids": 0}, [], "x", {"other": 1}, {"cpus": True}])
def test_limits_are_numbers(layout: Layout, limits: object) -> None:
    assert records.checked(facts(layout, limits=limits))["limits"] == {"cpus": 0, "memory_mb": 0, "pids": 0}


def test_facts_of_somebody_else_lose_every_path_and_every_unknown_name(layout: Layout) -> None:
    enclosure = {"first": 1 << 28, "place": "/etc/x", "source": "/etc", "lowers": ["/etc"], "machine": "/etc", "pods": True}
    found = records.facts(facts(layout, enclosure=enclosure, cgroup="/", later="x", runc="/tmp/runc"))
    assert found["enclosure"] == {"first": 1 << 28, "place": "/mnt", "source": "", "lowers": [], "machine": "", "pods": True}
    assert {"cgroup", "later", "runc"}.isdisjoint(found)


def test_whatever_the_files_hold_is_read_without_a_crash(layout: Layout, tmp_path: Path) -> None:
    """Seeded: known texts, changed at random places, and random values in the places of known ones."""
    chance = random.Random(17)
    values: list[Any] = [None, 0, -1, 1 << 70, 1.5, "", "x" * 300, "../..", "/", [], {}, [[]], {"kind": "bridge"}, True, "\0", "\ud800"]
    path = tmp_path / "fuzzed.json"
    for _ in range(1500):
        changes = [dict(change) for change in ours(layout)]
        for change in chance.sample(changes, 3):
            change[chance.choice([*change, "more"])] = chance.choice(values)
        text = bytearray(json.dumps(changes).encode())
        for _ in range(chance.choice([0, 0, 1, 5])):
            text[chance.randrange(len(text))] = chance.randrange(256)
        path.write_bytes(text)
        for change in Journal(path, ours=lambda change: records.is_ours(change, layout)).changes():
            assert change.get("name", layout.bridge) in (layout.bridge, layout.unit, "fs.inotify.max_user_instances", "net.ipv4.ip_forward")
            assert change.get("path", layout.group) in (layout.group, f"/minikube/{layout.id}", f"/system.slice/{layout.unit}")
            assert change.get("id", layout.container) == layout.container
        name = chance.choice(["subnet", "runc", "limits", "enclosure", "node_image", "furnished"])
        wrong = facts(layout, **{name: chance.choice(values)})
        kept = records.facts(wrong)
        assert kept.get("runc", facts(layout)["runc"]) == facts(layout)["runc"]
        assert kept.get("subnet", "192.168.49.0/24") == "192.168.49.0/24"
