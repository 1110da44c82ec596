"""Which lines `logs --problems` shows."""

from __future__ import annotations

import pytest

from minikube.cluster.logproblems import problems

CRI = "2026-01-02T03:04:05.678901234Z stderr F "


@pytest.mark.parametrize(
    "line",
    [
        'E0102 03:04:05.678901       1 kubelet.go:3000] "Error syncing pod, skipping" err="back-off restarting failed container"',
        f'{CRI}F0102 03:04:05.678901       1 server.go:12] "fsnotify watcher init: too many open files"',
        f'{CRI}{{"level":"fatal","ts":"2026","msg":"failed to purge wal file","error":"permission denied"}}',
        'time="2026-01-02T03:04:05Z" level=error msg="failed to load plugin"',
        "[ERROR] plugin/errors: 2 example.org. A: read udp: i/o timeout",
        "panic: runtime error: invalid memory address",
        "[Thu Jan  1 00:00:00 2026] Out of memory: Killed process 123 (java)",
    ],
)
def test_what_a_component_calls_an_error_is_shown(line: str) -> None:
    assert problems([line]) == [line]


@pytest.mark.parametrize(
    "line",
    [
        'I0102 03:04:05.678901       1 factory.go:1] Registration of the crio container factory failed: Get "http://crio"',
        'E0102 03:04:05.678901       1 kubelet.go:1] "Unable to register mirror pod because node is not registered yet" err="no"',
        f'{CRI}{{"level":"error","msg":"setting up serving from embedded etcd failed.","error":"http: Server closed"}}',
        f'{CRI}{{"level":"error","msg":"failed to update storage version","error":"cannot detect: missing term information"}}',
        'time="2026-01-02T03:04:05Z" level=info msg="skip loading plugin" error="skip plugin"',
        f'{CRI}[INFO] 127.0.0.1:1 - 2 "A IN kubernetes.default." NOERROR qr,aa,rd 70 0.0001s',
        "\tfailSwapOn: false",
        "",
    ],
)
def test_what_every_healthy_cluster_says_is_left_out(line: str) -> None:
    assert problems([line]) == []
