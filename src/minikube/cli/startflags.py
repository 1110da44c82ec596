"""Every flag of `minikube start`, by subject."""

from __future__ import annotations

from minikube.profiles.settings import Flag
from minikube.profiles.values import SECOND

DRIVERS = ("native", "none", "docker", "podman", "kvm2", "qemu2", "qemu", "virtualbox", "vmware", "ssh")
RUNTIMES = ("containerd", "docker", "cri-o")
_CNIS = ("auto", "bridge", "calico", "cilium", "flannel", "kindnet", "false")
_WAIT = ("apiserver", "system_pods", "default_sa", "apps_running", "node_ready", "kubelet", "extra", "all", "none", "true", "false")

_SIZE = "(a number with a unit: b, k, m or g)"

GENERAL = (
    Flag("force", "bool", help="Go on where minikube would refuse because it may end badly."),
    Flag("interactive", "bool", True, "Allow questions to the user."),
    Flag("dry-run", "bool", help="Check everything and say what would be done, but change nothing."),
    Flag("download-only", "bool", help="Only put everything a start needs into the store."),
    Flag("output", short="o", default="text", help="How to report: text or json.", choices=("text", "json")),
    Flag("delete-on-failure", "bool", help="If the start fails, delete the cluster."),
    Flag("timing", "bool", help="Say at the end how long each step took, and which of them the start had to wait for."),
    Flag("trace", help="Send trace events to this service: gcp."),
    Flag("keep-context", "bool", help="Leave kubectl's current context as it is."),
    Flag("embed-certs", "bool", help="Put certificates into the kubeconfig itself instead of naming their files.", config_key="EmbedCerts"),
    Flag("cert-expiration", "duration", 26280 * 3600 * SECOND, "How long certificates are valid."),
    Flag("namespace", default="default", help="The namespace the kubectl context begins in."),
    Flag("native-ssh", "bool", True, "Use the built-in SSH client for drivers that need one."),
    Flag("auto-update-drivers", "bool", True, "Keep driver programs up to date."),
)

SIZE = (
    Flag("cpus", default="2", help='CPUs of the cluster; "max" for all, "no-limit" for no limit.'),
    Flag(
        "memory",
        short="m",
        help=f'Memory of the cluster {_SIZE}; "max" for all, "no-limit" for no limit. Chosen from the memory there is if left out.',
    ),
    Flag("disk-size", default="20000mb", help=f"Disk of the node, for drivers that make one {_SIZE}."),
    Flag("extra-disks", "int", 0, "Further disks for the node, for drivers that make them."),
    Flag("nodes", "int", 1, "How many nodes the cluster has.", short="n"),
    Flag("ha", "bool", help="Several control planes, three or more nodes."),
)

DRIVER = (
    Flag(
        "driver", short="d", help=f"Where the node lives. One of: {', '.join(DRIVERS)}; chosen by the machine if left out.", choices=DRIVERS
    ),
    Flag("vm-driver", help="The old name of --driver.", hidden=True, choices=DRIVERS),
    Flag("vm", "bool", help="Choose among drivers with virtual machines only."),
    Flag("disable-driver-mounts", "bool", help="Leave out the mounts a hypervisor makes by itself."),
    Flag("kvm-network", default="default", help="Network name (kvm2)."),
    Flag("kvm-qemu-uri", default="qemu:///system", help="Connection of libvirt (kvm2)."),
    Flag("kvm-gpu", "bool", help="NVIDIA GPUs in the node (kvm2)."),
    Flag("kvm-hidden", "bool", help="Hide the hypervisor from the node (kvm2)."),
    Flag("kvm-numa-count", "int", 1, "NUMA nodes, 1 to 8 (kvm2)."),
    Flag("host-only-cidr", default="192.168.59.1/24", help="Host-only network (virtualbox)."),
    Flag("dns-proxy", "bool", help="Proxy for DNS through NAT (virtualbox)."),
    Flag("host-dns-resolver", "bool", True, "The host's resolver for DNS through NAT (virtualbox)."),
    Flag("no-vtx-check", "bool", help="Do not look for hardware virtualization (virtualbox)."),
    Flag("host-only-nic-type", default="virtio", help="Network card of the host-only network (virtualbox)."),
    Flag("nat-nic-type", default="virtio", help="Network card of the NAT network (virtualbox)."),
    Flag("hyperkit-vsock-ports", "strings", help="VSock ports shown on the host (hyperkit)."),
    Flag("uuid", help="UUID of the virtual machine (hyperkit)."),
    Flag("hyperkit-vpnkit-sock", help="VPNKit socket (hyperkit)."),
    Flag("nfs-share", "strings", help="Folders to share over NFS (hyperkit)."),
    Flag("nfs-shares-root", default="/nfsshares", help="Where NFS shares appear in the node (hyperkit)."),
    Flag("hyperv-virtual-switch", help="Name of the virtual switch (hyperv)."),
    Flag("hyperv-use-external-switch", "bool", help="Prefer an external switch (hyperv)."),
    Flag("hyperv-external-adapter", help="Adapter of the external switch (hyperv)."),
    Flag("listen-address", help="Address to publish ports on (docker, podman)."),
    Flag("ports", "strings", help="Ports to publish (docker, podman)."),
    Flag("subnet", help="Subnet of the cluster's network; a free one is chosen if left out."),
    Flag("static-ip", help="Fixed address of the node."),
    Flag("base-image", help="Image of the node (docker, podman)."),
    Flag("network", help="Network to join; one is made if left out."),
    Flag("qemu-firmware-path", help="Firmware file (qemu)."),
    Flag("socket-vmnet-client-path", help="socket_vmnet's client (qemu)."),
    Flag("socket-vmnet-path", help="socket_vmnet's socket (qemu)."),
    Flag("rosetta", "bool", help="Rosetta in the node (vfkit)."),
    Flag("vmnet-offloading", "bool", help="Offloading of vmnet (krunkit)."),
    Flag(
        "user-namespace",
        "bool",
        True,
        "Root in the node is an ordinary user on the host, where the kernel can do that (native, ssh). Turn it off for pods with "
        "eBPF, NFS volumes or loop devices, before Linux 6.15 also with hostUsers: false. A change takes effect when a stopped one starts.",
    ),
    Flag(
        "local-access",
        default="services",
        help="What of the cluster other users of this machine may connect to: services (not the control plane), all, or nothing "
        "(owner). (native, ssh)",
        choices=("services", "owner", "all"),
    ),
    Flag(
        "host-access",
        "strings",
        ["none"],
        "Ports of this machine (host.minikube.internal) that the cluster may connect to, such as 8000,9000-9100; all, or none. "
        "(native, ssh)",
        choices=("none", "all"),
    ),
    Flag("ssh-ip-address", help="Address of the machine (ssh)."),
    Flag("ssh-user", default="root", help="User on the machine (ssh)."),
    Flag("ssh-key", help="Key for the machine (ssh)."),
    Flag("ssh-port", "int", 22, "Port of the machine (ssh)."),
    Flag("iso-url", "strings", help="Where to get the node's boot image (virtual machines)."),
    Flag("dns-servers", "strings", help="DNS servers of the node (virtual machines)."),
    Flag("mdns", "bool", help="Multicast DNS in the node (virtual machines)."),
)

RUNTIME = (
    Flag("container-runtime", short="c", help=f"What runs containers: {', '.join(RUNTIMES)}; containerd if left out.", choices=RUNTIMES),
    Flag("cri-socket", help="Socket of the container runtime."),
    Flag("force-systemd", "bool", help="Make the runtime use systemd's cgroups."),
    Flag("docker-env", "stringArray", help="Environment of the docker daemon (key=value)."),
    Flag("docker-opt", "stringArray", help="Options of the docker daemon (key=value)."),
    Flag("insecure-registry", "strings", help="Registries that may speak plain HTTP or show any certificate: host, host:port or network."),
    Flag("registry-mirror", "strings", help="Mirrors of Docker Hub, asked first: https://mirror.example."),
    Flag("gpus", short="g", help="GPUs for pods: all, nvidia or amd."),
)

KUBERNETES = (
    Flag("kubernetes-version", help="Kubernetes to run: v1.2.3, 1.2 for its newest patch, stable, or latest. stable if left out."),
    Flag("no-kubernetes", "bool", help="Make the node, but no Kubernetes in it."),
    Flag(
        "extra-config",
        "extra",
        help="Settings for components, written component.key=value. Components: apiserver, controller-manager, scheduler, etcd, kubeadm, "
        "kubelet, kube-proxy. Can be given several times.",
    ),
    Flag("feature-gates", help="Feature gates, written Name=true,Other=false."),
    Flag(
        "hardened",
        "bool",
        help="Security before comfort: encrypted Secrets, Pod Security baseline, no anonymous requests, a fuller audit log, TLS 1.3 "
        "(Kubernetes 1.32 or newer). Kept with the cluster; --hardened=false turns it off.",
    ),
    Flag("dns-domain", default="cluster.local", help="DNS domain of the cluster."),
    Flag("service-cluster-ip-range", default="10.96.0.0/12", help="Addresses of services."),
    Flag("apiserver-port", "int", 8443, "Port of the API server."),
    Flag("apiserver-name", default="minikubeCA", help="The API server's name in its certificate."),
    Flag("apiserver-names", "strings", help="Further names in the API server's certificate."),
    Flag("apiserver-ips", "strings", help="Further addresses in the API server's certificate."),
    Flag("disable-optimizations", "bool", help="Leave out what makes a local cluster light, such as one CoreDNS instead of two."),
    Flag("disable-metrics", "bool", help="No CPU and memory figures from the kubelet."),
    Flag("disable-coredns-log", "bool", help="CoreDNS does not log queries."),
)

NETWORK = (
    Flag("cni", help=f"Pod network: {', '.join(_CNIS)}, or the path of a manifest.", choices=_CNIS),
    Flag("network-plugin", help="The old name of --cni.", hidden=True),
    Flag("enable-default-cni", "bool", help="The old way to write --cni=bridge.", hidden=True),
)

IMAGES = (
    Flag(
        "source",
        default="auto",
        help="Where components come from: release (official builds), modules (built here from Go modules), bundle (only what is in the "
        "store), or auto for what the store has, else the first of these that answers.",
        choices=("auto", "release", "modules", "bundle"),
    ),
    Flag("cache-images", "bool", True, "Keep images for the next cluster."),
    Flag("preload", "bool", True, "Use prepared images where they exist."),
    Flag("preload-source", default="auto", help="Where prepared images come from: auto, github or gcs.", choices=("auto", "github", "gcs")),
    Flag("image-repository", help="Another registry for Kubernetes' own images: registry.example/mirror."),
    Flag("image-mirror-country", help="Country of the mirror to use, such as cn."),
    Flag("bundle", help="Take every component out of this file, made by `minikube bundle create`: no network is used."),
    Flag("bundle-verify", help="Refuse the bundle unless a key of this file signed it: a public SSH key, or a file of allowed signers."),
    Flag("binary-mirror", help="Another place for binaries, laid out as https://dl.k8s.io/release."),
)

MOUNTS = (
    Flag("mount", "bool", help="Accepted for compatibility: --mount-string is enough."),
    Flag("mount-string", help="Directory to mount, written source:target."),
    Flag("mount-9p-version", default="9p2000.L", help="Version of the 9p protocol."),
    Flag("mount-gid", default="docker", help="Group of mounted files."),
    Flag("mount-uid", default="docker", help="Owner of mounted files."),
    Flag("mount-ip", help="Address of the file server."),
    Flag("mount-port", "int", 0, "Port of the file server; 0 for any."),
    Flag("mount-msize", "int", 262144, "Bytes in a 9p packet."),
    Flag("mount-options", "strings", help="Further mount options."),
    Flag("mount-type", default="9p", help="File system of the mount."),
)

WAITING = (
    Flag("wait", "strings", ["apiserver", "system_pods"], f"What to wait for: {', '.join(_WAIT)}.", choices=_WAIT),
    Flag("wait-timeout", "duration", 360 * SECOND, "How long to wait at most."),
)

ADDONS = (
    Flag("addons", "strings", help="Addons to enable; `minikube addons list` names them."),
    Flag("install-addons", "bool", True, "Install addons."),
    Flag("auto-pause-interval", "duration", 60 * SECOND, "Pause after this time without requests (addon auto-pause)."),
)


def _in_section(section: str, flags: tuple[Flag, ...]) -> tuple[Flag, ...]:
    for flag in flags:
        flag.section = section
    return flags


START_FLAGS = (
    *_in_section("General", GENERAL),
    *_in_section("Size", SIZE),
    *_in_section("Kubernetes", KUBERNETES),
    *_in_section("Driver", DRIVER),
    *_in_section("Container runtime", RUNTIME),
    *_in_section("Pod network", NETWORK),
    *_in_section("Images and downloads", IMAGES),
    *_in_section("Mounts", MOUNTS),
    *_in_section("Waiting", WAITING),
    *_in_section("Addons", ADDONS),
)

_WHERE_FROM = ("source", "binary-mirror", "image-repository", "image-mirror-country", "insecure-registry", "registry-mirror")
DOWNLOADS = tuple(flag for flag in START_FLAGS if flag.name in _WHERE_FROM)
"""What every command that may have to fetch components takes."""
