"""What users keep in ~/.minikube for their nodes: files with a place in the node, and certificates that it should trust."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from minikube.artifacts.nodeskeleton import USERS_CERTIFICATES
from minikube.cluster.nodefiles import hosts
from minikube.drivers.base import Node
from minikube.drivers.values import File
from minikube.output.reason import Reason
from minikube.profiles.paths import home

ADDONS = "/etc/kubernetes/addons"
HOSTS = "/etc/hosts"
CERTIFICATES = "/etc/ssl/certs"
BUNDLE = f"{CERTIFICATES}/ca-certificates.crt"
# In the node, with the names of all files that are to be there. What is a link with a hash, and leads to one of ours, is ours.
_LINK = f"""
mkdir -p {USERS_CERTIFICATES} && cd {USERS_CERTIFICATES} || exit
for file in *.pem; do
    case " $* " in *" $file "*) continue ;; esac
    [ ! -e "$file" ] || rm -f "$file" "{CERTIFICATES}/$file"
done
cd {CERTIFICATES} || exit
for link in *.[0-9]; do
    if [ -L "$link" ] && [ ! -e "$link" ]; then rm -f "$link"; fi
done
for file; do
    hash=$(openssl x509 -noout -subject_hash -in "$file") || exit
    number=0
    while [ -e "$hash.$number" ] && [ "$(readlink "$hash.$number")" != "$file" ]; do number=$((number + 1)); done
    ln -sf "$file" "$hash.$number" || exit
done
"""
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
    """Make the node's bundle of trusted certificates what it should be; True if it had to change.

    Each certificate file is in the node under upstream's names, too: X.pem in /etc/ssl/certs and /usr/share/ca-certificates.
    """
    found = dict(_certificates(warn))
    before = node.read(BUNDLE) or b""
    ours = b"".join(found.values())
    after = before.partition(_OURS_BEGIN)[0] + (_OURS_BEGIN + ours if ours else b"")
    if after == before:
        return False
    copies = {f"{directory}/{name}": File(content) for name, content in found.items() for directory in (CERTIFICATES, USERS_CERTIFICATES)}
    node.put({BUNDLE: File(after), **copies})
    return True


def link_certificates(node: Node, warn: Warn) -> None:
    """In a running node: OpenSSL finds a certificate by the hash of its subject, and files whose source is gone go too."""
    names = [name for name, _ in _certificates(lambda _words: None)]
    if names or node.exists(USERS_CERTIFICATES):
        answer = node.run(["/bin/sh", "-c", _LINK, "sh", *names], timeout=60)
        if answer.code:
            warn(f"OpenSSL in the node may not find all certificates of ~/.minikube/certs: {answer.stderr.decode(errors='replace')[-500:]}")


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


def _certificates(warn: Warn) -> Iterator[tuple[str, bytes]]:
    """What a certificate file is called in the node, and the valid certificates in it."""
    import ssl

    sources = [path for path in sorted((home() / "certs").glob("*")) if path.name not in _NOT_FOR_NODES]
    sources += sorted((home() / "files/etc/ssl/certs").glob("*"))
    for source in sources:
        if source.suffix not in (".pem", ".crt") or not source.is_file() or source.name == Path(BUNDLE).name:
            continue
        file = _read(source, warn)
        blocks = []
        for block in _CERTIFICATE.findall(file.content) if file else ():
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=block.decode("ascii"))
            except (ssl.SSLError, ValueError):
                warn(f"{source} is not trusted in the node: what is in it is not a valid certificate")
            else:
                blocks.append(block.rstrip() + b"\n")
        if blocks:
            yield f"{source.stem}.pem", b"".join(blocks)
