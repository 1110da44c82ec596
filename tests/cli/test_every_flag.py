"""Every flag of upstream's commands other than start: its name, its shorthand, its default, before and after the command."""

from __future__ import annotations

import pytest
from support.program import Program

from minikube.cli.commands import COMMANDS
from minikube.cli.flags import GLOBAL_FLAGS
from minikube.cli.parser import UsageError, understand
from minikube.cli.unbuilt import every_command
from minikube.profiles.settings import Flag
from minikube.profiles.values import format_duration

# words of the command: name/shorthand=default …; a default that is not written here is a template or empty
REFERENCE = {
    "": "profile/p=minikube bootstrapper/b=kubeadm user= skip-audit=false rootless=false help/h=false alsologtostderr=false "
    "alsologtostderrthreshold logtostderr=false log_dir= log_file= log_file_max_size=1800 log_backtrace_at stderrthreshold=2 v/v=0 "
    "vmodule= add_dir_header=false skip_headers=false skip_log_headers=false one_output=false legacy_stderr_threshold_behavior=true",
    "status": "output/o=text format/f layout/l=nodes node/n= watch/w=1s",
    "stop": "all=false keep-context-active=false schedule=0s cancel-scheduled=false output/o=text",
    "delete": "all=false purge=false output/o=text",
    "dashboard": "url=false port=0",
    "pause": "namespaces/n=[kube-system,kubernetes-dashboard,istio-operator] all-namespaces/A=false output/o=text",
    "unpause": "namespaces/n=[kube-system,kubernetes-dashboard,istio-operator] all-namespaces/A=false output/o=text",
    "docker-env": "shell= unset/u=false no-proxy=false ssh-host=false ssh-add=false output/o",
    "podman-env": "shell= unset/u=false",
    "cache add": "all=false",
    "cache list": "format",
    "image build": "tag/t= file/f= push=false build-env build-opt node/n= all=false",
    "image load": "daemon=false remote=false pull=false overwrite=true",
    "image save": "daemon=false remote=false",
    "image ls": "format=short",
    "addons list": "output/o=list docs/d=false",
    "addons enable": "images= registries= force=false refresh=false",
    "addons configure": "config-file/f=",
    "addons images": "output/o=table",
    "addons open": "url=false https=false format=http://{{.IP}}:{{.Port}} wait=2 interval=1",
    "config view": "format",
    "config defaults": "output/o=",
    "profile list": "output/o=table light/l=false detailed/d=false",
    "service": "namespace/n=default url=false all=false https=false format=http://{{.IP}}:{{.Port}} wait=2 interval=1",
    "service list": "namespace/n= output/o=table format=http://{{.IP}}:{{.Port}}",
    "tunnel": "cleanup/c=true bind-address=",
    "mount": "9p-version=9p2000.L gid=docker uid=docker ip= port=0 msize=262144 options type=9p kill=false",
    "ssh": "node/n= native-ssh=true",
    "kubectl": "ssh=false",
    "node add": "control-plane=false worker=true delete-on-failure=false",
    "node start": "delete-on-failure=false",
    "ssh-key": "node/n=",
    "ssh-host": "node/n= append-known=false",
    "ip": "node/n=",
    "logs": "length/n=60 follow/f=false problems=false file= node= audit=false last-start-only=false",
    "version": "short=false components=false output/o=",
    "license": "dir/d=.",
    "generate-docs": "path= test-path= code-path=",
}
ENTRIES = [(words, entry) for words, entries in REFERENCE.items() for entry in entries.split()]
SAMPLES = {"bool": "true", "int": "3", "duration": "90s", "string": "x", "strings": "a", "stringArray": "a=b", "extra": "a.b=c"}


def shown(flag: Flag) -> str:
    if flag.kind == "bool":
        return "true" if flag.default else "false"
    if flag.kind == "duration":
        return format_duration(flag.default)
    return f"[{','.join(flag.default)}]" if isinstance(flag.default, list) else str(flag.default)


@pytest.mark.parametrize(("words", "entry"), ENTRIES, ids=[f"{words} {entry.partition('=')[0]}" for words, entry in ENTRIES])
def test_flag(words: str, entry: str) -> None:
    label, equals, default = entry.partition("=")
    name, _, short = label.partition("/")
    command = words.split() or ["ip"]
    flag = understand(command).flags[name]
    assert flag.short == short
    if equals:
        assert shown(flag) == default
    sample = SAMPLES[flag.kind]
    after = understand([*command, f"--{name}={sample}"]).given
    assert name in after
    assert understand([f"--{name}={sample}", *command]).given == after
    if short:
        assert understand([*command, f"-{short}={sample}"]).given == after


def test_every_command_is_there() -> None:
    visible = {name for name, (group, _, _) in COMMANDS.items() if group}
    upstream = {words.split()[0] for words in REFERENCE if words} - {"generate-docs"}
    upstream |= {
        "start",
        "update-context",
        "cp",
        "update-check",
        "options",
        "completion",
        "help",
        "cache",
        "config",
        "node",
        "addons",
        "image",
    }
    assert len(upstream - {"help"}) == 31
    assert upstream <= visible


@pytest.mark.parametrize(
    "flag", [flag for flag in GLOBAL_FLAGS if flag.name not in ("help", "log_dir", "log_file")], ids=lambda flag: flag.name
)
def test_settings_of_every_command_come_from_everywhere(minikube: Program, flag: Flag) -> None:
    """flag > environment > config.json > default, seen through a command that reads them all."""
    from minikube.profiles.settings import Settings, environment_name

    samples = {"bool": ("true", "false", "true"), "int": ("1", "2", "3")}
    first, second, third = samples.get(flag.kind, ("a", "b", "c"))
    flags = {flag.name: flag}
    minikube.write_config(f'{{"{flag.config_key}": "{third}"}}')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINIKUBE_HOME", str(minikube.home.parent))
        assert Settings(flags, {}).source(flag.name) == "config"
        patch.setenv(environment_name(flag.name), second)
        assert Settings(flags, {}).source(flag.name) == "environment"
        given = understand(["ip", f"--{flag.name}={first}"]).given
        assert Settings(flags, given).source(flag.name) == "flag"
        assert Settings(flags, {}, use_file=False).source(flag.name) == "environment"


@pytest.mark.parametrize("words", [path.split()[1:] for path, command in every_command() if not command.hidden], ids=" ".join)
def test_a_mistyped_flag_gets_a_suggestion(words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        understand([*words, "--profil"])
    assert "--profile" in caught.value.suggestions
