"""Problems that are known by what other programs say of them: from a line of runc, etcd or the kubelet to advice that fits.

Ids and exit codes are upstream's where it knows the same problem. The first that matches counts, so the precise ones come first.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from minikube.output.kinds import QUOTING
from minikube.output.reason import Reason

_PROXY_PAGE = "https://minikube.sigs.k8s.io/docs/handbook/vpn_and_proxy/"
_INOTIFY_PAGE = "https://kind.sigs.k8s.io/docs/user/known-issues/#pod-errors-due-to-too-many-open-files"
_CGROUP_PAGE = "https://kubernetes.io/docs/concepts/architecture/cgroups/"
_CERTIFICATE_PAGE = "https://minikube.sigs.k8s.io/docs/handbook/untrusted_certs/"
_PRIVILEGED = "Inside a container, run that container with --privileged; `minikube doctor` says what is missing."


class KnownProblem(NamedTuple):
    """What its words look like. `in_logs`: they mean trouble also in a log, where healthy programs complain of many things."""

    id: str
    pattern: str
    advice: str
    url: str = ""
    issues: tuple[int, ...] = ()
    in_logs: bool = True


KNOWN = (
    # Limits of the host that hide behind other words come before the words' usual meaning.
    KnownProblem(
        "HOST_INOTIFY_LIMIT",
        r"too many open files|(inotify|fsnotify|watcher?).*no space left on device|failed to create fsnotify watcher",
        "The host allows too few file watches. Run: sudo sysctl -w fs.inotify.max_user_instances=1024 fs.inotify.max_user_watches=524288",
        _INOTIFY_PAGE,
    ),
    KnownProblem(
        "HOST_KEYRING_LIMIT",
        r"(keyring|key_serial|keyctl).*disk quota exceeded",
        "The host allows too few kernel keys. Run: sudo sysctl -w kernel.keys.maxkeys=20000 kernel.keys.maxbytes=400000",
    ),
    KnownProblem(
        "K8S_ETCD_NO_SPACE",
        r"mvcc: database space exceeded|etcdserver: no space",
        "The cluster's database is full. Delete objects, or start with a larger one: --extra-config=etcd.quota-backend-bytes=8589934592",
        "https://etcd.io/docs/latest/op-guide/maintenance/#space-quota",
    ),
    KnownProblem(
        "GUEST_PROVISION_NOSPACE",
        r"no space left on device|disk quota exceeded",
        "The disk is full, or has no inodes left. Free some space (df -h, df -i), then run the command again: it goes on where it stopped.",
        issues=(10482,),
    ),
    KnownProblem(
        "RSRC_OUT_OF_MEMORY",
        r"OOMKilled|oom-kill|out of memory: killed|memory cgroup out of memory|cannot allocate memory|was ended by SIGKILL|signal: killed",
        "Something ran out of memory and was ended. Give the cluster more (--memory), or end other programs of this machine.",
        issues=(1766,),
    ),
    KnownProblem(
        "RSRC_PROCESS_LIMIT",
        r"fork/exec .*resource temporarily unavailable|pthread_create failed|can't start new thread|failed to create new OS thread",
        "This machine, or the container around minikube, allows too few processes. Raise its limit (ulimit -u, pids.max).",
    ),
    # Control groups
    KnownProblem(
        "HOST_PIDS_CGROUP",
        r"failed to find subsystem mount for required subsystem: pids",
        "The control group `pids` is not mounted on this machine: grep pids /proc/cgroups",
        issues=(6411,),
    ),
    KnownProblem(
        "HOST_CGROUP_V1",
        r"configured to not run on a host using cgroup v1|cgroup v1 support is (unsupported|in maintenance)[^\n]*failCgroupV1",
        "This machine has control groups of version 1, which this Kubernetes refuses. Add systemd.unified_cgroup_hierarchy=1 to the "
        "kernel's command line, or use an older version: --kubernetes-version",
        _CGROUP_PAGE,
        in_logs=False,
    ),
    KnownProblem(
        "HOST_CGROUP_NOT_SUPPORTED",
        r"cgroup mountpoint does not exist|cannot find cgroup mount destination|no cgroup mount found|cgroup.*read-only file system"
        r"|subtree_control.*device or resource busy|cannot enter cgroupv2 .* with domain controllers"
        r"|root container \[kubepods\] doesn't exist",
        "The control groups of this machine cannot be used from here. " + _PRIVILEGED,
        _CGROUP_PAGE,
        (12232,),
    ),
    # Rights
    KnownProblem(
        "HOST_MISSING_CAPABILITY",
        r"unable to apply caps|unable to set capabilities|oom_score_adj: permission denied|error setting rlimit.*operation not permitted"
        r"|(unshare|setns|pivot_root|mknod|sethostname|mount)\b.*operation not permitted"
        r"|no (network|mount) namespace: operation not permitted",
        "The kernel does not let minikube do that: a capability is missing. " + _PRIVILEGED,
    ),
    KnownProblem(
        "HOST_KUBECONFIG_PERMISSION",
        r"\.kube/config\S*: permission denied",
        "Make your kubeconfig yours again: sudo chown $USER $HOME/.kube/config && chmod 600 $HOME/.kube/config",
        issues=(5714,),
        in_logs=False,
    ),
    KnownProblem(
        "HOST_HOME_PERMISSION",
        r"/\.minikube/\S*: permission denied",
        "Make the directory yours again: sudo chown -R $USER $HOME/.minikube && chmod -R u+wrx $HOME/.minikube",
        issues=(9165,),
        in_logs=False,
    ),
    KnownProblem(
        "HOST_NOEXEC",
        r"fork/exec \S+: permission denied|exec: \S+: permission denied|may not be executed",
        "Programs may not run from that file system (mounted noexec?). Set MINIKUBE_HOME and MINIKUBE_STORE to directories on another one.",
    ),
    KnownProblem(
        "GUEST_INCORRECT_ARCH",
        r"exec format error",
        "A program was built for another processor than this machine has. Use an image for this machine's architecture.",
        issues=(10243,),
    ),
    # The kernel
    KnownProblem(
        "HOST_OVERLAY_NOT_SUPPORTED",
        r"not supported as upperdir|overlay.*(invalid argument|no such device|wrong fs type|unknown filesystem)|upperdir.*invalid argument",
        "The file system of the home cannot hold containers. Set MINIKUBE_HOME to a directory on ext4, xfs or btrfs.",
    ),
    KnownProblem(
        "HOST_NO_IPV6",
        r"(listen|dial|bind)\S* .*\[[0-9a-f:]*:[0-9a-f:]*\]"
        r".*(cannot assign requested address|address family not supported|network is unreachable)"
        r"|disable_ipv6: no such file",
        "This machine has no IPv6, and something was told to use it. Use IPv4 addresses in --extra-config, --service-cluster-ip-range and "
        "--apiserver-ips, or switch IPv6 on: sudo sysctl -w net.ipv6.conf.all.disable_ipv6=0",
        in_logs=False,
    ),
    KnownProblem(
        "HOST_NFTABLES_NOT_SUPPORTED",
        r"could not process rule: (no such file or directory|operation not supported|protocol not supported|operation not permitted)"
        r"|cache initialization failed|nf_tables.*(not supported|not found)",
        "The kernel lacks parts of nftables, or does not allow them here: sudo modprobe -a nf_tables nft_masq nft_ct. " + _PRIVILEGED,
    ),
    KnownProblem(
        "HOST_READ_ONLY",
        r"read-only file system",
        "A file system that must be written to is read-only, as after a disk error: look at `dmesg`, then repair and remount it.",
    ),
    # Time and certificates
    KnownProblem(
        "HOST_CLOCK_SKEW",
        r"current time \S+ is before \S+|certificate is not yet valid",
        "The clock of this machine is wrong (it was asleep, or set back). Set it: sudo timedatectl set-ntp true; then start again.",
        issues=(1378, 4264),
    ),
    KnownProblem(
        "GUEST_CERT_EXPIRED",
        r"current time \S+ is after \S+|certificate has expired",
        "A certificate has expired. `minikube stop`, then `minikube start` renews those of the cluster; check the clock, too: date",
        issues=(10122, 18074),
    ),
    KnownProblem(
        "INET_REGISTRY_CERT",
        r"(pull|registry|proxy\.golang|pypi|https?://(?!\d)).*(certificate signed by unknown authority|certificate verify failed)",
        "A proxy or registry has a certificate of its own. Put its authority (PEM) into ~/.minikube/certs and trust it on this machine.",
        _CERTIFICATE_PAGE,
        (3613,),
    ),
    KnownProblem(
        "GUEST_UNSIGNED_CERT",
        r"not signed by CA certificate|certificate signed by unknown authority",
        "The cluster's certificates do not belong together. `minikube delete`, then `minikube start` makes new ones.",
        issues=(6596,),
        in_logs=False,
    ),
    # What the user asked for
    KnownProblem(
        "K8S_UNKNOWN_FEATURE_GATE",
        r"unrecognized feature gate|cannot set feature gate \S+ to|feature gate \S+ is not recognized",
        "This Kubernetes does not know that feature gate, or no longer lets it be changed: check --feature-gates.",
    ),
    KnownProblem(
        "K8S_UNKNOWN_FLAG",
        r"unknown (shorthand )?flag: ['-]|flag provided but not defined|failed to parse kubelet flag|unknown command .* for \"kube",
        "A component does not know a flag that --extra-config gives it; flags come and go with Kubernetes' versions.",
    ),
    KnownProblem(
        "K8S_INVALID_FLAG_VALUE",
        r"invalid argument \"[^\"]*\" for \"?--|invalid value for config.*--|err=\"?.*--\S+ must be|failed validate: \w+Configuration\.",
        "A component cannot use a value that --extra-config gives it.",
    ),
    KnownProblem("K8S_INVALID_DNS_DOMAIN", r"dnsDomain: Invalid", "Choose a valid domain name with --dns-domain."),
    KnownProblem(
        "K8S_INVALID_CERT_HOSTNAME",
        r"certSANs: Invalid value",
        "Check the names given with --apiserver-name, --apiserver-names and --apiserver-ips.",
        issues=(9175,),
    ),
    KnownProblem(
        "RSRC_INSUFFICIENT_CORES",
        r"number of available CPUs \d+ is less than the required \d+",
        "Kubernetes needs two CPUs: --cpus=2, on a machine that has them.",
        "https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/install-kubeadm/",
        (7905,),
    ),
    # The database
    KnownProblem(
        "K8S_ETCD_CORRUPT",
        r"(wal|walpb|snap|snapshot): (crc mismatch|file not found|unexpected)|failed to (open|read) WAL|failed to recover v3 backend"
        r"|database file .*(corrupt|not found)|invalid database|version mismatch.*bolt|tocommit\(\d+\) is out of range"
        r"|freelist.*(corrupt|invalid)",
        "The cluster's database is damaged (a crash of the machine, a full disk). `minikube delete` and `minikube start` make a new one.",
    ),
    # Ports
    KnownProblem(
        "GUEST_PORT_IN_USE",
        r"ERROR Port-\S*.*is in use|address already in use|\bport \d+ is already (in use|allocated)",
        "Another program has that port already: `ss -ltnp` finds it (`minikube ssh -- ss -ltnp` in the node). End it, or choose another "
        "port, for example --apiserver-port=8444.",
        issues=(5484,),
    ),
    # The way outside
    KnownProblem(
        "INET_PROXY_AUTH",
        r"proxy authentication required|\b407\b.*proxy|proxyconnect.*\b407\b",
        "The proxy wants a name and a password: write them into HTTPS_PROXY, as in http://name:password@proxy:3128",
        _PROXY_PAGE,
    ),
    KnownProblem(
        "INET_PROXY_UNREACHABLE",
        r"proxyconnect tcp|cannot connect to proxy|tunnel connection failed|ProxyError",
        "The proxy that HTTP_PROXY or HTTPS_PROXY names does not answer. Check both; NO_PROXY must name the cluster (192.168.49.0/24).",
        _PROXY_PAGE,
    ),
    KnownProblem(
        "INET_PROXY_503",
        r"proxy.*unexpected response code: 503|503 service unavailable.*(192\.168|10\.249)|(192\.168|10\.249)\S* .*\b(502|503|403)\b",
        "A proxy answers instead of the cluster. Run: export NO_PROXY=$NO_PROXY,192.168.49.0/24,10.96.0.0/12",
        _PROXY_PAGE,
        (4749,),
    ),
    KnownProblem(
        "INET_PROXY_CONFUSION",
        r"server gave HTTP response to HTTPS client",
        "HTTPS was spoken to something that speaks HTTP: check HTTPS_PROXY, or name the registry in --insecure-registry.",
        _PROXY_PAGE,
        (6107,),
    ),
    KnownProblem(
        "INET_NOT_TLS",
        r"first record does not look like a TLS handshake|wrong version number",
        "HTTPS_PROXY leads to a proxy that does not speak HTTPS: most are written http://",
        _PROXY_PAGE,
        (7286,),
    ),
    KnownProblem(
        "INET_TLS_OVERSIZED",
        r"tls: oversized record received",
        "A firewall meddles with HTTPS. Check HTTPS_PROXY.",
        _PROXY_PAGE,
        (3857, 3759, 4252),
    ),
    KnownProblem(
        "INET_RATE_LIMIT",
        r"toomanyrequests|too many requests|pull rate limit",
        "The registry has had enough of this address for now. Log in to it, wait, or bring the image yourself.",
    ),
    KnownProblem(
        "INET_IMAGE_NOT_FOUND",
        r"pull access denied|manifest unknown|repository does not exist|failed to resolve reference.*not found",
        "The registry has no such image, or does not show it to you: check name and tag, and whether it needs a login.",
    ),
    KnownProblem(
        "INET_LOOKUP_HOST",
        r"lookup \S+.*: (no such host|server misbehaving|i/o timeout)|temporary failure in name resolution|name or service not known",
        "A name could not be looked up. Check the network, /etc/resolv.conf and the proxy settings.",
        _PROXY_PAGE,
    ),
    KnownProblem(
        "INET_PULL_TIMEOUT",
        r"(pull|registry|image).*(timeout exceeded while awaiting headers|i/o timeout|TLS handshake timeout|context deadline exceeded)",
        "The registry does not answer. Check the network and the proxy settings; --image-repository names another one.",
        _PROXY_PAGE,
        (3898, 6070),
    ),
    KnownProblem(
        "INET_RESET_BY_PEER",
        r"(download|pull|fetch|https?://\S+).*connection reset by peer",
        "A firewall cuts the connection. A proxy may be needed: HTTPS_PROXY.",
        _PROXY_PAGE,
        (3909,),
    ),
    KnownProblem(
        "INET_DEFAULT_ROUTE",
        r"no default routes|from default routes",
        "This machine has no default route: connect it to a network, or set one (ip route add default via …).",
        issues=(6083, 5636),
    ),
    KnownProblem(
        "IF_ROUTE_CLASH",
        r"no route to host|network is unreachable|RTNETLINK answers: (file exists|network is unreachable)",
        "A VPN or firewall may have taken the cluster's addresses: `minikube doctor` says so. Take it down, or delete the cluster and "
        "start it again, which chooses free addresses.",
        _PROXY_PAGE,
        (4302, 12315),
        in_logs=False,
    ),
    # The control plane, when nothing more precise is known
    KnownProblem(
        "K8S_KUBELET_NOT_RUNNING",
        r"the kubelet is not (running|healthy)|kubelet isn't running|\[kubelet-check\].*(not healthy|refused)|failed to run kubelet",
        "The kubelet does not run: minikube ssh -- tail -n 40 /var/log/minikube/kubelet.log",
        issues=(4172,),
    ),
    KnownProblem(
        "K8S_APISERVER_TIMEOUT",
        r"apiserver: timed out waiting|apiserver process never appeared",
        "The API server does not come up: `minikube logs` has its last words. A slow machine may need more time: --wait-timeout=15m",
        issues=(4302, 4536),
        in_logs=False,
    ),
)


def explained(reason: Reason) -> Reason:
    """The same failure with the id and the advice of the problem behind it, if that is known."""
    if reason.id not in QUOTING:
        return reason
    # Words of the programs themselves say more than that nothing came of it.
    for problem in KNOWN:
        for text, is_log in ((reason.message, False), (reason.evidence, True)):
            if text and (problem.in_logs or not is_log) and (found := re.search(problem.pattern, text, re.IGNORECASE)):
                message = f"{reason.message}\n{_line(text, found)}" if is_log else reason.message
                return Reason(problem.id, message, advice=problem.advice, url=problem.url, issues=problem.issues)
    return reason


def _line(text: str, found: re.Match[str]) -> str:
    """The line that gave it away, as much of it as a person wants to read."""
    begin, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
    return text[begin : end if end >= 0 else len(text)].strip()[-600:]
