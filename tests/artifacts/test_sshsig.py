"""Signatures: ssh-keygen and this code accept each other's, and nobody accepts a wrong one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support.smallbundle import KEYS, key_pair

from minikube.artifacts.sshsig import fingerprint_in, sign, verify
from minikube.output.reason import Reason

SPACE = "minikube-bundle"
MESSAGE = b"a manifest"
needs_ssh_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen here")


@pytest.mark.parametrize("kind", KEYS)
def test_signed_and_verified(kind: str, tmp_path: Path) -> None:
    private, public = key_pair(tmp_path, kind)
    signature = sign(MESSAGE, private, SPACE)
    signer = verify(MESSAGE, signature, public, SPACE)
    assert signer.name == "alice@example.com"
    assert signer.fingerprint == fingerprint_in(signature)
    for message, space in ((MESSAGE + b" ", SPACE), (MESSAGE, "file")):
        with pytest.raises(Reason) as caught:
            verify(message, signature, public, space)
        assert caught.value.id == "HOST_BUNDLE_UNTRUSTED"


@needs_ssh_keygen
@pytest.mark.parametrize("kind", KEYS)
def test_ssh_keygen_agrees(kind: str, tmp_path: Path) -> None:
    private, public = key_pair(tmp_path, kind)
    theirs = subprocess.run(["ssh-keygen", "-Y", "sign", "-q", "-f", private, "-n", SPACE], input=MESSAGE, capture_output=True, check=True)
    assert verify(MESSAGE, theirs.stdout, public, SPACE).name == "alice@example.com"
    (tmp_path / "ours").write_bytes(sign(MESSAGE, private, SPACE))
    (tmp_path / "allowed").write_text(f"bob {public.read_text()}")
    check = ["ssh-keygen", "-Y", "verify", "-f", tmp_path / "allowed", "-I", "bob", "-n", SPACE, "-s", tmp_path / "ours"]
    subprocess.run(check, input=MESSAGE, capture_output=True, check=True)


@needs_ssh_keygen
def test_a_key_with_a_passphrase_is_left_to_ssh_keygen(tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", tmp_path / "key"], check=True)
    with pytest.raises(Reason, match="cannot be signed") as caught:  # nobody is there to type it
        sign(MESSAGE, tmp_path / "key", SPACE)
    assert "ssh-agent" in caught.value.advice


def test_somebody_else_signed(tmp_path: Path) -> None:
    private, _ = key_pair(tmp_path)
    _, other = key_pair(tmp_path, name="other")
    with pytest.raises(Reason, match="does not name"):
        verify(MESSAGE, sign(MESSAGE, private, SPACE), other, SPACE)


@pytest.mark.parametrize("signature", [b"", b"text", b"\xff", b"-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----\n"])
def test_no_signature(signature: bytes, tmp_path: Path) -> None:
    _, public = key_pair(tmp_path)
    with pytest.raises(Reason) as caught:
        verify(MESSAGE, signature, public, SPACE)
    assert caught.value.id == "HOST_BUNDLE_UNTRUSTED"


@pytest.mark.parametrize(
    ("options", "accepted"),
    [
        ("", True),
        ('namespaces="minikube-bundle"', True),
        ('namespaces="git,minikube-bundle"', True),
        ('namespaces="git"', False),
        ("cert-authority", False),
        ('valid-after="20200101"', True),
        ('valid-after="29990101"', False),
        ('valid-before="20200101Z"', False),
        ('valid-before="29990101",namespaces="minikube-bundle"', True),
    ],
)
def test_allowed_signers(options: str, accepted: bool, tmp_path: Path) -> None:
    private, public = key_pair(tmp_path)
    _, stranger = key_pair(tmp_path, name="stranger")
    allowed = tmp_path / "allowed_signers"
    allowed.write_text(f"# people\n\nbob {stranger.read_text()}alice {options} {public.read_text()}")
    signature = sign(MESSAGE, private, SPACE)
    if accepted:
        assert verify(MESSAGE, signature, allowed, SPACE).name == "alice"
    else:
        with pytest.raises(Reason, match="does not name"):
            verify(MESSAGE, signature, allowed, SPACE)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    private, _ = key_pair(tmp_path)
    with pytest.raises(Reason) as caught:
        sign(MESSAGE, tmp_path / "nothing", SPACE)
    assert caught.value.id == "HOST_PATH_MISSING"
    with pytest.raises(Reason) as caught:
        verify(MESSAGE, sign(MESSAGE, private, SPACE), tmp_path / "nothing", SPACE)
    assert caught.value.id == "HOST_PATH_MISSING"
