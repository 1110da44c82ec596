"""From what the user asked for to a configuration, or to a refusal before anything is made."""

from pathlib import Path
from typing import Any

import pytest
from support.startsettings import settings

from minikube.cluster.plan import plan, plan_sizes
from minikube.drivers.registry import definition
from minikube.drivers.values import Machine
from minikube.output.problems import Problems
from minikube.output.reason import Reason

MACHINE = Machine(cpus=4, memory_mb=16384, cgroup_v2=True, capabilities=frozenset(), resolv_conf="")


@pytest.fixture(autouse=True)
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))


def planned(existing: Any = None, **given: Any) -> Any:
    chosen = settings(**given)
    problems = Problems()
    config = plan(chosen, existing, definition("none"), problems)
    plan_sizes(chosen, config, MACHINE, problems, fresh=existing is None)
    problems.refuse()
    return config


def test_the_defaults_make_a_native_cluster_of_the_newest_version() -> None:
    config = planned()
    assert (config.Driver, config.KubernetesConfig.ContainerRuntime, config.KubernetesConfig.KubernetesVersion) == (
        "none",
        "containerd",
        "v1.37.1",
    )
    assert [(node.ControlPlane, node.Worker, node.KubernetesVersion) for node in config.Nodes] == [(True, True, "v1.37.1")]
    assert config.VerifyComponents == {"apiserver": True, "system_pods": True}


@pytest.mark.parametrize(
    ("given", "id", "code"),
    [
        ({"nodes": 2}, "DRV_UNSUPPORTED_MULTINODE", 51),
        ({"nodes": -1}, "MK_USAGE", 14),
        ({"nodes": 0}, "MK_USAGE", 14),
        ({"addons": ["nosuch"]}, "MK_ADDON_ENABLE", 10),
        ({"addons": ["ingress"]}, "MK_UNIMPLEMENTED", 16),
        ({"cni": "false"}, "MK_USAGE", 14),
        ({"ha": True}, "DRV_UNSUPPORTED_MULTINODE", 51),
        ({"container_runtime": "docker"}, "MK_UNIMPLEMENTED", 16),
        ({"container_runtime": "fantasy"}, "MK_USAGE", 14),
        ({"cni": "calico"}, "MK_UNIMPLEMENTED", 16),
        ({"kubernetes_version": "v1.20.0"}, "K8S_OLD_UNSUPPORTED", 106),
        ({"kubernetes_version": "v9.9.9"}, "K8S_NEW_UNSUPPORTED", 106),
        ({"kubernetes_version": "banana"}, "MK_USAGE", 14),
        ({"extra_config": ["nonsense"]}, "MK_USAGE", 14),
        ({"feature_gates": "A=maybe"}, "MK_USAGE", 14),
        ({"memory": "12"}, "RSRC_INSUFFICIENT_REQ_MEMORY", 23),
        ({"cpus": "0"}, "RSRC_INSUFFICIENT_CORES", 29),
        ({"wait": ["everything"]}, "MK_USAGE", 14),
        ({"hardened": True, "extra_config": ["apiserver.oidc-client-id=x"]}, "MK_USAGE", 14),
    ],
)
def test_what_cannot_work_is_refused_with_upstreams_codes(given: dict[str, Any], id: str, code: int) -> None:
    with pytest.raises(Reason) as refused:
        planned(**given)
    assert (refused.value.id, refused.value.exit_code) == (id, code)


def test_an_existing_cluster_keeps_what_the_user_does_not_change() -> None:
    before = planned(memory="2500mb", kubernetes_version="v1.36.4", extra_config=["kubelet.max-pods=50"])
    after = planned(before, cpus="2")
    assert after.Memory == 2500
    assert after.KubernetesConfig.KubernetesVersion == "v1.36.4"
    assert [option.Key for option in after.KubernetesConfig.ExtraOptions] == ["max-pods"]


def test_a_hardened_cluster_stays_so_until_it_is_switched_off_and_keeps_its_key() -> None:
    assert not planned().SecretsKey
    hardened = planned(hardened=True)
    assert (hardened.Hardened, hardened.SecretsKey) == (True, True)
    assert planned(hardened, cpus="2").Hardened
    softened = planned(hardened, hardened=False)
    assert (softened.Hardened, softened.SecretsKey) == (False, True)
    assert planned(planned(), hardened=True).Hardened


def test_hardening_is_also_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_HARDENED", "true")
    assert planned().Hardened


def test_a_downgrade_is_refused() -> None:
    with pytest.raises(Reason) as refused:
        planned(planned(), kubernetes_version="v1.36.4")
    assert (refused.value.id, refused.value.exit_code) == ("K8S_DOWNGRADE_UNSUPPORTED", 106)


@pytest.mark.parametrize(("before", "after"), [("v1.36.4", "v1.37"), ("v1.36.4", "stable"), ("v1.36.4", "1.36.4")])
def test_a_cluster_can_become_one_of_the_next_minor_version(before: str, after: str) -> None:
    config = planned(planned(kubernetes_version=before), kubernetes_version=after)
    wanted = "v1.36.4" if after.endswith("36.4") else "v1.37.1"
    assert config.KubernetesConfig.KubernetesVersion == wanted
    assert [node.KubernetesVersion for node in config.Nodes] == [wanted]


def test_an_upgrade_does_not_skip_a_minor_version() -> None:
    with pytest.raises(Reason) as refused:
        planned(planned(kubernetes_version="v1.34.10"), kubernetes_version="v1.36.4")
    assert (refused.value.id, refused.value.exit_code) == ("K8S_UPGRADE_UNSUPPORTED", 106)
    assert "--kubernetes-version=v1.35," in refused.value.advice


def test_everything_that_is_wrong_is_said_at_once_and_the_first_decides_the_exit_code() -> None:
    with pytest.raises(Reason) as refused:
        planned(cpus="0", memory="12", container_runtime="fantasy", extra_config=["nonsense"])
    assert (refused.value.id, refused.value.exit_code) == ("MK_USAGE", 14)
    assert "4 things stand in the way" in refused.value.message
    for words in ("cpu count 0", "12MiB", "fantasy", "nonsense"):
        assert words in refused.value.message
    assert "--memory=2g" in refused.value.advice
