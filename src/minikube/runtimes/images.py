"""Images as containerd in a node has them: the commands that ask and change, and what their answers mean."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_CTR = ("ctr", "--namespace", "k8s.io")
# Its own patience is two seconds, and a machine may be busier than that.
_CRICTL = ("crictl", "--timeout", "60s")
LIST = (*_CRICTL, "images", "--output", "json")
# Blobs, an empty line, and the layers that are unpacked under the digest of all layers up to them.
INVENTORY = (
    "/bin/sh",
    "-c",
    f"{' '.join(_CTR)} content ls --quiet && echo && {' '.join(_CTR)} snapshots --snapshotter overlayfs ls",
)
# --local: containerd's transfer service takes more than twice as long, but names an image only once it is unpacked. So an image arrives
# under a name that nobody uses, and gets its own when it is whole. The CRI hears of that a moment later; whoever loads an image wants to
# use it at once.
_IMPORT = """\
ctr --namespace k8s.io images import --local --snapshotter overlayfs - >&2
code=$?
for pair do
  arrived=${pair%%=*} name=${pair#*=}
  [ $code -ne 0 ] || ctr --namespace k8s.io images tag --local --force "$arrived" "$name" >&2 || code=$?
  ctr --namespace k8s.io images rm "$arrived" > /dev/null 2>&1
  tries=0
  until [ $code -ne 0 ] || crictl --timeout 20s inspecti --quiet "$name" > /dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { echo "the runtime does not show $name" >&2; code=1; }
    sleep 0.05
  done
done
exit $code
"""
_PUSH = """\
umask 077
hosts=$(mktemp -d) && trap 'rm -r "$hosts"' EXIT && trap 'exit 1' HUP INT TERM
mkdir "$hosts/$2" && cat > "$hosts/$2/hosts.toml" || exit
ctr --namespace k8s.io images push --local --hosts-dir "$hosts" "$1"
"""


_WORD = re.compile(r"[A-Za-z0-9_@:.<>\[\]/-]{1,1024}")


class StoredImage(NamedTuple):
    """One image of a node, with every name it goes by."""

    id: str
    tags: tuple[str, ...]
    digests: tuple[str, ...]
    size: int


class Inventory(NamedTuple):
    """What a node has of images: blobs by digest, and chains of unpacked layers."""

    blobs: frozenset[str]
    chains: frozenset[str]


class Nonsense(ValueError):
    """A node's answer that no runtime gives."""


def read_list(listing: bytes) -> list[StoredImage]:
    """Nonsense for anything but a list of images; names are words of a node, to be shown and given back to it."""
    try:
        return [
            StoredImage(
                _word(image["id"]).removeprefix("sha256:"),
                tuple(_word(name) for name in image.get("repoTags") or ()),
                tuple(_word(name) for name in image.get("repoDigests") or ()),
                int(image.get("size") or 0),
            )
            for image in json.loads(listing)["images"] or []
        ]
    except (KeyError, TypeError, AttributeError, RecursionError, ValueError, OverflowError) as error:
        raise Nonsense(f"the node does not list its images, but: {listing[:200].decode(errors='replace')!r}") from error


def _word(text: object) -> str:
    if not isinstance(text, str) or not _WORD.fullmatch(text):
        raise ValueError(text)
    return text


def read_inventory(answer: bytes) -> Inventory:
    """A node that lies about what it has only goes without it: digests in here are compared with others, and nothing else."""
    blobs, _, snapshots = answer.decode(errors="replace").partition("\n\n")
    columns = (line.split() for line in snapshots.splitlines())
    return Inventory(frozenset(blobs.split()), frozenset(words[0] for words in columns if len(words) > 1 and words[-1] == "Committed"))


def chain_ids(diff_ids: Sequence[str]) -> list[str]:
    """The names of unpacked layers: each stands for itself and all below it."""
    chain: list[str] = []
    for diff_id in diff_ids:
        chain.append(f"sha256:{hashlib.sha256(f'{chain[-1]} {diff_id}'.encode()).hexdigest()}" if chain else diff_id)
    return chain


def import_command(names: Mapping[str, str]) -> list[str]:
    """Reads an archive from stdin, with names that stand for others; ends when the CRI knows those."""
    return ["/bin/sh", "-c", _IMPORT, "sh", *(f"{arriving}={name}" for arriving, name in names.items())]


def export_command(name: str) -> list[str]:
    # --local: through its transfer service containerd loses the last block of a stream now and then.
    return [*_CTR, "images", "export", "--local", "-", name]


def tag_command(source: str, target: str) -> list[str]:
    return [*_CTR, "images", "tag", "--force", source, target]


def untag_command(name: str) -> list[str]:
    return [*_CTR, "images", "rm", "--sync", name]


def remove_command(name: str) -> list[str]:
    return [*_CRICTL, "rmi", name]


def pull_command(name: str) -> list[str]:
    return [*_CRICTL, "pull", name]


def pull_with_login_command(name: str) -> list[str]:
    """Reads the login (`name:password` in base64) from stdin: arguments of processes are for everybody to see."""
    return ["/bin/sh", "-c", f'read -r CRICTL_AUTH && export CRICTL_AUTH && exec {" ".join(_CRICTL)} pull "$1"', "sh", name]


def push_command(name: str, registry: str) -> list[str]:
    """Reads from stdin what containerd is to know of the registry (runtimes/registryhosts.py), and forgets it at the end."""
    return ["/bin/sh", "-c", _PUSH, "sh", name, registry]
