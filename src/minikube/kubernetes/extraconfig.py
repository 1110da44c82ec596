"""`--extra-config component.key=value` and `--feature-gates A=true,B=false`, as upstream reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from minikube.output.reason import Reason

COMPONENTS = ("apiserver", "controller-manager", "etcd", "kube-proxy", "kubeadm", "kubelet", "scheduler")

# What upstream lets through to kubeadm: options of its command line, and one that ends up in its configuration.
KUBEADM_OPTIONS = (
    "ignore-preflight-errors",
    "dry-run",
    "kubeconfig",
    "kubeconfig-dir",
    "node-name",
    "cri-socket",
    "experimental-upload-certs",
    "certificate-key",
    "rootfs",
    "skip-phases",
)
POD_NETWORK_CIDR = "pod-network-cidr"


class ExtraOption(NamedTuple):
    """One option of one component."""

    component: str
    key: str
    value: str


def parse_extra_config(texts: Iterable[str]) -> tuple[ExtraOption, ...]:
    """The options in the values of `--extra-config`; MK_USAGE for one that names no component we have."""
    return tuple(_parse_option(text) for text in texts)


def parse_feature_gates(text: str) -> dict[str, bool]:
    """The gates in `--feature-gates`; MK_USAGE for one that is neither true nor false."""
    gates = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or value.strip().lower() not in ("true", "false"):
            raise Reason("MK_USAGE", f'--feature-gates: "{part}" is not of the form Name=true or Name=false')
        gates[name.strip()] = value.strip().lower() == "true"
    return gates


def options_of(options: Iterable[ExtraOption], component: str) -> list[tuple[str, str]]:
    return [(option.key, option.value) for option in options if option.component == component]


def _parse_option(text: str) -> ExtraOption:
    name, equals, value = text.partition("=")
    component, dot, key = name.strip().partition(".")
    if not equals or not dot or not key:
        raise Reason(
            "MK_USAGE",
            f'--extra-config: "{text}" is not of the form component.key=value',
            advice="For example: --extra-config=kubelet.max-pods=50",
        )
    if component not in COMPONENTS:
        raise Reason("MK_USAGE", f'--extra-config: "{component}" is not a component. It must be one of: {", ".join(COMPONENTS)}')
    if component == "kubeadm" and key not in (*KUBEADM_OPTIONS, POD_NETWORK_CIDR):
        raise Reason(
            "MK_USAGE",
            f"Sorry, the kubeadm.{key} parameter is currently not supported by --extra-config",
            advice=f"It must be one of: {', '.join((*KUBEADM_OPTIONS, POD_NETWORK_CIDR))}",
        )
    return ExtraOption(component, key, value)
