"""The first /etc and /var of a node: small trees in the node image that every node copies and then owns."""

from __future__ import annotations

import shutil
from pathlib import Path

USERS_CERTIFICATES = "/etc/minikube/ca-certificates"

# Of what the packages brought to /etc.
_KEPT = (
    *("debian_version", "ethertypes", "gai.conf", "host.conf", "ld.so.conf", "ld.so.conf.d", "mke2fs.conf", "nanorc", "netconfig"),
    *("os-release", "protocols", "rpc", "services", "ssl", "xattr.conf"),
)

_FILES = {
    "passwd": """\
root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
bin:x:2:2:bin:/bin:/usr/sbin/nologin
sys:x:3:3:sys:/dev:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
""",
    "group": """\
root:x:0:
daemon:x:1:
bin:x:2:
sys:x:3:
adm:x:4:
tty:x:5:
disk:x:6:
kmem:x:15:
sudo:x:27:
shadow:x:42:
utmp:x:43:
video:x:44:
staff:x:50:
users:x:100:
nogroup:x:65534:
""",
    "nsswitch.conf": """\
passwd: files
group: files
shadow: files
hosts: files dns
networks: files
protocols: files
services: files
ethers: files
rpc: files
""",
    "hosts": """\
127.0.0.1 localhost
::1 localhost ip6-localhost ip6-loopback
""",
    "profile": """\
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin
export LANG=C.UTF-8 PAGER=less EDITOR=nano
umask 022
if [ -n "$BASH_VERSION" ] && [ -n "$PS1" ]; then . /etc/bash.bashrc; fi
for script in /etc/profile.d/*.sh; do if [ -r "$script" ]; then . "$script"; fi; done
unset script
""",
    "bash.bashrc": """\
[ -n "$PS1" ] || return
PS1='\\u@\\h:\\w\\$ '
shopt -s checkwinsize histappend
HISTCONTROL=ignoreboth
alias ls='ls --color=auto' ll='ls -l' grep='grep --color=auto'
""",
    "shells": "/bin/sh\n/bin/bash\n",
}

# Everyone in a node is root already; people come with `minikube ssh -- sudo …` in their fingers and scripts.
_SUDO = """\
#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    --) shift; break ;;
    -i | -s | --login | --shell) shift; [ $# -gt 0 ] || set -- bash -l ;;
    -u | -g | --user | --group) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
exec env -- "$@"
"""

# The program comes with every start: minikube/node/systemctl.py.
_SYSTEMCTL = """\
#!/bin/sh
exec python3 -I -S /etc/minikube/systemctl.py "$@"
"""

_VAR = ("cache", "data", "home", "lib", "local", "log", "mnt", "opt", "srv", "spool")


def write_skeleton(root: Path) -> None:
    """Put /etc and /var of an unpacked node image into the state a new node starts from."""
    etc = root / "etc"
    for path in etc.iterdir():
        if path.name not in _KEPT:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    for name, text in _FILES.items():
        (etc / name).write_text(text)
    (etc / "mtab").symlink_to("../proc/self/mounts")
    (etc / "profile.d").mkdir()
    _bundle_certificates(root)
    _write_var(root / "var")
    for name, script in (("sudo", _SUDO), ("systemctl", _SYSTEMCTL)):
        program = root / "usr/bin" / name
        program.write_text(script)
        program.chmod(0o755)


def _bundle_certificates(root: Path) -> None:
    """One file instead of hundreds of hashed links, and no other place: kubeadm mounts every place it finds into its pods.

    The usual place leads to where a user's own certificates are, if there are any: /usr is read-only in a node.
    """
    certificates = root / "usr/share/ca-certificates"
    bundle = root / "etc/ssl/certs/ca-certificates.crt"
    bundle.parent.mkdir(parents=True, exist_ok=True)
    bundle.write_text("".join(path.read_text().strip() + "\n" for path in sorted(certificates.rglob("*.crt"))))
    shutil.rmtree(certificates)
    certificates.symlink_to(USERS_CERTIFICATES)
    shutil.rmtree(root / "usr/local/share/ca-certificates", ignore_errors=True)


def _write_var(var: Path) -> None:
    shutil.rmtree(var)
    var.mkdir(0o755)
    for name in _VAR:
        (var / name).mkdir(0o755)
    (var / "root").mkdir(0o700)
    (var / "tmp").mkdir()
    (var / "tmp").chmod(0o1777)
    (var / "run").symlink_to("/run")
    (var / "lock").symlink_to("/run/lock")
