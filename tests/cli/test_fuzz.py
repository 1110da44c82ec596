"""Hostile words and files: never a traceback, never a damaged file. Seeds are fixed, so a failure can be seen again."""

from __future__ import annotations

import contextlib
import io
import json
import random
from pathlib import Path

import pytest

from minikube.cli.commands import COMMANDS
from minikube.cli.main import main
from minikube.cli.parser import UsageError, understand
from minikube.cli.unbuilt import every_command
from minikube.output import debuglog

NASTY = [
    "",
    "-",
    "--",
    "---",
    "=",
    "\x00",
    "\x1b[31m",
    "é漢😀",
    "\udcff",
    "../../x",
    "{{",
    "{{.X}}",
    "%s%n",
    "9" * 400,
    "-1",
    "1e999",
    "0x",
    "true",
    "[]",
    "null",
]
VALUES: list[object] = [*NASTY, None, 1, -1, 1.5, True, [], ["a", 2], [{}], [None], {}, {"a": {"b": []}}, {"KubernetesVersion": []}, 10**30]
QUIET = ("start", "stop", "delete", "kubectl", "ssh")  # commands that would act on the machine if they got so far


def _words(pick: random.Random) -> list[str]:
    path, command = pick.choice(list(every_command()))
    words = path.split()[1:]
    for _ in range(pick.randint(0, 4)):
        flag = pick.choice([*command.flags, *command.persistent] or [None])
        name = f"--{flag.name}" if flag and pick.random() < 0.8 else pick.choice(["--" + pick.choice(NASTY), "-p", "-zx", "-v"])
        words.insert(pick.randint(0, len(words)), pick.choice([name, f"{name}={pick.choice(NASTY)}"]))
    for _ in range(pick.randint(0, 2)):
        words.insert(pick.randint(0, len(words)), pick.choice(NASTY))
    return words


def _run(words: list[str]) -> tuple[int, str]:
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        patch.setattr(debuglog, "_sinks", [])
        code = main(["minikube", *words])
    return code, out.getvalue()


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hostile values become paths (log_dir): they must not end up in the clone."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("seed", range(20))
def test_flags(seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    pick = random.Random(seed)
    for _ in range(40):
        words = _words(pick)
        try:
            invocation = understand(words)
        except UsageError:
            continue
        if invocation.command is not None and invocation.command.name in QUIET:
            continue
        code, text = _run(words)
        assert "Traceback" not in text, words
        assert "MK_INTERNAL" not in text, (words, text)
        assert 0 <= code <= 255


@pytest.mark.parametrize("seed", range(20))
def test_config_files(seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    pick = random.Random(seed)
    file = tmp_path / ".minikube" / "config" / "config.json"
    file.parent.mkdir(parents=True)
    for _ in range(10):
        content: object = {
            pick.choice(["profile", "v", "memory", "output", "log_dir", "cache", "MaxAuditEntries", "EmbedCerts"]): pick.choice(VALUES)
        }
        data = json.dumps(content).encode()
        if pick.random() < 0.3:
            position = pick.randrange(len(data))
            data = data[:position] + bytes([pick.randrange(256)]) + data[position + 1 :]
        file.write_bytes(data)
        for words in (
            ["profile"],
            ["config", "view"],
            ["status"],
            ["profile", "list", "-o", "json"],
            ["tunnel"],
            ["config", "get", "memory"],
        ):
            code, text = _run(words)
            assert "Traceback" not in text, (words, data)
            assert "MK_INTERNAL" not in text, (words, data, text)
            assert 0 <= code <= 255
            assert file.read_bytes() == data


@pytest.mark.parametrize("seed", range(5))
def test_values_for_config_set(seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from minikube.cli.configkeys import KEYS

    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    pick = random.Random(seed)
    file = tmp_path / ".minikube" / "config" / "config.json"
    for _ in range(30):
        code, text = _run(["config", "set", "--", pick.choice([*KEYS, *NASTY]), pick.choice(NASTY)])
        assert "Traceback" not in text
        assert "MK_INTERNAL" not in text, text
        assert code in (0, 10, 14)
        assert not file.exists() or isinstance(json.loads(file.read_bytes()), dict)


@pytest.mark.parametrize("seed", range(8))
def test_profile_files(seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Profiles and machine files with hostile content: said, never repaired behind anybody's back."""
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    pick = random.Random(seed)
    file = tmp_path / ".minikube/profiles/minikube/config.json"
    machine = tmp_path / ".minikube/machines/minikube/native.json"
    for directory in (file.parent, machine.parent):
        directory.mkdir(parents=True)
    for _ in range(12):
        data, facts = _damaged(pick, _profile()), _damaged(pick, {"subnet": "192.0.2.0/24", "limits": {"cpus": 2, "memory_mb": 2048}})
        file.write_bytes(data)
        machine.write_bytes(facts)
        for words in (
            *(["status"], ["status", "-o", "json", "-l", "cluster"], ["ip"], ["profile"], ["profile", "list"], ["profile", "list", "-l"]),
            *(["profile", "list", "-o", "json"], ["node", "list"], ["addons", "list"], ["service", "list"], ["update-context"]),
            *(["profile", "minikube"], ["__complete", "--", "ssh", "-n", ""]),
        ):
            code, text = _run(words)
            assert "Traceback" not in text, (words, data, facts)
            assert "MK_INTERNAL" not in text, (words, data, facts, text)
            assert 0 <= code <= 255
            assert file.read_bytes() == data
            assert machine.read_bytes() == facts


@pytest.mark.parametrize("seed", range(4))
def test_kubeconfigs(seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    profile = tmp_path / ".minikube/profiles/minikube/config.json"
    profile.parent.mkdir(parents=True)
    profile.write_text(json.dumps(_profile()))
    pick = random.Random(seed)
    for _ in range(20):
        data = _damaged(pick, {"clusters": [{"name": "minikube", "cluster": {"server": "x"}}], "contexts": pick.choice(VALUES)})
        (tmp_path / "kubeconfig").write_bytes(data)
        for words in (["status"], ["profile", "list"], ["profile", "minikube"], ["update-context"]):
            code, text = _run(words)
            assert "Traceback" not in text, (words, data)
            assert "MK_INTERNAL" not in text, (words, data, text)
            assert 0 <= code <= 255
            assert (tmp_path / "kubeconfig").read_bytes() == data


def _profile() -> dict[str, object]:
    node = {"Name": "", "IP": "192.0.2.2", "Port": 8443, "KubernetesVersion": "v1.37.1", "ControlPlane": True, "Worker": True}
    kubernetes = {"KubernetesVersion": "v1.37.1", "ClusterName": "minikube", "ContainerRuntime": "containerd"}
    return {"Name": "minikube", "Driver": "none", "APIServerPort": 8443, "KubernetesConfig": kubernetes, "Nodes": [node], "Addons": {}}


def _damaged(pick: random.Random, content: dict[str, object]) -> bytes:
    """The content with a value or a byte exchanged, cut off, or replaced altogether."""
    way = pick.random()
    if way < 0.5:
        content = dict(content)
        content[pick.choice(list(content))] = pick.choice(VALUES)
    data = json.dumps(content).encode()
    if 0.5 <= way < 0.7:
        data = data[: pick.randrange(len(data))]
    elif 0.7 <= way < 0.9:
        position = pick.randrange(len(data))
        data = data[:position] + bytes([pick.randrange(256)]) + data[position + 1 :]
    elif way >= 0.9:
        data = json.dumps(pick.choice(VALUES)).encode()
    return data


def test_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    for value in ("x", "\udcff", "../..", "9" * 100, "{"):
        for name in ("PROFILE", "V", "ALSOLOGTOSTDERR", "OUTPUT", "LENGTH", "USER", "FORMAT"):
            with monkeypatch.context() as scope:
                scope.setenv(f"MINIKUBE_{name}", value)
                for words in (["profile"], ["status"], ["tunnel"], ["logs", "--audit"], ["version"]):
                    _, text = _run(words)
                    assert "Traceback" not in text, (name, value, words)
                    assert "MK_INTERNAL" not in text, (name, value, words, text)


def test_every_command_is_known_to_the_fuzzer() -> None:
    assert {path.split()[1] for path, _ in every_command()} == set(COMMANDS)
