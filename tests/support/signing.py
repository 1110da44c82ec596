"""An authority and a log that stand in for sigstore's own, and files signed with certificates of them."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from minikube.artifacts.endpoints import KUBERNETES_SIGNER
from minikube.artifacts.sigstore import Authority, Roots

_PROMISES = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_NEWER_ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority of a test")])


class Signing:
    """`roots` are its own; each file is signed with a key and a certificate made for it."""

    def __init__(self) -> None:
        self.began = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
        self._key, self._log = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP256R1())
        builder = x509.CertificateBuilder(NAME, NAME, self._key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(self.began - timedelta(days=9)).not_valid_after(self.began + timedelta(days=900))
        self.certificate = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True).sign(
            self._key, hashes.SHA384()
        )
        authority = Authority((self.certificate,), self.began - timedelta(days=9), datetime.max.replace(tzinfo=UTC))
        self.roots = Roots((authority,), {self._log_id(self._log): self._log.public_key()})

    def sign(
        self,
        content: bytes,
        *,
        account: str = KUBERNETES_SIGNER.account,
        issuer: str = KUBERNETES_SIGNER.issuer,
        lives: timedelta = timedelta(minutes=10),
        seen: timedelta | None = timedelta(seconds=1),
        log: ec.EllipticCurvePrivateKey | None = None,
        usage: x509.ObjectIdentifier = ExtendedKeyUsageOID.CODE_SIGNING,
        newer: bool = False,
    ) -> tuple[bytes, bytes]:
        """Signature and certificate, as cosign writes them. `seen`: when the log saw the certificate; None if it never did."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = x509.CertificateBuilder(NAME, x509.Name([]), key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(self.began).not_valid_after(self.began + lives)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.RFC822Name(account)]), critical=True)
        builder = builder.add_extension(x509.UnrecognizedExtension(_ISSUER, issuer.encode()), critical=False)
        if newer:
            der = b"\x0c" + bytes((len(issuer),)) + issuer.encode()
            builder = builder.add_extension(x509.UnrecognizedExtension(_NEWER_ISSUER, der), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        if seen is not None:
            promise = self._promise(certificate.tbs_certificate_bytes, self.began + seen, log or self._log)
            certificate = builder.add_extension(x509.UnrecognizedExtension(_PROMISES, promise), critical=False).sign(
                self._key, hashes.SHA256()
            )
        signature = key.sign(content, ec.ECDSA(hashes.SHA256()))
        return base64.b64encode(signature), base64.b64encode(certificate.public_bytes(Encoding.PEM))

    def _promise(self, body: bytes, when: datetime, log: ec.EllipticCurvePrivateKey) -> bytes:
        """RFC 6962: a list of one signed certificate timestamp, in a DER octet string."""
        stamp = int(when.timestamp() * 1000).to_bytes(8, "big")
        spki = self.certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        signed = b"\0\0" + stamp + b"\0\1" + hashlib.sha256(spki).digest() + len(body).to_bytes(3, "big") + body + b"\0\0"
        signature = log.sign(signed, ec.ECDSA(hashes.SHA256()))
        promise = b"\0" + self._log_id(log) + stamp + b"\0\0" + b"\4\3" + len(signature).to_bytes(2, "big") + signature
        listed = len(promise).to_bytes(2, "big") + promise
        listed = len(listed).to_bytes(2, "big") + listed
        return b"\x04" + (bytes((len(listed),)) if len(listed) < 128 else bytes((0x81, len(listed)))) + listed

    @staticmethod
    def _log_id(log: ec.EllipticCurvePrivateKey) -> bytes:
        return hashlib.sha256(log.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
