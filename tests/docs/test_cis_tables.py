"""The tables of docs/security.md that a run of kube-bench is compared with (tests/e2e/test_hardened.py) agree with each other."""

from support import kubebench


def test_every_warning_that_is_counted_has_a_row_with_its_reason() -> None:
    figures, warnings = kubebench.documented()
    assert {kind: figure["warn"] for kind, figure in figures.items()} == {kind: len(checks) for kind, checks in warnings.items()}
    assert {kind: figure["fail"] for kind, figure in figures.items()} == {"default": 0, "--hardened": 0}
    assert all(len(set(checks)) == len(checks) for checks in warnings.values())
