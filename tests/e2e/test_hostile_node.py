"""A privileged pod takes over its node and lays traps for every command that comes: none leads out, and the commands still work."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from support.attacker import attacker
from support.hostilenode import archive, member
from support.minikube import Minikube
from support.nodeimage import fresh_name

from e2e.conftest import Cluster

# In the node's own mount namespace, as its root. OUTSIDE is a directory of the host, OTHER another cluster of this home.
TRAPS = r"""
set -e
nsenter -t 1 -m -- sh -e <<'END'
mkdir -p /run/evil
echo ARCHIVE | base64 -d > /run/evil/archive
printf '#!/bin/sh\ncat /run/evil/archive\n' > /run/evil/tar
chmod 755 /run/evil/tar
mount --bind /run/evil/tar /usr/bin/tar
ln -sfn /run/evil/archive /etc/kubernetes/super-admin.conf
rm -f /etc/.furnished && ln -s OUTSIDE/furnished /etc/.furnished
rm -rf /srv/way && ln -s OUTSIDE /srv/way
cp /usr/bin/true /opt/r && chmod 6755 /opt/r
cp /usr/bin/true /run/minikube/r && chmod 6755 /run/minikube/r
ln -sfn ../../OTHER/run/control.sock /run/minikube/control.sock
ln -sfn ../OTHER/run /run/minikube/way
mkdir -p /var/lib/kubelet/pods/trap && ln -sfn OUTSIDE/precious /var/lib/kubelet/pods/trap/userns
echo set
END
"""


class Trapped(NamedTuple):
    minikube: Minikube
    outside: Path

    def untouched(self) -> bool:
        """Nothing of the host has changed where the traps lead."""
        found = {path.name: (path.read_text(), stat.S_IMODE(path.stat().st_mode)) for path in self.outside.iterdir()}
        return found == {"precious": ("of the host", 0o600)}


@pytest.fixture(scope="module")
def trapped(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trapped]:
    minikube, outside = Minikube(cluster.place, fresh_name()), tmp_path_factory.mktemp("outside")
    (outside / "precious").write_text("of the host")
    (outside / "precious").chmod(0o600)
    minikube.start()
    minikube.ssh("ctr -n k8s.io images import -", input=(cluster.place.directory / "test-images.tar").read_bytes())
    minikube.apply(attacker("attacker"))
    minikube.kubectl("wait", "--for=condition=Ready", "pod/attacker", "--timeout=60s")
    evil = archive(member("../" * 12 + str(outside / "evil").lstrip("/"), mode=0o4755))
    words = {"ARCHIVE": base64.b64encode(evil).decode(), "OUTSIDE": str(outside), "OTHER": cluster.profile}
    script = TRAPS
    for word, value in words.items():
        script = script.replace(word, value)
    assert minikube.kubectl("exec", "-i", "attacker", "--", "sh", input=script).split()[-1] == "set"
    yield Trapped(minikube, outside)
    minikube.ok("delete")
    assert list(outside.iterdir()) == [outside / "precious"]


def test_the_traps_are_set(trapped: Trapped) -> None:
    """Otherwise the rest would say nothing."""
    assert trapped.minikube.ssh("readlink /etc/kubernetes/super-admin.conf /etc/.furnished").split()[0] == "/run/evil/archive"
    assert trapped.minikube.ssh("tar --version | base64 | head -c 4; stat -c ' %a' /opt/r").split()[-1] == "6755"


def test_what_the_node_made_is_out_of_reach_for_users_of_the_host(trapped: Trapped) -> None:
    machine = trapped.minikube.machine
    for name in ("state", "images"):
        about = (machine / name).stat()
        assert (stat.S_IMODE(about.st_mode), about.st_uid, about.st_gid) == (0o700, 0, 0)
    assert [path.name for path in (machine / "run").iterdir()] == ["control.sock"]


def test_commands_reach_their_own_node(trapped: Trapped, cluster: Cluster) -> None:
    assert trapped.minikube.ssh("hostname").strip() == trapped.minikube.profile
    assert cluster.ssh("hostname").strip() == cluster.profile
    assert trapped.minikube.run("status").code == 0


def test_a_copy_brings_no_special_bits(trapped: Trapped, tmp_path: Path) -> None:
    trapped.minikube.ok("cp", f"{trapped.minikube.profile}:/opt/r", f"{tmp_path}/r")
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) == 0o755
    trapped.minikube.run("cp", f"{tmp_path}/r", "/srv/way/r")  # that link leads nowhere in the node
    assert trapped.untouched()


def test_a_start_takes_no_file_from_the_nodes_tar(trapped: Trapped) -> None:
    trapped.minikube.start()
    assert trapped.untouched()
    assert trapped.minikube.ssh("stat -c %F /etc/kubernetes/super-admin.conf").strip() == "regular file"


@pytest.mark.parametrize("words", [("logs",), ("image", "ls"), ("sync",)], ids=" ".join)
def test_other_commands_work(trapped: Trapped, words: tuple[str, ...]) -> None:
    assert trapped.minikube.run(*words).code == 0
    assert trapped.untouched()


def test_a_stop_ends_its_own_node_and_a_start_follows_no_link(trapped: Trapped, cluster: Cluster) -> None:
    trapped.minikube.ok("stop")
    assert cluster.run("status").code == 0
    machine = trapped.minikube.machine
    os.chmod(machine / "state", 0o755)  # noqa: PTH101 - as an earlier version left it
    trapped.minikube.start()
    assert trapped.untouched()
    assert stat.S_IMODE((machine / "state").stat().st_mode) == 0o700
    assert [path.name for path in (machine / "run").iterdir()] == ["control.sock"]
