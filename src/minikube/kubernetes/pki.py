"""Keys and certificates: authorities that are made once, and leaves that are issued, checked and renewed.

ECDSA P-256 throughout: an RSA key costs a hundred times the CPU of one of these, and a cluster needs twenty.
An authority that upstream minikube left behind (RSA) is used as it is.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from minikube.host.files import cannot_write
from minikube.output.reason import Reason

AUTHORITY_LIFETIME = timedelta(days=3650)
LEAF_LIFETIME = timedelta(hours=26280)
RENEW_BEFORE = timedelta(days=30)
# Machines that wake up, and nodes whose clock runs late, must not find a certificate "not yet valid".
BACKDATE = timedelta(hours=1)
# Pairs come from nodes, too. A key of RSA with 8192 bits is shorter than this; a certificate of the API server may have hundreds of names.
MOST_KEY_BYTES, MOST_CERTIFICATE_BYTES = 8 << 10, 64 << 10

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class Authority(NamedTuple):
    """A certificate that signs others, with its key."""

    certificate: x509.Certificate
    key: PrivateKey


class LeafRequest(NamedTuple):
    """What a certificate must say; an existing one that says it and lives long enough is kept."""

    common_name: str
    organization: str = ""
    server: bool = False
    client: bool = False
    names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    lifetime: timedelta = LEAF_LIFETIME


class Issued(NamedTuple):
    """A certificate and its key as PEM."""

    certificate: bytes
    key: bytes


class Expiring(NamedTuple):
    """A certificate file and the moment it stops working."""

    path: Path
    not_after: datetime


def new_authority(common_name: str) -> Authority:
    """A self-signed authority that lives ten years."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(now + AUTHORITY_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(signs=True), critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate, key)


def issue(authority: Authority, request: LeafRequest) -> Issued:
    """A new key and a certificate for it, signed by the authority and never outliving it."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, request.organization)] if request.organization else []
    subject.append(x509.NameAttribute(NameOID.COMMON_NAME, request.common_name))
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(subject))
        .issuer_name(authority.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(max(now - BACKDATE, authority.certificate.not_valid_before_utc))
        .not_valid_after(min(now + request.lifetime, authority.certificate.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(_usages(request)), critical=False)
        .add_extension(_authority_identifier(authority), critical=False)
    )
    alternatives = _alternatives(request)
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    certificate = builder.sign(authority.key, hashes.SHA256())
    return Issued(certificate.public_bytes(serialization.Encoding.PEM), key_pem(key))


def fits(issued: Issued, authority: Authority, request: LeafRequest) -> bool:
    """Whether an existing pair still does the job: same subject, uses and names, right signer, enough life left."""
    try:
        certificate = _certificate(issued.certificate)
        certificate.verify_directly_issued_by(authority.certificate)
        key = _key(issued.key)
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        present = _present_alternatives(certificate)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm, x509.ExtensionNotFound):
        return False
    return (
        certificate.public_key() == key.public_key()
        and _subject(certificate) == (request.common_name, request.organization)
        and set(_usages(request)) <= set(usages)
        and set(_alternatives(request)) <= present
        # A third of a short life is as early as thirty days of three years.
        and not _expires_within(certificate, min(RENEW_BEFORE, request.lifetime / 3))
    )


def read_pair(certificate: Path, key: Path) -> Issued | None:
    """What the two files hold, None if one is missing."""
    try:
        return Issued(certificate.read_bytes(), key.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Reason("GUEST_CERT", f"{certificate} or its key cannot be read: {error.strerror}") from error


def load_authority(pair: Issued, *, of_node: bool = False) -> Authority:
    """The authority in a pair of PEM texts; ValueError if they are not one. A node has none of RSA: each was made by `new_authority`."""
    try:
        certificate, key = _certificate(pair.certificate), _key(pair.key, check_rsa=not of_node)
        belongs = key.public_key() == certificate.public_key()
    except UnsupportedAlgorithm as error:
        raise ValueError(str(error)) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) or not belongs:
        raise ValueError("the key does not belong to the certificate")
    if of_node and isinstance(key, rsa.RSAPrivateKey):
        raise ValueError("the key is not one that was made for it")
    return Authority(certificate, key)


def is_self_signed(pair: Issued, common_name: str) -> bool:
    """Whether the certificate names itself as its signer, and this alone."""
    try:
        certificate = x509.load_pem_x509_certificate(pair.certificate)
    except ValueError:
        return False
    return certificate.subject == certificate.issuer == x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def expires_soon(authority: Authority) -> bool:
    life = authority.certificate.not_valid_after_utc - authority.certificate.not_valid_before_utc
    return _expires_within(authority.certificate, min(RENEW_BEFORE, life / 3))


def has_expired(authority: Authority) -> bool:
    return _expires_within(authority.certificate, timedelta())


def authority_pem(authority: Authority) -> Issued:
    return Issued(authority.certificate.public_bytes(serialization.Encoding.PEM), key_pem(authority.key))


def key_pem(key: PrivateKey) -> bytes:
    """A key in the form kubeadm itself writes (SEC 1 or PKCS#1)."""
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())


def new_signing_key() -> Issued:
    """The pair that signs service account tokens: public key and private key, no certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return Issued(public, key_pem(key))


def signing_key_works(pair: Issued) -> bool:
    try:
        public = serialization.load_pem_public_key(_limited(pair.certificate, MOST_KEY_BYTES))
        return _key(pair.key).public_key() == public
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False


def write_pair(certificate: Path, key: Path, issued: Issued) -> None:
    """Write both files, each whole or not at all. A pair that a crash tore apart no longer fits, and is issued anew."""
    _write(key, issued.key, 0o600)
    _write(certificate, issued.certificate, 0o644)


def write_certificate(path: Path, authority: Authority) -> None:
    """The certificate without its key, for those who have to know it and sign nothing."""
    _write(path, authority_pem(authority).certificate, 0o644)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    _write(path, data, 0o600)


def expiring(directories: Iterable[Path], *, within: timedelta = RENEW_BEFORE) -> list[Expiring]:
    """Every certificate below these directories that has expired or soon will, first to go first."""
    found = []
    for path in _certificate_files(directories):
        try:
            certificate = x509.load_pem_x509_certificate(path.read_bytes())
        except (OSError, ValueError):
            continue
        if _expires_within(certificate, within):
            found.append(Expiring(path, certificate.not_valid_after_utc))
    return sorted(found, key=lambda one: one.not_after)


def _certificate_files(directories: Iterable[Path]) -> Iterator[Path]:
    for directory in directories:
        yield from sorted(directory.rglob("*.crt"))


def _write(path: Path, data: bytes, mode: int) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        try:
            os.fchmod(descriptor, mode)
            os.write(descriptor, data)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise cannot_write(path, error) from error


def _certificate(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(_limited(pem, MOST_CERTIFICATE_BYTES))


def _key(pem: bytes, *, check_rsa: bool = False) -> PrivateKeyTypes:
    """Whether the factors of an RSA key are primes takes OpenSSL minutes to find out, if a node has made them large."""
    return serialization.load_pem_private_key(_limited(pem, MOST_KEY_BYTES), password=None, unsafe_skip_rsa_key_validation=not check_rsa)


def _limited(pem: bytes, most: int) -> bytes:
    if len(pem) > most:
        raise ValueError(f"{len(pem)} bytes are too many")
    return pem


def _expires_within(certificate: x509.Certificate, within: timedelta) -> bool:
    return certificate.not_valid_after_utc <= datetime.now(UTC) + within


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=True,
        key_cert_sign=signs,
        crl_sign=False,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _usages(request: LeafRequest) -> list[x509.ObjectIdentifier]:
    server = [ExtendedKeyUsageOID.SERVER_AUTH] if request.server else []
    return server + ([ExtendedKeyUsageOID.CLIENT_AUTH] if request.client else [])


def _alternatives(request: LeafRequest) -> list[x509.GeneralName]:
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in dict.fromkeys(request.names)]
    return names + [x509.IPAddress(ipaddress.ip_address(address)) for address in dict.fromkeys(request.addresses)]


def _present_alternatives(certificate: x509.Certificate) -> set[x509.GeneralName]:
    try:
        return set(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return set()


def _subject(certificate: x509.Certificate) -> tuple[str, str]:
    def first(oid: x509.ObjectIdentifier) -> str:
        values = certificate.subject.get_attributes_for_oid(oid)
        return str(values[0].value) if values else ""

    return first(NameOID.COMMON_NAME), first(NameOID.ORGANIZATION_NAME)


def _authority_identifier(authority: Authority) -> x509.AuthorityKeyIdentifier:
    try:
        own = authority.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
