"""What root believes of a machine's records: names follow from the machine's id, programs are root's in the store, the rest is numbers.

Records of older versions belong to the person that root works for, and name what root executes, deletes and writes.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Mapping
from ipaddress import IPv4Network, ip_interface
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minikube.drivers.values import Limits
from minikube.host import inotify, systemd
from minikube.host.journal import Change, well_formed
from minikube.network.bridge import FORWARDING_NAME
from minikube.network.firewall import FAMILIES
from minikube.profiles.paths import store_text

if TYPE_CHECKING:
    from minikube.drivers.native.layout import Layout

_ENTRY = re.compile(r"[a-z0-9][a-z0-9._-]*-[0-9a-f]{12}")
_PLACE = re.compile(r"/[a-z]+")  # what an enclosure covers while it is made: a directory of the root directory
_NUMBER = re.compile(r"[0-9]{1,12}")
_LONGEST = 200  # characters of a text that is only shown
_SETTINGS = (FORWARDING_NAME, *inotify.SETTINGS)


def checked(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts without those that root must not act on: each of them is found out again, or done without."""
    kept = {name: value for name, value in facts.items() if name not in _DANGEROUS or _DANGEROUS[name](value)}
    if not isinstance(kept.get("limits", {}), dict) or not _are_limits(kept.get("limits", {})):
        kept["limits"] = Limits(0, 0, 0)._asdict()
    return kept


def facts(found: object) -> dict[str, Any]:
    """The facts of a machine whose record somebody else may have written: known names only, and nothing that is a path."""
    if not isinstance(found, dict):
        raise ValueError("it does not hold the facts of a machine")
    known = ("subnet", "node_image", "prepared_store", "runc", "limits")
    kept = checked({name: found[name] for name in known if name in found})
    kept["furnished"] = found.get("furnished") is True
    if isinstance(found.get("kubernetes_version"), str):
        kept["kubernetes_version"] = found["kubernetes_version"][:_LONGEST]
    kept["enclosure"] = _enclosure(found.get("enclosure"))
    kept["not_enclosed"] = str(found.get("not_enclosed") or "")[:_LONGEST]
    return kept


def changes(found: object, layout: Layout) -> list[Change]:
    """Those entries of a journal that this machine can have made."""
    return [change for change in found if is_ours(change, layout)] if isinstance(found, list) else []


def is_ours(change: object, layout: Layout) -> bool:
    """Whether a change is one that this machine makes: of a known kind, under the names that follow from its id."""
    if not well_formed(change):
        return False
    match change:
        case {"kind": "bridge", "name": layout.bridge, "address": str(address)}:
            return address == "?" or _is_interface(address)
        case {"kind": "firewall", "name": layout.bridge, "family": str(families)}:
            return families in ("inet", FAMILIES)
        case {"kind": "cgroup", "path": path}:
            return path in (layout.group, f"/minikube/{layout.id}", systemd.scope_group(layout.unit))
        case {"kind": "unit", "name": layout.unit} | {"kind": "container", "id": layout.container}:
            return True
        case {"kind": "sysctl", "name": name, "before": str(before), "after": str(after)}:
            return name in _SETTINGS and all(_NUMBER.fullmatch(value) for value in (before, after))
        case {"kind": "relay", "servers": str(servers)}:
            return len(servers) <= _LONGEST
        case {"kind": "podmounts"}:
            return True
    return False


def is_roots_entry(path: object) -> bool:
    """Whether a path is that of something in an entry of the store in use, and nobody but root can have written it."""
    if not isinstance(path, str):
        return False
    inside, entries = path.removeprefix(f"{store_text()}/entries/"), f"{store_text()}/entries"
    names = inside.split("/")
    if inside == path or len(names) < 2 or not _ENTRY.fullmatch(names[0]) or names[1] != "content":
        return False
    if any(name in ("", ".", "..") for name in names):
        return False
    return all(_is_roots(Path(entries, *names[:number])) for number in range(len(names) + 1))


def _is_roots(path: Path) -> bool:
    try:
        about = path.lstat()
    except (OSError, ValueError):
        return False
    plain = stat.S_ISDIR(about.st_mode) or stat.S_ISREG(about.st_mode)
    return plain and about.st_uid == 0 and not about.st_mode & 0o022


def _is_subnet(value: object) -> bool:
    try:
        return isinstance(value, str) and IPv4Network(value).is_private and 16 <= IPv4Network(value).prefixlen <= 28
    except ValueError:
        return False


def _is_interface(value: str) -> bool:
    try:
        return bool(ip_interface(value))
    except ValueError:
        return False


def _are_limits(value: Mapping[str, Any]) -> bool:
    numbers = all(isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number < 1 << 53 for number in value.values())
    return not value or (set(value) == set(Limits._fields) and numbers)


def _enclosure(found: object) -> dict[str, Any] | None:
    """Whether there is one, for whom it matters before the next is made; its paths are found out then."""
    if not isinstance(found, dict) or not isinstance(found.get("first"), int):
        return None
    place = str(found.get("place", ""))
    covered = place if _PLACE.fullmatch(place) else "/mnt"
    return {"first": found["first"], "place": covered, "source": "", "lowers": [], "machine": "", "pods": found.get("pods") is True}


_DANGEROUS: dict[str, Callable[[object], bool]] = {
    "subnet": _is_subnet,
    "node_image": is_roots_entry,
    "prepared_store": is_roots_entry,
    "runc": is_roots_entry,
}
