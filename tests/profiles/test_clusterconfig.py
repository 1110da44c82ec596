import json

import msgspec
import pytest

from minikube.profiles.clusterconfig import ClusterConfig, ExtraOption, Node, decode, encode, new_cluster_config

UPSTREAM = {
    "Name": "dev",
    "Memory": 3072,
    "Driver": "docker",
    "HyperkitVSockPorts": [],
    "DockerEnv": None,
    "VMDriver": "",
    "Mount": False,
    "KubernetesConfig": {"KubernetesVersion": "v1.36.2", "ExtraOptions": None, "NodeName": "old", "APIServerIPs": ["10.0.0.9"]},
    "Nodes": [{"Name": "", "IP": "192.168.49.2", "Port": 8443, "KubernetesVersion": "v1.36.2", "ControlPlane": True, "Shoe": 43}],
    "Addons": {"storage-provisioner": True, "dashboard": False},
    "ScheduledStop": {"InitiationTime": 1700000000, "Duration": 300000000000},
    "FromTheFuture": {"a": [1, 2]},
}


def test_a_new_profile_has_what_upstream_writes():
    written = json.loads(encode(new_cluster_config("minikube")))
    assert written["Name"] == written["KubernetesConfig"]["ClusterName"] == "minikube"
    assert written["StartHostTimeout"] == 360000000000
    assert written["CertExpiration"] == 94608000000000000
    assert written["AutoPauseInterval"] == 60000000000
    assert written["DockerEnv"] is None
    assert written["RegistryMirror"] == []
    assert written["ScheduledStop"] is None
    assert written["KubernetesConfig"]["ExtraOptions"] is None
    assert list(written)[:9] == ["Name", "KeepContext", "EmbedCerts", "MinikubeISO", "KicBaseImage", "Memory", "CPUs", "DiskSize", "Driver"]


def test_indented_by_four_as_upstream_does():
    assert encode(ClusterConfig(Name="x")).startswith(b'{\n    "Name": "x",\n    "KeepContext": false,')


def test_upstreams_file_is_read():
    config = decode(json.dumps(UPSTREAM).encode())
    assert config.Nodes == [Node(Name="", IP="192.168.49.2", Port=8443, KubernetesVersion="v1.36.2", ControlPlane=True)]
    assert config.ScheduledStop is not None
    assert config.ScheduledStop.Duration == 300000000000
    assert config.KubernetesConfig.APIServerIPs == ["10.0.0.9"]


def test_keys_nobody_here_knows_survive_a_rewrite():
    before = json.dumps(UPSTREAM).encode()
    config = decode(before)
    config.Memory = 4096
    after = json.loads(encode(config, previous=before))
    assert after["Memory"] == 4096
    assert after["FromTheFuture"] == {"a": [1, 2]}
    assert after["Mount"] is False
    assert after["KubernetesConfig"]["NodeName"] == "old"
    assert after["Nodes"][0]["Shoe"] == 43


def test_what_is_written_is_read_back_the_same():
    config = new_cluster_config("two")
    config.KubernetesConfig.ExtraOptions = [ExtraOption("kubelet", "max-pods", "50")]
    config.Addons = {"b": True, "a": False}
    data = encode(config)
    assert decode(data) == config
    assert data.index(b'"a": false') < data.index(b'"b": true')


@pytest.mark.parametrize("damaged", [b"", b"{", b'{"Name": 3}', b"[]", b"\xff\xfe"])
def test_damage_is_noticed(damaged):
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)):
        decode(damaged)


# What a Go decoder accepts for upstream's fields that are no text (s: list of texts, i: whole number, b: true or false,
# B: texts to true or false, S: texts to texts). null is fine for every list and map.
KINDS = {
    "b": "KeepContext EmbedCerts HypervUseExternalSwitch KVMGPU KVMHidden DisableDriverMounts NoVTXCheck DNSProxy HostDNSResolver "
    "MultiNodeRequested DisableOptimizations DisableMetrics DisableCoreDNSLog Rosetta VmnetOffloading MDNS",
    "i": "Memory CPUs DiskSize KVMNUMACount APIServerPort SSHPort StartHostTimeout ExtraDisks CertExpiration MountMSize MountPort "
    "SSHAgentPID AutoPauseInterval",
    "s": "HyperkitVSockPorts DockerEnv ContainerVolumeMounts InsecureRegistry RegistryMirror DockerOpt NFSShare ExposedPorts "
    "MountOptions DNSServers",
    "B": "Addons VerifyComponents",
    "S": "CustomAddonImages CustomAddonRegistries",
}
TEXTS = (
    "Name MinikubeISO KicBaseImage Driver HyperkitVpnKitSock HostOnlyCIDR HypervVirtualSwitch HypervExternalAdapter KVMNetwork "
    "KVMQemuURI NFSSharesRoot UUID HostOnlyNicType NatNicType SSHIPAddress SSHUser SSHKey ListenAddress Network Subnet "
    "MountString Mount9PVersion MountGID MountIP MountType MountUID BinaryMirror CustomQemuFirmwarePath SocketVMnetClientPath "
    "SocketVMnetPath StaticIP SSHAuthSock GPUs"
)
OF_KUBERNETES = (
    "KubernetesVersion ClusterName Namespace APIServerHAVIP APIServerName APIServerNames APIServerIPs DNSDomain "
    "ContainerRuntime CRISocket NetworkPlugin FeatureGates ServiceCIDR ImageRepository LoadBalancerStartIP LoadBalancerEndIP "
    "CustomIngressCert RegistryAliases ExtraOptions ShouldLoadCachedImages EnableDefaultCNI CNI"
)
OF_A_NODE = "Name IP Port KubernetesVersion ContainerRuntime ControlPlane Worker"


def test_upstreams_go_code_could_read_every_field():
    config = new_cluster_config("minikube")
    config.Nodes = [Node()]
    config.KubernetesConfig.ExtraOptions = [ExtraOption("kubelet", "max-pods", "50")]
    written = json.loads(encode(config))
    assert list(written["KubernetesConfig"]) == OF_KUBERNETES.split()
    assert list(written["Nodes"][0]) == OF_A_NODE.split()
    assert written["KubernetesConfig"]["ExtraOptions"] == [{"Component": "kubelet", "Key": "max-pods", "Value": "50"}]
    wanted = {name: kind for kind, names in KINDS.items() for name in names.split()} | dict.fromkeys(TEXTS.split(), "t")
    # These are ours: Go's JSON leaves out what it does not know.
    assert set(written) - {"ComponentSource", "Hardened", "SecretsKey"} == {*wanted, "KubernetesConfig", "Nodes", "ScheduledStop"}
    fits = {
        "t": lambda value: isinstance(value, str),
        "b": lambda value: isinstance(value, bool),
        "i": lambda value: isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63,
        "s": lambda value: value is None or all(isinstance(entry, str) for entry in value),
        "B": lambda value: value is None or all(isinstance(entry, bool) for entry in value.values()),
        "S": lambda value: value is None or all(isinstance(entry, str) for entry in value.values()),
    }
    assert [name for name, kind in wanted.items() if not fits[kind](written[name])] == []
