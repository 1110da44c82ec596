"""What users write for --cpus and --memory."""

import pytest

from minikube.cluster import sizes
from minikube.output.reason import Reason

CPUS, MEMORY = 4, 8192


@pytest.mark.parametrize(
    ("text", "megabytes"),
    [
        ("4096", 4096),
        ("4g", 4096),
        ("4gb", 4096),
        ("4GiB", 4096),
        ("2048mb", 2048),
        ("2.5g", 2560),
        ("2097152k", 2048),
        ("4294967296b", 4096),
    ],
)
def test_sizes(text: str, megabytes: int) -> None:
    assert sizes.size_in_mb(text, flag="memory") == megabytes


@pytest.mark.parametrize("text", ["", "g", "4x", "-1g", "1e3", "4 g b", "nan", "四g"])
def test_nonsense_is_a_usage_error(text: str) -> None:
    with pytest.raises(Reason) as refused:
        sizes.size_in_mb(text, flag="memory")
    assert refused.value.id == "MK_USAGE"


def test_too_little_memory_is_refused_unless_forced() -> None:
    with pytest.raises(Reason) as refused:
        sizes.parse_memory("1g", available=MEMORY, force=False)
    assert (refused.value.id, refused.value.exit_code) == ("RSRC_INSUFFICIENT_REQ_MEMORY", 23)
    assert sizes.parse_memory("1g", available=MEMORY, force=True) == 1024


def test_more_memory_than_there_is_is_refused() -> None:
    with pytest.raises(Reason) as refused:
        sizes.parse_memory("900t", available=MEMORY, force=False)
    assert refused.value.id == "RSRC_INSUFFICIENT_SYS_MEMORY"


def test_no_limit_and_max() -> None:
    assert sizes.parse_memory("no-limit", available=MEMORY, force=False) == 0
    assert sizes.parse_memory("max", available=MEMORY, force=False) == MEMORY
    assert sizes.parse_cpus("no-limit", available=CPUS, force=False) == 0
    assert sizes.parse_cpus("max", available=CPUS, force=False) == CPUS


@pytest.mark.parametrize(("text", "id"), [("1", "RSRC_INSUFFICIENT_CORES"), ("100000", "RSRC_INSUFFICIENT_CORES"), ("two", "MK_USAGE")])
def test_cpus_that_cannot_be(text: str, id: str) -> None:
    with pytest.raises(Reason) as refused:
        sizes.parse_cpus(text, available=CPUS, force=False)
    assert refused.value.id == id
