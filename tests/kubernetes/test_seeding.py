"""The first database content of a cluster gets identities and an age of its own, and nothing else changes."""

import base64
import json
from pathlib import Path

from minikube.kubernetes.seeding import transactions

UID = b"bb07b46c-e2d8-462a-99f0-9818d288e05d"
# A namespace as an API server stored it, shortened: uid is field 5, the creation time field 8.
NAMESPACE = (
    b"k8s\x00\n\x0f\n\x02v1\x12\tNamespace\x12\x00\n\x0bkube-system*$" + UID + b"2\x008\x00B\x08\x08\xeb\xff\xe9\xd7\x06\x10\x00Z\x00"
)
SERVICE = b'{"metadata":{"name":"v1.apps","uid":"' + UID + b'","creationTimestamp":"2026-11-16T04:00:43Z"}}'


def write_seed(directory: Path, *values: bytes) -> Path:
    pairs = [{"key": base64.b64encode(b"/registry/x/%d" % n).decode(), "value": base64.b64encode(v).decode()} for n, v in enumerate(values)]
    seed = directory / "seed.json"
    seed.write_text(json.dumps(pairs))
    return seed


def puts(bodies: list[str]) -> list[bytes]:
    return [base64.b64decode(one["requestPut"]["value"]) for body in bodies for one in json.loads(body)["success"]]


def test_every_cluster_gets_its_own_identities(tmp_path: Path) -> None:
    seed = write_seed(tmp_path, NAMESPACE, SERVICE)
    first, second = puts(transactions(seed)), puts(transactions(seed))
    assert all(UID not in value for value in (*first, *second))
    assert first != second


def test_the_age_is_now(tmp_path: Path) -> None:
    namespace, service = puts(transactions(write_seed(tmp_path, NAMESPACE, SERVICE), now=1_700_000_000))
    assert b"B\x08\x08\x80\xe2\xcf\xaa\x06\x10\x00" in namespace
    assert b'"creationTimestamp":"2023-11-14T22:13:20Z"' in service


def test_lengths_stay_so_the_encoding_does(tmp_path: Path) -> None:
    assert [len(value) for value in puts(transactions(write_seed(tmp_path, NAMESPACE, SERVICE)))] == [len(NAMESPACE), len(SERVICE)]


def test_a_transaction_does_nothing_where_its_first_key_exists(tmp_path: Path) -> None:
    bodies = transactions(write_seed(tmp_path, *[SERVICE] * 300))
    assert len(bodies) == 3
    for body in map(json.loads, bodies):
        assert body["compare"] == [
            {"key": body["success"][0]["requestPut"]["key"], "target": "CREATE", "result": "EQUAL", "createRevision": "0"}
        ]
