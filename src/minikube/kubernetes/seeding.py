"""A new cluster's first database content, made its own: fresh identities, and the age of now."""

from __future__ import annotations

import base64
import json
import re
import time
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

from minikube.kubernetes.api import KINDS, Object

# etcd takes at most 128 operations in one transaction.
_BATCH = 120

# metadata.uid: field 5 of 36 bytes in protobuf, or the JSON of the kinds that are kept as such.
_IDENTITY = re.compile(rb'(\*\$|"uid":")[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')
# Times: a message of 8 bytes whose first field is the seconds, five bytes long from 1978 to 3058; or a text.
_MOMENT = re.compile(rb"\x08\x08[\x80-\xff]{4}[\x01-\x7f]\x10\x00")
_MOMENT_TEXT = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


# Where the API server keeps what is not under the plural of its kind.
_PLACES = {"services": "services/specs"}


def transactions(seed: Path, objects: Iterable[Object] = (), *, now: float | None = None) -> list[str]:
    """Bodies for etcd's /v3/kv/txn. Each puts its keys only if the first is not there: a database in use is never touched.

    The last one has the given objects, all or none of them.
    """
    moment = int(time.time() if now is None else now)
    pairs = [(pair["key"], _own(base64.b64decode(pair["value"]), moment)) for pair in json.loads(seed.read_bytes())]
    ours = [_stored(obj, text_of(moment)) for obj in objects]
    return [json.dumps(_transaction(batch)) for batch in [*_batches(pairs), *([ours] if ours else [])]]


def text_of(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def _stored(obj: Object, moment: str) -> tuple[str, bytes]:
    """Key and value of an object that has an identity: the API server reads JSON too, and writes its own form at the next change.

    In the form of Go's encoder: parts of some objects are compared as bytes.
    """
    metadata = {**obj["metadata"], "creationTimestamp": moment, **({"generation": 1} if "spec" in obj else {})}
    plural, namespaced = KINDS[obj["kind"]]
    place = "/".join(filter(None, (_PLACES.get(plural, plural), metadata["namespace"] if namespaced else "", metadata["name"])))
    value = json.dumps(obj | {"metadata": metadata}, sort_keys=True, separators=(",", ":"))
    return base64.b64encode(f"/registry/{place}".encode()).decode(), value.encode()


def _own(value: bytes, moment: int) -> bytes:
    """The object with an identity and an age of its own; all replacements have the length of what they replace."""
    value = _IDENTITY.sub(lambda found: found[1] + str(uuid.uuid4()).encode(), value)
    value = _MOMENT.sub(lambda _: b"\x08\x08" + _varint(moment) + b"\x10\x00", value)
    return _MOMENT_TEXT.sub(text_of(moment).encode(), value)


def _transaction(batch: list[tuple[str, bytes]]) -> dict[str, object]:
    return {
        "compare": [{"key": batch[0][0], "target": "CREATE", "result": "EQUAL", "createRevision": "0"}],
        "success": [{"requestPut": {"key": key, "value": base64.b64encode(value).decode()}} for key, value in batch],
    }


def _batches(pairs: list[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    for first in range(0, len(pairs), _BATCH):
        yield pairs[first : first + _BATCH]


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
