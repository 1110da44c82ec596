"""pflag's and cobra's rules, on the parser itself."""

from __future__ import annotations

import pytest

from minikube.cli.parser import UsageError, understand
from minikube.cli.startflags import START_FLAGS
from minikube.profiles.values import SECOND

# name=default, from the reference of upstream's flags; [] are lists
START_LINES = (
    "force=false interactive=true dry-run=false download-only=false output=text delete-on-failure=false trace= keep-context=false",
    "embed-certs=false cert-expiration=26280h namespace=default native-ssh=true auto-update-drivers=true cpus=2 memory=",
    "disk-size=20000mb extra-disks=0 nodes=1 ha=false driver= vm-driver= vm=false disable-driver-mounts=false kvm-network=default",
    "kvm-qemu-uri=qemu:///system kvm-gpu=false kvm-hidden=false kvm-numa-count=1 host-only-cidr=192.168.59.1/24 dns-proxy=false",
    "host-dns-resolver=true no-vtx-check=false host-only-nic-type=virtio nat-nic-type=virtio hyperkit-vsock-ports=[] uuid=",
    "hyperkit-vpnkit-sock= nfs-share=[] nfs-shares-root=/nfsshares hyperv-virtual-switch= hyperv-use-external-switch=false",
    "hyperv-external-adapter= listen-address= ports=[] subnet= static-ip= base-image= network= qemu-firmware-path=",
    "socket-vmnet-client-path= socket-vmnet-path= rosetta=false vmnet-offloading=false ssh-ip-address= ssh-user=root ssh-key=",
    "ssh-port=22 iso-url=[] dns-servers=[] mdns=false container-runtime= cri-socket= force-systemd=false docker-env=[]",
    "docker-opt=[] insecure-registry=[] registry-mirror=[] gpus= kubernetes-version= no-kubernetes=false extra-config=[]",
    "feature-gates= dns-domain=cluster.local service-cluster-ip-range=10.96.0.0/12 apiserver-port=8443 apiserver-name=minikubeCA",
    "apiserver-names=[] apiserver-ips=[] disable-optimizations=false disable-metrics=false disable-coredns-log=false cni=",
    "network-plugin= enable-default-cni=false cache-images=true preload=true preload-source=auto image-repository=",
    "image-mirror-country= binary-mirror= mount=false mount-string= mount-9p-version=9p2000.L mount-gid=docker mount-uid=docker",
    "mount-ip= mount-port=0 mount-msize=262144 mount-options=[] mount-type=9p wait=[apiserver,system_pods] wait-timeout=6m",
    "addons=[] install-addons=true auto-pause-interval=1m",
)
START = [entry for line in START_LINES for entry in line.split()]
SAMPLES = {
    "bool": "true",
    "int": "3",
    "duration": "90s",
    "string": "x y",
    "strings": "a,b",
    "stringArray": "a=b,c",
    "extra": "kubelet.v=4,5",
}
VALUES = {
    "bool": True,
    "int": 3,
    "duration": 90 * SECOND,
    "string": "x y",
    "strings": ["a", "b"],
    "stringArray": ["a=b,c"],
    "extra": ["kubelet.v=4,5"],
}


@pytest.mark.parametrize("entry", START, ids=lambda entry: entry.partition("=")[0])
def test_every_start_flag_has_upstreams_default_and_parses(entry: str) -> None:
    name, _, default = entry.partition("=")
    flag = next(flag for flag in START_FLAGS if flag.name == name)
    if flag.kind == "bool":
        assert flag.default is (default == "true")
    elif flag.kind == "int":
        assert flag.default == int(default)
    elif isinstance(flag.default, list):
        assert flag.default == [item for item in default.strip("[]").split(",") if item]
    elif flag.kind == "duration":
        assert flag.default == understand(["start", f"--{name}={default}"]).given[name]
    else:
        assert flag.default == default
    sample, value = SAMPLES[flag.kind], VALUES[flag.kind]
    assert understand(["start", f"--{name}={sample}"]).given == {name: value}
    if flag.kind != "bool":
        assert understand([f"--{name}={sample}", "start"]).given == {name: value}
        assert understand(["start", f"--{name}", sample]).given == {name: value}
        assert understand([f"--{name}", sample, "start"]).given == {name: value}
    else:
        assert understand([f"--{name}", "start"]).given == {name: True}
        assert understand(["start", f"--{name}=false"]).given == {name: False}


def test_no_start_flag_is_missing_from_the_reference() -> None:
    ours = {"bundle", "bundle-verify", "hardened", "host-access", "local-access", "source", "timing", "user-namespace"}
    assert {flag.name for flag in START_FLAGS} - {entry.partition("=")[0] for entry in START} == ours


@pytest.mark.parametrize("words", [["-p", "x"], ["-px"], ["-p=x"], ["--profile", "x"], ["--profile=x"]])
@pytest.mark.parametrize("before", [True, False])
def test_shorthands(words: list[str], before: bool) -> None:
    invocation = understand([*words, "ip"] if before else ["ip", *words])
    assert (invocation.path, invocation.given) == ("minikube ip", {"profile": "x"})


def test_grouped_bools_and_a_value_at_the_end() -> None:
    assert understand(["profile", "list", "-ldojson"]).given == {"light": True, "detailed": True, "output": "json"}


def test_a_flag_with_an_implied_value_takes_no_next_word() -> None:
    assert understand(["status", "-w"]).given == {"watch": SECOND}
    assert understand(["status", "--watch=250ms"]).given == {"watch": SECOND // 4}
    assert understand(["status", "-w", "3s"]).arguments == ["3s"]


def test_lists_add_up_and_last_scalar_wins() -> None:
    given = understand(["start", "--addons=a,b", "--addons", "c", '--ports="x,y",z', "--cpus=1", "--cpus=3"]).given
    assert given == {"addons": ["a", "b", "c"], "ports": ["x,y", "z"], "cpus": "3"}


def test_double_dash_ends_flags() -> None:
    assert understand(["kubectl", "--", "get", "-n", "x", "--", ""]).arguments == ["get", "-n", "x", "--", ""]


def test_empty_words_mean_nothing_except_where_they_are_values() -> None:
    assert understand(["", "start", ""]).path == "minikube start"
    assert understand(["start", ""]).arguments == []
    assert understand(["config", "set", "feature-gates", ""]).arguments == ["feature-gates", ""]
    assert understand(["start", "--driver", ""]).given == {"driver": ""}


def test_aliases_and_subcommands() -> None:
    assert understand(["resume"]).path == "minikube unpause"
    assert understand(["image", "list"]).path == "minikube image ls"
    assert understand(["image", "-p", "x", "unload", "y"]).path == "minikube image rm"
    assert understand(["service", "--format={{.IP}}", "list", "-n", "x"]).given == {"format": "{{.IP}}", "namespace": "x"}


def test_klog_flags_everywhere() -> None:
    words = [
        "--alsologtostderr",
        "-v=8",
        "--vmodule=a=1",
        "--stderrthreshold=1",
        "--log_file_max_size=5",
        "--one_output",
        "--skip_headers=false",
    ]
    assert understand([*words, "ip"]).given["v"] == 8
    assert understand(["profile", *words, "list"]).given["vmodule"] == "a=1"


@pytest.mark.parametrize(
    ("words", "message", "suggestion"),
    [
        (["strat"], 'unknown command "strat" for "minikube"', ["start"]),
        (["config", "sett"], 'unknown command "sett" for "minikube config"', ["set", "get"]),
        (["start", "--drivr", "x"], "unknown flag: --drivr", ["--driver"]),
        (["start", "-z"], "unknown shorthand flag: 'z' in -z", []),
        (["start", "--driver"], "flag needs an argument: --driver", []),
        (["start", "-p"], "flag needs an argument: 'p' in -p", []),
        (["start", "---x"], "bad flag syntax: ---x", []),
        (["start", "--=x"], "bad flag syntax: --=x", []),
        (["start", "--nodes=two"], 'invalid argument "two" for "-n, --nodes" flag: strconv.ParseInt: parsing "two": invalid syntax', []),
        (["start", "--force=yes"], 'invalid argument "yes" for "--force" flag: strconv.ParseBool: parsing "yes": invalid syntax', []),
        (["start", "--wait-timeout=6"], 'invalid argument "6" for "--wait-timeout" flag: time: missing unit in duration "6"', []),
        (["start", "--extra-config=x"], "must contain at least one period", []),
    ],
)
def test_mistakes(words: list[str], message: str, suggestion: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        understand(words)
    assert message in caught.value.message
    assert caught.value.suggestions[: len(suggestion)] == suggestion
