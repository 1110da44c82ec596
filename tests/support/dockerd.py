"""A real docker daemon from Debian's packages, started by hand in a host of one's own: data, sockets and control groups are its own."""

from __future__ import annotations

import io
import json
import re
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from support.debianpackages import unpack
from support.waiting import eventually
from support.world import World

from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import Progress

PACKAGES = (
    *("docker.io", "containerd", "runc", "iptables"),
    *("libxtables12", "libip4tc2", "libip6tc2", "libnetfilter-conntrack3", "libnfnetlink0", "libnftnl11", "libmnl0"),
)
GROUP = "/mk-test-docker"
COUNTERS = re.compile(r"\[\d+:\d+\]")


class Docker:
    """Commands of the client, and what is worth comparing before and after."""

    def __init__(self, host: World, directory: Path, packages: Path) -> None:
        self.host, self.directory = host, directory
        libraries = next(packages.glob("usr/lib/*-linux-gnu"))
        self.environment = {
            "PATH": f"{packages}/usr/sbin:{packages}/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LD_LIBRARY_PATH": str(libraries),
            "XTABLES_LIBDIR": f"{libraries}/xtables",
            "DOCKER_HOST": f"unix://{directory}/docker.sock",
            "HOME": str(directory),
        }

    def begin(self) -> subprocess.Popen[bytes]:
        places = {name: f"{self.directory}/{name}" for name in ("data-root", "exec-root", "pidfile")}
        argv = [
            "dockerd",
            "-H",
            self.environment["DOCKER_HOST"],
            f"--cgroup-parent={GROUP}",
            *(f"--{name}={place}" for name, place in places.items()),
        ]
        with (self.directory / "log").open("wb") as log:
            return subprocess.Popen([*self.host.enter(), *argv], env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def do(self, *argv: str, input: bytes = b"") -> str:
        done = subprocess.run([*self.host.enter(), *argv], env=self.environment, input=input, capture_output=True, check=False, timeout=60)
        assert done.returncode == 0, (argv, done.stderr)
        return done.stdout.decode()

    def answers(self) -> bool:
        argv = [*self.host.enter(), "docker", "version"]
        return subprocess.run(argv, env=self.environment, capture_output=True, check=False).returncode == 0

    def life(self, container: str) -> Any:
        """What changes when a container is stopped, started or restarted by anybody."""
        found = json.loads(self.do("docker", "inspect", container))[0]
        return [found["State"][key] for key in ("Status", "Pid", "StartedAt")] + [found["RestartCount"]]

    def rules(self) -> str:
        """docker's tables, without how many packets have passed."""
        return COUNTERS.sub("", "".join(line for line in self.do("iptables-save").splitlines(keepends=True) if not line.startswith("#")))


@contextmanager
def docker_daemon(host: World, directory: Path, *, busybox: Path) -> Iterator[Docker]:
    """Running when it is given, with an image `busybox`."""
    directory.mkdir()
    docker = Docker(host, directory, _packages())
    with docker.begin() as daemon:
        try:
            eventually(docker.answers, seconds=60)
            docker.do("docker", "import", "-", "busybox", input=_image(busybox))
            yield docker
        finally:
            daemon.terminate()
            daemon.wait()
            for group in Path("/sys/fs/cgroup").glob(f"*{GROUP}"):  # docker leaves them behind, empty
                with suppress(OSError):
                    group.rmdir()


def _image(busybox: Path) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.add(busybox, "bin/busybox")
        for name in ("sh", "sleep", "wget"):
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
    return data.getvalue()


def _packages() -> Path:
    return Store().provide(Recipe("test-docker", f"{PACKAGES} 2", _build, estimate_seconds=20, what="docker for tests"), Progress(None))


def _build(target: Path, _progress: Progress) -> None:
    unpack(PACKAGES, target)
    for name in ("iptables", "iptables-save", "iptables-restore", "ip6tables"):
        (target / "usr/sbin" / name).symlink_to("xtables-nft-multi")
