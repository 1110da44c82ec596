"""Each question of the native driver, on a machine made of files: what it calls fine, doubtful and missing, and what it advises."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from healthy_machine import ROUTES, Machine, filesystem

from minikube.drivers.checks import Finding, Ground, Question, ask
from minikube.drivers.native.checks import QUESTIONS, firewall, isolation, kernel, network, resources, storage
from minikube.drivers.native.layout import Layout
from minikube.output.kinds import KINDS

Change = Callable[[Machine], None]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def write(name: str, content: str) -> Change:
    return lambda machine: machine.write(name, content)


def remove(name: str) -> Change:
    return lambda machine: machine.remove(name)


def old_cgroups(*controllers: str) -> Change:
    def change(machine: Machine) -> None:
        machine.remove("sys/fs/cgroup/cgroup.controllers")
        for name in controllers:
            (machine.root / "sys/fs/cgroup" / name).mkdir()

    return change


def modules_without(*names: str) -> Change:
    def change(machine: Machine) -> None:
        for file in machine.root.glob("lib/modules/*/*"):
            file.write_text("".join(line for line in file.read_text().splitlines(True) if not any(name in line for name in names)))

    return change


def remounted(old: str, new: str) -> Change:
    def change(machine: Machine) -> None:
        file = machine.root / "proc/self/mountinfo"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    return change


READ_ONLY_CGROUPS = remounted("/sys/fs/cgroup rw", "/sys/fs/cgroup ro,nosuid")
ALL_V1 = ("cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids")


def test_a_healthy_machine_has_nothing_to_complain_about(machine: Machine) -> None:
    questions = [question for question in QUESTIONS if question.group != "Components"]
    (machine.root / "root/.minikube").mkdir()
    assert [check for check in ask(questions, machine.ground()) if check.state != "ok"] == []


def test_a_kernel_that_cannot_shift_owners_is_named(machine: Machine) -> None:
    found = isolation.shifted_root(machine.ground(kernel="5.15.0-91-generic"))
    assert (found.state, "5.15.0-91-generic" in found.detail, "5.19" in found.fix) == ("warning", True, True)


def test_questions_that_every_start_asks_can_refuse_it_and_have_an_exit_code() -> None:
    assert len({question.id for question in QUESTIONS}) == len(QUESTIONS)
    assert [question.id for question in QUESTIONS if question.reason not in KINDS] == []


@pytest.mark.parametrize(
    ("look", "change", "state", "words", "fix"),
    [
        (kernel.namespaces, remove("proc/self/ns/cgroup"), "missing", "cgroup", "kernel"),
        (isolation.shifted_root, remove("proc/self/ns/user"), "warning", "none may be made", "sysctl"),
        (isolation.shifted_root, write("proc/sys/user/max_user_namespaces", "0"), "warning", "none may be made", "sysctl"),
        (isolation.shifted_root, remounted("- ext4", "- nfs4"), "warning", "is on nfs4", "MINIKUBE_HOME"),
        (isolation.shifted_root, remounted("- ext4", "- tmpfs"), "warning", "is on tmpfs", "MINIKUBE_HOME"),
        (kernel.namespaces, write("proc/sys/user/max_net_namespaces", "0"), "missing", "net", "sysctl -w user.max_net_namespaces"),
        (kernel.namespaces, remove("proc/self/ns/user"), "warning", "hostUsers", "user.max_user_namespaces"),
        (kernel.namespaces, write("proc/sys/user/max_user_namespaces", "0"), "warning", "hostUsers", "user.max_user_namespaces"),
        (kernel.user_namespace, write("proc/self/uid_map", "0 1000 1\n1 100000 65536\n"), "warning", "rootless", "--privileged"),
        (
            kernel.control_groups,
            write("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io pids"),
            "missing",
            "memory",
            "cgroup_enable=memory",
        ),
        (kernel.control_groups, write("sys/fs/cgroup/cgroup.controllers", "memory"), "missing", "cpu, cpuset, pids", "Enable"),
        (kernel.control_groups, READ_ONLY_CGROUPS, "missing", "read-only", "--privileged"),
        (kernel.control_groups, old_cgroups(*ALL_V1), "warning", "version 1", "unified_cgroup_hierarchy"),
        (kernel.control_groups, old_cgroups("cpu", "memory", "pids"), "missing", "cpuacct, cpuset, devices, freezer", "Mount"),
        (kernel.control_groups, old_cgroups("cpu"), "missing", "memory", "cgroup_enable=memory"),
        (kernel.capabilities, write("proc/self/status", "CapBnd:\t000001fffeffffff\n"), "warning", "CAP_SYS_RESOURCE", "without"),
        (
            kernel.capabilities,
            write("proc/self/status", "CapBnd:\t00000000a80425fb\n"),
            "missing",
            "CAP_SYS_ADMIN, CAP_NET_ADMIN",
            "--priv",
        ),
        (kernel.overlay, write("proc/filesystems", "ext4"), "ok", "when it is needed", ""),
        (kernel.messages, remove("dev/kmsg"), "warning", "/dev/kmsg", "mknod"),
        (resources.memory, write("proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n"), "missing", "976 MB", "2 GB"),
        (resources.memory, write("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 900000 kB\n"), "warning", "878 MB", "End programs"),
        (resources.swap, write("proc/swaps", "Filename\n/dev/sda2 partition 1 0 -2\n"), "ok", "1 in use", ""),
        (storage.home_filesystem, remounted("- ext4", "- overlay"), "missing", "overlay", "MINIKUBE_HOME"),
        (storage.home_filesystem, remounted("- ext4", "- nfs4"), "missing", "nfs4", "MINIKUBE_HOME"),
        (storage.home_filesystem, remounted("- ext4", "- fuse.sshfs"), "missing", "fuse.sshfs", "MINIKUBE_HOME"),
        (storage.home_filesystem, remounted("- ext4", "- tmpfs"), "ok", "tmpfs", ""),
        (storage.executable, remounted("/ rw,relatime", "/ rw,noexec"), "missing", "noexec", "remount,exec /"),
        (storage.home_writable, write("root/.minikube", "a file"), "missing", "not a directory", "MINIKUBE_HOME"),
        (network.links, modules_without("bridge", "veth"), "missing", "no bridge and no veth", "linux-modules-extra-6.1.0-test"),
        (firewall.nftables, modules_without("nft_masq"), "missing", "nft_masq", "linux-modules-extra-6.1.0-test"),
        (network.forwarding, write("proc/sys/net/ipv4/ip_forward", "1"), "ok", "on", ""),
        (network.forwarding, remounted("/proc rw", "/proc ro"), "missing", "read-only", "sysctl -w net.ipv4.ip_forward=1"),
        (network.forwarding, remove("proc/sys/net/ipv4/ip_forward"), "missing", "IPv4", "CONFIG_INET"),
        (network.subnet, remove("proc/net/fib_trie"), "warning", "cannot be read", "/proc"),
        (network.resolvers, write("etc/resolv.conf", "search example.org\n"), "warning", "none", "nameserver"),
        (network.resolvers, remove("etc/resolv.conf"), "warning", "none", "nameserver"),
        (network.ipv6, remove("proc/net/if_inet6"), "ok", "off", ""),
        (network.ipv6, write("proc/sys/net/ipv6/conf/all/disable_ipv6", "1"), "ok", "off", ""),
        (network.ipv6, write("proc/net/if_inet6", "26001234000000000000000000000001 02 40 00 80 eth0\n"), "ok", "on", ""),
    ],
)
def test_what_is_wrong_is_seen_and_has_a_remedy(
    machine: Machine, look: Callable[[Ground], Finding], change: Change, state: str, words: str, fix: str
) -> None:
    before = look(machine.ground())
    change(machine)
    found = look(machine.ground())
    assert before.state == "ok"
    assert found.state == state, found
    assert words in found.detail
    assert fix in found.fix
    assert bool(found.fix) == (state != "ok")


@pytest.mark.parametrize(
    ("look", "facts", "state", "words"),
    [
        (kernel.system, {"platform": "darwin"}, "missing", "needs Linux"),
        (kernel.system, {"architecture": "riscv64"}, "warning", "riscv64"),
        (kernel.root_rights, {"user": 1000}, "missing", "needs root"),
        (kernel.version, {"kernel": "3.10.0-1160.el7"}, "missing", "too old"),
        (kernel.version, {"kernel": "4.19.0"}, "ok", "4.19.0"),
        (kernel.version, {"kernel": "something else"}, "ok", "something else"),
        (storage.space, {"filesystem": lambda path: filesystem(free=100 << 20)}, "missing", "100 MB"),
        (storage.space, {"filesystem": lambda path: filesystem(free=1 << 30)}, "warning", "1.0 GB"),
        (storage.inodes, {"filesystem": lambda path: filesystem(inodes=5)}, "missing", "only 5 more files"),
        (storage.inodes, {"filesystem": lambda path: filesystem(inodes=50_000)}, "warning", "only 50000 more"),
        (storage.inodes, {"filesystem": lambda path: filesystem(inodes=0, all_inodes=0)}, "ok", "as many as"),
        (network.proxy, {"environment": {"https_proxy": "http://p:3128"}}, "warning", "NO_PROXY does not name 192.168.49.0/24"),
        (network.proxy, {"environment": {"HTTP_PROXY": "x", "NO_PROXY": "localhost,.lan"}}, "warning", "HTTP_PROXY"),
        (network.proxy, {"environment": {"HTTP_PROXY": "x", "NO_PROXY": "localhost, 192.168.0.0/16"}}, "ok", "exempt"),
        (network.proxy, {"environment": {"HTTP_PROXY": "x", "no_proxy": "*"}}, "ok", "exempt"),
    ],
)
def test_other_facts(machine: Machine, look: Callable[[Ground], Finding], facts: dict[str, Any], state: str, words: str) -> None:
    found = look(machine.ground(**facts))
    assert (found.state, words in found.detail, bool(found.fix)) == (state, True, state != "ok"), found


def test_the_advice_for_a_proxy_keeps_what_is_exempt_already(machine: Machine) -> None:
    found = network.proxy(machine.ground(environment={"HTTP_PROXY": "x", "NO_PROXY": "intranet.example"}))
    assert "export NO_PROXY=intranet.example,192.168.49.0/24," in found.fix


def test_a_kernel_without_any_list_of_modules_is_not_accused(machine: Machine) -> None:
    for file in machine.root.glob("lib/modules/*/*"):
        file.unlink()
    assert network.links(machine.ground()).state == firewall.nftables(machine.ground()).state == "ok"


def test_a_loaded_module_needs_no_list(machine: Machine) -> None:
    modules_without("bridge")(machine)
    (machine.root / "sys/module/bridge").mkdir()
    assert network.links(machine.ground()).state == "ok"


def test_modules_that_would_have_to_be_loaded_are_not_tried(machine: Machine) -> None:
    assert "would load kernel modules" in firewall.tried(machine.ground()).detail


@pytest.mark.parametrize(("enabled", "state"), [("cpu pids", "missing"), ("cpu memory pids", "ok")])
def test_a_container_whose_group_cannot_be_divided(machine: Machine, enabled: str, state: str) -> None:
    machine.write("sys/fs/cgroup/cgroup.type", "domain\n")
    machine.write("sys/fs/cgroup/cgroup.procs", "1\n17\n")
    machine.write("sys/fs/cgroup/cgroup.subtree_control", enabled)
    assert kernel.control_groups(machine.ground()).state == state


def route(destination: str) -> str:
    address, _, length = destination.partition("/")
    return f"Id 200:\n  +-- {destination} 2 0 2\n     |-- {address}\n        /{length} universe UNICAST\n"


@pytest.mark.parametrize(
    ("routes", "state", "words"),
    [
        ((), "ok", "192.168.49.0/24"),
        (("192.168.0.0/16",), "ok", "10.249.1.0/24"),
        (("0.0.0.0/1", "128.0.0.0/1"), "ok", "192.168.49.0/24"),  # a VPN's default route in two halves
        (("192.168.0.0/16", "10.0.0.0/8"), "missing", "every private subnet"),
    ],
)
def test_routes_of_any_table_take_their_subnets_away(machine: Machine, routes: tuple[str, ...], state: str, words: str) -> None:
    machine.write("proc/net/fib_trie", ROUTES + "".join(map(route, routes)))
    found = network.subnet(machine.ground())
    assert found.state == state
    assert words in found.detail


def test_a_vpn_that_took_the_addresses_of_a_stopped_cluster(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    ground = machine.ground()
    monkeypatch.setenv("MINIKUBE_HOME", str(ground.home))
    machine.write("root/.minikube/machines/minikube/native.json", json.dumps({"subnet": "192.168.49.0/24"}))
    assert network.subnet(ground).state == "ok"
    machine.write("proc/net/fib_trie", ROUTES + route("192.168.48.0/20"))
    found = network.subnet(ground)
    assert (found.state, "192.168.48.0/20" in found.detail) == ("warning", True)
    (machine.root / "sys/class/net" / Layout("minikube").bridge).mkdir(parents=True)
    assert network.subnet(ground).state == "ok", "while the bridge is there, the route is its own"


def test_home_and_store_on_one_file_system(machine: Machine) -> None:
    assert storage.together(machine.ground()).state == "ok"
    assert storage.together(machine.ground(store=Path("/proc/somewhere"))).state == "warning"


def test_mount_points_with_spaces(machine: Machine) -> None:
    (machine.root / "srv/with space").mkdir(parents=True)
    assert storage.home_filesystem(machine.ground(home=machine.root / "srv/with space/.minikube")).detail == "xfs"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's processes count")
def test_clusters_use_up_inotify_instances(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_HOME", str(machine.ground().home))
    ground = machine.ground(user=0)
    machine.write("proc/sys/fs/inotify/max_user_instances", "128")
    assert resources.inotify_limits(ground).state == "ok"
    (machine.root / "proc/77/fd").mkdir(parents=True)
    for number in range(110):
        (machine.root / f"proc/77/fd/{number}").symlink_to("anon_inode:inotify")
    assert resources.inotify_limits(ground).state == "ok", "a start raises the limit"
    monkeypatch.setattr("minikube.host.inotify.can_raise", lambda *_: False)
    found = resources.inotify_limits(ground)
    assert (found.state, "18 of 128 instances are left" in found.detail) == ("missing", True)
    assert "fs.inotify.max_user_instances=8192" in found.fix
    (machine.root / "sys/class/net" / Layout("minikube").bridge).mkdir(parents=True)
    assert resources.inotify_limits(ground).state == "ok", "a cluster that runs has its own already"
    machine.write("proc/sys/fs/inotify/max_user_watches", "8192")
    found = resources.inotify_limits(ground)
    assert (found.state, "8192 watches" in found.detail, "max_user_watches=524288" in found.fix) == ("warning", True, True)


def test_the_tightest_limit_decides_how_many_more_clusters_fit(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    ground = machine.ground(user=0)
    machine.write("proc/meminfo", "MemTotal: 64000000 kB\nMemAvailable: 40000000 kB\n")
    machine.write("proc/loadavg", "0.1 0.1 0.1 1/900 77\n")
    machine.write("proc/sys/kernel/pid_max", "4194304")
    machine.write("proc/sys/kernel/threads-max", "500000")
    machine.write("proc/sys/fs/file-nr", "5000 0 2000000")
    assert resources.more_clusters(ground).detail == "about 21 more fit; memory is the limit"
    machine.write("proc/sys/kernel/pid_max", "3000")
    assert resources.more_clusters(ground).detail == "about 4 more fit; processes are the limit (kernel.pid_max, kernel.threads-max)"
    machine.write("proc/sys/fs/inotify/max_user_instances", "30")
    monkeypatch.setattr("minikube.host.inotify.can_raise", lambda *_: False)
    (machine.root / "sys/class/net/mk-00000000").mkdir(parents=True)
    found = resources.more_clusters(ground)
    assert (found.state, "no more fit; inotify instances are the limit" in found.detail) == ("warning", True)


def test_a_clock_that_was_set_back(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources.time, "time", lambda: 0.0)
    found = resources.clock(machine.ground())
    assert (found.state, "1970-01-01" in found.detail) == ("warning", True)


def test_a_question_that_fails_is_a_warning_and_not_the_end(machine: Machine) -> None:
    def broken(ground: Ground) -> Finding:
        raise OSError("no such luck")

    (check,) = ask([Question("broken", "Kernel", "Broken", broken)], machine.ground())
    assert (check.state, check.in_the_way, "no such luck" in check.detail) == ("warning", False, True)
