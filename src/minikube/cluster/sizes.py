"""`--cpus` and `--memory`: what users write, checked against what the machine has."""

from __future__ import annotations

from minikube.drivers.values import MINIMUM_CPUS, MINIMUM_MEMORY_MB
from minikube.output.reason import Reason
from minikube.profiles.values import BadValue, parse_megabytes

UNLIMITED = ("max", "no-limit")


def parse_cpus(text: str, *, available: int, force: bool) -> int:
    """Whole CPUs; 0 for no limit."""
    if text in UNLIMITED:
        return 0 if text == "no-limit" else available
    try:
        cpus = int(text)
    except ValueError:
        raise Reason("MK_USAGE", f"'{text}' is not a number of CPUs", advice="Use a whole number, max or no-limit: --cpus=2") from None
    if cpus < MINIMUM_CPUS and not force:
        raise Reason(
            "RSRC_INSUFFICIENT_CORES",
            f"Requested cpu count {cpus} is less than the minimum allowed of {MINIMUM_CPUS}",
            advice="Use --cpus=2 or more, or --force to try all the same.",
        )
    if cpus > available and not force:
        raise Reason(
            "RSRC_INSUFFICIENT_CORES",
            f"Requested cpu count {cpus} is greater than the available cpus of {available}",
            advice=f"Use --cpus={available} or fewer.",
        )
    return cpus


def parse_memory(text: str, *, available: int, force: bool) -> int:
    """Megabytes; 0 for no limit."""
    if text == "no-limit":
        return 0
    if text == "max":
        return available
    megabytes = default_memory(available) if not text else size_in_mb(text, flag="memory")
    if megabytes < MINIMUM_MEMORY_MB and not force:
        raise Reason(
            "RSRC_INSUFFICIENT_REQ_MEMORY",
            f"Requested memory allocation {megabytes}MiB is less than the usable minimum of {MINIMUM_MEMORY_MB}MB",
            advice="Use --memory=2g or more, or --force to try all the same.",
        )
    if megabytes > available and not force:
        raise Reason(
            "RSRC_INSUFFICIENT_SYS_MEMORY",
            f"Requested memory allocation {megabytes}MB is more than your system limit {available}MB",
            advice=f"Use --memory={available // 2}mb or less.",
        )
    return megabytes


def default_memory(available: int) -> int:
    """A quarter of the machine, between 3 and 6 GB, as upstream has it; never more than there is."""
    return min(max(available // 4, 3072), 6144, available)


def size_in_mb(text: str, *, flag: str) -> int:
    """`4g`, `4096mb`, `4096`: a number without a unit is megabytes."""
    try:
        return parse_megabytes(text)
    except BadValue as error:
        raise Reason("MK_USAGE", str(error), advice=f"Use a number with a unit: --{flag}=4g or --{flag}=4096mb") from None
