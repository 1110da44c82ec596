import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from minikube.kubernetes import kubeconfig
from minikube.kubernetes.kubeconfig import Entry
from minikube.output.reason import Reason

THEIRS = """\
apiVersion: v1
kind: Config
current-context: work
x-unknown: [1, 2.50, yes]
users:
- name: work
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: aws
      env: null
- name: "on"
  user: {token: "0123"}
clusters:
- name: work
  cluster:
    insecure-skip-tls-verify: true
    server: https://work.example
    proxy-url: >-
      http://proxy.example
contexts:
- context: &shared
    cluster: work
    user: work
    namespace: '123'
  name: work
- name: copy
  context: *shared
"""


def entry(profile="dev", **changes) -> Entry:
    return Entry(profile, "https://10.5.0.2:8443", Path("/h/ca.crt"), Path("/h/client.crt"), Path("/h/client.key"), "v1.38.0")._replace(
        **changes
    )


@pytest.fixture
def file(home, tmp_path):
    return tmp_path / "kubeconfig"


def test_a_new_file(file):
    assert kubeconfig.merge(entry())
    config = yaml.safe_load(file.read_text())
    assert config["current-context"] == "dev"
    cluster = config["clusters"][0]
    assert cluster["name"] == "dev"
    assert cluster["cluster"]["server"] == "https://10.5.0.2:8443"
    assert cluster["cluster"]["certificate-authority"] == "/h/ca.crt"
    extension = cluster["cluster"]["extensions"][0]
    assert extension["name"] == "cluster_info"
    assert extension["extension"]["provider"] == "minikube.sigs.k8s.io"
    assert extension["extension"]["version"] == "v1.38.0"
    context = config["contexts"][0]["context"]
    assert (context["cluster"], context["user"], context["namespace"]) == ("dev", "dev", "default")
    assert config["users"] == [{"name": "dev", "user": {"client-certificate": "/h/client.crt", "client-key": "/h/client.key"}}]
    assert file.stat().st_mode & 0o777 == 0o600
    assert not file.with_name("kubeconfig.lock").is_symlink()


def test_what_is_theirs_stays_theirs(file):
    file.write_text(THEIRS)
    kubeconfig.merge(entry())
    kubeconfig.merge(entry("other"))
    merged = yaml.safe_load(file.read_text())
    assert [one["name"] for one in merged["contexts"]] == ["work", "copy", "dev", "other"]
    kubeconfig.remove("dev")
    kubeconfig.remove("other")
    assert yaml.safe_load(file.read_text()) == yaml.safe_load(THEIRS) | {"current-context": ""}
    assert 'name: "on"' in file.read_text()
    assert "2.50" in file.read_text()


def test_the_same_again_writes_nothing(file):
    kubeconfig.merge(entry())
    before = file.stat()
    time.sleep(1.1)  # the time of the last update has one-second steps
    assert not kubeconfig.merge(entry())
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert kubeconfig.merge(entry(server="https://10.6.0.2:8443"))
    assert len(yaml.safe_load(file.read_text())["clusters"]) == 1


def test_keep_context(file):
    file.write_text(THEIRS)
    kubeconfig.merge(entry(keep_context=True))
    assert kubeconfig.current_context() == "work"
    kubeconfig.set_current_context("dev")
    assert kubeconfig.current_context() == "dev"


def test_removing_clears_only_our_current_context(file):
    file.write_text(THEIRS)
    kubeconfig.merge(entry(keep_context=True))
    assert kubeconfig.remove("dev")
    assert kubeconfig.current_context() == "work"
    assert not kubeconfig.remove("dev")


def test_removing_goes_back_to_the_given_context_if_it_is_there(file):
    file.write_text(THEIRS)
    kubeconfig.merge(entry())
    kubeconfig.remove("dev", then="nosuch")
    assert kubeconfig.current_context() == ""
    kubeconfig.merge(entry())
    kubeconfig.remove("dev", then="work")
    assert kubeconfig.current_context() == "work"


@pytest.mark.parametrize("place", ["/proc/nowhere", "/proc/nowhere/config", "/dev/null/config"])
def test_a_kubeconfig_that_cannot_be_written_is_refused_by_its_own_name(place, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", place)
    with pytest.raises(Reason, match=r"/proc/nowhere|/dev/null") as caught:
        kubeconfig.require_usable()
    assert caught.value.id == "HOST_KUBECONFIG_UPDATE"
    assert "KUBECONFIG" in caught.value.advice


def test_a_usable_kubeconfig_is_left_as_it_is(file):
    kubeconfig.require_usable()
    assert not file.exists()
    file.write_text(THEIRS)
    kubeconfig.require_usable()
    assert file.read_text() == THEIRS


def test_removing_from_nothing_makes_nothing(file):
    assert not kubeconfig.remove("dev")
    assert not file.exists()


def test_embedded_certificates(file, tmp_path):
    paths = {}
    for field in ("authority", "certificate", "key"):
        paths[field] = tmp_path / field
        paths[field].write_text(field)
    kubeconfig.merge(entry(embed=True, **paths))
    config = yaml.safe_load(file.read_text())
    assert config["users"][0]["user"] == {"client-certificate-data": "Y2VydGlmaWNhdGU=", "client-key-data": "a2V5"}
    assert config["clusters"][0]["cluster"]["certificate-authority-data"] == "YXV0aG9yaXR5"


@pytest.mark.parametrize("damaged", ["clusters: [", "- a\n- b\n", "clusters: text\n", "\x00", "a: b\n---\nc: d\n", '{"clusters": [{"name"'])
def test_a_file_that_makes_no_sense_is_left_alone(file, damaged):
    file.write_text(damaged)
    for act in (lambda: kubeconfig.merge(entry()), lambda: kubeconfig.remove("dev")):
        with pytest.raises(Reason) as caught:
            act()
        assert caught.value.id == "HOST_KUBECONFIG_UPDATE"
        assert str(file) in caught.value.message
    assert file.read_text() == damaged
    assert not file.with_name("kubeconfig.lock").is_symlink()
    assert kubeconfig.state("dev", "https://10.5.0.2:8443") == "Misconfigured"


@pytest.mark.parametrize("empty", ["", "\n", "# nothing\n", "null\n", "clusters: null\nusers: []\n", "{}"])
def test_empty_files_are_filled(file, empty):
    file.write_text(empty)
    kubeconfig.merge(entry())
    assert kubeconfig.endpoint("dev") == "https://10.5.0.2:8443"


def test_json_stays_readable(file):
    file.write_text(
        '{"apiVersion":"v1","kind":"Config","clusters":[{"name":"j","cluster":{"server":"https://j"}}],"contexts":[],"users":[]}'
    )
    kubeconfig.merge(entry())
    config = yaml.safe_load(file.read_text())
    assert [one["name"] for one in config["clusters"]] == ["j", "dev"]


def test_state(file):
    server = "https://10.5.0.2:8443"
    assert kubeconfig.state("dev", server) == "Misconfigured"
    kubeconfig.merge(entry())
    assert kubeconfig.state("dev", server) == "Configured"
    assert kubeconfig.state("dev", "https://10.5.0.3:8443") == "Misconfigured"
    assert kubeconfig.state("other", server) == "Misconfigured"


def test_a_link_stays_a_link(file, tmp_path):
    real = tmp_path / "dotfiles"
    real.write_text(THEIRS)
    file.symlink_to(real)
    kubeconfig.merge(entry())
    assert file.is_symlink()
    assert "dev" in real.read_text()


def test_which_file(home, tmp_path, monkeypatch):
    first, second = tmp_path / "one", tmp_path / "two"
    monkeypatch.setenv("KUBECONFIG", f"{first}:{second}")
    assert kubeconfig.path() == first
    second.write_text("")
    assert kubeconfig.path() == second
    monkeypatch.delenv("KUBECONFIG")
    assert kubeconfig.path() == Path.home() / ".kube/config"


def test_kubectls_lock_is_respected(file):
    lock = file.with_name("kubeconfig.lock")
    os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0))  # as client-go makes it
    with pytest.raises(Reason) as caught, kubeconfig.locked(file, timeout=0.1):
        pass
    assert caught.value.id == "HOST_KUBECONFIG_UPDATE"
    assert f"rm {lock}" in caught.value.advice


def test_our_lock_stops_kubectl(file):
    with kubeconfig.locked(file), pytest.raises(FileExistsError):
        os.open(file.with_name("kubeconfig.lock"), os.O_CREAT | os.O_EXCL, 0)


MERGE = """
import sys
from pathlib import Path
from minikube.kubernetes import kubeconfig
kubeconfig.merge(kubeconfig.Entry(sys.argv[1], "https://10.5.0.2:8443", Path("/a"), Path("/b"), Path("/c"), "v1"))
"""


def test_twenty_at_once_are_all_in(file):
    file.write_text(THEIRS)
    running = [subprocess.Popen([sys.executable, "-c", MERGE, f"p{number:02}"]) for number in range(20)]
    assert [process.wait() for process in running] == [0] * 20
    config = yaml.safe_load(file.read_text())
    names = [f"p{number:02}" for number in range(20)]
    assert sorted(one["name"] for one in config["clusters"]) == [*names, "work"]
    assert sorted(one["name"] for one in config["users"]) == ["on", *names, "work"]


def test_killed_writers_leave_a_whole_file_and_no_lock_in_the_way(file):
    """kill -9 at any point: the file is always a kubeconfig, theirs stays in it, and the next command gets through."""
    file.write_text(THEIRS)
    loop = MERGE.replace("kubeconfig.merge(", "for n in range(10**6): kubeconfig.merge(").replace(
        "sys.argv[1]", "f'p{n % 7}', f'https://{n}'", 1
    )
    loop = loop.replace(', "https://10.5.0.2:8443"', "", 1)
    for delay in (0.3, 0.33, 0.37, 0.41):
        process = subprocess.Popen([sys.executable, "-c", loop], stderr=subprocess.DEVNULL)
        before = file.stat().st_mtime_ns
        while file.stat().st_mtime_ns == before and process.poll() is None:
            time.sleep(0.01)
        time.sleep(delay / 10)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert "https://work.example" in file.read_text()
        yaml.safe_load(file.read_text())
        kubeconfig.merge(entry(server=f"https://{delay}"))
        assert kubeconfig.endpoint("dev") == f"https://{delay}"


def test_kubectl_reads_it(file, kubernetes_binary):
    file.write_text(THEIRS)
    kubeconfig.merge(entry())
    shown = subprocess.run(
        [kubernetes_binary("kubectl"), "config", "view", "--raw", "-o", "yaml"],
        env={"KUBECONFIG": str(file)},
        capture_output=True,
        check=True,
    )
    config = yaml.safe_load(shown.stdout)
    assert {one["name"] for one in config["contexts"]} == {"work", "copy", "dev"}
    assert config["current-context"] == "dev"
    subprocess.run(
        [kubernetes_binary("kubectl"), "config", "set-context", "dev", "--namespace=x"],
        env={"KUBECONFIG": str(file)},
        check=True,
        capture_output=True,
    )
    assert kubeconfig.remove("dev")
