"""Each cluster is a trust domain of its own: with everything that root in a node finds there, he is somebody in that cluster alone.

Every attack is run against the cluster that it comes from first, where it succeeds: it is a real one.
"""

from __future__ import annotations

import base64
import http.client
import io
import json
import ssl
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from support.minikube import Minikube
from support.servicetokens import ISSUER, signed, unchecked_claims

from e2e.conftest import Cluster, not_ready
from e2e.pair import Pair
from minikube.kubernetes import pki

API, KUBELET, ETCD = 8443, 10250, 2379
SECRETS = "/api/v1/namespaces/kube-system/secrets"
REFUSED = (401, "the connection")


class Loot(NamedTuple):
    """What root in a node has."""

    directory: Path
    client: Path
    """The user's own pair, which is on the host."""

    def pair(self, name: str) -> pki.Issued:
        return pki.Issued((self.directory / f"{name}.crt").read_bytes(), (self.directory / f"{name}.key").read_bytes())

    def forged(self, authority: str, name: str, group: str = "") -> Path:
        """A client's certificate, signed with an authority's key."""
        issued = pki.issue(pki.load_authority(self.pair(authority)), pki.LeafRequest(name, group, client=True))
        return self.kept(f"forged-{name}", issued.certificate + issued.key)

    def taken(self, name: str) -> Path:
        return self.kept(name.replace("/", "-"), b"".join(self.pair(name)))

    def kept(self, name: str, content: bytes) -> Path:
        path = self.directory / f"{name}.both"
        path.write_bytes(content)
        return path


def ask(cluster: Minikube, port: int, path: str, *, identity: Path | None = None, body: str = "", **headers: str) -> int | str:
    """The status of the answer, or who refused to give one."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if identity:
        context.load_cert_chain(identity)
    connection = http.client.HTTPSConnection(cluster.ok("ip").strip(), port, context=context, timeout=20)
    try:
        connection.request("POST" if body else "GET", path, body or None, headers)
        return connection.getresponse().status
    except (ssl.SSLError, ConnectionError):
        return "the connection"
    finally:
        connection.close()


@pytest.fixture(scope="module")
def loot(bare_cluster: Cluster, pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Loot:
    directory = tmp_path_factory.mktemp("loot")
    packed = bare_cluster.ssh("cd /var/lib/minikube/certs && tar ch . -C /var/lib/kubelet/pki $(ls /var/lib/kubelet/pki) | base64 -w0")
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(packed))) as archive:
        archive.extractall(directory, filter="data")
    profile = bare_cluster.place.home / "profiles" / bare_cluster.profile
    return Loot(directory, profile / "client")


def administrator(loot: Loot, cluster: Minikube) -> int | str:
    return ask(cluster, API, SECRETS, identity=loot.forged("ca", "anybody", "system:masters"))


def front_proxy(loot: Loot, cluster: Minikube) -> int | str:
    """Whoever it is speaks for everybody."""
    identity = loot.forged("front-proxy-ca", "front-proxy-client")
    headers = {"X-Remote-User": "anybody", "X-Remote-Group": "system:masters"}
    return ask(cluster, API, SECRETS, identity=identity, **headers)


def service_account(loot: Loot, cluster: Minikube) -> int | str:
    """A token that says what one of that very cluster would, identities included."""
    account = cluster.get("serviceaccount", "namespace-controller", "-n", "kube-system")["metadata"]
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": [ISSUER], "sub": "system:serviceaccount:kube-system:namespace-controller", "nbf": now, "iat": now}
    claims |= {"exp": now + 600, "kubernetes.io": {"namespace": "kube-system", "serviceaccount": {k: account[k] for k in ("name", "uid")}}}
    return ask(cluster, API, "/api/v1/namespaces", Authorization=f"Bearer {signed(claims, loot.directory / 'sa.key')}")


def node(loot: Loot, cluster: Minikube) -> int | str:
    """The kubelet of the first, which may read its own node: the second has one of that name, as far as it is asked."""
    return ask(cluster, API, "/api/v1/services", identity=loot.directory / "kubelet-client-current.pem")


def user(loot: Loot, cluster: Minikube) -> int | str:
    both = loot.client.with_suffix(".crt").read_bytes() + loot.client.with_suffix(".key").read_bytes()
    return ask(cluster, API, SECRETS, identity=loot.kept("user", both))


def database(loot: Loot, cluster: Minikube) -> int | str:
    identity = loot.forged("etcd/ca", "kube-apiserver-etcd-client")
    everything = json.dumps({"key": "AA==", "range_end": "AA==", "keys_only": True, "limit": 1})
    return ask(cluster, ETCD, "/v3/kv/range", identity=identity, body=everything)


def database_as_the_api_server(loot: Loot, cluster: Minikube) -> int | str:
    return ask(cluster, ETCD, "/health", identity=loot.taken("apiserver-etcd-client"))


def kubelet(loot: Loot, cluster: Minikube) -> int | str:
    return ask(cluster, KUBELET, "/pods", identity=loot.forged("ca", "anybody", "system:masters"))


def kubelet_as_the_api_server(loot: Loot, cluster: Minikube) -> int | str:
    return ask(cluster, KUBELET, "/pods", identity=loot.taken("apiserver-kubelet-client"))


ATTACKS = (
    *(administrator, front_proxy, service_account, node, user),
    *(database, database_as_the_api_server, kubelet, kubelet_as_the_api_server),
)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_what_opens_one_cluster_opens_no_other(
    attack: Callable[[Loot, Minikube], int | str], loot: Loot, bare_cluster: Cluster, pair: Pair
) -> None:
    assert attack(loot, bare_cluster) == 200
    assert attack(loot, pair.kept) in REFUSED


def test_only_its_own_authority_speaks_for_an_api_server(loot: Loot, bare_cluster: Cluster, pair: Pair) -> None:
    """For kubectl; the home's bundle is for scripts that reach for any cluster, and has no key."""
    home = bare_cluster.place.home

    def verified(cluster: Minikube, authority: Path) -> bool:
        connection = http.client.HTTPSConnection(cluster.ok("ip").strip(), API, context=ssl.create_default_context(cafile=str(authority)))
        try:
            connection.request("GET", "/version")
        except ssl.SSLCertVerificationError:
            return False
        return connection.getresponse().status == 200

    both = (bare_cluster, pair.kept)
    for cluster in both:
        kubeconfig = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json"))
        (own,) = (entry["cluster"]["certificate-authority"] for entry in kubeconfig["clusters"] if entry["name"] == cluster.profile)
        assert [verified(each, Path(own)) for each in both] == [each is cluster for each in both]
        assert verified(cluster, home / "ca.crt")
    assert not (home / "ca.key").exists()
    deleted = home / "profiles" / pair.doomed.profile
    assert not deleted.exists()
    assert (home / "ca.crt").read_text().count("BEGIN CERTIFICATE") == len([*home.glob("profiles/*/ca.crt")])


def test_tokens_of_pods_live_for_an_hour(bare_cluster: Cluster) -> None:
    tokens = bare_cluster.ssh("for token in /var/lib/kubelet/pods/*/volumes/*projected/*/token; do cat $token; echo; done").split()
    assert len(tokens) >= 3
    for claims in map(unchecked_claims, tokens):
        assert claims["exp"] - claims["iat"] == 3607
        assert "pod" in claims["kubernetes.io"]


def test_a_cluster_of_earlier_versions_gets_an_authority_of_its_own(pair: Pair, tmp_path: Path) -> None:
    """They kept one for all clusters in the home, and its key in every node."""
    cluster, home = pair.kept, pair.kept.place.home
    profile = home / "profiles" / cluster.profile
    cluster.kubectl("create", "configmap", "precious", "--from-literal=word=kept")
    shared = Loot(tmp_path, profile / "client")
    for ours, theirs in (("ca", "ca"), ("proxy-client-ca", "front-proxy-ca")):
        for end in ("crt", "key"):
            (tmp_path / f"{theirs}.{end}").write_bytes((profile / f"{ours}.{end}").read_bytes())
            (profile / f"{ours}.{end}").replace(home / f"{ours}.{end}")
    assert cluster.run("status").code == 0
    assert [attack(shared, cluster) for attack in (administrator, front_proxy, kubelet)] == [200, 200, 200]
    cluster.start()
    assert not_ready(cluster.get("pods", "-n", "kube-system")["items"]) == []
    assert cluster.get("configmap", "precious")["data"] == {"word": "kept"}
    assert {attack(shared, cluster) for attack in (administrator, front_proxy, kubelet)} == {401}
    secret = (tmp_path / "ca.key").read_text().splitlines()[1]
    assert cluster.ssh(f"grep -rlF {secret} /var/lib/minikube /var/lib/kubelet /etc/kubernetes || echo gone").strip() == "gone"
    trusted = cluster.get("configmap", "extension-apiserver-authentication", "-n", "kube-system")["data"]
    assert trusted["client-ca-file"] == (profile / "ca.crt").read_text()
    assert trusted["requestheader-client-ca-file"] == (profile / "proxy-client-ca.crt").read_text()
    assert not [*home.glob("*.key")]
    # What pods were given, and the kubelet, work with the new one.
    cluster.kubectl("-n", "kube-system", "exec", "deployment/coredns", "--", "/coredns", "-version")
