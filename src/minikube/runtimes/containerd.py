"""containerd and the pods' network, as text for the node's disk; complete before either is asked for anything."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence

CNI_BIN_DIRECTORIES = ("/opt/cni/bin", "/usr/local/libexec/cni")
CNI_CONFIG_DIRECTORY = "/etc/cni/net.d"
CNI_FILE = f"{CNI_CONFIG_DIRECTORY}/1-k8s.conflist"

# Each of these probes the kernel or the disk at every start, and none is of use in a node that unpacks with overlayfs.
UNUSED_PLUGINS = (
    "io.containerd.snapshotter.v1.blockfile",
    "io.containerd.snapshotter.v1.btrfs",
    "io.containerd.snapshotter.v1.devmapper",
    "io.containerd.snapshotter.v1.erofs",
    "io.containerd.snapshotter.v1.zfs",
    "io.containerd.differ.v1.erofs",
    "io.containerd.mount-handler.v1.erofs",
    "io.containerd.internal.v1.tracing",
    "io.containerd.tracing.processor.v1.otlp",
)


# How old the sizes of containers' layers may be, each found by walking through all of its files. Those of volumes are a minute old.
LAYER_SECONDS = 30


def configuration(*, sandbox_image: str, restrict_oom_score_adj: bool, own_keyrings: bool = True, heeded: Sequence[str] = ()) -> str:
    """/etc/containerd/config.toml.

    `restrict_oom_score_adj` is for hosts where even root may not lower a score (no CAP_SYS_RESOURCE). In a user namespace root may have
    200 keyrings like anybody else, too few for one in each container. `heeded` are annotations of pods that the runtime is told.
    """
    # Its own default is a second, each time waking every shim, for rates that the kubelet works out by itself.
    stats = "60s"
    disabled = ",\n".join(f"  {json.dumps(plugin)}" for plugin in UNUSED_PLUGINS)
    return f"""version = 3
root = "/var/lib/containerd"
state = "/run/containerd"

disabled_plugins = [
{disabled}
]
# Without it containerd would go on, of no use to the kubelet; so it ends, says why, and the supervisor tries again.
required_plugins = ["io.containerd.grpc.v1.cri"]

[grpc]
  address = "/run/containerd/containerd.sock"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  stats_collect_period = {LAYER_SECONDS}

  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = {json.dumps(sandbox_image)}

  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "/etc/containerd/certs.d"

[plugins."io.containerd.cri.v1.runtime"]
  stats_collect_period = "{stats}"
  restrict_oom_score_adj = {str(restrict_oom_score_adj).lower()}
  enable_unprivileged_ports = true
  enable_unprivileged_icmp = true

  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = {json.dumps(list(CNI_BIN_DIRECTORIES))}
    conf_dir = {json.dumps(CNI_CONFIG_DIRECTORY)}
    use_internal_loopback = true

  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"

    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      # Privileged containers get the devices of all others: the node itself has no more, and on cgroup v1 runc fails when asked for them.
      privileged_without_host_devices = true
      privileged_without_host_devices_all_devices_allowed = false
      pod_annotations = {json.dumps(list(heeded))}

      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        # Half of what making a container costs: it keeps the filters it has compiled, and has no runtime of its own to start.
        BinaryName = "crun"
        SystemdCgroup = false
        NoNewKeyring = {str(not own_keyrings).lower()}

[plugins."io.containerd.nri.v1.nri"]
  disable = true
"""


def cni_configuration(pod_network: str) -> str:
    """Each pod's own cable to the node, in the part of the pods' range that the controller manager gives the first node.

    Pods on a common bridge would answer each other without the node seeing it, so a service's address would stay in one half of a
    conversation, except where the whole host has br_netfilter loaded. Everything on a cable is routed by the node.
    """
    network = {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "ptp",
                "ipMasq": True,
                "ipMasqBackend": "nftables",
                "ipam": {"type": "host-local", "subnet": first_node_subnet(pod_network), "routes": [{"dst": "0.0.0.0/0"}]},
            },
            {"type": "portmap", "backend": "nftables", "capabilities": {"portMappings": True}},
        ],
    }
    return json.dumps(network, indent=2) + "\n"


def first_node_subnet(pod_network: str) -> str:
    """The controller manager hands out /24s in order, so the first node has the first."""
    network = ipaddress.ip_network(pod_network)
    return str(network) if network.prefixlen >= 24 else str(next(network.subnets(new_prefix=24)))
