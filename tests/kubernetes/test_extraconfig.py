import pytest

from minikube.kubernetes.extraconfig import ExtraOption, parse_extra_config, parse_feature_gates
from minikube.output.reason import Reason


def test_upstreams_examples():
    assert parse_extra_config(["kubelet.max-pods=50", "kube-proxy.nftables.syncPeriod=10s", "apiserver.v=a=b"]) == (
        ExtraOption("kubelet", "max-pods", "50"),
        ExtraOption("kube-proxy", "nftables.syncPeriod", "10s"),
        ExtraOption("apiserver", "v", "a=b"),
    )


@pytest.mark.parametrize("text", ["kubelet", "kubelet.max-pods", "max-pods=50", "kubelet.=1", "cube.x=1", "kubeadm.feature=1"])
def test_what_is_refused(text):
    with pytest.raises(Reason) as caught:
        parse_extra_config([text])
    assert caught.value.id == "MK_USAGE"


def test_feature_gates():
    assert parse_feature_gates("") == {}
    assert parse_feature_gates("A=true, B=false") == {"A": True, "B": False}
    with pytest.raises(Reason):
        parse_feature_gates("A")
    with pytest.raises(Reason):
        parse_feature_gates("A=maybe")
