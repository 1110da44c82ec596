"""The logs of a cluster, section by section."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from minikube.cluster import existing, logproblems
from minikube.cluster.pausing import is_paused
from minikube.drivers.base import Node
from minikube.output.visible import GuardedDescriptors

CONTROL_PLANE = ("kube-apiserver", "etcd", "coredns", "kube-scheduler", "kube-proxy", "kube-controller-manager", "storage-provisioner")
SERVICES = ("containerd", "kubelet")

# What the kernel complained of; on most hosts it tells that to the host's root only.
_DMESG = "dmesg --noescape --ctime --level=warn,err,crit,alert,emerg"
_KERNEL = "uptime; uname -a; grep PRETTY_NAME /etc/os-release"
_DESCRIBE = "KUBECONFIG=/etc/kubernetes/super-admin.conf kubectl describe nodes"


def collect(profile: str, *, length: int = 60, node: str = "", problems: bool = False) -> Iterator[str]:
    """Lines for the terminal: container logs, services, the node's own events."""
    target = existing.running_node(profile, node)
    # These two ask programs that take their time; meanwhile all files are read by one process.
    describe = "echo 'The API server is paused and does not answer.'" if is_paused(target) else f"{_DESCRIBE} 2>&1"
    containers, nodes = _Later(target, ["crictl", "ps", "-a"]), _Later(target, ["/bin/sh", "-c", describe])
    sections = [("container status", containers.lines), *_files(target, length), ("describe nodes", nodes.lines)]
    quiet = problems
    for title, read in sections:
        lines = logproblems.problems(read()) if problems else read()
        if lines or not problems:
            quiet = False
            yield f"==> {title} <=="
            yield from lines
            yield ""
    if quiet:
        yield "No problems were found in the logs."


def follow(profile: str, *, length: int = 60, node: str = "") -> int:
    """Show the log of the node's services as it grows, until interrupted."""
    target = existing.running_node(profile, node)
    tail = ["/usr/bin/tail", "-n", str(length), "-F", *(f"/var/log/minikube/{name}.log" for name in SERVICES)]
    with GuardedDescriptors():
        return target.attach(tail, tty=False)


def _files(node: Node, length: int) -> list[tuple[str, Callable[[], list[str]]]]:
    """The last lines of every log file, by title. Container logs are files too: the runtime need not be asked for ids."""
    script = ""
    for name in CONTROL_PLANE:
        newest = f"$(ls -t /var/log/pods/kube-system_{name}*/*/*.log 2>/dev/null | head -n 2)"
        script += f"printf '\\0{name}\\0'; tail -q -n {length} {newest} /dev/null 2>&1\n"
    for service in SERVICES:
        script += f"printf '\\0{service}\\0'; tail -n {length} /var/log/minikube/{service}.log 2>&1\n"
    script += f"printf '\\0dmesg\\0'; {_DMESG} 2>&1 | tail -n {length}\n"
    script += f"printf '\\0kernel\\0'; {_KERNEL} 2>&1\n"
    _, *parts = "\n".join(_output(node, ["/bin/sh", "-c", script])).split("\0")
    return [(title, text.strip("\n").splitlines) for title, text in zip(parts[::2], parts[1::2], strict=False)]


class _Later:
    """The output of a command that runs in the meantime."""

    def __init__(self, node: Node, argv: list[str]) -> None:
        import threading

        self._lines: list[str] = []
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, args=(node, argv), daemon=True)
        self._thread.start()

    def lines(self) -> list[str]:
        self._thread.join()
        if self._failure:
            raise self._failure
        return self._lines

    def _work(self, node: Node, argv: list[str]) -> None:
        try:
            self._lines = _output(node, argv)
        except BaseException as error:
            self._failure = error


def _output(node: Node, argv: list[str]) -> list[str]:
    try:
        result = node.run(argv, timeout=30)
    except TimeoutError:
        return [f"{argv[-1]}: no answer in 30 s"]
    return (result.stdout + result.stderr).decode(errors="replace").rstrip("\n").split("\n")
