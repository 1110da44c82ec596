"""Lines that programs really write, and the problem that each of them means."""

from __future__ import annotations

import json
import re

import pytest

from minikube.output.kinds import KINDS, QUOTING
from minikube.output.knownproblems import KNOWN, explained
from minikube.output.reason import Reason
from minikube.output.report import Report, make_report

SAID = [
    ("GUEST_PROVISION_NOSPACE", 26, "write /var/lib/etcd/member/wal/0.tmp: no space left on device"),
    ("HOST_INOTIFY_LIMIT", 38, 'E1116 kubelet.go:1 "Failed to start" err="inotify_init: too many open files"'),
    ("HOST_INOTIFY_LIMIT", 38, "inotify_add_watch /sys/fs/cgroup/memory/kubepods: no space left on device"),
    ("HOST_KEYRING_LIMIT", 38, "runc create failed: unable to join session keyring: unable to create session key: disk quota exceeded"),
    ("RSRC_OUT_OF_MEMORY", 23, "/usr/bin/go build\nwas ended by SIGKILL"),
    ("RSRC_OUT_OF_MEMORY", 23, "Memory cgroup out of memory: Killed process 4242 (kube-apiserver)"),
    ("RSRC_OUT_OF_MEMORY", 23, "fork/exec /usr/local/bin/runc: cannot allocate memory"),
    ("RSRC_PROCESS_LIMIT", 20, "runtime: failed to create new OS thread (have 12 already; errno=11)"),
    ("HOST_PIDS_CGROUP", 36, "failed to find subsystem mount for required subsystem: pids"),
    ("HOST_CGROUP_V1", 36, "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is in maintenance mode"),
    ("HOST_CGROUP_NOT_SUPPORTED", 36, "mkdir /sys/fs/cgroup/memory/minikube: read-only file system"),
    ("HOST_CGROUP_NOT_SUPPORTED", 36, "cgroups: cgroup mountpoint does not exist: unknown"),
    ("HOST_CGROUP_NOT_SUPPORTED", 36, "write /sys/fs/cgroup/minikube/cgroup.subtree_control: device or resource busy"),
    ("HOST_MISSING_CAPABILITY", 37, "runc create failed: unable to start container process: unable to apply caps: operation not permitted"),
    ("HOST_MISSING_CAPABILITY", 37, "runc init: write /proc/self/oom_score_adj: permission denied"),
    ("HOST_MISSING_CAPABILITY", 37, "no network namespace: Operation not permitted"),
    ("HOST_KUBECONFIG_PERMISSION", 37, "open /home/anna/.kube/config: permission denied"),
    ("HOST_HOME_PERMISSION", 37, "open /home/anna/.minikube/profiles/minikube/config.json: permission denied"),
    ("HOST_NOEXEC", 37, "fork/exec /opt/store/runc: permission denied"),
    ("GUEST_INCORRECT_ARCH", 86, "exec /app: exec format error"),
    ("HOST_OVERLAY_NOT_SUPPORTED", 36, "overlayfs: filesystem on '/var/lib/x/upper' not supported as upperdir"),
    ("HOST_OVERLAY_NOT_SUPPORTED", 36, 'failed to mount rootfs component: mount source: "overlay", err: invalid argument'),
    ("HOST_NO_IPV6", 36, "listen tcp [::1]:2379: bind: cannot assign requested address"),
    ("HOST_NO_IPV6", 36, "dial tcp [2001:db8::1]:443: connect: network is unreachable"),
    ("HOST_NFTABLES_NOT_SUPPORTED", 36, "/dev/stdin:5:5-14: Error: Could not process rule: No such file or directory"),
    ("HOST_READ_ONLY", 37, "open /var/lib/etcd/member: read-only file system"),
    ("HOST_CLOCK_SKEW", 38, "x509: certificate has expired or is not yet valid: current time 2020-01-01T00:00:00Z is before 2026-11"),
    ("GUEST_CERT_EXPIRED", 88, "x509: certificate has expired or is not yet valid: current time 2030-01-01T00:00:00Z is after 2029"),
    ("INET_REGISTRY_CERT", 48, 'failed to pull image: Head "https://registry.corp/v2/": x509: certificate signed by unknown authority'),
    ("GUEST_UNSIGNED_CERT", 88, "x509: certificate signed by unknown authority"),
    ("K8S_UNKNOWN_FEATURE_GATE", 108, "unrecognized feature gate: NoSuchGate"),
    ("K8S_UNKNOWN_FLAG", 108, "Error: unknown flag: --no-such-flag"),
    ("K8S_INVALID_FLAG_VALUE", 108, 'Error: invalid argument "many" for "--max-requests-inflight" flag: parsing "many": invalid syntax'),
    ("K8S_INVALID_DNS_DOMAIN", 108, 'networking.dnsDomain: Invalid value: "_"'),
    ("K8S_INVALID_CERT_HOSTNAME", 108, 'apiServer.certSANs: Invalid value: "a b"'),
    ("RSRC_INSUFFICIENT_CORES", 29, "[ERROR NumCPU]: the number of available CPUs 1 is less than the required 2"),
    ("K8S_ETCD_CORRUPT", 100, "panic: wal: crc mismatch"),
    ("K8S_ETCD_CORRUPT", 100, 'panic: tocommit(8) is out of range [lastIndex(0)]. Was the raft log corrupted, truncated, or lost?'),
    ("K8S_ETCD_NO_SPACE", 100, "etcdserver: mvcc: database space exceeded"),
    ("GUEST_PORT_IN_USE", 81, "[ERROR Port-8443]: Port 8443 is in use"),
    ("GUEST_PORT_IN_USE", 81, "listen tcp 0.0.0.0:8443: bind: address already in use"),
    ("INET_PROXY_AUTH", 47, "Get https://proxy.golang.org/: Proxy Authentication Required"),
    ("INET_PROXY_UNREACHABLE", 49, "proxyconnect tcp: dial tcp 10.0.0.1:3128: connect: connection refused"),
    ("INET_PROXY_CONFUSION", 48, "http: server gave HTTP response to HTTPS client"),
    ("INET_NOT_TLS", 48, "tls: first record does not look like a TLS handshake"),
    ("INET_TLS_OVERSIZED", 41, "tls: oversized record received with length 20527"),
    ("INET_RATE_LIMIT", 49, "toomanyrequests: You have reached your pull rate limit"),
    ("INET_IMAGE_NOT_FOUND", 45, "pull access denied, repository does not exist or may require authorization"),
    ("INET_LOOKUP_HOST", 48, "dial tcp: lookup registry.k8s.io on 127.0.0.53:53: no such host"),
    ("INET_LOOKUP_HOST", 48, "Temporary failure in name resolution"),
    ("INET_PULL_TIMEOUT", 42, "failed to pull image: net/http: request canceled (Client.Timeout exceeded while awaiting headers)"),
    ("INET_RESET_BY_PEER", 49, "download https://proxy.golang.org/x: read: connection reset by peer"),
    ("INET_DEFAULT_ROUTE", 45, "unable to select an IP from default routes"),
    ("IF_ROUTE_CLASH", 71, "dial tcp 192.168.49.2:8443: connect: no route to host"),
    ("K8S_KUBELET_NOT_RUNNING", 109, "[kubelet-check] The kubelet is not healthy after 4m0s"),
    ("K8S_APISERVER_TIMEOUT", 102, "wait 6m0s for node: apiserver: timed out waiting for the condition"),
]  # fmt: skip

# What a healthy cluster's programs write while they start: no word of these may be taken for the cause of anything.
HEALTHY_LOGS = """\
E1116 06:00:01 reflector.go:205] "Failed to watch" err="failed to list *v1.Node: Get \\"https://192.168.49.2:8443/api/v1/nodes\\": \
dial tcp 192.168.49.2:8443: connect: connection refused"
W1116 06:00:01 clientconn.go:1385] grpc: addrConn.createTransport failed to connect to {Addr: "127.0.0.1:2379"}. Err: connection refused
time="2026-11-16T06:00:00Z" level=warning msg="could not use snapshotter zfs" error="path must be a zfs: skip plugin"
time="2026-11-16T06:00:00Z" level=info msg="skip loading plugin" error="no scratch file generator: skip plugin"
W1116 06:00:01 kubelet.go:1] "CNI config uninitialized" err="cni plugin not initialized: no network config found in /etc/cni/net.d"
E1116 06:00:02 kubelet_node_status.go:116] "Unable to register node with API server" err="nodes is forbidden: not yet ready"
{"level":"warn","msg":"failed to reach the peer URL","error":"context deadline exceeded"}
I1116 06:00:02 kubelet.go:1] cgroup v1 support is in maintenance mode, please migrate to cgroup v2
"""


@pytest.mark.parametrize(("id", "code", "said"), SAID, ids=[f"{id}-{number}" for number, (id, _, _) in enumerate(SAID)])
def test_what_a_program_says_becomes_advice(id: str, code: int, said: str) -> None:
    known = explained(Reason("K8S_INSTALL_FAILED", f"it went wrong: {said}"))
    assert (known.id, known.exit_code) == (id, code)
    assert said in known.message
    assert known.advice
    assert known.advice != Reason("K8S_INSTALL_FAILED", "x").advice


def test_every_known_problem_has_a_line_that_shows_it() -> None:
    unproven = {problem.id for problem in KNOWN} - {id for id, _, _ in SAID}
    assert unproven == {"INET_PROXY_503"}


@pytest.mark.parametrize(
    "said", ["503 Service Unavailable from https://192.168.49.2:8443", "https://192.168.49.2:8443/version answered 503"]
)
def test_a_proxy_between_us_and_the_cluster(said: str) -> None:
    assert explained(Reason("K8S_INSTALL_FAILED", said)).id == "INET_PROXY_503"


def test_ids_have_exit_codes_and_patterns_are_regular_expressions() -> None:
    for problem in KNOWN:
        assert problem.id in KINDS
        re.compile(problem.pattern)


def test_the_cause_is_found_in_the_logs_and_shown() -> None:
    failed = Reason("K8S_INSTALL_FAILED", "the API server did not come up: kubelet is running")
    failed.evidence = HEALTHY_LOGS + "2026-11-16T06:00:03Z stderr F Error: unknown flag: --no-such-flag\n" + HEALTHY_LOGS
    known = explained(failed)
    assert known.id == "K8S_UNKNOWN_FLAG"
    assert known.message.splitlines() == [failed.message, "2026-11-16T06:00:03Z stderr F Error: unknown flag: --no-such-flag"]


def test_logs_of_healthy_programs_are_not_accused() -> None:
    failed = Reason("K8S_INSTALL_FAILED", "the API server did not come up")
    failed.evidence = HEALTHY_LOGS
    assert explained(failed) is failed


def test_reasons_that_know_their_cause_are_left_alone() -> None:
    for id in ("MK_USAGE", "GUEST_DRIVER_MISMATCH", "RSRC_INSUFFICIENT_STORAGE", "HOST_PROFILE_LOCKED"):
        assert id not in QUOTING
        reason = Reason(id, "no space left on device")
        assert explained(reason) is reason


def test_json_and_text_carry_advice_url_and_issues(capsys: pytest.CaptureFixture[str]) -> None:
    known = explained(Reason("GUEST_PROVISION", "tls: first record does not look like a TLS handshake"))
    make_report("start", json=True).error(known)
    data = json.loads(capsys.readouterr().out)["data"]
    assert data == {
        "advice": known.advice,
        "exitcode": "48",
        "issues": "https://github.com/kubernetes/minikube/issues/7286",
        "message": known.message,
        "name": "INET_NOT_TLS",
        "url": "https://minikube.sigs.k8s.io/docs/handbook/vpn_and_proxy/",
    }
    Report("start").error(known)
    text = capsys.readouterr().err
    for words in ("Exiting due to INET_NOT_TLS", "Suggestion: HTTPS_PROXY", "Documentation: https://", "Related issues: https://"):
        assert words in text
