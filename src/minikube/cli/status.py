"""`minikube status`."""

from __future__ import annotations

import sys
import time

from minikube.cli import checks
from minikube.cli.command import Call, Command
from minikube.output.reason import Reason
from minikube.profiles.settings import Flag
from minikube.profiles.values import SECOND

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from minikube.cluster.status import NodeStatus

_INTERRUPTED = 130  # 128 + SIGINT: the usual end of --watch

_TEMPLATE = """{{.Name}}
type: Control Plane
host: {{.Host}}
kubelet: {{.Kubelet}}
apiserver: {{.APIServer}}
kubeconfig: {{.Kubeconfig}}
{{- if .TimeToStop }}
timeToStop: {{.TimeToStop}}
{{- end }}
{{- if .DockerEnv }}
docker-env: {{.DockerEnv}}
{{- end }}
{{- if .PodManEnv }}
podman-env: {{.PodManEnv}}
{{- end }}

"""
_STALE = "\nWARNING: Your kubectl is pointing to stale minikube-vm.\nTo fix the kubectl context, run `minikube update-context`\n"


def _run(call: Call) -> int:
    settings = call.settings
    if str(settings.get("output")).lower() != "text" and settings.get("format") != _TEMPLATE:
        raise Reason("MK_USAGE", "Cannot use both --output and --format options")
    call.output("text", "json")
    if settings.get("layout") not in ("nodes", "cluster"):
        raise Reason("MK_USAGE", f"invalid layout: {settings.get('layout')}. Valid values: 'nodes', 'cluster'")
    profile = checks.existing_profile(call)
    if settings.get("host-changes"):
        return _show_host_changes(call, profile)
    from minikube.cluster.status import status

    while True:
        statuses = status(profile, settings.get("node") or None)
        _show(call, profile, statuses)
        if not settings.changed("watch") or settings.get("watch") <= 0:
            return exit_code(statuses)
        try:
            sys.stdout.flush()
            time.sleep(settings.get("watch") / SECOND)
        except KeyboardInterrupt:
            return _INTERRUPTED


def _show_host_changes(call: Call, profile: str) -> int:
    from minikube.cluster.hostchanges import host_changes

    changes = host_changes(profile)
    if str(call.settings.get("output")).lower() == "json":
        import json

        print(json.dumps({"Name": profile, "HostChanges": changes}, separators=(",", ":")))
    elif changes:
        print(f"{profile}\n" + "".join(f"- {change['words']}\n" for change in changes), end="")
    else:
        print(f"{profile}\nNothing on this machine is changed for it at the moment.")
    return 0


def exit_code(statuses: list[NodeStatus]) -> int:
    """Bits: 1 host, 2 kubelet or API server, 4 kubeconfig. Nothing known is all of them."""
    if not statuses:
        return 7
    code = 0
    for node in statuses:
        code |= 1 if node.Host != "Running" else 0
        code |= 2 if node.Kubelet != "Running" or node.APIServer not in ("Running", "Irrelevant") else 0
        code |= 4 if node.Kubeconfig not in ("Configured", "Irrelevant") else 0
    return code


def _show(call: Call, profile: str, statuses: list[NodeStatus]) -> None:
    settings = call.settings
    if str(settings.get("output")).lower() == "json":
        import json

        if settings.get("layout") == "cluster":
            from minikube.cli.clusterlayout import cluster_state

            print(json.dumps(cluster_state(profile, statuses), separators=(",", ":")))
        else:
            rows = [as_object(node) for node in statuses]
            print(json.dumps(rows[0] if len(rows) == 1 else rows, separators=(",", ":")))
        return
    for node in statuses:
        sys.stdout.write(_plain(node) if settings.get("format") == _TEMPLATE else _filled(settings.get("format"), node))
        if node.Kubeconfig == "Misconfigured":
            sys.stdout.write(_STALE)


def as_object(node: NodeStatus) -> dict[str, object]:
    """The JSON of one node; the last three only where they say something."""
    row: dict[str, object] = {key: getattr(node, key) for key in ("Name", "Host", "Kubelet", "APIServer", "Kubeconfig", "Worker")}
    return row | {key: getattr(node, key) for key in ("TimeToStop", "DockerEnv", "PodManEnv") if getattr(node, key)}


def _plain(node: NodeStatus) -> str:
    """The default template, already filled: no template engine is needed for it."""
    if node.Worker:
        return f"{node.Name}\ntype: Worker\nhost: {node.Host}\nkubelet: {node.Kubelet}\n\n"
    lines = [node.Name, "type: Control Plane", f"host: {node.Host}", f"kubelet: {node.Kubelet}"]
    lines += [f"apiserver: {node.APIServer}", f"kubeconfig: {node.Kubeconfig}"]
    for title, value in (("timeToStop", node.TimeToStop), ("docker-env", node.DockerEnv), ("podman-env", node.PodManEnv)):
        if value:
            lines.append(f"{title}: {value}")
    return "\n".join(lines) + "\n\n"


def _filled(template: str, node: NodeStatus) -> str:
    from minikube.output.gotemplate import TemplateError, render

    try:
        return render(template, node, name="status")
    except TemplateError as error:
        raise Reason("MK_STATUS_TEXT", f"status text failure: {error}") from None


COMMANDS = {
    "status": Command(
        "status",
        "Gets the status of a local Kubernetes cluster",
        _run,
        flags=(
            Flag(
                "format",
                short="f",
                default=_TEMPLATE,
                help="Go template for each node: {{.Name}}, {{.Host}}, {{.Kubelet}}, {{.APIServer}}, …",
            ),
            Flag("output", short="o", default="text", help="text or json.", choices=("text", "json")),
            Flag("layout", short="l", default="nodes", help="Layout of the JSON: nodes or cluster.", choices=("nodes", "cluster")),
            Flag("node", short="n", help="Only this node."),
            Flag("watch", "duration", SECOND, "Go on showing the status, every second or as often as given.", short="w", implied="1s"),
            Flag("host-changes", "bool", help="Show what is changed on this machine for the cluster; `minikube stop` undoes it."),
        ),
        details="Gets the status of a local Kubernetes cluster. The exit code says the same in bits: 1 the host is not running, "
        "2 the kubelet or the API server is not running, 4 the kubeconfig does not lead to the cluster.",
        examples=(
            "minikube status",
            "minikube status -o json",
            "minikube status --format='{{.APIServer}}'",
            "minikube status --host-changes",
        ),
    )
}
