"""`minikube config` against a real file."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from support.program import PROGRAM, Program

from minikube.cli.configkeys import KEYS

OURS = {"hardened", "user-namespace", "local-access", "host-access"}


def test_the_keys_are_upstreams() -> None:
    assert len(KEYS.keys() - OURS) == 29


@pytest.mark.parametrize(
    ("key", "text", "stored"),
    [
        ("driver", "none", "none"),
        ("container-runtime", "containerd", "containerd"),
        ("cpus", "4", "4"),
        ("cpus", "max", "max"),
        ("memory", "4g", "4g"),
        ("memory", "4096", "4096"),
        ("disk-size", "20GB", "20GB"),
        ("v", "3", 3),
        ("WantUpdateNotification", "false", False),
        ("cache", "busybox,nginx", {"busybox": None, "nginx": None}),
        ("host-only-cidr", "192.168.59.1/24", "192.168.59.1/24"),
        ("MaxAuditEntries", "10", 10),
        ("feature-gates", "", ""),
        ("user-namespace", "false", False),
        ("local-access", "owner", "owner"),
        ("host-access", "8000,9000-9100", "8000,9000-9100"),
    ],
)
def test_set_get_view_unset(minikube: Program, key: str, text: str, stored: object) -> None:
    done = minikube.inside("config", "set", key, text)
    assert done.returncode == 0, done.stderr
    restart = "! These changes will take effect upon a minikube delete and then a minikube start\n"
    assert done.stderr == (restart if KEYS[key].needs_restart else "")
    assert json.loads(minikube.config.read_text()) == {key: stored}
    assert minikube.inside("config", "get", key).returncode == 0
    assert f"- {key}: " in minikube.inside("config", "view").stdout
    assert minikube.inside("config", "unset", key).returncode == 0
    assert json.loads(minikube.config.read_text()) == {}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["set", "driver", "spaceship"], 10, 'driver "spaceship" is not supported'),
        (["set", "container-runtime", "rkt"], 10, 'Invalid Container Runtime: "rkt"'),
        (["set", "cpus", "0"], 10, "cpus must be > 0"),
        (["set", "v", "many"], 10, "invalid syntax"),
        (["set", "memory", "lots"], 10, "invalid memory size: lots"),
        (["set", "host-only-cidr", "1.2.3.4"], 10, "invalid CIDR"),
        (["set", "log_dir", "/no/such/place"], 10, "no such file or directory"),
        (["set", "rootless", "maybe"], 10, "strconv.ParseBool"),
        (["set", "flavour", "mint"], 10, 'property name "flavour" not found'),
        (["unset", "flavour"], 10, 'property name "flavour" not found'),
        (["set", "memory"], 14, "not enough arguments (1).\nUsage: minikube config set PROPERTY_NAME PROPERTY_VALUE"),
        (["set", "a", "b", "c"], 14, "too many arguments (3)."),
        (["get", "memory"], 14, "Error: specified key could not be found in config"),
        (["defaults", "memory"], 14, "memory is not a valid option for the `defaults` command"),
        (["view", "--format={{"], 10, "MK_VIEW_TMPL"),
    ],
)
def test_refusals_change_nothing(minikube: Program, words: list[str], code: int, message: str) -> None:
    minikube.write_config('{"profile": "minikube"}')
    done = minikube.inside("config", *words)
    assert done.returncode == code
    assert message in done.stderr
    assert minikube.config.read_text() == '{"profile": "minikube"}'


def test_view_with_a_template(minikube: Program) -> None:
    minikube.write_config('{"memory": "4g", "cache": {"b": null, "a": null}, "rootless": true}')
    done = minikube("config", "view", "--format", "{{.ConfigKey}}={{.ConfigValue}}|")
    assert done.stdout == "cache=map[a:<nil> b:<nil>]|memory=4g|rootless=true|"


def test_defaults(minikube: Program) -> None:
    assert "* native\n" in minikube("config", "defaults", "driver").stdout
    assert "v1.37.1" in json.loads(minikube("config", "defaults", "kubernetes-version", "-o", "json").stdout)
    assert minikube("config", "defaults", "driver", "-o", "yaml").stdout.startswith("- ")


@pytest.mark.parametrize("text", ["{", "[]", "null", "7", '{"a": ', '"x"', "\0", "{" * 100_000])
def test_a_damaged_file_is_told_and_left_alone(minikube: Program, text: str) -> None:
    minikube.write_config(text)
    for words in (
        ["config", "set", "memory", "4g"],
        ["config", "get", "memory"],
        ["config", "view"],
        ["profile"],
        ["config", "unset", "memory"],
    ):
        done = minikube.inside(*words)
        assert done.returncode == 38, done
        assert "HOST_CONFIG_LOAD" in done.stderr
        assert "Traceback" not in done.stderr
        assert minikube.config.read_text() == text
    assert minikube.inside("version").returncode == 0


def test_two_commands_at_once_lose_nothing(minikube: Program) -> None:
    keys = ["memory", "cpus", "v", "MaxAuditEntries", "ReminderWaitPeriodInHours"]
    argv = [sys.executable, "-s", "-E", str(PROGRAM), "config", "set"]
    running = [subprocess.Popen([*argv, key, "7"], env=minikube.environment, stderr=subprocess.DEVNULL) for key in keys]
    assert [process.wait() for process in running] == [0] * len(keys)
    assert sorted(json.loads(minikube.config.read_text())) == sorted(keys)
