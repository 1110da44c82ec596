# ruff: noqa: PTH101, PTH103, PTH105, PTH108, PTH110, PTH116, PTH120, PTH123, PTH208
"""On a second start, the database and the API server run before the kubelet does. In the node, with the standard library and crictl:

    python3 -I -S forerunners.py keep <file> <manifests> <answered>     when the node is about to stop
    python3 -I -S forerunners.py run <file> <manifests>                 when containerd answers again; ends when the kubelet may start

A kubelet needs most of a second before it starts its first container, and everything else waits for the API server. So what the kubelet
asked the runtime for is kept, and asked for again in its own words, one attempt later. To the kubelet it looks as if it had been restarted
while its pods ran on, which it knows how to deal with. Where anything is not as it was, nothing is done here, and the kubelet does it all.

Once a second, counted from its own start, a kubelet looks whether it can have its pods from the API server. So it is started a little
later: such that it will look just after the API server is there, if that takes as long as the last time. (<answered> is a file that was
made when the API server first answered.) A look too early is worse than one too late: what a kubelet is refused it asks for again after
a second, or two.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from typing import Any

API_SERVER = "kube-apiserver"
FIRST = ("etcd", API_SERVER)
"""Their containers need nothing of the kubelet's: no volumes but directories of the node. Those of controller manager and scheduler do
neither, but ask the API server for things that it cannot answer yet, and back off."""
FIRST_START = 0.8  # a first start has more to do beside its API server, which takes this part of that time in a second
LOOKS_EVERY = 1.0  # seconds between a kubelet's looks (WaitForAPIServerSyncPeriod)
BEFORE_FIRST_LOOK = 0.15  # until a kubelet that was just started has looked for the first time
UNTIL_WELL = 1.25  # times as long as to its first answer: until the API server lets a kubelet have what its pods need
PATIENCE = "20s"
TRIES = 100
NOT_YET = b"not initialized yet"  # containerd listens before it can do anything; crictl asks for that first
RESOLVERS = "/etc/resolv.conf"  # pods were told what was in it
RESTARTS = "io.kubernetes.container.restartCount"
LAST_WORDS = "io.kubernetes.container.terminationMessagePath"
GROUPS = "/sys/fs/cgroup"
# What the kubelet sets on a pod's control group when it makes it, in both versions of control groups.
GROUP_SETTINGS = ("cpu.shares", "cpu.cfs_quota_us", "cpu.weight", "cpu.max", "memory.limit_in_bytes", "memory.max", "pids.max")


def keep(place: str, manifests: str, answered: str) -> None:
    """Write down what the runtime was asked for, if both run."""
    names = f"({'|'.join(FIRST)})"
    asked = [_ask("inspectp", "--name", f"^{names}-", "--state", "Ready"), _ask("inspect", "--name", f"^{names}$", "--state", "Running")]
    boxes, containers = (_answer(process) for process in asked)
    configs = {box["status"]["id"]: box["info"]["config"] for box in boxes}
    pods = {}
    for container in containers:
        name, box = container["status"]["metadata"]["name"], configs.get(container["info"]["sandboxID"])
        if box and box["metadata"]["namespace"] == "kube-system":
            pods[name] = {
                "box": box,
                "container": container["info"]["config"],
                "manifest": _digest(f"{manifests}/{name}.yaml"),
                "group": _group_settings(box["linux"]["cgroup_parent"]),
            }
            if name == API_SERVER:
                took = seconds_to_answer(container["status"], answered)
    if pods.keys() == set(FIRST):
        with open(f"{place}.new", "w", encoding="utf-8") as stream:
            json.dump({"pods": pods, "resolvers": _digest(RESOLVERS), "took": took}, stream)
        os.replace(f"{place}.new", place)


def run(place: str, manifests: str) -> None:
    """Ask for it again; whatever goes wrong is left to the kubelet."""
    try:
        with open(place, encoding="utf-8") as stream:
            text = stream.read()
    except FileNotFoundError:
        return
    os.unlink(place)  # an attempt has its number once
    kept = json.loads(text)
    pods = kept["pods"]
    changed = any(pod["manifest"] != _digest(f"{manifests}/{name}.yaml") for name, pod in pods.items())
    if changed or kept["resolvers"] != _digest(RESOLVERS):
        print("a manifest or the name servers have changed: the kubelet does it all")
        return
    for pod in pods.values():
        let_use_cpus(pod["box"]["linux"]["cgroup_parent"])
    with tempfile.TemporaryDirectory() as directory:
        commands = [_command(name, pod, directory) for name, pod in pods.items()]
        if not all(run_each(commands)):
            # An API server without its database would keep the kubelet waiting, which would have to start the database.
            print("not everything has started: the kubelet does it all")
            for pod in pods.values():
                _remove(pod["box"]["metadata"]["uid"])
            return
    for pod in pods.values():
        _set_group(pod["group"])
    time.sleep(until_kubelet(kept["took"]))


def until_kubelet(took: float) -> float:
    """How long after the API server the kubelet is to start, if that will answer after `took` seconds; 0 if nobody knows."""
    return (took * UNTIL_WELL - BEFORE_FIRST_LOOK) % LOOKS_EVERY if took else 0


def next_attempt(box: dict[str, Any], container: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """As the kubelet counts: the pod, the container, its restarts, the number of its log."""
    attempt = container["metadata"].get("attempt", 0) + 1
    box = {**box, "metadata": {**box["metadata"], "attempt": box["metadata"].get("attempt", 0) + 1}}
    container = {
        **container,
        "metadata": {**container["metadata"], "attempt": attempt},
        "annotations": {**container["annotations"], RESTARTS: str(attempt)},
        "log_path": f"{container['metadata']['name']}/{attempt}.log",
    }
    return box, container


def run_each(commands: list[list[str]]) -> list[bool]:
    """Run all of them at once; which succeeded. One that came too early for containerd comes again."""
    return [_finish(process, command) for process, command in [(_spawn(command), command) for command in commands]]


def _finish(process: subprocess.Popen[bytes], command: list[str]) -> bool:
    for _ in range(TRIES):
        said = process.communicate()[0]
        if NOT_YET not in said:
            break
        time.sleep(0.01)
        process = _spawn(command)
    print(said.decode(errors="replace"), end="")
    return process.returncode == 0


def _spawn(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def _remove(uid: str) -> None:
    """The pod of that attempt, if it has come that far."""
    label = f"io.kubernetes.pod.uid={uid}"
    listed = subprocess.run(["crictl", "pods", "--quiet", "--label", label, "--state", "Ready"], stdout=subprocess.PIPE, check=False)
    if found := listed.stdout.decode().split():
        subprocess.run(["crictl", "rmp", "--force", *found], stdout=subprocess.DEVNULL, check=False)


def _command(name: str, pod: dict[str, Any], directory: str) -> list[str]:
    box, container = next_attempt(pod["box"], pod["container"])
    _make_file_for_last_words(container)
    files = []
    for kind, config in (("container", container), ("pod", box)):
        files.append(f"{directory}/{name}.{kind}.json")
        with open(files[-1], "w", encoding="utf-8") as stream:
            json.dump(config, stream)
    return ["crictl", "--timeout", PATIENCE, "run", "--no-pull", "--cancel-timeout", PATIENCE, *files]


def _make_file_for_last_words(container: dict[str, Any]) -> None:
    """Each container has one of its own."""
    for mount in container["mounts"]:
        if mount["container_path"] == container["annotations"].get(LAST_WORDS):
            directory = os.path.dirname(mount["host_path"])
            os.makedirs(directory, exist_ok=True)
            mount["host_path"] = f"{directory}/{os.urandom(4).hex()}"
            with open(mount["host_path"], "w", encoding="ascii"):
                os.chmod(mount["host_path"], 0o666)  # noqa: S103 - as the kubelet does: a container may run as anybody


def seconds_to_answer(status: dict[str, Any], answered: str) -> float:
    """From the start of the API server's container to its first answer, as a second start has to expect; 0 if nobody knows."""
    from datetime import datetime

    try:
        took = os.stat(answered).st_mtime - datetime.fromisoformat(status["startedAt"]).timestamp()
    except (OSError, ValueError):
        return 0
    return max(0, took if status["metadata"].get("attempt", 0) else took * FIRST_START)


def let_use_cpus(group: str) -> None:
    """On version 1 of control groups a new one may use no CPU until it is told which; crun tells the container's own only."""
    place = f"{GROUPS}/cpuset"
    if not os.path.exists(f"{place}/cpuset.cpus"):
        return
    for name in filter(None, group.split("/")):
        above, place = place, f"{place}/{name}"
        os.makedirs(place, exist_ok=True)
        for setting in ("cpuset.cpus", "cpuset.mems"):
            with open(f"{above}/{setting}", encoding="ascii") as source, open(f"{place}/{setting}", "w", encoding="ascii") as target:
                target.write(source.read())


def _group_settings(group: str) -> dict[str, str]:
    """Which file of a pod's control group says what."""
    found = {}
    for hierarchy in (GROUPS, *(f"{GROUPS}/{name}" for name in os.listdir(GROUPS))):
        for setting in GROUP_SETTINGS:
            path = f"{hierarchy}{group}/{setting}"
            try:
                with open(path, encoding="ascii") as stream:
                    found[path] = stream.read()
            except OSError:
                continue
    return found


def _set_group(settings: dict[str, str]) -> None:
    """The kubelet leaves a pod's control group alone when it finds one."""
    for path, value in settings.items():
        try:
            with open(path, "w", encoding="ascii") as stream:
                stream.write(value)
        except OSError as error:
            print(f"{path} stays as it is: {error}")


def _ask(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["crictl", *arguments, "--output", "json"], stdout=subprocess.PIPE)


def _answer(process: subprocess.Popen[bytes]) -> Any:
    """crictl's answer about one is not a list."""
    found = json.loads(process.communicate(timeout=5)[0])
    return found if isinstance(found, list) else [found]


def _digest(path: str) -> str:
    with open(path, "rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest()


if __name__ == "__main__":
    if sys.argv[1] == "keep":
        keep(*sys.argv[2:])
    else:
        run(*sys.argv[2:])
