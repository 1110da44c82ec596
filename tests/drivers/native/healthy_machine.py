"""A machine made of files: what checks read of a host that has everything."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from minikube.drivers.checks import Ground

KERNEL = "6.1.0-test"
MOUNTS = """\
21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
22 21 0:20 / /proc rw,nosuid - proc proc rw
23 21 0:21 / /sys rw - sysfs sysfs rw
24 23 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
25 21 8:2 / /srv/with\\040space rw - xfs /dev/sdb1 rw
"""
ROUTES = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 192.168.1.0/24 2 0 2
        |-- 192.168.1.0
           /24 link UNICAST
        |-- 192.168.1.5
           /32 host LOCAL
"""
FILES = {
    "proc/self/uid_map": "         0          0 4294967295\n",
    "proc/self/status": "Name:\tpython3\nCapBnd:\t000001ffffffffff\n",
    "proc/self/mountinfo": MOUNTS,
    "proc/filesystems": "nodev\tproc\n\text4\nnodev\toverlay\n",
    "proc/meminfo": "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:   12000000 kB\n",
    "proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n",
    "proc/net/fib_trie": ROUTES,
    "proc/net/if_inet6": "00000000000000000000000000000001 01 80 10 80       lo\n",
    "proc/sys/net/ipv4/ip_forward": "0\n",
    "proc/sys/net/ipv6/conf/all/disable_ipv6": "0\n",
    "proc/sys/user/max_user_namespaces": "63000\n",
    "proc/sys/fs/inotify/max_user_instances": "1024\n",
    "proc/sys/fs/inotify/max_user_watches": "524288\n",
    "sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma\n",
    "sys/fs/cgroup/cgroup.subtree_control": "cpu memory pids\n",
    "dev/kmsg": "",
    "etc/resolv.conf": "nameserver 192.168.1.1\nsearch home\n",
    f"lib/modules/{KERNEL}/modules.builtin": "kernel/net/ipv4/tunnel4.ko\nkernel/drivers/net/veth.ko\n",
    f"lib/modules/{KERNEL}/modules.dep": (
        "kernel/net/bridge/bridge.ko.xz: kernel/net/802/stp.ko.xz\nkernel/net/netfilter/nf_tables.ko.xz:\n"
        "kernel/net/netfilter/nft_masq.ko.xz:\nkernel/net/netfilter/nft_ct.ko.xz:\n"
        "kernel/net/netfilter/nft_fib_inet.ko.xz:\nkernel/net/netfilter/nft_reject_inet.ko.xz:\nkernel/fs/overlayfs/overlay.ko.xz:\n"
    ),
}


class Machine:
    """Begins healthy; a test takes away or changes what it is about."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, content in FILES.items():
            self.write(name, content)
        for kind in ("pid", "net", "mnt", "ipc", "uts", "cgroup", "user"):
            self.write(f"proc/self/ns/{kind}", "")
        for directory in ("root", "sys/module"):
            (root / directory).mkdir()

    def write(self, name: str, content: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    def remove(self, name: str) -> None:
        (self.root / name).unlink()

    def ground(self, **different: Any) -> Ground:
        facts: dict[str, Any] = {
            "home": self.root / "root/.minikube",
            "store": self.root / "root/.cache/minikube",
            "root": self.root,
            "environment": {},
            "user": 0,
            "platform": "linux",
            "kernel": KERNEL,
            "architecture": "x86_64",
            "filesystem": lambda path: filesystem(),
        }
        return Ground(**(facts | different))


def filesystem(*, free: int = 100 << 30, inodes: int = 10_000_000, all_inodes: int = 20_000_000) -> os.statvfs_result:
    return os.statvfs_result((4096, 4096, 50_000_000, free // 4096, free // 4096, all_inodes, inodes, inodes, 0, 255))
