"""A small store, the bundle that is made of it, and ways to write one that nobody should trust."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from minikube.artifacts import bundlewriter
from minikube.artifacts.oci import Entry, Image, write_archive
from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import Progress, silent

VERSION = "v1.37.1"
KEYS = {
    "ed25519": ed25519.Ed25519PrivateKey.generate,
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
    "p256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "p384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "p521": lambda: ec.generate_private_key(ec.SECP521R1()),
}


def program(target: Path, progress: Progress) -> None:
    (target / "bin").mkdir()
    (target / "bin/program").write_bytes(b"the program" * 1000)
    (target / "bin/program").chmod(0o755)
    (target / "bin/alias").symlink_to("/somewhere/else")
    (target / "tmp").mkdir()
    (target / "tmp").chmod(0o1777)
    (target / "read-only").mkdir()
    (target / "read-only/empty").touch(0o600)
    os.utime(target / "bin/program", ns=(1_000_000_007, 1_000_000_007))
    (target / "read-only").chmod(0o555)


def recipes(store: Store) -> list[Recipe]:
    """A program, and an entry that has it twice: as the same file, and as a copy that must stay one."""
    first = Recipe("program", "1", program, what="the program")

    def laid_out(target: Path, progress: Progress) -> None:
        (target / "linked").hardlink_to(store.path(first) / "bin/program")
        (target / "copied").write_bytes((store.path(first) / "bin/program").read_bytes())

    return [first, Recipe("laid-out", "1", laid_out, needs=(first,))]


def archive(directory: Path) -> Path:
    path = directory / "My App.tar"
    write_archive(path, [Image("localhost/app:1", ((Entry("app", content=b"app"),),))])
    return path


def make(directory: Path, name: str = "bundle.tar", *, version: str = VERSION, sign: Any = None) -> Path:
    """A bundle of the small store, with an image of the user's."""
    store = Store(directory / "made-in")
    made = recipes(store)
    for recipe in made:
        store.provide(recipe, silent())
    content = bundlewriter.gather(made, [archive(directory)], [version], store)
    bundlewriter.write(directory / name, content, silent(), sign=sign)
    return directory / name


def manifest_of(bundle: Path) -> dict[str, Any]:
    with tarfile.open(bundle) as tar:
        member = tar.extractfile("manifest.json")
        assert member is not None
        found: dict[str, Any] = json.load(member)
        return found


def forge(path: Path, manifest: dict[str, Any] | bytes, blobs: list[bytes] = [], *, members: list[tarfile.TarInfo] = []) -> Path:  # noqa: B006
    """Write a file with the form of a bundle and any content."""
    described = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    with tarfile.open(path, "w") as tar:
        for name, data in [("manifest.json", described), *((f"blobs/sha256/{digest(blob)}", blob) for blob in blobs)]:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        for member in members:
            tar.addfile(member)
    return path


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tree(root: Path) -> dict[str, tuple[int, int, bytes | str]]:
    """Every path below a directory with its permissions, time and content."""
    found: dict[str, tuple[int, int, bytes | str]] = {}
    for path in sorted(root.rglob("*")):
        about = path.lstat()
        content: bytes | str = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        found[str(path.relative_to(root))] = (about.st_mode, about.st_mtime_ns, content)
    return found


def key_pair(directory: Path, kind: str = "ed25519", name: str = "key") -> tuple[Path, Path]:
    private, public = directory / name, directory / f"{name}.pub"
    key = KEYS[kind]()
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    private.chmod(0o600)
    public.write_bytes(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b" alice@example.com\n")
    return private, public
