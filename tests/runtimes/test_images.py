"""What a node says of its images, also one that lies."""

from __future__ import annotations

import contextlib
import json
import random

import pytest

from minikube.runtimes.images import Nonsense, StoredImage, chain_ids, read_inventory, read_list

DIGEST = "sha256:" + "a" * 64
LISTING = {
    "images": [{"id": DIGEST, "repoTags": ["docker.io/library/a:1"], "repoDigests": [f"docker.io/library/a@{DIGEST}"], "size": "12"}]
}


def test_a_list_of_images() -> None:
    names = (("docker.io/library/a:1",), (f"docker.io/library/a@{DIGEST}",))
    assert read_list(json.dumps(LISTING).encode()) == [StoredImage("a" * 64, *names, 12)]
    assert read_list(b'{"images": null}') == []


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\xff",
        b"[]",
        b"[" * 100_000,
        b'{"images": 7}',
        b'{"images": [7]}',
        b'{"images": [{"id": 7}]}',
        b'{"images": [{"id": "\\u001b[2J"}]}',
        b'{"images": [{"id": "a", "repoTags": ["--help me"]}]}',
        b'{"images": [{"id": "a", "repoTags": {"a": 1}, "size": "x"}]}',
        b'{"images": [{"id": "a", "size": 1e999}]}',
    ],
)
def test_an_answer_that_is_no_list(answer: bytes) -> None:
    with pytest.raises(Nonsense):
        read_list(answer)


def test_answers_at_random() -> None:
    chance = random.Random(5)
    original = json.dumps(LISTING).encode()
    for _ in range(3000):
        data = bytearray(original)
        for _ in range(chance.randrange(1, 5)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        with contextlib.suppress(Nonsense):
            read_list(bytes(data))
        read_inventory(bytes(data))


def test_an_inventory_names_what_is_there_and_nothing_becomes_of_lies() -> None:
    chain = chain_ids([DIGEST, DIGEST])[1]
    answer = f"{DIGEST}\n\nKEY PARENT KIND\n{chain}  {DIGEST} Committed\nactive  x  Active\n".encode()
    assert read_inventory(answer) == ({DIGEST}, {chain})
    assert read_inventory(b"\xff\n/etc/passwd")[1] == frozenset()
