import json
import shutil
import subprocess
import tomllib

import pytest

from minikube.profiles import paths
from minikube.runtimes import containerd

TEXT = containerd.configuration(sandbox_image="registry.k8s.io/pause:3.10.2", restrict_oom_score_adj=True)


def test_what_a_node_needs_is_said():
    plugins = tomllib.loads(TEXT)["plugins"]
    images, runtime = plugins["io.containerd.cri.v1.images"], plugins["io.containerd.cri.v1.runtime"]
    assert images["pinned_images"] == {"sandbox": "registry.k8s.io/pause:3.10.2"}
    assert images["registry"] == {"config_path": "/etc/containerd/certs.d"}
    assert runtime["restrict_oom_score_adj"] is True
    assert runtime["containerd"]["runtimes"]["runc"]["options"] == {"BinaryName": "crun", "SystemdCgroup": False, "NoNewKeyring": False}
    assert runtime["containerd"]["runtimes"]["runc"]["privileged_without_host_devices"] is True
    assert runtime["containerd"]["runtimes"]["runc"]["privileged_without_host_devices_all_devices_allowed"] is False
    assert "restrict_oom_score_adj = false" in containerd.configuration(sandbox_image="p", restrict_oom_score_adj=False)


def test_containerd_understands_it(tmp_path):
    built = [str(path) for path in sorted(paths.store().glob("entries/containerd-*/content/containerd"))]
    binary = built[-1] if built else shutil.which("containerd")
    if not binary:
        pytest.skip("no containerd here")
    (tmp_path / "config.toml").write_text(TEXT)
    done = subprocess.run([binary, "--config", tmp_path / "config.toml", "config", "dump"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    dumped = tomllib.loads(done.stdout)
    assert dumped["plugins"]["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"] == "registry.k8s.io/pause:3.10.2"
    assert dumped["plugins"]["io.containerd.cri.v1.runtime"]["cni"]["bin_dirs"] == list(containerd.CNI_BIN_DIRECTORIES)


def test_pods_get_the_first_nodes_part_of_the_range():
    network = json.loads(containerd.cni_configuration("10.244.0.0/16"))
    cable, portmap = network["plugins"]
    assert cable["ipam"]["subnet"] == "10.244.0.0/24"
    assert cable["ipMasqBackend"] == portmap["backend"] == "nftables"
    assert containerd.first_node_subnet("10.50.0.0/25") == "10.50.0.0/25"
