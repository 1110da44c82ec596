"""`profiles/<profile>/config.json`: upstream's file, key for key, so that its tools and ours read each other's profiles.

Durations are nanoseconds, a list that was never set is `null`, and keys this version does not know survive a rewrite.
"""

from __future__ import annotations

from typing import Any

import msgspec

HOUR = 3600 * 10**9
MINUTE = 60 * 10**9


class ExtraOption(msgspec.Struct):
    """One `--extra-config component.key=value`."""

    Component: str = ""
    Key: str = ""
    Value: str = ""


class KubernetesConfig(msgspec.Struct):
    """What runs in the cluster."""

    KubernetesVersion: str = ""
    ClusterName: str = ""
    Namespace: str = ""
    APIServerHAVIP: str = ""
    APIServerName: str = ""
    APIServerNames: list[str] | None = None
    APIServerIPs: list[str] | None = None
    DNSDomain: str = ""
    ContainerRuntime: str = ""
    CRISocket: str = ""
    NetworkPlugin: str = ""
    FeatureGates: str = ""
    ServiceCIDR: str = ""
    ImageRepository: str = ""
    LoadBalancerStartIP: str = ""
    LoadBalancerEndIP: str = ""
    CustomIngressCert: str = ""
    RegistryAliases: str = ""
    ExtraOptions: list[ExtraOption] | None = None
    ShouldLoadCachedImages: bool = False
    EnableDefaultCNI: bool = False
    CNI: str = ""


class Node(msgspec.Struct):
    """One node; the first control plane has no name of its own, its machine is called like the profile."""

    Name: str = ""
    IP: str = ""
    Port: int = 0
    KubernetesVersion: str = ""
    ContainerRuntime: str = ""
    ControlPlane: bool = False
    Worker: bool = False


class ScheduledStop(msgspec.Struct):
    """When `stop --schedule` was asked for (unix seconds) and after how long it acts."""

    InitiationTime: int = 0
    Duration: int = 0


class ClusterConfig(msgspec.Struct):
    """Everything a user chose for one cluster. Defaults are Go's zero values: what a missing key means to upstream."""

    Name: str = ""
    KeepContext: bool = False
    EmbedCerts: bool = False
    MinikubeISO: str = ""
    KicBaseImage: str = ""
    Memory: int = 0
    CPUs: int = 0
    DiskSize: int = 0
    Driver: str = ""
    HyperkitVpnKitSock: str = ""
    HyperkitVSockPorts: list[str] | None = None
    DockerEnv: list[str] | None = None
    ContainerVolumeMounts: list[str] | None = None
    InsecureRegistry: list[str] | None = None
    RegistryMirror: list[str] | None = None
    HostOnlyCIDR: str = ""
    HypervVirtualSwitch: str = ""
    HypervUseExternalSwitch: bool = False
    HypervExternalAdapter: str = ""
    KVMNetwork: str = ""
    KVMQemuURI: str = ""
    KVMGPU: bool = False
    KVMHidden: bool = False
    KVMNUMACount: int = 0
    APIServerPort: int = 0
    DockerOpt: list[str] | None = None
    DisableDriverMounts: bool = False
    NFSShare: list[str] | None = None
    NFSSharesRoot: str = ""
    UUID: str = ""
    NoVTXCheck: bool = False
    DNSProxy: bool = False
    HostDNSResolver: bool = False
    HostOnlyNicType: str = ""
    NatNicType: str = ""
    SSHIPAddress: str = ""
    SSHUser: str = ""
    SSHKey: str = ""
    SSHPort: int = 0
    KubernetesConfig: KubernetesConfig = msgspec.field(default_factory=KubernetesConfig)
    Nodes: list[Node] | None = None
    Addons: dict[str, bool] | None = None
    CustomAddonImages: dict[str, str] | None = None
    CustomAddonRegistries: dict[str, str] | None = None
    VerifyComponents: dict[str, bool] | None = None
    StartHostTimeout: int = 0
    ScheduledStop: ScheduledStop | None = None
    ExposedPorts: list[str] | None = None
    ListenAddress: str = ""
    Network: str = ""
    Subnet: str = ""
    MultiNodeRequested: bool = False
    ExtraDisks: int = 0
    CertExpiration: int = 0
    MountString: str = ""
    Mount9PVersion: str = ""
    MountGID: str = ""
    MountIP: str = ""
    MountMSize: int = 0
    MountOptions: list[str] | None = None
    MountPort: int = 0
    MountType: str = ""
    MountUID: str = ""
    BinaryMirror: str = ""
    DisableOptimizations: bool = False
    DisableMetrics: bool = False
    DisableCoreDNSLog: bool = False
    CustomQemuFirmwarePath: str = ""
    SocketVMnetClientPath: str = ""
    SocketVMnetPath: str = ""
    StaticIP: str = ""
    SSHAuthSock: str = ""
    SSHAgentPID: int = 0
    GPUs: str = ""
    AutoPauseInterval: int = 0
    Rosetta: bool = False
    VmnetOffloading: bool = False
    DNSServers: list[str] | None = None
    MDNS: bool = False
    ComponentSource: str = ""
    """Not upstream's: where the components came from, so that the next start takes the same."""
    Hardened: bool = False
    """Not upstream's: `start --hardened`."""
    SecretsKey: bool = False
    """Not upstream's: whether the cluster has ever been hardened, and so has a key that its secrets may be encrypted with."""


_DECODER = msgspec.json.Decoder(ClusterConfig)


def new_cluster_config(name: str) -> ClusterConfig:
    """What upstream's `start` writes when no flag is given, except for what only the caller knows (driver, sizes, version, nodes)."""
    return ClusterConfig(
        Name=name,
        DiskSize=20000,
        HyperkitVSockPorts=[],
        RegistryMirror=[],
        HostOnlyCIDR="192.168.59.1/24",
        KVMNetwork="default",
        KVMQemuURI="qemu:///system",
        KVMNUMACount=1,
        APIServerPort=8443,
        NFSShare=[],
        NFSSharesRoot="/nfsshares",
        HostDNSResolver=True,
        HostOnlyNicType="virtio",
        NatNicType="virtio",
        SSHUser="root",
        SSHPort=22,
        KubernetesConfig=KubernetesConfig(
            ClusterName=name,
            Namespace="default",
            APIServerName="minikubeCA",
            DNSDomain="cluster.local",
            NetworkPlugin="cni",
            ServiceCIDR="10.96.0.0/12",
            ShouldLoadCachedImages=True,
        ),
        VerifyComponents={"apiserver": True, "system_pods": True},
        StartHostTimeout=6 * MINUTE,
        ExposedPorts=[],
        CertExpiration=26280 * HOUR,
        Mount9PVersion="9p2000.L",
        MountGID="docker",
        MountMSize=262144,
        MountOptions=[],
        MountType="9p",
        MountUID="docker",
        AutoPauseInterval=MINUTE,
    )


def decode(data: bytes) -> ClusterConfig:
    """The struct in a file's bytes; msgspec.DecodeError (or its ValidationError) if they are not one."""
    return _DECODER.decode(data)


def encode(config: ClusterConfig, *, previous: bytes = b"") -> bytes:
    """The bytes to write, with every key that only `previous` has: a newer minikube's settings are not ours to drop."""
    builtins: dict[str, Any] = msgspec.to_builtins(config)
    for key in ("Addons", "CustomAddonImages", "CustomAddonRegistries", "VerifyComponents"):
        if builtins[key] is not None:
            builtins[key] = dict(sorted(builtins[key].items()))
    if previous:
        _keep_unknown_keys(builtins, msgspec.json.decode(previous))
    return msgspec.json.format(msgspec.json.encode(builtins), indent=4)


def _keep_unknown_keys(target: dict[str, Any], before: Any) -> None:
    if not isinstance(before, dict):
        return
    _add_missing(target, before)
    _add_missing(target["KubernetesConfig"], before.get("KubernetesConfig"))
    nodes_before = {node.get("Name", ""): node for node in before.get("Nodes") or [] if isinstance(node, dict)}
    for node in target["Nodes"] or []:
        _add_missing(node, nodes_before.get(node["Name"]))


def _add_missing(target: dict[str, Any], before: Any) -> None:
    if isinstance(before, dict):
        for key, value in before.items():
            target.setdefault(key, value)
