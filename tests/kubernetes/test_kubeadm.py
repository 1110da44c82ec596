import os
import subprocess

import pytest
import yaml
from msgspec import structs

from minikube.kubernetes import kubeadm
from minikube.kubernetes.certificates import Identity, ensure_authorities, ensure_cluster_certificates
from minikube.kubernetes.clusterspec import CLUSTER_NAME, ClusterSpec
from minikube.kubernetes.componentconf import ensure_component_confs
from minikube.kubernetes.coredns import coredns_objects
from minikube.kubernetes.extraconfig import parse_extra_config
from minikube.kubernetes.healthz import WELL
from minikube.kubernetes.kubelet import kubelet_command, kubelet_configuration, volume_plugins
from minikube.kubernetes.kubeproxy import kube_proxy_objects
from minikube.output.reason import Reason

SPEC = ClusterSpec(version="v1.37.1", node_name="dev", node_ip="10.5.0.2")


def with_options(*texts: str, **fields) -> ClusterSpec:
    return ClusterSpec(version="v1.37.1", node_name="dev", node_ip="10.5.0.2", extra_options=parse_extra_config(texts), **fields)


def arguments(component: dict) -> dict[str, str]:
    return {one["name"]: one["value"] for one in component["extraArgs"]}


def test_four_documents():
    kinds = [document["kind"] for document in yaml.safe_load_all(kubeadm.kubeadm_documents(SPEC))]
    assert kinds == ["InitConfiguration", "ClusterConfiguration", "KubeletConfiguration", "KubeProxyConfiguration"]


def test_extra_options_reach_their_component_and_win():
    spec = with_options(
        "apiserver.profiling=true",
        "controller-manager.leader-elect=true",
        "scheduler.v=4",
        "etcd.quota-backend-bytes=1",
        "kubelet.max-pods=50",
        "kube-proxy.nftables.syncPeriod=10s",
        "kube-proxy.conntrack.maxPerCore=5",
        "kubeadm.pod-network-cidr=10.50.0.0/16",
        "kubeadm.ignore-preflight-errors=all",
    )
    cluster = kubeadm.cluster_configuration(spec)
    assert arguments(cluster["apiServer"])["profiling"] == "true"
    assert arguments(cluster["controllerManager"])["leader-elect"] == "true"
    assert arguments(cluster["controllerManager"])["cluster-cidr"] == "10.50.0.0/16"
    assert arguments(cluster["scheduler"])["v"] == "4"
    assert arguments(cluster["etcd"]["local"])["quota-backend-bytes"] == "1"
    assert cluster["networking"]["podSubnet"] == "10.50.0.0/16"
    assert kubelet_command(spec)[-1] == "--max-pods=50"
    proxy = kubeadm.kube_proxy_configuration(spec)
    assert proxy["nftables"]["syncPeriod"] == "10s"
    assert proxy["conntrack"]["maxPerCore"] == 5
    assert kubeadm.write_files_command(spec)[-1] == "--ignore-preflight-errors=all"


def test_feature_gates_go_where_they_belong():
    spec = with_options(feature_gates={"RootlessControlPlane": False, "B": True, "A": False})
    cluster = kubeadm.cluster_configuration(spec)
    assert cluster["featureGates"] == {"RootlessControlPlane": False}
    assert arguments(cluster["scheduler"])["feature-gates"] == "A=false,B=true"
    assert kubelet_configuration(spec)["featureGates"] == kubeadm.kube_proxy_configuration(spec)["featureGates"] == {"A": False, "B": True}


def test_nothing_listens_for_everyone():
    proxy = kubeadm.kube_proxy_configuration(SPEC)
    assert proxy["metricsBindAddress"].startswith("127.0.0.1:")
    assert proxy["healthzBindAddress"].startswith("127.0.0.1:")
    kubelet = kubelet_configuration(SPEC)
    assert kubelet["readOnlyPort"] == 0
    assert kubelet["authentication"]["anonymous"] == {"enabled": False}
    assert kubelet["authorization"] == {"mode": "Webhook"}


def test_the_kubelet_knows_the_limits():
    assert "systemReserved" not in kubelet_configuration(SPEC)
    spec = with_options(memory_bytes=3 << 30, host_memory_bytes=8 << 30, cpus=1.5, host_cpus=4)
    assert kubelet_configuration(spec)["systemReserved"] == {"memory": str(5 << 30), "cpu": "2500m"}


def test_nobody_tries_to_lower_a_score_that_cannot_be_lowered():
    for configuration in (kubelet_configuration, kubeadm.kube_proxy_configuration):
        assert "oomScoreAdj" not in configuration(SPEC)
        assert configuration(with_options(lowers_oom_scores=False))["oomScoreAdj"] == 0


def test_probes_stay_as_patient_as_kubeadms():
    for name, text in kubeadm.static_pod_patches(SPEC).items():
        container = yaml.safe_load(text)["spec"]["containers"][0]
        assert name == f"{container['name']}0+strategic.yaml"
        startup, liveness = container["startupProbe"], container["livenessProbe"]
        patience = liveness["failureThreshold"] * liveness["periodSeconds"]
        assert patience == 80
        if startup:
            assert startup["failureThreshold"] * startup["periodSeconds"] == 240
        else:
            assert liveness["initialDelaySeconds"] + patience == 240
            assert container["readinessProbe"]["periodSeconds"] == 1


def test_the_two_runs_share_no_phase():
    first, second = (
        command[3].removeprefix("--skip-phases=").split(",")
        for command in (kubeadm.write_files_command(SPEC), kubeadm.register_cluster_command(SPEC))
    )
    assert set(first) | set(second) == set(kubeadm.ALL_PHASES)


OLD = ["v1.28.0", "v1.29.4", "v1.30.14"]
NEW = ["v1.31.0", "v1.34.10", "v1.36.4", "v1.37.1"]


def of_version(version: str) -> ClusterSpec:
    options = parse_extra_config(["apiserver.v=3"])
    return ClusterSpec(version=version, node_name="dev", node_ip="10.5.0.2", cgroup_v1=True, extra_options=options)


@pytest.mark.parametrize("version", OLD)
def test_before_1_31_kubeadm_reads_v1beta3(version):
    init, cluster, *_ = yaml.safe_load_all(kubeadm.kubeadm_documents(of_version(version)))
    assert init["apiVersion"] == cluster["apiVersion"] == "kubeadm.k8s.io/v1beta3"
    assert init["nodeRegistration"]["kubeletExtraArgs"] == {"node-ip": "10.5.0.2"}
    assert cluster["apiServer"]["extraArgs"]["v"] == "3"
    assert not {"certificateValidityPeriod", "encryptionAlgorithm"} & cluster.keys()
    assert cluster["kubernetesVersion"] == version


@pytest.mark.parametrize("version", NEW)
def test_from_1_31_on_it_reads_v1beta4(version):
    init, cluster, *_ = yaml.safe_load_all(kubeadm.kubeadm_documents(of_version(version)))
    assert init["apiVersion"] == cluster["apiVersion"] == "kubeadm.k8s.io/v1beta4"
    assert init["nodeRegistration"]["kubeletExtraArgs"] == [{"name": "node-ip", "value": "10.5.0.2"}]
    assert arguments(cluster["apiServer"])["v"] == "3"
    assert cluster["encryptionAlgorithm"] == "ECDSA-P256"


@pytest.mark.parametrize("version", [*OLD, *NEW])
def test_no_version_gets_what_it_does_not_know(version):
    spec = of_version(version)
    minor = int(version.split(".")[1])
    assert ("failCgroupV1" in kubelet_configuration(spec)) is (minor >= 31)
    # Before 1.36 kubeadm mounts this directory for writing.
    places = kubelet_configuration(spec).get("volumePluginDir"), _values(spec, "controllerManager").get("flex-volume-plugin-dir")
    assert places == ((None, None) if minor >= 36 else (volume_plugins(spec),) * 2)
    assert not volume_plugins(spec).startswith("/usr")
    proxy = kubeadm.kube_proxy_configuration(spec)
    assert proxy["mode"] == ("nftables" if minor >= 29 else "iptables")
    assert proxy.get("featureGates", {}) == ({"NFTablesProxyMode": True} if minor in (29, 30) else {})
    probes = {yaml.safe_load(text)["spec"]["containers"][0]["name"]: "readinessProbe" in text for text in patches(spec)}
    # A probe that kubeadm's manifest lacks would be one without anything to ask, which the kubelet refuses. One of ours has a question.
    assert probes == {
        "etcd": minor >= 31,
        "kube-apiserver": True,
        "kube-scheduler": minor >= 32,
        "kube-controller-manager": True,
    }


def _values(spec: ClusterSpec, component: str) -> dict[str, str]:
    given = kubeadm.cluster_configuration(spec)[component]["extraArgs"]
    return given if isinstance(given, dict) else {one["name"]: one["value"] for one in given}


def patches(spec: ClusterSpec) -> list[str]:
    return list(kubeadm.static_pod_patches(spec).values())


def test_an_etcd_that_kubeadm_does_not_know_is_named_to_it():
    assert "imageTag" not in kubeadm.cluster_configuration(SPEC)["etcd"]["local"]
    spec = with_options(etcd_tag="3.6.8-0")
    assert kubeadm.cluster_configuration(spec)["etcd"]["local"]["imageTag"] == "3.6.8-0"


@pytest.mark.parametrize("cidr", ["10.96.0.0", "nonsense", "10.96.0.1/12"])
def test_a_wrong_service_range_is_said(cidr):
    with pytest.raises(Reason) as caught:
        _ = with_options(service_cidr=cidr).dns_ip
    assert caught.value.id == "MK_USAGE"


class TestRealKubeadm:
    """kubeadm itself is asked. It may write to the directories of a mount namespace only."""

    @pytest.fixture
    def binary(self, kubernetes_binary):
        return kubernetes_binary("kubeadm")

    @pytest.mark.parametrize(
        "spec",
        [
            SPEC,
            with_options(hardened=True, secrets_key=True),
            with_options("kubelet.max-pods=50", "kube-proxy.nftables.syncPeriod=10s", cgroup_v1=True),
            with_options(
                feature_gates={"RootlessControlPlane": False, "InPlacePodVerticalScaling": True}, memory_bytes=1, host_memory_bytes=2
            ),
        ],
    )
    def test_it_finds_the_documents_valid(self, binary, tmp_path, spec):
        (tmp_path / "kubeadm.yaml").write_text(kubeadm.kubeadm_documents(spec))
        done = subprocess.run(
            [binary, "config", "validate", f"--config={tmp_path}/kubeadm.yaml"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    @pytest.mark.parametrize("version", ["v1.34.10", "v1.36.4"])
    @pytest.mark.parametrize("hardened", [False, True])
    def test_so_does_that_of_an_older_version(self, kubernetes_binary, tmp_path, version, hardened):
        spec = structs.replace(of_version(version), hardened=hardened, secrets_key=hardened)
        (tmp_path / "kubeadm.yaml").write_text(kubeadm.kubeadm_documents(spec))
        command = [kubernetes_binary("kubeadm", version), "config", "validate", f"--config={tmp_path}/kubeadm.yaml"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "unknown field" not in done.stderr

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs a mount namespace")
    def test_it_keeps_every_certificate_and_kubeconfig(self, binary, home, tmp_path):
        certs, etc = tmp_path / "lib/minikube/certs", tmp_path / "kubernetes"
        authorities = ensure_authorities("dev")
        ensure_cluster_certificates(Identity("dev", "dev", "10.5.0.2"), node_directory=certs, authorities=authorities)
        ensure_component_confs(
            etc, authority=authorities.cluster, node_name="dev", node_ip="10.5.0.2", port=8443, cluster_name=CLUSTER_NAME
        )
        patches = tmp_path / "lib/minikube/patches"
        patches.mkdir()
        for name, text in kubeadm.static_pod_patches(SPEC).items():
            (patches / name).write_text(text)
        (tmp_path / "kubeadm.yaml").write_text(kubeadm.kubeadm_documents(SPEC))
        before = {path: path.read_bytes() for place in (certs, etc) for path in place.rglob("*") if path.is_file()}
        init = " ".join(kubeadm.write_files_command(SPEC, kubeadm=str(binary), config=f"{tmp_path}/kubeadm.yaml"))
        script = f"mount --bind {tmp_path}/lib /var/lib && mount -t tmpfs none /etc && ln -s {etc} /etc/kubernetes && exec {init}"
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "Generating" not in done.stdout
        assert "Writing" not in done.stdout
        assert "unexpected API Server URL" not in done.stderr
        assert {path: path.read_bytes() for path in before} == before
        manifests = sorted(path.stem for path in (etc / "manifests").iterdir())
        assert manifests == ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"]
        server, controllers = (
            yaml.safe_load((etc / f"manifests/{name}.yaml").read_text())["spec"]["containers"][0]
            for name in ("kube-apiserver", "kube-controller-manager")
        )
        assert "startupProbe" not in server
        assert (server["readinessProbe"]["periodSeconds"], server["readinessProbe"]["httpGet"]["path"]) == (1, WELL)
        assert server["readinessProbe"]["httpGet"]["host"] == "10.5.0.2"
        # What kubeadm would have it asked at its start it is asked from then on.
        startup = {**controllers["livenessProbe"]["httpGet"], "port": 10257}
        assert (controllers["readinessProbe"]["periodSeconds"], controllers["readinessProbe"]["httpGet"]) == (1, startup)
        assert "startupProbe" not in controllers
        etcd = yaml.safe_load((etc / "manifests/etcd.yaml").read_text())["spec"]["containers"][0]
        assert f"--etcd-servers={kubeadm.ETCD_SOCKET}" in server["command"]
        assert f"--listen-client-urls=https://127.0.0.1:2379,https://10.5.0.2:2379,{kubeadm.ETCD_SOCKET}" in etcd["command"]
        for container in (server, etcd):
            assert kubeadm.ETCD_SOCKET_DIRECTORY in [volume["mountPath"] for volume in container["volumeMounts"]]

    def printed(self, binary, tmp_path, addon: str) -> dict[tuple[str, str], dict]:
        documents = list(yaml.safe_load_all(kubeadm.kubeadm_documents(SPEC)))
        documents[0].pop("patches")
        (tmp_path / "kubeadm.yaml").write_text(yaml.safe_dump_all(documents))
        command = [binary, "init", "phase", "addon", addon, "--print-manifest", f"--config={tmp_path}/kubeadm.yaml"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text) if one}

    def test_kube_proxy_is_what_kubeadm_would_make(self, binary, tmp_path):
        theirs = self.printed(binary, tmp_path, "kube-proxy")
        ours = {(one["kind"], one["metadata"]["name"]): one for one in kube_proxy_objects(SPEC, image="registry.k8s.io/kube-proxy:v1.37.1")}
        assert theirs.keys() == ours.keys()
        for key, obj in ours.items():
            expected = theirs[key]
            if obj["kind"] == "ConfigMap":
                for name in ("kubeconfig.conf", "config.conf"):
                    wanted, have = (yaml.safe_load(one["data"].pop(name)) for one in (expected, obj))
                    assert {field: wanted[field] for field in have if not isinstance(have[field], dict)} == {
                        field: value for field, value in have.items() if not isinstance(value, dict)
                    }
            for subject in (*expected.get("subjects", ()), *obj.get("subjects", ())):
                subject.pop("apiGroup", None)
            assert obj == expected

    def test_coredns_differs_only_where_it_is_meant_to(self, binary, tmp_path):
        theirs = self.printed(binary, tmp_path, "coredns")
        image = theirs["Deployment", "coredns"]["spec"]["template"]["spec"]["containers"][0]["image"]
        ours = {(one["kind"], one["metadata"]["name"]): one for one in coredns_objects(SPEC, image=image, host_ip="10.5.0.1")}
        assert theirs.keys() == ours.keys()
        theirs["Service", "kube-dns"]["metadata"].pop("resourceVersion")
        deployment = theirs["Deployment", "coredns"]
        deployment["spec"]["replicas"] = 1
        pod = deployment["spec"]["template"]["spec"]
        pod["tolerations"].append({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"})
        pod["containers"][0]["readinessProbe"] |= {"periodSeconds": 1, "failureThreshold": 30}
        corefile = theirs["ConfigMap", "coredns"]["data"]["Corefile"]
        corefile = corefile.replace("    errors\n", "    log\n    errors\n").replace("lameduck 5s", "lameduck 500ms")
        names = f"       10.5.0.1 host.minikube.internal\n       {SPEC.node_ip} control-plane.minikube.internal\n"
        hosts = f"    hosts {{\n{names}       fallthrough\n    }}\n"
        theirs["ConfigMap", "coredns"]["data"]["Corefile"] = corefile.replace("    forward .", f"{hosts}    forward .")
        assert ours == theirs


def test_etcd_syncs_every_write_to_disk():
    """Users' data survives a power cut: nothing of ours may ask for less."""
    arguments = kubeadm.cluster_configuration(SPEC)["etcd"]["local"]["extraArgs"]
    assert [one for one in arguments if "fsync" in one["name"] or "unsafe" in one["name"]] == []


def test_official_builds_of_etcd_are_told_to_keep_little_memory_and_ours_know_it() -> None:
    released, built = (kubeadm.static_pod_patches(spec)["etcd0+strategic.yaml"] for spec in (structs.replace(SPEC, released=True), SPEC))
    assert ("GOGC" in released, "GOGC" in built) == (True, False)
