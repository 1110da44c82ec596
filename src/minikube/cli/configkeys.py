"""The keys `minikube config set` knows: their kind, what is a valid value, and whether a new cluster is needed to see them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from minikube.cli.startflags import DRIVER, DRIVERS, RUNTIMES
from minikube.profiles.values import BadValue, parse_bool, parse_int


class Invalid(Exception):
    """A value that a key cannot have, in upstream's words."""


class Key(NamedTuple):
    """How one key is set."""

    kind: str = "string"
    check: Callable[[str, str], None] | None = None
    needs_restart: bool = False


def value_of(name: str, text: str) -> object:
    """The value to store, checked."""
    key = KEYS[name]
    if key.check:
        key.check(name, text)
    try:
        if key.kind == "int":
            return parse_int(text)
        if key.kind == "bool":
            return parse_bool(text)
    except BadValue as error:
        raise Invalid(f"{name}: {error}") from None
    if key.kind == "map":
        return dict.fromkeys(text.split(","))
    return text


def default_values(name: str) -> list[str]:
    """What `config defaults` lists; only two keys have such a list."""
    if name == "driver":
        return [*DRIVERS, *(name for name in _registered() if name not in DRIVERS)]
    from minikube.artifacts import catalogue

    return [versions.kubernetes for versions in catalogue.VERSION_SETS]


def _driver(_: str, text: str) -> None:
    if text not in DRIVERS and text not in _registered():
        raise Invalid(f'driver "{text}" is not supported')


def _registered() -> list[str]:
    from minikube.drivers import registry

    return [name for definition in registry.every() for name in (definition.name, *definition.aliases)]


def _runtime(_: str, text: str) -> None:
    if text not in (*RUNTIMES, "crio"):
        raise Invalid(f'Invalid Container Runtime: "{text}". Valid runtimes are: {list(RUNTIMES)}')


def _positive(name: str, text: str) -> None:
    try:
        number = parse_int(text)
    except BadValue:
        raise Invalid(f'{name}:strconv.Atoi: parsing "{text}": invalid syntax') from None
    if number <= 0:
        raise Invalid(f"{name} must be > 0")


def _cpus(name: str, text: str) -> None:
    if text not in ("max", "no-limit"):
        _positive(name, text)


def _memory(name: str, text: str) -> None:
    if text not in ("max", "no-limit"):
        _size("memory", text)


def _disk(name: str, text: str) -> None:
    _size("disk", text)


def _size(what: str, text: str) -> None:
    number = text.lower().removesuffix("ib").removesuffix("b").removesuffix("i").rstrip("kmgtp").strip()
    digits = number.replace(".", "", 1)
    if not digits.isdigit() or not digits.isascii() or not digits.strip("0"):
        raise Invalid(f"invalid {what} size: {text}")


def _cidr(_: str, text: str) -> None:
    import ipaddress

    try:
        if "/" not in text:
            raise ValueError
        ipaddress.ip_interface(text)
    except ValueError:
        raise Invalid(f"invalid CIDR: invalid CIDR address: {text}") from None


def _path(name: str, text: str) -> None:
    if "\0" in text or not os.access(text, os.F_OK):
        raise Invalid(f"{name} path: stat {text}: no such file or directory")


def _url(_: str, text: str) -> None:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
    except ValueError:
        raise Invalid(f"{text} is not a valid URL") from None
    if parts.scheme == "file" and not os.access(text.removeprefix("file://"), os.F_OK):
        raise Invalid(f"{text} does not exist")


def _local_access(name: str, text: str) -> None:
    choices = next(flag.choices for flag in DRIVER if flag.name == name)
    if text not in choices:
        raise Invalid(f'{name}: "{text}" is none of {", ".join(choices)}')


def _host_access(name: str, text: str) -> None:
    from minikube.network import hostaccess

    try:
        hostaccess.ports(text.split(","))
    except ValueError as error:
        raise Invalid(f'{name}: "{error}" is not a port') from None


def _bootstrapper(_: str, text: str) -> None:
    if text != "kubeadm":
        raise Invalid(f'bootstrapper "{text}" is not supported: kubeadm is the only one')


KEYS: dict[str, Key] = {
    "driver": Key(check=_driver, needs_restart=True),
    "vm-driver": Key(check=_driver, needs_restart=True),
    "container-runtime": Key(check=_runtime, needs_restart=True),
    "feature-gates": Key(needs_restart=True),
    "v": Key("int", _positive),
    "cpus": Key(check=_cpus, needs_restart=True),
    "disk-size": Key(check=_disk, needs_restart=True),
    "host-only-cidr": Key(check=_cidr),
    "memory": Key(check=_memory, needs_restart=True),
    "log_dir": Key(check=_path),
    "kubernetes-version": Key(),
    "iso-url": Key(check=_url),
    "WantUpdateNotification": Key("bool"),
    "WantBetaUpdateNotification": Key("bool"),
    "ReminderWaitPeriodInHours": Key("int"),
    "WantNoneDriverWarning": Key("bool"),
    "WantVirtualBoxDriverWarning": Key("bool"),
    "profile": Key(),
    "bootstrapper": Key(check=_bootstrapper),
    "insecure-registry": Key(),
    "hyperv-virtual-switch": Key(),
    "disable-driver-mounts": Key("bool"),
    "cache": Key("map"),
    "EmbedCerts": Key("bool"),
    "native-ssh": Key("bool"),
    "rootless": Key("bool"),
    "MaxAuditEntries": Key("int"),
    "dns-servers": Key(),
    "mdns": Key("bool"),
    # Not upstream's.
    "hardened": Key("bool", needs_restart=True),
    "user-namespace": Key("bool", needs_restart=True),
    "local-access": Key(check=_local_access, needs_restart=True),
    "host-access": Key(check=_host_access, needs_restart=True),
}
WITH_DEFAULTS = ("driver", "kubernetes-version")
