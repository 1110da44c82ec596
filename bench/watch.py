"""What happens inside a cluster while a command runs, seen from outside with as little load as possible."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from minikube.drivers.native.driver import NativeDriver
from minikube.host import cgroups
from minikube.kubernetes.api import Api, ApiError, ApiUnreachable
from minikube.node import askdns
from minikube.output.reason import Reason

NAME = "kubernetes.default.svc.cluster.local"


class Watch:
    """Notes when the node was Ready and when DNS answered inside the cluster, and the CPU the node had burnt by then."""

    def __init__(self, profile: str, home: Path) -> None:
        self._profile, self._home = profile, home
        self.node_ready = self.dns = self.cpu_at_dns = 0.0
        self._over = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._watch_dns, self._watch_node)]

    def __enter__(self) -> Watch:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.join(timeout=60)
        self._over.set()

    def _watch_dns(self) -> None:
        driver = self._when_running()
        while driver and not self.dns and not self._over.is_set():
            try:
                program = Path(askdns.__file__).read_text()
                answer = driver.node().run(["python3", "-I", "-S", "-c", program, "10.96.0.10", NAME, "60"], timeout=90)
                self.dns = float(answer.stdout or 0)
                self.cpu_at_dns = cpu_seconds(driver.layout.cgroup)
            except (Reason, OSError, ValueError):
                time.sleep(0.05)

    def _watch_node(self) -> None:
        driver = self._when_running()
        profile = self._home / "profiles" / self._profile
        while driver and not self.node_ready and not self._over.is_set():
            try:
                server = f"https://{driver.node().address}:8443"
                with Api(server, authority=self._home / "ca.crt", certificate=profile / "client.crt", key=profile / "client.key") as api:
                    status = api.get(f"/api/v1/nodes/{self._profile}")["status"]
                    if any(condition["type"] == "Ready" and condition["status"] == "True" for condition in status.get("conditions", ())):
                        self.node_ready = time.time()
                        return
            except (ApiError, ApiUnreachable, OSError, KeyError):
                pass
            time.sleep(0.1)

    def _when_running(self) -> NativeDriver | None:
        deadline = time.monotonic() + 120
        driver = NativeDriver(self._profile)
        while time.monotonic() < deadline:
            if driver.layout.control_socket.exists() and driver.state() == "Running":
                return driver
            time.sleep(0.02)
        return None


def cpu_seconds(cgroup: str) -> float:
    """CPU that everything in the node has used since it was made."""
    if cgroups.is_v2():
        text = (cgroups.ROOT / cgroup.lstrip("/") / "cpu.stat").read_text()
        return int(text.split()[1]) / 1e6
    return int((cgroups.ROOT / "cpuacct" / cgroup.lstrip("/") / "cpuacct.usage").read_text()) / 1e9


def pss_mib(cgroup: str) -> float:
    """Memory of the whole node, shared pages counted once over their users."""
    total = 0
    for process in cgroups.processes(cgroup):
        try:
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total / 1024


def own_megabytes(directory: Path) -> float:
    """Disk that goes when the directory goes: what is hard-linked from elsewhere stays."""
    files = (path.lstat() for path in directory.rglob("*"))
    return sum(found.st_blocks * 512 for found in files if found.st_nlink == 1) / 1e6
