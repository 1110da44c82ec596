"""Changes of the host are written down before they are made, and undone last first."""

from pathlib import Path

import pytest

from minikube.host.journal import Change, Journal, in_words


def test_undoes_last_first_and_forgets(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "changes.json")
    journal.record({"kind": "cgroup", "path": "a"}, {"kind": "cgroup", "path": "b"})
    journal.record({"kind": "cgroup", "path": "c"})
    undone: list[str] = []
    journal.undo({"cgroup": lambda change: undone.append(change["path"])})
    assert undone == ["c", "b", "a"]
    assert journal.changes() == []


def test_recording_the_same_change_twice_keeps_one(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "changes.json")
    for _ in range(2):
        journal.record({"kind": "cgroup", "path": "/x"})
    assert journal.changes() == [{"kind": "cgroup", "path": "/x"}]


def test_an_undo_that_fails_keeps_the_journal_for_the_next_try(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "changes.json")
    journal.record({"kind": "cgroup", "path": "/x"})

    def fails(change: Change) -> None:
        raise RuntimeError(change["path"])

    with pytest.raises(RuntimeError):
        journal.undo({"cgroup": fails})
    assert len(journal.changes()) == 1


def test_every_kind_can_be_said_in_words() -> None:
    assert "mk-1" in in_words({"kind": "bridge", "name": "mk-1", "address": "192.168.49.1/24"})
    assert "from 0 to 1" in in_words({"kind": "sysctl", "name": "net.ipv4.ip_forward", "before": "0", "after": "1"})
