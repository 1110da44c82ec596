"""A kubeconfig may be a stranger's: whatever is in it ends with a reason or success, soon, and loses nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from minikube.kubernetes import kubeconfig, kubeconfigglance
from minikube.output.reason import Reason

HERE = Path(__file__).parent
ENTRY = kubeconfig.Entry("dev", "https://10.5.0.2:8443", Path("/h/ca.crt"), Path("/h/client.crt"), Path("/h/client.key"), "v1")


@pytest.mark.parametrize(("seed", "count"), [(17, 150)])
def test_no_file_breaks_it_or_loses_anything(tmp_path: Path, seed: int, count: int) -> None:
    """In a process of its own: the C library can end it."""
    command = [sys.executable, str(HERE / "kubeconfigcases.py"), str(tmp_path), str(seed), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.stdout.splitlines()[-1:] == ["all"], (done.returncode, done.stdout.splitlines()[-1:], done.stderr[-3000:])


@pytest.mark.parametrize("kind", ["pipe", "device", "directory"])
def test_what_is_no_file_is_refused_and_not_waited_for(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = {"pipe": tmp_path / "pipe", "device": Path("/dev/zero"), "directory": tmp_path / "directory"}[kind]
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "directory":
        place.mkdir()
    linked = tmp_path / "kubeconfig"
    linked.symlink_to(place)
    monkeypatch.setenv("KUBECONFIG", str(linked))
    with pytest.raises(Reason) as caught:
        kubeconfig.merge(ENTRY)
    assert caught.value.id == "HOST_KUBECONFIG_UPDATE"
    assert not kubeconfig.remove("dev")
    assert (kubeconfig.endpoint("dev"), kubeconfigglance.endpoint("dev"), kubeconfigglance.current_context()) == ("", "", "")
    assert linked.is_symlink()
    assert not [*tmp_path.glob("*.lock")]
