"""`minikube doctor`, and `start` that refuses with the same words: the real program, on this machine and on one that lacks things."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.program import PROGRAM, Program

from minikube.drivers.native.checks import QUESTIONS

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="another machine is pretended with mounts and capabilities, which needs root")
BY_ID = {question.id: question for question in QUESTIONS}


def pretending(minikube: Program, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The program after a script that changes mounts or rights; they are those of its own mount namespace and go with it.

    How much other clusters leave of the host's limits at the moment is of no concern.
    """
    plenty = minikube.home.parent / "plenty"
    plenty.write_text("8192\n")
    script = f'mount --bind {plenty} /proc/sys/fs/inotify/max_user_instances; {script} "$@"'
    argv = ["unshare", "--mount", "sh", "-ec", script, "sh", sys.executable, "-s", "-E", str(PROGRAM), *words]
    return subprocess.run(argv, env=minikube.environment, cwd="/", capture_output=True, text=True, timeout=240, check=False)


def small_disk(minikube: Program) -> str:
    return f"mount -t tmpfs -o noexec,size=20m none {minikube.home.parent};"


def without(capability: str) -> str:
    return f"exec setpriv --bounding-set=-{capability}"


def test_json_has_this_shape(minikube: Program) -> None:
    done = minikube.inside("doctor", "-o", "json")
    said = json.loads(done.stdout)
    assert list(said) == ["ready", "exitCode", "name", "message", "driver", "containerRuntime", "checks"]
    assert (said["driver"], said["containerRuntime"], said["exitCode"]) == ("native", "containerd", done.returncode)
    assert {tuple(check) for check in said["checks"]} == {("id", "group", "title", "state", "detail", "fix", "required", "reason")}
    assert {check["state"] for check in said["checks"]} <= {"ok", "warning", "missing"}
    native = [check for check in said["checks"] if check["id"] in BY_ID]
    assert [check["id"] for check in native] == list(BY_ID)
    assert [check for check in said["checks"] if (check["state"] != "ok") != bool(check["fix"])] == []
    in_the_way = [check for check in said["checks"] if check["required"] and check["state"] == "missing"]
    assert said["ready"] is not bool(in_the_way)
    assert said["name"] == (in_the_way[0]["reason"] if in_the_way else "")


def test_text_has_every_check_and_says_whether_a_start_can_work(minikube: Program) -> None:
    done = minikube.inside("doctor")
    for question in QUESTIONS:
        assert question.title in done.stdout
    for group in ("Kernel", "Resources", "Storage", "Network", "Components", "Drivers", "Container runtimes"):
        assert f"\n{group}\n" in f"\n{done.stdout}"
    assert done.stderr == ""
    end = "`minikube start` can work here" if done.returncode == 0 else "`minikube start` would be refused with"
    assert end in done.stdout


@as_root
def test_this_machine_is_ready(minikube: Program) -> None:
    done = pretending(minikube, "exec", "doctor", "--driver=native")
    assert done.returncode == 0, done.stdout


def test_it_changes_nothing(minikube: Program) -> None:
    def host() -> dict[str, Any]:
        interfaces = [path.name for path in Path("/sys/class/net").iterdir() if "probe" in path.name]
        return {"probes": interfaces, "forwarding": Path("/proc/sys/net/ipv4/ip_forward").read_text()}

    before = host()
    minikube("doctor")
    assert host() == before
    assert not minikube.home.exists()


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (("--driver=hyperv",), 56, "DRV_UNSUPPORTED_OS"),
        (("--driver=fantasy",), 56, "DRV_UNSUPPORTED"),
    ],
)
def test_a_driver_that_cannot_be_used_is_the_only_thing_looked_at(minikube: Program, words: tuple[str, ...], code: int, name: str) -> None:
    done = minikube.inside("doctor", *words, "-o", "json")
    said = json.loads(done.stdout)
    assert (done.returncode, said["ready"], said["name"]) == (code, False, name)
    assert [check["id"] for check in said["checks"] if check["id"] in BY_ID] == []


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (("--container-runtime=docker",), 16, "MK_UNIMPLEMENTED"),
        (("--container-runtime=fantasy",), 14, "MK_USAGE"),
        (("--memory=900t",), 23, "RSRC_INSUFFICIENT_SYS_MEMORY"),
        (("--cpus=5000",), 29, "RSRC_INSUFFICIENT_CORES"),
        (("--kubernetes-version=v1.2.3",), 106, "K8S_OLD_UNSUPPORTED"),
    ],
)
def test_what_a_start_with_the_same_flags_ends_with(minikube: Program, words: tuple[str, ...], code: int, name: str) -> None:
    done = minikube.inside("doctor", *words, "-o", "json")
    assert (done.returncode, json.loads(done.stdout)["name"]) == (code, name)
    refused = minikube.inside("start", "--dry-run", *words, "-o", "json")
    event = json.loads(refused.stdout.splitlines()[-1])["data"]
    assert (refused.returncode, event["name"]) == (code, name)


def test_another_machine_is_not_measured_by_this_one(minikube: Program) -> None:
    done = minikube.inside("doctor", "--driver=ssh", "--memory=900t", "-o", "json")
    said = json.loads(done.stdout)
    assert (said["driver"], "RSRC" in said["name"]) == ("ssh", False)


def test_other_formats_are_refused(minikube: Program) -> None:
    assert minikube.inside("doctor", "-o", "xml").returncode == 14


@as_root
def test_a_start_is_refused_with_the_whole_list(minikube: Program) -> None:
    refused = pretending(minikube, small_disk(minikube), "start", "--cpus=0", "--container-runtime=docker")
    assert refused.returncode == 16, refused
    assert "Exiting due to MK_UNIMPLEMENTED: 4 things stand in the way:" in refused.stderr
    for words in ("cpu count 0", "'docker' is not built yet", "mounted noexec", "MB for clusters"):
        assert words in refused.stderr
    for advice in ("--cpus=2", "--container-runtime=containerd", "remount,exec", "Free some space"):
        assert advice in refused.stderr
    assert "Downloading" not in refused.stdout


@as_root
def test_one_lack_alone_keeps_its_own_id_and_code_in_json(minikube: Program) -> None:
    refused = pretending(minikube, f"mount -t tmpfs -o size=20m none {minikube.home.parent};", "start", "-o", "json")
    event = json.loads(refused.stdout.splitlines()[-1])
    assert event["type"] == "io.k8s.sigs.minikube.error"
    assert (refused.returncode, event["data"]["name"], event["data"]["exitcode"]) == (26, "RSRC_INSUFFICIENT_STORAGE", "26")
    assert "Free some space" in event["data"]["advice"]
    assert refused.stderr == ""


@as_root
def test_a_missing_capability(minikube: Program) -> None:
    said = pretending(minikube, without("net_admin"), "doctor", "-o", "json")
    (check,) = [check for check in json.loads(said.stdout)["checks"] if check["id"] == "capabilities"]
    assert (said.returncode, check["state"], "CAP_NET_ADMIN" in check["detail"]) == (36, "missing", True)
    refused = pretending(minikube, without("net_admin"), "start", "--dry-run")
    assert refused.returncode == 36
    assert "CAP_NET_ADMIN" in refused.stderr


@as_root
def test_force_says_it_and_goes_on(minikube: Program) -> None:
    done = pretending(minikube, without("net_admin"), "start", "--dry-run", "--force")
    assert done.returncode == 0, done
    assert "! Capabilities: CAP_NET_ADMIN cannot be given to a node" in done.stderr
    assert "dry-run validation complete!" in done.stdout


@as_root
def test_an_overlay_cannot_hold_containers(minikube: Program) -> None:
    place = minikube.home.parent
    layers = "".join(f"mkdir -p {place}/{name};" for name in ("lower", "upper", "work"))
    mount = f"mount -t overlay -o lowerdir={place}/lower,upperdir={place}/upper,workdir={place}/work none {place};"
    refused = pretending(minikube, layers + mount, "start", "--dry-run")
    assert refused.returncode == 36
    assert "is on overlay, which cannot hold the roots of containers" in refused.stderr
