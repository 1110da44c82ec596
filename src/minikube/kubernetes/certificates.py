"""The certificates of one cluster: which there are, who signs them, what they say, and where they are kept.

kubeadm finds all of them in place and adds none: the set, the names and the uses are those of its own `certs` phase.
"""

from __future__ import annotations

import ipaddress
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from minikube.host.files import cannot_write, write_durably
from minikube.kubernetes import pki, trustbundle
from minikube.kubernetes.clusterspec import CONTROL_PLANE_NAME, service_address
from minikube.output.reason import Reason
from minikube.profiles.paths import home, profile_directory

# What a control plane has in its certificatesDir, besides the pair that signs tokens. The first two sign; a worker gets no key of theirs.
PAIRS = (
    *("ca", "front-proxy-ca", "apiserver", "apiserver-kubelet-client", "apiserver-etcd-client", "front-proxy-client", "kubelet"),
    *("controllers/serving", "etcd/ca", "etcd/server", "etcd/peer", "etcd/healthcheck-client"),
)
NODE_FILES = (*(f"{pair}.{end}" for pair in PAIRS for end in ("crt", "key")), "sa.pub", "sa.key")

_NAME, _PROXY_NAME = "minikubeCA", "proxyClientCA"


class Identity(NamedTuple):
    """What the certificates of a node must name."""

    profile: str
    node_name: str
    node_ip: str
    service_cidr: str = "10.96.0.0/12"
    dns_domain: str = "cluster.local"
    apiserver_name: str = "minikubeCA"
    apiserver_names: tuple[str, ...] = ()
    apiserver_ips: tuple[str, ...] = ()
    lifetime: timedelta = pki.LEAF_LIFETIME
    control_plane: bool = True


class Authorities(NamedTuple):
    """The two authorities of one cluster. No other cluster believes them: each is a trust domain of its own."""

    cluster: pki.Authority
    proxy: pki.Authority


def ensure_authorities(profile: str) -> Authorities:
    """Load the profile's `ca` and `proxy-client-ca`, making what is missing or about to expire. Two threads at once get the same ones."""
    directory = profile_directory(profile)
    with trustbundle.locked():
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise cannot_write(directory, error) from error
        authorities = Authorities(
            _ensure_authority(directory / "ca.crt", directory / "ca.key", _NAME),
            _ensure_authority(directory / "proxy-client-ca.crt", directory / "proxy-client-ca.key", _PROXY_NAME),
        )
        _retire_shared_authority()
        trustbundle.update()
        return authorities


def unused_authority(profile: str) -> Path | None:
    """A pair of the user's own in the home, which signed for all clusters before each had an authority of its own."""
    pair = _shared_pair()
    new = not (profile_directory(profile) / "ca.crt").exists()
    return home() / "ca.key" if new and pair is not None and not pki.is_self_signed(pair, _NAME) else None


def _shared_pair() -> pki.Issued | None:
    return pki.read_pair(home() / "ca.crt", home() / "ca.key")


def _retire_shared_authority() -> None:
    """Earlier versions had one for all clusters, with its key in every node: it goes when no cluster needs it any more."""
    pair = _shared_pair()
    if pair is None or not pki.is_self_signed(pair, _NAME):
        return
    if any(not path.with_name("ca.crt").exists() for path in home().glob("profiles/*/apiserver.crt")):
        return
    for name in ("ca.key", "proxy-client-ca.key", "proxy-client-ca.crt"):
        (home() / name).unlink(missing_ok=True)


def ensure_cluster_certificates(identity: Identity, *, node_directory: Path, authorities: Authorities) -> list[str]:
    """Make what is missing, expiring or no longer true, in the profile and in the node's certificatesDir; say what was made.

    `node_directory` is the host's path of the node's /var/lib/minikube/certs. What fits is left alone, so a second call does nothing.
    A worker gets its kubelet's pair, and nothing that signs.
    """
    profile = profile_directory(identity.profile)
    try:
        for part in ("etcd", "controllers") if identity.control_plane else ("",):
            (node_directory / part).mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise cannot_write(node_directory, error) from error
    made: list[str] = []

    def leaf(name: str, authority: pki.Authority, request: pki.LeafRequest, *copies: Path) -> None:
        certificate, key = copies[0].with_suffix(".crt"), copies[0].with_suffix(".key")
        pair = pki.read_pair(certificate, key)
        if pair is None or not pki.fits(pair, authority, request):
            pair = pki.issue(authority, request)
            pki.write_pair(certificate, key, pair)
            made.append(name)
        for copy in copies[1:]:
            _copy(pair, copy)

    def client(common_name: str, organization: str = "") -> pki.LeafRequest:
        return pki.LeafRequest(common_name, organization, client=True, lifetime=identity.lifetime)

    kubelet = pki.LeafRequest(
        f"system:node:{identity.node_name}",
        "system:nodes",
        server=True,
        names=(identity.node_name, "localhost"),
        addresses=(identity.node_ip, "127.0.0.1"),
        lifetime=identity.lifetime,
    )
    leaf("kubelet", authorities.cluster, kubelet, node_directory / "kubelet")
    if not identity.control_plane:
        pki.write_certificate(node_directory / "ca.crt", authorities.cluster)
        return made

    leaf("client", authorities.cluster, client("minikube-user", "system:masters"), profile / "client")
    leaf("apiserver", authorities.cluster, _apiserver(identity), profile / "apiserver", node_directory / "apiserver")
    leaf("proxy-client", authorities.proxy, client("front-proxy-client"), profile / "proxy-client", node_directory / "front-proxy-client")
    leaf(
        "apiserver-kubelet-client",
        authorities.cluster,
        # v1.37 grants the kubelet API to this name, v1.36 and older to this group.
        client("kube-apiserver-kubelet-client", "kubeadm:cluster-admins"),
        node_directory / "apiserver-kubelet-client",
    )
    controllers = pki.LeafRequest(
        "kube-controllers", server=True, names=("localhost",), addresses=("127.0.0.1",), lifetime=identity.lifetime
    )
    leaf("controllers", authorities.cluster, controllers, node_directory / "controllers" / "serving")
    _copy(pki.authority_pem(authorities.cluster), node_directory / "ca")
    _copy(pki.authority_pem(authorities.proxy), node_directory / "front-proxy-ca")

    etcd = _ensure_authority(node_directory / "etcd" / "ca.crt", node_directory / "etcd" / "ca.key", "etcd-ca", durable=False)
    member = pki.LeafRequest(
        identity.node_name,
        server=True,
        client=True,
        names=(identity.node_name, "localhost"),
        addresses=(identity.node_ip, "127.0.0.1", "::1"),
        lifetime=identity.lifetime,
    )
    leaf("etcd-server", etcd, member, node_directory / "etcd" / "server")
    leaf("etcd-peer", etcd, member, node_directory / "etcd" / "peer")
    leaf("etcd-healthcheck-client", etcd, client("kube-etcd-healthcheck-client"), node_directory / "etcd" / "healthcheck-client")
    leaf("apiserver-etcd-client", etcd, client("kube-apiserver-etcd-client"), node_directory / "apiserver-etcd-client")
    if _ensure_signing_key(node_directory):
        made.append("sa")
    return made


def _apiserver(identity: Identity) -> pki.LeafRequest:
    for address in identity.apiserver_ips:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            raise Reason("MK_USAGE", f'--apiserver-ips: "{address}" is not an IP address') from None
    for name in (identity.apiserver_name, *identity.apiserver_names):
        if not name.isascii():
            raise Reason("MK_USAGE", f'--apiserver-names: "{name}" is not a host name')
    first_service = service_address(identity.service_cidr, 1)
    service = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", f"kubernetes.default.svc.{identity.dns_domain}")
    return pki.LeafRequest(
        "kube-apiserver",
        server=True,
        names=(
            *identity.apiserver_names,
            identity.apiserver_name,
            CONTROL_PLANE_NAME,
            identity.node_name,
            *service,
            "localhost",
        ),
        addresses=(*identity.apiserver_ips, first_service, "127.0.0.1", "10.0.0.1", identity.node_ip),
        lifetime=identity.lifetime,
    )


def _ensure_authority(certificate: Path, key: Path, common_name: str, *, durable: bool = True) -> pki.Authority:
    pair = pki.read_pair(certificate, key)
    if pair is not None:
        try:
            authority = pki.load_authority(pair, of_node=not durable)
        except (ValueError, TypeError) as error:
            if durable:  # clusters may depend on it: only its owner can say that it is worthless
                raise Reason(
                    "GUEST_CERT",
                    f"The certificate authority {certificate} cannot be used: {error}",
                    advice=f"Restore {certificate} and {key.name} from a backup, or remove both files: the next start makes new ones.",
                ) from error
        else:
            if not (pki.expires_soon(authority) if durable else pki.has_expired(authority)):
                return authority
    authority = pki.new_authority(common_name)
    made = pki.authority_pem(authority)
    if durable:
        write_durably(key, made.key, mode=0o600)
        write_durably(certificate, made.certificate)
    else:
        pki.write_pair(certificate, key, made)
    return authority


def _ensure_signing_key(directory: Path) -> bool:
    public, key = directory / "sa.pub", directory / "sa.key"
    pair = pki.read_pair(public, key)
    if pair is not None and pki.signing_key_works(pair):
        return False
    pki.write_pair(public, key, pki.new_signing_key())
    return True


def _copy(pair: pki.Issued, stem: Path) -> None:
    certificate, key = stem.with_suffix(".crt"), stem.with_suffix(".key")
    if pki.read_pair(certificate, key) != pair:
        pki.write_pair(certificate, key, pair)
