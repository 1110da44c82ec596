"""Any user: `start`, `stop` and `delete` get root rights once, from sudo; the rest runs without; every file belongs to the user."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.host import processes
from support.minikube import Answer, Minikube, read_until
from support.people import Somebody, people
from support.smallbundle import make
from support.smallnetwork import connects_as
from support.waiting import eventually

SECRET = "swordfish-7351"  # in an address of a proxy, which may hold a password


class Host:
    """Two users, and the first one's cluster."""

    def __init__(self, users: dict[str, Somebody]) -> None:
        self.dev, self.guest = users["dev"], users["guest"]
        self.cluster = Minikube(self.dev, "minikube")
        self.command_lines: set[str] = set()

    def with_sudo(self, *words: str) -> Answer:
        argv = [*self.dev.enter(), "sudo", "-n", *self.dev.program(), *words]
        done = subprocess.run(argv, env=self.dev.environment, capture_output=True, text=True, timeout=300, check=False)
        return Answer(done.returncode, done.stdout, done.stderr)

    def not_the_users(self) -> list[str]:
        """What in dev's home is not dev's, apart from what root acts on."""
        wrong = []
        for directory, names, files in os.walk(self.dev.directory):
            here = Path(directory)
            if here == self.dev.home / "machines":
                names[:] = []
            wrong += [str(here / name) for name in (*names, *files) if (here / name).lstat().st_uid != self.dev.uid]
        return wrong


@pytest.fixture(scope="module")
def host(node_image: Path) -> Iterator[Host]:
    """Started by `dev`, while everybody's command lines were looked at."""
    with tempfile.TemporaryDirectory(prefix="mk-people-", dir="/var/tmp") as directory, people(Path(directory)) as users:
        made = Host(users)
        made.dev.environment["FTP_PROXY"] = f"http://somebody:{SECRET}@127.0.0.1:9"
        try:
            with made.dev.begin("start") as start:
                while start.poll() is None:
                    made.command_lines |= _command_lines()
                    time.sleep(0.1)
                assert start.returncode == 0, start.communicate()
            yield made
        finally:
            answer = made.dev.run("delete", "--all", "--purge", timeout=180)
            subprocess.run(["rm", "-rf", "--one-file-system", f"{directory}/home/dev", f"{directory}/home/guest"], check=True)
            assert answer.code == 0, answer


def _command_lines() -> set[str]:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.add((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def test_without_any_way_to_root_rights(host: Host) -> None:
    answer = host.guest.run("start")
    assert answer.code == 57
    assert "DRV_NEEDS_ROOT" in answer.stderr
    assert "sudo" in answer.stderr
    assert sorted(path.name for path in host.guest.home.iterdir()) == ["locks", "logs"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["status"], "apiserver: Running"),
        (["ip"], "192.168."),
        (["profile", "list"], "minikube"),
        (["kubectl", "--", "get", "nodes"], "Ready"),
        (["ssh", "--", "id"], "uid=0"),
        (["logs", "-n", "3"], "==> kubelet"),
        (["status", "--host-changes"], "network bridge"),
        (["doctor"], "start, stop and delete get them from sudo"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_every_other_command_runs_as_the_user(host: Host, words: list[str], expected: str) -> None:
    """sudo would leave a mark: it is not even looked for by these."""
    assert expected in host.cluster.ok(*words)


def test_files_go_in_and_out_as_the_user(host: Host) -> None:
    (host.dev.directory / "word").write_text("precious")
    os.chown(host.dev.directory / "word", host.dev.uid, host.dev.uid)
    host.cluster.ok("cp", f"{host.dev.inside}/word", "/var/lib/word")
    assert host.cluster.ssh("cat /var/lib/word") == "precious"


def test_every_file_is_the_users(host: Host) -> None:
    assert host.not_the_users() == []
    assert host.dev.kubeconfig.stat().st_uid == host.dev.uid


def test_a_store_of_ones_own(host: Host) -> None:
    """What becomes the root of nodes is root's there, too: import and prune get root rights from sudo, once; looking takes none."""
    dev, store = host.dev, host.dev.directory / ".cache" / "minikube"
    with tempfile.TemporaryDirectory(dir=dev.directory) as directory:
        bundle = make(Path(directory)).rename(dev.directory / "bundle.tar")
    os.chown(bundle, dev.uid, dev.uid)
    shared = dev.environment["MINIKUBE_STORE"]
    dev.environment["MINIKUBE_STORE"] = f"{dev.inside}/.cache/minikube"
    try:
        words = ("bundle", "import", f"{dev.inside}/{bundle.name}")
        assert "3 components were imported" in dev.run(*words, timeout=60).stdout
        assert "0 components were imported" in dev.run(*words, timeout=60).stdout
        assert dev.run("bundle", "inspect", words[-1]).code == 0
        assert (store.stat().st_uid, (store / "entries").stat().st_uid) == (dev.uid, 0)
        assert len(list((store / "entries").iterdir())) == 3
        pruned = dev.run("cache", "prune", "--all", "--yes")
        assert (pruned.code, list((store / "entries").iterdir())) == (0, []), pruned
    finally:
        dev.environment["MINIKUBE_STORE"] = shared
        subprocess.run(["rm", "-rf", str(store), str(bundle)], check=True)
    refused = host.guest.run("bundle", "create", "-o", f"{host.guest.inside}/lab.tar")
    assert (refused.code, "DRV_NEEDS_ROOT" in refused.stderr) == (57, True), refused


def test_what_root_acts_on_is_roots_alone(host: Host) -> None:
    machine = host.dev.home / "machines" / "minikube"
    for path in (machine, *machine.iterdir()):
        if path.name not in ("run", "config.json"):
            about = path.lstat()
            assert (path.name, about.st_uid, stat.S_ISLNK(about.st_mode), about.st_mode & 0o022) == (path.name, 0, False, 0)
    assert (machine.stat().st_gid, stat.S_IMODE(machine.stat().st_mode)) == (host.dev.uid, 0o750)
    for name, mode in (("run", 0o700), ("config.json", 0o600)):
        about = (machine / name).stat()
        assert (about.st_uid, stat.S_IMODE(about.st_mode)) == (host.dev.uid, mode)


def test_secrets_are_for_the_user_alone(host: Host) -> None:
    keys = [*host.dev.home.rglob("profiles/**/*.key"), *host.dev.home.glob("*.key"), host.dev.kubeconfig]
    assert len(keys) > 4
    assert [str(key) for key in keys if stat.S_IMODE(key.stat().st_mode) != 0o600] == []
    for line in host.command_lines:
        assert SECRET not in line
        assert "PRIVATE KEY" not in line
    assert any("sudo -n" in line for line in host.command_lines)
    for log in (host.dev.home / "logs").iterdir():
        text = log.read_text()
        assert SECRET not in text
        assert "PRIVATE KEY" not in text


def test_a_second_user_is_told_whose_it_is(host: Host) -> None:
    host.guest.environment["MINIKUBE_HOME"] = f"{host.dev.inside}/.minikube"
    try:
        for words in (["status"], ["start"], ["delete"]):
            answer = host.guest.run(*words)
            assert answer.code == 37, answer
            assert "HOST_HOME_PERMISSION" in answer.stderr + answer.stdout
            assert "belongs to dev, and you are guest" in answer.stderr + answer.stdout
    finally:
        del host.guest.environment["MINIKUBE_HOME"]
    assert host.cluster.run("status").code == 0


def test_a_second_user_reaches_services_but_not_the_control_plane(host: Host) -> None:
    """Until the owner shares it, while it runs."""
    host.cluster.kubectl("expose", "-n", "kube-system", "deployment/coredns", "--name=seen", "--type=NodePort", "--port=53")
    service = host.cluster.get("service", "-n", "kube-system", "seen")["spec"]["ports"][0]["nodePort"]
    targets = [(host.cluster.ok("ip").strip(), port) for port in (2379, 2380, 8443, 10250, service)]
    seen = lambda user: [connects_as(user, *target) for target in targets]  # noqa: E731
    assert seen(host.dev.uid) == seen(0) == ["open"] * 5
    assert seen(host.guest.uid) == ["refused"] * 4 + ["open"]
    host.cluster.ok("start", "--local-access=all")
    assert seen(host.guest.uid) == ["open"] * 5
    host.cluster.ok("start", "--local-access=owner")
    assert (seen(host.guest.uid), seen(host.dev.uid)) == (["refused"] * 5, ["open"] * 5)


def test_sudo_minikube_works_in_the_callers_home(host: Host) -> None:
    host.dev.environment["KUBECONFIG"] = f"{host.dev.inside}/elsewhere/config"
    try:
        answer = host.with_sudo("start")
        assert answer.code == 0, answer
        host.cluster.kubectl("get", "nodes")
        assert (host.dev.directory / "elsewhere" / "config").is_file()
        # What needs no root rights has none, also then.
        assert host.with_sudo("config", "set", "cpus", "2").code == 0
        assert "--- dev" in " ".join(f"--- {row}" for row in host.with_sudo("logs", "--audit").stdout.split())
    finally:
        del host.dev.environment["KUBECONFIG"]
    assert host.not_the_users() == []


def test_ctrl_c_leaves_the_users_files_to_the_user(host: Host) -> None:
    assert host.with_sudo("stop").code == 0
    assert "host: Stopped" in host.cluster.run("status").stdout
    start = host.cluster.begin("start")
    read_until(start, "Preparing Kubernetes", seconds=60)
    os.killpg(start.pid, signal.SIGINT)
    _, errors = start.communicate(timeout=60)
    assert start.returncode == 11, errors
    assert host.not_the_users() == []
    assert host.cluster.run("status").code != 37


def test_the_user_deletes_it_all(host: Host) -> None:
    host.cluster.ok("delete")
    eventually(lambda: processes(host.cluster) == [])
    assert list((host.dev.home / "machines").iterdir()) == []
    assert list((host.dev.home / "profiles").iterdir()) == []
