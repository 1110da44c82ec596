# Runs as the first process of new namespaces: builds the node's root, moves in, becomes the supervisor.
# Arguments: the machine's directory, the overlay's lower directories. Everything here is gone with the last process.
set -eu
machine=$1 lower=$2 root=$1/root
# Until somebody has laid the cable there is no network to set up.
read -r _ < "$machine/go"

mount -t tmpfs -o mode=755 root "$root"
cd "$root"
mkdir dev etc proc run sys tmp usr var opt root home srv mnt old
for name in bin sbin lib lib64; do ln -s usr/$name $name; done

mount -t overlay -o "ro,lowerdir=$lower" usr usr   # never writes to its lower directories: the store is safe
for name in etc var opt root home srv mnt; do mount --bind "$machine/state/$name" $name; done
mount -t proc proc proc
mount -t sysfs -o ro sys sys
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=1777 tmp tmp
mkdir run/minikube
mount --bind "$machine/run" run/minikube           # the control socket, for minikube to find

mount -t tmpfs -o mode=755 dev dev
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 pts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for device in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 dev/${device%:*} c 1 ${device#*:}; done
mknod -m 666 dev/tty c 5 0

pivot_root . old
exec chroot . /bin/sh -c 'umount -l /old; exec "$@"' node \
  /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8 \
  /usr/bin/python3 -I -S /etc/minikube/supervisor.py /etc/minikube/node.json
