import base64
import shutil
import subprocess
import sys
from datetime import timedelta

import pytest
from cryptography import x509

from minikube.kubernetes import pki, trustbundle
from minikube.kubernetes.certificates import NODE_FILES, Identity, ensure_authorities, ensure_cluster_certificates, unused_authority
from minikube.kubernetes.componentconf import ensure_component_confs
from minikube.output.reason import Reason
from minikube.profiles.paths import authority_text

IDENTITY = Identity("dev", "dev", "10.5.0.2", apiserver_names=("api.example",), apiserver_ips=("192.0.2.7",))


@pytest.fixture
def certs(home, tmp_path):
    return tmp_path / "node" / "certs"


def make(certs, identity=IDENTITY):
    return ensure_cluster_certificates(identity, node_directory=certs, authorities=ensure_authorities(identity.profile))


def test_everything_kubeadm_looks_for_is_there(certs, home):
    make(certs)
    pairs = "ca apiserver apiserver-kubelet-client apiserver-etcd-client front-proxy-ca front-proxy-client kubelet"
    etcd = "ca server peer healthcheck-client"
    expected = {f"{name}.{end}" for name in pairs.split() for end in ("crt", "key")} | {"sa.key", "sa.pub", "etcd", "controllers"}
    assert {path.name for path in certs.iterdir()} == expected
    assert {path.name for path in (certs / "controllers").iterdir()} == {"serving.crt", "serving.key"}
    assert {path.name for path in (certs / "etcd").iterdir()} == {f"{name}.{end}" for name in etcd.split() for end in ("crt", "key")}
    assert {path.name for path in (home / "profiles/dev").iterdir()} == {
        f"{name}.{end}" for name in ("ca", "proxy-client-ca", "client", "apiserver", "proxy-client") for end in ("crt", "key")
    }
    assert {str(path.relative_to(certs)) for path in certs.rglob("*") if path.is_file()} == set(NODE_FILES)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (*certs.rglob("*.key"), *home.rglob("*.key")))


def test_a_worker_gets_no_key_but_its_kubelets(certs, home, tmp_path):
    """Whoever is root in it can sign nothing, and is nobody but this node."""
    make(certs)
    worker, conf = tmp_path / "worker", tmp_path / "worker-etc"
    identity = IDENTITY._replace(node_name="dev-m02", node_ip="10.5.0.3", control_plane=False)
    assert make(worker, identity) == ["kubelet"]
    assert {path.name for path in worker.rglob("*")} == {"ca.crt", "kubelet.crt", "kubelet.key"}
    assert (worker / "ca.crt").read_bytes() == (home / "profiles/dev/ca.crt").read_bytes()
    assert make(worker, identity) == []
    authority = ensure_authorities("dev").cluster
    arguments = {"authority": authority, "node_name": "dev-m02", "node_ip": "10.5.0.3", "port": 8443, "cluster_name": "mk"}
    assert ensure_component_confs(conf, control_plane=False, **arguments) == ["kubelet.conf"]
    assert "server: https://control-plane.minikube.internal:8443" in (conf / "kubelet.conf").read_text()


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
    assert make(certs, IDENTITY._replace(node_ip="10.6.0.2")) == ["kubelet", "apiserver", "etcd-server", "etcd-peer"]


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


def test_long_keys_of_a_node_are_made_again(certs, tmp_path):
    make(certs)
    for name in ("kubelet.key", "sa.key", "etcd/ca.key"):
        (certs / name).write_bytes((certs / name).read_bytes() + b"\n" * (8 << 10))
    etcd = ["etcd-server", "etcd-peer", "etcd-healthcheck-client", "apiserver-etcd-client"]
    assert make(certs) == ["kubelet", *etcd, "sa"]
    arguments = {
        "authority": ensure_authorities("dev").cluster,
        "node_name": "dev",
        "node_ip": "10.5.0.2",
        "port": 8443,
        "cluster_name": "mk",
    }
    ensure_component_confs(tmp_path, **arguments)
    conf = tmp_path / "scheduler.conf"
    before, _, key = conf.read_text().rpartition("client-key-data: ")
    conf.write_text(f"{before}client-key-data: {base64.b64encode(base64.b64decode(key) + bytes(8 << 10)).decode()}\n")
    assert ensure_component_confs(tmp_path, **arguments) == ["scheduler.conf"]


def test_no_two_profiles_share_a_key(certs, tmp_path):
    make(certs)
    make(tmp_path / "other", IDENTITY._replace(profile="other"))
    ours, theirs = ({path.read_bytes() for path in node.rglob("*.key")} for node in (certs, tmp_path / "other"))
    assert len(ours) == len(theirs) == 13
    assert not ours & theirs


def test_a_damaged_authority_is_never_replaced(certs, home):
    make(certs)
    key = home / "profiles/dev/ca.key"
    key.write_text("junk")
    with pytest.raises(Reason) as caught:
        ensure_authorities("dev")
    assert caught.value.id == "GUEST_CERT"
    assert key.read_text() == "junk"


def test_an_authority_that_was_removed_is_made_again_and_signs_everything(certs, home):
    make(certs)
    before = {path: path.read_bytes() for path in certs.rglob("*") if path.is_file()}
    for name in ("ca.crt", "ca.key", "proxy-client-ca.crt", "proxy-client-ca.key"):
        (home / "profiles/dev" / name).unlink()
    make(certs)
    kept = {path.name for path, content in before.items() if path.read_bytes() == content and "etcd" not in str(path)}
    assert kept == {"sa.key", "sa.pub"}


def test_an_authority_is_replaced_before_it_expires(home, monkeypatch):
    """One for twenty days is good for two weeks."""

    def of_age(days):
        with monkeypatch.context() as earlier:
            earlier.setattr(pki, "BACKDATE", timedelta(days=days))
            earlier.setattr(pki, "AUTHORITY_LIFETIME", timedelta(days=20 - days))
            return pki.authority_pem(pki.new_authority("minikubeCA"))

    directory = home / "profiles/dev"
    directory.mkdir(parents=True)
    for age, kept in ((13, True), (14, False)):
        pki.write_pair(directory / "ca.crt", directory / "ca.key", before := of_age(age))
        assert (pki.authority_pem(ensure_authorities("dev").cluster) == before) is kept


def test_the_homes_bundle_has_the_authorities_of_all_profiles(home):
    """Many at once: each profile's is in it in the end, and no key is."""
    code = "import sys; from minikube.kubernetes.certificates import *; ensure_authorities(sys.argv[1])"
    running = [subprocess.Popen([sys.executable, "-c", code, name]) for name in ("one", "two", "three", "one", "two")]
    assert [process.wait() for process in running] == [0] * 5
    names = ("one", "three", "two")
    assert (home / "ca.crt").read_bytes() == b"".join((home / f"profiles/{name}/ca.crt").read_bytes() for name in names)
    assert not (home / "ca.key").exists()
    shutil.rmtree(home / "profiles/two")
    with trustbundle.locked():
        trustbundle.update()
    assert (home / "ca.crt").read_bytes() == b"".join((home / f"profiles/{name}/ca.crt").read_bytes() for name in names[:2])
    shutil.rmtree(home / "profiles")
    with trustbundle.locked():
        trustbundle.update()
    assert not (home / "ca.crt").exists()


def shared_by_all(home, name="minikubeCA"):
    """As versions before had it: one pair of files, and a profile whose certificates it has signed."""
    (home / "profiles/old").mkdir(parents=True)
    pair = pki.authority_pem(pki.new_authority(name))
    for stem in ("ca", "proxy-client-ca"):
        pki.write_pair(home / f"{stem}.crt", home / f"{stem}.key", pair)
    (home / "profiles/old/apiserver.crt").write_text("signed by it")
    return pair


def test_the_shared_authority_goes_with_the_last_cluster_that_needs_it(home):
    shared = shared_by_all(home)
    ensure_authorities("new")
    assert (home / "ca.key").exists()
    assert (home / "ca.crt").read_bytes() == shared.certificate + (home / "profiles/new/ca.crt").read_bytes()
    assert authority_text("old") == str(home / "ca.crt")
    ensure_authorities("old")
    assert authority_text("old") == str(home / "profiles/old/ca.crt")
    assert sorted(path.name for path in home.iterdir()) == ["ca.crt", "locks", "profiles"]
    assert shared.certificate not in (home / "ca.crt").read_bytes()


def test_an_authority_of_the_users_own_is_kept_and_not_used(home):
    shared = shared_by_all(home, "Example Company CA")
    assert unused_authority("old") == home / "ca.key"
    authorities = ensure_authorities("old")
    assert pki.read_pair(home / "ca.crt", home / "ca.key").key == shared.key
    assert (home / "ca.crt").read_bytes().startswith(shared.certificate)
    assert pki.authority_pem(authorities.cluster) != shared
    assert unused_authority("old") is None  # it has been said once


def test_an_authority_of_the_users_own_signs_where_it_is_put(certs, home):
    pair = pki.authority_pem(pki.new_authority("Example Company CA"))
    (home / "profiles/dev").mkdir(parents=True)
    pki.write_pair(home / "profiles/dev/ca.crt", home / "profiles/dev/ca.key", pair)
    make(certs)
    certificate = x509.load_pem_x509_certificate((certs / "apiserver.crt").read_bytes())
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(pair.certificate))


@pytest.mark.parametrize("wrong", [{"apiserver_ips": ("nonsense",)}, {"apiserver_names": ("ü.example",)}, {"service_cidr": "10.96.0.0/99"}])
def test_what_a_user_got_wrong_is_said(certs, wrong):
    with pytest.raises(Reason) as caught:
        make(certs, IDENTITY._replace(**wrong))
    assert caught.value.id == "MK_USAGE"


def test_component_confs_are_kept_while_they_fit(home, tmp_path):
    authority = ensure_authorities("dev").cluster

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
