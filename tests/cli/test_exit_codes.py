"""What commands are refused with, from outside: the id people see and the exit code scripts see. No cluster is needed for these."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.program import PROGRAM, Program

KNOWN = [
    ("MK_ADDON_ENABLE", 10, "addons enable nosuch"),
    ("SVC_ADDON_UNSUPPORTED", 116, "addons disable nosuch"),
    ("MK_CONFIG_SET", 10, "config set nosuch value"),
    ("MK_CONFIG_UNSET", 10, "config unset nosuch"),
    ("MK_OUTPUT_USAGE", 14, "version -o xml"),
    ("MK_USAGE", 14, "service list -o xml"),
    ("MK_USAGE", 14, "logs -n -3"),
    ("MK_USAGE", 14, "completion tcsh"),
    ("MK_USAGE", 14, "status -l circle"),
    ("MK_RESERVED_PROFILE", 11, "start -p status --dry-run"),
    ("GUEST_NODE_RETRIEVE", 85, "ip -n nosuch"),
    ("GUEST_NODE_RETRIEVE", 85, "ssh-key -n nosuch"),
    ("GUEST_NODE_RETRIEVE", 85, "cp a.txt nosuch:/b"),
    ("INET_CACHE_KUBECTL", 40, "kubectl -- get pods"),
    ("HOST_PATH_STAT", 30, "logs --audit --file=/no/such/file"),
    ("INET_LICENSES", 40, "license -d /proc/nosuch"),
    ("GUEST_DRIVER_MISMATCH", 81, "start --driver=ssh --ssh-ip-address=192.0.2.9 --dry-run"),
    ("DRV_UNSUPPORTED", 56, "start -p other --driver=fantasy --dry-run"),
    ("RSRC_INSUFFICIENT_CORES", 29, "start --cpus=5000 --dry-run"),
    ("RSRC_INSUFFICIENT_SYS_MEMORY", 23, "start --memory=900t --dry-run"),
    ("MK_USAGE", 14, "pause --namespaces="),
    ("MK_USAGE", 14, "stop --schedule=-5m"),
]


@pytest.mark.parametrize(("id", "code", "words"), KNOWN, ids=[words for _, _, words in KNOWN])
def test_refusal(minikube: Program, id: str, code: int, words: str) -> None:
    minikube.add_profile("minikube")
    done = minikube(*words.split())
    assert (done.returncode, f"X Exiting due to {id}: " in done.stderr) == (code, True), done
    assert "Exiting due to" not in done.stdout


MACHINE_GONE = ["ip", "ssh true", "cp a.txt /b", "service list", "pause", "unpause", "update-context", "sync", "ssh-host"]


@pytest.mark.parametrize("words", MACHINE_GONE)
def test_a_profile_whose_machine_is_gone(minikube: Program, words: str) -> None:
    """Exit code 85, and told on stdout as upstream does."""
    minikube.add_profile("minikube")
    done = minikube(*words.split())
    assert (done.returncode, done.stderr) == (85, ""), done
    assert done.stdout == '* The control-plane node minikube host does not exist\n  To start a cluster, run: "minikube start"\n'


@pytest.mark.skipif(os.geteuid() != 0, reason="root rights would be missed first")
@pytest.mark.parametrize(
    ("id", "code", "words"),
    [
        ("PROVIDER_SSH_NOT_FOUND", 65, "start --driver=ssh --ssh-ip-address=192.0.2.9"),
        ("NOT_FOUND_BUILD_TOOLS", 15, "start --download-only --source=modules"),
        ("MK_CACHE_LOAD", 10, "cache add nosuch-image:1"),
    ],
)
def test_a_machine_without_programs(minikube: Program, tmp_path: Path, id: str, code: int, words: str) -> None:
    done = minikube(*words.split(), PATH=str(tmp_path / "nothing"), MINIKUBE_STORE=str(tmp_path / "store"))
    assert (done.returncode, f"X Exiting due to {id}: " in done.stderr) == (code, True), done


def test_a_cache_that_is_not_what_it_should_be(minikube: Program) -> None:
    minikube.write_config('{"cache": ["busybox:1"]}')
    done = minikube("cache", "list")
    assert (done.returncode, "Exiting due to MK_CACHE_LIST: " in done.stderr) == (10, True), done
    minikube.write_config('{"cache": {"busybox:1": null}}')
    done = minikube("cache", "delete", "busybox:1")
    assert (done.returncode, "Exiting due to HOST_DEL_CACHE: " in done.stderr) == (30, True), done


@pytest.mark.skipif(os.geteuid() != 0, reason="a network of its own needs root")
def test_a_host_whose_routes_take_every_private_address(minikube: Program) -> None:
    routes = "".join(f"ip route add {network} dev lo; " for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
    script = f'ip link set lo up; {routes}exec "$@"'
    argv = [
        "unshare",
        "--net",
        "sh",
        "-ec",
        script,
        "sh",
        sys.executable,
        "-s",
        "-E",
        str(PROGRAM),
        "start",
        "--dry-run",
        "--driver=native",
    ]
    done = subprocess.run(argv, env=minikube.environment, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, "Exiting due to IF_DEDICATED_NETWORK: " in done.stderr) == (70, True), done


def test_a_home_that_is_a_file(minikube: Program) -> None:
    minikube.home.write_text("no directory\n")
    done = minikube("config", "set", "memory", "3g")
    assert (done.returncode, "Exiting due to HOST_HOME_MKDIR: " in done.stderr) == (37, True), done
    assert minikube.home.read_text() == "no directory\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount in the way needs root")
def test_a_profile_that_cannot_be_removed(minikube: Program) -> None:
    file = minikube.add_profile("minikube")
    in_the_way = file.parent / "mounted"
    in_the_way.mkdir()
    script = f'mount -t tmpfs none {in_the_way}; exec "$@"'
    argv = ["unshare", "--mount", "sh", "-ec", script, "sh", sys.executable, "-s", "-E", str(PROGRAM), "delete"]
    done = subprocess.run(argv, env=minikube.environment, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, "Exiting due to GUEST_PROFILE_DELETION: " in done.stderr) == (80, True), done
    assert minikube("delete").returncode == 0
