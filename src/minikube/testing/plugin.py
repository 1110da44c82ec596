"""The options of the contract tests, as a pytest plugin: pytest reads the conftest of `--pyargs` packages too late for options."""

from __future__ import annotations

import contextlib

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("minikube", "contract tests of minikube drivers (--pyargs minikube.testing.driver_contract)")
    # Other plugins have a --driver too (browsers): whoever comes first keeps it, and the longer name always works.
    for name in ("--driver", "--minikube-driver"):
        with contextlib.suppress(ValueError):
            group.addoption(name, help="the driver to test, by name or alias, as `minikube drivers` lists it")
    group.addoption(
        "--driver-flag",
        action="append",
        default=[],
        metavar="FLAG=VALUE",
        help="a flag of `minikube start` that the driver needs, without its dashes: ssh-ip-address=192.0.2.7",
    )
