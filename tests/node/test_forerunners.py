"""What is kept of the first containers, and when it is not used. Real ones start in e2e/test_lifecycle.py."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.nodeimage import put_openssl
from support.servicetokens import ISSUER, claims_of, signed, unchecked_claims

from minikube.kubernetes import pki
from minikube.node import forerunners

BOX = {"metadata": {"name": "etcd-one", "namespace": "kube-system", "uid": "u"}, "linux": {"cgroup_parent": "/kubepods/burstable/podu"}}
CONTAINER = {
    "metadata": {"name": "etcd"},
    "annotations": {forerunners.RESTARTS: "0", forerunners.LAST_WORDS: "/dev/termination-log", "io.kubernetes.container.hash": "464c5d1"},
    "command": ["etcd", "--name=one"],
    "log_path": "etcd/0.log",
    "mounts": [],
}


def test_the_next_attempt_differs_in_its_number_alone() -> None:
    box, container = forerunners.next_attempt(BOX, CONTAINER)
    assert box == {**BOX, "metadata": {**BOX["metadata"], "attempt": 1}}
    assert container["metadata"]["attempt"] == 1
    assert (container["annotations"][forerunners.RESTARTS], container["log_path"]) == ("1", "etcd/1.log")
    assert container["annotations"]["io.kubernetes.container.hash"] == "464c5d1"
    again = forerunners.next_attempt(box, container)
    assert [config["metadata"]["attempt"] for config in again] == [2, 2]
    assert "attempt" not in CONTAINER["metadata"]


def kept(name: str, **different: object) -> dict[str, object]:
    box = {**BOX, "metadata": {**BOX["metadata"], "name": f"{name}-one", "uid": f"uid-{name}"}}
    container = {**CONTAINER, "metadata": {"name": name}}
    manifest = hashlib.sha256(name.encode()).hexdigest() if name in forerunners.STATIC else ""
    pod = {"name": name, "box": box, "container": container, "manifest": manifest}
    return {**pod, "group": {}, "address": "", "volumes": [], "files": [], **different}


def test_nothing_kept_is_nothing_to_do(tmp_path: Path) -> None:
    assert run(tmp_path).returncode == 0


def test_a_changed_manifest_is_left_to_the_kubelet_and_what_was_kept_is_used_once(tmp_path: Path) -> None:
    (tmp_path / "etcd.yaml").write_text("of today")
    pods = [kept("etcd", manifest="of yesterday")]
    resolvers = hashlib.sha256(Path(forerunners.RESOLVERS).read_bytes()).hexdigest()
    (tmp_path / "kept.json").write_text(json.dumps({"pods": pods, "resolvers": resolvers}))
    answer = run(tmp_path)
    assert answer.returncode == 0, answer.stderr  # without crictl, it would have failed had it tried
    assert "have changed" in answer.stdout
    assert not (tmp_path / "kept.json").exists()


def test_other_name_servers_are_left_to_the_kubelet(tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text(json.dumps({"pods": [], "resolvers": "of yesterday"}))
    answer = run(tmp_path)
    assert (answer.returncode, "have changed" in answer.stdout) == (0, True), answer.stderr


class Node:
    """Directories of a node, and a crictl that writes down what it is asked for."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.manifests, self.held_back = directory / "manifests", directory / "held-back"
        for place, names in ((self.manifests, forerunners.FIRST), (self.held_back, forerunners.HELD_BACK)):
            place.mkdir()
            for name in names:
                (place / f"{name}.yaml").write_text(name)
        self.answers("")
        monkeypatch.setenv("PATH", f"{directory}:/bin")
        monkeypatch.setattr(forerunners, "GROUPS", str(directory / "groups"))

    def answers(self, cases: str) -> None:
        crictl = self.directory / "crictl"
        crictl.write_text(f'#!/bin/sh\necho "$*" >> {self.directory}/asked\ncase "$*" in {cases} esac\n')
        crictl.chmod(0o755)

    def run(self, *pods: dict[str, object], pages: int = 0) -> list[str]:
        """What crictl was asked for."""
        resolvers = hashlib.sha256(Path(forerunners.RESOLVERS).read_bytes()).hexdigest()
        (self.directory / "kept.json").write_text(json.dumps({"pods": pods, "resolvers": resolvers, "pages": pages}))
        with socket.socket(socket.AF_UNIX) as containerd:
            place = str(self.directory / "containerd.sock")
            containerd.bind(place)
            containerd.listen()
            forerunners.run(str(self.directory / "kept.json"), str(self.manifests), str(self.held_back), place)
        assert not (self.directory / "kept.json.asked").exists()
        asked = self.directory / "asked"
        return asked.read_text().splitlines() if asked.exists() else []


PODSTARTER = """#!/bin/sh
while read container box; do
    (
        while ! said=$(crictl run "$container" "$box" 2>&1); do
            case "$said" in *"not initialized yet"*) ;; *) printf 'refused\\t%s\\t%s\\n' "$box" "$said"; exit;; esac
        done
        printf 'started\\t%s\\t%s\\n' "$box" "$said"
    ) &
done
wait
"""


@pytest.fixture(params=["a crictl for each", "podstarter for all"])
def node(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    """With and without a podstarter, which here has the same crictl answer."""
    if request.param.startswith("podstarter"):
        (tmp_path / "podstarter").write_text(PODSTARTER)
        (tmp_path / "podstarter").chmod(0o755)
    return Node(tmp_path, monkeypatch)


def test_a_podstarter_that_ends_has_started_nothing(node: Node, capfd: pytest.CaptureFixture[str]) -> None:
    (node.directory / "podstarter").write_text("#!/bin/sh\nread one; read two")
    (node.directory / "podstarter").chmod(0o755)
    asked = node.run(kept("etcd"), kept("kube-apiserver"), kept("coredns"))
    assert not any(" run " in line for line in asked)
    assert "etcd: whoever was to ask for it has ended" in capfd.readouterr().out
    assert sorted(path.stem for path in node.manifests.iterdir()) == sorted(forerunners.FIRST)


def test_who_comes_too_early_for_containerd_comes_again(node: Node) -> None:
    early = node.directory / "early"
    node.answers(f"*etcd*) [ -e {early} ] && exit 0; touch {early}; echo 'server is not initialized yet: unavailable' >&2; exit 1;;")
    asked = node.run(kept("etcd"), kept("kube-apiserver"))
    assert ["etcd" in line for line in asked].count(True) == 2
    assert not any("rmp" in line for line in asked)


def test_an_api_server_without_its_database_goes_again(node: Node) -> None:
    """Kept up, it would keep the kubelet waiting, which has to start the database."""
    node.answers("*run*etcd-one.container*) exit 1;; *pods*uid-kube-apiserver*) echo box-of-apiserver;;")
    asked = node.run(kept("etcd"), kept("kube-apiserver"), kept("coredns"))
    assert asked[-1] == "rmp --force box-of-apiserver"
    assert sum("rmp" in line for line in asked) == 1
    assert not any("coredns" in line for line in asked)
    assert sorted(path.stem for path in node.manifests.iterdir()) == sorted(forerunners.FIRST)


def test_the_kubelet_gets_the_manifests_of_what_runs_already_later(node: Node) -> None:
    asked = node.run(*map(kept, (*forerunners.FIRST, *forerunners.THEN)))
    started = [line.split("/")[-1].removesuffix("-one.pod.json") for line in asked]
    # Two groups, one after the other; within a group all are asked for at once.
    groups = started[: len(forerunners.FIRST)], started[len(forerunners.FIRST) :]
    assert list(map(sorted, groups)) == [sorted(forerunners.FIRST), sorted(forerunners.THEN)]
    assert list(node.manifests.iterdir()) == []
    assert sorted(path.stem for path in node.held_back.iterdir()) == sorted(forerunners.STATIC)


@pytest.mark.parametrize("setting", forerunners.LITTLE_CPU)
def test_pods_that_run_leave_the_cpu_to_whoever_makes_the_others_and_get_it_back(node: Node, setting: str) -> None:
    place = node.directory / "groups" / setting
    place.parent.mkdir(parents=True)
    place.write_text("2048")
    node.answers(f"*run*) echo $(cat {place}) >> {node.directory}/while;;")
    node.run(kept("etcd"), kept("kube-apiserver"), kept("coredns"))
    assert (node.directory / "while").read_text().split() == ["2048", "2048", forerunners.LITTLE_CPU[setting]]
    assert place.read_text() == "2048"


def test_one_that_does_not_start_is_left_to_the_kubelet(node: Node) -> None:
    node.answers("*run*coredns*) exit 1;; *pods*uid-coredns*) echo half-a-pod;;")
    asked = node.run(kept("etcd"), kept("kube-apiserver"), kept("coredns"), kept("kube-proxy"))
    assert [line for line in asked if "rmp" in line] == ["rmp --force half-a-pod"]


def test_one_whose_files_are_gone_is_left_to_the_kubelet(node: Node) -> None:
    gone = {**CONTAINER, "metadata": {"name": "coredns"}, "mounts": [mount(f"{forerunners.KUBELET}pods/none/volumes/config")]}
    asked = node.run(kept("etcd"), kept("kube-apiserver"), kept("coredns", container=gone))
    assert len(asked) == 2


def test_one_that_cannot_be_prepared_is_left_to_the_kubelet_alone(node: Node) -> None:
    nowhere = {"path": str(node.directory / "nowhere"), "files": {}}
    asked = node.run(kept("etcd"), kept("kube-apiserver"), kept("coredns", volumes=[nowhere]), kept("kube-proxy"))
    assert [line.split("/")[-1] for line in asked[-1:]] == ["kube-proxy-one.pod.json"]
    assert not any("coredns" in line for line in asked)


def test_files_of_the_node_that_went_with_its_memory_are_made(node: Node) -> None:
    lock = node.directory / "run/xtables.lock"
    lock.parent.mkdir()
    container = {**CONTAINER, "metadata": {"name": "kube-proxy"}, "mounts": [mount(str(lock))]}
    node.run(kept("etcd"), kept("kube-apiserver"), kept("kube-proxy", container=container, files=[str(lock)]))
    assert lock.read_text() == ""


def mount(path: str) -> dict[str, str]:
    return {"host_path": path, "container_path": path}


def test_a_pod_gets_its_address_again_and_the_next_one_is_whose_turn_it_was(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = node.directory / "addresses"
    addresses.mkdir()
    (addresses / "10.244.0.5").write_text("the sandbox of before")
    last = addresses / "last_reserved_ip.0"
    last.write_text("10.244.0.9")
    monkeypatch.setattr(forerunners, "ADDRESSES", str(addresses))
    monkeypatch.setattr(forerunners, "LAST_ADDRESS", str(last))
    # As host-local does: the address after the last, in a file of its own.
    give = f'set -- $(cat {last}); echo now > {addresses}/${{1%.*}}.$((${{1##*.}} + 1)); echo "$1" > {node.directory}/last-was'
    node.answers(f"*run*coredns*) {give};;")
    node.run(kept("etcd"), kept("kube-apiserver"), kept("coredns", address="10.244.0.5"))
    assert (node.directory / "last-was").read_text() == "10.244.0.4\n"
    assert (addresses / "10.244.0.5").read_text() == "now\n"
    assert last.read_text() == "10.244.0.9"


class SigningKey:
    """The cluster's, and what it has signed."""

    def __init__(self, directory: Path) -> None:
        self.stem = directory / "sa"
        pki.write_pair(directory / "sa.pub", directory / "sa.key", pki.new_signing_key())
        put_openssl(directory)

    def volume(self, *, age: float, life: int = 3607, **more: object) -> dict[str, Any]:
        then = int(time.time() - age)
        bound = {"namespace": "kube-system", "pod": {"name": "coredns-x", "uid": "1"}, "serviceaccount": {"name": "coredns", "uid": "2"}}
        claims = {"aud": [ISSUER], "iss": ISSUER, "sub": "system:serviceaccount:kube-system:coredns", "jti": "3"}
        claims["kubernetes.io"] = bound | more
        token = signed(claims | {"iat": then, "nbf": then, "exp": then + life}, self.stem.with_suffix(".key"))
        return {"path": str(self.stem.parent / "volume"), "files": {"token": [0o640, token], "ca.crt": [0o644, "x"]}}


@pytest.fixture
def key(node: Node, monkeypatch: pytest.MonkeyPatch) -> SigningKey:
    made = SigningKey(node.directory)
    monkeypatch.setattr(forerunners, "renewed", functools.partial(forerunners.renewed, key=str(made.stem)))
    return made


def test_a_token_that_lives_long_enough_is_used_as_it_is(key: SigningKey) -> None:
    volume = key.volume(age=2400)
    assert forerunners.with_valid_token(volume) == volume
    without: dict[str, Any] = {"path": "", "files": {"ca.crt": [0o644, "x"]}}
    assert forerunners.with_valid_token(without) == without


@pytest.mark.parametrize("age", [3100, 7200, 90 * 86400], ids=["about to expire", "two hours", "three months"])
def test_an_expired_token_is_signed_again_by_the_clusters_key(key: SigningKey, age: float) -> None:
    for _ in range(20):  # numbers of a signature differ in length
        volume = key.volume(age=age)
        after = forerunners.with_valid_token(volume)["files"]
        assert after["ca.crt"] == [0o644, "x"]
        mode, token = after["token"]
        assert mode == 0o640
        said, before = claims_of(token, key.stem.with_suffix(".pub")), unchecked_claims(volume["files"]["token"][1])
        assert said["exp"] - said["iat"] == 3607
        assert abs(said["iat"] - time.time()) < 60
        assert said["jti"] != before["jti"]
        changed = ("iat", "nbf", "exp", "jti")
        assert {name: said[name] for name in said if name not in changed} == {name: before[name] for name in before if name not in changed}
        assert token.split(".")[0] == volume["files"]["token"][1].split(".")[0]


def test_a_token_that_had_been_extended_lives_as_long_as_was_asked_for(key: SigningKey) -> None:
    then = int(time.time()) - 400 * 86400
    volume = key.volume(age=400 * 86400, life=365 * 86400, warnafter=then + 3607)
    said = claims_of(forerunners.with_valid_token(volume)["files"]["token"][1], key.stem.with_suffix(".pub"))
    assert said["exp"] - said["iat"] == 3607
    assert "warnafter" not in said["kubernetes.io"]


def test_a_token_of_another_key_is_left_to_the_kubelet(node: Node, key: SigningKey) -> None:
    volume = key.volume(age=7200)
    pki.write_pair(key.stem.with_suffix(".pub"), key.stem.with_suffix(".key"), pki.new_signing_key())
    with pytest.raises(ValueError, match="another key"):
        forerunners.with_valid_token(volume)
    assert len(node.run(kept("etcd"), kept("kube-apiserver"), kept("coredns", volumes=[volume]))) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_files_from_the_api_server_are_there_again_as_the_kubelet_lays_them_out(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    (before / "..2026").mkdir(parents=True)
    (before / "..2026/token").write_text("secret")
    (before / "..2026/token").chmod(0o640)
    (before / "..data").symlink_to("..2026")
    (before / "token").symlink_to("..data/token")
    volume = forerunners.projected_volume(str(before))
    after.mkdir()
    script = f"import sys; sys.path.insert(0, {str(Path(forerunners.__file__).parent)!r}); import forerunners, json, os; " + (
        f"forerunners.make_volume(json.loads({json.dumps({**volume, 'path': str(after)})!r})); os.chdir({str(after)!r}); "
        "print(open('token').read(), oct(os.stat('token').st_mode), os.readlink('token'), os.path.ismount('.'))"
    )
    done = subprocess.run(["unshare", "--mount", sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=False)
    assert done.stdout == "secret 0o100640 ..data/token True\n", done.stderr
    assert list(after.iterdir()) == []  # it was in memory


def test_a_damaged_file_is_no_reason_to_wait(tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text("{")
    first, second = run(tmp_path), run(tmp_path)
    assert ("left to the kubelet: JSONDecodeError" in first.stdout, first.returncode) == (True, 0)
    assert (second.stdout, second.returncode) == ("", 0)


def run(directory: Path) -> subprocess.CompletedProcess[str]:
    places = map(str, (directory / "kept.json", directory, directory, directory / "containerd.sock"))
    command = [sys.executable, "-I", "-S", forerunners.__file__, "run", *places]
    return subprocess.run(command, env={"PATH": str(directory)}, capture_output=True, text=True, timeout=20, check=False)


def test_what_is_kept_and_what_is_forgotten_of_the_times_before(node: Node) -> None:
    """Old attempts of the same pods go; pods that have ended for good stay, with their logs."""
    names = forerunners.FIRST
    configs = [kept(name) for name in names]
    boxes = [{"status": {"id": f"box-{n}", "network": {}}, "info": {"config": c["box"]}} for n, c in zip(names, configs, strict=True)]
    containers = [
        {"status": {"metadata": {"name": n}}, "info": {"sandboxID": f"box-{n}", "config": c["container"]}}
        for n, c in zip(names, configs, strict=True)
    ]
    dead = {"items": [{"id": "old", "metadata": {"uid": "uid-etcd"}}, {"id": "a-job", "metadata": {"uid": "uid-of-a-job"}}]}
    for number, answer in enumerate((boxes, containers, dead)):
        (node.directory / str(number)).write_text(json.dumps(answer))
    files = [node.directory / str(number) for number in range(3)]
    node.answers(f"inspectp*) cat {files[0]};; inspect*) cat {files[1]};; pods*) cat {files[2]};; rmp*) touch {node.directory}/removed;;")
    (node.directory / "groups").mkdir()
    (node.directory / "progress").write_text("4711")
    forerunners.keep(str(node.directory / "kept.json"), str(node.manifests), str(node.directory / "progress"))
    found = json.loads((node.directory / "kept.json").read_text())
    assert ([pod["name"] for pod in found["pods"]], found["pages"]) == (list(names), 4711)
    while not (node.directory / "removed").exists():
        time.sleep(0.01)
    assert (node.directory / "asked").read_text().splitlines()[-1] == "rmp old"


def test_the_kubelet_waits_until_the_api_server_has_come_as_far_as_the_last_time(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forerunners, "API_SERVER", "not-another-one")
    on_its_way = node.directory / "on-its-way"
    begin = f"open('/proc/self/comm', 'w').write('{forerunners.API_SERVER}'); open({str(node.directory / 'begun')!r}, 'w')"
    go_on = f"import time; time.sleep(1); open({str(on_its_way)!r}, 'w'); [0] * 30_000_000; time.sleep(30)"
    with subprocess.Popen([sys.executable, "-c", f"{begin}; {go_on}"]) as server:
        while not (node.directory / "begun").exists():
            time.sleep(0.01)
        node.run(kept("etcd"), kept("kube-apiserver"), pages=40_000)
        assert on_its_way.exists()
        server.kill()


def test_the_kubelet_does_not_wait_for_an_api_server_that_has_ended(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forerunners, "API_SERVER", "not-another-one")
    monkeypatch.setattr(forerunners, "LONGEST", 3600)
    node.run(kept("etcd"), kept("kube-apiserver"), pages=40_000)


def test_a_new_group_may_use_the_cpus_of_the_one_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forerunners, "GROUPS", str(tmp_path))
    forerunners.let_use_cpus("/kubepods/burstable/podu")  # version 2 of control groups: nothing to tell
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "cpuset").mkdir()
    for setting, value in (("cpus", "0-1"), ("mems", "0")):
        (tmp_path / f"cpuset/cpuset.{setting}").write_text(value)
    forerunners.let_use_cpus("/kubepods/burstable/podu")
    pod = tmp_path / "cpuset/kubepods/burstable/podu"
    assert [(pod / f"cpuset.{setting}").read_text() for setting in ("cpus", "mems")] == ["0-1", "0"]
