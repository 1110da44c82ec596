import subprocess
import sys
from datetime import timedelta

import pytest
from cryptography import x509

from minikube.kubernetes import pki
from minikube.kubernetes.certificates import Identity, ensure_authorities, ensure_cluster_certificates
from minikube.kubernetes.componentconf import ensure_component_confs
from minikube.output.reason import Reason

IDENTITY = Identity("dev", "dev", "10.5.0.2", apiserver_names=("api.example",), apiserver_ips=("192.0.2.7",))


@pytest.fixture
def certs(home, tmp_path):
    return tmp_path / "node" / "certs"


def make(certs, identity=IDENTITY):
    return ensure_cluster_certificates(identity, node_directory=certs, authorities=ensure_authorities())


def test_everything_kubeadm_looks_for_is_there(certs, home):
    make(certs)
    pairs = "ca apiserver apiserver-kubelet-client apiserver-etcd-client front-proxy-ca front-proxy-client kubelet"
    etcd = "ca server peer healthcheck-client"
    expected = {f"{name}.{end}" for name in pairs.split() for end in ("crt", "key")} | {"sa.key", "sa.pub", "etcd", "controllers"}
    assert {path.name for path in certs.iterdir()} == expected
    assert {path.name for path in (certs / "controllers").iterdir()} == {"serving.crt", "serving.key"}
    assert {path.name for path in (certs / "etcd").iterdir()} == {f"{name}.{end}" for name in etcd.split() for end in ("crt", "key")}
    assert {path.name for path in (home / "profiles/dev").iterdir()} == {
        f"{name}.{end}" for name in ("client", "apiserver", "proxy-client") for end in ("crt", "key")
    }
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in certs.rglob("*.key"))


def test_the_api_server_has_upstreams_names(certs):
    make(certs)
    names = x509.load_pem_x509_certificate((certs / "apiserver.crt").read_bytes()).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert set(names.value.get_values_for_type(x509.DNSName)) == {
        "api.example",
        "minikubeCA",
        "control-plane.minikube.internal",
        "dev",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "localhost",
    }
    addresses = {str(address) for address in names.value.get_values_for_type(x509.IPAddress)}
    assert addresses == {"10.96.0.1", "127.0.0.1", "10.0.0.1", "10.5.0.2", "192.0.2.7"}


def test_a_second_call_makes_nothing(certs):
    make(certs)
    before = {path: path.read_bytes() for path in certs.rglob("*") if path.is_file()}
    assert make(certs) == []
    assert {path: path.read_bytes() for path in certs.rglob("*") if path.is_file()} == before


def test_a_new_address_renews_only_what_names_it(certs):
    make(certs)
    assert make(certs, IDENTITY._replace(node_ip="10.6.0.2")) == ["apiserver", "kubelet", "etcd-server", "etcd-peer"]


def test_expiring_certificates_are_renewed(certs):
    make(certs, IDENTITY._replace(lifetime=timedelta(days=10)))
    assert len(pki.expiring([certs])) == 9
    made = make(certs)
    assert "client" in made
    assert "sa" not in made
    assert pki.expiring([certs]) == []


def test_a_torn_file_is_made_again(certs):
    make(certs)
    (certs / "apiserver-etcd-client.key").write_text("")
    (certs / "front-proxy-client.crt").write_text("torn")
    assert make(certs) == ["apiserver-etcd-client"]
    assert b"BEGIN" in (certs / "front-proxy-client.crt").read_bytes()


def test_profiles_share_the_authority(certs, tmp_path):
    make(certs)
    make(tmp_path / "other", IDENTITY._replace(profile="other"))
    assert (certs / "ca.crt").read_bytes() == (tmp_path / "other/ca.crt").read_bytes()
    assert (certs / "etcd/ca.crt").read_bytes() != (tmp_path / "other/etcd/ca.crt").read_bytes()


def test_a_damaged_authority_is_never_replaced(certs, home):
    make(certs)
    (home / "ca.key").write_text("junk")
    with pytest.raises(Reason) as caught:
        ensure_authorities()
    assert caught.value.id == "GUEST_CERT"
    assert (home / "ca.key").read_text() == "junk"


def test_many_at_once_get_one_authority(home):
    code = "from minikube.kubernetes.certificates import *; print(ensure_authorities().cluster.certificate.serial_number)"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(5)]
    assert len({process.communicate()[0] for process in running}) == 1


@pytest.mark.parametrize("wrong", [{"apiserver_ips": ("nonsense",)}, {"apiserver_names": ("ü.example",)}, {"service_cidr": "10.96.0.0/99"}])
def test_what_a_user_got_wrong_is_said(certs, wrong):
    with pytest.raises(Reason) as caught:
        make(certs, IDENTITY._replace(**wrong))
    assert caught.value.id == "MK_USAGE"


def test_component_confs_are_kept_while_they_fit(home, tmp_path):
    authority = ensure_authorities().cluster

    def confs(**changes):
        arguments = {"authority": authority, "node_name": "dev", "node_ip": "10.5.0.2", "port": 8443, "cluster_name": "mk"} | changes
        return ensure_component_confs(tmp_path / "etc", **arguments)

    everything = ["admin.conf", "super-admin.conf", "kubelet.conf", "controller-manager.conf", "scheduler.conf"]
    assert confs() == everything
    assert confs() == []
    assert confs(node_ip="10.6.0.2") == ["kubelet.conf", "controller-manager.conf", "scheduler.conf"]
    assert confs(node_ip="10.6.0.2", port=9443) == everything
    (tmp_path / "etc/admin.conf").write_text("torn")
    assert confs(node_ip="10.6.0.2", port=9443) == ["admin.conf"]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (tmp_path / "etc").iterdir())
