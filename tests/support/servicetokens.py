"""Tokens of service accounts, as an API server signs them."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

ISSUER = "https://kubernetes.default.svc.cluster.local"
NUMBER = 32


def signed(claims: dict[str, Any], key: Path) -> str:
    """With the private key in a PEM file."""
    private = serialization.load_pem_private_key(key.read_bytes(), password=None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    public = private.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    header = {"alg": "ES256", "kid": encoded(hashlib.sha256(public).digest())}
    text = ".".join(encoded(json.dumps(part).encode()) for part in (header, claims))
    numbers = utils.decode_dss_signature(private.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{encoded(b''.join(number.to_bytes(NUMBER, 'big') for number in numbers))}"


def claims_of(token: str, public_key: Path) -> dict[str, Any]:
    """What it says; InvalidSignature if that key does not belong to who signed it."""
    text, _, signature = token.rpartition(".")
    numbers = decoded(signature)
    r, s = (int.from_bytes(number, "big") for number in (numbers[:NUMBER], numbers[NUMBER:]))
    public = serialization.load_pem_public_key(public_key.read_bytes())
    assert isinstance(public, ec.EllipticCurvePublicKey)
    public.verify(utils.encode_dss_signature(r, s), text.encode(), ec.ECDSA(hashes.SHA256()))
    found: dict[str, Any] = unchecked_claims(token)
    return found


def unchecked_claims(token: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(decoded(token.split(".")[1]))
    return found


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
