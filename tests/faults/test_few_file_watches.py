"""A host that allows no more file watches: containerd without its service for the kubelet ends, and is tried again."""

from __future__ import annotations

import subprocess
from pathlib import Path

from faults.table import TABLE
from minikube.profiles.paths import store
from minikube.runtimes.containerd import configuration


def test_containerd_does_not_go_on_without_what_the_kubelet_needs(image: Path, tmp_path: Path) -> None:
    containerd = next(store().glob("entries/containerd-*/content/containerd"))
    text = configuration(sandbox_image="pause", restrict_oom_score_adj=True)
    config = tmp_path / "config.toml"
    config.write_text(text.replace("/var/lib/containerd", f"{tmp_path}/root").replace("/run/containerd", f"{tmp_path}/state"))
    # The limit of a user namespace, which is nobody else's.
    script = 'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"'
    argv = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(containerd), "--config", str(config)]
    with TABLE.run("no file watches left: containerd"):
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == 1
        assert "couldn't initialize inotify" in ended.stderr.splitlines()[-1], ended.stderr
