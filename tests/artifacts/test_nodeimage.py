"""The node image, built for real: it works as a bare chroot, and holds what kubelet, supervisor and people need."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from minikube.artifacts.clusterimages import nft_layer
from minikube.artifacts.nodeimage import build_node_image
from minikube.host.process import run
from minikube.output.reason import Reason

build = pytest.mark.build


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A node image: the one MINIKUBE_TEST_NODE_IMAGE names, else a fresh one."""
    if given := os.environ.get("MINIKUBE_TEST_NODE_IMAGE"):
        return Path(given)
    if os.geteuid() != 0:
        pytest.skip("a node image is built by root")
    directory = tmp_path_factory.mktemp("node-image")
    build_node_image(directory)
    return directory


def inside(image: Path, *argv: str, input: bytes | None = None) -> str:
    return run(["chroot", str(image), *argv], input=input, env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin"}).text


def test_without_mmdebstrap_the_reason_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Reason, match="mmdebstrap is not installed") as caught:
        build_node_image(tmp_path)
    assert "apt-get install mmdebstrap" in caught.value.advice


@build
def test_the_supervisors_python_works_without_proc_and_dev(image: Path) -> None:
    modules = "json, socket, selectors, ctypes, pty, fcntl, ssl, subprocess, asyncio"
    assert inside(image, "python3", "-I", "-S", "-B", "-c", f"import {modules}; print('fine')") == "fine\n"


@build
def test_python_is_compiled_ahead(image: Path) -> None:
    cached = inside(
        image, "python3", "-I", "-S", "-B", "-c", "import json, selectors; print(json.__cached__, selectors.__cached__)"
    ).split()
    assert all((image / path.lstrip("/")).is_file() for path in cached)


@build
def test_network_tools_work_in_a_bare_chroot(image: Path) -> None:
    assert list((image / "dev").iterdir()) == []
    assert list((image / "proc").iterdir()) == []
    assert "LOOPBACK" in inside(image, "ip", "-batch", "-", input=b"link show lo\n")
    # -c: check only, nothing of the host's rules is touched
    inside(image, "nft", "-c", "-f", "-", input=b"table inet minikube-test {\n}\n")


@build
@pytest.mark.parametrize(
    "command",
    [
        *(
            "bash --version",
            "sh -c true",
            "mount --version",
            "nsenter --version",
            "mkfs.ext4 -V",
            "modprobe --version",
            "losetup --version",
        ),
        *("iptables --version", "ip6tables-save --version", "iptables-restore --version", "conntrack --version", "ethtool --version"),
        *("socat -V", "tar --version", "awk -W version", "less --version", "nano --version", "curl --version"),
        *("sysctl --version", "which vi", "sudo -E true", "bash -lc true", "openssl version", "find --version"),
    ],
)
def test_command(image: Path, command: str) -> None:
    inside(image, *command.split())


@build
def test_no_library_is_missing(image: Path) -> None:
    programs = [path for name in ("usr/bin", "usr/sbin") for path in (image / name).iterdir() if path.is_file() and not path.is_symlink()]
    programs = [path for path in programs if path.read_bytes()[:4] == b"\x7fELF"]
    linked = run(["chroot", str(image), "ldd", *(f"/{path.relative_to(image)}" for path in programs)], check=False).text
    assert "not found" not in linked


@build
def test_the_root_is_merged_and_what_is_written_goes_to_var(image: Path) -> None:
    assert {name: str((image / name).readlink()) for name in ("bin", "sbin", "lib")} == {
        "bin": "usr/bin",
        "sbin": "usr/sbin",
        "lib": "usr/lib",
    }
    for name in ("root", "home", "opt", "mnt", "srv", "data"):
        assert (image / name).readlink() == Path("var", name)
        assert (image / "var" / name).is_dir()
    assert (image / "usr/libexec/kubernetes/kubelet-plugins/volume/exec").is_dir()
    assert (image / "usr/lib/modules").is_dir()


@build
def test_etc_is_small_and_complete(image: Path) -> None:
    files = [path for path in (image / "etc").rglob("*") if path.is_file() and not path.is_symlink()]
    assert len(files) < 300
    assert sum(path.stat().st_size for path in files) < 2_000_000
    assert (image / "etc/ssl/certs/ca-certificates.crt").read_text().count("BEGIN CERTIFICATE") > 100
    assert (
        inside(image, "python3", "-B", "-c", "import ssl; print(ssl.create_default_context().cert_store_stats()['x509_ca'] > 100)")
        == "True\n"
    )
    assert "VERSION_CODENAME=trixie" in (image / "etc/os-release").read_text()
    for left_by_the_host in ("resolv.conf", "hostname", "machine-id"):
        assert not (image / "etc" / left_by_the_host).exists()


@build
def test_nothing_is_set_uid_or_a_device(image: Path) -> None:
    for directory, _, files in os.walk(image):
        for name in files:
            mode = Path(directory, name).lstat().st_mode
            assert stat.S_ISREG(mode) or stat.S_ISLNK(mode)
            assert stat.S_ISLNK(mode) or not mode & (stat.S_ISUID | stat.S_ISGID), name


@build
def test_it_says_what_it_is_made_of(image: Path) -> None:
    packages = {package["name"]: package for package in json.loads((image / "packages.json").read_text())}
    assert {"bash", "nftables", "python3", "libc6"} <= packages.keys()
    assert len(packages["nftables"]["sha256"]) == 64
    assert packages["conntrack"]["version"].startswith("1:")


@build
def test_the_layer_of_kube_proxy_runs_nft(image: Path, tmp_path: Path) -> None:
    for entry in nft_layer(image):
        place = tmp_path / entry.path
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry.source:
            place.write_bytes(entry.source.read_bytes())
            place.chmod(entry.mode)
        elif entry.target:
            place.symlink_to(entry.target)
    assert run(["chroot", str(tmp_path), "/usr/sbin/nft", "--version"]).text.startswith("nftables")
    assert sum(entry.source.stat().st_size for entry in nft_layer(image) if entry.source) < 10_000_000
