from minikube.addons.storage import PROVISIONER, storage_class_objects, storage_provisioner_objects
from minikube.kubernetes.api import object_path


def test_the_default_class_binds_at_once():
    (standard,) = storage_class_objects()
    assert standard["metadata"]["name"] == "standard"
    assert standard["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true"
    assert (standard["provisioner"], standard["volumeBindingMode"]) == (PROVISIONER, "Immediate")


def test_the_provisioner_is_created_after_its_rights_and_can_be_posted():
    objects = storage_provisioner_objects()
    assert [obj["kind"] for obj in objects] == ["ServiceAccount", "ClusterRoleBinding", "Pod"]
    assert [object_path(obj) for obj in objects][-1] == "/api/v1/namespaces/kube-system/pods/storage-provisioner"
    container = objects[-1]["spec"]["containers"][0]
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["image"] == "gcr.io/k8s-minikube/storage-provisioner:v5"
