from minikube.addons.storage import PROVISIONER, addons, storage_class_objects, storage_provisioner_objects
from minikube.kubernetes.api import object_path


def test_the_default_class_binds_at_once():
    (standard,) = storage_class_objects()
    assert standard["metadata"]["name"] == "standard"
    assert standard["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true"
    assert (standard["provisioner"], standard["volumeBindingMode"]) == (PROVISIONER, "Immediate")


def test_the_provisioner_is_created_after_its_rights_and_can_be_posted():
    objects = storage_provisioner_objects()
    assert [obj["kind"] for obj in objects] == ["ServiceAccount", "ClusterRoleBinding", "Deployment"]
    assert [object_path(obj) for obj in objects][-1] == "/apis/apps/v1/namespaces/kube-system/deployments/storage-provisioner"
    container = objects[-1]["spec"]["template"]["spec"]["containers"][0]
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["image"] == "gcr.io/k8s-minikube/storage-provisioner:v5"


def test_scripts_find_the_provisioner_by_upstreams_label():
    deployment = storage_provisioner_objects()[-1]
    assert deployment["spec"]["template"]["metadata"]["labels"]["integration-test"] == "storage-provisioner"
    assert deployment["spec"]["selector"]["matchLabels"].items() <= deployment["spec"]["template"]["metadata"]["labels"].items()


def test_nothing_that_we_run_is_a_bare_pod():
    assert [obj["kind"] for objects in addons().values() for obj in objects if obj["kind"] == "Pod"] == []
