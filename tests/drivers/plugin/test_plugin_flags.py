"""A plugin's flags become flags of start, whatever a plugin declares."""

from __future__ import annotations

from typing import Any

import pytest

from minikube.cli.driverflags import _given
from minikube.drivers.plugin.createflags import PluginFlag, as_plugin_flags
from minikube.drivers.plugin.flags import as_flags, values
from minikube.drivers.plugin.process import PluginBroken
from minikube.profiles.settings import Flag, Settings


def test_kinds_defaults_and_words() -> None:
    declared = as_plugin_flags(
        [
            ("*mcnflag.StringFlag", {"Name": "box-url", "Usage": "Where it is", "EnvVar": "BOX_URL", "Value": "tcp://"}),
            ("*mcnflag.IntFlag", {"Name": "box-port"}),
            ("*mcnflag.BoolFlag", {"Name": "box-fast"}),
            ("*mcnflag.StringSliceFlag", {"Name": "box-tags", "Value": ["a"]}),
        ]
    )
    url, port, fast, tags = as_flags("box", declared)
    assert (url.kind, url.default, url.help, url.section) == ("string", "tcp://", "Where it is [$BOX_URL]", "Driver box")
    assert (port.kind, port.default) == ("int", 0)
    assert (fast.kind, fast.default, fast.implied) == ("bool", False, "true")
    assert (tags.kind, tags.default) == ("stringArray", ["a"])


def test_flags_that_nobody_could_use_are_left_out() -> None:
    odd: list[Any] = [("*mcnflag.FloatFlag", {"Name": "ratio"}), ("*mcnflag.IntFlag", {}), ("*mcnflag.IntFlag", {"Name": "two words"})]
    assert as_flags("box", as_plugin_flags(odd)) == ()


@pytest.mark.parametrize("answer", [{}, None, [None], [("*mcnflag.IntFlag", {"Name": "n", "Value": "text"})], ["text"], 7])
def test_what_are_no_flags(answer: Any) -> None:
    if answer == {}:
        assert as_plugin_flags(answer) == ()
        return
    with pytest.raises(PluginBroken, match="no flags"):
        as_plugin_flags(answer)


def test_a_flag_of_start_with_the_same_name_is_handed_on() -> None:
    declared = [PluginFlag("memory", "int", "", "", 1024), PluginFlag("network", "string", "", "", "nat")]
    flags = {"memory": Flag("memory"), "network": Flag("network")}
    assert values(declared, Settings(flags, {"memory": "2048"}, use_file=False)) == {"memory": 2048, "network": "nat"}


def test_the_size_of_the_cluster_is_the_size_of_the_machine() -> None:
    declared = [
        PluginFlag("box-cpu-count", "int", "", "", 1),
        PluginFlag("box-memory", "int", "in MB", "", 1024),
        PluginFlag("box-disk-size", "int", "Size of the disk (in GB)", "", 10),
        PluginFlag("box-cpu-kind", "string", "", "", "fast"),
    ]
    flags = {name: Flag(name, default="2") for name in ("cpus", "memory", "disk-size")} | {"box-memory": Flag("box-memory", "int")}

    def of(**given: Any) -> list[Any]:
        settings = Settings(flags, {name.replace("_", "-"): value for name, value in given.items()}, use_file=False)
        return list(values(declared, settings).values())

    assert of() == [1, 1024, 10, "fast"], "what nobody asked for is the plugin's to decide"
    assert of(cpus="4", memory="4g", disk_size="30500mb") == [4, 4096, 30, "fast"]
    assert of(cpus="no-limit", memory="4g", box_memory=512) == [1, 512, 10, "fast"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], None),
        (["--driver=box"], "box"),
        (["--driver", "box", "--other"], "box"),
        (["-d", "box"], "box"),
        (["-dbox"], "box"),
        (["-d=box", "--driver=last"], "last"),
        (["--", "--driver=box"], None),
        (["--driver"], ""),
    ],
)
def test_the_driver_is_found_before_the_flags_are_known(words: list[str], found: str | None) -> None:
    assert _given(words, "driver", "d") == found
