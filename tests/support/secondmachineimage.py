"""The root of the second machine: an older Debian than the node image's, unpacked once into the store."""

from __future__ import annotations

import shutil
from pathlib import Path

from minikube.artifacts.store import Recipe, Store
from minikube.host.process import run
from minikube.output.progress import Progress

SUITE = "bookworm"
PACKAGES = (
    *("base-files", "bash", "coreutils", "dash", "debianutils", "findutils", "grep", "gzip", "hostname", "libc-bin", "mawk", "sed"),
    *("login", "mount", "openssh-server", "passwd", "procps", "sudo", "tar", "tini", "util-linux"),
)
UNUSED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "var/lib/apt", "var/lib/dpkg", "var/cache", "var/log", "dev", "run", "tmp")

FILES = {
    "etc/passwd": (
        "root:x:0:0:root:/root:/bin/bash\n"
        "sshd:x:101:65534::/run/sshd:/usr/sbin/nologin\n"
        "dev:x:1000:1000::/home/dev:/bin/bash\n"
        "guest:x:1001:1001::/home/guest:/bin/sh\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    ),
    "etc/group": "root:x:0:\ntty:x:5:\nsudo:x:27:\ndev:x:1000:\nguest:x:1001:\nnogroup:x:65534:\n",
    # `*`: no password fits, and unlike `!` the account is not locked.
    "etc/shadow": "".join(f"{name}:*:20000:0:99999:7:::\n" for name in ("root", "sshd", "dev", "guest", "nobody")),
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n",
    "etc/resolv.conf": "nameserver 198.18.255.254\n",
    "etc/sudoers": "Defaults env_reset\nroot ALL=(ALL:ALL) ALL\ndev ALL=(ALL:ALL) NOPASSWD: ALL\n",
    "etc/pam.d/sudo": "auth required pam_deny.so\naccount required pam_permit.so\nsession required pam_permit.so\n",
    "etc/pam.d/other": "".join(f"{kind} required pam_deny.so\n" for kind in ("auth", "account", "session", "password")),
    # What a careful administrator would have, and a log-in message that must not get into anybody's protocol.
    "etc/ssh/sshd_config": (
        "HostKey /etc/ssh/ssh_host_ed25519_key\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nPrintMotd no\n"
        "PermitRootLogin prohibit-password\nUseDNS no\nBanner /etc/issue.net\nMaxSessions 10\nX11Forwarding no\n"
    ),
}


def provide_machine_image() -> Path:
    return Store().provide(
        Recipe(
            name="test-second-machine",
            identity=f"{SUITE} {PACKAGES} {UNUSED} {FILES} 2",
            build=_build,
            host_packages=("mmdebstrap",),
            estimate_seconds=25,
            what=f"second machine for tests (Debian {SUITE})",
        ),
        Progress(None),
    )


def _build(target: Path, _progress: Progress) -> None:
    run(["mmdebstrap", "--variant=extract", "--quiet", f"--include={','.join(PACKAGES)}", SUITE, str(target)])
    target.chmod(0o755)
    for name in UNUSED:
        shutil.rmtree(target / name, ignore_errors=True)
    for name in ("dev", "run", "tmp", "var/cache", "var/log", "home"):
        (target / name).mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        file = target / name
        file.unlink(missing_ok=True)
        file.write_text(text)
    for name in ("lastlog", "wtmp"):  # sshd complains to whoever logs in where these are missing
        (target / "var/log" / name).touch()
    (target / "etc/shadow").chmod(0o600)
    (target / "etc/sudoers").chmod(0o440)
    (target / "etc/ld.so.cache").unlink(missing_ok=True)
    for user, number in (("dev", 1000), ("guest", 1001)):
        home = target / "home" / user
        home.mkdir()
        shutil.chown(home, number, number)
