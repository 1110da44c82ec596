"""`-o json` of start, stop and delete against real clusters: upstream's steps, names and numbers, in upstream's order."""

from __future__ import annotations

from support.events import numbered, steps

from e2e.conftest import Cluster, Restart
from e2e.pair import Pair

# Upstream's own steps on its `none` driver, without those that only say what another line says here (7, 15, 16), and with
# the components (2), which upstream downloads elsewhere.
FRESH = [
    "0/19 Initial Minikube Setup",
    "1/19 Selecting Driver",
    "2/19 Downloading Artifacts",
    "3/19 Starting Node",
    "6/19 Running on Localhost",
    "11/19 Preparing Kubernetes",
    "12/19 Generating certificates",
    "13/19 Booting control plane",
    "14/19 Configuring RBAC rules",
    "17/19 Verifying Kubernetes",
    "18/19 Enabling Addons",
    "19/19 Done",
]


def test_a_first_start(pair: Pair) -> None:
    told = steps(pair.answers[1])
    assert numbered(told) == FRESH
    messages = {step["name"]: step["message"] for step in told}
    name = pair.doomed.profile
    assert messages["Starting Node"] == f'Starting "{name}" primary control-plane node in "{name}" cluster'
    assert messages["Enabling Addons"] == "Enabled addons: default-storageclass, storage-provisioner"
    assert messages["Done"].startswith(f'Done! kubectl is now configured to use "{name}" cluster and "default" namespace by default')


def test_a_start_of_a_stopped_cluster(restart: Restart) -> None:
    """Its objects are there: nothing is said of RBAC."""
    assert numbered(steps(restart.start)) == [step for step in FRESH if step != "14/19 Configuring RBAC rules"]


def test_a_start_of_a_running_cluster(cluster: Cluster) -> None:
    answer = cluster.run("start", "-o", "json", timeout=300)
    assert [step.split()[0] for step in numbered(steps(answer))] == ["0/19", "1/19", "2/19", "3/19", "6/19", "17/19", "18/19", "19/19"]


def test_stop(cluster: Cluster, restart: Restart) -> None:
    told = steps(restart.stop)
    assert numbered(told) == ["0/2 Stopping", "2/2 Done"]
    assert [step["message"] for step in told] == [f'Stopping node "{cluster.profile}"  ...', "1 node stopped."]


def test_delete(pair: Pair) -> None:
    told = steps(pair.deletion)
    assert numbered(told) == ["0/3 Deleting", "2/3 Done"]
    name = pair.doomed.profile
    assert [step["message"] for step in told] == [f'Deleting "{name}" ...', f'Removed all traces of the "{name}" cluster.']


def test_a_status_in_between_knows_the_last_step(cluster: Cluster, restart: Restart) -> None:
    """What was told is kept beside the profile, for `status --layout=cluster`."""
    kept = (cluster.place.home / "profiles" / cluster.profile / "events.json").read_text().splitlines()
    assert '"name":"Done"' in kept[-1]
