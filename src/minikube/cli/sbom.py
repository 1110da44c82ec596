"""`minikube sbom`."""

from __future__ import annotations

from minikube.cli.command import Call, Command
from minikube.profiles.settings import Flag


def _run(call: Call) -> None:
    import json

    from minikube.cluster.materials import bill

    print(json.dumps(bill(call.settings.profile, str(call.settings.get("kubernetes-version"))), indent=2))


COMMANDS = {
    "sbom": Command(
        "sbom",
        "Prints the bill of materials of a cluster (SPDX)",
        _run,
        flags=(Flag("kubernetes-version", help="The version of Kubernetes; that of the profile's cluster, or the default, if left out."),),
        max_arguments=0,
        details="Prints an SPDX 2.3 document in JSON with every program, Go module, Debian package and Python package of a cluster: "
        "versions, digests, where they come from, and licenses where they are known. It is read out of the components themselves.",
        examples=("minikube sbom > cluster.spdx.json", "minikube sbom --kubernetes-version=v1.36.4"),
        uses_file=False,
    )
}
