"""What a cluster that nobody uses takes of the host."""

from __future__ import annotations

from pathlib import Path

from support import manifests

from e2e.conftest import Cluster

# As much of their names as the kernel keeps.
OWN = ("etcd", "kube-apiserver", "kube-controller", "kube-scheduler", "kube-proxy", "coredns", "storage-provisi")


def shim_of(cluster: Cluster, *which: str) -> str:
    """The process above the oldest that `pgrep` finds."""
    return cluster.ssh(f"ps -o ppid= -p $(pgrep -o {' '.join(which)})").strip()


def test_the_databases_log_takes_no_more_than_what_is_in_it(bare_cluster: Cluster) -> None:
    # In the node's own words: name, bytes and blocks of 512 bytes.
    lines = bare_cluster.ssh("stat -c '%n %s %b' /var/lib/minikube/etcd/member/wal/*").splitlines()
    sizes = {Path(name).name: (int(size), int(blocks) * 512) for name, size, blocks in map(str.split, lines)}
    assert max(size for size, _ in sizes.values()) >= 64_000_000, "etcd does not reserve its log any more"
    assert sum(taken for _, taken in sizes.values()) < 40_000_000


def test_the_database_runs_under_the_runtimes_rules_otherwise(bare_cluster: Cluster) -> None:
    mode, filters = bare_cluster.ssh("awk '/^Seccomp/ {print $2}' /proc/$(pgrep -x etcd)/status").split()
    assert (mode, int(filters) >= 2) == ("2", True)


def test_the_clusters_own_pods_share_two_shims_and_those_of_users_do_not(cluster: Cluster) -> None:
    shims = {shim_of(cluster, "-x", name) for name in OWN}
    assert len(shims) == 2
    cluster.apply(manifests.pod("apart", "sleep 86461"))
    cluster.kubectl("wait", "--for=condition=Ready", "pod/apart", "--timeout=60s")
    assert shim_of(cluster, "-f", "'sleep 86461'") not in shims
    cluster.kubectl("delete", "pod/apart", "--grace-period=1")
