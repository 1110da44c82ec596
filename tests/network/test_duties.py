"""Kernel settings that clusters share: who puts them back, and to what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minikube.network import bridge


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("mk-aaaaaaaa", "mk-bbbbbbbb"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ifalias").write_text("\n")
    monkeypatch.setattr(bridge, "LINKS", tmp_path)
    return tmp_path


def change(name: str, before: str, after: str) -> dict[str, Any]:
    return {"kind": "sysctl", "name": name, "before": before, "after": after}


FORWARDING = change("net.ipv4.ip_forward", "0", "1")
WATCHES = change("fs.inotify.max_user_instances", "128", "1024")


@pytest.mark.parametrize(("setting", "entrusted", "ours"), [("0", False, True), ("1", False, False), ("1", True, True)])
def test_forwarding_is_ours_if_a_cluster_of_any_home_turned_it_on(
    links: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, entrusted: bool, ours: bool
) -> None:
    """The one that did may be deleted before the others: each of them keeps the host from being a router."""
    (tmp_path / "ip_forward").write_text(f"{setting}\n")
    monkeypatch.setattr(bridge, "FORWARDING", tmp_path / "ip_forward")
    if entrusted:
        bridge.entrust("mk-bbbbbbbb", FORWARDING)
    assert bridge.forwarding_is_ours() == ours


def test_a_bridge_without_any(links: Path) -> None:
    assert bridge.duties("mk-aaaaaaaa") == []
    assert bridge.duties("mk-gone") == []


def test_a_bridge_bears_several(links: Path) -> None:
    bridge.entrust("mk-aaaaaaaa", FORWARDING)
    bridge.entrust("mk-aaaaaaaa", WATCHES)
    assert bridge.duties("mk-aaaaaaaa") == [FORWARDING, WATCHES]
    assert len((links / "mk-aaaaaaaa" / "ifalias").read_text()) < 256  # the kernel's limit


def test_somebody_elses_alias_is_no_duty(links: Path) -> None:
    (links / "mk-aaaaaaaa" / "ifalias").write_text("the office was here")
    assert bridge.duties("mk-aaaaaaaa") == []


@pytest.mark.parametrize("order", [1, -1])
def test_a_setting_that_was_changed_twice_goes_back_to_what_it_was_first(links: Path, order: int) -> None:
    for made in (WATCHES, change(WATCHES["name"], "1024", "2048"))[::order]:
        bridge.entrust("mk-aaaaaaaa", made)
    assert bridge.duties("mk-aaaaaaaa") == [change(WATCHES["name"], "128", "2048")]


def test_a_setting_that_somebody_else_set_in_between_goes_back_to_that(links: Path) -> None:
    since = change(WATCHES["name"], "512", "16384")
    bridge.entrust("mk-aaaaaaaa", since)
    bridge.entrust("mk-aaaaaaaa", WATCHES)
    assert bridge.duties("mk-aaaaaaaa") == [since]


def test_a_cluster_that_goes_leaves_its_duty_to_another(links: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "undo_sysctl", lambda change: pytest.fail("somebody still needs it"))
    bridge.leave_setting(WATCHES, own="mk-aaaaaaaa")
    assert bridge.duties("mk-bbbbbbbb") == [WATCHES]


def test_forwarding_stays_on_for_other_softwares_bridges(links: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docker may have come since: it found forwarding on, so it did not write down that it needs it."""
    undone: list[dict[str, Any]] = []
    monkeypatch.setattr(bridge, "undo_sysctl", undone.append)
    for name in ("mk-aaaaaaaa", "mk-bbbbbbbb"):
        (links / name / "ifalias").unlink()
        (links / name).rmdir()
    (links / "docker0" / "bridge").mkdir(parents=True)
    bridge.leave_setting(FORWARDING, own="mk-aaaaaaaa")
    bridge.leave_setting(WATCHES, own="mk-aaaaaaaa")
    assert undone == [WATCHES]
    (links / "docker0" / "bridge").rmdir()
    bridge.leave_setting(FORWARDING, own="mk-aaaaaaaa")
    assert undone == [WATCHES, FORWARDING]
