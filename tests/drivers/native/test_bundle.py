"""What runc is told about a native box."""

import resource
from pathlib import Path
from typing import Any

import pytest

from minikube.artifacts.components import Components
from minikube.drivers.native import bundle
from minikube.drivers.native.driver import NativeDriver
from minikube.drivers.native.layout import Layout
from minikube.drivers.native.usernamespace import Enclosure
from minikube.drivers.values import Limits
from minikube.host import inherited


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    parts = Components("v1.37.1", *(tmp_path / name for name in ("image", "bin:aries", "prepared", "seed", "runc", "kubectl")))

    def make(**limits: float) -> dict[str, Any]:
        chosen = Limits(**({"cpus": 0, "memory_mb": 0, "pids": 0} | limits))  # type: ignore[arg-type]
        return bundle.configuration(Layout("box"), parts, chosen)

    return make


def test_nothing_of_the_host_is_mounted_but_the_machines_own_directory(configuration: Any, tmp_path: Path) -> None:
    sources = [mount["source"] for mount in configuration()["mounts"] if mount["type"] == "bind"]
    assert sources
    assert all(Path(source).is_relative_to(tmp_path / ".minikube" / "machines" / "box") for source in sources)


def test_every_namespace_is_its_own(configuration: Any) -> None:
    namespaces = configuration()["linux"]["namespaces"]
    assert {entry["type"] for entry in namespaces} == {"pid", "ipc", "uts", "mount", "cgroup", "network"}
    assert all("path" not in entry for entry in namespaces)


@pytest.fixture
def enclosed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    parts = Components("v1.37.1", *(tmp_path / name for name in ("image", "binaries", "prepared", "seed", "runc", "kubectl")))
    return bundle.configuration(Layout("box"), parts, Limits(0, 0, 0), Enclosure(1 << 28, "/mnt", "rootfs", []))


def test_in_a_user_namespace_root_is_somebody_else_but_files_stay_whose_they_are(enclosed: dict[str, Any], tmp_path: Path) -> None:
    assert {"type": "user"} in enclosed["linux"]["namespaces"]
    for mappings in (enclosed["linux"]["uidMappings"], enclosed["linux"]["gidMappings"]):
        assert [(entry["containerID"], entry["hostID"]) for entry in mappings] == [(0, 1 << 28)]
    on_disk = [mount for mount in enclosed["mounts"] if mount["source"].startswith("/mnt/machine/")]
    assert on_disk
    assert all("ridmap" in mount["options"] for mount in on_disk)


def test_a_user_namespace_brings_no_device_of_the_host(enclosed: dict[str, Any]) -> None:
    kmsg = next(mount for mount in enclosed["mounts"] if mount["destination"] == "/dev/kmsg")
    assert kmsg["source"] == "/dev/null"
    assert [device["path"] for device in enclosed["linux"]["devices"] if device["path"] != "/dev/fuse"] == []


def test_the_store_is_a_lower_directory_and_its_colons_are_escaped(configuration: Any) -> None:
    usr = next(mount for mount in configuration()["mounts"] if mount["destination"] == "/usr")
    assert usr["type"] == "overlay"
    assert "bin\\:aries/usr:" in usr["options"][0]


def test_limits_become_cgroup_limits(configuration: Any) -> None:
    resources = configuration(cpus=1.5, memory_mb=2048, pids=500)["linux"]["resources"]
    assert resources["cpu"]["quota"] == 150_000
    assert resources["memory"]["limit"] == 2048 << 20
    assert resources["pids"]["limit"] == 500


def test_no_limit_means_no_entry(configuration: Any) -> None:
    assert set(configuration()["linux"]["resources"]) == {"devices"}


def test_limits_of_processes_are_not_those_of_the_callers_shell(configuration: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        limits = {limit["type"]: limit for limit in configuration()["process"]["rlimits"]}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert limits["RLIMIT_NOFILE"]["soft"] == limits["RLIMIT_NOFILE"]["hard"] > 256
    assert {"RLIMIT_NPROC", "RLIMIT_MEMLOCK", "RLIMIT_FSIZE", "RLIMIT_CPU"} <= limits.keys()
    assert all(0 <= limit["soft"] <= limit["hard"] < 1 << 64 for limit in limits.values())
    monkeypatch.setattr(inherited, "limits", lambda: {"NOFILE": (1024, 1024)})
    (warning,) = NativeDriver("box").warnings()
    assert "1024 open files" in warning


def test_capabilities_that_reach_the_host_are_withheld(configuration: Any) -> None:
    process = configuration()["process"]
    for granted in process["capabilities"].values():
        assert not {"CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_BOOT", "CAP_SYS_TIME"} & set(granted)


def test_two_homes_with_the_same_profile_name_do_not_meet_on_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    for home in ("a", "b"):
        monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path / home))
        layout = Layout("minikube")
        names.append({layout.bridge, layout.cable, layout.cgroup, layout.container})
        assert max(len(layout.bridge), len(layout.cable)) <= 15  # what the kernel takes for the name of an interface
    assert not names[0] & names[1]


def test_only_where_pods_can_have_user_namespaces_a_call_waits_for_an_answer(tmp_path: Path, enclosed: dict[str, Any]) -> None:
    parts = Components("v1.37.1", *(tmp_path / name for name in ("image", "binaries", "prepared", "seed", "runc", "kubectl")))
    able = Enclosure(1 << 28, "/mnt", "rootfs", [], machine=str(tmp_path), pods=True)
    filter = bundle.configuration(Layout("box"), parts, Limits(0, 0, 0), able)["linux"]["seccomp"]
    assert filter["listenerPath"] == "/mnt/machine/listener.sock"
    assert [rule["names"] for rule in filter["syscalls"] if rule["action"] == "SCMP_ACT_NOTIFY"] == [["mount_setattr"]]
    assert "listenerPath" not in enclosed["linux"]["seccomp"]
    assert not any(rule["action"] == "SCMP_ACT_NOTIFY" for rule in enclosed["linux"]["seccomp"]["syscalls"])
