"""What clusters set aside of limits that they share: seen by the next one before it is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from minikube.host import cgroups, inotify, reservations, shiftedids
from minikube.network import bridge
from minikube.output.reason import Reason

DUTIES = (
    "net.ipv4.ip_forward was 0 now 1; fs.inotify.max_user_instances was 128 now 16384; fs.inotify.max_user_watches was 65536 now 1048576"
)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host that allows 128 instances, with what its root's processes use."""
    for name, value in (("instances", "128"), ("watches", "524288")):
        file = tmp_path / "proc/sys/fs/inotify" / f"max_user_{name}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value)
    return tmp_path


def add_bridge(host: Path, name: str, alias: str = "") -> None:
    (host / "sys/class/net" / name).mkdir(parents=True)
    (host / "sys/class/net" / name / "ifalias").write_text(f"{alias}\n")


def test_starts_at_the_same_time_get_different_ids(host: Path) -> None:
    names = [f"mk-0000000{number}" for number in range(9)]
    for name in names:
        add_bridge(host, name)
    ids = [reservations.reserve(name, ids=True, root=host) for name in names]
    assert len({one.start for one in ids}) == len(ids), "none of them runs a process yet"
    assert reservations.reserve(names[0], ids=True, root=host) == ids[0], "its own are free for it"


def test_what_is_reserved_stays_beside_what_else_is_written_on_a_bridge(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "LINKS", host / "sys/class/net")
    add_bridge(host, "mk-00000000", DUTIES)
    last = list(shiftedids.ranges())[-1]
    reservations.write("mk-00000000", reservations.usual(last), host)
    alias = (host / "sys/class/net/mk-00000000/ifalias").read_text()
    assert len(alias) < 256, "the kernel takes no more"
    assert len(bridge.duties("mk-00000000")) == 3
    bridge.entrust("mk-00000000", {"kind": "sysctl", "name": "net.ipv4.ip_forward", "before": "0", "after": "1"})
    (other,) = reservations.of_others("mk-99999999", host)
    assert other.ids == last


def test_one_that_was_reserved_again_replaces_the_other(host: Path) -> None:
    add_bridge(host, "mk-00000000")
    for one in list(shiftedids.ranges())[:2]:
        reservations.write("mk-00000000", reservations.usual(one), host)
    assert (host / "sys/class/net/mk-00000000/ifalias").read_text() == str(reservations.usual(one))


def test_a_bridge_of_an_older_minikube_or_of_somebody_else_counts_with_what_is_usual(host: Path) -> None:
    add_bridge(host, "mk-00000000", "the office")
    assert reservations.of_others("", host) == [reservations.usual()]


@pytest.mark.parametrize("version2", [False, True])
def test_the_limit_is_raised_for_clusters_that_do_not_use_their_instances_yet(
    host: Path, version2: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "is_v2", lambda: version2)
    assert bool(reservations.settings_too_low("mk-own", host)) is version2, "with version 2 every container takes an instance"
    for number in range(9):
        add_bridge(host, f"mk-0000000{number}", str(reservations.usual()))
    ((name, before, after),) = reservations.settings_too_low("mk-own", host)
    assert (name, before) == (inotify.SETTING, 128)
    assert after >= 10 * inotify.share()
    (host / "proc/sys/fs/inotify/max_user_instances").write_text(str(after))
    assert reservations.settings_too_low("mk-own", host) == []


def test_watches_are_raised_as_well(host: Path) -> None:
    (host / "proc/sys/fs/inotify/max_user_watches").write_text("8192")
    (host / "proc/sys/fs/inotify/max_user_instances").write_text("8192")
    assert [(name, after) for name, _, after in reservations.settings_too_low("mk-own", host)] == [(inotify.WATCHES, 524288)]


def test_where_the_limit_cannot_be_raised_clusters_that_start_now_count_with_what_they_need(host: Path) -> None:
    fit = 128 // inotify.needed()
    for number in range(fit - 1):
        add_bridge(host, f"mk-0000000{number}", str(reservations.usual()))
    reservations.require_instances("mk-own", host)
    add_bridge(host, "mk-11111111")
    with pytest.raises(Reason, match="instances are left") as refused:
        reservations.require_instances("mk-own", host)
    assert (refused.value.id, refused.value.exit_code) == ("HOST_INOTIFY_LIMIT", 38)
