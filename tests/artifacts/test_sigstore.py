"""Keyless signatures: an authority of the tests' own in place of sigstore's, everything else as it is."""

from __future__ import annotations

import base64
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from support.signing import Signing

from minikube.artifacts.endpoints import KUBERNETES_SIGNER
from minikube.artifacts.sigstore import Authority, BadSignature, Roots, public_roots, verify

CONTENT = b"#!kubelet"


@pytest.fixture(scope="module")
def signing() -> Signing:
    return Signing()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "kubelet").write_bytes(CONTENT)
    return tmp_path / "kubelet"


@pytest.mark.parametrize("newer", [False, True])
def test_a_file_that_the_expected_account_signed(signing: Signing, file: Path, newer: bool) -> None:
    signature, certificate = signing.sign(CONTENT, newer=newer)
    verify(file, signature, certificate, KUBERNETES_SIGNER, signing.roots)
    verify(file, signature, base64.b64decode(certificate), KUBERNETES_SIGNER, signing.roots)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"content": b"#!trojan"}, "not one of this file"),
        ({"account": "mallory@example.test"}, "signed by mallory@example.test instead of"),
        ({"issuer": "https://login.example.test"}, "not vouched for by"),
        ({"lives": timedelta(days=400)}, "lives longer"),
        ({"usage": ExtendedKeyUsageOID.SERVER_AUTH}, "not for signing files"),
        ({"seen": None}, "cannot be read"),
        ({"seen": timedelta(days=2)}, "no known log"),
        ({"seen": timedelta(days=-2)}, "no known log"),
        ({"log": ec.generate_private_key(ec.SECP256R1())}, "no known log"),
    ],
    ids=["file", "account", "issuer", "long life", "usage", "no log", "seen late", "seen early", "another log"],
)
def test_what_does_not_vouch_for_it(signing: Signing, file: Path, how: dict[str, Any], why: str) -> None:
    signature, certificate = signing.sign(**{"content": CONTENT, **how})
    with pytest.raises(BadSignature, match=why):
        verify(file, signature, certificate, KUBERNETES_SIGNER, signing.roots)


def test_a_certificate_of_another_authority(signing: Signing, file: Path) -> None:
    signature, certificate = Signing().sign(CONTENT)
    for roots in (signing.roots, public_roots()):
        with pytest.raises(BadSignature, match="not from sigstore's authority"):
            verify(file, signature, certificate, KUBERNETES_SIGNER, roots)


def test_a_certificate_from_after_the_authoritys_time(signing: Signing, file: Path) -> None:
    ended = Authority((signing.certificate,), signing.began - timedelta(days=9), signing.began - timedelta(days=1))
    with pytest.raises(BadSignature, match="not from sigstore's authority"):
        verify(file, *signing.sign(CONTENT), KUBERNETES_SIGNER, Roots((ended,), signing.roots.logs))


def test_the_public_roots_are_a_chain_and_in_force() -> None:
    roots = public_roots()
    now = datetime.now(UTC)
    for authority in roots.authorities:
        for one, issuer in zip(authority.certificates, [*authority.certificates[1:], authority.certificates[-1]], strict=True):
            one.verify_directly_issued_by(issuer)
    assert [authority for authority in roots.authorities if authority.since < now < authority.until]
    assert roots.logs


def test_bytes_that_are_neither_certificate_nor_signature(signing: Signing, file: Path) -> None:
    chance = random.Random(8)
    signature, certificate = signing.sign(CONTENT)
    pem = bytearray(base64.b64decode(certificate))
    for _ in range(300):
        broken = bytearray(pem)
        for _ in range(chance.randint(1, 5)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        for candidate in (bytes(broken), base64.b64encode(broken), chance.randbytes(200)):
            if bytes(candidate).strip() != bytes(pem).strip():
                with pytest.raises(BadSignature):
                    verify(file, chance.randbytes(64), candidate, KUBERNETES_SIGNER, signing.roots)
    for broken_signature in (b"", b"\xff" * 70, base64.b64encode(b"\0" * 64), signature[:-8]):
        with pytest.raises(BadSignature):
            verify(file, broken_signature, certificate, KUBERNETES_SIGNER, signing.roots)
