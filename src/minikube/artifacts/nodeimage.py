"""The node image: stock Debian packages, unpacked without running their scripts, as the read-only root of every node."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from minikube.artifacts.nodeskeleton import write_skeleton
from minikube.host.process import ProcessFailed, run
from minikube.output.reason import Reason

PACKAGES = (
    # what a shell and every script take for granted
    *("base-files", "bash", "coreutils", "dash", "debianutils", "diffutils", "findutils", "grep", "gzip", "hostname", "libc-bin"),
    *("mawk", "ncurses-base", "ncurses-bin", "procps", "sed", "tar", "util-linux", "xz-utils"),
    # kubelet, containerd and CNI plugins: mounts, volumes, modules, sockets, packet filters
    *("conntrack", "crun", "e2fsprogs", "ethtool", "iproute2", "iptables", "kmod", "libseccomp2", "mount", "netbase", "nftables", "socat"),
    # the supervisor
    "python3",
    # people
    *("busybox-static", "ca-certificates", "curl", "iputils-ping", "less", "lsof", "nano", "openssl", "psmisc", "strace"),
)

_UNUSED = (
    # documentation, translations, and integration with what a node does not have
    *(f"usr/share/{name}" for name in ("applications", "base-files", "bash-completion", "binfmts", "bug", "debconf", "debianutils")),
    *(f"usr/share/{name}" for name in ("dict", "doc", "doc-base", "dpkg", "fish", "icons", "info", "initramfs-tools", "libc-bin")),
    *(f"usr/share/{name}" for name in ("lintian", "locale", "man", "menu", "metainfo", "pam", "pam-configs", "perl5", "pixmaps")),
    *(f"usr/share/{name}" for name in ("polkit-1", "python3", "zoneinfo", "zsh")),
    *(
        f"usr/lib/{name}"
        for name in ("binfmt.d", "dpkg", "init", "mime", "systemd", "tmpfiles.d", "udev", "valgrind", "*/gconv", "*/security")
    ),
    *(f"usr/lib/python3.*/{name}" for name in ("ensurepip", "lib2to3", "pydoc_data", "sitecustomize*", "test", "turtle.py", "turtledemo")),
    *("usr/lib/*/gconv", "usr/lib/*/security", "usr/games", "usr/include", "usr/local/man", "usr/local/share/man", "usr/src"),
    # the package manager and Debian's own administration: nothing is ever installed into a read-only root
    *(f"usr/bin/{name}" for name in ("deb*", "dpkg*", "py3*", "pygettext*", "su", "tzselect", "update-alternatives")),
    *(f"usr/sbin/{name}" for name in ("dpkg*", "e2scrub*", "invoke-rc.d", "pam*", "service", "unix_*", "update-*")),
    # device nodes have no place in a store; a node gets its own /dev
    "dev/*",
)

# What the packages' scripts and update-alternatives would have linked.
_LINKS = {
    "usr/bin/awk": "mawk",
    "usr/bin/editor": "nano",
    "usr/bin/pager": "less",
    "usr/bin/which": "which.debianutils",
    **{f"usr/bin/{name}": "busybox" for name in ("nc", "nslookup", "pidof", "telnet", "traceroute", "vi", "wget")},
    **{f"usr/sbin/{name}{verb}": "xtables-nft-multi" for name in ("iptables", "ip6tables") for verb in ("", "-save", "-restore")},
}

# Directories of the root that a person or a pod may write to live in the node's own /var.
_WRITABLE = ("data", "home", "mnt", "opt", "root", "srv")

# kube-proxy and kube-controller-manager mount these from the node, and /usr is read-only.
_MOUNTED_BY_PODS = ("usr/lib/modules", "usr/libexec/kubernetes/kubelet-plugins/volume/exec")

# Compiled ahead: nothing can be cached in a read-only root, and the supervisor is on the path of every start.
_COMPILED = ("", "collections", "concurrent", "concurrent/futures", "ctypes", "encodings", "importlib", "json", "logging", "re")

_SUMS = "packages.sha256"


def build_node_image(destination: Path, *, suite: str = "trixie") -> None:
    """Fill an empty directory with the root of a node; `packages.json` in it says what it is made of."""
    _extract(destination, suite)
    destination.chmod(0o755)  # it becomes the / that others than root walk through
    newest = max(int(path.lstat().st_mtime) for path in _walk(destination / "usr") if not path.is_dir())
    packages = _packages(destination / _SUMS)
    _remove_unused(destination)
    write_skeleton(destination)
    for name, target in _LINKS.items():
        link = destination / name
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    for name in _WRITABLE:
        shutil.rmtree(destination / name, ignore_errors=True)
        (destination / name).symlink_to(f"var/{name}")
    for name in _MOUNTED_BY_PODS:
        (destination / name).mkdir(parents=True, exist_ok=True)
    _compile_library(destination)
    run(["chroot", str(destination), "ldconfig", "-X"])
    shutil.rmtree(destination / "var/cache/ldconfig")
    (destination / "packages.json").write_text(json.dumps(packages, indent=1) + "\n")
    _settle(destination, newest)


def _extract(destination: Path, suite: str) -> None:
    # The hook sees the downloaded packages after they were unpacked and before mmdebstrap throws them away.
    hook = f'cd "$1/var/cache/apt/archives" && sha256sum -- *.deb > "$1/{_SUMS}"'
    argv = [
        "mmdebstrap",
        "--variant=extract",
        "--quiet",
        f"--include={','.join(PACKAGES)}",
        f"--extract-hook={hook}",
        suite,
        str(destination),
    ]
    try:
        run(argv)
    except ProcessFailed as failed:
        if failed.code == 127:
            raise Reason(
                "HOST_PATH_MISSING",
                "the node image cannot be built: mmdebstrap is not installed",
                advice="Install it (Debian and Ubuntu: apt-get install mmdebstrap), then run the command again.",
            ) from failed
        raise Reason(
            "INET_CACHE_TAR",
            f"the node image cannot be built from Debian {suite}:\n{failed.output}",
            advice="Check that deb.debian.org can be reached (http_proxy is honoured) and that the file system has 500 MB free.",
        ) from failed


def _packages(sums: Path) -> list[dict[str, str]]:
    packages = []
    for line in sums.read_text().splitlines():
        digest, _, filename = line.partition("  ")
        name, version, _architecture = unquote(filename).removesuffix(".deb").split("_")
        packages.append({"name": name, "version": version, "sha256": digest})
    sums.unlink()
    return sorted(packages, key=lambda package: package["name"])


def _remove_unused(root: Path) -> None:
    for pattern in _UNUSED:
        for path in root.glob(pattern):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def _compile_library(root: Path) -> None:
    library = next((root / "usr/lib").glob("python3.*")).relative_to(root)
    directories = [f"/{library / name}" for name in _COMPILED]
    # Unchecked: the sources cannot change, so no start has to look at their times.
    run(["chroot", str(root), "python3", "-I", "-S", "-m", "compileall", "-q", "-l", "--invalidation-mode=unchecked-hash", *directories])


def _settle(root: Path, newest: int) -> None:
    """No set-uid files within reach of the host's users, and no time later than the packages' own: two builds are alike."""
    for path in _walk(root):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_mode & (stat.S_ISUID | stat.S_ISGID):
            path.chmod(stat.S_IMODE(status.st_mode) & 0o777)
        if status.st_mtime > newest:
            os.utime(path, (newest, newest), follow_symlinks=False)


def _walk(root: Path) -> Iterator[Path]:
    for directory, _, files in os.walk(root, topdown=False):
        here = Path(directory)
        yield from (here / name for name in files)
        # os.walk counts links to directories among the directories
        yield from (Path(entry.path) for entry in os.scandir(here) if entry.is_symlink() and entry.is_dir())
        yield here
