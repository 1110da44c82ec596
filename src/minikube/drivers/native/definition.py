"""The native driver as the registry knows it."""

from __future__ import annotations

from minikube.drivers.definition import BUILT_IN, HIGHLY_PREFERRED, Definition

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from minikube.drivers.base import Driver
    from minikube.drivers.checks import Question
    from minikube.drivers.values import DriverStatus
    from minikube.profiles.clusterconfig import ClusterConfig
    from minikube.profiles.settings import Settings


def _make(machine: str, own: Mapping[str, Any]) -> Driver:
    from minikube.drivers.native.driver import NativeDriver

    return NativeDriver(machine, user_namespace=own.get("UserNamespace", True), access=access(own))


def _configure(config: ClusterConfig, settings: Settings, before: Mapping[str, Any]) -> dict[str, Any]:
    return {"UserNamespace": kept_choice(settings, before)} | kept_access(config, settings, before)


def access(own: Mapping[str, Any]) -> dict[str, Any]:
    """Who may connect to the machine, and what it may connect to: what of the firewall's `Access` is kept."""
    names = {"LocalAccess": "local", "APIServerPort": "api_port", "HostAccess": "host", "AskedFor": "asked"}
    return {name: own[key] for key, name in names.items() if key in own}


def kept_access(config: ClusterConfig, settings: Settings, before: Mapping[str, Any]) -> dict[str, Any]:
    """The same for the machine's configuration: what was said once holds until something else is said."""
    import os

    from minikube.artifacts import proxies
    from minikube.network import hostaccess
    from minikube.network.firewall import EVERYTHING, OWNER, SERVICES
    from minikube.output.reason import Reason

    local, host = (settings.get(flag) for flag in ("local-access", "host-access"))
    if "LocalAccess" in before and not settings.changed("local-access"):
        local = before["LocalAccess"]
    if local not in (OWNER, SERVICES, EVERYTHING):
        raise Reason("MK_USAGE", f'--local-access: "{local}" is none of {OWNER}, {SERVICES}, {EVERYTHING}')
    if "HostAccess" in before and not settings.changed("host-access"):
        host = before["HostAccess"]
    try:
        opened = hostaccess.ports(host)
    except ValueError as error:
        advice = "Give ports and ranges (8000,9000-9100), all, or none."
        raise Reason("MK_USAGE", f'--host-access: "{error}" is not a port', advice=advice) from None
    here = proxies.from_environment(os.environ)
    asked = [*(config.InsecureRegistry or ()), *(config.RegistryMirror or ()), *filter(None, (here.http, here.https))]
    named = {"AskedFor": hostaccess.places(asked), "APIServerPort": config.APIServerPort}
    return {"LocalAccess": local, "HostAccess": list(opened), **named}


def kept_choice(settings: Settings, before: Mapping[str, Any]) -> bool:
    """Whether the machine is to have a user namespace: what was said once holds until something else is said."""
    if "UserNamespace" in before and not settings.changed("user-namespace"):
        return bool(before["UserNamespace"])
    return bool(settings.get("user-namespace"))


def _status() -> DriverStatus:
    """What the kernel must have; `start` asks the rest as well, and says all that is missing at once."""
    from minikube import __version__
    from minikube.drivers import checks
    from minikube.drivers.native.checks import KERNEL
    from minikube.drivers.values import DriverStatus

    asked = (question for question in _questions() if question.group == KERNEL and question.required and question.quick)
    for check in checks.ask(asked, checks.ground()):
        if check.in_the_way:
            why = f"{check.title}: {check.detail}"
            return DriverStatus(healthy=False, reason=why, fix=check.fix, version=__version__, id=check.reason)
    return DriverStatus(version=__version__)


def _questions() -> Sequence[Question]:
    from minikube.drivers.native.checks import QUESTIONS, STORAGE
    from minikube.host.credentials import roots_work

    # The home and the store are looked at as the person that root works for.
    return [one if one.group == STORAGE else one._replace(look=roots_work(one.look)) for one in QUESTIONS]


DEFINITION = Definition(
    "none",
    title="native",
    aliases=("native",),
    summary="Kubernetes in namespaces of this host, without a VM or a container engine",
    priority=HIGHLY_PREFERRED,
    make=_make,
    status=_status,
    configure=_configure,
    only_start_configures=True,
    questions=_questions,
    origin=BUILT_IN,
)
