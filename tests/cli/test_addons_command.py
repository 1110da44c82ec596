"""`minikube addons` without a cluster."""

from __future__ import annotations

import json

from support.program import Program

from minikube.addons.catalogue import ADDONS, BUILT


def test_upstreams_addons() -> None:
    assert len(ADDONS) == 40
    assert set(BUILT) <= set(ADDONS)
    assert list(ADDONS) == sorted(ADDONS)


def test_list_without_a_profile(minikube: Program) -> None:
    table = minikube("addons", "list").stdout.splitlines()
    assert table[1].split("│")[1].strip() == "ADDON NAME"
    assert "PROFILE" not in table[1]
    assert len(table) == len(ADDONS) + 4
    assert json.loads(minikube("addons", "list", "-o", "json").stdout) == {name: {} for name in ADDONS}
    assert minikube("addons", "list", "-p", "nowhere").returncode == 85


def test_list_of_a_profile(minikube: Program) -> None:
    file = minikube.add_profile("minikube")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"Addons": {"default-storageclass": True, "ingress": False}}))
    rows = [line.split("│")[1:-1] for line in minikube("addons", "list", "-d").stdout.splitlines() if line.startswith("│")]
    assert [cell.strip() for cell in rows[0]] == ["ADDON NAME", "PROFILE", "STATUS", "MAINTAINER", "DOCS"]
    cells = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    assert cells["default-storageclass"][:3] == ["minikube", "enabled ✅", "Kubernetes"]
    assert cells["efk"] == ["minikube", "disabled", "3rd party (Elastic)", "n/a"]
    found = json.loads(minikube("addons", "list", "-o", "json").stdout)
    assert found["default-storageclass"] == {"Profile": "minikube", "Status": "enabled"}
    assert found["ingress"]["Status"] == "disabled"
    assert minikube("addons", "list", "-o", "yaml").returncode == 14


def test_names_are_checked(minikube: Program) -> None:
    assert minikube("addons", "enable", "nonsense").returncode == 10
    assert minikube("addons", "disable", "nonsense").returncode == 116
    assert minikube("addons", "enable", "ingress").returncode == 85
    assert minikube("addons", "enable").returncode == 14
