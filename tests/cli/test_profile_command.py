"""`minikube profile` on homes made by hand."""

from __future__ import annotations

import json

from support.program import Program


def test_show_follows_the_precedence(minikube: Program) -> None:
    assert minikube("profile").stdout == "minikube\n"
    minikube.write_config('{"profile": "from-file"}')
    assert minikube("profile").stdout == "from-file\n"
    assert minikube("profile", MINIKUBE_PROFILE="from-env").stdout == "from-env\n"
    assert minikube("profile", "-p", "from-flag", MINIKUBE_PROFILE="from-env").stdout == "from-flag\n"


def test_choosing(minikube: Program) -> None:
    minikube.add_profile("second")
    done = minikube("profile", "second")
    assert (done.returncode, done.stdout) == (0, "* minikube profile was successfully set to second\n")
    assert json.loads(minikube.config.read_text()) == {"profile": "second"}
    assert minikube("profile").stdout == "second\n"


def test_choosing_one_that_does_not_exist(minikube: Program) -> None:
    done = minikube("profile", "third")
    assert done.returncode == 0
    assert "minikube start -p third" in done.stderr
    assert not minikube.config.exists()
    assert minikube("profile", "start").returncode == 11
    assert minikube("profile", "a b").returncode == 14
    assert minikube("profile", "one", "two").returncode == 14


def test_list_without_profiles(minikube: Program) -> None:
    done = minikube("profile", "list")
    assert (done.returncode, done.stdout) == (14, "")
    assert "MK_USAGE_NO_PROFILE: No minikube profile was found." in done.stderr
    assert json.loads(minikube("profile", "list", "-o", "json").stdout) == {"valid": [], "invalid": []}
    assert minikube("profile", "list", "-o", "xml").returncode == 14


def test_list_as_json(minikube: Program) -> None:
    minikube.add_profile("minikube")
    minikube.add_profile("broken", text="{")
    minikube.add_profile("empty", text="{}")
    listing = json.loads(minikube("profile", "list", "-o", "json").stdout)
    assert [profile["Name"] for profile in listing["valid"]] == ["minikube"]
    assert [profile["Name"] for profile in listing["invalid"]] == ["broken", "empty"]
    profile = listing["valid"][0]
    assert set(profile) == {"Name", "Status", "Config", "Active", "ActiveKubeContext"}
    assert profile["Active"] is True
    assert profile["Config"]["Nodes"][0]["IP"] == "192.0.2.7"
    broken, empty = listing["invalid"]
    assert broken == {"Name": "broken", "Status": "", "Config": None, "Active": False, "ActiveKubeContext": False}
    assert (empty["Config"]["Driver"], empty["Config"]["Nodes"]) == ("", None)
    assert list(profile["Config"]) == list(empty["Config"])
    light = json.loads(minikube("profile", "list", "-l", "-o", "json").stdout)
    assert light["valid"][0]["Status"] == "Skipped"


def test_list_as_a_table(minikube: Program) -> None:
    minikube.add_profile("minikube")
    minikube.add_profile("broken", text="{")
    done = minikube("profile", "list", "--light")
    lines = done.stdout.splitlines()
    assert [cell.strip() for cell in lines[1].strip("│").split("│")] == [
        "PROFILE",
        "DRIVER",
        "RUNTIME",
        "IP",
        "VERSION",
        "STATUS",
        "NODES",
        "ACTIVE PROFILE",
        "ACTIVE KUBECONTEXT",
    ]
    assert [cell.strip() for cell in lines[3].strip("│").split("│")] == [
        "minikube",
        "none",
        "containerd",
        "192.0.2.7",
        "v1.37.1",
        "Skipped",
        "1",
        "*",
        "",
    ]
    assert done.stderr == ""
    detailed = minikube("profile", "list", "-l", "--detailed").stdout.splitlines()
    cells = [[cell.strip() for cell in detailed[row].strip("│").split("│")] for row in (1, 3)]
    assert dict(zip(*cells, strict=True)) == {
        **{"PROFILE": "minikube", "DRIVER": "none", "RUNTIME": "containerd", "IP": "192.0.2.7", "PORT": "8443", "VERSION": "v1.37.1"},
        **{"STATUS": "Skipped", "NODES": "1", "ACTIVE PROFILE": "*", "ACTIVE KUBECONTEXT": ""},
    }
    assert "minikube delete -p broken" in minikube("profile", "list").stderr
