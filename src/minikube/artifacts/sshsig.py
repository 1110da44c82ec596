"""Signatures as `ssh-keygen -Y sign` makes them (OpenSSH's PROTOCOL.sshsig): most people already have such a key.

Plain key files are used right here. A key with a passphrase, in an agent or on a token is ssh-keygen's business.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from minikube.host.process import ProcessFailed, run
from minikube.output.reason import Reason

_MAGIC = b"SSHSIG"
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_HASH = "sha512"
_HASHES = {b"sha256": hashlib.sha256, b"sha512": hashlib.sha512}
_KEY_TYPES = ("ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521")
_RSA = {b"rsa-sha2-256": "SHA256", b"rsa-sha2-512": "SHA512"}
_CURVES = {b"ecdsa-sha2-nistp256": "SHA256", b"ecdsa-sha2-nistp384": "SHA384", b"ecdsa-sha2-nistp521": "SHA512"}


class Signer(NamedTuple):
    """Whose signature it is."""

    name: str
    """What the file of keys calls it."""
    fingerprint: str


def sign(message: bytes, key: Path, namespace: str) -> bytes:
    """An armored signature of the message."""
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    try:
        private: Any = load_ssh_private_key(key.read_bytes(), None)
        return _armor(_signature(message, private, namespace.encode()))
    except OSError as error:
        raise Reason(
            "HOST_PATH_MISSING", f"the key {key} cannot be read: {error.strerror}", advice="Make one: ssh-keygen -t ed25519"
        ) from None
    except Exception:  # whatever keeps this library from using a key, ssh-keygen has the last word
        return _signed_by_ssh_keygen(message, key, namespace)


def verify(message: bytes, signature: bytes, trusted: Path, namespace: str) -> Signer:
    """Who of the trusted has signed the message; a reason if nobody has."""
    if not signature:
        raise untrusted("it is not signed")
    try:
        key, algorithm, value, signed = _taken_apart(message, signature, namespace.encode())
    except (ValueError, struct.error, binascii.Error) as error:
        raise untrusted(f"its signature cannot be read: {error}") from None
    fingerprint = fingerprint_of(key)
    names = [name for name, candidate in trusted_keys(trusted, namespace) if candidate == key]
    if not names:
        raise untrusted(f"it is signed with {fingerprint}, which {trusted} does not name")
    if not _matches(key, algorithm, value, signed):
        raise untrusted(f"its signature by {names[0]} does not match: the bundle was changed after it was signed")
    return Signer(names[0], fingerprint)


def fingerprint_in(signature: bytes) -> str:
    """Which key claims to have signed, unchecked; empty if it cannot be told."""
    try:
        return fingerprint_of(_parse(signature)[0])
    except (ValueError, struct.error, binascii.Error):
        return ""


def fingerprint_of(key: bytes) -> str:
    """As ssh-keygen -l prints it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def trusted_keys(file: Path, namespace: str) -> Iterator[tuple[str, bytes]]:
    """Names and keys of a public key (id_ed25519.pub) or a file of allowed signers that may sign for this, today."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Reason("HOST_PATH_MISSING", f"the keys to verify with cannot be read from {file}: {error}") from None
    for line in lines:
        found = re.search(rf"(?:^|\s)({'|'.join(_KEY_TYPES)})\s+(\S+)(?:\s+(.*))?$", line)
        if not found or line.lstrip().startswith("#"):
            continue
        before = line[: found.start(1)].strip()
        name, _, options = before.partition(" ")
        try:
            key = base64.b64decode(found[2], validate=True)
        except binascii.Error:
            continue
        if _applies(options, namespace):
            yield name or (found[3] or "").strip() or file.name, key


def untrusted(why: str) -> Reason:
    return Reason(
        "HOST_BUNDLE_UNTRUSTED",
        f"the bundle is not used: {why}",
        advice="Get a bundle signed by somebody you trust, or name the right key or file of allowed signers.",
    )


def _applies(options: str, namespace: str) -> bool:
    words = {key.lower(): value for key, value in re.findall(r'([a-zA-Z-]+)(?:="([^"]*)")?', options)}
    now = time.strftime("%Y%m%d%H%M%S", time.gmtime() if "Z" in options else time.localtime())
    return (
        "cert-authority" not in words
        and ("namespaces" not in words or namespace in words["namespaces"].split(","))
        and words.get("valid-after", "0").rstrip("Z").ljust(14, "0") <= now
        and now <= words.get("valid-before", "9" * 14).rstrip("Z").ljust(14, "0")
    )


def _signature(message: bytes, private: Any, namespace: bytes) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    line = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    algorithm, key = line.split()[0], base64.b64decode(line.split()[1])
    signed = _to_be_signed(message, namespace, _HASH.encode())
    if isinstance(private, ed25519.Ed25519PrivateKey):
        value = private.sign(signed)
    elif isinstance(private, rsa.RSAPrivateKey):
        algorithm, value = b"rsa-sha2-512", private.sign(signed, padding.PKCS1v15(), hashes.SHA512())
    elif isinstance(private, ec.EllipticCurvePrivateKey):
        r, s = utils.decode_dss_signature(private.sign(signed, ec.ECDSA(getattr(hashes, _CURVES[algorithm])())))
        value = _string(_number(r)) + _string(_number(s))
    else:
        raise TypeError(type(private).__name__)
    body = (namespace, b"", _HASH.encode(), _string(algorithm) + _string(value))
    return _MAGIC + struct.pack(">I", 1) + _string(key) + b"".join(map(_string, body))


def _signed_by_ssh_keygen(message: bytes, key: Path, namespace: str) -> bytes:
    try:
        return run(["ssh-keygen", "-Y", "sign", "-q", "-f", str(key), "-n", namespace], input=message).stdout
    except ProcessFailed as error:
        raise Reason(
            "MK_USAGE",
            f"the bundle cannot be signed with {key}: {error.output.strip() or error}",
            advice="Give an SSH private key without a passphrase, or the public key of one that ssh-agent holds.",
        ) from None


def _taken_apart(message: bytes, signature: bytes, namespace: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    key, named, hashing, both = _parse(signature)
    if named != namespace:
        raise ValueError(f"it was made for {named.decode(errors='replace')!r}")
    if hashing not in _HASHES:
        raise ValueError(f"unknown hash {hashing!r}")
    algorithm, rest = _take(both)
    value, _ = _take(rest)
    return key, algorithm, value, _to_be_signed(message, namespace, hashing)


def _parse(signature: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    text = signature.decode("ascii")
    if _BEGIN not in text or _END not in text:
        raise ValueError("it is not an SSH signature")
    blob = base64.b64decode("".join(text.partition(_BEGIN)[2].partition(_END)[0].split()), validate=True)
    if blob[:6] != _MAGIC or blob[6:10] != b"\0\0\0\1":
        raise ValueError("it is not an SSH signature of version 1")
    key, rest = _take(blob[10:])
    namespace, rest = _take(rest)
    _reserved, rest = _take(rest)
    hashing, rest = _take(rest)
    both, _ = _take(rest)
    return key, namespace, hashing, both


def _matches(key: bytes, algorithm: bytes, value: bytes, signed: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    kind, _ = _take(key)
    try:
        public = load_ssh_public_key(kind + b" " + base64.b64encode(key))
        if isinstance(public, ed25519.Ed25519PublicKey) and algorithm == kind:
            public.verify(value, signed)
        elif isinstance(public, rsa.RSAPublicKey) and algorithm in _RSA:
            public.verify(value, signed, padding.PKCS1v15(), getattr(hashes, _RSA[algorithm])())
        elif isinstance(public, ec.EllipticCurvePublicKey) and algorithm == kind:
            r, rest = _take(value)
            s, _ = _take(rest)
            both = utils.encode_dss_signature(int.from_bytes(r, "big"), int.from_bytes(s, "big"))
            public.verify(both, signed, ec.ECDSA(getattr(hashes, _CURVES[algorithm])()))
        else:
            return False
    except (InvalidSignature, ValueError, struct.error):
        return False
    return True


def _to_be_signed(message: bytes, namespace: bytes, hashing: bytes) -> bytes:
    return _MAGIC + b"".join(map(_string, (namespace, b"", hashing, _HASHES[hashing](message).digest())))


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _number(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "big")


def _take(data: bytes) -> tuple[bytes, bytes]:
    (size,) = struct.unpack_from(">I", data)
    if len(data) < 4 + size:
        raise ValueError("it is cut short")
    return data[4 : 4 + size], data[4 + size :]


def _armor(blob: bytes) -> bytes:
    text = base64.b64encode(blob).decode()
    return "\n".join([_BEGIN, *(text[start : start + 70] for start in range(0, len(text), 70)), _END, ""]).encode()
