"""From what the user asked for to the configuration of a cluster. What can be refused is refused here, before anything is made."""

from __future__ import annotations

from minikube.addons.catalogue import require_built
from minikube.artifacts import catalogue, unpinned
from minikube.cluster import sizes
from minikube.cluster.mirrors import plan_downloads, sourcing
from minikube.drivers.definition import Definition
from minikube.drivers.values import Machine
from minikube.kubernetes import hardening, health
from minikube.kubernetes.extraconfig import parse_extra_config, parse_feature_gates
from minikube.output.problems import Problems
from minikube.output.progress import silent
from minikube.output.reason import Reason
from minikube.profiles.clusterconfig import ClusterConfig, ExtraOption, Node, new_cluster_config
from minikube.profiles.settings import Settings

RUNTIMES = {"": "containerd", "containerd": "containerd"}
NOT_BUILT_RUNTIMES = ("docker", "cri-o", "crio")


def plan(settings: Settings, existing: ClusterConfig | None, driver: Definition | None, problems: Problems) -> ClusterConfig:
    """The configuration to start with, but for its sizes. An existing cluster keeps its own wherever the user did not say otherwise.

    What cannot work is added to the problems: with any of them the configuration is not one to start with.
    """
    _refuse_what_is_not_built(settings, problems)
    config = existing or new_cluster_config(settings.profile)
    if driver:
        config.Driver = driver.name
    with problems:
        plan_downloads(settings, config, fresh=existing is None)
    _kubernetes(settings, config, existing, problems)
    with problems:
        config.VerifyComponents = health.parse_wait(settings.get("wait"))
    _hardening(settings, config, existing, problems)
    for flag, field in (("keep-context", "KeepContext"), ("embed-certs", "EmbedCerts"), ("disable-coredns-log", "DisableCoreDNSLog")):
        if existing is None or settings.changed(flag):
            setattr(config, field, settings.get(flag))
    for flag, field in (("cert-expiration", "CertExpiration"), ("wait-timeout", "StartHostTimeout")):
        if existing is None or settings.changed(flag):
            setattr(config, field, settings.get(flag))
    if existing is None:
        config.Addons = {"default-storageclass": True, "storage-provisioner": True}
        config.Nodes = [Node(Port=config.APIServerPort, ControlPlane=True, Worker=True)]
    for node in config.Nodes or []:
        node.KubernetesVersion = config.KubernetesConfig.KubernetesVersion
        node.ContainerRuntime = config.KubernetesConfig.ContainerRuntime
    return config


def plan_sizes(settings: Settings, config: ClusterConfig, machine: Machine, problems: Problems, *, fresh: bool) -> None:
    """`--cpus` and `--memory`, checked against what the machine has."""
    force = bool(settings.get("force"))
    if fresh or settings.changed("cpus"):
        with problems:
            config.CPUs = sizes.parse_cpus(str(settings.get("cpus")), available=machine.cpus, force=force)
    if fresh or settings.changed("memory"):
        with problems:
            config.Memory = sizes.parse_memory(str(settings.get("memory")), available=machine.memory_mb, force=force)


def runtime_name(name: str) -> str:
    """The name a profile stores for what the user typed."""
    if name in NOT_BUILT_RUNTIMES:
        raise Reason(
            "MK_UNIMPLEMENTED",
            f"The container runtime '{name}' is not built yet",
            advice="Use --container-runtime=containerd.",
            exit_code=16,
        )
    if name not in RUNTIMES:
        raise Reason("MK_USAGE", f'Invalid Container Runtime: "{name}". Valid runtimes are: [cri-o containerd docker]')
    return RUNTIMES[name]


def _refuse_what_is_not_built(settings: Settings, problems: Problems) -> None:
    with problems:
        if int(settings.get("nodes")) < 1:
            raise Reason("MK_USAGE", f"--nodes cannot be {settings.get('nodes')}: a cluster has at least one node")
    with problems:
        if int(settings.get("nodes")) > 1 or settings.get("ha"):
            raise Reason(
                "DRV_UNSUPPORTED_MULTINODE",
                "Clusters with more than one node are not built yet",
                advice="Start without --nodes and --ha; several clusters side by side work: minikube start -p other",
            )
    for addon in settings.get("addons"):
        with problems:
            require_built(addon)
    with problems:
        if settings.get("no-kubernetes"):
            raise Reason("MK_UNIMPLEMENTED", "start --no-kubernetes is not built yet", exit_code=16)
    with problems:
        if settings.get("cni") == "false":
            raise Reason("MK_USAGE", 'The "containerd" container runtime requires CNI')
    with problems:
        if settings.get("cni") not in ("", "auto", "bridge", "false"):
            raise Reason("MK_UNIMPLEMENTED", f"--cni={settings.get('cni')} is not built yet", advice="Use --cni=bridge.", exit_code=16)


def _kubernetes(settings: Settings, config: ClusterConfig, existing: ClusterConfig | None, problems: Problems) -> None:
    kubernetes = config.KubernetesConfig
    with problems:
        _version(settings, config, existing)
    with problems:
        kubernetes.ContainerRuntime = runtime_name(str(settings.get("container-runtime")))
    if existing is None or settings.changed("apiserver-port"):
        config.APIServerPort = int(settings.get("apiserver-port"))
        for node in config.Nodes or []:
            node.Port = config.APIServerPort
    if existing is None or settings.changed("extra-config"):
        with problems:
            chosen = parse_extra_config(settings.get("extra-config"))
            kubernetes.ExtraOptions = [ExtraOption(option.component, option.key, option.value) for option in chosen] or None
    with problems:
        parse_feature_gates(str(settings.get("feature-gates")))
    chosen_once = {
        "namespace": "Namespace",
        "apiserver-name": "APIServerName",
        "apiserver-names": "APIServerNames",
        "apiserver-ips": "APIServerIPs",
        "dns-domain": "DNSDomain",
        "service-cluster-ip-range": "ServiceCIDR",
        "feature-gates": "FeatureGates",
    }
    for flag, field in chosen_once.items():
        if existing is None or settings.changed(flag):
            value = settings.get(flag)
            setattr(kubernetes, field, list(value) or None if isinstance(value, list | tuple) else value)


def _hardening(settings: Settings, config: ClusterConfig, existing: ClusterConfig | None, problems: Problems) -> None:
    if existing is None or settings.changed("hardened"):
        config.Hardened = bool(settings.get("hardened"))
    if not config.Hardened:
        return
    config.SecretsKey = True
    kubernetes = config.KubernetesConfig
    options = [option.Key for option in kubernetes.ExtraOptions or [] if option.Component == "apiserver"]
    if kubernetes.KubernetesVersion:  # else that is a problem of its own
        with problems:
            hardening.check(catalogue.parts(kubernetes.KubernetesVersion)[1], options)


def _version(settings: Settings, config: ClusterConfig, existing: ClusterConfig | None) -> None:
    kubernetes = config.KubernetesConfig
    if existing is not None and not settings.changed("kubernetes-version"):
        return
    text, force = str(settings.get("kubernetes-version")), bool(settings.get("force"))
    wanted = unpinned.resolve_version(text, sourcing(settings, config), silent(), force=force)
    current = kubernetes.KubernetesVersion
    if existing is not None and catalogue.parts(wanted) < catalogue.parts(current):
        raise Reason(
            "K8S_DOWNGRADE_UNSUPPORTED",
            f"Unable to safely downgrade existing Kubernetes {current} cluster to {wanted}",
            advice=f"Recreate the cluster with {wanted}: minikube delete -p {config.Name}, then start it again; or use another profile.",
        )
    if existing is not None and catalogue.parts(wanted)[1] > catalogue.parts(current)[1] + 1:
        between = "v{}.{}".format(*_next_minor(current))
        raise Reason(
            "K8S_UPGRADE_UNSUPPORTED",
            f"Kubernetes {current} cannot become {wanted} in one step: an upgrade goes one minor version at a time",
            advice=f"Go by way of the one between: minikube start -p {config.Name} --kubernetes-version={between}, then the same again; "
            f"or use another profile: minikube start -p other --kubernetes-version={wanted}",
        )
    kubernetes.KubernetesVersion = wanted


def _next_minor(version: str) -> tuple[int, int]:
    major, minor, _ = catalogue.parts(version)
    return major, minor + 1
