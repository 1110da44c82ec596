"""`minikube drivers`, and what other commands say about drivers that are not there."""

from __future__ import annotations

import json

import pytest
from support.program import Program

from minikube.drivers import machinefile

NODE = {"IP": "192.0.2.7", "Port": 8443, "KubernetesVersion": "v1.37.1", "ControlPlane": True, "Worker": True}
PROFILE = json.dumps({"Name": "dev", "Driver": "vanished", "KubernetesConfig": {"KubernetesVersion": "v1.37.1"}, "Nodes": [NODE]})


def test_a_table_for_people(minikube: Program) -> None:
    done = minikube("drivers")
    assert done.returncode == 0
    header, first, *_ = done.stdout.splitlines()
    assert header.split()[:3] == ["DRIVER", "ALIASES", "STATUS"]
    assert first.split()[:2] == ["native", "none"]


def test_json_for_programs(minikube: Program) -> None:
    native = next(found for found in json.loads(minikube("drivers", "-o", "json").stdout) if found["name"] == "none")
    assert (native["title"], native["aliases"], native["builtIn"], native["chosenByItself"]) == ("native", ["native"], True, True)
    assert {"installed", "healthy", "reason", "fix", "doc", "version", "systems", "priority", "origin"} <= native.keys()


def test_another_format_is_refused(minikube: Program) -> None:
    assert minikube("drivers", "-o", "yaml").returncode == 14


@pytest.mark.parametrize("name", ["docker", "fail", "none\n"])
def test_start_with_a_driver_that_nobody_provides(minikube: Program, name: str) -> None:
    done = minikube("start", f"--driver={name}", "--dry-run")
    assert done.returncode == 56
    assert "DRV_UNSUPPORTED" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (minikube.home / "profiles").exists()


@pytest.mark.parametrize("words", [("status",), ("stop",), ("ssh", "--", "true"), ("start", "--dry-run")])
def test_a_cluster_whose_driver_has_gone(minikube: Program, words: tuple[str, ...]) -> None:
    minikube.add_profile("dev", PROFILE)
    done = minikube(words[0], "-p", "dev", *words[1:])
    assert done.returncode == 55, done
    assert "The driver 'vanished' of the machine 'dev' is not here any more" in done.stderr


def test_deleting_it_needs_the_driver_as_long_as_there_is_a_machine(minikube: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = minikube.add_profile("dev", PROFILE)
    monkeypatch.setenv("MINIKUBE_HOME", str(minikube.home))
    machinefile.save("dev", "vanished", {"where": "far away"})
    done = minikube("delete", "-p", "dev")
    assert (done.returncode, "DRV_NOT_FOUND" in done.stderr) == (55, True)
    assert machinefile.load("dev") == {"where": "far away"}
    assert profile.exists()


def test_without_a_machine_the_profile_can_go(minikube: Program) -> None:
    minikube.add_profile("dev", PROFILE)
    done = minikube("delete", "-p", "dev")
    assert done.returncode == 0, done
    assert "only the profile is deleted" in done.stderr
    assert not (minikube.home / "profiles/dev").exists()
