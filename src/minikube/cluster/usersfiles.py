"""What users keep in ~/.minikube for their nodes: files with a place in the node, and certificates that it should trust."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from minikube.cluster.nodefiles import hosts
from minikube.drivers.base import Node
from minikube.drivers.values import File
from minikube.output.reason import Reason
from minikube.profiles.paths import home

ADDONS = "/etc/kubernetes/addons"
HOSTS = "/etc/hosts"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
_OURS_BEGIN = b"# Below: certificates from ~/.minikube/certs, kept up to date by minikube\n"
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----\n?", re.DOTALL)
# What docker-machine, and upstream with it, keeps there for itself.
_NOT_FOR_NODES = ("ca.pem", "cert.pem", "key.pem")

Warn = Callable[[str], None]


def collect(node: Node, warn: Warn) -> dict[str, File]:
    """By path in the node: all below ~/.minikube/files, and upstream's ~/.minikube/addons, whose files all go into one directory."""
    found = {target: file for target, source in (*_addons(), *_files()) if (file := _read(source, warn))}
    if HOSTS in found:
        merged = hosts(found[HOSTS].content, name=node.name, address=node.address, gateway=node.gateway)
        found[HOSTS] = File(merged.encode(), found[HOSTS].mode)
    return found


def put(node: Node, files: Mapping[str, File]) -> dict[str, str]:
    """Write them one by one: one that cannot be must not keep the others out. Gives those, and why; a stopped node has no /tmp, say."""
    failures = {}
    for path, file in files.items():
        try:
            node.put({path: file})
        except Reason as reason:
            failures[path] = reason.message
        except OSError as error:
            failures[path] = f"{path}: {error.strerror}"
    return failures


def put_late(node: Node, files: Mapping[str, File], warn: Warn) -> int:
    """Write into a running node; how many were written. What still cannot be (/usr is read-only) is said."""
    failures = put(node, files)
    for why in failures.values():
        warn(why.partition("\n")[0])
    return len(files) - len(failures)


def trust(node: Node, warn: Warn) -> bool:
    """Make the node's bundle of trusted certificates what it should be; True if it had to change."""
    certificates = b"".join(_certificates(warn))
    before = node.read(BUNDLE) or b""
    after = before.partition(_OURS_BEGIN)[0] + (_OURS_BEGIN + certificates if certificates else b"")
    if after == before:
        return False
    node.put({BUNDLE: File(after)})
    return True


def _files() -> Iterator[tuple[str, Path]]:
    root = home() / "files"
    for directory, _, names in os.walk(root):
        for name in sorted(names):
            source = Path(directory, name)
            yield f"/{source.relative_to(root)}", source


def _addons() -> Iterator[tuple[str, Path]]:
    for directory, _, names in os.walk(home() / "addons"):
        for name in sorted(names):
            yield f"{ADDONS}/{name}", Path(directory, name)


def _read(source: Path, warn: Warn) -> File | None:
    try:
        facts = source.stat()
        if not stat.S_ISREG(facts.st_mode):
            warn(f"{source} is not in the node: it is no file")
            return None
        return File(source.read_bytes(), stat.S_IMODE(facts.st_mode))
    except OSError as error:
        warn(f"{source} is not in the node: {error.strerror}")
        return None


def _certificates(warn: Warn) -> Iterator[bytes]:
    import ssl

    sources = [path for path in sorted((home() / "certs").glob("*")) if path.name not in _NOT_FOR_NODES]
    sources += sorted((home() / "files/etc/ssl/certs").glob("*"))
    for source in sources:
        if source.suffix not in (".pem", ".crt") or not source.is_file() or source.name == Path(BUNDLE).name:
            continue
        file = _read(source, warn)
        for block in _CERTIFICATE.findall(file.content) if file else ():
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=block.decode("ascii"))
            except (ssl.SSLError, ValueError):
                warn(f"{source} is not trusted in the node: what is in it is not a valid certificate")
            else:
                yield block.rstrip() + b"\n"
