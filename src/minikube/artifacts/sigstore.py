"""Keyless signatures as Kubernetes' release process makes them (cosign sign-blob): a signature, and a certificate for ten minutes.

Fulcio gives such certificates to whoever logs in as the identity they name, and puts each into a public log. Checked here, without a
network: the certificate is Fulcio's, a log that is known has seen it while it was valid, it names the expected identity, and its key signed
the file. Not checked: that the signature itself is in Rekor, the log of signatures, because release files come without that proof.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from minikube.artifacts.endpoints import Signer

_ROOTS = Path(__file__).with_name("sigstore-roots.json")
# Who has logged in where, as Fulcio writes it: the older form is plain text, the newer one DER.
_ISSUER, _ISSUER_AS_DER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1"), x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
_LARGEST = 1 << 16


class BadSignature(Exception):
    """Why a signature does not vouch for a file."""


class Authority(NamedTuple):
    """Certificates that issue, the one of those who sign first, and when they count."""

    certificates: tuple[x509.Certificate, ...]
    since: datetime
    until: datetime


class Roots(NamedTuple):
    """Whom this machine believes. `logs` are keys of certificate transparency logs, by id."""

    authorities: tuple[Authority, ...]
    logs: Mapping[bytes, ec.EllipticCurvePublicKey]


@cache
def public_roots() -> Roots:
    """Those of sigstore's public instance."""
    known = json.loads(_ROOTS.read_bytes())
    authorities = [
        Authority(
            tuple(x509.load_der_x509_certificate(base64.b64decode(one)) for one in authority["certificates"]),
            _moment(authority["from"]),
            _moment(authority["until"]),
        )
        for authority in known["authorities"]
    ]
    logs = {base64.b64decode(log["id"]): load_der_public_key(base64.b64decode(log["key"])) for log in known["logs"]}
    return Roots(tuple(authorities), {id: key for id, key in logs.items() if isinstance(key, ec.EllipticCurvePublicKey)})


def verify(file: Path, signature: bytes, certificate: bytes, identity: Signer, roots: Roots) -> None:
    """BadSignature unless that identity has signed the file."""
    try:
        signer = _certificate(certificate)
        issuer = _issuer(signer, roots)
        _check_log(signer, issuer, roots)
        _check_identity(signer, identity)
        key = signer.public_key()
        if not isinstance(key, ec.EllipticCurvePublicKey):
            raise BadSignature("the certificate has a key of an unexpected kind")
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").digest()
        key.verify(base64.b64decode(signature[:_LARGEST], validate=False), digest, ec.ECDSA(Prehashed(hashes.SHA256())))
    except InvalidSignature:
        raise BadSignature("the signature is not one of this file") from None
    except (ValueError, TypeError, UnsupportedAlgorithm, x509.ExtensionNotFound, x509.DuplicateExtension, x509.InvalidVersion) as error:
        raise BadSignature(f"the certificate or signature cannot be read: {error}") from None


def _certificate(content: bytes) -> x509.Certificate:
    """PEM, or PEM in base64, as cosign writes it."""
    content = content[:_LARGEST].strip()
    return x509.load_pem_x509_certificate(content if content.startswith(b"-----") else base64.b64decode(content))


def _issuer(signer: x509.Certificate, roots: Roots) -> x509.Certificate:
    began = signer.not_valid_before_utc
    if signer.not_valid_after_utc - began > timedelta(days=1):
        raise BadSignature("the certificate lives longer than those for a signature do")
    usage = signer.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    if ExtendedKeyUsageOID.CODE_SIGNING not in usage:
        raise BadSignature("the certificate is not for signing files")
    for authority in roots.authorities:
        issuer = authority.certificates[0]
        if not (authority.since <= began <= authority.until and issuer.not_valid_before_utc <= began <= issuer.not_valid_after_utc):
            continue
        try:
            signer.verify_directly_issued_by(issuer)
        except (InvalidSignature, ValueError, TypeError):
            continue
        return issuer
    raise BadSignature("the certificate is not from sigstore's authority")


def _check_log(signer: x509.Certificate, issuer: x509.Certificate, roots: Roots) -> None:
    """A promise of a known log that it has the certificate, given while that was valid (RFC 6962)."""
    seen = signer.extensions.get_extension_for_class(x509.PrecertificateSignedCertificateTimestamps).value
    issuer_key = hashlib.sha256(issuer.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    body = signer.tbs_precertificate_bytes
    for promise in seen:
        log, when = roots.logs.get(promise.log_id), promise.timestamp.replace(tzinfo=UTC)
        if log is None or not signer.not_valid_before_utc - timedelta(minutes=1) <= when <= signer.not_valid_after_utc:
            continue
        milliseconds = (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
        extensions = promise.extension_bytes
        promised = b"".join(
            (
                b"\0\0",  # version 1, of a certificate
                milliseconds.to_bytes(8, "big"),
                b"\0\1",  # before its promises were added
                issuer_key,
                len(body).to_bytes(3, "big") + body,
                len(extensions).to_bytes(2, "big") + extensions,
            )
        )
        try:
            log.verify(promise.signature, promised, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            continue
        return
    raise BadSignature("no known log has seen the certificate")


def _check_identity(signer: x509.Certificate, identity: Signer) -> None:
    names = signer.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    accounts = names.get_values_for_type(x509.RFC822Name)
    if accounts != [identity.account]:
        raise BadSignature(f"it was signed by {', '.join(accounts)[:200] or 'nobody'} instead of {identity.account}")
    issuers = set()
    for extension in signer.extensions:
        if extension.oid in (_ISSUER, _ISSUER_AS_DER) and isinstance(extension.value, x509.UnrecognizedExtension):
            raw = extension.value.value
            issuers.add(raw[2:] if extension.oid == _ISSUER_AS_DER and raw[:1] == b"\x0c" and raw[1] == len(raw) - 2 else raw)
    if issuers != {identity.issuer.encode()}:
        raise BadSignature(f"the log-in of {identity.account} was not vouched for by {identity.issuer}")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text) if text else datetime.max.replace(tzinfo=UTC)
