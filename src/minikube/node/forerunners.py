# ruff: noqa: PTH101, PTH102, PTH103, PTH104, PTH105, PTH106, PTH108, PTH110, PTH113, PTH120, PTH123, PTH208, PTH211
"""On a second start, the cluster's own pods run before the kubelet does. In the node, with the standard library and three programs
(mount, crictl, and podstarter, where there is one):

    python3 -I -S forerunners.py keep <file> <manifests> <progress>     when the node is about to stop
    python3 -I -S forerunners.py run <file> <manifests> <held back> <socket of containerd>     ends when the kubelet may start

A kubelet needs most of a second before it starts its first container, and hears of most pods only from the API server. So what the kubelet
asked the runtime for is kept, and asked for again in its own words, one attempt later: first the database and the API server, without which
nothing goes, then the others, which are ready to go by the time the API server is (apidoor.py keeps them waiting). To the kubelet it looks
as if it had been restarted while its pods ran on, which it knows how to deal with. What is not as it was is left to the kubelet.

Pods with a network of their own get their old address again. Services lead there before the controllers run, which would have to tell
them of another one first.

Once a second, counted from its own start, a kubelet looks whether it can have its pods from the API server. So it is started a little
later: such that it will look just after the API server is there. (How far that had come a moment before, the last time, is in <progress>:
see apidoor.py.) It looks as often which containers there are, so it is not started before all of these.
"""

from __future__ import annotations

import binascii
import hashlib
import json
import os
import select
import socket
import subprocess
import sys
import time

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from typing import IO, Any

    Pod = dict[str, Any]

API_SERVER = "kube-apiserver"
FIRST = ("etcd", API_SERVER)
# Without an API server these two only burn CPU that it needs, and back off just when it is there: the kubelet gets their manifests then.
HELD_BACK = ("kube-controller-manager", "kube-scheduler")
THEN = (*HELD_BACK, "coredns", "kube-proxy", "storage-provisioner")
STATIC = (*FIRST, *HELD_BACK)
NAMESPACE = "kube-system"
ADDRESSES = "/var/lib/cni/networks/pods"  # of all pods that have their own: a file for each, and one for the last that was given away
LAST_ADDRESS = f"{ADDRESSES}/last_reserved_ip.0"
KUBELET = "/var/lib/kubelet/"
PROJECTED = "/volumes/kubernetes.io~projected/"  # files from the API server, in memory: gone when a node stops
TOKEN = "token"  # noqa: S105 - its file's name; one lives for an hour
TOKEN_SECONDS = 600  # how long it has to live on: a client may use it for a minute after the kubelet has replaced it
SIGNING_KEY = "/var/lib/minikube/certs/sa"
LONGEST = 5.0  # seconds that the kubelet waits for the API server
PATIENCE_SECONDS = 20
TRIES = 100
NOT_YET = b"not initialized yet"  # containerd listens before it can do anything
RESOLVERS = "/etc/resolv.conf"  # pods were told what was in it
RESTARTS = "io.kubernetes.container.restartCount"
LAST_WORDS = "io.kubernetes.container.terminationMessagePath"
GROUPS = "/sys/fs/cgroup"
# Of the group that all pods are in, in both versions of control groups: a quarter, and a tenth, of what the programs beside it have.
LITTLE_CPU = {"cpu/kubepods/cpu.shares": "256", "kubepods/cpu.weight": "10"}
# What the kubelet sets on a pod's control group when it makes it, in both versions.
GROUP_SETTINGS = ("cpu.shares", "cpu.cfs_quota_us", "cpu.weight", "cpu.max", "memory.limit_in_bytes", "memory.max", "pids.max")


def keep(place: str, manifests: str, progress: str) -> None:
    """Write down what the runtime was asked for, if database and API server run."""
    asked = [
        _ask("inspectp", "--namespace", f"^{NAMESPACE}$", "--state", "Ready"),
        _ask("inspect", "--label", f"io.kubernetes.pod.namespace={NAMESPACE}", "--state", "Running"),
        _ask("pods", "--namespace", f"^{NAMESPACE}$", "--state", "NotReady"),
    ]
    boxes, containers, (dead,) = (_answer(process) for process in asked)
    pods = []
    for box in boxes:
        inside = [container for container in containers if container["info"]["sandboxID"] == box["status"]["id"]]
        name = inside[0]["status"]["metadata"]["name"] if len(inside) == 1 else ""
        if name in (*FIRST, *THEN):
            pods.append(_kept(name, box, inside[0]["info"]["config"], manifests))
    if set(FIRST) <= {pod["name"] for pod in pods}:
        with open(os.open(f"{place}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
            json.dump({"pods": pods, "resolvers": _digest(RESOLVERS), "pages": int(_read(progress) or 0)}, stream)
        os.replace(f"{place}.new", place)
    _forget(pods, dead["items"])


def _forget(pods: list[Pod], boxes: list[Pod]) -> None:
    """Of the same pods, remove attempts before this one. The next kubelet would, at its busiest moment; now nobody waits for it."""
    own = {pod["box"]["metadata"]["uid"] for pod in pods}
    if old := [box["id"] for box in boxes if box["metadata"]["uid"] in own]:
        nowhere = subprocess.DEVNULL  # whoever asked us to keep things waits until nobody has its streams any more
        subprocess.Popen(["crictl", "rmp", *old], stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)


def _kept(name: str, box: Pod, container: Pod, manifests: str) -> Pod:
    return {
        "name": name,
        "box": box["info"]["config"],
        "container": container,
        "manifest": _digest(f"{manifests}/{name}.yaml") if name in STATIC else "",
        "group": _group_settings(box["info"]["config"]["linux"]["cgroup_parent"]),
        "address": box["status"]["network"]["ip"] if box["info"].get("cniResult") else "",
        "volumes": [projected_volume(mount["host_path"]) for mount in container["mounts"] if PROJECTED in mount["host_path"]],
        "files": [mount["host_path"] for mount in container["mounts"] if os.path.isfile(mount["host_path"])],
    }


def run(place: str, manifests: str, held_back: str, containerd: str) -> None:
    """Ask for it again; whatever goes wrong is left to the kubelet."""
    try:
        with open(place, encoding="utf-8") as stream:
            text = stream.read()
    except FileNotFoundError:
        return
    os.unlink(place)  # an attempt has its number once
    kept = json.loads(text)
    pods = [pod for pod in kept["pods"] if _is_as_it_was(pod, manifests, held_back)]
    first = [pod for pod in pods if pod["name"] in FIRST]
    if len(first) < len(FIRST) or kept["resolvers"] != _digest(RESOLVERS):
        print("a manifest or the name servers have changed: the kubelet does it all")
        return
    with Directory(f"{place}.asked") as asked:
        starter = Podstarter.made(containerd) or Crictl()
        pods = [pod for pod in pods if is_prepared(pod, asked)]
        _wait_for(containerd)
        if not all(start(first, starter, asked)):
            # An API server without its database would keep the kubelet waiting, which would have to start the database.
            print("not everything has started: the kubelet does it all")
            for pod in first:
                _remove(pod)
            return
        then = [pod for pod in pods if pod["name"] not in FIRST]
        with LittleCpu():
            answers = start(then, starter, asked)
        for pod, started in zip(then, answers, strict=True):
            if not started:
                _remove(pod)
    # In its first second a kubelet lets a question wait for up to a second, so it gets these, too, when everybody has a good answer.
    for name in FIRST:
        os.rename(f"{manifests}/{name}.yaml", f"{held_back}/{name}.yaml")
    _wait_for_progress(kept.get("pages", 0))


class LittleCpu:
    """For all pods together, while others are being made: the kubelet waits for the last one, and the API server has time until it looks.

    The kubelet would put it right, too, when it starts.
    """

    def __enter__(self) -> None:
        little = {f"{GROUPS}/{path}": value for path, value in LITTLE_CPU.items()}
        self.before = {path: value for path in little if (value := _read(path))}  # of one version or the other
        _set_group({path: little[path] for path in self.before})

    def __exit__(self, *_: object) -> None:
        _set_group(self.before)


class Directory:
    """For what the runtime is asked for, which has secrets in it. It goes when all is done."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __enter__(self) -> str:
        os.makedirs(self.place, mode=0o700, exist_ok=True)
        return self.place

    def __exit__(self, *_: object) -> None:
        for name in os.listdir(self.place):
            os.unlink(f"{self.place}/{name}")
        os.rmdir(self.place)


def _wait_for(path: str) -> None:
    """Until somebody listens at that socket. Whoever waits here has all else behind him already."""
    for _ in range(4 * TRIES):
        with socket.socket(socket.AF_UNIX) as peer:
            if peer.connect_ex(path) == 0:
                return
        time.sleep(0.005)


def _is_as_it_was(pod: Pod, manifests: str, held_back: str) -> bool:
    if pod["name"] in STATIC:
        return bool(pod["manifest"] == _digest(f"{held_back if pod['name'] in HELD_BACK else manifests}/{pod['name']}.yaml"))
    own = [mount["host_path"] for mount in pod["container"]["mounts"] if mount["host_path"].startswith(KUBELET)]
    return all(map(os.path.exists, own))


def is_prepared(pod: Pod, directory: str) -> bool:
    """One that cannot be is left to the kubelet, unless nothing goes without it."""
    try:
        prepare(pod, directory)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        if pod["name"] in FIRST:
            raise
        print(f"{pod['name']} is left to the kubelet: {error}")
        return False
    return True


def prepare(pod: Pod, directory: str) -> None:
    """What its containers will need of the node, and what the runtime will be asked for: two files in the directory."""
    let_use_cpus(pod["box"]["linux"]["cgroup_parent"])
    _make_files(pod)
    for volume in [with_valid_token(volume) for volume in pod["volumes"]]:
        make_volume(volume)
    box, container = next_attempt(pod["box"], pod["container"])
    _make_file_for_last_words(container)
    for config, path in zip((container, box), _files(pod, directory), strict=True):
        _write(path, json.dumps(config))


def _files(pod: Pod, directory: str) -> tuple[str, str]:
    """The container's, the pod's."""
    name = f"{directory}/{pod['box']['metadata']['name']}"
    return f"{name}.container.json", f"{name}.pod.json"


def start(pods: list[Pod], starter: Podstarter | Crictl, directory: str) -> list[bool]:
    """All at once, but addresses are given away in turn; which of them have started."""
    files = {pod["name"]: _files(pod, directory) for pod in pods}
    for pod in sorted(pods, key=lambda pod: bool(pod["address"])):
        _ask_at(pod["address"], starter, *files[pod["name"]])
    answers = {name: starter.answer(box) for name, (_, box) in files.items()}
    for pod in pods:
        _set_group(pod["group"])
    print("".join(f"{name}: {said}\n" for name, (_, said) in answers.items()), end="", flush=True)
    return [started for started, _ in answers.values()]


class Podstarter:
    """Asks the runtime for all of them: a program that is told of each, and tells of each when it has started or why not."""

    def __init__(self, told: IO[bytes], said: IO[bytes]) -> None:
        self.told, self.said = told, said
        self.answers: dict[str, tuple[bool, str]] = {}
        self.rest = b""

    @classmethod
    def made(cls, containerd: str) -> Podstarter | None:
        """None where there is no such program: it does not come with official releases."""
        try:
            process = subprocess.Popen(["podstarter", f"unix://{containerd}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        except FileNotFoundError:
            return None
        return cls(process.stdin, process.stdout) if process.stdin and process.stdout else None

    def ask(self, container: str, box: str) -> None:
        try:
            self.told.write(f"{container} {box}\n".encode())
        except OSError as error:
            self.answers[box] = False, str(error)

    def has_answered(self, box: str, seconds: float = 0.0) -> bool:
        while box not in self.answers and select.select([self.said], [], [], seconds)[0]:
            if not (data := self.said.read(1 << 16)):
                self.answers[box] = False, "whoever was to ask for it has ended"
            *lines, self.rest = (self.rest + data).split(b"\n")
            for line in lines:
                outcome, name, said = line.decode(errors="replace").split("\t", 2)
                self.answers[name] = outcome == "started", said
        return box in self.answers

    def answer(self, box: str) -> tuple[bool, str]:
        """Whether it has started, and the container's id or why not."""
        return self.answers[box] if self.has_answered(box, PATIENCE_SECONDS + 5) else (False, "no answer")


class Crictl:
    """Asks the runtime for one, so there is one for each."""

    def __init__(self) -> None:
        self.asking: dict[str, tuple[list[str], subprocess.Popen[bytes]]] = {}

    def ask(self, container: str, box: str) -> None:
        patience = f"{PATIENCE_SECONDS}s"
        command = ["crictl", "--timeout", patience, "run", "--no-pull", "--cancel-timeout", patience, container, box]
        self.asking[box] = command, self._spawn(command)

    def has_answered(self, box: str) -> bool:
        return self.asking[box][1].poll() is not None

    def answer(self, box: str) -> tuple[bool, str]:
        """As a podstarter's. One that came too early for containerd comes again."""
        command, process = self.asking[box]
        said = process.communicate()[0]
        for _ in range(TRIES):
            if NOT_YET not in said:
                break
            time.sleep(0.01)
            process = self._spawn(command)
            said = process.communicate()[0]
        return process.returncode == 0, said.decode(errors="replace").strip()

    def _spawn(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def _ask_at(address: str, starter: Podstarter | Crictl, container: str, box: str) -> None:
    """With that address, which nobody has any more, if addresses are given away as we know it."""
    taken = f"{ADDRESSES}/{address}"
    if not address or not os.path.exists(taken):
        starter.ask(container, box)
        return
    with open(LAST_ADDRESS, encoding="ascii") as stream:
        last = stream.read()
    *network, host = address.split(".")
    os.unlink(taken)
    _write(LAST_ADDRESS, ".".join((*network, str(int(host) - 1))))
    starter.ask(container, box)
    while not starter.has_answered(box) and not os.path.exists(taken):
        time.sleep(0.005)
    _write(LAST_ADDRESS, last)


def _wait_for_progress(pages: int) -> None:
    """Until the API server has come so far, or has ended."""
    if not pages:  # nobody has counted
        return
    processes = filter(str.isdigit, os.listdir("/proc"))
    pid = next((process for process in processes if _name_of(process) == API_SERVER), "")
    deadline = time.monotonic() + LONGEST
    while pid and time.monotonic() < deadline and 0 < _pages_touched(pid) < pages:
        time.sleep(0.01)


def _name_of(pid: str) -> str:
    return _read(f"/proc/{pid}/comm").strip()


def _pages_touched(pid: str) -> int:
    """As apidoor.py counts them."""
    return int((_read(f"/proc/{pid}/stat").rpartition(")")[2].split() or ["0"] * 8)[7])


def _read(path: str) -> str:
    """Empty if it has gone."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def next_attempt(box: Pod, container: Pod) -> tuple[Pod, Pod]:
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


def _remove(pod: Pod) -> None:
    """The pod of that attempt, if it has come that far."""
    label = f"io.kubernetes.pod.uid={pod['box']['metadata']['uid']}"
    listed = subprocess.run(["crictl", "pods", "--quiet", "--label", label, "--state", "Ready"], stdout=subprocess.PIPE, check=False)
    if found := listed.stdout.decode().split():
        subprocess.run(["crictl", "rmp", "--force", *found], stdout=subprocess.DEVNULL, check=False)


def projected_volume(path: str) -> Pod:
    """Its files, and what is in them."""
    files = {}
    for name in os.listdir(f"{path}/..data"):
        with open(f"{path}/..data/{name}", encoding="utf-8") as stream:
            files[name] = [os.fstat(stream.fileno()).st_mode & 0o777, stream.read()]
    return {"path": path, "files": files}


def with_valid_token(volume: Pod) -> Pod:
    """A token that has expired while the cluster was stopped gets a new life."""
    mode, token = volume["files"].get(TOKEN, (0, ""))
    if not token or _claims(token)["exp"] > time.time() + TOKEN_SECONDS:
        return volume
    return {**volume, "files": {**volume["files"], TOKEN: [mode, renewed(token)]}}


def renewed(token: str, key: str = SIGNING_KEY) -> str:
    """The same claims, signed again as the API server would, with the cluster's own key and for the time that the kubelet asked for.

    ValueError if that key did not sign it. What it is bound to (the pod, the node, the account) the API server looks at when it is used.
    """
    header = token.split(".", maxsplit=1)[0]
    if json.loads(_decoded(header)) != {"alg": "ES256", "kid": _key_id(f"{key}.pub")}:
        raise ValueError("its token is signed with another key")
    claims, now, unique = _claims(token), int(time.time()), os.urandom(16).hex()
    # The API server's own extension, if there was one, does not count.
    life = claims["kubernetes.io"].pop("warnafter", claims["exp"]) - claims["iat"]
    claims |= {"iat": now, "nbf": now, "exp": now + life}
    claims["jti"] = f"{unique[:8]}-{unique[8:12]}-4{unique[13:16]}-a{unique[17:20]}-{unique[20:]}"
    text = f"{header}.{_encoded(json.dumps(claims, separators=(',', ':')).encode())}"
    sign = ["openssl", "dgst", "-sha256", "-sign", f"{key}.key"]
    signature = subprocess.run(sign, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
    return f"{text}.{_encoded(_two_numbers(signature))}"


def _key_id(public_key: str) -> str:
    """As the API server names it."""
    lines = _read(public_key).splitlines()
    return _encoded(hashlib.sha256(binascii.a2b_base64("".join(lines[1:-1]))).digest())


def _two_numbers(signature: bytes) -> bytes:
    """openssl's DER (a sequence of two integers of up to 33 bytes) in the form of tokens: 32 bytes each."""
    end = 4 + signature[3]
    return b"".join(int.from_bytes(number, "big").to_bytes(32, "big") for number in (signature[4:end], signature[end + 2 :]))


def _claims(token: str) -> Pod:
    claims: Pod = json.loads(_decoded(token.split(".")[1]))
    return claims


def _decoded(part: str) -> bytes:
    return binascii.a2b_base64(part.replace("-", "+").replace("_", "/") + "=" * (-len(part) % 4))


def _encoded(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode().rstrip("=").replace("+", "-").replace("/", "_")


def make_volume(volume: Pod) -> None:
    """In memory, and such that the kubelet can replace the files, which it will at once."""
    path, now = volume["path"], time.strftime("..%Y_%m_%d_%H_%M_%S.0", time.gmtime())
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", path], check=True)
    os.mkdir(f"{path}/{now}")
    os.symlink(now, f"{path}/..data")
    for name, (mode, text) in volume["files"].items():
        _write(f"{path}/{now}/{name}", text)
        os.chmod(f"{path}/{now}/{name}", mode)
        os.symlink(f"..data/{name}", f"{path}/{name}")


def _make_files(pod: Pod) -> None:
    """Of the node, some of which went with its memory. (The runtime makes directories.)"""
    for path in pod["files"]:
        if not os.path.exists(path):
            _write(path, "")


def _make_file_for_last_words(container: Pod) -> None:
    """Each container has one of its own."""
    for mount in container["mounts"]:
        if mount["container_path"] == container["annotations"].get(LAST_WORDS):
            directory = os.path.dirname(mount["host_path"])
            os.makedirs(directory, exist_ok=True)
            mount["host_path"] = f"{directory}/{os.urandom(4).hex()}"
            with open(mount["host_path"], "w", encoding="ascii"):
                os.chmod(mount["host_path"], 0o666)  # noqa: S103 - as the kubelet does: a container may run as anybody


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


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as stream:
        stream.write(text)


def _digest(path: str) -> str:
    with open(path, "rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest()


def main(verb: str, *places: str) -> int:
    if verb == "keep":
        keep(*places)
        return 0
    try:
        run(*places)
    except Exception as error:  # whatever it is, a kubelet that finds no pods makes them
        print(f"the rest is left to the kubelet: {type(error).__name__}: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
