from minikube.kubernetes.labels import node_labels, rbac_binding


def test_a_control_plane_is_marked_as_kubeadm_does():
    labels = node_labels(profile="dev", version="v1.38.0", commit="abc", primary=True)
    assert labels["minikube.k8s.io/name"] == "dev"
    assert labels["minikube.k8s.io/primary"] == "true"
    assert labels["node-role.kubernetes.io/control-plane"] == ""
    assert "node-role.kubernetes.io/control-plane" not in node_labels(profile="dev", version="v1", commit="", primary=False)


def test_upstreams_binding():
    assert rbac_binding()["metadata"]["name"] == "minikube-rbac"
